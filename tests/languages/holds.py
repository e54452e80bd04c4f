#!/usr/bin/env python3
"""holds.py RESULT EXPRESSION...: every expression, in Python, is true of the JSON object `r` in that file; a member that is
not there is None. Says which is not."""
import json
import sys


class Object(dict):
    def __getattr__(self, name):
        return self.get(name)


def main(path, expressions):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        r = json.loads(text, object_hook=Object)
    except ValueError as error:
        print(f"no result: {error}: {text[:300]}")
        return 1
    names = {"r": r, "stages": [(stage.name, stage.status) for stage in r.stages or []],
             "out": r.stdout.text if r.stdout else None, "err": (r.stderr.text if r.stderr else None) or "",
             "message": r.error.message if r.error else "", "files": {a.name: a for a in r.artifacts or []}}
    wrong = []
    for expression in expressions:
        try:
            if not eval(expression, names):
                wrong.append(expression)
        except Exception as error:
            wrong.append(f"{expression} ({error!r})")
    for expression in wrong:
        print("does not hold:", expression)
    if wrong:
        shown = {name: r.get(name) for name in ("status", "cause", "exitCode", "signal", "output", "outputError", "error", "detail")}
        print(shown, names["stages"], "files", sorted(names["files"]))
        print("stdout:", (names["out"] or "")[:500])
        print("stderr:", names["err"][:800])
    return bool(wrong)


sys.exit(main(sys.argv[1], sys.argv[2:]))
