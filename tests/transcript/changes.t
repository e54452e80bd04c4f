# An overlay over a directory of the host, and what becomes of the changes.
needs place

= the program writes to an overlay, and the directory does not change
+ mkdir -p work/sub; echo one > work/a; echo two > work/sub/b; cp -a work before
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ sh jail --workspace work:overlay -- sh -c 'echo more >> a; rm -r sub; mkdir sub; echo new > sub/new; cat a; ls sub; pwd'; diff -r work before && echo unchanged
| one
| more
| new
| /workspace
| unchanged

= a dry run lists the changes on standard error
+ mkdir -p work/sub; echo one > work/a; echo two > work/sub/b; chmod 755 work/sub; chmod 644 work/a; ln -s a work/link
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ sh jail --dry-run work -- sh -c 'echo done; echo more >> a; rm -r sub; echo x > sub; chmod 600 link; ln -sf sub link; touch "odd name"'; ls work
| done
| a
| link
| sub
! M a 9 bytes sha256:5f25b257b30c mode 0644 -> 0600
! M link -> sub
! A "odd name" 0 bytes sha256:e3b0c44298fc
! D sub directory
! A sub 2 bytes sha256:73cb3858a687
! D sub/b
! 2 added, 2 changed, 2 removed

= a directory that is removed and made again shows nothing of its old content
+ mkdir -p work/d/sub/deep; echo one > work/d/sub/old; echo two > work/d/sub/deep/old; echo three > work/d/stays
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ sh jail --workspace work:overlay --changes set -- sh -c 'mv d/stays .; rm -r d; mkdir -p d/sub/deep; mv stays d; echo new > d/sub/new'; warder changes commit set; cd work; find . -type f
|~ ^[0-9]+ changes made
| ./d/stays
| ./d/sub/new

= changes that cancel each other are not listed
+ mkdir -p work/sub; echo one > work/a; echo two > work/sub/b; chmod 644 work/a work/sub/b
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ sh jail --dry-run work -- sh -c 'cp a c; chmod 644 c; mv c a; touch a sub; rm sub/b; echo two > sub/b; chmod 644 sub/b; : > t; rm t'
! 0 added, 0 changed, 0 removed

= kept, shown, committed in part, then all of it
+ mkdir -p work/sub work/gone/below; seq 9 > work/a; echo two > work/sub/b; echo z > work/gone/below/z
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
+ cat > inside <<'END'
+ set -e
+ sed -i 's/^5$/five/' a; rm -r gone; mkdir -p new/deep; echo n > new/deep/n; chmod 750 new/deep; mv sub/b sub/c; rmdir sub 2> /dev/null || rm sub/c; rmdir sub; echo file > sub
+ END
$ sh jail --workspace work:overlay --changes set -- sh -c "$(cat inside)"; warder changes show set; warder changes show set --diff a; warder changes commit set new; ls work; warder changes commit set; find work -printf '%P %m %y\n' | sort > now; cut -d' ' -f1,3 now; warder changes commit set > /dev/null; echo again $?; warder changes drop set; ls set
| M a 21 bytes sha256:0f36174a7431
| D gone directory
| D gone/below directory
| D gone/below/z
| A new directory
| A new/deep directory
| A new/deep/n 2 bytes sha256:a4fb621495a0
| D sub directory
| A sub 5 bytes sha256:8b911a8716b9
| D sub/b
| 4 added, 1 changed, 5 removed
| M a 21 bytes sha256:0f36174a7431
| 0 added, 1 changed, 0 removed
| --- a
| +++ a
| @@ -2,7 +2,7 @@
|  2
|  3
|  4
| -5
| +five
|  6
|  7
|  8
|~ ^3 changes made in /.*/work$
| a
| gone
| new
| sub
|~ ^7 changes made in /
|  d
| a f
| new d
| new/deep d
| new/deep/n f
| sub f
| again 0
!~ ^ls: cannot access
? 2

