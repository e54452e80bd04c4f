# A program on a terminal: warder run -t. What is seen on the screen is as tmux shows it.
needs limits
# script(1) types a NUL at the end of its input, which the terminal in the jail echoes as ^@.

= bash: a prompt, the terminal's name, Ctrl-C, Ctrl-Z, jobs, the exit status, and the terminal as it was before
needs tmux
$ . "$TOP/tests/transcript/screen.sh"; screen
> keys 'stty -g > before; warder run -t -- bash --norc' Enter; see 'bash-'
> keys 'PS1="in> "; clear; tty; echo $TERM' Enter; see tmux; last 'in>'
> keys "$hold" Enter; see 14; keys C-c; last 'in>'
> keys 'echo "status $?"; '"$hold" Enter; see 'status 130'; see 14 2; keys C-z; see Stopped; last 'in>'
> keys fg Enter; last "$hold"; keys on Enter; see 'on$'; keys C-c; last 'in>'; shot; keys 'exit 7' Enter; front bash; keys 'echo "status $?"; stty -g | cmp - before && echo as" "before' Enter; see 'status 7'; see 'as before'
| /dev/pts/0
| tmux-256color
| in> sh -c "expr 7 + 7; exec cat -A"
| 14
| ^C
| in> echo "status $?"; sh -c "expr 7 + 7; exec cat -A"
| status 130
| 14
| ^Z
| [1]+  Stopped                 sh -c "expr 7 + 7; exec cat -A"
| in> fg
| sh -c "expr 7 + 7; exec cat -A"
| on
| on$
| ^C
| in>

= the size of the window, and its changes
needs tmux
$ . "$TOP/tests/transcript/screen.sh"; screen 70 20
> keys 'warder run -t -- sh -c "stty size; trap \"stty size\" WINCH; echo ready; while :; do sleep 0.1; done"' Enter; see ready
> t resize-window -t w -x 66 -y 18; see '18 66'; t resize-window -t w -x 90 -y 25; see '25 90'; keys C-c; front bash; shot | grep '^[0-9]'
| 20 70
| 18 66
| 25 90

= less: a page, another one, and the screen as it was
needs tmux less
$ . "$TOP/tests/transcript/screen.sh"; screen 60 6
> keys 'echo here; warder run -t -- sh -c "seq 100 | less"' Enter; see 5; last :; shot; echo; keys Space; see 10; last :; shot; echo; keys G; see '(END)'; keys q; see here; shot | head -n 1
| 1
| 2
| 3
| 4
| 5
| :
|
| 6
| 7
| 8
| 9
| 10
| :
|
| > echo here; warder run -t -- sh -c "seq 100 | less"

= vim: insert, save, and the screen
needs tmux vim
$ . "$TOP/tests/transcript/screen.sh"; screen 60 8; mkdir w; chmod 777 w
> keys 'warder run -t --workspace w:rw -- vim -u NONE -N /workspace/a' Enter; see '[New]'
> keys i 'one' Enter 'two' Escape ':w' Enter; see written; shot; keys ':q' Enter; see '> '; cat w/a
| one
| two
| ~
| ~
| ~
| ~
| ~
| "a" [New] 2L, 8B written
| one
| two

= without -t, a program may hold back its output, and is killed with it; with -t it does not
needs tmux python3
+ printf 'import time\nprint("begun")\ntime.sleep(60)\n' > hold.py; chmod 755 . hold.py
$ . "$TOP/tests/transcript/screen.sh"; screen 110 12
> keys 'warder run --timeout 2s -- python3 -c "$(cat hold.py)"; echo "ended $?"' Enter; see 'ended 124'; shot | grep -c '^begun'; shot | grep "^warder:"; keys clear Enter; last '>'
> keys 'warder run -t --timeout 2s -- python3 -c "$(cat hold.py)"; echo "over $?"' Enter; see 'over 124'; shot | grep '^begun\|^warder:'
| 0
| warder: killed after 2s (limits.wallTime)
| warder: it printed nothing; a program without a terminal may hold back its output: -t gives it one
| begun
| warder: killed after 2s (limits.wallTime)

