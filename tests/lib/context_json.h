/* A context as text: the whole, or what changed. On the heap; NULL: there is no context. For tests. */
#ifndef WARDER_TESTS_LIB_CONTEXT_JSON_H
#define WARDER_TESTS_LIB_CONTEXT_JSON_H

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "runtime/tool/context.h"

static char *context_member_json(const struct context *context, const char *member)
{
	const struct json_limits limits = { .max_bytes = 2 * CONTEXT_MAX_JSON };
	struct json_writer all = { 0 }, one = { 0 };
	struct json_value *root = NULL;
	struct warder_error err;
	char *text;

	json_begin_object(&all);
	context_write(context, &all);
	json_end_object(&all);
	text = json_take(&all);
	if (!text || json_parse(text, strlen(text), "context", &limits, &root, &err) != 0)
		abort();
	free(text);
	if (!json_member(root, member)) {
		json_free(root);
		return NULL;
	}
	json_copy(&one, json_member(root, member));
	json_free(root);
	return json_take(&one);
}

static char *context_json(const struct context *context)
{
	return context_member_json(context, "context");
}

static char *context_delta_json(const struct context *context)
{
	return context_member_json(context, "contextDelta");
}

#endif
