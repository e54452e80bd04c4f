#!/usr/bin/env python3
"""Services of the kind e2b as backends: Warder's own execution host, and services that lie, die, say nothing and send the caller elsewhere.

Only loopback is used. Sessions of root are below /run/warder; the suite has one of its own, in a mount namespace.
"""
import base64, http.server, json, os, signal, socket, struct, subprocess, sys, threading, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../lib"))
from serving import Host, own_run_directory, warder, work, write
from tap import ROOT, SLOW, WARDER, finish, tell, until

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever starts this in the background may ignore it


def document(name, url, **more):
    whole = dict({"url": url, "sandboxUrl": url, "tokenFile": TOKEN, "kind": "e2b", "template": "base"}, **more)
    return write(name, json.dumps({"enable": ["remote"], "remote": {"cloud": {key: value for key, value in whole.items() if value is not None}}}), 0o644)


ALL = ["--prefer", "all"]


def command(path, *words, flags=ALL):
    return ["run", "--backends", path, "--backend", "remote:cloud", *flags, "--", *words]


def remote(path, *words, flags=(), input=b"", **more):
    return warder(*command(path, *words, flags=ALL + list(flags)), input=input, **more)


# ---- Warder's own host ----

class Own(Host):
    def __init__(self):
        super().__init__()
        self.token = self.tenant("add", "me")

    def sandboxes(self):
        return [row["id"] for row in self.ask("GET", "/v1/sandboxes", None, self.token)[1]]


def same(path, host):
    cases = (
        ("an exit status", ["sh", "-c", "exit 7"], b"", []),
        ("both streams", ["sh", "-c", "echo out; echo err >&2"], b"", []),
        ("standard input, whole", ["cat"], bytes(range(256)) * 1600, []),
        ("input that nobody reads", ["true"], b"x" * 300000, []),
        ("no input", ["cat"], b"x", ["-n"]),
        ("a variable, and a directory", ["sh", "-c", "echo $A; pwd"], b"", ["--env", "A=b c", "--cwd", "/"]),
        ("a variable of the caller", ["sh", "-c", "echo $SECRET_OF_TEST"], b"", ["--env", "SECRET_OF_TEST"]),
        ("arguments as they are", ["printf", "%s\n", "a  b", "$HOME", "'", ""], b"", []),
        ("its own signal", ["sh", "-c", "kill -SEGV $$"], b"", []),
        ("a signal that cannot be caught", ["sh", "-c", "kill -KILL $$"], b"", []),
        ("the end of its time", ["sh", "-c", "echo x; sleep 20"], b"", ["--timeout", "1s"]),
        ("output that is no text", ["sh", "-c", "printf '\\377\\0x'"], b"", []),
    )
    for name, words, input, flags in cases:
        more = {"env": {"SECRET_OF_TEST": "from the caller"}}
        here = warder("run", "--no-service", *ALL, *flags, "--", *words, input=input, **more)
        there = remote(path, *words, input=input, flags=flags, **more)
        tell(here[:2] == there[:2], "the same result as here: " + name, (here[0], here[1][-200:], here[2], there[0], there[1][-200:], there[2]))
    tell(host.sandboxes() == [], "each sandbox is deleted", host.sandboxes())


def results(path, host):
    receipt = os.path.join(work, "receipt")
    status, out, err = remote(path, "sh", "-c", "echo hello; exit 3", flags=["--json", "--receipt", receipt])
    data = json.loads(out)
    rows = {row["control"]: row for row in data["receipt"]["controls"]}
    tell((status, data["exitCode"], data["cause"], data["backend"], data["isolation"]) == (3, 3, "exit", "remote:cloud", "providerHosted") and
         data["stdout"]["text"] == "hello\n", "a result in JSON", out)
    tell(rows["limits.wallTime"]["status"] == "reported by remote:cloud" and len(rows) > 15 and
         {row["status"] for name, row in rows.items() if name != "limits.wallTime"} == {"notEnforced"}, "the receipt: the time limit is reported, and all else not enforced", rows)
    tell(json.load(open(receipt)) == data["receipt"], "the receipt in a file is that of the result")
    size = 5000000
    status, out, err = remote(path, "sh", "-c", "head -c %d /dev/zero | tr '\\0' x" % size, flags=["--set", "output.stdout=8MiB"])
    tell((status, out) == (0, b"x" * size), "5 MB of output arrive", (status, len(out), err))
    status, out, err = remote(path, "sh", "-c", "head -c 300000 /dev/zero", flags=["--set", "output.stdout=100KiB"])
    tell(status == 125 and len(out) == 102400 and "of 300000 bytes" in err, "output above the limit is cut, and that is said", (status, len(out), err))
    status, out, err = remote(path, "no-such-program")
    # A loaded host may say so only after it has said that the program starts.
    tell((status == 125 and "did not start" in err or status == 137 and "not known" in err) and "no-such-program" in err and host.sandboxes() == [],
         "a program that is not there", (status, err))
    status, out, err = remote(path, "true", flags=["--json", "--timeout", "1s"])
    tell(status == 0 and json.loads(out)["durations"]["wallUs"] > 0 and json.loads(out)["startedAt"].startswith("20"), "it has its times", out)


