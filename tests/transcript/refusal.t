# Nothing is accepted that is not enforced; every refusal names flag, value and remedy.

= an unknown flag
$ warder run --memry 1GiB -- true
! warder: unknown flag --memry; did you mean "--memory"?
? 125

= an unknown flag that resembles none
$ warder run --frobnicate -- true
! warder: unknown flag --frobnicate; --help lists all flags
? 125

= a flag without its value
$ warder run --memory
! warder: --memory needs a value: --memory SIZE
? 125

= a value where none goes
$ warder run --json=yes -- true
! warder: --json takes no value
? 125

= a bad size
$ warder run --memory 256MB -- true
!~ ^warder: --memory 256MB: limits.memory: "256MB" is not a size; write
? 125

= a bad time
$ warder run --timeout soon -- true
!~ ^warder: --timeout soon: limits.wallTime: "soon" is not a time; write
? 125

= no time at all
$ warder run --timeout 0 -- true
!~ limits.wallTime
? 125

= a bad mode
$ warder run --net nowhere -- true
!~ ^warder: --net nowhere: network.mode: "nowhere"
? 125

= an unknown field
$ warder run --set limits.memori=1MiB -- true
!~ limits.memori
? 125

= a field that cannot be preferred
$ warder run --prefer version -- true
!~ ^warder: --prefer version: "version" is not a field
? 125

= two policies
$ warder run --preset strict --policy p.json -- true
!~ give one of --preset and --policy
? 125

= an unknown preset
$ warder run --preset stric -- true
!~ strict
? 125

= a policy that is not there
$ warder run --policy none.json -- true
!~ none.json
? 125

= a policy from standard input
needs limits
$ echo '{"version": 1, "limits": {"wallTime": "5s"}}' | warder run --policy - -- echo ran
| ran

= an image, of which there is no store
needs limits
$ warder run --view image:debian -- true
!~ ^warder: --view image:debian: filesystem.view: there is no image debian in the store
? 125

= with --json the refusal is one object
needs limits
$ warder run --json --view image:debian -- true
|~ ^\{"status":"rejected","error":\{"kind":"invalidRequest","field":"filesystem.view","step":null,"message":".*"\}\}$
? 125

