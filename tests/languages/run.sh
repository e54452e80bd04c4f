#!/bin/bash
# run.sh: real programs in every language, what becomes of compilers that are told to misbehave, and the cache, as TAP.
#
#   tests/languages/run.sh [PART...]      WARDER=build/warder by default; parts: programs compilers cache documents
#
# Each language has a folder with two programs. The first reads numbers from standard input, its arguments, and a JSON object
# from $WARDER_INPUT; it works with its language's own library, writes report.csv and out/large.txt, prints two lines and
# writes a JSON object to $WARDER_RESULT. With the single argument `fail` it exits with 3 and says why, with `throw` it ends by an
# exception. The second program is one that its language refuses.
#
# What needs control groups is preferred, where the user cannot have it required.
# shellcheck disable=SC2015,SC2016 # a failure behind && is one too; code in quotes is for the jail
set -u
LC_ALL=C.UTF-8 export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
. "$top/tests/lib/tap.sh"
WARDER=$(realpath "${WARDER:-$top/build/warder}") || exit 1
[ $# -gt 0 ] || set -- programs compilers cache documents

# Not below /tmp, of which every jail has its own.
for base in "${WARDER_TEST_DIR:-/srv}" /opt /var/tmp; do
	scratch=$(mktemp -d "$base/warder-languages.XXXXXX" 2>/dev/null) && break
done
[ -d "$scratch" ] || { echo "Bail out! no directory for the tests; name one in WARDER_TEST_DIR"; exit 1; }
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
cache=$scratch/cache

# Not a wrapper around it, which costs more than it does.
python=/usr/bin/python3
[ -x "$python" ] || python=python3

easy=()
preferred=() # the same for a case that gives the memory itself
if [ "$("$WARDER" explain strict | tail -n 1)" != "It would run." ]; then
	for limit in memory swap cpus pids cpuTime; do
		easy+=(--prefer "limits.$limit")
	done
	preferred=("${easy[@]}")
	easy+=(--set limits.memory=unlimited) # instead of memory there is only a limit of addresses, of which runtimes reserve many
fi

# code ARGUMENT...: the result, or the refusal, goes to $scratch/result, the status to $status.
code() {
	code_to "$scratch/result" "$@"
}
code_to() {
	local result=$1
	shift
	timeout 100 "$WARDER" code "${easy[@]}" --cache "$cache" --json "$@" >"$result" 2>"$result.err" </dev/null
	status=$?
}
holds() {
	"$python" -IS "$here/holds.py" "$scratch/result" "$@"
}
# given NAME TEXT...: a file in the scratch directory; its path is in $file.
given() {
	file=$scratch/$1
	shift
	printf '%s\n' "$@" >"$file"
}
exited() {
	[ "$status" = "$1" ] || { echo "exit status $status, expected $1"; return 1; }
}

# ---- programs ----

# language | stages besides run | its program | one that is refused | what is said of that | what is said of an exception
languages='
python|check|main.py|broken.py|SyntaxError|ValueError: thrown on purpose
javascript|check|main.js|broken.js|SyntaxError|RangeError: thrown on purpose
typescript|build|main.ts|broken.ts|error TS2322|RangeError: thrown on purpose
bash|check|main.bash|broken.bash|syntax error|missing: thrown on purpose
sh|check|main|broken|yntax error|missing: thrown on purpose
ruby|check|main.rb|broken.rb|syntax error|thrown on purpose (ArgumentError)
r|check|main.R|broken.R|unexpected|thrown on purpose
perl|-|main.pl|broken.pl|Missing right curly|thrown on purpose
lua|-|main.lua|broken.lua|expected near|thrown on purpose
php|check|main.php|broken.php|syntax error|DomainException: thrown on purpose
go|build|main.go|broken.go|undefined: undefined|panic: thrown on purpose
rust|check build|main.rs|broken.rs|mismatched types|thrown on purpose
c|check build|main.c|broken.c|undefined_thing|thrown on purpose
c++|check build|main.cpp|broken.cpp|invalid conversion|thrown on purpose
java|build|Numbers.java|Broken.java|incompatible types|IllegalStateException: thrown on purpose
wasm|refused|main.wasm|broken.wasm|the magic number is missing|unreachable
command|-|main.command|broken.command|yntax error|command stops
'
input=@$scratch/input.json

# The modules of WebAssembly are made here.
make_modules() {
	mkdir -p "$scratch/wasm"
	printf 'no module' >"$scratch/wasm/broken.wasm"
	command -v wasm-ld >/dev/null || return
	clang --target=wasm32 -O2 -nostdlib -Wall -Wextra -Werror -fno-builtin -mbulk-memory -o "$scratch/wasm/main.wasm" "$here/wasm/main.c"
}

# run_language LANGUAGE PROGRAM BROKEN STAGES: every result below $scratch/LANGUAGE.
run_language() {
	local at=$scratch/$1 from=$here/$1 how
	mkdir -p "$at/saved"
	[ "$1" != wasm ] || from=$scratch/wasm
	printf '3\n1\n2\n' >"$at/numbers"
	code_to "$at/good" --language "$1" --stdin "$at/numbers" --input "$input" --artifacts "$at/saved" "$from/$2" alpha "two words"
	for how in fail throw; do
		code_to "$at/$how" --language "$1" "$from/$2" $how
		echo "$status" >"$at/$how.status"
	done
	code_to "$at/broken" --language "$1" "$from/$3"
	[ "$4" != build ] && [ "$4" != refused ] || return # a check is the build
	code_to "$at/check" --language "$1" --check "$from/$2"
	code_to "$at/check-broken" --language "$1" --check "$from/$3"
	echo "$status" >"$at/check-broken.status"
}

# of LANGUAGE RESULT EXPRESSION...
of() {
	local result=$scratch/$1/$2
	shift 2
	"$python" -IS "$here/holds.py" "$result" "$@" || { cat "$result.err"; return 1; }
}
saved_whole() {
	cmp <(head -c 100000 /dev/zero | tr '\0' x) "$scratch/$1/saved/out/large.txt"
}
good() {
	of "$1" good 'r.status == "success" and r.cause == "exit" and r.exitCode == 0' "r.language == '$1'" \
		'out == "sum 6\nalpha|two words\n" and err == ""' 'stages[-1] == ("run", "success")' \
		'r.output == {"scaled": 12, "name": "Zoë", "sorted": [1, 2, 3]} and r.outputError is None' \
		'set(files) == {"report.csv", "out/large.txt"} and files["report.csv"].text == "1,1\n2,4\n3,9\n"' \
		"files['out/large.txt'].sizeBytes == 100000 and files['out/large.txt'].path == '$scratch/$1/saved/out/large.txt'" &&
		saved_whole "$1"
}
failed() {
	of "$1" fail 'r.status == "failed" and r.cause == "exit" and r.exitCode == 3' 'err == "no such thing: 42\n"' 'r.output is None' &&
		[ "$(cat "$scratch/$1/fail.status")" = 3 ]
}
threw() {
	local said
	said='"'$2'" in err'
	[ "$1" != command ] || said='r.signal == "SIGABRT"'
	of "$1" throw 'r.status == "failed"' 'r.exitCode != 0' "$said" 'out == ""' && [ "$(cat "$scratch/$1/throw.status")" != 0 ]
}
# The language has a compiler, in whose stage the code is refused.
does_not_compile() {
	of "$1" broken 'r.status == "compileFailed" and r.cause == "exit"' "'''$2''' in out + err" '"run" not in dict(stages)' &&
		of "$1" good 'dict(stages)["build"] == "success"' && of "$1" fail 'dict(stages)["build"] == "cached"'
}
does_not_parse() {
	of "$1" broken 'r.status == "failed" and r.exitCode != 0' "'''$2''' in err" 'stages == [("run", "failed")]' || return
	[ "$1" = command ] ||
		of "$1" broken 'r.diagnosticsFrom == "program"' 'r.diagnostics[0].level == "error" and r.diagnostics[0].message in err' \
			'r.diagnostics[0].spans[0].file.startswith("main.") and r.diagnostics[0].spans[0].lineStart > 0'
}
is_none() {
	of "$1" broken 'r.error.kind == "invalidRequest" and r.error.field == "source"' "'''$2''' in message"
}
checked() {
	of "$1" check 'r.status == "success"' '"sum" not in (out or "")' '"run" not in dict(stages)' &&
		of "$1" check-broken 'r.status == "compileFailed"' "'''$2''' in out + err" 'out.find("never printed\n") < 0' &&
		[ "$(cat "$scratch/$1/check-broken.status")" = 125 ]
}
unchecked() {
	of "$1" check-broken 'r.error.kind == "invalidRequest"' '"nothing that checks" in message'
}

program_cases() {
	local language stages said thrown reason
	make_modules
	echo '{"factor": 2, "name": "Zoë"}' >"${input#@}"
	export -f code_to run_language
	export WARDER cache here scratch input
	# Two at a time, with those that take long first.
	awk -F '|' 'NF { print ($1 ~ /typescript|rust|c\+\+|java$/ ? 0 : 1), $1, $3, $4, $2 }' <<<"$languages" | sort -s -k 1,1 |
		EASY="${easy[*]}" xargs -P 2 -L 1 bash -c 'read -ra easy <<<"$EASY"; run_language "$2" "$3" "$4" "${*:5}"' _
	while IFS='|' read -r language stages _ _ said thrown; do
		[ -n "$language" ] || continue
		if ! reason=$(missing "$language"); then
			skip "$language: all of it" "$reason"
			continue
		fi
		check "$language: input, arguments, output, files, result" good "$language"
		check "$language: an exit status and a message" failed "$language"
		check "$language: an exception" threw "$language" "$thrown"
		case $stages in
		*build) check "$language: what does not compile" does_not_compile "$language" "$said" ;;
		- | check) check "$language: what cannot be read" does_not_parse "$language" "$said" ;;
		esac
		case $stages in
		refused) check "$language: what is none" is_none "$language" "$said" ;;
		check*) check "$language: checked without being run" checked "$language" "$said" ;;
		-) check "$language: there is no check" unchecked "$language" ;;
		esac
	done <<<"$languages"
}

