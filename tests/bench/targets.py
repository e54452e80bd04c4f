#!/usr/bin/env python3
"""Compares the figures of a run of tests/bench/run.sh with what they are meant to reach.

    tests/bench/targets.py BENCH.JSON

Ratios are of medians, of ways that were measured in turns; behind them stands the ratio of the 99th percentiles. On a busy machine, absolute
figures show the load: then a target that is an absolute figure and is missed says nothing.

A floor is what the least work that any implementation has to do took in the same run. Where it is worse than the target, the target cannot be reached on
this machine; on a busy one, only the ratios say so."""
import json
import sys

POOLS = {"libwarder pool": "pool", "libwarder pool, parts": "pool with parts"}
LADDER = ("+ cgroups", "+ init", "+ users", "+ /proc", "+ pipes", "+ read-back")
# The least that a jail per second is: new leaves and a new network namespace; and no leaves, and the same network namespace.
RATES = {"libwarder pool": "+ cgroups", "libwarder pool, parts": "prepared, one network"}

# The same with all controls, in the parked jails of which only the processor time counts.
WHOLE = {"libwarder pool": "floor parked", "libwarder pool, parts": "floor parked, parts"}


class Table:
    def __init__(self, quiet):
        self.rows = []
        self.quiet = quiet

    def add(self, title, text, target="", floor="", met=None, reachable=True):
        beyond = "not reachable here" if self.quiet else "missed, also by the floor"
        self.rows.append((title, text, target, floor, "" if met is None else "met" if met else "missed" if reachable else beyond))

    def at_most(self, title, value, text, most, floor=None, digits=2):
        """A value of None was not measured."""
        self.add(title, "not measured" if value is None else text, f"at most {most}", "" if floor is None else f"{floor:.{digits}f}",
                 None if value is None else value <= most, floor is None or floor <= most)

    def at_least(self, title, value, text, least, floor=None, digits=0):
        self.add(title, "not measured" if value is None else text, f"at least {least}", "" if floor is None else f"{floor:.{digits}f}",
                 None if value is None else value >= least, floor is None or floor >= least)

    def show(self):
        print(f"  {'':56}{'measured':36}{'target':18}{'floor':10}")
        for title, text, target, floor, result in self.rows:
            print(f"  {title:56}{text:36}{target:18}{floor:10}{result}")


def quotient(of, name, to, key="p50Us"):
    """None: one of them was not measured."""
    a, b = (of.get(row, {}).get(key) for row in (name, to))
    return a / b if a and b else None


def add_ratio(table, title, of, name, to, most, floor):
    p50, p99, cpu = (quotient(of, name, to, key) for key in ("p50Us", "p99Us", "cpuP50Us"))
    table.at_most(title, p50, f"{p50 or 0:.2f} (p99 {p99 or 0:.2f})", most, quotient(of, floor, to))
    least = quotient(of, floor, to, "cpuP50Us")
    if cpu:
        table.add("    processor time", f"{cpu:.2f}", floor=f"{least:.2f}" if least else "")


def ms(of, name, key="p50Us"):
    return of[name][key] / 1000 if name in of else None


def add_pools(table, launches, dynamic):
    for name, title in POOLS.items():
        add_ratio(table, f"{title}, hand-out to result / library launch", launches, name, "libwarder", 0.15, "floor parked")
        table.at_most("    ms", ms(launches, name), f"{ms(launches, name) or 0:.2f} (p99 {ms(launches, name, 'p99Us') or 0:.2f})", 0.45,
                      ms(launches, "floor parked"))
    add_ratio(table, "pool, hand-out / library launch, /usr/bin/true", dynamic, "libwarder pool", "libwarder", 0.15, "floor parked")
    again = ms(launches, "floor parked, again")
    if again:
        table.add("    a bare hand-out with a second reading, ms", f"{again:.2f}", floor=f"{ms(launches, 'floor parked') or 0:.2f}")


