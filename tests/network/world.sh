# shellcheck shell=bash
# world.sh: a host and the rest of the world, for suites of the network. To be sourced, by root.
#   world_enter "$@"      go on in namespaces of the suite's own: this one is the host, with 22.33.44.1. Exits with a skip where it cannot
#   world_begin           beyond a router, the rest of the world: 11.22.33.10, where the host's resolv.conf finds names; $beyond runs in it.
#                         With IPv6, if the kernel has it, as 2606:4700::10; the host is 2606:4700:1::1
#   world_serve FILE...   a server of the world: a program of Python, until the suite ends; returns when it has printed a line
# $scratch is a directory that is removed at the end; $children are processes that are killed then. Nothing of the machine's network is touched.
world=11.22.33.10
world_v6=2606:4700::10
children=()
scratch=

world_enter() {
	local program
	if [ "$(id -u)" -ne 0 ]; then
		skip network "the namespaces of this suite need root"
		tap_end
		exit
	fi
	for program in ip nsenter openssl python3 curl; do
		if [ -z "$(command -v "$program")" ]; then
			skip network "there is no $program"
			tap_end
			exit
		fi
	done
	[ "${1:-}" = inside ] || exec unshare -n -m -- "$0" inside
	# While the keeper of a session does not answer, no workspace of this user can be removed. Sessions of suites beside this one must not count.
	(umask 077 && mkdir -p /run/warder) && mount -t tmpfs -o mode=700 none /run/warder
	for base in "${WARDER_TEST_DIR:-/srv}" /opt /tmp; do
		scratch=$(mktemp -d "$base/warder-network.XXXXXX" 2>/dev/null) && break
	done
	chmod 755 "$scratch"
	trap world_end EXIT
}

world_end() {
	kill "${children[@]}" 2>/dev/null
	rm -rf "$scratch"
}

world_begin() {
	unshare -n sleep 1000 &
	beyond=$!
	children+=("$beyond")
	for _ in $(seq 1200); do
		[ "$(readlink "/proc/$beyond/ns/net")" = "$(readlink /proc/self/ns/net)" ] || break
		sleep 0.05
	done
	ip link set lo up
	ip link add near type veth peer name far netns "$beyond" || return 1
	ip address add 22.33.44.1/30 dev near
	ip link set near up
	nsenter -t "$beyond" -n sh -c "ip link set lo up; ip address add 22.33.44.2/30 dev far; ip link set far up
		ip address add $world/32 dev lo"
	ip route add default via 22.33.44.2
	if [ -e /proc/net/if_inet6 ]; then
		ip address add 2606:4700:1::1/64 dev near nodad
		nsenter -t "$beyond" -n sh -c "ip address add 2606:4700:1::2/64 dev far nodad; ip address add $world_v6/128 dev lo"
		ip route add default via 2606:4700:1::2
	fi
	echo "nameserver $world" >"$scratch/resolv.conf"
	mount --bind "$scratch/resolv.conf" "$(readlink -f /etc/resolv.conf)"
}

world_serve() {
	mkfifo "$scratch/ready" || return 1
	nsenter -t "$beyond" -n python3 "$@" >"$scratch/ready" &
	children+=("$!")
	read -r -t 20 _ <"$scratch/ready" || return 1
	rm "$scratch/ready"
}
