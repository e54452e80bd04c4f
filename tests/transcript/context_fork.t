# Branches: a second Python context of the same state, by fork(2). What one of them does later, the other does not see.
needs python3

= branch, try, drop, go on
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py -c 'import math; rows = [3, 1, 2]
> def largest(): return max(rows)'; sh c fork py try; sh c run try -c 'rows.append(99); rows.sort(); largest()'; sh c run try -c 'rows / 0' 2>&1 | tail -1; sh c delete try; sh c run py -c 'rows.append(4); rows, largest()'; sh c fork py again; sh c run again -c 'rows.clear(); math.floor(2.5), rows'; sh c run py -c 'rows'; sh s stop
| try: 99
| TypeError: unsupported operand type(s) for /: 'list' and 'int'
| py: ([3, 1, 2, 4], 4)
| again: (2, [])
| py: [3, 1, 2, 4]

= a branch goes on with the count of the first context, and streams, shows and asks by itself
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py -c 'x = 1'; sh c fork py b; sh c run b --json -c 'print("out", end=""); x + 1' > result; sh c run b -c 'display(x); name = input("name? "); print(name)' <<< Ada; sh c run py --json -c 'x' >> result; grep -o '"context":"[a-z]*","piece":[0-9]*,"status":"[a-z]*"\|"text":"out"\|"executionCount":[0-9]*\|"value":{[^}]*}' result; sh s stop
| b: 1
| name? Ada
| "context":"b","piece":2,"status":"success"
| "text":"out"
| "executionCount":2
| "value":{"text/plain":"2"}
| "context":"py","piece":2,"status":"success"
| "executionCount":2
| "value":{"text/plain":"1"}

= each of a family can end without the others, the first one, too, and a branch has branches
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py -c 'import os, subprocess; x = [1]; child = subprocess.Popen(["sleep", "60"])'; sh c fork py b; sh c fork b c; sh c run c -c 'x.append(3)'; sh c delete py; sh c run b -c 'x'; sh c run c -c 'x, sorted(p for p in os.listdir("/proc") if p.isdigit() and os.path.exists(f"/proc/{p}/exe"))[0] != str(child.pid)'; sh c fork c d; sh c delete c; sh c delete b; sh c run d -c 'x'; sh c create py; sh c fork py b; sh c delete b; sh c run py -c '"alone"'; sh c list | awk 'NR > 1 { print $2, $4, $6, $7, $8 }'; sh s stop
| b: [1]
| c: ([1, 3], True)
| d: [1, 3]
| py: 'alone'
| d idle branch of c
| py idle   

= describe and list say whose branch it is, and that the family is one trust domain; a branch has no restart
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c fork py b; sh c list | awk 'NR == 3 { print $2, $3, $4, $5, $6, $7, $8 }'; sh c describe b | grep trust; test "$(sh c describe b --json | grep -o '"trustDomain":"[0-9a-f]*"')" = "$(sh c describe py --json | grep -o '"trustDomain":"[0-9a-f]*"')" && echo same; sh c describe b --json | grep -o '"branchOf":"py"'; sh c restart b; sh c restart py; sh c describe b | head -1 | awk '{ print $4 }'; sh s stop
| b python idle 0 branch of py
| trust             one domain with py and its other branches: code in one of them can forge the reports of the others
| same
| "branchOf":"py"
| idle
! warder: context b is a branch of py and has no start of its own; "warder context delete" it, and fork py again

= refused, with the reason
needs dd od
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c create sh --language bash; sh c create narrow --set processes.spawn=false; for from in sh narrow no; do sh c fork $from b; done; sh c fork py sh; sh c fork py; sh c fork py b c; sh c fork py ..; sh c run py -c 'import threading, time; going = threading.Event(); thread = threading.Thread(target=going.wait); thread.start()'; sh c fork py b; sh c run py -c 'going.set(); thread.join()'; sh c run py -c 'print("runs", flush=True); time.sleep(20)' > out 2> /dev/null & until grep -qs runs out; do sleep 0.05; done; sh c fork py b; sh c interrupt py; wait; sh c fork py b; sh c list | grep -c 'branch of'; sh s stop
| 1
! warder: context sh runs bash; only contexts of Python can be forked
! warder: context narrow may not start processes, and a fork is one: its policy has processes.spawn false
!~ ^warder: session [a-zA-Z0-9]* has no context no; .*
!~ ^warder: session [a-zA-Z0-9]* has a context sh already; "warder context restart" or "delete" ends it$
! warder: the name of the branch is missing: warder context fork SESSION NAME BRANCH
! warder: c is one word too many
!~ ^warder: .*\.\..*
! warder: context py was not forked: The context has threads. A fork would copy only one of them.
! warder: context py cannot be forked now: a piece runs; wait for its end, or interrupt it

