/*
 * started: the events of a program, as a service sends them. A message is refused with a reason, or becomes values within their ranges; the result
 * is JSON in any case, and has no more output than there is room for. The input: a byte for the room, and messages, each ended by a line feed;
 * that which begins with '!' is the last one of the stream.
 */
#include "remote/started.h"
#include "tests/fuzz/input.h"

static bool is_plain(const char *text, size_t size)
{
	const char *end = memchr(text, '\0', size);

	must(end);
	for (; text < end; text++)
		if ((unsigned char)*text < ' ' || *text == '\x7f')
			return false;
	return true;
}

static void check_values(const struct started *started)
{
	must(is_plain(started->error, sizeof(started->error)));
	must(is_plain(started->refusal, sizeof(started->refusal)));
	must(started->runs ? started->pid != 0 : !started->ended);
	must(started->exit_code >= -1 && started->exit_code <= 255);
	must(started->signal >= 0 && started->signal <= 64);
	for (size_t i = 0; i < 2; i++) {
		const struct started_stream *stream = &started->streams[i];

		must(stream->len <= stream->room && stream->len <= stream->total);
		must(stream->len == stream->total || stream->len == stream->room);
	}
}

static void check_result(const struct started *started, const char *cause, const char *detail)
{
	struct json_writer w = { 0 };
	struct json_value *document = NULL;
	struct warder_error err = { 0 };
	const struct json_value *code;
	char *text;

	json_begin_object(&w);
	started_write(started, cause, detail, &w);
	json_end_object(&w);
	text = json_take(&w);
	must(text && json_parse(text, strlen(text), "result", NULL, &document, &err) == 0);
	code = json_member(document, "exitCode");
	must(code && (code->type == JSON_NULL || (code->is_uint && code->uint <= 255 && !cause)));
	must(json_member_text(document, "cause", NULL) && json_member_text(document, "detail", NULL));
	json_free(document);
	free(text);
}

static int take(struct started *started, const char *at, size_t len)
{
	const bool last = len && *at == '!';
	char *message = fuzz_text((const uint8_t *)at + last, len - last);
	struct warder_error err = { 0 };
	const bool over = started->over;
	const int status = started_take(started, last, message, len - last, &err);

	must(status == 0 ? !over : err.code != WARDER_ERROR_NONE && err.text[0]);
	free(message);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct started started = { 0 };
	const char *at = (const char *)data + 1, *end = (const char *)data + size;

	if (size < 2)
		return 0;
	started.streams[0].room = data[0] & 15u;
	started.streams[1].room = data[0] >> 4;
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		if (take(&started, at, (size_t)((stop ? stop : end) - at)) < 0)
			break;
		check_values(&started);
		at = stop ? stop + 1 : end;
	}
	check_values(&started);
	check_result(&started, NULL, NULL);
	check_result(&started, "wallTime", "late");
	started_done(&started);
	return 0;
}
