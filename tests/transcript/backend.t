# Backends: who there is, a module's engine, a model's provider, and who may choose.

= the list has every backend
$ warder backend list | awk '{ print $1, $2 }'
| backend isolation
| local namespaceJail
| crun containerEphemeral
| runc containerEphemeral
| runsc containerEphemeral
| podman containerEphemeral
| docker containerEphemeral
| wasm inProcess
| builtin providerHosted
| process none

= a disabled backend says how the operator enables it
$ warder backend describe process | grep -A1 '^  state'
|~ ^  state +off$
|~ isolates nothing and is disabled; the operator enables it with \{"enable": \["process"\]\}

= for a program, the same
$ warder backend --json describe builtin | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["name"], d["isolation"], d["languages"], d["state"], d["autoPlace"], d["declares"], sorted({c["enforced"] for c in d["controls"].values()}))'
| builtin providerHosted ['python'] off None True [False]

= the abilities that a framework looks for; all are false of a backend that starts nothing
$ for name in local builtin; do warder backend --json describe $name | python3 -c 'import json, sys; print(" ".join(name + "=" + str(has) for name, has in json.load(sys.stdin)["abilities"].items()))'; done
| structuredOutput=True processExecution=True persistentWorkspace=True interactiveSessions=True stateful=True longRunning=True streaming=True readOnlyMount=True maxDiskBytes=True
| structuredOutput=False processExecution=False persistentWorkspace=False interactiveSessions=False stateful=False longRunning=False streaming=False readOnlyMount=False maxDiskBytes=False

= the same abilities in the matrix, and where backends are compared
needs limits
$ warder doctor --matrix | sed -n '/^ability/,$p' | tr -s ' ' | cut -d ' ' -f 1,2,9,10; warder doctor --matrix --json | python3 -c 'import json, sys; print(*[name for name, row in json.load(sys.stdin)["abilities"].items() if row["local"] and not row["builtin"]])'; warder explain --backend local,process --json strict | python3 -c 'import json, sys; print(*[sorted(set(row["abilities"].values())) for row in json.load(sys.stdin)["backends"]])'
| ability local builtin process
| structuredOutput yes no no
| processExecution yes no no
| persistentWorkspace yes no no
| interactiveSessions yes no no
| stateful yes no no
| longRunning yes no no
| streaming yes no no
| readOnlyMount yes no no
| maxDiskBytes yes no no
| structuredOutput processExecution persistentWorkspace interactiveSessions stateful longRunning streaming readOnlyMount maxDiskBytes
| [True] [False]
? 0

= for a model: the limits that are enforced, and no others
+ echo '{"enable": ["builtin"]}' > on.json
$ warder backend --backends on.json --for-model describe builtin; warder backend --timeout 7s --for-model describe process | grep -o 'Limits: 7s of time'
| The model's provider executes Python for the model, on machines of its own. No file of this host is there, and no limit of Warder's holds there. Languages: python.
| Limits: 7s of time

= for a model: the destinations that can be reached, with their ports
+ echo '{"version":1,"limits":{"wallTime":1},"network":{"mode":"allow","allow":[{"host":"pypi.org","ports":[443,80]},{"cidr":"10.0.0.0/8","ports":[5432]}]}}' > n.json
$ warder backend --policy n.json --for-model describe local | grep -o 'Reachable: [^)]*), [^)]*)[.]'
| Reachable: pypi.org (ports 443, 80), 10.0.0.0/8 (port 5432).

= for a model: the image that is the root
+ mkdir -p root/bin && tar -C root -cf root.tar . && warder image import root.tar demo > /dev/null
$ warder backend describe local --for-model --view image:demo | grep -o 'The root is [^.]*[.]'
| The root is the image demo.

= unknown words are refused
$ warder backend nonsense; warder backend describe; warder backend describe lokal; warder backend list local; warder backend declare local < /dev/null
!~ ^warder: warder backend nonsense: known: "list", "describe", "declare", "trust"$
!~ ^warder: which one\? warder backend describe NAME
!~ ^warder: there is no backend "lokal"; did you mean "local"\?
!~ ^warder: local is one argument too many
!~ ^warder: the backend local runs code on this host, and is not part of a model; declare builtin$
? 125

