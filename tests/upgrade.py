#!/usr/bin/env python3
"""upgrade.py ROOT CONTROL PACKAGE... [-- OLDER...]: an execution host whose packages are upgraded while a sandbox lives; root. Exits with 1 and a
reason.

The packages are unpacked at ROOT already, and CONTROL has the scripts of warder-host. They are unpacked again, which puts new files in the place of
the old ones, as dpkg does. Around this, the scripts run as dpkg calls them, in a mount namespace with a /run of the test's own, with stand-ins
for the commands of systemd: what the scripts ask for is written down, and the test restarts the launcher, as the unit says.

With OLDER, these packages are unpacked first. They are built with OLD_PROTOCOLS (runtime/session/records.h): their programs speak the protocols of
the version before, and make databases of the schema before. Then a session and a database are upgraded, too, and all of it is downgraded.
"""
import ctypes, hashlib, json, os, signal, socket, sqlite3, struct, subprocess, sys, time, urllib.error, urllib.request

ROOT, CONTROL, *PACKAGES = sys.argv[1:]
ROOT, CONTROL = os.path.realpath(ROOT), os.path.realpath(CONTROL)
OLDER = PACKAGES[PACKAGES.index("--") + 1:] if "--" in PACKAGES else []
PACKAGES = PACKAGES[:len(PACKAGES) - len(OLDER) - 1] if OLDER else PACKAGES
WARDER = ROOT + "/usr/bin/warder"
STATE = ROOT + "/upgraded-state"
STORE = ROOT + "/upgraded-store"
DATABASE = STORE + "/checkpoints/checkpoints.db"
LOG = ROOT + "/systemd-asked"
SESSION = "upgraded"
SLOW = float(os.environ.get("WARDER_TEST_SLOW", "1"))
SLEEPER = "while [ ! -e /tmp/go ]; do sleep 0.1; done; echo survived; exit 5"
TOO_OLD = "was started by an older version of Warder, which cannot do that"


def must(ok, what, why=""):
    if not ok:
        raise SystemExit("%s: %s" % (what, why))


def until(true, what, seconds=60):
    end = time.monotonic() + seconds * SLOW
    while not true():
        must(time.monotonic() < end, what, "not within the time")
        time.sleep(0.05)


def own_run():
    """The scripts look for systemd below /run, and sessions of root are there."""
    libc = ctypes.CDLL(None, use_errno=True)
    must(libc.unshare(0x20000) == 0 and libc.mount(b"none", b"/", None, 0x44000, None) == 0 and
         libc.mount(b"none", b"/run", b"tmpfs", 0, b"mode=755") == 0, "a mount namespace", os.strerror(ctypes.get_errno()))
    os.makedirs("/run/systemd/system")


def stand_in():
    os.makedirs(ROOT + "/asked", exist_ok=True)
    for name in ("systemctl", "deb-systemd-invoke"):
        with open(ROOT + "/asked/" + name, "w") as file:
            file.write('#!/bin/sh\necho "%s $*" >>%s\n' % (name, LOG))
        os.chmod(ROOT + "/asked/" + name, 0o755)


def script(name, *words):
    open(LOG, "w").close()
    subprocess.run(["sh", CONTROL + "/" + name, *words], check=True, env=dict(os.environ, PATH="%s/asked:%s/usr/bin:%s" % (ROOT, ROOT, os.environ["PATH"])))
    return open(LOG).read().splitlines()


def unpack(packages):
    for package in packages:
        subprocess.run(["dpkg-deb", "-x", package, ROOT], check=True)


