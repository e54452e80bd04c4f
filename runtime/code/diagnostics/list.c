/*
 * list: the entries that parsers add, and their limits.
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

const char *diagnostics_level_name(enum diagnostic_level level)
{
	return level_names[level];
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
