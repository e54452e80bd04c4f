# shellcheck shell=bash disable=SC2154,SC2034 # name and here are the caller's, memory is for it
# guest.sh: what uml.sh and qemu.sh have in common. To be sourced; the caller sets `name` and `here` first.
#
# Both are called as NAME.sh 'command'. They run a shell command as root on a kernel of its own, throw the machine away and
# end with the command's exit status.
#
# The command sees this machine's / read-only under a throw-away overlay, the current directory read-write at its own
# path, an empty /tmp and /srv, its own /proc, /sys and /dev, and cgroup v2 with every controller at /sys/fs/cgroup. Its standard
# output and standard error arrive separately. In its environment are WARDER_TEST_GUEST (uml or qemu) and WARDER_TEST_SLOW: how
# many times longer than on this machine its time-outs should be.
#
# Exit status: the command's; 125 when the guest could not be run, panicked or took too long; 77 when there
# is no kernel and none could be had.
#
# WARDER_VM_CACHE    where kernels are kept (~/.cache/warder-vm)
# WARDER_VM_MEMORY   MiB of the guest (1536)
# WARDER_VM_TIMEOUT  seconds               WARDER_VM_VERBOSE=1  shows the guest's console
cache=${WARDER_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/warder-vm}
memory=${WARDER_VM_MEMORY:-1536}
scratch=

fail() {
	echo "$name: $*" >&2
	exit 125
}

make_cache() {
	mkdir -p "$cache" || fail "cannot write to $cache"
}

# The guest's first process, built once from each version of its source, and for each user.
build_init() {
	init=$cache/init-$(id -u)-$(sha256sum <"$here/init.c" | head -c 16)
	[ -x "$init" ] && return
	"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -static -o "$init.$$" "$here/init.c" || fail "cannot build init.c"
	mv "$init.$$" "$init"
}

# boot_files COMMAND: a directory $scratch/boot with what init.c expects to find in the guest's first root.
boot_files() {
	build_init
	scratch=$(mktemp -d "${TMPDIR:-/tmp}/warder-vm.XXXXXX") || exit 125
	mkdir "$scratch/boot" "$scratch/boot/stage" || exit 125
	cp "$init" "$scratch/boot/init" || exit 125
	printf '%s\n' "$1" >"$scratch/boot/command"
	printf '%s\n' "$PWD" >"$scratch/boot/directory"
}

# finish STATUS-FILE SECONDS LOG...: end with the status that the guest left.
finish() {
	local status seconds=$2
	status=$(cat "$1" 2>/dev/null)
	shift 2
	if [ -z "$status" ] || [ -n "${WARDER_VM_VERBOSE:-}" ]; then
		cat "$@" >&2
	fi
	[ -n "$status" ] || fail "the guest ended without a status (panic, or more than $seconds s)"
	exit "$status"
}

[ $# = 1 ] || fail "usage: $name 'command'"
