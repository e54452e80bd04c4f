# warder workspace snapshot|resume, warder snapshot: workspaces as they were.

= a new workspace with an equal tree: modes, links, empty directories, times, holes, names that are no text
+ p=$(warder workspace create job); cd "$p/work"; mkdir empty sticky; echo a > a; chmod 640 a; ln -s a l; ln -s /etc out; ln a hard; mkfifo p; chmod 1777 sticky; touch -d 2001-02-03T04:05:06.789 a; truncate -s 9M sparse; printf n > $'\377'; touch -h -d 1999-01-01 l; touch -d 1999-01-01 empty
+ cd - ; warder workspace stage job host:///etc/passwd --read-only
$ look() { (cd "$1" && find . ! -path ./metadata.json -printf '%p %y %m %T@ %s %l %n\n' | sort; cat work/a); }; s=$(warder workspace snapshot job); warder workspace resume $s new | cut -c1-4; look store/workspaces/job-*/files > one; look store/workspaces/new-*/files > two; cmp one two && echo equal; wc -l < one; du -k store/workspaces/new-*/files/work/sparse | cut -f1; warder workspace read new work/inputs/passwd | cmp - /etc/passwd; warder workspace show new | grep '"id"\|"dst"'
| new 
| equal
|~ ^1[0-9]$
| 0
|   "id": "new",
|       "dst": "work/inputs/passwd",

= extended attributes of the user are kept; many names of many files
needs python3
+ p=$(warder workspace create job); python3 -c 'import os,sys; p=sys.argv[1]+"/work/"; open(p+"a","w"); os.setxattr(p+"a","user.x",b"1"); os.mkdir(p+"d"); os.setxattr(p+"d","user.x",b"1"); [(open(p+str(i),"w").close(), os.link(p+str(i),p+"l"+str(i))) for i in range(3000)]' $p
$ warder workspace resume $(warder workspace snapshot job) new > /dev/null; find store/workspaces/new-*/files/work -type f -links 2 | wc -l; python3 -c 'import os, glob; p = glob.glob("store/workspaces/new-*/files/work/")[0]; print(*(os.getxattr(p + n, "user.x") for n in ("a", "d")))'
| 6000
| b'1' b'1'

= root keeps the owners of files
needs user
+ p=$(warder workspace create job); touch $p/work/a $p/work/b; mkdir $p/work/d; ln -s x $p/work/l; chmod 4750 $p/work/b
$ p=$(warder workspace create job); chown 1:2 $p/work/a; chown 3:4 $p/work/b; chmod 4750 $p/work/b; chown 5:6 $p/work/d; chown -h 7:8 $p/work/l; warder workspace resume $(warder workspace snapshot job) new > /dev/null; cd store/workspaces/new-*/files/work; stat -c '%n %u %g %a' a b d l
| a 1 2 644
| b 3 4 4750
| d 5 6 755
| l 7 8 777

= later changes of either are not the other's; content is stored once
+ warder workspace create job; head -c 5000000 /dev/urandom > big; warder workspace put job big=work/big; warder workspace snapshot job > s1
$ du -sk store/snapshots | cut -f1 > one; echo more | warder workspace write job work/more; s2=$(warder workspace snapshot job); du -sk store/snapshots | cut -f1 > two; test $(($(cat two) - $(cat one))) -lt 100 && echo once; warder workspace resume $(cat s1) old > /dev/null; warder workspace list old work | cut -d' ' -f1,2,3-; warder workspace resume $s2 | cut -c1-3; warder workspace read old work/big | cmp - big
| once
|~ 5000000 work/big$
| d 0755            0 work/inputs
| ws-

= known by its id only
+ warder workspace create job
$ warder workspace resume snap-0000000000000000; warder workspace resume ../x; warder workspace resume snap-../../x; warder snapshot remove snap-0000000000000000; warder workspace snapshot gone; s=$(warder workspace snapshot job); warder workspace resume $s job
! warder: there is no snapshot snap-0000000000000000; "warder snapshot list" lists them
! warder: "../x" is not the id of a snapshot; they look like snap-0123456789abcdef
! warder: "snap-../../x" is not the id of a snapshot; they look like snap-0123456789abcdef
!~ there is no snapshot
!~ there is no workspace "gone"
!~ there is a workspace job already
? 125

= not while something runs, unless it is to wait
needs limits place
+ p=$(warder workspace create job)
+ warder workspace run job -- sh -c 'touch started; until [ -e go ]; do sleep 0.05; done; echo done > out/f' &
+ until [ -e "$p/started" ]; do sleep 0.05; done
$ p=$(warder workspace create job); warder workspace snapshot job; touch "$p/go"; s=$(warder workspace snapshot job --wait); warder workspace resume $s new > /dev/null; warder workspace read new out/f
!~ "job" is in use: something runs in it
| done

