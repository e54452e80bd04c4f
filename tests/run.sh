#!/bin/bash
# run.sh [check|deep|root|user|asan|tsan|vm|soak]: build what is needed, run the suites, print a table of suite and environment,
# and as the last line "N passed, N failed, N skipped" over everything. Exits with 1 if anything failed.
#
# `check` is what every change must pass, in less than 20 minutes on two processors. `deep` is all of it and what takes longer: the static
# analyzers, the mechanisms under sanitizers, and the suites that repeat in a guest kernel, or as an ordinary user, what another suite of `check` covers.
#
# Suites run side by side, the longest first, twice as many as there are processors, because they wait for much of their time. As many run
# beside them of those that hardly need a processor. WARDER_TEST_LANES: how many of each; 1 is one after the other. Each suite prints a line
# when it starts and when it ends.
#
# Every suite speaks TAP on its standard output. In the strict environments (root, soak, asan, tsan, uml, and vmSERIES: Debian's kernel
# of that series in qemu, with -v1 on control groups of v1) a skip that is not in tests/expected-skips counts as failed: there
# everything is meant to be tried. Results stay in build/check/ until their environment runs again: `make assurance` puts those of
# several kinds of run together.
#
# `vm` runs root's suites on this host and on every kernel there is a guest for, and prints a table of kernel and suite as well. `vm` and
# `deep` print which attempts of the escape suite each environment proved.
# WARDER_VM_ON: which of them (root uml vm6.12 vm6.1 vm6.1-v1; root is this host).
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
here=tests/lib
results=build/check
jobs=$(nproc)
lanes=${WARDER_TEST_LANES:-$((2 * jobs))}
# Suites share processors, so they are as much slower as WARDER_TEST_SLOW tells them.
slow=${WARDER_TEST_SLOW:-$((lanes > 1 ? (lanes + jobs) / jobs : 1))}
export WARDER_TEST_SLOW=$slow
make=${MAKE:-make}
mkdir -p "$results" && rm -f "$results"/table || exit 1

# ---- results ----

