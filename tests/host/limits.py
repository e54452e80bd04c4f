#!/usr/bin/env python3
"""limits.py: the limits of an execution host's HTTP surface and of its tenants, each reached and passed, as TAP. WARDER names the program.

The settings of the operator lower most limits, so that few requests reach them; the defaults are those that `--check` and the manual name.
"""
import base64, http.client, json, os, select, socket, subprocess, threading, time

from lib import SLOW, WARDER, Host, Socket, ask_at_once, asking_for_socket, front, keeper_of, run_parts, tell, until, work


def silent(one, seconds):
    """Whether nothing comes on a connection within this time."""
    one.settimeout(seconds)
    try:
        one.recv(1)
        return False
    except socket.timeout:
        return True


def status_of(one):
    one.settimeout(30 * SLOW)
    try:
        return int(one.recv(4096).split(b" ", 2)[1])
    except (OSError, IndexError):
        return None


def deaf_socket(host, path, token):
    """A client of a terminal from which the kernel takes few bytes while it does not read. None: it is refused."""
    one = host.connect(receives=4096)
    one.sendall(host.request("GET", path, token, more=asking_for_socket()))
    if status_of(one) == 101:
        return one
    one.close()
    return None


# ---- the surface ----

def sizes():
    host = Host("sizes", headerBytes=4096, bodyBytes=2048, fileBytes=65536)
    token = host.tenant("me")
    size = len(host.request("GET", "/v1/host", token))
    header = lambda bytes_: "X-Long: %s\r\n" % ("y" * (bytes_ - size - len("X-Long: \r\n")))
    tell(host.ask("GET", "/v1/host", token, more=header(4096))[0] == 200, "headers of the greatest size are served",
         host.ask("GET", "/v1/host", token, more=header(4096)))
    for bytes_ in (4097, 6000, 60000):
        with host.connect() as one:
            one.sendall(host.request("GET", "/v1/host", token, more=header(bytes_)))
            tell(status_of(one) in (413, 431), "headers of %d bytes are refused" % bytes_)
    body = lambda bytes_: b'{"argv": ["true"]%s}' % (b" " * (bytes_ - len('{"argv": ["true"]}')))
    tell(host.ask("POST", "/v1/run", token, body(2048))[0] == 200, "a body of the greatest size is served")
    status, data, _ = host.ask("POST", "/v1/run", token, body(2049))
    tell(status == 413 and "2048" in data["message"], "a longer one is refused, with the limit", (status, data))
    _, made, _ = host.ask("POST", "/v2/sandboxes", token, {"templateID": "base", "timeout": 60})
    to = "E2b-Sandbox-Id: %s\r\nX-Access-Token: %s\r\nContent-Type: application/octet-stream\r\n" % (made["sandboxID"], made["envdAccessToken"])
    status, data, _ = host.ask("POST", "/files?path=/tmp/a", "", b"x" * 65536, to)
    tell(status == 200, "a file of the greatest size is written", (status, data))
    status, data, _ = host.ask("POST", "/files?path=/tmp/b", "", b"x" * 65537, to)
    tell(status == 413 and "65536" in data["message"], "a longer one is refused, with its own limit", (status, data))
    host.end()


def defaults():
    host = Host("defaults")
    token = host.tenant("me")
    size = len(host.request("GET", "/v1/host", token))
    header = lambda bytes_: "X-Long: %s\r\n" % ("y" * (bytes_ - size - len("X-Long: \r\n")))
    found = [host.ask("GET", "/v1/host", token, more=header(bytes_))[0] for bytes_ in (16384, 16385)]
    tell(found[0] == 200 and found[1] in (413, 431), "without settings, headers have at most 16 KiB", found)
    body = lambda bytes_: b'{"argv": ["true"]%s}' % (b" " * (bytes_ - len('{"argv": ["true"]}')))
    found = [host.ask("POST", "/v1/run", token, body(bytes_))[0] for bytes_ in (1 << 20, (1 << 20) + 1)]
    tell(found == [200, 413], "and bodies 1 MiB", found)
    crowd = [host.connect() for _ in range(1025)]
    last = crowd.pop()
    last.sendall(host.request("GET", "/health"))
    waits = silent(last, 1 * SLOW)
    crowd.pop(0).close()
    tell(waits and status_of(last) == 204, "the 1025th connection waits until another one ends", waits)
    for one in crowd + [last]:
        one.close()
    tell(until(lambda: host.ask("GET", "/health")[0] == 204), "and afterwards the host serves")
    found = [host.ask("GET", "/v1/host", "e2b_" + "1" * 40)[0] for _ in range(11)]
    tell(found == [401] * 10 + [429], "ten wrong tokens in a minute lock an address out", found)
    host.end()


