"""session_hostile.py NAME: clients of a keeper that give wrong descriptors, and one that asks and asks and takes no answer. A line for each."""
import array, fcntl, os, socket, struct, sys, tempfile, time

NAME = sys.argv[1]
BASE = "/run" if os.geteuid() == 0 else os.environ["XDG_RUNTIME_DIR"]
MAGIC, VERSION = 0x58455257, 3
HELLO, START, LIST, RESULT = 1, 2, 9, 10
OWNER, STREAMS, INPUT, OUTPUTS, WHOLE, LOG, PROGRESS, CODE, FUNCTIONS, AUDIT = 128, 256, 512, 1024, 4096, 8192, 16384, 262144, 524288, 1 << 31
os.chdir(f"{BASE}/warder/sessions")  # the paths of sockets are short


def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(60)
    s.connect(NAME + ".sock")
    return s


def describe():
    s = connect()
    s.send(struct.pack("<III33s3x", 0x53445257, 48, 1, b""))
    _, fds, *_ = socket.recv_fds(s, 65536, 16)
    with os.fdopen(fds[0]) as file:
        return file.read()


def send(s, kind, flags=0, body=b"", fds=()):
    s.sendmsg([struct.pack("<IHHII24s", MAGIC, VERSION, kind, flags, len(body), b"") + body],
              [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])


def greet(flags=0):
    s = connect()
    send(s, HELLO, flags)
    s.recv(65536)
    return s


def memory_file(content, seals=True):
    fd = os.memfd_create("words", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, content)
    if seals:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd


def code(box=b"warder-code-0123456789abcdef", value=0, files=0, seals=True, collects=0, hands=0, spill=0):
    head = struct.pack("<32sIIIII4x6Q4IQ2IQ32sQQQ168x", b"python", 1, 0, 0, 0, files, 1, 0, 0, 0, 0, 0, collects, value, hands, spill, 1000, 0, 0, 0, box, 0, 0, 0)
    return memory_file(head + (box + b"\0" if collects else b"") + b"\0hint\0\0\0\0", seals)


def start(flags, fds, program=b"true", seals=True):
    content = b"".join(word + b"\0" for word in (policy, program) + ((b"/audit", b"{}") if flags & AUDIT else ()))
    words = memory_file(content, seals)
    body = struct.pack("<IIIIQQQHHI40s", 0, 1, 0, 0, len(content), 0, 0, 0, 0, 1 if flags & AUDIT else 0, b"")
    with greet(OWNER if flags & STREAMS else 0) as s:
        send(s, START, flags & ~AUDIT, body, [words, *fds])
        os.close(words)
        got = s.recv(65536)
        if not got:
            return "closed"
        if struct.unpack_from("<I", got, 44)[0]:
            return "refused"
        s.send(struct.pack("<IHHII24s", MAGIC, VERSION, RESULT, WHOLE if flags & STREAMS else 0, 0, got[48:64]))
        s.recv(65536)
        return f'ended {struct.unpack_from("<i", s.recv(65536), 44)[0]}'


text = describe()
keeper = text.split('"keeperPid":', 1)[1].split(",", 1)[0]
policy = text.split('"policy":', 1)[1]
depth = at = 0
for at, letter in enumerate(policy):
    depth += (letter == "{") - (letter == "}")
    if depth == 0:
        break
policy = policy[:at + 1].encode()


def held():
    return len(os.listdir(f"/proc/{keeper}/fd"))


null = os.open("/dev/null", os.O_RDWR)
here = os.open(".", os.O_RDONLY)
words = os.memfd_create("output", os.MFD_CLOEXEC)
broken, end = os.pipe()
os.close(broken)
pair = socket.socketpair()
packets = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
alone = socket.socket(socket.AF_UNIX)
with tempfile.TemporaryDirectory() as directory:
    service = socket.socket(socket.AF_UNIX)
    service.bind(directory + "/service")
    service.listen()
    named = socket.socket(socket.AF_UNIX)
    named.connect(directory + "/service")
rows = (
    ("as it should be", STREAMS | INPUT | OUTPUTS, [null, null, null]),
    ("no descriptor for a stream", STREAMS | INPUT | OUTPUTS, []),
    ("one too few", STREAMS | INPUT | OUTPUTS, [null, null]),
    ("one that nobody asked for", STREAMS, [null, null, null, null]),
    ("no descriptor for the log", LOG, []),
    ("no descriptor for the audit file", AUDIT, []),
    ("a directory for the log", LOG, [here]),
    ("words that can change", STREAMS, [], b"true", False),
    ("code as it should be", STREAMS | CODE, [code()]),
    ("no file of the code", STREAMS | CODE, []),
    ("code that can change", STREAMS | CODE, [code(seals=False)]),
    ("code without its caller's streams", CODE, [code()]),
    ("a directory of the code's that leads out", STREAMS | CODE, [code(box=b"warder-code-../../../../tmp/")]),
    ("more files than there are", STREAMS | CODE, [code(files=3)]),
    ("a directory as the code's value", STREAMS | CODE, [code(value=1), here]),
    ("no value", STREAMS | CODE, [code(value=1)]),
    ("files that the client does not take", STREAMS | CODE, [code(collects=1, hands=1)]),
    ("a hand-over of nothing", STREAMS | CODE, [code(hands=1)]),
    ("files for the output", STREAMS | CODE, [code(spill=1), words, words]),
    ("one file too few for the output", STREAMS | CODE, [code(spill=1), words]),
    ("a device for the output", STREAMS | CODE, [code(spill=1), words, null]),
    ("functions as they should be", STREAMS | FUNCTIONS, [pair[0].fileno()], b"true"),
    ("functions of code", STREAMS | CODE | FUNCTIONS, [code(), pair[0].fileno()]),
    ("no descriptor for functions", STREAMS | FUNCTIONS, []),
    ("a file for functions", STREAMS | FUNCTIONS, [null]),
    ("a socket of packets for functions", STREAMS | FUNCTIONS, [packets[0].fileno()]),
    ("a socket that leads nowhere for functions", STREAMS | FUNCTIONS, [alone.fileno()]),
    ("a socket that listens for functions", STREAMS | FUNCTIONS, [service.fileno()]),
    ("a service of the host for functions", STREAMS | FUNCTIONS, [named.fileno()]),
    ("functions and progress", STREAMS | FUNCTIONS | PROGRESS, [pair[0].fileno()]),
    ("functions without its caller's streams", FUNCTIONS, [pair[0].fileno()]),
    ("a pipe that nobody reads", STREAMS | OUTPUTS, [end, null], b"yes"),
)
before = held()  # and perhaps a connection that has just been closed
for row in rows:
    print(f"{row[0]}: {start(*row[1:])}")
for row in rows * 3:
    start(*row[1:])
until = time.monotonic() + 60
while held() > before and time.monotonic() < until:
    time.sleep(0.05)
print("left in the keeper:", max(held() - before, 0))

s = greet()
s.setblocking(False)
sent = 0
try:
    while sent < 1000000:
        send(s, LIST)
        sent += 1
except BlockingIOError:
    pass
other = greet()
send(other, LIST)
print("a flood of requests:", sent > 10, "others:", "served" if other.recv(65536) else "closed")
s.settimeout(60)
try:
    while True:  # until the keeper drops the connection, which is not read
        send(s, LIST)
except (BrokenPipeError, ConnectionResetError):
    print("takes no answer: dropped")
