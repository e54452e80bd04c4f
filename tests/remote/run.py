#!/usr/bin/env python3
"""Hosts on other machines as backends: a real host, and servers that are slow, lie, die and send the caller elsewhere.

With arguments, only the parts of these names run. Only loopback is used. Sessions of root are below /run/warder; the suite has one of its own, in a mount namespace.
"""
import base64, contextlib, fcntl, hashlib, http.server, json, os, pty, select, shutil, signal, socket, ssl, struct, subprocess, sys, tempfile, termios, threading, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../lib"))
import executions as theirs
import workspaces as both
from serving import Host, below, fetch, own_run_directory, state_of, warder, work, write
from tap import ROOT, SLOW, WARDER, finish, skip, tell, until

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever starts this in the background may ignore it


# ---- a host ----

def document(name, remote, **more):
    return write(name, json.dumps(dict({"enable": ["remote"], "remote": remote}, **more)), 0o644)


def entry(url, token=None, **more):
    """Of the host that runs; hostKey=None leaves its key out."""
    whole = dict({"url": url, "tokenFile": token or TOKEN, "kind": "warder", "hostKey": KEY}, **more)
    return {name: value for name, value in whole.items() if value is not None}


def remote(path, *words, input=b"", flags=(), **more):
    return warder("run", "--backends", path, "--backend", "remote:big", *flags, "--", *words, input=input, **more)


# An ordinary user without a delegated cgroup has limits only where they are preferred.
PREFER = [] if ROOT else ["--prefer", "limits"]


# ---- what a host signs ----

def spki(key):
    """The public key "ed25519:..." as a file for openssl."""
    path = os.path.join(work, "public.der")
    with open(path, "wb") as file:
        file.write(bytes.fromhex("302a300506032b6570032100") + base64.b64decode(key.split(":")[1]))
    return path


def statement(call, request, answer):
    digest = lambda text: hashlib.sha256(text).hexdigest()
    return ("warder-signature 1\ncall %s\nrequest %s\nanswer %s\n" % (call, digest(request), digest(answer))).encode()


def verifies(call, request, answer):
    """Whether openssl finds the signature of the answer good; and the key."""
    at = answer.rindex(b',"signature":{')
    member = json.loads(answer)["signature"]
    with open(os.path.join(work, "said"), "wb") as file:
        file.write(statement(call, request, answer[:at] + b"}"))
    with open(os.path.join(work, "sig"), "wb") as file:
        file.write(base64.b64decode(member["value"]))
    done = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", spki(member["key"]), "-rawin", "-in", os.path.join(work, "said"),
                           "-sigfile", os.path.join(work, "sig")], capture_output=True)
    return done.returncode == 0, member["key"]


def asked(host, path, body=None, method=None, token=None):
    """The bytes of an answer. token: the path of another one."""
    return fetch(host.port, method or ("POST" if body else "GET"), path, body, open(token or TOKEN).read().strip())[1]


def signatures(host):
    key = json.loads(asked(host, "/v1/host"))["hostKey"]
    body = json.dumps({"argv": ["echo", ',"signature":{"key":']})
    answer = asked(host, "/v1/run", body)
    tell(verifies("run", body.encode(), answer) == (True, key), "a result is signed with the host's key", answer)
    tell(json.loads(answer)["stdout"]["text"] == ',"signature":{"key":\n', "and the program's output stays as it is", answer)
    tell(not verifies("run", b"other", answer)[0] and not verifies("capabilities", body.encode(), answer)[0], "the signature is that of this request")
    tell(not verifies("run", body.encode(), answer.replace(b'"exitCode":0', b'"exitCode":1'))[0], "and of this answer")
    answer = asked(host, "/v1/capabilities?nonce=0123abcd")
    tell(verifies("capabilities", b"0123abcd", answer) == (True, key), "so are the capabilities, with the nonce of the question", answer)
    tell(b"signature" not in asked(host, "/v1/capabilities"), "without a nonce, nothing is signed")
    for nonce in ("xyz", "A", "0" * 65):
        tell(json.loads(asked(host, "/v1/capabilities?nonce=" + nonce)).get("field") == "nonce", "a nonce that is none is refused: " + nonce[:4])
    signers = [pid for pid, name in below(host.process.pid).items() if name == "warder-signer"]
    tell(len(signers) == 1, "one process signs", signers)
    os.kill(signers[0], signal.SIGKILL)
    answer = asked(host, "/v1/run", body)
    tell(verifies("run", body.encode(), answer) == (True, key), "if it is killed, another one signs with the same key", answer)
    path = os.path.join(host.state, "keys", "host.json")
    tell(os.stat(path).st_mode & 0o777 == 0o600, "the key is in a file for its owner alone")
    host.end()
    host.start()
    tell(json.loads(asked(host, "/v1/host"))["hostKey"] == key, "a host keeps its key")
    host.end()
    kept = open(path).read()
    for broken in ("", "{}", '{"version": 1, "ed25519Seed": "AAAA"}'):
        open(path, "w").write(broken)
        done = subprocess.run([WARDER, "serve", "--listen", "127.0.0.1:0", "--state", host.state], capture_output=True, text=True, timeout=30 * SLOW)
        tell(done.returncode == 125 and "keys/host.json" in done.stderr and open(path).read() == broken, "a broken key is not replaced", done.stderr)
    open(path, "w").write(kept)
    host.start()


def trust(host):
    path = document("trust.json", {"big": entry(host.url, hostKey=None)})
    keys = path + ".keys"
    status, out, err = remote(path, "true", flags=PREFER)
    tell(status == 125 and "warder backend trust remote:big" in err, "a host whose key is not trusted is refused", (status, err))
    status, out, err = warder("backend", "--backends", path, "trust", "remote:big")
    tell(status == 0 and KEY in out.decode() and json.load(open(keys)) == {"big": KEY}, "trust shows the key, and keeps it beside the document", (status, out, err))
    status, out, err = remote(path, "echo", "x", flags=PREFER)
    tell(status == 0 and out == b"x\n", "then the host is used", (status, err))
    status, out, err = warder("backend", "--backends", path, "trust", "big")
    tell(status == 0 and b"already" in out, "to trust it again changes nothing", (status, out, err))
    other = "ed25519:" + base64.b64encode(b"k" * 32).decode()
    write("trust.json.keys", json.dumps({"big": other, "gone": KEY}))
    status, out, err = remote(path, "true", flags=PREFER)
    tell(status == 125 and KEY in err and other in err, "a host with another key is refused", (status, err))
    status, out, err = warder("backend", "--backends", path, "trust", "big")
    tell(status == 125 and other in err and json.load(open(keys))["big"] == other, "and trust does not replace the key", (status, err))
    for text, word in (("[]", "object"), ('{"big": 1}', '"big"'), ('{"big": "ed25519:AAAA"}', '"big"'), ("{", "trust.json.keys")):
        write("trust.json.keys", text)
        status, out, err = remote(path, "true", flags=PREFER)
        tell(status == 125 and word in err, "a file of keys that is wrong is refused: " + text, (status, err))
    write("trust.json.keys", json.dumps({"big": other}))
    both = document("trust.json", {"big": entry(host.url)})
    tell(remote(both, "true", flags=PREFER)[0] == 0, "the key of the document comes before the kept one")
    status, out, err = remote(document("wrong-key.json", {"big": entry(host.url, hostKey=other)}), "true", flags=PREFER)
    tell(status == 125 and other in err and KEY in err, "a host with another key than that of the document is refused", (status, err))
    for words, word in ((["trust"], "remote:NAME"), (["trust", "small"], "remote:big"), (["trust", "big", "x"], "remote:NAME")):
        status, out, err = warder("backend", "--backends", both, *words)
        tell(status == 125 and word in err, "trust needs the name of a host: " + " ".join(words), (status, err))


# ---- the same as here ----

def same(path):
    cases = (
        ("an exit status", ["sh", "-c", "exit 7"], b"", []),
        ("both streams", ["sh", "-c", "echo out; echo err >&2"], b"", []),
        ("standard input, whole", ["cat"], bytes(range(256)) * 1000, []),
        ("no input", ["cat"], b"", ["-n"]),
        ("variables", ["sh", "-c", "echo $A $HOME; env | wc -l"], b"", ["--env", "A=b c"]),
        ("a variable of the caller", ["sh", "-c", "echo $SECRET_OF_TEST"], b"", ["--env", "SECRET_OF_TEST"]),
        ("its own signal", ["sh", "-c", "kill -SEGV $$"], b"", []),
        ("a program that is not there", ["no-such-program"], b"", []),
        ("the end of its time", ["sleep", "20"], b"", ["--timeout", "1s"]),
        ("no network", ["sh", "-c", "ls /sys/class/net 2>&1; cat /proc/net/dev | wc -l"], b"", []),
        ("a refused write", ["sh", "-c", "echo x > /usr/x; echo $?"], b"", []),
    )
    for name, words, input, flags in cases:
        more = {"env": {"SECRET_OF_TEST": "from the caller"}}
        here = warder("run", "--no-service", *PREFER, *flags, "--", *words, input=input, **more)
        there = remote(path, *words, input=input, flags=PREFER + flags, **more)
        tell(here[:2] == there[:2] and (here[0] != 127 or "no-such-program" in there[2]), "the same result as here: " + name,
             (here[0], here[1][-200:], here[2], there[0], there[1][-200:], there[2]))


def results(path):
    receipt = os.path.join(work, "receipt")
    status, out, err = remote(path, "sh", "-c", "echo hello; exit 3", flags=PREFER + ["--json", "--receipt", receipt])
    data = json.loads(out)
    rows = data["receipt"]["controls"]
    tell(status == 3 and data["stdout"]["text"] == "hello\n" and data["exitCode"] == 3 and data["cause"] == "exit" and data["backend"] == "remote:big",
         "a result in JSON names the host", out)
    tell(rows and all(row["status"] == "reported by remote:big" for row in rows) and '"enforced"' not in json.dumps([row["status"] for row in rows]) and
         {"enforced", "hardening"} <= {row["reported"] for row in rows}, "every control of the receipt is reported, and none enforced", rows)
    tell(json.load(open(receipt)) == data["receipt"], "the receipt in a file is that of the result", open(receipt).read())
    status, out, err = remote(path, "sh", "-c", "printf '\\377\\0x'", flags=PREFER + ["--json"])
    tell(base64.b64decode(json.loads(out)["stdout"]["base64"]) == b"\xff\0x", "output that is no text arrives byte by byte", out)
    status, out, err = remote(path, "sh", "-c", "head -c 3000000 /dev/zero", flags=PREFER)
    tell(status == 125 and len(out) == 1 << 20 and "of 3000000 bytes" in err, "output that the host did not keep is named", (status, len(out), err))


def refusals(path):
    for flags, word in ((["--ro", "/srv"], "filesystem.paths.readOnly"), (["--rw", work], "filesystem.paths.readWrite"),
                        (["--workspace", work], "filesystem.workspace"), (["--view", "image:x"], "filesystem.view"),
                        (["--net", "learn"], "network.mode"), (["--publish", "0:80"], "network.publish"),
                        (["--terminal"], "--terminal"), (["--detach"], "--detach"), (["--max-output", "1k"], "--max-output"), (["--progress"], "--progress")):
        status, out, err = remote(path, "true", flags=flags)
        tell(status == 125 and word in err, "what another machine cannot have is refused: " + word, (status, err))
    status, out, err = remote(path, "cat", input=b"x" * (513 << 10), flags=PREFER)
    tell(status == 125 and "512KiB" in err, "more input than can be sent is refused", (status, err))
    status, out, err = remote(path, "true", flags=PREFER + ["--memory", "900GiB"])
    tell(status == 125 and "limits.memory" in err, "what the host does not grant is refused by its field", (status, err))
    status, out, err = remote(path, b"\xff", flags=PREFER)
    tell(status == 125 and "argv" in err and "UTF-8" in err, "an argument that is no text is refused", (status, err))
    for words in (["backend", "describe", "remote:big"],):
        status, out, err = warder(*words, input=b"print(1)")
        tell(status == 125 and "remote:big is a host on another machine" in err, "another command refuses a host by name: " + words[0], (status, err))


# ---- a piece of code ----

def code(path, *words, flags=(), **more):
    return warder("code", "--backends", path, "--backend", "remote:big", *PREFER, *flags, *words, **more)


def without(data):
    """A result without what differs from run to run, and from machine to machine."""
    data = {key: value for key, value in data.items() if key not in ("startedAt", "durations", "peakMemoryBytes", "cpuTimeUs", "peakPids", "backend", "receipt",
                                                                     "service", "artifacts", "identity")}
    data["stages"] = [{key: value for key, value in stage.items() if key in ("name", "status")} for stage in data["stages"]]
    return data


def pieces(path):
    data = write("data.txt", "from a file\n")
    cases = [
        ("standard output, and an exit status", ["--language", "python", "-"], b"import sys; print('x'); print('y', file=sys.stderr); sys.exit(3)"),
        ("a shell, by its name", ["--language", "bash", "-"], b"echo $((6 * 7))"),
        ("its language found in the text", ["-"], b"#!/bin/sh\necho found"),
        ("arguments", ["--language", "python", "-", "a b", "--c"], b"import sys; print(sys.argv[1:])"),
        ("an input, and an output", ["--language", "python", "--input", '{"n": 20.50}', "-"],
         b"import json, os; v = json.load(open(os.environ['WARDER_INPUT'])); open(os.environ['WARDER_RESULT'], 'w').write(json.dumps({'v': v['n'] * 2}))"),
        ("a file", ["--language", "python", "--file", data + "=in/d.txt", "-"], b"print(open('in/d.txt').read(), end='')"),
        ("a variable", ["--language", "python", "--env", "A=b", "-"], b"import os; print(os.environ['A'])"),
        ("an error of syntax", ["--language", "python", "-"], b"print('x'\n"),
        ("the end of its time", ["--language", "python", "--timeout", "%ds" % (2 * SLOW), "-"], b"import time; print('x', flush=True); time.sleep(100)"),
        ("a language that does not exist", ["--language", "klingon", "-"], b"x"),
        ("a language that is not certain", ["-"], b"x"),
        ("no code", ["--language", "python", "-"], b""),
        ("more code than the policy allows", ["--language", "bash", "--set", "limits.code=3", "-"], b"echo x"),
        ("a check", ["--language", "bash", "--check", "-"], b"echo x"),
        ("a check that fails", ["--language", "bash", "--check", "-"], b"if"),
    ]
    if shutil.which("gcc"):
        cases += [("a program that is built", ["--language", "c", "-"], b'#include <stdio.h>\nint main(void) { puts("built"); return 4; }'),
                  ("code that does not compile", ["--language", "c", "-"], b"int main(void) { return x; }")]
    for name, words, text in cases:
        here = warder("code", "--no-cache", *PREFER, *words, input=text)
        there = code(path, *words, input=text)
        tell(here[:2] == there[:2] and (here[2] == there[2] or "remote:big" in there[2]), "the same end of a piece of code as here: " + name, (here, there))
        here, there = json.loads(warder("code", "--no-cache", "--json", *PREFER, *words, input=text)[1] or "{}"), json.loads(code(path, "--json", *words, input=text)[1] or "{}")
        if "stages" in here:
            tell("stages" in there and without(here) == without(there) and there["backend"] == "remote:big", "and the same result: " + name, (here, there))
        else:
            tell(here.get("error", {}).get("kind") == there.get("error", {}).get("kind"), "and the same kind of refusal: " + name, (here, there))
    source = write("stdin.py", "import sys; print(sys.stdin.read().upper())")
    status, out, err = code(path, source, input=b"from standard input")
    tell(status == 0 and out == b"FROM STANDARD INPUT\n", "code from a file has the standard input", (status, out, err))
    status, out, err = code(path, source, flags=["--stdin", data])
    tell(status == 0 and out == b"FROM A FILE\n\n", "or that of --stdin", (status, out, err))
    audit, receipt = os.path.join(work, "audit"), os.path.join(work, "receipt")
    status, out, err = code(path, "--language", "c" if shutil.which("gcc") else "python", "-", flags=["--json", "--receipt", receipt, "--audit", audit],
                            input=b"int main(void) { return 0; }" if shutil.which("gcc") else b"0")
    result = json.loads(out)
    receipts = [result["receipt"]] + [stage["receipt"] for stage in result["stages"] if "receipt" in stage]
    tell(status == 0 and len(receipts) >= (2 if shutil.which("gcc") else 1) and
         all(row["status"] == "reported by remote:big" for one in receipts for row in one["controls"]), "every control of every stage is reported", receipts)
    line = json.loads(open(audit).read())
    tell(line["language"] and line["backend"] == "remote:big" and json.load(open(receipt)) == result["receipt"], "receipt and audit file are those of the result", line)
    for flags in (["--artifacts", work], ["--collect", "*", "--json"], ["--last-line"], ["--function"], ["--scan"], ["--scan-deny"], ["--cache", work],
                  ["--languages", data], ["--progress"], ["--function-command", "a=b"], ["--max-output", "1k"], ["--cgroup-parent", "/x"], ["--session", "s"]):
        status, out, err = code(path, "--language", "python", "-", flags=flags, input=b"0")
        tell(status == 125 and (flags[0] + " works with programs on this machine only") in err + out.decode(), "a flag that cannot go there is refused: " + flags[0],
             (status, err))
    status, out, err = code(path, "--language", "wasm", "-", input=b"\0asm\1\0\0\0")
    tell(status == 125 and "source" in err and "WebAssembly" in err, "so is a module of WebAssembly", (status, err))
    status, out, err = code(path, "--language", "python", "-", flags=["--ro", "/srv"], input=b"0")
    tell(status == 125 and "filesystem.paths.readOnly" in err, "and a policy that needs this machine", (status, err))
    status, out, err = code(path, "--language", "python", "-", flags=["--set", "languages=", "--set", "languages=bash"], input=b"0")
    tell(status == 125 and "languages" in err, "and a language that the policy does not allow", (status, err))