def connections():
    host = Host("connections", connections=20, connectionsPerTenant=5, headerSeconds=2, wrongTokensPerMinute=3)
    token, other = host.tenant("me"), host.tenant("other")
    sleep = json.dumps({"argv": ["sleep", "30"]}).encode()
    busy = [host.connect() for _ in range(5)]
    for one in busy:
        one.sendall(host.request("POST", "/v1/run", token, sleep))
        time.sleep(0.05)
    status, data, headers = host.ask("GET", "/v1/host", token)
    tell(status == 429 and headers["Retry-After"].isdigit(), "a tenant has a limited number of requests at a time", (status, data))
    tell(host.ask("GET", "/v1/host", other)[0] == 200, "which is its own")
    for one in busy:
        one.close()
    tell(until(lambda: host.ask("GET", "/v1/host", token)[0] == 200), "and the end of a request makes room")
    begin = time.time()
    slow = host.connect()
    slow.sendall(b"GET /health HTTP/1.1\r\n")
    slow.settimeout(20 * SLOW)
    try:
        ended = slow.recv(100) is not None
    except ConnectionError:
        ended = True
    took = time.time() - begin
    tell(ended and 1 < took < 10 * SLOW, "a client that sends its headers too slowly loses its connection", (ended, took))
    slow.close()
    dripping = host.connect()
    begin = time.time()
    try:
        while time.time() - begin < 20 * SLOW:
            dripping.sendall(b"X")
            time.sleep(0.2)
    except OSError:
        pass
    took = time.time() - begin
    tell(took < 10 * SLOW, "also one that sends a byte now and then", took)
    dripping.close()
    found = [host.ask("GET", "/v1/host", "e2b_" + "1" * 40)[0] for _ in range(4)]
    tell(found == [401] * 3 + [429], "the settings say how many wrong tokens an address has", found)
    status, _, headers = host.ask("GET", "/v1/host", token)
    tell(status == 429 and headers["Retry-After"].isdigit(), "and the answer when to try again", status)
    status, _, headers = host.ask("POST", "/page/login", "", {"token": token}, "X-Warder-Page: 1\r\n")
    tell(status == 429 and headers["Retry-After"].isdigit() and "Set-Cookie" not in headers, "the page's login is locked, too", (status, headers))
    host.end()


def broken_requests():
    """A connection whose client has left before its request was whole is free at once."""
    host = Host("broken", connections=10, headerSeconds=3600)
    token = host.tenant("me")
    for text in (b"GET /v1/host HT", b"POST /v1/run HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", host.request("POST", "/v1/run", token, b"x" * 50)[:-20], b"\0\1\2"):
        for _ in range(12):
            with host.connect() as one:
                one.sendall(text)
        with host.connect() as one:
            one.sendall(host.request("GET", "/health"))
            one.settimeout(40 * SLOW)
            tell(status_of(one) == 204, "twelve clients that leave after %.20s... take none of ten connections" % text.decode("latin-1").encode("unicode_escape").decode())
    host.end()


