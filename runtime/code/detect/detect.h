/*
 * detect: which language is this?
 *
 * What somebody said goes before what the text looks like: an explicit hint, the file's name, the line "#!", the word behind a
 * fence of Markdown, and only then a guess. A guess is a score: features of each language, found in tokens (what stands in
 * comments and strings does not count), are added up; the language with the most has to be ahead of the next by a margin.
 * Otherwise, and for prose and data, the answer is that it is not known. There is no default.
 * Any bytes will do; a guess reads the first DETECT_MAX_BYTES. Linear, no global state, any thread. Private to runtime/code.
 */
#ifndef WARDER_RUNTIME_CODE_DETECT_DETECT_H
#define WARDER_RUNTIME_CODE_DETECT_DETECT_H

#include <stddef.h>

#include "base/error.h"

#define DETECT_MAX_BYTES ((size_t)32 << 10)
/* A guess needs a score of at least that, and that much more than the next. */
#define DETECT_MIN_SCORE  4
#define DETECT_MIN_MARGIN 2

enum detect_by {
	DETECT_BY_NOTHING, /* there was nothing to go by: no name, no mark, no text */
	DETECT_BY_HINT,
	DETECT_BY_FILE_NAME,
	DETECT_BY_SHEBANG,
	DETECT_BY_FENCE,
	DETECT_BY_CONTENT,
};

struct detect_request {
	const char *hint;      /* what the caller was told, or NULL; given back as it is */
	const char *file_name; /* name or path, or NULL */
	const char *fence;     /* the first word behind ```, or NULL */
	const char *text;      /* NULL with len 0 */
	size_t len;
};

struct detection {
	const char
	    *language; /* a name of policy's languages (or the hint); NULL: unknown. Static (or the hint) */
	enum detect_by by; /* what decided; of an unknown language, what was looked at last */
	int score;         /* of a guess; else 0 */
};

/* Returns 0 also if the language is unknown; -1 with *err (INTERNAL) on want of memory. */
int detect_language(const struct detect_request *request, struct detection *ret, struct warder_error *err);

/* "none", "hint", "fileName", "shebang", "fence", "content". */
const char *detect_by_name(enum detect_by by);

#endif
