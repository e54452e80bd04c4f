#!/usr/bin/env python3
"""Requests through a NATS server of the suite's own, on loopback, with workers and a server that are killed.

run.py [storm|requests]...: all, or only these parts. In "storm", workers and the server are killed at random. WARDER_SOAK=1 makes its requests
10,000, and WARDER_FLEET_SEED repeats the order of the kills.
"""
import base64, hashlib, json, os, random, shutil, signal, socket, subprocess, sys, threading, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../lib"))
from pretended import Pretended, consumer, refused as no
from serving import work
from tap import SLOW, WARDER, finish, run_parts, skip, tell, until

SERVER = shutil.which("nats-server") or "/usr/sbin/nats-server"
REQUESTS = 10000 if os.environ.get("WARDER_SOAK") else 300
processes = []


def path(name):
    return os.path.join(work, name)


def end(process, number=signal.SIGTERM):
    if process.poll() is None:
        process.send_signal(number)
    try:
        return process.wait(60 * SLOW)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


# ---- a server ----

def free_port():
    """A port that the kernel gives to nobody by itself, so that it is still free when a server that was killed starts again."""
    first = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
    while True:
        port = random.randrange(1100, first) if first > 2000 else 0
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
                return free.getsockname()[1]
            except OSError:
                pass


class Server:
    def __init__(self, name, config=""):
        self.port = free_port()
        self.name, self.config = name, path(name + ".conf")
        with open(self.config, "w") as file:
            file.write('listen: "127.0.0.1:%d"\njetstream { store_dir: "%s" }\n%s' % (self.port, path(name + "-store"), config))
        self.url = "nats://127.0.0.1:%d" % self.port
        self.start()

    def start(self):
        self.process = subprocess.Popen([SERVER, "-c", self.config, "-l", path(self.name + ".log")], stdin=subprocess.DEVNULL)
        processes.append(self.process)
        if not until(self.answers):
            raise RuntimeError("nats-server does not start: " + open(path(self.name + ".log")).read()[-800:])

    def answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as peer:
                return peer.recv(4) == b"INFO"
        except OSError:
            return False

    def ask(self, subject, body=b"", wait=True, headers=None):
        """One request in the server's protocol; the JSON of the answer."""
        head = b"NATS/1.0\r\n" + b"".join(b"%s: %s\r\n" % (key.encode(), value.encode()) for key, value in headers.items()) + b"\r\n" if headers else b""
        sizes = b"%d %d" % (len(head), len(head) + len(body)) if headers else b"%d" % len(body)
        with socket.create_connection(("127.0.0.1", self.port), 60 * SLOW) as peer:
            lines = peer.makefile("rb")
            lines.readline()
            peer.sendall(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nSUB answer 1\r\n%s %s answer %s\r\n%s\r\nPING\r\n'
                         % (b"HPUB" if headers else b"PUB", subject.encode(), sizes, head + body))
            for line in lines:
                if line.startswith(b"PONG") and not wait:
                    return None
                if line.startswith(b"MSG"):
                    return json.loads(lines.read(int(line.split()[-1])))

    def dead(self, tenant):
        """The reason of the last dead letter."""
        message = self.ask("$JS.API.STREAM.MSG.GET.WARDER_DEAD", json.dumps({"last_by_subj": "warder.dead." + tenant}).encode())
        return base64.b64decode(message.get("message", {}).get("hdrs", "")).decode()

    def last(self, stream, subject):
        return self.ask("$JS.API.STREAM.MSG.GET." + stream, json.dumps({"last_by_subj": subject}).encode())["message"]["data"]

    def each(self, stream, subject):
        """The contents of all messages of a subject."""
        at, found = 0, []
        while True:
            message = self.ask("$JS.API.STREAM.MSG.GET." + stream, json.dumps({"seq": at + 1, "next_by_subj": subject}).encode()).get("message")
            if not message:
                return found
            at = message["seq"]
            found.append(base64.b64decode(message["data"]))

    def heard(self, subject, act):
        """The contents of all messages that are published to a subject while act() runs."""
        with socket.create_connection(("127.0.0.1", self.port), 60 * SLOW) as peer:
            lines, found = peer.makefile("rb"), []
            lines.readline()
            peer.sendall(b'CONNECT {"verbose":false}\r\nSUB %s 1\r\nPING\r\n' % subject.encode())
            while not lines.readline().startswith(b"PONG"):
                pass
            act()
            peer.sendall(b"PING\r\n")
            for line in lines:
                if line.startswith(b"PONG"):
                    return found
                if line.startswith(b"PING"):
                    peer.sendall(b"PONG\r\n")
                if line.startswith(b"MSG"):
                    found.append(lines.read(int(line.split()[-1])))

    def state(self, stream):
        return self.ask("$JS.API.STREAM.INFO." + stream)["state"]

    def requests(self):
        return self.ask("$JS.API.CONSUMER.INFO.WARDER_REQUESTS.workers")

    def messages(self, stream):
        return self.state(stream)["messages"]


# ---- workers, tenants, submissions ----

class Worker:
    def __init__(self, *words, **how):
        """A worker gives up if the server takes too long for one answer at its start: then another one is started."""
        for left in (3, 2, 1, 0):
            try:
                return self.begin(*words, **how)
            except RuntimeError:
                if not left:
                    raise

    def begin(self, server, *words, redeliver="2s", before=()):
        self.errors = path("worker-%d" % len(processes))
        self.process = subprocess.Popen(list(before) + [WARDER, "worker", "--nats", server.url, "--state", path("state"), "--redeliver-after", redeliver] + list(words),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=open(self.errors, "w"), text=True)
        processes.append(self.process)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("the worker is not ready: " + self.said())

    def said(self):
        return open(self.errors).read()

    def children(self):
        return subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout.split()


