#!/bin/bash
# clients.sh: real clients reach mirrors through an allow-list with exactly the names that they need, and fail with the refused name if one is
# missing, as TAP. Root, in namespaces of the test's own (world.sh); the mirrors are mirrors.py and sshd, with a CA of the test's.
#
# WARDER=build/warder
# shellcheck disable=SC2016 # programs of the jail's shell
set -u
LC_ALL=C export LC_ALL
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/lib/tap.sh
. tests/network/world.sh
warder=$(realpath "${WARDER:-build/warder}") || exit 1
world_enter "$@"

make_certificates() {
	local ca=(-CA "$scratch/share/ca.pem" -CAkey "$scratch/ca.key")
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$scratch/ca.key" -out "$scratch/share/ca.pem" -days 2 -subj '/CN=CA of the test' &&
		openssl req -x509 "${ca[@]}" -newkey rsa:2048 -nodes -keyout "$scratch/key" -out "$scratch/certificate" -days 2 -subj /CN=mirrors \
			-addext basicConstraints=critical,CA:FALSE -addext "subjectAltName=$(printf 'DNS:%s.test,' plain pypi files npm tarballs index crates goproxy apt)DNS:git.test"
} 2>/dev/null

# An sshd of the world, for root, with keys of the test's.
begin_ssh() {
	[ -x /usr/sbin/sshd ] || return 1
	ssh-keygen -q -t ed25519 -N '' -f "$scratch/host_key" && ssh-keygen -q -t ed25519 -N '' -f "$scratch/share/key" || return 1
	# The jail's user owns nothing there; ssh refuses a key that others may read, so the program copies it.
	chmod 644 "$scratch/share/key"
	echo "git.test $(cut -d' ' -f1,2 "$scratch/host_key.pub")" >"$scratch/share/known_hosts"
	printf '%s\n' "HostKey $scratch/host_key" "AuthorizedKeysFile $scratch/share/key.pub" 'StrictModes no' 'UsePAM no' "ListenAddress $world" \
		'PermitRootLogin prohibit-password' "PidFile none" "SetEnv GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=*" >"$scratch/sshd_config"
	mkdir -p /run/sshd
	nsenter -t "$beyond" -n /usr/sbin/sshd -D -f "$scratch/sshd_config" 2>"$scratch/sshd.log" &
	children+=("$!")
	local i
	for ((i = 0; i < 200; i++)); do
		[ -z "$(nsenter -t "$beyond" -n ss -Hltn 'sport = :22')" ] || break
		sleep 0.05
	done
}

begin() {
	mkdir "$scratch/share" "$scratch/files"
	make_certificates && world_begin && world_serve tests/network/mirrors.py "$world" "$scratch/certificate" "$scratch/key" "$scratch/files"
}

# run NAMES COMMAND: the command in a jail that reaches these names alone.
run() {
	local name allow=()
	for name in $1; do
		allow+=(--allow "$name")
	done
	timeout 120 "$warder" run --timeout 100s --memory 1GiB --pids 256 --tmp 512MiB "${allow[@]}" --ro "$scratch/share:/share" -e HOME=/tmp \
		-e PATH=/usr/bin:/bin -e SSL_CERT_FILE=/share/ca.pem -e GIT_SSL_CAINFO=/share/ca.pem -e NODE_EXTRA_CA_CERTS=/share/ca.pem \
		-e CARGO_HTTP_CAINFO=/share/ca.pem -e PIP_CERT=/share/ca.pem \
		-e npm_config_registry=https://npm.test/ -e npm_config_cafile=/share/ca.pem -e npm_config_update_notifier=false --set syscalls.allow=flock -w /tmp -- sh -c "$2" >"$scratch/out" 2>"$scratch/err" </dev/null
}

show() {
	tail -n 15 "$scratch/out" "$scratch/err" | sed 's/^/# /'
	echo "# status $1"
}

