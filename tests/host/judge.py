#!/usr/bin/env python3
"""judge.py: batches of POST /v1/judge against those of `warder judge`: verdicts, events, signatures, refusals, a tenant's share, and clients that go away, as TAP."""
import base64, glob, hashlib, json, os, subprocess, time

from lib import ROOT, SLOW, WARDER, Host, events, run_parts, tell, until, work

EVENTS = "Accept: text/event-stream\r\n"
BATCH = {"language": "python", "limits": {"timeout": "20s"} if not ROOT else {"memory": "64MiB"},
         "code": "import os, sys\nn = int(input())\nif n == 3: sys.exit('no three')\nif n == 4:\n    while True: pass\nif n == 5: x = bytearray(1 << 30)\n"
                 "if n == 6: print('x' * 10 ** 7)\nif n == 7: os.kill(os.getpid(), 11)\nif n == 10: print(sys.argv[1:], os.environ['WORD'], open('d/f.txt').read())\nprint(n * n)",
         "environment": {"WORD": "of the environment"}, "files": [{"name": "d/f.txt", "content": "of a file"}],
         "cases": [{"stdin": "1", "expected": "1"}, {"stdin": "2", "expected": "5", "name": "two"}, {"stdin": "3", "expected": "9"}, {"stdin": "4", "expected": "16", "timeout": 1}] +
                  [{"stdin": "5", "expected": "25"}] * ROOT +
                  [{"stdin": "6", "expected": "36"}, {"stdin": "7", "expected": "49"}, {"stdin": "8"}, {"stdin": "9", "expected": "81.1", "compare": "float:0.01"},
                   {"stdin": "10", "args": ["a", "b"], "expected": "['a',   'b'] of the environment of a file\n100", "compare": "tokens"}, {"stdin": "1", "expected": "1", "compare": "exact"}]}
COMMAND = [WARDER, "judge", "--json", "--no-config"] + ([] if ROOT else ["--prefer", "limits"])
VERDICTS = ["accepted", "wrongAnswer", "runtimeError", "timeLimit"] + ["memoryLimit"] * ROOT + ["outputLimit", "runtimeError", "accepted", "accepted", "accepted", "wrongAnswer"]


def judge(host, token, batch, more=""):
    return host.ask("POST", "/v1/judge", token, batch, more)


def lasting(case):
    """What two runs of a case have in common."""
    return {name: value for name, value in case.items() if name not in ("wallUs", "cpuTimeUs", "peakMemoryBytes")}


def running(host, token):
    return host.ask("GET", "/v1/host", token)[1]["tenant"]["used"]["running"]


def is_signed(document, body):
    """document: the text of an answer; body: of the request."""
    at = document.rindex(b',"signature":')
    member = json.loads(document)["signature"]
    digests = hashlib.sha256(body).hexdigest(), hashlib.sha256(document[:at] + b"}").hexdigest()
    names = [os.path.join(work, name) for name in ("said", "value", "key")]
    for name, data in zip(names, (b"warder-signature 1\ncall judge\nrequest %s\nanswer %s\n" % tuple(one.encode() for one in digests), base64.b64decode(member["value"]),
                                  bytes.fromhex("302a300506032b6570032100") + base64.b64decode(member["key"].split(":")[1]))):
        with open(name, "wb") as file:
            file.write(data)
    return subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", names[2], "-rawin", "-in", names[0], "-sigfile", names[1]],
                          capture_output=True).returncode == 0


def raw(host, token, body, more=""):
    """The bytes of an answer, without its head."""
    with host.connect() as one:
        one.sendall(host.request("POST", "/v1/judge", token, body, more + "Connection: close\r\n"))
        got = b""
        while data := one.recv(65536):
            got += data
    head, _, rest = got.partition(b"\r\n\r\n")
    if b"chunked" not in head:
        return rest
    whole = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        whole, rest = whole + rest[:int(size, 16)], rest[int(size, 16) + 2:]
    return whole


