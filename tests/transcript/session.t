# Jails that stay between executions. The sessions have a name of the case's own, and end with it.

= files stay between executions, and the session is gone when it is stopped
+ . "$TOP/tests/transcript/session.sh"
$ sh s start && sh s exec -- sh -c 'echo kept > /tmp/a; pwd' && sh s exec -- cat /tmp/a; sh s stop && sh s status
| /tmp
| kept
!~ ^warder: session [a-zA-Z0-9]* does not run; "warder session start [a-zA-Z0-9]*" starts it$
? 1

= each execution has its own end, output and limits
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; sh s exec -- sh -c 'echo out; echo err >&2; exit 3'; echo $?; sh s exec --timeout 300ms -- sleep 60; echo $?; sh s exec --max-output 4B -- echo abcdefgh; echo $?; sh s exec -- sh -c 'kill -9 $$'; echo $?; sh s stop
| out
| 3
| 124
| abcd137
| 137
! err
! warder: killed after 300ms (limits.wallTime)
! warder: killed: more than 4B on standard output (--max-output)

= a program that is killed at its time limit keeps the output that it has written, also in the result
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; sh s exec --timeout 8s --json -- sh -c 'echo kept; exec sleep 60' > result & sh s exec --timeout 8s -- sh -c 'echo out; exec sleep 60' 2> /dev/null; echo $?; wait; grep -o '"status":"timeout"\|"text":"kept[^"]*"' result; sh s stop
| out
| 124
| "status":"timeout"
| "text":"kept\n"

= processes that an execution leaves running end with it, except with --background
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; writer='while sleep 0.1; do echo x >> /tmp/log; done > /dev/null 2>&1 &'; sh s exec -- sh -c "$writer"; sh s exec -- sh -c 'rm -f /tmp/log; sleep 0.5; ls /tmp'; sh s exec --background -- sh -c "$writer"; sh s exec -- sh -c 'while [ ! -s /tmp/log ]; do sleep 0.1; done; echo it writes'; sh s exec -- sh -c 'cat /proc/[0-9]*/cmdline | tr "\0" " " | grep -c "tmp/[l]og"'; sh s stop
| it writes
| 0

= an execution may only narrow the policy of the session
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; sh s exec --timeout 1h -- true; sh s exec --net loopback -- true; sh s exec --ro /srv -- true; sh s exec --prefer network -- true; sh s exec --env A=1 --cwd / --set processes.spawn=false -- sh -c 'echo $A; pwd; ls'; sh s stop
| 1
| /
! warder: more than the session has: limits.wallTime: 1h is more than the session grants; at most 30s
! warder: file system, network, identity and disk are the session's: an execution cannot have others; start another session for it
! warder: file system, network, identity and disk are the session's: an execution cannot have others; start another session for it
!~ ^warder: more than the session has: .*network.*
!~ ^sh: .*

= flags count before the command word and after the name
+ . "$TOP/tests/transcript/session.sh"
$ export XDG_RUNTIME_DIR=$PWD/rt; P="--prefer limits"; name=$(pwd | tr -dc a-zA-Z0-9 | tail -c 40); warder session $P --set limits.openFiles=77 start $name && warder session $P exec $name -- sh -c 'ulimit -n'; warder session --set limits.openFiles=55 exec $name $P -- sh -c 'ulimit -n'; warder session --pids 3 stop $name; sh s stop
| 77
| 55
! warder: --pids is not known here

= an overlay and a writable workspace are the session's
needs place
+ . "$TOP/tests/transcript/session.sh"; mkdir work; echo one > work/a
$ sh s start --workspace $PWD/work:overlay; sh s exec -- sh -c 'echo more >> a'; sh s exec -- cat a; sh s stop; cat work/a; sh s start --workspace $PWD/work:rw --set limits.disk=unlimited; sh s exec -- sh -c 'echo two > b'; sh s exec -- cat b; sh s stop; cat work/b
| one
| more
| one
| two
| two

