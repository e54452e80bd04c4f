#!/bin/bash
# qemu.sh 'command': run a shell command as root on one of Debian's own kernels in qemu. guest.sh has the contract. Needs root: the
# shared folders keep their owners.
#
# The processor is emulated in software, so a start of a process costs 30 times as much as on the machine. /tmp and /srv are ext4
# on disks of the guest.
#
# WARDER_VM_SERIES   6.12 or 6.1
# WARDER_VM_CGROUP   v2, or v1: hierarchies of v1 alone (6.1 only: Debian's later kernels limit no memory there)
# WARDER_VM_CPUS     processors of the guest (2)
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=qemu.sh
# shellcheck source=tests/vm/guest.sh
. "$here/guest.sh"
series=${WARDER_VM_SERIES:-6.12}
cgroup=${WARDER_VM_CGROUP:-v2}
seconds=${WARDER_VM_TIMEOUT:-7200}
kernel=$cache/debian-$series
virtiofsd=/usr/lib/qemu/virtiofsd
daemons=()

cannot() {
	echo "qemu.sh: $*" >&2
	exit 77
}

# serve TAG DIRECTORY OPTION...: a file server for one shared folder. It ends with its one client, or by clean_up.
serve() {
	local tag=$1 directory=$2
	shift 2
	"$virtiofsd" -f --socket-path="$scratch/$tag.sock" -o source="$directory" -o sandbox=chroot -o log_level=warn "$@" \
		>"$scratch/$tag.log" 2>&1 &
	daemons+=($!)
	for _ in $(seq 200); do
		[ -S "$scratch/$tag.sock" ] && return
		sleep 0.05
	done
	cat "$scratch/$tag.log" >&2
	fail "no file server for $directory"
}

disk() {
	{ truncate -s 2G "$scratch/$1" && mkfs.ext4 -q -F -O ^has_journal -E lazy_itable_init=1 "$scratch/$1" >&2; } || fail "cannot make a disk"
}

clean_up() {
	[ ${#daemons[@]} = 0 ] || kill "${daemons[@]}" 2>/dev/null
	wait
	rm -rf "$scratch"
}

# The first root: the modules that the kernel needs, init, and what it is told.
archive() {
	cat "$kernel/boot.cpio" && (cd "$scratch/boot" && find . | busybox cpio -o -H newc 2>/dev/null)
}

# The clock's frequency is told, or the kernel measures it against a timer of the emulator, and at times never ends.
command_line() {
	local khz
	khz=$(awk -F: '/cpu MHz/ { printf "%d", $2 * 1000; exit }' /proc/cpuinfo)
	echo "console=ttyS0 quiet panic=-1 psi=1 syscall.x32=y mitigations=off audit=0 tsc=reliable tsc_early_khz=${khz:-2000000}" \
		"$([ "$cgroup" = v1 ] || echo cgroup_no_v1=all) WARDER_CGROUP=$cgroup" \
		"WARDER_TEST_GUEST=qemu WARDER_TEST_SLOW=${WARDER_TEST_SLOW:-10} WARDER_CLOCK=$(date +%s) WARDER_MODULES=$kernel/lib/modules"
}

# One thread for all processors: with one each, the kernel's patching of its own code (jump labels, int3 for a moment) is at times
# seen late by the others, and it panics.
boot() {
	local machine emulator copies folder disk
	machine=(-accel "tcg,thread=single" -M "microvm,acpi=on,rtc=on,isa-serial=on,memory-backend=memory" -cpu max
		-smp "${WARDER_VM_CPUS:-2}" -m "$memory" -object "memory-backend-memfd,id=memory,size=${memory}M,share=on"
		-nodefaults -no-user-config -display none -no-reboot -global virtio-mmio.force-legacy=false
		-kernel "$kernel/vmlinux" -initrd "$scratch/initrd" -append "$(command_line)"
		-serial "file:$scratch/console" -device virtio-serial-device)
	: >"$scratch/out" && : >"$scratch/err"
	port() { machine+=(-chardev "file,id=$1,path=$3" -device "virtserialport,chardev=$1,nr=$2"); }
	port out 1 "$scratch/out"
	port err 2 "$scratch/err"
	port status 3 "$scratch/status"
	for folder in root shared; do
		machine+=(-chardev "socket,id=$folder,path=$scratch/$folder.sock" -device "vhost-user-fs-device,chardev=$folder,tag=$folder")
	done
	for disk in tmp srv; do
		machine+=(-drive "if=none,id=$disk,format=raw,cache=unsafe,file=$scratch/$disk" -device "virtio-blk-device,drive=$disk")
	done
	timeout -k 5 "$seconds" qemu-system-x86_64 "${machine[@]}" </dev/null >"$scratch/qemu.log" 2>&1 &
	emulator=$!
	daemons+=("$emulator")
	tail -c +1 -f --pid="$emulator" "$scratch/out" &
	copies=($!)
	tail -c +1 -f --pid="$emulator" "$scratch/err" >&2 &
	copies+=($!)
	wait "$emulator"
	wait "${copies[@]}"
}

main() {
	local tool
	[ "$(id -u)" = 0 ] || cannot "needs root, to share folders with the guest"
	for tool in qemu-system-x86_64 mkfs.ext4 busybox "$virtiofsd"; do
		command -v "$tool" >/dev/null || cannot "$tool is missing (make check-vm installs it)"
	done
	make_cache
	[ -s "$kernel/release" ] || "$here/get-kernel.sh" "$series" "$kernel" >&2 || exit 77
	boot_files "$1"
	trap clean_up EXIT
	archive >"$scratch/initrd"
	disk tmp
	disk srv
	serve root / -o cache=always
	serve shared "$PWD" -o cache=auto -o xattr
	boot
	finish "$scratch/status" "$seconds" "$scratch/console" "$scratch"/*.log
}

main "$@"
