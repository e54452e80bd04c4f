# warder judge: one program, many cases.

needs limits python3

= verdicts, in the order of the cases
+ cat > batch.json <<'END'
+ {"language": "python", "limits": {"memory": "64MiB"},
+  "code": "import os, sys\nn = int(input())\nif n == 3: sys.exit('no three')\nif n == 4:\n    while True: pass\nif n == 5: x = bytearray(1 << 30)\nif n == 6: print('x' * 10 ** 7)\nif n == 7: os.kill(os.getpid(), 11)\nprint(n * n)",
+  "cases": [{"stdin": "1", "expected": "1"}, {"stdin": "2", "expected": "5", "name": "two"}, {"stdin": "3", "expected": "9"}, {"stdin": "4", "expected": "16", "timeout": 1},
+            {"stdin": "5", "expected": "25"}, {"stdin": "6", "expected": "36"}, {"stdin": "7", "expected": "49"}, {"stdin": "8"}, {"stdin": "9", "expected": "81.1", "compare": "float:0.01"}]}
+ END
$ warder judge batch.json | sed 's/ *[0-9]* ms *[0-9.]* MiB//'
| 1                accepted
| two              wrongAnswer  line 1: expected "5", got "4"
| 3                runtimeError  exited with 1
| 4                timeLimit  killed after the wall time of 1s
|~ ^5                memoryLimit  killed at the memory limit of 64MiB
| 6                outputLimit  10000004 bytes of output (output.stdout)
| 7                runtimeError  ended by signal 11
| 8                accepted
| 9                accepted
| wrongAnswer: 3 of 9 cases accepted

= as an object
+ cat > show <<'END'
+ import json, sys
+ r = json.load(sys.stdin)
+ print(*r)
+ print(r["language"], r["build"], r["verdict"], r["firstFailure"], {k: v for k, v in r["counts"].items() if v}, *r["most"])
+ for c in r["cases"]:
+     print(c["name"], c["verdict"], *[json.dumps(c.get(k)) for k in ("status", "cause", "exitCode", "signal", "difference", "stderr")])
+ END
$ echo '{"language": "bash", "code": "read x; echo first; echo $((x + 1)); [ $x != 3 ] || { echo why >&2; exit 5; }", "cases": [{"stdin": "1\n", "expected": "first\n2\n"}, {"stdin": "2\n", "expected": "first\n2\nlast\n"}, {"stdin": "3\n", "expected": ""}]}' | warder judge --json | python3 show
| language build cases verdict firstFailure counts most
| bash None wrongAnswer 2 {'accepted': 1, 'wrongAnswer': 1, 'runtimeError': 1} wallUs cpuTimeUs peakMemoryBytes
| 1 accepted "success" "exit" 0 null null null
| 2 wrongAnswer "success" "exit" 0 null {"line": 2, "column": 1, "expected": "2", "got": "3"} null
| 3 runtimeError "failed" "exit" 5 null null "why\n"

= a NUL is a difference that is seen
$ printf '%s\n' '{"language": "bash", "code": "printf \"42\\\\0\"", "cases": [{"expected": "42"}]}' | warder judge
|~ ^1 +wrongAnswer .*line 1: expected "42", got "42\\u0000"$
| wrongAnswer: 0 of 1 cases accepted
? 1

= the exit status: 0 accepted, 1 not
$ echo '{"language": "bash", "code": "cat", "cases": [{"stdin": "a", "expected": "a"}]}' | warder judge > /dev/null; echo $?; echo '{"language": "bash", "code": "cat", "cases": [{"stdin": "a", "expected": "b"}]}' | warder judge > /dev/null
| 0
? 1

= with stopOnFirstFailure, cases after the first failure are skipped, however many run at once
$ echo '{"language": "bash", "code": "cat", "stopOnFirstFailure": true, "parallel": 8, "cases": [{"stdin": "a", "expected": "a"}, {"stdin": "a", "expected": "b"}, {"stdin": "c", "expected": "c"}, {"stdin": "d", "expected": "e"}]}' | warder judge | sed 's/ *[0-9]* ms *[0-9.]* MiB//; s/ *$//'
| 1                accepted
| 2                wrongAnswer  line 1: expected "b", got "a"
| 3                skipped
| 4                skipped
| wrongAnswer: 1 of 4 cases accepted

