#!/usr/bin/env python3
"""mcp.py: the Model Context Protocol of a host, at /mcp, by hand, as TAP. tests/sdk/mcp.cjs has the official client."""
import json, os, signal, subprocess, threading, time

from lib import SLOW, Host, ask_at_once, front, run_parts, skip, status_of, tell, until, words


def message(method, number=None, **params):
    return json.dumps(dict({"jsonrpc": "2.0", "method": method, "params": params}, **({} if number is None else {"id": number}))).encode()


def tool(number, name, **arguments):
    return message("tools/call", number, name=name, arguments=arguments)


def post(host, token, session, body, version="2025-06-18", more=""):
    head = ("Mcp-Session-Id: %s\r\n" % session if session else "") + ("MCP-Protocol-Version: %s\r\n" % version if version else "")
    return host.ask("POST", "/mcp", token, body, head + more)


def begin(host, token, query=""):
    """The id of a new session."""
    status, data, headers = host.ask("POST", "/mcp" + query, token, message("initialize", 1, protocolVersion="2025-06-18"))
    tell(status == 200 and data["result"]["protocolVersion"] == "2025-06-18" and headers["Mcp-Session-Id"], "initialize begins a session", (status, data))
    return headers["Mcp-Session-Id"]


def states(host, token, session):
    return [one["state"] for one in host.ask("GET", "/v1/sandboxes/%s/executions" % session, token)[1]]


def sessions():
    host = Host("sessions")
    token = host.tenant("me")
    session = begin(host, token)
    status, data, _ = post(host, token, session, message("notifications/initialized"))
    tell((status, data) == (202, b""), "a notification has no answer", (status, data))
    tell([one["id"] for one in host.ask("GET", "/v1/sandboxes", token)[1]] == [session], "a session is a sandbox of the tenant")
    status, data, _ = post(host, token, session, tool(2, "run_command", command="yes | head -c 60000; echo kept > a"))
    text = data["result"]["content"][0]["text"]
    tell(status == 200 and len(text) <= 25000 and ".stdout: read_file" in text, "a long result is cut, and names the file with all of it", text[-300:])
    status, data, _ = post(host, token, session, tool(3, "read_file", path="a").replace(b", ", b",\r\n"))
    tell(status == 200 and "\nkept\n" in data["result"]["content"][0]["text"], "files stay, and a message may have several lines", data)
    batch = b"[" + tool(4, "read_file", path="a") + b"," + message("ping", 5) + b"]"
    status, data, _ = post(host, token, session, batch, version=None)
    tell(status == 200 and [one["id"] for one in data] == [4, 5], "without a version, it is 2025-03-26, which has batches", data)
    status, data, _ = post(host, token, session, batch)
    tell(status == 200 and data["error"]["code"] == -32600, "2025-06-18 has none", data)
    path = "/v1/sandboxes/%s" % session
    if host.ask("POST", path + "/pause", token)[0] == 503:
        skip("a session that is paused is not used", "this host cannot freeze")
    else:
        status, data, _ = post(host, token, session, message("ping", 6))
        tell(status == 409 and "resume" in data["message"], "a session that is paused is not used", data)
    host.ask("POST", path + "/resume", token, {})
    status, data, _ = host.ask("DELETE", "/mcp", token, b"", "Mcp-Session-Id: %s\r\n" % session)
    tell(status == 204 and until(lambda: host.ask("GET", "/v1/sandboxes", token)[1] == []), "DELETE ends the session and its sandbox", (status, data))
    tell(post(host, token, session, message("ping", 7))[0] == 404, "then it is not found, so that the client begins another one")
    session = begin(host, token, "?timeoutMs=%d" % (1000 * SLOW))
    tell(until(lambda: post(host, token, session, message("ping", 8))[0] == 404), "a session ends when its time is over")
    host.end()


