/* frames: what a keeper accepts of the interpreter of a context, which may be hostile. */
#include "base/array.h"
#include "runtime/session/frames.h"
#include "runtime/session/session.h"

#include <criterion/criterion.h>
#include <string.h>

static struct frame frame;

/* Take a frame with a body of `len` bytes 'a' while piece 7 runs. */
static enum frame_found take(struct frames *reader, uint32_t type, uint32_t piece, uint32_t flags, size_t len)
{
	frame.head = (struct frame_head){ FRAME_MAGIC, type, piece, flags };
	memset(frame.body, 'a', len);
	return frames_take(reader, &frame, sizeof(frame.head) + len, 7);
}

Test(frames, one_of_the_piece_that_runs, .timeout = 20)
{
	static const struct {
		const char *what;
		uint32_t type, piece, flags;
		enum frame_found found;
	} rows[] = {
		{ "an end", FRAME_DONE, 7, 0, FRAME_WHOLE },
		{ "of an earlier piece", FRAME_DONE, 6, 0, FRAME_REFUSED },
		{ "of a later piece", FRAME_SHOWN, 8, 0, FRAME_REFUSED },
		{ "of no piece", FRAME_DONE, 0, 0, FRAME_REFUSED },
		{ "ready", FRAME_READY, 0, 0, FRAME_WHOLE },
		{ "ready, as of a piece", FRAME_READY, 7, 0, FRAME_REFUSED },
		{ "ready, in parts", FRAME_READY, 0, FRAME_MORE, FRAME_REFUSED },
		{ "forked", FRAME_FORKED, 0, 0, FRAME_WHOLE },
		{ "forked, as of a piece", FRAME_FORKED, 7, 0, FRAME_REFUSED },
		{ "forked, in parts", FRAME_FORKED, 0, FRAME_MORE, FRAME_REFUSED },
		{ "one that only Warder sends", FRAME_FORK, 0, 0, FRAME_REFUSED },
		{ "one that only Warder sends", FRAME_FORK, 7, 0, FRAME_REFUSED },
		{ "one that only Warder sends", FRAME_PIECE, 7, 0, FRAME_REFUSED },
		{ "one that only Warder sends", FRAME_INPUT, 7, 0, FRAME_REFUSED },
		{ "one that only Warder sends", FRAME_TAKEN, 7, 0, FRAME_REFUSED },
		{ "no type", 0, 7, 0, FRAME_REFUSED },
		{ "a type beyond", FRAME_TYPES, 7, 0, FRAME_REFUSED },
		{ "a flag of Warder's", FRAME_DONE, 7, FRAME_AT_END, FRAME_REFUSED },
		{ "a part", FRAME_SHOWN, 7, FRAME_MORE, FRAME_PART },
	};
	struct frames reader = { 0 };

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_eq(take(&reader, rows[i].type, rows[i].piece, rows[i].flags, 3), rows[i].found,
			     "row %zu: %s", i, rows[i].what);
	frames_done(&reader);
}

Test(frames, nothing_is_of_a_piece_while_none_runs, .timeout = 20)
{
	struct frames reader = { 0 };

	frame.head = (struct frame_head){ FRAME_MAGIC, FRAME_DONE, 0, 0 };
	cr_expect_eq(frames_take(&reader, &frame, sizeof(frame.head), 0), FRAME_REFUSED);
	frames_done(&reader);
}

Test(frames, malformed, .timeout = 20)
{
	struct frames reader = { 0 };

	frame.head = (struct frame_head){ FRAME_MAGIC, FRAME_DONE, 7, 0 };
	cr_expect_eq(frames_take(&reader, &frame, 0, 7), FRAME_REFUSED);
	cr_expect_eq(frames_take(&reader, &frame, sizeof(frame.head) - 1, 7), FRAME_REFUSED);
	cr_expect_eq(frames_take(&reader, &frame, FRAME_MAX + 1, 7), FRAME_REFUSED);
	cr_expect_eq(frames_take(&reader, &frame, sizeof(frame.head), 7), FRAME_WHOLE);
	cr_expect_str_eq(reader.bytes, "");
	frame.head.magic++;
	cr_expect_eq(frames_take(&reader, &frame, sizeof(frame.head), 7), FRAME_REFUSED);
	frames_done(&reader);
}

