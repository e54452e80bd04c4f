/*
 * json: strict decoding of small untrusted documents, and writing of our own.
 *
 * Reading: json_parse() -> walk the tree -> json_free(). RFC 8259 and nothing more, and in addition
 * refused: duplicate keys, trailing data, NUL (raw or \u0000), invalid UTF-8 and lone surrogates, more
 * than `max_depth` levels or `max_values` values, documents over `max_bytes`, numbers over 127 characters or beyond a double.
 * Every value knows its line, so that a later semantic error can name it. Writing: struct json_writer
 * appends to a growing buffer.
 * No global state; any thread.
 */
#ifndef WARDER_BASE_JSON_H
#define WARDER_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum json_type {
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json_value {
	enum json_type type;
	int line;     /* 1-based line on which the value starts */
	int key_line; /* line of the member's name, 0 outside objects */
	bool boolean;
	double number; /* finite */
	bool is_uint;  /* the number is a whole one in 0..2^64-1 written without fraction or exponent */
	uint64_t uint;
	char *string; /* JSON_STRING: UTF-8, NUL-terminated, holds no NUL; JSON_NUMBER: as written */
	char *key;    /* member's name, or NULL */
	struct json_value *child; /* first element or member, in document order */
	struct json_value *next;  /* next sibling */
};

struct json_limits {
	size_t max_bytes;  /* 0: 1 MiB */
	int max_depth;     /* 0: 32 */
	size_t max_values; /* each takes some hundred bytes of memory; 0: as many as there are */
};

/* Parse `len` bytes. `origin` names the document in errors. *ret is owned by the caller (json_free).
 * -1 with *err (INVALID_REQUEST). Its text begins with "origin:line: ". For text that is not JSON it begins with "origin:line:column: ". */
int json_parse(const char *text, size_t len, const char *origin, const struct json_limits *limits,
	       struct json_value **ret, struct warder_error *err);
void json_free(struct json_value *value);
/* Member by name, or NULL. */
const struct json_value *json_member(const struct json_value *object, const char *key);
/* The text of a member, or `other` if the member is missing or not a string. */
const char *json_member_text(const struct json_value *object, const char *key, const char *other);
/* The number of a member, or 0 if the member is missing or not a whole number from 0 to UINT64_MAX. */
uint64_t json_member_uint(const struct json_value *object, const char *key);
/* Whether a member is true. */
bool json_member_true(const struct json_value *object, const char *key);
/* How many members or elements it has. */
size_t json_length(const struct json_value *value);
/* "a string", "an object", ... as a message says it. */
const char *json_type_name(enum json_type type);
/* Whether the NUL-terminated text is valid UTF-8 (RFC 3629). */
bool json_is_utf8(const char *text);
/* `text` as a JSON string for a message: one line, cut with "..." to fit. len at least 8. Returns buf. */
char *json_quote(const char *text, char *buf, size_t len);
/* The same of bytes, in which a NUL may be. */
char *json_quote_bytes(const char *bytes, size_t count, char *buf, size_t len);

/* A growing text; zeroed is empty. After any failed allocation `failed` stays true and text is NULL. */
struct json_writer {
	char *text;
	size_t len, cap;
	bool failed;
	bool pretty; /* indent with two spaces */
	int depth;
	bool need_comma;
	bool after_key;
};

void json_begin_object(struct json_writer *w);
void json_end_object(struct json_writer *w);
void json_begin_array(struct json_writer *w);
void json_end_array(struct json_writer *w);
void json_key(struct json_writer *w, const char *key);
/* Writes a JSON string; bytes that are not valid UTF-8 become U+FFFD. A NULL text becomes null. */
void json_string(struct json_writer *w, const char *text);
void json_string_n(struct json_writer *w, const char *text, size_t len);
void json_uint(struct json_writer *w, uint64_t value);
void json_int(struct json_writer *w, int64_t value);
/* A number that is already text in JSON's grammar. */
void json_number(struct json_writer *w, const char *text);
/* Fixed notation with 0 to 17 decimals; a value that is not finite becomes null. */
void json_double(struct json_writer *w, double value, int decimals);
void json_bool(struct json_writer *w, bool value);
void json_null(struct json_writer *w);
/* A value that was read, with everything below it, numbers as they were written; its own key is left out. */
void json_copy(struct json_writer *w, const struct json_value *value);
/* The text of a value, on the heap. NULL: no memory. */
char *json_text(const struct json_value *value);
/* A member and its value at once. */
void json_key_string(struct json_writer *w, const char *key, const char *text);
void json_key_uint(struct json_writer *w, const char *key, uint64_t value);
void json_key_bool(struct json_writer *w, const char *key, bool value);
/* Lose the text, as after a failed allocation: for callers that build a part of it themselves. */
void json_fail(struct json_writer *w);
/* Take the text out (heap, NUL-terminated; the caller frees) and empty the writer; NULL if it failed. */
char *json_take(struct json_writer *w);
/* Free what was not taken; the writer can be used again. */
void json_writer_done(struct json_writer *w);

#endif
