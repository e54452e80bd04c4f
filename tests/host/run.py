#!/usr/bin/env python3
"""The execution host: its HTTP surface, tenants and their shares, restarts, kills, and a front that an attacker has taken over.

Only loopback is used. Sessions of root are below /run/warder; the suite has one of its own, in a mount namespace, so that no other suite
notices what it kills.
"""
import hashlib, http.client, json, os, select, shutil, signal, socket, subprocess, sys, threading, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../lib"))
import tenant_documents
from serving import Host, front, own_run_directory, work
from tap import ROOT, SLOW, WARDER, finish, tell, until


def sessions():
    done = subprocess.run([WARDER, "session", "list", "--json"], capture_output=True, text=True)
    # Another suite may have removed the directory below our mount, and then shares its sessions with us.
    return sorted(one["name"] for one in json.loads(done.stdout or "[]") if len(one["name"]) == 20)


POLICY = {"version": 1, "limits": {"wallTime": "60s", "cpuTime": "unlimited", "memory": "64MiB", "cpus": 0.5, "pids": 32}}


def create(host, token, **more):
    body = dict({"timeoutMs": 60000}, **more)
    return host.ask("POST", "/v1/sandboxes", body, token)


def execute(host, token, sandbox, *argv, **more):
    """(status, result)."""
    status, started, _ = host.ask("POST", "/v1/sandboxes/%s/executions" % sandbox, dict({"argv": list(argv)}, **more), token)
    if status != 201:
        return status, started
    return host.ask("GET", "/v1/sandboxes/%s/executions/%s?wait=1" % (sandbox, started["id"]), None, token)[:2]


def events(host, token, sandbox, execution, query="", timeout=60):
    status, data, headers = host.ask("GET", "/v1/sandboxes/%s/executions/%s/output%s" % (sandbox, execution, query), None, token, timeout=timeout)
    found = []
    for block in (data.decode() if isinstance(data, bytes) else "").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "event" in fields:
            found.append((fields["event"], fields["id"], json.loads(fields["data"])))
    return found


# ---- the surface ----

def surface(host, token):
    status, _, headers = host.ask("GET", "/health")
    tell(status == 204, "health needs no token, and launches a probe", status)
    tell(headers["X-Content-Type-Options"] == "nosniff" and "default-src 'none'" in headers["Content-Security-Policy"] and
         headers["Access-Control-Allow-Origin"] is None, "an answer allows no page to use it", headers)
    for name, more in (("no token", {}), ("a wrong token", {"X-API-Key": "e2b_" + "0" * 40})):
        status, data, _ = host.ask("GET", "/v1/host", headers=more)
        tell(status == 401 and data["code"] == 401 and token not in json.dumps(data), name + " is refused", (status, data))
    status, data, _ = host.ask("GET", "/v1/host", headers={"Authorization": "Bearer " + token})
    tell(status == 200 and data["tenant"]["name"] == "me", "a bearer token names its tenant", data)
    tell(host.ask("GET", "/v1/host", None, token, {"Host": "evil.test"})[0] == 421, "another Host header is refused")
    tell(host.ask("GET", "/v1/host", None, token, {"Origin": "http://evil.test"})[0] == 403, "a page of another origin is refused")
    tell(host.ask("GET", "/v1/host", None, token, {"Origin": "http://127.0.0.1:%d" % host.port})[0] == 200, "a page of this host is served")
    tell(host.ask("GET", "/nothing", None, token)[0] == 404 and host.ask("PUT", "/v1/run", "{}", token)[0] == 405,
         "an unknown path and an unknown method are refused")
    tell(host.ask("POST", "/v1/run", b"x" * (2 << 20), token)[0] == 413, "a body above 1 MiB is refused")
    tell(host.ask("GET", "/v1/host", None, token, {"X-Long": "y" * 30000})[0] in (413, 431), "headers above 16 KiB are refused")
    for body, word in (("{", "member's name"), ("[]", "object"), ('{"argv": "x"}', "argv"), ('{"argv": ["true"], "nope": 1}', "nope"),
                       ('{"argv": ["true"], "template": "none"}', "template"), ('{"argv": ["true"], "argv": ["true"]}', "argv")):
        status, data, _ = host.ask("POST", "/v1/run", body, token)
        tell(status in (400, 404) and word in data["message"], "a bad request is refused by name: " + body, (status, data))


def description(host, token):
    status, document, _ = host.ask("GET", "/v1/openapi.json")
    tell(status == 200 and document["openapi"] == "3.1.0", "the API is described without a token", status)
    wrong = []
    for path, methods in document["paths"].items():
        for method, what in methods.items():
            # A name that no sandbox has; the answer shows that the route is there, and whether it needs a key.
            status, data, _ = host.ask(method.upper(), path.replace("{id}", "i" + "0" * 19).replace("{", "").replace("}", ""))
            served = status != 405 and not (isinstance(data, dict) and data.get("message") == "there is no such path")
            if not served or ({} in what["security"]) == (status == 401) or ({"token": ["run"]} in what["security"] and status != 401):
                wrong.append((method, path, status))
            if sum(row["in"] == "path" for row in what["parameters"]) != path.count("{"):
                wrong.append((path, what["parameters"]))
        if "get" not in methods and host.ask("GET", path.replace("{", "").replace("}", ""), None, token)[0] not in (404, 405):
            wrong.append(("get", path))
    tell(len(document["paths"]) >= 18 and not wrong, "every route that is described is served, and needs the key that it says", wrong)