def policies(path, host):
    status, out, err = warder(*command(path, "true", flags=[]))
    tell(status == 125 and "network" in err and "does not promise" in err and "limits.wallTime" not in err and host.sandboxes() == [], "what is required is refused by its field", (status, err))
    status, out, err = remote(path, "true", flags=["--require", "limits.memory"])
    tell(status == 125 and "limits.memory" in err and "limits.cpuTime" not in err, "so is one of them", (status, err))
    status, out, err = remote(path, "true", flags=["--require", "limits.wallTime"])
    tell(status == 0, "the time limit may be required", (status, err))
    status, out, err = remote(path, "true", flags=["--timeout", "unlimited"])
    tell(status == 125 and "limits.wallTime" in err, "and there must be one", (status, err))
    for flags, word in ((["--ro", "/srv"], "filesystem.paths.readOnly"), (["--workspace", work], "filesystem.workspace"), (["--terminal"], "--terminal"), (["--detach"], "--detach")):
        status, out, err = remote(path, "true", flags=flags)
        tell(status == 125 and word in err, "what another machine cannot have is refused: " + word, (status, err))
    status, out, err = warder("explain", "--backends", path, "--backend", "local,remote:cloud", "--json", *ALL)
    states = {row["field"]: row["backends"]["remote:cloud"]["state"] for row in json.loads(out)["fields"]}
    tell(states["limits.wallTime"] == "reported" and states["limits.memory"] == "notEnforced" and "enforced" not in states.values(), "explain shows what is not promised", states)
    for words in (["session", "start", "far", "--backends", path, "--backend", "remote:cloud", *ALL],
                  ["code", "--backends", path, "--backend", "remote:cloud", *ALL, "--language", "python", "-"],
                  ["code", "--backends", path, "--backend", "remote:cloud", *ALL, "--language", "bash", "-"],
                  ["backend", "--backends", path, "trust", "remote:cloud"]):
        status, out, err = warder(*words, input=b"true")
        tell(status == 125 and "remote:cloud" in err and ("kind e2b" in err or "language" in err) and host.sandboxes() == [], "another command has no such service: " + words[0], (status, err))
    status, out, err = warder("run", "--backends", path, "--backend", "auto", "--json", *ALL, "--", "true")
    tell(json.loads(out)["backend"] == "local", "auto takes none that the order does not name", out)
    first = json.load(open(path))
    first["order"] = ["remote:cloud", "local"]
    path = write("first.json", json.dumps(first))
    status, out, err = warder("run", "--backends", path, "--backend", "auto", "--json", *ALL, "--", "true")
    tell(json.loads(out)["backend"] == "remote:cloud", "and one that it names, if all else is preferred", out)
    status, out, err = warder("run", "--backends", path, "--backend", "auto", "--json", *([] if ROOT else ["--prefer", "limits"]), "--", "true")
    data = json.loads(out)
    tell(data.get("backend") == "local" and "remote:cloud" in data["passedOver"], "but passes it over if anything is required", out)


