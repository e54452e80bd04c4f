#!/usr/bin/env python3
"""A WebAssembly module that looks for the descriptors of its engine and writes to each an end of its own, on standard output.

forging.py DIRECTORY PATH [TARGET NAME]...: DIRECTORY is the number of the preopened one, PATH leads from there to descriptors; the
symbolic links NAME to TARGET are made first. Standard output has one byte for each path_open that was tried: its errno. FORGING_ROUNDS:
how often all of them are tried (1); the errnos are those of the last time.
"""
import os
import struct
import sys

sys.dont_write_bytecode = True
import module  # noqa: E402
from module import DROP, END, I64, const, leb  # noqa: E402

STORE8 = b"\x3a\0\0"


def span(data):
    """Bytes of the module's memory: constants of their place and length."""
    at = len(memory)
    memory.extend(data)
    memory.extend(b"\0" * (-len(data) % 8))
    return const(at) + const(len(data))


memory = bytearray(512)  # of them 0: the descriptor, 8: what was written, 64: the errnos
directory, path, links = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
imports = [("path_symlink", 1), ("path_open", 2), ("fd_write", 3)]
types = [b"\x60\0\0", b"\x60\5\x7f\x7f\x7f\x7f\x7f\1\x7f", b"\x60\x09\x7f\x7f\x7f\x7f\x7f\x7e\x7e\x7f\x7f\1\x7f",
         b"\x60\4\x7f\x7f\x7f\x7f\1\x7f"]
body = b"\x03\x40"  # until the local 0 has counted the rounds
rounds = int(os.environ.get("FORGING_ROUNDS", "1"))
for i in range(0, len(links), 2):
    body += span(links[i].encode()) + const(directory) + span(links[i + 1].encode()) + b"\x10\0" + DROP
said = len(memory)
forged = b"\0trap: forged by the module\0"
span(forged)
spans = len(memory)
span(struct.pack("<IIII", said, len(forged), 64, 45))
for fd in range(3, 48):
    place = span(("%s/%d" % (path, fd)).encode())
    body += const(61 + fd) + const(directory) + const(0) + place + const(0) + I64 + leb(64, True) + I64 + leb(0) + const(0) + const(0)
    body += b"\x10\1" + STORE8
    body += const(61 + fd) + b"\x2d\0\0\x45\x04\x40" + const(0) + b"\x28\2\0" + const(spans) + const(1) + const(8) + b"\x10\2" + DROP + END
body += b"\x20\0" + const(1) + b"\x6a\x22\0" + const(rounds) + b"\x48\x0d\0" + END
body += const(1) + const(spans + 8) + const(1) + const(8) + b"\x10\2" + DROP
code = b"\1\1\x7f" + body + END
module.write(types, imports, code, memory)
