#!/bin/bash
# standing.sh FILE COMMAND...: run a command where paths exist that attempts look for and this host does not have, so that the attempts
# succeed outside a jail. To be started in a mount namespace of its own, as root; nothing of the host changes, and all of it goes with the
# command. FILE gets the names of the attempts that found such a stand-in, a line each.
#
# Only for paths that a jail takes from the host's mounts. Its /proc is its own: what stands in for a file of the host's /proc proves nothing.
set -u
made=$1
shift
place=$(mktemp -d) && mount -t tmpfs -o mode=700 tmpfs "$place" || exit 125

fail() {
	echo "standing.sh: $*" >&2
	exit 125
}

# another DIRECTORY: make one with the same entries, which takes its place; its path is in $new until then.
another() {
	local item to
	new=$place/$((++count))
	{ mkdir "$new" && mount -t tmpfs -o mode=755 tmpfs "$new"; } || fail "$1"
	for item in "$1"/*; do
		to=$new/${item##*/}
		if [ -L "$item" ] || [ -b "$item" ] || [ -c "$item" ]; then
			cp -a "$item" "$to" || fail "$item"
		elif [ -d "$item" ]; then
			{ mkdir "$to" && mount --rbind "$item" "$to"; } || fail "$item"
		elif [ -f "$item" ]; then
			{ : >"$to" && mount --bind "$item" "$to"; } || fail "$item"
		fi
	done
}

# stand DIRECTORY ATTEMPT COMMAND...: the command puts something into the new directory, which then is seen in the place of the old one.
stand() {
	local directory=$1 attempt=$2
	shift 2
	[ -d "$directory" ] || return
	another "$directory"
	{ (cd "$new" && "$@") && mount --move "$new" "$directory"; } || fail "$directory"
	echo "$attempt" >>"$made"
}

count=0
: >"$made"
shopt -s nullglob
[ -n "$(ls /boot 2>/dev/null)" ] || stand /boot read-boot touch vmlinuz-stand-in
[ -e /dev/mem ] || stand /dev open-memory-device mknod -m 600 mem c 1 3
[ -e /sys/kernel/uevent_helper ] || stand /sys/kernel write-uevent-helper touch uevent_helper
[ -n "$(ls /sys/kernel/debug 2>/dev/null)" ] || stand /sys/kernel/debug read-tracing touch stand-in
"$@"
status=$?
umount -l "$place"
rmdir "$place"
exit "$status"