def sandbox_keys():
    """The keys of a sandbox count for its tenant."""
    host = Host("keys", connectionsPerTenant=5)
    token, other = host.tenant("me"), host.tenant("other")
    made = [host.ask("POST", "/v2/sandboxes", token, {"templateID": "base", "timeout": 60})[1] for _ in range(2)]
    frame = json.dumps({"process": {"cmd": "sleep", "args": ["30"]}}).encode()
    frame = b"\0" + len(frame).to_bytes(4, "big") + frame
    to = lambda one: "E2b-Sandbox-Id: %s\r\nX-Access-Token: %s\r\nContent-Type: application/connect+json\r\n" % (one["sandboxID"], one["envdAccessToken"])
    busy = []
    for i in range(5):
        one = host.connect()
        one.sendall(host.request("POST", "/process.Process/Start", "", frame, to(made[i % 2])))
        tell(status_of(one) == 200, "stream %d of a tenant's sandboxes begins" % (i + 1))
        busy.append(one)
    status, data, headers = host.ask("GET", "/files?path=/etc/hostname", "", b"", to(made[0]))
    tell(status == 429 and headers["Retry-After"].isdigit(), "the streams of all of a tenant's sandboxes count together", (status, data))
    tell(host.ask("GET", "/v1/host", other)[0] == 200, "and not for another tenant")
    for one in busy:
        one.close()
    tell(until(lambda: host.ask("GET", "/files?path=/etc/passwd", "", b"", to(made[0]))[0] == 200), "when they end, there is room")
    host.end()


def most_memory(pid):
    """The most memory that a front has had, in MiB; it is gone: endless."""
    try:
        with open("/proc/%d/status" % pid) as file:
            return int(file.read().split("VmHWM:")[1].split()[0]) // 1024
    except OSError:
        return 1 << 30


def load_of(pid, seconds=2):
    """The share of a processor that a front uses for some seconds."""
    def ticks():
        with open("/proc/%d/stat" % pid) as file:
            return sum(int(field) for field in file.read().rsplit(")", 1)[1].split()[11:13])
    before = ticks()
    time.sleep(seconds)
    return (ticks() - before) / os.sysconf("SC_CLK_TCK") / seconds


def slow_streams():
    """Clients that never read fill no more than their part of the front, and end nobody else's stream."""
    host = Host("streams")
    token, other = host.tenant("me"), host.tenant("other")
    pid = front(host)
    slow = []
    # Each byte becomes six, so that little output makes much to keep.
    script = "sleep 2; for i in 1 2 3 4 5 6 7 8; do head -c 1000000 /dev/zero | tr '\\0' '\\001'; sleep 0.2; done"
    start = lambda key, text: host.ask("POST", "/v1/sandboxes/%s/executions" % box, key, {"argv": ["sh", "-c", text]})[1]["id"]
    boxes = []
    for _ in range(2):
        box = host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 120000})[1]["id"]
        boxes.append(box)
        path = "/v1/sandboxes/%s/executions/%s/output" % (box, start(token, script))
        for _ in range(48):
            one = host.connect(receives=4096)
            one.sendall(host.request("GET", path, token))
            slow.append(one)
    box = host.ask("POST", "/v1/sandboxes", other, {"timeoutMs": 120000})[1]["id"]
    execution = start(other, "for i in $(seq 80); do echo line $i; sleep 0.1; done")
    data = host.ask("GET", "/v1/sandboxes/%s/executions/%s/output" % (box, execution), other)[1]
    tell(b"line 80" in data and b"event: end" in data, "a stream beside 96 that nobody reads comes whole", data[-300:])
    most = most_memory(pid)
    tell(front(host) == pid and most < 48, "and the front lives on, with at most 48 MiB (%d MiB)" % most, (front(host), most))
    # The keeper drops a client that does not read, and its end of the connection closes while the front does not look at it.
    for box in boxes:
        host.ask("DELETE", "/v1/sandboxes/" + box, token)
    busy = load_of(pid)
    tell(busy < 0.2, "the front rests while nobody reads", busy)
    for one in slow:
        one.close()
    host.end()


def stalled_bodies():
    """Bodies that do not come to their end, of clients that nobody knows, fill no more than their part of the front."""
    host = Host("bodies")
    token = host.tenant("me")
    pid = front(host)
    crowd = []
    for i in range(100):
        one = host.connect()
        head = host.request("POST", "/v1/run", "e2b_%040d" % i).replace(b"Content-Length: 0", b"Content-Length: 1048576")
        one.sendall(head + b" " * (1048576 - 10))
        crowd.append(one)
    body = b'{"argv": ["wc", "-c"], "stdin": "%s"}' % (b"x" * 4096)
    status, data, _ = host.ask("POST", "/v1/run", token, body)
    tell(status == 200 and data["stdout"]["text"].strip() == "4096", "a request beside 100 stalled bodies of 1 MiB is served", (status, data))
    tell(front(host) == pid and most_memory(pid) < 48, "and the front lives on, with at most 48 MiB", most_memory(pid))
    body = b'{"argv": ["wc", "-c"], "stdin": "%s"}' % (b"x" * 1000000)
    status, data, _ = host.ask("POST", "/v1/run", token, body)
    tell(status == 200 and data["stdout"]["text"].strip() == "1000000", "so is a long body that comes to its end", (status, data))
    crowd[0].sendall(b" " * 10)
    tell(status_of(crowd[0]) == 503, "one that gave way is refused at its end")
    for one in crowd:
        one.close()
    numbers = b'{"argv": [%s1]}' % (b"1," * 200000)
    status, data, _ = host.ask("POST", "/v1/run", token, numbers)
    tell(status == 400 and "values" in data["message"], "a body of more values than the front keeps is refused", (status, data))
    host.end()


