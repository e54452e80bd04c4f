#!/bin/bash
# criterion.sh PROGRAM...: run Criterion test programs one after the other, as one TAP stream on standard output.
#
# Criterion writes its own TAP, which this passes on with the program's name in front of each test's. A program that ends by
# itself before it reported every test, or fails without a failed test, or takes more than TEST_TIMEOUT seconds (300), is a failed
# test of its own: a crash of the runner must not look like a short success. A line "skipped: WHY" on a test's standard
# error is a part of it that was not tried, and becomes a skip; a line "note: TEXT" is passed on as a comment.
# WARDER_TEST_SLOW multiplies the time.
#
# With AGAIN=yes a program that timed out (after a third of the time), or in which a test did, runs a second and a third time, and
# the last counts; a line "# note:" says so. It is meant for tests that make no process and wait for nothing: there a time-out is the
# machine's.
set -u
total=0
failed=0
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
# For files of a test that would stay when it fails.
mkdir "$scratch/files" && export WARDER_TEST_FILES=$scratch/files

# run_once [PART]: within that part of the time. (--full-stats, which sends each assertion to the runner, takes ten times as long.)
run_once() {
	: >"$scratch/tap"
	timeout -k 5 $((${TEST_TIMEOUT:-300} * ${WARDER_TEST_SLOW:-1} / ${1:-1})) "$program" --tap="$scratch/tap" </dev/null >"$scratch/out" 2>&1
	status=$?
}

timed_out() {
	[ "$status" = 124 ] || grep -q '^not ok.* timed out' "$scratch/tap"
}

for program in "$@"; do
	name=$(basename "$program")
	if [ "${AGAIN:-no}" = yes ]; then
		for part in 3 2 1; do
			run_once "$part"
			timed_out || break
			[ "$part" = 1 ] || echo "# note: $name runs again: $(grep -o '[^ ]* timed out' "$scratch/tap" | tr '\n' ' ')(status $status)"
		done
	else
		run_once
	fi
	awk -v name="$name" -v status="$status" -v first="$total" '
		FILENAME ~ /out$/ {
			if (/^note: /)
				print "# " $0
			if (sub(/^skipped: /, "") && !(seen[$0]++))
				partial[++partials] = $0
			next
		}
		/^1\.\.[0-9]+/ { planned = substr($0, 4) + 0 }
		/^(not )?ok / {
			ran++
			bad += /^not/
			sub(/ok - +/, "ok " (first + ran) " - " name " ")
			sub(/ +\([0-9.]+s\)$/, "")
			sub(/# SKIP because /, "# SKIP ")
			print
			next
		}
		/^ / { print "#" $0 }
		END {
			if (planned == "" || ran < planned || (status != 0 && bad == 0))
				printf "not ok %d - %s: ended with status %d after %d of %s tests\n", first + ++ran, name, status, ran - 1,
				       planned == "" ? "an unknown number of" : planned
			for (i = 1; i <= partials; i++)
				printf "ok %d - %s (in part) # SKIP %s\n", first + ++ran, name, partial[i]
		}' "$scratch/out" "$scratch/tap" >"$scratch/lines"
	cat "$scratch/lines"
	if grep -q '^not ok' "$scratch/lines"; then
		failed=1
		tail -n 60 "$scratch/out" | sed 's/^/# /'
	fi
	total=$((total + $(grep -Ec '^(not )?ok ' "$scratch/lines")))
done
echo "1..$total"
exit "$failed"
