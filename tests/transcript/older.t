# Kernels that lack a system call, and containers whose filter refuses it: the same guarantees, or a refusal with the reason. What
# `without` takes away is gone for the jail's own processes as well.
needs without

= absent calls: the ones that a launch can do without, and the messages for the others
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
$ for call in open_tree move_mount mount_setattr mounts landlock_create_ruleset openat2 clone3 pidfd_open close_range; do echo "$call: $(without $call warder run --policy easy.json -- echo runs 2>&1)"; done | sed 's/warder: .*: \(.*: Function\)/warder: \1/'
| open_tree: runs
| move_mount: runs
| mount_setattr: runs
| mounts: runs
| landlock_create_ruleset: runs
| openat2: warder: openat2: Function not implemented; needs Linux 5.6
| clone3: warder: clone3: Function not implemented; needs Linux 5.5
| pidfd_open: warder: process descriptors: Function not implemented; needs Linux 5.3
| close_range: warder: close_range: Function not implemented; needs Linux 5.9

= refused: the same
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
$ for call in open_tree move_mount mount_setattr mounts landlock_create_ruleset openat2 clone3 pidfd_open close_range; do echo "$call: $(without $call=EPERM warder run --policy easy.json -- echo runs 2>&1)"; done | sed 's/warder: .*: \(.*: Operation\)/warder: \1/'
| open_tree: runs
| move_mount: runs
| mount_setattr: runs
| mounts: runs
| landlock_create_ruleset: runs
| openat2: warder: openat2: Operation not permitted; needs Linux 5.6
| clone3: warder: clone3: Operation not permitted; needs Linux 5.5
| pidfd_open: warder: process descriptors: Operation not permitted; needs Linux 5.3
| close_range: warder: close_range: Operation not permitted; needs Linux 5.9

= preferring a field that needs such a call does not help
+ warder policy show strict | sed '/"languages"/!s/"required"/"preferred"/' > easy.json
$ for call in openat2 clone3 pidfd_open close_range mount; do without $call warder run --policy easy.json -- echo runs; echo $?; done 2>&1 | sed 's/(root: //; s/).*: /: /'
| warder: no jail can be started here: openat2: Function not implemented; needs Linux 5.6
| 125
| warder: no jail can be started here: clone3: Function not implemented; needs Linux 5.5
| 125
| warder: no jail can be started here: process descriptors: Function not implemented; needs Linux 5.3
| 125
| warder: no jail can be started here: close_range: Function not implemented; needs Linux 5.9
| 125
|~ ^warder: .*: Function not implemented
| 125

= without Landlock the receipt says so, and that nothing else is missing
needs python3
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
+ cat > rows.py <<'END'
+ import json, sys
+ def rows(name): return {c["control"]: c["status"] for c in json.load(open(name))["receipt"]["controls"]}
+ whole, less = rows("whole"), rows("less")
+ print(sorted((k, less.get(k)) for k in whole if less.get(k) != whole[k]))
+ END
$ warder run --json --policy easy.json -- true > whole && without landlock_create_ruleset warder run --json --policy easy.json -- true > less && python3 rows.py
|~ ^\[\('landlock', 'absent'\)\]$

= no cgroup hierarchy: a program that stays behind is ended all the same
needs unshare pgrep
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
$ n=98$$; unshare -m $([ $(id -u) = 0 ] || echo -Ur) sh -c 'mount -t tmpfs none /sys/fs/cgroup && warder run --policy easy.json -- sh -c "(setsid sleep $1 &); until pgrep -fx \"sleep $1\" >/dev/null; do sleep 0.1; done; pgrep -fxc \"sleep $1\"; echo left"' - $n; pgrep -fxc "sleep $n"
| 1
| left
| 0
? 1

= doctor and explain name the mechanism that is used instead
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
$ without mounts warder doctor | grep -o '^ *no  *open_tree.*'; without mount_setattr warder explain easy.json | grep -o 'read-only binds by .*'; warder explain easy.json | grep -o 'read-only binds by .*'
|~ ^ +no +open_tree, move_mount, mount_setattr +Function not implemented; needs Linux 5.12; mount\(2\) is used instead$
| read-only binds by mount(2)
| read-only binds by mount_setattr

= and so does the receipt
needs python3 place
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
+ mkdir shown
$ without mounts warder run --json --policy easy.json --workspace . --ro "$PWD/shown" -- true | python3 -c 'import json, sys; [print(c["control"], c["status"], "by mount(2)" in c["mechanism"]) for c in json.load(sys.stdin)["receipt"]["controls"] if c["control"] in ("filesystem.view.host", "filesystem.workspace.readOnly", "filesystem.paths.readOnly")]'
| filesystem.view.host enforced True
| filesystem.workspace.readOnly enforced True
| filesystem.paths.readOnly enforced True

= every mount is where it was, with the same flags
needs place
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
+ mkdir -p shown/deep && touch file
+ cat > look <<'END'
+ cut -d' ' -f4-6 /proc/self/mountinfo | sed 's/,idmapped//' | sort
+ END
+ warder run --policy easy.json --workspace . --ro "$PWD/shown" --ro "$PWD/file" -- sh /workspace/look > whole
$ for call in mounts mount_setattr open_tree=EPERM; do without $call warder run --policy easy.json --workspace . --ro "$PWD/shown" --ro "$PWD/file" -- sh /workspace/look | cmp - whole && grep -c . whole; done
|~ ^[1-9][0-9]+$
|~ ^[1-9][0-9]+$
|~ ^[1-9][0-9]+$

