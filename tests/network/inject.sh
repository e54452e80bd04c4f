#!/bin/bash
# inject.sh: credentials that the edge puts into requests, as TAP. Root, in namespaces of the test's own, as in run.sh; beyond the router is a
# host that takes a credential (credentials.py). The host's file of authorities is one of the test's.
#
# WARDER=build/warder
# shellcheck disable=SC2016 # programs of the jail's shell
set -u
LC_ALL=C export LC_ALL
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/lib/tap.sh
warder=$(realpath "${WARDER:-build/warder}") || exit 1
world=11.22.33.10

if [ "$(id -u)" -ne 0 ]; then
	skip inject "the namespaces of this suite need root"
	tap_end
	exit
fi
for program in ip nsenter openssl python3 curl; do
	if [ -z "$(command -v "$program")" ]; then
		skip inject "there is no $program"
		tap_end
		exit
	fi
done
if [ ! -e /etc/ssl/certs/ca-certificates.crt ]; then
	skip inject "there is no /etc/ssl/certs/ca-certificates.crt"
	tap_end
	exit
fi
[ "${1:-}" = inside ] || exec unshare -n -m -- "$0" inside

for base in "${WARDER_TEST_DIR:-/srv}" /opt /tmp; do
	scratch=$(mktemp -d "$base/warder-inject.XXXXXX" 2>/dev/null) && break
done
chmod 755 "$scratch"
children=()
cleanup() {
	kill "${children[@]}" 2>/dev/null
	rm -rf "$scratch"
}
trap cleanup EXIT
marker="marker-$(openssl rand -hex 12)"
digest=$(printf 'Bearer %s' "$marker" | sha256sum | cut -c1-16)

# certificate NAME AUTHORITY EXTENSION
certificate() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$scratch/$1.key" -out "$scratch/$1.csr" -subj "/CN=$1" 2>/dev/null &&
		openssl x509 -req -in "$scratch/$1.csr" -CA "$scratch/$2.pem" -CAkey "$scratch/$2.key" -CAcreateserial -days 2 -out "$scratch/$1.pem" \
			-extfile <(echo "$3") 2>/dev/null
}

begin() {
	unshare -n sleep 1000 &
	children+=("$!")
	local beyond=$!
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
	for authority in known unknown twin; do
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$scratch/$authority.key" -out "$scratch/$authority.pem" \
			-days 2 -subj "/CN=${authority/twin/known}" 2>/dev/null || return 1
	done
	certificate good known subjectAltName=DNS:api.test,DNS:other.test && certificate name known subjectAltName=DNS:elsewhere.test &&
		certificate stranger unknown subjectAltName=DNS:stranger.test &&
		certificate middle known basicConstraints=critical,CA:TRUE && certificate sent middle subjectAltName=DNS:sent.test &&
		certificate listed known basicConstraints=critical,CA:TRUE && certificate alone listed subjectAltName=DNS:alone.test || return 1
	cat "$scratch/middle.pem" >>"$scratch/sent.pem"
	mkfifo "$scratch/ready"
	nsenter -t "$beyond" -n python3 tests/network/credentials.py "$world" "$scratch" >"$scratch/ready" &
	children+=("$!")
	read -r -t 20 _ <"$scratch/ready" || return 1
	echo "nameserver $world" >"$scratch/resolv.conf"
	mount --bind "$scratch/resolv.conf" "$(readlink -f /etc/resolv.conf)" || return 1
	cat /etc/ssl/certs/ca-certificates.crt "$scratch/twin.pem" "$scratch/listed.pem" "$scratch/known.pem" >"$scratch/authorities"
	mount --bind "$scratch/authorities" /etc/ssl/certs/ca-certificates.crt || return 1
	(umask 077 && echo "$marker" >"$scratch/secret")
}

