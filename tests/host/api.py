#!/usr/bin/env python3
"""api.py: Warder's own API: pieces of code, contexts, files, policies, idempotency keys, terminals, encryption, and the document that describes it, as TAP."""
import atexit, base64, contextlib, fcntl, hashlib, http.client, json, os, re, signal, socket, ssl, subprocess, threading, time, urllib.parse, warnings

from lib import SLOW, WARDER, Host, Socket, certificate, events, front, run_parts, tell, tenant_documents, until, work


def sandbox(host, token, **more):
    status, made, _ = host.ask("POST", "/v1/sandboxes", token, dict({"timeoutMs": 120000}, **more))
    tell(status == 201, "a sandbox is created", (status, made))
    return made["id"]


def files():
    host = Host("files", more={"templates": {"small": dict({"version": 1, "limits": {"wallTime": "1h", "fileSize": "1MiB"}}, **({} if os.geteuid() == 0 else {"enforcement": {"limits": "preferred"}}))}})
    token, other = host.tenant("me"), host.tenant("other")
    small = sandbox(host, token, template="small")
    status, row, _ = host.ask("PUT", "/v1/sandboxes/%s/files?path=/tmp/x" % small, token, b"x" * (2 << 20))
    tell(status == 507 and "limits.fileSize" in row["message"], "a file above the sandbox's limit is refused with the name of the limit", (status, row))
    box = sandbox(host, token)
    at = lambda what, path, more="": "/v1/sandboxes/%s/%s?path=%s%s" % (box, what, urllib.parse.quote(path), more)
    data = bytes(range(256)) * 5000
    name = "/tmp/a dir/ü'\"$x.bin"
    status, row, _ = host.ask("PUT", at("files", name), token, data)
    tell(status == 200 and row["sizeBytes"] == len(data) and row["path"] == name, "a file is written, with its directories", (status, row))
    status, got, headers = host.ask("GET", at("files", name), token)
    tell(status == 200 and got == data, "and read as it was", (status, len(got)))
    tell(headers["Content-Disposition"] == "attachment" and headers["X-Content-Type-Options"] == "nosniff" and
         headers["Content-Type"] == "application/octet-stream" and "sandbox" not in headers["Content-Type"], "as an attachment whose type no browser guesses", headers)
    host.ask("PUT", at("files", "/tmp/a dir/page.html"), token, b"<script>alert(1)</script>")
    headers = host.ask("GET", at("files", "/tmp/a dir/page.html"), token)[2]
    tell(headers["Content-Type"] == "application/octet-stream" and headers["Content-Disposition"] == "attachment", "also a page", headers)
    status, rows, _ = host.ask("GET", at("directories", "/tmp/a dir"), token)
    tell(status == 200 and [row["name"] for row in rows] == ["page.html", "ü'\"$x.bin"] and rows[1]["sizeBytes"] == len(data) and rows[1]["type"] == "file",
         "a directory is listed", (status, rows))
    status, row, _ = host.ask("POST", at("directories", "/tmp/a dir/b/c"), token)
    tell(status == 201 and row["type"] == "directory", "a directory is made", (status, row))
    names = lambda depth: [row["path"] for row in host.ask("GET", at("directories", "/tmp/a dir", depth), token)[1]]
    tell("/tmp/a dir/b/c" in names("&depth=2") and "/tmp/a dir/b/c" not in names(""), "the list goes as deep as it is asked to", names("&depth=2"))
    tell(host.ask("DELETE", at("files", "/tmp/a dir"), token)[0] == 204 and host.ask("GET", at("directories", "/tmp/a dir"), token)[0] == 404, "a directory is removed")
    for method, what, path, wanted in (("DELETE", "files", "/tmp/none", 404), ("GET", "files", "/tmp/none", 404), ("GET", "files", "/tmp", 400), ("GET", "files", "/dev/null", 400),
                                       ("GET", "directories", "/etc/passwd", 400), ("POST", "directories", "/tmp", 409), ("PUT", "files", "/tmp", 400), ("PUT", "files", "/etc/x", 403)):
        status, data, _ = host.ask(method, at(what, path), token, b"x" if method == "PUT" else b"")
        tell(status == wanted and data["code"] == wanted and data["message"], "%s %s of %s is refused with %d" % (method, what, path, wanted), (status, data))
    for method, what in (("GET", "files"), ("PUT", "files"), ("DELETE", "files"), ("GET", "directories"), ("POST", "directories")):
        status, data, _ = host.ask(method, "/v1/sandboxes/%s/%s" % (box, what), token)
        tell(status == 400 and "path" in data["message"], "%s %s without a path is refused" % (method, what), (status, data))
        tell(host.ask(method, at(what, "/tmp/x"), other)[0] == 404, "and another tenant finds no sandbox")
    for depth in ("x", "", "0", "65", "-1", "4294967297"):
        status, data, _ = host.ask("GET", at("directories", "/tmp", "&depth=" + depth), token)
        tell(status == 400 and "depth" in data["message"], "the depth \"%s\" is refused" % depth, (status, data))
    status, data, _ = host.ask("GET", at("files", "/tmp/x", "&username=root"), token)
    tell(status == 403 and data["code"] == 403, "another user of the sandbox is refused in the form of this API", (status, data))
    host.ask("DELETE", "/v1/sandboxes/" + box, token)
    tell(host.ask("GET", at("files", "/tmp/x"), token)[0] == 404, "so is a file of a sandbox that has ended")
    host.end()


def contexts():
    host = Host("contexts")
    token, other = host.tenant("me"), host.tenant("other")
    box = sandbox(host, token)
    path = "/v1/sandboxes/" + box
    run = lambda **body: host.ask("POST", path + "/code", token, body)
    status, end, _ = run(code="x = 41\nprint('hello')\nx + 1")
    tell(status == 200 and end["status"] == "success" and end["stdout"]["text"] == "hello\n" and end["contextSays"]["value"]["text/plain"] == "42" and
         end["context"] == "default-python" and end["piece"] == 1, "a piece of code has the result of a context", (status, end))
    status, end, _ = run(code="x + 2")
    tell(end["contextSays"]["value"]["text/plain"] == "43" and end["piece"] == 2, "the next one finds its variables", end)
    status, end, _ = run(code="1/0")
    tell(status == 200 and end["status"] == "failed" and end["contextSays"]["error"]["name"] == "ZeroDivisionError", "an error of the code is a result", end)
    status, end, _ = run(code="import time\nwhile True: time.sleep(0.1)", timeoutMs=500)
    tell(end["status"] == "timeout" and end["timedOut"] is True, "a piece may have less time", end)
    status, data, _ = host.ask("POST", path + "/code", token, {"code": "print(1)\nclass Shown:\n    def _repr_html_(self): return '<b>shown</b>'\nShown()"}, "Accept: text/event-stream\r\n")
    got = events(data)
    tell([name for name, _ in got] == ["output", "end"] and got[0][1]["stream"] == "stdout" and got[0][1]["text"] == "1\n" and
         got[1][1]["contextSays"]["value"]["text/html"] == "<b>shown</b>", "a client that accepts events gets them, with rich results", got)
    status, made, _ = host.ask("POST", path + "/contexts", token, {"context": "mine", "language": "bash"})
    tell(status == 201 and made["context"] == "mine" and made["language"] == "bash", "a context is made by name", (status, made))
    tell(run(code="y=7; echo $y", context="mine")[1]["stdout"]["text"] == "7\n", "and runs code")
    listed = {row["context"]: row["language"] for row in host.ask("GET", path + "/contexts", token)[1]}
    tell(listed == {"default-python": "python", "mine": "bash"}, "contexts are listed", listed)
    tell(host.ask("POST", path + "/contexts", token, {"context": "mine"})[0] == 409, "a name is used once")
    tell(host.ask("POST", path + "/contexts/mine/restart", token)[0] == 204 and run(code="echo [$y]", context="mine")[1]["stdout"]["text"] == "[]\n", "a restart forgets variables")
    answers = []
    caller = threading.Thread(target=lambda: answers.append(run(code="import time\nprint('on', flush=True)\ntime.sleep(300)")))
    caller.start()
    row = lambda: [one for one in host.ask("GET", path + "/contexts", token)[1] if one["context"] == "default-python"][0]
    def interrupt():  # again and again: the first one may come before the piece
        host.ask("POST", path + "/contexts/default-python/interrupt", token)
        caller.join(0.5)
        return not caller.is_alive()
    stopped = until(interrupt)
    tell(stopped and answers[0][1]["interrupted"] is True, "a piece is interrupted", (answers, row()))
    tell(host.ask("DELETE", path + "/contexts/mine", token)[0] == 204 and [one["context"] for one in host.ask("GET", path + "/contexts", token)[1]] == ["default-python"],
         "a context is ended")
    for body, status, word in (({"code": "1", "context": "none"}, 404, "none"), ({"code": "1", "context": "../x"}, 400, "name"), ({"code": "1", "context": "a", "language": "python"}, 400, "language"),
                               ({"code": "1", "language": "cobol"}, 400, "cobol"), ({"code": "1", "language": "a b"}, 400, "language"), ({}, 400, "code"), ({"code": 5}, 400, "code"), ({"code": "1", "nope": 1}, 400, "nope")):
        got, data, _ = host.ask("POST", path + "/code", token, body)
        tell(got == status and word in data["message"], "%s is refused by name" % body, (got, data))
    tell(host.ask("POST", path + "/code", other, {"code": "1"})[0] == 404, "another tenant runs nothing")
    host.end()


