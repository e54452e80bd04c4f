# Sessions whose keeper and whose client are of two versions of Warder, one after the other.
needs python3

= a client of the version before describes and joins a session, starts a program, gets its end, and stops the session
+ . "$TOP/tests/transcript/session.sh"; echo $name > name
$ sh s start; XDG_RUNTIME_DIR=$PWD/rt python3 "$TOP/tests/transcript/older_client.py" $(cat name); sh s status 2> /dev/null; echo $?
| describe: answered True
| policy: unknown key None
| join: answered
| files: answered
| hello: answered
| start: answered
| end: True 7
| list: True
| stop: answered
| 1

= a keeper of the version before is asked in that version, and what it cannot do is refused by name
+ . "$TOP/tests/transcript/session.sh"; echo $name > name
+ sed "s/word $name/&o/" s > o # of the session that the older keeper has
+ cat > keeper.sh <<'END'
+ place=/run/warder/sessions; [ $(id -u) = 0 ] || place=$PWD/rt/warder/sessions
+ rm -f here; python3 "$TOP/tests/transcript/older_keeper.py" $place $(cat name)o $(cat name) > here &
+ until grep -q here here 2> /dev/null; do sleep 0.05; done
+ END
$ export XDG_RUNTIME_DIR=$PWD/rt; sh s start; . ./keeper.sh; sh o status | grep -c "^$(cat name)o .* 0 at work"; id=$(sh o exec --detach -- sh -c 'echo out; exit 3'); warder wait $id; echo $?; warder logs $id; id=$(sh o exec --detach -i -- cat); echo in | warder write --close $id; warder wait $id; warder logs $id; sh o extend 1m; echo $?
> sh o exec -- true; echo $?; sh o list /tmp; echo $?; sh o exec --detach --log log -- true; echo $?; sh o exec --detach --audit audit -- true; echo $?; sh o exec --detach --progress -- true; echo $?; sh o stop; echo $?; wait; sh s status 2> /dev/null; echo $?
| 1
| 3
| out
| in
| 0
| 125
| 125
| 125
| 125
| 125
| 0
| 1
!~ ^warder: the session was started by an older version of Warder, and programs of this version cannot join it: use --detach, or start the session again$
!~ ^warder: session .* was started by an older version of Warder, which cannot do that; start the session again$
!~ ^warder: --log: the keeper of session .* is of an older version of Warder and cannot do that; start the session again$
!~ ^warder: --audit: the keeper of session .* is of an older version of Warder and cannot do that; start the session again$
!~ ^warder: --progress: the keeper of session .* is of an older version of Warder and cannot do that; start the session again$
