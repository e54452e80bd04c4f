"""Hostile clients of a keeper: what becomes of them. One line for each."""
import os, select, socket, struct, sys, time

ID = sys.argv[1].encode()
BASE = "/run" if os.geteuid() == 0 else os.environ["XDG_RUNTIME_DIR"]
PATH = f"{BASE}/warder/sessions/{ID.decode()}.sock"
MAGIC, VERSION, OLDER = 0x58455257, 3, 2
HELLO, START, ATTACH, SIGNAL, LIST, ANSWER = 1, 2, 3, 6, 9, 11


def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    s.connect(PATH)
    return s


def record(kind, body=b"", magic=MAGIC, version=VERSION, ident=b""):
    return struct.pack("<IHHII24s", magic, version, kind, 0, len(body), ident) + body


def end_of(s):
    """What comes: an answer's verdict, and whether the connection ends then."""
    said = []
    while True:
        try:
            got = s.recv(65536)
        except ConnectionError:
            got = b""
        if not got:
            return ", ".join(said + ["closed"])
        failed = struct.unpack_from("<I", got, 40 + 4)[0]
        said.append("refused" if failed else "answered")
        if not failed:
            return ", ".join(said)


def greet():
    s = connect()
    s.send(record(HELLO))
    s.recv(65536)
    return s


def try_one(what, data):
    s = connect()
    s.send(data)
    print(f"{what}: {end_of(s)}")


def ask(what, data):
    s = greet()
    s.send(data)
    failed = struct.unpack_from("<I", s.recv(65536), 44)[0]
    print(f"{what}: {'refused' if failed else 'answered'}")


try_one("half", record(HELLO)[:20])
try_one("another magic", record(HELLO, magic=MAGIC + 1))
try_one("before the hello", record(SIGNAL, struct.pack("<I", 9), ident=ID))
try_one("another version", record(HELLO, version=VERSION + 1))
s = connect()
s.send(record(HELLO, version=OLDER))
s.recv(65536)
s.send(record(LIST, version=OLDER))
print(f"the version before: {end_of(s)}")
ask("words that are no memory file", record(START, struct.pack("<IIIIQQQHHI40s", 0, 1, 0, 0, 99, 0, 0, 0, 0, 0, b"")))
ask("an id of another", record(SIGNAL, struct.pack("<I", 9), ident=b"0" * 16))
time.sleep(0.3)

clients, served = [], 0
for _ in range(65):
    s = connect()
    s.send(record(HELLO))
    served += struct.unpack_from("<I", s.recv(65536), 44)[0] == 0
    clients.append(s)
print(f"65 clients: {served} served")
for s in clients:
    s.close()
time.sleep(0.3)

s = greet()
s.send(record(ATTACH, struct.pack("<QQ", 0, 0), ident=ID))
closed = select.poll()  # by the other side, which is seen without reading
closed.register(s, 0)
closed.poll(60000)
got = b"x"
try:
    while got:
        got = s.recv(65536)
    print("never reads: dropped")
except TimeoutError:
    print("never reads: kept")
