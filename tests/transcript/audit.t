# Audit: one line of JSON for each run, by --audit FILE.

needs limits python3

= a line says who ran what under which policy, and how it ended; nothing of output, variables or arguments is in it
+ warder policy show strict | sha256sum | cut -d' ' -f1 >digest
$ warder run --audit log -- sh -c 'echo shown; exit 3' hidden; warder run --audit log --env SECRET=hidden -- true; warder run --audit log -- no-such-hidden 2>err; wc -l <log; stat -c %a log; grep -c -e hidden -e shown log; tail -n +3 log >refused; head -n 1 log | python3 $TOP/tests/lib/results.py command status cause exitCode signal backend isolation counters.stdoutBytes artifacts argv; python3 $TOP/tests/lib/results.py status cause error.kind error.field error.step <refused; python3 -c 'import json, os; r = [json.loads(line) for line in open("log")]; print(r[0]["caller"]["uid"] == os.getuid(), r[0]["policySha256"] + "\n" == open("digest").read(), r[1]["policySha256"] == r[0]["policySha256"], r[0]["startedAt"][:2])'
| shown
| 3
| 600
| 0
| run failed exit 3 - local namespaceJail 6 [] -
| rejected - notFound argv[0] go
| True True False 20

= the arguments are in the line if the user wants it
$ warder run --audit log --audit-argv -- echo "$(printf 'a b')" "$(printf '\377')"; python3 $TOP/tests/lib/results.py argv.0 argv.1 argv.2.base64 <log; warder run --audit-argv -- true
|*
! warder: --audit-argv needs --audit FILE, whose lines then have the arguments
? 125

= code, requests, cases and executions of a session have lines, and so have runs that the ceiling refused
+ . "$TOP/tests/transcript/session.sh"
+ warder policy show strict >ceiling
$ echo 'print(1)' | warder code --audit log --language python - arg; printf '%s\n' '{"id": "a", "identity": "bob", "language": "sh", "code": "true"}' '{"id": "b", "language": "cobol", "code": "x"}' '{' | warder tool --stream --parallel 1 --audit log >out 2>&1; echo '{"language": "sh", "code": "cat", "cases": [{"name": "one", "stdin": "1", "expected": "1"}]}' | warder judge --audit log >out; sh s start; sh s exec --audit log -- true; sh s exec --audit log --timeout 1h -- true; sh s stop; warder run --audit log --ceiling ceiling --timeout 1h -- true; python3 $TOP/tests/lib/results.py command requestIdentity id case language status error.kind error.field <log; grep -c '"session":"' log
| 1
| code - - - python success - -
| tool bob a - sh success - -
| tool - b - - rejected unsupportedLanguage language
| tool - - - - rejected invalidRequest request
| judge - - one sh success - -
| session exec - - - - success - -
|~ ^session exec - - - - rejected rejected limits.wallTime$
|~ ^run - - - - rejected rejected limits.wallTime$
| 2
!~ ^warder: more than the session has: limits.wallTime
!~ ^warder: .*limits.wallTime

= a build that fails is one line
needs gcc
$ echo 'int main(void) { return x; }' >a.c; warder code --audit log a.c 2>err; echo '{"language": "c", "code": "int x", "cases": [{"stdin": "", "expected": ""}, {"stdin": "", "expected": ""}]}' | warder judge --audit log >out 2>&1; python3 $TOP/tests/lib/results.py command case status <log
| code - compileFailed
| judge - compileFailed

= refused network attempts and artifacts are in the line
$ warder run --net allow --allow 10.77.0.1/32:81 --audit log -- python3 -c 'import socket; socket.socket().connect_ex(("192.0.2.1", 80))' 2>err; warder run --json --max-output 4B --artifacts store:a/ --audit log -- echo more than four bytes >out; python3 $TOP/tests/lib/results.py network.refused network.refusals.0.destination artifacts.0.name artifacts.0.artifact.name artifacts.0.artifact.version <log
| 1 192.0.2.1 - - -
| - - stdout a/stdout 1

= nothing starts without a file to write to
+ mkdir dir place; mkfifo pipe; ln -s place/new link; echo >others; chmod 666 others; echo >one; ln one two; echo >own; chmod 600 own
$ for file in dir pipe link others two no/such; do warder run --audit $file -- echo it ran; echo $?; done; ls place
| 125
| 125
| 125
| 125
| 125
| 125
! warder: --audit: cannot write to dir: Is a directory
! warder: --audit: pipe is not written to: it is not a regular file
! warder: --audit: link is not written to: it is a symbolic link; name the file itself
! warder: --audit: others is not written to: others may write to it; chmod go-w it
! warder: --audit: two is not written to: it has a second name (a hard link); use another file
! warder: --audit: cannot write to no/such: No such file or directory

= a read-only file system, and a file and a link of another user
needs user
+ mkdir -m 777 shared; mkdir ro; setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'echo >shared/theirs; ln -s "$PWD/victim" shared/link'; echo kept >victim
$ unshare -m sh -c 'mount -t tmpfs -o ro none ro; warder run --audit ro/log -- echo it ran'; echo $?; for file in shared/theirs shared/link; do warder run --audit $file -- echo it ran; echo $?; done; cat victim
| 125
| 125
| 125
| kept
! warder: --audit: cannot write to ro/log: Read-only file system
! warder: --audit: shared/theirs is not written to: it belongs to user 65534, and you are user 0
! warder: --audit: shared/link is not written to: it is a symbolic link; name the file itself

