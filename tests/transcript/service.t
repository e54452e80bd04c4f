# The resident service of a user, and commands that use it, or work alone.

= the same commands have the same results with and without a service
+ cat > commands <<'EOF'
+ r -- echo hello; echo $?
+ r -- sh -c 'echo out; echo err >&2; exit 7'; echo $?
+ echo text | r -- cat; echo $?
+ r -n -- cat; echo $?
+ r -- sh -c 'kill -9 $$'; echo $?
+ r --timeout 300ms -- sleep 20; echo $?
+ r --max-output 4B -- echo hello; echo $?
+ r -- no-such-program; echo $?
+ r -- /etc/passwd; echo $?
+ r --memory 9999GiB --ceiling ceiling.json -- true; echo $?
+ r --env A=1 --env B=2 -- sh -c 'echo $A $B'; echo $?
+ r --cwd /tmp -- pwd; echo $?
+ r --ro "$PWD" -- cat "$PWD/shown"; echo $?
+ r --rw "$PWD/out" -- sh -c "echo written > $PWD/out/file"; echo $?; cat out/file
+ r --receipt - -- true 2>&1 | grep -c '"control"'
+ r -- sh -c 'trap "exit 3" TERM; kill -TERM $$; sleep 1'; echo $?
+ r --json -- sh -c 'echo o; echo e >&2; exit 2' | grep -o '"status":"[a-z]*"\|"text":"[a-z\\]*"\|"exitCode":[0-9]*'
+ EOF
+ echo shown > shown; mkdir out; chmod 777 out; warder policy show strict > ceiling.json
$ . "$TOP/tests/transcript/service.sh"; (. ./commands) > alone 2>&1; serve; (. ./commands) > served 2>&1; (. ./commands) > again 2>&1; diff alone served && diff alone again && wc -l < alone; by -- true; by -- true
|~ ^[3-9][0-9]$
| "service":"yes"
| "service":"yes"

= code, judge and tool have the same results with and without a service
needs python3
+ cat > commands <<'EOF'
+ c hello.py; echo $?
+ c hello.py a 'b c'; echo $?
+ c hello.py 2>&1 | cat; echo $?
+ echo 'print(input())' > in.py; echo text | c in.py; echo $?
+ c fails.py; echo $?
+ c syntax.py; echo $?
+ echo 'import os, signal; os.kill(os.getpid(), 9)' | c --language python -; echo $?
+ echo 'raise KeyboardInterrupt' | c --language python - 2> /dev/null; echo $?
+ echo 'while True: pass' | c --timeout 1s --language python -; echo $?
+ echo 'print(6 * 7)' | c --max-output 2B --language python -; echo $?
+ echo 'import helper; print(helper.x)' > main.py; echo 'x = 5' > helper.py; c --file helper.py main.py; echo $?
+ c --input '{"a": [1, 2]}' value.py; echo $?
+ c --env A=1 env.py; echo $?
+ echo 'echo $0 $1; cat /tmp/box/data; exit 4' > s.sh; echo data > data; c --file data s.sh one; echo $?
+ c --json hello.py | parts
+ c --json fails.py | parts
+ c --json --input 7 value.py | parts
+ c --json syntax.py | parts
+ c --json --collect '*.txt' files.py | parts
+ c --receipt - hello.py 2>&1 | grep -o '"control":"[^"]*","status":"[a-z]*","requested":"[^"]*"'
+ j judge.json; echo $?
+ t < requests | parts
+ EOF
+ cat > hello.py <<'EOF'
+ """A text."""
+ import os, sys, __main__
+ print(__file__, __name__, __doc__, sys.argv, sys.orig_argv, sys.path[0], os.getcwd(), len(sys.modules), sorted(vars(__main__)))
+ print(sys.flags, os.environ, __loader__.path, sys.stdin.isatty(), 'json' in sys.modules)
+ print('error', file=sys.stderr)
+ with open('/dev/fd/3', 'w') as result: result.write('{"b": 1, "a": [2]}')
+ EOF
+ printf 'def f():\n  raise ValueError("no")\nprint("before")\nf()\n' > fails.py; printf 'print("x"\nx = = 1\n' > syntax.py
+ printf 'import json\nv = json.load(open("/dev/fd/4"))\nprint(v)\njson.dump(v, open("/dev/fd/3", "w"))\n' > value.py; echo 'import os; print(os.environ)' > env.py
+ printf 'for i in range(3): open(f"{i}.txt", "w").write("x" * i * 40000)\nopen("other", "w")\n' > files.py
+ echo '{"language": "python", "code": "print(int(input()) * 2)", "cases": [{"stdin": "21", "expected": "42"}, {"stdin": "1", "expected": "3"}, {"stdin": "x", "expected": ""}, {"stdin": "4", "expected": "8", "args": ["a"]}]}' > judge.json
+ for i in 1 2 3; do echo '{"id": '$i', "language": "python", "code": "import sys; print(sys.argv); open(\"f\", \"w\").write(\"q\")", "args": ["'$i'"]}'; done > requests; echo '{"id": 4, "language": "bash", "code": "echo $0; exit 3"}' >> requests
$ . "$TOP/tests/transcript/service.sh"; (. ./commands) > alone 2>&1; serve; (. ./commands) > served 2>&1; diff alone served && wc -l < alone; c --json hello.py | grep -o '"service":"[^"]*"'
|~ ^[5-9][0-9]$
| "service":"yes"
< 120

