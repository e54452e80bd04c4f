"""older_keeper.py PLACE NAME OTHER: keeps the session NAME in the directory PLACE as a keeper of the version before the present one does, which
takes nothing of a later version: by means of the session OTHER, to whose keeper it passes on what it understands. Prints "here" when it can be
asked, and ends with the session. The jail that can be joined is of an older make, too."""
import array, fcntl, os, select, socket, struct, sys, threading

sys.dont_write_bytecode = True
from older_policy import unknown_key

place, name, other = sys.argv[1:]
MAGIC, OLDER, HELLO, START, ANSWER = 0x58455257, 2, 1, 2, 11
STOP, COPY, SHORTER = 3, 4, 32
os.chdir(place)  # the paths of sockets are short


def take(s):
    data, fds, *_ = socket.recv_fds(s, 65536, 16)
    return data, fds


def give(s, data, fds):
    s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
    for fd in fds:
        os.close(fd)


def refuse(s, kind, text):
    error = struct.pack("<Ii32s72s400s", 4, 0, b"", b"", text.encode())
    body = struct.pack("<II24s", kind, 1, b"") + error + bytes(48)
    s.send(struct.pack("<IHHII24s", MAGIC, OLDER, ANSWER, 0, len(body), b"") + body)


def understands(data):
    if data[:4] == struct.pack("<I", MAGIC):
        version, kind, flags, length = struct.unpack_from("<HHII", data, 4)
        return version == OLDER and flags <= 127 and (kind != START or length == 48)
    return len(data) == 48 and struct.unpack_from("<II", data, 4)[0] == 48 and 0 < struct.unpack_from("<I", data, 8)[0] <= COPY


def unknown_in_words(data, fds):
    """The first key that the policy of a START has and this version does not know, or None. A policy with such a key is refused."""
    if not fds or struct.unpack_from("<IHH", data)[::2] != (MAGIC, START):
        return None
    size = os.fstat(fds[0]).st_size
    return unknown_key(os.pread(fds[0], size, 0).split(b"\0", 1)[0])


def altered(reply, fds):
    """A description under our name; of everything, the shorter reply."""
    if fds and len(fds) == 1:
        with os.fdopen(fds[0]) as file:
            text = file.read().replace(f'"name":"{other}"', f'"name":"{name}"')
        fds[0] = os.memfd_create("description")
        os.write(fds[0], text.encode())
        os.lseek(fds[0], 0, os.SEEK_SET)
    size = len(reply) - SHORTER
    return reply[:4] + struct.pack("<I", size) + reply[8:size], fds


def serve(asker):
    with asker, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as keeper:
        keeper.connect(other + ".sock")
        records = stops = False
        while True:
            for ready in select.select([asker, keeper], [], [])[0]:
                try:
                    data, fds = take(ready)
                except ConnectionError:
                    return
                if not data:
                    return
                if ready is asker and not understands(data):
                    if data[:4] == struct.pack("<I", MAGIC) and not records:
                        refuse(asker, HELLO, "the client speaks another version")
                    return
                unknown = unknown_in_words(data, fds) if ready is asker else None
                if unknown:
                    refuse(asker, START, f"policy: {unknown}: unknown key")
                    continue
                records |= ready is asker and data[:4] == struct.pack("<I", MAGIC)
                stops |= not records and ready is asker and data[8:12] == struct.pack("<I", STOP)
                if ready is keeper and not records:
                    data, fds = altered(data, fds)
                if ready is keeper and stops:
                    os.unlink(name + ".sock")
                    os.unlink(name + ".lock")
                give(keeper if ready is asker else asker, data, fds)
                if ready is keeper and stops:
                    os._exit(0)


lock = os.open(name + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(name + ".sock")
listener.listen()
print("here", flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
