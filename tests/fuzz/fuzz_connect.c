/* connect: a stream of frames gives the same messages however it is cut into pieces. The input: a byte for the length of the pieces, and
 * the stream. */
#include "host/wire/connect.h"
#include "tests/fuzz/input.h"

#define MESSAGE_MAX 4096

/* A sum over the messages, and how the stream ended. */
static uint64_t read_all(const uint8_t *data, size_t size, size_t step, enum connect_found *ret_end)
{
	struct connect_reader reader = { .max = MESSAGE_MAX };
	struct warder_error err = { 0 };
	enum connect_found found = CONNECT_PART;
	uint64_t sum = 0;
	size_t at = 0, used = 0;

	while (at < size && found != CONNECT_BROKEN) {
		const size_t part = step < size - at ? step : size - at;

		found = connect_take(&reader, (const char *)data + at, part, &used, &err);
		if (found == CONNECT_BROKEN)
			break;
		must(used > 0 && used <= part && reader.len <= MESSAGE_MAX);
		must(found == CONNECT_MESSAGE || used == part);
		at += used;
		if (found != CONNECT_MESSAGE)
			continue;
		must(reader.message[reader.len] == '\0');
		sum = sum * 31 + reader.len + 1;
		for (size_t i = 0; i < reader.len; i++)
			sum = sum * 31 + (unsigned char)reader.message[i];
	}
	*ret_end = found;
	must(found != CONNECT_BROKEN || (err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0]));
	connect_reader_done(&reader);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	const size_t step = 1 + input_byte(&input);
	enum connect_found whole, parts;

	must(read_all(input.at, input.left, SIZE_MAX, &whole) ==
	     read_all(input.at, input.left, step, &parts));
	must(whole == parts);
	return 0;
}
