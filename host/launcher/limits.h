/*
 * limits: objects of whole numbers in the documents of an operator: {"NAME": NUMBER}. Private to host/launcher/.
 */
#ifndef WARDER_HOST_LAUNCHER_LIMITS_H
#define WARDER_HOST_LAUNCHER_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

/* The rows of a table end with one without a name. */
struct limit {
	const char *name;
	size_t offset; /* of its uint64_t in the struct that the table fills */
	uint64_t fallback, least, most;
};

/* Fill *ret with the fallbacks, and then with the members of `value`, which may be NULL. -1 with *err; `field` names the document. */
int limits_take(const struct limit *table, const struct json_value *value, void *ret, const char *field,
		struct warder_error *err);
/* All of them as members of an open object. */
void limits_write(const struct limit *table, const void *of, struct json_writer *w);

#endif
