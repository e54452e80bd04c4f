/*
 * framed: the bytes of a streaming answer give the same messages however they are cut into pieces. A message has the length that its frame says,
 * and a frame that is not valid is refused with a reason. The input: a byte for the length of the pieces, and the bytes.
 */
#include "remote/framed.h"
#include "tests/fuzz/input.h"

struct sum {
	uint64_t value;
	size_t bytes;
};

static int add(void *context, bool last, const char *message, size_t len, struct warder_error *err)
{
	struct sum *sum = context;

	must(len <= FRAMED_MESSAGE_MAX && message[len] == '\0' && err);
	sum->value = sum->value * 31 + (last ? 2 : 1);
	sum->bytes += len + FRAMED_HEAD;
	for (size_t i = 0; i < len; i++)
		sum->value = sum->value * 31 + (unsigned char)message[i] + 3;
	return 0;
}

static struct sum sum_of(const char *bytes, size_t len, size_t piece)
{
	struct framed framed = { 0 };
	struct warder_error err = { 0 };
	struct sum sum = { 0 };

	for (size_t at = 0; at < len; at += piece)
		if (framed_take(&framed, bytes + at, len - at < piece ? len - at : piece, add, &sum, &err) <
		    0) {
			must(err.code != WARDER_ERROR_NONE && err.text[0]);
			sum.value = ~sum.value;
			break;
		}
	must(sum.bytes <= len);
	framed_done(&framed);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sum cut, whole;

	if (size < 2)
		return 0;
	cut = sum_of((const char *)data + 1, size - 1, (size_t)data[0] + 1);
	whole = sum_of((const char *)data + 1, size - 1, size);
	must(cut.value == whole.value && cut.bytes == whole.bytes);
	return 0;
}
