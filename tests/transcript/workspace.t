# warder workspace: directories that stay between runs.

= the same id is the same workspace, another id is another, also one that looks alike when it is made safe
+ export WARDER_STORE=$PWD/store
$ a=$(warder workspace create 'a/b'); test "$a" = "$(warder workspace create a/b)" && echo same; b=$(warder workspace create a_b); test "$a" != "$b" && echo other; ls "$a" "$a/work"; grep '"version": 1' "$a/metadata.json"
| same
| other
|~ /store/workspaces/a_b-[0-9a-f]{32}/files:$
| metadata.json
| out
| runs
| skills
| work
|
|~ /files/work:$
| inputs
|   "version": 1,

= create makes deleted directories again
+ export WARDER_STORE=$PWD/store; p=$(warder workspace create job); rm -r "$p/work" "$p/out" "$p/metadata.json"
$ p=$(warder workspace create job); ls "$p"; rm -r "$p"; warder workspace create job | sed "s|$PWD||"; ls "$p"
| metadata.json
| out
| runs
| skills
| work
|~ ^/store/workspaces/job-[0-9a-f]*/files$
| metadata.json
| out
| runs
| skills
| work

= files: modes, parents, empty ones, byte by byte
+ export WARDER_STORE=$PWD/store; warder workspace create job > /dev/null; printf 'a\0\377b' > bin; : > empty
$ umask 077; warder workspace put job bin=deep/er/bin empty; warder workspace write job x.sh --mode 755 < empty; warder workspace read job deep/er/bin | od -An -c; warder workspace list job | grep -v -e metadata -e ' work' -e runs -e skills -e out
|    a  \0 377   b
| d 0755            0 deep
| d 0755            0 deep/er
| - 0644            4 deep/er/bin
| - 0644            0 empty
| - 0755            0 x.sh

= every path is one of the workspace
+ export WARDER_STORE=$PWD/store; p=$(warder workspace create job); ln -s /etc "$p/l"; ln -s /etc/passwd "$p/p"; ln -s work "$p/inner"; echo x > x
$ for path in '' ' ' . .. ../x a/../../x /etc/x '\x' C:x l/x; do warder workspace put job x="$path"; done; warder workspace read job p; warder workspace read job l/passwd; warder workspace read job work; warder workspace read job gone
!~ is empty
!~ is empty
!~ is the workspace itself
!~ path traversal
!~ path traversal
!~ path traversal
!~ is absolute
!~ is absolute
!~ drive letter
!~ "l".* leads out of its directory
!~ "p" leads out of its directory
!~ "l/passwd" leads out of its directory
!~ "work" is not a regular file
!~ cannot open "gone"
? 125

= a link in the tree is followed, and one at the end replaced
+ export WARDER_STORE=$PWD/store; p=$(warder workspace create job); ln -s work "$p/inner"; ln -s /etc/passwd "$p/p"; echo new > x
$ warder workspace put job x=inner/x x=p; p=$(warder workspace create job); cat "$p/work/x" "$p/p"; grep -c root: /etc/passwd
| new
| new
| 1

= no such workspace; removing it is no error
+ export WARDER_STORE=$PWD/store
$ warder workspace read gone x; warder workspace remove gone; echo $?; warder workspace create gone > /dev/null; warder workspace remove gone; warder workspace list
! warder: there is no workspace "gone"; "warder workspace list" lists them
| 0

= an id is text
+ export WARDER_STORE=$PWD/store
$ warder workspace create $'a\nb'; warder workspace create "$(printf %300s x)"; warder workspace create $'\377'
!~ has a control character in it
!~ is longer than 255 bytes
!~ is not UTF-8
? 125

= a removal that fails leaves a workspace that can be removed again
needs unshare user
+ export WARDER_STORE=$PWD/store; p=$(warder workspace create job); mkdir "$p/busy"
+ cat > inside <<'END'
+ mount -t tmpfs none "$1/busy" && warder workspace remove job
+ warder workspace list | wc -l
+ END
$ p=$(warder workspace create job); unshare -m sh inside "$p"; warder workspace remove job; warder workspace list | wc -l
!~ cannot be removed altogether; remove it again when that is mended: Invalid cross-device link
| 1
| 0

