"""Mirrors of package managers for clients.sh: pip, npm, cargo, Go, apt and git over HTTPS, each with one small package; and their names.

    mirrors.py ADDRESS CERTIFICATE KEY FILES

Serves FILES/NAME as https://NAME.test/, and FILES/git/tiny.git through git-http-backend. Makes the packages there. Prints "ready" when it serves.
"""
import base64
import hashlib
import http.server
import io
import json
import os
import ssl
import subprocess
import sys
import tarfile
import threading
import zipfile

import names

ADDRESS, CERTIFICATE, KEY, FILES = sys.argv[1:5]
HOSTS = ("plain", "pypi", "files", "npm", "tarballs", "index", "crates", "goproxy", "apt", "git", "registry", "auth")


def put(path, content):
    path = os.path.join(FILES, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def archive(kind, members):
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w") as z:
            for name, text in members.items():
                z.writestr(name, text)
    else:
        with tarfile.open(fileobj=out, mode="w:gz") as t:
            for name, text in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(text)
                t.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def make_pypi():
    info = "tiny-1.0.dist-info/"
    wheel = archive("zip", {
        "tiny.py": "print('hello from tiny')\n",
        info + "METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        info + "RECORD": f"tiny.py,,\n{info}METADATA,,\n{info}WHEEL,,\n{info}RECORD,,\n",
    })
    put("files/tiny-1.0-py3-none-any.whl", wheel)
    digest = hashlib.sha256(wheel).hexdigest()
    link = f"https://files.test/tiny-1.0-py3-none-any.whl#sha256={digest}"
    put("pypi/simple/tiny/index.html", f'<!DOCTYPE html><html><body><a href="{link}">tiny-1.0-py3-none-any.whl</a></body></html>')


def make_npm():
    package = {"name": "tiny", "version": "1.0.0", "main": "index.js"}
    tarball = archive("tar", {"package/package.json": json.dumps(package), "package/index.js": "console.log('hello from tiny')\n"})
    put("tarballs/tiny-1.0.0.tgz", tarball)
    dist = {"tarball": "https://tarballs.test/tiny-1.0.0.tgz",
            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()}
    put("npm/tiny", json.dumps({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {**package, "dist": dist}}}))


def make_cargo():
    crate = archive("tar", {
        "tiny-1.0.0/Cargo.toml": '[package]\nname = "tiny"\nversion = "1.0.0"\nedition = "2021"\n',
        "tiny-1.0.0/src/lib.rs": "pub const HELLO: &str = \"hello from tiny\";\n",
    })
    put("crates/tiny/1.0.0.crate", crate)
    put("index/config.json", json.dumps({"dl": "https://crates.test/{crate}/{version}.crate", "api": "https://crates.test"}))
    put("index/ti/ny/tiny", json.dumps({"name": "tiny", "vers": "1.0.0", "deps": [], "cksum": hashlib.sha256(crate).hexdigest(),
                                        "features": {}, "yanked": False}) + "\n")


def make_go():
    module = "module example.test/tiny\n"
    at, inside = "goproxy/example.test/tiny/@v/", "example.test/tiny@v1.0.0/"
    put(at + "list", "v1.0.0\n")
    put(at + "v1.0.0.info", '{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}')
    put(at + "v1.0.0.mod", module)
    put(at + "v1.0.0.zip", archive("zip", {inside + "go.mod": module, inside + "tiny.go": 'package tiny\n\nconst Hello = "hello from tiny"\n'}))


def make_apt():
    control = "Package: tiny\nVersion: 1.0\nArchitecture: all\nMaintainer: Test <test@apt.test>\nDescription: hello from tiny\n"
    put("deb/DEBIAN/control", control)
    os.makedirs(os.path.join(FILES, "apt"))
    package = os.path.join(FILES, "apt/tiny.deb")
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", os.path.join(FILES, "deb"), package], check=True,
                   stdout=subprocess.DEVNULL)
    with open(package, "rb") as file:
        content = file.read()
    put("apt/Packages", f"{control}Filename: ./tiny.deb\nSize: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n")


def make_git():
    work, bare = os.path.join(FILES, "work"), os.path.join(FILES, "git/tiny.git")
    put("work/hello", "hello from tiny\n")
    git = ["git", "-C", work, "-c", "user.name=Test", "-c", "user.email=test@git.test"]
    for words in (["init", "-q"], ["add", "hello"], ["commit", "-q", "-m", "hello"]):
        subprocess.run(git + words, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", work, bare], check=True)


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def translate_path(self, path):
        host = self.headers.get("Host", "").split(":")[0].removesuffix(".test")
        self.directory = os.path.join(FILES, host if host in HOSTS else "none")
        return super().translate_path(path)

    def do_GET(self):
        if self.headers.get("Host", "").startswith("git.test"):
            self.serve_git(b"")
        elif self.path.startswith("/elsewhere.git"):
            self.send_response(302)
            self.send_header("Location", "https://git.test/tiny.git" + self.path.removeprefix("/elsewhere.git"))
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            super().do_GET()

    def do_POST(self):
        self.serve_git(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def serve_git(self, body):
        path, _, query = self.path.partition("?")
        result = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env={
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": os.path.join(FILES, "git"), "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
            "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)), "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", "")}).stdout
        head, _, content = result.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass


put("plain/hello", "hello from tiny\n")
for make in (make_pypi, make_npm, make_cargo, make_go, make_apt, make_git):
    make()
server = Server((ADDRESS, 443), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERTIFICATE, KEY)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("ready", flush=True)
names.serve(ADDRESS, {host + ".test": [ADDRESS] for host in HOSTS})