def ends(path, host):
    for how in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen([WARDER] + command(path, "sleep", "50", flags=ALL + ["-n"]), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        until(host.sandboxes, 30)
        begun = len(host.sandboxes())
        process.send_signal(how)
        out, err = process.communicate(timeout=60 * SLOW)
        tell(begun == 1 and process.returncode == (-9 if how == signal.SIGKILL else 128 + how), "a signal ends the program: %d" % how, (begun, process.returncode, err))
        tell(until(lambda: host.sandboxes() == [], 20) if how == signal.SIGKILL else host.sandboxes() == [], "and its sandbox", host.sandboxes())


def tokens(host):
    wrong = write("wrong-token", "e2b_" + "0" * 40)
    status, out, err = remote(document("token.json", host.url, tokenFile=wrong), "true")
    tell(status == 125 and "does not accept the token" in err and "000" not in err, "a wrong token is named, and not shown", (status, err))
    status, out, err = remote(document("token.json", host.url, tokenFile=write("open", "x", 0o644)), "true")
    tell(status == 125 and "chmod 600" in err, "a token that others can read is refused", (status, err))
    status, out, err = remote(document("template.json", host.url, template="none"), "true")
    tell(status == 125 and "none" in err and "not known" not in err, "an unknown template is the service's refusal", (status, err))


# ---- services that are none ----

def frame(message, flags=0):
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">BI", flags, len(text)) + text


START = frame({"event": {"start": {"pid": 7}}})
HELLO = frame({"event": {"data": {"stdout": base64.b64encode(b"hello\n").decode()}}})
END = frame({"event": {"end": {"exited": True, "status": "exit status 0"}}})
LAST = frame({}, 2)
SANDBOX = {"sandboxID": "i1", "templateID": "base", "clientID": "c", "envdVersion": "0.5.7", "envdAccessToken": "secret-of-the-sandbox"}


class Evil(http.server.BaseHTTPRequestHandler):
    """The server's `how` has, by the last word of the path, bytes of a body, a (status, body, headers), or a function."""

    def log_message(self, *words):
        pass

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for header in headers:
            self.send_header(*header)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = self.command if self.command == "DELETE" else self.path.rsplit("/", 1)[1]
        self.server.asked.append((kind, dict(self.headers), body))
        how = self.server.how.get(kind, {"sandboxes": (201, json.dumps(SANDBOX).encode(), ()), "Start": (200, START + HELLO + END + LAST, ()), "DELETE": (204, b"", ())}.get(kind, (200, b"{}", ())))
        if callable(how):
            return how(self)
        return self.answer(*how) if isinstance(how, tuple) else self.answer(200, how)

    do_GET = do_POST = do_DELETE = serve


def evil(how, *words, flags=(), input=b"", **more):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    server.handle_error = lambda *words: None  # a client that hangs up
    server.daemon_threads = True
    server.how, server.asked = how, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    done = remote(document("evil.json", "http://127.0.0.1:%d" % server.server_address[1], **more), *(words or ("true",)), flags=list(flags), input=input)
    server.shutdown()
    server.server_close()
    return done, [one[0] for one in server.asked], server.asked


def made(**change):
    return (201, json.dumps({key: value for key, value in dict(SANDBOX, **change).items() if value is not None}).encode(), ())


def begin(self):
    self.send_response(200)
    self.send_header("Connection", "close")
    self.end_headers()


def drip(self):
    """One byte at a time."""
    begin(self)
    for byte in START + HELLO + END + LAST:
        self.wfile.write(bytes([byte]))
        self.wfile.flush()


def half(self):
    begin(self)
    self.wfile.write(START + HELLO + END[:9])


def hangs(self):
    begin(self)
    self.wfile.write(START + HELLO)
    self.wfile.flush()
    time.sleep(60 * SLOW)


def floods(self):
    """Output until the caller has enough; then it ends."""
    begin(self)
    data = frame({"event": {"data": {"stdout": base64.b64encode(b"y" * 1000000).decode()}}})
    self.wfile.write(START + data * 40 + END + LAST)


def dies(self):
    self.connection.shutdown(socket.SHUT_RDWR)


def late(self):
    begin(self)
    self.wfile.write(START + HELLO + frame({"error": {"code": "deadline_exceeded", "message": "too long"}}, 2))


def redirect(self):
    self.answer(307, b"", [("Location", "http://127.0.0.1:%d/stolen" % self.server.server_address[1])])