def long_answers():
    """Long lists of files that a client asks for at once, and does not read, fill no more than their part of the front."""
    host = Host("answers")
    token, other = host.tenant("me"), host.tenant("other")
    pid = front(host)
    box = host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 120000})[1]["id"]
    script = "mkdir /tmp/long && cd /tmp/long && seq -f '%.0f-a-name-with-some-more-letters' 15000 | xargs touch"
    begun = host.ask("POST", "/v1/sandboxes/%s/executions" % box, token, {"argv": ["sh", "-c", script]})[1]["id"]
    host.ask("GET", "/v1/sandboxes/%s/executions/%s?wait=1" % (box, begun), token)
    path = "/v1/sandboxes/%s/directories?path=/tmp/long" % box
    status, rows, _ = host.ask("GET", path, token)
    tell(status == 200 and len(rows) == 15000, "a list of 15000 files comes whole", (status, str(rows)[:300]))
    asked = []
    for _ in range(60):
        one = host.connect(receives=4096)
        one.sendall(host.request("GET", path, token))
        asked.append(one)
    begun = {one for one in asked if select.select([one], [], [], 60 * SLOW)[0]}
    tell(len(begun) == 60, "of 60 clients that ask at once, each is answered or cut off", len(begun))
    tell(host.ask("GET", "/v1/host", other)[0] == 200, "another tenant is served meanwhile")
    tell(front(host) == pid and most_memory(pid) < 60, "and the front lives on, with less than 60 MiB", most_memory(pid))
    for one in asked:
        one.close()
    host.end()


def long_pieces():
    """What pieces of code show, while they run, fills no more than its part of the front."""
    host = Host("pieces")
    token, other = host.tenant("me"), host.tenant("other")
    pid = front(host)
    code = ("import sys, time\nclass Long:\n    def _repr_html_(self): return 'x' * 1000000\n"
            "for _ in range(7): display(Long())\nprint('y' * 1000000, flush=True)\ntime.sleep(%d)" % (3 * SLOW))
    asked = []
    for _ in range(4):
        box = host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 120000})[1]["id"]
        for name in ("a", "b", "c"):
            made, row, _ = host.ask("POST", "/v1/sandboxes/%s/contexts" % box, token, {"context": name})
            if made != 201:
                tell(False, "a context is made", (made, row))
            asked.append(host.connect())
            asked[-1].sendall(host.request("POST", "/v1/sandboxes/%s/code" % box, token, json.dumps({"context": name, "code": code}).encode()))
    ends = []
    for one in asked:
        answer = http.client.HTTPResponse(one)
        try:
            answer.begin()
            end = json.loads(answer.read())
            ends.append(len(end["contextSays"]["shown"]) == 7 and end["stdout"]["bytesKept"] == 1000001 and end["status"] == "success")
        except (http.client.HTTPException, OSError):
            pass
    tell(0 < len(ends) < 12 and all(ends), "of 12 clients to whom pieces show 7 MB each, some are cut off, and the others get all of it", ends)
    tell(host.ask("GET", "/v1/host", other)[0] == 200, "another tenant is served meanwhile")
    tell(front(host) == pid and most_memory(pid) < 60, "and the front lives on, with less than 60 MiB", most_memory(pid))
    for one in asked:
        one.close()
    host.end()


