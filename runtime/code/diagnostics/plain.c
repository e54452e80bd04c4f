/*
 * diagnostics_plain: lines for people.
 *
 *   main.go:3:5: undefined: x                          Main.java:3: error: ';' expected
 *   main.ts(3,5): error TS2304: Cannot find name 'x'.  main.c:(.text+0x5): undefined reference to `f'
 *   collect2: error: ld returned 1 exit status         /usr/bin/ld: cannot find -lm: No such file or directory
 *
 * A line that is none of these belongs to the entry before it if it is indented: javac and clang print the source line and a
 * caret below, go prints what it has and what it wants. It goes into `rendered`; the caret gives the column and the source line.
 * A file's name has no blanks: the pipelines choose the names.
 */
#include "runtime/code/diagnostics/list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FOLLOWING 24 /* lines that one entry takes */

/* What a line says. */
struct sentence {
	struct piece file, code, message;
	uint32_t line, column;
	enum diagnostic_level level;
};

struct plain {
	struct diagnostics *list;
	size_t current;          /* index of the entry that lines may belong to, SIZE_MAX: none */
	const char *begin, *end; /* its lines */
	struct piece last;       /* the line before this one */
	int following;
};

static struct piece trim(struct piece piece)
{
	while (piece.len > 0 && isspace((unsigned char)piece.at[0]))
		piece = piece_skip(piece, 1);
	while (piece.len > 0 && isspace((unsigned char)piece.at[piece.len - 1]))
		piece.len--;
	return piece;
}

/* A number of up to nine digits at the start; returns how many there are, 0 if it is none. */
static size_t read_number(struct piece piece, uint32_t *ret)
{
	uint32_t value = 0;
	size_t digits = 0;

	while (digits < piece.len && isdigit((unsigned char)piece.at[digits]) && digits < 10)
		value = value * 10 + (uint32_t)(piece.at[digits++] - '0');
	if (digits == 0 || digits > 9)
		return 0;
	*ret = value;
	return digits;
}

/* Length of a file's name at the start of the line, up to `stop`; 0 if it is none. */
static size_t file_length(struct piece line, char stop)
{
	bool letter = false;

	for (size_t i = 0; i < line.len; i++) {
		if (line.at[i] == stop && i + 1 < line.len &&
		    (isdigit((unsigned char)line.at[i + 1]) || line.at[i + 1] == '('))
			return letter ? i : 0;
		if (isspace((unsigned char)line.at[i]))
			return 0;
		letter |= isalpha((unsigned char)line.at[i]) || (unsigned char)line.at[i] >= 0x80;
	}
	return 0;
}

/* "error: ", "fatal error: ", ...: moves behind it. */
static bool take_level(struct piece *line, enum diagnostic_level *ret)
{
	const char *colon = line->len > 0 ? memchr(line->at, ':', line->len) : NULL;

	if (!colon || !diagnostics_level(line->at, (size_t)(colon - line->at), ret))
		return false;
	*line = trim(piece_skip(*line, (size_t)(colon - line->at) + 1));
	return true;
}

/* The code in a message: javac's "[deprecation] ..." and gcc's "... [-Wname]". */
static struct piece find_code(struct piece message)
{
	const char *close =
	    message.len > 2 && message.at[0] == '[' ? memchr(message.at, ']', message.len) : NULL;
	const char *open = message.len > 2 ? memrchr(message.at, '[', message.len) : NULL;

	if (close && !memchr(message.at, ' ', (size_t)(close - message.at)))
		return (struct piece){ message.at + 1, (size_t)(close - message.at) - 1 };
	if (open && message.at[message.len - 1] == ']' &&
	    piece_starts(piece_skip(message, (size_t)(open - message.at)), "[-W"))
		return (struct piece){ open + 1, (size_t)(message.at + message.len - open) - 2 };
	return (struct piece){ 0 };
}

