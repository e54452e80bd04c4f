#!/usr/bin/env python3
"""Containers of the OCI runtimes: what they show, what their receipt says against what is, runtimes that misbehave, and kills.

As root. A runtime that misbehaves is a program bound over /usr/bin/RUNTIME in a mount namespace of the test's own, so that nothing in
Warder knows of it: it hangs, vanishes, does nothing, prints, or edits the configuration before the real one reads it.
WARDER_CONTAINER_KILLS: how many runs are killed at random moments, of each runtime (10).
"""
import ctypes, json, os, random, re, shutil, signal, subprocess, sys, tempfile, time

LIB = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "lib")
sys.path.insert(0, LIB)
sys.dont_write_bytecode = True
import settings, terminal
from tap import SLOW, WARDER, finish, tell, until

PARENT = os.environ.get("WARDER_CGROUP_PARENT") or "warder-containers-%d" % os.getpid()
KILLS = int(os.environ.get("WARDER_CONTAINER_KILLS", "10"))
RUNTIMES = ["crun", "runc"]
# Not in /tmp, which a monitor covers.
work = os.path.realpath(tempfile.mkdtemp(prefix="warder-containers-", dir=next(p for p in ("/srv", "/run/lock") if os.access(p, os.W_OK))))


def command(backend, flags, argv):
    return [WARDER, "run", "--backend", backend, "--cgroup-parent", PARENT] + flags + ["--"] + argv


def plain(backend, flags, argv, **more):
    more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(command(backend, flags, argv), capture_output=True, timeout=120 * SLOW, **more)


def run(backend, flags, argv, **more):
    done = plain(backend, ["--json"] + flags, argv, **more)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"status": "broken", "error": {"message": done.stderr.decode(errors="replace")}}


def sh(text):
    return ["/bin/sh", "-c", text]


def text_of(result):
    return result.get("stdout", {}).get("text", "")


# ---- what is on the host ----

def cgroups():
    found = set()
    for top, directories, _ in os.walk("/sys/fs/cgroup"):
        found.update(os.path.join(top, d) for d in directories)
    return found


def processes(mark):
    """Those that have the mark in their command line or are a runtime's or a monitor's of a run with it."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                line = f.read()
            with open("/proc/%s/environ" % pid, "rb") as f:
                environment = f.read()
        except OSError:
            continue
        if int(pid) != os.getpid() and (mark.encode() in line or b"WARDER_MARK=" + mark.encode() in environment):
            found.append(int(pid))
    return found


def descendants(pid):
    children, found = {}, []
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % other, errors="replace") as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
        children.setdefault(parent, []).append(int(other))
    todo = [pid]
    while todo:
        for child in children.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found


def mounts():
    """Those that a container of ours could have left; others on this host may mount what they like."""
    with open("/proc/self/mountinfo") as f:
        return [line for line in f if work in line or re.search(r" - tmpfs (warder|scratch) | /tmp/(root|bind|scratch|ns-)", line)]


def now_ticks():
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def alive_in(inodes, before):
    """Whether somebody who was there before is still in one of these namespaces. Their numbers are given to others later."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid, errors="replace") as f:
                begun = int(f.read().rsplit(")", 1)[1].split()[19])
            if os.stat("/proc/%s/ns/pid" % pid).st_ino in inodes and begun <= before:
                return True
        except (OSError, IndexError):
            continue
    return False


def leaves():
    return [d for d in cgroups() if "/" + PARENT + "/" in d]


def clean():
    done = subprocess.run([WARDER, "doctor", "--clean", "--cgroup-parent", PARENT], capture_output=True, timeout=60 * SLOW)
    return done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")


# ---- an ordinary run ----

# How many children it may have, of forty.
FORKS = """
import os, time
n = 0
try:
    while n < 40:
        if os.fork() == 0:
            time.sleep(100)
            os._exit(0)
        n += 1
except OSError:
    pass
print(n)
"""