# missing LANGUAGE: fails, and prints why, if it cannot be tried here.
missing() {
	[ "$1" != wasm ] || [ -s "$scratch/wasm/main.wasm" ] || { echo "needs clang and lld, to make a module"; return 1; }
	[ -e "$scratch/missing" ] || "$WARDER" languages --json | "$python" -c '
import json, sys
for row in json.load(sys.stdin):
	if not row["available"]:
		print(row["name"], row["reason"], sep="|")' >"$scratch/missing"
	awk -F '|' -v name="$1" '$1 == name { print $2; missing = 1 } END { exit missing }' "$scratch/missing"
}

# needs LANGUAGE NAME COMMAND...: a case that needs a language.
needs() {
	local language=$1 reason
	shift
	if reason=$(missing "$language"); then
		check "$@"
	else
		skip "$1" "$reason"
	fi
}

# ---- compilers ----

# A language whose build and run are given as shell commands; more members of its row may follow. $spoken names the document.
speak() {
	local build=$1 run=$2
	shift 2
	spoken=$scratch/languages.json
	"$python" -c '
import json, sys
row = {"name": "spoken", "file": "main.txt", "build": ["sh", "-c", sys.argv[1]], "run": ["sh", "-c", sys.argv[2]]}
row.update(json.loads(sys.argv[3]) if len(sys.argv) > 3 else {})
print(json.dumps({"languages": [row]}))' "$build" "$run" "$@" >"$spoken"
}
spoken() {
	code --languages "$spoken" --language spoken "$@"
}

