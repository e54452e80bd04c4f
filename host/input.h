/*
 * input: the arguments and the standard input of a program, as a request gives them.
 */
#ifndef WARDER_HOST_INPUT_H
#define WARDER_HOST_INPUT_H

#include "base/error.h"
#include "base/json.h"

/* "stdin" of the document as a text, or "stdinBase64" as any bytes. *ret: the input, of the document or *ret_bytes; NULL: there is none.
 * *ret_bytes: heap, the caller's, or NULL. -1 with *err: both are given, or one is wrong. */
int input_take(const struct json_value *document, const char **ret, size_t *ret_len, char **ret_bytes,
	       struct warder_error *err);

/* "argv" of the document, NULL-terminated. *ret is heap, the caller's; its texts are the document's. -1 with *err. */
int input_take_argv(const struct json_value *document, char ***ret, struct warder_error *err);

#endif