def deaf_terminals():
    """The clients of terminals that ask and never read fill no more than their part of the front."""
    host = Host("terminals")
    token, other = host.tenant("me"), host.tenant("other")
    pid = front(host)
    box = host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 120000})[1]["id"]
    argv = ["sh", "-c", "sleep 2; exec cat /dev/zero"]
    execution = host.ask("POST", "/v1/sandboxes/%s/executions" % box, token, {"argv": argv, "rows": 25, "columns": 80})[1]["id"]
    ping = (b"\x89\xfd\0\0\0\0" + b"x" * 125) * 500
    deaf = []
    for _ in range(4):
        one = deaf_socket(host, "/v1/sandboxes/%s/executions/%s/terminal" % (box, execution), token)
        if not one:
            break
        one.setblocking(False)
        deaf.append(one)
    tell(len(deaf) == 4, "four clients show a terminal", len(deaf))
    sent, blocked = 0, 0
    while sent < 120 << 20 and blocked < 20 and front(host) == pid:
        before = sent
        for one in deaf:
            try:
                sent += one.send(ping)
            except OSError:
                pass
        blocked = 0 if sent > before else blocked + 1
        if blocked:
            time.sleep(0.1)
    tell(host.ask("GET", "/v1/host", other)[0] == 200, "another tenant is served meanwhile")
    tell(front(host) == pid and most_memory(pid) < 48, "and the front lives on, with at most 48 MiB", (most_memory(pid), sent))
    for one in deaf:
        one.close()
    host.end()


def type_deaf(host, token, box):
    """Send 40 messages to a terminal that floods, without reading from it. Whether the program has got them all."""
    path = "/v1/sandboxes/%s/executions" % box
    argv = ["sh", "-c", "rm -f /tmp/got; stty -icanon -echo; cat /dev/zero & head -c 40 >/tmp/new; mv /tmp/new /tmp/got; kill $!"]
    execution = host.ask("POST", path, token, {"argv": argv, "rows": 25, "columns": 80})[1]["id"]
    written = lambda: next(row["stdoutBytes"] for row in host.ask("GET", path, token)[1] if row["id"] == execution)
    one = deaf_socket(host, "%s/%s/terminal" % (path, execution), token)
    if not one:
        return False
    with one:
        if not until(lambda: written() > 8 << 20):
            return False
        try:
            for _ in range(40):
                one.sendall(b"\x82\x81\0\0\0\0x")
        except OSError:
            return False
        got = until(lambda: host.ask("GET", "/v1/sandboxes/%s/files?path=/tmp/got" % box, token)[1] == b"x" * 40)
    host.ask("POST", "%s/%s/signal" % (path, execution), token, {"signal": 9})
    return got


def deaf_typists():
    host = Host("typists")
    token = host.tenant("me")
    box = host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 600000})[1]["id"]
    tell(type_deaf(host, token, box), "a client that reads no output can still type")
    host.end()


def late_readers():
    """Clients of terminals that read nothing stay until the program has ended, and are told if the keeper then drops them."""
    host = Host("late")
    token = host.tenant("me")
    box = host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 600000})[1]["id"]
    path = "/v1/sandboxes/%s/executions" % box
    keeper = keeper_of(box)
    clients = lambda: sum("socket:" in os.path.realpath("/proc/%d/fd/%s" % (keeper, fd)) for fd in os.listdir("/proc/%d/fd" % keeper))
    fewest = lambda: min((time.sleep(0.1), clients())[1] for _ in range(30))  # without connections of questions
    without = fewest()
    execution = host.ask("POST", path, token, {"argv": ["cat", "/dev/zero"], "rows": 25, "columns": 80})[1]["id"]
    until(lambda: host.ask("GET", path, token)[1][0]["stdoutBytes"] > 8 << 20)
    before = fewest()
    late = [Socket(host, "%s/%s/terminal" % (path, execution), token) for _ in range(2)]
    tell([one.status for one in late] == [101, 101], "two clients show a terminal that floods", [one.head for one in late])
    time.sleep(12)  # longer than the keeper waits for another client that takes nothing
    tell(clients() >= before + 2, "the keeper keeps them while the program runs", (before, clients()))
    host.ask("POST", "%s/%s/signal" % (path, execution), token, {"signal": 9})
    tell(until(lambda: clients() <= without), "and drops them when they have read nothing for some time after its end", (without, clients()))
    late[1].send(2, b"x")
    for one, what in zip(late, ("reads again", "types again")):
        found, end = one.frame(), time.monotonic() + 60 * SLOW
        while found and found[0] != 8 and time.monotonic() < end:
            found = one.frame()
        tell(found and found[0] == 8 and b"not read" in found[1], "one that %s is told why it is closed" % what, found and found[1])
        one.one.close()
    host.end()


