#!/usr/bin/env python3
"""domain.py: the names that sandboxes have below a domain, PORT-ID.NAME, over TLS: E2B's services, servers in a sandbox, WebSockets, as TAP."""
import base64, hashlib, http.client, json, os, select, ssl, subprocess, threading, time

from lib import SLOW, Host, asking_for_socket, certificate, front, run_parts, skip, tell, until, work

NAME = "sandbox.example.org"

# A server in a sandbox: /echo says what it got, the other paths answer in ways of their own.
SERVER = r'''
import base64, hashlib, json, socket, sys, threading
def lines(f):
    head = []
    while True:
        line = f.readline()
        if line in (b"\r\n", b""):
            return head
        head.append(line.decode("latin-1").rstrip("\r\n"))
def serve(one):
    f = one.makefile("rb")
    head = lines(f)
    if not head:
        return
    method, path, _ = head[0].split(" ")
    names = [line.split(": ", 1) for line in head[1:]]
    fields = {name.lower(): value for name, value in names}
    body = b""
    if path.startswith("/early"):
        one.sendall(b"HTTP/1.1 413 Too Long\r\nContent-Length: 5\r\n\r\nearly")
        one.shutdown(socket.SHUT_WR)
        while one.recv(65536):
            pass
        return
    if path == "/long":
        one.sendall(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 4000 + b"\r\n\r\n")
        threading.Event().wait()
    if path == "/broken":
        wait.wait()
        one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nearly")
        one.shutdown(socket.SHUT_WR)
        threading.Event().wait()
    if fields.get("transfer-encoding") == "chunked":
        while True:
            size = int(f.readline().split(b";")[0], 16)
            body += f.read(size)
            f.readline()
            if not size:
                break
    elif "content-length" in fields:
        body = f.read(int(fields["content-length"]))
    say = lambda text: one.sendall(text.encode() if isinstance(text, str) else text)
    if path.startswith("/ws"):
        key = base64.b64encode(hashlib.sha1((fields["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + key + "\r\n\r\nfirst")
        while path == "/ws/flood":
            say(b"x" * 65536)
        while True:
            data = one.recv(65536)
            if not data or data == b"end":
                break
            say(data)
    elif path == "/stream":
        say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n")
        wait.wait()
        say("4\r\ntwo\n\r\n0\r\n\r\n")
    elif path == "/go":
        wait.set()
        say("HTTP/1.1 204 No Content\r\n\r\n")
    elif path == "/cookies":
        say("HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Domain=sandbox.example.org; Path=/\r\nSet-Cookie: b=2; HttpOnly\r\nSet-Cookie: warder=0\r\nSet-Cookie: domain=c; domain=sandbox.example.org\r\nClear-Site-Data: \"cookies\"\r\nContent-Length: 2\r\nX-Own: yes\r\n\r\nok")
    elif path.startswith("/raw/"):
        say(base64.b64decode(path[5:]))
    elif path.startswith("/head/"):
        say("HTTP/1.1 200 OK\r\nX: " + "y" * int(path[6:]) + "\r\n\r\n")
    elif path.startswith("/bytes/"):
        say("HTTP/1.0 200 OK\r\n\r\n" + "x" * int(path[7:]))
    elif path.startswith("/hang"):
        print(path, flush=True)
        one.recv(1)
    else:
        text = json.dumps({"method": method, "path": path, "headers": names, "bytes": len(body), "sum": hashlib.sha256(body).hexdigest()})
        say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(text), "" if method == "HEAD" else text))
def each(one):
    try:
        serve(one)
    except OSError:
        pass
    one.close()
wait = threading.Event()
threading.stack_size(1 << 18)
listener = socket.create_server((sys.argv[1], int(sys.argv[2])), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, backlog=128)
print("listens", flush=True)
while True:
    one = listener.accept()[0]
    try:
        threading.Thread(target=each, args=(one,), daemon=True).start()
    except RuntimeError:
        one.close()
'''


class Named(Host):
    """A host with a domain of its own, and a certificate for all names below."""

    def __init__(self, name, ports=None, encrypts=True, **limits):
        self.chain, key = certificate(name, "localhost", NAME, "*." + NAME)
        self.loopback = loopback = {"version": 1, "limits": {"wallTime": "1h"}, "network": {"mode": "loopback"}, "filesystem": {"view": "host", "tmp": "64MiB"},
                                    "enforcement": {} if os.geteuid() == 0 else {"limits": "preferred"}}
        templates = {"web": loopback, "alone": dict(loopback, network={"mode": "none"}), "few": dict(loopback, limits={"wallTime": "1h", "openFiles": 24})}
        super().__init__(name, [*(["--tls-cert", self.chain, "--tls-key", key] if encrypts else []), "--domain", NAME],
                         tls=ssl.create_default_context(cafile=self.chain) if encrypts else None, more={"templates": templates, "ports": ports or {"base": "any", "web": [3000], "few": "any"}}, **limits)

    def named(self, label, token=None, kind="X-API-Key"):
        """What asks at a name below the domain."""
        return At(self, label + "." + NAME if label else NAME, {kind: token} if token else {})

    def sandbox(self, token, template="base", **more):
        """(id, traffic token, access token) of a new one."""
        status, made, _ = self.named("api", token).ask("POST", "/v2/sandboxes", json.dumps(dict({"templateID": template, "timeout": 600}, **more)))
        assert status == 201, made
        return made["sandboxID"], made["trafficAccessToken"], made["envdAccessToken"]

    def server(self, token, box, port=3000, address="0.0.0.0"):
        """Without a cgroup, the memory limit is one of addresses: the stack and the heap of each thread would count in full."""
        return self.started(token, box, ["env", "MALLOC_ARENA_MAX=1", "python3", "-c", SERVER, address, str(port)])

    def started(self, token, box, argv):
        """The path of an execution that listens."""
        at = "/v1/sandboxes/%s/executions" % box
        status, row, _ = self.ask("POST", at, token, {"argv": argv})
        assert status == 201, row
        self.await_output(token, at + "/" + row["id"])
        return at + "/" + row["id"]

    def await_output(self, token, at, word=b"listens"):
        with self.connect() as one:
            one.sendall(self.request("GET", at + "/output", token))
            got = b""
            while word not in got:
                more = one.recv(4096)
                if not more:
                    break
                got += more