= top: it draws the jail's own processes, and q ends it
needs tmux top
$ . "$TOP/tests/transcript/screen.sh"; screen 80 12
> keys 'warder run -t -- top' Enter; see COMMAND; shot | grep -o 'Tasks: *[0-9]* total\|PID USER'; keys q; front bash; keys 'echo "status $?"' Enter; see 'status 0'
| Tasks:   1 total
| PID USER

= python3: the line editor, Ctrl-C and Ctrl-D
needs tmux python3
$ . "$TOP/tests/transcript/screen.sh"; screen
> keys 'warder run -t -- python3 -q' Enter; last '>>>'; keys '40 + 1' Enter; see 41; last '>>>'; keys Up BSpace 2 Enter; see 42; last '>>>'; keys 'import time; print(9 * 7); time.sleep(100)' Enter; see 63; keys C-c; see KeyboardInterrupt; last '>>>'
> shot | tail -n +2; keys C-d; front bash; keys 'clear; echo "over"' Enter; see over
| >>> 40 + 1
| 41
| >>> 40 + 2
| 42
| >>> import time; print(9 * 7); time.sleep(100)
| 63
| ^CTraceback (most recent call last):
|   File "<stdin>", line 1, in <module>
| KeyboardInterrupt
| >>>

= git add -p: single keys, and the staged hunk
needs tmux git
$ . "$TOP/tests/transcript/screen.sh"; screen 80 30; mkdir w; cd w; git init -q .; printf '1\n2\n' > a; git add a; git -c user.name=a -c user.email=a@b commit -qm one; printf '1\nchanged\n' > a; chmod -R a+rwX .; cd ..
> keys 'warder run -t --workspace w:rw -- git -c safe.directory=* -c core.pager= add -p' Enter; see 'Stage this hunk'; shot | sed -n '/^@@/,$p'; keys y Enter; front bash; git -c safe.directory='*' -C w diff --cached --stat
| @@ -1,2 +1,2 @@
|  1
| -2
| +changed
| (1/1) Stage this hunk [y,n,q,a,d,e,?]?
|  a | 2 +-
|  1 file changed, 1 insertion(+), 1 deletion(-)

= output of a program that buffers lines is there before the wall time ends it
needs tmux python3
$ . "$TOP/tests/transcript/screen.sh"; screen
> keys 'clear; stty -g > before; warder run -t --timeout 2s -- python3 -c "import time; print(\"started\"); time.sleep(60)"' Enter; see 'killed after'; shot | grep '^started'; last '>'; keys 'echo "status $?"; stty -g | cmp - before && echo as" "before' Enter; see 'status 124'; see 'as before'
| started

= the wall time is unlimited, unless one is given
needs terminal
$ for f in '' '--timeout 9s' '--set limits.wallTime=8s --set devices.terminals=3'; do script -qec "warder run -t $f --receipt r -- true > o" /dev/null < /dev/null > o2; python3 -c 'import json; print(*[c["requested"] for c in json.load(open("r"))["controls"] if c["control"] in ("limits.wallTime", "devices.terminals")])'; done
| 1 unlimited
| 1 9s
| 3 8s

= standard error arrives in standard output, with the lines of a terminal
needs terminal
$ printf 'warder run -t -- sh -c "echo out; echo err >&2; test -t 2 && echo tty" > o 2> e' > c; script -qec 'sh c' /dev/null < /dev/null; sed 's/^^@//' o | cat -A; wc -c < e
| out^M$
| err^M$
| tty^M$
| 0

= all of it, however much and at the very end
needs terminal
$ printf 'warder run -t -- sh -c "seq 200000; echo end >&2" > o' > c; script -qec 'sh c' /dev/null < /dev/null; wc -l < o; tail -n 1 o | tr -d '\r'
| 200001
| end

