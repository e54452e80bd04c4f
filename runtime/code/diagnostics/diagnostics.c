/*
 * diagnostics: the parser of a format, the lines of a source, the list as JSON.
 */
#include "runtime/code/diagnostics/list.h"

#include <stdlib.h>
#include <string.h>

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
		json_key_string(w, "level", diagnostics_level_name(item->level));
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
