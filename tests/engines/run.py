#!/usr/bin/env python3
"""Containers of an engine, whatever happens to the engine, its processes or the supervisor. TAP; as root.

  results   exit codes, signals, streams, limits: what a program does is told as it is, in the words that every backend uses
  engines   an engine that hangs, lies, fails or dies; a fake one lies over the real one, in a mount namespace of the test
  kills     the supervisor, the engine's client, its daemon are killed at some moment of a run; no run ends as another than it was,
            nothing is left, and the next run is as good as the first

After all of it the host has no process, mount, control group or file more than before, and the host's own engine has not noticed.
WARDER=build/warder; WARDER_ENGINES="podman docker" names the backends; WARDER_KILLS (10) says how often a supervisor is killed, and an engine
half as often. Where Docker is not installed, docker.sh runs this with Debian's; WARDER_NO_DOCKER is why it could not.
"""
import concurrent.futures, ctypes, json, os, random, shutil, signal, subprocess, sys, tempfile, time

LIB = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "lib")
sys.path.insert(0, LIB)
sys.dont_write_bytecode = True
import settings, terminal
from tap import WARDER, finish, skip, tell, until

BACKENDS = os.environ.get("WARDER_ENGINES", "podman docker").split()
KILLS = int(os.environ.get("WARDER_KILLS", "10"))
work = os.path.realpath(tempfile.mkdtemp(prefix="warder-engines-", dir=next(p for p in ("/srv", "/run/lock", "/tmp") if os.access(p, os.W_OK))))


# ---- running ----

def command(backend, flags, argv):
    return [WARDER, "run", "--backend", backend, "--json"] + flags + ["--"] + argv


def run(backend, flags, argv, stdin=b"", before=()):
    done = subprocess.run(list(before) + command(backend, flags, argv), input=stdin, capture_output=True, timeout=240)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"status": "broken", "cause": "", "detail": done.stderr.decode(errors="replace"), "error": {"message": done.stderr.decode(errors="replace")}}


def plain(backend, flags, argv, stdin=b""):
    return subprocess.run([WARDER, "run", "--backend", backend] + flags + ["--"] + argv, input=stdin, capture_output=True, timeout=240)


def processes(marker):
    """Pids of what has the marker in its command line: supervisor, monitor, the program; not this test."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            line = open("/proc/%s/cmdline" % name, "rb").read()
        except OSError:
            continue
        if marker.encode() in line:
            found.append(int(name))
    return found


def born(pid):
    """With the pid this is a process, whoever else gets its number; None: it is gone."""
    try:
        after = open("/proc/%d/stat" % pid, errors="replace").read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return after[19] if after[0] != "Z" else None


def left_of(family):
    """Of processes with their times of birth, those that still live."""
    return [pid for pid, at in family.items() if at and born(pid) == at]


def descendants(pid):
    """By parent, from /proc; the dead are none."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                text = open("/proc/%s/stat" % name, errors="replace").read()
            except OSError:
                continue
            after = text.rsplit(")", 1)[1].split()
            parents[int(name)] = (int(after[1]), text.split("(", 1)[1].rsplit(")", 1)[0], after[0])
    found, todo = {}, [pid]
    while todo:
        parent = todo.pop()
        for child, (of, comm, state) in parents.items():
            if of == parent and child not in found and state != "Z":
                found[child] = comm
                todo.append(child)
    return found


def groups(pid):
    """Control groups of a supervisor."""
    return [os.path.join(d, n) for d, names, _ in os.walk("/sys/fs/cgroup") for n in names if n.startswith("warder-%d-" % pid)]


