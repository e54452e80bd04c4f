/* The output of a program on another machine, as it is fetched when the program has ended. The host's answer is written here. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static int fail_at; /* the allocation from here that fails; 0: none */

static void *failing_realloc(void *at, size_t size)
{
	return fail_at && --fail_at == 0 ? NULL : realloc(at, size);
}

#define realloc          failing_realloc
#define remote_place_ask answer_of_test
#include "runtime/cli/remote_result.c"
#undef realloc

static const char *answer;

int remote_place_ask(const struct remote_place *place, const char *rest, struct remote_asking *how,
		     char **ret_text, size_t *ret_len, struct warder_error *err)
{
	*ret_len = strlen(answer);
	*ret_text = strdup(answer);
	return *ret_text ? 0 : -1;
}

#define EVENT(name, text) "event: " name "\ndata: {\"stream\": \"stdout\", \"offset\": 0, " text "}\n\n"
#define TWO               EVENT("output", "\"text\": \"one \"") EVENT("output", "\"base64\": \"dHdv\"")

static struct reported_streams fetch(const char *text)
{
	const struct remote_place place = { 0 };
	struct reported_streams streams = { 0 };

	answer = text;
	remote_result_fetch_output(&place, "execution", &streams);
	free(streams.bytes[0]);
	free(streams.bytes[1]);
	return streams;
}

Test(remote_result, output_is_put_together, .timeout = 60)
{
	const struct reported_streams streams = fetch(TWO EVENT("end", "\"text\": \"x\""));

	cr_expect(!streams.lost && streams.len[0] == 7 && streams.came[0].bytes == 7);
}

Test(remote_result, output_without_memory_is_lost_and_not_shorter, .timeout = 60)
{
	for (int at = 1; at <= 2; at++) {
		fail_at = at;
		cr_expect(fetch(TWO).lost, "allocation %d", at);
		cr_expect(fail_at == 0, "allocation %d", at);
	}
}

Test(remote_result, output_without_bytes_is_lost, .timeout = 60)
{
	cr_expect(fetch(EVENT("output", "\"base64\": \"?\"")).lost);
}
