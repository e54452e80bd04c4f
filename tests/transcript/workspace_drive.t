# A workspace from its manifest to its end: `warder workspace provision` and `drive`.
needs limits

= provision makes files, directories and inputs, or no workspace
+ mkdir in; echo data > in/table
+ cat > manifest <<END
+ {"workspace": "job", "entries": [
+   {"type": "file", "path": "work/run.sh", "content": "#!/bin/sh\necho ran\n", "mode": "755"},
+   {"type": "file", "path": "work/bytes", "contentBase64": "AAEC"},
+   {"type": "directory", "path": "work/deep/er"},
+   {"type": "input", "from": "host://$PWD/in", "path": "work/in", "readOnly": true}]}
+ END
+ echo '{"entries": [{"type": "file", "path": "a", "content": "x"}, {"type": "file", "path": "../b", "content": "x"}]}' > bad
$ warder workspace provision manifest | cut -d' ' -f1; warder workspace list job | awk '{ print $1, $2, $NF }' | grep 'work/\(run\|bytes\|deep\|in/\)'; warder workspace read job work/bytes | od -An -tx1; warder workspace provision manifest; warder workspace provision bad; warder workspace list | wc -l
| job
| - 0644 work/bytes
| d 0755 work/deep
| d 0755 work/deep/er
| - 0755 work/run.sh
|  00 01 02
| 1
!~ ^warder: there is a workspace job already; .*
!~ ^warder: entries\[1\]: .*

= a repository becomes a directory
needs git
+ git init -q repo; cd repo; git config user.email a@b; git config user.name a; echo cloned > readme; git add .; git commit -qm one; cd ..
+ echo "{\"entries\": [{\"type\": \"git_repo\", \"url\": \"file://$PWD/repo\", \"path\": \"work/repo\"}]}" > manifest
$ warder workspace drive manifest -- cat work/repo/readme
| cloned

= drive runs the program in the workspace, and leaves nothing behind
+ echo '{"entries": [{"type": "file", "path": "in.txt", "content": "hello"}], "setup": ["echo set > /tmp/up"], "timeout": "1m"}' > manifest
$ warder workspace drive manifest -- sh -c 'pwd; cat in.txt /tmp/up; echo err >&2; echo made > out/made; exit 3'; echo $?; warder workspace list | wc -l; warder session list | grep -c drive-
| /workspace
| helloset
| 3
| 0
| 0
! err
? 1

= a snapshot, a workspace that stays, and the document
+ echo '{"workspace": "job"}' > manifest
$ id=$(warder workspace drive --snapshot manifest -- sh -c 'echo made > out/made'); echo $id | cut -c1-5; warder workspace list | wc -l; warder workspace resume $id again > /dev/null; warder workspace read again out/made; warder workspace drive --keep-workspace --json manifest -- sh -c 'echo one; exit 2' > result; echo $?; python3 -c '
> import json; r = json.load(open("result")); print(r["workspace"], r["kept"], r["snapshot"], r["error"], r["cleanupErrors"], r["result"]["exitCode"], r["result"]["stdout"]["text"])'; warder workspace list | awk '{ print $1 }' | sort
| snap-
| 0
| made
| 2
| job True None None [] 2 one
| 
| again
| job

