#include "base/array.h"
#include "runtime/code/diagnostics/diagnostics.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORPUS "tests/fuzz/corpus/diagnostics/"

static struct diagnostics parse(enum diagnostics_format format, const char *text)
{
	struct diagnostics list = { 0 };
	struct warder_error err = { 0 };

	cr_assert(diagnostics_parse(format, text, strlen(text), &list, &err) == 0, "%s", err.text);
	return list;
}

/* What a compiler said, kept beside the fuzz target's inputs. The caller frees it. */
static char *sample(const char *name, size_t *ret_len)
{
	char path[128];
	char *text = malloc(65536);
	FILE *file;

	snprintf(path, sizeof(path), CORPUS "%s", name);
	file = fopen(path, "r");
	cr_assert(file && text, "%s is read from the top of the tree", path);
	*ret_len = fread(text, 1, 65535, file);
	text[*ret_len] = '\0';
	fclose(file);
	return text;
}

static struct diagnostics parse_sample(enum diagnostics_format format, const char *name)
{
	struct diagnostics list = { 0 };
	struct warder_error err = { 0 };
	size_t len;
	char *text = sample(name, &len);

	cr_assert(diagnostics_parse(format, text, len, &list, &err) == 0, "%s", err.text);
	free(text);
	return list;
}

static char *to_json(const struct diagnostics *list)
{
	struct json_writer w = { 0 };

	diagnostics_write(list, &w);
	return json_take(&w);
}