= a context of Node is not forked, because Node has threads of its own
needs limits node
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create js --language javascript; sh c fork js b; echo $?; sh c run js -c '"goes on"'; sh s stop
| 125
| js: 'goes on'
! warder: context js runs javascript; only contexts of Python can be forked

= a branch has new random numbers, unless it is to keep the seed
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py -c 'import random; random.seed(7)'; sh c fork py new; sh c fork py kept --keep-seed; for name in py new kept; do sh c run $name -c 'random.random()' | cut -d' ' -f2 > $name; done; cmp -s py kept && echo "the same"; cmp -s py new || echo another; sh s stop
| the same
| another

= so has the global generator of numpy
needs notebook
+ . "$TOP/tests/transcript/context.sh"
$ sh s start --env OPENBLAS_NUM_THREADS=1; sh c create py; sh c run py -c 'import numpy; numpy.random.seed(7)'; sh c fork py new; sh c fork py kept --keep-seed; for name in py new kept; do sh c run $name -c 'numpy.random.random()' | cut -d' ' -f2 > $name; done; cmp -s py kept && echo "the same"; cmp -s py new || echo another; sh s stop
| the same
| another

= an interrupt reaches its branch alone, and a call that sleeps ends
+ cat > nap.py <<'END'
+ import os, time
+ kept = 1
+ def nap():
+     while not os.path.exists("/tmp/go"): time.sleep(0.05)
+ END
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py nap.py; sh c fork py a; sh c fork py b; sh c run a -c 'nap = lambda: time.sleep(20)'; for name in py a b; do sh c run $name -c 'print("runs", flush=True); nap(); print("slept")' > $name 2> $name.err & [ $name != a ] || pid=$!; done; until grep -qs runs py && grep -qs runs a && grep -qs runs b; do sleep 0.05; done; sh c interrupt a; wait $pid; sh s exec -- touch /tmp/go; wait; cat py a b | sort | uniq -c; grep -h KeyboardInterrupt *.err; sh c run a -c 'kept'; sh c run a --timeout 100ms -c 'time.sleep(9)' > out 2>&1; echo $?; sh c run a -c 'kept'; sh s stop
|       3 runs
|       2 slept
| KeyboardInterrupt
| a: 1
| 124
| a: 1

= a branch that dies, or ignores its interrupt, is reported with the cause, and nothing of it stays
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py -c 'import os, signal, subprocess'; sh c fork py b; sh c run b -c 'child = subprocess.Popen(["sleep", "60"]); os._exit(3)'; echo $?; sh c run b -c 1; sh c fork py b; sh c run b --timeout 2s -c 'signal.signal(signal.SIGINT, signal.SIG_IGN)
> while True: pass'; echo $?; sh c run py -c 'sorted(p for p in os.listdir("/proc") if p.isdigit() and os.path.exists(f"/proc/{p}/exe")) == [str(os.getpid())]'; sh s stop
|~ ^(3|137)$
| 124
| py: True
!~ ^warder: context b has ended \((exit\): exited with 3|host\): it ended; this kernel does not tell how a branch has ended); "warder context fork" makes it again$
!~ ^warder: context b has ended: (exited with 3|it ended; .*); "warder context fork [a-zA-Z0-9]* py b" makes it again$
! warder: context b has ended (cancelled): the piece went on for 2 s after the interrupt at its time limit; "warder context fork" makes it again

= a branch has limits of its own, for memory that it allocates after the fork
needs limits
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; c() { word=$1; shift; warder context $word $name "$@"; }; warder session start $name --memory 400MiB; c create py --memory 120MiB; c run py -c 'x = bytearray(80 << 20)'; c fork py b; c fork py d; c run b -c 'y = bytearray(80 << 20); len(x) + len(y) >> 20'; c run d -c 'z = b"z" * (1 << 28)'; echo $?; c run py -c 'len(x) >> 20'; c run b -c 'len(y) >> 20'; warder session stop $name
| b: 160
| 137
| py: 80
| b: 80
!~ ^warder: context d has ended \(memory\): killed at the memory limit of 120 ?MiB; "warder context fork" makes it again$

= the end of the session, and that of its keeper, end every branch
needs pgrep
+ . "$TOP/tests/transcript/context.sh"
$ for how in stop kill; do sh s start --cwd /tmp; sh c create py; sh c run py -c 'import os, time; os.environ["x"] = "y"'; sh c fork py b; sh c fork b c; sh c delete py; sh c run c -c 'os.execv("/bin/sh", ["sh", "-c", "echo runs; exec sleep 7654'$$'"])' > out 2>&1 & until grep -qs runs out; do sleep 0.05; done; if [ $how = stop ]; then sh s stop; else kill -KILL $(sh s status --json | grep -o '"keeperPid":[0-9]*' | cut -d: -f2); fi; wait; for i in $(seq 600); do pgrep -fx "sleep 7654$$" > /dev/null || break; sleep 0.05; done; pgrep -fx "sleep 7654$$" || echo gone; rm out; done
| gone
| gone

