/*
 * diagnostics_json: rustc's lines and gcc's arrays.
 *
 * The reader of JSON is strict; the text is made of what an untrusted source holds. An object that is refused is therefore read
 * once more with what a strict reader does not take replaced: bytes that are no UTF-8, bare control characters in strings,
 * which gcc copies out of the source, \u0000, and rustc's `expansion`, the chain of macros behind a span, which nests as deep
 * as macros do and is not needed here.
 *
 * gcc 12 prints an array for each compilation on one line, later versions over many. An array is read object by object, so that
 * one that is cut off at its end loses only its last. An object without an end is searched for once: from then on objects end with
 * their line, so that all stays linear.
 */
#include "base/json.h"
#include "runtime/code/diagnostics/list.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH    128
#define MAX_CHILDREN 4 /* levels of notes below notes */

/* ---- the text of an object ---- */

static size_t skip_blanks(const char *text, size_t len, size_t at)
{
	while (at < len && strchr(" \t\r\n", text[at]) && text[at])
		at++;
	return at;
}

/* Position behind the object that begins at `at`, 0 if it has no end. */
static size_t object_end(const char *text, size_t len, size_t at)
{
	size_t depth = 0;
	bool in_string = false;

	for (; at < len; at++) {
		if (in_string && text[at] == '\\')
			at++;
		else if (text[at] == '"')
			in_string = !in_string;
		else if (!in_string && (text[at] == '{' || text[at] == '['))
			depth++;
		else if (!in_string && (text[at] == '}' || text[at] == ']') && --depth == 0)
			return at + 1;
	}
	return 0;
}

/* Position behind `"expansion": {...}` at `at`, 0 if there is something else; not balanced, if it has no end. */
static size_t expansion_end(const char *text, size_t len, size_t at, bool *ret_balanced)
{
	static const char key[] = "\"expansion\"";

	if (len - at < strlen(key) || memcmp(text + at, key, strlen(key)) != 0)
		return 0;
	at = skip_blanks(text, len, at + strlen(key));
	if (at >= len || text[at] != ':')
		return 0;
	at = skip_blanks(text, len, at + 1);
	if (at >= len || text[at] != '{')
		return 0;
	at = object_end(text, len, at);
	*ret_balanced = at > 0;
	return at;
}

static bool is_nul_escape(const char *text, size_t len, size_t at)
{
	return len - at >= 6 && memcmp(text + at, "\\u0000", 6) == 0;
}

/* The object as a strict reader takes it. Three times the bytes are enough. */
static size_t repair(const char *text, size_t len, char *to)
{
	static const char null_member[] = "\"expansion\":null";
	size_t used = 0;
	bool balanced = true; /* as long as it is, an object's end is looked for once only */
	bool in_string = false;

	for (size_t at = 0; at < len;) {
		size_t length = diagnostics_character(text + at, len - at);
		size_t expansion = balanced ? expansion_end(text, len, at, &balanced) : 0;
		const char *piece = text + at;
		size_t size = length;

		if (expansion > 0) {
			piece = null_member;
			size = strlen(null_member);
			length = expansion - at;
		} else if (is_nul_escape(text, len, at)) {
			piece = "\\ufffd";
			size = length = 6;
		} else if (text[at] == '\\' && at + 1 < len &&
			   diagnostics_character(text + at + 1, len - at - 1) == 1) {
			size = length = 2;
		} else if (length == 0 || (in_string && (unsigned char)text[at] < ' ')) {
			piece = "\xef\xbf\xbd";
			size = 3;
			length = 1;
		}
		in_string ^= text[at] == '"' && length == 1;
		memcpy(to + used, piece, size);
		used += size;
		at += length;
	}
	return used;
}

static struct json_value *parse(const char *text, size_t len, struct diagnostics *list)
{
	struct json_limits limits = { .max_bytes = SIZE_MAX, .max_depth = MAX_DEPTH };
	struct json_value *value = NULL;
	struct warder_error err;
	char *repaired;

	if (json_parse(text, len, "compiler", &limits, &value, &err) == 0)
		return value;
	repaired = len < SIZE_MAX / 4 ? malloc(len * 3 + 16) : NULL;
	if (!repaired) {
		list->failed = true;
		return NULL;
	}
	if (json_parse(repaired, repair(text, len, repaired), "compiler", &limits, &value, &err) != 0)
		value = NULL;
	free(repaired);
	return value;
}

/* ---- members ---- */

static uint32_t number_of(const struct json_value *object, const char *key)
{
	const struct json_value *value = json_member(object, key);

	return value && value->type == JSON_NUMBER && value->is_uint && value->uint < UINT32_MAX
		   ? (uint32_t)value->uint
		   : 0;
}