= the terminal is restored when Warder is ended: by a signal that goes to the program, and by one that does not
needs tmux
$ . "$TOP/tests/transcript/screen.sh"; screen; keys 'stty -g > before' Enter
> for s in TERM HUP INT QUIT SEGV USR1 ALRM ABRT; do keys "warder run -t --grace 100ms -- sh -c 'trap \"\" TERM HUP INT QUIT; echo up \$0; sleep 100 & wait; sleep 100' $s" Enter; see "up $s"; kill -$s "$(here "^[^ ]*warder run -t.* $s")"; front bash; keys 'clear; stty -g | cmp - before && echo as" "before '"$s" Enter; see "as before $s"; done; shot | grep -c 'as before ABRT$'
| 1

= without a terminal, with a result, without an input
$ warder run -t -- true; warder run --json -t -- true | grep -o '"field":"[^"]*"'; warder run --terminal -n -- true
! warder: -t (--terminal) needs a terminal on standard input, which is none; leave -t out, or run it under script(1)
! warder: -t (--terminal) does not go with -n (--no-input); give one of them
| "field":"--terminal"
? 125

= more than the operator grants; TERM is left out where the operator does not grant it
needs terminal
+ warder policy show strict > ceiling.json; sed 's/"wallTime": "30s"/"wallTime": "unlimited"/' ceiling.json > time.json; sed 's/"terminals": 0/"terminals": 1/' ceiling.json > one.json; sed 's/"terminals": 0/"terminals": 1/' time.json > both.json; sed 's/"set": {}/"set": {"TERM": "vt100"}/' both.json > term.json
$ export NO_COLOR=1 TERM=vt100; for c in time one; do script -qec "warder run -t --ceiling $c.json -- tty > o" /dev/null < /dev/null | tr -d '\r\0'; done
> for c in both term; do script -qec "warder run -t --ceiling $c.json -- sh -c 'echo \${TERM-unset}' > o" /dev/null < /dev/null > o2; sed 's/^^@//' o | cat -A | tr -d '$'; done
> script -qec 'warder run -t --ceiling both.json --env TERM=vt100 -- true' /dev/null < /dev/null | tr -d '\r\0'
| warder: devices.terminals: 1 is more than the operator grants; at most 0
| warder: limits.wallTime: unlimited is more than the operator grants; at most 30s
| unset^M
| vt100^M
| warder: environment.set.TERM: the operator does not grant this variable or value

= where it is not possible
needs terminal
+ printf '{"enable": ["process"]}' > b.json
$ export NO_COLOR=1; for c in 'run -t --backend process --backends b.json --prefer all' 'run -t --set devices.terminals=0' 'code -t'; do script -qec "warder $c -- true" /dev/null < /dev/null | tr -d '\r'; done
| warder: a terminal for the program (-t, terminal_fd) needs a /dev/pts of its own, which this backend does not make; use --backend local (step streams)
| warder: devices.terminals is 0, and the program is to have a terminal; set it to 1
| warder: unknown flag -t; --help lists all flags

= in a session: Ctrl-C, Ctrl-Z, the size and its changes, and the terminal as it was before
needs tmux
+ . "$TOP/tests/transcript/session.sh"
$ . "$TOP/tests/transcript/screen.sh"; sh s start --set devices.terminals=2 --timeout 5m; screen 70 20
> keys 'stty -g > before; sh s exec -t -- bash --norc' Enter; see 'bash-'
> keys 'PS1="in> "; clear; tty; echo $TERM; stty size' Enter; see '20 70'; last 'in>'
> shot; t resize-window -t w -x 66 -y 18; again '18 66' 'clear; stty size' Enter; keys "clear; $hold" Enter; see 14; keys C-z; see Stopped; last 'in>'
> keys fg Enter; last "$hold"; keys on Enter; see 'on$'; keys C-c; last 'in>'; shot; keys 'exit 7' Enter; front bash; keys 'echo "status $?"; stty -g | cmp - before && echo as" "before' Enter; see 'status 7'; see 'as before'; sh s stop
| /dev/pts/0
| tmux-256color
| 20 70
| in>
| 14
| ^Z
| [1]+  Stopped                 sh -c "expr 7 + 7; exec cat -A"
| in> fg
| sh -c "expr 7 + 7; exec cat -A"
| on
| on$
| ^C
| in>

