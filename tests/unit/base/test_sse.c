#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sse.h"

#define MOST 64

/* The events as "name{...} " one after the other, then "!" for an error. */
struct seen {
	char text[400];
	size_t len;
};

static void add(void *context, const char *name, const struct json_value *data)
{
	struct seen *seen = context;
	struct json_writer w = { 0 };
	char *json;

	json_copy(&w, data);
	json = json_take(&w);
	seen->len += (size_t)snprintf(seen->text + seen->len, sizeof(seen->text) - seen->len, "%s%s ", name,
				      json ? json : "?");
	free(json);
}

/* Take a piece from a block of its own, so that the address sanitizer sees every read past it. */
static int take(struct sse *sse, const char *bytes, size_t len, struct seen *seen)
{
	struct warder_error err = { 0 };
	char *copy = malloc(len ? len : 1);
	int status;

	memcpy(copy, bytes, len);
	status = sse_take(sse, copy, len, add, seen, &err);
	free(copy);
	cr_expect(sse->room <= MOST + 1 && sse->len <= MOST && sse->data_len <= sse->len);
	if (status < 0) {
		cr_expect(err.code == WARDER_ERROR_UNAVAILABLE && strstr(err.text, "more than 64 bytes"));
		strcat(seen->text, "!");
	}
	return status;
}

/* First `head` bytes, then pieces of `piece` bytes. */
static void read_pieces(const char *bytes, size_t len, size_t head, size_t piece, struct seen *ret)
{
	struct sse sse = { .most = MOST };
	int status;

	*ret = (struct seen){ 0 };
	status = take(&sse, bytes, head, ret);
	for (size_t at = head; status == 0 && at < len; at += piece)
		status = take(&sse, bytes + at, len - at < piece ? len - at : piece, ret);
	sse_done(&sse);
	cr_expect(!sse.bytes);
}

#define ROW(bytes, wanted)                                                                                   \
	{                                                                                                    \
		bytes, sizeof(bytes) - 1, wanted                                                             \
	}
#define X8  "xxxxxxxx"
#define X32 X8 X8 X8 X8

