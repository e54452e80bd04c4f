#!/usr/bin/env python3
"""What an execution host takes, beside the command line and Docker, by turns; root.

    tests/bench/host.py [-n RUNS]

Each round does the same by each way: start a sandbox (or container), run /bin/true in it, end it; run a piece of Python in a context that is
there; write 64 KiB to a file and read them. Then clients create and end sandboxes as fast as they can, and create 16 at once. The clients of the host are Python's HTTP client, which keeps its connection, and E2B's SDK in
Node.js, where npm can fetch it. Prints medians and 99th percentiles in milliseconds, and the ratio to `warder run`. Figures are facts, never
a failure. What is not here is left out, with its reason.
"""
import atexit, ctypes, glob, json, os, shutil, statistics, subprocess, sys, tempfile, threading, time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import backends
from hosts import Host, WARDER

HERE = os.path.dirname(os.path.realpath(__file__))
RUNS = int(sys.argv[2]) if sys.argv[1:2] == ["-n"] else 100
FILE = os.urandom(65536)
times = {}


def note(name, begin):
    now = time.monotonic()
    times.setdefault(name, []).append((now - begin) * 1000)
    return now


def whole(client):
    begin = at = time.monotonic()
    box = client.ask("POST", "/v1/sandboxes", {"timeoutMs": 60000})["id"]
    at = note("/v1: create", at)
    execution = client.ask("POST", "/v1/sandboxes/%s/executions" % box, {"argv": ["/bin/true"]})["id"]
    client.ask("GET", "/v1/sandboxes/%s/executions/%s?wait=1" % (box, execution))
    at = note("/v1: command", at)
    client.ask("DELETE", "/v1/sandboxes/" + box)
    note("/v1: end", at)
    note("/v1: create, command, end", begin)
    begin = time.monotonic()
    client.ask("POST", "/v1/run", {"argv": ["/bin/true"]})
    note("/v1/run", begin)


def pieces(client, box):
    begin = time.monotonic()
    end = client.ask("POST", "/v1/sandboxes/%s/code" % box, {"code": "1 + 1"})
    note("/v1: a piece of code", begin)
    times.setdefault("  of which the context's own", []).append(end["wallUs"] / 1000)
    begin = time.monotonic()
    client.ask("PUT", "/v1/sandboxes/%s/files?path=/tmp/f" % box, FILE)
    if client.ask("GET", "/v1/sandboxes/%s/files?path=/tmp/f" % box) != FILE:
        sys.exit("host.py: the file is another one")
    note("/v1: a file written and read", begin)


def command(name, argv, **more):
    begin = time.monotonic()
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)
    if done.returncode:
        print("%-34s %s" % (name, done.stderr.decode(errors="replace").strip()[:120]))
        return False
    note(name, begin)
    return True


