# Functions of the host: a program calls them on descriptor 5, and a program outside answers.

= a call is one line of JSON, and so is its answer; the number of the descriptor is in a variable
+ printf '#!/bin/sh\nread a; echo "{\\"got\\": $a}"\n' > lookup; chmod +x lookup
$ warder run --prefer limits --set functions=lookup --function-command lookup=./lookup -- sh -c 'echo $WARDER_FUNCTIONS; echo "{\"id\": 1, \"name\": \"lookup\", \"arguments\": {\"key\": \"a\"}}" >&5; read answer <&5; echo "$answer"'
| 5
| {"id":1,"result":{"got":{"key":"a"}}}

= the program outside has the rights, variables and directory of the caller, not of the jail
+ printf '#!/bin/sh\nprintf "\\"%%s %%s\\"" "$OUTSIDE" "$(cat only-here)"\n' > f; chmod +x f; echo outside > only-here
$ OUTSIDE=variable warder run --prefer limits --set functions=f --function-command f=./f -- sh -c 'cat only-here 2>/dev/null; echo "{\"id\":1,\"name\":\"f\"}" >&5; read a <&5; echo "$a [$OUTSIDE]"'
| {"id":1,"result":"variable outside"} []

= a name that is not granted is answered with an error, and counted in result, receipt and audit line
needs python3
$ warder run --prefer limits --json --audit audit --set functions=yes --function-command yes=true -- sh -c 'for n in yes no yes; do echo "{\"id\":1,\"name\":\"$n\"}" >&5; read a <&5; echo "$a"; done; echo nonsense >&5; read a <&5; echo "$a"' > result; python3 -c '
> import json; r = json.load(open("result")); print(r["stdout"]["text"], end=""); print(json.dumps(r["functions"]))
> print([(c["status"], c["requested"], c["value"]) for c in r["receipt"]["controls"] if c["control"] == "functions"])
> print(json.dumps(json.loads(open("audit").read())["functions"]))'
| {"id":1,"result":null}
| {"id":1,"error":{"kind":"notGranted","message":"the program may not call a function of this name"}}
| {"id":1,"result":null}
| {"id":null,"error":{"kind":"invalidCall","message":"a call is one line of JSON"}}
| {"calls": {"yes": 2}, "answered": 2, "failed": 0, "timedOut": 0, "refused": 2}
| [('enforced', 'yes', 'calls: 2 answered, 0 failed, 0 timed out, 2 refused')]
| {"calls": {"yes": 2}, "answered": 2, "failed": 0, "timedOut": 0, "refused": 2}

= without functions there is no descriptor 5, whatever the policy grants
$ warder run --prefer limits -- sh -c 'echo x >&5' 2>/dev/null || echo none; warder run --prefer limits --set functions=f -- sh -c 'echo "[$WARDER_FUNCTIONS]"; echo x >&5' 2>/dev/null || echo none
| none
| []
| none

= what is refused before anything starts
$ warder run --prefer limits --function-command f=true -- echo started; warder run --prefer limits --set functions=f --function-command f=./nosuch -- echo started; warder run --prefer limits --set functions=f --function-command f -- echo started; warder run --prefer limits --set functions=f --function-command f=true --progress -- echo started; warder run --prefer limits --set 'functions=a b' -- echo started; echo $?
| 125
! warder: the policy does not grant the function f; add it to `functions` (--set functions=f)
! warder: the function f: ./nosuch is not a program that can be executed; give the path of one
! warder: --function-command f: write NAME=PROGRAM, such as lookup=./lookup
! warder: progress (--progress) does not go with functions (--function-command): both need descriptor 5; let the program report by a function
!~ ^warder: --set functions=a b: functions.*is not a valid name of a function

= the operator's ceiling has the names that may be granted
needs limits
+ echo '{"version": 1, "limits": {"wallTime": "60s"}, "functions": ["a", "b"]}' > ceiling.json
$ warder run --ceiling ceiling.json --set functions=b --function-command b=true -- echo started; warder run --ceiling ceiling.json --set functions=c --function-command c=true -- echo started; echo $?
| started
| 125
! warder: functions[0]: "c" is not one of the functions (a, b) that the operator grants

= a program that answers is killed with all it has started, also if its holder is killed
+ printf '#!/bin/sh\nsleep 1000 & echo $! > "$WHERE/child"\necho $PPID > "$WHERE/holder.new"; mv "$WHERE/holder.new" "$WHERE/holder"; wait\n' > f; chmod +x f
$ export WHERE=$PWD; warder run --prefer limits --set functions=f --function-command f=./f -- sh -c 'echo "{\"id\":1,\"name\":\"f\",\"arguments\":[]}" >&5; read a <&5; echo "$a"' & until [ -e holder ] || ! kill -0 $!; do sleep 0.05; done; kill -9 $(cat holder); wait $!; for i in $(seq 200); do kill -0 $(cat child) 2> /dev/null || break; sleep 0.05; done; kill -9 $(cat child) 2> /dev/null || echo gone
| {"id":1,"error":{"kind":"failed","message":"the program that answers ended with signal 9"}}
| gone

