# warder explain, policy, doctor, help and completion.

= explain ends with the verdict
$ warder explain --prefer limits | tail -n 1
| It would run.

= explain says whether jails of the policy can be parked, and why not
$ pool() { warder explain --prefer limits "$@" | grep '^  pool' | tr -s ' ' | cut -d' ' -f3-; }; pool; pool --allow 192.0.2.0/24:443; pool --set syscalls.deny=recvmsg
| its jails can be parked
| a pool keeps no jails that connect (network.allow, network.publish); launch each by itself
| a pool's jails take their streams by recvmsg, which the policy denies; launch each by itself

= the same in JSON
$ pool() { warder explain --json --prefer limits "$@" | python3 -c 'import json, sys; p = json.load(sys.stdin)["plan"]; print(p["pooled"], p["pooledReason"])'; }; pool; pool --set syscalls.deny=recvmsg
| True None
| False a pool's jails take their streams by recvmsg, which the policy denies; launch each by itself

= explain names the ports of a host that is given without any
$ warder explain --prefer limits --allow a.org --allow 10.0.0.0/8:22 --allow @npm | grep -o 'allow a.org.*@npm'
| allow a.org:443,80 10.0.0.0/8:22 @npm

= explain of a preset
needs limits
$ warder explain strict | sed -n '1p;$p'
| Backend local
| It would run.

= explain names the fields that would be refused
$ warder explain --workspace .:rw --set limits.disk=1MiB --set filesystem.growth=limited > out; echo $?; grep '^limits.disk ' out | tr -s ' ' | cut -d' ' -f1-4; tail -n 1 out | cut -c1-21
| 125
| limits.disk 1MiB required enforced
| limits.disk 1MiB required refused
| It would be refused: 

= a preferred field that cannot be enforced would run
$ warder explain --prefer filesystem.workspace --prefer limits.disk --set limits.disk=1MiB --workspace .:rw --set filesystem.growth=limited | grep limits.disk | tr -s ' ' | cut -d' ' -f1-4
| limits.disk 1MiB preferred enforced
| limits.disk 1MiB preferred notEnforced

= explain shows the enforced size where it differs from the requested one
needs limits
$ sizes() { warder explain "$@" | grep '^limits.memory\|^filesystem.tmp \|^limits.disk' | grep -o '^[a-zA-Z.]* *[0-9A-Zi]*B\|rounded.*' | tr -s ' '; }; sizes --memory 10000001 --tmp 100001; echo; sizes --memory 10MiB; warder explain --json --memory 10000001 | grep -o '"limits.memory","requested":"10000001B","rounded":"[^"]*"'; warder run --json --memory 10000001 -- true | grep -o '"requested":"10000001B"\|"value":"9998336"' | sort -u
| filesystem.tmp 100001B
| rounded down to 96KiB
| limits.memory 10000001B
| rounded down to 9764KiB
| limits.disk 64MiB
| 
| filesystem.tmp 64MiB
| limits.memory 10MiB
| limits.disk 64MiB
| "limits.memory","requested":"10000001B","rounded":"9764KiB"
| "requested":"10000001B"
| "value":"9998336"

= explain as an object
needs limits python3
$ warder explain --json | python3 -c 'import json, sys; e = json.load(sys.stdin); print(*e); print(*e["fields"][0]); print(e["wouldRun"], "PATH" in e["plan"]["environment"], "user" in e["plan"]["namespaces"])'
| backend isolation passedOver wouldRun refusal fields plan
| field control requested rounded enforcement state mechanism reason
| True True True

= explain of an unknown backend
$ warder explain --backend containers strict | tail -n 1
| It would be refused: there is no backend "containers"; known: "local", "crun", "runc", "runsc", "podman", "docker", "wasm", "builtin", "process"

= explain shows no value of a variable
$ TOKEN=hunter2 warder explain --env TOKEN --env KEY=hunter2 strict | grep -c hunter2
| 0
? 1

= explain without privilege
needs user
$ setpriv --reuid 12345 --regid 12345 --clear-groups warder explain strict | grep -c '^limits'
|~ ^[1-9]

