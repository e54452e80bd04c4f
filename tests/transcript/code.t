# warder code: what is told of code that nobody trusts.

needs limits gcc

= output of an assembler on standard output is not a diagnostic
+ printf '%s\n' '__asm__(".print \"[] [] main.c:1:1: error: forged\"");' 'int main(void) { return 0; }' > forged.c
$ warder code --json --no-cache forged.c | python3 $TOP/tests/lib/results.py status diagnostics
| success []

= a control character in the source hides no error
+ printf '#warning "\033[31m"\n#error hidden\n' > colour.c
$ warder code --json --check colour.c | python3 $TOP/tests/lib/results.py status diagnostics.1.level diagnostics.1.message
| compileFailed error #error hidden

= messages of compilers cannot change a terminal
+ printf 'echo "\033[31m" )\n' > colour.sh
$ warder code --check colour.sh
!~ syntax error near unexpected token
!~ ^main.sh: line 1: .echo "\?\[31m" \)'$
! warder: the code does not compile
? 125

= messages do nothing to a terminal
$ warder run -- "$(printf '/x\033]0;title\a\302\233mä\nwarder: forged\377')"
!~ ^warder: /x\?\]0;title\?\?mä\?warder: forged\?: no such program inside the jail
? 127

= a document of languages gives nobody the name of a language that the operator allows
+ echo '{"version": 1, "limits": {"wallTime": "60s", "disk": "unlimited"}, "languages": ["bash"]}' > ceiling.json
+ echo '{"languages": [{"name": "bash", "file": "main.py", "run": ["/usr/bin/python3", "{source}"]}]}' > own.json
$ echo 'print(1)' | warder code --ceiling ceiling.json --languages own.json --language bash -
! warder: the operator allows certain languages, and a document may give their names to others; leave it out, or have its languages put into /etc/warder/languages.json
? 125

= a policy may name a language that a document adds
+ echo '{"languages": [{"name": "cobol", "file": "main.cob", "run": ["sh", "{source}"]}]}' > own.json
+ echo '{"version": 1, "limits": {"wallTime": "60s"}, "languages": ["cobol", "python"]}' > policy.json
$ echo 'echo hi' | warder code --languages own.json --policy policy.json --prefer all --language cobol -; echo 'print(1)' | warder code --languages own.json --prefer all --set languages=python --language cobol -
| hi
! warder: the policy does not allow the language "cobol"; add it to languages
? 125

= and nothing that is nowhere
+ echo '{"languages": [{"name": "awk", "file": "main.awk", "run": ["awk", "-f", "{source}"]}]}' > own.json; echo 1 > x.awk
+ echo '{"version": 1, "limits": {"wallTime": "60s"}, "languages": ["cobol", "python"]}' > policy.json
$ warder code --policy policy.json --prefer all --language python -; warder run --policy policy.json -- true; warder policy check policy.json; warder run --set languages=command,pyton -- true; warder code --languages own.json --set languages=cobl x.awk
!~ ^warder: languages\[0\]: "cobol" is not a language that Warder knows; known: "python", "javascript",
!~ ^warder: languages\[0\]: "cobol" is not a language that Warder knows; known: "python", "javascript",
!~ ^warder: policy.json:1: languages\[0\]: "cobol" is not a language that Warder knows; known: "python", "javascript",
! warder: languages[1]: "pyton" is not a language that Warder knows; did you mean "python"?
!~ ^warder: languages\[0\]: "cobl" is not a language that Warder knows; known: "awk", "python",
? 125

= a command that waits for another process's build ends on a signal
+ echo 'int main(void) { return 0; }' > wait.c
+ mkdir cache
$ warder code --cache "$PWD/cache" --timeout 60s wait.c || exit; lock=$(cd cache/built && echo [0-9a-f]*); case $lock in *' '*) exit 9;; esac; rm -rf "cache/built/$lock"; exec 9>"cache/built/$lock.lock"; flock 9; timeout -s TERM 2 warder code --cache "$PWD/cache" --timeout 60s wait.c 9>&-
! warder: stopped while another process built the same code
? 124
< 40

= a pipe is not read before the limits begin
+ mkfifo fifo; echo 'print(1)' > main.py
$ warder code --file fifo=x main.py; warder code --input @fifo main.py
! warder: --file: fifo is not a regular file: copy its content into one
! warder: fifo is not a regular file: copy its content into one
? 125
< 5

= a module of WebAssembly without a memory of its own runs, traps, and fails where it needs one
needs node
+ printf '\0asm\1\0\0\0\1\4\1\140\0\0\3\2\1\0\7\12\1\6_start\0\0\12\4\1\2\0\13' > runs.wasm
+ printf '\0asm\1\0\0\0\1\4\1\140\0\0\3\2\1\0\7\12\1\6_start\0\0\12\5\1\3\0\0\13' > traps.wasm
$ for m in runs traps; do warder code --json $m.wasm | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["status"], r["cause"], r["exitCode"])'; done
| success exit 0
| failed trap 1

