"""The documents of tenants in the state directory of an execution host."""
import json, os


def read(state, name):
    with open(os.path.join(state, "tenants", name + ".json")) as file:
        return json.load(file)


def change(state, name, limits=None, **members):
    """Replace the document in one step, as `warder tenant` does, with these members, and these of its limits."""
    new = dict(read(state, name), **members)
    new["limits"].update(limits or {})
    path = os.path.join(state, "tenants", name + ".json")
    with open(path + ".new", "w") as file:
        json.dump(new, file)
    os.rename(path + ".new", path)
