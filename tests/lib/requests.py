#!/usr/bin/env python3
"""requests.py many|memory|killed|signal [FLAG...]: `warder tool --stream` with many requests, and what is left when it is ended.

Prints one line that ends in "as expected", or what was not. FLAGs are the tool's.
"""
import glob
import json
import os
import signal
import subprocess
import sys
import time

SLOW = max(1, int(float(os.environ.get("WARDER_TEST_SLOW", "1"))))


def sample(i):
    """A request, and what its result must show: status, exit code, standard output, output, error kind."""
    kinds = [
        ({"language": "python", "code": "print(int(input()) ** 2)", "stdin": f"{i}\n"}, ("success", 0, f"{i * i}\n", None, None)),
        ({"language": "bash", "code": "echo $(( $1 + 1 ))", "args": [str(i)]}, ("success", 0, f"{i + 1}\n", None, None)),
        ({"language": "perl", "code": f"print {i} * 3"}, ("success", 0, str(i * 3), None, None)),
        ({"language": "python", "code": f"print('part {i}'); raise SystemExit({i % 100 + 1})"},
         ("failed", i % 100 + 1, f"part {i}\n", None, None)),
        ({"language": "python", "code": "import json, os\nv = json.load(open(os.environ['WARDER_INPUT']))\n"
                                        "json.dump([v, v], open(os.environ['WARDER_RESULT'], 'w'))", "input": {"i": i}},
         ("success", 0, "", [{"i": i}, {"i": i}], None)),
        ({"language": "bash", "code": "cat a/b.txt", "files": [{"name": "a/b.txt", "content": f"file {i}"}]},
         ("success", 0, f"file {i}", None, None)),
        ({"language": "klingon", "code": "x"}, ("rejected", None, None, None, "unsupportedLanguage")),
        ({"language": "perl", "code": "x", "scopes": ["code:execute:python"]}, ("rejected", None, None, None, "rejected")),
        ({"language": "bash", "code": f"kill -SEGV $$"}, ("failed", None, "", None, None)),
        ({"language": "bash", "code": f"echo {i}; sleep 1000", "timeoutSecs": 2 * SLOW}, ("timeout", None, f"{i}\n", None, None)),
    ]
    request, expected = kinds[i % len(kinds)]
    return dict(request, id=f"r{i}"), expected


def seen(result, expected):
    """What out of time printed before depends on how busy the machine is: all of it, or nothing."""
    if expected[0] == "timeout" and not result.get("stdout", {}).get("text"):
        return (result["status"], *expected[1:])
    return (result["status"], result.get("exitCode"), result.get("stdout", {}).get("text"), result.get("output"),
            result.get("error", {}).get("kind"))


def many(flags):
    count = 200 // SLOW
    samples = [sample(i) for i in range(count)]
    lines = "".join(json.dumps(request) + "\n" for request, _ in samples)
    done = subprocess.run(["warder", "tool", "--stream", "--timeout", "300s", *flags], input=lines,
                          capture_output=True, text=True, check=False)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    expected = {request["id"]: outcome for request, outcome in samples}
    order = [result["id"] for result in results]
    faults = [f"{result['id']}: {seen(result, expected[result['id']])} is not {expected[result['id']]}" for result in results
              if seen(result, expected[result["id"]]) != expected[result["id"]]]
    if "--unordered" not in flags and order != list(expected):
        faults.append("not in the order of the requests")
    if sorted(order) != sorted(expected):
        faults.append(f"{len(order)} results of {count} requests")
    stats = json.loads(done.stderr.splitlines()[-1])
    outcomes = [outcome[0] for outcome in expected.values()]
    wanted = {"total": count, "success": outcomes.count("success"), "failed": count - outcomes.count("success"),
              "timeout": outcomes.count("timeout"), "rejected": outcomes.count("rejected")}
    told = {key: stats[key] for key in wanted}
    if told != wanted or done.returncode != 0:
        faults.append(f"exit status {done.returncode}, {told} is not {wanted}")
    return faults


def started(flags, **streams):
    return subprocess.Popen(["warder", "tool", "--stream", *flags], stdin=subprocess.PIPE, text=True, **streams)


def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * 4


def memory(flags):
    """The parent's memory after some requests, and after ten times as many."""
    sizes = []
    with started(["--parallel", "4", *flags], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tool:
        for count in (50, 500):
            for i in range(count):
                tool.stdin.write(json.dumps({"id": i, "language": "klingon", "code": "x" * 20000}) + "\n")
                tool.stdin.flush()
                if json.loads(tool.stdout.readline())["id"] != i:
                    return ["a result of another request"]
            sizes.append(resident(tool.pid))
        tool.stdin.close()
    return [] if sizes[1] - sizes[0] <= 64 else [f"{sizes[0]} KiB became {sizes[1]} KiB"]


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as listed:
        return [int(child) for child in listed.read().split()]


def with_words(words):
    """Processes of the host that have it in their command line."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as cmdline:
                if words.encode() in cmdline.read():
                    found.append(int(path.split("/")[2]))
        except OSError:
            pass
    return found


def wait_until(condition):
    for _ in range(600 * SLOW):
        if condition():
            return True
        time.sleep(0.05)
    return False


def groups_of(pids):
    found = []
    for directory, names, _ in os.walk("/sys/fs/cgroup"):
        found += [f"{directory}/{name}" for name in names for pid in pids if name.startswith(f"warder-{pid}-")]
    return found


def ended_by(number, flags):
    """Sleepers, a few of them waiting for their turn, and one that is done before; then the tool is sent the signal."""
    words = f"sleeper {os.getpid()}"
    faults = []
    with started(["--parallel", "6", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tool:
        tool.stdin.write(json.dumps({"id": "first", "language": "bash", "code": "echo 1"}) + "\n")
        for i in range(8):
            tool.stdin.write(json.dumps({"id": i, "language": "bash", "code": f"exec -a '{words}' sleep 1000"}) + "\n")
        tool.stdin.flush()
        first = tool.stdout.readline()
        if not wait_until(lambda: len(with_words(words)) == 6):
            faults.append(f"{len(with_words(words))} of 6 sleepers began")
        workers = children(tool.pid)
        tool.send_signal(number)
        rest = tool.stdout.read()
        tool.wait()
    if json.loads(first)["id"] != "first" or rest:
        faults.append(f"results: {first}{rest}")
    if not wait_until(lambda: not with_words(words)):
        faults.append(f"left running: {with_words(words)}")
    alive = lambda: [pid for pid in workers if os.path.exists(f"/proc/{pid}/exe")]
    if not wait_until(lambda: not alive()):
        faults.append(f"workers left: {alive()}")
    if not wait_until(lambda: not groups_of(workers)):
        faults.append(f"control groups left: {groups_of(workers)}")
    if tool.returncode != (-number if number == signal.SIGKILL else 128 + number):
        faults.append(f"exit status {tool.returncode}")
    return faults


def main():
    what, flags = sys.argv[1], sys.argv[2:]
    if what == "killed":
        faults = ended_by(signal.SIGKILL, flags)
    elif what == "signal":
        faults = ended_by(signal.SIGTERM, flags)
    else:
        faults = {"many": many, "memory": memory}[what](flags)
    print(*(faults or [f"{what}: as expected"]), sep="\n")


main()
