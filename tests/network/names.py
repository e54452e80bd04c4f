"""The resolver of a test: answers questions for addresses by UDP."""
import ctypes
import os
import signal
import socket
import struct
import sys

PR_SET_PDEATHSIG = 1


def find(names, name, kind):
    """The addresses of the kind, packed, and for how long they hold."""
    entry = names.get(name, [])
    known, ttl = (entry(), 0) if callable(entry) else (entry, 60)
    family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
    return [socket.inet_pton(family, a) for a in known if (":" in a) == (kind == 28)] if family else [], ttl


def answer(query, names, silent):
    name, at = [], 12
    while query[at]:
        name.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    kind, end = query[at + 1] << 8 | query[at + 2], at + 5
    name = ".".join(name).lower()
    if name == silent:
        return None
    addresses, ttl = find(names, name, kind)
    records = b"".join(struct.pack(">HHHIH", 0xC00C, kind, 1, ttl, len(a)) + a for a in addresses)
    code = 0x80 if name in names else 0x83
    return query[:2] + bytes([0x85, code, 0, 1, 0, len(addresses), 0, 0, 0, 0]) + query[12:end] + records


def serve(address, names, silent=None, ready=lambda: None):
    """Names lead to their addresses, or to what a function returns at each question; a question for the name `silent` gets no answer. `ready` is called
    when questions are taken. Does not return."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((address, 53))
        ready()
        while True:
            query, sender = s.recvfrom(512)
            if reply := answer(query, names, silent):
                s.sendto(reply, sender)


def serve_apart(*words):
    """serve() in a process of its own, which ends with this one: its answers do not wait for the interpreter's lock behind hundreds of threads. Returns when
    it takes questions. To be called before there are threads."""
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        os.close(read_end)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        try:
            serve(*words, ready=lambda: os.write(write_end, b"r"))
        finally:
            os._exit(1)
    os.close(write_end)
    if os.read(read_end, 1) != b"r":
        sys.exit(f"{words[0]}: port 53 takes no questions")
    os.close(read_end)
