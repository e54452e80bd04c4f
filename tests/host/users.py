#!/usr/bin/env python3
"""users.py: tenants that are users of this host, at its Unix socket, as TAP."""
import ctypes, http.client, json, os, select, signal, socket, subprocess, threading, time

from lib import SLOW, WARDER, Host, run_parts, skip, tell, tenant_documents, until, work

ROOT = os.geteuid() == 0
ANN, BOB, EVE = (61001, 61002, 61003) if ROOT else (os.geteuid(), 61002, 61003)
OVERFLOW = int(open("/proc/sys/kernel/overflowuid").read())
NEWUSER, NEWNET = 0x10000000, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
path = os.path.join(work, "socket")
os.chmod(work, 0o711)


def unshare(what):
    if libc.unshare(what) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def become(uid):
    if ROOT:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


def as_user(uid, call, before=0, after=0):
    """What call() returns in a process of this user. before, after: the namespaces that it leaves before and after it becomes this user."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if before:
                unshare(before)
            become(uid)
            if after:
                unshare(after)
            said = call()
        except BaseException as error:
            said = ["broken", repr(error)]
        os.write(theirs, json.dumps(said).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as file:
        text = file.read()
    os.waitpid(pid, 0)
    return json.loads(text or b'["died", ""]')


def converse(host, one, *words, **more):
    """Another request over a connection: (status, JSON or text)."""
    method, target, body = (words + ("", ""))[:3]
    body = json.dumps(body).encode() if isinstance(body, dict) else body or b""
    one.sendall(host.request(method, target, more.get("token"), body, more.get("more", "")))
    answer = http.client.HTTPResponse(one)
    answer.begin()
    data = answer.read()
    try:
        return answer.status, json.loads(data)
    except ValueError:
        return answer.status, data.decode(errors="replace")


def ask(host, uid, *words, before=0, after=0, **more):
    def call():
        with host.connect() as one:
            return converse(host, one, *words, **more)
    return as_user(uid, call, before, after)


def who(host, uid, **more):
    """The tenant that a user is, or the status and the message."""
    status, said = ask(host, uid, "GET", "/v1/host", **more)
    return said["tenant"]["name"] if status == 200 else (status, said.get("message") if isinstance(said, dict) else said)


def add(host, name, uid, *more):
    return subprocess.run([WARDER, "tenant", "add", name, "--state", host.state, "--uid", str(uid), *more], capture_output=True, text=True)


def refused(uid, word, state="unused"):
    done = subprocess.run([WARDER, "tenant", "add", "one", "--state", os.path.join(work, state), "--uid", uid], capture_output=True, text=True)
    tell(done.returncode == 125 and "--uid" in done.stderr and word in done.stderr and not done.stdout, "--uid \"%s\" is refused" % uid, done)


def flags():
    for uid, word in (("", "number"), ("x", "number"), ("-1", "number"), ("4294967295", "number"), ("99999999999", "number"), ("1 ", "number"), (str(OVERFLOW), "every user")):
        refused(uid, word)
    state = os.path.join(work, "flags")
    add = lambda name, uid: subprocess.run([WARDER, "tenant", "add", name, "--state", state, "--uid", uid], capture_output=True, text=True)
    tell(add("ann", "7").returncode == 0 and add("root", "0").returncode == 0, "uids are numbers from 0 on")
    done = add("bob", "7")
    tell(done.returncode == 125 and "user 7 already belongs to tenant ann" in done.stderr and not os.path.exists(os.path.join(state, "tenants", "bob.json")),
         "a second tenant with the same uid is refused, and names the first", done)
    rows = json.loads(subprocess.run([WARDER, "tenant", "list", "--json", "--state", state], capture_output=True, text=True).stdout)
    tell({row["name"]: row["uid"] for row in rows} == {"ann": 7, "root": 0}, "the list of tenants has the uids", rows)
    subprocess.run([WARDER, "tenant", "revoke", "ann", "--state", state], check=True)
    tell(add("bob", "7").returncode == 0, "the uid of a tenant that was revoked is free again")
    for words, word in ((("unix:" + path, "--socket-mode", "0400"), "owner"), (("unix:" + path, "--socket-mode", "888"), "octal"), (("unix:" + path, "--socket-mode", ""), "octal"),
                        (("unix:" + path, "--socket-mode", "1777"), "0777"), (("127.0.0.1:0", "--socket-mode", "0666"), "unix:PATH"), (("inherited", "--socket-mode", "0666"), "unix:PATH")):
        done = subprocess.run([WARDER, "serve", "--state", state, "--listen", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        tell(done.returncode == 125 and "--socket-mode" in done.stderr and word in done.stderr, "%s is refused" % " ".join(words[0:3]).replace(path, "PATH"), done)


def serve(name, **limits):
    host = Host(name, ("--socket-mode", "0666"), unix=path, **limits)
    tell(os.stat(path).st_mode & 0o7777 == 0o666, "the socket has the mode of --socket-mode")
    host.tenants += ["ann", "bob"]
    return host


def nobody():
    """The user of this suite has no number of their own: nobody is a tenant by it."""
    host = serve("nobody")
    add(host, "ann", 5)
    tenant_documents.change(host.state, "ann", uid=OVERFLOW)
    status, why = who(host, OVERFLOW)
    tell(status == 401 and "every uid" in why, "the uid of users without a number is no tenant, whatever the files say", (status, why))
    host.end()


def known():
    host = serve("known", wrongTokensPerMinute=5)
    tokens = {"ann": add(host, "ann", ANN).stdout.strip(), "bob": add(host, "bob", BOB).stdout.strip()}
    tell(who(host, ANN) == "ann", "a user who is a tenant needs no token", who(host, ANN))
    if ROOT:
        tell(who(host, BOB) == "bob", "and another one is another tenant", who(host, BOB))
        for _ in range(8):
            status, why = who(host, EVE)
        tell(status == 401 and "no tenant has the uid %d" % EVE in why, "a user who is none is refused", (status, why))
        tell(who(host, ANN) == "ann", "and however often that is, other users are served", who(host, ANN))
    tell(who(host, ANN, token=tokens["bob"]) == "bob", "a token comes before the uid")
    for what, more in (("a wrong token", {"token": "e2b_" + "0" * 40}), ("an empty token", {"token": ""}), ("another authorization", {"more": "Authorization: Basic dTpw\r\n"}),
                       ("an access token", {"more": "X-Access-Token: x\r\n"}), ("a cookie", {"more": "Cookie: a=b\r\n"}), ("an origin", {"more": "Origin: http://localhost\r\n"})):
        status, why = who(host, ANN, **more)
        tell(status == 401, "%s is not repaired by the uid" % what, (status, why))
    status, why = ask(host, ANN, "GET", "/v1/host?signature=v1_x")
    tell(status == 401, "nor is a signature", (status, why))
    tell(who(host, ANN, more="Host: localhost\r\n")[0] == 421, "a request with two Host headers is refused all the same")
    status, said = ask(host, ANN, "POST", "/v1/run", {"argv": ["echo", "hello"]})
    tell(status == 200 and said["stdout"]["text"] == "hello\n", "a user runs a program", (status, said))
    boxes(host, tokens)
    elsewhere(host)
    ended(host)
    revoked(host)
    host.end()


def boxes(host, tokens):
    status, made = ask(host, ANN, "POST", "/v1/sandboxes", {"timeoutMs": 300000})
    tell(status == 201, "and creates a sandbox", (status, made))
    at = "/v1/sandboxes/%s/files?path=/tmp/f" % made["id"]
    status, row = ask(host, ANN, "PUT", at, b"x" * 300000)
    tell(status == 200 and row["sizeBytes"] == 300000, "uploads a file to it", (status, row))
    tell(ask(host, ANN, "PUT", at + "2", b"")[0] == 200, "and an empty one")
    status, text = ask(host, ANN, "GET", at)
    tell(status == 200 and text == "x" * 300000, "and reads it", (status, len(text)))
    def two():
        with host.connect() as one:
            return converse(host, one, "PUT", at, b"y" * 70000), converse(host, one, "GET", at), converse(host, one, "GET", "/v1/sandboxes")
    first, second, third = as_user(ANN, two)
    tell(first[0] == 200 and second[1] == "y" * 70000 and [row["id"] for row in third[1]] == [made["id"]], "the same over one connection", (first, second[0], third))
    tell(ask(host, BOB, "GET", "/v1/sandboxes/" + made["id"], token=tokens["bob"])[0] == 404, "another tenant does not see it")
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
    status, said = ask(host, ANN, "POST", "/mcp", hello)
    tell(status == 200 and said["result"]["protocolVersion"] == "2025-06-18", "a client of the Model Context Protocol needs no token either", (status, said))
    for row in ask(host, ANN, "GET", "/v1/sandboxes")[1]:
        tell(ask(host, ANN, "DELETE", "/v1/sandboxes/" + row["id"])[0] == 204, "a sandbox is ended")


def elsewhere(host):
    """Users of other namespaces have the uid, and are not the user."""
    status, why = who(host, ANN, after=NEWUSER)
    if status == "broken" and not ROOT:
        skip("a process in another user namespace", why)
        return
    tell(status == 401 and "another user namespace" in why, "a process of the user in another user namespace is not the user", (status, why))
    status, why = who(host, ANN, after=NEWUSER | NEWNET) if not ROOT else who(host, ANN, before=NEWNET)
    tell(status == 401 and "network namespace" in why, "nor one in another network namespace", (status, why))


def ended(host):
    """The process that has connected is gone, and another one has the connection."""
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(30 * SLOW)
    said = as_user(ANN, lambda: one.connect(path) or ["connected"])
    status, why = converse(host, one, "GET", "/v1/host")
    one.close()
    tell(said == ["connected"] and status == 401 and "has ended" in why["message"], "a connection whose process has ended is nobody's", (status, why))


def revoked(host):
    if ROOT:
        tell(who(host, 0)[0] == 401, "root is a user like the others")
        add(host, "zero", 0)
        host.tenants.append("zero")
        tell(who(host, 0) == "zero", "and may be a tenant")
    ours, theirs = socket.socketpair()

    def call():
        with host.connect() as one:
            before = converse(host, one, "GET", "/v1/host")[0]
            theirs.send(b"x")
            return before, until(lambda: converse(host, one, "GET", "/v1/host")[0] == 401)
    revoker = threading.Thread(target=lambda: ours.recv(1) and subprocess.run([WARDER, "tenant", "revoke", "ann", "--state", host.state], check=True))
    revoker.start()
    tell(as_user(ANN, call) == [200, True], "a tenant that was revoked is refused, over the same connection, too")
    theirs.close()
    revoker.join()
    if ROOT:
        tell(who(host, BOB) == "bob", "and no other one")


def hold_room(host):
    """Beside the questions of the suite, the request may be one too many for a moment."""
    become(ANN)
    status = 429
    while status == 429:
        with host.connect() as one:
            one.settimeout(None)
            status = converse(host, one, "POST", "/v1/run", {"argv": ["sleep", "1000"]})[0]


def hold_body(host):
    """Never send the whole of a request. If the host closes the connection, begin another one."""
    become(ANN)
    while True:
        try:
            with host.connect() as one:
                one.settimeout(None)
                one.sendall(host.request("POST", "/v1/run", None, b" " * 100)[:-1])
                one.recv(1)
        except OSError:
            pass
        time.sleep(0.1)


def hold(host, what):
    """Three processes of the user, each with a request."""
    children = []
    for _ in range(3):
        children.append(os.fork())
        if children[-1] == 0:
            try:
                what(host)
            finally:
                os._exit(0)
    return children


def release(children):
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def room():
    """Requests without a token count for their tenant, also the first one of a connection."""
    host = serve("room", connectionsPerTenant=3)
    add(host, "ann", ANN)
    add(host, "bob", BOB)
    tell(until(lambda: who(host, ANN) == "ann"), "a tenant with few requests at a time")
    children = hold(host, hold_room)
    tell(until(lambda: who(host, ANN)[0] == 429), "a request beyond them is refused", who(host, ANN))
    if ROOT:
        tell(who(host, BOB) == "bob", "and another user has all of theirs")
    release(children)
    tell(until(lambda: who(host, ANN) == "ann"), "when they have ended, there is room again", who(host, ANN))
    children = hold(host, hold_body)
    tell(until(lambda: who(host, ANN)[0] == 429), "requests whose bodies still come count, too", who(host, ANN))
    release(children)
    host.end()


def is_open(one):
    one.setblocking(False)
    try:
        return one.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def wait_for_end(host, text):
    """The seconds until the host closes a connection on which only this was sent."""
    with host.connect() as one:
        one.settimeout(120)
        one.sendall(text)
        begun = time.monotonic()
        try:
            while one.recv(4096):
                pass
        except OSError:
            pass
        return [time.monotonic() - begun]


def slow(host):
    """A whole request that takes longer than a stranger may."""
    with host.connect() as one:
        whole = host.request("POST", "/v1/policies/check", None, b'{"policy": {"version": 1}}')
        one.sendall(whole[:-2])
        time.sleep(7)
        one.sendall(whole[-2:])
        answer = http.client.HTTPResponse(one)
        answer.begin()
        answer.read()
        return [answer.status]


def is_shut(one):
    """Whether the host has closed its end, also with bytes before."""
    poller = select.poll()
    poller.register(one, 0)
    return bool(poller.poll(0))


def ask_and_stay_deaf(host, uid):
    """Two connections, each with more small requests than the host can answer while nothing is read. Whether it closes them."""
    def call():
        asked = [host.connect(), host.connect()]
        for one in asked:
            one.setblocking(False)
            full = 0
            while full < 20 and not is_shut(one):
                try:
                    one.send(host.request("GET", "/nowhere", None) * 20)
                    full = 0
                except BlockingIOError:
                    full += 1
                    time.sleep(0.05)
                except OSError:
                    break
        return [until(lambda: all(is_shut(one) for one in asked), 60)]
    return as_user(uid, call)


def deaf_strangers(host):
    tell(ask_and_stay_deaf(host, EVE if ROOT else ANN) == [True], "strangers who ask and read no answer lose their connections")
    tell(who(host, ANN) == "ann", "and a tenant is served after them")


def upload_in_a_crowd(host, path, token, directory):
    """The answer to an upload that is begun, and completed when many strangers have connected."""
    def has_begun():
        with host.connect() as other:
            status, rows = converse(host, other, "GET", directory)
            return status == 200 and rows

    def call():
        with host.connect() as one:
            whole = host.request("PUT", path, token, b"x" * 100000)
            one.sendall(whole[:-50000])
            # The file has a temporary name until it is whole.
            if not until(has_begun):
                return ["not begun", ""]
            crowd = [host.connect() for _ in range(64)]
            most = until(lambda: 0 < sum(is_open(other) for other in crowd) <= 4)
            one.sendall(whole[-50000:])
            answer = http.client.HTTPResponse(one)
            answer.begin()
            answer.read()
            for other in crowd:
                other.close()
            return [answer.status, most]
    return as_user(ANN, call)


def uploads(host, token):
    box = ask(host, ANN, "POST", "/v1/sandboxes", {"timeoutMs": 300000})[1]["id"]
    path = "/v1/sandboxes/%s/" % box
    for name, key, what in (("named", token, "with a token"), ("known", None, "without a token")):
        directory = path + "directories?path=/tmp/" + name
        tell(ask(host, ANN, "POST", directory)[0] == 201, "a directory is made")
        said = upload_in_a_crowd(host, path + "files?path=/tmp/%s/f" % name, key, directory)
        tell(said == [200, True], "an upload %s, the first request of its connection, is completed while 64 strangers connect" % what, said)


def strangers():
    """Everyone can connect to a socket with the mode 0666. A client that is no tenant has it for a short time, and few such clients have it at a time."""
    host = serve("strangers", connections=32)
    token = add(host, "ann", ANN).stdout.strip()
    tell(until(lambda: who(host, ANN) == "ann"), "a tenant at a socket that everyone can open")
    begun = host.request("POST", "/v1/run", None, b" " * 100)[:-1]
    waits = ((EVE, begun, "a request without a key"), (EVE, host.request("PUT", "/v1/sandboxes/i/files?path=/f", None, b" " * 100)[:-1], "an upload"),
             (EVE, host.request("PUT", "/v1/sandboxes/i/files?path=/f", None, b" " * 300000)[:-1], "a long upload"),
             (EVE, host.request("POST", "/nowhere", None, b" " * 100)[:-1], "a path that is not there"), (ANN, b"GET ", "a line that has no end"))
    name = "%s of a stranger that never ends is closed after seconds"
    for _, _, what in () if ROOT else waits[:3]:
        skip(name % what, "needs another user")
    for uid, text, what in waits if ROOT else waits[3:]:
        took = as_user(uid, lambda: wait_for_end(host, text))[0]
        tell(isinstance(took, float) and took < 25, name % what, took)
    tell(as_user(ANN, lambda: slow(host)) == [200], "a tenant may take longer")
    crowd = []
    for i in range(24):
        crowd.append(host.connect())
        crowd[-1].sendall(begun if i % 2 and ROOT else b"GET ")
    most = lambda: 0 < sum(is_open(one) for one in crowd) <= 4
    tell(until(most, 4), "of 24 strangers, at most 4 have a connection", [is_open(one) for one in crowd])
    tell(who(host, ANN) == "ann", "and a tenant is served beside them")
    for one in crowd:
        one.close()
    deaf_strangers(host)
    uploads(host, token)
    host.end()


run_parts((flags, nobody) if ANN == OVERFLOW else (flags, known, room, strangers))
