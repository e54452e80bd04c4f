# Sourced by transcripts that need a screen: a terminal under tmux with a shell in it, whose prompt is "> ".
# shellcheck shell=bash
#
#   screen [WIDTH HEIGHT]    begins it
#   keys WORD...             types, as tmux(1) send-keys
#   see TEXT [COUNT]         waits until the text is on the screen (20 s times WARDER_TEST_SLOW), in so many lines (1)
#   last TEXT                waits until it is the last line, without the blanks behind it: a prompt, of a shell that reads. What is typed
#                            earlier is echoed twice, or at the left margin.
#   $hold                    a command that prints 14 as soon as it is in the foreground, and then each line with "$" at its end
#   front NAME               waits until the program in the foreground is NAME: `warder`, which has taken over the terminal, or `bash`
#   here PATTERN             the newest process of the screen's terminal whose command line matches
#   again TEXT WORD...       types until the text is on the screen, once in two seconds
#   shot                     prints the screen without empty lines and blanks at ends of lines
#   screen_end               ends it
# shellcheck disable=SC2034 # for the transcripts
hold='sh -c "expr 7 + 7; exec cat -A"'
# t WORD...: tmux, which starts the shell by $SHELL; without it, by the account's, and that of nobody ends at once.
t()
{
	env -u TMUX SHELL=/bin/sh tmux -S "$PWD/tmux" -f /dev/null "$@"
}

screen()
{
	t new-session -d -x "${1:-80}" -y "${2:-24}" -s w "env PS1='> ' HISTFILE= bash --norc --noprofile" || return
	trap 'screen_end; ! declare -F at_end >/dev/null || at_end' EXIT # detach.sh has more to end
	see '>'
}

keys()
{
	t send-keys -t w "$@"
}

shot()
{
	t capture-pane -p -t w | sed 's/ *$//' | grep -v '^$'
}

see()
{
	local i

	for ((i = 0; i < 200 * ${WARDER_TEST_SLOW:-1}; i++)); do
		[ "$(t capture-pane -p -t w | grep -cF -- "$1")" -lt "${2:-1}" ] || return 0
		sleep 0.1
	done
	echo "not on the screen: $1"
	shot
	return 1
}

last()
{
	local i

	for ((i = 0; i < 200 * ${WARDER_TEST_SLOW:-1}; i++)); do
		[ "$(shot | tail -n 1)" != "$1" ] || return 0
		sleep 0.1
	done
	echo "not the last line: $1"
	shot
	return 1
}

front()
{
	local i

	for ((i = 0; i < 200 * ${WARDER_TEST_SLOW:-1}; i++)); do
		if [ "$(t display -p -t w '#{pane_current_command}')" = "$1" ]; then
			[ "$1" = warder ] || return 0
			! stty -F "$(t display -p -t w '#{pane_tty}')" -a | grep -q -- -isig || return 0
		fi
		sleep 0.1
	done
	echo "not in the foreground: $1"
	return 1
}

here()
{
	pgrep -n -t "$(t display -p -t w '#{pane_tty}' | cut -c 6-)" -f "$1"
}

again()
{
	local i text=$1

	shift
	for ((i = 0; i < 200 * ${WARDER_TEST_SLOW:-1}; i++)); do
		((i % 20)) || keys "$@"
		! t capture-pane -p -t w | grep -qF -- "$text" || return 0
		sleep 0.1
	done
	echo "not on the screen: $text"
	return 1
}

screen_end()
{
	t kill-server 2>/dev/null
	rm -f tmux
}