# reads_nothing LANGUAGE LINE...: does not compile, and what it wanted to read is in no message.
reads_nothing() {
	local language=$1
	shift
	given asking "$@"
	code --language "$language" --env SHOWN=found_the_content "$file"
	holds 'r.status == "compileFailed" and r.cause == "exit"' '"found_the_content" not in out + err' '"secret" in out + err or "SHOWN" in err'
}

# A processor of annotations is found in the working directory and executed by the compiler.
processor() {
	command -v javac >/dev/null || { echo "no javac outside of the jail"; return 1; }
	mkdir -p "$scratch/spy/META-INF/services"
	echo Spy >"$scratch/spy/META-INF/services/javax.annotation.processing.Processor"
	javac -proc:none -d "$scratch/spy" "$here/java/Spy.java" || return 1
	given Plain.java 'public class Plain {}'
	code --language java --check --file "$scratch/spy/Spy.class" --env "SHOWN=found_the_content" \
		--file "$scratch/spy/META-INF/services/javax.annotation.processing.Processor=META-INF/services/javax.annotation.processing.Processor" \
		--file "$scratch/secret.path" "$file"
	holds '"the spy was here" in err and "found" not in err' 'err.count("refused") == 4' 'r.status == "success"'
}

two_worlds() {
	local shown
	mkdir -p "$scratch/shown"
	echo x >"$scratch/shown/file"
	speak 'env >{out}/environment; sleep 100 & echo $! >{out}/pid; touch /tmp/left {source}.left
		ls -A /tmp /workspace '"$scratch"' >{out}/seen 2>&1; cat '"$scratch/shown/file"' 2>>{out}/seen; exit 0' \
		'cat {out}/environment; echo --; env; echo --; ls -A /tmp /tmp/box /code; cat {out}/seen >&2; pgrep sleep; touch {out}/new 2>/dev/null || echo read-only' \
		'{"environment": {"BOTH": "1"}, "buildEnvironment": {"BUILDING": "1"}}'
	given source.txt text
	shown=(--workspace "$scratch/shown:ro")
	case $scratch in /var/tmp/*) ;; *) shown+=(--ro "$scratch/shown") ;; esac # that is /tmp inside
	spoken --env "OURS=1" "${shown[@]}" --cwd /tmp/box "$file"
	holds 'r.status == "success"' '"BUILDING=1" in out.split("--")[0] and "BOTH=1" in out.split("--")[0]' \
		'"OURS" not in out.split("--")[0] and "WARDER_" not in out.split("--")[0]' \
		'"BUILDING" not in out.split("--")[1] and "BOTH=1" in out.split("--")[1] and "OURS=1" in out.split("--")[1]' \
		'out.split("--")[2].split() == "/code: .diagnostics environment pid seen /tmp: box /tmp/box: main.txt read-only".split()' \
		'"left" not in out.split("--")[2]' '"/workspace" in err and "file" not in err.replace("No such file", "").replace("shown/file", "")'
}

cannot_fork() {
	given forks.c '#include <stdio.h>' '#include <unistd.h>' '#include <pthread.h>' \
		'static void *thread(void *p) { return p; }' \
		'int main(void) { pthread_t t; printf("%d %d %d\n", fork(), vfork() < 0, pthread_create(&t, 0, thread, 0)); }'
	code --language c --set processes.spawn=false "$file"
	holds 'r.status == "success" and out == "-1 1 0\n"' 'stages == [("build", "success"), ("run", "success")]'
}

# A check has what the policy lets the program have; a build of a document's may start programs.
spawns_in_builds_only() {
	speak '/bin/true; /bin/true && echo built >&2; touch {out}/x' 'true' '{"check": ["sh", "-c", "/bin/true; /bin/true && echo checked >&2"]}'
	given source.txt text
	spoken --set processes.spawn=false --check "$file"
	holds 'r.status == "compileFailed" and "ork" in err and "checked" not in err' || return 1
	spoken --set processes.spawn=false --no-cache "$file"
	holds 'stages[0] == ("build", "success")'
}

# As much is shown of a stage that failed as the policy keeps of a stream; the diagnostics are of all that was said.
shown_as_kept() {
	given long.c 'int main(void) {' 'return undefined_a;' "$(printf '/* %s */' {1..2000})" '}' 'int f(void) { return undefined_b; }'
	code --language c --set output.stderr=100 "$file"
	holds 'r.status == "compileFailed" and len(r.diagnostics) >= 2' 'r.stderr.bytesKept == 100 and r.stderr.truncated and r.stderr.bytesTotal > 100 and len(err) == 100'
}

