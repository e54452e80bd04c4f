#!/bin/sh
# Launch times of Warder, of the kernel's floor and of other sandboxes, interleaved in one run.
#
#   tests/bench/run.sh [-n ITERATIONS] [-s RATE_MS] [--with python] [--quick]
#
# Uses $BUILD (default build): $BUILD/warder (make tool) and $BUILD/libwarder.a (make lib), each left out when it is
# not there. Compiles its own programs into $BUILD/bench with $CC and $TOOL_CC. Prints a table per program and
# writes the figures to $BUILD/bench.json. Needs root; bubblewrap, crun, python3 and jq where there. Figures are facts, never a
# failure; the exit status is not 0 if a contestant that is installed did not run its program.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
BUILD=${BUILD:-build}
CC=${CC:-gcc}
TOOL_CC=${TOOL_CC:-musl-gcc}
iterations=200
rate_ms=1000
with_python=

while [ $# -gt 0 ]; do
	case $1 in
	-n) iterations=$2; shift 2 ;;
	-s) rate_ms=$2; shift 2 ;;
	--with) [ "$2" = python ] || { echo "--with python" >&2; exit 2; }; with_python=1; shift 2 ;;
	--quick) iterations=30; rate_ms=200; shift ;;
	*) sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done
[ "$(id -u)" = 0 ] || { echo "run.sh: needs root: all contestants are to make the same jail" >&2; exit 2; }

out=$BUILD/bench
mkdir -p "$out"
tool_path=$(realpath -m "$BUILD/warder")
# Not below /tmp: a jail has its own there, and the static program is looked up in it by its host path.
scratch=$(mktemp -d /var/lib/warder-bench.XXXXXX)
holder=
service=
floor_service=
cleanup() {
	[ -z "$holder" ] || kill "$holder" 2>/dev/null || :
	for pid in $service $floor_service; do
		{ kill "$pid" && wait "$pid"; } 2>/dev/null || :
	done
	rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$scratch"

# ---- programs ----

warn='-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wno-unused-parameter'
flags="-std=gnu11 -O2 -D_GNU_SOURCE -I. -idirafter runtime -I$out $warn -Wno-missing-field-initializers ${CFLAGS:-}"
bare="-ffreestanding -nostdlib -static -no-pie -fno-pic -fno-stack-protector -fno-asynchronous-unwind-tables"
case $TOOL_CC in
*musl*) musl_include="-idirafter /usr/include -idirafter /usr/include/$($CC -dumpmachine)" ;;
*) musl_include= ;;
esac
# shellcheck disable=SC2086 # lists of flags
{
	$CC $flags -o "$out/filter" tests/bench/filter.c jail/filter/seccomp.c jail/filter/arguments.c jail/filter/bpf.c jail/filter/syscalls.c base/error.c
	"$out/filter" >"$out/filter.h"
	$CC $flags $bare -Wl,-z,noexecstack,-z,norelro,--build-id=none,-s,-z,noseparate-code \
		-o "$out/nothing" tests/bench/nothing.c
	$CC $flags $bare -Wl,-z,noexecstack,-z,norelro,--build-id=none,-s,-z,noseparate-code \
		-o "$out/client" tests/bench/client.c
	$CC $flags -shared -fPIC -nostdlib -o "$out/forked.so" tests/bench/forked.c
	$TOOL_CC $flags $musl_include -static -no-pie -o "$out/floor" \
		tests/bench/floor.c tests/bench/inside.c tests/bench/launches.c tests/bench/leaves.c tests/bench/serve.c tests/bench/kernel.c \
		jail/inside/accounts.c jail/cgroup/clone.c base/hang.c jail/cgroup/file.c jail/cgroup/text.c base/error.c base/mountinfo.c base/namespaces.c
	$TOOL_CC $flags $musl_include -static -no-pie -o "$out/bench" \
		tests/bench/bench.c tests/bench/contestant.c tests/bench/report.c tests/bench/kernel.c
	$CC $flags -static -o "$out/covers" tests/bench/covers.c
	rm -f "$out/library" "$out/code" "$out/contexts" "$out/living"
	if [ -e "$BUILD/libwarder.a" ]; then
		$CC $flags -o "$out/library" tests/bench/library.c tests/bench/serve.c tests/bench/kernel.c "$BUILD/libwarder.a" -pthread
		$CC $flags -o "$out/living" tests/bench/living.c tests/bench/kernel.c "$BUILD/libwarder.a" -pthread
		$CC $flags -o "$out/code" tests/bench/code.c tests/bench/bare.c runtime/library/interpreters.c \
			base/text.c base/json.c base/json_write.c base/utf8.c base/error.c "$BUILD/libwarder.a" -pthread -lm
		$CC $flags -o "$out/contexts" tests/bench/contexts.c "$BUILD/libwarder.a" -pthread
	fi
}
cp "$out/nothing" "$scratch/nothing"

