# The files of a session from outside: session read, write, list and cp. `. ./env` makes $n the name of the case's own session.

= a file in and out; a relative path begins at the working directory, and the jail's user owns new files
+ . "$TOP/tests/transcript/session.sh"; echo "export XDG_RUNTIME_DIR=$PWD/rt; n=$name" >env
$ sh s start; printf 'one\0two' | sh s write a && sh s read /tmp/a | tr '\0' ' '; echo; sh s exec -- sh -c '[ $(stat -c %u:%a a) = $(id -u):644 ] && echo of the user; chmod 600 a; echo more >>a'; echo short | sh s write a; sh s read a; sh s exec -- stat -c %a a; sh s stop
| one two
| of the user
| short
| 600

= list prints a table, or JSON
needs python3
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; sh s exec -- sh -c 'mkdir -m 750 d; printf abc >d/f; chmod 640 d/f; ln -s f d/l; mkfifo -m 600 d/p; touch "d/$(printf "a\nb\377")"; chmod 644 d/a*'; sh s list d; sh s list d/f; sh s list --json d | python3 -c 'import json, sys; [print(e["name"].isprintable(), e.get("nameBase64"), e["type"], e["mode"], e["sizeBytes"], e.get("target")) for e in json.load(sys.stdin)]'; sh s list no; echo $?; sh s stop
|~ ^file      0644            0 "a\\n.*"$
| file      0640            3 "f"
| symlink   0777            0 "l" -> "f"
| fifo      0600            0 "p"
| file      0640            3 "f"
| False YQpi/w== file 0644 0 None
| True None file 0640 3 None
| True None symlink 0777 0 f
| True None fifo 0600 0 None
| 125
! warder: cannot open "/tmp/no": No such file or directory

= copies of files and directories, as with docker cp
+ . "$TOP/tests/transcript/session.sh"; echo "export XDG_RUNTIME_DIR=$PWD/rt; n=$name" >env
+ mkdir -p in/sub; echo 1 >in/f; echo 2 >in/sub/g; chmod 750 in/sub; ln -s sub/g in/l; echo old >here
$ . ./env; sh s start; warder session cp in $n:new && warder session cp in $n:new && warder session cp in/. $n:new; warder session cp in/f $n:/tmp/new/; sh s exec -- sh -c 'cd new && find . | sort; stat -c %a sub; readlink l'; warder session cp $n:new/sub/g here; cat here; warder session cp $n:new/in out; find out | sort; stat -c %u out/f | grep -cx $(id -u); warder session cp $n:new/f no/; warder session cp here $n:/; sh s stop
| .
| ./f
| ./in
| ./in/f
| ./in/l
| ./in/sub
| ./in/sub/g
| ./l
| ./sub
| ./sub/g
| 750
| sub/g
| 2
| out
| out/f
| out/l
| out/sub
| out/sub/g
| 1
! warder: "no/" is not a directory; make it first, or leave the last "/" out
! warder: "here" cannot be made: Read-only file system
? 0

= a target that exists: merged, replaced with all it holds, or refused; an empty directory is none
+ mkdir -p in/sub other; echo 1 > in/sub/one; echo 2 > other/two; ln -s /etc other/link
+ . "$TOP/tests/transcript/session.sh"
$ sh s start; cp="warder session cp"; export XDG_RUNTIME_DIR=$PWD/rt; name=$(pwd | tr -dc a-zA-Z0-9 | tail -c 40); show() { warder session exec $name -- sh -c 'cd /tmp/d && find . -type f -o -type l | sort | tr "\n" " "'; echo; }
> warder session exec $name -- mkdir /tmp/d; $cp in/. $name:/tmp/d --on-existing error; show; $cp other/. $name:/tmp/d --on-existing error; $cp in/sub/one $name:/tmp/d/sub --on-existing error; $cp other/. $name:/tmp/d; show; $cp other/. $name:/tmp/d --on-existing replace; show; $cp in/sub $name:/tmp/d/two --on-existing replace; show; $cp none $name:/tmp/d --on-existing replace; show; $cp in $name:/tmp --on-existing sometimes
> $cp $name:/tmp/d/. other --on-existing error; $cp $name:/tmp/d/. other --on-existing replace; find other | sort | tr '\n' ' '; echo; sh s stop
| ./sub/one 
| ./link ./sub/one ./two 
| ./link ./two 
| ./link ./two/one 
| ./link ./two/one 
| other other/link other/two other/two/one 
! warder: "the target directory" is there already; --on-existing replace or merge allows that
! warder: "one" is there already; --on-existing replace or merge allows that
! warder: "none" cannot be read: No such file or directory
! warder: --on-existing sometimes: choose error, replace or merge
! warder: "the target directory" is there already; --on-existing replace or merge allows that