def engine_state():
    """What an engine of the host would keep, and where a leak of ours would be seen."""
    state = {}
    for place in ("/run/libpod", "/run/containers", "/run/crun", "/run/runc", "/run/netns", "/var/lib/containers/storage", "/dev/shm", "/etc/containers", "/etc/cni", "/var/lib/cni",
                  "/run/docker", "/run/docker.sock", "/run/containerd", "/var/lib/docker", "/var/lib/containerd", "/etc/docker", "/etc/containerd", "/root/.docker"):
        listing = [place] if os.path.exists(place) else []
        for d, names, files in os.walk(place):
            for n in sorted(names + files):
                if n.startswith("bxfi_"):  # Criterion's, of a suite beside this one
                    continue
                st = os.lstat(os.path.join(d, n))
                listing.append((os.path.join(d, n), st.st_ino))
        state[place] = sorted(listing, key=str)
    state["mounts"] = sorted(line.split()[4] for line in open("/proc/self/mountinfo") if "warder" in line or "engine" in line)
    state["groups"] = sorted(os.path.join(d, n) for d, names, _ in os.walk("/sys/fs/cgroup") for n in names if "libpod" in n or "docker" in n or n.startswith("crun-"))
    # Without a namespace of its own for the network, an engine would set these.
    state["network"] = sorted(os.listdir("/sys/class/net")) + [open("/proc/sys/net/ipv4/ip_forward").read()]
    return state


# ---- results ----

def text_of(stream):
    return stream.get("text", "")


RESULTS = [
    ("exit 0", [], ["/bin/sh", "-c", "exit 0"], {"status": "success", "cause": "exit", "exitCode": 0}),
    ("exit 3", [], ["/bin/sh", "-c", "exit 3"], {"status": "failed", "cause": "exit", "exitCode": 3}),
    ("exit 137 is an exit, no signal", [], ["/bin/sh", "-c", "exit 137"], {"status": "failed", "cause": "exit", "exitCode": 137}),
    ("exit 125 is an exit of the program", [], ["/bin/sh", "-c", "exit 125"], {"status": "failed", "cause": "exit", "exitCode": 125}),
    ("a signal is a signal", [], ["/bin/sh", "-c", "kill -TERM $$"], {"status": "failed", "cause": "signal", "signal": "SIGTERM"}),
    ("SIGKILL of itself is a signal", [], ["/bin/sh", "-c", "kill -KILL $$"], {"cause": "signal", "signal": "SIGKILL"}),
    ("over its memory", ["--memory", "32MiB"], ["/usr/bin/python3", "-c", "x = bytearray(200 << 20)"], {"status": "killed", "cause": "memory"}),
    ("over its wall time, deaf to SIGTERM", ["--timeout", "1s"], ["/bin/sh", "-c", "trap '' TERM; echo before; while :; do sleep 1; done"],
     {"status": "timeout", "cause": "wallTime", "stdout": "before\n"}),
    ("over its CPU time", ["--cpu-time", "300ms"], ["/bin/sh", "-c", "while :; do :; done"], {"status": "timeout", "cause": "cpuTime"}),
    ("no such program", [], ["/nonexistent"], {"status": "rejected"}),
    ("no standard input is an end at once", [], ["/bin/cat"], {"status": "success", "stdout": ""}),
    ("no network", [], ["/bin/sh", "-c", "tail -n +3 /proc/net/dev | grep -vc lo:"], {"stdout": "0\n"}),
    ("the host's name and processes are not there", [], ["/bin/sh", "-c", "set -- /proc/[0-9]*; echo $#; test \"$(cat /proc/sys/kernel/hostname)\" != '%s'" % os.uname().nodename],
     {"status": "success", "stdout": "1\n"}),
    ("nothing of the engine's in the root", [], ["/bin/sh", "-c", "ls -d /run/.containerenv /etc/hostname /etc/hosts /etc/resolv.conf /sys /init /door /plan /dev/mqueue 2>/dev/null"],
     {"exitCode": 2, "stdout": ""}),
    ("no variable of the engine's", ["--set", "environment.mode=none"], ["/bin/sh", "-c", "echo $container$HOSTNAME$CONTAINERS_CONF"], {"stdout": "\n"}),
]


def matches(result, wanted):
    for key, value in wanted.items():
        got = text_of(result.get("stdout", {})) if key == "stdout" else result.get(key)
        if got != value:
            return False
    return True


