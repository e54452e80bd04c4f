"""Executions that outlive their callers, in sessions on hosts of the kind warder: on a real host, and on servers that are slow, lie and die."""
import base64, hashlib, json, os, signal, socket, subprocess, sys, threading, time

from serving import below, handles, warder, work
from tap import SLOW, WARDER, skip, tell, until

run = sys.modules["__main__"]  # the suite that has the hosts


def mark(sandbox):
    return hashlib.sha256(sandbox.encode()).hexdigest()[:8]


def start(session, *words):
    """The name of a detached execution, or what came in its place."""
    status, out, err = run.session("exec", session, "--detach", *words)
    return out.decode().strip() if status == 0 else (status, out, err)


def asks(client):
    """Whether a client has had the same request open for a second: it waits for the host."""
    found = [{pid for pid, name in below(client.pid).items() if name == "warder-remote"} for _ in (time.sleep(0), time.sleep(1))]
    return found[0] & found[1]


def opened(*words, **more):
    return subprocess.Popen([WARDER, *words], **dict(dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE), **more))


def rows(session):
    return {row["id"]: row for row in json.loads(warder("ps", session, "--json")[1])}


def ends(process, input=None):
    out, err = process.communicate(input, timeout=120 * SLOW)
    return process.returncode, out, err.decode()


def state(name):
    return rows(name.split(":")[0]).get(name, {}).get("state")