= --set languages=NAME adds to the list, and an empty value empties it
$ warder explain --set languages=python --set languages=javascript | grep '^languages' | tr -s ' ' | cut -d ' ' -f 1,2; warder explain --set languages=python --set languages= --set languages=go | grep '^languages' | tr -s ' ' | cut -d ' ' -f 1,2
| languages python,javascript
| languages go

= several backends, side by side
$ warder explain --backend local,process strict | grep -E '^( |network |processes.identity |isolation|process)' | grep -v '^ ' | tr -s ' '
|~ ^network enforced off
|~ ^processes.spawn unrestricted off
|~ ^processes.identity enforced off
|~ ^isolation namespaceJail -
|~ ^process would refuse it: the backend process isolates nothing

= auto takes the first in the operator's order
needs user
+ echo '{"order": ["docker", "local"]}' > backends.json; chmod 755 .
$ setpriv --reuid 12345 --regid 12345 --clear-groups warder explain --backend auto --backends backends.json --prefer all strict | head -n 2 | cut -c1-80
| Backend local
|~ ^passed over: docker: docker is driven as root only

= a document about backends is read strictly
+ echo '{"order": ["local", "process"]}' > a.json; echo '{"enabled": []}' > b.json; echo '{"enable": ["wasmer"]}' > c.json
$ for f in a b c; do warder explain --backend auto --backends $f.json strict | tail -n 1; done
|~ ^It would be refused: .*a.json: "order" holds a backend that isolates nothing, which auto never takes$
|~ ^It would be refused: .*b.json: "enabled" is not a member; known: "order", "enable", "remote"$
|~ ^It would be refused: .*c.json: there is no backend "wasmer"; .*

= the backend process runs only if the operator enables it, and only under limits that it can enforce
+ echo '{"enable": ["process"]}' > backends.json
$ warder run --backend process -- /bin/true
!~ ^warder: the backend process isolates nothing and is disabled
? 125

= the backend process refuses limits that it cannot enforce
+ echo '{"enable": ["process"]}' > backends.json
$ warder run --backend process --backends backends.json --prefer all --require limits.memory -- /bin/true
!~ ^warder: cannot enforce limits.memory: limits.memory: the backend process isolates nothing
? 125

= the backend process reports that it isolates nothing
needs python3
+ echo '{"enable": ["process"]}' > backends.json
$ warder run --backend process --backends backends.json --prefer all --json -- /bin/sh -c 'echo out; exit 3' | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["backend"], r["isolation"], r["exitCode"], r["stdout"]["text"].strip(), r["receipt"]["isolation"]); print(sorted({c["status"] for c in r["receipt"]["controls"] if c["control"] == "limits.memory"}))'
| process none 3 out none
| ['notEnforced']

= children of a program in the backend process end with it, also in another process session
+ echo '{"enable": ["process"]}' > backends.json
$ n=4$$; warder run --backend process --backends backends.json --prefer all --timeout 1s -- /bin/sh -c 'setsid sleep $0 & setsid setsid sleep $0 & sleep $0' $n; pgrep -fx "sleep $n" | wc -l
| 0
! warder: killed after 1s (limits.wallTime)

= a limit of the output of the backend process is exact
+ echo '{"enable": ["process"]}' > backends.json
$ warder run --backend process --backends backends.json --prefer all --max-output 1000 -- /bin/sh -c 'head -c 5000 /dev/zero' | wc -c
| 1000
! warder: killed: more than 1000B on standard output (--max-output)

# ---- policy

= policy check accepts a valid policy
+ echo '{"version": 1, "limits": {"wallTime": "5s"}}' > a.json
$ warder policy check a.json
| a.json: ok

= policy check refuses an invalid policy, and names the line
+ printf '{"version": 1,\n "limits": {"memori": "1MiB"}}\n' > a.json
$ warder policy check a.json
!~ ^warder: a.json:2: .*memori.*memory
? 125

= every file is checked
+ echo '{"version": 1, "limits": {"wallTime": "5s"}}' > a.json; echo '{' > b.json; cp a.json c.json
$ warder policy check a.json b.json c.json
| a.json: ok
| c.json: ok
!~ ^warder: b.json:
? 125

