/*
 * json_write: an appending writer.
 *
 * The decimal point of printf() depends on the locale of the process that links the library, so whatever point it used is replaced.
 */
#include "base/json_write.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

/* ---- escaping ---- */

#define MAX_PIECE 8

/* The character at text as it stands in a JSON string; *ret_taken is the count of bytes used up. */
static size_t escape_character(const char *text, size_t left, char piece[MAX_PIECE], size_t *ret_taken)
{
	static const char plain[] = "\"\\\b\f\n\r\t";
	static const char letter[] = "\"\\bfnrt";
	unsigned char byte = (unsigned char)text[0];
	const char *found = byte ? strchr(plain, byte) : NULL;
	size_t length = utf8_length(text, left);

	*ret_taken = length ? length : 1;
	if (found)
		return (size_t)snprintf(piece, MAX_PIECE, "\\%c", letter[found - plain]);
	if (byte < 0x20)
		return (size_t)snprintf(piece, MAX_PIECE, "\\u%04x", byte);
	if (length == 0)
		return utf8_encode(0xfffd, piece);
	memcpy(piece, text, length);
	return length;
}

char *json_quote(const char *text, char *buf, size_t len)
{
	return json_quote_bytes(text, strlen(text), buf, len);
}

char *json_quote_bytes(const char *bytes, size_t count, char *buf, size_t len)
{
	size_t left = count, used = 0, taken;
	char piece[MAX_PIECE];

	buf[used++] = '"';
	for (; left > 0; bytes += taken, left -= taken) {
		size_t length = escape_character(bytes, left, piece, &taken);

		/* Room for the closing quote and NUL, and before the last one for a cut mark too. */
		if (used + length + (taken < left ? 5 : 2) > len) {
			memcpy(buf + used, "...", 3);
			used += 3;
			break;
		}
		memcpy(buf + used, piece, length);
		used += length;
	}
	buf[used++] = '"';
	buf[used] = '\0';
	return buf;
}

/* ---- writing ---- */

void json_fail(struct json_writer *w)
{
	free(w->text);
	w->text = NULL;
	w->len = w->cap = 0;
	w->failed = true;
}

/* Make room for `more` bytes and a NUL. */
static bool reserve(struct json_writer *w, size_t more)
{
	size_t cap = w->cap ? w->cap : 256;
	char *text = NULL;

	if (w->failed)
		return false;
	if (w->cap - w->len > more)
		return true;
	while (cap - w->len <= more && cap <= SIZE_MAX / 2)
		cap *= 2;
	if (cap - w->len > more)
		text = realloc(w->text, cap);
	if (!text) {
		json_fail(w);
		return false;
	}
	w->text = text;
	w->cap = cap;
	return true;
}

static void append(struct json_writer *w, const char *text, size_t len)
{
	if (!reserve(w, len))
		return;
	memcpy(w->text + w->len, text, len);
	w->len += len;
	w->text[w->len] = '\0';
}

static void append_newline(struct json_writer *w)
{
	if (!w->pretty)
		return;
	append(w, "\n", 1);
	for (int i = 0; i < w->depth; i++)
		append(w, "  ", 2);
}

/* What has to stand before a value or a key. */
static void separate(struct json_writer *w)
{
	if (w->after_key) {
		w->after_key = false;
		return;
	}
	if (w->need_comma)
		append(w, ",", 1);
	if (w->depth > 0)
		append_newline(w);
}

static void append_value(struct json_writer *w, const char *text, size_t len)
{
	separate(w);
	append(w, text, len);
	w->need_comma = true;
}

static void begin(struct json_writer *w, const char *bracket)
{
	append_value(w, bracket, 1);
	w->need_comma = false;
	w->depth++;
}

static void end(struct json_writer *w, const char *bracket)
{
	w->depth--;
	if (w->need_comma)
		append_newline(w);
	append(w, bracket, 1);
	w->need_comma = true;
}

void json_begin_object(struct json_writer *w)
{
	begin(w, "{");
}

void json_end_object(struct json_writer *w)
{
	end(w, "}");
}

void json_begin_array(struct json_writer *w)
{
	begin(w, "[");
}

void json_end_array(struct json_writer *w)
{
	end(w, "]");
}