= a failed start still removes the workspace, and runs nothing
+ echo '{"setup": ["exit 4"]}' > manifest
$ warder workspace drive manifest -- echo never; echo $?; warder workspace list | wc -l; warder workspace drive --json manifest -- echo never | grep -o '"error":{"stage":"[a-z]*","component":"[a-z]*","category":"[a-zA-Z]*","code":"[a-zA-Z]*"'
| 125
| 0
| "error":{"stage":"start","component":"session","category":"executionFailed","code":"startFailed"
!~ ^warder: start: set-up command 1 \("exit 4"\) failed: .*

= the error of the execution comes first, later ones are cleanup errors, and a workspace without its snapshot stays
+ echo '{"workspace": "job"}' > manifest; mkdir -p store; echo file > store/snapshots
$ warder workspace drive --snapshot --json manifest -- false > result; echo $?; python3 -c '
> import json; r = json.load(open("result")); print(r["error"], [e["stage"] for e in r["cleanupErrors"]], r["kept"], r["result"]["exitCode"])'; warder workspace remove job; warder workspace drive --snapshot --json manifest -- true > result; echo $?; python3 -c '
> import json; r = json.load(open("result")); print(r["error"]["stage"], r["cleanupErrors"])'; warder workspace remove job; warder workspace drive --snapshot manifest -- /nowhere; echo $?
| 1
| None ['snapshot'] True 1
| 125
| snapshot []
| 125
!~ ^warder: execution: .*/nowhere.*
!~ ^warder: snapshot: .*snapshots.*

= the time of the manifest ends the program; a signal ends everything
+ echo '{"timeout": "1s"}' > manifest; echo '{"policy": {"version": 1, "limits": {"wallTime": "60s", "disk": "unlimited", "fileSize": "64MiB"}}}' > long
$ warder workspace drive manifest -- sleep 60 2> err; echo $?; warder workspace drive long -- sh -c 'echo begun > out/begun; sleep 60' & for i in $(seq 300); do ls store/workspaces/*/files/out/begun > /dev/null 2>&1 && break; sleep 0.1; done; kill -TERM $!; wait $!; echo $?; warder workspace list | wc -l; warder session list | grep -c drive-
| 137
| 143
| 0
| 0
! warder: the program ended: cancelled
? 1

= packages are installed in the workspace before the set-up, from its files or from an index that the policy reaches
needs python3 npm
+ python3 - <<END
+ import base64, io, json, tarfile, zipfile
+ wheel = io.BytesIO()
+ with zipfile.ZipFile(wheel, "w") as z:
+     for name, text in (("small.py", "word = 'installed'\n"), ("small-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n"),
+                        ("small-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"), ("small-1.0.dist-info/RECORD", "")):
+         z.writestr(name, text)
+ package = io.BytesIO()
+ with tarfile.open(fileobj=package, mode="w:gz") as t:
+     for name, text in (("package/package.json", '{"name": "tiny", "version": "1.0.0", "main": "tiny.js"}'), ("package/tiny.js", "module.exports = 'too';\n")):
+         row = tarfile.TarInfo(name); row.size = len(text); t.addfile(row, io.BytesIO(text.encode()))
+ files = [{"type": "file", "path": path, "contentBase64": base64.b64encode(data.getvalue()).decode()}
+          for path, data in (("work/small-1.0-py3-none-any.whl", wheel), ("work/tiny.tgz", package))]
+ policy = {"version": 1, "limits": {"wallTime": "300s", "disk": "unlimited", "memory": "1GiB"}, "environment": {"set": {"PYTHONPATH": "/srv/own"}}, "filesystem": {"workspace": "readWrite"}, "syscalls": {"profile": "default", "allow": ["flock"]}}
+ both = {"pip": ["./work/small-1.0-py3-none-any.whl"], "npm": ["./work/tiny.tgz"]}
+ json.dump({"entries": files, "policy": policy, "packages": both, "setup": ["test -e node_modules/tiny/tiny.js && echo before > up"]}, open("both", "w"))
+ json.dump({"packages": {"pip": ["./work/gone-1.0-py3-none-any.whl"]}, "policy": policy}, open("gone", "w"))
+ json.dump({"packages": {"pip": ["six==1.16.0"]}}, open("index", "w"))
+ END
$ warder workspace drive both -- sh -c 'python3 -c "import small; print(small.word)"; node -p "require(\"tiny\")"; cat up; echo $PYTHONPATH'; warder workspace drive gone -- echo never 2> err; echo $? $(grep -c '^warder: start: ' err); warder workspace drive index -- echo never; echo $?; warder workspace list | wc -l
| installed
| too
| before
| /workspace/.python:/srv/own
| 125 1
| 125
| 0
! warder: start: the package six==1.16.0 is fetched from an index, and the manifest's policy has no network; allow the index, such as "network": {"mode": "allow", "allow": [{"host": "@pypi"}]}, or put the file into the workspace and name it "./FILE"

= a package is a name or a file of the workspace, never a flag, a URL, a repository, another path or a word of the shell
$ for p in '"-r"' '"--index-url=x"' '"http://a/b.whl"' "\"a'b\"" '"a b"' '"/etc/x.whl"' '"./../x.whl"' '"$(id)"' '""' '"evil/repo"' '"six@evil/repo"' '"@a/b/c"' '"@a/b@c/d"' '"@a@b/c"' '"~/x"' '"."' '".x"' '"six@.x"' 1; do echo "{\"packages\": {\"pip\": [\"six\", $p]}}" > m; warder workspace drive m -- echo never 2>&1 | cut -c1-45; done | uniq -c | sed 's/^ *//'; for m in '[]' '{"cargo": []}' '{"npm": "x"}'; do echo "{\"packages\": $m}" > m; warder workspace drive m -- echo never; done
| 19 warder: the manifest's packages.pip[1] is not
? 125
! warder: the manifest's packages is not an object with the members pip and npm
! warder: the manifest's packages.cargo is not known; Warder knows pip and npm, and `setup` runs others
! warder: the manifest's packages.npm is not a list of at most 200 packages

= wrong manifests name the member
$ w() { echo "$1" > m; warder workspace drive m -- true; }; w '[]'; w '{"entry": []}'; w '{"entries": [{"type": "pipe"}]}'; w '{"entries": [{"type": "file", "path": "a"}]}'; w '{"entries": [{"type": "directory", "path": "a", "content": "x"}]}'; w '{"timeout": 0}'; w '{"policy": "none"}'; w '{"setup": "x"}'; echo '{}' > m; warder workspace drive m; warder workspace list | wc -l
| 0
! warder: a manifest is a JSON object
! warder: the manifest's entry is not known
! warder: the manifest's entries[0] has none of the types file, directory, git_repo and input
! warder: the manifest's entries[0].content is missing: give content or contentBase64
! warder: the manifest's entries[0].content is not known for an entry of this type
! warder: the manifest's timeout is not a time such as "10m"
!~ ^warder: start: .*none.*
! warder: the manifest's setup is not a list of commands
! warder: the program is missing; write "warder workspace drive [FLAG...] MANIFEST -- PROGRAM [ARGUMENT...]"

= the URL of a repository begins with https:// or file:///, and nothing in it is a flag of git
$ for u in -x --upload-pack=id ssh://a/b file://relative; do echo "{\"entries\": [{\"type\": \"git_repo\", \"url\": \"$u\", \"path\": \"src\"}]}"; done > all; echo '{"entries": [{"type": "git_repo", "url": "https://-x/y", "path": "src"}]}' >> all; while read -r m; do echo "$m" > m; warder workspace provision m 2>&1; done < all | uniq -c | sed 's/^ *//'; warder workspace list | wc -l
| 4 warder: the manifest's entries[0].url is neither https://HOST/PATH nor file:///PATH; clone another repository yourself, and give its directory as file:///PATH
| 1 warder: entries[0]: "git+https://-x/y" has a host that begins with -
| 0
