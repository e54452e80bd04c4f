/*
 * datafile: tables that come inside of a conversation, as files for the code that is to work on them.
 *
 * Life: datafile_extract() -> write the files to the paths that the code uses, run the snippet of each new file, give the model
 * datafile_text() in place of the message -> datafile_list_done(). The parts of type text/csv become files; their content
 * stays the caller's and must outlive the list.
 * A table is a stranger's: what of it stands in a snippet is in a comment, on one line.
 * Limits: DATAFILE_MAX files of AGENT_MAX_TEXT_BYTES together. Pure; any thread.
 */
#ifndef WARDER_RUNTIME_TOOL_DATAFILE_H
#define WARDER_RUNTIME_TOOL_DATAFILE_H

#include <stdbool.h>

#include "runtime/text/delimiters.h"
#include "runtime/text/span.h"
#include "runtime/tool/context.h"

#define DATAFILE_MAX      CONTEXT_MAX_FILES
#define DATAFILE_MAX_NAME 64

/* A part of a message; its type is "text/plain", "text/csv; charset=utf-8", ... */
struct datafile_part {
	const char *type;
	struct span content;
};

struct datafile_message {
	const struct datafile_part *parts;
	size_t count;
};

struct datafile_options {
	bool pandas; /* load with pandas instead of Python's own csv */
	const char
	    *directory; /* where the code will find the files, with a slash at the end; NULL: where it runs */
	const struct context *context; /* what is known already, or NULL */
};

struct datafile {
	size_t message, part; /* where it stands, from 0 */
	char name[DATAFILE_MAX_NAME];
	struct span content; /* the caller's */
	char *snippet;       /* Python that loads it into a variable and prints what it is like */
	bool is_stored;      /* the context has it, as it is */
	bool is_processed;   /* the context knows that its snippet was run */
};

struct datafile_list {
	struct datafile *files; /* in the order of the conversation */
	size_t count;
};

/* Name the tables of a conversation: data_<message>_<part>.csv, both from 1. `options` may be NULL.
 * -1 with *err (INVALID_REQUEST, INTERNAL). */
int datafile_extract(const struct datafile_message *messages, size_t count,
		     const struct datafile_options *options, struct datafile_list *ret,
		     struct warder_error *err);
void datafile_list_done(struct datafile_list *list);

/* The text parts of message i, one after the other, with a sentence that names the file in place of each table; heap,
 * NUL-terminated. Parts that are no text are left out. NULL: no memory. */
char *datafile_text(const struct datafile_message *messages, const struct datafile_list *list, size_t i,
		    size_t *ret_len);

/* A name of a file as one of a variable in Python: without its extension, anything but ASCII letters and digits as "_", "_" before
 * a digit, "_" behind a word of the language. Returns buf; what does not fit is cut. `size` at least 8. */
char *datafile_variable(const char *name, char *buf, size_t size);

#endif
