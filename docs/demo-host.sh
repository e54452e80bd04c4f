#!/bin/bash
# demo-host.sh WARDER: a host on a free port of loopback, used by E2B's own SDK, or by curl if npm cannot fetch the SDK. Part of demo.sh.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 1
. "$here/tests/sdk/host.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
if ! host_begin "$1" "$work"; then
	echo "the host does not start:"
	cat "$work/host.log"
	exit 1
fi
trap 'host_end; rm -rf "$work"' EXIT

# ask METHOD PATH BODY CURL-ARGUMENT...
ask() {
	local method=$1 path=$2 body=$3
	shift 3
	curl -sS --fail-with-body -m 60 -X "$method" -H "X-API-Key: $host_token" "$@" --data-binary "$body" "$host_url$path"
}

member() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

# The messages of a terminal are frames: a byte of flags, four of length, JSON.
frame() {
	local hex
	hex=$(printf '%08x' "${#1}")
	printf '\0%b%s' "\\x${hex:0:2}\\x${hex:2:2}\\x${hex:4:2}\\x${hex:6:2}" "$1"
}

with_curl() {
	local made id files interpreter code screen
	[ -n "$(command -v curl)" ] || { echo "curl is missing: install Debian's package curl" && return 1; }
	code='class P:\n    def _repr_svg_(self):\n        return \"<svg><polyline points=\\\"0,9 3,0 6,9\\\"/></svg>\"\nP()'
	made=$(ask POST /v2/sandboxes '{"templateID": "base", "timeout": 60}' -H 'Content-Type: application/json') || return
	id=$(member sandboxID <<<"$made")
	echo "create    sandbox $id"
	files=(-H "E2b-Sandbox-Id: $id" -H "X-Access-Token: $(member envdAccessToken <<<"$made")")
	interpreter=(-H "E2b-Sandbox-Id: $id" -H "E2b-Traffic-Access-Token: $(member trafficAccessToken <<<"$made")")
	ask POST /execute "{\"code\": \"$code\"}" "${interpreter[@]}" >"$work/results" || return
	echo "runCode   a plot: $(grep -o '<svg>.*</svg>' "$work/results" | head -c 60)"
	ask POST '/files?path=/tmp/note' 'kept in the sandbox' "${files[@]}" -H 'Content-Type: application/octet-stream' >/dev/null || return
	echo "files     /tmp/note: $(ask GET '/files?path=/tmp/note' '' "${files[@]}")"
	frame '{"process": {"cmd": "/bin/stty", "args": ["size"]}, "pty": {"size": {"rows": 24, "cols": 80}}}' >"$work/start"
	ask POST /process.Process/Start "@$work/start" "${files[@]}" -H 'Content-Type: application/connect+json' >"$work/frames" || return
	screen=$(tr -d '\0' <"$work/frames" | grep -ao '"pty":"[^"]*"' | cut -d '"' -f 4 | base64 -d | tr -d '\r')
	echo "terminal  $screen (rows and columns)"
	ask DELETE "/sandboxes/$id" '' && echo "kill      done" && [ "$screen" = "24 80" ]
}

if packages=$("$here/tests/sdk/fetch.sh" e2b 2>"$work/why"); then
	echo "with E2B's own SDK, unchanged:"
	E2B_API_URL=$host_url E2B_SANDBOX_URL=$host_url E2B_API_KEY=$host_token NODE_PATH=$packages/node_modules node "$here/docs/demo-e2b.cjs"
else
	echo "with curl, because npm cannot fetch E2B's SDK: $(tail -n 1 "$work/why")"
	with_curl
fi