def detached(path, host):
    run.session("start", "far", "--backends", path, "--backend", "remote:big", *run.PREFER, "--timeout", "600s")
    sandbox = run.sandboxes(host)[0]
    first = start("far", "-i", "--", "sh", "-c", "read a; echo got $a; read b; echo end $b >&2; exit 7")
    if not isinstance(first, str):
        return tell(False, "a detached execution has a name", first)
    execution = first[4:].split(".")[0]
    tell(first == "far:%s.%s" % (execution, mark(sandbox)) and execution in [row["id"] for row in json.loads(run.asked(host, "/v1/sandboxes/%s/executions" % sandbox))],
         "a detached execution has the name SESSION:ID", first)
    row = rows("far").get(first, {})
    tell(row.get("state") == "running" and row["command"][:2] == ["sh", "-c"] and row["session"] == "far" and row["input"] and not row["terminal"], "ps SESSION lists it", row)
    status, out, err = warder("ps", "far")
    tell(status == 0 and first in out.decode() and "running" in out.decode() and first not in warder("ps")[1].decode(), "also for people, and ps without a session asks no other machine", (status, out, err))
    waits = opened("wait", first), opened("wait", "--json", first)
    tell(warder("write", first, input=b"one\n")[0] == 0, "write reaches its input")
    until(lambda: warder("logs", first)[1])
    tell(warder("logs", first)[:2] == (0, b"got one\n"), "logs shows what there is, and does not wait")
    done = ends(opened("attach", first), b"two\n")
    tell(done == (7, b"got one\n", "end two\n"), "attach shows both streams from the beginning, passes input on and exits as the program does", done)
    done = [ends(one) for one in waits]
    data = json.loads(done[1][1])
    tell([one[0] for one in done] == [7, 7] and (data["cause"], data["exitCode"], data["backend"]) == ("exit", 7, "remote:big") and data["receipt"]["outputs"] == "outputs are signed by this host" and
         data["receipt"]["controls"] and all(row["status"] == "reported by remote:big" for row in data["receipt"]["controls"]) and data["stdout"]["bytesTotal"] == 8 and "text" not in data["stdout"],
         "wait has the signed result, with its receipt", done)
    row = rows("far")[first]
    tell((row["state"], row["exitCode"]) == ("ended", 7) and b"exited 7" in warder("ps", "far")[1], "it stays in the list", row)
    again = [ends(opened("wait", first))[0], ends(opened("attach", first))]
    tell(again == [7, (7, b"got one\n", "end two\n")], "and later commands get result and output", again)
    # logs
    done = warder("logs", "--from", "4,4", first)
    tell(done == (0, b"one\n", "two\n"), "logs --from leaves out what the client has", done)
    done = json.loads(warder("logs", "--json", first)[1])
    tell((done["id"], done["ended"], done["stdout"]["text"], done["stdout"]["nextOffset"], done["stderr"]["text"]) == (first, True, "got one\n", 8, "end two\n"), "logs --json has the offsets", done)
    done = warder("logs", "--from", "9", first)
    tell(done[0] == 125 and first in done[2] and "8 bytes" in done[2], "an offset beyond the output is refused", done)
    many = start("far", "--", "sh", "-c", "for i in 1 2 3 4 5; do echo $i; done; sleep 60")
    until(lambda: b"5" in warder("logs", many)[1])
    done = warder("logs", "--lines", "2", many), warder("logs", "--json", "--lines", "1", many), warder("logs", "--yield", "5s", "--from", "8", many)
    tell([one[0] for one in done] == [0, 0, 0] and done[0][1] == b"4\n5\n" and json.loads(done[1][1])["stdout"] == {"offset": 8, "nextOffset": 10, "missing": 0, "text": "5\n", "encoding": "utf-8"} and not json.loads(done[1][1])["ended"] and done[2][1] == b"5\n",
         "the last lines, and the output of a program that runs", done)
    follows = opened("logs", "-f", many)
    came = follows.stdout.read(10)
    warder("kill", "-s", "KILL", many)
    done = ends(follows)
    tell(came == b"1\n2\n3\n4\n5\n" and done[0] == 0, "logs -f waits for the end", (came, done))
    # output that is gone
    long = start("far", "--", "sh", "-c", "yes | head -c 9000001")
    done = warder("wait", "--json", long)
    tell(done[0] == 0 and json.loads(done[1])["stdout"]["bytesTotal"] == 9000001 and json.loads(done[1])["receipt"]["outputs"] == "outputs are signed by this host", "the end of a long output is compared with what is signed", done)
    done, data = warder("logs", long), json.loads(warder("logs", "--json", long)[1])["stdout"]
    gone = 9000001 - len(done[1])
    tell(gone > 4000000 and "%d bytes of standard output are missing here" % gone in done[2] and (data["missing"], data["offset"], data["nextOffset"]) == (gone, gone, 9000001), "output that left the spool is named", (gone, done[2], data["missing"], data["offset"]))
    done = ends(opened("attach", "-n", long))
    tell(done[0] == 0 and len(done[1]) == 9000001 - gone and "%d bytes" % gone in done[2], "attach says the same", (done[0], len(done[1]), done[2]))
    # clients that are killed, connections that are lost
    counts = start("far", "-i", "--", "sh", "-c", "i=0; while read a; do i=$((i+1)); echo $i $a; done; echo over; exit 3")
    one = opened("attach", counts)
    one.stdin.write(b"a\nb\n")
    one.stdin.flush()
    came = one.stdout.read(8)
    one.kill()
    one.communicate()
    two = opened("attach", counts)
    came += two.stdout.read(8)
    tell(came == b"1 a\n2 b\n" * 2 and state(counts) == "running", "a client that is killed leaves it running, and another one sees the same output", came)
    links = until(lambda: [pid for pid, name in below(two.pid).items() if name == "warder-remote" and os.readlink("/proc/%d/fd/1" % pid).startswith("socket")]) if run.ROOT else []
    for pid in links or []:
        os.kill(pid, signal.SIGKILL)
    time.sleep(2 if links else 0)
    done = ends(two, b"c\n")
    if not run.ROOT:
        skip("a connection that is lost is made anew", "only root sees which process has the connection")
    tell(done == (3, b"3 c\nover\n", "") and (links or not run.ROOT), "output comes once" + (", also over a connection that is made anew" if run.ROOT else ""), (links, done))
    # input
    cat = start("far", "-i", "--", "cat")
    blob = bytes(range(256)) * 4000
    done = ends(opened("attach", cat), blob)
    tell((done[0], done[1] == blob, done[2]) == (0, True, ""), "a megabyte goes in and out byte by byte, and the end of the input arrives", (done[0], len(done[1]), done[2]))
    count = start("far", "-i", "--", "sh", "-c", "sleep 1; wc -c")
    watch = opened("attach", "-n", count)
    done = warder("write", count, input=bytes(range(256)) * 1600), warder("write", "--close", count, input=b"y")
    watched = ends(watch)
    tell([one[0] for one in done] == [0, 0] and watched[:2] == (0, b"409601\n"), "write sends any bytes, waits until they are taken, and --close ends the input", (done, watched))
    done = warder("write", count, input=b"x"), warder("write", count, input=b"")
    tell(done[0][0] == 125 and count in done[0][2] and "closed" in done[0][2] and done[1][0] == 0, "input for one that has ended is refused", done)
    silent = start("far", "--", "sh", "-c", "cat; echo over; sleep 1")
    done = ends(opened("attach", silent), b"ignored"), warder("write", silent, input=b"x")
    tell(done[0] == (0, b"over\n", "") and done[1][0] == 125 and "-i" in done[1][2], "without -i, its input is empty", done)
    # the end
    for flags, word, code in (([], "SIGTERM", 143), (["-s", "KILL"], "SIGKILL", 137), (["-s", "USR1"], "SIGUSR1", 138)):
        victim = start("far", "--", "sleep", "100")
        wait = opened("wait", "--json", victim)
        status = warder("kill", *flags, victim)
        done = ends(wait)
        tell(status[0] == 0 and done[0] == code and (json.loads(done[1])["cause"], json.loads(done[1])["signal"]) == ("signal", word), "kill ends it: " + word, (status, done))
    done = warder("kill", victim)
    tell(done[0] == 125 and victim in done[2] and "ended" in done[2], "one that has ended gets no signal", done)
    late = start("far", "--timeout", "1s", "--", "sleep", "100")
    done = warder("wait", "--json", late)
    tell(done[0] == 124 and json.loads(done[1])["cause"] == "wallTime", "it ends with its time limit, also if nobody waits", done)
    victim = start("far", "--env", "A=b", "--cwd", "/tmp", "--", "sh", "-c", "echo $A $PWD; exec sleep 100")
    for how, words in ((signal.SIGINT, ("attach", "-n", victim)), (signal.SIGTERM, ("wait", victim)), (signal.SIGHUP, ("logs", "-f", victim))):
        leaves = opened(*words)
        until(lambda: handles(leaves.pid, how))
        leaves.send_signal(how)
        done = ends(leaves)
        tell(done[0] == 128 + how and state(victim) == "running", "a signal leaves it running: " + words[0], done)
    tell(warder("logs", victim)[1] == b"b /tmp\n", "it has variables and a directory of its own")
    plain = opened("session", "exec", "far", "-n", "--", "sh", "-c", "echo pl''ain; sleep 5")
    found = until(lambda: [name for name, row in rows("far").items() if row["state"] == "running" and "echo pl''ain" in row["command"][-1]])
    tell(found and ends(opened("attach", "-n", found[0]))[:2] == (0, b"plain\n") and ends(plain)[:2] == (0, b"plain\n"), "an execution that is not detached has a name, too", found)
    # what is none
    names = (("one that is not there", ["kill", "far:%s.%s" % ("0" * 16, mark(sandbox))], "no execution far:0000"), ("a name of none", ["wait", "far:../x"], "SESSION:ID"), ("no sandbox", ["attach", "far:" + execution], "SESSION:ID"),
             ("of another sandbox", ["logs", "far:%s.%s" % (execution, "0" * 8)], "another sandbox"), ("no session", ["write", "none:%s.%s" % (execution, mark(sandbox))], "none"), ("two", ["wait", first, first], "one word too many"),
             ("one that is not there, for attach", ["attach", "far:%s.%s" % ("0" * 16, mark(sandbox))], "no execution far:0000"), ("for wait", ["wait", "far:%s.%s" % ("0" * 16, mark(sandbox))], "no execution far:0000"),
             ("for logs", ["logs", "far:%s.%s" % ("0" * 16, mark(sandbox))], "no execution far:0000"), ("for write", ["write", "far:%s.%s" % ("0" * 16, mark(sandbox))], "no execution far:0000"), ("keys that are none", ["attach", "--detach-keys", "ctrl-", first], "--detach-keys"))
    for name, words, word in names:
        done = warder(*words)
        tell(done[0] == 125 and word in done[2], "what is no execution is refused: " + name, done)
    before = len(rows("far"))
    for flags, word in ((["--keep", "5m"], "--keep"), (["--log", os.path.join(work, "log")], "--log"), (["--audit", os.path.join(work, "audit")], "--audit"), (["--timeout", "20m"], "--timeout 20m"), (["--json"], "--json"), (["--receipt", "x"], "--receipt")):
        done = start("far", *flags, "--", "true")
        tell(done[0] == 125 and word in done[2] + done[1].decode(), "and a flag that it cannot have: " + word, done)
    done = start("far", "--", "no-such-program")
    tell(done[0] == 127 and "no-such-program" in done[2] and len(rows("far")) == before, "what does not start has no name", done)
    run.session("stop", "far")
    done = warder("kill", victim)
    tell(done[0] == 125 and "session far does not run" in done[2], "without its session there is none", done)


