# A kernel that does not let a process die, seen by whatever waits for processes besides a run: see tests/lib/frozen.py.
needs limits python3 freezer

= an execution that does not die: the session stops, and both name the leftovers
+ warder session start stuck1 > /dev/null
$ python3 $TOP/tests/lib/frozen.py 0 'sleep 5311' 'exec warder session exec stuck1 -- sleep 5311' 'warder session stop stuck1' | sed -E 's/(Left behind: processes N)[^.]*\./\1./'; warder session list | sed -n '/stuck/p'
| warder: host: the jail does not die: the kernel holds it. Left behind: processes N. If they end, "warder doctor --clean" removes the rest
| then: exit status 125, in time
| warder: host: the jail does not die: the kernel holds it. Left behind: processes N. If they end, "warder doctor --clean" removes the rest
| first: exit status 137, in time

= an execution that gets a signal, and does not die
+ warder session start stuck2 > /dev/null
$ python3 $TOP/tests/lib/frozen.py 0 'sleep 5312' 'exec warder session exec stuck2 -- sleep 5312' TERM | sed 's/does not die.*/does not die/'; warder session stop stuck2
| warder: host: the jail does not die
| first: exit status 143, in time

= a background process of an execution that does not die
+ warder session start stuck3 > /dev/null
$ python3 $TOP/tests/lib/frozen.py 0 'sleep 5313' 'exec warder session exec stuck3 --background -- sh -c "sleep 5313 & exit 4"' 'warder session stop stuck3' | sed 's/does not die.*/does not die/'
| warder: host: the jail does not die
| then: exit status 125, in time
| first: exit status 4, in time

# The sessions of the next two cases have a /run of their own, because a keeper that does not answer stops the removal of a
# workspace anywhere.

= a keeper that hangs is asked in vain, and cannot be ended
$ unshare -m bash <<'END'
> mount -t tmpfs -o mode=755 none /run
> warder session start stuck4 > /dev/null
> python3 $TOP/tests/lib/frozen.py 0 "$(warder session status stuck4 --json | grep -oE '"keeperPid":[0-9]+' | grep -oE '[0-9]+')" 'sleep 1; warder session exec stuck4 -- true' 'warder session stop stuck4'
> END
| warder: session stuck4 has not ended: its keeper, process N, neither answers nor dies; check whether it is frozen or traced, and stop the session again
| then: exit status 125, in time
|~ ^warder: .*keeper.* does not answer: the kernel holds it
| first: exit status 125, in time

= a keeper that is stopped: an execution is refused, the list goes on, and a workspace is not removed
$ unshare -m bash <<'END' 2>&1 | sed -E 's/process [0-9]+/process N/; s/keeper [0-9]+ +since .*/answers/'
> mount -t tmpfs -o mode=755 none /run
> warder session start stuck7 > /dev/null
> warder session start stuck8 > /dev/null
> kill -STOP $(warder session status stuck8 --json | grep -oE '"keeperPid":[0-9]+' | grep -oE '[0-9]+')
> timeout 10 warder session exec stuck8 -- true
> warder session list | sort
> warder workspace create kept > /dev/null
> warder workspace remove kept
> timeout 10 warder session stop stuck8; echo $?
> warder session stop stuck7; warder workspace remove kept; warder session list
> END
| warder: the session's keeper, process N, has not answered for 8 s: it is stopped ("kill -CONT" lets it go on); the session is left as it is, and "warder session stop" ends it
| stuck7                   answers
| stuck8                   the session's keeper, process N, has not answered for 8 s: it is stopped ("kill -CONT" lets it go on); the session is left as it is, and "warder session stop" ends it
| warder: "kept" is in use: the session stuck8 may write to it; stop the session, or wait with --wait
| 0

= a start that gets a signal, with a set-up command that does not die
$ python3 $TOP/tests/lib/frozen.py 0 'sleep 5314' "exec warder session start stuck9 --setup 'exec sleep 5314'" TERM | sed -E 's/(Left behind: processes N)[^.]*\./\1./'; warder session list | sed -n '/stuck9/p'
| warder: host: set-up command 1: the jail does not die: the kernel holds it. Left behind: processes N. If they end, "warder doctor --clean" removes the rest
| first: exit status 143, in time

= a start that is ended by a signal during the set-up reports it
$ warder session start stuck10 --setup 'exec sleep 5327' & pid=$!; until pgrep -fx 'sleep 5327' > /dev/null; do sleep 0.1; done; kill -TERM $pid; wait $pid; echo $?; warder session list | sed -n '/stuck10/p'
| 143
! warder: the start was interrupted, and the session was removed

= a command of the set-up that does not die, until its wall time
$ python3 $TOP/tests/lib/frozen.py 0 'sleep 5315' "exec warder session start stuck5 --timeout 2s --setup 'exec sleep 5315'" - | sed 's/does not die.*/does not die/'; warder session list | sed -n '/stuck/p'
| warder: host: set-up command 1: the jail does not die
| first: exit status 125, in time

= a start that is given up meanwhile
$ python3 $TOP/tests/lib/frozen.py 0 'sleep 5316' "exec warder session start stuck6 --setup 'exec sleep 5316'" 'sleep 1; warder session stop stuck6' | sed 's/does not die.*/does not die/'
| warder: host: the jail does not die
| then: exit status 125, in time
| warder: host: set-up command 1: the jail does not die
| first: exit status 125, in time

= a jail of a worker of tool
+ echo '{"language": "bash", "code": "exec sleep 5317"}' > request
$ python3 $TOP/tests/lib/frozen.py 0 'sleep 5317' 'exec warder tool --timeout 50s < request' TERM | grep -oE '"cause":"[a-z]*"|^first.*'
| "cause":"host"
| first: exit status 143, in time

