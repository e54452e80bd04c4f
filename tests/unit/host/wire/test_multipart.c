/* multipart: uploads in pieces of any size (host/wire/multipart.c). */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "host/wire/multipart.h"

#define TYPE "multipart/form-data; boundary=AaB03x"
#define PART "--AaB03x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n"

struct seen {
	char text[512];
	bool refuse_begin;
};

static int see_begin(void *context, const char *name, const char *filename, struct warder_error *err)
{
	struct seen *seen = context;
	const size_t len = strlen(seen->text);

	if (seen->refuse_begin)
		return error_set(err, WARDER_ERROR_NOT_FOUND, NULL, "refused by the sink");
	snprintf(seen->text + len, sizeof(seen->text) - len, "<%s:%s>", name, filename ? filename : "-");
	return 0;
}

static int see_bytes(void *context, const char *bytes, size_t n, struct warder_error *err)
{
	struct seen *seen = context;
	const size_t len = strlen(seen->text);

	cr_expect_gt(n, 0);
	snprintf(seen->text + len, sizeof(seen->text) - len, "%.*s", (int)n, bytes);
	return 0;
}

static int see_end(void *context, struct warder_error *err)
{
	strcat(((struct seen *)context)->text, ";");
	return 0;
}

static int parse(const char *type, const char *body, size_t len, size_t step, struct seen *seen,
		 struct warder_error *err)
{
	const struct multipart_sink sink = { seen, see_begin, see_bytes, see_end };
	struct multipart *parser = malloc(sizeof(*parser));
	int status = multipart_init(parser, type, &sink, err);

	for (size_t at = 0; status == 0 && at < len; at += step)
		status = multipart_take(parser, body + at, step < len - at ? step : len - at, err);
	if (status == 0)
		status = multipart_finish(parser, err);
	free(parser);
	return status;
}