= Python reads, fails and ends in the same way with and without a service, which may fork
needs python3
+ cat > make.py <<'EOF'
+ pieces = [
+ b"# \xff\nprint('byte')\n",
+ b"print('nul')\n\0\n",
+ b"# coding: latin-1\nprint('\xe9')\n",
+ b"print(1)\n# coding: x\nprint('coding')\n",
+ b"# -*- coding: utf-8 -*-\nprint('\xc3\xa9')\n",
+ b"class A:\n  def __del__(self): print('gone')\nb = [A()]\nb.append(b)\n",
+ b"import io\nclass F(io.StringIO):\n  def __del__(self): print('file', self.me is self)\nf = F()\nf.me = f\n",
+ b"class A:\n  def __del__(self): print('gone')\ndef f():\n  a = A()\n  raise ValueError('why')\nf()\n",
+ b"class A:\n  def __del__(self): print('gone')\ndef f():\n  a = A()\n  raise SystemExit('why')\nf()\n",
+ b"import multiprocessing as m\nif __name__ == '__main__':\n  p = m.Pool(2)\n  print(p.map(abs, [-1, 2]))\n",
+ b"class K(KeyboardInterrupt): pass\nraise K('x')\n",
+ b"import atexit\natexit.register(print, 'exit')\nclass A:\n  def __del__(self): print('gone')\na = A()\nraise KeyboardInterrupt\n",
+ b"import sys\ndef hook(*words): 1 / 0\nsys.excepthook = hook\nraise ValueError('why')\n",
+ b"import sys\ndef hook(*words): sys.exit(5)\nsys.excepthook = hook\nraise ValueError('why')\n",
+ b"import sys\ndel sys.excepthook\nraise ValueError('why')\n",
+ b"import atexit, sys\natexit.register(lambda: print(sys.last_value, sys.last_traceback.tb_next))\nraise ValueError('why')\n",
+ b"def f(n): return n and f(n - 1)\nf(990)\nf(995)\nprint('deep')\n",
+ b"import sys\nsys.settrace(lambda frame, event, arg: print(frame.f_code.co_name))\n",
+ ]
+ for number, piece in enumerate(pieces): open('p%02d.py' % number, 'wb').write(piece)
+ EOF
+ cat > commands <<'EOF'
+ for p in p*.py; do echo $p; c --language python $p 2>&1; echo $?; done
+ printf '{"language": "python", "code": "# coding: latin-1\\nprint(len(\\"\\u00e9\\"))", "cases": [{"expected": "2"}]}' > judge.json; j judge.json; echo $?
+ EOF
$ . "$TOP/tests/transcript/service.sh"; python3 make.py; (. ./commands) > alone; serve; (. ./commands) > served; kill $served; wait $served; rm ready; serve --fork-server; (. ./commands) > forked; diff alone served && diff alone forked && grep -c '^p' alone
| 18
< 120