= without a ceiling, what only a ceiling grants is not granted
$ echo '{"version": 1, "limits": {"wallTime": "5s"}, "network": {"mode": "learn"}}' > learn.json; warder policy ceiling --for learn.json | grep -v '^granted'; echo ${PIPESTATUS[0]}; warder policy ceiling --for learn.json --json | grep -o '"granted":[a-z]*'; warder policy ceiling --for strict | grep '^refused'; echo ${PIPESTATUS[0]}
|~ ^no ceiling: /etc/warder/ceiling.json does not exist, so a policy may ask for anything but network.mode "learn" and inject$
|~ ^refused  network.mode: only a ceiling grants "learn" .--net learn., and there is none
| 125
| "granted":false
| 0

= a preset is a policy, and shown it is one again
$ for p in strict strict-python strict-js agent build workflow host-local; do warder policy show $p > p.json; warder policy show ./p.json | cmp - p.json || echo $p; warder policy check - < p.json > /dev/null || echo $p; done

= an unknown preset
$ warder policy show stricct
!~ strict
? 125

= wrong arguments of policy are answered with the usage
$ warder policy; warder policy ceiling --for; warder policy ceiling --for strict extra; warder policy show strict --for strict
! warder: write "warder policy check FILE...", "warder policy show PRESET|FILE" or "warder policy ceiling [--for PRESET|FILE]"
! warder: write "warder policy check FILE...", "warder policy show PRESET|FILE" or "warder policy ceiling [--for PRESET|FILE]"
! warder: extra is one word too many: policy ceiling [--for PRESET|FILE]
! warder: --for belongs to "warder policy ceiling"; leave it out
? 125

# ---- doctor

= doctor names every feature
needs limits
$ warder doctor > out; echo $?; grep -c 'namespace$' out; grep -A1 'Preset strict' out | tail -n 1 | tr -s ' '
| 0
|~ ^[5678]$
|~ ^ yes can be enforced

= doctor as an object
needs limits python3
$ warder doctor --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(*d); print(d["strict"])'
| features cgroups swapLimit noSwap strict bpfJitLimitBytes bpfJitUsedBytes loadsModules service serviceRefuses leftovers removed
| {'enforceable': True, 'missing': [], 'reason': None}

= doctor takes no argument
$ warder doctor all
! warder: doctor takes no argument such as "all"
? 125

= flags of a policy belong to an attack
$ warder doctor --memory 1GiB
! warder: doctor looks at the host; flags of a policy belong to doctor --attack
? 125

= attack or clean
$ warder doctor --attack --clean
! warder: --attack and --clean are two things to do; give one of them
? 125

= an attack that cannot be made is refused
$ warder doctor --attack --network 2>/dev/null; echo $?; warder doctor --attack --json --allow example.org:443 | python3 -c 'import json, sys; print(json.load(sys.stdin)["status"])'
| 125
| rejected

# ---- help

= version
$ warder --version
|~ ^warder [0-9]+\.[0-9]+\.[0-9]+$

= every command has help with an example that works
needs limits
$ for c in run tool judge changes ps logs attach write kill wait serve explain policy doctor blocks format completion; do warder $c --help > help || echo "no help: $c"; example=$(tail -n 1 help); eval "$example" > /dev/null || echo "fails: $example"; done

= the example of the first page works
needs limits
$ eval "$(warder --help | tail -n 1)"
| hello

= no command
$ warder
! warder: which command? "warder --help" lists them
? 125

= an unknown command
$ warder rum -- true
! warder: unknown command rum; did you mean "run"?
? 125

= a full standard output is an error
$ warder --help > /dev/full
! warder: standard output cannot be written: No space left on device
? 125

= a full standard output is an error for --version, too
$ warder --version > /dev/full
! warder: standard output cannot be written: No space left on device
? 125

= a full standard output is reported once, at the first line
$ warder policy show strict > /dev/full
! warder: standard output cannot be written: No space left on device
? 125

= the completions in docs/ are the printed ones
$ warder completion bash | diff - "$TOP/docs/completion/warder.bash"; warder completion zsh | diff - "$TOP/docs/completion/_warder"; warder completion fish | diff - "$TOP/docs/completion/warder.fish"

