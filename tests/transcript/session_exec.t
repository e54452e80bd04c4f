# session exec: the keeper supervises the program, which has the streams of its caller.

= the program goes on if its caller is killed, and its output and its end can still be had
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; export XDG_RUNTIME_DIR=$PWD/rt; sh s exec -- sh -c 'echo begun; until [ -e /tmp/go ]; do sleep 0.05; done; echo end; exit 7' > out & pid=$!; until grep -q begun out 2> /dev/null; do sleep 0.05; done; id=$(sh running); kill -9 $pid; wait $pid 2> /dev/null; sh s exec -- touch /tmp/go; warder wait $id; echo $?; cat out; warder wait --json $id | grep -o '"exitCode":7'; warder ps | grep -c "^$id .* exited 7 "; sh s stop
| 7
| begun
| end
| "exitCode":7
| 1

= the output of a program that has its caller's streams can also be read by others, as long as the program runs
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; export XDG_RUNTIME_DIR=$PWD/rt; sh s exec -- sh -c 'echo begun; echo error >&2; until [ -e /tmp/go ]; do sleep 0.05; done; echo end; exit 7' > out 2> err & pid=$!; until grep -q error err 2> /dev/null; do sleep 0.05; done; id=$(sh running); warder logs $id; warder attach $id > attached 2> /dev/null < /dev/null & until grep -q begun attached 2> /dev/null; do sleep 0.05; done; sh s exec -- touch /tmp/go; wait $!; echo $?; wait $pid; echo $?; cat attached; cat out; warder logs $id; sh s stop
| begun
| 7
| 7
| begun
| end
| begun
| end
!~ ^error$
!~ ^warder: there is no execution "[0-9a-f]*"; .*

= progress goes to the caller's terminal and into the result, also if the caller is killed meanwhile, or stopped for long
needs python3 script
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; export XDG_RUNTIME_DIR=$PWD/rt; sh s exec --progress --json -- sh -c 'echo 8 >&5; echo $WARDER_PROGRESS' | python3 $TOP/tests/lib/results.py progress.lines stdout.text; NO_COLOR=1 script -qec 'sh s exec --progress -- sh -c "echo \"[9]\" >&5"' /dev/null < /dev/null | tr -d '\r'; rm -f out; sh s exec --progress -- sh -c 'echo 1 >&5; echo begun; until [ -e /tmp/go ]; do sleep 0.05; done; echo 2 >&5; exit 7' > out & pid=$!; until grep -q begun out 2> /dev/null; do sleep 0.05; done; id=$(sh running); kill -9 $pid; wait $pid 2> /dev/null; sh s exec -- touch /tmp/go; warder wait $id; echo $?; warder wait --json $id | python3 $TOP/tests/lib/results.py progress.lines
> rm -f out; sh s exec --progress --json -- sh -c 'echo begun >/tmp/begun; for i in $(seq 40); do printf "{\"filler\": \"%03500d\"}\n" $i >&5; sleep 0.25; done' > out & pid=$!; until sh s exec -- test -e /tmp/begun || ! kill -0 $pid; do sleep 0.05; done; kill -STOP $pid; while warder ps | grep -q ' running .*seq 40'; do sleep 0.2; done; kill -CONT $pid; wait $pid; echo $?; python3 $TOP/tests/lib/results.py progress.delivered < out; sh s stop
| [8] "/dev/fd/5\n"
| warder: progress: [9]
| 7
| [1, 2]
| 0
| 40

= progress of a program that outlives its caller: the last line in the list, all of them in the result
needs python3
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; export XDG_RUNTIME_DIR=$PWD/rt; id=$(sh s exec --detach --progress -- sh -c 'echo 1 >&5; echo "{\"percent\": 50}" >$WARDER_PROGRESS; until [ -e /tmp/go ]; do sleep 0.05; done; echo 2 >&5'); until warder ps --json | grep -o '"progress":{"percent": *50}'; do sleep 0.05; done; sh s exec -- touch /tmp/go; warder wait $id; warder wait --json $id | python3 $TOP/tests/lib/results.py progress; warder ps --json | grep -o '"progress":[0-9]*'; sh s exec --detach -- sh -c 'echo ${WARDER_PROGRESS-none}' > other; warder wait $(cat other); warder logs $(cat other); sh s stop
| "progress":{"percent":50}
| {"lines": [1, {"percent": 50}, 2], "delivered": 3, "dropped": 0}
| "progress":2
| none

= a result that the caller has is not kept
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; export XDG_RUNTIME_DIR=$PWD/rt; for i in 1 2 3; do sh s exec -- sh -c 'exit 3'; echo $?; done; warder ps | wc -l; sh s stop
| 3
| 3
| 3
| 1

