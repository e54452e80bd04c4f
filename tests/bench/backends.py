#!/usr/bin/env python3
"""One start of /bin/true by each backend, beside the runtime's own bare command, by turns; root.

    tests/bench/backends.py [-n RUNS]

The bare command is `RUNTIME run` of a bundle, or `podman run` of a root, that shows the same directories, with all namespaces and a map of ids, and nothing else: no limit, no
filter, no read-back. It works in a mount namespace of its own with the host read-only, as a backend's does, where it makes no
control group. That of Docker is `docker run` before a daemon that is there already; `daemon docker` is the same with a daemon that is
started for the one run, as the backend's is. tests/engines/docker.sh runs this with Debian's Docker where none is installed. Prints
medians and 95th percentiles in milliseconds, and what the backend takes of what the bare command takes. Figures are facts, never a
failure; a backend that this host does not have is left out, with its reason.
"""
import ctypes, json, os, shutil, statistics, subprocess, sys, tempfile, time

WARDER = os.path.realpath(os.path.join(os.environ.get("BUILD", "build"), "warder"))
RUNS = int(sys.argv[2]) if sys.argv[1:2] == ["-n"] else 30
BARE = {"crun": ["--cgroup-manager=disabled"], "runc": ["--rootless=true"]}
HERE = os.path.dirname(os.path.realpath(__file__))
ENGINES = ["podman", "docker"]


