"""Ways around the checks of first bytes, from a jail to a witness that tells whether "evil" has reached it.

    first_bytes.py WARDER     run the attempts in a jail, and compare the refusals with those that are expected
    first_bytes.py --inside   make the attempts

Each attempt is a connection of its own, to a port of witness.test, of pieces that are sent one after the other.
"""
import asyncio
import collections
import json
import struct
import subprocess
import sys

HOST = b"Host: witness.test\r\n"
EVIL = b"Host: evil.test\r\n"
GOOD = b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"
BAD = b"GET / HTTP/1.1\r\n" + EVIL + b"\r\n"
CHUNKED = b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"


def hello(name, extra=b"", size=16384, version=0x0303):
    """A ClientHello in records of at most so many bytes."""
    names = b"" if name is None else struct.pack(">HHHBH", 0, len(name) + 5, len(name) + 3, 0, len(name)) + name
    extensions = names + extra
    body = struct.pack(">H32sB", version, b"r" * 32, 0) + b"\0\2\x13\1\1\0" + struct.pack(">H", len(extensions)) + extensions
    message = b"\1" + struct.pack(">I", len(body))[1:] + body
    parts = [message[i : i + size] for i in range(0, len(message), size)]
    return b"".join(record(22, part) for part in parts)


def record(kind, data, version=b"\3\1"):
    return bytes([kind]) + version + struct.pack(">H", len(data)) + data


ECH = struct.pack(">HH", 0xFE0D, 4) + b"evil"
ALERT = record(21, b"\1\x5a")
OLD = b"\x80\x31\1\3\3\0\x18\0\0\0\x10" + b"\0\0\x2f" * 8 + b"evil" + b"r" * 12


def http(head, port=80, reason="http"):
    return port, reason, [head]


