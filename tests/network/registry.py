"""A registry of images for fetch.sh: Debian's docker-registry behind tokens, with one image for two architectures.

    registry.py ADDRESS CERTIFICATE KEY DIRECTORY

https://registry.test:5000/tiny:1 needs a token of https://auth.test:5443/; https://registry.test:5002/tiny:1 needs none, and leads to
https://plain.test/ for blobs. The files of both are in DIRECTORY/store. Prints "ready" when they serve.
"""
import base64
import hashlib
import http.server
import io
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tarfile
import time
import urllib.parse

ADDRESS, CERTIFICATE, KEY, DIRECTORY = sys.argv[1:5]
STORE, LAYOUT = DIRECTORY + "/store", DIRECTORY + "/layout"
SERVICE, ISSUER = "registry of the test", "auth of the test"
children = []


def put_blob(content):
    digest = hashlib.sha256(content).hexdigest()
    os.makedirs(LAYOUT + "/blobs/sha256", exist_ok=True)
    with open(f"{LAYOUT}/blobs/sha256/{digest}", "wb") as file:
        file.write(content)
    return {"digest": "sha256:" + digest, "size": len(content)}


def make_image(architecture):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        info = tarfile.TarInfo("architecture")
        info.size = len(architecture)
        t.addfile(info, io.BytesIO(architecture.encode()))
    layer = put_blob(out.getvalue())
    config = put_blob(json.dumps({"os": "linux", "architecture": architecture, "config": {},
                                  "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]}}).encode())
    kind = "application/vnd.oci.image."
    manifest = put_blob(json.dumps({"schemaVersion": 2, "mediaType": kind + "manifest.v1+json",
                                    "config": {"mediaType": kind + "config.v1+json", **config},
                                    "layers": [{"mediaType": kind + "layer.v1.tar", **layer}]}).encode())
    return {"mediaType": kind + "manifest.v1+json", "platform": {"os": "linux", "architecture": architecture}, **manifest}


def make_layout():
    kind = "application/vnd.oci.image.index.v1+json"
    inner = {"mediaType": kind, "annotations": {"org.opencontainers.image.ref.name": "1"},
             **put_blob(json.dumps({"schemaVersion": 2, "mediaType": kind,
                                    "manifests": [make_image(a) for a in ("amd64", "arm64")]}).encode())}
    for name, content in (("index.json", {"schemaVersion": 2, "manifests": [inner]}), ("oci-layout", {"imageLayoutVersion": "1.0.0"})):
        with open(f"{LAYOUT}/{name}", "w") as file:
            json.dump(content, file)


def begin(name, port, more):
    path = f"{DIRECTORY}/{name}.json"
    config = {"version": "0.1", "log": {"level": "error"}, **more}
    config["storage"] = {"filesystem": {"rootdirectory": STORE}}
    with open(path, "w") as file:
        json.dump(config, file)
    with open(f"{DIRECTORY}/{name}.log", "w") as log:
        process = subprocess.Popen(["docker-registry", "serve", path], stdout=log, stderr=log)
    children.append(process)
    for _ in range(200):
        try:
            socket.create_connection((ADDRESS, port)).close()
            return process
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"registry.py: {name} does not serve")


def encode(value):
    return base64.urlsafe_b64encode(value if isinstance(value, bytes) else json.dumps(value).encode()).rstrip(b"=").decode()


def token(scopes):
    with open(CERTIFICATE) as file:
        der = base64.b64encode(ssl.PEM_cert_to_DER_cert(file.read())).decode()
    now = int(time.time())
    access = [{"type": kind, "name": name, "actions": ["pull"]} for kind, name, _ in (s.split(":") for s in scopes)]
    claims = {"iss": ISSUER, "sub": "", "aud": SERVICE, "exp": now + 300, "nbf": now - 60, "iat": now, "jti": str(now), "access": access}
    text = encode({"typ": "JWT", "alg": "RS256", "x5c": [der]}) + "." + encode(claims)
    signed = subprocess.run(["openssl", "dgst", "-sha256", "-sign", KEY], input=text.encode(), capture_output=True, check=True).stdout
    return text + "." + encode(signed)


class Tokens(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        scopes = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("scope", [])
        body = json.dumps({"token": token(scopes)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def end(*_):
    for child in children:
        child.kill()
    os._exit(0)


signal.signal(signal.SIGTERM, end)
try:
    make_layout()
    plain = begin("plain", 5001, {"http": {"addr": ADDRESS + ":5001"}})
    subprocess.run(["skopeo", "--insecure-policy", "copy", "--quiet", "--all", "--dest-tls-verify=false", f"oci:{LAYOUT}:1",
                    f"docker://{ADDRESS}:5001/tiny:1"], check=True)
    tls = {"certificate": CERTIFICATE, "key": KEY}
    begin("tokens", 5000, {"http": {"addr": ADDRESS + ":5000", "tls": tls}, "auth": {"token": {
        "realm": "https://auth.test:5443/token", "service": SERVICE, "issuer": ISSUER, "rootcertbundle": CERTIFICATE}}})
    begin("elsewhere", 5002, {"http": {"addr": ADDRESS + ":5002", "tls": tls}, "middleware": {"storage": [
        {"name": "redirect", "options": {"baseurl": "https://plain.test/"}}]}})
    server = http.server.ThreadingHTTPServer((ADDRESS, 5443), Tokens)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print("ready", flush=True)
    server.serve_forever()
finally:
    end()