= in a session: the terminal is restored when Warder is ended by a signal, and when the session ends
needs tmux
+ . "$TOP/tests/transcript/session.sh"
$ . "$TOP/tests/transcript/screen.sh"; sh s start --set devices.terminals=2 --timeout 5m; screen; keys 'stty -g > before' Enter
> for s in TERM SEGV; do keys "sh s exec -t --grace 100ms -- sh -c 'trap \"\" TERM; echo up \$0; sleep 100 & wait; sleep 100' $s" Enter; see "up $s"; kill -$s "$(here "^warder session exec .* up .* $s\$")"; front bash; keys 'clear; stty -g | cmp - before && echo as" "before '"$s" Enter; see "as before $s"; done
> keys "sh s exec -t -- sh -c 'echo up \$0; sleep 100' END" Enter; see 'up END'; sh s stop; front bash; keys 'clear; stty -g | cmp - before && echo as" "before END' Enter; see 'as before END'; shot | grep -c 'as before END$'
| 1

= in a session: standard error arrives in standard output, the session's time holds, and its policy stays as it is
needs terminal
+ . "$TOP/tests/transcript/session.sh"
$ export TERM=vt100; sh s start --set devices.terminals=2 --timeout 1m; printf 'sh s exec -t --receipt r -- sh -c "echo out; echo err >&2; echo \\$TERM" > o 2> e' > c; script -qec 'sh c' /dev/null < /dev/null; sed 's/^^@//' o | cat -A; wc -c < e; grep -A 9 '"limits.wallTime"' r | grep -o '"requested": .*,'; sh s exec -- sh -c 'echo ${TERM-unset}'; sh s stop
| out^M$
| err^M$
| vt100^M$
| 0
| "requested": "1m",
| unset

= in a session: the program and its terminal go on if the caller is killed, and attach comes back to them
needs tmux
+ . "$TOP/tests/transcript/session.sh"
$ . "$TOP/tests/transcript/screen.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start --set devices.terminals=2 --timeout 5m; screen 70 12; keys 'sh s exec -t -- bash --norc' Enter; see 'bash-'; keys 'PS1="in> "; kept=4""2; clear' Enter; last 'in>'
> kill -9 "$(here '^warder session exec')"; front bash; keys C-c 'stty sane; clear' Enter; keys 'warder attach $(warder ps | awk "/ running / { print \$1 }")' Enter; front warder; keys 'clear; echo "kept: $kept"' Enter; see 'kept: 42'; keys 'exit 7' Enter; front bash; keys 'echo "status $?"' Enter; see 'status 7'; sh s stop

= in a session: a program waits for a caller that does not take its output, and loses nothing of it; its time goes on
needs terminal
+ . "$TOP/tests/transcript/session.sh"
$ export XDG_RUNTIME_DIR=$PWD/rt; sh s start --set devices.terminals=2 --timeout 5m; bytes() { warder ps --json | grep -o '"stdoutBytes":[0-9]*'; }
> begin() { rm -f pid o; printf 'echo $$ > pid; exec sh s exec -t %s > o' "$1" > c; script -qec 'sh c; exit $?' /dev/null < /dev/null > typed & caller=$!; until [ -s o ]; do sleep 0.05; done; kill -STOP $(cat pid); before=; until now=$(bytes); [ "$now" = "$before" ]; do before=$now; sleep 0.5; done; }
> begin '-- sh -c "seq 1500000; exit 3"'; warder ps | grep -c ' running .*seq'; kill -CONT $(cat pid); wait $caller; echo $?; sed 's/^^@//; s/\^@//' o | tr -d '\r' | cmp - <(seq 1500000) && echo all
> begin '--timeout 3s -- yes'; until ! warder ps | grep -q ' running .*yes'; do sleep 0.1; done; kill -CONT $(cat pid); wait $caller; echo $?; sh s stop
| 1
| 3
| all
| 124

