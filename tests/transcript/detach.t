# Executions that outlive the process that asked for them: run --detach, ps, logs, attach, write, kill, wait.

= a detached run prints its id and goes on, and any later command gets its output and its end
$ . "$TOP/tests/transcript/detach.sh"; id=$(sh d sh -c 'echo out; echo err >&2; exit 7'); echo $id | grep -cE '^[0-9a-f]{16}$'; warder wait $id; echo $?; warder logs $id; warder logs $id 2> /dev/null; warder wait $id; echo $?; end $id
| 1
| 7
| out
| out
| 7
! err

= ps lists it, running and ended, with its command
$ . "$TOP/tests/transcript/detach.sh"; id=$(sh d -i sh -c 'read line; exit $line'); warder ps | grep -c "^$id  $id  running .*sh -c read line; exit .line$"; echo 3 | warder write $id; warder wait $id; warder ps | grep -c "^$id .* exited 3 "; warder ps --json | grep -c '"exitCode":3'; end $id; warder ps | wc -l
| 1
| 1
| 1
| 1

= ps shows the counters of a running execution: CPU time, memory now and at its peak, processes, I/O
needs limits python3
$ mkdir -m 700 rt; export XDG_RUNTIME_DIR=$PWD/rt; id=$(warder run --detach -i -- sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; x=$(head -c 9000000 /dev/zero | tr "\0" a); x=; sleep 60 & sleep 60 & echo ready; read x'); until warder logs $id | grep -q ready; do sleep 0.1; done; warder ps --json | python3 -c 'import json, sys; c = [e for e in json.load(sys.stdin) if e["id"] == sys.argv[1]][0]["counters"]; print(c["cpuTimeUs"] > 20000, 0 < c["memoryBytes"] < c["memoryPeakBytes"], c["memoryPeakBytes"] > 8000000, c["processes"], c["readBytes"] is not None, c["writtenBytes"] is not None)' $id; warder ps | grep -cE "^$id +$id +running +[0-9]+s +[0-9.]+s +[0-9.]+M +[0-9.]+M +3 +sh -c"; echo | warder write $id; warder wait $id; warder ps | grep -cE "^$id +$id +exited 0 +[0-9]+s +- +- +- +- +sh -c"; warder ps --json | grep -c counters; warder session stop $id
| True True True 3 True True
| 1
| 1
| 0

= the execution survives its caller and its readers
$ . "$TOP/tests/transcript/detach.sh"; id=$(setsid sh d sh -c 'for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done'); (warder logs -f $id > first & echo $! > pid; sleep 0.3; kill -9 $(cat pid); wait) 2> /dev/null; warder wait $id; warder logs $id | tr '\n' ' '; end $id
| 1 2 3 4 5 6 7 8 

= from a byte on, the last lines, and following until the end
$ . "$TOP/tests/transcript/detach.sh"; id=$(sh d -i sh -c 'echo one; echo two; read x; echo three; printf four'); until [ $(warder logs $id | wc -l) = 2 ]; do sleep 0.05; done; warder logs --from 4 $id; warder logs --lines 1 $id; (sleep 0.3; echo | warder write $id) & warder logs -f --from 8 $id; echo; warder wait $id; warder logs --lines 2 $id; echo; warder logs --from 99 $id; end $id
| two
| two
| three
| four
| three
| four
!~ ^warder: standard output of execution [0-9a-f]{16} has 18 bytes so far, and 99 is beyond them$

= logs --json prints the offset to go on from, and --yield waits for more output
needs python3
+ echo 'import json, sys; x = json.load(sys.stdin); print(x["ended"], *([s["text"], s["offset"], s["nextOffset"], s["missing"]] for s in (x["stdout"], x["stderr"])))' > show.py
$ . "$TOP/tests/transcript/detach.sh"; id=$(sh d -i sh -c 'echo one; echo two; read x; echo err >&2; echo three; read x; printf "\377"'); until [ $(warder logs $id | wc -l) = 2 ]; do sleep 0.05; done; warder logs --json $id | python3 show.py; warder logs --json --lines 1 $id | python3 show.py; warder logs --json --from 4 $id | python3 show.py; (sleep 0.3; echo | warder write $id) & until warder logs --json --yield 60s --from 8 $id | python3 show.py > more; grep three more; do :; done; wait; echo | warder write --close $id; warder wait $id; warder logs --json --yield 60s --from 14,4 $id | grep -o '"ended.*'; end $id
| False ['one\ntwo\n', 0, 8, 0] ['', 0, 0, 0]
| False ['two\n', 4, 8, 0] ['', 0, 0, 0]
| False ['two\n', 4, 8, 0] ['', 0, 0, 0]
| False ['three\n', 8, 14, 0] ['err\n', 0, 4, 0]
| "ended":true,"stdout":{"offset":14,"nextOffset":15,"missing":0,"base64":"/w==","encoding":"base64"},"stderr":{"offset":4,"nextOffset":4,"missing":0,"text":"","encoding":"utf-8"}}

