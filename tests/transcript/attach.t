# Terminals of executions that outlive their callers: run -t --detach and attach, on a screen as tmux shows it.
needs tmux

= the size and its changes, the exit status, and the terminal as it was before
$ . "$TOP/tests/transcript/detach.sh"; . "$TOP/tests/transcript/screen.sh"; screen 70 12
> keys 'stty -g > before; warder attach $(sh d -t bash --norc)' Enter; see 'bash-'; keys 'PS1="in> "; clear; tty; stty size; echo $TERM' Enter; see tmux-256color; last 'in>'
> shot; t resize-window -t w -x 66 -y 10; again '10 66' 'clear; stty size' Enter; keys "clear; $hold" Enter; see 14; keys C-c; last 'in>'; shot
> keys 'exit 7' Enter; front bash; keys 'echo "status $?"; stty -g | cmp - before && echo as" "before' Enter; see 'status 7'; see 'as before'
| /dev/pts/0
| 12 70
| tmux-256color
| in>
| 14
| ^C
| in>

= vim goes on while no terminal is attached, and draws its screen again for the next one, at any size
needs vim
$ . "$TOP/tests/transcript/detach.sh"; . "$TOP/tests/transcript/screen.sh"; screen 60 8
> keys 'stty -g > before; id=$(sh d -t vim -u NONE -N /tmp/a); warder attach $id' Enter; see '~'; keys i 'one' Enter 'two'; see two; keys C-p C-q; front bash; see 'warder attach'
> keys 'clear; stty -g | cmp - before && echo as" "before; echo $id > id' Enter; see 'as before'; warder ps | grep -c ' running .* vim '
> keys 'clear; warder attach $id' Enter; see INSERT; shot; echo; keys C-p C-q; front bash; see 'warder attach'; t resize-window -t w -x 50 -y 6; keys 'clear; warder attach $id' Enter; see INSERT; keys Enter three; see three; shot
> keys Escape ':q!' Enter; warder wait $(cat id)
| 1
| one
| two
| ~
| ~
| ~
| ~
| ~
| -- INSERT --
|
| one
| two
| three
| ~
| ~
| -- INSERT --

= keys that detach can be chosen; other keys, and a part of the sequence, go to the program
$ . "$TOP/tests/transcript/detach.sh"; . "$TOP/tests/transcript/screen.sh"; screen
> keys 'id=$(sh d -t sh -c "stty raw -echo opost; expr 7 + 7; while :; do head -c 1 | od -An -tx1; done"); until warder logs $id | grep -q 14; do sleep 0.1; done; clear; warder attach --detach-keys ctrl-x,d $id' Enter; front warder; keys a C-p C-q C-x e; see 65; keys C-x C-x; see ' 18' 2; keys d; see 'comes back'; shot | head -n 6; front bash; keys 'warder session stop $id; echo stop""ped' Enter; see stopped
|  61
|  10
|  11
|  18
|  65
|  18

= a terminal is not asked again what it has answered, and its answers are not typed into the program twice
$ . "$TOP/tests/transcript/detach.sh"; . "$TOP/tests/transcript/screen.sh"; screen
> keys 'id=$(sh d -t sh -c "stty -echo -icanon; expr 7 + 7; head -c 1; printf \"asked\\033[c\\n\"; cat -v"); echo $id > id; until warder logs $id | grep -q 14; do sleep 0.1; done; clear; warder attach $id' Enter; front warder; keys 1; see '?1'; keys C-p C-q; see 'comes back'
> front bash; keys 'clear; warder attach $id' Enter; front warder; keys xyz; see xyz; keys C-p C-q; see 'comes back'; warder logs $(cat id) | cat -A; echo; warder session stop $(cat id)
|~ ^14\^M\$$
|~ ^1asked\^\[\[c\^M\$$
|~ ^\^\[\[\?1[0-9;]*cxyz$

= several watch: each sees everything, and the terminal has the size of the last one
needs script
$ . "$TOP/tests/transcript/detach.sh"; . "$TOP/tests/transcript/screen.sh"; screen 70 12
> keys 'id=$(sh d -t bash --norc); echo $id > id; warder attach $id' Enter; see 'bash-'; keys 'PS1="in> "; clear' Enter; last 'in>'; warder attach -n $(cat id) > one & warder attach $(cat id) < /dev/null > two & until [ -s one ] && [ -s two ]; do sleep 0.1; done
> t new-session -d -x 50 -y 9 -s other "warder attach $(cat id)"; again '9 50' 'stty size' Enter; t resize-window -t w -x 64 -y 11; again '11 64' 'stty size' Enter; t send-keys -t other 'stty size' Enter; see '11 64'; ! t capture-pane -p -t other | grep -q '^11 64' || echo 1
> keys 'exit 3' Enter; wait; cmp one two; ! grep -q '9 50' one || echo 1; warder logs $(cat id) | cmp - one; warder wait $(cat id)
| 1
| 1
? 3

= the client is ended: the terminal is as before, and the program goes on
$ . "$TOP/tests/transcript/detach.sh"; . "$TOP/tests/transcript/screen.sh"; screen
> keys 'stty -g > before; id=$(sh d -t sh -c "echo up; cat"); echo $id > id' Enter; for s in TERM HUP SEGV; do keys 'clear; warder attach $id' Enter; front warder; keys "t$s" Enter; see t$s; kill -$s "$(here "^warder attach $(cat id)")"; front bash; keys "clear; stty -g | cmp - before && echo as' 'before $s" Enter; see "as before $s"; done; shot | grep -c 'as before SEGV$'; warder ps | grep -c ' running '; warder session stop $(cat id)
| 1
| 1

= without a terminal: input by write, its end by Ctrl-D, and a size that is set
$ . "$TOP/tests/transcript/detach.sh"; id=$(sh d -t sh -c 'stty size; cat; echo end' < /dev/null); until warder logs $id | grep -q 80; do sleep 0.1; done; echo hello | warder write $id; until [ "$(warder logs $id | grep -c hello)" = 2 ]; do sleep 0.1; done; warder write --close $id < /dev/null; warder wait $id; warder logs $id | cat -A
| 24 80^M$
| hello^M$
| hello^M$
| end^M$

= in a session: a terminal that outlives the caller
+ . "$TOP/tests/transcript/session.sh"
$ . "$TOP/tests/transcript/screen.sh"; sh s start --set devices.terminals=2 --timeout 5m; export XDG_RUNTIME_DIR=$PWD/rt; screen 70 12
> keys 'warder attach $(sh s exec -t --detach -- bash --norc)' Enter; see 'bash-'; keys 'PS1="in> "; clear; tty; stty size' Enter; see '12 70'; last 'in>'; shot; keys 'exit 4' Enter; front bash; keys 'echo "status $?"' Enter; see 'status 4'; sh s stop
| /dev/pts/0
| 12 70
| in>