= a patch is applied as a whole
needs limits place git
+ export WARDER_STORE=$PWD/store; warder workspace create job > /dev/null; printf 'one\ntwo\n' | warder workspace write job a.txt --mode 600; printf 'x' | warder workspace write job b.txt
+ cat > p <<'END'
+ diff --git a/a.txt b/a.txt
+ --- a/a.txt
+ +++ b/a.txt
+ @@ -1,2 +1,3 @@
+  one
+ +and a half
+  two
+ --- a/b.txt
+ +++ /dev/null
+ @@ -1 +0,0 @@
+ -x
+ \ No newline at end of file
+ diff --git a/n/c.sh b/n/c.sh
+ new file mode 100755
+ --- /dev/null
+ +++ b/n/c.sh
+ @@ -0,0 +1 @@
+ +#!/bin/sh
+ \ No newline at end of file
+ END
$ warder workspace patch job p --check --json; warder workspace patch job p; warder workspace read job a.txt; warder workspace read job n/c.sh; echo; warder workspace list job --flat | grep -e txt; warder workspace list job n | grep c.sh
| [{"change":"M","path":"a.txt"},{"change":"D","path":"b.txt"},{"change":"A","path":"n/c.sh","mode":"100755"}]
| M a.txt
| D b.txt
| A n/c.sh (mode 100755)
| one
| and a half
| two
| #!/bin/sh
| - 0600           19 a.txt
| - 0755            9 n/c.sh

= all that git diff writes: modes, empty files, renames, copies, links, hunks that have moved
needs limits place git
+ export WARDER_STORE=$PWD/store; p=$(warder workspace create job); git init -q r; (cd r; git config user.name x; git config user.email x; seq 9 > many; seq 100 130 > old; echo go > run.sh; : > empty; : > other; printf 'a\0b' > bin; git add .; git commit -qm 1)
+ (cd r; tar c --exclude .git .) | tar xC store/workspaces/job-*/files; (echo first; seq 9) > store/workspaces/job-*/files/many
+ (cd r; seq 8 > many; echo 10 >> many; git mv old 'new name'; cp 'new name' copy; echo 131 >> copy; chmod +x run.sh; rm empty; mkdir d; git mv other d/nothing; : > d/new; ln -s many link; printf 'a\0c' > bin; git add -A; git diff --cached -C --binary HEAD -- . ':!empty' ':!d/new'; git diff --cached --no-renames HEAD -- empty d/new) > p
$ warder workspace patch job p; warder workspace patch job p; cd r; for f in $(git ls-files | grep -v -e name -e link); do cmp $f ../store/workspaces/job-*/files/$f; done; head -n 1 ../store/workspaces/job-*/files/many
| M bin
| C copy (from old)
| A d/new
| R d/nothing (from other)
| D empty
| A link (mode 120000)
| M many (hunk 1 at line 7, offset 1)
| R new name (from old)
| M run.sh (mode 100755)
!~ ^warder: git cannot apply it: .*bin.*; nothing was changed$
|~ ^many .*many differ
| first

= or not at all
needs limits place git
+ export WARDER_STORE=$PWD/store; p=$(warder workspace create job); printf 'one\n' | warder workspace write job a; printf 'two\n' | warder workspace write job b; ln -s /etc "$p/l"
+ cat > patch <<'END'
+ printf -- "$@" | warder workspace patch job
+ END
+ echo '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+1\n' > A
$ A=$(cat A); patch() { sh patch "$@"; }; patch "$A"'--- a/b\n+++ b/b\n@@ -1 +1 @@\n-wrong\n+2\n'; patch "$A"'--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+2\n'; patch "$A"'--- a/c\n+++ b/c\n@@ -1 +1 @@\n-two\n+2\n'; patch "$A"'--- a/b\n+++ b/b\n@@ -1,2 +1 @@\n-two\n+2\n'; patch "$A"'--- a/../../b\n+++ b/../../b\n@@ -1 +1 @@\n-two\n+2\n'; patch "$A"'--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+2\n'; patch "$A"'--- /dev/null\n+++ b/.git/config\n@@ -0,0 +1 @@\n+2\n'; patch 'hello\n'; printf -- '--- /dev/null\n+++ /etc/x\n@@ -0,0 +1 @@\n+2\n' | warder workspace patch job --strip 0; warder workspace read job a; warder workspace read job b; cd store/workspaces/job-*; ls -A; ls -A files
!~ patch failed: b:1; b: patch does not apply; nothing was changed
!~ b: already exists in working directory; nothing was changed
!~ c: No such file or directory
!~ corrupt patch at line 11
!~ \.\./\.\./b: No such file or directory
!~ affected file 'l/x' is beyond a symbolic link
!~ invalid path '.git/config'
!~ No valid patches in input
!~ invalid path '/etc/x'
| one
| two
| files
| metadata.json
| metadata.lock
|*

