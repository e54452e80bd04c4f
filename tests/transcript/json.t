# What the tool prints as JSON, read by a parser that is not Warder's: see tests/lib/second_reader.c.
needs second_reader

= the policy commands
$ for preset in strict strict-python strict-js agent build workflow host-local; do warder policy show $preset; done | second_reader
| 7 objects, 0 others

= a policy, explained
$ for backend in local process wasm builtin crun; do warder explain --json --backend $backend strict 2> /dev/null; done | second_reader
| 5 objects, 0 others

= doctor, backends and languages
$ { warder doctor --json; warder doctor --matrix --json; warder backend list --json; warder backend describe local --json; warder languages --json; } | second_reader
| 3 objects, 2 others

= results, with a control character, a byte that is not UTF-8 and a number at the edge of what a double holds
needs limits
$ { warder run --json -- true; warder run --json -- printf '\001"\\\t\377'; warder run --json --timeout 200ms -- sleep 9; warder run --json -- sh -c 'kill -9 $$'; warder run --json -- /absent; } | second_reader
| 5 objects, 0 others

= results of code
needs limits python3
$ { warder code --json --language python - <<< 'import json, os; print("é\u0001", file=open(3, "w"))' ; warder code --json --language python - <<< 'x ='; } 2> /dev/null | second_reader
| 2 objects, 0 others

= refusals
$ { warder run --json --set limits.memory=x -- true; warder run --json --bogus; warder code --json --language none x; } 2> /dev/null | second_reader
| 3 objects, 0 others

= requests of a model, answered
needs limits python3
+ echo '{"language": "python", "code": "print(1)"}' > good; echo '{"language": "python", "code": "x ="}' > wrong; echo '{"language": "python"' > broken
$ for request in good wrong broken; do warder tool < $request; done 2> /dev/null | second_reader
| 3 objects, 0 others

= definitions of tools, blocks, and a scan
+ printf '```python\nprint("é")\n```\n' > answer; printf 'import os\nos.system("x")\n' > code.py
$ { for tool in python_code javascript_code frontend_code code_exec; do warder tool --schema $tool; done; warder blocks --json answer; warder scan --json --language python code.py; } | second_reader
| 6 objects, 0 others

= stored workspaces, images and events
needs warder-store
$ warder workspace create job > /dev/null && echo x | warder workspace write job a && { warder workspace list --json; XDG_RUNTIME_DIR=$PWD warder session list --json; warder image list --json; warder artifact list --json; } | second_reader
| 0 objects, 4 others
