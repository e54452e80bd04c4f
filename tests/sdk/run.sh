#!/bin/bash
# run.sh NAME: clients that other people wrote, and the page in a browser, as TAP. NAME.cjs is the test, NAME/package-lock.json its packages.
#
#   mcp   the official client of the Model Context Protocol calls every tool of `warder mcp` and of a host (Node.js 18 or newer)
#   e2b   the SDKs of E2B use a host of `warder serve --listen` (Node.js 20.18.1 or newer)
#   e2b-VERSION  a pair of these SDKs, by the version of the code interpreter, on a host with a domain and TLS (the same)
#   page  the page of a host in headless Chromium (Node.js 20 or newer, and chromium)
#
# WARDER=build/warder
set -u
LC_ALL=C export LC_ALL
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/lib/tap.sh
. tests/sdk/host.sh
name=$1 test=$1 packages=$1 domain=box.test
case $name in
e2b-2.8.0) test=pair packages=e2b ;;
e2b-*) test=pair ;;
esac
WARDER=$(realpath "${WARDER:-build/warder}") || exit 1
export WARDER

# Root's sessions are below /run/warder. Other suites must not find the sessions of this one, nor end them.
if [ "$(id -u)" = 0 ] && [ -z "${WARDER_TEST_OWN_RUN-}" ]; then
	(umask 077 && mkdir -p /run/warder) && unshare -m true 2>/dev/null &&
		WARDER_TEST_OWN_RUN=yes exec unshare -m sh -c 'mount -t tmpfs -o mode=700 none /run/warder && exec "$@"' - "tests/sdk/run.sh" "$@"
fi

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
if ! packages=$(tests/sdk/fetch.sh "$packages" 2>"$scratch/why"); then
	skip "${name%%-*} with npm: all of it${name#"${name%%-*}"}" "$(tail -n 1 "$scratch/why")"
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
{"version": 1, "templates": {"mcp": {"version": 1, "limits": {"wallTime": "5s", "fileSize": "unlimited"}, "workingDirectory": "/tmp"}},
 "ports": {"base": "any", "code-interpreter-v1": "any"}}
END
flags=(--config "$scratch/settings.json")
if [ "$test" = pair ]; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$domain" -addext "subjectAltName=DNS:$domain,DNS:*.$domain" \
		-keyout "$scratch/key.pem" -out "$scratch/chain.pem" 2>"$scratch/why" || cat "$scratch/why"
	chmod 600 "$scratch/key.pem"
	flags+=(--tls-cert "$scratch/chain.pem" --tls-key "$scratch/key.pem" --domain "$domain")
fi
if ! host_begin "$WARDER" "$scratch" "${flags[@]}"; then
	tap_not_ok "the host starts"
	sed 's/^/# /' "$scratch/host.log"
	tap_end
	exit
fi
export E2B_API_KEY=$host_token
trap 'host_end; rm -rf "$scratch"' EXIT
if [ "$test" = pair ]; then
	# Only the domain tells the SDKs where the host is.
	unset E2B_API_URL E2B_SANDBOX_URL
	OLD_TOKEN=$("$WARDER" tenant add old --old-clients --state "$scratch/state") || exit 1
	export E2B_DOMAIN=$domain:${host_url##*:} OLD_TOKEN PAIR=${name#e2b-} NODE_EXTRA_CA_CERTS=$scratch/chain.pem
	export NODE_OPTIONS="--require=$PWD/tests/sdk/resolve.cjs"
else
	export E2B_API_URL=$host_url E2B_SANDBOX_URL=$host_url WARDER_URL=$host_url WARDER_TOKEN=$host_token
fi
NODE_PATH=$packages/node_modules XDG_RUNTIME_DIR=$scratch/runtime node "tests/sdk/$test.cjs"
