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

= delimiters that were agreed on
$ printf 'a [python print(1)] b <run_bash>ls</run>' | warder blocks --delimiters '[python ' ']' --delimiters '<run_bash>' '</run>' --json
|~ ^\{"blocks":\[\{"language":"python",.*"code":"print\(1\)","encoding":"utf-8","start":2,"end":19,"closed":true\},\{"language":".*bash",.*"code":"ls",.*\],"unclosed":null\}$

= only what was agreed on
$ printf '```js\n1\n```\n```tool_code\n2\n```\n' | warder blocks --no-fences --delimiters $'```tool_code\n' $'\n```' --extract
| 2

= a block that is to be ignored
$ printf '```\n# example\nrm x\n```\n```\nls\n```\n' | warder blocks --ignore '# example' --extract
| ls

= what is not closed is told
$ printf 'a\n```python\nprint(1)\n' | warder blocks
! warder: what begins at byte 2 is not closed; --unclosed makes a block of it

= what is not closed, where it is asked for
$ printf 'a\n```python\nprint(1)\n' | warder blocks --unclosed --json
|~ "code":"print\(1\)","encoding":"utf-8","start":2,"end":21,"closed":false\}\],"unclosed":2\}$

= code that is no text
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
! warder: --code 0: blocks are counted from 1 to 10000
|~ "message":"give one of --code, --extract and --json"
! warder: there is nothing to look for; give --delimiters, too
! warder: b is one file too many; flags stand before the file
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
