#!/usr/bin/env python3
"""Archives for the tests of images: good ones, damaged ones and hostile ones.

  archives.py good DIR      DIR/layout (an OCI layout), layout.tar, docker.tar, old-docker.tar, plain.tar, .tar.gz, .tar.xz
  archives.py damaged DIR   layouts and archives with something wrong; prints "path|what the refusal says"
  archives.py implied DIR   DIR/alone (a layout with one layer), DIR/closed and DIR/other, with that layer on top of another one
  archives.py two-names DIR DIR/tree (a directory) and DIR/layout, whose layer's bytes are those that the tree's digest was once made of
  archives.py hostile DIR   the same for tar archives with members that no image may have
"""
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import sys
import tarfile

AMD64 = {"x86_64": "amd64", "aarch64": "arm64", "riscv64": "riscv64", "ppc64le": "ppc64le", "s390x": "s390x"}[os.uname().machine]


class Member:
    """A member of a tar archive, with what is unusual of it."""

    def __init__(self, name, kind=tarfile.REGTYPE, data=b"", **more):
        self.info = tarfile.TarInfo(name)
        self.info.type = kind
        self.info.mtime = 1000000000
        self.info.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
        self.data = data
        self.info.size = more.pop("size", len(data))
        self.info.pax_headers = more.pop("pax", {})
        for key, value in more.items():
            setattr(self.info, key, value)


def directory(name, **more):
    return Member(name, tarfile.DIRTYPE, **more)


def symlink(name, target):
    return Member(name, tarfile.SYMTYPE, linkname=target)


def hard_link(name, target):
    return Member(name, tarfile.LNKTYPE, linkname=target)


def tar(*members, layout=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=layout) as archive:
        for member in members:
            archive.addfile(member.info, io.BytesIO(member.data) if member.data else None)
    return out.getvalue()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


LOWER = tar(
    directory("./"), directory("etc"), Member("etc/kept", data=b"kept\n"), Member("etc/hidden", data=b"hidden\n"),
    Member("etc/both", data=b"lower\n"), directory("opaque"), Member("opaque/lower", data=b"lower\n"),
    directory("usr", mode=0o755), directory("usr/bin"), Member("usr/bin/tool", data=b"#!/bin/sh\n", mode=0o4755),
    symlink("bin", "usr/bin"), hard_link("usr/bin/again", "usr/bin/tool"), symlink("usr/bin/absolute", "/etc/kept"),
    directory("private", mode=0o700, uid=1234, gid=4321), Member("private/deep/er/file", data=b"deep\n", uid=1234, gid=4321),
    Member("dev/null", tarfile.CHRTYPE, devmajor=1, devminor=3), Member("pipe", tarfile.FIFOTYPE),
    Member("capable", data=b"x", pax={"SCHILY.xattr.security.capability": "\x01\x00\x00\x02", "SCHILY.xattr.user.note": "a note"}),
    Member("etc/\u00fcml\u00e4ut", data=b"name\n"), directory("tmp", mode=0o1777), directory("locked", mode=0o555), Member("locked/in", data=b"in\n", mode=0o400))
UPPER = tar(
    directory("etc"), Member("etc/.wh.hidden"), Member("etc/both", data=b"upper\n"), directory("opaque"),
    Member("opaque/.wh..wh..opq"), Member("opaque/upper", data=b"upper\n"), Member("etc/.wh.both-here"),
    directory("etc/both-here"), Member("etc/both-here/new", data=b"new\n"), Member(".wh..wh.plnk"))

START = {"Env": ["PATH=/usr/bin:/bin", "A=b c"], "Cmd": ["-c", "true"], "Entrypoint": ["/bin/sh"], "WorkingDir": "/etc", "User": "1234:4321",
         "Labels": {"maker": "test"}}


