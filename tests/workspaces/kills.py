#!/usr/bin/env python3
"""kills.py patch|commit WARDER DIRECTORY TIMES: a command that changes several files is killed at random moments of its life, TIMES times.

patch: after each kill the next command finds all files old or all new; what was acknowledged is new.
commit: after each kill each file is old or new, and nothing else has come; a commit after it makes all of them new.
Both also count how often the kill came in the middle, and leave nothing behind. Exit status 0, or 1 with what was found."""
import os, random, signal, subprocess, sys, time

what, warder, place, times = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
FILES = 12
os.makedirs(place, exist_ok=True)
os.environ["WARDER_STORE"] = os.path.join(place, "store")


def run(*arguments, **more):
    return subprocess.run([warder, *arguments], stdin=subprocess.DEVNULL if "input" not in more else None, capture_output=True, text=True, **more)


def must(*arguments, **more):
    ended = run(*arguments, **more)
    if ended.returncode != 0:
        sys.exit(f"{arguments}: status {ended.returncode}: {ended.stderr}")
    return ended.stdout


def kill(arguments, after, given=None):
    """Whether it had ended well before the kill."""
    process = subprocess.Popen([warder, *arguments], stdin=open(given) if given else subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(after)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return process.wait() == 0


def text(path):
    with open(path) as file:
        return file.read()


def write(path, content):
    with open(path, "w") as file:
        file.write(content)


def took(act):
    start = time.monotonic()
    act()
    return time.monotonic() - start


def patches():
    """Files 0 to 9 are changed, 10 is removed, 11 is new."""
    tree = must("workspace", "create", "job").strip()
    given = os.path.join(place, "patch")
    names = [os.path.join(tree, "work", f"f{i}") for i in range(FILES)]
    lines = []
    for i in range(FILES - 2):
        lines += [f"--- a/work/f{i}", f"+++ b/work/f{i}", "@@ -1 +1 @@", "-old", "+new"]
    lines += ["--- a/work/f10", "+++ /dev/null", "@@ -1 +0,0 @@", "-old", "--- /dev/null", "+++ b/work/f11", "@@ -0,0 +1 @@", "+new"]
    write(given, "\n".join(lines) + "\n")

    def reset():
        for name in names[:-1]:
            write(name, "old\n")
        if os.path.exists(names[-1]):
            os.unlink(names[-1])

    def state():
        return "".join("-" if not os.path.exists(name) else text(name)[0] for name in names)

    old, new = "o" * (FILES - 1) + "-", "n" * (FILES - 2) + "-n"
    reset()
    usual = took(lambda: must("workspace", "patch", "job", given))
    if state() != new:
        sys.exit("the patch does not work: " + state())
    between = applied = 0
    for i in range(times):
        reset()
        done = kill(["workspace", "patch", "job"], random.uniform(0, 1.2) * usual, given)
        found = state()
        between += found not in (old, new)
        applied += found == new
        must("workspace", "list", "job")
        if state() not in (old, new) or (done and state() != new):
            sys.exit(f"kill {i}: {found}, and after the next command {state()}{' although it was acknowledged' if done else ''}")
    left = [name for name in os.listdir(os.path.dirname(tree)) if name.startswith(".patch-")]
    must("workspace", "create", "job")
    left += [name for name in os.listdir(os.path.dirname(tree)) if name.startswith(".new-")]
    print(f"# note: {times} kills of a patch: {between} in the middle, {applied} after it")
    return left


def commits():
    """A set of changes is made anew by a run each ten times, and committed to a fresh copy of the directory."""
    job, changes = os.path.join(place, "job"), os.path.join(place, "set")
    os.makedirs(job)
    script = "for i in 0 1 2 3 4 5 6 7 8 9; do seq 20000 >f$i; done; rm f10; mkdir d; echo new >d/f11"
    grown = "".join(f"{n}\n" for n in range(1, 20001))
    easy = [word for field in ("memory", "swap", "cpus", "pids", "cpuTime") for word in ("--prefer", "limits." + field)]
    names = [f"{job}/f{i}" for i in range(11)] + [job + "/d/f11"]

    def state():
        return "".join("-" if not os.path.exists(name) else "o" if text(name) == "old\n" else "n" if text(name) in (grown, "new\n") else "?" for name in names)

    def reset():
        subprocess.run(["rm", "-rf", changes, job + "/d"], check=True)
        for name in names[:-1]:
            write(name, "old\n")
        must("run", *easy, "--workspace", job + ":overlay", "--changes", changes, "--", "sh", "-c", script)

    new = "n" * 10 + "-n"
    reset()
    usual = took(lambda: must("changes", "commit", changes))
    if state() != new:
        sys.exit("the commit does not work: " + state())
    between = applied = 0
    for i in range(times):
        reset()
        done = kill(["changes", "commit", changes], random.uniform(0, 1.2) * usual)
        found = state()
        strange = [name for name in os.listdir(job) + (os.listdir(job + "/d") if os.path.isdir(job + "/d") else [])
                   if name not in ("d", "f11") and not name.startswith(".warder-") and f"{job}/{name}" not in names]
        between += found not in ("o" * 11 + "-", new)
        applied += found == new
        if "?" in found or strange or (done and found != new):
            sys.exit(f"kill {i}: {found} {strange}{' although it was acknowledged' if done else ''}")
        must("changes", "commit", changes)
        if state() != new:
            sys.exit(f"kill {i}: {found}, and after another commit {state()}")
        left = [name for name in os.listdir(job) + os.listdir(job + "/d") if name.startswith(".warder-")]
        if left:
            return left
    print(f"# note: {times} kills of a commit: {between} in the middle, {applied} after it")
    return []


left = patches() if what == "patch" else commits()
if left:
    sys.exit(f"left behind: {left}")
