#!/usr/bin/env python3
"""snapshots.py: the files of sandboxes, stored and begun with again, over E2B's calls and Warder's own, as TAP. WARDER names the program
(build/warder)."""
import fcntl, http.client, json, os, shutil, signal, subprocess, threading

from lib import Host, WARDER, own_run_directory, run_parts, state_of, tell, until, work

own_run_directory()  # other suites must not find the sessions of this one, nor end them

TREE = ("umask 022; mkdir -p /tmp/d/empty && echo one > /tmp/d/a && ln /tmp/d/a /tmp/d/b && ln -s a /tmp/d/l && echo s > /dev/shm/s"
        " && chmod 600 /tmp/d/a && mkfifo /tmp/d/p && touch -d @1000000000 /tmp/d/a")
LOOK = ("cd /tmp/d && stat -c '%n %a %h %Y %F' a l p empty && cat b l /dev/shm/s && test $(stat -c %i a) = $(stat -c %i b) && echo same")


class Client:
    def __init__(self, host, token):
        self.host, self.token = host, token

    def ask(self, method, path, body=None):
        return self.host.ask(method, path, self.token, {} if body is None and method == "POST" else body or b"")

    def create(self, template="base", **more):
        status, made, _ = self.ask("POST", "/v2/sandboxes", dict({"templateID": template, "timeout": 600}, **more))
        if status != 201:
            raise RuntimeError("no sandbox: %s %s" % (status, made))
        return made["sandboxID"]

    def sh(self, sandbox, script):
        status, made, _ = self.ask("POST", "/v1/sandboxes/%s/executions" % sandbox, {"argv": ["sh", "-c", script]})
        if status != 201:
            return "%s %s" % (status, made)
        events = self.ask("GET", "/v1/sandboxes/%s/executions/%s/output" % (sandbox, made["id"]))[1].decode().split("\n")
        return "".join(json.loads(line[6:]).get("text", "") for line in events if line.startswith("data: "))

    def store(self, sandbox, **body):
        return self.ask("POST", "/sandboxes/%s/snapshots" % sandbox, body)[:2]


def attempt(call):
    """What it returns; None if the host went away."""
    try:
        return call()
    except (OSError, http.client.HTTPException):
        return None


def stores(host):
    return os.path.join(host.state, "stores")


def on_the_way(host):
    """What stores have besides the snapshots."""
    return [os.path.join(root, name) for root, names, _ in os.walk(stores(host)) for name in names if os.path.basename(root) == "workspaces"]


def freezes(client, sandbox):
    """Whether this host can stop the programs of a sandbox; an ordinary user's, as a rule, cannot."""
    good = client.ask("POST", "/sandboxes/%s/pause" % sandbox)[0] == 204
    if good:
        client.ask("POST", "/sandboxes/%s/resume" % sandbox, {"timeout": 600})
    return good


