#!/usr/bin/env python3
"""Conformance: every control of a policy before every backend, out of one table.

A cell is "enforced" if the backend takes a policy that asks for the control, and a program that tries to exceed it does not;
"refused" if the policy is refused before anything starts. There is nothing else: a policy that is taken and exceeded fails, and so does
a cell that `warder doctor --matrix` sees differently. That an attempt would succeed without the control is tried as well, so
that no cell is enforced by an attempt that cannot succeed anyway.

Besides the backends there is a column for the local one's sessions: the session is started with the flags, and the attempt is an execution in
it, which is told nothing more. What a run of the backend local is held to, that has to be, too.

An attempt prints "exceeded" when it has got what it may not have, and "tried" when it has not. One that prints neither has ended by a cause
that belongs to its control (CAUSES), or the cell fails: what has not come to its attempt shows nothing.
WARDER_WITHOUT names backends that are not tried. Writes the table as Markdown to WARDER_MATRIX, if that is set.
"""
import contextlib, json, os, shutil, subprocess, sys, tempfile, time

WARDER = os.environ.get("WARDER", "build/warder")
PARENT = os.environ.get("WARDER_CGROUP_PARENT")
PYTHON = "/usr/bin/python3"
SESSION = "local, session"
work = os.path.realpath(tempfile.mkdtemp(prefix="warder-conformance-", dir=next(p for p in ("/srv", "/run/lock", "/tmp") if os.access(p, os.W_OK))))


def script(body):
    """Python that calls tried(); what it raises means that it did not get what it wanted."""
    return [PYTHON, "-c", "import os, sys, time, socket, resource, signal\nfirst = os.getpid()\ndef tried():\n"
            + "".join("    " + line + "\n" for line in body.strip().split("\n"))
            + "try:\n    got = tried()\nexcept BaseException:\n    got = False\n"
            + "if os.getpid() == first: os.write(1, b'exceeded' if got else b'tried')\n"]


def shell(text, first="true"):
    """What has to hold `first` is what was asked for, without which an attempt to exceed it shows nothing."""
    return ["/bin/sh", "-c", first + " || exit 9; if " + text + "; then printf exceeded; else printf tried; fi"]


def make(path, mode=0o755):
    os.makedirs(os.path.join(work, path), mode=mode)
    return os.path.join(work, path)


def syscall(number):
    return ("import ctypes\nc = ctypes.CDLL(None, use_errno=True)\nreturn c.syscall(%s) >= 0" % number)


os.chmod(work, 0o755)
os.mkdir(work + "/rt", 0o700)
shared, granted, beside, rootdir = make("shared"), make("granted"), make("beside"), make("root")
open(beside + "/secret", "w").close()
for name in ("bin", "etc"):
    os.mkdir(rootdir + "/" + name)
for name in ("lib", "lib64"):  # of what --ro /usr adds
    os.symlink("usr/" + name, rootdir + "/" + name)
shutil.copy("/bin/busybox", rootdir + "/bin/busybox") if os.path.exists("/bin/busybox") else None
LOOPBACK = """s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen()
c = socket.socket()
c.settimeout(2)
return c.connect_ex(s.getsockname()) == 0"""
WRITE = """with open('%s', 'wb') as f:
    for i in range(%d):
        f.write(bytes(1 << 20))
return True"""
CHILDREN = """pids = []
for i in range(%d):
    p = os.fork()
    if p == 0:
        time.sleep(5)
        os._exit(0)
    pids.append(p)
for p in pids:
    os.kill(p, 9)
    os.waitpid(p, 0)
return True"""
# More than a seventh of a CPU in any of ten seconds, of which a busy host may not have one to give.
# Seconds of more than it is granted, three of ten: a kernel that stands still for a while itself, as a guest on a busy host, charges
# that to whom it finds there.
SHARES = """more = 0
for i in range(10):
    begin, used = time.monotonic(), time.process_time()
    while time.monotonic() < begin + 1: pass
    more += time.process_time() - used > 0.15 * (time.monotonic() - begin)
    if more == 3: return True
return False"""
HALVES = """p = os.fork()
x = bytearray(%d << 20)
for i in range(0, len(x), 4096): x[i] = 1
if p == 0:
    time.sleep(1)
    os._exit(0)
ok = os.waitpid(p, 0)[1] == 0
return ok"""
BOTH = """for n in ('/tmp/a', '/dev/shm/b'):
    with open(n, 'wb') as f: f.write(bytes(3 << 20))
return True"""
NEST = """sys.setrecursionlimit(10 ** 6)
x = []
for i in range(%d): x = [x]
repr(x)
return True"""