def names():
    host = Host("names")
    token = host.tenant("me")
    with host.connect() as one:
        one.sendall(b"GET /v1/host HTTP/1.1\r\nHost: evil.test\r\nX-API-Key: %s\r\n\r\n" % token.encode())
        tell(status_of(one) == 421, "another Host header is refused")
    with host.connect() as one:
        one.sendall(b"GET /v1/host HTTP/1.0\r\nX-API-Key: %s\r\n\r\n" % token.encode())
        tell(status_of(one) in (400, 421), "so is a request without one")
    with host.connect() as one:
        one.sendall(host.request("GET", "/v1/host", token, more="Host: evil.test\r\n"))
        tell(status_of(one) in (400, 421), "and one with two")
    for origin in ("http://evil.test", "null", "https://127.0.0.1.evil.test", "http://127.0.0.1:1"):
        tell(host.ask("GET", "/v1/host", token, more="Origin: %s\r\n" % origin)[0] == 403, "a page of another origin is refused: " + origin)
    status, _, headers = host.ask("OPTIONS", "/v1/host", token, more="Origin: http://evil.test\r\nAccess-Control-Request-Method: GET\r\n")
    tell(status == 403 and not any(name.lower().startswith("access-control") for name in headers), "and gets no leave in advance", status)
    host.end()


# ---- tenants ----

def shares():
    host = Host("shares")
    for limits, field, most in (({"sandboxes": 2}, "sandboxes", 2), ({"memoryBytes": 1 << 30}, "limits.memory", 2), ({"cpuMilli": 2000}, "limits.cpus", 2),
                                ({"spoolBytes": 128 << 20}, "spoolBytes", 2), ({"launchesPerSecond": 2}, "launchesPerSecond", 2)):
        token = host.tenant("t%d" % len(host.tenants), **limits)
        answers = []
        callers = [threading.Thread(target=lambda: answers.append(host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 60000}))) for _ in range(most + 2)]
        for one in callers:
            one.start()
        for one in callers:
            one.join()
        good = [one for one in answers if one[0] == 201]
        refused = [one for one in answers if one[0] == 429]
        tell(len(good) == most and len(refused) == 2 and all(one[1]["field"] == field and one[2]["Retry-After"].isdigit() for one in refused),
             "%s of a tenant is limited, also when its requests come at once" % list(limits)[0], [one[:2] for one in answers])
        for one in good:
            host.ask("DELETE", "/v1/sandboxes/" + one[1]["id"], token)
    tell(host.ask("POST", "/v1/run", host.tenant("free"), {"argv": ["true"]})[0] == 200, "another tenant is served all the while")
    host.end()


def queue():
    host = Host("queue", connectionsPerTenant=200)
    token, other = host.tenant("me", queue=2, launchesPerSecond=1000, memoryBytes=1 << 40, cpuMilli=10**7), host.tenant("other")
    sleep = json.dumps({"argv": ["sleep", "60"]}).encode()
    busy = []
    for _ in range(50):
        one = host.connect()
        one.sendall(host.request("POST", "/v1/run", token, sleep))
        busy.append(one)
    def asked():
        return host.ask("GET", "/v1/host", token)[1]["tenant"]["used"]["memoryBytes"] == 50 * (512 << 20)
    tell(until(asked), "48 programs of a tenant run, and two wait", host.ask("GET", "/v1/host", token)[1])
    status, data, headers = host.ask("POST", "/v1/run", token, sleep)
    tell(status == 429 and data["field"] == "queue" and headers["Retry-After"].isdigit(), "no third one waits", (status, data))
    tell(host.ask("POST", "/v1/run", other, {"argv": ["true"]})[0] == 200, "and another tenant need not wait")
    for one in busy:
        one.close()
    tell(until(lambda: host.ask("GET", "/v1/host", token)[1]["tenant"]["used"]["memoryBytes"] == 0, 40), "they end with their clients")
    host.end()


