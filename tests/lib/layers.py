#!/usr/bin/env python3
"""layers.py DIRECTORY KIND: an OCI layout whose layers ask something of who mounts them.

KIND: opaque (the root of the upper layer hides the lower one), again (the empty layer comes twice), none (no layer at all),
environment (variables that a program would heed), own (names a program), and what a hostile image is made of: links-NAME=TARGET (the directory NAME is a
link), set-user-id (a shell of root's), devices, attributes (of overlays, and of files with capabilities), through (a file below a
link that a layer before it made), hard-link, whiteouts, directory (where programs begin is a link).
"""
import hashlib
import io
import json
import os
import sys
import tarfile


def layer(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind, mode, content in members:
            info = tarfile.TarInfo(name)
            info.type, info.mode = kind, mode
            if kind == tarfile.REGTYPE:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
            else:
                info.linkname = content
                archive.addfile(info)
    return out.getvalue()


def layout(path, layers, config):
    os.makedirs(path + "/blobs/sha256")

    def blob(content):
        digest = hashlib.sha256(content).hexdigest()
        with open(path + "/blobs/sha256/" + digest, "wb") as out:
            out.write(content)
        return {"digest": "sha256:" + digest, "size": len(content)}

    def document(value):
        return blob(json.dumps(value).encode())

    ids = ["sha256:" + hashlib.sha256(content).hexdigest() for content in layers]
    image = document({"os": "linux", "architecture": "amd64", "config": config, "rootfs": {"type": "layers", "diff_ids": ids}})
    image["mediaType"] = "application/vnd.oci.image.config.v1+json"
    rows = [dict(blob(content), mediaType="application/vnd.oci.image.layer.v1.tar") for content in layers]
    manifest = document({"schemaVersion": 2, "config": image, "layers": rows})
    manifest["mediaType"] = "application/vnd.oci.image.manifest.v1+json"
    with open(path + "/index.json", "w") as out:
        json.dump({"schemaVersion": 2, "manifests": [manifest]}, out)
    with open(path + "/oci-layout", "w") as out:
        out.write('{"imageLayoutVersion": "1.0.0"}')


with open("/bin/busybox", "rb") as program:
    busybox = program.read()
programs = [("bin", tarfile.DIRTYPE, 0o755, ""), ("bin/busybox", tarfile.REGTYPE, 0o755, busybox)]
programs += [("bin/" + name, tarfile.SYMTYPE, 0o777, "busybox") for name in ("sh", "cat", "env", "ls")]
base = layer(*programs, ("etc", tarfile.DIRTYPE, 0o755, ""), ("etc/old", tarfile.REGTYPE, 0o644, b"hidden\n"))
over = layer((".wh..wh..opq", tarfile.REGTYPE, 0o644, b""), *programs, ("etc", tarfile.DIRTYPE, 0o755, ""),
             ("etc/new", tarfile.REGTYPE, 0o644, b"shown\n"))


def forged(name, kind=tarfile.DIRTYPE):
    """A member with every attribute by which an overlay would be led elsewhere, and with capabilities."""
    told = {"overlay.opaque": "y", "overlay.redirect": "/../../../../srv", "overlay.metacopy": "", "overlay.origin": "\0" * 29,
            "overlay.whiteouts": "", "overlay.impure": "y", "overlay.nlink": "U+1"}
    info = tarfile.TarInfo(name)
    info.type, info.mode = kind, 0o755
    info.pax_headers = {"SCHILY.xattr.%s.%s" % (space, key): value for key, value in told.items() for space in ("trusted", "user")}
    info.pax_headers["SCHILY.xattr.security.capability"] = "\x01\0\0\x02" + "\x7f" * 16
    return info


def devices(archive):
    for name, kind, major, minor in (("null", tarfile.CHRTYPE, 1, 3), ("mem", tarfile.CHRTYPE, 1, 1), ("disk", tarfile.BLKTYPE, 8, 0)):
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.devmajor, info.devminor = kind, 0o666, major, minor
        archive.addfile(info)


def archive_of(fill):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        fill(archive)
    return out.getvalue()


link = ("out", tarfile.SYMTYPE, 0o777, "/srv")
kinds = {
    "opaque": ([base, over], {}),
    "again": ([base, bytes(1024), bytes(1024)], {}),
    "none": ([], {}),
    "own": ([base], {"Entrypoint": ["/bin/sh", "-c", 'echo "$0,$*"'], "Cmd": ["own", "two  words"]}),
    "environment": ([base], {"Env": ["LD_PRELOAD=/x", "PATH=/bin"]}),
    "set-user-id": ([base, layer(("bin/suid", tarfile.REGTYPE, 0o6755, busybox))], {}),
    "devices": ([base, archive_of(devices)], {}),
    "attributes": ([base, archive_of(lambda archive: archive.addfile(forged("etc")))], {}),
    "through": ([base, layer(link), layer(("out/warder-planted", tarfile.REGTYPE, 0o644, b"planted"))], {}),
    "hard-link": ([base, layer(("stolen", tarfile.LNKTYPE, 0o644, "../../../../../../../../etc/shadow"))], {}),
    "whiteouts": ([base, layer(*((name, tarfile.REGTYPE, 0o644, b"") for name in
                                 (".wh.proc", ".wh.dev", ".wh.tmp", ".wh.etc", "etc/.wh...", "etc/.wh.")))], {}),
    "directory": ([base, layer(("begin", tarfile.SYMTYPE, 0o777, "/proc/1/root"))], {"WorkingDir": "/begin"}),
}
if sys.argv[2].startswith("links-"):
    where, _, target = sys.argv[2][6:].partition("=")
    kinds[sys.argv[2]] = ([base, layer((where, tarfile.SYMTYPE, 0o777, target))], {})
layout(sys.argv[1], *kinds[sys.argv[2]])
