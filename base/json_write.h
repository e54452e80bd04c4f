/*
 * json_write: JSON documents of our own, and texts as JSON strings for messages.
 *
 * struct json_writer appends to a growing buffer: zeroed -> its calls -> json_take(), or json_writer_done(). No global state; any thread.
 */
#ifndef WARDER_BASE_JSON_WRITE_H
#define WARDER_BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_value;

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