= started twice it is one; with something else it is refused
+ . "$TOP/tests/transcript/session.sh"
$ for i in 1 2 3 4; do sh s start --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/' & done > pids; wait; sort -u pids | wc -l; sh s start --net loopback; echo $?; sh s stop
| 1
| 125
!~ ^warder: session [a-zA-Z0-9]* runs already, with another policy or set-up; stop it first, or take another name$

= auto-start, restart, and a name that nobody keeps
+ . "$TOP/tests/transcript/session.sh"
$ sh s exec -- true 2> /dev/null; echo $?; sh s exec --auto-start --setup 'echo set > /tmp/s' -- cat /tmp/s; sh s exec --auto-start -- sh -c 'echo more >> /tmp/s'; sh s restart; sh s exec -- cat /tmp/s; sh s stop; sh s stop 2> /dev/null; echo $?
| 125
| set
| set
| 125

= the message of a set-up command has the last lines that it wrote, as many as fit
+ . "$TOP/tests/transcript/session.sh"
$ sh s start --setup 'seq 1000 1999 >&2; echo the reason >&2; false'
!~ ^warder: set-up command 1 \("seq 1000 1999 >&2; echo the reason >&2; false"\) failed: exited with 1: "1[0-9]{3}(\\n1[0-9]{3})+\\nthe reason"; the session was removed$
? 125

= a set-up command that fails leaves no session
+ . "$TOP/tests/transcript/session.sh"
$ sh s start --setup 'true' --setup 'echo no such thing >&2; exit 4'; echo $?; sh s status 2> /dev/null; echo $?; find rt -mindepth 2
| 125
| 1
! warder: set-up command 2 ("echo no such thing >&2; exit 4") failed: exited with 4: "no such thing"; the session was removed

= it ends by itself
+ . "$TOP/tests/transcript/session.sh"
$ sh s start --idle-timeout 1s; while sh s status > /dev/null 2>&1; do sleep 0.2; done; echo idle; sh s start --lifetime 6s; sh s exec -- sleep 60; echo $?; while sh s status > /dev/null 2>&1; do sleep 0.2; done; sh s start --lifetime 1y; echo $?
| idle
| 137
| 125
! warder: supervisor: killed: the session's lifetime was over
!~ ^warder: --lifetime 1y: .*

= processes in other namespaces of the same user get nothing from a session, and cannot end it
needs unshare python3
+ . "$TOP/tests/transcript/session.sh"
$ name=$(pwd | tr -dc a-zA-Z0-9 | tail -c 40); ask() { python3 $TOP/tests/lib/asking.py $1 rt/warder/sessions/$name.sock /run/warder/sessions/$name.sock; }; export -f ask; export name
> sh s start; ask 1 | cut -d ' ' -f 1; for type in 1 2 3; do unshare -U -r -p -f bash -c "ask $type"; unshare -U -r bash -c "ask $type"; done | sort | uniq -c | sed 's/^ *//'; sh s exec -- echo it runs; sh s stop
| answered
| 6 refused 0 the session answers in its keeper's namespaces of processes and users alone: not in a jail, and not in a container; ask for it where it was started
| it runs

= a keeper in other namespaces is none
needs unshare user
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; for word in "exec -- true" stop; do unshare -U -r -p -f --mount-proc sh s $word; echo $?; done; sh s stop
| 125
| 125
!~ ^warder: session [a-zA-Z0-9]* is kept in other namespaces of processes or users, as those of a container: ask for it where it was started$
!~ ^warder: session [a-zA-Z0-9]* is kept in other namespaces of processes or users, as those of a container: ask for it where it was started$

= a time of 0 is not the default
+ . "$TOP/tests/transcript/session.sh"
$ for flag in "--lifetime 0" "--lifetime 0s" "--idle-timeout 0ms"; do for word in start exec; do sh s $word $flag -- true; echo $?; done; done; find rt -mindepth 2
| 125
| 125
| 125
| 125
| 125
| 125
! warder: --lifetime 0: give a time above 0, or leave the flag out, which means 8h
! warder: --lifetime 0: give a time above 0, or leave the flag out, which means 8h
! warder: --lifetime 0s: give a time above 0, or leave the flag out, which means 8h
! warder: --lifetime 0s: give a time above 0, or leave the flag out, which means 8h
! warder: --idle-timeout 0ms: give a time above 0, or leave the flag out, which means 30m
! warder: --idle-timeout 0ms: give a time above 0, or leave the flag out, which means 30m

