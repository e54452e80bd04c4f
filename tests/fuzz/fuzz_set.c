/* set: "path=value" as the command line gives it; whatever happens the policy stays one that can be encoded and freed. */
#include "policy/policy.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct policy policy = { 0 };
	struct policy before = { 0 };
	struct warder_error err;
	char *line_end;

	must(policy_preset("strict", &policy, &err) == 0);
	for (char *line = text; line; line = line_end ? line_end + 1 : NULL) {
		char *value;

		line_end = strchr(line, '\n');
		if (line_end)
			*line_end = 0;
		value = strchr(line, '=');
		if (!value)
			continue;
		*value++ = 0;
		must(policy_copy(&policy, &before, &err) == 0);
		if (policy_set(&policy, line, value, &err) < 0)
			must(policy_equal(&policy, &before) && err.text[0]);
		policy_done(&before);
	}
	if (policy_validate(&policy, &err) == 0) {
		char *encoded = policy_encode(&policy);

		must(encoded && policy_decode(encoded, strlen(encoded), "encoded", &before, &err) == 0);
		must(policy_equal(&policy, &before));
		policy_done(&before);
		free(encoded);
	}
	policy_done(&policy);
	free(text);
	return 0;
}