class Layout:
    """An OCI layout in memory: path -> bytes."""

    def __init__(self):
        self.files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
        self.entries = []

    def blob(self, data):
        self.files["blobs/sha256/" + sha256(data)] = data
        return {"digest": "sha256:" + sha256(data), "size": len(data)}

    def manifest(self, layers, architecture=AMD64, **change):
        """layers: (tar, compress, media suffix). change: values of config, manifest, descriptor."""
        config = {"os": change.get("os", "linux"), "architecture": architecture, "config": START,
                  "rootfs": {"type": "layers", "diff_ids": ["sha256:" + sha256(each[0]) for each in layers]}}
        config.update(change.get("config", {}))
        manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                    "config": dict(self.blob(json.dumps(config).encode()), mediaType="application/vnd.oci.image.config.v1+json"),
                    "layers": [dict(self.blob(compress(data)), mediaType="application/vnd.oci.image.layer.v1.tar" + suffix)
                               for data, compress, suffix in layers]}
        manifest.update(change.get("manifest", {}))
        return dict(self.blob(json.dumps(manifest).encode()), mediaType="application/vnd.oci.image.manifest.v1+json")

    def add(self, descriptor, name=None, platform=None):
        if name:
            descriptor["annotations"] = {"org.opencontainers.image.ref.name": name}
        if platform:
            descriptor["platform"] = dict(zip(("os", "architecture"), platform))
        self.entries.append(descriptor)

    def finish(self):
        self.files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": self.entries}).encode()
        return self

    def write(self, path):
        for name, data in self.finish().files.items():
            os.makedirs(os.path.dirname(os.path.join(path, name)), exist_ok=True)
            with open(os.path.join(path, name), "wb") as out:
                out.write(data)

    def tar(self):
        return tar(*(Member(name, data=data) for name, data in self.finish().files.items()))


def plain(data):
    return data


def zipped(data):
    return gzip.compress(data, mtime=0)


TWO = [(LOWER, zipped, "+gzip"), (UPPER, plain, "")]


