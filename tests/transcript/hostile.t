# What whoever makes the content of a jail may do to a launch: directories that are links, or become links meanwhile; files that
# have a power on the host; a place for the program that leads out. Nothing may come of it.

# ---- a directory as the root ----

= mount points of a launch that are links in the root
needs limits place busybox
+ mkdir target; : > target/secret; chmod 777 target; mkdir -p root/bin; cp /bin/busybox root/bin
+ cat > looks <<'END'
+ for at in "" /dev /proc /tmp /sys /run /etc /usr /workspace; do
+ 	[ ! -e "$at/secret" ] && [ ! -e "$at$1/secret" ] || echo "the secret, by $at"
+ 	echo planted 2>/dev/null >"$at/planted"
+ done
+ [ "$(stat -c %t:%T /dev/null)" = 1:3 ] || echo "another /dev/null"
+ [ -e /proc/self/status ] || echo "another /proc"
+ END
$ for where in dev proc tmp sys run etc usr workspace; do for to in "$PWD/target" ../../target /proc/1/root ../..; do
> ln -sT "$to" "root/$where"; warder run --view "directory:$PWD/root" -- /bin/busybox sh -c "$(cat looks)" - "$PWD/target"; echo "$?"; rm "root/$where"
> done; done 2>&1 | sort | uniq -c | tr -s ' '; ls target
|  32 0
| secret

= device nodes in the root that are links to files of the host
needs limits place busybox
+ mkdir -p root/bin root/dev root/proc/self root/dev/pts; cp /bin/busybox root/bin; echo keep > kept; chmod 666 kept
+ for n in null zero full random urandom tty ptmx console stdin fd shm pts/0; do ln -s "$PWD/kept" root/dev/$n; done
+ ln -s "$PWD/kept" root/proc/self/uid_map; ln -s "$PWD/kept" root/proc/kcore
$ before=$(stat -c '%a %u %Y' kept); warder run --view "directory:$PWD/root" -- /bin/busybox sh -c 'stat -c %t:%T /dev/null /dev/zero /dev/tty; cat /dev/null; head -c 3 /dev/zero | wc -c; cat /proc/kcore 2>/dev/null; wc -l < /proc/self/uid_map'; cat kept; [ "$before" = "$(stat -c '%a %u %Y' kept)" ]; find root/dev ! -type l | sort
| 1:3
| 1:5
| 5:0
| 3
| 1
| keep
| root/dev
| root/dev/pts

= its lists of users never end
needs limits place busybox mkfifo
+ mkdir -p root/bin root/etc; cp /bin/busybox root/bin; mkfifo root/etc/passwd; ln -s /dev/zero root/etc/group; truncate -s 3G root/etc/nsswitch.conf
$ warder run --view "directory:$PWD/root" -- /bin/busybox echo ran
| ran

= a directory of the root is exchanged with a link to the host while jails start
needs limits place busybox python3
+ mkdir -p root/bin root/etc target; cp /bin/busybox root/bin; echo inside > root/etc/x; echo "of the host" > target/x; chmod 777 target; ln -s "$PWD/target" root/link
$ python3 "$TOP/tests/lib/swap.py" root/etc root/link ready & swap=$!; until [ -e ready ]; do sleep 0.05; done; for i in $(seq "${WARDER_TEST_LAUNCHES:-40}"); do
> warder run --view "directory:$PWD/root" -- /bin/busybox sh -c 'cat /etc/x; echo planted > /etc/y' 2>/dev/null; done | sort -u | grep -vx inside; kill $swap; wait $swap 2>/dev/null; ls target; grep "$PWD" /proc/self/mountinfo; :
| x

# ---- a mount point in a workspace ----

= it is exchanged with a link while jails start
needs limits place python3
+ mkdir -p ws/in data; echo data > data/f; ln -s /tmp ws/link
$ python3 "$TOP/tests/lib/swap.py" ws/in ws/link ready & swap=$!; until [ -e ready ]; do sleep 0.05; done; for i in $(seq "${WARDER_TEST_LAUNCHES:-40}"); do
> warder run --workspace ws:rw --set limits.disk=unlimited --ro data:/workspace/in -- sh -c 'ls /tmp; cat in/f link/f; echo planted > in/f; echo planted > in/g' 2>/dev/null; done | sort -u | grep -vx data; kill $swap; wait $swap 2>/dev/null; cat data/f; ls data; ls /tmp/f 2>/dev/null; grep "$PWD" /proc/self/mountinfo; :
| data
| f