= an interpreter that was started in advance runs the code, in a jail of its own
needs python3
$ . "$TOP/tests/transcript/service.sh"; serve; echo 'import os; print(open("/proc/self/cmdline").read().split("\0")[1]); print(os.listdir("/tmp"), os.listdir("/tmp/box")); open("/tmp/left", "w")' > code.py; for i in 1 2 3; do c code.py; done; c --no-service code.py | head -n 1
| -c
| ['box'] ['main.py']
| -c
| ['box'] ['main.py']
| -c
| ['box'] ['main.py']
| main.py

= code that only the caller can run, or a policy that the service does not serve
needs python3 gcc
$ . "$TOP/tests/transcript/service.sh"; serve; echo 'print(1)' > p.py; echo 'int main(void) { return 0; }' > p.c; said() { c --json "$@" | grep -o '"service":"[^"]*"'; }; said p.c; said --progress p.py; said --env PATH p.py; said --no-service p.py; warder policy show strict > ceiling.json; warder code --json --ceiling ceiling.json p.py | grep -o '"service":"[^"]*"' || echo refused; said p.py
| "service":"no: the code was compiled"
| "service":"no: --progress"
| "service":"no: the policy lets variables of the caller in"
| "service":"no: --no-service"
|~ ^("service":"no: a ceiling limits the code"|refused)$
| "service":"yes"

= when the service is killed, code that it runs ends, and judge and tool go on alone
needs python3
$ . "$TOP/tests/transcript/service.sh"; serve; echo 'import time; print("ready"); time.sleep(20)' > long.py; (c long.py > out; echo $? > status) & until grep -qs ready out; do sleep 0.05; done; { kill -9 $served; wait $served; } 2> /dev/null; served=; wait; cat out status; echo '{"language": "python", "code": "print(1)"}' | t | grep -o '^.*"cause":"[a-z]*"\|"service"' | grep -o '"cause":"[a-z]*"\|"service"'
| ready
| 137
| "cause":"exit"
! warder: supervisor: killed: the service that ran the program (warder serve) has ended

= without a service the result does not mention one
$ . "$TOP/tests/transcript/service.sh"; by -- true
| none

= the commands work alone, in silence, where something would differ, or only they can do it
needs limits
$ . "$TOP/tests/transcript/service.sh"; serve; by --no-service -- true; by -- true; nice -n 3 bash -c '. "$TOP/tests/transcript/service.sh"; by -- true'; (ulimit -n 200; by -- true); by --net loopback -- true; by --env PATH -- true; by --progress -- true
| "service":"no: --no-service"
| "service":"yes"
| "service":"no: the service has another nice value than the caller"
| "service":"no: the service has another resource limit (ulimit) than the caller"
| "service":"yes"
| "service":"no: the policy lets variables of the caller in"
| "service":"no: --progress"

= a caller that may use other processors works alone
needs limits processors
$ . "$TOP/tests/transcript/service.sh"; serve; taskset -c 0 bash -c '. "$TOP/tests/transcript/service.sh"; by -- true'; by -- true
| "service":"no: the service has another set of processors than the caller"
| "service":"yes"

= a caller in another cgroup works alone
needs user
$ . "$TOP/tests/transcript/service.sh"; serve; for place in /sys/fs/cgroup{/unified,,/pids}; do [ ! -e $place/cgroup.procs ] || break; done; other=$place/warder-service-$$; mkdir $other; (echo $BASHPID > $other/cgroup.procs; . "$TOP/tests/transcript/service.sh"; by -- true); for i in $(seq 100); do rmdir $other 2> /dev/null && break; sleep 0.05; done; by -- true
| "service":"no: the service has another cgroup than the caller"
| "service":"yes"

