/*
 * explain: each field of a policy against a host, as rows. `warder explain` and POST /v1/policies/explain show them all, `warder
 * doctor` those that are missing.
 */
#ifndef WARDER_RUNTIME_LIBRARY_EXPLAIN_H
#define WARDER_RUNTIME_LIBRARY_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/library/preparation.h"

enum explain_state {
	EXPLAIN_ENFORCED,
	EXPLAIN_REPORTED,     /* a host on another machine says that it enforces it */
	EXPLAIN_NOT_ENFORCED, /* preferred, and this host cannot */
	EXPLAIN_REFUSED,      /* required, and this host cannot */
	EXPLAIN_UNRESTRICTED, /* the policy asks for no restriction */
	EXPLAIN_EMPTY,        /* the field is empty: nothing is granted, nothing has to be done */
};

struct explain_row {
	const char *field;   /* "limits.memory" */
	const char *control; /* "limits.memory", finer than the field; NULL for languages */
	enum explain_state state;
	bool preferred;
	char requested[128];
	char rounded
	    [24]; /* the size that the kernel enforces, where it differs from the requested one; or "" */
	const char *by; /* mechanism or reason; belongs to the preparation */
};

#define EXPLAIN_ROWS_MAX (POLICY_CONTROL_COUNT + POLICY_FIELD_COUNT)

/* "enforced", ... as it stands in JSON and in tables. */
const char *explain_word(enum explain_state state);
/* Rows of a preparation that was matched, in the order of enum policy_field. Returns their number. */
size_t explain_rows(const struct policy *policy, const struct preparation *preparation,
		    struct explain_row ret[EXPLAIN_ROWS_MAX]);
/* Where every control could be had, and the policy is refused for what stands in a field: its row says so. *refused lives as long. */
void explain_refused(struct explain_row *rows, size_t count, const struct warder_error *refused);

/* As JSON, into an open object: the backend and why others were passed over; then the rows and, where there is one, the plan. refused: or
 * NULL. */
struct json_writer;
void explain_write_backend(const struct preparation *preparation, struct json_writer *w);
void explain_write_fields(const struct policy *policy, const struct preparation *preparation,
			  const struct warder_error *refused, struct json_writer *w);

#endif