= wrong words
+ . "$TOP/tests/transcript/session.sh"; echo "export XDG_RUNTIME_DIR=$PWD/rt; n=$name" >env
$ . ./env; warder session cp a b; warder session cp a:b c:d; warder session cp - a:b; warder session read x; warder session read x y z; warder session read no-such y; warder session read x y --max-bytes many
! warder: no session is named: one of a and b has to be NAME:PATH, and the other a path of the host
! warder: two sessions are named: one of a:b and c:d has to be NAME:PATH, and the other a path of the host
! warder: cp knows no archives; "warder session read" and "write" use the standard streams
! warder: a path is missing: warder session read NAME PATH
! warder: there is a word too many: warder session read NAME PATH
! warder: session no-such does not run; "warder session start no-such" starts it
!~ ^warder: --max-bytes many: 
? 125

= only regular files are read and written; links lead nowhere but into the session
+ . "$TOP/tests/transcript/session.sh"; echo "export XDG_RUNTIME_DIR=$PWD/rt; n=$name" >env
+ echo the secret of the host >secret; echo kept >victim
$ . ./env; sh s start; sh s exec -- sh -c "mkfifo p; mkdir d; ln -s $PWD/secret s; ln -s ../../../../../..$PWD/secret t; ln -s /proc/1/root$PWD/secret r; ln -s $PWD w; ln -s loop loop; touch d/e; ln -s d/e u"; for path in p d s t r w/secret loop /dev/zero ../../../..$PWD/secret; do sh s read $path; done; for path in p s /dev/null w/new; do echo x | sh s write $path; done; echo inside | sh s write u; sh s read d/e; warder session cp $n:s copy; ls -l copy; ln -s $PWD out; warder session cp $n:d out; warder session cp secret $n:s; sh s read s; cat victim; sh s stop
| inside
| the secret of the host
| kept
! warder: "p" is not a regular file, but a fifo
! warder: "d" is not a regular file, but a directory
! warder: cannot open "/tmp/s": No such file or directory
! warder: cannot open "/tmp/t": No such file or directory
!~ ^warder: (cannot open )?"/tmp/r"
!~ ^warder: cannot open "/tmp/w/secret": No such file or directory$
! warder: "/tmp/loop" leads through too many symbolic links, or through one of procfs
! warder: "/dev/zero" is not a regular file, but a device
!~ ^warder: cannot open "/tmp/../../../../.*/secret": No such file or directory$
! warder: "p" is not a regular file, but a fifo
! warder: "s" cannot be made: File exists
! warder: "/dev/null" is not a regular file, but a device
!~ ^warder: cannot open "/tmp/w/?": No such file or directory$
! warder: "s" is a symbolic link; name the file that it leads to
!~ ^ls: .*copy
! warder: "d" cannot be made: Not a directory

= a file that grows, one with holes, and one that is too large
+ . "$TOP/tests/transcript/session.sh"; echo "export XDG_RUNTIME_DIR=$PWD/rt; n=$name" >env
$ . ./env; sh s start; sh s exec --background -- sh -c '(while :; do echo x >>grows; done) & sleep 0.2'; sh s read grows | sort -u; sh s exec -- sh -c 'truncate -s 60M holes; echo end >>holes'; warder session cp $n:holes .; stat -c %s holes; [ $(stat -c %b holes) -lt 100 ] && echo sparse; tail -c 4 holes; sh s read holes --max-bytes 1MiB; warder session cp $n:holes x --max-bytes 1MiB; ls x; yes | dd bs=4095 iflag=fullblock count=300 status=none | sh s write big --max-bytes 1MiB; sh s exec -- stat -c %s big; sh s stop
| x
| 62914564
| sparse
| end
| 1048576
! warder: "holes" has more than 1MiB; --max-bytes allows more
! warder: "holes" has more than 1MiB; --max-bytes allows more
!~ ^ls: .*x
! warder: "standard input" has more than 1MiB; --max-bytes allows more
< 20