def detached_terminals(path, host):
    run.session("start", "far", "--backends", path, "--backend", "remote:big", "--set", "devices.terminals=2", *run.PREFER, "--timeout", "600s")
    name = start("far", "-t", "--", "sh", "-c", "trap 'stty size' WINCH; echo ea''rly; while :; do while ! read a; do :; done; echo got $a; test $a != over || exit 4; done")
    until(lambda: b"early" in warder("logs", name)[1])
    one = run.Terminal("attach", name)
    drawn = one.until(b"30 100")
    one.send(b"x\x10y\r")
    tell(drawn and one.until(b"got x\x10y") and b"early" not in one.whole, "attach lends a terminal: keys and sizes pass, and earlier output is left out", one.whole)
    one.send(b"\x10\x11")
    tell(one.until(b"detached") and one.end() == 0 and state(name) == "running", "the keys detach it", one.whole)
    piped = opened("attach", "-n", name)
    tell(piped.stdout.read(5) == b"early", "without a terminal here, attach shows the output from the beginning")
    piped.kill()
    piped.communicate()
    one = run.Terminal("attach", "--detach-keys", "ctrl-a", name, rows=31)
    drawn = one.until(b"31 100")
    one.send(b"over\r")
    tell(drawn and one.until(b"got over") and one.end() == 4, "a second client has it, and exits as the program does", one.whole)
    tell(b"got x" in warder("logs", name)[1] and warder("wait", name)[0] == 4, "logs has the output")
    run.session("stop", "far")


def restarted(path, host):
    """A host that is killed and comes back."""
    run.session("start", "far", "--backends", path, "--backend", "remote:big", "--set", "devices.terminals=2", *run.PREFER, "--timeout", "600s")
    terminal = start("far", "-t", "--", "sh", "-c", "trap 'stty size' WINCH; while :; do read a; done")
    lent = [run.Terminal("attach", terminal) for i in range(2)]
    drawn = [one.until(b"30 100") for one in lent]
    name = start("far", "-i", "--", "sh", "-c", "echo before; read a; echo after $a; exit 5")
    one, two, three = opened("attach", name), opened("wait", "--json", name), opened("session", "exec", "far", "-n", "--", "sh", "-c", "sleep 8; echo here; exit 6")
    came = one.stdout.read(7)
    until(lambda: len([1 for row in rows("far").values() if row["state"] == "running"]) == 3)
    until(lambda: all(asks(client) for client in (one, two, three)))
    host.end(signal.SIGKILL)
    done = warder("wait", name)
    tell(done[0] == 125 and "connect" in done[2], "while the host is away, a new command says so", done)
    told = [one.until(b"is made anew") for one in lent]
    for client, keys in zip(lent, (b"\x10\x11", b"\x03")):
        client.send(keys)
    tell(all(drawn + told) and lent[0].until(b"detached") and [one.end() for one in lent] == [0, 130], "a lent terminal says that the host is away, and the keys that detach and ctrl-c end it", [one.whole for one in lent])
    host.start()
    done = warder("write", name, input=b"all\n"), ends(one), ends(two)
    data = json.loads(done[2][1] or "{}")
    tell(came == b"before\n" and done[0][0] == 0 and done[1][:2] == (5, b"after all\n") and done[2][0] == 5 and (data.get("cause"), data.get("exitCode")) == ("exit", 5),
         "attach and wait outlive the end of the host, and output comes once", (came, done))
    done = ends(three)
    tell(done[:2] == (6, b"here\n"), "so does exec", done)
    run.session("stop", "far")


NAME = "liar:%s.%s" % ("0123456789abcdef", mark("abc1"))


