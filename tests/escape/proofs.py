#!/usr/bin/env python3
"""proofs.py ATTEMPTS NAME=FILE...: which attempts the escape suites proved where, as a table on standard output.

ATTEMPTS is the program warder-attempts, and each FILE is what tests/escape/run.sh printed (TAP) in the environment NAME. An attempt is
proved where it succeeds outside a jail, in what the host has or in a stand-in for it, and is stopped inside. Attempts that each
environment proved are only counted.

docs/threat-model.md has a table of the attempts that a host may be unable to prove, with what they need and what proves them. Ends with 1
if an attempt that nothing proved is not in it, and, if the environments are those of `make check-vm`, if one is unproved although the
table names a host, a stand-in or a guest for it, or another attempt that is itself unproved.
"""
import os
import re
import subprocess
import sys

DOCUMENT = os.path.join(os.path.dirname(__file__), "../../docs/threat-model.md")
HEADING = "## Attempts that a host may be unable to prove"
LINE = re.compile(r"ok \d+ - [^:]+: ([a-z0-9-]+) \(.*\) \[[a-z]+\](.*)$")


def reasons():
    """{attempt: (what it needs, what proves it)} of the document's table."""
    with open(DOCUMENT, encoding="utf-8") as file:
        section = file.read().split(HEADING, 1)[1].split("\n## ", 1)[0]
    found = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 3:
            for name in re.findall("`([a-z0-9-]+)`", cells[0]):
                found[name] = (cells[1], cells[2])
    return found


def read(path):
    """{attempt: "yes", "stand-in" or "-"}; what proved it under one policy is not unproved by another."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = LINE.match(line)
            if not match:
                continue
            name, rest = match.groups()
            proof = "-" if " # SKIP " in rest else "stand-in" if rest.endswith(", with a stand-in") else "yes"
            if found.get(name, "-") == "-":
                found[name] = proof
    return found


def main():
    program, pairs = sys.argv[1], [argument.split("=", 1) for argument in sys.argv[2:]]
    environments = {name: read(path) for name, path in pairs}
    listed = subprocess.run([program, "--tables"], check=True, capture_output=True, text=True).stdout
    tables = dict(line.split("\t") for line in listed.splitlines())
    names = sorted({name for found in environments.values() for name in found})
    known, rows, remainder, missing, by_other = reasons(), [], [], [], []

    def has_effect(name):
        return any(found.get(name) in ("yes", "stand-in") for found in environments.values())

    for name in names:
        proofs = [found.get(name, "") for found in environments.values()]
        effect = has_effect(name)
        others = re.findall("`([a-z0-9-]+)`", known[name][1]) if name in known else []
        if all(proof == "yes" for proof in proofs):
            continue
        rows.append([name, *proofs, tables.get(name, ""), "" if effect else known.get(name, ("not in the table",))[0]])
        if not effect:
            (by_other if others and all(map(has_effect, others)) else remainder).append(name)
            if name not in known or ("vm6.12" in environments and (re.search("stand-in|guest|host", known[name][1]) or
                                                                  not all(map(has_effect, others)))):
                missing.append(name)
    head = ["attempt", *environments, "table", "needs"]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    print("\nAttempts that some environment does not prove by effect:\n")
    for row in [head, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    by_table = [name for name in remainder if name in tables]
    print("\n%d attempts: %d proved by effect somewhere, %d by another attempt (%s), %d only by a table of the product's (%s), "
          "%d by nothing (%s)" % (
        len(names), len(names) - len(remainder) - len(by_other), len(by_other), " ".join(by_other) or "none",
        len(by_table), " ".join(by_table) or "none",
        len(remainder) - len(by_table), " ".join(name for name in remainder if name not in tables) or "none"))
    for name in missing:
        print("FAILED  %s is proved nowhere, and docs/threat-model.md does not say why" % name)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
