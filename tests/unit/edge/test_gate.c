/* edge/gate.c, hello.c, http.c: what the first bytes of a connection name, however they are cut. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edge/gate.h"
#include "edge/hello.h"

enum { PASSES = -1, WAITS = -2 };

/* The end of a connection that sends these bytes in pieces of `step`: PASSES if all of them pass, WAITS, or the reason. */
static int try_bytes(uint16_t port, const uint8_t *bytes, size_t len, size_t step, char *other)
{
	/* The server's answer, if one is awaited, asks for nothing. */
	static const uint8_t answer[HELLO_ANSWER] = { 22, 3, 3, 0, 90, 2 };
	struct gate gate = { 0 };
	size_t passed = 0;
	size_t seen = 0;

	*other = '\0';
	while (seen < len || gate.state == GATE_ANSWER) {
		enum edge_reason why = EDGE_REASON_COUNT;
		size_t pass = 0;

		if (gate.state == GATE_ANSWER)
			gate_answered(&gate, answer, sizeof(answer));
		seen += step < len - seen ? step : len - seen;
		if (gate_check(&gate, "pypi.org", port, bytes + passed, seen - passed, &pass, &why, other) <
		    0)
			return (int)why;
		cr_assert(passed + pass <= seen);
		passed += pass;
	}
	return passed == len ? PASSES : WAITS;
}

static void expect(uint16_t port, const void *bytes, size_t len, int wanted, const char *label)
{
	char other[128];

	for (size_t step = 1; step <= len; step = step < 8 ? step + 1 : step * 3) {
		const int got = try_bytes(port, bytes, len, step, other);

		cr_expect_eq(got, wanted, "%s, port %u, in pieces of %zu: %d instead of %d (%s)", label, port,
			     step, got, wanted, other);
	}
}

/* ---- TLS ---- */

struct bytes {
	uint8_t at[80000];
	size_t len;
};

static void put(struct bytes *to, const void *from, size_t len)
{
	memcpy(to->at + to->len, from, len);
	to->len += len;
}

static void put_number(struct bytes *to, size_t value, size_t bytes)
{
	while (bytes--)
		to->at[to->len++] = (uint8_t)(value >> 8 * bytes);
}

struct hello_row {
	const char *label;
	const char *name;   /* NULL: no extension */
	const char *second; /* another name in the same list */
	size_t padding;     /* bytes of another extension */
	uint16_t extra;     /* type of an empty extension more */
	size_t record;      /* at most so many bytes in a record */
	bool twice;         /* the extension with the name */
	int wanted;
};

static void put_name(struct bytes *to, const char *name, const char *second)
{
	const size_t len = strlen(name);
	const size_t more = second ? strlen(second) + 3 : 0;

	put_number(to, 0, 2);
	put_number(to, len + 5 + more, 2);
	put_number(to, len + 3 + more, 2);
	put_number(to, 0, 1);
	put_number(to, len, 2);
	put(to, name, len);
	if (second) {
		put_number(to, 0, 1);
		put_number(to, strlen(second), 2);
		put(to, second, strlen(second));
	}
}

static void make_hello(const struct hello_row *row, struct bytes *ret)
{
	static struct bytes extensions;
	static struct bytes message;

	extensions.len = message.len = ret->len = 0;
	if (row->padding) {
		put_number(&extensions, 21, 2);
		put_number(&extensions, row->padding, 2);
		memset(extensions.at + extensions.len, 'p', row->padding);
		extensions.len += row->padding;
	}
	for (int i = 0; row->name && i <= row->twice; i++)
		put_name(&extensions, row->name, row->second);
	if (row->extra) {
		put_number(&extensions, row->extra, 2);
		put_number(&extensions, 0, 2);
	}
	put_number(&message, 1, 1);
	put_number(&message, 2 + 32 + 1 + 32 + 2 + 4 + 1 + 1 + 2 + extensions.len, 3);
	put_number(&message, 0x0303, 2);
	memset(message.at + message.len, 'r', 32);
	message.len += 32;
	put_number(&message, 32, 1);
	memset(message.at + message.len, 's', 32);
	message.len += 32;
	put_number(&message, 4, 2);
	put_number(&message, 0x13011302, 4);
	put_number(&message, 1, 1);
	put_number(&message, 0, 1);
	put_number(&message, extensions.len, 2);
	put(&message, extensions.at, extensions.len);
	for (size_t at = 0; at < message.len;) {
		const size_t n = row->record < message.len - at ? row->record : message.len - at;

		put_number(ret, 22, 1);
		put_number(ret, 0x0301, 2);
		put_number(ret, n, 2);
		put(ret, message.at + at, n);
		at += n;
	}
}

