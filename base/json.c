/*
 * json: a recursive-descent reader.
 *
 * The reader works on (text, len) by index and never looks at text[len]; nothing needs to be NUL-terminated.
 * Its recursion is bounded by max_depth, and so is that of json_free(), which follows `next` in a loop and
 * recurses into `child` only. Work is linear in the document but for the search for duplicate names,
 * which sorts (n log n), so that a hostile object of a hundred thousand members costs nothing special.
 *
 * The decimal point of strtod() depends on the locale of the process that links the library, so the "C" locale is used explicitly.
 */
#include "base/json.h"
#include "base/array.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_MAX_BYTES ((size_t)1 << 20)
#define DEFAULT_MAX_DEPTH 32
#define MAX_NUMBER_LENGTH 127

static const char *const type_names[] = {
	[JSON_NULL] = "null",       [JSON_BOOL] = "a boolean", [JSON_NUMBER] = "a number",
	[JSON_STRING] = "a string", [JSON_ARRAY] = "an array", [JSON_OBJECT] = "an object",
};

const char *json_type_name(enum json_type type)
{
	return type_names[type];
}

bool json_is_utf8(const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		size_t length = utf8_length(text, left);

		if (length == 0)
			return false;
		text += length;
		left -= length;
	}
	return true;
}

/* ---- reading ---- */

struct parser {
	const char *text;
	size_t len, pos;
	int line;
	int depth, max_depth;
	size_t values_left;
	const char *origin;
	locale_t c_locale;
	struct warder_error *err;
};

static int fail_at(struct parser *p, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int fail(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail_at(struct parser *p, int line, const char *format, ...)
{
	char what[240];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	error_set(p->err, WARDER_ERROR_INVALID_REQUEST, p->origin, "%.120s:%d: %s", p->origin, line, what);
	return -1;
}

/* The column of the position in its line: characters, from 1. */
static size_t column(const struct parser *p)
{
	size_t start = p->pos, column = 1;

	while (start > 0 && p->text[start - 1] != '\n')
		start--;
	for (; start < p->pos; start++)
		column += ((unsigned char)p->text[start] & 0xc0) != 0x80;
	return column;
}

/* At the position. */
static int fail(struct parser *p, const char *format, ...)
{
	char what[240];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	error_set(p->err, WARDER_ERROR_INVALID_REQUEST, p->origin, "%.120s:%d:%zu: %s", p->origin, p->line,
		  column(p), what);
	return -1;
}

static int fail_memory(struct parser *p)
{
	return error_no_memory(p->err, p->origin);
}

/* The byte at the position, -1 at the end. */
static int peek(const struct parser *p)
{
	return p->pos < p->len ? (unsigned char)p->text[p->pos] : -1;
}

static bool take(struct parser *p, char wanted)
{
	if (peek(p) != (unsigned char)wanted)
		return false;
	p->pos++;
	return true;
}

static int fail_unexpected(struct parser *p, const char *wanted)
{
	int byte = peek(p);

	if (byte < 0)
		return fail(p, "the document ends where %s is expected", wanted);
	if (byte > 0x20 && byte < 0x7f)
		return fail(p, "'%c' where %s is expected", byte, wanted);
	return fail(p, "byte 0x%02x where %s is expected", (unsigned)byte, wanted);
}

static void skip_space(struct parser *p)
{
	for (int byte = peek(p); byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
	     byte = peek(p)) {
		if (byte == '\n')
			p->line++;
		p->pos++;
	}
}

/* Bytes up to the closing quote; no escape grows when decoded, so it is enough for the result. */
static size_t raw_string_length(const struct parser *p)
{
	size_t end = p->pos;

	while (end < p->len && p->text[end] != '"')
		end += p->text[end] == '\\' ? 2 : 1;
	return (end < p->len ? end : p->len) - p->pos;
}

static int parse_hex4(struct parser *p, uint32_t *ret)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++) {
		int byte = peek(p);

		if (byte >= '0' && byte <= '9')
			value = value << 4 | (uint32_t)(byte - '0');
		else if (byte >= 'a' && byte <= 'f')
			value = value << 4 | (uint32_t)(byte - 'a' + 10);
		else if (byte >= 'A' && byte <= 'F')
			value = value << 4 | (uint32_t)(byte - 'A' + 10);
		else
			return fail_unexpected(p, "a hexadecimal digit");
		p->pos++;
	}
	*ret = value;
	return 0;
}