def test_results(backend):
    for name, flags, argv, wanted in RESULTS:
        result = run(backend, flags, argv)
        tell(matches(result, wanted), "%s: %s" % (backend, name), json.dumps(result)[:600])


def test_streams(backend):
    every = bytes(range(256)) * 41
    done = plain(backend, [], ["/bin/cat"], every)
    tell(done.stdout == every, "%s: every byte goes in and comes out" % backend, done.stderr)
    big = os.urandom(1 << 20) * 10
    done = plain(backend, ["--max-output", "16MiB"], ["/bin/cat"], big)
    tell(done.stdout == big, "%s: 10 MiB through cat" % backend, "%d bytes; %s" % (len(done.stdout), done.stderr))
    done = plain(backend, [], ["/bin/true"], big)
    tell(done.returncode == 0, "%s: a program that reads nothing of 10 MiB" % backend, done.stderr)
    result = run(backend, [], ["/bin/sh", "-c", "printf '\\377\\376x'"])
    tell(result.get("stdout", {}).get("base64") == "//54", "%s: bytes that are no UTF-8" % backend, json.dumps(result)[:300])
    result = run(backend, ["--max-output", "1MiB"], ["/bin/sh", "-c", "head -c 20000000 /dev/zero; echo done >&2"])
    out = result.get("stdout", {})
    tell(out.get("bytesKept") == 1 << 20 and out.get("bytesTotal") == 20000000 and out.get("truncated") and text_of(result["stderr"]) == "done\n"
         and result["exitCode"] == 0, "%s: 20 MB with a cap of 1 MiB" % backend, json.dumps(dict(result, receipt=0, stdout=0))[:600])


def test_receipt(backend):
    result = run(backend, [], ["/bin/true"])
    receipt = result.get("receipt", {})
    # A container's /proc is its runtime's, and its user namespace has the accounts that the runtime gave it.
    states = {c["status"] for c in receipt.get("controls", []) if c["control"] not in ("proc", "perUserAccounts") or c["status"] != "absent"}
    tell(receipt.get("backend") == backend and receipt.get("isolation") == "containerEphemeral", "%s: the receipt names backend and isolation" % backend,
         json.dumps(receipt)[:300])
    tell(states == {"enforced", "hardening"}, "%s: all of the preset strict is enforced" % backend, states)
    rows = {c["control"]: c["value"] for c in receipt["controls"]}
    seen = text_of(run(backend, [], ["/bin/sh", "-c", "cat /proc/uptime; grep -c ' /proc ro,' /proc/self/mountinfo"]).get("stdout", {})).split()
    tell(len(seen) == 3 and seen[2] == "1", "%s: /proc is read-only" % backend, seen)
    tell("time" not in rows["namespaces"].split("; host")[0].split() or float(seen[0]) < 200, "%s: clocks that begin with the run" % backend, seen)
    tell(("locked" in rows.get("secureBits", "")) == (backend != "docker"), "%s: the secure bits are locked, but by docker" % backend, rows)


def test_descendants(backend):
    shared = os.path.join(work, "shared")
    os.makedirs(shared, exist_ok=True)
    result = run(backend, ["--timeout", "1s", "--workspace", shared + ":rw", "--set", "limits.disk=unlimited"],
                 ["/bin/sh", "-c", "setsid sh -c 'sleep 4; touch /workspace/late' & (sleep 4; touch /workspace/late) & wait"])
    time.sleep(5)
    tell(result["status"] == "timeout" and not os.path.exists(shared + "/late"), "%s: what was started dies with the container, also out of its session" % backend,
         json.dumps(result)[:300])


