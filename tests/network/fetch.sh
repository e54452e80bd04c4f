#!/bin/bash
# fetch.sh: what Warder's own commands fetch, in jails that reach one host, as TAP: repositories (warder workspace stage git+https://), and
# images (warder image pull). Root, in namespaces of the test's own (world.sh); the servers are mirrors.py and registry.py.
#
# WARDER=build/warder
set -u
LC_ALL=C export LC_ALL
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/lib/tap.sh
. tests/network/world.sh
warder=$(realpath "${WARDER:-build/warder}") || exit 1
if [ ! -e /etc/ssl/certs/ca-certificates.crt ]; then
	skip fetch "there is no /etc/ssl/certs/ca-certificates.crt"
	tap_end
	exit
fi
world_enter "$@"

# Of the registry, the certificate is also that of the tokens, which are verified by it.
make_certificates() {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$scratch/ca.key" -out "$scratch/ca.pem" -days 2 -subj '/CN=CA of the test' &&
		openssl req -x509 -CA "$scratch/ca.pem" -CAkey "$scratch/ca.key" -newkey rsa:2048 -nodes -keyout "$scratch/key" -out "$scratch/certificate" \
			-days 2 -subj /CN=mirrors -addext basicConstraints=critical,CA:FALSE \
			-addext subjectAltName=DNS:git.test,DNS:plain.test,DNS:registry.test,DNS:auth.test
} 2>/dev/null

begin() {
	mkdir "$scratch/files" "$scratch/registry" "$scratch/store"
	make_certificates && world_begin && cat /etc/ssl/certs/ca-certificates.crt "$scratch/ca.pem" >"$scratch/authorities" &&
		mount --bind "$scratch/authorities" /etc/ssl/certs/ca-certificates.crt &&
		world_serve tests/network/mirrors.py "$world" "$scratch/certificate" "$scratch/key" "$scratch/files"
}

# says PATTERN STATUS WORDS...: the command ends with this status, and its output and messages match.
says() {
	local pattern=$1 status=$2
	shift 2
	timeout 100 "${as[@]}" "$warder" "$@" >"$scratch/said" 2>&1 </dev/null
	[ $? -eq "$status" ] && grep -q -e "$pattern" "$scratch/said" && return
	cat "$scratch/said"
	return 1
}

has() {
	timeout 60 "${as[@]}" "$warder" workspace read job "$1" | grep -qx 'hello from tiny'
}

as=()
if ! begin; then
	tap_not_ok "the servers"
	tap_end
	exit
fi
export WARDER_STORE=$scratch/store
"$warder" workspace create job >"$scratch/said" || cat "$scratch/said"
check "a repository of a server is cloned" says '^work/inputs/tiny.git$' 0 workspace stage job git+https://git.test/tiny.git
check "its files are there" has work/inputs/tiny.git/hello
check "a branch of it" says '^src$' 0 workspace stage job git+https://git.test:443/tiny.git#master --to src --read-only
check "the files of the branch are there" has src/hello
check "a branch that is not there" says 'cannot be cloned: git says .*none' 125 workspace stage job git+https://git.test/tiny.git#none --to none
check "a repository that is not there" says 'cannot be cloned: git says' 125 workspace stage job git+https://git.test/none.git
check "a server that leads elsewhere" says 'cannot be cloned: git says' 125 workspace stage job git+https://plain.test/elsewhere.git
manifest() {
	echo "{\"workspace\": \"made\", \"entries\": [{\"type\": \"git_repo\", \"url\": \"$1\", \"branch\": \"$2\", \"path\": \"src\"}]}" >"$scratch/manifest"
}
manifest https://git.test/tiny.git none
check "a manifest with a branch that is not there" says 'cannot be cloned: git says .*none' 125 workspace provision "$scratch/manifest"
manifest https://git.test/tiny.git master
check "a manifest clones a repository of a server" says '^made ' 0 workspace provision "$scratch/manifest"
check "its file is in the workspace" says '^hello from tiny$' 0 workspace read made src/hello

echo '{"entries": [{"type": "git_repo", "url": "https://git.test/tiny.git", "path": "work/repo"}]}' >"$scratch/manifest"
check "a repository of a manifest" says '^hello from tiny$' 0 workspace drive "$scratch/manifest" -- cat work/repo/hello
sed -i s/git.test/none.test/ "$scratch/manifest"
check "a manifest's repository on an unknown host" says 'cannot be cloned: git says' 125 workspace drive "$scratch/manifest" -- cat work/repo/hello

