# warder run: streams, exit status, what is told.

needs limits

= output is passed through
$ warder run -- echo hello
| hello

= both streams stay apart
$ warder run -- sh -c 'echo out; echo err >&2'
| out
! err

= the exit code is the program's
$ warder run -- sh -c 'exit 42'
? 42

= a signal is 128 and its number
$ warder run -- sh -c 'kill -TERM $$'
? 143

= "--" may be left out
$ warder run --timeout 5s echo --json
| --json

= a program that is not there is 127
$ warder run -- /nonexistent/program
? 127
!~ ^warder: /nonexistent/program: no such program

= a program that cannot be executed is 126
$ warder run -- /etc/passwd
? 126
!~ ^warder: /etc/passwd: cannot be executed

= no program is 125
$ warder run --timeout 5s --
? 125
! warder: which program? warder run [FLAG...] -- PROGRAM

# ---- standard input

= standard input is passed on
$ printf 'one\ntwo\n' | warder run -- cat
| one
| two

= a file as standard input
+ seq 1 100000 > numbers
$ warder run -- tail -n 1 < numbers
| 100000

= no standard input is end of file at once
$ warder run -- cat < /dev/null
< 25

= a closed standard input is end of file at once
$ warder run -- cat <&-
< 25

= 10 MiB come back byte by byte
+ head -c 10485760 /dev/urandom > in
$ warder run -- cat < in | cmp - in && echo same
| same

= all byte values, no newline added
+ for i in $(seq 0 255); do printf "\\x$(printf %x $i)"; done > in
$ warder run -- cat < in | cmp - in && echo same
| same

= a program that never reads its input finishes
$ head -c 10485760 /dev/zero | warder run -- true
< 25

= a loop over lines keeps its lines
+ seq 5 > lines
$ seq 5 | while read x; do warder run -- sh -c 'sleep 0.1'; echo $x; done; while read x; do warder run -- sh -c 'sleep 0.1'; echo $x; done < lines
| 1
| 2
| 3
| 4
| 5
| 1
| 2
| 3
| 4
| 5

= input that the program did not read stays, also with a session and with code
needs limits
+ echo 'read x; echo got $x' > a.sh
$ printf 'a\nb\nc\n' | (warder run -- sh -c 'read x; echo got $x'; cat); printf 'a\nb\n' | (warder code --language sh a.sh; cat)
| got a
| b
| c
| got a
| b

= of many bytes, too, exactly those that it reads are taken
+ seq 2000000 > all
$ for n in 0 1 65536 1048577 3000001 9999999; do cat all | (warder run -- sh -c "head -c $n | cat" > read; cat > rest); wc -c < read; cat read rest | cmp - all; done
| 0
| 1
| 65536
| 1048577
| 3000001
| 9999999

= a pipe that was made larger for many bytes has its size back when it is empty
needs python3
$ seq 2000000 | (python3 -c 'import fcntl; print(fcntl.fcntl(0, 1032))'; warder run -- python3 -c 'import fcntl, sys; n = len(sys.stdin.buffer.read()); print(fcntl.fcntl(0, 1032), n)'; python3 -c 'import fcntl; print(fcntl.fcntl(0, 1032))')
| 65536
| 262144 14888896
| 65536

= a writer of small pieces and a slow reader, both after many bytes
needs python3
$ python3 -c 'import os, time
> for i in range(300): os.write(1, b"x" * 7001 * (1 + i % 3)); time.sleep(0.001 * (i % 5))' | warder run -- python3 -c 'import os, time
> n = 0
> while b := os.read(0, 5000):
>   n += len(b)
>   n % 10 or time.sleep(0.001)
> print(n)'
| 4200600

= no input at all
$ echo hello | (warder run -n -- cat; cat)
| hello

= input comes as it is written
$ (echo early; sleep 1; echo late) | warder run -- cat
| early
| late

# ---- output limits

= output that is passed through is not kept, and limits of the result do not apply to it
$ warder run -- sh -c 'head -c 67108864 /dev/zero; echo done >&2' | wc -c
| 67108864
! done

= whatever a preset, a document or a ceiling says
+ warder policy show strict | sed 's/"stdout": "[^"]*"/"stdout": 1/; s/"onLimit": "drain"/"onLimit": "kill"/' > p.json; grep -c 'stdout": 1,\|kill"' p.json | grep -qx 2
$ warder run --policy p.json -- head -c 5000000 /dev/zero | wc -c; warder run --policy p.json --ceiling p.json -- head -c 5000000 /dev/zero | wc -c; warder run --set output.stdout=1 -- head -c 5000000 /dev/zero | wc -c
| 5000000
| 5000000
| 5000000