= a piece of code, and an execution of a session, have them too
needs limits python3
+ printf 'import json, os\nos.write(5, b"""{"id": "x", "name": "f", "arguments": [1, 2]}\\n""")\nprint(json.loads(os.read(5, 9999))["result"])\n' > a.py; echo 'import sys, json; print(sum(json.load(sys.stdin)))' > sum.py; printf '#!/bin/sh\nexec python3 sum.py\n' > sum; chmod +x sum
$ warder code --set functions=f --function-command f=./sum a.py; . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start --set functions=f; sh s exec --function-command f=./sum -- sh -c 'echo "{\"id\":1,\"name\":\"f\",\"arguments\":[4]}" >&5; read a <&5; echo "$a"'; sh s exec --function-command g=./sum -- true; sh s stop
| 3
| {"id":1,"result":4}
! warder: the policy does not grant the function g; add it to `functions` (--set functions=g)

= a program that dies with calls open takes what answers with it
+ printf '#!/bin/sh\necho $$ > pid; exec sleep 1000\n' > slow; chmod +x slow; rm -f pid
$ warder run --prefer limits --json --set functions=slow --function-command slow=./slow --rw $PWD:/here -- sh -c 'echo "{\"id\":1,\"name\":\"slow\"}" >&5; while [ ! -s /here/pid ]; do sleep 0.02; done' | grep -o '"functions":{[^}]*}[^}]*}'; read pid < pid; while kill -0 $pid 2>/dev/null; do sleep 0.02; done; echo gone
| "functions":{"calls":{"slow":1},"answered":0,"failed":1,"timedOut":0,"refused":0}
| gone

= the program that answers ends with a supervisor that is killed
+ printf '#!/bin/sh\necho $$ > pid; exec sleep 1000\n' > slow; chmod +x slow; rm -f pid
$ warder run --prefer limits --set functions=slow --function-command slow=./slow -- sh -c 'echo "{\"id\":1,\"name\":\"slow\"}" >&5; read a <&5' & supervisor=$!; disown; while [ ! -s pid ]; do sleep 0.02; done; read pid < pid; kill -9 $supervisor; while kill -0 $pid 2>/dev/null; do sleep 0.02; done; echo gone
| gone

= so does a process that it has started, also of a program that makes a group of its own, or has stopped its group
+ printf '#!/bin/sh\nexec timeout 1000 sh -c "echo \\$\\$ > pid.new; mv pid.new pid; exec sleep 1000"\n' > group; printf '#!/bin/sh\nsleep 1000 &\necho $! > pid.new; mv pid.new pid; kill -STOP 0\n' > stopped; chmod +x group stopped
$ for f in group stopped; do rm -f pid; warder run --prefer limits --set functions=f --function-command f=./$f -- sh -c 'echo "{\"id\":1,\"name\":\"f\"}" >&5; read a <&5' & supervisor=$!; disown; while [ ! -s pid ]; do sleep 0.02; done; read pid < pid; kill -9 $supervisor; while kill -0 $pid 2>/dev/null; do sleep 0.02; done; echo $f is gone; done
| group is gone
| stopped is gone

= what cannot have them says so
needs limits
$ warder run --detach --set functions=f --function-command f=true -- true; warder run --backend wasm --set functions=f --function-command f=true -- x.wasm; echo $?
| 125
! warder: --function-command does not go with --detach: this command answers the calls, but ends before the program does; leave out one of the two
!~ ^warder: .*functions.*descriptor 5

= an execution and a context that outlive the command refuse the flag, and the code runs in the session without them
needs limits python3
+ printf 'import json, os\nos.write(5, b"""{"id": 1, "name": "f"}\\n""")\nprint(json.loads(os.read(5, 9999))["result"])\n' > a.py; printf '#!/bin/sh\necho 7\n' > f; chmod +x f
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start --set functions=f; sh s exec --detach --function-command f=./f -- true; warder context create $name py --function-command f=./f; warder context create $name py; warder context run $name py --function-command f=./f -c 1; warder code --session $name --context py --function-command=f=./f a.py; echo $?; warder context run $name py -c 'import os; os.environ.get("WARDER_FUNCTIONS", "none")'; warder code --session $name --function-command f=./f a.py; sh s stop
| 125
| py: 'none'
| 7
! warder: --function-command does not go with --detach: this command answers the calls, but ends before the program does; leave out one of the two
! warder: --function-command cannot be used with a context, because a context outlives the command that answers the calls; use "warder code --session SESSION" without --context
! warder: --function-command cannot be used with a context, because a context outlives the command that answers the calls; use "warder code --session SESSION" without --context
! warder: --function-command cannot be used with a context, because a context outlives the command that answers the calls; use "warder code --session SESSION" without --context

