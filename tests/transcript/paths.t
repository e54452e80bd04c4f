# Paths of the host at other places: where they come from, where they are seen, and that nothing is made on the host for it.

= a source below /tmp is seen where it is, and another one at its target
+ dir=$(mktemp -d /tmp/warder-paths.XXXXXX); chmod 755 $dir; echo $dir > dir; mkdir -p $dir/in -m 755; echo hi > $dir/in/f; mkdir data; echo there > data/f
$ dir=$(cat dir); warder run --prefer limits --ro $dir -- cat $dir/in/f; warder run --prefer limits --ro $dir/in:/opt/new/place --ro data:/data -- cat /opt/new/place/f /data/f; warder run --prefer limits --ro $dir/in/f -- sh -c "cat $dir/in/f; echo x 2>/dev/null > $dir/in/f || echo refused"; rm -r $dir
| hi
| hi
| there
| hi
| refused

= a target below the jail's /tmp is mounted over that, and the way to it can be used
+ mkdir data; echo hi > data/f; ln -s data link
$ warder run --prefer limits --ro link:/tmp/warder-below/b/c --ro data/f:/tmp/file --ro data:/var/tmp/v -- sh -c 'cat /tmp/warder-below/b/c/f /tmp/file /tmp/v/f; echo x > /tmp/warder-below/b/mine && cat /tmp/warder-below/b/mine; echo x 2> /dev/null > /tmp/warder-below/b/c/f || echo refused'; ls data; ls -d /tmp/warder-below 2> /dev/null
| hi
| hi
| hi
| x
| refused
| f
? 2

= a link below /tmp that was named is there, too
+ mkdir data; echo hi > data/f; link=$(mktemp -u /tmp/warder-paths.XXXXXX); echo $link > link; ln -s "$PWD/data" $link
$ link=$(cat link); warder run --prefer limits --ro $link -- cat $link/f data/f 2> /dev/null; rm $link
| hi

= a target that the view lacks is made in the jail alone
+ mkdir data; echo hi > data/f
$ warder run --prefer limits --ro data:/usr/local/warder-new/place -- sh -c 'cat /usr/local/warder-new/place/f; ls -d /usr/local/bin /usr/bin/env /usr/lib; mkdir /usr/local/more 2> /dev/null || echo refused'; ls -d /usr/local/warder-new 2> /dev/null; warder run --prefer limits --ro data:/usr/bin/warder-new -- true
| hi
| /usr/bin/env
| /usr/lib
| /usr/local/bin
| refused
! warder: filesystem.paths: /usr/bin has more than 128 entries, so that they cannot be mounted one by one; a target in it is not there: choose another target, or create it there
? 125

= also in a workspace that is read-only, and not in one that can be written to
+ mkdir -p ws/sub out; echo hi > ws/f; chmod 777 out
$ warder run --prefer limits --workspace ws:ro --rw out:/workspace/new/out -- sh -c 'cat f; ls; echo x > new/out/g; touch sub/x 2> /dev/null || echo refused'; ls ws out; warder run --prefer limits --workspace ws:rw --ro out:/workspace/new -- true 2>&1 | grep -o 'create it there'; ls ws
| hi
| f
| new
| sub
| refused
| out:
| g
| 
| ws:
| f
| sub
| create it there
| f
| sub

= read-only in read-write, and the other way round
+ mkdir -p all/in all/out data; echo hi > data/f; chmod -R 777 all
$ warder run --prefer limits --rw all:/all --ro data:/all/in -- sh -c 'cd /all; echo x > g; cat in/f; touch in/x 2> /dev/null || echo refused; mv in away 2> /dev/null || echo held'; warder run --prefer limits --ro all:/all --rw data:/all/in -- sh -c 'cd /all; touch x 2> /dev/null || echo refused; echo new > in/f'; cat all/g data/f
| hi
| refused
| held
| refused
| x
| new