= limits of size, number and age
+ warder workspace create job; warder workspace create other; warder workspace snapshot other; head -c 3000 /dev/zero | warder workspace write job x
$ warder workspace snapshot job --max-size 2999B; for i in 1 2 3 4; do warder workspace snapshot job --keep 2 --max-size 3000B > last; done; warder snapshot list job | cut -d' ' -f1 > list; wc -l < list; tail -n 1 list | cmp - last; warder snapshot list | wc -l; sleep 1.1; warder snapshot prune job --keep-for 1h; warder snapshot prune --keep 1; warder snapshot list | wc -l; warder snapshot prune; sleep 1; warder snapshot prune --keep-for 1s; warder snapshot list; ls store/snapshots/content
! warder: the workspace has more than 2999 bytes; raise --max-size, or remove something; nothing was kept
| 2
| 3
| 0 removed
| 1 removed
| 2
! warder: give --keep, --keep-for, or both
| 2 removed

= a damaged snapshot is reported, and no workspace is made from it
+ warder workspace create job; echo content | warder workspace write job x; warder workspace snapshot job > s; cp -r store good
$ s=$(cat s); warder snapshot verify; f=$(grep -l content store/snapshots/content/*); chmod 600 $f; echo cOntent > $f; warder snapshot verify; warder workspace resume $s new; rm $f; warder snapshot verify $s; warder workspace list | wc -l; rm -r store; cp -r good store; sed -i 's/"mode":420/"mode":511/' store/snapshots/manifests/*; warder snapshot verify; warder workspace resume $s new; rm -r store; cp -r good store; sed -i '$d' store/snapshots/manifests/*; warder snapshot verify; warder workspace list | wc -l
| 1 as they were made
!~ files/x: the content .* has other bytes: the store is damaged
!~ has other bytes: the store is damaged
!~ files/x: the content .* is missing: the store is damaged
| 1
!~ the snapshot is damaged: it was changed
!~ the snapshot is damaged: it was changed
!~ the snapshot is damaged: it has no end
| 1

= in JSON
+ warder workspace create job; echo x | warder workspace write job x
$ warder workspace snapshot job --json; warder snapshot list job --json; warder workspace resume ../x --json
|~ ^\{"id":"snap-[0-9a-f]{16}","workspace":"job","createdAt":"[0-9TZ:-]+","entries":7,"bytes":2,"leftOut":0\}$
|~ ^\[\{"id":"snap-[0-9a-f]{16}",.*"entries":7,"bytes":2,"leftOut":0\}\]$
|~ "kind":"invalidRequest"
? 125

= files that a program has closed to its own user are stored, and stay closed
+ p=$(warder workspace create job); mkdir -p $p/work/c/d $p/work/half; echo in > $p/work/c/d/f; echo shut > $p/work/shut; echo x > $p/work/half/x; chmod 0 $p/work/shut $p/work/c/d/f $p/work/c/d $p/work/c; chmod 600 $p/work/half
$ s=$(warder workspace snapshot job); warder workspace resume $s new > /dev/null; for w in job new; do (cd store/workspaces/$w-*/files/work && stat -c '%n %a' c shut half && chmod 700 c half && stat -c '%n %a' c/d && chmod 700 c/d && chmod 600 c/d/f shut && cat c/d/f shut half/x); done
| c 0
| shut 0
| half 600
| c/d 0
| in
| shut
| x
| c 0
| shut 0
| half 600
| c/d 0
| in
| shut
| x

= while a session may write to it, there is no snapshot, and it is not removed
+ . "$TOP/tests/transcript/session.sh"
$ export XDG_RUNTIME_DIR=$PWD/rt; p=$(warder workspace create job); sh s start --workspace $p:rw; warder workspace snapshot job; echo $?; warder workspace remove job; echo $?; sh s stop; sh s start --workspace /usr --rw $p/out; warder workspace snapshot job; echo $?; (sleep 0.5; sh s stop) & warder workspace snapshot job --wait | cut -c1-5; wait; sh s start --workspace $p:overlay; warder workspace snapshot job | cut -c1-5; sh s stop; warder snapshot list | wc -l; warder workspace remove job
| 125
| 125
| 125
| snap-
| snap-
| 2
!~ ^warder: "job" is in use: the session [a-zA-Z0-9]+ may write to it; stop the session, or wait with --wait$
!~ ^warder: "job" is in use: the session
!~ ^warder: "job" is in use: the session