= a program that is not there, as an object
needs limits
$ warder run --json -- /nonexistent
|~ ^\{"status":"rejected","error":\{"kind":"notFound",
? 127

= a workspace that is not there
needs limits
$ warder run --workspace ./missing -- true
!~ missing
? 125

= a working directory that is not there
needs limits
$ warder run --cwd /no/such/directory -- true
!~ ^warder: 
? 125

# ---- the operator's ceiling

= asking for more than the ceiling
+ echo '{"version": 1, "limits": {"wallTime": "60s", "memory": "128MiB"}}' > ceiling.json
$ warder run --ceiling ceiling.json --memory 256MiB -- true
!~ ^warder: .*limits.memory
? 125

= all that is asked beyond the ceiling is listed, the first as before
+ echo '{"version": 1, "limits": {"wallTime": "20s", "memory": "128MiB"}}' > ceiling.json
$ warder run --ceiling ceiling.json --memory 256MiB --ro /etc --net host --receipt r -- true; grep -o '"violations":' r; warder run --json --ceiling ceiling.json -- true | python3 -c 'import json, sys; e = json.load(sys.stdin)["error"]; print(e["field"], [v["field"] for v in e["violations"]])'; warder run --json --memory 1 -- true | grep -c violations; warder explain --ceiling ceiling.json | tail -n 2; warder explain --json --ceiling ceiling.json | python3 -c 'import json, sys; print([v["field"] for v in json.load(sys.stdin)["refusal"]["violations"]])'; echo 'echo no' | warder code --ceiling ceiling.json --language sh --cpus 2 -
| "violations":
| limits.wallTime ['limits.wallTime', 'limits.memory']
| 0
| It would be refused: limits.wallTime: 30s is more than the operator grants; at most 20s
| limits.memory: 512MiB is more than the operator grants; at most 128MiB
| ['limits.wallTime', 'limits.memory']
! warder: network.mode: "host" is more than the operator grants; at most "none"
! warder: filesystem.paths.readOnly[0]: "/etc" is not inside a path (none) that the operator grants
! warder: limits.wallTime: 30s is more than the operator grants; at most 20s
! warder: limits.memory: 256MiB is more than the operator grants; at most 128MiB
! warder: limits.wallTime: 30s is more than the operator grants; at most 20s
! warder: limits.memory: 512MiB is more than the operator grants; at most 128MiB
! warder: limits.cpus: 2 is more than the operator grants; at most 1
? 125

= policy ceiling prints the ceiling, and compares a policy with it
+ echo '{"version": 1, "limits": {"wallTime": "20s", "memory": "128MiB"}}' > ceiling.json
$ warder policy ceiling --ceiling ceiling.json | grep -E '^(ceiling|limits.memory|languages)'; echo $?; warder policy ceiling --ceiling ceiling.json --for strict | grep -E '^(lowered|refused)|limits.(swap|cpus)'; warder policy ceiling --ceiling ceiling.json --for ceiling.json > all; echo $? $(grep -c ^granted all) $(grep -vc ^granted all); warder policy ceiling --ceiling ceiling.json --for build | grep ^refused; warder policy ceiling --ceiling ceiling.json --for strict --json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["granted"], r["most"]["limits"]["memory"], [(f["field"], f["asked"], f["most"]) for f in r["fields"] if f["grant"] != "granted"])'; warder policy ceiling --ceiling ceiling.json --for strict > all
| ceiling: ceiling.json
| languages                 any
| limits.memory             128MiB
| 0
| lowered  limits.wallTime: 30s is more than the operator grants; at most 20s
| lowered  limits.memory: 512MiB is more than the operator grants; at most 128MiB
| granted  limits.swap               0B
| granted  limits.cpus               1
| 0 30 1
| refused  syscalls.allow[0]: "flock" is not granted by the operator
| False 128MiB [('limits.wallTime', '30s', '20s'), ('limits.memory', '512MiB', '128MiB')]
? 125

= the ceiling of the host holds without a flag
needs user unshare limits
+ mkdir -p etc/warder && echo '{"version": 1, "languages": ["command", "bash"], "limits": {"wallTime": "5s", "memory": "128MiB"}}' > etc/warder/ceiling.json
+ cat > in.sh <<'END'
+ mount -t overlay -o lowerdir="$PWD/etc:/etc" none /etc || exit
+ warder policy ceiling | grep -E '^(ceiling|languages|limits.memory)'
+ warder policy ceiling --for strict | grep '^lowered'
+ warder run -- echo ran; echo $?
+ warder run --set languages=command --timeout 3s --memory 64MiB -- echo ran
+ END
$ unshare -m --propagation private sh in.sh
| ceiling: /etc/warder/ceiling.json
| languages                 command bash
| limits.memory             128MiB
| lowered  languages: "any" is more than the languages (command, bash) that the operator grants; name languages
| lowered  limits.wallTime: 30s is more than the operator grants; at most 5s
| lowered  limits.memory: 512MiB is more than the operator grants; at most 128MiB
| 125
| ran
! warder: languages: "any" is more than the languages (command, bash) that the operator grants; name languages
! warder: limits.wallTime: 30s is more than the operator grants; at most 5s
! warder: limits.memory: 512MiB is more than the operator grants; at most 128MiB

= a path that only a symbolic link leads beyond the ceiling, before a run and in its refusal
needs limits
+ mkdir -p open secret; ln -s ../secret open/link; ln -s ../secret/x open/other; echo x > secret/x
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"paths\": {\"readOnly\": [\"$PWD/open\"]}}}" > ceiling.json
+ sed "s|/open\"|/open/link\", \"$PWD/open/other\"|" ceiling.json > asked.json
$ warder policy ceiling --ceiling ceiling.json --for asked.json 2>&1 | grep ^refused | sed "s|$PWD/||g"; warder policy ceiling --ceiling ceiling.json --for asked.json --json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["granted"], [v["field"] for f in r["fields"] for v in f["violations"]])'; warder run --policy asked.json --ceiling ceiling.json --json -- true | python3 -c 'import json, sys; print([v["field"] for v in json.load(sys.stdin)["error"]["violations"]])'; warder policy ceiling --ceiling ceiling.json --for asked.json > all
| refused  behind a symbolic link: filesystem.paths.readOnly[0]: "secret" is not inside a path (open) that the operator grants
| refused  behind a symbolic link: filesystem.paths.readOnly[1]: "secret/x" is not inside a path (open) that the operator grants
| False ['filesystem.paths.readOnly[0]', 'filesystem.paths.readOnly[1]']
| ['filesystem.paths.readOnly[0]', 'filesystem.paths.readOnly[1]']
? 125