= in a session the keeper supervises the program, and this command answers and counts its calls
needs python3
+ printf '#!/bin/sh\nread a; echo "{\\"got\\": $a, \\"by\\": \\"$OUTSIDE\\"}"\n' > f; chmod +x f
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt OUTSIDE=me; sh s start --set functions=f; sh s exec --json --audit audit --function-command f=./f -- sh -c 'for n in f g f; do echo "{\"id\":1,\"name\":\"$n\",\"arguments\":4}" >&5; read a <&5; echo "$a"; done; echo $WARDER_FUNCTIONS $OUTSIDE' > result; python3 -c 'import json; r = json.load(open("result")); print(r["stdout"]["text"], end=""); print(json.dumps(r["functions"]), [c["value"] for c in r["receipt"]["controls"] if c["control"] == "functions"]); print(json.dumps(json.load(open("audit"))["functions"]))'; sh s exec --function-command f=./f -- sh -c 'echo "{\"id\":2,\"name\":\"f\"}" >&5; exit 3'; echo $?; sh s exec --progress --function-command f=./f -- true; sh s exec --function-command f -- true; sh s stop
| {"id":1,"result":{"got":4,"by":"me"}}
| {"id":1,"error":{"kind":"notGranted","message":"the program may not call a function of this name"}}
| {"id":1,"result":{"got":4,"by":"me"}}
| 5
| {"calls": {"f": 2}, "answered": 2, "failed": 0, "timedOut": 0, "refused": 1} ['calls: 2 answered, 0 failed, 0 timed out, 1 refused']
| {"calls": {"f": 2}, "answered": 2, "failed": 0, "timedOut": 0, "refused": 1}
| 3
! warder: progress (--progress) does not go with functions (--function-command): both need descriptor 5; let the program report by a function
! warder: --function-command f: write NAME=PROGRAM, such as lookup=./lookup

= the program goes on if that command is killed, also in the middle of a call, and then reads the end of its descriptor
needs python3
+ printf '#!/bin/sh\necho 7\n' > quick; printf '#!/bin/sh\necho $$ > pid.new; mv pid.new pid; exec sleep 1000\n' > slow; chmod +x quick slow
+ printf 'echo "{\\"id\\":1,\\"name\\":\\"f\\"}" >&5; read a <&5; echo "$a"\nread a <&5 || echo end of file; until [ -e /tmp/go ]; do sleep 0.05; done; exit 6\n' > between.sh; printf 'echo "{\\"id\\":1,\\"name\\":\\"f\\"}" >&5; read a <&5 || echo end of file; until [ -e /tmp/go ]; do sleep 0.05; done; exit 6\n' > within.sh
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start --set functions=f; for how in exec code; do for when in between within; do echo $how $when; rm -f out pid; [ $when = between ] && f=quick || f=slow; if [ $how = exec ]; then sh s exec --receipt receipt --function-command f=./$f -- sh -c "$(cat $when.sh)" > out & else warder code --session $name --receipt receipt --function-command f=./$f $when.sh > out & fi; client=$!; disown; if [ $when = between ]; then until grep -q result out || ! kill -0 $client; do sleep 0.05; done; else until [ -e pid ] || ! kill -0 $client; do sleep 0.05; done; fi 2> /dev/null; kill -9 $client; for i in $(seq 200); do id=$(warder ps | awk '/ running / { print $1 }'); [ "$id" ] && warder logs $id | grep -q end && break; sleep 0.05; done; sh s exec -- touch /tmp/go; warder wait $id; echo $?; cat out; warder wait --json $id | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r.get("functions"), [c["value"] for c in r["receipt"]["controls"] if c["control"] == "functions"])'; [ $when = between ] || { read pid < pid; for i in $(seq 200); do kill -0 $pid 2> /dev/null || { echo gone; break; }; sleep 0.05; done; }; sh s exec -- rm /tmp/go; done; done; sh s stop
| exec between
| 6
| {"id":1,"result":7}
| end of file
| None ['the calls were counted by the process that answered them']
| exec within
| 6
| end of file
| None ['the calls were counted by the process that answered them']
| gone
| code between
| 6
| {"id":1,"result":7}
| end of file
| None ['the calls were counted by the process that answered them']
| code within
| 6
| end of file
| None ['the calls were counted by the process that answered them']
| gone

