/*
 * json: strict decoding of small untrusted documents. json_write.h has the writing of our own.
 *
 * Reading: json_parse() -> walk the tree -> json_free(). RFC 8259 and nothing more, and in addition
 * refused: duplicate keys, trailing data, NUL (raw or \u0000), invalid UTF-8 and lone surrogates, more
 * than `max_depth` levels or `max_values` values, documents over `max_bytes`, numbers over 127 characters or beyond a double.
 * Every value knows its line, so that a later semantic error can name it.
 * No global state; any thread.
 */
#ifndef WARDER_BASE_JSON_H
#define WARDER_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json_write.h"

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

#endif
