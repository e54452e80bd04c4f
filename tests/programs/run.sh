#!/bin/bash
# run.sh: what people do in a jail, with real programs, under the presets that promise it, as TAP.
#
#   tests/programs/run.sh [PART...]      WARDER=build/warder by default; parts: the presets strict agent build, and numbers
#   WARDER_PROGRAMS_FLAGS='--set syscalls.profile=strict'  further flags for each run, to see which programs a policy breaks
#
# A row of the table names a task, the presets that promise it and the programs that it needs; without one of them it is skipped.
# The task is the function of that name, which runs inside, in an empty workspace (strict has none: in /tmp), and fails with its first
# command that fails. There is no network. A limit that needs a cgroup is preferred where the user cannot require it. The part
# `numbers` asks runtimes how many processors and how much memory they have.
# shellcheck disable=SC2016,SC2164,SC2317 # code in quotes is for other interpreters; the tasks run under set -e, by their names
set -u
LC_ALL=C.UTF-8 export LC_ALL
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/lib/tap.sh"
WARDER=$(realpath "${WARDER:-$top/build/warder}") || exit 1
export WARDER
[ $# -gt 0 ] || set -- build agent strict numbers

# ---- the table ----

# task | presets | programs
tasks='
python_standard_library | strict agent build | python3
python_venv_and_wheel   | strict agent       | python3
python_source_package   | build              | python3 gcc
node_files              | strict agent build | node
npm_packages            | agent build        | node npm
cargo_build_and_test    | build              | cargo rustc gcc
go_build_and_test       | build              | go
java_compile_and_run    | build              | javac java
make_incremental        | agent build        | make gcc
cmake_build_and_test    | build              | cmake ctest make g++
c_and_cxx               | build              | gcc g++
git_work                | strict agent build | git
perl_files              | strict agent build | perl
php_sessions            | strict agent build | php
php_files               | strict agent build | php
ruby_files              | strict agent build | ruby
r_files                 | strict build       | Rscript
lua_files               | strict agent build | lua5.4
sqlite_transactions     | strict agent build | sqlite3
locks_between_processes | agent build        | flock
archives                | strict agent build | tar gzip xz
debian_package          | build              | dpkg-deb
tmux_session            | agent build        | tmux
vim_script              | agent build        | vim
script_terminal         | agent build        | script
'

# ---- the tasks ----

python_standard_library() {
	python3 -c '
import asyncio, concurrent.futures, mmap, multiprocessing, signal, socket, sqlite3, subprocess, tempfile

with concurrent.futures.ThreadPoolExecutor(4) as pool:
    assert sum(pool.map(abs, range(-10, 0))) == 55
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
assert subprocess.run(["sh", "-c", "exit 3"]).returncode == 3
async def shell():
    process = await asyncio.create_subprocess_exec("echo", "asynchronous", stdout=subprocess.PIPE)
    return (await process.communicate())[0]
assert asyncio.run(shell()) == b"asynchronous\n"
with tempfile.TemporaryFile() as file:
    file.truncate(4096)
    assert mmap.mmap(file.fileno(), 4096)[0] == 0
a, b = socket.socketpair()
a.sendall(b"x")
assert b.recv(1) == b"x"
assert sqlite3.connect("d.db").execute("select 6 * 7").fetchone() == (42,)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
signal.setitimer(signal.ITIMER_REAL, 0.01)
assert signal.sigwait([signal.SIGALRM]) == signal.SIGALRM'
}

python_venv_and_wheel() {
	python3 -m venv venv
	python3 -c '
import zipfile
with zipfile.ZipFile("small-1.0-py3-none-any.whl", "w") as wheel:
    info = "small-1.0.dist-info/"
    wheel.writestr("small.py", "answer = 42\n")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "RECORD", "small.py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n")'
	venv/bin/python -m pip --quiet --disable-pip-version-check install --no-index ./small-1.0-py3-none-any.whl
	venv/bin/python -c 'import small, sys; assert small.answer == 42 and sys.prefix != sys.base_prefix'
}