= files that changed on the host meanwhile are not overwritten
+ mkdir work; echo one > work/a; echo one > work/b
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ sh jail --workspace work:overlay --changes set -- sh -c 'echo two > a; echo two > b; echo two > c'; echo host > work/b; echo host > work/c; warder changes commit set; cat work/a; warder changes commit set a; warder changes commit set c; warder changes commit set --force; cat work/?
| one
|~ ^1 change made in 
|~ ^2 changes made in 
| two
| two
| two
! warder: "b" was changed on the host since the run; --force does it all the same
! warder: "c" is there by now; --force replaces files

= a commit does not go through a link that was put in its way
+ mkdir -p work/sub other; echo one > work/sub/a
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ sh jail --workspace work:overlay --changes set -- sh -c 'echo two > sub/a; echo new > sub/new'; rm -r work/sub; ln -s ../other work/sub; warder changes commit --force set; ls other
!~ ^warder: "sub/a" cannot be reached without following a link
? 0

= a set has a place of its own
+ mkdir work
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ sh jail --workspace work:overlay --changes set -- touch one; sh jail --workspace work:overlay --changes set -- touch two; sh jail --workspace work:ro --changes other -- true; warder changes show set; warder changes show other; warder changes drop set; warder changes frobnicate set
|~ ^A one
| 1 added, 0 changed, 0 removed
!~ ^warder: .*/set holds a set of changes; commit or drop it, or name another directory$
!~ ^warder: there is nothing to tell changes of
!~ ^warder: there is no directory .*/other
!~ ^warder: which set\?
? 125

= a damaged set is refused
+ mkdir work
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ sh jail --workspace work:overlay --changes set -- sh -c 'echo one > f'; echo two > set/files/1; warder changes commit set; ls -A work; sed -i 's#"path": "f"#"path": "../f"#' set/record.json; warder changes show set; warder changes commit set; ls
|~ ^jail$
| set
| work
!~ ^warder: "f" is damaged where it was kept; it was not written
!~ has a path that is none within a directory
!~ has a path that is none within a directory

= in the result
needs python3
+ mkdir work
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ sh jail --dry-run work --json -- sh -c 'echo hi > f; ln -s f l' | python3 -c 'import json, sys; r = json.load(sys.stdin); [print(*c.items()) for c in r["changes"]]; print(*[c["value"] for c in r["receipt"]["controls"] if c["control"] == "filesystem.workspace.overlay"])'
| ('path', 'f') ('change', 'added') ('type', 'file') ('mode', '0644') ('size', 3) ('sha256', '98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4')
| ('path', 'l') ('change', 'added') ('type', 'symlink') ('mode', '0777') ('target', 'f')
| /workspace rw,nosuid,nodev overlay of one layer

