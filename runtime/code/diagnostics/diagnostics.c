/*
 * diagnostics: the list, its limits, its JSON.
 *
 * The limits are of what is kept; a parser goes on counting errors and warnings behind them, because whether there was an error
 * matters more than the thousandth text.
 */
#include "base/array.h"
#include "runtime/code/diagnostics/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *const level_names[] = {
	[DIAGNOSTIC_ERROR] = "error",
	[DIAGNOSTIC_WARNING] = "warning",
	[DIAGNOSTIC_NOTE] = "note",
	[DIAGNOSTIC_HELP] = "help",
};

static const struct {
	const char *word;
	enum diagnostic_level level;
} words[] = {
	{ "error", DIAGNOSTIC_ERROR },
	{ "fatal error", DIAGNOSTIC_ERROR },
	{ "internal compiler error", DIAGNOSTIC_ERROR },
	{ "error: internal compiler error", DIAGNOSTIC_ERROR },
	{ "sorry, unimplemented", DIAGNOSTIC_ERROR },
	{ "warning", DIAGNOSTIC_WARNING },
	{ "note", DIAGNOSTIC_NOTE },
	{ "Note", DIAGNOSTIC_NOTE },
	{ "remark", DIAGNOSTIC_NOTE },
	{ "failure-note", DIAGNOSTIC_NOTE },
	{ "help", DIAGNOSTIC_HELP },
};

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

bool diagnostics_level(const char *word, size_t len, enum diagnostic_level *ret)
{
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		if (strlen(words[i].word) == len && memcmp(words[i].word, word, len) == 0) {
			*ret = words[i].level;
			return true;
		}
	}
	return false;
}

/* ---- texts ---- */

size_t diagnostics_character(const char *text, size_t left)
{
	size_t whole;

	for (size_t size = 1; size <= 4 && size <= left; size++) {
		if (text_length(text, size, false, &whole))
			return size;
	}
	return 0;
}

/* Copies whole characters until `room` bytes are used; returns how many were. *ret_all: none was left. */
static size_t copy_text(char *to, size_t room, const char *text, size_t len, bool *ret_all)
{
	size_t used = 0, at = 0;

	while (at < len) {
		size_t length = diagnostics_character(text + at, len - at);
		const char *piece = length > 0 ? text + at : replacement;
		size_t size = length > 0 ? length : strlen(replacement);

		if (room - used < size)
			break;
		memcpy(to + used, piece, size);
		used += size;
		at += length > 0 ? length : 1;
	}
	*ret_all = at == len;
	return used;
}

char *diagnostics_keep(struct diagnostics *list, const char *text, size_t len, size_t max)
{
	size_t room = list->bytes < DIAGNOSTICS_MAX_BYTES ? DIAGNOSTICS_MAX_BYTES - list->bytes : 0;
	size_t used;
	char *copy;
	bool all;

	if (room > max)
		room = max;
	if (room > len * strlen(replacement))
		room = len * strlen(replacement);
	if (room == 0 && len > 0) {
		list->cut = true;
		return NULL;
	}
	copy = malloc(room + 1);
	if (!copy) {
		list->failed = true;
		return NULL;
	}
	used = copy_text(copy, room, text, len, &all);
	copy[used] = '\0';
	list->bytes += used;
	list->cut |= !all;
	return copy;
}

/* ---- entries ---- */

static bool reserve(struct diagnostics *list)
{
	size_t cap = list->cap ? list->cap * 2 : 16;
	struct diagnostic *items;

	if (list->count < list->cap)
		return true;
	items = reallocarray(list->items, cap, sizeof(*items));
	if (!items) {
		list->failed = true;
		return false;
	}
	list->items = items;
	list->cap = cap;
	return true;
}

struct diagnostic *diagnostics_new(struct diagnostics *list, enum diagnostic_level level, bool attached,
				   bool counts, const char *message, size_t len)
{
	struct diagnostic item = { .level = level, .attached = attached && list->count > 0 };

	list->errors += counts && level == DIAGNOSTIC_ERROR;
	list->warnings += counts && level == DIAGNOSTIC_WARNING;
	if (list->count >= DIAGNOSTICS_MAX || list->bytes >= DIAGNOSTICS_MAX_BYTES) {
		list->dropped++;
		return NULL;
	}
	if (!reserve(list))
		return NULL;
	item.message = diagnostics_keep(list, message, len, DIAGNOSTICS_MAX_MESSAGE);
	if (!item.message)
		return NULL;
	list->items[list->count++] = item;
	return &list->items[list->count - 1];
}

struct diagnostic_span *diagnostics_new_span(struct diagnostics *list, struct diagnostic *item,
					     const char *file, size_t len)
{
	struct diagnostic_span *spans;

	if (item->span_count >= DIAGNOSTICS_MAX_SPANS) {
		list->cut = true;
		return NULL;
	}
	spans = reallocarray(item->spans, item->span_count + 1, sizeof(*spans));
	if (!spans) {
		list->failed = true;
		return NULL;
	}
	item->spans = spans;
	spans[item->span_count] =
	    (struct diagnostic_span){ .file = diagnostics_keep(list, file, len, DIAGNOSTICS_MAX_NAME) };
	return spans[item->span_count].file ? &spans[item->span_count++] : NULL;
}

