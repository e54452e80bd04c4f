#include "host/launcher/limits.h"

#include <inttypes.h>
#include <string.h>

static int take(const struct limit *table, const struct json_value *one, void *ret, const char *field,
		struct warder_error *err)
{
	const struct limit *limit = table;

	while (limit->name && strcmp(limit->name, one->key) != 0)
		limit++;
	if (!limit->name)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "line %d: unknown limit \"%.40s\"",
				 one->line, one->key);
	if (!one->is_uint || one->uint < limit->least || one->uint > limit->most)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "line %d: \"%s\" must be a whole number from %" PRIu64 " to %" PRIu64,
				 one->line, limit->name, limit->least, limit->most);
	memcpy((char *)ret + limit->offset, &one->uint, sizeof(one->uint));
	return 0;
}

int limits_take(const struct limit *table, const struct json_value *value, void *ret, const char *field,
		struct warder_error *err)
{
	for (const struct limit *limit = table; limit->name; limit++)
		memcpy((char *)ret + limit->offset, &limit->fallback, sizeof(limit->fallback));
	if (value && value->type != JSON_OBJECT)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "line %d: \"limits\" must be an object of whole numbers", value->line);
	for (const struct json_value *one = value ? value->child : NULL; one; one = one->next)
		if (take(table, one, ret, field, err) < 0)
			return -1;
	return 0;
}

void limits_write(const struct limit *table, const void *of, struct json_writer *w)
{
	for (const struct limit *limit = table; limit->name; limit++) {
		uint64_t value;

		memcpy(&value, (const char *)of + limit->offset, sizeof(value));
		json_key_uint(w, limit->name, value);
	}
}
