# context.sh: the preparation of the cases of context*.t, sourced in the directory of the case. `sh s WORD...` is a session, as in session.sh;
# `sh c WORD NAME...` is then `warder context WORD` of that session.
# shellcheck shell=bash
. "$TOP/tests/transcript/session.sh"
cat >c <<END
word=\$1; shift; export XDG_RUNTIME_DIR=$PWD/rt
case \$word in create) set -- "\$@" --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids ;; esac
exec warder context \$word $name "\$@"
END