= and where the root is built by mount(2)
needs limits place python3 without
+ mkdir -p ws/in data; echo data > data/f; ln -s /tmp ws/link
$ python3 "$TOP/tests/lib/swap.py" ws/in ws/link ready & swap=$!; until [ -e ready ]; do sleep 0.05; done; for i in $(seq "${WARDER_TEST_LAUNCHES:-40}"); do
> without mounts warder run --workspace ws:ro --ro data:/workspace/in -- sh -c 'ls /tmp; cat in/f link/f; echo planted > in/g' 2>/dev/null; done | sort -u | grep -vx data; kill $swap; wait $swap 2>/dev/null; cat data/f; ls data
| data
| f

# ---- files that have a power on the host ----

= a set-user-ID program, one with capabilities, and a device, in a shown directory
needs limits place user power setcap
+ mkdir shown; cp "$(command -v id)" shown/id; chmod 4755 shown/id; cp "$(command -v grep)" shown/look; setcap cap_sys_admin+ep shown/look; mknod -m 666 shown/null c 1 3
+ cat > try <<'END'
+ cd "$1"; [ "$(./id -u)" = "$(id -ru)" ] || echo "another user"
+ ./look -q 'CapEff:.*[1-9a-f]' /proc/self/status && echo "a capability"
+ echo x 2>/dev/null > null && echo "a device"
+ END
$ setpriv --reuid 12345 --regid 12345 --clear-groups sh try shown; for how in --ro --rw; do warder run $how "$PWD/shown" --set limits.disk=unlimited -- sh -c "$(cat try)" - "$PWD/shown"; done; warder run --workspace "$PWD/shown:rw" --set limits.disk=unlimited -- sh -c "$(cat try)" - /workspace; echo end
| another user
| a capability
| a device
| end

= a read-only path cannot be written to, whatever its mode
needs limits place python3
+ mkdir -m 777 shown; echo text > shown/f; chmod 666 shown/f
$ warder run --ro "$PWD/shown" -- python3 -c 'import errno, os, sys
> def told(what, *arguments):
>     try: what(*arguments); print(what.__name__, "done")
>     except OSError as e: print(what.__name__, errno.errorcode[e.errno])
> os.chdir(sys.argv[1]); fd = os.open("f", os.O_RDONLY)
> told(os.open, "f", os.O_WRONLY); told(os.open, "/proc/self/fd/%d" % fd, os.O_RDWR); told(os.truncate, "f", 0); told(os.unlink, "f"); told(os.mkdir, "d"); told(os.chmod, "f", 0o600)
> told(os.fchmod, fd, 0o600); told(os.setxattr, "f", "user.x", b""); told(os.utime, "f"); told(os.rename, "f", "g"); told(os.symlink, "f", "l"); told(os.link, "f", "/tmp/f")' "$PWD/shown"; cat shown/f
| open EROFS
| open EROFS
| truncate EROFS
| unlink EROFS
| mkdir EROFS
| chmod EROFS
| fchmod EROFS
| setxattr EROFS
| utime EROFS
| rename EROFS
| symlink EROFS
| link EXDEV
| text

# ---- where the program begins, and what it is ----

= a working directory that is a descriptor of another process
needs limits
+ mkdir ws outside; echo "of the host" > outside/secret; n=0
+ for at in self/cwd self/root 1/cwd 1/root thread-self/cwd $(seq -f 'self/fd/%g' 0 30) $(seq -f '1/fd/%g' 3 10); do ln -s "/proc/$at" ws/$n; echo "$at" >> list; n=$((n + 1)); done
$ exec 20<outside 21</; n=0; while read -r at; do
> warder run --cwd "/proc/$at" -- true 2> /dev/null; [ $? = 125 ] || echo "by $at"
> warder run --workspace ws --cwd /workspace/$n -- sh -c 'case $(/bin/pwd 2>&1) in /*) ;; *) echo "outside of the root" ;; esac; cat secret ../outside/secret "..$0/outside/secret"; ls etc/shadow root/.bashrc' "$PWD" 2>/dev/null; [ $? != 0 ] || echo "by /workspace/$n, $at"
> n=$((n + 1)); done < list; echo $n
| 44

= a program that is its own interpreter
needs limits place
+ printf '#!/proc/self/exe\n' > self; printf '#!/proc/1/exe\n' > init; chmod 755 self init
$ before=$(sha256sum < "$(command -v warder)"); for program in self init; do timeout 60 warder run --ro "$PWD/$program" -- "$PWD/$program" > out 2>&1; case $? in 12[567]) ;; *) echo "$program: $?"; cat out ;; esac; done; [ "$before" = "$(sha256sum < "$(command -v warder)")" ]

