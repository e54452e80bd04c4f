#include "runtime/judge/score.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void expect_most(const struct score *score, const char *most)
{
	struct json_writer w = { 0 };
	char *text, *at;

	json_begin_object(&w);
	score_write(score, &(struct batch){ 0 }, &w);
	json_end_object(&w);
	text = json_take(&w);
	cr_assert(text);
	at = strstr(text, "\"most\":");
	cr_expect(at && strncmp(at + 7, most, strlen(most)) == 0, "%s", text);
	free(text);
}

Test(score, what_nobody_has_measured_is_null, .timeout = 10)
{
	struct score score = { 0 };
	const struct judged lost = JUDGED_NOTHING(VERDICT_ACCEPTED);
	const struct judged known = {
		.verdict = VERDICT_ACCEPTED, .wall_us = 5, .cpu_us = 0, .memory_bytes = UINT64_MAX
	};

	expect_most(&score, "{\"wallUs\":null,\"cpuTimeUs\":null,\"peakMemoryBytes\":null}");
	score_add(&score, 0, &lost);
	expect_most(&score, "{\"wallUs\":null,\"cpuTimeUs\":null,\"peakMemoryBytes\":null}");
	score_add(&score, 0, &known);
	score_add(&score, 0, &lost);
	expect_most(&score, "{\"wallUs\":5,\"cpuTimeUs\":0,\"peakMemoryBytes\":null}");
}