= signals reach the program's process group, by name and number
$ . "$TOP/tests/transcript/detach.sh"; id=$(sh d sh -c 'trap "echo usr1" USR1; trap "echo term; exit 4" TERM; echo ready; while :; do sleep 0.05; done'); until warder logs $id | grep -q ready; do sleep 0.05; done; warder kill -s usr1 $id; warder kill -s SIGUSR1 $id; warder kill -s 10 $id; sleep 0.3; warder kill $id; warder wait $id; echo $?; warder logs $id 2> /dev/null | sort -u; warder kill $id; warder kill -s NONE $id; end $id
| 4
| ready
| term
| usr1
!~ ^warder: execution [0-9a-f]{16} has ended$
!~ ^warder: --signal NONE: no such signal; use a name such as TERM, or a number from 1 to [0-9]+$

= wait exits as run would, and says why
$ . "$TOP/tests/transcript/detach.sh"; id=$(sh d --timeout 300ms sleep 60); warder wait $id; echo $?; end $id; id=$(sh d sh -c 'kill -9 $$'); warder wait $id; echo $?; end $id; id=$(sh d --max-output 4B yes); warder wait $id; echo $?; end $id; sh d no-such-program; echo $?
| 124
| 137
| 137
| 127
! warder: wallTime: killed after the wall time of 300ms
! warder: output: killed for more output than the limit
!~ ^warder: no-such-program: no such program inside the jail .*

= input arrives whole, call by call, and ends when it is closed
$ . "$TOP/tests/transcript/detach.sh"; id=$(sh d -i sh -c 'tr -d "\n" | fold -w 1 | uniq -c | wc -l'); head -c 300000 /dev/zero | tr '\0' a | warder write $id & head -c 300000 /dev/zero | tr '\0' b | warder write $id & wait; warder write --close $id < /dev/null; warder wait $id; warder logs $id; warder write $id < /dev/null; end $id
| 2
!~ ^warder: the input of execution [0-9a-f]{16} is closed; .*

= a program that closes its input: all that write to it learn that, also while they wait
$ . "$TOP/tests/transcript/detach.sh"; id=$(sh d -i sh -c 'trap go=1 USR1; echo begun; until [ "$go" ]; do sleep 0.05; done; read x; echo $x; exec <&-; sleep 60'); until warder logs $id | grep -q begun; do sleep 0.05; done; p=; for i in 1 2; do yes | timeout -k 1 20 warder write $id & p="$p $!"; done; sleep 0.3; warder kill -s USR1 $id; for one in $p; do wait $one; echo $?; done; warder write $id < /dev/null; echo $?; warder ps --json | grep -o '"input":false'; warder logs $id 2> /dev/null; end $id
| 125
| 125
| 125
| "input":false
| begun
| y
!~ ^warder: (execution [0-9a-f]{16} reads no input any more|the input of execution [0-9a-f]{16} is closed; .*)$
!~ ^warder: (execution [0-9a-f]{16} reads no input any more|the input of execution [0-9a-f]{16} is closed; .*)$
!~ ^warder: the input of execution [0-9a-f]{16} is closed; the program reads no more, or a client has closed it$

= without -i the input is empty
$ . "$TOP/tests/transcript/detach.sh"; id=$(echo no | sh d wc -c); warder wait $id; warder logs $id; echo x | warder write $id; echo $?; end $id
| 0
| 125
!~ ^warder: the input of execution [0-9a-f]{16} is closed; an execution keeps its input open if it was started with -i or -t$

= attach passes both ways, and exits as the program does
$ . "$TOP/tests/transcript/detach.sh"; id=$(sh d -i sh -c 'sed s/^/got:/; exit 5'); printf 'a\nb\n' | warder attach $id; echo $?; end $id
| got:a
| got:b
| 5

