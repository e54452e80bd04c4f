#!/usr/bin/env python3
"""nginx.py: a host behind nginx, with the example of warder-serve(1): TLS, a run, server-sent events, a terminal, an upload, the page, as TAP."""
import http.client, json, os, re, shutil, socket, ssl, subprocess, sys

from lib import SLOW, Host, Socket, certificate, events, run_parts, skip, tell, until, work

MANUAL = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../docs/warder-serve.1")
NAME = "sandbox.example.org"
NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")

# A server in a sandbox: it answers with the scheme that it was called by.
SERVER = r'''
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = self.headers.get("X-Forwarded-Proto", "none").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
http.server.HTTPServer(("", 8000), Handler).serve_forever()
'''


def example():
    """The example in the manual."""
    blocks = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", open(MANUAL).read(), re.S | re.M)
    return next(block for block in blocks if "proxy_pass" in block)


class Behind(Host):
    """A host whose clients connect to nginx."""

    def __init__(self, name, domain=False):
        """domain: sandboxes have names below NAME, too."""
        chain, key = certificate(name, NAME, "*." + NAME)
        self.nginx = None
        super().__init__(name, more={"domain": NAME, "ports": {"base": [8000]}} if domain else {"hosts": [NAME]})
        self.authority, self.chain = NAME, chain
        self.tls = ssl.create_default_context(cafile=chain)
        listener = socket.create_server(("127.0.0.1", 0))
        self.public = listener.getsockname()[1]
        self.directory = os.path.join(work, name + "-nginx")
        os.mkdir(self.directory)
        text = example()
        for old, new in (("listen 443 ", "listen 127.0.0.1:%d " % self.public), ("127.0.0.1:3000", "127.0.0.1:%d" % self.port),
                         ("/etc/ssl/sandbox.pem", chain), ("/etc/ssl/private/sandbox.key", key)):
            if text.count(old) != 1:
                raise RuntimeError("the example in the manual has not one \"%s\":\n%s" % (old, text))
            text = text.replace(old, new)
        if domain:
            text = text.replace("server_name %s;" % NAME, "server_name %s *.%s;" % (NAME, NAME))
        kinds = "".join("%s_temp_path %s/%s;\n" % (kind, self.directory, kind) for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(os.path.join(self.directory, "nginx.conf"), "w") as file:
            file.write("daemon off;\n%spid %s/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n%s%s}\n" % ("user root;\n" if os.geteuid() == 0 else "", self.directory, kinds, text))
        # Clients wait in the socket until nginx serves it.
        self.nginx = subprocess.Popen([NGINX, "-p", self.directory, "-c", "nginx.conf", "-e", "stderr"], env=dict(os.environ, NGINX="%d;" % listener.fileno()),
                                      pass_fds=[listener.fileno()], stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)
        listener.close()

    def connect(self):
        return self.tls.wrap_socket(socket.create_connection(("127.0.0.1", self.public), 30 * SLOW), server_hostname=NAME)

    def curl(self, path, *words):
        """The body, and a last line with the version of HTTP and the status."""
        done = subprocess.run(["curl", "-sS", "-m", str(int(60 * SLOW)), "--cacert", self.chain, "--connect-to", "%s:443:127.0.0.1:%d" % (NAME, self.public),
                               "-w", "\n%{http_version} %{http_code}", *words, "https://%s%s" % (NAME, path)], capture_output=True, text=True)
        return (done.stdout or done.stderr).rsplit("\n", 1)

    def end_nginx(self):
        if self.nginx:
            self.nginx.terminate()
            self.nginx.wait()

    def end(self):
        self.end_nginx()
        super().end()

    def clear(self):
        self.end_nginx()
        super().clear()


def requests():
    host = Behind("requests")
    token = host.tenant("me")
    status, data, _ = host.ask("GET", "/health")
    tell(status == 204, "/health over TLS", (status, data, open(host.errors.name).read()))
    status, data, _ = host.ask("POST", "/v1/run", token, {"argv": ["echo", "hello"]})
    tell(status == 200 and data["stdout"]["text"] == "hello\n" and data["receipt"], "a run", (status, str(data)[:500]))
    body, said = host.curl("/v1/run", "--http2", "-H", "X-API-Key: " + token, "-d", '{"argv": ["echo", "hello"]}')
    tell(said == "2 200" and json.loads(body)["stdout"]["text"] == "hello\n", "a run over HTTP/2", (body, said))
    tell(host.ask("GET", "/v1/host")[0] == 401, "a request without a token is refused")
    own = lambda origin: host.ask("GET", "/v1/host", token, more="Origin: %s\r\n" % origin)[0]
    tell(own("https://" + NAME) == 200 and own("https://evil.example.org") == 403, "the host's own page may use it, a page of another origin may not")
    page = lambda path, body, more: host.ask("POST", path, None, body, "Origin: https://%s\r\n%s" % (NAME, more))
    status, made, headers = page("/page/login", {"token": token}, "X-Warder-Page: login\r\n")
    cookie = headers.get("Set-Cookie", "")
    tell(status == 200 and cookie.startswith("__Host-warder=") and cookie.endswith("; Secure"), "no page of another name can set the cookie of the host's page", (status, cookie))
    pair = "Cookie: warder=%s; %s\r\nX-Warder-Page: %s\r\n" % ("0" * 40, cookie.split(";")[0], made["key"])
    tell(host.ask("GET", "/v1/host", None, more=pair)[0] == 200, "nor replace it by one with a longer path")
    status, _, headers = page("/page/logout", b"", pair)
    tell(status == 204 and headers["Set-Cookie"].startswith("__Host-warder=;") and "Max-Age=0" in headers["Set-Cookie"], "a logout removes it", (status, str(headers)))
    host.authority = "other.example.org"
    tell(host.ask("GET", "/v1/host", token)[0] == 421, "the host sees the Host header of the client")
    host.end()


def streams():
    host = Behind("streams")
    token = host.tenant("me")
    box = host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 600000})[1]["id"]
    path = "/v1/sandboxes/%s/executions" % box
    started = path + "/" + host.ask("POST", path, token, {"argv": ["sh", "-c", "echo begun; read x; echo $x"], "input": True})[1]["id"]
    with host.connect() as stream:
        stream.sendall(host.request("GET", started + "/output", token))
        answer = http.client.HTTPResponse(stream)
        got = b""
        try:
            answer.begin()
            while b"begun" not in got:
                got += answer.read1() or b"(the end)begun"
        except OSError as error:
            got += repr(error).encode()
        tell(events(got)[:1] and events(got)[0][1]["text"] == "begun\n", "an event passes while the program waits for input", got)
        host.ask("POST", started + "/input", token, {"text": "late\n", "close": True})
        try:
            got += answer.read() if answer.headers else b""  # there are none if it never began
        except (OSError, http.client.HTTPException) as error:
            got += repr(error).encode()
    tell([name for name, _ in events(got)] == ["output", "output", "end"] and events(got)[1][1]["text"] == "late\n", "and the others follow", got)
    started = path + "/" + host.ask("POST", path, token, {"argv": ["/bin/bash", "--norc", "-i"], "rows": 24, "columns": 80})[1]["id"]
    one = Socket(host, started + "/terminal", token)
    tell(one.status == 101, "a WebSocket is opened", one.head)
    if one.status == 101:
        one.send(2, b"stty size; echo is$((1))on\n")
        tell(one.until(b"is1on") and b"24 80" in one.text, "its terminal takes input and sends output", one.text)
        one.send(1, json.dumps({"rows": 30, "columns": 100}).encode())
        one.send(2, b"stty size\n")
        tell(one.until(b"30 100"), "and is resized", one.text)
        one.send(2, b"exit 7\n")
        code = one.finish()
        tell(code == 1000 and any(json.loads(text).get("end", {}).get("exitCode") == 7 for opcode, text in one.ends if opcode == 1), "and says how its program ended", (code, one.ends))
    data = os.urandom(3 << 20)
    at = "/v1/sandboxes/%s/files?path=/tmp/big" % box
    status, row, _ = host.ask("PUT", at, token, data)
    tell(status == 200 and host.ask("GET", at, token)[1] == data, "3 MiB go in and out as they are", (status, row))
    host.end()


