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

= without a service the result does not mention one
$ . "$TOP/tests/transcript/service.sh"; by -- true
| none

= the commands work alone, in silence, where something would differ, or only they can do it
needs limits
$ . "$TOP/tests/transcript/service.sh"; serve; by --no-service -- true; by -- true; nice -n 3 bash -c '. "$TOP/tests/transcript/service.sh"; by -- true'; (ulimit -n 200; by -- true); by --net loopback -- true; by --env PATH -- true; by --progress -- true; taskset -c 0 bash -c '. "$TOP/tests/transcript/service.sh"; by -- true'
| "service":"no: --no-service"
| "service":"yes"
| "service":"no: the service has another nice value than the caller"
| "service":"no: the service has another resource limit (ulimit) than the caller"
| "service":"yes"
| "service":"no: the policy lets variables of the caller in"
| "service":"no: --progress"
| "service":"no: the service has another set of processors than the caller"

= a caller with another scheduling policy or I/O priority works alone
needs chrt ionice
$ . "$TOP/tests/transcript/service.sh"; serve; cat > by.sh <<< '. "$TOP/tests/transcript/service.sh"; by -- true'; chrt -b 0 bash by.sh; ionice -c 3 bash by.sh; bash by.sh
| "service":"no: the service has another scheduling policy than the caller"
| "service":"no: the service has another I/O priority than the caller"
| "service":"yes"

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

= a second one is refused, and the first serves on
$ . "$TOP/tests/transcript/service.sh"; serve; warder serve --local; echo $?; by -- true
| 125
| "service":"yes"
! warder: a service of this user runs already; "warder run" uses it

= a signal for the command ends its program
$ . "$TOP/tests/transcript/service.sh"; serve; sh r -- sh -c 'trap "echo term; exit 4" TERM; echo ready; while :; do sleep 0.05; done' > out 2> /dev/null & caller=$!; until grep -qs ready out; do sleep 0.05; done; kill -TERM $caller; wait $caller; echo $?; cat out
| 4
| ready
| term

= a command that is killed takes its program along
$ . "$TOP/tests/transcript/service.sh"; serve; mkdir shared; chmod 777 shared; sh r --rw "$PWD/shared" -- sh -c "echo > $PWD/shared/began; sleep 2; echo > $PWD/shared/ended" & caller=$!; until [ -e shared/began ]; do sleep 0.05; done; { kill -9 $caller; wait $caller; } 2> /dev/null; sleep 2.5; ls shared; by -- true
| began
| "service":"yes"

= when the service is killed, its programs end, and the callers go on alone
$ . "$TOP/tests/transcript/service.sh"; serve; (r -- sh -c 'echo ready; sleep 20' > out; echo $? > status) & until grep -qs ready out; do sleep 0.05; done; { kill -9 $served; wait $served; } 2> /dev/null; served=; wait; cat out status; r -- echo alone; by -- true
| ready
| 137
| alone
| none
! warder: supervisor: killed: the service that ran the program (warder serve) has ended

= a service that does not answer is not waited for long
$ . "$TOP/tests/transcript/service.sh"; serve; kill -STOP $served; r -- echo alone; kill -CONT $served; by -- true
| alone
| "service":"yes"
< 20

= a caller does not hang with a service that is stopped while the program runs
$ . "$TOP/tests/transcript/service.sh"; serve; sh r --grace 100ms -- sh -c 'echo ready; sleep 60' > out & caller=$!; until grep -qs ready out; do sleep 0.05; done; kill -STOP $served; kill -TERM $caller; wait $caller; echo $?; kill -CONT $served; by -- true
| 143
| "service":"yes"
! warder: the service (warder serve) does not answer; the program ends when the service goes on or ends
< 20

= it ends when nobody asks, and at a signal, and leaves nothing
$ . "$TOP/tests/transcript/service.sh"; serve --idle-timeout 1s; by -- true; wait $served; echo $?; rm ready; serve; by -- true; kill -TERM $served; wait $served; echo $?; served=; ls -A rt; by -- true
| "service":"yes"
| 0
| "service":"yes"
| 0
| none

= what it cannot do is refused
$ warder serve; echo $?; warder serve --local word; echo $?
| 125
| 125
! warder: serve needs --local: "warder serve --local" serves this user's commands
! warder: serve takes no arguments; write "warder serve --local"