static int parse_unicode_escape(struct parser *p, uint32_t *ret)
{
	uint32_t high = 0, low = 0;

	if (parse_hex4(p, &high) != 0)
		return -1;
	if (high == 0)
		return fail(p, "\\u0000 in a string");
	if (high < 0xd800 || high > 0xdfff) {
		*ret = high;
		return 0;
	}
	if (high > 0xdbff || !take(p, '\\') || !take(p, 'u'))
		return fail(p, "a lone surrogate \\u%04x", high);
	if (parse_hex4(p, &low) != 0)
		return -1;
	if (low < 0xdc00 || low > 0xdfff)
		return fail(p, "a lone surrogate \\u%04x", high);
	*ret = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	return 0;
}

/* After the backslash. */
static int parse_escape(struct parser *p, uint32_t *ret)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	int byte = peek(p);
	const char *found = byte > 0 ? strchr(from, byte) : NULL;

	if (byte == 'u') {
		p->pos++;
		return parse_unicode_escape(p, ret);
	}
	if (!found)
		return fail_unexpected(p, "an escape (one of \"\\/bfnrtu)");
	p->pos++;
	*ret = (unsigned char)to[found - from];
	return 0;
}

/* One character of a string into out; *ret_len is its length there. */
static int parse_character(struct parser *p, char *out, size_t *ret_len)
{
	int byte = peek(p);
	uint32_t point = 0;
	size_t length;

	if (byte < 0)
		return fail(p, "a string without its closing quote");
	if (byte < 0x20)
		return fail(p, "control character 0x%02x in a string", (unsigned)byte);
	if (take(p, '\\')) {
		if (parse_escape(p, &point) != 0)
			return -1;
		*ret_len = utf8_encode(point, out);
		return 0;
	}
	length = utf8_length(p->text + p->pos, p->len - p->pos);
	if (length == 0)
		return fail(p, "byte 0x%02x is not valid UTF-8", (unsigned)byte);
	memcpy(out, p->text + p->pos, length);
	p->pos += length;
	*ret_len = length;
	return 0;
}

/* Bytes from here on that stand for themselves: ASCII without the closing quote, escapes and control characters. */
static size_t plain_length(const struct parser *p)
{
	size_t end = p->pos;

	while (end < p->len && (unsigned char)p->text[end] >= 0x20 && (unsigned char)p->text[end] < 0x80 &&
	       p->text[end] != '"' && p->text[end] != '\\')
		end++;
	return end - p->pos;
}

static int parse_string(struct parser *p, char **ret)
{
	size_t used = 0, length = 0;
	char *string;

	if (!take(p, '"'))
		return fail_unexpected(p, "a string");
	string = malloc(raw_string_length(p) + 1);
	if (!string)
		return fail_memory(p);
	while (!take(p, '"')) {
		length = plain_length(p);
		memcpy(string + used, p->text + p->pos, length);
		p->pos += length;
		if (length == 0 && parse_character(p, string + used, &length) != 0) {
			free(string);
			return -1;
		}
		used += length;
	}
	string[used] = '\0';
	*ret = string;
	return 0;
}

static size_t skip_digits(struct parser *p)
{
	size_t start = p->pos;

	while (peek(p) >= '0' && peek(p) <= '9')
		p->pos++;
	return p->pos - start;
}

/* Step over number = [ "-" ] int [ frac ] [ exp ]. *ret_plain: neither sign, fraction nor exponent. */
static int scan_number(struct parser *p, bool *ret_plain)
{
	bool plain = !take(p, '-');

	if (!take(p, '0') && skip_digits(p) == 0)
		return fail_unexpected(p, "a digit");
	if (take(p, '.')) {
		plain = false;
		if (skip_digits(p) == 0)
			return fail_unexpected(p, "a digit");
	}
	if (take(p, 'e') || take(p, 'E')) {
		plain = false;
		if (!take(p, '+'))
			take(p, '-');
		if (skip_digits(p) == 0)
			return fail_unexpected(p, "a digit");
	}
	*ret_plain = plain;
	return 0;
}