= in a session: a caller that is stopped until the keeper waits no more for it says what it has lost, and exits as the program does
needs terminal
+ . "$TOP/tests/transcript/session.sh"
$ export XDG_RUNTIME_DIR=$PWD/rt; sh s start --set devices.terminals=2 --timeout 5m
> for status in 7 0; do rm -f pid o; printf 'echo $$ > pid; exec sh s exec -t -- sh -c "echo; sleep 2; head -c 230000 /dev/zero; exit %s" > o 2> e' $status > c; script -qec 'sh c; exit $?' /dev/null < /dev/null > /dev/null & caller=$!; until [ -s o ]; do sleep 0.05; done; kill -STOP $(cat pid); while warder ps | grep -q ' head '; do sleep 0.1; done; kill -CONT $(cat pid); wait $caller; echo $?; sed 's/^warder: \([0-9]*\) of \([0-9]*\) bytes/\1 \2/' e > told; cut -d' ' -f3- told; read lost all rest < told; [ $lost -gt 0 ] && [ $((all - lost)) = $(wc -c < o) ] && echo counted; done; sh s stop
| 7
| of the program's output are lost: they were not taken in time
| counted
| 0
| of the program's output are lost: they were not taken in time
| counted

= in a session whose spools are full: a program with a terminal loses no output
needs terminal
+ . "$TOP/tests/transcript/session.sh"
$ export XDG_RUNTIME_DIR=$PWD/rt; sh s start --set devices.terminals=2 --timeout 5m; for i in $(seq 16); do ids="$ids $(sh s exec --detach -- sh -c 'head -c 6000000 /dev/zero; echo end >&2; sleep 999')"; done; for id in $ids; do until warder logs $id 2>&1 > /dev/null | grep -q end; do sleep 0.1; done; done
> script -qec "sh s exec -t -- seq 300000; echo \$? > status" /dev/null < /dev/null > o; cat status; sed 's/^^@//; s/\^@//' o | tr -d '\r' | cmp - <(seq 300000) && echo all; sh s stop
| 0
| all

= in a session: a signal during the start ends the program, and nothing is said of an execution that is gone
needs terminal
+ . "$TOP/tests/transcript/session.sh"; mkfifo ceiling
$ sh s start --set devices.terminals=2 --timeout 5m; sh s status --json > status; keeper=$(sed 's/.*keeperPid":\([0-9]*\).*/\1/' status); sed 's/.*"policy":\({.*}\),"setup".*/\1/' status > granted; for i in $(seq 8); do rm -f pid; exec 3<> ceiling; script -qec 'echo $$ > pid; exec sh s exec -t --grace 100ms --ceiling ceiling -- sleep 60' screen < /dev/null > /dev/null 3>&- & until [ -s pid ] && ls -l /proc/$(cat pid)/fd | grep -q ceiling; do sleep 0.05; done 2> /dev/null; kill -STOP $keeper; cat granted >&3; exec 3>&-; sleep 0.3; kill $(cat pid); kill -CONT $keeper; wait $!; echo $?; grep 'no execution' screen; done | sort | uniq -c | sed 's/^ *//'; sh s stop
| 8 143

= in a session: a signal ends the caller whose terminal nobody reads
needs terminal python3
+ . "$TOP/tests/transcript/session.sh"
$ export XDG_RUNTIME_DIR=$PWD/rt; sh s start --set devices.terminals=2 --timeout 5m; python3 "$TOP/tests/transcript/unread.py" sh s exec -t --grace 100ms -- yes; echo $?; until ! warder ps | grep -q ' running .*yes'; do sleep 0.1; done; sh s stop
| 0

= in a session: a connection that the keeper closes is no error of the caller's output
needs terminal python3
+ . "$TOP/tests/transcript/session.sh"; echo $name > name
$ export XDG_RUNTIME_DIR=$PWD/rt NO_COLOR=1; sh s start --set devices.terminals=2 --timeout 5m; python3 "$TOP/tests/transcript/session_fill.py" $(cat name) 255 > filled & filler=$!; until [ -s filled ] || ! kill -0 $filler; do sleep 0.05; done; script -qec 'sh s exec -t --grace 100ms -- sleep 60; echo $?' /dev/null < /dev/null | tr -d '\r\0' | sed 's/of session [^ ]*/of session NAME/'; kill $filler; sh s stop
|~ ^warder: the keeper of session NAME goes on, but has closed this connection, .*
| 129