# `late NAME COUNT`: so many messages were refused. The last one is what the loop says of the fork that was refused already: it would count for the next piece.
= hostile: forged words about a fork make no branch out of anything that is not one
+ . "$TOP/tests/transcript/context.sh"
+ cat > late.sh <<'END'
+ late() { for i in $(seq 600); do sh c describe $1 --json | grep -q "\"refusedFrames\":$2," && break; sleep 0.05; done; }
+ END
+ cat > forge.py <<'END'
+ import os, struct
+ def frame(kind, text=b""): os.write(4, struct.pack("<IIII", 0x58544357, kind, 0, 0) + text)
+ frame(10); frame(10, b"no"); frame(3, b"{}")
+ END
+ cat > replaces.py <<'END'
+ import os, socket, struct
+ real = socket.socket.recvmsg
+ def take(self, *args):
+     message = real(self, *args)
+     fds = struct.unpack("3i", message[1][0][2])
+     os.write(fds[0], struct.pack("<IIII", 0x58544357, 3, 0, 0) + b"{}")
+     os.write(4, struct.pack("<IIII", 0x58544357, 10, 0, 0))
+     raise OSError("never \x1b[2J mind")
+ import _socket
+ class channel(_socket.socket): recvmsg = take
+ _socket.socket = channel
+ END
$ . ./late.sh; sh s start; sh c create py; sh c create other; sh c run other -c 'x = 1'; sh c run py forge.py; sh c run py replaces.py; sh c fork py b; late py 3; sh c run py -c '"lives"'; sh c run other -c 'x'; sh c describe py --json | grep -o '"refusedFrames":[0-9]*'; sh c list | grep -c 'branch of'; sh s stop
| py: 'lives'
| other: 1
| "refusedFrames":3
| 0
! warder: 2 messages of context py were refused: they were malformed or not of this piece
! warder: context py was not forked: the process that calls itself the branch is that of another context

= hostile: a process of another context cannot be passed off as a branch
+ . "$TOP/tests/transcript/context.sh"
+ cat > late.sh <<'END'
+ late() { for i in $(seq 600); do sh c describe $1 --json | grep -q "\"refusedFrames\":$2," && break; sleep 0.05; done; }
+ END
+ cat > receiver.py <<'END'
+ import os, socket, struct
+ server = socket.socket(socket.AF_UNIX); server.bind("/tmp/door"); server.listen(); os.chmod("/tmp/door", 0o777)
+ print("listens", flush=True)
+ if os.fork() == 0:
+     fds = socket.recv_fds(server.accept()[0], 1, 3)[1]
+     os.write(fds[0], struct.pack("<IIII", 0x58544357, 3, 0, 0) + b"{}")
+     os._exit(0)
+ os.wait()
+ END
+ cat > sender.py <<'END'
+ import os, socket, struct, _socket
+ real = socket.socket.recvmsg
+ def take(self, *args):
+     message = real(self, *args)
+     with socket.socket(socket.AF_UNIX) as door:
+         door.connect("/tmp/door"); socket.send_fds(door, [b"x"], struct.unpack("3i", message[1][0][2]))
+     os.write(4, struct.pack("<IIII", 0x58544357, 10, 0, 0))
+     raise OSError
+ class channel(_socket.socket): recvmsg = take
+ END
$ . ./late.sh; sh s start; sh c create py; sh c create other; sh c run py sender.py; sh c run other receiver.py > out & until grep -qs listens out; do sleep 0.05; done; sh c run py -c '_socket.socket = channel'; sh c fork py b; wait; late py 1; sh c run other -c '"unmoved"'; sh c run py -c '"lives"'; sh s stop
| other: 'unmoved'
| py: 'lives'
! warder: context py was not forked: the process that calls itself the branch is not a process that the context has forked

= hostile: a branch that closes its channel ends alone, and a fork of a context that has closed its own is refused
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py -c 'import os, time, builtins'; sh c fork py b; sh c fork py d; sh c run b -c 'os.close(4); time.sleep(60)'; echo $?; sh c run d -c 'os.write = os.read = os.fork = builtins.len = None; "replaced"'; sh c fork d e; sh c run e -c '"after"'; sh c run py -c 'os.close(4)' 2> err; sh c fork py f; sh c run d -c '"here"'; sh s stop
| 137
| d: 'replaced'
| e: 'after'
| d: 'here'
! warder: context b has ended (cancelled): the context closed its channel to Warder; "warder context fork" makes it again
!~ ^warder: context py has ended: .*; "warder context restart [a-zA-Z0-9]* py" starts it again$