Test(frames, parts_become_one_text, .timeout = 20)
{
	struct frames reader = { 0 };

	cr_expect_eq(take(&reader, FRAME_SHOWN, 7, FRAME_MORE, FRAME_BODY_MAX), FRAME_PART);
	cr_expect_eq(take(&reader, FRAME_SHOWN, 7, 0, 5), FRAME_WHOLE);
	cr_expect_eq(reader.len, FRAME_BODY_MAX + 5);
	cr_expect_eq(take(&reader, FRAME_SHOWN, 7, 0, 4), FRAME_WHOLE);
	cr_expect_eq(reader.len, 4, "the next text begins anew");
	cr_expect_eq(take(&reader, FRAME_SHOWN, 7, FRAME_MORE, 9), FRAME_PART);
	cr_expect_eq(take(&reader, FRAME_DONE, 7, 0, 2), FRAME_WHOLE);
	cr_expect_eq(reader.len, 2, "another text in the middle of one gives that up");
	frames_done(&reader);
}

Test(frames, a_text_that_was_cut_ends_without_bytes, .timeout = 20)
{
	struct frames reader = { 0 };

	cr_expect_eq(take(&reader, FRAME_SHOWN, 7, FRAME_MORE, 9), FRAME_PART);
	frames_cut(&reader);
	cr_expect_null(reader.bytes);
	cr_expect_eq(take(&reader, FRAME_SHOWN, 7, FRAME_MORE, 9), FRAME_PART);
	cr_expect_eq(reader.len, 0);
	cr_expect_eq(take(&reader, FRAME_SHOWN, 7, 0, 9), FRAME_WHOLE);
	cr_expect(reader.cut && !reader.bytes);
	cr_expect_eq(take(&reader, FRAME_SHOWN, 7, 0, 9), FRAME_WHOLE);
	cr_expect(!reader.cut && reader.len == 9, "the next text is not cut");
	frames_done(&reader);
}

Test(frames, a_text_without_end_is_cut, .timeout = 20)
{
	struct frames reader = { 0 };

	for (size_t i = 0; i <= FRAME_TEXT_MAX / FRAME_BODY_MAX; i++) {
		cr_expect_eq(take(&reader, FRAME_SHOWN, 7, FRAME_MORE, FRAME_BODY_MAX), FRAME_PART);
		cr_assert_leq(reader.len, FRAME_TEXT_MAX);
	}
	cr_expect(reader.cut && !reader.bytes && reader.len == 0);
	cr_expect_eq(take(&reader, FRAME_SHOWN, 7, 0, 1), FRAME_WHOLE);
	cr_expect(reader.cut && !reader.bytes, "it stays cut up to its end");
	cr_expect_eq(take(&reader, FRAME_SHOWN, 7, 0, 1), FRAME_WHOLE);
	cr_expect(!reader.cut && reader.len == 1);
	frames_done(&reader);
}

Test(frames, what_a_context_says_of_the_end, .timeout = 20)
{
	static const struct {
		const char *text;
		bool valid, ok;
	} rows[] = {
		{ "{\"status\":\"ok\",\"executionCount\":3}", true, true },
		{ "{\"status\":\"ok\",\"executionCount\":3,\"value\":{\"text/plain\":\"1\"}}", true, true },
		{ "{\"status\":\"error\",\"executionCount\":3,\"error\":{\"name\":\"a\",\"value\":\"b\","
		  "\"traceback\":\"c\"}}",
		  true, false },
		{ "{\"status\":\"error\",\"executionCount\":3,\"error\":{\"name\":\"a\"}}", false, false },
		{ "{\"status\":\"error\",\"executionCount\":3}", false, false },
		{ "{\"status\":\"fine\",\"executionCount\":3}", false, false },
		{ "{\"status\":\"ok\",\"executionCount\":-1}", false, false },
		{ "{\"status\":\"ok\"}", false, false },
		{ "{\"status\":\"ok\",\"executionCount\":3,\"value\":{\"text/plain\":1}}", false, false },
		{ "{\"status\":\"ok\",\"executionCount\":3,\"value\":{\"plain\":\"1\"}}", false, false },
		{ "{\"status\":\"ok\",\"executionCount\":3,\"value\":{}}", false, false },
		{ "[]", false, false },
		{ "", false, false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct said said;

		cr_expect_eq(said_parse(rows[i].text, strlen(rows[i].text), &said), rows[i].valid, "row %zu",
			     i);
		cr_expect(!rows[i].valid || said.ok == rows[i].ok, "row %zu", i);
		said_done(&said);
	}
}
