#!/usr/bin/env python3
"""artifacts.py: what programs of /v1/run and /v1/code leave beyond their results: fetched, listed, removed, a tenant's share, and nothing left, as TAP."""
import hashlib, json, os, signal, subprocess

from lib import WARDER, Host, front, run_parts, tell, until

RUN, CODE = "/v1/run", "/v1/code"
LARGE = {"argv": ["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo short >&2"], "artifacts": True}


def stored(host):
    return sorted(os.listdir(os.path.join(host.state, "artifacts")))


def used(host, token):
    return host.ask("GET", "/v1/host", token)[1]["tenant"]["used"]["artifactBytes"]


def listed(host, token):
    return host.ask("GET", "/v1/artifacts", token)[1]


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
    tell([host.ask(method, path, reader)[0] for method, path in (("GET", "/v1/artifacts"), ("GET", "/v1/artifacts/x"), ("DELETE", "/v1/artifacts/x"))] == [403] * 3, "a token needs the scope run")
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


run_parts([streams, files, share, lifetime, kills, many])