= the worker itself, when it is to end
+ echo '{"language": "bash", "code": "exec sleep 5318"}' > request
$ python3 $TOP/tests/lib/frozen.py 2 'sleep 5318' 'exec warder tool --timeout 50s < request' TERM
| warder: host: the process at work on the request, N, does not die: the kernel holds it. It is left behind
| first: exit status 143, in time

= and when it is not
+ echo '{"language": "bash", "code": "exec sleep 5319"}' > request
$ python3 $TOP/tests/lib/frozen.py 2 'sleep 5319' 'exec warder tool --timeout 50s < request' - | grep -oE '"message":"[^"]*"|^first.*'
| "message":"host: the process at work on the request, N, does not die: the kernel holds it. It is left behind"
| first: exit status 0, in time

= a case of judge
+ echo '{"language": "bash", "code": "exec sleep 5320", "cases": [{"stdin": "", "expected": ""}, {"stdin": "", "expected": ""}]}' > batch.json
$ python3 $TOP/tests/lib/frozen.py 2 'sleep 5320' 'exec warder judge --parallel 1 batch.json' TERM | sed 's/ *$//'
| warder: host: the process at work on the case, N, does not die: the kernel holds it. It is left behind
| 1                skipped
| 2                skipped
|~ ^[a-zA-Z]+: 0 of 2 cases accepted
| first: exit status 143, in time

= a container, when it is to end
needs crun
$ python3 $TOP/tests/lib/frozen.py 0 'sleep 5321' 'exec warder run --backend crun -- sleep 5321' TERM | sed 's/does not die.*/does not die/'
| warder: host: the jail does not die
| first: exit status 143, in time

= a container of podman
needs podman
$ python3 $TOP/tests/lib/frozen.py 0 'sleep 5326' 'exec warder run --backend podman -- sleep 5326' TERM | sed 's/does not die.*/does not die/'
| warder: host: the jail does not die
| first: exit status 143, in time

= a container whose program has ended, and whose other processes do not die
needs crun
$ python3 $TOP/tests/lib/frozen.py 3 'sleep 2.531' 'exec warder run --json --backend crun -- sh -c "sleep 2.531; exit 3"' - | grep -oE '^\{"status":"[a-z]*","cause":"[a-z]*","exitCode":[a-z0-9]*|"detail":"a process of the container [^"]*|^first.*'
| {"status":"killed","cause":"host","exitCode":null
| "detail":"a process of the container (N) does not die: the kernel holds it. Left behind: it, and process N with its namespaces
| first: exit status 137, in time

= an OCI runtime that hangs
needs crun
+ printf '#!/bin/sh\nsleep 5322\n' > crun && chmod 755 crun
$ unshare -m bash -c 'mount --bind crun /usr/bin/crun && python3 $TOP/tests/lib/frozen.py 0 "sleep 5322" "exec warder run --backend crun -- true" -' | sed -E 's/process N in [a-z_]+/process N/'
| warder: host: the runtime does not go on: the kernel holds process N; a process of the container (N) does not die: the kernel holds it. Left behind: it, and process N with its namespaces (step spawn)
| first: exit status 125, in time

= a container runtime that hangs when the run gets a signal
needs crun
+ printf '#!/bin/sh\nexec sleep 5323\n' > crun && chmod 755 crun
$ unshare -m bash -c 'mount --bind crun /usr/bin/crun && python3 $TOP/tests/lib/frozen.py 0 "sleep 5323" "exec warder run --backend crun -- true" TERM' | sed 's/cannot .*; a process/; a process/'
| warder: the launch was cancelled while the runtime made the container; a process of the container (N) does not die: the kernel holds it. Left behind: it, and process N with its namespaces (step spawn)
| first: exit status 143, in time

= a step of an image's build
needs busybox
+ mkdir -p root/bin context && cp "$(command -v busybox)" root/bin/busybox && ln -s busybox root/bin/sh && ln -s busybox root/bin/sleep && printf 'FROM box\nRUN sleep 5324\n' > context/Dockerfile
+ warder image import "$PWD/root" box > /dev/null
$ python3 $TOP/tests/lib/frozen.py 0 'sleep 5324' 'exec warder image build --set limits.wallTime=2s context built' - | sed 's/does not die.*/does not die/'
| step 1 of 2: FROM box
| step 2 of 2: RUN sleep N
| warder: Dockerfile:2: RUN: host: the jail does not die
| first: exit status 125, in time

= a warder-store that does not end
+ printf '#!/bin/sh\nexec sleep 5325\n' > store.sh && chmod 755 store.sh
$ unshare -m bash -c 'mount --bind store.sh "$(command -v warder-store)" && python3 $TOP/tests/lib/frozen.py 0 "sleep 5325" "exec warder run --json --artifacts store: --max-output 1KiB -- seq 2000" -' | grep -oE 'it is not kept[^"]*|^first.*'
| it is not kept: warder-store, process N, does not die: the kernel holds it
| first: exit status 0, in time

= the same for an ordinary user: a run, and an execution in a session
needs user
+ mkdir rt && chmod 700 rt && chown 65534 rt
$ user="setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp XDG_RUNTIME_DIR=$PWD/rt warder"; { python3 $TOP/tests/lib/frozen.py 0 'sleep 5328' "exec $user run --prefer limits -- sleep 5328" TERM; $user session start stuck11 --prefer limits; python3 $TOP/tests/lib/frozen.py 0 'sleep 5329' "exec $user session exec stuck11 -- sleep 5329" "$user session stop stuck11"; } | sed 's/does not die.*/does not die/'; $user session list
| warder: host: the jail does not die
| first: exit status 143, in time
| warder: host: the jail does not die
| then: exit status 125, in time
| warder: host: the jail does not die
| first: exit status 137, in time