def event(stream, offset, text):
    return b"event: output\ndata: " + json.dumps({"stream": stream, "offset": offset, "text": text}).encode() + b"\n\n"


END = b'event: end\ndata: {"exitCode": 0}\n\n'
ROW = {"id": "0123456789abcdef", "session": "x", "state": "running", "command": ["sh"], "terminal": False, "input": True, "stdoutBytes": 6, "stderrBytes": 0}


def stream(*parts, dies=False, wait=None):
    """An answer of events, part by part."""
    def answer(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        for part in parts:
            handler.wfile.write(part)
            handler.wfile.flush()
        if wait:
            wait(handler)
        if dies:
            handler.connection.shutdown(socket.SHUT_RDWR)
        handler.close_connection = True
    return answer


def turns(*hows):
    left = list(hows)

    def answer(handler):
        return (left.pop(0) if len(left) > 1 else left[0])(handler)
    return answer


def says(status, retry=None, **body):
    return lambda handler: handler.answer(status, json.dumps(body).encode(), [("Retry-After", str(retry))] if retry else ())


def dies(handler):
    handler.connection.shutdown(socket.SHUT_RDWR)


def result(**more):
    outputs = {"stdout": run.digest(b"hello\n"), "stderr": run.digest(b"")}
    return json.dumps(dict(run.RESULT, stdout={"bytesTotal": 6}, stderr={"bytesTotal": 0}, outputs=outputs, **more)).encode()


def signed_result(handler):
    words = handler.path.replace("?", "/").replace("=", "/").split("/")
    handler.signed("execution", " ".join(words[i] for i in (3, 5, -1)).encode(), result())


def unfinished_handshakes():
    made = run.make_certificate()
    if not made:
        skip("unfinished_handshakes", "openssl makes no certificate")
        return
    server, accept, left = run.serve("good", made[0]), socket.socket.accept, []

    def get_request():
        if not left:
            return server.socket.accept()
        left.pop()
        accept(server.socket)[0].close()
        raise OSError("closed before the handshake")

    def breaks(handler):
        left.extend([None] * 4)
        dies(handler)
    server.get_request = get_request
    server.sandbox = {"list": json.dumps([ROW]).encode(), "output": stream(event("stdout", 0, "hello\n"), END), "result": turns(breaks, signed_result)}
    path = run.document("tls.json", {"big": run.entry("https://127.0.0.1:%d" % server.server_address[1], hostKey=run.EVIL_KEY, caFile=made[1])})
    run.session("start", "liar", "--backends", path, "--backend", "remote:big", *run.PREFER, "--idle-timeout", "%ds" % (8 * SLOW))
    done = warder("wait", NAME)
    tell(done[0] == 0 and not left, "a connection that ends before TLS begins does not end wait", (done, left))
    server.sandbox = {}
    run.session("stop", "liar")
    server.shutdown()
    server.server_close()


def endless_output():
    """A host that names a length of output which never comes."""
    server, chunk = run.serve("good"), 30000
    server.sandbox = {"list": json.dumps([dict(ROW, stdoutBytes=10**18)]).encode(),
                      "output": stream(*(event("stdout", i * chunk, "x" * (chunk - 1) + "\n") for i in range(400)), END)}
    path = run.document("endless.json", {"big": run.entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=run.EVIL_KEY)})
    run.session("start", "liar", "--backends", path, "--backend", "remote:big", *run.PREFER)
    done = warder("logs", "--json", NAME)
    found = json.loads(done[1] or b"{}").get("stdout", {})
    text, missing = len(found.get("text", "")), found.get("missing", 0)
    tell(done[0] == 0 and 4 << 20 <= text + chunk * 3 and text <= 5 << 20 and text + missing == found["offset"] + text == 400 * chunk, "logs keeps the last 4 MiB, and counts the rest as missing", (done[0], text, missing, found.get("offset"), done[2]))
    server.sandbox = {}
    run.session("stop", "liar")
    server.shutdown()
    server.server_close()


def small_frames():
    """Output of both streams by turns, a byte at a time: the host counts 24 bytes for each, and so has room for all of it."""
    server, count = run.serve("good"), 50000
    server.sandbox = {"list": json.dumps([dict(ROW, stdoutBytes=count, stderrBytes=count)]).encode(),
                      "output": stream(b"".join(event("stdout", i, "a") + event("stderr", i, "b") for i in range(count)), END)}
    path = run.document("small.json", {"big": run.entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=run.EVIL_KEY)})
    run.session("start", "liar", "--backends", path, "--backend", "remote:big", *run.PREFER)
    done = warder("logs", "--json", NAME)
    found = json.loads(done[1] or b"{}")
    tell(done[0] == 0 and [(found[name]["missing"], found[name]["offset"], len(found[name]["text"])) for name in ("stdout", "stderr")] == [(0, 0, count)] * 2,
         "logs keeps all that a host can store, also in small pieces", (done[0], done[2], {name: (one["missing"], one["offset"]) for name, one in found.items() if isinstance(one, dict)}))
    server.sandbox = {}
    run.session("stop", "liar")
    server.shutdown()
    server.server_close()


BUSY = says(429, kind="unavailable", message="busy"), says(503, 1, kind="unavailable", message="busy")


def begin_to_read():
    """A command whose standard input lasts longer than a busy host is asked again: other parts run meanwhile."""
    begin_to_read.server = server = run.serve("good")
    server.sandbox = {}
    run.session("start", "calm", "--backends", run.document("calm.json", {"big": run.entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=run.EVIL_KEY)}), "--backend", "remote:big", *run.PREFER)
    begin_to_read.process, begin_to_read.at = opened("session", "exec", "calm", "--", "cat"), time.monotonic()


