/*
 * The expected text is brought into a form in which two texts that are the same are equal byte by byte: for lines without blanks
 * at the ends of lines and without line ends at the end, for tokens with one blank between each two. The output is held against it
 * as it comes.
 *
 * Lines. Whether blanks are at the end of a line is known only behind them. They are compared as if they were not, and only
 * counted: `at` stays before them. If something follows on the same line, they had to be the same; if the line ends, they are
 * forgotten. Line ends are like that, too: one that is not in the expected text matters only if something follows. So nothing has
 * to be kept however long they are.
 */
#include "runtime/judge/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "runtime/warder.h"

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\v' || byte == '\f';
}

static bool is_gap(char byte)
{
	return is_blank(byte) || byte == '\n';
}

/* ---- how ---- */

/* A decimal number and nothing else, which is not too large. */
static bool read_number(const char *text, locale_t c_locale, double *ret)
{
	const char *at = text + (*text == '-' || *text == '+');
	size_t digits = strspn(at, "0123456789");
	char *end;

	at += digits;
	if (*at == '.') {
		const size_t more = strspn(at + 1, "0123456789");

		digits += more;
		at += 1 + more;
	}
	if (digits && (*at == 'e' || *at == 'E')) {
		const size_t sign = at[1] == '-' || at[1] == '+';
		const size_t power = strspn(at + 1 + sign, "0123456789");

		at += power ? 1 + sign + power : 0;
	}
	if (!digits || *at)
		return false;
	*ret = strtod_l(text, &end, c_locale);
	return isfinite(*ret);
}

int compare_parse(const char *text, struct compare_how *ret, struct warder_error *err)
{
	static const struct {
		const char *name;
		enum compare_mode mode;
	} modes[] = {
		{ "exact", COMPARE_EXACT },
		{ "lines", COMPARE_LINES },
		{ "tokens", COMPARE_TOKENS },
		{ "none", COMPARE_NONE },
	};
	locale_t c_locale;
	char quoted[64];

	*ret = (struct compare_how){ COMPARE_NONE, 0 };
	for (size_t i = 0; i < ARRAY_LENGTH(modes); i++) {
		ret->mode = modes[i].mode;
		if (strcmp(text, modes[i].name) == 0)
			return 0;
	}
	ret->mode = COMPARE_FLOAT;
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (c_locale && strncmp(text, "float:", 6) == 0 && strlen(text) < 100 &&
	    read_number(text + 6, c_locale, &ret->tolerance) && ret->tolerance >= 0) {
		freelocale(c_locale);
		return 0;
	}
	if (c_locale)
		freelocale(c_locale);
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "compare",
			 "%s is not a comparison; known: exact, lines, tokens, float:1e-6, none",
			 json_quote(text, quoted, sizeof(quoted)));
}

/* ---- the expected text ---- */

static size_t strip_lines(char *text, size_t len)
{
	size_t to = 0;

	for (size_t from = 0; from < len; from++) {
		while (text[from] == '\n' && to && is_blank(text[to - 1]))
			to--;
		text[to++] = text[from];
	}
	while (to && is_gap(text[to - 1]))
		to--;
	return to;
}

static size_t strip_tokens(char *text, size_t len)
{
	size_t to = 0;

	for (size_t from = 0; from < len; from++) {
		if (!is_gap(text[from]))
			text[to++] = text[from];
		else if (to && text[to - 1] != ' ')
			text[to++] = ' ';
	}
	return to && text[to - 1] == ' ' ? to - 1 : to;
}

int compare_init(struct compare *compare, const struct compare_how *how, const char *expected, size_t len,
		 struct warder_error *err)
{
	*compare = (struct compare){ .how = *how, .line = 1, .column = 1 };
	if (how->mode == COMPARE_NONE)
		return 0;
	compare->expected = malloc(len + 1);
	compare->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!compare->expected || !compare->c_locale) {
		compare_done(compare);
		return error_no_memory(err, NULL);
	}
	memcpy(compare->expected, expected, len);
	if (how->mode == COMPARE_LINES)
		len = strip_lines(compare->expected, len);
	else if (how->mode != COMPARE_EXACT)
		len = strip_tokens(compare->expected, len);
	compare->expected_len = len;
	return 0;
}

void compare_done(struct compare *compare)
{
	free(compare->expected);
	if (compare->c_locale)
		freelocale(compare->c_locale);
	compare->expected = NULL;
	compare->c_locale = (locale_t)0;
}

/* ---- the difference ---- */

static bool is_of_tokens(const struct compare *compare)
{
	return compare->how.mode >= COMPARE_TOKENS;
}

/* What of the line or token at hand was seen before, the last of it. */
static void show_recent(const struct compare *compare, struct compare_piece *piece)
{
	const size_t size = sizeof(compare->recent);
	const size_t kept = compare->recent_len < size ? compare->recent_len : size;

	for (size_t i = 0; i < kept; i++)
		piece->bytes[i] = compare->recent[(compare->recent_len - kept + i) % size];
	piece->len = kept;
}

