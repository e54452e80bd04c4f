/* multipart: a body gives the same parts however it is cut into pieces, and as many ends as beginnings. The input: a byte for the length of
 * the pieces, the Content-Type up to a NUL, and the body. */
#include "host/wire/multipart.h"
#include "tests/fuzz/input.h"

struct sums {
	uint64_t sum;
	size_t begun, ended, bytes;
	bool is_open;
};

static void add(struct sums *sums, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sums->sum = sums->sum * 31 + (unsigned char)bytes[i] + 1;
}

static int on_begin(void *context, const char *name, const char *filename, struct warder_error *err)
{
	struct sums *sums = context;

	must(!sums->is_open && name);
	sums->is_open = true;
	sums->begun++;
	add(sums, name, strlen(name));
	if (filename)
		add(sums, filename, strlen(filename));
	return 0;
}

static int on_bytes(void *context, const char *bytes, size_t len, struct warder_error *err)
{
	struct sums *sums = context;

	must(sums->is_open && len > 0);
	sums->bytes += len;
	add(sums, bytes, len);
	return 0;
}

static int on_end(void *context, struct warder_error *err)
{
	struct sums *sums = context;

	must(sums->is_open);
	sums->is_open = false;
	sums->ended++;
	return 0;
}

static int parse(const char *type, const struct fuzz_input *body, size_t step, struct sums *sums)
{
	const struct multipart_sink sink = { sums, on_begin, on_bytes, on_end };
	struct multipart *parser = malloc(sizeof(*parser));
	struct warder_error err = { 0 };
	int status;

	must(parser);
	status = multipart_init(parser, type, &sink, &err);
	for (size_t at = 0; status == 0 && at < body->left; at += step) {
		/* A block of its own, so that a read past its end is seen. */
		const size_t part = step < body->left - at ? step : body->left - at;
		char *piece = fuzz_text(body->at + at, part);

		status = multipart_take(parser, piece, part, &err);
		free(piece);
	}
	if (status == 0)
		status = multipart_finish(parser, &err);
	must(status == 0 || (err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0]));
	must(status != 0 || (sums->begun == sums->ended && !sums->is_open));
	must(sums->bytes <= body->left);
	free(parser);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	const size_t step = 1 + input_byte(&input);
	char *type = input_text(&input);
	struct sums whole = { 0 }, parts = { 0 };
	const int status = parse(type, &input, size + 1, &whole);

	must(status == parse(type, &input, step, &parts));
	must(status != 0 || (whole.sum == parts.sum && whole.begun == parts.begun));
	free(type);
	return 0;
}