void diagnostics_render(struct diagnostics *list, struct diagnostic *item)
{
	const struct diagnostic_span *span = item->span_count > 0 ? &item->spans[0] : NULL;
	char place[48] = "";
	char *text = NULL;
	int length;

	if (span && span->line_start > 0 && span->column_start > 0)
		snprintf(place, sizeof(place), ":%u:%u", span->line_start, span->column_start);
	else if (span && span->line_start > 0)
		snprintf(place, sizeof(place), ":%u", span->line_start);
	length = asprintf(&text, "%s%s%s%s: %s%s%s%s", span ? span->file : "", place, span ? ": " : "",
			  level_names[item->level], item->message, item->code ? " [" : "",
			  item->code ? item->code : "", item->code ? "]" : "");
	if (length < 0) {
		list->failed = true;
		return;
	}
	item->rendered = diagnostics_keep(list, text, (size_t)length, DIAGNOSTICS_MAX_RENDERED);
	free(text);
}

int diagnostics_parse(enum diagnostics_format format, const char *text, size_t len, struct diagnostics *list,
		      struct warder_error *err)
{
	static void (*const parsers[])(const char *, size_t, struct diagnostics *) = {
		[DIAGNOSTICS_RUSTC] = diagnostics_parse_rustc,
		[DIAGNOSTICS_GCC] = diagnostics_parse_gcc,
		[DIAGNOSTICS_PLAIN] = diagnostics_parse_plain,
	};

	parsers[format](text, len, list);
	return list->failed ? error_no_memory(err, NULL) : 0;
}

void diagnostics_done(struct diagnostics *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct diagnostic *item = &list->items[i];

		for (size_t j = 0; j < item->span_count; j++) {
			free(item->spans[j].file);
			free(item->spans[j].text);
			free(item->spans[j].label);
		}
		free(item->spans);
		free(item->message);
		free(item->code);
		free(item->rendered);
	}
	free(list->items);
	*list = (struct diagnostics){ 0 };
}

/* ---- source lines ---- */

/* Where the lines of a source begin; one more entry is its end. NULL on want of memory. */
static size_t *line_starts(const char *source, size_t len, size_t *ret_lines)
{
	size_t lines = 1, i = 1;
	size_t *starts;

	for (size_t at = 0; at < len; at++)
		lines += source[at] == '\n';
	starts = calloc(lines + 1, sizeof(*starts));
	if (!starts)
		return NULL;
	for (size_t at = 0; at < len; at++) {
		if (source[at] == '\n')
			starts[i++] = at + 1;
	}
	starts[lines] = len + 1;
	*ret_lines = lines;
	return starts;
}

static void add_text(struct diagnostics *list, struct diagnostic_span *span, const char *source,
		     const size_t *starts, size_t lines)
{
	size_t first = span->line_start, behind = span->line_end < lines ? span->line_end : lines;
	size_t from, to;

	if (first == 0 || first > lines || behind < first)
		return;
	from = starts[first - 1];
	to = starts[behind] - 1;
	if (to > from && source[to - 1] == '\r')
		to--;
	span->text = diagnostics_keep(list, source + from, to - from, DIAGNOSTICS_MAX_TEXT);
}

int diagnostics_add_source(struct diagnostics *list, const char *file, const char *source, size_t len,
			   struct warder_error *err)
{
	size_t lines = 0;
	size_t *starts = line_starts(source, len, &lines);

	if (!starts)
		return error_no_memory(err, NULL);
	for (size_t i = 0; i < list->count; i++) {
		for (size_t j = 0; j < list->items[i].span_count; j++) {
			struct diagnostic_span *span = &list->items[i].spans[j];

			if (!span->text && strcmp(span->file, file) == 0)
				add_text(list, span, source, starts, lines);
		}
	}
	free(starts);
	return list->failed ? error_no_memory(err, NULL) : 0;
}

/* ---- JSON ---- */

static void write_known(struct json_writer *w, const char *key, uint32_t value)
{
	json_key(w, key);
	if (value == 0)
		json_null(w);
	else
		json_uint(w, value);
}

static void write_span(struct json_writer *w, const struct diagnostic_span *span)
{
	json_begin_object(w);
	json_key_string(w, "file", span->file);
	write_known(w, "lineStart", span->line_start);
	write_known(w, "lineEnd", span->line_end);
	write_known(w, "columnStart", span->column_start);
	write_known(w, "columnEnd", span->column_end);
	json_key_string(w, "text", span->text);
	json_key_string(w, "label", span->label);
	json_end_object(w);
}

void diagnostics_write(const struct diagnostics *list, struct json_writer *w)
{
	json_begin_array(w);
	for (size_t i = 0; i < list->count; i++) {
		const struct diagnostic *item = &list->items[i];

		json_begin_object(w);
		json_key_string(w, "level", level_names[item->level]);
		json_key_string(w, "message", item->message);
		json_key_string(w, "code", item->code);
		json_key(w, "spans");
		json_begin_array(w);
		for (size_t j = 0; j < item->span_count; j++)
			write_span(w, &item->spans[j]);
		json_end_array(w);
		json_key_string(w, "rendered", item->rendered);
		if (item->attached)
			json_key_bool(w, "attached", true);
		json_end_object(w);
	}
	json_end_array(w);
}