TERMINALS = """try: return len([os.openpty() for i in range(%d)]) > 0
except OSError: return False"""
SPECULATE = """said = open("/proc/self/status").read()
return "Bypass:\\tvulnerable" in said or "Bypass:\\tthread vuln" in said or "Branch:\\talways en" in said or "Branch:\\tconditional en" in said"""
TWICE = """p = os.fork()
while time.process_time() < 0.4: pass
if p == 0: os._exit(0)
return os.waitpid(p, 0)[1] == 0"""
WHOLE = ["--set", "limits.disk=unlimited"]  # what is written to a host directory is limited nowhere

# A credential, and a ceiling that grants it. That it arrives, and where it is not, is tried in tests/network.
credential = make("credential")
with open(credential + "/secret", "w") as secret:
    secret.write("conformance\n")
os.chmod(credential + "/secret", 0o600)
for name in ("ceiling", "policy"):
    with open(credential + "/%s.json" % name, "w") as document:
        json.dump({"version": 1, "limits": {"wallTime": "30s"}, "network": {"mode": "allow", "allow": [
            {"host": "example.org", "ports": [443], "inject": {"header": "Authorization", "secretFile": credential + "/secret"}}]},
            "enforcement": {group: "preferred" for group in ("network", "filesystem", "environment", "limits", "output", "processes", "syscalls", "syscalls.speculation", "devices", "functions", "workingDirectory")}
            if name == "ceiling" else {}}, document)
with open(credential + "/learn.json", "w") as document:
    json.dump({"version": 1, "limits": {"wallTime": "300s"}, "network": {"mode": "learn"},
               "enforcement": {group: "preferred" for group in ("network", "filesystem", "environment", "limits", "output", "processes", "syscalls", "syscalls.speculation", "devices", "functions", "workingDirectory")}}, document)

# What a list lets pass, and what a published port leads to, is tried in tests/network, where there is somebody to connect to.
OUTSIDE = "s = socket.socket(socket.AF_UNIX)\ns.connect('\\0%s')\nreturn True" % work

