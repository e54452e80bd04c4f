#!/usr/bin/env python3
"""Asks the keeper of a session, as any program could that sees its socket, and prints what came back.

asking.py TYPE SOCKET...: TYPE is that of a request (runtime/session/session.h), SOCKET the first that is there. Printed are whether it was
refused, how many descriptors came, and why.
"""
import os
import socket
import struct
import sys

FAILED, TEXT = 8, 16 + 8 + 32 + 72  # places in struct session_reply
at = next(path for path in sys.argv[2:] if os.path.exists(path))
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
    peer.settimeout(60)
    peer.connect(at)
    peer.send(struct.pack("=III52x", 0x53445257, 64, int(sys.argv[1])))
    reply, descriptors, *_ = socket.recv_fds(peer, 8192, 16)
failed = struct.unpack_from("=I", reply, FAILED)[0]
text = reply[TEXT:].split(b"\0")[0].decode() if failed else ""
print("refused" if failed else "answered", len(descriptors), text)
