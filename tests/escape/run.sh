#!/bin/bash
# run.sh: what hostile code reaches in a jail, as TAP: `warder doctor --attack` under several policies.
#
# A row that the policy has to stop is a test; so is the list of what each policy allows, and that nearly all
# rows succeed without a jail. A row that this host stops for everybody is a skip, reported once, with the reason from
# docs/threat-model.md. As root, paths that this host lacks have stand-ins (standing.sh), and a guest of `make check-vm` loads modules that
# attempts aim at. WARDER names the tool.
set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/lib/tap.sh
warder=$(realpath "${WARDER:-build/warder}")
scratch=
trap '[ -z "$scratch" ] || rm -rf "$scratch"; rm -rf "$results"' EXIT
results=$(mktemp -d) || exit 1
root=false
[ "$(id -u)" = 0 ] && root=true
uml=false
grep -q 'User Mode Linux' /proc/cpuinfo && uml=true

# A program below /tmp cannot be shown in a jail, which has a /tmp of its own.
if [[ $warder == /tmp/* ]]; then
	if ! scratch=$(mktemp -d /srv/warder-escape.XXXXXX 2>/dev/null); then
		skip "all of it" "the tool lies below /tmp, and there is no other place to put it"
		tap_end
		exit
	fi
	chmod 755 "$scratch"
	cp "$warder" "$(dirname "$warder")"/warder-{attempts,edge,store} "$scratch/"
	warder=$scratch/warder
fi
attempts=$(dirname "$warder")/warder-attempts
: >"$results/stood"
standing=()
! $root || standing=(unshare --mount --propagation private tests/escape/standing.sh "$results/stood")
if [ "${WARDER_TEST_GUEST:-}" = qemu ]; then
	modprobe -a af_alg af_key tipc kcm smc rds sctp binfmt_misc can bluetooth snd
	mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
fi

# lines POLICY FIRST ALLOWED PROVED: TAP lines without numbers out of the JSON on standard input. FIRST: tell
# what proves nothing.
lines() {
	PYTHONPATH=tests/escape PYTHONDONTWRITEBYTECODE=1 STOOD="$results/stood" ROOT=$root UML=$uml CHANNELS=$channels python3 -c '
import json, os, sys
from proofs import reasons
known = reasons()
with open(os.environ["STOOD"]) as file:
    stood = file.read().split()
policy, first, allowed, proved = sys.argv[1], sys.argv[2] == "true", sorted(sys.argv[3].split()), int(sys.argv[4])
found = json.load(sys.stdin)
rows = found["attempts"]
for row in rows:
    name = "%s: %s (%s) [%s]" % (policy, row["name"], row["what"], row["group"])
    if row["state"] == "stopped":
        print("ok - %s: %s%s" % (name, row["answer"], ", with a stand-in" if row["name"] in stood else ""))
    elif row["state"] == "open":
        print("not ok - %s\n# %s: %s" % (name, row["answer"], row["reason"]))
    elif row["state"] == "untried":
        print("ok - %s # SKIP %s" % (name, row["reason"]))
    elif row["state"] == "unproved" and first:
        needs = "needs " + known[row["name"]][0] if row["name"] in known else "it does not succeed without a jail either"
        print("ok - %s # SKIP proves nothing here: %s (%s outside)" % (name, needs, row["outside"]))
def check(name, good, *why):
    print(("ok - " if good else "not ok - ") + policy + ": " + name)
    if not good:
        print("# " + " ".join(str(part) for part in why))
given = sorted(row["name"] for row in rows if row["state"] == "allowed")
check("allows what it says and nothing else", given == allowed, "allowed:", *given)
# An allowed attempt that the kernel refuses all the same would not be told from one that is stopped.
count = sum(1 for row in rows if row["state"] == "stopped" and row["outside"] == "reached")
unknown = [row["name"] for row in rows if row["state"] == "unproved" and row["name"] not in known]
if os.environ["ROOT"] == "true":
    check("what proves nothing here has its reason in docs/threat-model.md", not unknown, *unknown)
check("what is said to be stopped succeeds outside, or is not run there",
      all(row["outside"] == "reached" or row["outside"] is None and row["notOutside"] for row in rows if row["state"] == "stopped"))
check("at least %d attempts succeed outside" % proved, count >= proved, count)
check("there are at least 365 attempts in 10 groups", len(rows) >= 365 and len(set(row["group"] for row in rows)) == 10, len(rows))
beside = sum(1 for row in rows if row["group"] == "sessions")
check("those of sessions are tried in sessions", beside >= 20 if "session" in policy else beside == 0, beside)
pooled = sum(1 for row in rows if row["group"] == "pools")
check("those of pools are tried in parked jails", pooled == 0 if "session" in policy else pooled >= 15, pooled)
between = [row["answer"] for row in rows if row["name"] in os.environ["CHANNELS"].split()]
if first and os.environ["ROOT"] == "true" and os.environ["UML"] == "false":
    check("what no policy stops is reached", between == ["reached", "reached"], between)
check("every name is there once", len(set(row["name"] for row in rows)) == len(rows))
' "$@"
}

# attack POLICY FIRST ALLOWED PROVED FLAG...: one run of all attempts.
attack() {
	local policy=$1 first=$2 allowed="$3 $channels" proved=$4 status line
	shift 4
	: >"$results/stood"
	"${standing[@]}" "$warder" doctor --attack --json "$@" >"$results/json" 2>"$results/error"
	status=$?
	if [ "$status" -gt 1 ]; then
		tap_not_ok "$policy: warder doctor --attack"
		sed 's/^/# /' "$results/error" "$results/json"
		return
	fi
	if ! lines "$policy" "$first" "$allowed" "$proved" <"$results/json" >"$results/lines" 2>"$results/error"; then
		tap_not_ok "$policy: the result can be read to its end"
		sed 's/^/# /' "$results/error"
	fi
	while IFS= read -r line; do
		case $line in
		"ok - "*) tap_ok "${line#ok - }" ;;
		"not ok - "*) tap_not_ok "${line#not ok - }" ;;
		*) echo "$line" ;;
		esac
	done <"$results/lines"
	check "$policy: the exit status says the same" test "$status" = "$(grep -c '^not ok.*(' "$results/lines" | sed 's/[1-9].*/1/')"
}

# No policy stops these.
channels="wake-neighbour see-neighbours-pages"
default="shared-segment"
# The attempts themselves are shown inside, and with them the directories above.
here_home=$(getent passwd "$(id -u)" | cut -d: -f6)
home=
[[ $warder != "${here_home:-/root}"/* ]] || home=read-home
speculation="allow-store-bypass allow-indirect-branch"
terminals="open-terminal work-on-terminal"
compat="lock-shared-file watch-files find-neighbours-lock name-to-handle turn-off-aslr trace-itself bind-memory memory-policy kernel-aio lease-shared-file watch-directory
	attach-socket-filter attach-port-filter attach-loaded-program attach-loaded-port-program install-own-filter
	install-own-filter-prctl install-listener time-packets widen-pipe hint-at-shared-file move-pages-to-pipe share-pages-of-pipes
	write-out-file-system"
network="connect-host-loopback route-to-metadata route-to-lan route-to-internet route-to-internet6 route-to-loopback
	find-interface list-unix-sockets list-tcp-sockets connect-neighbours-port talk-to-metadata talk-to-lan talk-to-internet
	talk-to-internet6 talk-to-mapped talk-to-guessed-name talk-to-rebound-name talk-by-quic ask-hosts-resolver tunnel-by-names"
# With an allow-list every address is routed to the jail's own loopback, where the edge listens.
listed="route-to-metadata route-to-lan route-to-internet route-to-internet6 route-to-loopback list-tcp-sockets"
# Abstract sockets belong to the network namespace; before Linux 6.12 Landlock does not tell whose they are.
abi=$("$warder" doctor | sed -n 's/^ *yes *Landlock .*ABI \([0-9]*\).*/\1/p')
[ "${abi:-0}" -ge 6 ] || network+=" connect-host-abstract connect-neighbours-socket"
# An image has files of its own there.
of_images="read-home read-shadow read-users read-machine-id read-logs find-sockets-in-run read-boot"
small="--memory 64MiB --pids 24"
$uml && small="--memory 24MiB --pids 24" # touching memory is slow there
unlimited="fork-many fork-many-sessions start-many-threads touch-much-memory touch-memory-together fill-memory-files fill-pipes
	fill-sockets burn-processor"
unlimited_together="fork-beside-companion touch-memory-beside-companion"
preferred="--prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.cpuTime --prefer limits.pids"

# ---- the driver: a table of which it is known what it must say ----

# A stand-in for the attempts: rows of name, answer, what allows it, whether it is run outside; then what it
# does.
stand_in() {
	cat <<'END'
#!/bin/sh
row() { printf '%s\tfake\t%s\t%s\t-\t%s\tmeans\t-\twhat\n' "$@"; }
say() { printf '%s\t%s\t%s\n' "$@"; }
case $1 in
--list)
	row stopped EPERM - yes
	row not-stopped EPERM - yes
	row by-something-else EPERM - yes
	row silent EPERM - yes
	row proves-nothing EPERM - yes
	row untried EPERM - yes
	row not-run-outside EPERM - 'no: why'
	row needs-host-network EPERM net=host yes
	row killed SIGSYS - yes
	row fails-otherwise EPERM - yes
	row dies-outside EPERM - yes
	row leaves-something EPERM - yes
	row allowed-and-still-there EPERM net=host yes
	;;
--neighbour) echo 'neighbour-port=1 neighbour-shm=-1' && cat ;;
--outside)
	case $2 in
	proves-nothing) say "$2" EPERM ;;
	fails-otherwise) say "$2" ENOSYS ;;
	dies-outside) exit 1 ;;
	leaves-something)
		for mark; do case $mark in supervisor=*) driver=${mark#*=} ;; esac; done
		sh -c 'while kill -0 "$0"; do sleep 0.1; done' "$driver" "$3" >/dev/null 2>&1 &
		say "$2" reached
		;;
	*) say "$2" reached ;;
	esac
	;;
