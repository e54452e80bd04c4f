# service.sh: the preparation of the cases of service.t, sourced in the directory of the case. The socket of an ordinary user's service is below
# rt. `serve` starts a service and returns when it listens; it ends with the shell of the case. `r`, and `sh r` where one process is needed,
# is `warder run` that only prefers the limits of cgroups.
# shellcheck shell=bash
mkdir -pm 700 rt
export XDG_RUNTIME_DIR=$PWD/rt
served=
serve() {
	mkfifo ready
	warder serve --local "$@" >ready &
	served=$!
	read -r _ <ready
}
cat >r <<'END'
exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
END
r() { sh ./r "$@"; }
# `c`, `j` and `t` are `warder code`, `judge` and `tool`, which only prefer them too; `parts` shows what of a JSON result does not depend on the
# moment.
limits='--prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids'
# shellcheck disable=SC2086
c() { warder code $limits "$@"; }
# shellcheck disable=SC2086
j() { warder judge $limits "$@" | sed -E 's/ +[0-9]+ ms( +[0-9.]+ MiB)? */ /'; }
# shellcheck disable=SC2086
t() { warder tool --stream $limits "$@" 2>/dev/null; }
parts() {
	python3 -c 'import json, sys
for line in sys.stdin:
	result = json.loads(line)
	if "receipt" not in result: continue
	for name in "startedAt", "durations", "peakMemoryBytes", "cpuTimeUs", "peakPids", "service", "receipt": result.pop(name, None)
	print([result, [stage["status"] for stage in result.pop("stages", [])]])'
}
# by: the member service of the JSON result
by() { r --json "$@" | grep -o '"service":"[^"]*"' || echo none; }
# halt: stop the service. A signal stops each of its threads when that thread runs next, so wait for all of them.
halt() {
	kill -STOP "$served"
	while grep -h '^State:' /proc/"$served"/task/*/status | grep -qv 'T (stopped)'; do sleep 0.05; done
}
# handles: whether a process is warder by now, and handles SIGTERM. A child of the shell handles it too, until it has become its program.
handles() { [ "$(cat /proc/"$1"/comm)" = warder ] && (((0x$(sed -n 's/^SigCgt:\t//p' /proc/"$1"/status) >> 14) & 1)); }
at_end() { [ -z "$served" ] || { kill "$served" && wait "$served"; } 2>/dev/null; }
trap at_end EXIT