def test_refused(backend):
    for flags, word in ((["--net", "learn"], "network"), (["--set", "filesystem.workspace=readWrite:" + work, "--set", "limits.disk=1MiB"], "limits.disk")):
        result = run(backend, flags, ["/bin/true"])
        tell(result["status"] == "rejected" and word in result["error"]["message"], "%s: refused before anything starts: %s" % (backend, word), json.dumps(result)[:300])
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    result = run(backend, ["--prefer", "all"], ["/bin/true"], before=nobody)
    tell(result["status"] == "rejected" and "root only" in result["error"]["message"], "%s: an ordinary user is told why not" % backend, json.dumps(result)[:300])


def test_many(backend):
    running = [subprocess.Popen(command(backend, [], ["/bin/sh", "-c", "echo %d; exit %d" % (i, i)]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for i in range(6)]
    results = [json.loads(p.communicate(timeout=200)[0]) for p in running]
    tell([(text_of(r.get("stdout", {})), r.get("exitCode")) for r in results] == [("%d\n" % i, i) for i in range(6)], "%s: six at once, each with its own" % backend,
         [r.get("error") for r in results])


# ---- engines ----

def fake(program, name, script):
    """A command that shows the script instead of the engine's program to what is started by it; the real one is then in {real}."""
    path = os.path.join(work, "fake-" + name)
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + script.replace("{real}", "%s/real/%s" % (work, program)) + "\n")
    os.chmod(path, 0o755)
    real = shutil.which(program, path="/usr/bin:/usr/sbin:/usr/local/bin")
    real = os.path.realpath(real)
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", "mkdir -p %s/real && mount --bind %s %s/real && mount --bind %s %s && exec \"$@\""
            % (work, os.path.dirname(real), work, path, real), "sh"]


def test_fakes(backend):
    os.chmod(work, 0o755)
    marker = "hanging-%d" % os.getpid()
    shared = os.path.join(work, "hung")
    os.makedirs(shared, exist_ok=True)
    fakes = {
        "failing": (backend, "printf 'Error: \\033[31mthe disk is full\\n' >&2\nexit 125"),
        "lying": (backend, "exit 0"),
        "late": (backend, "sleep 3\nexec {real} \"$@\""),
        "hanging": (backend, "sleep 100000 &\nexec sleep 100000"),
        "slow": (backend, "{real} \"$@\"\nexec sleep 100000"),
    }
    if backend == "docker":
        fakes["failing daemon"] = ("dockerd", "printf '\\033[31mthe graph is bent\\n' >&2\nexit 1")
        fakes["deaf daemon"] = ("dockerd", "exec sleep 100000")
    flags = {"slow": ["--workspace", shared + ":rw", "--set", "limits.disk=unlimited"]}
    argv = {"hanging": ["/bin/true", marker], "slow": ["/bin/touch", "/workspace/ran"], "late": ["/bin/sh", "-c", "echo whole; exit 5"]}
    # Three of them take as long as the patience of the supervisor: all of them at once.
    with concurrent.futures.ThreadPoolExecutor(len(fakes)) as pool:
        running = {name: pool.submit(run, backend, flags.get(name, []), argv.get(name, ["/bin/true"]), before=fake(program, name.replace(" ", "-"), script))
                   for name, (program, script) in fakes.items()}
    results = {name: future.result() for name, future in running.items()}

    def refused(name, text, words, unless=False):
        message = results[name].get("error", {}).get("message", "")
        tell(results[name]["status"] == "rejected" and words in message and "\033" not in message and not unless, "%s: %s" % (backend, text), json.dumps(results[name])[:400])

    refused("failing", "an engine that fails is quoted, without its control characters", "the disk is full")
    refused("lying", "an engine that starts nothing and says that all is well", "door")
    tell(matches(results["late"], {"exitCode": 5, "stdout": "whole\n"}), "%s: an engine that takes its time: the run is as any other" % backend, json.dumps(results["late"])[:400])
    refused("hanging", "an engine that hangs ends with the patience of its supervisor", "signal 9", processes(marker))
    # It has started the container, and does not come back: the program has not run, and does not later.
    refused("slow", "an engine that hangs after the start: the program never runs", "signal 9", os.path.exists(shared + "/ran"))
    if backend == "docker":
        refused("failing daemon", "a daemon that fails is quoted", "the graph is bent")
        refused("deaf daemon", "a daemon that never answers is waited for no longer than others", "daemon")


