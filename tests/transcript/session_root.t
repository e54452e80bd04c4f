# What a session was started on is what its executions are in, whatever has become of the names by then.

= a session in the view of an image stays with the one of its start, when another is imported under the name
needs busybox place python3
+ . "$TOP/tests/transcript/session.sh"; mkdir -p root/bin; cp "$(command -v busybox)" root/bin/busybox; for p in sh cat; do ln -s busybox root/bin/$p; done
+ mkdir root/$'caf\351'; ln -s $'caf\351' root/$'l\351'; echo one > root/f; warder image import root i > import.txt; echo two > root/f
+ digest() { python3 -c 'import json, re, sys; print(*{re.sub(", .*", "", r["value"]) for r in json.load(sys.stdin)["receipt"]["controls"] if "sha256" in r.get("value", "")})'; }; declare -f digest > digest.sh
$ . ./digest.sh; sh s start --view image:i && sh s exec -- cat /f; sh s status --json | digest > first; warder image import --replace root i > import.txt; sh s exec --receipt r -- cat /f; grep -c "$(cat first)" r; sh s status --json | digest | cmp - first && sh s restart && sh s exec -- cat /f; sh s status --json | digest | cmp -s - first; echo $?; sh s stop
| one
| one
| 1
| two
| 1

= its layers stay below it when the image is removed, and go when it has ended
needs busybox place python3
+ . "$TOP/tests/transcript/session.sh"; export WARDER_STORE=$PWD/store; python3 "$TOP/tests/lib/image.py" store
$ sh s start --view image:two; warder image remove two; warder image gc; warder image list; sh s exec -- sh -c 'pwd; echo $MARK; cat /etc/version /opt/tool'; sh s exec --env MARK=own --cwd /etc -- sh -c 'pwd; echo $MARK'; sh s restart 2>&1 | grep -c 'no image two'; sh s exec -- echo it goes on; sh s stop; warder image gc; ls store/images/layers
|~ ^0 layers removed, .*; 2 held by a run or an import$
|~ ^0 layers removed, .*; 2 held by a run or an import$
| /srv
| image
| two
| #!/bin/sh
| echo tool of the image
| /etc
| own
| 1
| it goes on
|~ ^2 layers removed

= a workspace that was moved away is the session's all the same
needs place
+ . "$TOP/tests/transcript/session.sh"; mkdir work; echo one > work/a
$ for how in ro overlay rw; do sh s start --workspace $PWD/work:$how --set limits.disk=unlimited --setup 'cat a'; mv work moved; sh s exec -- sh -c 'pwd; cat a; echo two 2> /dev/null > b'; mkdir work; echo another > work/a; sh s exec -- sh -c 'cat a; cat b 2> /dev/null'; ls moved work; rm -r work moved/b 2> /dev/null; sh s stop; mv moved work; done
| /workspace
| one
| one
| moved:
| a
| 
| work:
| a
| /workspace
| one
| one
| two
| moved:
| a
| 
| work:
| a
| /workspace
| one
| one
| two
| moved:
| a
| b
| 
| work:
| a

= a workspace in whose place is a link to another directory is still the one of the start
needs place
+ . "$TOP/tests/transcript/session.sh"; mkdir work other; echo one > work/a; echo secret > other/a
$ sh s start --workspace $PWD/work:rw --set limits.disk=unlimited; mv work moved; ln -s other work; sh s exec -- sh -c 'cat a; echo new > b'; ln -sfn nowhere work; sh s exec -- cat b; ln -sfn other/a work; sh s exec -- cat b; ls other moved; sh s stop
| one
| new
| new
| moved:
| a
| b
| 
| other:
| a

= paths that were moved away or replaced are those of the start
needs place
+ . "$TOP/tests/transcript/session.sh"; mkdir read write other; echo one > read/a; echo secret > other/a; echo file > file
$ sh s start --ro $PWD/read --ro $PWD/file --rw $PWD/write --set limits.disk=unlimited; mv read was-read; mv write was-write; rm file; ln -s other read; ln -s other write; ln -s other/a file; sh s exec -- sh -c "cd $PWD; cat read/a file; echo new > write/b"; ls other was-write; rm read write; sh s exec --cwd $PWD/read -- cat a; sh s stop
| one
| file
| other:
| a
| 
| was-write:
| b
| one

= a ceiling is compared with the mounts of a session, not with the present directory of the same name
needs place python3
+ . "$TOP/tests/transcript/session.sh"; mkdir -p granted/work other; echo one > granted/work/a; echo secret > other/a
+ cat > grant.py <<'END'
+ import json, sys
+ policy = json.load(sys.stdin)['policy']
+ policy['filesystem']['workspace'] = 'readOnly:' + sys.argv[1]
+ print(json.dumps(policy))
+ END
$ sh s start --workspace $PWD/granted/work; sh s status --json | python3 grant.py $PWD/granted > grants; mv granted/work moved; ln -s $PWD/other granted/work; sh s exec --ceiling grants -- cat a; sh s start --workspace $PWD/granted/work --ceiling grants; echo $?; sh s stop; sh s start --workspace $PWD/granted/work --ceiling grants; echo $?
| one
| 0
| 125
!~ ^warder: behind a symbolic link: filesystem.workspace: .*/other

= a link that now leads to a granted directory does not make the ceiling grant the session's mount
needs place python3
+ . "$TOP/tests/transcript/session.sh"; mkdir -p granted/fine outside; echo secret > outside/a; ln -s ../outside granted/link
+ cat > grant.py <<'END'
+ import json, sys
+ policy = json.load(sys.stdin)['policy']
+ policy['filesystem']['workspace'] = 'readOnly:' + sys.argv[1]
+ print(json.dumps(policy))
+ END
$ sh s start --workspace $PWD/granted/link; sh s status --json | python3 grant.py $PWD/granted > grants; ln -sfn fine granted/link; sh s exec --ceiling grants -- cat a; echo $?; sh s start --workspace $PWD/granted/link --ceiling grants; echo $?; sh s stop
| 125
| 125
!~ ^warder: behind a symbolic link: filesystem.workspace: .*/outside" is not inside
!~ ^warder: behind a symbolic link: filesystem.workspace: .*/outside" is not inside

= the working directory is looked for in the session
needs place
+ . "$TOP/tests/transcript/session.sh"; mkdir work
$ sh s start --workspace $PWD/work:overlay; sh s exec -- mkdir -p /workspace/made/here /tmp/t; sh s exec --cwd /workspace/made/here -- pwd; sh s exec --cwd /tmp/t -- pwd; sh s exec --cwd /workspace/none -- pwd; echo $?; sh s exec --cwd /nowhere -- pwd; echo $?; sh s stop
| /workspace/made/here
| /tmp/t
| 125
| 125
!~ ^warder: .*/workspace/none
!~ ^warder: --cwd /nowhere: workingDirectory: "/nowhere" is not in the jail

= a restart is of the session that it has looked at, and of no other that has its name by then
needs python3
+ . "$TOP/tests/transcript/session.sh"; sed "s/$name/${name}x/" s > x; echo $name > name
$ name=$(cat name); place=$PWD/rt/warder/sessions; [ $(id -u) != 0 ] || place=/run/warder/sessions; sh x start; python3 $TOP/tests/lib/standing_in.py $place $name ${name}x sh s start --cwd / > here & while ! [ -s here ]; do sleep 0.1; done; timeout 60 sh s restart; echo $?; wait; sh s exec -- pwd; sh s restart && sh s exec -- pwd; sh s stop; sh x stop
| 125
| /
| /
!~ ^warder: session [a-zA-Z0-9]* ended before it was restarted: 