# A client in Java, as the bytes of its class in base64; empty, with the reason in $no_java, if there is no JDK.
java_client() {
	local directory=$scratch/java
	no_java=
	if [ ! -x /usr/bin/javac ]; then
		no_java="there is no JDK"
	elif [ ! -f /etc/ssl/certs/java/cacerts ]; then
		no_java="there is no /etc/ssl/certs/java/cacerts"
	fi
	[ -z "$no_java" ] || return
	mkdir "$directory"
	cat >"$directory/Get.java" <<-'END'
		import java.net.URI;
		import java.net.http.*;

		class Get {
			public static void main(String[] words) throws Exception {
				var request = HttpRequest.newBuilder(URI.create(words[0])).build();
				System.out.print(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
			}
		}
	END
	javac -d "$directory" "$directory/Get.java" && java_class=$(base64 -w 0 "$directory/Get.class")
}

# java_passes: HttpClient gets the credential, because the default store of Java has the authority of the run.
java_passes() {
	# An ordinary user's limit of memory counts what Java reserves, and malloc for each thread that meets another one in it.
	local small=(-Xmx64m -XX:CompressedClassSpaceSize=16m -XX:ReservedCodeCacheSize=16m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData)
	local get='echo "$0" | base64 -d >/tmp/Get.class; MALLOC_ARENA_MAX=1 java '"${small[*]}"' -cp /tmp Get "$1"'
	if [ -n "$no_java" ]; then
		skip "${label}Java's HttpClient" "$no_java"
		return
	fi
	passes "Java's HttpClient" "^api.test GET /java auth=$digest" sh -c "$get" "$java_class" https://api.test/java
}

# policy FILE ROW...: a document with these rows of network.allow.
policy() {
	local file=$1 rows
	shift
	rows=$(printf ',%s' "$@")
	echo '{"version": 1, "limits": {"wallTime": "60s"}'"$members"', "network": {"mode": "allow", "allow": ['"${rows#,}"']}}' >"$file"
}

# row HOST PORTS MORE...: one with the credential, and more members of inject.
row() {
	local host=$1 ports=$2
	shift 2
	echo '{"host": "'"$host"'", "ports": ['"$ports"'], "inject": {"header": "Authorization", "secretFile": "'"$scratch/secret"'", "format": "Bearer {}"'"$*"'}}'
}

run() {
	timeout 60 "${as[@]}" "$warder" run --ceiling "$scratch/ceiling.json" --policy "$scratch/policy.json" "$@" >"$scratch/out" 2>"$scratch/err"
}

show() {
	sed 's/^/# /' "$scratch/out" "$scratch/err" | cut -c1-300
	echo "# status $1"
}

# passes NAME PATTERN PROGRAM...: it ends with 0, its output is so, and nothing was refused.
passes() {
	local name=$1 pattern=$2 status
	shift 2
	run "${more[@]}" -- "$@"
	status=$?
	if [ "$status" -eq 0 ] && grep -qE "$pattern" "$scratch/out" && ! grep -q '^warder:' "$scratch/err" && ! grep -qF "$marker" "$scratch/out" "$scratch/err"; then
		tap_ok "$label$name"
	else
		tap_not_ok "$label$name"
		show "$status"
	fi
}

# refused NAME LINE PROGRAM...: a line of warder's begins so, and the secret is not in the output.
refused() {
	local name=$1 line=$2 status
	shift 2
	run "${more[@]}" -- "$@"
	status=$?
	if [ "$status" -ne 0 ] && grep -qF "warder: refused: $line" "$scratch/err" && ! grep -qF "$marker" "$scratch/out" "$scratch/err"; then
		tap_ok "$label$name"
	else
		tap_not_ok "$label$name"
		show "$status"
	fi
}

# unstarted NAME LINE: warder refuses before anything starts, with a line like this.
unstarted() {
	local name=$1 line=$2 status
	run "${more[@]}" -- true
	status=$?
	if [ "$status" -eq 125 ] && grep -qE "$line" "$scratch/err"; then
		tap_ok "$label$name"
	else
		tap_not_ok "$label$name"
		show "$status"
	fi
}

as=()
more=()
members='' # of every document
label=''
get=(curl -sS -m 10)
if ! begin; then
	tap_not_ok "the namespaces of the test"
	tap_end
	exit
fi
policy "$scratch/ceiling.json" "$(row api.test 443,80)" "$(row name.test 443)" "$(row stranger.test 443)" "$(row sent.test 443)" "$(row alone.test 443)" '{"host": "other.test", "ports": [443]}'
cp "$scratch/ceiling.json" "$scratch/policy.json"
java_client
py_raw='import socket, ssl, sys
def connect(alpn=None):
    c = ssl.create_default_context()
    if alpn: c.set_alpn_protocols(alpn)
    return c.wrap_socket(socket.create_connection(("api.test", 443), 10), server_hostname="api.test", suppress_ragged_eofs=False)
def ask(text, s=None):
    s = s or connect()
    s.sendall(text.encode())
    got = b""
    try:
        while data := s.recv(65536): got += data
    except OSError as e:
        sys.exit(f"{got.decode()} then {e}")
    return got.decode()
def request(s):
    s.sendall(b"GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
    got = b""
    while b"auth=" not in got and (data := s.recv(65536)): got += data
    return got
'
passes "curl, with the header" "^api.test GET /there auth=$digest Accept-Encoding=identity\$" "${get[@]}" https://api.test/there
passes "a header of the program's of that name is replaced" "^api.test GET / auth=$digest " "${get[@]}" -H 'authorization: mine' -H 'AUTHORIZATION: mine too' https://api.test/
passes "another header of the program's stays" "X-Test=kept" "${get[@]}" -H 'X-Test: kept' https://api.test/
passes "Python's urllib" "^b.api.test GET /py auth=$digest" python3 -c 'import urllib.request; print(urllib.request.urlopen("https://api.test/py", timeout=10).read())'
java_passes
if [ -z "$no_java" ]; then
	# With the password, keytool checks the digest of the store.
	passes "Java's store has each authority of the file" '^0$' sh -c 'keytool -list -cacerts -storepass changeit >/tmp/list; grep -q trustedCertEntry /tmp/list
		echo $(($(grep -c trustedCertEntry /tmp/list) - $(grep -c BEGIN /etc/ssl/certs/ca-certificates.crt)))'
fi
passes "two requests over one connection" "^api.test GET /2 auth=$digest" "${get[@]}" https://api.test/1 https://api.test/2
passes "HEAD, and a request after it" "^api.test GET /2 auth=$digest" python3 -c "$py_raw"'print(ask("HEAD / HTTP/1.1\r\nHost: api.test\r\n\r\nGET /2 HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n"))'
passes "requests that are sent ahead" "^api.test GET /3 auth=$digest" python3 -c "$py_raw"'got = ask("".join(f"GET /{i} HTTP/1.1\r\nHost: api.test\r\n{c}\r\n" for i, c in ((1, ""), (2, ""), (3, "Connection: close\r\n")))); assert [i in got for i in ("GET /1 auth='"$digest"'", "GET /2 auth='"$digest"'")] == [True, True]; print(got)'
passes "an upload of 3 MB" '^3000000 bytes$' sh -c 'head -c 3000000 /dev/zero | curl -sS -m 20 -T - -X POST -H "Expect:" https://api.test/up'
passes "an upload that waits for 100 Continue" '^2000000 bytes$' sh -c 'head -c 2000000 /dev/zero >/tmp/b; curl -sS -m 20 --data-binary @/tmp/b -H "Expect: 100-continue" https://api.test/up'
passes "20 MB down" '^20000000$' sh -c 'curl -sS -m 30 https://api.test/large | wc -c'
passes "chunks" '^14500$' sh -c 'curl -sS -m 20 https://api.test/chunks | wc -c' # 50 * (10 * 2 + 90 * 3)
passes "an answer up to the end of the connection" '^until the end$' "${get[@]}" https://api.test/close
passes "an answer that ends as the secret begins" '^ends with marker$' sh -c 'curl -sS -m 10 https://api.test/prefix https://api.test/ | sed s/api.*//'
passes "what would hide it in an answer is not asked for" "auth=$digest Accept-Encoding=identity\$" "${get[@]}" -H 'Range: bytes=0-3' -H 'Accept-Encoding: gzip' https://api.test/
passes "another host gets nothing, also after a redirect" '^other.test GET /there auth=none$' "${get[@]}" -k -L https://api.test/redirect
passes "another host is not intercepted" "issuer: CN=known" sh -c 'curl -sv -m 10 -o /dev/null https://other.test/ 2>&1 | tr -d "*"'
passes "TLS 1.2" "auth=$digest" "${get[@]}" --tls-max 1.2 https://api.test/
passes "HTTP/2 is not spoken" "^HTTP/1.1 200" "${get[@]}" --http2 -o /dev/null -D - https://api.test/

# The host's file has two authorities of the name "known", and first the one that signed nothing.
passes "an authority between, which the server sends" "^sent.test GET / auth=$digest" "${get[@]}" https://sent.test/
passes "an authority between, which the host's file has" "^alone.test GET / auth=$digest" "${get[@]}" https://alone.test/

refused "HTTP without TLS" "api.test:80: a host with a credential takes only TLS" "${get[@]}" http://api.test/
refused "HTTP/2 alone" "api.test:443: the program's TLS" python3 -c "$py_raw"'connect(["h2"])'
refused "TRACE" "api.test:443: a method that" "${get[@]}" -X TRACE https://api.test/
refused "CONNECT" "api.test:443: the HTTP method CONNECT" python3 -c "$py_raw"'ask("CONNECT api.test:443 HTTP/1.1\r\nHost: api.test\r\n\r\n")'
refused "two Host headers" "api.test:443: an HTTP request that" python3 -c "$py_raw"'ask("GET / HTTP/1.1\r\nHost: api.test\r\nHost: evil.test\r\n\r\n")'
refused "another Host" "api.test:443: the first bytes name another host: evil.test" "${get[@]}" -H 'Host: evil.test' https://api.test/
refused "an absolute target" "api.test:443: a path that" python3 -c "$py_raw"'ask("GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n")'
refused "an absolute target of another host" "api.test:443: the first bytes name another host: evil.test" python3 -c "$py_raw"'ask("GET http://evil.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n")'
refused "a request inside a body of two lengths" "api.test:443: an HTTP request that" python3 -c "$py_raw"'ask("POST / HTTP/1.1\r\nHost: api.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")'
refused "a bad request behind a good one" "api.test:443: a method that" python3 -c "$py_raw"'ask("GET / HTTP/1.1\r\nHost: api.test\r\n\r\nTRACE / HTTP/1.1\r\nHost: api.test\r\n\r\n")'
refused "an upgrade" "api.test:443: an HTTP request that" "${get[@]}" -H 'Connection: Upgrade' -H 'Upgrade: websocket' https://api.test/
refused "an answer with the secret" "api.test:443: the answer contains the credential" "${get[@]}" https://api.test/echo
refused "a header with the secret" "api.test:443: the answer contains the credential" "${get[@]}" https://api.test/echo-header
refused "the secret in two packets" "api.test:443: the answer contains the credential" "${get[@]}" https://api.test/echo-split
refused "the secret in two chunks" "api.test:443: the answer contains the credential" "${get[@]}" https://api.test/echo-chunks
refused "the secret byte by byte" "api.test:443: the answer contains the credential" "${get[@]}" https://api.test/echo-bytes
refused "an answer of two lengths" "api.test:443: an answer that is not well formed" "${get[@]}" https://api.test/broken
refused "a certificate of another name" "name.test:443: the server's TLS or its certificate is not accepted: hostname-mismatch" "${get[@]}" https://name.test/
refused "a certificate of an unknown authority" "stranger.test:443: the server's TLS or its certificate is not accepted: unable" "${get[@]}" https://stranger.test/
refused "a program that knows other authorities" "api.test:443: the program's TLS" python3 -c 'import socket, ssl; ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).wrap_socket(socket.create_connection(("api.test", 443)), server_hostname="api.test")'
refused "a program that asks for another name" "api.test:443: the first bytes name another host: other.test" "${get[@]}" --connect-to other.test:443:api.test:443 https://other.test/

# ---- methods and paths ----
policy "$scratch/policy.json" "$(row api.test 443 ', "methods": ["GET", "POST"], "paths": ["/repos/me/", "/user"]')"
passes "a path below one of the rule's" "GET /repos/me/x auth=$digest" "${get[@]}" https://api.test/repos/me/x
passes "a path of the rule's, with a query" "GET /user.a=../.. auth=$digest" "${get[@]}" 'https://api.test/user?a=../..'
passes "an encoded letter" "auth=$digest" "${get[@]}" 'https://api.test/%72epos/me/'
passes "another path gets nothing" "^api.test GET /users auth=none\$" "${get[@]}" https://api.test/users
passes "nor the program's own" "^api.test GET /repos/you auth=none\$" "${get[@]}" -H 'Authorization: mine' https://api.test/repos/you
passes "another method gets nothing" "^api.test DELETE /user auth=none\$" "${get[@]}" -X DELETE https://api.test/user
for path in /repos/me/../you /repos/me/%2e%2e/you /repos/me/.%2E/you /repos/me/..%2fyou /repos/me/..%5cyou '/repos/me/..\you' //repos/me/x /repos//me/x '/repos/me/..;a=b/you' /repos/me/%252e%252e/you /repos/me/./x /repos/me/%00 /repos/me/% '/repos/me/x%3f' '/repos/me/%zz'; do
	refused "the path $path" "api.test:443: a path that can be read in two ways" python3 -c "$py_raw"'ask("GET " + sys.argv[1] + " HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")' "$path"
done

# ---- what the ceiling grants ----
rejects() {
	local name=$1 line=$2
	shift 2
	policy "$scratch/policy.json" "$@"
	unstarted "$name" "$line"
}
rejects "a host without a credential in the ceiling" 'network.allow\[0\].inject: no row of the ceiling' "$(row other.test 443)"
rejects "another file" 'network.allow\[0\].inject: no row of the ceiling' "$(row api.test 443 | sed 's,secret",other",')"
rejects "another header" 'network.allow\[0\].inject: no row of the ceiling' "$(row api.test 443 | sed 's/Authorization/X-Api-Key/')"
rejects "another format" 'network.allow\[0\].inject: no row of the ceiling' "$(row api.test 443 | sed 's/Bearer/Basic/')"
rejects "another port" 'network.allow\[1\]' '{"host": "other.test", "ports": [443]}' "$(row api.test 8443)"
policy "$scratch/policy.json" "$(row api.test 443)"
mv "$scratch/ceiling.json" "$scratch/wide.json"
policy "$scratch/ceiling.json" "$(row api.test 443 ', "paths": ["/a/"]')"
unstarted "more paths" 'network.allow\[0\].inject: no row of the ceiling'
policy "$scratch/policy.json" "$(row api.test 443 ', "paths": ["/a/b"]')"
passes "fewer paths" "GET /a/b auth=$digest" "${get[@]}" https://api.test/a/b
mv "$scratch/wide.json" "$scratch/ceiling.json"
policy "$scratch/policy.json" "$(row api.test 443)"
no_ceiling() {
	! "$warder" run --policy "$scratch/policy.json" -- true 2>"$scratch/err" && grep -F 'network.allow[0].inject: only a ceiling grants a credential' "$scratch/err"
}
check "no ceiling" no_ceiling

# ---- room for the authorities ----
no_room() {
	"$warder" run --policy "$scratch/policy.json" --ceiling "$scratch/ceiling.json" "$@" -- true 2>"$scratch/err"
	[ $? -eq 125 ] && grep -E "^warder: $*: (filesystem.tmp|limits.disk): 64KiB is too little: with inject, .* authorities .*; give at least [0-9]+KiB$" "$scratch/err" && return
	cat "$scratch/err"
	return 1
}
least_room() {
	local least
	least=$(sed -n 's/.*give at least //p' "$scratch/err")
	"$warder" run --policy "$scratch/policy.json" --ceiling "$scratch/ceiling.json" --tmp "$least" -- true
}
check "a /tmp without room for the authorities" no_room --tmp 64KiB
check "a disk limit without room for the authorities" no_room --set limits.disk=64KiB
check "the least room that the refusal names" least_room

# ---- the file of the secret ----
secret_is() {
	printf %b "$1" >"$scratch/secret"
}
mv "$scratch/secret" "$scratch/kept"
unstarted "no file" 'network.allow\[0\].inject.secretFile: cannot read .*: No such file'
mkdir "$scratch/secret"
unstarted "a directory" 'network.allow\[0\].inject.secretFile: .* is neither a file nor a pipe'
rmdir "$scratch/secret"
(umask 077 && : >"$scratch/secret")
unstarted "an empty file" 'network.allow\[0\].inject.secretFile: .* has 0 bytes'
secret_is '\n'
unstarted "an empty line" 'network.allow\[0\].inject.secretFile: the file is empty'
secret_is 'two\nlines-of-it\n'
unstarted "two lines" 'network.allow\[0\].inject.secretFile: the file has more than one line'
secret_is 'marker\twith-a-tab'
unstarted "a tab" 'network.allow\[0\].inject.secretFile: the secret has a character'
secret_is 'short'
unstarted "a short secret" 'network.allow\[0\].inject.secretFile: the secret has less than 8 bytes'
printf %05000d 0 >"$scratch/secret"
unstarted "a long secret" 'network.allow\[0\].inject.secretFile: .* has 5000 bytes'
rm "$scratch/secret"
mv "$scratch/kept" "$scratch/secret"
chmod 644 "$scratch/secret"
unstarted "a file that everybody may read" 'network.allow\[0\].inject.secretFile: other users have access to'
chmod 600 "$scratch/secret"
more=(--ro "$scratch")
cp "$scratch/ceiling.json" "$scratch/kept"
sed -i 's,"network",("filesystem": {"paths": {"readOnly": ["'"$scratch"'"]}}\, "network",;s/(//' "$scratch/ceiling.json"
unstarted "a file that the program sees" 'network.allow\[0\].inject.secretFile: the program sees'
mv "$scratch/kept" "$scratch/ceiling.json"
more=()
# Of a descriptor, the path is in both documents.
by_descriptor() {
	sed "s,$scratch/secret,/dev/fd/$1," "$scratch/kept" >"$scratch/ceiling.json"
	cp "$scratch/ceiling.json" "$scratch/policy.json"
}
own_descriptors() {
	local n found=1
	for n in $(seq 3 14); do
		by_descriptor "$n"
		run -- true && return 1
		! grep -q "secretFile: /dev/fd/$n is closed on exec" "$scratch/err" || found=0
	done
	return "$found"
}
cp "$scratch/ceiling.json" "$scratch/kept"
cp "$scratch/policy.json" "$scratch/kept-policy"
check "no descriptor of Warder's own" own_descriptors
by_descriptor 40
exec 40<"$scratch/secret"
passes "a descriptor that is passed" "auth=$digest" "${get[@]}" https://api.test/
exec 40<&-
mv "$scratch/kept" "$scratch/ceiling.json"
mv "$scratch/kept-policy" "$scratch/policy.json"
printf '%s\r\n' "$marker" >"$scratch/secret"
passes "a file with the end of a line of Windows" "auth=$digest" "${get[@]}" https://api.test/

# ---- where the secret is not ----
echo "$marker" >"$scratch/secret"
cp "$scratch/ceiling.json" "$scratch/policy.json"
# Without the marker among the arguments: it is given backwards.
search='import os, stat, sys
marker = sys.argv[1][::-1].encode()
found, seen = [], 0
def look(path):
    global seen
    try:
        if not stat.S_ISREG(os.stat(path).st_mode): return
        with open(path, "rb") as f:
            seen += 1
            if marker in f.read(1 << 22): found.append(path)
    except OSError:
        pass
for top, directories, files in os.walk("/"):
    if top == "/":
        directories[:] = [d for d in directories if d not in ("usr", "proc", "sys")]
    for name in files: look(os.path.join(top, name))
for pid in [p for p in os.listdir("/proc") if p.isdigit()] + ["self"]:
    for name in ("environ", "cmdline", "maps", "mountinfo", "net/tcp", "net/unix"): look(f"/proc/{pid}/{name}")
import subprocess
out = subprocess.run(["curl", "-sS", "-m", "10", "https://api.test/"], capture_output=True, text=True)
print(out.stdout, out.stderr, found, seen)
sys.exit(bool(found) or seen < 20 or "auth='"$digest"'" not in out.stdout)'

secret_is_nowhere() {
	local pid run good=0
	mkfifo "$scratch/hold" && exec 8<>"$scratch/hold"
	"$warder" run --ceiling "$scratch/ceiling.json" --policy "$scratch/policy.json" --receipt "$scratch/receipt" --json -- \
		sh -c 'python3 -c "$0" "$1" && read go' "$search" "$(echo "$marker" | rev)" <&8 >"$scratch/out" 2>"$scratch/err" &
	run=$!
	for _ in $(seq 1200); do
		pid=$(pgrep -P "$run" -x warder-edge) && break
		sleep 0.05
	done
	sleep 1.5
	grep -aF "$marker" "/proc/$pid/environ" "/proc/$pid/cmdline" "/proc/$run/environ" "/proc/$run/cmdline" && good=1
	awk '/^Max core file size/ { if ($5 != 0 || $6 != 0) exit 1 }' "/proc/$pid/limits" || good=1
	# Nobody but root may look into it, also not its own user.
	[ "$(stat -c %u "/proc/$pid/environ")" = 0 ] || good=1
	setpriv --reuid="$(awk '$1 == "Uid:" { print $2 }' "/proc/$pid/status")" --regid=65534 --clear-groups cat "/proc/$pid/mem" 2>&1 | grep -q 'Permission denied' || good=1
	# The supervisor opens the file, and does not read it.
	python3 -c 'import sys
marker = sys.argv[2].encode()
pid = sys.argv[1]
with open(f"/proc/{pid}/mem", "rb") as mem:
    for line in open(f"/proc/{pid}/maps"):
        low, high = (int(x, 16) for x in line.split()[0].split("-"))
        if line.split()[1][0] != "r" or "[v" in line: continue
        mem.seek(low)
        try: data = mem.read(high - low)
        except OSError: continue
        if marker in data: sys.exit(f"in {line}")' "$run" "$marker" || good=1
	echo >&8
	exec 8>&-
	wait "$run" || good=1
	python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(r["status"], r.get("cause"), r["stdout"], r["stderr"]); sys.exit(r["exitCode"])' "$scratch/out" || good=1
	grep -F "$marker" "$scratch/out" "$scratch/err" "$scratch/receipt" && good=1
	grep -F "$(echo "$marker" | rev)" "$scratch/receipt" && good=1
	return "$good"
}
check "the secret is in no file, process, result or receipt" secret_is_nowhere

receipt_names_it() {
	"$warder" run --ceiling "$scratch/ceiling.json" --policy "$scratch/policy.json" --json -- true | python3 -c '
import json, sys
row = [c for c in json.load(sys.stdin)["receipt"]["controls"] if c["control"] == "network.allow.inject"][0]
print(row)
assert row["status"] == "enforced" and "network.allow[0] api.test: Authorization" in row["value"], row'
}
check "the receipt names rule and header" receipt_names_it
check "explain does" bash -c '"$0" explain --ceiling "$1/ceiling.json" "$1/policy.json" | tee /dev/stderr | grep -q "network.allow\[0\] api.test: Authorization"' "$warder" "$scratch"

others_refuse() {
	local backend good=0
	for backend in wasm builtin process; do
		"$warder" explain --backend "$backend" --ceiling "$scratch/ceiling.json" "$scratch/policy.json" >"$scratch/out" 2>&1 && good=1
		grep -E "network" "$scratch/out" | head -4
	done
	return "$good"
}
check "other backends refuse" others_refuse
for backend in crun runc podman docker; do
	label="$backend: "
	[[ " ${WARDER_WITHOUT:-} " != *" $backend "* ]] || continue
	more=(--backend "$backend")
	if ! "$warder" run "${more[@]}" -- true 2>"$scratch/err"; then
		skip "${label}all of it" "$(head -n 1 "$scratch/err")"
		continue
	fi
	passes "curl, with the header" "^api.test GET /there auth=$digest Accept-Encoding=identity\$" "${get[@]}" https://api.test/there
	passes "another host is not intercepted" "issuer: CN=known" sh -c 'curl -sv -m 10 -o /dev/null https://other.test/ 2>&1 | tr -d "*"'
	java_passes
done
label=''
more=()

session_has_it() {
	local status=0
	"$warder" session start inject --ceiling "$scratch/ceiling.json" --policy "$scratch/policy.json" >/dev/null || return 1
	"$warder" session exec inject --ceiling "$scratch/ceiling.json" -- curl -sS -m 10 https://api.test/ >"$scratch/out" || status=1
	cat "$scratch/out"
	grep -q "auth=$digest" "$scratch/out" || status=1
	"$warder" session stop inject || status=1
	return "$status"
}
check "a session" session_has_it

many_at_once() {
	"$warder" run --ceiling "$scratch/ceiling.json" --policy "$scratch/policy.json" -- python3 -c '
import asyncio, ssl, sys
async def one():
    r, w = await asyncio.open_connection("api.test", 443, ssl=ssl.create_default_context())
    w.write(b"GET / HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")
    data = await r.read()
    w.close()
    return sys.argv[1].encode() in data
async def main():
    got = await asyncio.gather(*[one() for _ in range(100)])
    assert all(got), got
asyncio.run(main())' "$digest"
}
check "100 connections at once" many_at_once

# beside PROGRAM SCRIPT: PROGRAM runs in a jail; when it has printed a line, SCRIPT looks at its edge, and it goes on when it gets a line. SCRIPT has
# `edge`, and goon(), which returns its status, output and Warder's lines. Both are of Python.
beside() {
	python3 -c '
import os, signal, subprocess, sys
p = subprocess.Popen([sys.argv[1], "run", "--timeout", "60s", "--ceiling", sys.argv[2], "--policy", sys.argv[3], "--", "python3", "-c", sys.argv[4]],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
def goon():
    out, err = p.communicate("go\n", timeout=90)
    print(p.returncode, out, err)
    return p.returncode, out, err
first = p.stdout.readline()
if first != "up\n":
    sys.exit(f"it printed {first!r}: {goon()}")
edge, = [int(pid) for pid in open(f"/proc/{p.pid}/task/{p.pid}/children").read().split() if open(f"/proc/{pid}/comm").read() == "warder-edge\n"]
exec(sys.argv[5])' "$warder" "$scratch/ceiling.json" "$scratch/policy.json" "$py_raw$1" "$2"
}
check "the edge is killed during a session of TLS: nothing passes any more, and Warder says why" beside '
s = connect()
assert b"auth='"$digest"'" in request(s)
print("up", flush=True); sys.stdin.readline()
for again in (lambda: request(s), lambda: request(connect())):
    try: got = again()
    except OSError: got = b""
    assert got == b"", got
sys.exit(3)' '
os.kill(edge, signal.SIGKILL)
status, out, err = goon()
assert status == 3 and out == "" and "warder-edge died before" in err
assert not os.path.exists(f"/proc/{edge}")'
check "an edge has at most 3 MB of its own after 40 requests with 1 MB each" beside '
import urllib.request
for i in range(40):
    assert urllib.request.urlopen("https://api.test/up", b"x" * 1000000, timeout=10).status == 200
print("up", flush=True); sys.stdin.readline()' '
assert "libssl" in open(f"/proc/{edge}/maps").read()
kib = sum(int(line.split()[1]) for line in open(f"/proc/{edge}/smaps_rollup") if line.startswith("Private_"))
print(kib)
assert goon()[0] == 0 and kib * 1024 <= 3000000'

# With few descriptors some connections are refused, and others work when these are closed.
edge_runs_out() {
	prlimit --nofile=96:96 "$warder" run --timeout 60s --ceiling "$scratch/ceiling.json" --policy "$scratch/policy.json" -- python3 -c "$py_raw"'
kept, refused = [], 0
for i in range(60):
    try:
        s = connect()
        assert b"auth='"$digest"'" in request(s)
        kept.append(s)
    except OSError:
        refused += 1
print(len(kept), refused)
assert kept and refused
for s in kept: s.close()
import time
time.sleep(0.5)
assert "auth='"$digest"'" in ask("GET / HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")' >"$scratch/out" 2>"$scratch/err"
	local status=$?
	cat "$scratch/out" "$scratch/err"
	[ "$status" -eq 0 ] && grep -qE "refused: (api.test:443|-): the edge has no memory or no descriptors left" "$scratch/err"
}
check "an edge that runs out of descriptors" edge_runs_out
passes "NODE_EXTRA_CA_CERTS, SSL_CERT_FILE and REQUESTS_CA_BUNDLE" '^3$' sh -c 'env | grep -c "^\(NODE_EXTRA_CA_CERTS\|SSL_CERT_FILE\|REQUESTS_CA_BUNDLE\)=/etc/ssl/certs/ca-certificates.crt$"'
passes "the host's authorities are still there" '^[1-9][0-9]*$' sh -c 'grep -c BEGIN /etc/ssl/certs/ca-certificates.crt'

label='as an ordinary user: '
as=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp)
members=', "enforcement": {"limits": "preferred"}'
policy "$scratch/ceiling.json" "$(row api.test 443)"
cp "$scratch/ceiling.json" "$scratch/policy.json"
chown 65534 "$scratch/secret"
passes "curl, with the header" "^api.test GET /there auth=$digest" "${get[@]}" https://api.test/there
java_passes
chown 0 "$scratch/secret"
unstarted "a file that the user may not read" 'network.allow\[0\].inject.secretFile: cannot read .*Permission denied'
tap_end