def names():
    host = Behind("names", domain=True)
    token = host.tenant("me")
    made = host.ask("POST", "/v2/sandboxes", token, {"templateID": "base", "timeout": 600})[1]
    tell(made["domain"] == NAME, "behind nginx, the domain has no port", made)
    box = made["sandboxID"]
    host.ask("POST", "/v1/sandboxes/%s/executions" % box, token, {"argv": ["python3", "-c", SERVER]})
    host.authority = "49983-%s.%s" % (box, NAME)
    tell(host.ask("GET", "/health", None, more="X-Access-Token: %s\r\n" % made["envdAccessToken"])[0] == 204, "a sandbox has its names", host.authority)
    host.authority = "8000-%s.%s" % (box, NAME)
    traffic = "E2b-Traffic-Access-Token: %s\r\n" % made["trafficAccessToken"]
    tell(until(lambda: host.ask("GET", "/", None, more=traffic)[0] == 200), "and a server in it is reached", host.ask("GET", "/", None, more=traffic))
    tell(host.ask("GET", "/", None, more=traffic + "X-Forwarded-Proto: http\r\n")[1] == b"https", "which sees that the connection is encrypted, whatever the client says")
    tell(host.ask("GET", "/", None)[0] == 401, "with a token alone")
    host.authority = NAME
    host.end()


if not NGINX:
    skip("a host behind nginx", "nginx is not installed")
    print("1..1")
    sys.exit(0)
run_parts((requests, streams, names))
