#include "base/array.h"
#include "runtime/judge/compare.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/warder.h"

/* Compare with the output in pieces of `step` bytes; what is told goes to ret. */
static bool same(const char *how, const char *expected, const char *got, size_t len, size_t step,
		 struct compare_difference *ret)
{
	struct compare_how parsed;
	struct warder_error err;
	struct compare compare;
	bool equal;

	cr_assert_eq(compare_parse(how, &parsed, &err), 0, "%s", err.text);
	cr_assert_eq(compare_init(&compare, &parsed, expected, strlen(expected), &err), 0);
	for (size_t at = 0; at < len; at += step) {
		const size_t count = step < len - at ? step : len - at;
		char *piece = malloc(count);

		memcpy(piece, got + at, count);
		compare_feed(&compare, piece, count);
		free(piece);
	}
	equal = compare_finish(&compare);
	*ret = compare.difference;
	compare_done(&compare);
	return equal;
}

static void write_piece(char *out, const struct compare_piece *piece)
{
	if (piece->is_there)
		sprintf(out, "'%.*s'", (int)piece->len, piece->bytes);
	else
		strcpy(out, "-");
}

#define SAME ""

Test(compare, modes, .timeout = 20)
{
	/* difference: line:column expected got */
	static const struct {
		const char *how, *expected, *got, *difference;
	} rows[] = {
		{ "none", "a", "b", SAME },
		{ "exact", "", "", SAME },
		{ "exact", "a\nb\n", "a\nb\n", SAME },
		{ "exact", "a\nb\n", "a\nb", "2:2 'b\n' 'b'" },
		{ "exact", "a\nb", "a\nb\n", "2:2 'b' 'b\n'" },
		{ "exact", "a \n", "a\n", "1:2 'a \n' 'a\n'" },
		{ "exact", "a\n", "a\nb\n", "2:1 - 'b'" },
		{ "exact", "a\nb\n", "a\n", "2:1 'b' -" },
		{ "exact", "x", "", "1:1 'x' -" },
		{ "exact", "", "x", "1:1 - 'x'" },
		{ "exact", "one\ntwo\nthree", "one\ntwa\nthree", "2:3 'two' 'twa'" },
		{ "exact", "a\r\n", "a\n", "1:2 'a\r\n' 'a\n'" },
		{ "lines", "a\nb\n", "a\nb", SAME },
		{ "lines", "a\nb", "a\nb\n\n \t\n", SAME },
		{ "lines", "a\nb\n\n\n", "a\nb", SAME },
		{ "lines", "a\r\nb\r\n", "a\nb\n", SAME },
		{ "lines", "a\nb\n", "a  \r\nb\t", SAME },
		{ "lines", "a \t\nb", "a\nb", SAME },
		{ "lines", "a\n \nb", "a\n\nb", SAME },
		{ "lines", "a\n\nb", "a\n \t \nb", SAME },
		{ "lines", "", " \n\n", SAME },
		{ "lines", " \n", "", SAME },
		{ "lines", "a  b", "a  b", SAME },
		{ "lines", "a  b", "a b", "1:3 'a  b' 'a b'" },
		{ "lines", "a b", "a\tb", "1:3 'a b' 'a\tb'" },
		{ "lines", " a", "a", "1:1 ' a' 'a'" },
		{ "lines", "a", " a", "1:2 'a' ' a'" },
		{ "lines", "\na", "a", "1:1 '' 'a'" },
		{ "lines", "a", "\na", "1:1 'a' ''" },
		{ "lines", "a\nb", "a\n\n\nb", "2:1 'b' ''" },
		{ "lines", "a\nb", "ab", "1:2 'a' 'ab'" },
		{ "lines", "ab\nc", "a\nc", "1:2 'ab' 'a'" },
		{ "lines", "ab", "a\n", "1:2 'ab' 'a'" },
		{ "lines", "ab", "a ", "1:3 'ab' 'a '" },
		{ "lines", "a", "a\n\nb", "3:1 - 'b'" },
		{ "lines", "a", "ab", "1:2 'a' 'ab'" },
		{ "lines", "a\nb\nc", "a\nb\n", "3:1 'c' -" },
		{ "tokens", "1 2\n3\n", " 1\n\n2\t3", SAME },
		{ "tokens", "", " \n", SAME },
		{ "tokens", "1 2", "12", "1:2 '1' '12'" },
		{ "tokens", "12", "1 2", "1:2 '12' '1'" },
		{ "tokens", "1 2 3", "1 2", "1:4 '3' -" },
		{ "tokens", "1 2", "1 2\n3", "2:1 - '3'" },
		{ "tokens", "", "x y", "1:1 - 'x'" },
		{ "tokens", "x", "", "1:1 'x' -" },
		{ "tokens", "abc", "ab", "1:3 'abc' 'ab'" },
		{ "tokens", "a abc", "a ab", "1:5 'abc' 'ab'" },
		{ "tokens", "1.0", "1", "1:2 '1.0' '1'" },
		{ "float:0.01", "1.0 x", "1.009 x", SAME },
		{ "float:0.01", "1.0", "1.02", "1:5 '1.0' '1.02'" },
		{ "float:0.01", "1.0 ", "1.02 ", "1:5 '1.0' '1.02'" },
		{ "float:0.01", "1000", "1009", SAME },
		{ "float:0.01", "1000", "1011", "1:5 '1000' '1011'" },
		{ "float:0.01", "-1e3", "-1000.0", SAME },
		{ "float:0.01", "0", "-0.0", SAME },
		{ "float:0", ".5", "5e-1", SAME },
		{ "float:0.01", "1", "0x1", "1:4 '1' '0x1'" },
		{ "float:0.01", "nan", "nan", SAME },
		{ "float:0.01", "1", "nan", "1:4 '1' 'nan'" },
		{ "float:0.01", "1", "inf", "1:4 '1' 'inf'" },
		{ "float:0.01", "1", "1e", "1:3 '1' '1e'" },
		{ "float:0.01", "1", "1e999", "1:6 '1' '1e999'" },
		{ "float:0.01", "1", "1,0", "1:4 '1' '1,0'" },
		{ "float:0.01", "yes", "yes", SAME },
		{ "float:0.01", "yes 1", "yesx 1", "1:5 'yes' 'yesx'" },
		{ "float:0.01", "1 2", "1", "1:2 '2' -" },
		{ "float:0.01", "1", "1 2", "1:3 - '2'" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		for (size_t step = 1; step < 5; step++) {
			struct compare_difference difference;
			char told[1000] = "", expected[300], got[300];

			if (!same(rows[i].how, rows[i].expected, rows[i].got, strlen(rows[i].got), step,
				  &difference)) {
				write_piece(expected, &difference.expected);
				write_piece(got, &difference.got);
				sprintf(told, "%llu:%llu %s %s", (unsigned long long)difference.line,
					(unsigned long long)difference.column, expected, got);
			}
			cr_expect_str_eq(told, rows[i].difference, "%s \"%s\" \"%s\" by %zu: %s", rows[i].how,
					 rows[i].expected, rows[i].got, step, told);
		}
	}
}

Test(compare, bytes_of_all_kinds, .timeout = 20)
{
	struct compare_difference difference;

	cr_expect(!same("exact", "a", "a\0b", 3, 1, &difference));
	cr_expect(!same("lines", "a", "a\0", 2, 1, &difference));
	cr_expect(!same("tokens", "a", "a\0", 2, 2, &difference));
	cr_expect(!same("float:1", "1", "1\0", 2, 2, &difference));
	cr_expect(!same("float:1", "1", "\0", 1, 1, &difference));
}

/* Far from the beginning of a line both sides are shown from the same place on, and cut. */
Test(compare, shows_around_the_difference, .timeout = 20)
{
	char expected[2001], got[2001];

	for (size_t at = 0; at < 2000; at += 37) {
		struct compare_difference difference;
		size_t from = at > 100 ? at - 100 : 0;

		memset(expected, 'a', 2000);
		for (size_t i = 0; i < 2000; i++)
			expected[i] = (char)('a' + i % 23);
		expected[2000] = '\0';
		memcpy(got, expected, sizeof(got));
		got[at] = '!';
		cr_expect(!same("lines", expected, got, 2000, 64, &difference));
		cr_expect_eq(difference.column, at + 1);
		cr_expect_eq(difference.expected.len, 2000 - from < 200 ? 2000 - from : 200, "%zu", at);
		cr_expect_eq(difference.got.len, difference.expected.len, "%zu", at);
		cr_expect(memcmp(difference.expected.bytes, expected + from, difference.expected.len) == 0,
			  "%zu", at);
		cr_expect(memcmp(difference.got.bytes, got + from, difference.got.len) == 0, "%zu", at);
	}
}

/* Characters of two, three and four bytes, so that both ends are cut inside of one at most places. */
Test(compare, writes_valid_text, .timeout = 20)
{
	static const char *const characters[] = { "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
	char expected[3001] = "", got[3001];

	for (size_t i = 0; i < ARRAY_LENGTH(characters); i++) {
		const size_t size = strlen(characters[i]);

		for (size_t j = 0; j < 3000; j += size)
			memcpy(expected + j, characters[i], size);
		for (size_t at = 0; at < 2500; at++) {
			struct compare_difference difference;
			struct json_writer w = { 0 };
			char *text;

			memcpy(got, expected, sizeof(got));
			got[at] = '!';
			cr_expect(!same("exact", expected, got, 3000, 100, &difference));
			compare_write(&difference, &w);
			text = json_take(&w);
			cr_assert(text);
			cr_expect(json_is_utf8(text), "%zu", at);
			*strstr(text, ",\"got\":") = '\0';
			cr_expect(!strstr(text, "\xef\xbf\xbd"), "the expected text is whole: %s", text);
			free(text);
		}
	}
}

Test(compare, is_linear, .timeout = 60)
{
	static const char *const hows[] = { "exact", "lines", "tokens", "float:1e-9" };
	static const char fill[] = { ' ', '\n', 'x', '\t', '\r' };
	const size_t len = 4 << 20;
	char *text = malloc(len + 1);

	for (size_t i = 0; i < ARRAY_LENGTH(hows); i++) {
		for (size_t j = 0; j < sizeof(fill); j++) {
			struct compare_difference difference;

			memset(text, fill[j], len);
			text[len] = '\0';
			cr_expect(same(hows[i], text, text, len, 65536, &difference), "%s, %d", hows[i],
				  fill[j]);
			text[len - 1] = '.';
			same(hows[i], "x y", text, len, 65536, &difference);
		}
	}
	free(text);
}

Test(compare, refuses_other_ways, .timeout = 20)
{
	static const char *const wrong[] = {
		"",         "Exact",       "float",     "float:",    "float:x",
		"float:-1", "float:1e999", "float:0x1", "float:nan", "float:1 "
	};
	struct compare_how how;
	struct warder_error err;

	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++)
		cr_expect_eq(compare_parse(wrong[i], &how, &err), -1, "%s", wrong[i]);
	cr_assert_eq(compare_parse("float:1e-6", &how, &err), 0);
	cr_expect(how.mode == COMPARE_FLOAT && how.tolerance == 1e-6);
}

Test(compare, in_one_call, .timeout = 20)
{
	struct warder_error err = { 0 };

	cr_expect_eq(warder_compare("lines", "a\n", 2, "a \nb", 3, &err), 1);
	cr_expect_eq(warder_compare("lines", "a\n", 2, "a \nb", 4, &err), 0);
	cr_expect_eq(warder_compare("float:0.1", "1", 1, "1.05", 4, &err), 1);
	cr_expect_eq(warder_compare("line", "a", 1, "a", 1, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST);
	cr_expect_eq(warder_compare("exact", NULL, 0, "a", 1, &err), -1);
}
