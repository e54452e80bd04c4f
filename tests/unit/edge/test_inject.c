/* edge/inject.c: which requests get a credential, and that no answer with it passes, however it is cut. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edge/inject.h"

static struct inject_secret *secret_of(const char *text)
{
	struct inject_secret *secret = calloc(1, sizeof(*secret));

	cr_assert(secret && !inject_take_secret(secret, text, strlen(text)));
	return secret;
}

Test(inject, files_of_secrets, .timeout = 20)
{
	static const struct {
		const char *text, *fault;
	} rows[] = {
		{ "12345678", NULL },
		{ "12345678\n", NULL },
		{ "12345678\r\n", NULL },
		{ "with a blank", NULL },
		{ "", "is empty" },
		{ "\n", "is empty" },
		{ "\r\n", "is empty" },
		{ "1234567\n", "less than 8" },
		{ "12345678\n\n", "more than one line" },
		{ "12345678\n12345678\n", "more than one line" },
		{ "1234\r5678", "more than one line" },
		{ "1234\t5678", "a character" },
		{ "1234\xc3\xa4"
		  "5678",
		  "a character" },
		{ " 12345678", "a blank" },
		{ "12345678 ", "a blank" },
	};
	struct inject_secret secret;
	char longest[INJECT_SECRET_MAX + 2];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *fault = inject_take_secret(&secret, rows[i].text, strlen(rows[i].text));

		cr_expect(rows[i].fault ? fault && strstr(fault, rows[i].fault) : !fault, "%s: %s",
			  rows[i].text, fault ? fault : "taken");
	}
	cr_expect(inject_take_secret(&secret, "1234\0005678", 9) != NULL, "a NUL");
	memset(longest, 'x', sizeof(longest));
	cr_expect(!inject_take_secret(&secret, longest, INJECT_SECRET_MAX));
	cr_expect(inject_take_secret(&secret, longest, INJECT_SECRET_MAX + 1) != NULL, "a long one");
}

Test(inject, paths, .timeout = 20)
{
	static const struct {
		const char *target;
		enum inject_path wanted;
	} rows[] = {
		{ "/me/", INJECT_PATH_LISTED },        { "/me/x/y", INJECT_PATH_LISTED },
		{ "/me/x/", INJECT_PATH_LISTED },      { "/me/x?../..//%2f", INJECT_PATH_LISTED },
		{ "/user", INJECT_PATH_LISTED },       { "/user?x", INJECT_PATH_LISTED },
		{ "/%75ser", INJECT_PATH_LISTED },     { "/m%65/x", INJECT_PATH_LISTED },
		{ "/me/...", INJECT_PATH_LISTED },     { "/me/..x", INJECT_PATH_LISTED },
		{ "/me/x;v=1", INJECT_PATH_LISTED },   { "/me/%C3%A4", INJECT_PATH_LISTED },
		{ "/me", INJECT_PATH_OTHER },          { "/mee/", INJECT_PATH_OTHER },
		{ "/ME/x", INJECT_PATH_OTHER },        { "/user/", INJECT_PATH_OTHER },
		{ "/users", INJECT_PATH_OTHER },       { "/", INJECT_PATH_OTHER },
		{ "/?/me/", INJECT_PATH_OTHER },       { "/user;x", INJECT_PATH_OTHER },
		{ "", INJECT_PATH_UNCLEAR },           { "me/", INJECT_PATH_UNCLEAR },
		{ "/me/..", INJECT_PATH_UNCLEAR },     { "/me/../x", INJECT_PATH_UNCLEAR },
		{ "/x/../me/", INJECT_PATH_UNCLEAR },  { "/me/.", INJECT_PATH_UNCLEAR },
		{ "/me/./x", INJECT_PATH_UNCLEAR },    { "/me/..?x", INJECT_PATH_UNCLEAR },
		{ "/me/..;x/y", INJECT_PATH_UNCLEAR }, { "/me/.;x/y", INJECT_PATH_UNCLEAR },
		{ "//me/", INJECT_PATH_UNCLEAR },      { "/me//x", INJECT_PATH_UNCLEAR },
		{ "/me/;/x", INJECT_PATH_UNCLEAR },    { "/me/%2e%2e/x", INJECT_PATH_UNCLEAR },
		{ "/me/%2E./x", INJECT_PATH_UNCLEAR }, { "/me%2fx", INJECT_PATH_UNCLEAR },
		{ "/me%2Fx", INJECT_PATH_UNCLEAR },    { "/me/%5c..", INJECT_PATH_UNCLEAR },
		{ "/me/\\..", INJECT_PATH_UNCLEAR },   { "/me/%252e", INJECT_PATH_UNCLEAR },
		{ "/me/%25", INJECT_PATH_UNCLEAR },    { "/me/%3fx", INJECT_PATH_UNCLEAR },
		{ "/me/%23x", INJECT_PATH_UNCLEAR },   { "/me/%3bx", INJECT_PATH_UNCLEAR },
		{ "/me/#x", INJECT_PATH_UNCLEAR },     { "/me/%00", INJECT_PATH_UNCLEAR },
		{ "/me/%0a", INJECT_PATH_UNCLEAR },    { "/me/%7f", INJECT_PATH_UNCLEAR },
		{ "/me/%", INJECT_PATH_UNCLEAR },      { "/me/%2", INJECT_PATH_UNCLEAR },
		{ "/me/%g0", INJECT_PATH_UNCLEAR },
	};
	static const struct edge_inject rule = { .paths = { "/me/", "/user" }, .path_count = 2 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(inject_path(&rule, rows[i].target, strlen(rows[i].target)), rows[i].wanted, "%s",
			     rows[i].target);
}

#define HOST "Host: a.org\r\n"

Test(inject, requests, .timeout = 20)
{
	static const struct {
		const char *head, *wanted; /* NULL: refused */
		enum edge_reason why;
		bool is_head;
	} rows[] = {
		{ "GET /me/ HTTP/1.1\r\n" HOST "\r\n",
		  "GET /me/ HTTP/1.1\r\n" HOST "X-Key: a 12345678 b\r\nAccept-Encoding: identity\r\n\r\n", 0,
		  false },
		{ "GET /me/ HTTP/1.1\r\nx-KEY: mine\r\n" HOST
		  "X-Key:\r\nX-Keys: stays\r\nRange: bytes=1-\r\nTE: x\r\n\r\n",
		  "GET /me/ HTTP/1.1\r\n" HOST
		  "X-Keys: stays\r\nX-Key: a 12345678 b\r\nAccept-Encoding: identity\r\n\r\n",
		  0, false },
		{ "HEAD /me/ HTTP/1.1\r\n" HOST "\r\n", "HEAD /me/ HTTP/1.1\r\n" HOST "\r\n", 0, true },
		{ "get /me/ HTTP/1.1\r\n" HOST "\r\n", "get /me/ HTTP/1.1\r\n" HOST "\r\n", 0, false },
		{ "GET /you HTTP/1.1\r\n" HOST "X-Key: mine\r\nRange: bytes=1-\r\n\r\n",
		  "GET /you HTTP/1.1\r\n" HOST "Range: bytes=1-\r\n\r\n", 0, false },
		{ "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 0, false },
		{ "GET * HTTP/1.1\r\n" HOST "\r\n", NULL, EDGE_REASON_PATH, false },
		{ "GET http://a.org/me/ HTTP/1.1\r\n" HOST "\r\n", NULL, EDGE_REASON_PATH, false },
		{ "GET /me/../x HTTP/1.1\r\n" HOST "\r\n", NULL, EDGE_REASON_PATH, false },
		{ "TRACE /me/ HTTP/1.1\r\n" HOST "\r\n", NULL, EDGE_REASON_METHOD, false },
		{ "trace /me/ HTTP/1.1\r\n" HOST "\r\n", NULL, EDGE_REASON_METHOD, false },
	};
	static const struct edge_inject rule = { .header = "X-Key",
						 .before = "a ",
						 .after = " b",
						 .methods = { "GET" },
						 .method_count = 1,
						 .paths = { "/me/" },
						 .path_count = 1 };
	struct inject_secret *secret = secret_of("12345678");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const size_t len = strlen(rows[i].head);
		uint8_t *out = malloc(len + INJECT_MORE);
		enum edge_reason why = EDGE_REASON_COUNT;
		bool is_head = false;
		const long n =
		    inject_request(&rule, secret, (const uint8_t *)rows[i].head, len, out, &is_head, &why);

		if (rows[i].wanted)
			cr_expect(n == (long)strlen(rows[i].wanted) &&
				      memcmp(out, rows[i].wanted, (size_t)n) == 0 &&
				      is_head == rows[i].is_head,
				  "%s became %.*s", rows[i].head, (int)n, (char *)out);
		else
			cr_expect(n == -1 && why == rows[i].why, "%s: %ld, %d", rows[i].head, n, why);
		free(out);
	}
	free(secret);
}