= with --prefer audit the run goes on, and the result says so; --prefer all is not enough
+ mkdir dir
$ warder run --audit dir --prefer audit --json -- echo ran | python3 $TOP/tests/lib/results.py status audit.file audit.written audit.error; warder run --audit dir --prefer all -- echo ran; echo $?; warder run --audit log --json -- true | python3 $TOP/tests/lib/results.py audit.written audit.error; warder run --json -- true | python3 $TOP/tests/lib/results.py audit
| success dir false --audit: cannot write to dir: Is a directory
| 125
| true -
| -
! warder: --audit: cannot write to dir: Is a directory; the run goes on without it (--prefer audit)
! warder: --audit: cannot write to dir: Is a directory

= the keeper writes the line of a detached run, and that of a program whose caller was killed
needs python3
+ cat > lines.py <<'END'
+ import json
+ for x in sorted(map(json.loads, open("log")), key=lambda x: (x["command"], x["status"], x.get("exitCode") or 0)):
+     print(x["command"], x["status"], x.get("cause"), x.get("exitCode"), x.get("counters", {}).get("stdoutBytes"), x.get("argv"), "execution" in x, len(x["policySha256"]))
+ END
$ . "$TOP/tests/transcript/detach.sh"; p="--prefer limits"; id=$(warder run --detach $p --audit log --audit-argv -- sh -c 'echo secret; exit 4'); warder wait $id; warder wait --json $id | grep -o '"audit":{[^}]*}'; stat -c %a log; end $id; warder session start s $p; warder session exec s --audit log -- sh -c 'echo begun; until [ -e /tmp/go ]; do sleep 0.05; done; exit 5' > out & pid=$!; until grep -q begun out 2> /dev/null; do sleep 0.05; done; kill -9 $pid; wait $pid 2> /dev/null; warder session exec s --audit log -- touch /tmp/go; until [ $(wc -l < log) = 3 ]; do sleep 0.05; done; warder session exec s --audit log --detach -- no-such-program; echo $?; warder session stop s; python3 lines.py
| "audit":{"file":"log","written":true}
| 600
| 127
| run failed exit 4 7 ['sh', '-c', 'echo secret; exit 4'] True 64
| session exec failed exit 5 6 None True 64
| session exec rejected None None None None False 64
| session exec success exit 0 0 None False 64
! warder: no-such-program: no such program inside the jail (a host path must be in the policy's view: workspace, filesystem.paths), or its interpreter is missing: No such file or directory

= the keeper writes the line also if another client waits for the result, or if the session ends before the program
needs python3
$ . "$TOP/tests/transcript/detach.sh"; p="--prefer limits"; warder session start s $p; warder session exec s --audit log -- sh -c 'echo begun; until [ -e /tmp/go ]; do sleep 0.05; done; exit 5' > out & pid=$!; until grep -q begun out 2> /dev/null; do sleep 0.05; done; id=$(warder ps --json | grep -oE '"id":"[0-9a-f]{16}"' | cut -d'"' -f4); warder wait --json $id > waited & waiter=$!; sleep 1; kill -9 $pid; wait $pid 2> /dev/null; warder session exec s -- touch /tmp/go; wait $waiter; echo $?; grep -o '"audit":{[^}]*}' waited; wc -l < log; warder session exec s --audit log -- sh -c 'echo begun; sleep 100' > out2 & pid=$!; until grep -q begun out2 2> /dev/null; do sleep 0.05; done; kill -9 $pid; wait $pid 2> /dev/null; warder session stop s; wc -l < log
| 5
| "audit":{"file":"log","written":true}
| 1
| 2

= a full disk: nothing of a line stays, an exit status of 0 becomes 125, and no further request runs
needs user
+ mkdir small
$ unshare -m sh -c 'mount -t tmpfs -o size=8k none small; head -c 7900 /dev/zero | tr "\0" "\n" >small/log; chmod 600 small/log; warder run --audit small/log -- echo ran; echo $?; stat -c %s small/log; warder run --audit small/log -- sh -c "exit 7"; echo $?; warder run --audit small/log --prefer audit -- true; echo $?; for i in 1 2 3; do echo "{\"language\": \"sh\", \"code\": \"true\"}"; done | warder tool --stream --parallel 1 --stats stats --audit small/log | python3 $TOP/tests/lib/results.py line audit.written; cut -d, -f1 stats; stat -c %s small/log'
| ran
| 125
| 7900
| 7
| 0
| 1 false
| {"total":1
| 7900
! warder: --audit: cannot append a line to small/log: No space left on device
! warder: --audit: cannot append a line to small/log: No space left on device
! warder: --audit: cannot append a line to small/log: No space left on device
! warder: --audit: cannot append a line to small/log: No space left on device

= lines of many writers at once are whole
$ for i in 1 2 3 4; do yes '{"identity": "a-long-name-of-somebody-who-asks", "language": "sh", "code": "true"}' | head -n 10 | warder tool --stream --parallel 4 --audit log >out$i 2>&1 & done; wait; python3 -c 'import json; r = [json.loads(line) for line in open("log")]; print(len(r), {(x["command"], x["status"]) for x in r})'
| 40 {('tool', 'success')}
