#!/usr/bin/env python3
"""Containers of an engine, whatever happens to the engine, its processes or the supervisor. TAP; as root.

  results   exit codes, signals, streams, limits: what a program does is told as it is, in the words that every backend uses
  engines   an engine that hangs, lies, fails or dies; a fake one lies over the real one, in a mount namespace of the test
  kills     the supervisor is killed at a random moment of a run; nothing is left, and the next run is as good as the first

After all of it the host has no process, mount, control group or file more than before, and the host's own engine has not noticed.
WARDER=build/warder; WARDER_ENGINES="podman docker" names the backends; WARDER_KILLS (10) says how often a supervisor is killed.
"""
import concurrent.futures, json, os, random, shutil, signal, subprocess, sys, tempfile, time

WARDER = os.path.realpath(os.environ.get("WARDER", "build/warder"))
BACKENDS = os.environ.get("WARDER_ENGINES", "podman docker").split()
KILLS = int(os.environ.get("WARDER_KILLS", "10"))
work = os.path.realpath(tempfile.mkdtemp(prefix="warder-engines-", dir=next(p for p in ("/srv", "/run/lock", "/tmp") if os.access(p, os.W_OK))))
count = 0
failed = 0


def tell(ok, name, why=""):
    global count, failed
    count += 1
    failed += not ok
    print(("ok" if ok else "not ok") + " %d - %s" % (count, name))
    if not ok and why:
        print("# " + str(why).replace("\n", "\n# "))
    sys.stdout.flush()


def skip(name, why):
    global count
    count += 1
    print("ok %d - %s # SKIP %s" % (count, name, why))


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
    """Pids of what has the marker in its command line: supervisor, shepherd, the program; not this test."""
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


def descendants(pid):
    """By parent, from /proc; the dead are none."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                text = open("/proc/%s/stat" % name).read()
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


def wait_for(what, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = what()
        if got:
            return got
        time.sleep(0.05)
    return what()


def groups(pid):
    """Control groups of a supervisor."""
    return [os.path.join(d, n) for d, names, _ in os.walk("/sys/fs/cgroup") for n in names if n.startswith("warder-%d-" % pid)]


def engine_state():
    """What an engine of the host would keep, and where a leak of ours would be seen."""
    state = {}
    for place in ("/run/libpod", "/run/containers", "/run/crun", "/run/runc", "/run/netns", "/var/lib/containers", "/dev/shm", "/etc/containers", "/etc/cni", "/var/lib/cni"):
        listing = []
        for d, names, files in os.walk(place):
            for n in sorted(names + files):
                st = os.lstat(os.path.join(d, n))
                listing.append((os.path.join(d, n), st.st_ino))
        state[place] = sorted(listing)
    state["mounts"] = sorted(line.split()[4] for line in open("/proc/self/mountinfo") if "warder" in line or "engine" in line)
    state["groups"] = sorted(os.path.join(d, n) for d, names, _ in os.walk("/sys/fs/cgroup") for n in names if "libpod" in n or n.startswith("crun-"))
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
    ("the host's name and processes are not there", [], ["/bin/sh", "-c", "ls -d /proc/[0-9]* | wc -l; test \"$(cat /proc/sys/kernel/hostname)\" != '%s'" % os.uname().nodename],
     {"status": "success"}),
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
    states = {c["status"] for c in receipt.get("controls", [])}
    tell(receipt.get("backend") == backend and receipt.get("isolation") == "containerEphemeral", "%s: the receipt names backend and isolation" % backend,
         json.dumps(receipt)[:300])
    tell(states == {"enforced", "hardening"}, "%s: all of the preset strict is enforced" % backend, states)


def test_descendants(backend):
    shared = os.path.join(work, "shared")
    os.makedirs(shared, exist_ok=True)
    result = run(backend, ["--timeout", "1s", "--workspace", shared + ":rw", "--set", "limits.disk=unlimited"],
                 ["/bin/sh", "-c", "setsid sh -c 'sleep 4; touch /workspace/late' & (sleep 4; touch /workspace/late) & wait"])
    time.sleep(5)
    tell(result["status"] == "timeout" and not os.path.exists(shared + "/late"), "%s: what was started dies with the container, also out of its session" % backend,
         json.dumps(result)[:300])


def test_refused(backend):
    for flags, word in ((["--allow", "example.org:443"], "network"), (["--workspace", work + ":rw", "--set", "limits.disk=1MiB"], "limits.disk")):
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

def fake(backend, name, script):
    """A command that shows the program instead of the engine's to what is started by it."""
    path = os.path.join(work, "fake-" + name)
    with open(path, "w") as f:
        f.write(script)
    os.chmod(path, 0o755)
    real = shutil.which(backend, path="/usr/bin:/usr/sbin:/usr/local/bin")
    real = os.path.realpath(real)
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", "mkdir -p %s/real && mount --bind %s %s/real && mount --bind %s %s && exec \"$@\""
            % (work, os.path.dirname(real), work, path, real), "sh"]


