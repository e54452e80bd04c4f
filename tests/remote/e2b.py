#!/usr/bin/env python3
"""Services of the kind e2b as backends: Warder's own execution host, and services that lie, die, say nothing and send the caller elsewhere.

Only loopback is used. Sessions of root are below /run/warder; the suite has one of its own, in a mount namespace.
"""
import base64, http.server, json, os, signal, socket, struct, subprocess, sys, threading, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../lib"))
import detached, workspaces
from serving import Host, below, own_run_directory, warder, work, write
from tap import ROOT, SLOW, WARDER, finish, tell, until

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever starts this in the background may ignore it
for name in ("E2B_API_URL", "E2B_API_KEY", "CUBE_TEMPLATE_ID"):
    os.environ.pop(name, None)


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
        ("the end of its time", ["sh", "-c", "echo x; sleep 100"], b"", ["--timeout", "%ds" % (2 * SLOW)]),
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
    status, out, err = remote(path, "true", flags=["--json", "--timeout", "20s"])
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
    for words in (["code", "--backends", path, "--backend", "remote:cloud", *ALL, "--language", "python", "-"],
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
        name = self.path.split("?")[0].rsplit("/", 1)[1]
        kind = self.command if self.command == "DELETE" else "list" if (self.command, name) == ("GET", "sandboxes") else name
        self.server.asked.append((kind, dict(self.headers), body, self.path))
        how = self.server.how.get(kind, {"sandboxes": (201, json.dumps(SANDBOX).encode(), ()), "i1": (200, json.dumps(dict(SANDBOX, state="running")).encode(), ()),
                                         "Start": (200, START + HELLO + END + LAST, ()), "DELETE": (204, b"", ())}.get(kind, (200, b"{}", ())))
        if callable(how):
            return how(self)
        return self.answer(*how) if isinstance(how, tuple) else self.answer(200, how)

    do_GET = do_POST = do_DELETE = serve


def serve(how):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    server.handle_error = lambda *words: None  # a client that hangs up
    server.daemon_threads = True
    server.how, server.asked = how, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def evil(how, *words, flags=(), input=b"", **more):
    server = serve(how)
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


# ---- what the environment has ----

def environment(host):
    all = {"E2B_API_URL": host.url, "E2B_API_KEY": host.token, "CUBE_TEMPLATE_ID": "base"}
    bare = document("bare.json", None, tokenFile=None, template=None, sandboxUrl=host.url)
    done = warder(*command(bare, "echo", "x"), env=all)
    tell(done == (0, b"x\n", "") and host.sandboxes() == [], "an entry that lacks them has url, key and template of the environment", done)
    for name, member in (("E2B_API_URL", "url"), ("E2B_API_KEY", "tokenFile"), ("CUBE_TEMPLATE_ID", "template")):
        for how, env in (("none", {key: value for key, value in all.items() if key != name}), ("an empty one", dict(all, **{name: ""}))):
            status, out, err = warder(*command(bare, "true"), env=env)
            tell(status == 125 and name in err and '"%s"' % member in err and host.token not in err, "a missing one is named with member and variable: %s, %s" % (name, how), (status, err))
    status, out, err = warder("run", "--backends", bare, "--backend", "local", "--prefer", "limits", "--", "true")
    tell(status == 0, "another backend does not need them", (status, err))
    for name, env, word in (("a url by http", {"E2B_API_URL": "http://192.0.2.1"}, "E2B_API_URL"), ("a url that is none", {"E2B_API_URL": "x"}, "E2B_API_URL"), ("a key of two lines", {"E2B_API_KEY": "geheim\nX: y"}, "visible"),
                            ("a key that is too long", {"E2B_API_KEY": "g" * 5000}, "E2B_API_KEY"), ("a template that is too long", {"CUBE_TEMPLATE_ID": "g" * 200}, "CUBE_TEMPLATE_ID")):
        status, out, err = warder(*command(bare, "true"), env=dict(all, **env))
        tell(status == 125 and word in err and "geheim" not in err and "ggg" not in err and host.sandboxes() == [], "a wrong one is refused, and not shown: " + name, (status, err))
    wrong = {"E2B_API_URL": "http://127.0.0.1:1", "E2B_API_KEY": "wrong", "CUBE_TEMPLATE_ID": "none"}
    status, out, err = warder(*command(document("whole.json", host.url), "true"), env=wrong)
    tell(status == 0, "what the entry has comes first", (status, err))
    for member, value in [("executeTimeout", value) for value in (0, -1, True, "60", 1e99)] + [("idleTimeout", value) for value in (0, -1, 1.5, 60.0, True, "60")]:
        status, out, err = remote(document("times.json", host.url, **{member: value}), "true")
        tell(status == 125 and '"%s"' % member in err, "a time that is none is refused: %s %r" % (member, value), (status, err))


# ---- sessions ----

def session(*words, **more):
    return warder("session", *words, **more)


def there(path):
    return ["--backends", path, "--backend", "remote:cloud", *ALL]


def sessions(path, host):
    done = session("start", "far", *there(path), "--env", "KEEP=a b", "--json")
    info = json.loads(done[1])
    tell(done[0] == 0 and host.sandboxes() == [info["sandbox"]] and info["backend"] == "remote:cloud" and info["idleTimeoutMs"] == 3600000, "a session is a sandbox of the service, with an hour of idle time", done)
    tell(host.token not in open(file_here("far.remote")).read(), "its file has no token")
    cases = (
        ("an exit status", ["sh", "-c", "exit 7"], b"", []),
        ("both streams", ["sh", "-c", "echo out; echo err >&2"], b"", []),
        ("standard input, whole", ["cat"], bytes(range(256)) * 1600, []),
        ("no input", ["cat"], b"x", ["-n"]),
        ("a variable, and a directory", ["sh", "-c", "echo $A; pwd"], b"", ["--env", "A=b c", "--cwd", "/"]),
        ("arguments as they are", ["printf", "%s\n", "a  b", "$HOME", "'", ""], b"", []),
        ("its own signal", ["sh", "-c", "kill -SEGV $$"], b"", []),
        ("the end of its time", ["sh", "-c", "echo x; sleep 100"], b"", ["--timeout", "%ds" % (2 * SLOW)]),
        ("output that is no text", ["sh", "-c", "printf '\\377\\0x'"], b"", []),
    )
    for name, words, input, flags in cases:
        here = warder("run", "--no-service", *ALL, *flags, "--", *words, input=input)
        done = session("exec", "far", *flags, "--", *words, input=input)
        tell(here[:2] == done[:2], "an execution has the same result as here: " + name, (here, done))
    tell(session("exec", "far", "--", "sh", "-c", "echo $KEEP; echo kept > /tmp/kept")[1] == b"a b\n" and session("exec", "far", "--", "cat", "/tmp/kept")[1] == b"kept\n", "the sandbox keeps variables and files")
    receipt = os.path.join(work, "receipt")
    status, out, err = session("exec", "far", "--json", "--receipt", receipt, "--", "sh", "-c", "exit 3")
    data = json.loads(out)
    rows = {row["control"]: row for row in data["receipt"]["controls"]}
    tell((status, data["cause"], data["backend"], data["isolation"]) == (3, "exit", "remote:cloud", "providerHosted") and rows["limits.wallTime"]["status"] == "reported by remote:cloud" and
         rows["limits.wallTime"]["requested"] in ("60s", "1m", "60000ms") and len(rows) > 15 and {row["status"] for name, row in rows.items() if name != "limits.wallTime"} == {"notEnforced"}, "its receipt: a minute, and all else not enforced", rows)
    for name, words, word in (("a longer time", ["--timeout", "2m", "--", "true"], "--timeout 2m is above 1m, the limits.wallTime of session far"), ("a limit", ["--memory", "1g", "--", "true"], "--memory"), ("a terminal", ["--terminal", "--", "true"], "--terminal"), ("no program", ["--"], "which program")):
        status, out, err = session("exec", "far", *words)
        tell(status == 125 and word in err, "an execution is refused with its reason: " + name, (status, err))
    status, out, err = session("exec", "far", "--", "no-such-program")
    tell(status in (125, 137) and "no-such-program" in err, "a program that is not there", (status, err))
    data = json.loads(session("status", "far", "--json")[1])
    tell(data["state"] == "running" and data["policy"]["limits"]["wallTime"], "status says its state and its policy", data)
    status, out, err = session("list", "--json")
    tell([row["name"] for row in json.loads(out) if "sandbox" in row] == ["far"], "it is in the list", (status, out, err))
    tell(session("start", "far", *there(path), "--env", "KEEP=a b")[0] == 0 and len(host.sandboxes()) == 1, "a second start finds it")
    status, out, err = session("start", "far", *there(path))
    tell(status == 125 and "another policy" in err and len(host.sandboxes()) == 1, "but not with another policy", (status, err))
    for words, word in ((["restart", "far"], "this machine only"), (["extend", "far", "1h"], "this machine only"), (["changes", "far"], "this machine only")):
        status, out, err = session(*words)
        tell(status == 125 and word in err, "what a session there cannot do is refused: " + words[0], (status, err))
    for flags in (["--setup", "true"], ["--cgroup-parent", "/x"], ["--capabilities", "shell"], ["--ro", "/srv"]):
        status, out, err = session("start", "two", *there(path), *flags)
        tell(status == 125 and len(host.sandboxes()) == 1, "and a flag of its start: " + flags[0], (status, err))
    status, out, err = session("start", "two", "--backends", path, "--backend", "remote:cloud")
    tell(status == 125 and "network" in err and "does not promise" in err and len(host.sandboxes()) == 1, "what is required is refused by its field", (status, err))
    moved(path, host)
    tell(session("stop", "far")[0] == 0 and host.sandboxes() == [] and session("status", "far")[0] == 1, "stop deletes the sandbox", host.sandboxes())
    short = document("short.json", host.url, executeTimeout=0.5, idleTimeout=77)
    info = json.loads(session("start", "far", *there(short), "--json")[1])
    status, out, err = session("exec", "far", "--", "sleep", "30")
    tell(info["idleTimeoutMs"] == 77000 and status == 124, "the entry's times hold where the command line has none", (info, status, err))
    session("stop", "far")
    info = json.loads(session("start", "far", *there(short), "--idle-timeout", "5m", "--timeout", "1m", "--json")[1])
    tell(info["idleTimeoutMs"] == 300000 and session("exec", "far", "--", "sleep", "1")[0] == 0, "and the command line's where it has some", info)
    session("stop", "far")


def moved(path, host):
    """Files in and out of the session "far"."""
    blob = bytes(range(256)) * 9000
    tell(session("write", "far", "/tmp/a dir/f\u00fc%?&.bin", input=blob)[0] == 0 and session("read", "far", "/tmp/a dir/f\u00fc%?&.bin")[1] == blob, "a file goes there and comes back, byte by byte")
    for name, content in (("an empty file", b""), ("line feeds of a form", b"\r\n--x--\r\n"), ("no line feed", b"x")):
        session("write", "far", "/tmp/small", input=content)
        tell(session("read", "far", "/tmp/small")[1] == content, "so does " + name)
    session("exec", "far", "--", "sh", "-c", "ln -s /etc/passwd /tmp/link; mkdir /tmp/d")
    rows = {row["name"]: row for row in json.loads(session("list", "far", "/tmp", "--json")[1])}
    tell(rows["a dir"]["type"] == "directory" and rows["link"]["target"] == "/etc/passwd" and (rows["small"]["type"], rows["small"]["sizeBytes"]) == ("file", 1), "a directory is listed", rows)
    status, out, err = session("read", "far", "/tmp/none")
    tell(status == 125 and "no such file" in err, "a file that is not there", (status, err))
    status, out, err = session("list", "far", "/tmp/none")
    tell(status == 125 and err, "a directory that is not there", (status, err))
    source, target = write("source", "content", 0o751), os.path.join(work, "copies")
    os.makedirs(target, exist_ok=True)
    done = session("cp", source, "far:/tmp/d"), session("cp", "far:/tmp/d/source", target)
    copy = os.path.join(target, "source")
    tell([one[0] for one in done] == [0, 0] and open(copy).read() == "content" and os.stat(copy).st_mode & 0o777 == 0o751, "a file is copied there and back with its mode", done)
    status, out, err = session("cp", source, "far:/tmp/d/source", "--on-existing", "error")
    tell(status == 125 and "is there already" in err, "but not over another one with --on-existing error", (status, err))
    tree = os.path.join(work, "tree")
    os.makedirs(os.path.join(tree, "below"))
    for name in ("one", "below/t w\u00f6.bin"):
        with open(os.path.join(tree, name), "wb") as file:
            file.write(name.encode() + blob[:999])
    os.symlink("one", os.path.join(tree, "link"))
    done = session("cp", tree, "far:/tmp/d"), session("cp", "far:/tmp/d/tree", target)
    back = os.path.join(target, "tree")
    tell([one[0] for one in done] == [0, 0] and open(os.path.join(back, "below/t w\u00f6.bin"), "rb").read() == "below/t w\u00f6.bin".encode() + blob[:999] and os.readlink(os.path.join(back, "link")) == "one" and sorted(os.listdir(back)) == ["below", "link", "one"],
         "a directory is copied there and back", done)
    status, out, err = session("patch", "far", "/tmp/d", input=b"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+one\n")
    tell(status == 0 and session("read", "far", "/tmp/d/new.txt")[1] == b"one\n", "a patch is applied", (status, err))


def pauses(path, host):
    """Pause, attach, and a new sandbox in the place of one that is gone."""
    first = json.loads(session("start", "far", *there(path), "--json")[1])["sandbox"]
    status, out, err = session("pause", "far")
    if status == 0:
        status, out, err = session("exec", "far", "--", "true")
        tell(status == 125 and "paused" in err and "resume" in err, "nothing runs in a paused session", (status, err))
        tell(json.loads(session("status", "far", "--json")[1])["state"] == "paused", "and it is not resumed by that")
        status, out, err = session("start", "near", *there(path), "--attach", first)
        tell(status == 125 and "is paused" in err and session("status", "near")[0] == 1 and json.loads(session("status", "far", "--json")[1])["state"] == "paused", "nor is a paused one attached", (status, err))
        status, out, err = session("start", "far", *there(path), "--recreate")
        tell(len(host.sandboxes()) == 1, "or replaced", (status, err, host.sandboxes()))
        tell(session("resume", "far")[0] == 0 and session("exec", "far", "--", "true")[0] == 0, "resume lets it go on")
    else:
        tell(not ROOT and status == 125 and err, "a host that cannot pause says so", (status, err))
        tell(session("exec", "far", "--", "true")[0] == 0, "and the session goes on")
    tell(session("stop", "far", "--keep-sandbox")[0] == 0 and host.sandboxes() == [first], "stop --keep-sandbox leaves it")
    status, out, err = session("start", "far", *there(path), "--attach", first, "--timeout", "2s", "--json")
    tell(status == 0 and json.loads(out)["sandbox"] == first and session("exec", "far", "--", "sleep", "30")[0] == 124, "a sandbox that runs is attached, with the time limit of the flags", (status, out, err))
    for name, words, word in (("an unknown one", ["--attach", "abc"], "another sandbox"), ("no id", ["--attach", "../x"], "letters, digits"), ("a ceiling", ["--attach", first, "--ceiling", write("narrow.json", json.dumps({"version": 1, "limits": {"wallTime": "1s"}}))], "")):
        status, out, err = session("start", "far" if name == "an unknown one" else "new", *there(path), *words)
        tell(status == 125 and word in err and session("status", "new")[0] == 1, "what cannot be attached is refused: " + name, (status, err))
    session("stop", "far")
    status, out, err = session("start", "far", *there(path), "--attach", first)
    tell(status == 125 and "has no sandbox " + first in err and host.sandboxes() == [], "a sandbox that is gone is not attached", (status, err))
    tale = os.path.join(work, "tale")
    again = ["start", "far", *there(path), "--recreate", "--on-recreate", 'echo "$WARDER_SANDBOX" >> %s' % tale, "--json"]
    second = json.loads(session(*again)[1])["sandbox"]
    subprocess.run(["curl", "-s", "-X", "DELETE", "-H", "X-API-Key: " + host.token, host.url + "/sandboxes/" + second])
    status, out, err = session("exec", "far", "--", "true")
    tell(status == 125 and "does not run any more" in err, "an execution in one that is gone says so", (status, err))
    status, out, err = session("start", "far", *there(path))
    tell(status == 125 and host.sandboxes() == [], "and it is not made anew without --recreate", (status, err))
    status, out, err = session(*again)
    third = json.loads(out)["sandbox"]
    tell(status == 0 and third != second and open(tale).read() == second + "\n" and host.sandboxes() == [third], "with it, it is, after the command with its id", (status, out, err))
    subprocess.run(["curl", "-s", "-X", "DELETE", "-H", "X-API-Key: " + host.token, host.url + "/sandboxes/" + third])
    status, out, err = session("exec", "far", "--recreate", "--on-recreate", 'echo "$WARDER_SANDBOX" >> %s' % tale, "--", "cat", input=b"input\n")
    tell((status, out) == (0, b"input\n") and open(tale).read().split() == [second, third] and len(host.sandboxes()) == 1, "exec --recreate makes a new one, too, and runs there", (status, out, err))
    session("stop", "--all")
    tell(host.sandboxes() == [], "nothing is left", host.sandboxes())


# ---- contexts ----

def context(word, *words, **more):
    return warder("context", word, *words, **more)


def piece(session_name, code, *flags, name="py", **more):
    return context("run", session_name, name, "-n", *flags, "-c", code, **more)


SHOW = "class Both:\n def _repr_html_(self): return '<b>x</b>'\n def __repr__(self): return 'plain'\nBoth()"


def contexts(path, host):
    """The same pieces in a session here and in one of the service."""
    session("start", "near", "--no-config", *ALL)
    session("start", "far", *there(path))
    made = context("create", "near", "py"), context("create", "far", "py")
    tell([one[0] for one in made] == [0, 0], "a context is made there", made)
    if made[0][0] != 0 or made[1][0] != 0:
        return
    for name, code in (("a variable", "x = 6"), ("which stays", "x * 7"), ("both streams", "import sys\nprint('out \u00fc')\nprint('err', file=sys.stderr)"), ("an error", "1 / 0"),
                       ("a syntax error", "(("), ("no output", "None"), ("output with a NUL and a half character", "print('a\\0b\\ud800c')"), ("a rich result", SHOW)):
        here, far = piece("near", code), piece("far", code)
        same_text = here[1] == far[1] or "NUL" in name
        tell(here[0] == far[0] and same_text and here[2] == far[2], "a piece there is as one here: " + name, (here, far))
    data = json.loads(piece("far", SHOW, "--json")[1])
    tell(data["session"] == "far" and data["context"] == "py" and data["status"] == "success" and data["contextSays"]["value"].get("text/html") == "<b>x</b>", "a rich result has its media types", data)
    data = json.loads(piece("far", "1 / 0", "--json")[1])
    tell(data["status"] == "failed" and data["contextSays"]["error"]["name"] == "ZeroDivisionError", "an error has its name", data)
    size = 300000
    data = json.loads(piece("far", "print('y' * %d)" % size, "--json")[1])
    tell(data["stdout"]["bytesTotal"] == size + 1, "long output arrives", (data["stdout"]["bytesTotal"], data["stdout"]["bytesKept"]))
    done = warder("code", "--session", "far", "--context", "py", "-", input=b"print(x)")
    tell(done[:2] == (0, b"6\n"), "code --context runs there", done)
    done = warder("code", "--session", "far", "--context", "py", "--language", "bash", "-", input=b"true")
    tell(done[0] == 125 and "runs python" in done[2], "but not in another language", done)
    rows = [row for row in json.loads(context("list", "far", "--json")[1]) if row["context"] == "py"]
    tell(len(rows) == 1 and rows[0]["session"] == "far" and rows[0]["language"] == "python", "it is in the list by its name", rows)
    tell(json.loads(context("describe", "far", "py", "--json")[1])["context"] == "py", "and described")
    done = context("create", "far", "py")
    tell(done[0] == 125 and "has a context py already" in done[2], "its name is taken", done)
    done = piece("far", "print('begun', flush=True)\nimport time\ntime.sleep(100)", "--timeout", "%ds" % (2 * SLOW))
    tell(done[0] == 124 and b"begun" in done[1], "a piece ends with its time", done)
    done = piece("far", "x")
    tell(done[:2] == (0, b"py: 6\n"), "and the context stays", done)
    done = piece("far", "x", "--timeout", "5m")
    tell(done[0] == 125 and "limits.wallTime of session far" in done[2], "more time than the session has is refused", done)
    process = subprocess.Popen([WARDER, "context", "run", "far", "py", "-n", "-c", "open('/tmp/begun', 'w').write('x')\nimport time\ntime.sleep(100)"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: session("read", "far", "/tmp/begun")[1] == b"x")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=90 * SLOW)
    tell(process.returncode == 130, "ctrl-c interrupts a piece", (process.returncode, out, err))
    tell(piece("far", "x")[:2] == (0, b"py: 6\n"), "and the context stays after that, too")
    for words, word in ((["interrupt", "far", "py"], "ctrl-c"), (["fork", "far", "py", "two"], "this machine only"), (["create", "far", "two", "--memory", "1MiB"], "--memory"), (["run", "far", "none", "-c", "1"], "no context none")):
        done = context(*words)
        tell(done[0] == 125 and word in done[2], "what a context there cannot do is refused: " + words[0], done)
    tell(context("restart", "far", "py")[0] == 0 and piece("far", "x")[0] == 1, "a restart takes its variables")
    tell(context("delete", "far", "py")[0] == 0 and context("run", "far", "py", "-c", "1")[0] == 125 and not [row for row in json.loads(context("list", "far", "--json")[1]) if row["context"] == "py"], "delete ends it")
    tell(context("create", "far", "py")[0] == 0 and piece("far", "x")[0] == 1, "and its name is free")
    done = session("stop", "--all")  # an ordinary user's is also the keeper of the sandbox
    tell(done == (0, b"", "") and session("status", "far")[0] == 1 and host.sandboxes() == [], "then all sessions are stopped", (done, host.sandboxes()))


def signals(path, host):
    started = session("start", "far", *there(path))
    for name, flags, script in (("a program that obeys", [], "echo begun > /tmp/begun; exec sleep 50"), ("one that does not", ["--grace", "1s"], "trap '' TERM; echo begun > /tmp/begun; sleep 50; sleep 50")):
        process = subprocess.Popen([WARDER, "session", "exec", "far", "-n", "--json", *flags, "--", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        until(lambda: session("read", "far", "/tmp/begun")[1] == b"begun\n")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=90 * SLOW)
        tell(process.returncode == 143 and json.loads(out)["cause"] == "cancelled", "a signal ends an execution: " + name, (process.returncode, out, err, started))
        look = ["--", "sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; rm -f /tmp/begun"]
        tell(until(lambda: (done := session("exec", "far", *look))[0] == 0 and b"sleep 50" not in done[1]), "and the session goes on without it: " + name)
    session("stop", "far")


def file_here(name):
    return os.path.join("/run/warder" if ROOT else os.environ["XDG_RUNTIME_DIR"] + "/warder", "sessions", name)


def described(**change):
    return (200, json.dumps({key: value for key, value in dict(dict(SANDBOX, state="running"), **change).items() if value is not None}).encode(), ())


GONE = (404, b'{"code": 404, "message": "no such sandbox"}', ())


def lying():
    """Sessions of services that lie. Each gets a session with a good start, and then the lie."""
    server = serve({})
    path = document("lying.json", "http://127.0.0.1:%d" % server.server_address[1])
    kinds = lambda: [one[0] for one in server.asked]

    def begin_anew(how, *flags):
        session("stop", "liar", "--keep-sandbox")
        server.how = {}
        done = session("start", "liar", *there(path), *flags)
        server.how = how
        server.asked.clear()
        return done

    def bodies(kind):
        return [json.loads(one[2]) for one in server.asked if one[0] == kind]

    # the start
    server.asked.clear()
    done = session("start", "liar", *there(path), "--env", "A=b", "--idle-timeout", "100s")
    wish = bodies("sandboxes")[0]
    tell(done[0] == 0 and wish["templateID"] == "base" and wish["timeout"] == 100 and wish["secure"] is True and wish["allow_internet_access"] is False and wish["envVars"] == {"A": "b"}, "the sandbox is asked for as it should be", (done, wish))
    for name, how in (("death", dies), ("a redirect", redirect)):
        def lose(self):
            key = json.loads(self.server.asked[-1][2])["metadata"]["warder"]
            rows = [{"sandboxID": "other", "metadata": {"warder": "x"}}, {"sandboxID": "i7", "metadata": {"warder": key}}, 5, {"sandboxID": "../x", "metadata": {"warder": key}}]
            self.server.how["list"] = (200, json.dumps(rows).encode(), ())
            return how(self)
        session("stop", "liar", "--keep-sandbox")
        server.how = {"sandboxes": lose}
        server.asked.clear()
        done = session("start", "liar", *there(path))
        deleted = [one[3] for one in server.asked if one[0] == "DELETE"]
        tell(done[0] == 125 and deleted == ["/sandboxes/i7"] and kinds().count("sandboxes") == 1 and session("status", "liar")[0] == 1, "a sandbox whose answer is lost is found and deleted, and no other: " + name, (done, kinds(), deleted))
    # executions
    begin_anew({})
    done = session("exec", "liar", "--", "true")
    tell(done[:2] == (0, b"hello\n") and "DELETE" not in kinds() and "connect" not in kinds() and bodies("timeout")[0]["timeout"] > bodies("timeout")[-1]["timeout"] == 3600, "an execution leaves the sandbox, and renews its time before and after", (done, kinds(), bodies("timeout")))
    begin_anew({"i1": described(envdAccessToken=None), "connect": made()})
    done = session("exec", "liar", "--", "true")
    tell(done[:2] == (0, b"hello\n") and kinds().index("i1") < kinds().index("connect") < kinds().index("Start"), "a token that is not in the description comes by connect", (done, kinds()))
    begin_anew({"i1": described(state="paused", envdAccessToken=None), "connect": made()})
    done = session("exec", "liar", "--", "true")
    tell(done[0] == 125 and "paused" in done[2] and "connect" not in kinds() and "Start" not in kinds(), "but a paused one is not connected to", (done, kinds()))
    for name, how in (("half a frame", half), ("no JSON", START + frame(b"<html>"))):
        begin_anew({"Start": how})
        done = session("exec", "liar", "--json", "--", "true")
        data = json.loads(done[1])
        tell(done[0] == 137 and data["cause"] == "host" and "may still run" in data["detail"] and [one["signal"] for one in bodies("SendSignal")] == ["SIGNAL_SIGKILL"] and "DELETE" not in kinds(),
             "a program whose stream breaks is killed, and the sandbox stays: " + name, (done, kinds()))
    begin_anew({"Start": hangs})
    done = session("exec", "liar", "--json", "--timeout", "1s", "--", "true")
    data = json.loads(done[1])
    tell(done[0] == 124 and data["cause"] == "wallTime" and "may still run" in data["detail"] and [one["signal"] for one in bodies("SendSignal")] == ["SIGNAL_SIGKILL"] and "DELETE" not in kinds(),
         "so is one that outlives its time limit", (done, kinds()))
    cancelled = threading.Event()
    def starts_late(self):
        cancelled.wait(60 * SLOW)
        hangs(self)
    def refuses_late(self):
        cancelled.wait(60 * SLOW)
        self.send_response(400)
        self.end_headers()
        self.wfile.write(b'{"message": "no such program"}')
    both = ["SIGNAL_SIGTERM", "SIGNAL_SIGKILL"]
    for name, how, expected, detail in (("a signal before the service has said that the program runs goes on, and after the grace the program is killed", starts_late, both, ""),
                                        ("a signal before the service refuses the program ends the command", refuses_late, [], "stopped by a signal before the program began")):
        begin_anew({"Start": how})
        cancelled.clear()
        process = subprocess.Popen([WARDER, "session", "exec", "liar", "-n", "--json", "--grace", "1s", "--", "true"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        until(lambda: "Start" in kinds())
        process.send_signal(signal.SIGTERM)
        for pid in [pid for pid, name in below(process.pid).items() if name == "warder-remote"]:
            os.kill(pid, signal.SIGTERM)  # the command passes the signal on, but perhaps after the answer
        cancelled.set()
        out, err = process.communicate(timeout=90 * SLOW)
        sent = [one["signal"] for one in bodies("SendSignal")]
        tell(process.returncode == 143 and json.loads(out)["cause"] == "cancelled" and detail in (json.loads(out)["detail"] or "") and sent == expected and "DELETE" not in kinds(), name, (process.returncode, out, err, sent))
    for name, how, word in (("an old envd", described(envdVersion="0.5.1"), "envdVersion"), ("no JSON", b"<html>", "not a JSON object"), ("2 MiB", b" " * (2 << 20), "1 MiB"), ("a state in red", described(state="\x1b[31mred"), "red"), ("a busy service", (503, b'{"code": 503, "message": "busy"}', ()), "busy"),
                            ("a page that is not found", (404, b"<html>nginx</html>", ()), "404"), ("death", dies, "remote:cloud"), ("a redirect", redirect, "redirect")):
        begin_anew({"i1": how})
        done = session("exec", "liar", "--", "true")
        tell(done[0] == 125 and word in done[2] and "\x1b" not in done[2] and "Start" not in kinds() and "does not run any more" not in done[2], "nothing starts if the service does not describe the sandbox: " + name, (done, kinds()))
    # a lease that other commands set to the idle time alone
    def waits(self):
        begin(self)
        self.wfile.write(START)
        self.wfile.flush()
        begun = len(server.asked)
        kept.append(until(lambda: [json.loads(one[2])["timeout"] for one in server.asked[begun:] if one[0] == "timeout"][1:], 60))
        self.wfile.write(HELLO + END + LAST)
    kept = []
    begin_anew({"Start": waits}, "--idle-timeout", "3s", "--timeout", "10m")
    done = session("exec", "liar", "-n", "--", "true", timeout=120)
    times = bodies("timeout")
    tell(done[:2] == (0, b"hello\n") and kept[0] and all(3 < one <= times[0]["timeout"] for one in kept[0]) and times[-1]["timeout"] == 3, "the lease is renewed while a program runs, for the time that is left", (done, kept, times))
    # copies into the session
    times = []
    for count in (1, 101):
        tree = os.path.join(work, "moved-%d" % count)
        os.makedirs(tree)
        for number in range(count - 1):
            os.symlink("x", os.path.join(tree, str(number)))
        begin_anew({})
        done = session("cp", tree, "liar:/a")
        times.append(int(next(one[1]["Connect-Timeout-Ms"] for one in server.asked if one[0] == "Start")))
        tell(done[0] == 0 and "Remove" not in kinds() and 3600 + times[-1] // 1000 <= max(one["timeout"] for one in bodies("timeout")) <= 3601 + times[-1] // 1000, "a copy keeps the sandbox as long as its script may take: %d" % count, (done, times, bodies("timeout")))
    tell(times[0] >= 60000 and times[1] - times[0] >= 100 * 20, "the script has more time for more files", times)
    for name, how in (("a script that fails", {"Start": START + frame({"event": {"end": {"exited": True, "exitCode": 1, "status": "exit status 1"}}}) + LAST}), ("a file that is refused", {"files": (507, b'{"message": "full"}', ())})):
        begin_anew(how)
        done = session("cp", write("secret", "x"), "liar:/a")
        removed = [one["path"] for one in bodies("Remove")]
        tell(done[0] == 125 and len(removed) == 1 and removed[0].startswith("/tmp/.warder-cp-"), "the files of a copy that fails are removed: " + name, (done, removed, kinds()))
    # only "not found" makes a new one
    tale = os.path.join(work, "told")
    again = ["start", "liar", *there(path), "--recreate", "--on-recreate", 'echo "$WARDER_SANDBOX" >> %s' % tale]
    for name, how in (("a page that is not found", (404, b"<html>nginx</html>", ())), ("a busy service", (503, b'{"message": "busy"}', ())), ("a refusal", (403, b'{"message": "no"}', ())), ("death", dies), ("a paused one", described(state="paused"))):
        begin_anew({"i1": how})
        done = session(*again)
        tell("sandboxes" not in kinds() and "connect" not in kinds() and not os.path.exists(tale), "no new sandbox: " + name, (done, kinds()))
    begin_anew({"i1": GONE})
    done = session(*again)
    tell(done[0] == 0 and kinds().count("sandboxes") == 1 and open(tale).read() == "i1\n", "a new one if the service says that it does not know the old one", (done, kinds()))
    # a stop while the new one is made
    def stops(self):
        stopped.append(session("stop", "liar"))
        self.answer(*made(sandboxID="i2"))
    for name, words in (("exec", ["exec", "liar", "--recreate", "--", "true"]), ("start", ["start", "liar", *there(path), "--recreate"])):
        stopped = []
        begin_anew({"i1": GONE, "sandboxes": stops, "i2": described(sandboxID="i2")})
        done = session(*words)
        deleted = [one[3] for one in server.asked if one[0] in ("DELETE",)]
        tell(done[0] == 125 and "was stopped while" in done[2] and stopped[0][0] == 0 and "/sandboxes/i2" in deleted and session("status", "liar")[0] == 1, "a session that is stopped meanwhile stays stopped: " + name, (done, stopped, deleted))

    def replaces(self):
        """The stop finds the lost sandbox; before it removes the name, another command has made a new one."""
        if self.path.endswith("/i1"):
            self.server.how = dict(self.server.how, sandboxes=made(sandboxID="i2"), i2=described(sandboxID="i2"))
            again.append(session("exec", "liar", "--recreate", "--", "true"))
            self.answer(*GONE)
        else:
            self.answer(204, b"")
    again = []
    begin_anew({"i1": GONE, "DELETE": replaces})
    done = session("stop", "liar")
    deleted = [one[3] for one in server.asked if one[0] == "DELETE"]
    tell(done[0] == 0 and again[0][0] == 0 and deleted == ["/sandboxes/i1", "/sandboxes/i2"] and session("status", "liar")[0] == 1, "a stop ends the sandbox that has come meanwhile, too", (done, again, deleted))
    for name, how, word in (("a paused one", described(state="paused"), "is paused"), ("one that is gone", GONE, "has no sandbox i1")):
        session("stop", "liar", "--keep-sandbox")
        server.how = {"i1": how}
        server.asked.clear()
        done = session("start", "liar", *there(path), "--attach", "i1")
        tell(done[0] == 125 and word in done[2] and kinds() == ["i1"] and session("status", "liar")[0] == 1, "attach only looks, and refuses " + name, (done, kinds()))
    # files
    for name, how, words, word in (("17 MiB", {"files": b"x" * (17 << 20)}, ["read", "liar", "/a"], "16 MiB"), ("a list of none", {"ListDir": b"[]"}, ["list", "liar", "/a", "--json"], None), ("no JSON", {"ListDir": b"<html>"}, ["list", "liar", "/a"], "not valid JSON"),
                                   ("entries of none", {"ListDir": b'{"entries": [5, {"name": {}, "size": "x", "mode": -1, "type": 7}]}'}, ["list", "liar", "/a", "--json"], None),
                                   ("a refusal in red", {"files": (404, b'{"message": "\\u001b[31mnone"}', ())}, ["read", "liar", "/a"], "none"), ("a full disk", {"files": (507, b'{"message": "full"}', ())}, ["write", "liar", "/a"], "full")):
        begin_anew(how)
        done = session(*words, input=b"x")
        tell((done[0] == 125 and word in done[2] if word else done[0] == 0 and isinstance(json.loads(done[1]), list)) and "\x1b" not in done[2] and "does not run" not in done[2], "a lie about a file has an end: " + name, done)
    # lists that take much memory
    numbers = b'{"entries": [' + b"1," * 3000000 + b"1]}"
    for words in (["list", "liar", "/a"], ["cp", "liar:/a/b", os.path.join(work, "none")]):
        begin_anew({"ListDir": numbers})
        done = session(*words)
        tell(done[0] == 125 and "too many values" in done[2], "a list with too many values is not read: " + words[0], done)
    begin_anew({"ListDir": json.dumps({"entries": [{"name": "b", "type": "FILE_TYPE_DIRECTORY"}, {"name": "c" * (14 << 20), "type": "FILE_TYPE_FILE"}]}).encode()})
    done = session("cp", "liar:/a/b", os.path.join(work, "none"))
    tell(done[0] == 125 and "too long to be read together" in done[2] and kinds().count("ListDir") == 6 and not os.path.exists(os.path.join(work, "none")), "the lists of a directory and of those above it have a limit together", (done, kinds()))
    deep, server.how = server.how, {}
    done = workspaces.workspace("create", "remote:cloud", "liar", "--backends", path, *ALL)
    server.how = deep
    server.asked.clear()
    done = workspaces.workspace("list", "remote:cloud", "liar") if done[0] == 0 else done
    tell(done[0] == 125 and "too long to be read together" in done[2] and kinds().count("ListDir") == 5, "so have those of a workspace", (done, kinds()))
    lying_workspaces(server, kinds, bodies)
    server.how = {}
    workspaces.workspace("remove", "remote:cloud", "liar")
    begin_anew({"DELETE": (500, b"", ())})
    done = session("stop", "liar")
    tell(done[0] == 125 and "was not stopped" in done[2] and session("status", "liar")[0] == 0, "a sandbox that the service does not delete stays a session", done)
    server.how = {"DELETE": GONE}
    tell(session("stop", "liar")[0] == 0 and session("status", "liar")[0] == 1, "one that is gone is as good as stopped")
    begin_anew({"DELETE": detached.turns((409, b'{"code": 409, "message": "ending already"}', ()), GONE)})
    done = session("stop", "liar")
    tell(done == (0, b"", "") and kinds().count("DELETE") == 2 and session("status", "liar")[0] == 1, "one that the service is ending already is waited for", (done, kinds()))
    server.how = {"sandboxes": made(sandboxID="Ab-9_x"), "Ab-9_x": described()}
    tell(session("start", "liar", *there(path))[0] == 0 and session("exec", "liar", "--", "true")[1] == b"hello\n", "ids of other services are ids")
    server.how = {}
    lying_contexts(server, begin_anew, kinds)
    session("stop", "--all")
    server.shutdown()
    server.server_close()


def lying_workspaces(server, kinds, bodies):
    """The workspace `liar` is there."""
    def do(word, *words, **more):
        return workspaces.workspace(word, "remote:cloud", "liar", *words, **more)

    good = START + HELLO + END + LAST
    server.how = {"Start": detached.turns(good, good, hangs)}
    server.asked.clear()
    done = do("run", "--detach", "--", "sleep", "50")
    times = [one["timeout"] for one in bodies("timeout")]
    tell(done[0] == 0 and done[1].startswith(b"workspace-") and times[-1] == 3660, "a workspace stays for the time of a detached program", (done, times))
    # a copy in the sandbox that takes too long
    server.how = {"Start": detached.turns(good, START + frame({"error": {"code": "deadline_exceeded", "message": "too long"}}, 2), good)}
    server.asked.clear()
    done = do("stage", workspaces.INSIDE + "work/a", "--to", "work/b")
    words = [json.loads(one[2][5:])["process"]["args"] for one in server.asked if one[0] == "Start"]
    limits = [int(one[1]["Connect-Timeout-Ms"]) for one in server.asked if one[0] == "Start"]
    tell(done[0] == 125 and "time limit is 30m" in done[2] and "at its time limit" in done[2] and limits[1] == 1800000, "a copy that takes too long names its limit", (done, limits))
    tell(len(words) == 3 and words[1][3:6] == ["/tmp/warder-workspace", "work/a", "work/b"] and words[2][3:] == ["/tmp/warder-workspace", "", "work/b", words[1][6]] and words[2][1] == words[1][1], "and what it has left is removed", words)
    # odd entries
    file, directory = ({"type": "FILE_TYPE_" + one, "size": "3", "mode": 0o644} for one in ("FILE", "DIRECTORY"))
    tree = {"": [("out", directory), ("work", directory)], "out": [("a", file), ("gone", file), ("closed", file), ("long", dict(file, size=str(20 << 20)))],
            "work": [("gone", directory), ("closed", directory), ("b", file), ("deep", directory)]}
    refusals = {"gone": (404, b'{"code": "not_found", "message": "no such file"}', ()), "closed": (403, b'{"code": "permission_denied", "message": "closed"}', ())}

    def lists(self):
        where = json.loads(self.server.asked[-1][2])["path"][len("/tmp/warder-workspace"):].strip("/")
        name = where.rsplit("/", 1)[-1]
        listed.append(where)
        if name in refusals:
            return self.answer(*refusals[name])
        rows = [("deep", directory)] if name == "deep" else tree.get(where, [])
        self.answer(200, json.dumps({"entries": [dict(one, name=name) for name, one in rows]}).encode())

    def reads(self):
        name = self.path.rsplit("%2F", 1)[-1].rsplit("/", 1)[-1]
        self.answer(*refusals.get(name, (200, b"abc", ())))
    listed = []
    server.how = {"ListDir": lists, "files": reads}
    done = do("list", "--json")
    rows = [row["path"] for row in json.loads(done[1] or b"[]")]
    tell(done[0] == 0 and "work/b" in rows and "work/closed" in rows and "out/a" in rows and "this is not all" in done[2] and max(row.count("/") for row in rows) == 63, "what is gone, closed or too deep does not hide the rest of a list", (done[0], done[2], rows[:20]))
    tree["work"].pop()
    done = do("list", "work/gone"), do("list", "work/closed")
    tell(done[0][0] == 125 and "no such file" in done[0][2] and done[1][0] == 125 and "closed" in done[1][2], "a list of such a directory itself fails", done)
    del listed[:]
    done = do("collect", "$OUTPUT_DIR/*", "--json")
    data = json.loads(done[1] or b"{}")
    errors = {row["path"]: row.get("error") for row in data.get("files", ())}
    tell(done[0] == 1 and errors == {"out/a": None, "out/closed": "it cannot be read", "out/long": "it has more than 16 MiB"} and data["outside"] == 1 and data["limitsHit"], "files that are gone, closed or too long do not keep the others", done)
    tell(listed == ["", "out"], "only directories in which something may match are listed", listed)
    target = os.path.join(work, "lies")
    os.mkdir(target)
    done = do("collect", "out/*", "--to", target)
    tell(done[0] == 1 and "(it cannot be read)" in done[1].decode() and "1 left out" in done[2] and os.listdir(target + "/out") == ["a"], "people read it, too", done)
    tree["out"] = [("a", file), ("fails", file)]
    refusals["fails"] = (500, b'{"code": "internal", "message": "failed"}', ())
    target = os.path.join(work, "fails")
    os.mkdir(target)
    done = do("collect", "out/*", "--to", target)
    tell(done[0] == 125 and "failed" in done[2] and os.listdir(target + "/out") == [], "a collection that fails leaves no files", (done, os.listdir(target)))
    # the sandbox is lost
    server.how = {"i1": GONE, "sandboxes": made(sandboxID="i3"), "i3": described(sandboxID="i3")}
    name = [row["name"] for row in json.loads(session("list", "--json")[1]) if row["name"].startswith("workspace-")][0]
    done = session("exec", name, "--recreate", "--", "true")
    shown = workspaces.workspace("list", "remote:cloud")
    tell(done[0] == 0 and shown[1] == b"liar\n", "a new sandbox is the same workspace", (done, shown))


def lines(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


OVER = {"type": "end_of_execution"}


def lying_contexts(server, begin_anew, kinds):
    good = {"contexts": lambda self: self.answer(200, b'{"id": "c1", "language": "python", "cwd": "/"}' if self.command == "POST" else b'[{"id": "c1", "language": "python", "cwd": "/"}]')}

    def run_with(how, *flags, **more):
        begin_anew(good)
        context("create", "liar", "py")
        server.how = dict(good, execute=how, **more)
        server.asked.clear()
        return context("run", "liar", "py", "-n", *flags, "-c", "1")
    done = run_with(lines({"type": "number_of_executions", "execution_count": 3}, {"type": "stdout", "text": "out\n", "timestamp": 1}, {"type": "new"}, {"type": "keepalive"},
                          {"type": "result", "is_main_result": True, "text": "42", "png": "AA==", "html": None, "extra": {"x/y": "z"}}, OVER)[:-1], "--json")
    data = json.loads(done[1])
    tell(done[0] == 0 and data["stdout"]["text"] == "out\n" and data["contextSays"]["value"] == {"text/plain": "42", "image/png": "AA==", "x/y": "z"} and data["contextSays"]["executionCount"] == 3, "an interpreter that does what it should", done)
    asked = next(one for one in server.asked if one[0] == "execute")
    tell(json.loads(asked[2]) == {"code": "1", "context_id": "c1"} and asked[1]["E2b-Sandbox-Port"] == "49999" and asked[1]["X-Access-Token"] == "secret-of-the-sandbox" and "X-API-Key" not in asked[1], "it is asked as it should be", asked)
    run_with(lines(OVER), i1=described(trafficAccessToken="traffic-secret"))
    tell(next(one for one in server.asked if one[0] == "execute")[1].get("E2B-Traffic-Access-Token") == "traffic-secret", "with the token for its ports")
    for name, how, word in (("no end", lines({"type": "stdout", "text": "x"}), "before the piece does"), ("no JSON", b"<html>\n", "no JSON object"), ("half a line", b'{"type": "std', "no JSON object"), ("17 MiB", b'{"type": "new"}\n' * (1200 * 1000), "16 MiB"),
                            ("one long line", b"x" * (17 << 20), "16 MiB"), ("short lines that take more room here", b'{"type": "stdout", "text": "x"}\n' * 500000 + lines(OVER), "16 MiB"), ("a line behind the end", lines(OVER, OVER), "behind the end"), ("death", dies, "remote:cloud"), ("a redirect", redirect, "redirect"),
                            ("an unknown context", (404, b'{"code": 404, "message": "\\u001b[31mnone"}', ()), "none"), ("a page that is not found", (404, b"<html>", ()), "404"), ("a gateway", (502, b"{}", ()), "cannot do it now")):
        done = run_with(how)
        tell(done[0] == 125 and word in done[2] and "\x1b" not in done[2] and kinds().count("execute") == 1 and "does not run any more" not in done[2], "a lie about a piece has an end: " + name, done)
    begun = []

    def never(self):
        begin(self)
        self.wfile.write(lines({"type": "stdout", "text": "x"}))
        self.wfile.flush()
        begun.append(self.rfile.read(1))  # until the client leaves
    done = run_with(never, "--timeout", "%ds" % (3 * SLOW), "--json")
    tell(done[0] == 124 and json.loads(done[1])["timedOut"] and until(lambda: begun == [b""]), "a piece without an end is left, which interrupts it", (done, begun))
    def stays(self):
        begin(self)
        self.wfile.write(lines({"type": "stdout", "text": "x"}, OVER, {"type": "keepalive"}))
        self.wfile.flush()
        self.rfile.read(1)  # until the client leaves

    done = run_with(stays, "--timeout", "60s", "--json")
    data = json.loads(done[1] or b"{}")
    tell(done[0] == 0 and data.get("status") == "success" and data["stdout"]["text"] == "x" and not data["timedOut"], "a piece has ended with its last line, also if the connection stays open", done)
    for name, answer in (("a path", b'{"id": "../x"}'), ("none", b"{}"), ("no JSON", b"<html>"), ("2 MiB", b" " * (2 << 20))):
        begin_anew({"contexts": answer})
        done = context("create", "liar", "py")
        tell(done[0] == 125 and not json.loads(open(file_here("liar.remote")).read()).get("contexts"), "a context without a valid id is none: " + name, done)
    begin_anew({"contexts": b'[{"id": "../x", "language": "a"}, 5, {"id": "c\\u001b"}, {"id": "c2", "language": "\\u001b[31m"}]'})
    done = context("list", "liar")
    tell(done[0] == 0 and b"c2" in done[1] and b"\x1b" not in done[1] and b"../x" not in done[1], "a list of contexts is looked through", done)
    begin_anew({"i1": described(state="paused")})
    done = context("list", "liar")
    tell(done[0] == 125 and "paused" in done[2] and "contexts" not in kinds(), "a paused sandbox is not asked for contexts", (done, kinds()))


def dead(host):
    path = document("dead.json", host.url)
    program = "28.%d" % os.getpid()
    process = subprocess.Popen([WARDER] + command(path, "sleep", program, flags=ALL + ["-n", "--json"]), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: not subprocess.run(["pgrep", "-fx", "sleep " + program], stdout=subprocess.DEVNULL).returncode)
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
parts = {"same": lambda: same(path, host), "results": lambda: results(path, host), "policies": lambda: policies(path, host), "ends": lambda: ends(path, host), "tokens": lambda: tokens(host),
         "environment": lambda: environment(host), "sessions": lambda: sessions(path, host), "pauses": lambda: pauses(path, host), "contexts": lambda: contexts(path, host), "workspaces": lambda: workspaces.check(document("places.json", host.url), "remote:cloud", ALL, host.sandboxes), "signals": lambda: signals(path, host), "detached": lambda: detached.own(path, host), "lost": detached.lying, "hostile": hostile, "lying": lying,
         "domains": domains, "dead": lambda: dead(host)}
for part in sys.argv[1:] or parts:  # the last ends the host
    parts[part]()
session("stop", "--all")
finish()
