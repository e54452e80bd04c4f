#!/usr/bin/env python3
"""Where the processor time of one launch goes: by process and by system call, as the kernel traces them.

    tests/bench/waterfall.py [-n RUNS] [--least US] [--phases] [--old WARDER] [WARDER [ARGUMENT...]]
    tests/bench/waterfall.py [-n RUNS] [--least US] [--phases] [--old LIBRARY] --serve LIBRARY [ARGUMENT...]

Runs `WARDER run -- /bin/true` (or the arguments given) RUNS times, with --old in turns with another one. With --serve, starts a program
that launches when it is told to (tests/bench/library.c), and traces RUNS of its launches, all of its threads included. Prints medians:

The first table has the phases of a launch, which end where the first process, the supervisor, makes another process, waits for the
jail or lets it go. Its columns are the time that passes, the time that all processes together spend on processors, and the number of
their system calls. --phases prints no other table.

The second table has the microseconds on a processor of each process, in the order in which they were made, and of each of its system
calls. What a process does outside of system calls, page faults included, is "own code". Rows below --least are left out unless the
two differ.

Tracing makes every call and every page fault dearer (about 1 us), so compare columns with each other, not with a clock. Needs root
and tracefs. Traces in an instance of its own, so that other users of the tracer are not disturbed."""
import argparse
import collections
import os
import re
import statistics
import subprocess
import sys
import time

TRACEFS = "/sys/kernel/tracing"
EVENTS = ("raw_syscalls/sys_enter", "raw_syscalls/sys_exit", "sched/sched_switch", "sched/sched_process_fork")
NUMBERS = ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h")
LINE = re.compile(r"-(\d+)\s+\[\d+\]\s+\S+\s+(\d+\.\d+): (\w+): (.*)$")
OWN_CODE = "own code"
WARM_UP = 8  # launches of a server that are not traced
TAIL_S = 0.05  # after the answer of a server: its threads remove the jail, and park another one
# The phase that begins when the supervisor returns from a call.
CALL_PHASES = {
    "recvmsg": "read-back",
    "sendto": "the program, until init has ended",
    "waitid": "counters, removal, end of the tool",
}


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def call_names():
    names = {}
    for path in filter(os.path.exists, NUMBERS):
        with open(path, encoding="ascii") as file:
            for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)", file.read()):
                names.setdefault(int(number), name)
        break
    return names


class Tracer:
    """An instance of the tracer that follows one process and what it starts."""

    def __init__(self):
        self.place = f"{TRACEFS}/instances/warder-{os.getpid()}"
        os.mkdir(self.place)
        self.set("tracing_on", "0")
        self.set("buffer_size_kb", "4096")
        self.set("trace_clock", "mono")
        self.set("options/event-fork", "1")
        for event in EVENTS:
            self.set(f"events/{event}/enable", "1")

    def set(self, name, text):
        write(f"{self.place}/{name}", text)

    def run(self, command):
        """Its process number and the trace of it."""
        self.set("trace", "")
        wait, go = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(go)
            os.read(wait, 1)
            null = os.open("/dev/null", os.O_RDWR)
            for number in range(3):
                os.dup2(null, number)
            os.execv(command[0], command)
        os.close(wait)
        self.set("set_event_pid", str(pid))
        self.set("tracing_on", "1")
        os.close(go)
        status = os.waitpid(pid, 0)[1]
        self.set("tracing_on", "0")
        if status:
            sys.exit(f"waterfall.py: {' '.join(command)}: wait status {status}")
        with open(f"{self.place}/trace", encoding="ascii", errors="replace") as file:
            return pid, file.read()

    def launch(self, server):
        """One launch of a server: its process number and the trace of it."""
        self.set("trace", "")
        self.set("set_event_pid", " ".join(os.listdir(f"/proc/{server.process.pid}/task")))
        self.set("tracing_on", "1")
        server.launch()
        time.sleep(TAIL_S)
        self.set("tracing_on", "0")
        with open(f"{self.place}/trace", encoding="ascii", errors="replace") as file:
            return server.process.pid, file.read()

    def close(self):
        self.set("tracing_on", "0")
        for event in EVENTS:
            self.set(f"events/{event}/enable", "0")
        os.rmdir(self.place)


class Server:
    """A program of tests/bench/serve.h."""

    def __init__(self, command):
        self.command = command
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        for _ in range(WARM_UP):
            self.launch()

    def launch(self):
        self.process.stdin.write("run\n")
        answer = self.process.stdout.readline()
        if not answer.startswith("0 "):
            sys.exit(f"waterfall.py: {' '.join(self.command)}: answered {answer!r}")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def account(pid, text, names):
    """{(process, call): [us, times]}, and {phase: [wall us, us, times]}; processes are counted from 0 in the order in which they
    were made. Threads that were there before are those of process 0."""
    process = {pid: 0}
    process.update((int(found[1]), 0) for found in re.finditer(r"-(\d+)\s+\[\d+\].* sys_(?:enter|exit): ", text))
    call = {}
    since = {}
    spent = collections.defaultdict(lambda: [0.0, 0])
    phases = None
    made = 0
    now = 0.0

    def charge(number, now):
        if number in since:
            spent[process[number], call.get(number, OWN_CODE)][0] += now - since[number]
            phases.spent[phases.name][1] += now - since[number]
            since[number] = now

    for number, seconds, event, rest in filter(None, (m and m.groups() for m in map(LINE.search, text.splitlines()))):
        number, now = int(number), float(seconds) * 1e6
        phases = phases or Phases(now)
        if event == "sched_process_fork":
            made += 1
            process[int(re.search(r"child_pid=(\d+)", rest)[1])] = made
            if number == pid:
                phases.made(now)
        elif event == "sched_switch":
            out, into = (int(re.search(rf"{side}_pid=(\d+)", rest)[1]) for side in ("prev", "next"))
            if out in process:
                charge(out, now)
                since.pop(out, None)
            if into in process:
                since[into] = now
        elif number in process:
            since.setdefault(number, now)
            charge(number, now)
            if event == "sys_enter":
                nr = int(re.match(r"NR (\d+)", rest)[1])
                call[number] = names.get(nr, str(nr))
                spent[process[number], call[number]][1] += 1
                phases.spent[phases.name][2] += 1
            else:
                if number == pid:
                    phases.called(call.get(number), now)
                call[number] = OWN_CODE
    phases.end("", now)
    return spent, phases.spent