def bundle(place):
    """The root of a host's view, by binds; the same for both."""
    root = os.path.join(place, "root")
    mounts = [{"destination": "/proc", "type": "proc", "source": "proc"},
              {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
              {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"}]
    os.makedirs(root + "/usr", mode=0o755)
    for name in ("bin", "sbin", "lib", "lib64"):
        if os.path.islink("/" + name):
            os.symlink(os.readlink("/" + name), root + "/" + name)
        elif os.path.isdir("/" + name):
            os.mkdir(root + "/" + name)
            mounts.append({"destination": "/" + name, "type": "bind", "source": "/" + name, "options": ["rbind", "ro"]})
    mounts.append({"destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]})
    ids = [{"containerID": 0, "hostID": 700000, "size": 65536}]
    config = {"ociVersion": "1.0.0", "root": {"path": root}, "mounts": mounts,
              "process": {"args": ["/bin/true"], "cwd": "/", "env": ["PATH=/bin"], "user": {"uid": 0, "gid": 0}, "noNewPrivileges": True},
              "linux": {"uidMappings": ids, "gidMappings": ids,
                        "namespaces": [{"type": t} for t in ("pid", "ipc", "uts", "mount", "user", "network", "cgroup")]}}
    for name in ("proc", "dev", "tmp"):
        os.mkdir(root + "/" + name)
    os.chmod(place, 0o755)
    with open(place + "/config.json", "w") as f:
        json.dump(config, f)


def podman(place):
    """The command of a container with the same root, ids and namespaces, and nothing else; its books are beside the bundle."""
    root = place + "/podman"
    shutil.copytree(place + "/root", root, symlinks=True)
    for name in ("etc", "run", "sys"):
        os.mkdir(root + "/" + name)
    for name in ("etc/passwd", "etc/group", "etc/hosts", "etc/hostname", "etc/resolv.conf", "run/.containerenv"):
        open(root + "/" + name, "w").close()
    with open(place + "/containers.conf", "w") as f:
        f.write('[containers]\ndefault_ulimits = []\n[engine]\nlock_type = "file"\nevents_logger = "none"\n')
    os.environ["CONTAINERS_CONF"] = place + "/containers.conf"
    books = place + "/books"
    binds = [word for name in ("usr", "lib", "lib64", "bin", "sbin") if os.path.isdir(root + "/" + name) and not os.path.islink(root + "/" + name)
             for word in ("--volume", "/%s:/%s:ro" % (name, name))]
    return [shutil.which("podman"), "--root", books + "/root", "--runroot", books + "/run", "--tmpdir", books + "/tmp", "--storage-driver", "vfs", "--cgroup-manager",
            "cgroupfs", "--runtime", "/usr/bin/crun", "run", "--rm", "--ulimit", "host", "--cgroups", "disabled", "--network", "none", "--log-driver", "none", "--uidmap", "0:700000:65536",
            "--gidmap", "0:700000:65536", *binds, "--volume", "/mnt:/sys/fs/cgroup:ro", "--rootfs", root, "/bin/true"]


def docker(place):
    """The same of Docker: the command, and the words that run one before a daemon of its own, in namespaces that end with it."""
    root = place + "/root"
    binds = [word for name in ("usr", "lib", "lib64", "bin", "sbin") if os.path.isdir(root + "/" + name) and not os.path.islink(root + "/" + name)
             for word in ("--volume", "/%s:/%s:ro" % (name, name))]

    def daemon(books):
        return [HERE + "/../engines/bare-docker.sh", books, root]

    def client(books):
        return ["docker", "--host", "unix://%s/socket" % books, "run", "--rm", "--pull", "never", "--runtime", "bare", "--network", "none", "--ipc", "private", "--log-driver", "none",
                "--cgroupns", "host", *binds, "--volume", "/mnt:/sys/fs/cgroup:ro", "bare", "/bin/true"]

    running = subprocess.Popen(daemon(place + "/docker"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    if not running.stdout.readline():
        print("bare docker        %s" % open(place + "/docker/log").read().strip()[-200:])
    return running, client(place + "/docker"), lambda i: daemon(place + "/docker-%d" % i) + client(place + "/docker-%d" % i)


def alone():
    """A mount namespace of our own, read-only but for the runtime's state, so that the runtimes leave control groups alone."""
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source, target, kind, flags):
        if libc.mount(source, target, kind, flags, None) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)

    if libc.unshare(0x20000) < 0:
        raise OSError(ctypes.get_errno(), "unshare")
    mount(b"none", b"/", None, 0x4000 | 0x40000)
    if os.path.exists("/sys/fs/cgroup/unified/cgroup.procs"):
        mount(b"none", b"/sys/fs/cgroup/unified", b"tmpfs", 1)
    for line in open("/proc/self/mountinfo").readlines():
        point = line.split()[4]
        if point.startswith("/sys/fs/cgroup"):
            mount(None, point.encode(), None, 0x1000 | 0x20 | 1)


def timed(argv):
    begin = time.monotonic()
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return (time.monotonic() - begin) * 1000, done


def row(name, times, beside=None):
    times = sorted(times)
    middle = statistics.median(times)
    ratio = "%8.2f x" % (middle / statistics.median(beside)) if beside else ""
    print("%-18s %9.1f %9.1f %s" % (name, middle, times[int(len(times) * 0.95)], ratio))


def inner(place):
    host = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    alone()
    spaces = {"warder": host, "bare": os.open("/proc/self/ns/mnt", os.O_RDONLY)}
    contestants, times = {}, {}
    for name in ("local", *BARE, *ENGINES):
        contestants["warder " + name] = lambda i, name=name: [WARDER, "run", "--backend", name, "--", "/bin/true"]
    for name, options in BARE.items():
        path = shutil.which(name)
        if path:
            contestants["bare " + name] = lambda i, path=path, options=options: (
                [path] + options + ["--root", place + "/state", "run", "--bundle", place, "bench-%d" % i])
    if shutil.which("podman"):
        bare = podman(place)
        contestants["bare podman"] = lambda i: bare
    running = None
    if shutil.which("docker") and shutil.which("dockerd"):
        running, line, contestants["daemon docker"] = docker(place)
        contestants["bare docker"] = lambda i: line
    for i in range(RUNS + 1):
        for name, command in list(contestants.items()):
            if ctypes.CDLL(None).setns(spaces["warder" if name.startswith("warder") else "bare"], 0x20000) < 0:
                sys.exit("backends.py: setns")
            took, done = timed(command(i))
            if done.returncode:
                print("%-18s %s" % (name, done.stderr.decode(errors="replace").strip()[:120]))
                del contestants[name]
            elif i:
                times.setdefault(name, []).append(took)
            shutil.rmtree(place + "/docker-%d" % i, ignore_errors=True)
    if running:
        running.kill()  # unshare is deaf to the others
        running.wait()
    for name in contestants:
        row(name, times[name], times.get(name.replace("warder", "bare")) if name.startswith("warder") else None)


def main():
    if os.geteuid() != 0:
        sys.exit("backends.py: needs root, as the backends do")
    place = tempfile.mkdtemp(prefix="warder-bench.", dir="/var/lib")
    print("\none start of /bin/true, %d runs by turns   median ms    95 %% ms   of the bare command" % RUNS)
    sys.stdout.flush()
    try:
        bundle(place)
        pid = os.fork()
        if pid == 0:
            inner(place)
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(pid, 0)
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
