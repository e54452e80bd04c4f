#!/bin/bash
# run.sh: what a compiler does not say about the sources, as TAP. What most often fails comes first.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/lib/tap.sh
sources=$(find base policy rootfs jail edge remote backends runtime store host fleet -name '*.[ch]' 2>/dev/null | sort)
headers=$(grep '\.h$' <<<"$sources")
scripts=$(git ls-files -co --exclude-standard -- '*.sh' .ci/run)
texts=$(git ls-files -co --exclude-standard)
plain_texts=$(grep -vE '\.t$|/corpus/' <<<"$texts") # a transcript may have to show a blank at the end
cache=${BUILD:-build}/cppcheck

# shellcheck disable=SC2086,SC2046 # lists of our own file names, without blanks
{
	layers() { awk -f tests/lint/layers.awk tests/lint/layers.txt $sources; }
	documented() { awk -f tests/lint/headers.awk $headers; }
	# Nothing is found, and every file was read: a grep that could not read one ends with 2, also if it found something.
	no_line() {
		grep -nIE "$@"
		[ $? = 1 ]
	}
	# Names that would bind the project to one person's desk, and promises to finish something later.
	words() { no_line '\b(TOD[O]|FIXM[E]|XX[X]|HAC[K])\b|[Cc]laud[e]|\bissue #[0-9]|(^|[^.[:alnum:]])/(wor[k]|hom[e])/[a-z]' $texts; }
	# Sentences without a subject, and words that name no one, in the texts that a stranger reads first.
	stilted='\b(is|are) told\b|\btells of\b|\bbut for\b|\bof who\b|\bwho (is|has|executes)\b|\b[Ss]omebody\b|\bhim\b|\bhis\b|, what (is|it|was|has|can)\b'
	plain_english() {
		no_line "$stilted" README.md NEWS.md CONTRIBUTING.md SECURITY.md docs/threat-model.md docs/*.[1-8] runtime/warder.h store/warder-store.h &&
			no_line "\"[^\"]*($stilted)[^\"]*\"" runtime/cli/*.c store/cli/*.c
	}
	# Constructions that a reader has to read twice, counted. The list of documents grows; it does not shrink.
	prose() { tests/lint/prose.sh README.md docs/*.[1-8] docs/tour.md docs/enforcement.md docs/dependencies.md docs/from-other-systems.md docs/architecture.md docs/threat-model.md docs/performance.md docs/measurements.md runtime/warder.h store/warder-store.h CONTRIBUTING.md SECURITY.md; }
	# Of a merge that was not finished.
	conflicts() { no_line '^(<{7}|>{7}|[|]{7}) |^={7}$' $texts; }
	spaces() { no_line '[[:blank:]]+$' $plain_texts; }
	static_analysis() {
		mkdir -p "$cache"
		cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
			--suppressions-list=tests/lint/cppcheck.txt --cppcheck-build-dir="$cache" --error-exitcode=1 -j2 \
			--template='{file}:{line}: {id}: {message}' -D_GNU_SOURCE -D__x86_64__ -DWARDER_VERSION='"0"' -I. \
			base policy rootfs jail edge remote backends runtime store host fleet
	}
	# SC2317: what only a trap calls looks unreachable.
	scripts() { shellcheck -x -e SC2317 $scripts; }
	circles() { tests/lint/circles.py tests/lint/circles.txt $(grep '\.c$' <<<"$sources"); }
	# Of two files that call each other, also with data; of a line of the table without its circle. Two files of which one calls are none.
	circles_are_found() {
		local dir said
		dir=$(mktemp -d) || return
		printf 'int a_get(void)\n{\n\treturn b_value;\n}\n' >"$dir/a.c"
		printf 'const int8_t b_value = 1;\n\nint b_get(void)\n{\n\treturn a_get();\n}\n' >"$dir/b.c"
		printf 'int c_get(void)\n{\n\treturn b_get(); /* d_get() */\n}\n' >"$dir/c.c"
		printf 'int d_get(void)\n{\n\treturn c_get();\n}\n' >"$dir/d.c"
		said=$(tests/lint/circles.py /dev/null "$dir"/?.c) && said="passed: $said"
		tests/lint/circles.py <(echo "$dir/a.c $dir/b.c") "$dir"/?.c || said="the table does not excuse its circle"
		! tests/lint/circles.py <(echo "$dir/c.c $dir/d.c") "$dir"/[cd].c >/dev/null || said="an old line passes"
		printf '%s\n' "$said"
		grep -q "^these files call each other in a circle: $dir/a.c $dir/b.c$" <<<"$said" && [ "$(grep -c circle <<<"$said")" = 1 ]
		set -- $?
		rm -r "$dir"
		return "$1"
	}
	# The functions and paths that the architecture names are there, and call each other in this order.
	walk() { tests/lint/walk.py; }
	manuals() {
		local page faults
		faults=$(for page in $(git ls-files -co --exclude-standard -- '*.[1-8]'); do mandoc -T lint -W warning "$page"; done 2>&1)
		printf '%s' "$faults"
		[ -z "$faults" ]
	}
	formatted() { clang-format --dry-run -Werror $(grep '\.[ch]$' <<<"$texts"); }
}

check "no files call each other in a circle" circles
check "formatting" formatted
check "folders include only what lies to their left" layers
check "a circle is found" circles_are_found
check "headers are documented" documented
check "no word that does not belong" words
check "plain English" plain_english
check "prose" prose
check "no marks of a conflict" conflicts
check "no blanks at line ends" spaces
check "cppcheck" static_analysis
check "shellcheck" scripts
check "manual pages" manuals
check "the walk of a launch" walk
tap_end
