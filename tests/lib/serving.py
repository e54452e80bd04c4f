"""An execution host of a suite's own, requests to it, and the suite's directory, which is removed at the end."""
import atexit, ctypes, http.client, json, os, shutil, signal, subprocess, sys, tempfile

from tap import ROOT, SLOW, WARDER

work = os.path.realpath(tempfile.mkdtemp(prefix="warder-suite-"))
hosts = []  # that have to be cleared
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # a suite that is ended clears up, too


@atexit.register
def clear():
    for host in hosts:
        host.clear()
    shutil.rmtree(work, ignore_errors=True)


def own_run_directory():
    """A directory for sessions of the suite's own: the runtime directory of an ordinary user, or /run/warder in a mount namespace."""
    if not ROOT:
        os.environ["XDG_RUNTIME_DIR"] = os.path.join(work, "rt")
        os.makedirs(os.environ["XDG_RUNTIME_DIR"], 0o700, exist_ok=True)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    os.makedirs("/run/warder", 0o700, exist_ok=True)
    if libc.unshare(0x20000) != 0 or libc.mount(b"none", b"/", None, 0x44000, None) != 0 or \
       libc.mount(b"none", b"/run/warder", b"tmpfs", 0, b"mode=700") != 0:
        sys.exit("cannot make a mount namespace: " + os.strerror(ctypes.get_errno()))


def write(name, content, mode=0o600):
    path = os.path.join(work, name)
    with open(path, "w") as file:
        file.write(content)
    os.chmod(path, mode)
    return path


def warder(*words, input=b"", env=None, timeout=60):
    """(exit status, standard output, text of standard error)."""
    done = subprocess.run([WARDER] + list(words), input=input, capture_output=True, timeout=timeout * SLOW, env=dict(os.environ, **(env or {})))
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def fetch(port, method, path, body=None, token=None, headers=None, timeout=60):
    """(status, bytes, headers). body: bytes, a text, or a value for JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout * SLOW)
    more = dict(headers or {})
    if token:
        more["X-API-Key"] = token
    connection.request(method, path, json.dumps(body) if body is not None and not isinstance(body, (bytes, str)) else body, more)
    found = connection.getresponse()
    data = found.read()
    connection.close()
    return found.status, data, found.headers


def ask(port, *words, **more):
    """The same with the JSON of the answer, if it is JSON."""
    status, data, headers = fetch(port, *words, **more)
    try:
        data = json.loads(data)
    except ValueError:
        pass
    return status, data, headers


class Host:
    """`warder serve --listen` on loopback, in a state directory of its own."""

    def __init__(self, name="state", flags=(), warder=WARDER, unix=None):
        """flags: more of `warder serve`; warder: another program; unix: the path of a Unix socket to listen at."""
        self.state = os.path.join(work, name)
        self.warder, self.flags, self.unix, self.port, self.process = warder, list(flags), unix, 0, None
        self.errors = open(self.state + ".log", "a+")
        hosts.append(self)
        self.start()

    def start(self):
        """Also again, at the same port, after its end."""
        self.process = subprocess.Popen([self.warder, "serve", "--listen", "unix:" + self.unix if self.unix else "127.0.0.1:%d" % self.port, "--state", self.state] + self.flags,
                                        stdout=subprocess.PIPE, stderr=self.errors, stdin=subprocess.DEVNULL)
        line = self.process.stdout.readline().decode()
        if not line.startswith("ready: "):
            raise RuntimeError("the host is not ready: " + open(self.errors.name).read()[-800:])
        self.url = line[7:].strip()
        if not self.unix:
            self.port = int(self.url.rsplit(":", 1)[1])

    def tenant(self, *words):
        """What `warder tenant` says: the token of a new one, for example."""
        done = subprocess.run([self.warder, "tenant"] + list(words) + ["--state", self.state], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else done.stderr.strip()

    def ask(self, method, path, *words, **more):
        """(status, JSON or bytes, headers)."""
        return ask(self.port, method, path, *words, **more)

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(30 * SLOW)

    def clear(self):
        """Also when a check has raised, no process of the host and no sandbox stays."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        sandboxes = os.path.join(self.state, "sandboxes")
        for name in os.listdir(sandboxes) if os.path.isdir(sandboxes) else ():
            subprocess.run([WARDER, "session", "stop", name[:-5]], capture_output=True)


# ---- processes ----

def state_of(pid):
    """The letter of its state; X if there is no such process any more."""
    try:
        with open("/proc/%d/stat" % pid, errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def handles(pid, number):
    """Whether a process catches a signal, or blocks it to read it elsewhere."""
    with open("/proc/%d/status" % pid, errors="replace") as file:
        sets = [int(line.split()[1], 16) for line in file if line.startswith(("SigCgt:", "SigBlk:"))]
    return any(one >> number - 1 & 1 for one in sets)


def lock_holder(path):
    """The pid of the process that has a lock of the file, as a keeper has; None: there is none. Suites that run at the same time have file systems
    of their own, in which files have the same numbers."""
    try:
        file = os.stat(path)
    except OSError:
        return None
    with open("/proc/locks") as locks:
        rows = [line.split() for line in locks]
    holders = {row[5]: int(row[4]) for row in rows if row[1] == "FLOCK"}
    exact = holders.get("%02x:%02x:%d" % (os.major(file.st_dev), os.minor(file.st_dev), file.st_ino))
    # A file of an overlay has the number of the file system below it.
    return exact or next((pid for name, pid in holders.items() if name.endswith(":%d" % file.st_ino)), None)


def parents():
    """pid -> (pid of its parent, name), of all processes."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name, errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        found[int(name)] = (int(text[text.rindex(")") + 2:].split()[1]), text[text.index("(") + 1:text.rindex(")")])
    return found


def below(pid):
    """pid -> name, of a process and all that descend from it."""
    table, found = parents(), {pid}
    while True:
        more = {one for one, (parent, _) in table.items() if parent in found} - found
        if not more:
            return {one: table[one][1] for one in found if one in table}
        found |= more


def front(host):
    """The pid of its front, or None."""
    return next((pid for pid, name in below(host.process.pid).items() if name == "warder-front"), None)
