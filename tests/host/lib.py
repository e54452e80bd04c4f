"""What the suites of the execution host share: a host with settings of its own, and TAP."""
import http.client, json, os, signal, socket, subprocess, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../lib"))
import serving, tenant_documents
from serving import below, front, own_run_directory, state_of, work
from tap import ROOT, SLOW, WARDER, run_parts, skip, tell, until

if not ROOT:
    own_run_directory()


class Host(serving.Host):
    """A host with settings of its own, and requests as bytes."""

    def __init__(self, name, flags=(), more=None, tls=None, unix=None, **limits):
        """flags: more of `warder serve`; more: more settings; tls: an ssl context, if the host encrypts; unix: the path of a Unix socket."""
        self.tls, self.tenants = tls, []
        settings = os.path.join(work, name + ".json")
        with open(settings, "w") as file:
            json.dump(dict({"version": 1, "limits": limits}, **(more or {})), file)
        super().__init__(name, ["--config", settings, *flags], unix=unix)
        self.authority = "localhost" if unix else "127.0.0.1:%d" % self.port  # of the Host header

    def tenant(self, name, flags=(), **limits):
        """The token of a new tenant with these limits; flags: more of `warder tenant add`."""
        self.tenants.append(name)
        token = subprocess.run([WARDER, "tenant", "add", name, "--state", self.state, *flags], check=True, capture_output=True, text=True).stdout.strip()
        tenant_documents.change(self.state, name, limits)
        return token

    def connect(self, receives=0, name="localhost"):
        """receives: the bytes that the kernel takes from the host while the client does not read; 0: its default; name: of the host, if it encrypts."""
        one = socket.socket(socket.AF_UNIX if self.unix else socket.AF_INET)
        one.settimeout(30 * SLOW)
        if receives:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        one.connect(self.unix or ("127.0.0.1", self.port))
        return self.tls.wrap_socket(one, server_hostname=name) if self.tls else one

    def request(self, method, path, token="", body=b"", more=""):
        key = "" if token is None else "X-API-Key: %s\r\n" % token
        return ("%s %s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: %d\r\n%s\r\n" %
                (method, path, self.authority, key, len(body), more)).encode() + body

    def ask(self, method, path, token="", body=b"", more=""):
        """(status, JSON or bytes, headers)."""
        with self.connect() as one:
            one.sendall(self.request(method, path, token, json.dumps(body).encode() if isinstance(body, dict) else body, more))
            answer = http.client.HTTPResponse(one)
            answer.begin()
            data = answer.read()
        try:
            data = json.loads(data)
        except ValueError:
            pass
        return answer.status, data, answer.headers

    def restart(self):
        """The next launcher of the same state directory, after one that was killed."""
        self.process.wait()
        self.start()

    def end(self):
        for name in self.tenants:  # their sandboxes end with them
            subprocess.run([WARDER, "tenant", "revoke", name, "--state", self.state], capture_output=True)
        until(lambda: not os.listdir(os.path.join(self.state, "sandboxes")))
        self.process.terminate()
        try:
            self.process.wait(30 * SLOW)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def clear(self):
        if self.process and self.process.poll() is None:
            self.end()
        super().clear()


# ---- the front ----

def status_of(one):
    """Of the answer that comes on a connection, which is closed; None: none comes."""
    with one:
        try:
            answer = http.client.HTTPResponse(one)
            answer.begin()
            answer.read()
            return answer.status
        except (OSError, http.client.HTTPException):
            return None


def ask_at_once(host, requests):
    """The statuses of requests whose last bytes the front finds together, and by how many bytes its memory grew meanwhile."""
    def peak():
        with open("/proc/%d/status" % pid) as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM:"))
    pid = front(host)
    before = peak()
    ones = [host.connect() for _ in requests]
    for one, request in zip(ones, requests):
        one.sendall(request[:-1])
    time.sleep(1 * SLOW)
    os.kill(pid, signal.SIGSTOP)
    for one, request in zip(ones, requests):
        one.sendall(request[-1:])
    time.sleep(0.2 * SLOW)
    os.kill(pid, signal.SIGCONT)
    statuses = [status_of(one) for one in ones]
    return statuses, peak() - before if front(host) == pid else None


# ---- keepers ----

