# warder events: what those who work in one workspace tell each other.

= six steps are six events in order
+ say() { warder events "$1" job --topic parser --correlation t1 --producer "$2" ${3:+--payload "$3"}; }
+ say request-work planner '{"want": "a parser"}'; say claim coder; say publish coder '"int main"'; say request-feedback coder; say provide-feedback planner '{"ok": true}'; say complete planner
$ warder events history job --json | sed 's/"timestamp":[0-9]*/"timestamp":T/'
| {"sequence":1,"timestamp":T,"kind":"needWork","correlationId":"t1","topic":"parser","producer":"planner","payload":{"want":"a parser"}}
| {"sequence":2,"timestamp":T,"kind":"workClaimed","correlationId":"t1","topic":"parser","producer":"coder","payload":null}
| {"sequence":3,"timestamp":T,"kind":"workPublished","correlationId":"t1","topic":"parser","producer":"coder","payload":"int main"}
| {"sequence":4,"timestamp":T,"kind":"feedbackRequested","correlationId":"t1","topic":"parser","producer":"coder","payload":null}
| {"sequence":5,"timestamp":T,"kind":"feedbackProvided","correlationId":"t1","topic":"parser","producer":"planner","payload":{"ok":true}}
| {"sequence":6,"timestamp":T,"kind":"completed","correlationId":"t1","topic":"parser","producer":"planner","payload":null}

= events for people
+ warder events request-work job --topic parser --correlation t1 --producer planner --consumer coder --payload '[1]'
$ warder events history job
|~ ^     1  20[0-9-]{8} [0-9:]{8}Z  needWork           t1                     planner -> coder: parser  \[1\]$

= a publisher learns that there are no subscribers
$ warder events claim job --topic t --correlation c --producer me --json
| {"correlationId":"c","sequence":1,"receivers":0}

= a task without an id gets one
$ warder events request-work job --topic t --producer me
|~ ^task-[0-9a-f]{16}$

= waiting by id and kind
+ warder events create job
+ cat > wait.sh <<'END'
+ timeout 60 warder events wait job --correlation c1 --kind workPublished --timeout 50s --json > got &
+ for i in $(seq 500); do warder events claim job --topic t --correlation c1 --producer me --json | grep -q '"receivers":1' && break; done
+ warder events publish job --topic t --correlation c2 --producer me
+ warder events complete job --topic t --correlation c1 --producer me
+ warder events publish job --topic t --correlation c1 --producer me --payload '"this"'
+ wait $!; echo "status $?"
+ grep -o '"kind":.*' got
+ END
$ bash wait.sh
| c2
| c1
| c1
| status 0
| "kind":"workPublished","correlationId":"c1","topic":"t","producer":"me","payload":"this"}

= a wait for a mistyped workspace says that its log is new, once
+ warder events create job
$ warder events wait job --timeout 0.1s; warder events wait jbo --timeout 0.1s; warder events wait jbo --timeout 0.1s; warder events follow jobb --topic t --kind blocked --timeout 0.1s --json
! warder: no event came in time
! warder: the log of the workspace "jbo" is new; waiting for an event
! warder: no event came in time
! warder: no event came in time
! warder: the log of the workspace "jobb" is new; waiting for an event with --kind "blocked" --topic "t"

= earlier events do not end a wait unless --after includes them; a wait without an event times out
+ warder events publish job --topic t --correlation c --producer me
$ warder events wait job --correlation c --timeout 0.1s; echo $?; warder events wait job --correlation c --after 0 --timeout 0.1s --json | grep -o '"kind":"[a-zA-Z]*"'; warder events wait job --correlation c --after 1 --timeout 0.1s
| 124
| "kind":"workPublished"
! warder: no event came in time
! warder: no event came in time
? 124

= following
+ (timeout 60 warder events follow job --limit 2 --json > got; echo "status $?" >> got) & for i in $(seq 500); do warder events block job --topic t --correlation c --producer me --json | grep -q '"receivers":1' && break; done; warder events complete job --topic t --correlation c --producer me; wait
$ grep -o '"kind":"[a-zA-Z]*"\|status.*' got
| "kind":"blocked"
| "kind":"completed"
| status 0

= events as JSON lines
$ printf '%s\n' '{"kind": "blocked", "correlationId": "a", "topic": "t", "producer": "p", "timestamp": 5}' '' '{"kind": "completed", "correlationId": "a", "topic": "t", "producer": "p", "other": 1}' '{"kind": "done"}' | warder events post job --json; warder events history job --json | head -n 1
| {"correlationId":"a","sequence":1,"receivers":0}
| {"correlationId":"a","sequence":2,"receivers":0}
|~ ^\{.*line 4: .*correlationId.* is missing.*\}$
| {"sequence":1,"timestamp":5,"kind":"blocked","correlationId":"a","topic":"t","producer":"p","payload":null}

= a workspace is a directory, or a name; its log knows the project
+ mkdir -p dir/inner; warder events create dir/inner --session s1
$ cd dir/inner; warder events create . | sed "s|$PWD|HERE|; s/[0-9]\{13\}/T/"; warder events create /  | sed 's/[0-9]\{13\}/T/'; warder events create job-7 --project Named | sed 's/[0-9]\{13\}/T/'; warder events list | tail -n 1; warder events create ./missing
| {"root":"HERE","projectName":"inner","sessionId":"s1","createdAt":T}
| {"root":"/","projectName":"unnamed","createdAt":T}
| {"root":"job-7","projectName":"Named","createdAt":T}
|~ ^20[0-9-]{8} [0-9:]{8}Z  Named             job-7$
! warder: ./missing: No such file or directory
? 125

