# A session with the files of another one: warder session copy. `. ./env` makes $n the name of the case's own session, and $n.2 that of the copy.

= every kind of file, with its mode, times, holes and names; the two sessions then share nothing
needs python3
+ . "$TOP/tests/transcript/session.sh"; echo "export XDG_RUNTIME_DIR=$PWD/rt; n=$name" >env
$ . ./env; sh s start --set syscalls.profile=compat --setup 'echo set up >> /tmp/setup'; sh s exec -- sh -c 'cd /tmp; mkdir -m 750 d; echo one >d/f; ln d/f d/g; ln -s /etc/passwd d/l; ln d/l d/m; mkfifo -m 622 d/p; truncate -s 20M holes; echo end >>holes; mkdir -m 555 ro; printf x >"$(printf "a\n\377")"; echo shm >/dev/shm/x; touch -d @7 d/f ro; touch -hd @9 d/l; chmod 444 d/f'; sh s exec -- python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("/tmp/sock")'; warder session copy $n $n.2; echo $?
> show() { warder session exec $1 -- sh -c 'cd /tmp; find . /dev/shm -mindepth 1 -printf "%p %y %m %n %s %b %t %l %U\n" | sort; ls -di d/f d/g d/l d/m | tr -s " " | cut -d " " -f 1 | sort -u | wc -l'; }; show $n >a; show $n.2 >b; cmp a b && wc -l <b; tail -n 1 b; warder session exec $n.2 -- sh -c 'cat /tmp/d/f /tmp/setup /dev/shm/x; echo two >/tmp/own'; sh s list own; warder session status $n.2 --json | grep -c '"setup":\["echo'; warder session restart $n.2; warder session list $n.2; warder session stop $n.2; sh s stop
| 0
| 14
| 2
| one
| set up
| shm
| 1
|~ ^file      0644            7 "setup"$
! warder: cannot open "/tmp/own": No such file or directory

= while programs run, and could write, it is refused, unless they are paused; nothing starts during a copy
needs limits
+ . "$TOP/tests/transcript/session.sh"; echo "export XDG_RUNTIME_DIR=$PWD/rt; n=$name" >env
$ . ./env; sh s start; id=$(sh s exec --detach -- sh -c 'while :; do echo x >>/tmp/grows; sleep 0.01; done'); until sh s list grows 2>/dev/null | grep -q file; do :; done; warder session copy $n $n.2; sh s pause; warder session copy $n $n.2; echo $?; sh s resume; until [ $(sh s read grows | wc -c) -gt $(warder session read $n.2 grows | wc -c) ]; do sleep 0.1; done; warder kill -s KILL $id; warder wait $id; warder session read $n.2 grows | sort -u; warder session list | wc -l; warder session copy $n $n.2; warder session stop $n.2; sh s exec --background -- sh -c 'sleep 60 &'; warder session copy $n $n.2; warder session list | wc -l; sh s stop
| 0
| x
| 2
| 1
!~ ^warder: programs run in session ([^ ]*), and could change its files during the copy; wait for their end, or pause it: "warder session pause \1"$
!~ ^warder: session [^ ]*\.2 runs already, and a copy is a new session; take another name$
!~ ^warder: programs run in session ([^ ]*), and could change its files

= all or nothing: files that cannot be copied as they are
+ . "$TOP/tests/transcript/session.sh"; echo "export XDG_RUNTIME_DIR=$PWD/rt; n=$name" >env
$ . ./env; sh s start; try() { warder session copy $n $n.2; warder session list | wc -l; sh s exec -- sh -c 'chmod -R u+rwx /tmp/*; rm -r /tmp/*'; }; sh s exec -- sh -c 'mkdir /tmp/d; echo 1 >/tmp/d/n; chmod 0 /tmp/d/n'; try; sh s exec -- mkdir -m 0 /tmp/d; try; sh s exec -- sh -c 'cd /tmp; i=0; while [ $i -lt 300 ]; do mkdir x; cd x; i=$((i + 1)); done'; try 2>&1 | sed 's,/tmp/[x/.]*,/tmp/x,'; warder session copy $n $n.2; echo $?; warder session stop $n.2; sh s stop
| 1
| 1
| warder: "/tmp/x" lies below more than 256 directories
| 1
| 0
! warder: "/tmp/d/n" cannot be read: Permission denied
! warder: "/tmp/d" cannot be read: Permission denied

= a session that writes elsewhere is refused by the field
needs place
+ . "$TOP/tests/transcript/session.sh"; echo "export XDG_RUNTIME_DIR=$PWD/rt; n=$name" >env; mkdir work; chmod 777 work
$ . ./env; for how in rw overlay ro; do sh s start --workspace $PWD/work:$how --set limits.disk=64MiB; warder session copy $n $n.2; warder session list | wc -l; warder session stop $n.2 2>/dev/null; sh s stop; done
| 1
| 1
| 2
!~ ^warder: filesystem.workspace: programs of session [^ ]* write to a directory of the host at /workspace, which both sessions would share; start a session with a directory of its own$
!~ ^warder: filesystem.workspace: session [^ ]* has an overlay at /workspace, which cannot be copied; copy single files with "warder session cp"$

= wrong words, and names
+ . "$TOP/tests/transcript/session.sh"; echo "export XDG_RUNTIME_DIR=$PWD/rt; n=$name" >env
$ . ./env; warder session copy; warder session copy a; warder session copy a b c; warder session copy a --frozen b; warder session copy no-such b; sh s start; warder session copy $n $n; warder session copy $n /x; sh s stop
! warder: which session? copy NAME
! warder: which name has the new session? copy SOURCE NAME
! warder: c is not known here: copy SOURCE NAME
! warder: --frozen is not known here: copy SOURCE NAME
! warder: session no-such does not run; "warder session start no-such" starts it
!~ ^warder: session [^ ]* runs already, and a copy is a new session; take another name$
!~ ^warder: "/x" is not a valid session name