def run(host, token):
    status, data, _ = host.ask("POST", "/v1/run", {"argv": ["sh", "-c", "read x; echo $x $A; exit 3"], "stdin": "in\n", "env": {"A": "b"}}, token)
    tell(status == 200 and data["stdout"]["text"] == "in b\n" and data["exitCode"] == 3 and data["cause"] == "exit" and data["receipt"],
         "a run has the result of warder run --json", (status, str(data)[:300]))
    status, data, _ = host.ask("POST", "/v1/run", {"argv": ["od", "-An", "-tx1"], "stdinBase64": "AP8K"}, token)
    tell(status == 200 and data["stdout"]["text"].split() == ["00", "ff", "0a"], "input that is no text comes in base64", (status, str(data)[:300]))
    for more in ({"stdinBase64": "AP8K", "stdin": "x"}, {"stdinBase64": "A"}, {"stdinBase64": 5}):
        status, data, _ = host.ask("POST", "/v1/run", dict(more, argv=["true"]), token)
        tell(status == 400 and data["field"] == "stdinBase64", "a wrong stdinBase64 is refused by name", (status, data))
    status, data, _ = host.ask("GET", "/v1/capabilities", None, token)
    tell(status == 200 and data["isolation"] == "namespaceJail" and data["languages"] == ["command"] and
         data["controls"]["syscalls"] == {"enforced": True, "mechanism": "seccomp filter"} and
         all("mechanism" in row if row["enforced"] else row["reason"] for row in data["controls"].values()),
         "a host says what it can enforce", (status, str(data)[:300]))
    status, data, _ = host.ask("POST", "/v1/run", {"argv": ["no-such-program"]}, token)
    tell(status == 404 and data["kind"] == "notFound", "a program that is not there is refused", (status, data))
    status, data, _ = host.ask("POST", "/v1/run", {"argv": ["true"], "policy": dict(POLICY, filesystem={"paths": {"readOnly": ["/root"]}})}, token)
    tell(status == 403 and data["field"].startswith("filesystem.paths"), "a policy cannot ask for a path of the host", (status, data))
    status, data, _ = host.ask("POST", "/v1/run", {"argv": ["true"], "policy": dict(POLICY, network="host")}, token)
    tell(status in (400, 403), "a policy cannot ask for the host's network", (status, data))
    status, data, _ = host.ask("POST", "/v1/run", {"argv": ["true"], "policy": dict(POLICY, limits={"wallTime": "5s", "memory": "9GiB"})}, token)
    tell(status == 403 and data["field"] == "limits.memory", "a policy cannot ask for more memory than the template", (status, data))


def sandboxes(host, token, other):
    status, made, _ = create(host, token, metadata={"job": "7"}, env={"FROM": "template"})
    tell(status == 201 and len(made["id"]) == 20, "a sandbox is created", (status, str(made)[:300]))
    if status != 201:
        return
    name = made["id"]
    status, result = execute(host, token, name, "sh", "-c", "echo $FROM; echo kept > /tmp/a; id -u")
    tell(status == 200 and result["cause"] == "exit" and result["receipt"], "an execution has a result with a receipt", (status, str(result)[:300]))
    status, started, _ = host.ask("POST", "/v1/sandboxes/%s/executions" % name, {"argv": ["sh", "-c", "cat /tmp/a; cat; pwd >&2"], "stdin": "x" * 70000, "cwd": "/"}, token)
    got = events(host, token, name, started["id"])
    text = {stream: "".join(e[2]["text"] for e in got if e[0] == "output" and e[2]["stream"] == stream) for stream in ("stdout", "stderr")}
    tell(text == {"stdout": "kept\n" + "x" * 70000, "stderr": "/\n"} and got[-1][0] == "end", "files stay, input arrives whole, output comes as events",
         str(got)[:300])
    rest = events(host, token, name, started["id"], "?stdout=70000&stderr=2")
    tell("".join(e[2].get("text", "") for e in rest) == "xxxxx", "output from an offset on", str(rest)[:300])
    tell(host.ask("GET", "/v1/sandboxes/%s" % name, None, other)[0] == 404 and host.ask("DELETE", "/v1/sandboxes/%s" % name, None, other)[0] == 404 and
         host.ask("GET", "/v1/sandboxes", None, other)[1] == [], "another tenant neither sees nor ends it")
    tell(execute(host, other, name, "true")[0] == 404, "another tenant executes nothing in it")
    listed = host.ask("GET", "/v1/sandboxes", None, token)[1]
    tell([one["id"] for one in listed] == [name] and "accessToken" not in listed[0] and listed[0]["metadata"] == {"job": "7"}, "the list has no tokens", listed)
    status, started, _ = host.ask("POST", "/v1/sandboxes/%s/executions" % name, {"argv": ["cat"], "input": True}, token)
    path = "/v1/sandboxes/%s/executions/%s" % (name, started["id"])
    row = host.ask("GET", path, None, token)[1]
    tell(row["state"] == "running", "an execution that runs is described", row)
    sent = host.ask("POST", path + "/input", {"text": "hello", "close": True}, token)[0]
    tell(sent == 204 and "hello" in str(events(host, token, name, started["id"])), "input is written and closed", sent)
    status, started, _ = host.ask("POST", "/v1/sandboxes/%s/executions" % name, {"argv": ["od", "-An", "-tx1"], "input": True}, token)
    path = "/v1/sandboxes/%s/executions/%s" % (name, started["id"])
    wrong = [host.ask("POST", path + "/input", body, token)[1].get("field") for body in ({"base64": "AP8"}, {"base64": "AP8=", "text": ""}, {"base64": 5})]
    sent = host.ask("POST", path + "/input", {"base64": "AP8=", "close": True}, token)[0]
    tell(wrong == ["base64"] * 3 and sent == 204 and "00 ff" in str(events(host, token, name, started["id"])), "so are bytes that are no text", (wrong, sent))
    status, started, _ = host.ask("POST", "/v1/sandboxes/%s/executions" % name, {"argv": ["sleep", "60"]}, token)
    path = "/v1/sandboxes/%s/executions/%s" % (name, started["id"])
    tell(host.ask("POST", path + "/signal", {"signal": 9}, token)[0] == 204 and host.ask("GET", path + "?wait=1", None, token)[1]["cause"] == "signal",
         "a signal ends an execution")
    status, result = execute(host, token, name, "sleep", "60", timeoutMs=300)
    tell(result.get("cause") == "wallTime", "an execution may have less time than its sandbox", str(result)[:300])
    tell(host.ask("DELETE", "/v1/sandboxes/%s" % name, None, token)[0] == 204 and host.ask("GET", "/v1/sandboxes/%s" % name, None, token)[0] == 404 and
         name not in sessions(), "an ended sandbox is gone")
    name = create(host, token, timeoutMs=1000)[1]["id"]
    tell(until(lambda: host.ask("GET", "/v1/sandboxes", None, token)[1] == []) and name not in sessions(), "a sandbox ends when its time is over")


def e2b(host, token):
    body = {"templateID": "base", "timeout": 60, "metadata": {"a": "b"}}
    status, made, _ = host.ask("POST", "/v2/sandboxes", body, token)
    tell(status == 201 and made["sandboxID"] and made["envdVersion"] and made["envdAccessToken"] and made["trafficAccessToken"], "E2B: create", made)
    path = "/sandboxes/" + made["sandboxID"]
    row = host.ask("GET", path, None, token)[1]
    tell(row["state"] == "running" and row["metadata"] == {"a": "b"} and row["startedAt"].endswith("Z"), "E2B: describe", row)
    tell(host.ask("POST", path + "/timeout", {"timeout": 120}, token)[0] == 204 and host.ask("GET", path, None, token)[1]["endAt"] > row["endAt"], "E2B: timeout")
    tell(host.ask("POST", path + "/connect", {"timeout": 30}, token)[1]["trafficAccessToken"] == made["trafficAccessToken"], "E2B: connect")
    tell([one["sandboxID"] for one in host.ask("GET", "/v2/sandboxes", None, token)[1]] == [made["sandboxID"]], "E2B: list")
    tell(host.ask("DELETE", path, None, token)[0] == 204 and host.ask("DELETE", path, None, token)[0] == 404, "E2B: kill, and kill again")
    tell([host.ask("POST", "/v2/sandboxes", dict(body, metadata=wrong), token)[0] for wrong in ({"a": {"b": [1]}}, {"a": None}, {"a": 1, "b": "c"}, ["a"])] == [400] * 4,
         "E2B: metadata that is no object of texts is refused")
    tell(host.ask("POST", "/v2/sandboxes", dict(body, volumeMounts=[{"name": "x"}]), token)[0] == 400, "E2B: what is not there is refused")