# label: port, reason, pieces
ATTEMPTS = {
    # another name in the first request
    "another Host": http(BAD, reason="otherName"),
    "another Host on another port": http(BAD, 8080, "otherName"),
    "two Hosts, the other one second": http(b"GET / HTTP/1.1\r\n" + HOST + EVIL + b"\r\n"),
    "two Hosts, the other one first": http(b"GET / HTTP/1.1\r\n" + EVIL + HOST + b"\r\n"),
    "a Host with another port": http(b"GET /evil HTTP/1.1\r\nHost: witness.test:81\r\n\r\n", reason="otherName"),
    "a Host with a user": http(b"GET / HTTP/1.1\r\nHost: witness.test@evil.test\r\n\r\n", reason="otherName"),
    "a Host with two names": http(b"GET / HTTP/1.1\r\nHost: witness.test, evil.test\r\n\r\n", reason="otherName"),
    "a Host with a port and a name": http(b"GET / HTTP/1.1\r\nHost: witness.test:80.evil.test\r\n\r\n", reason="otherName"),
    "a Host with two dots": http(b"GET /evil HTTP/1.1\r\nHost: witness.test..\r\n\r\n", reason="otherName"),
    "no Host": http(b"GET /evil HTTP/1.1\r\n\r\n"),
    "an empty Host": http(b"GET /evil HTTP/1.1\r\nHost:\r\n\r\n", reason="otherName"),
    "an absolute target": http(b"GET http://evil.test/ HTTP/1.1\r\n" + HOST + b"\r\n", reason="otherName"),
    "an absolute target with a user": http(b"GET http://witness.test@evil.test/ HTTP/1.1\r\n" + HOST + b"\r\n", reason="otherName"),
    "an absolute target with another scheme": http(b"GET ftp://evil.test/ HTTP/1.1\r\n" + HOST + b"\r\n"),
    "a target that is a name": http(b"GET evil.test HTTP/1.1\r\n" + HOST + b"\r\n"),
    # heads that can be read in two ways
    "a folded header": http(b"GET / HTTP/1.1\r\n" + HOST + b"X: y\r\n " + EVIL + b"\r\n"),
    "a folded Host": http(b"GET / HTTP/1.1\r\nHost:\r\n evil.test\r\n\r\n"),
    "a space before the colon": http(b"GET / HTTP/1.1\r\n" + HOST + b"Host : evil.test\r\n\r\n"),
    "a space before a header": http(b"GET / HTTP/1.1\r\n " + EVIL + HOST + b"\r\n"),
    "bare line feeds": http(b"GET / HTTP/1.1\n" + b"Host: evil.test\n\n" + GOOD),
    "a bare line feed between headers": http(b"GET / HTTP/1.1\r\n" + HOST + b"X: y\nHost: evil.test\r\n\r\n"),
    "a bare carriage return": http(b"GET / HTTP/1.1\r\n" + HOST + b"X: y\rHost: evil.test\r\n\r\n"),
    "a carriage return at a line's end": http(b"GET / HTTP/1.1\r\n" + HOST + b"\r\r\n" + EVIL + b"\r\n"),
    "a zero byte in a header": http(b"GET / HTTP/1.1\r\n" + HOST + b"X: \0\r\n" + EVIL + b"\r\n"),
    "a zero byte in the Host": http(b"GET / HTTP/1.1\r\nHost: witness.test\0.evil.test\r\n\r\n"),
    "a zero byte in the target": http(b"GET /\0evil HTTP/1.1\r\n" + HOST + b"\r\n", reason="firstBytes"),
    "a next line of Latin 1": http(b"GET / HTTP/1.1\r\n" + HOST + b"X: y\x85" + EVIL + b"\r\n"),
    "a vertical tab in a header": http(b"GET / HTTP/1.1\r\n" + HOST + b"X: y\x0b" + EVIL + b"\r\n"),
    "empty lines before the request": http(b"\r\n\r\n" + BAD + GOOD),
    "line feeds before the request": http(b"\n\n" + BAD + GOOD),
    "two spaces in the first line": http(b"GET  /evil HTTP/1.1\r\n" + HOST + b"\r\n"),
    "a target with a space": http(b"GET /a evil HTTP/1.1\r\n" + HOST + b"\r\n"),
    "HTTP/0.9": http(b"GET /evil\r\n\r\n"),
    "HTTP/1.2": http(b"GET /evil HTTP/1.2\r\n" + HOST + b"\r\n"),
    # other methods and versions
    "CONNECT": http(b"CONNECT evil.test:443 HTTP/1.1\r\n" + HOST + b"\r\n", reason="connect"),
    "CONNECT on another port": http(b"CONNECT evil.test:443 HTTP/1.1\r\n" + HOST + b"\r\n", 8080, "connect"),
    "HTTP/2": http(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nevil", reason="http2"),
    "HTTP/2 on another port": http(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nevil", 8080, "http2"),
    "HTTP/2 in pieces": (8080, "http2", [b"P", b"R", b"I", b" * HTTP/2.0\r\n\r\n", b"SM\r\n\r\nevil"]),
    "h2c": http(b"GET /evil HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", reason="http2"),
    "h2c in a list": http(b"GET /evil HTTP/1.1\r\n" + HOST + b"Upgrade: websocket, H2C\r\n\r\n", reason="http2"),
    # bodies in which a request may be found
    "two lengths": http(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\nContent-Length: 40\r\n\r\n" + BAD),
    "a length and chunks": http(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + BAD),
    "a length with a sign": http(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: +40\r\n\r\n" + BAD),
    "a length with a list": http(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 40, 0\r\n\r\n" + BAD),
    "a length with an underscore": http(b"POST / HTTP/1.1\r\n" + HOST + b"Content_Length: 0\r\nContent-Length: 37\r\n\r\n" + BAD),
    "an encoding with an underscore": http(b"POST / HTTP/1.1\r\n" + HOST + b"Transfer_Encoding: chunked\r\nContent-Length: 44\r\n\r\n0\r\n\r\n" + BAD),
    "another encoding": http(b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: identity\r\n\r\n" + BAD),
    "an encoding in a list": http(b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: x, chunked\r\n\r\n" + BAD),
    "an encoding with a tab": http(b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding:\x0bchunked\r\n\r\n" + BAD),
    "chunks in HTTP/1.0": http(CHUNKED.replace(b"1.1", b"1.0") + b"0\r\n\r\n" + BAD),
    "a body of a GET": http(b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 38\r\n\r\n" + BAD),
    "chunks of a GET": http(b"GET / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n26\r\n" + BAD),
    "a chunk's size with a sign": http(CHUNKED + b"+0\r\n\r\n" + BAD),
    "a chunk's size with a prefix": http(CHUNKED + b"0x0\r\n\r\n" + BAD),
    "a chunk's size with a space": http(CHUNKED + b"0 \r\n\r\n" + BAD),
    "a chunk's size with a line feed": http(CHUNKED + b"0\n\r\n" + BAD),
    "a chunk's size of 17 digits": http(CHUNKED + b"00000000000000000\r\n\r\n" + BAD),
    "a chunk's extension with a line feed": http(CHUNKED + b"0;\n" + BAD),
    "a chunk without its end": http(CHUNKED + b"1\r\nx" + BAD),
    "a Host in the trailer": http(CHUNKED + b"0\r\n" + EVIL + b"\r\n"),
    "a request in the trailer": http(CHUNKED + b"0\r\n" + BAD),
    "an upgrade with a body": http(b"POST / HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\nContent-Length: 38\r\n\r\n" + BAD),
    # the next request
    "a second request": http(GOOD + BAD, reason="otherName"),
    "a second request in a piece of its own": (80, "otherName", [GOOD, BAD]),
    "a second request on another port": (8080, "otherName", [GOOD, BAD]),
    "a second request behind an early answer": (80, "otherName", [b"POST /early HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\n\r\nx", b"y" + BAD]),
    "a second request behind chunks": http(CHUNKED + b"0\r\n\r\n" + BAD, reason="otherName"),
    "a second request without the server's upgrade": (80, "otherName", [b"GET / HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\n\r\n", BAD]),
    "an upgrade by the second request": (80, "http", [GOOD, b"GET /101 HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\n\r\n" + BAD]),
    "an answer of 101 that nobody asked for": (80, "otherName", [b"GET /101 HTTP/1.1\r\n" + HOST + b"\r\n", BAD]),
    # requests of other forms, where other protocols pass
    "a method in small letters": http(b"get / HTTP/1.1\r\n" + EVIL + b"\r\n", 8080, "otherName"),
    "a method in pieces": (8080, "otherName", [b"g", b"et", b" / HTTP/1.1\r\n" + EVIL + b"\r\n"]),
    "a long method": http(b"X" * 40 + b" / HTTP/1.1\r\n" + EVIL + b"\r\n", 8080),
    "a long method in pieces": (8080, "http", [b"X" * 40, b"X" * 40, b" / HTTP/1.1\r\n" + EVIL + b"\r\n"]),
    "a zero byte first": (8080, "http", [b"\0", BAD]),
    "a space first": http(b" " + BAD, 8080),
    "a control character in the target": http(b"GET /\x01 HTTP/1.1\r\n" + EVIL + b"\r\n", 8080),
    "separators of Python's": http(b"GET\x1c/\x1cHTTP/1.1\r\n" + EVIL + b"\r\n", 8080),
    "HTTP/0.9 on another port": http(b"GET /evil\r\n\r\n", 8080),
    # TLS
    "another server name": http(hello(b"evil.test"), 443, "otherName"),
    "another server name on another port": http(hello(b"evil.test"), 8080, "otherName"),
    "another server name in records of 1 byte": http(hello(b"evil.test", size=1), 443, "otherName"),
    "two server names": http(hello(b"witness.test", hello(b"evil.test")[52:]), 443, "firstBytes"),
    "an encrypted name": http(hello(b"witness.test", ECH), 443, "encryptedHello"),
    "an encrypted name on another port": http(hello(b"witness.test", ECH), 8080, "encryptedHello"),
    "no server name": http(hello(None, struct.pack(">HH", 21, 4) + b"evil"), 443, "noServerName"),
    "SSL 3.0": http(hello(b"witness.test", struct.pack(">HH", 21, 4) + b"evil", version=0x0300), 443, "noServerName"),
    "SSL 2.0": http(OLD, 8080, "noServerName"),
    "an alert first": http(ALERT + hello(b"evil.test"), 8080, "firstBytes"),
    "an alert of another version first": http(record(21, b"\1\x5a", b"\x09\0") + hello(b"evil.test"), 8080, "firstBytes"),
    "a version that few servers take": http(b"\x16\2" + hello(b"evil.test")[2:], 8080, "firstBytes"),
    "a second ClientHello in the same piece": http(hello(b"witness.test") + hello(b"evil.test"), 443, "otherName"),
    "a second ClientHello after the answer": (443, "otherName", [hello(b"witness.test"), record(20, b"\1") + hello(b"evil.test")]),
    "another protocol on 443": http(b"SSH-2.0-evil\r\n", 443, "firstBytes"),
    "another protocol on 80": http(b"EHLO evil\r\n", 80, "firstBytes"),
    # first bytes that do not come to an end
    "a request without an end": http(b"GET /evil HTTP/1.1\r\n" + HOST, 80, "undecided"),
    "a first line without an end": http(b"GET /evil", 8080, "undecided"),
    "a ClientHello without an end": http(hello(b"evil.test")[:-1], 443, "undecided"),
    "a record without an end": http(b"\x16", 8080, "undecided"),
    "a request byte by byte": (80, "undecided", [bytes([b]) for b in b"GET /evil"] + [b""] * 1000),
    "a head of 40,000 bytes": http(b"GET /evil HTTP/1.1\r\n" + HOST + b"X: " + b"y" * 40000, 80, "http"),
}

# label: port, pieces, the beginning of the answer. The second shows that the witness tells.
CONTROLS = {
    "a request": (80, [GOOD], b"HTTP/1.1 200"),
    "a body": (80, [b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\n\r\nevil"], b"REACHED"),
    "an upgrade": (80, [b"GET /101 HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\n\r\n"], b"HTTP/1.1 101"),
    "a ClientHello": (443, [hello(b"WITNESS.test")], b"\x16\3\3"),
    "a server that speaks first": (25, [], b"220 witness"),
    "another protocol behind it": (25, [b"EHLO ", b"evil\r\n"], b"220 witness\r\nREACHED"),
    "another protocol": (8080, [b"0032git-upload-pack /evil\0host=witness.test\0"], b"REACHED"),
    "a word, and its rest later": (8080, [b"AUTH", b"\nevil"], b"REACHED"),
}


async def attempt(port, pieces, enough=1 << 20):
    """What the server has said until the connection ended, or until it said enough."""
    reader, writer = await asyncio.open_connection("witness.test", port)
    said = b""
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.2)
        while len(said) < enough:
            data = await reader.read(65536)
            if not data:
                return said, "its end"
            said += data
    except ConnectionError:
        return said + reader._buffer, "a reset"  # the rest of what came before
    finally:
        writer.close()
    return said, "enough"


async def inside():
    places = asyncio.Semaphore(30)
    wrong = []

    async def limited(label, port, pieces, enough=1 << 20):
        async with places:
            try:
                return label, await asyncio.wait_for(attempt(port, pieces, enough), 30)
            except asyncio.TimeoutError:
                return label, (b"", "a time limit")

    for label, (said, end) in await asyncio.gather(*[limited(label, port, pieces) for label, (port, _, pieces) in ATTEMPTS.items()]):
        if b"REACHED" in said or end not in ("a reset", "its end"):
            wrong.append(f"{label}: {end}, {said!r}")
    for label, (port, pieces, wanted) in CONTROLS.items():
        _, (said, end) = await limited(label, port, pieces, len(wanted))
        if not said.startswith(wanted):
            wrong.append(f"control {label}: {end}, {said!r}")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


def outside(warder):
    command = [warder, "run", "--json", "--timeout", "100s", "--net", "allow", "--allow", "witness.test:25,80,443,8080"]
    with open(__file__, encoding="utf-8") as f:
        command += ["--", "python3", "-c", f.read(), "--inside"]
    result = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
    if result["exitCode"] != 0:
        sys.exit(result["stdout"]["text"] + result["stderr"]["text"])
    network = result["network"]
    got = collections.Counter()
    for row in network["refusals"]:
        got[row["port"], row["reason"]] += row["count"]
    wanted = collections.Counter((port, reason) for port, reason, _ in ATTEMPTS.values())
    if got != wanted or network["refused"] != len(ATTEMPTS):
        sys.exit(f"refused more than expected: {got - wanted}; less: {wanted - got}; in all {network['refused']} of {len(ATTEMPTS)}")
    print(f"{len(ATTEMPTS)} attempts were refused and counted, {len(CONTROLS)} connections passed")


if sys.argv[1:] == ["--inside"]:
    asyncio.run(inside())
else:
    outside(sys.argv[1])
