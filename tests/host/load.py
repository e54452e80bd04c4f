#!/usr/bin/env python3
"""load.py: many sandboxes, streams, bytes and malformed requests at a time, and what memory the host's processes take meanwhile, as TAP.

WARDER_LOAD (200, and 1000 for the part `thousand`, which only runs if it is named) is the number of sandboxes. At most 100 of them end at a time, and only when the kernel has freed the filters of the last
ones. Nothing here depends on speed: each part waits for its end.
"""
import http.client, json, os, random, resource, subprocess, sys, threading

from lib import WARDER, Host, asking_for_socket, front, run_parts, tell, until

SANDBOXES = int(os.environ.get("WARDER_LOAD", "200"))
STREAMS = 200
FREE = dict(sandboxes=1000, memoryBytes=1 << 50, cpuMilli=10**8, launchesPerSecond=10**5, queue=4096, spoolBytes=1 << 50)


def peak(pid):
    """The most memory that a process has had, in MiB."""
    try:
        with open("/proc/%d/status" % pid) as file:
            return int(file.read().split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        return 0


def memory(host):
    """Peaks of the launcher, the front, and the greatest of the keepers, in MiB."""
    names = {name[:-5] for name in os.listdir(os.path.join(host.state, "sandboxes"))}
    listed = json.loads(subprocess.run([WARDER, "session", "list", "--json"], capture_output=True, text=True).stdout or "[]")
    keepers = [one["keeperPid"] for one in listed if one["name"] in names]
    return peak(host.process.pid), peak(front(host) or 0), max(map(peak, keepers), default=0)


def settle():
    """Until the kernel has freed the filters of jails that have ended."""
    until(lambda: int(subprocess.run("ps -eo wchan:20 | grep -c bpf_prog_pack_free", shell=True, capture_output=True, text=True).stdout or 0) < 20, 120)


def at_once(work, jobs, width):
    """work(job) for all jobs, by that many threads; the answers in their order."""
    answers = [None] * len(jobs)
    left = list(enumerate(jobs))
    lock = threading.Lock()

    def run():
        while True:
            with lock:
                if not left:
                    return
                i, job = left.pop()
            try:
                answers[i] = work(job)
            except Exception as error:  # told by the caller
                answers[i] = error
    threads = [threading.Thread(target=run) for _ in range(width)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return answers


def crowd():
    host = Host("crowd", connectionsPerTenant=1000)
    token = host.tenant("me", **FREE)
    made = at_once(lambda _: host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 3600000}), range(SANDBOXES), 16)
    boxes = [one[1]["id"] for one in made if isinstance(one, tuple) and one[0] == 201]
    tell(len(boxes) == SANDBOXES, "%d sandboxes are created" % SANDBOXES, [one for one in made if not isinstance(one, tuple) or one[0] != 201][:3])
    start = lambda box, *argv: host.ask("POST", "/v1/sandboxes/%s/executions" % box, token, {"argv": list(argv)})[1]["id"]
    went = at_once(lambda box: host.ask("GET", "/v1/sandboxes/%s/executions/%s?wait=1" % (box, start(box, "echo", box)), token), boxes, 16)
    tell(all(isinstance(one, tuple) and one[1].get("stdout", {}).get("bytesTotal") == 21 for one in went), "each of them runs a program",
         [one for one in went if not isinstance(one, tuple) or one[0] != 200][:3] or str(went[0])[:300])
    # Each stream has all lines of its program, in their order, whatever the others do.
    script = "for i in $(seq 200); do echo line $i; sleep 0.02; done"
    runs = [(boxes[i % len(boxes)], None) for i in range(STREAMS)]
    started = at_once(lambda run: (run[0], start(run[0], "sh", "-c", script)), runs, 16)

    def read(one):
        data = host.ask("GET", "/v1/sandboxes/%s/executions/%s/output" % one, token)[1]
        text = "".join(json.loads(line[6:])["text"] for line in data.decode().split("\n") if line.startswith("data: ") and '"text"' in line)
        return text == "".join("line %d\n" % i for i in range(1, 201)) and b"event: end" in data
    good = at_once(read, started, STREAMS)
    tell(good == [True] * STREAMS, "%d streams at a time come whole" % STREAMS, good.count(True))
    launcher, front, keeper = memory(host)
    tell(0 < launcher < 64 and 0 < front < 64 and keeper < 64, "with them, the launcher took at most %.0f MiB, the front %.0f, a keeper %.0f" % (launcher, front, keeper))
    for i in range(0, len(boxes), 100):
        ended = at_once(lambda box: host.ask("DELETE", "/v1/sandboxes/" + box, token)[0], boxes[i:i + 100], 16)
        tell(ended == [204] * len(ended), "%d sandboxes end" % len(ended), ended)
        settle()
    tell(host.ask("GET", "/v1/sandboxes", token)[1] == [], "and none is left")
    host.end()


