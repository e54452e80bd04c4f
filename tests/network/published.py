#!/usr/bin/env python3
"""published.py WARDER WHAT: a published port at a limit, with an edge that is killed, or of a command other than run.

WHAT is bytes, connections, killed, code or tool. The server in the jail sends back every byte. Warder picks the port of the host and
prints it on standard error.
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

SERVER = """import socket, threading
def echo(c):
    while data := c.recv(1 << 16): c.sendall(data)
    c.close()
s = socket.create_server(("127.0.0.1", 8000))
while True: threading.Thread(target=echo, args=(s.accept()[0],), daemon=True).start()"""
# The same for one connection; then it ends.
SERVER_OF_ONE = """import socket
c = socket.create_server(("127.0.0.1", 8000)).accept()[0]
while data := c.recv(1 << 16): c.sendall(data)"""
WARDER, WHAT = sys.argv[1:3]
FLAGS = ["--timeout", "30s", "--pids", "100", "--publish", "0:8000"]


def start(command, arguments, text=None):
    """The process, and the port of the host that it printed."""
    child = subprocess.Popen([WARDER, command] + FLAGS + arguments, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdin.write((text or "").encode())
    child.stdin.close()
    child.stdin = None
    line = child.stderr.readline().decode()
    found = re.fullmatch(r"warder: 127\.0\.0\.1:(\d+) leads to port 8000 of the jail \(network\.publish\)\n", line)
    assert found, line
    return child, int(found.group(1))


def connect(port):
    """A connection that the server in the jail has answered."""
    for _ in range(1200):
        try:
            peer = socket.create_connection(("127.0.0.1", port), 5)
            peer.sendall(b"?")
            if peer.recv(1) == b"?":
                return peer
        except ConnectionError:
            pass
        time.sleep(0.05)
    raise AssertionError("the server in the jail does not answer")


def is_reset(act):
    try:
        return act() == b""
    except (ConnectionResetError, BrokenPipeError):
        return True


def fails_again(port):
    """A further connection: refused, or reset before any byte comes back."""
    def act():
        with socket.create_connection(("127.0.0.1", port), 5) as peer:
            peer.sendall(b"?")
            return peer.recv(1)
    try:
        return is_reset(act)
    except ConnectionRefusedError:
        return True


def edge_of(supervisor):
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/comm", encoding="ascii", errors="replace") as comm:
                if comm.read() != "warder-edge\n":
                    continue
            at = process
            while at not in ("0", "1"):
                if int(at) == supervisor:
                    return int(process)
                with open(f"/proc/{at}/status", encoding="ascii", errors="replace") as status:
                    at = re.search(r"PPid:\t(\d+)", status.read()).group(1)
        except (FileNotFoundError, ProcessLookupError):
            pass
    raise AssertionError("there is no edge")


def end(child):
    """The network of the result."""
    out, err = child.communicate(timeout=60)
    print(err.decode())
    result = json.loads(out)
    network = result["network"]
    assert ("network" in result["limitsHit"]) == (network["refused"] > 0 or network["edgeDied"]), result["limitsHit"]
    return network


def expect_refusal(network, reason):
    [row] = network["refusals"]
    print(network)
    assert row["destination"] == "127.0.0.1" and row["port"] == 8000 and row["reason"] == reason, row
    assert row["count"] == network["refused"] and not network["edgeDied"], row


def bytes_run_out():
    child, port = start("run", ["--json", "--net-bytes", "100KiB", "--", "python3", "-c", SERVER])
    peer = connect(port)

    def act():
        for _ in range(1000):
            peer.sendall(b"x" * 1000)
            if not peer.recv(1000):
                return b""
        return b"too much"
    assert is_reset(act) and fails_again(port)
    child.terminate()
    network = end(child)
    expect_refusal(network, "bytes")
    assert network["bytesSent"] + network["bytesReceived"] <= 100 << 10 and network["refused"] == 2, network


def too_many_connections():
    child, port = start("run", ["--json", "--max-connections", "2", "--", "python3", "-c", SERVER])
    peers = [connect(port), connect(port)]
    assert fails_again(port) and fails_again(port)
    for peer in peers:
        peer.sendall(b"!")
        assert peer.recv(1) == b"!"
    peers.pop().close()
    peers.append(connect(port))
    child.terminate()
    network = end(child)
    expect_refusal(network, "maxConnections")
    assert network["refused"] >= 2 and network["connections"] >= 3, network


def edge_is_killed():
    child, port = start("run", ["--json", "--", "python3", "-c", SERVER])
    peer = connect(port)
    os.kill(edge_of(child.pid), signal.SIGKILL)
    assert is_reset(lambda: peer.recv(1)) and fails_again(port)
    child.terminate()
    network = end(child)
    print(network)
    assert network["edgeDied"] and network["refused"] == 0 and network["published"][0]["hostPort"] == port, network


def other_command(command, arguments, text):
    child, port = start(command, arguments, text)
    connect(port).close()
    network = end(child)
    print(network)
    assert network["published"] == [{"address": "127.0.0.1", "hostPort": port, "jailPort": 8000}], network


if WHAT == "bytes":
    bytes_run_out()
elif WHAT == "connections":
    too_many_connections()
elif WHAT == "killed":
    edge_is_killed()
elif WHAT == "code":
    other_command("code", ["--language", "python", "--json", "-"], SERVER_OF_ONE)
elif WHAT == "tool":
    other_command("tool", [], json.dumps({"language": "python", "code": SERVER_OF_ONE}) + "\n")
else:
    sys.exit(f"published.py: there is no {WHAT}")