Test(inject, a_path_is_looked_at_only_where_the_rule_has_some, .timeout = 20)
{
	static const char head[] = "GET /@scope%2fname/../x HTTP/1.1\r\n" HOST "\r\n";
	static const struct edge_inject rule = { .header = "X-Key" };
	struct inject_secret *secret = secret_of("12345678");
	uint8_t out[sizeof(head) + INJECT_MORE];
	enum edge_reason why;
	bool is_head;
	const long n =
	    inject_request(&rule, secret, (const uint8_t *)head, sizeof(head) - 1, out, &is_head, &why);

	cr_expect(n > 0 && memmem(out, (size_t)n, "X-Key: 12345678\r\n", 17));
	free(secret);
}

/* ---- answers ---- */

struct got {
	char at[4096];
	size_t len;
};

static bool take(void *context, const void *bytes, size_t len)
{
	struct got *got = context;

	cr_assert(got->len + len < sizeof(got->at));
	memcpy(got->at + got->len, bytes, len);
	got->len += len;
	got->at[got->len] = '\0';
	return true;
}

enum { WHOLE = -1, MORE = -2 };

/* Give an answer in pieces of `step`, and then the end. WHOLE, MORE (it is cut off), or the reason. */
static int try_answer(const struct inject_secret *secret, const char *text, size_t len, size_t step,
		      bool to_head, struct got *got)
{
	struct answer answer;
	size_t seen = 0, taken = 0;

	*got = (struct got){ .len = 0 };
	answer_begin(&answer, to_head);
	while (seen < len) {
		seen += step < len - seen ? step : len - seen;
		for (;;) {
			enum edge_reason why = EDGE_REASON_COUNT;
			const long n = answer_step(&answer, secret, (const uint8_t *)text + taken,
						   seen - taken, take, got, &why);

			if (n < 0)
				return (int)why;
			cr_assert((size_t)n <= seen - taken);
			taken += (size_t)n;
			if (n == 0)
				break;
		}
	}
	return taken == len && answer_end(&answer, secret, take, got) ? WHOLE : MORE;
}

