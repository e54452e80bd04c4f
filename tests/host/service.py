#!/usr/bin/env python3
"""A host under a service manager, without one: the socket that is passed, what is reported, the units, and the end of all sandboxes.

Sessions of root are below /run/warder; the suite has one of its own, in a mount namespace.
"""
import json, os, shutil, signal, socket, subprocess, sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
from serving import ask, fetch, own_run_directory, work
from tap import ROOT, SLOW, WARDER, finish, skip, tell

state = os.path.join(work, "state")
processes = []


def start(passed, env=(), words=(), pid=None, fds="1"):
    """serve with descriptor 3, as a service manager starts it. LISTEN_PID is known only after the fork."""
    def before():
        os.dup2(passed, 9)
        os.dup2(9, 3, inheritable=True)
        os.environ.update(dict({"LISTEN_PID": str(pid or os.getpid()), "LISTEN_FDS": fds}, **dict(env)))
        os.execv(WARDER, [WARDER, "serve", "--listen", "inherited", "--state", state] + list(words))
    processes.append(subprocess.Popen(["true"], preexec_fn=before, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, close_fds=False, text=True))
    return processes[-1]


def listener(address="127.0.0.1", how=socket.SOCK_STREAM):
    made = socket.socket(socket.AF_INET, how)
    made.bind((address, 0))
    if how == socket.SOCK_STREAM:
        made.listen(64)
    return made


def asked(port, token, path, body=None, method=None):
    """The JSON of an answer."""
    return ask(port, method or ("POST" if body else "GET"), path, body, token)[1]


def activation():
    token = subprocess.run([WARDER, "tenant", "add", "me", "--state", state], capture_output=True, text=True).stdout.strip()
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(os.path.join(work, "notify"))
    manager.settimeout(60 * SLOW)
    passed = listener()
    port = passed.getsockname()[1]
    process = start(passed.fileno(), {"NOTIFY_SOCKET": os.path.join(work, "notify")})
    # A client that comes before the launcher serves waits in the socket.
    early = asked(port, token, "/v1/host")
    tell(early and early["tenant"]["name"] == "me", "a client that came before the start is served", early)
    tell(manager.recv(100) == b"READY=1", "the launcher reports that it is ready")
    tell(process.stdout.readline() == "ready: http://127.0.0.1:%d\n" % port, "and its address is that of the socket")
    ids = [asked(port, token, "/v1/sandboxes", "{}")["id"] for _ in range(3)]
    process.send_signal(signal.SIGTERM)
    tell(manager.recv(100) == b"STOPPING=1" and process.wait(60 * SLOW) == 0, "it reports that it ends")
    manager.close()
    process = start(passed.fileno())
    tell(process.stdout.readline().startswith("ready"), "the next launcher takes the same socket")
    rows = [row["id"] for row in asked(port, token, "/v1/sandboxes")]
    tell(sorted(rows) == sorted(ids), "and the sandboxes of the first one", rows)
    done = subprocess.run([WARDER, "serve", "--stop-all", "--state", state], capture_output=True, text=True)
    tell(done.returncode == 125 and "another" in done.stderr, "--stop-all is refused while the host runs", done.stderr)
    tell(len(asked(port, token, "/v1/sandboxes")) == 3, "and ends nothing")
    process.terminate()
    process.wait(60 * SLOW)
    return ids


def stop_all(ids):
    listed = lambda: [row["name"] for row in json.loads(subprocess.run([WARDER, "session", "list", "--json"], capture_output=True).stdout)]
    tell(set(ids) <= set(listed()), "without a host, the sandboxes live", listed())
    # A record whose sandbox is gone.
    subprocess.run([WARDER, "session", "stop", ids[0]], capture_output=True)
    done = subprocess.run([WARDER, "serve", "--stop-all", "--state", state], capture_output=True, text=True)
    tell(done.returncode == 0 and done.stdout == "ended: 3\n", "--stop-all ends them", (done.stdout, done.stderr))
    tell(not set(ids) & set(listed()) and os.listdir(os.path.join(state, "sandboxes")) == [], "and nothing of them is left", listed())
    done = subprocess.run([WARDER, "serve", "--stop-all", "--state", state], capture_output=True, text=True)
    tell(done.returncode == 0 and done.stdout == "ended: 0\n", "then there is nothing to end", done.stdout)
    for words, word in ((["--listen", "127.0.0.1:0"], "--listen"), (["--local"], "--local"), (["--check"], "--check"), (["--insecure-http"], "--insecure-http"), (["--log-json"], "--log-json")):
        done = subprocess.run([WARDER, "serve", "--stop-all", "--state", state] + words, capture_output=True, text=True)
        tell(done.returncode == 125 and word in done.stderr, "--stop-all goes without " + word, done.stderr)