/* FILE(LINE,COLUMN): error CODE: MESSAGE */
static bool read_tsc(struct piece line, struct sentence *ret)
{
	size_t length = file_length(line, '('), digits;
	struct piece rest;
	const char *blank, *colon;

	if (length == 0)
		return false;
	ret->file = (struct piece){ line.at, length };
	rest = piece_skip(line, length + 1);
	digits = read_number(rest, &ret->line);
	rest = piece_skip(rest, digits);
	if (digits == 0 || !piece_starts(rest, ","))
		return false;
	rest = piece_skip(rest, 1);
	digits = read_number(rest, &ret->column);
	rest = piece_skip(rest, digits);
	if (digits == 0 || !piece_starts(rest, "): "))
		return false;
	rest = piece_skip(rest, 3);
	blank = memchr(rest.at, ' ', rest.len);
	colon = memchr(rest.at, ':', rest.len);
	if (!blank || !colon || colon < blank ||
	    !diagnostics_level(rest.at, (size_t)(blank - rest.at), &ret->level))
		return false;
	ret->code = (struct piece){ blank + 1, (size_t)(colon - blank) - 1 };
	ret->message = trim(piece_skip(rest, (size_t)(colon - rest.at) + 1));
	return true;
}

/* FILE:LINE[:COLUMN]: [level:] MESSAGE */
static bool read_colons(struct piece line, struct sentence *ret)
{
	size_t length = file_length(line, ':'), digits;
	struct piece rest;

	if (length == 0)
		return false;
	ret->file = (struct piece){ line.at, length };
	rest = piece_skip(line, length + 1);
	if (rest.at[0] == '(') { /* the linker's (.text+0x5) */
		const char *close = memchr(rest.at, ')', rest.len);

		if (!close)
			return false;
		rest = piece_skip(rest, (size_t)(close - rest.at) + 1);
	} else {
		digits = read_number(rest, &ret->line);
		rest = piece_skip(rest, digits);
		if (digits == 0 || !piece_starts(rest, ":"))
			return false;
		digits = read_number(piece_skip(rest, 1), &ret->column);
		if (digits > 0)
			rest = piece_skip(rest, 1 + digits);
	}
	if (!piece_starts(rest, ":"))
		return false;
	rest = trim(piece_skip(rest, 1));
	ret->level = DIAGNOSTIC_ERROR; /* go and the linker have no word for it */
	take_level(&rest, &ret->level);
	ret->message = rest;
	ret->code = find_code(rest);
	return rest.len > 0;
}

/* [TOOL: ]level: MESSAGE; what the linker says without a level is an error, unless it only leads to the next line. */
static bool read_bare(struct piece line, bool linker, struct sentence *ret)
{
	const char *colon = memchr(line.at, ':', line.len);
	struct piece rest = line;

	if (take_level(&rest, &ret->level)) {
		ret->message = rest;
	} else if (linker && line.at[line.len - 1] != ':') {
		ret->level = DIAGNOSTIC_ERROR;
		ret->message = line;
	} else if (colon && !memchr(line.at, ' ', (size_t)(colon - line.at))) {
		rest = trim(piece_skip(line, (size_t)(colon - line.at) + 1));
		if (!take_level(&rest, &ret->level))
			return false;
		ret->message = rest;
	}
	ret->code = find_code(ret->message);
	return ret->message.len > 0;
}

/* ".../ld: " in front. */
static bool take_linker(struct piece *line)
{
	const char *colon = memchr(line->at, ':', line->len);
	size_t length = colon ? (size_t)(colon - line->at) : 0;

	if (length < 2 || memcmp(colon - 2, "ld", 2) != 0 || memchr(line->at, ' ', length) ||
	    (length > 2 && colon[-3] != '/' && colon[-3] != '-'))
		return false;
	*line = trim(piece_skip(*line, length + 1));
	return line->len > 0;
}

static bool read_sentence(struct piece line, struct sentence *ret)
{
	bool linker;

	if (line.len == 0 || isspace((unsigned char)line.at[0]))
		return false;
	linker = take_linker(&line);
	*ret = (struct sentence){ 0 };
	if (read_tsc(line, ret))
		return true;
	*ret = (struct sentence){ 0 };
	if (read_colons(line, ret))
		return true;
	*ret = (struct sentence){ 0 };
	return read_bare(line, linker, ret);
}

/* ---- entries ---- */

static struct diagnostic *current(const struct plain *p)
{
	return p->current < p->list->count ? &p->list->items[p->current] : NULL;
}