static bool is_next(const struct compare *compare, size_t at, char byte)
{
	return at < compare->expected_len && compare->expected[at] == byte;
}

/* Of the expected text, the line or token around `at`: beginning as far before it as what was seen of the output. */
static void show_expected(const struct compare *compare, struct compare_piece *piece)
{
	const size_t most = sizeof(compare->recent);
	const char end = is_of_tokens(compare) ? ' ' : '\n';
	size_t from = compare->at - compare->unit > most ? compare->at - most : compare->unit;

	piece->is_there = compare->at < compare->expected_len || compare->unit < compare->at;
	piece->len = 0;
	for (; from < compare->expected_len && compare->expected[from] != end && piece->len < COMPARE_SHOWN;
	     from++)
		piece->bytes[piece->len++] = compare->expected[from];
	if (compare->shows_ends && is_next(compare, from, '\n') && piece->len < COMPARE_SHOWN)
		piece->bytes[piece->len++] = '\n';
}

static void note_difference(struct compare *compare)
{
	struct compare_difference *difference = &compare->difference;

	difference->line = compare->line;
	difference->column = compare->column;
	show_expected(compare, &difference->expected);
	show_recent(compare, &difference->got);
	difference->got.is_there = true;
}

/* It is here, and the rest of the line or token is still to come. */
static void differ(struct compare *compare)
{
	note_difference(compare);
	compare->differs = compare->collects = true;
}

static void collect(struct compare *compare, char byte)
{
	struct compare_piece *got = &compare->difference.got;

	if (byte == '\n' && compare->shows_ends && got->len < COMPARE_SHOWN)
		got->bytes[got->len++] = byte;
	if (byte == '\n' || (is_of_tokens(compare) && is_gap(byte)) || got->len == COMPARE_SHOWN)
		compare->collects = false;
	else
		got->bytes[got->len++] = byte;
}

/* ---- exact ---- */

static void feed_exact(struct compare *compare, char byte)
{
	if (!is_next(compare, compare->at, byte)) {
		compare->shows_ends = byte == '\n' || is_next(compare, compare->at, '\n');
		differ(compare);
		return;
	}
	compare->at++;
	if (byte == '\n')
		compare->unit = compare->at;
}

/* ---- lines ---- */

/* A line of the output ends. Where no line of the expected text does, that matters if anything else follows. */
static void end_line(struct compare *compare)
{
	compare->blanks = 0;
	compare->blanks_differ = false;
	if (!compare->ends_differ && is_next(compare, compare->at, '\n')) {
		compare->at++;
		compare->unit = compare->at;
	} else if (!compare->ends_differ && compare->at < compare->expected_len) {
		note_difference(compare);
		compare->ends_differ = true;
	} else if (!compare->ends_differ) {
		compare->unit = compare->at; /* behind the last line */
	}
}

static void feed_lines(struct compare *compare, char byte)
{
	if (byte == '\n') {
		end_line(compare);
	} else if (is_blank(byte)) {
		compare->blanks_differ |= !is_next(compare, compare->at + compare->blanks, byte);
		compare->blanks++;
	} else if (compare->ends_differ) {
		compare->differs = true;
	} else if (compare->blanks_differ || !is_next(compare, compare->at + compare->blanks, byte)) {
		differ(compare);
	} else {
		compare->at += compare->blanks + 1;
		compare->blanks = 0;
	}
}

/* ---- tokens ---- */

/* Where the expected token ends that begins at compare->unit. */
static size_t token_end(const struct compare *compare)
{
	const char *from = compare->expected + compare->unit;
	const char *end = memchr(from, ' ', compare->expected_len - compare->unit);

	return end ? (size_t)(end - compare->expected) : compare->expected_len;
}

/* The next expected token. False: there is none. */
static bool begin_token(struct compare *compare)
{
	if (compare->any && compare->at < compare->expected_len)
		compare->at++; /* the blank before it */
	compare->any = compare->in_token = compare->same = true;
	compare->token_len = compare->recent_len = 0;
	compare->unit = compare->at;
	return compare->at < compare->expected_len;
}

static void feed_token(struct compare *compare, char byte)
{
	if (!compare->in_token && !begin_token(compare)) {
		differ(compare);
	} else if (compare->how.mode == COMPARE_FLOAT) {
		compare->same &= is_next(compare, compare->unit + compare->token_len, byte);
		if (compare->token_len < COMPARE_TOKEN)
			compare->token[compare->token_len] = byte;
		compare->token_len++;
	} else if (is_next(compare, compare->at, byte)) {
		compare->at++;
	} else {
		differ(compare);
	}
}

static bool is_close(struct compare *compare, size_t end)
{
	char expected[COMPARE_TOKEN + 1];
	const size_t len = end - compare->unit;
	double wanted, got;

	if (len > COMPARE_TOKEN || compare->token_len > COMPARE_TOKEN)
		return false;
	memcpy(expected, compare->expected + compare->unit, len);
	expected[len] = compare->token[compare->token_len] = '\0';
	if (strlen(compare->token) != compare->token_len || strlen(expected) != len ||
	    !read_number(expected, compare->c_locale, &wanted) ||
	    !read_number(compare->token, compare->c_locale, &got))
		return false;
	return fabs(got - wanted) <= compare->how.tolerance * (fabs(wanted) > 1 ? fabs(wanted) : 1);
}