# control, flags that ask for it, what makes the attempt succeed (flags; or None: run on the host itself), attempt
ROWS = [
    ("network.none", ["--net", "none"], ["--net", "loopback"], script(LOOPBACK)),
    ("network.loopback", ["--net", "loopback"], "socket",
     script(LOOPBACK.replace("return c.connect_ex(s.getsockname()) == 0", "c.connect_ex(s.getsockname()) == 0 or os._exit(9)") + "\ns = socket.socket(socket.AF_UNIX)\ns.connect('\\0%s')\nreturn True" % work)),
    ("network.allow", ["--allow", "example.org:443"], "socket", script(OUTSIDE)),
    ("network.allow.ipv6", ["--allow", "[2001:db8::/32]:443"], "socket", script(OUTSIDE)),
    ("network.allow.inject", ["--ceiling", credential + "/ceiling.json", "--policy", credential + "/policy.json"], None,
     shell("cat %s/secret >/dev/null 2>&1" % credential)),
    ("network.deny", ["--allow", "*.example.org:443", "--set", "network.deny=a.example.org"], "socket", script(OUTSIDE)),
    ("network.learn", ["--net", "learn", "--ceiling", credential + "/learn.json"], "socket", script(OUTSIDE)),
    ("network.publish", ["--net", "loopback", "--set", "network.publish=18099:8000"], "socket", script(OUTSIDE)),
    ("network.maxConnections", ["--allow", "example.org:443", "--set", "network.maxConnections=1"], "socket", script(OUTSIDE)),
    ("network.bytes", ["--allow", "example.org:443", "--set", "network.bytes=1MiB"], "socket", script(OUTSIDE)),
    ("filesystem.view.host", ["--set", "filesystem.view=host"], None, shell("ls /var/lib/dpkg/status >/dev/null 2>&1")),
    ("filesystem.view.directory", ["--set", "filesystem.view=directory:" + rootdir], None,
     ["/bin/busybox", "sh", "-c", "if [ -e /usr/bin/python3 ]; then printf exceeded; else printf tried; fi"]),
    ("filesystem.view.image", ["--set", "filesystem.view=image:conformance"], None,
     ["/bin/busybox", "sh", "-c", "if [ -e /usr/bin/python3 ]; then printf exceeded; else printf tried; fi"]),
    ("filesystem.workspace.none", ["--set", "filesystem.workspace=none"], ["--workspace", shared], shell("test -e /workspace")),
    ("filesystem.workspace.readOnly", ["--workspace", shared + ":ro"], ["--workspace", shared + ":rw"] + WHOLE,
     shell("touch /workspace/x 2>/dev/null && rm /workspace/x", "test -d /workspace")),
    ("filesystem.workspace.readWrite", ["--workspace", shared + ":rw"] + WHOLE, ["--workspace", shared + ":rw", "--ro", beside] + WHOLE,
     shell("test -e %s/secret" % beside, "touch /workspace/x && rm /workspace/x")),
    ("filesystem.workspace.overlay", ["--set", "filesystem.workspace=overlay:" + shared], ["--workspace", shared + ":rw"] + WHOLE,
     shell("touch /workspace/written 2>/dev/null"), lambda: os.path.exists(shared + "/written")),
    ("filesystem.paths.readOnly", ["--ro", granted], ["--rw", granted] + WHOLE, shell("touch %s/x 2>/dev/null && rm %s/x" % (granted, granted), "test -d " + granted)),
    ("filesystem.paths.readWrite", ["--rw", granted] + WHOLE, None,
     shell("test -e %s/secret" % beside, "touch %s/x && rm %s/x" % (granted, granted))),
    ("filesystem.tmp", ["--tmp", "4MiB"], ["--tmp", "32MiB"], script(WRITE % ("/tmp/big", 8))),
    ("environment", ["--set", "environment.mode=none"], ["--env", "WARDER_SECRET"], shell('test -n "$WARDER_SECRET"')),
    ("limits.wallTime", ["--timeout", "1s"], ["--timeout", "60s"], shell("sleep 3")),
    ("limits.cpuTime", ["--cpu-time", "500ms"], ["--cpu-time", "60s"],
     script(TWICE)),
    ("limits.memory", ["--memory", "64MiB"], ["--memory", "512MiB"], script(HALVES % 60)),
    ("limits.swap", ["--memory", "64MiB", "--set", "limits.swap=0B"], ["--memory", "64MiB", "--set", "limits.swap=200MiB"], script(HALVES % 60)),
    ("limits.cpus", ["--cpus", "0.1", "--timeout", "300s"], ["--cpus", "2"], script(SHARES)),  # a slow start
    ("limits.pids", ["--pids", "8"], ["--pids", "64"], script(CHILDREN % 20)),
    ("limits.openFiles", ["--set", "limits.openFiles=32"], ["--set", "limits.openFiles=256"],
     script("return len([open('/dev/null') for i in range(64)]) == 64")),
    ("limits.fileSize", ["--set", "limits.fileSize=1MiB"], ["--set", "limits.fileSize=16MiB"], script(WRITE % ("/tmp/big", 2))),
    ("limits.stack", ["--set", "limits.stack=512KiB"], ["--set", "limits.stack=64MiB"], script(NEST % 20000)),
    ("limits.disk.tmp", ["--set", "limits.disk=4MiB"], ["--set", "limits.disk=64MiB"], script(BOTH)),
    ("limits.disk.workspace", ["--set", "filesystem.workspace=readWrite:" + shared, "--set", "limits.disk=1MiB", "--tmp", "1MiB"], None, shell("true")),
    # Only code has a text: in the containers and the jail the shell's, in the engine the module itself.
    ("limits.code", ["--set", "limits.code=15B"], ["--set", "limits.code=16B"], [work + "/sixteen.sh"]),
    ("output.stdout", ["--set", "output.stdout=1000"], "bytes", ["/bin/sh", "-c", "head -c 5000 /dev/zero"]),
    ("output.stderr", ["--set", "output.stderr=1000"], "bytes", ["/bin/sh", "-c", "head -c 5000 /dev/zero >&2"]),
    ("processes.spawn.false", ["--set", "processes.spawn=false"], ["--set", "processes.spawn=true"], script(CHILDREN % 1)),
    ("processes.identity", ["--set", "processes.identity.uid=1234"], ["--set", "processes.identity.uid=4321"],
     script("try: os.setuid(0)\nexcept OSError: pass\nreturn os.getuid() != 1234")),
    ("syscalls", ["--set", "syscalls.profile=strict"], None, script(syscall("272, 0x10000000"))),
    ("syscalls.onViolation.kill", ["--set", "syscalls.onViolation=kill"], ["--set", "syscalls.onViolation=errno"],
     script(syscall("272, 0x10000000") .replace(" >= 0", " < 0"))),
    # Most hosts of tests, and all virtual ones, leave these controls to nobody: then every backend refuses.
    ("syscalls.speculation", ["--set", "syscalls.speculation=true"], None, script(SPECULATE)),
    ("devices.terminals", ["--set", "devices.terminals=2"], ["--set", "devices.terminals=8"], script(TERMINALS % 4)),
    ("functions", ["--set", "functions=granted"], ["--set", "functions=other", "--function-command", "other=true"],
     script("os.write(5, b'{\"id\": 1, \"name\": \"other\"}\\n')\nreturn b'\"result\"' in os.read(5, 4096)")),
    ("workingDirectory", ["--cwd", "/usr"], ["--cwd", "/"], shell('test "$(pwd)" != /usr')),
]


