/* format: whatever a program writes, what is put between delimiters is one body, and comes back as it was; any JSON is a result
 * or refused; any text has bodies in order. The input: a byte of options, delimiters up to a NUL each, and per option the
 * texts of a result, a document, or a text. */
#include "runtime/text/blocks.h"
#include "runtime/text/format.h"
#include "tests/fuzz/input.h"

enum { OTHER_DELIMITERS = 1, DOCUMENT = 2, EXTRACT = 4, STATUS_SHIFT = 4 };

/* What CommonMark sees in a default block is what was put there, but for a CR that it takes for a part of a line ending. */
static void must_be_one_fence(struct span text, struct span body)
{
	struct blocks blocks = { 0 };
	struct warder_error err;

	must(blocks_find(text.at, text.len, NULL, &blocks, &err) == 0);
	must(blocks.count == 1 && blocks.items[0].start == 0 && blocks.items[0].end == text.len);
	must(span_is(blocks.items[0].language, "tool_output") && blocks.items[0].code.at == body.at);
	must(blocks.items[0].code.len == body.len ||
	     (blocks.items[0].code.len + 1 == body.len && body.at[body.len - 1] == '\r'));
	blocks_done(&blocks);
}

static void check_block(const struct format_result *result, const struct delimiters *delimiters)
{
	struct format_bodies bodies = { 0 };
	struct warder_error err = { 0 };
	size_t len = 0;
	char *text = format_block(result, delimiters, &len, &err);

	if (!text) {
		must(delimiters && err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0]);
		return;
	}
	must(format_extract(text, len, delimiters, &bodies, &err) == 0);
	must(bodies.count == 1 && !bodies.has_unclosed);
	must(!result->out.bytes.len ||
	     memmem(bodies.items[0].at, bodies.items[0].len, result->out.bytes.at, result->out.bytes.len));
	if (!delimiters)
		must_be_one_fence((struct span){ text, len }, bodies.items[0]);
	format_bodies_done(&bodies);
	free(text);
}

static void check_all(const struct format_result *result, const struct delimiters *delimiters)
{
	size_t len = 0;
	char *text;

	check_block(result, delimiters);
	text = format_inline(result, &len);
	must(text && len > 0);
	free(text);
	text = format_text(result, &len);
	must(text && format_outcome(result)[0]);
	free(text);
}

static void check_written(struct fuzz_input *input, unsigned status, const struct delimiters *delimiters)
{
	char *error = input_text(input), *err = input_text(input), *name = input_text(input);
	const struct format_file file = { span_of(name), input_byte(input) };
	const struct format_result result = { .status = status % 3,
					      .exit_code = (int)file.size_bytes - 1,
					      .error = span_of(error),
					      .err.bytes = span_of(err),
					      .out.bytes = { (const char *)input->at, input->left },
					      .files = &file,
					      .file_count = *name != '\0' };

	check_all(&result, delimiters);
	free(error);
	free(err);
	free(name);
}

static void check_document(struct fuzz_input *input, const struct delimiters *delimiters)
{
	struct format_result result = { 0 };
	struct warder_error err = { 0 };

	if (format_result_read((const char *)input->at, input->left, &result, &err) != 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0] && !strchr(err.text, '\n'));
		return;
	}
	check_all(&result, delimiters);
	format_result_done(&result);
}

static void check_extract(struct fuzz_input *input, const struct delimiters *delimiters)
{
	const char *text = (const char *)input->at, *after = text;
	struct format_bodies bodies = { 0 };
	struct warder_error err = { 0 };

	if (format_extract(text, input->left, delimiters, &bodies, &err) != 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0]);
		return;
	}
	for (size_t i = 0; i < bodies.count; i++) {
		must(bodies.items[i].at >= after);
		after = bodies.items[i].at + bodies.items[i].len;
		must(after <= text + input->left);
	}
	format_bodies_done(&bodies);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	uint8_t bits = input_byte(&input);
	char *start = input_text(&input), *end = input_text(&input);
	const struct delimiters pair = { start, end, NULL };
	const struct delimiters *delimiters = bits & OTHER_DELIMITERS ? &pair : NULL;

	if (bits & DOCUMENT)
		check_document(&input, delimiters);
	else if (bits & EXTRACT)
		check_extract(&input, delimiters);
	else
		check_written(&input, bits >> STATUS_SHIFT, delimiters);
	free(start);
	free(end);
	return 0;
}
