"""Workspaces on other machines: the same checks for hosts of both kinds."""
import base64, json, os, time

from serving import warder, work, write
from tap import tell

INSIDE = "workspace://"


def workspace(word, backend, *words, **more):
    return warder("workspace", word, *words[:1], "--backend", backend, *words[1:], **more)


def check(backends, backend, flags, sandboxes):
    """flags: of the start of a session; sandboxes(): the ids of those that the host has."""
    def do(word, *words, **more):
        return workspace(word, backend, *words, **more)

    name = "job 7/\u00fc"
    done = do("create", name, "--json", "--backends", backends, *flags)
    made = json.loads(done[1]) if done[0] == 0 else {}
    root = made.get("path", "")
    tell(done[0] == 0 and sandboxes() == [made["sandbox"]] and made["id"] == name and made["backend"] == backend, "a workspace is a sandbox there", (done, sandboxes()))
    if done[0] != 0:
        return
    tell(do("list")[1] == name.encode() + b"\n", "it is in the list", do("list"))
    done = warder("workspace", "--json", "--flat", "--backend", backend, "list", name)
    tell(done[0] == 0 and {row["path"] for row in json.loads(done[1] or "[]")} == {"skills", "work", "runs", "out"}, "flags may stand before the command", done)
    rows = {row["path"]: row["type"] for row in json.loads(do("list", name, "--json")[1])}
    tell(rows == {"skills": "directory", "work": "directory", "work/inputs": "directory", "runs": "directory", "out": "directory"}, "it has its directories", rows)
    done = do("run", name, "--", "rm", "-rf", root + "/out", root + "/skills")
    again = do("create", name, "--backends", backends, *flags)
    rows = {row["path"] for row in json.loads(do("list", name, "--json")[1])}
    tell(done[0] == 0 and again[0] == 0 and len(sandboxes()) == 1 and {"out", "skills"} <= rows, "a second create makes missing ones again, in the same sandbox", (done, again, rows))

    blob = bytes(range(256)) * 3000
    with open(os.path.join(work, "blob"), "wb") as file:
        file.write(blob)
    blob_path = os.path.join(work, "blob")
    done = do("put", name, blob_path, blob_path + "=skills/a b/\u00fc.bin")
    tell(done[0] == 0 and do("read", name, "blob")[1] == blob and do("read", name, "skills/a b/\u00fc.bin")[1] == blob, "files are put there, and read back byte by byte", done)
    done = do("write", name, "work/tool", "--mode", "755", input=b"#!/bin/sh\necho tool $1\n")
    modes = [row["mode"] for row in json.loads(do("list", name, "--json")[1]) if row["path"] in ("blob", "work/tool")]
    tell(done[0] == 0 and sorted(modes) == ["0644", "0755"] and do("run", name, "--cwd", "work", "--", "sh", "./tool", "runs")[1] == b"tool runs\n", "a file gets its mode", (done, modes))
    done = do("write", name, "empty", input=b"")
    tell(done[0] == 0 and do("read", name, "empty")[:2] == (0, b""), "an empty file is one", done)
    for words in (["put", name, blob_path + "=../x"], ["put", name, blob_path + "=/etc/x"], ["write", name, "a/../../x"], ["read", name, "/etc/passwd"], ["read", name, "../x"], ["list", name, ".."]):
        done = do(*words)
        tell(done[0] == 125 and "is not a path in the workspace" in done[2], "a path that leads out is refused: %s %s" % (words[0], words[2][-9:]), done)
    done = do("write", name, "x", "--mode", "9", input=b"")
    tell(done[0] == 125 and "--mode" in done[2], "so is a mode that is none", done)

    tree = os.path.join(work, "input tree")
    os.makedirs(tree + "/below", exist_ok=True)
    for part in ("one", "below/two"):
        with open(os.path.join(tree, part), "wb") as file:
            file.write(part.encode() + blob[:500])
    os.symlink("one", tree + "/link")
    done = do("stage", name, "host://" + tree)
    tell(done[:2] == (0, b"work/inputs/input tree\n") and do("read", name, "work/inputs/input tree/below/two")[1] == b"below/two" + blob[:500], "a directory is staged", done)
    os.remove(tree + "/one")
    done = do("stage", name, "host://" + tree)
    tell(done[0] == 0 and do("read", name, "work/inputs/input tree/one")[0] == 125, "and replaced when it is staged again", done)
    done = do("stage", name, "host://" + blob_path, "--to", "work/deep/er", "--read-only")
    row = [row for row in json.loads(do("list", name, "work/deep", "--json")[1]) if row["path"] == "work/deep/er"]
    tell(done[0] == 0 and row and int(row[0]["mode"], 8) & 0o222 == 0 and do("read", name, "work/deep/er")[1] == blob, "a read-only input has no write permission", (done, row))
    done = do("stage", name, "workspace://skills/a b", "--to", "work/copy")
    tell(done[0] == 0 and do("read", name, "work/copy/\u00fc.bin")[1] == blob, "an input is copied within the workspace", done)
    done = do("stage", name, "workspace://skills/a b", "--to", "work/copy", "--read-only")
    done = do("stage", name, INSIDE + "work/tool", "--to", "work/copy") if done[0] == 0 else done
    rows = [row["path"] for row in json.loads(do("list", name, "work", "--json")[1])]
    tell(done[0] == 0 and do("read", name, "work/copy")[1] == do("read", name, "work/tool")[1] and not [one for one in rows if "/." in one], "and replaces what was there, also a directory without write permission", (done, rows))
    kept = ["work/.new-0123456789abcdef-%d" % time.time(), "work/.new-0123456789abcdef-123456789x", "work/.new-1000000000", "work/.old-0123456789abcdef"]
    do("run", name, "--", "mkdir", *(os.path.join(root, one) for one in ["work/.new-0123456789abcdef-1000000000", *kept]))
    do("run", name, "--", "sh", "-c", "cd \"$1\" && mkdir x && chmod 500 .", "sh", os.path.join(root, "work/.new-0123456789abcdef-1000000000"))
    done = do("stage", name, INSIDE + "work/tool", "--to", "work/copy")
    rows = {row["path"] for row in json.loads(do("list", name, "work", "--json")[1])}
    tell(done == (0, b"work/copy\n", "") and sorted(one for one in rows if "/." in one) == sorted(kept), "a copy that was killed more than an hour ago is removed by the next one to its directory", (done, rows))
    do("run", name, "--", "rmdir", *(os.path.join(root, one) for one in kept))
    for source, target in (("work/copy", "work/copy"), ("work", "work/deep/er"), ("work/deep/er", "work/deep"), ("work/inputs/input tree", None), ("work/inputs/input tree/", None)):
        done = do("stage", name, INSIDE + source, *(["--to", target] if target else []))
        tell(done[0] == 125 and "one contains the other" in done[2], "a source and a target that contain each other are refused: %s, %s" % (source, target), done)
    done = do("stage", name, INSIDE + "work/none", "--to", "work/copy")
    tell(done[0] == 125 and "work/none does not exist" in done[2], "a source that does not exist", done)
    do("run", name, "--", "ln", "-s", "copy", os.path.join(root, "work/other"))
    done = do("stage", name, INSIDE + "work/copy", "--to", "work/other")
    do("run", name, "--", "ln", "-s", "inputs", os.path.join(root, "work/ways"))
    twice = do("stage", name, INSIDE + "work/inputs/input tree/below/two", "--to", "work/ways/input tree/below/two")
    tell(done[0] == 0 and do("read", name, "work/other")[1] == do("read", name, "work/copy")[1] != b"" and twice[0] == 0, "links to the same file lose nothing", (done, twice))
    tell(do("read", name, "work/inputs/input tree/below/two")[0] == 0 and do("read", name, "work/copy")[0] == 0 and do("read", name, "work/deep/er")[1] == blob, "what was refused has changed nothing")
    done = do("stage", name, "host://" + tree + "//")
    tell(done[:2] == (0, b"work/inputs/input tree\n") and do("read", name, "work/inputs/input tree/below/two")[0] == 0, "a slash at the end of the source says nothing", done)
    for source, target in (("host://" + tree, "work/inputs"), ("host://" + tree, "work/."), ("host://" + tree, "out"), ("host://" + tree + "/.", None), (INSIDE + "work/deep", "skills")):
        done = do("stage", name, source, *(["--to", target] if target else []))
        tell(done[0] == 125 and "is a directory of the workspace" in done[2], "a target that is a directory of the workspace is refused: %s, %s" % (source[-12:], target), done)
    for source in ("artifact://x", "skill://x/y", "git+file:///x", "/x", "host:///none", "host:///", "workspace://", "workspace:///", "workspace://."):
        done = do("stage", name, source)
        tell(done[0] == 125 and done[2], "an input from elsewhere is refused: " + source, done)
    for flag in ("--link", "--pin"):
        done = do("stage", name, "host://" + tree, flag)
        tell(done[0] == 125 and flag in done[2], "so is " + flag, done)

    script = 'cat >"$OUTPUT_DIR/in"; head -c 70000 "$WORKSPACE_DIR/blob" >"$OUTPUT_DIR/a.bin"; touch "$RUN_DIR/here" "$WORK_DIR/w"; pwd; echo "$X"; echo err >&2; exit 3'
    done = do("run", name, "--cwd", "skills/new dir", "--env", "X=a b", "--", "sh", "-c", script, input=b"input")
    tell(done == (3, (root + "/skills/new dir\na b\n").encode(), "err\n"), "a program runs with the variables of the workspace, in a directory that is made", done)
    rows = {row["path"]: row for row in json.loads(do("list", name, "--json")[1])}
    tell([one for one in rows if one.startswith("runs/") and one.endswith("/here")] and rows["out/a.bin"]["size"] == 70000 and "work/w" in rows, "and leaves its files there", list(rows))
    data = json.loads(do("run", name, "--json", "--", "sh", "-c", "echo out")[1])
    tell(data["stdout"]["text"] == "out\n" and data["backend"] == backend, "it has a result in JSON", data)
    done = do("run", name)
    tell(done[0] == 125 and "program is missing" in done[2], "a run without a program", done)

    target = os.path.join(work, "collected " + backend.replace(":", "-"))
    os.makedirs(target)
    done = do("collect", name, "$OUTPUT_DIR/**", "skills/a*/*.bin", "--to", target)
    got = {os.path.relpath(os.path.join(where, one), target): open(os.path.join(where, one), "rb").read() for where, _, files in os.walk(target) for one in files}
    tell(done[0] == 0 and got == {"out/in": b"input", "out/a.bin": blob[:70000], "skills/a b/\u00fc.bin": blob}, "files are collected byte by byte", (done, {one: len(data) for one, data in got.items()}))
    done = do("collect", name, "out/in", "--to", target)
    tell(done[0] == 125 and "File exists" in done[2], "nothing is overwritten", done)
    data = json.loads(do("collect", name, "out/*", "--json")[1])
    tell([(row["path"], row["size"]) for row in data["files"]] == [("out/a.bin", 70000), ("out/in", 5)] and data["files"][1]["content"] == "input" and not data["limitsHit"], "with --json, the document has the content", str(data)[:500])
    for flag, value in (("--max-files", "1"), ("--max-file-size", "1000"), ("--max-size", "1000")):
        done = do("collect", name, "out/*", flag, value, "--json")
        data = json.loads(done[1])
        tell(done[0] == 1 and data["limitsHit"] and flag in done[2], "a limit is reported: " + flag, (done[0], done[2], str(data)[:300]))
    short = os.path.join(work, "short " + backend.replace(":", "-"))
    os.makedirs(short)
    done = do("collect", name, "out/*", "--max-size", "70000", "--json")
    data = json.loads(done[1])
    stored = do("collect", name, "out/*", "--max-size", "70000", "--to", short)
    tell(done[0] == 1 and [row["path"] for row in data["files"]] == ["out/a.bin"] and data["limitsHit"] and stored[0] == 1 and os.listdir(short + "/out") == ["a.bin"], "nothing is collected behind --max-size", (done, stored, os.listdir(short)))
    os.makedirs(short + "/skills/a b/\u00fc.bin")
    done = do("collect", name, "skills/**", "out/in", "--to", short)
    tell(done[0] == 125 and os.listdir(short + "/out") == ["a.bin"], "what cannot be collected as a whole leaves no files", (done, os.listdir(short + "/out")))
    os.rmdir(short + "/skills/a b/\u00fc.bin")
    done = do("collect", name, "skills/**", "out/in", "--to", short)
    tell(done[0] == 0 and sorted(os.listdir(short + "/out")) == ["a.bin", "in"], "and can be collected then", (done, os.listdir(short + "/out")))
    done = do("run", name, "--", "sh", "-c", "mkdir -p work/odd && cd work/odd && touch kept \"$(printf 'x\\377')\"")
    listed, done = do("list", name, "work/odd", "--json"), do("collect", name, "work/odd/*", "--json") if done[0] == 0 else done
    rows = json.loads(listed[1]) if listed[0] == 0 else []
    data = json.loads(done[1]) if done[0] == 0 else {}
    tell(len(rows) == 2 and "work/odd/kept" in [row["path"] for row in rows] and "work/odd/kept" in [row["path"] for row in data.get("files", ())], "a name that is no UTF-8 does not hide the others", (listed, done))
    exact = [row for row in rows if "pathBase64" in row]
    tell(not exact or (base64.b64decode(exact[0]["pathBase64"]) == b"work/odd/x\xff" and data["outside"] == 0 and len(data["files"]) == 2), "and is one itself, if the host gives its bytes", (listed, done))
    for flags in (["--recreate"], ["--on-recreate", "true"]):
        done = do("run", name, *flags, "--", "true")
        tell(done[0] == 125 and flags[0] in done[2] and "workspace create" in done[2], "run does not recreate: " + flags[0], done)
    for words, word in ((["workspace", "collect", name, "out/*", "--to", "--backend", backend], "stands where another flag"), (["workspace", "list", "--backend", backend, "--backend", "local", name], "the last --backend is local")):
        done = warder(*words)
        tell(done[0] == 125 and word in done[2] and "null" not in done[2], "a host that cannot be the one meant is refused: " + word, done)
    for pattern in ("/etc/*", "../*", "$RUN_DIR/*", "out/../../*"):
        done = do("collect", name, pattern)
        tell(done[0] == 125 and "pattern" in done[2], "a pattern that leads out is refused: " + pattern, done)
    for words in (["snapshot", name], ["patch", name], ["provision", "x"], ["drive", "x"], ["show", name], ["resume", "x"]):
        done = do(*words)
        tell(done[0] == 125 and words[0] + " works with workspaces on this machine only" in done[2], "what a workspace there cannot do is refused: " + words[0], done)
    for words, word in ((["read", name + "x", "a"], "there is no workspace"), (["put", name], "the files are missing"), (["collect", name], "the patterns are missing"), (["run"], "ID"), (["list", name, "--strict"], "--strict")):
        done = do(*words)
        tell(done[0] == 125 and word in done[2], "a wrong command says why: " + word, done)
    tell(warder("workspace", "read", name, "blob", env={"WARDER_STORE": os.path.join(work, "store")})[0] == 125, "it is none of this machine")

    record = [row["name"] for row in json.loads(warder("session", "list", "--json")[1]) if row.get("sandbox") == made["sandbox"]]
    tell(record == [made["session"]], "its record is a session", record)
    kept = open(backends).read()
    open(backends, "w").write(json.dumps({"enable": ["remote"], "remote": {one: dict(row, url="http://127.0.0.1:1") for one, row in json.loads(kept)["remote"].items()}}))
    done = do("remove", name)
    open(backends, "w").write(kept)
    tell(done[0] == 125 and len(sandboxes()) == 1 and do("list")[1] == name.encode() + b"\n", "a removal that fails keeps the record", done)
    done = do("remove", name)
    tell(done[0] == 0 and sandboxes() == [] and do("list")[1] == b"" and do("remove", name)[0] == 0, "and then it can be removed", done)