# A module tries by itself what a program tries in Python (guest.c). Where two lists of flags stand, they replace those of the row.
# Nothing that WASI has a call for could exceed some: their module asks for calls that WASI has not ("outside", with a number), and
# is not linked.
ENGINE = ["--ro", "/usr"]  # it is there, where the root is another one
GUEST = {
    "network.none": (["socket"], None, None),
    "network.loopback": (["outside", "41"], None, None),
    "network.allow": (["outside", "41"], None, None),
    "network.allow.ipv6": (["outside", "41"], None, None),
    "network.allow.inject": (["outside", "41"], None, None),
    "network.deny": (["outside", "41"], None, None),
    "network.learn": (["outside", "41"], None, None),
    "network.publish": (["outside", "41"], None, None),
    "network.maxConnections": (["outside", "41"], None, None),
    "network.bytes": (["outside", "41"], None, None),
    "filesystem.view.host": (["sees", "/var/lib/dpkg/status"], None, None),
    "filesystem.view.directory": (["sees", "/etc/passwd"], ["--set", "filesystem.view=directory:" + rootdir] + ENGINE, None),
    "filesystem.view.image": (["sees", "/etc/passwd"], ["--set", "filesystem.view=image:conformance"] + ENGINE, None),
    "filesystem.workspace.none": (["granted", "/workspace"], None, ["--workspace", shared]),
    "filesystem.workspace.readOnly": (["writes", "/workspace"], None, ["--workspace", shared + ":rw"] + WHOLE),
    "filesystem.workspace.readWrite": (["granted", beside], None, ["--ro", beside]),
    "filesystem.workspace.overlay": (["writes", "/workspace"], None, ["--workspace", shared + ":rw"] + WHOLE),
    "filesystem.paths.readOnly": (["writes", granted], None, ["--rw", granted] + WHOLE),
    "filesystem.paths.readWrite": (["granted", beside], None, ["--ro", beside]),
    "filesystem.tmp": (["fills", "4"], None, ["--tmp", "32MiB"]),
    "environment": (["variable", "WARDER_SECRET="], None, ["--env", "WARDER_SECRET"]),
    "limits.wallTime": (["lasts", "3"], None, ["--timeout", "60s"]),
    "limits.cpuTime": (["works", "1"], None, ["--cpu-time", "60s"]),
    "limits.memory": (["grows", "130"], ["--memory", "128MiB"], ["--memory", "512MiB"]),
    "limits.swap": (["grows", "123"], ["--memory", "128MiB", "--set", "limits.swap=0B"], ["--memory", "128MiB", "--set", "limits.swap=200MiB"]),
    "limits.cpus": (["quarter"], None, ["--cpus", "2"]),
    "limits.pids": (["outside", "57"], ["--pids", "32"], None),
    "limits.openFiles": (["opens", "64"], None, ["--set", "limits.openFiles=256"]),
    "limits.fileSize": (["fills", "2"], None, ["--set", "limits.fileSize=16MiB"]),
    "limits.stack": (["recurses", "8000"], None, ["--set", "limits.stack=64MiB"]),
    "limits.disk.tmp": (["fills", "3"], None, ["--set", "limits.disk=64MiB"]),
    "limits.disk.workspace": (["socket"], None, None),
    "limits.code": (["lasts", "0"], ["--set", "limits.code=15B"], ["--set", "limits.code=16MiB"]),
    "output.stdout": (["prints", "1"], None, ["--max-output", "10000"]),
    "output.stderr": (["prints", "2"], None, ["--max-output", "10000"]),
    "processes.spawn.false": (["outside", "57"], None, None),
    "processes.identity": (["outside", "105"], None, None),
    "syscalls": (["outside", "272"], None, None),
    "syscalls.onViolation.kill": (["outside", "272"], None, None),
    "syscalls.speculation": (["outside", "157"], None, None),
    "devices.terminals": (["outside", "157"], None, None),
    "functions": (["outside", "41"], None, None),
    "workingDirectory": (["elsewhere", "share"], None, ["--cwd", "/"]),
}