def metrics():
    """Numbers of the whole host, for a token that has only them."""
    add = lambda *words: subprocess.run([WARDER, "tenant", "add", *words, "--state", state], capture_output=True, text=True).stdout.strip()
    passed = listener()
    port = passed.getsockname()[1]
    client, reader = add("client"), add("prometheus", "--scopes", "metrics")
    process = start(passed.fileno())
    show = lambda token: fetch(port, "GET", "/v1/metrics", None, None, {"Authorization": "Bearer " + token})

    def numbers():
        rows = [line.rsplit(" ", 1) for line in show(reader)[1].decode().splitlines() if line[0] != "#"]
        return {name: float(value) for name, value in rows}
    before = numbers()
    limits = "" if ROOT else ', "enforcement": {"limits": "preferred"}'
    policy = '"policy": {"version": 1, "limits": {"wallTime": "1s"}%s}' % limits
    for argv, more in (('["true"]', ""), ('["false"]', ""), ('["sleep", "30"]', ", " + policy)):
        asked(port, client, "/v1/run", '{"argv": %s%s}' % (argv, more))
    asked(port, client, "/v1/run", '{"argv": ["true"], "policy": {"version": 1, "limits": {"wallTime": "1s", "memory": "900GiB"}}}')
    asked(port, "e2b_" + "0" * 40, "/v1/host")
    name = asked(port, client, "/v1/sandboxes", "{}")["id"]
    after = numbers()
    grown = {key: after[key] - before.get(key, 0) for key in after if after[key] != before.get(key, 0)}
    for key, wanted in (('warder_programs_ended_total{cause="exit"}', 2), ('warder_programs_ended_total{cause="wallTime"}', 1), ('warder_requests_refused_total{status="403"}', 1),
                        ('warder_requests_refused_total{status="401"}', 1), ('warder_sandboxes{state="running"}', 1), ('warder_launch_seconds_count{kind="run"}', 3),
                        ('warder_launch_seconds_bucket{kind="run",le="+Inf"}', 3), ('warder_launch_seconds_count{kind="sandbox"}', 1)):
        tell(grown.get(key) == wanted, "a metric counts: " + key, grown)
    tell(after["warder_stuck"] == 0 and after["warder_front_starts_total"] == 1 and after["warder_tenants"] >= 2 and "warder_pool_launched_total" in after, "and the gauges are there", after)
    buckets = [after[key] for key in after if key.startswith('warder_launch_seconds_bucket{kind="run"')]
    tell(buckets == sorted(buckets) and buckets[-1] == 3, "the buckets of the histogram add up", buckets)
    text = show(reader)[1].decode()
    tell("text/plain; version=0.0.4" in show(reader)[2]["Content-Type"] and text.count("# TYPE") == len({line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}),
         "each metric has one type", text)
    tell(len(after) < 100 and not any(word in text for word in ("client", "sleep", name)), "no series names a tenant, a program or a sandbox", text)
    tell(show(client)[0] == 403, "a tenant without the scope gets none of it", show(client))
    tell(asked(port, reader, "/v1/host")["code"] == 403, "and the token for it can do nothing else")
    asked(port, client, "/v1/sandboxes/" + name, method="DELETE")
    process.terminate()
    process.wait(60 * SLOW)


def wrong_sockets():
    good, datagram, everywhere, null = listener(), listener(how=socket.SOCK_DGRAM), listener("0.0.0.0"), open("/dev/null")
    cases = (("another process", dict(passed=good.fileno(), pid=1), "another process"), ("no socket", dict(passed=good.fileno(), fds="0"), "none was passed"),
             ("several", dict(passed=good.fileno(), fds="2"), "several"), ("no number", dict(passed=good.fileno(), fds="x"), "none was passed"),
             ("a file", dict(passed=null.fileno()), "something else"), ("a datagram socket", dict(passed=datagram.fileno()), "something else"),
             ("an address that other machines reach", dict(passed=everywhere.fileno()), "--insecure-http"))
    for name, how, word in cases:
        process = start(**how)
        out, err = process.communicate(timeout=60 * SLOW)
        tell(process.returncode == 125 and word in err and "ready" not in out, "a socket that is not one to serve at is refused: " + name, (process.returncode, err))
    done = subprocess.run([WARDER, "serve", "--listen", "inherited", "--state", state], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    tell(done.returncode == 125 and "LISTEN_FDS" in done.stderr, "so is none at all", done.stderr)


def units():
    """Unknown directives and values are what systemd-analyze finds; it starts nothing."""
    if not shutil.which("systemd-analyze"):
        skip("the units are well-formed", "systemd-analyze is not installed")
        return
    place = os.path.join(work, "units")
    os.mkdir(place)
    for name in ("warder-host.service", "warder-host.socket"):
        text = open(os.path.join(HERE, "../../packaging", name)).read()
        open(os.path.join(place, name), "w").write(text.replace("/usr/bin/warder", WARDER))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no"] + [os.path.join(place, name) for name in os.listdir(place)],
                          capture_output=True, text=True)
    ours = [line for line in (done.stdout + done.stderr).splitlines() if "warder-host" in line]
    tell(not ours, "the units are well-formed", "\n".join(ours))


own_run_directory()
try:
    stop_all(activation())
    metrics()
    wrong_sockets()
    units()
finally:
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()
    subprocess.run([WARDER, "serve", "--stop-all", "--state", state], capture_output=True)
finish()
