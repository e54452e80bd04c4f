/*
 * text: bytes of a program's output as something that JSON can hold. For runtime/ and store/; pure, any thread.
 */
#ifndef WARDER_BASE_TEXT_H
#define WARDER_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/* How many of `len` bytes are text: UTF-8 without a NUL. All of them, or with `cut` (the bytes were cut off at a limit)
 * all but an unfinished character at their end. False when they are no text. */
bool text_length(const char *bytes, size_t len, bool cut, size_t *ret_len);

/* A copy that is text, of at most `max` bytes and whole characters, NUL-terminated, on the heap: what is no text in it becomes
 * U+FFFD. *ret_cut: there was more. NULL on want of memory. */
char *text_clean(const char *bytes, size_t len, size_t max, size_t *ret_len, bool *ret_cut);

/* The first character of `len` bytes, of which there is at least one: *ret its code point. Returns its bytes; what is no UTF-8 is
 * U+FFFD, byte by byte. */
size_t text_character(const char *bytes, size_t len, uint32_t *ret);

/* Base64 (RFC 4648, padded), NUL-terminated, on the heap; NULL on want of memory. */
char *text_base64(const char *bytes, size_t len);

/* The bytes that padded base64 stands for, with a NUL behind them that is not counted, on the heap; NULL: it is not what
 * text_base64() would have written, or there is no memory. */
char *text_unbase64(const char *text, size_t len, size_t *ret_len);

/* Write bytes as members of the object that is open: `key` with the text, or "base64"; and "encoding". `cut` as above. */
void text_write(struct json_writer *w, const char *key, const char *bytes, size_t len, bool cut);
/* The name of a file, and its bytes where they are no UTF-8: the text alone would be the same for several files. */
void text_write_name(struct json_writer *w, const char *key, const char *base64_key, const char *name);

/* For qsort(3) over an array of strings: by their bytes. */
int text_order(const void *a, const void *b);
/* How many strings stand before the NULL; 0 for NULL. */
size_t text_count(char *const *items);
/* Bytes of a string with its NUL; 0 for NULL. */
size_t text_size(const char *text);

#endif