not-stopped | needs-host-network) say "$1" reached ;;
by-something-else) say "$1" EIO ;;
silent) ;;
untried) say "$1" untried because ;;
killed) kill -SYS $$ ;;
*) say "$1" EPERM ;;
esac
END
}

states() {
	python3 -c 'import json, sys; [print(row["name"], row["state"]) for row in json.load(sys.stdin)["attempts"]]'
}

# judges STATES STATUS FLAG...
judges() {
	local expected=$1 status=$2 ended
	shift 2
	"$stand_in_tool" doctor --attack --json "$@" >"$results/json"
	ended=$?
	states <"$results/json" | tee "$results/states"
	[ "$(cat "$results/states")" = "$expected" ] && [ $ended = "$status" ]
}

# The same for executions beside an attempt: `forges` reaches those that begin meanwhile, `spoils` the next one.
stand_in_beside() {
	cat <<'END'
#!/bin/sh
row() { printf '%s\tfake\tEPERM\t-\t%s\tno: why\tmeans\t-\twhat\n' "$@"; }
case $1 in
--list) row harmless - && row meets companion && row beside joiners && row forges joiners && row spoils - ;;
--neighbour) echo 'neighbour-port=1 neighbour-shm=-1' && cat ;;
--companion) echo ready && touch /tmp/companion ;;
--joiner)
	if [ -e /tmp/forged ]; then echo forged; else echo fine; fi
	[ ! -e /tmp/spoiled ]
	;;
