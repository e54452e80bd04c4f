#!/bin/bash
# run.sh NAME: clients that other people wrote, and the page in a browser, as TAP. NAME.cjs is the test, NAME/package-lock.json its packages.
#
#   mcp   the official client of the Model Context Protocol calls every tool of `warder mcp` and of a host (Node.js 18 or newer)
#   e2b   the SDKs of E2B use a host of `warder serve --listen` (Node.js 20.18.1 or newer)
#   page  the page of a host in headless Chromium (Node.js 20 or newer, and chromium)
#
# WARDER=build/warder
set -u
LC_ALL=C export LC_ALL
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/lib/tap.sh
. tests/sdk/host.sh
name=$1
WARDER=$(realpath "${WARDER:-build/warder}") || exit 1
export WARDER

# Root's sessions are below /run/warder. Other suites must not find the sessions of this one, nor end them.
if [ "$(id -u)" = 0 ] && [ -z "${WARDER_TEST_OWN_RUN-}" ]; then
	(umask 077 && mkdir -p /run/warder) && unshare -m true 2>/dev/null &&
		WARDER_TEST_OWN_RUN=yes exec unshare -m sh -c 'mount -t tmpfs -o mode=700 none /run/warder && exec "$@"' - "tests/sdk/run.sh" "$@"
fi

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
if ! packages=$(tests/sdk/fetch.sh "$name" 2>"$scratch/why"); then
	skip "$name with npm: all of it" "$(tail -n 1 "$scratch/why")"
	tap_end
	exit
fi
if [ "$name" = page ] && ! [ -x "${CHROMIUM:-/usr/bin/chromium}" ]; then
	skip "$name in a browser: all of it" "there is no ${CHROMIUM:-/usr/bin/chromium}"
	tap_end
	exit
fi
mkdir -m 700 "$scratch/runtime"
# A template with the limits that the test of the Model Context Protocol gives a session of its own.
cat >"$scratch/settings.json" <<'END'
{"version": 1, "templates": {"mcp": {"version": 1, "limits": {"wallTime": "5s", "fileSize": "unlimited"}, "workingDirectory": "/tmp"}}}
END
if ! host_begin "$WARDER" "$scratch" --config "$scratch/settings.json"; then
	tap_not_ok "the host starts"
	sed 's/^/# /' "$scratch/host.log"
	tap_end
	exit
fi
export E2B_API_URL=$host_url E2B_SANDBOX_URL=$host_url E2B_API_KEY=$host_token WARDER_URL=$host_url WARDER_TOKEN=$host_token
trap 'host_end; rm -rf "$scratch"' EXIT
NODE_PATH=$packages/node_modules XDG_RUNTIME_DIR=$scratch/runtime node "tests/sdk/$name.cjs"
