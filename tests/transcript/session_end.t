# The end of a session, where its keeper is no help, and what is said of sessions when descriptors run short.

= connections that ask nothing, however many, keep nobody from a session, nor from stopping it
needs python3
+ . "$TOP/tests/transcript/session.sh"; echo $name > name
+ cat > idle.py <<END
+ import os, socket, subprocess
+ here = os.getcwd()
+ os.chdir('/run/warder/sessions' if os.geteuid() == 0 else 'rt/warder/sessions')
+ held = []
+ for i in range(300):
+     held.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
+     held[-1].connect('$name.sock')
+ os.chdir(here)
+ print('exec', subprocess.call(['sh', 's', 'exec', '--', 'true']))
+ print('stop', subprocess.call(['sh', 's', 'stop']))
+ print('status', subprocess.call(['sh', 's', 'status'], stderr=subprocess.DEVNULL))
+ END
$ sh s start; python3 idle.py; sh s stop 2> /dev/null; find rt -mindepth 2
| exec 0
| stop 0
| status 1

= the end of the last session takes no mount of another mount namespace away, in which sessions run
needs unshare
+ cat > host.sh <<'END'
+ # What is called host here has a /run of its own, so that nothing of the real one is touched.
+ export XDG_RUNTIME_DIR=/run p='--prefer limits'
+ mount -t tmpfs -o mode=755 none /run && mkdir -m 700 /run/warder
+ unshare -m sh -c 'mount -t tmpfs -o mode=700 none /run/warder; warder session start inner $p; echo begun > begun; until [ -e over ]; do sleep 0.1; done; warder session exec inner -- echo still there; warder session stop inner' &
+ until [ -e begun ]; do sleep 0.1; done
+ warder session start outer $p; warder session stop outer; echo over > over
+ wait
+ END
$ unshare -m bash host.sh 2> err || { [ $(id -u) != 0 ] && echo still there; }
| still there