python_source_package() {
	mkdir -p source/small
	printf 'from setuptools import setup\nsetup(name="small", version="2.0", packages=["small"])\n' >source/setup.py
	echo 'answer = 43' >source/small/__init__.py
	python3 -m venv venv
	(cd source && ../venv/bin/python setup.py --quiet sdist)
	venv/bin/pip --quiet --disable-pip-version-check install --no-index --no-build-isolation source/dist/small-2.0.tar.gz
	venv/bin/python -c 'import small; assert small.answer == 43'
}

node_files() {
	node -e '
const fs = require("fs"), assert = require("assert"), { execFileSync } = require("child_process"), { Worker } = require("worker_threads");
fs.mkdirSync("a/b", { recursive: true });
fs.writeFileSync("a/b/c.json", JSON.stringify({ n: 42 }));
fs.cpSync("a", "copy", { recursive: true });
fs.renameSync("copy/b/c.json", "copy/d.json");
assert.strictEqual(JSON.parse(fs.readFileSync("copy/d.json")).n, 42);
assert.strictEqual(execFileSync("echo", ["child"]).toString(), "child\n");
const worker = new Worker("require(\"worker_threads\").parentPort.postMessage(6 * 7)", { eval: true });
worker.on("message", async (n) => {
	assert.strictEqual(n, 42);
	for await (const chunk of fs.createReadStream("a/b/c.json").pipe(require("zlib").createGzip()))
		assert(chunk.length > 0);
	fs.rmSync("a", { recursive: true });
	console.log("all of it");
});' | grep -x 'all of it'
}

npm_packages() {
	export npm_config_offline=true npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
	mkdir small app
	printf '{"name": "small", "version": "1.0.0", "main": "main.js", "scripts": {"install": "node -e 0"}}' >small/package.json
	echo 'module.exports = 42;' >small/main.js
	(cd small && npm pack --silent)
	cd app
	npm init -y >/dev/null
	npm install --silent ../small/small-1.0.0.tgz
	node -e 'require("assert").strictEqual(require("small"), 42)'
}

cargo_build_and_test() {
	cargo new --quiet --vcs none --name small small
	cd small
	printf '%s\n' 'fn double(n: u32) -> u32 { n * 2 }' 'fn main() { println!("{}", double(21)); }' '#[test]' \
		'fn doubles() { assert_eq!(double(2), 4); }' >src/main.rs
	cargo --quiet --offline run | grep -x 42
	cargo --quiet --offline test
}

go_build_and_test() {
	printf 'module example.org/small\n\ngo 1.19\n' >go.mod
	printf '%s\n' 'package main' '' 'func double(n int) int { return 2 * n }' '' 'func main() { println(double(21)) }' >main.go
	printf '%s\n' 'package main' '' 'import "testing"' '' 'func TestDouble(t *testing.T) {' '	if double(2) != 4 {' '		t.Fatal()' \
		'	}' '}' >main_test.go
	go vet .
	go build -o small .
	./small 2>&1 | grep -x 42
	go test .
}

java_compile_and_run() {
	printf '%s\n' 'public class Small {' '	public static void main(String[] words) throws Exception {' \
		'		Thread other = new Thread(() -> System.out.println(java.util.stream.IntStream.range(0, 10).sum()));' \
		'		other.start();' '		other.join();' \
		'		try (var lock = java.nio.channels.FileChannel.open(java.nio.file.Path.of("f"),' \
		'			java.nio.file.StandardOpenOption.CREATE, java.nio.file.StandardOpenOption.WRITE).lock()) {' \
		'			java.nio.file.Files.copy(java.nio.file.Path.of("Small.java"), java.nio.file.Path.of("copy"));' '		}' '	}' '}' >Small.java
	javac -d classes Small.java
	java -cp classes Small | grep -x 45
	cmp Small.java copy
}

make_incremental() {
	printf '%s\n' 'int half(int n) { return n / 2; }' >half.c
	printf '%s\n' 'int half(int);' 'int main(void) { return half(84) != 42; }' >main.c
	printf '%s\n' 'main: main.o half.o' '	$(CC) -o $@ $^' 'check: main' '	./main' >Makefile
	make --silent -j2 CC=gcc check
	make -q main
	sleep 0.02
	touch half.c
	if make -q main; then return 1; fi
	make --silent -j2 CC=gcc check
}

