#!/bin/bash
# What the network by name costs: connections, bytes, launches, and memory of the edge, beside a direct connection and other ways out of a
# network namespace, by turns.
#
#   tests/bench/network.sh [--quick]
#
# Uses $BUILD/warder (default build). All of it happens in network namespaces of its own: one is the host, and another, beyond a router, has the
# server. Needs root; slirp4netns and pasta are left out, with the reason, if they are not there. Prints tables, and
# writes $BUILD/bench-network.json. Figures are facts, never a failure; the exit status is not 0 if a jail of Warder did not run or not connect.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
BUILD=${BUILD:-build}
CC=${CC:-gcc}
TOOL_CC=${TOOL_CC:-musl-gcc}
[ "${1:-}" != --quick ] || export WARDER_BENCH_QUICK=1
export BUILD CC TOOL_CC

if [ ! -x "$BUILD/warder" ]; then
	echo "network.sh: there is no $BUILD/warder: run make" >&2
	exit 1
fi

skip() { echo "$1: not measured: $2"; }
tap_end() { :; }
. tests/network/world.sh
world_enter "$@"

certificates() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$scratch/ca.key" -out "$scratch/ca.pem" -days 2 -subj /CN=bench &&
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$scratch/key" -out "$scratch/request" -subj /CN=bench.test &&
		openssl x509 -req -in "$scratch/request" -CA "$scratch/ca.pem" -CAkey "$scratch/ca.key" -CAcreateserial -days 2 -out "$scratch/certificate" \
			-extfile <(echo subjectAltName=DNS:bench.test) &&
		cat /etc/ssl/certs/ca-certificates.crt "$scratch/ca.pem" >"$scratch/authorities" &&
		mount --bind "$scratch/authorities" /etc/ssl/certs/ca-certificates.crt &&
		(umask 077 && openssl rand -hex 16 >"$scratch/secret")
} 2>/dev/null

warn='-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wno-unused-parameter'
# shellcheck disable=SC2086 # lists of flags
{
	"$TOOL_CC" -std=gnu11 -O2 -D_GNU_SOURCE -static -no-pie $warn -o "$scratch/network" tests/bench/network.c
	"$TOOL_CC" -std=gnu11 -O2 -D_GNU_SOURCE -I. -static -no-pie $warn -Wno-missing-field-initializers -o "$scratch/bench" \
		tests/bench/bench.c tests/bench/contestant.c tests/bench/report.c tests/bench/kernel.c
}
world_begin
# Each connection leaves a port of the host behind for a minute.
echo 1024 65535 >/proc/sys/net/ipv4/ip_local_port_range
certificates || rm -f "$scratch/secret"
nsenter -t "$beyond" -n "$scratch/network" serve "$world" >"$scratch/serving" &
children+=("$!")
world_serve tests/bench/network.py serve "$world" "$scratch"
until [ -s "$scratch/serving" ]; do
	kill -0 "${children[-1]}"
	sleep 0.05
done
tests/bench/network.py measure "$world" "$scratch"
