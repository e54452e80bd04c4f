#!/bin/bash
# deb.sh BUILD: the Debian package that `make deb` makes of BUILD, as TAP. It is unpacked, and not installed. Runs a program in the jail: as root.
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
build_package() { rm -f "$package" && make deb && [ -f "$package" ]; }
# Without errors, and without warnings, except those that the package overrides, with the reasons.
passes_lintian() { lintian --allow-root --fail-on error,warning "$package"; }
# An override that overrides nothing is one too many.
needs_overrides() { ! lintian --allow-root --display-info --show-overrides "$package" 2>&1 | grep -E 'unused-override|mismatched-override|malformed-override'; }
unpack() { dpkg-deb -x "$package" "$dest/root" && dpkg-deb -e "$package" "$dest/control"; }
names() { (cd "$1" && find . -type f -o -type l) | sed 's/\.gz$//' | sort; }
# Debian's own files are the difference, and no other.
same_files() {
	make PREFIX=/usr LIBDIR="$libdir" DESTDIR="$dest/installed" install &&
		[ "$(names "$dest/installed" | wc -l)" -gt 100 ] &&
		diff <({ names "$dest/installed"; printf './usr/share/%s\n' doc/warder/changelog.Debian doc/warder/copyright lintian/overrides/warder; } | sort) <(names "$dest/root")
}
roots_files() { dpkg-deb -c "$package" >"$dest/list" && ! grep -v ' root/root ' "$dest/list" && ! find "$dest/root" \( -perm /022 -o -perm /7000 \) ! -type l | grep .; }
depends() { local field=$1 name && shift && for name; do dpkg-deb -f "$package" "$field" | grep -q "\\b$name\\b" || { echo "no $name"; return 1; }; done; }
runs_jail() { [ "$("$dest/root/usr/bin/warder" run -- echo hello)" = hello ]; }
# The programs beside it are found, too.
finds_others() { WARDER_STORE=$dest/store "$dest/root/usr/bin/warder" image list >/dev/null && "$dest/root/usr/bin/warder" doctor --attack 2>&1 | grep -q 'libexec/warder/warder-attempts'; }
starts_session() { local name=deb$$ && "$dest/root/usr/bin/warder" session start $name && "$dest/root/usr/bin/warder" session exec $name -- true && "$dest/root/usr/bin/warder" session stop $name; }
reads_pages() { zcat "$dest/root/usr/share/man/man1/warder.1.gz" | mandoc | col -b | grep -q 'run untrusted programs' && (cd "$dest/root/usr/share/man" && mandoc man3/warder_wait.3.gz | col -b | grep -q "int warder_wait(struct"); }
same_bytes() { cp "$package" "$dest/first.deb" && make deb && cmp "$dest/first.deb" "$package"; }

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
check "the tool runs a jail" runs_jail
check "the tool keeps a session" starts_session
check "the tool finds the programs that it starts" finds_others
check "the manual pages can be read" reads_pages
check "the same tree gives the same bytes" same_bytes
tap_end
