#!/bin/bash
# run.sh: workspaces, artifacts and snapshots while others disturb them, as TAP.
#
#   races  a program swaps a directory for a link that leads out, over and over, while the host puts, reads, lists, patches and collects
#   kills  a command is killed at a random moment; everything that is left verifies, and the work goes on
#   size   a large workspace goes through snapshot, resume and collect in bounded memory
#
# WARDER=build/warder; WARDER_KILLS (20; of a commit as well as of a patch) and WARDER_RACES (300) say how often, WARDER_SIZE_MIB (64) how large,
# WARDER_PATCHES (60) how many. A whole test is 200, 5000, 1024, 500.
set -u
LC_ALL=C export LC_ALL
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/lib/tap.sh
warder=$(realpath "${WARDER:-build/warder}") || exit 1
kills=${WARDER_KILLS:-20}
races=${WARDER_RACES:-300}
size=${WARDER_SIZE_MIB:-64}
patches=${WARDER_PATCHES:-60}
for base in "${WARDER_TEST_DIR:-/srv}" /opt "${HOME:-/var/tmp}" /tmp; do
	scratch=$(mktemp -d "$base/warder-workspaces.XXXXXX" 2>/dev/null) && break
done
[ -d "$scratch" ] || { echo "Bail out! no directory for the tests; name one in WARDER_TEST_DIR"; exit 1; }
swapper=''
cleanup() {
	[ -z "$swapper" ] || kill "$swapper" 2>/dev/null
	rm -rf "$scratch"
}
trap cleanup EXIT
export WARDER_STORE=$scratch/store

easy=()
for field in memory swap cpus pids cpuTime; do
	easy+=(--prefer "limits.$field")
done

# ---- races ----

# An outside that must stay as it is, and a tree in which d is a directory now and a link to it then.
race_setup() {
	tree=$("$warder" workspace create race) || return 1
	mkdir -p "$scratch/outside" "$tree/d" "$tree/real"
	echo secret >"$scratch/outside/secret"
	echo inside >"$tree/d/secret"
	echo one >"$tree/d/patched"
	ln -s "$scratch/outside" "$tree/link"
}

# The swaps are exchanges of names, thousands in a second: the link is there half of the time.
swap() {
	exec python3 - "$1" <<'END'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
root = os.open(sys.argv[1], os.O_PATH)
while True:
    if libc.syscall(316, root, b"d", root, b"link", 2) != 0 and ctypes.get_errno() not in (2, 17):
        raise OSError(ctypes.get_errno(), "renameat2")
END
}

outside_is_untouched() {
	[ "$(ls "$scratch/outside")" = secret ] && [ "$(cat "$scratch/outside/secret")" = secret ]
}

# met DONE REFUSED: the race was one: some were carried out, some refused.
met() {
	echo "$1 done, $2 refused"
	[ "$1" -gt 0 ] && [ "$2" -gt 0 ]
}

race_put() {
	local i name put=0 refused=0
	for ((i = 0; i < races; i++)); do
		for name in d/written d/deep/er/written; do
			if echo "$i" | "$warder" workspace write race "$name" 2>/dev/null; then
				put=$((put + 1))
			else
				refused=$((refused + 1))
			fi
		done
	done
	outside_is_untouched && met "$put" "$refused"
}

race_read() {
	local i got read=0 refused=0
	for ((i = 0; i < races; i++)); do
		if got=$("$warder" workspace read race d/secret 2>/dev/null); then
			[ "$got" = inside ] || { echo "read: $got"; return 1; }
			read=$((read + 1))
		else
			refused=$((refused + 1))
		fi
	done
	met "$read" "$refused"
}

race_collect() {
	local i got within=0 without=0
	for ((i = 0; i < races; i++)); do
		got=$("$warder" workspace collect race '**/secret' 'd/*' --json 2>/dev/null)
		case $got in
		*'"content":"secret'*) echo "collected: $got" && return 1 ;;
		*'"path":"d/secret"'*'"content":"inside'*) within=$((within + 1)) ;;
		*) without=$((without + 1)) ;;
		esac
	done
	outside_is_untouched && met "$within" "$without"
}