Test(gate, client_hello, .timeout = 60)
{
	static const struct hello_row rows[] = {
		{ "named", "pypi.org", NULL, 0, 0, 16384, false, PASSES },
		{ "named in capitals", "PyPI.ORG", NULL, 0, 0, 16384, false, PASSES },
		{ "a record for each byte", "pypi.org", NULL, 0, 0, 1, false, PASSES },
		{ "records of 7", "pypi.org", NULL, 0, 0, 7, false, PASSES },
		{ "a large key", "pypi.org", NULL, 2000, 0, 512, false, PASSES },
		{ "40 KB", "pypi.org", NULL, 40000, 0, 16384, false, PASSES },
		{ "another name", "evil.org", NULL, 0, 0, 16384, false, EDGE_REASON_OTHER_NAME },
		{ "a longer name", "pypi.org.evil.org", NULL, 0, 0, 16384, false, EDGE_REASON_OTHER_NAME },
		{ "a dot at the end", "pypi.org.", NULL, 0, 0, 16384, false, EDGE_REASON_OTHER_NAME },
		{ "no name", NULL, NULL, 0, 0, 16384, false, EDGE_REASON_NO_SERVER_NAME },
		{ "an empty name", "", NULL, 0, 0, 16384, false, EDGE_REASON_FIRST_BYTES },
		{ "two names", "pypi.org", "evil.org", 0, 0, 16384, false, EDGE_REASON_FIRST_BYTES },
		{ "the extension twice", "pypi.org", NULL, 0, 0, 16384, true, EDGE_REASON_FIRST_BYTES },
		{ "encrypted", "pypi.org", NULL, 0, 0xfe0d, 16384, false, EDGE_REASON_ENCRYPTED_HELLO },
		{ "encrypted, the old way", "pypi.org", NULL, 0, 0xffce, 16384, false,
		  EDGE_REASON_ENCRYPTED_HELLO },
	};
	static struct bytes hello;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_hello(&rows[i], &hello);
		if (hello.len > 8000) {
			char other[128];

			cr_expect_eq(try_bytes(443, hello.at, hello.len, 4096, other), rows[i].wanted, "%s",
				     rows[i].label);
			continue;
		}
		expect(443, hello.at, hello.len, rows[i].wanted, rows[i].label);
		expect(8443, hello.at, hello.len, rows[i].wanted, rows[i].label);
	}
}

Test(gate, broken_hello, .timeout = 60)
{
	static const struct hello_row row = { "", "pypi.org", NULL, 50, 0, 16384, false, PASSES };
	static struct bytes hello;
	char name[256];
	size_t length;

	make_hello(&row, &hello);
	for (size_t i = 0; i < hello.len; i++) {
		enum edge_reason why;

		cr_expect_eq(hello_read(hello.at, i, name, &length, &why), HELLO_MORE, "%zu bytes", i);
	}
	/* Any byte changed: the same name, or a refusal; nothing is read beyond the end. */
	for (size_t i = 0; i < hello.len; i++) {
		uint8_t *copy = malloc(hello.len);
		enum edge_reason why;

		memcpy(copy, hello.at, hello.len);
		copy[i] ^= 0x40;
		if (hello_read(copy, hello.len, name, &length, &why) == HELLO_NAMED)
			cr_expect(strlen(name) < 254);
		free(copy);
	}
}

/* ---- HTTP ---- */

#define HOST "Host: pypi.org\r\n"

