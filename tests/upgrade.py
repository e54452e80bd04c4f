#!/usr/bin/env python3
"""upgrade.py ROOT CONTROL PACKAGE...: an execution host whose packages are upgraded while a sandbox lives; root. Exits with 1 and a reason.

The packages are unpacked at ROOT already, and CONTROL has the scripts of warder-host. They are unpacked again, which puts new files in the place of
the old ones, as dpkg does. Around this, the scripts run as dpkg calls them, in a mount namespace with a /run of the test's own, with stand-ins
for the commands of systemd: what the scripts ask for is written down, and the test restarts the launcher, as the unit says.
"""
import ctypes, json, os, signal, subprocess, sys, time, urllib.request

ROOT, CONTROL, PACKAGES = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), sys.argv[3:]
WARDER = ROOT + "/usr/bin/warder"
STATE = ROOT + "/upgraded-state"
LOG = ROOT + "/systemd-asked"
SLOW = float(os.environ.get("WARDER_TEST_SLOW", "1"))
SLEEPER = "while [ ! -e /tmp/go ]; do sleep 0.1; done; echo survived; exit 5"


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


hosts = []


class Host:
    def __init__(self):
        self.process = subprocess.Popen([WARDER, "serve", "--listen", "127.0.0.1:0", "--state", STATE], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        hosts.append(self)
        line = self.process.stdout.readline()
        must(line.startswith("ready: "), "the host is not ready", line)
        self.url = line.split()[1]

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, None if body is None else json.dumps(body).encode(), {"X-API-Key": TOKEN}, method=method)
        with urllib.request.urlopen(request, timeout=60 * SLOW) as answer:
            return json.loads(answer.read() or b"null")

    def run(self, box, *argv):
        return self.wait(box, self.ask("POST", "/v1/sandboxes/%s/executions" % box, {"argv": argv})["id"])

    def wait(self, box, execution):
        return self.ask("GET", "/v1/sandboxes/%s/executions/%s?wait=1" % (box, execution))

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


def check(host):
    box = host.ask("POST", "/v1/sandboxes", {"timeoutMs": 600000})["id"]
    host.run(box, "sh", "-c", "echo before >/tmp/kept")
    waits = host.ask("POST", "/v1/sandboxes/%s/executions" % box, {"argv": ["sh", "-c", SLEEPER]})["id"]

    must(script("prerm", "upgrade", "2") == [], "before an upgrade, the package stops nothing", open(LOG).read())
    before = os.stat(WARDER).st_ino
    for package in PACKAGES:
        subprocess.run(["dpkg-deb", "-x", package, ROOT], check=True)
    must(os.stat(WARDER).st_ino != before, "the files are new ones")
    must(any(one.endswith(" (deleted)") for one in executables()), "the sandbox runs by the files of before", executables())
    asked = script("postinst", "configure", "1")
    must(asked == ["systemctl --system daemon-reload", "deb-systemd-invoke try-restart warder-host.service"], "after it, the service is restarted", asked)
    host.stop()
    host = Host()

    must(any(one == WARDER for one in executables()), "the new launcher is the new program", executables())
    must([one["id"] for one in host.ask("GET", "/v1/sandboxes")] == [box], "the new launcher adopts the sandbox", host.ask("GET", "/v1/sandboxes"))
    run = host.run(box, "cat", "/tmp/kept")
    must(run["exitCode"] == 0 and run["stdout"]["bytesTotal"] == len("before\n"), "a program of the new version runs in it", run)
    host.run(box, "touch", "/tmp/go")
    end = host.wait(box, waits)
    must(end["exitCode"] == 5 and end["stdout"]["bytesTotal"] == len("survived\n"), "the program of before ends, and has its result", end)
    host.ask("DELETE", "/v1/sandboxes/" + box)
    must(host.ask("GET", "/v1/sandboxes") == [], "the sandbox is deleted", host.ask("GET", "/v1/sandboxes"))
    host.stop()
    until(lambda: not executables(), "no process is left")


own_run()
stand_in()
TOKEN = subprocess.run([WARDER, "tenant", "add", "upgraded", "--state", STATE], check=True, capture_output=True, text=True).stdout.strip()
try:
    check(Host())
finally:
    for one in hosts:
        if one.process.poll() is None:
            one.process.terminate()
            one.process.wait()
    subprocess.run([WARDER, "serve", "--stop-all", "--state", STATE], capture_output=True)