= a directory as the root
needs place busybox
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
+ mkdir -p root/bin root/etc && cp "$(command -v busybox)" root/bin/busybox && ln -s busybox root/bin/sh && echo mine > root/etc/motd && chmod -R a+rX root && chmod 666 root/etc/motd
$ for call in mounts mount_setattr; do without $call warder run --policy easy.json --view "directory:$PWD/root" -- /bin/sh -c 'busybox cat /etc/motd; (echo more >> /etc/motd) 2>&1; busybox ls /'; done | tr '\n' ' '
|~ ^mine .*Read-only file system bin dev etc proc tmp mine .*Read-only file system bin dev etc proc tmp $

= mounts beneath a read-only directory are read-only, and keep the flags that they had
needs unshare place
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
+ mkdir -p "shown/a b" shown/quiet && chmod -R 777 shown
+ cat > inside <<'END'
+ exec 2>&1; cd "$1" && for at in here "a b/here" "a b/deep/here" quiet/here; do touch "$at"; done
+ awk '$5 ~ "^" dir { print substr($5, length(dir) + 1), $6 }' dir="$1" /proc/self/mountinfo
+ END
+ cat > outside <<'END'
+ mount -t tmpfs -o mode=777 one "shown/a b" && mkdir "shown/a b/deep" && chmod 777 "shown/a b/deep"
+ mount -t tmpfs -o mode=777,noatime,noexec two "shown/a b/deep" && mount -t tmpfs -o mode=777,ro,nosymfollow three shown/quiet
+ without $1 warder run --policy easy.json --workspace . --ro "$PWD/shown" -- sh /workspace/inside "$PWD/shown"
+ END
$ for call in mounts mount_setattr; do unshare -m $([ $(id -u) = 0 ] || echo -Ur) sh outside $call; done
|~ 'here': Read-only file system$
|~ 'a b/here': Read-only file system$
|~ 'a b/deep/here': Read-only file system$
|~ 'quiet/here': Read-only file system$
|  ro,nosuid,nodev,relatime
| /a\040b ro,nosuid,nodev,relatime
| /a\040b/deep ro,nosuid,nodev,noexec,noatime
|~ ^/quiet ro,nosuid,nodev,(relatime,nosymfollow|nosymfollow,relatime)$
|~ 'here': Read-only file system$
|~ 'a b/here': Read-only file system$
|~ 'a b/deep/here': Read-only file system$
|~ 'quiet/here': Read-only file system$
|  ro,nosuid,nodev,relatime
| /a\040b ro,nosuid,nodev,relatime
| /a\040b/deep ro,nosuid,nodev,noexec,noatime
|~ ^/quiet ro,nosuid,nodev,(relatime,nosymfollow|nosymfollow,relatime)$

= a mount that another one hides cannot be reached to be restricted: the jail is refused, not weaker
needs unshare place
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
+ mkdir -p shown/sub
+ cat > outside <<'END'
+ mount -t tmpfs below shown/sub && mount -t tmpfs above shown/sub
+ warder run --policy easy.json --ro "$PWD/shown" -- echo with
+ without mounts warder run --policy easy.json --ro "$PWD/shown" -- echo without
+ END
$ unshare -m $([ $(id -u) = 0 ] || echo -Ur) sh outside
| with
!~ ^warder: read-back: the kernel shows /.*/shown/sub mounted with "", the plan wants "ro,nosuid,nodev"
? 125

= a read-only workspace
needs place
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
+ echo given > file && chmod 666 file
$ for call in mounts mount_setattr; do without $call warder run --policy easy.json --workspace . -- sh -c 'exec 2>&1; cat file; echo more >> file'; cat file; done
| given
|~ Read-only file system$
| given
| given
|~ Read-only file system$
| given

= a read-write one is the caller's own for an ordinary user
needs user place
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/; s/"disk": "[^"]*"/"disk": "unlimited"/' > easy.json
+ mkdir w && chmod 777 w && chmod 644 easy.json
$ for call in mounts mount_setattr; do setpriv --reuid 12345 --regid 12345 --clear-groups without $call warder run --policy easy.json --workspace w:rw -- touch $call; done; stat -c '%n %u' w/*
| w/mount_setattr 12345
| w/mounts 12345

= root needs idmapped mounts for it: refused, also where it is only preferred
needs user
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/; s/"disk": "[^"]*"/"disk": "unlimited"/' > easy.json
+ mkdir w && chmod 777 w
$ without mount_setattr warder run --policy easy.json --workspace w:rw -- touch made; without mounts=EPERM warder run --policy easy.json --workspace w:rw --prefer filesystem.workspace -- touch made; without mounts warder run --policy easy.json --rw "$PWD/w" --prefer filesystem.paths -- touch w/made; ls w
! warder: cannot enforce filesystem.workspace: filesystem.workspace.readWrite: idmapped mounts need open_tree, move_mount and mount_setattr (Linux 5.12): Function not implemented
!~ ^warder: /.*/w cannot be read-write: idmapped mounts need .*: Operation not permitted$
!~ ^warder: /.*/w cannot be read-write: idmapped mounts need .*: Function not implemented$

= nothing of the old root is left, and nothing can be mounted
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
$ without mounts warder run --policy easy.json -- sh -c 'ls -d /srv /home /root /boot; ls /proc/1/root; mount -t tmpfs x /tmp; umount /usr; awk "\$5 == \"/\"" /proc/self/mountinfo | wc -l' 2>/dev/null
| 1

= if the builder of the root is killed half-way, the launch fails, and no init enters the unfinished root
needs limits user
$ for call in pivot_root umount2; do without $call=KILL warder run -- echo started; echo $?; done
! warder: cannot build the root: killed half-way: Interrupted system call (step build-root)
! warder: cannot build the root: killed half-way: Interrupted system call (step build-root)
| 125
| 125
