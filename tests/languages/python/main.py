import csv
import json
import os
import sqlite3
import subprocess
import sys

if sys.argv[1:] == ["fail"]:
    print("no such thing: 42", file=sys.stderr)
    sys.exit(3)
if sys.argv[1:] == ["throw"]:
    raise ValueError("thrown on purpose")
given = json.load(open(os.environ["WARDER_INPUT"]))
numbers = sorted(int(line) for line in sys.stdin)
database = sqlite3.connect(":memory:")
database.execute("CREATE TABLE numbers (n INTEGER)")
database.executemany("INSERT INTO numbers VALUES (?)", [(n,) for n in numbers])
total = database.execute("SELECT sum(n) FROM numbers").fetchone()[0]
with open("report.csv", "w", newline="") as report:
    csv.writer(report, lineterminator="\n").writerows([n, n * n] for n in numbers)
os.mkdir("out")
open("out/large.txt", "w").write("x" * 100000)
print("sum", total, flush=True)
subprocess.run(["echo", "|".join(sys.argv[1:])], check=True)
json.dump({"scaled": total * given["factor"], "name": given["name"], "sorted": numbers},
          open(os.environ["WARDER_RESULT"], "w"))