= filters
+ for i in 1 2 3; do warder events claim job --topic a --correlation c$i --producer me; warder events complete job --topic b --correlation c$i --producer me; done
$ for flags in '--correlation c2' '--kind completed --after 2' '--topic a --limit 2' '--topic a --after 0 --limit 2'; do warder events history job --json $flags | grep -o '"sequence":[0-9]*' | tr -d '\n'; echo; done; warder events history job --kind finished
| "sequence":3"sequence":4
| "sequence":4"sequence":6
| "sequence":3"sequence":5
| "sequence":1"sequence":3
! warder: "finished" is not a kind of event; known: needWork workClaimed workPublished feedbackRequested feedbackProvided blocked completed
? 125

= invalid events and unknown logs are refused
$ warder events claim job --topic t --correlation c; warder events claim job --topic t --correlation c --producer me --payload '{'; warder events history nothing; warder events remove nothing
! warder: --producer: an event needs its producer
! warder: --payload: payload:1:2: the document ends where a member's name is expected
! warder: there is no log of the workspace "nothing"; "warder events create" makes it
! warder: there is no log of the workspace "nothing"; "warder events create" makes it
? 125

= tasks of A2A, and back
+ say() { warder events "$1" job --topic parser --correlation t1 --producer me --payload "$2"; }
+ say request-work '{"a": 1}'; say claim null; say publish '"text"'; say publish '{"d": 1}'; say request-feedback 1; say provide-feedback 2; say block '"why"'; say complete null
$ warder events history job --json > events; warder events to-a2a < events > tasks; grep -o '"state":"[a-z-]*"' tasks; sed -n '3p' tasks | sed 's/20[0-9-]*T[0-9:.]*Z/DATE/; s/"timestamp":[0-9][0-9]*/"timestamp":T/'; warder events from-a2a < tasks | cmp - events
| "state":"submitted"
| "state":"working"
| "state":"completed"
| "state":"completed"
| "state":"input-required"
| "state":"submitted"
| "state":"input-required"
| "state":"completed"
| {"kind":"task","id":"t1","contextId":"parser","status":{"state":"completed","timestamp":"DATE"},"artifacts":[{"artifactId":"t1-3","parts":[{"kind":"text","text":"text"}]}],"metadata":{"kind":"workPublished","producer":"me","timestamp":T,"sequence":3}}

= a task that is no event
$ echo '{"id":"a","contextId":"c","status":{"state":"canceled"}}' | warder events from-a2a
! warder: line 1: no event stands for a task that is "canceled"; known: submitted, working, input-required, completed
? 125

= an append that was cut short is no event, and is cut off
+ warder events claim job --topic t --correlation c --producer me; printf '{"sequence":2,"kind":"comp' >> store/events/*.jsonl
$ warder events history job --json | wc -l; warder events complete job --topic t --correlation c --producer me --json; warder events history job --json | grep -o '"sequence":.\|"kind":"[a-zA-Z]*"'
| 1
| {"correlationId":"c","sequence":2,"receivers":0}
| "sequence":1
| "kind":"workClaimed"
| "sequence":2
| "kind":"completed"

= lines of a log that are not events are reported
+ warder events claim job --topic t --correlation c --producer me; echo hello >> store/events/*.jsonl
$ warder events history job --json | grep -o '"sequence":.'
| "sequence":1
! warder: 1 lines of the log are not events, and were left out

= eight at once
$ for i in 1 2 3 4 5 6 7 8; do (for k in 1 2 3 4 5; do warder events claim job --topic t --correlation "c$i" --producer me >/dev/null || echo failed; done) & done; wait; warder events history job --json | grep -o '"sequence":[0-9]*' | cut -d: -f2 | cmp - <(seq 40)

= removing
+ warder events claim job --topic t --correlation c --producer me
$ warder events remove job && ls store/events; warder events history job
! warder: there is no log of the workspace "job"; "warder events create" makes it
? 125

= nothing of a task is lost: all parts, all artifacts, the question of its status
$ printf '%s\n' '{"id":"a","contextId":"c","status":{"state":"completed"},"artifacts":[{"parts":[{"text":"one"},{"text":"two"}]},{"parts":[{"file":{"uri":"x"}}]}]}' '{"id":"a","contextId":"c","status":{"state":"completed","message":{"parts":[{"text":"m"}]}},"artifacts":[{"parts":[{"text":"one"}]}]}' '{"id":"a","contextId":"c","status":{"state":"input-required","message":{"role":"agent","parts":[{"kind":"text","text":"which?"}]}}}' | warder events from-a2a | grep -o '"payload":.*'
| "payload":{"artifacts":[{"parts":[{"text":"one"},{"text":"two"}]},{"parts":[{"file":{"uri":"x"}}]}]}}
| "payload":{"artifacts":[{"parts":[{"text":"one"}]}],"message":{"parts":[{"text":"m"}]}}}
| "payload":"which?"}
