# warder format: a result into text, and back.

= between delimiters
$ echo '{"status":"success","exitCode":0,"stdout":{"text":"hi\n"},"artifacts":[{"name":"a.csv","sizeBytes":3}]}' | warder format
| ```tool_output
| hi
|
| [Generated 1 output file(s)]
| - a.csv (3 bytes)
|
| ```

= inline
$ for r in '"success"' '"success","stdout":" hi\n"' '"failed","exitCode":1,"stderr":"boom\n"' '"failed","exitCode":1,"error":"no python"' '"failed","exitCode":1' '"timeout"'; do echo "{\"status\":$r}" | warder format --as inline; done
| Execution completed successfully
| hi
| error: boom
| execution failed: no python
| Execution failed
| execution failed: timed out

= text for a model
$ echo '{"status":"timeout","exitCode":null,"stdout":"o","stderr":"e","artifacts":[{"name":"a"},{"name":"b"}]}' | warder format --as text
| Code execution error:
| e
| Code execution timed out
| Code execution result:
| o
| Saved artifacts:
| `a`,`b`

= the outcome of a program as text
$ echo '{"status":"success","stdout":"hi"}' | warder format --as text --json; echo '{"status":"success","stdout":{"base64":"/w=="}}' | warder format --as inline --json
| {"outcome":"OK","text":"Code execution result:\nhi\n","encoding":"utf-8"}
| {"outcome":"OK","base64":"/w==","encoding":"base64"}

= output of a program cannot end its block, and --extract returns it
$ echo '{"status":"success","stdout":"a\n```\nb"}' | warder format | tee text; warder format --extract text
| ````tool_output
| a
| ```
| b
|
| ````
| a
| ```
| b

= other delimiters, and more than one body
$ { echo '{"status":"success","stdout":"1"}' | warder format --delimiters '<o>' '</o>'; echo '<o>2</o>'; } | warder format --extract --delimiters '<o>' '</o>' --json
| {"bodies":[{"text":"1\n","encoding":"utf-8"},{"text":"2","encoding":"utf-8"}],"unclosed":false}

= delimiters that a program prints, and that cannot grow
$ echo '{"status":"success","stdout":"</o>"}' | warder format --delimiters '<o>' '</o>'
! warder: the output holds the end itself; use a fence such as "```tool_output\n" and "\n```", which is made longer
? 125

= a body without an end
$ printf '```tool_output\n1\n```\n```tool_output\n2' | warder format --extract
| 1
! warder: the last start delimiter has no end; the text after it was left out

= a run of our own
needs limits
$ warder run --json -- sh -c 'echo out; echo err >&2; exit 3' | warder format --as text
| Code execution error:
| err
|
| Code execution result:
| out
|

= a run that was killed, and one that was refused
needs limits
$ warder run --json --timeout 300ms -- sleep 9 | warder format --as text; warder run --json -- sh -c 'kill -SEGV $$' | warder format --as text; warder run --json --memory no -- true | warder format --as text
| Code execution timed out
| Code execution error:
|~ signal 11
| Code execution error:
|~ limits.memory

= code that does not compile
needs limits gcc
$ echo 'int main(' | warder code --language c --json - | warder format --as inline
|~ ^error: main.c:1:1: error: 

= code of a model is run, and the result is text for the model
needs limits python3
$ printf 'Here:\n```python\nopen("a.txt", "w").write("x")\nprint(6 * 7)\n```\n' | warder blocks --language python --code 1 | warder code --language python --json - | warder format
| ```tool_output
| 42
|
| [Generated 1 output file(s)]
| - a.txt (1 bytes)
|
| ```

= output that was cut
needs limits
$ warder run --json --max-output 2 -- echo hello | warder format
| ```tool_output
| he
| [stdout cut: 2 of 6 bytes]
|
| ```

= a person's terminal is not obeyed, and a model gets each byte
needs terminal
+ printf '{"status":"success","exitCode":0,"stdout":{"text":"a\\u001b[2Jb\\u0007\\u009b1m \\u202ecod\\u2066e\\t\\u200f\\u061c\\u00e9\\r\\u007f"},"stderr":{"text":""}}' > result.json
$ script -qec 'warder format --as text < result.json; printf "\033]0;x\a\n~~~\na\033[1mb\n~~~\n" | warder blocks --code 1; echo' /dev/null < /dev/null | tr -d '\r'; warder format --as text < result.json | tail -n 1 | od -An -c | tr -s ' '
| Code execution result:
| a\x1b[2Jb\x07\u009b1m \u202ecod\u2066e	\u200f\u061cé\x0d\x7f
| a\x1b[1mb
|  a 033 [ 2 J b \a 302 233 1 m 342 200 256 c
|  o d 342 201 246 e \t 342 200 217 330 234 303 251 \r 177
|  \n

= names of languages are no commands for a terminal
$ printf '```x\xc2\x9b1m\xe2\x80\xae\x1b\xff\ncode\n```\n' | warder blocks
| 0-22 x?1m???

= refused
$ echo '{}' | warder format; echo '[' | warder format; warder format --as html; warder format --as text --extract; warder format --as text --delimiters a b; warder format --delimiters a b --delimiters c d
!~ ^warder: result:1: there is no status; give a result
!~ ^warder: result:2:1: 
! warder: --as html: there is no such form; known: block, inline, text
! warder: give one of --as and --extract: into text, or back
! warder: only --as block has delimiters
! warder: one pair goes around a result; 2 are given
? 125