= a program is built once, with and without a cache
+ echo '{"languages": [{"name": "stamp", "file": "stamp", "build": ["sh", "-c", "od -An -N8 -tx8 /dev/urandom > {out}/stamp"], "run": ["cat", "{out}/stamp"]}]}' > stamp.json
+ echo '{"language": "stamp", "code": "x", "cases": [{"expected": "x"}, {"expected": "x", "timeout": 3}, {"expected": "x", "memory": "64MiB"}]}' > batch.json
+ cat > show <<'END'
+ import json, sys
+ r = json.load(sys.stdin)
+ stamps = {c["difference"]["got"] for c in r["cases"]}
+ print(r["build"] and [s["name"] + " " + s["status"] for s in r["build"]["stages"]], len(stamps), *[s.strip() for s in stamps], file=open("stamps", "a"))
+ END
$ for flag in --no-cache --no-cache --cache=$PWD/cache --cache=$PWD/cache; do warder judge $flag --languages stamp.json --json batch.json | python3 show; done; sed 's/ [^ ]*$//' stamps; sed 's/.* //' stamps | sort -u | wc -l; ls cache | wc -l
| ['build success'] 1
| ['build success'] 1
| ['build success'] 1
| None 1
| 3
| 1

= code that does not compile
needs gcc
$ echo '{"language": "c", "code": "int main(void) { return x; }", "cases": [{}, {}]}' > batch.json; warder judge batch.json 2>err | sed 's/ *$//'; echo ${PIPESTATUS[0]}; grep -c "'x' undeclared\|‘x’ undeclared" err; warder judge --json batch.json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["verdict"], r["build"]["status"], r["build"]["diagnostics"][0]["spans"][0]["lineStart"], [c["verdict"] for c in r["cases"]])'
| 1                compileError
| 2                compileError
| compileError: 0 of 2 cases accepted
| 1
| 1
| compileError compileFailed 1 ['compileError', 'compileError']

= cases that are files
+ mkdir cases; for i in 1 2 10; do echo $i > cases/$i.in; echo "$((i * 2)) " > cases/$i.out; done; echo 'print(int(input()) * 2)' > double.py
$ warder judge --cases cases double.py | sed 's/ *[0-9]* ms *[0-9.]* MiB//'; warder judge --cases cases --compare exact --stop double.py | tail -n 2
| 1                accepted
| 2                accepted
| 10               accepted
| accepted: 3 of 3 cases accepted
| 10               skipped     
| wrongAnswer: 0 of 3 cases accepted

= input is passed on as it is, however large, and so are arguments
+ mkdir cases; head -c 20000000 /dev/urandom > cases/big.in; sha256sum < cases/big.in > cases/big.out; echo 'sha256sum; [ "$1" = one ]' > sum.sh
$ warder judge --cases cases sum.sh one | tail -n 1
| accepted: 1 of 1 cases accepted

= files that do not belong together
+ mkdir cases; touch cases/a.in cases/b.out; echo true > a.sh
$ warder judge --cases cases a.sh; echo $?; rm cases/b.out; warder judge --cases cases a.sh; echo $?; warder judge --cases cases --compare none a.sh | tail -n 1; warder judge --cases nowhere a.sh; echo $?; mkdir empty; warder judge --cases empty a.sh
!~ ^warder: (cases/a.out, beside a.in|cases/b.in, beside b.out): No such file or directory
! warder: cases/a.out, beside a.in: No such file or directory
! warder: cannot read nowhere: No such file or directory
! warder: empty has no NAME.in
| 125
| 125
| accepted: 1 of 1 cases accepted
| 125
? 125

= a case may narrow the policy, and not widen it
$ echo '{"language": "bash", "code": "true", "cases": [{}, {"memory": "1GiB"}]}' | warder judge --json; echo; echo '{"language": "bash", "code": "sleep 10", "cases": [{"timeout": "200ms"}, {"timeout": "31s"}]}' | warder judge
| {"status":"rejected","error":{"kind":"rejected","field":"cases[1] limits.memory","step":null,"message":"cases[1]: limits.memory: 1GiB is more than the operator grants; at most 512MiB"}}
|
! warder: cases[1]: limits.wallTime: 31s is more than the operator grants; at most 30s
? 125

= a document that is wrong
$ echo '{"language": "bash", "code": "true", "case": []}' | warder judge; echo $?; echo '{"language": "bash", "code": "true", "cases": [{"expected": 1}]}' | warder judge; echo $?; echo '{"language": "none", "code": "true", "cases": [{}]}' | warder judge; echo $?; warder judge --compare lines < /dev/null; echo $?; warder judge /nowhere
! warder: batch:1: case: unknown key; did you mean "cases"?
! warder: batch:1: cases[0].expected: a number where a string is expected
!~ ^warder: "none" is not a language
! warder: the document says so; the flag is for --cases
! warder: cannot read /nowhere: No such file or directory
| 125
| 125
| 125
| 125
? 125