= a caller with other secure bits works alone
needs user setpriv
$ . "$TOP/tests/transcript/service.sh"; serve; cat > by.sh <<< '. "$TOP/tests/transcript/service.sh"; by -- true'; setpriv --securebits +no_setuid_fixup bash by.sh; bash by.sh
| "service":"no: the service has another set of secure bits than the caller"
| "service":"yes"

= doctor says whether the service that runs would serve a command from here
$ . "$TOP/tests/transcript/service.sh"; of() { "$@" warder doctor | grep -A1 '^Service of' | tail -1; }; of env; serve; of env; of nice -n 3; nice -n 3 warder doctor --json | grep -o '"service":[^,]*,"serviceRefuses":[^,]*'
|   none; "warder serve --local" starts one
|   runs: "warder run" may use it
|   runs, but does not serve a command from here: the service has another nice value than the caller
| "service":true,"serviceRefuses":"the service has another nice value than the caller"

= also if the service was changed after its start: it is not compared with what it has now
$ . "$TOP/tests/transcript/service.sh"; serve; renice -n 5 -p $served > /dev/null; nice -n 5 warder doctor | grep -A1 '^Service of' | tail -1; wait $served; echo $?; served=
|   runs, but does not serve a command from here: the nice value of the service was changed after its start
| 125
! warder: the nice value of the service was changed after its start, so it has ended

= doctor does not wait long for a service that is stopped
$ . "$TOP/tests/transcript/service.sh"; serve; halt; warder doctor | grep -A1 '^Service of' | tail -1; kill -CONT $served
|   runs, but does not serve a command from here: the service does not answer
< 20

= a caller with another scheduling policy or I/O priority works alone
needs chrt ionice
$ . "$TOP/tests/transcript/service.sh"; serve; cat > by.sh <<< '. "$TOP/tests/transcript/service.sh"; by -- true'; chrt -b 0 bash by.sh; ionice -c 3 bash by.sh; bash by.sh
| "service":"no: the service has another scheduling policy than the caller"
| "service":"no: the service has another I/O priority than the caller"
| "service":"yes"

# The jails of its pool may still have what it had. The first caller after the change finds it.
= a service that was changed after its start lets its programs finish and ends, and a new one can be started meanwhile
needs limits prlimit
+ cat > by.sh <<'EOF'
+ . "$TOP/tests/transcript/service.sh"; by -- true
+ EOF
$ . "$TOP/tests/transcript/service.sh"; serve --idle-timeout 20s; bash by.sh; mkfifo in; exec 8<> in; (r -- sh -c 'echo ready; read x; echo finished' < in > out; echo $? >> out) & caller=$!; until grep -qs ready out; do sleep 0.05; done; renice -n 5 -p $served > /dev/null; nice -n 5 bash by.sh; for i in $(seq 200); do [ "$(bash by.sh)" != none ] || break; sleep 0.05; done; bash by.sh; old=$served; rm ready; serve --idle-timeout 20s; bash by.sh; grep -c finished out; echo >&8; wait $caller; cat out; wait $old; echo $?; bash by.sh; soft=$(ulimit -Sn); prlimit --pid $served --nofile=$((soft - 1)):; (ulimit -Sn $((soft - 1)); bash by.sh); wait $served; echo $?; served=; bash by.sh
| "service":"yes"
| "service":"no: the nice value of the service was changed after its start"
| none
| "service":"yes"
| 0
| ready
| finished
| 0
| 125
| "service":"yes"
| "service":"no: the resource limit (ulimit) of the service was changed after its start"
| 125
| none
! warder: the nice value of the service was changed after its start, so it has ended
! warder: the resource limit (ulimit) of the service was changed after its start, so it has ended