= output beyond the spool is reported as a gap, and the rest is exact
$ . "$TOP/tests/transcript/detach.sh"; id=$(sh d sh -c 'seq 1000000; echo end'); warder wait $id; warder logs $id > got 2> gap; tail -n 1 got; sed 's/[0-9][0-9]* bytes/N bytes/' gap; missing=$(sed 's/^warder: \([0-9]*\) bytes.*/\1/' gap); (seq 1000000; echo end) > all; tail -c +$((missing + 1)) all | cmp - got && echo exact; [ $(wc -c < got) -gt 3900000 ] && echo full; end $id
| end
| warder: N bytes of standard output are missing here: they left the spool before they were read
| exact
| full

= an execution of a session, detached: it uses the session's files, and may only narrow its policy
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; export XDG_RUNTIME_DIR=$PWD/rt; id=$(sh s exec --detach -- sh -c 'echo kept > /tmp/a; echo done'); warder wait $id; warder logs $id; sh s exec -- cat /tmp/a; warder ps | grep -c "^$id .*exited 0"; sh s exec --detach --timeout 1h -- true; sh s stop; warder logs $id
| done
| kept
| 1
!~ ^warder: more than the session has: limits.wallTime: .*
!~ ^warder: there is no execution "[0-9a-f]{16}"; "warder ps" lists all executions$
? 125

