# Code in a session: `warder code --session NAME` runs a piece of code beside everything else that the session keeps.
needs python3

= the code finds the session's files, and leaves nothing of its own behind
+ echo 'open("/tmp/kept", "w").write("from the first"); open("own.txt", "w").write("x")' > first.py
+ echo 'import os; print(open("/tmp/kept").read(), sorted(os.listdir(".")), open("table.csv").read())' > second.py; printf '1,2' > table.csv
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start; warder code --session $name first.py; warder code --session $name --file table.csv second.py; warder session list $name /tmp | awk '{ print $NF }'; sh s stop
| from the first ['main.py', 'table.csv'] 1,2
| "kept"

= result, files, standard input and exit status are those of any code
+ mkdir saved
+ echo 'import json, os, sys; print(sys.argv[1], input()); json.dump({"a": 1}, open(os.environ["WARDER_RESULT"], "w")); open("made.txt", "w").write("made"); sys.exit(3)' > code.py
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start; echo 36 | warder code --session $name --json code.py Ada > result; echo $?; grep -o '"exitCode":3\|made.txt\|"output":{"a":1}\|Ada 36' result; echo 36 | warder code --session $name --artifacts saved code.py Ada; echo $?; cat saved/made.txt; echo; sh s stop
| 3
| "exitCode":3
| Ada 36
| made.txt
| "output":{"a":1}
| Ada 36
| 3
| made

= two at a time do not meet
+ for i in 1 2; do echo "import time; open('mine', 'w').write('$i'); time.sleep(0.5); print(open('mine').read())" > code$i.py; done
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start; for i in 1 2; do warder code --session $name code$i.py & done | sort; wait; warder session list $name /tmp | wc -l; sh s stop
| 1
| 2
| 0

= in a session with a workspace the code works there
+ mkdir -m 777 work
+ echo 'import os; print(os.getcwd()); open("new", "w").write("x")' > code.py
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start --workspace "$PWD/work:rw"; warder code --session $name code.py; ls work; sh s stop
| /workspace
| new

= a program that is built needs a /tmp that it may be executed in
needs gcc
+ printf '#include <stdio.h>\nint main(void) { puts("built"); return 4; }\n' > code.c
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start --set filesystem.tmpExec=true; warder code --session $name code.c; echo $?; sh s stop; sh s start; warder code --session $name code.c; sh s stop
| built
| 4
! warder: a program that was built from c lies in /tmp of the session, and filesystem.tmpExec of the session is false; start the session with --set filesystem.tmpExec=true

= the session's policy may be narrowed, not widened, and names the languages
+ echo 'print(1)' > code.py
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start --set languages=bash,command; warder code --session $name code.py; warder code --session $name --net host code.py; warder code --session $name --backend crun code.py; warder code --session none code.py; sh s stop
!~ ^warder: .*the policy does not allow the language "python"; add it to languages.*
! warder: file system, network, identity and disk are the session's: an execution cannot have others; start another session for it
!~ ^warder: --backend: the session runs already, .*
! warder: session none does not run; "warder session start none" starts it