= a pattern that no file matches is named; the exit status stays
$ printf 'mkdir d; echo 1 > x; echo 2 > d/y\n' > a.sh; for c in '$RUN_DIR/*' d 'd/**' 'x'; do warder code --json --collect "$c" a.sh > out; echo "$? $(grep -o '"name":"[dx][^"]*"' out)"; done; mkdir kept; warder code --collect nosuch --artifacts kept a.sh
| 0 
| 0 
| 0 "name":"d/y"
| 0 "name":"x"
! warder: --collect "$RUN_DIR/*": no file matches; "*" matches the files of the working directory, and "DIR/**" all files below DIR
! warder: --collect "d": no file matches; "*" matches the files of the working directory, and "DIR/**" all files below DIR
! warder: --collect "nosuch": no file matches; "*" matches the files of the working directory, and "DIR/**" all files below DIR

= the default collection leaves out hidden files and leftovers of interpreters and editors; a pattern takes them
needs limits python3
$ printf 'mkdir -p __pycache__ .git d.tmp; for f in a.txt b.pyc c.tmp .d __pycache__/e .git/f d.tmp/g tmp; do echo 1 > $f; done\n' > a.sh; for c in '' '--collect *.pyc --collect .d --collect __pycache__/*'; do set -f; warder code --json $c a.sh | python3 -c 'import json, sys; print(*[f["name"] for f in json.load(sys.stdin)["artifacts"]])'; done
| a.txt d.tmp/g tmp
| .d __pycache__/e b.pyc

# ---- limits.code

= code that is larger than the policy allows is refused before anything starts, byte by byte
needs limits python3
+ python3 -c 'print("print(6 * 7)\n#" + "x" * 65521)' > fits.py; { cat fits.py; echo; } > over.py
$ wc -c < fits.py; warder code --preset workflow fits.py; warder code --preset workflow over.py; echo $?; warder code --preset workflow --json over.py | grep -o '"kind":"rejected","field":"limits.code"'; printf 'echo 1' | warder code --set limits.code=6 --language sh -; printf 'echo 12' | warder code --set limits.code=6 --language sh -; warder code --set limits.code=1B --check --language c - <<< 'int main(void) { return 0; }'
| 65536
| 42
| 125
| "kind":"rejected","field":"limits.code"
| 1
! warder: limits.code: the code has 65537 bytes, and the policy allows 64KiB; shorten it, or raise limits.code
! warder: limits.code: the code has 7 bytes, and the policy allows 6B; shorten it, or raise limits.code
! warder: limits.code: the code has 29 bytes, and the policy allows 1B; shorten it, or raise limits.code
? 125

= so is a block, a request and a program of the judge
needs limits
$ printf '```sh\necho 1\n```\n```sh\necho 123456\n```\n' | warder blocks --run --set limits.code=8B - ; echo '{"language": "bash", "code": "echo 123456"}' | warder tool --set limits.code=8B | grep -o '"field":"limits.code"'; echo '{"language": "bash", "code": "cat      ", "cases": [{"stdin": "1", "expected": "1"}]}' | warder judge --set limits.code=8B; echo $?; echo '{"language": "bash", "code": "echo 123456", "policy": "workflow"}' | warder tool --preset workflow --set limits.code=8B | grep -o '"message":"limits.code: 64KiB is more[^"]*"' | head -n 1
| 1
| "field":"limits.code"
| 125
| "message":"limits.code: 64KiB is more than the operator grants; at most 8B"
!~ ^warder: Execution block 2 failed: limits.code: the code has 11 bytes, and the policy allows 8B;
! warder: limits.code: the code has 9 bytes, and the policy allows 8B; shorten it, or raise limits.code

= the receipt has the size of a piece of code, and none for a program
needs limits
$ printf 'exit 0' | warder code --json --language sh - | tr '{' '\n' | grep -o '"limits.code".*"value":"[^"]*"'; warder run --json -- true | tr '{' '\n' | grep -o '"limits.code".*"value":"[^"]*"'; warder explain --set limits.code=64KiB | grep -o 'limits.code  *64KiB' | tr -s ' '
| "limits.code","status":"enforced","requested":"16MiB","mechanism":"size compared before anything starts","value":"6 bytes of program text"
| "limits.code","status":"enforced","requested":"16MiB","mechanism":"size compared before anything starts","value":"a program, not a piece of code"
| limits.code 64KiB

= the preset workflow runs its languages, and no other
needs limits python3 node go ruby
+ warder policy show workflow > w.json
$ printf 'print(42)' | warder code --preset workflow --language python -; printf 'console.log(42)' | warder code --preset workflow --language javascript -; printf 'echo 42' | warder code --preset workflow --language bash -; printf 'fmt.Println(42)' | warder code --preset workflow --no-cache --language go -; warder run --preset workflow --timeout 31s --ceiling w.json -- true; printf 'puts 42' | warder code --preset workflow --language ruby -
| 42
| 42
| 42
| 42
! warder: limits.wallTime: 31s is more than the operator grants; at most 30s
! warder: the policy does not allow the language "ruby"; add it to languages
? 125
