# mcp.sh: the preparation of the cases of mcp.t, sourced in the directory of the case. `mcp [FLAG...]` is a server that only prefers the limits
# of cgroups; the functions print messages of a client.
# shellcheck shell=bash
mkdir -m 700 rt
export XDG_RUNTIME_DIR=$PWD/rt
mcp() { warder mcp --prefer limits.cpuTime --prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids "$@"; }
init() { printf '{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n' "${1:-2025-06-18}"; }
call() { printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' "$@"; }
# Answers in the order of their ids, without marks and times, which differ in each run. The answer to initialize is left out.
answers() { grep -v '"id":"i"' | sort -t: -k3n | sed -E 's/ id=\\"[0-9a-f]{16}\\"//g; s/after [0-9.]+ s/after T s/g'; }
# Texts of the results alone, as a model reads them.
texts() { python3 -c '
import json, re, sys
for answer in sorted((json.loads(line) for line in sys.stdin), key=lambda a: str(a["id"])):
    if "content" in answer.get("result", {}):
        text = answer["result"]["content"][0]["text"]
        print(answer["id"], answer["result"]["isError"], re.sub(" id=\"[0-9a-f]{16}\"", "", re.sub("after [0-9.]+ s", "after T s", text)), end="")
    elif "error" in answer:
        print(answer["id"], answer["error"]["code"], answer["error"]["message"])'; }
# The answer to a request has come, in the file log: `tee log` stands behind the server.
await() { local i; for ((i = 0; i < 600; i++)); do ! grep -qF "\"id\":$1," "${2:-log}" 2>/dev/null || return 0; sleep 0.1; done; }
# A call whose answer is waited for.
step() { call "$@" && await "$1"; }
