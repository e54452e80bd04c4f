#!/bin/bash
# run.sh: what an allow-list of the network lets pass and refuses, as TAP. Root, in namespaces of the test's own (world.sh).
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

begin() {
	world_begin || return 1
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$scratch/key" -out "$scratch/certificate" -days 2 -subj /CN=pypi.test \
		-addext 'subjectAltName=DNS:pypi.test,DNS:evil.test,DNS:*.cdn.test' 2>/dev/null || return 1
	nsenter -t "$beyond" -n ip address add 11.22.33.11/32 dev lo || return 1
	world_serve tests/network/server.py "$world" "$scratch/certificate" "$scratch/key" "$(python3 tests/network/stranger.py --special)"
}

# passes NAME PATTERN WARDER-ARGUMENTS...: the program ends with 0, its output is so, and nothing was refused.
passes() {
	local name=$1 pattern=$2 status
	shift 2
	timeout 60 "${as[@]}" "$warder" run --timeout 20s --net allow "$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
	if [ "$status" -eq 0 ] && grep -qE "$pattern" "$scratch/out" && ! grep -q '^warder:' "$scratch/err"; then
		tap_ok "$label$name"
	else
		tap_not_ok "$label$name"
		sed 's/^/# /' "$scratch/out" "$scratch/err"
		echo "# status $status"
	fi
}

# refused NAME LINE WARDER-ARGUMENTS...: the program fails, and a line of warder's begins so.
refused() {
	local name=$1 line=$2 status
	shift 2
	timeout 60 "${as[@]}" "$warder" run --timeout 20s --net allow "$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
	if [ "$status" -ne 0 ] && grep -qF "warder: refused: $line" "$scratch/err"; then
		tap_ok "$label$name"
	else
		tap_not_ok "$label$name"
		sed 's/^/# /' "$scratch/out" "$scratch/err"
		echo "# status $status"
	fi
}

get=(curl -sS -k -m 8)
echo_program='import socket,sys
s = socket.create_connection(("echo.test", 7))
n = int(sys.argv[1])
import threading
threading.Thread(target=lambda: (s.sendall(b"x" * n), s.shutdown(socket.SHUT_WR))).start()
got = 0
while data := s.recv(1 << 16): got += len(data)
print(got)
sys.exit(got != n)'

try_all() {
	local many
	mapfile -t many < <(printf -- '--allow\nn%d.test:80\n' {1..600})
	passes "HTTP to a name" '^hello pypi.test$' --allow pypi.test:80 -- "${get[@]}" http://pypi.test/
	passes "TLS to a name" '^hello pypi.test$' --allow pypi.test:443 -- "${get[@]}" https://pypi.test/
	passes "TLS whose server asks for a second ClientHello" '^hello pypi.test:444$' --allow pypi.test:444 -- "${get[@]}" https://pypi.test:444/
	passes "two requests over one connection" '^hello pypi.test:8080$' --allow pypi.test:8080 -- "${get[@]}" http://pypi.test:8080/ http://pypi.test:8080/2
	passes "a large upload" '^hello pypi.test$' --allow pypi.test:80 -- sh -c 'head -c 3000000 /dev/zero | curl -sS -m 8 -T - -X POST -H "Expect:" http://pypi.test/'
	passes "a name below a pattern" '^hello a.cdn.test$' --allow '*.cdn.test:443' -- "${get[@]}" https://a.cdn.test/
	passes "an address block" "^hello $world\$" --allow 11.22.33.0/24:80 -- "${get[@]}" "http://$world/"
	passes "another protocol, 8 MB, and half-close" '^8000000$' --allow echo.test:7 -- python3 -c "$echo_program" 8000000
	passes "a public address beside a private one" '^hello mixed.test$' --allow mixed.test:80 -- "${get[@]}" http://mixed.test/
	passes "a server of the program's own, on a port of a rule" '^200$' --allow pypi.test:80,8081 -- sh -c 'python3 -m http.server -b 127.0.0.1 8081 >/dev/null 2>&1 & i=0; until curl -sS -o /dev/null -w "%{http_code}\n" -m 2 http://127.0.0.1:8081/ 2>/dev/null || [ $i -gt 50 ]; do sleep 0.1; i=$((i+1)); done; kill $!'

	refused "a name that is not listed" 'evil.test: network.allow does not list this name' --allow pypi.test:443 -- "${get[@]}" https://evil.test/
	refused "the name above a pattern" 'cdn.test: network.allow does not list this name' --allow '*.cdn.test:443' -- "${get[@]}" https://cdn.test/
	refused "a question that carries data" 'c2vjcmv0.evil.test: network.allow does not list this name' --allow pypi.test:443 -- "${get[@]}" https://c2VjcmV0.evil.test/
	refused "a port that is not listed" 'pypi.test:8080: network.allow lists this name with other ports' --allow pypi.test:443 -- "${get[@]}" http://pypi.test:8080/
	refused "TLS to another name at the same address" 'pypi.test:443: the first bytes name another host: evil.test' --allow pypi.test:443 -- "${get[@]}" --connect-to evil.test:443:pypi.test:443 https://evil.test/
	refused "HTTP to another name at the same address" 'pypi.test:80: the first bytes name another host: evil.test' --allow pypi.test:80 -- "${get[@]}" -H 'Host: evil.test' http://pypi.test/
	refused "the same on another port" 'pypi.test:8080: the first bytes name another host: evil.test' --allow pypi.test:8080 -- "${get[@]}" -H 'Host: evil.test' http://pypi.test:8080/
	refused "TLS without a name" 'pypi.test:443: a TLS ClientHello without a server name' --allow pypi.test:443 -- python3 -c 'import socket, ssl; c = ssl._create_unverified_context(); c.wrap_socket(socket.create_connection(("pypi.test", 443)))'
	refused "another protocol on 443" 'pypi.test:443: neither TLS' --allow pypi.test:443 -- python3 -c 'import socket, sys; s = socket.create_connection(("pypi.test", 443)); s.sendall(b"SSH-2.0-x\r\n"); sys.exit(s.recv(1) == b"")'
	refused "CONNECT" 'pypi.test:80: the HTTP method CONNECT' --allow pypi.test:80 -- "${get[@]}" -p -x http://pypi.test:80 https://evil.test/
	refused "HTTP/2 without TLS" 'pypi.test:80: HTTP/2 without TLS' --allow pypi.test:80 -- "${get[@]}" --http2 http://pypi.test/
	refused "an address" "$world:80: network.allow does not list this address and port" --allow pypi.test:443 -- "${get[@]}" "http://$world/"
	refused "an address of a block, another port" "$world:443: network.allow does not list this address and port" --allow 11.22.33.0/24:80 -- "${get[@]}" "https://$world/"
	refused "an IPv6 address" '[2001:db8::1]:80: network.allow does not list this address and port' --allow pypi.test:443 -- "${get[@]}" 'http://[2001:db8::1]/'
	refused "a metadata service" '169.254.169.254:80: network.allow does not list this address and port' --allow pypi.test:80 -- "${get[@]}" http://169.254.169.254/
	refused "a guessed address of the block" '198.18.0.200:80: network.allow does not list this address and port' --allow pypi.test:80 -- "${get[@]}" http://198.18.0.200/
	refused "a name that leads to the host's loopback" 'rebind.test:80: the name leads to an address that only a cidr rule may allow: 127.0.0.1' --allow rebind.test:80 -- "${get[@]}" http://rebind.test/
	refused "the same with a block of every address" 'rebind.test:80: the name leads to an address that only a cidr rule may allow: 127.0.0.1' --allow rebind.test:80 --allow 0.0.0.0/0:80 -- "${get[@]}" http://rebind.test/
	refused "the host, by a block of every address" '22.33.44.1:80: network.allow does not list this address and port' --allow 0.0.0.0/0:80 -- "${get[@]}" http://22.33.44.1/
	refused "a metadata service, by a block of every address" '169.254.169.254:80: network.allow does not list this address and port' --allow 0.0.0.0/0:80 -- "${get[@]}" http://169.254.169.254/
	passes "a public address, by a block of every address" "^hello $world\$" --allow 0.0.0.0/0:80 -- "${get[@]}" "http://$world/"
	passes "600 names, whose ports are then taken at every address" '^hello pypi.test$' "${many[@]}" --allow pypi.test:80 -- "${get[@]}" http://pypi.test/
	refused "a name that leads to a metadata service" 'meta.test:80: the name leads to' --allow meta.test:80 -- "${get[@]}" http://meta.test/
	refused "a name that leads to the host" 'own.test:80: the name leads to' --allow own.test:80 -- "${get[@]}" http://own.test/
	refused "a name that leads to an address of documents" 'paper.test:80: the name leads to' --allow paper.test:80 -- "${get[@]}" http://paper.test/
	refused "a name that there is not" "nothing.test:80: the host's resolver has no address" --allow nothing.test:80 -- "${get[@]}" http://nothing.test/
	refused "a port where nobody listens" 'closed.test:81: the host cannot connect to it' --allow closed.test:81 -- "${get[@]}" http://closed.test:81/
	refused "a denied name below a pattern" 'a.cdn.test: network.allow does not list this name' --allow '*.cdn.test:443' --set network.deny=a.cdn.test -- "${get[@]}" https://a.cdn.test/
	refused "a denied port of a name" 'pypi.test:80: network.deny lists it' --allow pypi.test:80,443 --set network.deny=pypi.test:80 -- "${get[@]}" http://pypi.test/
	refused "a name that leads to a denied block" 'pypi.test:80: the name leads to' --allow pypi.test:80 --set network.deny=11.22.33.0/24 -- "${get[@]}" http://pypi.test/
	refused "a denied block inside an allowed one" "$world:80: network.deny lists it" --allow 11.22.0.0/16:80 --set network.deny=11.22.33.0/24 -- "${get[@]}" "http://$world/"
	refused "more bytes than network.bytes" 'echo.test:7: network.bytes is used up' --allow echo.test:7 --set network.bytes=1MiB -- python3 -c "$echo_program" 8000000
	refused "a connection after network.bytes is used up" 'pypi.test:80: network.bytes is used up' --allow pypi.test:80 --set network.bytes=1KiB -- sh -c 'for i in 1 2 3 4 5 6 7 8; do curl -sS -m 5 http://pypi.test/ || exit; done'
	refused "a third connection of two" 'echo.test:7: more connections at once than network.maxConnections' --allow echo.test:7 --set network.maxConnections=2 -- python3 -c 'import socket
def one():
    s = socket.create_connection(("echo.test", 7))
    s.sendall(b"x")
    return s, s.recv(1)
kept = [one(), one()]
assert [b for _, b in kept] == [b"x", b"x"]
one()'
	passes "a connection in the place of a closed one" '^xxxx$' --allow echo.test:7 --set network.maxConnections=1 -- python3 -c 'import socket
for i in range(4):
    s = socket.create_connection(("echo.test", 7))
    s.sendall(b"x")
    print(s.recv(1).decode(), end="")
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
    s.close()
print()'
	passes "40 connections to a name while the resolver has not answered, with one question" '^40$' --allow once.test:80 -- python3 -c 'import socket
all = [socket.create_connection(("198.18.0.2", 80), 10) for i in range(40)]
for s in all: s.sendall(b"GET / HTTP/1.0\r\nHost: once.test\r\n\r\n")
print(sum(s.recv(1) == b"H" for s in all))'
	refused "a third question to a silent resolver, after two connections that ended by a reset" 'silent.test:80: more connections at once than network.maxConnections' --allow silent.test:80 --set network.maxConnections=2 -- python3 -c 'import socket, struct, time
for i in range(3):
    s = socket.create_connection(("silent.test", 80))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
    time.sleep(0.3)
raise SystemExit(1)'
	refused "UDP, as of QUIC: refused at once, so that clients use TCP" 'pypi.test:443: only TCP passes' --allow pypi.test:443 -- python3 -c 'import socket, sys
s = socket.socket(2, 2)
s.settimeout(15)
s.connect((socket.gethostbyname("pypi.test"), 443))
s.send(b"x")
try: s.recv(1)
except ConnectionRefusedError: sys.exit(1)
except TimeoutError: pass'
	refused "the host's resolver" "$world:53: only TCP passes" --allow pypi.test:443 -- python3 -c 'import socket; s = socket.socket(2, 2); s.settimeout(2); s.connect(("'"$world"'", 53)); s.send(b"x"); s.recv(1)'
}