# A command is no option of the shell's, and is executed as a whole.
commands_as_given() {
	given command '-x; echo never' 'echo after'
	code --language command "$file"
	holds '"-x" in err and "not found" in err' 'out == "never\nafter\n"' || return 1
	printf 'echo one\0; echo two' >"$scratch/nul"
	code --language command "$scratch/nul"
	holds 'r.error.kind == "invalidRequest" and r.error.field == "source" and "NUL" in message'
}

# bomb LANGUAGE EXPRESSION LINE...: ends by one of the policy's limits, or the compiler gives up; never as a success.
bomb() {
	local language=$1 expression=$2 easy=("${preferred[@]}")
	shift 2
	given bomb "$@"
	code --language "$language" --no-cache --timeout 2s --memory 300MiB "$file"
	holds "$expression" '"run" not in dict(stages)' 'r.status != "success"' && [ "$status" != 0 ]
}
by_limit='(r.status, r.cause) in {("timeout", "wallTime"), ("killed", "memory")}'
# An ordinary user's limit is one of addresses, which the compiler sees.
or_by_itself='(r.status, r.cause) == ("compileFailed", "exit") and "memory" in err'
gave_up='(r.status, r.cause) == ("compileFailed", "exit") and err'

bomb_status() {
	local easy=("${preferred[@]}")
	given bomb '#include __FILE__' '#include __FILE__'
	timeout 100 "$WARDER" code "${easy[@]}" --cache "$cache" --no-cache --timeout 2s --memory 4GiB --language c "$file" >"$scratch/result" 2>&1
	status=$?
	exited 124 && ! grep -q 'does not compile' "$scratch/result" && grep -q 'killed after 2s (limits.wallTime)' "$scratch/result" || { cat "$scratch/result"; return 1; }
}

one_time() {
	speak 'sleep 2; echo made >{out}/made' 'cat {out}/made; sleep 60'
	given source.txt text
	spoken --timeout 8s --no-cache "$file"
	holds 'r.status == "timeout" and r.cause == "wallTime" and out == "made\n"' 'stages == [("build", "success"), ("run", "timeout")]' \
		'r.stages[0].wallUs >= 2000000 and r.stages[1].wallUs < 6500000' && exited 124
}
nothing_left() {
	speak 'sleep 60' 'echo never'
	given source.txt text
	spoken --timeout 1s "$file"
	holds 'r.status == "timeout" and r.cause == "wallTime"' 'stages == [("build", "timeout")]'
}

# What a build leaves is kept whole, or not at all.
not_kept() {
	speak "$1" 'ls -l {out}; cat {out}/*'
	given source.txt text
	spoken "$file"
	holds 'r.error.kind == "unavailable" and "the built files cannot be stored" in message' "'$2' in message" '"root:" not in (out or "")' && exited 125
}

