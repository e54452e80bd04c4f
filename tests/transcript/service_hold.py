#!/usr/bin/env python3
"""service_hold.py NUMBER COMMAND...: holds so many connections to the user's service, which say nothing, and runs the command meanwhile. Then
prints how many of them the service dropped, and after how long."""
import os
import socket
import subprocess
import sys
import time

where = "/run/warder" if os.geteuid() == 0 else os.environ["XDG_RUNTIME_DIR"] + "/warder"
began = time.monotonic()
held = []
for _ in range(int(sys.argv[1])):
    held.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    held[-1].connect(where + "/sessions/.service.sock")
subprocess.run(sys.argv[2:], check=True)
dropped = 0
for one in held:
    one.settimeout(15)
    while one.recv(4096):
        pass
    dropped += 1
took = time.monotonic() - began
slow = float(os.environ.get("WARDER_TEST_SLOW", "1"))
print(dropped, "dropped after", 5 if 4.5 < took < 10 * slow else took, "s", flush=True)