static bool digits_to_uint(const char *digits, uint64_t *ret)
{
	uint64_t value = 0;

	for (; *digits; digits++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*digits - '0'), &value))
			return false;
	}
	*ret = value;
	return true;
}

static int parse_number(struct parser *p, struct json_value *value)
{
	char number[MAX_NUMBER_LENGTH + 1];
	size_t start = p->pos, length;
	bool plain = false;

	if (scan_number(p, &plain) != 0)
		return -1;
	length = p->pos - start;
	if (length > MAX_NUMBER_LENGTH)
		return fail(p, "a number of %zu characters; at most %d", length, MAX_NUMBER_LENGTH);
	memcpy(number, p->text + start, length);
	number[length] = '\0';
	value->type = JSON_NUMBER;
	value->string = strdup(number);
	if (!value->string)
		return fail_memory(p);
	value->number = strtod_l(number, NULL, p->c_locale);
	if (!isfinite(value->number))
		return fail(p, "the number %.40s is too large", number);
	value->is_uint = plain && digits_to_uint(number, &value->uint);
	return 0;
}

static int parse_word(struct parser *p, struct json_value *value)
{
	static const struct {
		const char *word;
		enum json_type type;
		bool boolean;
	} words[] = {
		{ "null", JSON_NULL, false },
		{ "true", JSON_BOOL, true },
		{ "false", JSON_BOOL, false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		size_t length = strlen(words[i].word);

		if (p->len - p->pos < length || memcmp(p->text + p->pos, words[i].word, length) != 0)
			continue;
		p->pos += length;
		value->type = words[i].type;
		value->boolean = words[i].boolean;
		return 0;
	}
	return fail_unexpected(p, "a value");
}

static int parse_value(struct parser *p, struct json_value **ret);

static int parse_element(struct parser *p, bool is_object, struct json_value **ret)
{
	int key_line = p->line;
	char *key = NULL;

	if (is_object) {
		if (peek(p) != '"')
			return fail_unexpected(p, "a member's name");
		if (parse_string(p, &key) != 0)
			return -1;
		skip_space(p);
		if (!take(p, ':')) {
			free(key);
			return fail_unexpected(p, "':'");
		}
	}
	if (parse_value(p, ret) != 0) {
		free(key);
		return -1;
	}
	(*ret)->key = key;
	(*ret)->key_line = is_object ? key_line : 0;
	return 0;
}

/* What was read stays linked below `value` also on failure, and is freed with it. */
static int parse_elements(struct parser *p, char close, struct json_value *value)
{
	struct json_value **tail = &value->child;
	bool is_object = value->type == JSON_OBJECT;

	skip_space(p);
	if (take(p, close))
		return 0;
	for (;;) {
		skip_space(p);
		if (parse_element(p, is_object, tail) != 0)
			return -1;
		tail = &(*tail)->next;
		skip_space(p);
		if (take(p, close))
			return 0;
		if (!take(p, ','))
			return fail_unexpected(p, is_object ? "',' or '}'" : "',' or ']'");
	}
}

static int compare_keys(const void *a, const void *b)
{
	const struct json_value *left = *(const struct json_value *const *)a;
	const struct json_value *right = *(const struct json_value *const *)b;
	int order = strcmp(left->key, right->key);

	return order != 0 ? order : left->key_line - right->key_line;
}

static int refuse_duplicates(struct parser *p, const struct json_value *object)
{
	const struct json_value **sorted;
	const struct json_value *twice = NULL;
	size_t count = 0, i = 0;
	char quoted[80];

	for (const struct json_value *member = object->child; member; member = member->next)
		count++;
	if (count < 2)
		return 0;
	sorted = calloc(count, sizeof(*sorted));
	if (!sorted)
		return fail_memory(p);
	for (const struct json_value *member = object->child; member; member = member->next)
		sorted[i++] = member;
	qsort(sorted, count, sizeof(*sorted), compare_keys);
	for (i = 1; i < count && !twice; i++) {
		if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
			twice = sorted[i];
	}
	free(sorted);
	if (!twice)
		return 0;
	return fail_at(p, twice->key_line, "the name %s is given twice",
		       json_quote(twice->key, quoted, sizeof(quoted)));
}

static int parse_container(struct parser *p, char open, char close, struct json_value *value)
{
	value->type = open == '{' ? JSON_OBJECT : JSON_ARRAY;
	if (p->depth >= p->max_depth)
		return fail(p, "more than %d levels", p->max_depth);
	p->depth++;
	take(p, open);
	if (parse_elements(p, close, value) != 0)
		return -1;
	p->depth--;
	return value->type == JSON_OBJECT ? refuse_duplicates(p, value) : 0;
}

static int parse_content(struct parser *p, struct json_value *value)
{
	int byte = peek(p);

	switch (byte) {
	case '{':
		return parse_container(p, '{', '}', value);
	case '[':
		return parse_container(p, '[', ']', value);
	case '"':
		value->type = JSON_STRING;
		return parse_string(p, &value->string);
	default:
		if (byte == '-' || (byte >= '0' && byte <= '9'))
			return parse_number(p, value);
		return parse_word(p, value);
	}
}

static int parse_value(struct parser *p, struct json_value **ret)
{
	struct json_value *value;

	if (p->values_left == 0)
		return fail(p, "more values than are read of one document");
	p->values_left--;
	value = calloc(1, sizeof(*value));
	if (!value)
		return fail_memory(p);
	skip_space(p);
	value->line = p->line;
	if (parse_content(p, value) != 0) {
		json_free(value);
		return -1;
	}
	*ret = value;
	return 0;
}

static int parse_document(struct parser *p, struct json_value **ret)
{
	struct json_value *value = NULL;

	if (parse_value(p, &value) != 0)
		return -1;
	skip_space(p);
	if (p->pos < p->len) {
		json_free(value);
		return fail_unexpected(p, "the end of the document");
	}
	*ret = value;
	return 0;
}

int json_parse(const char *text, size_t len, const char *origin, const struct json_limits *limits,
	       struct json_value **ret, struct warder_error *err)
{
	size_t max_bytes = limits && limits->max_bytes ? limits->max_bytes : DEFAULT_MAX_BYTES;
	struct parser p = {
		.text = text,
		.len = len,
		.line = 1,
		.max_depth = limits && limits->max_depth ? limits->max_depth : DEFAULT_MAX_DEPTH,
		.values_left = limits && limits->max_values ? limits->max_values : SIZE_MAX,
		.origin = origin,
		.err = err,
	};
	int status;

	if (len > max_bytes)
		return fail_at(&p, 1, "%zu bytes; at most %zu are read", len, max_bytes);
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		return fail_at(
		    &p, 1, "a byte order mark in front of the JSON; save the document as UTF-8 without one");
	p.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (p.c_locale == (locale_t)0)
		return fail_memory(&p);
	status = parse_document(&p, ret);
	freelocale(p.c_locale);
	return status;
}

void json_free(struct json_value *value)
{
	while (value) {
		struct json_value *next = value->next;

		json_free(value->child);
		free(value->string);
		free(value->key);
		free(value);
		value = next;
	}
}

const struct json_value *json_member(const struct json_value *object, const char *key)
{
	if (!object || object->type != JSON_OBJECT)
		return NULL;
	for (const struct json_value *member = object->child; member; member = member->next) {
		if (strcmp(member->key, key) == 0)
			return member;
	}
	return NULL;
}

const char *json_member_text(const struct json_value *object, const char *key, const char *other)
{
	const struct json_value *value = json_member(object, key);

	return value && value->type == JSON_STRING ? value->string : other;
}

uint64_t json_member_uint(const struct json_value *object, const char *key)
{
	const struct json_value *value = json_member(object, key);

	return value && value->is_uint ? value->uint : 0;
}

bool json_member_true(const struct json_value *object, const char *key)
{
	const struct json_value *value = json_member(object, key);

	return value && value->type == JSON_BOOL && value->boolean;
}

size_t json_length(const struct json_value *value)
{
	size_t count = 0;

	for (const struct json_value *each = value->child; each; each = each->next)
		count++;
	return count;
}
