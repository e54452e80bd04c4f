/*
 * body: the members that the body of a request may have, checked before its handler is called, and described in the API's document. So both
 * come from one table. Private to host/front/.
 */
#ifndef WARDER_HOST_FRONT_BODY_H
#define WARDER_HOST_FRONT_BODY_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"

enum member_type {
	MEMBER_TEXT,
	MEMBER_NUMBER, /* whole, and not negative */
	MEMBER_FLAG,
	MEMBER_TEXTS,     /* an array of them */
	MEMBER_VARIABLES, /* an object of texts, whose names can be those of environment variables */
	MEMBER_OBJECT,
	MEMBER_OBJECTS, /* an array of them */
	MEMBER_ANY,
	MEMBER_ELSEWHERE, /* it is refused; the summary says what to do instead */
};

struct member {
	const char *name; /* NULL ends a table */
	enum member_type type;
	bool required; /* others may also be null */
	const char *summary;
};

/* Whether the document is an object of these members. -1 with *err, which names the member. */
int body_check(const struct member *members, const struct json_value *document, struct warder_error *err);
/* Its JSON schema, as an object into an open place. */
void body_describe(const struct member *members, struct json_writer *w);

#endif
