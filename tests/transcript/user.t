# Where some limits cannot be enforced, as for most ordinary users: they are preferred, and told. Root runs these too.

= a workspace that the user may not enter; a session without a place for it
+ mkdir shut && chmod 700 shut
$ if [ $(id -u) = 0 ]; then warder run --prefer limits --workspace $PWD/shut -- true > /dev/null && setpriv --reuid=65534 --regid=65534 --clear-groups env -u XDG_RUNTIME_DIR HOME=/tmp sh -c "warder run --prefer limits --workspace /root -- true; warder session start nobody-$$"; else chmod 0 shut; warder run --prefer limits --workspace $PWD/shut -- true; env -u XDG_RUNTIME_DIR warder session start nobody-$$; fi
!~ ^warder: --workspace [^ ]*: filesystem.workspace: you may not enter "[^"]*": permission denied$
!~ ^warder: .*XDG_RUNTIME_DIR, which is not set; set it to a directory that only you may enter
? 125

= the directory of the sessions can be written by others
+ mkdir open && chmod 777 open
$ if [ $(id -u) = 0 ]; then as="setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp"; fi; $as env XDG_RUNTIME_DIR=$PWD/open warder session start open-$$; XDG_RUNTIME_DIR=$PWD/open $as warder session list
!~ ^warder: other users can write to /.*/open, so Warder keeps no sessions there; set XDG_RUNTIME_DIR to a directory that only you may write to: mkdir -p -m 700 ~/\.warder-run && export XDG_RUNTIME_DIR=~/\.warder-run$
!~ ^warder: other users can write to /.*/open, so Warder keeps no sessions there; set XDG_RUNTIME_DIR to a directory that only you may write to: mkdir -p -m 700 ~/\.warder-run && export XDG_RUNTIME_DIR=~/\.warder-run$
? 125

= a policy that prefers the fields that need control groups
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
$ warder run --policy easy.json -- sh -c 'echo out; echo err >&2; exit 3'
| out
! err
? 3

= the same by flags
$ warder run --prefer limits.memory --prefer limits.swap --prefer limits.pids --prefer limits.cpus --prefer limits.cpuTime -- echo hello
| hello

= fields that could not be enforced are in the receipt, and none of them is required
needs python3
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
$ warder run --policy easy.json --json -- true | python3 -c 'import json, sys; r = json.load(sys.stdin); s = {c["control"]: c["status"] for c in r["receipt"]["controls"]}; print(r["status"], s["network.none"], s["syscalls"], s["limits.wallTime"], s["limits.memory"] in ("enforced", "notEnforced"))'
| success enforced enforced enforced True

= identity, environment, network, capabilities
needs python3
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
$ warder run --policy easy.json -- sh -c 'id -u; env | sed "s/=.*//" | sort | tr "\n" " "; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " " | grep -x lo; grep -E "^(CapEff|NoNewPrivs|Seccomp):" /proc/self/status'
| 1000
|~ ^HOME LANG PATH (PWD )?TMPDIR *lo$
|~ ^CapEff:.0000000000000000$
|~ ^NoNewPrivs:.1$
|~ ^Seccomp:.2$

= a read-write workspace
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/; s/"disk": "[^"]*"/"disk": "unlimited"/' > easy.json
$ warder run --policy easy.json --workspace .:rw -- sh -c 'echo written > file'; cat file
| written

= wall time
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
$ warder run --policy easy.json --timeout 1s -- sh -c '(setsid sleep 50) & sleep 50'
! warder: killed after 1s (limits.wallTime)
? 124
< 25

= standard input and a signal
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
$ printf 'a\nb\n' | warder run --policy easy.json -- sh -c 'cat; kill -TERM $$'
| a
| b
? 143

= another user
needs user
$ cd / && setpriv --reuid 12345 --regid 12345 --clear-groups warder run --prefer limits.memory --prefer limits.swap --prefer limits.pids --prefer limits.cpus --prefer limits.cpuTime -- id -u
| 1000

= another user is refused a policy that needs a privilege
needs user
$ cd / && setpriv --reuid 12345 --regid 12345 --clear-groups warder run -- true
!~ ^warder: cannot enforce .*limits.memory.*: needs root, .*; or run without them: --prefer limits$
? 125

= a receipt gives the whole reason for each field that is not enforced
needs python3
$ as=; [ $(id -u) != 0 ] || as='setpriv --reuid=65534 --regid=65534 --clear-groups'; $as env HOME=/tmp warder run --json --prefer limits -- true | python3 -c 'import json, sys; rows = [c for c in json.load(sys.stdin)["receipt"]["controls"] if c["status"] == "notEnforced"]; print([r["value"] for r in rows if "run with --delegat" in r["value"] and not r["value"].endswith("--cgroup-parent")])'
| []
