# Interpreters that stay in a session: later pieces of code find the definitions of earlier ones. A line that begins with the context's name
# is a report of the context; a line that begins with "warder:" is from Warder itself.
needs python3

= variables, imports, functions and the working directory stay
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py
> sh c run py -c 'import os, math; radius = 2; os.chdir("/usr")'
> sh c run py -c 'def area(r): return math.pi * r ** 2'
> sh c run py -c 'print(os.getcwd()); round(area(radius), 3)'
> sh c run py -c '_ + 1'; sh s stop
| /usr
| py: 12.566
| py: 13.566

= an error has a traceback of the piece's own lines, and the context goes on
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; printf 'def half(x):\n    return x / 0\nhalf(4)\n' > piece.py; sh c run py piece.py; echo $?; sh c run py -c 'half = 2; half'; sh c run py -c 'if'; echo $?; sh c run py -c "class E(Exception): __traceback__ = 1
> raise E(5)"; sh s stop
| 1
| py: 2
| 1
! py:
! Traceback (most recent call last):
!   File "<piece 1>", line 3, in <module>
!     half(4)
!   File "<piece 1>", line 2, in half
!     return x / 0
!            ~~^~~
! ZeroDivisionError: division by zero
! py:
!   File "<piece 3>", line 1
!     if
!       ^
! SyntaxError: invalid syntax
! py:
! Traceback (most recent call last):
!   File "<piece 4>", line 2, in <module>
!     raise E(5)
! E: 5

= output comes at once, in order, and before the value
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; mkfifo pipe; sh c run py -c 'import sys, time; print("first"); print("problem", file=sys.stderr); time.sleep(20); print("never")' > pipe & read line < pipe; echo "$line"; sh c interrupt py; wait; sh c run py -c 'import subprocess; print("a"); subprocess.run(["echo", "b"]); "c"'; sh s stop
| first
| a
| b
| py: 'c'
!*

= JSON separates the measurements of Warder from the reports of the context
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py --json -c 'print("out"); {"a": 1}' > result; python3 -c '
> import json; r = json.load(open("result")); says = r.pop("contextSays")
> print(r["status"], r["piece"], r["stdout"]["text"], r["stdout"]["bytesTotal"], r["wallUs"] > 0)
> print(says)'; sh c run py --json -c '1 / 0' | grep -o '"status":"failed"\|"name":"ZeroDivisionError","value":"division by zero"'; sh s stop
| success 1 out
|  4 True
| {'status': 'ok', 'executionCount': 1, 'value': {'text/plain': "{'a': 1}"}, 'shown': []}
| "status":"failed"
| "name":"ZeroDivisionError","value":"division by zero"

= a piece reads input from the caller, or gets an end of file
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; printf 'Ada\n36\n' > answers; sh c run py -c 'name = input("name? "); age = int(input("age? ")); print(name, age)' < answers; sh c run py -n -c 'input()' 2>&1 | tail -1; sh s stop
| name? age? Ada 36
| EOFError: there is no more input

= a thread that a piece leaves behind gets no more input, and takes nothing from the pieces that follow
+ . "$TOP/tests/transcript/context.sh"
+ cat > threads.py <<'END'
+ import threading
+ ended = threading.Event()
+ def ask():
+     global said
+     try: said = input("left? ")
+     except EOFError as error: said = str(error)
+     ended.set()
+ def answer(): print("joined:", input("joined? "))
+ joined = threading.Thread(target=answer); joined.start(); joined.join()
+ left = threading.Thread(target=ask); left.start(); ended.wait(0.3)
+ END
$ sh s start; sh c create py; mkfifo pipe; exec 9<> pipe; echo yes >&9; sh c run py threads.py <&9 > out; grep -o 'joined: yes' out; sh c run py -n -c 'ended.wait(10) and said'; sh c run py -n -c '2'; sh s stop
| joined: yes
| py: 'there is no input for a thread whose piece has ended'
| py: 2

= a piece that ends while it waits for input does not hold up the command, whatever the caller types
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; timeout -s KILL $((20 * ${WARDER_TEST_SLOW:-1})) sh c run py --timeout 200ms -c 'input()' < /dev/zero 2> err; echo $?; mkfifo pipe; exec 9<> pipe; timeout -s KILL $((20 * ${WARDER_TEST_SLOW:-1})) sh c run py --timeout 200ms -c 'input()' <&9 2> err; echo $?; printf 'one\ntwo\n' | { sh c run py -c 'input()'; cat; }; sh s stop
| 124
| 124
| py: 'one'
| two

= the time limit interrupts the piece, and the context keeps its state
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py -c 'kept = 1'; sh c run py --timeout 200ms -c 'import time; time.sleep(20)' 2> err; echo $?; grep warder: err; sh c run py -c 'kept'; sh c run py --timeout 1h -c 1; sh s stop
| 124
| warder: the piece was interrupted at its time limit
| py: 1
! warder: a piece in context py may run for 30000 ms at most (limits.wallTime)

