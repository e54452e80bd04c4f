# The view of an image: read-only layers, and over them a private writable one.
needs place python3 busybox

= the layers are merged: whiteouts hide, an opaque directory hides what is below it, links of the top are kept
+ python3 "$TOP/tests/lib/image.py" "$PWD/store"
$ store/two run -- sh -c 'cat /etc/version /etc/lower /top; ls /opt /srv/opaque; ls -d /vanished; readlink /sbin; ls /conf'
| two
| lower
| top
| /opt:
| tool
| 
| /srv/opaque:
| new
| bin
| lower
| version
! ls: /vanished: No such file or directory
? 0

= its environment and directory are those of the program, below what the policy says
+ python3 "$TOP/tests/lib/image.py" "$PWD/store"
$ store/two run --env LANG=policy -- sh -c 'echo $MARK $LANG $PATH; pwd; tool'; store/two run --cwd /opt -- pwd
| image policy /bin:/opt
| /srv
| tool of the image
| /opt

= a program sees what it writes over an image, and the next run does not
+ python3 "$TOP/tests/lib/image.py" "$PWD/store"
+ find store/images/layers -printf '%P %m %s %T@ %C@ %l\n' | sort > before
$ store/two run -- sh -c 'cd /data && touch made && ls -l | wc -l && rm made && mkdir -p a/b && mv a c && rmdir c/b && ls -A'; store/two run -- ls -A /data; find store/images/layers -printf '%P %m %s %T@ %C@ %l\n' | sort | cmp - before && echo unchanged
| 2
| c
| unchanged

= data written over an image counts like data in /tmp
+ python3 "$TOP/tests/lib/image.py" "$PWD/store"
$ store/two run --tmp 1MiB --json -- dd if=/dev/zero of=/data/big bs=64k count=32 | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["cause"], r.get("limitsHit"))'
|~ disk

= the receipt names it
+ python3 "$TOP/tests/lib/image.py" "$PWD/store"
$ store/two run --json -- true | python3 -c 'import json, sys; print(*[c["value"] for c in json.load(sys.stdin)["receipt"]["controls"] if c["control"] == "filesystem.view.image"])'
|~ ^sha256:3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3, 2 layers$

= nobody of the jail gets at the layers or at the marks of the upper one
+ python3 "$TOP/tests/lib/image.py" "$PWD/store"
+ cat > try <<'END'
+ cd /data; touch f; mkdir d
+ mknod w c 0 0 2>/dev/null && echo whiteout made
+ for x in trusted.overlay.opaque trusted.overlay.redirect user.overlay.opaque user.overlay.redirect; do setfattr -n $x -v y d 2>/dev/null && getfattr -n $x d 2>/dev/null | grep -q y && echo "$x set"; done
+ mount -o remount,rw / 2>/dev/null && echo remounted
+ ls -d /dev/shm/o0 /dev/shm/l0.0 /dev/shm/upper 2>/dev/null
+ ls -A /dev/shm
+ ln /etc/lower hard 2>/dev/null && echo other > hard
+ mv /etc /usr/etc 2>/dev/null && echo moved
+ mv /opt/tool /opt/tool2 2>/dev/null
+ echo done
+ END
+ find store -printf '%P %m %s %T@ %C@ %l\n' | sort > before
$ store/two run -- sh -c "$(cat try)"; find store -printf '%P %m %s %T@ %C@ %l\n' | sort | cmp - before && echo the same
| done
| the same

= two at once have nothing of each other
+ python3 "$TOP/tests/lib/image.py" "$PWD/store"
+ mkdir both; chmod 777 both
$ store/two run --rw both --set limits.disk=unlimited -- sh -c "echo first > /data/f; > $PWD/both/one; until [ -e $PWD/both/two ]; do sleep 1; done; cat /data/f" > first & store/two run --rw both --set limits.disk=unlimited -- sh -c "until [ -e $PWD/both/one ]; do sleep 1; done; ls -A /data; echo second > /data/f; cat /data/f; > $PWD/both/two" > second; wait; cat first second
| first
| second

= a path is mounted where the image has a place, and else a place is made
+ python3 "$TOP/tests/lib/image.py" "$PWD/store"
+ mkdir -p own/below; echo own > own/file; echo below > own/below/file
$ store/two run --ro own --ro own/below --ro /usr/share/perl5 -- sh -c "cat $PWD/own/file $PWD/own/below/file; ls -d /usr/share/perl5; echo x > $PWD/own/file" 2>/dev/null; cat own/file
| own
| below
| /usr/share/perl5
| own

= but not through a link of the image
+ python3 "$TOP/tests/lib/image.py" "$PWD/store"
+ mkdir -p own; for tree in store/images/layers/*/tree; do mkdir -p "$tree/srv" "$tree${PWD%/*/*}"; ln -s /etc "$tree${PWD%/*}"; done
$ store/two run --ro own -- true
!~ ^warder: filesystem.paths: no place to mount .*/own on: there is a link or a file on the way
? 125

= an image, or a directory in it, that is not there
+ python3 "$TOP/tests/lib/image.py" "$PWD/store"
$ IMAGE=three store/two run -- true; store/two run --cwd /opt/gone -- true
!~ ^warder: --view image:three: filesystem.view: there is no image three in the store
!~ ^warder: --cwd /opt/gone: workingDirectory: "/opt/gone" is not a directory that the jail has
? 125

= explain shows it
+ python3 "$TOP/tests/lib/image.py" "$PWD/store"
$ store/two explain | tr -s ' ' | grep -oE 'image:two.*overlay|overlay /.*'
| image:two required enforced overlay
| overlay /bin read-write, private, over 2 read-only layers
| overlay /data read-write, private, over 2 read-only layers
| overlay /etc read-write, private, over 2 read-only layers
| overlay /opt read-write, private, over 2 read-only layers
| overlay /srv read-write, private, over 2 read-only layers
| overlay /top read-write, private, over 2 read-only layers
| overlay /usr read-write, private, over 2 read-only layers
| overlay /var read-write, private, over 2 read-only layers

= code finds the languages of the image
+ python3 "$TOP/tests/lib/image.py" "$PWD/store"
$ echo 'echo shell of $MARK; ls -d /usr/bin' > s.sh; store/two code --language sh s.sh; echo 'print(1)' > p.py; store/two code p.py
| shell of image
!~ ls: /usr/bin
!~ python
? 125
