# A kernel that does not let a process die. What is frozen stands in for it: see tests/lib/freezing.py.
needs limits python3 freezer

= an init that does not die is left behind, by name
$ python3 $TOP/tests/lib/freezing.py init TERM warder run -- sleep 50
|~ ^warder: host: the jail does not die: the kernel holds it\. Left behind: processes N, cgroup /sys/fs/cgroup/[^ ]*/warder-N, mounts \(/proc/N/mountinfo\)\. If they end, "warder doctor --clean" removes the rest$
| exit status 143, in time

= so is a program, on Ctrl-C, and the result says so
$ python3 $TOP/tests/lib/freezing.py program INT warder run --json -- sleep 50 | grep -oE '^\{"status":"[a-z]*","cause":"[a-z]*","exitCode":[a-z0-9]*,"signal":"[A-Z]*"|"detail":"the jail does not die: .* Left behind: processes N, cgroup|^exit.*'
| {"status":"killed","cause":"host","exitCode":null,"signal":"SIGKILL"
| "detail":"the jail does not die: the kernel holds it. Left behind: processes N, cgroup
| exit status 130, in time

= and at the wall time
$ python3 $TOP/tests/lib/freezing.py program - warder run --timeout 1s -- sleep 50 | sed 's/does not die.*/does not die/'
| warder: host: the jail does not die
| exit status 137, in time

= a program that has ended, and has left a process that does not die
$ python3 $TOP/tests/lib/freezing.py behind - warder run --timeout 40s -- sh -c 'tail -f /dev/null & sleep 1' | sed 's/does not die.*/does not die/'
| warder: host: the jail does not die
| exit status 137, in time

= without any restriction
+ echo '{"enable": ["process"]}' > on.json; warder policy show strict | sed '/"languages"/!s/"required"/"preferred"/' > easy.json
$ python3 $TOP/tests/lib/freezing.py program TERM warder run --backend process --backends on.json --policy easy.json -- sleep 50
|~ ^warder: host: the jail does not die: the kernel holds it\. Left behind: processes N( N)*(, cgroup [^ ]*)?\. If
| exit status 143, in time

= in the midst of its set-up the launch is given up, and says where it hangs
$ python3 $TOP/tests/lib/freezing.py setup - warder run -- true
|~ ^warder: the host's kernel does not go on: process N of the jail hangs.*; the jail does not die: .* Left behind: processes N.*, cgroup
| exit status 125, in time

= and at once when it is asked to end
$ python3 $TOP/tests/lib/freezing.py setup TERM warder run -- true
|~ ^warder: the launch was cancelled during its set-up; the jail does not die
| exit status 143, in time

= an init that gives up before the program has started is understood
$ python3 $TOP/tests/lib/freezing.py payload - warder run --timeout 500ms -- true | sed 's/; the jail does not die.*//'
| warder: the jail was given up during its set-up: the whole wall time was over before the program started; the host is too slow, or its kernel hangs
| exit status 125, in time

= leftovers of a killed supervisor do not delay other runs
$ python3 $TOP/tests/lib/freezing.py program - --then warder run sh -c 'sleep 0.1; echo end' -- warder run -- sleep 50
| end
| exit status 0, in time

= and the result does not wait for it
$ python3 $TOP/tests/lib/freezing.py program - --then warder run --json true -- warder run -- sleep 50 | sed -E 's/.*"launchUs":(.).*/{..}/'
| {..}
| exit status 0, in time

= doctor tries one filter, and none while an earlier trial holds the lock
needs flock unshare
$ unshare -m bash <<'END'
> mount -t tmpfs -o mode=755 none /run # another doctor may hold the host's
> warder doctor | grep -E ' seccomp filter|code of BPF' | tr -s ' '; ls /run/warder.filter-trial 2> /dev/null; flock /run/warder.filter-trial warder doctor | grep " seccomp filter" | tr -s ' '
> END
|~ ^ yes .*filter
|~ ^ code of BPF programs: at most .* \(net\.core\.bpf_jit_limit\), .* in use$
|~ ^ \? .*not tried: /run/warder\.filter-trial: another trial goes on; try again$