= a file of code in place of the document
$ echo 'print(1)' > a.py; warder judge a.py; echo $?; warder judge < a.py; echo $?; echo '{' > half.json; warder judge half.json
! warder: a.py is no JSON document; to judge a file of code, name a directory with its cases: warder judge --cases DIR FILE
! warder: standard input is no JSON document; to judge a file of code, name a directory with its cases: warder judge --cases DIR FILE
!~ ^warder: batch:
| 125
| 125
? 125

= the same verdicts each time, however many cases run at once
+ python3 -c 'import json; print(json.dumps({"language": "perl", "code": "$n = <>; print $n % 7 == 3 ? \"?\" : $n;", "cases": [{"stdin": f"{i}\n", "expected": f"{i}\n"} for i in range(60)]}))' > batch.json
$ for parallel in 1 3 32; do warder judge --json --parallel $parallel batch.json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["verdict"], r["firstFailure"], r["counts"]["accepted"], [c["name"] for c in r["cases"]] == [str(i + 1) for i in range(60)], all((c["verdict"] == "accepted") == (i % 7 != 3) for i, c in enumerate(r["cases"])))'; done
| wrongAnswer 4 51 True True
| wrongAnswer 4 51 True True
| wrongAnswer 4 51 True True

= a signal ends judge, and cases without a verdict are skipped
$ echo '{"language": "bash", "code": "read x; echo $x; sleep $x", "cases": [{"stdin": "0\n", "expected": "0"}, {"stdin": "1001\n", "expected": ""}, {"stdin": "1001\n", "expected": ""}]}' > batch.json; n=1$$; sed -i "s/1001/$n/g" batch.json; warder judge --json --parallel 2 batch.json > out & for i in $(seq 600); do [ "$(pgrep -c -f "^sleep $n\$")" = 2 ] && break; sleep 0.05; done; kill -TERM $!; wait $!; echo $?; python3 -c 'import json; r = json.load(open("out")); print([c["verdict"] for c in r["cases"]], r["verdict"])'; pgrep -c -f "^sleep $n\$"
needs pgrep
| 143
| ['accepted', 'skipped', 'skipped'] skipped
| 0
? 1

= a worker that is killed is a system error
needs pgrep
$ echo '{"language": "bash", "code": "sleep 1002", "cases": [{}]}' > batch.json; n=2$$; sed -i "s/1002/$n/g" batch.json; warder judge --json batch.json > out & judge=$!; for i in $(seq 600); do pgrep -f "^sleep $n\$" > /dev/null && break; sleep 0.05; done; kill -9 $(pgrep -P $judge -x warder); wait $judge; echo $?; grep -o '"verdict":.*"message":"[^"]*"' out
| 1
| "verdict":"systemError","cause":"host","error":{"kind":"internal","field":null,"step":null,"message":"the process at work on the case was ended by SIGKILL"

= each case has a cause, also where it did not run
$ echo '{"language": "c", "code": "int main(", "cases": [{"stdin": "", "expected": ""}]}' | warder judge --json | grep -o '"cases":.*\],"verdict'; echo '{"language": "bash", "code": "echo x", "cases": [{"stdin": "", "expected": "1"}, {"stdin": "", "expected": "x"}]}' | warder judge --stop --parallel 1 --json | grep -o '"name":"2".*\],"verdict'
| "cases":[{"name":"1","verdict":"compileError","cause":"exit"}],"verdict
| "name":"2","verdict":"skipped","cause":"cancelled"}],"verdict

= variables and the working directory of all cases
$ echo '{"language": "bash", "code": "echo $A; pwd", "environment": {"A": "z"}, "workingDirectory": "/tmp", "cases": [{"expected": "z\n/tmp\n"}]}' > doc; warder judge --request-env A doc | tail -n 1; warder judge doc
| accepted: 1 of 1 cases accepted
! warder: the variable A is not granted; the operator grants it by --request-env A
? 125

= a published port: one case at a time, at a port that the caller names
$ echo '{"language": "bash", "code": "true", "cases": [{}, {}]}' > doc; warder judge --parallel 2 --publish 8806:80 doc; warder judge --publish 8806:80 --publish 0:81 doc; warder judge --parallel 1 --publish 8806:80 doc | tail -n 1
| accepted: 2 of 2 cases accepted
! warder: --publish 8806:80: network.publish[0]: 2 cases run at the same time, and port 8806 of the host can lead to only one of them; add --parallel 1
! warder: --publish 0:81: network.publish[1]: judge does not report the port that Warder picks for each case; name a port of the host instead of 0
