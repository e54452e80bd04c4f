# warder blocks: code out of the text of a model.

= where each block stands, and its language
$ printf 'a\n```python\nprint(1)\n```\nb\n```bash\necho hi\n```\n' | warder blocks
|~ ^2-24 python$
|~ ^27-46 bash$

= the code of one, byte by byte
$ printf 'a\n```python\n  print(1) \n```\n' | warder blocks --code 1 | tr ' ' _
| __print(1)_

= the code of all of a language, in any case
$ printf '```python\nx = 1\n```\n~~~bash\nls\n~~~\n```Python\nprint(x)\n```\n' | warder blocks --language PYTHON --extract
| x = 1
| print(x)

= a language by any of its names
$ printf '```py\n1\n```\n```tool_code\n2\n```\n```js\n3\n```\n```cobol\n4\n```\n' > a; warder blocks a; warder blocks --language python3 a; warder blocks --language Cobol a; warder blocks --language python --code 2 --json a; warder blocks --language javascript --json a
| 0-11 python
| 12-30 python
| 31-42 javascript
| 43-57 cobol
| 0-11 python
| 12-30 python
| 43-57 cobol
|~ "message":"give one of
| {"blocks":[{"language":"js","canonical":"javascript","code":"3","encoding":"utf-8","start":31,"end":42,"closed":true}],"unclosed":null}

= languages of the operator's own
+ echo '{"languages":[{"name":"cobol","aliases":["cob"],"file":"main.cob","run":["cobc","{source}"]}]}' > more.json
$ printf '```cob\n1\n```' | warder blocks --languages more.json --language cobol
| 0-12 cobol

= a file
+ printf '```js\r\n1\r\n```\r\n' > answer.md
$ warder blocks answer.md; warder blocks --code 1 - < answer.md
| 0-13 javascript
| 1

= a block without a language, and none at all
$ printf '```\nplain\n```' | warder blocks; printf 'no code' | warder blocks
| 0-13 -

= in a list item, in a block quote, behind a byte order mark
$ printf '1. Step:\n\n   ```python\n   if x:\n       y()\n   ```\n\n> ```bash\n> ls\n> ```\n' > nested; warder blocks nested; warder blocks --extract nested; printf '\357\273\277```{python}\n1\n```\n```js:app.js\n2\n```\n' | warder blocks
| 13-49 python
| 53-71 bash
| if x:
|     y()
| ls
| 3-20 python
| 21-39 javascript

= the text up to the end of the first block
$ printf 'a\n```py\n1\n```\nThe result is 7.\n```sh\nls\n```\n' > a; warder blocks --until-first a; warder blocks --until-first --language sh a | tail -n 2; printf 'none' | warder blocks --until-first; warder blocks --until-first --extract a
| a
| ```py
| 1
| ```
| ls
| ```
| none
!~ ^warder: --code: give one of|give one of --code
? 125

= delimiters that were agreed on
$ printf 'a [python print(1)] b <run_bash>ls</run>' | warder blocks --delimiters '[python ' ']' --delimiters '<run_bash>' '</run>' --json
|~ ^\{"blocks":\[\{"language":"python",.*"code":"print\(1\)","encoding":"utf-8","start":2,"end":19,"closed":true\},\{"language":".*bash",.*"code":"ls",.*\],"unclosed":null\}$

= only the agreed delimiters count
$ printf '```js\n1\n```\n```tool_code\n2\n```\n' | warder blocks --no-fences --delimiters $'```tool_code\n' $'\n```' --extract
| 2

= a block that is to be ignored
$ printf '```\n# example\nrm x\n```\n```\nls\n```\n' | warder blocks --ignore '# example' --extract
| ls

= a block that is not closed is reported
$ printf 'a\n```python\nprint(1)\n' | warder blocks
! warder: the block that begins at byte 2 is not closed; --unclosed includes it

= with --unclosed, a block that is not closed is included
$ printf 'a\n```python\nprint(1)\n' | warder blocks --unclosed --json
|~ "code":"print\(1\)","encoding":"utf-8","start":2,"end":21,"closed":false\}\],"unclosed":2\}$

= code that is not text
$ printf '```\na\200\n```' | warder blocks --json
| {"blocks":[{"language":"","canonical":null,"base64":"YYA=","encoding":"base64","start":0,"end":10,"closed":true}],"unclosed":null}