= a program that fills the overlay fills everything that it may write to
+ mkdir work
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ sh jail --workspace work:overlay --tmp 1MiB --json -- dd if=/dev/zero of=big bs=64k count=32 | grep -o '"cause":"[a-z]*"\|"limitsHit":[^]]*'; ls -A work
| "cause":"exit"
| "limitsHit":["disk"

= a workspace with content that an overlay would not show is refused
needs unshare
+ mkdir -p work/mounted
+ cat > outside <<'END'
+ mount -t tmpfs below work/mounted; warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids --workspace work:overlay -- ls
+ END
$ unshare -m $([ $(id -u) = 0 ] || echo -Ur) sh outside
!~ ^warder: --workspace work:overlay: filesystem.workspace: .*/work" has another file system mounted beneath it
? 125

= a program cannot reach anything through the overlay's own files
needs python3
+ mkdir -p work/sub; echo one > work/a; echo two > work/sub/b; echo x > work/sub/c
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
+ cat > attack.py <<'END'
+ import ctypes, errno, os, stat
+ def attempt(name, function, *arguments):
+     try:
+         result = function(*arguments)
+     except OSError as e:
+         return
+     print("went through:", name, result)
+ for prefix in ("trusted.overlay.", "user.overlay."):
+     for mark, value in (("opaque", b"y"), ("redirect", b"/etc"), ("metacopy", b""), ("whiteout", b"y"), ("origin", b"\0" * 21)):
+         for path in ("sub", "sub/b", "."):
+             try:
+                 os.setxattr(path, prefix + mark, value)
+             except OSError:
+                 pass
+ print(sorted(os.listdir(".")), sorted(os.listdir("sub")), open("sub/b").read().strip())
+ attempt("a whiteout", os.mknod, "w", stat.S_IFCHR | 0o600, os.makedev(0, 0))
+ attempt("a whiteout over a file", os.mknod, "a2", stat.S_IFCHR, 0)
+ attempt("a directory renamed", os.rename, "sub", "moved")
+ for path in ("/dev/shm/o0", "/dev/shm/../o0", "/dev/shm/upper", "/tmp/../dev/shm/l1.0", "/proc/1/root/dev/shm/o0", "/whole"):
+     attempt(path, os.listdir, path)
+ libc = ctypes.CDLL(None, use_errno=True)
+ class Handle(ctypes.Structure):
+     _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("handle", ctypes.c_char * 128)]
+ handle, mount = Handle(bytes=128), ctypes.c_int()
+ directory = os.open(".", os.O_RDONLY)
+ if libc.name_to_handle_at(directory, b"a", ctypes.byref(handle), ctypes.byref(mount), 0) == 0 and libc.open_by_handle_at(directory, ctypes.byref(handle), os.O_RDWR) >= 0:
+     print("opened by handle")
+ os.link("a", "hard")
+ with open("hard", "w") as file:
+     file.write("other\n")
+ print("done")
+ END
+ cp -a work before
$ sh jail --dry-run work -- python3 -c "$(cat attack.py)" 2>out; diff -r work before && echo unchanged; cut -d' ' -f1-6 out
| ['a', 'sub'] ['b', 'c'] two
| done
| unchanged
|~ ^M a 6 bytes 
|~ ^A hard 6 bytes 
| 1 added, 1 changed, 0 removed

= nobody loses a directory to a set of changes, and no command changes the mode of one
+ mkdir -m 755 foreign && echo kept > foreign/kept && mkdir work && mkdir -m 700 private && echo kept > private/kept
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ for command in show commit drop; do warder changes $command foreign; done; for place in foreign private work/set work; do sh jail --workspace work:overlay --changes $place -- true; done; stat -c '%a %n' foreign; cat foreign/kept private/kept; ls -A work
| 755 foreign
| kept
| kept
!~ foreign has mode 0755, and other users must not read stored data
!~ foreign has mode 0755
!~ foreign has mode 0755
!~ foreign has mode 0755
!~ private has something else in it; name a new or an empty directory
!~ work/set lies in the directory whose changes are to be kept
!~ work lies in the directory whose changes are to be kept

= the next run removes the incomplete set of a killed run
+ mkdir work && mkdir -m 700 set && mkdir set/files && echo half > set/files/half
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ sh jail --workspace work:overlay --changes set -- sh -c 'echo new > new' && warder changes show set && ls -A set/files | wc -l
|~ ^A new 4 bytes
|*

= where a set may lie: ".." is taken out first, and a refusal leaves nothing behind
+ mkdir -p w x; echo one > w/a
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ cd w; sh ../jail --workspace .:overlay --changes ../x/set -- touch b; ls ../x/set; cd ..; sh jail --workspace w:overlay --changes x/../w/set -- touch b; ls w; ln -s w l; sh jail --workspace w:overlay --changes l/set -- touch b; ls w
| files
| record.json
| a
| a
!~ /w/set lies in the directory whose changes are to be kept
!~ /w/set lies in the directory whose changes are to be kept

