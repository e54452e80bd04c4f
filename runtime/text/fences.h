/*
 * fences: fenced code blocks of CommonMark 0.31, also in block quotes and list items. Private to agent/; part of blocks.
 *
 * Life: fences_init() -> fences_find() reads lines up to the next opening fence -> fences_take() reads the lines of that block;
 * or fences_skip() leaves out text that the caller reads itself -> fences_find() again. Nothing is freed: it points into the text.
 *
 * The structure of the text decides what is a fence: block quotes, list items, paragraphs and their lazy continuation, indented
 * code, headings, comments and the elements script, pre, style and textarea of HTML. Two things differ from CommonMark, because
 * models write so: other HTML tags do not hide a fence, and a line of link references counts as a paragraph. Containers deeper than
 * FENCES_MAX_DEPTH are text.
 * Each line is read once. Pure; any thread.
 */
#ifndef WARDER_RUNTIME_TEXT_FENCES_H
#define WARDER_RUNTIME_TEXT_FENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/text/span.h"

#define FENCES_MAX_DEPTH 100
#define FENCES_NOWHERE   SIZE_MAX

/* A block quote, or a list item: its lines begin with that many columns of white space. */
struct fence_container {
	unsigned width; /* columns; 0: a block quote */
	bool empty;     /* an item in which nothing stands yet */
};

enum fence_leaf { FENCE_LEAF_NONE, FENCE_LEAF_PARAGRAPH, FENCE_LEAF_INDENTED, FENCE_LEAF_HTML };

struct fence {
	size_t line, start; /* where its line begins, where its characters do */
	size_t length;      /* of the fence */
	unsigned indent;    /* columns before it in its container, which its lines lose: 0 to 3 */
	char mark;
	struct span word; /* first word of the info string; may be empty */
	size_t content;   /* the next line */
};

/* The lines of a block. */
struct fence_lines {
	size_t from,
	    to;      /* of the code, with the prefixes of its lines; `to` is behind its last line ending */
	size_t end;  /* behind the closing fence, or behind the last line without its ending */
	bool closed; /* by a fence, or by the end of the container; false: by the end of the text alone */
};

struct fences {
	const char *text;
	size_t len, line; /* the next line to read */
	struct fence_container containers[FENCES_MAX_DEPTH];
	size_t depth;
	enum fence_leaf leaf; /* what is open in the deepest container */
	unsigned html;        /* which end it has, with FENCE_LEAF_HTML */
};

/* A byte order mark at the start of the text is no part of its first line. */
void fences_init(struct fences *fences, const char *text, size_t len);

/* Read lines that begin at `last` or before it, until one opens a block. False: none does. After true only fences_take() or
 * fences_skip() may follow. */
bool fences_find(struct fences *fences, size_t last, struct fence *ret);

/* Read the lines of the block that fences_find() has found. Its containers are fences->containers[0..depth] until the next call. */
void fences_take(struct fences *fences, const struct fence *fence, struct fence_lines *ret);

/* Go on at the first line that does not begin before `at`; what was open stays open, except for paragraphs and code. */
void fences_skip(struct fences *fences, size_t at);

/* Write one line of code without the prefixes of its containers and without `indent` columns of white space; where a tab is
 * half a prefix, its rest becomes spaces. `to` NULL: only count. Returns the bytes; *ret_next is behind the line's ending, which is
 * copied as it is. */
size_t fences_copy_line(const struct fence_container *containers, size_t depth, unsigned indent,
			struct span text, size_t line, char *to, size_t *ret_next);

#endif
