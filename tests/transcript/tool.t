# warder tool: run code on request: JSON in, JSON out.

needs limits python3

= one request, one line
$ echo '{"id": "a1", "language": "python", "code": "print(int(input()) * 6)", "stdin": "7\n"}' | warder tool | python3 $TOP/tests/lib/results.py id line attempts status exitCode stdout.text error.kind
| a1 1 1 success 0 "42\n" -

= the members of a result are those of code --json, and some before them
$ echo '{"language": "python", "code": "print(6 * 7)"}' > request; warder tool < request > result; echo 'print(6 * 7)' | warder code --json --language python - > same; python3 -c 'import json; r = json.load(open("result")); c = json.load(open("same")); print(*[key for key in r if key not in c]); print([key for key in c if key not in r])'
| id line attempts timeoutSecs clamped
| []

= a document may be written on several lines
$ printf '{\n "language": "bash",\n "code": "echo hi"\n}\n' | warder tool | grep -c '"text":"hi\\n"'
| 1

= a program's own failure, and code that does not compile, are results
needs gcc
$ printf '%s\n' '{"id": 1, "language": "bash", "code": "echo part; exit 42"}' '{"id": 2, "language": "c", "code": "int main(void) { return x; }"}' '{"id": 3, "language": "bash", "code": "kill -SEGV $$"}' | warder tool --stream 2>stats | python3 $TOP/tests/lib/results.py id status exitCode signal stdout.text error.kind error.message diagnostics.0.spans.0.lineStart; cut -d, -f1-5 stats
| 1 failed 42 - "part\n" - - -
| 2 compileFailed 1 -  compileFailed the code does not compile 1
| 3 failed - SIGSEGV  - - -
| {"total":3,"success":0,"failed":3,"timeout":0,"rejected":0

= an invalid request gets a result with the error, and the others go on
+ printf '%s\n' 'no json' '[]' '{"id": "x", "language": "python"}' '{"id": 4, "language": "python", "code": "x", "inputs": 1}' '' '{"id": 6, "code": " \n", "language": "python"}' '{"id": 7, "language": "cobol", "code": "x"}' '{"id": 8, "language": "bash", "code": "true", "files": [{"name": "../x", "content": ""}]}' '{"id": 9, "language": "bash", "code": "true", "files": [{"name": "x", "content": "a", "encoding": "base64"}]}' '{"id": 10, "language": "bash", "code": "true"}' > requests
$ warder tool --stream < requests 2>stats | python3 $TOP/tests/lib/results.py id line attempts status error.kind error.message; echo ${PIPESTATUS[0]}; cut -d, -f1-5 stats
|~ ^- 1 0 rejected invalidRequest request:1:1: 
| - 2 0 rejected invalidRequest request:2: an array where an object is expected
| x 3 0 rejected invalidRequest request:3: code: it is missing
| 4 4 0 rejected invalidRequest request:4: inputs: unknown key; did you mean "input"?
| 6 6 0 rejected invalidRequest request:6: code: empty source code: code is required
|~ ^7 7 1 rejected unsupportedLanguage .*cobol
|~ ^8 8 1 rejected invalidRequest .*\.\./x
| 9 9 0 rejected invalidRequest request:9: files[0].content: no base64 as RFC 4648 has it, with its padding
| 10 10 1 success - -
| 0
| {"total":9,"success":1,"failed":8,"timeout":0,"rejected":8

= numbers that are too large are clamped, and the result says so
$ printf '%s\n' '{"language": "bash", "code": "true"}' '{"language": "bash", "code": "true", "timeoutSecs": 1000, "retries": {"attempts": 100, "delayMs": 1e9}}' '{"language": "bash", "code": "true", "timeoutSecs": 0}' '{"language": "bash", "code": "true", "timeoutSecs": 2.5}' '{"language": "bash", "code": "true", "timeoutSecs": 20}' | warder tool --stream --timeout 10s 2>stats | python3 $TOP/tests/lib/results.py timeoutSecs clamped requested.limits.wallTime
| 10 [] 10s
| 10 ["timeoutSecs", "retries.attempts", "retries.delayMs"] 10s
| 1 ["timeoutSecs"] 1s
| 2.5 [] 2500ms
| 10 ["timeoutSecs"] 10s

= a time of the request's own policy that is cut is named, too; one that the request cuts itself is not
$ printf '%s\n' '{"language": "bash", "code": "true", "policy": {"version": 1, "limits": {"wallTime": "60s"}}}' '{"language": "bash", "code": "true", "policy": {"version": 1, "limits": {"wallTime": "60s"}}, "timeoutSecs": 40}' '{"language": "bash", "code": "true", "policy": {"version": 1, "limits": {"wallTime": "20s"}}}' '{"language": "bash", "code": "true"}' | warder tool --stream --timeout 90s --prefer limits 2>stats | python3 $TOP/tests/lib/results.py timeoutSecs clamped requested.limits.wallTime
| 30 ["policy.limits.wallTime"] 30s
| 40 [] 40s
| 20 [] 20s
| 30 [] 30s

= the time of a request
$ echo '{"language": "python", "code": "print(1, flush=True)\nwhile True: pass", "timeoutSecs": 3}' | warder tool --stats stats | python3 $TOP/tests/lib/results.py status cause stdout.text; cut -d, -f1-5 stats
| timeout wallTime "1\n"
| {"total":1,"success":0,"failed":1,"timeout":1,"rejected":0

= a request narrows the policy of the flags, and does not widen it
+ printf '%s\n' '{"language": "bash", "code": "true"}' '{"language": "bash", "code": "true", "memory": "64MiB"}' '{"language": "bash", "code": "true", "memory": "1GiB"}' '{"language": "bash", "code": "true", "policy": {"version": 1, "limits": {"wallTime": 5, "memory": "32MiB", "pids": 7}}}' '{"language": "bash", "code": "true", "policy": {"version": 1, "limits": {"wallTime": 5}, "network": {"mode": "host"}}}' '{"language": "bash", "code": "true", "policy": "host-local"}' '{"language": "bash", "code": "true", "policy": "stict"}' '{"language": "bash", "code": "true", "policy": {"version": 1, "limits": {"wallTime": 5, "memori": 1}}}' > requests
$ warder tool --stream --pids 16 --memory 128MiB < requests 2>stats | python3 $TOP/tests/lib/results.py status requested.limits.memory requested.limits.pids error.kind error.field error.message
| success 128MiB 16 - - -
| success 64MiB 16 - - -
| rejected - - rejected limits.memory limits.memory: 1GiB is more than the operator grants; at most 128MiB
| success 32MiB 7 - - -
|~ ^rejected - - rejected network.mode network.mode: "host" is more than the operator grants
|~ ^rejected - - rejected network.mode 
|~ ^rejected - - invalidRequest policy "stict" is not a preset; .*"strict"
|~ ^rejected - - invalidRequest policy.limits.memori policy:1: limits.memori: unknown key; did you mean "memory"

= scopes narrow as well: the operator's, and the request's own
+ printf '%s\n' '{"id": 1, "language": "bash", "code": "true"}' '{"id": 2, "language": "bash", "code": "true", "scopes": []}' '{"id": 3, "language": "sh", "code": "true", "scopes": ["code:execute:bash"]}' '{"id": 4, "language": "bash", "code": "true", "scopes": ["code:execute:bash", "mail:read"]}' '{"id": 5, "language": "bash", "code": "true", "scopes": ["code:execute", "code:network"]}' '{"id": 6, "language": "bash", "code": "true", "scopes": ["code:netwrok"]}' > requests
$ warder tool --stream --net host < requests 2>stats | python3 $TOP/tests/lib/results.py id status error.field error.message; warder tool --stream --scopes code:execute:bash < requests 2>stats | python3 $TOP/tests/lib/results.py id status error.field error.message
| 1 success - -
| 2 rejected scopes code in bash needs the scope code:execute or code:execute:bash
| 3 rejected scopes code in sh needs the scope code:execute or code:execute:sh
| 4 rejected network.mode a policy with network needs the scope code:network
| 5 success - -
| 6 rejected scopes[0] request:6: scopes[0]: "code:netwrok" is not a scope; did you mean "code:network"?
| 1 success - -
| 2 rejected scopes code in bash needs the scope code:execute or code:execute:bash
| 3 rejected scopes the operator's scopes: code in sh needs the scope code:execute or code:execute:sh
| 4 success - -
| 5 success - -
| 6 rejected scopes[0] request:6: scopes[0]: "code:netwrok" is not a scope; did you mean "code:network"?

= the operator's ceiling applies to the policy of the flags, and to a request's own policy
needs place
+ mkdir -p open/kept other; ln -s ../../other open/kept/link; warder policy show strict | sed "s|\"readOnly\": \[\]|\"readOnly\": [\"$PWD/open\"]|" > ceiling.json
$ warder tool --ceiling ceiling.json --net host < /dev/null; echo $?; printf '{"language": "bash", "code": "ls", "policy": {"version": 1, "limits": {"wallTime": 5}, "filesystem": {"paths": {"readOnly": ["%s"]}}}}' $PWD/open/kept | warder tool --ceiling ceiling.json --ro open | python3 $TOP/tests/lib/results.py status error.message; printf '{"language": "bash", "code": "ls", "policy": {"version": 1, "limits": {"wallTime": 5}, "filesystem": {"paths": {"readOnly": ["%s"]}}}}' $PWD/open/kept/link | warder tool --ceiling ceiling.json --ro open | python3 $TOP/tests/lib/results.py status error.kind error.message
!~ ^warder: network.mode: "host" is more than the operator grants
| 125
| success -
|~ ^rejected rejected .*filesystem.paths.readOnly

= all that a request asks beyond the flags' policy is in its result
$ echo '{"language": "python", "code": "1", "memory": "256MiB", "policy": "strict-python"}' | warder tool --cpus 0.5 --memory 128MiB --timeout 10s | python3 -c 'import json, sys; e = json.load(sys.stdin)["error"]; print(e["field"], [v["field"] for v in e["violations"]], e["violations"][0]["message"] == e["message"])'; warder tool --memory 256MiB --cpus 2 --ceiling /dev/stdin <<< '{"version": 1, "limits": {"wallTime": "30s", "memory": "128MiB"}}'
| limits.wallTime ['limits.wallTime', 'limits.memory', 'limits.cpus'] True
! warder: limits.memory: 256MiB is more than the operator grants; at most 128MiB
! warder: limits.cpus: 2 is more than the operator grants; at most 1
? 125

= files in and out
$ echo '{"language": "python", "code": "data = open(\"in/a.bin\", \"rb\").read()\nopen(\"b.bin\", \"wb\").write(data[::-1])\nopen(\"c.txt\", \"w\").write(\"c\")", "files": [{"name": "in/a.bin", "content": "AAH/", "encoding": "base64"}], "collect": ["*.bin"]}' | warder tool | python3 -c 'import json, sys; print([(a["name"], a.get("base64")) for a in json.load(sys.stdin)["artifacts"]])'
| [('b.bin', '/wEA')]

= no file is taken where none is wanted
$ echo '{"language": "bash", "code": "echo > new", "collect": []}' | warder tool | grep -o '"artifacts":\[\]'
| "artifacts":[]

= a value in, a value out; or in the last line
$ printf '%s\n' '{"language": "python", "code": "import json\nv = json.load(open(4))\njson.dump({\"n\": v[\"n\"] + 1}, open(3, \"w\"))", "input": {"n": 1}}' '{"language": "bash", "code": "echo dbg; echo {}", "lastLine": true}' | warder tool --stream 2>stats | grep -o '"output":{[^}]*}'
| "output":{"n":2}
| "output":{}

= code is checked without being run
$ printf '%s\n' '{"language": "python", "code": "print(", "check": true}' '{"language": "python", "code": "print(1)", "check": true}' | warder tool --stream 2>stats | python3 -c 'import json, sys
> for line in sys.stdin: r = json.loads(line); print(r["status"], [s["name"] for s in r["stages"]], r["stdout"]["text"])'
| compileFailed ['check'] 
| success ['check'] 

= a request that fails for lack of a resource is tried again, as often as it asks
needs gcc
+ echo > file
$ echo '{"language": "c", "code": "int main(void) { return 0; }", "retries": {"attempts": 3, "delayMs": 10}}' | warder tool --cache $PWD/file/cache | python3 $TOP/tests/lib/results.py attempts status error.kind; echo '{"language": "bash", "code": "exit 1", "retries": {"attempts": 3}}' | warder tool | python3 $TOP/tests/lib/results.py attempts status error.kind
| 3 rejected unavailable
| 1 failed -

# Once more where the first attempt came too late to miss it.
= and may be there the next time
needs gcc
$ for i in $(seq 10); do echo > file; (sleep 0.5; rm file) & echo '{"language": "c", "code": "int main(void) { return 0; }", "retries": {"attempts": 5, "delayMs": 1000}}' | warder tool --cache $PWD/file/cache | python3 $TOP/tests/lib/results.py attempts status > said; wait; grep -q '^1 ' said || break; rm -r file; done; cat said
|~ ^[2-5] success$

= 200 requests, 100 at the same time, in order
needs perl storm
$ python3 $TOP/tests/lib/requests.py many --parallel 100
| many: as expected

= many requests, as they come
needs perl storm
$ python3 $TOP/tests/lib/requests.py many --parallel 8 --unordered
| many: as expected

= the parent does not grow with the number of requests
$ python3 $TOP/tests/lib/requests.py memory
| memory: as expected

= a supervisor that is killed leaves nothing
$ python3 $TOP/tests/lib/requests.py killed
| killed: as expected

= a signal ends all runs, and unfinished requests have no result
$ python3 $TOP/tests/lib/requests.py signal
| signal: as expected

= a killed worker is reported in the result
needs pgrep
$ n=1$$; mkfifo go; warder tool < go > out & tool=$!; exec 5>go; echo '{"id": "me", "language": "bash", "code": "sleep '$n'"}' >&5; exec 5>&-; for i in $(seq 600); do worker=$(pgrep -n -P $tool) && pgrep -f "^sleep $n\$" > /dev/null && break; sleep 0.05; done; kill -9 $worker; wait $tool; status=$?; grep -o '.*"message":"[^"]*"' out; echo $status
| {"id":"me","line":1,"attempts":1,"status":"rejected","error":{"kind":"internal","field":null,"step":null,"message":"the process at work on the request was ended by SIGKILL"
| 0

= a reader that goes away ends it
$ (for i in 1 2 3 4 5 6; do echo '{"language": "bash", "code": "head -c 1000000 /dev/zero | tr \"\\0\" x"}'; done) | warder tool --stream --parallel 1 2>stats | head -c 10 | wc -c; echo ${PIPESTATUS[1]}
| 10
| 141

= a request that is too large
$ (echo '{"language": "bash", "code": "true"}'; head -c 40000000 /dev/zero | tr '\0' x; echo; echo '{"language": "bash", "code": "true"}') | warder tool --stream 2>stats | python3 $TOP/tests/lib/results.py line status error.message
| 1 success -
| 2 rejected the request is larger than 32 MiB
| 3 success -

= values without end do not take the memory
$ (printf '{"language": "bash", "code": "true", "input": ['; yes 0, | tr -d '\n' | head -c 60000000; echo '0]}') 2>&1 | head -c 31000000 | warder tool | python3 $TOP/tests/lib/results.py error.message
|~ request:1:[0-9]+: (more values than are read of one document|.*larger)

= flags that are wrong
$ warder tool --parallel 0 < /dev/null; echo $?; warder tool --scopes code:exec < /dev/null; echo $?; warder tool --policy - < /dev/null; echo $?; warder tool x < /dev/null
!~ ^warder: --parallel 0: give a number from 1 to 100
!~ ^warder: --scopes: "code:exec" is not a scope; 
!~ ^warder: standard input is for requests; name a file
!~ ^warder: requests come on standard input
| 125
| 125
| 125
? 125

= a stream's message names the line; files are collected below the working directory; containers need their scope
$ printf '%s\n' '{"language": "bash", "code": "true"}' '{"code": ' '{"language": "bash", "code": "true", "collect": ["out/*", "a/../../*"]}' '{"language": "bash", "code": "true", "collect": ["/etc/*"]}' '{"language": "bash", "code": "true", "scopes": ["code:execute"], "backend": "crun"}' | warder tool --stream 2>stats | python3 $TOP/tests/lib/results.py status error.field error.message
| success - -
|~ ^rejected request request:2:10: 
|~ ^rejected collect the pattern "a/\.\./\.\./\*" leads out by \.\.
|~ ^rejected collect the pattern "/etc/\*" begins with /
| rejected backend a backend that makes containers needs the scope code:execute:container

= a request sets variables that the operator grants, its working directory and its identity
$ printf '%s\n' '{"id": "1", "language": "bash", "code": "echo $A; pwd", "environment": {"A": "x y"}, "workingDirectory": "/tmp", "identity": "me"}' '{"language": "bash", "code": "true", "environment": {"A": "", "B": "1"}}' '{"language": "bash", "code": "true", "environment": {"A=B": "1"}}' '{"language": "bash", "code": "true", "workingDirectory": "tmp"}' | warder tool --stream --request-env A 2>stats | python3 $TOP/tests/lib/results.py status requestIdentity stdout.text error.kind error.field
| success me "x y\n/tmp\n" - -
| rejected - - rejected environment
| rejected - - invalidRequest environment.A=B
| rejected - - invalidRequest workingDirectory

= the request wins over the policy, and the policy over the language, in variables and the working directory
needs python3
+ cat > requests <<'END'
+ {"language": "python", "code": "import os; print(os.environ[\"PYTHONUNBUFFERED\"], os.getcwd())"}
+ {"language": "python", "code": "import os; print(os.environ[\"PYTHONUNBUFFERED\"], os.getcwd())", "environment": {"PYTHONUNBUFFERED": "3"}, "workingDirectory": "/usr"}
+ END
$ for flags in '' '--set environment.set.PYTHONUNBUFFERED=2 --cwd /tmp'; do warder tool --stream --request-env PYTHONUNBUFFERED $flags < requests 2>stats | python3 $TOP/tests/lib/results.py stdout.text; done
| "1 /tmp/box\n"
| "3 /usr\n"
| "2 /tmp\n"
| "3 /usr\n"

= an empty language is found out, or is the one of the flag
$ printf '%s\n' '{"language": "", "code": "import sys\nprint(sys.argv[1:])"}' '{"code": "echo hi"}' | warder tool --stream 2>stats | python3 $TOP/tests/lib/results.py status language error.kind; echo '{"code": "print(1)"}' | warder tool --default-language python | python3 $TOP/tests/lib/results.py status language
| success python -
|~ .
| success python

= an invocation that is to run once does
$ echo '{"language": "bash", "code": "true", "context": null, "invocation": "i", "executeOnce": true}' | warder tool > 1; python3 -c 'import json; print(json.dumps({"language": "bash", "code": "true", "context": json.load(open("1"))["context"], "invocation": "i", "executeOnce": True}))' | warder tool | python3 $TOP/tests/lib/results.py status error.kind error.field; echo '{"language": "bash", "code": "true", "executeOnce": true}' | warder tool | python3 $TOP/tests/lib/results.py status error.field
| rejected rejected executeOnce
| rejected executeOnce

= a module of WebAssembly is code in wasm only; the start of a run has a date
$ echo '{"language": "python", "code": "AGFzbQEAAAA=", "encoding": "base64"}' | warder tool | python3 $TOP/tests/lib/results.py status error.kind error.message; echo '{"language": "bash", "code": "true"}' | warder tool | grep -o '"startedAt":"20[0-9-]*T[0-9:]*[.][0-9]*Z"' | wc -l
| rejected invalidRequest GuestModule(Wasm) payload requires Wasm language, got Python
| 1

= Go without a package clause is the body of main, and its lines stay those of the source
needs go
$ printf '%s\n' '{"language": "go", "code": "x := 6 * 7\nfmt.Println(x)"}' '{"language": "go", "code": "// what\nfmt.Println(\n  y)"}' '{"language": "go", "code": "/* a */ package main\nfunc main() {}"}' | warder tool --stream 2>stats | python3 $TOP/tests/lib/results.py status stdout.text diagnostics.0.message diagnostics.0.spans.0.lineStart diagnostics.0.spans.0.columnStart diagnostics.0.spans.0.text
| success "42\n" - - - -
|~ ^compileFailed .* undefined: y 3 3 .*y\)
|~ ^success .* - - - -$

= Go without a package clause keeps its imports, may have a main of its own, and is refused for a named function without one
needs go
+ cat > requests <<'END'
+ {"language": "go", "code": "// what\nimport \"os\"\n\nos.Stdout.WriteString(\"a\\n\")\nfmt.Println(1)"}
+ {"language": "go", "code": "import (\n\t\"fmt\"\n\tstr \"strings\"\n)\n\nfmt.Println(str.ToUpper(\"b\"))"}
+ {"language": "go", "code": "import \"os\"; import \"sort\"; s := []int{2, 1}; sort.Ints(s); fmt.Println(s, os.Args)\n\n  y()"}
+ {"language": "go", "code": "import \"os\"; z()\nfmt.Println(os.Args)"}
+ {"language": "go", "code": "import \"os\"\n\nfunc one() int { return len(os.Args) }\n\nfunc main() { fmt.Println(one()) }"}
+ {"language": "go", "code": "func one() int { return 1 }\nfunc main() { z() }"}
+ {"language": "go", "code": "one := func() int { return 1 }\nfmt.Println(one())"}
+ {"language": "go", "code": "import \"fmt\"\n\nfunc one() int { return 1 }\nfmt.Println(one())"}
+ END
$ warder tool --stream 2>stats < requests | python3 $TOP/tests/lib/results.py status stdout.text error.message diagnostics.0.message diagnostics.0.spans.0.lineStart diagnostics.0.spans.0.columnStart
| success "a\n1\n" - - - -
| success "B\n" - - - -
|~ ^compileFailed .* undefined: y 3 3$
|~ ^compileFailed .* undefined: z 1 14$
| success "1\n" - - - -
|~ ^compileFailed .* undefined: z 2 15$
| success "1\n" - - - -
| rejected - line 3: the function one stands in Go without a package clause, which is the body of main; put the statements into func main() { ... } - - -

= a preset with a workspace that has no directory works without one
$ echo '{"language": "python", "code": "open(\"a\", \"w\").write(\"x\"); print(1)"}' | warder tool --preset agent | python3 $TOP/tests/lib/results.py status stdout.text artifacts.0.name
| success "1\n" a

= the definition of a tool, whose example is a request, with the scopes that the policy and the backend need
needs limits python3
$ warder tool --schema python_code | python3 -c 'import json, sys; t = json.load(sys.stdin); print(t["name"], t["scopes"], t["inputSchema"]["required"]); p = t["inputSchema"]["properties"]; v = {"string": "", "array": ["a"], "number": 5}; r = {k: v[p[k].get("type", "array")] for k in p}; r.update(code="print(7)", language=p["language"]["enum"][0]); json.dump(r, open("r", "w"))'; warder tool < r | grep -o '"stdout":{"text":"7'; warder tool --schema code_exec --backend runc --set network.mode=host --rw /srv | tr -d ' \n' | grep -o '"scopes".*'; warder tool --schema cobol_code
| python_code ['code:execute'] ['language', 'code']
| "stdout":{"text":"7
| "scopes":["code:execute","code:execute:container","code:network","code:filesystem:write"]}
!~ ^warder: --schema "cobol_code": unknown tool; 
? 125
