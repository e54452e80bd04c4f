#!/usr/bin/env python3
"""artifacts.py: what programs of /v1/run, /v1/code and /v1/judge leave beyond their results, and files of sandboxes: fetched, listed, removed, a tenant's share, and nothing left, as TAP."""
import datetime, hashlib, json, os, signal, subprocess

from lib import WARDER, Host, events, front, run_parts, tell, until

RUN, CODE = "/v1/run", "/v1/code"
LARGE = {"argv": ["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo short >&2"], "artifacts": True}


def stored(host):
    return sorted(os.listdir(os.path.join(host.state, "artifacts")))


def used(host, token):
    return host.ask("GET", "/v1/host", token)[1]["tenant"]["used"]["artifactBytes"]


def listed(host, token):
    return host.ask("GET", "/v1/artifacts", token)[1]


def moment(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ")


def leave(host, token):
    """The id of a new artifact."""
    status, result, _ = host.ask("POST", RUN, token, LARGE)
    return result["stdout"]["artifact"]["id"] if status == 200 else result


def streams():
    host = Host("streams")
    token = host.tenant("me")
    status, result, _ = host.ask("POST", RUN, token, LARGE)
    row = result["stdout"].get("artifact", {})
    tell(status == 200 and row.get("size") == 3000000 and not result["stdout"]["artifactTruncated"] and result["stdout"]["truncated"], "a stream beyond the policy's limit is stored", (status, str(result)[-900:]))
    tell("artifact" not in result["stderr"] and len(stored(host)) == 1, "a stream that the result has is not", (result["stderr"], stored(host)))
    status, data, headers = host.ask("GET", "/v1/artifacts/" + row["id"], token)
    tell(status == 200 and data == b"x" * 3000000 and hashlib.sha256(data).hexdigest() == row["sha256"], "its bytes are the whole stream", (status, len(data)))
    tell(headers["Content-Type"] == "application/octet-stream" and headers["Content-Disposition"] == "attachment" and headers["X-Content-Type-Options"] == "nosniff",
         "it comes as an attachment, with nosniff", headers)
    rows = listed(host, token)
    tell(len(rows) == 1 and rows[0] == dict(row, name="stdout"), "it is listed", rows)
    tell(used(host, token) == 3000000, "its bytes count for the tenant", used(host, token))
    other = host.tenant("other")
    tell(listed(host, other) == [] and host.ask("GET", "/v1/artifacts/" + row["id"], other)[0] == host.ask("DELETE", "/v1/artifacts/" + row["id"], other)[0] == 404 and used(host, other) == 0,
         "another tenant does not see it")
    reader = host.tenant("reader", ("--scopes", "read"))
    tell([host.ask(method, path, reader)[0] for method, path in (("GET", "/v1/artifacts"), ("GET", "/v1/artifacts/x"), ("DELETE", "/v1/artifacts/x"))] == [403] * 3, "a token needs the scope run or sandboxes")
    tell(host.ask("GET", "/v1/artifacts/..%2Fkeys%2Fhost.json", token)[0] == host.ask("GET", "/v1/artifacts/art-%032d" % 0, token)[0] == 404, "no other file can be named")
    status, result, _ = host.ask("POST", RUN, token, dict(LARGE, artifacts=False))
    tell(status == 200 and "artifact" not in result["stdout"] and len(stored(host)) == 1, "without the member, nothing is stored")
    status, _, _ = host.ask("DELETE", "/v1/artifacts/" + row["id"], token)
    tell(status == 204 and until(lambda: not stored(host)) and host.ask("GET", "/v1/artifacts/" + row["id"], token)[0] == 404 and used(host, token) == 0, "it can be removed", status)
    status, result, _ = host.ask("POST", RUN, token, dict(LARGE, argv=["head", "-c", str(70 << 20), "/dev/zero"]))
    tell(result["stdout"]["artifact"]["size"] == 64 << 20 and result["stdout"]["artifactTruncated"], "of a longer stream, the first 64 MiB are stored", str(result["stdout"])[-400:])
    body = dict(LARGE, idempotencyKey="one")
    first, second = host.ask("POST", RUN, token, body)[1], host.ask("POST", RUN, token, body)[1]
    tell(first == second and host.ask("GET", "/v1/artifacts/" + first["stdout"]["artifact"]["id"], token)[0] == 200, "a repeated answer refers to the same artifact")
    host.end()


def files():
    host = Host("files")
    token = host.tenant("me")
    program = "open('big.csv', 'w').write('a,b\\n' * 50000)\nopen('page.html', 'w').write('<script>' * 20000)\nopen('small.txt', 'w').write('x')\nopen('huge', 'w').write('x' * (5 << 20))"
    status, result, _ = host.ask("POST", CODE, token, {"language": "python", "code": program, "artifacts": True})
    rows = {row["name"]: row for row in result.get("artifacts", [])}
    tell(status == 200 and sorted(rows) == ["big.csv", "huge", "page.html", "small.txt"], "the files of a piece of code are collected", (status, str(result)[:600]))
    tell(rows["small.txt"].get("text") == "x" and "artifact" not in rows["small.txt"], "a small one is in the result", rows["small.txt"])
    tell("omitted" in rows["huge"] and result.get("artifactLimitsHit") is True, "one of more than 4 MiB is left out, and the result says so", rows["huge"])
    row = rows["big.csv"].get("artifact", {})
    tell(row.get("contentType") == "text/csv" and host.ask("GET", "/v1/artifacts/" + row["id"], token)[1] == b"a,b\n" * 50000, "a larger one is stored", rows["big.csv"])
    status, data, headers = host.ask("GET", "/v1/artifacts/" + rows["page.html"]["artifact"]["id"], token)
    tell(headers["Content-Type"] == "application/octet-stream" and headers["Content-Disposition"] == "attachment" and b"<script>" in data, "a page is sent as bytes, too", headers)
    tell(sorted(one["name"] for one in listed(host, token)) == ["big.csv", "page.html"] and len(stored(host)) == 2, "both are listed", listed(host, token))
    status, result, _ = host.ask("POST", CODE, token, {"language": "python", "code": program})
    tell(status == 200 and not result.get("artifacts") and len(stored(host)) == 2, "without the member, no file is collected", str(result)[:300])
    status, result, _ = host.ask("POST", CODE, token, {"language": "bash", "code": "if", "artifacts": True, "check": True})
    tell(status == 200 and len(stored(host)) == 2, "code that does not build leaves nothing", (status, stored(host)))
    host.end()


def share():
    template = {"version": 1, "output": {"stdout": 2}, "limits": {"wallTime": "20s"}, "enforcement": {"limits": "preferred"}}
    host = Host("share", more={"templates": {"terse": template}})
    token = host.tenant("me", artifactBytes=(192 << 20) + 70000)
    slow = dict(LARGE, argv=["sleep", "30"])
    with host.connect() as one:
        one.sendall(host.request("POST", RUN, token, json.dumps(slow).encode()))
        tell(until(lambda: used(host, token) == 192 << 20), "a program that may leave artifacts counts with the most that it can leave", used(host, token))
        status, refused, headers = host.ask("POST", RUN, token, LARGE)
        tell(status == 429 and refused["field"] == "artifactBytes" and headers["Retry-After"], "another one is refused with 429", (status, refused))
        tell(host.ask("POST", RUN, token, dict(LARGE, artifacts=False))[0] == 200, "one without artifacts is not")
    tell(until(lambda: used(host, token) == 0 and not stored(host)), "a client that hangs up leaves nothing", (used(host, token), stored(host)))
    small = dict(LARGE, argv=["echo", "hello"], template="terse")
    status, result, _ = host.ask("POST", RUN, token, small)
    tell(status == 200 and used(host, token) == 64 << 10, "a small artifact counts as 64 KiB", (status, str(result)[:300], used(host, token)))
    leave(host, token)
    tell(host.ask("POST", RUN, token, LARGE)[0] == 429, "what was left counts until it is removed", used(host, token))
    for row in listed(host, token):
        host.ask("DELETE", "/v1/artifacts/" + row["id"], token)
    tell(host.ask("POST", RUN, token, LARGE)[0] == 200, "and then there is room again")
    status, refused, _ = host.ask("POST", RUN, token, dict(LARGE, artifacts="yes"))
    tell(status == 400 and refused["field"] == "artifacts", "a member of another type is refused", refused)
    host.end()


def outputs():
    """The output of executions and contexts, stored by a request of its own."""
    host = Host("outputs")
    token = host.tenant("me")
    sandbox = host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 600000})[1]["id"]
    path = "/v1/sandboxes/%s" % sandbox
    def run(*argv, **more):
        return host.ask("POST", path + "/executions", token, dict({"argv": list(argv)}, **more))[1]["id"]
    def result(name):
        return host.ask("GET", path + "/executions/%s?wait=1&nonce=ab" % name, token)[1]
    def store(name, **more):
        return host.ask("POST", path + "/artifacts", token, dict({"execution": name}, **more))
    name = run("sh", "-c", "echo out; echo err >&2")
    signed = result(name)["outputs"]
    status, rows, _ = store(name)
    tell(status == 201 and [(row["name"], row["size"], row["sha256"]) for row in rows] == [("%s/%s" % (name, stream), signed[stream]["bytes"], signed[stream]["sha256"]) for stream in ("stdout", "stderr")],
         "both streams of an execution are stored, with the digests that its result has", (status, rows, signed))
    tell([host.ask("GET", "/v1/artifacts/" + row["id"], token)[1] for row in rows] == [b"out\n", b"err\n"] and sorted(row["name"] for row in listed(host, token)) == sorted(row["name"] for row in rows), "and can be read", rows)
    quiet = run("true")
    result(quiet)
    tell(store(quiet)[:2] == (201, []), "a stream without output leaves none")
    long = run("sh", "-c", "yes | head -c 9000001")
    signed = result(long)["outputs"]["stdout"]
    status, rows, _ = store(long)
    data = host.ask("GET", "/v1/artifacts/" + rows[0]["id"], token)[1] if rows else b""
    tell(status == 201 and rows[0]["offset"] == signed["offset"] > 0 and data == (b"y\n" * 4500001)[signed["offset"]:9000001] and rows[0]["sha256"] == signed["sha256"], "of a long one, what the host still has, from its offset on", (status, rows, signed, len(data)))
    lost = run("sh", "-c", "head -c 1000001 /dev/zero >&2; yes | head -c 9000001")
    signed = result(lost)["outputs"]["stderr"]
    status, rows, _ = store(lost)
    row = {row["name"]: row for row in rows}.get(lost + "/stderr", {}) if status == 201 else {}
    tell((row.get("size"), row.get("offset"), row.get("sha256")) == (0, 1000001, signed["sha256"]) and (signed["offset"], signed["bytes"]) == (1000001, 0), "a stream whose output is lost is an empty artifact behind it", (status, rows, signed))
    host.ask("POST", path + "/code", token, {"code": "print('one')"})
    context = [row["id"] for row in host.ask("GET", path + "/contexts", token)[1]][0]
    status, rows, _ = store(context)
    first = host.ask("GET", "/v1/artifacts/" + rows[0]["id"], token)[1]
    host.ask("POST", path + "/code", token, {"code": "print('two')"})
    status, more, _ = store(context)
    second = host.ask("GET", "/v1/artifacts/" + more[0]["id"], token)[1]
    tell(status == 201 and b"one\n" in first and b"two" not in first and second.startswith(first) and b"two\n" in second, "so is the output of a context, as far as it has come", (first, second))
    before = len(stored(host))
    same = store(name, idempotencyKey="k")[1]
    tell(store(name, idempotencyKey="k")[1] == same and len(stored(host)) == before + 2, "an idempotency key stores it once", same)
    other, runner = host.tenant("other"), host.tenant("runner", ("--scopes", "run"))
    for what, who, body, status, field in (("an unknown execution", token, {"execution": "0" * 16}, 404, "execution"), ("an id that is none", token, {"execution": "../x"}, 400, "execution"), ("a number", token, {"execution": 5}, 400, "execution"),
                                           ("paths as well", token, {"execution": name, "paths": ["a"]}, 400, "paths"), ("nothing", token, {}, 400, "paths"), ("another tenant", other, {"execution": name}, 404, "id"), ("another scope", runner, {"execution": name}, 403, None)):
        got = host.ask("POST", path + "/artifacts", who, body)
        tell(got[0] == status and got[1].get("field") == field and len(stored(host)) == before + 2, "a request is refused: " + what, got[:2])
    for where, body in (("/executions", {"argv": ["true"], "artifacts": True}), ("/code", {"code": "1", "artifacts": True})):
        got = host.ask("POST", path + where, token, body)
        tell(got[0] == 400 and got[1]["field"] == "artifacts" and "/artifacts" in got[1]["message"], "the member artifacts is refused with the way to do it: " + where, got[:2])
    host.ask("DELETE", path, token)
    tell(host.ask("GET", "/v1/artifacts/" + same[0]["id"], token)[1] == b"out\n", "the artifacts stay when the sandbox ends")
    host.end()


