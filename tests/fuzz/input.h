/*
 * input: takes an input apart, for targets whose input is more than one text. What is not there reads as 0 or empty.
 */
#ifndef WARDER_TESTS_FUZZ_INPUT_H
#define WARDER_TESTS_FUZZ_INPUT_H

#include "tests/fuzz/fuzz.h"

struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline void input_bytes(struct fuzz_input *input, void *ret, size_t size)
{
	size_t n = size < input->left ? size : input->left;

	memset(ret, 0, size);
	memcpy(ret, input->at, n);
	input->at += n;
	input->left -= n;
}

static inline uint8_t input_byte(struct fuzz_input *input)
{
	uint8_t byte;

	input_bytes(input, &byte, 1);
	return byte;
}

static inline uint64_t input_number(struct fuzz_input *input)
{
	uint64_t number;

	input_bytes(input, &number, sizeof(number));
	return number;
}

/* Up to the next NUL or the end, as text of its own heap block. The caller frees it. */
static inline char *input_text(struct fuzz_input *input)
{
	const uint8_t *stop = input->left ? memchr(input->at, 0, input->left) : NULL;
	size_t len = stop ? (size_t)(stop - input->at) : input->left;
	char *text = fuzz_text(input->at, len);

	input->at += len + !!stop;
	input->left -= len + !!stop;
	return text;
}

#endif
