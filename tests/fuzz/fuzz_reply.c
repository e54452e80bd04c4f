/* reply: an answer is read the same however it is cut into pieces. The input: a byte for what was asked, one for the length of the pieces, and
 * the answer. */
#include "host/wire/reply.h"
#include "tests/fuzz/input.h"

#include <string.h>

#define HEAD_MAX 1024

static void hear_head(void *context, const struct reply *reply)
{
	uint64_t *sum = context;

	must(reply->status >= 200 || reply->status == 101);
	must(reply->header_count <= REPLY_HEADERS_MAX);
	*sum = *sum * 31 + reply->status;
	for (size_t i = 0; i < reply->header_count; i++) {
		must(*reply->headers[i].name && !strpbrk(reply->headers[i].name, " \r\n:"));
		must(!strpbrk(reply->headers[i].value, "\r\n"));
		*sum = *sum * 31 + strlen(reply->headers[i].value);
	}
}

static void hear_bytes(void *context, const char *bytes, size_t len)
{
	uint64_t *sum = context;

	must(len > 0);
	for (size_t i = 0; i < len; i++)
		*sum = *sum * 31 + (unsigned char)bytes[i];
}

static uint64_t read_all(const uint8_t *data, size_t size, size_t step, unsigned int how, int *ret_done)
{
	uint64_t sum = 0;
	const struct reply_sink sink = { &sum, hear_head, hear_bytes };
	struct warder_error err = { 0 };
	struct reply reply;
	size_t at = 0, used = 0;
	int done = 0;

	reply_init(&reply, HEAD_MAX, &sink);
	reply.bodiless = how & 1;
	reply.upgrades = how & 2;
	while (done == 0 && at < size && reply.state != REPLY_OVER && reply.state != REPLY_UPGRADED) {
		const size_t part = step < size - at ? step : size - at;

		done = reply_take(&reply, (const char *)data + at, part, &used, &err);
		must(done < 0 || used == part || reply.state == REPLY_OVER || reply.state == REPLY_UPGRADED);
		must(reply.text_len <= HEAD_MAX);
		at += used;
	}
	if (done == 0)
		done = reply_finish(&reply, &err);
	must(done == 0 || err.text[0]);
	reply_done(&reply);
	*ret_done = done;
	return sum * 31 + (done == 0 ? at : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	const unsigned int how = input_byte(&input);
	const size_t step = 1 + input_byte(&input);
	int whole, parts;

	must(read_all(input.at, input.left, SIZE_MAX, how, &whole) ==
	     read_all(input.at, input.left, step, how, &parts));
	must(whole == parts);
	return 0;
}