= the grants are named; code blocks list every violation; a ceiling with a target is no ceiling
needs limits
+ echo '{"version": 1, "languages": ["bash", "python"], "limits": {"wallTime": "20s", "memory": "128MiB"}}' > ceiling.json
+ echo '{"version": 1, "limits": {"wallTime": "20s"}, "filesystem": {"paths": {"readOnly": ["/usr:/x"]}}}' > target.json
+ printf '```bash\ntrue\n```\n' > text.md
$ warder run --ceiling ceiling.json --timeout 5s --memory 1M --set languages=bash,ruby -- true; warder blocks --run --ceiling ceiling.json text.md; for json in '' --json; do warder policy ceiling --ceiling target.json $json 2>&1 | grep -c 'names a target inside; a ceiling names sources only'; done; warder policy ceiling --ceiling target.json > out; echo $? $(wc -c < out)
| 1
| 1
| 125 0
! warder: languages[1]: "ruby" is not one of the languages (bash, python) that the operator grants
! warder: Execution block 1 failed: languages: "any" is more than the languages (bash, python) that the operator grants; name languages
! warder: limits.wallTime: 30s is more than the operator grants; at most 20s
! warder: limits.memory: 512MiB is more than the operator grants; at most 128MiB
!~ ^warder: .*names a target inside

= flags of policy ceiling are refused elsewhere, and so is a ceiling that cannot be read
$ for a in 'check --json x' 'show --for a strict' 'ceiling --ceiling missing.json' 'ceiling --for nothing' 'ceiling x'; do warder policy $a; done
! warder: --json belongs to "warder policy ceiling"; leave it out
! warder: --for belongs to "warder policy ceiling"; leave it out
!~ ^warder: ceiling: .*missing.json
!~ ^warder: "nothing" is not a preset
!~ ^warder: x is one word too many
? 125

= asking for less
needs limits
+ echo '{"version": 1, "limits": {"wallTime": "60s", "memory": "128MiB"}}' > ceiling.json
$ warder run --ceiling ceiling.json --memory 64MiB -- echo ran
| ran

= a ceiling that cannot be read is no ceiling to be ignored
$ warder run --ceiling missing.json -- true
!~ ^warder: ceiling: .*missing.json
? 125

= a granted path
needs limits place
+ mkdir -p -m 755 data/sub; echo 1 > data/sub/x
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"paths\": {\"readOnly\": [\"$PWD/data\"]}}}" > ceiling.json
$ warder run --ceiling ceiling.json --ro data/sub -- cat "$PWD/data/sub/x"
| 1

= a path beside the granted one
+ mkdir -p -m 755 data database
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"paths\": {\"readOnly\": [\"$PWD/data\"]}}}" > ceiling.json
$ warder run --ceiling ceiling.json --ro database -- true
!~ ^warder: .*filesystem.paths
? 125

= a granted path that is a link to elsewhere
needs limits
+ mkdir -p -m 755 data; ln -s /etc data/link
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"paths\": {\"readOnly\": [\"$PWD/data\"]}}}" > ceiling.json
$ warder run --ceiling ceiling.json --ro "$PWD/data/link" -- true
!~ ^warder: behind a symbolic link: .*filesystem.paths
? 125