= a piece that ignores the interrupt ends with its context
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py -c 'import signal'; sh c run py --timeout 2s -c 'signal.signal(signal.SIGINT, signal.SIG_IGN)
> while True: pass'; echo $?; sh c run py -c 1; sh c restart py; sh c run py -c '2'; sh s stop
| 124
| py: 2
!~ ^warder: context py has ended \(cancelled\): the piece went on for 2 s after the interrupt at its time limit; .*
!~ ^warder: context py has ended: killed: the piece went on .*; "warder context restart [a-zA-Z0-9]* py" starts it again$

= one piece at a time: the next waits, or is refused
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py -c 'import time; n = 0'; for i in 1 2 3 4; do sh c run py -c 'm = n; time.sleep(0.1); n = m + 1' & done; wait; sh c run py -c 'n'; sh c run py -c 'print("runs", flush=True); time.sleep(20)' > out 2> /dev/null & until grep -qs runs out; do sleep 0.05; done; sh c run py --no-wait -c 'n'; echo $?; sh c interrupt py; wait; sh c interrupt py; sh s stop
| py: 4
| 125
! warder: context py runs another piece; leave out --no-wait to wait for it
! warder: no piece runs in context py

= a context that dies is reported with the cause
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py -c 'import os; os._exit(3)'; echo $?; sh c run py -c 1; sh c restart py; sh c run py -c 'import os, signal; os.kill(os.getpid(), signal.SIGSEGV)'; echo $?; sh s stop
| 3
| 139
!~ ^warder: context py has ended \(exit\): .*3.*; "warder context restart" starts it again$
!~ ^warder: context py has ended: .*; "warder context restart [a-zA-Z0-9]* py" starts it again$
!~ ^warder: context py has ended \(signal\): .*; "warder context restart" starts it again$

= limits are those of the session, or narrower ones
needs limits
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; warder session start $name; warder context create $name py --memory 64MiB; warder context run $name py -c 'x = b"x" * (1 << 28)'; echo $?; warder context create $name wide --memory 4GiB; warder session stop $name
| 137
!~ ^warder: context py has ended \(memory\): .*
!~ ^warder: more than the session has: limits.memory: .*

= list and describe
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create one; sh c create two; sh c create two; sh c run two -c 'print(1)' > /dev/null; for i in $(seq 600); do sh c list | grep -q "one .*idle" && break; sleep 0.1; done; sh c list | awk '{ print $2, $3, $4, $5 }'; sh c describe two | tail -1; sh c delete one; sh c list | grep -c python; sh c run one -c 1; sh s stop
| CONTEXT LANGUAGE STATE PIECES
| one python idle 0
| two python idle 1
|~ ^the context says  \{"interpreter":"Python 3\.[0-9.]*"\}$
| 1
!~ ^warder: session [a-zA-Z0-9]* has a context two already; "warder context restart" or "delete" ends it$
!~ ^warder: session [a-zA-Z0-9]* has no context one; "warder context create [a-zA-Z0-9]* one" makes one$

= describe leaves out counters that the host does not have
$ rt=$(mktemp -d); [ "$(id -u)" != 0 ] || { chown 65534:65534 "$rt"; as="setpriv --reuid=65534 --regid=65534 --clear-groups"; }; cd /; run() { $as env HOME=/tmp XDG_RUNTIME_DIR="$rt" warder "$@"; }; run session start s --prefer limits; run context create s py --prefer limits; run context describe s py > "$rt/description"; grep -c '^written' "$rt/description"; grep -c 'time  *18446744073709551 \|18014398509481983 KiB' "$rt/description"; run session stop s; rm -r "$rt"
| 1
| 0

= warder code runs a file in a context
+ echo 'y = 20' > a.py; echo 'y + 1' > b.py
$ . "$TOP/tests/transcript/context.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start; sh c create py; warder code --session $name --context py a.py; warder code --session $name --context py --language py b.py; warder code --session $name --context py --language ruby b.py; warder code --context py b.py; warder code --session $name --context py --memory 1GiB b.py; sh s stop
| py: 21
! warder: --language ruby: context py runs python
! warder: --session is missing: --session and --context go together
!~ ^warder: .*--memory.*

= the language must be one of the policy's, and one that has contexts
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; P="--prefer limits"; warder session start $name $P; warder context create $name py $P --set languages=ruby; warder context create $name co --language cobol $P; warder session stop $name
!~ ^warder: .*python.*
! warder: cobol has no contexts; known: python, javascript, typescript, r, bash

