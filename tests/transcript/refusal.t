# Nothing is accepted that is not enforced; every refusal names flag, value and remedy.

= an unknown flag
$ warder run --memry 1GiB -- true
! warder: unknown flag --memry; did you mean "--memory"?
? 125

= an unknown flag that resembles none
$ warder run --frobnicate -- true
! warder: unknown flag --frobnicate; --help lists what there is
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

= a field that is none
$ warder run --set limits.memori=1MiB -- true
!~ limits.memori
? 125

= a field that cannot be preferred
$ warder run --prefer version -- true
!~ ^warder: --prefer version: "version" is no field
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
!~ ^warder: filesystem.view: there is no image debian in the store
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

= a workspace that is a link out of what is granted
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
| warder: filesystem.workspace: "/nosuch" does not exist on this host; create it or leave it out
| 125
| warder: filesystem.paths.readOnly[0]: "/nosuch" does not exist on this host; create it or leave it out
| 125
| warder: filesystem.view: "/nosuch" does not exist on this host; create it or leave it out
| 125
| warder: workingDirectory: "/nosuch" is not in the jail; add it to filesystem.paths, or name another directory
| 125
| warder: syscalls.deny: "nosuch" is no system call; names are those of the kernel, such as "openat"
| 125
| warder: --policy: cannot read nosuch.json: No such file or directory
| 125
| warder: "strct" is no preset; did you mean "strict"?
| 125
| warder: --code x: blocks are counted from 1 to 10000
| 125
| warder: filesystem.view: "/nosuch" does not exist on this host; create it or leave it out
| 125
| warder: --collect needs --json, whose result shows the files, or --artifacts, which says where they go
| 125

= a preset is no document
$ warder policy check strict
! warder: strict is no file: policy check takes documents; "warder policy show strict" prints the preset
? 125

= a preset's document whose workspace is not filled in
+ warder policy show agent > agent.json
$ warder policy check agent.json
!~ ^warder: agent.json:[0-9]+: filesystem.workspace: "readWrite" does not say which; write "readWrite:\.\.\."
? 125
