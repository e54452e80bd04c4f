/*
 * builtin: the executor that a model's provider runs for its model. Nothing is executed on this host, and nothing there can be
 * enforced from here: every control is refused, and whoever asks for a run is told that there is none. What it does is to declare
 * itself in a request to a model that has one.
 *
 *   {"model": "gemini-2.0-flash", "contents": [...]}   ->   the same, with {"code_execution": {}} among its "tools"
 *
 * The tools are the request's own member, or of its "config" where it has that one. All else stays as it came, numbers as they were
 * written. A declaration that is there already is not made twice.
 * Source: the Gemini API's reference (tools[].codeExecution; the REST interface takes the name in either spelling).
 */
#include <stdio.h>
#include <string.h>

#include "backends/rows.h"
#include "base/array.h"
#include "base/json.h"

#define REQUEST_BYTES  ((size_t)32 << 20)
#define REQUEST_DEPTH  64
#define REQUEST_VALUES 1000000

static const char *const languages[] = { "python", NULL };

/* Families of models that have an executor. A name goes on after it with one of "-.", or ends. */
static const struct provider {
	const char *family;
	const char *tool, *other_spelling;
} providers[] = {
	{ "gemini-2", "code_execution", "codeExecution" },
};

void builtin_capabilities(const struct backend *backend, const struct jail_host *host,
			  const struct policy *policy, struct policy_capabilities *ret)
{
	memset(ret, 0, sizeof(*ret));
	snprintf(ret->backend, sizeof(ret->backend), "%s", backend->name);
	ret->isolation = backend->isolation;
	ret->languages = languages;
	for (int i = 0; i < POLICY_CONTROL_COUNT; i++)
		policy_capability_refused(
		    ret, (enum policy_control)i,
		    "it runs at the model's provider, out of Warder's reach; use local");
}

int builtin_check(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
		  struct warder_error *err)
{
	return error_set(
	    err, WARDER_ERROR_UNAVAILABLE, "backend",
	    "the backend %s executes nothing on this host: \"warder backend declare %s\" adds it to "
	    "a model's request, and the provider executes; use local to run code here",
	    backend->name, backend->name);
}

/* ---- the declaration ---- */

/* "models/gemini-2.0-flash", "projects/P/.../models/gemini-2.0-flash": the part behind the last slash. */
static const struct provider *find_provider(const char *model)
{
	const char *slash = strrchr(model, '/');
	const char *name = slash ? slash + 1 : model;

	for (size_t i = 0; i < ARRAY_LENGTH(providers); i++) {
		const size_t len = strlen(providers[i].family);

		if (strncmp(name, providers[i].family, len) == 0 && strchr("-.", name[len]))
			return &providers[i];
	}
	return NULL;
}

static int refuse(const struct backend_model_request *request, const struct json_value *value,
		  const char *field, const char *expected, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "%s:%d: %s: %s where %s is expected",
			 request->origin, value->line, field, json_type_name(value->type), expected);
}

static int choose_model(const struct backend_model_request *request, const struct json_value *document,
			const struct provider **ret, struct warder_error *err)
{
	const struct json_value *own = json_member(document, "model");
	const char *model = request->model;
	char shown[120];

	if (own && own->type != JSON_STRING && own->type != JSON_NULL)
		return refuse(request, own, "model", "a string", err);
	if (own && own->type == JSON_STRING) {
		if (model && strcmp(model, own->string) != 0)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "model",
					 "the request names the model %s; leave the other one out",
					 json_quote(own->string, shown, sizeof(shown)));
		model = own->string;
	}
	if (!model || !*model)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "model",
		    "the request names no model: give its member \"model\", or name one beside it");
	*ret = find_provider(model);
	return *ret ? 0
		    : error_set(
			  err, WARDER_ERROR_UNAVAILABLE, "model",
			  "no built-in code execution is known of the model %s; known: gemini-2.x, such as "
			  "gemini-2.0-flash; for another model, run the code here, with the backend local",
			  json_quote(model, shown, sizeof(shown)));
}

static bool is_null(const struct json_value *value)
{
	return !value || value->type == JSON_NULL;
}

static bool has_tool(const struct json_value *tools, const struct provider *provider)
{
	for (const struct json_value *tool = tools && tools->type == JSON_ARRAY ? tools->child : NULL; tool;
	     tool = tool->next) {
		if (tool->type == JSON_OBJECT &&
		    (json_member(tool, provider->tool) || json_member(tool, provider->other_spelling)))
			return true;
	}
	return false;
}

static void write_tools(const struct json_value *tools, const struct provider *provider,
			struct json_writer *w)
{
	json_begin_array(w);
	for (const struct json_value *tool = is_null(tools) ? NULL : tools->child; tool; tool = tool->next)
		json_copy(w, tool);
	if (!has_tool(tools, provider)) {
		json_begin_object(w);
		json_key(w, provider->tool);
		json_begin_object(w);
		json_end_object(w);
		json_end_object(w);
	}
	json_end_array(w);
}

/* An object again, but for its tools; NULL: one that was not there. */
static void write_holder(const struct json_value *holder, const struct provider *provider,
			 struct json_writer *w)
{
	bool written = false;

	json_begin_object(w);
	for (const struct json_value *member = is_null(holder) ? NULL : holder->child; member;
	     member = member->next) {
		json_key(w, member->key);
		if (strcmp(member->key, "tools") == 0) {
			write_tools(member, provider, w);
			written = true;
		} else {
			json_copy(w, member);
		}
	}
	if (!written) {
		json_key(w, "tools");
		write_tools(NULL, provider, w);
	}
	json_end_object(w);
}

static void write_request(const struct json_value *document, const struct provider *provider,
			  struct json_writer *w)
{
	if (!json_member(document, "config")) {
		write_holder(document, provider, w);
		return;
	}
	json_begin_object(w);
	for (const struct json_value *member = document->child; member; member = member->next) {
		json_key(w, member->key);
		if (strcmp(member->key, "config") == 0)
			write_holder(member, provider, w);
		else
			json_copy(w, member);
	}
	json_end_object(w);
}

static int check_request(const struct backend_model_request *request, const struct json_value *document,
			 struct warder_error *err)
{
	const struct json_value *config, *tools;

	if (document->type != JSON_OBJECT)
		return refuse(request, document, "request", "an object", err);
	config = json_member(document, "config");
	if (!is_null(config) && config->type != JSON_OBJECT)
		return refuse(request, config, "config", "an object", err);
	tools =
	    config ? (is_null(config) ? NULL : json_member(config, "tools")) : json_member(document, "tools");
	if (!is_null(tools) && tools->type != JSON_ARRAY)
		return refuse(request, tools, config ? "config.tools" : "tools", "an array", err);
	return 0;
}

char *builtin_declare(const struct backend *backend, const struct backend_model_request *request,
		      struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = REQUEST_BYTES,
					    .max_depth = REQUEST_DEPTH,
					    .max_values = REQUEST_VALUES };
	const struct provider *provider = NULL;
	struct json_value *document = NULL;
	struct json_writer w = { 0 };
	char *text = NULL;

	if (json_parse(request->json, request->len, request->origin, &limits, &document, err) != 0)
		return NULL;
	if (check_request(request, document, err) == 0 &&
	    choose_model(request, document, &provider, err) == 0) {
		write_request(document, provider, &w);
		text = json_take(&w);
		if (!text)
			error_no_memory(err, NULL);
	}
	json_free(document);
	return text;
}