def verdicts():
    host = Host("verdicts")
    token = host.tenant("me")
    done = subprocess.run(COMMAND + ["--request-env", "WORD"], input=json.dumps(BATCH), capture_output=True, text=True)
    own = json.loads(done.stdout)
    status, got, _ = judge(host, token, BATCH)
    tell(status == 200 and [case["verdict"] for case in got["cases"]] == VERDICTS, "each case has its verdict", (status, str(got)[:1000]))
    tell(list(map(lasting, got["cases"])) == list(map(lasting, own["cases"])), "with the members and values of `warder judge --json`", (got["cases"], own["cases"]))
    tell({name: got[name] for name in ("language", "build", "verdict", "firstFailure", "counts")} == {name: own[name] for name in ("language", "build", "verdict", "firstFailure", "counts")} and
         list(got) == list(own) + ["signature"] and list(got["most"]) == list(own["most"]), "and so have the sums", (list(got), list(own)))
    body = json.dumps(BATCH).encode()
    tell(is_signed(raw(host, token, body), body), "the answer is signed")
    # As events.
    got = raw(host, token, body, EVENTS)
    rows = events(got)
    tell([name for name, _ in rows] == ["build"] + ["case"] * len(VERDICTS) + ["end"] and rows[0][1] == {"language": "python", "build": None} and
         [case["verdict"] for name, case in rows if name == "case"] == VERDICTS, "a client that accepts events gets the cases in their order", rows)
    tell([lasting(data) for name, data in rows if name == "case"] == list(map(lasting, own["cases"])), "with the same members and values")
    parts = [block.split(b"data: ", 1)[1] for block in got.split(b"\n\n") if block]
    whole = parts[0][:-1] + b',"cases":[' + b",".join(parts[1:-1]) + b"]," + parts[-1][1:]
    tell(list(json.loads(whole)) == list(own) + ["signature"] and is_signed(whole, body), "which make up the object that is signed")
    # A program that is compiled, with a template for each set of limits.
    program = {"language": "c", "code": '#include <stdio.h>\nint main(void) { int n; scanf("%d", &n); printf("%d\\n", n + 1); return 0; }',
               "cases": [{"stdin": "1", "expected": "2"}, {"stdin": "2", "expected": "3", "timeout": "2s"}, {"stdin": "3", "expected": "3", "timeout": "2s"}, {"stdin": "4", "expected": "5"}]}
    status, got, _ = judge(host, token, program)
    tell(status == 200 and [case["verdict"] for case in got["cases"]] == ["accepted", "accepted", "wrongAnswer", "accepted"] and got["build"]["stages"][0]["name"] == "build" and
         got["build"]["receipt"], "a program is built once; the build has a receipt", (status, str(got)[:600]))
    status, got, _ = judge(host, token, dict(program, stopOnFirstFailure=True))
    tell([case["verdict"] for case in got["cases"]] == ["accepted", "accepted", "wrongAnswer", "skipped"] and got["cases"][3]["cause"] == "cancelled", "cases after the first failure are skipped", got["cases"])
    broken = dict(program, code="int main(void) { return x; }")
    own = json.loads(subprocess.run(COMMAND, input=json.dumps(broken), capture_output=True, text=True).stdout)
    status, got, _ = judge(host, token, broken)
    tell(status == 200 and got["verdict"] == "compileError" and got["cases"] == own["cases"] and got["build"]["diagnostics"] == own["build"]["diagnostics"],
         "code that does not compile has that verdict for each case, and the compiler's messages", (status, str(got)[:800]))
    rows = events(judge(host, token, broken, EVENTS)[1])
    tell([name for name, _ in rows] == ["build"] + ["case"] * 4 + ["end"] and rows[0][1]["build"]["status"] == "compileFailed", "also as events", rows)
    wide = dict(program, cases=[{"stdin": "1", "expected": "2"}] * 1000, code="int main(void) { return x; }")
    tell([name for name, _ in events(judge(host, token, wide, EVENTS)[1])].count("case") == 1000, "1000 cases are taken")
    metrics = host.ask("GET", "/v1/metrics", host.tenant("watcher", flags=("--scopes", "metrics")))[1].decode()
    tell('warder_programs_total{cause="wallTime"} 3' in metrics.replace("_ended", ""), "each case counts as a program", metrics[:1500])
    host.end()