/* The elements of an array, or none. */
static const struct json_value *elements_of(const struct json_value *object, const char *key)
{
	const struct json_value *value = json_member(object, key);

	return value && value->type == JSON_ARRAY ? value->child : NULL;
}

static char *keep_text(struct diagnostics *list, const char *text, size_t max)
{
	return text ? diagnostics_keep(list, text, strlen(text), max) : NULL;
}

/* ---- rustc ---- */

/* As much of it as there is room for. */
static bool append(char *to, size_t room, size_t *used, const char *text)
{
	const size_t length = strlen(text);
	const size_t kept = length < room - *used ? length : room - *used;

	memcpy(to + *used, text, kept);
	*used += kept;
	return kept == length;
}

/* The lines of a span, as one text. */
static char *join_lines(struct diagnostics *list, const struct json_value *span)
{
	char text[DIAGNOSTICS_MAX_TEXT];
	size_t used = 0;
	const struct json_value *first = elements_of(span, "text");

	for (const struct json_value *line = first; line; line = line->next) {
		const char *source = json_member_text(line, "text", NULL);

		list->cut |= !append(text, sizeof(text), &used, source ? source : "") ||
			     (line->next && !append(text, sizeof(text), &used, "\n"));
	}
	while (used == sizeof(text) && ((unsigned char)text[used - 1] & 0xc0) == 0x80)
		used--; /* not half of a character */
	return first ? diagnostics_keep(list, text, used, DIAGNOSTICS_MAX_TEXT) : NULL;
}

static void add_rustc_spans(struct diagnostics *list, struct diagnostic *item,
			    const struct json_value *object)
{
	for (const struct json_value *from = elements_of(object, "spans"); from; from = from->next) {
		const char *file = json_member_text(from, "file_name", NULL);
		struct diagnostic_span *span =
		    file ? diagnostics_new_span(list, item, file, strlen(file)) : NULL;

		if (!span)
			continue;
		span->line_start = number_of(from, "line_start");
		span->line_end = number_of(from, "line_end");
		span->column_start = number_of(from, "column_start");
		span->column_end = number_of(from, "column_end");
		span->text = join_lines(list, from);
		span->label = keep_text(list, json_member_text(from, "label", NULL), DIAGNOSTICS_MAX_TEXT);
	}
}

/* "aborting due to 2 previous errors", "1 warning emitted": about the others. */
static bool is_summary(const struct json_value *object, const char *message)
{
	return !elements_of(object, "spans") &&
	       (strncmp(message, "aborting due to", 15) == 0 || strstr(message, "warning emitted") ||
		strstr(message, "warnings emitted"));
}

/* Not only rustc's diagnostics are objects on a line: what has no message and level of its own is passed over. */
static void add_rustc(struct diagnostics *list, const struct json_value *object, int depth)
{
	const char *message = json_member_text(object, "message", NULL);
	const char *word = json_member_text(object, "level", NULL);
	const char *rendered = json_member_text(object, "rendered", NULL);
	enum diagnostic_level level = DIAGNOSTIC_NOTE;
	struct diagnostic *item;

	if (!message || !word)
		return;
	diagnostics_level(word, strlen(word), &level);
	item = diagnostics_new(list, level, depth > 0, depth == 0 && !is_summary(object, message), message,
			       strlen(message));
	if (item) {
		item->code = keep_text(list, json_member_text(json_member(object, "code"), "code", NULL),
				       DIAGNOSTICS_MAX_NAME);
		add_rustc_spans(list, item, object);
		if (rendered)
			item->rendered = keep_text(list, rendered, DIAGNOSTICS_MAX_RENDERED);
		else
			diagnostics_render(list, item);
	}
	for (const struct json_value *child = elements_of(object, "children"); child && depth < MAX_CHILDREN;
	     child = child->next)
		add_rustc(list, child, depth + 1);
}

void diagnostics_parse_rustc(const char *text, size_t len, struct diagnostics *list)
{
	for (size_t at = 0, end; at < len; at = end + 1) {
		const char *newline = memchr(text + at, '\n', len - at);
		struct json_value *value;

		end = newline ? (size_t)(newline - text) : len;
		at = skip_blanks(text, end, at);
		if (at >= end || text[at] != '{')
			continue;
		value = parse(text + at, end - at, list);
		list->unreadable += !value;
		if (value)
			add_rustc(list, value, 0);
		json_free(value);
	}
}

/* ---- gcc ---- */