def stuck():
    """A probe that does not end, as on a kernel that hangs: a word within 2 s, nothing is launched, one probe at a time, and all goes on after it."""
    place = os.path.join(work, "slow")
    os.mkdir(place, 0o755)
    seen = "/opt/slow-%d" % os.getpid()  # the suite may run twice at a time, and ps shows all
    flag = os.path.join(place, "stuck")
    with open(os.path.join(place, "true"), "w") as file:
        file.write("#!/bin/sh\necho >&2; while [ -e %s/stuck ]; do sleep 0.1; done\n" % seen)
    os.chmod(os.path.join(place, "true"), 0o755)
    os.chmod(work, 0o755)
    base = {"version": 1, "environment": {"set": {"PATH": seen + ":/usr/bin:/bin"}}, "filesystem": {"paths": {"readOnly": [place + ":" + seen]}},
            "limits": {"wallTime": "60s", "memory": "64MiB"}, "syscalls": {"profile": "default"}}
    if os.geteuid() != 0:  # such a user may have no cgroup
        base["enforcement"] = {"limits": "preferred"}
    host = Host("stuck", more={"templates": {"base": base}})
    token = host.tenant("waits")
    tell(host.ask("GET", "/health")[0] == 204, "a host whose probe ends is healthy")
    open(flag, "w").close()
    time.sleep(5.2)  # the last probe counts for 5 s
    answers = []
    many = [threading.Thread(target=lambda: answers.append((time.time(), host.ask("GET", "/health")))) for _ in range(5)]
    begin = time.time()
    for one in many:
        one.start()
    for one in many:
        one.join()
    took = time.time() - begin
    tell([answer[0] for _, answer in answers] == [503] * 5 and 1.5 < took < 3 * SLOW + 5, "a probe that does not end: 503 after 2 s for all who ask",
         (took, answers))
    probes = subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True).stdout.count("/bin/sh %s/true" % seen)
    tell(probes == 1, "there is one probe at a time", probes)
    begin = time.time()
    refused = [host.ask(method, path, token, body)[0] for method, path, body in (
        ("GET", "/health", b""), ("POST", "/v1/run", {"argv": ["echo"]}), ("POST", "/v1/sandboxes", {}))]
    tell(refused == [503] * 3 and time.time() - begin < 2 * SLOW + 3, "and nothing is launched until it has ended", (refused, time.time() - begin))
    tell(host.ask("GET", "/v1/sandboxes", token)[0] == 200, "what launches nothing is answered")
    os.unlink(flag)
    tell(until(lambda: host.ask("GET", "/health")[0] == 204, 20) and host.ask("POST", "/v1/run", token, {"argv": ["echo"]})[0] == 200,
         "when it has ended, the host is healthy again, and launches")
    host.end()


def settings():
    path = os.path.join(work, "settings.json")
    for text, word in (('{"connections": 0}', "connections"), ('{"connections": 5000}', "2000"), ('{"bodyBytes": 2000000}', "bodyBytes"), ('{"nope": 1}', "nope"),
                       ('[1]', "limits"), ('{"frontMemoryBytes": "64MiB"}', "frontMemoryBytes")):
        with open(path, "w") as file:
            file.write('{"version": 1, "limits": %s}' % text)
        done = subprocess.run([WARDER, "serve", "--listen", "127.0.0.1:0", "--state", os.path.join(work, "s"), "--config", path, "--check"],
                              capture_output=True, text=True)
        tell(done.returncode == 125 and word in done.stderr and "settings.json" in done.stderr, "settings are refused: " + text, done.stderr)


