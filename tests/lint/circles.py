#!/usr/bin/env python3
"""circles.py TABLE SOURCE...: which files call each other in a circle?

A file calls another one if its code names a function that the other alone defines for other files. TABLE lists the circles that are
known, one a line: the paths of its files. Prints each circle that is not in the table, and each line of the table that is no circle any
more; 1 if there is one.
"""
import re, sys

NOISE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*', re.S)
DEFINITION = re.compile(r"^(?!static\b|typedef\b|extern\b)[a-z_][\w ]*[ *]\**(\w+)\([^;{}]*\)\n\{", re.M)
DATA = re.compile(r"^(?:const )?(?:struct|char|bool|\w+_t) [\w *]*?\b(\w+)(?:\[\w*\])* = ", re.M)

table, paths = sys.argv[1], [path for path in sys.argv[2:] if path.endswith(".c")]
code = {path: NOISE.sub(" ", open(path).read()) for path in paths}
owners = {}
for path in paths:
    for name in DEFINITION.findall(code[path]) + DATA.findall(code[path]):
        owners.setdefault(name, set()).add(path)
calls = {
    path: {min(owners[word]) for word in set(re.findall(r"\w+", code[path])) if len(owners.get(word, ())) == 1} - {path}
    for path in paths
}


def reach(path):
    found, todo = set(), [path]
    while todo:
        for other in calls[todo.pop()] - found:
            found.add(other)
            todo.append(other)
    return found


reached = {path: reach(path) for path in paths}
circles = {tuple(sorted(other for other in reached[path] if path in reached[other])) for path in paths} - {()}
known = {tuple(sorted(line.split())) for line in open(table) if line.strip() and not line.startswith("#")}
for circle in sorted(circles - known):
    print("these files call each other in a circle: " + " ".join(circle))
    for path in circle:
        for other in sorted(calls[path] & set(circle)):
            names = [word for word in sorted(set(re.findall(r"\w+", code[path]))) if owners.get(word) == {other}]
            print("  %s -> %s: %s" % (path, other, " ".join(names)))
for circle in sorted(known - circles):
    print("%s: no circle any more: %s" % (table, " ".join(circle)))
sys.exit(circles != known)