# ---- contestants ----

# row NAME KIND FLOOR TARGET SPACE NOTE WORD... (see contestant.h)
row() {
	printf '%s' "$1"
	shift
	printf '\t%s' "$@"
	printf '\n'
}

# installed FILE NAME: true, or the row of an absent contestant.
installed() {
	[ -x "$1" ] && return 0
	row "$2" absent - - - -
	return 1
}

tool() {
	command -v "$1" || echo /nonexistent
}

# crun refuses a hybrid cgroup tree: it gets a mount namespace of its own where /sys/fs/cgroup is cgroup2.
hold_space() {
	rm -f "$scratch/ready"
	unshare -m sh -c 'mount -t cgroup2 none /sys/fs/cgroup && echo ready && exec sleep 100000' >"$scratch/ready" &
	holder=$!
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ -s "$scratch/ready" ] && return 0
		sleep 0.1
	done
	return 1
}

# A service of "serve --local" with a /run of its own, so that it is neither another one's nor found by anyone else.
begin_service() {
	[ -z "$service" ] && [ -x "$BUILD/warder" ] || return 0
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare -m sh -c 'mount -t tmpfs -o mode=0755 none /run && exec "$2" serve --local >"$1"' sh "$scratch/serves" "$tool_path" &
	service=$!
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ ! -s "$scratch/serves" ] || break
		sleep 0.1
	done
}

# The same of the floor, whose jails show the program without libc, too.
begin_floor_service() {
	[ -z "$floor_service" ] || return 0
	# shellcheck disable=SC2046,SC2086
	"$out/floor" --listen "$scratch/floor.socket" --prepared $groups --users --covers --park \
		$(read_only "$scratch/nothing") -- none >"$scratch/listens" &
	floor_service=$!
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ ! -s "$scratch/listens" ] || break
		sleep 0.1
	done
}

# executions OPTION...: launches per second in a session of the floor, as many at a time as tests/bench/living.c has. Or "null".
executions() {
	# shellcheck disable=SC2046,SC2086
	printf 'rate 4 %s\n' "$rate_ms" | "$out/floor" --serve --session "$@" $groups $(read_only "$scratch/nothing") -- \
		"$scratch/nothing" |
		awk '{ count = $1; ns = $2 } END { print (count > 0 ? count * 1e9 / ns : "null") }'
}