def keeps_little(backend):
    """It is asked for the one control, and may do without the rest; so are all where an ordinary user has no cgroups."""
    return backend == "process" or os.geteuid() != 0


def make_guest():
    """The module, and outside.wasm beside it; None where they cannot be made."""
    module = work + "/guest.wasm"
    if not shutil.which("wasm-ld") or not shutil.which("clang"):
        print("# no module: needs clang and lld")
        return None
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guest.c")
    for name, more in ((module, []), (work + "/outside.wasm", ["-DOUTSIDE"])):
        subprocess.run(["clang", "--target=wasm32", "-O1", "-nostdlib", "-Wall", "-Wextra", "-Werror", "-fno-builtin",
                        "-Wl,-z,stack-size=4194304", "-o", name, source] + more, check=True)
    return module


def words(backend, row, guest):
    """Flags, relaxing flags, command and what follows the flags, of an attempt before this backend."""
    control, flags, relax, argv = row[:4]
    if backend == "builtin":  # it is to refuse everything
        return flags, None, "code", []
    if backend != "wasm":
        return flags, relax, "code" if control == "limits.code" else "run", argv
    attempt, own, relax = GUEST[control]
    return own or flags, relax, "code", [work + "/outside.wasm" if attempt[0] == "outside" else guest] + attempt


def run(backend, flags, argv, command="run"):
    command = [WARDER, command, "--backend", backend, "--backends", work + "/backends.json", "--json"]
    if keeps_little(backend):
        command += ["--prefer", "all"]
    if PARENT:
        command += ["--cgroup-parent", PARENT]
    environment = dict(os.environ, WARDER_SECRET="1", WARDER_STORE=work + "/store")
    if command[1] == "code" and backend == "builtin":
        command, argv = command + ["--language", "python"], [work + "/nothing.py"]
    done = subprocess.run(command + flags + ["--"] + argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=400,
                          env=environment)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"status": "broken", "error": {"message": done.stderr.decode(errors="replace")}}


