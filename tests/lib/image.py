#!/usr/bin/env python3
"""image.py STORE: make a store with the image "two" for the tests, without any of the product's code: busybox and some files in a lower
layer; above it a layer that changes one, has whiteouts of a file, a directory and a name at the top, and an opaque directory."""
import hashlib, json, os, shutil, stat, sys

store = sys.argv[1]
root = os.geteuid() == 0
mark = "trusted.overlay.opaque" if root else "user.overlay.opaque"
programs = ("sh cat ls rm mv ln mkdir rmdir id stat touch chmod echo env pwd grep find mount sleep true chown readlink cp dd tr seq "
            "sort mknod setfattr getfattr wc").split()
os.umask(0o077)
for part in ("images/layers", "images/names"):
    os.makedirs(os.path.join(store, part))


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def layer(name, fill):
    digest = hashlib.sha256(name.encode()).hexdigest()
    path = os.path.join(store, "images/layers", digest)
    os.makedirs(path + "/tree")
    os.chmod(path + "/tree", 0o755)
    write(path + "/lock", "")
    os.umask(0o022)
    fill(path + "/tree/")
    os.umask(0o077)
    return {"digest": digest, "tree": digest, "files": 1, "bytes": 1}


def lower(at):
    for name in ("bin", "etc", "var/lib/x", "opt/gone", "srv/opaque", "usr/share", "vanished", "data"):
        os.makedirs(at + name)
    shutil.copy("/bin/busybox", at + "bin/busybox")
    for name in programs:
        os.symlink("busybox", at + "bin/" + name)
    os.symlink("bin", at + "sbin")
    os.symlink("/opt/../etc", at + "conf")
    write(at + "etc/version", "one\n")
    write(at + "etc/lower", "lower\n")
    write(at + "opt/gone/file", "")
    write(at + "opt/deleted", "")
    write(at + "opt/tool", "#!/bin/sh\necho tool of the image\n")
    os.chmod(at + "opt/tool", 0o755)
    write(at + "srv/opaque/old", "")
    write(at + "top", "top\n")
    if root:
        os.chown(at + "data", 1000, 1000)


def upper(at):
    for name in ("etc", "opt", "srv/opaque"):
        os.makedirs(at + name)
    write(at + "etc/version", "two\n")
    for name in ("opt/gone", "opt/deleted", "vanished"):
        os.mknod(at + name, stat.S_IFCHR | 0o600, os.makedev(0, 0))
    os.setxattr(at + "srv/opaque", mark, b"y")
    write(at + "srv/opaque/new", "")


record = {
    "version": 1, "name": "two", "digest": hashlib.sha256(b"two").hexdigest(), "source": "directory", "created": 0,
    "owners": "image" if root else "caller", "layers": [layer("lower", lower), layer("upper", upper)],
    "env": ["PATH=/bin:/opt", "MARK=image", "LANG=image"], "workingDirectory": "/srv", "cmd": ["sh", "-c", "echo default of the image"],
}
write(os.path.join(store, "images/names/two.json"), json.dumps(record))
limits = " ".join("--prefer limits." + name for name in ("cpuTime", "memory", "swap", "cpus", "pids"))
write(os.path.join(store, "two"), "#!/bin/sh\nexport WARDER_STORE=" + os.path.abspath(store) + "\ncommand=$1; shift\n"
      'exec warder "$command" --view "image:${IMAGE:-two}" ' + limits + ' "$@"\n')
os.chmod(os.path.join(store, "two"), 0o755)
