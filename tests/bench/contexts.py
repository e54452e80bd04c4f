#!/usr/bin/python3
"""What a context of Python costs: a piece of code, a fork and a start, beside the interpreter itself and a Jupyter kernel, by turns.

    contexts.py [ROUNDS]

Uses $BUILD/warder and $BUILD/bench/contexts (default build). Needs root, and for the kernel Debian's python3-ipykernel and
python3-jupyter-client; without them it is left out. Prints a table and writes $BUILD/bench-contexts.json. Figures are facts, never a failure."""
import json, os, subprocess, sys, time

build = os.environ.get("BUILD", "build")
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
SOURCE = "n = 1\nn"
# What the loop of a context does for a piece, and nothing else.
OWN = """
import ast, time, sys
source, space = %r, {}
for i in range(%d):
    begin = time.perf_counter()
    tree = compile(source, "<piece>", "exec", 0x400)
    last = ast.Expression(tree.body.pop().value)
    exec(compile(tree, "<piece>", "exec"), space)
    repr(eval(compile(last, "<piece>", "eval"), space))
    print((time.perf_counter() - begin) * 1e6)
"""


def own():
    out = subprocess.run([sys.executable, "-c", OWN % (SOURCE, rounds + 50)], capture_output=True, text=True, check=True).stdout
    return [float(line) for line in out.split()[50:]]


def bare_start():
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
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
    print("%-36s %10.1f %10.1f%s" % (name, found["p50Us"], found["p99Us"], "" if base is None else " %9.2f x" % (found["p50Us"] / base)))
    return found


def main():
    if os.geteuid() != 0:
        sys.exit("contexts.py: needs root")
    figures = {"piece": [], "fork": [], "start": []}
    kernel, pieces, bare, starts = start_kernel(), [], [], []
    ours = subprocess.Popen([build + "/bench/contexts", build + "/warder", str(rounds)], stdout=subprocess.PIPE, text=True)
    for line in ours.stdout:  # a round of each by turns
        for key, value in json.loads(line).items():
            figures[key].append(value)
        bare.append(bare_start())
        if kernel:
            pieces.append(kernel.piece())
    if ours.wait() != 0:
        sys.exit("contexts.py: the contexts of Warder did not run")
    print("%-36s %10s %10s %11s" % ("", "p50 us", "p99 us", "ratio"))
    rows = [row("python3 itself: the piece", own())]
    rows.append(row("warder: a piece", figures["piece"]))
    if kernel:
        rows.append(row("jupyter: a piece", pieces, rows[-1]["p50Us"]))
    rows.append(row("python3 -c pass", bare))
    rows.append(row("warder: start of a context", figures["start"], rows[-1]["p50Us"]))
    rows.append(row("warder: fork of a context", figures["fork"]))
    said = {"rows": rows, "memory": memory()}
    if kernel:
        starts = [kernel.started_us] + [again() for i in range(3)]
        rows.append(row("jupyter: start of a kernel", starts))
        said["memory"]["jupyterPssKiB"] = kernel.memory_kib()
        kernel.end()
    for name, value in said["memory"].items():
        print("%-36s %10.1f" % (name, value))
    with open(build + "/bench-contexts.json", "w") as file:
        json.dump(said, file, indent=1)


def again():
    kernel = Kernel()
    kernel.end()
    return kernel.started_us


main()