def ordinary(runtime):
    result = run(runtime, [], sh("cat /proc/self/cgroup; hostname"))
    lines = text_of(result).split()
    shown = [line.split(":", 2)[2] for line in lines if re.match(r"\d+:.*:", line)]
    tell(shown and all(path == "/" for path in shown), "%s: /proc/self/cgroup shows no name" % runtime, text_of(result) or result)
    tell(lines[-1:] == ["warder"], "%s: the host's name is Warder's" % runtime, lines)
    for code in (0, 1, 42, 255):
        done = plain(runtime, [], sh("exit %d" % code))
        tell(done.returncode == code, "%s: exit status %d" % (runtime, code), (done.returncode, done.stderr))
    done = plain(runtime, [], sh("kill -USR1 $$"))
    tell(done.returncode == 128 + signal.SIGUSR1, "%s: a signal is 128 + its number" % runtime, (done.returncode, done.stderr))
    every = bytes(range(256)) * 4096
    done = plain(runtime, [], ["cat"], input=every, stdin=None)
    tell(done.stdout == every, "%s: a megabyte through standard input and output" % runtime, (len(done.stdout), done.stderr))
    done = plain(runtime, [], ["cat"])
    tell(done.returncode == 0 and not done.stdout, "%s: no standard input is its end" % runtime, done)
    result = run(runtime, ["--timeout", "1s"], sh("echo before; trap '' TERM; (sleep 100 &) ; sleep 100"))
    tell(result.get("cause") == "wallTime" and text_of(result) == "before\n", "%s: wall time, and what was said before" % runtime, result)
    result = run(runtime, ["--memory", "64MiB"], ["python3", "-c", "x = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): x[i] = 1"])
    tell(result.get("cause") == "memory", "%s: memory" % runtime, result)
    result = run(runtime, ["--pids", "16"], ["python3", "-c", FORKS])
    tell(text_of(result) in ["%d\n" % n for n in range(8, 16)] and "pids" in result.get("limitsHit", []), "%s: pids" % runtime, result)
    result = run(runtime, ["--cpu-time", "500ms", "--timeout", "60s"], sh("while :; do :; done"))
    tell(result.get("cause") == "cpuTime", "%s: CPU time" % runtime, result)
    done = plain(runtime, [], sh("head -c 67108864 /dev/zero; echo done >&2"))
    tell(len(done.stdout) == 1 << 26 and b"done" in done.stderr, "%s: 64 MiB of output passed through" % runtime, (len(done.stdout), done.stderr))
    mark = "61.%d" % random.randrange(10 ** 9)
    with subprocess.Popen(command(runtime, [], sh("echo up; exec sleep " + mark)), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        started.stdout.readline()
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=60 * SLOW)
        tell(started.returncode not in (0, None) and not processes(mark), "%s: cancelled by a signal" % runtime, started.returncode)


