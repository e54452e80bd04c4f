# warder checkpoint: states of threads, put and brought back.

= a state comes back as it was put
+ printf '{ "step": 1.0,\n "caf\u00e9": [] }\n' > state.json
+ warder checkpoint put talk state.json > id
$ warder checkpoint latest talk --state | cmp - state.json && warder checkpoint get "$(cat id)" --state | cmp - state.json && cat id
|~ ^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{12}$

= a checkpoint as JSON
$ echo '{"step": 1}' | warder checkpoint put talk --id one --metadata '{"node": "a"}' --json; warder checkpoint get one
|~ ^\{"id":"one","thread":"talk","version":1,"parent":null,"createdAt":[0-9]{13},"stateBytes":12,"metadata":\{"node":"a"\}\}$
|~ ^\{"id":"one","thread":"talk","version":1,"parent":null,"createdAt":[0-9]{13},"stateBytes":12,"metadata":\{"node":"a"\},"state":\{"step":1\}\}$

= a list is newest first; --before and --after are exclusive, --limit keeps the newest
+ for i in 1 2 3 4 5; do echo $i | warder checkpoint put talk --id c$i; done
$ for flags in '' '--limit 2' '--before 3' '--after 3' '--after 1 --before 4 --limit 1' '--until 2001-01-01' '--since 2001-01-01T12:00:00.5Z --limit 1'; do
>   warder checkpoint list talk --json $flags | python3 -c 'import json, sys; print([c["id"] for c in json.load(sys.stdin)])'
> done
| ['c5', 'c4', 'c3', 'c2', 'c1']
| ['c5', 'c4']
| ['c2', 'c1']
| ['c5', 'c4']
| ['c3']
| []
| ['c5']

= a list for people
+ echo 1 | warder checkpoint put talk --id first --metadata '{"step": 1}'
$ warder checkpoint list talk; warder checkpoint list nothing-there
| version  created               size      id                             metadata
|~ ^      1  20[0-9-]{8} [0-9:]{8}Z  2B        first                          \{"step":1\}$

= an unknown thread has no head, but an empty list
$ warder checkpoint list nobody --json; warder checkpoint latest nobody
| []
! warder: checkpoint not found: the thread "nobody" has none
? 125

= going back writes a new head, and loses nothing
+ for i in 1 2 3; do echo "{\"step\": $i}" | warder checkpoint put talk --id c$i; done
$ warder checkpoint rollback talk @1 --json; warder checkpoint latest talk --state; warder checkpoint list talk --json | grep -o '"version":[0-9]*'; warder checkpoint history talk --json | grep -o '"version":[0-9]*'
|~ ^\{"id":"[^"]*","thread":"talk","version":4,"parent":"c1","createdAt":[0-9]*,"stateBytes":12,"metadata":\{"rollbackFrom":"c1"\}\}$
| {"step": 1}
| "version":4
| "version":3
| "version":2
| "version":1
| "version":4
| "version":1

= what differs between two states
+ echo '{"a": [1, 2], "b": "x"}' | warder checkpoint put talk --id old
+ echo '{"b": "y", "a": [1], "c/d": null}' | warder checkpoint put talk --id new
$ warder checkpoint compare old new; echo $?; warder checkpoint compare talk @1 @1; echo $?; warder checkpoint compare new old --json
| - /a/1  2
| ~ /b  "x" -> "y"
| + /c~1d  null
| 1
| 0
| {"from":"new","to":"old","changes":[{"path":"/a/1","change":"added","new":2},{"path":"/b","change":"changed","old":"y","new":"x"},{"path":"/c~1d","change":"removed","old":null}],"truncated":false,"same":false}
? 1

= a thread keeps its newest
+ warder checkpoint limits --per-thread 2
+ for i in 1 2 3 4; do echo $i | warder checkpoint put talk --id c$i; done
$ warder checkpoint list talk --json | grep -o '"id":"[^"]*"'; warder checkpoint get c2
| "id":"c4"
| "id":"c3"
! warder: checkpoint not found: "c2"
? 125