= calls are answered while the program has the terminal
needs terminal
+ printf '#!/bin/sh\necho 7\n' > f; chmod +x f; . "$TOP/tests/transcript/session.sh"
+ printf 'tty; for i in 1 2; do echo "{\\"id\\":$i,\\"name\\":\\"f\\"}" >&5; read a <&5; echo "$a"; done\n' > calls.sh
$ sh s start --set functions=f --set devices.terminals=1; script -qec 'sh s exec -t --function-command f=./f -- sh -c "$(cat calls.sh)"' /dev/null < /dev/null | tr -d '\r' | sed 's/\^@//'; sh s stop
| /dev/pts/0
| {"id":1,"result":7}
| {"id":2,"result":7}

= a keeper of another version: the caller supervises the program, as well as answering its calls
needs python3
+ printf '#!/bin/sh\necho 7\n' > f; chmod +x f; cp "$(command -v warder)" other
+ echo 'echo "{\"id\":1,\"name\":\"f\"}" >&5; read a <&5; echo "$a"' > call.sh
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; ./other session start $name --prefer limits --set functions=f; sh s exec --json --function-command f=./f -- sh -c "$(cat call.sh)" | python3 $TOP/tests/lib/results.py stdout.text functions.answered; warder code --session $name --function-command f=./f call.sh; sh s stop
| "{\"id\":1,\"result\":7}\n" 1
| {"id":1,"result":7}

= an embedding program answers from its event loop, from the function that is told of the call or from another thread
needs limits library
+ cat > embed.c <<'END'
+ #include <poll.h>
+ #include <pthread.h>
+ #include <stdio.h>
+ #include <string.h>
+ #include <warder.h>
+ static struct warder_run *run;
+ static unsigned long long later;
+ static void *answer(void *unused)
+ {
+ 	struct warder_error err;
+ 	int first = warder_run_answer(run, later, "{\"by\": \"a thread\"}", NULL, &err);
+ 	int second = warder_run_answer(run, later, "1", NULL, &err);
+ 	return printf("%d %d %s\n", first, second, warder_error_kind_name(err.code)), unused;
+ }
+ static void on_call(void *context, uint64_t call, const char *name, const char *arguments)
+ {
+ 	struct warder_error err;
+ 	pthread_t *thread = context;
+ 	printf("call of %s with %s\n", name, arguments);
+ 	later = call;
+ 	if (strcmp(name, "now") == 0)
+ 		warder_run_answer(run, call, NULL, "not today", &err);
+ 	else
+ 		pthread_create(thread, NULL, answer, NULL);
+ }
+ int main(void)
+ {
+ 	char *argv[] = { "/bin/sh", "-c", "for n in now later; do echo \"{\\\"id\\\":1,\\\"name\\\":\\\"$n\\\",\\\"arguments\\\":[2]}\" >&5; read a <&5; echo \"$a\"; done", NULL };
+ 	struct warder_function functions[] = { { "now", NULL }, { "later", NULL } };
+ 	pthread_t thread;
+ 	struct warder_command command = { .size = sizeof(command), .argv = argv, .functions = functions, .function_count = 2, .on_call = on_call, .context = &thread };
+ 	struct warder_policy *policy;
+ 	struct warder_template *tmpl;
+ 	struct warder_result *result = NULL;
+ 	struct warder_error err;
+ 	const char *text;
+ 	uint64_t total;
+ 	size_t len;
+ 	if (warder_policy_preset("strict", &policy, &err) || warder_policy_set(policy, "functions", "now", &err) || warder_policy_set(policy, "functions", "later", &err) || warder_prepare(policy, NULL, &tmpl, &err) || warder_launch(tmpl, &command, &run, &err))
+ 		return fprintf(stderr, "%s\n", err.text), 1;
+ 	for (int got = 0; got == 0;) {
+ 		struct pollfd fd = { .fd = warder_run_fd(run, &err), .events = POLLIN };
+ 		if (poll(&fd, 1, 60000) != 1 || (got = warder_run_dispatch(run, &result, &err)) < 0)
+ 			return fprintf(stderr, "%s\n", err.text), 1;
+ 	}
+ 	pthread_join(thread, NULL);
+ 	text = warder_result_output(result, WARDER_STDOUT, &len, &total);
+ 	fwrite(text, 1, len, stdout);
+ 	warder_result_free(result);
+ 	warder_run_free(run);
+ 	warder_template_free(tmpl);
+ 	warder_policy_free(policy);
+ 	return 0;
+ }
+ END
$ cc -Wall -Wextra -Werror -I"$TOP/runtime" embed.c "$BUILD/libwarder.a" -pthread -o embed && ./embed
| call of now with [2]
| call of later with [2]
| 0 -1 notFound
| {"id":1,"error":{"kind":"failed","message":"not today"}}
| {"id":1,"result":{"by":"a thread"}}