# Blocks of IPv6 addresses; $@ are arguments for warder.
try_v6() {
	local block="[${world_v6%10}/32]"
	if [ ! -e /proc/net/if_inet6 ]; then
		skip "${label}IPv6: all of it" "this kernel has no IPv6"
		return
	fi
	passes "a block of IPv6" '^hello \[2606:4700::10\]$' "$@" --allow "$block:80" -- "${get[@]}" "http://[$world_v6]/"
	passes "blocks of both kinds with one port" "^hello $world\$" "$@" --allow "$block:80" --allow 11.22.33.0/24:80 -- "${get[@]}" "http://$world/" "http://[$world_v6]/"
	passes "a name beside a block of IPv6 with its port" '^hello pypi.test$' "$@" --allow "$block:80" --allow pypi.test:80 -- "${get[@]}" http://pypi.test/
	passes "a name that has an IPv6 address alone" '^hello six.test$' "$@" --allow six.test:80 -- "${get[@]}" http://six.test/
	refused "an address of a block of IPv6, another port" "[$world_v6]:443: network.allow does not list" "$@" --allow "$block:80" -- "${get[@]}" "https://[$world_v6]/"
	refused "an IPv6 address that is in no block" '[2001:db8::1]:80: network.allow does not list' "$@" --allow "$block:80" -- "${get[@]}" 'http://[2001:db8::1]/'
	refused "an IPv4 address, beside a block of IPv6" "$world:80: network.allow does not list" "$@" --allow "$block:80" -- "${get[@]}" "http://$world/"
	refused "a denied block of IPv6 inside an allowed one" "[$world_v6]:80: network.deny lists it" "$@" --allow "$block:80" --deny "${world_v6}/128" -- "${get[@]}" "http://[$world_v6]/"
	refused "::1, by a block of every IPv6 address" "[::1]:80: 127.0.0.0/8 and ::1 are the jail's own" "$@" --allow '[::/0]:80' -- "${get[@]}" -g 'http://[::1]/'
	for address in fd00::1 2606:4700:1::1 2606:4700:1::2 64:ff9b::7f00:1 2002:7f00:1::1 2001:db8::1; do
		refused "$address, by a block of every IPv6 address" "[$address]:80: network.allow does not list" "$@" --allow '[::/0]:80' -- "${get[@]}" -g "http://[$address]/"
	done
	refused "::ffff:127.0.0.1, by blocks of every address" "127.0.0.1:80: 127.0.0.0/8 and ::1 are the jail's own" "$@" --allow '[::/0]:80' --allow 0.0.0.0/0:80 -- "${get[@]}" -g 'http://[::ffff:127.0.0.1]/'
}