def repeats(host, token, other):
    body = {"timeoutMs": 60000, "idempotencyKey": "job-7"}
    answers = []
    callers = [threading.Thread(target=lambda: answers.append(host.ask("POST", "/v1/sandboxes", body, token))) for _ in range(4)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    statuses = sorted(one[0] for one in answers)
    tell(statuses.count(201) == 1 and set(statuses) <= {200, 201, 409} and len(host.ask("GET", "/v1/sandboxes", None, token)[1]) == 1,
         "requests with one idempotency key create one sandbox", [one[:2] for one in answers])
    made = [one[1] for one in answers if one[0] == 201][0]
    host.end(signal.SIGKILL)
    host.start()
    status, data, _ = host.ask("POST", "/v1/sandboxes", body, token)
    tell(status == 200 and data["id"] == made["id"] and data["accessToken"] == made["accessToken"], "a later one gets it, also after the launcher was killed", (status, data))
    status, data, _ = host.ask("POST", "/v1/sandboxes", dict(body, timeoutMs=1000), token)
    tell(status == 409 and data["field"] == "idempotencyKey", "another request with this key is refused", (status, data))
    status, data, _ = host.ask("POST", "/v1/sandboxes", body, other)
    tell(status == 201 and data["id"] != made["id"], "the key of another tenant is another one", (status, data))
    host.ask("DELETE", "/v1/sandboxes/" + data["id"], None, other)
    host.ask("DELETE", "/v1/sandboxes/" + made["id"], None, token)
    status, data, _ = host.ask("POST", "/v1/sandboxes", body, token)
    tell(status == 201 and data["id"] != made["id"], "when the sandbox has ended, the key is free", (status, data))
    host.ask("DELETE", "/v1/sandboxes/" + data["id"], None, token)
    tell(host.ask("POST", "/v1/sandboxes", {"idempotencyKey": "x" * 129}, token)[0] == 400, "a key that is too long is refused")


def pauses(host, token, other):
    name = create(host, token, timeoutMs=2000)[1]["id"]
    path = "/v1/sandboxes/" + name
    started = host.ask("POST", path + "/executions", {"argv": ["sh", "-c", "while :; do echo x; sleep 0.1; done"]}, token)[1]
    written = lambda: host.ask("GET", path + "/executions/" + started["id"], None, token)[1].get("stdoutBytes")
    until(lambda: written())
    tell(host.ask("POST", path + "/pause", None, other)[0] == 404, "another tenant pauses nothing")
    status, data, _ = host.ask("POST", path + "/pause", None, token)
    if status != 204:
        tell(status == 503 and "cgroup" in data["message"].replace("control group", "cgroup"), "a host that cannot freeze says why it does not pause", (status, data))
        host.ask("DELETE", path, None, token)
        return
    # The pipe may still hold what the program wrote before the pause.
    before = [None, written()]
    until(lambda: before.append((time.sleep(0.5), written())[1]) or before[-1] == before[-2])
    before = before[-1]
    time.sleep(2.5 * SLOW)
    tell(written() == before and host.ask("GET", path, None, token)[1]["state"] == "paused",
         "a paused sandbox does nothing, and its time does not end it", (before, written(), host.ask("GET", path, None, token)[1]))
    tell(host.ask("POST", path + "/pause", None, token)[0] == 409 and host.ask("POST", path + "/timeout", {"timeoutMs": 1000}, token)[0] == 409,
         "it is not paused twice, and has no time that could be set")
    status, data, _ = host.ask("POST", path + "/executions", {"argv": ["true"]}, token)
    tell(status == 409 and "paused" in data["message"], "nothing starts in it", (status, data))
    host.end(signal.SIGKILL)
    host.start()
    tell(host.ask("GET", path, None, token)[1]["state"] == "paused" and host.ask("GET", "/v1/host", None, token)[1]["tenant"]["used"]["sandboxes"] == 1,
         "it stays paused when the launcher is killed, and counts for its tenant")
    status, data, _ = host.ask("POST", path + "/resume", {"timeoutMs": 60000}, token)
    tell(status == 204 and until(lambda: written() > before) and host.ask("GET", path, None, token)[1]["state"] == "running", "it goes on", (status, data))
    tell(host.ask("POST", path + "/resume", None, token)[0] == 409, "and is not resumed twice")
    name = "/sandboxes/" + name
    listed = lambda query: [one["state"] for one in host.ask("GET", "/v2/sandboxes" + query, None, token)[1]]
    first = host.ask("POST", name + "/pause", {}, token)[0], host.ask("POST", name + "/pause", {}, token)[0]
    tell(first == (204, 409) and listed("") == ["paused"] and listed("?state=paused") == ["paused"] and listed("?state=running") == [], "E2B: pause, and list by state",
         (first, listed("")))
    status, data, _ = host.ask("POST", name + "/connect", {"timeout": 60}, token)
    tell(status == 201 and data["envdAccessToken"] and host.ask("POST", name + "/connect", {"timeout": 60}, token)[0] == 200, "E2B: connecting resumes", (status, data))
    first = host.ask("POST", name + "/pause", {"memory": False}, token)[0], host.ask("POST", name + "/pause", {}, token)[0]
    status, data, _ = host.ask("POST", name + "/resume", {"timeout": 60, "autoPause": False}, token)
    tell(first == (400, 204) and status == 201 and data["trafficAccessToken"], "E2B: resume", (first, status, data))
    host.ask("POST", name + "/pause", {}, token)
    tell(host.ask("DELETE", name, None, token)[0] == 204 and name[11:] not in sessions(), "a paused sandbox is ended")


def ended_while_it_changes(host, token):
    name = create(host, token)[1]["id"]
    path = "/v1/sandboxes/" + name
    if host.ask("POST", path + "/pause", None, token)[0] != 204:
        return host.ask("DELETE", path, None, token)
    host.ask("POST", path + "/resume", None, token)
    keeper = [one["keeperPid"] for one in json.loads(subprocess.run([WARDER, "session", "list", "--json"], capture_output=True, text=True).stdout) if one["name"] == name][0]
    answers = {}
    ask = lambda what, *call: answers.update({what: host.ask(*call, None, token)[0]})
    callers = [threading.Thread(target=ask, args=("pause", "POST", path + "/pause")), threading.Thread(target=ask, args=("end", "DELETE", path))]
    os.kill(keeper, signal.SIGSTOP)
    callers[0].start()
    until(lambda: json.load(open(os.path.join(host.state, "sandboxes", name + ".json"))).get("pausedMs"))
    callers[1].start()
    until(lambda: host.ask("GET", path, None, token)[1].get("state") == "ending")
    try:
        os.kill(keeper, signal.SIGCONT)
    except ProcessLookupError:
        pass  # it was stopped for too long, and ended
    for one in callers:
        one.join()
    # 503: the keeper was stopped for too long.
    tell(answers["end"] == 204 and answers["pause"] in (404, 503), "a pause that a removal has overtaken is not said to hold", answers)


# ---- tenants ----

def tenants(host, token):
    tell(token not in open(os.path.join(host.state, "tenants", "me.json")).read(), "the token is stored nowhere")
    tell("there is a tenant" in host.tenant("add", "me"), "a second tenant of the same name is refused")
    tell("\"x/y\"" in host.tenant("add", "x/y"), "a name that is a path is refused")
    reader = host.tenant("add", "reader", "--scopes", "read")
    tell(host.ask("GET", "/v1/sandboxes", None, reader)[0] == 200 and create(host, reader)[0] == 403 and
         host.ask("POST", "/v1/run", {"argv": ["true"]}, reader)[0] == 403, "a scope that a token lacks is refused")
    before = time.time()
    short = host.tenant("add", "short", "--expires", "1h")
    first = host.ask("GET", "/v1/host", None, short)[0]
    ends = tenant_documents.read(host.state, "short")["expiresMs"] / 1000
    tell(before - 1 <= ends - 3600 <= time.time(), "--expires counts from now", (before, ends))
    tenant_documents.change(host.state, "short", expiresMs=int(time.time() * 1000) - 1)
    tell(first == 200 and until(lambda: host.ask("GET", "/v1/host", None, short)[0] == 401, 5), "a token expires", first)
    gone = host.tenant("add", "gone")
    name = create(host, gone)[1].get("id")
    host.tenant("revoke", "gone")
    tell(host.ask("GET", "/v1/host", None, gone)[0] == 401 and until(lambda: name not in sessions()), "a revoked tenant is refused, and its sandboxes end", name)
    small = host.tenant("add", "small")
    tenant_documents.change(host.state, "small", {"sandboxes": 2, "memoryBytes": 1 << 30, "launchesPerSecond": 100})
    answers = [create(host, small) for _ in range(3)]
    tell([one[0] for one in answers] == [201, 201, 429] and answers[2][2]["Retry-After"].isdigit(), "a tenant's number of sandboxes is limited",
         [str(one[:2])[:200] for one in answers])
    tell(create(host, token)[0] == 201, "and another tenant's is not")
    for owner in (small, token):
        for one in host.ask("GET", "/v1/sandboxes", None, owner)[1]:
            host.ask("DELETE", "/v1/sandboxes/" + one["id"], None, owner)
    tenant_documents.change(host.state, "small", {"memoryBytes": 1 << 20})
    status, data, _ = create(host, small)
    tell(status == 429 and data["field"] == "limits.memory", "a tenant's sum of memory is limited", (status, data))


def another_of_the_name(host):
    """A tenant that was revoked, and another one with its name, between two looks of the launcher."""
    old = host.tenant("add", "twice")
    made = create(host, old, idempotencyKey="k")[1]
    path = "/sandboxes/" + made["id"]
    envs = lambda: host.ask("GET", "/envs", headers={"X-Access-Token": made["accessToken"], "E2b-Sandbox-Id": made["id"], "E2b-Sandbox-Port": "49983"})[0]
    before = envs()
    host.end(signal.SIGKILL)
    host.tenant("revoke", "twice")
    new = host.tenant("add", "twice")
    host.start()
    answers = [host.ask("GET", "/v1" + path, None, new)[0], host.ask("GET", path, None, new)[0], envs()]
    listed = host.ask("GET", "/v1/sandboxes", None, new)[1]
    tell(before == 200 and listed == [] and answers[:2] == [404, 404] and answers[2] in (401, 404, 502), "another tenant with the name of an old one gets none of its sandboxes",
         (before, listed, answers))
    tell(create(host, new, idempotencyKey="k")[1].get("id") != made["id"], "nor by an idempotency key")
    tell(until(lambda: made["id"] not in sessions()), "and they end")
    host.tenant("revoke", "twice")


def wrong_tokens(host, token):
    """Last: the address of the test is locked out for a minute."""
    answers = [host.ask("GET", "/v1/host", None, "e2b_" + "1" * 40)[0] for _ in range(14)]
    tell(429 in answers and 401 in answers and answers[-1] == 429, "ten wrong tokens lock an address out", answers)
    tell(host.ask("GET", "/v1/host", None, token)[0] == 429 and host.ask("GET", "/health")[0] == 204, "for right tokens, too, but not for health")


# ---- processes that die ----

def restarts(host, token):
    name = create(host, token)[1]["id"]
    started = host.ask("POST", "/v1/sandboxes/%s/executions" % name, {"argv": ["sh", "-c", "sleep 3; echo done"]}, token)[1]
    short = create(host, token, timeoutMs=2000)[1]["id"]
    host.end(signal.SIGKILL)
    host.start()
    tell(name in [one["id"] for one in host.ask("GET", "/v1/sandboxes", None, token)[1]], "a launcher that was killed: the next one adopts the sandboxes")
    tell("done" in str(events(host, token, name, started["id"])), "and the output of an execution that ran meanwhile is there")
    tell(until(lambda: short not in sessions()), "and a sandbox whose time is over ends")
    host.end()
    subprocess.run([WARDER, "session", "stop", name], capture_output=True)
    host.start()
    tell(until(lambda: host.ask("GET", "/v1/sandboxes", None, token)[1] == []) and os.listdir(os.path.join(host.state, "sandboxes")) == [],
         "a sandbox that ended while no launcher ran is forgotten")
    name = create(host, token)[1]["id"]
    subprocess.run([WARDER, "session", "stop", name], capture_output=True)
    tell(until(lambda: host.ask("GET", "/v1/sandboxes", None, token)[1] == []), "so is one that ends by itself")
    name = create(host, token)[1]["id"]
    before = front(host)
    os.kill(before, signal.SIGKILL)
    def served():
        try:
            return host.ask("GET", "/v1/sandboxes/" + name, None, token, timeout=3)[0] == 200
        except OSError:
            return False
    tell(until(lambda: front(host) != before) and until(served), "a front that was killed is started again", before)
    host.ask("DELETE", "/v1/sandboxes/" + name, None, token)


def leaving_clients(host, token, other):
    """Programs of clients that are gone end, and those of a tenant do not hold up another."""
    many = []
    for _ in range(60):
        one = socket.create_connection(("127.0.0.1", host.port))
        body = json.dumps({"argv": ["sleep", "600"], "policy": {"version": 1, "limits": {"wallTime": "700s", "memory": "16MiB", "cpus": 0.1}}} if ROOT else
                          {"argv": ["sleep", "600"]})
        one.sendall(("POST /v1/run HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n%s" % (host.port, token, len(body), body)).encode())
        many.append(one)
        time.sleep(0.03)  # launches of a tenant in a second are limited
    used = lambda: host.ask("GET", "/v1/host", None, token)[1]["tenant"]["used"]["memoryBytes"]
    tell(until(lambda: used() > 0), "programs run", used())
    begin = time.time()
    status, made, _ = create(host, other)
    took = time.time() - begin
    tell(status == 201 and took < 3 * SLOW, "long programs of a tenant do not hold up another tenant", (status, took))
    host.ask("DELETE", "/v1/sandboxes/" + made.get("id", "x"), None, other)
    for one in many[:30]:
        one.close()
    for one in many[30:]:
        one.close()
    tell(until(lambda: used() == 0, 30), "programs whose clients are gone end", used())
    def call():
        try:
            host.ask("POST", "/v1/run", {"argv": ["sleep", "600"]}, token)
        except (OSError, http.client.HTTPException):
            pass
    caller = threading.Thread(target=call)
    caller.start()
    until(lambda: used() > 0)
    begin = time.time()
    host.end()
    tell(time.time() - begin < 10 * SLOW, "a host that is told to end ends the programs that run without a sandbox", time.time() - begin)
    caller.join()
    host.start()


def kills(host, token):
    """The launcher is killed while sandboxes are being created and ended."""
    for delay in (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08):
        def call():
            try:
                made = create(host, token)
                if made[0] == 201:
                    host.ask("DELETE", "/v1/sandboxes/" + made[1]["id"], None, token)
            except (OSError, http.client.HTTPException):
                pass
        callers = [threading.Thread(target=call) for _ in range(3)]
        for one in callers:
            one.start()
        time.sleep(delay)
        host.end(signal.SIGKILL)
        for one in callers:
            one.join()
        host.start()
    def same():
        names = sorted(one["id"] for one in host.ask("GET", "/v1/sandboxes", None, token)[1])
        return names == sessions() and [name + ".json" for name in names] == sorted(os.listdir(os.path.join(host.state, "sandboxes")))
    tell(until(same), "a launcher that is killed at any moment: sandboxes, sessions and records agree afterwards",
         (host.ask("GET", "/v1/sandboxes", None, token)[1], sessions(), os.listdir(os.path.join(host.state, "sandboxes"))))
    for one in host.ask("GET", "/v1/sandboxes", None, token)[1]:
        host.ask("DELETE", "/v1/sandboxes/" + one["id"], None, token)


# ---- clients that misbehave ----

def bad_clients(host, token):
    name = create(host, token)[1]["id"]
    path = "/v1/sandboxes/%s/executions" % name
    started = host.ask("POST", path, {"argv": ["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' a; sleep 60"]}, token)[1]
    leaving = []
    for _ in range(20):
        one = socket.create_connection(("127.0.0.1", host.port))
        one.sendall(("GET %s/%s/output HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-API-Key: %s\r\n\r\n" % (path, started["id"], host.port, token)).encode())
        leaving.append(one)
    time.sleep(0.5)
    for one in leaving:
        one.close()
    tell(until(lambda: execute(host, token, name, "echo", "here")[0] == 200), "clients that read nothing and leave do no harm")
    pipe = socket.create_connection(("127.0.0.1", host.port))
    pipe.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % host.port * 50)
    got = b""
    pipe.settimeout(60 * SLOW)
    while got.count(b"HTTP/1.1 204") < 50:
        more = pipe.recv(65536)
        if not more:
            break
        got += more
    tell(got.count(b"HTTP/1.1 204") == 50, "fifty requests at once on one connection are answered", got[:200])
    bad = 0
    for junk in (b"\0" * 100, b"GET\r\n\r\n", b"POST /v1/run HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"\x16\x03\x01" + os.urandom(200),
                 b"GET / HTTP/9.9\r\n\r\n", os.urandom(500) + b"\r\n\r\n") * 20:
        with socket.create_connection(("127.0.0.1", host.port)) as one:
            one.settimeout(30 * SLOW)
            try:
                one.sendall(junk)
                one.shutdown(socket.SHUT_WR)
                bad += b"200 OK" in one.recv(4096)
            except OSError:
                pass
    tell(bad == 0 and host.ask("GET", "/v1/host", None, token)[0] == 200, "120 requests that are none are refused", bad)
    host.ask("DELETE", "/v1/sandboxes/" + name, None, token)