= files that cannot be copied are named, and the exit status is 125
+ . "$TOP/tests/transcript/session.sh"; echo "export XDG_RUNTIME_DIR=$PWD/rt; n=$name" >env
$ . ./env; sh s start; sh s exec -- sh -c 'mkdir d; mkfifo d/p; echo 1 >d/f; echo 2 >d/n; chmod 0 d/n; d=d; for i in $(seq 70); do d=$d/x; mkdir $d; done; chmod 755 d/f'; warder session cp $n:d out; echo $?; stat -c %a out/f; ls out; find out -type d | wc -l; sh s stop
| 125
| 755
| f
| x
| 64
! warder: "n" is not copied: Permission denied
! warder: "p" is not copied: it is a fifo
!~ ^warder: "x/.*is not copied: more than 64 levels of directories$

= a program that swaps a directory for a link to the host all the time gets nothing of it, and changes nothing there
needs place
+ . "$TOP/tests/transcript/session.sh"; echo "export XDG_RUNTIME_DIR=$PWD/rt; n=$name" >env
+ mkdir host; echo the secret of the host >host/f
$ . ./env; sh s start; sh s exec --background -- sh -c "mkdir d; echo mine >d/f; (while :; do mv d e; ln -s $PWD/host d; rm d; mv e d; done) >/dev/null 2>&1 &"; for i in $(seq 25); do sh s read d/f; echo x | sh s write d/g; warder session cp $n:d out; warder session cp s $n:d/s; done >log 2>/dev/null; grep -c secret log; grep -qx mine log && echo some came; find out -type f | grep -v '/[fgs]$'; grep -r secret out; ls host; cat host/f; sh s stop
| 0
| some came
| f
| the secret of the host

= a patch is applied with the rights of the session's user, all of it or nothing
needs git
+ . "$TOP/tests/transcript/session.sh"
+ printf -- '--- a/one\n+++ b/one\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n--- /dev/null\n+++ b/d/new\n@@ -0,0 +1 @@\n+x\n' > good
+ printf -- '--- /dev/null\n+++ b/first\n@@ -0,0 +1 @@\n+x\n--- a/one\n+++ b/one\n@@ -1,2 +1,2 @@\n a\n-not so\n+c\n' > other
+ printf -- '--- /dev/null\n+++ b/../out\n@@ -0,0 +1 @@\n+x\n' > out
+ printf -- '--- a/etc/hostname\n+++ b/etc/hostname\n@@ -0,0 +1 @@\n+x\n' > root
$ sh s start; sh s exec -- mkdir /tmp/w; printf 'a\nb\n' | sh s write /tmp/w/one; sh s patch /tmp/w < good; echo $?; sh s read /tmp/w/one; sh s read /tmp/w/d/new; sh s patch /tmp/w < other; echo $?; sh s list /tmp/w | wc -l; sh s patch /tmp/w < out; echo $?; sh s exec -- test -e /tmp/out; echo $?; sh s patch / < root; [ $? != 0 ] && echo refused; sh s patch /tmp/w more < good; echo $?; sh s stop
| 0
| a
| c
| x
| 1
| 2
| 128
| 1
| refused
| 125
!*

= the keeper supervises a patch: it goes on if its caller is killed
needs git
+ . "$TOP/tests/transcript/session.sh"
+ printf -- '--- /dev/null\n+++ b/late\n@@ -0,0 +1 @@\n+x\n' > late; mkfifo pipe
$ export XDG_RUNTIME_DIR=$PWD/rt; sh s start; sh s patch /tmp < pipe & pid=$!; exec 9> pipe; until id=$(warder ps | awk '/ running .*git apply/ { print $1 }') && [ "$id" ] || ! kill -0 $pid; do sleep 0.05; done; kill -9 $pid; wait $pid 2> /dev/null; cat late >&9; exec 9>&-; warder wait $id; echo $?; sh s read /tmp/late; sh s stop
| 0
| x
