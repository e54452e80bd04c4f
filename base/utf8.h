/*
 * utf8: characters and their bytes (RFC 3629; Unicode table 3-7). Pure.
 */
#ifndef WARDER_BASE_UTF8_H
#define WARDER_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes at text, of which there is at least one, that are a character or the beginning of one; *ret_whole says which. 0: neither, or NUL. */
size_t utf8_scan(const char *text, size_t left, bool *ret_whole);
/* The number of bytes of the character at text. 0: the `left` bytes do not begin with a whole character, or it is NUL. */
size_t utf8_length(const char *text, size_t left);
/* Write the bytes of a code point, at most 4. Returns their number. */
size_t utf8_encode(uint32_t point, char *ret);

#endif
