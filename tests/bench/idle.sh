#!/bin/bash
# What idle contexts cost: sessions with a Python context each, which has run one piece and waits for the next.
#
#   tests/bench/idle.sh [SESSIONS]      200 by default; BUILD=build
#
# In a guest, because the host must not end so many jails at once, and because only there nobody else takes memory meanwhile:
#   WARDER_VM_MEMORY=6000 tests/vm/uml.sh 'tests/bench/idle.sh'
# Prints the memory of each, and the processor time that all of them take in 20 seconds. Fails if a context takes more than 15 MB, or all of them
# together more than 1 % of a processor.
set -u
count=${1:-200}
warder=$(realpath "${BUILD:-build}/warder") || exit 1
work=$(mktemp -d) || exit 1
export XDG_RUNTIME_DIR=$work
available() { awk '/^MemAvailable:/ { print $2 }' /proc/meminfo; }
ticks() { awk '/^cpu / { print $2 + $3 + $4 }' /proc/stat; }
end() {
	for ((j = 1; j <= started; j++)); do
		"$warder" session stop "s$j" >/dev/null 2>&1
	done
	rm -rf "$work"
}
started=0
trap end EXIT

before=$(available)
for ((i = 1; i <= count; i++)); do
	"$warder" session start "s$i" --memory 64MiB >/dev/null || exit 1
	started=$i
	"$warder" context create "s$i" c --language python >/dev/null || exit 1
	"$warder" context run "s$i" c -c 'x = 1' || exit 1
done
sleep 3 # what ended with the commands is freed by then; a figure, not a condition
after=$(available)
from=$(ticks)
sleep 20
used=$(($(ticks) - from))
largest=0
for process in /proc/[0-9]*; do
	grep -qa '<warder>' "$process/cmdline" 2>/dev/null || continue
	resident=$(awk '/^Rss:/ { print $2 }' "$process/smaps_rollup" 2>/dev/null)
	((${resident:-0} > largest)) && largest=$resident
done
hz=$(getconf CLK_TCK)
echo "$count sessions with a Python context each: $(((before - after) / count)) KiB of memory per session with its keeper and context;"
echo "a context has at most $largest KiB resident; all of them took $((used * 1000 / hz)) ms of processor time in 20 s"
((largest > 0 && largest <= 15 * 1000 && used * 1000 / hz <= 200))
