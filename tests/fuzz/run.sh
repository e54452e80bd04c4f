#!/bin/bash
# run.sh replay BUILD: every target over its corpus, one test each, as TAP.
# run.sh hunt BUILD: every target (or those in FUZZ_TARGETS), built with libFuzzer, for FUZZ_SECONDS (20) of new inputs; what
# makes one fail is left in BUILD/found/ and belongs into tests/fuzz/corpus/ with the fix.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
here=tests/fuzz
mode=$1
build=$2

replay() {
	. tests/lib/tap.sh
	local target name
	for target in "$build"/tests/fuzz/fuzz_*; do
		[ -x "$target" ] || continue
		name=${target##*/fuzz_}
		if [ -d "$here/corpus/$name" ]; then
			check "$name: $(find "$here/corpus/$name" -type f | wc -l) inputs" timeout 120 "$target" "$here/corpus/$name"/*
		else
			tap_not_ok "$name has no corpus"
		fi
	done
	[ "$tap_count" -gt 0 ] || tap_not_ok "there is no fuzz target in $build"
	tap_end
}

# A target's executions so far, out of its log.
executions() {
	awk '/^stat::number_of_executed_units:/ { n = $2 } END { print n + 0 }' "$1"
}

# The table goes to build/check/ as well: one line a target, its executions and how many inputs made it fail; and of what.
hunt() {
	local target name log count found status=0 table=build/check/fuzz
	mkdir -p "$build/found" "$build/new" "${table%/*}" || exit 1
	: >"$table" && tests/lib/sources.sh >"$table.sources"
	printf '%-14s %12s %9s\n' target executions findings
	for target in "$build"/tests/fuzz/fuzz_*; do
		[ -x "$target" ] || continue
		name=${target##*/fuzz_}
		[ -z "${FUZZ_TARGETS:-}" ] || [[ " $FUZZ_TARGETS " == *" $name "* ]] || continue
		log=$build/$name.log
		mkdir -p "$build/new/$name"
		rm -f "$build/found/$name"-*
		"$target" -max_total_time="${FUZZ_SECONDS:-20}" -timeout=10 -max_len=16384 -print_final_stats=1 \
			-artifact_prefix="$build/found/$name-" "$build/new/$name" "$here/corpus/$name" >"$log" 2>&1 </dev/null
		found=$?
		count=$(find "$build/found" -name "$name-*" | wc -l)
		[ "$found" -eq 0 ] || [ "$count" -gt 0 ] || count=1
		[ "$count" -eq 0 ] || status=1
		printf '%-14s %12s %9s%s\n' "$name" "$(executions "$log")" "$count" "$([ "$count" -eq 0 ] || echo "  see $log")"
		echo "$name $(executions "$log") $count" >>"$table"
	done
	return "$status"
}

case $mode in
replay | hunt) "$mode" ;;
*)
	echo "usage: run.sh replay|hunt BUILD" >&2
	exit 2
	;;
esac
