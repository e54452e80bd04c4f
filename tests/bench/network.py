#!/usr/bin/env python3
"""The measuring part of tests/bench/network.sh, which makes the namespaces and says what is measured.

    network.py serve ADDRESS DIRECTORY     the world's names and its TLS, beside the server of network.c
    network.py measure ADDRESS DIRECTORY
"""
import http.server, json, os, random, shutil, socket, ssl, subprocess, sys, threading, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../network"))
import names

ADDRESS, DIRECTORY = sys.argv[2:4]
BUILD = os.environ.get("BUILD", "build")
WARDER = os.path.realpath(BUILD + "/warder")
QUICK = "WARDER_BENCH_QUICK" in os.environ
NAME = "bench.test"
ROUNDS, CONNECTIONS = (10, 20) if QUICK else (40, 25)
STREAMS, STREAM_BYTES = (5, 64 << 20) if QUICK else (12, 64 << 20)
LAUNCHES = 30 if QUICK else 100
HELD = 200
STREAM_KINDS = ("up", "down", "post", "chunks")
PORTS = ":80,5201"


def serve():
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            body = bytes(1 << 20)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    if os.path.exists(DIRECTORY + "/certificate"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(DIRECTORY + "/certificate", DIRECTORY + "/key")
        server = http.server.ThreadingHTTPServer((ADDRESS, 443), Handler)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    threading.Thread(target=names.serve, args=(ADDRESS, {NAME: [ADDRESS]}), daemon=True).start()
    print("ready", flush=True)
    threading.Event().wait()


# ---- contestants ----


class Contestant:
    """A client of network.c somewhere, or the reason why there is none."""

    def __init__(self, name, words, connect="connect", log=None):
        self.name, self.connect, self.failure, self.log = name, connect, None, log
        self.first_byte_ns, self.slow_ns = [], []
        self.streams_ns = {stream: [] for stream in STREAM_KINDS}
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log and open(log, "w"), text=True, bufsize=1)

    def ask(self, command, answers=1):
        if self.failure:
            return []
        try:
            self.process.stdin.write(command + "\n")
            got = [int(self.process.stdout.readline()) for _ in range(answers)]
        except (OSError, ValueError):
            said = open(self.log).read().split("\n")[:-1] if self.log else []
            self.failure = f"its client failed at '{command}'" + "".join(f": {line}" for line in said[-1:])
            return []
        return got

    def end(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        self.process.wait()


class Absent:
    def __init__(self, name, failure):
        self.name, self.failure = name, failure


def jail(*words):
    """A jail for as long as the measurement takes, with what the client needs of a processor."""
    return [WARDER, "run", "--timeout", "3600s", "--set", "limits.cpuTime=3600s", "--cpus", "2", "--max-output", "64MiB", *words]


def client(*words):
    return [*words, DIRECTORY + "/network", "client"]


def in_jail(name, allow, host, connect="connect"):
    program = DIRECTORY + "/network"
    return Contestant(name, client(*jail("--allow", allow + PORTS, "--ro", program, "--")) + [host], connect)


def namespace(helpers):
    holder = subprocess.Popen(["unshare", "-n", "sleep", "36000"])
    helpers.append(holder)
    while os.readlink(f"/proc/{holder.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
        time.sleep(0.02)
    return str(holder.pid)


def helper(words, helpers):
    """A program beside a client, and the file with what it says."""
    log = f"{DIRECTORY}/{os.path.basename(words[0])}.log"
    with open(log, "w") as f:
        helpers.append(subprocess.Popen(words, stdout=f, stderr=f))
    return log


def when_it_works(name, words, log=None):
    """The client, or the reason why it does not reach the server within 5 seconds."""
    for _ in range(50):
        tried = subprocess.run(["timeout", "5", *words], input="connect 1\n", capture_output=True, text=True)
        if tried.returncode == 0:
            return Contestant(name, words, log=f"{DIRECTORY}/{name}.client.log")
        time.sleep(0.1)
    said = (open(log).read() if log else "") + tried.stderr
    return Absent(name, (said.strip().splitlines() or ["no reason"])[-1])


def relayed(helpers):
    log = helper([DIRECTORY + "/network", "relay", ADDRESS], helpers)
    return when_it_works("bare relay", client() + ["127.0.0.1"], log)


def through_slirp4netns(helpers):
    if not shutil.which("slirp4netns"):
        return Absent("slirp4netns", "it is not installed")
    pid = namespace(helpers)
    log = helper(["slirp4netns", "--configure", "--mtu=65520", pid, "tap0"], helpers)
    return when_it_works("slirp4netns", client("nsenter", "-t", pid, "-n") + [ADDRESS], log)


def through_pasta():
    if not shutil.which("pasta"):
        return Absent("pasta", "it is not installed")
    options = "--config-net --runas 0 -t none -u none -T none -U none --"
    return when_it_works("pasta", client("pasta", *options.split()) + [ADDRESS])


def begin(helpers):
    return [
        Contestant("direct", client() + [ADDRESS]),
        relayed(helpers),
        in_jail("by name", NAME, NAME),
        in_jail("by name, with lookups", NAME, NAME, "lookup"),
        in_jail("by CIDR", ADDRESS + "/32", ADDRESS),
        through_slirp4netns(helpers),
        through_pasta(),
    ]


# ---- measurements ----


def by_turns(contestants, rounds, measure):
    for _ in range(rounds):
        for one in random.sample(contestants, len(contestants)):
            measure(one)


def measure_ways(contestants):
    able = [c for c in contestants if not c.failure]
    by_turns(able, 2, lambda c: c.ask(f"{c.connect} 10", 10))
    by_turns(able, ROUNDS, lambda c: c.first_byte_ns.extend(c.ask(f"{c.connect} {CONNECTIONS}", CONNECTIONS)))
    able = [c for c in able if c.connect == "connect"]
    by_turns(able, ROUNDS // 4, lambda c: c.slow_ns.extend(c.ask(f"slow {CONNECTIONS}", CONNECTIONS)))

    def streams(c):
        for stream in STREAM_KINDS:
            c.streams_ns[stream] += c.ask(f"{stream} {STREAM_BYTES}")

    by_turns([c for c in able if c.name != "bare relay"], STREAMS, streams)


def edge_of(supervisor):
    for _ in range(100):
        with open(f"/proc/{supervisor}/task/{supervisor}/children") as f:
            for pid in f.read().split():
                with open(f"/proc/{pid}/comm") as comm:
                    if comm.read() == "warder-edge\n":
                        return pid
        time.sleep(0.05)
    raise SystemExit("network.py: no edge")


def private_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("Private_"))


def policy():
    """A document with a credential, and the ceiling that grants it."""
    row = {"host": NAME, "ports": [443], "inject": {"header": "Authorization", "secretFile": DIRECTORY + "/secret", "format": "Bearer {}"}}
    path = DIRECTORY + "/policy.json"
    with open(path, "w") as f:
        json.dump({"version": 1, "limits": {"wallTime": "600s"}, "network": {"mode": "allow", "allow": [row]}}, f)
    return ["--ceiling", path, "--policy", path]


def inject_memory():
    """Of an edge with a credential: idle, and after 40 connections with 1 MiB each."""
    process = subprocess.Popen([WARDER, "run", *policy(), "--", "sh", "-c", f"""echo started; read -r _
        for i in $(seq 40); do curl -sS -m 20 -o /dev/null https://{NAME}/ || exit; done; echo done; read -r _"""],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    if process.stdout.readline() != "started\n":
        return "its jail does not start"
    edge = edge_of(process.pid)
    time.sleep(0.5)
    idle = private_kib(edge)
    process.stdin.write("go\n")
    good = process.stdout.readline() == "done\n"
    used = private_kib(edge) if good else None
    process.stdin.close()
    process.wait()
    return (idle, used) if good else "a request failed"


def measure_launches(with_inject):
    rows = [("without", []), ("allow-list", ["--allow", NAME + PORTS])] + ([("credential", policy())] if with_inject else [])
    with open(DIRECTORY + "/list", "w") as f:
        for name, words in rows:
            f.write("\t".join([name, "process", "-", "-", "-", "-", WARDER, "run", *words, "--", "{}"]) + "\n")
    subprocess.run([DIRECTORY + "/bench", "-n", str(LAUNCHES), "-s", "0", "-t", "launches", "-j", DIRECTORY + "/launches.json", DIRECTORY + "/list",
                    "--", "/usr/bin/true"], stdout=subprocess.DEVNULL)
    with open(DIRECTORY + "/launches.json") as f:
        return json.load(f)["contestants"]


# ---- results ----


def percentile(values, percent):
    values = sorted(values)
    return values[min(len(values) * percent // 100, len(values) - 1)] if values else None


def figures(c, direct):
    """Microseconds and Gbit/s, at p50 and p99, and their ratio to direct; p99 of a stream is its slowest hundredth."""
    row = {"name": c.name}
    streams = [(stream, c.streams_ns[stream], direct.streams_ns[stream]) for stream in STREAM_KINDS]
    for key, mine, base in [("firstByte", c.first_byte_ns, direct.first_byte_ns), ("slowServer", c.slow_ns, direct.slow_ns), *streams]:
        for p in (50, 99) if mine and base else ():
            value, other = percentile(mine, p), percentile(base, p)
            is_stream = key in STREAM_KINDS
            row[f"{key}P{p}"] = round(STREAM_BYTES * 8 / value if is_stream else value / 1e3, 2)
            row[f"{key}P{p}ToDirect"] = round(other / value if is_stream else value / other, 3)
    return row


COLUMNS = [(key, p) for key in ("firstByte", "slowServer", *STREAM_KINDS) for p in (50, 99)]


def print_ways(rows):
    print(f"\nthe network by name: {ROUNDS * CONNECTIONS} connections, and {STREAMS} streams of {STREAM_BYTES >> 20} MiB each way, by turns")
    print("first byte, slow server: us from connect to the first byte of an answer, which the server sends at once, or after 2 ms")
    print("up, down, HTTP: Gbit/s of one stream; HTTP is up in the body of a request, with a length or in chunks of 64 KiB")
    print("the second figure of each pair is the ratio to direct")
    print(f"{'':22}" + "".join(f"{text:>14}{'':15}" for text in ("first byte", "slow server", "up", "down", "HTTP, length", "HTTP, chunks")))
    print(f"{'':22}" + f"{'p50':>8}{'':6}{'p99':>8}{'':7}" * 6)
    for row in rows:
        if "failure" in row:
            print(f"{row['name']:22} not measured, or in part: {row['failure']}")
        if "firstByteP50" not in row:
            continue
        line = f"{row['name']:22}"
        for key, p in COLUMNS:
            value = row.get(f"{key}P{p}")
            line += f"{'':14}" if value is None else f"{value:8.{1 if key in STREAM_KINDS else 0}f}{row[f'{key}P{p}ToDirect']:6.2f}"
            line += " " if p == 99 else ""
        print(line.rstrip())


def print_launches(launches):
    print(f"\na launch of /usr/bin/true, {LAUNCHES} of each by turns, ms, and what it takes more than the first\n{'':22}{'p50':>8}{'':8}{'p99':>8}")
    for row in launches:
        if "p50Us" in row:
            print(f"{row['name']:22}" + "".join(f"{row[p] / 1e3:8.2f}{(row[p] - launches[0][p]) / 1e3:+8.2f}" for p in ("p50Us", "p99Us")))
        else:
            print(f"{row['name']:22} not measured: {row['failure']}")


def print_memory(memory):
    print(f"\nprivate memory of one edge, MiB: at its start, after all that is above, and with {HELD} connections open; with a credential, after 40 connections\n"
          f"{'':22}{'idle':>8}{'used':>8}{'open':>8}")
    for name, values in memory.items():
        known = isinstance(values, tuple)
        print(f"{name:22}" + ("".join(f"{value / 1024:8.2f}" for value in values) if known else f" not measured: {values}"))


def report(contestants, memory, launches):
    rows = [({"failure": c.failure} if c.failure else {}) | ({"name": c.name} if isinstance(c, Absent) else figures(c, contestants[0])) for c in contestants]
    print_ways(rows)
    print_launches(launches)
    print_memory(memory)
    load = os.getloadavg()[0]
    print(f"\nload {load:.1f}; all figures: {BUILD}/bench-network.json")
    with open(BUILD + "/bench-network.json", "w") as f:
        json.dump({"load": load, "ways": rows, "launches": launches, "privateKiB": memory}, f, indent=1)
    return any(c.failure for c in contestants if c.name == "direct" or c.name.startswith("by ")) or any("failure" in row for row in launches)


def measure():
    helpers = []
    try:
        contestants = begin(helpers)
        edges = {c.name: edge_of(c.process.pid) for c in contestants if c.name.startswith("by ")}
        idle_one = in_jail("idle", NAME, NAME)
        time.sleep(0.5)
        idle = private_kib(edge_of(idle_one.process.pid))
        idle_one.end()
        measure_ways(contestants)
        memory = {}
        for one in contestants:
            if one.name in edges and one.connect == "connect":
                used = private_kib(edges[one.name])
                one.ask(f"hold {HELD}", HELD)
                memory[one.name] = (idle, used, private_kib(edges[one.name]))
        for one in contestants:
            if not isinstance(one, Absent):
                one.end()
        has_secret = os.path.exists(DIRECTORY + "/secret")
        memory["with a credential"] = inject_memory() if has_secret else "there is no bundle of authorities"
        launches = measure_launches(has_secret)
        return report(contestants, memory, launches)
    finally:
        for one in helpers:
            one.kill()
            one.wait()


if sys.argv[1] == "serve":
    serve()
sys.exit(measure())
