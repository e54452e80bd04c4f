#!/usr/bin/env python3
"""What the WebAssembly modules of the tests are written with: pieces of the binary format as bytes. To be imported."""
import sys

I32, I64, END, DROP = b"\x41", b"\x42", b"\x0b", b"\x1a"


def leb(n, signed=False):
    out = b""
    while True:
        byte, n = n & 0x7F, n >> 7
        if not n and not (signed and byte & 0x40):
            return out + bytes([byte])
        out += bytes([byte | 0x80])


def vector(items):
    return leb(len(items)) + b"".join(items)


def section(number, content):
    return bytes([number]) + leb(len(content)) + content


def name(text):
    return leb(len(text)) + text.encode()


def const(n):
    return I32 + leb(n, True)


def write(types, imports, function, memory):
    """Onto standard output: functions of WASI with the numbers of their types, one function (locals and body, of type 0), memory."""
    sys.stdout.buffer.write(
        b"\0asm\1\0\0\0" + section(1, vector(types))
        + section(2, vector([name("wasi_snapshot_preview1") + name(f) + b"\0" + leb(t) for f, t in imports]))
        + section(3, b"\1\0") + section(5, b"\1\0" + leb(len(memory) // 65536 + 1))
        + section(7, vector([name("_start") + b"\0" + leb(len(imports)), name("memory") + b"\2\0"]))
        + section(10, vector([leb(len(function)) + function]))
        + section(11, vector([b"\0" + const(0) + END + leb(len(memory)) + bytes(memory)])))
