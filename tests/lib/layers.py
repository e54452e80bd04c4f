#!/usr/bin/env python3
"""layers.py DIRECTORY KIND: an OCI layout whose layers ask something of who mounts them.

KIND: opaque (the root of the upper layer hides the lower one), again (the empty layer comes twice), none (no layer at all),
environment (variables that a program would heed).
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
    programs = [("bin", tarfile.DIRTYPE, 0o755, ""), ("bin/busybox", tarfile.REGTYPE, 0o755, program.read())]
programs += [("bin/" + name, tarfile.SYMTYPE, 0o777, "busybox") for name in ("sh", "cat", "env", "ls")]
base = layer(*programs, ("etc", tarfile.DIRTYPE, 0o755, ""), ("etc/old", tarfile.REGTYPE, 0o644, b"hidden\n"))
over = layer((".wh..wh..opq", tarfile.REGTYPE, 0o644, b""), *programs, ("etc", tarfile.DIRTYPE, 0o755, ""),
             ("etc/new", tarfile.REGTYPE, 0o644, b"shown\n"))
kinds = {
    "opaque": ([base, over], {}),
    "again": ([base, bytes(1024), bytes(1024)], {}),
    "none": ([], {}),
    "environment": ([base], {"Env": ["LD_PRELOAD=/x", "PATH=/bin"]}),
}
layout(sys.argv[1], *kinds[sys.argv[2]])
