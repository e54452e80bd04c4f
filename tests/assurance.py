#!/usr/bin/env python3
"""assurance.py RESULTS: print docs/assurance.md from the results of the suites in RESULTS.

ENVIRONMENT.SUITE.tap  TAP of a suite
ENVIRONMENT.where      environment, kernel, versions of cgroups, sources, day, separated by tabs
matrix.md              controls and backends, as a table
fuzz                   target executions findings
coverage               folder lines run branches taken
fuzz.sources, coverage.sources   sources and day, separated by a tab; of coverage also a line with the suites

Attempts are the tests of a suite `escape` whose names end with their group ("strict: name (what) [group]"), injected faults
those of a suite `fault`, with the group in front ("group/name", "group: name" or "group::name"). Lines "# note: ..." of that suite
are printed as they are. The document names missing results, and makes up no figure.
"""
import collections
import os
import re
import sys

results = sys.argv[1]


def read(name):
    try:
        with open(os.path.join(results, name), encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return None


class Test:
    def __init__(self, line):
        match = re.match(r"(not )?ok\b *[0-9]* *-? *(.*)", line)
        text, skip, self.reason = match.group(2).partition(" # SKIP ")
        self.name = text.strip()
        self.state = "failed" if match.group(1) else "skipped" if skip else "passed"
        self.lines = []
        after = re.search(r" \[([^][]+)\](?:: .*)?$", self.name)
        before = re.match(r"(?:test_[a-z_]+ )?([^/:]*?[^/: ])(?:/|::|: )", self.name)
        self.is_attempt = bool(after)
        self.group = (after or before).group(1) if after or before else "others"


def parse(text):
    """The tests of a TAP stream, the figures that they noted, and whether it is whole."""
    tests, notes, planned = [], [], None
    for line in text.splitlines():
        if re.match(r"(not )?ok\b", line):
            tests.append(Test(line))
        elif re.match(r"1\.\.[0-9]+$", line):
            planned = int(line[3:])
        elif line.startswith("# note: "):
            notes.append(line[8:].strip())
        elif line.startswith("#") and tests:
            tests[-1].lines.append(line[1:].strip())
    return tests, notes, planned == len(tests)


def table(head, rows):
    if not rows:
        return
    print("| " + " | ".join(head) + " |")
    print("|---" + "".join("|---:" if str(rows[0][i]).strip("-0123456789. %") == "" else "|---" for i in range(1, len(head))) + "|")
    for row in rows:
        print("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |")
    print()


def count(tests, *keys):
    return [sum(test.state == key for test in tests) for key in keys]


# ---- what is there ----

order = ["host", "root", "user", "soak", "soak-user", "asan", "tsan", "uml"]
suites, notes, partial = {}, {}, []
for name in sorted(os.listdir(results)):
    match = re.match(r"([^.]+)\.(.+)\.tap$", name)
    if match:
        tests, noted, whole = parse(read(name))
        suites[match.group(1), match.group(2)] = tests
        notes[match.group(1), match.group(2)] = noted
        if not whole:
            partial.append("%s.%s" % match.groups())
places = sorted({where for where, _ in suites}, key=lambda where: (order.index(where) if where in order else len(order), where))


Run = collections.namedtuple("Run", "kernel sources day")
runs = {}
for place in places:
    cells = (read(place + ".where") or "").strip("\n").split("\t")
    if len(cells) == 5:
        kernel = "Linux " + re.sub(r"^([0-9]+\.[0-9]+)\S*", r"\1", cells[1]).strip()
        runs[place] = Run(kernel + (", cgroup " + cells[2] if cells[2] != "none" else ""), cells[3], cells[4])
    else:
        runs[place] = Run("a kernel that is not recorded", "not recorded", "not recorded")


def of_suite(suite):
    return [(where, suites[where, suite]) for where in places if (where, suite) in suites]


def by_group(tests):
    groups = collections.OrderedDict()
    for test in tests:
        groups.setdefault(test.group, []).append(test)
    return groups


def told_of(name):
    lines = (read(name + ".sources") or "").splitlines()
    told = "The sources were %s, the day %s." % tuple(lines[0].split("\t")) if lines else "Sources and day are not recorded."
    return told + (" The suites were " + ", ".join(lines[1].split()) + "." if len(lines) > 1 else "")


# ---- the document ----

print("""# Assurance

`make assurance` generates this page from the results in `build/check`. `make check`, `make check-vm`, `make soak`, `make fuzz` and
`make coverage` write there; each section says which results are missing. Only the reasons of failures are written by hand, in
`tests/explained-failures`. A figure stands for one run of a suite, or of one hunt, on one machine. It applies to the commits in the table
below, which may be older than the tree beside this file; "Not run" lists the suites of the tree that have no figures.
""")

print("## Where it ran\n")
if places:
    table(["environment", "kernel and cgroup versions", "sources", "day"], [(where, *runs[where]) for where in places])
else:
    print("Missing: no suite has left results.\n")
for name in partial:
    print("The suite %s stopped early: its figures are those until then.\n" % name)

print("## Suites\n")
table(["suite and environment", "passed", "failed", "skipped"],
      [("%s, %s" % (suite, where), *count(tests, "passed", "failed", "skipped"))
       for (where, suite), tests in sorted(suites.items(), key=lambda item: (item[0][1], places.index(item[0][0])))])

print("## Failed\n")
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "explained-failures"), encoding="utf-8") as file:
    explained = [re.split(r" {2,}", line.strip()) for line in file if not re.match(r"#|$", line)]