*)
	case $1 in
	forges) touch /tmp/forged && sleep 1 && rm /tmp/forged ;;
	beside) sleep 1 ;;
	spoils) touch /tmp/spoiled ;;
	esac
	if [ "$1" = meets ] && [ ! -e /tmp/companion ]; then set -- "$1" reached; else set -- "$1" EPERM; fi
	printf '%s\t%s\t\n' "$@"
	;;
esac
END
}

# The same for jails that are parked. Outside, `ends` and `changes` do to the parked jail what no attempt inside can.
stand_in_pooled() {
	cat <<'END'
#!/bin/sh
row() { printf '%s\tfake\t%s\t-\t%s\tyes\tmeans\t-\twhat\n' "$@"; }
for mark; do case $mark in parked-init=*) init=${mark#*=} ;; parked-cgroup=*) cgroup=${mark#*=} ;; esac; done
case $1 in
--list)
	row handed EPERM pool && row raised refused 'pool|raised' && row killed refused 'pool|killed'
	row follows EPERM 'pool|last' && row ends EPERM parked && row changes EPERM parked
	;;
--neighbour) echo 'neighbour-port=1 neighbour-shm=-1' && cat ;;
--last) touch /tmp/last ;;
--outside)
	case $2 in
	ends) kill -KILL "$init" && while kill -0 "$init" && ! grep -q '^State:.Z' "/proc/$init/status"; do sleep 0.1; done ;;
	changes) [ -z "$cgroup" ] || echo 99 >"${cgroup%/*}/pids.max" ;;
	esac
	printf '%s\treached\t\n' "$2"
	;;
