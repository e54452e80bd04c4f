#include "policy/amounts.h"

#include <string.h>

#include "base/array.h"
#include "policy/names.h"

#define KIB      ((uint64_t)1 << 10)
#define MIB      ((uint64_t)1 << 20)
#define TIB      ((uint64_t)1 << 40)
#define YEAR_US  ((uint64_t)365 * 24 * 3600 * 1000000)
#define MAX_SIZE ((uint64_t)INT64_MAX) /* what rlimits, cgroup files and off_t can all hold */

#define AT(member) offsetof(struct policy, member)

static const struct policy_amount amounts[] = {
	{ POLICY_FIELD_NETWORK_CONNECTIONS, POLICY_MEASURE_COUNT, AT(network.connections_max), 1, 4096, false,
	  "network.mode \"none\" is the way to allow none" },
	{ POLICY_FIELD_NETWORK_BYTES, POLICY_MEASURE_SIZE, AT(network.bytes_max), KIB, MAX_SIZE, true,
	  "no connection is opened with less" },
	{ POLICY_FIELD_TMP, POLICY_MEASURE_SIZE, AT(filesystem.tmp_bytes), 16 * KIB, TIB, false,
	  "files that Warder makes for /proc lie there, too" },
	{ POLICY_FIELD_WALL_TIME, POLICY_MEASURE_TIME, AT(limits.wall_time_us), 1, YEAR_US, true,
	  "a program needs some time" },
	{ POLICY_FIELD_CPU_TIME, POLICY_MEASURE_TIME, AT(limits.cpu_time_us), 1, YEAR_US, true,
	  "a program needs some time" },
	{ POLICY_FIELD_MEMORY, POLICY_MEASURE_SIZE, AT(limits.memory_bytes), MIB, MAX_SIZE, true,
	  "no program starts in less" },
	{ POLICY_FIELD_SWAP, POLICY_MEASURE_SIZE, AT(limits.swap_bytes), 0, MAX_SIZE, true, "" },
	/* A bandwidth period of 100 ms cannot hold a quota of less than 1 ms. */
	{ POLICY_FIELD_CPUS, POLICY_MEASURE_CPUS, AT(limits.cpu_milli), 10, 8192000, true,
	  "the kernel counts no smaller share" },
	{ POLICY_FIELD_PIDS, POLICY_MEASURE_COUNT, AT(limits.pids_max), 1, (uint64_t)1 << 22, true,
	  "the program itself is one process" },
	{ POLICY_FIELD_OPEN_FILES, POLICY_MEASURE_COUNT, AT(limits.open_files), 6, (uint64_t)1 << 30, true,
	  "the start of the program needs as many" },
	{ POLICY_FIELD_FILE_SIZE, POLICY_MEASURE_SIZE, AT(limits.file_size_bytes), 0, MAX_SIZE, true, "" },
	{ POLICY_FIELD_STACK, POLICY_MEASURE_SIZE, AT(limits.stack_bytes), 64 * KIB, MAX_SIZE, true,
	  "no program starts in less" },
	{ POLICY_FIELD_DISK, POLICY_MEASURE_SIZE, AT(limits.disk_bytes), 16 * KIB, MAX_SIZE, true,
	  "files that Warder makes for /proc count, too" },
	{ POLICY_FIELD_CODE, POLICY_MEASURE_SIZE, AT(limits.code_bytes), 1, POLICY_MAX_CODE, false,
	  "empty code is refused anyway" },
	{ POLICY_FIELD_STDOUT, POLICY_MEASURE_SIZE, AT(output.stdout_bytes), 0, TIB, false, "" },
	{ POLICY_FIELD_STDERR, POLICY_MEASURE_SIZE, AT(output.stderr_bytes), 0, TIB, false, "" },
	{ POLICY_FIELD_TERMINALS, POLICY_MEASURE_COUNT, AT(devices.terminals), 0, POLICY_MAX_TERMINALS, false,
	  "" },
};

static const struct {
	int (*parse)(const char *text, uint64_t *ret, struct warder_error *err);
	int (*parse_or_unlimited)(const char *text, uint64_t *ret, struct warder_error *err);
	char *(*format)(uint64_t value, char *buf, size_t len);
} measures[] = {
	[POLICY_MEASURE_SIZE] = { policy_parse_size, policy_parse_size_or_unlimited, policy_format_size },
	[POLICY_MEASURE_TIME] = { policy_parse_time, policy_parse_time_or_unlimited, policy_format_time },
	[POLICY_MEASURE_CPUS] = { policy_parse_cpus, policy_parse_cpus_or_unlimited, policy_format_cpus },
	[POLICY_MEASURE_COUNT] = { policy_parse_count, policy_parse_count_or_unlimited, policy_format_count },
};

const struct policy_amount *policy_amount_at(size_t i)
{
	return i < ARRAY_LENGTH(amounts) ? &amounts[i] : NULL;
}

const struct policy_amount *policy_amount_of(enum policy_field field)
{
	for (size_t i = 0; i < ARRAY_LENGTH(amounts); i++) {
		if (amounts[i].field == field)
			return &amounts[i];
	}
	return NULL;
}

uint64_t policy_amount_get(const struct policy *policy, const struct policy_amount *amount)
{
	uint64_t value;

	memcpy(&value, (const char *)policy + amount->offset, sizeof(value));
	return value;
}

char *policy_amount_format(const struct policy_amount *amount, uint64_t value, char *buf, size_t len)
{
	return measures[amount->measure].format(value, buf, len);
}

static int refuse_unlimited(const struct policy_amount *amount, struct warder_error *err)
{
	char most[32];

	return policy_refuse(err, policy_field_path(amount->field),
			     "\"unlimited\" is not possible here; give a limit of at most %s",
			     policy_amount_format(amount, amount->max, most, sizeof(most)));
}

int policy_amount_set(struct policy *policy, const struct policy_amount *amount, const char *text,
		      struct warder_error *err)
{
	uint64_t value = 0;
	int status;

	if (!amount->may_be_unlimited && strcmp(text, "unlimited") == 0)
		return refuse_unlimited(amount, err);
	if (amount->may_be_unlimited)
		status = measures[amount->measure].parse_or_unlimited(text, &value, err);
	else
		status = measures[amount->measure].parse(text, &value, err);
	if (status != 0)
		return policy_locate(err, policy_field_path(amount->field));
	memcpy((char *)policy + amount->offset, &value, sizeof(value));
	return 0;
}

int policy_amount_check(const struct policy *policy, const struct policy_amount *amount,
			struct warder_error *err)
{
	uint64_t value = policy_amount_get(policy, amount);
	const char *path = policy_field_path(amount->field);
	char is[32], bound[32];

	if (value == POLICY_UNLIMITED)
		return amount->may_be_unlimited ? 0 : refuse_unlimited(amount, err);
	policy_amount_format(amount, value, is, sizeof(is));
	if (value < amount->min)
		return policy_refuse(err, path, "%s is too little: %s; give at least %s", is,
				     amount->min_reason,
				     policy_amount_format(amount, amount->min, bound, sizeof(bound)));
	if (value > amount->max)
		return policy_refuse(err, path, "%s is too much; give at most %s%s", is,
				     policy_amount_format(amount, amount->max, bound, sizeof(bound)),
				     amount->may_be_unlimited ? ", or \"unlimited\"" : "");
	return 0;
}
