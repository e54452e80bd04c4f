#!/bin/bash
# docker.sh [COMMAND...]: run a command where Debian's Docker is found as if it were installed, or only fetch it. Needs root.
#
# Nothing is installed: to install docker.io starts a daemon on the host. APT downloads the packages and verifies them as always; four
# programs out of them are kept below $WARDER_ENGINES_CACHE (~/.cache/warder-engines), and lie over /usr/local/bin in a mount
# namespace of the command's own. Where an installed Docker has all of them, that one is used.
#
# Where it cannot be had, the command runs all the same, with the reason in WARDER_NO_DOCKER; without a command the exit status is
# 77.
set -u
cache=${WARDER_ENGINES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/warder-engines}
directory=$cache/docker
packages=(docker.io containerd)
programs=(usr/bin/docker usr/sbin/dockerd usr/bin/containerd usr/bin/containerd-shim-runc-v2)
over=/usr/local/bin
# A mirror that does not answer is not to keep the tests.
apt=(timeout 240 apt-get -qq -o APT::Sandbox::User=root -o Acquire::Retries=1 -o Acquire::http::Timeout=20)

why=
work=
cannot() {
	why=$*
	return 1
}

# Where the backend looks.
is_installed() {
	local program place found
	for program in "${programs[@]}"; do
		found=false
		for place in /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin; do
			[ ! -x "$place/${program##*/}" ] || found=true
		done
		$found || return 1
	done
}

download() {
	"${apt[@]}" download "${packages[@]}" >log 2>&1 ||
		{ "${apt[@]}" update && "${apt[@]}" download "${packages[@]}"; } >log 2>&1
}

# unpack: into $directory, in an empty directory that is the current one.
unpack() {
	local package missing
	download || { cannot "${packages[*]} cannot be had by apt-get: $(tail -n 1 log)" || return 1; }
	for package in *.deb; do
		dpkg-deb -x "$package" root || { cannot "$package does not unpack" || return 1; }
	done
	missing=$(cd root && ldd "${programs[@]}" 2>/dev/null | sed -n 's/^[[:space:]]*\(.*\) => not found$/\1/p' | sort -u | tr '\n' ' ')
	[ -z "$missing" ] || { cannot "it needs $missing, which no package here has" || return 1; }
	rm -rf "$directory"
	{ mkdir -p "$directory/bin" && (cd root && cp "${programs[@]}" "$directory/bin/"); } || { cannot "cannot write to $directory" || return 1; }
	for package in *.deb; do
		echo "$(dpkg-deb -f "$package" Package) $(dpkg-deb -f "$package" Version)"
	done >packages && mv packages "$directory/packages"
}

fetch() {
	local ret tool
	[ "$(id -u)" = 0 ] || { cannot "the backend takes no program that is not root's" || return 1; }
	unshare --mount true 2>/dev/null || { cannot "no mount namespaces here" || return 1; }
	for tool in apt-get dpkg-deb; do
		command -v "$tool" >/dev/null || { cannot "there is no $tool here" || return 1; }
	done
	# Nobody else's: what lies there is run as root.
	{ mkdir -p "$cache" && [ -O "$cache" ] && chmod go-w "$cache"; } || { cannot "$cache is not root's" || return 1; }
	exec 9>"$cache/docker.lock" && flock 9
	[ ! -s "$directory/packages" ] || { exec 9>&- && return 0; }
	work=$(mktemp -d "$cache/work.XXXXXX") || { cannot "cannot write to $cache" || return 1; }
	trap 'rm -rf "$work"' EXIT
	pushd "$work" >/dev/null && unpack
	ret=$?
	popd >/dev/null || ret=1
	rm -rf "$work"
	exec 9>&-
	return "$ret"
}

lay_over() {
	mount -t overlay -o "ro,lowerdir=$directory/bin:$over" warder-docker "$over" 2>/dev/null || cannot "no overlay over $over here"
}

if [ "${1:-}" = --inside ]; then
	shift
	lay_over || export WARDER_NO_DOCKER=$why
	exec "$@"
fi
if is_installed; then
	[ $# -gt 0 ] || { echo "docker.sh: it is installed" && exit 0; }
	exec "$@"
fi
if ! fetch; then
	[ $# -gt 0 ] || { echo "docker.sh: no Docker: $why" >&2 && exit 77; }
	WARDER_NO_DOCKER=$why exec "$@"
fi
[ $# -gt 0 ] || { cat "$directory/packages" && exit 0; }
exec unshare --mount --propagation private "${BASH_SOURCE[0]}" --inside "$@"