def fill(one, most):
    """Send bytes until the other side takes no more for some seconds; how many."""
    one.settimeout(5 * SLOW)
    sent = 0
    try:
        while sent < most:
            sent += one.send(b"x" * min(65536, most - sent))
    except OSError:
        pass
    return sent


class At:
    """Requests to one name."""

    def __init__(self, host, name, headers):
        self.host, self.name, self.headers = host, name, headers

    def connect(self, receives=0):
        one = self.host.connect(receives, self.name)
        one.settimeout(60 * SLOW)
        return one

    def begin(self, method, path, body=None, more=None, chunked=False):
        connection = http.client.HTTPConnection(self.name, timeout=60 * SLOW)
        connection.sock = self.connect()
        connection.request(method, path, body, {"Host": "%s:%d" % (self.name, self.host.port), **self.headers, **(more or {})}, encode_chunked=chunked)
        return connection

    def upgrade(self, one, path):
        """Begin a WebSocket; what the server says up to the word "first"."""
        one.settimeout(60 * SLOW)
        headers = "".join("%s: %s\r\n" % pair for pair in self.headers.items())
        one.sendall(("GET %s HTTP/1.1\r\nHost: %s:%d\r\n%s%s\r\n" % (path, self.name, self.host.port, headers, asking_for_socket())).encode())
        got = b""
        while b"first" not in got:
            got += one.recv(4096) or b"(the end) first"
        return got

    def ask(self, *words, **more):
        """(status, JSON or bytes, headers)."""
        connection = self.begin(*words, **more)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        try:
            data = json.loads(data)
        except ValueError:
            pass
        return answer.status, data, answer.headers


FRAMES = {"Content-Type": "application/connect+json"}


def framed(message):
    """A message of Connect, with FRAMES as headers."""
    text = json.dumps(message).encode()
    return b"\0" + len(text).to_bytes(4, "big") + text


