"""session_count.py PLACE NAME: keeps the session NAME in the directory PLACE, which has no executions. Prints "here" when it can be asked, and at each
hello a line more."""
import fcntl, os, socket, struct, sys

place, name = sys.argv[1:]
MAGIC, VERSION, HELLO, ANSWER, NOT_FOUND = 0x58455257, 3, 1, 11, 8
os.chdir(place)  # the paths of sockets are short


def answer(s, kind, code):
    error = struct.pack("<Ii32s72s400s", code, 0, b"", b"", b"there is none")
    body = struct.pack("<II24s", kind, code != 0, b"") + error + bytes(48)
    s.send(struct.pack("<IHHII24s", MAGIC, VERSION, ANSWER, 0, len(body), b"") + body)


lock = os.open(name + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(name + ".sock")
listener.listen()
print("here", flush=True)
while True:
    with listener.accept()[0] as s:
        while data := s.recv(65536):
            kind = struct.unpack_from("<H", data, 6)[0]
            if kind == HELLO:
                print("hello", flush=True)
            answer(s, kind, 0 if kind == HELLO else NOT_FOUND)
