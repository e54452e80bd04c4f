"""What the suites of the execution host share: a host with settings of its own, and TAP."""
import atexit, http.client, json, os, shutil, signal, socket, subprocess, sys, tempfile, threading, time

WARDER = os.path.realpath(os.environ.get("WARDER", "build/warder"))
SLOW = float(os.environ.get("WARDER_TEST_SLOW", "1"))
work = os.path.realpath(tempfile.mkdtemp(prefix="warder-host-"))
count = failed = 0
hosts = []
if os.geteuid() != 0:  # sessions of an ordinary user are in their runtime directory
    os.environ["XDG_RUNTIME_DIR"] = os.path.join(work, "rt")
    os.mkdir(os.environ["XDG_RUNTIME_DIR"], 0o700)


def tell(ok, name, why=""):
    global count, failed
    count += 1
    failed += not ok
    print(("ok" if ok else "not ok") + " %d - %s" % (count, name))
    if not ok:
        print("# " + str(why)[:1500].strip().replace("\n", "\n# "))
    sys.stdout.flush()


class Host:
    """A host with settings of its own, which ends with the suite."""

    def __init__(self, name, flags=(), more=None, tls=None, **limits):
        """flags: more of `warder serve`; more: more settings; tls: an ssl context, if the host encrypts."""
        self.tls = tls
        self.state = os.path.join(work, name)
        settings = os.path.join(work, name + ".json")
        with open(settings, "w") as file:
            json.dump(dict({"version": 1, "limits": limits}, **(more or {})), file)
        self.errors = open(os.path.join(work, name + ".log"), "w+")
        self.process = subprocess.Popen([WARDER, "serve", "--listen", "127.0.0.1:0", "--state", self.state, "--config", settings] + list(flags),
                                        stdout=subprocess.PIPE, stderr=self.errors, stdin=subprocess.DEVNULL)
        hosts.append(self)
        line = self.process.stdout.readline().decode()
        if not line.startswith("ready: "):
            raise RuntimeError("the host is not ready: " + open(self.errors.name).read())
        self.port = int(line.rsplit(":", 1)[1])
        self.tenants = []

    def tenant(self, name, flags=(), **limits):
        """The token of a new tenant with these limits; flags: more of `warder tenant add`."""
        self.tenants.append(name)
        token = subprocess.run([WARDER, "tenant", "add", name, "--state", self.state, *flags], check=True, capture_output=True, text=True).stdout.strip()
        path = os.path.join(self.state, "tenants", name + ".json")
        document = json.load(open(path))
        document["limits"].update(limits)
        with open(path + ".new", "w") as file:
            json.dump(document, file)
        os.rename(path + ".new", path)
        return token

    def connect(self):
        one = socket.create_connection(("127.0.0.1", self.port), 30 * SLOW)
        return self.tls.wrap_socket(one, server_hostname="localhost") if self.tls else one

    def request(self, method, path, token="", body=b"", more=""):
        return ("%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-API-Key: %s\r\nContent-Length: %d\r\n%s\r\n" %
                (method, path, self.port, token, len(body), more)).encode() + body

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
        self.process = subprocess.Popen([WARDER, "serve", "--listen", "127.0.0.1:%d" % self.port, "--state", self.state, "--config", self.state + ".json"],
                                        stdout=subprocess.PIPE, stderr=self.errors, stdin=subprocess.DEVNULL)
        if not self.process.stdout.readline().startswith(b"ready: "):
            raise RuntimeError("the host does not start again: " + open(self.errors.name).read()[-800:])

    def end(self):
        hosts.remove(self)
        for name in self.tenants:  # their sandboxes end with them
            subprocess.run([WARDER, "tenant", "revoke", name, "--state", self.state], capture_output=True)
        until(lambda: not os.listdir(os.path.join(self.state, "sandboxes")))
        self.process.terminate()
        try:
            self.process.wait(30 * SLOW)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def until(condition, seconds=60):
    end = time.time() + seconds * SLOW
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


@atexit.register
def clean():
    for host in list(hosts):
        host.end()
    shutil.rmtree(work, ignore_errors=True)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def run_parts(parts):
    """Call the parts, or those that the command line names, and end the program."""
    for part in parts:
        if not sys.argv[1:] or part.__name__ in sys.argv[1:]:
            part()
    print("1..%d" % count)
    sys.exit(failed > 0)