= a keeper that was stopped is ended, and everything in the session with it
needs pgrep
+ . "$TOP/tests/transcript/session.sh"
$ n=6$$; sh s start; sh s exec --background -- sh -c "sleep $n > /dev/null 2>&1 &"; until pgrep -fx "sleep $n" > /dev/null; do sleep 0.1; done; keeper=$(sh s status --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/'); kill -STOP $keeper; sh s stop; echo $?; sh s status 2> /dev/null; echo $?; for i in $(seq 600); do pgrep -fx "sleep $n" > /dev/null || break; sleep 0.1; done; pgrep -fx "sleep $n"; find rt -mindepth 2; sh s start && sh s exec -- echo again; sh s stop
| 0
| 1
| again

= a session whose keeper is killed while somebody stops it leaves no file
+ . "$TOP/tests/transcript/session.sh"; echo $name > name
$ sh s start; keeper=$(sh s status --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/'); kill -STOP $keeper; sh s stop & until ls -l /proc/$!/fd 2> /dev/null | grep -q socket:; do sleep 0.1; done; sleep 0.2; kill -KILL $keeper; wait $!; echo $?; ls rt/warder/sessions /run/warder/sessions 2> /dev/null | grep $(cat name)
| 0
? 1

= a list that cannot be had is no empty one
+ . "$TOP/tests/transcript/session.sh"; echo $name > name
$ sh s start; export XDG_RUNTIME_DIR=$PWD/rt; for n in $(seq 3 40); do sh -c "ulimit -n $n && exec warder session list" > list 2> /dev/null; code=$?; [ $code = 125 ] || grep -q $(cat name) list || echo "with $n descriptors: $code, and not there"; done; grep -c $(cat name) list; sh s stop
| 1

= an execution that ends with its session reports why the session ended
needs place python3 pgrep
+ . "$TOP/tests/transcript/session.sh"; mkdir work
+ cat > tell.py <<'END'
+ import json, sys
+ r = json.load(sys.stdin)
+ print(r['status'], r['cause'], r.get('sessionEnd'), r['exitCode'], r['signal'], r['limitsHit'], r['detail'], sep='; ')
+ END
+ cat > row.sh <<END
+ row() {
+ rm -f work/begun; sh s start --workspace $PWD/work:rw --set limits.disk=unlimited \$2
+ sh s exec --json -- sh -c 'echo > begun; sleep 60' > r 2> /dev/null & pid=\$!
+ while [ ! -e work/begun ] && kill -0 \$pid; do sleep 0.1; done
+ sh running > id
+ keeper=\$(sh s status --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/')
+ eval "\$1"; wait \$pid; echo \$? "\$(python3 tell.py < r)"; sh s stop 2> /dev/null
+ }
+ END
$ . ./row.sh; row 'sh s stop'; row 'sh s restart'; row : '--lifetime 10s'; row 'kill $keeper'; row 'kill -9 $keeper'; row 'kill -9 $(pgrep -P $keeper)'; row 'sh s exec -- true' '--lifetime 14s --idle-timeout 7s'; true
| 137 killed; supervisor; stopped; None; SIGKILL; []; killed: the session was stopped
| 137 killed; supervisor; stopped; None; SIGKILL; []; killed: the session was stopped
| 137 killed; supervisor; lifetime; None; SIGKILL; []; killed: the session's lifetime was over
| 137 killed; supervisor; keeperEnded; None; SIGKILL; []; killed: the session's keeper was ended by a signal
| 137 killed; supervisor; keeperDied; None; SIGKILL; None; killed: the session's keeper died
| 137 killed; supervisor; initDied; None; SIGKILL; []; killed: the session's init was killed from outside
| 137 killed; supervisor; lifetime; None; SIGKILL; []; killed: the session's lifetime was over

= if the keeper is killed, results have null for everything that it would have measured
needs python3
+ echo 'import time; print(1, flush=True); open("/tmp/begun", "w"); time.sleep(60)' > code.py
+ cat > tell.py <<'END'
+ import json, sys
+ r = json.load(open(sys.argv[1]))
+ known = lambda v: [known(x) for x in v.values()] if isinstance(v, dict) else v
+ print(r['cause'], sum([[known(r[key])] for key in ('stdout', 'stderr', 'durations', 'cpuTimeUs', 'peakMemoryBytes', 'peakPids', 'startedAt', 'limitsHit', 'identity')], []))
+ print([[s['status'], s['wallUs'], s['cpuTimeUs'], s['peakMemoryBytes']] for s in r.get('stages', [])])
+ END
$ . "$TOP/tests/transcript/session.sh"; sh s start; export XDG_RUNTIME_DIR=$PWD/rt; sh s exec --json -- sh -c 'echo 1; sleep 60' > exec 2> /dev/null & one=$!; warder code --session $name --json code.py > code 2> /dev/null & two=$!; for i in $(seq 200); do sh s exec -- test -e /tmp/begun && [ "$(warder ps | grep -c ' running ')" = 2 ] && break; sleep 0.1; done; warder wait --json $(warder ps | awk '/sleep 60/ { print $1 }') > wait 2> /dev/null & three=$!; until [ "$(ls -l /proc/$three/fd 2> /dev/null | grep -c socket:)" -gt 1 ] || ! kill -0 $three; do sleep 0.05; done; sleep 0.3; kill -9 $(sh s status --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/'); for pid in $one $two $three; do wait $pid; echo $?; done; for file in exec code wait; do python3 tell.py $file; done
| 137
| 137
| 137
| supervisor [[None, None, None], [None, None, None], [None, None, None, 0, None, None], None, None, None, None, None, None]
| []
| supervisor [[None, None, None], [None, None, None], [None, None, None, 0, None, None], None, None, None, None, None, None]
| [['killed', None, None, None]]
| supervisor [[None, None, None], [None, None, None], [None, None, None, 0, None, None], None, None, None, None, None, None]
| []

= an execution at the memory limit of all together says so, and the session goes on
needs limits place python3
+ . "$TOP/tests/transcript/session.sh"; mkdir work; echo 'import json, sys; r = json.load(sys.stdin); print(r["cause"], r.get("sessionEnd"), r["limitsHit"], r["detail"], sep="; ")' > tell.py
$ sh s start --memory 80MiB --workspace $PWD/work:rw --set limits.disk=unlimited; sh s exec --background -- sh -c 'dd if=/dev/zero bs=30M 2> /dev/null | (head -c 1 > /dev/null; echo > begun; sleep 1000) > /dev/null 2>&1 &'; while [ ! -e work/begun ]; do sleep 0.1; done; sh s exec --json -- sh -c 'dd if=/dev/zero bs=70M 2> /dev/null | sleep 60' > r 2> /dev/null; echo $?; python3 tell.py < r; sh s exec -- echo it goes on; sh s stop
| 137
| memory; None; ['memory']; killed at the memory limit of the session, which all that runs in it has together
| it goes on

= an execution whose session ends before it is joined is refused, or starts it anew
needs python3
+ . "$TOP/tests/transcript/session.sh"; mkfifo ceiling; echo 'find /proc/[0-9]*/fd -lname "$PWD/ceiling" 2> /dev/null | grep -q .' > reads
$ for flag in '' --auto-start; do sh s start --idle-timeout 4s; sh s status --json > status; keeper=$(sed 's/.*keeperPid":\([0-9]*\).*/\1/' status); python3 -c 'import json; print(json.dumps(json.load(open("status"))["policy"]))' > granted; exec 3<> ceiling; timeout 100 sh s exec $flag --ceiling ceiling -- echo it runs 3>&- & while grep -qs '^State:.[^ZX]' /proc/$keeper/status; do sleep 0.2; done; cat granted >&3; exec 3>&-; [ -z "$flag" ] || { while sh reads; do sleep 0.05; done; timeout 60 sh -c 'cat granted > ceiling'; }; wait $!; echo $?; done; sh s stop
| 125
| it runs
| 0
!~ ^warder: session [a-zA-Z0-9]* does not run; 

= a session whose lifetime is extended outlives its first end, its keeper's and its init's, and ends at the new one
+ . "$TOP/tests/transcript/session.sh"
$ sh s start --lifetime 6s; sh s extend 14s; sh s status --json | grep -oE '"remainingUs":([7-9]|1[0-9])[0-9]{6}' | cut -c 1-14; sleep 7; sh s exec -- echo lives; for i in $(seq 600); do sh s status > /dev/null 2>&1 || break; sleep 0.1; done; sh s status; echo $?
| "remainingUs":
| lives
| 1
!~ ^warder: session [^ ]* does not run; .*

= a lifetime is extended by a time, and not beyond 30 days
+ . "$TOP/tests/transcript/session.sh"
$ sh s start --lifetime 1h; sh s extend 720h; sh s extend; sh s extend 1h 2h; sh s extend soon; sh s extend 719h && echo extended; sh s extend 1h; sh s stop; sh s extend 1h
| extended
!~ ^warder: a session lasts at most 30 days, and [^ ]* has 3600 s of them already$
! warder: by how much? extend NAME TIME, such as 30m
! warder: 2h is one word too many: extend NAME TIME
!~ ^warder: .*soon.*
!~ ^warder: a session lasts at most 30 days, and [^ ]* has 2592000 s of them already$
!~ ^warder: session [^ ]* does not run$
? 125