def make_key(name):
    done = subprocess.run([WARDER, "submit", "--make-key", path(name)], capture_output=True, text=True)
    return done.stdout.strip()


def add_tenant(name, key, *words):
    return subprocess.run([WARDER, "tenant", "add", name, "--state", path("state"), "--request-key", key] + list(words), capture_output=True, text=True)


def submit(server, lines, tenant="alice", key="alice.key", words=()):
    return subprocess.Popen([WARDER, "submit", "--nats", server.url, "--tenant", tenant, "--key", path(key)] + list(words),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True), \
        "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)


def results(begun, seconds=240):
    process, text = begun
    try:
        out, errors = process.communicate(text, seconds * SLOW)
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
        errors += "\nno end"
    return process.returncode, [json.loads(line) for line in out.splitlines()], errors


def ask(server, lines, **how):
    status, found, errors = results(submit(server, lines, **how))
    return {one["line"]: one for one in found} if status == 0 and len(found) == len(lines) else {"failed": (status, found, errors)}


def refusal(one):
    error = one.get("result", {}).get("error") or {}
    return error.get("kind"), error.get("field"), error.get("message", "")


def policy(**limits):
    """An ordinary user may have no cgroup for the limits."""
    document = {"version": 1, "filesystem": {"tmp": "64MiB"}, "limits": limits}
    return document if os.geteuid() == 0 else dict(document, enforcement={"limits": "preferred"})


def shell(text, **more):
    return dict({"argv": ["sh", "-c", text]}, **more)


# ---- what is tested ----

def keys():
    key = make_key("alice.key")
    mode = os.stat(path("alice.key")).st_mode & 0o777
    tell(key.startswith("ed25519:") and len(key) == 52 and mode == 0o600, "a key is made, with mode 0600", (key, mode))
    before = open(path("alice.key")).read()
    again = subprocess.run([WARDER, "submit", "--make-key", path("alice.key")], capture_output=True, text=True)
    tell(again.returncode == 125 and open(path("alice.key")).read() == before, "a key does not replace a file", again.stderr)
    with open(path("ceiling.json"), "w") as file:
        json.dump(policy(wallTime="10s", memory="64MiB"), file)
    added = add_tenant("alice", key)
    small = add_tenant("small", make_key("small.key"), "--ceiling", path("ceiling.json"))
    with open(path("wide.json"), "w") as file:
        json.dump(dict(policy(wallTime="60s"), output={"stdout": "16MiB"}), file)
    wide = add_tenant("wide", make_key("wide.key"), "--ceiling", path("wide.json"))
    wrong = add_tenant("wrong", "ed25519:short")
    tell(added.returncode == small.returncode == wide.returncode == 0, "a tenant gets the key", added.stderr + small.stderr + wide.stderr)
    tell(wrong.returncode == 125 and "--request-key" in wrong.stderr, "a wrong key is refused", wrong.stderr)


def exact(server):
    lines = [shell("echo %d; echo no >&2; exit %d" % (i * i, i % 3), id="n%d" % i) for i in range(20)]
    found = ask(server, lines)
    good = all(found.get(i + 1, {}).get("id") == "n%d" % i and found[i + 1]["result"]["stdout"]["text"] == "%d\n" % (i * i) and
               found[i + 1]["result"]["exitCode"] == i % 3 and found[i + 1]["result"]["stderr"]["text"] == "no\n" for i in range(20))
    tell(good, "each of 20 requests gets its own result", found)
    found = ask(server, [{"argv": ["cat"], "stdin": "text"}, {"argv": ["cat"], "stdinBase64": "AAH/"},
                         shell("echo $X", env={"X": "y"}), shell("sleep 9", policy=policy(wallTime="300ms"))])
    said = [found.get(i, {}).get("result", {}) for i in (1, 2, 3, 4)]
    tell([one.get("stdout", {}).get("text", one.get("stdout", {}).get("base64")) for one in said[:3]] == ["text", "AAH/", "y\n"] and
         said[3].get("cause") == "wallTime" and said[3].get("status") == "timeout", "input, variables and the policy arrive", said)
    controls = {one["control"]: one["status"] for one in said[0].get("receipt", {}).get("controls", [])}
    tell(controls.get("network.none") == "enforced", "the result has the receipt of the run", controls)
    same = ask(server, [shell("echo same")] * 3)
    tell(all(same.get(i, {}).get("result", {}).get("stdout", {}).get("text") == "same\n" for i in (1, 2, 3)), "equal lines are three requests", same)
    tell(until(lambda: server.messages("WARDER_REQUESTS") == 0 and server.messages("WARDER_RESULTS") == 0), "nothing is left in the server",
         (server.messages("WARDER_REQUESTS"), server.messages("WARDER_RESULTS")))


def malformed(server):
    lines = ["not JSON\n", '{"argv": "x"}\n', '{"argv": ["true"], "mounts": 1}\n', '{"argv": ["true"], "policy": {"version": 1, "limts": {}}}\n',
             '{"argv": ["true"], "id": 7}\n', '{"argv": ["true"], "argv": ["true"]}\n', '{"argv": ["true"], "stdin": "%s"}\n' % ("x" * 270000),
             '{"argv": ["true"], "stdin": "%s"}\n' % ("x" * 262100), "[]\n", '{"argv": ["echo", "good"]}\n']
    found = ask(server, lines)
    for number, field, words in ((1, "request", "a value is expected"), (2, "argv", "array of texts"), (3, "mounts", "unknown member"),
                                 (4, "limts", "limts"), (5, "id", "must be a text"), (6, "argv", "argv"), (7, "request", "262144"),
                                 (8, "request", "262144"), (9, "request", "must be an object")):
        kind, where, message = refusal(found.get(number, {}))
        tell(kind == "invalidRequest" and message.startswith("line %d: " % number) and words in message and (field in str(where) or field in message),
             "a wrong line is refused by line and member: %s" % words, found.get(number, found))
    tell(found.get(10, {}).get("result", {}).get("stdout", {}).get("text") == "good\n", "the lines behind it go on", found.get(10, found))


