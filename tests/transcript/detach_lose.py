"""detach_lose.py FILE COMMAND...: run a command, and shut down its connection to a keeper three times from outside. Prints how many
connections were lost, and exits as the command does. Its standard output goes to FILE."""
import ctypes, os, socket, subprocess, sys, time

PIDFD_GETFD = 438
libc = ctypes.CDLL(None, use_errno=True)


def connection_of(pid, before):
    """A socket of the process for messages, as the one to a keeper is, that is not one of `before`."""
    pidfd = os.pidfd_open(pid)
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if not target.startswith("socket:") or target in before:
                continue
            fd = libc.syscall(PIDFD_GETFD, pidfd, int(name), 0)
            if fd < 0:
                sys.exit(f"pidfd_getfd: {os.strerror(ctypes.get_errno())}")
            found = socket.socket(fileno=fd)
            if found.type == socket.SOCK_SEQPACKET:
                return target, found
    finally:
        os.close(pidfd)
    return None, None


with open(sys.argv[1], "wb") as out:
    child = subprocess.Popen(sys.argv[2:], stdout=out)
lost, seen = 0, set()
deadline = time.monotonic() + 20
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
sys.exit(child.wait(timeout=60))