= values show themselves in rich forms, in the order of the output
+ . "$TOP/tests/transcript/context.sh"
+ cat > rich.py <<'END'
+ class Table:
+     def _repr_html_(self): return "<table></table>"
+     def _repr_png_(self): return b"\x89PNG"
+     def _repr_latex_(self): raise ValueError("not today")
+     def __repr__(self): return "a table"
+ print("before"); display(Table(), 7); print("after"); Table()
+ END
$ sh s start; sh c create py; sh c run py rich.py; sh c run py --json rich.py | python3 -c '
> import json, sys; says = json.load(sys.stdin)["contextSays"]; print(says["value"]); print(says["shown"][1])'; sh s stop
| before
| py: a table
| py: 7
| after
| py: a table
| {'image/png': 'iVBORw==', 'text/html': '<table></table>', 'text/plain': 'a table'}
| {'text/plain': '7'}

= each form of a value has its media type, and JSON is the value that the method returns
needs python3
+ . "$TOP/tests/transcript/context.sh"
+ cat > forms.py <<'END'
+ class Forms:
+     def _repr_markdown_(self): return "*a*"
+     def _repr_latex_(self): return "$a^2$"
+     def _repr_svg_(self): return "<svg/>"
+     def _repr_jpeg_(self): return b"\xff\xd8"
+     def _repr_json_(self): return {"a": [1, None]}
+     def _repr_javascript_(self): return "a()", {"about": "it"}
+     def __repr__(self): return "forms"
+ class Whole:
+     def _repr_mimebundle_(self): return {"text/latex": "$b$", "application/vnd.test+json": 7}, {}
+     def _repr_latex_(self): return "never"
+     def __repr__(self): return "whole"
+ display(Whole()); Forms()
+ END
$ sh s start; sh c create py; sh c run py forms.py; sh c run py --json forms.py | python3 -c '
> import json, sys; says = json.load(sys.stdin)["contextSays"]
> for bundle in (says["shown"][0], says["value"]):
>     for mime, text in bundle.items(): print(mime, text)'; sh s stop
| py: whole
| py: forms
| application/vnd.test+json 7
| text/latex $b$
| text/plain whole
| application/javascript a()
| application/json {"a": [1, null]}
| image/jpeg /9g=
| image/svg+xml <svg/>
| text/latex $a^2$
| text/markdown *a*
| text/plain forms

= a text with a NUL is shown, as is one beside names that are no media types, and source text that is not UTF-8 is an error
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py; sh c run py -c 'class A:
>     def __repr__(self): return "a\0b"
> display(A()); A()'; sh c run py -c 'class B:
>     def _repr_mimebundle_(self): return {"none": 1, "text/plain": "b", 5: 2}
> B()'; sh c run py -c 'raise ValueError("a\0b")' 2>&1 | tail -1; printf '\357\273\277print("with a mark")' > mark.py; sh c run py mark.py; printf 'print("\351")' > latin.py; sh c run py latin.py; echo $?; sh s stop
| py: a\x00b
| py: a\x00b
| py: b
| ValueError: a\x00b
| with a mark
| 1
! py:
!~ ^UnicodeDecodeError: .* 0xe9 in position 7: .*

= a process that a piece forks ends as Python ends it, and cannot show values or read input
+ . "$TOP/tests/transcript/context.sh"
+ cat > fork.py <<'END'
+ import os, signal, sys
+ def child(call):
+     sys.stdout.flush()
+     pid = os.fork()
+     if pid == 0:
+         call()
+         sys.exit(0)
+     print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
+ def show():
+     files = [open("/tmp/%d" % i, "w") for i in range(3)]
+     display("shown"); os._exit(7)
+ def interrupted(*blocked):
+     signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
+     raise KeyboardInterrupt
+ child(lambda: sys.exit(3)); child(lambda: 1 / 0); child(input); child(interrupted); child(lambda: interrupted(signal.SIGINT)); child(show)
+ [open("/tmp/%d" % i).read() for i in range(3)]
+ END
$ sh s start; sh c create py; sh c run py fork.py 2> err; grep -o '^[A-Za-z]*Error: .*' err; grep -c '<warder>.*, in run' err; sh s stop
| 3
| 1
| 1
| -2
| 130
| 'shown'
| 7
| py: ['', '', '']
| ZeroDivisionError: division by zero
| EOFError: there is no input for a process that the piece has started
| 0

= a context that writes more than --max-output ends
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py --max-output 10KiB; sh c run py -c 'print("x" * 9000)' | wc -c; sh c run py -c 'print("x" * 9000); import time; time.sleep(20)' | wc -c; sh s stop
| 9001
| 1239
!~ ^warder: context py has ended \(output\): .*

= a name that is not valid is refused as the name of a context
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create 'a b'; sh s stop
! warder: "a b" is not a valid context name: up to 64 letters, digits, '.', '_' and '-', a letter or digit first

= an interpreter that ends at its start is an error of create
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create py --env PYTHONHOME=/nowhere; echo $?; sh c create py; sh c run py -c 1; sh s stop
| 125
| py: 1
!~ ^warder: the interpreter of context py ended at its start: exited with 1: ".*"$
