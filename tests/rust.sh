#!/bin/bash
# rust.sh: the harness around a user's function in Rust, compiled by a real compiler, as TAP. RUSTC names it (rustc); without one
# everything is skipped. The files lie and are compiled as runtime/code/rust_source.h says.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. tests/lib/tap.sh
rustc=${RUSTC:-rustc}
if ! command -v "$rustc" >/dev/null; then
	skip "all of it" "there is no rustc"
	tap_end
	exit
fi
harness=$PWD/runtime/code/harness.rs
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" && cp "$harness" . || exit 1

compile() {
	timeout 120 "$rustc" --edition 2021 --error-format=json --color never "$@" harness.rs 2>messages
}

# program SOURCE: build it. run INPUT: its result.
program() {
	printf '%s\n' "$1" >main.rs
	compile -o program || { cat messages; return 1; }
}
run() {
	printf '%s' "$1" >input
	WARDER_INPUT=input WARDER_RESULT=/dev/fd/3 ./program 3>result >output
}

# gives SOURCE INPUT RESULT: the result is exactly that.
gives() {
	program "$1" && run "$2" && { [ "$(cat result)" = "$3" ] || { echo "got $(cat result)"; return 1; }; }
}

# fails SOURCE CODE FILE: does not compile, with a message that has this code and this file in it.
fails() {
	printf '%s\n' "$1" >main.rs
	! compile --emit=metadata -o check.rmeta || return 1
	grep -F "\"level\":\"error\"" messages | grep -F "$2" | grep -qF "\"file_name\":\"$3\"" || { cat messages; return 1; }
}

identity='fn run(input: Value) -> Value { input }'

check "the input is given back" gives "$identity" '{"b":[1,-2,3.5,1e300,true,null,"x"],"a":{}}' '{"a":{},"b":[1,-2,3.5,1e300,true,null,"x"]}'
texts='"é\"\\\/\u0001\ud83d\ude00\n"'
check "texts" gives "$identity" "$texts" '"é\"\\/\u0001😀\n"'
check "large numbers" gives "$identity" '[18446744073709551615,-9223372036854775808,18446744073709551616,0.1,-0]' \
	'[18446744073709551615,-9223372036854775808,1.8446744073709552e19,0.1,-0.0]'
check "empty input is null" gives "$identity" '' null
check "what there is to call" gives '
use std::collections::HashMap;
fn run(mut v: Value) -> Value {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in v["text"].as_str().unwrap_or("").split(" ") {
        *counts.entry(word.to_string()).or_insert(0) += 1;
    }
    v["list"][0] = Value::from("changed");
    v["new"]["deep"] = Value::from(vec![1.5, 2.0]);
    let name = "key";
    json!({"counts": counts, "n": v["n"].as_i64().unwrap_or(0) + 1, name: [null, [1, 2].len(), {"x": -1}], "v": v,
           "missing": v["no"]["such"], "is": v["n"] == 41, "opt": None::<i64>, (format!("{}2", name)): (1, "two")})
}' '{"text":"a b a","n":41,"list":[1]}' \
	'{"counts":{"a":2,"b":1},"is":true,"key":[null,2,{"x":-1}],"key2":[1,"two"],"missing":null,"n":42,"opt":null,"v":{"list":["changed"],"n":41,"new":{"deep":[1.5,2.0]},"text":"a b a"}}'
check "an explicit use" gives 'use serde_json::{json, Value};
pub fn run(v: Value) -> Value { let text = serde_json::to_string(&v).unwrap(); let again: Value = serde_json::from_str(&text).unwrap(); json!([text, again]) }' '[1]' '["[1]",[1]]'
check "names like the harness's" gives 'mod prelude { pub fn open() -> i64 { 7 } } fn named() -> i64 { prelude::open() }
fn run(_: Value) -> Value { Value::from(named()) }' '' 7

no_result() {
	program "$1" && ! run "$2" && [ ! -s result ]
}
check "input that is no JSON" no_result "$identity" '{"a":}'
check "input that is too deep" no_result "$identity" "$(printf '%*s' 200 '' | tr ' ' '[')"
check "a panic" no_result 'fn run(_: Value) -> Value { panic!("x") }' ''

without_variables() {
	program 'fn run(v: Value) -> Value { println!("text"); v }' && [ "$(./program)" = $'text\nnull' ]
}
check "without variables: null in, standard output out" without_variables
files() {
	program "$identity" && echo 5 >in && WARDER_INPUT=in WARDER_RESULT=out ./program && [ "$(cat out)" = 5 ]
}
check "files for both" files
pipes() {
	program "$identity" && [ "$(echo '[2]' | { WARDER_INPUT=/dev/fd/0 WARDER_RESULT=/dev/fd/4 ./program 4>&1 >/dev/null; })" = '[2]' ]
}
check "pipes for both" pipes

check "missing brace" fails 'fn run(v: Value) -> Value { v' unclosed main.rs
check "undefined variable" fails 'fn run(v: Value) -> Value { missing }' E0425 main.rs
check "undefined type" fails 'fn run(v: Missing) -> Value { Value::Null }' 'cannot find type' main.rs
check "undefined function" fails 'fn run(v: Value) -> Value { missing() }' E0425 main.rs
check "wrong return" fails 'fn run(v: Value) -> Value { 1 }' E0308 main.rs
check "no run" fails 'fn other() {}' E0425 harness.rs
check "run twice" fails "$identity $identity" E0428 main.rs
check "unknown crate" fails "use rand::Rng; $identity" E0432 main.rs
check "i64 for Value" fails 'fn run(v: i64) -> i64 { v }' E0308 harness.rs
check "no argument" fails 'fn run() -> Value { Value::Null }' E0061 harness.rs
check "the line is the user's" fails "
$identity
fn other() -> i32 { \"x\" }" '"line_start":3' main.rs

quiet() {
	printf '%s\n' "$identity" >main.rs
	compile --emit=metadata -o check.rmeta && { [ ! -s messages ] || { cat messages; return 1; }; }
}
check "the harness itself gives no warning" quiet
warns() {
	printf '%s\n' "$identity fn other() { let unused = 1; }" >main.rs
	compile --emit=metadata -o check.rmeta && grep -q unused_variables messages && grep -q dead_code messages
}
check "the user's source does" warns
tap_end