race_patch() {
	local i patched=0 refused=0
	for ((i = 0; i < races; i++)); do
		if printf -- '--- a/d/patched\n+++ b/d/patched\n@@ -1 +1 @@\n-one\n+one\n--- /dev/null\n+++ b/d/new\n@@ -0,0 +1 @@\n+x\n' |
			"$warder" workspace patch race >/dev/null 2>&1; then
			patched=$((patched + 1))
		else
			refused=$((refused + 1))
		fi
		printf -- '--- a/d/new\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n' | "$warder" workspace patch race >/dev/null 2>&1
	done
	outside_is_untouched && met "$patched" "$refused"
}

# ---- kills ----

# Every record and all content is as it was made, and nothing that was begun is in the way.
verifies() {
	"$warder" snapshot verify >/dev/null && "$warder" artifact verify >/dev/null && "$warder" workspace list >/dev/null
}

# The same of what was acknowledged last; the whole store grows with every round, and is looked at now and then.
verifies_last() {
	"$warder" snapshot verify "$1" >/dev/null && "$warder" workspace list >/dev/null &&
		{ ! "$warder" artifact list out/changing >/dev/null 2>&1 || "$warder" artifact verify out/changing >/dev/null; }
}

# kill_after COMMAND...: end it, with all that it started, after up to some milliseconds.
kill_after() {
	local pid
	"$@" >/dev/null 2>&1 </dev/null &
	pid=$!
	sleep "0.0$((RANDOM % 60 + 10))"
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}

kills_of() {
	local i snapshot name
	"$warder" workspace create kills >/dev/null || return 1
	for ((i = 0; i < 40; i++)); do
		head -c $((RANDOM * 20)) /dev/urandom | "$warder" workspace write kills "out/$i" || return 1
	done
	snapshot=$("$warder" workspace snapshot kills) || return 1
	for ((i = 0; i < kills; i++)); do
		head -c 100000 /dev/urandom | "$warder" workspace write kills out/changing || return 1
		case $((i % 6)) in
		0) kill_after "$warder" workspace snapshot kills --keep 3 ;;
		1) kill_after "$warder" workspace resume "$snapshot" "resumed-$i" ;;
		2) kill_after "$warder" workspace collect kills 'out/*' --save ;;
		3) kill_after "$warder" workspace put kills "$warder=out/tool" ;;
		4) kill_after "$warder" snapshot prune --keep 2 ;;
		5) kill_after "$warder" workspace remove "resumed-$((i - 4))" ;;
		esac
		verifies_last "$snapshot" || { echo "after kill $i"; return 1; }
		((i % 20)) || verifies || { echo "after kill $i: not all of it"; return 1; }
		# What was put is all there or not at all.
		for name in "$WARDER_STORE"/workspaces/kills-*/files/out/tool; do
			[ ! -e "$name" ] || cmp -s "$warder" "$name" || { echo "$name is not whole"; return 1; }
		done
		# A workspace that has its name is whole.
		for name in "$WARDER_STORE"/workspaces/resumed-*/; do
			[ ! -d "$name" ] || [ -e "$name/files/out/39" ] || { echo "$name is not whole"; return 1; }
		done
		snapshot=$("$warder" workspace snapshot kills --keep 4) || return 1
	done
	verifies
}

# What the dead have begun is removed by who comes next.
nothing_is_left() {
	echo next | "$warder" artifact save next >/dev/null || return 1
	"$warder" snapshot prune --keep 1 >/dev/null && "$warder" snapshot list | cut -d' ' -f1 | xargs "$warder" snapshot remove &&
		"$warder" artifact list | sed -E 's/.* ([^ ]+)@[0-9]+ .*/\1/' | sort -u | while read -r name; do "$warder" artifact remove "$name" || exit 1; done &&
		"$warder" workspace list | cut -d' ' -f1 | while read -r name; do "$warder" workspace create "$name" >/dev/null && "$warder" workspace remove "$name" || exit 1; done
	find "$WARDER_STORE" \( -name '.new-*' -o -name '.gone-*' -o -type f ! -name '*.lock' \) | grep . && return 1
	return 0
}

