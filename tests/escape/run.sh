#!/bin/bash
# run.sh: what hostile code reaches in a jail, as TAP: `warder doctor --attack` under several policies.
#
# A row that the policy has to stop is a test; so is the list of what each policy allows, and that nearly all rows succeed
# without a jail. A row that this host stops for everybody is a skip, told once. WARDER names the tool.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/lib/tap.sh
warder=$(realpath "${WARDER:-build/warder}")
scratch=
trap '[ -z "$scratch" ] || rm -rf "$scratch"; rm -rf "$results"' EXIT
results=$(mktemp -d) || exit 1
root=false
[ "$(id -u)" = 0 ] && root=true
uml=false
grep -q 'User Mode Linux' /proc/cpuinfo && uml=true

# A program below /tmp cannot be shown in a jail, which has a /tmp of its own.
if [[ $warder == /tmp/* ]]; then
	if ! scratch=$(mktemp -d /srv/warder-escape.XXXXXX 2>/dev/null); then
		skip "all of it" "the tool lies below /tmp, and there is no other place to put it"
		tap_end
		exit
	fi
	chmod 755 "$scratch"
	cp "$warder" "$(dirname "$warder")/warder-attempts" "$scratch/"
	warder=$scratch/warder
fi

# lines POLICY FIRST ALLOWED PROVED: TAP lines without numbers out of the JSON on standard input. FIRST: tell what proves nothing.
lines() {
	python3 -c '
import json, sys
policy, first, allowed, proved = sys.argv[1], sys.argv[2] == "true", sorted(sys.argv[3].split()), int(sys.argv[4])
found = json.load(sys.stdin)
rows = found["attempts"]
for row in rows:
    name = "%s: %s (%s)" % (policy, row["name"], row["what"])
    if row["state"] == "stopped":
        print("ok - %s: %s" % (name, row["answer"]))
    elif row["state"] == "open":
        print("not ok - %s\n# %s: %s" % (name, row["answer"], row["reason"]))
    elif row["state"] == "untried":
        print("ok - %s # SKIP %s" % (name, row["reason"]))
    elif row["state"] == "unproved" and first:
        missing = row["outside"] in ("hidden", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "ENOSYS", "ENXIO", "ENODEV")
        why = "the host has no such thing" if missing else "the caller may not either"
        print("ok - %s # SKIP proves nothing: %s (%s outside)" % (name, why, row["outside"]))
def check(name, good, *why):
    print(("ok - " if good else "not ok - ") + policy + ": " + name)
    if not good:
        print("# " + " ".join(str(part) for part in why))
given = sorted(row["name"] for row in rows if row["state"] == "allowed")
check("allows what it says and nothing else", given == allowed, "allowed:", *given)
# An allowed attempt that the kernel refuses all the same would not be told from one that is stopped.
count = sum(1 for row in rows if row["state"] == "stopped" and row["outside"])
check("at least %d attempts succeed outside" % proved, count >= proved, count)
check("there are at least 120 attempts in 8 groups",
      len(rows) >= 120 and len(set(row["group"] for row in rows)) == 8, len(rows))
check("every name is there once", len(set(row["name"] for row in rows)) == len(rows))
' "$@"
}

# attack POLICY FIRST ALLOWED PROVED FLAG...: one run of all attempts.
attack() {
	local policy=$1 first=$2 allowed=$3 proved=$4 status line
	shift 4
	"$warder" doctor --attack --json "$@" >"$results/json" 2>"$results/error"
	status=$?
	if [ "$status" -gt 1 ]; then
		tap_not_ok "$policy: warder doctor --attack"
		sed 's/^/# /' "$results/error" "$results/json"
		return
	fi
	lines "$policy" "$first" "$allowed" "$proved" <"$results/json" >"$results/lines"
	while IFS= read -r line; do
		case $line in
		"ok - "*) tap_ok "${line#ok - }" ;;
		"not ok - "*) tap_not_ok "${line#not ok - }" ;;
		*) echo "$line" ;;
		esac
	done <"$results/lines"
	check "$policy: the exit status says the same" test "$status" = "$(grep -c '^not ok.*(' "$results/lines" | sed 's/[1-9].*/1/')"
}

default="shared-segment lock-shared-file watch-files find-neighbours-lock"
speculation="allow-store-bypass allow-indirect-branch"
compat="name-to-handle turn-off-aslr trace-itself bind-memory memory-policy kernel-aio lease-shared-file watch-directory"
small="--memory 64MiB --pids 24"
unlimited="fork-many fork-many-sessions start-many-threads touch-much-memory touch-memory-together fill-memory-files burn-processor"
preferred="--prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.cpuTime --prefer limits.pids"

# shellcheck disable=SC2086 # lists of words
if $root; then
	attack strict true "$default $speculation" 200 $small
	attack "profile strict" false "" 200 $small --set syscalls.profile=strict
	attack agent false "$default $speculation $compat write-workspace route-to-loopback" 150 \
		$small --preset agent --net loopback --set syscalls.profile=compat
	$uml || attack kill false "$default $speculation" 200 $small --set syscalls.onViolation=kill
else
	attack strict true "$default $speculation $unlimited share-neighbours-id" 100 $preferred
	attack agent false "$default $speculation $compat $unlimited share-neighbours-id write-workspace route-to-loopback" 100 \
		$preferred --preset agent --net loopback --set syscalls.profile=compat
fi
tap_end
