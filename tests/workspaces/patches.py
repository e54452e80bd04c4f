#!/usr/bin/env python3
"""patches.py WARDER DIRECTORY TIMES [SEED]: what `git diff` writes between random trees is applied as `git apply` does, TIMES times.

Each round makes a random tree (modes, links, empty files, binary, CRLF, no newline at the end, names that git quotes), changes it at
random (edits, renames, copies, modes, deletions, files that become links or directories) and asks git for the difference. `workspace patch`
on one copy and `git apply` on another one end in equal trees: names, modes, contents, links. Every third patch is also corrupted,
and every fifth given to a tree that has moved on: where git refuses, Warder refuses and nothing has changed; where git applies it, the
trees are equal. A corrupted header may be too damaged to show whether its paths have prefixes: then Warder asks for --strip, changes nothing,
and with --strip 1, which is what git takes, does as git does. Without SEED every run makes other patches. Exit status 0, or 1 with what was
found and the seed."""
import os, random, shutil, stat, subprocess, sys

warder, place, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.SystemRandom().randrange(1 << 32)
rng = random.Random(seed)
os.umask(0o022)
os.makedirs(place, exist_ok=True)
os.environ["WARDER_STORE"] = os.path.join(place, "store")
plain = {**os.environ, "GIT_DIR": "/dev/null", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
repository_of = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
NAMES = ["a", "b.txt", "c d", "ü", 'q"uote', "tab\tname", "back\\slash", "x.sh", "y", "z.bin", "new\nline", "-dash", "e => f"]
DIRECTORIES = ["", "", "dir/", "dir/sub/", "other dir/", "dür/"]


def git(where, *arguments, env=plain, **more):
    return subprocess.run(["git", *arguments], cwd=where, env=env, capture_output=True, **more)


def lines(count):
    return [rng.choice(["line", "x", "", "other text", "  indented", "ü"]) + str(rng.randrange(30)) for _ in range(count)]


def content():
    kind = rng.randrange(8)
    if kind == 0:
        return b""
    if kind == 1:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(1, 400))) + b"\0"
    end = "\r\n" if kind == 2 else "\n"
    text = end.join(lines(rng.randrange(1, 40)))
    return (text + ("" if kind == 3 else end)).encode()


def edited(old):
    if b"\0" in old or not old:
        return content()
    rows = old.split(b"\n")
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(rows))
        what = rng.randrange(3)
        if what == 0:
            rows[at] = b"changed %d" % rng.randrange(99)
        elif what == 1:
            rows.insert(at, b"inserted %d" % rng.randrange(99))
        elif len(rows) > 1:
            del rows[at]
    return b"\n".join(rows)