def refused(server):
    over = ask(server, [shell("true", policy=policy(wallTime="5s", memory="65MiB")), shell("true")], tenant="small", key="small.key")
    kind, field, message = refusal(over.get(1, {}))
    tell((kind, field) == ("rejected", "limits.memory"), "a policy over the tenant's ceiling is refused by the field", over)
    tell(refusal(over.get(2, {}))[0] == "rejected", "so is the template, where the ceiling is lower", over)
    within = ask(server, [shell("echo in", policy=policy(wallTime="5s", memory="64MiB"))],
                 tenant="small", key="small.key")
    tell(within.get(1, {}).get("result", {}).get("stdout", {}).get("text") == "in\n", "a policy within it runs", within)
    forged = ask(server, [shell("echo forged")], tenant="alice", key="small.key")
    kind, field, message = refusal(forged.get(1, {}))
    tell((kind, field) == ("rejected", "signature") and "signature" in message, "a request that another key has signed is refused", forged)
    tell("Warder-Reason" in server.dead("alice") and "signature" in server.dead("alice"), "it is a dead letter, with the reason", server.dead("alice"))
    unknown = ask(server, [shell("true")], tenant="nobody", key="alice.key")
    kind, field, message = refusal(unknown.get(1, {}))
    tell((kind, field) == ("rejected", "tenant") and "nobody" in message and "nobody" in server.dead("nobody"), "so is that of an unknown tenant", unknown)
    server.ask("warder.requests.x", b"rubbish", wait=False)
    tell(until(lambda: "not a signed request" in server.dead("unknown")), "what is not a request is a dead letter", server.dead("unknown"))


def long_results(server):
    """Results that are too long for a message wait in an object store."""
    large = dict(policy(wallTime="60s"), output={"stdout": "16MiB"})
    wide = [shell("head -c %d /dev/zero | tr '\\0' x; echo end" % size, policy=large) for size in (262144, 400000, 5000000)]
    found = ask(server, wide, tenant="wide", key="wide.key")
    texts = [found.get(line, {}).get("result", {}).get("stdout", {}).get("text", "") for line in (1, 2, 3)]
    tell(texts == ["x" * size + "end\n" for size in (262144, 400000, 5000000)], "results of 256 KiB, 400 kB and 5 MB arrive whole",
         [(len(one), one[-20:]) for one in texts] + [str(found)[:1000]])
    tell(until(lambda: server.messages("OBJ_warder-results") == 0), "what was read is removed from the object store", server.messages("OBJ_warder-results"))
    over = ask(server, [shell("head -c 16777216 /dev/zero | tr '\\0' x", policy=large)], tenant="wide", key="wide.key")
    kind, field, message = refusal(over.get(1, {}))
    tell(kind == "rejected" and "16777216" in message and "the program ran" in message, "a result over 16 MiB is refused with the limit", str(over)[:1000])
    config = server.ask("$JS.API.STREAM.INFO.OBJ_warder-results")["config"]
    tell(config["max_age"] == 24 * 3600 * 10**9 and config["subjects"] == ["$O.warder-results.C.>", "$O.warder-results.M.>"] and config["allow_rollup_hdrs"],
         "the object store is one of NATS, and its objects have a lifetime", config)


