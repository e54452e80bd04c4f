/*
 * diagnostics: what compilers say, in one form.
 *
 *   struct diagnostics list = { 0 };
 *   diagnostics_parse(DIAGNOSTICS_GCC, stderr, len, &list, &err)      fills the list; call again to add another stage's
 *   diagnostics_add_source(&list, "main.c", source, len)              the source lines that the compiler left out
 *   diagnostics_write(&list, &writer)                                 a JSON array
 *   diagnostics_done(&list)
 *
 * The text is untrusted: what is in it is decided by the code that was compiled. At most DIAGNOSTICS_MAX are kept, and
 * DIAGNOSTICS_MAX_BYTES of text; the list says what was left out. Lines that are no diagnostics are skipped, and one that
 * cannot be read loses only itself. Invalid UTF-8 becomes U+FFFD. Linear in the text. Pure, no global state, any thread.
 * Private to runtime/code.
 */
#ifndef WARDER_RUNTIME_CODE_DIAGNOSTICS_DIAGNOSTICS_H
#define WARDER_RUNTIME_CODE_DIAGNOSTICS_DIAGNOSTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

#define DIAGNOSTICS_MAX       1000
#define DIAGNOSTICS_MAX_BYTES ((size_t)1 << 20)
#define DIAGNOSTICS_MAX_SPANS 16

enum diagnostics_format {
	DIAGNOSTICS_RUSTC, /* --error-format=json: an object a line */
	DIAGNOSTICS_GCC, /* -fdiagnostics-format=json: arrays, and plain lines of the driver and the linker around them */
	DIAGNOSTICS_PLAIN, /* lines "file:line:column: level: message" and their like: go, javac, tsc, clang, ld */
};

enum diagnostic_level {
	DIAGNOSTIC_ERROR,
	DIAGNOSTIC_WARNING,
	DIAGNOSTIC_NOTE,
	DIAGNOSTIC_HELP,
};

/* A place. Lines and columns count from 1 as the compiler does (rustc: characters; gcc: bytes); 0: not told. The end is the
 * position behind the last character. */
struct diagnostic_span {
	char *file;
	uint32_t line_start, line_end;
	uint32_t column_start, column_end;
	char *text;  /* source lines, or NULL */
	char *label; /* or NULL */
};

struct diagnostic {
	enum diagnostic_level level;
	bool attached; /* belongs to the last one before it that is not attached */
	char *message;
	char *code;     /* "E0308", "-Wunused-variable", "TS2304"; or NULL */
	char *rendered; /* as a person reads it; the compiler's own text where it gives one */
	struct diagnostic_span *spans;
	size_t span_count;
};

struct diagnostics {
	struct diagnostic *items;
	size_t count, cap;
	size_t errors, warnings; /* of all that were seen, attached ones not counted */
	size_t dropped;          /* over DIAGNOSTICS_MAX, or with no room left in DIAGNOSTICS_MAX_BYTES */
	size_t unreadable;       /* looked like a diagnostic, and could not be read */
	bool cut;                /* a text or a list of spans was cut to fit */
	bool failed;             /* memory was wanting */
	size_t bytes;
};

/* Adds what is found in `len` bytes to the list, in the order of the text. Returns 0; -1 with *err (INTERNAL) on want of
 * memory: the list keeps what it has. */
int diagnostics_parse(enum diagnostics_format format, const char *text, size_t len, struct diagnostics *list,
		      struct warder_error *err);

/* Gives spans of `file` (as the compiler names it) that have no text their source lines. Errors as above. */
int diagnostics_add_source(struct diagnostics *list, const char *file, const char *source, size_t len,
			   struct warder_error *err);

/* [{level, message, code, spans: [{file, lineStart, lineEnd, columnStart, columnEnd, text, label}], rendered}]; what is not
 * known is null, "attached": true stands only where it is so. */
void diagnostics_write(const struct diagnostics *list, struct json_writer *w);

/* Frees all; accepts a zeroed list. */
void diagnostics_done(struct diagnostics *list);

#endif
