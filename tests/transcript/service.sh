# service.sh: what the cases of service.t begin with, sourced in the directory of the case. An ordinary user's service lies below rt. `serve`
# starts one and returns when it listens; it ends with the shell of the case. `r`, and `sh r` where it
# has to be one process, is `warder run` with the limits preferred.
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
# by: what --json says of the service
by() { r --json "$@" | grep -o '"service":"[^"]*"' || echo none; }
at_end() { [ -z "$served" ] || { kill "$served" && wait "$served"; } 2>/dev/null; }
trap at_end EXIT