= a workspace that is a link out of the granted directory
needs limits
+ mkdir -p -m 755 data; ln -s /etc data/link
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"workspace\": \"readWrite:$PWD/data\"}}" > ceiling.json
$ warder run --ceiling ceiling.json --workspace "$PWD/data/link:rw" --set limits.disk=unlimited -- true
!~ ^warder: behind a symbolic link: .*filesystem.workspace
? 125

= the ceiling has to name where its path is, not a link to it
needs limits place
+ mkdir -p -m 755 real/sub; ln -s real data
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"paths\": {\"readOnly\": [\"$PWD/data\"]}}}" > ceiling.json
$ warder run --ceiling ceiling.json --ro "$PWD/data/sub" -- true
!~ ^warder: the ceiling's path ".*/data" leads to ".*/real": name ".*/real" in the ceiling: filesystem.paths.readOnly
? 125

= a flag's value is not the end of the flags
$ warder run --timeout -- true
! warder: --timeout needs a value: --timeout TIME
? 125

= messages name the field, the flag or the remedy
needs limits
$ cd / && for args in "run --workspace nosuch -- true" "run --ro nosuch -- true" "run --view directory:/nosuch -- true" "run --cwd /nosuch -- true" "run --set syscalls.deny=nosuch -- true" "run --policy nosuch.json -- true" "run --preset strct -- true" "blocks --code x" "languages --view directory:/nosuch" "code --collect x.txt x.py"; do
> warder $args || echo $?
> done 2>&1
| warder: --workspace nosuch: filesystem.workspace: "/nosuch" does not exist on this host; create it or leave it out
| 125
| warder: --ro nosuch: filesystem.paths.readOnly[0]: "/nosuch" does not exist on this host; create it or leave it out
| 125
| warder: --view directory:/nosuch: filesystem.view: "/nosuch" does not exist on this host; create it or leave it out
| 125
| warder: --cwd /nosuch: workingDirectory: "/nosuch" is not in the jail; add it to filesystem.paths, or name another directory
| 125
| warder: --set syscalls.deny=nosuch: syscalls.deny[0]: "nosuch" is not a system call; names are those of the kernel, such as "openat"
| 125
| warder: --policy: cannot read nosuch.json: No such file or directory
| 125
| warder: "strct" is not a preset; did you mean "strict"?
| 125
| warder: --code x: give a number from 1 to 10000
| 125
| warder: --view directory:/nosuch: filesystem.view: "/nosuch" does not exist on this host; create it or leave it out
| 125
| warder: --collect needs --json, whose result shows the files, or --artifacts, which says where they go
| 125

= a preset is no document
$ warder policy check strict
! warder: strict is not a file: policy check takes documents; "warder policy show strict" prints the preset
? 125

= a preset's document whose workspace is not filled in: for a run with --workspace
needs limits
+ warder policy show agent > agent.json
$ warder policy check agent.json; mkdir job; warder run --policy agent.json -- echo ran; warder run --policy agent.json --workspace job:ro -- pwd
| agent.json: ok; filesystem.workspace names no directory: run it with --workspace DIR
| /workspace
! warder: filesystem.workspace: the directory is missing; give filesystem.workspace "readWrite:/dir" or --workspace DIR

= fields that contradict each other are refused under the flag that gave one, in any order
$ warder run --net allow -- true; warder run --net none --allow a.org -- true; warder run --allow a.org --set network.mode=host -- true; warder run --net host --publish 8080:80 -- true; warder run -w relative -- true; warder run --tmp 3MiB --set limits.disk=2MiB -- true
! warder: --net allow: network.mode: "allow" needs a row in network.allow (--allow HOST[:PORT]); give one, or set "none"
! warder: --net none: network.mode: "none" does not go with --allow; give one of the two
! warder: --set network.mode=host: network.mode: "host" does not go with --allow; give one of the two
! warder: --net host: network.mode: "host" does not go with --publish; give one of the two
!~ ^warder: -w relative: the path inside is not absolute; 
!~ ^warder: --tmp 3MiB: filesystem.tmp: 3MiB is more than limits.disk, 2MiB, 
? 125