= in a session that it starts: with a terminal, without a wall time, and with each caller's TERM
needs terminal
+ . "$TOP/tests/transcript/session.sh"
$ for type in vt100 vt220; do TERM=$type script -qec "sh s exec --auto-start -t -- sh -c 'tty; echo \$TERM' > o" /dev/null < /dev/null > o2; sed 's/^^@//' o | cat -A; done; sh s status --json | grep -o '"wallTime":"[^"]*"\|"terminals":[0-9]*'; sh s stop
| /dev/pts/0^M$
| vt100^M$
| /dev/pts/0^M$
| vt220^M$
| "wallTime":"unlimited"
| "terminals":1

= in a session: refusals
needs terminal
+ . "$TOP/tests/transcript/session.sh"
$ export NO_COLOR=1; sh s start; printf 'sh s "$@"' > c; for f in '-t' '-t --json' '-t --background' '-t -n'; do script -qec "sh s exec $f -- true" /dev/null < /dev/null | tr -d '\r\0' | sed 's/of session [^ ]* is/of session NAME is/'; done; script -qec "warder session --json exec x -t -- true" /dev/null < /dev/null | grep -o '"message":"[^"]*"'; sh s exec -t -- true; sh s stop
| warder: devices.terminals of session NAME is 0, and -t (--terminal) needs at least 1; start the session with --set devices.terminals=1
| {"status":"rejected","error":{"kind":"invalidRequest","field":"--terminal","step":null,"message":"-t (--terminal) does not go with --json; give one of them"}}
| warder: -t (--terminal) does not go with --background; give one of them
| warder: -t (--terminal) does not go with -n (--no-input); give one of them
| "message":"-t (--terminal) does not go with --json; give one of them"
! warder: -t (--terminal) needs a terminal on standard input, which is none; leave -t out, or run it under script(1)

= in a workspace: Ctrl-C, Ctrl-Z, the size and its changes, and the terminal as it was before
needs tmux
$ . "$TOP/tests/transcript/screen.sh"; warder workspace create job > p; screen 70 20
> keys 'stty -g > before; warder workspace run job -t -- bash --norc' Enter; see 'bash-'
> keys 'PS1="in> "; clear; tty; echo $TERM; stty size' Enter; see '20 70'; last 'in>'
> shot; t resize-window -t w -x 66 -y 18; again '18 66' 'clear; stty size' Enter; keys "clear; $hold" Enter; see 14; keys C-z; see Stopped; last 'in>'
> keys fg Enter; last "$hold"; keys on Enter; see 'on$'; keys C-c; last 'in>'; shot; keys 'touch $OUTPUT_DIR/made; exit 7' Enter; front bash; keys 'echo "status $?"; stty -g | cmp - before && echo as" "before' Enter; see 'status 7'; see 'as before'; warder workspace list job out
| /dev/pts/0
| tmux-256color
| 20 70
| in>
| 14
| ^Z
| [1]+  Stopped                 sh -c "expr 7 + 7; exec cat -A"
| in> fg
| sh -c "expr 7 + 7; exec cat -A"
| on
| on$
| ^C
| in>
|~ made

= in a workspace: refusals
needs terminal
$ export NO_COLOR=1; warder workspace create job > p; script -qec 'warder workspace run job -t --json -- true' /dev/null < /dev/null | grep -o '"message":"[^"]*"'; script -qec 'warder workspace run job -t --set devices.terminals=0 -- true' /dev/null < /dev/null | tr -d '\r\0'; warder workspace run job -t -- true
| "message":"-t (--terminal) does not go with --json; give one of them"
| warder: devices.terminals is 0, and the program is to have a terminal; set it to 1
! warder: -t (--terminal) needs a terminal on standard input, which is none; leave -t out, or run it under script(1)
? 125
