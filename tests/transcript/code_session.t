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

= the code goes on if its caller is killed: its output, its result and its end can still be had, and its directory is removed
+ cat > code.py <<'END'
+ import json, os, sys, time
+ os.write(1, b"begun\n")
+ while not os.path.exists("/tmp/go"): time.sleep(0.05)
+ json.dump([1, 2], open(os.environ["WARDER_RESULT"], "w")); open("made.txt", "w").write("made"); print("end", input()); sys.exit(7)
+ END
+ echo typed > input
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start; for how in "" --json; do rm -f out; warder code --session $name --stdin input $how code.py > out & pid=$!; until id=$(warder ps | awk '/ running .*main.py/ { print $1 }') && [ "$id" ] && warder logs $id | grep begun; do sleep 0.05; done; kill -9 $pid; wait $pid 2> /dev/null; cat out; warder session list $name /tmp | grep -c warder-code; sh s exec -- touch /tmp/go; warder wait $id; echo $?; warder logs $id; warder wait --json $id | python3 $TOP/tests/lib/results.py exitCode output language stages.0.name artifacts.0.name stdout.text; sh s exec -- rm /tmp/go; cat out; warder session list $name /tmp; done; sh s stop
| begun
| begun
| 1
| 7
| begun
| end typed
| 7 [1, 2] python run - -
| begun
| end typed
| begun
| 1
| 7
| begun
| end typed
| 7 [1, 2] python run made.txt "begun\nend typed\n"

= a program that was built goes on, too
needs gcc
+ printf '#include <stdio.h>\n#include <unistd.h>\nint main(void) { puts("begun"); fflush(stdout); while (access("/tmp/go", F_OK)) usleep(50000); puts("end"); return 5; }\n' > code.c
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start --set filesystem.tmpExec=true; warder code --session $name code.c > out & pid=$!; until grep -q begun out 2> /dev/null || ! kill -0 $pid; do sleep 0.05; done; id=$(sh running); kill -9 $pid; wait $pid 2> /dev/null; sh s exec -- touch /tmp/go; warder wait $id; echo $?; cat out; warder wait --json $id | python3 $TOP/tests/lib/results.py stages.0.name stages.1.name; warder session list $name /tmp | awk '{ print $NF }'; sh s stop
| 5
| begun
| end
| build run
| "go"

= the caller saves the files; if it is killed before it has them, the result has the small ones, and says that the large ones are lost
+ cat > code.py <<'END'
+ import os, time
+ os.write(1, b"begun\n")
+ while not os.path.exists("/tmp/go"): time.sleep(0.05)
+ open("small.txt", "w").write("made"); open("large.bin", "wb").write(b"x" * 1000000); print("end")
+ END
+ cat > killed.sh <<'END'
+ sh s exec -- rm -f /tmp/go; rm -rf saved; mkdir saved
+ warder code --session $name --artifacts $2 code.py > out & pid=$!
+ until id=$(warder ps | awk '/ running .*main.py/ { print $1 }') && [ "$id" ] && warder logs $id | grep -q begun; do sleep 0.05; done
+ if [ $1 = running ]; then { kill -9 $pid; wait $pid; } 2> /dev/null; else kill -STOP $pid; fi
+ sh s exec -- touch /tmp/go; warder wait $id; echo $?
+ [ $1 = running ] || { warder session list $name /tmp | grep -c warder-code; { kill -9 $pid; wait $pid; } 2> /dev/null; }
+ cat out; ls saved
+ warder wait --json $id | python3 $TOP/tests/lib/results.py exitCode stdout.bytesTotal artifacts.0.name artifacts.0.omitted artifacts.1.name artifacts.1.text artifactError
+ for i in $(seq 400); do warder session list $name /tmp | grep -q warder-code || break; sleep 0.05; done; warder session list $name /tmp | grep warder-code
+ END
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start; for when in running stopped; do for to in saved store:run/; do . ./killed.sh $when $to; done; done; sh s stop; warder artifact list
| 0
| begun
| end
| 0 10 large.bin it is larger than the limit for inline content small.txt made the caller ended before it had taken the files
| 0
| begun
| end
| 0 10 large.bin it is larger than the limit for inline content small.txt made the caller ended before it had taken the files
| 0
| 1
| begun
| end
| 0 10 large.bin it is larger than the limit for inline content small.txt made the caller ended before it had taken the files
| 0
| 1
| begun
| end
| 0 10 large.bin it is larger than the limit for inline content small.txt made the caller ended before it had taken the files

