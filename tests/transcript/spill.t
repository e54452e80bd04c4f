# --artifacts store: what a result has no room for goes into the artifact store.
needs limits

= output beyond the limit is kept whole, and the result says where
$ warder run --json --max-output 1KiB --artifacts store:run-1/ -- sh -c 'seq 2000; echo err >&2' > r; python3 -c 'import json; r = json.load(open("r")); o = r["stdout"]; a = o["artifact"]; print(len(o["text"]), o["bytesTotal"], o["truncated"], a["name"], a["version"], a["contentType"], a["size"], o["artifactTruncated"], a["sha256"][:8], "artifact" in r["stderr"])'; seq 2000 | sha256sum | cut -c1-8; seq 2000 > all; warder artifact read run-1/stdout@1 | cmp - all
| 1024 8893 True run-1/stdout 1 text/plain; charset=utf-8 8893 False 6251e574 False
| 6251e574

= output that is in the result is not stored; output that is passed through is stored; each run makes the next version
$ warder run --json --artifacts store: -- echo hello > /dev/null; warder artifact list; for i in 1 2; do warder run --artifacts store: -- sh -c 'echo out; echo error >&2'; done
| out
| out
! error
! warder: "stdout": all of it is kept as "stdout", version 1
! warder: "stderr": all of it is kept as "stderr", version 1
! error
! warder: "stdout": all of it is kept as "stdout", version 2
! warder: "stderr": all of it is kept as "stderr", version 2

= a limit on the disk: the beginning is kept, and said to be that
$ warder run --max-artifact 100 --artifacts store:run-1/ -- seq 1000 > out; echo $?; warder artifact read run-1/stdout | wc -c; warder run --json --max-output 10 --max-artifact 100 --artifacts store:run-1/ -- seq 1000 | python3 -c 'import json, sys; o = json.load(sys.stdin)["stdout"]; print(o["artifact"]["size"], o["artifactTruncated"])'
| 125
| 100
| 100 True
! warder: "stdout": the beginning is kept as "run-1/stdout", version 1

= output without end: the stored part stays within the limit, however the run ends
$ warder run --timeout 1s --max-artifact 1MiB --artifacts store: -- yes > /dev/null; warder artifact list | cut -c1-12
|      1048576
! warder: killed after 1s (limits.wallTime)
! warder: "stdout": the beginning is kept as "stdout", version 1
? 0

= no room for it: the run goes on, and the result says so
$ (ulimit -f 64; warder run --json --max-output 10 --artifacts store: -- seq 20000) > r; python3 -c 'import json; r = json.load(open("r")); o = r["stdout"]; print(r["status"], o["bytesTotal"], o["artifact"]["size"], o["artifactTruncated"], o["artifactError"])'
| success 108894 65536 True only the first 65536 of 108894 bytes could be kept: File too large

= a store that fails, is no place, or is not installed
+ mkdir bin && cp "$(command -v warder)" bin/ && printf '#!/bin/sh\nexit 3\n' > bin/warder-store && chmod +x bin/warder-store && touch file && mkdir alone && cp "$(command -v warder)" alone/
$ bin/warder run --artifacts store: -- echo out; echo $?; bin/warder run --json --max-output 2 --artifacts store: -- echo out | python3 -c 'import json, sys; o = json.load(sys.stdin)["stdout"]; print(o["artifactError"], "artifact" in o)'; WARDER_STORE=$PWD/file warder run --artifacts store: -- echo out; WARDER_STORE=relative warder run --artifacts store: -- echo out; alone/warder run --artifacts store: -- echo out
| out
| 125
| it is not kept: warder-store failed (status 3) False
! warder: "stdout": it is not kept: warder-store failed (status 3)
!~ ^warder: .*/file
!~ ^warder: .*relative
!~ warder-store is not installed
? 125

= a session is a directory of names, also without a slash
$ warder run --json --max-output 2 --artifacts store:run-2 -- echo out | python3 -c 'import json, sys; print(json.load(sys.stdin)["stdout"]["artifact"]["name"])'
| run-2/stdout

= invalid targets of --artifacts are refused
$ warder run --artifacts dir -- true; warder run --artifacts store:../x/ -- true; warder run --artifacts store:.. -- true; warder run --artifacts store:a@1/ -- true; warder run --max-artifact 5 -- true; warder run --max-artifact x --artifacts store: -- true; warder judge --artifacts dir; warder tool --artifacts dir
!~ write store: or store:PREFIX/
!~ leads out
!~ leads out
!~ without @
! warder: --max-artifact needs --artifacts store:
!~ --max-artifact x
!~ write store:
!~ write store:
? 125

= a killed supervisor leaves nothing in the store
needs pgrep
$ n=6$$; warder run --timeout 60s --artifacts store: -- sh -c "seq 100000; sleep $n" > /dev/null & until pgrep -fx "sleep $n" > /dev/null; do sleep 0.1; done; kill -KILL $!; wait $! 2>/dev/null; find store -type f

= files of a piece of code that are too large for its result
needs limits python3
+ printf 'open("big.bin", "wb").write(bytes(200000))\nopen("small", "w").write("hi")\nopen("a@b.bin", "wb").write(bytes(200000))\nprint("y" * 100)\n' > p.py
$ warder code --json --max-output 5 --artifacts store:c/ p.py | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["stdout"]["artifact"]["size"]); [print(a["name"], a.get("text"), a.get("artifact", {}).get("name"), a.get("artifactError")) for a in r["artifacts"]]'; warder artifact read c/big.bin | cmp - <(head -c 200000 /dev/zero); warder code --artifacts store:d/ p.py > /dev/null
| 101
| a@b.bin None None it is not kept: "c/a@b.bin" has a @ in it, which separates the version
| big.bin None c/big.bin None
| small hi None None
! warder: "stdout": all of it is kept as "d/stdout", version 1
! warder: "a@b.bin": it is not kept: "d/a@b.bin" has a @ in it, which separates the version
! warder: "big.bin": all of it is kept as "d/big.bin", version 1
! warder: "small": all of it is kept as "d/small", version 1
? 125

= requests and cases
$ echo '{"language": "sh", "code": "seq 100", "id": 7}' | warder tool --max-output 10 --artifacts store:t/ | python3 -c 'import json, sys; r = json.load(sys.stdin); a = r["stdout"]["artifact"]; print(r["id"], a["name"], a["version"], a["size"])'; echo '{"language": "bash", "code": "cat; echo e >&2", "cases": [{"stdin": "1", "expected": "1"}, {"name": "b", "stdin": "", "expected": "3"}]}' | warder judge --json --artifacts store:j/ | python3 -c 'import json, sys; [print(c["name"], c["output"]["stdout"].get("artifact", {}).get("name"), c["output"]["stderr"]["artifact"]["name"]) for c in json.load(sys.stdin)["cases"]]'; warder artifact read j/1/stdout; warder artifact read j/b/stderr
| 7 t/stdout 1 292
| 1 j/1/stdout j/1/stderr
| b None j/b/stderr
| 1e
