/*
 * compare: the same whatever the pieces are, the same as the slow way of saying what "lines" and "tokens" are, and a difference
 * that is shown can be written.
 *
 * The input is a byte for the way, one for the length of pieces, the expected text up to the byte 0xff, and the output.
 */
#include "runtime/judge/compare.h"
#include "tests/fuzz/fuzz.h"

static bool is_blank(char byte)
{
	return byte && strchr(" \t\r\v\f", byte);
}

/* The text as lines has it, or tokens: heap. */
static char *plain_lines(const char *text, size_t len, size_t *ret_len)
{
	char *out = malloc(len + 1);
	size_t used = 0;

	must(out);
	for (size_t from = 0; from < len;) {
		const char *end = memchr(text + from, '\n', len - from);
		size_t line = end ? (size_t)(end - text) - from : len - from, kept = line;

		while (kept && is_blank(text[from + kept - 1]))
			kept--;
		memcpy(out + used, text + from, kept);
		used += kept;
		from += line;
		if (end) {
			out[used++] = '\n';
			from++;
		}
	}
	while (used && out[used - 1] == '\n')
		used--;
	*ret_len = used;
	return out;
}

static char *plain_tokens(const char *text, size_t len, size_t *ret_len)
{
	char *out = malloc(2 * len + 1);
	size_t used = 0;

	must(out);
	for (size_t from = 0; from < len;) {
		size_t token = 0;

		while (from + token < len && !is_blank(text[from + token]) && text[from + token] != '\n')
			token++;
		if (token) {
			memcpy(out + used, text + from, token);
			used += token;
			out[used++] = ' ';
		}
		from += token ? token : 1;
	}
	*ret_len = used;
	return out;
}

static bool slowly(enum compare_mode mode, const char *a, size_t a_len, const char *b, size_t b_len)
{
	char *left, *right;
	size_t left_len, right_len;
	bool same;

	if (mode == COMPARE_EXACT)
		return a_len == b_len && memcmp(a, b, a_len) == 0;
	left = mode == COMPARE_LINES ? plain_lines(a, a_len, &left_len) : plain_tokens(a, a_len, &left_len);
	right =
	    mode == COMPARE_LINES ? plain_lines(b, b_len, &right_len) : plain_tokens(b, b_len, &right_len);
	same = left_len == right_len && memcmp(left, right, left_len) == 0;
	free(left);
	free(right);
	return same;
}

static bool in_pieces(const struct compare_how *how, const char *a, size_t a_len, const char *b, size_t b_len,
		      size_t step, struct compare_difference *ret)
{
	struct compare compare;
	struct warder_error err;
	bool same;

	must(compare_init(&compare, how, a, a_len, &err) == 0);
	for (size_t at = 0; at < b_len; at += step)
		compare_feed(&compare, b + at, step < b_len - at ? step : b_len - at);
	same = compare_finish(&compare);
	*ret = compare.difference;
	compare_done(&compare);
	return same;
}

static void check(const struct compare_how *how, const char *a, size_t a_len, const char *b, size_t b_len,
		  size_t step)
{
	struct compare_difference one, other;
	const bool same = in_pieces(how, a, a_len, b, b_len, step, &one);
	struct json_writer w = { 0 };
	char *text;

	must(in_pieces(how, a, a_len, b, b_len, 1, &other) == same);
	if (how->mode != COMPARE_FLOAT)
		must(slowly(how->mode, a, a_len, b, b_len) == same);
	else if (slowly(COMPARE_TOKENS, a, a_len, b, b_len))
		must(same);
	if (same)
		return;
	must(one.line == other.line && one.column == other.column && one.line >= 1 && one.column >= 1);
	must(one.got.len == other.got.len && one.got.len <= COMPARE_SHOWN);
	must(one.expected.len == other.expected.len && one.expected.len <= COMPARE_SHOWN);
	must(memcmp(one.got.bytes, other.got.bytes, one.got.len) == 0);
	must(one.got.is_there || one.expected.is_there);
	compare_write(&one, &w);
	text = json_take(&w);
	must(text && json_is_utf8(text));
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct compare_how how = { .tolerance = 0.5 };
	const uint8_t *end;
	char *expected, *got;
	size_t step, expected_len;

	if (size < 2)
		return 0;
	how.mode = (enum compare_mode)(COMPARE_EXACT + data[0] % 4);
	step = 1 + data[1] % 64;
	data += 2;
	size -= 2;
	end = memchr(data, 0xff, size);
	expected_len = end ? (size_t)(end - data) : size;
	expected = fuzz_text(data, expected_len);
	got = fuzz_text(data + expected_len + (end ? 1 : 0), size - expected_len - (end ? 1 : 0));
	check(&how, expected, expected_len, got, size - expected_len - (end ? 1 : 0), step);
	free(expected);
	free(got);
	return 0;
}
