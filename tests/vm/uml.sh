#!/bin/bash
# uml.sh 'command': run a shell command as root on a pure cgroup-v2 kernel, User-mode Linux. guest.sh has the contract. Needs
# no privilege.
#
# WARDER_VM_KERNEL   a User-mode Linux kernel, plain or .xz; without it one is built once into the cache
# WARDER_VM_CPU      processor it is pinned to (the first allowed)
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=uml.sh
# shellcheck source=tests/vm/guest.sh
. "$here/guest.sh"
seconds=${WARDER_VM_TIMEOUT:-1800}

# An .xz kernel is unpacked into the cache, under a name that changes with its contents.
unpacked() {
	local key to
	key=$(sha256sum <"$1" | head -c 16) || return 1
	to=$cache/uml-$key
	[ -x "$to" ] || { xz -dc "$1" >"$to.$$" && chmod 755 "$to.$$" && mv "$to.$$" "$to"; } || return 1
	echo "$to"
}

# xstate.c as a library in the cache, under a name that changes with its contents.
compiled() {
	local key to
	key=$(sha256sum <"$here/xstate.c" | head -c 16) || return 1
	to=$cache/xstate-$key.so
	[ -e "$to" ] || { "${CC:-cc}" -D_GNU_SOURCE -O2 -shared -fPIC -o "$to.$$" "$here/xstate.c" && mv "$to.$$" "$to"; } || return 1
	echo "$to"
}

find_kernel() {
	case ${WARDER_VM_KERNEL:=$cache/linux-uml} in
	*.xz) kernel=$(unpacked "$WARDER_VM_KERNEL") || fail "cannot unpack $WARDER_VM_KERNEL" ;;
	*)
		kernel=$WARDER_VM_KERNEL
		[ -x "$kernel" ] || "$here/build-uml.sh" "$kernel" >&2 || exit 77
		;;
	esac
}

# A processor that this process may use, and that no other guest has: one that wanders between two is several times slower. It is held by
# a lock as long as the guest runs; where all are taken, the first one is shared.
cpu=
take_cpu() {
	local part each first held
	for part in $(taskset -cp $$ | sed 's/.*: *//; s/,/ /g'); do
		for each in $(seq "${part%-*}" "${part#*-}"); do
			: "${first:=$each}"
			exec {held}<"/sys/devices/system/cpu/cpu$each" || continue
			if flock -n "$held"; then
				cpu=$each
				return
			fi
			exec {held}<&-
		done
	done
	cpu=$first
}

# The kernel sets O_NONBLOCK on the descriptors of its serial lines: it gets pipes of its own, never the caller's files. Words of its
# command line that it does not know become variables in init's environment.
boot() {
	local out err
	{ mkdir "$scratch/umid" && truncate -s 256M "$scratch/disk"; } || fail "cannot write to $scratch"
	cpu=${WARDER_VM_CPU:-}
	[ -n "$cpu" ] || take_cpu
	exec {out_fd}> >(exec cat) && out=$!
	exec {err_fd}> >(exec cat >&2) && err=$!
	env -u TMPDIR timeout -k 5 "$seconds" taskset -c "$cpu" env LD_PRELOAD="$preload" "$kernel" \
		mem="${memory}M" ubd0="$scratch/disk" umid="warder$$" uml_dir="$scratch/umid" \
		root=/dev/root rootfstype=hostfs rootflags="$scratch/boot" rw init=/init panic=-1 quiet cgroup_no_v1=all \
		con=null con0=null,fd:1 ssl=null ssl0=null,fd:"$out_fd" ssl1=null,fd:"$err_fd" \
		WARDER_TEST_GUEST=uml WARDER_TEST_SLOW="${WARDER_TEST_SLOW:-1}" \
		</dev/null >"$scratch/console" 2>&1
	exec {out_fd}>&- {err_fd}>&-
	wait "$out" "$err"
}

main() {
	make_cache
	find_kernel
	preload=$(compiled) || fail "cannot compile $here/xstate.c"
	boot_files "$1"
	trap 'rm -rf "$scratch"' EXIT
	boot
	finish "$scratch/boot/status" "$seconds" "$scratch/console"
}

main "$@"