static void end_token(struct compare *compare)
{
	size_t end;

	if (!compare->in_token)
		return;
	compare->in_token = false;
	end = token_end(compare);
	if (compare->how.mode == COMPARE_FLOAT) {
		const bool same = compare->same && compare->token_len == end - compare->unit;

		if (same || is_close(compare, end))
			compare->at = end;
	}
	if (compare->at != end)
		differ(compare);
}

/* ---- all of it ---- */

static void feed_byte(struct compare *compare, char byte)
{
	switch (compare->how.mode) {
	case COMPARE_NONE:
		return;
	case COMPARE_EXACT:
		feed_exact(compare, byte);
		break;
	case COMPARE_LINES:
		feed_lines(compare, byte);
		break;
	case COMPARE_TOKENS:
	case COMPARE_FLOAT:
		if (is_gap(byte))
			end_token(compare);
		else
			feed_token(compare, byte);
		break;
	}
}

/* Where the output is now. */
static void advance(struct compare *compare, char byte)
{
	compare->column++;
	if (byte == '\n') {
		compare->line++;
		compare->column = 1;
		compare->recent_len = 0;
		return;
	}
	compare->recent[compare->recent_len % sizeof(compare->recent)] = byte;
	compare->recent_len++;
}

void compare_feed(struct compare *compare, const char *bytes, size_t len)
{
	if (compare->how.mode == COMPARE_NONE)
		return;
	for (size_t i = 0; i < len && (!compare->differs || compare->collects); i++) {
		if (!compare->differs)
			feed_byte(compare, bytes[i]);
		if (compare->collects)
			collect(compare, bytes[i]);
		else if (!compare->differs)
			advance(compare, bytes[i]);
	}
}

/* The output has ended before the expected text. */
static void end_early(struct compare *compare)
{
	struct compare_difference *difference = &compare->difference;

	if (compare->ends_differ) {
		compare->differs = true;
		return;
	}
	if (is_of_tokens(compare)) { /* a whole token is missing */
		compare->at += compare->any;
		compare->unit = compare->at;
		compare->recent_len = 0;
	}
	compare->shows_ends = compare->how.mode == COMPARE_EXACT && is_next(compare, compare->at, '\n');
	note_difference(compare);
	compare->differs = true;
	difference->got.is_there = compare->recent_len > 0;
}

bool compare_finish(struct compare *compare)
{
	if (compare->how.mode == COMPARE_NONE)
		return true;
	if (!compare->differs && is_of_tokens(compare))
		end_token(compare);
	if (!compare->differs && compare->at != compare->expected_len)
		end_early(compare);
	compare->collects = false;
	return !compare->differs;
}

/* ---- telling ---- */

/* Length without the beginning of a character at the end. */
static size_t whole_characters(const char *bytes, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		const unsigned char byte = (unsigned char)bytes[len - back];

		if (byte >= 0xc0)
			return back < (byte >= 0xf0 ? 4u : byte >= 0xe0 ? 3u : 2u) ? len - back : len;
		if (byte < 0x80)
			break;
	}
	return len;
}

/* A cut may have left the end of a character in front, and the beginning of one at the end. */
static void write_piece(struct json_writer *w, const char *key, const struct compare_piece *piece)
{
	size_t from = 0, len = piece->len;
	char *text;
	bool cut;

	json_key(w, key);
	if (!piece->is_there) {
		json_null(w);
		return;
	}
	while (from < piece->len && from < 3 && ((unsigned char)piece->bytes[from] & 0xc0) == 0x80)
		from++;
	if (len == COMPARE_SHOWN)
		len = whole_characters(piece->bytes, len);
	text = text_clean(piece->bytes + from, len > from ? len - from : 0, COMPARE_SHOWN, &len, &cut);
	if (text)
		json_string_n(w, text, len);
	else
		json_fail(w);
	free(text);
}

void compare_write(const struct compare_difference *difference, struct json_writer *w)
{
	json_begin_object(w);
	json_key_uint(w, "line", difference->line);
	json_key_uint(w, "column", difference->column);
	write_piece(w, "expected", &difference->expected);
	write_piece(w, "got", &difference->got);
	json_end_object(w);
}

/* ---- for other programs ---- */

int warder_compare(const char *how, const char *expected, size_t expected_len, const char *got,
		   size_t got_len, struct warder_error *err)
{
	struct compare_how parsed;
	struct compare compare;
	bool same;

	if (!how || !expected || !got)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the argument `%s` is NULL",
				 !how        ? "how"
				 : !expected ? "expected"
					     : "got");
	if (compare_parse(how, &parsed, err) != 0 ||
	    compare_init(&compare, &parsed, expected, expected_len, err) != 0)
		return -1;
	compare_feed(&compare, got, got_len);
	same = compare_finish(&compare);
	compare_done(&compare);
	return same;
}
