# warder code: what is told of code that nobody trusts.

needs limits gcc

= what an assembler prints on standard output is no diagnostic
+ printf '%s\n' '__asm__(".print \"[] [] main.c:1:1: error: forged\"");' 'int main(void) { return 0; }' > forged.c
$ warder code --json --no-cache forged.c | python3 $TOP/tests/lib/results.py status diagnostics
| success []

= a control character in the source hides no error
+ printf '#warning "\033[31m"\n#error hidden\n' > colour.c
$ warder code --json --check colour.c | python3 $TOP/tests/lib/results.py status diagnostics.1.level diagnostics.1.message
| compileFailed error #error hidden

= what compilers say does nothing to a terminal
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

= a policy may name what a document adds
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
!~ ^warder: languages\[0\]: "cobol" is no language that Warder knows; known: "python", "javascript",
!~ ^warder: languages\[0\]: "cobol" is no language that Warder knows; known: "python", "javascript",
!~ ^warder: languages\[0\]: "cobol" is no language that Warder knows; known: "python", "javascript",
! warder: languages[1]: "pyton" is no language that Warder knows; did you mean "python"?
!~ ^warder: languages\[0\]: "cobl" is no language that Warder knows; known: "awk", "python",
? 125

= who waits for somebody else's build ends when he is told to
+ echo 'int main(void) { return 0; }' > wait.c
+ mkdir cache
$ warder code --cache "$PWD/cache" --timeout 60s wait.c || exit; lock=$(cd cache/built && echo [0-9a-f]*); case $lock in *' '*) exit 9;; esac; rm -rf "cache/built/$lock"; exec 9>"cache/built/$lock.lock"; flock 9; timeout -s TERM 2 warder code --cache "$PWD/cache" --timeout 60s wait.c 9>&-
! warder: stopped while somebody else built the same
? 124
< 40