def code():
    host = Host("code")
    token = host.tenant("me")
    run = lambda **body: host.ask("POST", "/v1/code", token, body)
    status, data, _ = run(language="python", code="import sys\nprint(sys.argv[1:], input())", args=["a", "b"], stdin="in\n")
    tell(status == 200 and data["stdout"]["text"] == "['a', 'b'] in\n" and data["cause"] == "exit" and data["receipt"], "a piece of code has the result of warder code --json",
         (status, str(data)[:500]))
    status, data, _ = run(language="c", code='#include <stdio.h>\nint main(void) { puts("built"); return 4; }')
    tell(status == 200 and data["stdout"]["text"] == "built\n" and data["exitCode"] == 4, "a compiled one is built first", (status, str(data)[:500]))
    status, data, _ = run(language="c", code="int main(void) { return x; }")
    tell(status == 200 and data["status"] == "compileFailed" and "diagnostics" in data, "an error of the compiler is a result", (status, str(data)[:500]))
    status, data, _ = run(language="python", code="print(", check=True)
    tell(status == 200 and data["status"] != "success", "code is checked without being run", (status, str(data)[:500]))
    status, data, _ = run(language="python", code="import json, os\nopen(os.environ['WARDER_RESULT'], 'w').write(json.dumps(json.load(open(os.environ['WARDER_INPUT']))['a'] + 1))", input={"a": 1})
    tell(status == 200 and data["output"] == 2, "code gets a JSON value and returns one", (status, str(data)[:500]))
    status, data, _ = run(language="python", code="print(open('d/x.txt').read(), list(open('b.bin', 'rb').read()))", files=[{"path": "d/x.txt", "text": "of a file"}, {"path": "b.bin", "base64": "AP8="}])
    tell(status == 200 and data["stdout"]["text"] == "of a file [0, 255]\n", "code gets files", (status, str(data)[:500]))
    for body, status, word in (({"language": "cobol", "code": "x"}, 422, "cobol"), ({"language": "python"}, 400, "code"), ({"language": "python", "code": "1", "files": [{"path": "x"}]}, 400, "files"),
                               ({"language": "python", "code": "1", "files": [{"path": "../x", "text": ""}]}, 400, ".."), ({"language": "python", "code": "1", "args": "a"}, 400, "args"),
                               ({"language": "python", "code": "1", "template": "none"}, 404, "none"), ({"language": "python", "code": "1", "stdin": "", "stdinBase64": ""}, 400, "stdinBase64"),
                               ({"language": "python", "code": "1", "files": [{"path": "x", "text": "", "mode": 493}]}, 400, "files")):
        got, data, _ = run(**body)
        tell(got == status and word in data["message"], "%s is refused by name" % body, (got, data))
    host.end()


def policies():
    host = Host("policies", more={"templates": {"small": {"version": 1, "limits": {"wallTime": "1h", "memory": "64MiB"}}}})
    token = host.tenant("me")
    status, data, _ = host.ask("GET", "/v1/policies", token)
    tell(status == 200 and sorted(data["templates"]) == ["base", "code-interpreter-v1", "small"] and data["ceiling"] is None and
         data["templates"]["small"]["limits"]["memory"] == "64MiB", "the templates are listed with their policies", (status, str(data)[:400]))
    status, data, _ = host.ask("POST", "/v1/policies/show", token, {"template": "small"})
    tell(status == 200 and data["limits"]["memory"] == "64MiB" and "syscalls" in data, "a policy is shown with all of its fields", (status, str(data)[:400]))
    policy = {"version": 1, "limits": {"wallTime": "1h", "memory": "32MiB"}}
    status, data, _ = host.ask("POST", "/v1/policies/check", token, {"template": "small", "policy": policy})
    tell(status == 200 and data == {"allowed": True, "refusal": None}, "a policy within the template is allowed", (status, data))
    policy["limits"]["memory"] = "65MiB"
    status, data, _ = host.ask("POST", "/v1/policies/check", token, {"template": "small", "policy": policy})
    tell(status == 200 and data["allowed"] is False and data["refusal"]["field"] == "limits.memory", "one that asks for more is not, and the field is named", (status, data))
    status, data, _ = host.ask("POST", "/v1/policies/check", token, {"policy": {"version": 1, "nope": 1}})
    tell(status == 200 and data["allowed"] is False and "nope" in data["refusal"]["message"], "nor is a document that is no policy", (status, data))
    status, data, _ = host.ask("POST", "/v1/policies/explain", token, {"template": "small"})
    rows = {row["field"]: row for row in data.get("fields", [])}
    tell(status == 200 and data["backend"] == "local" and rows["limits.memory"]["requested"] == "64MiB" and rows["syscalls"]["state"] == "enforced", "a policy is explained field by field",
         (status, str(data)[:600]))
    status, data, _ = host.ask("POST", "/v1/policies/explain", token, {"policy": dict(policy, network={"mode": "host"})})
    tell(status == 403 and data["field"], "but none beyond the ceiling", (status, data))
    host.end()


def ceilings():
    """The ceiling of a tenant bounds every way to a policy."""
    host = Host("ceilings", more={"templates": {
        "small": {"version": 1, "limits": {"wallTime": "1h", "memory": "64MiB"}},
        "large": {"version": 1, "limits": {"wallTime": "1h", "memory": "128MiB"}}}})
    ceiling = os.path.join(work, "ceiling.json")
    with open(ceiling, "w") as file:
        json.dump({"version": 1, "limits": {"wallTime": "1h", "memory": "64MiB"}}, file)
    token = host.tenant("bounded", flags=("--ceiling", ceiling))
    free = host.tenant("free")
    beyond = {"version": 1, "limits": {"wallTime": "1h", "memory": "65MiB"}}
    host_network = {"version": 1, "limits": {"wallTime": "1h", "memory": "64MiB"}, "network": {"mode": "host"}}
    ways = {"create": ("/v1/sandboxes", {}), "E2B's create": ("/v2/sandboxes", {}), "run": ("/v1/run", {"argv": ["true"]}),
            "code": ("/v1/code", {"language": "python", "code": "1"}), "explain": ("/v1/policies/explain", {})}
    granted = (200, 201) if os.geteuid() == 0 else (200, 201, 422)  # no ceiling refuses it; the host cannot enforce limits of cgroups
    for name, (path, body) in ways.items():
        e2b = path == "/v2/sandboxes"
        template = lambda which: dict(body, **{"templateID" if e2b else "template": which})
        status, data, _ = host.ask("POST", path, token, template("large"))
        tell(status == 403 and "limits.memory" in str(data), "%s: a template beyond the tenant's ceiling is refused" % name, (status, str(data)[:300]))
        status, data, _ = host.ask("POST", path, token, template("small"))
        tell(status in granted, "%s: one within is not" % name, (status, str(data)[:300]))
        tell(host.ask("POST", path, free, template("large"))[0] in granted, "%s: nor is the large one to a tenant without a ceiling" % name)
        for field, policy in () if e2b else (("limits.memory", beyond), ("network", host_network)):
            for which in ("small", "large"):
                status, data, _ = host.ask("POST", path, token, dict(body, template=which, policy=policy))
                tell(status == 403 and data["field"].startswith(field), "%s: so is a policy of %s beyond it, with the template %s" % (name, field, which), (status, str(data)[:300]))
    status, data, _ = host.ask("POST", "/v1/policies/check", token, {"template": "large"})
    tell(status == 200 and data["allowed"] is False and data["refusal"]["field"] == "limits.memory", "check says so", (status, data))
    status, data, _ = host.ask("POST", "/v2/sandboxes", token, {"templateID": "small", "allow_internet_access": True, "network": {"allowOut": ["0.0.0.0/0"]}})
    made = host.ask("GET", "/v1/sandboxes/" + data.get("sandboxID", ""), token)[1] if status == 201 else {}
    tell(status in (400, 403) or made.get("policy", {}).get("network", {"mode": "none"}).get("mode") == "none", "a wish for a network adds none", (status, data, made))
    host.end()