def test_fakes(backend):
    os.chmod(work, 0o755)
    marker = "hanging-%d" % os.getpid()
    shared = os.path.join(work, "hung")
    os.makedirs(shared, exist_ok=True)
    # The last two take as long as the patience of the supervisor: all of them at once.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        failing = pool.submit(run, backend, [], ["/bin/true"],
                              before=fake(backend, "failing", "#!/bin/sh\nprintf 'Error: \\033[31mthe disk is full\\n' >&2\nexit 125\n"))
        lying = pool.submit(run, backend, [], ["/bin/true"], before=fake(backend, "lying", "#!/bin/sh\nexit 0\n"))
        hanging = pool.submit(run, backend, [], ["/bin/true", marker], before=fake(backend, "hanging", "#!/bin/sh\nsleep 100000 &\nexec sleep 100000\n"))
        slow = pool.submit(run, backend, ["--workspace", shared + ":rw", "--set", "limits.disk=unlimited"], ["/bin/touch", "/workspace/ran"],
                           before=fake(backend, "slow", "#!/bin/sh\n%s/real/%s \"$@\"\nexec sleep 100000\n" % (work, backend)))
    result = failing.result()
    message = result["error"]["message"]
    tell(result["status"] == "rejected" and "the disk is full" in message and "\033" not in message, "%s: an engine that fails is quoted, without its control characters" % backend, message)
    result = lying.result()
    tell(result["status"] == "rejected" and "door" in result["error"]["message"], "%s: an engine that starts nothing and says that all is well" % backend, json.dumps(result)[:300])
    result = hanging.result()
    tell(result["status"] == "rejected" and not processes(marker), "%s: an engine that hangs ends with the patience of its supervisor" % backend, json.dumps(result)[:300])
    # It has started the container, and does not come back: the program has not run, and does not later.
    result = slow.result()
    tell(result["status"] == "rejected" and not os.path.exists(shared + "/ran"), "%s: an engine that hangs after the start: the program never runs" % backend, json.dumps(result)[:300])


def start_marked(backend, script):
    marker = "marked-%d-%d" % (os.getpid(), random.randrange(1 << 30))
    p = subprocess.Popen(command(backend, [], ["/bin/sh", "-c", script + " # " + marker]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return p, marker


def in_container(marker):
    """The program itself: its last line shows up below the shepherd."""
    for pid in processes(marker):
        try:
            if os.readlink("/proc/%d/exe" % pid).split("/")[-1] in ("dash", "bash", "busybox", "sh"):
                return pid
        except OSError:
            pass
    return 0


def test_monitor_killed(backend):
    p, marker = start_marked(backend, "sleep 3; echo whole; exit 5")
    program = wait_for(lambda: in_container(marker))
    monitor = [pid for pid, comm in descendants(p.pid).items() if comm in ("conmon", "containerd-shim", "containerd", "dockerd")]
    for pid in monitor:
        os.kill(pid, signal.SIGKILL)
    result = json.loads(p.communicate(timeout=100)[0])
    tell(program and monitor and matches(result, {"exitCode": 5, "stdout": "whole\n"}), "%s: the engine's own processes are killed: the run goes on, its end is told as it is" % backend,
         "%s %s %s" % (program, monitor, json.dumps(result)[:400]))
    tell(not processes(marker), "%s: and nothing is left" % backend, processes(marker))


def test_shepherd_killed(backend):
    p, marker = start_marked(backend, "sleep 1000")
    program = wait_for(lambda: in_container(marker))
    shepherd = [pid for pid, comm in descendants(p.pid).items() if comm == "warder-shepherd"]
    below = list(descendants(shepherd[0])) if shepherd else []
    for pid in shepherd:
        os.kill(pid, signal.SIGKILL)
    out = p.communicate(timeout=100)[0]
    result = json.loads(out)
    left = wait_for(lambda: not [pid for pid in below if os.path.exists("/proc/%d" % pid) and pid in descendants(1)], 10)
    tell(program and shepherd and result["status"] != "success" and left and not processes(marker), "%s: the shepherd is killed: all dies with it, and the result is no success" % backend,
         json.dumps(result)[:400])


# ---- kills ----

def test_kills(backend):
    worst = []
    for i in range(KILLS):
        # Of a run that takes about a third of a second to start, at all of its stages and a while after.
        p, marker = start_marked(backend, "sleep 1000")
        time.sleep(random.uniform(0, 0.8))
        p.kill()
        p.wait()
        if not wait_for(lambda: not processes(marker), 20):
            worst.append((i, processes(marker)))
        subprocess.run([WARDER, "doctor", "--clean"], capture_output=True, timeout=100)
        if groups(p.pid):
            worst.append((i, groups(p.pid)))
    tell(not worst, "%s: the supervisor is killed %d times at a random moment: nothing is left" % (backend, KILLS), worst)
    result = run(backend, [], ["/bin/echo", "fine"])
    tell(text_of(result.get("stdout", {})) == "fine\n", "%s: and the next run is as good as the first" % backend, json.dumps(result)[:300])


def test_terminated(backend):
    p, marker = start_marked(backend, "trap '' TERM INT; sleep 1000")
    wait_for(lambda: in_container(marker))
    p.terminate()
    p.wait(timeout=60)
    tell(wait_for(lambda: not processes(marker), 20), "%s: SIGTERM to the client ends the container, not only the client" % backend, processes(marker))
    tell(not groups(p.pid), "%s: and takes its control groups away" % backend, groups(p.pid))


def main():
    if os.geteuid() != 0:
        skip("all of it", "engines are driven as root only")
        return
    for backend in BACKENDS:
        explained = json.loads(subprocess.run([WARDER, "explain", "--backend", backend, "--json"], capture_output=True, timeout=60).stdout)
        if not explained.get("wouldRun"):
            skip("%s: all of it" % backend, explained.get("refusal"))
            continue
        state = engine_state()
        for test in (test_results, test_streams, test_receipt, test_descendants, test_refused, test_many, test_fakes, test_monitor_killed, test_shepherd_killed, test_kills,
                     test_terminated):
            test(backend)
        after = engine_state()
        changed = {k: (set(map(str, after[k])) ^ set(map(str, state[k]))) for k in state if after[k] != state[k]}
        tell(not changed, "%s: the host's own engine has not noticed, and no mount or group is left" % backend, changed)


try:
    main()
finally:
    shutil.rmtree(work, ignore_errors=True)
print("1..%d" % count)
sys.exit(failed > 0)