def untouched(runtime):
    """While a container runs there is nothing new on the host but the run's own cgroups."""
    before, table = cgroups(), mounts()
    with subprocess.Popen(command(runtime, [], sh("echo up; cat")), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        started.stdout.readline()
        # Of other runs on this host there may be new ones at any time.
        leaf = {os.path.basename(d) for d in leaves()}
        new = [d for d in cgroups() - before if not re.search(r"/%s(/warder-[0-9-]+)?$" % re.escape(PARENT), d)
               and (PARENT in d or not re.match(r"warder-[0-9]", os.path.basename(d)) and "/warder-containers-" not in d
                    and any(name in d for name in leaf | {"/warder", "crun", "runc", "oci"}))]
        tell(len(leaf) == 1, "%s: the run has cgroups of one name" % runtime, leaf)
        tell(not new, "%s: no cgroup but those of the run" % runtime, "\n".join(sorted(new)))
        tell(mounts() == table, "%s: no mount on the host" % runtime)
        started.communicate(timeout=60 * SLOW)
    tell(not leaves(), "%s: and none afterwards" % runtime, leaves())


def sealed(runtime):
    """A runtime can change no setting of the host, and is not in its network."""
    shutil.copy(LIB + "/settings.py", work)
    ours = len(settings.writable())
    look = ("if stage == 'run':\n    sys.path.insert(0, %r)\n    sys.dont_write_bytecode = True\n    import settings\n    found = settings.writable()\n"
            "    print('writable %%d:' %% len(found), *found[:3], os.readlink('/proc/self/ns/net'), file=open(sys.argv[sys.argv.index('--log') + 1], 'w'))\n    sys.exit(1)" % work)
    for network in ("none", "loopback"):
        result = misbehaving(runtime, look, ["--net", network])
        message = result.get("error", {}).get("message", "")
        tell(ours > 500 and "writable 0: net:" in message, "%s: nothing of the host's /proc and /sys can be written to by a runtime (%s)" % (runtime, network),
             "%s; here %d can" % (result, ours))
        tell("net:" in message and os.readlink("/proc/self/ns/net") not in message, "%s: a runtime is not in the host's network (%s)" % (runtime, network), message)
        # One that tries; of a network namespace of the test, should it get through.
        with with_fake(runtime, "try: open('/proc/sys/net/ipv4/ip_forward', 'w').write('1')\nexcept OSError: pass",
                       [sys.executable, LIB + "/settings.py"] + command(runtime, ["--net", network], ["/bin/echo", "ran"]),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
            said = started.communicate(timeout=120 * SLOW)
        tell(said[0] == b"ran\n{}\n", "%s: all settings of the host are afterwards as before (%s)" % (runtime, network), said)


def frozen(runtime):
    """Warder itself writes no setting of the host for a container."""
    script = 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh"] + command(runtime, [], ["/bin/echo", "ran"]), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=120 * SLOW)
    tell(done.stdout == b"ran\n", "%s: a container where /proc/sys is read-only" % runtime, done)


def overlays(runtime):
    root, job = os.path.join(work, "image"), os.path.join(work, "job")
    store = {"WARDER_STORE": os.path.join(work, "store"), "PATH": os.environ["PATH"]}
    if not os.path.exists(root):
        os.makedirs(root + "/bin")
        os.makedirs(root + "/etc")
        shutil.copy("/bin/busybox", root + "/bin/busybox")
        open(root + "/etc/motd", "w").write("hello\n")
        os.makedirs(job)
        open(job + "/old", "w").write("old\n")
        done = subprocess.run([os.path.join(os.path.dirname(WARDER), "warder-store"), "image", "import", root, "containers"],
                              capture_output=True, env=store)
        tell(done.returncode == 0, "an image is imported", done.stderr.decode())
    result = run(runtime, ["--view", "image:containers"], ["/bin/busybox", "cat", "/etc/motd"], env=store)
    row = [r for r in result.get("receipt", {}).get("controls", []) if r["control"] == "filesystem.view.image"]
    tell(text_of(result) == "hello\n" and row and row[0]["status"] == "enforced" and "sha256:" in row[0]["value"],
         "%s: view image, and its digest in the receipt" % runtime, result)
    done = plain(runtime, ["--dry-run", job], sh("rm old; echo new > new"), env=store)
    tell(sorted(os.listdir(job)) == ["old"] and b"D old" in done.stderr + done.stdout and b"A new" in done.stderr + done.stdout,
         "%s: a dry run tells the changes, and the directory is as it was" % runtime, done)
    result = run(runtime, ["--view", "image:containers", "--tmp", "1MiB", "--workspace", job + ":overlay"],
                 ["/bin/busybox", "dd", "if=/dev/zero", "of=/workspace/big", "bs=1M", "count=8"], env=store)
    tell(result.get("exitCode") == 1 and "space" in result.get("stderr", {}).get("text", ""),
         "%s: the upper layer is bounded by filesystem.tmp" % runtime, result)


def terminals(runtime):
    terminal.check(tell, runtime, lambda flags, argv: command(runtime, flags, argv), SLOW)


# ---- the receipt ----

LOOK = r"""
import ctypes, os, json, resource, time
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
s = os.statvfs("/tmp")
def routes():
    return len(open("/proc/net/route").readlines()) - 1
def oom():
    try:
        return open("/proc/self/oom_score_adj", "w").write("1000")
    except OSError as e:
        return e.strerror
print(json.dumps({
    "uid_map": open("/proc/self/uid_map").read().split(), "caps": [status[k].strip() for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")],
    "nnp": status["NoNewPrivs"].strip(), "seccomp": status["Seccomp"].strip(), "filters": status.get("Seccomp_filters", "").strip(),
    "tmp": s.f_blocks * s.f_frsize, "files": resource.getrlimit(resource.RLIMIT_NOFILE)[1], "size": resource.getrlimit(resource.RLIMIT_FSIZE)[1],
    "interfaces": sorted(os.listdir("/sys/class/net")) if os.path.isdir("/sys/class/net") else [l.split(":")[0].strip() for l in open("/proc/net/dev").readlines()[2:]],
    "routes": routes(), "cwd": os.getcwd(), "ns": {n: os.stat("/proc/self/ns/" + n).st_ino for n in ("mnt", "pid", "net", "ipc", "uts", "user", "cgroup", "time") if os.path.exists("/proc/self/ns/" + n)},
    "secure": ctypes.CDLL(None).prctl(27, 0, 0, 0, 0), "uptime": float(open("/proc/uptime").read().split()[0]), "clock": time.monotonic(),
    "proc": [line.split()[5] for line in open("/proc/self/mountinfo") if line.split()[4] == "/proc"], "oom": oom(),
    "lo": "127.0.0.1" in open("/proc/net/fib_trie").read(),
}))
"""


def receipts(runtime):
    """Each row against what the program itself sees."""
    flags = ["--tmp", "8MiB", "--set", "limits.openFiles=77", "--set", "limits.fileSize=3MiB", "--cwd", "/usr", "--net", "none", "--memory", "128MiB"]
    result = run(runtime, flags, ["python3", "-c", LOOK])
    try:
        seen = json.loads(text_of(result))
    except ValueError:
        tell(False, "%s: a program looks at itself" % runtime, result)
        return
    receipt = result["receipt"]
    rows = {r["control"]: r for r in receipt["controls"]}
    layers = {r["control"]: r for r in receipt.get("hardening", [])}

    def row(name, ok):
        value = (rows.get(name) or layers.get(name) or {}).get("value", "no row")
        tell(ok(value), "%s: receipt: %s is as the program sees it" % (runtime, name), "%s / %s" % (value, seen))

    row("filesystem.tmp", lambda v: v.startswith("%d bytes" % seen["tmp"]))
    row("limits.openFiles", lambda v: v == str(seen["files"]) == "77")
    row("limits.fileSize", lambda v: v == str(seen["size"]))
    row("network.none", lambda v: "lo down" in v and not seen["lo"] and seen["interfaces"] == ["lo"] and seen["routes"] <= 0)
    row("workingDirectory", lambda v: v == seen["cwd"] == "/usr")
    row("syscalls", lambda v: seen["seccomp"] == "2" and (not seen["filters"] or "%s filter" % seen["filters"] in v))
    row("capabilities", lambda v: v == "0" and set(seen["caps"]) == {"0" * 16})
    row("noNewPrivileges", lambda v: v == seen["nnp"] == "1")
    row("limits.memory", lambda v: v == str(128 << 20))
    row("processes.identity", lambda v: all(n in v for n in (seen["uid_map"][2],)) and seen["uid_map"][0] == "0")
    own = {n: os.stat("/proc/self/ns/" + n).st_ino for n in seen["ns"]}
    row("secureBits", lambda v: "locked" in v and seen["secure"] == 0xef)
    tell(len(seen["proc"]) == 1 and "ro" in seen["proc"][0].split(",") and "ead-only" in str(seen["oom"]), "%s: /proc is read-only" % runtime, seen)
    tell("time" not in own or 0 < seen["uptime"] < 60 * SLOW and 0 < seen["clock"] < 60 * SLOW, "%s: clocks that begin with the run" % runtime, seen)
    row("namespaces", lambda v: all((own[n] != seen["ns"][n]) and n in v.split("; host")[0] for n in own))
    tell(receipt.get("isolation") == "containerEphemeral", "%s: receipt: isolation" % runtime, receipt.get("isolation"))
    result = run(runtime, ["--net", "loopback"], ["python3", "-c", LOOK])
    value = [r["value"] for r in result["receipt"]["controls"] if r["control"] == "network.loopback"]
    tell(json.loads(text_of(result))["lo"] and value and "lo up" in value[0], "%s: receipt: network.loopback is as the program sees it" % runtime, result)
    result = run(runtime, ["--allow", "example.org:443"], sh("cat /etc/resolv.conf; grep -c 198.18.0.1 /proc/net/fib_trie; cat /proc/net/protocols"))
    value = [r["value"] for r in result["receipt"]["controls"] if r["control"] == "network.allow"]
    tell(re.match(r"nameserver 198\.18\.0\.1\n[^\n]*\n[1-9]\d*\n$", text_of(result)) and value and "lo with 198.18.0.1" in value[0] and "1 listeners" in value[0],
         "%s: receipt: network.allow is as the program sees it" % runtime, result)


# ---- runtimes that misbehave ----

FAKE = r"""#!/usr/bin/python3
import json, os, subprocess, sys, time
real, stage = %(real)r, "run" if "run" in sys.argv else "other"
def go():
    os.execv(real, [real] + sys.argv[1:])
def create():
    args = sys.argv[1:]
    at = args.index("run")
    return args[:at] + ["create"] + args[at + 2:]
def edit(change):
    if stage == "run":
        with open("/tmp/config.json") as f:
            config = json.load(f)
        change(config)
        with open("/tmp/config.json", "w") as f:
            json.dump(config, f)
    go()
def without(kind):
    def change(c):
        c["linux"]["namespaces"] = [n for n in c["linux"]["namespaces"] if n["type"] != kind]
    edit(change)
def put(path, value):
    def change(c):
        at = c
        for key in path[:-1]:
            at = at[key]
        if value is None:
            at.pop(path[-1], None)
        else:
            at[path[-1]] = value
    edit(change)
def options(target, drop):
    def change(c):
        for mount in c["mounts"]:
            if mount["destination"] == target:
                mount["options"] = [o for o in mount["options"] if o not in drop]
    edit(change)
def mount(more):
    edit(lambda c: c["mounts"].append(more))
def link(name, target):
    if stage == "run":
        if os.path.isdir("/tmp/root/" + name):
            os.rmdir("/tmp/root/" + name)
        os.symlink(target, "/tmp/root/" + name)
    go()
%(body)s
go()
"""

STAND_IN = r"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x20000) == 0 and libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None) == 0
assert libc.mount(sys.argv[1].encode(), sys.argv[2].encode(), None, 0x1000, None) == 0
os.execv(sys.argv[3], sys.argv[3:])
"""


def with_fake(runtime, body, argv, **more):
    """Start a command where the runtime is another program."""
    target = os.path.realpath(shutil.which(runtime, path="/usr/bin:/usr/sbin:/bin:/sbin"))
    real = os.path.join(work, "real-" + runtime)
    if not os.path.exists(real):
        shutil.copy(target, real)
    fd, fake = tempfile.mkstemp(prefix="fake-", dir=work)
    with os.fdopen(fd, "w") as f:
        f.write(FAKE % {"real": real, "body": body})
    os.chmod(fake, 0o755)
    return subprocess.Popen([sys.executable, "-c", STAND_IN, fake, target] + argv, **more)


def misbehaving(runtime, body, flags=(), argv=("/bin/sh", "-c", "echo ran")):
    with with_fake(runtime, body, command(runtime, ["--json"] + list(flags), list(argv)), stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        out, err = started.communicate(timeout=200 * SLOW)
    try:
        return json.loads(out)
    except ValueError:
        return {"status": "broken", "error": {"message": err.decode(errors="replace") + out.decode(errors="replace")}}


def refused(runtime, name, body, flags=(), text=""):
    result = misbehaving(runtime, body, flags)
    message = result.get("error", {}).get("message", "") if isinstance(result.get("error"), dict) else ""
    tell(result["status"] == "rejected" and "ran" not in text_of(result) and re.search(text, message),
         "%s: a runtime that %s: refused" % (runtime, name), result)
    if os.environ.get("VERBOSE"):
        print("# " + message)


def taken(runtime, name, body, holds, flags=(), argv=("/bin/sh", "-c", "echo ran")):
    """What changes nothing that is claimed may run."""
    result = misbehaving(runtime, body, flags, argv)
    tell(result["status"] != "broken" and holds(result), "%s: a runtime that %s: %s" % (runtime, name, "nothing is claimed that is not so"), result)


def liars(runtime):
    taken(runtime, "is another program in between", "go()", lambda r: text_of(r) == "ran\n")
    refused(runtime, "exits 0 and does nothing", "sys.exit(0)", text='no process')
    refused(runtime, "fails with a word", "print('boom', file=open(sys.argv[sys.argv.index('--log') + 1], 'w')); sys.exit(1)", text="boom")
    refused(runtime, "is killed", "os.kill(os.getpid(), 9)", text='run failed \\(signal 9')
    refused(runtime, "prints into the program's output", "os.write(1, b'ran\\n' * 100)", text='output')
    refused(runtime, "prints garbage as its log", "open(sys.argv[sys.argv.index('--log') + 1], 'wb').write(os.urandom(100000)); sys.exit(1)", text='run failed \\(exit status 1')
    refused(runtime, "names a pid that is none", "if stage == 'run': open('/tmp/pid', 'w').write('999999999999')\nif stage == 'run': sys.exit(0)", text='.')
    refused(runtime, "names another process", "if stage == 'run': open('/tmp/pid', 'w').write('1'); sys.exit(0)", text='.')
    refused(runtime, "drops the filter", "put(['linux', 'seccomp'], None)", text="filter")
    refused(runtime, "drops the masks", "put(['linux', 'maskedPaths'], [])", text="covered")
    refused(runtime, "drops the read-only paths", "put(['linux', 'readonlyPaths'], [])", text="covered")
    refused(runtime, "leaves the root writable", "put(['root', 'readonly'], False)", text="\"ro\"")
    # The host's it cannot share: it is in the run's own.
    taken(runtime, "shares the network", "without('network')", lambda r: text_of(r).startswith("net:[") and os.readlink("/proc/self/ns/net") not in text_of(r),
          argv=("/bin/sh", "-c", "readlink /proc/self/ns/net"))
    refused(runtime, "shares the network, and should have made one", "without('network')", flags=["--net", "loopback"], text='read-back')
    refused(runtime, "shares the network, and an edge is to connect for it", "without('network')", flags=["--allow", "example.org:443"], text='read-back')
    refused(runtime, "covers the host's authorities", "edit(lambda c: c['mounts'].append({'destination': '/etc/ssl/certs/ca-certificates.crt', 'type': 'bind', 'source': '/etc/hostname',"
            " 'options': ['bind', 'rprivate', 'ro', 'nosuid', 'nodev', 'noexec']}))",
            flags=["--allow", "example.org:443"], text='read-back.*/etc/ssl')
    refused(runtime, "shares the ipc namespace", "without('ipc')", text='read-back')
    refused(runtime, "shares the host's name", "without('uts')", text='.')
    refused(runtime, "shares the cgroup namespace", "without('cgroup')", text='read-back')
    refused(runtime, "maps other ids", "put(['linux', 'uidMappings'], [{'containerID': 0, 'hostID': 700000, 'size': 65536}])", text='.')
    refused(runtime, "maps fewer ids", "edit(lambda c: c['linux']['gidMappings'][0].update(size=2000))", text='.')
    refused(runtime, "starts it as another user", "put(['process', 'user'], {'uid': 7, 'gid': 7})", text='read-back')
    refused(runtime, "names the host otherwise", "put(['hostname'], 'other')", text='hostname')
    refused(runtime, "drops /tmp's own mount", "edit(lambda c: c.update(mounts=[m for m in c['mounts'] if m['destination'] != '/tmp']))", text='.')
    refused(runtime, "gives /tmp another size", "edit(lambda c: [m.update(type='tmpfs', source='tmpfs', options=['nosuid', 'nodev']) for m in c['mounts'] if m['destination'] == '/tmp'])", text='.')
    refused(runtime, "shows another directory", "mount({'destination': '/usr/local', 'type': 'bind', 'source': '/etc', 'options': ['rbind', 'ro', 'nosuid', 'nodev']})", text='read-back.* /usr/local ')
    refused(runtime, "shows another directory in the place of one", "edit(lambda c: [m.update(source='/etc') for m in c['mounts'] if m['destination'] == '/usr'])", text='read-back')
    # What init and payload drop by themselves, and what the monitor has set before, is so whatever the runtime does.
    taken(runtime, "leaves capabilities", "edit(lambda c: c['process']['capabilities'].update({k: ['CAP_SYS_ADMIN'] for k in c['process']['capabilities']}))",
          lambda r: r["status"] == "rejected" or text_of(r).strip() == "0000000000000000", argv=("/bin/sh", "-c", "sed -n 's/CapBnd:.//p' /proc/self/status"))
    taken(runtime, "drops noNewPrivileges", "put(['process', 'noNewPrivileges'], False)",
          lambda r: r["status"] == "rejected" or text_of(r).strip() == "1", argv=("/bin/sh", "-c", "sed -n 's/NoNewPrivs:.//p' /proc/self/status"))
    taken(runtime, "drops flags of a bind", "options('/usr', ['ro', 'nosuid', 'nodev'])",
          lambda r: r["status"] == "rejected" or text_of(r) == "kept\n", argv=("/bin/sh", "-c", "grep ' /usr ' /proc/self/mountinfo | grep -q 'ro,nosuid,nodev' && echo kept"))
    # Links that lead out, where the runtime or the monitor mounts, and where nobody does; outside is a file of the host.
    outside = os.path.join(work, "outside")
    os.makedirs(outside, exist_ok=True)
    with open(outside + "/marker", "w") as f:
        f.write("the host's\n")
    for way, target in (("an absolute link", outside), ("a climbing link", "../" * 12 + outside[1:])):
        for place in ("usr", "tmp", "proc"):
            refused(runtime, "finds %s in the place of /%s" % (way, place), "link(%r, %r)" % (place, target), text="run failed")
        taken(runtime, "finds %s in the root" % way, "link('planted', %r)" % target,
              lambda r: text_of(r) == "none\n", argv=("/bin/sh", "-c", "cat /planted/marker || echo none"))
    for place in ("usr", "tmp"):
        refused(runtime, "mounts elsewhere what is for /%s" % place, "link(%r, '/etc')" % place, text="read-back.* /etc ")
    tell(os.listdir(outside) == ["marker"] and open(outside + "/marker").read() == "the host's\n", "%s: and what they lead to is as before" % runtime, os.listdir(outside))


STAGES = {
    "before it has begun": "time.sleep(1000)",
    "when it has created, not started": "subprocess.run([real] + create(), close_fds=False); time.sleep(1000)",
}


def hanging():
    """All at the same time, because each takes as long as the supervisor's patience."""
    started = {}
    for runtime in RUNTIMES:
        for stage, body in list(STAGES.items()) + [("as a container that it says is started", "subprocess.run([real] + create(), close_fds=False); sys.exit(0)")]:
            started[runtime, stage] = with_fake(runtime, body, command(runtime, [], ["/bin/true"]),
                                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    for (runtime, stage), process in started.items():
        _, err = process.communicate(timeout=200 * SLOW)
        tell(process.returncode == 125 and re.search(rb"run failed .signal 9|did not answer", err), "%s: a runtime that hangs %s: refused" % (runtime, stage), (process.returncode, err))
    tell(until(lambda: not leaves()), "and nothing is left of them", leaves())


# ---- kills ----

def spawned(runtime, mark, body=None):
    environment = dict(os.environ, WARDER_MARK=mark)
    argv = command(runtime, ["--timeout", "100s"], sh("echo up; exec sleep " + mark))
    if body is not None:
        return with_fake(runtime, body, argv, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return subprocess.Popen(argv, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def comm(pid):
    try:
        with open("/proc/%d/comm" % pid) as f:
            return f.read().strip()
    except OSError:
        return ""


def spaces(pids):
    found = set()
    for pid in pids:
        try:
            found.add(os.stat("/proc/%d/ns/pid" % pid).st_ino)
        except OSError:
            pass
    return found - {os.stat("/proc/self/ns/pid").st_ino}


def gone(mark, inodes, before):
    """No process of the run, and nobody in its pid namespaces."""
    return not processes(mark) and not alive_in(inodes, before)


def kill_both(started):
    """Supervisor and monitor at once. What was alive then, for the look afterwards."""
    os.kill(started.pid, signal.SIGSTOP)
    family = descendants(started.pid)
    inodes = spaces(family)
    kill([started.pid] + [pid for pid in family if comm(pid) == "warder-monitor" or comm(pid) == "warder"])
    started.stdout.close()
    started.wait()
    return inodes


def kills(runtime):
    left = []
    for i in range(KILLS):
        mark = "62.%d" % random.randrange(10 ** 9)
        started = spawned(runtime, mark)
        time.sleep(random.random() * 0.3 * SLOW)
        inodes = kill_both(started)
        before = now_ticks()
        if not until(lambda: gone(mark, inodes, before)):
            left.append("%s: %s" % (mark, processes(mark)))
            kill(processes(mark))
    tell(not left, "%s: supervisor and monitor killed at %d random moments: no process is left" % (runtime, KILLS), "\n".join(left))
    said = clean()
    tell(not leaves(), "%s: doctor --clean removes the cgroups" % runtime, said + "\n".join(leaves()))


def line_of(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return f.read()
    except OSError:
        return b""


def kills_at(runtime):
    for stage, body in STAGES.items():
        mark = "63.%d" % random.randrange(10 ** 9)
        started = spawned(runtime, mark, body)
        ready = until(lambda: any(b"python3" in line and b"\0run\0" in line for line in map(line_of, descendants(started.pid))))
        time.sleep(SLOW)
        inodes = kill_both(started)
        before = now_ticks()
        ok = ready and inodes and until(lambda: gone(mark, inodes, before))
        tell(ok, "%s: both killed %s: nothing of it lives" % (runtime, stage), (ready, inodes, [(p, comm(p)) for p in processes(mark)]))
        kill(processes(mark))
    for who in ("monitor", "supervisor"):
        mark = "64.%d" % random.randrange(10 ** 9)
        started = spawned(runtime, mark)
        up = started.stdout.readline() == b"up\n"
        family = descendants(started.pid)
        inodes = spaces(family)
        monitors = [pid for pid in family if comm(pid) == "warder-monitor"]
        kill(monitors if who == "monitor" else [started.pid])
        code = started.wait(timeout=60 * SLOW)
        started.stdout.close()
        before = now_ticks()
        ok = up and len(monitors) == 1 and code != 0 and until(lambda: gone(mark, inodes, before))
        tell(ok, "%s: the %s is killed in the middle of the run: nothing of it lives" % (runtime, who), (up, monitors, code, processes(mark)))
    # The next run takes away what is left of the dead.
    plain(runtime, [], ["/bin/true"])
    tell(until(lambda: not leaves()), "%s: the next run removes their cgroups" % runtime, leaves())


INSTEAD = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x20000) == 0 and libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None) == 0
assert libc.mount(sys.argv[1].encode(), b"/usr/local/sbin", None, 0x1000, None) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""


def gvisor():
    """It is never driven: with or without a program of that name."""
    if not any(os.path.exists(os.path.join(d, "runsc")) for d in ("/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin", "/sbin")):
        done = plain("runsc", [], ["/bin/true"])
        tell(done.returncode == 125 and b"there is no runsc" in done.stderr, "runsc: refused where there is none", done)
    place = os.path.join(work, "sbin")
    os.mkdir(place, 0o755)
    shutil.copy("/bin/true", place + "/runsc")
    done = subprocess.run([sys.executable, "-c", INSTEAD, place] + command("runsc", [], ["/bin/true"]),
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60 * SLOW)
    tell(done.returncode == 125 and b"reads nothing back" in done.stderr, "runsc: refused where there is one", done)


def main():
    if os.geteuid() != 0:
        for runtime in RUNTIMES:
            done = plain(runtime, [], ["/bin/true"])
            tell(done.returncode == 125 and runtime.encode() in done.stderr and b"root" in done.stderr,
                 "%s: an ordinary user is told why not" % runtime, (done.returncode, done.stderr))
        return
    table = mounts()
    only = sys.argv[1:]
    for runtime in RUNTIMES:
        why = plain(runtime, [], ["/bin/true"])
        if why.returncode:
            tell(False, "%s: /bin/true" % runtime, why.stderr.decode())
            continue
        for part in (ordinary, untouched, sealed, frozen, overlays, terminals, receipts, liars, kills, kills_at):
            if not only or part.__name__ in only:
                part(runtime)
    for part in (hanging, gvisor):
        if not only or part.__name__ in only:
            part()
    tell(mounts() == table, "the host's mounts are as before")


try:
    main()
finally:
    for base in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        for top in [base] + [os.path.join(base, d) for d in (os.listdir(base) if os.path.isdir(base) else [])]:
            try:
                os.rmdir(os.path.join(top, PARENT))
            except OSError:
                pass
    shutil.rmtree(work, ignore_errors=True)
finish()