cmake_build_and_test() {
	printf '%s\n' 'cmake_minimum_required(VERSION 3.13)' 'project(small CXX)' 'add_executable(small main.cpp)' 'enable_testing()' \
		'add_test(NAME runs COMMAND small)' >CMakeLists.txt
	printf '%s\n' '#include <vector>' 'int main() { return std::vector<int>{1, 2}.size() != 2; }' >main.cpp
	cmake -S . -B out >/dev/null
	cmake --build out >/dev/null
	(cd out && ctest)
}

c_and_cxx() {
	printf '%s\n' '#include <pthread.h>' '#include <stdio.h>' '#include <sys/socket.h>' 'static void *add(void *n) { ++*(int *)n; return 0; }' \
		'int main(void) { int n = 41, s[2]; pthread_t t; pthread_create(&t, 0, add, &n); pthread_join(t, 0);' \
		'return socketpair(AF_UNIX, SOCK_STREAM, 0, s) != 0 || printf("%d\n", n) != 3; }' >main.c
	gcc -O2 -pthread -o c main.c
	./c | grep -x 42
	printf '%s\n' '#include <iostream>' '#include <thread>' 'int main() { std::thread([] { std::cout << "42\n"; }).join(); }' >main.cpp
	g++ -O1 -pthread -flto -o cxx main.cpp
	./cxx | grep -x 42
}

git_work() {
	export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
	git init --quiet -b main one
	cd one
	echo 1 >file
	git add file
	git commit --quiet -m first
	git checkout --quiet -b side
	echo 2 >>file
	git commit --quiet -am second
	git checkout --quiet main
	git merge --quiet --no-ff -m merge side
	git stash list
	git clone --quiet . ../two
	git worktree add --quiet ../three side
	git -C ../two fetch --quiet
	git gc --quiet
	git fsck --strict
	[ "$(git -C ../two log --oneline | wc -l)" = 3 ]
	[ "$(cat ../three/file)" = $'1\n2' ]
}

perl_files() {
	perl -MFile::Temp=tempfile -MPOSIX -MFcntl=:mode -e '
my ($file, $name) = tempfile(DIR => ".");
print $file "one\ntwo\n" and close($file) or die;
open(my $from, "-|", "wc", "-l", $name) or die $!;
<$from> =~ /^2 / or die;
my $child = fork // die $!;
$child or POSIX::_exit(3);
waitpid($child, 0) == $child && $? >> 8 == 3 or die;
S_ISREG((stat $name)[2]) or die;'
}

php_sessions() {
	php -d session.save_path="$PWD" -r 'session_id("abc"); session_start() || exit(1); $_SESSION["n"] = 42; session_write_close() || exit(2);'
	php -d session.save_path="$PWD" -r 'session_id("abc"); session_start(); exit(($_SESSION["n"] ?? 0) === 42 ? 0 : 3);'
}

php_files() {
	php -r '
file_put_contents("f", "two words");
$process = proc_open(["wc", "-w", "f"], [1 => ["pipe", "w"]], $pipes);
exit((int) stream_get_contents($pipes[1]) === 2 && proc_close($process) === 0 && rename("f", "g") ? 0 : 1);'
}

ruby_files() {
	ruby -rfileutils -ropen3 -rtempfile -e '
Dir.mkdir("d") && File.write("d/f", "42")
FileUtils.cp_r("d", "e")
raise unless Open3.capture2("cat", "e/f")[0] == "42"
raise unless Thread.new { Tempfile.create { |f| f.write("x") } }.value == 1
raise unless Process.wait2(fork { exit 3 })[1].exitstatus == 3'
}

r_files() {
	Rscript -e '
write.csv(data.frame(x = 1:3, y = (1:3)^2), "t.csv", row.names = FALSE)
stopifnot(sum(read.csv("t.csv")$y) == 14, system2("true") == 0)
stopifnot(identical(unlist(parallel::mclapply(1:2, function(n) n + 1, mc.cores = 2)), c(2, 3)))
pdf("plot.pdf"); plot(1:3); invisible(dev.off()); stopifnot(file.size("plot.pdf") > 1000)'
}