def lifetime():
    host = Host("lifetime")
    brief = host.tenant("brief", artifactSeconds=2)
    lasting, leaving = host.tenant("lasting"), host.tenant("leaving")
    names = [leave(host, token) for token in (brief, lasting, leaving)]
    tell(len(stored(host)) == 3 and host.ask("GET", "/v1/artifacts/" + names[0], brief)[0] == 200, "each tenant has one", stored(host))
    tell(until(lambda: host.ask("GET", "/v1/artifacts/" + names[0], brief)[0] == 404) and until(lambda: len(stored(host)) == 2), "one is removed when its time is over")
    subprocess.run([WARDER, "tenant", "revoke", "leaving", "--state", host.state], check=True, capture_output=True)
    tell(until(lambda: stored(host) == [names[1]]), "and when its tenant is revoked", stored(host))
    again = host.tenant("leaving")
    tell(listed(host, again) == [] and host.ask("GET", "/v1/artifacts/" + names[2], again)[0] == 404, "a new tenant of that name gets nothing of it")
    host.process.terminate()
    host.process.wait()
    tell(stored(host) == [], "a host that ends removes all of them", stored(host))
    host.restart()
    tell(host.ask("GET", "/v1/artifacts/" + names[1], lasting)[0] == 404, "the next one has none")
    host.end()