receipt_has_v6() {
	"$warder" run --json --net allow --allow '[2606:4700::/32]:80,443' --allow pypi.test:80,22 -- true | python3 -c '
import json, sys
rows = {c["control"]: c for c in json.load(sys.stdin)["receipt"]["controls"]}
print(rows["network.allow"], rows["network.allow.ipv6"])
assert rows["network.allow.ipv6"]["status"] == "enforced" and "2 of the listeners take IPv6" in rows["network.allow.ipv6"]["value"]
assert "3 listeners" in rows["network.allow"]["value"]'
}

# hold: a program whose standard input is descriptor 8 can wait there (read go) until release.
hold() {
	rm -f "$scratch/hold"
	mkfifo "$scratch/hold" && exec 8<>"$scratch/hold"
}

release() {
	echo >&8
	exec 8>&-
}

# The process that connects for the jail of a supervisor.
edge_pid() {
	for _ in $(seq 1200); do
		pgrep -P "$1" -x warder-edge && return
		sleep 0.05
	done
	return 1
}

edge_is_confined() {
	local run pid good=0
	: >"$scratch/out"
	hold
	"$warder" run --timeout 100s --net allow --allow pypi.test:80 -- sh -c 'echo up; read go' <&8 >"$scratch/out" &
	run=$!
	pid=$(edge_pid "$run") || good=1
	for _ in $(seq 1200); do
		! grep -q up "$scratch/out" || break
		sleep 0.05
	done
	awk '$1 == "Uid:" && $2 == 0 { bad = 1 } $1 == "CapPrm:" && $2 !~ /^0*$/ { bad = 1 } $1 == "CapBnd:" && $2 !~ /^0*$/ { bad = 1 }
		$1 == "Seccomp:" && $2 != 2 { bad = 1 } $1 == "NoNewPrivs:" && $2 != 1 { bad = 1 } END { exit bad }' "/proc/$pid/status" || good=1
	[ "$(awk '{ print $5 }' "/proc/$pid/mountinfo")" = / ] || good=1
	[ -z "$(ls -A "/proc/$pid/root/")" ] || good=1
	# The edge loads libssl only when it injects credentials.
	grep -q libcares "/proc/$pid/maps" && ! grep -q libssl "/proc/$pid/maps" || good=1
	grep -E 'Uid|Cap|Seccomp|NoNew' "/proc/$pid/status"
	release
	wait "$run"
	[ ! -e "/proc/$pid" ] || good=1
	return "$good"
}

# edge_fails SIGNAL PATTERN WARDER-ARGUMENTS...: the edge gets a signal while the program waits; a connection then fails, and the result tells.
edge_fails() {
	local signal=$1 pattern=$2 run pid status
	shift 2
	mkdir -p "$scratch/share"
	chmod 777 "$scratch/share"
	rm -f "$scratch/share/"*
	"$warder" run --timeout 100s --net allow --allow pypi.test:80 --rw "$scratch/share" "$@" -- \
		sh -c "touch $scratch/share/up; until [ -e $scratch/share/go ]; do sleep 0.1; done; curl -sS -m 3 http://pypi.test/" >"$scratch/out" 2>"$scratch/err" &
	run=$!
	pid=$(edge_pid "$run") || return 1
	for _ in $(seq 1200); do
		[ ! -e "$scratch/share/up" ] || break
		sleep 0.05
	done
	kill "-$signal" "$pid"
	touch "$scratch/share/go"
	wait "$run"
	status=$?
	cat "$scratch/out" "$scratch/err"
	[ "$status" -ne 0 ] && [ ! -s "$scratch/out" ] && [ ! -e "/proc/$pid" ] && { [ -z "$pattern" ] || grep -q "$pattern" "$scratch/err"; }
}

# The supervisor of a container is killed: the edge, the published port and the program end with it.
container_is_killed() {
	local run edge mark="77.$RANDOM"
	"$warder" run --backend "$1" --timeout 20s --allow pypi.test:80 --publish 8804:8000 -- sleep "$mark" &
	run=$!
	edge=$(edge_pid "$run") || return 1
	for _ in $(seq 1200); do
		pgrep -xf "sleep $mark" && break
		sleep 0.05
	done >"$scratch/out"
	[ -s "$scratch/out" ] || return 1
	kill -KILL "$run"
	wait "$run"
	for _ in $(seq 1200); do
		[ ! -e "/proc/$edge" ] && ! pgrep -xf "sleep $mark" && break
		sleep 0.05
	done
	curl -s -m 2 -o /dev/null http://127.0.0.1:8804/
	[ "$?" -eq 7 ] && [ ! -e "/proc/$edge" ] && ! pgrep -xf "sleep $mark"
}

result_lists() {
	"$warder" run --timeout 100s --net allow --allow pypi.test:80 --json -- sh -c 'curl -sS -m 5 http://pypi.test/; curl -sS -m 5 http://evil.test/; curl -sS -m 5 http://evil.test/; for i in $(seq 80); do curl -s -m 5 http://10.0.0.$i/; done; exit 3' | python3 -c '
import json, sys
r = json.load(sys.stdin)
n = r["network"]
print(json.dumps(n["refusals"][:2]), n["notListed"], n["refused"])
assert n["connections"] == 1 and n["bytesSent"] > 0 and n["bytesReceived"] > 0 and n["edgeDied"] is False
first = n["refusals"][0]
assert first["destination"] == "evil.test" and first["protocol"] == "dns" and first["reason"] == "unlistedName" and "port" not in first
assert first["count"] >= 2 and first["firstAt"].endswith("Z")
second = n["refusals"][1]
assert (second["destination"], second["port"], second["protocol"], second["reason"]) == ("10.0.0.1", 80, "tcp", "unlistedAddress")
assert len(n["refusals"]) == 64 and n["notListed"] == 17 and n["refused"] == sum(x["count"] for x in n["refusals"]) + 17
assert "network" in r["limitsHit"]
row = [c for c in r["receipt"]["controls"] if c["control"] == "network.allow"][0]
assert row["status"] == "enforced" and "198.18.0.1" in row["value"] and "1 listeners" in row["value"] and "sockstat" in row["source"], row
row = [c for c in r["receipt"]["controls"] if c["control"] == "network.allow[0]"][0]
assert row["requested"] == "pypi.test:80" and "nothing else passes" in row["mechanism"], row'
}

# learned NAME SCRIPT-OF-PYTHON WARDER-ARGUMENTS...: `n` is the member "network" of a run that learns.
learned() {
	local name=$1 look=$2
	shift 2
	"${as[@]}" "$warder" run --timeout 20s --net learn --ceiling "$scratch/learn.json" --json "$@" <<<ok >"$scratch/out" 2>"$scratch/err"
	if python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
n = r["network"]
allow = n["learned"]["policy"]["network"]["allow"]
exec(sys.argv[2])' "$scratch/out" "$look" 2>>"$scratch/err"; then
		tap_ok "$label$name"
	else
		tap_not_ok "$label$name"
		sed 's/^/# /' "$scratch/out" "$scratch/err"
	fi
}