= the same for standard error
$ warder run -- sh -c 'head -c 33554432 /dev/zero >&2; echo done' 2>err; wc -c < <(tr -dc '\0' < err)
| done
| 33554432

= two streams that go to one file keep their order
$ warder run -- sh -c 'for i in 1 2 3; do echo o$i; echo e$i >&2; done' > both 2>&1; cat both; warder run -- sh -c 'for i in 1 2 3; do echo o$i; echo e$i >&2; done' >> both 2>> both; wc -l < both
| o1
| e1
| o2
| e2
| o3
| e3
| 12

= a result keeps them apart
$ warder run --json -- sh -c 'echo out; echo err >&2' 2>&1 | python3 -c 'import json, sys; r = json.load(sys.stdin); print(repr(r["stdout"]["text"]), repr(r["stderr"]["text"]), "merged" in r)'
| 'out\n' 'err\n' False

= a reader that reads nothing: the wall time holds, and the dropped output is reported
+ mkfifo stalled
$ exec 9<> stalled; head -c 65536 /dev/zero >&9; time=$(date +%s); timeout 20 warder run --timeout 2s -- echo hi >&9; echo $?; timeout 20 warder run --timeout 2s -- sh -c 'while :; do echo more; done' >&9; echo $?; timeout 20 warder run --timeout 2s -- echo hi >&9 2>&9; echo $?; [ $(($(date +%s) - time)) -lt $((18 * ${WARDER_TEST_SLOW:-1})) ] && echo in time
| 125
| 124
| 125
| in time
! warder: stdout: 3 of 3 bytes were dropped: the reader did not take them in time
! warder: killed after 2s (limits.wallTime)
!~ ^warder: stdout: [0-9]* of [0-9]* bytes were dropped: the reader did not take them in time$

= a slow reader gets everything
$ seq 200000 > all; warder run -- seq 200000 | (sleep 1; cmp - all) && echo same
| same

= standard output that is open for reading only
$ warder run -- echo hello 1< /dev/null
? 125
! warder: standard output: descriptor 1 (output_fds[0]) is not open for writing

= output of exactly the limit that was asked for is not too much
$ warder run --max-output 4096 -- head -c 4096 /dev/zero | wc -c
| 4096

= one byte more is, and ends the program
$ warder run --max-output 4096 -- head -c 4097 /dev/zero | wc -c; warder run --max-output 4KiB -- sh -c 'yes; echo never' >/dev/null; echo $?; warder run --max-output 4KiB -- sh -c 'yes >&2; echo never' 2>err; echo $?; head -c 4096 err | uniq; tail -n 1 err
| 4096
| 137
| 137
| y
| warder: killed: more than 4KiB on standard error (--max-output)
! warder: killed: more than 4KiB on standard output (--max-output)
! warder: killed: more than 4KiB on standard output (--max-output)

= an output of no byte cannot be asked for
$ warder run --max-output 0 -- echo hi
? 125
! warder: --max-output 0: give at least 1 byte, or redirect the output to /dev/null

= a directory is no input
$ warder run -- cat < .
? 125
! warder: standard input is a directory, which a program cannot read; give a file or a pipe

= output over the limit of a result can end the program
$ warder run --json --set output.onLimit=kill --max-output 4KiB -- sh -c 'yes; echo never' | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["status"], r["cause"], len(r["stdout"]["text"]))'
| killed output 4096

= a reader that goes away ends the run
$ warder run -- yes | head -n 1; echo ${PIPESTATUS[0]}
| y
| 141
< 25

= standard output that cannot be written
$ warder run -- echo hello > /dev/full
? 137
! warder: the program's output cannot be written: No space left on device

# ---- time

= wall time
$ warder run --timeout 1s -- sh -c 'echo before; sleep 60'
| before
! warder: killed after 1s (limits.wallTime)
? 124
< 25

= a wall time may be unlimited, and is then a restriction that the policy does not want
needs gcc
$ warder run --timeout unlimited --json -- sleep 1 | python3 $TOP/tests/lib/results.py status limitsHit; warder run --timeout unlimited --json -- true | python3 -c 'import json, sys; print([[c["status"], c["requested"]] for c in json.load(sys.stdin)["receipt"]["controls"] if c["control"] == "limits.wallTime"])'; echo 'int main(void) { return 3; }' | warder code --language c --timeout unlimited -; echo $?; warder explain --timeout unlimited | grep -i 'wall.*time' | tr -s ' '
| success []
| [['unrestricted', 'unlimited']]
| 3
| limits.wallTime unlimited required unrestricted the policy asks for no restriction
|  wall time unlimited

