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
$ warder run --max-output 16MiB -- cat < in | cmp - in && echo same
| same

= all byte values, no newline added
+ for i in $(seq 0 255); do printf "\\x$(printf %x $i)"; done > in
$ warder run -- cat < in | cmp - in && echo same
| same

= a program that never reads its input finishes
$ head -c 10485760 /dev/zero | warder run -- true
< 25

= input comes as it is written
$ (echo early; sleep 1; echo late) | warder run -- cat
| early
| late

# ---- output limits

= 64 MiB, of which 1 MiB is kept, and standard error is still there
$ warder run -- sh -c 'head -c 67108864 /dev/zero; echo done >&2' | wc -c
| 1048576
! done
! warder: stdout: kept 1048576 of 67108864 bytes (output.stdout)

= the same for standard error
$ warder run -- sh -c 'head -c 33554432 /dev/zero >&2; echo done' 2>err; wc -c < <(tr -dc '\0' < err); tail -n 1 err | tr -d '\0'
| done
| 1048576
| warder: stderr: kept 1048576 of 33554432 bytes (output.stderr)

= output of exactly the limit is not truncated
$ warder run --max-output 4096 -- head -c 4096 /dev/zero | wc -c
| 4096

= one byte more is
$ warder run --max-output 4096 -- head -c 4097 /dev/zero | wc -c
| 4096
! warder: stdout: kept 4096 of 4097 bytes (output.stdout)

= output over its limit can end the program
$ warder run --set output.onLimit=kill --max-output 4KiB -- sh -c 'yes; echo never' >/dev/null
? 137
!*

= a reader that goes away ends the run
$ warder run --max-output 1GiB -- yes | head -n 1; echo ${PIPESTATUS[0]}
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
$ n=3$$; { warder run --timeout 1s -- sh -c "yes & sleep $n"; echo $? >&2; } | { sleep 8; pgrep -fx "sleep $n"; cat >/dev/null; }
! warder: killed after 1s (limits.wallTime)
! 124

= what it left in the background dies with it
+ chmod 777 .
$ warder run --timeout 1s --workspace .:rw --set limits.disk=unlimited -- sh -c '(sleep 3; touch f) & setsid sh -c "sleep 3; touch f" & wait'; sleep 3; ls
! warder: killed after 1s (limits.wallTime)
< 25

= the run ends with the program, not with what it left behind
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

= refused forks are told
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

= a killed supervisor takes the jail along; what it could not remove, doctor does
$ n=3$$; warder run -- sleep $n & p=$!; for i in $(seq 300); do pgrep -fx "sleep $n" >/dev/null && break; sleep 0.1; done; kill -KILL $p; wait $p 2>/dev/null; for i in $(seq 100); do pgrep -fx "sleep $n" >/dev/null || break; sleep 0.1; done; pgrep -fx "sleep $n"
> warder doctor --clean >/dev/null; find /sys/fs/cgroup -maxdepth 4 -name "warder-$p-*" 2>/dev/null; true
!*