def sessions():
    """By their files, also those that a dead keeper has left."""
    try:
        return sorted({name[:-5] for name in os.listdir(sessions_directory())})
    except FileNotFoundError:  # the last session takes the directory with it
        return []


def keeper_of(sandbox):
    """By the lock of its session, which the keeper holds."""
    return serving.lock_holder(os.path.join(sessions_directory(), sandbox + ".lock"))


def sessions_directory():
    return "/run/warder/sessions" if os.geteuid() == 0 else os.path.join(os.environ["XDG_RUNTIME_DIR"], "warder", "sessions")


def words(pid):
    """Its command line."""
    try:
        with open("/proc/%d/cmdline" % pid, errors="replace") as file:  # other programs may have any bytes there
            return file.read().split("\0")
    except OSError:
        return []


def is_ours(pid):
    """Whether a process has the runtime directory of this suite."""
    try:
        if ROOT:
            return os.readlink("/proc/%d/ns/mnt" % pid) == os.readlink("/proc/self/ns/mnt")
        with open("/proc/%d/environ" % pid, "rb") as file:
            return b"XDG_RUNTIME_DIR=" + os.environ["XDG_RUNTIME_DIR"].encode() in file.read().split(b"\0")
    except OSError:
        return False


def parked_keepers():
    """The keepers of this suite without a session's name."""
    named = {keeper_of(name) for name in sessions()}
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if words(pid)[:3] == ["warder", "session", "keeper"] and pid not in named and is_ours(pid)]


def events(data):
    found = []
    for block in data.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "event" in fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found


def asking_for_socket(key="dGhlIHNhbXBsZSBub25jZQ=="):
    """The headers that ask for a WebSocket."""
    return "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n" % key


class Socket:
    """A WebSocket of a client, by hand."""

    def __init__(self, host, path, token, more="", **key):
        self.one = host.connect()
        self.one.settimeout(20 * SLOW)
        self.one.sendall(host.request("GET", path, token, more=asking_for_socket(**key) + more))
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            got = self.one.recv(65536)
            if not got:
                break
            self.rest += got
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        self.head = head.decode()
        self.status = int(self.head.split(" ")[1]) if " " in self.head else None
        self.text, self.ends = b"", []

    def send(self, opcode, payload, final=True):
        mask = os.urandom(4)
        length = bytes([128 | len(payload)]) if len(payload) < 126 else bytes([254]) + len(payload).to_bytes(2, "big") if len(payload) < 65536 else \
            bytes([255]) + len(payload).to_bytes(8, "big")
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.one.sendall(bytes([opcode | (128 if final else 0)]) + length + mask + masked)

    def frame(self):
        """(opcode, payload), or None at the end."""
        while True:
            if len(self.rest) >= 2:
                size, at = self.rest[1] & 127, 2
                if size > 125:
                    at = 4 if size == 126 else 10
                    size = int.from_bytes(self.rest[2:at], "big") if len(self.rest) >= at else 1 << 40
                if len(self.rest) >= at + size:
                    found = self.rest[0] & 15, self.rest[at:at + size]
                    self.rest = self.rest[at + size:]
                    return found
            try:
                got = self.one.recv(65536)
            except OSError:
                got = b""
            if not got:
                return None
            self.rest += got

    def until(self, word):
        """Take frames until the output has this word; False at the end."""
        while word not in self.text:
            found = self.frame()
            if found is None:
                return False
            if found[0] == 2:
                self.text += found[1]
            else:
                self.ends.append(found)
        return True

    def finish(self):
        """What the close frame says, and all text messages before."""
        while True:
            found = self.frame()
            if found is None or found[0] == 8:
                self.one.close()
                return int.from_bytes(found[1][:2], "big") if found else None
            self.ends.append(found)


def certificate(name, *hosts):
    """Paths of a new certificate for these hosts ("localhost"), and of its key."""
    hosts = hosts or ("localhost",)
    paths = os.path.join(work, name + ".crt"), os.path.join(work, name + ".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=" + hosts[0], "-addext",
                    "subjectAltName=" + ",".join("DNS:" + host for host in hosts), "-keyout", paths[1], "-out", paths[0]], check=True, capture_output=True)
    os.chmod(paths[1], 0o600)
    return paths