= a language does not reach the terminal as it is
$ printf '```a\033[31mb\n```' | warder blocks
| 0-14 a?[31mb

= no such block
$ printf '```\n1\n```' | warder blocks --code 2
! warder: there is no block 2; found: 1
? 125

= refused
$ warder blocks --delimiters a < /dev/null; warder blocks --delimiters '' b < /dev/null; warder blocks --code 0 < /dev/null; warder blocks --code 1 --json < /dev/null; warder blocks --no-fences < /dev/null; warder blocks a b; warder blocks no-such
! warder: --delimiters needs two values: --delimiters START END
! warder: --delimiters b: the start is empty; give the text that stands there
! warder: --code 0: give a number from 1 to 10000
|~ "message":"give one of --code, --extract, --until-first and --json"
! warder: there is nothing to look for; give --delimiters, too
! warder: b is one file too many; give one
! warder: cannot read no-such: No such file or directory
? 125

= more text than is looked through
$ head -c 16777217 /dev/zero | warder blocks
! warder: - is larger than 16 MiB
? 125

= nowhere to write
$ printf '```\n1\n```' | warder blocks > /dev/full
! warder: standard output cannot be written: No space left on device
? 125

= the blocks of an answer are executed in order, also after one that fails
needs limits python3
$ printf 'a\n```python\nprint(1)\n```\n```cobol\nx\n```\n```bash\n \t\n```\n```bash\nprintf 2; echo oops >&2; exit 3\n```\n```\nplain\n```\n```python\n# example\nprint(9)\n```\n```py\nprint(int("3"))\n```\n' > a; warder blocks --run --ignore '# example' a
| 1
| 23
!~ ^warder: Execution block 2 failed: "cobol" is not a language that Warder knows; 
! oops
! warder: Execution block 4 failed: exit status 3
!~ ^warder: Execution block 5 failed: the code's language is not certain 
? 1

= a block that does not compile, and one that is killed, do not stop the next one
needs limits gcc
$ printf '```c\nint main(\n```\n```bash\nkill -9 $$\n```\n```bash\necho 3\n```\n' | warder blocks --run 2> err; echo $?; grep -c 'error: expected' err; grep Execution err
| 3
| 1
| 1
| warder: Execution block 1 failed: the code does not compile
| warder: Execution block 2 failed: ended by SIGKILL

= one result of all blocks, which format reads
needs limits python3
$ printf '```bash\necho 1\n```\n```bash\necho no >&2; echo x > made; exit 4\n```\n```bash\nls; echo 3\n```\n' > a; warder blocks --run --json a > j; echo $?; python3 -c 'import json; j = json.load(open("j")); print(j["status"], j["outcome"], j["exitCode"], j["stdout"], j["stderr"]); print([(b["block"], b["language"], b["result"]["exitCode"], [f["name"] for f in b["result"]["artifacts"]]) for b in j["blocks"]])'; warder format --as inline j; warder blocks --run --json a --language sh
| 1
| failed FAILED 1 {'text': '1\nmain.sh\n3\n', 'encoding': 'utf-8'} {'text': 'Execution block 2 failed: exit status 4\nno\n', 'encoding': 'utf-8'}
| [(1, 'bash', 0, []), (2, 'bash', 4, ['made']), (3, 'bash', 0, [])]
|*

= one timeout is the end of time of the whole, and the next block still runs
needs limits python3
< 20
$ printf '```bash\necho 1\n```\n```bash\nsleep 60\n```\n```bash\necho 3\n```\n' > a; warder blocks --run --timeout 1s a; echo $?; warder blocks --run --timeout 1s --json a > j; echo $?; warder format --as text --json j | grep -o DEADLINE_EXCEEDED; grep -o '"outcome":"[A-Z_]*"' j; printf '```bash\necho 1\n```' | warder blocks --run --json | grep -o '"outcome":"OK"'
| 1
| 3
| 124
| 124
| DEADLINE_EXCEEDED
| "outcome":"DEADLINE_EXCEEDED"
| "outcome":"OK"
! warder: Execution block 2 failed: the time is over (limits.wallTime)

= flags of the execution need --run; too many blocks are refused before the first runs
$ printf '```bash\necho 1\n```\n' > a; warder blocks --timeout 1s a; warder blocks --prefer limits a; warder blocks --run --extract a; for i in $(seq 101); do cat a; done > b; warder blocks --run b; warder blocks --run --policy - a; warder blocks --run --memory x a
!~ ^warder: --timeout needs --run$
!~ ^warder: --prefer needs --run$
!~ give one of --run, --code, --extract and --until-first$
!~ --run executes at most 100 blocks, and there are 101; 
!~ --policy -: each block reads the policy again; name a file$
!~ --memory
? 125

= output of executed blocks that its reader does not take is reported; a reader that goes away, and a full disk, end as with run
needs limits python3
+ printf '```bash\necho hi\n```\n' > text.md; mkfifo f
$ exec 9<>f; head -c 65536 /dev/zero >&9; warder blocks --run --timeout 1s text.md >&9; echo $?; warder blocks --run text.md > /dev/full; echo $?; python3 -c 'import os, signal, subprocess; r, w = os.pipe(); os.close(r); print(subprocess.run(["warder", "blocks", "--run", "text.md"], stdout=w).returncode)'
| 1
| 137
| 141
! warder: stdout: 3 of 3 bytes were dropped: the reader did not take them in time
! warder: Execution block 1 failed: the program's output cannot be written: No space left on device
