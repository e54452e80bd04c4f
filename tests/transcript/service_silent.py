#!/usr/bin/env python3
"""service_silent.py [--late] COMMAND...: stands in for a service that accepts the request of a client, and then is silent. Starts the
command, and sends it SIGTERM when it has accepted. With --late, it sends none, and ends after 11 seconds. Prints the command's exit status."""
import os
import socket
import struct
import subprocess
import sys
import time

late = sys.argv[1] == "--late"
where = "/run/warder" if os.geteuid() == 0 else os.environ["XDG_RUNTIME_DIR"] + "/warder"
os.makedirs(where + "/sessions", 0o700, exist_ok=True)
os.chmod(where, 0o700)
path = where + "/sessions/.service.sock"
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
    listener.bind(path)
    listener.listen()
    command = subprocess.Popen(sys.argv[1 + late:])
    client, _ = listener.accept()
    client.recv(65536)
    client.send(struct.pack("=II200s", 0x56535257, 0, b""))  # struct service_answer, SERVICE_ACCEPTED
    if late:
        time.sleep(11)
        client.close()
    else:
        command.terminate()
    print(command.wait())
os.unlink(path)