# ---- size ----

# peak COMMAND...: its peak of resident memory in KiB, in $scratch/peak.
peak() {
	python3 -c 'import resource, subprocess, sys
status = subprocess.call(sys.argv[2:], stdout=open(sys.argv[1] + ".out", "w"))
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status)' "$scratch/peak" "$@"
}

within() {
	[ "$(cat "$scratch/peak")" -lt $((48 * 1024)) ] || { echo "$(cat "$scratch/peak") KiB"; return 1; }
	echo "# note: $1: peak of $(($(cat "$scratch/peak") / 1024)) MiB for $size MiB" >>"$scratch/notes"
}

size_snapshot() {
	local tree
	tree=$("$warder" workspace create large) || return 1
	head -c $((size / 2))M /dev/urandom >"$tree/out/one"
	split -n 200 <(head -c $((size / 2))M /dev/urandom) "$tree/out/part-" 2>/dev/null ||
		head -c $((size / 2))M /dev/urandom | split -b $((size * 1024 * 1024 / 400)) -a 4 - "$tree/out/part-" || return 1
	peak "$warder" workspace snapshot large && within snapshot
}

size_resume() {
	peak "$warder" workspace resume "$(cat "$scratch/peak.out")" again && within resume &&
		diff -r "$WARDER_STORE"/workspaces/large-[0-9a-f]*/files/out "$WARDER_STORE"/workspaces/again-*/files/out
}

size_collect() {
	local limits=(--max-files 1000 --max-file-size "${size}MiB" --max-size "$((size * 2))MiB")
	peak "$warder" workspace collect large 'out/**' --save "${limits[@]}" && within "collect as artifacts" || return 1
	mkdir -p "$scratch/to"
	peak "$warder" workspace collect large 'out/**' --to "$scratch/to" "${limits[@]}" && within "collect into a directory" || return 1
	diff -r "$WARDER_STORE"/workspaces/large-[0-9a-f]*/files/out "$scratch/to/out"
}

# on_terminal WHAT COMMAND...: what it prints on a terminal beside its result: one line that is written over, and is gone in the end.
on_terminal() {
	python3 - "$@" <<'END'
import os, pty, re, select, subprocess, sys
what, command = sys.argv[1], sys.argv[2:]
ours, theirs = pty.openpty()
run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
os.close(theirs)
seen = b""
while True:
    try:
        got = os.read(ours, 65536)
    except OSError: # as a terminal tells that nobody has it any more
        break
    if not got:
        break
    seen += got
status = run.wait()
text = seen.decode()
lines = text.split("\r")
print("status", status, "of", len(lines), "lines:", repr(text[:60]), "...", repr(text[-60:]))
faults = ["status"] if status != 0 else []
shown, before, last = 0, "", 0.0
for line in lines[1:-2]:
    match = re.fullmatch(r"(" + what + r"): ([0-9.]+) (?:of [0-9.]+ )?MiB(?: \([0-9]+ %\))? *", line)
    if not match or len(line) < len(before.rstrip()) or match[1] == before.split(":")[0] and float(match[2]) < last:
        faults.append(line)
    else:
        shown, before, last = shown + 1, line, float(match[2])
if lines[0] or lines[-1] or lines[-2].strip() or shown < 2:
    faults.append("not one line that is written over and taken away")
print(*faults, sep="\n")
sys.exit(len(faults) > 0)
END
}

terminal_import() {
	tar -C "$WARDER_STORE"/workspaces/large-[0-9a-f]*/files -cf "$scratch/large.tar" out || return 1
	on_terminal '[a-z ]+' "$warder" image import "$scratch/large.tar" large
}

