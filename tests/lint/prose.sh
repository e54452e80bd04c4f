#!/bin/bash
# prose.sh [-v] FILE...: counts constructions that a reader has to read twice, per 1000 words of prose.
# A line for each file; -v also shows each hit. An indirect question ("shows what is missing") and "there is no" are not counted: they
# read well. Fails if a file has more than the bounds below allow, but one hit of a kind is
# always allowed. The manual pages of git, crun and systemd have: what 0.0, told 0.36, of it 0.12, is no 0.09.
set -u
verbose=
[ "${1:-}" != -v ] || { verbose=1 && shift; }
failed=0

# shellcheck disable=SC2016 # the quoted backquotes are Markdown's
# The prose of a document: manual pages as text, Markdown without code and tables' rules, C without its code.
prose() {
	case $1 in
	*.[1-9]) mandoc -T ascii -O width=100 "$1" | col -bx ;;
	*.md) awk '/^```/ { code = !code; next } !code' "$1" | sed 's/`[^`]*`/CODE/g' ;;
	*.h) awk '/\/\*/ { comment = 1 } comment; /\*\// { comment = 0 } !comment && /\/\// { sub(/.*\/\//, ""); print }' "$1" ;;
	*) grep -oE '"([^"\\]|\\.)*"' "$1" | sed 's/\\n/ /g' ;; # the texts of a program
	esac
}

printf '%-34s %6s %6s %6s %6s %6s\n' "per 1000 words" words what told "of it" "is no"
for file; do
	# One sentence may go over several lines; a hyphen at a line's end divides no word of these documents.
	text=$(prose "$file" | sed 's|^ *\*/* *||' | tr -s ' \n' '  ' | sed 's/- \([a-z]\)/-\1/g')
	words=$(wc -w <<<"$text")
	line=$(printf '%-34s %6d' "$file" "$words")
	over=
	while IFS='|' read -r name bound pattern; do
		hits=$(grep -oiP ".{0,50}(?:$pattern).{0,40}" <<<"$text")
		count=$(grep -oiP "$pattern" <<<"$text" | wc -l)
		line+=$(awk -v c="$count" -v w="$words" 'BEGIN { printf " %6.2f", w ? c * 1000 / w : 0 }')
		awk -v c="$count" -v w="$words" -v b="$bound" 'BEGIN { exit !(c > 1 && c * 1000 > b * w) }' && over+=" \"$name\""
		# shellcheck disable=SC2001 # each line gets the prefix
		[ -z "$verbose" ] || [ -z "$hits" ] || sed "s/^/    $name: /" <<<"$hits"
	done <<-'END'
		what|0.4|(?<!say|says|said|show|shows|decide|decides|see|know|knows|ask|asks|lists|explains|reports|out|about|and|or) what\b(?! (if|to)\b)|[.;:] what\b|^what\b
		told|0.4|\b(tells?|told)\b
		of it|0.2|\bof it\b(?! (is|was|has)\b)
		is no|0.2|(?<!there) (is|are|was|were) no (?!more|longer|less)[a-z]
	END
	printf '%s%s\n' "$line" "${over:+   more than allowed:$over}"
	[ -z "$over" ] || failed=1
done
exit $failed