learns() {
	"$warder" policy show strict | python3 -c 'import json, sys
d = json.load(sys.stdin)
d["network"] = {"mode": "learn"}
d["enforcement"] = {f: "preferred" for f in ("limits.memory", "limits.swap", "limits.cpus", "limits.pids", "limits.cpuTime")}
json.dump(d, sys.stdout)' >"$scratch/learn.json"
	learned "learn: names and addresses that were used, and nothing else" '
assert allow == [{"host": "pypi.test", "ports": [80, 443]}, {"cidr": "11.22.33.10/32", "ports": [80]}], allow
assert n["learned"]["policy"]["network"]["mode"] == "allow"
assert [(u["destination"], u["port"], u["connections"]) for u in n["learned"]["used"]] == [("pypi.test", 80, 2), ("pypi.test", 443, 1), ("11.22.33.10", 80, 1)]
why = {(x["destination"], x.get("port")): x["reason"] for x in n["refusals"]}
assert why == {("pypi.test", 8080): "unlistedPort", ("rebind.test", 80): "privateAddress", ("own.test", 80): "privateAddress", ("meta.test", 80): "privateAddress",
    ("169.254.169.254", 80): "unlistedAddress", ("22.33.44.1", 80): "unlistedAddress", ("10.0.0.1", 80): "unlistedAddress"}, why
text = {x["destination"]: x["text"] for x in n["refusals"]}
assert text["pypi.test"].startswith("network.mode learn allows names") and text["10.0.0.1"].endswith("only public addresses of IPv4, on the ports 22, 80 and 443"), text
rows = {c["control"]: c for c in r["receipt"]["controls"]}
assert rows["network.learn"]["status"] == "enforced" and rows["network"]["status"] == "unrestricted" and rows["network"]["requested"] == "learn"' -- sh -c '
		curl -sS http://pypi.test/ http://pypi.test/; curl -sS http://pypi.test/; curl -sSk https://pypi.test/; curl -sS "http://$0/"; getent hosts evil.test
		for u in pypi.test:8080 rebind.test own.test meta.test 169.254.169.254 22.33.44.1 10.0.0.1; do curl -s -m 3 "http://$u/"; done; true' "$world"
	learned "learn: IPv6 addresses are refused, counted, and not learnt; a name that has no other is" '
assert allow == [{"host": "six.test", "ports": [80]}], allow
assert [(x["destination"], x["port"], x["reason"], x["count"]) for x in n["refusals"]] == [("2606:4700::10", 80, "unlistedAddress", 2)], n["refusals"]
assert n["refusals"][0]["text"].endswith("only public addresses of IPv4, on the ports 22, 80 and 443"), n["refusals"]
assert n["refused"] == 2, n' -- sh -c 'curl -sS http://six.test/; for i in 1 2; do curl -s -m 5 "http://[2606:4700::10]/"; done; true'
	learned "learn: the replay, and what it did not need" '
assert {u["destination"]: u["needed"] for u in n["learned"]["used"]} == {"pypi.test": True, "evil.test": False}
assert n["learned"]["replay"] == {"exitCode": 7, "signal": None}, n["learned"]["replay"]
assert r["exitCode"] == 0' --replay -- sh -c 'curl -sS http://pypi.test/; read -r x || exit 7; curl -sSk https://evil.test/'
	learned "learn: a replay that the ceiling does not grant" '
assert "network.allow[0]" in n["learned"]["replay"]["error"], n["learned"]["replay"]
assert "needed" not in n["learned"]["used"][0]' --replay -- curl -sS "http://$world/"
	learned "learn: a denied name, and nothing that was used" '
assert n["learned"]["used"] == [] and allow == [] and n["learned"]["policy"]["network"]["mode"] == "loopback"
assert [(x["destination"], x["reason"]) for x in n["refusals"]] == [("pypi.test", "unlistedName")], n["refusals"]' --deny pypi.test -- sh -c 'curl -sS http://pypi.test/; true'
	learned "learn: a destination that the first bytes refuse is not one that was used" '
assert n["learned"]["used"] == [] and allow == [] and n["connections"] == 1, n
assert [(x["destination"], x.get("port"), x["reason"]) for x in n["refusals"]] == [("pypi.test", 443, "firstBytes")], n["refusals"]' -- python3 -c 'import socket
s = socket.create_connection(("pypi.test", 443)); s.sendall(b"SSH-2.0-x\r\n")
try: s.recv(1)
except OSError: pass'
	learned "learn: 1,100 destinations, of which the policy has 1,024" '
assert len(allow) == 1024 and n["learned"]["notListed"] == 76 and n["connections"] == 1100, (len(allow), n)' -- python3 -c 'import socket
for i in range(1100):
	with socket.create_connection(("n%d.many.test" % i, 80), 10) as s: s.shutdown(socket.SHUT_WR); s.recv(1) # its end: the edge has room again'
}

learn_is_printed() {
	"$warder" run --timeout 20s --net learn --ceiling "$scratch/learn.json" --replay -- sh -c 'curl -sS http://pypi.test/; read -r x || exit 7; curl -sSk https://evil.test/' <<<ok >"$scratch/out" 2>"$scratch/err"
	cat "$scratch/err"
	grep -qx 'warder: used: pypi.test port 80 (1 time)' "$scratch/err" && grep -qx 'warder: used: evil.test port 443 (1 time); the replay did not need it' "$scratch/err" &&
		grep -qx 'warder: the replay ended with status 7' "$scratch/err" || return 1
	sed '1,/^warder: this policy allows exactly that:$/d' "$scratch/err" >"$scratch/learned.json"
	"$warder" run --policy "$scratch/learned.json" -- curl -sSk https://evil.test/ && ! "$warder" run --policy "$scratch/learned.json" -- curl -sS http://evil.test/
}

# learn_is_refused LINE WARDER-ARGUMENTS...
learn_is_refused() {
	local line=$1
	shift
	"$warder" run "$@" -- touch /tmp/x 2>"$scratch/err"
	[ "$?" -eq 125 ] && grep -F "$line" "$scratch/err"
}

# With few descriptors some connections are refused, and others work when these are closed.
edge_runs_out() {
	prlimit --nofile=96:96 "$warder" run --timeout 60s --net allow --allow echo.test:7 -- python3 -c '
import socket, time
def one():
    s = socket.create_connection(("echo.test", 7), 10)
    s.sendall(b"x")
    return s, s.recv(1)
kept = []
refused = 0
for i in range(80):
    try:
        kept.append(one())
    except OSError:
        refused += 1
print(len(kept), refused)
assert refused and [b for _, b in kept if b] == [b"x"] * len([b for _, b in kept if b])
for s, _ in kept: s.close()
time.sleep(0.5)
assert one()[1] == b"x"' >"$scratch/out" 2>"$scratch/err"
	local status=$?
	cat "$scratch/out" "$scratch/err"
	[ "$status" -eq 0 ] && grep -qE "refused: (echo.test:7|-): the edge has no memory or no descriptors left" "$scratch/err"
}

# Questions by TCP for which no descriptor is left wait, each try is counted, and the edge pauses between two.
edge_counts_waiting_questions() {
	prlimit --nofile=96:96 "$warder" run --timeout 60s --net allow --allow echo.test:7 -- python3 -c '
import socket, time
kept = []
for i in range(80):
    try:
        kept.append(socket.create_connection(("echo.test", 7), 10))
    except OSError:
        pass
questions = [socket.create_connection(("198.18.0.1", 53)) for i in range(4)]
time.sleep(1)' >"$scratch/out" 2>"$scratch/err"
	cat "$scratch/out" "$scratch/err"
	grep -qF 'warder: refused: -: the edge has no memory or no descriptors left' "$scratch/err"
}

