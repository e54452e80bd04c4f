/*
 * blocks: code blocks out of the text of a model.
 *
 * Life: blocks_find() -> read the items, block_code() -> blocks_done(). Everything found points into the text and the
 * options, which stay the caller's and must outlive it.
 *
 * A block is a fenced code block as CommonMark has it, or what lies between a configured pair of delimiters. Blocks come
 * in the order of the text; none overlaps another, and nothing is looked for inside of one: what begins first wins, at the
 * same place a fence before a pair, then the longer start. A fence or a start that has no end is told, and is a block only
 * where that is asked for.
 * Limits: AGENT_MAX_TEXT_BYTES, AGENT_MAX_BLOCKS, the BLOCKS_MAX_ below. Time is linear in the text for any bytes.
 * Pure; any thread.
 */
#ifndef WARDER_RUNTIME_AGENT_BLOCKS_H
#define WARDER_RUNTIME_AGENT_BLOCKS_H

#include "runtime/agent/delimiters.h"
#include "runtime/agent/span.h"

#define BLOCKS_MAX_DELIMITERS 16
#define BLOCKS_MAX_FILTERS    64 /* languages, and ignored first lines */

struct blocks_options {
	bool without_fences; /* only the delimiters count */
	bool unclosed;       /* what is open at the end of the text is a block as well, with closed false */
	const struct delimiters *delimiters;
	size_t delimiter_count;
	const char *const *languages; /* only these, by any of their names; 0: all */
	size_t language_count;
	const char *const *ignored; /* no block whose first line is one of these */
	size_t ignored_count;
	/* The one name of a language out of `len` bytes that may be any of its names, or NULL: unknown. The name lives as long
	 * as what was found. NULL: names are taken as they are written. */
	const char *(*canonical)(const void *table, const char *name, size_t len);
	const void *table; /* for canonical() */
};

struct block {
	struct span
	    language; /* as written: the info string's first word, or of the delimiters; may be empty */
	const char *canonical; /* or NULL */
	struct span code;      /* as it stands in the text, without the line ending before the end */
	unsigned indent;       /* spaces that its lines lose, as far as they have them: 0 to 3 */
	size_t start, end;     /* of the whole block in the text; `end` is behind it */
	bool closed;
};

struct blocks {
	struct block *items;
	size_t count;
	bool has_unclosed; /* something began that did not end */
	size_t unclosed_start;
};

/* Find the blocks of a text. `options` NULL: fences of any language.
 * Returns 0; -1 with *err (INVALID_REQUEST: a limit or an empty delimiter; INTERNAL: no memory). */
int blocks_find(const char *text, size_t len, const struct blocks_options *options, struct blocks *ret,
		struct warder_error *err);
void blocks_done(struct blocks *blocks);

/* Write a block's code, of at most code.len bytes, without its indentation and otherwise byte by byte. Returns the
 * number of bytes; no NUL is added. */
size_t block_code(const struct block *block, char *to);

#endif