#define OK      "HTTP/1.1 200 OK\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"

Test(inject, answers, .timeout = 60)
{
	static const struct {
		const char *text;
		int wanted;
		const char *body; /* of what passes, without chunks; NULL: whatever */
		bool to_head;
	} rows[] = {
		{ OK "Content-Length: 5\r\n\r\nhello", WHOLE, "hello", false },
		{ OK "Content-Length: 0\r\n\r\n", WHOLE, "", false },
		{ OK "\r\nup to the end", WHOLE, "up to the end", false },
		{ OK CHUNKED "5\r\nhello\r\n3;x=y\r\nyou\r\n0\r\n\r\n", WHOLE, NULL, false },
		{ OK CHUNKED "5\r\nhello\r\n0\r\nX-Trailer: abcabcabd\r\n\r\n", WHOLE, NULL, false },
		{ OK "Content-Length: 5\r\n\r\n", WHOLE, "", true },
		{ "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", WHOLE, "", false },
		{ "HTTP/1.1 204 None\r\n\r\n", WHOLE, "", false },
		{ "HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 2\r\n\r\nhi", WHOLE, NULL, false },
		{ "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", WHOLE, "hi", false },
		/* What begins as the secret is held back, and comes. */
		{ OK "Content-Length: 6\r\n\r\nabcabc", WHOLE, "abcabc", false },
		{ OK "Content-Length: 8\r\n\r\nabcabcab", WHOLE, "abcabcab", false },
		{ OK "\r\nabcabcab", WHOLE, "abcabcab", false },
		{ OK "\r\nabcabcabcab", WHOLE, "abcabcabcab", false },
		{ OK "\r\nabcabcabxabcabca", WHOLE, "abcabcabxabcabca", false },
		{ OK CHUNKED "3\r\nabc\r\n3\r\nabc\r\n2\r\nab\r\n0\r\n\r\n", WHOLE, NULL, false },
		/* The secret is abcabcabd. */
		{ OK "Content-Length: 9\r\n\r\nabcabcabd", EDGE_REASON_SECRET, NULL, false },
		{ OK "Content-Length: 20\r\n\r\nxxabcabcabcabdyy", EDGE_REASON_SECRET, NULL, false },
		{ OK "\r\nabcabcabcabcabd", EDGE_REASON_SECRET, NULL, false },
		{ OK CHUNKED "4\r\nabca\r\n5\r\nbcabd\r\n0\r\n\r\n", EDGE_REASON_SECRET, NULL, false },
		{ OK CHUNKED "1\r\na\r\n1\r\nb\r\n1\r\nc\r\n1\r\na\r\n1\r\nb\r\n1\r\nc\r\n1\r\na\r\n1\r\nb\r"
			     "\n1\r\nd\r\n",
		  EDGE_REASON_SECRET, NULL, false },
		{ OK "X-Echo: abcabcabd\r\nContent-Length: 0\r\n\r\n", EDGE_REASON_SECRET, NULL, false },
		{ "HTTP/1.1 200 abcabcabd\r\n\r\n", EDGE_REASON_SECRET, NULL, false },
		{ "HTTP/1.1 100 Continue\r\nX: abcabcabd\r\n\r\n", EDGE_REASON_SECRET, NULL, false },
		{ OK "X: abcabcabd\r\n\r\n", EDGE_REASON_SECRET, NULL, true },
		/* What two programs may read in two ways. */
		{ OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", EDGE_REASON_ANSWER, NULL, false },
		{ OK "Content-Length: 5\r\n" CHUNKED "5\r\nhello\r\n0\r\n\r\n", EDGE_REASON_ANSWER, NULL,
		  false },
		{ OK "Content-Length: +5\r\n\r\nhello", EDGE_REASON_ANSWER, NULL, false },
		{ OK "Content-Length : 5\r\n\r\nhello", EDGE_REASON_ANSWER, NULL, false },
		{ OK "Transfer-Encoding: gzip, chunked\r\n\r\n", EDGE_REASON_ANSWER, NULL, false },
		{ OK "A: b\n c\r\n\r\n", EDGE_REASON_ANSWER, NULL, false },
		{ OK " folded\r\n\r\n", EDGE_REASON_ANSWER, NULL, false },
		{ OK "A\r\n\r\n", EDGE_REASON_ANSWER, NULL, false },
		{ OK CHUNKED "x\r\n", EDGE_REASON_ANSWER, NULL, false },
		{ OK CHUNKED "5\nhello\r\n", EDGE_REASON_ANSWER, NULL, false },
		{ OK CHUNKED "2\r\nhello\r\n", EDGE_REASON_ANSWER, NULL, false },
		{ OK CHUNKED "fffffffffffffffff\r\n", EDGE_REASON_ANSWER, NULL, false },
		{ "HTTP/1.1 101 Switching\r\n\r\n", EDGE_REASON_ANSWER, NULL, false },
		{ "HTTP/2 200\r\n\r\n", EDGE_REASON_ANSWER, NULL, false },
		{ "HTTP/1.1 20 OK\r\n\r\n", EDGE_REASON_ANSWER, NULL, false },
		{ "hello\r\n\r\n", EDGE_REASON_ANSWER, NULL, false },
		{ OK "Content-Length: 2\r\n\r\nhi more", EDGE_REASON_ANSWER, NULL, false },
		/* Cut off. */
		{ OK "Content-Length: 5\r\n\r\nhell", MORE, NULL, false },
		{ OK CHUNKED "5\r\nhello\r\n", MORE, NULL, false },
		{ OK "Content-Le", MORE, NULL, false },
	};
	struct inject_secret *secret = secret_of("abcabcabd");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const size_t len = strlen(rows[i].text);

		for (size_t step = 1; step <= len; step = step < 12 ? step + 1 : step * 3) {
			struct got got;
			const int ret = try_answer(secret, rows[i].text, len, step, rows[i].to_head, &got);
			const char *body = strstr(got.at, "\r\n\r\n");

			cr_expect_eq(ret, rows[i].wanted, "%s in pieces of %zu: %d instead of %d",
				     rows[i].text, step, ret, rows[i].wanted);
			cr_expect(!strstr(got.at, "abcabcabd"), "%s in pieces of %zu passed", rows[i].text,
				  step);
			if (rows[i].body)
				cr_expect(body && strcmp(body + 4, rows[i].body) == 0,
					  "%s in pieces of %zu: %s", rows[i].text, step, got.at);
		}
	}
	free(secret);
}

Test(inject, chunks_of_an_answer, .timeout = 20)
{
	static const char text[] = OK CHUNKED "4\r\nabca\r\n3\r\nxyz\r\n0\r\nX-Trailer: 1\r\n\r\n";
	struct inject_secret *secret = secret_of("abcabcabd");
	struct got got;

	cr_expect_eq(try_answer(secret, text, sizeof(text) - 1, sizeof(text), false, &got), WHOLE);
	cr_expect_str_eq(got.at, OK CHUNKED "4\r\nabca\r\n3\r\nxyz\r\n0\r\n\r\n");
	free(secret);
}

Test(inject, nothing_was_asked, .timeout = 20)
{
	struct inject_secret *secret = secret_of("12345678");
	struct answer answer = { 0 };
	struct got got = { .len = 0 };
	enum edge_reason why = EDGE_REASON_COUNT;

	cr_expect(answer_step(&answer, secret, (const uint8_t *)OK, 5, take, &got, &why) == -1 &&
		  why == EDGE_REASON_ANSWER);
	free(secret);
}
