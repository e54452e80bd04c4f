#!/usr/bin/env python3
"""e2b.py: the calls of E2B's clients against a running host, as TAP. WARDER names the program (build/warder)."""
import base64
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../lib"))
import serving
from serving import write
from tap import SLOW, WARDER, finish, tell

results = []


def quote(text):
    return urllib.parse.quote(text, "")


IMAGE = "warder-e2b-%d" % os.getpid()
SETTINGS = {"version": 1, "templates": {
    "image": {"version": 1, "filesystem": {"view": "image:" + IMAGE}, "workingDirectory": "/tmp",
              "environment": {"set": {"HOME": "/tmp", "PATH": "/bin"}}, "limits": {"wallTime": "1h", "memory": "64MiB"}},
    "net": {"version": 1, "limits": {"wallTime": "1h", "memory": "128MiB"},
            "network": {"mode": "allow", "allow": [{"host": "*.example.org", "ports": [443]}, {"host": "pypi.org", "ports": [443]}]}}}}


class Host(serving.Host):
    def __init__(self):
        super().__init__(flags=["--config", write("config.json", json.dumps(SETTINGS))])
        self.token = self.tenant("add", "t")
        self.address = ("127.0.0.1", self.port)

    def connection(self, timeout=60 * SLOW):
        return http.client.HTTPConnection(*self.address, timeout=timeout)

    def call(self, method, path, body=None, headers=None, chunked=False):
        """(status, headers, bytes)"""
        connection = self.connection()
        given = {"X-API-Key": self.token}
        given.update(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            given.setdefault("Content-Type", "application/json")
        connection.request(method, path, body=iter([body]) if chunked else body, headers=given,
                           encode_chunked=chunked)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, answer.headers, data


class Sandbox:
    def __init__(self, host, **options):
        self.host = host
        status, _, data = host.call("POST", "/v2/sandboxes", dict({"templateID": "base", "timeout": 3600}, **options))
        assert status == 201, (status, data)
        self.made = json.loads(data)
        self.id = self.made["sandboxID"]
        self.headers = {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": "49983",
                        "X-Access-Token": self.made["envdAccessToken"]}
        self.interpreter = {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": "49999",
                            "E2b-Traffic-Access-Token": self.made["trafficAccessToken"]}

    def kill(self):
        return self.host.call("DELETE", "/sandboxes/" + self.id)[0]

    def unary(self, path, message, **headers):
        status, _, data = self.host.call("POST", path, message, dict(self.headers, **headers))
        return status, json.loads(data)

    def stream(self, path, message, headers=None, body=None):
        """A connection whose answer has begun."""
        connection = self.host.connection()
        text = json.dumps(message).encode()
        frame = struct.pack(">BI", 0, len(text)) + text if body is None else body
        given = dict(self.headers, **{"Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"})
        given.update(headers or {})
        connection.request("POST", path, frame, given)
        return Stream(connection, connection.getresponse())

    def run(self, command, **options):
        headers = options.pop("headers", None)
        message = {"process": {"cmd": "/bin/sh", "args": ["-c", command]}, "stdin": False}
        message["process"].update(options.pop("process", {}))
        message.update(options)
        return self.stream("/process.Process/Start", message, headers).collect()

    def start(self, command, **options):
        message = {"process": {"cmd": "/bin/sh", "args": ["-c", command]}, "stdin": True}
        message.update(options)
        stream = self.stream("/process.Process/Start", message)
        stream.pid = stream.next()["event"]["start"]["pid"]
        return stream

    def execute(self, body, **headers):
        status, _, data = self.host.call("POST", "/execute", body, dict(self.interpreter, **headers))
        if status != 200:
            return status, data
        return status, [json.loads(line) for line in data.decode().strip().split("\n")]


class Stream:
    def __init__(self, connection, answer):
        self.connection, self.answer, self.pid, self.last = connection, answer, None, None

    def next(self):
        """The next message; None: the end, which is in self.last."""
        head = self.answer.read(5)
        if len(head) < 5:
            raise EOFError("no last frame")
        flags, length = struct.unpack(">BI", head)
        message = json.loads(self.answer.read(length))
        if flags & 2:
            self.last = message
            self.connection.close()
            return None
        return message

    def collect(self):
        """{"stdout", "stderr", "pty", "end", "error", "pid"}"""
        found = {"stdout": b"", "stderr": b"", "pty": b"", "end": None, "pid": self.pid, "keepalives": 0}
        while (message := self.next()) is not None:
            event = message["event"]
            for name, text in event.get("data", {}).items():
                found[name] += base64.b64decode(text)
            found["pid"] = event.get("start", {}).get("pid", found["pid"])
            found["end"] = event.get("end", found["end"])
            found["keepalives"] += "keepalive" in event
        found["error"] = self.last.get("error")
        return found


def check(name):
    def wrap(function):
        results.append((name, function))
        return function
    return wrap


def equal(found, wanted):
    if found != wanted:
        raise AssertionError("%r is not %r" % (found, wanted))


def holds(text, part):
    if part not in text:
        raise AssertionError("%r does not hold %r" % (text, part))


# ---- processes ----

@check("a program: output, exit status, both streams")
def _(box):
    found = box.run("echo out; echo err >&2; exit 3")
    equal(found["stdout"], b"out\n")
    equal(found["stderr"], b"err\n")
    equal(found["error"], None)
    end = found["end"]
    equal((end["exitCode"], end["exited"], end["status"], end["error"]), (3, True, "exit status 3", "exit status 3"))
    found = box.run("exit 0")
    equal((found["end"]["exitCode"], "error" in found["end"]), (0, False))


@check("a program has its variables and its directory, and output of any bytes")
def _(box):
    found = box.run("echo $A; pwd; printf '\\377\\000x'", process={"envs": {"A": "b c"}, "cwd": "/usr"})
    equal(found["stdout"], b"b c\n/usr\n\xff\x00x")


@check("a program that is not there, and a frame that is not right: status 200 and an error in the last frame")
def _(box):
    stream = box.stream("/process.Process/Start", {"process": {"cmd": "/no/such"}})
    equal(stream.answer.status, 200)
    error = stream.collect()["error"]
    equal(error["code"], "not_found")
    holds(error["message"], "/no/such")
    for body, part in ((b"\1\0\0\0\2{}", "uncompressed"), (b"\0\0\0\0\2{", "frame"), (b"", "frame"),
                       (b"\0\0\0\0\2{}", "process: missing"), (b"\0\0\0\0\2{}\0\0\0\0\2{}", "more than one")):
        stream = box.stream("/process.Process/Start", {}, body=body)
        equal(stream.answer.status, 200)
        error = stream.collect()["error"]
        equal(error["code"], "invalid_argument")
        holds(error["message"], part)


@check("input in parts, its end, and a second reader from the beginning")
def _(box):
    stream = box.start("cat; echo done")
    selector = {"process": {"pid": stream.pid}}
    for text in (b"one\n", b"x" * 100000):
        equal(box.unary("/process.Process/SendInput",
                        dict(selector, input={"stdin": base64.b64encode(text).decode()})), (200, {}))
    other = box.stream("/process.Process/Connect", selector)
    equal(box.unary("/process.Process/CloseStdin", selector), (200, {}))
    wanted = b"one\n" + b"x" * 100000 + b"done\n"
    equal(stream.collect()["stdout"], wanted)
    found = other.collect()
    equal(found["stdout"], wanted)
    equal(found["pid"], stream.pid)
    equal(found["end"]["exitCode"], 0)


@check("a list, a signal, and a process that is not there")
def _(box):
    stream = box.start("sleep 60")
    status, listed = box.unary("/process.Process/List", {})
    equal(status, 200)
    equal([one["pid"] for one in listed["processes"]], [stream.pid])
    equal(listed["processes"][0]["config"]["args"], ["-c", "sleep 60"])
    signal = {"process": {"pid": stream.pid}, "signal": "SIGNAL_SIGKILL"}
    equal(box.unary("/process.Process/SendSignal", signal), (200, {}))
    end = stream.collect()["end"]
    equal((end["exitCode"], end["exited"], end["status"]), (-1, False, "signal: killed"))
    status, error = box.unary("/process.Process/SendSignal", signal)
    equal((status, error["code"]), (404, "not_found"))
    status, error = box.unary("/process.Process/SendInput", {"process": {"pid": 1}, "input": {"stdin": ""}})
    equal((status, error["code"]), (404, "not_found"))


@check("a client that leaves does not end its process")
def _(box):
    stream = box.start("sleep 0.5; echo still")
    stream.connection.close()
    found = box.stream("/process.Process/Connect", {"process": {"pid": stream.pid}}).collect()
    equal(found["stdout"], b"still\n")


@check("a deadline ends the process with deadline_exceeded; keepalives come meanwhile")
def _(box):
    began = time.monotonic()
    found = box.run("echo a; sleep 30", headers={"Connect-Timeout-Ms": "2500", "Keepalive-Ping-Interval": "1"})
    equal(found["stdout"], b"a\n")
    equal(found["error"]["code"], "deadline_exceeded")
    if found["keepalives"] < 1 or time.monotonic() - began > 20 * SLOW:
        raise AssertionError(found)


@check("the cause of death stands in the error that clients show")
def _(box):
    found = box.run("exec python3 -c 'x = bytearray(1 << 40)'")
    equal(found["end"]["exited"], True)  # an allocation that fails is an error of the program
    found = box.run("exec python3 -c 'x = b\"a\" * (1 << 30)'")
    end = found["end"]
    if end["exited"]:
        raise AssertionError(end)
    equal((end["exitCode"], end["warder"]["cause"]), (-1, "memory"))
    holds(end["error"], "killed: ")
    holds(end["error"].lower(), "memory")


@check("a terminal: size, input, another size")
def _(box):
    stream = box.stream("/process.Process/Start", {"process": {"cmd": "/bin/sh", "args": ["-i"]},
                                                   "pty": {"size": {"cols": 71, "rows": 21}}})
    pid = stream.next()["event"]["start"]["pid"]
    selector = {"process": {"pid": pid}}

    def type_in(text):
        equal(box.unary("/process.Process/SendInput",
                        dict(selector, input={"pty": base64.b64encode(text).decode()})), (200, {}))

    type_in(b"stty size\n")
    seen = b""
    while b"21 71" not in seen:
        seen += base64.b64decode(stream.next()["event"].get("data", {}).get("pty", ""))
    equal(box.unary("/process.Process/Update", dict(selector, pty={"size": {"cols": 99, "rows": 9}})), (200, {}))
    status, error = box.unary("/process.Process/SendInput", dict(selector, input={"stdin": "YQ=="}))
    equal((status, error["code"]), (400, "invalid_argument"))
    type_in(b"stty size; exit\n")
    holds(stream.collect()["pty"], b"9 99")


@check("what is not there is refused: tags, another user, calls")
def _(box):
    error = box.run("true", tag="t")["error"]
    equal(error["code"], "unimplemented")
    root = {"Authorization": "Basic " + base64.b64encode(b"root:").decode()}
    error = box.run("true", headers=root)["error"]
    equal(error["code"], "permission_denied")
    holds(error["message"], '"root"')
    user = {"Authorization": "Basic " + base64.b64encode(b"user:").decode()}
    equal(box.run("echo a", headers=user)["stdout"], b"a\n")
    error = box.stream("/process.Process/StreamInput", {}).collect()["error"]
    equal(error["code"], "unimplemented")
    status, _, data = box.host.call("POST", "/sandboxes/%s/fork" % box.id, {"count": 1})
    equal((status, json.loads(data)["code"]), (501, 501))


@check("as much output as a keeper keeps comes whole, and what it drops is marked")
def _(box):
    found = box.run("head -c 3000000 /dev/zero | tr '\\0' a")
    equal((len(found["stdout"]), found["stderr"], found["error"]), (3000000, b"", None))
    stream = box.start("head -c 20000000 /dev/zero | tr '\\0' a; echo done >/tmp/done")
    while box.run("cat /tmp/done")["end"]["exitCode"]:
        time.sleep(0.1)
    found = stream.collect()
    marked = sum(int(number) for number in re.findall(rb"warder: (\d+) bytes", found["stderr"]))
    equal((len(found["stdout"]) + marked, marked > 0), (20000000, True))


# ---- keys ----

@check("wrong tokens, and a sandbox that is not there")
def _(box):
    status, _, _ = box.host.call("GET", "/files?path=/etc/hostname", headers=dict(box.headers, **{"X-Access-Token": "no"}))
    equal(status, 401)
    status, _, _ = box.host.call("POST", "/execute", {"code": "1"}, {"E2b-Sandbox-Id": box.id})
    equal(status, 401)
    status, _, data = box.host.call("GET", "/health", headers=dict(box.headers, **{"E2b-Sandbox-Id": "i" + "0" * 19}))
    equal((status, json.loads(data)["code"]), (502, 502))
    status, _, _ = box.host.call("GET", "/health", headers=box.headers)
    equal(status, 204)
    status, _, data = box.host.call("GET", "/health", headers=dict(box.headers, **{"E2b-Sandbox-Port": "49999"}))
    equal((status, data), (200, b"OK"))
    status, _, data = box.host.call("GET", "/envs", headers=box.headers)
    equal((status, json.loads(data)["HOME"]), (200, "/tmp"))


# ---- files ----

def upload(box, files, query="", chunked=False, **headers):
    boundary = "----formdata-test-0123456789"
    body = b""
    for name, data in files:
        body += ("--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"%s\"\r\n"
                 "Content-Type: application/octet-stream\r\n\r\n" % (boundary, name)).encode() + data + b"\r\n"
    body += ("--%s--\r\n" % boundary).encode()
    given = dict(box.headers, **{"Content-Type": "multipart/form-data; boundary=" + boundary}, **headers)
    status, _, data = box.host.call("POST", "/files" + query, body, given, chunked)
    return status, json.loads(data)


def download(box, path, **headers):
    return box.host.call("GET", "/files?path=" + path, headers=dict(box.headers, **headers))


@check("a file of every size there and back, byte by byte")
def _(box):
    for size in (0, 1, 65536, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 12345678):
        data = os.urandom(size)
        status, answer = upload(box, [("undefined", data)], "?path=/tmp/d/e/file")
        equal((status, answer), (200, [{"path": "/tmp/d/e/file", "name": "file", "type": "file"}]))
        status, headers, found = download(box, "/tmp/d/e/file")
        equal((status, len(found)), (200, size))
        equal(hashlib.sha256(found).digest(), hashlib.sha256(data).digest())
        holds(headers["Content-Disposition"], "attachment")
        equal(headers["X-Content-Type-Options"], "nosniff")


@check("several files in one body, relative paths, octets, chunks")
def _(box):
    status, answer = upload(box, [("/tmp/one", b"1"), ("two words", b"2"), ("~/three;\u00fc", b"3")], chunked=True)
    equal((status, [one["path"] for one in answer]), (200, ["/tmp/one", "/tmp/two words", "/tmp/three;\u00fc"]))
    equal(box.run("cat '/tmp/two words' '/tmp/three;\u00fc'")["stdout"], b"23")
    status, _, data = box.host.call("POST", "/files?path=octets", b"a\r\nb" * 50000,
                                    dict(box.headers, **{"Content-Type": "application/octet-stream"}), True)
    equal((status, json.loads(data)[0]["path"]), (200, "/tmp/octets"))
    equal(download(box, "octets")[2], b"a\r\nb" * 50000)
    equal(download(box, "~/one")[2], b"1")


def raw_upload(box, path, parts):
    """The bytes of a request whose body is in many small chunks."""
    pieces = [b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n", b"\r\n"] + parts + [b"\r\n--b--\r\n"]
    head = ("POST /files?path=%s HTTP/1.1\r\nHost: %s:%d\r\nE2b-Sandbox-Id: %s\r\nX-Access-Token: %s\r\n"
            "Content-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n"
            % (path, *box.host.address, box.id, box.made["envdAccessToken"])).encode()
    return head, b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def take_answers(peer, count):
    """The status lines of answers that have a body."""
    answers = peer.makefile("rb")
    lines = []
    for _ in range(count):
        lines.append(answers.readline().strip())
        length = 0
        while (line := answers.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split()[1])
        answers.read(length)
    return lines


def healthy(box):
    connection = box.host.connection(10)
    connection.request("GET", "/health")
    equal(connection.getresponse().status, 204)
    connection.close()


@check("many chunks that arrive at once, on a connection that stays open")
def _(box):
    front = serving.front(box.host)
    for count in (3, 4, 200):
        parts = [b"%03d." % number for number in range(count)]
        with socket.create_connection(box.host.address, 60 * SLOW) as peer:
            for number in range(3):
                head, body = raw_upload(box, "/tmp/chunks%d" % number, parts)
                peer.sendall(head)
                time.sleep(0.05)
                peer.sendall(body)
                equal(take_answers(peer, 1), [b"HTTP/1.1 200 OK"])
            healthy(box)
            for number in range(3):
                equal(download(box, "/tmp/chunks%d" % number)[2], b"".join(parts))
            peer.sendall(b"".join(raw_upload(box, "/tmp/at_once", parts)) * 3)
            equal(take_answers(peer, 3), [b"HTTP/1.1 200 OK"] * 3)
            equal(download(box, "/tmp/at_once")[2], b"".join(parts))
    healthy(box)
    equal(serving.front(box.host), front)


@check("clients that leave in the middle of chunks, or send a wrong one")
def _(box):
    front = serving.front(box.host)
    for number in range(30):
        head, body = raw_upload(box, "/tmp/left", [b"x" * 700] * 20)
        peer = socket.create_connection(box.host.address, 60 * SLOW)
        peer.sendall(head + body[:500 + 450 * number] + (b"zz\r\n" if number % 3 == 0 else b""))
        if number % 2:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        time.sleep(number * 0.002)
        peer.close()
    healthy(box)
    equal(upload(box, [("/tmp/after", b"after")], chunked=True)[0], 200)
    equal(download(box, "/tmp/after")[2], b"after")
    equal(serving.front(box.host), front)


@check("files that cannot be read or written")
def _(box):
    for path, wanted in (("/no/such", 404), ("/tmp", 400), ("/dev/null", 400), ("", 400)):
        status, _, data = download(box, path)
        equal((path, status, json.loads(data)["code"]), (path, wanted, wanted))
    equal(upload(box, [("/usr/x", b"1")])[0] in (403, 500), True)
    equal(upload(box, [("/tmp", b"1")])[0], 400)
    equal(upload(box, [("/tmp/x", b"1")], "?username=root")[0], 403)
    status, _, _ = box.host.call("POST", "/files?path=/tmp/x", b"--a\r\nbad",
                                 dict(box.headers, **{"Content-Type": "multipart/form-data; boundary=a"}))
    equal(status, 400)
    status, _, _ = box.host.call("POST", "/files?path=/tmp/x", b"x", dict(box.headers, **{"Content-Type": "text/plain"}))
    equal(status, 400)


@check("signed URLs: without a token and without the name of a sandbox")
def _(box):
    def signed(path, operation, expiry=None, token=box.made["envdAccessToken"], user=""):
        text = ":".join([path, operation, user, token] + ([str(expiry)] if expiry else []))
        signature = "v1_" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        return "/files?path=%s&signature=%s" % (quote(path), quote(signature)) + (
            "&signature_expiration=%d" % expiry if expiry else "") + ("&username=" + user if user else "")

    def bare(method, path, body=None, **headers):
        connection = box.host.connection()
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    soon = int(time.time()) + 60
    octets = {"Content-Type": "application/octet-stream"}
    equal(bare("POST", signed("/tmp/signed", "write", soon), b"data", **octets)[0], 200)
    equal(bare("GET", signed("/tmp/signed", "read")), (200, b"data"))
    equal(bare("GET", signed("/tmp/signed", "read", soon, user="user")), (200, b"data"))
    equal(bare("GET", signed("/tmp/signed", "read", soon), **{"E2b-Sandbox-Id": box.id}), (200, b"data"))
    for wrong in (signed("/tmp/signed", "write"), signed("/tmp/signed", "read", soon - 120),
                  signed("/tmp/signed", "read", token="no"), signed("/tmp/signed", "read").replace("signed&", "other&"),
                  "/files?path=/tmp/signed"):
        equal((wrong, bare("GET", wrong)[0]), (wrong, 401))


@check("a path is never a part of a command")
def _(box):
    for path in ("/tmp/$(touch /tmp/bad)", "/tmp/`touch /tmp/bad`", "/tmp/'; touch /tmp/bad; '", "-n", "/tmp/*"):
        status, answer = upload(box, [("x", b"data")], "?path=" + quote(path))
        equal((path, status), (path, 200))
        equal(download(box, quote(path))[2], b"data")
    equal(box.run("ls /tmp/bad 2>&1 >/dev/null | wc -l")["stdout"].strip(), b"1")


@check("describe, make, list, move, remove")
def _(box):
    status, made = box.unary("/filesystem.Filesystem/MakeDir", {"path": "/tmp/m/n/"})
    equal((status, made["entry"]["path"], made["entry"]["type"]), (200, "/tmp/m/n", "FILE_TYPE_DIRECTORY"))
    status, error = box.unary("/filesystem.Filesystem/MakeDir", {"path": "/tmp/m"})
    equal((status, error["code"]), (409, "already_exists"))
    upload(box, [("/tmp/m/n/a", b"12345")])
    box.run("cd /tmp/m; ln -s n/a link; ln -s n dir; ln -s /none broken; chmod 640 n/a")
    status, found = box.unary("/filesystem.Filesystem/Stat", {"path": "/tmp/m/n/a"})
    entry = found["entry"]
    equal((entry["name"], entry["type"], entry["size"], entry["mode"], entry["permissions"]),
          ("a", "FILE_TYPE_FILE", "5", 0o640, "-rw-r-----"))
    status, listed = box.unary("/filesystem.Filesystem/ListDir", {"path": "/tmp/m"})
    rows = {one["name"]: (one["type"], one.get("symlinkTarget")) for one in listed["entries"]}
    equal(rows, {"n": ("FILE_TYPE_DIRECTORY", None), "link": ("FILE_TYPE_FILE", "n/a"),
                 "dir": ("FILE_TYPE_DIRECTORY", "n"), "broken": ("FILE_TYPE_UNSPECIFIED", "/none")})
    status, listed = box.unary("/filesystem.Filesystem/ListDir", {"path": "/tmp/m", "depth": 2})
    equal(len(listed["entries"]), 5)
    status, found = box.unary("/filesystem.Filesystem/Move", {"source": "/tmp/m/n/a", "destination": "/tmp/p/q/b"})
    equal((status, found["entry"]["path"]), (200, "/tmp/p/q/b"))
    equal(box.unary("/filesystem.Filesystem/Remove", {"path": "/tmp/p"}), (200, {}))
    for call, path, code in (("Stat", "/tmp/p", "not_found"), ("ListDir", "/tmp/none", "not_found"),
                             ("ListDir", "/etc/passwd", "invalid_argument")):
        status, error = box.unary("/filesystem.Filesystem/" + call, {"path": path})
        equal((call, path, error["code"]), (call, path, code))


# ---- numbers ----

@check("metrics are what the sandbox's control group says, in both forms")
def _(box):
    def ask():
        status, _, data = box.host.call("GET", "/sandboxes/%s/metrics" % box.id)
        equal(status, 200)
        return json.loads(data)[0]
    before = ask()
    equal((before["cpuCount"], before["memTotal"], before["diskTotal"]), (1, 512 << 20, 512 << 20))
    equal(0 <= before["memUsed"] < 64 << 20, True)
    equal(abs(before["timestampUnix"] - time.time()) < 60, True)
    box.run("head -c 100000000 /dev/zero >/tmp/used")
    stream = box.start("while :; do :; done")
    busy = ask()
    equal(busy["cpuUsedPct"] > 5, True)
    equal(busy["diskUsed"] - before["diskUsed"] >= 100000000, True)
    # Files in memory are memory.
    equal(busy["memUsed"] - before["memUsed"] >= 90000000, True)
    status, _, data = box.host.call("GET", "/metrics", headers=box.headers)
    own = json.loads(data)
    equal((status, own["mem_total"], own["disk_total"], own["cpu_count"]), (200, 512 << 20, 512 << 20, 1))
    equal(own["mem_used"] >= 90000000, True)
    box.unary("/process.Process/SendSignal", {"process": {"pid": stream.pid}, "signal": "SIGNAL_SIGKILL"})
    stream.collect()
    box.run("rm /tmp/used")
    equal(box.host.call("GET", "/sandboxes/none/metrics")[0] in (404, 502), True)


@check("the log: when programs began, and how they ended")
def _(box):
    own = Sandbox(box.host)
    own.run("echo first; exit 0")
    own.run("exit 9", process={"envs": {"A": "b"}})
    status, _, data = box.host.call("GET", "/sandboxes/%s/logs" % own.id)
    found = json.loads(data)
    equal(status, 200)
    lines = [one["line"] for one in found["logs"]]
    equal([line.split(" ", 1)[1] for line in lines],
          ["began: /bin/sh -c echo first; exit 0", "ended: exit, exit code 0",
           "began: /bin/sh -c exit 9", "ended: exit, exit code 9"])
    equal([one["message"] for one in found["logEntries"]], lines)
    equal([one["level"] for one in found["logEntries"]], ["info", "info", "info", "warn"])
    status, _, data = box.host.call("GET", "/v2/sandboxes/%s/logs?limit=1&direction=backward" % own.id)
    equal((status, [one["message"] for one in json.loads(data)["logs"]]), (200, lines[3:]))
    status, _, data = box.host.call("GET", "/sandboxes/%s/logs?start=%d" % (own.id, time.time() * 1000 + 60000))
    equal(json.loads(data)["logs"], [])
    equal(own.kill(), 204)


# ---- the agent ----

def agents(box):
    """The rows of the living agents of the sandbox."""
    rows = json.loads(subprocess.run([WARDER, "ps", "--json"], capture_output=True, text=True, check=True).stdout)
    return [row for row in rows if row["session"] == box.id and row.get("agent") and row["state"] == "running"]


def process_of(box):
    """The agent's process, by its name and the sandbox's keeper."""
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and open("/proc/%s/comm" % name, errors="replace").read().strip() == "0" and \
                    os.readlink("/proc/%s/exe" % name).startswith("/memfd:warder-agent") and \
                    agents(box) and int(name) in tree(box):
                return int(name)
        except OSError:
            continue
    raise AssertionError("the sandbox has no agent")


def tree(box):
    """All processes below the sandbox's keeper."""
    below, parents = set(), {}
    for name in os.listdir("/proc"):
        try:
            if name.isdigit():
                parents[int(name)] = int(open("/proc/%s/stat" % name, errors="replace").read().rsplit(")", 1)[1].split()[1])
                if box.id.encode() in open("/proc/%s/cmdline" % name, "rb").read():
                    below.add(int(name))
        except OSError:
            continue
    keeper = serving.lock_holder("/run/warder/sessions/%s.lock" % box.id)
    if keeper:
        below.add(keeper)
    while True:
        more = {pid for pid, parent in parents.items() if parent in below} - below
        if not more:
            return below
        below |= more


def events_of(stream, count):
    found = []
    while len(found) < count:
        message = stream.next()
        if message is None:
            raise AssertionError("the stream ended: %r after %r" % (stream.last, found))
        if "filesystem" in message:
            found.append((message["filesystem"]["name"], message["filesystem"]["type"][len("EVENT_TYPE_"):]))
    return found


@check("a directory is watched: what happens in it comes as it happens, and only that")
def _(box):
    box.run("mkdir -p /tmp/w/sub; echo a >/tmp/w/old")
    stream = box.stream("/filesystem.Filesystem/WatchDir", {"path": "w"}, {"Keepalive-Ping-Interval": "1"})
    equal(stream.next(), {"start": {}})
    equal(stream.next(), {"keepalive": {}})
    box.run("cd /tmp/w; mkdir new; echo b >>old; mv old newer; chmod 600 newer; rm newer; touch sub/below; echo c >../beside")
    equal(events_of(stream, 6), [("new", "CREATE"), ("old", "WRITE"), ("old", "RENAME"), ("newer", "CREATE"),
                                 ("newer", "CHMOD"), ("newer", "REMOVE")])
    box.run("rm -r /tmp/w")
    equal(events_of(stream, 3), [("new", "REMOVE"), ("sub", "REMOVE"), (".", "REMOVE")])
    stream.connection.close()


@check("a watch of everything below: directories that come and go, entries, links")
def _(box):
    box.run("mkdir -p /tmp/r/a/b; ln -s /etc /tmp/r/link")
    stream = box.stream("/filesystem.Filesystem/WatchDir",
                        {"path": "/tmp/r", "recursive": True, "includeEntry": True})
    equal(stream.next(), {"start": {}})
    box.run("echo 1 >/tmp/r/a/b/file")
    message = stream.next()["filesystem"]
    equal((message["name"], message["type"]), ("a/b/file", "EVENT_TYPE_CREATE"))
    equal((message["entry"]["path"], message["entry"]["type"]), ("/tmp/r/a/b/file", "FILE_TYPE_FILE"))
    equal(events_of(stream, 1), [("a/b/file", "WRITE")])
    box.run("mkdir -p /tmp/r/c/d/e")
    box.run("mkdir /tmp/elsewhere; mv /tmp/r/a /tmp/elsewhere; echo 2 >/tmp/elsewhere/a/b/file; touch /tmp/r/c/d/e/last")
    found = events_of(stream, 1)
    while found[-1] != ("c/d/e/last", "CREATE"):
        found += events_of(stream, 1)
    holds(found, ("c", "CREATE"))
    holds(found, ("c/d/e", "CREATE"))
    holds(found, ("a", "RENAME"))
    equal([one for one in found if one[0].startswith("a/")], [])
    stream.connection.close()
    box.run("rm -rf /tmp/r /tmp/elsewhere")


@check("a watcher that is asked from time to time")
def _(box):
    box.run("mkdir -p /tmp/p")
    status, made = box.unary("/filesystem.Filesystem/CreateWatcher", {"path": "/tmp/p"})
    equal(status, 200)
    equal(box.unary("/filesystem.Filesystem/GetWatcherEvents", made), (200, {"events": []}))
    box.run("touch /tmp/p/one; rm /tmp/p/one")
    status, found = box.unary("/filesystem.Filesystem/GetWatcherEvents", made)
    equal([(one["name"], one["type"]) for one in found["events"]],
          [("one", "EVENT_TYPE_CREATE"), ("one", "EVENT_TYPE_CHMOD"), ("one", "EVENT_TYPE_REMOVE")])
    equal(box.unary("/filesystem.Filesystem/GetWatcherEvents", made), (200, {"events": []}))
    box.run("cd /tmp/p; i=0; while [ $i -lt 2000 ]; do echo >file$i; i=$((i+1)); done")
    status, error = box.unary("/filesystem.Filesystem/GetWatcherEvents", made)
    equal((status, error["code"]), (500, "data_loss"))
    status, error = box.unary("/filesystem.Filesystem/GetWatcherEvents", made)
    equal((status, error["code"]), (404, "not_found"))
    status, made = box.unary("/filesystem.Filesystem/CreateWatcher", {"path": "/tmp/p"})
    equal(box.unary("/filesystem.Filesystem/RemoveWatcher", made), (200, {}))
    equal(box.unary("/filesystem.Filesystem/RemoveWatcher", made)[0], 404)
    box.run("rm -r /tmp/p")


@check("what cannot be watched, and more watches than there may be")
def _(box):
    for path, code in (("/tmp/none", "not_found"), ("/etc/passwd", "invalid_argument")):
        error = box.stream("/filesystem.Filesystem/WatchDir", {"path": path}).collect()["error"]
        equal((path, error["code"]), (path, code))
        equal((path, box.unary("/filesystem.Filesystem/CreateWatcher", {"path": path})[1]["code"]), (path, code))
    box.run("mkdir -p /tmp/many; cd /tmp/many; i=0; while [ $i -lt 1023 ]; do mkdir $i; i=$((i+1)); done")
    stream = box.stream("/filesystem.Filesystem/WatchDir", {"path": "/tmp/many", "recursive": True})
    equal(stream.next(), {"start": {}})
    error = box.stream("/filesystem.Filesystem/WatchDir", {"path": "/tmp"}).collect()["error"]
    equal(error["code"], "failed_precondition")
    holds(error["message"], "1,024")
    # One directory more than there is room for ends the watch with a word, and its watches are free again.
    box.run("mkdir /tmp/many/more")
    while (message := stream.next()) is not None:
        equal("filesystem" in message, True)
    equal(stream.last["error"]["code"], "data_loss")
    stream = box.stream("/filesystem.Filesystem/WatchDir", {"path": "/tmp"})
    equal(stream.next(), {"start": {}})
    stream.connection.close()
    box.run("rm -r /tmp/many")


@check("a recursive watch of a tree that is too deep")
def _(box):
    box.run("mkdir -p /tmp/deep; cd /tmp/deep; i=0; while [ $i -lt 1000 ]; do mkdir d; cd d; i=$((i+1)); done")
    stream = box.stream("/filesystem.Filesystem/WatchDir", {"path": "/tmp/deep"})
    equal(stream.next(), {"start": {}})
    stream.connection.close()
    pid = process_of(box)
    error = box.stream("/filesystem.Filesystem/WatchDir", {"path": "/tmp/deep", "recursive": True}).collect()["error"]
    equal(error["code"], "failed_precondition")
    equal(process_of(box), pid)
    # One that becomes too deep ends with a word.
    box.run("mkdir /tmp/flat")
    stream = box.stream("/filesystem.Filesystem/WatchDir", {"path": "/tmp/flat", "recursive": True})
    equal(stream.next(), {"start": {}})
    box.run("mv /tmp/deep /tmp/flat/deep")
    while stream.next() is not None:
        pass
    equal(stream.last["error"]["code"], "data_loss")
    equal(process_of(box), pid)
    box.run("rm -r /tmp/flat")


@check("the agent has 8 MiB and 8 processes beside the sandbox's, and is started again when it dies")
def _(box):
    status, made = box.unary("/filesystem.Filesystem/CreateWatcher", {"path": "/tmp"})
    equal(status, 200)
    stream = box.stream("/filesystem.Filesystem/WatchDir", {"path": "/tmp"})
    equal(stream.next(), {"start": {}})
    pid = process_of(box)
    limits = {}
    for line in open("/proc/%d/cgroup" % pid):
        _, names, path = line.strip().split(":", 2)
        for root in ("/sys/fs/cgroup/" + names, "/sys/fs/cgroup"):
            for name in ("memory.limit_in_bytes", "memory.max", "pids.max"):
                try:
                    limits[name] = int(open("%s%s/%s" % (root, path, name)).read())
                except (OSError, ValueError):
                    continue
    equal(limits.get("memory.limit_in_bytes", limits.get("memory.max")), 8 << 20)
    # The jail's init is counted, too.
    equal(limits["pids.max"] in (8, 9), True)
    equal(len(agents(box)), 1)
    os.kill(pid, signal.SIGKILL)
    while stream.next() is not None:
        pass
    equal(stream.last["error"]["code"], "unavailable")
    equal(box.unary("/filesystem.Filesystem/Stat", {"path": "/tmp"})[0], 200)
    status, error = box.unary("/filesystem.Filesystem/GetWatcherEvents", made)
    equal((status, error["code"]), (404, "not_found"))
    equal(process_of(box) != pid, True)
    # Clients see neither it nor its signals.
    equal(box.unary("/process.Process/List", {})[1], {"processes": []})


FULL = """
import os, time
try:
    while True:
        if os.fork() == 0:
            time.sleep(60)
except OSError:
    print("full", flush=True)
time.sleep(60)
"""


@check("a sandbox that has no process left is looked at all the same")
def _(box):
    own = Sandbox(box.host)
    stream = own.stream("/process.Process/Start", {"process": {"cmd": "python3", "args": ["-c", FULL]}})
    while b"full" not in base64.b64decode((stream.next() or {"event": {}})["event"].get("data", {}).get("stdout", "")):
        pass
    for _ in range(3):
        status, found = own.unary("/filesystem.Filesystem/ListDir", {"path": "/"})
        equal(status, 200)
    holds([one["name"] for one in found["entries"]], "tmp")
    equal(own.kill(), 204)


@check("a file of 12 MiB for a client that reads it slowly comes whole")
def _(box):
    data = os.urandom(1 << 20) * 12
    equal(upload(box, [("x", data)], "?path=/tmp/slow")[0], 200)
    peer = socket.create_connection(box.host.address)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    lines = ["GET /files?path=/tmp/slow HTTP/1.1", "Host: %s:%d" % box.host.address, "Connection: close"]
    peer.sendall("\r\n".join(lines + ["%s: %s" % pair for pair in box.headers.items()] + ["", ""]).encode())
    time.sleep(12)  # longer than a keeper waits for a client that takes nothing
    answer = http.client.HTTPResponse(peer)
    answer.begin()
    equal((answer.status, answer.read() == data), (200, True))
    peer.close()
    box.run("rm /tmp/slow")


@check("a client that leaves a download does not leave a process behind")
def _(box):
    box.run("head -c 50000000 /dev/zero >/tmp/large")
    connection = box.host.connection()
    connection.request("GET", "/files?path=/tmp/large", headers=box.headers)
    peer = connection.sock
    answer = connection.getresponse()
    equal(len(answer.read(1000)), 1000)
    peer.shutdown(socket.SHUT_RDWR)
    answer.close()
    connection.close()
    for number in range(20):
        peer = socket.create_connection(box.host.address)
        peer.sendall(("GET /files?path=/tmp/large HTTP/1.1\r\nHost: %s:%d\r\nE2b-Sandbox-Id: %s\r\nX-Access-Token: %s\r\n\r\n"
                      % (*box.host.address, box.id, box.made["envdAccessToken"])).encode())
        time.sleep(number * 0.002)
        peer.close()
    for _ in range(600):
        if not box.unary("/process.Process/List", {})[1]["processes"]:
            return
        time.sleep(0.1)
    raise AssertionError(box.unary("/process.Process/List", {}))


# ---- the interpreter ----

@check("code: output, value, error, variables that stay")
def _(box):
    status, lines = box.execute({"code": "import sys\nx = 'a'\nprint('out')\nprint('err', file=sys.stderr)\nx"})
    equal(status, 200)
    by_type = {}
    for line in lines:
        by_type.setdefault(line["type"], []).append(line)
    equal("".join(one["text"] for one in by_type["stdout"]), "out\n")
    equal("".join(one["text"] for one in by_type["stderr"]), "err\n")
    equal([(one["is_main_result"], one["text"]) for one in by_type["result"]], [(True, "a")])
    equal(by_type["number_of_executions"][0]["execution_count"], 1)
    equal(lines[-1], {"type": "end_of_execution"})
    status, lines = box.execute({"code": "1/0"})
    error = [one for one in lines if one["type"] == "error"][0]
    equal(error["name"], "ZeroDivisionError")
    holds(error["traceback"], "1/0")
    status, lines = box.execute({"code": "x * 2"})
    equal([one["text"] for one in lines if one["type"] == "result"], ["aa"])


@check("rich results")
def _(box):
    code = ("class R:\n def _repr_html_(self): return '<b>'\n def _repr_png_(self): return b'\\x89PNG'\n"
            " def __repr__(self): return 'R'\ndisplay(R())\nR()")
    status, lines = box.execute({"code": code})
    found = [one for one in lines if one["type"] == "result"]
    equal([one["is_main_result"] for one in found], [False, True])
    for one in found:
        equal((one["html"], one["png"], one["text"]), ("<b>", base64.b64encode(b"\x89PNG").decode(), "R"))


@check("contexts: make, list, run in, begin anew, end")
def _(box):
    status, _, data = box.host.call("POST", "/contexts", {"language": "python"}, box.interpreter)
    made = json.loads(data)
    equal((status, made["language"], made["cwd"]), (200, "python", "/tmp"))
    equal(box.execute({"code": "y = 5", "context_id": made["id"]})[0], 200)
    status, lines = box.execute({"code": "y", "context_id": made["id"]})
    equal([one["text"] for one in lines if one["type"] == "result"], ["5"])
    status, _, data = box.host.call("GET", "/contexts", headers=box.interpreter)
    holds([one["id"] for one in json.loads(data)], made["id"])
    equal(box.host.call("POST", "/contexts/%s/restart" % made["id"], headers=box.interpreter)[0], 204)
    status, lines = box.execute({"code": "y", "context_id": made["id"]})
    equal([one["name"] for one in lines if one["type"] == "error"], ["NameError"])
    equal(box.host.call("DELETE", "/contexts/" + made["id"], headers=box.interpreter)[0], 204)
    equal(box.execute({"code": "y", "context_id": made["id"]})[0], 404)
    equal(box.host.call("DELETE", "/contexts/none", headers=box.interpreter)[0], 404)


@check("code that is refused")
def _(box):
    for body, wanted in (({"code": "1", "context_id": "a", "language": "python"}, 400), ({}, 400),
                         ({"code": "1", "env_vars": {"A": "b"}}, 400), ({"code": "1", "language": "cobol"}, 400), ({"code": "1", "language": "a b"}, 400)):
        equal((body, box.execute(body)[0]), (body, wanted))
    equal(box.host.call("POST", "/contexts", {"cwd": "/usr"}, box.interpreter)[0], 400)


@check("a client that leaves interrupts its code")
def _(box):
    connection = box.host.connection()
    body = json.dumps({"code": "import time\nprint('begun', flush=True)\ntime.sleep(600)"})
    connection.request("POST", "/execute", body, dict(box.interpreter, **{"Content-Type": "application/json"}))
    answer = connection.getresponse()
    holds(answer.readline(), b"begun")
    answer.close()
    connection.close()
    began = time.monotonic()
    status, lines = box.execute({"code": "'after'"})
    equal([one["text"] for one in lines if one["type"] == "result"], ["after"])
    if time.monotonic() - began > 20 * SLOW:
        raise AssertionError("the code was not interrupted")


@check("what a sandbox may not have is refused when it is created")
def _(box):
    for body, part in (({"network": {"allowOut": ["example.org"]}}, "network.allowOut"),
                       ({"network": {"allowOut": ["a.org"]}, "templateID": "net"}, "a.org"),
                       ({"network": {"rules": {"a.org": []}}}, "network.rules"), ({"network": {"denyOut": [5]}, "templateID": "net"}, "denyOut"),
                       ({"network": 5}, "network"), ({"autoPause": True}, "autoPause"),
                       ({"autoResume": {"enabled": True}}, "autoResume"), ({"mcp": {}}, "mcp"),
                       ({"volumeMounts": [{"name": "a"}]}, "volumeMounts"), ({"timeout": "x"}, "timeout"),
                       ({"templateID": "none"}, "none"), ({"templateID": 5}, "templateID"),
                       ({"allow_internet_access": "no"}, "allow_internet_access")):
        status, _, data = box.host.call("POST", "/v2/sandboxes", body)
        equal((body, status in (400, 403, 404)), (body, True))
        holds(json.loads(data)["message"], part)
    own = Sandbox(box.host, allow_internet_access=True, autoPause=False, autoResume={"enabled": False}, secure=True,
                  network={}, metadata={"a": "b"})
    holds(own.made["warder"]["allowInternetAccess"], "adds nothing")
    equal(own.run("ls /sys/class/net 2>/dev/null; grep -c : /proc/net/dev")["stdout"].split()[-1], b"1")
    equal(own.kill(), 204)
    own = Sandbox(box.host, allow_internet_access=False)
    equal("warder" in own.made, False)
    equal(own.kill(), 204)


@check("a request can only narrow the network of its template")
def _(box):
    def network(**options):
        own = Sandbox(box.host, templateID="net", **options)
        status, _, data = box.host.call("GET", "/v1/sandboxes/" + own.id)
        equal((status, own.kill()), (200, 204))
        found = json.loads(data)["policy"]["network"]
        return found["mode"], [row["host"] for row in found.get("allow", [])], [row.get("host", row.get("cidr")) for row in found.get("deny", [])]
    equal(network(), ("allow", ["*.example.org", "pypi.org"], []))
    equal(network(network={"allowOut": ["a.example.org"], "denyOut": ["0.0.0.0/0"]}), ("allow", ["a.example.org"], []))
    equal(network(network={"denyOut": ["93.184.216.0/24"]}), ("allow", ["*.example.org", "pypi.org"], ["93.184.216.0/24"]))
    equal(network(allow_internet_access=False)[0], "none")
    own = Sandbox(box.host, templateID="net", network={"allowOut": ["a.example.org"]})
    found = own.run("getent hosts a.example.org; getent hosts pypi.org || echo none")["stdout"].split()
    equal((len(found), found[-1]), (3, b"none"))
    equal(own.kill(), 204)


@check("the network rules of a live sandbox are replaced, within its template")
def _(box):
    def put(own, body, token=None):
        status, _, data = box.host.call("PUT", "/sandboxes/%s/network" % own.id, body)
        return status, json.loads(data)["message"] if data else ""

    def names(own):
        """Which of three names programs of the sandbox find."""
        return own.run("for i in a.example.org b.example.org pypi.org; do getent hosts $i >/dev/null && echo $i; done; true")["stdout"].split()

    def policy(own):
        return json.loads(box.host.call("GET", "/v1/sandboxes/" + own.id)[2])["policy"]["network"]
    own = Sandbox(box.host, templateID="net", network={"allowOut": ["a.example.org"]})
    equal(names(own), [b"a.example.org"])
    stream = own.start("until getent hosts b.example.org; do sleep 0.1; done; getent hosts a.example.org || echo gone")
    equal(put(own, {"allowOut": ["b.example.org"]}), (204, ""))
    equal(stream.collect()["stdout"].split()[-1], b"gone")
    equal((names(own), [row["host"] for row in policy(own)["allow"]]), ([b"b.example.org"], ["b.example.org"]))
    for body, part in (({"allowOut": ["evil.org"]}, "evil.org"), ({"rules": {"a.org": []}}, "rules"), ({"allowOut": "a"}, "network.allowOut"),
                       ({"allow_internet_access": 1}, "allow_internet_access")):
        status, message = put(own, body)
        equal((body, status in (400, 403)), (body, True))
        holds(message, part)
    equal(names(own), [b"b.example.org"])
    equal((put(own, {"denyOut": ["pypi.org"]})[0], names(own)), (204, [b"a.example.org", b"b.example.org"]))
    equal((put(own, {"allow_internet_access": False})[0], names(own)), (204, []))
    equal((put(own, {})[0], names(own)), (204, [b"a.example.org", b"b.example.org", b"pypi.org"]))
    equal(own.kill(), 204)
    equal(put(own, {})[0], 404)
    own = Sandbox(box.host, templateID="net", allow_internet_access=False)
    status, message = put(own, {"allowOut": ["a.example.org"]})
    equal((status, own.kill()), (409, 204))
    holds(message, "network.mode")


@check("a template may be an image, even one without a libc")
def _(box):
    with tempfile.TemporaryDirectory(prefix="warder-e2b-") as root:
        for name in ("bin", "tmp", "proc", "dev"):
            os.mkdir(os.path.join(root, name))
        shutil.copy("/bin/busybox", os.path.join(root, "bin"))
        for name in ("sh", "cat", "mkdir", "mv", "rm", "ls", "touch"):
            os.symlink("busybox", os.path.join(root, "bin", name))
        subprocess.run([WARDER, "image", "import", "--format", "directory", root, IMAGE], check=True, capture_output=True)
    try:
        own = Sandbox(box.host, templateID="image")
        equal(own.run("ls /")["stdout"].split(), [b"bin", b"dev", b"proc", b"tmp"])
        equal(upload(own, [("x", b"in the image")], "?path=a/b")[0], 200)
        equal(download(own, "/tmp/a/b")[2], b"in the image")
        equal(own.unary("/filesystem.Filesystem/Move", {"source": "a/b", "destination": "c"})[1]["entry"]["path"], "/tmp/c")
        status, found = own.unary("/filesystem.Filesystem/ListDir", {"path": "/bin"})
        holds([one["name"] for one in found["entries"]], "busybox")
        stream = own.stream("/filesystem.Filesystem/WatchDir", {"path": "/tmp"})
        equal(stream.next(), {"start": {}})
        own.run("touch /tmp/new")
        holds(events_of(stream, 1), ("new", "CREATE"))
        stream.connection.close()
        equal(own.kill(), 204)
    finally:
        subprocess.run([WARDER, "image", "remove", IMAGE], capture_output=True)


@check("a sandbox that ends while a program runs")
def _(box):
    own = Sandbox(box.host)
    stream = own.start("sleep 60")
    equal(own.kill(), 204)
    try:
        found = stream.collect()
    except EOFError:
        raise AssertionError("no last frame")
    if not found["error"] and not (found["end"] and found["end"].get("error")):
        raise AssertionError(found)
    equal(own.host.call("GET", "/health", headers=own.headers)[0], 502)


def main():
    chosen = sys.argv[1:]
    box = Sandbox(Host())
    for name, function in results:
        if chosen and not any(part in name for part in chosen):
            continue
        try:
            function(box)
            tell(True, name)
        except Exception as error:  # the next check shall run
            tell(False, name, "%s: %s" % (type(error).__name__, error))
    box.kill()
    finish()


main()