def refusals():
    host = Host("refusals", more={"templates": {"small": dict({"version": 1, "limits": {"wallTime": "5s"}}, **({} if ROOT else {"enforcement": {"limits": "preferred"}}))}})
    token, reader = host.tenant("me"), host.tenant("reader", flags=("--scopes", "read"))
    good = {"language": "bash", "code": "cat", "cases": [{"stdin": "a", "expected": "a"}]}
    status, got, _ = judge(host, token, dict(good, template="small"))
    tell(status == 200 and got["verdict"] == "accepted", "a template may be named", (status, got))
    case = lambda **members: {"cases": [dict(stdin="a", **members)]}
    for change, wanted, field, message in (
            ({"nope": 1}, 400, "nope", 'line 1: unknown member "nope"'),
            ({"env": {"A": "b"}}, 400, "env", 'line 1: unknown member "env"'),
            ({"code": None}, 400, "code", 'line 1: "code" must be a text'),
            ({"code": ""}, 400, "code", "batch:1: code: empty source code: code is required"),
            ({"code": 5}, 400, "code", 'line 1: "code" must be a text'),
            ({"code": "YQ", "encoding": "base64"}, 400, "code", "batch:1: code: no base64 as RFC 4648 has it, with its padding"),
            ({"encoding": "latin"}, 400, "encoding", 'batch:1: encoding: unknown word; known: "utf-8", "base64"'),
            ({"language": 5}, 400, "language", 'line 1: "language" must be a text'),
            ({"language": "cobol"}, 422, "language", None),
            ({"files": [5]}, 400, "files", 'line 1: "files" must be an array of objects'),
            ({"files": [{"name": "../x", "content": ""}]}, 400, None, 'files: path "../x" leads out of the workspace (path traversal); leave ".." out'),
            ({"files": [{"path": "x"}]}, 400, "files[0].path", None),
            ({"environment": {"A": 5}}, 400, "environment", 'line 1: "environment" must be an object of texts'),
            ({"workingDirectory": "relative"}, 400, "cases[0] workingDirectory", None),
            ({"limits": 5}, 400, "limits", 'line 1: "limits" must be an object'),
            ({"limits": {"disk": "1MiB"}}, 400, "limits.disk", None),
            ({"limits": {"timeout": "soon"}}, 400, "cases[0] limits.wallTime", None),
            ({"compare": "roughly"}, 400, "compare", None),
            ({"stopOnFirstFailure": "yes"}, 400, "stopOnFirstFailure", 'line 1: "stopOnFirstFailure" must be true or false'),
            ({"parallel": 0}, 400, "parallel", "batch:1: parallel: a number from 1 to 100 is expected"),
            ({"parallel": 2}, 400, "parallel", '"parallel" must be 1 here: the cases of a request run one after another'),
            ({"cases": 5}, 400, "cases", 'line 1: "cases" must be an array of objects'),
            ({"cases": []}, 400, "cases", "batch:1: cases: there is no case to judge by"),
            ({"cases": [{}] * 1001}, 400, "cases", '"cases" has 1001 cases, and this host takes at most 1000 of a request; send the others in another one'),
            (case(nope=1), 400, "cases[0].nope", 'batch:1: cases[0].nope: unknown key; known: "name", "stdin", "args", "expected", "compare", "timeout", "cpuTime", "memory"'),
            (case(name=5), 400, "cases[0].name", "batch:1: cases[0].name: a number where a string is expected"),
            (case(args="a"), 400, "cases[0].args", None),
            (case(expected=5), 400, "cases[0].expected", "batch:1: cases[0].expected: a number where a string is expected"),
            (case(compare="exact"), 400, "cases[0]", 'batch:1: cases[0]: there is nothing to compare with; give "expected"'),
            (dict(case(timeout="6s"), template="small"), 403, "cases[0] limits.wallTime", "cases[0]: limits.wallTime: 6s is more than the operator grants; at most 5s"),
            (case(cpuTime=True), 400, "cases[0].cpuTime", None),
            (case(memory="64GiB"), 403, "cases[0] limits.memory", None),
            ({"template": "none"}, 404, "template", 'there is no template "none"'),
            ({"policy": 5}, 400, "policy", 'line 1: "policy" must be an object'),
            ({"policy": {"version": 1, "limits": {"wallTime": "5s"}, "network": {"mode": "host"}}}, 403, "network.mode", None),
            ({"idempotencyKey": ""}, 400, "idempotencyKey", '"idempotencyKey" must be a text of 1 to 128 bytes')):
        for more in ("", EVENTS):
            status, got, _ = judge(host, token, dict(good, **change), more)
            ok = status == wanted and isinstance(got, dict) and got.get("field") == field and (message is None or got["message"] == message)
            if not ok or not more:
                tell(ok, "%s is refused with %d" % (json.dumps(change)[:80], wanted), (status, got, more))
    for name in ("code", "cases"):
        status, got, _ = judge(host, token, {key: value for key, value in good.items() if key != name})
        tell(status == 400 and got["field"] == name and '"%s" is missing' % name in got["message"], "%s is needed" % name, (status, got))
    status, got, _ = judge(host, token, json.dumps(dict(good, cases=[{"stdin": "x" * (1 << 20)}])).encode())
    tell(status == 413 and got["message"] == "the body is longer than 1048576 bytes", "a body that is too long is refused by its limit", (status, got))
    status, got, _ = judge(host, reader, good)
    tell(status == 403 and "scope" in got["message"], "a token needs the scope run", (status, got))
    tell(judge(host, "e2b_" + "0" * 40, good)[0] == 401 and running(host, token) == 0, "nothing of these runs")
    host.end()