class Phases:
    """Where the supervisor is in its launch."""

    def __init__(self, start):
        self.name = "start, policy, plan"
        self.since = start
        self.children = 0
        self.spent = collections.defaultdict(lambda: [0.0, 0.0, 0])

    def end(self, name, now):
        """The phase ends, and the next one is `name`."""
        self.spent[self.name][0] += now - self.since
        self.name, self.since = name, now

    def made(self, now):
        self.children += 1
        self.end(f"after process {self.children} was made", now)

    def called(self, call, now):
        """The supervisor returns from a call."""
        if call in CALL_PHASES:
            self.end(CALL_PHASES[call], now)


def show_phases(runs, programs):
    """runs: {program: [{phase: [wall us, processor us, calls]} of each run]}"""
    names = list(dict.fromkeys(name for program in programs for run in runs[program] for name in run))
    total = [0.0, 0.0, 0.0]
    for program in programs:
        print(f"{program[-40:]:40}{'wall us':>9}{'processor us':>14}{'calls':>7}")
        total = [0.0, 0.0, 0.0]
        for name in names:
            figures = [statistics.median(run[name][i] if name in run else 0 for run in runs[program]) for i in range(3)]
            total = [a + b for a, b in zip(total, figures)]
            print("{:40}{:9.0f}{:14.0f}{:7.0f}".format(name, *figures))
        print("{:40}{:9.0f}{:14.0f}{:7.0f}\n".format("all", *total))


def show(runs, programs, least):
    """runs: {program: [account() of each run]}"""

    def median(program, key):
        return statistics.median(run[key][0] if key in run else 0 for run in runs[program])

    def times(program, key):
        return statistics.mean(run[key][1] if key in run else 0 for run in runs[program])

    def row(title, us, count):
        cells = "".join(f"{u:9.0f} us {n:6.0f} calls" for u, n in zip(us, count))
        print(f"{title:24}{cells}" + (f"{us[0] - us[1]:+9.0f} us" if len(us) > 1 else ""))

    keys = {key for program in programs for run in runs[program] for key in run}
    print(f"{'':24}" + "".join(f"{program[-24:]:>25}" for program in programs))
    row("all", [statistics.median(sum(us for us, _ in run.values()) for run in runs[p]) for p in programs],
        [sum(times(p, key) for key in keys) for p in programs])
    for process in sorted({process for process, _ in keys}):
        its = [key for key in keys if key[0] == process]
        row(f"process {process}", [sum(median(p, key) for key in its) for p in programs],
            [sum(times(p, key) for key in its) for p in programs])
        for key in sorted(its, key=lambda key: -max(median(p, key) for p in programs)):
            us = [median(p, key) for p in programs]
            if max(us) >= least or max(us) - min(us) >= least / 2:
                row("  " + key[1], us, [times(p, key) for p in programs])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", dest="runs", type=int, default=40)
    parser.add_argument("--least", type=float, default=10)
    parser.add_argument("--phases", action="store_true")
    parser.add_argument("--old")
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("warder", nargs="?", default="build/warder")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not os.path.isdir(f"{TRACEFS}/instances"):
        if "WATERFALL" in os.environ:
            sys.exit("waterfall.py: tracefs cannot be mounted")
        # In a mount namespace of its own: the host's mounts stay as they are.
        os.execvp("unshare", ["unshare", "-m", "sh", "-c", f'mount -t tracefs tracefs {TRACEFS}; exec "$@"', "sh", "env",
                              "WATERFALL=1", sys.executable, *sys.argv])
    programs = [options.warder] + ([options.old] if options.old else [])
    arguments = options.arguments or ["run", "--", "/bin/true"]
    names = call_names()
    runs = {program: [] for program in programs}
    servers = {program: Server([program] + options.arguments) for program in programs} if options.serve else {}
    tracer = Tracer()
    try:
        for i in range(options.runs):
            for program in programs if i % 2 else programs[::-1]:
                traced = tracer.launch(servers[program]) if servers else tracer.run([program] + arguments)
                runs[program].append(account(*traced, names))
    finally:
        tracer.close()
        for server in servers.values():
            server.end()
    show_phases({program: [phases for _, phases in runs[program]] for program in programs}, programs)
    if not options.phases:
        show({program: [spent for spent, _ in runs[program]] for program in programs}, programs, options.least)


main()