def beats(server):
    """While the parts of an object are stored, the worker reports that it lives."""
    found = {}
    said = server.heard("$JS.ACK.WARDER_REQUESTS.>", lambda: found.update(ask(
        server, [shell("head -c 2000000 /dev/zero | tr '\\0' x", policy=dict(policy(wallTime="60s"), output={"stdout": "16MiB"}))], tenant="wide", key="wide.key")))
    size = len(found.get(1, {}).get("result", {}).get("stdout", {}).get("text", ""))
    tell(size == 2000000 and said.count(b"+WPI") >= size // 131072, "a worker that stores a long result reports after each part", (size, said))


def full_objects(server):
    """An object store without room for the result."""
    config = server.ask("$JS.API.STREAM.INFO.OBJ_warder-results")["config"]

    def change(**more):
        return server.ask("$JS.API.STREAM.UPDATE.OBJ_warder-results", json.dumps(dict(config, **more)).encode())
    made = change(max_bytes=200000)
    worker = Worker(server, "--parallel", "1")
    lines = [shell("head -c 300000 /dev/zero | tr '\\0' x", policy=dict(policy(wallTime="60s"), output={"stdout": "1MiB"})), shell("echo short", policy=policy(wallTime="60s"))]
    found = ask(server, lines, tenant="wide", key="wide.key")
    kind, field, message = refusal(found.get(1, {}))
    tell("error" not in made and kind == "unavailable" and "the program ran" in message and "maximum bytes exceeded" in message,
         "a result that the object store does not take becomes an error that says so", (made, str(found)[:1000]))
    tell(found.get(2, {}).get("result", {}).get("stdout", {}).get("text") == "short\n", "the worker goes on", str(found)[:1000])
    tell("bytes is lost" in worker.said(), "it says so too", worker.said())
    tell("error" not in change() and server.messages("OBJ_warder-results") == 0, "no part of it is left", server.state("OBJ_warder-results"))
    end(worker.process)


def waiting_request(server):
    """A submission whose request waits: what it has begun, and the signed request."""
    begun, text = submit(server, [shell("head -c 300000 /dev/zero | tr '\\0' x", policy=dict(policy(wallTime="60s"), output={"stdout": "1MiB"}))],
                         tenant="wide", key="wide.key")
    begun.stdin.write(text)
    begun.stdin.flush()
    until(lambda: server.messages("WARDER_REQUESTS") == 1)
    return begun, base64.b64decode(server.last("WARDER_REQUESTS", "warder.requests.wide"))


def orphans(server):
    """Objects that nobody will read."""
    begun, request = waiting_request(server)
    batch = json.loads(request.split(b"\n", 1)[1])["batch"]
    name, number, before = "0123456789abcdef" * 2, hashlib.sha256(request).hexdigest(), server.state("OBJ_warder-results")
    for subject in ("$O.warder-results.C." + name, "$O.warder-results.M." + base64.urlsafe_b64encode(name.encode()).decode()):
        server.ask(subject, b"part")
    stored = server.messages("OBJ_warder-results")
    server.ask("warder.results.wide.%s.%s" % (batch, "f" * 64), b"", headers={"Warder-Object": name, "Warder-Digest": "SHA-256=" + "A" * 44})
    tell(stored == before["messages"] + 2 and until(lambda: server.messages("OBJ_warder-results") == before["messages"]),
         "the object of a result that nobody waits for is removed", (before, stored, server.state("OBJ_warder-results")))
    begun.send_signal(signal.SIGSTOP)
    server.ask("warder.results.wide.%s.%s" % (batch, number), b'{"status": "first"}', headers={"Nats-Msg-Id": number})
    worker = Worker(server, "--parallel", "1")
    answered = until(lambda: server.messages("WARDER_REQUESTS") == 0)
    after = server.state("OBJ_warder-results")
    tell(answered and after["last_seq"] >= before["last_seq"] + 2 + 4 and after["messages"] == before["messages"],
         "so is that of a second result of the same request", (before, after))
    begun.send_signal(signal.SIGCONT)
    status, lines, errors = results((begun, None))
    tell(status == 0 and [one["result"] for one in lines] == [{"status": "first"}], "the first result is printed", (status, lines, errors))
    end(worker.process)


def lose_requests(name):
    """A server that has lost the end of its stream of requests, and not what it knows of the workers."""
    server = Server(name)
    worker = Worker(server, "--parallel", "2")
    first = ask(server, [shell("true")] * 2)
    end(server.process)
    stream, = [one for one, _, _ in os.walk(path(name + "-store")) if one.endswith("/WARDER_REQUESTS")]
    shutil.copytree(stream + "/msgs", path(name + "-msgs"))
    server.start()
    second = ask(server, [shell("true")] * 20)
    end(worker.process)
    end(server.process)
    shutil.rmtree(stream + "/msgs")
    shutil.copytree(path(name + "-msgs"), stream + "/msgs")
    server.start()
    ahead = server.requests()["delivered"]["stream_seq"], server.state("WARDER_REQUESTS")["last_seq"]
    tell(len(first) == 2 and len(second) == 20 and ahead[0] > ahead[1], "a server loses requests that were delivered", (first, second, ahead))
    return server, ahead[0]


def consumer_ahead():
    server, _ = lose_requests("ahead")
    worker = Worker(server, "--parallel", "2")
    found = ask(server, [shell("echo new%d" % i) for i in range(3)], words=["--lifetime", "%ds" % (200 * SLOW)])
    tell([found.get(i + 1, {}).get("result", {}).get("stdout", {}).get("text") for i in range(3)] == ["new0\n", "new1\n", "new2\n"],
         "requests at the positions of the lost ones are run", found)
    end(worker.process)
    end(server.process)


def positions_taken():
    """The positions of lost requests are all in use again before a worker looks: the consumer is not ahead any more, and would skip them."""
    server, delivered = lose_requests("taken")
    begun, text = submit(server, [shell("echo new%d" % i) for i in range(25)], words=["--lifetime", "%ds" % (200 * SLOW)])
    begun.stdin.write(text)
    begun.stdin.flush()
    full = until(lambda: server.messages("WARDER_REQUESTS") == 25)
    state = server.state("WARDER_REQUESTS")
    worker = Worker(server, "--parallel", "2")
    status, found, errors = results((begun, None))
    tell(full and state["first_seq"] <= delivered < state["last_seq"] and status == 0
         and sorted(one["result"].get("stdout", {}).get("text", "") for one in found) == sorted("new%d\n" % i for i in range(25)),
         "requests at the positions of lost ones are run, also if new ones follow", (state, status, found, errors))
    end(worker.process)
    end(server.process)


def consumer_made_once():
    """Several workers see that the consumer is ahead. One deletes it, and one makes it."""
    server = Server("once")
    workers = [Worker(server, "--parallel", "1") for _ in range(4)]
    found = ask(server, [shell("true")] * 2)
    for one in workers:
        one.process.send_signal(signal.SIGSTOP)
    end(server.process)
    stream, = [one for one, _, _ in os.walk(path("once-store")) if one.endswith("/WARDER_REQUESTS")]
    shutil.rmtree(stream + "/msgs")
    os.mkdir(stream + "/msgs")
    server.start()
    old = server.requests()
    ahead = old["delivered"]["stream_seq"], server.state("WARDER_REQUESTS")["last_seq"]
    after = {}

    def go_on():
        for one in workers:
            one.process.send_signal(signal.SIGCONT)
        until(lambda: server.requests().get("created", old["created"]) != old["created"], 200)
        after.update(ask(server, [shell("echo new%d" % i) for i in range(8)]))
        time.sleep(3)  # a worker that has seen the old one late would delete the new one now
    events = [json.loads(one) for one in server.heard("$JS.EVENT.ADVISORY.CONSUMER.*.WARDER_REQUESTS.workers", go_on)]
    actions = [one.get("action") for one in events]
    tell(len(found) == 2 and ahead[0] > ahead[1], "a server loses its requests while four workers wait", (found, ahead))
    tell([after.get(i + 1, {}).get("result", {}).get("stdout", {}).get("text") for i in range(8)] == ["new%d\n" % i for i in range(8)], "they run new ones", after)
    tell(sorted(actions) == ["create", "delete"], "the consumer is deleted once and made once", events)
    for one in workers:
        end(one.process)
    end(server.process)


def consumer_of_another():
    """A server that is asked by two workers at once refuses the second one; it also refuses to change a consumer, if it is an old one."""
    exists = no(10013, "consumer name already in use")
    for rows, expected in (([exists, consumer()], True), ([no(10099, "multiple non-filtered consumers not allowed on workqueue stream"), consumer()], True), ([exists], False)):
        server = Pretended({"CREATE.WARDER_REQUESTS.workers": rows, "CONSUMER.INFO.WARDER_REQUESTS.workers": [consumer(config=dict(consumer()["config"], ack_wait=600 * 10 ** 9))]})
        try:
            worker, why = Worker(server), ""
            end(worker.process)
        except RuntimeError as error:
            worker, why = None, str(error)
        tell(bool(worker) == expected and (server.count("CREATE.WARDER_REQUESTS.workers") == 2 if expected else "already in use" in why),
             "a worker that finds the consumer %s" % ("made meanwhile gives it its own time" if expected else "with another time, which the server does not change, does not start"), (rows, why, server.asked))
        server.end()


def consumer_made_meanwhile():
    """A worker has seen a consumer that is ahead. Before it deletes it, another worker has made a new one."""
    old = consumer(delivered={"consumer_seq": 9, "stream_seq": 9})
    server = Pretended({"CREATE.WARDER_REQUESTS.workers": [old], "DELETE.WARDER_REQUESTS.workers": [{"success": True}],
                        "CONSUMER.INFO.WARDER_REQUESTS.workers": [old, old, consumer(created="2026-01-01T00:00:01Z")]})
    worker = Worker(server, "--parallel", "1")
    seen = until(lambda: server.count("CONSUMER.INFO.WARDER_REQUESTS.workers") >= 4)
    tell(seen and not server.count("CONSUMER.DELETE.WARDER_REQUESTS.workers"), "a worker deletes no other consumer than the one that it has seen", server.asked)
    end(worker.process)
    server.end()


def changed_object(server):
    """Somebody who may write to the object store changes a result there: before the sender reads it, so the worker is alone at first."""
    begun, text = submit(server, [shell("head -c 300000 /dev/zero | tr '\\0' x", policy=dict(policy(wallTime="60s"), output={"stdout": "1MiB"}))])
    begun.stdin.write(text)
    begun.stdin.flush()
    tell(until(lambda: server.messages("WARDER_REQUESTS") == 1), "a request waits")
    begun.send_signal(signal.SIGSTOP)
    worker = Worker(server, "--parallel", "1")
    until(lambda: server.messages("WARDER_RESULTS") == 1)
    about = json.loads(base64.b64decode(server.last("OBJ_warder-results", "$O.warder-results.M.*")))
    part = "$O.warder-results.C." + about["nuid"]
    count = server.messages("OBJ_warder-results")
    digest = "SHA-256=" + base64.urlsafe_b64encode(hashlib.sha256(b"".join(server.each("OBJ_warder-results", part))).digest()).decode()
    tell(about["bucket"] == "warder-results" and about["size"] > 300000 and about["chunks"] == count - 1 == 3 and about["digest"] == digest,
         "the object has the description that other clients of NATS read", (about, count, digest))
    server.ask("$JS.API.STREAM.PURGE.OBJ_warder-results", json.dumps({"filter": part}).encode())
    for size in (131072, 131072, about["size"] - 262144):
        server.ask(part, b"y" * size)
    begun.send_signal(signal.SIGCONT)
    status, lines, errors = results((begun, None))
    kind, field, message = refusal(lines[0]) if lines else (None, None, "")
    tell(status == 0 and len(lines) == 1 and kind == "unavailable" and "digest" in message, "a changed object is refused by its digest", str(lines)[:500])
    tell(server.messages("OBJ_warder-results") == 0, "and it is removed", server.state("OBJ_warder-results"))
    end(worker.process)


def flags():
    def says(words, *expected):
        done = subprocess.run([WARDER] + words, capture_output=True, text=True, timeout=120 * SLOW, stdin=subprocess.DEVNULL)
        return done.returncode == 125 and not done.stdout and all(one in done.stderr for one in expected), done.stderr
    good, said = says(["worker"], "--nats is missing")
    tell(good, "a worker needs the server", said)
    for words, expected in ((["--nats", "nats://10.1.2.3:4222"], "not encrypted"), (["--nats", "tls://10.1.2.3:4222"], "--credentials"),
                            (["--nats", "nats://me:secret@127.0.0.1"], "holds credentials"), (["--nats", "http://127.0.0.1"], "must be tls:// or nats://"),
                            (["--nats", "nats://localhost"], "not encrypted"), (["--nats", "nats://127.0.0.1:1"], "nats://127.0.0.1:1")):
        good, said = says(["worker", "--state", path("state")] + words, expected)
        tell(good and "secret" not in said, "refused: " + " ".join(words), said)
    os.mkdir(path("alone"))
    shutil.copy(WARDER, path("alone/warder"))
    done = subprocess.run([path("alone/warder"), "submit", "--make-key", path("k")], capture_output=True, text=True)
    installed = any(os.path.exists(one + "/libexec/warder/warder-fleet") for one in ("/usr", "/usr/local"))
    tell(installed or (done.returncode == 125 and "warder-fleet is not installed" in done.stderr), "without warder-fleet, the reason is given", done.stderr)


def open_keys(server):
    os.chmod(path("alice.key"), 0o644)
    status, found, errors = results(submit(server, [shell("true")]))
    os.chmod(path("alice.key"), 0o600)
    tell(status == 125 and not found and "0600" in errors, "a key that others can read is refused", (status, found, errors))


def long_work(server):
    """Longer than the time after which a silent worker has lost its request."""
    found = ask(server, [shell("sleep %d; echo long" % (5 * SLOW), policy=policy(wallTime="100s"))])
    state = server.requests()
    tell(found.get(1, {}).get("result", {}).get("stdout", {}).get("text") == "long\n" and state["num_redelivered"] == 0 and
         state["delivered"]["consumer_seq"] == state["delivered"]["stream_seq"], "a worker that lives keeps a long request", (found, state))


def killed_worker(server):
    first = Worker(server, "--parallel", "1")
    at = int(time.time() + 10 * SLOW)  # the program does not end by itself before that
    begun = submit(server, [shell("[ $(date +%%s) -ge %d ] || sleep 1000; echo done" % at, id="k", policy=policy(wallTime="1000s"))])
    answer = []
    reader = threading.Thread(target=lambda: answer.append(results(begun)))
    reader.start()
    busy = until(lambda: first.children())
    children = first.children()
    end(first.process, signal.SIGKILL)
    gone = until(lambda: not any(os.path.exists("/proc/" + pid) for pid in children), 30)
    time.sleep(max(0, at - time.time()))
    second = Worker(server, "--parallel", "1")
    reader.join()
    status, found, errors = answer[0]
    tell(busy and status == 0 and len(found) == 1 and found[0]["id"] == "k" and found[0]["result"]["stdout"]["text"] == "done\n",
         "a worker is killed, and another one answers, once", answer)
    tell(gone, "the jail of a killed worker ends", children)
    tell(end(second.process) == 143, "a signal ends a worker")


def given_back(server):
    first = Worker(server, "--parallel", "1", redeliver="%ds" % (120 * SLOW))
    begun = submit(server, [shell("sleep 5; echo back")])
    answer = []
    reader = threading.Thread(target=lambda: answer.append(results(begun)))
    reader.start()
    until(lambda: first.children())
    children = first.children()
    status = end(first.process)
    left = [pid for pid in children if os.path.exists("/proc/" + pid)]
    second = Worker(server, "--parallel", "1", redeliver="%ds" % (120 * SLOW))
    begin = time.monotonic()
    reader.join()
    tell(status == 143 and not left and answer[0][0] == 0 and answer[0][1][0]["result"]["stdout"]["text"] == "back\n" and
         time.monotonic() - begin < 100 * SLOW, "a worker that ends gives its request back at once, and leaves no process", (status, left, answer))
    end(second.process)


def given_up(server):
    workers = [Worker(server, "--parallel", "1", "--deliveries", "1", redeliver="1s")]
    begun = submit(server, [shell("sleep 100; echo done", id="up")])
    answer = []
    reader = threading.Thread(target=lambda: answer.append(results(begun)))
    reader.start()
    until(lambda: workers[0].children())
    end(workers[0].process, signal.SIGKILL)
    workers.append(Worker(server, "--parallel", "1", "--deliveries", "1", redeliver="1s"))
    reader.join()
    status, found, errors = answer[0]
    kind, field, message = refusal(found[0]) if found else (None, None, "")
    tell(status == 0 and kind == "executionFailed" and "without an answer" in message, "a request that comes back too often is given up", answer)
    tell("without an answer" in server.dead("alice") and "Warder-Deliveries: 2" in server.dead("alice"), "it is a dead letter, with the reason", server.dead("alice"))
    end(workers[1].process)


def unable():
    """The words before a command that take user namespaces away from it, and with them what a jail needs."""
    words = ["unshare", "-Ur", "sh", "-c", 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" "$@"']
    return words if subprocess.run(words + ["true"], capture_output=True).returncode == 0 else None


def cannot_run(server):
    if not unable():
        for name in ("a host that cannot run programs gives a request back", "another worker answers it", "it is given up with the reason", "it is a dead letter"):
            skip(name, "no user namespace without user namespaces can be made here")
        return
    idle = Worker(server, "--parallel", "2", before=unable())
    begun = submit(server, [shell("echo able", id="a", policy=policy(wallTime="30s"))], tenant="wide", key="wide.key")
    answer = []
    reader = threading.Thread(target=lambda: answer.append(results(begun)))
    reader.start()
    tell(until(lambda: "is tried again" in idle.said() and "cannot run programs" in idle.said()),
         "a host that cannot run programs gives a request back, and rests", idle.said())
    able = Worker(server, "--parallel", "1")
    reader.join()
    status, found, errors = answer[0]
    tell(status == 0 and len(found) == 1 and found[0]["result"].get("stdout", {}).get("text") == "able\n", "another worker answers it", answer)
    end(able.process)
    end(idle.process)
    idle = Worker(server, "--parallel", "1", "--deliveries", "2", before=unable())
    found = ask(server, [shell("echo never", policy=policy(wallTime="30s"))], tenant="wide", key="wide.key")
    kind, field, message = refusal(found.get(1, {}))
    tell(kind == "unavailable" and "was delivered 2 times, and no worker could run it: " in message, "if no host can run it, it is given up with the reason", found)
    tell("no worker could run it: " in server.dead("wide") and "Warder-Deliveries: 2" in server.dead("wide"), "it is a dead letter, with the reason", server.dead("wide"))
    end(idle.process)


def restarted(server, worker):
    begun = submit(server, [shell("sleep 0.2; echo %d" % i) for i in range(30)])
    answer = []
    reader = threading.Thread(target=lambda: answer.append(results(begun)))
    reader.start()
    until(lambda: worker.children())
    end(server.process, signal.SIGKILL)
    time.sleep(0.5)
    server.start()
    reader.join()
    status, found, errors = answer[0]
    texts = sorted(int(one["result"].get("stdout", {}).get("text", -1)) for one in found)
    tell(status == 0 and texts == list(range(30)), "the server is killed and starts again: one result each", (status, texts, errors))


def late(server):
    status, found, errors = results(submit(server, [shell("echo late")], words=["--lifetime", "1s"]))
    kind, field, message = refusal(found[0]) if found else (None, None, "")
    tell(status == 0 and kind == "timeout" and "--lifetime" in message, "without a worker, a request ends with its lifetime", (status, found, errors))
    worker = Worker(server, "--parallel", "1")
    tell(until(lambda: "expired" in server.dead("alice")), "a worker does not run it later", server.dead("alice"))
    end(worker.process)


def encrypted():
    def certificate(name):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=" + name,
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path(name + ".pem.key"), "-out", path(name + ".pem")], check=True, capture_output=True)
    certificate("right")
    certificate("other")
    server = Server("tls", 'tls { cert_file: "%s", key_file: "%s" }\n' % (path("right.pem"), path("right.pem.key")))
    server.url = server.url.replace("nats://", "tls://")
    for words, expected in ((["--ca-file", path("other.pem")], False), ([], False), (["--ca-file", path("right.pem")], True)):
        done = subprocess.run([WARDER, "submit", "--nats", server.url, "--tenant", "alice", "--key", path("alice.key")] + words,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120 * SLOW)
        tell((done.returncode == 0) == expected, "TLS, %s: %s" % (words[-1].rsplit("/")[-1] if words else "authorities of the host", "accepted" if expected else "refused"), done.stderr)
    end(server.process)


