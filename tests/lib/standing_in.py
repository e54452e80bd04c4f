#!/usr/bin/env python3
"""Stands in for the keeper of a session that ends between two questions.

standing_in.py PLACE NAME OTHER COMMAND...: keeps NAME in the directory PLACE; asked for its description, it gives up the name, runs
COMMAND, and answers with the description that OTHER's keeper gives of its session, under the name NAME. Prints "here" when it can be asked.
"""
import fcntl
import os
import socket
import subprocess
import sys

place, name, other, *command = sys.argv[1:]
here = os.getcwd()
os.chdir(place)  # the paths of sockets are short
lock = os.open(name + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
    listener.bind(name + ".sock")
    listener.listen()
    print("here", flush=True)
    asker, _ = listener.accept()
request = asker.recv(4096)
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as keeper:
    keeper.connect(other + ".sock")
    keeper.send(request)
    reply, descriptors, *_ = socket.recv_fds(keeper, 8192, 16)
os.unlink(name + ".sock")
os.unlink(name + ".lock")
os.close(lock)
subprocess.run(command, cwd=here, check=True, stdout=subprocess.DEVNULL)
with os.fdopen(descriptors[0]) as file:
    description = file.read().replace('"name":"' + other + '"', '"name":"' + name + '"')
text = os.memfd_create("description")
os.write(text, description.encode())
os.lseek(text, 0, os.SEEK_SET)
socket.send_fds(asker, [reply], [text])
