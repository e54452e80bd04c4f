#!/bin/bash
# deb.sh BUILD: the Debian packages that `make deb` makes of BUILD, as TAP. They are unpacked, and not installed. Runs a program in the jail: as root.
# With WARDER_SOAK, they are also upgraded from packages that are compiled with OLD_PROTOCOLS, below BUILD/old.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. tests/lib/tap.sh
build=$1
dest=$(mktemp -d) || exit 1
trap 'rm -rf "$dest"' EXIT
libdir=/usr/lib/$(gcc -dumpmachine)
export SOURCE_DATE_EPOCH=1700000000

make() { command make WERROR=-Werror -s BUILD="$build" "$@"; }
package=$build/warder_$(sed -n 's/^VERSION := //p' Makefile)-1_$(dpkg --print-architecture).deb
host=${package/warder_/warder-host_}
build_package() { rm -f "$package" "$host" && make deb && [ -f "$package" ] && [ -f "$host" ]; }
# Without errors, and without warnings, except those that the package overrides, with the reasons.
passes_lintian() { lintian --allow-root --fail-on none --display-info --show-overrides "$package" "$host" >"$dest/lintian" && ! grep '^[EW]: ' "$dest/lintian"; }
# An override that overrides nothing is one too many.
needs_overrides() { grep -q '^O: ' "$dest/lintian" && ! grep -E 'unused-override|mismatched-override|malformed-override' "$dest/lintian"; }
unpack() { dpkg-deb -x "$package" "$dest/root" && dpkg-deb -x "$host" "$dest/host" && dpkg-deb -e "$host" "$dest/control"; }
names() { (cd "$1" && find . -type f -o -type l) | sed 's/\.gz$//' | sort; }
# Debian's own files are the difference, and no other.
same_files() {
	make PREFIX=/usr LIBDIR="$libdir" DESTDIR="$dest/installed" install &&
		[ "$(names "$dest/installed" | wc -l)" -gt 100 ] &&
		diff <({ names "$dest/installed"; printf './usr/share/%s\n' doc/warder/changelog.Debian doc/warder/copyright lintian/overrides/warder; } | sort) \
			<({ names "$dest/root"; names "$dest/host" | grep -v -e /systemd/ -e /etc/ -e warder-host; } | sort)
}
roots_files() { { dpkg-deb -c "$package" && dpkg-deb -c "$host"; } >"$dest/list" && ! grep -v ' root/root ' "$dest/list" && ! find "$dest/root" "$dest/host" \( -perm /022 -o -perm /7000 \) ! -type l | grep .; }
depends() { local field=$1 name && shift && for name; do dpkg-deb -f "$package" "$field" | grep -q "\\b$name\\b" || { echo "no $name"; return 1; }; done; }
runs_jail() { [ "$("$dest/root/usr/bin/warder" run -- echo hello)" = hello ]; }
# The programs beside it are found, too.
finds_others() { WARDER_STORE=$dest/store "$dest/root/usr/bin/warder" image list >/dev/null && "$dest/root/usr/bin/warder" doctor --attack 2>&1 | grep -q 'libexec/warder/warder-attempts'; }
starts_session() { local name=deb$$ && "$dest/root/usr/bin/warder" session start $name && "$dest/root/usr/bin/warder" session exec $name -- true && "$dest/root/usr/bin/warder" session stop $name; }
reads_pages() { zcat "$dest/root/usr/share/man/man1/warder.1.gz" | mandoc | col -b | grep -q 'run untrusted programs' && (cd "$dest/root/usr/share/man" && mandoc man3/warder_wait.3.gz | col -b | grep -q "int warder_wait(struct"); }
same_bytes() { cp "$package" "$dest/first.deb" && cp "$host" "$dest/first-host.deb" && make deb && cmp "$dest/first.deb" "$package" && cmp "$dest/first-host.deb" "$host"; }
host_depends() { dpkg-deb -f "$host" Depends | grep -q "^warder (= .*libmicrohttpd12.*libssl3" && ! dpkg-deb -f "$package" Depends | grep libmicrohttpd; }
# Without the programs of the other package, with its name; with them, the host serves.
serves() {
	local out
	! out=$("$dest/root/usr/bin/warder" serve --listen 127.0.0.1:0 --state "$dest/state" 2>&1) && [[ $out == *warder-* ]] || return 1
	cp -r "$dest/host/usr" "$dest/root/" && "$dest/root/usr/bin/warder" serve --listen 127.0.0.1:0 --state "$dest/state" --config "$dest/host/etc/warder/host.json" --check
}
# Debian policy, 6.8: state goes with a purge, and only with that. The scripts run with paths of their own.
keeps_state() {
	local script
	mkdir -p "$dest/var/lib/warder/host/keys" "$dest/etc/warder"
	for script in prerm postrm; do
		sed "s|/var/lib|$dest/var/lib|g; s|/etc/warder|$dest/etc/warder|g; s|/run/systemd|$dest/run/systemd|g; s|deb-systemd-helper|no-helper|g; s|warder serve --stop-all|$dest/root/usr/bin/warder serve --stop-all --state $dest/var/lib/warder/host|" \
			"$dest/control/$script" >"$dest/$script" || return 1
	done
	chmod 700 "$dest/var/lib/warder/host"
	sh -eu "$dest/prerm" remove && sh -e "$dest/postrm" remove && [ -d "$dest/var/lib/warder/host/keys" ] &&
		sh -e "$dest/postrm" purge && [ ! -e "$dest/var/lib/warder" ] && [ ! -e "$dest/etc/warder" ]
}
keeps_sandboxes() { tests/upgrade.py "$dest/root" "$dest/control" "$package" "$host"; }
# Packages whose programs speak the protocols of the version before: see runtime/session/records.h.
upgrades_older() {
	local older=${package##*/}
	older=$build/old/${older/_*-1_/_0.0.9-1_}
	command make WERROR=-Werror -s -j"$(nproc)" BUILD="$build/old" OLD_PROTOCOLS=1 VERSION=0.0.9 deb &&
		tests/upgrade.py "$dest/older" "$dest/control" "$package" "$host" -- "$older" "${older/warder_/warder-host_}"
}
conffile() { [ "$(cat "$dest/control/conffiles")" = /etc/warder/host.json ]; }

check "make deb" build_package
if command -v lintian >/dev/null; then
	check "lintian finds no error and no warning" passes_lintian
	check "each override is needed" needs_overrides
else
	skip "lintian finds no error and no warning" "lintian is not installed"
	skip "each override is needed" "lintian is not installed"
fi
check "the package can be unpacked" unpack
check "it has the files of make install" same_files
check "all files are root's, and nobody else writes to them" roots_files
check "it names the packages of its libraries" depends Depends libc6 libarchive13 libsqlite3-0 libssl3 libc-ares2 libcurl4
check "the host names its libraries, and its tool of the same version" host_depends
check "its settings are a conffile" conffile
check "the tool runs a jail" runs_jail
check "the tool keeps a session" starts_session
check "the tool finds the programs that it starts" finds_others
check "the manual pages can be read" reads_pages
check "the host needs its package, and then serves" serves
check "an upgrade leaves a sandbox and its program alone, and the new version goes on with both" keeps_sandboxes
[ -z "${WARDER_SOAK-}" ] || check "an upgrade from the version before leaves sandbox, session and programs alone, and migrates the database" upgrades_older
check "a removal keeps the state, and a purge removes it" keeps_state
check "the same tree gives the same bytes" same_bytes
tap_end
