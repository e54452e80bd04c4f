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
$ sh s start; python3 idle.py; sh s stop 2> /dev/null; ls rt
| exec 0
| stop 0
| status 1

= a keeper that was stopped is ended, and everything in the session with it
needs place
+ . "$TOP/tests/transcript/session.sh"; mkdir work
$ sh s start --workspace $PWD/work:rw --set limits.disk=unlimited; sh s exec --background -- sh -c 'while :; do echo > alive; sleep 0.05; done > /dev/null 2>&1 &'; while [ ! -e work/alive ]; do sleep 0.1; done; keeper=$(sh s status --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/'); kill -STOP $keeper; sh s stop; echo $?; sh s status 2> /dev/null; echo $?; while rm -f work/alive; sleep 1; [ -e work/alive ]; do :; done; ls rt; sh s start && sh s exec -- echo again; sh s stop
| 0
| 1
| again

= a list that cannot be had is no empty one
+ . "$TOP/tests/transcript/session.sh"; echo $name > name
$ sh s start; export XDG_RUNTIME_DIR=$PWD/rt; for n in $(seq 3 40); do sh -c "ulimit -n $n && exec warder session list" > list 2> /dev/null; code=$?; [ $code = 125 ] || grep -q $(cat name) list || echo "with $n descriptors: $code, and not there"; done; grep -c $(cat name) list; sh s stop
| 1
