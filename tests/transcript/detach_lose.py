"""detach_lose.py FILE COMMAND... ID: run a command that follows an execution, and shut down its connection to a keeper three times from outside,
then write a line to the execution. Prints how many connections were lost, and exits as the command does. Its standard output goes to FILE."""
import ctypes, errno, os, socket, subprocess, sys, time

PIDFD_GETFD = 438
libc = ctypes.CDLL(None, use_errno=True)


def connection_of(pid, before):
    """A socket of the process for messages, as the one to a keeper is, that is not one of `before`. None while it has only one: it still looks
    for the execution, and a connection that is cut now ends the search with an error."""
    pidfd = os.pidfd_open(pid)
    sockets = []
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if not target.startswith("socket:"):
                continue
            fd = libc.syscall(PIDFD_GETFD, pidfd, int(name), 0)
            if fd < 0 and ctypes.get_errno() == errno.EBADF:  # it was closed meanwhile
                continue
            if fd < 0:
                sys.exit(f"pidfd_getfd: {os.strerror(ctypes.get_errno())}")
            found = socket.socket(fileno=fd)
            if found.type == socket.SOCK_SEQPACKET:
                sockets.append((target, found))
    finally:
        os.close(pidfd)
    new = [one for one in sockets if one[0] not in before]
    return new[0] if len(sockets) > 1 and new else (None, None)


with open(sys.argv[1], "wb") as out:
    child = subprocess.Popen(sys.argv[2:], stdout=out)
lost, seen = 0, set()
deadline = time.monotonic() + 60 * float(os.environ.get("WARDER_TEST_SLOW", "1"))
while lost < 3 and child.poll() is None and time.monotonic() < deadline:
    time.sleep(0.3)
    try:
        name, found = connection_of(child.pid, seen)
    except (FileNotFoundError, ProcessLookupError):
        continue
    if found:
        seen.add(name)
        found.shutdown(socket.SHUT_RDWR)
        found.close()
        lost += 1
print(f"lost {lost}", flush=True)
subprocess.run(["warder", "write", sys.argv[-1]], input=b"\n", check=True)
sys.exit(child.wait(timeout=60))