= a caller in other namespaces works alone
needs user unshare
$ . "$TOP/tests/transcript/service.sh"; serve; cat > by.sh <<< '. "$TOP/tests/transcript/service.sh"; by -- true'; for flag in m n i u C; do unshare -$flag bash by.sh; done; bash by.sh
| "service":"no: the service has another mount namespace than the caller"
| "service":"no: the service has another network namespace than the caller"
| "service":"no: the service has another IPC namespace than the caller"
| "service":"no: the service has another UTS namespace than the caller"
| "service":"no: the service has another cgroup namespace than the caller"
| "service":"yes"

= a caller in another time namespace works alone
needs user unshare clocks
$ . "$TOP/tests/transcript/service.sh"; serve; cat > by.sh <<< '. "$TOP/tests/transcript/service.sh"; by -- true'; unshare -T --fork bash by.sh; bash by.sh
| "service":"no: the service has another time namespace than the caller"
| "service":"yes"

# The last but one has another root directory. In a chroot, no jail can be made, so that it is not "yes" only if the service refuses.
= a caller with other privileges, another program file or another root works alone
needs user unshare python3
+ cat > by.sh <<'EOF'
+ . "$TOP/tests/transcript/service.sh"; by -- true
+ EOF
+ cat > filtered.py <<'EOF'
+ # A filter that allows everything, without no_new_privs.
+ import ctypes, os, struct
+ allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
+ program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(allow))
+ assert ctypes.CDLL(None).prctl(22, 2, program, 0, 0) == 0
+ os.execvp("bash", ["bash", "by.sh"])
+ EOF
$ unshare -m bash -c '. "$TOP/tests/transcript/service.sh"; serve; setpriv --ruid 1 warder run $limits --json -- true | grep -o "\"service\":\"[^\"]*\""; setpriv --regid 1 --keep-groups bash by.sh; setpriv --groups 7,8 bash by.sh; setpriv --bounding-set -sys_boot bash by.sh; setpriv --no-new-privs bash by.sh; python3 filtered.py; (echo 500 > /proc/self/oom_score_adj; bash by.sh); cp "$(command -v warder)" warder; (PATH=$PWD:$PATH; bash by.sh); rm warder; mkdir root; mount -t tmpfs none root; for d in /*; do if [ -L $d ]; then cp -P $d root$d; elif [ -d $d ]; then mkdir root$d; mount --rbind $d root$d; fi; done; chroot root bash -c "cd $PWD && bash by.sh"; bash by.sh'
| "service":"no: the service has another user than the caller"
| "service":"no: the service has another group than the caller"
| "service":"no: the service has another list of groups than the caller"
| "service":"no: the service has another set of capabilities than the caller"
| "service":"no: the service has another no_new_privs than the caller"
| "service":"no: the service has another system call filter than the caller"
| "service":"no: the service has another oom_score_adj than the caller"
| "service":"no: the service has another version than the caller"
| none
| "service":"yes"

= an ordinary user's caller with another bounding set works alone
needs user
$ chmod 777 .; u() { setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/tmp "$@"; }; cat > by.sh <<< '. "$TOP/tests/transcript/service.sh"; by -- true'; u bash -c '. "$TOP/tests/transcript/service.sh"; serve; touch up; until [ -e down ]; do sleep 0.05; done' & until [ -e up ]; do sleep 0.05; done; u bash by.sh; setpriv --bounding-set -sys_boot setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/tmp bash by.sh; touch down; wait
| "service":"yes"
| "service":"no: the service has another bounding set than the caller"

= a link of the policy that leads elsewhere now leads there, also in a jail that was ready before
$ . "$TOP/tests/transcript/service.sh"; serve; mkdir a b; echo a > a/file; echo b > b/file; ln -s a link; see() { r --ro "$PWD/link" -- cat "$PWD/link/file"; sleep 0.3; }; see; see; ln -sfn b link; see; see; ln -sfn a link; see
| a
| a
| b
| b
| a