# Output goes past the memory of who supervises: watched until it ends, since its children count apart.
size_spill() {
	python3 - "$scratch/peak" "$warder" run --json --artifacts store:large/ --max-artifact "${size}MiB" --timeout 10m -- head -c "${size}M" /dev/zero <<'END' || return 1
import json, subprocess, sys, time
run = subprocess.Popen(sys.argv[2:], stdout=open(sys.argv[1] + ".out", "w"))
peak = 0
while run.poll() is None:
    try:
        for line in open("/proc/%d/status" % run.pid):
            if line.startswith("VmHWM"):
                peak = max(peak, int(line.split()[1]))
    except (FileNotFoundError, ProcessLookupError):
        pass
    time.sleep(0.005)
open(sys.argv[1], "w").write(str(peak))
kept = json.load(open(sys.argv[1] + ".out"))["stdout"]
sys.exit(run.returncode != 0 or kept["artifact"]["size"] != kept["bytesTotal"] or kept["artifactTruncated"] or not peak)
END
	echo "# note: output as an artifact: peak of $(cat "$scratch/peak") KiB for $size MiB" >>"$scratch/notes"
	[ "$(cat "$scratch/peak")" -lt 8192 ] && [ "$("$warder" artifact read large/stdout | wc -c)" = $((size * 1024 * 1024)) ]
}

race_setup || { echo "Bail out! no workspace"; exit 1; }
swap "$tree" &
swapper=$!
check "$races times: written while a directory is swapped for a link" race_put
check "$races times: read while a directory is swapped for a link" race_read
check "$races times: collected while a directory is swapped for a link" race_collect
check "$races times: patched while a directory is swapped for a link" race_patch
check "the swapper was at work all the time" kill -0 "$swapper"
kill "$swapper" 2>/dev/null
wait "$swapper" 2>/dev/null
swapper=''
check "$kills kills: everything verifies, and what has a name is whole" kills_of
check "nothing is left behind" nothing_is_left
if can_run=$("$warder" run "${easy[@]}" -- git --version 2>&1); then
	check "$kills kills of a patch of several files: all of it or nothing" tests/workspaces/kills.py patch "$warder" "$scratch/patches" "$kills"
	check "$patches patches that git diff writes, and corrupted ones: as git apply" tests/workspaces/patches.py "$warder" "$scratch/diffs" "$patches"
else
	skip "patches" "git or a run is refused here: $(head -n 1 <<<"$can_run")"
fi
if can_run=$("$warder" run "${easy[@]}" -- true 2>&1); then
	check "$kills kills of a commit of changes: each file is old or new" tests/workspaces/kills.py commit "$warder" "$scratch/commits" "$kills"
else
	skip "$kills kills of a commit of changes" "a run is refused here: $(head -n 1 <<<"$can_run")"
fi
check "a workspace of $size MiB: snapshot in bounded memory" size_snapshot
check "a workspace of $size MiB: resumed, and the same" size_resume
check "a workspace of $size MiB: collected in bounded memory" size_collect
check "a workspace of $size MiB: progress of a snapshot on a terminal" on_terminal snapshot "$warder" workspace snapshot large
check "a workspace of $size MiB: progress of a collection on a terminal" on_terminal collecting "$warder" workspace collect large 'out/**' --save \
	--max-files 1000 --max-file-size "${size}MiB" --max-size "$((size * 2))MiB"
check "an image of $size MiB: progress of an import on a terminal" terminal_import
if can_run=$("$warder" run -- true 2>&1); then
	check "output of $size MiB: kept as an artifact, within 8 MiB of the supervisor" size_spill
else
	skip "output of $size MiB: kept as an artifact" "a strict run is refused here: $(head -n 1 <<<"$can_run")"
fi
[ ! -e "$scratch/notes" ] || cat "$scratch/notes"
tap_end
