/* blocks: what is found lies in the text in order, and is found again when it stands alone. The input: a byte of options, two
 * pairs of delimiters and a language, each up to a NUL, and the text. */
#include "runtime/text/blocks.h"
#include "tests/fuzz/input.h"

enum { NO_FENCES = 1, UNCLOSED = 2, DELIMITERS = 4, LANGUAGE = 8, TABLE = 16 };

static const char *canonical(const void *table, const char *name, size_t len)
{
	return span_is_word((struct span){ name, len }, "py") ? "python" : NULL;
}

static bool within(struct span inner, struct span outer)
{
	return inner.at >= outer.at && inner.at + inner.len <= outer.at + outer.len;
}

static void must_be_good(const struct block *block, struct span text, size_t after)
{
	size_t len = 0;
	char *code = block_code_copy(block, &len);

	must(block->start >= after && block->start < block->end && block->end <= text.len);
	must(within(block->code, (struct span){ text.at + block->start, block->end - block->start }));
	must(len <= 3 * block->code.len && block->indent <= 3);
	must(block->indent || block->depth ||
	     (len == block->code.len && (!len || memcmp(code, block->code.at, len) == 0)));
	free(code);
}

/* A closed block by itself is one block with the same code. Not in a container, nor where a pair may begin with a fence in the middle of a line. */
static void must_stand_alone(const struct block *block, struct span text,
			     const struct blocks_options *options)
{
	struct blocks again = { 0 };
	struct warder_error err;

	if (!block->closed || block->depth || (options->delimiter_count && !options->without_fences))
		return;
	must(blocks_find(text.at + block->start, block->end - block->start, options, &again, &err) == 0);
	must(again.count == 1 && again.items[0].start == 0);
	must(!again.has_unclosed ||
	     options->delimiter_count); /* a longer start that has no end, at the same place */
	must(again.items[0].end == block->end - block->start && again.items[0].code.at == block->code.at);
	must(again.items[0].code.len == block->code.len && again.items[0].canonical == block->canonical);
	blocks_done(&again);
}

static void check(struct span text, const struct blocks_options *options)
{
	struct blocks blocks = { 0 };
	struct warder_error err;
	size_t after = 0;

	if (blocks_find(text.at, text.len, options, &blocks, &err) != 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0] && !strchr(err.text, '\n'));
		return;
	}
	for (size_t i = 0; i < blocks.count; i++) {
		must_be_good(&blocks.items[i], text, after);
		must(blocks.items[i].closed ||
		     (options->unclosed && i + 1 == blocks.count && blocks.has_unclosed));
		must_stand_alone(&blocks.items[i], text, options);
		after = blocks.items[i].end;
	}
	must(!blocks.has_unclosed || blocks.unclosed_start < text.len);
	blocks_done(&blocks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	uint8_t bits = input_byte(&input);
	char *words[5];
	struct delimiters pairs[2];
	const char *language;
	struct blocks_options options = { .without_fences = bits & NO_FENCES,
					  .unclosed = bits & UNCLOSED,
					  .delimiters = pairs,
					  .delimiter_count = bits & DELIMITERS ? 2 : 0,
					  .languages = &language,
					  .language_count = !!(bits & LANGUAGE),
					  .canonical = bits & TABLE ? canonical : NULL };
	char *text;

	for (size_t i = 0; i < 5; i++)
		words[i] = input_text(&input);
	pairs[0] = (struct delimiters){ words[0], words[1], NULL };
	pairs[1] = (struct delimiters){ words[2], words[3], NULL };
	language = words[4];
	text = malloc(input.left ? input.left : 1); /* tight: no NUL behind it */
	must(text);
	memcpy(text, input.at, input.left);
	check((struct span){ text, input.left }, &options);
	free(text);
	for (size_t i = 0; i < 5; i++)
		free(words[i]);
	return 0;
}