= a provider's executor is off
$ echo '{"model": "gemini-2.0-flash"}' | warder backend --prefer all declare builtin
!~ ^warder: the backend builtin has code executed by a model's provider and is disabled; the operator enables it
? 125

= a provider's executor enforces no required field
+ echo '{"enable": ["builtin"]}' > on.json
$ echo '{"model": "gemini-2.0-flash"}' | warder backend --backends on.json declare builtin
!~ ^warder: cannot enforce network, filesystem.view, .*limits.wallTime
? 125

= declare adds the tool to the request, and leaves the rest as it was
+ echo '{"enable": ["builtin"]}' > on.json
$ echo '{"model": "models/gemini-2.5-pro", "n": 1.50, "tools": [{"a": {}}]}' | warder backend --backends on.json --prefer all declare builtin; echo '{"config": null}' | warder backend --backends on.json --prefer all --model gemini-2.0-flash declare builtin; echo '{"model": "gemini-2", "tools": [{"codeExecution": {}}]}' | warder backend --backends on.json --prefer all declare builtin
| {"model":"models/gemini-2.5-pro","n":1.50,"tools":[{"a":{}},{"code_execution":{}}]}
| {"config":{"tools":[{"code_execution":{}}]}}
| {"model":"gemini-2","tools":[{"codeExecution":{}}]}

= declare --json says that no field is enforced
+ echo '{"enable": ["builtin"]}' > on.json; echo '{"model": "gemini-2.0-flash"}' > request.json
$ warder backend --backends on.json --prefer all --json declare builtin request.json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["backend"], d["isolation"], "network.none" in d["notEnforced"], d["request"]["tools"])'
| builtin providerHosted True [{'code_execution': {}}]

= models that have none
+ echo '{"enable": ["builtin"]}' > on.json
$ for model in gemini-1.5-pro gpt-4 gemini-20; do echo '{}' | warder backend --backends on.json --prefer all --model $model declare builtin; done; echo '{}' | warder backend --backends on.json --prefer all declare builtin
!~ ^warder: no built-in code execution is known of the model "gemini-1.5-pro"; known: gemini-2.x
!~ ^warder: no built-in code execution is known of the model "gpt-4"
!~ ^warder: no built-in code execution is known of the model "gemini-20"
!~ ^warder: the request names no model
? 125

= it never runs anything
+ echo '{"enable": ["builtin"]}' > on.json
$ echo 'print(1)' | warder code --backend builtin --backends on.json --prefer all --language python -; echo '{"language": "python", "code": "print(1)"}' | warder tool --backend builtin --backends on.json --prefer all | python3 $TOP/tests/lib/results.py status error.kind
!~ ^warder: the backend builtin executes nothing on this host
| rejected unavailable

= a module exits
needs limits node
+ printf '\0asm\1\0\0\0\1\10\2\140\1\177\0\140\0\0\2\44\1\26wasi_snapshot_preview1\11proc_exit\0\0\3\2\1\1\5\3\1\0\1\7\23\2\6memory\2\0\6_start\0\1\12\10\1\6\0\101\3\20\0\13' > exit.wasm
$ warder code --backend wasm exit.wasm; echo $?; warder code --backend wasm --json exit.wasm | python3 $TOP/tests/lib/results.py status cause exitCode backend isolation passedOver
| 3
| failed exit 3 wasm inProcess -

= a module traps
needs limits node
+ printf '\0asm\1\0\0\0\1\4\1\140\0\0\3\2\1\0\5\3\1\0\1\7\23\2\6memory\2\0\6_start\0\0\12\5\1\3\0\0\13' > trap.wasm
$ warder code --backend wasm trap.wasm; echo $?; warder code --backend wasm --json trap.wasm | python3 $TOP/tests/lib/results.py status cause exitCode detail stderr.text
! wasm trap: unreachable
| 1
| failed trap 1 the module trapped: unreachable "wasm trap: unreachable\n"