def shares():
    host = Host("shares")
    slow, one, many, few = host.tenant("slow", launchesPerSecond=5), host.tenant("one", memoryBytes=128 << 20), host.tenant("many", launchesPerSecond=1000), host.tenant("few", launchesPerSecond=0)
    batch = {"language": "bash", "code": "cat", "cases": [{"stdin": "a", "expected": "a"}] * 12}
    begun = time.monotonic()
    status, got, _ = judge(host, slow, batch)
    took = time.monotonic() - begun
    tell(status == 200 and got["counts"]["accepted"] == 12 and took >= 2, "each case is a launch of the tenant: 12 at 5 a second take more than 2 s", (status, took, str(got)[:300]))
    status, got, headers = judge(host, few, batch)
    tell(status == 429 and got["field"] == "launchesPerSecond" and headers["Retry-After"] == "1", "without a launch that is left, the batch is refused", (status, got))
    if ROOT:
        status, got, headers = judge(host, one, batch)
        tell(status == 429 and got["field"] == "limits.memory" and headers["Retry-After"] == "5", "so is one whose policy exceeds the tenant's memory", (status, got))
    keyed = {"language": "bash", "code": "date +%s%N", "cases": [{}], "idempotencyKey": "a"}
    ended = judge(host, many, keyed)
    batch = {"language": "bash", "code": "sleep 60", "cases": [{}]}
    streams = [begin(host, many, batch) for _ in range(8)]
    tell(until(lambda: running(host, many) == 8), "eight batches run", running(host, many))
    status, got, headers = judge(host, many, batch)
    tell(status == 429 and got["field"] == "batches" and got["message"] == "the tenant has 8 batches that run, may have 8, and this request would exceed that" and headers["Retry-After"] == "1",
         "another one is refused", (status, got))
    again = judge(host, many, keyed)
    tell(ended[0] == 200 and again[:2] == ended[:2], "one that has ended is answered by its key", again[:2])
    tell(host.ask("POST", "/v1/run", many, {"argv": ["true"]})[0] == 200, "and a program is not")
    subprocess.run([WARDER, "tenant", "revoke", "slow", "--state", host.state], check=True)
    for stream in streams:
        stream.close()
    tell(until(lambda: running(host, many) == 0), "they end with their clients", running(host, many))
    host.end()


def begin(host, token, batch):
    """A connection that has sent the batch, and accepts events."""
    stream = host.connect()
    stream.sendall(host.request("POST", "/v1/judge", token, json.dumps(batch).encode(), EVENTS))
    return stream


def read_until(stream, word):
    got = b""
    stream.settimeout(60 * SLOW)
    while word not in got:
        data = stream.recv(65536)
        if not data:
            break
        got += data
    return got


def sleepers(seconds):
    return subprocess.run(["pgrep", "-fx", "sleep " + seconds], capture_output=True, text=True).stdout.split()


