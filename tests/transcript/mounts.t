# What lies mounted beneath a directory that is shown, and what is mounted there later. In a mount namespace of the test's own.
needs unshare

= later mounts of the host do not appear in a running jail
needs place
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
+ mkdir shown
+ cat > inside <<'END'
+ echo ready
+ while [ ! -e "$1/go" ]; do sleep 0.1; done
+ ls "$1/later"; grep -c "$1" /proc/self/mountinfo
+ END
+ cat > outside <<'END'
+ : > out; mount -t tmpfs -o mode=755 shown shown && mount --make-shared shown && mkdir shown/later && cp inside shown
+ warder run --policy easy.json --ro "$PWD/shown" -- sh "$PWD/shown/inside" "$PWD/shown" > out & run=$!
+ until grep -qs ready out || ! kill -0 $run; do sleep 0.1; done
+ mount -t tmpfs later shown/later && touch shown/later/secret shown/go
+ wait $run; cat out
+ END
$ unshare -m $([ $(id -u) = 0 ] || echo -Ur) sh outside
| ready
| 1

= nor where the root is built by mount(2)
needs place without
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
+ mkdir shown
+ cat > inside <<'END'
+ echo ready
+ while [ ! -e "$1/go" ]; do sleep 0.1; done
+ ls "$1/later"; grep -c "$1" /proc/self/mountinfo
+ END
+ cat > outside <<'END'
+ : > out; mount -t tmpfs -o mode=755 shown shown && mount --make-shared shown && mkdir shown/later && cp inside shown
+ without mounts warder run --policy easy.json --ro "$PWD/shown" -- sh "$PWD/shown/inside" "$PWD/shown" > out & run=$!
+ until grep -qs ready out || ! kill -0 $run; do sleep 0.1; done
+ mount -t tmpfs later shown/later && touch shown/later/secret shown/go
+ wait $run; cat out
+ END
$ unshare -m $([ $(id -u) = 0 ] || echo -Ur) sh outside
| ready
| 1

= a read-only path has a place in the workspace, where nobody can write to it
needs place limits
+ mkdir -p ws/in ws/own data; echo hi > data/f; echo own > ws/own/g
$ warder run --preset agent --workspace ws:rw --ro data:/workspace/in --ro ws/own:/workspace/own -- sh -c 'cd /workspace; cat in/f own/g; for to in in/f own/g; do echo x 2> /dev/null > $to || echo refused; done; mv own away 2>/dev/null; rm -f own/g 2>/dev/null; touch new; ls' 2>/dev/null; ls ws
| hi
| own
| refused
| refused
| in
| new
| own
| in
| new
| own

= and only where the workspace has it
needs place
+ mkdir -p ws data; ln -s /etc ws/link
$ warder run --preset agent --prefer limits.memory --prefer limits.cpus --prefer limits.pids --prefer limits.cpuTime --workspace ws:rw --ro data:/workspace/link/data -- true
!~ no place to mount /workspace/link/data on
? 125

= data written to a directory of the host has no limit, and the receipt says so
needs limits place
+ mkdir data; echo '{"version": 1, "limits": {"disk": "64MiB", "wallTime": "1h"}, "filesystem": {"paths": {"readWrite": ["/"]}, "workspace": "readWrite:/"}}' > ceiling.json; chmod 644 ceiling.json
$ warder run --workspace .:rw --receipt r.json -- touch one && ls one; warder run --rw data -- touch $PWD/data/two && ls data; grep -A2 '"filesystem.growth"' r.json | tr -d ' \n'; echo; warder explain --rw data | grep -o 'growth: unlimited' | head -n 1; warder run --rw data --set filesystem.growth=limited -- true 2>&1 | grep -o 'limits.disk' | head -n 1; warder run --ceiling ceiling.json --rw data -- true
| one
| two
|~ ^"control":"filesystem.growth","status":"unrestricted","requested":"unlimited"
| growth: unlimited
| limits.disk
! warder: filesystem.growth: unlimited is more than the operator grants, who limits disk (limits.disk); leave --rw and :rw out, or use an overlay
? 125