def proportional(pid):
    """The memory of a process, where shared pages count in part, in KiB."""
    try:
        with open("/proc/%d/smaps_rollup" % pid) as file:
            return int(file.read().split("Pss:")[1].split()[0])
    except (OSError, IndexError):
        return 0


def available():
    with open("/proc/meminfo") as file:
        return int(file.read().split("MemAvailable:")[1].split()[0]) / 1024


def thousand():
    """As many sandboxes at a time as a guest of its own can have: each runs a command, some of them have files."""
    count = int(os.environ.get("WARDER_LOAD", "1000"))
    try:  # the launcher has a descriptor for each sandbox
        resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
    except (OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    host = Host("thousand", connectionsPerTenant=1000)
    token = host.tenant("me", **dict(FREE, sandboxes=count))
    before = available()
    # What a slow machine refuses for a moment, a client asks again.
    patient = lambda *words: until(lambda: (found := host.ask(*words))[0] not in (429, 503) and found, 600) or host.ask(*words)
    made = at_once(lambda _: patient("POST", "/v1/sandboxes", token, {"timeoutMs": 24 * 3600000}), range(count), 4)
    boxes = [one[1]["id"] for one in made if isinstance(one, tuple) and one[0] == 201]
    tell(len(boxes) == count, "%d sandboxes are created" % count, [one for one in made if not isinstance(one, tuple) or one[0] != 201][:3])
    tell(len(host.ask("GET", "/v1/sandboxes", token)[1]) == len(boxes), "and are there at the same time")

    def use(box):
        at = "/v1/sandboxes/%s/executions" % box
        made = patient("POST", at, token, {"argv": ["echo", box]})
        return made[0] == 201 and patient("GET", "%s/%s?wait=1" % (at, made[1]["id"]), token)[1].get("stdout", {}).get("bytesTotal") == len(box) + 1
    went = at_once(use, boxes, 4)
    tell(went == [True] * len(boxes), "each of them runs a command", [one for one in went if one is not True][:3])
    sample = boxes[::max(1, len(boxes) // 50)]

    def files(box):
        at = "/v1/sandboxes/%s/files?path=/tmp/a" % box
        return patient("PUT", at, token, box.encode())[0] == 200 and patient("GET", at, token)[1] == box.encode()
    went = at_once(files, sample, 4)
    tell(went == [True] * len(sample), "%d of them have a file of their own" % len(sample), [one for one in went if one is not True][:3])
    names = set(boxes)
    listed = json.loads(subprocess.run([WARDER, "session", "list", "--json"], capture_output=True, text=True).stdout or "[]")
    keepers = sorted(proportional(one["keeperPid"]) for one in listed if one["name"] in names)
    launcher, front_most, keeper = memory(host)
    tell(len(keepers) == len(boxes) and 0 < launcher < 128 and 0 < front_most < 64 and keepers[-1] < 8192 and keeper < 64,
         "the launcher took at most %.1f MiB, the front %.1f; a keeper has %.2f MiB of its own (median; at most %.2f); a sandbox takes %.2f MiB of the machine" %
         (launcher, front_most, keepers[len(keepers) // 2] / 1024 if keepers else 0, keepers[-1] / 1024 if keepers else 0, (before - available()) / max(1, len(boxes))), len(keepers))
    for i in range(0, len(boxes), 100):
        ended = at_once(lambda box: patient("DELETE", "/v1/sandboxes/" + box, token)[0], boxes[i:i + 100], 4)
        if set(ended) != {204}:
            break
        settle()
    tell(host.ask("GET", "/v1/sandboxes", token)[1] == [], "they end, 100 at a time, and none is left", set(ended))
    host.end()


def bytes_():
    host = Host("bytes", connectionsPerTenant=1000)
    token = host.tenant("me", **FREE)
    boxes = [host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 3600000})[1]["id"] for _ in range(4)]
    start = lambda box, script: host.ask("POST", "/v1/sandboxes/%s/executions" % box, token, {"argv": ["sh", "-c", script]})[1]["id"]

    def read(box):
        """(bytes that came, bytes that a gap stands for, whether the end came)"""
        one = host.connect()
        one.sendall(host.request("GET", "/v1/sandboxes/%s/executions/%s/output" % (box, start(box, "head -c 50000000 /dev/zero | tr '\\0' x")), token))
        came = missing = 0
        answer = http.client.HTTPResponse(one)
        answer.begin()
        for line in answer:
            if line.startswith(b"data: "):
                data = json.loads(line[6:])
                came += len(data.get("text", ""))
                missing += data.get("to", 0) - data.get("from", 0)
                if "exitCode" in data:
                    return came, missing, True
        return came, missing, False
    slow = []
    for box in boxes:  # clients that never read, beside
        execution = start(box, "head -c 50000000 /dev/zero | tr '\\0' y")
        for _ in range(10):
            one = host.connect(receives=4096)
            one.sendall(host.request("GET", "/v1/sandboxes/%s/executions/%s/output" % (box, execution), token))
            slow.append(one)
    got = at_once(read, boxes, len(boxes))
    tell(all(isinstance(one, tuple) and one[0] + one[1] == 50000000 and one[2] for one in got), "four outputs of 50 MB come, or the client knows which bytes did not, beside 40 clients that never read",
         got)
    launcher, front, keeper = memory(host)
    tell(0 < launcher < 64 and 0 < front < 64 and keeper < 128, "with them, the launcher took at most %.0f MiB, the front %.0f, a keeper %.0f" % (launcher, front, keeper))
    tell(host.ask("GET", "/health")[0] == 204, "and the host serves")
    for one in slow:
        one.close()
    host.end()


def malformed():
    """10,000 requests that are wrong on each level: HTTP, chunks, multipart, frames of Connect, JSON, WebSocket."""
    host = Host("malformed", wrongTokensPerMinute=1000000)
    token = host.tenant("me", **FREE)
    status, box, _ = host.ask("POST", "/v2/sandboxes", token, {"templateID": "base", "timeout": 3600})
    to = "E2b-Sandbox-Id: %s\r\nX-Access-Token: %s\r\n" % (box["sandboxID"], box["envdAccessToken"])
    random.seed(19)
    noise = lambda most: bytes(random.randrange(256) for _ in range(random.randrange(1, most)))
    at = "/v1/sandboxes/%s" % box["sandboxID"]

    def cut(bytes_):
        return bytes_[:random.randrange(1, len(bytes_))]

    def spoil(bytes_):
        i = random.randrange(len(bytes_))
        return bytes_[:i] + noise(6) + bytes_[i + random.randrange(4):]
    frame = json.dumps({"process": {"cmd": "true"}}).encode()
    whole = [
        lambda: host.request("GET", "/v1/host", token),
        lambda: host.request("POST", "/v1/run", token, b'{"argv": ["true"]}'),
        lambda: host.request("POST", "/v1/policies/check", token, b'{"policy": {"version": 1}}'),
        lambda: host.request("POST", "/process.Process/List", "", b"{}", to + "Content-Type: application/json\r\n"),
        lambda: host.request("POST", "/process.Process/Start", "", b"\0" + len(frame).to_bytes(4, "big") + frame, to + "Content-Type: application/connect+json\r\n"),
        lambda: host.request("POST", "/files?path=/tmp/x", "", b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nx\r\n--b--\r\n", to + "Content-Type: multipart/form-data; boundary=b\r\n"),
        lambda: host.request("PUT", at + "/files?path=/tmp/x", token, b"bytes"),
        lambda: ("POST /v1/run HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-API-Key: %s\r\nTransfer-Encoding: chunked\r\n\r\n12\r\n{\"argv\": [\"true\"]}\r\n0\r\n\r\n" % (host.port, token)).encode(),
        lambda: host.request("GET", at + "/executions/0000000000000000/terminal", token, b"", asking_for_socket()),
    ]

    def send(i):
        bytes_ = random.choice(whole)()
        how = i % 4
        try:
            with host.connect() as one:
                one.sendall(noise(400) if how == 0 else cut(bytes_) if how == 1 else spoil(bytes_))
                if how == 3:  # and an answer is looked at, if there is one soon
                    one.settimeout(0.2)
                    one.recv(65536)
        except OSError:
            pass
    pid = front(host)
    at_once(send, range(10000), 8)
    tell(host.process.poll() is None and pid and front(host) == pid, "after 10,000 malformed requests the same processes serve", pid)
    tell(until(lambda: host.ask("GET", "/health")[0] == 204) and host.ask("POST", "/v1/run", token, {"argv": ["true"]})[0] == 200, "and serve well")
    status, row, _ = host.ask("GET", "/v1/host", token)
    tell(until(lambda: host.ask("GET", "/v1/host", token)[1]["tenant"]["used"]["running"] == 0, 60), "no request of them goes on for ever", row)
    launcher, front_most, keeper = memory(host)
    tell(0 < launcher < 64 and 0 < front_most < 64 and keeper < 64, "the launcher took at most %.0f MiB, the front %.0f, the keeper %.0f" % (launcher, front_most, keeper))
    errors = open(host.errors.name).read()
    tell("ended" not in errors, "and no process of the host ended", errors[-500:])
    host.end()


def fairness():
    host = Host("fairness", connectionsPerTenant=1000)
    greedy, modest = host.tenant("greedy", **FREE), host.tenant("modest")
    order, lock = [], threading.Lock()

    def run(token, name, argv):
        statuses = [host.ask("POST", "/v1/run", token, {"argv": argv})[0]]
        # 503: under load, the launch with which the host tests itself may take too long; a client asks again.
        until(lambda: statuses[-1] != 503 or statuses.append(host.ask("POST", "/v1/run", token, {"argv": argv})[0]), 120)
        with lock:
            order.append((name, statuses[-1]))
    flood = [threading.Thread(target=run, args=(greedy, "greedy", ["sleep", "1"])) for _ in range(150)]
    for one in flood:
        one.start()
    until(lambda: host.ask("GET", "/v1/host", greedy)[1]["tenant"]["used"]["waiting"] > 20, 60)
    for _ in range(10):
        run(modest, "modest", ["true"])
    with lock:
        before = [name for name, _ in order]
    for one in flood:
        one.join()
    tell(all(status == 200 for _, status in order) and before.count("modest") == 10 and before.count("greedy") < 140,
         "ten requests of a tenant pass a queue of another one (%d of 150 were done by then)" % before.count("greedy"), [one for one in order if one[1] != 200][:5] or before)
    host.end()


run_parts((crowd, bytes_, malformed, fairness) + ((thousand,) if "thousand" in sys.argv[1:] else ()))
