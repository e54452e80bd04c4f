/*
 * harness: the program around a source that is a function of JSON to JSON. Private to runtime/code.
 *
 * A harness is a file beside the source, and stands in its place in the language's command lines. It reads the input from the path in
 * WARDER_INPUT (absent or empty: null), calls the source's function with it, and writes the result to the path in WARDER_RESULT (absent: to
 * standard output). Input that is no JSON, and a result that is none, end the program with status 2.
 * Pure, no global state, any thread.
 */
#ifndef WARDER_RUNTIME_CODE_HARNESS_H
#define WARDER_RUNTIME_CODE_HARNESS_H

#include <stdbool.h>
#include <stddef.h>

struct harness {
	const char *language; /* canonical name */
	const char *file;     /* its name beside the source */
	const char *text;     /* UTF-8, not terminated */
	size_t len;
	const char *const *check; /* argv of the check, as in struct language; NULL: the language's own */
};

/* Of a language, by its canonical name. False: its code is not called as a function. */
bool harness_find(const char *language, struct harness *ret);

#endif