= a file system that is mounted or unmounted meanwhile is seen, or not
needs user
$ unshare -m bash -c '. "$TOP/tests/transcript/service.sh"; serve; mkdir -p dir/below; see() { r --ro "$PWD/dir" -- ls "$PWD/dir/below"; echo .; sleep 0.3; }; see; see; mount -t tmpfs none dir/below; touch dir/below/file; see; see; umount dir/below; see'
| .
| .
| file
| .
| file
| .
| .

= a program in a jail that is shown the socket cannot use it
$ . "$TOP/tests/transcript/service.sh"; serve; place=$XDG_RUNTIME_DIR; [ "$(id -u)" != 0 ] || place=/run; cp "$(command -v warder)" . ; r --env XDG_RUNTIME_DIR=$place --ro "$place/warder" --ro "$PWD/warder" -- sh -c "ls -A $place/warder/sessions | grep -c service; $PWD/warder run --json -- true" | grep -o '^2\|"service":"yes"\|"status":"rejected"'
| 2
| "status":"rejected"

= with --fork-server, code in Python is forked, with the same results; a policy with a directory to write to has a Python of its own
$ . "$TOP/tests/transcript/service.sh"; serve --fork-server; echo 'print(6 * 7); raise SystemExit(3)' > a.py; for i in 1 2; do c --language python a.py; echo $?; done; c --json --language python a.py > json; grep -o '"service":"yes"' json; grep -o '"ownAddressSpace","status":"absent"' json; mkdir w; c --workspace w:rw --json --language python a.py > json; grep -o '"service":"yes"' json; grep -c ownAddressSpace json || true
| 42
| 3
| 42
| 3
| "service":"yes"
| "ownAddressSpace","status":"absent"
| "service":"yes"
| 0

# Who ends removes the directory of the socket if it is empty, also between the two steps of a start.
= a start does not fail because another service or session ends
needs user unshare python3
+ cat > remove.py <<'EOF'
+ import os, time
+ while not os.path.exists("over"):
+ 	time.sleep(0.00005)
+ 	try:
+ 		os.rmdir("/run/warder/sessions")
+ 	except OSError:
+ 		pass
+ EOF
$ unshare -m bash -c 'mkdir -p /run/warder; mount -t tmpfs none /run/warder; chmod 700 /run/warder; . "$TOP/tests/transcript/service.sh"; python3 remove.py & remover=$!; for i in $(seq 30); do serve; kill -TERM $served; wait $served; echo $?; rm ready; done | sort | uniq -c; touch over; wait $remover'
|      30 0

= a second one is refused, and the first serves on
$ . "$TOP/tests/transcript/service.sh"; serve; warder serve --local; echo $?; by -- true
| 125
| "service":"yes"
! warder: a service of this user runs already, or one that was killed left processes

= a signal for the command ends its program
$ . "$TOP/tests/transcript/service.sh"; serve; sh r -- sh -c 'trap "echo term; exit 4" TERM; echo ready; while :; do sleep 0.05; done' > out 2> /dev/null & caller=$!; until grep -qs ready out; do sleep 0.05; done; kill -TERM $caller; wait $caller; echo $?; cat out
| 4
| ready
| term

= a command that is killed takes its program along
$ . "$TOP/tests/transcript/service.sh"; serve; n=6$$; sh r -- sleep $n & caller=$!; until pgrep -fx "sleep $n" > /dev/null; do sleep 0.05; done; { kill -9 $caller; wait $caller; } 2> /dev/null; for i in $(seq 600); do pgrep -fx "sleep $n" > /dev/null || break; sleep 0.1; done; pgrep -fx "sleep $n"; by -- true
| "service":"yes"

= when the service is killed, its programs end, and the callers go on alone
$ . "$TOP/tests/transcript/service.sh"; serve; (r -- sh -c 'echo ready; sleep 20' > out; echo $? > status) & until grep -qs ready out; do sleep 0.05; done; { kill -9 $served; wait $served; } 2> /dev/null; served=; wait; cat out status; r -- echo alone; by -- true
| ready
| 137
| alone
| none
! warder: supervisor: killed: the service that ran the program (warder serve) has ended

