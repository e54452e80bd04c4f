#!/usr/bin/env python3
"""A fleet: how much faster two workers are than one, if each has one processor; by turns.

    tests/bench/fleet.py [ROUNDS [REQUESTS]]

Each worker runs one request at a time, on a processor of its own. In a round, the same requests go through one worker and then through two, or
the other way round; the single worker has the first processor in one round and the second in the next. A request counts in a shell, which
takes a tenth of a second or so. The server and the sender use both processors. Prints the requests per second of all rounds, their medians, and
the median of the ratio. Other work on the machine makes the ratio smaller. Figures are facts, never a failure.
"""
import json, os, shutil, socket, statistics, subprocess, sys, tempfile, time

WARDER = os.path.realpath(os.path.join(os.environ.get("BUILD", "build"), "warder"))
SERVER = shutil.which("nats-server") or "/usr/sbin/nats-server"
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 7
REQUESTS = int(sys.argv[2]) if len(sys.argv) > 2 else 40
LOOP = "i=0; while [ $i -lt 150000 ]; do i=$((i + 1)); done; echo $i"
work = tempfile.mkdtemp(prefix="warder-bench.")
processes = []


def begin(words, **how):
    processes.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, **how))
    return processes[-1]


def end(process):
    if process.poll() is None:
        process.terminate()
    process.wait()


def start_server():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begin([SERVER, "-js", "-sd", work + "/store", "-a", "127.0.0.1", "-p", str(port), "-l", work + "/log"])
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return "nats://127.0.0.1:%d" % port
        except OSError:
            time.sleep(0.05)
    sys.exit("fleet.py: nats-server does not start: " + open(work + "/log").read()[-500:])


def start_worker(url, processor):
    def pin():
        os.sched_setaffinity(0, {processor})
    worker = begin([WARDER, "worker", "--nats", url, "--state", work + "/state", "--parallel", "1"], stdout=subprocess.PIPE, text=True, preexec_fn=pin)
    if worker.stdout.readline() != "ready\n":
        sys.exit("fleet.py: the worker is not ready")
    return worker


def measure(url, on):
    """Requests per second with a worker on each of these processors."""
    workers = [start_worker(url, processor) for processor in on]
    line = json.dumps({"argv": ["sh", "-c", LOOP]}) + "\n"
    began = time.monotonic()
    done = subprocess.run([WARDER, "submit", "--nats", url, "--tenant", "bench", "--key", work + "/key"], input=line * REQUESTS, capture_output=True, text=True)
    took = time.monotonic() - began
    for worker in workers:
        end(worker)
    good = [one for one in map(json.loads, done.stdout.splitlines()) if one["result"].get("stdout", {}).get("text") == "150000\n"]
    if len(good) != REQUESTS:
        sys.exit("fleet.py: %d of %d requests succeeded: %s%s" % (len(good), REQUESTS, done.stdout[:400], done.stderr[:400]))
    return REQUESTS / took


def main():
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2 or not os.path.exists(SERVER):
        print("fleet: left out: " + ("nats-server is not installed" if len(processors) > 1 else "this machine has one processor"))
        return
    key = subprocess.run([WARDER, "submit", "--make-key", work + "/key"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run([WARDER, "tenant", "add", "bench", "--state", work + "/state", "--request-key", key], check=True, capture_output=True)
    url = start_server()
    measure(url, processors[:2])
    one, two = [], []
    for number in range(ROUNDS):
        ways = [(one, [processors[number % 2]]), (two, processors[:2])]
        for rates, on in ways if number % 4 < 2 else ways[::-1]:
            rates.append(measure(url, on))
    ratios = [b / a for a, b in zip(one, two)]
    print("fleet: %d rounds of %d requests, by turns; load %s" % (ROUNDS, REQUESTS, open("/proc/loadavg").read().split()[0]))
    for name, values in (("one worker, requests/s", one), ("two workers, requests/s", two), ("ratio", ratios)):
        print("  %-26s p50 %6.2f   of %s" % (name, statistics.median(values), " ".join("%.2f" % value for value in values)))


try:
    main()
finally:
    for process in reversed(processes):
        end(process)
    shutil.rmtree(work, ignore_errors=True)