lua_files() {
	lua5.4 -e '
local file = assert(io.open("f", "w"))
assert(file:write("42")) assert(file:close())
assert(assert(io.popen("cat f")):read("n") == 42)
assert(os.rename("f", "g") and os.remove("g"))'
}

# Locks of two processes, on a file and on the log that the writers share.
sqlite_transactions() {
	local journal
	for journal in delete wal; do
		sqlite3 "$journal.db" "pragma journal_mode=$journal; create table t(n);" >/dev/null
		sqlite3 -cmd '.timeout 5000' "$journal.db" 'begin immediate; insert into t values (1); commit;' &
		sqlite3 -cmd '.timeout 5000' "$journal.db" 'begin immediate; insert into t values (2); commit;'
		wait $!
		[ "$(sqlite3 "$journal.db" 'select sum(n) from t')" = 3 ]
	done
}

locks_between_processes() {
	flock lock -c 'echo locked >f'
	exec 9>lock
	flock -n 9
	if flock -n "$PWD/lock" true; then return 1; fi
	grep locked f
}

archives() {
	mkdir d
	echo 42 >d/f
	ln -s f d/link
	tar -cJf d.tar.xz d
	tar -czf d.tar.gz d
	rm -r d
	tar -xf d.tar.xz
	[ "$(cat d/link)" = 42 ]
	tar -tf d.tar.gz | grep -x d/link
}

debian_package() {
	mkdir -p root/DEBIAN root/usr/share/small
	printf 'Package: small\nVersion: 1\nArchitecture: all\nMaintainer: a <a@example.org>\nDescription: small\n' >root/DEBIAN/control
	echo 42 >root/usr/share/small/f
	dpkg-deb --root-owner-group --build root small.deb >/dev/null
	dpkg-deb -x small.deb out
	[ "$(cat out/usr/share/small/f)" = 42 ]
}

tmux_session() {
	export TERM=xterm
	tmux -S "$PWD/socket" -f /dev/null new-session -d -x 80 -y 24 'tty >f; tmux -S "$PWD/socket" wait-for -S ended; cat'
	tmux -S "$PWD/socket" wait-for ended
	tmux -S "$PWD/socket" kill-server
	grep '^/dev/pts/' f
}

vim_script() {
	printf 'one\ntwo\n' >f
	TERM=xterm vim -es -u NONE -i NONE -c '%s/two/three/' -c 'wq' f
	grep -x three f
}

script_terminal() {
	script -qec 'tty >f; stty size' typescript </dev/null
	grep '^/dev/pts/' f
}

# ---- one row ----

# Not below /tmp, of which every jail has its own.
for base in "${WARDER_TEST_DIR:-/srv}" /opt /var/tmp; do
	scratch=$(mktemp -d "$base/warder-programs.XXXXXX" 2>/dev/null) && break
done
[ -d "$scratch" ] || { echo "Bail out! no directory for the tests; name one in WARDER_TEST_DIR"; exit 1; }
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"

# The 30 seconds of the presets strict and agent are for a processor that nothing else uses.
slow=${WARDER_TEST_SLOW:-1}
flags=() no_memory=()
if [ "$("$WARDER" explain strict | tail -n 1)" != "It would run." ]; then
	for limit in memory swap cpus pids cpuTime; do
		flags+=(--prefer "limits.$limit")
	done
	no_memory=(--set limits.memory=unlimited) # instead of memory there is only a limit of addresses, of which runtimes reserve many
fi
read -ra further <<<"${WARDER_PROGRAMS_FLAGS:-}"

# in_jail PRESET FLAG... -- COMMAND...
in_jail() {
	local preset=$1 time=()
	shift
	[ "$preset" = build ] || time=(--timeout $((30 * slow))s)
	timeout $((100 * slow)) "$WARDER" run --preset "$preset" "${time[@]}" "${flags[@]}" "${no_memory[@]}" "${further[@]}" "$@" </dev/null
}

# What is there in a jail: a program of the caller's home is not.
absent() {
	in_jail strict -- sh -c 'for name; do command -v "$name" >/dev/null || { echo "there is no $name in the jail"; exit 0; }; done; exit 1' - "$@"
}