def names():
    host = Named("names")
    token, other = host.tenant("me"), host.tenant("other")
    for label in ("api", ""):
        tell(host.named(label, token).ask("GET", "/v1/host")[0] == 200, "the API is at %s" % (label + "." + NAME if label else NAME))
    status, made, _ = host.named("api", token).ask("POST", "/sandboxes", '{"templateID": "base", "timeout": 600}')
    tell(status == 201 and made["domain"] == "%s:%d" % (NAME, host.port), "a new sandbox says its domain", made)
    box, traffic, access = made["sandboxID"], made["trafficAccessToken"], made["envdAccessToken"]
    envd = host.named("49983-" + box, access, "X-Access-Token")
    tell(envd.ask("GET", "/health")[0] == 204, "commands and files are at port 49983")
    tell(envd.ask("POST", "/files?path=/tmp/a", b"bytes", {"Content-Type": "application/octet-stream"})[0] == 200 and
         envd.ask("GET", "/files?path=/tmp/a")[1] == b"bytes", "a file is written and read there")
    tell(envd.ask("POST", "/process.Process/List", "{}", {"Content-Type": "application/json"})[0] == 200, "and programs are listed")
    code = host.named("49999-" + box.upper(), traffic, "E2b-Traffic-Access-Token")
    tell(code.ask("GET", "/health")[1] == b"OK", "the code interpreter is at port 49999, whatever the case of the name", code.ask("GET", "/health"))
    status, data, _ = code.ask("POST", "/execute", '{"code": "6 * 7"}', {"Content-Type": "application/json"})
    tell(status == 200 and b'"42"' in data, "it runs code", (status, data))
    for at, method, path, why in ((envd, "GET", "/", "the page"), (envd, "GET", "/v1/host", "this host's own API"), (envd, "GET", "/sandboxes", "the control plane"),
                                  (envd, "GET", "/contexts", "the other service"), (code, "GET", "/files?path=/tmp/a", "the other service"),
                                  (envd, "POST", "/mcp", "the Model Context Protocol")):
        status, data, _ = at.ask(method, path)
        tell(status == 404, "%s is not at the name of a sandbox: %s" % (why, path), (status, data))
    status, data, _ = envd.ask("GET", "/files?path=/tmp/a", more={"E2b-Sandbox-Id": "i" + "0" * 19})
    tell(status == 400 and "another sandbox" in data["message"], "a routing header that contradicts the name is refused", (status, data))
    tell(envd.ask("GET", "/files?path=/tmp/a", more={"E2b-Sandbox-Id": box, "E2b-Sandbox-Port": "49983"})[0] == 200, "one that agrees is not")
    tell(host.named("49983-" + box).ask("GET", "/files?path=/tmp/a")[0] == 401, "without a token there is nothing")
    tell(host.named("api", access, "X-Access-Token").ask("GET", "/files?path=/tmp/a")[1] == b"bytes" and host.named("api", access, "X-Access-Token").ask("GET", "/health")[0] == 204 and
         host.named("api", "sbx_" + "0" * 40, "X-Access-Token").ask("GET", "/files?path=/tmp/a")[0] == 401, "a call that names no sandbox is about the one whose key it shows")
    tell(host.named("49983-i" + "0" * 19, access, "X-Access-Token").ask("GET", "/files?path=/tmp/a")[0] == 502, "a sandbox that is not there is gone, as E2B says it")
    ended = host.named("api", token).ask("POST", "/sandboxes", '{"templateID": "base"}')[1]
    host.named("api", token).ask("DELETE", "/sandboxes/" + ended["sandboxID"])
    until(lambda: host.named("api", token).ask("GET", "/sandboxes/" + ended["sandboxID"])[0] == 404)
    refused = [host.ask("POST", "/v1/sandboxes", token, {"template": "base", "timeoutMs": 10**9})[0] for _ in range(256)]
    status, data, _ = host.named("api", ended["envdAccessToken"], "X-Access-Token").ask("GET", "/health")
    tell(status == 502 and set(refused) == {400}, "so is one that has ended, for a call that names no sandbox, also after 256 creations that were refused", (status, data, set(refused)))
    for name in ("0-" + box, "70000-" + box, "3000" + box, "-" + box, "3000-", "3000-a.b", "03000-" + box, "3000-" + "a" * 40, "www"):
        at = host.named("api", token)
        at.headers["Host"] = "%s.%s:%d" % (name, NAME, host.port)
        status, data, _ = at.ask("GET", "/health", more={"Host": at.headers["Host"]})
        tell(status == 421, "the Host header %s.NAME is refused" % name, (status, data))
    tell(host.named("49983-" + box, access, "X-Access-Token").ask("GET", "/files?path=/tmp/a", more={"Origin": "https://3000-%s.%s:%d" % (box, NAME, host.port)})[0] == 403,
         "a page that a sandbox serves cannot use the sandbox's services")
    tell(host.named("api", token).ask("GET", "/v1/host", more={"Origin": "https://3000-%s.%s:%d" % (box, NAME, host.port)})[0] == 403, "nor the API")
    host.end()


