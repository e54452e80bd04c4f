# Contexts whose code is hostile. It can spoil its own context. The command that runs it still ends, the code cannot forge what Warder reports,
# and other contexts are not affected.
needs python3

= a forged end is the context's word; one for another piece is refused and counted
+ . "$TOP/tests/transcript/context.sh"
+ cat > forge.py <<'END'
+ import os, struct
+ def frame(kind, piece, text, flags=0): os.write(4, struct.pack("<IIII", 0x58544357, kind, piece, flags) + text)
+ said = b'{"status":"ok","executionCount":99,"value":{"text/plain":"forged"}}'
+ print("before")
+ frame(7, 2, said); frame(7, 0, said); os.write(4, b"short"); os.write(4, b""); frame(1, 1, b"x"); frame(7, 1, said, 2)
+ frame(7, 1, said)
+ print("after")
+ END
$ sh s start; sh c create py; sh c create other; sh c run py --json forge.py > result; python3 -c '
> import json; r = json.load(open("result")); print(r["status"], r["piece"], r["refusedFrames"], r["stdout"]["text"].split()[0], r["contextSays"]["executionCount"])'; sh c run other -c '"sound"'; sh c describe other --json | grep -o '"refusedFrames":[0-9]*'; sh s stop
| success 1 6 before 99
| other: 'sound'
| "refusedFrames":0

