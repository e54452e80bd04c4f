/*
 * frames: the input is a sequence of messages of a context. A text is bounded, ends with a NUL, and belongs to the piece that runs; the report
 * that is parsed from it has the documented shape.
 */
#include "tests/fuzz/input.h"

#include "runtime/session/frames.h"
#include "runtime/session/session.h"

static void check_said(const struct frames *reader)
{
	struct json_value *bundle;
	struct said said;

	if (said_parse(reader->bytes, reader->len, &said)) {
		must(said.document && said.document->type == JSON_OBJECT);
		must(said.ok == !said.error_name);
		must(!said.value || (said.value->child && said.value->child->type == JSON_STRING));
		must(!said.error_name || (said.error_value && said.traceback));
	}
	said_done(&said);
	bundle = said_bundle(reader->bytes, reader->len);
	must(!bundle || bundle->child->type == JSON_STRING);
	json_free(bundle);
}

static void check_whole(const struct frames *reader, uint32_t running)
{
	const bool of_none = reader->type == FRAME_READY || reader->type == FRAME_FORKED;

	must(reader->whole && (of_none || (reader->type > FRAME_READY && reader->type <= FRAME_DONE)));
	must(of_none ? reader->piece == 0 : running && reader->piece == running);
	must(reader->cut == !reader->bytes && reader->len <= FRAME_TEXT_MAX);
	if (reader->bytes)
		must(reader->bytes[reader->len] == '\0');
	check_said(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct frame frame;
	struct fuzz_input input = { data, size };
	struct frames reader = { 0 };
	const uint32_t running = input_byte(&input);

	while (input.left) {
		size_t len = (size_t)input_byte(&input) << 8;

		len |= input_byte(&input);
		if (len > input.left)
			len = input.left;
		if (len > sizeof(frame))
			len = sizeof(frame);
		input_bytes(&input, &frame, len);
		if (frames_take(&reader, &frame, len, running) == FRAME_WHOLE)
			check_whole(&reader, running);
		must(reader.len <= FRAME_TEXT_MAX);
	}
	frames_done(&reader);
	return 0;
}