*) if [ -e /tmp/last ]; then set -- "$1" reached; else set -- "$1" EPERM; fi && printf '%s\t%s\t\n' "$@" ;;
esac
END
}

finds_change() {
	! "$stand_in_tool" doctor --attack >"$results/out" 2>&1 && grep 'an attempt changed the parked jail' "$results/out"
}

refuses_unknown_words() {
	sed -i '0,/EPERM -/s//EPERM what/' "$stand_in_tool-attempts"
	grep 'does not list its attempts' <("$stand_in_tool" doctor --attack 2>&1)
}

refuses_without_program() {
	rm "$stand_in_tool-attempts"
	"$stand_in_tool" doctor --attack 2>&1 | grep 'is not installed'
	[ "${PIPESTATUS[0]}" = 125 ]
}

# A program that ends its list never, or says nothing.
gives_up_list() {
	local program said took=$SECONDS
	for program in "yes 1" "sleep 100"; do
		printf '#!/bin/sh\nexec %s\n' "$program" >"$stand_in_tool-attempts"
		said=$("$stand_in_tool" doctor --attack 2>&1) && return 1
		grep 'does not list its attempts' <<<"$said" || return
	done
	[ $((SECONDS - took)) -lt $((20 * ${WARDER_TEST_SLOW:-1})) ]
}