def refusals():
    host = Host("refusals")
    token, other = host.tenant("me"), host.tenant("other")
    reader = host.tenant("reader", ["--scopes", "read"])
    session = begin(host, token)
    ping = message("ping", 2)
    for name, want, word, got in (
            ("no token", 401, "token", post(host, "", session, ping)),
            ("a wrong token", 401, "token", post(host, "e2b_" + "0" * 40, session, ping)),
            ("a notification with a wrong token", 401, "token", post(host, "e2b_" + "0" * 40, session, message("notifications/initialized"))),
            ("a token without the scope", 403, "scope", post(host, reader, "", message("initialize", 1))),
            ("a message with a token without the scope", 403, "scope", post(host, reader, session, ping)),
            ("the session of another tenant", 404, "sandbox", post(host, other, session, ping)),
            ("a page of another origin", 403, "origins", post(host, token, session, ping, more="Origin: http://evil.test\r\n")),
            ("no session", 400, "Mcp-Session-Id", post(host, token, "", ping)),
            ("the end of another tenant's session", 404, "sandbox", host.ask("DELETE", "/mcp", other, b"", "Mcp-Session-Id: %s\r\n" % session)),
            ("the end of a session in an unknown version", 400, "MCP-Protocol-Version",
             host.ask("DELETE", "/mcp", token, b"", "Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 2024-11-05\r\n" % session)),
            ("an unknown version", 400, "MCP-Protocol-Version", post(host, token, session, ping, version="2024-11-05")),
            ("a message above 1 MiB", 413, "longer", post(host, token, session, tool(3, "write_file", path="a", content="x" * (1 << 20)))),
            ("a template that is not there", 404, "template", host.ask("POST", "/mcp?template=none", token, message("initialize", 1))),
            ("a lifetime that is no number", 400, "timeoutMs", host.ask("POST", "/mcp?timeoutMs=1h", token, message("initialize", 1))),
            ("a lifetime above 24 hours", 400, "timeoutMs", host.ask("POST", "/mcp?timeoutMs=86400001", token, message("initialize", 1))),
            ("GET", 405, "method", host.ask("GET", "/mcp", token, more="Accept: text/event-stream\r\n"))):
        tell(got[0] == want and word in got[1]["message"], "%s is refused with %d" % (name, want), got[:2])
    status, data, _ = post(host, token, session, b'{"jsonrpc": "2.0", "id": 1')
    tell(status == 400 and data["error"]["code"] == -32700, "a message that is no JSON is an error of the protocol", (status, data))
    for name, arguments in (("run_command", {"command": "true", "policy": {}}), ("run_code", {"language": "python", "code": "", "env": {}})):
        data = post(host, token, session, tool(4, name, **arguments))[1]
        tell(data["result"]["isError"] and "invalid_arguments" in data["result"]["content"][0]["text"], "no tool takes a policy or variables: " + name, data)
    slow = []
    def refused():  # unless the sandbox began in an earlier second
        slow.append(host.tenant("slow%d" % len(slow), launchesPerSecond=1))
        status, data, headers = host.ask("POST", "/mcp", slow[-1], message("initialize", 1))
        return status == 429 and data["field"] == "launchesPerSecond" and "Mcp-Session-Id" not in headers
    tell(until(refused), "a message counts as a launch of the tenant")
    tell(host.ask("GET", "/v1/sandboxes", slow[-1])[1] == [], "a session that does not begin leaves no sandbox")
    host.end()


