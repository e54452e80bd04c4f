# Contexts of Bash: the cases of context.t that differ from Python.
needs dd od signals

= variables, functions and the working directory stay; a piece fails as its last command does
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create sh --language bash; sh c run sh -c 'n=1; twice() { n=$((n * 2)); echo "$n"; }; cd /usr'
> sh c run sh -c 'twice; twice; echo "$PWD"'; printf 'cat <<END\n  as it is\nEND\nls /proc/self/fd | tr "\\n" " "; echo\n(exit 7)\n' > piece.sh; sh c run sh piece.sh; echo $?; sh c run sh -c 'if' 2> err; sed 's/.*eval: //' err; sh c run sh -c 'echo "$n"'; sh s stop
| 2
| 4
| /usr
|   as it is
| 0 1 2 3 
| 1
| line 2: syntax error: unexpected end of file
| sh: exit status 2
| 4
! sh: exit status 7

= an interrupt ends a program, a loop and the commands after them, and the shell goes on
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create sh --language shell; for code in 'kept=1; sleep 20; echo no' 'while :; do :; done; echo no' 'f() { while true; do sleep 0.6; done; }; f; echo no' '(while :; do :; done); echo no'; do sh c run sh --timeout 1s -c "$code" 2> err; echo $?; grep warder: err; done; sh c run sh -c 'echo "$kept"'; sh s stop
| 124
| warder: the piece was interrupted at its time limit
| 124
| warder: the piece was interrupted at its time limit
| 124
| warder: the piece was interrupted at its time limit
| 124
| warder: the piece was interrupted at its time limit
| 1

= options, IFS, PATH, functions and constants of a piece stay, and do not reach the loop
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create sh --language bash; sh c run sh -c 'set -euo pipefail; set -f; IFS=,; PATH=/nowhere; readonly message=1 said=2; cat() { :; }; dd() { :; }; tr() { :; }; echo() { builtin echo "[$*]"; }; set -k'; sh c run sh --timeout 5s -c 'x=a,b; set -- $x; echo $2 $PATH $message'; sh c run sh -c 'unset PATH; set +e; (builtin echo $unset)'; echo $?; sh c run sh -c 'builtin echo on'; sh s stop
| [b,/nowhere,1]
| 1
| on
!*

= the shell's end is reported with the cause
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create sh --language bash; sh c run sh -c 'exit 4'; echo $?; sh s stop
| 4
!~ ^warder: context sh has ended \(exit\): .*4.*; "warder context restart" starts it again$

= a policy without processes.spawn is refused
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create sh --language bash --set processes.spawn=false; sh s stop
!~ ^warder: a context of bash starts programs for each piece; allow processes.spawn
