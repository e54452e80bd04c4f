#include "policy/members.h"

#include <string.h>

#include "base/array.h"
#include "policy/names.h"

#define KIB      ((uint64_t)1 << 10)
#define MIB      ((uint64_t)1 << 20)
#define TIB      ((uint64_t)1 << 40)
#define SECONDS  ((uint64_t)1000000)
#define YEAR     (365 * 24 * 3600 * SECONDS)
#define MAX_SIZE ((uint64_t)INT64_MAX) /* what rlimits, cgroup files and off_t can all hold */

#define LIMITED      false
#define OR_UNLIMITED true

/* ---- the forms of the table ---- */

#define AT(slot) offsetof(struct policy, slot)

#define OBJECT      .form = POLICY_FORM_OBJECT
#define VERSION     .form = POLICY_FORM_VERSION
#define ENFORCEMENT .form = POLICY_FORM_ENFORCEMENT
#define FORM(which, slot)                                                                                    \
	.form = POLICY_FORM_##which, .offset = AT(slot), .size = sizeof(((struct policy *)0)->slot)
#define CHOICE(slot, table, first) FORM(CHOICE, slot), .words = (table), .strict = (first)
#define OPTION(slot, table)        FORM(OPTION, slot), .words = (table)
#define BOOLEAN(slot, first)       FORM(BOOLEAN, slot), .words = policy_booleans, .strict = (first)
#define SOURCED(slot, table, text) FORM(SOURCED, slot), .words = (table), .source = AT(text)
#define ID(slot)                   FORM(ID, slot), .strict = 1000
#define TEXT(slot)                 FORM(TEXT, slot)
#define LIST(slot)                 FORM(LIST, slot)
#define ENDPOINTS(slot)            FORM(ENDPOINTS, slot)
#define PUBLISHED(slot)            FORM(PUBLISHED, slot)
#define VARIABLES(slot)            FORM(VARIABLES, slot)
#define LANGUAGES                  FORM(LANGUAGES, languages.names)

#define MEMBER_ROW(row_path, ...) { .path = (row_path), __VA_ARGS__ },
#define MEMBER_OF_NUMBER(id, row_path, group, unit, slot, ...)                                               \
	{ .path = (row_path), FORM(NUMBER, slot), .field = POLICY_FIELD_##id },
#define NUMBER_ROW(id, path, group, unit, slot, least, most, bound, first, reason, ...)                      \
	[POLICY_FIELD_##                                                                                     \
	    id] = { POLICY_FIELD_##id, POLICY_MEASURE_##unit, AT(slot), (least), (most), (bound), (first),   \
		    (reason) },

static const struct policy_member members[] = { POLICY_TABLE(
    POLICY_NOTHING, MEMBER_ROW, POLICY_NOTHING, MEMBER_OF_NUMBER, MEMBER_OF_NUMBER, POLICY_NOTHING) };

static const struct policy_amount amounts[POLICY_FIELD_COUNT] = { POLICY_TABLE(
    POLICY_NOTHING, POLICY_NOTHING, POLICY_NOTHING, NUMBER_ROW, NUMBER_ROW, POLICY_NOTHING) };

const struct policy_member *policy_member_at(size_t i)
{
	return i < ARRAY_LENGTH(members) ? &members[i] : NULL;
}

const struct policy_member *policy_member_of(const char *path, size_t length)
{
	for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
		if (strlen(members[i].path) == length && memcmp(members[i].path, path, length) == 0)
			return &members[i];
	}
	return NULL;
}

const char *policy_member_key(const struct policy_member *member, const char *parent)
{
	size_t length = strlen(parent);
	const char *key = member->path;

	if (length > 0) {
		if (strncmp(key, parent, length) != 0 || key[length] != '.')
			return NULL;
		key += length + 1;
	}
	return strchr(key, '.') ? NULL : key;
}

_Static_assert(sizeof(enum policy_network_mode) == sizeof(unsigned) && sizeof(bool) != sizeof(unsigned),
	       "an enum is stored as unsigned, and its size tells it from bool");

unsigned policy_member_word(const struct policy *policy, const struct policy_member *member)
{
	const char *at = (const char *)policy + member->offset;
	unsigned word;
	bool boolean;

	if (member->size == sizeof(bool)) {
		memcpy(&boolean, at, sizeof(boolean));
		return boolean;
	}
	memcpy(&word, at, sizeof(word));
	return word;
}

void policy_member_set_word(struct policy *policy, const struct policy_member *member, unsigned word)
{
	char *at = (char *)policy + member->offset;
	const bool boolean = word == 1;

	if (member->size == sizeof(bool))
		memcpy(at, &boolean, sizeof(boolean));
	else
		memcpy(at, &word, sizeof(word));
}

void policy_set_strict(struct policy *policy)
{
	for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
		if (members[i].strict)
			policy_member_set_word(policy, &members[i], (unsigned)members[i].strict);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(amounts); i++) {
		if (amounts[i].min_reason)
			*POLICY_PLACE(uint64_t, policy, amounts[i].offset) = amounts[i].strict;
	}
	policy->languages.any = true;
}

/* ---- numbers ---- */

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

const struct policy_amount *policy_amount_of(enum policy_field field)
{
	return field < POLICY_FIELD_COUNT && amounts[field].min_reason ? &amounts[field] : NULL;
}

uint64_t policy_amount_get(const struct policy *policy, const struct policy_amount *amount)
{
	uint64_t value;

	memcpy(&value, (const char *)policy + amount->offset, sizeof(value));
	return value;
}

uint64_t policy_field_number(const struct policy *policy, enum policy_field field)
{
	const struct policy_amount *amount = policy_amount_of(field);

	return amount ? policy_amount_get(policy, amount) : POLICY_UNLIMITED;
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
	if (value >= amount->min && value <= amount->max)
		return 0;
	policy_amount_format(amount, value, is, sizeof(is));
	if (value < amount->min)
		return policy_refuse(err, path, "%s is too little: %s; give at least %s", is,
				     amount->min_reason,
				     policy_amount_format(amount, amount->min, bound, sizeof(bound)));
	return policy_refuse(err, path, "%s is too much; give at most %s%s", is,
			     policy_amount_format(amount, amount->max, bound, sizeof(bound)),
			     amount->may_be_unlimited ? ", or \"unlimited\"" : "");
}