# An attack in the background that is under way, as $pid; by another user's COMMAND..., without the limits that need a cgroup.
begin() {
	local limits=()
	# shellcheck disable=SC2206 # a list of words
	[ $# = 0 ] || limits=($preferred)
	: >"$results/out"
	HOME=/tmp "$@" "$warder" doctor --attack "${limits[@]}" >>"$results/out" 2>&1 &
	pid=$!
	while [ "$(wc -l <"$results/out")" -lt 8 ] && kill -0 "$pid"; do sleep 0.05; done
}

# Interrupted, it takes away what it put on the host.
cleans_up() {
	local pid status
	begin
	kill -TERM "$pid"
	wait "$pid"
	status=$?
	echo "status $status" && left
	[ $status = 143 ] && ! left
}

# Killed, it leaves a directory, which the next attack removes; but no directory of others, nor through a
# link.
cleans_up_later() {
	local pid dir planted link status
	begin
	kill -KILL "$pid"
	wait "$pid"
	dir=$(compgen -G "/tmp/warder-attack-$pid-*") || return
	planted=${dir%.*}.planted link=${dir%.*}.linked
	setpriv --reuid=65534 --regid=65534 --clear-groups mkdir -m 777 "$planted" && echo ours >"$planted/file"
	mkdir "$results/linked" && echo ours >"$results/linked/file" && ln -s "$results/linked" "$link"
	for ((i = 0; i < 600; i++)); do
		grep -qsF "$(basename "${dir%.*}")" /proc/[0-9]*/cmdline || break
		sleep 0.1
	done
	ls "$dir" && ! compgen -G "/dev/shm/warder-attack-$pid-*" && [ ! -e "$dir/$(basename "${dir%.*}")-outside" ] && cleans_up_after "$dir"
	status=$?
	[ "$(cat "$planted/file" "$link/file")" = $'ours\nours' ] || status=1
	rm -r "$planted" "$link"
	"$warder" doctor --clean | tail -n 3
	return "$status"
}

# The message queues of the host, where /dev/mqueue need not be mounted.
queues() {
	# shellcheck disable=SC2016 # for the inner shell
	unshare --mount --propagation private sh -c 'mount -t mqueue mqueue "$1" && ls "$1"' - "$results/queues"
}

# Killed together with the program outside whose queue and segment others are to find. An ordinary user's attack has the host's namespace
# of them: there the next attack removes the queue.
leaves_no_queue() {
	local pid each before
	before=$(wc -l </proc/sysvipc/shm)
	mkdir -p "$results/queues"
	begin "$@"
	each=$(grep -slzF "neighbour=warder-attack-$pid-" /proc/[0-9]*/cmdline | tr -dc '0-9\n')
	echo "driver $pid, neighbours" "$each"
	# A neighbour that sees the end of its driver would take the queue away: so the driver stands still, and ends last.
	# shellcheck disable=SC2086 # a list of words
	kill -STOP "$pid" && kill -KILL $each
	kill -KILL "$pid"
	wait "$pid"
	queues
	[ "$(wc -l </proc/sysvipc/shm)" = "$before" ] || return
	if [ $# != 0 ]; then
		queues | grep "^warder-attack-$pid-" && cleans_up_after /nowhere "$@"
	fi
	! queues | grep "^warder-attack-$pid-"
}

# The next attack, ended as soon as it has begun.
cleans_up_after() {
	local pid
	begin "${@:2}"
	kill -TERM "$pid"
	wait "$pid"
	[ ! -e "$1" ]
}

# What attacks that are over may have put into directories that are everybody's; fails if there is nothing.
left() {
	local path pid found=1
	for path in /tmp/warder-att* /dev/shm/warder-att*; do
		pid=${path#*/warder-attack-}
		[ -e "$path" ] && [ ! -e "/proc/${pid%%[!0-9]*}/stat" ] && echo "$path" && found=0
	done
	return $found
}

# Attempts that run outside use names that everybody can know: another user has links there, to a file that
# only we may change. What the attempts are to do they do all the same, elsewhere.
follows_no_link() {
	local target=$results/target before status=0 row
	local names="/tmp/warder-attempt-suid /tmp/warder-attempt-node /tmp/warder-attempt-hole
		/tmp/warder-attempt-copy /tmp/warder-attempt-link /tmp/warder-attempt-a /tmp/warder-attempt-env
		/tmp/warder-attempt-0 /tmp/warder-planted /dev/shm/warder-attempt-copy /dev/shm/warder-planted /tmp/warder-attempt"
	chmod 711 "$results"
	echo untouched >"$target" && chmod 600 "$target"
	before=$(stat -c '%a %u %s %Y %Z' "$target")
	mkdir "$results/dir"
	echo secret >"$results/dir/secret"
	for name in $names; do
		if [ -e "$name" ]; then
			echo "$name is there already"
			names=$(tr -s " \t" "\n" <<<"$names" | grep -vxF "$name")
			continue
		fi
		setpriv --reuid=65534 --regid=65534 --clear-groups ln -sT "$target" "$name" || return
	done
	for row in set-suid-bit create-suid-file make-character-device write-beyond-file-size execute-from-tmp execute-from-shm chroot \
		mount-tmpfs fill-tmp read-file-by-link read-file-by-moved-directory; do
		"$attempts" --outside $row dir="$results/dir" file-size=100000 tmp=100000 | tee "$results/answer"
		grep -q "^$row.reached" "$results/answer" || status=1
	done
	"$attempts" --outside link-into-tmp dir="$results/dir"
	"$attempts" --neighbour neighbour=warder-planted dir="$results/dir" outside=1 </dev/null || status=1
	for name in $names; do
		[ "$(readlink "$name")" = "$target" ] || { echo "$name is gone" && status=1; }
	done
	# shellcheck disable=SC2086 # a list of words
	rm -f $names
	ls "$results/dir"
	[ "$(ls "$results/dir")" = secret ] || status=1
	stat -c '%a %u %s %Y %Z' "$target"
	[ "$before" = "$(stat -c '%a %u %s %Y %Z' "$target")" ] && [ $status = 0 ]
}

# What lines() says of a result that ends too early, or is none.
refuses_no_result() {
	! lines strict true "" 0 </dev/null && ! lines strict true "" 0 <<<'{"attempts": [{"name": "a"}]}' && ! lines strict true "" 0 <<<'{}'
}

test_driver() {
	local expected="stopped stopped
not-stopped open
by-something-else open
silent open
proves-nothing unproved
untried untried
not-run-outside stopped
needs-host-network open
killed stopped
fails-otherwise unproved
dies-outside unproved
leaves-something open
allowed-and-still-there open"
	mkdir "$scratch/stand-in"
	stand_in_tool=$scratch/stand-in/warder
	cp "$warder" "$stand_in_tool"
	stand_in >"$stand_in_tool-attempts"
	chmod -R 755 "$scratch"
	check "driver: no result is no success" refuses_no_result
	check "driver: judges by what inside and outside answer" judges "$expected" 1
	check "driver: judges by the policy" judges "${expected/network open/network allowed}" 1 --net host
	sed -i '/row .*\(not-stopped\|else\|silent\|needs\|leaves\|there\)/d' "$stand_in_tool-attempts"
	check "driver: ends with 0 where nothing is open" judges "$(grep -E 'stopped$|unproved$|untried' <<<"$expected" )" 0
	cp "$stand_in_tool-attempts" "$results/before"
	stand_in_beside >"$stand_in_tool-attempts"
	check "driver: judges by what comes of executions beside" judges "harmless stopped
meets stopped
beside stopped
forges open
spoils open" 1 --session
	check "driver: without a session nothing is beside" judges "harmless stopped
spoils stopped" 0
	stand_in_pooled >"$stand_in_tool-attempts"
	check "driver: hands out parked jails, but none that was changed" judges "handed stopped
raised stopped
killed stopped
follows stopped
ends open
changes open" 1
	sed -i 's/ && row ends EPERM parked//' "$stand_in_tool-attempts"
	check "driver: the parked jail must be unchanged at the end" finds_change
	cat "$results/before" >"$stand_in_tool-attempts"
	check "driver: refuses a table with words that it does not know" refuses_unknown_words
	check "driver: waits for no endless list" gives_up_list
	check "driver: says where the program should be" refuses_without_program
}

# ---- images that somebody hostile made ----

# import KIND: an image of this kind, called hostile, in a store of its own; what was said of it is in $results/said. layers.py
# tells of the kinds.
import_hostile() {
	rm -rf "$results/layout" && python3 tests/lib/layers.py "$results/layout" "$1" || return
	"$warder" image import "$results/layout" hostile --replace 2>&1 | tee "$results/said"
}

# refused KIND WORDS: it does not get into the store, for this reason.
refused() {
	! import_hostile "$1" && grep -qF -- "$2" "$results/said"
}

# What a program in such an image has got, a line for each.
# shellcheck disable=SC2016 # for the shell in the image
looks='
	for at in "" / /out /proc /dev /tmp /etc /sys /run /usr /begin /workspace; do
		[ ! -e "$at/$1" ] && [ ! -e "$at$2/$1" ] || echo "the secret, by $at"
	done
	[ ! -L /proc ] && [ -e /proc/self/status ] || echo "another /proc"
	[ ! -L /dev ] && [ -c /dev/null ] && [ "$(stat -c %t:%T /dev/null)" = 1:3 ] || echo "another /dev"
	[ ! -L /tmp ] && echo planted >/tmp/warder-planted || echo "another /tmp"
	[ ! -L /workspace ] && [ "$(cat /workspace/token)" = token ] || echo "another workspace"
	[ ! -u /bin/suid ] || echo "a set-user-ID file"
	for node in /null /mem /disk; do
		! head -c 1 "$node" >/dev/null 2>&1 || echo "the device $node"
	done
	for at in "" /out /sys /run /usr /begin; do
		echo planted >"$at/warder-planted"
	done
	echo "looked around"'

# What runs in the image has got nothing, and where its links lead nothing has changed.
reaches_nothing() {
	# shellcheck disable=SC2046 # a list of words
	"$warder" run $($root || echo "$preferred") --view image:hostile --workspace "$results/space:ro" -- \
		/bin/busybox sh -c "$looks" - secret-of-the-host "$results/target" 2>"$results/said" | tee "$results/found"
	cat "$results/said"
	[ "$(cat "$results/found")" = "looked around" ] && [ "$(ls -A "$results/target")" = secret-of-the-host ] && [ ! -e /srv/warder-planted ]
}

harmless() {
	import_hostile "$1" && reaches_nothing
}

# A device that an import would have refused, put into the store by its owner: it works there, and not in a jail.
device_in_store() {
	local tree
	import_hostile set-user-id || return
	for tree in "$WARDER_STORE"/images/layers/*/tree; do
		rm -f "$tree/null"
		mknod -m 666 "$tree/null" c 1 3 && : >"$tree/null" || return
	done
	reaches_nothing
}

# Where the store lies, for whoever has a node.
devices_work() {
	mknod -m 666 "$results/null" c 1 3 && { : >"$results/null"; } 2>/dev/null
}

hostile_images() {
	local WARDER_STORE=$results/store where
	export WARDER_STORE
	mkdir "$results/target" "$results/space" && echo token >"$results/space/token" && : >"$results/target/secret-of-the-host"
	check "image: a set-user-ID file is none any more" harmless set-user-id
	check "image: a file below a link to the host" harmless through
	check "image: programs begin below a link to the host" harmless directory
	for where in proc dev tmp sys run usr workspace; do
		check "image: /$where is a link to the host" harmless "links-$where=$results/target"
		check "image: /$where is a link to process 1" harmless "links-$where=/proc/1/root"
		check "image: /$where is a link out of the image" refused "links-$where=../.." "leads out of the image"
	done
	check "image: devices" refused devices "is a device"
	check "image: attributes of overlays" refused attributes "an attribute of overlayfs"
	check "image: a hard link to a file of the host" refused hard-link "a file outside the layer"
	check "image: whiteouts without a name" refused whiteouts "is a whiteout without a name"
	if $root && devices_work; then
		check "image: a device that its owner put into the store" device_in_store
	elif $root; then
		skip "image: a device that its owner put into the store" "proves nothing here: needs devices that work in $results"
	fi
	check "image: one to be attacked" import_hostile opaque
	# shellcheck disable=SC2086 # lists of words
	! $root || $uml || attack image false "$speculation $of_images" 200 $small --view image:hostile
}

# ---- the attempts ----

# shellcheck disable=SC2086 # lists of words
# User-mode Linux is ten times slower: one policy there.
if $root; then
	attack strict true "$home $speculation" 200 $small
	$uml || attack agent false "$home $default $speculation $terminals $compat write-workspace route-to-loopback netlink-route" 200 \
		$small --preset agent --net loopback --set syscalls.profile=compat
	$uml || attack "strict, in a session" false "$home $speculation" 200 $small --session
	$uml || attack "agent, in a session" false "$home $default $speculation $terminals $compat write-workspace route-to-loopback netlink-route" 200 \
		$small --session --preset agent --net loopback --set syscalls.profile=compat
	$uml || attack "allow-list" false "$home $speculation $listed" 200 $small --net allow --allow attempt.example:8443
	$uml || attack "allow-list of a port of every name" false "$home $speculation $listed" 200 $small --net allow --allow '*.example:80,443'
	$uml || attack "strict profile, host network" false "$home $speculation $network read-callers-environment" 200 $small --net host \
		--set syscalls.profile=strict --set syscalls.onViolation=kill --set environment.mode=host
else
	attack strict true "$home $speculation $unlimited share-neighbours-id share-parked-id keep-groups" 100 $preferred
	attack "agent, in a session" false "$home $default $speculation $terminals $compat $unlimited $unlimited_together share-neighbours-id keep-groups write-workspace
		route-to-loopback netlink-route" 100 $preferred --session --preset agent --net loopback --set syscalls.profile=compat
	attack agent false "$home $default $speculation $terminals $compat $unlimited share-neighbours-id share-parked-id keep-groups write-workspace route-to-loopback netlink-route" 100 \
		$preferred --preset agent --net loopback --set syscalls.profile=compat
fi
if [ -x /bin/busybox ] && [ -x "$(dirname "$attempts")/warder-store" ]; then
	hostile_images
else
	skip "images that somebody hostile made" "there is no busybox, or no warder-store"
fi
if $root; then
	check "driver: an attack leaves nothing" eval '! left'
	check "driver: an interrupted attack leaves nothing" cleans_up
	check "driver: the next attack removes what a killed one left" cleans_up_later
	check "driver: a killed attack leaves no segment and no message queue" leaves_no_queue
	check "driver: an ordinary user's next attack removes them" leaves_no_queue setpriv --reuid=65534 --regid=65534 --clear-groups
	check "driver: attempts outside follow no link of others" follows_no_link
	[ -n "$scratch" ] || { scratch=$(mktemp -d /srv/warder-escape.XXXXXX) && chmod 755 "$scratch"; }
	test_driver
fi
tap_end