# verdict ENVIRONMENT SUITE SECONDS PROCESSOR-SECONDS: count a TAP file, show what failed and what was skipped, add a row to
# the table.
verdict() {
	local tap=$results/$1.$2.tap
	awk -v environment="$1" -v suite="$2" -v seconds="$3" -v processor="$4" -v table="$results/table" -v allow=tests/expected-skips '
		BEGIN {
			strict = environment ~ /^(root|soak|asan|tsan|uml|vm.*)$/
			while ((getline line < allow) > 0)
				if (line !~ /^(#|$)/) {
					split(line, cell, /  +/)
					if (environment ~ "^(" cell[1] ")$")
						expected[cell[2]] = cell[3]
				}
		}
		function is_expected(text,    pattern) {
			for (pattern in expected)
				if (index(text, pattern))
					return 1
			return 0
		}
		/^1\.\.[0-9]+/ { planned = substr($0, 4) + 0; have_plan = 1 }
		/^not ok/ { failed++; ran++; show = 1; print "FAILED  " environment " " suite ": " substr($0, index($0, "- ") + 2); next }
		/^ok/ && / # SKIP/ {
			ran++
			show = 0
			text = substr($0, index($0, "- ") + 2)
			sub(/ +# SKIP */, ": ", text)
			if (strict && !is_expected(text)) {
				failed++
				print "FAILED  " environment " " suite ": unexpected skip: " text
			} else {
				skipped++
				why = text
				sub(/^.*: /, "", why)
				if (!(why in skips))
					reason[++reasons] = why
				skips[why]++
				example[why] = text
			}
			next
		}
		/^ok/ { passed++; ran++; show = 0; next }
		/^# note: / { print "note    " environment " " suite ": " substr($0, 9); next }
		/^#/ && show { print "    " $0 }
		END {
			if (!have_plan || planned != ran) {
				failed++
				printf "FAILED  %s %s: the suite stopped early (%d of %s tests)\n", environment, suite, ran,
				       have_plan ? planned : "an unknown number of"
			}
			for (i = 1; i <= reasons; i++)
				if (skips[reason[i]] == 1)
					print "skipped " environment " " suite ": " example[reason[i]]
				else
					print "skipped " environment " " suite ": " skips[reason[i]] " tests: " reason[i]
			printf "ended   %s %s: %d passed, %d failed, %d skipped, %d s\n", environment, suite, passed, failed, skipped, seconds
			printf "%s %s %d %d %d %d %d\n", suite, environment, passed, failed, skipped, seconds, processor >>table
			exit failed > 0
		}' "$tap" || tail -n 40 "$results/$1.$2.log" | sed 's/^/    | /'
}

# How long suites take, roughly, in seconds on a quiet processor: what is long begins early, or it is waited for at the end.
declare -A length=([analyze]=1200 [sanitizers]=1000 [transcript]=500 [sessions]=450 [stuck]=250 [mechanism]=330 [conformance]=220 [fault]=210 [engines]=200 [escape]=190
	[images]=180 [clang]=170 [languages]=150 [lint]=140 [workspaces]=120 [containers]=110 [network]=100 [clients]=90
	[remote]=260 [fleet]=150 [remote-e2b]=130 [deb]=110 [host-limits]=90 [uml.transcript]=1200
	[asan.mechanism]=109 [asan.unit]=108) # not before their build has ended

# Suites that wait for the clocks of hosts, workers and clients, and use a tenth of a processor.
waiting=(stuck sessions remote remote-e2b fleet host{,-limits,-snapshots,-kills,-api,-users,-judge,-events,-parked,-artifacts,-mcp,-load,-service,-domain,-nginx}
	e2b{,-client{,-1.5.1,-2.0.0,-2.3.3,-2.6.1,-2.7.2,-2.8.0}} mcp-client page)

planned=()
# suite ENVIRONMENT NAME COMMAND...: to be run by run_lanes.
suite() {
	local kind=computes
	[ "$lanes" = 1 ] || case " ${waiting[*]} " in *" $2 "*) kind=waits ;; esac
	planned+=("${length[$1.$2]:-${length[$2]:-60}} $kind$(printf ' %q' "$@")")
}

# deep_suite ENVIRONMENT NAME COMMAND...: one that `check` leaves out.
deep_suite() {
	[ "$what" = check ] || suite "$@"
}