Test(multipart, bodies, .timeout = 20)
{
	static const struct {
		const char *what, *body, *seen;
		const char *refusal;
	} rows[] = {
		{ "one file", PART "hello\r\n--AaB03x--\r\n", "<file:a>hello;", NULL },
		{ "no line end at the end", PART "hello\r\n--AaB03x--", "<file:a>hello;", NULL },
		{ "an empty file", PART "\r\n--AaB03x--\r\n", "<file:a>;", NULL },
		{ "two", PART "1\r\n" PART "2\r\n--AaB03x--", "<file:a>1;<file:a>2;", NULL },
		{ "preamble and epilogue", "pre\r\n" PART "x\r\n--AaB03x--\r\nepilogue --AaB03x",
		  "<file:a>x;", NULL },
		{ "blanks behind a boundary",
		  "--AaB03x  \t\r\nContent-Disposition: form-data; name=f\r\n\r\nx\r\n--AaB03x--", "<f:->x;",
		  NULL },
		{ "nearly a boundary", PART "\r\n--AaB03\r\r\n\r\n--AaB03y\r\n-\r\n--AaB03x--",
		  "<file:a>\r\n--AaB03\r\r\n\r\n--AaB03y\r\n-;", NULL },
		{ "a boundary without a line end before it", PART "x--AaB03x--\r\n--AaB03x--",
		  "<file:a>x--AaB03x--;", NULL },
		{ "a path",
		  "--AaB03x\r\ncontent-disposition: form-data; filename=\"/tmp/a b;c\"; name=\"file\"\r\n"
		  "Content-Type: text/plain\r\n\r\n1\r\n--AaB03x--",
		  "<file:/tmp/a b;c>1;", NULL },
		{ "escapes",
		  "--AaB03x\r\nContent-Disposition: form-data; name=\"file\"; "
		  "filename=\"\\\"\\\\\\n%22\"\r\n\r\n1\r\n--AaB03x--",
		  "<file:\"\\\\n%22>1;", NULL },
		{ "nothing", "", "", "before its closing boundary" },
		{ "no closing boundary", PART "hello", "<file:a>hello", "before its closing boundary" },
		{ "ends in a delimiter", PART "hello\r\n--AaB03x", "<file:a>hello;",
		  "before its closing boundary" },
		{ "ends with one dash", PART "hello\r\n--AaB03x-", "<file:a>hello;",
		  "before its closing boundary" },
		{ "another line behind a boundary", PART "a\r\n--AaB03xyz\r\n", "<file:a>a;",
		  "behind a boundary" },
		{ "a line end of one byte", "--AaB03x\nContent-Disposition: form-data; name=f\n\nx", "",
		  "behind a boundary" },
		{ "no head", "--AaB03x\r\n\r\nx\r\n--AaB03x--", "", "no Content-Disposition" },
		{ "no name", "--AaB03x\r\nContent-Disposition: form-data; filename=a\r\n\r\n", "",
		  "no name" },
		{ "two names", "--AaB03x\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\n", "",
		  "two names" },
		{ "an attachment", "--AaB03x\r\nContent-Disposition: attachment; name=a\r\n\r\n", "",
		  "not form-data" },
		{ "a quotation mark that stays open",
		  "--AaB03x\r\nContent-Disposition: form-data; name=\"a\r\n\r\n", "", "malformed" },
		{ "no parameter", "--AaB03x\r\nContent-Disposition: form-data name=a\r\n\r\n", "",
		  "malformed" },
		{ "a folded line", "--AaB03x\r\nContent-Disposition: form-data;\r\n name=a\r\n\r\n", "",
		  "no name" },
		{ "a line that is none", "--AaB03x\r\nhello\r\n\r\n", "", "malformed" },
		{ "filename*",
		  "--AaB03x\r\nContent-Disposition: form-data; name=a; filename*=UTF-8''x\r\n\r\n", "",
		  "filename*" },
		{ "not UTF-8",
		  "--AaB03x\r\nContent-Disposition: form-data; name=a; filename=\"\xff\"\r\n\r\n", "",
		  "UTF-8" },
		{ "base64",
		  "--AaB03x\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: "
		  "base64\r\n\r\n",
		  "", "Content-Transfer-Encoding" },
		{ "binary",
		  "--AaB03x\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: "
		  "binary\r\n\r\n1\r\n--AaB03x--",
		  "<a:->1;", NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		for (size_t step = 1; step < 300; step += step < 20 ? 1 : 77) {
			struct seen seen = { .text = "" };
			struct warder_error err = { 0 };
			const int status = parse(TYPE, rows[i].body, strlen(rows[i].body), step, &seen, &err);

			cr_expect_eq(status, rows[i].refusal ? -1 : 0, "%s by %zu: %s", rows[i].what, step,
				     err.text);
			cr_expect_str_eq(seen.text, rows[i].seen, "%s by %zu: %s", rows[i].what, step,
					 seen.text);
			cr_expect(!rows[i].refusal || strstr(err.text, rows[i].refusal), "%s by %zu: %s",
				  rows[i].what, step, err.text);
		}
	}
}

Test(multipart, content_types, .timeout = 20)
{
	static const struct {
		const char *type;
		const char *refusal;
	} rows[] = {
		{ TYPE, NULL },
		{ "Multipart/Form-Data;charset=utf-8; BOUNDARY=\"AaB03x\"", NULL },
		{ "multipart/form-data; boundary=AaB03x;", NULL },
		{ NULL, "missing" },
		{ "multipart/mixed; boundary=AaB03x", "another" },
		{ "multipart/form-data", "no boundary" },
		{ "multipart/form-data; boundary=", "malformed" },
		{ "multipart/form-data; boundary=\"\"", "1 to 70" },
		{ "multipart/form-data; boundary=\"a \"", "blank" },
		{ "multipart/form-data; boundary=\"a\r\nb\"", "RFC 2046" },
		{ "multipart/form-data; boundary=a; boundary=b", "two" },
		{ "multipart/form-datax; boundary=a", "malformed" },
		{ "multipart/form-data; "
		  "boundary=a23456789b123456789c123456789d123456789e123456789f123456789g123456789hi",
		  "1 to 70" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		static const char body[] = PART "x\r\n--AaB03x--";
		struct seen seen = { .text = "" };
		struct warder_error err = { 0 };
		const int status = parse(rows[i].type, body, sizeof(body) - 1, 7, &seen, &err);

		cr_expect_eq(status, rows[i].refusal ? -1 : 0, "row %zu: %s", i, err.text);
		cr_expect(!rows[i].refusal || strstr(err.text, rows[i].refusal), "row %zu: %s", i, err.text);
	}
}

/* Heads, preambles and lines behind a boundary that do not end, and parts without number. */
Test(multipart, limits, .timeout = 20)
{
	static const struct {
		const char *before, *again, *refusal;
		size_t times;
	} rows[] = {
		{ "--AaB03x\r\nX-Long: ", "aaaaaaaaaaaaaaaa", "longer than 16384", 2000 },
		{ "", "aaaaaaaaaaaaaaaa", "no boundary within", 2000 },
		{ "--AaB03x", "     ", "behind a boundary", 100 },
		{ "", PART "\r\n", "4096 parts", 5000 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct multipart_sink sink = { &(struct seen){ .text = "" }, see_begin, see_bytes,
						     see_end };
		struct multipart *parser = malloc(sizeof(*parser));
		struct warder_error err = { 0 };
		int status;

		cr_assert_eq(multipart_init(parser, TYPE, &sink, &err), 0);
		status = multipart_take(parser, rows[i].before, strlen(rows[i].before), &err);
		for (size_t n = 0; status == 0 && n < rows[i].times; n++) {
			status = multipart_take(parser, rows[i].again, strlen(rows[i].again), &err);
			((struct seen *)sink.context)->text[0] = '\0';
		}
		cr_expect_eq(status, -1, "row %zu", i);
		cr_expect(strstr(err.text, rows[i].refusal), "row %zu: %s", i, err.text);
		cr_expect_eq(multipart_take(parser, "a", 1, &err), -1, "row %zu goes on", i);
		free(parser);
	}
}

Test(multipart, a_nul_in_a_head, .timeout = 20)
{
	static const char body[] = "--AaB03x\r\nContent-Disposition: form-data; name=a\0b\r\n\r\n";
	struct seen seen = { .text = "" };
	struct warder_error err = { 0 };

	cr_expect_eq(parse(TYPE, body, sizeof(body) - 1, 5, &seen, &err), -1);
	cr_expect(strstr(err.text, "NUL"), "%s", err.text);
}

Test(multipart, an_error_of_the_sink, .timeout = 20)
{
	static const char body[] = PART "x\r\n--AaB03x--";
	struct seen seen = { .refuse_begin = true };
	struct warder_error err = { 0 };

	cr_expect_eq(parse(TYPE, body, sizeof(body) - 1, 5, &seen, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_NOT_FOUND);
}
