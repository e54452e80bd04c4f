#include "base/array.h"
#include "runtime/code/harness.h"
#include "runtime/code/rust_source.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define RUN "fn run(v: Value) -> Value { v }\n"

Test(rust_source, rows, .timeout = 20)
{
	static const struct {
		const char *label, *source, *refusal;
	} rows[] = {
		{ "empty", "", NULL },
		{ "a function", RUN, NULL },
		{ "fn main", "fn main", "main.rs:1: fn main" },
		{ "fn main()", RUN "fn main() {}", "main.rs:2: fn main" },
		{ "over lines", "fn\nmain() {}", "fn main" },
		{ "many blanks", "pub   fn \t main ( ) { }", "fn main" },
		{ "async", "async fn main() {}", "fn main" },
		{ "raw name", "fn r#main() {}", "fn main" },
		{ "comment between", "fn/* a /* b */ c */main() {}", "fn main" },
		{ "after a stray brace", "} fn main() {}", "fn main" },
		{ "after a lifetime", "fn f<'a>(x: &'a str) {} fn main() {}", "fn main" },
		{ "after a quote character", "const Q: char = '\"'; fn main() {}", "fn main" },
		{ "after an escaped quote", "const Q: char = '\\''; fn main() {}", "fn main" },
		{ "after a byte", "const Q: u8 = b'\"'; fn main() {}", "fn main" },
		{ "after a bracket character", "const Q: char = '{'; fn main() {}", "fn main" },
		{ "after a raw string", "const Q: &str = r#\"\"{\"#; fn main() {}", "fn main" },
		{ "after a closed string", "const Q: &str = \"\\\"{\"; fn main() {}", "fn main" },
		{ "after a non-ASCII character", "const Q: char = 'é'; fn main() {}", "fn main" },
		{ "longer name", "fn main_helper() {}", NULL },
		{ "other prefix", "fn domain() {} fn remain() {}", NULL },
		{ "in a string", "fn f() { let s=\"fn main\"; }", NULL },
		{ "in a string over lines", "const S: &str = \"a\nfn main() {}\n#![b]\";", NULL },
		{ "in a raw string", "const S: &str = r#\"\" fn main() {} #![b] \"#;", NULL },
		{ "in a byte string", "const S: &[u8] = b\"\\\" fn main #![b]\";", NULL },
		{ "in a raw byte string", "const S: &[u8] = br##\"\"# fn main\"##;", NULL },
		{ "in a C string", "const S: &CStr = c\"fn main\";", NULL },
		{ "in a line comment", "// fn main\n" RUN, NULL },
		{ "in a block comment", "/* fn main */" RUN, NULL },
		{ "in nested comments", "/* a /* fn main */ #![b] */" RUN, NULL },
		{ "in a doc comment", "/// fn main\n" RUN, NULL },
		{ "a method", "struct S; impl S { fn main(&self) {} }", NULL },
		{ "in a module", "mod m { pub fn main() {} }", NULL },
		{ "inner attribute", "#![allow(dead_code)]", "main.rs:1: an attribute of the whole file" },
		{ "with blanks", "# ! [x]", "an attribute" },
		{ "one blank", "# ![x]", "an attribute" },
		{ "in a function", "fn f() { #![allow(x)] }", "an attribute" },
		{ "after a comment", "/* \" */ #![x]", "an attribute" },
		{ "outer attribute", "#[derive(Debug)] struct S;", NULL },
		{ "attribute in a string", "const S: &str = \"#![x]\";", NULL },
		{ "negation in a macro", "m!(# !x [y]);", NULL },
		{ "shebang", "#!/bin/sh\n" RUN, NULL },
		{ "inner doc comment", RUN "//! about the file", "main.rs:2: a comment that documents" },
		{ "inner block doc", "/*! about */", "a comment that documents" },
		{ "inner doc of a module", "mod m { //! about m\n }", NULL },
		{ "unclosed comment", "/* fn main", NULL },
		{ "unclosed raw string", "r#\"fn main", NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };
		int status = rust_source_validate(rows[i].source, strlen(rows[i].source), &err);

		cr_expect(status == (rows[i].refusal ? -1 : 0), "%s: %s", rows[i].label, err.text);
		if (rows[i].refusal && status != 0)
			cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST &&
				      strstr(err.text, rows[i].refusal),
				  "%s: %s", rows[i].label, err.text);
	}
}

Test(rust_source, what_is_not_read_is_not_accepted, .timeout = 60)
{
	size_t len = (size_t)5 << 20;
	char *source = malloc(len);
	struct warder_error err = { 0 };

	cr_assert(source);
	memset(source, ' ', len);
	memcpy(source + len - 12, "fn main() {}", 12);
	cr_expect(rust_source_validate(source, len, &err) == -1);
	cr_expect(strstr(err.text, "too large"), "%s", err.text);
	free(source);
}

Test(rust_source, harness, .timeout = 20)
{
	static const char *const wanted[] = { "include!(\"" RUST_SOURCE_FILE "\");", "WARDER_INPUT",
					      "WARDER_RESULT", "fn main()" };
	struct harness harness;
	const char *text;
	size_t len;

	cr_assert(harness_find("rust", &harness));
	text = harness.text;
	len = harness.len;
	cr_assert(len > 1000);
	cr_expect(strncmp(text, "// harness: ", 12) == 0);
	cr_expect(text[len - 1] == '\n' && !memchr(text, '\0', len));
	for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++)
		cr_expect(memmem(text, len, wanted[i], strlen(wanted[i])), "%s", wanted[i]);
}
