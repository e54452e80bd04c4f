#!/usr/bin/env python3
"""kills.py: every process of a host killed in the middle of every call, as TAP. Afterwards what should live lives, and nothing else: the
list of the host, its records, the sessions, the control groups and the mounts agree. WARDER names the program (build/warder)."""
import json, os, random, signal, subprocess, threading, time

from lib import Host, WARDER, SLOW, below, front, keeper_of, own_run_directory, parked_keepers, run_parts, sessions, tell, until, words

own_run_directory()  # other suites must not find the sessions of this one, nor end them

SMALL = {"version": 1, "environment": {"set": {"HOME": "/tmp"}}, "workingDirectory": "/tmp",
         "limits": {"wallTime": "1h", "memory": "64MiB", "cpus": 0.2, "pids": 32}, "syscalls": {"profile": "default"}}
NET = dict(SMALL, network={"mode": "allow", "allow": [{"host": "*.example.org", "ports": [443]}, {"host": "pypi.org", "ports": [443]}]})
SEED = int(os.environ.get("WARDER_TEST_SEED", "19"))


# ---- processes ----

def agent(host, sandbox):
    keeper = keeper_of(sandbox)
    for pid in below(keeper) if keeper else ():
        try:
            if os.readlink("/proc/%d/exe" % pid).startswith("/memfd:warder-agent"):
                return pid
        except OSError:
            pass
    return None


def edge(host, sandbox):
    keeper = keeper_of(sandbox)
    return next((pid for pid, name in below(keeper).items() if name == "warder-edge"), None) if keeper else None


def tool(host):
    """The process that works for the launcher in the stores, which are its descriptor 9, or for a model's client."""
    stores = os.path.join(host.state, "stores")
    for pid in below(host.process.pid):
        try:
            if pid != host.process.pid and (os.readlink("/proc/%d/fd/9" % pid) == stores or words(pid)[1:2] == ["mcp"]):
                return pid
        except OSError:
            pass
    return None


# ---- what is left ----

def groups(pids):
    """Leaves of Warder's control groups, by the processes that made them: others may use this machine, too."""
    found = set()
    for root, names, _ in os.walk("/sys/fs/cgroup"):
        found |= {os.path.join(root, name) for name in names if name.startswith("warder-") and name.split("-")[1] in pids}
    return found


def mounts():
    with open("/proc/self/mounts") as file:
        return sum(1 for _ in file)


def stray_snapshots(host, token):
    """What the list of snapshots, the records and the store do not have alike, and workspaces that are left. A restart sweeps them."""
    if not getattr(host, "swept", False):
        host.process.kill()
        host.restart()
        host.swept = True
    listed = {row["id"] for row in host.ask("GET", "/v1/snapshots", token)[1]}
    records = {name[:-5] for name in os.listdir(os.path.join(host.state, "snapshots"))}
    stores = os.path.join(host.state, "stores")
    kept, ways = set(), []
    for store in os.listdir(stores):
        kept |= {name[:-6] for name in os.listdir(os.path.join(stores, store, "snapshots", "manifests"))}
        ways += os.listdir(os.path.join(stores, store, "workspaces")) if os.path.isdir(os.path.join(stores, store, "workspaces")) else []
    return [] if listed == records == kept and not ways else [listed, records, kept, ways]


killed = set()


# ---- the calls ----

class Try:
    """A host, a sandbox, and one call whose process is killed meanwhile."""

    def __init__(self, host, token, template="small"):
        self.host, self.token = host, token
        status, self.made, _ = self.ask("POST", "/v2/sandboxes", {"templateID": template, "timeout": 600})
        if status != 201:
            raise RuntimeError("no sandbox: %s %s" % (status, self.made))
        self.id = self.made["sandboxID"]

    def ask(self, method, path, body=None, more=""):
        return self.host.ask(method, path, self.token, body if body is not None else b"", more)

    def inside(self, method, path, body):
        return self.ask(method, path, body, "X-Access-Token: %s\r\nE2b-Sandbox-Id: %s\r\nE2b-Sandbox-Port: 49983\r\n" %
                        (self.made["envdAccessToken"], self.id))


def execute(one):
    return one.ask("POST", "/v1/sandboxes/%s/executions" % one.id, {"argv": ["sh", "-c", "sleep 0.05; echo done"]})


def message(one, name, **arguments):
    """A message of a model's client. Any sandbox of the tenant can be its session."""
    return one.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}, "Mcp-Session-Id: %s\r\n" % one.id)