# run_task TASK PRESET: the task in a workspace of its own, or in /tmp.
run_task() {
	local space=$scratch/$2.$1
	mkdir "$space"
	if [ "$2" = strict ]; then
		set -- "$1" "$2" -w /tmp
	else
		set -- "$1" "$2" --workspace "$space"
	fi
	in_jail "${@:2}" -- bash -c "set -eu -o pipefail; export HOME=/tmp; $(declare -f "$1"); $1" || return
	rm -rf "$space"
}

preset_cases() {
	local task presets programs reason
	while IFS='|' read -r task presets programs; do
		task=${task// /}
		[[ -n $task && " $presets " == *" $1 "* ]] || continue
		# shellcheck disable=SC2086 # a list of words
		if reason=$(absent $programs); then
			skip "$1: ${task//_/ }" "$reason"
		else
			check "$1: ${task//_/ }" run_task "$task" "$1"
		fi
	done <<<"$tasks"
}

# ---- what runtimes take for their processors and their memory ----

# language | program | file | what prints the processors, and on a second line the memory and the heap in bytes
numbers='
python|python3|count.py|import multiprocessing, os; print(os.cpu_count(), multiprocessing.cpu_count(), len(os.sched_getaffinity(0)))
javascript|node|count.js|const os = require("os"); console.log(os.cpus().length); console.log(os.totalmem(), require("v8").getHeapStatistics().heap_size_limit)
go|go|count.go|package main; import "runtime"; func main() { print(runtime.NumCPU(), " ", runtime.GOMAXPROCS(0), "\n") }
java|javac|Count.java|public class Count { public static void main(String[] a) { var r = Runtime.getRuntime(); System.out.println(r.availableProcessors() + "\n- " + r.maxMemory()); } }
'

# counts LANGUAGE FILE CPUS MEBIBYTES: the processors are as many; the heap is a fifth to a little more than half of the memory.
counts() {
	local mib=$4 processors memory heap count
	local memory_flags=("${no_memory[@]}")
	[ ${#no_memory[@]} != 0 ] || memory_flags=(--memory "${mib}MiB")
	timeout $((100 * slow)) "$WARDER" code "${flags[@]}" --cpus "$3" "${memory_flags[@]}" "${further[@]}" --cache "$scratch/cache" --language "$1" "$scratch/$2" \
		</dev/null >"$scratch/counted" 2>&1
	cat "$scratch/counted"
	{ read -r processors && read -r memory heap; } <"$scratch/counted"
	[ -n "$processors" ] || return
	for count in $processors; do
		[ "$count" = $(($3 < here ? $3 : here)) ] || return
	done
	[[ ${#no_memory[@]} = 0 && -n $heap ]] || return 0
	[ "$memory" = - ] || [ "$memory" = $((mib << 20)) ] || return
	[ "$heap" -ge $(((mib << 20) / 5)) ] && [ "$heap" -le $(((mib << 19) + (4 << 20))) ]
}

number_cases() {
	local language program file text cpus mib here reason
	here=$(nproc)
	while IFS='|' read -r language program file text; do
		[ -n "$language" ] || continue
		if reason=$(absent "$program"); then
			skip "numbers: $language" "$reason"
			continue
		fi
		echo "$text" >"$scratch/$file"
		for cpus in 1 2; do
			mib=$((cpus * 256))
			check "numbers: $language with $cpus processor(s) and $mib MiB" counts "$language" "$file" "$cpus" "$mib"
		done
	done <<<"$numbers"
}

# ----

# Two parts at once: much of it is waiting.
together() {
	local part
	printf '%s\n' "$@" | xargs -P 2 -I PART sh -c '"$0" PART >"$1/PART.tap"' "$0" "$scratch"
	for part; do
		cat "$scratch/$part.tap"
	done | awk -v parts=$# '/^1\.\./ { plans++; next }
		/^(not )?ok / { count++; failed += /^not/; sub(/ok [0-9]+/, "ok " count) }
		{ print }
		END {
			print plans == parts ? "1.." count : "Bail out! a part ended early"
			exit failed > 0 || plans != parts
		}'
	exit
}

[ $# = 1 ] || together "$@"
for part; do
	case $part in
	strict | agent | build) preset_cases "$part" ;;
	numbers) number_cases ;;
	*) echo "Bail out! there is no part $part"; exit 2 ;;
	esac
done
tap_end