= a service that does not answer is not waited for long
$ . "$TOP/tests/transcript/service.sh"; serve; halt; r -- echo alone; kill -CONT $served; by -- true
| alone
| "service":"yes"
< 20

= a caller does not hang with a service that is stopped while the program runs
$ . "$TOP/tests/transcript/service.sh"; serve; sh r --grace 100ms -- sh -c 'echo ready; sleep 60' > out & caller=$!; until grep -qs ready out; do sleep 0.05; done; halt; kill -TERM $caller; wait $caller; echo $?; kill -CONT $served; by -- true
| 143
| "service":"yes"
! warder: the service (warder serve) does not answer; the program ends when the service goes on or ends
< 20

= nor with one that is silent after it has accepted, and says so once
needs python3
$ . "$TOP/tests/transcript/service.sh"; python3 "$TOP/tests/transcript/service_silent.py" sh r --grace 100ms -- true
| 143
! warder: the service (warder serve) does not answer; the program ends when the service goes on or ends
< 20

= nor beyond the wall time of its program, and has the result that it has when the service is killed
$ . "$TOP/tests/transcript/service.sh"; serve; sh r --timeout 8s -- sh -c 'echo ready; sleep 60' > out & caller=$!; until grep -qs ready out; do sleep 0.02; done; halt; wait $caller; echo $?; kill -CONT $served; by -- true
| 137
| "service":"yes"
! warder: supervisor: the service that runs the program (warder serve) does not answer
< 40

= but waits for one that is not stopped
needs python3
$ . "$TOP/tests/transcript/service.sh"; python3 "$TOP/tests/transcript/service_silent.py" --late sh r --timeout 300ms -- true
| 137
! warder: supervisor: killed: the service that ran the program (warder serve) has ended
< 40

= a signal ends the wait for a service that does not answer
$ . "$TOP/tests/transcript/service.sh"; serve; halt; sh r -- echo alone & caller=$!; until handles $caller || ! kill -0 $caller; do sleep 0.02; done; SECONDS=0; kill -TERM $caller; wait $caller; echo $? $((SECONDS < 3 * ${WARDER_TEST_SLOW:-1})); kill -CONT $served
| 143 1
< 20

= judge waits for its workers as long as they wait for a service that is stopped
$ . "$TOP/tests/transcript/service.sh"; serve; n=7$$; echo '{"language": "bash", "code": "sleep '$n'", "cases": [{"stdin": "", "expected": ""}]}' > judge.json; warder judge $limits judge.json > out & caller=$!; until pgrep -fx "sleep $n" > /dev/null; do sleep 0.02; done; halt; kill -TERM $caller; wait $caller; echo $?; kill -CONT $served
| 143
! warder: the service (warder serve) does not answer; the program ends when the service goes on or ends
< 20

= a caller beyond 32 connections works alone, and one that sends nothing is dropped after 5 seconds
needs python3
$ . "$TOP/tests/transcript/service.sh"; serve; python3 "$TOP/tests/transcript/service_hold.py" 32 bash -c '. "$TOP/tests/transcript/service.sh"; by -- true'; by -- true
| "service":"no: the service is busy"
| 32 dropped after 5 s
| "service":"yes"
< 20

# The first is killed before the caller begins, which therefore goes on alone; the others when the machine comes to it.
= the service may be killed at any moment: a program runs at most once, and nothing stays
needs limits user
$ . "$TOP/tests/transcript/service.sh"; export WARDER_CGROUP_PARENT=warder-service-$$; mkdir shared; chmod 777 shared; lose() { { kill -9 $served; wait $served; } 2> /dev/null; }; for i in 0 1 2 3 4 5 6 7 8 9; do serve; [ $i != 0 ] || lose; sh r --rw "$PWD/shared" -- sh -c "echo $i >> $PWD/shared/ran" 2> /dev/null & caller=$!; sleep 0.0$((i / 2))$((i % 2 * 5)); [ $i = 0 ] || lose; wait $caller; echo $i $? >> statuses; rm ready; done; served=; sort shared/ran | uniq -d; while read -r i status; do [ $status = 137 ] || echo "$status $(grep -c "^$i$" shared/ran)"; done < statuses | sort -u; left() { ls -d /sys/fs/cgroup/{,*/}"$WARDER_CGROUP_PARENT"/warder-* 2> /dev/null; }; for i in $(seq 300); do r -- true; left > /dev/null || break; sleep 0.2; done; left; rmdir /sys/fs/cgroup/{,*/}"$WARDER_CGROUP_PARENT" 2> /dev/null; wc -l < statuses
| 0 1
| 10
< 60

