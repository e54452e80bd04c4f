#!/bin/bash
# readme.sh FILE: runs each block of FILE that begins with "$ ", in an empty directory of its own, and compares what it prints with
# what FILE shows. Prints the differences, and the number of blocks. Used by readme.t.
set -u
file=$1
blocks=0
failed=0
mapfile -t lines <"$file"
script='' shown='' open=''
run_block() {
	local printed
	blocks=$((blocks + 1))
	mkdir "block$blocks"
	printed=$(cd "block$blocks" && bash -c "$script" 2>&1 </dev/null)
	[ "$printed" = "${shown%$'\n'}" ] && return
	failed=1
	diff -u --label shown --label printed - <(printf '%s\n' "$printed") <<<"${shown%$'\n'}"
}
for line in "${lines[@]}"; do
	case $open:$line in
	:'```') open=1 script='' shown='' ;;
	:*) ;;
	*:'```')
		[ -z "$script" ] || run_block
		open=
		;;
	*:'$ '*)
		script+=${line:2}$'\n'
		bash -n <<<"$script" 2>/dev/null && open='output' || open='more'
		;;
	more:*) # a command that goes on over several lines
		script+=$line$'\n'
		bash -n <<<"$script" 2>/dev/null && open='output'
		;;
	output:*) shown+=$line$'\n' ;;
	esac
done
echo "$blocks examples"
exit $failed
