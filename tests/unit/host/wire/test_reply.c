/* reply: the answer of a server in a sandbox (host/wire/reply.c). */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "host/wire/reply.h"

struct heard {
	char text[512];
};

static void add(struct heard *heard, const char *bytes, size_t len)
{
	const size_t at = strlen(heard->text);

	snprintf(heard->text + at, sizeof(heard->text) - at, "%.*s", (int)len, bytes);
}

static void hear_head(void *context, const struct reply *reply)
{
	char line[200];

	snprintf(line, sizeof(line), "%u %lld", reply->status, (long long)reply->length);
	add(context, line, strlen(line));
	for (size_t i = 0; i < reply->header_count; i++) {
		snprintf(line, sizeof(line), " %s=%s", reply->headers[i].name, reply->headers[i].value);
		add(context, line, strlen(line));
	}
	add(context, "|", 1);
}

static void hear_bytes(void *context, const char *bytes, size_t len)
{
	add(context, bytes, len);
}

/* Give the text in pieces of `step` bytes, and its end. -1 with *err. */
static int read_all(const char *text, size_t step, bool head, bool upgrades, struct heard *heard,
		    struct warder_error *err)
{
	const struct reply_sink sink = { heard, hear_head, hear_bytes };
	struct reply reply;
	int done = 0;

	*heard = (struct heard){ 0 };
	reply_init(&reply, 100, &sink);
	reply.bodiless = head;
	reply.upgrades = upgrades;
	for (size_t at = 0, len = strlen(text); done == 0 && at < len;) {
		const size_t part = step < len - at ? step : len - at;
		size_t used = 0;

		done = reply_take(&reply, text + at, part, &used, err);
		at += used;
		if (done == 0 && used < part) {
			cr_expect(reply.state == REPLY_OVER || reply.state == REPLY_UPGRADED);
			add(heard, "+", 1);
			add(heard, text + at, len - at);
			break;
		}
	}
	if (done == 0)
		done = reply_finish(&reply, err);
	reply_done(&reply);
	return done;
}

#define OK         "HTTP/1.1 200 OK\r\n"
#define INTERIM_4  "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103\r\n\r\nHTTP/1.1 102\nA: b\n\nHTTP/1.1 199\r\n\r\n"
#define INTERIM_16 INTERIM_4 INTERIM_4 INTERIM_4 INTERIM_4

Test(reply, answers, .timeout = 20)
{
	static const struct {
		const char *text, *heard;
		bool head, upgrades;
	} rows[] = {
		{ OK "Content-Length: 2\r\n\r\nok", "200 2 Content-Length=2|ok" },
		{ OK "Content-Length: 2\r\n\r\nokmore", "200 2 Content-Length=2|ok+more" },
		{ OK "Content-Length: 0\r\n\r\n", "200 0 Content-Length=0|" },
		{ OK "Content-Length: 2\r\n\r\n", "200 2 Content-Length=2|", .head = true },
		{ OK "A:\t b c \r\nA: d\r\n\r\nto the end", "200 -1 A=b c A=d|to the end" },
		{ "HTTP/1.0 404\n\nno", "404 -1|no" },
		{ "HTTP/1.1 204 None\r\n\r\n", "204 -1|" },
		{ "HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n", "304 9 Content-Length=9|" },
		{ "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" OK "\r\nx", "200 -1|x" },
		{ INTERIM_16 OK "\r\nx", "200 -1|x" },
		{ OK "Transfer-Encoding: Chunked\r\nContent-Length: "
		     "1\r\n\r\n2\r\nok\r\nA;b=c\r\n0123456789\r\n0\r\nT: u\r\n\r\n",
		  "200 -1 Transfer-Encoding=Chunked Content-Length=1|ok0123456789" },
		{ "HTTP/1.1 101 Switch\r\nUpgrade: websocket\r\n\r\nraw", "101 -1 Upgrade=websocket|+raw",
		  .upgrades = true },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		for (size_t step = 1; step < 120; step += step < 8 ? 1 : 37) {
			struct warder_error err = { 0 };
			struct heard heard;

			cr_expect_eq(
			    read_all(rows[i].text, step, rows[i].head, rows[i].upgrades, &heard, &err), 0,
			    "row %zu by %zu: %s", i, step, err.text);
			/* How much of what follows is given at once depends on the pieces. */
			heard.text[strcspn(heard.text, "+")] = '\0';
			cr_expect(strncmp(heard.text, rows[i].heard, strcspn(rows[i].heard, "+")) == 0,
				  "row %zu by %zu: %s", i, step, heard.text);
		}
}

Test(reply, answers_that_are_refused, .timeout = 20)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "", "no answer" },
		{ OK "A: b\r\n", "a part" },
		{ "HTTP/2 200 OK\r\n\r\n", "not well-formed" },
		{ "HTTP/1.1 20 OK\r\n\r\n", "not well-formed" },
		{ "HTTP/1.1 600 OK\r\n\r\n", "not well-formed" },
		{ "HTTP/1.1 200OK\r\n\r\n", "not well-formed" },
		{ OK "no colon\r\n\r\n", "not well-formed" },
		{ OK ": empty\r\n\r\n", "not well-formed" },
		{ OK "A : b\r\n\r\n", "not well-formed" },
		{ OK "A: b\r\n folded\r\n\r\n", "not well-formed" },
		{ OK "A: b\rc\r\n\r\n", "not well-formed" },
		{ OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "not well-formed" },
		{ OK "Content-Length: -1\r\n\r\n", "not well-formed" },
		{ OK "Content-Length: 1, 1\r\n\r\n", "not well-formed" },
		{ OK "Content-Length: 9999999999999999\r\n\r\n", "not well-formed" },
		{ OK "Transfer-Encoding: gzip\r\n\r\n", "not well-formed" },
		{ OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "not well-formed" },
		{ OK "Content-Length: 3\r\n\r\nok", "a part" },
		{ OK "Transfer-Encoding: chunked\r\n\r\nx\r\n", "without a valid size" },
		{ OK "Transfer-Encoding: chunked\r\n\r\n1 \r\nab\r\n", "longer than its size" },
		{ OK "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", "a part" },
		{ "HTTP/1.1 101 Switch\r\n\r\n", "nobody asked" },
		{ INTERIM_16 "HTTP/1.1 100 Go\r\n\r\n" OK "\r\n", "too many interim answers" },
		{ OK
		  "A: "
		  "01234567890123456789012345678901234567890123456789012345678901234567890123456789\r\n\r\n",
		  "too long" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		for (size_t step = 1; step < 120; step += 17) {
			struct warder_error err = { 0 };
			struct heard heard;

			cr_expect_eq(read_all(rows[i].text, step, false, false, &heard, &err), -1,
				     "row %zu: %s", i, heard.text);
			cr_expect(strstr(err.text, rows[i].why), "row %zu: %s", i, err.text);
		}
}