def add_rates(table, launches):
    def rate(name):
        return launches.get(name, {}).get("perSecond", {}).get("16") or None

    def times(name):
        return rate(name) / rate("bwrap") if rate(name) and rate("bwrap") else None

    for name, title in POOLS.items():
        table.at_least(f"jails per second at 16, {title} / bwrap", times(name),
                       f"{times(name) or 0:.2f} ({rate(name) or 0:.0f}, {rate('bwrap') or 0:.0f})", 3, times(RATES[name]), 2)
        whole = quotient(launches, "bwrap", WHOLE[name], "cpuP50Us")
        if whole:
            table.add("    processor time of bwrap / of such a jail", f"{quotient(launches, 'bwrap', name, 'cpuP50Us') or 0:.2f}",
                      floor=f"{whole:.2f}")
    for name in ("floor prepared", "+ cgroups", "prepared, one network", "cgroups, one network"):
        if times(name):
            table.add(f"    {name}", f"{times(name):.2f} ({rate(name):.0f})")


def add_ladder(table, launches):
    add_ratio(table, "launch of the library / prepared floor", launches, "libwarder", "floor prepared", 1.5, LADDER[-1])
    before = launches.get("floor prepared")
    for name in LADDER:
        row = launches.get(name)
        if row and before:
            more, cpu = (row[key] - before[key] for key in ("p50Us", "cpuP50Us"))
            table.add(f"    {name}", f"{quotient(launches, name, 'floor prepared'):.2f} ({more:+.0f} us, processor time {cpu:+.0f})")
            before = row


def add_code(table, row):
    def output(way):
        return row[way]["outputP50Us"] / 1000 if way in row else None

    name, cold, bare = row["name"], output("cold"), output("bare")
    table.at_most(f"code to output, ms: {name}", output("parked"), f"{output('parked'):.2f} (p99 {row['parked']['outputP99Us'] / 1000:.2f})",
                  {"python": 0.35, "python, numpy": 0.55, "node": 0.5}[name], bare)
    share = output("parked") / cold
    table.at_most("    / cold", share, f"{share:.3f}", 0.05, bare / cold if bare else None, 3)
    most = {"python": 0.3, "python, numpy": 0.4}.get(name)
    if most and "forked" in row:
        table.at_most("    fork server, ms", output("forked"), f"{output('forked'):.2f} (result {row['forked']['resultP50Us'] / 1000:.2f})", most,
                      output("bareFork"))


def add_living(table, bench, launches):
    living = bench.get("living") or {}
    floors = bench.get("executionsFloor") or {}
    session, own = (max((rate for rate in floors.get(key, []) if rate), default=None) for key in ("session", "own"))
    cpu = living.get("jailCpuUs")
    share = cpu["parts"] / cpu["new"] if cpu else None
    table.at_most("processor time of a pool's jail, parts reused / new", share,
                  "{:.2f} (most {:.2f}; us: {parts}, {new})".format(share, cpu["partsMax"] / cpu["newMax"], **cpu) if cpu else "", 0.65,
                  quotient(launches, "floor parked, parts", "floor parked", "cpuP50Us"))
    rate = living.get("executionsPerSecond")
    table.at_least("executions per second in running sessions", rate, f"{rate or 0:.0f}", 1500, session)
    if own:
        table.add("    with namespaces, mounts and an init of their own", "", floor=f"{own:.0f}")
    rate = living.get("piecesPerSecond")
    table.at_least("pieces per second in running contexts", rate, f"{rate or 0:.0f}", 10000)
    kib = living.get("parkedKiB")
    table.at_most("memory of a parked jail, KiB", kib and kib["p50"], "{p50:.0f} (quartiles {q1:.0f}, {q3:.0f})".format(**kib) if kib else "", 400)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        bench = json.load(file)
    dynamic, launches = ({row["name"]: row for row in section["contestants"] if "failure" not in row} for section in bench["sections"][:2])
    table = Table(max(float(bench["load"]), float(bench["loadAtEnd"])) <= 2 * bench["cpus"])
    for name, of in ("static program", launches), ("/usr/bin/true", dynamic):
        add_ratio(table, f"warder run / bwrap, {name}", of, "warder run", "bwrap", 0.95, "floor controls")
    for name, of in ("static program", launches), ("/usr/bin/true", dynamic):
        add_ratio(table, f"warder run with a service / bwrap, {name}", of, "warder run, service", "bwrap", 0.30, "floor service")
    add_pools(table, launches, dynamic)
    add_rates(table, launches)
    add_ladder(table, launches)
    for row in bench.get("code", []):
        add_code(table, row)
    add_living(table, bench, launches)
    print(f"targets; load {bench['load']} at the start, {bench['loadAtEnd']} at the end")
    table.show()


main()