static const struct {
	const char *bytes;
	size_t len;
	const char *wanted;
} rows[] = {
	ROW("", ""),
	ROW("event: a\ndata: {\"n\":1}\n\n", "a{\"n\":1} "),
	ROW("event: a\ndata: {\"n\":1}\n\ndata: {\"n\":2}\n\n", "a{\"n\":1} {\"n\":2} "),
	/* the order of the fields, and fields without a space, with two, without a value */
	ROW("data: {\"n\":1}\nevent: a\n\n", "a{\"n\":1} "),
	ROW("event:a\ndata:{\"n\":1}\n\n", "a{\"n\":1} "),
	ROW("event:  a\ndata:  {\"n\":1}\n\n", " a{\"n\":1} "),
	ROW("event: a\nevent: b\ndata: {}\n\n", "b{} "),
	ROW("event: a\nevent: \ndata: {}\n\n", "{} "),
	ROW("event: a\nevent\ndata: {}\n\n", "{} "),
	/* ends of lines */
	ROW("event: a\r\ndata: {\"n\":1}\r\n\r\nevent: b\r\ndata: {}\r\n\r\n", "a{\"n\":1} b{} "),
	ROW("event: a\rdata: {\"n\":1}\r\revent: b\rdata: {}\r\r", "a{\"n\":1} b{} "),
	ROW("event: a\r\ndata: {\"n\":1}\n\revent: b\ndata: {}\r\n\n", "a{\"n\":1} b{} "),
	ROW("event: a\ndata: {}\r\n\r", "a{} "),
	/* several lines of data */
	ROW("event: a\ndata: {\"n\":\ndata: 1\ndata\ndata:\ndata: }\n\n", "a{\"n\":1} "),
	ROW("data: {\"n\":1\ndata: 2}\n\n", ""),
	ROW("data: {\"n\":1}\ndata: {\"n\":2}\n\ndata: {}\n\n", "{} "),
	/* comments, and fields that are not used */
	ROW(":\n: data: {}\n:data: {}\n\nevent: a\n: between\ndata: {}\n:\n\n", "a{} "),
	ROW("retry: 10\nid: 5\nid\nevent: a\nDATA: {}\ndatax: {}\n data: {}\nx\ndata: {}\n\n", "a{} "),
	/* nothing to tell */
	ROW("\n\n\r\n\r\revent: a\n\n\ndata: {}\n\n", "{} "),
	ROW("event: a\ndata:\n\nevent: b\ndata\n\nevent: c\ndata: 5\n\nevent: d\ndata: [{}]\n\n", ""),
	ROW("event: a\ndata: {\n\nevent: b\ndata: {} {}\n\ndata: {}\n\n", "{} "),
	/* the end comes too early */
	ROW("event: a\ndata: {}", ""),
	ROW("event: a\ndata: {}\n", ""),
	ROW("event: a\ndata: {}\r\n", ""),
	ROW("event: a\ndata: {}\n\nevent: b\nda", "a{} "),
	/* NUL, which neither a name nor JSON has */
	ROW("event: a\0b\ndata: {\"n\":1}\n\nevent: c\ndata: {}\n\n", "c{} "),
	ROW("event: a\ndata: {}\0\n\ndata: {\"n\":\"\0\"}\n\ndata\0: {}\n\n\0\n\nevent: b\ndata: {}\n\n",
	    "b{} "),
	/* names of 31 and 32 bytes; the next event has a name again, and so has an event that changes it */
	ROW("event: 1234567" X8 X8 X8 "\ndata: {}\n\n", "1234567" X8 X8 X8 "{} "),
	ROW("event: " X32 "\ndata: {}\n\nevent: a\ndata: {}\n\n", "a{} "),
	ROW("event: " X32 "\nevent: a\ndata: {}\n\n", "a{} "),
	/* a line of 64 and of 65 bytes, also as a comment */
	ROW("data: {\"n\":\"" X32 X8 X8 "xx\"}\n\ndata: {}\n\n", "{\"n\":\"" X32 X8 X8 "xx\"} {} "),
	ROW("data: {}\n\ndata: {\"n\":\"" X32 X8 X8 "xxx\"}\n\ndata: {}\n\n", "{} !"),
	ROW(":" X32 X8 X8 X8 "xxxxxxx\ndata: {}\n\n", "{} "),
	ROW(":" X32 X8 X8 X8 X8 "\ndata: {}\n\n", "!"),
	/* data of several lines: what the earlier lines left is counted, and their field names are not */
	ROW("data: {\"n\":\"" X32 "\"\ndata: ,\"m\":123456789012}\n\n",
	    "{\"n\":\"" X32 "\",\"m\":123456789012} "),
	ROW("data: {\"n\":\"" X32 "\"\ndata: ,\"m\":1234567890123}\n\n", "!"),
	ROW("data: {\"n\":\"" X32 "\"\n:" X8 X8 "\n:" X8 X8 "\n:" X8 X8 "\ndata: }\n\n",
	    "{\"n\":\"" X32 "\"} "),
};

Test(sse, events_are_the_same_whatever_the_pieces, .timeout = 60)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct seen seen;

		for (size_t head = 0; head <= rows[i].len; head++) {
			read_pieces(rows[i].bytes, rows[i].len, head, rows[i].len + 1, &seen);
			cr_expect_str_eq(seen.text, rows[i].wanted, "row %zu, cut at %zu: %s", i, head,
					 seen.text);
		}
		for (size_t piece = 1; piece < 8; piece++) {
			read_pieces(rows[i].bytes, rows[i].len, 0, piece, &seen);
			cr_expect_str_eq(seen.text, rows[i].wanted, "row %zu, pieces of %zu: %s", i, piece,
					 seen.text);
		}
	}
}