# bundle DIR ARGS-AS-JSON BIND: a bundle whose program sees what a jail shows.
bundle() {
	rm -rf "$1"
	mkdir -p "$1/rootfs"
	(
		cd "$1/rootfs"
		mkdir -p proc dev tmp usr etc/alternatives run "$(dirname "./$scratch")"
		ln -s usr/bin bin
		ln -s usr/sbin sbin
		ln -s usr/lib lib
		ln -s usr/lib64 lib64
		: >etc/ld.so.cache
		mkdir -p "./$scratch"
		: >"./$scratch/nothing"
	)
	jq -n --argjson args "$2" --arg nothing "$scratch/nothing" '{
	  ociVersion: "1.0.0", hostname: "warder", root: {path: "rootfs", readonly: true},
	  process: {args: $args, cwd: "/", env: ["PATH=/usr/bin:/bin"], user: {uid: 1000, gid: 1000},
	    capabilities: {}, noNewPrivileges: true,
	    rlimits: [["CORE", 0], ["NOFILE", 1024], ["FSIZE", 67108864], ["STACK", 8388608]]
	      | map({type: ("RLIMIT_" + .[0]), hard: .[1], soft: .[1]})},
	  mounts: ([
	    {destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "nodev", "noexec"]},
	    {destination: "/dev", type: "tmpfs", source: "dev", options: ["nosuid", "noexec", "mode=755", "size=64k"]},
	    {destination: "/dev/pts", type: "devpts", source: "devpts",
	      options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]},
	    {destination: "/dev/shm", type: "tmpfs", source: "shm",
	      options: ["nosuid", "nodev", "noexec", "mode=1777", "size=64m"]},
	    {destination: "/tmp", type: "tmpfs", source: "tmp",
	      options: ["nosuid", "nodev", "noexec", "mode=1777", "size=64m"]}]
	    + (["/usr", "/etc/alternatives", "/etc/ld.so.cache", $nothing]
	      | map({destination: ., type: "bind", source: ., options: ["rbind", "ro", "nosuid", "nodev"]}))),
	  linux: {
	    uidMappings: [{containerID: 0, hostID: 1610612736, size: 65536}],
	    gidMappings: [{containerID: 0, hostID: 1610612736, size: 65536}],
	    namespaces: (["user", "pid", "network", "ipc", "uts", "mount", "cgroup"] | map({type: .})),
	    maskedPaths: (["kcore", "keys", "key-users", "kallsyms", "kmsg", "interrupts", "timer_list",
	      "latency_stats", "locks", "modules", "kpagecount", "kpageflags", "kpagecgroup", "sched_debug",
	      "config.gz", "cmdline", "swaps", "diskstats", "partitions", "acpi", "asound", "scsi", "driver"]
	      | map("/proc/" + .)),
	    readonlyPaths: ["/proc/bus", "/proc/irq", "/proc/fs", "/proc/sys", "/proc/sysrq-trigger"]}
	}' >"$1/config.json"
}

# read_only [PATH]: these options of the floor, and those for what the host view of Warder mounts besides what the floor has in its own table.
read_only() {
	for path in "$@" /etc/ld-musl-*.path /etc/java-*-openjdk /etc/R /etc/php; do
		[ ! -e "$path" ] || printf ' --ro %s' "$path"
	done
}

# The hierarchies in which a jail has a leaf, as options of the floor. CPU time is counted in that of v2, if there is one.
find_groups() {
	awk '
		$3 == "cgroup" || $3 == "cgroup2" { type[$2] = $3; options[$2] = $4; v2 = v2 || $3 == "cgroup2" }
		END {
			for (path in type) {
				list = ""
				if (type[path] == "cgroup2") {
					list = ",v2"
					getline options[path] < (path "/cgroup.subtree_control")
				}
				count = split(options[path], names, /[ ,]/)
				for (i = 1; i <= count; i++)
					if (names[i] ~ /^(cpu|memory|pids)$/ || (names[i] == "cpuacct" && !v2))
						list = list "," names[i]
				if (list != "")
					print "--cgroup " substr(list, 2) ":" path
			}
		}' /proc/mounts
}

