#!/usr/bin/env python3
"""parked.py: sandboxes that an execution host starts before a client asks for them, as TAP."""
import json, os, signal, subprocess, time

from lib import ROOT, WARDER, Host, below, events, own_run_directory, parked_keepers, run_parts, skip, state_of, tell, until, words, work

own_run_directory()  # whose sessions are those of this suite alone
PREFERRED = {} if ROOT else {"enforcement": {"limits": "preferred"}}
SMALL = dict({"version": 1, "limits": {"wallTime": "1h", "memory": "64MiB", "pids": 32}, "syscalls": {"profile": "default"}}, **PREFERRED)
CREATE = {"template": "small", "timeoutMs": 600000}


def metric(host, watcher, name):
    text = host.ask("GET", "/v1/metrics", watcher)[1].decode()
    return int(dict(line.split(" ") for line in text.splitlines() if line and line[0] != "#")["warder_sandboxes_" + name])


def counts(host, watcher):
    """(sandboxes that are parked, that were handed out)."""
    return metric(host, watcher, "parked"), metric(host, watcher, "handed_out_total")


def create(host, token, more=None):
    status, made, _ = host.ask("POST", "/v1/sandboxes", token, dict(CREATE, **(more or {})))
    return made["id"] if status == 201 else (status, made)


def begin(host, token, watcher, more=None):
    """Two sandboxes with a policy, after which another one is parked."""
    made = [create(host, token, more) for _ in range(2)]
    return made if until(lambda: counts(host, watcher)[0] >= 1) else made + ["none is parked"]


def settle(host, watcher):
    """Wait until no sandbox is being parked; one may begin a moment after another one was."""
    equal = lambda: len(parked_keepers()) == counts(host, watcher)[0]
    until(lambda: equal() and (time.sleep(1), equal())[1])