def lines(i):
    """By the command line."""
    name = "bench-%d-%d" % (os.getpid(), i)
    command("warder run", [WARDER, "run", "--", "/bin/true"])
    begin = time.monotonic()
    for argv in (["start", name], ["exec", name, "--", "/bin/true"], ["stop", name]):
        subprocess.run([WARDER, "session"] + argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    note("warder session start, exec, stop", begin)


def sdk(host):
    """E2B's SDK in a process that stays: a line asks for a round, and a line of JSON has its times."""
    fetched = subprocess.run([HERE + "/../sdk/fetch.sh", "e2b"], capture_output=True, text=True)
    if fetched.returncode:
        print("%-34s %s" % ("E2B's SDK", fetched.stderr.strip()[-120:]))
        return None
    return subprocess.Popen(["node", HERE + "/host.cjs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env=dict(os.environ, NODE_PATH=fetched.stdout.strip() + "/node_modules", E2B_API_URL=host.url, E2B_SANDBOX_URL=host.url, E2B_API_KEY=host.tokens[0]))


def docker(place):
    """The words of one container before a daemon that is there, and the daemon; or None."""
    if not shutil.which("docker") or not shutil.which("dockerd"):
        print("%-34s %s" % ("docker run", os.environ.get("WARDER_NO_DOCKER", "there is no Docker")))
        return None, None
    backends.bundle(place)
    ours = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    backends.alone()
    running, line, _ = backends.docker(place)
    if ctypes.CDLL(None).setns(ours, 0x20000) < 0:
        sys.exit("host.py: setns")
    return running, line


def kernel_is_behind():
    """It frees the filters of ended sandboxes more slowly than they come: a rate would be that of the kernel's queue."""
    waiting = 0
    for name in glob.glob("/proc/[0-9]*"):
        try:
            with open(name + "/comm") as comm, open(name + "/wchan") as channel:
                waiting += comm.read().startswith("kworker") and channel.read().startswith("bpf_prog_pack_free")
        except OSError:
            pass
    return waiting > 50


def together(count, work):
    """`work` in so many threads, and the seconds that they took."""
    threads = [threading.Thread(target=work) for _ in range(count)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - begin


def sustained(host, clients, most=600, seconds=4):
    """Sandboxes created and ended in a second by so many clients, or None."""
    made, until, behind = [], time.monotonic() + seconds, []

    def work():
        client = host.client()
        while time.monotonic() < until and len(made) < most and not behind:
            client.ask("DELETE", "/v1/sandboxes/" + client.ask("POST", "/v1/sandboxes", {"timeoutMs": 60000})["id"])
            made.append(1)
            if len(made) % 50 == 0 and kernel_is_behind():
                behind.append(1)
    took = together(clients, work)
    return None if behind else len(made) / took


def burst(host, count=16, clients=4):
    """Sandboxes created in a second, of `count` that are asked for at once."""
    made = []

    def work():
        client = host.client()
        for _ in range(count // clients):
            made.append(client.ask("POST", "/v1/sandboxes", {"timeoutMs": 60000})["id"])
    took = together(clients, work)
    for box in made:
        host.client().ask("DELETE", "/v1/sandboxes/" + box)
    return count / took


def rates(host):
    for clients in (1, 4, 8):
        rate = sustained(host, clients)
        print("%-38s %9s" % ("/v1: sandboxes a second, %d client%s" % (clients, "s"[:clients - 1]), "not measured" if rate is None else "%.0f" % rate))
        time.sleep(2)
    found = []
    for _ in range(6):
        found.append(burst(host))
        time.sleep(2)
    found = sorted(found[1:])  # in the first one, the host learns how many are wanted
    print("%-38s %9.0f (%.0f to %.0f)" % ("/v1: 16 sandboxes at once, a second", statistics.median(found), found[0], found[-1]))


def main():
    if os.geteuid() != 0:
        sys.exit("host.py: needs root, as Docker does")
    place = tempfile.mkdtemp(prefix="warder-bench.", dir="/var/lib")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    print("\nan execution host, %d rounds             median ms      99 %% ms   of warder run" % RUNS)
    daemon, line = docker(place)
    host = Host(place)
    atexit.register(host.end)
    if daemon:
        atexit.register(daemon.kill)
    client, sdks = host.client(), sdk(host)
    box = client.ask("POST", "/v1/sandboxes", {"timeoutMs": 3600000})["id"]
    client.ask("POST", "/v1/sandboxes/%s/code" % box, {"code": "1"})
    for i in range(RUNS + 2):
        if i == 2:
            times.clear()  # of the rounds that warm up
        whole(client)
        pieces(client, box)
        lines(i)
        if line and not command("docker run", line):
            line = None
        if sdks:
            sdks.stdin.write("go\n")
            sdks.stdin.flush()
            for name, took in json.loads(sdks.stdout.readline() or "{}").items():
                times.setdefault("SDK: " + name, []).append(took)
    if sdks:
        sdks.stdin.close()
        sdks.wait()
    base = statistics.median(times["warder run"])
    for name, found in times.items():
        found.sort()
        print("%-38s %9.1f %12.1f %11.2f x" % (name, statistics.median(found), found[min(len(found) - 1, int(len(found) * 0.99))], statistics.median(found) / base))
    rates(host)


main()
