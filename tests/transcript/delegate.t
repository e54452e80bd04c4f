# warder run --delegate, with a stand-in for systemd-run: no test has a service manager of its own.

= if something is missing, --delegate is refused with the reason and the remedy, or the receipt says so
needs python3
$ . $TOP/tests/transcript/delegate.sh; stand_in; try() { $as warder run --delegate --prefer limits "$@" -- echo ran; }
> mkdir none; chmod 777 . ; $as env PATH=$PWD/none:/nosuch: $(command -v warder) run --delegate -- echo ran; $as env -u XDG_RUNTIME_DIR warder run --delegate -- echo ran; XDG_RUNTIME_DIR=run try
> try --receipt receipt; grep -o '"kind": *"[a-zA-Z]*"' receipt; try --json; echo; listen run/systemd/private; try; DBUS_SESSION_BUS_ADDRESS=unix:path=/nosuch/bus,guid=1 try; $as warder code --delegate --language sh - < /dev/null; XDG_RUNTIME_DIR=/$(printf 'x%.0s' $(seq 200)) try; cat note; unlisten run/systemd/private
| "kind":"unavailable"
|~ ^\{"status":"rejected","error":\{"kind":"unavailable","field":"--delegate","step":null,"message":"--delegate needs your own service manager of systemd: /.*/run/systemd/private: No such file or directory; .* --prefer limits"\}\}
|
! warder: --delegate needs systemd-run, which is in no directory of PATH; install systemd, or leave --delegate out and run with --prefer limits
! warder: --delegate needs your own service manager of systemd, which is found by XDG_RUNTIME_DIR, and that is not set; log in as this user, or leave --delegate out and run with --prefer limits
! warder: --delegate needs your own service manager of systemd, which is found by XDG_RUNTIME_DIR, and that is not set; log in as this user, or leave --delegate out and run with --prefer limits
!~ ^warder: --delegate needs your own service manager of systemd: /.*/run/systemd/private: No such file or directory; log in as this user, or have "loginctl enable-linger" start it, or leave --delegate out and run with --prefer limits$
!~ ^warder: --delegate needs a session bus: /.*/run/bus: No such file or directory; start dbus.socket of your service manager, or leave --delegate out and run with --prefer limits$
!~ ^warder: --delegate needs a session bus: /nosuch/bus: No such file or directory; 
!~ ^warder: --delegate needs a session bus: /.*/run/bus: No such file
!~ ^warder: --delegate needs your own service manager of systemd: /x*: File ?name too long; 

= root needs none
needs user
$ warder run --delegate -- echo ran
! warder: --delegate is for ordinary users; root needs no delegation, so leave it out
? 125

= a refusal for limits names it
$ . $TOP/tests/transcript/delegate.sh; $as warder run -- true 2>&1 | grep -o -e '--prefer limits' -e '--delegate' -e 'It would run' | sort; $as warder explain | grep -q 'It would run' && echo '--delegate
> --prefer limits'; true
| --delegate
| --prefer limits

= systemd-run gets these words; the second start has its own command line, streams, environment, status; no mark stays
needs python3
$ . $TOP/tests/transcript/delegate.sh; stand_in; listen run/systemd/private run/bus; printf 'one\ntwo\n' | $as warder run --prefer limits --delegate --set environment.mode=host -- sh -c 'cat; echo "$1" "$2" >&2; env | grep ^WARDER_D; exit 7' name 'a  b' '$HOME %h'; echo $?; sed 's/^\/.*warder$/SELF/' note; unlisten run/systemd/private run/bus
| one
| two
| 7
| --user
| --scope
| --quiet
| --collect
| -p
| Delegate=yes
| --
| SELF
| run
| --prefer
| limits
| --delegate
| --set
| environment.mode=host
| --
| sh
| -c
| cat; echo "$1" "$2" >&2; env | grep ^WARDER_D; exit 7
| name
| a  b
| $HOME %h
! a  b $HOME %h

= a signal gets to the program, and its death to the caller; a program that is not there; code; from the file of defaults
needs python3
$ . $TOP/tests/transcript/delegate.sh; stand_in; listen run/systemd/private run/bus; $as warder run --prefer limits --delegate -- sh -c 'trap "echo got; exit 3" TERM; echo up > /dev/stderr; while :; do sleep 0.1; done' 2> up & while [ ! -s up ]; do sleep 0.05; done; kill $!; wait $!; echo $?; $as warder run --prefer limits --delegate -- sh -c 'kill -9 $$'; echo $?; $as warder run --prefer limits --delegate -- /nosuch 2> /dev/null; echo $?; echo 'echo in code' | $as warder code --delegate --prefer limits --language sh -; rm note; mkdir -p .config/warder; echo '{"flags": {"run": {"delegate": true, "prefer": "limits"}}}' > .config/warder/config.json; chmod -R go-w .config; [ -z "$as" ] || chown -R 65534 .config; : > note; chmod 666 note; $as warder run -- echo ran; tail -n 2 note; unlisten run/systemd/private run/bus
| got
| 3
| 137
| 127
| in code
| ran
| echo
| ran

