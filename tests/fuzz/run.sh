#!/bin/bash
# run.sh replay BUILD: every target over its corpus, one test each, as TAP.
# run.sh hunt BUILD: every target, built with libFuzzer, for FUZZ_SECONDS (20) of new inputs; what makes one fail
# is left in BUILD/found/ and belongs into tests/fuzz/corpus/ with the fix.
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

hunt() {
	local target name log status=0
	mkdir -p "$build/found" "$build/new" || exit 1
	for target in "$build"/tests/fuzz/fuzz_*; do
		[ -x "$target" ] || continue
		name=${target##*/fuzz_}
		log=$build/$name.log
		mkdir -p "$build/new/$name"
		if "$target" -max_total_time="${FUZZ_SECONDS:-20}" -timeout=10 -max_len=16384 -artifact_prefix="$build/found/$name-" \
			"$build/new/$name" "$here/corpus/$name" >"$log" 2>&1 </dev/null; then
			printf '%-14s %s\n' "$name" "$(tail -n 1 "$log")"
		else
			printf '%-14s FAILED, see %s\n' "$name" "$log"
			status=1
		fi
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
