/*
 * policy: a document that is accepted makes a policy that is valid, is within itself as a ceiling, and is the same after
 * encoding and decoding; one that is refused is refused with a reason.
 */
#include "policy/policy.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy policy = { 0 };
	struct policy again = { 0 };
	struct warder_error err;
	char *text;

	if (policy_decode((const char *)data, size, "input", &policy, &err) < 0) {
		must(err.code != WARDER_ERROR_NONE && err.text[0] && !strchr(err.text, '\n'));
		return 0;
	}
	must(policy_validate_document(&policy, &err) == 0);
	must(policy_check_ceiling(&policy, &policy, &err) == 0);
	text = policy_encode(&policy);
	must(text);
	must(policy_decode(text, strlen(text), "encoded", &again, &err) == 0);
	must(policy_equal(&policy, &again));
	free(text);
	policy_done(&policy);
	policy_done(&again);
	return 0;
}