def a_snapshot_and_what_begins_with_it():
    host = Host("tree")
    client = Client(host, host.tenant("me"))
    first = client.create()
    expected = client.sh(first, TREE + " && " + LOOK)
    frozen = freezes(client, first)
    if frozen:
        client.ask("POST", "/v1/sandboxes/%s/executions" % first, {"argv": ["sh", "-c", "i=0; while :; do i=$((i+1)); echo $i > /tmp/count; sleep 0.01; done"]})
    status, snapshot = client.store(first, name="me/first:v1")
    tell(status == 201 and snapshot["names"] == ["me/first:v1"] and snapshot["snapshotID"].startswith("snap-"), "the files of a sandbox that runs are stored", (status, snapshot))
    if frozen:
        at = client.sh(first, "cat /tmp/count")
        tell(until(lambda: client.sh(first, "cat /tmp/count") != at, 60), "its programs go on", at)
    second = client.create(snapshot["snapshotID"])
    seen = client.sh(second, LOOK)
    tell(seen == expected and "same" in seen and "600 2 1000000000" in seen, "a sandbox begins with them: content, modes, times, links", (expected, seen))
    client.sh(second, "echo two > /tmp/d/b; rm /tmp/d/l")
    client.sh(first, "echo three > /tmp/d/a")
    third = client.create("me/first:v1")
    tell(client.sh(third, LOOK) == expected, "another one finds it by its name, as it was", client.sh(third, LOOK))
    shown = client.ask("GET", "/sandboxes/" + third)[1]
    tell(shown["templateID"] == "base", "its template is that of the first one", shown)
    for sandbox in (first, second, third):
        client.ask("DELETE", "/sandboxes/" + sandbox)
    fourth = client.create(snapshot["snapshotID"])
    tell(client.sh(fourth, LOOK) == expected, "the snapshot outlives its sandbox", "")
    _, again = client.store(fourth, name="me/first:v1")
    client.sh(fourth, "echo newer > /tmp/newer")
    status, newest = client.store(fourth, name="me/first:v1")
    fifth = client.create("me/first:v1")
    tell(status == 201 and client.sh(fifth, "cat /tmp/newer") == "newer\n", "a name means the newest snapshot", (status, newest))
    ids = lambda query="": [row["snapshotID"] for row in client.ask("GET", "/snapshots" + query)[1]]
    tell(ids() == [newest["snapshotID"], again["snapshotID"], snapshot["snapshotID"]], "snapshots are listed, the newest first", ids())
    tell(ids("?sandboxID=" + first) == [snapshot["snapshotID"]] and len(ids("?name=me%2Ffirst%3Av1")) == 3 and ids("?name=other") == [] and
         ids("?name=" + newest["snapshotID"]) == [newest["snapshotID"]], "the list can be filtered", ids("?sandboxID=" + first))
    status = client.ask("DELETE", "/templates/" + snapshot["snapshotID"])[0]
    tell(status == 204 and snapshot["snapshotID"] not in ids() and client.ask("DELETE", "/templates/" + snapshot["snapshotID"])[0] == 404 and
         client.ask("POST", "/v2/sandboxes", {"templateID": snapshot["snapshotID"]})[0] == 404, "a snapshot that was removed is gone", status)
    for one in ids():
        client.ask("DELETE", "/templates/" + one)
    blobs = [os.path.join(root, name) for root, _, names in os.walk(stores(host)) for name in names if os.path.getsize(os.path.join(root, name))]
    tell(not on_the_way(host) and not blobs, "nothing of the files is left on the disk", (on_the_way(host), blobs))
    host.end()


def a_paused_sandbox():
    host = Host("paused")
    client = Client(host, host.tenant("me"))
    one = client.create()
    client.sh(one, TREE)
    expected = client.sh(one, LOOK)
    if freezes(client, one):
        client.ask("POST", "/sandboxes/%s/pause" % one)
        status, snapshot = client.store(one)
        state = client.ask("GET", "/sandboxes/" + one)[1]["state"]
        tell(status == 201 and snapshot["names"] == [] and state == "paused", "a paused sandbox is stored, and stays paused", (status, snapshot, state))
        tell(client.sh(client.create(snapshot["snapshotID"]), LOOK) == expected, "a sandbox begins with its files", "")
    else:
        status, snapshot = client.store(one)
        tell(status == 201, "a sandbox in which nothing runs is stored", (status, snapshot))
        tell(client.sh(client.create(snapshot["snapshotID"]), LOOK) == expected, "a sandbox begins with its files", "")
    host.end()


