# Code by the backend process: an ordinary process, in a temporary directory that is gone afterwards.

= a field that the backend cannot enforce is refused, unless it is preferred
needs python3
+ echo '{"enable": ["process"]}' > on.json; mkdir tmp
$ export TMPDIR=$PWD/tmp; echo 'print(1)' > a.py; warder code --backend process --backends on.json a.py; warder code --backend process --prefer all a.py; warder code --backend process --backends on.json --prefer all --require syscalls a.py; ls tmp
!~ ^warder: cannot enforce network, filesystem.view, .*: the backend process isolates nothing
!~ ^warder: the backend process isolates nothing and is disabled
!~ ^warder: cannot enforce syscalls: syscalls: the backend process isolates nothing
? 0

= arguments, standard input, variables, files in and out, a result, and the isolation
needs python3
+ echo '{"enable": ["process"]}' > on.json; mkdir tmp
$ export TMPDIR=$PWD/tmp; echo given > g; printf '%s\n' 'import json, os, sys' 'print(sys.argv[2:], sys.stdin.read(), os.environ["A"], open("in/g").read(), os.getcwd() == os.environ["TMPDIR"] + "/box", os.environ["HOME"] == os.environ["TMPDIR"], os.environ["TMPDIR"].startswith(sys.argv[1]))' 'open("made", "w").write("made")' 'json.dump(json.load(open(os.environ["WARDER_INPUT"])), open(os.environ["WARDER_RESULT"], "w"))' > a.py; echo in | warder code --backend process --backends on.json --prefer all --json --file g=in/g --input '{"x": 1}' --env A=b a.py $PWD/tmp/ y | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["status"], r["stdout"]["text"].strip()); print([(a["name"], a["text"]) for a in r["artifacts"]], r["output"], r["backend"], r["isolation"], r["receipt"]["isolation"])'; ls tmp
| success ['y'] in
|  b given
|  True True True
| [('made', 'made')] {'x': 1} process none none

= a compiled language, its diagnostics, and the cache
needs cc python3
+ echo '{"enable": ["process"]}' > on.json; mkdir -m 755 tmp cache
$ export TMPDIR=$PWD/tmp; printf '#include <stdio.h>\nint main(int c, char **v) { puts(v[1]); return fopen("made", "w") ? 3 : 4; }\n' > a.c; for i in 1 2; do warder code --backend process --backends on.json --prefer all --cache $PWD/cache a.c arg$i; echo $?; done; echo 'int main(void) { return x; }' | warder code --backend process --backends on.json --prefer all --cache $PWD/cache --language c --json - | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["status"], r["diagnostics"][0]["spans"][0]["file"])'; ls tmp made 2>/dev/null; ls cache/built | wc -l
| arg1
| 3
| arg2
| 3
| compileFailed main.c
| tmp:
| 1

= a program that was built without a jail is not reused in a jail
needs cc user
+ echo '{"enable": ["process"]}' > on.json; mkdir -m 755 tmp cache
$ export TMPDIR=$PWD/tmp; echo 'int main(void) { return 0; }' > a.c; warder code --backend process --backends on.json --prefer all --cache $PWD/cache a.c; warder code --prefer all --cache $PWD/cache a.c; ls cache/built | wc -l
| 2

= a syntax error names the source as it is named in a jail
needs python3
+ echo '{"enable": ["process"]}' > on.json; mkdir tmp
$ export TMPDIR=$PWD/tmp; echo 'print(' | warder code --backend process --backends on.json --prefer all --language python --json - | python3 -c 'import json, sys; r = json.load(sys.stdin); print([(s["file"], s["lineStart"]) for d in r["diagnostics"] for s in d["spans"]], r["diagnosticsFrom"])'
| [('main.py', 1)] program

= tool and judge
needs python3
+ echo '{"enable": ["process"]}' > on.json; mkdir tmp
$ export TMPDIR=$PWD/tmp; echo '{"language": "bash", "code": "cat a; pwd > made; exit 2", "files": [{"name": "a", "content": "text"}]}' | warder tool --backend process --backends on.json --prefer all | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["status"], r["exitCode"], r["stdout"]["text"], [a["name"] for a in r["artifacts"]], r["isolation"])'; echo '{"language": "bash", "code": "cat; test -e n && echo again; touch n", "cases": [{"stdin": "1", "expected": "1"}, {"stdin": "2", "expected": "2"}, {"stdin": "3", "expected": "4"}]}' | warder judge --backend process --backends on.json --prefer all --json | python3 -c 'import json, sys; print([(c["verdict"], c["isolation"]) for c in json.load(sys.stdin)["cases"]])'; ls tmp
|~ ^[A-Za-z]+ 2 text \['made'\] none$
| [('accepted', 'none'), ('accepted', 'none'), ('wrongAnswer', 'none')]