= a ceiling with a time refuses an unlimited one, and so does the tool for a request
+ echo '{"version": 1, "limits": {"wallTime": "5s"}}' > ceiling.json
$ warder run --ceiling ceiling.json --timeout unlimited -- echo ran; echo $?; echo '{"language": "bash", "code": "echo ran", "policy": {"version": 1, "limits": {"wallTime": "unlimited"}}}' | warder tool | python3 $TOP/tests/lib/results.py status error.message; warder run --timeout 0 -- echo ran
| 125
| rejected limits.wallTime: unlimited is more than the operator grants; at most 30s
! warder: limits.wallTime: unlimited is more than the operator grants; at most 5s
!~ ^warder: --timeout 0: limits.wallTime: 0s is too little
? 125

= it is a limit that was hit, also when the program has ended before it is killed
$ for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do warder run --timeout 1us --json -- true; done | python3 $TOP/tests/lib/results.py limitsHit | sort -u
| ["wallTime"]

= a program that ignores SIGTERM
$ warder run --timeout 1s -- sh -c 'trap "" TERM; while :; do :; done'
! warder: killed after 1s (limits.wallTime)
? 124
< 25

= a reader that does not read does not lengthen it
needs pgrep
$ n=3$$; { warder run --timeout 1s -- sh -c "yes & sleep $n"; echo $? >&2; : > ended; } | { for i in $(seq $((80 * ${WARDER_TEST_SLOW:-1}))); do [ ! -e ended ] || break; sleep 0.1; done; pgrep -fx "sleep $n"; cat >/dev/null; }
! warder: killed after 1s (limits.wallTime)
!~ ^warder: stdout: [0-9]* of [0-9]* bytes were dropped: the reader did not take them in time$
! 124

= background processes die with the run
+ chmod 777 .
$ warder run --timeout 1s --workspace .:rw --set limits.disk=unlimited -- sh -c '(sleep 3; touch f) & setsid sh -c "sleep 3; touch f" & wait'; sleep 3; ls
! warder: killed after 1s (limits.wallTime)
< 25

= the run ends with the program, not with its background processes
$ warder run -- sh -c 'setsid sleep 100 >/dev/null 2>&1 & echo done'
| done
< 25

= cpu time of all processes
$ warder run --cpu-time 500ms --timeout 60s -- sh -c 'while :; do :; done & while :; do :; done'
! warder: killed after 500ms of CPU time (limits.cpuTime)
? 124
< 50

# ---- memory, processes

= memory
needs python3
$ warder run --memory 64MiB -- python3 -c 'x = bytearray(300 << 20)'
! warder: memory limit of 64MiB reached (limits.memory)
? 137

= a fork bomb stays inside
needs storm
$ warder run --pids 16 --timeout 3s -- sh -c 'f() { f & f; }; f' >/dev/null 2>&1; echo $?
|~ ^[0-9]+$
< 25

= refused forks are reported
$ warder run --pids 8 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1 & done; wait' 2>&1 | tail -n 1
| warder: limit of 8 processes reached (limits.pids)

= no new processes at all
$ warder run --set processes.spawn=false -- sh -c 'sleep 0 && echo spawned'
? 2
!*

= threads are still allowed then
needs python3
$ warder run --set processes.spawn=false -- python3 -c 'import threading as t; x = t.Thread(target=print, args=("thread",)); x.start(); x.join()'
| thread

# ---- signals

= SIGTERM takes the jail along
$ setsid warder run -- sh -c 'echo up; sleep 100' > out & for i in $(seq 300); do [ -s out ] && break; sleep 0.1; done; kill -TERM $!; wait $!; s=$?; cat out; exit $s
| up
? 143
< 25

= SIGHUP twice does as well
$ setsid env --default-signal=HUP warder run -- sh -c 'echo up; sleep 100' > out & for i in $(seq 300); do [ -s out ] && break; sleep 0.1; done; kill -HUP $!; kill -HUP $! 2>/dev/null; wait $!
? 129
< 25

= the jail ends with a killed supervisor, and doctor --clean removes the rest
$ n=3$$; warder run -- sleep $n & p=$!; for i in $(seq 300); do pgrep -fx "sleep $n" >/dev/null && break; sleep 0.1; done; kill -KILL $p; wait $p 2>/dev/null; for i in $(seq 100); do pgrep -fx "sleep $n" >/dev/null || break; sleep 0.1; done; pgrep -fx "sleep $n"
> warder doctor --clean >/dev/null; find /sys/fs/cgroup -maxdepth 4 -name "warder-$p-*" 2>/dev/null; true
!*

# ---- signals

