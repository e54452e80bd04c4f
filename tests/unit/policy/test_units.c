#include "base/array.h"
#include "policy/policy.h"

#include <criterion/criterion.h>
#include <string.h>

typedef int parser(const char *text, uint64_t *ret, struct warder_error *err);

struct good {
	parser *parse;
	const char *text;
	uint64_t value;
};

struct bad {
	parser *parse;
	const char *text, *says;
};

Test(units, reads, .timeout = 20)
{
	static const struct good rows[] = {
		{ policy_parse_size, "0", 0 },
		{ policy_parse_size, "1024", 1024 },
		{ policy_parse_size, "512B", 512 },
		{ policy_parse_size, "64KiB", 65536 },
		{ policy_parse_size, "256MiB", 268435456 },
		{ policy_parse_size, "1GiB", 1073741824 },
		{ policy_parse_size, "1.5MiB", 1572864 },
		{ policy_parse_size, "1.50MiB", 1572864 },
		{ policy_parse_size, "2.0B", 2 },
		{ policy_parse_size, "0.5KiB", 512 },
		{ policy_parse_size, "0.0000000000KiB", 0 },
		{ policy_parse_size, "0.0009765625KiB", 1 },
		{ policy_parse_size, "1TiB", 1099511627776 },
		{ policy_parse_size, "9223372036854775807", INT64_MAX },
		{ policy_parse_size, "64M", 67108864 },
		{ policy_parse_size, "64m", 67108864 },
		{ policy_parse_size, "4K", 4096 },
		{ policy_parse_size, "4k", 4096 },
		{ policy_parse_size, "1G", 1073741824 },
		{ policy_parse_size, "1.5g", 1610612736 },
		{ policy_parse_size, "2T", 2199023255552 },
		{ policy_parse_size, "2t", 2199023255552 },
		{ policy_parse_time, "1m30s", 90000000 },
		{ policy_parse_time, "2h30m", 9000000000 },
		{ policy_parse_time, "1h0.5s", 3600500000 },
		{ policy_parse_time, "1d", 86400000000 },
		{ policy_parse_time, "1d2h3m4s5ms6us", 93784005006 },
		{ policy_parse_time, "90m", 5400000000 },
		{ policy_parse_time_or_unlimited, "1m30s", 90000000 },
		{ policy_parse_size, "007", 7 },
		{ policy_parse_time, "30s", 30000000 },
		{ policy_parse_time, "250ms", 250000 },
		{ policy_parse_time, "2m", 120000000 },
		{ policy_parse_time, "1h", 3600000000 },
		{ policy_parse_time, "10us", 10 },
		{ policy_parse_time, "1.5", 1500000 },
		{ policy_parse_time, "0.000001", 1 },
		{ policy_parse_time, "0", 0 },
		{ policy_parse_time, "0.5ms", 500 },
		{ policy_parse_cpus, "0.5", 500 },
		{ policy_parse_cpus, "2", 2000 },
		{ policy_parse_cpus, "0.001", 1 },
		{ policy_parse_cpus, "1.250", 1250 },
		{ policy_parse_size_or_unlimited, "unlimited", POLICY_UNLIMITED },
		{ policy_parse_size_or_unlimited, "1KiB", 1024 },
		{ policy_parse_time_or_unlimited, "unlimited", POLICY_UNLIMITED },
		{ policy_parse_cpus_or_unlimited, "unlimited", POLICY_UNLIMITED },
		{ policy_parse_count_or_unlimited, "unlimited", POLICY_UNLIMITED },
		{ policy_parse_count_or_unlimited, "64", 64 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };
		uint64_t value = 77;

		cr_expect(rows[i].parse(rows[i].text, &value, &err) == 0, "row %zu %s: %s", i, rows[i].text,
			  err.text);
		cr_expect(value == rows[i].value, "row %zu %s is %llu", i, rows[i].text,
			  (unsigned long long)value);
	}
}

