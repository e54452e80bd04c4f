/*
 * members: the members of a policy document, and the fields that are one number, as rows of POLICY_TABLE. Decoding, encoding,
 * setting, copying, the ranges, the preset strict and the texts of values read them. Private to policy/.
 */
#ifndef WARDER_POLICY_MEMBERS_H
#define WARDER_POLICY_MEMBERS_H

#include "policy/policy.h"

/* How a member is written, and what its slot in struct policy holds. */
enum policy_form {
	POLICY_FORM_OBJECT,    /* members below it */
	POLICY_FORM_VERSION,   /* nothing */
	POLICY_FORM_NUMBER,    /* uint64_t; see policy_amount_of() */
	POLICY_FORM_CHOICE,    /* an enum, or in a document a bool: one of `words` */
	POLICY_FORM_OPTION,    /* the same, which a document has only with the second word */
	POLICY_FORM_BOOLEAN,   /* bool */
	POLICY_FORM_SOURCED,   /* an enum: one of `words`; all but the first have a text, at `source` */
	POLICY_FORM_ID,        /* uint32_t */
	POLICY_FORM_TEXT,      /* char *, or NULL */
	POLICY_FORM_LIST,      /* struct policy_strings */
	POLICY_FORM_LANGUAGES, /* the same, or "any" */
	POLICY_FORM_ENDPOINTS, /* struct policy_endpoints */
	POLICY_FORM_PUBLISHED, /* struct policy_published */
	POLICY_FORM_VARIABLES, /* environment.set */
	POLICY_FORM_ENFORCEMENT,
	POLICY_FORM_COUNT,
};

struct policy_member {
	const char *path; /* "limits.memory" */
	enum policy_form form;
	size_t offset, size; /* of its slot in struct policy */
	size_t source;       /* of the slot of its text */
	const char *const *words;
	uint64_t strict;         /* index, bool or id in the preset strict */
	enum policy_field field; /* of POLICY_FORM_NUMBER */
};

/* The rows in the order of the document; i counts from 0, NULL after the last. */
const struct policy_member *policy_member_at(size_t i);
/* The row of a path of `length` bytes, NULL if there is none. */
const struct policy_member *policy_member_of(const char *path, size_t length);
/* The key of a row that is a direct member of the object at `parent` ("" is the document), else NULL. */
const char *policy_member_key(const struct policy_member *member, const char *parent);
/* The index or bool that a member of an enum or bool has. */
unsigned policy_member_word(const struct policy *policy, const struct policy_member *member);
void policy_member_set_word(struct policy *policy, const struct policy_member *member, unsigned word);
/* Make the policy, which is all zero, the preset strict. */
void policy_set_strict(struct policy *policy);

/* What is at an offset of a policy. */
#define POLICY_PLACE(type, policy, offset) ((type *)(void *)((char *)(policy) + (offset)))

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
	uint64_t strict;        /* in the preset strict */
	const char *min_reason; /* why less makes no sense */
};

/* The row of a field, NULL if it is not one number. */
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
