"""Bodies of requests: the edge finds where a body ends, passes the next request, and forwards the end of either side.

    bodies.py WARDER     run the requests in a jail in which one connection at a time may be open
    bodies.py --inside   make them
"""
import json
import socket
import subprocess
import sys

LARGE = 1000000
NEXT = b"GET /next HTTP/1.1\r\nHost: pypi.test\r\n\r\n"


def post(host, header, body=b""):
    return b"POST / HTTP/1.1\r\nHost: " + host + b"\r\n" + header + b"\r\n\r\n" + body


def counted(body, announced=None):
    return post(b"pypi.test", b"Content-Length: %d" % (len(body) if announced is None else announced), body)


def chunked(*chunks):
    return post(b"pypi.test", b"Transfer-Encoding: chunked", b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in (*chunks, b"")))


# label: bytes that are sent, the number of answers. Then this side ends, and the server answers what it has before it ends, too.
REQUESTS = {
    "head and body in one packet": (counted(b"hello"), 1),
    "a length of 0, then a request": (counted(b"") + NEXT, 2),
    "a request directly behind a body": (counted(b"hello") + NEXT, 2),
    "a request directly behind a large body": (counted(bytes(LARGE)) + NEXT, 2),
    "a body in which a request stands": (counted(b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n") + NEXT, 2),
    "a request directly behind large chunks": (chunked(bytes(LARGE), b"x", bytes(LARGE)) + NEXT, 2),
    "a body shorter than announced": (counted(b"hell", 5), 1),
    "a body much shorter than announced": (counted(bytes(LARGE), 8 * LARGE), 1),
}


def connect(name):
    return socket.create_connection((name, 80), 30)


def receive(s):
    said = b""
    while data := s.recv(65536):
        said += data
    return said


def answers(sent):
    with connect("pypi.test") as s:
        s.sendall(sent)
        s.shutdown(socket.SHUT_WR)
        return receive(s).count(b"HTTP/1.1 200 OK")


def early_answer():
    """The rest of the body follows the answer."""
    with connect("witness.test") as s:
        s.sendall(b"POST /early HTTP/1.1\r\nHost: witness.test\r\nContent-Length: 4\r\n\r\nab")
        said = s.recv(65536)
        s.sendall(b"cd")
        s.shutdown(socket.SHUT_WR)
        return said + receive(s)


def early_end():
    """The server ends while the body is on its way: the client's connection must end, too."""
    with connect("witness.test") as s:
        try:
            s.sendall(post(b"witness.test", b"Content-Length: %d" % 10**12, b"evil"))
            while True:
                s.sendall(bytes(LARGE))
        except ConnectionError:
            return True


def inside():
    for label, (sent, wanted) in REQUESTS.items():
        got = answers(sent)
        assert got == wanted, f"{label}: {got} answers instead of {wanted}"
    said = early_answer()
    assert said.startswith(b"HTTP/1.1 200 OK") and said.count(b"HTTP/1.1") == 1, said
    # Only one connection may be open, so each must end before the next.
    assert all(early_end() for _ in range(3))


def outside(warder):
    command = [warder, "run", "--json", "--timeout", "100s", "--net", "allow", "--max-connections", "1", "--allow", "pypi.test:80", "--allow", "witness.test:80"]
    with open(__file__, encoding="utf-8") as f:
        command += ["--", "python3", "-c", f.read(), "--inside"]
    result = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
    network = result["network"]
    if result["exitCode"] != 0 or network["refused"] or network["connections"] != len(REQUESTS) + 4:
        sys.exit(f"{result['stdout']['text']}{result['stderr']['text']}{network}")
    print(f"{network['connections']} connections passed")


if sys.argv[1:] == ["--inside"]:
    inside()
else:
    outside(sys.argv[1])