= a module that the engine does not accept
needs limits node
+ printf '\0asm\1\0\0\0\1\4\1\140\0\0\2\11\1\3env\1f\0\0\3\2\1\0\5\3\1\0\1\7\23\2\6memory\2\0\6_start\0\1\12\4\1\2\0\13' > env.wasm
$ warder code --backend wasm --json env.wasm | python3 $TOP/tests/lib/results.py status cause exitCode detail
|~ ^failed exit 1 the engine does not take the module: .*env

= imports that are not WASI are refused, although JavaScript objects have members of these names
needs limits node
+ printf '\0asm\1\0\0\0\1\4\1\140\0\0\2\33\1\13constructor\13constructor\0\0\3\2\1\0\5\3\1\0\1\7\23\2\6memory\2\0\6_start\0\1\12\4\1\2\0\13' > outer.wasm
+ printf '\0asm\1\0\0\0\1\4\1\140\0\0\2\43\1\26wasi_snapshot_preview1\10toString\0\0\3\2\1\0\5\3\1\0\1\7\23\2\6memory\2\0\6_start\0\1\12\4\1\2\0\13' > inner.wasm
$ for module in outer inner; do warder code --backend wasm --json $module.wasm | python3 $TOP/tests/lib/results.py status cause exitCode detail; done
| failed exit 1 the engine does not take the module: it imports constructor.constructor, which is not WASI
| failed exit 1 the engine does not take the module: it imports wasi_snapshot_preview1.toString, which is not WASI

= a module that looks for the descriptors of its engine
needs limits node
+ python3 $TOP/tests/lib/forging.py 4 dd . r r/r/../../proc/self/fd dd > made.wasm; python3 $TOP/tests/lib/forging.py 3 dd > found.wasm; python3 $TOP/tests/lib/forging.py 3 proc/self/fd > there.wasm
+ mkdir shared; ln -s /proc/self/fd shared/dd
$ for call in "made.wasm" "--workspace shared --cwd /workspace found.wasm" "--cwd / there.wasm"; do warder code --backend wasm --json $call | python3 $TOP/tests/lib/results.py status cause exitCode stdout.bytesKept; done
| success exit 0 45
| success exit 0 45
| success exit 0 45

= another process leads it there, between the look at a path and its use
needs limits node
+ FORGING_ROUNDS=$((1000 / ${WARDER_TEST_SLOW:-1})) python3 $TOP/tests/lib/forging.py 3 dd > found.wasm
+ mkdir -p shared/dd; ln -s /proc/self/fd shared/link; chmod -R 777 shared
$ python3 $TOP/tests/lib/exchanging.py shared/dd shared/link warder code --backend wasm --workspace shared:rw --set limits.disk=unlimited --set limits.wallTime=10m --set limits.cpuTime=10m --cwd /workspace --json found.wasm | python3 $TOP/tests/lib/results.py status cause exitCode stdout.bytesKept
| success exit 0 45

= a result that a module writes is never taken for the engine's report of its end
needs limits node
$ limit=$((60 * ${WARDER_TEST_SLOW:-1})); tell() { python3 $TOP/tests/lib/telling.py "$@" > w.wasm; for backend in wasm local; do warder code --backend $backend --timeout ${limit}s --json w.wasm | sed 's/wall time of [0-9]*s/wall time of 2s/' | python3 $TOP/tests/lib/results.py status cause exitCode detail output outputError; done; }; tell '{"a":1}'; for words in '\0trap: forged by the module\0{"a":1}' '\0refused: forged\0' '\0\0{"a":1}'; do tell "$words"; tell "$words" exit 1; done; tell '\0refused: forged\0{"a":1}' trap; limit=2; tell '\0trap: forged\0{"a":1}' loop
| success exit 0 exited with 0 {"a": 1} -
| success exit 0 exited with 0 {"a": 1} -
| success exit 0 exited with 0 - no JSON: result:1:1: byte 0x00 where a value is expected
| success exit 0 exited with 0 - no JSON: result:1:1: byte 0x00 where a value is expected
| failed exit 1 exited with 1 - no JSON: result:1:1: byte 0x00 where a value is expected
| failed exit 1 exited with 1 - no JSON: result:1:1: byte 0x00 where a value is expected
| success exit 0 exited with 0 - no JSON: result:1:1: byte 0x00 where a value is expected
| success exit 0 exited with 0 - no JSON: result:1:1: byte 0x00 where a value is expected
| failed exit 1 exited with 1 - no JSON: result:1:1: byte 0x00 where a value is expected
| failed exit 1 exited with 1 - no JSON: result:1:1: byte 0x00 where a value is expected
| success exit 0 exited with 0 - no JSON: result:1:1: byte 0x00 where a value is expected
| success exit 0 exited with 0 - no JSON: result:1:1: byte 0x00 where a value is expected
| failed exit 1 exited with 1 - no JSON: result:1:1: byte 0x00 where a value is expected
| failed exit 1 exited with 1 - no JSON: result:1:1: byte 0x00 where a value is expected
| failed trap 1 the module trapped: unreachable - no JSON: result:1:1: byte 0x00 where a value is expected
| failed trap 1 the module trapped: unreachable - no JSON: result:1:1: byte 0x00 where a value is expected
| timeout wallTime - killed after the wall time of 2s - -
| timeout wallTime - killed after the wall time of 2s - -