compiler_cases() {
	echo found_the_content >"$scratch/secret"
	echo 'declare const found_the_content: 1;' >"$scratch/secret.ts"
	chmod 644 "$scratch/secret" "$scratch/secret.ts"
	echo "$scratch/secret" >"$scratch/secret.path"
	needs rust "rust: include_str! of a host's file" reads_nothing rust "fn main() { println!(\"{}\", include_str!(\"$scratch/secret\")); }"
	needs rust "rust: env! of the policy's variable" reads_nothing rust 'fn main() { println!("{}", env!("SHOWN")); }'
	needs c "c: #include of a host's file" reads_nothing c "#include \"$scratch/secret\"" 'int main(void) { return 0; }'
	needs c "c: .incbin of a host's file" reads_nothing c "__asm__(\".incbin \\\"$scratch/secret\\\"\");" 'int main(void) { return 0; }'
	needs go "go: embedding a host's file" reads_nothing go 'package main' 'import _ "embed"' "//go:embed $scratch/secret" 'var s string' \
		'func main() { print(s) }'
	needs typescript "typescript: a reference to a host's file" reads_nothing typescript "/// <reference path=\"$scratch/secret.ts\" />" \
		'const n: number = found;'
	needs java "java: a processor of annotations runs in the jail" processor
	check "what a compiler has is not the program's, and the other way round" two_worlds
	needs c "without processes.spawn C compiles, and the program cannot fork" cannot_fork
	check "a check starts no programs against the policy, a document's build does" spawns_in_builds_only
	needs c "what is shown of a failed stage is cut to the policy's limit" shown_as_kept
	check "a command that begins with a dash, and one with a NUL byte" commands_as_given
	needs c++ "c++: a recursion of templates" bomb c++ "$by_limit or $or_by_itself" \
		'template <int N, typename... T> struct Bomb { Bomb<N - 1, T..., int> a; Bomb<N - 1, T..., long> b; };' \
		'template <typename... T> struct Bomb<0, T...> {};' 'Bomb<40> bomb;' 'int main() {}'
	needs c "c: #include of /dev/zero" bomb c "$by_limit or $or_by_itself" '#include "/dev/zero"' 'int main(void) {}'
	needs c "c: a file that includes itself, twice" bomb c "$by_limit or $or_by_itself" '#include __FILE__' '#include __FILE__'
	needs c "c: a file that includes itself, once" bomb c "$gave_up and 'depth' in err" '#include __FILE__' 'int main(void) {}'
	needs rust "rust: a loop at compile time" bomb rust "$by_limit or $gave_up" 'const fn f() -> u8 { loop {} }' 'const N: u8 = f();' \
		'fn main() { println!("{}", N); }'
	needs c "a compiler's limit is told to people" bomb_status
	check "one wall time for building and running" one_time
	check "a build that takes too long" nothing_left
	check "a link among what was built" not_kept 'ln -s /etc/passwd {out}/link' link
	check "a pipe among what was built" not_kept 'mkfifo {out}/pipe' pipe
	check "too many files built" not_kept 'i=0; while [ $i -le 1000 ]; do : >{out}/$i; i=$((i + 1)); done' limits
}

# ---- cache ----

program() {
	given answer.c '#include <stdio.h>' "int main(void) { puts(\"$1\"); }"
}
built() {
	holds 'r.status == "success"' "dict(stages)['build'] == '$1'" "${@:2}"
}
entries() {
	find "$cache/built" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l
}

