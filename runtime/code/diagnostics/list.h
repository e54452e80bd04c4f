/*
 * list: how the parsers of compilers' texts fill a list. Private to the files diagnostics*.c.
 * Want of memory is remembered in the list's `failed` by what is here, so that parsers need not ask after every text.
 */
#ifndef WARDER_RUNTIME_CODE_DIAGNOSTICS_LIST_H
#define WARDER_RUNTIME_CODE_DIAGNOSTICS_LIST_H

#include <stdbool.h>
#include <string.h>

#include "runtime/code/diagnostics/diagnostics.h"

/* Bytes kept of one text. */
#define DIAGNOSTICS_MAX_MESSAGE  ((size_t)8 << 10)
#define DIAGNOSTICS_MAX_RENDERED ((size_t)16 << 10)
#define DIAGNOSTICS_MAX_TEXT     ((size_t)4 << 10)
#define DIAGNOSTICS_MAX_NAME     ((size_t)1 << 10)

/* Bytes of the UTF-8 character at text, 0 if there is none in `left` bytes; NUL is none. */
size_t diagnostics_character(const char *text, size_t left);
/* The level that a compiler's word means; false if it is no such word. */
bool diagnostics_level(const char *word, size_t len, enum diagnostic_level *ret);
const char *diagnostics_level_name(enum diagnostic_level level);

/* A new entry at the end, with its message; NULL if there is no room. Valid until the next one. `counts`: it is an error or a
 * warning of its own, and no summary. */
struct diagnostic *diagnostics_new(struct diagnostics *list, enum diagnostic_level level, bool attached,
				   bool counts, const char *message, size_t len);
/* A new span at the end of an entry's; NULL if there is no room. Valid until the next one. */
struct diagnostic_span *diagnostics_new_span(struct diagnostics *list, struct diagnostic *item,
					     const char *file, size_t len);
/* A copy that counts against the list's bytes, at most `max` of it, valid UTF-8; NULL if there is no room at all. */
char *diagnostics_keep(struct diagnostics *list, const char *text, size_t len, size_t max);
/* Sets what the compiler did not: "file:line:column: level: message [code]". */
void diagnostics_render(struct diagnostics *list, struct diagnostic *item);

/* The parsers: all of the text. */
void diagnostics_parse_rustc(const char *text, size_t len, struct diagnostics *list);
void diagnostics_parse_gcc(const char *text, size_t len, struct diagnostics *list);
void diagnostics_parse_plain(const char *text, size_t len, struct diagnostics *list);

/* A part of a text. */
struct piece {
	const char *at;
	size_t len;
};

static inline struct piece piece_skip(struct piece piece, size_t count)
{
	return (struct piece){ piece.at + count, piece.len - count };
}

static inline bool piece_starts(struct piece piece, const char *text)
{
	return piece.len >= strlen(text) && memcmp(piece.at, text, strlen(text)) == 0;
}

#endif
