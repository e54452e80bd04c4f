#!/bin/bash
# Runs transcripts and prints TAP (testanything.org).
#
#   tests/transcript/run.sh [FILE.t...]      WARDER=build/warder by default
#
# WARDER_TEST_TIMES=FILE adds a line for each case to FILE: milliseconds that passed, milliseconds of processor time of the processes that
# the case waited for, the transcript and the title, with tabs between them. `sort -rn FILE | head` prints the slowest cases.
#
# A transcript is a list of cases, and reads as what a user sees:
#
#   = a title                     begins a case
#   needs limits python3          conditions; a case whose conditions do not hold is skipped, with the reason;
#                                 before the first case: for all of the file
#   + printf hi > file            preparation, run by bash in the case's own empty directory
#   $ warder run -- echo hello    the command, run by bash; `warder` is the tool under test
#   > more lines of the command
#   | hello                       a line of standard output, exactly
#   |~ ^hel+o$                    a line that matches an extended regular expression
#   |*                            any lines from here on
#   ! warder: ...                 the same three for standard error: !  !~  !*
#   ? 0                           the exit status; 0 when it is not given
#   < 3                           the command must have ended within so many seconds (times WARDER_TEST_SLOW)
#
# Lines that begin with # and empty lines are for the reader. Conditions: limits (this user can enforce the preset
# strict here), user (there is another account to become), place (the directory of the case can be shown in a jail,
# which has a /tmp of its own), power (set-user-ID programs and devices work where the case is), terminal (one can be had), storm (the kernel survives a fork bomb), clocks (it has time namespaces), freezer
# (processes can be made that do not die), delegation (a cgroup of v2 can be given to another user), notebook (the system's Python has pandas and matplotlib), library (it is
# built, and there is a compiler), and any program by its name. `without` and `second_reader` are
# programs of the tests: see lib/without.c and lib/second_reader.c.
set -u
LC_ALL=C.UTF-8 export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
WARDER=$(realpath "${WARDER:-$top/build/warder}") || exit 1
export TOP=$top BUILD=${WARDER%/*}
unset NO_COLOR
for file; do
	[ -r "$file" ] || { echo "Bail out! cannot read $file"; exit 1; }
done
[ $# -gt 0 ] || set -- "$here"/*.t

# Root's sessions are below /run/warder. Some cases stop the keeper of a session or freeze it, and while it does not answer no workspace
# of this user can be removed. Suites that run beside this one must not notice, so this one has a /run/warder of its own.
if [ "$(id -u)" = 0 ] && [ -z "${WARDER_TEST_OWN_RUN-}" ]; then
	(umask 077 && mkdir -p /run/warder) && unshare -m true 2>/dev/null &&
		WARDER_TEST_OWN_RUN=yes exec unshare -m sh -c 'mount -t tmpfs -o mode=700 none /run/warder && exec "$@"' - "$0" "$@"
fi

# Not below /tmp, of which every jail has its own; a place that other users can reach, if there is one.
for base in "${WARDER_TEST_DIR:-/srv}" /opt "${HOME:-/var/tmp}"; do
	scratch=$(mktemp -d "$base/warder-test.XXXXXX" 2>/dev/null) && break
done
[ -d "$scratch" ] || { echo "Bail out! no directory for the tests; name one in WARDER_TEST_DIR"; exit 1; }
chmod 755 "$scratch"
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" || exit 1
cp "$WARDER" "$scratch/bin/warder" && chmod 755 "$scratch/bin/warder" || exit 1
[ ! -x "$BUILD/warder-store" ] || cp "$BUILD/warder-store" "$scratch/bin/" || exit 1
# A store that goes with the case.
export WARDER_STORE=$scratch/case/store
[ ! -x "$BUILD/warder-edge" ] || cp "$BUILD/warder-edge" "$scratch/bin/" || exit 1
[ ! -x "$BUILD/warder-remote" ] || cp "$BUILD/warder-remote" "$scratch/bin/" || exit 1
[ ! -x "$BUILD/warder-fleet" ] || cp "$BUILD/warder-fleet" "$scratch/bin/" || exit 1
for program in without second_reader; do
	[ ! -x "$BUILD/tests/lib/$program" ] || cp "$BUILD/tests/lib/$program" "$scratch/bin/" || exit 1
done
PATH=$scratch/bin:$PATH

count=0
failed=0
slow=${WARDER_TEST_SLOW:-1}
ticks=$(getconf CLK_TCK)

# unmet CONDITION: prints why it does not hold, or nothing
unmet()
{
	case $1 in
	limits)
		strict=$(warder explain strict)
		[ "${strict##*$'\n'}" = "It would run." ] ||
			echo "the preset strict cannot be enforced by this user: $(grep -m 1 ' refused ' <<<"$strict" | tr -s ' ')"
		;;
	user) [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || echo "needs root and setpriv, to become another user" ;;
	place) case $scratch in /tmp/* | /var/tmp/*) echo "needs a directory outside of /tmp; see WARDER_TEST_DIR" ;; esac ;;
	freezer) [ "$(id -u)" = 0 ] && [ -w /sys/fs/cgroup/freezer/cgroup.procs ] || echo "needs root and the freezer of cgroup v1, whose frozen processes do not die" ;;
	guest) [ -n "${WARDER_TEST_GUEST:-}" ] || echo "more than 100 jails ended at once only in a guest" ;;
	signals) [ "${WARDER_TEST_GUEST:-}" != uml ] || echo "User-mode Linux panics when forking processes are killed" ;; # or get another signal
	clocks) [ -e /proc/self/ns/time ] || echo "this kernel has no time namespaces" ;;
	processors) [ "$(nproc)" -gt 1 ] || echo "one processor" ;;
	storm) grep -q 'User Mode Linux' /proc/cpuinfo && echo "User-mode Linux panics when forking processes are killed" ;;
	power)
		findmnt -no OPTIONS -T "$scratch" | grep -qE '\<(nosuid|nodev)\>' &&
			echo "its directory is on a file system without set-user-ID programs and devices"
		;;
	terminal)
		[ "$(script -qec 'test -t 1 && echo yes' /dev/null 2>/dev/null | tr -d '\r')" = yes ] ||
			echo "needs script(1) and a pseudo-terminal"
		;;
	delegation)
		[ "$(id -u)" = 0 ] && grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null ||
			echo "needs the memory controller on cgroup v2, and root, to delegate some of it"
		;;
	notebook)
		/usr/bin/python3 -c 'import pandas, matplotlib' 2>/dev/null ||
			echo "needs pandas and matplotlib (Debian: python3-pandas, python3-matplotlib)"
		;;
	library) [ -f "$BUILD/libwarder.a" ] && command -v cc >/dev/null || echo "needs cc and the built library" ;;
	*) command -v "$1" >/dev/null || echo "needs the program $1" ;;
	esac
}

# What unmet printed for each condition so far: no case changes it.
declare -A known

# compare NAME FILE EXPECTED...: lines of FILE against rows "= text", "~ regex", "*"
compare()
{
	local name=$1 file=$2 row line number=0
	shift 2
	local -a lines
	mapfile -t lines < <(tr -d '\0' <"$file")
	for row; do
		[ "$row" = '*' ] && return 0
		if [ $number -ge ${#lines[@]} ]; then
			echo "# $name ended before: ${row:2}"
			return 1
		fi
		line=${lines[number]}
		number=$((number + 1))
		case $row in
		'= '*) [ "$line" = "${row:2}" ] ;;
		'~ '*) [[ $line =~ ${row:2} ]] ;;
		esac || {
			printf '# %s line %d\n#   expected %s\n#   got        %s\n' "$name" $number "$row" "$line"
			return 1
		}
	done
	[ $number -eq ${#lines[@]} ] || {
		printf '# %s has more lines: %s\n' "$name" "${lines[number]}"
		return 1
	}
}

# run_case: judge the case in title, needs, setup, command, expected_out, expected_err, status, within
run_case()
{
	local reason condition dir=$scratch/case got began spent fine=1
	[ -n "$title" ] || return 0
	count=$((count + 1))
	for condition in $needs; do
		[ -n "${known[$condition]+is}" ] || known[$condition]=$(unmet "$condition" </dev/null)
		reason=${known[$condition]}
		[ -z "$reason" ] && continue
		echo "ok $count - $title # SKIP $reason"
		return 0
	done
	mkdir "$dir" && chmod 755 "$dir"
	(cd "$dir" && eval "$setup") >/dev/null 2>&1 </dev/null || echo "# preparation of \"$title\" failed"
	began=$(date +%s%N)
	(cd "$dir" && exec bash -c "$command") >"$scratch/out" 2>"$scratch/err" </dev/null
	got=$?
	spent=$((($(date +%s%N) - began) / 1000000))
	compare stdout "$scratch/out" "${expected_out[@]}" >"$scratch/why" || fine=
	compare stderr "$scratch/err" "${expected_err[@]}" >>"$scratch/why" || fine=
	[ "$got" = "$status" ] || { echo "# exit status $got, expected $status" >>"$scratch/why"; fine=; }
	[ -z "$within" ] || [ $spent -le $((within * slow * 1000)) ] ||
		{ echo "# took $spent ms, at most $((within * slow)) s expected" >>"$scratch/why"; fine=; }
	rm -rf "$dir"
	if [ "$fine" ]; then
		echo "ok $count - $title"
	else
		failed=$((failed + 1))
		echo "not ok $count - $title ($file)"
		cat "$scratch/why"
		sed 's/^/#   stderr: /' "$scratch/err" | tr -d '\0' | head -5
	fi
}

# processor: the milliseconds that ended children used
processor()
{
	local -a field
	read -ra field </proc/$$/stat
	echo $(((field[15] + field[16]) * 1000 / ticks))
}

# take_case: run_case, and the line in WARDER_TEST_TIMES
take_case()
{
	local began used
	if [ -z "${WARDER_TEST_TIMES-}" ] || [ -z "$title" ]; then
		run_case
		return
	fi
	began=$(date +%s%N)
	used=$(processor)
	run_case
	printf '%d\t%d\t%s\t%s\n' $((($(date +%s%N) - began) / 1000000)) $(($(processor) - used)) "${file##*/}" "$title" >>"$WARDER_TEST_TIMES"
}

begin_case()
{
	title=$1 needs=$file_needs setup='' command='' status=0 within=''
	expected_out=() expected_err=()
}

for file; do
	file_needs=''
	begin_case ''
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		'#'* | '') ;;
		'= '*) take_case; begin_case "${line:2}" ;;
		'needs '*)
			needs="$needs ${line#needs }"
			[ -n "$title" ] || file_needs=$needs
			;;
		'+ '*) setup+="${line:2}"$'\n' ;;
		'$ '*) command=${line:2} ;;
		'> '*) command+=$'\n'"${line:2}" ;;
		'|*') expected_out+=('*') ;;
		'!*') expected_err+=('*') ;;
		'|~ '*) expected_out+=("~ ${line:3}") ;;
		'!~ '*) expected_err+=("~ ${line:3}") ;;
		'| '* | '|') expected_out+=("= ${line:2}") ;;
		'! '* | '!') expected_err+=("= ${line:2}") ;;
		'? '*) status=${line:2} ;;
		'< '*) within=${line:2} ;;
		*) echo "Bail out! $file: what is this line: $line"; exit 1 ;;
		esac
	done <"$file"
	take_case
done
echo "1..$count"
[ $failed -eq 0 ]
