/*
 * snippet: a piece of code and its files, as a document has them. Private to agent/; part of a request and of a batch.
 *
 *   "language": "python"       left out or empty: found out, where that is certain
 *   "code": "print(6 * 7)"
 *   "encoding": "base64"       of the code, where it is no text; else "utf-8"
 *   "environment": {"NAME": "value"}, "workingDirectory": "/tmp/box"     of the run alone
 *   "files": [{"name": "data/a.csv", "content": "1,2", "encoding": "utf-8"}]
 *
 * A struct that is read from such a document begins with a struct snippet, so that SNIPPET_ROWS can be among its rows, and
 * calls snippet_finish() when all rows are read.
 */
#ifndef WARDER_RUNTIME_TOOL_SNIPPET_H
#define WARDER_RUNTIME_TOOL_SNIPPET_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/tool/decode.h"
#include "runtime/warder.h"

#define SNIPPET_MAX_FILES     1000
#define SNIPPET_MAX_VARIABLES 256

struct snippet {
	const char *language; /* or NULL */
	const char *code;
	size_t code_len;
	char *code_bytes;          /* owned: the code, where it was base64 */
	bool is_base64;            /* until snippet_finish() */
	struct warder_file *files; /* owned, and their bytes */
	size_t file_count;
	char **environment;            /* owned list of "NAME=value", the strings too; NULL: none */
	const char *working_directory; /* NULL: none is asked for */
};

int snippet_read_language(struct decoder *d, const struct json_value *value, void *into);
int snippet_read_code(struct decoder *d, const struct json_value *value, void *into);
int snippet_read_environment(struct decoder *d, const struct json_value *value, void *into);
int snippet_read_files(struct decoder *d, const struct json_value *value, void *into);

#define SNIPPET_ROWS                                                                                         \
	{ "language", snippet_read_language, false }, { "code", snippet_read_code, true },                   \
	    { "encoding", snippet_decode_encoding, false, offsetof(struct snippet, is_base64) },             \
	    { "environment", snippet_read_environment, false },                                              \
	    { "workingDirectory", decode_row_text, false, offsetof(struct snippet, working_directory) },     \
	{                                                                                                    \
		"files", snippet_read_files, false                                                           \
	}

/* For other documents with bytes. snippet_decode_encoding() reads "utf-8" or "base64" into a bool (true: base64). snippet_decode_base64()
 * decodes the text member `key` into bytes on the heap, followed by a NUL. */
int snippet_decode_encoding(struct decoder *d, const struct json_value *value, void *into);
int snippet_decode_base64(struct decoder *d, const struct json_value *object, const char *key, char **ret,
			  size_t *ret_len);

/* Whether each variable is one of the names that the operator grants. -1 with *err (REJECTED), which names it. */
int snippet_check_environment(const struct snippet *snippet, const char *const *granted, size_t count,
			      struct warder_error *err);
/* What depends on more than one row. */
int snippet_finish(struct decoder *d, const struct json_value *document, struct snippet *snippet);
void snippet_done(struct snippet *snippet);

#endif