# ---- many requests ----

MARK = "WARDER_FLEET_STORM"


def marked():
    """Processes that a worker of the storm has started, and the worker itself."""
    found = []
    for pid in os.listdir("/proc"):
        try:
            if pid.isdigit() and ("%s=%s" % (MARK, work)).encode() in open("/proc/%s/environ" % pid, "rb").read().split(b"\0"):
                found.append(pid)
        except OSError:
            pass
    return [pid for pid in found if pid != str(os.getpid())]


def waiting_workers():
    """Workers of the kernel that wait to free a system call filter: if there are many hundreds, the kernel can free none any more."""
    return subprocess.run(["ps", "-eo", "wchan:32"], capture_output=True, text=True).stdout.count("bpf_prog_pack_free")


class Storm:
    WORKERS = 3

    def __init__(self, number):
        self.number = number
        self.seed = int(os.environ.get("WARDER_FLEET_SEED") or random.randrange(1 << 32))
        self.dice = random.Random(self.seed)
        self.kills = {"worker": 0, "server": 0}
        self.found = []
        self.server = Server("storm")
        self.before = [MARK + "=" + work]
        self.workers = [self.worker() for _ in range(self.WORKERS)]
        self.process, lines = submit(self.server, [{"argv": ["echo", self.text(line)], "id": str(line)} for line in range(1, number + 1)])
        self.threads = [threading.Thread(target=one, args=args) for one, args in ((self.feed, (lines,)), (self.read, ()))]
        self.begin = time.monotonic()

    @staticmethod
    def text(line):
        return "%d squared is %d" % (line, line * line)

    def worker(self):
        return Worker(self.server, "--parallel", "2", "--deliveries", "1000", before=["env"] + self.before)

    def feed(self, lines):
        try:
            self.process.stdin.write(lines)
            self.process.stdin.close()
        except BrokenPipeError:
            pass

    def read(self):
        for text in self.process.stdout:
            one = json.loads(text)
            self.found.append((one["line"], one["id"], one["result"].get("exitCode"), one["result"].get("stdout", {}).get("text"), one["result"].get("error")))

    def kill(self, kind):
        time.sleep(self.dice.uniform(0, 0.2))
        self.kills[kind] += 1
        if kind == "server":
            end(self.server.process, signal.SIGKILL)
            time.sleep(self.dice.uniform(0, 1))
            self.server.start()
        else:
            place = self.dice.randrange(self.WORKERS)
            end(self.workers[place].process, signal.SIGKILL)
            self.workers[place] = self.worker()

    def rest(self):
        """Whether the kernel can go on."""
        if waiting_workers() < 100:
            return True
        for one in self.workers:
            end(one.process)
        good = until(lambda: waiting_workers() < 20, 60)
        self.workers = [self.worker() for _ in range(self.WORKERS)] if good else []
        return good

    def is_over(self):
        return self.process.poll() is not None

    def run(self):
        """Until all results are there. False: a time without progress, or the kernel cannot go on."""
        for one in self.threads:
            one.start()
        good, after, kinds = True, 10, ["server", "worker"]
        while good and after < self.number:
            good = until(lambda: len(self.found) >= after or self.is_over(), 120)
            for kind in kinds if good and not self.is_over() else []:
                self.kill(kind)
            good = good and self.rest()
            after = len(self.found) + self.dice.randrange(15, 60) * (1 + self.number // 5000)
            kinds = [self.dice.choice(("worker", "worker", "server"))]
        good = good and until(self.is_over, 120)
        if not good:
            self.process.kill()
        for one in self.threads:
            one.join()
        return good

    def stop(self):
        for one in self.workers:
            end(one.process)
        end(self.server.process)


def storm():
    number = REQUESTS
    all_of_it = Storm(number)
    good = all_of_it.run()
    found, kills = all_of_it.found, all_of_it.kills
    print("# note: %d requests in %d s, while %d workers and %d times the server were killed; seed %d"
          % (number, time.monotonic() - all_of_it.begin, kills["worker"], kills["server"], all_of_it.seed))
    errors = all_of_it.process.stderr.read()
    tell(good and all_of_it.process.returncode == 0, "%d requests, while workers and the server are killed at random: an answer to all" % number,
         (len(found), all_of_it.process.returncode, errors, all_of_it.seed))
    wrong = [one for one in found if one != (one[0], str(one[0]), 0, Storm.text(one[0]) + "\n", None)]
    tell(sorted(one[0] for one in found) == list(range(1, number + 1)), "one result for each request", (len(found), len({one[0] for one in found}), all_of_it.seed))
    tell(found and not wrong, "each is the result of its own request", (wrong[:5], len(wrong), all_of_it.seed))
    tell(kills["worker"] and kills["server"], "workers and the server were killed meanwhile", kills)
    all_of_it.workers.append(all_of_it.worker())  # a server that is killed may forget that it has removed a request, and a worker removes it then
    tell(until(lambda: all_of_it.server.messages("WARDER_REQUESTS") == 0, 60), "no request is left in the server", all_of_it.server.messages("WARDER_REQUESTS"))
    all_of_it.stop()
    tell(until(lambda: not marked(), 30), "no process of a killed worker is left", marked())


# ---- users of a server ----

class Signer:
    """An Ed25519 key in the form of NATS (nkeys): base32 of a kind, the key and a checksum."""
    def __init__(self, name, kind):
        self.kind, self.file = kind, path(name + ".pem")
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.file], check=True)
        private = subprocess.run(["openssl", "pkey", "-in", self.file, "-outform", "DER"], check=True, capture_output=True).stdout[-32:]
        public = subprocess.run(["openssl", "pkey", "-in", self.file, "-pubout", "-outform", "DER"], check=True, capture_output=True).stdout[-32:]
        self.public = self.encode(bytes([kind << 3]) + public)
        self.seed = self.encode(bytes([18 << 3 | kind >> 2, kind << 6 & 0xff]) + private)

    @staticmethod
    def encode(raw):
        checksum = 0
        for byte in raw:
            checksum ^= byte << 8
            for _ in range(8):
                checksum = (checksum << 1 ^ 0x1021 if checksum & 0x8000 else checksum << 1) & 0xffff
        return base64.b32encode(raw + checksum.to_bytes(2, "little")).decode().rstrip("=")

    def sign(self, subject, name, **claims):
        def part(raw):
            return base64.urlsafe_b64encode(raw).decode().rstrip("=")
        body = {"jti": name, "iat": int(time.time()), "iss": self.public, "sub": subject, "name": name, "nats": dict(claims, version=2)}
        text = part(b'{"typ":"JWT","alg":"ed25519-nkey"}') + "." + part(json.dumps(body).encode())
        with open(path("to-sign"), "w") as file:
            file.write(text)
        done = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", self.file, "-in", path("to-sign")], check=True, capture_output=True)
        return text + "." + part(done.stdout)