= names, words and flags that are wrong
$ warder session start ../x; warder session exec; warder session strat x; warder session start x y; warder session exec x; warder session stop x --force; warder session --help | head -1
|~ ^usage: warder session start NAME
! warder: "../x" is not a valid session name: up to 64 letters, digits, '.', '_' and '-', a letter or digit first
! warder: which session? exec NAME
! warder: session has no word "strat"; did you mean "start"?
! warder: y is one word too many: start NAME [FLAG...]
! warder: which program? warder session exec NAME [FLAG...] -- PROGRAM
! warder: --force is not known here

= a backend of which nothing stays refuses, with the reason
+ echo '{"enable": ["process"]}' > backends; mkdir -m 700 rt
$ XDG_RUNTIME_DIR=$PWD/rt warder session start backend-$$ --backend process --backends backends --prefer all; echo $?; find rt -mindepth 2
| 125
! warder: the backend process has no sessions: nothing stays after a run; use local

= when its keeper is killed everything in it dies, and the name is free
needs place
+ . "$TOP/tests/transcript/session.sh"; mkdir work
$ sh s start --workspace $PWD/work:rw --set limits.disk=unlimited; sh s exec --background -- sh -c 'while :; do echo > alive; sleep 0.05; done > /dev/null 2>&1 &'; while [ ! -e work/alive ]; do sleep 0.1; done; keeper=$(sh s status --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/'); kill -9 $keeper; while rm -f work/alive; sleep 1; [ -e work/alive ]; do :; done; sh s status 2> /dev/null; echo $?; sh s exec -- true 2> /dev/null; echo $?; sh s start && sh s exec -- echo again; left() { find /sys/fs/cgroup -type d -name "warder-$keeper-*" 2> /dev/null | grep .; }; for i in $(seq 300); do left > left || break; warder run --prefer limits -- true; sleep 0.1; done; left; sh s stop; find rt -mindepth 2
| 1
| 125
| again

= flags of a start are refused if the session runs
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; for f in '--setup true' '--lifetime 1h' '--idle-timeout 1h' '--cgroup-parent /x' '--backend process' '--backends x'; do sh s exec $f -- true; echo $?; done; sh s exec --backend local -- echo fine; sh s exec --backend auto -- echo so is auto; sh s stop
| 125
| 125
| 125
| 125
| 125
| 125
| fine
| so is auto
! warder: --setup: the session runs already, and an execution cannot change that; say it at "warder session start"
!~ ^warder: --lifetime: the session runs already
!~ ^warder: --idle-timeout: the session runs already
!~ ^warder: --cgroup-parent: the session runs already
!~ ^warder: --backend: the session runs already
!~ ^warder: --backends: the session runs already

= a ceiling holds for an execution, and for a start that finds the session
+ . "$TOP/tests/transcript/session.sh"
+ echo '{"version": 1, "limits": {"wallTime": "1s"}}' > low
$ sh s start; for c in none low; do sh s exec --ceiling $c -- echo no; echo $?; sh s start --ceiling $c; echo $?; done; sh s stop
| 125
| 125
| 125
| 125
!~ ^warder: ceiling: .*none
!~ ^warder: ceiling: .*none
!~ ^warder: the session has more than the ceiling grants: 
!*

= a start that finds a different session names the difference
+ . "$TOP/tests/transcript/session.sh"
$ sh s start --lifetime 1h; sh s start && sh s start --lifetime 1h && echo same; sh s start --lifetime 2h; echo $?; sh s start --idle-timeout 1h; sh s start --cgroup-parent /x; sh s start --backend process; sh s stop
| same
| 125
!~ ^warder: session [a-zA-Z0-9]* runs already, with another lifetime; stop it first
!~ ^warder: session [a-zA-Z0-9]* runs already, with another idle-timeout; stop it first
!~ ^warder: session [a-zA-Z0-9]* runs already, with another cgroup-parent; stop it first
!~ ^warder: session [a-zA-Z0-9]* runs already, with another backend; stop it first

= a start that is ended during the set-up leaves no session
needs place
+ . "$TOP/tests/transcript/session.sh"
+ mkdir work
+ echo $name > name
$ place=$PWD/rt/warder/sessions; [ $(id -u) != 0 ] || place=/run/warder/sessions; for sig in TERM KILL; do sh s start --timeout 60s --workspace $PWD/work:rw --set limits.disk=unlimited --setup 'echo > begun; sleep 40' 2> /dev/null & pid=$!; while [ ! -e work/begun ] && kill -0 $pid 2> /dev/null; do sleep 0.1; done; [ -e $place/$(cat name).lock ] && kill -$sig $pid; wait $pid 2> /dev/null; n=0; while [ -e $place/$(cat name).lock ] && [ $n -lt 100 ]; do sleep 0.2; n=$((n+1)); done; [ $n -lt 100 ]; echo $?; rm -f work/begun; done; sh s stop 2> /dev/null || true
| 0
| 0

= a signal during an execution that has to start the session gives the signal's status
needs place
+ . "$TOP/tests/transcript/session.sh"
+ mkdir work
$ sh s exec --auto-start --workspace $PWD/work:rw --set limits.disk=unlimited --setup 'echo > begun; sleep 20' -- echo no & pid=$!; while [ ! -e work/begun ]; do sleep 0.1; done; kill -TERM $pid; wait $pid; echo $?; sh s exec -- true 2> /dev/null; echo $?
| 143
| 125
! warder: the start was interrupted, and the session was removed

= a session can be stopped during its set-up
needs place
+ . "$TOP/tests/transcript/session.sh"
+ mkdir work; echo $name > name
$ sh s start --workspace $PWD/work:rw --set limits.disk=unlimited --setup 'echo > begun; sleep 20' & while [ ! -e work/begun ]; do sleep 0.1; done; sh s exec -- true 2> /dev/null; echo $?; XDG_RUNTIME_DIR=$PWD/rt warder session list | grep -c "^$(cat name) *being set up"; sh s status 2>&1 | grep -c 'is being set up'; sh s stop; echo $?; wait $!; echo $?
| 125
| 1
| 1
| 0
| 125
! warder: the session was stopped by another process during its set-up, and was removed

= an execution joins the session that it was checked against, or starts over with the one that has its name now
needs place python3
+ . "$TOP/tests/transcript/session.sh"; mkdir wa wb; echo one > wa/f; echo two > wb/f; mkfifo ceiling; echo 'find /proc/[0-9]*/fd -lname "$PWD/ceiling" 2> /dev/null | grep -q .' > reads
+ cat > policy.py <<'END'
+ import json, sys
+ print(json.dumps(json.load(sys.stdin)['policy']))
+ END
# The ceiling is read when the session has been found: until it is there, the name becomes another's. The second document waits until the first one has been read.
$ sh s start --workspace $PWD/wa; sh s status --json | python3 policy.py > first; timeout 60 sh s exec --ceiling ceiling --receipt r -- cat /workspace/f & exec 3> ceiling; sh s stop; sh s start --workspace $PWD/wb; sh s status --json | python3 policy.py > second; cat first >&3; exec 3>&-; while sh reads; do sleep 0.05; done; timeout 60 sh -c 'cat second > ceiling'; wait; grep -o 'readOnly:[^" ]*/w[ab]' r | sort -u | sed 's|:.*/|:|'; sh s stop
| two
| readOnly:wb

= a signal goes to the program of an execution
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; sh s exec -- sh -c "trap 'echo got it; exit 7' TERM; echo up; while :; do sleep 0.1; done" > out 2> err & pid=$!; until grep -qs up out 2>/dev/null; do sleep 0.1; done; sh running > id; kill -TERM $pid; wait $pid; echo $?; cat out; sh s stop
| 7
| up
| got it