def kills():
    host = Host("kills")
    token = host.tenant("me")
    name = leave(host, token)
    slow = dict(LARGE, argv=["sh", "-c", "head -c 9000000 /dev/zero; sleep 60"])
    with host.connect() as one:
        one.sendall(host.request("POST", RUN, token, json.dumps(slow).encode()))
        until(lambda: len(stored(host)) == 3)
        os.kill(host.process.pid, signal.SIGKILL)
    host.restart()
    tell(stored(host) == [] and listed(host, token) == [] and host.ask("GET", "/v1/artifacts/" + name, token)[0] == 404, "a launcher that is killed leaves files, which the next one removes", stored(host))
    name = leave(host, token)
    before = front(host)
    with host.connect() as one:
        one.sendall(host.request("POST", RUN, token, json.dumps(slow).encode()))
        until(lambda: len(stored(host)) == 3)
        os.kill(before, signal.SIGKILL)
    until(lambda: front(host) not in (None, before))
    tell(until(lambda: stored(host) == [name]), "when a front is killed, its program leaves nothing", stored(host))
    tell(until(lambda: len(host.ask("GET", "/v1/artifacts/" + name, token)[1]) == 3000000), "and the next front serves what was there")
    host.process.kill()
    host.process.wait()
    subprocess.run([WARDER, "serve", "--stop-all", "--state", host.state], check=True, capture_output=True)
    tell(stored(host) == [], "--stop-all removes them, too", stored(host))
    host.restart()
    host.end()


