# shellcheck shell=bash
# host.sh: a host of `warder serve --listen` on a free port of loopback, for a script. To be sourced.
#   host_begin WARDER DIRECTORY [FLAG...]   start it, with its state below DIRECTORY; sets host_url and host_token. 1: it does not start, and
#                                 DIRECTORY/host.log says why
#   host_end                      end it, and its sandboxes
host_begin() {
	local warder=$1 directory=$2 i
	shift 2
	host_warder=$warder host_state=$directory/state
	mkdir -m 700 "$directory/state" || return 1
	# shellcheck disable=SC2034 # for the script that sources this
	host_token=$("$warder" tenant add demo --state "$directory/state") || return 1
	"$warder" serve --listen 127.0.0.1:0 --state "$directory/state" "$@" >"$directory/host.out" 2>"$directory/host.log" &
	host_pid=$!
	for ((i = 0; i < 300; i++)); do
		host_url=$(sed -n 's/^ready: //p' "$directory/host.out" 2>/dev/null)
		[ -z "$host_url" ] || return 0
		kill -0 "$host_pid" 2>/dev/null || break
		sleep 0.1
	done
	host_end
	return 1
}

# The sandboxes of a host outlive it, except those of tenants that are revoked.
host_end() {
	local i tenant
	for tenant in $("$host_warder" tenant list --state "$host_state" 2>/dev/null); do
		"$host_warder" tenant revoke "$tenant" --state "$host_state" >/dev/null 2>&1
	done
	for ((i = 0; i < 100; i++)); do
		[ -n "$(ls "$host_state/sandboxes" 2>/dev/null)" ] || break
		kill -0 "$host_pid" 2>/dev/null || break
		sleep 0.1
	done
	kill "$host_pid" 2>/dev/null
	wait "$host_pid" 2>/dev/null
}