= what is too old is not there
+ echo 1 | warder checkpoint put talk; warder checkpoint limits --max-age 1ms; sleep 0.1; echo 2 | warder checkpoint put talk; sleep 0.1
$ warder checkpoint latest talk; warder checkpoint list talk; warder checkpoint threads
! warder: checkpoint not found: the thread "talk" has none

= the limits are told and set for everybody
$ warder checkpoint limits; warder checkpoint limits --per-thread 0 --max-age 36h --max-bytes 1MiB --json; warder checkpoint limits --max-bytes 0 | tail -n 1; warder checkpoint limits --max-bytes 1KiB
| checkpoints of a thread  100
| age                      24h
| size of the file         1GiB
| {"perThread":0,"maxAgeMs":129600000,"maxBytes":1048576}
| size of the file         no limit
! warder: 1024 bytes are too few; at least 65536, or 0 for no limit
? 125

= a full store says so, and what is there stays
+ warder checkpoint limits --max-bytes 128KiB
+ echo '"here"' | warder checkpoint put talk
$ python3 -c 'print("\"" + "x" * 200000 + "\"")' | warder checkpoint put talk --json; warder checkpoint latest talk --state
|~ ^\{.*"unavailable".*storage full: .*/checkpoints.db has reached its size limit, or its file system is full; delete what is not needed, or raise the limit.*\}$
| "here"

= threads have any name, and are no paths
+ for t in ../../up / "$(printf 'a\nb')" café; do echo 1 | warder checkpoint put "$t"; done
$ warder checkpoint threads --json | python3 -c 'import json, sys; print([t["thread"] for t in json.load(sys.stdin)])'; ls store store/checkpoints; warder checkpoint delete-thread ../../up; warder checkpoint delete-thread ../../up; warder checkpoint put '' < /dev/null
| ['../../up', '/', 'a\nb', 'café']
| store:
| checkpoints
|
| store/checkpoints:
| checkpoints.db
| 1 removed
| 0 removed
! warder: invalid thread id: it is empty
? 125

= deleting
+ for i in 1 2; do echo $i | warder checkpoint put talk --id c$i; done
$ warder checkpoint delete c2 && warder checkpoint latest talk --state && echo 3 | warder checkpoint put talk --json | grep -o '"version":.'; warder checkpoint delete talk @2
| 1
| "version":3
! warder: checkpoint not found: "@2" in the thread "talk"
? 125

= what is no state
$ echo '{"a": 1} x' | warder checkpoint put talk; echo '{}' | warder checkpoint put talk --metadata '{"rollbackFrom": 1}'; echo '{}' | warder checkpoint put talk --parent nobody; head -c 17000000 /dev/zero | warder checkpoint put talk
! warder: state:1: 'x' where the end of the document is expected
! warder: "rollbackFrom" is written by a rollback alone; leave it out
! warder: parent: checkpoint not found: "nobody" in the thread "talk"
! warder: - is larger than 16 MiB
? 125

= an id is given once
$ echo 1 | warder checkpoint put talk --id a; echo 2 | warder checkpoint put other --id a
| a
! warder: there is a checkpoint with the id "a" already; name another one, or none
? 125

= eight at once
+ warder checkpoint limits --per-thread 0
$ for i in 1 2 3 4 5 6 7 8; do (for k in 1 2 3 4 5; do echo "$i" | warder checkpoint put talk >/dev/null || echo failed; done) & done; wait; warder checkpoint threads | tail -n 1 | cut -c 1-20; sqlite3 store/checkpoints/checkpoints.db 'PRAGMA integrity_check; SELECT count(DISTINCT version), max(version) FROM checkpoint'
|~ ^ +40 +40$
| ok
| 40|40

= a database of a newer version is left alone
needs sqlite3
+ echo 1 | warder checkpoint put talk; sqlite3 store/checkpoints/checkpoints.db 'PRAGMA user_version = 7'
$ warder checkpoint latest talk
!~ checkpoints.db has the schema version 7, and this version of Warder knows 1 at the most; use a newer one$
? 125

= a store where others can write
+ mkdir -m 777 open
$ WARDER_STORE=$PWD/open/store warder checkpoint threads
!~ open/store/checkpoints lies where somebody else may put something in its place; name another directory$
? 125