void json_key(struct json_writer *w, const char *key)
{
	json_string(w, key);
	append(w, ": ", w->pretty ? 2 : 1);
	w->after_key = true;
}

void json_string(struct json_writer *w, const char *text)
{
	if (text)
		json_string_n(w, text, strlen(text));
	else
		json_null(w);
}

/* Program output may be megabytes of plain text: runs that need no escape are copied whole. */
static size_t plain_run(const char *text, size_t left)
{
	size_t length = 0;

	while (length < left && (unsigned char)text[length] >= 0x20 && (unsigned char)text[length] < 0x80 &&
	       text[length] != '"' && text[length] != '\\')
		length++;
	return length;
}

void json_string_n(struct json_writer *w, const char *text, size_t len)
{
	char piece[MAX_PIECE];
	size_t taken;

	append_value(w, "\"", 1);
	for (size_t pos = 0; pos < len; pos += taken) {
		taken = plain_run(text + pos, len - pos);
		if (taken > 0)
			append(w, text + pos, taken);
		else
			append(w, piece, escape_character(text + pos, len - pos, piece, &taken));
	}
	append(w, "\"", 1);
}

void json_uint(struct json_writer *w, uint64_t value)
{
	char text[24];

	append_value(w, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, value));
}

void json_int(struct json_writer *w, int64_t value)
{
	char text[24];

	append_value(w, text, (size_t)snprintf(text, sizeof(text), "%" PRId64, value));
}

void json_number(struct json_writer *w, const char *text)
{
	append_value(w, text, strlen(text));
}

void json_double(struct json_writer *w, double value, int decimals)
{
	char text[352];
	size_t length, i = 0, used = 0;

	if (!isfinite(value)) {
		json_null(w);
		return;
	}
	if (decimals < 0 || decimals > 17)
		decimals = 17;
	length = (size_t)snprintf(text, sizeof(text), "%.*f", decimals, value);
	while (i < length) {
		if ((text[i] >= '0' && text[i] <= '9') || text[i] == '-') {
			text[used++] = text[i++];
			continue;
		}
		text[used++] = '.';
		while (i < length && (text[i] < '0' || text[i] > '9'))
			i++;
	}
	append_value(w, text, used);
}

void json_bool(struct json_writer *w, bool value)
{
	append_value(w, value ? "true" : "false", value ? 4 : 5);
}

void json_null(struct json_writer *w)
{
	append_value(w, "null", 4);
}

/* The depth is the parser's: bounded by json_limits. */
void json_copy(struct json_writer *w, const struct json_value *value)
{
	switch (value->type) {
	case JSON_NULL:
		json_null(w);
		break;
	case JSON_BOOL:
		json_bool(w, value->boolean);
		break;
	case JSON_NUMBER:
		json_number(w, value->string);
		break;
	case JSON_STRING:
		json_string(w, value->string);
		break;
	case JSON_ARRAY:
		json_begin_array(w);
		for (const struct json_value *child = value->child; child; child = child->next)
			json_copy(w, child);
		json_end_array(w);
		break;
	case JSON_OBJECT:
		json_begin_object(w);
		for (const struct json_value *child = value->child; child; child = child->next) {
			json_key(w, child->key);
			json_copy(w, child);
		}
		json_end_object(w);
		break;
	}
}

char *json_text(const struct json_value *value)
{
	struct json_writer w = { 0 };

	json_copy(&w, value);
	return json_take(&w);
}

void json_key_string(struct json_writer *w, const char *key, const char *text)
{
	json_key(w, key);
	json_string(w, text);
}

void json_key_uint(struct json_writer *w, const char *key, uint64_t value)
{
	json_key(w, key);
	json_uint(w, value);
}

void json_key_bool(struct json_writer *w, const char *key, bool value)
{
	json_key(w, key);
	json_bool(w, value);
}

char *json_take(struct json_writer *w)
{
	char *text;

	append(w, "", 0);
	text = w->text;
	*w = (struct json_writer){ .pretty = w->pretty, .failed = w->failed };
	return text;
}

void json_writer_done(struct json_writer *w)
{
	free(w->text);
	*w = (struct json_writer){ .pretty = w->pretty };
}
