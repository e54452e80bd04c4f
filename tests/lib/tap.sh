# shellcheck shell=bash
# tap.sh: the Test Anything Protocol for suites that are scripts. To be sourced.
#   check NAME COMMAND...   one test: passes if the command ends with 0; its output is shown if it does not
#   skip NAME REASON        one test that cannot be tried here
#   tap_end                 the plan, last; its status says whether all passed
tap_count=0
tap_failed=0

tap_ok() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1"
}

tap_not_ok() {
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $1"
}

skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

check() {
	local name=$1 output status
	shift
	output=$("$@" 2>&1)
	status=$?
	if [ "$status" -eq 0 ]; then
		tap_ok "$name"
	else
		tap_not_ok "$name"
		printf '%s\n' "$output" "(status $status)" | sed 's/^/# /'
	fi
	return "$status"
}

tap_end() {
	echo "1..$tap_count"
	[ "$tap_failed" -eq 0 ]
}