Test(units, refuses, .timeout = 20)
{
	static const struct bad rows[] = {
		{ policy_parse_size, "", "\"\" is not a size" },
		{ policy_parse_size, "-1", "it is negative" },
		{ policy_parse_size, "+1", "\"+1\" is not a size" },
		{ policy_parse_size, " 1", "is not a size" },
		{ policy_parse_size, "1 ", "is not a size" },
		{ policy_parse_size, "1 MiB", "is not a size" },
		{ policy_parse_size, "MiB", "is not a size" },
		{ policy_parse_size, ".5MiB", "is not a size" },
		{ policy_parse_size, "1.MiB", "is not a size" },
		{ policy_parse_size, "1..5MiB", "is not a size" },
		{ policy_parse_size, "1MB", "\"256MiB\"" },
		{ policy_parse_size, "1mib", "is not a size" },
		{ policy_parse_size, "1b", "is not a size" },
		{ policy_parse_size, "1P", "is not a size" },
		{ policy_parse_size, "1M512K", "is not a size; write bytes" },
		{ policy_parse_time, "30s1m", "from the largest unit first" },
		{ policy_parse_time, "1m1m", "from the largest unit first" },
		{ policy_parse_time, "1m30", "is not a time; write seconds" },
		{ policy_parse_time, "1.5m30s", "is not a time: only its last part may have a fraction" },
		{ policy_parse_time, "1M", "is not a time" },
		{ policy_parse_time, "1m-30s", "is not a time" },
		{ policy_parse_time, "1w", "is not a time" },
		{ policy_parse_time, "106751991d30h", "too large" },
		{ policy_parse_cpus, "1m", "is not a number of CPUs" },
		{ policy_parse_size, "1MiBs", "is not a size" },
		{ policy_parse_size, "1e6", "is not a size" },
		{ policy_parse_size, "0x10", "is not a size" },
		{ policy_parse_size, "nan", "is not a size" },
		{ policy_parse_size, "inf", "is not a size" },
		{ policy_parse_size, "1.5B", "too many decimals" },
		{ policy_parse_size, "1.5", "too many decimals" },
		{ policy_parse_size, "0.0001KiB", "too many decimals" },
		{ policy_parse_size, "0.00000000000000000000000000001B", "too many decimals" },
		{ policy_parse_size, "9223372036854775808", "too large" },
		{ policy_parse_size, "18446744073709551616", "too large" },
		{ policy_parse_size, "99999999999999999999999999", "too large" },
		{ policy_parse_size, "8388608TiB", "too large" },
		{ policy_parse_size, "16777216TiB", "too large" },
		{ policy_parse_size, "unlimited", "is not a size" },
		{ policy_parse_size_or_unlimited, "Unlimited", "or \"unlimited\"" },
		{ policy_parse_size_or_unlimited, "-1", "negative" },
		{ policy_parse_time, "30sec", "is not a time" },
		{ policy_parse_time, "-5s", "negative" },
		{ policy_parse_time, "0.0000001", "too many decimals" },
		{ policy_parse_time, "1.5us", "too many decimals" },
		{ policy_parse_time, "5124095576030432h", "too large" },
		{ policy_parse_time, "unlimited", "is not a time" },
		{ policy_parse_cpus, "0", "more than 0" },
		{ policy_parse_cpus, "0.0", "more than 0" },
		{ policy_parse_cpus, "0.0005", "too many decimals" },
		{ policy_parse_cpus, "50%", "is not a number of CPUs" },
		{ policy_parse_cpus, "unlimited", "is not a number" },
		{ policy_parse_cpus_or_unlimited, "0", "more than 0" },
		{ policy_parse_count_or_unlimited, "1.5", "too many decimals" },
		{ policy_parse_count_or_unlimited, "64KiB", "is not a count" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };
		uint64_t value = 77;

		cr_expect(rows[i].parse(rows[i].text, &value, &err) == -1, "row %zu accepts %s", i,
			  rows[i].text);
		cr_expect(value == 77, "row %zu writes its result", i);
		cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST, "row %zu kind", i);
		cr_expect(strstr(err.text, rows[i].says), "row %zu (%s) says: %s", i, rows[i].text, err.text);
	}
}

Test(units, quotes_hostile_text_on_one_line, .timeout = 20)
{
	struct warder_error err = { 0 };
	uint64_t value;
	char text[5000];

	memset(text, '\n', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cr_expect(policy_parse_size(text, &value, &err) == -1);
	cr_expect_null(strchr(err.text, '\n'));
	cr_expect(strstr(err.text, "is not a size"), "the reason is not cut off: %s", err.text);
}

Test(units, writes, .timeout = 20)
{
	static const struct {
		char *(*format)(uint64_t value, char *buf, size_t len);
		uint64_t value;
		const char *text;
	} rows[] = {
		{ policy_format_size, 0, "0B" },
		{ policy_format_size, 1, "1B" },
		{ policy_format_size, 1000, "1000B" },
		{ policy_format_size, 1024, "1KiB" },
		{ policy_format_size, 1572864, "1536KiB" },
		{ policy_format_size, 268435456, "256MiB" },
		{ policy_format_size, (uint64_t)3 << 40, "3TiB" },
		{ policy_format_size, INT64_MAX, "9223372036854775807B" },
		{ policy_format_size, POLICY_UNLIMITED, "unlimited" },
		{ policy_format_time, 0, "0s" },
		{ policy_format_time, 1, "1us" },
		{ policy_format_time, 250000, "250ms" },
		{ policy_format_time, 30000000, "30s" },
		{ policy_format_time, 90000000, "90s" },
		{ policy_format_time, 600000000, "10m" },
		{ policy_format_time, 3600000000, "1h" },
		{ policy_format_time, POLICY_UNLIMITED, "unlimited" },
		{ policy_format_cpus, 500, "0.5" },
		{ policy_format_cpus, 1000, "1" },
		{ policy_format_cpus, 1250, "1.25" },
		{ policy_format_cpus, 1, "0.001" },
		{ policy_format_cpus, 10000, "10" },
		{ policy_format_cpus, POLICY_UNLIMITED, "unlimited" },
		{ policy_format_count, 1000, "1000" },
		{ policy_format_count, POLICY_UNLIMITED, "unlimited" },
	};
	char buf[32];

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_str_eq(rows[i].format(rows[i].value, buf, sizeof(buf)), rows[i].text, "row %zu: %s",
				 i, buf);
}

Test(units, what_is_written_is_read_back, .timeout = 20)
{
	struct warder_error err;
	char buf[32];

	for (uint64_t value = 1; value < (uint64_t)1 << 62; value = value * 3 + 1) {
		uint64_t size = 0, time = 0, milli = 0;

		cr_expect(policy_parse_size(policy_format_size(value, buf, sizeof(buf)), &size, &err) == 0);
		cr_expect(policy_parse_time(policy_format_time(value, buf, sizeof(buf)), &time, &err) == 0);
		cr_expect(policy_parse_cpus(policy_format_cpus(value, buf, sizeof(buf)), &milli, &err) == 0);
		cr_expect(size == value && time == value && milli == value, "%llu",
			  (unsigned long long)value);
	}
}