class Tree(dict):
    """Path: ("file", executable, bytes) or ("link", text)."""

    def free(self):
        while True:
            name = rng.choice(DIRECTORIES) + rng.choice(NAMES) + rng.choice(["", "1", "2"])
            if name not in self and not any(other.startswith(name + "/") or name.startswith(other + "/") for other in self):
                return name

    def write(self, where):
        shutil.rmtree(where, ignore_errors=True)
        os.makedirs(where)
        self.into(where)

    def into(self, where):
        for name, what in self.items():
            path = os.path.join(where, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if what[0] == "link":
                os.symlink(what[1], path)
            else:
                with open(path, "wb") as file:
                    file.write(what[2])
                os.chmod(path, 0o755 if what[1] else 0o644)


def random_tree():
    tree = Tree()
    for _ in range(rng.randrange(3, 9)):
        name = tree.free()
        tree[name] = ("link", rng.choice(["a", "../x", "/etc/passwd", "dir"])) if rng.randrange(6) == 0 else \
            ("file", rng.randrange(3) == 0, content())
    return tree


def changed(tree):
    new = Tree(tree)
    for _ in range(rng.randrange(1, 5)):
        names = list(new)
        name = rng.choice(names) if names else None
        what = rng.randrange(9)
        if what <= 1 or name is None:
            new[new.free()] = ("file", rng.randrange(3) == 0, content())
        elif what == 2:
            del new[name]
        elif what == 3:
            new[new.free()] = new.pop(name)
        elif what == 4:
            new[new.free()] = new[name]
        elif what == 5:
            new[new.free()] = ("link", rng.choice(["b", "../y", "dir/sub"]))
        elif what == 6 and new[name][0] == "file":
            new[name] = ("file", not new[name][1], new[name][2])
        elif what == 7:
            new[name] = ("link", "somewhere") if new[name][0] == "file" else ("file", False, content())
        elif new[name][0] == "file":
            new[name] = ("file", new[name][1], edited(new[name][2]))
        if rng.randrange(12) == 0 and name in new:
            old = new.pop(name)
            new[name + "/in"] = old
    return new


def state(where):
    found = {}
    for parent, directories, files in os.walk(where):
        for name in directories + files:
            path = os.path.join(parent, name)
            st = os.lstat(path)
            inside = os.path.relpath(path, where)
            if stat.S_ISLNK(st.st_mode):
                found[inside] = ("link", os.readlink(path))
            elif stat.S_ISDIR(st.st_mode):
                found[inside] = ("directory", oct(st.st_mode & 0o777))
            else:
                with open(path, "rb") as file:
                    found[inside] = (oct(st.st_mode & 0o7777), file.read())
    return found


def difference(old, new):
    """What git writes between the two, with random options."""
    repository = os.path.join(place, "repository")
    shutil.rmtree(repository, ignore_errors=True)
    old.write(repository)

    def run(*arguments):
        ended = git(repository, "-c", "user.name=x", "-c", "user.email=x", "-c", "core.autocrlf=false", *arguments, env=repository_of)
        if ended.returncode not in (0, 1):
            sys.exit(f"git {arguments}: {ended.stderr.decode()}")
        return ended.stdout

    run("init", "-q", ".")
    run("add", "-A", "-f")
    run("commit", "-q", "--allow-empty", "-m", "old")
    for name in os.listdir(repository):
        if name != ".git":
            path = os.path.join(repository, name)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    new.into(repository)
    run("add", "-A", "-f")
    options = [option for option in ("-M", "-M50%", "-C", "--find-copies-harder", "--full-index", "-U1", "-U0", "--no-renames",
                                     "--patience", "-R") if rng.randrange(4) == 0]
    strip = []
    if rng.randrange(6) == 0:
        options.append(rng.choice(["--no-prefix", "--src-prefix=i/", "--src-prefix=x/y/"]))
    if options and options[-1] == "--src-prefix=i/":
        options.append("--dst-prefix=w/")
    elif options and options[-1] == "--src-prefix=x/y/":
        options.append("--dst-prefix=v/w/")
        strip = ["2"]
    elif options and options[-1] == "--no-prefix":
        strip = ["0"]
    if rng.randrange(8):
        options.append("--binary")
    return run("diff", "--cached", *options, "HEAD"), strip, "-R" in options


def corrupted(patch):
    data = bytearray(patch)
    for _ in range(rng.randrange(1, 4)):
        if not data:
            break
        at = rng.randrange(len(data))
        what = rng.randrange(4)
        if what == 0:
            data[at] = rng.randrange(256)
        elif what == 1:
            del data[at:at + rng.randrange(1, 40)]
        elif what == 2:
            data[at:at] = bytes(data[rng.randrange(len(data)):][:rng.randrange(1, 30)])
        else:
            del data[at:]
    return bytes(data)


def ask(patch, strip):
    return subprocess.run([warder, "workspace", "patch", "job", *(["--strip", strip[0]] if strip else [])], input=patch, capture_output=True)


def one(tree, patch, strip, damaged):
    """Both ways; returns whether git applied it, and what is wrong or None."""
    job, beside = os.path.join(place, "job"), os.path.join(place, "beside")
    tree.write(beside)
    for name in os.listdir(job):
        path = os.path.join(job, name)
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    tree.into(job)
    before = state(job)
    theirs = git(beside, "apply", *(["-p" + strip[0]] if strip else ["-p1"]), "-", input=patch)
    ours = ask(patch, strip)
    if not strip and b"give --strip" in ours.stderr:
        if not damaged or ours.returncode == 0 or state(job) != before:
            return False, f"it asks for --strip: {ours.returncode}, the same tree: {state(job) == before}"
        asked.append(patch)
        ours = ask(patch, ["1"])
    if (theirs.returncode == 0) != (ours.returncode == 0):
        return False, f"git: {theirs.returncode} {theirs.stderr.decode()}; Warder: {ours.returncode} {ours.stderr.decode()}"
    expected = state(beside) if theirs.returncode == 0 else before
    if state(job) != expected:
        found = state(job)
        return False, "the trees differ: " + ", ".join(f"{name}: {found.get(name)} and not {expected.get(name)}"
                                                       for name in sorted({*found, *expected}) if found.get(name) != expected.get(name))
    changed = [before.get(name) or expected[name] for name in {**before, **expected} if before.get(name) != expected.get(name)]
    # git tracks no directories, and the list names none.
    if theirs.returncode == 0 and any(what[0] != "directory" for what in changed) and not ours.stdout:
        return False, "nothing is reported"
    return theirs.returncode == 0, None


made = subprocess.run([warder, "workspace", "create", "job"], capture_output=True, text=True)
if made.returncode != 0:
    sys.exit(made.stderr)
if os.path.islink(os.path.join(place, "job")):
    os.unlink(os.path.join(place, "job"))
os.symlink(made.stdout.strip(), os.path.join(place, "job"))
os.environ["WARDER_STORE"] = os.path.realpath(os.environ["WARDER_STORE"])
applied = refused = 0
asked = []
for i in range(times):
    old = random_tree()
    patch, strip, reverse = difference(old, new := changed(old))
    base = new if reverse else old
    tries = [(base, patch, False)]
    if i % 3 == 0:
        tries.append((base, corrupted(patch), True))
    if i % 5 == 0:
        tries.append((changed(base), patch, False))
    for tree, text, damaged in tries:
        done, wrong = one(tree, text, strip, damaged)
        if wrong:
            with open(os.path.join(place, "wrong"), "wb") as file:
                file.write(text)
            sys.exit(f"seed {seed}, round {i}: {wrong}; the patch:\n{text.decode(errors='replace')[:3000]}")
        applied += done
        refused += not done
print(f"# note: {times} patches and their corruptions, seed {seed}: {applied} applied, {refused} refused, each as git does; \
{len(asked)} needed --strip")