def warder(*words):
    """(exit code, standard output, standard error)"""
    ran = subprocess.run([WARDER, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120 * SLOW)
    return ran.returncode, ran.stdout, ran.stderr


def says(output, *words):
    ran = warder(*words)
    must(ran[0] == 0 and ran[1] == output, "warder " + " ".join(words), ran)


def refuses(why, *words):
    ran = warder(*words)
    must(ran[0] not in (0, -signal.SIGSEGV) and why in ran[2], "warder %s is refused" % " ".join(words), ran)


hosts = []


class Host:
    def __init__(self):
        self.process = subprocess.Popen([WARDER, "serve", "--listen", "127.0.0.1:0", "--state", STATE], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        hosts.append(self)
        line = self.process.stdout.readline()
        must(line.startswith("ready: "), "the host is not ready", line)
        self.url = line.split()[1]

    def fetch(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, None if body is None else json.dumps(body).encode(), {"X-API-Key": TOKEN}, method=method)
        with urllib.request.urlopen(request, timeout=60 * SLOW) as answer:
            return answer.read()

    def ask(self, *words):
        return json.loads(self.fetch(*words) or b"null")

    def refuses(self, status, why, method, path, body=None):
        try:
            must(False, "%s %s is refused" % (method, path), self.fetch(method, path, body))
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            must(error.code == status and why in text, "%s %s is refused" % (method, path), (error.code, text))

    def run(self, box, *argv):
        return self.wait(box, self.ask("POST", "/v1/sandboxes/%s/executions" % box, {"argv": argv})["id"])

    def wait(self, box, execution):
        return self.ask("GET", "/v1/sandboxes/%s/executions/%s?wait=1" % (box, execution))

    def begin(self):
        """A sandbox with a file and a program that waits: both ids."""
        box = self.ask("POST", "/v1/sandboxes", {"timeoutMs": 600000})["id"]
        self.run(box, "sh", "-c", "echo before >/tmp/kept")
        return box, self.ask("POST", "/v1/sandboxes/%s/executions" % box, {"argv": ["sh", "-c", SLEEPER]})["id"]

    def goes_on(self, box):
        """With the sandbox, after a launcher of another version."""
        must([one["id"] for one in self.ask("GET", "/v1/sandboxes")] == [box], "the new launcher adopts the sandbox", self.ask("GET", "/v1/sandboxes"))
        run = self.run(box, "cat", "/tmp/kept")
        must(run["exitCode"] == 0 and run["stdout"]["bytesTotal"] == len("before\n"), "a program of the new version runs in it", run)

    def end(self, box, waits):
        self.run(box, "touch", "/tmp/go")
        end = self.wait(box, waits)
        must(end["exitCode"] == 5 and end["stdout"]["bytesTotal"] == len("survived\n"), "the program of before ends, and has its result", end)
        self.ask("DELETE", "/v1/sandboxes/" + box)
        must(self.ask("GET", "/v1/sandboxes") == [], "the sandbox is deleted", self.ask("GET", "/v1/sandboxes"))

    def stop(self):
        """As KillMode=process: only the launcher gets the signal."""
        self.process.send_signal(signal.SIGTERM)
        must(self.process.wait(60 * SLOW) == 0, "the launcher ends", self.process.returncode)


def executables():
    """The program of each process that runs one of ours, as the kernel names it."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.append(os.readlink("/proc/%s/exe" % pid))
        except OSError:
            pass
    return [one for one in found if one.startswith(ROOT + "/usr/")]


def upgrade(host):
    """Returns the host by the new packages."""
    must(script("prerm", "upgrade", "2") == [], "before an upgrade, the package stops nothing", open(LOG).read())
    before = os.stat(WARDER).st_ino
    unpack(PACKAGES)
    must(os.stat(WARDER).st_ino != before, "the files are new ones")
    must(any(one.endswith(" (deleted)") for one in executables()), "the sandbox runs by the files of before", executables())
    asked = script("postinst", "configure", "1")
    must(asked == ["systemctl --system daemon-reload", "deb-systemd-invoke try-restart warder-host.service"], "after it, the service is restarted", asked)
    host.stop()
    host = Host()
    must(any(one == WARDER for one in executables()), "the new launcher is the new program", executables())
    return host


def check():
    host = Host()
    box, waits = host.begin()
    host = upgrade(host)
    host.goes_on(box)
    host.end(box, waits)
    host.stop()
    until(lambda: not executables(), "no process is left")


# ---- from a package of the version before ----

def answered(message):
    """What the keeper of the session answers to one message; b"" if it ends the connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as keeper:
        keeper.settimeout(60 * SLOW)
        keeper.connect("/run/warder/sessions/%s.sock" % SESSION)
        keeper.send(message)
        try:
            return keeper.recv(65536)
        except ConnectionResetError:
            return b""


def is_older():
    """The package is what the test says that it is: its keeper speaks the version before, and nothing later."""
    hello = lambda version, flags=0: struct.pack("<IHHII24s", 0x58455257, version, 1, flags, 0, b"")
    describe = lambda size: struct.pack("<III", 0x53445257, size, 1).ljust(size, b"\0")
    failed = lambda record: struct.unpack_from("<I", record, 44)[0]
    refused, taken = answered(hello(3)), answered(hello(2))
    must(struct.unpack_from("<H", refused, 4)[0] == 2 and failed(refused) == 1, "the older keeper refuses records of version 3", refused)
    must(struct.unpack_from("<H", taken, 4)[0] == 2 and failed(taken) == 0, "it takes those of version 2", taken)
    must(answered(hello(2, 128)) == b"" and answered(describe(64)) == b"" != answered(describe(48)), "it knows no later flag and no longer request")


def older_session():
    """Returns the execution that waits in it."""
    says("", "session", "start", SESSION)
    is_older()
    code, out, err = warder("session", "exec", SESSION, "--detach", "--", "sh", "-c", SLEEPER)
    must(code == 0, "the older version starts a program", (out, err))
    return out.strip()


def newer_clients(waits):
    """They speak with the older keeper, and say what it cannot do."""
    code, out, err = warder("session", "status", SESSION)
    must(code == 0 and SESSION in out, "the session is described", (out, err))
    code, out, err = warder("session", "exec", SESSION, "--detach", "--", "sh", "-c", "echo out; exit 3")
    must(code == 0 and warder("wait", out.strip())[0] == 3 and warder("logs", out.strip())[1] == "out\n", "a new program runs in it", (out, err))
    says("joined\n", "session", "exec", SESSION, "--", "sh", "-c", "touch /tmp/go; echo joined")
    must(warder("wait", waits)[0] == 5 and warder("logs", waits)[1] == "survived\n", "the program of before ends, and has its result", warder("ps"))
    refuses("--log: the keeper of session %s is of an older version of Warder and cannot do that; start the session again" % SESSION,
            "session", "exec", SESSION, "--detach", "--log", ROOT + "/log", "--", "true")
    must(warder("session", "stop", SESSION)[0] == 0, "the session ends")


def newer_host(host, box):
    path = "/v1/sandboxes/" + box
    host.refuses(503, "the sandbox " + TOO_OLD, "GET", path + "/files?path=/tmp/kept")
    host.refuses(503, "the sandbox " + TOO_OLD, "POST", path + "/code", {"code": "print(1)", "idempotencyKey": "k" * 16})
    host.refuses(503, TOO_OLD, "POST", path + "/snapshots", {"name": "none"})
    piece = host.ask("POST", path + "/code", {"code": "print(6 * 7)"})
    must(piece["stdout"]["text"] == "42\n", "code runs in the sandbox of before", piece)


def rows(path, query):
    database = sqlite3.connect(path)
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


def change(*statements):
    database = sqlite3.connect(DATABASE)
    for one in statements:
        database.execute(one)
    database.commit()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def version(path=None):
    return rows(path or DATABASE, "PRAGMA user_version")[0][0]


def columns():
    return [row[1] for row in rows(DATABASE, "PRAGMA table_info(checkpoint)")]


def older_database():
    must(warder("checkpoint", "limits", "--store", STORE)[0] == 0 and version() == 1, "the older version makes a database of its schema", version())
    change("INSERT INTO thread VALUES (1, 'talk', 2)",
           *("INSERT INTO checkpoint VALUES (1, %d, 'c%d', NULL, NULL, %d, '{}', 3, CAST('\"%d\"' AS BLOB))" % (n, n, time.time() * 1000, n) for n in (1, 2)))


def migrate():
    # The change has several statements. Of one that fails in the middle, nothing stays.
    change("ALTER TABLE checkpoint ADD COLUMN digest TEXT")
    before = columns()
    refuses("schema version 2", "checkpoint", "get", "c1", "--store", STORE)
    must(version() == 1 and columns() == before and len(rows(DATABASE, "SELECT * FROM checkpoint")) == 2,
         "a change that fails leaves the database as it was", (version(), columns()))
    change("ALTER TABLE checkpoint DROP COLUMN digest")

    says('"2"', "checkpoint", "latest", "talk", "--state", "--store", STORE)
    says("2 as they were put\n", "checkpoint", "verify", "--store", STORE)
    must(version() == 2 and "state_digest" in columns(), "the new version changes the schema", columns())
    must(version(DATABASE + ".v1") == 1 and rows(DATABASE + ".v1", "SELECT id, state FROM checkpoint ORDER BY id") == [("c1", b'"1"'), ("c2", b'"2"')],
         "before that, it makes a copy", rows(DATABASE + ".v1", "SELECT * FROM checkpoint"))


def content():
    """Of each file of the database."""
    return {name: hashlib.sha256(open(STORE + "/checkpoints/" + name, "rb").read()).hexdigest()
            for name in os.listdir(STORE + "/checkpoints") if not name.endswith(("-wal", "-shm"))}


def downgraded_database():
    change()
    before = content(), rows(DATABASE, "SELECT * FROM checkpoint")
    for words in (["limits"], ["list", "talk"], ["put", "talk"]):
        refuses("checkpoints.db has the schema version 2, and this version of Warder knows 1 at the most; use a newer one", "checkpoint", *words, "--store", STORE)
    must((content(), rows(DATABASE, "SELECT * FROM checkpoint")) == before, "a downgrade changes nothing", content())
    # As warder-checkpoint(1) says.
    for suffix in ("-wal", "-shm"):
        if os.path.exists(DATABASE + suffix):
            os.unlink(DATABASE + suffix)
    os.replace(DATABASE + ".v1", DATABASE)
    must(warder("checkpoint", "limits", "--store", STORE)[0] == 0 and version() == 1, "the older version goes on with the copy", version())


def check_older():
    os.mkdir(STORE, 0o700)
    older_database()
    session_waits = older_session()
    host = Host()
    box, waits = host.begin()

    host = upgrade(host)
    host.goes_on(box)
    newer_host(host, box)
    host.end(box, waits)
    newer_clients(session_waits)
    migrate()

    # The other way: an older launcher goes on with a newer sandbox, but not with a newer database.
    box, waits = host.begin()
    must(host.fetch("GET", "/v1/sandboxes/%s/files?path=/tmp/kept" % box) == b"before\n", "the new version reads a file of its sandbox")
    unpack(OLDER)
    downgraded_database()
    host.stop()
    host = Host()
    host.goes_on(box)
    host.end(box, waits)
    host.stop()
    until(lambda: not executables(), "no process is left")


own_run()
stand_in()
unpack(OLDER)
TOKEN = subprocess.run([WARDER, "tenant", "add", "upgraded", "--state", STATE], check=True, capture_output=True, text=True).stdout.strip()
try:
    check_older() if OLDER else check()
finally:
    for one in hosts:
        if one.process.poll() is None:
            one.process.terminate()
            one.process.wait()
    subprocess.run([WARDER, "serve", "--stop-all", "--state", STATE], capture_output=True)
    if OLDER:
        warder("session", "stop", SESSION)