= without git, a patch is refused with the remedy
needs limits place power
+ export WARDER_STORE=$PWD/store; p=$(warder workspace create job); printf 'one\n' | warder workspace write job a; printf -- '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+1\n' > p
$ mkdir u w; unshare -m sh -c 'mount -t overlay -o lowerdir=/usr/bin,upperdir=$PWD/u,workdir=$PWD/w none /usr/bin && rm /usr/bin/git && warder workspace patch job p'; warder workspace read job a
!~ git is not on this host; install it
| one

= collect: patterns, limits, and files that are not output
+ export WARDER_STORE=$PWD/store; p=$(warder workspace create job); cd "$p"; mkdir out/d; printf abc > out/a; printf def > out/b.txt; printf gh > out/d/.c; ln -s /etc/passwd out/evil; ln -s b.txt out/link; cd - > /dev/null
$ warder workspace collect job '$OUTPUT_DIR/*' out/a '${WORKSPACE_DIR}/out/**'; warder workspace collect job 'out/*' --max-files 1; warder workspace collect job 'out/*' --max-size 3B --json; warder workspace collect job out/b.txt --max-file-size 2B --json; echo $?; warder workspace collect job out/b.txt --max-file-size 2B
|            3 out/a
|            3 out/b.txt
|            2 out/d/.c
|            3 out/link
! warder: 1 left out: no regular file in the workspace
|            3 out/a
! warder: this is not all: a limit was reached, or a directory lies too deep, or is closed to you
| {"files":[{"path":"out/a","size":3,"contentType":"text/plain; charset=utf-8","truncated":false,"content":"abc","encoding":"utf-8"}],"limitsHit":true,"outside":0}
| {"files":[{"path":"out/b.txt","size":3,"contentType":"text/plain","truncated":true,"content":"de","encoding":"utf-8"}],"limitsHit":true,"outside":0}
! warder: this is not all: a limit was reached, or a directory lies too deep, or is closed to you
! warder: 1 cut off at a limit (--max-file-size, --max-size)
! warder: this is not all: a limit was reached, or a directory lies too deep, or is closed to you
| 1
|            3 out/b.txt (cut off)
! warder: 1 cut off at a limit (--max-file-size, --max-size)
! warder: this is not all: a limit was reached, or a directory lies too deep, or is closed to you
? 1