def ports():
    host = Named("ports")
    token, other = host.tenant("me"), host.tenant("other")
    box, traffic, access = host.sandbox(token)
    status, _, headers = host.named("", None).ask("POST", "/page/login", json.dumps({"token": token}), {"X-Warder-Page": "login"})
    cookie = headers.get("Set-Cookie", "")
    tell(status == 200 and cookie.startswith("__Host-warder=") and "Secure" in cookie and "Domain" not in cookie, "no page of a sandbox can set the cookie of the host's page", (status, cookie))
    status, made, headers = host.named("", None).ask("POST", "/page/login", json.dumps({"token": token}), {"X-Warder-Page": "login"})
    pair = {"Cookie": headers.get("Set-Cookie", "").split(";")[0], "X-Warder-Page": made["key"]}
    tell(host.named("", None).ask("GET", "/v1/host", more=pair)[0] == 200 and host.named("3000-" + box, None).ask("GET", "/", more=pair)[0] == 401,
         "which opens the API at the host's own name, and no port")
    host.server(token, box)
    label = "3000-" + box
    at = host.named(label, traffic, "E2b-Traffic-Access-Token")
    status, said, headers = at.ask("GET", "/some/%41%2f?x=%20y&signature=mine", more={"X-Mine": "kept", "Cookie": "warder=secret; mine=1; __Host-warder=secret", "Connection": "close, X-Hop", "X-Hop": "1",
                                                                                   "X-Access-Token": access, "Authorization": "Bearer " + token, "X-Api_Key": token})
    tell(status == 200 and said["path"] == "/some/%41%2f?x=%20y&signature=mine", "a server in the sandbox gets the request as the client wrote it", (status, said))
    got = {name.lower(): value for name, value in said["headers"]} if status == 200 else {}
    tell(got.get("x-mine") == "kept" and got.get("cookie") == "mine=1" and got.get("host") == "%s.%s:%d" % (label, NAME, host.port) and got.get("x-forwarded-proto") == "https",
         "with its own headers and cookies", got)
    tell(not any(word in json.dumps(said) for word in (traffic, access, token, "secret")) and "x-hop" not in got, "and without the keys of this host and the page's cookie", got)
    tell("Content-Security-Policy" not in headers and headers["Content-Type"] == "application/json", "the answer has the headers of the server alone", str(headers))
    status, said, _ = at.ask("GET", "/x%0Ay%00?q=%00%0a")
    tell(status == 200 and said["path"] == "/x%0Ay%00?q=%00%0a", "also with escaped control characters", (status, said))
    tell(host.named(label, token).ask("GET", "/")[0] == 200, "the tenant's token opens a port")
    tell(host.named(label, "Bearer " + token, "Authorization").ask("GET", "/")[0] == 200, "also as a Bearer token")
    status, said, _ = at.ask("GET", "/", more={"Authorization": "Basic bWU6eA=="})
    tell(["Authorization", "Basic bWU6eA=="] in said["headers"], "a header of that name which is for the server passes", said)
    for key, kind, want in ((None, "X-API-Key", 401), (access, "X-Access-Token", 401), ("trf_" + "0" * 40, "E2b-Traffic-Access-Token", 401), (other, "X-API-Key", 502)):
        status, data, _ = host.named(label, key, kind).ask("GET", "/")
        tell(status == want, "without the right key there is no way in (%s)" % kind, (status, data))
    status, data, _ = at.ask("GET", "/", more={"Origin": "https://evil.example.org"})
    tell(status == 403, "nor for a page of another origin", (status, data))
    status, data, _ = host.named("3001-" + box, traffic, "E2b-Traffic-Access-Token").ask("GET", "/")
    tell(status == 502 and data["port"] == 3001 and "no server listens at port 3001" in data["message"], "where nobody listens, the answer says so", (status, data))
    host.server(token, box, 3002, "::1")
    tell(host.named("3002-" + box, token).ask("GET", "/")[0] == 200, "a server that listens at IPv6 alone is reached")
    done = subprocess.run(["curl", "-sS", "--cacert", host.chain, "--resolve", "%s.%s:%d:127.0.0.1" % (label, NAME, host.port), "-H", "E2b-Traffic-Access-Token: " + traffic,
                           "https://%s.%s:%d/curl" % (label, NAME, host.port)], capture_output=True, text=True)
    tell('"path": "/curl"' in done.stdout, "curl reaches it", done.stdout + done.stderr)
    tell([at.ask("GET", "/" + "x" * count)[0] for count in (4095, 4096)] == [200, 414], "a path and a query have at most 4096 bytes")
    status, data, _ = at.ask("GET", "http://%s/" % NAME)
    tell(status == 400, "a target that is no path is refused", (status, data))
    web, web_traffic, _ = host.sandbox(token, "web")
    host.server(token, web)
    tell(host.named("3000-" + web, web_traffic, "E2b-Traffic-Access-Token").ask("GET", "/")[0] == 200, "a port that the settings list for the template is published")
    status, data, _ = host.named("3001-" + web, web_traffic, "E2b-Traffic-Access-Token").ask("GET", "/")
    tell(status == 403 and "\"ports\" in the settings" in data["message"], "another one is refused, with the reason", (status, data))
    shared, ceiling = dict(host.loopback, network={"mode": "host"}), os.path.join(work, "ports-ceiling.json")
    with open(ceiling, "w") as file:
        json.dump(shared, file)
    wide = host.tenant("wide", ["--ceiling", ceiling])
    status, made, _ = host.ask("POST", "/v1/sandboxes", wide, {"template": "web", "policy": shared, "timeoutMs": 600000})
    status, data, _ = host.named("3000-" + made.get("id", ""), wide).ask("GET", "/")
    tell(status == 403 and data["field"] == "network.mode", "a sandbox with the network of this machine publishes no port", (made, status, data))
    alone, alone_traffic, _ = host.sandbox(token, "alone")
    status, data, _ = host.named("3000-" + alone, alone_traffic, "E2b-Traffic-Access-Token").ask("GET", "/")
    tell(status == 403 and data["field"] == "ports", "so is every port of a template that lists none", (status, data))
    host.process.kill()
    host.process.wait()
    host.start()
    web_at = host.named("3000-" + web, web_traffic, "E2b-Traffic-Access-Token")
    tell(until(lambda: web_at.ask("GET", "/")[0] == 200), "a host that is started again publishes it still", web_at.ask("GET", "/"))
    status, data, _ = host.named("3000-" + made.get("id", ""), wide).ask("GET", "/")
    tell(status == 403 and data["field"] == "network.mode", "and that of the network of this machine still not", (status, data))
    paused = host.ask("POST", "/v1/sandboxes/%s/pause" % web, token)[0]
    if paused == 503:
        skip("a sandbox that is paused is not reached", "this host cannot freeze")
    else:
        status, data, _ = host.named("3000-" + web, token).ask("GET", "/")
        tell(paused == 204 and status == 409, "a sandbox that is paused is not reached", (paused, status, data))
    host.ask("DELETE", "/v1/sandboxes/" + web, token)
    tell(host.named("3000-" + web, web_traffic, "E2b-Traffic-Access-Token").ask("GET", "/")[0] == 502, "nor one that has ended")
    host.end()