# A supervisor that is killed takes the edge with it, even one that a signal has stopped, and even if the edge's new parent is of the same
# session: then the kernel does not end it as part of an orphaned process group.
stopped_edge_ends() {
	python3 -c '
import ctypes, os, signal, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
run = subprocess.Popen([sys.argv[1], "run", "--timeout", "20s", "--net", "allow", "--allow", "pypi.test:80", "--", "sleep", "15"])
edge = None
for i in range(100):
    for child in open(f"/proc/{run.pid}/task/{run.pid}/children").read().split():
        if open(f"/proc/{child}/comm").read() == "warder-edge\n":
            edge = int(child)
    if edge:
        break
    time.sleep(0.05)
time.sleep(0.5)
os.kill(edge, signal.SIGSTOP)
run.kill()
run.wait()
for i in range(50):
    if os.waitpid(edge, os.WNOHANG)[0]:
        sys.exit(0)
    time.sleep(0.1)
os.kill(edge, signal.SIGKILL)
sys.exit("the edge is still there")' "$warder"
}

session_has_it() {
	local status=0
	"$warder" session start network --net allow --allow pypi.test:80 >/dev/null || return 1
	[ "$("$warder" session exec network -- curl -sS -m 5 http://pypi.test/)" = "hello pypi.test" ] || status=1
	"$warder" session exec network -- curl -sS -m 5 http://evil.test/ 2>"$scratch/err" && status=1
	grep -qF 'warder: refused: evil.test: network.allow does not list this name (' "$scratch/err" || status=1
	# Of another execution nothing is left, and a name that was refused before is counted anew. The kernel resets the address.
	"$warder" session exec network --json -- curl -s -m 5 http://10.0.0.1/ http://evil.test/ >"$scratch/out"
	python3 -c '
import json, sys
n = json.load(open(sys.argv[1]))["network"]
print(n)
rows = {x["destination"]: x for x in n["refusals"]}
assert set(rows) == {"10.0.0.1", "evil.test"} and n["connections"] == 0 and n["refused"] == sum(x["count"] for x in n["refusals"])
assert rows["10.0.0.1"]["count"] == 1 and n["edgeDied"] is False' "$scratch/out" || status=1
	"$warder" session exec network -- curl -sS -m 5 http://pypi.test/ 2>"$scratch/err" && [ ! -s "$scratch/err" ] || status=1
	"$warder" session stop network || status=1
	return "$status"
}

# Two jails at the same time: one tries the names, sockets and processes of the other and of its edge. The same connection is made from within
# the other's network, so that each attempt could succeed there: it is the only one that the other's edge counts.
other_edge='import os, socket, sys
edge = int(sys.argv[1])
got = []
def attempt(what, do):
    try:
        do()
        got.append(what)
    except OSError:
        pass
def connect(*to):
    return lambda: socket.create_connection(to, 5)
def abstract(name, kind=socket.SOCK_STREAM):
    return lambda: socket.socket(socket.AF_UNIX, kind).connect("\0" + name)
attempt("a name of the other", connect("echo.test", 7))
for address in ("198.18.0.2", "198.18.0.3"):
    attempt(f"a listener of the other at {address}", connect(address, 7))
attempt("an abstract socket of the other", abstract("other-jail"))
attempt("an abstract socket of the host", abstract("other-host"))
attempt("a signal to its edge", lambda: os.kill(edge, 0))
attempt("a descriptor of its edge", lambda: os.pidfd_open(edge))
attempt("a directory of its edge", lambda: os.stat(f"/proc/{edge}"))
got += [f"descriptor {fd}" for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and os.path.exists(f"/proc/self/fd/{fd}")]
got += [line for line in open("/proc/net/unix") if "@" in line]
print("\n".join(got))
sys.exit(bool(got))'
jail_tries_other() {
	local run host edge init status=0
	python3 -c 'import socket, time; s = socket.socket(socket.AF_UNIX); s.bind("\0other-host"); s.listen(); time.sleep(60)' &
	host=$!
	mkdir -p "$scratch/share"
	chmod 777 "$scratch/share"
	rm -f "$scratch/share/"*
	"$warder" run --timeout 40s --json --net allow --allow pypi.test:80 --allow echo.test:7 --rw "$scratch/share" -- python3 -c '
import os, socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind("\0other-jail"); s.listen()
open(sys.argv[1] + "/up", "w")
while not os.path.exists(sys.argv[1] + "/go"): time.sleep(0.05)' "$scratch/share" >"$scratch/other" &
	run=$!
	edge=$(edge_pid "$run")
	for _ in $(seq 1200); do
		[ ! -e "$scratch/share/up" ] || break
		sleep 0.05
	done
	for init in $(<"/proc/$run/task/$run/children"); do
		[ "$init" = "$edge" ] || break
	done
	nsenter -t "$init" -n python3 -c 'import socket
s = socket.create_connection(("198.18.0.3", 7), 5); s.sendall(b"x"); assert s.recv(1) == b"x"
socket.socket(socket.AF_UNIX).connect("\0other-jail")' || status=1
	python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("\0other-host")' || status=1
	kill -0 "$edge" || status=1
	"$warder" run --timeout 20s "$@" --allow pypi.test:443 -- python3 -c "$other_edge" "$edge" || status=1
	touch "$scratch/share/go"
	wait "$run" || status=1
	kill "$host"
	python3 -c 'import json, sys
n = json.load(open(sys.argv[1]))["network"]
print(n)
assert n["connections"] == 1 and n["refused"] == 0 and n["edgeDied"] is False' "$scratch/other" || status=1
	return "$status"
}

host_network() {
	ip -o link
	ip -o address
	ip rule
	ip route show table all
	ip -6 route show table all
	nft list ruleset
	iptables-save
} 2>/dev/null

# While a jail with an allow-list connects, the network of the host is what it was, and the program has one interface and no proxy.
host_is_as_before() {
	local before run status=0
	before=$(host_network)
	hold
	: >"$scratch/out"
	"$warder" run --timeout 100s --net allow --allow pypi.test:80 -- sh -c 'env; cut -s -d: -f1 /proc/net/dev; curl -sS -m 30 http://pypi.test/; read go' <&8 >"$scratch/out" 2>"$scratch/err" &
	run=$!
	for _ in $(seq 1200); do
		! grep -q '^hello pypi.test$' "$scratch/out" || break
		sleep 0.05
	done
	diff <(echo "$before") <(host_network) || status=1
	kill -0 "$run" || status=1
	release
	wait "$run" || status=1
	cat "$scratch/out" "$scratch/err"
	[ -n "$before" ] && grep -q '^hello pypi.test$' "$scratch/out" && [ "$(grep -cE '^ *lo$' "$scratch/out")" -eq 1 ] &&
		! grep -iE 'proxy|^ *(veth|eth|tap|tun)' "$scratch/out" || status=1
	return "$status"
}