= an invalid pattern, and the name of a directory, are refused
+ export WARDER_STORE=$PWD/store; warder workspace create job > /dev/null; echo x | warder workspace write job out/d/f
$ for p in '$RUN_DIR/*' '$FOO/x' out/d out/d/ '$OUTPUT_DIR' '[$]x'; do warder workspace collect job "$p"; done; echo y | warder workspace write job trail/; warder workspace list job trail
!~ ^warder: "\$RUN_DIR/\*" names the directory of one run
!~ ^warder: "\$FOO/x" begins with an unknown variable; known: \$WORKSPACE_DIR
! warder: "out/d" is a directory; write out/d/** for all that is in it
! warder: "out/d/" is a directory; write out/d/** for all that is in it
! warder: "$OUTPUT_DIR" is a directory; write $OUTPUT_DIR/** for all that is in it
! warder: "trail/" names a directory; write the name of a file behind it
!~ trail
? 125

= patterns that lead out of the workspace are reported
+ export WARDER_STORE=$PWD/store; warder workspace create job > /dev/null
$ warder workspace collect job '../*'; warder workspace collect job /etc/passwd; warder workspace collect job 'nothing*'; echo $?
!~ path traversal
!~ is absolute
| 0

= binary content, byte by byte
+ export WARDER_STORE=$PWD/store; warder workspace create job > /dev/null; printf '\211PNG\r\n\032\n\0\377' | warder workspace write job out/i; mkdir to
$ warder workspace collect job 'out/*' --json; warder workspace collect job 'out/*' --to to; od -An -tx1 to/out/i; warder workspace collect job 'out/*' --save > /dev/null; warder artifact read out/i | od -An -tx1
| {"files":[{"path":"out/i","size":10,"contentType":"image/png","truncated":false,"base64":"iVBORw0KGgoA/w==","encoding":"base64"}],"limitsHit":false,"outside":0}
|           10 out/i
|  89 50 4e 47 0d 0a 1a 0a 00 ff
|  89 50 4e 47 0d 0a 1a 0a 00 ff

= saved as artifacts, in versions; nothing is saved that would be cut off
+ export WARDER_STORE=$PWD/store; warder workspace create job > /dev/null; echo one | warder workspace write job out/a.txt; echo second | warder workspace write job out/b.txt
$ cd store; warder workspace collect job out/a.txt --name-template run-1/; warder workspace collect job out/a.txt --name-template run-1/; warder workspace collect job 'out/*' --save --strict --max-file-size 4B; warder artifact list | cut -d' ' -f1-12,14-; warder workspace show job | grep -A3 -e saved_as -e '"versions"' | grep -v -e saved -e versions | head -n 2
|            4 out/a.txt run-1/out/a.txt@1
|            4 out/a.txt run-1/out/a.txt@2
!~ out/b.txt would be cut off by a limit; nothing is saved
|            4 run-1/out/a.txt@1 text/plain
|            4 run-1/out/a.txt@2 text/plain
|*

= inputs: where they come from, where they go
+ export WARDER_STORE=$PWD/store; warder workspace create job > /dev/null; mkdir -p data/sub; echo host > data/f; echo sub > data/sub/g; echo v1 | warder artifact save ref.txt > /dev/null; echo v2 | warder artifact save ref.txt > /dev/null; echo own | warder workspace write job out/own.txt
$ warder workspace stage job host://$PWD/data; warder workspace stage job workspace://out/own.txt --to work/copy.txt; warder workspace stage job artifact://ref.txt@1; warder workspace stage job artifact://ref.txt --pin --json | cut -d, -f2-5; warder workspace stage job artifact://ref.txt; for f in data/sub/g ref.txt; do warder workspace read job work/inputs/$f; done; warder workspace read job work/copy.txt; warder workspace stage job host://$PWD/data --to skills/s --read-only; warder workspace stage job skill://s/f --to s.f; warder workspace read job s.f; warder workspace show job | grep -A3 '"name"' | cut -c1-40
| work/inputs/data
| work/copy.txt
| work/inputs/ref.txt
| "dst":"work/inputs/ref.txt","resolved":"artifact://ref.txt@1","version":1,"mode":"copy"
| work/inputs/ref.txt
| sub
| v2
| own
| skills/s
| s.f
| host
|~ "name": "s"
|~ "rel_path": "skills/s"
|~ "digest": "[0-9a-f]{20}
|*

= invalid inputs are refused
+ export WARDER_STORE=$PWD/store; warder workspace create job > /dev/null; ln -s /etc l; mkfifo p; echo x | warder workspace write job work/x
$ warder workspace stage job ftp://x/y; warder workspace stage job x; warder workspace stage job workspace://../../etc/passwd; warder workspace stage job skill://../x; warder workspace stage job host://$PWD/l/passwd; warder workspace stage job host://$PWD/p; warder workspace stage job host://relative; warder workspace stage job host:///gone; warder workspace stage job artifact://gone; warder workspace stage job artifact://a@x; warder workspace stage job host:///etc/passwd --to ../x; warder workspace stage job host:///etc/passwd --to work/x; for from in git+ssh://git@example.org/x git+http://example.org/x git+https://a:b@example.org/x git+https://-oProxyCommand=x/y git+https://10.1.2.3/x git+https://example.org/ 'git+https://example.org/x#--upload-pack=y'; do warder workspace stage job "$from"; done
!~ the scheme "ftp" is unknown
!~ has no scheme
!~ path traversal
!~ path traversal
!~ is or leads through a symbolic link; name the place itself
!~ is neither a file nor a directory
!~ is not absolute
!~ cannot open "/gone"
!~ there is no artifact gone
!~ names no version
!~ path traversal
!~ there is something at work/x that was not staged
!~ cannot be fetched: only git.https:// is
!~ cannot be fetched: only git.https:// is
!~ has credentials in it
!~ has a host that begins with -
!~ is an address
!~ has no repository behind its host
!~ has no branch or tag
? 125

= run: variables, working directory, a new directory for each run
needs limits place
+ export WARDER_STORE=$PWD/store; warder workspace create job > /dev/null
$ warder workspace run job -- sh -c 'pwd; echo $WORKSPACE_DIR $SKILLS_DIR $WORK_DIR $OUTPUT_DIR; echo run > $RUN_DIR/f; echo out > $OUTPUT_DIR/f; ls /proc/self/fd | wc -l'; warder workspace run job --cwd work/new --env WORK_DIR=mine --memory 64MiB -- sh -c 'pwd; echo $WORK_DIR'; warder workspace run job -- sh -c 'ls runs | wc -l'; warder workspace collect job 'out/*' 'runs/*/f' | cut -c1-27; warder workspace run job -- sh -c 'exit 7'
| /workspace
| /workspace /workspace/skills /workspace/work /workspace/out
| 4
| /workspace/work/new
| mine
| 3
|            4 out/f
|~ ^ +4 runs/run_[0-9T]+
? 7

