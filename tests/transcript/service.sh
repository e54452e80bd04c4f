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
# by: the member service of the JSON result
by() { r --json "$@" | grep -o '"service":"[^"]*"' || echo none; }
at_end() { [ -z "$served" ] || { kill "$served" && wait "$served"; } 2>/dev/null; }
trap at_end EXIT