def end_reading():
    if not hasattr(begin_to_read, "at"):
        begin_to_read()
    server = begin_to_read.server
    time.sleep(max(0, begin_to_read.at + 122 - time.monotonic()))
    server.sandbox = {"execution": turns(*BUSY, says(201, id=ROW["id"])), "result": result(), "output": event("stdout", 0, "hello\n") + END}
    done = ends(begin_to_read.process, b"x")
    tell(done == (0, b"hello\n", ""), "session exec asks a busy host again for two minutes after it has read its input", done)
    server.sandbox = {}
    run.session("stop", "calm")
    server.shutdown()
    server.server_close()


def busy_hosts():
    """A host that is busy is asked again, from the first request on."""
    server = run.serve("good")
    server.sandbox = {}
    path = run.document("busy.json", {"big": run.entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=run.EVIL_KEY)})
    run.session("start", "liar", "--backends", path, "--backend", "remote:big", *run.PREFER)
    row = lambda handler: handler.answer(200, json.dumps([ROW]).encode())
    output = stream(event("stdout", 0, "hello\n"), END)
    for command in (["logs", NAME], ["attach", "-n", NAME]):
        server.sandbox, server.how = {"list": turns(*BUSY, row), "output": turns(*BUSY, output), "result": result()}, "busy once"
        server.asked.clear()
        done = warder(*command)
        tell(done == (0, b"hello\n", "") and len([one for one in server.asked if one[1].endswith("/output")]) == 3, command[0] + " asks a busy host again for all that it needs", (done, [one[1] for one in server.asked]))
    server.sandbox, server.how = {"list": turns(*BUSY, row)}, "busy once"
    done = warder("ps", "liar")
    tell(done[0] == 0 and NAME.encode() in done[1], "so does ps", done)
    server.sandbox, server.how = {"execution": turns(*BUSY, says(201, id=ROW["id"])), "result": result(), "output": event("stdout", 0, "hello\n") + END}, "busy once"
    server.asked.clear()
    done = run.session("exec", "liar", "--", "true")
    starts = [one[3] for one in server.asked if one[0] == "POST" and one[1].endswith("/executions")]
    tell(done[:2] == (0, b"hello\n") and len(starts) == 3 and len(set(starts)) == 1, "and session exec, with the same request", (done, starts))

    def asked(word):
        return len([one for one in server.asked if one[0] == "POST" and one[1].endswith(word)])
    for title, refusal in (("503 alone", says(503, kind="unavailable", message="128 executions")), ("503 with a long Retry-After", says(503, 60, kind="unavailable", message="later")), ("a lockout", says(429, 60, kind="unavailable", message="in a minute"))):
        server.sandbox = {"execution": turns(refusal, says(201, id=ROW["id"])), "result": result(), "output": event("stdout", 0, "hello\n") + END}
        server.asked.clear()
        done = run.session("exec", "liar", "--", "true")
        tell(done[0] == (125 if title == "a lockout" else 137) and "busy" not in done[2] and asked("/executions") == 1, title + " is said at once", (done, asked("/executions")))
    server.sandbox = {"execution": turns(BUSY[1], says(403, kind="rejected", message="no"))}
    done = run.session("exec", "liar", "--json", "--", "true")
    tell(done[0] == 137 and "whether the program ran" in done[1].decode() + done[2], "a start that was refused with 503 and asked for again may have been done", done)
    server.sandbox = {"list": turns(BUSY[0], BUSY[0], BUSY[0], BUSY[0], row)}
    done = warder("ps", "liar")
    tell(done[0] == 0 and done[2].count("the host is busy") == 1 and "tries again" in done[2], "after some seconds, the user hears of it once", done)
    for refusal, count in ((BUSY[0], 2), (BUSY[1], 2), (says(503, 1, message="busy"), 1), (says(502), 1)):
        server.sandbox = {"signal": turns(refusal, says(204))}
        server.asked.clear()
        done = warder("kill", NAME)
        tell(done[0] == (0 if count == 2 else 125) and asked("/signal") == count and ("not known whether the signal arrived" in done[2]) == (count == 1), "kill repeats 429 and the host's own 503, and not what a gateway says", (done, asked("/signal")))
    server.sandbox = {"list": BUSY[0]}
    began = time.monotonic()
    done = warder("logs", "--yield", "2s", NAME)
    took = time.monotonic() - began
    tell(done[0] == 125 and took < 8 * SLOW, "logs --yield waits for a busy host as long as that", (done, took))
    for words in (["logs", NAME], ["wait", NAME], ["attach", "-n", NAME]):
        asked = threading.Event()
        server.sandbox = {name: lambda handler: (asked.set(), time.sleep(3), row(handler)) for name in ("list", "result")}
        leaves = opened(*words)
        asked.wait(60 * SLOW)
        leaves.send_signal(signal.SIGTERM)
        done = ends(leaves)
        tell(done == (143, b"", ""), "a signal during a request ends " + words[0], done)
    server.sandbox = {}
    run.session("stop", "liar")
    server.shutdown()
    server.server_close()