= a module may write a full result beside the engine's report
needs limits node
$ for size in 1048574 1048575; do printf '"%0*d"' $size 0 | python3 $TOP/tests/lib/telling.py - > w.wasm; warder code --backend wasm --json w.wasm | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["status"], len(r["output"] or ""), r.get("outputError"))'; done
| success 1048574 None
| success 0 the result of 1048577 bytes is larger than its limit of 1048576

= other languages and programs
$ echo 'print(1)' | warder code --backend wasm --language python -; warder run --backend wasm -- true
!~ ^warder: the language "python" is not available with the backend wasm; available: wasm
!~ ^warder: the language "command" is not available with the backend wasm; available: wasm
? 125

= policies that a WebAssembly module cannot have are refused
needs limits node
+ printf '\0asm\1\0\0\0\1\4\1\140\0\0\3\2\1\0\5\3\1\0\1\7\23\2\6memory\2\0\6_start\0\0\12\5\1\3\0\0\13' > trap.wasm
$ warder code --backend wasm --net loopback trap.wasm; warder code --backend wasm --net host trap.wasm; warder code --backend wasm --set syscalls.onViolation=kill trap.wasm; warder code --backend wasm --ro /usr/bin/env trap.wasm
!~ ^warder: cannot enforce network: network.loopback: WASI preview 1 gives a module no sockets
!~ ^warder: network.mode host: WASI preview 1 gives a module no sockets
!~ ^warder: cannot enforce syscalls: .*a module makes no system calls that it could be killed for
!~ ^warder: --ro /usr/bin/env: filesystem.paths.readOnly: /usr/bin/env is a file, and a module is given directories
? 125

= without an engine
needs limits
+ mkdir -p root/bin; printf '\0asm\1\0\0\0\1\4\1\140\0\0\3\2\1\0\5\3\1\0\1\7\23\2\6memory\2\0\6_start\0\0\12\5\1\3\0\0\13' > trap.wasm
$ warder code --backend wasm --view directory:root --json trap.wasm | python3 $TOP/tests/lib/results.py status error.kind error.message
|~ ^rejected unavailable the backend wasm: the language wasm is not available: there is no node, nor wasmtime in the view of .*; install Debian's package nodejs there$

= a request chooses among the backends of the operator
needs limits bash
+ echo '{"order": ["local"]}' > order.json
$ echo '{"language": "bash", "code": "true", "backend": "local"}' | warder tool --backends order.json | python3 $TOP/tests/lib/results.py status backend passedOver; for backend in crun process nonsense; do echo '{"language": "bash", "code": "true", "backend": "'$backend'"}'; done | warder tool --stream --backends order.json 2>/dev/null | python3 $TOP/tests/lib/results.py status error.kind error.field error.message
| success local -
|~ rejected rejected backend the backend crun is not in the operator's order, so that a request may not choose it
|~ rejected rejected backend the backend process isolates nothing and is disabled; 
|~ rejected invalidRequest backend there is no backend "nonsense"; 

= a request cannot choose a backend other than the operator's
needs limits bash
$ echo '{"language": "bash", "code": "true", "backend": "crun"}' | warder tool --backend local | python3 $TOP/tests/lib/results.py status error.message
| rejected the operator has chosen the backend local; a request may not choose another