# client PROGRAM NAMES COMMAND: it says hello with these names, without a refusal; and fails without the last of them.
client() {
	local name=$1 all=$2 missing=${2##* } status
	if [ -z "$(PATH=/usr/bin:/bin:/usr/sbin command -v "${name%% *}")" ]; then
		skip "$name: all of it" "there is no ${name%% *}"
		return
	fi
	run "$all" "$3"
	status=$?
	if [ "$status" -eq 0 ] && grep -q 'hello from tiny' "$scratch/out" && ! grep -q '^warder:' "$scratch/err"; then
		tap_ok "$name with $all"
	else
		tap_not_ok "$name with $all"
		show "$status"
	fi
	[ "$all" != "$missing" ] && all=${all% *} || all=other.test:443
	run "$all" "$3"
	status=$?
	if [ "$status" -ne 0 ] && ! grep -q 'hello from tiny' "$scratch/out" &&
		grep -q "^warder: refused: ${missing%:*}: network.allow does not list this name" "$scratch/err"; then
		tap_ok "$name without $missing"
	else
		tap_not_ok "$name without $missing"
		show "$status"
	fi
}

if ! begin; then
	tap_not_ok "the mirrors"
	tap_end
	exit
fi
client curl plain.test:443 'curl -sS -m 20 --cacert /share/ca.pem https://plain.test/hello'
client 'python3 -m pip' 'pypi.test:443 files.test:443' 'set -- /usr/share/python-wheels/pip-*.whl; export PYTHONPATH=$1
	python3 -m pip install -q --disable-pip-version-check --retries 0 --no-cache-dir --target /tmp/there --index-url https://pypi.test/simple tiny && PYTHONPATH=/tmp/there python3 -m tiny'
client 'git over https' git.test:443 'git clone -q https://git.test/tiny.git && cat tiny/hello'
if begin_ssh; then
	client 'git over ssh' git.test:22 'cp /share/key key && chmod 600 key && GIT_SSH_COMMAND="ssh -F none -i key -o UserKnownHostsFile=/share/known_hosts" \
		git clone -q "ssh://root@git.test'"$scratch"'/files/git/tiny.git" && cat tiny/hello'
else
	skip 'git over ssh' 'there is no sshd'
fi
client npm 'npm.test:443 tarballs.test:443' 'mkdir p && cd p && npm init -y >/dev/null && npm install --no-audit --no-fund --fetch-retries=0 tiny && node -e "require(\"tiny\")"'
# The sparse protocol is new in the cargo of Debian 12.
client cargo 'index.test:443 crates.test:443' 'export RUSTC_BOOTSTRAP=1; mkdir -p p/src p/.cargo && cd p
	printf "[package]\nname = \"p\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[dependencies]\ntiny = \"1\"\n" >Cargo.toml
	echo "fn main() { println!(\"{}\", tiny::HELLO) }" >src/main.rs
	printf "[source.crates-io]\nreplace-with = \"mirror\"\n[source.mirror]\nregistry = \"sparse+https://index.test/\"\n[net]\nretry = 0\n" >.cargo/config.toml
	cargo -q -Z sparse-registry fetch && cat /tmp/.cargo/registry/src/*/tiny-1.0.0/src/lib.rs'
client go goproxy.test:443 'export GOPROXY=https://goproxy.test GONOSUMDB=* GOFLAGS=-mod=mod; mkdir p && cd p && printf "module p\n" >go.mod &&
	go mod download example.test/tiny@v1.0.0 && cat /tmp/go/pkg/mod/example.test/tiny@v1.0.0/tiny.go'
client apt-get apt.test:443 'mkdir -p a/lists/partial a/archives/partial && echo "deb [trusted=yes] https://apt.test/ ./" >a/sources.list && : >a/status
	set -- -q -o Dir::Etc=/tmp/a -o Dir::State=/tmp/a -o Dir::State::status=/tmp/a/status -o Dir::Cache=/tmp/a -o Acquire::https::CaInfo=/share/ca.pem -o Acquire::Retries=0
	apt-get "$@" -o APT::Update::Error-Mode=any update && apt-get "$@" download tiny && dpkg-deb -f tiny*.deb Description'
client 'node with fetch' plain.test:443 'node -e "fetch(\"https://plain.test/hello\").then(r => r.text()).then(console.log)"'
cat >"$scratch/share/Get.java" <<'END'
import java.net.URI;
import java.net.http.*;

class Get {
	public static void main(String[] words) throws Exception {
		var request = HttpRequest.newBuilder(URI.create(words[0])).build();
		System.out.print(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
	}
}
END
if [ -x /usr/bin/javac ] && javac -d "$scratch/share" "$scratch/share/Get.java" && keytool -importcert -noprompt -alias test -storepass changeit \
	-file "$scratch/share/ca.pem" -keystore "$scratch/share/trust" 2>/dev/null; then
	client 'java with HttpClient' plain.test:443 'java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djavax.net.ssl.trustStore=/share/trust -Djavax.net.ssl.trustStorePassword=changeit -cp /share Get https://plain.test/hello'
else
	skip 'java with HttpClient' 'there is no JDK'
fi
# manifest ALLOWED PIP NPM: print a manifest with these packages; its session may connect only to ALLOWED.
manifest() {
	local names rows
	read -ra names <<<"$1"
	rows=$(printf '{"host": "%s", "ports": [443]},' "${names[@]}")
	cat <<END
{"packages": {"pip": [$2], "npm": [$3]}, "timeout": "100s",
 "policy": {"version": 1, "limits": {"wallTime": "100s", "memory": "1GiB", "pids": 256, "disk": "unlimited"},
	"network": {"mode": "allow", "allow": [${rows%,}]}, "syscalls": {"profile": "default", "allow": ["flock"]},
	"filesystem": {"workspace": "readWrite", "tmp": "512MiB", "paths": {"readOnly": ["$scratch/share:/share"]}},
	"environment": {"set": {"PIP_INDEX_URL": "https://pypi.test/simple", "PIP_CERT": "/share/ca.pem", "PIP_RETRIES": "0",
		"npm_config_registry": "https://npm.test/", "npm_config_cafile": "/share/ca.pem", "npm_config_fetch_retries": "0"}}}}
END
}

drive() {
	manifest "$@" >"$scratch/manifest"
	WARDER_STORE=$scratch/store timeout 120 "$warder" workspace drive "$scratch/manifest" -- \
		sh -c 'python3 -m tiny && node -e "require(\"tiny\")"' >"$scratch/out" 2>"$scratch/err" </dev/null
}

# not_driven TITLE PATTERN: `workspace drive` failed before it started the program, the message matches PATTERN, and no workspace is left.
not_driven() {
	if [ "$status" -eq 125 ] && [ ! -s "$scratch/out" ] && grep -q '^warder: start: ' "$scratch/err" && grep -q "$2" "$scratch/err" &&
		[ -z "$(WARDER_STORE=$scratch/store "$warder" workspace list)" ]; then
		tap_ok "$1"
	else
		tap_not_ok "$1"
		show "$status"
	fi
}

index='pypi.test files.test npm.test tarballs.test'
if PATH=/usr/bin:/bin python3 -m pip --version >/dev/null 2>&1 && [ -x /usr/bin/npm ]; then
	drive "$index" '"tiny==1.0"' '"tiny@1.0.0"'
	status=$?
	if [ "$status" -eq 0 ] && [ "$(grep -c '^hello from tiny$' "$scratch/out")" -eq 2 ] && ! grep -q '^warder:' "$scratch/err"; then
		tap_ok 'a manifest installs packages from indexes that its policy allows'
	else
		tap_not_ok 'a manifest installs packages from indexes that its policy allows'
		show "$status"
	fi
	drive "$index" '"absent"' ''
	status=$?
	not_driven 'a package of pip that the index lacks' 'No matching distribution found for absent'
	drive "$index" '"tiny"' '"absent"'
	status=$?
	not_driven 'a package of npm that the index lacks' '404 .* - GET https://npm.test/absent'
	drive "${index/files.test/}" '"tiny"' ''
	status=$?
	not_driven 'a manifest whose policy lacks the host of the files' 'refused: files.test: network.allow does not list this name'
else
	skip 'packages of a manifest' 'there is no pip or npm'
fi
tap_end
