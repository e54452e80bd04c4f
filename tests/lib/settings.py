#!/usr/bin/env python3
"""The settings of a host, which nothing that runs on it may change: /proc/sys, and what else of /proc and /sys can be written to.

settings.py COMMAND...: run it in a network namespace of its own, where forwarding is off; print as the last line the settings that
are others afterwards, as a JSON object. As root. A module as well.
"""
import ctypes, json, os, subprocess, sys

# What counts, or is another each time.
VOLATILE = ("fs/dentry-state", "fs/file-nr", "fs/inode-nr", "fs/inode-state", "fs/quota/", "fs/aio-nr", "kernel/ns_last_pid", "kernel/random/", "kernel/pty/nr",
            "net/netfilter/nf_conntrack_count", "fs/binfmt_misc/")


def settings():
    """Of /proc/sys, by name; those of the network are those of our namespace."""
    found = {}
    for directory, _, names in os.walk("/proc/sys"):
        for name in names:
            path = os.path.join(directory, name)
            key = path[len("/proc/sys/"):]
            if key.startswith(VOLATILE):
                continue
            try:
                with open(path, "rb") as f:
                    found[key] = f.read().decode(errors="replace")
            except OSError as error:
                found[key] = "errno %d" % error.errno
    return found


def changed(before, after):
    return {key: [before.get(key), after.get(key)] for key in sorted(set(before) | set(after)) if before.get(key) != after.get(key)}


def files():
    """What is no process's in /proc, and all of /sys."""
    tops = ["/proc/" + name for name in os.listdir("/proc") if not name.isdigit() and not os.path.islink("/proc/" + name)] + ["/sys"]
    for top in tops:
        if not os.path.isdir(top):
            yield top
        for directory, _, names in os.walk(top):
            yield from (os.path.join(directory, name) for name in names if not os.path.islink(os.path.join(directory, name)))


def writable():
    """Those that have a mode to be written to, and mounts that let us."""
    found = []
    for path in files():
        try:
            if os.lstat(path).st_mode & 0o222 and os.access(path, os.W_OK):
                found.append(path)
        except OSError:
            pass
    return found


def main():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x40000000) < 0:
        sys.exit("settings.py: no network namespace: " + os.strerror(ctypes.get_errno()))
    for name in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
        if os.path.exists("/proc/sys/net/" + name):
            with open("/proc/sys/net/" + name, "w") as f:
                f.write("0")
    before = settings()
    done = subprocess.run(sys.argv[1:])
    print(json.dumps(changed(before, settings())))
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