def slow_readers(host, token):
    """One reader never reads and one vanishes: the program, and its other readers, do not notice."""
    name = create(host, token, timeoutMs=120000)[1]["id"]
    path = "/v1/sandboxes/%s/executions" % name
    size = 24 << 20
    script = "sleep 1; head -c %d /dev/zero | tr '\\0' a; echo done" % size
    started = host.ask("POST", path, {"argv": ["sh", "-c", script]}, token)[1]
    request = ("GET %s/%s/output HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-API-Key: %s\r\n\r\n" % (path, started["id"], host.port, token)).encode()
    slow, vanishing = [socket.create_connection(("127.0.0.1", host.port)) for _ in range(2)]
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for one in (slow, vanishing):
        one.sendall(request)
    vanishing.recv(1000)
    vanishing.close()
    begin = time.time()
    found = events(host, token, name, started["id"], timeout=60)
    took = time.time() - begin
    def covered(found, at=0):
        """The offset up to which output and gaps follow one another."""
        for kind, _, data in found:
            if kind in ("output", "gap") and data["stream"] == "stdout":
                if data["offset" if kind == "output" else "from"] != at:
                    return "a hole at %d" % at
                at = at + len(data["text"]) if kind == "output" else data["to"]
        return at
    tell(found and found[-1][0] == "end" and covered(found) == size + 5, "a reader gets all output, or gaps that say how much is missing",
         (covered(found), str(found[-1:])[:300]))
    tell(took < 20 * SLOW, "a program waits for slow readers for some seconds at most (%.1f s)" % took, took)
    status, result, _ = host.ask("GET", path + "/" + started["id"] + "?wait=1", None, token)
    tell(result.get("cause") == "exit" and result.get("exitCode") == 0, "and they do not end it", (status, str(result)[:300]))
    slow.settimeout(30 * SLOW)
    data = b""
    while b"event: " not in data[200:]:
        data += slow.recv(65536)
    at = int(data.split(b"\nid: ")[1].split(b",")[0])
    slow.close()
    rest = events(host, token, name, started["id"], "?stdout=%d" % at)
    tell(at > 0 and covered(rest, at) == size + 5, "a slow reader goes on at its offset", (at, covered(rest, at)))
    host.ask("DELETE", "/v1/sandboxes/" + name, None, token)


