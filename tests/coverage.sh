#!/bin/bash
# coverage.sh BUILD: what the unit and mechanism tests and the suites below ran of a build made for it, by folder, and in
# build/check/coverage: folder, lines, lines run, branches, branches taken; in coverage.sources: of what, and by which suites.
#
# Counted by gcov at the end of a process. Not counted, whatever ran: the init inside the jail (freestanding; jail/inside here is
# its root.c and tree.c as the host runs them for a template), and processes that end by exec, _exit or a signal before they
# wrote.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
build=$1
table=build/check/coverage
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
[ "$(id -u)" = 0 ] || echo "coverage.sh: not root: what only root may try is not covered" >&2
suites=(transcript escape images workspaces conformance containers engines)
mkdir -p "${table%/*}" && { tests/lib/sources.sh && echo "unit mechanism ${suites[*]}"; } >"$table.sources"
export GCOV_ERROR_FILE=/dev/null # another user cannot write the counts, and need not say so where a test reads
find "$build" -name '*.gcda' -delete

mapfile -t programs < <(find "$build/tests/unit" "$build/tests/mechanism" -type f -executable -name 'test_*' | sort)
tests/lib/criterion.sh "${programs[@]}" >"$scratch/tap" 2>"$scratch/err"
for suite in "${suites[@]}"; do
	WARDER=$build/warder tests/engines/docker.sh tests/"$suite"/run.[ps]* >>"$scratch/tap" 2>>"$scratch/err"
done
grep '^not ok' "$scratch/tap"

# Every object's record of the same source adds to it: a line or branch is run if any of them ran it.
find "$build/lib" "$build/tool" -name '*.gcda' -print0 |
	xargs -0 gcov --json-format --stdout --branch-probabilities 2>"$scratch/gcov" |
	python3 -c '
import collections, json, os, sys
lines, branches = {}, {}
for text in sys.stdin:
    for file in json.loads(text)["files"]:
        name = os.path.relpath(file["file"])
        if name.split("/")[0] not in ("base", "policy", "rootfs", "jail", "backends", "runtime", "store") or not name.endswith(".c"):
            continue
        for line in file["lines"]:
            at = (name, line["line_number"])
            lines[at] = lines.get(at, 0) + line["count"]
            for i, branch in enumerate(line["branches"]):
                branches[at + (i,)] = branches.get(at + (i,), 0) + branch["count"]
sums = collections.defaultdict(lambda: [0, 0, 0, 0])
for first, counts in (0, lines), (2, branches):
    for at, count in counts.items():
        for folder in (os.path.dirname(at[0]), "all"):
            sums[folder][first] += 1
            sums[folder][first + 1] += count > 0
for folder in sorted(sums, key=lambda name: (name == "all", name)):
    print(folder, *sums[folder])
' >"$table" || { cat "$scratch/gcov" >&2 && exit 1; }

awk '
	function share(part, all) { return all ? sprintf("%.1f %%", 100 * part / all) : "-" }
	BEGIN { printf "%-14s %8s %9s %9s %9s\n", "folder", "lines", "run", "branches", "taken" }
	{ printf "%-14s %8d %9s %9d %9s\n", $1, $2, share($3, $2), $4, share($5, $4) }' "$table"
echo "Not counted: the init inside the jail, which is freestanding, and processes that end by exec, _exit or a signal."
[ -s "$table" ]
