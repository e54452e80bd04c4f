#include "base/array.h"
#include "base/json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parse a copy that ends exactly at `len`, so that the address sanitizer sees every read past it. */
static int parse_exact(const char *text, size_t len, const struct json_limits *limits,
		       struct json_value **ret, struct warder_error *err)
{
	char *copy = malloc(len ? len : 1);
	int status;

	memcpy(copy, text, len);
	status = json_parse(copy, len, "doc", limits, ret, err);
	free(copy);
	return status;
}

static struct json_value *parse(const char *text)
{
	struct json_value *value = NULL;
	struct warder_error err = { 0 };

	cr_expect(parse_exact(text, strlen(text), NULL, &value, &err) == 0, "%s: %s", text, err.text);
	return value;
}

Test(json, accepts_the_grammar, .timeout = 20)
{
	static const struct {
		const char *text;
		enum json_type type;
	} rows[] = {
		{ "null", JSON_NULL },
		{ " true\n", JSON_BOOL },
		{ "\t\r\nfalse", JSON_BOOL },
		{ "0", JSON_NUMBER },
		{ "-0", JSON_NUMBER },
		{ "-1.5e-3", JSON_NUMBER },
		{ "1E+2", JSON_NUMBER },
		{ "\"\"", JSON_STRING },
		{ "[]", JSON_ARRAY },
		{ "[ ]", JSON_ARRAY },
		{ "[1,[2],{}]", JSON_ARRAY },
		{ "{ }", JSON_OBJECT },
		{ "{\"\":1 , \"b\" : [ ] }", JSON_OBJECT },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct json_value *value = parse(rows[i].text);

		cr_expect(value && value->type == rows[i].type, "row %s", rows[i].text);
		json_free(value);
	}
}