= run: a working directory that leads out
+ export WARDER_STORE=$PWD/store; p=$(warder workspace create job); ln -s /etc "$p/l"
$ for cwd in /etc ../.. l work/../..; do warder workspace run job --cwd $cwd -- true; done; warder workspace run job true; warder workspace run gone -- true
!~ is absolute
!~ path traversal
!~ "l" leads out
!~ is the workspace itself|path traversal
!~ the program is missing
!~ there is no workspace "gone"
? 125

= a program cannot change its read-only inputs
needs limits place
+ export WARDER_STORE=$PWD/store; warder workspace create job > /dev/null; mkdir data; echo host > data/f; echo x > x
+ warder workspace stage job host://$PWD/data --link > /dev/null; warder workspace stage job host://$PWD/x --read-only > /dev/null
$ warder workspace run job -- sh -c 'cd work/inputs; cat data/f x; for f in data/f x data/new; do echo no 2> /dev/null > $f || echo refused; done; chmod 777 x 2> /dev/null || echo refused; rm -rf data x 2> /dev/null || echo refused; mv ../inputs ../moved 2> /dev/null || echo refused'; warder workspace run job -- cat work/inputs/x work/inputs/data/f; cat data/f x; warder workspace read job work/inputs/data/f; warder workspace list job work/inputs; ln -sf /etc/passwd store/workspaces/job-*/files/work/inputs/x; warder workspace run job -- cat work/inputs/x
| host
| x
| refused
| refused
| refused
| refused
| refused
| refused
| x
| host
| host
| x
| host
| d 0755            0 work/inputs/data
| - 0644            0 work/inputs/x
!~ a program has put something else at "work/inputs/x"
? 125

= a link is mounted or refused, never copied
$ warder workspace create job > /dev/null; echo x | warder workspace write job w/x; mkdir s; echo y > s/y; warder workspace stage job host://$PWD/s --to skills/s
> for from in workspace://w/x skill://s/y artifact://a git+file:///r; do warder workspace stage job $from --link --to work/inputs/l || echo $?; done; warder workspace list job work/inputs | grep -c inputs/l
| skills/s
| 125
| 125
| 125
| 125
| 0
! warder: workspace://w/x: --link mounts a file or directory of the host, and takes only host:///PATH; with --read-only instead, a copy is mounted that no program can change
!~ ^warder: skill://s/y: --link mounts
!~ ^warder: artifact://a: --link mounts
!~ ^warder: git[+]file:///r: --link mounts
? 1

