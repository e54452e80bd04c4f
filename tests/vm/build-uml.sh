#!/bin/bash
# build-uml.sh FILE: build a User-mode Linux kernel for uml.sh out of Debian's linux-source-6.12 (about five minutes on two
# processors, 2 GiB below the file's directory while it lasts). Installs nothing. Exits with 77 when it cannot be done here.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
file=$1
package=linux-source-6.12
work=$(dirname "$file")/build-uml.$$

cannot() {
	echo "build-uml.sh: no User-mode Linux kernel: $*"
	exit 77
}

for tool in apt-get dpkg-deb gcc make flex bison bc xz; do
	command -v "$tool" >/dev/null || cannot "$tool is missing (make deps)"
done
echo "building a User-mode Linux kernel into $file, once; this takes some minutes"
mkdir -p "$work" || cannot "cannot write to $(dirname "$file")"
exec 9>"$file.lock" && flock 9
if [ -x "$file" ]; then # somebody else built it while this one waited
	rmdir "$work"
	exit 0
fi
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 77
apt-get -qq download "$package" || cannot "$package cannot be had by apt-get"
dpkg-deb --fsys-tarfile "$package"_*.deb | tar -xO "./usr/src/$package.tar.xz" | tar -xJ || cannot "$package does not unpack"
{
	cd "$package" && make -s ARCH=um O=../out defconfig && cd ../out &&
		"../$package/scripts/kconfig/merge_config.sh" -m .config "$here/uml.config" >/dev/null &&
		make -s ARCH=um olddefconfig && make -s ARCH=um -j"$(nproc)" linux &&
		strip -o "$file.$$" linux && mv "$file.$$" "$file"
} >"$work/log" 2>&1 || {
	tail -n 20 "$work/log"
	cannot "the build failed"
}
