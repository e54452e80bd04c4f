#!/bin/bash
# uml.sh 'command': run a shell command as root on a pure cgroup-v2 kernel (User-mode Linux), and end with its exit status.
#
# The command sees this machine's / read-only under a throw-away overlay, the current directory read-write at its own
# path, an empty /tmp and /srv, its own /proc, /sys and /dev, and cgroup v2 with every controller at /sys/fs/cgroup. Its standard
# output and standard error arrive separately. Needs no privilege.
#
# Exit status: the command's; 125 when the guest could not be run, panicked or took too long; 77 when there
# is no kernel and none could be made.
#
# WARDER_VM_KERNEL   a User-mode Linux kernel, plain or .xz; without it one is built once into the cache
# WARDER_VM_CACHE    where kernels are kept (~/.cache/warder-vm)
# WARDER_VM_MEMORY   MiB of the guest (1536)    WARDER_VM_CPU  processor it is pinned to (the first allowed)
# WARDER_VM_TIMEOUT  seconds (600)              WARDER_VM_VERBOSE=1  shows the guest's console
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${WARDER_VM_CACHE:-$HOME/.cache/warder-vm}
scratch=

fail() {
	echo "uml.sh: $*" >&2
	exit 125
}

# An .xz kernel is unpacked into the cache, under a name that changes with the file.
unpacked() {
	local key to
	key=$(stat -L -c '%s-%Y' "$1") || return 1
	to=$cache/uml-$key
	[ -x "$to" ] || { xz -dc "$1" >"$to.$$" && chmod 755 "$to.$$" && mv "$to.$$" "$to"; } || return 1
	echo "$to"
}

find_kernel() {
	mkdir -p "$cache" || fail "cannot write to $cache"
	case ${WARDER_VM_KERNEL:=$cache/linux-uml} in
	*.xz) kernel=$(unpacked "$WARDER_VM_KERNEL") || fail "cannot unpack $WARDER_VM_KERNEL" ;;
	*)
		kernel=$WARDER_VM_KERNEL
		[ -x "$kernel" ] || "$here/build-uml.sh" "$kernel" >&2 || exit 77
		;;
	esac
}

# The first processor that this process may use: a guest that wanders between two is several times slower.
first_cpu() {
	taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/'
}

prepare() {
	local init
	init=$cache/init-$(id -u)
	if [ ! -x "$init" ] || [ "$here/init.c" -nt "$init" ]; then
		"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -static -o "$init.$$" "$here/init.c" || fail "cannot build init.c"
		mv "$init.$$" "$init"
	fi
	scratch=$(mktemp -d "${TMPDIR:-/tmp}/uml.XXXXXX") || exit 125
	trap 'rm -rf "$scratch"' EXIT
	mkdir "$scratch/boot" "$scratch/boot/stage" "$scratch/umid"
	cp "$init" "$scratch/boot/init"
	printf '%s\n' "$1" >"$scratch/boot/command"
	printf '%s\n' "$PWD" >"$scratch/boot/directory"
}

# The kernel sets O_NONBLOCK on the descriptors of its serial lines: it gets pipes of its own, never the caller's files.
boot() {
	local out err
	exec {out_fd}> >(exec cat) && out=$!
	exec {err_fd}> >(exec cat >&2) && err=$!
	env -u TMPDIR timeout -k 5 "${WARDER_VM_TIMEOUT:-600}" taskset -c "${WARDER_VM_CPU:-$(first_cpu)}" "$kernel" \
		mem="${WARDER_VM_MEMORY:-1536}M" umid="warder$$" uml_dir="$scratch/umid" \
		root=/dev/root rootfstype=hostfs rootflags="$scratch/boot" rw init=/init panic=-1 quiet cgroup_no_v1=all \
		con=null con0=null,fd:1 ssl=null ssl0=null,fd:"$out_fd" ssl1=null,fd:"$err_fd" \
		</dev/null >"$scratch/console" 2>&1
	exec {out_fd}>&- {err_fd}>&-
	wait "$out" "$err"
}

[ $# = 1 ] || fail "usage: uml.sh 'command'"
find_kernel
prepare "$1"
boot
status=$(cat "$scratch/boot/status" 2>/dev/null)
if [ -z "$status" ] || [ -n "${WARDER_VM_VERBOSE:-}" ]; then
	cat "$scratch/console" >&2
fi
[ -n "$status" ] || fail "the guest ended without a status (panic, or more than ${WARDER_VM_TIMEOUT:-600} s)"
exit "$status"
