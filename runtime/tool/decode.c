#include "runtime/tool/decode.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"

#define KEYS_MAX 32

/* ---- errors ---- */

int decode_locate(struct decoder *d, const struct json_value *value)
{
	snprintf(d->err->field, sizeof(d->err->field), "%s", d->path[0] ? d->path : d->origin);
	if (d->path[0])
		return error_context(d->err, "%s:%d: %s", d->origin, value->line, d->path);
	return error_context(d->err, "%s:%d", d->origin, value->line);
}

int decode_refuse(struct decoder *d, const struct json_value *value, const char *format, ...)
{
	char text[sizeof(d->err->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	error_set(d->err, WARDER_ERROR_INVALID_REQUEST, NULL, "%s", text);
	return decode_locate(d, value);
}

static int refuse_type(struct decoder *d, const struct json_value *value, const char *wanted)
{
	return decode_refuse(d, value, "%s where %s is expected", json_type_name(value->type), wanted);
}

/* ---- the path ---- */

/* A control character or half of one must not get into a message. */
size_t decode_enter(struct decoder *d, const char *key)
{
	const size_t mark = strlen(d->path);
	char *at = d->path + mark;

	snprintf(at, sizeof(d->path) - mark, "%s%s", mark ? "." : "", key);
	for (; *at; at++) {
		if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f)
			*at = '?';
	}
	return mark;
}

static size_t enter_element(struct decoder *d, size_t index)
{
	const size_t mark = strlen(d->path);

	snprintf(d->path + mark, sizeof(d->path) - mark, "[%zu]", index);
	return mark;
}

void decode_leave(struct decoder *d, size_t mark)
{
	d->path[mark] = '\0';
}

/* ---- objects and arrays ---- */

static int refuse_key(struct decoder *d, const struct json_value *member, const struct decode_row *rows)
{
	const char *keys[KEYS_MAX + 1] = { NULL };
	char known[200];

	for (size_t i = 0; i < KEYS_MAX && rows[i].key; i++)
		keys[i] = rows[i].key;
	return decode_refuse(d, member, "unknown key; %s",
			     policy_suggest(keys, member->key, known, sizeof(known)));
}

static int read_member(struct decoder *d, const struct json_value *member, const struct decode_row *rows,
		       void *into)
{
	const size_t mark = decode_enter(d, member->key);
	int status;

	while (rows->key && strcmp(rows->key, member->key) != 0)
		rows++;
	if (!rows->key)
		return -1;
	status = rows->read(d, member, (char *)into + rows->at);
	if (status == 0)
		decode_leave(d, mark);
	return status;
}

static bool has_row(const struct decode_row *rows, const char *key)
{
	for (; rows->key; rows++) {
		if (strcmp(rows->key, key) == 0)
			return true;
	}
	return false;
}

int decode_object(struct decoder *d, const struct json_value *value, const struct decode_row *rows,
		  void *into)
{
	if (value->type != JSON_OBJECT)
		return refuse_type(d, value, "an object");
	for (const struct json_value *member = value->child; member; member = member->next) {
		if (!has_row(rows, member->key)) {
			decode_enter(d, member->key);
			return refuse_key(d, member, rows);
		}
	}
	for (const struct decode_row *row = rows; row->key; row++) {
		if (row->required && !json_member(value, row->key)) {
			decode_enter(d, row->key);
			return decode_refuse(d, value, "it is missing");
		}
	}
	for (const struct json_value *member = value->child; member; member = member->next) {
		if (read_member(d, member, rows, into) != 0)
			return -1;
	}
	return 0;
}

size_t decode_count(const struct json_value *value)
{
	size_t count = 0;

	if (value->type != JSON_ARRAY)
		return 0;
	for (const struct json_value *item = value->child; item; item = item->next)
		count++;
	return count;
}

int decode_array(struct decoder *d, const struct json_value *value, size_t most,
		 int (*read)(struct decoder *d, const struct json_value *value, void *into), void *into)
{
	size_t index = 0;

	if (value->type != JSON_ARRAY)
		return refuse_type(d, value, "an array");
	if (decode_count(value) > most)
		return decode_refuse(d, value, "%zu elements; at most %zu are taken", decode_count(value),
				     most);
	for (const struct json_value *item = value->child; item; item = item->next) {
		const size_t mark = enter_element(d, index++);

		if (read(d, item, into) != 0)
			return -1;
		decode_leave(d, mark);
	}
	return 0;
}

/* ---- single values ---- */

int decode_text(struct decoder *d, const struct json_value *value, const char **ret)
{
	if (value->type != JSON_STRING)
		return refuse_type(d, value, "a string");
	*ret = value->string;
	return 0;
}

static int read_item(struct decoder *d, const struct json_value *value, void *into)
{
	char ***next = into;
	const char *text = NULL;

	if (decode_text(d, value, &text) != 0)
		return -1;
	*(*next)++ = (char *)(uintptr_t)text;
	return 0;
}

int decode_texts(struct decoder *d, const struct json_value *value, size_t most, char ***ret_list)
{
	char **next = calloc(decode_count(value) + 1, sizeof(char *));

	*ret_list = next;
	return next ? decode_array(d, value, most, read_item, &next) : error_no_memory(d->err, NULL);
}

int decode_number(struct decoder *d, const struct json_value *value, double *ret)
{
	if (value->type != JSON_NUMBER)
		return refuse_type(d, value, "a number");
	*ret = value->number;
	return 0;
}

int decode_row_text(struct decoder *d, const struct json_value *value, void *into)
{
	return decode_text(d, value, into);
}

int decode_row_bool(struct decoder *d, const struct json_value *value, void *into)
{
	if (value->type != JSON_BOOL)
		return refuse_type(d, value, "true or false");
	*(bool *)into = value->boolean;
	return 0;
}

int decode_word(struct decoder *d, const struct json_value *value, const char *const *words, size_t *ret)
{
	const char *text = NULL;
	char known[160];

	if (decode_text(d, value, &text) != 0 || !text)
		return -1;
	for (size_t i = 0; words[i]; i++) {
		if (strcmp(words[i], text) == 0) {
			*ret = i;
			return 0;
		}
	}
	return decode_refuse(d, value, "unknown word; %s", policy_suggest(words, text, known, sizeof(known)));
}