def call(command):
    environment = dict(os.environ, WARDER_SECRET="1", WARDER_STORE=work + "/store", XDG_RUNTIME_DIR=work + "/rt")
    done = subprocess.run([WARDER, "session"] + command, stdin=subprocess.DEVNULL, capture_output=True, timeout=400, env=environment)
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, {"status": "broken", "error": {"message": done.stderr.decode(errors="replace")}}


def run_in_session(flags, argv):
    """As run(), in a session that has nobody else. Set up first is an execution of which the attempt finds what it left."""
    name = "conformance-%d" % os.getpid()
    command = ["start", name, "--json", "--backends", work + "/backends.json"]
    if keeps_little(SESSION):
        command += ["--prefer", "all"]
    if PARENT:
        command += ["--cgroup-parent", PARENT]
    status, told = call(command + flags)
    if status != 0:
        return told
    try:
        call(["exec", name, "--", "/bin/true"])
        return call(["exec", name, "--json", "--"] + argv)[1]
    finally:
        status, told = call(["stop", name])
        if status != 0:
            raise RuntimeError("the session cannot be stopped: " + told["error"]["message"])


def field_of(control):
    known = {"network.publish": "network.publish", "network.maxConnections": "network.maxConnections",
             "network.bytes": "network.bytes", "network": "network", "filesystem.view": "filesystem.view", "filesystem.workspace": "filesystem.workspace",
             "filesystem.paths": "filesystem.paths", "limits.disk": "limits.disk", "processes.spawn": "processes.spawn",
             "syscalls.speculation": "syscalls.speculation", "syscalls": "syscalls"}
    for prefix, field in known.items():
        if control == prefix or control.startswith(prefix + "."):
            return field
    return control


def exceeded(result, look):
    if look == "bytes":
        return max(result["stdout"]["bytesKept"], result["stderr"]["bytesKept"]) > 1000
    if callable(look):
        return look()
    return result.get("stdout", {}).get("text", "") == "exceeded"


# Ends of an attempt that say that it met its limit; an end of another kind would make every cell look enforced.
CAUSES = {
    "limits.wallTime": ("wallTime",),
    "limits.cpuTime": ("cpuTime",),
    "limits.memory": ("memory",),
    "limits.swap": ("memory",),
    "limits.stack": ("trap", "SIGSEGV"),
    "syscalls.onViolation.kill": ("syscall",),
}


def was_tried(row, result, look, argv):
    if argv[1] == "outside":
        return result["detail"].startswith("the engine does not take the module: ")
    if look == "bytes":  # all of it was printed
        return max(result["stdout"]["bytesTotal"], result["stderr"]["bytesTotal"]) >= 5000
    text = result["stdout"]["text"]
    if callable(look):  # it has got what it wanted, elsewhere than where it looked
        return text == "exceeded"
    return text == "tried" or not text and {result["cause"], result.get("signal")} & set(CAUSES.get(row[0], ()))


def cell(backend, row, guest):
    control, relax = row[0], row[2]
    flags, _, command, argv = words(backend, row, guest)
    look = row[4] if len(row) > 4 else relax if relax == "bytes" else None
    asked = flags + ["--require", field_of(control)] if keeps_little(backend) else flags
    result = run_in_session(asked, argv) if backend == SESSION else run(backend, asked, argv, command)
    if result["status"] == "rejected":
        kind = result["error"]["kind"]
        if control == "limits.code" and (kind, result["error"]["field"]) == ("rejected", control):
            fits = run(backend, words(backend, row, guest)[1], argv, command)  # or the backend is not here at all
            return ("refused" if fits["status"] == "rejected" else "enforced"), result["error"]["message"]
        if kind in ("unsupportedPolicy", "unavailable"):
            return "refused", result["error"]["message"]
        return "failed", "%s: %s" % (kind, result["error"]["message"])
    if result["status"] == "broken":
        return "failed", result["error"]["message"]
    if result["cause"] in ("host", "supervisor", "cancelled"):
        return "failed", result["detail"]
    shows = control != "limits.swap" or has_swap()  # where there is none, only what is read back
    if shows and exceeded(result, look):
        return "failed", "accepted, and exceeded"
    if shows and not was_tried(row, result, look, argv):
        return "failed", "it did not come to its attempt: %s, %s, %s" % (result["cause"], result["detail"], result["stderr"]["text"][:300])
    said = [c for c in result["receipt"]["controls"] if c["control"] == control]
    if not said or said[0]["status"] != "enforced":
        return "failed", "accepted, and the receipt does not say that it is enforced"
    return "enforced", said[0]["mechanism"]


