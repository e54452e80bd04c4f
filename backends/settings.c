/*
 * The operator's document about backends: which may be used that are off by default, and in which order `auto` tries them.
 */
#include <stdio.h>
#include <string.h>

#include "backends/backend.h"
#include "base/json.h"

static int wrong(const struct json_value *value, const char *origin, const char *what,
		 struct warder_error *err)
{
	char name[40];

	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "backend", "%s: %s%s%s", origin,
			 value->key ? json_quote(value->key, name, sizeof(name)) : "", value->key ? " " : "",
			 what);
}

static const struct backend *named(const struct json_value *value, const char *origin,
				   struct warder_error *err)
{
	const struct backend *backend;

	if (value->type != JSON_STRING) {
		wrong(value, origin, "contains something that is not the name of a backend", err);
		return NULL;
	}
	backend = backend_find(value->string, err);
	if (!backend)
		error_context(err, "%s", origin);
	return backend;
}

static int refuse_off(const struct json_value *list, const char *origin, const struct backend *backend,
		      struct warder_error *err)
{
	char text[160];

	snprintf(text, sizeof(text), "holds a backend that %.80s, which auto never takes", backend->off);
	return wrong(list, origin, text, err);
}

static int take_order(const struct json_value *list, const char *origin, struct backend_settings *ret,
		      struct warder_error *err)
{
	size_t count = 0;

	for (const struct json_value *value = list->child; value; value = value->next) {
		const struct backend *backend = named(value, origin, err);

		if (!backend)
			return -1;
		if (backend->off)
			return refuse_off(list, origin, backend, err);
		for (size_t i = 0; i < count; i++)
			if (ret->order[i] == backend)
				return wrong(list, origin, "holds the same backend twice", err);
		ret->order[count++] = backend; /* none twice: there is room for all */
	}
	return count ? 0 : wrong(list, origin, "is empty; leave it out for the order of the table", err);
}

static int take_enabled(const struct json_value *list, const char *origin, struct backend_settings *ret,
			struct warder_error *err)
{
	for (const struct json_value *value = list->child; value; value = value->next) {
		const struct backend *backend = named(value, origin, err);

		if (!backend)
			return -1;
		ret->enabled[backend - backend_at(0)] = true;
	}
	return 0;
}

static int take(const struct json_value *root, const char *origin, struct backend_settings *ret,
		struct warder_error *err)
{
	if (root->type != JSON_OBJECT)
		return wrong(root, origin, "is not an object", err);
	for (const struct json_value *member = root->child; member; member = member->next) {
		const bool order = strcmp(member->key, "order") == 0;

		if (!order && strcmp(member->key, "enable") != 0)
			return wrong(member, origin, "is not a member; known: \"order\", \"enable\"", err);
		if (member->type != JSON_ARRAY)
			return wrong(member, origin, "is not a list", err);
		if ((order ? take_order(member, origin, ret, err) : take_enabled(member, origin, ret, err)) <
		    0)
			return -1;
	}
	return 0;
}

int backend_settings_parse(const char *json, size_t len, const char *origin, struct backend_settings *ret,
			   struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = 65536, .max_depth = 4, .max_values = 256 };
	struct backend_settings settings = { 0 };
	struct json_value *root = NULL;
	int taken;

	if (json_parse(json, len, origin, &limits, &root, err) < 0)
		return -1;
	taken = take(root, origin, &settings, err);
	json_free(root);
	if (taken == 0)
		*ret = settings;
	return taken;
}
