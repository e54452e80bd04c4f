# A session on a workspace of the store: `warder session start NAME --workspace-id ID`.

= the session has the workspace, its variables and its read-only inputs; a second start finds it
+ mkdir in; echo data > in/table
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; warder workspace create job > /dev/null; warder workspace stage job "host://$PWD/in" --read-only; sh s start --workspace-id job && sh s start --workspace-id=job && sh s exec -- sh -c 'pwd; cat work/inputs/in/table; echo no > work/inputs/in/table; test -d $RUN_DIR && echo $RUN_DIR | sed s/_.*//; echo made > $OUTPUT_DIR/result'; warder workspace read job out/result; sh s stop
| work/inputs/in
| /workspace
| data
| /workspace/runs/session
| made
!~ ^sh: .*Read-only file system$

= while it runs, files go in and out; what it has mounted, snapshots and the removal wait for its end
+ mkdir in; echo 1 > one
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; warder workspace create job > /dev/null; sh s start --workspace-id job; warder workspace put job one=work/one; sh s exec -- sh -c 'cat work/one; echo 2 > out/two'; warder workspace collect job 'out/*' | awk '{ print $2 }'; warder workspace snapshot job; warder workspace stage job "host://$PWD/in" --read-only; warder workspace remove job; sh s stop; warder workspace snapshot job | cut -c1-5; warder workspace stage job "host://$PWD/in" --read-only; warder workspace remove job
| 1
| out/two
| snap-
| work/inputs/in
!~ ^warder: "job" is in use: the session [a-zA-Z0-9]* may write to it; stop the session, or wait with --wait$
!~ ^warder: "job" is in use: the session [a-zA-Z0-9]* may write to it; stop it first, or stage without --read-only and --link$
!~ ^warder: "job" is in use: the session [a-zA-Z0-9]* may write to it; stop the session, or wait with --wait$

= --cwd is relative to the workspace; another workspace, and one that is not there, are refused
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; warder workspace create job > /dev/null; sh s start --workspace-id none; sh s start --workspace-id job --workspace "$PWD"; sh s start --workspace-id job --cwd a/b; sh s exec -- pwd; sh s stop
| /workspace/a/b
! warder: there is no workspace "none"; "warder workspace list" lists them
! warder: --workspace cannot be given here: the workspace is the one that is named by its ID