Test(gate, http, .timeout = 60)
{
	static const struct {
		const char *text;
		int wanted;
	} rows[] = {
		{ "GET / HTTP/1.1\r\n" HOST "\r\n", PASSES },
		{ "GET / HTTP/1.1\r\nhost:\tPyPI.org.:80 \r\n\r\n", PASSES },
		{ "GET http://pypi.org/x HTTP/1.1\r\n" HOST "\r\n", PASSES },
		{ "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", PASSES },
		{ "GET / HTTP/1.1\r\n" HOST "\r\nGET /2 HTTP/1.1\r\n" HOST "\r\n", PASSES },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhelloGET /2 HTTP/1.1\r\n" HOST "\r\n",
		  PASSES },
		{ "POST / HTTP/1.1\r\n" HOST
		  "Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\nGET /2 "
		  "HTTP/1.1\r\n" HOST "\r\n",
		  PASSES },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\nGET /2 HTTP/1.1\r\n" HOST "\r\n",
		  PASSES },
		/* one byte of the body more or less, and this would not be a request */
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n\r\nG / HTTP/1.1\r\n" HOST "\r\n",
		  PASSES },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nshort", PASSES },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 999999999999999999\r\n\r\n" HOST, PASSES },
		{ "POST / HTTP/1.1\r\n" HOST
		  "Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\nGET / HTTP/1.1\r\n",
		  PASSES },
		{ "GET / HTTP/1.1\r\n" HOST, WAITS },
		{ "GET /", WAITS },
		/* another host, in any of the places */
		{ "GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", EDGE_REASON_OTHER_NAME },
		{ "GET / HTTP/1.1\r\nHost: pypi.org:81\r\n\r\n", EDGE_REASON_OTHER_NAME },
		{ "GET / HTTP/1.1\r\nHost: pypi.org@evil.org\r\n\r\n", EDGE_REASON_OTHER_NAME },
		{ "GET http://evil.org/ HTTP/1.1\r\n" HOST "\r\n", EDGE_REASON_OTHER_NAME },
		{ "GET http://pypi.org@evil.org/ HTTP/1.1\r\n" HOST "\r\n", EDGE_REASON_OTHER_NAME },
		{ "GET / HTTP/1.1\r\n" HOST "\r\nGET / HTTP/1.1\r\nHost: evil.org\r\n\r\n",
		  EDGE_REASON_OTHER_NAME },
		{ "POST / HTTP/1.1\r\n" HOST
		  "Content-Length: 2\r\n\r\nhiGET / HTTP/1.1\r\nHost: evil.org\r\n\r\n",
		  EDGE_REASON_OTHER_NAME },
		{ "POST / HTTP/1.1\r\n" HOST
		  "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: evil.org\r\n\r\n",
		  EDGE_REASON_OTHER_NAME },
		{ "POST / HTTP/1.1\r\n" HOST
		  "Content-Length: 0\r\n\r\nGET / HTTP/1.1\r\nHost: evil.org\r\n\r\n",
		  EDGE_REASON_OTHER_NAME },
		{ "GET / HTTP/1.1\r\n\r\n", EDGE_REASON_HTTP },
		{ "GET / HTTP/1.0\r\n\r\n", EDGE_REASON_HTTP },
		{ "GET / HTTP/1.1\r\n" HOST HOST "\r\n", EDGE_REASON_HTTP },
		/* what two programs read in two ways */
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
		  EDGE_REASON_HTTP },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		  EDGE_REASON_HTTP },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n", EDGE_REASON_HTTP },
		/* lengths near 2^63 and 2^64 */
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 9223372036854775807\r\n\r\n",
		  EDGE_REASON_HTTP },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551616\r\n\r\n",
		  EDGE_REASON_HTTP },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n",
		  EDGE_REASON_HTTP },
		{ "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", EDGE_REASON_HTTP },
		{ "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding : chunked\r\n\r\n", EDGE_REASON_HTTP },
		{ "GET / HTTP/1.1\r\nX: y\r\n Host: evil.org\r\n" HOST "\r\n", EDGE_REASON_HTTP },
		{ "GET / HTTP/1.1\nHost: pypi.org\n\r\n\r\n", EDGE_REASON_HTTP },
		{ "GET / HTTP/1.1\r\nX: a\rb\r\n" HOST "\r\n", EDGE_REASON_HTTP },
		{ "GET  / HTTP/1.1\r\n" HOST "\r\n", EDGE_REASON_HTTP },
		{ "GET / HTTP/1.1 \r\n" HOST "\r\n", EDGE_REASON_HTTP },
		{ "GET / HTTP/1.9\r\n" HOST "\r\n", EDGE_REASON_HTTP },
		{ "\r\nGET / HTTP/1.1\r\n" HOST "\r\n", EDGE_REASON_HTTP },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
		  EDGE_REASON_HTTP },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX0\r\n\r\n",
		  EDGE_REASON_HTTP },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n",
		  EDGE_REASON_HTTP },
		/* a server may know no chunks in HTTP/1.0, or no trailer: its next request would begin elsewhere */
		{ "POST / HTTP/1.0\r\n" HOST
		  "Transfer-Encoding: chunked\r\n\r\nA;x / HTTP/1.1\r\nHost: evil\r\n0\r\n\r\n",
		  EDGE_REASON_HTTP },
		{ "POST / HTTP/1.1\r\n" HOST
		  "Transfer-Encoding: chunked\r\n\r\n0\r\nGET / HTTP/1.1\r\nHost: evil.org\r\n\r\n",
		  EDGE_REASON_HTTP },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: evil.org\r\n\r\n",
		  EDGE_REASON_HTTP },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\rc\r\n\r\n",
		  EDGE_REASON_HTTP },
		{ "POST / HTTP/1.1\r\n" HOST "Content_Length: 1\r\n\r\n", EDGE_REASON_HTTP },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer_encoding: chunked\r\n\r\n", EDGE_REASON_HTTP },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer_encodings: chunked\r\n\r\n", PASSES },
		{ "GET / HTTP/1.1\r\n" HOST "X: a\x85Host: evil.org\r\n\r\n", EDGE_REASON_HTTP },
		/* a server may leave the body of these where it is */
		{ "GET / HTTP/1.1\r\n" HOST
		  "Content-Length: 37\r\n\r\nGET / HTTP/1.1\r\nHost: evil.org\r\n\r\n",
		  EDGE_REASON_HTTP },
		{ "HEAD / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		  EDGE_REASON_HTTP },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", PASSES },
		/* ways to something else */
		{ "CONNECT pypi.org:443 HTTP/1.1\r\n" HOST "\r\n", EDGE_REASON_CONNECT },
		{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", EDGE_REASON_HTTP2 },
		{ "GET / HTTP/1.1\r\n" HOST "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n",
		  EDGE_REASON_HTTP2 },
		{ "GET / HTTP/1.1\r\n" HOST "\r\nGET / HTTP/1.1\r\n" HOST "Upgrade: websocket\r\n\r\n",
		  EDGE_REASON_HTTP },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect(80, rows[i].text, strlen(rows[i].text), rows[i].wanted, rows[i].text);
}