def a_copy_that_its_launcher_left():
    host = Host("copied")
    client = Client(host, host.tenant("me"))
    one = client.create()
    if not freezes(client, one):
        return host.end()
    client.sh(one, "cd /tmp && for i in $(seq 2000); do head -c 50000 /dev/zero > f$i; done")
    client.ask("POST", "/v1/sandboxes/%s/executions" % one, {"argv": ["sh", "-c", "while :; do echo x >> /tmp/grows; sleep 0.02; done"]})
    for turn in range(20):  # until it was stopped before it had ended
        client.ask("POST", "/sandboxes/%s/pause" % one)
        place = os.path.join(host.state, "copy%d" % turn)
        os.mkdir(place)
        copy = subprocess.Popen([WARDER, "session", "save", one, place, str(1 << 30)], stdout=subprocess.DEVNULL)
        until(lambda: os.listdir(place) or copy.poll() is not None)
        copy.send_signal(signal.SIGSTOP)
        status, refused, _ = client.ask("POST", "/v1/sandboxes/%s/resume" % one, {"timeoutMs": 60000})
        if status != 204:
            break
        copy.kill()
        copy.wait()
    state = client.ask("GET", "/v1/sandboxes/" + one)[1]["state"]
    tell(status == 409 and "cop" in refused["message"] and state == "paused", "a sandbox of which a copy is being made is not said to go on", (status, refused, state))
    copy.kill()
    copy.wait()
    statuses = []
    goes_on = until(lambda: statuses.append(client.ask("POST", "/v1/sandboxes/%s/resume" % one, {"timeoutMs": 60000})[0]) or statuses[-1] == 204)
    before = client.sh(one, "wc -c < /tmp/grows")
    tell(goes_on and until(lambda: client.sh(one, "wc -c < /tmp/grows") != before), "and it can be resumed afterwards", (statuses[-3:], before))
    host.end()


def own_calls():
    host = Host("own")
    client = Client(host, host.tenant("me"))
    one = client.create()
    client.sh(one, TREE)
    path = "/v1/sandboxes/%s/snapshots" % one
    status, made, _ = client.ask("POST", path, {"name": "mine", "idempotencyKey": "k"})
    tell(status == 201 and made["sandbox"] == one and made["template"] == "base" and made["name"] == "mine" and made["bytes"] == 6, "POST /v1/sandboxes/ID/snapshots stores", (status, made))
    status, again, _ = client.ask("POST", path, {"name": "mine", "idempotencyKey": "k"})
    rows = client.ask("GET", "/v1/snapshots")[1]
    tell(status == 200 and again == made and rows == [made], "the same request with the same key stores once", (status, again, rows))
    status, refused, _ = client.ask("POST", path, {"name": "other", "idempotencyKey": "k"})
    tell(status == 409, "another request with the key is refused", (status, refused))
    two = client.create()
    status, refused, _ = client.ask("POST", "/v1/sandboxes/%s/snapshots" % two, {"name": "mine", "idempotencyKey": "k"})
    tell(status == 409 and refused["field"] == "idempotencyKey", "the same body for another sandbox is another request", (status, refused))
    status, sandbox, _ = client.ask("POST", "/v1/sandboxes", {"template": "mine", "metadata": {"a": "b"}})
    tell(status == 201 and client.sh(sandbox["id"], "cat /tmp/d/b") == "one\n", "POST /v1/sandboxes begins with it", (status, sandbox))
    used = client.ask("GET", "/v1/host")[1]["tenant"]["used"]
    tell((used["snapshots"], used["snapshotBytes"]) == (1, made["storedBytes"]) and made["storedBytes"] > 6 + 7 * 4096, "GET /v1/host counts it, with 4 KiB for each file", (used, made))
    client.sh(one, "python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).bind(\"/tmp/s\")'")
    status, more, _ = client.ask("POST", path, {})
    tell(status == 201 and (made["leftOut"], more["leftOut"], more["attributesLost"]) == (0, 1, 0), "a socket that was left out is counted", more)
    client.ask("DELETE", "/v1/snapshots/" + more["id"])
    tell(client.ask("DELETE", "/v1/snapshots/mine")[0] == 204 and client.ask("GET", "/v1/snapshots")[1] == [], "DELETE /v1/snapshots/ID removes it", "")
    for body, why in (({"name": "base"}, "a template"), ({"name": "a b"}, "letters"), ({"name": "x" * 65}, "64"), ({"name": 1}, "text"), ({"nam": "x"}, "nam")):
        status, refused, _ = client.ask("POST", path, body)
        tell(status == 400 and why in refused["message"], "the body %s is refused" % json.dumps(body)[:40], (status, refused))
    host.end()