= a commit counts its changes, keeps times and holes, and names everything that is lost
+ mkdir w; echo one > w/a; echo two > w/b
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ sh jail --workspace w:overlay --changes set -- sh -c 'echo more >> a; touch -d 2001-02-03T04:05:06Z a; rm b; mkdir d; echo x > d/1; ln d/1 d/2; truncate -s 8M d/hole; ln -s a link; mkfifo pipe'; warder changes commit set; warder changes commit set; TZ=UTC stat -c %y w/a; [ $(stat -c %b w/d/hole) -lt 100 ] && echo hole
|~ ^7 changes made
|~ ^0 changes made
| 2001-02-03 04:05:06.000000000 +0000
| hole
! warder: 2 hard-linked names are now files of their own
! warder: 1 sockets, pipes or devices are not kept
! warder: 2 hard-linked names are now files of their own
! warder: 1 sockets, pipes or devices are not kept

= a commit keeps the times of directories and links, except of a directory that has changed on the host since
+ mkdir -p w/old/deep w/host w/still; touch w/old/deep/f w/host/f w/old/r; touch -d 2000-01-01T00:00:00Z w/still; sleep 0.1
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
+ cat > write <<'END'
+ mkdir -p new/in; echo x > new/in/x; mkdir -m 500 shut; ln -s a link; echo y > old/deep/g; rm old/r; echo z > host/z
+ touch -h -d 2001-02-03T04:05:06Z link; touch -d 2002-02-03T04:05:06.5Z new/in; touch -d 2003-02-03T04:05:06Z new shut
+ touch -d 1960-02-03T04:05:06.25Z old/deep; touch -d 2005-02-03T04:05:06Z old; touch -d 2006-02-03T04:05:06Z host .
+ END
$ sh jail --workspace w:overlay --changes set -- sh -c "$(cat write)"; touch w/host/since; warder changes commit set; cd w; TZ=UTC stat -c '%n %y' . link new new/in old old/deep shut still; [ "$(stat -c %Y host)" -gt "$(date -d 2020-01-01 +%s)" ] && echo the time of the commit; cd ..
> touch w/new/more && warder changes commit set && [ "$(stat -c %Y w/new)" -gt "$(date -d 2020-01-01 +%s)" ] && echo a commit with nothing to do changes no time; chmod 700 w/shut
|~ ^8 changes made
| . 2006-02-03 04:05:06.000000000 +0000
| link 2001-02-03 04:05:06.000000000 +0000
| new 2003-02-03 04:05:06.000000000 +0000
| new/in 2002-02-03 04:05:06.500000000 +0000
| old 2005-02-03 04:05:06.000000000 +0000
| old/deep 1960-02-03 04:05:06.250000000 +0000
| shut 2003-02-03 04:05:06.000000000 +0000
| still 2000-01-01 00:00:00.000000000 +0000
| the time of the commit
|~ ^0 changes made
| a commit with nothing to do changes no time

= a commit of one path sets the times of the directories that it makes
+ mkdir w; sleep 0.1
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ sh jail --workspace w:overlay --changes set -- sh -c 'mkdir -p a/b; echo x > a/b/c; echo y > a/y; touch -d 2001-02-03T04:05:06Z a/b a .'; warder changes commit set a/b/c; cd w; TZ=UTC stat -c '%n %y' . a a/b
|~ ^1 change made
| . 2001-02-03 04:05:06.000000000 +0000
| a 2001-02-03 04:05:06.000000000 +0000
| a/b 2001-02-03 04:05:06.000000000 +0000

= the paths of a set, committed one after another: their directory keeps its time of the set
+ mkdir w; sleep 0.1
+ cat > jail <<'END'
+ exec warder run --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"
+ END
$ sh jail --workspace w:overlay --changes set -- sh -c 'echo x > a; echo y > b; touch -d 2001-02-03T04:05:06Z .'; warder changes commit set a; warder changes commit set b; TZ=UTC stat -c '%n %y' w
|~ ^1 change made
|~ ^1 change made
| w 2001-02-03 04:05:06.000000000 +0000