# A name of the host's own file, which the jail does not see: its resolver is the edge.
hosts_file() {
	local status=0
	{
		cat /etc/hosts
		echo "$world listed.test"
	} >"$scratch/hosts"
	mount --bind "$scratch/hosts" /etc/hosts || return 1
	"$warder" run --timeout 20s --net allow --allow listed.test:80 -- sh -c 'cat /etc/resolv.conf /etc/hosts /etc/nsswitch.conf; curl -sS -m 8 http://listed.test/' >"$scratch/out" 2>"$scratch/err" || status=1
	umount /etc/hosts
	cat "$scratch/out" "$scratch/err"
	grep -qx 'hello listed.test' "$scratch/out" && grep -qx 'nameserver 198.18.0.1' "$scratch/out" && grep -qx 'hosts: files dns' "$scratch/out" &&
		! grep -qF "$world" "$scratch/out" || status=1
	return "$status"
}

# A root with curl, whose /etc finds names in another way: a false address, a link that leads nowhere, no nsswitch.conf.
make_view() {
	local file
	mkdir -p "$scratch/view/etc" && chmod 755 "$scratch/view" || return
	for file in "$(command -v curl)" $(ldd "$(command -v curl)" | grep -o '/[^ ]*'); do
		cp -L --parents "$file" "$scratch/view" || return
	done
	echo '11.22.33.99 pypi.test' >"$scratch/view/etc/hosts"
	echo kept >"$scratch/view/etc/motd"
	ln -s ../run/systemd/resolve/stub-resolv.conf "$scratch/view/etc/resolv.conf"
}

# in_view VIEW WARDER-ARGUMENTS...: names in a view of its own.
in_view() {
	local view=$1 kind=${1%%:*}
	shift
	passes "view $kind: HTTP to a name" '^hello pypi.test$' --view "$view" "$@" --allow pypi.test:80 -- curl -sS -m 8 http://pypi.test/
	refused "view $kind: a name that is not listed" 'evil.test: network.allow does not list this name' --view "$view" "$@" --allow pypi.test:80 -- \
		curl -sS -m 8 http://evil.test/
	passes "view $kind: the rest of /etc" '^kept$' --view "$view" "$@" --allow pypi.test:80 -- curl -sS file:///etc/motd
}

# Not in /etc of what the program sees, and not in the directory or the image itself.
view_is_as_before() {
	[ "$(cat "$scratch/view/etc/hosts")" = '11.22.33.99 pypi.test' ] && [ -L "$scratch/view/etc/resolv.conf" ] && [ ! -e "$scratch/view/etc/nsswitch.conf" ] &&
		"$warder" run --view directory:"$scratch/view" -- curl -sS file:///etc/hosts | grep -q 11.22.33.99 &&
		WARDER_STORE="$scratch/store" "$warder" run --view image:view:1 -- curl -sS file:///etc/hosts | grep -q 11.22.33.99
}

# A file where the directory should be, and more files than can be mounted one by one.
view_is_refused() {
	mkdir -p "$scratch/odd" "$scratch/large/etc"
	: >"$scratch/odd/etc"
	(cd "$scratch/large/etc" && touch $(seq 200))
	"$warder" run --net allow --allow pypi.test:80 --view directory:"$scratch/odd" -- true 2>"$scratch/err"
	[ "$?" -eq 125 ] && grep -F 'with network.allow the jail needs an /etc/nsswitch.conf of its own, but in the view /etc is no directory' "$scratch/err" || return
	"$warder" run --net allow --allow pypi.test:80 --view directory:"$scratch/large" -- true 2>"$scratch/err"
	[ "$?" -eq 125 ] && grep -F 'has more than 128 entries, so that they cannot be mounted one by one; with network.allow' "$scratch/err"
}

session_in_view() {
	local status=0
	WARDER_STORE="$scratch/store" "$warder" session start viewed --view image:view:1 --net allow --allow pypi.test:80 >/dev/null || return 1
	[ "$("$warder" session exec viewed -- curl -sS -m 5 http://pypi.test/)" = "hello pypi.test" ] || status=1
	"$warder" session stop viewed || status=1
	return "$status"
}

many_at_once() {
	"$warder" run --timeout 30s --net allow --allow pypi.test:443 -- python3 -c '
import asyncio, ssl
async def one():
    c = ssl._create_unverified_context()
    r, w = await asyncio.open_connection("pypi.test", 443, ssl=c)
    w.write(b"GET / HTTP/1.1\r\nHost: pypi.test\r\nConnection: close\r\n\r\n")
    data = await r.read()
    w.close()
    return data[:15]
async def main():
    got = await asyncio.gather(*[one() for _ in range(100)])
    assert set(got) == {b"HTTP/1.1 200 OK"}, set(got)
asyncio.run(main())'
}

# $WARDER_NETWORK_CONNECTIONS in all (1000), 200 at the same time: each brings its bytes back, and the edge has counted them all.
very_many() {
	local all=${WARDER_NETWORK_CONNECTIONS:-1000}
	"$warder" run --timeout "$((600 * ${WARDER_TEST_SLOW:-1}))s" --cpu-time unlimited --memory 256MiB --json --net allow --allow echo.test:7 -- python3 -c '
import asyncio, sys
todo = iter(range(int(sys.argv[1])))
async def worker():
    done = 0
    for i in todo:
        r, w = await asyncio.open_connection("198.18.0.2", 7)
        w.write(b"%d" % i)
        w.write_eof()
        assert await r.read() == b"%d" % i
        w.close()
        done += 1
    return done
async def main():
    print(sum(await asyncio.gather(*[worker() for _ in range(200)])))
asyncio.run(main())' "$all" >"$scratch/out"
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(r)
all = int(sys.argv[2])
assert r["status"] == "success" and r["stdout"]["text"] == "%d\n" % all
n = r["network"]
assert n["connections"] == all and n["refused"] == 0 and n["bytesReceived"] == n["bytesSent"] and n["edgeDied"] is False' "$scratch/out" "$all"
}

# As many connections, a tenth of which may be open at once, at most 800: these stay, the others are reset and counted, and the edge needs at
# most 3 MB of its own.
too_many() {
	local all=${WARDER_NETWORK_CONNECTIONS:-1000} places run pid now kilobytes=0 status=0
	places=$((all > 8000 ? 800 : all / 10))
	"$warder" run --timeout "$((600 * ${WARDER_TEST_SLOW:-1}))s" --cpu-time unlimited --memory 256MiB --json --net allow --allow echo.test:7 --max-connections "$places" -- python3 -c '
import socket, sys, time
all = int(sys.argv[1])
def connect():
    try:
        return socket.create_connection(("198.18.0.2", 7), 60)
    except ConnectionError:  # a reset that comes so early
        return None
def echo(s, byte):
    try:
        s.sendall(byte)
        return s.recv(1) == byte
    except ConnectionError:
        return False
held = []
while all:
    batch = [connect() for _ in range(min(all, 100))]
    all -= len(batch)
    held += [s for s in batch if s and echo(s, b".")]
time.sleep(1)
print(len(held), sum(echo(s, b"!") for s in held))' "$all" >"$scratch/out" &
	run=$!
	pid=$(edge_pid "$run") || status=1
	while now=$(awk '/^Private_/ { sum += $2 } END { print sum + 0 }' "/proc/$pid/smaps_rollup" 2>/dev/null); do
		kilobytes=$((now > kilobytes ? now : kilobytes))
		sleep 0.1
	done
	wait "$run" || status=1
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
all, places, kilobytes = map(int, sys.argv[2:])
print(r["status"], r["stdout"], r["stderr"], r.get("network"), kilobytes)
n = r["network"]
assert r["stdout"]["text"] == "%d %d\n" % (places, places)
assert n["connections"] == places and n["refused"] == all - places and n["edgeDied"] is False
assert [(x["reason"], x["count"]) for x in n["refusals"]] == [("maxConnections", all - places)]
assert 0 < kilobytes <= 3072, kilobytes' "$scratch/out" "$all" "$places" "$kilobytes" || status=1
	return "$status"
}