BATCH = {"language": "bash", "code": "sleep 0.05; read x; echo $x", "cases": [{"stdin": "1\n", "expected": "1"}, {"stdin": "2\n", "expected": "2"}], "template": "small"}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}
CALLS = {
    "create": lambda one: one.ask("POST", "/v2/sandboxes", {"templateID": "small", "timeout": 600}),
    "execute": execute,
    "run": lambda one: one.ask("POST", "/v1/run", {"argv": ["sleep", "0.05"], "template": "small"}),
    "run with artifacts": lambda one: one.ask("POST", "/v1/run", {"argv": ["sh", "-c", "head -c 3000000 /dev/zero; sleep 0.05"], "template": "small", "artifacts": True}),
    "judge": lambda one: one.ask("POST", "/v1/judge", BATCH),
    "judge with events": lambda one: one.ask("POST", "/v1/judge", BATCH, "Accept: text/event-stream\r\n"),
    "begin a model's session": lambda one: one.ask("POST", "/mcp?template=small", INITIALIZE),
    "a model's command": lambda one: message(one, "run_command", command="sleep 0.05; echo done"),
    "a model's code": lambda one: message(one, "run_code", language="bash", code="sleep 0.05; echo done", context="c"),
    "end a model's session": lambda one: one.ask("DELETE", "/mcp", more="Mcp-Session-Id: %s\r\n" % one.id),
    "write a file": lambda one: one.inside("POST", "/files?path=/tmp/f", b"x" * 300000),
    "list files": lambda one: one.inside("POST", "/filesystem.Filesystem/ListDir", {"path": "/usr/lib", "depth": 2}),
    "pause": lambda one: one.ask("POST", "/sandboxes/%s/pause" % one.id),
    "store the files": lambda one: one.ask("POST", "/sandboxes/%s/snapshots" % one.id, {"name": "more"}),
    "begin with a snapshot": lambda one: one.ask("POST", "/v2/sandboxes", {"templateID": "stored", "timeout": 600}),
    "remove a snapshot": lambda one: one.ask("DELETE", "/templates/more"),
    "set the time": lambda one: one.ask("POST", "/sandboxes/%s/timeout" % one.id, {"timeout": 500}),
    "create with a narrower network": lambda one: one.ask("POST", "/v2/sandboxes", {"templateID": "net", "timeout": 600, "network": {"allowOut": ["pypi.org"]}}),
    "replace its rules": lambda one: one.ask("PUT", "/sandboxes/%s/network" % one.id, {"allowOut": ["a.example.org"]}),
    "end": lambda one: one.ask("DELETE", "/sandboxes/%s" % one.id),
}
VICTIMS = {
    "launcher": lambda one: one.host.process.pid,
    "front": lambda one: front(one.host),
    "keeper": lambda one: keeper_of(one.id),
    "agent": lambda one: agent(one.host, one.id),
    "edge": lambda one: edge(one.host, one.id),
    "parked keeper": lambda one: (until(parked_keepers, 20) or [None])[0],
    "tool": lambda one: None,  # it begins during the call
}
ONLY = {"edge": ("replace its rules",), "parked keeper": ("create", "begin a model's session", "create with a narrower network", "end"), "tool": ("store the files", "begin with a snapshot", "remove a snapshot", "begin a model's session", "a model's command", "a model's code")}
ENDS = ("end", "end a model's session")


def listed(host, token):
    try:
        status, rows, _ = host.ask("GET", "/v1/sandboxes", token)
    except (OSError, ValueError):
        return None
    return sorted(row["id"] for row in rows) if status == 200 else None


def allowed(policy):
    return [(row["host"], row["ports"]) for row in policy.get("network", {}).get("allow", [])], [row["host"] for row in policy.get("network", {}).get("deny", [])]


def rules_of(sandbox):
    """As its keeper has them."""
    done = subprocess.run([WARDER, "session", "status", sandbox, "--json"], capture_output=True, text=True)
    return allowed(json.loads(done.stdout)["policy"]) if done.returncode == 0 else done.stderr


def shown(host, token, sandbox):
    status, data, _ = host.ask("GET", "/v1/sandboxes/" + sandbox, token)
    return allowed(data["policy"]) if status == 200 else data


def agree(host, token, sandbox):
    return rules_of(sandbox) == shown(host, token, sandbox)


def runs_on(one):
    """Programs of the sandbox that run, but no interpreters of contexts and no agent, and processes that serve its model's client."""
    rows = one.ask("GET", "/v1/sandboxes/%s/executions" % one.id)[1]
    programs = [row for row in rows if row["state"] == "running" and not row.get("context") and not row.get("agent")] if isinstance(rows, list) else []
    return programs + [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if "mcp" in words(pid)[1:2] and one.id in words(pid)]