= the next one waits for the helpers of a service that was killed, which hold its lock
$ . "$TOP/tests/transcript/service.sh"; serve; lock=$(find rt /run/warder -name '.service*.lock' -user $(id -un) 2> /dev/null); exec 9<> "$lock"; kill -9 $served; wait $served 2> /dev/null; for i in $(seq 100); do flock -n 9 && break; sleep 0.05; done; sleep 0.7 & exec 9>&-; rm ready; serve; by -- true
| "service":"yes"

= a receipt of a parked jail differs from another one only in what parking changes
+ cat > rows.py <<'EOF'
+ import json, os
+ alone, served = (json.load(open(name))["receipt"] for name in ("alone", "served"))
+ print(sorted(served.keys() ^ alone.keys()), served.pop("parkedUs") > 0)
+ rows = [receipt.pop("controls") for receipt in (alone, served)]
+ print(alone == served, len(rows[0]) == len(rows[1]) > 20)
+ read = {}
+ for one, other in zip(*rows):
+ 	read.setdefault(other.pop("readAt"), set()).add(other["control"])
+ 	if one["control"] in ("processes.identity", "limits.cpuTime", "processors"): # those of this jail
+ 		one["value"] = other["value"] = ""
+ 	if one != other:
+ 		print(one["control"], sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name)), other["value"].replace(one["value"], ""))
+ if not os.path.exists("/proc/self/ns/time"): # without time namespaces, no clock of a jail counts from its own start
+ 	print("namespaces ['value'] ; clocks count from 1 to 2 s before the jail was parked")
+ print(sorted(read), sorted(read["park"] & read["handOut"]), sorted(name for name in read["park"] if name.startswith("limits")))
+ EOF
$ . "$TOP/tests/transcript/service.sh"; r --json -- true > alone; serve; for i in $(seq 100); do r --json -- true > served; ! grep -q parkedUs served || break; sleep 0.1; done; python3 rows.py
| ['parkedUs'] True
| True True
| namespaces ['value'] ; clocks count from 1 to 2 s before the jail was parked
| ['handOut', 'park'] [] ['limits.disk.tmp']

= it ends when nobody asks, not before, and at a signal, and leaves nothing
+ cat > left.sh <<'EOF'
+ find rt /run/warder -mindepth 1 -name '.service*' -user $(id -un) 2> /dev/null
+ ls -d /sys/fs/cgroup{/*/*,/*,}/warder-$1-* 2> /dev/null
+ pgrep -P $1
+ EOF
$ . "$TOP/tests/transcript/service.sh"; serve --idle-timeout 8s; began=$(date +%s%N); by -- true; bash left.sh $served | grep -cF .service; wait $served; echo $?; [ $(($(date +%s%N) - began)) -gt 8000000000 ] || echo early; bash left.sh $served; rm ready; serve; by -- true; kill -TERM $served; wait $served; echo $?; bash left.sh $served; served=; by -- true
| "service":"yes"
| 2
| 0
| "service":"yes"
| 0
| none
< 60

= wrong arguments of serve are refused
$ warder serve; echo $?; warder serve --local word; echo $?; warder serve --listen unix:s --fork-server; echo $?
| 125
| 125
| 125
! warder: serve needs either --local, to serve this user's commands, or --listen ADDR:PORT, to serve HTTP clients
! warder: serve takes no arguments, and "word" is one
! warder: --fork-server goes with --local, not with --listen