def ends():
    """Calls whose client waits no longer."""
    host = Host("ends")
    token, other = host.tenant("me"), host.tenant("other")
    session, second, others = begin(host, token), begin(host, token), begin(host, other)
    answers = []
    def call(number, command):
        caller = threading.Thread(target=lambda: answers.append(post(host, token, session, tool(number, "run_command", command=command))))
        caller.start()
        tell(until(lambda: "running" in states(host, token, session)), "a call runs")
        return caller
    def cancel(who, where, number):
        return post(host, who, where, message("notifications/cancelled", requestId=number))[0]
    long = []
    sleeper = threading.Thread(target=lambda: long.append(post(host, token, second, tool(1, "run_command", command="sleep 11; echo slept"))))
    sleeper.start()
    caller = call(2, "until [ -e go ]; do sleep 0.1; done")
    got = cancel(other, session, 2), cancel(other, others, 2), cancel(token, second, 2), cancel(token, session, 9)
    post(host, token, session, tool(3, "write_file", path="go", content=""))
    caller.join()
    tell(got == (404, 202, 202, 202) and answers[0][0] == 200 and "Exit code 0" in answers[0][1]["result"]["content"][0]["text"],
         "another tenant, another session and another id do not cancel it", (got, answers))
    answers = []
    caller = call(2, "exec sleep 1000")
    tell(cancel(token, session, 2) == 202 and until(lambda: "running" not in states(host, token, session)), "its client can: then the program ends", states(host, token, session))
    caller.join()
    tell([one[:2] for one in answers] == [(202, b"")], "and the call has no answer", answers)
    with host.connect() as one:
        one.sendall(host.request("POST", "/mcp", token, tool(3, "run_command", command="exec sleep 1000"), "Mcp-Session-Id: %s\r\n" % session))
        tell(until(lambda: "running" in states(host, token, session)), "another call runs")
    tell(until(lambda: "running" not in states(host, token, session)), "its program ends when the client hangs up", states(host, token, session))
    tell(post(host, token, session, message("ping", 4))[1]["result"] == {}, "and the session goes on")
    young = host.tenant("young")
    def has(state):
        return [one for one in host.ask("GET", "/v1/sandboxes", young)[1] if one["state"] == state]
    with host.connect() as one:
        one.sendall(host.request("POST", "/mcp", young, message("initialize", 1, protocolVersion="2025-06-18")))
        tell(until(lambda: has("running")), "the sandbox of a session runs")
    tell(until(lambda: not has("running"), 100), "it ends soon if the client has hung up", has("running"))
    tell(post(host, token, session, message("ping", 5))[1]["result"] == {}, "that of a client which has sent a message goes on")
    sleeper.join()
    tell(long[0][0] == 200 and "\nslept\n" in long[0][1]["result"]["content"][0]["text"], "a call has the time that the policy grants", long)
    host.end()


def limit_descriptors(pid, count):
    """The soft limit of a process, as its own user: root may not be able to."""
    ids = [line.split()[1] for line in open("/proc/%d/status" % pid) if line.startswith(("Uid:", "Gid:"))]
    own = ["setpriv", "--reuid", ids[0], "--regid", ids[1], "--clear-groups"] if os.geteuid() == 0 else []
    subprocess.run([*own, "prlimit", "--pid", str(pid), "--nofile=%d:" % count], check=True)


def leave_one_descriptor(pid):
    """The process can open one more, which the next answer of the launcher takes."""
    used = set(map(int, os.listdir("/proc/%d/fd" % pid)))
    free = [number for number in range(max(used) + 3) if number not in used]
    limit_descriptors(pid, free[1])