def lying_about_executions():
    server = run.serve("good")
    server.sandbox = {}
    path = run.document("lying.json", {"big": run.entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=run.EVIL_KEY)})
    run.session("start", "liar", "--backends", path, "--backend", "remote:big", *run.PREFER, "--idle-timeout", "%ds" % (8 * SLOW))
    good = {"list": json.dumps([ROW]).encode(), "output": stream(event("stdout", 0, "hello\n"), END), "result": result()}

    def begin(**lies):
        server.sandbox = dict(good, **lies)
        server.asked.clear()

    def asked(word, method="GET"):
        return [one for one in server.asked if one[0] == method and one[1].endswith(word)]

    # the start
    begin(execution=turns(dies, says(201, id=ROW["id"])))
    name = start("liar", "-i", "--timeout", "9s", "--", "cat")
    bodies = [json.loads(one[3]) for one in asked("/executions", "POST")]
    tell(name == NAME and len(bodies) == 2 and bodies[0] == bodies[1] and bodies[0]["idempotencyKey"] and bodies[0]["input"] is True and bodies[0]["timeoutMs"] == 9000 and "stdinBase64" not in bodies[0],
         "a start whose answer is lost is asked for again with the same key", (name, bodies))
    times = [json.loads(one[3])["timeoutMs"] for one in asked("/timeout", "POST")]
    tell(times and set(times) == {8000 * SLOW + 9000}, "the session stays for the idle time and the time limit", times)
    begin(**dict.fromkeys(("list",), b"[]"))
    run.session("exec", "liar", "--", "true")
    times = [json.loads(one[3])["timeoutMs"] for one in asked("/timeout", "POST")]
    tell(times and all(8000 * SLOW < one < 8000 * SLOW + 9000 for one in times), "and later commands do not shorten that", times)
    begin(timeout=says(503))
    status, out, err = run.session("exec", "liar", "--detach", "--", "true")
    tell((status, out.decode().strip()) == (0, NAME) and "did not extend" in err, "if the host does not agree, that is said", (status, out, err))
    for title, lie, word, count in (("no answer", dies, "not known whether the program runs", 3), ("a path", says(201, id="../x"), '"id"', 1), ("a refusal", says(403, kind="rejected", message="no\x1b[31m red"), "red", 1), ("a redirect", None, "redirect", 1)):
        begin(execution=lie)
        done = start("liar", "--", "true")
        tell(done[0] == 125 and not done[1] and word in done[2] and "\x1b" not in done[2] and len(asked("/executions", "POST")) == count, "a start that is none: " + title, done)
    # the list
    lie = [5, {}, {"id": "../x"}, {"id": {}}, dict(ROW, state="\x1b[31mred", command=["\x1b[31mred", 5], counters=7, ageUs="x")]
    begin(list=json.dumps(lie).encode())
    done = warder("ps", "liar")
    tell(done[0] == 0 and NAME.encode() in done[1] and b"\x1b" not in done[1] and b"../x" not in done[1] and set(rows("liar")) == {NAME}, "a list is looked through", done)
    for title, lie, word in (("no JSON", b"<html>", "remote:big"), ("an object", b"{}", "not an array"), ("too long", b" " * (17 << 20), "16 MiB"), ("death", dies, "remote:big")):
        begin(list=lie)
        done = warder("ps", "liar")
        tell(done[0] == 125 and word in done[2], "a list that is none: " + title, done)
    # the output
    begin()
    done = warder("attach", "-n", NAME), warder("logs", NAME), warder("wait", NAME)
    tell([one[:2] for one in done] == [(0, b"hello\n"), (0, b"hello\n"), (0, b"")], "what does not lie is shown", done)
    begin(output=stream(*(bytes([byte]) for byte in event("stdout", 0, "hel") + event("stderr", 0, "err\u00e9\n") + event("stdout", 3, "lo\n") + END)), result=json.dumps(dict(json.loads(result()), stderr={"bytesTotal": 6}, outputs={"stdout": run.digest(b"hello\n"), "stderr": run.digest("err\u00e9\n".encode())})).encode())
    done = warder("attach", "-n", NAME)
    tell(done == (0, b"hello\n", "err\u00e9\n"), "a stream that comes byte by byte", done)
    begin(output=turns(stream(event("stdout", 0, "hel"), event("stdout", 3, "lo")[:-9], dies=True), stream(event("stdout", 3, "lo\n"), END)))
    done = warder("attach", "-n", NAME)
    tell(done == (0, b"hello\n", ""), "a stream that breaks off goes on at the byte where it ended, and nothing is said", done)
    begin(output=turns(stream(event("stdout", 0, "hel"), dies=True), dies, says(503, kind="unavailable", message="busy"), stream(event("stdout", 3, "lo\n"), END)))
    done = warder("attach", "-n", NAME)
    tell(done[:2] == (0, b"hello\n") and done[2].count("is made anew") == 1, "also if the host does not answer for a while, which is said", done)
    gap = lambda start, to: b"event: gap\ndata: " + json.dumps({"stream": "stdout", "from": start, "to": to}).encode() + b"\n\n"
    begin(output=stream(gap(0, 4), event("stdout", 4, "o\n"), END))
    done = warder("attach", "-n", NAME), warder("logs", NAME)
    tell(done[0][:2] == (0, b"o\n") and "4 bytes of standard output are missing" in done[0][2] and done[1][:2] == (0, b"o\n") and "4 bytes" in done[1][2], "a part that the host does not have is named", done)
    lies = (("a byte too far", event("stdout", 1, "x"), "byte 0 must follow"), ("a repetition", event("stdout", 0, "hel") + event("stdout", 2, "lo\n"), "byte 3 must follow"), ("a gap from elsewhere", gap(2, 5), "byte 0 must follow"), ("a gap backwards", event("stdout", 0, "hel") + gap(3, 2), "byte 3 must follow"),
            ("no bytes", b'event: output\ndata: {"stream": "stdout", "offset": 0}\n\n', "without valid bytes"), ("an offset that is none", b'event: output\ndata: {"stream": "stdout", "offset": -1, "text": "x"}\n\n', "without valid bytes"), ("an event of 2 MiB", b"data: " + b"x" * (2 << 20), "more than 1048576 bytes"))
    for title, text, word in lies:
        for command in ("attach", "logs"):
            begin(output=stream(text, END))
            done = warder(command, *(["-n"] if command == "attach" else []), NAME)
            tell(done[0] == 125 and word in done[2] and "may still run" in done[2] and NAME in done[2] and not asked("/signal", "POST"), "a lie ends %s, and not the program: %s" % (command, title), done)
    begin(output=stream(b"\r\n<html>\xff\n\nevent: what\ndata: 5\n\n: a comment\n\n", event("stdout", 0, "hello\n"), END))
    done = warder("attach", "-n", NAME)
    tell(done == (0, b"hello\n", ""), "events that are not known are passed over", done)
    begin(output=stream((event("stdout", 0, "hello\n") + END).replace(b"\n", b"\r\n")))
    done = warder("attach", "-n", NAME)
    tell(done == (0, b"hello\n", ""), "a line may end in CR LF", done)
    begin(output=stream(b": ping\n" * 200000, event("stdout", 0, "hello\n"), END))
    done = warder("attach", "-n", NAME)
    tell(done == (0, b"hello\n", ""), "comments of more than an event may have do not end a stream", done)
    begin(output=stream())
    done = warder("attach", "-n", NAME, timeout=120)
    tell(done[0] == 125 and "again and again" in done[2] and len(asked("/output")) == 5, "a stream that breaks off at once is given up", (done, len(asked("/output"))))
    for title, lie, word in (("a redirect", None, "redirect"), ("no answer", lambda handler: time.sleep(60 * SLOW), "does not answer"), ("a page", says(404, x=1), "404")):
        begin(output=lie)
        done = warder("attach", "-n", NAME)
        tell(done[0] == 125 and word in done[2] and NAME in done[2], "a stream that is none: " + title, done)
    unknown = says(404, kind="notFound", field="id", message="there is no execution")
    begin(output=unknown)
    done = warder("attach", "-n", NAME)
    tell(done[0] == 125 and "no execution " + NAME in done[2], "an execution that the host does not know is not a session that has ended", done)
    begin(list=unknown, output=unknown, result=unknown, input=unknown, signal=unknown, other=unknown)
    for words in (["ps", "liar"], ["attach", NAME], ["logs", NAME], ["wait", NAME], ["write", NAME], ["kill", NAME]):
        done = warder(*words, input=b"x")
        tell(done[0] == 125 and "session liar does not run any more" in done[2], "without its sandbox there is none: " + words[0], done)
    begin(output=turns(stream(event("stdout", 0, "hel"), dies=True), unknown))
    done = warder("attach", "-n", NAME)
    tell(done[:2] == (137, b"hel") and "not known" in done[2], "an end that nobody saw is not known", done)
    begin(output=turns(stream(event("stdout", 0, "hel"), dies=True), dies), timeout=dies)
    done = warder("attach", "-n", NAME, timeout=120)
    tell(done[0] == 125 and "whole idle time" in done[2], "a host that dies is given up after the idle time", done)
    quiet = lambda handler: time.sleep(90 * SLOW)
    begin(output=stream(event("stdout", 0, "hel"), wait=quiet), timeout=quiet)
    done = [ends(one) for one in (opened("attach", "-n", NAME), opened("logs", "-f", NAME))]
    for command, one in zip(("attach", "logs -f"), done):
        tell(one[:2] == (125, b"hel") and all(word in one[2] for word in ("is silent", "may still run", "whole idle time")), "a host that keeps the connection and says nothing is given up after the idle time: " + command, one)
    late = lambda handler: time.sleep(8 * SLOW + 18) or handler.wfile.write(event("stdout", 3, "lo\n") + END)
    begin(output=stream(event("stdout", 0, "hel"), wait=late))
    done = warder("attach", "-n", NAME, timeout=120)
    tell(done == (0, b"hello\n", ""), "but not one that still renews the lease, while the program says nothing", done)
    # the result
    other = lambda text: dict(json.loads(result()), outputs={"stdout": run.digest(text), "stderr": run.digest(b"")})
    for title, lie, word in (("other output", json.dumps(other(b"hullo\n")).encode(), "differs from what the host has signed"), ("no signature", lambda handler: handler.answer(200, result()), "not signed"), ("one for another", lambda handler: handler.signed("execution", b"abc1 x x", result()), "signature"),
                             ("no result", b'{"x": 1}', '"cause"')):
        for command in ("attach", "wait"):
            begin(result=lie)
            done = warder(command, *(["-n"] if command == "attach" else ["--json"]), NAME)
            text = done[2] if command == "attach" else json.loads(done[1] or "{}").get("detail", "")
            tell(done[0] == 137 and word in text, "%s says that a result is not good: %s" % (command, title), done)
    begin(result=turns(dies, says(503, kind="unavailable", message="busy"), signed_result))
    done = warder("wait", NAME)
    tell(done[0] == 0 and len([one for one in server.asked if one[1].endswith(ROW["id"])]) == 3, "a lost connection does not end wait", done)
    begin(result=turns(says(502), says(504), signed_result))
    done = warder("wait", NAME)
    tell(done[0] == 0, "nor does a proxy whose host is away", done)
    begin(result=dies, timeout=dies)
    done = warder("wait", "--json", NAME, timeout=120)
    tell(done[0] == 137 and "whole idle time" in json.loads(done[1])["detail"], "a host that is gone for the whole idle time does", done)
    # input and signals
    bodies = []

    def takes(handler, status=200, **body):
        bodies.append(json.loads(next(one[3] for one in reversed(server.asked) if one[1].endswith("/input"))))
        handler.answer(status, json.dumps(body).encode(), [("Retry-After", "1")] if status == 503 else ())
    waits = lambda handler: until(lambda: any(body["close"] for body in bodies), 60) and handler.wfile.write(event("stdout", 0, "hello\n") + END)
    begin(input=takes, output=stream(wait=waits))
    blob = bytes(range(256)) * 40
    done = warder("attach", NAME, input=blob)
    tell(done == (0, b"hello\n", "") and b"".join(base64.b64decode(body["base64"]) for body in bodies) == blob and [body["close"] for body in bodies] == [False] * (len(bodies) - 1) + [True], "input goes on in its order, and its end last", (done, bodies))
    bodies.clear()
    told = threading.Event()
    refuses = lambda handler: until(lambda: bodies, 60) and told.wait(60 * SLOW) and handler.wfile.write(event("stdout", 0, "hello\n") + END)
    for title, status, word in (("no more", 409, ""), ("a refusal", 400, "takes no input"), ("a loss", 502, "may be missing")):
        bodies.clear()
        told.clear()
        begin(input=lambda handler: takes(handler, status, kind="conflict", message="\x1b[31mclosed"), output=stream(wait=refuses))
        attached = opened("attach", NAME)
        attached.stdin.write(b"x")
        attached.stdin.close()
        attached.stdin = None
        line = attached.stderr.readline() if word else b""
        told.set()
        done = ends(attached)
        done = *done[:2], line.decode() + done[2]
        tell(done[:2] == (0, b"hello\n") and word in done[2] and (word or not done[2]) and "\x1b" not in done[2], "input that does not arrive: " + title, done)
    bodies.clear()
    begin(input=lambda handler: takes(handler, *[] if bodies and bodies[-1]["close"] else [503], message="busy"), output=stream(wait=waits))
    done = warder("attach", NAME, input=b"x")
    tell(done[:2] == (0, b"hello\n") and "may be missing" in done[2] and len([1 for body in bodies if body["base64"]]) == 1, "input that a gateway refuses with 503 may have arrived, and is not sent again", (done, bodies))
    for status in (429, 503):
        bodies.clear()
        begin(input=turns(*[lambda handler: takes(handler, status, kind="unavailable", message="busy")] * 2, takes, lambda handler: takes(handler, status, message="busy"), takes), output=stream(wait=lambda handler: until(lambda: len(bodies) == 5, 30) and handler.wfile.write(event("stdout", 0, "hello\n") + END)))
        done = warder("attach", NAME, input=b"x")
        tell(done == (0, b"hello\n", "") and [body["close"] for body in bodies] == [False] * 3 + [True] * 2 and {body["base64"] for body in bodies[:3]} == {"eA=="}, "input that a busy host refuses is sent again, and so is its end: %d" % status, (done, bodies))
    bodies.clear()
    begin(input=turns(*[lambda handler: takes(handler, 503, kind="unavailable", message="busy")] * 7, takes), output=stream(wait=lambda handler: until(lambda: len(bodies) == 9, 60) and handler.wfile.write(event("stdout", 0, "hello\n") + END)))
    done = warder("attach", NAME, input=b"x")
    tell(done[:2] == (0, b"hello\n") and done[2].count("cannot be sent at present") == 1 and "missing" not in done[2] and [body["close"] for body in bodies] == [False] * 8 + [True], "input that a host refuses for some seconds is reported once, and sent again all the same", (done, bodies))
    bodies.clear()
    begin(input=turns(takes, lambda handler: takes(handler, 502), lambda handler: bodies.append({"close": 1}) or dies(handler), takes), output=stream(wait=lambda handler: until(lambda: len(bodies) == 4, 30) and handler.wfile.write(event("stdout", 0, "hello\n") + END)))
    done = warder("attach", NAME, input=b"x")
    tell(done[:2] == (0, b"hello\n") and done[2].count("or its end") == 1 and [bool(body["close"]) for body in bodies] == [False] + [True] * 3, "the end of the input is sent until it has arrived", (done, bodies))
    bodies.clear()
    begin(input=takes)
    done = warder("write", "--close", NAME, input=blob * 10)
    tell(done[0] == 0 and b"".join(base64.b64decode(body["base64"]) for body in bodies) == blob * 10 and all(len(body["base64"]) <= 43692 for body in bodies) and bodies[-1]["close"], "write sends parts of 32 KiB, and closes last", (done, len(bodies)))
    for status in (429, 503):
        bodies.clear()
        busy = lambda handler: takes(handler, status, kind="unavailable", message="busy")
        begin(input=turns(busy, busy, takes))
        done = warder("write", "--close", NAME, input=b"x")
        tell(done == (0, b"", "") and len(bodies) == 3 and all(body == bodies[0] for body in bodies), "write asks a busy host again: %d" % status, (done, bodies))
    for title, way in (("lost", dies), ("502", lambda handler: takes(handler, 502)), ("a gateway's 503", lambda handler: takes(handler, 503, message="busy"))):
        server.asked.clear()
        begin(input=way)
        done = warder("write", NAME, input=b"x")
        sent = len([one for one in server.asked if one[1].endswith("/input")])
        tell(done[0] == 125 and "not known whether the input arrived" in done[2] and sent == 1, "input whose answer is %s is no success, and is not sent again" % title, (done, sent))
    begin(signal=says(409, kind="conflict", field="id", message="execution has ended"))
    done = warder("kill", "-s", "INT", NAME)
    tell(done[0] == 125 and NAME in done[2] and "has ended" in done[2] and json.loads(asked("/signal", "POST")[0][3]) == {"signal": 2}, "a signal that is refused is named", done)
    server.sandbox = {}
    run.session("stop", "liar")
    server.shutdown()
    server.server_close()
