#!/bin/bash
# bare-docker.sh BOOKS ROOT [COMMAND...]: Docker as it is, to compare with: a daemon of its own at the socket BOOKS/socket, with ROOT as its
# image `bare`, in namespaces that end with it; then the command, whose end is the daemon's too, or, without one, the line "ready"
# on standard output, and the daemon until this is killed.
#
# The daemon has all that the backend's has (runtime, storage, map of ids, no network), so that both do the same work. It makes
# nothing outside of BOOKS, which is a new directory.
set -eu
if [ "$1" != --inside ]; then
	mkdir "$1" "$1/data" "$1/exec"
	exec unshare --mount --pid --fork --kill-child --mount-proc "${BASH_SOURCE[0]}" --inside "$@"
fi
books=$2 root=$3
shift 3
# No control groups, as in the backend; crun cannot bear a hybrid of both versions.
[ ! -e /sys/fs/cgroup/unified/cgroup.procs ] || mount -t tmpfs -o ro none /sys/fs/cgroup/unified
awk '$5 ~ "^/sys/fs/cgroup" { print $5 }' /proc/self/mountinfo | while read -r place; do
	mount -o remount,bind,ro "$place"
done
for place in /etc /run "$books/data" "$books/exec"; do
	mount -t tmpfs none "$place"
done
printf 'root:x:0:0::/:/bin/false\nbare:x:700000:700000::/:/bin/false\n' | tee /etc/passwd >/etc/group
echo bare:700000:65536 | tee /etc/subuid >/etc/subgid
echo '{"runtimes": {"bare": {"path": "/usr/bin/crun", "runtimeArgs": ["--cgroup-manager=disabled"]}}}' >/etc/docker.json
dockerd --config-file /etc/docker.json --data-root "$books/data" --exec-root "$books/exec" --pidfile /run/pid --host "unix://$books/socket" \
	--bridge=none --iptables=false --ip6tables=false --storage-driver=vfs --userns-remap=bare --ip-forward=false --log-level=error >"$books/log" 2>&1 &
until [ -S "$books/socket" ]; do
	kill -0 $! || exit 1
	sleep 0.01
done
tar -C "$root" -c . | docker --host "unix://$books/socket" import - bare >/dev/null
[ $# = 0 ] || exec "$@"
echo ready
wait