def kill(pid, number):
    """The host may have dropped a parked sandbox meanwhile."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def was_parked(sandbox):
    return "parkedUs" in description(sandbox)["receipt"]


def description(sandbox):
    return json.loads(subprocess.run([WARDER, "session", "status", sandbox, "--json"], check=True, capture_output=True, text=True).stdout)


def executes(host, token, sandbox, *argv):
    """The output of a program in it."""
    status, began, _ = host.ask("POST", "/v1/sandboxes/%s/executions" % sandbox, token, {"argv": list(argv)})
    if status != 201:
        return began
    shown = events(host.ask("GET", "/v1/sandboxes/%s/executions/%s/output" % (sandbox, began["id"]), token)[1])
    return "".join(data["text"] for name, data in shown if name == "output")


def serve(name, **more):
    host = Host(name, more={"templates": {"small": SMALL}}, **more)
    return host, host.tenant("me", launchesPerSecond=1000), host.tenant("watcher", ("--scopes", "metrics"))


def handed_out():
    host, token, watcher = serve("handed")
    tell(counts(host, watcher) == (0, 0) and parked_keepers() == [], "a host begins with none", counts(host, watcher))
    first, twice = create(host, token), create(host, token)
    tell(not was_parked(first) and not was_parked(twice) and metric(host, watcher, "missed_total") == 2, "the first two sandboxes with a policy were not parked", description(first)["receipt"])
    tell(until(lambda: counts(host, watcher)[0] >= 1) and len(parked_keepers()) >= 1, "after them, another one is parked")
    tell({row["id"] for row in host.ask("GET", "/v1/sandboxes", token)[1]} == {first, twice}, "which no list shows")
    second = create(host, token, {"timeoutMs": 500000})
    found = description(second)
    read = {row["readAt"] for row in found["receipt"]["controls"] if "readAt" in row}
    tell(counts(host, watcher)[1] == 1 and found["name"] == second and found["receipt"].get("parkedUs", 0) > 0 and read == {"park", "handOut"},
         "the next one was, and its receipt says what was read again", (found["name"], found["receipt"].get("parkedUs"), read))
    tell(found["remainingUs"] > 86000 * 10**6 and found["ageUs"] < found["receipt"]["parkedUs"] + 60 * 10**6, "its time begins when it is handed out", (found["ageUs"], found["remainingUs"]))
    tell(executes(host, token, second, "echo", "hello") == "hello\n", "a program runs in it")
    put = host.ask("PUT", "/v1/sandboxes/%s/files?path=/tmp/f" % second, token, b"x" * 70000)[0]
    tell(put == 200 and len(host.ask("GET", "/v1/sandboxes/%s/files?path=/tmp/f" % second, token)[1]) == 70000, "files are written and read", put)
    tell(executes(host, token, create(host, token), "ls", "/tmp") == "", "and no other sandbox has them")
    until(lambda: counts(host, watcher)[0] >= 1)
    before, other = counts(host, watcher)[1], host.tenant("other", launchesPerSecond=1000)
    theirs = create(host, other)
    tell(counts(host, watcher)[1] == before and not was_parked(theirs), "another tenant does not get one of this tenant's")
    narrow = create(host, token, {"policy": dict(SMALL, limits=dict(SMALL["limits"], memory="32MiB"))})
    tell(not was_parked(narrow), "nor is it given for another policy")
    host.process.terminate()
    host.process.wait()
    tell(until(lambda: parked_keepers() == [], 60), "with the host, they end", parked_keepers())
    host.restart()
    tell({row["id"] for row in host.ask("GET", "/v1/sandboxes", token)[1]} >= {first, second}, "and the sandboxes that clients have go on")
    host.end()


def stale():
    """What a sandbox shows of the host is what is there when a client asks for it."""
    shown = os.path.join(work, "shown")
    os.mkdir(shown, 0o755)
    host = Host("stale", more={"templates": {"small": dict(SMALL, filesystem={"paths": {"readOnly": [shown + ":/shown"]}})}})
    token, watcher = host.tenant("me", launchesPerSecond=1000), host.tenant("watcher", ("--scopes", "metrics"))
    begin(host, token, watcher)
    os.rename(shown, shown + ".old")
    os.mkdir(shown, 0o755)
    open(os.path.join(shown, "new"), "w").close()
    made = create(host, token)
    tell(executes(host, token, made, "ls", "/shown") == "new\n", "a parked sandbox with a directory that was replaced is not used", made)
    host.end()


def ends():
    host, token, watcher = serve("ends")
    tell(len(begin(host, token, watcher)) == 2, "one is parked")
    for pid in parked_keepers():
        kill(pid, signal.SIGKILL)
    made = create(host, token)
    tell(isinstance(made, str) and executes(host, token, made, "echo", "hello") == "hello\n", "if the keeper of a parked one is killed, the client gets another one", made)
    create(host, token)
    tell(until(lambda: counts(host, watcher)[0] >= 1), "and another one is parked")
    subprocess.run([WARDER, "tenant", "revoke", "me", "--state", host.state], check=True)
    tell(until(lambda: parked_keepers() == []), "a tenant that was revoked has none")
    token = host.tenant("next", launchesPerSecond=1000)
    tell(until(lambda: isinstance(create(host, token), str)) and isinstance(create(host, token), str) and until(parked_keepers), "the next tenant has one")
    host.process.kill()
    host.process.wait()
    tell(until(lambda: parked_keepers() == []), "when the launcher is killed, they end")
    host.restart()
    host.end()


def held():
    """A parked sandbox whose keeper does not answer."""
    host, token, watcher = serve("held")
    begin(host, token, watcher)
    settle(host, watcher)
    stopped = parked_keepers()
    for pid in stopped:
        kill(pid, signal.SIGSTOP)
    made = create(host, token)
    tell(isinstance(made, str) and executes(host, token, made, "echo", "hello") == "hello\n" and not was_parked(made), "if the keeper of a parked one does not answer, the client gets another one", made)
    for pid in stopped:
        kill(pid, signal.SIGCONT)
    tell(until(lambda: any(words(pid)[:3] != ["warder", "session", "keeper"] for pid in stopped)), "the one that it did not get ends when it can", stopped)
    tell(executes(host, token, made, "echo", "again") == "again\n", "and the client's goes on")
    host.end()


def edges():
    """What connects for a sandbox may die before the sandbox has a client."""
    policy = dict(SMALL, network={"mode": "allow", "allow": [{"host": "*.example.org", "ports": [443]}]})
    host = Host("edges", more={"templates": {"small": policy}})
    token, watcher = host.tenant("me", launchesPerSecond=1000), host.tenant("watcher", ("--scopes", "metrics"))
    begin(host, token, watcher)
    settle(host, watcher)
    found = [pid for keeper in parked_keepers() for pid, name in below(keeper).items() if name == "warder-edge"]
    for pid in found:
        kill(pid, signal.SIGKILL)
    until(lambda: all(state_of(pid) in "ZX" for pid in found))
    made = create(host, token)
    tell(bool(found) and isinstance(made, str) and not was_parked(made), "a parked sandbox without its edge is not used", (found, made))
    status, made, _ = host.ask("POST", "/v2/sandboxes", token, {"templateID": "small", "timeout": 600, "network": {"allowOut": ["a.example.org"]}})
    tell(status == 201, "nor for a sandbox with a narrower network", (status, made))
    host.end()


def policies():
    """A tenant that has a policy of its own for each sandbox takes nothing of the stock."""
    host, token, watcher = serve("policies")
    for i in range(40):
        made = create(host, token, {"env": {"NUMBER": str(i)}})
        host.ask("DELETE", "/v1/sandboxes/%s" % made, token)
    tell(len(begin(host, token, watcher)) == 2, "after many policies, each of them used once, a sandbox is parked for one that is used twice")
    made = create(host, token)
    tell(was_parked(made) and metric(host, watcher, "parked") <= 2, "and for no other one", (made, counts(host, watcher)))
    host.end()


def agents_of_parked():
    """Of each parked sandbox, whether it has an agent."""
    return [any(os.path.exists("/proc/%d/exe" % pid) and os.readlink("/proc/%d/exe" % pid).startswith("/memfd:warder-agent") for pid in below(keeper)) for keeper in parked_keepers()]


def agents():
    """A tenant whose sandboxes end without a use of their agents gets them without."""
    if not ROOT:
        skip("sandboxes that do not use their agents are parked without", "only root sees which program a process of a sandbox is")
        return
    host, token, watcher = serve("agents")
    first = begin(host, token, watcher)
    tell(until(lambda: agents_of_parked() and all(agents_of_parked())), "a sandbox is parked with its agent", agents_of_parked())

    def one():
        """A sandbox that gets a file, which a script writes, and ends."""
        path = "/v1/sandboxes/%s" % create(host, token)
        return host.ask("PUT", path + "/files?path=/tmp/f", token, b"x")[0] == 200 and host.ask("DELETE", path, token)[0] == 204

    parked = lambda: until(lambda: counts(host, watcher)[0] >= 1)
    tell(one() and parked() and until(lambda: any(agents_of_parked())), "so is the next one, after one that ended without a use of it", agents_of_parked())
    tell(until(lambda: one() and parked() and agents_of_parked() and not any(agents_of_parked()), 30), "after sixteen, the next ones are parked without", agents_of_parked())
    made = create(host, token)
    path = "/v1/sandboxes/%s/files?path=/tmp/f" % made
    tell(was_parked(made) and host.ask("PUT", path, token, b"x" * 70000)[0] == 200 and len(host.ask("GET", path, token)[1]) == 70000, "one of these starts its agent with its first file", made)
    tell(executes(host, token, made, "cat", "/tmp/f") == "x" * 70000, "and programs see the file")
    host.ask("DELETE", "/v1/sandboxes/%s" % made, token)
    tell(until(lambda: one() and parked() and agents_of_parked() and all(agents_of_parked()), 30), "then sandboxes are parked with agents again", agents_of_parked())
    for sandbox in first:
        host.ask("DELETE", "/v1/sandboxes/%s" % sandbox, token)
    host.end()


def none():
    host = Host("none", more={"templates": {"small": SMALL}}, parkedSandboxes=0)
    token, watcher = host.tenant("me", launchesPerSecond=1000), host.tenant("watcher", ("--scopes", "metrics"))
    for _ in range(3):
        create(host, token)
    time.sleep(1)
    tell(counts(host, watcher) == (0, 0) and parked_keepers() == [], "with \"parkedSandboxes\": 0, none is parked")
    host.end()


run_parts((handed_out, stale, ends, held, edges, policies, agents, none))