def many():
    """Clients that read slowly, that go away, and that read while the artifact is removed."""
    host = Host("many")
    token = host.tenant("me")
    name = host.ask("POST", RUN, token, dict(LARGE, argv=["head", "-c", str(60 << 20), "/dev/zero"]))[1]["stdout"]["artifact"]["id"]
    for _ in range(5):
        with host.connect() as one:
            one.sendall(host.request("GET", "/v1/artifacts/" + name, token))
            one.recv(1000)
    with host.connect() as one:
        one.sendall(host.request("GET", "/v1/artifacts/" + name, token, more="Connection: close\r\n"))
        got = len(one.recv(1000))
        tell(host.ask("DELETE", "/v1/artifacts/" + name, token)[0] == 204 and until(lambda: not stored(host)), "an artifact can be removed while a client reads it")
        while data := one.recv(1 << 20):
            got += len(data)
        tell(got > 60 << 20, "who was reading it gets the rest", got)
    open_files = "/proc/%d/fd" % host.process.pid
    tell(until(lambda: not any(name in os.readlink(os.path.join(open_files, fd)) for fd in os.listdir(open_files) if os.path.lexists(os.path.join(open_files, fd)))),
         "the launcher holds no descriptor of it")
    host.end()


def sandboxes():
    """Copies of files of a sandbox."""
    host = Host("sandboxes")
    token, other = host.tenant("me", artifactBytes=(192 << 20) + 600000), host.tenant("other")
    status, made, _ = host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 300000})
    tell(status == 201, "a sandbox is created", (status, made))
    box = "/v1/sandboxes/" + made["id"]
    keep = lambda paths, asks=token, **more: host.ask("POST", box + "/artifacts", asks, dict({"paths": paths}, **more))

    def execute(script):
        started = host.ask("POST", box + "/executions", token, {"argv": ["sh", "-c", script]})[1]
        return host.ask("GET", box + "/executions/%s?wait=1" % started["id"], token)[1]

    done = execute("cd /tmp; mkdir d; seq 30000 > d/table.csv; printf x > small; : > empty; ln -s /etc/hostname away; ln -s small near; mkfifo pipe; printf s > shut; chmod 0 shut; truncate -s 67108865 large")
    tell(done.get("exitCode") == 0, "a program writes files", str(done)[:600])
    status, rows, _ = keep(["/tmp/d/table.csv", "/tmp/small", "/tmp/empty", "/tmp/near"])
    tell(status == 201 and [row["name"] for row in rows] == ["/tmp/d/table.csv", "/tmp/small", "/tmp/empty", "/tmp/near"] and rows[0]["contentType"] == "text/csv" and [row["size"] for row in rows[1:]] == [1, 0, 1],
         "files of a sandbox become artifacts", (status, rows))
    content = b"".join(b"%d\n" % i for i in range(1, 30001))
    tell(host.ask("GET", "/v1/artifacts/" + rows[0]["id"], token)[1] == content and rows[0]["sha256"] == hashlib.sha256(content).hexdigest(), "with their bytes and digests")
    tell(listed(host, token) == rows[::-1] and used(host, token) == len(content) + 3 * (64 << 10), "they are listed, and count for the tenant", (listed(host, token), used(host, token)))
    tell(listed(host, other) == [] and keep(["/tmp/small"], other)[0] == 404, "another tenant neither sees them nor reaches the sandbox")
    execute("echo changed > /tmp/d/table.csv")
    tell(host.ask("GET", "/v1/artifacts/" + rows[0]["id"], token)[1] == content, "an artifact stays as it was when the file changes")
    runner = host.tenant("runner", ("--scopes", "run"))
    tell(keep(["/tmp/small"], runner)[0] == 403, "a token needs the scope sandboxes")
    scoped(host)
    before = stored(host)
    for paths, wanted, word in ((["/tmp/small", "/tmp/none"], 404, "/tmp/none"), (["/tmp/small", "/tmp/d"], 400, "directory"), (["/tmp/pipe"], 400, "fifo"), (["/tmp/shut"], 403, "/tmp/shut"), (["/tmp/large"], 400, "64 MiB"),
                                ([], 400, "1 to 64"), (["/tmp/small"] * 65, 400, "1 to 64"), ([""], 400, "1 to 64"), (["/tmp/small", 5], 400, "paths"), ("/tmp/small", 400, "paths"), (["-x"], 404, "-x"), (["/proc/1/root/etc/passwd"], 403, "passwd")):
        status, refused, _ = keep(paths)
        tell(status == wanted and refused.get("field") == "paths" and word in refused["message"], "%.60s is refused with %d" % (json.dumps(paths), wanted), (status, refused))
    status, rows, _ = keep(["/tmp/away"])
    inside = execute("cat /tmp/away")
    tell(status == 404 if inside["exitCode"] else status == 201 and host.ask("GET", "/v1/artifacts/" + rows[0]["id"], token)[1] == inside["stdout"]["text"].encode(), "a link leads where it leads in the sandbox", (status, rows, inside["stdout"]))
    for row in rows if status == 201 else []:
        host.ask("DELETE", "/v1/artifacts/" + row["id"], token)
    tell(until(lambda: stored(host) == before), "what is refused leaves nothing", (stored(host), before))
    first, second = keep(["/tmp/small"], idempotencyKey="one"), keep(["/tmp/small"], idempotencyKey="one")
    tell(first[0] == 201 and second[0] == 200 and first[1] == second[1], "a request with a key is done once", (first, second))
    tell(keep(["/tmp/near"], idempotencyKey="one")[0] == 409, "and another one with this key is refused")
    host.ask("DELETE", box + "/files?path=/tmp/large", token)
    execute("for i in 1 2 3 4; do head -c 62000000 /dev/zero > /tmp/part; ln -f /tmp/part /tmp/part$i; done")
    status, refused, _ = keep(["/tmp/part%d" % i for i in (1, 2, 3, 4)])
    tell(status == 400 and "192 MiB together" in refused["message"] and until(lambda: stored(host) == sorted(before + [first[1][0]["id"]])), "files of more than 192 MiB together are refused", (status, refused))
    status, rows, _ = keep(["/tmp/part1"])
    tell(status == 201 and rows[0]["size"] == 62000000 and rows[0]["sha256"] == hashlib.sha256(bytes(62000000)).hexdigest(), "one of them is stored", (status, rows))
    status, refused, headers = keep(["/tmp/small"])
    tell(status == 429 and refused["field"] == "artifactBytes" and headers["Retry-After"], "without room for 192 MiB, a request is refused with 429", (status, refused))
    host.ask("DELETE", "/v1/artifacts/" + rows[0]["id"], token)
    paused = host.ask("POST", box + "/pause", token)
    if os.geteuid() == 0 or paused[0] < 300:  # an ordinary user may have no cgroup that can be frozen
        status, refused, _ = keep(["/tmp/small"])
        tell(paused[0] < 300 and status == 409 and refused["field"] == "id" and "paused" in refused["message"], "a paused sandbox is refused with 409", (paused, status, refused))
        host.ask("POST", box + "/resume", token, {})
    status, rows, _ = keep(["/tmp/small"])
    tell(status == 201 and rows[0]["size"] == 1, "a sandbox that runs is not", (status, rows))
    host.ask("DELETE", box, token)
    tell(keep(["/tmp/small"])[0] == 404 and host.ask("GET", "/v1/artifacts/" + rows[0]["id"], token)[1] == b"x", "artifacts stay when the sandbox has ended")
    host.end()


