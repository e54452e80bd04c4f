/*
 * fuzz: what the targets share. A target is one function that is given any bytes; it must not crash, leak or hang, and
 * what it checks with must() must hold for all of them.
 */
#ifndef WARDER_TESTS_FUZZ_H
#define WARDER_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Also without assertions compiled in. */
#define must(condition)                                                                                      \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #condition);           \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

/* The input as text of its own heap block, so that a read past its end is seen. The caller frees it. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	must(text);
	memcpy(text, data, size);
	text[size] = 0;
	return text;
}

#endif