= streams are the caller's own: input byte by byte, one stream for both outputs, a reader that goes away, a limit of output
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; printf 'one\ntwo\n' | (sh s exec -- sh -c 'read x; echo got $x'; cat); sh s exec -- sh -c 'for i in 1 2 3; do echo $i; echo e$i >&2; done' 2>&1 | tr '\n' ' '; echo; set -o pipefail; sh s exec -- yes | head -n 1; echo $?; sh s exec --max-output 5B -- printf 123456; echo " $?"; sh s exec -n -- wc -c; sh s exec -- sh -c 'head -c 3000000 /dev/zero | tee /dev/stderr' > one 2> two; cmp one two && stat -c %s two; sh s stop
| got one
| two
| 1 e1 2 e2 3 e3 
| y
| 141
| 12345 137
| 0
| 3000000
! warder: killed: more than 5B on standard output (--max-output)

= a program that closes its input ends the program that writes to it, and leaves what it did not read
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; (yes; echo $? >&2; touch told) 2> status | sh s exec -- sh -c 'read x; echo $x; exec <&-; until [ -e /tmp/go ]; do sleep 0.05; done; echo end' & pid=$!; for i in $(seq 200); do [ -e told ] && break; sleep 0.05; done; cat status; sh s exec -n -- touch /tmp/go; wait $pid
> printf 'one\ntwo\n' | (sh s exec -- sh -c 'read x; exec <&-; sleep 0.2; echo got $x'; cat); printf 'one\ntwo\n' > file; (sh s exec -- sh -c 'read x; exec <&-; sleep 0.2; echo got $x'; cat) < file; sh s stop
| y
| 141
| end
| got one
| two
| got one
| two

= signals to the caller reach the program, which may end by itself, or is killed after the grace
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; for how in '20s trap "echo heard; exit 5" TERM' '500ms trap "" TERM'; do rm -f out; sh s exec --grace ${how%% *} -- sh -c "${how#* }; echo begun; while :; do sleep 0.05; done" > out 2> /dev/null & pid=$!; until grep -q begun out 2> /dev/null; do sleep 0.05; done; sh running > id; kill $pid; wait $pid; echo $?; cat out; done; sh s stop
| 5
| begun
| heard
| 143
| begun