# ---- a front that an attacker has taken over ----

HOSTILE = r'''#!/usr/bin/python3
"""Replaces warder-front. It sends to the launcher what it likes, and prints what came back."""
import array, fcntl, json, os, socket, struct, sys

link = socket.socket(fileno=4)
welcome, ancillary, _, _ = link.recvmsg(4096, 64)
listener = socket.socket(fileno=array.array("i", ancillary[0][2])[0])
magic = struct.unpack("I", welcome[:4])[0]
HEAD = "=IIIIQQQ65s32s"
SIZE = (struct.calcsize(HEAD) + 7) // 8 * 8


def request(call, key=b"", kind=0, sandbox=b"", number=1, size=SIZE, bytes_=0, value=0):
    return struct.pack(HEAD, magic, size, call, kind, number, value, bytes_, key, sandbox).ljust(SIZE, b"\0")


def ask(message, fds=()):
    link.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
    link.settimeout(60)
    data, ancillary, _, _ = link.recvmsg(4096, 64)
    return struct.unpack("=IIII", data[:16])[2] if data else "closed"


def say(*words):
    print("hostile:", *words, file=sys.stderr, flush=True)


step = open("/dev/null")
ask_ready = link.send(request(1))
say("list without a key", ask(request(6)))
say("list with a guess", ask(request(6, b"0" * 64, 1)))
say("show a sandbox without a key", ask(request(7, b"", 0, b"SANDBOX")))
say("remove with the key of a sandbox", ask(request(8, b"f" * 64, 2, b"SANDBOX")))
say("open with a guess", ask(request(10, b"f" * 64, 3, b"SANDBOX")))
say("open by the name alone", ask(request(10, b"", 6, b"SANDBOX")))
say("show by the name alone", ask(request(7, b"", 6, b"SANDBOX")))
say("a port by the name alone", ask(request(10, b"", 6, b"SANDBOX", value=3000)))
say("create with a file that is no memory file", ask(request(5, b"0" * 64, 1, bytes_=10), [step.fileno()]))
say("create without the file", ask(request(5, b"0" * 64, 1, bytes_=10)))
def text(call, document, key=b"KEY"):
    """A request in the name of a tenant whose token this front has seen."""
    bytes_ = document.encode()
    fd = os.memfd_create("text", 2)
    os.write(fd, bytes_)
    fcntl.fcntl(fd, 1033, 15)
    answer = ask(request(call, key, 1, bytes_=len(bytes_)), [fd])
    os.close(fd)
    return answer


say("list with the key of its tenant", ask(request(6, b"KEY", 1)))
say("show the tenant's sandbox", ask(request(7, b"KEY", 1, b"SANDBOX")))
say("show another tenant's sandbox", ask(request(7, b"KEY", 1, b"FOREIGN")))
say("remove another tenant's sandbox", ask(request(8, b"KEY", 1, b"FOREIGN")))
say("open another tenant's sandbox", ask(request(10, b"KEY", 1, b"FOREIGN")))
say("pause another tenant's sandbox", ask(request(12, b"KEY", 1, b"FOREIGN")))
say("open with the tenant's key as that of a sandbox", ask(request(10, b"KEY", 2, b"FOREIGN")))
for which, kind in ((b"ACCESS", 2), (b"TRAFFIC", 3)):
    for what, call, bytes_, value in (("shows", 7, 0, 0), ("sets the end", 9, 0, 60), ("pauses", 12, 0, 0), ("resumes", 13, 0, 0), ("stores", 22, 0, 0),
                                      ("replaces the rules", 21, 0, 0), ("removes", 8, 0, 0)):
        say("a token of kind %d %s" % (kind, what), ask(request(call, which, kind, b"SANDBOX", value=value)))
    say("a token of kind %d opens" % kind, ask(request(10, which, kind, b"SANDBOX")))
say("a port with the key of a sandbox", ask(request(10, b"ACCESS", 2, b"SANDBOX", value=3000)))
say("a port that is not published", ask(request(10, b"KEY", 1, b"SANDBOX", value=3000)))
limits = '"limits": {"wallTime": "5s", "memory": "64MiB"}'
say("create beyond the ceiling", text(5, '{"policy": {"version": 1, "limits": {"wallTime": "5s", "memory": "9GiB"}}}'))
say("create with a path of the host", text(5, '{"policy": {"version": 1, "filesystem": {"paths": {"readOnly": ["/root"]}}, %s}}' % limits))
say("run on the host's network", text(11, '{"argv": ["true"], "policy": {"version": 1, "network": {"mode": "host"}, %s}}' % limits))
say("create from a template that is a path", text(5, '{"template": "../../etc/passwd"}'))
say("create without JSON", text(5, "{" * 1000))
say("signature of nothing", ask(request(10, b"KEY", 4, b"FOREIGN")))
def open_keeper():
    """What a front gets for a client of the sandbox: its description, and a connection to its keeper."""
    link.send(request(10, b"KEY", 1, b"SANDBOX"))
    fds = array.array("i")
    data, ancillary, _, _ = link.recvmsg(4096, socket.CMSG_SPACE(2 * fds.itemsize))
    fds.frombytes(ancillary[0][2])
    keeper = socket.socket(fileno=fds[1])
    keeper.settimeout(60)
    with open(fds[0], "rb") as file:
        file.seek(0)
        return json.load(file), keeper


def record(type_, body=b"", flags=0, id_=b"", version=3, length=None):
    return struct.pack("=IHHII24s", 0x58455257, version, type_, flags, len(body) if length is None else length, id_) + body


def tell_keeper(message, fds=()):
    """0: it did so, else the kind of the error; "closed": it hung up."""
    try:
        keeper.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
        data = keeper.recv(65536)
    except OSError:
        return "closed"
    return struct.unpack("=II", data[40:48])[1] and struct.unpack("=I", data[72:76])[0] if data else "closed"


START = "=IIIIQQQHHI40s"


def start(policy, argc=1, words=b"true\0", more=0, flags=0):
    text = json.dumps(policy).encode() + b"\0" + words
    fd = os.memfd_create("words", 2)
    os.write(fd, text)
    fcntl.fcntl(fd, 1033, 15)
    answer = tell_keeper(record(2, struct.pack(START, 0, argc, 0, 0, len(text) + more, 0, 0, 0, 0, 0, b""), flags), [fd])
    os.close(fd)
    return answer


sandbox, keeper = open_keeper()


def be_peer(what, *fds, call=6, sandbox=b""):
    say("peer: " + what, ask(request(call, b"", 5, sandbox), fds))


def bound(one):
    """The same with the path of the host's socket, in the files of this jail."""
    if os.path.lexists("HOSTPATH"):
        os.unlink("HOSTPATH")
    os.makedirs(os.path.dirname("HOSTPATH"), exist_ok=True)
    one.bind("HOSTPATH")
    return one.fileno()


be_peer("nothing")
be_peer("a file", step.fileno())
be_peer("the listening socket", listener.fileno())
be_peer("the link", link.fileno())
be_peer("the connection of a keeper", keeper.fileno())
pair = socket.socketpair()
be_peer("a pair", pair[0].fileno())
be_peer("a pair with the path", bound(pair[0]))
own = socket.socket(socket.AF_UNIX)
bound(own)
own.listen()
client = socket.socket(socket.AF_UNIX)
client.connect("HOSTPATH")
own_accepted, network = own.accept()[0], socket.socket()
be_peer("a connection of its own", own_accepted.fileno())
be_peer("a network socket", network.fileno())
say("waits")
listener.setblocking(True)
accepted = listener.accept()[0]
be_peer("a client", accepted.fileno())
be_peer("a client, and another tenant's sandbox", accepted.fileno(), call=7, sandbox=b"FOREIGN")
be_peer("a client, in the place of a second descriptor", step.fileno(), accepted.fileno())
say("peer: a key with a client", ask(request(6, b"0" * 64, 1), [accepted.fileno()]))
accepted.send(b"x")
while accepted.recv(100):
    pass
be_peer("a client that has left", accepted.fileno())
policy = sandbox["policy"]
say("keeper: a program", start(policy))
say("keeper: more memory", start(dict(policy, limits=dict(policy["limits"], memory="9GiB"))))
say("keeper: the host's network", start(dict(policy, network={"mode": "host"})))
say("keeper: a path of the host", start(dict(policy, filesystem=dict(policy["filesystem"], paths={"readWrite": ["/root"]}))))
say("keeper: calls that are filtered", start(dict(policy, syscalls={"profile": "compat"})))
say("keeper: no policy", start(5))
say("keeper: fewer words than it says", start(policy, argc=60000))
say("keeper: words beyond the file", start(policy, more=4096))
say("keeper: a file that can change", tell_keeper(record(2, struct.pack(START, 0, 1, 0, 0, 10, 0, 0, 0, 0, 0, b"")), [step.fileno()]))
say("keeper: an execution that is not there", tell_keeper(record(3, b"\0" * 16, 0, b"f" * 16)))
say("keeper: a record that only a keeper sends", tell_keeper(record(14, b"\0" * 544, 0, b"f" * 16)))
say("keeper: to live for ever", tell_keeper(record(16, struct.pack("=Q", 2**63))))
say("keeper: a program once more", start(policy))
for what, message in (("of no type", record(200)), ("of another version", record(9, version=7)), ("with a wrong length", record(9, length=9)),
                      ("of nothing", b"\0"), ("to join", struct.pack("=III", 1, 2, 3) + b"\0" * 60)):
    say("keeper: a message " + what, tell_keeper(message))
    sandbox, keeper = open_keeper()
say("files", os.path.exists("/run/warder"), os.path.exists("STATE"), "uid", os.getuid())
for path in ("/proc/1/root/etc/shadow", "/etc/shadow"):
    try:
        open(path).read()
        say("read", path)
    except OSError:
        pass
try:
    socket.create_connection(("127.0.0.1", 1), 2)
except OSError as error:
    say("connect", error.errno)
say("done")
link.send(b"x" * 7)
link.settimeout(60)
say("after nonsense", link.recv(100))
'''