declare -A lane=() running=([computes]=0 [waits]=0)
# Run the suites that are planned, each as soon as a lane of its kind is free, and wait for them. All of it is in this shell, so that no suite
# starts after this shell has died.
run_lanes() {
	local rows=() each row kind environment name
	[ ${#planned[@]} = 0 ] || mapfile -t rows < <(printf '%s\n' "${planned[@]}" | sort -s -k 1,1nr)
	while [ $((${#rows[@]} + ${#lane[@]})) -gt 0 ]; do
		for each in "${!rows[@]}"; do
			row=${rows[each]}
			read -r _ kind environment name _ <<<"$row"
			[ "${running[$kind]}" -lt "$lanes" ] || continue
			eval "run_suite ${row#* * }" &
			lane[$!]="$kind $environment $name"
			running[$kind]=$((running[$kind] + 1))
			unset "rows[each]"
		done
		free_lane
	done
	planned=()
}

# Waits until one of the suites that run in lanes has ended. Others may wait for its row in the table, so it gets one in any case.
free_lane() {
	local ended='' kind environment name
	wait -n -p ended "${!lane[@]}"
	for ended in ${ended:-"${!lane[@]}"}; do
		read -r kind environment name <<<"${lane[$ended]}"
		unset "lane[$ended]"
		running[$kind]=$((running[$kind] - 1))
		grep -qs "^$name $environment " "$results/table" && continue
		echo "FAILED  $environment $name: it ended without a result"
		echo "$name $environment 0 1 0 0 0" >>"$results/table"
	done
}

# run_suite ENVIRONMENT NAME COMMAND...: run it now. What it prints is kept together.
run_suite() {
	local environment=$1 name=$2 start=$SECONDS TIMEFORMAT='%U %S' user system
	shift 2
	echo "started $environment $name"
	{ time "$@" >"$results/$environment.$name.tap" 2>"$results/$environment.$name.log" </dev/null; } 2>"$results/$environment.$name.time"
	read -r user system <"$results/$environment.$name.time"
	rm -f "$results/$environment.$name.time"
	exec {told}>>"$results/table" && flock "$told"
	verdict "$environment" "$name" $((SECONDS - start)) $((${user%.*} + ${system%.*}))
	exec {told}>&-
}

# A whole suite that cannot be tried here counts as one skipped test.
no_suite() {
	printf 'ok 1 - all of it # SKIP %s\n1..1\n' "$3" >"$results/$1.$2.tap"
	: >"$results/$1.$2.log"
	verdict "$1" "$2" 0 0
}

table() {
	sort -s -k 2,2 "$results/table" | awk '
		BEGIN { printf "\n%-12s %-8s %8s %8s %8s %9s %10s\n", "suite", "where", "passed", "failed", "skipped", "seconds", "processor" }
		{
			printf "%-12s %-8s %8d %8d %8d %9d %10d\n", $1, $2, $3, $4, $5, $6, $7
			passed += $3; failed += $4; skipped += $5
		}
		END {
			printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped
			exit failed > 0 || passed == 0
		}'
}

# The table of `vm`: what is known of each environment's kernel, and the rows of the suites that ran there.
matrix() {
	awk -F '\t' '
		BEGIN { printf "\n%-30s %-14s %-12s %8s %8s %8s %9s\n", "kernel", "cgroup driver", "suite", "passed", "failed", "skipped", "seconds" }
		FILENAME ~ /[.]where$/ { kernel[$1] = $2; driver[$1] = $3; next }
		{
			split($0, cell, " ")
			if (cell[2] in kernel && cell[2] != "host")
				printf "%-30s %-14s %-12s %8d %8d %8d %9d\n", kernel[cell[2]], driver[cell[2]], cell[1],
				       cell[3], cell[4], cell[5], cell[6]
		}' "$results"/*.where <(sort -s -k 2,2 "$results/table")
}

# The table of attempts and environments. Fails if an attempt is proved nowhere, without a reason in docs/threat-model.md.
proofs() {
	local environment answer=ok found=()
	for environment in root user uml vm6.12 vm6.1 vm6.1-v1; do
		! grep -qs '^ok .*\[files\]' "$results/$environment.escape.tap" || found+=("$environment=$results/$environment.escape.tap")
	done
	[ ${#found[@]} -gt 0 ] || return
	tests/escape/proofs.py build/gcc/warder-attempts "${found[@]}" || answer="not ok"
	printf '%s 1 - every attempt is proved somewhere, or docs/threat-model.md says why not\n1..1\n' "$answer" >"$results/host.proofs.tap"
	: >"$results/host.proofs.log"
	verdict host proofs 0 0
}

# ---- who runs it ----

# as_root COMMAND...: run it as root, with the same environment. Without root and sudo: `can_be_root` is false.
if [ "$(id -u)" = 0 ]; then
	can_be_root=true
	as_root() { "$@"; }
elif sudo -n true 2>/dev/null || { [ -t 0 ] && command -v sudo >/dev/null && sudo -v; }; then
	can_be_root=true
	as_root() { sudo -n env "PATH=$PATH" "WARDER_TEST_SLOW=$slow" "$@"; }
else
	can_be_root=false
fi

user_home=
had_run=$(find /run/warder -maxdepth 0 2>/dev/null)
# Root's suites mount a directory of their own over /run/warder. Removing it would take the mounts of another run away.
clear_up() {
	[ -z "$user_home" ] || rm -rf "$user_home"
	[ -n "$had_run" ] || ! $can_be_root ||
		as_root sh -c "grep -qs ' /run/warder ' /proc/[0-9]*/mountinfo || rmdir /run/warder" 2>/dev/null
}
trap clear_up EXIT

# as_user COMMAND...: run it as an ordinary user: the caller, or for root the account games, which every Debian has. Not nobody: the kernel
# shows its number in place of every user that a user namespace does not have, so it can be no tenant. The home directory is new: other
# users may have left files in a common one.
if [ "$(id -u)" = 0 ]; then
	user_home=$(mktemp -d /tmp/warder-user.XXXXXX) && chown 5:60 "$user_home" || exit 1
	as_user() { setpriv --reuid=5 --regid=60 --clear-groups env HOME="$user_home" "$@"; }
else
	as_user() { "$@"; }
fi

# ---- builds ----

build_steps() {
	local name
	. tests/lib/tap.sh
	for name in "$@"; do
		# shellcheck disable=SC2046 # the targets are words
		case $name in
		gcc) check "gcc, warnings are errors" "$make" -s -j"$jobs" BUILD=build/gcc WERROR=-Werror all test-programs guest-programs fault-programs ;;
		clang) check "clang, warnings are errors" "$make" -s -j"$jobs" BUILD=build/clang CC=clang OPT=-O1 WERROR=-Werror \
			$($deep && echo lib test-programs fault-programs) syntax ;;
		asan) check "address and undefined-behaviour sanitizers" "$make" -s -j"$jobs" \
			ASAN_PROGRAMS="$([ "$what" = check ] && echo unit || echo test)-programs" asan-programs ;;
		tsan) check "thread sanitizer" "$make" -s -j"$jobs" tsan-programs ;;
		esac
	done
	tap_end
}

programs() {
	local layer=$1 build=$2
	find "$build/tests/$layer" -type f -executable -name 'test_*' | sort
}

# ---- where it runs ----

# To be run on a kernel: its release and, out of what warder doctor tells of control groups, the versions in use.
describe="uname -r; build/gcc/warder doctor | awk '
	/^[A-Z]/ { here = /^Control groups/ }
	here && \$1 == \"yes\" { while (match(\$0, /v[12],/)) { seen[substr(\$0, RSTART, 2)]; \$0 = substr(\$0, RSTART + 3) } }
	END { print (\"v1\" in seen ? \"v1\" : \"\") (\"v1\" in seen && \"v2\" in seen ? \" and \" : \"\") (\"v2\" in seen ? \"v2\" : \"\") }'"

# begin ENVIRONMENT LABEL: forget what it left when it ran before, and record its kernel (the description is on standard input),
# the sources and the day.
begin() {
	local release driver
	read -r release
	read -r driver
	rm -f "$results/$1".*
	printf '%s\t%s\t%s\t%s\n' "$1" "${release:-none} $2" "${driver:-none}" "$("$here/sources.sh")" >"$results/$1.where"
}

begin_here() {
	begin "$1" "(this host)" < <(if $can_be_root; then as_root bash -c "$describe"; else bash -c "$describe"; fi)
}

# ---- suites on this host ----

# tests ENVIRONMENT RUNNER BUILD LAYER...
tests() {
	local environment=$1 runner=$2 build=$3 layer
	shift 3
	for layer in "$@"; do
		suite "$environment" "$layer" run_layer "$runner" "$build" "$layer"
	done
}

run_layer() {
	local again=no
	[ "$3" = unit ] && again=yes
	built "$2"
	# shellcheck disable=SC2046 # names of our own, without blanks
	"$1" env "AGAIN=$again" "$here/criterion.sh" $(programs "$3" "$2")
}

# built BUILD: wait until it is. Programs with sanitizers are compiled beside the first suites, which leave processors idle.
built() {
	case $1 in
	build/asan | build/tsan)
		until grep -qs '^sanitizers ' "$results/table"; do
			sleep 1
		done
		;;
	esac
}

# As root, all transcripts are too much for one lane: those of processes that do not die, which hardly need a processor, those of what outlives
# a command or waits for input, and the others.
stuck=$(printf '%s\n' tests/transcript/{pause,stuck}*.t)
sessions=$(printf '%s\n' tests/transcript/{attach,context,detach,mcp,notebook,service,session,terminal,workspace_session}*.t)
commands=$(printf '%s\n' tests/transcript/*.t | grep -vxF "$stuck"$'\n'"$sessions")

# faults ENVIRONMENT RUNNER [NAME=VALUE]
faults() {
	local environment=$1 runner=$2
	shift 2
	# shellcheck disable=SC2046 # names of our own, without blanks
	suite "$environment" fault "$runner" env WARDER=build/gcc/warder TEST_TIMEOUT=900 "$@" "$here/criterion.sh" $(programs fault build/gcc)
}

run_root() {
	begin_here root
	if ! $can_be_root; then
		no_suite root mechanism "not root, and sudo does not let us"
		no_suite root transcript "not root, and sudo does not let us"
		no_suite root sessions "not root, and sudo does not let us"
		no_suite root stuck "not root, and sudo does not let us"
		return
	fi
	tests root as_root build/gcc unit mechanism
	# shellcheck disable=SC2086 # names of our own, without blanks
	suite root transcript as_root env WARDER=build/gcc/warder $soaking tests/transcript/run.sh $commands
	# shellcheck disable=SC2086
	suite root sessions as_root env WARDER=build/gcc/warder $soaking tests/transcript/run.sh $sessions
	# shellcheck disable=SC2086
	suite root stuck as_root env WARDER=build/gcc/warder tests/transcript/run.sh $stuck
	faults root as_root
	suite root escape as_root env WARDER=build/gcc/warder tests/escape/run.sh
	suite root languages as_root env WARDER=build/gcc/warder tests/languages/run.sh
	suite root programs as_root env WARDER=build/gcc/warder tests/programs/run.sh
	suite root workspaces as_root env WARDER=build/gcc/warder tests/workspaces/run.sh
	suite root conformance as_root env WARDER=build/gcc/warder WARDER_MATRIX="$results/matrix.md" tests/engines/docker.sh tests/conformance/run.py
	suite root e2b as_root env WARDER=build/gcc/warder tests/host/e2b.py
	suite root containers as_root env WARDER=build/gcc/warder tests/containers/run.py
	suite root host as_root env WARDER=build/gcc/warder tests/host/run.py
	suite root host-limits as_root env WARDER=build/gcc/warder tests/host/limits.py
	suite root host-snapshots as_root env WARDER=build/gcc/warder tests/host/snapshots.py
	suite root host-kills as_root env WARDER=build/gcc/warder tests/host/kills.py
	suite root host-api as_root env WARDER=build/gcc/warder tests/host/api.py
	suite root host-users as_root env WARDER=build/gcc/warder tests/host/users.py
	suite root host-judge as_root env WARDER=build/gcc/warder tests/host/judge.py
	suite root host-events as_root env WARDER=build/gcc/warder tests/host/events.py
	suite root host-parked as_root env WARDER=build/gcc/warder tests/host/parked.py
	suite root host-artifacts as_root env WARDER=build/gcc/warder tests/host/artifacts.py
	suite root host-mcp as_root env WARDER=build/gcc/warder tests/host/mcp.py
	! $deep || suite root host-load as_root env WARDER=build/gcc/warder tests/host/load.py
	suite root host-service as_root env WARDER=build/gcc/warder tests/host/service.py
	suite root host-domain as_root env WARDER=build/gcc/warder tests/host/domain.py
	suite root host-nginx as_root env WARDER=build/gcc/warder tests/host/nginx.py
	suite root remote as_root env WARDER=build/gcc/warder tests/remote/run.py
	suite root fleet as_root env WARDER=build/gcc/warder tests/fleet/run.py
	suite root remote-e2b as_root env WARDER=build/gcc/warder tests/remote/e2b.py
	deep_suite root engines as_root env WARDER=build/gcc/warder tests/engines/docker.sh tests/engines/run.py
	suite root images as_root env WARDER=build/gcc/warder tests/images/run.sh
	suite root network as_root env WARDER=build/gcc/warder tests/engines/docker.sh tests/network/run.sh
	suite root clients as_root env WARDER=build/gcc/warder tests/network/clients.sh
	suite root mcp-client as_root env WARDER=build/gcc/warder tests/sdk/run.sh mcp
	suite root e2b-client as_root env WARDER=build/gcc/warder tests/sdk/run.sh e2b
	for version in 1.5.1 2.0.0 2.3.3 2.6.1 2.7.2 2.8.0; do
		suite root "e2b-client-$version" as_root env WARDER=build/gcc/warder tests/sdk/run.sh "e2b-$version"
	done
	suite root page as_root env WARDER=build/gcc/warder tests/sdk/run.sh page
	suite root inject as_root env WARDER=build/gcc/warder tests/engines/docker.sh tests/network/inject.sh
	suite root fetch as_root env WARDER=build/gcc/warder tests/network/fetch.sh
	suite root install as_root tests/install.sh build/gcc
	# shellcheck disable=SC2086
	suite root deb as_root env $soaking tests/deb.sh build/gcc
}

run_user() {
	begin_here user
	# By its whole path: a relative one is not stopped by a directory above this one, such as /root.
	if ! as_user test -x "$PWD/build/gcc/warder"; then
		no_suite user all "the account games cannot reach this directory: check out below /srv, for example"
		return
	fi
	tests user as_user build/gcc mechanism
	# Paths of sockets are short, and those below the new home directory may be too long.
	suite user transcript as_user env WARDER=build/gcc/warder ${user_home:+WARDER_TEST_DIR="${WARDER_TEST_DIR:-/tmp}"} $soaking tests/transcript/run.sh
	[ "$what" = check ] || faults user as_user
	deep_suite user conformance as_user env WARDER=build/gcc/warder tests/conformance/run.py
	suite user containers as_user env WARDER=build/gcc/warder tests/containers/run.py
	suite user host as_user env WARDER=build/gcc/warder tests/host/run.py
	suite user host-limits as_user env WARDER=build/gcc/warder tests/host/limits.py
	suite user host-api as_user env WARDER=build/gcc/warder tests/host/api.py
	suite user host-users as_user env WARDER=build/gcc/warder tests/host/users.py
	deep_suite user host-judge as_user env WARDER=build/gcc/warder tests/host/judge.py
	deep_suite user host-events as_user env WARDER=build/gcc/warder tests/host/events.py
	suite user host-parked as_user env WARDER=build/gcc/warder tests/host/parked.py
	deep_suite user host-artifacts as_user env WARDER=build/gcc/warder tests/host/artifacts.py
	deep_suite user host-mcp as_user env WARDER=build/gcc/warder tests/host/mcp.py
	deep_suite user host-snapshots as_user env WARDER=build/gcc/warder tests/host/snapshots.py
	suite user host-service as_user env WARDER=build/gcc/warder tests/host/service.py
	suite user host-domain as_user env WARDER=build/gcc/warder tests/host/domain.py
	deep_suite user host-nginx as_user env WARDER=build/gcc/warder tests/host/nginx.py
	deep_suite user remote as_user env WARDER=build/gcc/warder tests/remote/run.py
	deep_suite user fleet as_user env WARDER=build/gcc/warder tests/fleet/run.py
	deep_suite user remote-e2b as_user env WARDER=build/gcc/warder tests/remote/e2b.py
	suite user escape as_user env WARDER=build/gcc/warder tests/escape/run.sh
	suite user languages as_user env WARDER=build/gcc/warder tests/languages/run.sh
	deep_suite user programs as_user env WARDER=build/gcc/warder tests/programs/run.sh
	deep_suite user workspaces as_user env WARDER=build/gcc/warder WARDER_RACES=100 WARDER_KILLS=12 tests/workspaces/run.sh
	deep_suite user images as_user env WARDER=build/gcc/warder tests/images/run.sh
}

# Not local: the suites of a queue run after run_asan has returned.
asan_options=(env ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1)
in_asan() { as_root "${asan_options[@]}" "$@"; }
replay_asan() {
	built build/asan
	"${asan_options[@]}" tests/fuzz/run.sh replay build/asan
}

run_asan() {
	begin_here asan
	if $can_be_root; then
		tests asan in_asan build/asan unit
		[ "$what" = check ] || tests asan in_asan build/asan mechanism
	else
		no_suite asan unit "not root, and sudo does not let us"
		no_suite asan mechanism "not root, and sudo does not let us"
	fi
	suite asan corpus replay_asan
}

# The library in many threads. The first report ends a test. Without setarch this sanitizer does not start where the kernel
# moves a program's parts farther than its shadow memory allows.
run_tsan() {
	begin_here tsan
	if $can_be_root; then
		suite tsan threads run_threads
	else
		no_suite tsan threads "not root, and sudo does not let us"
	fi
}

run_threads() {
	local still=()
	! setarch -R true 2>/dev/null || still=(setarch -R)
	built build/tsan
	# shellcheck disable=SC2046 # names of our own, without blanks
	as_root env TSAN_OPTIONS=halt_on_error=1:exitcode=66 "${still[@]}" "$here/criterion.sh" $(programs guest build/tsan)
}

# ---- root's suites on other kernels ----

# The suites that ask something of the kernel. Images, workspaces and 10,000 connections would take hours in an emulator; the compilers of
# `languages`, and `install`, ask nothing that these do not. `check` runs the three that compare Warder with the kernel itself.
guest_suites=(transcript conformance escape mechanism fault)
uml_suites=(images workspaces network)
quick_suites=(mechanism escape fault)

# The shell command that runs a suite on whatever kernel it finds itself on.
guest_command() {
	case $1 in
	mechanism) echo "$here/criterion.sh $(programs guest build/gcc | tr '\n' ' ')" ;;
	fault) echo "WARDER=build/gcc/warder WARDER_SHORT=1 TEST_TIMEOUT=600 $here/criterion.sh $(programs fault build/gcc | tr '\n' ' ')" ;;
	conformance) echo "WARDER=build/gcc/warder tests/conformance/run.py" ;;
	network) echo "WARDER=build/gcc/warder WARDER_NETWORK_CONNECTIONS=10000 tests/network/run.sh" ;;
	workspaces) echo "WARDER=build/gcc/warder WARDER_RACES=20 WARDER_KILLS=4 tests/workspaces/run.sh" ;;
	*) echo "WARDER=build/gcc/warder tests/$1/run.sh" ;;
	esac
}

# Where a process is killed while it forks, User-mode Linux frees memory that it has not set up yet, and panics: once more then.
# Podman's own processes end so every time.
# All transcripts take longer than the time that uml.sh gives by itself.
in_uml() {
	local -x WARDER_VM_TIMEOUT=${WARDER_VM_TIMEOUT:-5400}
	local kept status again
	kept=$(mktemp -d) || return 125
	for again in 2 1 0; do
		tests/vm/uml.sh "WARDER_WITHOUT=podman $1" >"$kept/out" 2>"$kept/err"
		status=$?
		if [ "$status" != 125 ] || [ "$again" = 0 ]; then break; fi
		grep -q 'Kernel panic - not syncing: Kernel mode fault' "$kept/err" || break
		echo "# note: the guest's kernel panicked after $(grep -cE '^(not )?ok ' "$kept/out") tests; once more"
		cat "$kept/err" >&2
	done
	cat "$kept/out" && cat "$kept/err" >&2
	rm -rf "$kept"
	return "$status"
}

# in_guest ENVIRONMENT COMMAND: boot the environment's kernel for one command.
in_guest() {
	local series=${1#vm} cgroup=v2
	[ "$1" != uml ] || { in_uml "$2"; return; }
	[ "$series" = "${series%-v1}" ] || cgroup=v1
	as_root env ${WARDER_VM_CACHE:+"WARDER_VM_CACHE=$WARDER_VM_CACHE"} WARDER_VM_SERIES="${series%-v1}" WARDER_VM_CGROUP="$cgroup" \
		WARDER_TEST_SLOW=$((10 * slow)) \
		tests/vm/qemu.sh "$2"
}

# run_guest ENVIRONMENT LABEL: one boot for each suite. A kernel that is not to be had is a skip of each.
run_guest() {
	local name why=
	in_guest "$1" "$describe" >"$results/description" 2>"$results/description.log"
	[ $? != 77 ] || why="cannot run here: $(tail -n 1 "$results/description.log")"
	begin "$1" "$2" <"$results/description"
	local suites=("${guest_suites[@]}")
	[ "$1" != uml ] || suites+=("${uml_suites[@]}")
	[ "$what" != check ] || suites=("${quick_suites[@]}")
	for name in "${suites[@]}"; do
		if [ -n "$why" ]; then
			no_suite "$1" "$name" "$why"
		else
			suite "$1" "$name" in_guest "$1" "$(guest_command "$name")"
		fi
	done
}

run_uml() {
	run_guest uml "(User-mode Linux)"
}

# A qemu guest uses one processor, so they fill the lanes like any suite.
run_vm() {
	local each
	for each in ${WARDER_VM_ON:-root uml vm6.12 vm6.1 vm6.1-v1}; do
		case $each in
		root) run_root ;;
		uml) run_uml ;;
		*) run_guest "$each" "(qemu)" ;;
		esac
	done
	run_lanes
	matrix
}

# A host with 1000 sandboxes, in a guest: so many jails do not belong on the kernel of a machine.
soak_sandboxes() {
	local -x WARDER_VM_MEMORY=6144
	in_uml true >"$results/description" 2>"$results/description.log"
	if [ $? = 77 ]; then
		no_suite soak host-thousand "cannot run here: $(tail -n 1 "$results/description.log")"
	else
		suite soak host-thousand in_uml "WARDER=build/gcc/warder tests/host/load.py thousand"
	fi
}

# Everything that `fault` only samples: every call, 500 kills, 300 jails at once, 5000 runs in a row. Also 1000 kills for memory, 10,000
# requests of a fleet whose workers and server are killed, and a host with 1000 sandboxes.
run_soak() {
	begin_here soak
	begin_here soak-user
	! $can_be_root || faults soak as_root WARDER_SOAK=1 TEST_TIMEOUT=7200
	! $can_be_root || suite soak memory as_root env WARDER_TEST_OOM_ROUNDS=1000 "$here/criterion.sh" build/gcc/tests/mechanism/test_cause
	! $can_be_root || suite soak fleet as_root env WARDER=build/gcc/warder WARDER_SOAK=1 tests/fleet/run.py storm
	soak_sandboxes
	! as_user test -x build/gcc/warder || faults soak-user as_user WARDER_SOAK=1 TEST_TIMEOUT=7200
}

# What makes no jail.
run_sources() {
	suite host lint tests/lint/run.sh
	suite host clang build_steps clang
	suite host rust tests/rust.sh
	! $deep || suite host analyze tests/lint/analyze.sh
}

# ---- what was asked for ----

what=${1:-check}
deep=false
soaking=
[ "$what" != deep ] || { deep=true && soaking=WARDER_SOAK=1; }
case $what in
check | deep)
	begin host "(this host)" < <(uname -r)
	run_suite host build build_steps gcc
	suite host sanitizers build_steps asan tsan
	run_sources
	run_uml
	run_root
	run_user
	run_asan
	run_tsan
	;;
root | user | vm | soak)
	run_suite host build build_steps gcc
	"run_$what"
	;;
asan | tsan)
	run_suite host sanitizers build_steps "$what"
	"run_$what"
	;;
*)
	echo "usage: run.sh [check|deep|root|user|asan|tsan|vm|soak]" >&2
	exit 2
	;;
esac
run_lanes
case $what in deep | vm) proofs ;; esac
table
