/* units: sizes, times, CPUs and counts; what is accepted is written as text that means the same. */
#include "base/array.h"
#include "policy/policy.h"
#include "tests/fuzz/fuzz.h"

static const struct unit {
	int (*parse)(const char *text, uint64_t *ret, struct warder_error *err);
	char *(*format)(uint64_t value, char *buf, size_t len);
} units[] = {
	{ policy_parse_size_or_unlimited, policy_format_size },
	{ policy_parse_time_or_unlimited, policy_format_time },
	{ policy_parse_cpus_or_unlimited, policy_format_cpus },
	{ policy_parse_count_or_unlimited, policy_format_count },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct policy_cidr cidr;
	struct warder_error err;

	for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
		uint64_t value;
		uint64_t again;
		char buf[32];

		if (units[i].parse(text, &value, &err) < 0)
			continue;
		units[i].format(value, buf, sizeof(buf));
		must(units[i].parse(buf, &again, &err) == 0);
		must(value == again);
	}
	if (policy_parse_cidr(text, &cidr, &err) == 0)
		must(policy_cidr_contains(&cidr, &cidr));
	free(text);
	return 0;
}