found_again() {
	program one
	code --language c "$file" && built success 'out == "one\n"' && code --language c "$file" && built cached 'out == "one\n"' &&
		code --language c --input 1 "$file" more arguments && built cached
}
# What was said of the build is said again, with how much of it did not fit.
told_again() {
	given chatty.c "$("$python" -IS -c 'for i in range(1100): print("#warning w%d" % i)
print("int main(void) { return 0; }")')"
	code --language c "$file" && built success 'len(r.diagnostics) == 1000' 'r.diagnosticsDropped == 100' &&
		code --language c "$file" && built cached 'len(r.diagnostics) == 1000' 'r.diagnosticsDropped == 100'
}
checked_again() {
	speak 'echo compiled >&2; echo made >{out}/made' 'cat {out}/made'
	given source.txt checked
	spoken --check "$file" && built success 'err == "compiled\n"' && spoken --check "$file" && built success 'err == "compiled\n"' 'r.receipt.controls' &&
		spoken "$file" && built cached 'out == "made\n"'
}
# The second one waits for the first, which gives up, and has not much time left for a build of its own.
no_waiting() {
	local pid
	speak 'sleep 60' 'true'
	given source.txt "slow $RANDOM"
	code_to "$scratch/slow" --timeout 4s --languages "$spoken" --language spoken "$file" &
	pid=$!
	wait_for_build
	spoken --timeout 4s "$file"
	wait $pid
	"$python" -IS "$here/holds.py" "$scratch/slow" 'r.status == "timeout" and r.stages[0].wallUs > 3500000' &&
		holds '(r.error and r.error.kind == "timeout" and r.error.field == "limits.wallTime") or (r.status == "timeout" and r.stages[0].wallUs < 2000000)'
}
not_found() {
	program two
	code --language c "$file" && built success 'out == "two\n"' &&
		code --language c --pids 33 "$file" && built success &&
		code --language c --file "$scratch/secret=data" "$file" && built success &&
		code --language c++ "$file" && built success &&
		code --language c "$file" && built cached
}
other_flags() {
	speak 'echo first >{out}/made' 'cat {out}/made'
	given source.txt text
	spoken "$file" && built success 'out == "first\n"' && spoken "$file" && built cached &&
		speak 'echo second >{out}/made' 'cat {out}/made' && spoken "$file" && built success 'out == "second\n"'
}
no_cache() {
	local before
	program three
	before=$(entries)
	code --language c --no-cache "$file" && built success && code --language c --no-cache "$file" && built success && [ "$(entries)" = "$before" ]
}
failed_leaves_nothing() {
	local before
	before=$(entries)
	given wrong.c 'int main(void) { return wrong; }'
	code --language c "$file"
	holds 'r.status == "compileFailed"' && [ "$(entries)" = "$before" ]
}
unspoiled() {
	speak "ls $cache >&2; cp /bin/sh {out}/sh; echo 'echo right' >{out}/script; chmod +x {out}/script" '{out}/sh {out}/script; eval "$1"' '{"run": ["{out}/sh", "{source}", "{args}"]}'
	given source.txt 'for what in "echo wrong >/code/script" "chmod 777 /code/script" "rm -f /code/script" "mv /code/script /code/x" \
		"echo wrong >/code/new" "mount -o remount,rw /code" "echo wrong >/proc/self/exe" "ln /code/script /tmp/x" "umount /code" \
		"ls '"$cache"'" "cd /code/../.. && ls ..'"$cache"'"; do
		(eval "$what") 2>/dev/null && echo "done: $what"
	done
	. /code/script'
	spoken "$file" && built success 'out == "right\n"' && spoken "$file" && built cached 'out == "right\n"'
}
makes_room() {
	local old
	old=$cache/built/$(printf 'a%.0s' {1..64})
	program room
	mkdir "$old" && fallocate -l 520MiB "$old/program" && touch -d '1 hour ago' "$old" || return 1
	code --language c "$file" && built success 'out == "room\n"' && [ ! -e "$old" ] && code --language c "$file" && built cached
	status=$?
	rm -rf "$old"
	return $status
}
at_once() {
	local i results=()
	program twenty
	for i in {1..20}; do
		code_to "$scratch/at-once.$i" --language c "$file" &
		results+=("$scratch/at-once.$i")
	done
	wait
	cat "${results[@]}" | "$python" -c '
import json, sys
results = [json.loads(line) for line in sys.stdin]
builds = [stage["status"] for result in results for stage in result["stages"] if stage["name"] == "build"]
answers = {result["stdout"]["text"] for result in results}
print(builds, answers)
sys.exit(not (answers == {"twenty\n"} and builds.count("success") == 1 and builds.count("cached") == 19))'
}
wait_for_build() {
	local _
	for _ in {1..500}; do
		[ -z "$(find "$cache/built" -maxdepth 1 -name 'build-*' 2>/dev/null)" ] || break
		sleep 0.02
	done
}
killed() {
	local pid
	speak 'echo begun >{out}/begun; sleep 60' 'echo never'
	given source.txt "killed $RANDOM"
	"$WARDER" code "${easy[@]}" --cache "$cache" --languages "$spoken" --language spoken "$file" >/dev/null 2>&1 </dev/null &
	pid=$!
	wait_for_build
	kill -KILL $pid
	wait $pid 2>/dev/null
	[ -n "$(find "$cache/built" -maxdepth 1 -name '*.lock')" ] || { echo "nothing was being built"; return 1; }
	program "after $RANDOM"
	code --language c "$file"
	built success && [ -z "$(find "$cache/built" -maxdepth 1 -name 'build-*' -o -maxdepth 1 -name '*.lock')" ] || { ls "$cache/built"; return 1; }
}
# Before the build's jail is there, while it is set up, and when its program runs.
ended_by_signal() {
	local pid before delay status
	before=$(entries)
	speak 'sleep 60' 'echo never'
	for delay in 0 0.004 0.008 0.012 0.016 0.024 0.05 0.2; do
		given source.txt "signal $RANDOM"
		"$WARDER" code "${easy[@]}" --cache "$cache" --languages "$spoken" --language spoken "$file" >"$scratch/result" 2>&1 </dev/null &
		pid=$!
		wait_for_build
		sleep $delay
		kill -TERM $pid
		wait $pid
		status=$?
		[ $status = 143 ] && [ "$(entries)" = "$before" ] ||
			{ echo "after $delay s: $status, $(entries) entries and not $before"; cat "$scratch/result"; return 1; }
	done
}
narrow_umask() {
	local cache=$scratch/narrow
	program narrow
	(umask 077 && code --language c "$file" && built success 'out == "narrow\n"' && code --language c "$file" && built cached 'out == "narrow\n"')
}
private() {
	mkdir -p "$scratch/open" && chmod 777 "$scratch/open"
	program open
	local cache=$scratch/open
	code --language c "$file"
	holds 'r.error.kind == "unavailable" and r.error.field == "cache"' '"another user" in message'
}

cache_cases() {
	[ -e "$scratch/secret" ] || echo content >"$scratch/secret"
	needs c "a program is built once, whatever it is given" found_again
	needs c "what a compiler said is said again" told_again
	check "a check compiles again, and a run finds what it made" checked_again
	needs c++ "another policy, file or language is another program" not_found
	check "other flags make another program" other_flags
	needs c "--no-cache neither finds nor keeps" no_cache
	needs c "what does not compile leaves nothing" failed_leaves_nothing
	check "what was built cannot be changed from inside a jail" unspoiled
	needs c "the cache makes room" makes_room
	needs c "twenty at once: one build, twenty answers" at_once
	needs c "what a killed build left is removed by a later one" killed
	check "a build ended by a signal leaves nothing" ended_by_signal
	check "waiting for somebody else's build ends with the wall time" no_waiting
	needs c "with the umask 077" narrow_umask
	needs c "a directory that others can write to is no cache" private
}

