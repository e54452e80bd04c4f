# warder tool: what a session remembers of its runs.

needs limits python3

= a context remembers runs, and an invocation that failed often enough is not run again
$ echo '{"language": "bash", "code": "cat a; false", "files": [{"name": "a", "content": "A"}], "context": {}, "invocation": "i"}' | warder tool > 1; for n in 1 2; do python3 -c 'import json; print(json.dumps({"language": "bash", "code": "false", "context": json.load(open("'$n'"))["context"], "invocation": "i"}))' | warder tool > $((n + 1)); done; cat 1 2 3 | python3 $TOP/tests/lib/results.py status attempts context.processedFiles context.errorCounts contextDelta.errorCounts contextDelta.processedFiles error.kind error.field error.message; python3 -c 'import json; print([(r["code"], r["stdout"], r["failed"]) for r in json.load(open("2"))["context"]["results"]["i"]])'
| failed 1 ["a"] {"i": 1} {"i": 1} ["a"] - - -
| failed 1 ["a"] {"i": 2} {"i": 2} - - - -
| rejected 0 ["a"] {"i": 2} - - rejected context the invocation has failed 2 times in a row, of 2 attempts; begin another one
| [('cat a; false', 'A', True), ('false', '', True)]

= a run that succeeds sets the count of its invocation to 0, and other ones are their own
$ printf '%s\n' '{"language": "bash", "code": "true", "context": {"errorCounts": {"i": 2}}, "invocation": "i", "maxAttempts": 3}' '{"language": "bash", "code": "true", "context": {"errorCounts": {"i": 2}}, "invocation": "j"}' '{"language": "bash", "code": "true", "context": null}' '{"language": "bash", "code": "true", "context": {"x": 1}, "invocation": "i"}' '{"language": "bash", "code": "true", "maxAttempts": 0}' '{"language": "bash", "code": "true"}' | warder tool --stream 2>stats | python3 $TOP/tests/lib/results.py status context.errorCounts contextDelta.errorCounts error.kind error.field
| success {} {"i": null} - -
| success {"i": 2} - - -
| rejected {} - invalidRequest invocation
| rejected - - invalidRequest context
| rejected - - invalidRequest maxAttempts
| success - - - -

= the files of a session are given to its code, and the request's own take their place
$ echo '{"language": "bash", "code": "cat a b data/c; echo more >>a", "files": [{"name": "b", "content": "new "}], "context": {"inputFiles": [{"name": "a", "contentType": "text/plain", "content": "kept "}, {"name": "b", "contentType": "text/plain", "content": "old "}, {"name": "data/c", "contentType": "application/octet-stream", "base64": "AP8=", "encoding": "base64"}]}, "invocation": "i"}' | warder tool | python3 $TOP/tests/lib/results.py status stdout.base64 context.processedFiles contextDelta.inputFiles artifacts.0.name
| success a2VwdCBuZXcgAP8= ["b"] - a

= a request that is refused returns its context, so that nobody forgets the failures
$ printf '%s\n' '{"language": "bash", "code": "true", "context": {"errorCounts": {"i": 2}}, "invocation": "i"}' '{"language": "bash", "code": "true", "context": {"errorCounts": {"i": 1}}, "invocation": "i", "policy": "host-local", "files": [{"name": "a", "content": ""}]}' | warder tool --stream 2>stats | python3 $TOP/tests/lib/results.py status error.field context.errorCounts context.processedFiles
| rejected context {"i": 2} []
|~ ^rejected network.mode \{"i": 1\} \[\]$