Test(diagnostics, whole_entries, .timeout = 20)
{
	static const struct {
		const char *label;
		enum diagnostics_format format;
		const char *text, *json;
	} rows[] = {
		{ "nothing", DIAGNOSTICS_RUSTC, "", "[]" },
		{ "two lines that are no JSON", DIAGNOSTICS_RUSTC, "warning: something\nother: text\n",
		  "[]" },
		{ "rustc's error", DIAGNOSTICS_RUSTC,
		  "{\"message\":\"mismatched "
		  "types\",\"code\":{\"code\":\"E0308\",\"explanation\":\"x\"},\"level\":\"error\","
		  "\"spans\":[{\"file_name\":\"main.rs\",\"byte_start\":3,\"line_start\":1,\"line_end\":1,"
		  "\"column_start\":11,"
		  "\"column_end\":14,\"text\":[{\"text\":\"let x: i32 = "
		  "y;\",\"highlight_start\":11,\"highlight_end\":14}],"
		  "\"label\":\"expected i32\"}],\"children\":[],\"rendered\":\"error: r\\n\"}",
		  "[{\"level\":\"error\",\"message\":\"mismatched "
		  "types\",\"code\":\"E0308\",\"spans\":[{\"file\":\"main.rs\","
		  "\"lineStart\":1,\"lineEnd\":1,\"columnStart\":11,\"columnEnd\":14,\"text\":\"let x: i32 = "
		  "y;\","
		  "\"label\":\"expected i32\"}],\"rendered\":\"error: r\\n\"}]" },
		{ "a warning without code and place", DIAGNOSTICS_RUSTC,
		  "  "
		  "{\"message\":\"m\",\"code\":null,\"level\":\"warning\",\"spans\":[],\"unknown\":{\"a\":1}}"
		  "  \r\n",
		  "[{\"level\":\"warning\",\"message\":\"m\",\"code\":null,\"spans\":[],\"rendered\":"
		  "\"warning: m\"}]" },
		{ "children", DIAGNOSTICS_RUSTC,
		  "{\"message\":\"m\",\"code\":null,\"level\":\"error\",\"spans\":[],\"children\":[{"
		  "\"message\":\"try\",\"code\":null,"
		  "\"level\":\"help\",\"spans\":[],\"children\":[],\"rendered\":null}],\"rendered\":\"R\"}",
		  "[{\"level\":\"error\",\"message\":\"m\",\"code\":null,\"spans\":[],\"rendered\":\"R\"},"
		  "{\"level\":\"help\",\"message\":\"try\",\"code\":null,\"spans\":[],\"rendered\":\"help: "
		  "try\","
		  "\"attached\":true}]" },
		{ "gcc's error", DIAGNOSTICS_GCC,
		  "[{\"kind\":\"error\",\"message\":\"m\",\"children\":[],\"locations\":[{\"caret\":{"
		  "\"file\":\"a.c\",\"line\":2,"
		  "\"column\":9,\"byte-column\":2},\"finish\":{\"file\":\"a.c\",\"line\":2,\"byte-column\":4}"
		  "}],"
		  "\"option\":\"-Wx\"}]\n",
		  "[{\"level\":\"error\",\"message\":\"m\",\"code\":\"-Wx\",\"spans\":[{\"file\":\"a.c\","
		  "\"lineStart\":2,"
		  "\"lineEnd\":2,\"columnStart\":2,\"columnEnd\":5,\"text\":null,\"label\":null}],"
		  "\"rendered\":\"a.c:2:2: error: m [-Wx]\"}]" },
		{ "tsc", DIAGNOSTICS_PLAIN, "src/main.ts(3,5): error TS2304: Cannot find name 'x'.\n",
		  "[{\"level\":\"error\",\"message\":\"Cannot find name "
		  "'x'.\",\"code\":\"TS2304\",\"spans\":[{\"file\":"
		  "\"src/"
		  "main.ts\",\"lineStart\":3,\"lineEnd\":3,\"columnStart\":5,\"columnEnd\":6,\"text\":null,"
		  "\"label\":null}],\"rendered\":\"src/main.ts(3,5): error TS2304: Cannot find name "
		  "'x'.\"}]" },
		{ "javac", DIAGNOSTICS_PLAIN,
		  "M.java:3: error: ';' expected\n    int x\n         ^\n1 error\n",
		  "[{\"level\":\"error\",\"message\":\"';' "
		  "expected\",\"code\":null,\"spans\":[{\"file\":\"M.java\",\"lineStart\":3,"
		  "\"lineEnd\":3,\"columnStart\":10,\"columnEnd\":11,\"text\":\"    int x\",\"label\":null}],"
		  "\"rendered\":\"M.java:3: error: ';' expected\\n    int x\\n         ^\"}]" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct diagnostics list = parse(rows[i].format, rows[i].text);
		char *json = to_json(&list);

		cr_expect_str_eq(json, rows[i].json, "%s", rows[i].label);
		free(json);
		diagnostics_done(&list);
	}
}

/* What compilers really said: counts, and the first entry. */
Test(diagnostics, samples, .timeout = 20)
{
	static const struct {
		const char *name;
		enum diagnostics_format format;
		size_t errors, warnings;
		const char *file;
		uint32_t line, column;
		const char *code, *message;
	} rows[] = {
		{ "rustc-errors", DIAGNOSTICS_RUSTC, 4, 0, "main.rs", 5, 23, NULL,
		  "2 positional arguments in format string, but there is 1 argument" },
		{ "rustc-1.63-errors", DIAGNOSTICS_RUSTC, 5, 0, "main.rs", 5, 23, NULL,
		  "2 positional arguments in format string, but there is 1 argument" },
		{ "rustc-warning", DIAGNOSTICS_RUSTC, 0, 1, "main.rs", 1, 33, "unused_variables",
		  "unused variable: `unused`" },
		{ "rustc-nul", DIAGNOSTICS_RUSTC, 1, 0, "main.rs", 1, 42, "E0308", "mismatched types" },
		{ "rustc-macros", DIAGNOSTICS_RUSTC, 1, 0, "main.rs", 1, 337, "E0425",
		  "cannot find value `nope` in this scope" },
		{ "rustc-deep", DIAGNOSTICS_RUSTC, 1, 0, "main.rs", 1, 2, NULL, "deep" },
		{ "rustc-bad-lines", DIAGNOSTICS_RUSTC, 2, 1, NULL, 0, 0, NULL, "first" },
		{ "gcc-errors", DIAGNOSTICS_GCC, 2, 3, "main.c", 2, 35, NULL,
		  "‘y’ undeclared (first use in this function)" },
		{ "gcc-cut", DIAGNOSTICS_GCC, 1, 1, "main.c", 2, 35, NULL,
		  "‘y’ undeclared (first use in this function)" },
		{ "gcc-linker", DIAGNOSTICS_GCC, 2, 2, "a.c", 1, 19, "-Wunused-variable",
		  "unused variable ‘z’" },
		{ "gcc-fatal", DIAGNOSTICS_GCC, 1, 0, "inc.c", 1, 10, NULL,
		  "nowhere.h: No such file or directory" },
		{ "gcc-no-file", DIAGNOSTICS_GCC, 1, 0, NULL, 0, 0, NULL,
		  "nofile.c: No such file or directory" },
		{ "gcc-plain", DIAGNOSTICS_PLAIN, 2, 3, "main.c", 2, 35, NULL,
		  "‘y’ undeclared (first use in this function)" },
		{ "clang-errors", DIAGNOSTICS_PLAIN, 2, 1, "main.c", 2, 35, NULL,
		  "use of undeclared identifier 'y'" },
		{ "javac-types", DIAGNOSTICS_PLAIN, 2, 3, "Main.java", 4, 17, NULL,
		  "incompatible types: String cannot be converted to int" },
		{ "go-build", DIAGNOSTICS_PLAIN, 4, 0, "./main.go", 4, 2, NULL,
		  "\"os\" imported and not used" },
		{ "tsc", DIAGNOSTICS_PLAIN, 2, 0, "main.ts", 3, 5, "TS2304", "Cannot find name 'missing'." },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct diagnostics list = parse_sample(rows[i].format, rows[i].name);
		const struct diagnostic *first = list.items;
		const struct diagnostic_span *span = list.count > 0 ? first->spans : NULL;

		cr_assert(list.count > 0, "%s", rows[i].name);
		cr_expect(list.errors == rows[i].errors && list.warnings == rows[i].warnings,
			  "%s: %zu errors, %zu warnings", rows[i].name, list.errors, list.warnings);
		cr_expect_str_eq(first->message, rows[i].message, "%s", rows[i].name);
		cr_expect(rows[i].code ? first->code && strcmp(first->code, rows[i].code) == 0 : !first->code,
			  "%s: %s", rows[i].name, first->code ? first->code : "no code");
		cr_expect(first->rendered && first->rendered[0], "%s", rows[i].name);
		cr_expect(!span == !rows[i].file, "%s", rows[i].name);
		if (span && rows[i].file)
			cr_expect(strcmp(span->file, rows[i].file) == 0 && span->line_start == rows[i].line &&
				      span->column_start == rows[i].column,
				  "%s: %s:%u:%u", rows[i].name, span->file, span->line_start,
				  span->column_start);
		diagnostics_done(&list);
	}
}

Test(diagnostics, plain_lines, .timeout = 20)
{
	static const struct {
		const char *text;
		bool found;
		enum diagnostic_level level;
		const char *file;
		uint32_t line, column;
		const char *message;
	} rows[] = {
		{ "a.go:3:5: undefined: x", true, DIAGNOSTIC_ERROR, "a.go", 3, 5, "undefined: x" },
		{ "a.c:3: undefined reference to `f'", true, DIAGNOSTIC_ERROR, "a.c", 3, 0,
		  "undefined reference to `f'" },
		{ "a.c:(.text+0x5): undefined reference to `f'", true, DIAGNOSTIC_ERROR, "a.c", 0, 0,
		  "undefined reference to `f'" },
		{ "/usr/bin/ld: a.c:3: undefined reference to `f'", true, DIAGNOSTIC_ERROR, "a.c", 3, 0,
		  "undefined reference to `f'" },
		{ "/usr/bin/ld: cannot find -lm: No such file", true, DIAGNOSTIC_ERROR, NULL, 0, 0,
		  "cannot find -lm: No such file" },
		{ "/usr/bin/ld: warning: a.o: missing section", true, DIAGNOSTIC_WARNING, NULL, 0, 0,
		  "a.o: missing section" },
		{ "/usr/bin/ld: /tmp/a.o: in function `main':", false, DIAGNOSTIC_ERROR, NULL, 0, 0, NULL },
		{ "collect2: error: ld returned 1 exit status", true, DIAGNOSTIC_ERROR, NULL, 0, 0,
		  "ld returned 1 exit status" },
		{ "gcc: fatal error: no input files", true, DIAGNOSTIC_ERROR, NULL, 0, 0, "no input files" },
		{ "error: file not found: X.java", true, DIAGNOSTIC_ERROR, NULL, 0, 0,
		  "file not found: X.java" },
		{ "a.c:3:5: fatal error: x.h: none", true, DIAGNOSTIC_ERROR, "a.c", 3, 5, "x.h: none" },
		{ "a.c:3:5: note: declared here", true, DIAGNOSTIC_NOTE, "a.c", 3, 5, "declared here" },
		{ "a.c:3:5: warning: unused [-Wunused]", true, DIAGNOSTIC_WARNING, "a.c", 3, 5,
		  "unused [-Wunused]" },
		{ "12:30:45: hello", false, DIAGNOSTIC_ERROR, NULL, 0, 0, NULL },
		{ "At noon 12:30:45: hello", false, DIAGNOSTIC_ERROR, NULL, 0, 0, NULL },
		{ "  a.c:3:5: indented", false, DIAGNOSTIC_ERROR, NULL, 0, 0, NULL },
		{ "a.c:3:5", false, DIAGNOSTIC_ERROR, NULL, 0, 0, NULL },
		{ "a.c:3:", false, DIAGNOSTIC_ERROR, NULL, 0, 0, NULL },
		{ "a.ts(3): error TS1: x", false, DIAGNOSTIC_ERROR, NULL, 0, 0, NULL },
		{ "a.c:99999999999: x", false, DIAGNOSTIC_ERROR, NULL, 0, 0, NULL },
		{ "# command-line-arguments", false, DIAGNOSTIC_ERROR, NULL, 0, 0, NULL },
		{ "2 errors", false, DIAGNOSTIC_ERROR, NULL, 0, 0, NULL },
		{ "error:", false, DIAGNOSTIC_ERROR, NULL, 0, 0, NULL },
		{ ":", false, DIAGNOSTIC_ERROR, NULL, 0, 0, NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct diagnostics list = parse(DIAGNOSTICS_PLAIN, rows[i].text);
		const struct diagnostic_span *span;

		cr_expect(list.count == rows[i].found, "\"%s\": %zu", rows[i].text, list.count);
		if (list.count == 1 && rows[i].found) {
			span = list.items[0].spans;
			cr_expect(list.items[0].level == rows[i].level, "\"%s\"", rows[i].text);
			cr_expect_str_eq(list.items[0].message, rows[i].message, "\"%s\"", rows[i].text);
			cr_expect_str_eq(span ? span->file : "none", rows[i].file ? rows[i].file : "none");
			cr_expect(!span || (span->line_start == rows[i].line &&
					    span->column_start == rows[i].column),
				  "\"%s\"", rows[i].text);
		}
		diagnostics_done(&list);
	}
}

Test(diagnostics, a_bad_line_loses_only_itself, .timeout = 20)
{
	struct diagnostics list = parse_sample(DIAGNOSTICS_RUSTC, "rustc-bad-lines");

	cr_assert(list.count == 3, "%zu", list.count);
	cr_expect(list.unreadable == 1, "%zu", list.unreadable);
	cr_expect_str_eq(list.items[1].message, "bad \xef\xbf\xbd\xef\xbf\xbd byte");
	cr_expect_str_eq(list.items[2].code, "E0308");
	diagnostics_done(&list);
	list = parse_sample(DIAGNOSTICS_GCC, "gcc-cut");
	cr_expect(list.unreadable == 1, "%zu", list.unreadable);
	diagnostics_done(&list);
}

Test(diagnostics, arrays_on_one_line, .timeout = 20)
{
	static const struct {
		const char *text;
		size_t count;
	} rows[] = {
		{ "[] []", 0 },
		{ "[]  [] []\n", 0 },
		{ "[] [{\"kind\": \"error\", \"message\": \"m\"}] []", 1 },
		{ "main.c:1: error: a\n[]  [x\nmain.c:2: error: b\n", 2 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct diagnostics list = parse(DIAGNOSTICS_GCC, rows[i].text);

		cr_expect(list.count == rows[i].count, "%s: %zu", rows[i].text, list.count);
		diagnostics_done(&list);
	}
}

/* A line without text takes room as well: that of its end. */
Test(diagnostics, lines_fill_the_text, .timeout = 20)
{
	struct diagnostics list = parse_sample(DIAGNOSTICS_RUSTC, "rustc-long-lines");

	cr_assert(list.count == 1 && list.items[0].span_count == 1 && list.items[0].spans[0].text);
	cr_expect(list.cut);
	cr_expect(strlen(list.items[0].spans[0].text) == 4096, "%zu", strlen(list.items[0].spans[0].text));
	diagnostics_done(&list);
}

Test(diagnostics, bare_control_characters_hide_nothing, .timeout = 20)
{
	struct diagnostics list = parse_sample(DIAGNOSTICS_GCC, "gcc-control");

	cr_expect(list.unreadable == 0, "%zu", list.unreadable);
	cr_assert(list.count == 2, "%zu", list.count);
	cr_expect_str_eq(list.items[0].message, "#warning \"\xef\xbf\xbd[31m\"");
	cr_expect(list.items[1].level == DIAGNOSTIC_ERROR);
	diagnostics_done(&list);
}

Test(diagnostics, noise_is_skipped, .timeout = 20)
{
	static const enum diagnostics_format formats[] = { DIAGNOSTICS_GCC, DIAGNOSTICS_PLAIN };

	for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
		struct diagnostics list = parse_sample(formats[i], "noise");

		cr_expect(list.count == 0, "%zu: %s", i, list.count ? list.items[0].message : "");
		diagnostics_done(&list);
	}
}

Test(diagnostics, arrays_over_lines_and_text_between, .timeout = 20)
{
	struct diagnostics list = parse(
	    DIAGNOSTICS_GCC, "before.c:1:1: error: plain\n[\n  {\"kind\": \"error\", \"message\": \"one\"},\n"
			     "  {\"kind\": \"warning\", \"message\": \"two\"}\n]\n[]\n"
			     "[{\"kind\": \"note\", \"message\": \"three\"}] collect2: error: last\n");
	static const char *const messages[] = { "plain", "one", "two", "three", "last" };

	cr_assert(list.count == ARRAY_LENGTH(messages), "%zu", list.count);
	for (size_t i = 0; i < ARRAY_LENGTH(messages); i++)
		cr_expect_str_eq(list.items[i].message, messages[i]);
	cr_expect(list.unreadable == 0);
	diagnostics_done(&list);
}

Test(diagnostics, javac_tells_the_name, .timeout = 20)
{
	struct diagnostics list = parse_sample(DIAGNOSTICS_PLAIN, "javac-types");

	cr_assert(list.count == 5, "%zu", list.count);
	cr_expect_str_eq(list.items[1].code, "rawtypes");
	cr_expect_str_eq(list.items[3].message,
			 "cannot find symbol; symbol:   variable missing; location: class Main");
	cr_expect_str_eq(list.items[3].spans[0].text, "        raw.add(missing);");
	cr_expect(!strstr(list.items[4].rendered, "2 errors"), "%s", list.items[4].rendered);
	diagnostics_done(&list);
}

Test(diagnostics, source_lines_are_added, .timeout = 20)
{
	static const char source[] = "one\r\ntwo\nthree";
	static const struct {
		const char *place, *text;
	} rows[] = {
		{ "main.c:1:1: error: x", "one" },   { "main.c:2:1: error: x", "two" },
		{ "main.c:3:1: error: x", "three" }, { "main.c:4:1: error: x", NULL },
		{ "other.c:1:1: error: x", NULL },   { "main.c:0:1: error: x", NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct diagnostics list = parse(DIAGNOSTICS_PLAIN, rows[i].place);
		struct warder_error err;
		const char *text;

		cr_assert(list.count == 1);
		cr_expect(diagnostics_add_source(&list, "main.c", source, strlen(source), &err) == 0);
		text = list.items[0].spans[0].text;
		cr_expect(rows[i].text ? text && strcmp(text, rows[i].text) == 0 : !text, "%s: %s",
			  rows[i].place, text ? text : "none");
		diagnostics_done(&list);
	}
}

Test(diagnostics, limits, .timeout = 60)
{
	size_t line_len = strlen("main.go:1:1: error: x\n"), count = 1500, len = 3 << 20;
	char *text = malloc(len + 64);
	struct diagnostics list = { 0 };
	struct warder_error err;

	cr_assert(text);
	for (size_t i = 0; i < count; i++)
		memcpy(text + i * line_len, "main.go:1:1: error: x\n", line_len);
	cr_expect(diagnostics_parse(DIAGNOSTICS_PLAIN, text, count * line_len, &list, &err) == 0);
	cr_expect(list.count == DIAGNOSTICS_MAX && list.dropped == 500 && list.errors == 1500 && !list.cut);
	diagnostics_done(&list);

	memset(text, 'x', len);
	memcpy(text, "main.go:1:1: error: ", 20);
	text[len++] = '\n';
	memcpy(text + len, "main.go:2:1: error: y", 21);
	cr_expect(diagnostics_parse(DIAGNOSTICS_PLAIN, text, len + 21, &list, &err) == 0);
	cr_expect(list.count == 2 && list.cut && list.dropped == 0);
	cr_expect(strlen(list.items[0].message) == 8192, "%zu", strlen(list.items[0].message));
	diagnostics_done(&list);

	/* Three thousand kilobytes of lines of 30 KiB: the bytes end before the count does. */
	for (size_t at = 0; at + 30000 < len; at += 30000)
		memcpy(text + at, "\nmain.go:1:1: error: ", 21);
	cr_expect(diagnostics_parse(DIAGNOSTICS_PLAIN, text, len, &list, &err) == 0);
	cr_expect(list.bytes <= DIAGNOSTICS_MAX_BYTES && list.dropped > 0 && list.count < 100, "%zu %zu",
		  list.count, list.dropped);
	cr_expect(list.errors == list.count + list.dropped);
	diagnostics_done(&list);
	free(text);
}