def small_policy():
    """64 MiB, where this user can have limits."""
    policy = {"version": 1, "limits": {"wallTime": "1h", "memory": "64MiB"}}
    return policy if os.geteuid() == 0 else dict(policy, enforcement={"limits": "preferred"})


def lowered_ceiling():
    """The rules of a live sandbox are held against the ceiling as it is now, not as it was when the sandbox was created."""
    small = small_policy()
    rows = [{"host": name, "ports": [443]} for name in ("a.example.org", "b.example.org")]
    within = lambda allow: dict(small, network={"mode": "allow", "allow": allow})
    host = Host("lowered", more={"templates": {"net": within(rows)}})
    token = host.tenant("me")

    def lower(allow):
        tenant_documents.change(host.state, "me", ceiling=within(allow))
        now = lambda: (host.ask("GET", "/v1/policies", token)[1]["ceiling"] or small).get("network", {}).get("allow")
        tell(until(lambda: now() == allow), "the ceiling is another", now())
    lower(rows)
    status, made, _ = host.ask("POST", "/v2/sandboxes", token, {"templateID": "net", "timeout": 600})
    tell(status == 201, "a sandbox is within the ceiling", made)
    put = lambda name: host.ask("PUT", "/sandboxes/%s/network" % made["sandboxID"], token, {"allowOut": [name]})[:2]
    tell(put("b.example.org")[0] == 204, "and so are its rules", put("b.example.org"))
    lower(rows[:1])
    status, data = put("b.example.org")
    tell(status == 403 and "b.example.org" in data["message"], "what the ceiling has lost is refused", (status, data))
    tell(put("a.example.org")[0] == 204, "and what it still grants is not", put("a.example.org"))
    host.end()


def paths():
    host = Host("paths")
    token = host.tenant("me")
    box = sandbox(host, token)
    inside = "X-Access-Token: %s\r\nE2b-Sandbox-Id: %s\r\nE2b-Sandbox-Port: 49983\r\n" % (host.ask("GET", "/v1/sandboxes/" + box, token)[1]["accessToken"], box)
    host.ask("PUT", "/v1/sandboxes/%s/files?path=/tmp/a" % box, token, b"whole")
    for path in ("/v1/sandboxes/%s%%00" % box, "/v1/sandboxes/%s%%00x" % box, "/v1/sandboxes/%s%%0a" % box, "/v1/sandboxes/%s%%1f" % box, "/v1/sandboxes/%s%%7F" % box,
                 "/sandboxes/%s%%00x" % box, "/health%00", "/%00", "/v1/host%00/x", "/v1/sandboxes/%s/files?path=/tmp/a%%00b" % box, "/v1/sandboxes/%s/files?path=/tmp/a&%%00" % box):
        status, data, _ = host.ask("GET", path, token)
        tell(status == 400 and "NUL" in str(data), "%s is refused" % path.replace(box, "ID"), (status, str(data)[:200]))
    status, data, _ = host.ask("GET", "/files?path=/tmp/a%00b", "", b"", inside)
    tell(status == 400 and "NUL" in str(data), "also where clients of E2B find files", (status, str(data)[:200]))
    status, data, _ = host.ask("DELETE", "/v1/sandboxes/%s%%00" % box, token)
    tell(status == 400 and host.ask("GET", "/v1/sandboxes/" + box, token)[0] == 200, "and nothing is ended", (status, data))
    connection, statuses = http.client.HTTPConnection("127.0.0.1", host.port, timeout=30 * SLOW), []
    for path in ("/v1/host%00", "/v1/host"):
        connection.request("GET", path, headers={"X-API-Key": token})
        answer = connection.getresponse()
        statuses.append(answer.status)
        answer.read()
    connection.close()
    tell(statuses == [400, 200], "the next request of the connection is another one", statuses)
    name = "/v1/sandboxes/%s/files?path=/tmp/a%%0ab" % box
    tell(host.ask("PUT", name, token, b"two lines")[0] in (200, 201, 204) and host.ask("GET", name, token)[1] == b"two lines", "a file in a sandbox may have a newline in its name")
    host.end()


