# The user's file of defaults. Root has none, so where root runs these, an ordinary user asks: "$as" becomes one, with a home in
# the case's directory. `config` writes the file.

= flags of the file hold, and the command line wins; a list of the file comes first
+ . $TOP/tests/transcript/config.sh
+ config '{"flags": {"common": {"prefer": ["limits"], "set": "limits.openFiles=99"}, "run": {"preset": "strict-python", "timeout": "7s", "env": ["A=1", "B=2"]}}}'
$ . $TOP/tests/transcript/config.sh; $as warder run --env B=3 --env C=4 -- sh -c 'echo $A $B $C; ulimit -n'; $as warder run --set limits.openFiles=98 -- sh -c 'ulimit -n'; $as warder explain | grep -E '^(limits.wallTime|languages) ' | tr -s ' '
| 1 3 4
| 99
| 98
| languages any required unrestricted checked before the start
| limits.wallTime 30s preferred enforced supervisor's deadline, kill of the pid namespace; backstop in init

= the part of a command overrides the common part, and false takes a switch back
+ . $TOP/tests/transcript/config.sh
+ config '{"flags": {"common": {"prefer": "limits", "json": true, "set": ["limits.openFiles=99"]}, "run": {"json": false, "set": "limits.openFiles=97"}}}'
$ . $TOP/tests/transcript/config.sh; $as warder run -- sh -c 'ulimit -n'; $as warder explain | head -c 1; echo
| 97
| {

= explain and a result name the file and its flags
needs python3
+ . $TOP/tests/transcript/config.sh
+ config '{"flags": {"common": {"prefer": "limits", "env": ["A=1", "B=2"], "preset": "strict-js"}, "run": {"timeout": "9s", "memory": "64MiB"}}}'
$ . $TOP/tests/transcript/config.sh; $as warder explain | head -n 1; $as warder explain strict | head -n 1; names='import json, sys; d = json.load(sys.stdin).get("config"); print(d and d["path"].endswith("/home/.config/warder/config.json"), d and d["flags"])'; $as warder explain --json | python3 -c "$names"; $as warder run --policy easy.json --prefer limits --set limits.memory=65MiB --json -- true | python3 -c "$names"; $as warder run --no-config --prefer limits --json -- true | python3 -c "$names"; echo '{"language": "sh", "code": "true"}' | $as warder tool --preset strict | python3 -c "$names"
+ warder policy show strict > easy.json
|~ ^Defaults from /.*/home/.config/warder/config.json: --prefer --env --preset$
|~ ^Defaults from /.*/home/.config/warder/config.json: --prefer --env$
| True ['--prefer', '--env', '--preset']
| True []
| None None
| True ['--prefer', '--env']

= the variable of the environment is nearer than the file, and the flag nearer still
+ . $TOP/tests/transcript/config.sh
+ config '{"flags": {"common": {"prefer": "limits", "backend": "nosuch"}}}'
$ . $TOP/tests/transcript/config.sh; $as warder run -- true; WARDER_BACKEND=local $as warder run --json -- true | grep -o '"backend":"[a-z]*"\|"--backend"' | uniq; $as warder explain --backend local | grep Backend
!~ ^warder: /.*/config.json:1: flags.common.backend: "nosuch": there is no backend "nosuch"; known: 
| "backend":"local"
| Backend local

= XDG_CONFIG_HOME; a relative one does not count; no home; no file
+ . $TOP/tests/transcript/config.sh
+ config '{"flags": {"run": {"preset": "nosuch"}}}'
$ . $TOP/tests/transcript/config.sh; $as env XDG_CONFIG_HOME=$PWD/home/.config HOME=/ warder run -- true; $as env XDG_CONFIG_HOME=home/.config warder run -- true; $as env XDG_CONFIG_HOME=$PWD warder run --prefer limits -- echo ran; $as env -u HOME warder run --prefer limits -- echo ran; $as env HOME=/dev/null warder run --prefer limits -- echo ran
| ran
| ran
| ran
!~ ^warder: /.*/home/.config/warder/config.json:1: flags.run.preset: "nosuch": "nosuch" is not a preset; 
!~ ^warder: /.*/home/.config/warder/config.json:1: flags.run.preset: "nosuch": "nosuch" is not a preset; 

= a wrong value in the file is refused, with file, member and value
+ . $TOP/tests/transcript/config.sh
$ . $TOP/tests/transcript/config.sh; while read -r text; do config "$text"; $as warder run -- true; done <<'E'
> {"flags": {"run": {"cpus": "many"}}}
> {"flags": {"run": {"timeout": 0}}}
> {"flags": {"run": {"preset": "strct"}}}
> {"flags": {"run": {"policy": "/nosuch.json"}}}
> {"flags": {"run": {"ceiling": "/nosuch.json"}}}
> {"flags": {"run": {"backend": "nosuch"}}}
> {"flags": {"run": {"prefer": ["limits", "nosuch"]}}}
> {"flags": {"run": {"grace": "soon"}}}
> {"flags": {"run": {"cpu": 1}}}
> {"flags": {"run": {"--cpus": 1}}}
> {"flags": {"code": {"cpu": 1}}}
> {"flags": {"runn": {}}}
> {"flags": {"doctor": {}}}
> {"flags": {"run": {"memory": ["1MiB"]}}}
> {"flags": {"run": {"memory": true}}}
> {"flags": {"run": {"json": "yes"}}}
> {"flags": {"run": {"env": [["A=1"]]}}}
> {"flags": {"run": {"help": true}}}
> {"flags": {"run": {"no-config": true}}}
> {"flags": {"session start": {"setup": "true"}}}
> {"flags": {"blocks": {"delimiters": ["a", "b"]}}}
> {"flags": {"run": {"memory": "1MiB", "set": "limits.memory=2MiB"}}}
> {"flags": {"run": {"preset": "agent", "policy": "x.json"}}}
> {"flags": {"run": {"net": "loopback", "allow": ["a.b"]}}}
> {"flags": {"common": {"publish": "127.0.0.1:0:80", "net": "none"}}}
> {"flags": {"run": []}}
> {"flags": [], "x": 1}
> {"flag": {}}
> ["flags"]
> {"flags": {"run": {"cpus": 1, "cpus": 2}}}
> {"flags"
> E
? 125
!~ ^warder: /.*/warder/config.json:1: flags.run.cpus: "many": limits.cpus: "many" is not a number of CPUs; 
!~ ^warder: /.*/warder/config.json:1: flags.run.timeout: 0: limits.wallTime: 0s is too little
!~ ^warder: /.*/warder/config.json:1: flags.run.preset: "strct": "strct" is not a preset; did you mean "strict"\?
!~ ^warder: /.*/warder/config.json:1: flags.run.policy: "/nosuch.json": --policy: cannot read /nosuch.json: No such file
!~ ^warder: /.*/warder/config.json:1: flags.run.ceiling: "/nosuch.json": ceiling: cannot read /nosuch.json: No such file
!~ ^warder: /.*/warder/config.json:1: flags.run.backend: "nosuch": there is no backend "nosuch"; known: 
!~ ^warder: /.*/warder/config.json:1: flags.run.prefer\[1\]: "nosuch": "nosuch" is not a field
!~ ^warder: /.*/warder/config.json:1: flags.run.grace: "soon": 
!~ ^warder: /.*/warder/config.json:1: flags.run.cpu: no command of this part has a flag "cpu"; did you mean "cpus"\?
!~ ^warder: /.*/warder/config.json:1: flags.run.--cpus: no command of this part has a flag "--cpus"; 
!~ ^warder: /.*/warder/config.json:1: flags.code.cpu: no command of this part has a flag "cpu"; did you mean "cpus"\?
!~ ^warder: /.*/warder/config.json:1: flags.runn: there are no flags of "runn"; did you mean "run"\?
!~ ^warder: /.*/warder/config.json:1: flags.doctor: there are no flags of "doctor"; known: "run", 
!~ ^warder: /.*/warder/config.json:1: flags.run.memory: an array where a string or a number is expected$
!~ ^warder: /.*/warder/config.json:1: flags.run.memory: a boolean where a string or a number is expected$
!~ ^warder: /.*/warder/config.json:1: flags.run.json: a string where true or false is expected$
!~ ^warder: /.*/warder/config.json:1: flags.run.env: an array where a string is expected$
!~ ^warder: /.*/warder/config.json:1: flags.run.help: only a command line can give this flag$
!~ ^warder: /.*/warder/config.json:1: flags.run.no-config: only a command line can give this flag$
!~ ^warder: /.*/warder/config.json:1: flags.session start.setup: only a command line can give this flag$
!~ ^warder: /.*/warder/config.json:1: flags.blocks.delimiters: the flag takes two values, and only a command line can give it$
!~ ^warder: /.*/warder/config.json:1: flags.run.set: "limits.memory=2MiB": --set limits.memory=2MiB: --memory gives limits.memory already; give one of the two$
!~ ^warder: /.*/warder/config.json:1: flags.run.policy: "x.json": --policy x.json: --preset gives --preset already; give one of the two$
!~ ^warder: /.*/warder/config.json:1: flags.run.net: "loopback" does not go with flags.run.allow; give one of the two$
!~ ^warder: /.*/warder/config.json:1: flags.common.net: "none" does not go with flags.common.publish; give one of the two$
!~ ^warder: /.*/warder/config.json:1: flags.run: an array where an object is expected$
!~ ^warder: /.*/warder/config.json:1: x: unknown member "x"; did you mean "flags"\?|known: "flags"$
!~ ^warder: /.*/warder/config.json:1: flag: unknown member "flag"; did you mean "flags"\?$
!~ ^warder: /.*/warder/config.json:1: the document: an array where an object is expected$
!~ ^warder: /.*/warder/config.json:1: the name "cpus" is given twice$
!~ ^warder: /.*/warder/config.json:2:1: the document ends where ':' is expected$

= a file that others may write is refused, not skipped; so are a link and a pipe; --no-config does without
+ . $TOP/tests/transcript/config.sh
+ config '{"flags": {}}'
+ mkfifo pipe; cp home/.config/warder/config.json copy
$ . $TOP/tests/transcript/config.sh; file=home/.config/warder/config.json; try() { $as warder run --prefer limits -- echo ran; }; try; chmod g+w $file; try; $as warder run --no-config --prefer limits -- echo ran; chmod 602 $file; try; chmod 600 $file; chmod 777 home/.config/warder; try; chmod 755 home/.config/warder; try; head -c 70000 /dev/zero > $file; try; rm $file; ln -s $PWD/copy $file; try; rm $file; mkfifo $file; [ "$as" ] && chown 65534 $file; try; rm $file; mkdir $file; [ "$as" ] && chown 65534 $file; try; rmdir $file; try
| ran
| ran
| ran
| ran
!~ ^warder: /.*/config.json is not read: others may write to it; chmod go-w it; or give --no-config$
!~ ^warder: /.*/config.json is not read: others may write to it; chmod go-w it; or give --no-config$
!~ ^warder: /.*/.config/warder is not read: others may write to it; chmod go-w it; or give --no-config$
!~ ^warder: /.*/config.json is not read: it is larger than 64 KiB; or give --no-config$
!~ ^warder: /.*/config.json is not read: it is a symbolic link; put the file itself there; or give --no-config$
!~ ^warder: /.*/config.json is not read: it is not a regular file; or give --no-config$
!~ ^warder: /.*/config.json is not read: it is not a regular file; or give --no-config$

= a file or a directory of another user is not read
needs user
+ . $TOP/tests/transcript/config.sh
+ config '{"flags": {}}'
$ . $TOP/tests/transcript/config.sh; try() { $as warder run --prefer limits -- echo ran; }; chmod 644 home/.config/warder/config.json; chown 0 home/.config/warder/config.json; try; chown 65534 home/.config/warder/config.json; chown 0 home/.config/warder; try; chown 65534 home/.config/warder; chmod 700 home/.config; chown 0 home/.config; try; chmod 755 home/.config; chmod 0 home/.config/warder/config.json; try
| ran
!~ ^warder: /.*/config.json is not read: it belongs to user 0, and you are user 65534; give it to yourself; or give --no-config$
!~ ^warder: /.*/warder is not read: it belongs to user 0, and you are user 65534; give it to yourself; or give --no-config$
!~ ^warder: cannot read /.*/config.json \(--no-config does without\): Permission denied$
? 125

= root has no such file, doctor does not read it, and neither do help and policy
needs user
+ . $TOP/tests/transcript/config.sh
+ config 'nonsense'
$ . $TOP/tests/transcript/config.sh; chown -R 0:0 home; HOME=$PWD/home warder run --prefer limits -- echo ran; chown -R 65534 home; $as warder policy show strict | head -n 1; $as warder run --help | head -n 1; $as warder doctor --json | head -c 1; echo; $as warder doctor --no-config; $as warder run -- true
| ran
| {
| usage: warder run [FLAG...] [--] [PROGRAM [ARGUMENT...]]
| {
!~ ^warder: unknown flag --no-config
!~ ^warder: /.*/config.json:1:1: 'n' where
? 125

= the start of a session takes the common part, an execution in it only its own part
needs python3
+ . $TOP/tests/transcript/config.sh
+ config '{"flags": {"common": {"prefer": "limits", "preset": "strict-js", "timeout": "9s"}, "session exec": {"grace": "1s"}}}'
$ . $TOP/tests/transcript/config.sh; mkdir run; chmod 700 run; [ -z "$as" ] || chown 65534 run; export XDG_RUNTIME_DIR=$PWD/run; $as warder session start config-$$ && $as warder session exec config-$$ --json -- sh -c 'echo in' | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["status"], d["stdout"]["text"].strip(), d["config"]["flags"])'; $as warder session stop config-$$
| success in ['--grace']

= two ways to give one thing
$ for flags in "--cpus 1 --set limits.cpus=unlimited" "--set limits.cpus=1 --cpus 2" "--set limits.cpus=1 --set limits.cpus=2" "-m 1MiB --set limits.memory=2MiB" "--max-output 1KiB --set output.stderr=1MiB" "--timeout 1s --timeout 2s" "--workspace . --dry-run ." "--preset strict --policy x.json" "--cwd /tmp --set workingDirectory=/" "--net none --set network.mode=host"; do warder run $flags -- true; done
! warder: --set limits.cpus=unlimited: --cpus gives limits.cpus already; give one of the two
! warder: --cpus 2: --set gives limits.cpus already; give one of the two
! warder: --set limits.cpus=2: limits.cpus is given a second time; give it once
! warder: --set limits.memory=2MiB: --memory gives limits.memory already; give one of the two
! warder: --set output.stderr=1MiB: --max-output gives output.stderr already; give one of the two
! warder: --timeout 2s: the flag is given a second time; give it once
! warder: --dry-run .: --workspace gives filesystem.workspace already; give one of the two
!~ ^warder: --policy x.json: there is a policy to start from already \(strict\); give one of --preset and --policy$
! warder: --set workingDirectory=/: --cwd gives workingDirectory already; give one of the two
! warder: --set network.mode=host: --net gives network.mode already; give one of the two
? 125

= the file may not choose the backend that isolates nothing
+ . $TOP/tests/transcript/config.sh
$ . $TOP/tests/transcript/config.sh; for value in process local,process; do config '{"flags": {"common": {"backend": "'$value'"}}}'; $as warder run -- true; done; config '{"flags": {"run": {"backend": "local", "prefer": "limits"}}}'; $as warder run -- echo ran
| ran
!~ ^warder: /.*/config.json:1: flags.common.backend: the backend process isolates nothing, and only a command line or WARDER_BACKEND can choose it$
!~ ^warder: /.*/config.json:1: flags.common.backend: the backend process isolates nothing

= an error about a flag in the file names the file, also for rows of lists and flags without a value
+ . $TOP/tests/transcript/config.sh
$ . $TOP/tests/transcript/config.sh; for flags in '"ro": ["/usr", "/nosuch"]' '"env": ["A B"]' '"terminal": true' '"receipt": "/nosuch/x"' '"changes": "x"' '"delegate": true'; do config '{"flags": {"run": {"prefer": "limits", '"$flags"'}}}'; $as env -u XDG_RUNTIME_DIR warder run -- true < /dev/null 2>&1 | grep -o '^warder: /.*/config.json:1: [^:]*:' | sed 's/.*config.json/FILE/'; done; config '{"flags": {"run": {"prefer": "limits", "ro": ["/usr"]}}}'; $as warder run --ro /nosuch -- true
| FILE:1: flags.run.ro[1]:
| FILE:1: flags.run.env[0]:
| FILE:1: flags.run.terminal:
| FILE:1: flags.run.receipt:
| FILE:1: flags.run.changes:
| FILE:1: flags.run.delegate:
! warder: --ro /nosuch: filesystem.paths.readOnly[1]: "/nosuch" does not exist on this host; create it or leave it out
? 125
