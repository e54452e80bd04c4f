# What a host does not let us do. A user namespace has limits of its own for the namespaces made in it.
needs unshare

= no namespaces: explain refuses, with the reason
$ unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; warder explain strict' > out; echo $?; grep -E '^(network|filesystem.view|limits.wallTime|processes.identity) ' out | tr -s ' ' | cut -d' ' -f1,4; grep -c 'needs user.max_user_namespaces > 0$' out; tail -n 1 out | cut -c1-20
| 125
| network refused
| filesystem.view refused
| limits.wallTime refused
| processes.identity refused
| 8
| It would be refused:

= and doctor says so
$ unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; warder doctor' > out; echo $?; grep -A1 'Preset strict' out | tail -n 1 | tr -s ' '
| 1
|~ ^ no network network namespace: No space left on device; needs user.max_user_namespaces > 0$

= preferring the fields that need them does not help
+ warder policy show strict | sed '/"languages"/!s/"required"/"preferred"/' > easy.json
$ unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; warder explain easy.json' | tail -n 1
| It would be refused: no jail can be started here: user namespace: No space left on device; needs user.max_user_namespaces > 0

= one kind of them
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
$ unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_net_namespaces; warder explain easy.json | tail -n 1; warder explain --net host easy.json | tail -n 1'
| It would be refused: cannot enforce network: network.none: network namespace: No space left on device; needs user.max_net_namespaces > 0
| It would run.

= one that a launch does without only where the kernel has none
+ warder policy show strict | sed -E 's/("limits.(memory|swap|cpus|pids|cpuTime)": )"required"/\1"preferred"/' > easy.json
$ unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_cgroup_namespaces; warder explain easy.json | tail -n 1; warder run --policy easy.json -- true'
| It would be refused: cannot enforce processes.identity: processes.identity: cgroup namespace: No space left on device; needs user.max_cgroup_namespaces > 0
!~ ^warder: the jail could not be set up \(cgroup-namespace\): No space left on device
? 125

= in a chroot, which has no user namespaces
needs user
+ mkdir root; cat > in.sh <<'END'
+ mount --rbind / root; chroot root "$1" run -- true; chroot root "$1" doctor | grep -m 1 ' user namespace ' | tr -s ' '
+ chroot root setpriv --reuid=65534 --regid=65534 --clear-groups "$1" run --prefer limits -- true
+ END
$ unshare -m --propagation private sh in.sh "$(command -v warder)"
|~ ^ no user namespace Operation not permitted; refused in a chroot, by a system call filter or by a security module
!~ ^warder: cannot make a user namespace \(the kernel refuses it in a chroot; .*: Operation not permitted
!~ ^warder: cannot start the jail's init \(ordinary users need user namespaces, which no chroot has: 
? 125