= read-only inputs cannot be changed: not through the parent directory, not through another run, not from outside by mistake
needs limits place
+ p=$(warder workspace create job); echo host > x; echo two > y; mkdir data; echo data > data/f
+ warder workspace run job -- sh -c 'touch started; until [ -e go ]; do sleep 0.05; done' & echo
+ until [ -e store/workspaces/job-*/files/started ]; do sleep 0.05; done
$ p=$(warder workspace create job); warder workspace stage job host://$PWD/x --read-only; warder workspace stage job host://$PWD/data --to skills/s --link; warder workspace stage job host://$PWD/y; touch "$p/go"; wait; until warder workspace stage job host://$PWD/x --read-only 2> /dev/null; do sleep 0.05; done; warder workspace stage job host://$PWD/data --to skills/s --link
> warder workspace run job -- sh -c 'for d in work work/inputs skills; do mv $d moved 2> /dev/null || echo stays; done; rm -f work/inputs/x 2> /dev/null || echo stays; echo mine > work/inputs/new; ln -s ../work out/l; cat work/inputs/x skills/s/f'
> for f in work/inputs/x out/l/inputs/x skills/s/f skills; do echo no | warder workspace write job $f; done; warder workspace put job y=work/inputs/x; printf -- '--- a/work/inputs/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-host\n' | warder workspace patch job; warder workspace read job work/inputs/x; warder workspace stage job host://$PWD/y --to work/inputs/x; echo yes | warder workspace write job work/inputs/x; warder workspace run job -- cat work/inputs/x
!~ a program runs in job
!~ a program runs in job
| work/inputs/y
| work/inputs/x
| skills/s
| stays
| stays
| stays
| stays
| host
| data
! warder: "work/inputs/x" is, or leads to, the read-only input work/inputs/x; stage another one there
! warder: "work/inputs/x" is, or leads to, the read-only input work/inputs/x; stage another one there
! warder: "skills/s/f" is, or leads to, the read-only input skills/s; stage another one there
! warder: "skills" is, or leads to, the read-only input skills/s; stage another one there
! warder: "work/inputs/x" is, or leads to, the read-only input work/inputs/x; stage another one there
!~ work/inputs/x
| host
| work/inputs/x
| yes

= odd leftovers of a program are reported, repaired, and removed
needs limits place python3
+ warder workspace create job > /dev/null
+ warder workspace run job -- python3 -c 'import os;os.chdir("/workspace/out");[(os.mkdir("d"),os.chdir("d")) for _ in range(1300)];open("f","w")'
$ warder workspace collect job 'out/**' --json; warder workspace collect job 'out/**' --save --strict; warder workspace list job | wc -l; warder workspace run job -- sh -c 'rm -rf skills work/inputs; echo x > skills; echo y > work/inputs'; warder workspace run job -- sh -c 'cat moved-* | sort; chmod 0 out work; ls'; warder workspace run job -- sh -c 'cd work/inputs'; warder workspace remove job; ls -A store/workspaces | wc -l
| {"files":[],"limitsHit":true,"outside":0}
|~ ^13[0-9]$
| x
| y
| metadata.json
|~ moved-[0-9a-f]{16}
|~ moved-[0-9a-f]{16}
| out
| runs
| skills
| work
| 0
! warder: this is not all: a limit was reached, or a directory lies too deep, or is closed to you
!~ closed to you, or too much matches; nothing is saved
!~ this is not all: a directory lies too deep
!~ moved skills, which is not a directory, to moved-[0-9a-f]{16}; work/inputs, which is not a directory, to moved-[0-9a-f]{16}

= odd names are reported, the others are saved, and the caller's files stay
+ p=$(warder workspace create job); echo a > $p/out/a; echo b > $p/out/$'nl\nx'; echo c > $p/out/$'\377'; echo d > $p/out/z; mkdir -p to/out; echo mine > to/out/z
$ warder workspace collect job 'out/*' --save; warder workspace collect job 'out/*' --save --strict; warder artifact list --json | grep -o '"name":"[^"]*"'; warder workspace collect job 'out/*' --json | grep -o '"pathBase64":"[^"]*"'; warder workspace list job out --json | grep -o '"pathBase64":"[^"]*"'; warder workspace collect job 'out/*' --to to; ls to/out; cat to/out/z; rm to/out/z; warder workspace collect job out/z --to to; cat to/out/z; ls -A to
|            2 out/a out/a@1
|            2 out/nl?x (no artifact can have this name; it is not saved)
|            2 out/z out/z@1
|            2 out/? (no artifact can have this name; it is not saved)
| "name":"out/a"
| "name":"out/z"
| "pathBase64":"b3V0L/8="
| "pathBase64":"b3V0L/8="
| z
| mine
|            2 out/z
| d
| out
!~ has a control character in it; nothing is saved
! warder: "out/z" is there already; remove it, or name another directory

