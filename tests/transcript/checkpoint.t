# warder checkpoint: states of threads, put and brought back.

= a state is returned as it was saved
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

= the differences between two states
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

= a checkpoint that is too old is not found
+ echo 1 | warder checkpoint put talk; warder checkpoint limits --max-age 1ms; sleep 0.1; echo 2 | warder checkpoint put talk; sleep 0.1
$ warder checkpoint latest talk; warder checkpoint list talk; warder checkpoint threads
! warder: checkpoint not found: the thread "talk" has none

= the limits are shown, and set for all users of the store
$ warder checkpoint limits; warder checkpoint limits --per-thread 0 --max-age 36h --max-bytes 1MiB --json; warder checkpoint limits --max-bytes 0 | tail -n 1; warder checkpoint limits --max-bytes 1KiB
| checkpoints of a thread  100
| age                      24h
| size of the file         1GiB
| {"perThread":0,"maxAgeMs":129600000,"maxBytes":1048576}
| size of the file         no limit
! warder: 1024 bytes are too few; at least 65536, or 0 for no limit
? 125

= a full store refuses to save, and keeps its checkpoints
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
| checkpoints.db.reserve
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

= invalid states and metadata are refused
$ echo '{"a": 1} x' | warder checkpoint put talk; echo '{}' | warder checkpoint put talk --metadata '{"rollbackFrom": 1}'; echo '{}' | warder checkpoint put talk --parent nobody; head -c 17000000 /dev/zero | warder checkpoint put talk
! warder: state:1:10: 'x' where the end of the document is expected
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
!~ checkpoints.db has the schema version 7, and this version of Warder knows 2 at the most; use a newer one$
? 125

= a store where others can write
+ mkdir -m 777 open
$ WARDER_STORE=$PWD/open/store warder checkpoint threads
!~ open/store/checkpoints lies where another user may replace it; name another directory$
? 125

= one byte of a state that changes on the disk is noticed by every read, and by a put
+ for i in 1 2 3; do echo "{\"secret\": \"number $i\"}" | warder checkpoint put talk --id c$i; done; echo '"else"' | warder checkpoint put other > /dev/null
+ python3 -c 'import sys; p = "store/checkpoints/checkpoints.db"; b = open(p, "rb").read(); assert b.count(b"number 2") == 1; open(p, "wb").write(b.replace(b"number 2", b"number 9"))'
$ warder checkpoint get c2 --state; warder checkpoint list talk --with-state; echo 1 | warder checkpoint put other; echo 1 | warder checkpoint put talk; warder checkpoint rollback talk @2; warder checkpoint verify; warder checkpoint get c3 --state; warder checkpoint rescue saved; echo $?; WARDER_STORE=$PWD/saved warder checkpoint list talk --json | grep -o '"id":"[^"]*"'; WARDER_STORE=$PWD/saved warder checkpoint verify; warder checkpoint rescue saved
!~ ^warder: .*checkpoints.db is damaged: the checkpoint "c2" of the thread "talk" is not as it was put; "warder checkpoint rescue DIR" copies the good checkpoints into another store$
!~ is damaged: the checkpoint "c2"
!~ is damaged: the checkpoint "c2"
!~ is damaged: the checkpoint "c2"
!~ is damaged: the checkpoint "c2"
!~ is damaged: the checkpoint "c2"
| {"secret": "number 3"}
| 3 saved, 1 damaged
| 1
| "id":"c3"
| "id":"c1"
| 3 as they were put
!~ has checkpoints already; name a new directory
? 125

= after the removal of a damaged checkpoint the store is good again
+ for i in 1 2 3; do echo "{\"secret\": \"number $i\"}" | warder checkpoint put talk --id c$i; done
+ python3 -c 'import sys; p = "store/checkpoints/checkpoints.db"; b = open(p, "rb").read(); open(p, "wb").write(b.replace(b"number 2", b"number 9"))'
$ warder checkpoint delete c2 && warder checkpoint verify && echo 4 | warder checkpoint put talk --id c4 && warder checkpoint latest talk --state
| 2 as they were put
| c4
| 4