# The list for one program. $1: its arguments as JSON, for crun's bundle. $2: "static" if it has to be bound in.
list() {
	bind=
	[ "$2" != static ] || bind=$scratch/nothing
	floor=$(read_only ${bind:+"$bind"})
	# shellcheck disable=SC2086 # $floor, $groups and $bind are lists of words without blanks
	{
		row 'no sandbox' process - - - 'vfork, exec, wait' '{}'
		row 'floor' process - - - 'one-shot, static: the system calls of such a jail and nothing else; no cgroup' \
			"$out/floor" $floor -- '{}'
		if installed "$BUILD/warder" 'warder run'; then
			row 'warder run' process floor 'bwrap 0.95' - 'the default policy, every control read back' \
				"$tool_path" run --no-service ${bind:+--ro $bind} -- '{}'
			row 'warder run, service' process - 'bwrap 0.30' "/proc/$service/ns/mnt" \
				'the same; a service launches it from its pool' \
				"$tool_path" run ${bind:+--ro $bind} -- '{}'
		fi
		row 'floor in process' server - - - 'the same from a running process, user namespace made once' \
			"$out/floor" --serve $floor -- '{}'
		row 'floor prepared' server - - - \
			'mount and user namespace made once, launches enter a copy; no cgroup' \
			"$out/floor" --serve --prepared $floor -- '{}'
		list_floors "$2"
		if installed "$out/library" 'libwarder'; then
			row 'libwarder' server 'floor prepared' - - 'one template; launch, wait, result' \
				"$out/library" ${bind:+--ro $bind} -- '{}'
			row 'libwarder pool' server - 'libwarder 0.15' - 'a parked jail handed out; launch, wait, result' \
				"$out/library" --pool ${bind:+--ro $bind} -- '{}'
			row 'libwarder pool, parts' server - 'libwarder 0.15' - 'the same; parts of ended jails are used again' \
				"$out/library" --parts ${bind:+--ro $bind} -- '{}'
		fi
		if installed "$(tool bwrap)" bwrap; then
			row 'bwrap' process floor - - 'namespaces, mounts and capabilities only: no limits, no filter' \
				"$(tool bwrap)" --unshare-all --die-with-parent --clearenv --new-session --ro-bind /usr /usr \
				--symlink usr/lib64 /lib64 --symlink usr/lib /lib --symlink usr/bin /bin \
				--proc /proc --dev /dev --tmpfs /tmp ${bind:+--ro-bind $bind $bind} '{}'
		fi
		list_crun "$1"
		if installed "$(tool unshare)" unshare; then
			row 'unshare' process floor - - \
				"namespaces and /proc only: the host's root and files, no limits, no filter" \
				"$(tool unshare)" -Urmpfniu --mount-proc '{}'
		fi
	} >"$scratch/list"
}

# What Warder does besides a bare launch, by the fewest system calls.
# shellcheck disable=SC2086
list_floors() {
	whole="$groups --users --covers"
	[ -z "$floor_service" ] || row 'floor service' 'process once' floor - - \
		'a client without libc connects, and passes its streams on to a parked jail' "$out/client" "$scratch/floor.socket" -- '{}'
	row 'floor controls' 'process once' floor - - 'one-shot, static, with all controls of a jail, each read back' \
		"$out/floor" $whole --init --pipes --read-back $floor -- '{}'
	row 'floor parked' 'server once' - - - 'a finished jail gets the arguments: from then until all its processes have ended' \
		"$out/floor" --serve --prepared $whole --park $floor -- '{}'
	row 'floor parked, again' 'server once' - - - 'the same; limits and identity are read a second time' \
		"$out/floor" --serve --prepared $whole --park --again $floor -- '{}'
	[ "$1" = static ] || return 0
	row 'floor parked, parts' 'server once' - - - 'as floor parked; leaves and network namespace are used again' \
		"$out/floor" --serve --prepared $whole --park --same-leaves --same-network $floor -- '{}'
	row 'prepared, one network' server - - - 'as floor prepared; the network namespace is used again' \
		"$out/floor" --serve --prepared --same-network $floor -- '{}'
	row 'cgroups, one network' server - - - 'the same with cgroups' \
		"$out/floor" --serve --prepared --same-network $groups $floor -- '{}'
	row '+ cgroups' server 'floor prepared' - - 'as floor prepared; leaves are made, limited, read back, joined, read, removed' \
		"$out/floor" --serve --prepared $groups $floor -- '{}'
	row '+ init' 'server once' 'floor prepared' - - 'the same; a pid 1 waits for the program' \
		"$out/floor" --serve --prepared $groups --init $floor -- '{}'
	row '+ users' 'server once' 'floor prepared' - - 'the same; a user namespace of its own, with limits' \
		"$out/floor" --serve --prepared $groups --init --users $floor -- '{}'
	row '+ /proc' 'server once' 'floor prepared' - - 'the same; files and mounts in /proc that describe the jail' \
		"$out/floor" --serve --prepared $whole --init $floor -- '{}'
	row '+ pipes' 'server once' 'floor prepared' - - 'the same; the output comes through pipes' \
		"$out/floor" --serve --prepared $whole --init --pipes $floor -- '{}'
	row '+ read-back' 'server once' 'floor prepared' - - 'the same; what the receipt shows is read before the program starts' \
		"$out/floor" --serve --prepared $whole --init --pipes --read-back $floor -- '{}'
}

