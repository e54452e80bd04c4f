"""TAP of a suite in Python: its tests, their number, and waiting for a condition. tap.sh is the same for shells.

WARDER names the program. WARDER_TEST_SLOW says how many times slower than alone everything is.
"""
import os, sys, time

WARDER = os.path.realpath(os.environ.get("WARDER", "build/warder"))
SLOW = float(os.environ.get("WARDER_TEST_SLOW", "1"))
ROOT = os.geteuid() == 0
count = failed = 0


def tell(ok, name, why=""):
    """One test; why: what was found, for one that failed."""
    global count, failed
    count += 1
    failed += not ok
    print(("ok" if ok else "not ok") + " %d - %s" % (count, name))
    if not ok:
        print("# " + str(why)[:3000].strip().replace("\n", "\n# "))
    sys.stdout.flush()


def skip(name, why):
    global count
    count += 1
    print("ok %d - %s # SKIP %s" % (count, name, why), flush=True)


def finish():
    """Print the plan, and end the program. A suite that raises has no plan, so it counts as failed."""
    print("1..%d" % count)
    sys.exit(failed > 0)


def run_parts(parts):
    """Call the parts, or those that the command line names, and end the program."""
    for part in parts:
        if not sys.argv[1:] or part.__name__ in sys.argv[1:]:
            part()
    finish()


def until(condition, seconds=60):
    """Wait until the condition holds. Its last value, which is false if the time is over."""
    end = time.monotonic() + seconds * SLOW
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return found
