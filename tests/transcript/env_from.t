# --env-from: a file as the source of variables that the policy grants and the caller does not have.

= granted names that the caller does not have come from the file; nothing that is set is replaced
+ printf '%s\n' '# a comment' '' 'A=from file' 'export B="b = b"' "C='c'" 'HERE=file' 'SET=file' 'A=last  ' > vars
$ HERE=caller warder run --env-from vars --prefer limits -e A -e B -e C -e HERE -e SET=flag -- sh -c 'echo "$A|$B|$C|$HERE|$SET"'
| last|b = b|c|caller|flag

= names that the policy does not grant are left out with one warning, and the program runs
+ printf '%s\n' LD_PRELOAD=/evil.so A=1 B=2 C=3 D=4 > vars
$ warder run --prefer limits -e A --env-from vars -- sh -c 'echo "$A|$B|$LD_PRELOAD"'; warder run --prefer limits --env-from vars -- sh -c 'echo "$A"'
| 1||
|
! warder: --env-from vars: the policy does not grant LD_PRELOAD, B, C and 1 more, so they are left out; environment.names (--env NAME) grants a variable
! warder: --env-from vars: the policy does not grant LD_PRELOAD, A, B and 2 more, so they are left out; environment.names (--env NAME) grants a variable

= a file that cannot be read, or a line that is none, is a warning, and the program runs
+ printf 'A=1\nnonsense\n=2\n1B=3\n' > vars; printf 'A=1\0' > nul
$ warder run --prefer limits -e A --env-from nosuch -- sh -c 'echo "[$A]"'; warder run --prefer limits -e A --env-from vars -- sh -c 'echo "[$A]"'; warder run --prefer limits -e A --env-from nul -- sh -c 'echo "[$A]"'
| []
| [1]
| []
! warder: --env-from nosuch: cannot read nosuch: No such file or directory
! warder: --env-from vars: line 2 is not NAME=VALUE, so it is left out
! warder: --env-from vars: a row does not begin with a valid variable name, so it is left out; write letters, digits and _
! warder: --env-from nul: the file holds a NUL byte

= with the whole environment of the caller, every name is granted
+ echo 'ONLY_HERE=file' > vars
$ ONLY_CALLER=caller warder run --prefer limits --set environment.mode=host --env-from vars -- sh -c 'echo "$ONLY_HERE $ONLY_CALLER"'
| file caller

= a name that the ceiling does not grant stays refused
needs limits
+ echo 'A=1' > vars; echo '{"version": 1, "limits": {"wallTime": "60s"}, "environment": {"mode": "allowList", "names": ["A"]}}' > ceiling.json
$ warder run --ceiling ceiling.json -e A --env-from vars -- sh -c 'echo "$A"'; warder run --ceiling ceiling.json -e B --env-from vars -- true; echo $?
| 1
| 125
! warder: --env-from vars: the policy does not grant A, so it is left out; environment.names (--env NAME) grants a variable
! warder: environment.names[0]: "B" is not granted by the operator

= a piece of code has the variables, too
needs gcc
+ echo 'A=1' > vars; printf '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(getenv("A")); }\n' > a.c
$ warder code --prefer limits --no-cache -e A --env-from vars a.c
| 1

= an execution of a session, also one that the caller supervises, and a detached one
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; echo A=1 > vars; sh s start -e A; sh s exec --env-from vars -- sh -c 'echo "$A"'; sh s exec --progress --env-from vars -- sh -c 'echo "$A"'; sh s exec --env-from nosuch -- sh -c 'echo "[$A]"'; sh s status --json | grep -c 'A": "1'; sh s stop; id=$(warder run --detach --prefer limits -e A --env-from vars -- sh -c 'echo "$A"'); warder wait $id; warder logs $id; warder session stop $id
| 1
| 1
| []
| 0
| 1
! warder: --env-from nosuch: cannot read nosuch: No such file or directory

= the flag is there once
$ warder run --env-from a --env-from b -- true; echo $?
| 125
! warder: --env-from b: the flag is given a second time; give it once
