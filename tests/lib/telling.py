#!/usr/bin/env python3
"""A WebAssembly module whose result is given bytes: it writes them to the file that $WARDER_RESULT names, and ends.

telling.py TEXT [exit CODE | trap | loop]: TEXT with the escapes of Python, "\\0" for a NUL; - is standard input.
"""
import sys

sys.dont_write_bytecode = True
import module  # noqa: E402
from module import DROP, END, I64, const, leb  # noqa: E402


def load(at):
    return const(at) + b"\x28\2\0"


text = (sys.stdin.read() if sys.argv[1] == "-" else sys.argv[1]).encode().decode("unicode_escape").encode("latin1")
end = sys.argv[2] if len(sys.argv) > 2 else "exit"
code = int(sys.argv[3]) if len(sys.argv) > 3 else 0
WORD, FD, WROTE, SPAN, COUNT, SIZE, LIST, ENVIRON, TEXT = 0, 16, 24, 32, 40, 44, 1024, 8192, 40000
imports = [("environ_sizes_get", 2), ("environ_get", 2), ("path_open", 1), ("fd_write", 3), ("proc_exit", 4)]
types = [b"\x60\0\0", b"\x60\x09\x7f\x7f\x7f\x7f\x7f\x7e\x7e\x7f\x7f\1\x7f", b"\x60\2\x7f\x7f\1\x7f",
         b"\x60\4\x7f\x7f\x7f\x7f\1\x7f", b"\x60\1\x7f\0"]
memory = bytearray(TEXT + len(text))
memory[WORD:WORD + 14] = b"WARDER_RESULT="
memory[SPAN:SPAN + 8] = TEXT.to_bytes(4, "little") + len(text).to_bytes(4, "little")
memory[TEXT:] = text
body = const(COUNT) + const(SIZE) + b"\x10\0" + DROP + const(LIST) + const(ENVIRON) + b"\x10\1" + DROP
# Local 0 goes over the list of the environment until the variable begins with the word's bytes at 0 and 6.
body += const(LIST) + b"\x21\0\x03\x40"
body += b"\x20\0\x28\2\0\x21\1\x20\0" + const(4) + b"\x6a\x21\0"
for at in (0, 6):
    body += b"\x20\1\x29\0" + leb(at) + const(WORD) + b"\x29\0" + leb(at) + b"\x52"
body += b"\x72\x0d\0" + END
# Its value is "/tmp/...": the path below /tmp, which is the directory 4, begins 14 + 5 bytes on. Local 2 finds its end.
body += b"\x20\1" + const(19) + b"\x6a\x22\1\x21\2\x03\x40\x20\2" + const(1) + b"\x6a\x22\2\x2d\0\0\x0d\0" + END
body += const(4) + const(0) + b"\x20\1\x20\2\x20\1\x6b" + const(1) + I64 + leb(64, True) + I64 + leb(0) + const(0) + const(FD)
body += b"\x10\2" + DROP + load(FD) + const(SPAN) + const(1) + const(WROTE) + b"\x10\3" + DROP
body += {"exit": const(code) + b"\x10\4", "trap": b"\0", "loop": b"\x03\x40\x0c\0" + END}[end]
function = b"\1\3\x7f" + body + END
module.write(types, imports, function, memory)