= reports of a context are bounded, and malformed ones are refused
+ . "$TOP/tests/transcript/context.sh"
+ cat > shapes.py <<'END'
+ import os, struct
+ def frame(kind, text, flags=0): os.write(4, struct.pack("<IIII", 0x58544357, kind, 1, flags) + text)
+ frame(5, b'["no bundle"]'); frame(5, b'{"text/plain":"\x1b[2Jcleared"}'.replace(b"\x1b", b"\\u001b")); frame(5, b"\xff\xfe")
+ for i in range(200): frame(5, b"x" * 60000, 1)
+ frame(5, b"")
+ frame(7, b'{"status":"ok","executionCount":1,"warder":"vouches"}' * 2)
+ END
$ sh s start; sh c create py; sh c run py shapes.py; echo $?; sh s stop
| py: ?[2Jcleared
| 1
! warder: context py said more than Warder keeps, and some of it is missing

= a closed channel ends the context, and only that one
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c create other; sh c run py -c 'import os, time; os.close(4); time.sleep(60)'; echo $?; sh c run other -c '1'; sh c run other -c 'import os; os.close(0); os.close(1); os.close(2); os.write(2, b"lost")' 2> /dev/null; echo $?; sh c run other -c '"here"'; sh s stop
| 137
| other: 1
| 1
| other: 'here'
!~ ^warder: context py has ended \(cancelled\): the context closed its channel to Warder; .*

= endless output ends with the time, and the context goes on
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py --timeout 1s -c 'import os
> while True: os.write(1, b"y" * 65536)' 2> err | head -c 1000 | tr -d y; grep -c . err; sh c run py -c '"still here"'; sh s stop
| 0
| py: 'still here'

= endless messages end with the time, and take a bounded part of the keeper's memory, and of the client's
+ . "$TOP/tests/transcript/context.sh"
+ cat > flood.py <<'END'
+ import os, struct
+ frame = struct.pack("<IIII", 0x58544357, 5, 1, 0) + b'{"text/plain":"' + b"z" * 60000 + b'"}'
+ while True: os.write(4, frame)
+ END
$ sh s start; sh c create py; sh c run py --timeout $((2 * ${WARDER_TEST_SLOW:-1}))s --json flood.py > result; echo $?; test $(stat -c %s result) -lt 9000000 && echo small; grep -o '"status":"timeout"\|"saidTruncated":true' result; export XDG_RUNTIME_DIR=$PWD/rt; keeper=$(sh s status --json | grep -o '"keeperPid":[0-9]*' | cut -d: -f2); test $(awk '/VmHWM/ { print $2 }' /proc/$keeper/status) -lt 100000 && echo bounded; sh c run py -c '2'; sh s stop
| 124
| small
| "status":"timeout"
| "saidTruncated":true
| bounded
| py: 2

= code that replaces functions of the loop spoils at most its own context
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c create other; sh c run py -c 'import os, sys, builtins
> os.write = os.read = os.getpid = lambda *a: 0
> builtins.compile = builtins.exec = builtins.eval = builtins.repr = builtins.len = None
> sys.stdout = sys.stderr = sys.modules = None'; sh c run py -c 'x = 1
> x + 1'; sh c run other -c 'import sys
> frame = sys._getframe()
> while frame.f_code.co_name != "loop": frame = frame.f_back
> frame.f_locals["state"].clear()' 2>&1 | tail -1; sh c run py -c '3'; sh s stop
| py: 2
|~ ^warder: context other has ended \(exit\): exited with 1; .*
| py: 3

= a process that a piece leaves behind neither answers nor holds anything up
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py -c 'import os, time
> def wait(name):
>     while not os.path.exists(name): time.sleep(0.05)
> if os.fork() == 0:
>     wait("/tmp/go"); print("child", flush=True); open("/tmp/said", "w"); time.sleep(60)
> "parent"'; sh c run py -c 'file = open("/tmp/go", "w"); wait("/tmp/said"); 2'; sh c run py -c 'if os.fork() == 0: pass
> os.getpid() == 1 or 3'; sh c run py -c '4'; sh c delete py; sh s stop
| py: 'parent'
| child
| py: 2
| py: 3
| py: 4

= interrupts at random moments end no piece but the one that was interrupted
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py -c 'import time'; (until [ -e stop ]; do sh c interrupt py; done) 2> /dev/null & for i in $(seq 100); do sh c run py --json -c 'time.sleep(0.01)'; done > results; touch stop; wait; python3 -c '
> import json
> results = [json.loads(line) for line in open("results")]
> raised = [r for r in results if r["contextSays"].get("error", {}).get("name") == "KeyboardInterrupt"]
> print(len(results), [r["piece"] for r in raised if not r["interrupted"]])
> print({r["status"] for r in results} <= {"success", "failed"}, any(r["interrupted"] for r in results))'; sh c run py -c '"alive"'; sh s stop
| 100 []
| True True
| py: 'alive'

= many pieces leave no memory behind in the keeper
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; export XDG_RUNTIME_DIR=$PWD/rt; keeper=$(sh s status --json | grep -o '"keeperPid":[0-9]*' | cut -d: -f2); size() { awk '/VmRSS/ { print $2 }' /proc/$keeper/status; }; run() { for i in $(seq $1); do sh c run py -c 'n = 1; n' > /dev/null; done; }; run 50; before=$(size); run 400; test $(size) -lt $((before + 400)) && echo steady; sh c run py --json -c 'n' | grep -o '"piece":[0-9]*'; sh s stop
| steady
| "piece":451

= messages between pieces take none of the keeper's memory
+ . "$TOP/tests/transcript/context.sh"
+ cat > ready.py <<'END'
+ import os, struct
+ for i in range(60): os.write(4, struct.pack("<IIII", 0x58544357, 3, 0, 1) + b"z" * 60000)
+ END
$ sh s start; export XDG_RUNTIME_DIR=$PWD/rt; keeper=$(sh s status --json | grep -o '"keeperPid":[0-9]*' | cut -d: -f2); for i in 1 2 3 4; do sh c create py$i; sh c run py$i ready.py; done; test $(awk '/VmRSS/ { print $2 }' /proc/$keeper/status) -lt 10000 && echo bounded; sh s stop
| bounded
! warder: 60 messages of context py1 were refused: they were malformed or not of this piece
! warder: 60 messages of context py2 were refused: they were malformed or not of this piece
! warder: 60 messages of context py3 were refused: they were malformed or not of this piece
! warder: 60 messages of context py4 were refused: they were malformed or not of this piece

= texts that are not finished count, too: 24 contexts begin one of 4 MiB each, and the keeper holds 64 MiB of them at most
+ . "$TOP/tests/transcript/context.sh"
+ cat > unfinished.py <<'END'
+ import os, struct, time
+ for i in range(69): os.write(4, struct.pack("<IIII", 0x58544357, 5, 1, 1) + b"z" * 60000)
+ time.sleep(60)
+ END
$ sh s start; export XDG_RUNTIME_DIR=$PWD/rt; keeper=$(sh s status --json | grep -o '"keeperPid":[0-9]*' | cut -d: -f2); most() { awk '/VmHWM/ { print $2 }' /proc/$keeper/status; }; for i in $(seq 24); do { sh c create py$i; sh c run py$i unfinished.py; } 2> /dev/null & done; for i in $(seq 600); do test $(most) -gt 60000 && break; sleep 0.1; done; sleep 1; test $(most) -gt 60000 && test $(most) -lt 85000 && echo bounded; sh s stop; wait
| bounded

= no descriptor can be passed to the keeper, which would have to close it: a socket can make that take long. Linux 6.16 can refuse it.
+ . "$TOP/tests/transcript/context.sh"
+ cat > pass.py <<'END'
+ import os, socket
+ try: socket.send_fds(socket.socket(fileno=os.dup(4)), [b"x"], [0]); print("sent")
+ except PermissionError as error: print(error.strerror)
+ END
$ sh s start; sh c create py; sh c run py pass.py > got 2>&1; python3 -c 'import socket; a, b = socket.socketpair(); a.setsockopt(socket.SOL_SOCKET, 83, 0)' 2> /dev/null || echo Operation not permitted > got; cat got; sh s stop
| Operation not permitted