def tenants_and_their_share():
    host = Host("share")
    me = Client(host, host.tenant("me", snapshots=2, snapshotBytes=3 << 20))
    other = Client(host, host.tenant("other"))
    one = me.create()
    me.sh(one, "head -c 1048576 /dev/urandom > /tmp/x")
    status, snapshot = me.store(one, name="mine")
    hidden = [other.ask("GET", "/snapshots")[1], other.ask("GET", "/v1/snapshots")[1]]
    tell(status == 201 and hidden == [[], []], "another tenant does not see it", (snapshot, hidden))
    answers = [other.ask("POST", "/v2/sandboxes", {"templateID": text})[0] for text in (snapshot["snapshotID"], "mine")] + [
        other.ask("DELETE", "/templates/" + snapshot["snapshotID"])[0], other.ask("POST", "/sandboxes/%s/snapshots" % one, {})[0]]
    tell(answers == [404] * 4, "nor can it use, remove or make one of another's sandbox", answers)
    me.sh(one, "head -c 2500000 /dev/urandom > /tmp/y")
    status, refused = me.store(one)
    tell(status == 429 and "snapshotBytes" in json.dumps(refused), "more bytes than the tenant may have are refused", (status, refused))
    tell(not on_the_way(host), "and nothing stays of them", on_the_way(host))
    me.sh(one, "rm /tmp/y")
    me.sh(one, "mkdir /tmp/many && cd /tmp/many && touch $(seq 1000)")
    status, refused = me.store(one)
    tell(status == 429 and "snapshotBytes" in json.dumps(refused) and len(me.ask("GET", "/snapshots")[1]) == 1, "many small files are refused, too", (status, refused))
    me.sh(one, "rm -r /tmp/many")
    statuses = [me.store(one)[0], me.store(one)[0]]
    tell(statuses == [201, 429], "and so are more snapshots", statuses)
    me.sh(one, "rm /tmp/x; truncate -s 100M /tmp/z")
    me.ask("DELETE", "/templates/mine")
    status, refused = me.store(one)
    tell(status == 429, "a file that is all hole counts as large as it seems", (status, refused))
    me.sh(one, "rm /tmp/z; echo x > /tmp/closed; chmod 0 /tmp/closed")
    status, refused = me.store(one)
    tell(status in (409, 503) and "closed" in refused["message"] or status == 201 and os.geteuid() != 0, "a file that the sandbox's user cannot read is named", (status, refused))
    tell("ok" in me.sh(one, "echo ok"), "the sandbox goes on", "")
    mine = len(os.listdir(stores(host)))
    subprocess.run([WARDER, "tenant", "revoke", "me", "--state", host.state], check=True)
    tell(mine == 1 and until(lambda: not os.listdir(stores(host)) and not os.listdir(os.path.join(host.state, "snapshots")), 60),
         "when a tenant is revoked, its store goes", (mine, os.listdir(stores(host))))
    host.end()