failed = [("%s, %s" % (suite, where), test.name) for (where, suite), tests in sorted(suites.items()) for test in tests
          if test.state == "failed"]
print("These tests failed with the sources of the first table. If a later commit fixed a failure, the third column names it.\n"
      if failed else "Nothing.\n")
table(["suite and environment", "test", "why"],
      [(where, re.sub(r" \(/\S*/(tests/\S*)\)", r" (\1)", name),
        next((why for suite, part, why in explained if suite == where and part in name), "not explained yet"))
       for where, name in failed])

# A call of suite(), tests() or faults() with a literal environment, as tests/run.sh has one for each suite of `make check`.
with open(os.path.join(here, "run.sh"), encoding="utf-8") as file:
    script = file.read()
known = re.findall(r"^\s*suite (root|user|host|asan|tsan) ([a-z0-9-]+) ", script, re.MULTILINE)
for where, layers in re.findall(r"^\s*tests (root|user|asan) \S+ \S+((?: [a-z]+)+)$", script, re.MULTILINE):
    known += [(where, layer) for layer in layers.split()]
known += [(where, "fault") for where in re.findall(r"^\s*faults (root|user) ", script, re.MULTILINE)]
print("## Not run\n")
absent = sorted({"%s, %s" % (suite, where) for where, suite in known if (where, suite) not in suites})
print(("No figures: " + "; ".join(absent) + ".\n") if absent else "Every suite of `make check` has figures.\n")
rest = [target for target, prefix in (("make soak", "soak"), ("make check-vm", "vm")) if not any(where.startswith(prefix) for where in places)]
if rest:
    print("No figures of %s.\n" % " and of ".join("`%s`" % target for target in rest))

print("## Attempts\n")
attempts = of_suite("escape")
if not attempts:
    print("Missing: no run of the suite escape.\n")
for where, tests in attempts:
    tried = [test for test in tests if test.is_attempt]
    print("As %s, on %s, under each policy that the suite has:\n" % (where, runs[where].kernel))
    table(["group", "tried", "stopped", "not stopped", "proved nothing there"],
          [(group, sum(count(some, "passed", "failed")), *count(some, "passed", "failed", "skipped"))
           for group, some in sorted(by_group(tried).items()) + [("all", tried)]])
    failed = [test for test in tried if test.state == "failed"]
    for test in failed:
        print("- not stopped: %s %s" % (test.name, " ".join(test.lines[:1])))
    if failed:
        print()

print("## Faults\n")
faults = of_suite("fault")
if not faults:
    print("Missing: no run of the suite fault.\n")
for where, tests in faults:
    print("As %s, on %s:\n" % (where, runs[where].kernel))
    table(["group of tests", "tests", "nothing left behind", "something left or wrong", "not to be tried there"],
          [(group, sum(count(some, "passed", "failed")), *count(some, "passed", "failed", "skipped"))
           for group, some in list(by_group(tests).items()) + [("all", tests)]])
    for note in notes[where, "fault"]:
        print("- " + note)
    if notes[where, "fault"]:
        print()
    failed = [test for test in tests if test.state == "failed"]
    for test in failed:
        print("- %s %s" % (test.name, " ".join(test.lines[:1])))
    if failed:
        print()


def short_reason(text):
    """Without temporary directories, which differ in each run, and without the long remedy of a missing cgroup."""
    text = re.sub(r"^because +", "", text)
    text = re.sub(r"/tmp/tmp\.\w+", "its temporary directory", text)
    return re.sub(r": (run with --delegate,|systemd-run) .*?--cgroup-parent\)?", "", text)


print("## Skipped\n")
skips = collections.OrderedDict()
for (where, suite), tests in sorted(suites.items()):
    for test in tests:
        if test.state == "skipped":
            key = (where, suite, short_reason(test.reason))
            skips[key] = skips.get(key, 0) + 1
if skips:
    table(["where and why", "tests"],
          [("%s, %s: %s" % key, number) for key, number in skips.items()])
else:
    print("Nothing.\n")

print("## Controls and backends\n")
text = read("matrix.md")
if text:
    print(text.strip() + "\n")
    print("As root on the host of the table above; each cell is a test of the suite `conformance`: a program cannot exceed the control, or the\n"
          "policy is refused before anything starts.\n")
else:
    print("Missing: the suite conformance was not run.\n")

print("## Fuzzing\n")
text = read("fuzz")
if text:
    rows = [line.split() for line in text.splitlines()]
    table(["target", "executions", "findings"], rows + [("all", *(sum(int(row[i]) for row in rows) for i in (1, 2)))])
    print(told_of("fuzz") + "\n")
else:
    print("Missing: `make fuzz` was not run.\n")

print("## Coverage\n")
text = read("coverage")
if text:
    def share(part, whole):
        return "%.1f %%" % (100 * int(part) / int(whole)) if int(whole) else "-"

    table(["folder", "lines", "run", "branches", "taken"],
          [(folder, lines, share(run, lines), branches, share(taken, branches))
           for folder, lines, run, branches, taken in (line.split() for line in text.splitlines())])
    print(told_of("coverage") + """

Counted as root. The init inside the jail is freestanding and is not counted, nor is what runs in a process that ends by exec, by
`_exit` or by a signal; `jail/inside` is its part that the host runs as well.""")
else:
    print("Missing: `make coverage` was not run.")

print("\n## Holes\n\n[docs/holes.md](holes.md): what attacks of our own have found, and how it was closed.")
