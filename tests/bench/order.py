#!/usr/bin/env python3
"""Which functions of Warder a launch calls, for the linker.

    tests/bench/order.py build/warder >runtime/cli/launched.txt

Executes `WARDER run --no-service -- /bin/true` step by step, helper processes included, until each has ended or executes another program.
Prints the names of the functions in which a step was, sorted. The linker puts these functions next to each other (see LAUNCHED in the
Makefile), so that a launch needs fewer pages of the program. A name that is missing or gone makes a launch slower, nothing else.

Takes a minute or two. Needs root, and an x86-64 processor."""
import bisect
import ctypes
import os
import re
import signal
import subprocess
import sys

TRACEME, SINGLESTEP, GETREGS, DETACH, SETOPTIONS = 0, 9, 12, 17, 0x4200
FOLLOW = 0x2 | 0x4 | 0x8 | 0x10  # processes that are made, and an exec
EVENT_EXEC = 4
WALL = 0x40000000
RIP = 16  # of struct user_regs_struct
COMPILER_SUFFIX = re.compile(r"\.(part|constprop|isra|cold)\b.*")

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def functions(program):
    """Their addresses and names, sorted by address."""
    lines = subprocess.run(["nm", "-n", program], check=True, capture_output=True, text=True).stdout.splitlines()
    words = [line.split() for line in lines]
    return [(int(w[0], 16), COMPILER_SUFFIX.sub("", w[2])) for w in words if len(w) == 3 and w[1] in "tTwW"]


def step(command):
    """The addresses of all instructions that the command and its helpers execute."""
    registers = (ctypes.c_ulong * 27)()
    address = ctypes.addressof(registers)
    seen = set()
    first = os.fork()
    if first == 0:
        libc.ptrace(TRACEME, 0, None, None)
        os.execv(command[0], command)
    os.waitpid(first, 0)
    libc.ptrace(SETOPTIONS, first, None, FOLLOW)
    libc.ptrace(SINGLESTEP, first, None, None)
    while True:
        try:
            pid, status = os.waitpid(-1, WALL)
        except ChildProcessError:
            return seen
        if not os.WIFSTOPPED(status):
            if pid == first and status:
                sys.exit(f"order.py: {' '.join(command)}: wait status {status}")
            continue
        if status >> 16 == EVENT_EXEC:
            libc.ptrace(DETACH, pid, None, None)
            continue
        libc.ptrace(GETREGS, pid, None, address)
        seen.add(registers[RIP])
        number = os.WSTOPSIG(status)
        libc.ptrace(SINGLESTEP, pid, None, None if number in (signal.SIGTRAP, signal.SIGSTOP) else number)


def main():
    program = sys.argv[1]
    table = functions(program)
    starts = [start for start, _ in table]
    places = (bisect.bisect(starts, address) - 1 for address in step([program, "run", "--no-service", "--", "/bin/true"]))
    begun = {starts[place] for place in places if 0 <= place < len(starts) - 1}
    print("\n".join(sorted({name for start, name in table if start in begun})))


main()
