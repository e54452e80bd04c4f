"""The rest of the world, in a network namespace of its own: HTTP on 80 and 8080, TLS on 443, TLS with a second ClientHello on 444, an echo on
7, names on 53; at another address witnesses, which say whether bytes have reached them that may not.

    server.py ADDRESS CERTIFICATE KEY SPECIAL

Prints "ready" when all of it listens.
"""
import http.server
import itertools
import socket
import ssl
import sys
import threading
import time

import names

ADDRESS, CERTIFICATE, KEY = sys.argv[1:4]
WITNESS = "11.22.33.11"
RETRY = bytes.fromhex("16030300580200005403" "03cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c") + bytes(50)
NAMES = {
    "pypi.test": [ADDRESS],
    "evil.test": [ADDRESS],
    "echo.test": [ADDRESS],
    "witness.test": [WITNESS],
    "a.cdn.test": [ADDRESS],
    "closed.test": ["11.22.33.10"],
    "rebind.test": ["127.0.0.1"],
    "meta.test": ["169.254.169.254"],
    "own.test": ["22.33.44.1"],
    "paper.test": ["203.0.113.10"],
    "mixed.test": ["127.0.0.1", ADDRESS],
    "six.test": ["2606:4700::10"],
}
SPECIAL = sys.argv[4].split()  # where the names r0.rebind.test and so on lead
NAMES.update({f"r{i}.rebind.test": [address] for i, address in enumerate(SPECIAL)})
turns = itertools.count()
NAMES["turn.test"] = lambda: [[ADDRESS, "127.0.0.1", "169.254.169.254", "10.0.0.1"][next(turns) % 4]]
asked = itertools.count()
NAMES["once.test"] = lambda: (time.sleep(1), [ADDRESS if next(asked) == 0 else "10.0.0.1"])[1]
NAMES.update({f"n{i}.many.test": [ADDRESS] for i in range(1100)})
SILENT = "silent.test"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = f"hello {self.headers.get('Host')}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        while self.headers.get("Transfer-Encoding") and (size := int(self.rfile.readline(), 16)):
            self.rfile.read(size + 2)
        if self.headers.get("Transfer-Encoding"):
            self.rfile.readline()
        self.do_GET()

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass


class Server6(Server):
    address_family = socket.AF_INET6


def echo(connection):
    with connection:
        try:
            while data := connection.recv(65536):
                connection.sendall(data)
        except OSError:
            pass


def answers(seen, port):
    """What a witness says to what it has seen so far: at most one answer for each end of a request, or to a ClientHello."""
    if port == 25:
        return [b"220 witness\r\n"]
    if seen[:1] == b"\x16":
        return [RETRY]
    if b"/early" in seen:
        return [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]
    if b"/101" in seen:
        return [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"] if b"\r\n\r\n" in seen else []
    return [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"] * seen.count(b"\r\n\r\n")


def witness(connection, port):
    seen, said = b"", 0
    with connection:
        try:
            while True:
                for answer in answers(seen, port)[said:]:
                    connection.sendall(answer)
                    said += 1
                data = connection.recv(65536)
                if not data:
                    return
                seen += data
                if seen.startswith(b"SLEEP"):
                    time.sleep(60)
                if b"evil" in seen:
                    connection.sendall(b"REACHED")
                    return
        except OSError:
            pass


def serve_witness(port):
    with socket.create_server((WITNESS, port), backlog=128) as s:
        while True:
            threading.Thread(target=witness, args=(s.accept()[0], port), daemon=True).start()


names.serve_apart(ADDRESS, NAMES, SILENT)
for port in (80, 443, 8080, 25):
    threading.Thread(target=serve_witness, args=(port,), daemon=True).start()
for port in (80, 8080, 443, 444):
    server = Server((ADDRESS, port), Handler)
    if port in (443, 444):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE, KEY)
        if port == 444:
            context.set_ecdh_curve("secp521r1")  # for which clients have no key in their first message
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
if socket.has_ipv6:
    threading.Thread(target=Server6(("2606:4700::10", 80), Handler).serve_forever, daemon=True).start()
echoes = socket.create_server((ADDRESS, 7), backlog=512)
print("ready", flush=True)
while True:
    threading.Thread(target=echo, args=(echoes.accept()[0],), daemon=True).start()