= a session that ends when the caller was killed: the keeper collects the files and writes the audit line before it ends
needs python3
+ cat > code.py <<'END'
+ import os, time
+ os.write(1, b"begun\n")
+ while not os.path.exists("/tmp/go"): time.sleep(0.05)
+ for i in range(int(open("/tmp/go").read())): open("file%d" % i, "w").close()
+ END
+ cat > ended.sh <<'END'
+ # ended.sh COUNT running|handed signal|stop: the caller is killed when the keeper has not looked yet, or just before the stop.
+ rm -rf saved log; mkdir saved; for i in $(seq 600); do sh s start 2> err && break; sleep 0.1; done
+ warder code --session $name --artifacts saved --audit log code.py > out & pid=$!
+ until id=$(warder ps | awk '/ running .*main.py/ { print $1 }') && [ "$id" ] && warder logs $id | grep -q begun || ! kill -0 $pid; do sleep 0.05; done
+ [ $2 = running ] || { kill -STOP $pid; sh s exec -- sh -c "echo $1 > /tmp/new; mv /tmp/new /tmp/go"; warder wait $id; }
+ keeper=$(sh s status --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/')
+ if [ $3 = signal ]; then
+     kill -STOP $keeper; until grep -q '^State:.T' /proc/$keeper/status; do sleep 0.05; done
+     { kill -9 $pid; wait $pid; } 2> /dev/null
+     kill -TERM $keeper; kill -CONT $keeper
+ else
+     { kill -9 $pid; wait $pid; } 2> /dev/null
+     sh s stop
+ fi
+ for i in $(seq 600); do [ -s log ] && break; sleep 0.1; done
+ python3 $TOP/tests/lib/results.py command status exitCode signal < log
+ END
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; . ./ended.sh 1 running signal; . ./ended.sh 1 handed signal; . ./ended.sh 3000 handed stop; ls saved
| code killed - SIGKILL
| code success 0 -
| code success 0 -

= a session does not end for want of use while a caller saves files
+ cat > code.py <<'END'
+ import os, time
+ os.write(1, b"begun\n")
+ while not os.path.exists("/tmp/go"): time.sleep(0.05)
+ open("file", "w").write("made")
+ END
+ cat > idle.sh <<'END'
+ mkdir saved
+ sh s exec --auto-start --idle-timeout 3s -- sh -c 'until [ -e /tmp/over ]; do sleep 0.05; done' & other=$!
+ until sh s exec -- true 2> err || ! kill -0 $other; do sleep 0.1; done
+ warder code --session $name --artifacts saved code.py > out & pid=$!
+ until id=$(warder ps | awk '/ running .*main.py/ { print $1 }') && [ "$id" ] && warder logs $id | grep -q begun || ! kill -0 $pid; do sleep 0.05; done
+ kill -STOP $pid; sh s exec -- touch /tmp/go; warder wait $id
+ sh s exec -- touch /tmp/over; wait $other
+ sleep 5; sh s status > status && echo lives
+ kill -CONT $pid; wait $pid; echo $?; cat saved/file; echo
+ for i in $(seq 600); do sh s status > status 2>&1 || break; sleep 0.1; done; sh s status > status 2>&1 || echo ended
+ END
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; . ./idle.sh
| lives
| 0
| made
| ended

= a file that the caller has saved is whole, also if it is killed while it saves; then the result says what is lost
+ cat > code.py <<'END'
+ for i in range(12): open("file%d" % i, "wb").write(b"x" * 4000000)
+ END
+ cat > look.py <<'END'
+ import json, os, sys
+ names = os.listdir("saved")
+ try: os.close(os.open("saved", os.O_TMPFILE | os.O_WRONLY))
+ except OSError: names = [name for name in names if os.path.getsize("saved/" + name) == 4000000]
+ print(all(open("saved/" + name, "rb").read() == b"x" * 4000000 for name in names))
+ if len(names) < 12:
+     result = json.load(sys.stdin)
+     assert len(result["artifacts"]) == 12 and result["artifactError"] == "the caller ended before it had taken the files"
+ END
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start; for i in 1 2 3; do rm -rf saved; mkdir saved; warder code --session $name --artifacts saved code.py & pid=$!; until [ "$(ls -A saved)" ] || ! kill -0 $pid; do :; done; { kill -9 $pid; wait $pid; } 2> /dev/null; id=$(warder ps | awk '/main.py/ { print $1 }' | tail -n 1); warder wait --json "$id" > result 2> /dev/null; python3 look.py < result; for i in $(seq 400); do warder session list $name /tmp | grep -q warder-code || break; sleep 0.05; done; warder session list $name /tmp; done; sh s stop
| True
| True
| True

= files go into a directory and into the store, output that is cut as well, and nothing stays in the session
+ mkdir saved more; echo 'import os; os.mkdir("d"); open("d/f", "w").write("f" * 70000); open("g", "w").write("g"); os.chmod("g", 0o755); print("x" * 3000)' > code.py
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start; warder code --session $name --artifacts saved code.py | wc -c; (cd saved; find . -type f -printf '%P %s %m\n' | sort); warder code --session $name --json --artifacts more code.py | python3 $TOP/tests/lib/results.py artifacts.0.path artifacts.1.text; warder code --session $name --artifacts store:run/ code.py | wc -c; warder code --session $name --json --max-output 10 --artifacts store:more code.py | python3 $TOP/tests/lib/results.py stdout.text stdout.artifact.name artifacts.0.artifact.name artifacts.1.text artifactError; warder artifact list | awk '{ print $1, $3 }'; warder artifact read run/g; echo; warder artifact read more/stdout | wc -c; warder session list $name /tmp; sh s stop
| 3001
| d/f 70000 644
| g 1 755
| more/d/f g
| 3001
| xxxxxxxxxx more/stdout more/d/f g -
| 70000 more/d/f@1
| 3001 more/stdout@1
| 70000 run/d/f@1
| 1 run/g@1
| 3001 run/stdout@1
| g
| 3001
! warder: "stdout": all of it is kept as "run/stdout", version 1
! warder: "d/f": all of it is kept as "run/d/f", version 1
! warder: "g": all of it is kept as "run/g", version 1

= large files, a value, progress, a ceiling, a signal, and a start that fails
+ head -c 20000000 /dev/zero > large
+ echo 'import json, os; print(os.path.getsize("large"), json.load(open(os.environ["WARDER_INPUT"]))["a"]); open(os.environ["WARDER_PROGRESS"], "w").write("50\n")' > code.py
+ printf 'echo begun\ntrap "echo heard; exit 6" TERM\nwhile :; do sleep 0.05; done\n' > wait.sh
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start --set languages=python,bash,command; warder session status $name --json | sed 's/.*"policy":\({.*}\),"setup".*/\1/' > ceiling; warder code --session $name --ceiling ceiling --file large --input '{"a": 3}' --progress --json code.py | python3 $TOP/tests/lib/results.py stdout.text progress.lines; warder code --session $name --grace 20s wait.sh > out 2> /dev/null & pid=$!; until grep -q begun out 2> /dev/null || ! kill -0 $pid; do sleep 0.05; done; sh running > id; kill $pid; wait $pid; echo $?; cat out; warder code --session $name --timeout 1h code.py; echo $?; warder code --session $name --set languages= --set languages=bash code.py; echo $?; sh s list /tmp; warder ps | wc -l; sh s stop
| "20000000 3\n" [50]
| 6
| begun
| heard
| 125
| 125
| 1
!~ ^warder: more than the session has: limits.wallTime: .*
!~ ^warder: .*the policy does not allow the language "python"; add it to languages.*

= two at a time do not meet
+ for i in 1 2; do echo "import os, time; open('mine', 'w').write('$i\n'); time.sleep(0.5); os.write(1, open('mine', 'rb').read())" > code$i.py; done
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