/* The entry has all its lines. */
static void finish(struct plain *p)
{
	struct diagnostic *item = current(p);

	if (item)
		item->rendered = diagnostics_keep(p->list, p->begin, (size_t)(p->end - p->begin),
						  DIAGNOSTICS_MAX_RENDERED);
	p->current = SIZE_MAX;
}

static void add_sentence(struct plain *p, struct piece line, const struct sentence *s)
{
	bool attached = s->level == DIAGNOSTIC_NOTE || s->level == DIAGNOSTIC_HELP;
	struct diagnostic *item;
	struct diagnostic_span *span;

	finish(p);
	item = diagnostics_new(p->list, s->level, attached, !attached, s->message.at, s->message.len);
	if (!item)
		return;
	p->current = p->list->count - 1;
	p->begin = line.at;
	p->end = line.at + line.len;
	p->following = 0;
	if (s->code.len > 0)
		item->code = diagnostics_keep(p->list, s->code.at, s->code.len, DIAGNOSTICS_MAX_NAME);
	span = s->file.len > 0 ? diagnostics_new_span(p->list, item, s->file.at, s->file.len) : NULL;
	if (!span)
		return;
	span->line_start = span->line_end = s->line;
	span->column_start = s->column;
	span->column_end = s->column ? s->column + 1 : 0;
}

static bool is_caret(struct piece line)
{
	bool found = false;

	line = trim(line);
	for (size_t i = 0; i < line.len; i++) {
		if (!strchr("^~ ", line.at[i]) || !line.at[i])
			return false;
		found |= line.at[i] == '^';
	}
	return found;
}

/* The line before the caret is the source. */
static void take_caret(struct plain *p, struct diagnostic *item, struct piece line)
{
	const char *caret = memchr(line.at, '^', line.len);
	struct diagnostic_span *span = item->span_count > 0 ? &item->spans[0] : NULL;

	if (!caret || !span || span->text || p->following == 0)
		return;
	span->text = diagnostics_keep(p->list, p->last.at, p->last.len, DIAGNOSTICS_MAX_TEXT);
	if (span->column_start == 0) {
		span->column_start = (uint32_t)(caret - line.at) + 1;
		span->column_end = span->column_start + 1;
	}
}

/* javac tells the name that it cannot find on a line of its own. */
static void extend_message(struct plain *p, struct diagnostic *item, struct piece line)
{
	size_t length = strlen(item->message);
	char *longer, *message;

	line = trim(line);
	if (!piece_starts(line, "symbol:") && !piece_starts(line, "location:"))
		return;
	longer = malloc(length + 2 + line.len);
	if (!longer) {
		p->list->failed = true;
		return;
	}
	memcpy(longer, item->message, length);
	memcpy(longer + length, "; ", 2);
	memcpy(longer + length + 2, line.at, line.len);
	message = diagnostics_keep(p->list, longer, length + 2 + line.len, DIAGNOSTICS_MAX_MESSAGE);
	free(longer);
	if (!message)
		return;
	p->list->bytes -= length;
	free(item->message);
	item->message = message;
}

static void add_following(struct plain *p, struct piece line)
{
	struct diagnostic *item = current(p);

	if (!item)
		return;
	if (p->following >= MAX_FOLLOWING ||
	    (line.len > 0 && !isspace((unsigned char)line.at[0]) && p->following > 0 && !is_caret(line))) {
		finish(p);
		return;
	}
	if (is_caret(line))
		take_caret(p, item, line);
	else
		extend_message(p, item, line);
	p->following++;
	p->end = line.at + line.len;
}

void diagnostics_parse_plain(const char *text, size_t len, struct diagnostics *list)
{
	struct plain p = { .list = list, .current = SIZE_MAX };
	struct sentence sentence;

	for (size_t at = 0, end; at < len; at = end + 1) {
		const char *newline = memchr(text + at, '\n', len - at);
		struct piece line = { text + at, 0 };

		end = newline ? (size_t)(newline - text) : len;
		line.len = end - at;
		if (line.len > 0 && line.at[line.len - 1] == '\r')
			line.len--;
		if (read_sentence(line, &sentence))
			add_sentence(&p, line, &sentence);
		else
			add_following(&p, line);
		p.last = line;
	}
	finish(&p);
}