def one_kill(host, token, call, victim, delay):
    """None: all is as it should be; else what is not."""
    one = Try(host, token, "net" if call == "replace its rules" else "small")
    if victim == "agent":
        one.inside("POST", "/filesystem.Filesystem/Stat", {"path": "/tmp"})
    pid = VICTIMS[victim](one)
    if victim != "tool" and not pid:
        one.ask("DELETE", "/sandboxes/%s" % one.id)
        return "there is no such process"
    answer = []

    def do():
        try:
            answer.append(CALLS[call](one)[0])
        except Exception as error:  # a connection that broke
            answer.append(type(error).__name__)
    caller = threading.Thread(target=do)
    caller.start()
    time.sleep(delay)
    while victim == "tool" and not pid and caller.is_alive():
        pid = tool(host)
    if pid:
        killed.add(str(pid))
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if victim == "launcher":
        host.restart()
    caller.join(60 * SLOW)
    if caller.is_alive():
        return "the call does not end"
    lives = victim != "keeper" and call not in ENDS
    # The wish to end it may have died with the process that had it.
    unheard = call in ENDS and victim in ("front", "launcher") and answer != [204]

    def settled():
        names = listed(host, token)
        records = sorted(name[:-5] for name in os.listdir(os.path.join(host.state, "sandboxes")) if name.endswith(".json"))
        return names is not None and names == records == sessions() and ((one.id in names) == lives or unheard)
    if not until(settled):
        return "list %s, records %s, sessions %s; the sandbox is %s, and should %s; answer %s" % (
            listed(host, token), os.listdir(os.path.join(host.state, "sandboxes")), sessions(), one.id, "live" if lives else "not live", answer)
    if lives and victim != "launcher":
        one.ask("POST", "/sandboxes/%s/resume" % one.id, {"timeout": 500})
        if not until(lambda: execute(one)[0] == 201):
            return "the sandbox lives, and executes nothing: %s" % (execute(one),)
    if not until(lambda: not runs_on(one)):
        return "programs of a call go on without it: %s" % (runs_on(one),)
    wrong = [name for name in listed(host, token) or () if victim != "edge" and not until(lambda: agree(host, token, name) or name not in (listed(host, token) or ()))]
    if wrong:
        return "the rules of the sandbox are not those that the host shows: %s" % [(rules_of(name), shown(host, token, name)) for name in wrong]
    for name in listed(host, token) or ():
        until(lambda: host.ask("DELETE", "/v1/sandboxes/" + name, token)[0] in (204, 404))
    return None


def every_process_in_every_call():
    host = Host("kills", more={"templates": {"small": SMALL, "net": NET}})
    token = host.tenant("killed", launchesPerSecond=1000)
    chance = random.Random(SEED)
    first = Try(host, token)
    first.inside("POST", "/files?path=/tmp/f", b"x" * 300000)
    if first.ask("POST", "/sandboxes/%s/snapshots" % first.id, {"name": "stored"})[0] != 201:
        raise RuntimeError("no snapshot")
    first.ask("DELETE", "/sandboxes/" + first.id)
    mounts_before = mounts()
    for call in [one for one in os.environ.get("WARDER_TEST_CALLS", "").split(",") if one] or CALLS:
        for victim in VICTIMS:
            if call not in ONLY.get(victim, CALLS):
                continue
            delays = [0] + [chance.random() * 0.12 for _ in range(int(os.environ.get("WARDER_KILLS", "1")))]
            wrong = [(round(delay, 4), why) for delay in delays for why in [one_kill(host, token, call, victim, delay)] if why]
            tell(not wrong, "%s: the %s is killed meanwhile" % (call, victim), wrong)
    tell(until(lambda: listed(host, token) == [] and sessions() == [], 20), "no sandbox is left", (listed(host, token), sessions()))
    # A run removes what processes that were killed have left; some of it at a time.
    swept = lambda: host.ask("POST", "/v1/run", token, {"argv": ["true"], "template": "small"})[0] == 200 and not groups(killed)
    tell(bool(killed) and until(swept, 60), "no control group is left", sorted(groups(killed))[:10])
    tell(until(lambda: not stray_snapshots(host, token), 60), "every snapshot is listed, and has its files; nothing else is on the disk", stray_snapshots(host, token))
    kept = {row["id"] for row in host.ask("GET", "/v1/artifacts", token)[1]}
    tell(until(lambda: set(os.listdir(os.path.join(host.state, "artifacts"))) == kept), "no file of an artifact is left that is not listed", (kept, os.listdir(os.path.join(host.state, "artifacts"))))
    tell(mounts() == mounts_before, "no mount is left", (mounts(), mounts_before))
    host.end()
    tell(until(lambda: parked_keepers() == []), "nor is one that was parked", parked_keepers())
    left = subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True).stdout
    tell(host.state not in left, "no process is left")


if __name__ == "__main__":
    run_parts([every_process_in_every_call])