Test(json, refuses_everything_else, .timeout = 20)
{
	static const struct {
		const char *text;
		size_t len; /* 0: strlen */
		const char *says;
	} rows[] = {
		{ "", 0, "doc:1:1: the document ends where a value" },
		{ " \n ", 0, "doc:2:2: the document ends" },
		{ "nul", 0, "'n' where a value" },
		{ "True", 0, "'T'" },
		{ "NaN", 0, "'N'" },
		{ "Infinity", 0, "'I'" },
		{ "truex", 0, "'x' where the end of the document" },
		{ "1 2", 0, "'2' where the end of the document" },
		{ "{} {}", 0, "doc:1:4: '{' where the end of the document" },
		{ "01", 0, "'1' where the end" },
		{ "+1", 0, "'+'" },
		{ ".5", 0, "'.'" },
		{ "1.", 0, "ends where a digit" },
		{ "1.e2", 0, "'e' where a digit" },
		{ "1e", 0, "a digit" },
		{ "-", 0, "a digit" },
		{ "0x10", 0, "'x'" },
		{ "1e999", 0, "too large" },
		{ "[1,]", 0, "']' where a value" },
		{ "[,1]", 0, "',' where a value" },
		{ "[1 2]", 0, "'2' where ',' or ']'" },
		{ "[1", 0, "ends where ',' or ']'" },
		{ "[1}", 0, "'}' where ',' or ']'" },
		{ "{\"a\":1,}", 0, "'}' where a member's name" },
		{ "{a:1}", 0, "'a' where a member's name" },
		{ "{\"a\" 1}", 0, "'1' where ':'" },
		{ "{\"a\":}", 0, "'}' where a value" },
		{ "{\"a\":1", 0, "ends where ',' or '}'" },
		{ "{\"a\"", 0, "ends where ':'" },
		{ "{\n\"a\":1,\n\"a\":2}", 0, "doc:3: the name \"a\" is given twice" },
		{ "{\"a\":1,\"b\":1,\"\\u0061\":2}", 0, "\"a\" is given twice" },
		{ "'a'", 0, "'''" },
		{ "\"a", 0, "without its closing quote" },
		{ "\"a\\", 0, "ends where an escape" },
		{ "\"a\\\"", 0, "without its closing quote" },
		{ "\"\\x41\"", 0, "'x' where an escape" },
		{ "\"\\", 0, "an escape" },
		{ "\"\\u12", 0, "hexadecimal" },
		{ "\"\\u12g4\"", 0, "'g' where a hexadecimal" },
		{ "\"\\u0000\"", 0, "\\u0000" },
		{ "\"\\ud800\"", 0, "lone surrogate \\ud800" },
		{ "\"\\udc00\"", 0, "lone surrogate \\udc00" },
		{ "\"\\ud800\\u0041\"", 0, "lone surrogate" },
		{ "\"\\ud800\\ud800\"", 0, "lone surrogate" },
		{ "\"a\nb\"", 0, "control character 0x0a" },
		{ "\"a\0b\"", 5, "control character 0x00" },
		{ "1\0", 2, "byte 0x00" },
		{ "\xef\xbb\xbf{}", 0, "byte order mark" },
		{ "\"\x80\"", 0, "byte 0x80 is not valid UTF-8" },
		{ "\"\xc0\xaf\"", 0, "UTF-8" },
		{ "\"\xe0\x80\xaf\"", 0, "UTF-8" },
		{ "\"\xed\xa0\x80\"", 0, "UTF-8" },
		{ "\"\xf0\x80\x80\x80\"", 0, "UTF-8" },
		{ "\"\xf4\x90\x80\x80\"", 0, "UTF-8" },
		{ "\"\xf8\x88\x80\x80\x80\"", 0, "UTF-8" },
		{ "\"\xe2\x82", 0, "UTF-8" },
		{ "// c\n1", 0, "'/'" },
		{ "[1,\n \"\u00e9\" 2]", 0,
		  "doc:2:6: '2' where" }, /* a character of two bytes is one column */
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		size_t len = rows[i].len ? rows[i].len : strlen(rows[i].text);
		struct warder_error err = { 0 };
		struct json_value *value = NULL;

		cr_expect(parse_exact(rows[i].text, len, NULL, &value, &err) == -1, "row %zu accepted: %s", i,
			  rows[i].text);
		cr_expect(value == NULL, "row %zu writes its result", i);
		cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST, "row %zu kind", i);
		cr_expect(strstr(err.text, rows[i].says), "row %zu (%s) says: %s", i, rows[i].text, err.text);
	}
}