def hostile():
    good, kinds, asked = evil({}, "sh", "-c", "x", flags=["--env", "KEEP=1", "--cwd", "/x", "--timeout", "9s"], input=b"in")
    tell(good[:2] == (0, b"hello\n") and kinds[:2] == ["sandboxes", "Start"] and kinds[-1] == "DELETE", "a service that does what it should", (good, kinds))
    token = open(TOKEN).read().strip()
    made_by, started = json.loads(asked[0][2]), json.loads(asked[1][2][5:])
    tell(made_by["templateID"] == "base" and made_by["secure"] is True and made_by["allow_internet_access"] is False and 9 < made_by["timeout"] < 300, "the sandbox is asked for as it should be", made_by)
    tell(started == {"process": {"cmd": "sh", "args": ["-c", "x"], "envs": {"KEEP": "1"}, "cwd": "/x"}, "stdin": True} and asked[1][1]["Connect-Timeout-Ms"] == "9000", "and the program", started)
    tell(asked[0][1].get("X-API-Key") == token and asked[-1][1].get("X-API-Key") == token and "X-Access-Token" not in asked[0][1] and
         all("X-API-Key" not in one[1] and one[1]["X-Access-Token"] == "secret-of-the-sandbox" for one in asked[1:] if one[0] != "DELETE"), "each token goes only where it belongs", asked)
    done, kinds, asked = evil({}, flags=["--net", "host"])
    tell(json.loads(asked[0][2])["allow_internet_access"] is True, "the internet is asked for only if the policy has a network", asked[0])
    done, kinds, asked = evil({"Start": drip}, input=b"in")
    tell(done[:2] == (0, b"hello\n"), "an answer that comes byte by byte", done)
    # before a program runs
    for name, how, word in (("a redirect", redirect, "redirects are not followed"), ("2 MiB", b" " * (2 << 20), "1 MiB"), ("no JSON", (201, b"<html>", ()), "sandboxID"),
                            ("headers", (201, b"{}", [("X-Long-%d" % i, "y" * 1000) for i in range(90)]), "64 KiB"), ("no id", made(sandboxID=None), "sandboxID"),
                            ("an id that is a path", made(sandboxID="../x"), "sandboxID"), ("death", dies, "remote:cloud"),
                            ("a refusal", (400, b'{"code": 400, "message": "no\\u001b[31m such template"}', ()), "such template")):
        done, kinds, asked = evil({"sandboxes": how})
        tell(done[0] == 125 and word in done[2] and "\x1b" not in done[2] and kinds == ["sandboxes"], "no sandbox, no program: " + name, (done, kinds))
    for name, how, word in (("no access token", made(envdAccessToken=None), "access token"), ("a token with a line feed", made(envdAccessToken="a\nX: y"), "access token"),
                            ("an old envd", made(envdVersion="0.5.1"), "envdVersion"), ("no version", made(envdVersion="new"), "envdVersion")):
        done, kinds, asked = evil({"sandboxes": how})
        tell(done[0] == 125 and word in done[2] and kinds == ["sandboxes", "DELETE"], "a sandbox that cannot be used is deleted: " + name, (done, kinds))
    done, kinds, asked = evil({"sandboxes": made(domain="192.0.2.1")}, sandboxUrl=None)
    tell(done[0] == 125 and "address" in done[2] and kinds == ["sandboxes", "DELETE"], "nor is a program sent by http to another machine", (done, kinds))
    # the program does not start
    for name, how, word in (("a status", (400, b'{"code": "unavailable", "message": "gone"}', ()), "gone"),
                            ("an error", START[:0] + frame({"error": {"code": "not_found", "message": "no such file"}}, 2), "no such file")):
        done, kinds, asked = evil({"Start": how})
        tell(done[0] == 125 and "did not start" in done[2] and word in done[2] and kinds[-1] == "DELETE", "a program that is refused: " + name, (done, kinds))
    # it may have run
    for name, how, word in (("half a frame", half, "before the program's end"), ("a gateway", (502, b"{}", ()), "before the program's end"), ("death", dies, "not known"), ("no JSON", START + frame(b"<html>"), "no JSON"),
                            ("a web page", b"<html>", "flags 60"), ("a frame of 5 MiB", START + struct.pack(">BI", 0, 5 << 20) + b"x" * 10, "4 MiB"),
                            ("a compressed frame", START + frame(b"{}", 1), "compressed"), ("events in a wrong order", START + START, "wrong order"),
                            ("output that is no base64", START + frame({"event": {"data": {"stdout": "!!"}}}), "base64"), ("an end of none", START + LAST, "before the program's end"),
                            ("an error", START + frame({"error": {"code": "internal", "message": "\x1b[31mred"}}, 2), "red"), ("a redirect", redirect, "redirect"),
                            ("an exit code of 999", START + frame({"event": {"end": {"exited": True, "exitCode": 999}}}), "exitCode")):
        done, kinds, asked = evil({"Start": how}, flags=["--json"])
        data = json.loads(done[1])
        tell(done[0] == 137 and data["cause"] == "host" and word in data["detail"] and "not known" in data["detail"] and "\x1b" not in done[1].decode() and kinds[-1] == "DELETE",
             "an answer that is none ends with the cause host, and the sandbox is deleted: " + name, (done, kinds))
    done, kinds, asked = evil({"Start": late}, flags=["--json"])
    data = json.loads(done[1])
    tell(done[0] == 124 and data["cause"] == "wallTime" and data["stdout"]["text"] == "hello\n", "the service ends the program at its time limit", done)
    done, kinds, asked = evil({"Start": hangs}, flags=["--timeout", "1s", "--json"])
    data = json.loads(done[1])
    tell(done[0] == 124 and data["cause"] == "wallTime" and data["stdout"]["text"] == "hello\n" and "sandbox was deleted" in data["detail"] and kinds[-1] == "DELETE",
         "or if it does not, Warder does", (done, kinds))
    tell(data["limitsHit"] == ["wallTime"] and data["identity"] is None and data["durations"]["userUs"] is None and data["durations"]["wallUs"] > 0, "what the service does not say is not known", data)
    done, kinds, asked = evil({"Start": floods}, flags=["--set", "output.stdout=64MiB"])
    tell(done[0] == 125 and len(done[1]) == 11 << 20 and "of 40000000 bytes" in done[2] and kinds[-1] == "DELETE", "a flood of output is cut", (done[0], len(done[1]), done[2], kinds))
    done, kinds, asked = evil({"Start": lambda self: (time.sleep(1), self.answer(200, START + HELLO + END + LAST)), "SendInput": (500, b"{}", ())}, input=b"in")
    tell(done[:2] == (0, b"hello\n"), "input that is refused does not end the program", done)
    done, kinds, asked = evil({"Start": hangs, "SendInput": (413, b"{}", ())}, flags=["--json"], input=b"in")
    data = json.loads(done[1])
    tell(done[0] == 137 and data["cause"] == "host" and "input" in data["detail"] and kinds[-1] == "DELETE", "input that does not arrive is no success", (done, kinds))
    done, kinds, asked = evil({"DELETE": (500, b"", ())})
    tell(done[:2] == (0, b"hello\n") and "i1" in done[2] and "delete" in done[2] and kinds.count("DELETE") == 3, "a sandbox that stays is named", (done, kinds))
    done, kinds, asked = evil({"DELETE": (404, b"", ())})
    tell(done == (0, b"hello\n", ""), "one that is gone already is not", done)


