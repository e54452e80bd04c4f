#!/usr/bin/env python3
"""api.py: Warder's own API: pieces of code, contexts, files, policies, idempotency keys, and the document that describes it, as TAP."""
import json, threading, time, urllib.parse

from lib import SLOW, Host, run_parts, tell, until


def sandbox(host, token, **more):
    status, made, _ = host.ask("POST", "/v1/sandboxes", token, dict({"timeoutMs": 120000}, **more))
    tell(status == 201, "a sandbox is created", (status, made))
    return made["id"]


def files():
    host = Host("files")
    token, other = host.tenant("me"), host.tenant("other")
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
    status, data, _ = host.ask("GET", at("directories", "/tmp", "&depth=x"), token)
    tell(status == 400 and "depth" in data["message"], "a wrong depth is refused", (status, data))
    host.ask("DELETE", "/v1/sandboxes/" + box, token)
    tell(host.ask("GET", at("files", "/tmp/x"), token)[0] == 404, "so is a file of a sandbox that has ended")
    host.end()


def events(data):
    found = []
    for block in data.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "event" in fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found


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
    stopped = until(lambda: host.ask("POST", path + "/contexts/default-python/interrupt", token)[0] == 204 and not caller.join(0.5) and not caller.is_alive(), 20)
    tell(stopped and answers[0][1]["interrupted"] is True, "a piece is interrupted", (answers, row()))
    tell(host.ask("DELETE", path + "/contexts/mine", token)[0] == 204 and [one["context"] for one in host.ask("GET", path + "/contexts", token)[1]] == ["default-python"],
         "a context is ended")
    for body, status, word in (({"code": "1", "context": "none"}, 404, "none"), ({"code": "1", "context": "../x"}, 400, "name"), ({"code": "1", "context": "a", "language": "python"}, 400, "language"),
                               ({"code": "1", "language": "cobol"}, 400, "cobol"), ({}, 400, "code"), ({"code": 5}, 400, "code"), ({"code": "1", "nope": 1}, 400, "nope")):
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
                               ({"language": "python", "code": "1", "template": "none"}, 404, "none"), ({"language": "python", "code": "1", "stdin": "", "stdinBase64": ""}, 400, "stdinBase64")):
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
    body = {"argv": ["sh", "-c", "echo x >>/tmp/count; sleep 1"], "idempotencyKey": "e"}
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
    tell(len(host.ask("GET", path, token)[1]) == 2, "two executions were there: this one, and the shell that read the file", host.ask("GET", path, token)[1])
    host.end()


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
        status, data, _ = host.ask(method, path, token, json.dumps(body).encode())
        if status != 400 or data.get("field") != field:
            wrong.append((method, path, body, status, data))
    for path, methods in document["paths"].items():
        at = path.replace("{id}", box).replace("{execution}", "0" * 16).replace("{context}", "none")
        for method, what in methods.items():
            schema = what.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if not schema:
                continue
            whole = {name: good[schema["properties"][name]["type"]] for name in schema["required"]}
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
    tell(len(own) >= 34 and sorted(path for path, _ in bodies) == sorted(bare), "the document has the body of every call that takes one", (len(own), bodies))
    needs = [(path, method, row["name"]) for path, methods in document["paths"].items() for method, what in methods.items() for row in what["parameters"]
             if row["in"] == "query" and row["required"]]
    wrong = []
    for path, method, name in needs:
        status, data, _ = host.ask(method.upper(), path.replace("{id}", box), token)
        if status != 400 or name not in data["message"]:
            wrong.append((path, method, name, status, data))
    tell(len(needs) == 5 and not wrong, "and the parameters that a call needs", wrong or needs)
    host.end()


run_parts((files, contexts, code, policies, keys, document))
