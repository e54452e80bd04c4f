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

= while a session runs, files go in and out; read-only inputs, snapshots and the removal wait for its end
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

= several workspaces in one session: the first is /workspace, each other one lies in /workspaces; all are in use
+ mkdir in; echo data > in/table
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; for i in one two three; do warder workspace create $i > /dev/null; done; warder workspace stage two "host://$PWD/in" --read-only > /dev/null; sh s start --workspace-id one --workspace-id two --workspace-id=three && sh s exec -- sh -c 'pwd; cp /workspaces/two/work/inputs/in/table /workspaces/three/out/copy; echo no > /workspaces/two/work/inputs/in/table; echo made > out/result; ls /workspaces'; warder workspace read three out/copy; warder workspace read one out/result; warder workspace snapshot two; warder workspace remove three; sh s stop; warder workspace remove three && warder workspace list | wc -l
| /workspace
| three
| two
| data
| made
| 2
!~ ^sh: .*Read-only file system$
!~ ^warder: "two" is in use: the session [a-zA-Z0-9]* may write to it; .*
!~ ^warder: "three" is in use: the session [a-zA-Z0-9]* may write to it; .*

= --snapshot-on-stop stores each of them when the session is stopped; the error of the end comes first
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; for i in one two; do warder workspace create $i > /dev/null; done; sh s start --workspace-id one --workspace-id two --snapshot-on-stop; sh s start --workspace-id one --workspace-id two; sh s exec -- sh -c 'echo kept > out/a; echo too > /workspaces/two/out/b'; sh s stop | cut -c1-5; for i in $(warder snapshot list --json | grep -o 'snap-[0-9a-f-]*' | sort -u); do warder workspace resume $i "of $i" > /dev/null; warder workspace read "of $i" out/a 2> /dev/null || warder workspace read "of $i" out/b; done | sort; sh s stop
| snap-
| snap-
| kept
| too
!~ ^warder: session [a-zA-Z0-9]* runs already, with another snapshot-on-stop; .*
!~ ^warder: session [a-zA-Z0-9]* does not run; .*
? 125

= a snapshot that fails is reported after the end of the session
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; warder workspace create one > /dev/null; sh s start --workspace-id one --snapshot-on-stop; rm -r store/snapshots 2> /dev/null; echo file > store/snapshots; sh s stop; echo $?; sh s status; echo $?
| 125
|~ ^1$
!~ ^warder: .*snapshots.*
!~ ^warder: session [a-zA-Z0-9]* has ended, but the snapshot of its workspace one failed: .*
!~ ^warder: session [a-zA-Z0-9]* does not run; .*
? 0

= the snapshot is stored also if the keeper does not answer; a session that has the name of a dead one does not take over its wish
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; keeper() { sh s status --json | sed 's/.*keeperPid":\([0-9]*\).*/\1/'; }; warder workspace create one > /dev/null; sh s start --workspace-id one --snapshot-on-stop; sh s exec -- sh -c 'echo kept > out/a'; kill -STOP $(keeper); sh s stop | cut -c1-5; sh s start --workspace-id one --snapshot-on-stop; kill -9 $(keeper); while sh s status > /dev/null 2>&1; do sleep 0.1; done; sh s start; sh s stop; warder snapshot list | wc -l
| snap-
| 1

= names that cannot be a directory, and the same one twice, are refused
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; warder workspace create one > /dev/null; warder workspace create a/b > /dev/null; sh s start --workspace-id one --workspace-id a/b; sh s start --workspace-id one --workspace-id one; sh s start --workspace-id a/b && sh s stop
! warder: --workspace-id a/b: a workspace besides the first one lies in /workspaces/ID, and its id may have up to 64 letters, digits, '-' and '_'
! warder: --workspace-id names one twice