= every other target and source is refused by name
+ mkdir data; mkfifo fifo
$ for where in :/ :/proc :/proc/self/x :/dev/x :/sys/x :/tmp :/workspace :/a/../b :/b:ro :relative : ; do warder run --prefer limits --ro data$where -- true 2>&1 | sed "s|$PWD/||g"; done; warder run --prefer limits --rw fifo:/x -- true; warder run --prefer limits --ro /dev/null:/x -- true; warder run --prefer limits --ro nosuch:/x -- true; warder run --prefer limits --ro data:/x --rw fifo:/x -- true
| warder: --ro data:/: filesystem.paths.readOnly[0]: "data:/" has the target "/", which is the whole root; use filesystem.view directory:SOURCE
| warder: --ro data:/proc: filesystem.paths.readOnly[0]: "data:/proc" has a target at or below /proc, which the jail makes itself; choose another
| warder: --ro data:/proc/self/x: filesystem.paths.readOnly[0]: "data:/proc/self/x" has a target at or below /proc, which the jail makes itself; choose another
| warder: --ro data:/dev/x: filesystem.paths.readOnly[0]: "data:/dev/x" has a target at or below /dev, which the jail makes itself; choose another
| warder: --ro data:/sys/x: filesystem.paths.readOnly[0]: "data:/sys/x" has a target at or below /sys, which no jail has; choose another
| warder: --ro data:/tmp: filesystem.paths.readOnly[0]: "data:/tmp" has the target /tmp, which is the jail's own; choose one below it
| warder: --ro data:/workspace: filesystem.paths.readOnly[0]: "data:/workspace" has the target /workspace; give the directory as filesystem.workspace, or choose a target below it
| warder: --ro data:/a/../b: filesystem.paths.readOnly[0]: "data:/a/../b" has a target that is not normalised, or too long; write it without ".", "..", "//" and "/" at the end
| warder: --ro data:/b:ro: filesystem.paths.readOnly[0]: "data:/b:ro" has a target with a colon; choose one without (the last ":/" begins the target)
| warder: --ro data:relative: filesystem.paths.readOnly[0]: "data:relative" does not exist on this host; create it or leave it out (a target inside is absolute: SOURCE:/TARGET)
| warder: --ro data:: filesystem.paths.readOnly[0]: "data:" does not exist on this host; create it or leave it out (a target inside is absolute: SOURCE:/TARGET)
!~ ^warder: --rw fifo:/x: filesystem.paths.readWrite\[0\]: .*/fifo is neither a directory nor a regular file; name the directory that holds it
!~ ^warder: --ro /dev/null:/x: filesystem.paths.readOnly\[0\]: /dev/null is neither a directory nor a regular file
!~ ^warder: --ro nosuch:/x: filesystem.paths.readOnly\[0\]: ".*/nosuch" does not exist on this host; create it or leave it out
!~ ^warder: --rw fifo:/x: filesystem.paths.readWrite\[0\]: ".*/fifo:/x" has the target of filesystem.paths.readOnly\[0\]; choose another
? 125

= a path with a colon
+ mkdir -p a:b c:/d; echo one > a:b/f; echo two > c:/d/f
$ warder run --prefer limits --ro a:b:/x --ro c:/d:/y -- cat /x/f /y/f; warder run --prefer limits --ro c:/d -- true 2>&1 | sed "s|$PWD/||g"
| one
| two
| warder: --ro c:/d: filesystem.paths.readOnly[0]: "c" does not exist on this host; create it or leave it out

= read-only paths have the owner that read-write ones have
needs limits
needs user
+ mkdir data; echo hi > data/f; chown -R 4711:4711 data; chmod 700 data
$ for how in --ro --rw; do warder run $how data:/data --receipt r.json -- sh -c 'stat -c %U /data /data/f; cat /data/f'; grep -o '[12] r[ow],nosuid,nodev[^"]*' r.json; done
| sandbox
| sandbox
| hi
| 1 ro,nosuid,nodev
| sandbox
| sandbox
| hi
| 1 rw,nosuid,nodev

= and where there are too many, the receipt says that they have not
needs limits
needs user
+ for i in $(seq 21); do mkdir $i; echo " --ro $i:/many/$i"; done | tr -d '\n' > many; chmod 755 [0-9]*
$ warder run $(cat many) --receipt r.json -- stat -c %U /many/1 /many/21; grep -o '[0-9]* ro,nosuid,nodev[^"]*' r.json; warder explain $(cat many) | grep -c 'owners unmapped'; warder run $(cat many | sed 's/--ro/--rw/g') -- true 2>&1 | grep -o 'more than 20 mounts'
| nobody
| nobody
| 21 ro,nosuid,nodev; owners unmapped
| 21
| more than 20 mounts

= a ceiling compares sources; the target is free
needs limits
+ mkdir -p open/keep other; chmod 755 open open/keep other; echo hi > open/f
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"paths\": {\"readWrite\": [\"$PWD/open\"], \"readOnly\": [\"$PWD/open/keep\"]}}}" > ceiling.json
+ sed "s|open/keep|open/keep:/x|" ceiling.json > targets.json
$ warder run --ceiling ceiling.json --ro open:/etc -- cat /etc/f; for words in "--ro other:$PWD/open" "--rw open:/x" "--rw open:/x --ro open/keep" "--rw open/keep:/x"; do warder run --ceiling ceiling.json $words -- true 2>&1 | sed "s|$PWD/||g"; done; warder run --ceiling ceiling.json --rw open:/x --ro open/keep:/x/keep -- true && echo granted; warder run --ceiling targets.json -- true 2>&1 | grep -o 'names sources only'
| hi
| warder: filesystem.paths.readOnly[0]: "other:open" is not inside a path (open/keep, open) that the operator grants
| warder: filesystem.paths.readWrite: "open/keep" lies below a requested path and is granted by the operator for reading only; add it to filesystem.paths.readOnly, with its target if the path has one
| warder: filesystem.paths.readWrite: "open/keep" lies below a requested path and is granted by the operator for reading only; add it to filesystem.paths.readOnly, with its target if the path has one
| warder: filesystem.paths.readWrite[0]: "open/keep:/x" is granted by the operator for reading only
| warder: filesystem.paths.readWrite: "open/keep" lies below a requested path and is granted by the operator for reading only; add it to filesystem.paths.readOnly, with its target if the path has one
| granted
| names sources only