# ---- documents ----

awk_document='{"languages": [
  {"name": "awk", "aliases": ["mawk"], "file": "main.awk",
   "run": ["awk", "-f", "{source}", "{args}"], "environment": {"POSIXLY_CORRECT": "1"}, "defaults": {"limits.memory": "64MiB"}},
  {"name": "calculator", "file": "main.bc", "check": ["sh", "-c", "test -s \"$1\"", "sh", "{source}"], "run": ["bc", "-q", "{source}"]}
]}'

own_languages() {
	given own.json "$awk_document"
	given sum.awk '{ n += $1 } END { print n, ARGC }'
	printf '1\n2\n' >"$scratch/numbers"
	code --languages "$scratch/own.json" --language MAWK --stdin "$scratch/numbers" "$file" -
	holds 'r.status == "success" and r.language == "awk" and out == "3 2\n"' 'stages == [("run", "success")]' || return 1
	given power.bc '2^100'
	code --languages "$scratch/own.json" --language calculator "$file"
	holds 'r.status == "success" and out == "1267650600228229401496703205376\n"' &&
		code --languages "$scratch/own.json" --language calculator --check "$file" &&
		holds 'r.status == "success" and stages == [("check", "success")]'
}
overridden() {
	given own.json '{"languages": [{"name": "python", "file": "x.py", "run": ["sh", "-c", "echo ours {name} {unknown} {", "{args}"]}]}'
	given code.py 'print("never")'
	code --languages "$scratch/own.json" --language py "$file"
	holds 'r.status == "success" and out == "ours x {unknown} {\n"' && code --language py "$file" && holds 'out == "never\n"'
}

# wrong DOCUMENT LINE FIELD TEXT: refused, with file, line and field.
wrong() {
	given wrong.json "$1"
	given code.py 'print(1)'
	code --languages "$scratch/wrong.json" --language python "$file"
	holds 'r.error.kind == "invalidRequest"' "r.error.field == '$3'" "message.startswith('$scratch/wrong.json:$2:')" "'$4' in message" && exited 125
}
row() {
	printf '{"languages": [\n {"name": "x", "file": "x", "run": ["sh"],\n  %s}]}' "$1"
}

not_there() {
	mkdir -p "$scratch/view/usr/bin"
	cp /bin/sh "$scratch/view/usr/bin/sh"
	given code.rb 'puts 1'
	code --view "directory:$scratch/view" --language ruby "$file"
	holds 'r.error.kind == "unsupportedLanguage" and r.error.field == "language"' \
		"message == 'the language ruby is not available: there is no ruby in the view of $scratch/view; install it there'" && exited 125 &&
		code --view "directory:$scratch/view" --language lua "$file" && holds '"no lua5.4, nor lua in" in message' &&
		code --language rubby "$file" && holds 'r.error.kind == "unsupportedLanguage"' '"did you mean ruby" in message or "ruby" in message' &&
		code "$scratch/numbers" && holds 'r.error.kind == "unsupportedLanguage"'
}
narrowed() {
	given code.sh 'echo ran'
	code --set languages=python,sh --language sh "$file" && holds 'r.status == "success" and out == "ran\n"' || return 1
	code --set languages=python --language sh "$file"
	holds 'r.error.kind in {"unsupportedPolicy", "unsupportedLanguage"}' '"languages" in (r.error.field or "") + message' && exited 125 || return 1
	given code.c 'int main(void) { return 0; }'
	code --set languages=python --language c "$file"
	holds 'r.status == "rejected"' '"languages" in (r.error.field or "") + message'
	code --set languages= --language sh "$file"
	holds 'r.status == "rejected"'
}
below_ceiling() {
	"$WARDER" policy show strict | sed 's/"languages": "any"/"languages": ["python"]/' >"$scratch/ceiling.json"
	given code.sh 'echo ran'
	code --ceiling "$scratch/ceiling.json" --language sh "$file"
	holds 'r.status == "rejected" and r.error.kind == "rejected"' '"languages" in r.error.field'
}

results() {
	given code.sh 'echo text >&3; head -c 10 "$WARDER_INPUT"; readlink /proc/self/fd/4'
	code --language sh --input '[1, 2]' "$file"
	holds 'r.status == "success" and r.output is None and "JSON" in r.outputError' 'out.startswith("[1, 2]")' || return 1
	given code.sh 'head -c 2000000 /dev/zero | tr "\0" 1 >"$WARDER_RESULT"'
	code --language sh "$file"
	holds 'r.output is None and "larger than its limit" in r.outputError' || return 1
	given code.sh 'echo one; echo "{\"a\": 1}"; test -z "${WARDER_INPUT+x}" && test ! -e /dev/fd/4'
	code --language sh --last-line "$file"
	holds 'r.status == "success" and r.output == {"a": 1} and out == "one"' || return 1
	given code.sh 'printf "{\"a\": 1}\n\0\0"'
	code --language sh --last-line "$file"
	holds 'r.output is None and r.stdout.bytesKept == 11' || return 1
	given value.json '{"a": [true]}'
	given code.sh 'cat /dev/fd/4 >/dev/fd/3; echo x >>/dev/fd/4'
	code --language sh --input "@$scratch/value.json" "$file"
	holds 'r.output == {"a": [True]} and r.status == "failed"' || return 1
	code --language sh --input '{"a": }' "$file"
	holds 'r.error.kind == "invalidRequest" and r.status == "rejected"'
}

