/* reported: output that came beside the result, and what the host has signed of it. */
#include "runtime/library/reported.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOTAL 1000

static void digest(const char *bytes, size_t len, char ret[SHA256_HEX])
{
	struct sha256 sha;

	sha256_init(&sha);
	sha256_add(&sha, bytes, len);
	sha256_hex(&sha, ret);
}

/* The output of a terminal of `came`, of which the host has signed the bytes from `offset` on. Whether it is refused; otherwise what the receipt
 * says. */
static bool refused(const char *bytes, struct reported_came came, size_t offset, size_t len,
		    enum policy_outputs *ret)
{
	struct reported_streams streams = { .came = { came } };
	const uint64_t none[2] = { 0 };
	struct warder_result *result = NULL;
	struct warder_error err = { 0 };
	char is_signed[SHA256_HEX], text[2000];
	int status;

	reported_count(&streams, none);
	streams.came[0] = came;
	digest(bytes + offset, len, is_signed);
	snprintf(
	    text, sizeof(text),
	    "{\"cause\":\"exit\",\"exitCode\":0,\"signal\":null,\"stdout\":{\"bytesTotal\":%d},"
	    "\"stderr\":{\"bytesTotal\":0},\"receipt\":{\"isolation\":\"none\",\"controls\":[]},\"outputs\":{"
	    "\"stdout\":{\"offset\":%zu,\"bytes\":%zu,\"sha256\":\"%s\"},"
	    "\"stderr\":{\"offset\":0,\"bytes\":0,\"sha256\":\"%s\"}}}",
	    TOTAL, offset, len, is_signed, streams.came[1].sha256);
	status = reported_read_beside(text, strlen(text), "remote:a", &streams, &result, &err);
	cr_assert(status == 0 || strcmp(err.field, "stdout") == 0, "%s", err.text);
	if (status == 0)
		*ret = result->receipt.outputs;
	warder_result_free(result);
	return status < 0;
}

/* What comes to be known of bytes from `from` on, if the last `kept` of them are still here. */
static struct reported_came came_of(const char *bytes, size_t from, size_t kept)
{
	struct reported_came came = { .known = true,
				      .offset = from,
				      .bytes = TOTAL - from,
				      .tail = bytes + TOTAL - kept,
				      .tail_len = kept };

	digest(bytes + from, TOTAL - from, came.sha256);
	return came;
}

Test(reported, the_end_is_compared, .timeout = 20)
{
	char bytes[TOTAL], changed[TOTAL];
	enum policy_outputs outputs;

	for (size_t i = 0; i < TOTAL; i++)
		bytes[i] = changed[i] = (char)('a' + i % 26);
	changed[950] ^= 1;
	cr_expect_not(refused(bytes, came_of(bytes, 0, 100), 0, TOTAL, &outputs));
	cr_expect_eq(outputs, POLICY_OUTPUTS_SIGNED);
	cr_expect(refused(bytes, came_of(changed, 0, 100), 0, TOTAL, &outputs), "a changed byte of all");
	cr_expect_not(refused(bytes, came_of(bytes, 0, 100), 920, 80, &outputs));
	cr_expect_eq(outputs, POLICY_OUTPUTS_END_SIGNED);
	cr_expect(refused(bytes, came_of(changed, 0, 100), 920, 80, &outputs), "a changed byte of the end");
	cr_expect_not(refused(bytes, came_of(changed, 0, 100), 960, 40, &outputs), "nobody signed it");
	cr_expect_eq(outputs, POLICY_OUTPUTS_END_SIGNED);
	cr_expect(refused(bytes, came_of(bytes, 0, 100), 920, 70, &outputs), "more came than there was");
	cr_expect_not(refused(bytes, came_of(bytes, 0, 100), 800, 200, &outputs));
	cr_expect_eq(outputs, POLICY_OUTPUTS_NOT_COMPARED, "the end is not here any more");
}

Test(reported, a_loss_is_no_lie, .timeout = 20)
{
	char bytes[TOTAL];
	enum policy_outputs outputs;
	struct reported_came came;

	memset(bytes, 'x', TOTAL);
	cr_expect_not(refused(bytes, came_of(bytes, 900, 100), 900, 100, &outputs));
	cr_expect_eq(outputs, POLICY_OUTPUTS_SIGNED, "all that came");
	cr_expect_not(refused(bytes, came_of(bytes, 900, 100), 950, 50, &outputs));
	cr_expect_eq(outputs, POLICY_OUTPUTS_END_SIGNED);
	cr_expect_not(refused(bytes, came_of(bytes, 900, 100), 800, 200, &outputs));
	cr_expect_eq(outputs, POLICY_OUTPUTS_NOT_COMPARED, "a part did not come");
	came = came_of(bytes, 900, 100);
	came.tail = NULL;
	cr_expect(refused(bytes, came, 950, 50, &outputs), "without a tail, only all of it is compared");
	came.known = false;
	cr_expect_not(refused(bytes, came, 950, 50, &outputs));
	cr_expect_eq(outputs, POLICY_OUTPUTS_NOT_COMPARED);
}
