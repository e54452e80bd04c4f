"""The rest of the world, in a network namespace of its own: HTTP on 80 and 8080, TLS on 443, an echo on 7, names on 53.

    server.py ADDRESS CERTIFICATE KEY

Prints "ready" when all of it listens.
"""
import http.server
import socket
import ssl
import sys
import threading

import names

ADDRESS, CERTIFICATE, KEY = sys.argv[1:4]
NAMES = {
    "pypi.test": [ADDRESS],
    "evil.test": [ADDRESS],
    "echo.test": [ADDRESS],
    "a.cdn.test": [ADDRESS],
    "closed.test": ["11.22.33.10"],
    "rebind.test": ["127.0.0.1"],
    "meta.test": ["169.254.169.254"],
    "own.test": ["22.33.44.1"],
    "paper.test": ["203.0.113.10"],
    "mixed.test": ["127.0.0.1", ADDRESS],
}
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


def echo(connection):
    with connection:
        try:
            while data := connection.recv(65536):
                connection.sendall(data)
        except OSError:
            pass


for port in (80, 8080, 443):
    server = Server((ADDRESS, port), Handler)
    if port == 443:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE, KEY)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
echoes = socket.create_server((ADDRESS, 7), backlog=512)
threading.Thread(target=names.serve, args=(ADDRESS, NAMES, SILENT), daemon=True).start()
print("ready", flush=True)
while True:
    threading.Thread(target=echo, args=(echoes.accept()[0],), daemon=True).start()