= a signal ends everything, and the directory is removed, whichever process is killed
needs python3
+ echo '{"enable": ["process"]}' > on.json; mkdir tmp
# With cgroups of its own: another run of Warder ends what a dead one left in the usual place, init included.
$ export TMPDIR=$PWD/tmp WARDER_CGROUP_PARENT=warder-process-$$; printf '%s\n' 'import os, time' 'os.makedirs("a/b/c"); open("a/b/f", "w"); os.symlink("/etc", "a/l"); os.mkfifo("a/p"); os.chmod("a/b", 0)' 'if not os.fork(): os.setsid(); time.sleep(60)' 'print("ready", flush=True); time.sleep(60)' > a.py; for signal in TERM KILL; do rm -f said; warder code --backend process --backends on.json --prefer all a.py > said & pid=$!; i=0; while ! grep -q ready said && [ $((i += 1)) -lt 1200 ]; do sleep 0.05; done; ls tmp | grep -c .; kill -$signal $pid; wait $pid 2>/dev/null; echo $?; i=0; while [ "$(ls tmp)" ] && [ $((i += 1)) -lt 1200 ]; do sleep 0.05; done; ls tmp; done 2>/dev/null; echo true | warder code --backend process --backends on.json --prefer all --language bash -; rmdir /sys/fs/cgroup/{,*/}"$WARDER_CGROUP_PARENT" 2>/dev/null; true
| 1
| 143
| 1
| 137

= a directory that a dead run left is removed by the next one, and no other of such a name
+ echo '{"enable": ["process"]}' > on.json; mkdir tmp tmp/left tmp/left/box tmp/other tmp/warder-code-abcdef; touch tmp/warder-code-abcdef/work; mv tmp/left tmp/warder-code-$(printf %016x $(stat -c %i tmp/left))
$ export TMPDIR=$PWD/tmp; echo true | warder code --backend process --backends on.json --prefer all --language bash -; ls tmp tmp/w*
| tmp:
| other
| warder-code-abcdef
| 
| tmp/warder-code-abcdef:
| work

= the directory cannot be made
+ echo '{"enable": ["process"]}' > on.json
$ echo true | TMPDIR=/proc/self warder code --backend process --backends on.json --prefer all --language bash -; echo true | TMPDIR=$PWD/nowhere warder code --backend process --backends on.json --prefer all --language bash -
!~ ^warder: cannot make a temporary directory in /proc/self
!~ ^warder: cannot make a temporary directory in .*/nowhere: No such file or directory
? 125

= without pidfds there is nothing to end a program by
+ echo '{"enable": ["process"]}' > on.json
$ for time in 5s unlimited; do without pidfd_open -- warder run --backend process --backends on.json --prefer all --timeout $time -- true; echo $?; done
!~ ^warder: the backend process: the kernel has no pidfds \(Linux 5.3\)
!~ ^warder: the backend process: the kernel has no pidfds \(Linux 5.3\)
| 125
| 125

= a program that kills its init: the result does not claim that the wall time was enforced
needs python3 pgrep
+ echo '{"enable": ["process"]}' > on.json
$ export N=$((70000 + $$ % 9999)); for last in 'sleep 20' 'kill -9 $i; exit 0'; do warder run --backend process --backends on.json --prefer all --timeout 10s --json -- sh -c 'i=$PPID; setsid sh -c "sleep 0.3; kill -9 $i; exec sleep $0" > /dev/null 2>&1 & '"$last" $N | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["status"], r["cause"], r["exitCode"], [(c["status"], c["mechanism"]) for c in r["receipt"]["controls"] if c["control"] == "limits.wallTime"])'; kill $(pgrep -fx "sleep $N") 2> /dev/null; done; warder run --backend process --backends on.json --prefer all --timeout 10s -- sh -c 'kill -9 $PPID; sleep 1'
| killed host None [('notEnforced', 'none')]
| killed host None [('notEnforced', 'none')]
! warder: host: the program's init was killed, by the program or from outside; processes that the program started may still run
? 137
< 8

= a program that stops its init is ended in time
needs python3
+ echo '{"enable": ["process"]}' > on.json
$ warder run --backend process --backends on.json --prefer all --timeout 1s --json -- sh -c 'kill -STOP $PPID; sleep 20' | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["status"], r["cause"], [c["status"] for c in r["receipt"]["controls"] if c["control"] == "limits.wallTime"])'
| timeout wallTime ['enforced']
< 5

= a program that moves its directory: it is removed where it is; a working directory of the host is never made
needs python3
+ echo '{"enable": ["process"]}' > on.json; mkdir tmp other; chmod 777 tmp other
$ export TMPDIR=$PWD/tmp; printf 'mv "$TMPDIR" %s/moved; ls %s\n' $PWD/other $PWD/other > a.sh; warder code --backend process --backends on.json --prefer all --language bash a.sh; ls tmp other; for cwd in /tmp/nowhere-$$/x /usr/none; do warder run --backend process --backends on.json --prefer all --cwd $cwd -- true; echo $?; done 2>&1 | sed "s/-$$//"; ls -d /tmp/nowhere-$$
| moved
| other:
|
| tmp:
|~ ^warder: the jail could not be set up \(working-directory: /tmp/nowhere/x\): No such file or directory
| 125
|~ ^warder: --cwd /usr/none: workingDirectory: "/usr/none" is not a directory that the jail has
| 125
!~ cannot access
? 2
