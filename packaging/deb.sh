#!/bin/bash
# deb.sh STAGE VERSION ARCHITECTURE LIBDIR OUTPUT: a Debian package of what `make install` put below STAGE, with PREFIX /usr. STAGE becomes the
# package's tree. The same tree and SOURCE_DATE_EPOCH give the same bytes.
set -eu
stage=$1 version=$2 architecture=$3 libdir=$4 output=$5
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${SOURCE_DATE_EPOCH:=$(git -C "$here" log -1 --format=%ct 2>/dev/null || stat -c %Y "$here/../NEWS.md")}"
export SOURCE_DATE_EPOCH
maintainer=${DEB_MAINTAINER:-Warder maintainers <maintainers@warder.example>}
docs=$stage/usr/share/doc/warder
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

# Bring the tree into Debian's form: without symbols, manual pages compressed.
find "$stage/usr/bin" "$stage/usr/libexec" -type f -exec strip --remove-section=.comment --remove-section=.note {} +
find "$stage$libdir" -name '*.so.*' -type f -exec strip --strip-unneeded --remove-section=.comment --remove-section=.note {} +
find "$stage$libdir" -name '*.a' -type f -exec strip --strip-debug --remove-section=.comment --enable-deterministic-archives {} +
find "$stage$libdir" -name '*.so.*' -type f -exec chmod 644 {} +
find "$stage/usr/share/man" -type f -exec gzip -9n {} +

install -m 644 "$here/copyright" "$docs/copyright"
printf 'warder (%s) unstable; urgency=medium\n\n  * See NEWS.md.gz for the changes.\n\n -- %s  %s\n' \
	"$version" "$maintainer" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$docs/changelog.Debian.gz"
gzip -9n "$docs/NEWS.md"
mkdir -p "$stage/usr/share/lintian/overrides"
install -m 644 "$here/lintian-overrides" "$stage/usr/share/lintian/overrides/warder"

# The packages of the libraries that the programs and libraries are linked with.
mkdir -p "$work/debian"
printf 'Source: warder\n\nPackage: warder\nArchitecture: any\n' >"$work/debian/control"
mapfile -t linked < <(find "$stage/usr/libexec" "$stage$libdir" -type f \( -name 'warder-*' -o -name '*.so.*' \) -printf '-e%p\n')
depends=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info -l"$stage$libdir" "${linked[@]}" 2>"$work/said") ||
	{ cat "$work/said" >&2; exit 1; }
depends=${depends#shlibs:Depends=}

mkdir -p "$stage/DEBIAN"
cat >"$stage/DEBIAN/control" <<END
Package: warder
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --apparent-size "$stage" | cut -f1)
Depends: $depends
Recommends: git, ca-certificates
Suggests: crun | runc, podman, python3, nodejs
Section: utils
Priority: optional
Description: run untrusted programs, and prove which restrictions were enforced
 Warder runs a program in a jail made of namespaces, control groups, a system
 call filter and a root file system of its own. A policy says what the program
 may do. If this host cannot enforce a part of the policy, nothing is started.
 .
 This package has the command line tool, the programs that it starts, and the
 libraries with their headers and manual pages.
END
for name in libwarder libwarder-store; do echo "$name 0 warder (>= $version)"; done >"$stage/DEBIAN/shlibs"
echo 'activate-noawait ldconfig' >"$stage/DEBIAN/triggers"
(cd "$stage" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
chmod 644 "$stage"/DEBIAN/*
find "$stage" -type d -exec chmod 755 {} +
find "$stage" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

mkdir -p "$(dirname "$output")"
dpkg-deb --root-owner-group --build "$stage" "$output" >/dev/null