def built(host):
    """Descriptors of the launcher that lead to directories of built programs."""
    found = []
    for name in glob.glob("/proc/%d/fd/*" % host.process.pid):
        try:
            found.append(os.readlink(name))
        except OSError:
            pass
    return [one for one in found if "/built/" in one]


def endings():
    host = Host("endings")
    token, gone = host.tenant("me"), host.tenant("gone")
    seconds = "86%d" % os.getpid()
    code = '#include <unistd.h>\n#include <stdio.h>\nint main(void) { int n; scanf("%%d", &n); puts("x"); fflush(stdout); if (n == 2) execlp("sleep", "sleep", "%s", (char *)0); return 0; }' % seconds
    batch = {"language": "c", "code": code, "cases": [{"stdin": "1", "expected": "x"}, {"stdin": "2", "expected": "x"}, {"stdin": "3", "expected": "x"}]}
    # The client goes away.
    stream = begin(host, token, batch)
    got = read_until(stream, b"event: case")
    tell(b'"verdict":"accepted"' in got and b"event: end" not in got and until(lambda: len(sleepers(seconds)) == 1), "a case is told while the next one runs", got)
    tell(len(built(host)) > 0, "the program is kept meanwhile", built(host))
    stream.close()
    tell(until(lambda: not sleepers(seconds) and running(host, token) == 0 and not built(host)), "a client that goes away ends its program, and nothing of it is left", (sleepers(seconds), built(host)))
    # A key: it goes on.
    keyed = {"language": "bash", "code": "read n; sleep $n; date +%s%N", "cases": [{"stdin": "0", "expected": "1"}, {"stdin": "2", "expected": "1"}], "idempotencyKey": "a"}
    stream = begin(host, token, keyed)
    read_until(stream, b"event: case")
    stream.close()
    status, got, headers = judge(host, token, keyed, EVENTS)
    tell(status == 409 and headers["Retry-After"].isdigit() and got["field"] == "idempotencyKey", "with a key, it goes on without its client", (status, got))
    answers = []
    tell(until(lambda: answers.append(judge(host, token, keyed, EVENTS)) or answers[-1][0] == 200, 30), "and is answered when it is asked again", answers[-1])
    rows = events(answers[-1][1])
    tell([name for name, _ in rows] == ["build", "case", "case", "end"] and events(judge(host, token, keyed, EVENTS)[1]) == rows, "with all events, each time", rows)
    status, got, _ = judge(host, token, keyed)
    tell(status == 409 and "new key" in got["message"] and "Accept" in got["message"], "the other form of the answer is another request", (status, got))
    keyed = dict(keyed, idempotencyKey="b", cases=[{"expected": "1"}])
    status, got, _ = judge(host, token, keyed)
    tell(status == 200 and judge(host, token, keyed)[1] == got, "the object is repeated, too", (status, got))
    # The tenant goes away.
    ticks = {"language": "bash", "code": "sleep 0.3", "cases": [{}] * 1000}
    stream = begin(host, gone, ticks)
    read_until(stream, b"event: case")
    subprocess.run([WARDER, "tenant", "revoke", "gone", "--state", host.state], check=True)
    host.tenants.remove("gone")
    got = read_until(stream, b"event: error")
    tell(b'data: {"code":403,"message":"the token was revoked"}' in got + stream.recv(65536), "a batch ends after the case in which its token is revoked", got[-500:])
    stream.close()
    # The host goes away: while a case runs, and while one waits for its launch.
    stream = begin(host, token, batch)
    waits = begin(host, host.tenant("waits", launchesPerSecond=1), ticks)
    read_until(stream, b"event: case")
    tell(until(lambda: len(sleepers(seconds)) == 1), "a case runs when the host ends", sleepers(seconds))
    held = built(host)
    host.end()
    tell(host.process.returncode == 0 and not sleepers(seconds), "the host ends, and the case with it", (host.process.returncode, sleepers(seconds)))
    tell(held and not any(os.path.exists(one.split(" (deleted)")[0]) for one in held), "and the built program is gone", held)
    stream.close()
    waits.close()


run_parts((verdicts, refusals, shares, endings))