Test(gate, other_protocols, .timeout = 20)
{
	static const struct {
		const char *bytes;
		size_t len;
		int strict, other; /* on 443; on 22 */
	} rows[] = {
		{ "SSH-2.0-x\r\n", 11, EDGE_REASON_FIRST_BYTES, PASSES },
		{ "x", 1, EDGE_REASON_FIRST_BYTES, PASSES },
		{ "EHLO me\r\n", 9, EDGE_REASON_FIRST_BYTES, PASSES },
		{ "\0\0\0\x08\x04\xd2\x16\x2f", 8, EDGE_REASON_FIRST_BYTES, PASSES },
		{ "\x16\x02\x00", 3, EDGE_REASON_FIRST_BYTES, EDGE_REASON_FIRST_BYTES },
		{ "\x80\x2e\x01\x03\x01", 5, EDGE_REASON_FIRST_BYTES, EDGE_REASON_NO_SERVER_NAME },
		{ "GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 34, EDGE_REASON_OTHER_NAME,
		  EDGE_REASON_OTHER_NAME },
		{ "PRI * HTTP/2.0\r\n\r\n", 18, EDGE_REASON_HTTP2, EDGE_REASON_HTTP2 },
		{ "GET\v/\fHTTP/1.1\r\nHost: evil.org\r\n\r\n", 34, EDGE_REASON_HTTP, EDGE_REASON_HTTP },
		{ "GET\r/\rHTTP/1.1\r\nHost: evil.org\r\n\r\n", 34, EDGE_REASON_HTTP, EDGE_REASON_HTTP },
		{ "GET / http/1.1\r\nHost: evil.org\r\n\r\n", 34, EDGE_REASON_HTTP, EDGE_REASON_HTTP },
		{ "PING\r\n", 6, EDGE_REASON_FIRST_BYTES, PASSES },
		{ "ruok", 4, EDGE_REASON_FIRST_BYTES, PASSES },
		{ "0032git-upload-pack /a\0host=x\0", 31, EDGE_REASON_FIRST_BYTES, PASSES },
		{ "\5\1\0", 3, EDGE_REASON_FIRST_BYTES, PASSES },
		{ "0\x0c\2\1\1`\7\2\1\3\4\0\x80\0", 14, EDGE_REASON_FIRST_BYTES, PASSES },
		{ "*1\r\n$4\r\nPING\r\n", 14, EDGE_REASON_FIRST_BYTES, PASSES },
		{ "GET key\r\n", 9, EDGE_REASON_FIRST_BYTES, PASSES },
		{ "\0\1\0\0\0\6\1\3\0\0\0A", 12, EDGE_REASON_FIRST_BYTES, PASSES },
		{ "PING", 4, WAITS, PASSES },
		/* requests that some servers take */
		{ "get / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 34, EDGE_REASON_FIRST_BYTES,
		  EDGE_REASON_OTHER_NAME },
		{ "x1 / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 33, EDGE_REASON_FIRST_BYTES,
		  EDGE_REASON_OTHER_NAME },
		{ "(x) / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 34, EDGE_REASON_FIRST_BYTES, EDGE_REASON_HTTP },
		{ "GETGETGETGETGETGETGETGETGETGETGETG / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 65,
		  EDGE_REASON_FIRST_BYTES, EDGE_REASON_HTTP },
		{ "\0GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 35, EDGE_REASON_FIRST_BYTES,
		  EDGE_REASON_HTTP },
		{ " GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 35, EDGE_REASON_FIRST_BYTES,
		  EDGE_REASON_HTTP },
		{ "\r\n\r\nGET / HTTP/1.1\r\nHost: evil.org\r\n\r\n", 38, EDGE_REASON_HTTP,
		  EDGE_REASON_HTTP },
		{ "GET /a b HTTP/1.1\r\nHost: evil.org\r\n\r\n", 37, EDGE_REASON_HTTP, EDGE_REASON_HTTP },
		{ "GET /\x01 HTTP/1.1\r\nHost: evil.org\r\n\r\n", 35, EDGE_REASON_HTTP, EDGE_REASON_HTTP },
		{ "GET\x1c/\x1cHTTP/1.1\r\nHost: evil.org\r\n\r\n", 34, EDGE_REASON_HTTP, EDGE_REASON_HTTP },
		{ "GET /\r\n\r\n", 9, EDGE_REASON_HTTP, EDGE_REASON_HTTP },
		{ "GET http://evil.org/\r\n\r\n", 24, EDGE_REASON_HTTP, EDGE_REASON_HTTP },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		expect(443, rows[i].bytes, rows[i].len, rows[i].strict, rows[i].bytes);
		expect(22, rows[i].bytes, rows[i].len, rows[i].other, rows[i].bytes);
	}
}

/* However long its first line is, and in whatever pieces it comes. */
Test(gate, long_first_line, .timeout = 60)
{
	static char text[20000];
	char other[128];
	int len = snprintf(text, sizeof(text), "GET /%012000d HTTP/1.1\r\nHost: evil.org\r\n\r\n", 0);

	cr_expect_eq(try_bytes(8080, (const uint8_t *)text, (size_t)len, 20000, other),
		     EDGE_REASON_OTHER_NAME);
	cr_expect_eq(try_bytes(8080, (const uint8_t *)text, (size_t)len, 1000, other),
		     EDGE_REASON_OTHER_NAME);
	len = snprintf(text, sizeof(text), "GET /%012000d HTTP/1.1\r\n" HOST "\r\n", 0);
	cr_expect_eq(try_bytes(8080, (const uint8_t *)text, (size_t)len, 1000, other), PASSES);
}

Test(gate, upgrade, .timeout = 10)
{
	static const char request[] = "GET / HTTP/1.1\r\n" HOST "Upgrade: websocket\r\n\r\n";
	static const struct {
		const char *answer;
		int then;
	} rows[] = {
		{ "HTTP/1.1 101 Switching Protocols\r\n", PASSES },
		{ "HTTP/1.1 200 OK\r\n", EDGE_REASON_OTHER_NAME },
		{ "HTTP/1.1 10", EDGE_REASON_OTHER_NAME },
	};
	static const char more[] = "GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n";

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gate gate = { 0 };
		enum edge_reason why;
		char other[128];
		size_t pass;
		int got;

		cr_assert_eq(gate_check(&gate, "pypi.org", 80, (const uint8_t *)request, sizeof(request) - 1,
					&pass, &why, other),
			     0);
		cr_assert_eq(pass, sizeof(request) - 1);
		cr_assert_eq(gate_check(&gate, "pypi.org", 80, (const uint8_t *)more, sizeof(more) - 1, &pass,
					&why, other),
			     0);
		cr_expect_eq(pass, 0, "nothing passes before the answer");
		http_answered(&gate.http, (const uint8_t *)rows[i].answer, strlen(rows[i].answer));
		got = gate_check(&gate, "pypi.org", 80, (const uint8_t *)more, sizeof(more) - 1, &pass, &why,
				 other) < 0
			  ? (int)why
			  : PASSES;
		cr_expect_eq(got, rows[i].then, "%s: %d", rows[i].answer, got);
	}
}
