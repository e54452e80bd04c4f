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
