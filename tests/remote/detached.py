"""Executions that outlive their callers, in sessions of services of the kind e2b: on Warder's own host, and on services that lie."""
import base64, fcntl, hashlib, json, os, signal, struct, subprocess, sys, termios, time

from serving import handles, state_of, warder, work
from tap import SLOW, WARDER, tell, until

e2b = sys.modules["__main__"]  # the suite that has the services


def called(session, number, sandbox="i1"):
    """The name of an execution: it stands for the sandbox, too."""
    return "%s:%d.%s" % (session, number, hashlib.sha256(sandbox.encode()).hexdigest()[:8])


SEVEN, EIGHT = called("liar", 7), called("liar", 8)


def start(name, *words):
    """The name of a detached execution, or what came in its place."""
    status, out, err = e2b.session("exec", name, "--detach", *words)
    return out.decode().strip() if status == 0 else (status, out, err)


def opened(*words, **more):
    return subprocess.Popen([WARDER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def rows(name):
    return {row["id"]: row for row in json.loads(warder("ps", name, "--json")[1])}


def own(path, host):
    e2b.session("start", "far", *e2b.there(path))
    first = start("far", "-i", "--", "sh", "-c", "read a; echo got $a; read b; echo end $b >&2; exit 7")
    if not isinstance(first, str):
        return tell(False, "a detached execution has a name", first)
    number, mark = first[4:].split(".")
    tell(number.isdigit() and first == called("far", int(number), host.sandboxes()[0]), "a detached execution has the name SESSION:ID", first)
    listed = rows("far")
    tell(listed[first]["state"] == "running" and listed[first]["command"][:2] == ["sh", "-c"] and listed[first]["session"] == "far", "ps SESSION lists it", listed)
    status, out, err = warder("ps", "far")
    tell(status == 0 and first in out.decode() and "running" in out.decode(), "also for people", (status, out, err))
    tell(first not in warder("ps")[1].decode(), "ps without a session asks no other machine")
    waits = opened("wait", first), opened("wait", "--json", first)
    tell(warder("write", first, input=b"one\n")[0] == 0, "write reaches its input")
    attached = opened("attach", first)
    out, err = attached.communicate(b"two\n", timeout=90 * SLOW)
    tell((attached.returncode, out) == (7, b"got one\n") and err.startswith(b"end two\n"), "attach shows both streams, passes input on and exits as the program does", (attached.returncode, out, err))
    done = [(process.communicate(timeout=90 * SLOW), process.returncode) for process in waits]
    data = json.loads(done[1][0][0])
    tell(done[0][1] == 7 and done[1][1] == 7 and (data["cause"], data["exitCode"], data["backend"], data["isolation"]) == ("exit", 7, "remote:cloud", "providerHosted"), "wait knows how it ended", done)
    tell(first not in rows("far"), "then it is not in the list")
    for name, flags, word, code in (("TERM", [], "signal", 143), ("KILL", ["-s", "KILL"], "signal", 137)):
        victim = start("far", "--", "sleep", "100")
        wait = opened("wait", "--json", victim)
        status = warder("kill", *flags, victim)
        out, err = wait.communicate(timeout=90 * SLOW)
        tell(status[0] == 0 and wait.returncode == code and json.loads(out)["cause"] == word, "kill ends it: " + name, (status, wait.returncode, out, err))
    victim = start("far", "--", "sleep", "100")
    done = warder("kill", "-s", "INT", victim)
    tell(done[0] == 125 and "only TERM and KILL" in done[2] and victim in rows("far"), "a signal that the protocol lacks is refused", done)
    done = warder("logs", victim)
    tell(done[0] == 125 and "does not keep output" in done[2] and "attach -n " + victim in done[2], "so is logs, with its reason", done)
    for how, words in ((signal.SIGINT, ("attach", "-n", victim)), (signal.SIGTERM, ("wait", victim))):
        leaves = opened(*words)
        until(lambda: handles(leaves.pid, how))
        leaves.send_signal(how)
        out, err = leaves.communicate(timeout=90 * SLOW)
        tell(leaves.returncode == 128 + how and victim in rows("far"), "a signal leaves it running: " + words[0], (leaves.returncode, out, err))
    warder("kill", "-s", "KILL", victim)
    cat = start("far", "-i", "--", "cat")
    attached = opened("attach", cat)
    blob = bytes(range(256)) * 4000
    out, err = attached.communicate(blob, timeout=90 * SLOW)
    tell((attached.returncode, out == blob) == (0, True), "a megabyte goes in and out byte by byte, and the end of the input arrives", (attached.returncode, len(out), err))
    count = start("far", "-i", "--", "wc", "-c")
    watch = opened("attach", "-n", count)
    done = warder("write", count, input=b"x" * 400000), warder("write", "--close", count, input=b"y")
    out, err = watch.communicate(timeout=90 * SLOW)
    tell([one[0] for one in done] == [0, 0] and (watch.returncode, out) == (0, b"400001\n"), "write --close ends its input", (done, watch.returncode, out, err))
    silent = start("far", "--", "sh", "-c", "cat; echo over; sleep 1")
    done = warder("attach", silent, input=b"")
    tell(done[:2] == (0, b"over\n"), "without -i, its input is empty", done)
    late = start("far", "--timeout", "1s", "--", "sleep", "100")
    done = warder("wait", "--json", late)
    data = json.loads(done[1])
    tell(done[0] == 137 and (data["cause"], data["signal"]) == ("signal", "SIGKILL") and "time of 1s" in data["detail"], "it ends with its time limit, also if nobody waits", done)
    for name, words, word in (("one that is not there", ["kill", "far:1." + mark], "does not run"), ("a name of none", ["wait", "far:../x"], "SESSION:ID"), ("no id", ["attach", "far:"], "SESSION:ID"), ("no sandbox", ["attach", "far:" + number], "SESSION:ID"), ("no session", ["write", "none:1." + mark], "none"),
                              ("two", ["wait", "far:1", "far:2"], "one word too many"), ("an id that is no number", ["wait", "far:abc." + mark], "far:abc"), ("a session that is not there", ["ps", "none"], "none")):
        done = warder(*words)
        tell(done[0] == 125 and word in done[2], "what is no execution is refused: " + name, done)
    for flags, word in ((["--keep", "5m"], "--keep"), (["--log", os.path.join(work, "log")], "--log"), (["--audit", os.path.join(work, "audit")], "--audit"), (["--timeout", "2m"], "--timeout 2m"), (["-t"], "terminal"), (["--json"], "--json")):
        done = e2b.session("exec", "far", "--detach", *flags, "--", "true")
        tell(done[0] == 125 and word in done[2] + done[1].decode(), "and a flag that it cannot have: " + word, done)
    tell(rows("far") == {}, "nothing of that runs", rows("far"))
    e2b.session("stop", "far")
    done = warder("kill", first)
    tell(done[0] == 125 and "session far does not run" in done[2], "without its session there is none", done)


def unknown(status=200):
    body = {"code": "not_found", "message": "process with pid 7 not found"}
    return e2b.frame({"error": body}, 2) if status == 200 else (404, json.dumps(body).encode(), ())


def turns(*hows):
    """One answer after the other, and then the last again."""
    left = list(hows)

    def answer(self):
        how = left.pop(0) if len(left) > 1 else left[0]
        return how(self) if callable(how) else self.answer(*how) if isinstance(how, tuple) else self.answer(200, how)
    return answer


def lying():
    server = e2b.serve({})
    path = e2b.document("detached.json", "http://127.0.0.1:%d" % server.server_address[1])
    whole = e2b.START + e2b.HELLO + e2b.END + e2b.LAST
    e2b.session("start", "liar", *e2b.there(path))

    def begin(**how):
        server.how = how
        server.asked.clear()

    def asked(kind):
        return [one for one in server.asked if one[0] == kind]

    def bodies(kind):
        return [json.loads(one[2]) for one in asked(kind)]

    # the start
    begin(Start=e2b.hangs)
    name = start("liar", "--timeout", "9s", "--", "sh", "-c", "x")
    message = asked("Start")[0]
    tell(name == SEVEN and json.loads(message[2][5:])["stdin"] is False and message[1]["Connect-Timeout-Ms"] == "9000" and not asked("SendSignal") and not asked("DELETE"), "a program that has begun is left, with its time limit", (name, server.asked))
    begin(Start=e2b.hangs)
    tell(start("liar", "-i", "--", "cat") == SEVEN and json.loads(asked("Start")[0][2][5:])["stdin"] is True, "with its input open if that is asked for")
    times = [json.loads(one[2])["timeout"] for one in asked("timeout")]
    tell(times == [3660], "the sandbox stays for the idle time and the time limit", times)
    for title, hows, warns in (("once", turns((503, b"{}", ()), b"{}"), False), ("again", (503, b"{}", ()), True)):
        begin(Start=e2b.hangs, timeout=hows)
        status, out, err = e2b.session("exec", "liar", "--detach", "--", "sleep", "1")
        tell((status, out.decode().strip(), "did not extend" in err) == (0, SEVEN, warns) and len(asked("timeout")) == 2, "if that fails " + title, (status, out, err, server.asked))
    for title, how, word in (("a refusal", e2b.frame({"error": {"code": "not_found", "message": "\x1b[31mno such file"}}, 2), "did not start"), ("death", e2b.dies, "not known"), ("half a frame", e2b.START[:9], "not known"), ("no JSON", e2b.frame(b"<html>"), "no JSON"),
                             ("the number 0", e2b.frame({"event": {"start": {"pid": 0}}}), "pid"), ("output of none", e2b.HELLO, "wrong order"), ("a redirect", e2b.redirect, "redirect")):
        begin(Start=how)
        done = start("liar", "--", "true")
        tell(done[0] == 125 and not done[1] and word in done[2] and "\x1b" not in done[2], "a start that is none: " + title, done)
    # the list
    lie = {"processes": [5, {}, {"pid": "x"}, {"pid": 0}, {"pid": 5000000000}, {"pid": 8, "config": 7}, {"pid": 7, "config": {"cmd": "\x1b[31mred", "args": [1, "a", None]}}]}
    begin(List=json.dumps(lie).encode())
    done = warder("ps", "liar")
    tell(done[0] == 0 and SEVEN.encode() in done[1] and EIGHT.encode() in done[1] and b"5000000000" not in done[1] and b"\x1b" not in done[1] and set(rows("liar")) == {SEVEN, EIGHT}, "a list is looked through", done)
    for title, how, word in (("no JSON", b"<html>", "not a JSON object"), ("2 MiB", b" " * (2 << 20), "1 MiB"), ("a list of none", b"[]", "not a JSON object"), ("death", e2b.dies, "remote:cloud"), ("too many values", b'{"processes": [' + b"1," * 300000 + b"1]}", "not a JSON object")):
        begin(List=how)
        done = warder("ps", "liar")
        tell(done[0] == 125 and word in done[2], "a list that is none: " + title, done)
    # attach and wait
    begin(Connect=whole)
    done = warder("attach", SEVEN, input=b"in")
    message = asked("Connect")[0]
    tell(done[:2] == (0, b"hello\n") and json.loads(message[2][5:]) == {"process": {"pid": 7}} and message[1]["X-Access-Token"] == "secret-of-the-sandbox" and "X-API-Key" not in message[1], "attach connects to the number", (done, server.asked))
    begin(Connect=e2b.drip)
    tell(warder("attach", "-n", SEVEN)[:2] == (0, b"hello\n"), "an answer that comes byte by byte")

    def takes(self):
        """The program's end comes when its input has."""
        e2b.begin(self)
        self.wfile.write(e2b.START)
        self.wfile.flush()
        until(lambda: asked("CloseStdin"), 60)
        self.wfile.write(e2b.HELLO + e2b.END + e2b.LAST)
    begin(Connect=takes)
    done = warder("attach", SEVEN, input=b"one\ntwo")
    tell(done[:2] == (0, b"hello\n") and b"".join(base64.b64decode(one["input"]["stdin"]) for one in bodies("SendInput")) == b"one\ntwo" and [one[0] for one in server.asked if one[0] in ("SendInput", "CloseStdin")][-1] == "CloseStdin" and
         all(one["process"] == {"pid": 7} for one in bodies("SendInput") + bodies("CloseStdin")), "input goes on in its order, and its end last", (done, server.asked))

    def refuses(self):
        e2b.begin(self)
        self.wfile.write(e2b.START)
        self.wfile.flush()
        until(lambda: server.over, 60)
        self.wfile.write(e2b.HELLO + e2b.END + e2b.LAST)
    begin(Connect=refuses, SendInput=(400, b'{"code": "failed_precondition", "message": "\\u001b[31mstdin not enabled"}', ()))
    server.over = False
    attached = opened("attach", SEVEN)
    attached.stdin.write(b"x" * 20000)
    attached.stdin.close()
    attached.stdin = None
    line = attached.stderr.readline()
    server.over = True
    out, err = attached.communicate(timeout=90 * SLOW)
    done = attached.returncode, out, (line + err).decode()
    tell(done[:2] == (0, b"hello\n") and done[2].count("takes no input") == 1 and "not enabled" in done[2] and "\x1b" not in done[2], "input that is refused is named once, and the rest goes on", done)
    begin(Connect=takes, SendInput=turns((502, b"<html>", ()), b"{}"))
    done = warder("attach", SEVEN, input=b"x" * 20000)
    tell(done[:2] == (0, b"hello\n") and "takes no input" not in done[2] and done[2].count("may be missing") == 1 and len(asked("SendInput")) > 1 and len(asked("Connect")) == 1, "a part of the input that is lost is told, and the rest goes on", done)

    def holds(self):
        e2b.begin(self)
        self.wfile.write(e2b.START)
        self.wfile.flush()
        until(lambda: server.over, 60)
        self.wfile.write(e2b.HELLO + e2b.END + e2b.LAST)
    begin(Connect=holds, CloseStdin=(502, b"<html>", ()))
    server.over = False
    attached = opened("attach", SEVEN)
    attached.stdin.close()
    attached.stdin = None
    line = attached.stderr.readline()
    server.over = True
    out, err = attached.communicate(timeout=90 * SLOW)
    tell(b"or its end, cannot be sent at present" in line and (attached.returncode, out) == (0, b"hello\n"), "so is its end", (line, attached.returncode, out, err))
    busy = lambda status, *headers: (status, b'{"code": "unavailable", "message": "busy"}', headers)
    begin(Connect=takes, SendInput=turns(busy(503), b"{}"))
    done = warder("attach", SEVEN, input=b"x")
    tell(done[:2] == (0, b"hello\n") and done[2].count("may be missing") == 1 and len(asked("SendInput")) == 1, "input is not sent twice if a gateway may have passed it on", (done, server.asked))
    begin(Connect=takes, SendInput=turns(busy(429), b"{}"))
    done = warder("attach", SEVEN, input=b"x")
    tell(done == (0, b"hello\n", "") and len(asked("SendInput")) == 2, "but if the service has refused it", (done, server.asked))
    begin(SendInput=busy(503), SendSignal=busy(503))
    for words, kind in ((["write", SEVEN], "SendInput"), (["kill", SEVEN], "SendSignal")):
        done = warder(*words, input=b"x")
        tell(done[0] == 125 and "busy" in done[2] and done[2].count("not known whether the") == 1 and "may have" not in done[2] and len(asked(kind)) == 1, "nor by " + words[0], (done, server.asked))
    begin(SendInput=turns(busy(429), b"{}"), CloseStdin=turns(busy(503, ("Retry-After", "1")), b"{}"))
    done = warder("write", "--close", SEVEN, input=b"x")
    tell(done == (0, b"", "") and [len(asked(kind)) for kind in ("SendInput", "CloseStdin")] == [2, 2], "write repeats what does no harm", (done, server.asked))
    begin(Connect=takes, CloseStdin=unknown(404))
    done = warder("attach", SEVEN, input=b"")
    tell(done == (0, b"hello\n", ""), "an end of the input that is refused is not", done)

    def ends_first(self):
        """The program ends while its input waits."""
        e2b.begin(self)
        self.wfile.write(e2b.START)
        self.wfile.flush()
        until(lambda: server.stopped, 60)
        self.wfile.write(e2b.HELLO + e2b.END + e2b.LAST)

    def zombies(parent):
        with open("/proc/%d/task/%d/children" % (parent, parent)) as file:
            return [child for child in file.read().split() if state_of(int(child)) == "Z"]
    begin(Connect=ends_first, SendInput=lambda self: (until(lambda: server.over, 60), self.answer(200, b"{}")))
    server.stopped = server.over = False
    attached = opened("attach", SEVEN)
    attached.stdin.write(b"x" * 60000)
    attached.stdin.flush()
    until(lambda: asked("SendInput"), 60)
    time.sleep(0.5)  # more input waits for its turn
    attached.send_signal(signal.SIGSTOP)
    server.stopped = True
    ended = until(lambda: zombies(attached.pid), 60)
    attached.send_signal(signal.SIGCONT)
    out, err = attached.communicate(timeout=90 * SLOW)
    server.over = True
    tell(ended and (attached.returncode, out, err) == (0, b"hello\n", b"") and len(asked("Connect")) == 1, "input that waits does not hide the end", (ended, attached.returncode, out, err))
    for title, how in (("in the stream", unknown()), ("by the status", unknown(404))):
        begin(Connect=how)
        done = warder("wait", SEVEN)
        tell(done[0] == 125 and "does not run: it has ended, or there was none" in done[2] and "says nothing about" in done[2], "a program that the service does not know: " + title, done)
    begin(Connect=(404, b"<html>nginx</html>", ()))
    done = warder("wait", SEVEN)
    tell(done[0] == 125 and "404" in done[2] and "does not run" not in done[2], "a page that is not found is no program that has ended", done)
    begin(Connect=turns(e2b.half, whole))
    done = warder("attach", "-n", SEVEN)
    tell(done[:2] == (0, b"hello\n" * 2) and "was lost" in done[2] and "may be missing" in done[2] and len(asked("Connect")) == 2, "a lost connection is made anew, and that is said", done)
    begin(Connect=turns(e2b.half, e2b.dies, (502, b"{}", ()), whole))
    done = warder("wait", "--json", SEVEN)
    tell(done[0] == 0 and json.loads(done[1])["exitCode"] == 0 and "hello" not in done[1].decode() and len(asked("Connect")) == 4, "also if the service does not answer for a while", done)

    def breaks(self):
        e2b.begin(self)
        self.wfile.write(e2b.START)
        self.wfile.flush()
        until(lambda: asked("CloseStdin"), 60)

    def hears_again(self):
        e2b.begin(self)
        self.wfile.write(e2b.START)
        self.wfile.flush()
        until(lambda: len(asked("CloseStdin")) > 1, 20)
        self.wfile.write(e2b.HELLO + e2b.END + e2b.LAST)
    begin(Connect=turns(breaks, hears_again), CloseStdin=turns(e2b.dies, b"{}"))
    done = warder("attach", SEVEN, input=b"")
    tell(done[:2] == (0, b"hello\n") and len(asked("CloseStdin")) == 2 and len(asked("Connect")) == 2, "the end of the input is sent again, because it may not have arrived", (done, server.asked))
    begin(Connect=turns(e2b.half, unknown()))
    done = warder("wait", "--json", SEVEN)
    data = json.loads(done[1])
    tell(done[0] == 137 and data["cause"] == "host" and data["exitCode"] is None and "not known" in data["detail"], "an end that nobody saw is not known, and the result says so", done)
    begin(Connect=e2b.half)
    done = warder("wait", SEVEN)
    tell(done[0] == 125 and "again and again" in done[2] and len(asked("Connect")) == 5, "a connection that is lost again and again has an end", (done, len(server.asked)))
    for title, how, word in (("no JSON", e2b.START + e2b.frame(b"<html>"), "no JSON"), ("a web page", e2b.START + b"<html>", "flags 60"), ("a frame of 5 MiB", e2b.START + b"\0\0\x50\0\0" + b"x" * 10, "4 MiB"), ("two starts", e2b.START * 2, "wrong order"),
                             ("output that is no base64", e2b.START + e2b.frame({"event": {"data": {"stdout": "!!"}}}), "base64"), ("an exit code of 999", e2b.START + e2b.frame({"event": {"end": {"exited": True, "exitCode": 999}}}), "exitCode")):
        begin(Connect=how)
        done = warder("wait", SEVEN)
        tell(done[0] == 125 and word in done[2] and "may still run" in done[2] and len(asked("Connect")) == 1 and not asked("SendSignal"), "a lie ends it, and not the program: " + title, done)
    begin(Connect=e2b.redirect)
    done = warder("wait", SEVEN)
    tell(done[0] == 125 and "redirect" in done[2], "a redirect is not followed", done)
    begin(Connect=turns(e2b.late, whole))
    done = warder("wait", "--json", SEVEN)
    tell(done[0] == 0 and json.loads(done[1])["cause"] == "exit" and len(asked("Connect")) == 2, "the time of a connection is not that of the program", done)
    begin(Connect=lambda self: time.sleep(60 * SLOW))
    done = warder("wait", SEVEN)
    tell(done[0] == 125 and "does not answer" in done[2], "a service that says nothing is left", done)
    e2b.session("start", "short", *e2b.there(path), "--idle-timeout", "3s")
    kept = []

    def waits(self):
        e2b.begin(self)
        self.wfile.write(e2b.START)
        self.wfile.flush()
        kept.append(until(lambda: [json.loads(one[2])["timeout"] for one in asked("timeout")][1:], 60))
        self.wfile.write(e2b.HELLO + e2b.END + e2b.LAST)
    begin(Connect=waits)
    done = warder("wait", called("short", 7), timeout=120)
    tell(done[0] == 0 and kept and kept[0] and set(kept[0]) == {3}, "the lease is renewed while a command waits", (done, kept))
    begin(Connect=turns(e2b.half, (502, b"{}", ())))
    done = warder("wait", called("short", 7), timeout=120 * SLOW)
    tell(done[0] == 125 and "whole idle time" in done[2], "a sandbox that does not answer is given up after the idle time, also if the service answers", done)
    e2b.session("stop", "short")
    begin(Connect=e2b.hangs)
    leaves = opened("attach", "-n", SEVEN)
    tell(leaves.stdout.read(6) == b"hello\n", "output comes at once")
    leaves.send_signal(signal.SIGTERM)
    leaves.communicate(timeout=90 * SLOW)
    tell(leaves.returncode == 143 and not asked("SendSignal") and not asked("DELETE"), "a signal leaves the program alone", (leaves.returncode, server.asked))

    def floods_errors(self):
        e2b.begin(self)
        self.wfile.write(e2b.START + e2b.frame({"event": {"data": {"stderr": base64.b64encode(b"y" * 1000000).decode()}}}))
        self.wfile.flush()
        until(lambda: server.over, 60)

    def waiting(file):
        return struct.unpack("i", fcntl.ioctl(file, termios.FIONREAD, b"\0" * 4))[0]
    begin(Connect=floods_errors)
    server.over = False
    leaves = opened("attach", "-n", SEVEN)
    full = until(lambda: waiting(leaves.stderr) > 60000, 60)
    leaves.send_signal(signal.SIGTERM)
    left = until(lambda: leaves.poll() is not None, 30)
    server.over = True
    leaves.communicate(timeout=90 * SLOW)
    tell(full and left and leaves.returncode == 143, "also while nobody reads its standard error", (full, left, leaves.returncode))

    def floods(self):
        e2b.begin(self)
        self.wfile.write(e2b.START + e2b.frame({"event": {"data": {"stdout": base64.b64encode(b"y" * 3000000).decode()}}}))
        self.wfile.flush()
        until(lambda: server.over, 60)
        self.wfile.write(e2b.END + e2b.LAST)
    begin(Connect=floods)
    server.over = False
    attached = opened("attach", SEVEN)
    full = until(lambda: waiting(attached.stdout) > 60000, 60)
    time.sleep(0.5)  # all buffers on the way are full
    attached.stdin.write(b"in")
    attached.stdin.flush()
    came = until(lambda: bodies("SendInput"), 30)
    server.over = True
    out, err = attached.communicate(timeout=90 * SLOW)
    tell(full and came and (attached.returncode, len(out)) == (0, 3000000), "input passes while nobody reads the output", (full, came, attached.returncode, len(out), err))
    times = []
    begin(Connect=takes, SendInput=lambda self: (times.append(time.monotonic()), self.answer(200, b"{}")))
    done = warder("attach", SEVEN, input=b"x" * 120000)
    gaps = sorted(later - earlier for earlier, later in zip(times, times[1:]))
    tell(done[0] == 0 and len(gaps) > 10 and gaps[len(gaps) // 4] < 0.1, "a piece of the input does not wait for a look at the clock", (done, gaps))

    def breaks_with_input(self):
        e2b.begin(self)
        self.wfile.write(e2b.START)
        self.wfile.flush()
        until(lambda: asked("SendInput"), 60)
    begin(Connect=turns(breaks_with_input, takes), SendInput=turns(lambda self: until(lambda: len(asked("Connect")) > 1, 60), b"{}"))
    done = warder("attach", SEVEN, input=b"one")
    tell(done[:2] == (0, b"hello\n") and done[2].count("may be missing, or its end") == 1 and len(asked("Connect")) == 2, "input that is on its way when the stream breaks is reported", (done, server.asked))
    # kill and write
    begin()
    done = warder("kill", SEVEN), warder("kill", "-s", "9", SEVEN)
    tell([one[0] for one in done] == [0, 0] and bodies("SendSignal") == [{"process": {"pid": 7}, "signal": "SIGNAL_SIGTERM"}, {"process": {"pid": 7}, "signal": "SIGNAL_SIGKILL"}], "kill sends the signal to the number", (done, server.asked))
    for word, kind in (("kill", "SendSignal"), ("write", "SendInput")):
        begin(**{kind: unknown(404)})
        done = warder(word, SEVEN, input=b"x")
        tell(done[0] == 125 and "does not run" in done[2], word + " of one that has ended says so", done)
    begin(SendInput=(413, b"<html>", ()))
    done = warder("write", SEVEN, input=b"x")
    tell(done[0] == 125 and "413" in done[2], "input that does not arrive is no success", done)
    begin()
    blob = bytes(range(256)) * 2000
    done = warder("write", "--close", SEVEN, input=blob)
    tell(done[0] == 0 and b"".join(base64.b64decode(one["input"]["stdin"]) for one in bodies("SendInput")) == blob and len(bodies("SendInput")) >= 2 and len(asked("CloseStdin")) == 1, "long input goes in parts, and then ends", (done, len(server.asked)))
    begin(i1=e2b.GONE)
    for words in (["ps", "liar"], ["kill", SEVEN], ["wait", SEVEN], ["attach", SEVEN]):
        done = warder(*words)
        tell(done[0] == 125 and "session liar does not run any more" in done[2], "without its sandbox there is none: " + words[0], done)
    begin()
    writes = opened("write", SEVEN)
    writes.stdin.write(b"one\n")
    writes.stdin.flush()
    came = until(lambda: asked("SendInput"), 30)
    out, err = writes.communicate(timeout=90 * SLOW)
    tell(came and writes.returncode == 0 and len(bodies("SendInput")) == 1 and not asked("CloseStdin"), "input goes as it comes", (came, writes.returncode, err, server.asked))
    begin()
    done = warder("write", SEVEN, input=b"")
    tell(done[0] == 125 and "does not run" in done[2], "no input for a program that is not there is no success", done)
    begin(List=json.dumps({"processes": [{"pid": 7}]}).encode())
    done = warder("write", SEVEN, input=b"")
    tell(done[0] == 0 and not asked("SendInput"), "and for one that is there, it is", done)
    # another sandbox
    server.how = {}
    e2b.session("stop", "liar")
    begin(sandboxes=e2b.made(sandboxID="i2"), i2=json.dumps(dict(e2b.SANDBOX, sandboxID="i2", state="running")).encode(), Connect=whole)
    e2b.session("start", "liar", *e2b.there(path))
    for words in (["kill", SEVEN], ["write", SEVEN], ["wait", SEVEN], ["attach", SEVEN]):
        done = warder(*words, input=b"x")
        tell(done[0] == 125 and "another sandbox" in done[2] and not asked("SendSignal") and not asked("SendInput") and not asked("Connect"), "a program of an earlier sandbox is not one of the next: " + words[0], done)
    done = warder("wait", called("liar", 7, "i2"))
    tell(done[0] == 0, "which has its own of that number", done)
    server.how = {}
    e2b.session("stop", "liar")
    server.shutdown()
    server.server_close()