= if the keeper is killed, everything is gone, and waiting commands report it
$ . "$TOP/tests/transcript/detach.sh"; id=$(sh d sleep 60); keeper=$(warder session status $id --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/'); warder wait $id & until [ "$(ls -l /proc/$!/fd 2> /dev/null | grep -c socket:)" -gt 1 ] || ! kill -0 $!; do sleep 0.05; done; sleep 0.3; kill -9 $keeper; wait $!; echo $?; warder ps | wc -l
| 137
| 1
!~ ^warder: supervisor: killed: the keeper of session [0-9a-f]{16} is gone, and with it everything in the session$

= flags that do not go together, and ids that are none
$ . "$TOP/tests/transcript/detach.sh"; warder run --detach --receipt r -- true; warder run -i -- true; warder logs; warder logs a b; warder logs ../x; warder logs --from x 0123456789abcdef; warder attach --detach-keys ctrl-1 0123456789abcdef
! warder: --receipt does not go with --detach; "warder wait --json ID" prints the result with its receipt
! warder: --interactive needs --detach
! warder: which execution? "warder ps" lists them
! warder: b is one word too many; give one id
! warder: there is no execution "../x"; "warder ps" lists all executions
! warder: there is no execution "0123456789abcdef"; "warder ps" lists all executions
!~ ^warder: --detach-keys ctrl-1: write up to 8 keys .*
? 125

= an execution is not said to be missing while a session does not answer
$ . "$TOP/tests/transcript/detach.sh"; id=$(sh d sleep 60); keeper=$(warder session status $id --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/'); kill -STOP $keeper; warder logs $id; echo $?; warder wait 0123456789abcdef; echo $?; kill -CONT $keeper; warder wait 0123456789abcdef; echo $?; warder session stop $id
| 125
| 125
| 125
!~ ^warder: no session that answers has execution "[0-9a-f]{16}", but one session could not be asked: the keeper of session [0-9a-f]{16} does not answer$
!~ ^warder: no session that answers has execution "0123456789abcdef", but one session could not be asked: the keeper of session [0-9a-f]{16} does not answer$
! warder: there is no execution "0123456789abcdef"; "warder ps" lists all executions

= no session is asked twice for an execution
needs python3
$ . "$TOP/tests/transcript/detach.sh"; one=$(sh d sleep 60); place=$XDG_RUNTIME_DIR; [ $(id -u) != 0 ] || place=/run; python3 "$TOP/tests/transcript/session_count.py" $place/warder/sessions 0123456789abcdef > heard & keeper=$!; until [ -s heard ] || ! kill -0 $keeper; do sleep 0.05; done; warder logs 0123456789abcdef; echo $?; kill $keeper; wait $keeper 2> /dev/null; cat heard; rm $place/warder/sessions/0123456789abcdef.*; end $one
| 125
| here
| hello
! warder: there is no execution "0123456789abcdef"; "warder ps" lists all executions

= a session that is being set up has no executions
$ . "$TOP/tests/transcript/detach.sh"; warder session start early --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids --setup 'sleep 60' 2> /dev/null & until warder session list --json 2> /dev/null | grep -q settingUp; do sleep 0.1; done; warder logs 0123456789abcdef; echo $?; warder session stop early; wait
| 125
! warder: there is no execution "0123456789abcdef"; "warder ps" lists all executions

= an execution is not said to be missing while a keeper has no room for another connection
needs python3
$ . "$TOP/tests/transcript/detach.sh"; id=$(sh d sleep 60); python3 "$TOP/tests/transcript/session_fill.py" $id 256 > filled & filler=$!; until [ -s filled ] || ! kill -0 $filler; do sleep 0.05; done; warder logs $id; echo $?; warder wait 0123456789abcdef; echo $?; kill $filler; wait $filler 2> /dev/null; warder wait 0123456789abcdef; echo $?; warder session stop $id
| 125
| 125
| 125
!~ ^warder: no session that answers has execution "[0-9a-f]{16}", but one session could not be asked: the keeper of session [0-9a-f]{16} goes on, but has closed this connection, .*$
!~ ^warder: no session that answers has execution "0123456789abcdef", but one session could not be asked: the keeper of session [0-9a-f]{16} goes on, but has closed this connection, .*$
! warder: there is no execution "0123456789abcdef"; "warder ps" lists all executions

= a reader that is killed at any byte goes on from its offset, and has every byte once
$ . "$TOP/tests/transcript/detach.sh"; [ -n "${WARDER_SOAK-}" ] && kills=200 || kills=20; lines=$((kills * 15 / 2)); id=$(sh d --timeout 5m sh -c 'i=0; while [ $i -lt $1 ]; do seq $i 100 9999 | tr "\n" " "; echo; i=$((i + 1)); sleep 0.01; done' - $lines); : > got; for i in $(seq $kills); do timeout -s KILL 0.0$((RANDOM % 90 + 10)) warder logs -f --from $(wc -c < got) $id >> got; done 2> /dev/null; warder wait $id; warder logs --from $(wc -c < got) $id >> got; i=0; while [ $i -lt $lines ]; do seq $i 100 9999 | tr "\n" " "; echo; i=$((i + 1)); done | cmp - got && echo exact; warder session stop --all; warder ps | wc -l
| exact
| 1

= forged and half records, and a client that never reads, disturb nobody
needs python3
+ . "$TOP/tests/transcript/detach.sh"
$ export XDG_RUNTIME_DIR=$PWD/rt; id=$(sh d --timeout 60s sh -c 'yes | head -c 30000000; echo; echo done'); python3 "$TOP/tests/transcript/detach_hostile.py" $id; warder wait $id; warder logs --lines 1 $id; warder ps | grep -c "^$id .* exited 0"; warder session stop --all
| half: closed
| another magic: closed
| before the hello: closed
| another version: refused, closed
| the version before: answered
| words that are no memory file: refused
| an id of another: refused
| 65 clients: 64 served
| never reads: dropped
| done
| 1

= a session has 128 executions at a time, and says so to the next
needs guest
$ . "$TOP/tests/transcript/detach.sh"; warder session start many --lifetime 5m --pids 300; i=0; while [ $i -lt 128 ]; do warder session exec many --detach -- sleep 200 > id || echo failed; i=$((i + 1)); done; warder ps | grep -c running; warder session exec many -- true; echo $?; warder session exec many --detach -- true; echo $?; warder kill -s KILL $(cat id); warder wait $(cat id); warder session exec many -- echo room; warder session stop many; warder ps | wc -l
| 128
| 125
| 125
| room
| 1
! warder: the session has 128 executions, as many as it can have; wait until one has ended
! warder: the session has 128 executions, as many as it can have; wait until one has ended

= a lost connection is not a dead keeper: wait, logs and attach connect again, and go on at the byte where they were
needs python3
$ . "$TOP/tests/transcript/detach.sh"; for how in wait 'logs -f' 'attach -n'; do id=$(sh d -i sh -c 'i=0; while [ $i -lt 300 ]; do i=$((i + 1)); echo $i; sleep 0.01; done; read x; exit 7'); python3 "$TOP/tests/transcript/detach_lose.py" got warder $how $id; echo $?; [ "$how" = wait ] || (seq 300 | cmp - got && echo exact); end $id; done
| lost 3
| 7
| lost 3
| 0
| exact
| lost 3
| 7
| exact

= a keeper has two threads, however many executions run, and does not grow with ended ones
+ . "$TOP/tests/transcript/session.sh"
$ sh s start --pids 100; export XDG_RUNTIME_DIR=$PWD/rt; keeper=$(sh s status --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/'); size() { awk '/^VmRSS|^RssAnon/ { at = $2 } END { print at }' /proc/$keeper/status; }; turn() { for i in $(seq 12); do warder wait $(sh s exec --detach --keep 2s -- true); done; }; turn; before=$(size); turn; [ $(($(size) - before)) -lt 400 ] && echo same size; for i in 1 2 3; do sh s exec --detach -- sleep 30 > /dev/null; done; ls /proc/$keeper/task | wc -l; sh s stop
| same size
| 2

= more output than --max-output ends the execution, also if the program has ended before it was read
$ . "$TOP/tests/transcript/detach.sh"; for text in 1234 12345; do id=$(sh d --max-output 4B printf $text); warder wait $id; echo $?; warder logs $id; echo; end $id; done
| 0
| 1234
| 137
| 1234
! warder: output: killed for more output than the limit

= a jail that is shown the socket of a keeper is refused, by a process of another namespace and whatever it asks
needs python3
+ . "$TOP/tests/transcript/session.sh"
+ cat > ask.py <<'END'
+ import socket, struct, sys
+ def ask(body):
+     s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
+     s.settimeout(10)
+     try:
+         s.connect(sys.argv[1])
+         s.send(body)
+         got = s.recv(65536)
+     except ConnectionError:
+         return "closed"
+     except OSError as e:
+         return type(e).__name__
+     if not got:
+         return "closed"
+     return "refused" if struct.unpack_from("<I", got, 44)[0] == 1 else "served"
+ record = lambda kind, body=b"": struct.pack("<IHHII24s", 0x58455257, 2, kind, 0, len(body), b"") + body
+ print("hello:", ask(record(1)))
+ print("list:", ask(record(9)))
+ END
$ sh s start; name=$(sh s status --json | grep -o '"name":"[^"]*' | head -n 1 | cut -d '"' -f 4); dir=$([ "$(id -u)" = 0 ] && echo /run/warder || echo $PWD/rt/warder)/sessions; python3 ask.py $dir/$name.sock; p="--prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids"; warder run $p --ro $dir:/s --ro $PWD/ask.py:/ask.py -- python3 /ask.py /s/$name.sock; sh s stop
| hello: served
| list: closed
|~ ^hello: (PermissionError|refused|closed)$
|~ ^list: (PermissionError|refused|closed)$

= --log: a file gets all output, also what leaves the spool, and is appended to
+ printf 'before\n' > log; chmod 600 log
$ . "$TOP/tests/transcript/detach.sh"; id=$(warder run --detach --log new --prefer limits -- sh -c 'echo out; echo err >&2; head -c 6000000 /dev/zero | tr "\0" x'); warder wait $id; echo $?; stat -c '%a %s' new; tr -d x < new | sort; warder wait --json $id | grep -o '"log":{[^}]*}'; warder logs $id 2>&1 > /dev/null | grep -q missing && echo gap; end $id; id=$(warder run --detach --log log --prefer limits -- echo after); warder wait $id; end $id; cat log
| 0
| 600 6000008
| err
| out
| "log":{"bytes":6000008,"missing":0,"error":null}
| gap
| before
| after

= a log that cannot be written whole is reported, and the program goes on; other files are refused
$ . "$TOP/tests/transcript/detach.sh"; sh -c 'ulimit -f 200; exec warder session start small --prefer limits' && id=$(warder session exec small --detach --log log -- sh -c 'head -c 150000 /dev/zero; exit 3'); warder wait $id; echo $?; stat -c %s log; warder wait --json $id | grep -o '"log":{[^}]*}'; for file in /dev/null link dir/no; do ln -sf log link; warder session exec small --detach --log $file -- true; echo $?; done; warder session stop small; warder run --log log -- true; echo $?; warder ps | wc -l
| 3
| 102400
| "log":{"bytes":102400,"missing":47600,"error":"File too large"}
| 125
| 125
| 125
| 125
| 1
! warder: the file of --log lacks 47600 bytes: File too large
! warder: /dev/null is not written to: it is not a regular file
! warder: link is not written to: it is a symbolic link; name the file itself
! warder: cannot write to dir/no: No such file or directory
! warder: --log needs --detach