def bodies():
    host = Named("bodies", fileBytes=4 << 20)
    token = host.tenant("me")
    box, traffic, _ = host.sandbox(token)
    host.server(token, box)
    at = host.named("3000-" + box, traffic, "E2b-Traffic-Access-Token")
    data = os.urandom(3 << 20)
    want = hashlib.sha256(data).hexdigest()
    status, said, _ = at.ask("POST", "/echo", data)
    tell(status == 200 and said["sum"] == want, "3 MiB with a length pass", (status, said))
    status, said, _ = at.ask("PUT", "/echo", (data[i:i + 7000] for i in range(0, len(data), 7000)), chunked=True, more={"Transfer-Encoding": "chunked"})
    tell(status == 200 and said["sum"] == want and ["Transfer-Encoding", "chunked"] in said["headers"], "and in chunks", (status, said))
    status, said, _ = at.ask("POST", "/echo", b"x" * ((4 << 20) + 1))
    tell(status == 413 and "4194304" in said["message"], "more than the limit of uploads is refused", (status, said))
    status, said, _ = at.ask("POST", "/early", data)
    tell(status == 413 and said == b"early", "a server may answer before it has read the request", (status, said))
    tell(len(at.ask("GET", "/bytes/5000000")[1]) == 5000000, "an answer without a length ends with its connection")
    for method in ("HEAD", "OPTIONS", "DELETE", "PATCH", "PROPFIND"):
        status, said, headers = at.ask(method, "/method")
        tell(status == 200 and (said == b"" and int(headers["Content-Length"]) > 20 if method == "HEAD" else said["method"] == method), "the method %s passes" % method, (status, said, str(headers)))
    connection = at.begin("GET", "/stream")
    answer = connection.getresponse()
    first = answer.read1(100)
    tell(first == b"one\n" and answer.headers["Content-Type"] == "text/event-stream", "a stream comes as it is written", first)
    tell(at.ask("GET", "/go")[0] == 204 and answer.read() == b"two\n", "and goes on to its end")
    status, said, headers = at.ask("GET", "/cookies")
    tell(headers.get_all("Set-Cookie") == ["a=1; Path=/", "b=2; HttpOnly", "domain=c"] and "Clear-Site-Data" not in headers and headers["X-Own"] == "yes",
         "cookies are for the name of the server alone", str(headers))
    with at.connect() as one:
        got = at.upgrade(one, "/ws")
        tell(got.startswith(b"HTTP/1.1 101") and b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in got, "a WebSocket is opened, by the server's own answer", got)
        many = os.urandom(1 << 20)
        back = sent_and_back(one, many)
        tell(back == many, "and passes bytes both ways", len(back))
        one.sendall(b"end")
        tell(one.recv(10) == b"", "and ends with the server")
    host.end()


def halves():
    """One side is gone, and the other one goes on."""
    host = Named("halves", encrypts=False, fileBytes=64 << 20, headerBytes=4096)
    token = host.tenant("me")
    box, traffic, _ = host.sandbox(token)
    host.server(token, box)
    at = host.named("3000-" + box, traffic, "E2b-Traffic-Access-Token")
    floods = [at.connect(receives=4096) for _ in range(40)]
    for one in floods:
        at.upgrade(one, "/ws/flood")
    time.sleep(2 * SLOW)
    tell(at.ask("GET", "/")[0] == 200, "beside 40 clients that do not read a flood, another one is served")

    def more(one):  # than was on its way
        left = 1 << 20
        while left > 0 and (got := len(one.recv(65536))):
            left -= got
        return left <= 0
    tell(all(more(one) for one in floods), "and each of them can go on")
    for one in floods:
        one.close()
    connection, left = at.begin("POST", "/broken", more={"Content-Length": str(48 << 20)}), 48 << 20
    try:
        left -= fill(connection.sock, left)
        at.ask("GET", "/go")
        connection.sock.settimeout(60 * SLOW)
        connection.sock.sendall(b"x" * left)
        found = connection.getresponse().read()
    except (OSError, http.client.HTTPException) as error:
        found = error
    tell(isinstance(found, http.client.IncompleteRead), "a server that closes in its answer, and has not read the request, leaves no client waiting", found)
    try:
        status, said, _ = at.ask("POST", "/long", b"x" * (48 << 20), {"X-Pad": "p" * 3600})
    except OSError as error:
        status, said = None, error
    tell(status == 502 and "too long" in said["message"], "nor does one whose answer has too long a header, and which has not read the request", (status, said))
    with at.connect(receives=4096) as one:
        at.upgrade(one, "/ws/flood")
        tell(host.ask("DELETE", "/v1/sandboxes/" + box, token)[0] == 204 and at.ask("GET", "/")[0] == 502, "a sandbox ends while a client of its server does not read")
        sent = fill(one, 32 << 20)
        tell(sent < 32 << 20, "then nothing is taken from that client", sent)
    tell(host.named("api", token).ask("GET", "/health")[0] == 204, "and others are served")
    host.end()


