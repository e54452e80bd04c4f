# What lies mounted beneath a directory that is shown, and what is mounted there later. In a mount namespace of the test's own.
needs unshare

= what the host mounts later does not appear in a running jail
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
+ until grep -q ready out || ! kill -0 $run; do sleep 0.1; done
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
+ until grep -q ready out || ! kill -0 $run; do sleep 0.1; done
+ mount -t tmpfs later shown/later && touch shown/later/secret shown/go
+ wait $run; cat out
+ END
$ unshare -m $([ $(id -u) = 0 ] || echo -Ur) sh outside
| ready
| 1
