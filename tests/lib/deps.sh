#!/bin/bash
# deps.sh PACKAGE...: install what is missing of these Debian packages. Says nothing and needs no network when nothing is.
set -u
missing=()
for package in "$@"; do
	dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
if ! command -v apt-get >/dev/null; then
	echo "There is no apt-get here. Going on without looking for: ${missing[*]}" >&2
	exit 0
fi
as_root=()
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || { echo "Missing, and to be installed by root: apt-get install ${missing[*]}" >&2; exit 1; }
	as_root=(sudo)
fi
echo "Installing Debian packages: ${missing[*]}" >&2
install() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install "${missing[@]}" </dev/null
}
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
# The lists may be absent or out of date: a second try after fetching them.
install >"$log" 2>&1 || { "${as_root[@]}" apt-get -qq update >>"$log" 2>&1 && install >>"$log" 2>&1; } || {
	tail -n 20 "$log" >&2
	exit 1
}