def kept_requests():
    """What a request keeps while the launcher or the sandbox is asked counts, and a stream keeps nothing of its request."""
    host = Host("kept")
    words = json.dumps({"argv": [""] * 131000}, separators=(",", ":")).encode()
    statuses, grown = ask_at_once(host, [host.request("POST", "/v1/sandboxes/x/executions", "e2b_%040d" % number, words) for number in range(5)])
    tell(statuses == [413] * 5 and grown is not None and grown < 30 << 20, "five long requests with made-up tokens are refused, and not kept", (statuses, grown))
    host.end()
    host = Host("streams")
    token = host.tenant("me")
    _, made, _ = host.ask("POST", "/v2/sandboxes", token, {"templateID": "base", "timeout": 600})
    to = "E2b-Sandbox-Id: %s\r\nX-Access-Token: %s\r\n" % (made["sandboxID"], made["envdAccessToken"])
    frame = lambda message: b"\0" + len(message).to_bytes(4, "big") + message
    pad = '"pad": "%s"' % ("x" * 1000000)
    def memory():
        with open("/proc/%d/status" % front(host)) as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmRSS:"))
    def begin(path, body, word, more="Content-Type: application/connect+json\r\n"):
        one = host.connect()
        one.sendall(host.request("POST", path, None, body, to + more))
        got = b""
        while word not in got and (part := one.recv(65536)):
            got += part
        tell(word in got, "a stream begins: " + path, got[-200:])
        return one, got
    start, got = begin("/process.Process/Start", frame(b'{"process": {"cmd": "sleep", "args": ["1000"]}}'), b'"pid"')
    pid = int(got.split(b'"pid":')[1].split(b"}")[0])
    for path, message in (("/filesystem.Filesystem/WatchDir", '{"path": "/tmp", %s}' % pad), ("/process.Process/Connect", '{"process": {"pid": %d}, %s}' % (pid, pad))):
        before = memory()
        ones = [begin(path, frame(message.encode()), b"start")[0] for _ in range(6)]
        grown = memory() - before
        tell(grown < 3 << 20, "six streams keep nothing of requests of 1 MB: " + path, grown)
        for one in ones:
            one.close()
    path = "/v1/sandboxes/%s/code" % made["sandboxID"]
    piece = json.dumps({"language": "python", "code": "print(1, flush=True)\nimport time\ntime.sleep(1000)\n#" + "x" * 900000}).encode()
    before, ones = memory(), []
    for number in range(4):
        host.ask("POST", "/v1/sandboxes/%s/contexts" % made["sandboxID"], token, {"context": "c%d" % number})
        one = host.connect()
        ones.append(one)
        one.sendall(host.request("POST", path, token, piece.replace(b'"language": "python"', b'"context": "c%d"' % number), "Accept: text/event-stream\r\n"))
        tell(b"200 OK" in one.recv(65536), "a piece of 900 kB runs")
    grown = memory() - before
    tell(grown < 2 << 20, "four pieces keep nothing of their requests", grown)
    for one in [start, *ones]:
        one.close()
    host.end()


def kept_shares():
    """Long requests with the tokens of several sandboxes count for the tenant that has these."""
    host = Host("kept-shares")
    mine, others = host.tenant("me"), host.tenant("others")
    waiting = []
    def send(token):
        """Input for a program in a new sandbox that reads none: 1.6 MB are kept for it. The status; None: it waits."""
        _, made, _ = host.ask("POST", "/v2/sandboxes", token, {"templateID": "base", "timeout": 600})
        key = "E2b-Sandbox-Id: %s\r\nX-Access-Token: %s\r\nContent-Type: application/json\r\n" % (made["sandboxID"], made["envdAccessToken"])
        host.ask("POST", "/v1/sandboxes/%s/executions" % made["sandboxID"], token, {"argv": ["sleep", "1000"], "input": True})
        pid = host.ask("POST", "/process.Process/List", None, {}, key)[1]["processes"][0]["pid"]
        body = json.dumps({"process": {"pid": pid}, "input": {"stdin": base64.b64encode(bytes(700000)).decode()}}).encode()
        one = host.connect()
        waiting.append(one)
        one.sendall(host.request("POST", "/process.Process/SendInput", None, body, key))
        one.settimeout(3 * SLOW)
        try:
            got = one.recv(65536)
        except TimeoutError:
            return None
        return int(got.split()[1]), b"Retry-After: 1" in got
    statuses = [send(mine), send(mine), send(others)]
    tell(statuses == [None, (503, True), None], "of the memory for long requests, a tenant has half, also with the tokens of several sandboxes", statuses)
    for one in waiting:
        one.close()
    host.end()


run_parts((sizes, defaults, connections, broken_requests, sandbox_keys, slow_streams, stalled_bodies, long_answers, long_pieces, deaf_terminals, deaf_typists, late_readers, names, shares, queue, stuck, kept_requests, kept_shares, settings))