# A client that resets gives up its place while the server reads nothing.
resets_give_place() {
	"$warder" run --timeout 60s --net allow --allow witness.test:25 --max-connections 2 -- python3 -c '
import socket, struct, time
for i in range(6):
    s = socket.create_connection(("witness.test", 25), 10)
    assert s.recv(1) == b"2"
    s.setblocking(False)
    try:
        s.send(b"SLEEP\r\n")
        while True:
            s.send(bytes(1 << 20))
            time.sleep(0.05)
    except BlockingIOError:
        pass
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
    time.sleep(0.3)'
}

# Bytes come back, also after the end of what was sent; three rounds, so that the edge uses its sockets again.
published_client='import socket, sys, threading
port, size, clients = map(int, sys.argv[1:])
def one(results, i):
    for attempt in range(600):
        try:
            s = socket.create_connection(("127.0.0.1", port), 20)
            s.sendall(b"?")
            if s.recv(1) == b"!":
                break
        except ConnectionError:
            threading.Event().wait(0.1)
    threading.Event().wait(0.3)  # so that all are open at once
    threading.Thread(target=lambda: (s.sendall(bytes([i]) * size), s.shutdown(socket.SHUT_WR))).start()
    got = 0
    while data := s.recv(1 << 16):
        got += data.count(bytes([i]))
    results[i] = got == size
for round in range(3):
    results = [False] * clients
    all = [threading.Thread(target=one, args=(results, i)) for i in range(clients)]
    for t in all: t.start()
    for t in all: t.join()
    assert results == [True] * clients, results
print("complete")'
published_server='import socket, threading
def one(c):
    if c.recv(1) != b"?": return
    c.sendall(b"!")
    while data := c.recv(1 << 16): c.sendall(data)
    c.close()
s = socket.create_server(("127.0.0.1", 8000), backlog=200)
while True: threading.Thread(target=one, args=(s.accept()[0],), daemon=True).start()'

# publishes SIZE CLIENTS WARDER-ARGUMENTS...: clients of the host reach a server in the jail, at the port that is printed.
publishes() {
	local size=$1 clients=$2 run port status
	shift 2
	: >"$scratch/err" # else the port of the run before may be found there
	"${as[@]}" "$warder" run --timeout 60s --pids 256 --publish 0:8000 "$@" -- python3 -c "$published_server" 2>"$scratch/err" &
	run=$!
	for _ in $(seq 1200); do
		port=$(sed -n 's/^warder: 127.0.0.1:\([0-9]*\) leads to port 8000 of the jail.*/\1/p' "$scratch/err")
		[ -z "$port" ] || break
		sleep 0.1
	done
	timeout 50 python3 -c "$published_client" "$port" "$size" "$clients"
	status=$?
	kill "$run"
	wait "$run"
	cat "$scratch/err"
	curl -s -m 2 -o /dev/null "http://127.0.0.1:$port/" && return 1
	return "$status"
}

nobody_listens() {
	hold
	"$warder" run --timeout 100s --publish 8801:8000 -- sh -c 'read go' <&8 2>"$scratch/err" &
	local run=$! status=7
	for _ in $(seq 600); do
		[ "$status" -eq 7 ] || break
		sleep 0.1
		curl -sS -m 3 -o /dev/null http://127.0.0.1:8801/ 2>"$scratch/out"
		status=$?
	done
	release
	wait "$run"
	cat "$scratch/out" "$scratch/err"
	[ "$status" -eq 56 ] && [ ! -s "$scratch/err" ]
}

port_is_taken() {
	python3 -c 'import socket, subprocess, sys
s = socket.create_server(("127.0.0.1", 0))
port = s.getsockname()[1]
done = subprocess.run([sys.argv[1], "run", "--publish", f"{port}:8000", "--", "true"], capture_output=True, text=True)
print(done.stderr)
assert done.returncode == 125 and f"network.publish[0]: cannot listen on 127.0.0.1:{port} of the host; choose another port" in done.stderr' "$warder"
}

result_has_ports() {
	"$warder" run --json --publish 0.0.0.0:0:8000 --publish 8802:8001 -- true | python3 -c '
import json, sys
r = json.load(sys.stdin)
first, second = r["network"]["published"]
assert first["address"] == "0.0.0.0" and first["hostPort"] > 0 and first["jailPort"] == 8000, first
assert second == {"address": "127.0.0.1", "hostPort": 8802, "jailPort": 8001}, second
row = [c for c in r["receipt"]["controls"] if c["control"] == "network.publish"][0]
assert row["status"] == "enforced" and row["value"] == "0.0.0.0:%d to port 8000, 127.0.0.1:8802 to port 8001" % first["hostPort"], row'
}

session_publishes() {
	local status=0
	"$warder" session start ports --net loopback --publish 0:8000 2>"$scratch/err" && status=1
	grep -q 'name a port of the host instead of 0' "$scratch/err" || status=1
	"$warder" session start ports --net loopback --publish 8803:8000 >/dev/null || return 1
	"$warder" session exec ports --background -- sh -c 'python3 -c "$0" &' "$published_server"
	timeout 30 python3 -c "$published_client" 8803 10000 4 || status=1
	"$warder" session stop ports || status=1
	return "$status"
}

# Its caller is killed while it runs: what it uses afterwards is learned, too.
learns_without_caller() {
	local id pid
	"$warder" session exec learns -- sh -c 'curl -sS http://a.cdn.test/; echo > /tmp/begun; until [ -e /tmp/go ]; do sleep 0.05; done; curl -sS http://pypi.test/' >/dev/null &
	pid=$!
	until "$warder" session exec learns -- test -e /tmp/begun || ! kill -0 "$pid"; do sleep 0.05; done
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	id=$("$warder" ps | awk '/ learns / && / running / { print $1 }')
	"$warder" session exec learns -- touch /tmp/go
	"$warder" wait --json "$id" | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(r["network"])
assert r["exitCode"] == 0
assert sorted((u["destination"], u["port"]) for u in r["network"]["learned"]["used"]) == [("a.cdn.test", 80), ("pypi.test", 80)]
assert {row["host"] for row in r["network"]["learned"]["policy"]["network"]["allow"]} == {"a.cdn.test", "pypi.test"}'
}

session_learns() {
	local status=0
	"$warder" session start learns --policy "$scratch/learn.json" --ceiling "$scratch/learn.json" >/dev/null || return 1
	"$warder" session exec learns -- curl -sS http://pypi.test/ || status=1
	"$warder" session exec learns --json -- sh -c "curl -sS http://a.cdn.test/; curl -s http://10.0.0.1/; true" >"$scratch/out"
	learns_without_caller || status=1
	"$warder" session stop learns || status=1
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
learned = r["network"]["learned"]
print(r["network"])
assert learned["policy"]["network"]["allow"] == [{"host": "a.cdn.test", "ports": [80]}], learned["policy"]["network"]
assert [(u["destination"], u["port"]) for u in learned["used"]] == [("a.cdn.test", 80)], learned["used"]
assert [(x["destination"], x["reason"]) for x in r["network"]["refusals"]] == [("10.0.0.1", "unlistedAddress")]
rows = {c["control"]: c["status"] for c in r["receipt"]["controls"]}
assert rows["network.learn"] == "enforced" and rows["network"] == "unrestricted", rows' "$scratch/out" || status=1
	return "$status"
}