def batches():
    """Calls of a batch, cancelled one by one."""
    host = Host("batches")
    token = host.tenant("me", launchesPerSecond=1000)
    session = begin(host, token)
    answers = []
    def send(*messages):
        answers.clear()
        body = b"[" + b",".join(messages) + b"]"
        sender = threading.Thread(target=lambda: answers.append(post(host, token, session, body, version=None)))
        sender.start()
        return sender
    def cancel(number, version=None):
        return post(host, token, session, message("notifications/cancelled", requestId=number), version)[0]
    def run(number, command):
        return tool(number, "run_command", command=command)
    def text(name):
        return post(host, token, session, tool(90, "read_file", path=name))[1]["result"]["content"][0]["text"]
    sender = send(run(1, "echo one > one"), run(2, "touch two; exec sleep 1000"), run(3, "echo three > three"), run(4, "echo four > four"), message("ping", 5))
    tell(until(lambda: "two" in post(host, token, session, tool(91, "list_files", path="."))[1]["result"]["content"][0]["text"]), "the second call of a batch runs")
    got = cancel(9), cancel(1), cancel(4), cancel(2)
    sender.join()
    tell(got == (202,) * 4 and answers[0][0] == 200 and [one["id"] for one in answers[0][1]] == [1, 3, 5],
         "a call that runs and one that waits are cancelled, and have no answer", (got, answers))
    tell(until(lambda: "running" not in states(host, token, session)), "the program of the call ends", states(host, token, session))
    tell("\none\n" in text("one") and "\nthree\n" in text("three") and "not_found" in text("four"), "the others are served, and the cancelled one is not")
    sender = send(run(1, "exec sleep 1000"), message("notifications/initialized"))
    tell(until(lambda: "running" in states(host, token, session)), "the only call of a batch runs")
    tell(cancel(1) == 202, "it is cancelled")
    sender.join()
    tell([one[:2] for one in answers] == [(202, b"")], "then the batch has no answer", answers)
    tell(until(lambda: "running" not in states(host, token, session)), "its program ends", states(host, token, session))
    sender = send(message("notifications/cancelled", requestId=2), b"[]", b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', message("ping", 2), message("ping", 3))
    sender.join()
    tell(answers[0][0] == 200 and [(one["id"], one.get("error", {}).get("code")) for one in answers[0][1]] == [(None, -32600), (1, -32600), (3, None)],
         "a batch may cancel its own calls, and what is no message is an error", answers)
    sender = send(run(1, "exec sleep 1000"))
    tell(until(lambda: "running" in states(host, token, session)), "a call of another batch runs")
    other = post(host, host.tenant("other"), session, b"[" + message("notifications/cancelled", requestId=1) + b"]", version=None)
    tell(other[0] == 404 and "running" in states(host, token, session), "another tenant does not cancel it", other)
    inside = post(host, token, session, b"[" + message("notifications/cancelled", requestId=1) + b"]", version=None)
    sender.join()
    tell(inside[:2] == (202, b"") and answers[0][0] == 202, "a cancellation in another batch does", (inside, answers))
    tell(until(lambda: "running" not in states(host, token, session)), "its program ends", states(host, token, session))
    sender = send(run(1, "exec sleep %d.5" % (10 ** 6 + os.getpid())), run(2, "echo two"))
    find = lambda: [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if words(pid)[:2] == ["sleep", "%d.5" % (10 ** 6 + os.getpid())]]
    tell(until(find), "the first call of a batch runs")
    leave_one_descriptor(front(host))
    os.kill(find()[0], signal.SIGKILL)
    sender.join()
    limit_descriptors(front(host), 4096)
    tell(answers[0][0] == 200 and [(one["id"], one.get("error", {}).get("message")) for one in answers[0][1]] == [(1, None), (2, "the host is busy; try again")],
         "if a later call cannot be passed on, the batch has its error, and the answer of the first one", answers)
    with host.connect() as one:
        body = b"[" + run(1, "exec sleep 1000") + b"," + run(2, "touch late; exec sleep 1000") + b"]"
        one.sendall(host.request("POST", "/mcp", token, body, "Mcp-Session-Id: %s\r\n" % session))
        tell(until(lambda: "running" in states(host, token, session)), "a call of a batch runs whose client hangs up")
    ended = until(lambda: "running" not in states(host, token, session))
    rest = until(lambda: "running" in states(host, token, session), 2)
    tell(ended and not rest and "not_found" in text("late"), "it ends, and the rest of the batch is not served", (ended, rest))
    host.end()


def waits():
    """A call that is cancelled while it waits for programs of its tenant."""
    host = Host("waits", connectionsPerTenant=200)
    token = host.tenant("me", launchesPerSecond=1000, memoryBytes=1 << 40, cpuMilli=10**7)
    session = begin(host, token)
    busy, answers = [], []
    for _ in range(48):
        one = host.connect()
        one.sendall(host.request("POST", "/v1/run", token, json.dumps({"argv": ["sleep", "1000"]}).encode()))
        busy.append(one)
    tell(until(lambda: host.ask("GET", "/v1/host", token)[1]["tenant"]["used"]["memoryBytes"] == 49 * (512 << 20)), "48 programs of the tenant run")
    caller = threading.Thread(target=lambda: answers.append(post(host, token, session, tool(2, "write_file", path="late", content=""))))
    caller.start()
    cancelled = message("notifications/cancelled", requestId=2)
    until(lambda: post(host, token, session, cancelled)[0] == 202 and answers)
    for one in busy if not answers else ():  # so that the call ends
        one.close()
    caller.join()
    tell([one[:2] for one in answers] == [(202, b"")], "a call that waits is cancelled", answers)
    for one in busy:
        one.close()
    text = post(host, token, session, tool(3, "read_file", path="late"))[1]["result"]["content"][0]["text"]
    tell("not_found" in text, "it does nothing later", text)
    host.end()


def long_messages():
    """What a batch keeps while its calls run is limited, of all batches together and of those of a tenant."""
    host = Host("long")
    token, other = host.tenant("me", launchesPerSecond=1000), host.tenant("other")
    session, others, pid = begin(host, token), begin(host, other), front(host)
    status, data, _ = host.ask("POST", "/mcp", token, message("initialize", 1, protocolVersion="2025-06-18", pad="x" * 70000))
    tell(status == 413 and "65536" in data["message"], "an initialize of 70,000 bytes is refused", (status, data))
    answers = []
    def pad(values):
        return json.dumps({"jsonrpc": "2.0", "method": "notifications/pad", "params": {"a": [0] * values}}, separators=(",", ":")).encode()
    def send(values, number):
        answers.append(post(host, token, session, b"[" + tool(number, "run_command", command="sleep 2") + b"," + pad(values) + b"]", version=None))
    def at_once(values):
        answers.clear()
        senders = [threading.Thread(target=send, args=(values, number)) for number in range(12)]
        for one in senders:
            one.start()
        for one in senders:
            one.join()
        return sorted({one[0] for one in answers})
    tell(at_once(95000) == [413], "batches of 95,000 values are refused", [one[:2] for one in answers])
    tell(at_once(10000) == [200, 503], "of 12 batches of 10,000 values, some are served, and the others asked to come again", [one[:2] for one in answers])
    tell(all(one[0] == 200 or one[2]["Retry-After"] == "1" for one in answers), "soon", answers)
    sender = threading.Thread(target=at_once, args=(10000,))
    sender.start()
    tell(until(lambda: any(one[0] == 503 for one in answers)), "a tenant has as many of these as it may have")
    body = b"[" + message("ping", 1) + b"," + pad(10000) + b"]"
    got = post(host, other, others, body, version=None)
    tell(got[0] == 200, "another tenant's batch is served meanwhile", got[:2])
    sender.join()
    tell(at_once(100) == [200], "short ones are all served", answers[:2])
    tell(host.ask("GET", "/v1/host", other)[0] == 200 and front(host) == pid, "and the front lives on", (pid, front(host)))
    host.end()


def refused_early():
    """A long batch that is refused before the launcher is asked is not kept."""
    pad = json.dumps({"jsonrpc": "2.0", "method": "notifications/pad", "params": {"a": [0] * 95000}}, separators=(",", ":")).encode()
    for name, head in (("without a session", "MCP-Protocol-Version: 2025-03-26\r\n"), ("in an unknown version", "MCP-Protocol-Version: 2024-11-05\r\nMcp-Session-Id: any\r\n")):
        host = Host(name.replace(" ", "-"))
        statuses, grown = ask_at_once(host, [host.request("POST", "/mcp", host.tenant("me"), b"[" + pad + b"]", head)] * 5)
        tell(statuses == [400] * 5 and grown is not None and grown < 30 << 20, "five long batches %s are refused, and not kept" % name, (statuses, grown))
        host.end()


def refused_late():
    """A batch that waits for the launcher is refused, because another one came meanwhile, and a cancellation is served before its answer is sent."""
    host = Host("late")
    token = host.tenant("me", launchesPerSecond=1000)
    session, pid, ones = begin(host, token), front(host), []
    def send(request):
        ones.append(host.connect())
        ones[-1].sendall(request)
        time.sleep(0.1 * SLOW)
    def ask(body):
        send(host.request("POST", "/mcp", token, body, "Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-03-26\r\n" % session))
    os.kill(host.process.pid, signal.SIGSTOP)
    ask(b"[" + message("notifications/pad", a=[0] * 17300) + b"," + message("ping", 2) + b"]")  # with it, the tenant keeps almost 2 MiB, the most
    ask(b"[" + message("notifications/pad", a=[0] * 40) + b"]")
    ask(message("notifications/cancelled", requestId=3))
    os.kill(pid, signal.SIGSTOP)
    os.kill(host.process.pid, signal.SIGCONT)
    time.sleep(0.5 * SLOW)
    os.kill(pid, signal.SIGCONT)
    statuses = [status_of(one) for one in ones]
    tell(statuses == [503, 202, 202] and front(host) == pid, "the batch is refused, and the front lives on", (statuses, pid, front(host)))
    host.end()


run_parts((sessions, refusals, ends, batches, waits, long_messages, refused_early, refused_late))