def sent_and_back(one, data):
    """Send these bytes, and receive as many meanwhile. In one thread: two may not use a TLS connection at a time."""
    back, at, kept = b"", 0, one.gettimeout()
    end = time.monotonic() + 60 * SLOW
    one.setblocking(False)
    while len(back) < len(data) and time.monotonic() < end:
        try:
            at += one.send(data[at:at + 65536]) if at < len(data) else 0
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        try:
            more = one.recv(65536)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            select.select([one], [one] if at < len(data) else [], [], 1)
            continue
        if not more:
            break
        back += more
    one.settimeout(kept)
    return back


def answers():
    """Answers that are none."""
    host = Named("answers", headerBytes=4096, connectionsPerTenant=10)
    token = host.tenant("me")
    box, traffic, _ = host.sandbox(token)
    running = host.server(token, box)
    at = host.named("3000-" + box, traffic, "E2b-Traffic-Access-Token")
    raw = lambda text: at.ask("GET", "/raw/" + base64.urlsafe_b64encode(text.encode("latin-1")).decode().replace("-", "+").replace("_", "/"))
    for text, why in (("", "nothing"), ("HELLO\r\n\r\n", "no status"), ("HTTP/1.1 200 OK\r\nA: b\r\n", "half a head"), ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", "two lengths"),
                      ("HTTP/1.1 200 OK\r\n folded\r\n\r\n", "a folded header"), ("HTTP/1.1 200 OK\r\nA: x\x01y\r\n\r\n", "a control character"),
                      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "another coding"), ("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n", "a protocol that nobody asked for"),
                      ("HTTP/1.1 100 Continue\r\n\r\n" * 17 + "HTTP/1.1 204 None\r\n\r\n", "17 interim answers"), ("HTTP/2 200\r\n\r\n", "another version")):
        status, data, _ = raw(text)
        tell(status == 502 and data["sandboxId"] == box and "sent" in data["message"], "%s is refused" % why, (status, data))
    tell(at.ask("GET", "/head/4000")[0] == 200 and at.ask("GET", "/head/4096")[0] == 502, "a head has at most as many bytes as one of a client")
    heads = [at.ask("GET", "/head/4000", more={"X-Pad": "p" * count}) for count in range(2300, 3700, 50)]
    tell({one[0] for one in heads} == {200, 502} and all("beside those of the request" in one[1]["message"] for one in heads if one[0] == 502),
         "the heads of a request and of its answer share a memory, and an answer that does not fit is refused", [one[0] for one in heads])
    for text, want, why in (("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokxx", b"ok", "interim answers and more than the length"),
                            ("HTTP/1.0 200\n\nok", b"ok", "bare line feeds"), ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0\r\nT: x\r\n\r\n", b"ok", "extensions and trailers of chunks")):
        status, data, _ = raw(text)
        tell(status == 200 and data == want, "%s are read" % why, (status, data))
    status, _, headers = raw("HTTP/1.1 200 OK\r\nContent-Security-Policy: default-src\t'none';\tframe-src 'none'\r\nX-Empty:\r\nContent-Length: 2\r\n\r\nok")
    tell(status == 200 and headers["Content-Security-Policy"] == "default-src\t'none';\tframe-src 'none'" and "X-Empty" not in headers,
         "a header with a tab passes; an empty one does not", (status, str(headers)))
    for text, why in (("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok", "a body that is cut off"), ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay", "a chunk that is too long")):
        try:
            found = raw(text)
        except (http.client.IncompleteRead, OSError, ssl.SSLError) as error:
            found = error
        tell(isinstance(found, Exception), "%s does not look whole" % why, found)
    refused = [raw("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")[:2] for _ in range(12)]
    tell(refused == [(401, b"no")] * 12 and at.ask("GET", "/")[0] == 200, "a server that refuses requests with 401 locks nobody out", refused)
    hanging = []

    def full():  # a request that has ended may still count when the next ones begin
        hanging.append(at.begin("GET", "/hang"))
        return at.ask("GET", "/")[0] == 429
    tell(until(full), "connections to ports count for the tenant", len(hanging))
    for one in hanging:
        one.close()
    tell(until(lambda: at.ask("GET", "/")[0] == 200), "and end with the client")
    one = at.begin("GET", "/hang/last")
    host.await_output(token, running, b"/hang/last")
    host.ask("POST", running + "/signal", token, {"signal": 9})
    answer = one.getresponse()
    data = json.loads(answer.read())
    tell(answer.status == 502 and "sent" in data["message"], "when the server dies, its requests end", (answer.status, data))
    host.end()


def drip(at, took):
    """Send a body byte by byte, until the host ends the connection."""
    begin = time.time()
    try:
        with at.connect() as one:
            one.sendall(("POST / HTTP/1.1\r\nHost: %s:%d\r\nContent-Length: 100000\r\n\r\n" % (at.name, at.host.port)).encode())
            while time.time() - begin < 90 * SLOW:
                one.sendall(b"x")
                time.sleep(0.2)
    except OSError:
        pass
    took.append(time.time() - begin)


def many():
    host = Named("many", connectionsPerTenant=200)
    took = []
    dripping = threading.Thread(target=drip, args=(host.named("3000-i" + "0" * 19), took))
    dripping.start()
    token = host.tenant("me")
    box, traffic, access = host.sandbox(token)
    host.server(token, box)
    at = host.named("3000-" + box, traffic, "E2b-Traffic-Access-Token")
    # One that never accepts: the kernel takes the connections.
    listens = "import socket, time; one = socket.create_server(('127.0.0.1', 3001), backlog=128); print('listens', flush=True); time.sleep(3600)"
    host.started(token, box, ["python3", "-c", listens])
    deaf = host.named("3001-" + box, traffic, "E2b-Traffic-Access-Token")
    hanging = [deaf.begin("GET", "/") for _ in range(46)]

    def full():  # on a loaded machine, the agent may have been too busy for some of them
        hanging.append(deaf.begin("GET", "/"))
        status, data, headers = at.ask("GET", "/")
        return status == 503 and "as it can have, 48" in data["message"] and headers["Retry-After"] == "1"
    tell(until(full), "a sandbox has at most 48 connections to its ports, and the next client is asked to come again", len(hanging))
    envd = host.named("49983-" + box, access, "X-Access-Token")
    tell(envd.ask("POST", "/files?path=/tmp/a", b"bytes", {"Content-Type": "application/octet-stream"})[0] == 200 and envd.ask("GET", "/files?path=/tmp/a")[1] == b"bytes",
         "files are still written and read")
    few, few_traffic, few_access = host.sandbox(token, "few")
    host.started(token, few, ["python3", "-c", listens])
    deaf_few, nobody = (host.named("%d-%s" % (port, few), few_traffic, "E2b-Traffic-Access-Token") for port in (3001, 3003))

    def none_left():
        hanging.append(deaf_few.begin("GET", "/"))
        return nobody.ask("GET", "/")
    answers = [none_left() for _ in range(20)]
    tell([one[0] for one in answers] == sorted(one[0] for one in answers) and answers[0][0] == 502 and answers[-1][0] == 503 and "limits.openFiles" in answers[-1][1]["message"],
         "with few descriptors, it has fewer, and the answer says so", [one[:2] for one in answers])
    for one in hanging:
        one.close()
    tell(until(lambda: at.ask("GET", "/")[0] == 200), "and each end of a connection makes room")
    few_envd, watches = host.named("49983-" + few, few_access, "X-Access-Token"), []

    def watch():
        watches.append(few_envd.begin("POST", "/filesystem.Filesystem/WatchDir", framed({"path": "/tmp"}), FRAMES))
        return watches[-1].getresponse().status
    try:
        found = [watch() for _ in range(15)], few_envd.ask("GET", "/files?path=/etc/passwd")[0]
    except OSError as error:
        found = error
    tell(found == ([200] * 15, 200), "with few descriptors, 15 clients watch a directory, and files are still read", found)
    for one in watches:
        one.close()
    sockets = [at.connect() for _ in range(40)]
    opened = [at.upgrade(one, "/ws").startswith(b"HTTP/1.1 101") for one in sockets]
    hanging = []
    tell(until(full), "idle WebSockets count, too", (opened, len(hanging)))
    for one in sockets:
        one.close()
    tell(all(opened) and until(lambda: at.ask("GET", "/")[0] == 200), "and end with their clients, also where the host encrypts", opened)
    for one in hanging:
        one.close()
    slow = at.begin("GET", "/bytes/50000000")  # a client that does not read
    tell(at.ask("GET", "/")[0] == 200 and host.named("api", token).ask("GET", "/health")[0] == 204, "beside a client that does not read, others are served")
    slow.close()
    answers, refused = [], []

    def ask():
        def comes():  # the server closes a connection for which it has no memory
            try:
                status, data, _ = at.ask("GET", "/bytes/3000000")
            except (OSError, http.client.HTTPException) as error:
                status, data = None, error
            if status != 200:
                refused.append((status, data))
                return False
            answers.append(len(data))
            return True
        until(comes)
    threads = [threading.Thread(target=ask) for _ in range(20)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    tell(answers == [3000000] * 20, "20 answers of 3 MB at a time come whole", (answers, refused[:2]))
    dripping.join()
    tell(29 < took[0] < 45 * SLOW, "a request without a token has 30 seconds for its body, however it comes", took)
    host.end()


def resident(pid):
    """The memory of a process, in KiB; it is gone: endless."""
    try:
        with open("/proc/%d/status" % pid) as file:
            return int(file.read().split("VmRSS:")[1].split()[0])
    except OSError:
        return 1 << 30


def long_policies():
    """The front keeps no policy for a client that stays."""
    host = Named("policies", encrypts=False)
    token = host.tenant("me")
    status, data, _ = host.ask("POST", "/v1/sandboxes", token, {"env": {"A": "x" * 70000, "B": "x" * 70000}})
    tell(status == 400 and data["field"] == "policy" and "131072" in data["message"], "variables of 140,000 bytes are refused", (status, str(data)[:300]))
    box, traffic, access = host.sandbox(token, envVars={"A": "x" * 60000, "B": "x" * 60000})
    host.server(token, box)
    at, envd = host.named("3000-" + box, traffic, "E2b-Traffic-Access-Token"), host.named("49983-" + box, access, "X-Access-Token")
    sockets, streams = [at.connect() for _ in range(45)], []
    pid, before = front(host), resident(front(host))
    opened = [at.upgrade(one, "/ws").startswith(b"HTTP/1.1 101") for one in sockets]
    for _ in range(25):
        streams.append(envd.begin("POST", "/process.Process/Start", framed({"process": {"cmd": "sleep", "args": ["600"]}}), FRAMES))
        opened.append(streams[-1].getresponse().status == 200)
    grown = resident(pid) - before
    tell(all(opened) and grown < 5 << 10, "of a sandbox with 120 KB of variables, 45 WebSockets and 25 programs take less than 5 MiB of the front", (opened, grown))
    for one in sockets + streams:
        one.close()
    streams, before, opened = [], resident(front(host)), []
    start = framed({"process": {"cmd": "sleep", "args": ["600"], "envs": {"V%d" % i: "" for i in range(6000)}}, "pad": "x" * 600000})
    for _ in range(8):
        streams.append(envd.begin("POST", "/process.Process/Start", start, FRAMES))
        opened.append(streams[-1].getresponse().status == 200)
    grown = resident(pid) - before
    tell(all(opened) and grown < 8 << 10, "nor does it keep the requests that started 8 programs, of 800 KB each", (opened, grown))
    for one in streams:
        one.close()
    at, streams, before = "/v1/sandboxes/%s/executions" % box, [host.connect() for _ in range(8)], resident(pid)
    start = json.dumps({"argv": ["sh", "-c", "sleep 601", *[""] * 6000], "stdin": "x" * 100000}).encode()
    begun = []
    for one in streams:
        one.sendall(host.request("POST", at, token, start))
        begun.append(until(lambda: sum(row["command"][2:3] == ["sleep 601"] for row in host.ask("GET", at, token)[1]) > len(begun)))
    grown = resident(pid) - before
    tell(all(begun) and grown < 6 << 10, "nor the arguments of 8 programs that do not read their input", (begun, grown))
    for one in streams:
        one.close()
    host.end()


def old_clients():
    host = Named("old")
    strict, old = host.tenant("strict"), host.tenant("old", ["--old-clients"])
    for token, statuses in ((strict, (401, 401)), (old, (200, 200))):
        box, traffic, access = host.sandbox(token)
        code = host.named("49999-" + box)
        found = code.ask("GET", "/contexts")[0], code.ask("POST", "/execute", '{"code": "1"}', {"Content-Type": "application/json"})[0]
        tell(found == statuses, "the code interpreter without a token, tenant %s" % ("strict" if token == strict else "old"), found)
        tell(host.named("49983-" + box).ask("GET", "/files?path=/tmp/a")[0] == 401 and host.named("3000-" + box).ask("GET", "/")[0] == 401, "commands, files and ports still need one")
    code = host.named("49999-" + box)
    wrong = [code.ask("GET", "/health")[0] for _ in range(11)] + [host.named("49999-i" + "0" * 19).ask("GET", "/health")[0] for _ in range(11)]
    tell(429 not in wrong and host.named("api", strict).ask("GET", "/v1/host")[0] == 200, "requests without a token do not lock out their address", wrong)
    status, data, _ = host.named("49999-i" + "0" * 19).ask("GET", "/contexts")
    tell(status == 401 and "--old-clients" in data["message"], "a name that is not there is refused like one without such a tenant", (status, data))
    host.end()


def settings():
    """What is wrong is refused at the start, by name."""
    def check(more, *flags):
        path = os.path.join(work, "wrong.json")
        with open(path, "w") as file:
            json.dump(dict({"version": 1}, **more), file)
        done = subprocess.run([os.environ["WARDER"], "serve", "--listen", "127.0.0.1:0", "--state", os.path.join(work, "wrong"), "--config", path, "--check", *flags], capture_output=True, text=True)
        return done.returncode, done.stderr
    for more, flags, words in (({}, ("--domain", "10.0.0.1"), "--domain"), ({}, ("--domain", "a..b"), "--domain"), ({}, ("--domain", "a.example:0"), "--domain"),
                               ({"domain": "-x.example"}, (), "domain"), ({"domain": 1}, (), "\"domain\" must be"), ({"ports": []}, (), "\"ports\" must be"),
                               ({"ports": {"none": [1]}}, (), "no template has this name"), ({"ports": {"base": [0]}}, (), "from 1 to 65535"), ({"ports": {"base": "all"}}, (), "\"any\""),
                               ({"templates": {"x": {"version": 1, "limits": {"wallTime": "1s"}}}, "ports": {"x": [1]}}, (), "network.mode none"),
                               ({"templates": {"x": {"version": 1, "limits": {"wallTime": "1s"}, "network": {"mode": "host"}}}, "ports": {"x": "any"}}, (), "network.mode host")):
        status, said = check(more, *flags)
        tell(status == 125 and words in said, "%s %s is refused" % (json.dumps(more), " ".join(flags)), (status, said))
    tell(check({"domain": "Sandbox.Example.org:8443", "ports": {"base": [80]}})[0] == 0, "a name in capitals with a port is fine")


run_parts((names, ports, bodies, halves, answers, many, long_policies, old_clients, settings))
