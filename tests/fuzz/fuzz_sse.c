/*
 * sse: the bytes of a stream give the same events however they are cut into pieces, and the buffer has its limit. A stream that is taken as a whole gives
 * the same events, if none is too long. The input: a byte for the length of the pieces, one for the limit, and the bytes.
 */
#include "base/sse.h"
#include "tests/fuzz/input.h"

struct sum {
	uint64_t value;
	bool refused;
};

static void add_text(struct sum *sum, const char *text)
{
	for (; *text; text++)
		sum->value = sum->value * 31 + (unsigned char)*text + 3;
	sum->value = sum->value * 31 + 1;
}

static void add(void *context, const char *name, const struct json_value *data)
{
	struct json_writer w = { 0 };
	size_t len = 0;
	char *json, *bytes = sse_bytes(data, &len);

	must(strlen(name) < SSE_NAME_SIZE && data->type == JSON_OBJECT && (!bytes || bytes[len] == '\0'));
	must(sse_stream(data) == 0 || sse_stream(data) == 1);
	json_copy(&w, data);
	json = json_take(&w);
	must(json);
	add_text(context, name);
	add_text(context, json);
	free(json);
	free(bytes);
}

static struct sum sum_of(const char *bytes, size_t len, size_t piece, size_t most)
{
	struct sse sse = { .most = most };
	struct warder_error err = { 0 };
	struct sum sum = { 0 };

	for (size_t at = 0; at < len && !sum.refused; at += piece) {
		sum.refused =
		    sse_take(&sse, bytes + at, len - at < piece ? len - at : piece, add, &sum, &err) < 0;
		must(sse.room <= most + 1 && sse.len <= most && sse.data_len <= sse.len);
		must(!sum.refused || (err.code == WARDER_ERROR_UNAVAILABLE && err.text[0]));
	}
	sse_done(&sse);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sum cut, whole, each = { 0 };
	struct warder_error err;
	const char *text = (const char *)data + 2;
	size_t most;

	if (size < 3)
		return 0;
	most = (size_t)data[1] * 16 + 1;
	cut = sum_of(text, size - 2, (size_t)data[0] + 1, most);
	whole = sum_of(text, size - 2, size - 2, most);
	must(cut.value == whole.value && cut.refused == whole.refused);
	must(sse_each(text, size - 2, add, &each, &err) == 0);
	must(whole.refused || each.value == whole.value);
	return 0;
}
