# shellcheck shell=bash # This line is left out: the next one is line 1, and so line 1 of a piece is line 1 in its errors.
__warder_run() { trap __warder_check DEBUG; eval "$__warder_code" 4>&-; }
# The loop of a Bash context. The keeper of the session sends this text as the first message of descriptor 4, and then pieces of code;
# frames.h says how. Everything is a function or a variable of the shell that the pieces run in, so that what they change stays. The names
# begin with __warder. Descriptor 4 is closed while a piece runs, so that the programs of a piece do not have it.

# Between pieces, what the pieces have set must not reach the loop: options, IFS, PATH, functions, and variables that cannot be changed.

# __warder_send KIND JSON: one message, which is one write(2). Bash itself would begin another one behind each newline.
__warder_send()
{
	local -
	set +ekux
	local IFS=$' \t\n' PATH=$__warder_path __warder_head='' __warder_number
	for __warder_number in 0x58544357 "$1" "$__warder_piece" 0; do
		builtin printf -v __warder_head '%s\\x%02x\\x%02x\\x%02x\\x%02x' "$__warder_head" \
			$((__warder_number & 255)) $((__warder_number >> 8 & 255)) \
			$((__warder_number >> 16 & 255)) $((__warder_number >> 24 & 255))
	done
	# An interrupt may have ended dd behind BEGUN.
	builtin printf "$__warder_head%s" "$2" | command dd obs=65536 2>/dev/null >&4 || [ "$1" = 4 ] || exit 0
}

# One message: a line with its numbers, and then the body. The dot at the end keeps the newlines at the end of the body.
__warder_receive()
{
	local -
	set +ekux
	local IFS=$' \t\n' PATH=$__warder_path __warder_message=''
	__warder_message=$(command dd bs=65536 count=1 <&4 2>/dev/null | {
		command dd bs=16 count=1 iflag=fullblock 2>/dev/null | command od -An -v -tu4
		command cat
		builtin echo .
	} | command tr -d '\0')
	builtin read -r _ __warder_kind __warder_piece __warder_flags <<<"${__warder_message%%$'\n'*}"
	[ -n "$__warder_kind" ] || exit 0 # the keeper is gone
	__warder_message=${__warder_message#*$'\n'}
	__warder_code+=${__warder_message%.}
}

# An interrupt makes every command of the piece return from the function that it is in, up to __warder_run.
__warder_check()
{
	[[ -z $__warder_interrupted || ${#FUNCNAME[@]} -lt 2 ]] || return 2
}

__warder_tell()
{
	local -
	set +ekux
	local __warder_said=ok __warder_error=''
	__warder_count=$((__warder_count + 1))
	if [ -n "$__warder_interrupted" ]; then
		__warder_said=error
		__warder_error=',"error":{"name":"Interrupted","value":"the piece was interrupted","traceback":"interrupted"}'
	elif [ "$1" != 0 ]; then
		__warder_said=error
		__warder_error=",\"error\":{\"name\":\"ExitStatus\",\"value\":\"$1\",\"traceback\":\"exit status $1\"}"
	fi
	__warder_send 7 "{\"status\":\"$__warder_said\",\"executionCount\":$__warder_count$__warder_error}"
}

shopt -s extdebug
trap '' INT
__warder_piece=0 __warder_count=0 __warder_path=$PATH
__warder_send 3 "{\"interpreter\":\"Bash ${BASH_VERSION%%(*}\"}"
while :; do
	__warder_code='' __warder_flags=1
	while [ $((__warder_flags & 1)) = 1 ]; do
		__warder_receive
	done
	[ "$__warder_kind" = 1 ] || continue
	__warder_interrupted=''
	trap '__warder_interrupted=1' INT
	__warder_send 4 ''
	__warder_run
	__warder_status=$?
	trap - DEBUG
	trap '' INT
	__warder_tell "$__warder_status"
done