def patient(flags):
    """However slow the host is, or its swap: what ends an attempt without its control is not the clock."""
    return flags if "--timeout" in flags else flags + ["--timeout", "300s"]


def can_succeed(row):
    """Without the control, or on the host itself, the attempt gets what it wants."""
    control, flags, relax, argv = row[:4]
    if control == "limits.disk.workspace":
        return None  # no backend takes it: there is nothing to exceed
    if relax == "bytes":
        return run("local", ["--max-output", "10000"], argv)["status"] == "success"
    if relax is None or relax == "socket":
        where = dict(os.environ, PATH="/usr/bin:/bin")
        got = subprocess.run(argv, capture_output=True, timeout=60, env=where).stdout == b"exceeded"
        return got or (None if control == "syscalls.speculation" else False)  # or the processor has nothing to force off
    result = run("local", patient(relax), argv, "code" if control == "limits.code" else "run")
    if len(row) > 4:
        got = row[4]()
        if got:
            os.unlink(shared + "/written")
        return got
    return exceeded(result, None)


def in_time(control, attempt):
    """What the attempt says. Others keep a host busy at times, and it then gives nobody the share of a processor that is asked for."""
    can = attempt()
    for _ in range(10 if control == "limits.cpus" and can is False else 0):
        time.sleep(2)
        can = can or attempt()
    return can


def guest_can_succeed(row, guest):
    """The same for a module, in the same jail with other flags. None: WASI has no call for it, or nothing to exceed it by."""
    _, relax, command, argv = words("wasm", row, guest)
    if relax is None:
        return None
    result = run("wasm", patient(relax), argv, command)
    if row[2] == "bytes":
        return max(result["stdout"]["bytesKept"], result["stderr"]["bytesKept"]) > 1000
    got = exceeded(result, None)
    for place in (shared, granted):
        if os.path.exists(place + "/written"):
            os.unlink(place + "/written")
    return got


def has_swap():
    """Enough of it to be exceeded."""
    with open("/proc/meminfo") as f:
        return any(line.startswith("SwapFree:") and int(line.split()[1]) > 150 << 10 for line in f)


class Swap:
    """A throw-away guest has it for the one row: a disk of its own, or a file. A host has what it has."""

    def __enter__(self):
        self.place = None
        if os.geteuid() != 0 or not os.environ.get("WARDER_TEST_GUEST"):
            return self
        place = "/dev/ubda"
        if not os.path.exists(place):
            place = work + "/swap"
            with open(place, "wb") as f:
                for _ in range(256):
                    f.write(bytes(1 << 20))
            os.chmod(place, 0o600)
        done = subprocess.run("/sbin/mkswap -q %s && /sbin/swapon %s" % (place, place), shell=True, capture_output=True)
        if done.returncode:
            print("# no swap: " + done.stderr.decode(errors="replace").strip())
        else:
            self.place = place
        return self

    def __exit__(self, *_):
        if self.place:
            subprocess.run(["/sbin/swapoff", self.place], check=True)


def import_image():
    """An image for the one row about images, of the little root."""
    store = os.path.join(os.path.dirname(WARDER) or ".", "warder-store")
    done = subprocess.run([store, "image", "import", rootdir, "conformance"], capture_output=True,
                          env=dict(os.environ, WARDER_STORE=work + "/store"))
    if done.returncode:
        print("# no image: " + done.stderr.decode(errors="replace").strip())


