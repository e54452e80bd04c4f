# session.sh: what the cases of session*.t begin with, sourced in the directory of the case. `sh s WORD...` is then `warder session WORD` of
# a session with a name of the case's own, which needs no control groups; an ordinary user's lies below rt. `sh running` prints the id of the
# execution that runs, as soon as its keeper lists it, which may be a moment after the program has begun.
# shellcheck shell=bash
mkdir -m 700 rt
name=$(pwd | tr -dc a-zA-Z0-9 | tail -c 40)
cat >s <<END
word=\$1; shift; export XDG_RUNTIME_DIR=$PWD/rt
case \$word in start | exec) set -- --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "\$@" ;; esac
exec warder session \$word $name "\$@"
END
cat >running <<END
export XDG_RUNTIME_DIR=$PWD/rt
for i in \$(seq 600); do id=\$(warder ps | awk '/ running / { print \$1 }'); [ -z "\$id" ] || break; sleep 0.05; done
echo "\$id"
END