def sessions_of_others():
    """A session that is being set up could write to any workspace. The host's stores are in no session."""
    host = Host("others")
    client = Client(host, host.tenant("me"))
    one = client.create()
    client.sh(one, TREE)
    other = subprocess.Popen([WARDER, "session", "start", "other-%d" % os.getpid(), "--prefer", "limits", "--setup", "sleep 600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = lambda: json.loads(subprocess.run([WARDER, "session", "list", "--json"], capture_output=True, text=True).stdout or "[]")
    tell(until(lambda: any(row["name"] == "other-%d" % os.getpid() and row.get("settingUp") for row in rows()), 60), "a session of the operator is being set up", rows())
    try:
        status, snapshot = client.store(one)
        tell(status == 201, "a sandbox is stored meanwhile", (status, snapshot))
        second = client.create(snapshot["snapshotID"])
        tell("one" in client.sh(second, LOOK) and not on_the_way(host), "and another one begins with its files", "")
    except OSError as error:
        tell(False, "a sandbox is stored meanwhile, and another one begins with its files", error)
    other.terminate()
    other.wait()
    host.end()


def refusals():
    """What the host cannot store, or does not find, is told as what it is."""
    host = Host("refusals")
    client = Client(host, host.tenant("me"))
    one = client.create()
    client.sh(one, "cd /tmp; for i in $(seq 140); do mkdir d; cd d; done")
    status, refused = client.store(one)
    tell(status == 400 and "deep" in refused["message"], "a tree that is too deep is refused", (status, refused))
    client.sh(one, "rm -r /tmp/d; echo one > /tmp/a")
    status, snapshot, _ = client.ask("POST", "/v1/sandboxes/%s/snapshots" % one, {"name": "mine"})
    store = os.path.join(stores(host), os.listdir(stores(host))[0])
    subprocess.run([WARDER, "snapshot", "remove", snapshot["id"], "--store", store], check=True)
    status, refused, _ = client.ask("POST", "/v1/sandboxes", {"template": "mine"})
    tell(status == 404 and not on_the_way(host), "a snapshot that went meanwhile is not found", (status, refused))
    tell(client.ask("DELETE", "/v1/snapshots/mine")[0] == 204 and client.ask("GET", "/v1/snapshots")[1] == [], "and can be removed", "")
    host.end()


class Held:
    """A lock of a directory, as a process has it that works there."""

    def __init__(self, path, how):
        self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self.fd, how)
        self.inode = ":%d " % os.fstat(self.fd).st_ino

    def is_waited_for(self):
        return any("->" in line and self.inode in line for line in open("/proc/locks"))

    def release(self):
        os.close(self.fd)


class Asking(threading.Thread):
    """A request that is not answered at once."""

    def __init__(self, ask, *args):
        super().__init__()
        self.call, self.answer = (ask, args), (0, "no answer")
        self.start()

    def run(self):
        try:
            self.answer = self.call[0](*self.call[1])
        except OSError as error:
            self.answer = (0, str(error))


def content(host):
    return [os.path.join(root, name) for root, _, names in os.walk(stores(host)) for name in names if os.path.basename(root) == "content"]


def store_of(host, name):
    return [os.path.join(stores(host), one) for one in os.listdir(stores(host)) if one.startswith(name + "-")][0]


def revoke(host, name):
    subprocess.run([WARDER, "tenant", "revoke", name, "--state", host.state], check=True)


def opens(host, path):
    """Whether the launcher has the directory open: it is at the lock on it."""
    place = "/proc/%d/fd/" % host.process.pid
    return any(attempt(lambda: os.readlink(place + fd)) == path for fd in os.listdir(place))


def a_revoked_tenant():
    host = Host("revoked")
    clients = {name: Client(host, host.tenant(name)) for name in ("busy", "back", "late")}
    for client in clients.values():
        client.sandbox = client.create()
        client.sh(client.sandbox, "echo one > /tmp/a")
        client.store(client.sandbox)
    busy = [Held(path, fcntl.LOCK_SH) for path in (stores(host), store_of(host, "busy"))]
    file = os.path.join(host.state, "tenants", "back.json")
    shutil.copy(file, file + ".kept")
    revoke(host, "back")
    gone = lambda: not any(name.startswith("back-") for name in os.listdir(stores(host)))
    tell(until(gone, 60), "the store of a revoked tenant goes while somebody works in another store", os.listdir(stores(host)))
    for one in busy:
        one.release()
    until(gone, 60)
    os.rename(file + ".kept", file)
    back = lambda: clients["back"].ask("GET", "/v1/snapshots")
    used = lambda: clients["back"].ask("GET", "/v1/host")[1]["tenant"]["used"]
    tell(until(lambda: back()[0] == 200, 60) and until(lambda: back()[1] == [] and used()["snapshots"] == 0, 60), "if it comes back, it has no snapshots", back())
    held = [Held(path, fcntl.LOCK_EX) for path in (stores(host), store_of(host, "late"))]
    asking = Asking(clients["late"].store, clients["late"].sandbox)
    until(lambda: opens(host, store_of(host, "late")), 60)
    revoke(host, "late")
    until(lambda: clients["late"].ask("GET", "/v1/host")[0] == 401, 60)
    for one in held:
        one.release()
    asking.join()
    tell(asking.answer[0] == 401, "what a tenant has begun is refused when it is revoked", asking.answer)
    tell(until(lambda: not any(name.startswith("late-") for name in os.listdir(stores(host))) and len(os.listdir(os.path.join(host.state, "snapshots"))) == 1, 60),
         "and nothing of it is left", (os.listdir(stores(host)), os.listdir(os.path.join(host.state, "snapshots"))))
    host.end()


def content_that_was_removed():
    """It counts until it is gone, however long another process writes."""
    host = Host("removed")
    client = Client(host, host.tenant("me"))
    one = client.create()
    client.sh(one, "echo one > /tmp/a")
    client.ask("POST", "/v1/sandboxes/%s/snapshots" % one, {"name": "mine"})
    used = lambda: [client.ask("GET", "/v1/host")[1]["tenant"]["used"][key] for key in ("snapshots", "snapshotBytes")]
    before = used()
    writer = Held(os.path.join(store_of(host, "me"), "snapshots", "content"), fcntl.LOCK_SH)
    asking = Asking(client.ask, "DELETE", "/v1/snapshots/mine")
    waited = until(writer.is_waited_for, 40)
    tell(waited and used() == before and len(content(host)) == 1, "a snapshot counts while its content cannot be removed", (before, used(), asking.answer))
    writer.release()
    asking.join()
    tell(asking.answer[0] == 204 and not content(host) and used() == [0, 0], "then it is gone", (asking.answer, content(host), used()))
    host.end()


def restart(host, how):
    host.process.send_signal(how)
    host.restart()


def tools_of(host, *words):
    """The processes of the tool that the launcher has started with these words."""
    found = []
    for task in os.listdir("/proc/%d/task" % host.process.pid):
        pids = attempt(lambda: open("/proc/%d/task/%s/children" % (host.process.pid, task)).read().split()) or []  # the thread may have ended
        for pid in pids:
            try:
                if open("/proc/%s/cmdline" % pid, "rb").read().split(b"\0")[1:1 + len(words)] == [word.encode() for word in words]:
                    found.append(int(pid))
            except OSError:
                pass
    return found


def an_end_during_a_store():
    host = Host("ends")
    client = Client(host, host.tenant("me"))
    one = client.create()
    client.sh(one, "cd /tmp && for i in $(seq 2000); do head -c 20000 /dev/zero > f$i; done")
    held, answers = [], []

    def stop_one():
        """Whether a tool of the store was stopped before it had ended."""
        for pid in tools_of(host, "session", "save"):
            os.kill(pid, signal.SIGSTOP)
            if state_of(pid) not in "ZX":
                held.append(pid)
        return held

    for _ in range(20):
        ask = threading.Thread(target=lambda: answers.append(attempt(lambda: client.store(one)[0])))
        ask.start()
        until(lambda: stop_one() or not ask.is_alive())
        if held:
            break
        client.ask("DELETE", "/templates/" + client.ask("GET", "/snapshots")[1][0]["snapshotID"])
    host.process.terminate()
    try:
        host.process.wait(300)
        ended = True
    except subprocess.TimeoutExpired:
        ended = False
        host.process.kill()
    gone = until(lambda: not os.path.exists("/proc/%d" % held[0]), 10)
    if not gone:
        os.kill(held[0], signal.SIGKILL)
    ask.join()
    tell(ended and gone, "a host that is told to end does not wait for a store, and ends its tool", (ended, gone, answers))
    host.restart()
    tell(until(lambda: not on_the_way(host)) and client.ask("GET", "/snapshots")[1] == [] and client.store(one)[0] == 201, "and the next one goes on without it", on_the_way(host))
    host.end()


def a_restart():
    host = Host("again")
    client = Client(host, host.tenant("me"))
    one = client.create()
    client.sh(one, TREE)
    expected = client.sh(one, LOOK)
    _, snapshot = client.store(one, name="kept")
    for how in (signal.SIGTERM, signal.SIGKILL):
        restart(host, how)
        rows = client.ask("GET", "/snapshots")[1]
        tell(rows == [snapshot] and client.sh(client.create("kept"), LOOK) == expected, "a launcher after %s has the snapshots" % how.name, rows)
    # What a launcher that was killed can leave: a workspace, and a snapshot without a record.
    store = os.path.join(stores(host), os.listdir(stores(host))[0])
    subprocess.run([WARDER, "workspace", "create", "left", "--store", store], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([WARDER, "workspace", "snapshot", "left", "--store", store], check=True, stdout=subprocess.DEVNULL)
    manifests = os.path.join(store, "snapshots", "manifests")
    before = len(os.listdir(manifests))
    restart(host, signal.SIGKILL)
    tell(before == 2 and until(lambda: len(os.listdir(manifests)) == 1 and not on_the_way(host), 60), "what has no record is removed", (os.listdir(manifests), on_the_way(host)))
    tell(client.sh(client.create("kept"), LOOK) == expected, "and nothing else", "")
    # And content of a snapshot that was removed in part.
    pieces = len(content(host))
    path = subprocess.run([WARDER, "workspace", "create", "left", "--store", store], check=True, capture_output=True, text=True).stdout.strip()
    with open(os.path.join(path, "work", "piece"), "w") as file:
        file.write("in no snapshot\n")
    made = subprocess.run([WARDER, "workspace", "snapshot", "left", "--store", store], check=True, capture_output=True, text=True).stdout.strip()
    os.unlink(os.path.join(manifests, made + ".jsonl"))
    before = len(content(host))
    restart(host, signal.SIGKILL)
    tell(before > pieces and until(lambda: len(content(host)) == pieces, 60), "content that is in no snapshot is removed", (pieces, before, content(host)))
    host.end()


def a_backup():
    """As warder-serve(1) describes it: tar, while snapshots come and go."""
    host = Host("saved")
    token = host.tenant("me")
    client = Client(host, token)
    one = client.create()
    client.sh(one, TREE)
    expected = client.sh(one, LOOK)
    kept = client.store(one, name="kept")[1]
    gone = client.store(one, name="gone")[1]
    stopped, changed = threading.Event(), []

    def change():
        while not stopped.is_set():
            made = client.store(one)[1]["snapshotID"]
            changed.append(client.ask("DELETE", "/v1/snapshots/" + made)[0])

    changes = threading.Thread(target=change)
    changes.start()
    until(lambda: changed)
    archive = os.path.join(work, "saved.tar")
    saved = subprocess.run(["tar", "-C", host.state, "--exclude=stores/*/workspaces/*", "-cf", archive, "tenants", "keys", "snapshots", "stores"], capture_output=True, text=True)
    stopped.set()
    changes.join()
    tell(saved.returncode in (0, 1) and set(changed) == {204}, "the state is archived while the host changes it", (saved, changed))
    state = os.path.join(work, "restored")
    os.mkdir(state, 0o700)
    subprocess.run(["tar", "-C", state, "-xpf", archive], check=True)
    os.unlink(os.path.join(stores(host).replace(host.state, state), os.listdir(stores(host))[0], "snapshots", "manifests", gone["snapshotID"] + ".jsonl"))
    other = Host("restored")
    other.tenants.append("me")
    found = Client(other, token)
    rows = {row["snapshotID"]: row for row in found.ask("GET", "/snapshots")[1]}
    tell(rows.get(kept["snapshotID"]) == kept and found.sh(found.create("kept"), LOOK) == expected, "a host with the restored state takes the token, and has the snapshots", rows)
    keys = [one.ask("GET", "/v1/host")[1]["hostKey"] for one in (client, found)]
    tell(keys[0] == keys[1], "it signs with the same key", keys)
    status, data, _ = found.ask("POST", "/v1/sandboxes", {"template": gone["snapshotID"]})
    removed = [found.ask("DELETE", "/v1/snapshots/" + name)[0] for name in rows if name != kept["snapshotID"]]
    tell(status >= 400 and set(removed) == {204}, "a snapshot whose content was removed meanwhile begins nothing, and can be removed", (status, data, removed))
    other.end()
    host.end()


if __name__ == "__main__":
    run_parts([a_snapshot_and_what_begins_with_it, a_paused_sandbox, a_copy_that_its_launcher_left, own_calls, tenants_and_their_share, sessions_of_others,
               refusals, a_revoked_tenant, content_that_was_removed, an_end_during_a_store, a_restart, a_backup])