list_crun() {
	installed "$(tool crun)" crun || return 0
	if [ ! -x "$(tool jq)" ]; then
		row crun absent - - - 'needs jq for its bundle'
		return 0
	fi
	bundle "$scratch/bundle.run" "$1"
	bundle "$scratch/bundle.check" '["/usr/bin/sh", "-c", "exit 7"]'
	bundle "$scratch/bundle.hold" '["/usr/bin/sleep", "0.3"]'
	space=-
	if [ "$(stat -f -c %T /sys/fs/cgroup)" != cgroup2fs ]; then
		[ -n "$holder" ] || hold_space
		space=/proc/$holder/ns/mnt
	fi
	row crun process floor - "$space" \
		'same view, masks, ids, rlimits; a v2 cgroup without limits (a hybrid host has none there); no filter' \
		"$(tool crun)" --root "$scratch/crun" --cgroup-manager=cgroupfs run \
		--bundle "$scratch/bundle.{purpose}" 'bench-{id}'
}

# The list for a piece of code, of which $scratch/NAME.run is the source: NAME's program alone, in a jail, and as code.
list_code() {
	# shellcheck disable=SC2086 # $2 is a list of words without blanks
	{
		row 'no sandbox' process - - - 'the interpreter or the binary alone' '{}'
		if installed "$BUILD/warder" 'warder code'; then
			row 'warder run' process 'no sandbox' - - 'the same in the jail' "$BUILD/warder" run $2 -- '{}'
			row 'warder code' process 'no sandbox' - - "the source, staged; what is compiled comes out of the cache" \
				"$BUILD/warder" code --cache "$scratch/cache" --language "$1" "$scratch/$1.{purpose}"
		fi
	} >"$scratch/list"
}

# sources NAME RUN CHECK HOLD
sources() {
	printf '%s\n' "$2" >"$scratch/$1.run"
	printf '%s\n' "$3" >"$scratch/$1.check"
	printf '%s\n' "$4" >"$scratch/$1.hold"
}

# ---- sections ----

# code NAME PROGRAM ARG...: NAME's source against what runs it without Warder.
code() {
	code_name=$1
	code_bind=
	shift
	[ -x "$1" ] || return 0
	[ "$code_name" != c ] || code_bind="--ro $1"
	list_code "$code_name" "$code_bind"
	rate_ms=0 measure "code: $*" $(((iterations + 3) / 4)) "$@"
}

# section TITLE ARGS-AS-JSON static|dynamic ITERATIONS PROGRAM ARG...
section() {
	title=$1
	json=$2
	kind=$3
	count=$4
	shift 4
	begin_service
	begin_floor_service
	list "$json" "$kind"
	measure "$title" "$count" "$@"
	[ -z "$holder" ] || kill "$holder"
	holder=
}