= every flag of the help is in the completion for zsh and for fish, and every command
$ for c in run code tool scan judge languages changes explain backend policy doctor blocks format data completion; do warder $c --help | sed -n "s/^  \(-., \)\{0,1\}--\([a-z-]*\).*/$c \2/p"; done | sort -u > all; wc -l < all | awk '{ print ($1 > 100) }'; warder completion zsh > zsh; warder completion fish > fish; while read -r c f; do sed -n "/^\t$c)/,/;;/p" zsh | grep -q -- "--$f\[" || echo "zsh: $c $f"; grep -q "from $c' -l $f " fish || echo "fish: $c $f"; done < all; for c in image workspace events checkpoint artifact snapshot; do warder completion zsh | grep -q "'$c:" || echo "zsh: $c"; warder completion fish | grep -q -- "-a $c " || echo "fish: $c"; done
| 1

= short flags, flags behind words, and a flag that is given twice
needs limits
$ warder run -m 64MiB -e A=1 -w/tmp sh -c 'echo $A; pwd; echo "$@"' -m -x; printf '```py\n1\n```\n' > a; warder blocks a --code 1; echo; warder explain strict --memory 64MiB | tail -n 1; warder -V | cut -d' ' -f1
| 1
| /tmp
| -x
| 1
| It would run.
| warder

= messages about a repeated flag, a flag with another name in other programs, and a flag as it was typed
$ warder run --workspace a --workspace b -- true; warder run -m 1 --memory 2 true; warder run -p 80 -- true; warder run -m 12q true; warder run --mem 1 true; warder run --network none true; warder run -w rel true; warder run -m
! warder: --workspace b: the flag is given a second time; give it once
! warder: --memory 2: the flag is given a second time; give it once
! warder: unknown flag -p; --help lists all flags
!~ ^warder: -m 12q: limits.memory: "12q" is not a size
! warder: unknown flag --mem; did you mean "--memory"?
! warder: unknown flag --network; did you mean "--net"?
! warder: -w rel: the path inside is not absolute; write it from "/" on
! warder: -m needs a value: -m SIZE
? 125

= and in the completion for bash, with those of sessions
$ for c in run code tool scan judge languages changes explain backend policy doctor blocks format data completion session; do warder $c --help | sed -n "s/^  \(-., \)\{0,1\}--\([a-z-]*\).*/$c \2/p"; done | sort -u > all; wc -l < all | awk '{ print ($1 > 300) }'; warder completion bash > c; . ./c; while read -r c f; do COMP_WORDS=(warder $c --$f) COMP_CWORD=2 COMPREPLY=(); _warder; case " ${COMPREPLY[*]} " in *" --$f "*|*" --$f="*) ;; *) echo "bash: $c $f";; esac; done < all
| 1

= the completion is a script
$ warder completion bash > c && bash -n c && . ./c && COMP_WORDS=(warder run --mem) COMP_CWORD=2 && _warder && echo ${COMPREPLY[@]}
| --memory

= the help of a command names only flags of this command, except where it quotes another command
$ for c in run code tool mcp scan judge languages changes context logs attach write kill wait serve tenant explain backend doctor blocks format data completion; do warder $c --help | sed '/^Example/,$d; s/"warder [^"]*"//g; s/"warder run --.*//' > help; grep -oE -- '(^|[^a-z])--[a-z][a-z-]+' help | grep -oE -- '--.*' | sort -u > named; sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p' help | sort -u > flags; wc -l < flags | grep -qv '^0$' || echo "$c: no flags"; comm -23 named flags | sed "s/^/$c: /"; done

= the help of a command with several words lists the flags of each word
$ for c in session context; do warder $c --help | grep '^Flags of'; done; warder context --help | sed -n '/^Flags of run/,/^Flags of fork/p' | grep -o -e '--timeout TIME  *[a-z]*'
| Flags of start:
| Flags of exec:
| Flags of start, exec:
| Flags of stop:
| Flags of read, write, list, cp, patch:
| Flags of all these commands:
| Flags of create:
| Flags of run:
| Flags of fork:
| Flags of all these commands:
| --timeout TIME             interrupt

