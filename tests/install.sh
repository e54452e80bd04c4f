#!/bin/bash
# install.sh BUILD: what `make install` puts in place works from there, as TAP. Runs programs in the jail: as root.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. tests/lib/tap.sh
build=$1
dest=$(mktemp -d) || exit 1
trap 'rm -rf "$dest"' EXIT
lib=$dest/usr/lib
export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest

# The flags of run.sh's build: with others everything is built anew, under the feet of the suites that run beside this one.
make() { command make WERROR=-Werror "$@"; }
install_tree() { make -s BUILD="$build" PREFIX=/usr DESTDIR="$dest" install; }
# shellcheck disable=SC2046 # words of a command line
compile_shared() { cc -o "$dest/shared" docs/example.c $(pkg-config --cflags --libs warder libcjson); }
# shellcheck disable=SC2046 # words of a command line
compile_static() { cc -o "$dest/static" docs/example.c $(pkg-config --cflags warder) "$lib/libwarder.a" -lcjson; }
# shellcheck disable=SC2046 # words of a command line
compile_store() {
	echo '#include <warder-store.h>
		int main(int n, char **v) { char *json; struct warder_error e; return n < 2 || warder_image_list(v[1], &json, &e) != 0; }' >"$dest/store.c"
	cc -o "$dest/store" "$dest/store.c" $(pkg-config --cflags warder-store) "$lib/libwarder-store.a" $(pkg-config --static --libs-only-l warder-store | sed 's/-lwarder[^ ]*//g')
}
run_store() { "$dest/store" "$dest/kept" && ! ldd "$dest/store" | grep -q libwarder; }
compile_cxx() { echo '#include <warder.h>' | c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$dest/usr/include" -x c++ -; }
# shellcheck disable=SC2046 # words of a command line
compile_example() { cc -Wall -Wextra -Wno-unused-parameter -Werror -o "$dest/$1" "docs/example-$1.c" $(pkg-config --cflags --libs warder "${@:2}"); }
# Both at the same time, so that the second one ends first.
run_epoll() {
	[ "$(LD_LIBRARY_PATH=$lib "$dest/epoll" 'echo one; sleep 1' 'echo two; exit 3' | cut -d, -f1)" = $'echo two; exit 3: failed\ntwo\necho one; sleep 1: success\none' ]
}
run_uv() {
	[ "$(LD_LIBRARY_PATH=$lib "$dest/uv" 'echo one; sleep 0.2' 'sleep 0.5; echo slow; sleep 60')" = $'one\necho one; sleep 0.2: success (exit)\nslow\nsleep 0.5; echo slow; sleep 60: failed (signal)' ]
}
run_judge() {
	echo 'print(sum(map(int, input().split())))' >"$dest/solution.py"
	[ "$(LD_LIBRARY_PATH=$lib "$dest/judge" "$dest/solution.py" '1 2' 3 '20 22' 42 '1 1' 3 x 1 '2 2' 4)" = $'1 accepted\n2 accepted\n3 wrongAnswer\n4 runtimeError\n5 accepted' ]
}
# One process starts it, a second one follows it from its first byte.
# shellcheck disable=SC2016 # the session's shell expands it
run_execution() {
	local name=install-$$ got
	export LD_LIBRARY_PATH=$lib WARDER=$dest/usr/bin/warder
	got=$(echo Ada | "$dest/execution" "$name" 'read name; echo "hello $name"; exit 3' 2>"$dest/id")
	got+=/$("$dest/execution" "$name" "$(cut -d' ' -f2 "$dest/id")" </dev/null 2>&1 | tail -2)
	"$WARDER" session stop "$name"
	[ "$got" = $'hello Ada\nfailed (exit)/hello Ada\nfailed (exit)' ]
}
run_shared() { [[ $(LD_LIBRARY_PATH=$lib "$dest/shared" 'print(6 * 7)') == 42* ]]; }
run_static() { [[ $("$dest/static" 'print(6 * 7)') == 42* ]]; }
# Nothing but warder_*: a program that links the library keeps its own names.
only_ours() { ! nm -g --defined-only "$1" | awk 'NF == 3 { print $3 }' | grep -v '^warder_'; }
only_libc() { ! readelf -d "$lib/libwarder.so.0" | grep NEEDED | grep -vE 'libc\.so|ld-linux'; }
soname() { readelf -d "$lib/libwarder.so.0" | grep -q 'SONAME.*\[libwarder\.so\.0\]'; }
hardened() { readelf -dlW "$1" | grep -q BIND_NOW && readelf -lW "$1" | grep -q 'GNU_STACK.* RW ' && readelf -lW "$1" | grep -q GNU_RELRO; }
static_tool() { ! readelf -lW "$dest/usr/bin/warder" | grep -q INTERP && readelf -lW "$dest/usr/bin/warder" | grep -q 'GNU_STACK.* RW '; }
tool_runs() { [ "$("$dest/usr/bin/warder" run -- echo hello)" = hello ]; }
# It cannot be shown in a jail here, below /tmp; the message names what was found.
attempts_found() { [ "$("$dest/usr/libexec/warder/warder-attempts" --list | wc -l)" -ge 120 ] && "$dest/usr/bin/warder" doctor --attack 2>&1 | grep -q 'libexec/warder/warder-attempts'; }
other_libdir() {
	make -s BUILD="$build" PREFIX=/usr LIBDIR=/usr/lib64 DESTDIR="$dest/other" install &&
		[ "$(PKG_CONFIG_PATH=$dest/other/usr/lib64/pkgconfig PKG_CONFIG_SYSROOT_DIR='' pkg-config --variable=libdir warder)" = /usr/lib64 ]
}
# Every function of the headers, and what its page says of it.
has_pages() {
	local name
	while read -r name; do
		[ -f "$dest/usr/share/man/man3/$name.3" ] || { echo "no page: $name"; return 1; }
	done < <(awk -v names=1 -f docs/man3.awk runtime/warder.h store/warder-store.h)
	[ "$(grep -ohE '\bwarder_[a-z_]+\(' runtime/warder.h store/warder-store.h | sort -u | wc -l)" -gt 100 ] &&
		(cd "$dest/usr/share/man" && mandoc man3/warder_wait.3 | col -b) | grep -q 'int warder_wait(struct warder_run \*run' &&
		! mandoc -Tlint -Wwarning "$dest"/usr/share/man/man3/libwarder*.3 | grep -v 'new sentence'
}
removed() { make -s BUILD="$build" PREFIX=/usr DESTDIR="$dest" uninstall && [ -z "$(find "$dest/usr" -type f -o -type l)" ]; }

check "make install" install_tree
check "the tool runs" tool_runs
check "the tool is static, its stack is not executable" static_tool
check "the tool finds what it attacks with" attempts_found
check "the library has its soname" soname
check "the library needs libc only" only_libc
check "the library is hardened" hardened "$lib/libwarder.so.0"
check "the static library defines warder_* only" only_ours "$lib/libwarder.a"
check "the static library of the store defines warder_* only" only_ours "$lib/libwarder-store.a"
check "every public function has a manual page" has_pages
check "the example compiles with pkg-config" compile_shared
check "the example runs" run_shared
check "the example links statically" compile_static
check "the statically linked example runs" run_static
check "a program links the store's library statically" compile_store
check "the program with the store's library runs" run_store
check "the example with epoll compiles" compile_example epoll
check "the example with epoll runs" run_epoll
check "the example of a judge compiles" compile_example judge
check "the example of a judge runs" run_judge
check "the example of an execution that stays compiles" compile_example execution
check "the example of an execution that stays runs" run_execution
if pkg-config --exists libuv; then
	check "the example with libuv compiles" compile_example uv libuv
	check "the example with libuv runs" run_uv
else
	skip "the example with libuv" "libuv is not installed (libuv1-dev)"
fi
if command -v c++ >/dev/null; then
	check "the header is also C++" compile_cxx
else
	skip "the header is also C++" "there is no C++ compiler"
fi
check "another LIBDIR is told to pkg-config" other_libdir
check "make uninstall leaves nothing" removed
tap_end