def good_layout():
    layout = Layout()
    layout.add(layout.manifest(TWO), "good:1", ("linux", AMD64))
    layout.add(layout.manifest([(UPPER, plain, "")], architecture="m68k"), "good:1", ("linux", "m68k"))
    layout.add({"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "sha256:" + "0" * 64, "size": 7}, None, ("unknown", "unknown"))
    return layout


def docker(old=False, tags=("good:docker",), config_name=None, layers=None):
    config = json.dumps({"os": "linux", "architecture": AMD64, "config": START,
                         "rootfs": {"type": "layers", "diff_ids": ["sha256:" + sha256(LOWER), "sha256:" + sha256(UPPER)]}}).encode()
    config_name = config_name or sha256(config) + ".json"
    layers = layers or [LOWER, UPPER]
    members = [Member(config_name, data=config)]
    names = []
    for i, layer in enumerate(layers):
        if old and i == 1:  # as docker wrote them: a layer that is there twice is a link
            members += [Member("other/layer.tar", data=layer), symlink("%d/layer.tar" % i, "../other/layer.tar")]
        else:
            members.append(Member("%d/layer.tar" % i, data=layer))
        names.append("%d/layer.tar" % i)
    manifest = [{"Config": config_name, "RepoTags": list(tags), "Layers": names}]
    return tar(*members, Member("manifest.json", data=json.dumps(manifest).encode()))


def write(path, data):
    with open(path, "wb") as out:
        out.write(data)


def good(path):
    layout = good_layout()
    layout.write(path + "/layout")
    write(path + "/layout.tar", layout.tar())
    write(path + "/docker.tar", docker())
    write(path + "/old-docker.tar", docker(old=True, tags=("good:old",)))
    write(path + "/plain.tar", LOWER)
    write(path + "/plain.tar.gz", zipped(LOWER))
    # Five files of holes and a few bytes, 3 GiB each: a lot of zeros in some kilobytes.
    holes = [Member("hole%d" % i, data=b"x" * 512, pax={"GNU.sparse.size": str(3 << 30), "GNU.sparse.numblocks": "1", "GNU.sparse.map": "%d,512" % ((3 << 30) - 512)})
             for i in range(5)]
    write(path + "/holes.tar", tar(*holes))
    whole = tar(Member("file", data=b"content\n" * 1000))
    write(path + "/members.tar.gz", b"".join(zipped(whole[i:i + 1000]) for i in range(0, len(whole), 1000)) + b"\0" * 700)
    write(path + "/one-block.tar", tar(Member("file", data=b"content\n"))[:1024 + 512])
    write(path + "/plain.tar.xz", lzma.compress(LOWER))
    nested = Layout()
    inner = {"schemaVersion": 2, "manifests": [nested.manifest(TWO)]}
    nested.add(dict(nested.blob(json.dumps(inner).encode()), mediaType="application/vnd.oci.image.index.v1+json"), "nested:1")
    write(path + "/nested.tar", nested.tar())
    base = Layout()
    base.add(base.manifest(TWO), "debootstrap/bookworm-minbase")
    write(path + "/base.tar", base.tar())
    several = Layout()
    several.add(several.manifest(TWO), "one")
    several.add(several.manifest([(LOWER, plain, "")]), "two")
    write(path + "/several.tar", several.tar())


def two_names(path):
    """A tree whose serialisation, of which its digest is made, is an archive of something else; and a layout with that archive as a layer."""
    def put(block, at, data):
        block[at:at + len(data)] = data

    evil = b"EVIL\n"
    os.makedirs(path + "/tree/z")
    os.chmod(path + "/tree", 0o755)
    os.chmod(path + "/tree/z", 0o755)
    write(path + "/tree/z/f", evil)
    os.chmod(path + "/tree/z/f", 0o644)
    owner = b"%d\0%d\0" % (os.getuid(), os.getgid())
    begin = b"warder tree 2\x0040755\0" + owner
    name = bytearray(b"!" * 200)
    for at, data in ((100, b"0040755 "), (108, b"0000000 "), (116, b"0000000 "), (124, b"0" * 11 + b" "), (136, b"0" * 11 + b" "),
                     (148, b" " * 8), (156, b"5")):
        put(name, at - len(begin), data)
    good_files = tar(directory("z"), Member("z/f", data=b"GOOD\n"), layout=tarfile.USTAR_FORMAT)[:3072]

    def middle(size):
        return b"\x00100644\0" + owner + b"0\0" + sha256(b"").encode() + b"\0user.a\0%d\0" % size
    padding = 512 - len(begin) - len(name) - len(middle(len(good_files)))
    value = bytes(padding) + good_files
    header = begin + name + middle(len(value)) + value[:padding]
    put(name, 148 - len(begin), b"%07o " % sum(header))
    write(path + "/tree/" + name.decode(), b"")
    os.chmod(path + "/tree/" + name.decode(), 0o644)
    os.setxattr(path + "/tree/" + name.decode(), "user.a", value)
    whole = (begin + name + middle(len(value)) + value + b"z\x0040755\0" + owner + b"z/f\x00100644\0" + owner + b"5\0" +
             sha256(b"0\0" + evil).encode() + b"\0\0\0")
    layout = Layout()
    layout.add(layout.manifest([(whole, plain, "")]))
    layout.write(path + "/layout")


def implied(path):
    """One layer without members for its directories, alone and on top of others."""
    upper = tar(Member("priv/in/x", data=b"x\n"), Member("gone/x", data=b"x\n"), Member(".wh.gone"), Member("told/x", data=b"x\n"), directory("told", mode=0o710),
                Member("replaced/.wh.in"), Member("replaced/in/deep/x", data=b"x\n"))
    for name, mode in (("closed", 0o700), ("other", 0o711)):
        lower = tar(directory("./", mode=0o750), *(directory(each, mode=mode, uid=1234, gid=4321)
                                                   for each in ("priv", "told", "replaced", "replaced/in", "replaced/in/deep")))
        layout = Layout()
        layout.add(layout.manifest([(lower, plain, ""), (upper, plain, "")]))
        layout.write(path + "/" + name)
    layout = Layout()
    layout.add(layout.manifest([(upper, plain, "")]))
    layout.write(path + "/alone")


def damaged(path):
    def tell(name, data, says):
        write(path + "/" + name, data)
        print("%s|%s" % (name, says))

    def changed(change):
        layout = good_layout().finish()
        layout.entries = layout.entries[:1]
        change(layout)
        return layout.tar()

    def flip(kind):
        def change(layout):
            for name, data in layout.files.items():
                if name.startswith("blobs/") and kind(data):
                    layout.files[name] = data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]
        return changed(change)

    tell("manifest-flipped", flip(lambda data: b'"layers"' in data and b"diff_ids" not in data), "damaged or forged")
    tell("config-flipped", flip(lambda data: b"diff_ids" in data), "damaged or forged")
    tell("layer-flipped", flip(lambda data: data[257:262] == b"ustar"), "damaged or forged")
    tell("layer-gzip-flipped", flip(lambda data: data[:2] == b"\x1f\x8b"), "")

    def short(layout):
        for name, data in layout.files.items():
            if data[:2] == b"\x1f\x8b":
                layout.files[name] = data[:len(data) // 2]
    tell("layer-cut", changed(short), "")

    def swapped(layout):
        layout.entries = [layout.manifest(TWO, config={"rootfs": {"type": "layers", "diff_ids": ["sha256:" + "1" * 64, "sha256:" + "2" * 64]}})]
        layout.entries[0]["annotations"] = {"org.opencontainers.image.ref.name": "forged"}
    tell("diff-id-wrong", changed(swapped), "damaged or forged")

    def fewer(layout):
        layout.entries = [layout.manifest(TWO, config={"rootfs": {"type": "layers", "diff_ids": ["sha256:" + sha256(LOWER)]}})]
    tell("diff-id-missing", changed(fewer), "the manifest has 2 layers, the configuration 1")

    def size(layout):
        layout.entries[0]["size"] += 1
    tell("size-wrong", changed(size), "bytes instead of")

    def gone(layout):
        for name in [name for name in layout.files if name.startswith("blobs/")]:
            del layout.files[name]
    tell("blobs-gone", changed(gone), "No such file")

    def other(layout):
        layout.entries = [layout.manifest(TWO, architecture="m68k")]
    tell("platform-of-config", changed(other), "the image is for linux/m68k")

    def elsewhere(layout):
        layout.entries = []
        layout.add(layout.manifest(TWO, architecture="m68k"), "x", ("linux", "m68k"))
    tell("platform-of-index", changed(elsewhere), "has no image for linux/" + AMD64)

    def media(layout):
        layout.entries = [layout.manifest([(LOWER, plain, "+rot13")])]
    tell("media-type", changed(media), "which is not known")

    def longer(layout):
        layout.entries[0]["digest"] = "sha512:" + "0" * 128
    tell("sha512", changed(longer), "is a SHA-512")

    def upwards(layout):
        layout.entries[0]["digest"] = "sha256:../../../../etc/passwd"
    tell("digest-is-a-path", changed(upwards), "is not a digest")

    def loop(layout):
        inner = b'{"schemaVersion": 2, "manifests": []}'
        for _ in range(6):
            inner = json.dumps({"manifests": [dict(layout.blob(inner), mediaType="application/vnd.oci.image.index.v1+json")]}).encode()
        layout.entries = [dict(layout.blob(inner), mediaType="application/vnd.oci.image.index.v1+json")]
    tell("indexes-in-indexes", changed(loop), "lead to each other")

    def number(layout):
        layout.entries[0]["size"] = -1
    tell("size-negative", changed(number), "no whole number")

    def text(layout):
        layout.finish = lambda: layout
        layout.files["index.json"] = b"{" * 100000
    tell("index-deep", changed(text), "index.json")

    def huge(layout):
        layout.finish = lambda: layout
        layout.files["index.json"] = b" " * (5 << 20)
    tell("index-huge", changed(huge), "larger than 4 MiB")

    def relative(layout):
        layout.entries = [layout.manifest(TWO, config={"config": {"WorkingDir": "etc"}})]
    tell("directory-relative", changed(relative), "WorkingDir is not absolute")

    def environment(layout):
        layout.entries = [layout.manifest(TWO, config={"config": {"Env": ["novalue"]}})]
    tell("environment-malformed", changed(environment), "not NAME=value")

    tell("docker-config-name", docker(config_name="0" * 64 + ".json"), "damaged or forged")
    tell("docker-layer-other", docker(layers=[LOWER, LOWER]), "damaged or forged")
    tell("docker-layer-missing", docker(layers=[LOWER]), "manifest.json has 1 layers, the configuration 2")
    tell("docker-config-outside", tar(Member("manifest.json", data=json.dumps([{"Config": "../../../../../../etc/hostname", "RepoTags": ["x"], "Layers": []}]).encode())),
         "leads out of its directory")
    # Not compressed within gzip, so that a changed byte is a changed byte of a file; and cut where a member ends.
    stored = gzip.compress(tar(Member("file", data=b"content\n" * 1000)), 0, mtime=0)
    tell("gzip-checksum", stored.replace(b"content\ncontent", b"content\ncontemt", 1), "damaged")
    tell("gzip-cut", stored[:-4], "cut off")
    tell("gzip-followed", stored + b"something else", "damaged")
    tell("tar-cut", tar(Member("a", data=b"x"), Member("b", data=b"\0" * 1024), Member("c"))[:512 * 5], "the archive has no end")
    tell("tar-cut-gzip", zipped(tar(Member("a", data=b"x"), Member("b"))[:1024]), "the archive has no end")
    tell("short", b"warder layer of a tree 1\0" + b"0" * 64 + b"\0", "no tar archive that can be read")
    tell("empty", b"", "no archive that can be read")
    tell("no-archive", b"this is no archive\n" * 100, "no tar archive that can be read")
    tell("gzip-of-nothing", zipped(b"nothing here\n" * 100), "no tar archive that can be read")


def hostile(path):
    def tell(name, says, *members, **more):
        write(path + "/" + name, tar(*members, **more))
        print("%s|%s" % (name, says))

    x = b"x\n"
    tell("dot-dot", r'member "../out" has ".." in its name', Member("../out", data=x))
    tell("dot-dot-within", r'member "a/../../out" has ".." in its name', directory("a"), Member("a/../../out", data=x))
    tell("dot-dot-directory", r'member "a/../" has ".." in its name', directory("a/.."))
    tell("absolute", r'member "/etc/out" has an absolute name', Member("/etc/out", data=x))
    tell("absolute-twice", r'member "//etc/out" has an absolute name', Member("//etc/out", data=x))
    tell("root-is-a-file", r'is the root, but no directory', Member(".", data=x))
    tell("block-device", r'member "dev/sda" is a device', Member("dev/sda", tarfile.BLKTYPE, devmajor=8, devminor=0))
    tell("memory-device", r'member "dev/mem" is a device', Member("dev/mem", tarfile.CHRTYPE, devmajor=1, devminor=1))
    tell("false-null", r'member "dev/null" is a device', Member("dev/null", tarfile.CHRTYPE, devmajor=1, devminor=1))
    tell("false-whiteout", r'member "etc/passwd" is a device', Member("etc/passwd", tarfile.CHRTYPE, devmajor=0, devminor=0))
    tell("device-elsewhere", r'member "null" is a device', Member("null", tarfile.CHRTYPE, devmajor=1, devminor=3))
    tell("link-climbs", r'member "a/link" is a symbolic link that leads out of the image', symlink("a/link", "../../etc"))
    tell("link-climbs-and-returns", r'leads out of the image', symlink("link", "../tree/x"))
    tell("link-without-target", r'is a symbolic link without a target', symlink("link", ""))
    tell("beneath-link", r'member "link/out" lies beneath a symbolic link', symlink("link", "/tmp"), Member("link/out", data=x))
    tell("beneath-link-within", r'member "link/out" lies beneath a symbolic link', directory("a"), symlink("link", "a"), Member("link/out", data=x))
    tell("beneath-link-deep", r'lies beneath a symbolic link', directory("a"), symlink("a/link", "/tmp"), Member("a/link/b/c/out", data=x))
    tell("directory-over-link", r'lies beneath a symbolic link', symlink("link", "/tmp"), directory("link"), Member("link/out", data=x))
    tell("whiteout-beneath-link", r'lies beneath a symbolic link', symlink("link", "/etc"), Member("link/.wh.passwd"))
    tell("beneath-file", r'lies beneath a symbolic link or a file', Member("file", data=x), Member("file/out", data=x))
    tell("hard-link-out", r'member "link" is a hard link to a file outside', hard_link("link", "../../etc/passwd"))
    tell("hard-link-absolute", r'is a hard link to a file outside', hard_link("link", "/etc/passwd"))
    tell("hard-link-missing", r'is a hard link to a file that is not earlier in the layer', hard_link("link", "nothing"))
    tell("hard-link-through-link", r'is a hard link to a file that is not earlier in the layer', symlink("etc", "/etc"), hard_link("link", "etc/passwd"))
    tell("hard-link-directory", r'is a hard link to something that is not a file', directory("a"), hard_link("link", "a"))
    tell("hard-link-whiteout", r'is a hard link to something that is not a file', Member("a/.wh.b"), hard_link("link", "a/b"))
    tell("overlay-attribute", r'member "a" has an attribute of overlayfs', Member("a", data=x, pax={"SCHILY.xattr.trusted.overlay.redirect": "/etc"}))
    tell("overlay-attribute-user", r'has an attribute of overlayfs', Member("a", data=x, pax={"SCHILY.xattr.user.overlay.opaque": "y"}))
    tell("whiteout-of-nothing", r'is a whiteout without a name', Member("a/.wh."))
    tell("whiteout-of-parent", r'is a whiteout without a name', Member("a/.wh..."))
    tell("whiteout-of-itself", r'is a whiteout without a name', Member("a/.wh.."))
    tell("twice-a-directory", r'is in the layer twice', directory("a"), Member("a/b", data=x), Member("a", data=x))
    tell("deep", r'lies too deep', Member("a/" * 200 + "b", data=x))
    tell("long-name", r'has a name that is too long', Member("a" * 300, data=x))
    tell("long-path", r'has a name that is too long', Member(("a" * 200 + "/") * 30 + "b", data=x))
    if os.getuid() == 0:
        tell("uid-beyond", r'member "a" belongs to a uid or gid above 65535', Member("a", data=x, uid=70000))
        tell("gid-beyond", r'belongs to a uid or gid above 65535', Member("a", data=x, gid=70000))
    tell("uid-impossible", r'a', Member("a", data=x, pax={"uid": "99999999999999999999"}))
    # The script gives limits for these.
    tell("LIMIT-many", r'member "f30" is one too many; --max-files allows more', *(Member("f%d" % i) for i in range(50)))
    tell("LIMIT-implied", r'is one too many', *(Member("%d/a/b/c/d/e/f" % i) for i in range(10)))
    tell("LIMIT-large", r'member "large" is too large; --max-file-size allows more', Member("large", data=b"\0" * 3000000))
    tell("LIMIT-together", r'too large together; --max-size allows more', *(Member("f%d" % i, data=b"\0" * 900000) for i in range(10)))
    holes = Member("holes", data=x, pax={"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "holes", "GNU.sparse.realsize": str(1 << 50)})
    holes.data = b"1\n%d\n512\n".ljust(512, b"\0") % ((1 << 50) - 512) + b"\0" * 512
    holes.info.size = len(holes.data)
    tell("LIMIT-holes", r'is too large', holes)
    with open(path + "/LIMIT-bomb", "wb") as out:
        out.write(zipped(tar(Member("small", data=x))) + zipped(b"\0" * (16 << 20)) * 75)
    print("LIMIT-bomb|the archive unpacks to more than")


if __name__ == "__main__":
    shutil.rmtree(sys.argv[2], ignore_errors=True)
    os.makedirs(sys.argv[2])
    {"good": good, "damaged": damaged, "hostile": hostile, "two-names": two_names, "implied": implied}[sys.argv[1]](sys.argv[2])