# The examples of the manual and of docs/tour.md work as printed. $bare is `warder` with the flags that this user needs.
bare() {
	mkdir -p "$scratch/bin"
	printf '#!/bin/bash\ncommand=$1\nshift\nexec "%s" "$command" %s --cache "%s" "$@"\n' "$WARDER" "${easy[*]}" "$cache" >"$scratch/bin/warder"
	chmod +x "$scratch/bin/warder"
}
of_manual() {
	bare
	awk '/^\.Bd/ { in_it = 1; next } /^\.Ed/ { if (found) exit; in_it = 0; text = "" } in_it { text = text $0 "\n"; found = /"languages"/ || found }
		END { printf "%s", text }' "$top/docs/warder-languages.5" >"$scratch/own.json"
	awk '/^\$ / { sub(/^\$ /, ""); gsub(/\\-/, "-"); print }' "$top/docs/warder-languages.5" >"$scratch/example"
	[ "$(wc -l <"$scratch/example")" = 2 ] || return 1
	[ "$(cd "$scratch" && PATH=$scratch/bin:$PATH bash example)" = 5050 ]
}
of_tour() {
	bare
	awk '/^## / { in_it = /Code/ } in_it && /^```/ { open = !open; next } in_it && open' "$top/docs/tour.md" >"$scratch/session"
	# What follows a command is its here-document, up to END, or else what is printed.
	awk '/^\$ / { print substr($0, 3); here = /<</; next }
		here { print; here = $0 != "END" }' "$scratch/session" >"$scratch/example"
	(cd "$scratch" && PATH=$scratch/bin:$PATH bash example) >"$scratch/printed" || return 1
	diff <(printf '%s\n' 5050 "success {'next': 42}") "$scratch/printed" && grep -qx 5050 "$scratch/session" && grep -qx "success {'next': 42}" "$scratch/session"
}

document_cases() {
	check "the example of warder-languages(5)" of_manual
	needs c "the examples of docs/tour.md about code" of_tour
	check "awk and bc, by a document" own_languages
	check "a document's row goes before one of the table" overridden
	check "a document that is not an object" wrong '[]' 1 languages 'must be {"languages": [...]}'
	check "another member" wrong '{"language": []}' 1 languages 'must be {"languages": [...]}'
	check "no JSON" wrong $'{"languages": [\n}' 2 "$scratch/wrong.json" 'where a value is expected'
	check "an unknown member" wrong "$(row '"runs": ["x"]')" 3 runs 'known: name, aliases, file'
	check "a command that is not an array" wrong "$(row '"build": "make"')" 3 build 'must be an array of 1 to 64 strings'
	check "an empty command" wrong "$(row '"check": []')" 3 check 'must be an array of 1 to 64 strings'
	check "a word that is not a string" wrong "$(row '"check": ["x", 1]')" 3 check 'must be a string'
	check "a name with a blank" wrong "$(row '"aliases": ["a b"]')" 3 aliases 'other characters'
	check "a file in a directory" wrong '{"languages": [{"name": "x", "file": "a/b", "run": ["sh"]}]}' 1 file 'file name without a directory'
	check "a variable that is not a string" wrong "$(row '"environment": {"A": 1}')" 3 A 'must be a string'
	check "a default that is no field" wrong "$(row '"defaults": {"limits.memorry": "1MiB"}')" 3 defaults 'limits.memor'
	check "a row without a command" wrong $'{"languages": [\n{"name": "x", "file": "x"}]}' 2 languages 'needs name, file and run'
	check "a language that the view does not have, or nobody has" not_there
	check "policy.languages says which" narrowed
	check "a ceiling's languages" below_ceiling
	check "results and inputs that are none" results
}

# ----

# Several parts at once: much of it is waiting.
together() {
	local part outputs=()
	for part; do
		outputs+=("$scratch/$part.tap")
		"$0" "$part" >"$scratch/$part.tap" &
	done
	wait
	awk '/^1\.\./ { next }
		/^(not )?ok / { count++; failed += /^not/; sub(/ok [0-9]+/, "ok " count) }
		/^Bail/ { failed++ }
		{ print }
		END { print "1.." count; exit failed > 0 }' "${outputs[@]}"
	exit
}

[ $# = 1 ] || together "$@"
for part; do
	case $part in
	programs) program_cases ;;
	compilers) compiler_cases ;;
	cache) cache_cases ;;
	documents) document_cases ;;
	*) echo "Bail out! there is no part $part"; exit 2 ;;
	esac
done
tap_end
