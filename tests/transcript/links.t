# Symbolic links that somebody else can make or change: what they lead to is not granted by them.

# ---- the ceiling's own paths are taken as written

= a granted workspace that was swapped for a link
needs limits
+ mkdir -m 755 secret; ln -s secret job
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"workspace\": \"readWrite:$PWD/job\"}}" > ceiling.json
$ warder run --ceiling ceiling.json --workspace "$PWD/job:rw" --set limits.disk=unlimited -- true
!~ ^warder: the ceiling's path ".*/job" leads to ".*/secret": name ".*/secret" in the ceiling: filesystem.workspace
? 125

= a granted path whose parent was swapped for a link
needs limits
+ mkdir -p -m 755 secret/sub; ln -s secret user
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"paths\": {\"readOnly\": [\"$PWD/user/sub\"]}}}" > ceiling.json
$ warder run --ceiling ceiling.json --ro "$PWD/user/sub" -- true
!~ the ceiling's path ".*/user/sub" leads to ".*/secret/sub": name ".*/secret/sub" in the ceiling
? 125

= a granted view that was swapped for a link
needs limits
+ mkdir -p -m 755 secret/etc; ln -s secret root
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"view\": \"directory:$PWD/root\"}}" > ceiling.json
$ warder run --ceiling ceiling.json --view "directory:$PWD/root" -- true
!~ the ceiling's path ".*/root" leads to ".*/secret": name ".*/secret" in the ceiling
? 125

= a view that is the directory above the granted one
needs limits
+ mkdir -p -m 755 roots/a/etc roots/z/etc; ln -s .. roots/z/up
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"view\": \"directory:$PWD/roots/z\"}}" > ceiling.json
$ warder run --ceiling ceiling.json --view "directory:$PWD/roots/z/up" -- true
!~ ^warder: behind a symbolic link: filesystem.view
? 125

= a path that the operator keeps read-only, named by a link
needs limits
+ mkdir -p -m 755 data/keep; ln -s data/keep kept
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"paths\": {\"readWrite\": [\"$PWD/data\"], \"readOnly\": [\"$PWD/kept\"]}}}" > ceiling.json
$ warder run --ceiling ceiling.json --rw "$PWD/data" --set limits.disk=unlimited -- true
!~ the ceiling's path ".*/kept" leads to ".*/data/keep": name ".*/data/keep" in the ceiling
? 125

= a canonical path of the ceiling is granted, also through a link in the request
needs limits place
+ mkdir -p -m 755 real/sub; ln -s sub real/link; echo 1 > real/sub/x
+ echo "{\"version\": 1, \"limits\": {\"wallTime\": \"60s\", \"disk\": \"unlimited\"}, \"filesystem\": {\"paths\": {\"readOnly\": [\"$PWD/real\"]}}}" > ceiling.json
$ warder run --ceiling ceiling.json --ro "$PWD/real/link" -- cat "$PWD/real/sub/x"
| 1

# ---- root follows its own links only

= a workspace that a user links to a directory that only root can enter
needs limits user
+ mkdir -m 700 secret; echo hidden > secret/x; ln -s "$PWD/secret" job; chown -h 12345 job
$ warder run --workspace "$PWD/job" -- cat /workspace/x
!~ ".*/job" is a symbolic link that belongs to uid 12345 and leads to ".*/secret"; .*name the directory itself
? 125

= a path through such a link
needs limits user place
+ mkdir -p -m 755 secret/sub; echo hidden > secret/sub/x; ln -s secret job; chown -h 12345 job
$ warder run --ro "$PWD/job/sub" -- cat "$PWD/job/sub/x"
!~ ^warder: filesystem.[a-zA-Z.]+(\[0\])?: ".*/job" is a symbolic link that belongs to uid 12345 and leads to "secret"
? 125

= a writable path through such a link
needs limits user place
+ mkdir -p -m 755 secret; ln -s secret job; chown -h 12345 job
$ warder run --rw "$PWD/job" --set limits.disk=unlimited -- touch "$PWD/job/x"
!~ ^warder: filesystem.[a-zA-Z.]+(\[0\])?: ".*/job" is a symbolic link that belongs to uid 12345
? 125

= a view through such a link
needs limits user
+ mkdir -p -m 755 secret/etc; ln -s secret job; chown -h 12345 job
$ warder run --view "directory:$PWD/job" -- true
!~ ^warder: filesystem.[a-zA-Z.]+(\[0\])?: ".*/job" is a symbolic link that belongs to uid 12345
? 125

= such a link behind one of root's
needs limits user
+ mkdir -m 755 secret; ln -s secret job; chown -h 12345 job; ln -s "$PWD/job" mine
$ warder run --workspace "$PWD/mine" -- true
!~ ".*/job" is a symbolic link that belongs to uid 12345
? 125

= root's own links are followed
needs limits user
+ mkdir -p -m 755 real/sub; echo 1 > real/sub/x; ln -s "$PWD/real" first; ln -s first/../first/./sub second
$ warder run --workspace "$PWD/second" -- cat /workspace/x
| 1

= an ordinary user's launch follows links as always
needs user
+ mkdir -m 755 real; echo 1 > real/x; ln -s real link; chown -h 12345 link
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json; chmod 644 easy.json
$ setpriv --reuid 12345 --regid 12345 --clear-groups warder run --policy easy.json --workspace "$PWD/link" -- cat /workspace/x
| 1

= a source that is swapped for a link while jails start: the target of the link is never seen
needs limits user python3
+ mkdir -m 755 dir; mkdir -m 700 secret; echo hidden > secret/f; mkdir dir/d; echo mine > dir/d/f; ln -s ../secret dir/link; chown -hR 65534 dir
$ python3 $TOP/tests/lib/swap.py dir/d dir/link ready & swapper=$!; while [ ! -e ready ]; do sleep 0.05; done; for i in $(seq 1 12); do for words in "--ro $PWD/dir/d:/m" "--rw $PWD/dir/d:/m" "--ro $PWD/dir/d/f:/m/f"; do warder run $words -- cat /m/f; done; done 2> said | sort -u; grep -cvE 'root follows its own links only|was replaced after it was checked|Stale file handle' said; kill $swapper
| mine
| 0