Test(json, numbers, .timeout = 20)
{
	static const struct {
		const char *text;
		double number;
		bool is_uint;
		uint64_t uint;
	} rows[] = {
		{ "0", 0, true, 0 },
		{ "-0", 0, false, 0 },
		{ "42", 42, true, 42 },
		{ "18446744073709551615", 18446744073709551615.0, true, UINT64_MAX },
		{ "18446744073709551616", 18446744073709551616.0, false, 0 },
		{ "99999999999999999999999", 1e23, false, 0 },
		{ "1.0", 1, false, 0 },
		{ "1e3", 1000, false, 0 },
		{ "-7", -7, false, 0 },
		{ "0.1", 0.1, false, 0 },
		{ "1e-400", 0, false, 0 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct json_value *value = parse(rows[i].text);

		cr_assert_not_null(value);
		cr_expect(fabs(value->number - rows[i].number) <= fabs(rows[i].number) * 1e-15,
			  "row %s number", rows[i].text);
		cr_expect(value->is_uint == rows[i].is_uint, "row %s is_uint", rows[i].text);
		cr_expect(!rows[i].is_uint || value->uint == rows[i].uint, "row %s uint", rows[i].text);
		json_free(value);
	}
}

Test(json, strings, .timeout = 20)
{
	static const struct {
		const char *text, *string;
	} rows[] = {
		{ "\"a\"", "a" },
		{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t" },
		{ "\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac" },
		{ "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80" },
		{ "\"\xf0\x9f\x98\x80\xc2\x80\xe0\xa0\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf\"",
		  "\xf0\x9f\x98\x80\xc2\x80\xe0\xa0\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf" },
		{ "\"\x7f\"", "\x7f" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct json_value *value = parse(rows[i].text);

		cr_assert_not_null(value);
		cr_expect_str_eq(value->string, rows[i].string, "row %s", rows[i].text);
		json_free(value);
	}
}

Test(json, knows_lines_and_order, .timeout = 20)
{
	struct json_value *root = parse("{\n \"b\": 1,\n \"a\":\n  [true,\n  null]\n}");
	const struct json_value *a = json_member(root, "a");

	cr_assert_not_null(a);
	cr_expect_str_eq(root->child->key, "b");
	cr_expect(root->line == 1 && root->key_line == 0);
	cr_expect(a->key_line == 3 && a->line == 4, "a at %d, %d", a->key_line, a->line);
	cr_expect(a->child->next->line == 5 && a->child->next->key == NULL);
	cr_expect_null(json_member(root, "c"));
	cr_expect_null(json_member(a, "x"));
	cr_expect_null(json_member(NULL, "x"));
	json_free(root);
}

Test(json, limits, .timeout = 20)
{
	static const struct json_limits shallow = { .max_bytes = 16, .max_depth = 2 };
	static const struct {
		const char *text;
		const struct json_limits *limits;
		bool ok;
	} rows[] = {
		{ "[[1]]", &shallow, true },
		{ "[[[]]]", &shallow, false },
		{ "[{\"a\":{}}]", &shallow, false },
		{ "[[],[],[[]]]", &shallow, false },
		{ "[[],{},[]]", &shallow, true },
		{ "\"0123456789abcd\"", &shallow, true },
		{ "\"0123456789abcde\"", &shallow, false },
	};
	char deep[2 * 33 + 1];

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct json_value *value = NULL;
		struct warder_error err;
		int status = parse_exact(rows[i].text, strlen(rows[i].text), rows[i].limits, &value, &err);

		cr_expect((status == 0) == rows[i].ok, "row %s", rows[i].text);
		json_free(value);
	}
	for (int depth = 32; depth <= 33; depth++) {
		struct json_value *value = NULL;
		struct warder_error err;

		memset(deep, '[', (size_t)depth);
		memset(deep + depth, ']', (size_t)depth);
		cr_expect(parse_exact(deep, (size_t)depth * 2, NULL, &value, &err) == (depth == 32 ? 0 : -1));
		json_free(value);
	}
}

/* A million opening brackets must not reach the end of the stack, nor a large object take quadratic time. */
Test(json, hostile_sizes, .timeout = 60)
{
	size_t len = (size_t)1 << 20, used = 0;
	char *text = malloc(len);
	struct json_value *value = NULL;
	struct warder_error err;

	memset(text, '[', len);
	cr_expect(json_parse(text, len, "doc", NULL, &value, &err) == -1);
	memset(text, '1', len);
	cr_expect(json_parse(text, len, "doc", NULL, &value, &err) == -1);
	cr_expect(json_parse(text, len + 1, "doc", NULL, &value, &err) == -1,
		  "over the limit, nothing is read");
	text[used++] = '{';
	for (int i = 0; i < 80000; i++)
		used += (size_t)sprintf(text + used, "\"%d\":0,", i);
	text[used - 1] = '}';
	cr_expect(json_parse(text, used, "doc", NULL, &value, &err) == 0, "%s", err.text);
	json_free(value);
	free(text);
}

/* Every prefix of a document, and every document with one byte broken, is answered without a wild read. */
Test(json, prefixes_and_broken_bytes, .timeout = 60)
{
	static const char text[] = "{\"a\": [1, -2.5e3, \"x\\u00e9\\ud83d\\ude00\\n\xe2\x82\xac\"], \"b\": "
				   "{\"c\": null, \"d\": true}}";
	struct json_value *value = NULL;
	struct warder_error err;

	for (size_t len = 0; len < sizeof(text) - 1; len++)
		cr_expect(parse_exact(text, len, NULL, &value, &err) == -1, "prefix of %zu", len);
	for (size_t at = 0; at < sizeof(text) - 1; at++) {
		for (int byte = 0; byte < 256; byte += 5) {
			char broken[sizeof(text)];

			memcpy(broken, text, sizeof(text));
			broken[at] = (char)byte;
			value = NULL;
			if (parse_exact(broken, sizeof(text) - 1, NULL, &value, &err) == 0)
				json_free(value);
		}
	}
}

static void write_sample(struct json_writer *w)
{
	json_begin_object(w);
	json_key(w, "s");
	json_string(w, "a\"\\\n\x01\xff\xe2\x82\xac");
	json_key(w, "list");
	json_begin_array(w);
	json_uint(w, UINT64_MAX);
	json_int(w, INT64_MIN);
	json_double(w, 0.5, 2);
	json_double(w, NAN, 2);
	json_end_array(w);
	json_key(w, "empty");
	json_begin_object(w);
	json_end_object(w);
	json_key(w, "none");
	json_begin_array(w);
	json_end_array(w);
	json_key(w, "t");
	json_bool(w, true);
	json_key(w, "n");
	json_null(w);
	json_key(w, "z");
	json_string_n(w, "a\0b", 3);
	json_key(w, "null");
	json_string(w, NULL);
	json_end_object(w);
}

Test(json, writes, .timeout = 20)
{
	struct json_writer w = { 0 };
	char *text;

	write_sample(&w);
	text = json_take(&w);
	cr_expect_str_eq(text,
			 "{\"s\":\"a\\\"\\\\\\n\\u0001\xef\xbf\xbd\xe2\x82\xac\",\"list\":"
			 "[18446744073709551615,-9223372036854775808,0.50,null],\"empty\":{},\"none\":[],"
			 "\"t\":true,\"n\":null,\"z\":\"a\\u0000b\",\"null\":null}");
	free(text);
	text = json_take(&w);
	cr_expect_str_eq(text, "", "an empty writer gives an empty text");
	free(text);
	json_begin_array(&w);
	json_writer_done(&w);
	cr_expect(w.text == NULL && w.len == 0 && w.depth == 0);
}

Test(json, writes_pretty, .timeout = 20)
{
	struct json_writer w = { .pretty = true };
	char *text;

	json_begin_object(&w);
	json_key(&w, "a");
	json_begin_array(&w);
	json_uint(&w, 1);
	json_begin_object(&w);
	json_end_object(&w);
	json_end_array(&w);
	json_key(&w, "b");
	json_bool(&w, false);
	json_end_object(&w);
	text = json_take(&w);
	cr_expect_str_eq(text, "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": false\n}");
	free(text);
}

Test(json, invalid_utf8_is_replaced_byte_by_byte, .timeout = 20)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{ "\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xed\xa0\x80!", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd!\"" },
		{ "ok\xc3", "\"ok\xef\xbf\xbd\"" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct json_writer w = { 0 };
		char *text;

		json_string(&w, rows[i].from);
		text = json_take(&w);
		cr_expect_str_eq(text, rows[i].to, "row %zu", i);
		free(text);
	}
}

Test(json, quotes_for_messages, .timeout = 20)
{
	char buf[16];

	cr_expect_str_eq(json_quote("plain", buf, sizeof(buf)), "\"plain\"");
	cr_expect_str_eq(json_quote_bytes("42\0x", 4, buf, sizeof(buf)), "\"42\\u0000x\"");
	cr_expect_str_eq(json_quote_bytes("42\0x", 2, buf, sizeof(buf)), "\"42\"");
	cr_expect_str_eq(json_quote("a\nb", buf, sizeof(buf)), "\"a\\nb\"");
	cr_expect_str_eq(json_quote("0123456789abcdef", buf, sizeof(buf)), "\"0123456789...\"");
	cr_expect_str_eq(json_quote("\xe2\x82\xac", buf, 8), "\"\xe2\x82\xac\"");
	cr_expect_str_eq(json_quote("\xe2\x82\xac\xe2\x82\xac", buf, 8), "\"...\"");
}