def with_credentials():
    operator, system, account, user = Signer("operator", 14), Signer("system", 0), Signer("account", 0), Signer("user", 20)
    limits = {one: -1 for one in ("subs", "data", "payload", "imports", "exports", "conn", "leaf", "mem_storage", "disk_storage", "streams", "consumer")}
    plain = {one: -1 for one in limits if one not in ("mem_storage", "disk_storage", "streams", "consumer")}
    server = Server("users", 'operator: "%s"\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: { %s: "%s", %s: "%s" }\n'
                    % (operator.sign(operator.public, "operator", type="operator"), system.public,
                       system.public, operator.sign(system.public, "system", type="account", limits=dict(plain, wildcards=True)),
                       account.public, operator.sign(account.public, "fleet", type="account", limits=dict(limits, wildcards=True))))
    with open(path("credentials"), "w") as file:
        file.write("-----BEGIN NATS USER JWT-----\n%s\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n%s\n------END USER NKEY SEED------\n"
                   % (account.sign(user.public, "worker", type="user", subs=-1, data=-1, payload=-1), user.seed))
    words = ["--credentials", path("credentials")]
    worker = Worker(server, "--parallel", "1", *words)
    found = ask(server, [shell("echo user")], words=words)
    tell(found.get(1, {}).get("result", {}).get("stdout", {}).get("text") == "user\n", "a server with users takes the credentials file", found)
    status, found, errors = results(submit(server, [shell("echo user")]))
    tell(status == 125 and not found and "uthorization" in errors, "without it, the server refuses", (status, found, errors))
    end(worker.process)
    end(server.process)


def requests():
    server = Server("main")
    worker = Worker(server, "--parallel", "2", redeliver="%ds" % (2 * SLOW))
    exact(server)
    malformed(server)
    refused(server)
    open_keys(server)
    long_results(server)
    beats(server)
    long_work(server)
    restarted(server, worker)
    end(worker.process)
    killed_worker(server)
    given_back(server)
    given_up(server)
    cannot_run(server)
    changed_object(server)
    orphans(server)
    full_objects(server)
    late(server)
    flags()
    consumer_ahead()
    positions_taken()
    consumer_made_once()
    consumer_of_another()
    consumer_made_meanwhile()
    encrypted()
    with_credentials()


if not os.path.exists(SERVER):
    skip("all of it", "nats-server is not installed")
    finish()
try:
    keys()
    run_parts([storm, requests])
finally:
    for process in reversed(processes):
        end(process)
