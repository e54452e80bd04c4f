#!/usr/bin/env python3
"""Sessions: what their keepers cost. Each row is measured beside what it is compared with, in one run, alternating.

  tests/bench/session.py WARDER [ROUNDS [PART...]]

exec      a program in a session, supervised by the keeper; beside the same supervised by its caller, which is what happens if the keeper is
          a process of another binary, and beside a run of its own
attach    from the start of "warder attach" to the first byte of 1 KiB that is kept; beside "cat" of a file
echo      from a line typed at "warder attach" to its copy on the screen, by cat on the jail's terminal; beside cat on a terminal of its own
memory    private memory that a keeper has written to: idle, with the most executions that run, after executions, and with a full spool
Times are in milliseconds. Figures are facts, never a failure."""
import os, pty, shutil, subprocess, sys, tempfile, termios, time, tty

WARDER = os.path.realpath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 100
PARTS = sys.argv[3:] or ["exec", "attach", "echo", "memory"]
RUNNING = 128
ENDED = 60


def quantile(values, q):
    return sorted(values)[min(len(values) - 1, int(len(values) * q))]


def table(title, columns, floor):
    print(f"\n{title}")
    for name, values in columns.items():
        p50, p99 = quantile(values, 0.5), quantile(values, 0.99)
        ratio = f"{p50 / quantile(columns[floor], 0.5):.2f} {p99 / quantile(columns[floor], 0.99):.2f}"
        print(f"  {name:<34}{p50:9.3f}{p99:9.3f}   of {floor}: {ratio}")


def timed(function):
    began = time.perf_counter()
    function()
    return (time.perf_counter() - began) * 1000


def warder(*words, program=WARDER, **how):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True, **how).stdout


def alternate(rounds, ways):
    columns = {name: [] for name in ways}
    for i in range(rounds + 3):
        for name, way in ways.items():
            took = timed(way)
            if i >= 3:
                columns[name].append(took)
    return columns


def measure_exec(own, other):
    def call(*words):
        return lambda: subprocess.run([WARDER, *words, "--", "/bin/true"], check=True)

    table("exec: /bin/true", alternate(ROUNDS, {
        "by its caller": call("session", "exec", other),
        "by the keeper": call("session", "exec", own),
        "a run of its own": call("run", "--no-service"),
    }), "by its caller")


def first_byte(words):
    with subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        os.read(child.stdout.fileno(), 1)
        child.kill()


def measure_attach(own, scratch):
    path = f"{scratch}/kept"
    with open(path, "w") as file:
        file.write("x" * 1024)
    ident = warder("session", "exec", own, "--detach", "--", "sh", "-c", "head -c 1024 /dev/zero | tr '\\0' x; sleep 1000").strip()
    while len(warder("logs", ident)) < 1024:
        time.sleep(0.05)
    table("attach: to the first byte", alternate(ROUNDS, {
        "cat": lambda: first_byte(["cat", path]),
        "warder attach": lambda: first_byte([WARDER, "attach", "-n", ident]),
    }), "cat")
    warder("kill", "-s", "KILL", ident)


class Typist:
    """A terminal whose program copies each line."""

    def __init__(self, words):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp(words[0], words)
        tty.setraw(self.fd, termios.TCSANOW)
        self.number = 0
        self.line()

    def line(self):
        self.number += 1
        wanted = b"<%d>" % self.number
        os.write(self.fd, wanted + b"\n")
        got = b""
        while wanted not in got:
            got += os.read(self.fd, 4096)

    def end(self):
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def measure_echo(own):
    ident = warder("session", "exec", own, "--detach", "-t", "--", "sh", "-c", "stty raw -echo; exec cat").strip()
    alone = Typist(["cat"])
    attached = Typist([WARDER, "attach", ident])
    table("echo: a line to a terminal and back", alternate(ROUNDS * 5, {"cat": alone.line, "warder attach": attached.line}), "cat")
    alone.end()
    attached.end()
    warder("kill", "-s", "KILL", ident)


def private_kib(pid):
    """Without pages of the program's file, which a program that was just built has not on the disk yet."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Anonymous:"))


def measure_memory():
    def start(*words):
        return warder("session", "exec", "bench-memory", "--detach", "--keep", "1h", "--", *words).strip()

    warder("session", "start", "bench-memory", "--prefer", "limits", "--pids", str(3 * RUNNING), "--timeout", "1h")
    status = warder("session", "status", "bench-memory", "--json")
    pid = int(status.split('"keeperPid":')[1].split(",")[0])
    idle = private_kib(pid)
    print("\nmemory of a keeper, private, KiB")
    print(f"  {'idle':<34}{idle:9}")
    running = [start("sleep", "1000") for _ in range(RUNNING)]
    full = private_kib(pid)
    print(f"  {f'with {RUNNING} executions that run':<34}{full:9}")
    print(f"  {'for each of them':<34}{(full - idle) / RUNNING:9.1f}")
    for ident in running:
        warder("kill", "-s", "KILL", ident)
        subprocess.run([WARDER, "wait", ident], capture_output=True)
    print(f"  {'with their results':<34}{private_kib(pid):9}")
    for _ in range(ENDED):
        warder("wait", start("true"))
    print(f"  {f'with the results of {ENDED} more':<34}{private_kib(pid):9}")
    before = private_kib(pid)
    warder("wait", start("head", "-c", "20000000", "/dev/zero"))
    print(f"  {'for a full spool':<34}{private_kib(pid) - before:9}")
    warder("session", "stop", "bench-memory")


def main():
    scratch = tempfile.mkdtemp(prefix="warder-bench.", dir="/var/lib" if os.geteuid() == 0 else None)
    other = f"{scratch}/warder"
    shutil.copy(WARDER, other)
    flags = ["--prefer", "limits", "--set", "devices.terminals=4", "--timeout", "1h"]
    try:
        with open("/proc/loadavg") as load:
            print(f"sessions: {ROUNDS} rounds, alternating; load {load.read().split()[0]}; columns: p50, p99, ratios")
        warder("session", "start", "bench-own", *flags)
        warder("session", "start", "bench-other", *flags, program=other)
        measures = {
            "exec": lambda: measure_exec("bench-own", "bench-other"),
            "attach": lambda: measure_attach("bench-own", scratch),
            "echo": lambda: measure_echo("bench-own"),
            "memory": measure_memory,
        }
        for part in PARTS:
            measures[part]()
    finally:
        for name in ("bench-own", "bench-other", "bench-memory"):
            subprocess.run([WARDER, "session", "stop", name], capture_output=True)
        shutil.rmtree(scratch)


main()