# measure TITLE ITERATIONS PROGRAM ARG...: what the list says.
measure() {
	title=$1
	count=$2
	shift 2
	"$out/bench" -n "$count" -s "$rate_ms" -m -t "$title" -j "$scratch/section.json" "$scratch/list" -- "$@" ||
		failed=1
	[ ! -e "$scratch/section.json" ] || cat "$scratch/section.json" >>"$scratch/sections"
	rm -f "$scratch/section.json"
}

groups=$(find_groups)
failed=0
load=$(cut -d' ' -f1 /proc/loadavg)
printf 'kernel %s, %s CPUs, %s iterations, interleaved; load %s\n' "$(uname -r)" "$(nproc)" "$iterations" "$load"
section '/usr/bin/true (dynamic, glibc)' '["/usr/bin/true"]' dynamic "$iterations" /usr/bin/true
section 'a static program without libc' "[\"$scratch/nothing\"]" static "$iterations" "$scratch/nothing"
if [ -n "$with_python" ] && [ -x /usr/bin/python3 ]; then
	section 'python3 -c pass' '["/usr/bin/python3", "-c", "pass"]' dynamic $(((iterations + 3) / 4)) \
		/usr/bin/python3 -c pass
fi
# What a caller may have set for Node, certificates to read for one, is not there in a jail.
unset NODE_OPTIONS NODE_EXTRA_CA_CERTS
sources python 'pass' 'raise SystemExit(7)' 'import time; time.sleep(0.3)'
code python /usr/bin/python3 -c pass
sources javascript '0' 'process.exitCode = 7' 'setTimeout(() => 0, 300)'
code javascript /usr/bin/node -e 0
sources c 'int main(void) { return 0; }' 'int main(void) { return 7; }' \
	'#include <unistd.h>
int main(void) { return usleep(300000); }'
$CC -O2 -x c -o "$scratch/binary" "$scratch/c.run"
code c "$scratch/binary"
if [ -x "$out/code" ]; then
	printf '\nfrom code to output and result, in interpreters of a pool; '
	"$out/code" "$(((iterations + 3) / 4))" "$scratch/code" "$out/forked.so" || failed=1
fi
if [ -x "$out/living" ] && [ -x "$tool_path" ] && [ "$rate_ms" != 0 ]; then
	bare=$(executions)
	bare_own=$(executions --own --init)
	"$out/living" "$rate_ms" "$(((iterations + 19) / 20))" "$tool_path" "$scratch/nothing" >"$scratch/living" || failed=1
	printf '{"session": [%s, %s], "own": [%s, %s]}' "$bare" "$(executions)" "$bare_own" "$(executions --own --init)" >"$scratch/bare"
fi
{
	printf '{"kernel": "%s", "cpus": %s, "load": "%s", "loadAtEnd": "%s", "sections": [\n' "$(uname -r)" "$(nproc)" \
		"$load" "$(cut -d' ' -f1 /proc/loadavg)"
	# One object after the other becomes a list.
	sed 's/^]}$/]},/' "$scratch/sections" | sed '$s/,$//'
	printf '], "code": ['
	[ ! -e "$scratch/code" ] || paste -sd, "$scratch/code"
	printf '], "living": '
	[ -s "$scratch/living" ] && cat "$scratch/living" || echo null
	printf ', "executionsFloor": '
	[ -s "$scratch/bare" ] && cat "$scratch/bare" || echo null
	printf '}\n'
} >"$BUILD/bench.json"
printf '\nthe floor of the files and mounts in /proc, processor time\n'
"$out/covers" 300
echo
[ -z "$(command -v python3)" ] || tests/bench/targets.py "$BUILD/bench.json"
printf '\nall figures: %s\n' "$BUILD/bench.json"
exit $failed