def domains():
    """The address of a sandbox from the address of the service."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    server.how, server.asked, server.daemon_threads = {}, [], True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    for name, url, sandbox in (("that of the service", "http://api.localhost:%d" % port, SANDBOX), ("that of the answer", "http://127.0.0.1:%d" % port, dict(SANDBOX, domain="localhost:%d" % port))):
        server.how["sandboxes"] = (201, json.dumps(sandbox).encode(), ())
        done = remote(document("domain.json", url, sandboxUrl=None, insecure=True), "true")
        host = [one[1]["Host"] for one in server.asked if one[0] == "Start"][-1:]
        tell(done[:2] == (0, b"hello\n") and host == ["49983-i1.localhost:%d" % port], "the domain of a sandbox: " + name, (done, host))
    server.shutdown()
    server.server_close()


def dead(host):
    path = document("dead.json", host.url)
    process = subprocess.Popen([WARDER] + command(path, "sleep", "50", flags=ALL + ["-n", "--json"]), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(host.sandboxes, 30)
    time.sleep(0.5)
    host.end(signal.SIGKILL)
    out, err = process.communicate(timeout=90 * SLOW)
    data = json.loads(out)
    tell(data.get("cause") == "host" and "not known" in data["detail"] and b"not deleted" in err, "a service that is killed during a run", (process.returncode, out, err))
    status, out, err = remote(path, "true")
    tell(status == 125 and "connect" in err and "not known" not in err, "and one that is not there", (status, err))


own_run_directory()
host = Own()
TOKEN = write("token", host.token + "\n")
path = document("backends.json", host.url)
same(path, host)
results(path, host)
policies(path, host)
ends(path, host)
tokens(host)
hostile()
domains()
dead(host)
finish()