= a terminal stays what it is
needs python3 terminal
$ . $TOP/tests/transcript/delegate.sh; stand_in; listen run/systemd/private run/bus; script -qec "$as warder run -t --prefer limits --delegate -- sh -c 'test -t 0 && test -t 1 && echo a terminal; exit 5'" /dev/null; status=$?; echo; echo $status; grep -c Delegate note; unlisten run/systemd/private run/bus
|~ ^.*a terminal.$
|~ ^(\^@)?.*$
| 5
| 1

= it never starts a third time, and never with other words
needs python3
$ . $TOP/tests/transcript/delegate.sh; stand_in; listen run/systemd/private run/bus; try() { $as warder run --prefer limits --delegate -- echo '$HOME'; }; sed -i 's/^exec "$@"/"$@"/' bin/systemd-run; try; sed -i 's/^"$@"/exec "$1" "$2" "$3" "$4" "$5" "$6" changed/' bin/systemd-run; try; grep -c . note; WARDER_DELEGATED=1.x try; sed -i '/^exec/d' bin/systemd-run; echo 'exit 42' >> bin/systemd-run; try; echo $?; unlisten run/systemd/private run/bus
| 15
| 125
! warder: --delegate: WARDER_DELEGATED is set by another process; systemd-run has to execute the command itself. Unset it, or leave --delegate out and run with --prefer limits
! warder: --delegate: systemd-run changed the words of the command; leave --delegate out and run with --prefer limits
! warder: --delegate: WARDER_DELEGATED is set by another process; systemd-run has to execute the command itself. Unset it, or leave --delegate out and run with --prefer limits
! warder: --delegate: systemd-run failed; leave --delegate out and run with --prefer limits

= where systemd-run fails, the result and the receipt say so; a later failure leaves no older receipt; no error advises it again
needs python3
$ . $TOP/tests/transcript/delegate.sh; stand_in; listen run/systemd/private run/bus; chmod 777 .; echo old > receipt; chmod 666 receipt; sed -i '2i[ ! -e fail ] || { echo "Failed to start transient scope unit" >&2; exit 1; }' bin/systemd-run; touch fail; $as warder run --prefer limits --delegate --json --receipt receipt -- true; echo $?; grep -o 'Failed to start' receipt; rm fail; echo old > receipt; sed 's/^exec "$@"/[ "$2" = --version ] || exit 1/' bin/systemd-run > new; cat new > bin/systemd-run; $as warder run --prefer limits --delegate --receipt receipt -- true; echo $?; grep -o 'did not start the command' receipt; stand_in; $as warder run --delegate -- true 2>&1 | grep -c -e 'warder: --delegate' -e 'Delegate=yes'; unlisten run/systemd/private run/bus
|~ ^\{"status":"rejected","error":\{"kind":"unavailable","field":"--delegate",.*"--delegate: systemd-run failed: Failed to start transient scope unit; leave --delegate out
| 125
| Failed to start
| 1
| did not start the command
| 0

= limits of a cgroup hold there, and not without it
needs python3 delegation
+ for each in memory pids cpu; do echo +$each > /sys/fs/cgroup/cgroup.subtree_control; done
+ mkdir /sys/fs/cgroup/delegated && for each in memory pids cpu; do echo +$each > /sys/fs/cgroup/delegated/cgroup.subtree_control; done
+ mkdir /sys/fs/cgroup/delegated/shell && chown 65534 /sys/fs/cgroup/delegated /sys/fs/cgroup/delegated/cgroup.procs /sys/fs/cgroup/delegated/cgroup.subtree_control
$ . $TOP/tests/transcript/delegate.sh; stand_in; listen run/systemd/private run/bus; export SCOPES=/sys/fs/cgroup/delegated; enter='echo $$ > $SCOPES/shell/cgroup.procs; exec '"$as"' warder run'
> sh -c "$enter -- true" 2>&1 | grep -o -e 'cannot enforce' -e '--delegate' -e '--prefer limits'
> sh -c "$enter --delegate --pids 9 --memory 64MiB --json -- true" | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["status"], [c["status"] for c in d["receipt"]["controls"] if c["control"] in ("limits.memory", "limits.pids", "limits.cpus", "limits.cpuTime")])'
> sh -c "$enter --delegate --memory 64MiB -- python3 -c 'bytearray(256 << 20)'"; echo $?; sh -c "$enter --delegate --pids 4 -- sh -c 'for i in 1 2 3 4 5 6; do sleep 1 & done; wait'" 2>&1 | grep -c -e 'limits.pids'; unlisten run/systemd/private run/bus; find $SCOPES -mindepth 1 -depth -type d | grep -v scope.[0-9]*$; find $SCOPES -depth -type d -exec rmdir {} +; test ! -e $SCOPES
| cannot enforce
| --delegate
| --prefer limits
| success ['enforced', 'enforced', 'enforced', 'enforced']
| 137
| 1
| /sys/fs/cgroup/delegated/shell
!~ ^warder: memory limit of 64MiB reached \(limits.memory\)$
