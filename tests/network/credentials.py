"""A host that takes a credential, beyond a router: TLS on 443 for some names, names on 53.

    credentials.py ADDRESS DIRECTORY

DIRECTORY has good.pem (api.test, other.test), name.pem (of another name), stranger.pem (of an authority that nobody knows), and sent.pem and
alone.pem (of an authority between), each with its key. Prints "ready" when all of it listens. What a request had is answered as a hash of the header, so that an answer has no secret in it
unless its path asks for that.
"""
import hashlib
import http.server
import socket
import ssl
import sys
import threading
import time

ADDRESS, DIRECTORY = sys.argv[1:3]
NAMES = {"api.test", "other.test", "name.test", "stranger.test", "old.test", "sent.test", "alone.test"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body, extra=()):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        for name, value in extra:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def facts(self):
        got = self.headers.get_all("Authorization") or []
        told = ",".join(hashlib.sha256(v.encode()).hexdigest()[:16] for v in got) or "none"
        more = "".join(f" {n}={self.headers[n]}" for n in ("X-Test", "Range", "Accept-Encoding") if self.headers[n])
        return f"{self.headers.get('Host')} {self.command} {self.path} auth={told}{more}\n".encode()

    def chunk(self, data):
        self.wfile.write(b"%x;x=y\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def do_GET(self):
        value = (self.headers.get("Authorization") or "nothing-to-echo").encode()
        path = self.path.split("?")[0]
        if path == "/echo":
            self.answer(b"before " + value + b" after\n")
        elif path == "/echo-header":
            self.answer(b"body\n", [("X-Echo", value.decode())])
        elif path in ("/echo-split", "/echo-chunks", "/echo-bytes"):
            chunked = path != "/echo-split"
            self.send_response(200)
            self.send_header(*(("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(len(value)))))
            self.end_headers()
            step = 1 if path == "/echo-bytes" else len(value) // 2
            for at in range(0, len(value), step):
                part = value[at : at + step]
                self.chunk(part) if chunked else self.wfile.write(part)
                self.wfile.flush()
                time.sleep(0.2 if step > 1 else 0.002)
            if chunked:
                self.wfile.write(b"0\r\nX-Trailer: 1\r\n\r\n")
        elif path == "/prefix":
            # An answer may end with what the secret begins with.
            self.answer(b"ends with " + value[len("Bearer ") : len("Bearer ") + 6])
        elif path == "/chunks":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for i in range(100):
                self.chunk(b"%d " % i * 50)
            self.wfile.write(b"0\r\n\r\n")
        elif path == "/close":
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"until the end\n")
            self.close_connection = True
        elif path == "/large":
            self.answer(b"x" * 20000000)
        elif path == "/redirect":
            self.send_response(302)
            self.send_header("Location", "https://other.test/there")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif path == "/broken":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd")
        else:
            self.answer(self.facts())

    do_HEAD = do_DELETE = do_OPTIONS = do_TRACE = do_GET

    def do_POST(self):
        size = 0
        if self.headers.get("Transfer-Encoding"):
            while n := int(self.rfile.readline(), 16):
                size += len(self.rfile.read(n))
                self.rfile.readline()
            self.rfile.readline()
        else:
            size = len(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self.answer(self.facts() + b"%d bytes\n" % size)

    do_PUT = do_POST

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass


def answer(query):
    name, at = [], 12
    while query[at]:
        name.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    kind, end = query[at + 1] << 8 | query[at + 2], at + 5
    known = ".".join(name).lower() in NAMES
    addresses = [ADDRESS] if known and kind == 1 else []
    records = b"".join(b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(a) for a in addresses)
    return query[:2] + bytes([0x85, 0x80 if known else 0x83, 0, 1, 0, len(addresses), 0, 0, 0, 0]) + query[12:end] + records


def names():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((ADDRESS, 53))
        while True:
            query, sender = s.recvfrom(512)
            s.sendto(answer(query), sender)


def context(kind):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(f"{DIRECTORY}/{kind}.pem", f"{DIRECTORY}/{kind}.key")
    return made


others = {name + ".test": context(name) for name in ("name", "stranger", "sent", "alone")}


def choose(connection, name, _):
    if name in others:
        connection.context = others[name]


server = Server((ADDRESS, 443), Handler)
good = context("good")
good.sni_callback = choose
server.socket = good.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
plain = Server((ADDRESS, 80), Handler)
threading.Thread(target=plain.serve_forever, daemon=True).start()
threading.Thread(target=names, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