if ! begin; then
	tap_not_ok "the namespaces of the test"
	tap_end
	exit
fi
label=''
as=()
try_all
try_v6
[ ! -e /proc/net/if_inet6 ] || check "the receipt has blocks of IPv6" receipt_has_v6
check "ways around the checks of first bytes" python3 tests/network/first_bytes.py "$warder"
check "bodies of requests, and what follows them" python3 tests/network/bodies.py "$warder"
check "a hostile program: nothing but what the rules allow leaves the host" python3 tests/network/stranger.py "$warder"
check "the host's network is as before, and no variable names a proxy" host_is_as_before
check "a name of the host's /etc/hosts, which the program does not see" hosts_file
check "100 connections at once" many_at_once
check "a jail does not reach the edge, names and sockets of another" jail_tries_other
check "${WARDER_NETWORK_CONNECTIONS:-1000} connections, 200 at once" very_many
check "${WARDER_NETWORK_CONNECTIONS:-1000} connections, ten times as many as there may be" too_many
check "clients that reset give up their place" resets_give_place
check "a resolver that is silent" bash -c '! "$0" run --timeout 30s --net allow --allow silent.test:80 -- curl -sS -m 25 http://silent.test/ 2>"$1/err" && grep -q "silent.test:80: the host.s resolver has no address" "$1/err"' "$warder" "$scratch"
check "the result lists what was refused" result_lists
learns
check "learn: the lines at the end, and the policy as a document" learn_is_printed
check "learn: an execution of a session lists its own destinations" session_learns
check "learn: refused without a ceiling" learn_is_refused 'network.mode: only a ceiling grants "learn" (--net learn), and there is none' --net learn
check "learn: --replay without it" learn_is_refused 'add --net learn' --replay
check "learn: refused by other backends" learn_is_refused 'only the backend local learns' --backend crun --net learn --ceiling "$scratch/learn.json"
check "the edge is confined, and gone at the end" edge_is_confined
check "an edge that is killed: no network, and the result says so" edge_fails KILL 'warder-edge died before'
check "an edge that is stopped: no network" edge_fails STOP ''
check "a root of its own" make_view
in_view directory:"$scratch/view"
check "view directory: refused where it has no place for the files" view_is_refused
if tar -C "$scratch/view" -c . | WARDER_STORE="$scratch/store" "$warder" image import - view:1 >"$scratch/out" 2>&1; then
	images=yes
	export WARDER_STORE="$scratch/store"
	in_view image:view:1
	check "view image: a session" session_in_view
	check "views: the directories and images are unchanged" view_is_as_before
	unset WARDER_STORE
else
	skip "view image: all of it" "$(head -n 1 "$scratch/out")"
fi
check "an edge that runs out of descriptors" edge_runs_out
check "questions for which no descriptor is left" edge_counts_waiting_questions
check "a stopped edge ends with its supervisor" stopped_edge_ends
check "a session" session_has_it
check "published: 8 clients with 2 MB each, three times" publishes 2000000 8
check "published: 80 clients at once, beside an allow-list" publishes 1000 80 --allow pypi.test:80
check "published: nobody listens in the jail" nobody_listens
check "published: a port that is taken is refused" port_is_taken
check "published: the result and the receipt have the ports" result_has_ports
check "published: a session" session_publishes
for what in bytes connections killed code tool; do
	check "published: $what" python3 tests/network/published.py "$warder" "$what"
done
for backend in crun runc podman docker; do
	label="$backend: "
	[[ " ${WARDER_WITHOUT:-} " != *" $backend "* ]] || continue
	if ! "$warder" run --backend "$backend" -- true 2>"$scratch/err"; then
		skip "${label}all of it" "$(head -n 1 "$scratch/err")"
		continue
	fi
	passes "HTTP to a name" '^hello pypi.test$' --backend "$backend" --allow pypi.test:80 -- "${get[@]}" http://pypi.test/
	refused "a name that is not listed" 'evil.test: network.allow does not list this name' --backend "$backend" --allow pypi.test:443 -- "${get[@]}" https://evil.test/
	refused "TLS to another name at the same address" 'pypi.test:443: the first bytes name another host: evil.test' --backend "$backend" --allow pypi.test:443 -- "${get[@]}" --connect-to evil.test:443:pypi.test:443 https://evil.test/
	refused "an address" "$world:80: network.allow does not list this address and port" --backend "$backend" --allow pypi.test:443 -- "${get[@]}" "http://$world/"
	passes "a block of IPv6" '^hello \[2606:4700::10\]$' --backend "$backend" --allow "[$world_v6/128]:80" -- "${get[@]}" "http://[$world_v6]/"
	in_view directory:"$scratch/view" --backend "$backend"
	if [ -n "${images:-}" ]; then
		export WARDER_STORE="$scratch/store"
		in_view image:view:1 --backend "$backend"
		check "${label}views: the directories and images are unchanged" view_is_as_before
		unset WARDER_STORE
	fi
	check "${label}published: 4 clients, beside an allow-list" publishes 10000 4 --backend "$backend" --allow pypi.test:80
	check "${label}published, without an allow-list" publishes 1000 2 --backend "$backend"
	check "${label}an edge that is killed: no network, and the result says so" edge_fails KILL 'warder-edge died before' --backend "$backend"
	check "${label}a container does not reach the edge, names and sockets of a jail" jail_tries_other --backend "$backend"
	check "${label}a supervisor that is killed takes the edge and the container with it" container_is_killed "$backend"
done
label=''
check "no edge is left" bash -c '! grep -lx warder-edge /proc/[0-9]*/comm 2>/dev/null | while read -r f; do p=${f%/comm}; [ "$(readlink "$p/ns/net")" = "$(readlink /proc/self/ns/net)" ] && echo "$p"; done | grep .'
label='as an ordinary user: '
as=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp)
limits=()
for field in memory swap cpus pids cpuTime; do
	limits+=(--prefer "limits.$field")
done
check "${label}published: 8 clients" publishes 10000 8 "${limits[@]}"
printf '#!/bin/bash\nexec %s %s "$1" %s "${@:2}"\n' "${as[*]}" "$warder" "${limits[*]}" >"$scratch/as-user"
chmod 755 "$scratch/as-user"
check "${label}ways around the checks of first bytes" python3 tests/network/first_bytes.py "$scratch/as-user"
check "${label}a hostile program: nothing but what the rules allow leaves the host" python3 tests/network/stranger.py "$scratch/as-user"
passes "HTTP to a name" '^hello pypi.test$' "${limits[@]}" --allow pypi.test:80 -- "${get[@]}" http://pypi.test/
refused "an address" "$world:80: network.allow does not list this address and port" "${limits[@]}" --allow pypi.test:443 -- "${get[@]}" "http://$world/"
refused "a name that leads to the host's loopback" 'rebind.test:80: the name leads to' "${limits[@]}" --allow rebind.test:80 -- "${get[@]}" http://rebind.test/
in_view directory:"$scratch/view" "${limits[@]}"
try_v6 "${limits[@]}"
chmod 644 "$scratch/learn.json"
learned "learn" 'assert allow == [{"host": "pypi.test", "ports": [80]}], allow' "${limits[@]}" -- curl -sS http://pypi.test/
tap_end