/* Byte columns: the others count a tab as up to eight. */
static uint32_t gcc_column(const struct json_value *position)
{
	uint32_t column = number_of(position, "byte-column");

	return column ? column : number_of(position, "column");
}

static void add_gcc_spans(struct diagnostics *list, struct diagnostic *item, const struct json_value *object)
{
	for (const struct json_value *from = elements_of(object, "locations"); from; from = from->next) {
		const struct json_value *caret = json_member(from, "caret");
		const struct json_value *start = json_member(from, "start");
		const struct json_value *finish = json_member(from, "finish");
		const char *file = json_member_text(caret, "file", NULL);
		struct diagnostic_span *span =
		    file ? diagnostics_new_span(list, item, file, strlen(file)) : NULL;

		if (!span)
			continue;
		start = start ? start : caret;
		finish = finish ? finish : caret;
		span->line_start = number_of(start, "line");
		span->line_end = number_of(finish, "line");
		span->column_start = gcc_column(start);
		span->column_end = gcc_column(finish) ? gcc_column(finish) + 1 : 0;
		span->label = keep_text(list, json_member_text(from, "label", NULL), DIAGNOSTICS_MAX_TEXT);
	}
}

static void add_gcc(struct diagnostics *list, const struct json_value *object, int depth)
{
	const char *message = json_member_text(object, "message", NULL);
	const char *kind = json_member_text(object, "kind", NULL);
	enum diagnostic_level level = DIAGNOSTIC_NOTE;
	struct diagnostic *item;

	if (!message || !kind)
		return;
	diagnostics_level(kind, strlen(kind), &level);
	item = diagnostics_new(list, level, depth > 0, depth == 0, message, strlen(message));
	if (item) {
		item->code = keep_text(list, json_member_text(object, "option", NULL), DIAGNOSTICS_MAX_NAME);
		add_gcc_spans(list, item, object);
		diagnostics_render(list, item);
	}
	for (const struct json_value *child = elements_of(object, "children"); child && depth < MAX_CHILDREN;
	     child = child->next)
		add_gcc(list, child, depth + 1);
}

/* The array at `at` (its bracket). Returns the position behind it; behind what was read of it, if it has no end; `at` itself, if
 * it is no array of objects. `limit` is where objects have to end. */
static size_t read_array(const char *text, size_t limit, size_t at, struct diagnostics *list, bool *ret_ended)
{
	size_t next = skip_blanks(text, limit, at + 1);
	size_t begin = at;

	*ret_ended = true;
	if (next < limit && text[next] == ']')
		return next + 1;
	while (next < limit && text[next] == '{') {
		size_t end = object_end(text, limit, next);
		struct json_value *value;

		if (end == 0) {
			list->unreadable++;
			*ret_ended = false;
			return next;
		}
		value = parse(text + next, end - next, list);
		list->unreadable += !value;
		if (value)
			add_gcc(list, value, 0);
		json_free(value);
		begin = end;
		next = skip_blanks(text, limit, end);
		if (next < limit && text[next] == ']')
			return next + 1;
		if (next < limit && text[next] == ',')
			next = skip_blanks(text, limit, next + 1);
	}
	return begin;
}

static size_t find_line_end(const char *text, size_t len, size_t at)
{
	const char *newline = memchr(text + at, '\n', len - at);

	return newline ? (size_t)(newline - text) : len;
}

void diagnostics_parse_gcc(const char *text, size_t len, struct diagnostics *list)
{
	bool over_lines = true, ended = true;
	size_t plain = 0; /* where the plain text before the next array begins */
	size_t line_end = 0;

	for (size_t at = 0, end; at < len; at = end + 1) {
		size_t begin, behind;

		/* Once a line, however many arrays it has. */
		if (at == 0 || at > line_end)
			line_end = find_line_end(text, len, at);
		end = line_end;
		begin = skip_blanks(text, end, at);
		if (begin >= end || text[begin] != '[')
			continue;
		diagnostics_parse_plain(text + plain, at - plain, list);
		plain = at;
		behind = read_array(text, over_lines ? len : end, begin, list, &ended);
		if (behind == begin)
			continue;
		over_lines = over_lines && ended;
		plain = behind;
		while (ended && plain < len && text[plain] == ' ')
			plain++;
		/* What follows on the line of the bracket is read as the next line; an array without an end is passed over
		 * with its line. */
		end = ended ? plain - 1 : find_line_end(text, len, behind);
		if (!ended)
			plain = end;
	}
	if (plain < len)
		diagnostics_parse_plain(text + plain, len - plain, list);
}
