# detach.sh: what the cases of detach.t begin with, sourced in the directory of the case. `sh d PROGRAM...` is `warder run --detach` with the
# limits preferred, which needs no control groups; an ordinary user's sessions lie below rt. What a case leaves is ended with its shell.
# shellcheck shell=bash
mkdir -m 700 rt
export XDG_RUNTIME_DIR=$PWD/rt
cat >d <<'END'
flags=
while :; do case $1 in -i | -t) flags="$flags $1" ;; --timeout | --keep | --max-output) flags="$flags $1 $2"; shift ;; *) break ;; esac; shift; done
exec warder run --detach --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids $flags -- "$@"
END
# end ID...: the sessions of detached runs
end() { for id; do warder session stop "$id"; done; }
at_end() { warder session stop --all >/dev/null 2>&1; }
trap at_end EXIT