def lying_about_code():
    good = {"language": "python", "languageFoundBy": "hint", "stages": [{"name": "run", "status": "success", "wallUs": 1, "cpuTimeUs": 1, "peakMemoryBytes": None}],
            "diagnostics": [], "diagnosticsFrom": None, "output": None}
    cases = [("good", {}, None), ("no stages", {"stages": []}, '"stages"'), ("four stages", {"stages": good["stages"] * 4}, '"stages"'),
             ("an unknown stage", {"stages": [dict(good["stages"][0], name="dream")]}, '"stages"'), ("a status of none", {"stages": [dict(good["stages"][0], status="fine")]}, '"stages"'),
             ("a stage that is a text", {"stages": ["run"]}, '"stages"'), ("a receipt of a stage", {"stages": [dict(good["stages"][0], receipt={"controls": 1})]}, "receipt"),
             ("diagnostics", {"diagnostics": {}}, '"diagnostics"'), ("a language of 1 MB", {"language": "x" * (1 << 20)}, '"language"'),
             ("a number for the language", {"language": 5}, '"language"'), ("how it was found", {"languageFoundBy": "by luck"}, '"languageFoundBy"'),
             ("an escape", {"outputError": "\x1b]0;owned\x07"}, None)]
    for name, change, word in cases:
        server = serve("good")
        server.code = dict(good, **change)
        lying = document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
        status, out, err = code(lying, "--language", "python", "-", flags=["--json"], input=b"0")
        result = json.loads(out)
        if word:
            tell(status == 137 and result["cause"] == "host" and word in result["detail"], "a lie about code ends with the cause host: " + name, (status, out, err))
        else:
            tell(status == 0 and result["language"] == "python" and b"\x1b" not in out and b"u001b" not in out, "an answer about code: " + name, (status, out, err))
        server.shutdown()
        server.server_close()


# ---- sessions ----

def session(*words, **more):
    return warder("session", *words, **more)


def file_here(name):
    return os.path.join("/run/warder/sessions" if ROOT else os.path.join(os.environ["XDG_RUNTIME_DIR"], "warder/sessions"), name)


def sandboxes(host):
    return [row["id"] for row in json.loads(asked(host, "/v1/sandboxes"))]


def sessions(path, host):
    start = ["start", "far", "--backends", path, "--backend", "remote:big"] + PREFER
    status, out, err = session(*start, "--json", "--timeout", "20s")
    data = json.loads(out)
    tell(status == 0 and data["backend"] == "remote:big" and sandboxes(host) == [data["sandbox"]], "a session starts on the host", (status, out, err))
    file = file_here("far.remote")
    text = open(file).read()
    token = open(TOKEN).read().strip()
    tell(os.stat(file).st_mode & 0o777 == 0o600 and len(text) < 8000 and token not in text, "here is a small file, without the token", text)
    status, out, err = session(*start, "--json", "--timeout", "20s")
    tell(status == 0 and json.loads(out)["sandbox"] == data["sandbox"] and len(sandboxes(host)) == 1, "a second start finds it", (status, out, err))
    status, out, err = session(*start, "--timeout", "21s")
    tell(status == 125 and "another policy" in err, "and refuses another policy", (status, err))
    status, out, err = session("start", "far", *PREFER)
    tell(status == 125 and "is on remote:big" in err, "a session of this machine cannot have its name", (status, err))
    execute = lambda *words, flags=(), **more: session("exec", "far", *flags, "--", *words, **more)
    cases = (("both streams and an exit status", ["sh", "-c", "echo out; echo err >&2; exit 7"], b"", []), ("input, whole", ["cat"], bytes(range(256)) * 1000, []),
             ("no input", ["cat"], b"x", ["-n"]), ("a variable", ["sh", "-c", "echo $A"], b"", ["--env", "A=b c"]), ("a directory", ["pwd"], b"", ["--cwd", "/"]),
             ("its own signal", ["sh", "-c", "kill -SEGV $$"], b"", []), ("the end of its time", ["sleep", "20"], b"", ["--timeout", "1s"]),
             ("a program that is not there", ["no-such-program"], b"", []), ("2 MB of output", ["sh", "-c", "head -c 500000 /dev/zero; head -c 500000 /dev/zero >&2"], b"", []))
    status, out, err = session("start", "near", *PREFER, "--timeout", "20s")
    for name, words, text, flags in cases:
        here = session("exec", "near", *flags, "--", *words, input=text)
        there = execute(*words, flags=flags, input=text)
        tell(here[:2] == there[:2] and len(here[2]) == len(there[2]) or (here[0] == there[0] and "no-such" in there[2]), "an execution has the same end as in a session of this machine: " + name,
             (here[0], here[1][-100:], here[2][-300:], there[0], there[1][-100:], there[2][-300:]))
    status, out, err = execute("sh", "-c", "echo $$ > kept; echo done", flags=["--json"])
    result = json.loads(out)
    tell(status == 0 and result["stdout"]["text"] == "done\n" and result["backend"] == "remote:big" and result["receipt"]["controls"] and
         all(row["status"] == "reported by remote:big" for row in result["receipt"]["controls"]), "the receipt of an execution is reported", out[:1500])
    tell(execute("cat", "kept")[1].strip().isdigit(), "the next execution finds the files of the one before")
    for flags, word in ((["--memory", "1MiB"], "--memory"), (["--set", "limits.pids=3"], "--set"),
                        (["--progress"], "--progress"), (["--auto-start"], "--auto-start"), (["--net", "none"], "--net"),
                        (["--ceiling", write("ceiling.json", json.dumps({"version": 1, "limits": {"wallTime": "1s"}}))], "--ceiling: an execution")):
        status, out, err = execute("true", flags=flags)
        tell(status == 125 and word in err, "an execution there cannot have a policy of its own: " + word, (status, err))
    # files
    blob = bytes(range(256)) * 4096
    tell(session("write", "far", "a dir/f\u00fc%?&.bin", input=blob)[0] == 0 and session("read", "far", "a dir/f\u00fc%?&.bin")[1] == blob, "a file goes there and back byte by byte")
    tell(session("write", "far", "empty", input=b"")[0] == 0 and session("read", "far", "empty")[:2] == (0, b""), "so does an empty one")
    execute("sh", "-c", "ln -s /etc/passwd link; chmod 640 empty")
    rows = {row["name"]: row for row in json.loads(session("list", "far", "--json")[1])}
    tell(rows["a dir"]["type"] == "directory" and rows["link"]["target"] == "/etc/passwd" and (rows["empty"]["mode"], rows["empty"]["sizeBytes"]) == ("0640", 0),
         "a directory is listed as in a session of this machine", rows)
    tell(b"a dir" in session("list", "far", ".")[1], "also for people")
    status, out, err = session("read", "far", "none")
    tell(status == 125 and "no such file" in err, "a file that is not there", (status, err))
    status, out, err = session("read", "far", "a dir/f\u00fc%?&.bin", "--max-bytes", "1k")
    tell(status == 125 and "1KiB" in err and not out, "a file above --max-bytes is not passed on", (status, err))
    status, out, err = session("write", "far", "x", "--max-bytes", "1k", input=blob)
    tell(status == 125 and session("read", "far", "x")[0] == 125, "nor is input above it", (status, err))
    # what it cannot do
    for words in (["restart", "far"], ["extend", "far", "1h"], ["copy", "far", "new"], ["changes", "far"]):
        status, out, err = session(*words)
        tell(status == 125 and "works with sessions on this machine only" in err, "what a session there cannot do is refused with the reason: " + words[0], (status, err))
    status, out, err = warder("code", "--session", "far", "--language", "sh", "-", input=b"true")
    tell(status == 125 and "on remote:big" in err, "so is code --session", (status, err))
    for flags in (["--setup", "true"], ["--workspace-id", "x"], ["--cgroup-parent", "/x"], ["--capabilities", "shell"]):
        status, out, err = session("start", "two", "--backends", path, "--backend", "remote:big", *PREFER, *flags)
        tell(status == 125 and flags[0] + " works" in err and len(sandboxes(host)) == 1, "and a flag of its start: " + flags[0], (status, err))
    status, out, err = session("start", "two", "--backends", path, "--backend", "remote:big", *PREFER, "--ro", "/srv")
    tell(status == 125 and "filesystem.paths.readOnly" in err, "and a policy that needs this machine", (status, err))
    # the list, the state, the end
    rows = {row["name"]: row for row in json.loads(session("list", "--json")[1])}
    tell(rows["far"]["backend"] == "remote:big" and "keeperPid" in rows["near"], "the list has both kinds", rows)
    tell(b"on remote:big since" in session("list")[1], "also for people")
    status, out, err = session("start", "near", "--backends", path, "--backend", "remote:big", *PREFER)
    tell(status == 125 and "runs on this machine" in err and len(sandboxes(host)) == 1, "a session there cannot have the name of one here", (status, err))
    status, out, err = session("status", "far", "--json")
    tell(status == 0 and json.loads(out)["state"] == "running" and json.loads(out)["policy"]["limits"]["wallTime"] == "20s", "its state is that of the host", (status, out, err))
    tell(session("stop", "far")[0] == 0 and sandboxes(host) == [] and not os.path.exists(file), "its stop ends the sandbox and removes the file")
    tell(session("status", "far")[0] == 1 and session("stop", "far")[0] != 0, "then there is none")
    # lease
    idle = ["--idle-timeout", "%ds" % (6 * SLOW), "--timeout", "%ds" % (60 * SLOW)]
    session(*start, *idle)
    status, out, err = execute("sh", "-c", "sleep %d; echo still" % (9 * SLOW), timeout=90)
    tell(status == 0 and out == b"still\n", "the lease is renewed while an execution runs", (status, out, err))
    until(lambda: not sandboxes(host), 30)
    status, out, err = execute("true")
    tell(status == 125 and "remote:big does not know it" in err, "without use, the host ends it, and then nothing is started anew in silence", (status, err))
    tell(session("status", "far")[0] == 1, "its status says the same")
    status, out, err = session(*start, *idle)
    tell(status == 125 and "does not know it" in err, "nor by a start", (status, err))
    tell(session("stop", "far")[0] == 0 and session(*start)[0] == 0, "after a stop it can be started again")
    # a signal
    process = subprocess.Popen([WARDER, "session", "exec", "far", "--", "sh", "-c", "trap 'echo got; exit 5' TERM; echo ready > up; while :; do sleep 0.1; done"], stdout=subprocess.PIPE,
                               stdin=subprocess.DEVNULL)
    while session("read", "far", "up")[1] != b"ready\n":
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    out = process.communicate(timeout=60 * SLOW)[0]
    tell(process.returncode == 5 and out == b"got\n", "a signal goes to the program, whose end is the result", (process.returncode, out))
    session("stop", "--all")
    tell(sandboxes(host) == [] and json.loads(session("list", "--json")[1]) == [], "stop --all ends both kinds")


def context(*words, **more):
    return warder("context", *words, **more)


