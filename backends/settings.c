/*
 * The operator's document about backends: which may be used that are off by default, in which order `auto` tries them, and which hosts there
 * are on other machines.
 */
#include <stdio.h>
#include <string.h>

#include "backends/backend.h"
#include "backends/remote.h"
#include "base/array.h"
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

static bool is_host(const struct json_value *value)
{
	return value->type == JSON_STRING && backend_is_remote(value->string);
}

/* What stands for the host in the order. */
static const struct backend *host_row(const struct json_value *value, const char *origin,
				      const struct backend_settings *settings, struct warder_error *err)
{
	const struct backend_remote *remote = backend_remote_find(settings, value->string, err);

	if (!remote)
		error_context(err, "%s: \"order\"", origin);
	return remote ? backend_remote_row((size_t)(remote - settings->remotes)) : NULL;
}

static int take_order(const struct json_value *list, const char *origin, struct backend_settings *ret,
		      struct warder_error *err)
{
	size_t count = 0;

	for (const struct json_value *value = list->child; value; value = value->next) {
		const struct backend *backend =
		    is_host(value) ? host_row(value, origin, ret, err) : named(value, origin, err);

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
		const struct backend *backend;

		if (value->type == JSON_STRING && strcmp(value->string, "remote") == 0) {
			ret->remote_enabled = true;
			continue;
		}
		backend = named(value, origin, err);
		if (!backend)
			return -1;
		ret->enabled[backend - backend_at(0)] = true;
	}
	return 0;
}

/* In this order, wherever they stand: the order names hosts, and a host has to be enabled. */
static const struct {
	const char *key;
	enum json_type type;
	int (*take)(const struct json_value *value, const char *origin, struct backend_settings *ret,
		    struct warder_error *err);
} members[] = {
	{ "enable", JSON_ARRAY, take_enabled },
	{ "remote", JSON_OBJECT, backend_remote_take },
	{ "order", JSON_ARRAY, take_order },
};

static int check_members(const struct json_value *root, const char *origin, struct warder_error *err)
{
	for (const struct json_value *member = root->child; member; member = member->next) {
		size_t i = 0;

		while (i < ARRAY_LENGTH(members) && strcmp(members[i].key, member->key) != 0)
			i++;
		if (i == ARRAY_LENGTH(members))
			return wrong(member, origin,
				     "is not a member; known: \"order\", \"enable\", \"remote\"", err);
		if (member->type != members[i].type)
			return wrong(member, origin,
				     members[i].type == JSON_ARRAY ? "is not a list"
								   : "is not an object of hosts",
				     err);
	}
	return 0;
}

static int take(const struct json_value *root, const char *origin, struct backend_settings *ret,
		struct warder_error *err)
{
	if (root->type != JSON_OBJECT)
		return wrong(root, origin, "is not an object", err);
	if (check_members(root, origin, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
		const struct json_value *member = json_member(root, members[i].key);

		if (member && members[i].take(member, origin, ret, err) < 0)
			return -1;
	}
	if (ret->remote_count && !ret->remote_enabled)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "backend",
		    "%s: \"remote\" names hosts, and \"enable\" does not hold \"remote\"; add it, or "
		    "remove the hosts",
		    origin);
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
