# Pseudo-terminals: devices.terminals.

= none by default, a few with the presets that run tools
$ for p in strict strict-python strict-js workflow host-local agent build; do warder policy show $p | sed -n "s/.*\"terminals\": \([0-9]*\).*/$p \1/p"; done
| strict 0
| strict-python 0
| strict-js 0
| workflow 0
| host-local 0
| agent 4
| build 4

= without one there is nothing to open
needs limits
$ warder run -- sh -c 'ls -d /dev/pts /dev/ptmx'
! ls: cannot access '/dev/pts': No such file or directory
! ls: cannot access '/dev/ptmx': No such file or directory
? 2

= as many as were asked for, and the receipt says how many there are
needs limits python3
$ warder run --set devices.terminals=2 --json -- python3 -c 'import os; [print(os.ttyname(os.openpty()[1])) for i in range(3)]' > out; python3 "$TOP/tests/lib/results.py" stdout.text < out; tr '{' '\n' < out | grep '"control":"devices.terminals"' | grep -o '"status":"[a-z]*"\|"value":"[^"]*"'
| "/dev/pts/0\n/dev/pts/1\n"
| "status":"enforced"
| "value":"/dev/pts devpts max=2"

= a program that needs a terminal
needs limits terminal
$ warder run --set devices.terminals=1 -- script -qec 'test -t 0 && tty' /dev/null < /dev/null | tr -d '\r'
| /dev/pts/0

= more than there can be
$ for n in 65 unlimited -1; do warder run --set devices.terminals=$n -- true; done
! warder: --set devices.terminals=65: devices.terminals: 65 is too much; give at most 64
! warder: --set devices.terminals=unlimited: devices.terminals: "unlimited" is not possible here; give a limit of at most 64
! warder: --set devices.terminals=-1: devices.terminals: "-1" is not a count: it is negative; write a whole number such as 64
? 125

= more than the operator grants
+ warder policy show strict | sed 's/"terminals": 0/"terminals": 3/' > ceiling.json
$ warder run --ceiling ceiling.json --set devices.terminals=4 -- true
! warder: devices.terminals: 4 is more than the operator grants; at most 3
? 125

= each execution of a session has its own, and no more than the session
+ . "$TOP/tests/transcript/session.sh"
$ sh s start --set devices.terminals=2; for n in 2 1 0; do sh s exec --set devices.terminals=$n -- python3 -c 'import os; n = 0
> try:
>   while True: os.openpty(); n += 1
> except OSError: print(n)'; done; sh s exec --set devices.terminals=3 -- true; sh s stop
| 2
| 1
| 0
! warder: more than the session has: devices.terminals: 3 is more than the session grants; at most 2

= a session without any
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; sh s exec -- sh -c 'ls -d /dev/pts /dev/ptmx 2>/dev/null; echo none'; sh s exec --set devices.terminals=1 -- true; sh s stop
| none
! warder: more than the session has: devices.terminals: 1 is more than the session grants; at most 0

= the backend process has no such limit, and says so
+ printf '{"enable": ["process"]}' > b.json
$ warder run --backend process --backends b.json --prefer all --require devices.terminals -- true 2>&1 | cut -d';' -f1
| warder: cannot enforce devices.terminals: devices.terminals: the backend process isolates nothing

= speculation: forced for the program, or refused with the remedy
needs limits
$ warder run --set syscalls.speculation=true --json -- true > out 2> /dev/null; grep -qE '"control":"syscalls.speculation","status":"enforced"|"field":"syscalls.speculation"' out && echo as it should be
| as it should be

= speculation is true or false
$ warder run --set syscalls.speculation=on -- true
! warder: --set syscalls.speculation=on: syscalls.speculation: "on" is none of its values; known: "false", "true"
? 125
