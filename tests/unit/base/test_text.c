#include "base/array.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Judge a copy that ends exactly at `len`, so that the address sanitizer sees every read past it. */
static bool judge(const char *bytes, size_t len, bool cut, size_t *ret_len)
{
	char *copy = malloc(len ? len : 1);
	bool is_text;

	memcpy(copy, bytes, len);
	is_text = text_length(copy, len, cut, ret_len);
	free(copy);
	return is_text;
}

#define ROW(bytes, whole, cut)                                                                               \
	{                                                                                                    \
		bytes, sizeof(bytes) - 1, whole, cut                                                         \
	}
#define NO -1

Test(text, knows_what_is_text, .timeout = 20)
{
	static const struct {
		const char *bytes;
		size_t len;
		int whole, cut; /* length as text of a whole stream and of a cut one, or NO */
	} rows[] = {
		ROW("", 0, 0),
		ROW("plain\n\t\x01\x7f", 9, 9),
		ROW("\xc3\xa4", 2, 2),
		ROW("\xe2\x82\xac", 3, 3),
		ROW("\xf0\x9f\x98\x80", 4, 4),
		ROW("\xf4\x8f\xbf\xbf", 4, 4),
		ROW("a\0b", NO, NO),
		/* the beginning of a character, at the end */
		ROW("a\xc3", NO, 1),
		ROW("a\xe2\x82", NO, 1),
		ROW("a\xe2", NO, 1),
		ROW("a\xf0\x9f\x98", NO, 1),
		/* what no character begins with */
		ROW("a\x80", NO, NO),
		ROW("a\xc0", NO, NO),
		ROW("a\xc1\x80", NO, NO),
		ROW("a\xf5", NO, NO),
		ROW("a\xff", NO, NO),
		/* overlong, surrogate, beyond the last one: whole and begun */
		ROW("\xe0\x80\x80", NO, NO),
		ROW("\xe0\x80", NO, NO),
		ROW("\xed\xa0\x80", NO, NO),
		ROW("\xed\xa0", NO, NO),
		ROW("\xf0\x80\x80\x80", NO, NO),
		ROW("\xf4\x90\x80", NO, NO),
		/* a character that breaks off before the end */
		ROW("\xc3 a", NO, NO),
		ROW("\xe2\x82 a", NO, NO),
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		size_t length = 99;

		cr_expect(judge(rows[i].bytes, rows[i].len, false, &length) == (rows[i].whole != NO),
			  "row %zu whole", i);
		cr_expect(rows[i].whole == NO || (int)length == rows[i].whole, "row %zu whole: %zu", i,
			  length);
		length = 99;
		cr_expect(judge(rows[i].bytes, rows[i].len, true, &length) == (rows[i].cut != NO),
			  "row %zu cut", i);
		cr_expect(rows[i].cut == NO || (int)length == rows[i].cut, "row %zu cut: %zu", i, length);
	}
}

/* RFC 4648, section 10, and bytes above 127. */
Test(text, encodes_base64, .timeout = 20)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *text;
	} rows[] = {
		{ "", 0, "" },
		{ "f", 1, "Zg==" },
		{ "fo", 2, "Zm8=" },
		{ "foo", 3, "Zm9v" },
		{ "foob", 4, "Zm9vYg==" },
		{ "fooba", 5, "Zm9vYmE=" },
		{ "foobar", 6, "Zm9vYmFy" },
		{ "\xff\xfe\xfd\x00", 4, "//79AA==" },
		{ "\xfb\xf0", 2, "+/A=" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *text = text_base64(rows[i].bytes, rows[i].len);

		size_t len = 0;
		char *bytes = text_unbase64(text, strlen(text), &len);

		cr_expect_str_eq(text, rows[i].text, "row %zu", i);
		cr_assert(bytes && len == rows[i].len, "row %zu", i);
		cr_expect(memcmp(bytes, rows[i].bytes, len) == 0 && bytes[len] == '\0', "row %zu", i);
		free(bytes);
		free(text);
	}
}

Test(text, refuses_what_is_no_base64, .timeout = 20)
{
	static const char *const rows[] = { "Zg",   "Zg=",  "=",    "====", "Zg==Zg==", "Zh==",
					    "Zm9=", "Z===", "Zm 9", "Zm9-", "Zm9v\n",   "=Zm9" };

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		size_t len = strlen(rows[i]);
		char *copy = malloc(len);

		memcpy(copy, rows[i], len);
		cr_expect_null(text_unbase64(copy, len, &len), "%s", rows[i]);
		free(copy);
	}
	cr_expect_null(text_unbase64("A\0AA", 4, &(size_t){ 0 }), "a NUL");
}

Test(text, is_made_of_anything, .timeout = 20)
{
	static const struct {
		const char *bytes;
		size_t len, max;
		const char *text;
		bool cut;
	} rows[] = {
		{ "", 0, 9, "", false },
		{ "ab", 2, 9, "ab", false },
		{ "ab", 2, 2, "ab", false },
		{ "abc", 3, 2, "ab", true },
		{ "a\0b", 3, 9,
		  "a\xef\xbf\xbd"
		  "b",
		  false },
		{ "\xff\xc3", 2, 9, "\xef\xbf\xbd\xef\xbf\xbd", false },
		{ "\xff\xff", 2, 5, "\xef\xbf\xbd", true },
		{ "\xc3\xa4\xc3\xa4", 4, 3, "\xc3\xa4", true },
		{ "\xe2\x82", 2, 9, "\xef\xbf\xbd", false },
		{ "\xe2\x82z", 3, 9, "\xef\xbf\xbd\xef\xbf\xbdz", false },
		{ "x", 1, 0, "", true },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *copy = malloc(rows[i].len ? rows[i].len : 1);
		bool cut = !rows[i].cut;
		size_t len = 0;
		char *text;

		memcpy(copy, rows[i].bytes, rows[i].len);
		text = text_clean(copy, rows[i].len, rows[i].max, &len, &cut);
		cr_expect_str_eq(text, rows[i].text, "row %zu", i);
		cr_expect(len == strlen(rows[i].text) && cut == rows[i].cut, "row %zu", i);
		free(text);
		free(copy);
	}
}
