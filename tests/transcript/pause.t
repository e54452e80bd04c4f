# A session that is paused: warder session pause and resume.
needs limits

= the wall time stands still, also that of init, and goes on; the state is shown
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; export XDG_RUNTIME_DIR=$PWD/rt; id=$(sh s exec --detach --timeout 6s -- sh -c 'while :; do echo x; sleep 0.05; done'); sleep 0.5; sh s pause; warder ps | grep -c "^$id .* paused "; sh s status --json | grep -o '"paused":[a-z]*'; warder logs $id | wc -l > one; sleep 9; warder logs $id | wc -l | cmp - one && echo still; sh s resume; warder ps | grep -c "^$id .* running "; until [ $(warder logs $id | wc -l) -gt $(cat one) ] && echo on || ! warder ps | grep -q ' running '; do sleep 0.05; done; warder wait $id; echo $?; sh s stop
| 1
| "paused":true
| still
| 1
| on
| 124
! warder: wallTime: killed after the wall time of 6s

= refused: a second pause, a start in a paused session, a pause with a supervising caller, an unknown session
+ . "$TOP/tests/transcript/session.sh"; echo $name > name; cp "$(command -v warder)" other
$ sh s start; export XDG_RUNTIME_DIR=$PWD/rt; sh s resume; sh s pause; sh s pause; sh s exec -- true; sh s exec --detach -- true; sh s resume; ./other session exec $(cat name) -- sh -c 'touch /tmp/begun; sleep 60' 2> ended & until sh s exec -- test -e /tmp/begun || ! kill -0 $!; do sleep 0.05; done; sh s pause; sh s stop; wait; grep -c stopped ended; sh s pause
| 1
!~ ^warder: session [^ ]* is not paused$
!~ ^warder: session [^ ]* is paused already$
!~ ^warder: session [^ ]* is paused, and nothing starts in it; "warder session resume [^ ]*" lets it go on$
!~ ^warder: session [^ ]* is paused, and nothing starts in it; "warder session resume [^ ]*" lets it go on$
!~ ^warder: session [^ ]* has executions that their callers supervise, whose time goes on; .*
!~ ^warder: session [^ ]* does not run$
? 125

= an execution whose caller waits is paused, too
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; sh s exec --timeout 6s -- sh -c 'while :; do echo x; sleep 0.05; done' > out & pid=$!; until [ -s out ]; do sleep 0.05; done; sh s pause; sleep 1; wc -l < out > one; sleep 8; wc -l < out | cmp - one && kill -0 $pid && echo still; sh s resume; wait $pid; echo $?; [ $(wc -l < out) -gt $(cat one) ] && echo on; sh s stop
| still
| 124
| on
! warder: killed after 6s (limits.wallTime)

= SIGKILL ends the processes of a paused session at once; their end is known, and other signals arrive, after the pause
+ . "$TOP/tests/transcript/session.sh"
$ n=6$$; sh s start; export XDG_RUNTIME_DIR=$PWD/rt; id=$(sh s exec --detach -- sh -c "sleep $n & while :; do sleep 0.05; done"); other=$(sh s exec --detach -- sh -c 'trap "echo heard; exit 4" TERM; echo ready; while :; do sleep 0.05; done'); until warder logs $other | grep -q ready; do sleep 0.05; done; until pgrep -fx "sleep $n" > /dev/null; do sleep 0.05; done; sh s pause; warder kill -s KILL $id; echo $?; warder kill $other; for i in $(seq 600); do pgrep -fx "sleep $n" > /dev/null || break; sleep 0.1; done; pgrep -fxc "sleep $n"; sleep 0.3; warder ps | grep -c ' paused '; warder logs $other; sh s resume; warder wait $id; echo $?; warder wait $other; echo $?; warder logs $other 2> /dev/null; sh s stop
| 0
| 0
| 2
| ready
| 137
| 4
| ready
| heard

= the idle time stands still, and the lifetime runs on
+ . "$TOP/tests/transcript/session.sh"
$ sh s start --idle-timeout 5s --lifetime 20s; sh s pause; sleep 8; sh s status --json | grep -o '"paused":[a-z]*'; for i in $(seq 600); do sh s status > /dev/null 2>&1 || break; sleep 0.1; done; sh s status > /dev/null 2>&1; echo $?
| "paused":true
| 1

= a paused session that is stopped, and one whose keeper is killed, leave nothing
+ . "$TOP/tests/transcript/session.sh"
$ n=7$$; export XDG_RUNTIME_DIR=$PWD/rt; for how in stop kill; do sh s start; id=$(sh s exec --detach -- sh -c "sleep $n & sleep $n"); sh s pause; keeper=$(sh s status --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/'); [ $how = stop ] && sh s stop || kill -9 $keeper; for i in $(seq 600); do pgrep -fx "sleep $n" > /dev/null || break; sleep 0.1; done; pgrep -fxc "sleep $n"; find /sys/fs/cgroup -maxdepth 4 -name "warder-$keeper-*" 2> /dev/null > left; [ $how = stop ] && cat left; warder ps | wc -l; done; warder doctor --clean > /dev/null; true
| 0
| 1
| 0
| 1
