/* websocket: bytes give the same messages however they are cut into pieces, and no message is longer than the limit. The input: a byte for the
 * length of the pieces, and the bytes. */
#include "base/websocket.h"
#include "tests/fuzz/input.h"

#define MOST 300

static uint64_t sum_of(const char *bytes, size_t len, size_t piece)
{
	struct websocket_reader reader = { .max = MOST };
	uint64_t sum = 0;

	for (size_t at = 0; at < len;) {
		const size_t part = len - at < piece ? len - at : piece;
		enum websocket_code code = WEBSOCKET_NORMAL;
		size_t used = 0;
		const enum websocket_took took = websocket_take(&reader, bytes + at, part, &used, &code);

		if (took == WEBSOCKET_WRONG) {
			must(code == WEBSOCKET_BAD_FRAME || code == WEBSOCKET_TOO_LONG);
			sum = sum * 31 + code;
			break;
		}
		must(used <= part && (took == WEBSOCKET_MESSAGE || used == part));
		if (took == WEBSOCKET_MESSAGE) {
			must(reader.len <= MOST && reader.message[reader.len] == '\0');
			sum = sum * 31 + reader.opcode;
			for (size_t i = 0; i < reader.len; i++)
				sum = sum * 31 + (unsigned char)reader.message[i] + 1;
		}
		at += used;
	}
	websocket_reader_done(&reader);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	must(sum_of((const char *)data + 1, size - 1, (size_t)data[0] + 1) ==
	     sum_of((const char *)data + 1, size - 1, size));
	return 0;
}