= a signal goes to the program, whose end is then its own
$ for s in TERM INT HUP QUIT; do env --default-signal warder run -- sh -c "trap 'echo got $s; exit 7' $s; echo up; while :; do sleep 0.1; done" > out 2> err & p=$!; until grep -qs up out; do sleep 0.1; done; kill -$s $p; wait $p; echo $?; grep got out; : > out; done
| 7
| got TERM
| 7
| got INT
| 7
| got HUP
| 7
| got QUIT

= and to its process group
$ warder run -- sh -c "(trap 'echo child; exit 0' TERM; echo up; while :; do sleep 0.1; done) & trap 'wait; exit 3' TERM; wait" > out 2> err & p=$!; until grep -qs up out; do sleep 0.1; done; kill -TERM $p; wait $p; echo $?; grep -c child out
| 3
| 1

= a program that ignores the signal is killed after the grace, or at a second signal
$ for flags in '--grace 300ms' '--grace 0s' '--grace 60s'; do env --default-signal warder run --timeout 120s $flags --json -- sh -c "trap '' TERM; sh -c 'while :; do :; done' mark$$" > out & p=$!; until pgrep -fx "sh -c while :; do :; done mark$$" > /dev/null || ! kill -0 $p; do sleep 0.1; done; kill -TERM $p; [ "$flags" != '--grace 60s' ] || { sleep 0.5; kill -INT $p; }; wait $p; echo $?; grep -o '"status":"[a-z]*","cause":"[a-z]*"' out; done
| 143
| "status":"killed","cause":"cancelled"
| 143
| "status":"killed","cause":"cancelled"
| 143
| "status":"killed","cause":"cancelled"

= without a limit of open files, size of files or stack the receipt says which of the caller's limits hold
needs limits python3
$ ulimit -Sn 300; ulimit -Hn 400; warder run --set limits.openFiles=unlimited --set limits.fileSize=unlimited --set limits.stack=unlimited --json -- sh -c 'ulimit -Sn; ulimit -Hn' | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["stdout"]["text"].split()); [print([c[k] for k in ("control", "status", "requested", "mechanism", "value", "source")]) for c in d["receipt"]["controls"] if c["control"] in ("limits.openFiles", "limits.fileSize")]; print([c["status"] for c in d["receipt"]["controls"] if c["control"] == "limits.stack"])'
| ['300', '400']
| ['limits.openFiles', 'unrestricted', 'unlimited', "the caller's RLIMIT_NOFILE", '300, which the program may raise to 400', '/proc/<pid>/limits']
| ['limits.fileSize', 'unrestricted', 'unlimited', "the caller's RLIMIT_FSIZE", 'unlimited', '/proc/<pid>/limits']
| ['unrestricted']

# One line more is allowed every tenth of a second, so all that count come in one write.
= progress: lines of JSON on descriptor 5, only with --progress; lines that are not JSON, too long or too many are counted
needs python3
$ warder run --progress --json -- sh -c 'printf %05000d 1 >&5; echo >&5; printf "%s\n" "{\"percent\": 50}" no 1 2 3 $(seq 100 120) >$WARDER_PROGRESS; echo out' | python3 $TOP/tests/lib/results.py progress stdout.text status; warder run -- sh -c 'echo ${WARDER_PROGRESS-none}; (echo 1 >&5) 2>/dev/null || echo closed'; warder run --progress -- sh -c 'echo 1 >&5; echo out'
| {"lines": [{"percent": 50}, 1, 2, 3, 100, 101, 102, 103, 104], "delivered": 9, "dropped": 18} "out\n" success
| none
| closed
| out

= a program that floods its progress is read to the end, and the excess is dropped
needs python3
$ warder run --timeout 60s --progress --json -- sh -c 'head -c 30000000 /dev/zero >&5; echo >&5; yes 1 | head -n 1000000 >&5; echo $?' | python3 -c 'import json, sys; r = json.load(sys.stdin); p = r["progress"]; print(r["status"], r["stdout"]["text"], p["delivered"] + p["dropped"], 10 <= p["delivered"] < 500)'
| success 0
|  1000001 True

= code has it too, an execution in a session, and a terminal of the caller's sees it
needs python3 script
+ . "$TOP/tests/transcript/session.sh"
$ printf 'echo 7 >$WARDER_PROGRESS; echo 1 >$WARDER_RESULT' | warder code --progress --json --language sh - | python3 $TOP/tests/lib/results.py progress.lines output; sh s start; sh s exec --progress --json -- sh -c 'echo 8 >&5' | python3 $TOP/tests/lib/results.py progress.lines; sh s stop; script -qec 'NO_COLOR=1 warder run --progress -- sh -c "echo \"[9]\" >&5"' /dev/null </dev/null | tr -d '\r'
| [7] 1
| [8]
| warder: progress: [9]
