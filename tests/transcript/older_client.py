"""older_client.py NAME: a client of a session that speaks the version before the present one, and takes nothing else. Prints what it got."""
import array, fcntl, json, os, socket, struct, sys

sys.dont_write_bytecode = True
from older_policy import unknown_key

NAME = sys.argv[1]
BASE = "/run" if os.geteuid() == 0 else os.environ["XDG_RUNTIME_DIR"]
MAGIC, OLDER = 0x58455257, 2
HELLO, START, SIGNAL, LIST, RESULT, ANSWER, END = 1, 2, 6, 9, 10, 11, 14
DESCRIBE, JOIN, STOP, FILES = 1, 2, 3, 5
os.chdir(f"{BASE}/warder/sessions")  # the paths of sockets are short


def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(60)
    s.connect(NAME + ".sock")
    return s


def ask(kind, ident=b""):
    """A request of 48 bytes: the verdict, and the text that came beside."""
    s = connect()
    s.send(struct.pack("<III33s3x", 0x53445257, 48, kind, ident))
    reply, fds, *_ = socket.recv_fds(s, 65536, 16)
    if not reply:
        return s, "closed", ""
    failed = struct.unpack_from("<I", reply, 8)[0]
    text = os.fdopen(fds[0]).read() if fds else ""
    for fd in fds[1:]:
        os.close(fd)
    return s, "refused: " + reply[128:528].split(b"\0")[0].decode() if failed else "answered", text


def send(s, kind, body=b"", ident=b"", fds=()):
    s.sendmsg([struct.pack("<IHHII24s", MAGIC, OLDER, kind, 0, len(body), ident) + body],
              [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])


def receive(s):
    """The body of the next record, which must be of this version."""
    got, fds, *_ = socket.recv_fds(s, 65536, 4)
    if not got:
        sys.exit("closed")
    magic, version, kind = struct.unpack_from("<IHH", got)
    if magic != MAGIC or version != OLDER:
        sys.exit(f"a record of version {version}")
    for fd in fds:
        os.close(fd)
    return kind, got[40:]


_, verdict, description = ask(DESCRIBE)
print("describe:", verdict, f'"name":"{NAME}"' in description)
if verdict == "closed":
    sys.exit(1)
print("policy: unknown key", unknown_key(json.dumps(json.loads(description)["policy"])))
ident = description.split('"id":"', 1)[1].split('"', 1)[0].encode()
for what, kind in ("join", JOIN), ("files", FILES):
    s, verdict, _ = ask(kind, ident)
    print(f"{what}: {verdict}")
    s.close()

# The words of a command: the policy, the program.
policy = description.split('"policy":', 1)[1]
depth = end = 0
for end, letter in enumerate(policy):
    depth += (letter == "{") - (letter == "}")
    if depth == 0:
        break
words = b"".join(word + b"\0" for word in (policy[:end + 1].encode(), b"sh", b"-c", b"exit 7"))
memory = os.memfd_create("words", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
os.write(memory, words)
fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)

s = connect()
send(s, HELLO)
kind, body = receive(s)
print("hello:", "refused" if struct.unpack_from("<I", body, 4)[0] else "answered")
send(s, START, struct.pack("<IIIIQQQHHI", 0, 3, 0, 0, len(words), 0, 0, 0, 0, 0), fds=[memory])
kind, body = receive(s)
failed, ident = struct.unpack_from("<I24s", body, 4)
print("start:", body[32 + 112:].split(b"\0")[0].decode() if failed else "answered")
send(s, RESULT, ident=ident)
receive(s)
kind, body = receive(s)
print("end:", kind == END, struct.unpack_from("<i", body, 4)[0])
send(s, LIST)
print("list:", receive(s)[0] == ANSWER)
s.close()
print("stop:", ask(STOP)[1])
