#!/bin/bash
# fetch.sh NAME: fetch the packages of tests/sdk/NAME/package-lock.json with npm, and print the directory that has them as node_modules.
#
# The packages are kept below $WARDER_SDK_CACHE (~/.cache/warder-sdk), in a directory that the digest of the lock file names. npm compares
# each package with its digest in the lock file, and runs no script of a package. npm decides which registry it asks.
#
# Without npm, without a Node.js that is new enough, or without a network: the reason on standard error, and the exit status 77.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
name=$1
cache=${WARDER_SDK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/warder-sdk}

cannot() {
	echo "$*" >&2
	exit 77
}

# The version of Node.js that package.json wants, as "18" or "20.18.1", and the one that is here.
command -v node >/dev/null || cannot "there is no node"
wanted=$(sed -n 's/.*"node": *">=\([0-9.]*\)".*/\1/p' "$name/package.json")
here=$(node --version) && here=${here#v}
[ "$(printf '%s\n' "$wanted" "$here" | sort -V | head -n 1)" = "$wanted" ] || cannot "Node.js $here is older than $wanted"

directory=$cache/$name-$(sha256sum <"$name/package-lock.json" | cut -c 1-16)
{ mkdir -p "$cache" && [ -O "$cache" ]; } || cannot "$cache cannot be made, or belongs to another user"
{ exec 9>"$cache/lock" && flock 9; } || cannot "$cache cannot be written to"
if [ ! -d "$directory" ]; then
	command -v npm >/dev/null || cannot "there is no npm"
	work=$(mktemp -d "$cache/work.XXXXXX") || cannot "$cache cannot be written to"
	trap 'rm -rf "$work"' EXIT
	cp "$name/package.json" "$name/package-lock.json" "$work/" || cannot "$cache cannot be written to"
	# A registry that does not answer must not keep the tests.
	(cd "$work" && timeout 240 npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=20000) >"$work/log" 2>&1 </dev/null ||
		cannot "npm cannot fetch the packages: $(grep -m 1 -i 'npm err' "$work/log" || tail -n 1 "$work/log")"
	mv "$work" "$directory" || cannot "$cache cannot be written to"
	trap - EXIT
fi
echo "$directory"
