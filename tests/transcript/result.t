# --json and --receipt.

needs limits

= one object, always the same members in the same order
needs python3
$ warder run --json -- sh -c 'echo out; echo err >&2; exit 3' | python3 -c 'import json, sys; r = json.load(sys.stdin); print(*r); print(*r["durations"]); print(*r["stdout"]); print(r["status"], r["cause"], r["exitCode"], r["signal"], r["stdout"]["text"].strip(), r["stderr"]["text"].strip(), r["identity"], r["artifacts"])'
| status cause exitCode signal stdout stderr startedAt durations peakMemoryBytes cpuTimeUs peakPids limitsHit artifacts backend isolation passedOver receipt identity detail
| wallUs userUs systemUs queueUs prepareUs launchUs
| text encoding bytesKept bytesTotal truncated
| failed exit 3 None out err {'uid': 1000, 'gid': 1000} []

= the exit status is the same as without --json
$ warder run --json -- sh -c 'exit 3'
|~ ^\{"status":"failed","cause":"exit","exitCode":3,"signal":null,
? 3

= success
$ warder run --json -- true
|~ ^\{"status":"success","cause":"exit","exitCode":0,"signal":null,"stdout":\{"text":"","encoding":"utf-8","bytesKept":0,"bytesTotal":0,"truncated":false\},

= a signal
$ warder run --json -- sh -c 'kill -SEGV $$'
|~ ^\{"status":"failed","cause":"signal","exitCode":null,"signal":"SIGSEGV",
? 139

= out of time
$ warder run --json --timeout 500ms -- sleep 10
|~ ^\{"status":"timeout","cause":"wallTime","exitCode":null,.*"limitsHit":\["wallTime"\]
? 124

= out of memory, and the peak is within the limit
needs python3
$ warder run --json --memory 64MiB -- python3 -c 'x = bytearray(300 << 20)' | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["status"], r["cause"], r["limitsHit"], r["peakMemoryBytes"] <= 64 << 20)'
| killed memory ['memory'] True

= bytes that are no text
$ warder run --json -- printf 'a\200'
|~ "stdout":\{"base64":"YYA=","encoding":"base64","bytesKept":2,"bytesTotal":2,"truncated":false\}

= a limit inside a character leaves text
$ warder run --json --max-output 2 -- printf 'a\303\244'
|~ "stdout":\{"text":"a","encoding":"utf-8","bytesKept":2,"bytesTotal":3,"truncated":true\}

= the receipt is a file of the caller's own
needs python3
$ umask 0; warder run --receipt r.json -- true && stat -c %a r.json && python3 -c 'import json; r = json.load(open("r.json")); print(*r); print({row["control"]: row["status"] for row in r["controls"]}["network.none"])'; ls -A
| 600
| backend isolation controls
| enforced
| r.json

= the receipt replaces an older one
+ echo old > r.json; ln r.json same
$ warder run --receipt r.json -- true; cat same; grep -c namespaceJail r.json; ls -A
| old
| 1
| r.json
| same

= a receipt replaces only regular files
+ ln -s /nowhere link; mkfifo fifo
$ for file in link fifo /dev/null; do warder run --receipt $file -- echo started; echo $?; done; ls -A
! warder: --receipt: link exists and is not a regular file; it is not replaced
! warder: --receipt: fifo exists and is not a regular file; it is not replaced
! warder: --receipt: /dev/null exists and is not a regular file; it is not replaced
| 125
| 125
| 125
| fifo
| link

= a refusal takes the place of an older receipt
$ warder run --receipt r.json -- true; warder run --receipt r.json --cwd /nowhere -- true 2>err; echo $?; python3 -c 'import json; r = json.load(open("r.json")); print(r["status"], r["error"]["field"])'; grep -c . err
| 125
| rejected workingDirectory
| 1

= so does a command line without a program
$ warder run --receipt r.json -- true; warder run --receipt r.json 2>err; echo $?; python3 -c 'import json; print(json.load(open("r.json"))["error"]["field"])'
| 125
| argv

= so does a program that is not there
$ warder run --receipt r.json -- true; warder run --receipt r.json -- /no/such 2>err; echo $?; python3 -c 'import json; print(json.load(open("r.json"))["error"]["kind"])'
| 127
| notFound

= the receipt goes where its path led before the start
needs place
+ chmod 777 .; mkdir -m 777 sub; mkdir other
$ warder run --workspace .:rw --set limits.disk=unlimited --receipt sub/r.json -- sh -c 'mv sub gone; ln -s other sub'; ls -A other gone
| gone:
| r.json
|
| other:

= a receipt on standard error
$ warder run --receipt - -- echo out 2>err; grep -c namespaceJail err
| out
| 1

= a receipt that cannot be written is reported before the start
$ warder run --receipt missing/r.json -- echo started
!~ ^warder: --receipt: cannot write missing/r.json
? 125

= a field that could not be enforced is in the receipt
needs python3
$ warder run --json --prefer limits.disk --workspace .:rw --set filesystem.growth=limited --set limits.disk=1MiB -- true | python3 -c 'import json, sys; print(*[row["control"] for row in json.load(sys.stdin)["receipt"]["controls"] if row["status"] == "notEnforced"])'
| limits.disk.workspace

= an end that has nothing to do with a limit is no limit that was reached
needs python3
$ echo '{"enable": ["process"]}' > on.json; n=6$$; (warder run --json --grace 10ms -- sh -c "trap '' TERM; sleep $n" > r & p=$!; until pgrep -fx "sleep $n" > /dev/null || ! kill -0 $p; do sleep 0.05; done; kill $p; wait $p); python3 $TOP/tests/lib/results.py cause limitsHit < r; warder run --json --backend process --backends on.json --prefer all -- sh -c 'kill -9 $PPID; sleep 5' | python3 $TOP/tests/lib/results.py cause limitsHit
| cancelled []
| host []
