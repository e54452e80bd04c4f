#!/bin/bash
# deb.sh STAGE VERSION ARCHITECTURE LIBDIR OUTPUT: Debian packages of what `make install` put below STAGE, with PREFIX /usr: `warder` as OUTPUT, and
# `warder-host`, the parts of an execution host, beside it. STAGE becomes the tree of the first, STAGE-host that of the second. The same tree and
# SOURCE_DATE_EPOCH give the same bytes.
set -eu
stage=$1 version=$2 architecture=$3 libdir=$4 output=$5
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${SOURCE_DATE_EPOCH:=$(git -C "$here" log -1 --format=%ct 2>/dev/null || stat -c %Y "$here/../NEWS.md")}"
export SOURCE_DATE_EPOCH
maintainer=${DEB_MAINTAINER:-Warder maintainers <maintainers@warder.example>}
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
host=$stage-host
rm -rf "$host"

# Bring the tree into Debian's form: without symbols, manual pages compressed.
find "$stage/usr/bin" "$stage/usr/libexec" -type f -exec strip --remove-section=.comment --remove-section=.note {} +
find "$stage$libdir" -name '*.so.*' -type f -exec strip --strip-unneeded --remove-section=.comment --remove-section=.note {} +
find "$stage$libdir" -name '*.a' -type f -exec strip --strip-debug --remove-section=.comment --enable-deterministic-archives {} +
find "$stage$libdir" -name '*.so.*' -type f -exec chmod 644 {} +
find "$stage/usr/share/man" -type f -exec gzip -9n {} +
gzip -9n "$stage/usr/share/doc/warder/NEWS.md"

# Only an execution host and a fleet need these.
for path in libexec/warder/warder-front libexec/warder/warder-signer libexec/warder/warder-fleet share/man/man1/warder-fleet.1.gz share/man/man1/warder-serve.1.gz share/man/man7/warder-e2b.7.gz; do
	mkdir -p "$host/usr/${path%/*}"
	mv "$stage/usr/$path" "$host/usr/$path"
done
install -D -m 644 -t "$host/lib/systemd/system" "$here/warder-host.socket" "$here/warder-host.service"
install -D -m 644 "$here/host.json" "$host/etc/warder/host.json"

# libraries TREE: the packages of the libraries that its programs and libraries are linked with.
libraries()
{
	local linked found
	mkdir -p "$work/debian"
	printf 'Source: warder\n\nPackage: warder\nArchitecture: any\n' >"$work/debian/control"
	mapfile -t linked < <(find "$1/usr/libexec" "$1$libdir" -type f \( -name 'warder-*' -o -name '*.so.*' \) -printf '-e%p\n' 2>/dev/null)
	found=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info -l"$stage$libdir" "${linked[@]}" 2>"$work/said") || { cat "$work/said" >&2; return 1; }
	echo "${found#shlibs:Depends=}"
}

# finish TREE PACKAGE OVERRIDES OUTPUT: the parts that every package has. Standard input has the fields of its control file that are its own.
finish()
{
	local tree=$1 package=$2 docs=$1/usr/share/doc/$2
	mkdir -p "$tree/DEBIAN" "$docs" "$tree/usr/share/lintian/overrides" "$(dirname "$4")"
	install -m 644 "$here/copyright" "$docs/copyright"
	printf 'warder (%s) unstable; urgency=medium\n\n  * See NEWS.md.gz of the package warder for the changes.\n\n -- %s  %s\n' \
		"$version" "$maintainer" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$docs/changelog.Debian.gz"
	install -m 644 "$3" "$tree/usr/share/lintian/overrides/$package"
	{
		printf 'Package: %s\nSource: warder\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$package" "$version" "$architecture" "$maintainer"
		printf 'Installed-Size: %s\n' "$(du -sk --apparent-size --exclude=DEBIAN "$tree" | cut -f1)"
		cat
	} >"$tree/DEBIAN/control"
	[ "$package" != warder ] || sed -i '/^Source: /d' "$tree/DEBIAN/control"
	(cd "$tree" && find . -path ./DEBIAN -prune -o -path ./etc -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
	find "$tree/DEBIAN" -type f ! -name 'p*' -exec chmod 644 {} +
	find "$tree" -type d -exec chmod 755 {} +
	find "$tree" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	dpkg-deb --root-owner-group --build "$tree" "$4" >/dev/null
}

depends=$(libraries "$stage")
mkdir -p "$stage/DEBIAN"
for name in libwarder libwarder-store; do echo "$name 0 warder (>= $version)"; done >"$stage/DEBIAN/shlibs"
echo 'activate-noawait ldconfig' >"$stage/DEBIAN/triggers"
finish "$stage" warder "$here/lintian-overrides" "$output" <<END
Depends: $depends
Recommends: git, ca-certificates
Suggests: warder-host, crun | runc, podman, python3, nodejs
Section: utils
Priority: optional
Description: run untrusted programs, and report which restrictions were enforced
 Warder runs a program in a jail made of namespaces, control groups, a system
 call filter and a root file system of its own. A policy says what the program
 may do. If this host cannot enforce a part of the policy, nothing is started.
 .
 This package has the command line tool, the programs that it starts, and the
 libraries with their headers and manual pages.
END

depends=$(libraries "$host")
mkdir -p "$host/DEBIAN"
for script in postinst prerm postrm; do install -m 755 "$here/host.$script" "$host/DEBIAN/$script"; done
echo /etc/warder/host.json >"$host/DEBIAN/conffiles"
finish "$host" warder-host "$here/lintian-overrides-host" "${output/warder_/warder-host_}" <<END
Depends: warder (= $version), $depends
Section: net
Priority: optional
Description: sandboxes of Warder for clients over HTTP
 An execution host creates sandboxes for its clients, runs programs in them, and
 signs the results. It serves Warder's own interface and that of E2B's clients.
 The package also has the program for "warder worker" and "warder submit",
 which share requests between hosts through a NATS server.
 .
 This package has the programs and the units of systemd. They are not enabled:
 "systemctl enable --now warder-host.socket" serves at 127.0.0.1:3000, and
 "warder tenant add NAME" makes a token for a client.
END
