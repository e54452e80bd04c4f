#!/bin/bash
# demo.sh WARDER: real programs in the jail, each with what the kernel said about its walls. Needs root or sudo.
set -u
warder=$(realpath "$1") || exit 1
exec 2>&1 # what Warder says belongs between what the programs say

if [ "$(id -u)" != 0 ]; then
	if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
		exec sudo "${BASH_SOURCE[0]}" "$warder"
	fi
	cat <<-'END'
		The demo runs as root, or through sudo, and neither is to be had. As an ordinary user Warder runs programs in a
		jail too, but refuses by default, because memory, CPU and process limits need control groups that this user
		may write to. What this host would enforce for you, field by field:

	END
	"$warder" explain strict
	cat <<-'END'

		To run all the same, without those limits and with a receipt that says so:

		    warder run --prefer limits.memory --prefer limits.swap --prefer limits.cpuTime --prefer limits.cpus --prefer limits.pids -- echo hello

		To have them, run with --delegate (a scope of your systemd), or as root.
	END
	exit 0
fi

# A place that a jail can be shown: /tmp is the jail's own.
work=$(mktemp -d /var/tmp/warder-demo.XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -m 755 "$work/data" "$work/src"
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' dim=$'\033[2m' plain=$'\033[0m'; else bold='' dim='' plain=''; fi
failed=0
summary=

# Rows of a receipt that differ from jail to jail.
receipt() {
	awk -F '": "|",?$' '
		/"control":/ { control = $2 }
		/"status":/ { status = $2 }
		/"value":/ { value = $2 }
		/"source":/ && control ~ /^(network|filesystem.workspace|limits.(memory|pids|cpus)|processes.identity|syscalls|capabilities)/ {
			gsub(/\\"/, "\"", value)
			printf "    %-32s %-12s %s\n", control, status, value
		}' "$work/receipt"
}

# show TITLE EXPECTED-STATUS ARGUMENT...: warder run ARGUMENT..., its output, its end, its receipt
show() {
	local title=$1 expected=$2 status argument
	shift 2
	printf '\n%s%s%s\n%s$ warder run' "$bold" "$title" "$plain" "$dim"
	for argument; do
		case $argument in *[!a-zA-Z0-9_./:=-]*) printf " '%s'" "$argument" ;; *) printf ' %s' "$argument" ;; esac
	done
	printf '%s\n' "$plain"
	"$warder" run --receipt "$work/receipt" "$@"
	status=$?
	printf '%s  exit status %d; read back from the kernel before the program started:%s\n' "$dim" "$status" "$plain"
	receipt
	[ "$status" = "$expected" ] || { echo "  expected exit status $expected"; failed=1; }
	summary+=$(printf '%-50s exit status %d' "$title" "$status")$'\n'
}

printf 'city,temperature\nOslo,4\nCairo,31\nLima,19\n' >"$work/data/weather.csv"
cat >"$work/data/mean.py" <<'END'
import csv
rows = list(csv.DictReader(open("/workspace/weather.csv")))
print("mean of", len(rows), "cities:", sum(int(r["temperature"]) for r in rows) / len(rows))
END
cat >"$work/src/primes.c" <<'END'
#include <stdio.h>
int main(void)
{
	int count = 0;
	for (int n = 2; n < 20000; n++) {
		int d = 2;
		while (d * d <= n && n % d)
			d++;
		count += d * d > n;
	}
	return printf("%d primes below 20000\n", count) < 0;
}
END

show "A Python script reads a real file" 0 \
	--workspace "$work/data" -- python3 /workspace/mean.py
show "A C program is compiled and run inside" 0 \
	--set filesystem.tmpExec=true --timeout 20s --workspace "$work/src" -- \
	sh -c 'cc -O2 -o /tmp/primes /workspace/primes.c && /tmp/primes'
show "A pipeline of the shell" 0 \
	-- sh -c 'ls /usr/bin | cut -c1 | sort | uniq -c | sort -rn | head -n 3'
show "A program that takes too much memory is killed" 137 \
	--memory 64MiB -- python3 -c 'print(len("x" * 10**9))'
show "A program that runs too long is killed" 124 \
	--timeout 1s -- sh -c 'echo started; sleep 60 & sleep 60'
show "The network is not there" 1 \
	-- python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80), 2)'

title="A policy that cannot be enforced is refused"
printf '\n%s%s%s\n%s$ warder run --memory 1B -- true%s\n' "$bold" "$title" "$plain" "$dim" "$plain"
"$warder" run --memory 1B -- true
status=$?
[ "$status" = 125 ] || failed=1
summary+=$(printf '%-50s exit status %d' "$title" "$status")$'\n'

title="An execution host that speaks E2B's protocol"
printf '\n%s%s%s\n%s$ warder serve --listen 127.0.0.1:0%s\n' "$bold" "$title" "$plain" "$dim" "$plain"
"${BASH_SOURCE[0]%/*}/demo-host.sh" "$warder"
status=$?
[ "$status" = 0 ] || failed=1
summary+=$(printf '%-50s exit status %d' "$title" "$status")$'\n'

# The end is what stays on the screen: at most 12 lines.
left=$("$warder" doctor --json 2>/dev/null | tr -d ' \n' | grep -o '"leftovers":[0-9]*')
left="${left##*:} leftovers"
[ "$left" != "1 leftovers" ] || left="1 leftover"
printf '\n%sIn short%s\n%s%-50s %s\n' "$bold" "$plain" "$summary" "Left on this host by all of this" "$left"
echo "Now your own program: ${1#"$PWD"/} run -- PROGRAM (run --json prints the result as JSON)"
exit "$failed"
