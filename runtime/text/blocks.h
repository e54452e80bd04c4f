/*
 * blocks: code blocks out of the text of a model.
 *
 * Life: blocks_find() -> read the items, block_code_copy() -> blocks_done(). Everything found points into the text and the
 * options, which stay the caller's and must outlive it.
 *
 * A block is a fenced code block as CommonMark has it, also in block quotes and list items (fences.h has the exceptions), or what
 * lies between a configured pair of delimiters. Blocks come
 * in the order of the text; none overlaps another, and nothing is looked for inside of one: what begins first wins, at the
 * same place a fence before a pair, then the longer start. A fence or a start that has no end is told, and is a block only
 * where that is asked for.
 * Limits: AGENT_MAX_TEXT_BYTES, AGENT_MAX_BLOCKS, the BLOCKS_MAX_ below. Time is linear in the text for any bytes.
 * Pure; any thread.
 */
#ifndef WARDER_RUNTIME_TEXT_BLOCKS_H
#define WARDER_RUNTIME_TEXT_BLOCKS_H

#include "runtime/text/delimiters.h"
#include "runtime/text/fences.h"
#include "runtime/text/span.h"

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
	/* As it stands in the text, with the prefixes of its lines, without the line ending before the end. block_code_copy() gives
	 * the content. */
	struct span code;
	unsigned indent; /* columns of white space that its lines lose, as far as they have them: 0 to 3 */
	struct fence_container
	    *containers;   /* block quotes and list items around it, outermost first; owned */
	size_t depth;      /* how many */
	size_t start, end; /* of the fences and all between them in the text; `end` is behind it */
	bool closed;       /* by its end, or by the end of its list item or block quote */
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

/* A block's code without indentation and the prefixes of block quotes and list items, and otherwise byte by byte. Where a tab is in
 * part such a prefix, spaces stand for the rest, so the code may be longer than code.len. Heap, with a NUL behind it. NULL: no
 * memory. */
char *block_code_copy(const struct block *block, size_t *ret_len);

#endif
