/*
 * decode: strict reading of a document by tables, with errors that name the value's path and line. Private to
 * runtime/tool/ and runtime/judge/.
 *
 * An object is read by rows, one for each key that it may have; what has no row is refused, as is a row's key that is required
 * and missing. A reader gets the value and the address to fill: the member of the struct that the row names, or the whole struct.
 * The path of the value that is being read is kept on the way ("files[2].encoding"); it is the error's field, and stands in its
 * text with the line.
 *
 * Life: a struct decoder on the stack, with `origin` and `err` -> decode_object() or decode_array() for the outermost value,
 * whose readers call on. Pure; any thread.
 */
#ifndef WARDER_RUNTIME_TOOL_DECODE_H
#define WARDER_RUNTIME_TOOL_DECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"

struct decoder {
	const char *origin; /* what the document is called in errors */
	struct warder_error *err;
	char path[64]; /* of the value at hand; cut if it is longer */
};

struct decode_row {
	const char *key; /* NULL: the end of the table */
	int (*read)(struct decoder *d, const struct json_value *value, void *into);
	bool required;
	size_t at; /* offset of the member that `read` fills; 0: the struct, or its first member */
};

/* Read every member by its row. -1 with *err. */
int decode_object(struct decoder *d, const struct json_value *value, const struct decode_row *rows,
		  void *into);
/* Read every element with `read`, of which there may be `most`. -1 with *err. */
int decode_array(struct decoder *d, const struct json_value *value, size_t most,
		 int (*read)(struct decoder *d, const struct json_value *value, void *into), void *into);
/* The number of elements of an array; 0 for anything else. */
size_t decode_count(const struct json_value *value);

/* Go down to a member, and back up with what it has returned. Not needed for what is read by rows. */
size_t decode_enter(struct decoder *d, const char *key);
void decode_leave(struct decoder *d, size_t mark);

/* -1 with *err (INVALID_REQUEST) at the value at hand. */
int decode_refuse(struct decoder *d, const struct json_value *value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Put origin, line and path before an error that somebody else has set about the value at hand. Returns -1. */
int decode_locate(struct decoder *d, const struct json_value *value);

/* The value as what it must be; -1 with *err. Texts belong to the value. */
int decode_text(struct decoder *d, const struct json_value *value, const char **ret);
/* Texts of an array, with NULL behind the last; *ret_list is the caller's to free. */
int decode_texts(struct decoder *d, const struct json_value *value, size_t most, char ***ret_list);
int decode_number(struct decoder *d, const struct json_value *value, double *ret);
/* Readers for rows: a text into a const char *, true or false into a bool. */
int decode_row_text(struct decoder *d, const struct json_value *value, void *into);
int decode_row_bool(struct decoder *d, const struct json_value *value, void *into);
/* One of the words (NULL at the end); *ret is its index. */
int decode_word(struct decoder *d, const struct json_value *value, const char *const *words, size_t *ret);

#endif
