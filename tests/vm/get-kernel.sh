#!/bin/bash
# get-kernel.sh SERIES DIRECTORY: Debian's kernel of a series (6.1, 6.12) for qemu.sh, out of its package. Nothing is installed: no
# postinst runs, /boot stays as it is. Exits with 77 when it cannot be had. The directory then holds
#
#   release      what uname -r says there
#   vmlinux      the kernel, uncompressed: under software emulation it would unpack itself for many seconds
#   lib/modules  all its modules, with their dependencies
#   boot.cpio    those without which it would see neither its disks nor its file systems, and two that are attack surface, as
#                /modules/NN-NAME.ko, in order
set -u
series=$1
directory=$2
needed=(virtio_mmio virtio_blk virtio_console ext4 virtiofs overlay tun loop)

cannot() {
	echo "get-kernel.sh: no kernel $series: $*"
	exit 77
}

# The package that the meta-package of the series depends on: with all of the kernel's modules, or for clouds, which lacks many. The
# distribution's own series has one without a number.
find_package() {
	local meta
	for meta in "linux-image-$series-amd64" "linux-image-$series-cloud-amd64" linux-image-cloud-amd64; do
		package=$(apt-cache depends "$meta" 2>/dev/null |
			awk -v series="$series" '$1 == "Depends:" && index($2, "linux-image-" series ".") == 1 { print $2; exit }')
		[ -z "$package" ] || return 0
	done
	return 1
}

number_at() {
	od -An -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

# unpack_kernel BZIMAGE: the ELF file inside. The boot protocol's header (Documentation/arch/x86/boot.rst) says where it lies and how
# long it is; the build appends four bytes with the unpacked size, of which only gzip knows.
unpack_kernel() {
	local start length
	start=$((($(number_at "$1" $((0x1f1)) 1) + 1) * 512 + $(number_at "$1" $((0x248)) 4)))
	length=$(number_at "$1" $((0x24c)) 4)
	packed() { tail -c +$((start + 1)) "$1" | head -c $((length - ${2:-0})); }
	case $(packed "$1" | head -c 4 | od -An -t x1 | tr -d ' \n') in
	28b52ffd) packed "$1" 4 | zstd -dc ;;
	02214c18) packed "$1" 4 | lz4 -dc ;;
	fd377a58) packed "$1" 4 | xz -dc ;;
	1f8b*) packed "$1" | gzip -dc ;;
	*) return 1 ;;
	esac
}

# boot_modules ROOT RELEASE: the archive of modules, in the order in which they can be loaded.
boot_modules() {
	local number=10 path name
	mkdir -p boot/modules || return 1
	for name in "${needed[@]}"; do
		modprobe -d "$1" -S "$2" --show-depends "$name" || return 1
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >list
	while read -r path; do
		name=$(basename "$path")
		case $name in
		*.xz) xz -dc "$path" >"boot/modules/$number-${name%.xz}" ;;
		*) cp "$path" "boot/modules/$number-$name" ;;
		esac || return 1
		number=$((number + 1))
	done <list
	(cd boot && find . | busybox cpio -o -H newc 2>/dev/null)
}

[ "$(uname -m)" = x86_64 ] || cannot "this machine is not an x86-64 one"
for tool in apt-get dpkg-deb depmod modprobe busybox zstd lz4 xz; do
	command -v "$tool" >/dev/null || cannot "$tool is missing (make check-vm installs it)"
done
mkdir -p "$directory" || cannot "cannot write to $directory"
exec 9>"$directory.lock" && flock 9
[ ! -s "$directory/release" ] || exit 0 # somebody else made it while this one waited
work=$directory/work.$$
mkdir "$work" && cd "$work" || exit 77
trap 'rm -rf "$work"' EXIT
find_package || { apt-get -qq update >log 2>&1 && find_package; } || cannot "Debian offers no linux-image-$series-amd64 here"
echo "fetching $package into $directory, once"
# APT would warn that its own user cannot write here.
apt-get -qq -o APT::Sandbox::User=root download "$package" >log 2>&1 ||
	{ apt-get -qq update && apt-get -qq -o APT::Sandbox::User=root download "$package"; } >log 2>&1 ||
	cannot "$package cannot be had by apt-get: $(tail -n 1 log)"
release=${package#linux-image-}
dpkg-deb -x "$package"_*.deb root || cannot "$package does not unpack"
[ -d root/lib ] || ln -s usr/lib root/lib
depmod -b root "$release" || cannot "depmod failed"
boot_modules "$PWD/root" "$release" >boot.cpio || cannot "a module is missing in $package"
unpack_kernel "root/boot/vmlinuz-$release" >vmlinux || cannot "its vmlinuz is of an unknown kind"
rm -rf "${directory:?}/lib"
{ mkdir "$directory/lib" && mv root/lib/modules "$directory/lib/" && mv vmlinux boot.cpio "$directory"; } ||
	cannot "cannot write to $directory"
echo "$release" >"$directory/release"
