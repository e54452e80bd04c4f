#!/usr/bin/env python3
"""walk.py [DOCUMENT]: compares "From main to the exec, and back" and "Where code goes" of docs/architecture.md with the tree.

Each line of the first section's block is a function, its file and a remark; the caller is the line above it that is indented less. The function
must be defined in that file, the caller must name it, and a caller must name its functions in the order of their lines. A remark that begins
with "table:" stands for a call through a table of the caller's file, "exec:" for a new program. In the table of the second section, each path must exist: from the top, or beside the path before it in the row.
Prints each fault; 1 if there is one.
"""
import os, re, sys

HEADING = "### From main to the exec, and back"
document = sys.argv[1] if len(sys.argv) > 1 else "docs/architecture.md"
block = open(document).read().partition(HEADING)[2].partition("\n```\n")[2].partition("\n```\n")[0]
sources = {}
faults = []
above = []  # (indent, function, file, where its last callee was named)
count = 0


def source(path):
    if path not in sources:
        try:
            sources[path] = re.sub(r"/\*.*?\*/", lambda m: " " * len(m[0]), open(path).read(), flags=re.S)
        except OSError:
            sources[path] = ""
    return sources[path]


def body(function, path):
    found = re.search(r"^[a-zA-Z_][^;{}=]*\b%s\([^;{}]*\)\n\{\n.*?^\}" % function, source(path), re.S | re.M)
    return found[0][found[0].index("{"):] if found else None


for line in block.splitlines():
    words = re.split(r"\s{2,}", line.strip(), maxsplit=2)
    indent = len(line) - len(line.lstrip())
    if len(words) < 2:
        faults.append("not a function and a file: %s" % line)
        continue
    function, path, remark = words[0], words[1], words[2] if len(words) > 2 else ""
    count += 1
    while above and above[-1][0] >= indent:
        above.pop()
    if body(function, path) is None:
        faults.append("%s has no function %s" % (path, function))
    if above and not remark.startswith("exec:"):
        caller = above[-1]
        text = source(caller[2]) if remark.startswith("table:") else body(caller[1], caller[2]) or ""
        pattern = r"^\t\{[^}]*?\b%s\b[^;]*?\}" if remark.startswith("table:") else r"\b%s\b"
        named = [m.start() for m in re.finditer(pattern % function, text, re.S | re.M)]
        later = [at for at in named if at > caller[3]]
        if not later:
            faults.append("%s of %s %s %s" % (caller[1], caller[2], "names too early" if named else "does not name", function))
        else:
            caller[3] = later[0] if not remark.startswith("table:") else caller[3]
    above.append([indent, function, path, -1])
paths = 0
for row in open(document).read().partition("## Where code goes")[2].partition("\n### ")[0].splitlines():
    beside = ""
    for path in re.findall(r"`([\w./-]+(?:\.[cht]|\.txt|/))`", row.rpartition(" | ")[2]):
        paths += 1
        at = next((at for at in (path, os.path.join(beside, path)) if os.path.exists(at)), None)
        if not at:
            faults.append("Where code goes: there is no %s" % path)
        else:
            beside = at if at.endswith("/") else os.path.dirname(at)
if paths < 20:
    faults.append("%s: only %d paths below \"Where code goes\"" % (document, paths))
if count < 20:
    faults.append("%s: only %d functions below \"%s\"" % (document, count, HEADING))
print("\n".join(faults), end="\n" if faults else "")
sys.exit(bool(faults))