def keys():
    host = Host("keys")
    token, other = host.tenant("me"), host.tenant("other")
    status, first, _ = host.ask("POST", "/v1/run", token, {"argv": ["sh", "-c", "date +%s%N"], "idempotencyKey": "a"})
    status, again, _ = host.ask("POST", "/v1/run", token, {"argv": ["sh", "-c", "date +%s%N"], "idempotencyKey": "a"})
    tell(status == 200 and again == first, "the same run with the same key is done once", (status, str(again)[:200]))
    status, data, _ = host.ask("POST", "/v1/run", other, {"argv": ["sh", "-c", "date +%s%N"], "idempotencyKey": "a"})
    tell(status == 200 and data["stdout"] != first["stdout"], "the key of another tenant is another one")
    status, data, _ = host.ask("POST", "/v1/run", token, {"argv": ["true"], "idempotencyKey": "a"})
    tell(status == 409 and data["field"] == "idempotencyKey", "another request with the key is refused", (status, data))
    status, data, _ = host.ask("POST", "/v1/code", token, {"language": "python", "code": "print(1)", "idempotencyKey": "a"})
    tell(status == 409, "also to another call", (status, data))
    body = {"language": "python", "code": "import time\nprint(time.time())", "idempotencyKey": "b"}
    status, first, _ = host.ask("POST", "/v1/code", token, body)
    tell(status == 200 and host.ask("POST", "/v1/code", token, body)[1] == first, "a piece of code with a key runs once", (status, str(first)[:300]))
    tell(host.ask("POST", "/v1/run", token, {"argv": ["no-such-program"], "idempotencyKey": "c"})[0] == 404 and
         host.ask("POST", "/v1/run", token, {"argv": ["true"], "idempotencyKey": "c"})[0] == 200, "a run that could not start leaves the key free")
    # The signer starts again with the key of the host only: the program runs, and its result is lost.
    path = os.path.join(host.state, "keys", "host.json")
    kept = open(path).read()
    for number, other_key in enumerate(("{}", json.dumps({"version": 1, "ed25519Seed": base64.b64encode(b"k" * 32).decode()}), None)):
        if other_key:
            open(path, "w").write(other_key)
        else:
            os.unlink(path)
        children = subprocess.run(["pgrep", "-P", str(host.process.pid), "-x", "warder-signer"], capture_output=True, text=True).stdout.split()
        os.kill(int(children[0]), signal.SIGKILL)
        body = {"argv": ["true"], "idempotencyKey": "lost%d" % number}
        status, data, _ = host.ask("POST", "/v1/run", token, body)
        tell(os.path.exists(path) == bool(other_key), "no key is made while the host runs")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(kept)
        tell(status == 503 and "signed" in data["message"], "a result that cannot be signed with the host's key is an error", (status, data))
        status, data, _ = host.ask("POST", "/v1/run", token, body)
        tell(status == 409 and data["field"] == "idempotencyKey" and "lost" in data["message"], "and its program is not run again with the key", (status, data))
        status, data, _ = host.ask("POST", "/v1/run", token, dict(body, idempotencyKey="found%d" % number))
        tell(status == 200 and data["signature"]["key"] == host.ask("GET", "/v1/host", token)[1]["hostKey"], "with another one it is", (status, str(data)[:200]))
    # A client that leaves before the end finds the result when it asks again.
    body = {"argv": ["sh", "-c", "sleep 2; date +%s%N"], "idempotencyKey": "d"}
    with host.connect() as one:
        one.sendall(host.request("POST", "/v1/run", token, json.dumps(body).encode()))
        running = until(lambda: host.ask("GET", "/v1/host", token)[1]["tenant"]["used"]["running"] == 1)
    status, data, headers = host.ask("POST", "/v1/run", token, body)
    tell(running and status == 409 and headers["Retry-After"].isdigit(), "while it runs, the answer says when to try again", (running, status, data))
    answers = []
    tell(until(lambda: answers.append(host.ask("POST", "/v1/run", token, body)) or answers[-1][0] == 200, 20), "a run with a key goes on without its client", answers[-1])
    tell(host.ask("POST", "/v1/run", token, body)[1] == answers[-1][1], "and its result is kept")
    for key in ("", "x" * 129, 5):
        status, data, _ = host.ask("POST", "/v1/run", token, {"argv": ["true"], "idempotencyKey": key})
        tell(status == 400 and data["field"] == "idempotencyKey", "a key like %.10s... is refused" % key, (status, data))
    box = sandbox(host, token)
    path = "/v1/sandboxes/%s/executions" % box
    body = {"argv": ["sh", "-c", "echo x >>/tmp/count; sleep 1"], "stdin": "", "idempotencyKey": "e"}
    answers = []
    callers = [threading.Thread(target=lambda: answers.append(host.ask("POST", path, token, body)[:2])) for _ in range(6)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    tell({one[0] for one in answers} <= {200, 201} and [one[0] for one in answers].count(201) == 1 and len({one[1]["id"] for one in answers}) == 1,
         "an execution with a key is started once, also by requests that come at once", answers)
    execution = answers[0][1]["id"]
    host.ask("GET", path + "/%s?wait=1" % execution, token)
    tell(host.ask("POST", path, token, body)[1]["id"] == execution, "and after its end")
    lines = host.ask("GET", "/v1/sandboxes/%s/files?path=/tmp/count" % box, token)[1]
    tell(lines == b"x\n", "its program ran once", lines)
    status, data, _ = host.ask("POST", path, token, dict(body, cwd="/"))
    tell(status == 409 and data["field"] == "idempotencyKey" and execution in data["message"], "another start with the key is refused", (status, data))
    count = len(host.ask("GET", path, token)[1])
    tell(count == 2, "two executions were there: this one, and the shell that read the file", count)
    body = {"argv": ["sh", "-c", "until [ -e /tmp/go ]; do sleep 0.1; done; timeout 5 cat | wc -c"], "stdin": "x" * 300000, "idempotencyKey": "f"}
    with host.connect() as one:
        one.sendall(host.request("POST", path, token, json.dumps(body).encode()))
        tell(until(lambda: len(host.ask("GET", path, token)[1]) == count + 1), "a program starts that does not read its input")
    status, data, _ = host.ask("POST", path, token, body)
    tell(status == 409 and data["field"] == "idempotencyKey" and "input" in data["message"], "its start is not repeated, because its input was cut off", (status, data))
    host.ask("PUT", "/v1/sandboxes/%s/files?path=/tmp/go" % box, token, b"")
    ended = until(lambda: [row for row in host.ask("GET", path, token)[1] if row["state"] == "ended" and "until" in row["command"][-1]], 20)
    status, data, _ = host.ask("POST", path, token, body)
    tell(ended and status == 409 and "input" in data["message"], "nor after its end", (ended, status, data))
    later = host.ask("POST", path + "/%s/input" % ended[0]["id"], token, {"text": "y"})[0]
    status, data, _ = host.ask("POST", path, token, body)
    tell(later == 409 and status == 409 and "input" in data["message"], "nor when another client has tried to write to it", (later, status, data))
    body = {"argv": ["sh", "-c", "exec <&-; sleep 1"], "stdin": "x" * 300000, "idempotencyKey": "h"}
    status = [host.ask("POST", path, token, body)[0] for _ in range(2)]
    tell(status == [201, 200], "a start is repeated whose program wants no more input", status)
    until(lambda: all(row["state"] == "ended" for row in host.ask("GET", path, token)[1] if "exec" in row["command"][-1]), 20)
    tell(host.ask("POST", path, token, body)[0] == 200, "also after its end")
    body = {"argv": ["sh", "-c", "sleep 1000"], "stdin": "", "idempotencyKey": "i"}
    status = [host.ask("POST", path, token, body)[0] for _ in range(2)]
    row = next((row for row in host.ask("GET", path, token)[1] if row["command"][-1] == "sleep 1000"), {})
    tell(status == [201, 200] and row.get("input") is False and "inputEnded" not in row, "empty input is none", (status, row))
    body = {"argv": ["sh", "-c", "cat >/tmp/all; sleep 1000"], "stdin": "x" * 300000, "idempotencyKey": "g"}
    status = [host.ask("POST", path, token, body)[0] for _ in range(2)]
    tell(status == [201, 200], "a start is repeated whose program has all of its input", status)
    host.end()


def keyed_pieces():
    host = Host("keyed-pieces")
    token = host.tenant("me")
    box = sandbox(host, token)
    path = "/v1/sandboxes/" + box
    run = lambda more="", **body: host.ask("POST", path + "/code", token, body, more)
    count = "n = globals().get('n', 0) + 1\nprint(n)\n"
    # Requests that come at once, without a context that is there already.
    body = {"code": count + "class Shown:\n    def _repr_html_(self): return '<b>shown</b>'\nShown()", "idempotencyKey": "a"}
    answers = []
    callers = [threading.Thread(target=lambda: answers.append(run(**body)[:2])) for _ in range(4)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    tell([one[0] for one in answers] == [200] * 4 and all(one[1] == answers[0][1] for one in answers) and answers[0][1]["stdout"]["text"] == "1\n" and
         answers[0][1]["contextSays"]["value"]["text/html"] == "<b>shown</b>", "a piece with a key runs once, also for requests that come at once", answers)
    status, end, _ = run(**body)
    tell(status == 200 and end == answers[0][1] and run(code="print(n)")[1]["stdout"]["text"] == "1\n", "and its answer is repeated later, with what it has shown", (status, end))
    got = events(run("Accept: text/event-stream\r\n", **body)[1])
    tell([name for name, _ in got] == ["output", "end"] and got[0][1]["text"] == "1\n", "also as events", got)
    status, data, _ = run(code="print(2)", idempotencyKey="a")
    tell(status == 409 and data["field"] == "idempotencyKey", "another piece with the key is refused", (status, data))
    tell(run(code=count, idempotencyKey="b")[1]["stdout"]["text"] == "2\n", "another key runs another piece")
    tell(run(code="print(input('name: '))", idempotencyKey="c")[1]["contextSays"]["error"]["name"] == "EOFError", "a piece with a key finds the end of its input")
    # A client that leaves does not interrupt the piece; the file says that it runs, and lets it end.
    body = {"code": "import os, time\nopen('/tmp/begun', 'w')\nwhile not os.path.exists('/tmp/go'): time.sleep(0.05)\n" + count, "idempotencyKey": "d"}
    begun = lambda: host.ask("GET", path + "/files?path=/tmp/begun", token)[0] == 200
    with host.connect() as one:
        one.sendall(host.request("POST", path + "/code", token, json.dumps(body).encode()))
        running = until(begun)
    # The front is gone, too: the keeper has the piece.
    mine = front(host)
    os.kill(mine, signal.SIGKILL)
    def again():
        try:
            return host.ask("GET", "/health")[0] == 204
        except (OSError, http.client.HTTPException):
            return False
    served = until(again)
    host.ask("PUT", path + "/files?path=/tmp/go", token, b"")
    status, end, _ = run(**body)
    tell(running and mine and served and status == 200 and end["stdout"]["text"] == "3\n" and end["interrupted"] is False,
         "a piece with a key goes on without its client and the front, and its answer is found", (running, mine, served, status, end))
    tell(run(code="print(n)")[1]["stdout"]["text"] == "3\n", "and it ran once")
    for key in ("", "x" * 129, 5):
        status, data, _ = run(code="1", idempotencyKey=key)
        tell(status == 400 and data["field"] == "idempotencyKey", "a key like %.10s... is refused" % key, (status, data))
    # A piece that kills its context is not run again.
    status, end, _ = run(code="import os\nos._exit(3)", language="python", idempotencyKey="e")
    tell(status == 200 and run(code="import os\nos._exit(3)", language="python", idempotencyKey="e")[1] == end, "the end of a context is repeated, too", (status, end))
    # Contexts.
    body, answers = {"language": "python", "idempotencyKey": "a"}, []
    make = lambda body: host.ask("POST", path + "/contexts", token, body)
    callers = [threading.Thread(target=lambda: answers.append(make(body)[:2])) for _ in range(3)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    tell(sorted(one[0] for one in answers) == [200, 200, 201] and all(one[1] == answers[0][1] for one in answers), "a context with a key is created once", answers)
    status, data, _ = make(dict(body, language="bash"))
    tell(status == 409 and data["field"] == "idempotencyKey" and answers[0][1]["context"] in data["message"], "another context with the key is refused", (status, data))
    tell(make({"idempotencyKey": ""})[0] == 400, "and an empty key")
    host.end()


def unix_sockets():
    state, path = os.path.join(work, "unix"), os.path.join(work, "s")
    chain, key = certificate("unix")
    words = lambda at, *more, state=state: [WARDER, "serve", "--listen", "unix:" + at, "--state", state, *more]
    token = subprocess.run([WARDER, "tenant", "add", "me", "--state", state], check=True, capture_output=True, text=True).stdout.strip()

    def serve():
        process = subprocess.Popen(words(path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        atexit.register(process.kill)  # if the suite breaks off
        return process, process.stdout.readline()

    def ask(target, host="localhost", method="GET", body=None):
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(30 * SLOW)
            one.connect(path)
            text = json.dumps(body).encode() if body else b""
            one.sendall(("%s %s HTTP/1.1\r\nHost: %s\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n" % (method, target, host, token, len(text))).encode() + text)
            answer = http.client.HTTPResponse(one)
            answer.begin()
            return answer.status, json.loads(answer.read() or b"null")

    def end(process, how):
        process.send_signal(how)
        return process.communicate()

    def refused(at, *more, state=state):
        done = subprocess.run(words(at, *more, state=state), capture_output=True, text=True, timeout=60 * SLOW)
        return done.returncode, done.stderr
    process, line = serve()
    tell(line == "ready: unix:%s\n" % path and os.stat(path).st_mode & 0o7777 == 0o600, "a host listens at a Unix socket of its user alone", (line, process.poll()))
    status, data = ask("/v1/run", method="POST", body={"argv": ["echo", "hello"]})
    tell(status == 200 and data["stdout"]["text"] == "hello\n", "and runs programs", (status, data))
    tell(ask("/v1/host", host="example.org")[0] == 421 and ask("/v1/host")[0] == 200, "the Host header is localhost")
    code, said = refused(path, state=os.path.join(work, "unix-other"))
    tell(code == 125 and "another process listens at " + path in said and ask("/v1/host")[0] == 200, "another host is refused there, and the first one goes on", (code, said))
    end(process, signal.SIGKILL)
    tell(os.path.exists(path), "a host that is killed leaves the socket")
    process, line = serve()
    tell(line.startswith("ready: ") and ask("/v1/host")[0] == 200, "the next one replaces it", line)
    end(process, signal.SIGTERM)
    tell(not os.path.lexists(path), "a host that ends removes it")
    with open(path, "w") as file:
        file.write("mine")
    code, said = refused(path)
    tell(code == 125 and "not a socket" in said and open(path).read() == "mine", "a file that is no socket is left alone", (code, said))
    os.unlink(path)
    os.symlink("target", path)
    code, said = refused(path)
    tell(code == 125 and "not a socket" in said and os.path.islink(path) and not os.path.exists(os.path.join(work, "target")), "and so is a link", (code, said))
    os.unlink(path)
    for at, more, word in (("s", (), "absolute"), ("/" + "x" * 107, (), "at most 107"), (path + "/none", (), "directory"), (path, ("--tls-cert", chain, "--tls-key", key), "--tls-cert")):
        code, said = refused(at, *more)
        tell(code == 125 and word in said and "--listen" in said, "unix:%.20s... %s is refused" % (os.path.basename(at), " ".join(more[::2])), (code, said))
    tell(refused("s", "--check")[0] == 125 and refused(path, "--check")[0] == 0 and not os.path.lexists(path), "--check looks at the path only")


def document():
    """Each thing that the API's document says of a body, against the server."""
    host = Host("document")
    token = host.tenant("me", launchesPerSecond=10000)
    box = sandbox(host, token)
    document = host.ask("GET", "/v1/openapi.json")[1]
    wrong, tried = [], 0
    bad = {"string": 5, "integer": "5", "boolean": "true", "array": "x", "object": "x"}
    good = {"string": "x", "integer": 1, "boolean": True, "array": ["x"], "object": {}}

    def refused(method, path, body, field):
        nonlocal tried
        tried += 1
        status, data, _ = host.ask(method, path, token, json.dumps(body).encode(), "X-Warder-Page: x\r\n")
        if status != 400 or data.get("field") != field:
            wrong.append((method, path, body, status, data))
    for path, methods in document["paths"].items():
        at = path.replace("{id}", box).replace("{execution}", "0" * 16).replace("{context}", "none")
        for method, what in methods.items():
            schema = what.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if not schema:
                continue
            whole = {name: [{}] if row.get("items", {}).get("type") == "object" else good[row["type"]] for name, row in schema["properties"].items() if name in schema["required"]}
            refused(method.upper(), at, dict(whole, noSuchMember=1), "noSuchMember")
            for name, row in schema["properties"].items():
                if "type" in row:
                    refused(method.upper(), at, dict(whole, **{name: bad[row["type"]]}), name)
                if row.get("items", {}).get("type"):
                    refused(method.upper(), at, dict(whole, **{name: [7]}), name)
                if "additionalProperties" in row:
                    refused(method.upper(), at, dict(whole, **{name: {"a": 7}}), name)
            for name in schema["required"]:
                refused(method.upper(), at, {key: value for key, value in whole.items() if key != name}, name)
    tell(tried > 80 and not wrong, "each member of each body has the type that the document says, and is needed if it says so (%d tried)" % tried, wrong[:5])
    own = [(path, method) for path, methods in document["paths"].items() if path.startswith("/v1/") for method in methods]
    bodies = [one for one in own if one[1] in ("post", "put") and "requestBody" not in document["paths"][one[0]][one[1]]]
    bare = ["/v1/sandboxes/{id}/pause", "/v1/sandboxes/{id}/contexts/{context}/restart", "/v1/sandboxes/{id}/contexts/{context}/interrupt", "/v1/sandboxes/{id}/directories"]
    tell(len(own) >= 35 and sorted(path for path, _ in bodies) == sorted(bare), "the document has the body of every call that takes one", (len(own), bodies))
    needs = [(path, method, row["name"]) for path, methods in document["paths"].items() for method, what in methods.items() for row in what["parameters"]
             if row["in"] == "query" and row["required"]]
    wrong = []
    for path, method, name in needs:
        status, data, _ = host.ask(method.upper(), path.replace("{id}", box), token)
        if status != 400 or name not in data["message"]:
            wrong.append((path, method, name, status, data))
    tell(len(needs) == 5 and not wrong, "and the parameters that a call needs", wrong or needs)
    takes = {row["name"] for row in document["paths"]["/v1/capabilities"]["get"]["parameters"]}
    tell(takes == {"nonce"}, "and those that it takes", takes)
    host.end()


# ---- terminals ----

def terminals():
    host = Host("terminals")
    token, other = host.tenant("me"), host.tenant("other")
    box = sandbox(host, token)
    path = "/v1/sandboxes/%s/executions" % box
    start = lambda *argv: path + "/" + host.ask("POST", path, token, {"argv": list(argv), "rows": 24, "columns": 80, "env": {"TERM": "xterm"}})[1]["id"]
    quiet, opened = Socket(host, start("sleep", "1000") + "/terminal", token), time.time()
    at = start("/bin/bash", "--norc", "-i")
    one = Socket(host, at + "/terminal", token, "Sec-WebSocket-Protocol: x, warder\r\n")
    tell(one.status == 101 and "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in one.head and "Sec-WebSocket-Protocol: warder" in one.head, "a WebSocket is opened as RFC 6455 says", one.head)
    one.send(2, b"stty size; test -t 0 && echo is$((1))tty\n")
    tell(one.until(b"24 80") and one.until(b"is1tty"), "the program has a terminal of the size that the start says", one.text)
    one.send(1, json.dumps({"rows": 30, "columns": 100}).encode())
    one.send(2, b"stty size\n")
    tell(one.until(b"30 100"), "a text message resizes it", one.text)
    tell(host.ask("POST", at + "/resize", token, {"rows": 40, "columns": 90})[0] == 204, "so does a request")
    one.send(2, b"stty", False)
    one.send(9, b"are you there")
    one.send(0, b" size\n")
    tell(one.until(b"40 90") and (10, b"are you there") in one.ends, "a message may come in parts, with a ping between them", (one.text, one.ends))
    one.send(2, b"sh -c 'echo sl$((1))eeps; exec sleep 1000'\n")
    one.until(b"sl1eeps")
    one.send(2, b"\x03")
    one.send(2, b"echo on$((1))ward\n")
    tell(one.until(b"on1ward"), "Ctrl C interrupts", one.text)
    seen = len(one.text)
    two = Socket(host, at + "/terminal?stdout=%d" % seen, token)
    one.send(2, b"echo bo$((1))th\n")
    tell(one.until(b"bo1th") and two.until(b"bo1th") and not two.text.startswith(one.text[:20]), "two clients see it, one of them from an offset on", two.text)
    two.one.close()
    one.send(2, b"exit 7\n")
    code = one.finish()
    tell(code == 1000 and any(opcode == 1 and json.loads(text).get("end", {}).get("exitCode") == 7 for opcode, text in one.ends), "the end of the program is told, and the socket closed",
         (code, one.ends))
    # Bytes that the program does not read, and output that the client does not: neither is lost, nor kept without bounds.
    at = start("sh", "-c", "stty raw -echo; echo ready; sleep 1; head -c 200000 | md5sum; seq 200000")
    one = Socket(host, at + "/terminal", token)
    data = bytes(i * 7 % 251 for i in range(200000))
    one.until(b"ready")
    for i in range(0, len(data), 20000):
        one.send(2, data[i:i + 20000])
    time.sleep(2 * SLOW)
    tell(one.until(hashlib.md5(data).hexdigest().encode()), "200 KB of input arrive as they were", one.text[-200:])
    tell(one.until(b"\n200000"), "and a megabyte of output reaches a client that reads late", one.text[-100:])
    numbers = one.text[one.text.index(b"\n1\r\n") + 1:] if b"\n1\r\n" in one.text else one.text[one.text.index(b"\n1\n") + 1:]
    tell(numbers.split() == [b"%d" % i for i in range(1, 200001)], "without a gap", numbers[:100])
    one.one.close()
    # 14 s are longer than a keeper waits for a client when the program has ended.
    at = start("sh", "-c", "yes | head -c 3000000; sleep 14; exit 3")
    one = Socket(host, at + "/terminal", token)
    ended = until(lambda: host.ask("GET", at, token)[1].get("state") != "running", 60)
    time.sleep(1)
    code = one.finish()
    tell(ended and code == 1000 and any(opcode == 1 and json.loads(text).get("end", {}).get("exitCode") == 3 for opcode, text in one.ends), "a client that has read nothing for long still gets the end of the program", (ended, code, one.ends[-3:]))
    at = start("sleep", "1000")
    for what, frames, wanted in (("a frame without a mask", [b"\x82\x05hello"], 1002), ("a reserved bit", [bytes([0xc2, 0x80, 1, 2, 3, 4])], 1002), ("an unknown opcode", [bytes([0x83, 0x80, 1, 2, 3, 4])], 1002),
                                 ("a message above 32 KiB", [bytes([0x82, 255]) + (40000).to_bytes(8, "big") + b"abcd"], 1002), ("one of 40,000 bytes", [bytes([0x82, 254]) + (40000).to_bytes(2, "big") + b"abcd"], 1009),
                                 ("a text that is not JSON", [bytes([0x81, 0x81, 0, 0, 0, 0]) + b"x"], 1007), ("a size of 0", [bytes([0x81, 0x80 | 22, 0, 0, 0, 0]) + b'{"rows":0,"columns":1}'], 1007)):
        one = Socket(host, at + "/terminal", token)
        for frame in frames:
            one.one.sendall(frame)
        code = one.finish()
        tell(code == wanted, "%s ends the connection with %d" % (what, wanted), code)
    row = host.ask("GET", at, token)[1]
    tell(row["state"] == "running", "and the program goes on", row)
    quiet.one.settimeout(max(1, opened + 40 - time.time()) * SLOW)
    tell(quiet.frame() == (9, b""), "a client that says nothing is asked whether it is there")
    one = Socket(host, at + "/terminal", token)
    one.send(8, b"\x03\xe8")
    tell(one.finish() == 1000, "a client that closes is answered")
    for what, key, more, wanted in (("another tenant", other, "", 404), ("no token", "", "", 401), ("a page of another origin", token, "Origin: http://evil.test\r\n", 403),
                                    ("an unknown protocol", token, "Sec-WebSocket-Protocol: chat\r\n", 400)):
        tell(Socket(host, at + "/terminal", key, more).status == wanted, "%s gets no terminal" % what)
    tell(Socket(host, at + "/terminal", token, key="short").status == 426 and host.ask("GET", at + "/terminal", token)[0] == 426, "nor does a request that is no WebSocket")
    tell(Socket(host, path + "/0000000000000000/terminal", token).status == 404, "an execution that is not there has none")
    one = Socket(host, at + "/terminal", token)
    host.ask("DELETE", "/v1/sandboxes/" + box, token)
    tell(one.finish() in (1000, 1011), "the end of the sandbox closes the socket")
    for body, word in (({"argv": ["sh"], "rows": 24}, "columns"), ({"argv": ["sh"], "rows": 24, "columns": 5000}, "columns"), ({"argv": ["sh"], "rows": 1, "columns": 1, "stdin": "x"}, "stdin")):
        status, data, _ = host.ask("POST", path, token, body)
        tell(status == 400 and word in data["message"], "a start with a wrong terminal is refused: %s" % body, (status, data))
    host.end()


# ---- records ----

def records():
    """What the host writes down about a sandbox, and what holds, are the same."""
    small = small_policy()
    net = dict(small, network={"mode": "allow", "allow": [{"host": "a.example.org", "ports": [443]}, {"host": "b.example.org", "ports": [443]}]})
    host = Host("records", more={"templates": {"small": small, "net": net}})
    token = host.tenant("me")
    box = sandbox(host, token, template="small")
    record = os.path.join(host.state, "sandboxes", box + ".json")
    ends = lambda: host.ask("GET", "/v1/sandboxes/" + box, token)[1]["endsMs"]
    before = ends()
    os.rename(record, record + ".kept")
    os.mkdir(record)  # which no file replaces
    status, data, _ = host.ask("POST", "/v1/sandboxes/%s/timeout" % box, token, {"timeoutMs": 900000})
    tell(status == 503 and ends() == before, "an end that cannot be written does not hold", (status, data, ends() - before))
    os.rmdir(record)
    os.rename(record + ".kept", record)
    status, data, _ = host.ask("POST", "/v1/sandboxes/%s/timeout" % box, token, {"timeoutMs": 900000})
    tell(status == 204 and ends() > before and json.load(open(record))["endsMs"] == ends(), "one that can, does", (status, data, ends() - before))

    # As a launcher leaves it that is killed when the sandbox has started, and before it has its narrower rules.
    status, made, _ = host.ask("POST", "/v2/sandboxes", token, {"templateID": "net", "timeout": 600, "network": {"allowOut": ["a.example.org", "b.example.org"]}})
    tell(status == 201, "a sandbox with a network", made)
    box = made["sandboxID"]
    record = os.path.join(host.state, "sandboxes", box + ".json")
    os.kill(host.process.pid, signal.SIGKILL)
    host.process.wait()
    document = json.load(open(record))
    document["policy"]["network"]["allow"] = document["policy"]["network"]["allow"][:1]
    with open(record, "w") as file:
        json.dump(document, file)
    host.restart()
    done = subprocess.run([WARDER, "session", "status", box, "--json"], capture_output=True, text=True)
    network = json.loads(done.stdout)["policy"]["network"] if done.returncode == 0 else done.stderr
    shown = host.ask("GET", "/v1/sandboxes/" + box, token)[1]
    tell([row["host"] for row in network["allow"]] == ["a.example.org"] == [row["host"] for row in shown["policy"]["network"]["allow"]],
         "the next launcher gives it the rules of its record", (network, shown))
    host.end()


# ---- encryption ----

def renewal():
    """The files of --tls-cert and --tls-key change while the host runs."""
    (chain, key), (chain2, key2), (chain3, key3) = certificate("first"), certificate("second"), certificate("third")
    first, second = ssl.create_default_context(cafile=chain), ssl.create_default_context(cafile=chain2)
    host = Host("renewal", ["--tls-cert", chain, "--tls-key", key], tls=first)
    token = host.tenant("me")
    box = sandbox(host, token)
    path = "/v1/sandboxes/%s/executions" % box
    log = lambda: open(host.errors.name).read()

    def fits(context):
        host.tls = context
        try:
            return host.ask("GET", "/health")[0] == 204
        except OSError:
            return False
    kept = http.client.HTTPSConnection("localhost", host.port, context=first, timeout=30 * SLOW)
    kept.request("GET", "/v1/host", headers={"X-API-Key": token})
    kept.getresponse().read()
    started = host.ask("POST", path, token, {"argv": ["sh", "-c", "echo begun; read x; echo $x"], "input": True})[1]["id"]
    stream = host.connect()
    stream.sendall(host.request("GET", path + "/%s/output" % started, token))
    answer = http.client.HTTPResponse(stream)
    answer.begin()
    os.replace(chain2, chain)  # the key is still the old one
    tell(until(lambda: "are not a certificate and its key" in log(), 20) and fits(first), "a certificate without its key is not taken", log())
    os.replace(key2, key)
    tell(until(lambda: fits(second), 20) and not fits(first), "with its key, new connections get it", log())
    kept.request("GET", "/v1/host", headers={"X-API-Key": token})
    tell(kept.getresponse().status == 200, "a connection from before goes on")
    kept.close()
    host.tls = second
    host.ask("POST", path + "/%s/input" % started, token, {"text": "late\n", "close": True})
    got = answer.read().decode()
    tell("begun" in got and "late" in got and "event: end" in got, "and so does a stream", got)
    stream.close()
    with open(chain + ".new", "w") as file:
        file.write("nothing")
    os.replace(chain + ".new", chain)
    tell(until(lambda: "has no \"CERTIFICATE" in log(), 20) and fits(second), "a file without a certificate is not taken", log())
    os.replace(chain3, chain)
    os.replace(key3, key)
    tell(until(lambda: fits(ssl.create_default_context(cafile=chain)), 20), "the next one is", log())
    host.tls = ssl.create_default_context(cafile=chain)
    tell(host.ask("GET", path, token)[0] == 200, "and the sandbox is there")
    host.end()


def places():
    """Connections from before a change of the certificate count, too."""
    (chain, key), (chain2, key2) = certificate("before"), certificate("after")
    before, after = ssl.create_default_context(cafile=chain), ssl.create_default_context(cafile=chain2)
    host = Host("places", ["--tls-cert", chain, "--tls-key", key], tls=before, connections=6)

    def opens(context):
        """A connection that stays open, or None."""
        one = http.client.HTTPSConnection("localhost", host.port, context=context, timeout=30 * SLOW)
        try:
            one.request("GET", "/health")
            return one if one.getresponse().status == 204 else None
        except OSError:
            one.close()
            return None
    kept = [opens(before) for _ in range(4)]
    tell(all(kept), "four connections with the first certificate", kept)
    os.replace(key2, key)
    os.replace(chain2, chain)
    more = []
    tell(until(lambda: more.append(opens(after)) or sum(map(bool, more)) == 2, 60), "two more with the second one", more)
    further = [opens(after) for _ in range(2)]
    tell(further == [None, None], "and no others", further)
    kept.pop().close()
    tell(until(lambda: opens(after), 60), "until one is closed")
    host.end()


def encryption():
    chain, key = certificate("good")
    context = ssl.create_default_context(cafile=chain)
    host = Host("tls", ["--tls-cert", chain, "--tls-key", key], tls=context)
    token = host.tenant("me")
    with host.connect() as one:
        tell(one.version() in ("TLSv1.2", "TLSv1.3"), "the host encrypts, with its certificate", one.version())
    status, data, _ = host.ask("POST", "/v1/run", token, {"argv": ["echo", "hello"]})
    tell(status == 200 and data["stdout"]["text"] == "hello\n", "a run over TLS", (status, str(data)[:300]))
    old = ssl.create_default_context(cafile=chain)
    warnings.simplefilter("ignore")
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    try:
        old.set_ciphers("DEFAULT:@SECLEVEL=0")
        with old.wrap_socket(socket.create_connection(("127.0.0.1", host.port)), server_hostname="localhost") as one:
            version = one.version()
    except (ssl.SSLError, OSError):
        version = None
    tell(version is None, "TLS 1.1 is refused", version)
    host.tls = None
    with host.connect() as one:
        one.sendall(host.request("GET", "/health"))
        got = b""
        try:
            got = one.recv(1000)
        except OSError:
            pass
    tell(b"HTTP/1.1 2" not in got and token.encode() not in got, "plain HTTP is not served", got)
    host.tls = context
    status, _, headers = host.ask("POST", "/page/login", "", {"token": token}, "X-Warder-Page: login\r\n")
    tell(status == 200 and "Secure" in headers["Set-Cookie"] and "HttpOnly" in headers["Set-Cookie"], "the page's cookie is only sent encrypted", headers["Set-Cookie"])
    own = "Origin: https://127.0.0.1:%d\r\n" % host.port
    tell(host.ask("GET", "/v1/host", token, more=own)[0] == 200 and host.ask("GET", "/v1/host", token, more=own.replace("https", "http"))[0] == 403, "a page without encryption is another origin")
    box = sandbox(host, token)
    path = "/v1/sandboxes/%s" % box
    data = os.urandom(3 << 20)
    tell(host.ask("PUT", path + "/files?path=/tmp/big", token, data)[0] == 200 and host.ask("GET", path + "/files?path=/tmp/big", token)[1] == data, "3 MiB go in and out as they are")
    started = host.ask("POST", path + "/executions", token, {"argv": ["sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.3; done"]})[1]["id"]
    got = events(host.ask("GET", path + "/executions/%s/output" % started, token)[1])
    tell("".join(one[1].get("text", "") for one in got) == "1\n2\n3\n" and got[-1][0] == "end", "events come over TLS", got)
    started = host.ask("POST", path + "/executions", token, {"argv": ["/bin/bash", "--norc", "-i"], "rows": 24, "columns": 80})[1]["id"]
    one = Socket(host, path + "/executions/%s/terminal" % started, token)
    one.send(2, b"seq 50000; stty size\n")
    tell(one.status == 101 and one.until(b"24 80"), "and so does a terminal", one.text[-200:])
    one.send(2, b"exit\n")
    tell(one.finish() == 1000, "which ends")
    crowd = [host.connect() for _ in range(100)]
    tell(all(one.version() for one in crowd) and host.ask("GET", "/health")[0] == 204, "100 encrypted connections at a time")
    for one in crowd:
        one.close()
    half = socket.create_connection(("127.0.0.1", host.port))
    half.sendall(b"\x16\x03\x01")
    tell(host.ask("GET", "/health")[0] == 204, "a handshake that does not go on holds up nobody")
    half.close()
    host.end()
    other, other_key = certificate("other")
    public, no_key = os.path.join(work, "public.key"), os.path.join(work, "no.key")
    with open(no_key, "w") as file:
        file.write(open(chain).read())
    os.chmod(no_key, 0o600)
    with open(key) as file, open(public, "w") as copy:
        copy.write(file.read())
    os.chmod(public, 0o644)
    for flags, word in ((["--tls-cert", chain], "--tls-key"), (["--tls-key", key], "--tls-cert"), (["--tls-cert", work + "/none", "--tls-key", key], "--tls-cert"), (["--tls-cert", key, "--tls-key", key], "CERTIFICATE"),
                        (["--tls-cert", chain, "--tls-key", no_key], "PRIVATE KEY"), (["--tls-cert", chain, "--tls-key", public], "chmod"), (["--tls-cert", chain, "--tls-key", other_key], "certificate")):
        done = subprocess.run([WARDER, "serve", "--listen", "127.0.0.1:0", "--state", os.path.join(work, "bad")] + flags, capture_output=True, text=True, timeout=60 * SLOW)
        tell(done.returncode == 125 and word in done.stderr, "the host does not start with %s" % " ".join(flags).replace(work + "/", ""), done.stderr)
    done = subprocess.run([WARDER, "serve", "--listen", "0.0.0.0:0", "--state", os.path.join(work, "bad"), "--tls-cert", chain, "--tls-key", key, "--check"], capture_output=True, text=True)
    tell(done.returncode == 0, "an address of the network needs no --insecure-http with TLS", done.stderr)


def timeouts():
    host = Host("timeouts")
    token = host.tenant("me")
    box = sandbox(host, token)
    for ms in (86400001 + 1000, (1 << 64) - 1):
        for call in ("timeout", "resume"):
            status, data, _ = host.ask("POST", "/v1/sandboxes/%s/%s" % (box, call), token, {"timeoutMs": ms})
            tell(status == (400 if call == "timeout" else 409), "%s of %d ms is refused" % (call, ms), (status, data))
    time.sleep(1)
    tell(host.ask("GET", "/v1/sandboxes/" + box, token)[0] == 200, "and the sandbox lives on")
    host.end()


def starting():
    """A sandbox stands in the list before it runs."""
    host = Host("starting")
    token = host.tenant("me")

    def caught():
        made = []
        create = threading.Thread(target=lambda: made.append(host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 120000})[1]["id"]))
        create.start()
        while create.is_alive() and not answers:
            for box in host.ask("GET", "/v1/sandboxes", token)[1]:
                if box["state"] == "starting":
                    status, data, headers = host.ask("POST", "/v1/sandboxes/%s/executions" % box["id"], token, {"argv": ["true"]})
                    if status != 201:
                        answers.append((status, data, headers["Retry-After"]))
        create.join()
        host.ask("DELETE", "/v1/sandboxes/" + made[0], token)
        return answers

    answers = []
    tell(until(caught), "a sandbox is seen while it is being started")
    for status, data, again in answers[:1]:
        tell(status == 409 and data["field"] == "id" and "is still being started; try again" in data["message"] and again == "1",
             "a command for it is told to come again", (status, data, again))
    host.end()


def logs():
    """The log for programs: a line for each call, with nothing that a client chose."""
    host = Host("logs", ["--log-json"])
    begin = time.time()
    token = host.tenant("me")
    secrets = ["chosen-" + word for word in ("argument", "code", "variable", "path", "host", "field", "template", "key")]
    argument, code, variable, path, name, field, template, key = secrets
    _, made, _ = host.ask("POST", "/v1/sandboxes", token, {"env": {"X": variable}, "timeoutMs": 60000})
    _, short, _ = host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 1})
    box = made["id"]
    host.ask("POST", "/v1/run", token, {"argv": ["echo", argument], "idempotencyKey": key})
    host.ask("POST", "/v1/run", token, {"argv": ["sh", "-c", "exit 3"]})
    host.ask("POST", "/v1/run", token, {"argv": ["true"], "policy": {"version": 1, field: name}})
    host.ask("POST", "/v1/code", token, {"language": "python", "code": "print('%s')" % code})
    host.ask("PUT", "/v1/sandboxes/%s/files?path=/tmp/%s" % (box, path), token, b"x")
    host.ask("POST", "/v1/sandboxes", token, {"template": template})
    host.ask("GET", "/v1/sandboxes", "e2b_" + "0" * 40)
    host.ask("GET", "/v1/sandboxes/" + template, token)
    host.ask("GET", "/health")
    def ended():
        return host.ask("GET", "/v1/sandboxes/" + short["id"], token)[0] == 404
    until(ended)
    host.ask("DELETE", "/v1/sandboxes/" + box, token)
    fronts = subprocess.run(["pgrep", "-P", str(host.process.pid)], capture_output=True, text=True).stdout.split()
    tell(fronts, "the host has processes")
    for pid in fronts:  # with the front: the host says that it starts another one
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    def lines():
        with open(host.errors.name) as file:
            return [json.loads(line) for line in file]
    tell(until(lambda: any(line["event"] == "message" for line in lines())), "messages are lines of JSON, too", lines())
    found = lines()
    tell(all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]) for line in found), "each line has its time", found)
    calls = [line for line in found if line["event"] == "call" and (line["call"], line["status"]) not in (("show", 200), ("show", 404))]
    got = [(line["call"], line["status"], line.get("tenant"), line.get("sandbox"), line.get("cause"), line.get("error")) for line in calls]
    wanted = [("create", 201, "me", box, None, None), ("create", 201, "me", short["id"], None, None), ("run", 200, "me", None, "exit", None),
              ("run", 200, "me", None, "exit", None), ("run", 400, "me", None, None, "invalidRequest"), ("code", 200, "me", None, "exit", None),
              ("open", 200, "me", box, None, None), ("create", 404, "me", None, None, "notFound"), ("list", 401, None, None, None, "rejected"),
              ("expire", 204, "me", short["id"], None, None), ("remove", 204, "me", box, None, None)]
    tell(sorted(got, key=str) == sorted(wanted, key=str), "each call has a line", got)
    missed = [line for line in found if line.get("status") == 404]
    tell(len(missed) > 1 and all(line["tenant"] == "me" for line in missed), "a call about a sandbox that is not there names its tenant", missed)
    took_us = (time.time() - begin) * 1e6
    tell(all(0 < line.get("launchUs", 1) <= line["durationUs"] < took_us for line in calls), "no launch is longer than its call", calls)
    tell(all(("launchUs" in line) == (line["call"] in ("create", "run") and line["status"] < 400) for line in calls), "a launch has its time", calls)
    text = open(host.errors.name).read()
    tell(not [word for word in secrets + [token, token[4:], made.get("accessToken", token), "0" * 40] if word in text], "no line has a token, or what a client chose", text)
    host.end()

    # A reader that does not read.
    state = os.path.join(work, "unread")
    with subprocess.Popen([WARDER, "serve", "--listen", "127.0.0.1:0", "--state", state, "--log-json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        fcntl.fcntl(process.stderr.fileno(), fcntl.F_SETPIPE_SZ, 4096)
        port = int(process.stdout.readline().rsplit(b":", 1)[1])
        def ask():
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=30 * SLOW)
            client.request("GET", "/v1/host", headers={"X-API-Key": "e2b_" + "0" * 40})
            return client.getresponse().status
        tell([ask() for _ in range(5)] == [401] * 5, "a log that nobody reads delays no answer")
        first = json.loads(process.stderr.readline())
        ask()
        second = json.loads(process.stderr.readline())
        tell(first["event"] == "call" and (second["event"], second["lines"]) == ("gap", 4), "then it says how many lines it has left out", (first, second))
        process.terminate()


run_parts((logs, timeouts, starting, files, contexts, code, policies, ceilings, lowered_ceiling, paths, keys, keyed_pieces, unix_sockets, terminals, records, encryption, renewal, places, document))