if [ -z "$(command -v docker-registry)" ] || [ -z "$(command -v skopeo)" ]; then
	skip "image pull" "there is no docker-registry or no skopeo"
	tap_end
	exit
fi
if ! world_serve tests/network/registry.py "$world" "$scratch/certificate" "$scratch/key" "$scratch/registry"; then
	tap_not_ok "the registry"
	cat "$scratch"/registry/*.log
	tap_end
	exit
fi
image=registry.test:5000/tiny:1
check "a host of the registry is missing" says 'failed to pull image '$image': skopeo says .*auth.test' 125 image pull $image
check "an image with a token, of this architecture" says "^$image  " 0 image pull $image --allow auth.test:5443
check "its platform" says "^platform *linux/$(dpkg --print-architecture)" 0 image inspect $image
check "its files" says ": good" 0 image verify $image
check "another name" says '^mine:2  ' 0 image pull $image mine:2 --allow auth.test:5443
manifest=$(nsenter -t "$beyond" -n skopeo inspect --tls-verify=false --raw "docker://$world:5001/tiny:1" | sha256sum | cut -d' ' -f1)
check "an image by its digest" says '^pinned:1  ' 0 image pull "registry.test:5000/tiny@sha256:$manifest" pinned:1 --allow auth.test:5443
check "a digest that no image has" says 'failed to pull image' 125 image pull "registry.test:5000/tiny@sha256:${manifest//[0-7]/8}" none --allow auth.test:5443
ln -s "$scratch/registry/store/docker" "$scratch/files/plain/docker"
check "blobs of a host that nobody named" says 'failed to pull image .*plain.test' 125 image pull registry.test:5002/tiny:1
check "blobs of a host that is named" says '^registry.test:5002/tiny:1  ' 0 image pull registry.test:5002/tiny:1 --allow plain.test:443
check "an image that nobody has" says 'failed to pull image registry.test:5002/none:1' 125 image pull registry.test:5002/none:1
check "no image of a language is fetched when docker.io is out of reach" says 'failed to pull image python:3.12-slim: skopeo says' 125 image ensure python go
"$warder" image pull registry.test:5000/tiny:1 python:3.12-slim --allow auth.test:5443 >/dev/null
check "an image that is there is not fetched" says '^python:3.12-slim  is in the store$' 0 image ensure py
check "the first failure ends it" says 'failed to pull image golang:1.24-alpine' 125 image ensure python go rust
# An ordinary user, with a store of the user's own.
mkdir "$scratch/user"
chown 65534:65534 "$scratch/user"
as=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp WARDER_STORE="$scratch/user")
check "as an ordinary user: a workspace" says "^$scratch/user/" 0 workspace create job
check "as an ordinary user: a repository of a server is cloned" says '^work/inputs/tiny.git$' 0 workspace stage job git+https://git.test/tiny.git
check "as an ordinary user: its files are there" has work/inputs/tiny.git/hello
check "as an ordinary user: a repository that is not there" says 'cannot be cloned: git says' 125 workspace stage job git+https://git.test/none.git
check "as an ordinary user: a host of the registry is missing" says 'failed to pull image '$image': skopeo says .*auth.test' 125 image pull $image
check "as an ordinary user: an image" says "^$image  " 0 image pull $image --allow auth.test:5443
check "as an ordinary user: its files" says ": good" 0 image verify $image
"${as[@]}" "$warder" image pull $image python:3.12-slim --allow auth.test:5443 >/dev/null
check "as an ordinary user: an image that is there is not fetched" says '^python:3.12-slim  is in the store$' 0 image ensure python
check "as an ordinary user: the first failure ends it" says 'failed to pull image golang:1.24-alpine' 125 image ensure python go rust
as=()
# The blobs that are not JSON are layers.
find "$scratch/registry/store" -name data -exec sh -c 'head -c 1 "$1" | grep -q "{" || printf XXXX | dd of="$1" bs=1 seek=30 conv=notrunc status=none' sh {} \;
check "a blob that has not its digest" says "failed to pull image .*[Dd]igest" 125 image pull registry.test:5002/tiny:1 wrong --allow plain.test:443
check "nothing is left in the store" test -z "$(find "$scratch/store/images/layers" -maxdepth 1 -name '.*' ! -name . -print)"
tap_end