= refused: limits of 0, another workspace, pipes; list changes nothing
+ warder workspace create job; mkfifo pipe; mkdir -p other/workspaces/.new-mine other/workspaces/.gone-0123456789abcdef; chmod 700 other/workspaces
$ for f in --max-size --max-file-size; do warder workspace collect job '**' $f 0; done; warder workspace run job --workspace /etc:rw -- true; warder workspace run job --workspace=/etc -- true; timeout 20 warder workspace put job pipe; timeout 20 warder artifact save pipe pipe; warder workspace list --store $PWD/other; ls -A other/workspaces; warder workspace create --store $PWD/other a > /dev/null; ls -A other/workspaces | cut -c1-9
| .gone-0123456789abcdef
| .new-mine
| .new-mine
| a-ca97811
! warder: --max-size is 1 byte or more
! warder: --max-file-size is 1 byte or more
!~ --workspace cannot be given here
!~ --workspace cannot be given here
! warder: pipe is not a regular file; to read from a pipe, use standard input
! warder: pipe is not a regular file; to read from a pipe, use standard input

= a repository of the host is cloned in a jail
needs limits place git
+ export WARDER_STORE=$PWD/store; warder workspace create job > /dev/null
+ git init -q -b main r; cd r; git config user.name n; git config user.email e; echo one > f; git add f; git commit -qm one; git checkout -q -b other; echo two > f; git commit -qam two; git checkout -q main
+ printf '#!/bin/sh\ntouch %s/hooked\n' "$OLDPWD" > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; git config core.fsmonitor "touch $OLDPWD/hooked"; git config uploadpack.packObjectsHook "touch $OLDPWD/hooked"; cd ..
$ warder workspace stage job git+file://$PWD/r; warder workspace read job work/inputs/r/f; warder workspace stage job "git+file://$PWD/r#other" --to src --read-only; warder workspace read job src/f; warder workspace run job -- cat src/f; ls; warder workspace stage job "git+file://$PWD/r#none"; warder workspace stage job "git+file://$PWD/r#--upload-pack=x"; warder workspace stage job git+file://$PWD/store; warder workspace list job --flat | grep -c new
| work/inputs/r
| one
| src
| two
| two
| r
| store
!~ cannot be cloned: git says
!~ has no branch or tag
!~ cannot be cloned: git says
| 0
? 1

= a workspace is not removed while something runs in it
needs limits place
+ export WARDER_STORE=$PWD/store; warder workspace create job > /dev/null
+ warder workspace run job -- sh -c 'touch started; until [ -e go ]; do sleep 0.05; done; echo done > out/f' & p=$(warder workspace create job)
+ until [ -e "$p/started" ]; do sleep 0.05; done
$ p=$(warder workspace create job); warder workspace remove job; warder workspace remove job --wait & touch "$p/go"; wait; warder workspace list
!~ "job" is in use

= the help names the commands that work on another machine, as their refusal does
$ warder workspace --help | grep -A 1 -e --backend; warder workspace patch job --backend remote:big; echo $?
| With --backend remote:NAME, the commands create, run, list, put, write, read, stage, collect
| and remove use a workspace on that host; "man warder-workspace" says more.
! warder: patch works with workspaces on this machine only; on another machine, a workspace has create, run, list, put, write, read, stage, collect and remove
| 125

= the value of a flag is not taken for the id of a workspace on another machine, nor for the command
$ warder workspace create --backend remote:big --backends none.json --memory 64MiB; warder workspace create --backends none.json job --backend remote:big; warder workspace --backends none.json --backend remote:big create; warder workspace --prefer all run --backend remote:big -- true
! warder: the id of the workspace is missing: warder workspace create ID --backend remote:big
!~ none.json: No such file or directory$
! warder: the id of the workspace is missing: warder workspace create ID --backend remote:big
! warder: the id of the workspace is missing: warder workspace run ID --backend remote:big
? 125