KINDS = {"3": "INVALID", "7": "REJECTED", "8": "MISSING"}  # enum warder_error_kind


def hostile(token):
    place = os.path.join(work, "bin")
    os.mkdir(place)
    for name in os.listdir(os.path.dirname(WARDER)):
        if name == "warder" or name.startswith("warder-") and not name.endswith((".a", ".o")):
            shutil.copy(os.path.join(os.path.dirname(WARDER), name), place)
    honest = Host("hostile", warder=os.path.join(place, "warder"))
    owner = honest.tenant("add", "owner")
    made = create(honest, owner)[1]
    name = made["id"]
    digest = lambda key: hashlib.sha256(key.encode()).hexdigest()
    foreign = create(honest, honest.tenant("add", "victim"))[1]["id"]
    named = os.geteuid() != int(open("/proc/sys/kernel/overflowuid").read())  # the user of this suite
    if named:
        honest.tenant("add", "operator", "--uid", str(os.geteuid()))
    honest.end()
    at = os.path.join(work, "hostile-socket")
    with open(os.path.join(place, "warder-front"), "w") as file:
        file.write(HOSTILE.replace("SANDBOX", name).replace("FOREIGN", foreign).replace("ACCESS", digest(made["accessToken"]))
                   .replace("TRAFFIC", digest(made["trafficToken"])).replace("KEY", digest(owner)).replace("STATE", honest.state).replace("HOSTPATH", at))
    os.chmod(os.path.join(place, "warder-front"), 0o755)
    log = open(os.path.join(work, "hostile-log"), "w+")
    honest.process = subprocess.Popen([os.path.join(place, "warder"), "serve", "--listen", "unix:" + at, "--state", honest.state], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    said = lambda: open(os.path.join(work, "hostile-log")).read()
    tell(until(lambda: "hostile: waits" in said(), 20), "the hostile front takes clients", said())
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60 * SLOW)
        client.connect(at)
        tell(select.select([client], [], [], 60 * SLOW)[0] and client.recv(1) == b"x", "and has done so", said())
    tell(until(lambda: "hostile: done" in said(), 20), "the hostile front ran", said())
    lines = dict(line[len("hostile: "):].rsplit(" ", 1) for line in said().splitlines() if line.startswith("hostile: ") and " " in line[9:])
    for what in ("list without a key", "list with a guess", "remove with the key of a sandbox", "open with a guess", "open by the name alone", "show by the name alone",
                 "a port by the name alone"):
        tell(lines.get(what) == "401", "a hostile front: %s is refused" % what, said())
    tell(lines.get("show a sandbox without a key") in ("401", "404"), "a hostile front shows no sandbox", said())
    tell(lines.get("create with a file that is no memory file") == "400" and lines.get("create without the file") == "400",
         "a hostile front: only sealed memory files are read", said())
    for kind in (2, 3):
        answers = [lines.get("a token of kind %d %s" % (kind, what)) for what in ("shows", "sets the end", "pauses", "resumes", "stores", "replaces the rules", "removes", "opens")]
        tell(answers == ["401"] * 7 + ["200"], "a front that has seen a token of kind %d of a sandbox opens it, and does nothing else to it" % kind, answers)
    for what, wanted in (("list with the key of its tenant", "200"), ("show the tenant's sandbox", "200"), ("show another tenant's sandbox", "404"),
                         ("remove another tenant's sandbox", "404"), ("open another tenant's sandbox", "404"), ("pause another tenant's sandbox", "404"),
                         ("open with the tenant's key as that of a sandbox", "401"), ("create beyond the ceiling", "403"), ("create with a path of the host", "403"),
                         ("run on the host's network", "403"), ("create from a template that is a path", "404"), ("create without JSON", "400"),
                         ("signature of nothing", "401"), ("a port with the key of a sandbox", "403"), ("a port that is not published", "403")):
        tell(lines.get(what) == wanted, "a front that has seen one tenant's token: %s is answered with %s" % (what, wanted), lines.get(what))
    for what in ("nothing", "a file", "the listening socket", "the link", "the connection of a keeper", "a pair", "a pair with the path", "a connection of its own",
                 "a network socket", "a client, in the place of a second descriptor", "a key with a client", "a client that has left"):
        tell(lines.get("peer: " + what) == "401", "a hostile front: %s makes it no user of this host" % what, lines.get("peer: " + what))
    tell(lines.get("peer: a client") == ("200" if named else "401"), "a front that has a client's connection may act for this client", lines.get("peer: a client"))
    tell(lines.get("peer: a client, and another tenant's sandbox") == ("404" if named else "401"), "and for no other one", lines)
    for what, wanted in (("a program", ("0",)), ("a program once more", ("0",)), ("more memory", ("REJECTED",)), ("the host's network", ("INVALID",)),
                         ("a path of the host", ("INVALID",)), ("calls that are filtered", ("REJECTED",)), ("no policy", ("INVALID",)),
                         ("fewer words than it says", ("INVALID",)), ("words beyond the file", ("INVALID",)), ("a file that can change", ("INVALID",)),
                         ("an execution that is not there", ("MISSING",)), ("a record that only a keeper sends", ("MISSING", "INVALID")),
                         ("to live for ever", ("INVALID",)), ("a message of no type", ("closed",)), ("a message of another version", ("closed",)),
                         ("a message with a wrong length", ("closed",)), ("a message of nothing", ("closed",)), ("a message to join", ("closed",))):
        tell(KINDS.get(lines.get("keeper: " + what), lines.get("keeper: " + what)) in wanted,
             "a front that has a sandbox's keeper: %s is answered with %s" % (what, " or ".join(wanted)), lines.get("keeper: " + what))
    tell("files False False" in said() and "hostile: read" not in said(), "a hostile front sees neither the sessions nor the state", said())
    tell("connect" in lines, "a hostile front reaches nothing over the network", said())
    tell(until(lambda: "not valid; it is ended" in said(), 20), "a front that sends nonsense is ended", said())
    tell(honest.process.poll() is None, "and the launcher lives on")
    honest.end()
    tell(name in sessions() and foreign in sessions(), "the sandboxes of both tenants live on")
    for one in (name, foreign):
        subprocess.run([WARDER, "session", "stop", one], capture_output=True)