= policy check accepts only policies that a run would accept, and does not look at the host
+ printf '{"version": 1,\n"limits": {"wallTime": 5},\n"syscalls": {"allow": ["open",\n"mount"]}}' > 1.json; sed 's/"allow": .*/"deny": ["sync",/; s/"mount"/"nosuchcall"/' 1.json > 2.json; sed 's/: 5/: "5"/' 1.json > 3.json; sed 's/"mount"/"seccomp"/' 1.json > 4.json; sed 's/"allow"/"profile": "compat", "allow"/' 4.json > 5.json
$ warder policy check 1.json 2.json 3.json 4.json 5.json
| 5.json: ok
!~ ^warder: 1.json:4: syscalls.allow\[1\]: no policy can allow "mount"
!~ ^warder: 2.json:4: syscalls.deny\[1\]: "nosuchcall" is not a system call
! warder: 3.json:2: limits.wallTime: "5" has no unit; write "5s", or 5 without quotes
!~ ^warder: 4.json:4: syscalls.allow\[1\]: "seccomp" can be allowed only with syscalls.profile "compat"
? 125

= a part of a policy stands for its fields
$ warder explain --prefer limits strict | grep -c preferred; printf '{"version":1,"limits":{"wallTime":1},"enforcement":{"limits":"preferred","limits.pids":"required"}}' > p.json; warder explain p.json | grep '^limits' | grep -c preferred; warder run --prefer limit -- true
| 11
| 10
! warder: --prefer limit: "limit" is not a field that can be required or preferred; did you mean "limits"?
? 125

= of a flag that may be repeated, the message names the one that is wrong
$ for words in '--ro /usr --ro=nosuch/. --rw /usr/lib' '--env A=1 -e 1A=x -e B=2' '-e 1A' '--net loopback --publish 1:1 --publish 2:1 --publish 1:1' '--set syscalls.deny=open --set syscalls.deny=x' '--json --env =x'; do (cd /; warder run --prefer limits $words -- true); done 2>&1 | sed 's/.*"message":"/json: /; s/; .*//'
| warder: --ro nosuch/.: filesystem.paths.readOnly[1]: "/nosuch" does not exist on this host
| warder: -e 1A=x: environment.set.1A: "1A" is not a valid variable name
| warder: -e 1A: environment.names[0]: "1A" is not a valid variable name
| warder: --publish 1:1: network.publish[2]: port 1 of 127.0.0.1 is published twice
| warder: --set syscalls.deny=x: syscalls.deny[1]: "x" is not a system call
| json: --env =x: environment.set.: \"\" is not a valid variable name

= values that cannot work are refused by the name of their field
needs limits python3 cc
+ mkdir D src; echo 'print(1)' > a.py; echo 'int main(void) { return 0; }' > a.c
$ for size in 4KiB 16KiB; do warder run --tmp $size -- echo $size; warder run --set limits.disk=$size -- echo $size; done; for words in '--rw D:/tmp/box a.py' '--ro src:/code a.c' '--ro src:/code/x a.c' '--ro src:/code a.py' '--ro src:/tmp/box/main.py a.py' '--set limits.code=0 a.py'; do warder code --no-cache $words; done 2>&1 | sed "s|$PWD/||"; warder run --ro :/tmp/x -- true; warder session exec --timeout 3s x
| 16KiB
| 16KiB
| warder: --rw D:/tmp/box: filesystem.paths.readWrite[0]: "D:/tmp/box" would lie at /tmp/box, where Warder puts the code and its files; choose another target
| warder: --ro src:/code: filesystem.paths.readOnly[0]: "src:/code" would lie at /code, where Warder puts the built program; choose another target
| warder: --ro src:/code/x: filesystem.paths.readOnly[0]: "src:/code/x" would lie at /code, where Warder puts the built program; choose another target
| 1
| warder: "box/main.py" cannot be put into the jail's /tmp: a path of filesystem.paths has that place; choose another target
| warder: --set limits.code=0: limits.code: 0B is too little: empty code is refused anyway; give at least 1B
! warder: --tmp 4KiB: filesystem.tmp: 4KiB is too little: files that Warder makes for /proc lie there, too; give at least 16KiB
! warder: --set limits.disk=4KiB: limits.disk: 4KiB is too little: files that Warder makes for /proc count, too; give at least 16KiB
! warder: --ro :/tmp/x: there is no source before the colon; write SOURCE:/TARGET
! warder: "--timeout" is not a valid session name: up to 64 letters, digits, '.', '_' and '-', a letter or digit first; the name comes before the flags
? 125