def scoped(host):
    """What a token stores with the scope sandboxes alone, it can also list, read and remove."""
    token = host.tenant("scoped", ("--scopes", "sandboxes"))
    box = "/v1/sandboxes/" + host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 300000})[1]["id"]
    host.ask("PUT", box + "/files?path=/tmp/kept", token, b"kept")
    status, rows, _ = host.ask("POST", box + "/artifacts", token, {"paths": ["/tmp/kept"]})
    one = "/v1/artifacts/" + rows[0]["id"] if status == 201 else repr(rows)
    got = listed(host, token), host.ask("GET", one, token)[1], host.ask("DELETE", one, token)[0], listed(host, token)
    tell(got == (rows, b"kept", 204, []), "a token with the scope sandboxes alone lists, reads and removes what it has stored", (status, rows, got))
    host.ask("DELETE", box, token)
    tell(until(lambda: one.rpartition("/")[2] not in stored(host)), "and its file is removed")


def batches():
    """What the cases of a batch print."""
    host = Host("batches")
    token = host.tenant("me", artifactBytes=400 << 20)
    batch = {"language": "python", "code": "import sys\nn = int(input())\nprint('x' * n, end='')\nif n == 2: print('two', file=sys.stderr, end='')", "artifacts": True,
             "cases": [{"stdin": "2", "expected": "xx"}, {"stdin": "0"}, {"stdin": "3000000", "name": "long"}]}
    judge = lambda **more: host.ask("POST", "/v1/judge", token, dict(batch, **more))
    status, got, _ = judge()
    outputs = [case.get("output", {}) for case in got.get("cases", [])]
    tell(status == 200 and [row["name"] for row in listed(host, token)] == ["long/stdout", "1/stderr", "1/stdout"], "the streams of each case are stored, except empty ones", (status, str(got)[:600], listed(host, token)))
    tell(outputs and outputs[0]["stdout"]["bytesTotal"] == 2 and outputs[1] == {"stdout": {"bytesTotal": 0}, "stderr": {"bytesTotal": 0}} and not outputs[2]["stdout"]["artifactTruncated"], "and each case refers to them", outputs)
    fetch = lambda row: host.ask("GET", "/v1/artifacts/" + row["artifact"]["id"], token)[1]
    tell(fetch(outputs[0]["stdout"]) == b"xx" and fetch(outputs[0]["stderr"]) == b"two" and fetch(outputs[2]["stdout"]) == b"x" * 3000000, "with what the program has printed")
    tell(used(host, token) == 3000000 + 2 * (64 << 10) and len(stored(host)) == 3, "they count for the tenant", (used(host, token), stored(host)))
    status, got, _ = judge(artifacts=False)
    tell(status == 200 and not any("output" in case for case in got["cases"]) and len(stored(host)) == 3, "without the member, nothing is stored", (status, str(got)[:400]))
    rows = events(host.ask("POST", "/v1/judge", token, batch, "Accept: text/event-stream\r\n")[1])
    tell([name for name, _ in rows] == ["build"] + ["case"] * 3 + ["end"] and fetch(rows[1][1]["output"]["stderr"]) == b"two", "events refer to them, too", str(rows)[:800])
    status, got, _ = judge(code="import time\nprint('x')\ntime.sleep(float(input()))", cases=[{"stdin": "0", "name": "first"}, {"stdin": "1"}])
    of_case = got["cases"][0]["output"]["stdout"]["artifact"] if status == 200 else got
    row = {row["id"]: row for row in listed(host, token)}.get(of_case.get("id"), of_case)
    tell(status == 200 and moment(row["expiresAt"]) >= moment(of_case["expiresAt"]) + datetime.timedelta(seconds=0.9), "the time of an artifact begins when its batch has ended", (of_case, row))
    status, refused, _ = judge(artifacts="yes")
    tell(status == 400 and refused["field"] == "artifacts", "a member of another type is refused", refused)
    for row in listed(host, token):
        host.ask("DELETE", "/v1/artifacts/" + row["id"], token)
    # 192 MiB together: each stream gets at most half of what is left.
    status, got, _ = judge(code="import os\nfor _ in range(70): os.write(1, bytes(1 << 20))", cases=[{}] * 9)
    streams = [case["output"]["stdout"] for case in got["cases"]] if status == 200 else []
    sizes = [row["artifact"]["size"] >> 20 if "artifact" in row else 0 for row in streams]
    tell(status == 200 and sizes == [64, 64, 32, 16, 8, 4, 2, 1, 0] and all(row.get("artifactTruncated") for row in streams[:8]), "the artifacts of a batch take at most 192 MiB", (status, sizes, str(got)[:600]))
    slow = dict(batch, code="print('x')\nimport time; time.sleep(30 if input() else 0)", cases=[{"stdin": "\n"}, {"stdin": "a"}])
    for row in listed(host, token):
        host.ask("DELETE", "/v1/artifacts/" + row["id"], token)
    until(lambda: not stored(host))
    with host.connect() as one:
        one.sendall(host.request("POST", "/v1/judge", token, json.dumps(slow).encode()))
        tell(until(lambda: len(stored(host)) == 3), "the second case runs, and the output of the first one is there", stored(host))
    tell(until(lambda: used(host, token) == 0 and not stored(host)), "a client that hangs up leaves nothing", (used(host, token), stored(host)))
    host.end()


run_parts([streams, files, share, outputs, lifetime, kills, many, sandboxes, batches])
