/*
 * inject: the heads of a program's requests, which get a credential, and the answers of a host, which must not have it. The first byte says which.
 * An answer is given twice, in one piece and in pieces of a length that the second byte says: what passes is the same.
 */
#include "edge/http.h"
#include "edge/inject.h"
#include "tests/fuzz/input.h"

#define SECRET "secret-of-test"
#define LINE   "Authorization: Bearer " SECRET "\r\n"

static struct inject_secret secret;

struct passed {
	uint8_t *bytes;
	size_t len, room;
	bool chunked; /* the edge makes chunks of what has come: their borders depend on the pieces */
};

static bool pass(void *context, const void *bytes, size_t len)
{
	struct passed *passed = context;

	must(len <= passed->room - passed->len);
	memcpy(passed->bytes + passed->len, bytes, len);
	passed->len += len;
	return true;
}

static size_t count_of(const void *bytes, size_t len, const char *text)
{
	const uint8_t *at = bytes;
	const uint8_t *end = at + len;
	size_t count = 0;

	while ((at = memmem(at, (size_t)(end - at), text, strlen(text)))) {
		at++;
		count++;
	}
	return count;
}

static void ask(const uint8_t *data, size_t size)
{
	static const struct edge_inject rule = { .header = "Authorization",
						 .before = "Bearer ",
						 .methods = { "GET", "POST", "HEAD" },
						 .method_count = 3,
						 .paths = { "/a/", "/b" },
						 .path_count = 2 };
	struct http http = { 0 };
	enum edge_reason why = EDGE_REASON_COUNT;
	char other[128];
	bool is_head;
	uint8_t *out;
	const long head = http_step(&http, "api.test", 443, data, size, &why, other);
	long n;

	if (head <= 0) {
		must(head == 0 || why < EDGE_REASON_COUNT);
		return;
	}
	out = malloc((size_t)head + INJECT_MORE);
	n = inject_request(&rule, &secret, data, (size_t)head, out, &is_head, &why);
	must(n > 0 || why < EDGE_REASON_COUNT);
	must(n <= head + INJECT_MORE);
	if (n > 0) {
		/* Another method or path passes without the header; what the program has set there never does. */
		const size_t granted = count_of(out, (size_t)n, "\r\n" LINE);

		must(n >= 4 && memcmp(out + n - 4, "\r\n\r\n", 4) == 0);
		must(granted <= 1 && count_of(out, (size_t)n, "\r\nAuthorization:") == granted);
		must(!granted || memcmp(out, "GET /", 5) == 0 || memcmp(out, "POST /", 6) == 0 ||
		     memcmp(out, "HEAD /", 6) == 0);
		must(granted || !memmem(out, (size_t)n, "Bearer " SECRET, 7 + strlen(SECRET)) ||
		     memmem(data, (size_t)head, "Bearer " SECRET, 7 + strlen(SECRET)));
	}
	free(out);
}

/* 1: the answer ended well; what has passed is in *ret, else too, but not all that could have. */
static int take_answer(const uint8_t *data, size_t size, size_t step, bool to_head, struct passed *ret)
{
	struct answer answer = { 0 };
	enum edge_reason why = EDGE_REASON_COUNT;
	size_t seen = 0;
	size_t taken = 0;

	answer_begin(&answer, to_head);
	while (seen < size) {
		long n = 1;

		seen += step < size - seen ? step : size - seen;
		while (n > 0 && taken < seen && answer.state != ANSWER_NONE) {
			uint8_t *held = malloc(seen - taken);

			memcpy(held, data + taken, seen - taken);
			n = answer_step(&answer, &secret, held, seen - taken, pass, ret, &why);
			free(held);
			ret->chunked |= answer.chunked;
			must(n >= 0 || why < EDGE_REASON_COUNT);
			must(n <= (long)(seen - taken));
			if (n < 0)
				return 0;
			taken += (size_t)n;
		}
	}
	return answer_end(&answer, &secret, pass, ret);
}

static void answer(const uint8_t *data, size_t size, size_t step, bool to_head)
{
	const size_t room = 16 * size + 1024;
	struct passed whole = { .bytes = malloc(room), .room = room };
	struct passed parts = { .bytes = malloc(room), .room = room };
	const int first = take_answer(data, size, size, to_head, &whole);
	const int second = take_answer(data, size, step, to_head, &parts);

	must(first == second);
	must(!first || whole.chunked ||
	     (whole.len == parts.len && memcmp(whole.bytes, parts.bytes, whole.len) == 0));
	must(count_of(whole.bytes, whole.len, SECRET) == 0 && count_of(parts.bytes, parts.len, SECRET) == 0);
	free(whole.bytes);
	free(parts.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	must(secret.len || !inject_take_secret(&secret, SECRET "\n", sizeof(SECRET)));
	if (size < 3)
		return 0;
	if (data[0] % 2)
		answer(data + 2, size - 2, (size_t)data[1] + 1, data[0] & 2);
	else
		ask(data + 2, size - 2);
	return 0;
}