= libraries that a caller's environment names
needs limits cc
+ printf '#include <stdio.h>\n#include <unistd.h>\n__attribute__((constructor)) static void begin(void) { if (write(1, "loaded\\n", 7) < 0) _exit(1); }\n' > evil.c; cc -shared -fPIC -o evil.so evil.c
$ LD_PRELOAD=$PWD/evil.so LD_LIBRARY_PATH=$PWD LD_AUDIT=$PWD/evil.so warder run -- sh -c 'echo "$LD_PRELOAD$LD_LIBRARY_PATH$LD_AUDIT."'; LD_PRELOAD=$PWD/evil.so /bin/true
| .
| loaded

= the caller's terminal
needs limits terminal
$ script -qec "warder run -- sh -c 'for fd in 0 1 2; do [ ! -t \$fd ] || echo a terminal at \$fd; done; cat /dev/tty 2>&1 | tail -n 1; ls -d /dev/pts /dev/ptmx 2>&1'" /dev/null < /dev/null | tr -d '\r'
|~ /dev/tty: No such device or address$
| ls: cannot access '/dev/pts': No such file or directory
| ls: cannot access '/dev/ptmx': No such file or directory

= a program that exits with the status of a failed start is reported as ended
needs limits python3
$ for code in 125 126 127 137; do warder run --json -- sh -c "exit $code" | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["status"], r["cause"], r["exitCode"])'; done; warder run --json -- /not-there | python3 -c 'import json, sys; print(json.load(sys.stdin)["status"])'
| failed exit 125
| failed exit 126
| failed exit 127
| failed exit 137
| rejected

# ---- what is collected ----

= results that are links, pipes, sockets, devices, or have no end
needs user python3
+ mkdir into
$ p=$(warder workspace create job); cd "$p/out"; echo ok > plain; truncate -s 1T huge; mkfifo pipe; ln -s /etc/shadow link; ln -s /etc dir; mknod zero c 1 5; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
> cd - > /dev/null; timeout 100 warder workspace collect job 'out/**' --to into 2> said; echo $?; find into -type f -size -5M | sort; find into ! -type f ! -type d; cat into/out/plain; grep -c 'cut off' said
| 1099511627776 out/huge (cut off)
|~ ^ *3 out/plain$
| 1
| into/out/huge
| into/out/plain
| ok
| 1

# ---- what is removed ----

= links take the place of directories while a workspace is removed
needs python3
+ mkdir -p kept/sub; for i in 1 2 3; do echo keep > kept/$i; echo keep > kept/sub/$i; done
$ for round in 1 2 3 4 5 6; do p=$(warder workspace create job); for i in $(seq 40); do mkdir -p "$p/work/d$i/in"; ln -s "$PWD/kept" "$p/work/l$i"; done
> python3 "$TOP/tests/lib/swap.py" "$p/work/d20" "$p/work/l20" first-$round & first=$!; python3 "$TOP/tests/lib/swap.py" "$p/work/d3/in" "$p/work/l3" second-$round & second=$!
> until [ -e first-$round ] && [ -e second-$round ]; do sleep 0.05; done; warder workspace remove job 2>/dev/null; kill $first $second 2>/dev/null; wait $first $second 2>/dev/null; warder workspace remove job; done; find kept -type f | wc -l; ls -A store/workspaces
| 6

= a file system that is mounted in a workspace is not removed with the workspace
needs unshare user
+ mkdir -p kept/sub; echo keep | tee kept/1 > kept/sub/2
$ p=$(warder workspace create job); mkdir "$p/work/m"; unshare -m sh -c "mount --make-rprivate / && mount --bind kept '$p/work/m' && warder workspace remove job"; echo $?; find kept -type f | wc -l; warder workspace remove job; ls -A store/workspaces
!~ ^warder: "job" cannot be removed altogether; .*: Invalid cross-device link$
| 125
| 2

# ---- a /proc that is none ----

= a directory that is mounted in place of /proc receives nothing
needs limits unshare user
+ mkdir -p fake/self/fd fake/self/ns fake/sys/user fake/1; for f in self/uid_map self/gid_map self/setgroups self/mountinfo self/cgroup self/oom_score_adj sys/user/max_user_namespaces mounts filesystems; do : > fake/$f; done
$ unshare -m sh -c 'mount --make-rprivate / && mount --bind fake /proc && warder run -- true; echo $?' > out 2>&1; tail -n 1 out; find fake -type f -size +0
| 125