= no random damage comes back as good
+ for i in $(seq 20); do printf '{"n": %d, "text": "%0300d"}' $i $i | warder checkpoint put t$((i % 3)) --id c$i --metadata "{\"m\": $i}"; done; head -c 9000 /dev/zero | tr '\0' x | sed 's/.*/"&"/' | warder checkpoint put t0 --id big
+ cat > damage.py <<'END'
+ import json, os, random, shutil, subprocess, sys
+ rng = random.Random(7)
+ def run(*arguments):
+     ended = subprocess.run(["warder", "checkpoint", *arguments], capture_output=True, text=True, input="1")
+     return ended.returncode, ended.stdout
+ good = {f"c{i}": run("get", f"c{i}") for i in range(1, 21)}
+ good["big"] = run("get", "big")
+ shutil.copytree("store", "good")
+ size = os.path.getsize("store/checkpoints/checkpoints.db")
+ wrong = noticed = silent = 0
+ rounds = 200 if os.environ.get("WARDER_SOAK") else 12
+ for i in range(rounds):
+     shutil.rmtree("store"); shutil.copytree("good", "store")
+     with open("store/checkpoints/checkpoints.db", "r+b") as file:
+         file.seek(rng.randrange(size - 6)); file.write(bytes(rng.randrange(256) for _ in range(6)))
+     got = {name: run("get", name) for name in good}
+     wrong += any(status == 0 and text != good[name][1] for name, (status, text) in got.items())
+     broken = any(status != 0 for status, _ in got.values())
+     noticed += broken
+     silent += broken and run("put", "t1")[0] == 0
+ print(wrong, "came back wrong,", silent, "puts into a damaged file;", "some" if noticed > rounds // 20 else f"only {noticed}", "noticed")
+ END
$ python3 damage.py
| 0 came back wrong, 0 puts into a damaged file; some noticed

= a file of a version without digests gets them, of the states that it has
needs sqlite3
+ echo '"old"' | warder checkpoint put talk --id c1; sqlite3 store/checkpoints/checkpoints.db 'ALTER TABLE checkpoint DROP COLUMN digest; ALTER TABLE checkpoint DROP COLUMN state_digest; PRAGMA user_version = 1'
$ warder checkpoint latest talk --state; warder checkpoint verify; sqlite3 store/checkpoints/checkpoints.db 'SELECT length(digest) FROM checkpoint; PRAGMA user_version'
| "old"
| 1 as they were put
| 64
| 2

= before that, the file is copied, for the version before
needs sqlite3
+ echo '"old"' | warder checkpoint put talk --id c1; sqlite3 store/checkpoints/checkpoints.db 'ALTER TABLE checkpoint DROP COLUMN digest; ALTER TABLE checkpoint DROP COLUMN state_digest; PRAGMA user_version = 1'
$ echo '"new"' | warder checkpoint put talk --id c2; warder checkpoint get c1 --state; cd store/checkpoints; stat -c '%a %n' *.v*; sqlite3 checkpoints.db.v1 'PRAGMA user_version; PRAGMA integrity_check; SELECT id, trim(state, char(10)) FROM checkpoint'
| c2
| "old"
| 600 checkpoints.db.v1
| 1
| ok
| c1|"old"

= on a full file system states can be read and deleted, and then there is room again
needs place unshare
+ cat > full.sh <<'END'
+ mount -t tmpfs -o size=3m,mode=700 none full || exit 9
+ export WARDER_STORE=$PWD/full
+ n=0; while head -c 100000 /dev/urandom | base64 -w 0 | sed 's/.*/"&"/' | warder checkpoint put t$((n % 3)) --id c$n 2> last > /dev/null; do n=$((n + 1)); done
+ [ $n -gt 8 ] || echo only $n; grep -o 'storage full' last; head -c 4m /dev/zero > full/rest 2> /dev/null
+ warder checkpoint get c1 --state | wc -c
+ warder checkpoint delete c1 && echo deleted; warder checkpoint get c1 2>&1 | grep -o 'not found'
+ warder checkpoint delete-thread t0 > /dev/null && echo thread; warder checkpoint limits --per-thread 1 > /dev/null && echo limits; warder checkpoint threads --json | grep -o '"checkpoints":[0-9]*'
+ rm full/rest; echo 1 | warder checkpoint put t0 --id again; warder checkpoint verify
+ END
+ mkdir full
$ unshare -m $([ $(id -u) = 0 ] || echo -Ur) bash full.sh
| storage full
| 133338
| deleted
| not found
| thread
| limits
| "checkpoints":1
| "checkpoints":1
| again
| 3 as they were put

= without room for a copy of a file of an older version, the error says how much it needs, and the reserve stays
needs place unshare sqlite3
+ cat > older.sh <<'END'
+ mount -t tmpfs -o size=3m,mode=700 none older || exit 9
+ export WARDER_STORE=$PWD/older
+ db=older/checkpoints/checkpoints.db
+ for n in 1 2 3; do head -c 100000 /dev/urandom | base64 -w 0 | sed 's/.*/"&"/' | warder checkpoint put talk --id c$n; done
+ sqlite3 $db 'ALTER TABLE checkpoint DROP COLUMN digest; ALTER TABLE checkpoint DROP COLUMN state_digest; PRAGMA user_version = 1'
+ head -c 4m /dev/zero > older/rest 2> /dev/null
+ for n in 1 2; do warder checkpoint get c1 --state 2>&1; stat -c '%s' $db.reserve; ls $db.v* 2>&1; done
+ rm older/rest; warder checkpoint get c1 --state | wc -c; warder checkpoint verify; stat -c '%a' $db.v1
+ END
+ mkdir older
$ unshare -m $([ $(id -u) = 0 ] || echo -Ur) bash older.sh
| c1
| c2
| c3
|~ ^warder: .*storage full: .*/checkpoints.db has the older schema version 1; to change it, Warder needs 1[0-9]{6} free bytes in the file system, which has [0-9]+
| 262144
|~ No such file or directory
|~ ^warder: .*storage full: .*/checkpoints.db has the older schema version 1; to change it, Warder needs 1[0-9]{6} free bytes in the file system, which has [0-9]+
| 262144
|~ No such file or directory
| 133338
| 3 as they were put
| 600
