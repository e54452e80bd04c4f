#!/usr/bin/python3
"""What a context of Python costs: a piece of code, a fork and a start, beside the interpreter itself and a Jupyter kernel, by turns.

    contexts.py [ROUNDS]

Uses $BUILD/warder and $BUILD/bench/contexts (default build). Needs root, and for the kernel Debian's python3-ipykernel and
python3-jupyter-client; without them it is left out. Prints a table and writes $BUILD/bench-contexts.json. Figures are facts, never a failure."""
import json, os, subprocess, sys, time

build = os.environ.get("BUILD", "build")
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
SOURCE = "n = 1\nn"
PIECES = 20
# What the loop of a context does for a piece, and nothing else; as often as tests/bench/contexts.c does it, for each line of input.
OWN = """
import ast, json, time, sys
source, space = %r, {}
def piece():
    begin = time.perf_counter()
    tree = compile(source, "<piece>", "exec", 0x400)
    last = ast.Expression(tree.body.pop().value)
    exec(compile(tree, "<piece>", "exec"), space)
    repr(eval(compile(last, "<piece>", "eval"), space))
    return (time.perf_counter() - begin) * 1e6
for i in range(50):
    piece()
for line in sys.stdin:
    print(json.dumps([piece() for i in range(%d)]), flush=True)
""" % (SOURCE, PIECES)


class Measured:
    """A program that measures a round for each line that it gets."""

    def __init__(self, *words):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def round(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else sys.exit("contexts.py: %s ended" % self.process.args[0])

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("contexts.py: %s failed" % self.process.args[0])


def run_us(*words):
    begin = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1e6


class Kernel:
    def __init__(self):
        from jupyter_client.manager import start_new_kernel
        begin = time.perf_counter()
        self.manager, self.client = start_new_kernel(kernel_name="python3", stderr=subprocess.DEVNULL)
        self.started_us = (time.perf_counter() - begin) * 1e6
        for i in range(20):
            self.piece()

    def piece(self):
        begin = time.perf_counter()
        self.client.execute(SOURCE)
        self.client.get_shell_msg(timeout=30)
        while self.client.get_iopub_msg(timeout=30)["content"].get("execution_state") != "idle":
            pass
        return (time.perf_counter() - begin) * 1e6

    def memory_kib(self):
        return pss_kib(self.manager.provisioner.process.pid)

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def pss_kib(pid):
    with open("/proc/%d/smaps_rollup" % pid) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


def start_kernel():
    try:
        return Kernel()
    except Exception as error:
        print("jupyter: not measured: %s: %s" % (type(error).__name__, error))
        return None


def warder(*words):
    return subprocess.run([build + "/warder", *words], check=True, capture_output=True, text=True).stdout


def counted(session, name):
    return json.loads(warder("context", "describe", session, name, "--json"))["counters"]["memoryBytes"]


# Of an idle context, and of each of 100 branches of one that holds 500 MB.
def memory():
    name, branches = "bench-memory-%d" % os.getpid(), 100
    warder("session", "start", name, "--memory", "2GiB", "--set", "limits.pids=512")
    try:
        warder("context", "create", name, "py", "--memory", "2GiB")
        found = {"idleKiB": counted(name, "py") // 1024}
        pieces = "import sys, os; rollup = lambda: next(int(l.split()[1]) for l in open('/proc/self/smaps_rollup') if l.startswith('Pss:')); rollup()"
        found["idlePssKiB"] = int(warder("context", "run", name, "py", "-c", pieces).split()[-1])
        warder("context", "run", name, "py", "-c", "held = bytearray(500 << 20)\nfor i in range(0, len(held), 4096): held[i] = 1")
        begin = time.perf_counter()
        for i in range(branches):
            warder("context", "fork", name, "py", "b%d" % i)
        found["branchOf500MBMs"] = (time.perf_counter() - begin) * 1e3 / branches
        own = [counted(name, "b%d" % i) for i in range(branches)]
        found["branchOf500MBKiB"] = max(own) // 1024
        return found
    finally:
        warder("session", "stop", name)


def at(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def row(name, values, base=None):
    found = {"name": name, "p50Us": at(values, 0.5), "p99Us": at(values, 0.99), "rounds": len(values)}
    print("%-40s %10.1f %10.1f%s" % (name, found["p50Us"], found["p99Us"], "" if base is None else " %9.2f x" % (found["p50Us"] / base)))
    return found


# Nothing else that is measured runs meanwhile. For the first piece of a round, the processor's caches hold other data.
def measure(kernel):
    session = "bench-%d" % os.getpid()
    own, ours = Measured(sys.executable, "-c", OWN), Measured(build + "/bench/contexts", build + "/warder", session)
    ours.process.stdout.readline()  # it is ready
    figures = {name: [] for name in ("own", "ownFirst", "piece", "pieceFirst", "command", "fork", "start", "bare", "jupyter", "jupyterFirst")}
    for i in range(rounds):
        round = ours.round()
        figures["fork"].append(round["fork"])
        figures["start"].append(round["start"])
        pieces = {"own": own.round(), "piece": round["pieces"], "jupyter": [kernel.piece() for i in range(PIECES)] if kernel else []}
        for name, values in pieces.items():
            figures[name] += values[1:]
            figures[name + "First"] += values[:1]
        figures["command"].append(run_us(build + "/warder", "context", "run", "-n", session, "py", "-c", SOURCE))
        figures["bare"].append(run_us(sys.executable, "-c", "pass"))
    own.end()
    ours.end()
    return figures


def main():
    if os.geteuid() != 0:
        sys.exit("contexts.py: needs root")
    kernel = start_kernel()
    figures = measure(kernel)
    print("%-40s %10s %10s %11s" % ("", "p50 us", "p99 us", "ratio"))
    rows = []
    for title, suffix in (("a piece after another", ""), ("the first piece of %d" % PIECES, "First")):
        rows.append(row("python3 itself: " + title, figures["own" + suffix]))
        rows.append(row("warder, library: " + title, figures["piece" + suffix]))
        own, ours = rows[-2:]
        if kernel:
            rows.append(row("jupyter: " + title, figures["jupyter" + suffix], ours["p50Us"]))
        over = ours["p50Us"] - own["p50Us"]
        note = "" if suffix else "   target: at most 200, " + ("met" if over <= 200 else "missed")
        print("%-40s %10.1f%s" % ("  warder: more than the interpreter", over, note))
    rows.append(row("warder context run, the command", figures["command"]))
    rows.append(row("python3 -c pass", figures["bare"]))
    rows.append(row("warder: start of a context", figures["start"], rows[-1]["p50Us"]))
    rows.append(row("warder: fork of a context", figures["fork"]))
    said = {"rows": rows, "memory": memory()}
    if kernel:
        starts = [kernel.started_us] + [again() for i in range(3)]
        rows.append(row("jupyter: start of a kernel", starts))
        said["memory"]["jupyterPssKiB"] = kernel.memory_kib()
        kernel.end()
    for name, value in said["memory"].items():
        print("%-40s %10.1f" % (name, value))
    with open(build + "/bench-contexts.json", "w") as file:
        json.dump(said, file, indent=1)


def again():
    kernel = Kernel()
    kernel.end()
    return kernel.started_us


main()