def start_marked(backend, script, before=()):
    marker = "marked-%d-%d" % (os.getpid(), random.randrange(1 << 30))
    p = subprocess.Popen(list(before) + command(backend, [], ["/bin/sh", "-c", script + " # " + marker]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return p, marker


def in_container(marker):
    """The program itself: its last line shows up below the monitor."""
    for pid in processes(marker):
        try:
            if os.readlink("/proc/%d/exe" % pid).split("/")[-1] in ("dash", "bash", "busybox", "sh"):
                return pid
        except OSError:
            pass
    return 0


def test_monitor_killed(backend):
    p, marker = start_marked(backend, "sleep 3; echo whole; exit 5")
    program = until(lambda: in_container(marker))
    if backend == "docker":
        tell(program and until(lambda: not {"dockerd", "containerd"} & set(descendants(p.pid).values()), 10), "docker: no daemon is left when the program runs", descendants(p.pid))
    monitor = [pid for pid, comm in descendants(p.pid).items() if comm in ("conmon", "containerd-shim", "containerd", "dockerd")]
    for pid in monitor:
        os.kill(pid, signal.SIGKILL)
    result = json.loads(p.communicate(timeout=100)[0])
    tell(program and monitor and matches(result, {"exitCode": 5, "stdout": "whole\n"}), "%s: the engine's own processes are killed: the run goes on, its end is told as it is" % backend,
         "%s %s %s" % (program, monitor, json.dumps(result)[:400]))
    tell(not processes(marker), "%s: and nothing is left" % backend, processes(marker))


def test_monitor_killed(backend):
    p, marker = start_marked(backend, "sleep 1000")
    program = until(lambda: in_container(marker))
    monitor = [pid for pid, comm in descendants(p.pid).items() if comm == "warder-monitor"]
    below = list(descendants(monitor[0])) if monitor else []
    for pid in monitor:
        os.kill(pid, signal.SIGKILL)
    out = p.communicate(timeout=100)[0]
    result = json.loads(out)
    left = until(lambda: not [pid for pid in below if os.path.exists("/proc/%d" % pid) and pid in descendants(1)], 10)
    tell(program and monitor and result["status"] != "success" and left and not processes(marker), "%s: the monitor is killed: all dies with it, and the result is no success" % backend,
         json.dumps(result)[:400])


def test_client_killed(backend):
    """The command is killed before it has asked for anything, and when the container is there: a daemon that has been asked goes on."""
    for name, script, sign in (("waiting", "sleep 100000\nexec {real} \"$@\"", "sleep"), ("done", "{real} \"$@\"\n[ \"$3\" = import ] || sleep 100000", "sleep")):
        p, marker = start_marked(backend, "echo ran; sleep 1000", before=fake(backend, name, script))
        until(lambda: sign in descendants(p.pid).values())
        family = {pid: born(pid) for pid in descendants(p.pid)}
        clients = [pid for pid, comm in descendants(p.pid).items() if comm == backend]
        for pid in clients:
            os.kill(pid, signal.SIGKILL)
        result = json.loads(p.communicate(timeout=100)[0])
        left = until(lambda: not left_of(family), 20)
        tell(clients and result["status"] == "rejected" and "signal 9" in result["error"]["message"] and left and not processes(marker),
             "%s: its client is killed, %s: refused, and the container with it" % (backend, "before it asks" if name == "waiting" else "with a container that waits"),
             "%s %s %s" % (clients, left_of(family), json.dumps(result)[:400]))


def test_daemon_killed(backend):
    p, marker = start_marked(backend, "echo ran; sleep 1000")
    daemon = until(lambda: [pid for pid, comm in descendants(p.pid).items() if comm == "dockerd"])
    for pid in daemon:
        os.kill(pid, signal.SIGKILL)
    result = json.loads(p.communicate(timeout=100)[0])
    tell(daemon and result["status"] == "rejected" and until(lambda: not processes(marker), 20), "%s: its daemon is killed as it starts: refused" % backend, json.dumps(result)[:400])


def kill_something(backend):
    """A process of the engine, whichever, at a random moment. What came of it."""
    p, marker = start_marked(backend, "echo begun; sleep 2; echo whole; exit 5")
    time.sleep(random.uniform(0.1, 2))
    family = {pid: born(pid) for pid in descendants(p.pid)}
    running = in_container(marker)
    ours = [pid for pid, comm in descendants(p.pid).items() if comm in ("conmon", "crun", "podman", "docker", "dockerd", "containerd", "containerd-shim")]
    victim = random.choice(ours) if ours else 0
    try:
        os.kill(victim, signal.SIGKILL) if victim else None
    except ProcessLookupError:
        pass
    result = json.loads(p.communicate(timeout=200)[0])
    whole = matches(result, {"status": "failed", "cause": "exit", "exitCode": 5, "stdout": "begun\nwhole\n"})
    if (whole or not running and (result["status"] == "rejected" or result.get("cause") == "host")) and until(lambda: not left_of(family), 20) and not processes(marker):
        return None
    return victim, running, left_of(family), json.dumps(result)[:300]


def test_anything_killed(backend):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        worst = [each for each in pool.map(kill_something, [backend] * (KILLS // 2)) if each]
    tell(not worst, "%s: one of the engine's processes is killed at a random moment, %d times: the run is whole, or does not begin" % (backend, KILLS // 2), worst)


def test_bare_client_killed(backend):
    """What the tests of killed clients would see, were the container the client's alone to end."""
    books, root, marker = work + "/books", work + "/bare", "bare-%d" % os.getpid()
    os.chmod(work, 0o755)
    for name in ("usr", "proc", "dev", "sys"):
        os.makedirs(os.path.join(root, name))
    for name in ("bin", "lib", "lib64"):
        os.symlink("usr/" + name, root + "/" + name)
    daemon = subprocess.Popen([os.path.join(os.path.dirname(os.path.realpath(__file__)), "bare-docker.sh"), books, root], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        ready = daemon.stdout.readline()
        client = subprocess.Popen(["docker", "--host", "unix://%s/socket" % books, "run", "--pull", "never", "--runtime", "bare", "--network", "none", "--log-driver", "none", "--cgroupns", "host",
                                   "--volume", "/usr:/usr:ro", "--volume", "/mnt:/sys/fs/cgroup:ro", "bare", "/bin/sh", "-c", "sleep 1000 # " + marker],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        program = until(lambda: client.poll() is not None or in_container(marker))
        client.kill()
        why = client.communicate()[1]
        time.sleep(1)
        tell(ready and program and in_container(marker), "docker: of the bare command, a killed client leaves its container running", "%s %s" % (why, open(books + "/log").read()[-500:]))
    finally:
        daemon.kill()
        daemon.wait()
    tell(until(lambda: not processes(marker) and not processes(books)), "docker: which ends with the namespace of its daemon", processes(marker))


# ---- the host ----

LOOK = """import os, sys
sys.path.insert(0, %r)
import settings
found = settings.writable()
print("writable %%d:" %% len(found), *found[:3], os.readlink("/proc/self/ns/net"), file=sys.stderr)
"""


def test_sealed(backend):
    """An engine can change no setting of the host, and is not in its network."""
    shutil.copy(LIB + "/settings.py", work)
    with open(work + "/look.py", "w") as f:
        f.write(LOOK % work)
    ours = len(settings.writable())
    script = "python3 -B %s/look.py; exit 1" % work
    for network in ("none", "loopback"):
        message = run(backend, ["--net", network], ["/bin/true"], before=fake("dockerd" if backend == "docker" else backend, "looking", script)).get("error", {}).get("message", "")
        tell(ours > 500 and "writable 0: net:" in message, "%s: nothing of the host's /proc and /sys can be written to by an engine (%s)" % (backend, network), message)
        tell("net:" in message and os.readlink("/proc/self/ns/net") not in message, "%s: an engine is not in the host's network (%s)" % (backend, network), message)
        done = subprocess.run([sys.executable, LIB + "/settings.py", WARDER, "run", "--backend", backend, "--net", network, "--", "/bin/echo", "ran"],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=240)
        tell(done.stdout == b"ran\n{}\n", "%s: all settings of the host are afterwards as before (%s)" % (backend, network), done)


# ---- kills ----

STARTS = {"podman": 0.8, "docker": 2.5}  # seconds


def test_kills(backend):
    worst = []
    for i in range(KILLS):
        # At all stages of its start, and a while after.
        p, marker = start_marked(backend, "sleep 1000")
        time.sleep(random.uniform(0, STARTS[backend]))
        family = {pid: born(pid) for pid in descendants(p.pid)}
        p.kill()
        p.wait()
        if not until(lambda: not processes(marker) and not left_of(family), 20):
            worst.append((i, processes(marker), left_of(family)))
        subprocess.run([WARDER, "doctor", "--clean"], capture_output=True, timeout=100)
        if groups(p.pid):
            worst.append((i, groups(p.pid)))
    tell(not worst, "%s: the supervisor is killed %d times at a random moment: nothing is left" % (backend, KILLS), worst)
    result = run(backend, [], ["/bin/echo", "fine"])
    tell(text_of(result.get("stdout", {})) == "fine\n", "%s: and the next run is as good as the first" % backend, json.dumps(result)[:300])


def test_terminated(backend):
    p, marker = start_marked(backend, "trap '' TERM INT; sleep 1000")
    until(lambda: in_container(marker))
    p.terminate()
    p.wait(timeout=60)
    tell(until(lambda: not processes(marker), 20), "%s: SIGTERM to the client ends the container, not only the client" % backend, processes(marker))
    tell(not groups(p.pid), "%s: and takes its control groups away" % backend, groups(p.pid))


def test_terminal(backend):
    terminal.check(tell, backend, lambda flags, argv: [WARDER, "run", "--backend", backend] + flags + ["--"] + argv, 3)


def main():
    if os.geteuid() != 0:
        skip("all of it", "engines are driven as root only")
        return
    # What outlives whoever started it becomes a child of this process, so that all that these tests leave behind is below it.
    if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) < 0:  # PR_SET_CHILD_SUBREAPER
        sys.exit("run.py: prctl")
    for backend in BACKENDS:
        explained = json.loads(subprocess.run([WARDER, "explain", "--backend", backend, "--json"], capture_output=True, timeout=60).stdout)
        if not explained.get("wouldRun"):
            skip("%s: all of it" % backend, os.environ.get("WARDER_NO_DOCKER") if backend == "docker" and os.environ.get("WARDER_NO_DOCKER") else explained.get("refusal"))
            continue
        state = engine_state()
        for test in (test_results, test_streams, test_terminal, test_receipt, test_descendants, test_refused, test_many, test_sealed, test_fakes, test_monitor_killed, test_client_killed, test_bare_client_killed, test_daemon_killed,
                     test_anything_killed, test_monitor_killed, test_kills, test_terminated):
            if test in (test_bare_client_killed, test_daemon_killed) and backend != "docker":
                continue
            begun = time.monotonic()
            test(backend)
            if os.environ.get("WARDER_TIMES"):
                print("# %s %s %.1f" % (backend, test.__name__, time.monotonic() - begun))
        tell(until(lambda: not descendants(os.getpid())), "%s: no process is left" % backend, descendants(os.getpid()))
        after = engine_state()
        changed = {k: (set(map(str, after[k])) ^ set(map(str, state[k]))) for k in state if after[k] != state[k]}
        tell(not changed, "%s: the host's own engine has not noticed, and no mount or group is left" % backend, changed)


try:
    main()
finally:
    shutil.rmtree(work, ignore_errors=True)
finish()