Test(sse, a_stream_without_an_end_is_held_in_bounded_memory, .timeout = 60)
{
	static const char *const lines[] = {
		": ping\n", "event: a\n", "id: 7\n", "data: {}\n\n", "\n", "x\r"
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct sse sse = { .most = MOST };
		struct warder_error err;
		struct seen seen;
		int status = 0;

		for (int n = 0; status == 0 && n < 100000; n++) {
			seen = (struct seen){ 0 };
			status = sse_take(&sse, lines[i], strlen(lines[i]), add, &seen, &err);
		}
		cr_expect(status == 0 && sse.room <= MOST + 1, "line %zu", i);
		sse_done(&sse);
	}
}

static void count(void *context, const char *name, const struct json_value *data)
{
	(void)name;
	(void)data;
	++*(size_t *)context;
}

/* How many events come of one with `values` numbers. */
static size_t events_of(size_t values)
{
	static const char head[] = "data: {\"n\":[1", tail[] = "]}\n\n";
	char *text = malloc(sizeof(head) + 2 * values + sizeof(tail)), *at = text;
	struct warder_error err;
	size_t events = 0;

	at = stpcpy(at, head);
	for (size_t i = 1; i < values; i++)
		at = stpcpy(at, ",1");
	at = stpcpy(at, tail);
	cr_expect_eq(sse_each(text, (size_t)(at - text), count, &events, &err), 0);
	free(text);
	return events;
}

Test(sse, the_values_of_an_event_are_bounded, .timeout = 60)
{
	cr_expect_eq(events_of(1000), 1);
	cr_expect_eq(events_of(SSE_VALUES_MAX + 1), 0);
}

Test(sse, a_whole_stream_may_have_large_events_and_no_larger_ones, .timeout = 60)
{
	static const char head[] = "data: {\"n\":\"", tail[] = "\"}\n\n";
	const size_t len = SSE_EVENT_MAX + 2; /* the two line feeds do not count */
	char *text = malloc(len + 1);
	struct warder_error err = { 0 };
	size_t events = 0;

	memset(text, 'x', len + 1);
	memcpy(text, head, strlen(head));
	memcpy(text + len - strlen(tail), tail, strlen(tail));
	cr_expect_eq(sse_each(text, len, count, &events, &err), 0);
	cr_expect_eq(events, 1);
	memset(text + len - strlen(tail), 'x', strlen(tail));
	memcpy(text + len + 1 - strlen(tail), tail, strlen(tail));
	cr_expect_eq(sse_each(text, len + 1, count, &events, &err), -1);
	cr_expect(events == 1 && err.code == WARDER_ERROR_UNAVAILABLE);
	free(text);
}

Test(sse, the_bytes_of_an_event, .timeout = 20)
{
	static const struct {
		const char *json, *wanted;
		size_t len;
		int stream;
	} all[] = {
		{ "{\"stream\":\"stdout\",\"text\":\"ab\"}", "ab", 2, 0 },
		{ "{\"stream\":\"stderr\",\"base64\":\"AGI=\"}", "\0b", 2, 1 },
		{ "{\"stream\":5,\"text\":\"\"}", "", 0, 0 },
		{ "{\"text\":5,\"base64\":\"!\"}", NULL, 0, 0 },
		{ "{\"text\":5}", NULL, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct json_value *data = NULL;
		struct warder_error err;
		size_t len = 0;
		char *bytes;

		cr_assert_eq(json_parse(all[i].json, strlen(all[i].json), "row", NULL, &data, &err), 0);
		bytes = sse_bytes(data, &len);
		cr_expect(!bytes == !all[i].wanted, "row %zu", i);
		if (bytes)
			cr_expect(len == all[i].len && memcmp(bytes, all[i].wanted, len + 1) == 0, "row %zu",
				  i);
		cr_expect_eq(sse_stream(data), all[i].stream, "row %zu", i);
		free(bytes);
		json_free(data);
	}
}