= many paths below /tmp are refused, as the manual says
needs limits user
+ mkdir many; for i in $(seq 1 21); do mkdir -p many/$i; echo "--ro $PWD/many/$i:/tmp/m/$i"; done > many/all
$ warder run $(cat many/all) -- true; man=$TOP/docs/warder-policy.5; grep -c 'More than 20 paths below' $man
| 1
!~ ^warder: workspace, read-write paths, targets below /tmp and what lies beneath them are more than 20 mounts

= a refusal of the network names its limit of connections only if the policy sets one
$ warder run --backend wasm --prefer limits --publish 8080:80 -- x.wasm; warder run --backend wasm --prefer limits --publish 8080:80 --max-connections 3 -- x.wasm
!~ cannot enforce network, network.publish: network.loopback, network.publish: WASI
!~ cannot enforce network, network.publish, network.maxConnections: network.loopback, network.publish, network.maxConnections: WASI
? 125

= a list of destinations, where warder-edge is not installed
needs limits
$ mkdir alone && cp "$(command -v warder)" alone && alone/warder run --net allow --allow example.org -- true
!~ ^warder: cannot enforce network: network.allow: warder-edge is not installed: looked in .*/alone, in ../libexec/warder there, and in \{/usr/local,/usr\}/libexec/warder; install it, or leave out network.allow \(--allow\)$
? 125

= published ports, where it is not installed
needs limits
$ mkdir alone && cp "$(command -v warder)" alone && alone/warder run --publish 0:80 -- true
!~ ^warder: cannot enforce network.publish: network.publish: warder-edge is not installed: looked in .*/alone, in ../libexec/warder there, and in \{/usr/local,/usr\}/libexec/warder; install it, or leave out network.publish \(--publish\)$
? 125

= a warder-edge that ends at once is named, with the field that needs it
needs limits
$ mkdir broken && cp "$(command -v warder)" broken && printf '#!/bin/sh\nexit 1\n' > broken/warder-edge && chmod 755 broken broken/warder-edge; echo '{"version": 1, "network": {"mode": "learn"}, "limits": {"wallTime": "1m"}}' > learn.json; for words in '--publish 0:80' '--allow example.org' '--net learn --ceiling learn.json'; do broken/warder run --json $words -- true | grep -o '"kind.*"field":[^,]*\|"message.*'; done; broken/warder run --publish 0:80 -- true
| "kind":"unavailable","field":"network.publish"
| "message":"warder-edge died before it could connect for the jail"}}
| "kind":"unavailable","field":"network.allow"
| "message":"warder-edge died before it could connect for the jail"}}
| "kind":"unavailable","field":"network.mode"
| "message":"warder-edge died before it could connect for the jail"}}
!~ ^warder: warder-edge died before it could connect for the jail \(step (setup|edge)\)$
? 125

= --net learn, where it cannot be had
needs limits
$ mkdir alone && cp "$(command -v warder)" alone; echo '{"version": 1, "network": {"mode": "learn"}, "limits": {"wallTime": "1m"}}' > learn.json; warder run --net learn -- true; alone/warder run --net learn --ceiling learn.json -- true; warder run --net learn --ceiling learn.json --backend crun -- true
!~ ^warder: network.mode: only a ceiling grants "learn" \(--net learn\), and there is none; write network.mode "learn" into /etc/warder/ceiling.json, or name a file that has it with --ceiling$
!~ ^warder: cannot enforce network: network.learn: warder-edge is not installed: .*; install it, or leave out network.mode learn \(--net learn\)$
!~ ^warder: (cannot enforce network: network.learn: only the backend local learns; leave out --backend, or --net learn|the backend crun .*)$
? 125
