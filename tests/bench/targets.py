#!/usr/bin/env python3
"""Compares the figures of a run of tests/bench/run.sh with what they are meant to reach.

    tests/bench/targets.py BENCH.JSON

Ratios are of medians, of ways that were measured in turns; behind them stands the ratio of the 99th percentiles. On a busy machine, absolute
figures show the load: then a target that is an absolute figure and is missed says nothing."""
import json
import sys

POOLS = {"libwarder pool": "pool", "libwarder pool, parts": "pool with parts"}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        bench = json.load(file)
    launches = {row["name"]: row for row in bench["sections"][1]["contestants"] if "failure" not in row}
    dynamic = {row["name"]: row for row in bench["sections"][0]["contestants"] if "failure" not in row}
    rows = []

    def ratio(title, of, name, to, most):
        if name in of and to in of:
            p50, p99 = (of[name][key] / of[to][key] for key in ("p50Us", "p99Us"))
            rows.append((title, f"{p50:.2f} (p99 {p99:.2f})", f"at most {most}", p50 <= most))
            if "cpuP50Us" in of[name] and "cpuP50Us" in of[to]:
                cpu = of[name]["cpuP50Us"] / of[to]["cpuP50Us"]
                rows.append(("    processor time", f"{cpu:.2f}", "", None))
        else:
            rows.append((title, "not measured", f"at most {most}", None))

    def figure(title, value, text, target, met):
        rows.append((title, text if value else "not measured", target, met if value else None))

    ratio("warder run / bwrap, static program", launches, "warder run", "bwrap", 0.95)
    ratio("warder run / bwrap, /usr/bin/true", dynamic, "warder run", "bwrap", 0.95)
    ratio("warder run with a service / bwrap, static program", launches, "warder run, service", "bwrap", 0.30)
    ratio("warder run with a service / bwrap, /usr/bin/true", dynamic, "warder run, service", "bwrap", 0.30)
    for name, title in POOLS.items():
        ratio(f"{title}, hand-out to result / library launch", launches, name, "libwarder", 0.15)
        pool = launches.get(name, {})
        p50, p99 = (pool.get(key, 0) / 1000 for key in ("p50Us", "p99Us"))
        figure("    ms", p50, f"{p50:.2f} (p99 {p99:.2f})", "at most 0.45", p50 <= 0.45)
    ratio("pool, hand-out / library launch, /usr/bin/true", dynamic, "libwarder pool", "libwarder", 0.15)
    for name, title in POOLS.items():
        rates = [launches.get(of, {}).get("perSecond", {}).get("16") for of in (name, "bwrap")]
        times = rates[0] / rates[1] if all(rates) else 0
        figure(f"jails per second at 16, {title} / bwrap", times, f"{times:.2f} ({rates[0] or 0:.0f}, {rates[1] or 0:.0f})", "at least 3", times >= 3)
    ratio("launch of the library / prepared floor", launches, "libwarder", "floor prepared", 1.5)
    for row in bench.get("code", []):
        share = row["parked"]["outputP50Us"] / row["cold"]["outputP50Us"]
        most = {"python": 0.35, "python, numpy": 0.55, "node": 0.5}[row["name"]]
        text = "{:.2f} (p99 {:.2f})".format(row["parked"]["outputP50Us"] / 1000, row["parked"]["outputP99Us"] / 1000)
        figure(f"code to output, ms: {row['name']}", 1, text, f"at most {most}", row["parked"]["outputP50Us"] / 1000 <= most)
        figure("    / cold", 1, f"{share:.3f}", "at most 0.05", share <= 0.05)
        most = {"python": 0.3, "python, numpy": 0.4}.get(row["name"])
        if most and "forked" in row:
            output, result = (row["forked"][key] / 1000 for key in ("outputP50Us", "resultP50Us"))
            figure("    fork server, ms", 1, f"{output:.2f} (result {result:.2f})", f"at most {most}", output <= most)
    living = bench.get("living") or {}
    cpu = living.get("jailCpuUs")
    share = cpu["parts"] / cpu["new"] if cpu else 0
    figure("processor time of a pool's jail, parts reused / new", cpu,
           "{:.2f} (most {:.2f}; us: {parts}, {new})".format(share, cpu["partsMax"] / cpu["newMax"], **cpu) if cpu else "",
           "at most 0.65", share <= 0.65)
    rate = living.get("executionsPerSecond")
    figure("executions per second in running sessions", rate, f"{rate or 0:.0f}", "at least 1500", (rate or 0) >= 1500)
    rate = living.get("piecesPerSecond")
    figure("pieces per second in running contexts", rate, f"{rate or 0:.0f}", "at least 10000", (rate or 0) >= 10000)
    kib = living.get("parkedKiB")
    figure("memory of a parked jail, KiB", kib, "{p50:.0f} (quartiles {q1:.0f}, {q3:.0f})".format(**kib) if kib else "", "at most 400",
           kib and kib["p50"] <= 400)
    print(f"targets; load {bench['load']} at the start, {bench['loadAtEnd']} at the end")
    for title, text, target, met in rows:
        print(f"  {title:54}{text:32}{target:18}{'' if met is None else 'met' if met else 'missed'}")


main()
