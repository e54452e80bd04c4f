#!/usr/bin/env python3
"""results.py MEMBER...: of each result on standard input, a line of these members as JSON; "-" for what it has not.

A member is a path such as stdout.text or diagnostics.0.line; requested.FIELD is what the receipt says was asked of a control.
"""
import json
import sys


def member(value, path):
    if path.startswith("requested."):
        rows = value.get("receipt", {}).get("controls", [])
        return next((row["requested"] for row in rows if row["control"] == path[10:]), None)
    for key in path.split("."):
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = (value or {}).get(key)
    return value


for line in sys.stdin:
    result = json.loads(line)
    found = [member(result, path) for path in sys.argv[1:]]
    print(*("-" if value is None else value if isinstance(value, str) and value.isprintable() else json.dumps(value) for value in found))