def contexts(path, host):
    """Interpreters in a session there, beside the same ones here."""
    limit = "%ds" % (30 * SLOW)
    session("start", "far", "--backends", path, "--backend", "remote:big", "--timeout", limit, "--idle-timeout", "%ds" % (8 * SLOW), *PREFER)
    session("start", "near", "--timeout", limit, *PREFER)
    both = lambda *words, input=b"": [context(words[0], name, *words[1:], input=input) for name in ("near", "far")]
    same = lambda here, there: here[:2] == there[:2] and here[2].replace("near", "far") == there[2]
    here, there = both("list")
    tell(same(here, there) and there[0] == 0, "a session there has no contexts at first", (here, there))
    # Without a cgroup, the memory limit is one of addresses, with which Node does not start.
    other, count, leave = ("javascript", "let a = 5; a * 2", "process.exit(7)") if ROOT else ("bash", "a=5; echo $((a * 2))", "exit 7")
    for words in (["create", "py"], ["create", "other", "--language", other]):
        here, there = both(*words)
        tell(same(here, there) and there[0] == 0, "a context starts there: " + words[1], (here, there))
    shown = "print('a'); display(1); import sys; print('b', file=sys.stderr); display(2); print('c'); 3"
    for name, words, text in (("a value", ["py", "-c", "x = 40; x + 2"], b""), ("a later piece has it", ["py", "-c", "x + 1"], b""), ("what is shown, in its order", ["py", "-c", shown], b""),
                              ("an error", ["py", "-c", "1/0"], b""), ("another language", ["other", "-c", count], b""), ("an import", ["py", "-c", "import time"], b""), ("a file", ["py", "-"], b"print('\xc3\xbc')\n"),
                              ("bytes that are no text", ["py", "-c", "import sys; sys.stdout.buffer.write(bytes(range(256)) * 500)"], b""),
                              ("much output", ["py", "-c", "print('y' * 3000000)"], b""),
                              ("the end of its time", ["py", "--timeout", "%ds" % (2 * SLOW), "-c", "time.sleep(100)"], b""), ("an end of the interpreter", ["other", "-c", leave], b"")):
        here, there = both("run", *words, input=text)
        tell(same(here, there), "a piece is the same there: " + name, (here[0], here[1][-200:], here[2][-300:], there[0], there[1][-200:], there[2][-300:]))
    here, there = both("run", "py", "--json", "-c", shown)
    here, there = json.loads(here[1]), json.loads(there[1])
    for data in (here, there):
        del data["wallUs"]
    tell(dict(here, session="far") == there and there["stdout"]["text"] == "a\nc\n" and len(there["contextSays"]["shown"]) == 2, "and so in JSON", (here, there))
    status, out, err = context("run", "far", "py", "-c", "import time; time.sleep(%d); print('still')" % (11 * SLOW))
    tell(status == 0 and out == b"still\n", "the lease is renewed while a piece runs", (status, out, err))
    for name, words in (("an unknown context", ["run", "none", "-c", "1"]), ("no code", ["run", "py"]), ("a name that is taken", ["create", "py"]), ("a language that is none", ["create", "z", "--language", "klingon"]),
                        ("a name that is none", ["create", "a/b"]), ("too many words", ["interrupt", "py", "x"])):
        here, there = both(*words)
        tell(here[0] == there[0] == 125 and there[2], "a refusal is one there, too: " + name, (here, there))
    for words, word in ((["create", "far", "z", "--memory", "1MiB"], "--memory"), (["create", "far", "z", "--max-output", "1k"], "--max-output"), (["fork", "far", "py", "b"], "fork works"),
                        (["run", "far", "py", "--no-wait", "-c", "1"], "--no-wait works")):
        status, out, err = context(*words)
        tell(status == 125 and word in err, "what a context there cannot do is refused with the reason: " + word, (status, err))
    rows = json.loads(context("list", "--json")[1])
    tell(sorted((row["session"], row["context"]) for row in rows if row["context"] == "py" and row["session"] in ("far", "near")) == [("far", "py"), ("near", "py")], "the list has both kinds", rows)
    row = json.loads(context("describe", "far", "py", "--json")[1])
    tell((row["session"], row["language"]) == ("far", "python") and row["pieces"] > 5, "a context there is described", row)
    here, there = both("describe", "py")
    tell(there[0] == 0 and b"python" in there[1], "also for people", there)
    code = lambda name, *words: warder("code", "--session", name, "--context", "py", *words, "-", input=b"x")
    here, there = code("near"), code("far")
    tell(same(here, there) and b"40" in there[1], "code --context runs there", (here, there))
    here, there = code("near", "--language", "js"), code("far", "--language", "js")
    tell(here[0] == there[0] == 125 and "runs python" in there[2], "and compares the language", (here, there))
    process = subprocess.Popen([WARDER, "context", "run", "far", "py", "-c", "import time; open('up', 'w').close(); time.sleep(100)"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    until(lambda: not session("read", "far", "up")[0])
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60 * SLOW)
    tell(process.returncode == 130 and b"was interrupted" in err, "ctrl-c interrupts the piece there", (process.returncode, out, err))
    here, there = both("restart", "py")
    tell(same(here, there) and context("run", "far", "py", "-c", "x")[0] == 1, "a restart forgets the variables", (here, there))
    here, there = both("delete", "py")
    tell(same(here, there) and there[0] == 0 and context("run", "far", "py", "-c", "1")[0] == 125, "a context is deleted", (here, there))
    session("stop", "--all")


def lying_about_contexts():
    end = b'event: end\ndata: {"piece": 1, "status": "success", "contextSays": {"status": "ok", "executionCount": 1}}\n\n'
    row = b'[{"context": "py", "session": "x", "language": "py\\u001b[31m", "state": "idle", "detail": "\\u001b]0;x\\u0007", "id": "\\u001b"}, {"context": "../x"}, 5]'
    for name, text, code, word in (("no end", b"", 125, "no end of the piece"), ("no events", b"data: [1]\n\nevent: end\ndata: 7\n\n", 125, "no end of the piece"), ("without end", b"data: x\n" * (3 << 20), 125, "16 MiB"),
                                   ("a redirect", None, 125, "redirect"), ("an end that says nothing", b"event: end\ndata: {}\n\n", 1, "did not say properly"),
                                   ("output behind the end", end + b'event: output\ndata: {"stream": "stdout", "offset": 0, "text": "late"}\n\n', 0, ""),
                                   ("a cause that is none", b'event: end\ndata: {"contextCause": "luck", "contextExitCode": 70000, "detail": "\\u001b[31m"}\n\n', 137, "has ended (host)")):
        server = serve("good")
        server.sandbox = {"contexts": row, "piece": text}
        lying = document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
        session("start", "liar", "--backends", lying, "--backend", "remote:big", *PREFER)
        status, out, err = context("run", "liar", "py", "-c", "1")
        tell(status == code and word in err and not out and "\x1b" not in err, "a lie about a piece has an end: " + name, (status, out, err))
        for words in (["list", "liar"], ["list"], ["describe", "liar", "py"], ["list", "--json"]):
            status, out, err = context(*words)
            tell(status == 0 and b"py" in out and b"../x" not in out and b"\x1b" not in out and b"\x07" not in out, "rows of the host are shown without control characters", (status, out, err))
            if name != "a redirect":
                break
        session("stop", "liar")
        server.shutdown()
        server.server_close()


def adopted(path, host):
    """Sandboxes that are there, and new ones in the place of those that are not."""
    make = lambda **more: json.loads(asked(host, "/v1/sandboxes", json.dumps(more)))["id"]
    end_of = lambda sandbox: asked(host, "/v1/sandboxes/" + sandbox, method="DELETE")
    there = ["--backends", path, "--backend", "remote:big"]
    sandbox = make(timeoutMs=20000)
    status, out, err = session("start", "far", *there, "--attach", sandbox, "--json")
    tell(status == 0 and json.loads(out)["sandbox"] == sandbox and sandboxes(host) == [sandbox], "a session takes a sandbox that runs", (status, out, err))
    tell(session("exec", "far", "--", "echo", "there")[:2] == (0, b"there\n"), "and executes in it")
    tell(session("start", "far", *there, "--attach", sandbox)[0] == 0, "a second start finds it")
    status, out, err = session("start", "far", *there, "--attach", "abc")
    tell(status == 125 and "another sandbox" in err, "but not another one", (status, err))
    tell(session("stop", "far", "--keep-sandbox")[0] == 0 and sandboxes(host) == [sandbox] and session("status", "far")[0] == 1, "stop --keep-sandbox forgets the name alone", sandboxes(host))
    for name, words, word in (("an unknown one", ["--attach", "abc"], "has no sandbox abc"), ("an id that is none", ["--attach", "../x"], "letters, digits"), ("a policy", ["--attach", sandbox, "--memory", "1g"], "--memory: the sandbox"),
                              ("a ceiling", ["--attach", sandbox, "--ceiling", write("narrow.json", json.dumps({"version": 1, "limits": {"wallTime": "1s"}}))], "more than the operator grants"),
                              ("a command alone", ["--on-recreate", "true"], "goes with --recreate")):
        status, out, err = session("start", "far", *there, *words)
        tell(status == 125 and word in err and not os.path.exists(file_here("far.remote")), "what cannot be attached is refused: " + name, (status, err))
    status, out, err = session("stop", "near", "--keep-sandbox")
    tell(status == 125 and "--keep-sandbox works with the stop of one session on another machine only" in err, "--keep-sandbox is refused for a session here", (status, err))
    for flag in (["--attach", sandbox], ["--recreate"], ["--on-recreate", "true"]):
        status, out, err = session("start", "near", *flag)
        tell(status == 125 and flag[0] + " works with sessions on other machines only" in err, "so is the flag for a session here: " + flag[0], (status, err))
    session("start", "far", *there, "--attach", sandbox)
    paused = session("pause", "far")
    session("stop", "far", "--keep-sandbox")
    status, out, err = session("start", "far", *there, "--attach", sandbox)
    state = json.loads(asked(host, "/v1/sandboxes/" + sandbox))["state"]
    tell((ROOT and status == 125 and "is paused" in err and state == "paused") or state == "running", "one that is paused is refused, and not resumed", (status, err, state))
    tell((paused[0] == 0) == (state == "paused"), "pause says whether the host could do it", (paused, state))
    if status == 0:
        session("stop", "far", "--keep-sandbox")
    end_of(sandbox)
    # in the place of one that is gone
    tale = os.path.join(work, "tale")
    again = ["start", "far", *there, *PREFER, "--recreate", "--on-recreate", 'echo "$WARDER_SANDBOX" >> %s; echo told' % tale]
    status, out, err = session(*again, "--json")
    first = json.loads(out)["sandbox"]
    tell(status == 0 and sandboxes(host) == [first] and not os.path.exists(tale), "--recreate starts what is not there, without its command", (status, out, err))
    status, out, err = session(*again, "--json")
    tell(status == 0 and json.loads(out)["sandbox"] == first and not os.path.exists(tale), "and finds what is", (status, out, err))
    end_of(first)
    status, out, err = session("start", "far", *there, *PREFER)
    tell(status == 125 and "does not know it" in err and sandboxes(host) == [], "without it, nothing is made anew", (status, err))
    status, out, err = session("start", "far", *there, *PREFER, "--recreate", "--on-recreate", "exit 3")
    tell(status != 0 and "--on-recreate failed" in err and sandboxes(host) == [], "nor if the command fails", (status, err))
    status, out, err = session(*again, "--json")
    second = json.loads(out)["sandbox"]
    tell(status == 0 and sandboxes(host) == [second] != [first] and open(tale).read() == first + "\n" and "told" in err, "a sandbox that is gone is replaced, after the command with its id", (status, out, err))
    tell(session("exec", "far", "--", "true")[0] == 0, "and the session goes on")
    status, out, err = session(*again, "--memory", "100MiB")
    tell(status == 125 and "another policy" in err and sandboxes(host) == [second], "one with another policy is not replaced", (status, err))
    dead = document("gone.json", {"big": entry("http://127.0.0.1:1")})
    os.rename(path, path + ".kept")
    os.rename(dead, path)
    status, out, err = session(*again)
    os.rename(path + ".kept", path)
    tell(status == 125 and open(tale).read() == first + "\n", "nor is one of a host that does not answer", (status, err))
    session("stop", "far")
    status, out, err = session("start", "far", *there, *PREFER, "--attach", second, "--recreate", "--on-recreate", 'echo "$WARDER_SANDBOX" >> %s' % tale)
    tell(status == 0 and len(sandboxes(host)) == 1 and open(tale).read().split() == [first, second], "an attached one that is gone is replaced, too", (status, out, err))
    session("stop", "--all")
    tell(sandboxes(host) == [], "nothing is left", sandboxes(host))


def recovered(path, host):
    """An execution in a session whose sandbox is gone: with --recreate, a new one takes its place, and the execution is repeated once."""
    there = ["--backends", path, "--backend", "remote:big"]
    end_of = lambda sandbox: asked(host, "/v1/sandboxes/" + sandbox, method="DELETE")
    tale = os.path.join(work, "recovery")
    again = ["--recreate", "--on-recreate", 'echo "$WARDER_SANDBOX" >> %s; echo told' % tale]
    session("start", "far", *there, *PREFER, "--env", "WORD=kept", "--memory", "100MiB")
    first = sandboxes(host)
    status, out, err = session("exec", "far", *again, "--", "sh", "-c", "echo $WORD")
    tell((status, out) == (0, b"kept\n") and sandboxes(host) == first and not os.path.exists(tale), "a sandbox that is there is not replaced", (status, out, err))
    end_of(first[0])
    status, out, err = session("exec", "far", "--", "true")
    tell(status == 125 and "does not know it" in err and sandboxes(host) == [], "without --recreate, an execution makes no sandbox", (status, err))
    status, out, err = session("exec", "far", "--recreate", "--on-recreate", "exit 3", "--", "true")
    tell(status == 126 and "--on-recreate failed" in err and sandboxes(host) == [], "nor if the command fails", (status, err))
    status, out, err = session("exec", "far", *again, "--", "sh", "-c", "cat; echo $WORD", input=b"input\n")
    second = sandboxes(host)
    tell((status, out) == (0, b"input\nkept\n") and len(second) == 1 and second != first and open(tale).read().split() == first and "told" in err,
         "with it, the command runs once with the old id, and the execution is repeated with its input", (status, out, err, second))
    shown = json.loads(session("status", "far", "--json")[1])
    tell(shown["sandbox"] == second[0] and shown["policy"]["limits"]["memory"] in (100 << 20, "100MiB"), "the session is the new sandbox, with the policy of the old one", shown)
    tell(session("exec", "far", "--", "sh", "-c", "echo $WORD")[:2] == (0, b"kept\n"), "and goes on")
    end_of(second[0])
    many = [subprocess.Popen([WARDER, "session", "exec", "far", *again, "--", "echo", "one"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) for _ in range(3)]
    ends = [(*one.communicate(timeout=120 * SLOW), one.returncode) for one in many]
    tell(len(sandboxes(host)) == 1 and open(tale).read().split() == first + second and all(end[2] == 0 and end[0] == b"one\n" for end in ends),
         "of several executions at once, one makes the new sandbox, and all run in it", (ends, sandboxes(host)))
    third = sandboxes(host)
    paused = session("pause", "far")
    status, out, err = session("exec", "far", *again, "--timeout", "5s", "--", "true")
    if paused[0] == 0:
        tell(sandboxes(host) == third and open(tale).read().split() == first + second, "one that is paused is not replaced", (status, err))
    else:
        skip("one that is paused is not replaced", "this host cannot pause a session: " + paused[2].strip()[:200])
    session("resume", "far")
    session("stop", "far")
    status, out, err = session("start", "far", *there, "--attach", json.loads(asked(host, "/v1/sandboxes", json.dumps({"timeoutMs": 20000, "policy": {"version": 1, "limits": {"memory": "90MiB", "wallTime": "20s"}, **({} if ROOT else {"enforcement": {"limits": "preferred"}})}})))["id"])
    attached = sandboxes(host)
    end_of(attached[0])
    status, out, err = session("exec", "far", *again, "--", "echo", "attached")
    tell((status, out) == (0, b"attached\n") and open(tale).read().split() == first + second + attached and json.loads(session("status", "far", "--json")[1])["policy"]["limits"]["memory"] in (90 << 20, "90MiB"),
         "so is an attached one, with its policy", (status, out, err))
    session("stop", "far")
    session("start", "near", *PREFER)
    for flags, word in ((["--recreate"], "--recreate works with sessions on other machines only"), (["--on-recreate", "true"], "--on-recreate works with sessions on other machines only")):
        status, out, err = session("exec", "near", *flags, "--", "true")
        tell(status == 125 and word in err, "a session of this machine has no such flag: " + flags[0], (status, err))
    session("stop", "near")
    server = serve("good")
    gone = json.dumps({"code": 404, "kind": "notFound", "field": "id", "message": "there is no sandbox abc1"}).encode()
    server.sandbox = {"execution": lambda handler: handler.answer(404, gone)}
    lying = document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
    session("start", "liar", "--backends", lying, "--backend", "remote:big", *PREFER)
    before = len([one for one in server.asked if one[:2] == ("POST", "/v1/sandboxes")])
    status, out, err = session("exec", "liar", *again, "--", "true")
    starts = [one[1] for one in server.asked if one[0] == "POST" and one[1].endswith("/executions")]
    made = len([one for one in server.asked if one[:2] == ("POST", "/v1/sandboxes")]) - before
    tell(status == 125 and len(starts) == 2 and made == 1 and open(tale).read().split()[-1] == "abc1", "the execution is repeated once, not again and again", (status, err, starts, made))
    session("stop", "liar", "--keep-sandbox")
    # what other commands do at that moment
    starting = ["start", "liar", "--backends", lying, "--backend", "remote:big", *PREFER]
    starts = lambda: sum(1 for one in server.asked if one[0] == "POST" and one[1].endswith("/executions"))
    new = {"sandbox": b'{"id": "abc2", "state": "running"}'}

    def claimed(handler):
        """Another command has the name for a while."""
        lock = open(file_here("liar.lock"), "w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.chmod(lock.name, 0o600)

        def release():
            os.remove(lock.name)
            lock.close()
        threading.Timer(2 * SLOW, release).start()
        server.sandbox = new
        handler.answer(404, gone)

    def changed(backends, name, *how):
        def answer(handler):
            session("stop", "liar", "--keep-sandbox")
            session("start", "liar", "--backends", backends, "--backend", name, *PREFER, *how)
            handler.answer(404, gone)
        return answer
    two = document("two.json", {"two": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
    for name, lies, code, word, count in (("it waits until another command has made the new one", {"execution": claimed}, 0, "", 2), ("a session that has another policy by now gets no program", {"execution": changed(lying, "remote:big", "--memory", "50MiB")}, 125, "another backend or policy", 1),
                                          ("nor one on another host", {"execution": changed(two, "remote:two")}, 125, "another backend or policy", 1),
                                          ("nor one that was stopped", {"execution": lambda handler: (session("stop", "liar", "--keep-sandbox"), handler.answer(404, gone))}, 125, "does not run any more", 1),
                                          ("if there is no new one, it is known that nothing ran", dict(new, execution=lambda handler: handler.answer(404, gone), sandbox=lambda handler: handler.answer(503, b"{}")), 125, "503", 1)):
        server.sandbox = {}
        session(*starting)
        server.sandbox, before = lies, starts()
        status, out, err = session("exec", "liar", "--recreate", "--", "true")
        tell(status == code and word in err and "not known" not in err and starts() - before == count, "with --recreate, " + name, (status, err, starts() - before))
        server.sandbox = {}
        session("stop", "liar", "--keep-sandbox")
    server.shutdown()
    server.server_close()


def workspaces(host):
    both.check(document("places.json", {"big": entry(host.url)}), "remote:big", PREFER, lambda: sandboxes(host))


def copied(path, host):
    """Files and patches of a session there, beside the same ones of a session here."""
    session("start", "far", "--backends", path, "--backend", "remote:big", *PREFER)
    session("start", "near", *PREFER)
    blob = bytes(range(256)) * 3000
    source = os.path.join(work, "source \u00fc.bin")
    with open(source, "wb") as file:
        file.write(blob)
    os.chmod(source, 0o751)
    both = lambda *words: [session("cp", *[word.replace("NAME:", name + ":") for word in words]) for name in ("near", "far")]
    same = lambda here, there: here[:2] == there[:2]
    look = lambda name, file: session("exec", name, "--", "sh", "-c", 'stat -c "%a %s %F" "$0"; sha256sum < "$0"', file)[:2]
    for name, words, file in (("with a name", [source, "NAME:/tmp/a"], "/tmp/a"), ("into a directory", [source, "NAME:/tmp"], "/tmp/source \u00fc.bin"), ("over a file", [TOKEN, "NAME:/tmp/a"], "/tmp/a"),
                              ("to a name that looks like a flag", [source, "NAME:/tmp/-n"], "/tmp/-n")):
        here, there = both(*words)
        tell(same(here, there) and there[0] == 0 and look("near", file) == look("far", file) != (0, b""), "a file is copied there: " + name, (here, there, look("far", file)))
    for name in ("near", "far"):
        session("exec", name, "--", "sh", "-c", "mkdir /tmp/d; ln -s /etc/passwd /tmp/link; chmod 750 /tmp/a")
    target = lambda name: os.path.join(work, "to-" + name)
    for name in ("near", "far"):
        os.mkdir(target(name))
    there = session("cp", "far:/tmp/source \u00fc.bin", target("far"))
    file = os.path.join(target("far"), "source \u00fc.bin")
    tell(there[0] == 0 and open(file, "rb").read() == blob and os.stat(file).st_mode & 0o7777 == 0o751, "and back, byte by byte, with its mode", there)
    there = session("cp", "far:/tmp/a", file)
    tell(there[0] == 0 and open(file).read() == open(TOKEN).read() and os.stat(file).st_mode & 0o7777 == 0o750, "in place of a file", there)
    there = session("cp", source, "far:below")
    tell(there[0] == 0 and session("read", "far", "below")[1] == blob, "a path that is not absolute is the same as that of read", there)
    there = session("cp", "far:/tmp/a", file, "--on-existing", "error")
    tell(there[0] == 125 and "is there already" in there[2], "but not with --on-existing error", there)
    there = session("cp", source, "far:/tmp/a", "--on-existing", "error")
    tell(there[0] == 125 and "is there already" in there[2] and look("far", "/tmp/a")[1].startswith(b"750"), "nor in the session", (there, look("far", "/tmp/a")))
    for name, words, word in (("a link", ["far:/tmp/link", work], "symbolic link"), ("a file that is not there", ["far:/tmp/none", work], "there is no"),
                              ("a file of this machine that is not there", [os.path.join(work, "none"), "far:/tmp/e"], "none"), ("a directory that is not there", [source, "far:/tmp/none/e"], "parent directory of /tmp/none/e does not exist"),
                              ("a target that is no directory", [source, "far:/tmp/a/"], "is not a directory"), ("a device", ["far:/dev/null", work], "must be a regular file or a directory"),
                              ("a limit", ["far:/tmp/source \u00fc.bin", work, "--max-bytes", "1k"], "1KiB"), ("a limit of this machine's file", [source, "far:/tmp/e", "--max-bytes", "1k"], "1KiB"),
                              ("two sessions", ["far:/tmp/a", "near:/tmp/x"], "two sessions"), ("one place", ["far:/tmp/a"], "two places")):
        status, out, err = session("cp", *words)
        tell(status == 125 and word in err, "a copy is refused with its reason: " + name, (status, err))
    tell(sorted(os.listdir(target("near"))) == [] and open("/etc/passwd").read().startswith("root"), "and nothing else is written")
    # patches
    patch = b"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+one\n"
    change = b"--- a/new.txt\n+++ b/new.txt\n@@ -1 +1 @@\n-one\n+two\n"
    for name, words, text in (("a new file", ["/tmp/d"], patch), ("a change", ["/tmp/d"], change), ("one that does not fit", ["/tmp/d"], change), ("no directory", ["/tmp/none"], change), ("an unknown flag", ["--x"], change)):
        here, there = [session("patch", place, *words, input=text) for place in ("near", "far")]
        tell(here[0] == there[0] and (here[2] == there[2] or here[0] in (126, 127, 125)), "a patch does the same there: " + name, (here, there))
    tell(session("read", "far", "/tmp/d/new.txt")[1] == b"two\n", "it has changed the file")
    session("stop", "--all")


def tree(top):
    """Each entry below a directory: its kind, mode and content."""
    found = {}
    for place, directories, files in os.walk(top):
        for name in directories + files:
            entry = os.path.join(place, name)
            mode = os.lstat(entry).st_mode
            kind = "link" if os.path.islink(entry) else "directory" if os.path.isdir(entry) else "file"
            found[os.path.relpath(entry, top)] = (kind, os.readlink(entry) if kind == "link" else oct(mode & 0o7777), open(entry, "rb").read() if kind == "file" else None)
    return found


def make_tree(top):
    for place, mode in (("", 0o750), ("/sub", 0o711), ("/sub/deep", 0o755), ("/empty", 0o700), ("/closed", 0o555)):
        os.makedirs(top + place, exist_ok=True)
    for place, content, mode in (("/a", b"alpha", 0o644), ("/sub/it's $HOME `x` \\ \"q\"\n.txt", b"quoted", 0o600), ("/sub/deep/run", bytes(range(256)) * 300, 0o755), ("/-f", b"", 0o640),
                                 ("/closed/c", b"c", 0o444), ("/sub/f\u00fc", b"u", 0o644)):
        with open(top + place, "wb") as file:
            file.write(content)
        os.chmod(top + place, mode)
    for place, target in (("/to-a", "a"), ("/out", "/etc/passwd"), ("/sub/up", "../../.."), ("/broken", "no'where")):
        os.symlink(target, top + place)
    for place, mode in (("", 0o750), ("/sub", 0o711), ("/closed", 0o555)):
        os.chmod(top + place, mode)


def copied_trees(path, host):
    """Directories, into a session there and back, beside the same copies of a session here."""
    session("start", "far", "--backends", path, "--backend", "remote:big", *PREFER)
    session("start", "near", *PREFER)
    source = os.path.join(work, "the tree")
    make_tree(source)
    os.environ["TMPDIR"] = os.path.join(work, "tmp")
    os.mkdir(os.environ["TMPDIR"])
    walk = "cd \"$0\" && find . -exec stat -c '%n %F %a %N' {} + | sort && find . -type f -exec sha256sum {} + | sort"
    look = lambda name, place: session("exec", name, "--", "sh", "-c", walk, place)[:2]
    both = lambda *words: [session("cp", *[word.replace("NAME:", name + ":") for word in words]) for name in ("near", "far")]
    end = lambda done: (done[0], done[2].replace("far", "near"))
    for name in ("near", "far"):
        session("exec", name, "--", "sh", "-c", "mkdir /tmp/in /tmp/in2 /tmp/full /tmp/full/sub; echo old > /tmp/full/a; ln -s /etc /tmp/full/sub/deep; ln -s in2 /tmp/to-in; echo x > /tmp/file; mkdir /tmp/home")
    for name, words, place in (("under a new name", [source, "NAME:/tmp/new"], "/tmp/new"), ("into a directory", [source, "NAME:/tmp/in"], "/tmp/in"), ("its content", [source + "/.", "NAME:/tmp/home"], "/tmp/home"),
                               ("into a directory that a link names", [source + "/", "NAME:/tmp/to-in/"], "/tmp/in2"), ("its content, under a new name", [source + "/.", "NAME:/tmp/new2"], "/tmp/new2")):
        here, there = both(*words)
        tell(here[0] == there[0] == 0 and look("near", place) == look("far", place) and look("far", place)[0] == 0 and b"quoted" not in there[1], "a directory is copied there: " + name,
             (here, there, look("near", place), look("far", place)))
    here, there = both(source, "NAME:/tmp/in", "--on-existing", "error")
    tell(here[0] == there[0] == 125 and "is there already" in there[2] and look("near", "/tmp/in") == look("far", "/tmp/in"), "but not over one with content, with --on-existing error", (here, there))
    for name in ("near", "far"):
        session("exec", name, "--", "sh", "-c", "echo more > '/tmp/in/the tree/more'; echo more > /tmp/home/.more")
    here, there = both(source, "NAME:/tmp/in", "--on-existing", "replace")
    tell(here[0] == there[0] == 0 and look("near", "/tmp/in") == look("far", "/tmp/in") and b"./the tree/more" not in look("far", "/tmp/in")[1], "--on-existing replace leaves nothing of the old one", (here, there))
    here, there = both(source + "/.", "NAME:/tmp/home", "--on-existing", "replace")
    tell(here[0] == there[0] == 0 and look("near", "/tmp/home") == look("far", "/tmp/home") and b".more" not in look("far", "/tmp/home")[1], "nor of the old content", (here, there))
    here, there = both(source + "/.", "NAME:/tmp/full")
    tell(here[0] == there[0] == 125 and session("exec", "far", "--", "ls", "/tmp/full/sub/deep/run")[0] != 0, "a directory does not go through a link that has its place", (here, there))
    here, there = both(source, "NAME:/tmp/file")
    tell(here[0] == there[0] == 125 and session("read", "far", "/tmp/file")[1] == b"x\n", "nor in the place of a file", (here, there))
    tell(session("exec", "far", "--", "sh", "-c", "ls -A /tmp | grep warder")[0] == 1, "nothing is left on the way there", session("exec", "far", "--", "ls", "-lA", "/tmp"))
    # back
    back = lambda name: os.path.join(work, "back-" + name)
    for name in ("near", "far"):
        os.makedirs(os.path.join(back(name), "parent"))
        os.mkdir(os.path.join(back(name), "in"))
    for name, words in (("under a new name", ["NAME:/tmp/new", "new"]), ("into a directory", ["NAME:/tmp/new", "in"]), ("its content", ["NAME:/tmp/new/.", "content"]), ("a part of it", ["NAME:/tmp/new/sub/", "."]), ("the part once more", ["NAME:/tmp/new/sub", "."]),
                        ("in place of what is there", ["NAME:/tmp/new", "new", "--on-existing", "replace"]), ("as its parent", ["NAME:/tmp/new/sub/..", "parent"])):
        here, there = [session("cp", *[os.path.join(back(one), word) if word in ("new", "in", ".", "content", "parent") else word.replace("NAME:", one + ":") for word in words]) for one in ("near", "far")]
        tell(here[0] == there[0] == 0 and tree(back("near")) == tree(back("far")), "a directory comes back: " + name, (here, there, tree(back("near")), tree(back("far"))))
    tell({name: row for name, row in tree(os.path.join(back("far"), "content")).items()} == tree(source), "as it was", (tree(back("far")), tree(source)))
    here, there = [session("cp", one + ":/tmp/new", back(one), "--on-existing", "error") for one in ("near", "far")]
    tell(here[0] == there[0] == 125 and "is there already" in there[2], "but not over one with content, with --on-existing error", (here, there))
    for one in ("near", "far"):
        os.symlink(work, os.path.join(back(one), "elsewhere"))
    here, there = [session("cp", one + ":/tmp/new", os.path.join(back(one), "elsewhere"), "--on-existing", "error") for one in ("near", "far")]
    tell(here[0] == there[0] == 125 and not os.path.exists(os.path.join(work, "new")), "a link here is not followed", (here, there))
    # what is no file
    for name in ("near", "far"):
        session("exec", name, "--", "sh", "-c", "mkdir -p /tmp/odd; mkfifo /tmp/odd/pipe; echo x > /tmp/odd/x")
    here, there = [session("cp", one + ":/tmp/odd", back(one)) for one in ("near", "far")]
    tell(here[0] == there[0] == 125 and "pipe" in there[2] and "is not copied" in there[2] and tree(back("far"))["odd/x"][2] == b"x\n" and "odd/pipe" not in tree(back("far")), "a FIFO is left out, and this is said", (here, there))
    os.mkfifo(os.path.join(work, "the tree", "pipe"))
    here, there = both(source, "NAME:/tmp/fifo")
    tell(here[0] == there[0] == 125 and here[2] == there[2] and "pipe" in there[2] and look("near", "/tmp/fifo") == look("far", "/tmp/fifo"), "also on the way there", (here, there))
    # limits, before anything is sent
    status, out, err = session("cp", source, "far:/tmp/small", "--max-bytes", "10k")
    tell(status == 125 and "10KiB" in err and session("list", "far", "/tmp/small")[0] == 125, "all files together are within --max-bytes", (status, err))
    status, out, err = session("cp", "far:/tmp/new", back("far") + "/small", "--max-bytes", "10k")
    tell(status == 125 and "10KiB" in err and not os.path.exists(back("far") + "/small"), "also on the way back", (status, err))
    with open(source + "/huge", "wb") as file:
        file.truncate((16 << 20) + 1)
    status, out, err = session("cp", source, "far:/tmp/huge")
    tell(status == 125 and "16MiB" in err and "huge" in err and session("list", "far", "/tmp/huge")[0] == 125, "a file is within 16 MiB", (status, err))
    os.remove(source + "/huge")
    session("stop", "--all")
    tell(os.listdir(os.environ["TMPDIR"]) == [], "nothing is left on the way back", os.listdir(os.environ["TMPDIR"]))
    for place, directories, files in os.walk(work):
        for name in directories:
            if name == "closed":  # an ordinary user could not remove what is in it
                os.chmod(os.path.join(place, name), 0o700)
    del os.environ["TMPDIR"]


class Terminal:
    """A program whose terminal is ours."""

    def __init__(self, *words, rows=30, columns=100):
        self.text = self.whole = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self.size_of(0, rows, columns)
            os.execv(WARDER, [WARDER] + list(words))

    @staticmethod
    def size_of(fd, rows, columns):
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def size(self, rows, columns):
        self.size_of(self.fd, rows, columns)

    def send(self, keys):
        os.write(self.fd, keys)

    def take(self):
        """More of the output; False at its end."""
        try:
            got = os.read(self.fd, 65536)
        except OSError:
            got = b""
        self.text += got
        self.whole += got
        return bool(got)

    def until(self, word):
        """Read up to this word, and forget what came before it; False if it does not come."""
        limit = signal.signal(signal.SIGALRM, lambda number, frame: (_ for _ in ()).throw(TimeoutError()))
        signal.alarm(int(60 * SLOW))
        try:
            while word not in self.text:
                if not self.take():
                    return False
            self.text = self.text[self.text.index(word) + len(word):]
            return True
        except TimeoutError:
            return False
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, limit)

    def type(self, keys):
        """As many of them as are taken while nobody reads the output. Returns the rest."""
        os.set_blocking(self.fd, False)
        refused = 0
        while keys and refused < 20:
            try:
                keys, refused = keys[os.write(self.fd, keys[:4096]):], 0
            except BlockingIOError:
                refused += 1
                time.sleep(0.1)
        os.set_blocking(self.fd, True)
        return keys

    def end(self):
        """Its exit status, after all of its output."""
        self.until(b"never said")
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def terminals(path, host):
    """The terminal of this machine is that of a program in a session there."""
    start = ["start", "far", "--backends", path, "--backend", "remote:big", "--set", "devices.terminals=2"] + PREFER
    session(*start, "--idle-timeout", "20s")
    lend = lambda script, *flags: Terminal("session", "exec", "far", "-t", *flags, "--", "sh", "-c", script)
    one = lend("stty size; test -t 0 && test -t 1 && test -t 2 && echo is''one; read a; echo got $a; trap 'stty size' WINCH; echo ca''ught; while ! read b; do :; done; echo [$b]; exit 7", "--env", "TERM=dumb")
    tell(one.until(b"30 100") and one.until(b"isone"), "a program there has a terminal of the size of ours", one.text)
    one.send("k\u00e9ys\r".encode())
    tell(one.until("got k\u00e9ys".encode()) and one.until(b"caught"), "keys reach it", one.text)
    one.size(40, 120)
    tell(one.until(b"40 120"), "and a new size", one.text)
    one.send(b"more\r")
    tell(one.until(b"[more]") and one.end() == 7, "its exit status is ours", one.text)
    one = lend("trap 'echo inter''rupted; exit 5' INT; echo rea''dy; while :; do sleep 0.1; done")
    tell(one.until(b"ready"), "a second program has one, too", one.text)
    one.send(b"\x03")
    tell(one.until(b"interrupted") and one.end() == 5, "ctrl-c is a key of its terminal", one.text)
    one = lend("echo rea''dy; exec sleep 100")
    one.until(b"ready")
    os.kill(one.pid, signal.SIGTERM)
    tell(one.end() in (143, -signal.SIGTERM), "a signal for this command goes to the program", one.text)
    one = lend("head -c 300000 /dev/zero | tr '\\\\000' x; echo; echo al''l")
    tell(one.until(b"all") and one.end() == 0, "long output comes whole", one.text[-200:])
    receipt = os.path.join(work, "receipt")
    one = lend("stty raw; head -c 6000000 /dev/zero | tr '\\000' x", "--receipt", receipt)
    limit = time.monotonic() + 120 * SLOW
    while time.monotonic() < limit and (not select.select([one.fd], [], [], 1)[0] or one.take()):
        one.text, one.whole = one.text[-1000:], one.whole[-1000:]
    one.end()
    found = json.load(open(receipt)).get("outputs")
    tell(found in ("the end of the outputs is signed by this host, and the rest is not", "outputs are signed by this host"), "of output that is longer than the host keeps, the end is compared", found)
    # a connection that ends
    one = lend("trap 'echo si''zed' WINCH; echo rea''dy; while ! read a; do :; done; echo still $a; exit 3")
    one.until(b"ready")
    links = until(lambda: [pid for pid, name in below(one.pid).items() if name == "warder-remote"])
    for pid in links:
        os.kill(pid, signal.SIGKILL)
    one.size(41, 121)  # the next connection says it
    sized = one.until(b"sized")
    one.send(b"there\r")
    tell(links and sized and one.until(b"still there") and one.whole.count(b"ready") == 1 and one.end() == 3, "a connection that ends is made anew, and output is shown once", (links, one.text))
    for flags, word in ((["--json"], "--json"), (["-n"], "--no-input"), (["--background"], "--background")):
        one = lend("true", *flags)
        tell(one.until(word.encode()) and one.end() == 125, "what a terminal does not go with is refused: " + word, one.text)
    status, out, err = session("exec", "far", "-t", "--", "true")
    tell(status == 125 and "needs a terminal on standard input" in err, "without a terminal here, nothing starts there", (status, err))
    session("stop", "far")
    one = lend("true")
    tell(one.until(b"does not run") and one.end() == 125, "nor without the session", one.text)


def flooded_terminals(path, host):
    """Neither direction waits for the other."""
    session("start", "far", "--backends", path, "--backend", "remote:big", "--set", "devices.terminals=2", "--timeout", "600s", *PREFER)
    lend = lambda script: Terminal("session", "exec", "far", "-t", "--", "sh", "-c", script)
    word = "flood-%d" % os.getpid()

    def flood():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if open("/proc/%s/cmdline" % pid, "rb").read() == b"yes\0%s\0" % word.encode():
                    return True
            except OSError:
                pass
        return False
    # It floods when more has been written than all queues on the way have room for.
    one = lend("echo rea''dy; yes | head -c 20000000; exec yes " + word)
    one.until(b"ready")
    begun = until(flood)
    time.sleep(12)  # longer than a keeper waits for other clients
    one.send(b"\x03")
    tell(begun and until(lambda: not flood()), "ctrl-c ends a flood of output that nobody reads", begun)
    limit = time.monotonic() + 120 * SLOW
    while time.monotonic() < limit and (not select.select([one.fd], [], [], 1)[0] or one.take()):
        one.text, one.whole = one.text[-1000:], one.whole[-1000:]
    tell(one.end() == 130 and b"bytes were dropped" in one.whole, "and what was dropped is told when it is read", one.whole[-200:])
    one = lend("stty raw -echo; echo rea''dy; yes | head -c 3000000; head -c 600000 | md5sum")
    one.until(b"ready")
    keys = bytes(i * 7 % 251 for i in range(600000))
    rest, limit = one.type(keys), time.monotonic() + 120 * SLOW
    digest = hashlib.md5(keys).hexdigest().encode()
    os.set_blocking(one.fd, False)
    while digest not in one.text and time.monotonic() < limit:
        readable, writable, _ = select.select([one.fd], [one.fd] if rest else [], [], 1)
        if writable:
            with contextlib.suppress(BlockingIOError):
                rest = rest[os.write(one.fd, rest[:1000]):]
        if readable and not one.take():
            break
        one.text, one.whole = one.text[-1000:], one.whole[-1000:]
    good = digest in one.text
    os.set_blocking(one.fd, True)
    if not good:
        os.kill(one.pid, signal.SIGKILL)
    tell(good and one.end() == 0, "many keys arrive beside much output", one.whole[-200:])
    session("stop", "far")


def upgrade(handler, frames=b"", accept=None):
    """A WebSocket, and what it says first."""
    right = base64.b64encode(hashlib.sha1((handler.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
    handler.wfile.write(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n" % (accept or right)).encode() + frames)
    handler.close_connection = True


def text_frame(text):
    return bytes([0x81, len(text)]) + text


LAST_FRAMES = b"\x82\x05hello" + text_frame(b'{"end": {}}')


def slow_terminals():
    """Hosts that are slow, and connections that are lost."""
    def follow(name, answers, idle="30s"):
        server = serve("good")
        server.sandbox = answers(server)
        slow = document("slow.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
        session("start", "slow", "--backends", slow, "--backend", "remote:big", *PREFER, "--idle-timeout", idle)
        return server, Terminal("session", "exec", "slow", "-t", "--", "true")

    def finish_with(server):
        session("stop", "slow")
        server.shutdown()
        server.server_close()

    opened, asked, typed, in_time = threading.Event(), threading.Event(), threading.Event(), []

    def renewal(handler):
        if opened.is_set() and not typed.is_set():
            asked.set()
            while not typed.is_set() and not select.select([handler.connection], [], [], 0.05)[0]:
                pass  # it is readable when the client has given up
            in_time.append(typed.is_set())
        handler.answer(200, b"{}")

    def terminal(handler):
        upgrade(handler)
        opened.set()
        while True:
            head = handler.rfile.read(2)
            handler.rfile.read(4 + (head[1] & 127))
            if head[0] == 0x82:
                break
        typed.set()
        handler.wfile.write(LAST_FRAMES)
    server, one = follow("renewal", lambda server: {"terminal": terminal, "timeout": renewal})
    until(asked.is_set)
    one.send(b"k")
    found = one.end()
    tell(found == 0 and b"hello" in one.whole and in_time[:1] == [True], "a renewal of the lease that is not answered does not hold the keys up", (found, in_time, one.whole))
    finish_with(server)

    lost, keys, lent, links = threading.Event(), [], [], []

    def linked(one):
        """Whether a process may still take keys of the terminal."""
        return [pid for pid, name in below(one.pid).items() if name == "warder-remote" and state_of(pid) not in "XZ"]

    def short(handler):
        upgrade(handler)
        if not lost.is_set():
            time.sleep(2 * SLOW)
            until(lambda: lent)
            links.extend(linked(lent[0]))
            lost.set()
            return
        handler.connection.settimeout(30 * SLOW)
        with contextlib.suppress(TimeoutError):
            head = b""
            while head[:1] != b"\x82":
                head = handler.rfile.read(2)
                body = handler.rfile.read(4 + (head[1] & 127))
            keys.append(bytes(byte ^ body[i % 4] for i, byte in enumerate(body[4:])))
        handler.wfile.write(LAST_FRAMES)
        handler.connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            handler.rfile.read()  # with input that was not read, the kernel would drop the last frames
    server, one = follow("short", lambda server: {"terminal": short})
    lent.append(one)
    lost.wait()
    until(lambda: not set(links) & set(linked(one)))  # until then, keys go where nobody reads them
    one.send(b"k\x03")
    found = one.end()
    tell(found == 0 and keys == [b"k\x03"] and b"was lost" not in one.whole, "after a loss, the next connection is made at once, and takes the keys, ctrl-c also", (found, keys, one.whole))
    finish_with(server)

    keys.clear()
    full = threading.Event()

    def long(handler):
        if full.is_set():
            short(handler)
            return
        upgrade(handler, (b"\x82\x7e" + struct.pack(">H", 1000) + b"x" * 1000) * 60)
        full.set()
    server, one = follow("long", lambda server: {"terminal": long})
    full.wait()
    time.sleep(1 * SLOW)
    until(lambda: not linked(one))
    one.send(b"k\x03")
    time.sleep(0.5 * SLOW)
    found = one.end()
    tell(found == 0 and keys == [b"k\x03"] and b"was lost" not in one.whole, "keys also reach the next connection if the last of the output has not been read", (found, keys, one.whole[-200:]))
    finish_with(server)

    for when, stops in (("", False), (", also if the connection has not taken the size either", True)):
        keys.clear()
        full.clear()
        refused, pids = [], []

        def away(handler):
            if full.is_set() and len(refused) < 2:
                refused.append(handler.answer(503, b"{}"))
                return
            if not full.is_set() and stops:
                until(lambda: pids)
                os.kill(pids[0], signal.SIGSTOP)
            long(handler)
        server, one = follow("away", lambda server: {"terminal": away})
        pids.append(one.pid)
        full.wait()
        until(lambda: not linked(one))
        os.kill(one.pid, signal.SIGCONT)
        time.sleep(1.5 * SLOW)
        one.send(b"k")
        time.sleep(0.5 * SLOW)
        told = one.until(b"was lost")
        one.send(b"x")  # thrown away, as the report says
        found = one.end()
        tell(told and found == 0 and keys == [b"k"], "keys that were typed before the report of a loss reach the next connection, and those after it do not" + when, (found, keys, one.whole[-200:]))
        finish_with(server)

    tries = []

    def quiet(server):
        renewals = lambda: sum(1 for words in server.asked if words[1].endswith("/timeout"))

        def answer(handler):
            tries.append(renewals())
            upgrade(handler, LAST_FRAMES if len(tries) > 1 else b"")
            if len(tries) == 1:  # longer than the idle time
                until(lambda: renewals() >= tries[0] + 4)
        return {"terminal": answer}
    server, one = follow("quiet", quiet, idle="%ds" % (9 * SLOW))
    found = one.end()
    tell(found == 0 and b"hello" in one.whole and len(tries) == 2, "a terminal that was quiet for longer than the idle time outlives the loss of its connection", (found, tries, one.whole))
    finish_with(server)


def lying_about_terminals():
    """A host whose WebSocket is none, or speaks nonsense: an end comes, and nothing else."""
    says = lambda frames, accept=None: lambda handler: upgrade(handler, frames, accept)
    gap = text_frame(b'{"gap": {"stream": "stdout", "from": 5, "to": 1005}}')
    refusal = lambda handler: handler.answer(404, json.dumps({"kind": "notFound", "field": "id", "message": "gone"}).encode())
    for name, terminal, code, word in (("a good one", says(LAST_FRAMES), 0, b"hello"), ("a gap", says(b"\x82\x05first" + gap + LAST_FRAMES), 125, b"1000 of"), ("the key of another request", says(LAST_FRAMES, "x" * 28), 137, b"as a WebSocket must"), ("no WebSocket", None, 137, b"status 307"), ("a refusal", refusal, 137, b"gone"),
                                       ("headers without end", lambda handler: handler.wfile.write(b"HTTP/1.1 101 x\r\n" + b"X: y\r\n" * 20000), 137, b"before the host answered"),
                                       ("frames with a mask", says(b"\x82\x81\1\2\3\4a"), 137, b"lifetime"), ("a text of 2 GB", says(b"\x81\x7f\0\0\0\0\x7f\xff\xff\xff"), 137, b"lifetime"),
                                       ("a text of 64 KiB", says(b"\x81\x7f\0\0\0\0\0\1\0\0" + b" " * 65536), 137, b"lifetime"), ("texts that are no JSON", says(b"\x81\x01x\x81\x02[]\x81\x0a{\"gap\": 1}"), 137, b"lifetime")):
        server = serve("good")
        server.sandbox = {"terminal": terminal}
        lying = document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
        session("start", "liar", "--backends", lying, "--backend", "remote:big", *PREFER, "--lifetime", "%ds" % (3 + SLOW if code == 137 else 60 * SLOW), "--idle-timeout", "%ds" % (3 * SLOW))
        one = Terminal("session", "exec", "liar", "-t", "--", "true")
        found = one.end()
        tell(found == code and word in one.whole, "a lie about a terminal has an end: " + name, (found, one.whole))
        session("stop", "liar")
        server.shutdown()
        server.server_close()


def lying_about_copies():
    rows = lambda row: json.dumps([dict({"name": "a", "type": "file", "mode": 0o644, "sizeBytes": 1}, **row), 5, {"name": {}}]).encode()
    for name, directory, code, word in (("a mode", rows({"mode": 99999999}), 0, ""), ("no mode", rows({"mode": "x"}), 0, ""), ("no list", b"{}", 125, "invalid entry"), ("a type", rows({"type": 7}), 125, "must be a regular file or a directory"), ("a link", rows({"type": "link", "target": "/etc"}), 125, "symbolic link"), ("no JSON", b"x", 125, "remote:big")):
        server = serve("good")
        server.sandbox = {"directory": directory, "other": b"content"}
        lying = document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
        session("start", "liar", "--backends", lying, "--backend", "remote:big", *PREFER)
        target = os.path.join(work, "lie")
        status, out, err = session("cp", "liar:/tmp/a", target)
        mode = os.stat(target).st_mode if os.path.exists(target) else 0
        if mode:  # perhaps one that its owner cannot read
            os.chmod(target, 0o600)
        tell(status == code and word in err and (code or (open(target).read() == "content" and mode & 0o7000 == 0)), "a lie about a file has an end: " + name, (status, err))
        if mode:
            os.remove(target)
        session("stop", "liar")
        server.shutdown()
        server.server_close()


def lying_about_errors():
    """What a shell there says is compared, too, before it is shown as the reason of a failure."""
    event = b'event: output\ndata: {"stream": "stderr", "offset": 0, "text": "%s"}\n\nevent: end\ndata: {}\n\n'
    source = os.path.join(work, "for-there")
    os.makedirs(source, exist_ok=True)
    for name, said, word in (("as signed", b"no room", "no room"), ("changed", b"n0 room", "stderr differs from what the host has signed")):
        server = serve("good")
        result = dict(RESULT, exitCode=1, stdout={"bytesTotal": 0}, stderr={"bytesTotal": 7}, outputs={"stdout": digest(b""), "stderr": digest(b"no room")})
        server.sandbox = {"result": json.dumps(result).encode(), "output": event % said}
        lying = document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
        session("start", "liar", "--backends", lying, "--backend", "remote:big", *PREFER)
        status, out, err = session("cp", source, "liar:/tmp/d")
        tell(status != 0 and word in err and (word == "no room" or "n0 room" not in err), "the words of a shell there are compared: " + name, (status, err))
        session("stop", "liar")
        server.shutdown()
        server.server_close()


def lying_about_trees():
    """A list of the host never leads out of the target, and never through a link that the list made."""
    top, outside = [{"name": "d", "type": "directory", "mode": 0o755}], os.path.join(work, "outside")
    encoded = lambda name: base64.b64encode(name).decode()
    cases = (("a parent", [{"name": "..", "type": "directory"}], 125, "invalid entry"), ("a path", [{"name": "../outside", "type": "file"}], 125, "invalid entry"), ("an absolute path", [{"name": outside, "type": "file"}], 125, "invalid entry"),
             ("a path in base64", [{"name": "x", "nameBase64": encoded(b"../outside"), "type": "file"}], 125, "invalid entry"), ("a NUL", [{"name": "x", "nameBase64": encoded(b"x\0y"), "type": "file"}], 125, "invalid entry"),
             ("no base64", [{"name": "x", "nameBase64": "!", "type": "file"}], 125, "invalid entry"), ("no name", [{"type": "file"}], 125, "invalid entry"), ("the directory itself", [{"name": ".", "type": "directory"}], 125, "invalid entry"),
             ("a long name", [{"name": "n" * 256, "type": "file"}], 125, "invalid entry"), ("a link without a target", [{"name": "l", "type": "link"}], 125, "invalid entry"), ("a number", [7], 125, "invalid entry"),
             ("a file behind a link of its name", [{"name": "l", "type": "link", "target": outside}, {"name": "l", "type": "file"}], 125, "cannot store"),
             ("a directory behind a link of its name", [{"name": "l", "type": "link", "target": work}, {"name": "l", "type": "directory"}], 125, "cannot store"),
             ("a name twice", [{"name": "f", "type": "file"}, {"name": "f", "type": "file"}], 125, "cannot store"), ("directories without end", top, 125, "more than 64 levels"),
             ("odd modes", [{"name": "f", "type": "file", "mode": 0o6777}, {"name": "e", "type": "file", "mode": -1}], 0, ""), ("bytes that are no text", [{"name": "x", "nameBase64": encoded(b"x\xff"), "type": "file"}], 0, ""),
             ("a terminal", [{"name": "\x1b]0;x\x07", "type": "pipe"}], 125, "is not copied"))
    for name, rows, code, word in cases:
        server = serve("good")
        # of its parent: the directory; of the directory, and of all below it: the case
        server.sandbox = {"directory": lambda handler: handler.answer(200, json.dumps(top if handler.path.endswith("path=/tmp") else rows).encode()), "other": b"content"}
        lying = document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
        session("start", "liar", "--backends", lying, "--backend", "remote:big", *PREFER)
        target = os.path.join(work, "lie")
        status, out, err = session("cp", "liar:/tmp/d", target)
        tell(status == code and word in err and "\x1b" not in err and not os.path.exists(outside) and (os.path.exists(target) == (code == 0 or "not copied" in err)), "a lie about a directory has an end: " + name,
             (status, err, os.path.exists(target) and tree(target)))
        if code == 0:
            tell(all(row[0] == "file" and int(row[1], 8) & 0o7000 == 0 and row[2] == b"content" for row in tree(target).values()) and len(os.listdir(target)) == len(rows), "and what it leaves is plain: " + name, tree(target))
        shutil.rmtree(target, ignore_errors=True)
        session("stop", "liar")
        server.shutdown()
        server.server_close()


def interrupted(path, host):
    """Starts whose answer does not come: no sandbox is left."""
    hangs = []

    def once(answer):
        def first(handler):
            hangs.append(handler)
            if len(hangs) == 1:
                return answer(handler)
            return handler.answer(*((409, b'{"kind": "conflict", "message": "still being started"}') if len(hangs) == 2 else (201, b'{"id": "abc1"}')))
        return first
    for name, answer, code in (("a signal", lambda handler: time.sleep(60 * SLOW), 143), ("a connection that ends", lambda handler: handler.connection.shutdown(socket.SHUT_RDWR), 125)):
        hangs.clear()
        server = serve("good")
        server.sandbox = {"sandbox": once(answer)}
        slow = document("slow.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
        process = subprocess.Popen([WARDER, "session", "start", "late", "--backends", slow, "--backend", "remote:big"] + PREFER, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until(lambda: hangs)
        if code == 143:
            process.send_signal(signal.SIGTERM)
        err = process.communicate(timeout=60 * SLOW)[1]
        posts = [json.loads(one[3]).get("idempotencyKey") for one in server.asked if one[:2] == ("POST", "/v1/sandboxes")]
        tell(process.returncode == code and len(posts) == 3 and len(set(posts)) == 1 and server.asked[-1][:2] == ("DELETE", "/v1/sandboxes/abc1") and not os.path.exists(file_here("late.remote")),
             "the sandbox of a start without an answer is ended: " + name, (process.returncode, err, [one[:2] for one in server.asked]))
        server.shutdown()
        server.server_close()
    for i in range(6):
        process = subprocess.Popen([WARDER, "session", "start", "late", "--backends", path, "--backend", "remote:big"] + PREFER, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.02 + 0.02 * i)
        process.send_signal(signal.SIGTERM)
        if process.wait(60 * SLOW) == 0:
            session("stop", "late")
    until(lambda: not sandboxes(host), 30)
    tell(sandboxes(host) == [] and not os.path.exists(file_here("late.remote")), "whenever a signal ends a start, no sandbox is left", sandboxes(host))


def damaged(path, host):
    """Files of sessions that are not valid."""
    session("start", "good", "--backends", path, "--backend", "remote:big", *PREFER)
    texts = {"nojson": "no JSON", "large": " " * 20000, "members": "{}", "nothing": ""}
    for name, text in texts.items():
        with open(file_here(name + ".remote"), "w") as file:
            file.write(text)
    os.symlink(file_here("good.remote"), file_here("link.remote"))
    names = sorted(texts) + ["link"]
    status, out, err = session("list", "--json")
    tell(status == 0 and [row["name"] for row in json.loads(out or "[]") if row.get("backend") == "remote:big"] == ["good"] and all("session %s is not valid" % name in err for name in names),
         "files that are not valid are reported beside the list of the others", (status, out, err))
    for name in names:
        status, out, err = session("start", name, *PREFER)
        tell(status == 125 and "is not valid" in err, "a session of this machine cannot have the name of such a file: " + name, (status, err))
        session("stop", name) if status == 0 else None
        status, out, err = session("status", name)
        tell(status == 125 and "is not valid" in err, "its status says so: " + name, (status, err))
    status, out, err = session("stop", "nojson")
    tell(status == 0 and not os.path.lexists(file_here("nojson.remote")), "a stop removes it", (status, err))
    status, out, err = session("stop", "--all")
    tell(status == 0 and sandboxes(host) == [] and not any(os.path.lexists(file_here(name + ".remote")) for name in names + ["good"]), "so does a stop of all, which ends the others",
         (status, err, sandboxes(host)))


def unlisted(path):
    """The sessions of this machine cannot be listed, and so not stopped."""
    session("start", "far", "--backends", path, "--backend", "remote:big", *PREFER)
    os.mkdir(file_here("near.lock"))
    status, out, err = session("stop", "--all")
    os.rmdir(file_here("near.lock"))
    tell(status == 125 and not os.path.exists(file_here("far.remote")), "a session of this machine that cannot be stopped does not keep stop --all from those on other machines", (status, err))
    session("stop", "--all")


def silent():
    """A host that takes a program and then says nothing more."""
    hang, drop = lambda handler: time.sleep(60 * SLOW), lambda handler: handler.connection.shutdown(socket.SHUT_RDWR)
    ended = json.dumps(dict(RESULT, exitCode=7, stdout={"bytesTotal": 5}, stderr={"bytesTotal": 0})).encode()
    cases = [("no answer for the idle time", {"result": hang, "timeout": drop}, ["--idle-timeout", "%ds" % (3 * SLOW)], 137, ["the whole idle time of session quiet", "not known"]),
             ("no result before the end of its lifetime", {"result": hang}, ["--idle-timeout", "%ds" % (3 * SLOW), "--lifetime", "%ds" % (6 * SLOW)], 137, ["the lifetime of session quiet is over", "not known"]),
             ("a result without its output", {"result": ended, "output": drop}, [], 7, ["its output did not arrive", "0 of 5 bytes"])]
    for name, lies, flags, code, words in cases:
        server = serve("good")
        server.sandbox = lies
        lying = document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
        session("start", "quiet", "--backends", lying, "--backend", "remote:big", *PREFER, *flags)
        try:
            status, out, err = session("exec", "quiet", "--", "true")
        except subprocess.TimeoutExpired:
            status, out, err = None, b"", "it did not end"
        tell(status == code and all(word in err for word in words), "an execution has an end: " + name, (status, err))
        if code == 7:
            status, out, err = session("exec", "quiet", "--json", "--", "true")
            result = json.loads(out)
            tell(status == 7 and (result["cause"], result["exitCode"]) == ("exit", 7) and result["stdout"]["truncated"] and result["stderr"]["truncated"],
                 "and its result says that the output is truncated", (status, out, err))
        session("stop", "quiet")
        server.shutdown()
        server.server_close()


def unreachable(host, path):
    session("start", "lost", "--backends", path, "--backend", "remote:big", *PREFER)
    host.end(signal.SIGKILL)
    for words in (["exec", "lost", "--", "true"], ["read", "lost", "x"], ["status", "lost"], ["stop", "lost"]):
        status, out, err = session(*words)
        tell(status == 125 and "connect" in err, "a host that is gone: " + words[0], (status, err))
    out = session("list", "--json")[1]
    tell([row["name"] for row in json.loads(out) if "backend" in row and row["backend"] == "remote:big"] == ["lost"], "the session stays in the list", out)
    host.start()
    status, out, err = session("exec", "lost", "--", "echo", "x")
    tell((status, out) == (0, b"x\n") or "does not know it" in err, "and works again with the host, or is known to be lost", (status, out, err))
    tell(session("stop", "lost")[0] == 0, "it can be stopped")


def signed_results(path, host):
    """What a host signs of an execution, and results that it has not signed."""
    sandbox = json.loads(asked(host, "/v1/sandboxes", "{}"))["id"]
    url = "/v1/sandboxes/%s/executions" % sandbox
    execution = json.loads(asked(host, url, json.dumps({"argv": ["echo", ',"signature":{"key":']})))["id"]
    answer = asked(host, "%s/%s?wait=1&nonce=0123abcd" % (url, execution))
    claim = ("%s %s 0123abcd" % (sandbox, execution)).encode()
    good, key = verifies("execution", claim, answer)
    tell(good and key == KEY and json.loads(answer)["cause"] == "exit" and "receipt" in json.loads(answer), "a host signs the result of an execution", answer)
    tell(not verifies("execution", claim + b"0", answer)[0] and not verifies("run", claim, answer)[0], "for this execution, nonce and call alone")
    tell(b"signature" not in asked(host, "%s/%s?wait=1" % (url, execution)), "and not without a nonce")
    for name, path, status in (("a nonce that is none", "%s/%s?wait=1&nonce=xyz" % (url, execution), 400), ("a long one", "%s/%s?wait=1&nonce=%s" % (url, execution, "a" * 65), 400),
                               ("an unknown execution", "%s/%s?wait=1&nonce=ab" % (url, "0" * 16), 404)):
        answer = json.loads(asked(host, path))
        tell(answer.get("code") == status and "signature" not in answer, "nothing is signed for " + name, answer)
    # its keeper takes no more clients
    clients, found = [], (200, b"", {})
    while found[0] == 200 and len(clients) < 70:
        clients.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        clients[-1].connect(file_here(sandbox + ".sock"))
        clients[-1].send(struct.pack("<IHHII24s", 0x58455257, 3, 1, 0, 0, b""))  # the hello of a client
        clients[-1].recv(4096)
        found = fetch(host.port, "GET", "%s/%s?wait=1&nonce=ab" % (url, execution), None, open(TOKEN).read().strip())
    tell(found[0] == 503 and found[2].get("Retry-After") == "1", "if the sandbox is too busy to give the result, the host says that it can be asked again", (len(clients), found[0], found[1], str(found[2])))
    for one in clients:
        one.close()
    tell(until(lambda: b'"signature"' in asked(host, "%s/%s?wait=1&nonce=ab" % (url, execution))), "and then it gives it")
    asked(host, "/v1/sandboxes/" + sandbox, method="DELETE")
    good = json.dumps(dict(RESULT, stdout={"bytesTotal": 0}, stderr={"bytesTotal": 0})).encode()
    claim_of = lambda handler: " ".join(handler.path.replace("?", "/").replace("=", "/").split("/")[i] for i in (3, 5, -1)).encode()
    envelope = lambda text, said, key: text[:-1] + b',"signature":{"key":"%s","value":"%s"}}' % (key.encode(), base64.b64encode(sign(said)))
    cases = (("not signed", lambda handler: handler.answer(200, good), "not signed"), ("signed for another execution", lambda handler: handler.signed("execution", b"abc1 ffffffffffffffff " + claim_of(handler).split()[2], good), "signature"),
             ("signed for another nonce", lambda handler: handler.signed("execution", claim_of(handler)[:-1] + b"x", good), "signature"), ("signed as a run", lambda handler: handler.answer(200, envelope(good, statement("run", claim_of(handler), good), EVIL_KEY)), "signature"),
             ("changed", lambda handler: handler.answer(200, envelope(good.replace(b'"exitCode": 0', b'"exitCode": 1'), statement("execution", claim_of(handler), good), EVIL_KEY)), "signature"),
             ("signed by another key", lambda handler: handler.answer(200, envelope(good, statement("execution", claim_of(handler), good), KEY)), "another host"))
    tries = []

    def busy(handler):
        tries.append(1)
        if len(tries) > 2:
            server.sandbox = {}
            return handler.about_sandbox()
        return handler.answer(429 if len(tries) > 1 else 503, json.dumps({"kind": "unavailable", "message": "the session has 64 clients"}).encode())
    server = serve("good")
    server.sandbox = {"result": busy}
    session("start", "liar", "--backends", document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)}), "--backend", "remote:big", *PREFER)
    status, out, err = session("exec", "liar", "--", "true")
    tell(status == 0 and len(tries) == 3, "a host that is too busy to give the result is asked again", (status, out, err, tries))
    session("stop", "liar")
    server.shutdown()
    server.server_close()
    for name, answer, word in cases:
        server = serve("good")
        server.sandbox = {"result": answer}
        lying = document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
        session("start", "liar", "--backends", lying, "--backend", "remote:big", *PREFER)
        status, out, err = session("exec", "liar", "--json", "--", "true")
        tell(status == 137 and json.loads(out)["cause"] == "host" and word in json.loads(out)["detail"], "a result of an execution is refused: " + name, (status, out, err))
        session("stop", "liar")
        server.shutdown()
        server.server_close()


def digest(bytes, offset=0):
    return {"offset": offset, "bytes": len(bytes), "sha256": hashlib.sha256(bytes).hexdigest()}


def signed_outputs(path, host):
    """Digests of outputs that a host signs, and outputs that differ from them."""
    for name, call, body, out, err in (("a program", "run", {"argv": ["sh", "-c", "echo out; echo err >&2"]}, b"out\n", b"err\n"), ("code", "code", {"language": "bash", "code": "printf '\\0\\377'"}, b"\0\xff", b""),
                                       ("output that is cut", "run", {"argv": ["sh", "-c", "yes | head -c 3000000"]}, b"y\n" * (1 << 19), b"")):
        answer = json.loads(asked(host, "/v1/" + call, json.dumps(body)))
        tell(answer.get("outputs") == {"stdout": digest(out), "stderr": digest(err)}, "a host signs the digests of outputs: " + name, {key: answer.get(key) for key in ("outputs", "message", "cause")})
    sandbox = json.loads(asked(host, "/v1/sandboxes", "{}"))["id"]
    url = "/v1/sandboxes/%s/executions" % sandbox
    for name, command, out, err in (("an execution", "echo out; echo err >&2", digest(b"out\n"), digest(b"err\n")), ("one that writes nothing", "true", digest(b""), digest(b"")),
                                    ("one that wrote more than the host keeps", "yes | head -c 9000001", None, digest(b""))):
        execution = json.loads(asked(host, url, json.dumps({"argv": ["sh", "-c", command]})))["id"]
        answer = asked(host, "%s/%s?wait=1&nonce=0123abcd" % (url, execution))
        good, key = verifies("execution", ("%s %s 0123abcd" % (sandbox, execution)).encode(), answer)
        outputs = json.loads(answer).get("outputs", {})
        if out is None:
            had = outputs.get("stdout", {}).get("offset", 0)
            tell(had > 0, "the digest begins where the host still has the output", outputs)
            out = digest((b"y\n" * 4500001)[had:9000001], had)
        tell(good and key == KEY and outputs == {"stdout": out, "stderr": err}, "a host signs the digests of outputs: " + name, outputs)
    asked(host, "/v1/sandboxes/" + sandbox, method="DELETE")
    status, out, err = remote(path, "sh", "-c", "echo out", flags=PREFER + ["--json"])
    tell(status == 0 and json.loads(out)["receipt"].get("outputs") == "outputs are signed by this host", "the receipt of a run says that they are signed", (status, out[-600:], err))
    session("start", "far", "--backends", path, "--backend", "remote:big", *PREFER)
    for words, want in ((["sh", "-c", "echo out; echo err >&2"], b"out\n"), (["sh", "-c", "yes | head -c 9000001"], None)):
        status, out, err = session("exec", "far", "--json", "--", *words)
        data = json.loads(out)
        tell(status == 0 and data["receipt"].get("outputs") == "outputs are signed by this host" and (want is None or data["stdout"]["text"].encode() == want), "so does that of an execution", (status, out[-600:], err))
    session("stop", "far")
    event = lambda stream, text, offset=0: b'event: output\ndata: {"stream": "%s", "offset": %d, "text": "%s"}\n\n' % (stream, offset, text)
    end = b'event: end\ndata: {}\n\n'
    outputs = {"stdout": digest(b"good"), "stderr": digest(b"words")}
    good = event(b"stdout", b"go") + event(b"stdout", b"od", 2) + event(b"stderr", b"words") + end
    signed, unsigned, lost = "outputs are signed by this host", "outputs are not signed by this host", None
    for name, more, text, receipt, word in (("as signed", {"outputs": outputs}, good, signed, ""), ("an older host", {}, good, unsigned, ""), ("an older host that changes a byte", {}, good.replace(b"words", b"w0rds"), unsigned, ""),
                                            ("a changed byte", {"outputs": outputs}, good.replace(b"od", b"ad"), lost, "stdout differs from what the host has signed"), ("a changed byte of stderr", {"outputs": outputs}, good.replace(b"words", b"w0rds"), lost, "stderr differs"),
                                            ("a byte that is missing", {"outputs": outputs}, good.replace(b"words", b"word"), lost, "stderr differs"), ("no output", {"outputs": outputs}, end, lost, "stdout differs"),
                                            ("more output", {"outputs": outputs}, event(b"stdout", b"x") + good, lost, '"stdout"'), ("another offset", {"outputs": outputs}, good.replace(b'"offset": 0, "text": "go"', b'"offset": 4, "text": "go"'), lost, "stdout differs"),
                                            ("one stream signed", {"outputs": {"stdout": digest(b"good")}}, good, lost, '"outputs"'), ("a digest that is none", {"outputs": dict(outputs, stdout=dict(digest(b"good"), sha256="\x1b[31m" * 13))}, good, lost, '"outputs"')):
        server = serve("good")
        result = dict(RESULT, stdout={"bytesTotal": 4}, stderr={"bytesTotal": 5}, **more)
        server.sandbox = {"result": json.dumps(result).encode(), "output": text}
        lying = document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
        session("start", "liar", "--backends", lying, "--backend", "remote:big", *PREFER)
        status, out, err = session("exec", "liar", "--json", "--", "true")
        data = json.loads(out)
        tell(status == (137 if word else 0) and data["receipt"].get("outputs") == receipt and word in data["detail"] and (data["cause"] == "host") == bool(word) and (not word or "good" not in str(data.get("stdout"))),
             "output of an execution is compared: " + name, (status, data, err))
        if word:
            status, out, err = session("exec", "liar", "--", "true")
            tell(status == 137 and out == b"" and word in err and "\x1b" not in err, "and is not shown: " + name, (status, out, err))
        session("stop", "liar")
        server.shutdown()
        server.server_close()
    for name, more, word in (("as signed", {"outputs": outputs}, ""), ("an older host", {}, ""), ("a changed byte", {"outputs": dict(outputs, stdout=digest(b"gaod"))}, "stdout differs"), ("a changed stderr", {"outputs": dict(outputs, stderr=digest(b""))}, "stderr differs")):
        server = serve("good")
        server.code = dict({"stdout": {"text": "good", "bytesTotal": 4}, "stderr": {"text": "words", "bytesTotal": 5}}, **more)
        status, out, err = remote(document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)}), "true", flags=PREFER)
        tell((status, out) == ((137, b"") if word else (0, b"good")) and word in err, "output of a run is compared: " + name, (status, out, err))
        server.shutdown()
        server.server_close()


def lying_about_sessions():
    """Every answer about a sandbox may be a lie."""
    cases = [("an id that is a path", "sandbox", b'{"id": "../../v1/x"}', '"id"'), ("an id of 1 KB", "sandbox", b'{"id": "%s"}' % (b"a" * 1000), '"id"'),
             ("no id", "sandbox", b"[]", '"id"'), ("too much", "sandbox", b" " * (17 << 20), "MiB"),
             ("an execution that is a path", "execution", b'{"id": "../x"}', '"id"'), ("a result that is none", "result", b"[]", "not signed"),
             ("counts that are none", "result", b'{"x": 1}', "cause"), ("code for which nothing ran", "result", b'{"language": "python"}', '"cause"'), ("output without end", "output", b"data: x\n" * (3 << 20), "16 MiB"),
             ("a redirect", "execution", None, "redirect")]
    for name, where, text, word in cases:
        server = serve("good")
        server.sandbox = {where: text}
        lying = document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
        status, out, err = session("start", "liar", "--backends", lying, "--backend", "remote:big", *PREFER)
        if where != "sandbox":
            status, out, err = session("exec", "liar", "--", "true")
            session("stop", "liar")
        tell(status in (125, 137) and word in err and "\x1b" not in err, "a lie about a session is refused: " + name, (status, err))
        server.shutdown()
        server.server_close()
    server = serve("good")
    server.sandbox = {"directory": b'[{"name": "\\u001b]0;x\\u0007../../e", "type": "file", "mode": 99999, "sizeBytes": -1}, 5, {"name": {}}]'}
    lying = document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
    session("start", "liar", "--backends", lying, "--backend", "remote:big", *PREFER)
    status, out, err = session("list", "liar")
    tell(status == 0 and b"\x1b" not in out and b"\x07" not in out, "names of the host are shown without control characters", (status, out, err))
    other = document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=KEY)})
    status, out, err = session("exec", "liar", "--", "true")
    tell(status == 125 and "another host" in err and not any("executions" in one[1] for one in server.asked), "a host with another key gets no program", (status, err, server.asked[-3:]))
    document("lying.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
    session("stop", "liar")
    server.shutdown()
    server.server_close()


def choices(path, host):
    url = host.url
    status, out, err = warder("explain", "--backends", path, "--backend", "local,remote:big", "--json", *PREFER)
    data = json.loads(out)
    states = {row["backends"]["remote:big"]["state"] for row in data["fields"]}
    tell("reported" in states and (not ROOT or "notEnforced" not in states) and data["backends"][1]["chosen"] == "remote:big", "explain compares a host with here", out)
    rows = {row["field"]: row["backends"]["remote:big"] for row in data["fields"] if row["control"] != "languages"}
    tell(rows["syscalls"]["state"] == "reported" and rows["syscalls"]["by"] == "seccomp filter", "and has its mechanisms from it", rows["syscalls"])
    status, out, err = warder("explain", "--backends", path, "--backend", "remote:big", "--ro", "/srv")
    tell(status == 125 and b"filesystem.paths.readOnly" in out, "explain says what would be refused", out)
    first = document("first.json", {"big": entry(url)}, order=["remote:big", "local"])
    status, out, err = warder("run", "--backends", first, "--backend", "auto", "--json", *PREFER, "--", "true")
    tell(json.loads(out)["backend"] == "remote:big", "auto takes a host that the order names", out)
    status, out, err = warder("run", "--backends", path, "--backend", "auto", "--json", *PREFER, "--", "true")
    tell(json.loads(out)["backend"] == "local", "and no host that the order does not name", out)
    status, out, err = warder("run", "--backends", first, "--backend", "auto", "--json", "--ro", "/usr/share", *PREFER, "--", "true")
    data = json.loads(out)
    tell(data.get("backend") == "local" and "remote:big" in data["passedOver"], "and passes it over if the policy needs this machine, with the reason", out)
    other = Host("other")
    path = write("other-token", other.tenant("add", "me") + "\n")
    second = {"big": entry(url), "two": entry(other.url, path, hostKey=json.loads(asked(other, "/v1/host", token=path))["hostKey"])}
    both = document("both.json", second, order=["remote:big", "remote:two", "local"])
    chosen = lambda: json.loads(warder("run", "--backends", both, "--backend", "auto", "--json", *PREFER, "--", "true")[1])
    tell(chosen()["backend"] == "remote:big", "of two hosts without load, auto takes the first")
    sandbox = json.loads(asked(host, "/v1/sandboxes", "{}"))["id"]
    load = json.loads(asked(host, "/v1/capabilities"))["load"]
    tell(load["running"] == 1 and load["waiting"] == 0 and load["processors"] >= 1, "a host reports its load", load)
    tell(chosen()["backend"] == "remote:two", "and then the one with less load")
    other.end()
    data = chosen()
    tell(data["backend"] == "remote:big" and "remote:two" in data["passedOver"], "one that does not answer is passed over, with the reason", data["passedOver"])
    asked(host, "/v1/sandboxes/" + sandbox, method="DELETE")
    dead = document("dead.json", {"big": entry("http://127.0.0.1:1")}, order=["remote:big", "local"])
    status, out, err = warder("run", "--backends", dead, "--backend", "auto", "--json", *PREFER, "--", "true")
    data = json.loads(out)
    tell(data.get("backend") == "local" and "connect" in data["passedOver"], "and passes over one that does not answer", out)


# ---- documents ----

def documents():
    good = entry("http://127.0.0.1:9")
    for name, text, word in (
            ("an entry without enable", {"remote": {"big": good}}, '"enable"'),
            ("an unknown kind", {"enable": ["remote"], "remote": {"big": dict(good, kind="cube")}}, '"cube"'),
            ("a URL with credentials", {"enable": ["remote"], "remote": {"big": dict(good, url="https://u:geheim@h.example")}}, "credentials"),
            ("an unknown member", {"enable": ["remote"], "remote": {"big": dict(good, token="x")}}, '"token"'),
            ("a name with capitals", {"enable": ["remote"], "remote": {"Big": good}}, '"Big"'),
            ("http to another machine", {"enable": ["remote"], "remote": {"big": dict(good, url="http://192.0.2.1")}}, '"insecure"'),
            ("a path in the URL", {"enable": ["remote"], "remote": {"big": dict(good, url="https://h.example/x")}}, '"url"'),
            ("a key that is none", {"enable": ["remote"], "remote": {"big": dict(good, hostKey="ed25519:x")}}, '"hostKey"'),
            ("a relative token file", {"enable": ["remote"], "remote": {"big": dict(good, tokenFile="token")}}, '"tokenFile"'),
            ("an order with an unknown host", {"enable": ["remote"], "remote": {"big": good}, "order": ["remote:small"]}, "remote:small")):
        status, out, err = remote(write("wrong.json", json.dumps(text), 0o644), "true")
        tell(status == 125 and word in err and "geheim" not in err, "a wrong document is refused by name: " + name, (status, err))
    status, out, err = remote(write("off.json", "{}", 0o644), "true")
    tell(status == 125 and "disabled" in err, "a host that nobody enabled is refused", (status, err))
    status, out, err = warder("run", "--backends", document("other.json", {"small": good}), "--backend", "remote:smal", "--", "true")
    tell(status == 125 and "remote:small" in err, "an unknown host is refused with a suggestion", (status, err))


def tokens(url):
    link = os.path.join(work, "link")
    os.symlink(TOKEN, link)
    secret = open(TOKEN).read().strip()
    cases = [("a link", link, "symbolic link"), ("a readable file", write("open", secret, 0o644), "chmod 600"), ("two lines", write("two", "a\nb\n"), "one line"),
             ("an empty file", write("empty", ""), "one line"), ("no file", os.path.join(work, "none"), "No such file"), ("a directory", work, "regular")]
    if ROOT:
        cases.append(("another user's file", write("others", secret), "another user"))
        os.chown(cases[-1][1], 1234, 1234)
    for name, path, word in cases:
        status, out, err = remote(document("token.json", {"big": entry(url, path)}), "true")
        tell(status == 125 and word in err and secret not in err, "a token file is refused: " + name, (status, err))
    wrong = write("wrong-token", "e2b_" + "0" * 40)
    status, out, err = remote(document("token.json", {"big": entry(url, wrong)}), "true")
    tell(status == 125 and "does not accept the token" in err and "000" not in err, "a wrong token is named, and not shown", (status, err))


# ---- servers that are no host ----

CAPABILITIES = None


class Evil(http.server.BaseHTTPRequestHandler):
    """What it does is in the server's `how`."""

    def log_message(self, *words):
        pass

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for header in headers:
            self.send_header(*header)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def signed(self, call, request, text):
        """The answer with a signature of this server's key; of what the case says."""
        how, key = self.server.how, EVIL_KEY
        if not text.endswith(b"}") or how == "unsigned":
            return self.answer(200, text)
        said = statement("run" if how == "of another call" else call, b"another" if how == "of another request" else request, text)
        value = sign(said)
        if how == "changed":
            text = text.replace(b"namespaceJail", b"namespaceJaiL")
        if how == "with another key":
            key = KEY
        if how == "too long":
            value += b"A" * 400
        more = b',"x":1' if how == "more behind the signature" else b""
        return self.answer(200, text[:-1] + b',"signature":{"key":"%s","value":"%s"}%s}' % (key.encode(), base64.b64encode(value), more))

    def do_GET(self):
        self.server.asked.append(("GET", self.path.split("?")[0], dict(self.headers)))
        nonce = self.path.partition("nonce=")[2].encode()
        how = self.server.how
        if "/sandboxes/" in self.path:
            return self.about_sandbox()
        if how == "redirect":
            return self.answer(302, b"", [("Location", "http://127.0.0.1:%d/stolen" % self.server.server_address[1])])
        if how == "busy once":
            self.server.how = "good"
            return self.answer(429, b'{"kind": "unavailable", "message": "busy"}')
        if how == "slow":
            return time.sleep(40 * SLOW)
        if how == "long":
            return self.answer(200, b" " * (2 << 20))
        if how == "headers":
            return self.answer(200, b"{}", [("X-Long-%d" % i, "y" * 1000) for i in range(90)])
        if how == "endless":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b" " * 65536)
            except OSError:
                return None
        if how == "nothing":
            return self.answer(200, b"")
        if how == "text":
            return self.answer(200, b"<html>")
        if how == "types":
            return self.signed("capabilities", nonce, json.dumps(dict(CAPABILITIES, controls=[])).encode())
        if how == "weak":
            controls = {name: row for name, row in CAPABILITIES["controls"].items() if name != "syscalls"}
            return self.signed("capabilities", nonce, json.dumps(dict(CAPABILITIES, controls=controls)).encode())
        if how == "escape":
            controls = dict(CAPABILITIES["controls"], syscalls={"enforced": False, "reason": "\x1b]0;owned\x07"})
            return self.signed("capabilities", nonce, json.dumps(dict(CAPABILITIES, controls=controls)).encode())
        return self.signed("capabilities", nonce, json.dumps(CAPABILITIES).encode())

    def about_sandbox(self):
        """A sandbox as it may be, with the answer of the case in its place."""
        lies = self.server.sandbox
        kind = ("terminal" if "/terminal?" in self.path else "piece" if self.path.endswith("/code") else "contexts" if self.path.endswith("/contexts") else "list" if self.command == "GET" and self.path.endswith("/executions") else "input" if self.path.endswith("/input") else "signal" if self.path.endswith("/signal") else "sandbox" if self.path == "/v1/sandboxes" else "output" if "/output" in self.path else "directory" if "/directories" in self.path else
                "execution" if self.path.endswith("/executions") else "timeout" if self.path.endswith("/timeout") else "result" if "/executions/" in self.path else "other")
        good = {"sandbox": b'{"id": "abc1", "state": "running"}', "execution": b'{"id": "0123456789abcdef"}',
                "result": json.dumps(dict(RESULT, stdout={"bytesTotal": 0}, stderr={"bytesTotal": 0})).encode(), "output": b"", "directory": b"[]", "contexts": b"[]", "piece": b"", "timeout": b"{}", "other": b"{}", "terminal": b"{}", "list": b"[]", "input": b"{}", "signal": b"{}"}
        text = lies.get(kind, good[kind])
        if callable(text):
            return text(self)
        if text is None:
            return self.answer(307, b"", [("Location", "http://127.0.0.1:%d/stolen" % self.server.server_address[1])])
        if kind == "result":
            words = self.path.replace("?", "/").replace("=", "/").split("/")
            return self.signed("execution", " ".join((words[3], words[5], words[-1])).encode(), text)
        return self.answer(201 if kind in ("sandbox", "execution") else 200, text)

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(("PUT", self.path, dict(self.headers)))
        self.answer(204, b"")

    def do_DELETE(self):
        self.server.asked.append(("DELETE", self.path, dict(self.headers)))
        self.answer(204, b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/v1/sandboxes"):
            self.server.asked.append(("POST", self.path, dict(self.headers), body))
            return self.about_sandbox()
        self.server.asked.append(("POST", self.path, json.loads(body)))
        raw = body
        how = self.server.how
        if how == "dies":
            self.connection.shutdown(socket.SHUT_RDWR)
            return None
        if how == "half":
            self.send_response(200)
            self.send_header("Content-Length", "5000")
            self.end_headers()
            self.wfile.write(b'{"status": "succ')
            return self.connection.shutdown(socket.SHUT_RDWR)
        if how == "elsewhere":
            return self.answer(307, b"", [("Location", "http://127.0.0.1:%d/stolen" % self.server.server_address[1])])
        if how == "huge":
            return self.answer(200, b" " * (17 << 20))
        if how == "waits":
            time.sleep(30 * SLOW)
            return None
        if how == "refuses":
            return self.answer(403, json.dumps({"code": 403, "kind": "rejected", "field": "limits.memory", "message": "no\x1b[31m red"}).encode())
        result = json.loads(json.dumps(RESULT))
        change = {"cause": {"cause": "luck"}, "code": {"exitCode": 70000}, "stream": {"stdout": {"text": 5}}, "total": {"stdout": {"text": "abc", "bytesTotal": 1}},
                  "receipt": {"receipt": None}, "status": {"receipt": {"isolation": "namespaceJail", "controls": [{"control": "x", "status": "superb"}]}},
                  "rows": {"receipt": {"isolation": "namespaceJail", "controls": [{"control": "x%d" % i, "status": "enforced"} for i in range(300)]}},
                  "signal": {"signal": "SIGWHAT"}, "base64": {"stdout": {"base64": "!!", "bytesTotal": 1}}}
        result.update(change.get(how, {}))
        result.update(getattr(self.server, "code", {}))
        if how == "array":
            result = [1]
        if how == "without a run":
            result = {"language": "python"}
        if how == "unsigned result":
            return self.answer(200, json.dumps(result).encode())
        return self.signed(self.path.rsplit("/", 1)[1], b"another" if how == "result of another" else raw, json.dumps(result).encode())


RESULT = None


def make_key():
    """A key of a server that is no host."""
    path = os.path.join(work, "evil-key.pem")
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", path], check=True, capture_output=True)
    public = subprocess.run(["openssl", "pkey", "-in", path, "-pubout", "-outform", "DER"], check=True, capture_output=True).stdout
    return "ed25519:" + base64.b64encode(public[-32:]).decode()


def sign(text):
    with tempfile.NamedTemporaryFile(dir=work) as said:
        said.write(text)
        said.flush()
        return subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", os.path.join(work, "evil-key.pem"), "-rawin", "-in", said.name], check=True, capture_output=True).stdout


def serve(how, context=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    server.handle_error = lambda *words: None  # a client that hangs up
    server.daemon_threads = True
    server.how, server.asked = how, []
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def evil(how, *words, flags=(), context=None, **more):
    server = serve(how, context)
    url = "http%s://127.0.0.1:%d" % ("s" if context else "", server.server_address[1])
    begun = time.time()
    done = remote(document("evil.json", {"big": entry(url, **dict({"hostKey": EVIL_KEY}, **more))}), *(words or ("true",)), flags=PREFER + list(flags))
    server.shutdown()
    server.server_close()
    return done, server.asked, time.time() - begun


def hostile():
    for how, word in (("redirect", "redirects are not followed"), ("long", "1 MiB"), ("headers", "64 KiB"), ("endless", "1 MiB"), ("nothing", "remote:big"),
                      ("text", "remote:big"), ("types", "controls"), ("weak", "says nothing about it"), ("escape", "owned")):
        (status, out, err), asked, took = evil(how)
        tell(status == 125 and word in err and "\x1b" not in err and [one[:2] for one in asked] == [("GET", "/v1/capabilities")],
             "a host is refused before anything is sent to it: " + how, (status, err, asked))
    for how, word in (("unsigned", "not signed"), ("of another call", "signature"), ("of another request", "signature"), ("changed", "signature"),
                      ("with another key", "it may be another host"), ("too long", "not signed"), ("more behind the signature", "not signed")):
        (status, out, err), asked, took = evil(how)
        tell(status == 125 and word in err and [one[:2] for one in asked] == [("GET", "/v1/capabilities")],
             "a host that cannot sign is refused before anything is sent to it: " + how, (status, err, asked))
    (status, out, err), asked, took = evil("slow")
    tell(status == 125 and "Timeout" in err and took < 30 * SLOW, "a host that does not answer is given up", (status, err, took))
    for how, word in (("dies", "remote:big"), ("half", "remote:big"), ("elsewhere", "redirect"), ("huge", "16 MiB"), ("cause", '"cause"'), ("code", '"exitCode"'),
                      ("stream", '"stdout"'), ("total", '"stdout"'), ("receipt", '"receipt"'), ("status", "status of a control"), ("rows", "number of controls"),
                      ("signal", '"signal"'), ("base64", '"stdout"'), ("without a run", '"cause"'), ("array", "not signed"), ("unsigned result", "not signed"), ("result of another", "signature")):
        (status, out, err), asked, took = evil(how)
        tell(status == 137 and word in err and "not known" in err and [one[:2] for one in asked] == [("GET", "/v1/capabilities"), ("POST", "/v1/run")],
             "an answer that is none ends with the cause host: " + how, (status, err, asked))
    (status, out, err), asked, took = evil("dies", flags=["--json"])
    data = json.loads(out)
    tell(data["cause"] == "host" and data["exitCode"] is None and data["receipt"]["controls"] == [] and "not known" in data["detail"],
         "and its result in JSON says so", out)
    (status, out, err), asked, took = evil("refuses")
    tell(status == 125 and "\x1b" not in err and "red" in err, "a refusal is shown without control characters", (status, err))
    (status, out, err), asked, took = evil("good", "sh", "-c", "echo $KEEP", flags=["--env", "KEEP=1"])
    sent = asked[-1][2]
    token = open(TOKEN).read().strip()
    tell(status == 0 and asked[0][2].get("X-API-Key") == token and token not in json.dumps(sent) and sent["env"] == {"KEEP": "1"} and
         sent["policy"]["environment"]["set"] == {}, "the token is in one header, and the variables in one member", (status, err, asked))


def secrecy(path):
    """While a run waits, nothing of a process shows the token."""
    server = serve("waits")
    evil_path = document("waits.json", {"big": entry("http://127.0.0.1:%d" % server.server_address[1], hostKey=EVIL_KEY)})
    process = subprocess.Popen([WARDER, "run", "--backends", evil_path, "--backend", "remote:big"] + PREFER + ["--", "true"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, http_proxy="http://127.0.0.1:1", HTTP_PROXY="http://127.0.0.1:1"))
    until(lambda: len(server.asked) >= 2)
    tell(len(server.asked) == 2, "no proxy of the environment is used", server.asked)
    token = open(TOKEN).read().strip().encode()
    children = open("/proc/%d/task/%d/children" % (process.pid, process.pid)).read().split()
    seen = [open("/proc/%s/%s" % (pid, name), "rb").read() for pid in children + [str(process.pid)] for name in ("cmdline", "environ")
            if ROOT or pid == str(process.pid)]
    tell(len(children) == 1 and not any(token in text for text in seen), "the token is in no argument and no variable", children)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60 * SLOW)
    tell(process.returncode == 143 and token not in err and not os.path.exists("/proc/" + children[0]), "a signal ends the request, and warder-remote with it",
         (process.returncode, err))
    server.shutdown()
    process = subprocess.Popen([WARDER, "run", "--backends", evil_path, "--backend", "remote:big"] + PREFER + ["--", "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.3)
    process.kill()
    process.wait()


def make_certificate():
    """What a server with TLS needs, and the file with its certificate; or None."""
    key, certificate = os.path.join(work, "key.pem"), os.path.join(work, "cert.pem")
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=host",
                           "-addext", "subjectAltName=IP:127.0.0.1"], capture_output=True)
    if made.returncode:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate


def certificates():
    made = make_certificate()
    if not made:
        skip("certificates", "openssl makes no certificate")
        return
    context, certificate = made
    (status, out, err), asked, took = evil("good", context=context)
    tell(status == 125 and "remote:big" in err and not asked, "a certificate that nobody vouches for is refused", (status, err, asked))
    (status, out, err), asked, took = evil("good", context=context, caFile=certificate)
    tell(status == 0 and len(asked) == 2, "caFile names who vouches for it", (status, err, asked))


# ---- a host that dies ----

def vanishes(host, path):
    program = "25.%d" % os.getpid()
    process = subprocess.Popen([WARDER, "run", "--backends", path, "--backend", "remote:big", "--json"] + PREFER + ["--", "sleep", program], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: not subprocess.run(["pgrep", "-fx", "sleep " + program], stdout=subprocess.DEVNULL).returncode)
    host.end(signal.SIGKILL)
    out, err = process.communicate(timeout=60 * SLOW)
    data = json.loads(out)
    tell(process.returncode == 137 and data["cause"] == "host" and "not known" in data["detail"], "a host that is killed during a run: the result says what is unknown",
         (process.returncode, out, err))
    status, out, err = remote(path, "true", flags=PREFER)
    tell(status == 125 and "connect" in err and "not known" not in err, "and afterwards nothing is sent", (status, err))
    host.start()
    status, out, err = remote(path, "echo", "again", flags=PREFER)
    tell(status == 0 and out == b"again\n", "and the next host serves", (status, err))


def ends_with_client(host, path):
    program = "27.%d" % os.getpid()
    process = subprocess.Popen([WARDER, "run", "--backends", path, "--backend", "remote:big"] + PREFER + ["--", "sleep", program], stdin=subprocess.DEVNULL)

    def sleeps():
        found = 0
        for pid in os.listdir("/proc"):
            try:
                found += pid.isdigit() and open("/proc/%s/cmdline" % pid, "rb").read() == b"sleep\0%s\0" % program.encode()
            except OSError:
                pass
        return found
    until(sleeps)
    begun = sleeps()
    process.kill()
    process.wait()
    until(lambda: not sleeps())
    tell(begun == 1 and sleeps() == 0, "a program whose client was killed ends on the host", (begun, sleeps()))


own_run_directory()
host = Host()
TOKEN = write("token", host.tenant("add", "me") + "\n")
CAPABILITIES = json.loads(asked(host, "/v1/capabilities"))
tell(CAPABILITIES["isolation"] == "namespaceJail" and CAPABILITIES["controls"]["syscalls"]["enforced"], "a host says what it can enforce", CAPABILITIES)
KEY = json.loads(asked(host, "/v1/host"))["hostKey"]
EVIL_KEY = make_key()
path = document("backends.json", {"big": entry(host.url)})
RESULT = json.loads(remote(path, "echo", "result", flags=PREFER + ["--json"])[1])
for row in RESULT["receipt"]["controls"]:
    row["status"] = row.pop("reported")
parts = ((signatures, host), (trust, host), (same, path), (results, path), (refusals, path), (pieces, path), (lying_about_code,), (sessions, path, host), (contexts, path, host),
         (lying_about_contexts,), (interrupted, path, host), (adopted, path, host), (recovered, path, host), (terminals, path, host), (flooded_terminals, path, host), (slow_terminals,), (lying_about_terminals,), (theirs.detached, path, host), (theirs.detached_terminals, path, host), (theirs.restarted, path, host), (theirs.endless_output,), (theirs.small_frames,), (theirs.begin_to_read,), (theirs.busy_hosts,), (theirs.lying_about_executions,), (theirs.end_reading,), (theirs.unfinished_handshakes,), (copied, path, host), (workspaces, host), (copied_trees, path, host), (lying_about_copies,), (lying_about_errors,), (lying_about_trees,), (damaged, path, host), (unlisted, path), (silent,), (signed_results, path, host), (signed_outputs, path, host), (lying_about_sessions,), (unreachable, host, path), (choices, path, host), (documents,),
         (tokens, host.url), (hostile,), (secrecy, path), (certificates,), (ends_with_client, host, path), (vanishes, host, path))
for part, *args in parts:
    if not sys.argv[1:] or part.__name__ in sys.argv[1:]:
        part(*args)
host.end()
finish()
