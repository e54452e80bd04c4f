/*
 * amounts: the fields of a policy that are one number: where they are, how they are written, which values
 * make sense. Setting, checking, comparing with a ceiling, encoding and the receipt all read these rows.
 * Private to policy/.
 */
#ifndef WARDER_POLICY_AMOUNTS_H
#define WARDER_POLICY_AMOUNTS_H

#include "policy/policy.h"

enum policy_measure {
	POLICY_MEASURE_SIZE,
	POLICY_MEASURE_TIME,
	POLICY_MEASURE_CPUS,
	POLICY_MEASURE_COUNT,
};

struct policy_amount {
	enum policy_field field;
	enum policy_measure measure;
	size_t offset; /* of the uint64_t in struct policy */
	uint64_t min, max;
	bool may_be_unlimited;
	const char *min_reason; /* why less makes no sense */
};

/* The rows in the order of POLICY_FIELDS; i counts from 0, NULL after the last. */
const struct policy_amount *policy_amount_at(size_t i);
/* The row of a field, NULL if it is not an amount. */
const struct policy_amount *policy_amount_of(enum policy_field field);
uint64_t policy_amount_get(const struct policy *policy, const struct policy_amount *amount);
/* As a document holds it. buf of at least 32 bytes. Returns buf. */
char *policy_amount_format(const struct policy_amount *amount, uint64_t value, char *buf, size_t len);
/* Read and store. -1 with *err, which names the field. */
int policy_amount_set(struct policy *policy, const struct policy_amount *amount, const char *text,
		      struct warder_error *err);
/* Whether the value is within the row's range. -1 with *err naming field, value and bound. */
int policy_amount_check(const struct policy *policy, const struct policy_amount *amount,
			struct warder_error *err);

#endif
