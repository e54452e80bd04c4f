#!/usr/bin/env python3
"""What the creation of a sandbox takes on an execution host while others make its disk busy, beside a quiet host.

    tests/bench/stall.py [-n RUNS] [LOAD ...]

Loads: import (an image of 1 GiB, which `warder image import` of the operator reads again and again), upload (a file of 512 MiB that a client
writes into its sandbox), artifacts (copies of files of 62 MiB), write (a plain program that writes 1 GiB to the disk and syncs it). Without
words: all of them. Each load runs in a loop while sandboxes are created and ended, one after the other. Prints medians and 99th percentiles
in milliseconds, and their ratio to the quiet host. Figures are facts, never a failure.
"""
import atexit, json, os, shutil, statistics, subprocess, sys, tarfile, tempfile, threading, time

from hosts import Host, WARDER

words = sys.argv[1:]
RUNS = int(words[1]) if words[:1] == ["-n"] else 60
if words[:1] == ["-n"]:
    words = words[2:]
base = "/var/lib" if os.geteuid() == 0 else os.path.expanduser("~")
place = tempfile.mkdtemp(prefix="warder-bench.", dir=base)
atexit.register(shutil.rmtree, place, ignore_errors=True)


def serve():
    settings = place + "/settings.json"
    template = {"version": 1, "filesystem": {"tmp": "700MiB"}, "limits": {"memory": "900MiB", "fileSize": "1GiB", "wallTime": "1h"}}
    if os.geteuid() != 0:
        template["enforcement"] = {"limits": "preferred"}
    with open(settings, "w") as file:
        json.dump({"version": 1, "limits": {"fileBytes": 1 << 30}, "templates": {"large": template}}, file)
    host = Host(place, ("quiet", "loud"), ["--config", settings])
    atexit.register(host.end)
    return host


def measure(host):
    client, times = host.client(0), []  # the host closes a connection that was idle while a load was prepared
    for i in range(RUNS + 2):
        begin = time.monotonic()
        box = client.ask("POST", "/v1/sandboxes", {"timeoutMs": 60000})["id"]
        if i >= 2:  # of the rounds before, which warm up
            times.append((time.monotonic() - begin) * 1000)
        client.ask("DELETE", "/v1/sandboxes/" + box)
    return sorted(times)


def bytes_of(mib):
    """Bytes that no compression makes smaller."""
    return os.urandom(1 << 20) * mib


def image():
    """An image with 1 GiB in files of 512 KiB and 64 MiB, as an archive that is made once."""
    path, tree = place + "/image.tar", place + "/tree"
    if os.path.exists(path):
        return path
    os.mkdir(tree)
    for i in range(8):
        with open(tree + "/large%d" % i, "wb") as file:
            file.write(os.urandom(64 << 20))
    for i in range(1024):
        with open(tree + "/small%d" % i, "wb") as file:
            file.write(os.urandom(512 << 10))
    with tarfile.open(path, "w") as archive:
        archive.add(tree, "/")
    shutil.rmtree(tree)
    return path


def import_image(host):
    env = dict(os.environ, WARDER_STORE=place + "/store")
    archive = image()
    def work(i):
        subprocess.run([WARDER, "image", "import", archive, "bench:%d" % i], check=True, capture_output=True, env=env)
        subprocess.run([WARDER, "image", "remove", "bench:%d" % i], capture_output=True, env=env)
        subprocess.run([WARDER, "image", "gc"], capture_output=True, env=env)
    return work


def upload(host):
    client, data = host.client(1), bytes_of(512)
    box = client.ask("POST", "/v1/sandboxes", {"timeoutMs": 3600000, "template": "large"})["id"]
    return lambda i: client.ask("PUT", "/v1/sandboxes/%s/files?path=/tmp/f" % box, data)


def artifacts(host):
    client = host.client(1)
    box = client.ask("POST", "/v1/sandboxes", {"timeoutMs": 3600000, "template": "large"})["id"]
    for i in range(3):
        client.ask("PUT", "/v1/sandboxes/%s/files?path=/tmp/f%d" % (box, i), bytes_of(62))

    def work(i):
        for row in client.ask("POST", "/v1/sandboxes/%s/artifacts" % box, {"paths": ["/tmp/f0", "/tmp/f1", "/tmp/f2"]}):
            client.ask("DELETE", "/v1/artifacts/" + row["id"])
    return work


def write(host):
    def work(i):
        subprocess.run(["dd", "if=/dev/zero", "of=" + place + "/written", "bs=1M", "count=1024", "conv=fsync"], check=True, capture_output=True)
        os.unlink(place + "/written")
    return work


LOADS = {"import": import_image, "upload": upload, "artifacts": artifacts, "write": write}


def main():
    if set(words) - set(LOADS):
        sys.exit("stall.py: the loads are " + ", ".join(LOADS))
    host = serve()
    rows = [("quiet", measure(host), 0)]
    for name in words or LOADS:
        work, rounds, failures, over = LOADS[name](host), [], [], threading.Event()

        def load():
            try:
                while not over.is_set():
                    work(len(rounds))
                    rounds.append(1)
            except (Exception, SystemExit) as error:
                failures.append(error)

        thread = threading.Thread(target=load, daemon=True)
        thread.start()
        time.sleep(0.5)
        rows.append((name, measure(host), len(rounds) + 1))
        over.set()
        thread.join()
        if failures:
            sys.exit("stall.py: the load %s failed: %s" % (name, failures[0]))
    rows.append(("quiet", measure(host), 0))
    quiet = rows[0][1]
    rank = lambda times, part: times[min(len(times) - 1, int(len(times) * part))]
    print("\nthe creation of a sandbox, %d each   median ms    99 %% ms      most   ratio of medians, of 99 %%" % RUNS)
    for name, times, rounds in rows:
        print("%-34s %9.1f %10.1f %9.1f   %6.2f x %6.2f x" % (name + (" (%d rounds)" % rounds if rounds else ""), statistics.median(times), rank(times, 0.99), times[-1],
                                                            statistics.median(times) / statistics.median(quiet), rank(times, 0.99) / rank(quiet, 0.99)))


main()