def flags():
    def refused(*words):
        done = subprocess.run([WARDER, "serve"] + list(words), capture_output=True, text=True)
        return done.returncode == 125 and done.stderr
    state = os.path.join(work, "flags")
    for words, text in ((("--listen", "0.0.0.0:0", "--state", state), "--insecure-http"), (("--listen", "localhost:1", "--state", state), "numeric"),
                        (("--listen", "127.0.0.1", "--state", state), "port"), (("--listen", "127.0.0.1:70000", "--state", state), "port"),
                        (("--check", "--local"), "--check"), (("--listen", "127.0.0.1:0", "--local"), "--listen"), ((), "--listen")):
        tell(text in (refused(*words) or ""), "serve refuses: " + " ".join(w for w in words if w != state), refused(*words))
    path = os.path.join(work, "settings")
    for text, word in (('{"version": 2}', "version"), ('{"version": 1, "nope": 1}', "nope"), ('{"version": 1, "templates": {"a": {"version": 1}}}', "wallTime"),
                       ('{"version": 1, "hosts": ["a/b"]}', "hosts")):
        with open(path, "w") as file:
            file.write(text)
        tell(word in (refused("--listen", "127.0.0.1:0", "--state", state, "--config", path, "--check") or ""), "settings are refused: " + text)
    with open(path, "w") as file:
        file.write('{"version": 1, "hosts": ["box.test"]}')
    done = subprocess.run([WARDER, "serve", "--listen", "127.0.0.1:0", "--state", state, "--config", path, "--check"], capture_output=True)
    tell(done.returncode == 0, "good settings pass --check", done.stderr)


def main():
    own_run_directory()
    host = Host("state")
    second = lambda: subprocess.run([WARDER, "serve", "--listen", "127.0.0.1:0", "--state", host.state], capture_output=True, text=True)
    tell("another" in second().stderr, "a second host with the same state directory is refused")
    token = host.tenant("add", "me")
    other = host.tenant("add", "other")
    tell(len(token) == 44 and token.startswith("e2b_"), "a token has the form that E2B's clients expect", token)
    surface(host, token)
    description(host, token)
    run(host, token)
    sandboxes(host, token, other)
    e2b(host, token)
    repeats(host, token, other)
    pauses(host, token, other)
    ended_while_it_changes(host, token)
    host.end()
    host.start()  # wrong tokens count for a minute
    tenants(host, token)
    another_of_the_name(host)
    restarts(host, token)
    bad_clients(host, token)
    slow_readers(host, token)
    leaving_clients(host, token, other)
    kills(host, token)
    hostile(token)
    flags()
    wrong_tokens(host, token)
    host.end()
    host.clear()
    tell(sessions() == [], "nothing is left of any sandbox", sessions())
    finish()


main()