= the completion offers each flag of a command once
$ for s in bash zsh fish; do warder completion $s > c; case $s in bash) sed -n "s/^\t\([a-z]*\)) flags='\(.*\)' ;;/\1 \2/p" c | while read -r name flags; do tr ' ' '\n' <<<"$flags" | grep '^--' | sort | uniq -d | sed "s/^/$name /"; done ;; zsh) awk '/^\t[a-z]+\)/ { name = $1 } match($0, /--[a-z-]+\[/) { print name, substr($0, RSTART, RLENGTH) }' c | sort | uniq -d ;; fish) grep -o "from [a-z]*' -l [a-z-]*" c | sort | uniq -d ;; esac; done

= warder tenant list prints names, or with --json all of each tenant
$ warder tenant add me --state s | wc -l; warder tenant list --state s; warder tenant list --state s --json
| 1
| me
|~ ^\[\{"name":"me","scopes":

= the key of a tenant's requests
$ key=$(warder submit --make-key k); stat -c %a k; warder tenant add me --state s --request-key "$key" | wc -l; grep -c '"requestKey": "ed25519:' s/tenants/me.json; warder submit --make-key k
| 600
| 1
| 1
! warder: --make-key k: File exists
? 125

= worker and submit say which flag is missing
$ warder worker; warder submit --nats nats://127.0.0.1 --tenant me
! warder: --nats is missing; it names the server
! warder: --key is missing; it names the file with the tenant's key
? 125

= every flag and command is in the manual
$ { for c in run explain policy doctor blocks format tool judge data; do warder $c --help | sed -n 's/^  \(-., \)\{0,1\}--\([a-z-]*\).*/\2/p'; done; } | sort -u | while read f; do grep -q "Fl -$f" "$TOP/docs/warder.1" || echo "missing: $f"; done

= no colour in a pipe, colour on a terminal, none with NO_COLOR
needs terminal
$ warder --help | grep -c $'\033'; TERM=xterm script -qec 'warder --help' /dev/null | grep -qc $'\033' && echo colour; NO_COLOR=1 TERM=xterm script -qec 'warder --help' /dev/null | grep -c $'\033'
| 0
| colour
| 0
? 1

= help, by any of its names
$ for words in "--help" "-h" "help"; do warder $words | head -1; done
|~ ^warder: run untrusted programs
|~ ^warder: run untrusted programs
|~ ^warder: run untrusted programs

= help of a command
$ for words in "policy --help" "help policy" "policy show --help" "policy check --help x.json"; do warder $words | head -1; done; warder help nonsense
| usage: warder policy check FILE... | policy show PRESET|FILE | policy ceiling [--for PRESET|FILE]
| usage: warder policy check FILE... | policy show PRESET|FILE | policy ceiling [--for PRESET|FILE]
| usage: warder policy check FILE... | policy show PRESET|FILE | policy ceiling [--for PRESET|FILE]
| usage: warder policy check FILE... | policy show PRESET|FILE | policy ceiling [--for PRESET|FILE]
! warder: unknown command nonsense; known: "run", "code", "tool", "mcp", "scan", "judge", "languages", "changes", "session", "context", "ps", "logs", "attach", "write", "kill", "wait", "serve", "tenant", "worker", "submit", "explain", "backend", "policy", "doctor", "blocks", "format", ...
? 125

= a program's own --help is the program's
needs limits
$ warder run -- true --help | head -1
|~ ^Usage: 

= a row says that its field is refused, although a backend could enforce it
needs limits
$ warder explain --view image:nope strict | grep '^filesystem.view'; warder explain --ro /no/such/place --json strict | python3 -c 'import json, sys; print(*[(f["control"], f["state"], f["reason"]) for f in json.load(sys.stdin)["fields"] if f["field"] == "filesystem.paths"])'
|~ ^filesystem.view +image:nope +required +refused +filesystem.view: there is no image nope in the store
|~ ^\('filesystem.paths.readOnly', 'refused', 'filesystem.paths.readOnly\[0\]: "/no/such/place" does not exist

= the printed policy of agent runs with --workspace, read-write as in the preset, and the help says so
needs limits place
$ mkdir ws && warder policy show agent > agent.json && warder run --policy agent.json -- true; warder run --policy agent.json --workspace ws -- touch made && ls ws; warder policy show --help | grep -c 'give it with --workspace DIR, or$'
| made
| 1
! warder: filesystem.workspace: the directory is missing; give filesystem.workspace "readWrite:/dir" or --workspace DIR