= a signal during the start ends it
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; keeper=$(sh s status --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/'); kill -STOP $keeper; sh s exec --grace 100ms -- echo never 2> err & pid=$!; until ls -l /proc/$pid/fd 2> /dev/null | grep -q socket:; do sleep 0.05; done; sleep 0.3; kill $pid; wait $pid; echo $?; kill -CONT $keeper; sh s exec -- echo next; sh s stop
| 143
| next

= a caller whose keeper is stopped ends after a signal, and says so; the program ends when the keeper goes on
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; export XDG_RUNTIME_DIR=$PWD/rt; keeper=$(sh s status --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/'); sh s exec --grace 100ms -- sh -c 'echo begun; sleep 60' > out & pid=$!; until grep -q begun out 2> /dev/null; do sleep 0.05; done; sh running > id; kill -STOP $keeper; kill $pid; wait $pid; echo $?; kill -CONT $keeper; for i in $(seq 600); do warder ps | grep -q ' running ' || break; sleep 0.1; done; warder ps | grep -c ' running '; sh s stop
| 143
| 0
!~ ^warder: the keeper of session .* does not answer

= a caller whose connection is closed says that the program goes on, and how to wait for it
needs python3
+ . "$TOP/tests/transcript/session.sh"
+ cat > cut.py <<'END'
+ import ctypes, os, socket, sys  # half a record on the caller's connection, which its keeper closes for that
+ libc, pid = ctypes.CDLL(None), int(sys.argv[1])
+ of = os.pidfd_open(pid)
+ for fd in os.listdir(f"/proc/{pid}/fd"):
+     if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:"):
+         s = socket.socket(fileno=libc.syscall(438, of, int(fd), 0))  # pidfd_getfd
+         if s.type == socket.SOCK_SEQPACKET:
+             s.send(b"x")
+             break
+ END
$ sh s start; export XDG_RUNTIME_DIR=$PWD/rt; sh s exec --json -- sh -c 'echo begun > /tmp/begun; until [ -e /tmp/go ]; do sleep 0.05; done; exit 7' > out & pid=$!; until sh s exec -- test -e /tmp/begun || ! kill -0 $pid; do sleep 0.05; done; id=$(sh running); python3 cut.py $pid; wait $pid; echo $?; python3 $TOP/tests/lib/results.py cause signal sessionEnd detail < out | sed "s/$id/ID/; s/of session [^ ]*/of session NAME/"; sh s exec -- touch /tmp/go; warder wait $id; echo $?; sh s stop
| 137
| supervisor - - the keeper of session NAME has closed this connection, and goes on to supervise the program; "warder wait ID" waits for its end
| 7

= a keeper of another version: the caller joins its session and supervises the program itself
+ . "$TOP/tests/transcript/session.sh"; cp "$(command -v warder)" other
$ export XDG_RUNTIME_DIR=$PWD/rt; ./other session start $(grep -o 'session $word [^ ]*' s | cut -d ' ' -f 3) --prefer limits; sh s exec -- echo by another; sh s exec -- sh -c 'echo begun; sleep 60' > out & pid=$!; until grep -q begun out 2> /dev/null; do sleep 0.05; done; warder ps | wc -l; kill -9 $pid; wait $pid 2> /dev/null; for i in $(seq 600); do sh s status | grep -q ' 0 at work' && break; sleep 0.1; done; sh s status | grep -o '[0-9]* at work'; sh s stop
| by another
| 1
| 0 at work

= a program has the nice value and the processors of the keeper, not those of its caller
+ . "$TOP/tests/transcript/session.sh"
$ cpu=$(taskset -cp $$ | sed 's/.*[: ,-]\([0-9]*\)$/\1/'); nice -n 1 taskset -c $cpu sh s start; test "$(nice -n 3 sh s exec -- nice)" = "$(nice -n 1 nice)" && echo nice; test "$(sh s exec -- sh -c 'taskset -cp $$' | sed 's/.*: //')" = $cpu && echo processor; sh s stop
| nice
| processor

= refusals before the start have the exit status of a run
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; sh s exec -- no-such-program; echo $?; sh s exec -- /etc/passwd; echo $?; sh s exec --timeout 1h -- true; echo $?; sh s stop; sh s exec -- true; echo $?
| 127
| 126
| 125
| 125
!~ ^warder: no-such-program: no such program inside the jail .*
!~ ^warder: /etc/passwd: .*
!~ ^warder: more than the session has: limits.wallTime: .*
!~ ^warder: session [^ ]* does not run; .*

= closed and wrong descriptors, and a client that asks and takes no answer, leave nothing in the keeper and disturb nobody
needs python3
+ . "$TOP/tests/transcript/session.sh"; echo $name > name
$ sh s start --set functions=f; XDG_RUNTIME_DIR=$PWD/rt python3 "$TOP/tests/transcript/session_hostile.py" $(cat name); sh s exec -- true <&-; echo $?; sh s exec -- sh -c 'exit 3' >&-; echo $?; sh s exec -- true <&- >&- 2>&-; echo $?; sh s exec -- echo goes on; sh s stop
| as it should be: ended 0
| no descriptor for a stream: refused
| one too few: refused
| one that nobody asked for: ended 0
| no descriptor for the log: refused
| no descriptor for the audit file: refused
| a directory for the log: refused
| words that can change: refused
| code as it should be: ended 0
| no file of the code: refused
| code that can change: refused
| code without its caller's streams: refused
| a directory of the code's that leads out: refused
| more files than there are: refused
| a directory as the code's value: refused
| no value: refused
| files that the client does not take: ended 0
| a hand-over of nothing: refused
| files for the output: ended 0
| one file too few for the output: refused
| a device for the output: refused
| functions as they should be: ended 0
| functions of code: ended 0
| no descriptor for functions: refused
| a file for functions: refused
| a socket of packets for functions: refused
| a socket that leads nowhere for functions: refused
| a socket that listens for functions: refused
| a service of the host for functions: refused
| functions and progress: refused
| functions without its caller's streams: refused
| a pipe that nobody reads: ended -1
| left in the keeper: 0
| a flood of requests: True others: served
| takes no answer: dropped
| 0
| 3
| 0
| goes on

= the connection that describes the session also starts the program
+ . "$TOP/tests/transcript/session.sh"; mkfifo ceiling
$ sh s start; sh s status --json | sed 's/.*"policy":\({.*}\),"setup".*/\1/' > granted; exec 3<> ceiling; sh s exec --ceiling ceiling -- echo runs 3>&- & until grep -q warder /proc/$!/comm && ls -l /proc/$!/fd | grep -q ceiling; do sleep 0.05; done; ls -l /proc/$!/fd | grep -c socket:; cat granted >&3; exec 3>&-; wait $!; sh s stop
| 1
| runs