def one_row(row, backends, guest, matrix, tell, skip):
    """The verdicts of one control's row."""
    cells = []
    bounded = row[0] != "limits.swap" or has_swap()
    can = in_time(row[0], lambda: can_succeed(row)) if bounded else None
    if can is not None:
        tell(can, "%s: the attempt succeeds without it" % row[0], "it did not, so that nothing is shown by it")
    if not bounded:
        skip("limits.swap: the attempt succeeds without it", "this host has no swap; what is read back is compared all the same")
    elif guest and matrix["network.none"]["wasm"]["enforced"]:
        can = in_time(row[0], lambda: guest_can_succeed(row, guest))
        if can is not None:
            tell(can, "%s: the module's attempt succeeds without it" % row[0], "it did not, so that nothing is shown by it")
    for backend in backends:
        if backend == "wasm" and not guest:
            skip(row[0] + ": wasm", "there is no module: needs clang and lld")
            cells.append("-")
            continue
        if backend == SESSION and row[0] == "limits.code":
            skip(row[0] + ": " + SESSION, "a session runs programs, and no piece of code")
            cells.append("-")
            continue
        if backend in os.environ.get("WARDER_WITHOUT", "").split():
            skip("%s: %s" % (row[0], backend), "this kernel cannot bear it (WARDER_WITHOUT)")
            cells.append("-")
            continue
        verdict, why = cell(backend, row, guest)
        claims = "enforced" if matrix[row[0]][backend]["enforced"] else "refused"
        ok = verdict == claims
        tell(ok, "%s: %s: %s" % (row[0], backend, claims), "%s: %s" % (verdict, why))
        cells.append(verdict)
    return cells


def main():
    with open(work + "/backends.json", "w") as f:
        json.dump({"enable": ["process", "builtin"]}, f)
    with open(work + "/nothing.py", "w") as f:
        f.write("print('exceeded')\n")
    with open(work + "/sixteen.sh", "w") as f:
        f.write("printf exceeded\n")
    guest = make_guest()
    listener = socket_listener()
    import_image()
    matrix = json.loads(subprocess.run([WARDER, "doctor", "--matrix", "--json"], capture_output=True, timeout=60).stdout)
    del matrix["abilities"]
    for row in matrix.values():
        row[SESSION] = row["local"]
    backends = list(next(iter(matrix.values())))
    only = sys.argv[1:]
    count = 0
    table = ["| control | " + " | ".join(backends) + " |", "|---" * (len(backends) + 1) + "|"]

    def tell(ok, name, why=""):
        nonlocal count
        count += 1
        print(("ok" if ok else "not ok") + " %d - %s" % (count, name))
        if not ok:
            print("# " + why.replace("\n", "\n# "))
        sys.stdout.flush()

    def skip(name, why):
        nonlocal count
        count += 1
        print("ok %d - %s # SKIP %s" % (count, name, why))

    if not only:
        missing = set(matrix) ^ {row[0] for row in ROWS}
        tell(not missing, "the table has every control", ", ".join(sorted(missing)))
    for row in ROWS:
        if only and row[0] not in only:
            continue
        if row[0].startswith("filesystem.paths.") and work.startswith("/tmp/"):
            skip(row[0], "this user can write to no directory that is not in /tmp")
            continue
        with Swap() if row[0] == "limits.swap" else contextlib.nullcontext():
            cells = one_row(row, backends, guest, matrix, tell, skip)
        table.append("| %s | %s |" % (row[0], " | ".join(cells)))
    print("1..%d" % count)
    listener.close()
    if os.environ.get("WARDER_MATRIX"):
        with open(os.environ["WARDER_MATRIX"], "w") as f:
            f.write("\n".join(table) + "\n")


def socket_listener():
    import socket
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\0" + work)
    listener.listen()
    return listener


try:
    main()
finally:
    shutil.rmtree(work, ignore_errors=True)