= auto reports the backends that it passed over
needs limits bash
+ echo '{"order": ["wasm", "local"]}' > order.json
$ echo '{"language": "bash", "code": "true"}' | warder tool --backend auto --backends order.json | python3 $TOP/tests/lib/results.py status backend passedOver; echo '{"language": "bash", "code": "cat", "cases": [{"stdin": "1", "expected": "1"}]}' | warder judge --backend auto --backends order.json --json | python3 -c 'import json, sys; c = json.load(sys.stdin)["cases"][0]; print(c["verdict"], c["backend"], c["isolation"], c["passedOver"])'
|~ ^success local wasm: the language "bash" is not available with the backend wasm; available: wasm$
|~ ^accepted local namespaceJail wasm: the language "bash"

= the environment may name the backend; a flag wins
$ WARDER_BACKEND=nope warder run -- true; WARDER_BACKEND=local warder run --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids --prefer limits.cpuTime --json -- true | grep -o '"backend":"local"' | head -n 1; WARDER_BACKEND=nope warder run --backend process -- true; WARDER_BACKEND=process warder run -- true; WARDER_BACKEND=nope warder explain strict > explained; WARDER_BACKEND=nope warder doctor --json > /dev/null; [ $? -le 1 ]
| "backend":"local"
!~ ^warder: WARDER_BACKEND: there is no backend "nope"; known: 
!~ ^warder: .*isolates nothing and is disabled
!~ ^warder: .*isolates nothing and is disabled
? 0

= the variable is the default of code, tool, judge and the start of a session, too
needs limits bash
$ export WARDER_BACKEND=process; echo true | warder code --language bash -; echo '{"language": "bash", "code": "true"}' | warder tool | python3 $TOP/tests/lib/results.py status error.message; echo '{"language": "bash", "code": "true", "cases": [{"expected": ""}]}' | warder judge --json | python3 $TOP/tests/lib/results.py status error.message; WARDER_BACKEND=nope warder session start never
|~ ^rejected .*isolates nothing and is disabled
|~ ^rejected .*isolates nothing and is disabled
!~ ^warder: .*isolates nothing and is disabled
!~ ^warder: WARDER_BACKEND: there is no backend "nope"; known: 
? 125

= an absent engine: the refusal names the package to install
needs user unshare
+ cat > in.sh <<'END'
+ for program in crun runc podman dockerd node nodejs wasmtime; do
+     for file in $(bash -c "type -ap $program" | xargs -r realpath | sort -u); do mount --bind /dev/null "$file" || exit; done
+ done
+ for backend in crun runc podman docker runsc; do warder run --backend $backend -- true; done
+ warder explain strict --backend podman | grep -c "install Debian's package podman"
+ END
$ unshare -m --propagation private sh in.sh
|~ ^[1-9]
!~ ^warder: there is no crun in /usr/bin, /usr/sbin, ...; install Debian's package crun, or use local$
!~ ^warder: there is no runc in /usr/bin, /usr/sbin, ...; install Debian's package runc, or use local$
!~ ^warder: podman is driven with podman, and there is none in /usr/bin, /usr/sbin, ...; install Debian's package podman, or use local$
!~ ^warder: docker is driven with crun, and there is none in /usr/bin, /usr/sbin, ...; install Debian's package crun, or use local$
!~ ^warder: .*runsc
? 0

= for a model: the granted limits, and where code finds its input
needs limits
$ warder backend describe local --for-model --pids 1 | grep -o '[^ ]* CPUs*,\|1 process[^,]*'; warder backend describe local --for-model --ro /usr/share --env A=1 --env HOME --cpus 0.5 | grep -o '0.5 CPUs\|For reading: [^.]*[.]\|Variables: [^.]*[.]\|[$]WARDER_[A-Z]* '; warder backend describe builtin --for-model --ro /usr/share --env A=1 | grep -c 'Variables\|For reading'
| 1 CPU,
| 1 process or thread
| 0.5 CPUs
| For reading: /usr/share.
| Variables: HOME, A.
| $WARDER_INPUT 
| $WARDER_RESULT 
| 0
? 1