= also the sources that links lead to, and those that are taken apart
needs limits
+ mkdir -p open secret/d; chmod 755 open secret secret/d; echo s > secret/f; ln -s ../secret open/link
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"paths\": {\"readOnly\": [\"$PWD/open\"]}}}" > ceiling.json
$ warder run --ceiling ceiling.json --ro open/link:/x -- cat /x/f 2>&1 | sed "s|$PWD/||g"; warder run --ceiling ceiling.json --ro open/link:/x --ro open:/x/new -- cat /x/f 2>&1 | sed "s|$PWD/||g"
| warder: behind a symbolic link: filesystem.paths.readOnly[0]: "secret:/x" is not inside a path (open) that the operator grants
| warder: behind a symbolic link: filesystem.paths.readOnly[0]: "secret:/x" is not inside a path (open) that the operator grants

= a path that the operator keeps read-only, named by a link, stays read-only at a target
needs limits
+ mkdir -p -m 755 data/keep; ln -s data/keep kept
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"paths\": {\"readWrite\": [\"$PWD/data\"], \"readOnly\": [\"$PWD/kept\"]}}}" > ceiling.json
$ warder run --ceiling ceiling.json --rw data:/x -- true
!~ the ceiling's path ".*/kept" leads to ".*/data/keep": name ".*/data/keep" in the ceiling
? 125

= a document has them too, and a program at its target is found
+ mkdir bin; printf '#!/bin/sh\necho mine $0\n' > bin/tool; chmod 755 bin bin/tool
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"5s\"}, \"filesystem\": {\"growth\": \"unlimited\", \"paths\": {\"readOnly\": [\"$PWD/bin:/tmp/bin\"], \"readWrite\": [\"$PWD/bin:/opt/bin\"]}}}" > policy.json; chmod 644 policy.json
$ warder policy check policy.json; warder run --prefer limits --policy policy.json -- /opt/bin/tool; warder run --prefer limits --policy policy.json -- sh /tmp/bin/tool; warder explain --prefer limits --policy policy.json | grep -o '/[a-z/]* read-[a-z]* from' | sort
| policy.json: ok
| mine /opt/bin/tool
| mine /tmp/bin/tool
| /opt/bin read-write from
| /tmp/bin read-only from

= the working directory may lie in a target, and is never made on the host
+ mkdir data; echo hi > data/f
$ warder run --prefer limits --ro data:/tmp/d --cwd /tmp/d -- cat f; warder run --prefer limits --rw data:/tmp/d --cwd /tmp/d/new -- true 2>&1 | grep -o 'is not a directory that the jail has'; ls data
| hi
| is not a directory that the jail has
| f

= code's own files below /tmp are not written through a target
needs limits
needs place python3
+ mkdir data; chmod 777 data; echo 'print(open("in.txt").read(), end="")' > c.py; echo hi > in.txt
$ warder code --file in.txt c.py; warder code --file in.txt --rw data:/tmp/box c.py > out 2> err; echo $?; ls data
| hi
| 125

= a session has the targets of its start, and its executions say so
+ . "$TOP/tests/transcript/session.sh"; mkdir data out; echo hi > data/f; chmod 777 out; chmod 755 data
$ sh s start --ro $PWD/data:/tmp/a/b --rw $PWD/out:/out --ro $PWD/data:/usr/local/warder-new/x; sh s exec --receipt r.json -- sh -c 'cat /tmp/a/b/f /usr/local/warder-new/x/f; echo x > /out/y'; grep -o '[0-9] r[ow],nosuid,nodev[^"]*' r.json; sh s exec --ro $PWD/out:/x -- true 2>&1 | grep -o 'cannot have others'; sh s stop; ls out
| hi
| hi
| 2 ro,nosuid,nodev
| 1 rw,nosuid,nodev
| cannot have others
| y

= below /tmp, a host without detached mounts refuses the target
needs without
+ mkdir data
$ without mounts warder run --prefer limits --ro data:/tmp/x -- true 2>&1 | grep -o 'cannot be shown at /tmp/x: below /tmp only detached mounts can be'; without mounts warder run --prefer limits --ro data:/x -- ls -d /x
| cannot be shown at /tmp/x: below /tmp only detached mounts can be
| /x
