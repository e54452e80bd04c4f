#include "runtime/tool/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"

/* ---- members ---- */

/* A text or a number: it is handed back as it came. */
static int read_id(struct decoder *d, const struct json_value *value, void *into)
{
	struct agent_request *request = into;
	char *text;

	if (value->type == JSON_NULL)
		return 0;
	if (value->type != JSON_STRING && value->type != JSON_NUMBER)
		return decode_refuse(d, value, "%s where a string or a number is expected",
				     json_type_name(value->type));
	text = json_text(value);
	if (!text)
		return error_no_memory(d->err, NULL);
	if (strlen(text) > AGENT_REQUEST_ID_MAX) {
		free(text);
		return decode_refuse(d, value, "longer than %d bytes", AGENT_REQUEST_ID_MAX);
	}
	strcpy(request->id, text);
	free(text);
	return 0;
}

static int read_input(struct decoder *d, const struct json_value *value, void *into)
{
	struct agent_request *request = into;

	request->input = json_text(value);
	return request->input ? 0 : error_no_memory(d->err, NULL);
}

static int read_args(struct decoder *d, const struct json_value *value, void *into)
{
	return decode_texts(d, value, REQUEST_MAX_ARGS, &((struct agent_request *)into)->args);
}

static uint64_t clamp(struct agent_request *request, enum request_clamp which, double value, uint64_t least,
		      uint64_t most)
{
	if (value >= (double)least && value <= (double)most)
		return (uint64_t)value;
	request->clamped |= which;
	return value < (double)least ? least : most;
}

static int read_timeout(struct decoder *d, const struct json_value *value, void *into)
{
	struct agent_request *request = into;
	double seconds = 0;

	if (decode_number(d, value, &seconds) != 0)
		return -1;
	request->timeout_us = clamp(request, REQUEST_CLAMP_TIMEOUT, seconds * 1e6, REQUEST_TIMEOUT_MIN_US,
				    REQUEST_TIMEOUT_MAX_US);
	request->asks_timeout = true;
	return 0;
}

static int read_memory(struct decoder *d, const struct json_value *value, void *into)
{
	struct agent_request *request = into;
	uint64_t bytes;

	if (value->type != JSON_STRING && value->type != JSON_NUMBER)
		return decode_refuse(d, value, "%s where a size is expected", json_type_name(value->type));
	if (policy_parse_size(value->string, &bytes, d->err) != 0)
		return decode_locate(d, value);
	request->memory = value->string;
	return 0;
}

static int read_collect(struct decoder *d, const struct json_value *value, void *into)
{
	struct agent_request *request = into;

	request->has_collect = true;
	request->collect_count = decode_count(value);
	return decode_texts(d, value, REQUEST_MAX_PATTERNS, &request->collect);
}

static int read_policy(struct decoder *d, const struct json_value *value, void *into)
{
	struct agent_request *request = into;

	if (value->type == JSON_STRING) {
		request->preset = value->string;
		return 0;
	}
	if (value->type != JSON_OBJECT)
		return decode_refuse(d, value, "%s where a policy or the name of a preset is expected",
				     json_type_name(value->type));
	request->policy = json_text(value);
	return request->policy ? 0 : error_no_memory(d->err, NULL);
}

static int read_scope(struct decoder *d, const struct json_value *value, void *into)
{
	struct agent_request *request = into;
	const char *name = NULL;

	if (decode_text(d, value, &name) != 0)
		return -1;
	return scopes_add(&request->scopes, name, d->err) == 0 ? 0 : decode_locate(d, value);
}

static int read_scopes(struct decoder *d, const struct json_value *value, void *into)
{
	struct agent_request *request = into;

	request->has_scopes = true;
	return decode_array(d, value, REQUEST_MAX_SCOPES, read_scope, request);
}

static int read_attempts(struct decoder *d, const struct json_value *value, void *into)
{
	struct agent_request *request = into;
	double number = 0;

	if (decode_number(d, value, &number) != 0)
		return -1;
	request->attempts = (unsigned)clamp(request, REQUEST_CLAMP_ATTEMPTS, number, 1, REQUEST_ATTEMPTS_MAX);
	return 0;
}

static int read_delay(struct decoder *d, const struct json_value *value, void *into)
{
	struct agent_request *request = into;
	double ms = 0;

	if (decode_number(d, value, &ms) != 0)
		return -1;
	request->delay_us = clamp(request, REQUEST_CLAMP_DELAY, ms * 1e3, 0, REQUEST_DELAY_MAX_US);
	return 0;
}

static int read_retries(struct decoder *d, const struct json_value *value, void *into)
{
	static const struct decode_row members[] = {
		{ "attempts", read_attempts, true },
		{ "delayMs", read_delay, false },
		{ NULL, NULL, false },
	};

	return decode_object(d, value, members, into);
}

/* ---- what the session remembers ---- */

static int read_context(struct decoder *d, const struct json_value *value, void *into)
{
	struct agent_request *request = into;

	return value->type == JSON_NULL ? context_read(NULL, 0, &request->context, d->err)
					: context_decode(d, value, &request->context);
}

static int read_invocation(struct decoder *d, const struct json_value *value, void *into)
{
	struct agent_request *request = into;

	if (decode_text(d, value, &request->invocation) != 0)
		return -1;
	if (!request->invocation[0] || strlen(request->invocation) > CONTEXT_MAX_NAME)
		return decode_refuse(d, value, "give 1 to %d bytes", CONTEXT_MAX_NAME);
	return 0;
}

static int read_identity(struct decoder *d, const struct json_value *value, void *into)
{
	struct agent_request *request = into;

	if (decode_text(d, value, &request->identity) != 0)
		return -1;
	if (strlen(request->identity) > REQUEST_MAX_IDENTITY)
		return decode_refuse(d, value, "longer than %d bytes", REQUEST_MAX_IDENTITY);
	return 0;
}

static int read_max_attempts(struct decoder *d, const struct json_value *value, void *into)
{
	struct agent_request *request = into;

	if (value->type != JSON_NUMBER || !value->is_uint || !value->uint || value->uint > UINT32_MAX)
		return decode_refuse(d, value, "give a whole number from 1 to %u", UINT32_MAX);
	request->max_attempts = (unsigned)value->uint;
	return 0;
}

static const struct decode_row rows[] = {
	{ "id", read_id, false },
	SNIPPET_ROWS,
	{ "stdin", decode_row_text, false, offsetof(struct agent_request, standard_input) },
	{ "input", read_input, false },
	{ "args", read_args, false },
	{ "timeoutSecs", read_timeout, false },
	{ "memory", read_memory, false },
	{ "collect", read_collect, false },
	{ "policy", read_policy, false },
	{ "scopes", read_scopes, false },
	{ "retries", read_retries, false },
	{ "lastLine", decode_row_bool, false, offsetof(struct agent_request, last_line) },
	{ "check", decode_row_bool, false, offsetof(struct agent_request, check) },
	{ "function", decode_row_bool, false, offsetof(struct agent_request, function) },
	{ "context", read_context, false },
	{ "invocation", read_invocation, false },
	{ "maxAttempts", read_max_attempts, false },
	{ "backend", decode_row_text, false, offsetof(struct agent_request, backend) },
	{ "identity", read_identity, false },
	{ "executeOnce", decode_row_bool, false, offsetof(struct agent_request, once) },
	{ NULL, NULL, false },
};

/* ---- the document ---- */

/* First of all: what else is wrong is told to who asked. */
static void find_id(struct agent_request *request)
{
	struct warder_error ignored;
	struct decoder d = { .origin = "request", .err = &ignored };
	const struct json_value *id = json_member(request->document, "id");

	if (id)
		read_id(&d, id, request);
}

int request_decode(const char *text, size_t len, struct agent_request *ret, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = AGENT_REQUEST_MAX,
					    .max_depth = AGENT_REQUEST_DEPTH,
					    .max_values = AGENT_REQUEST_VALUES };
	struct decoder d = { .origin = "request", .err = err };

	*ret = (struct agent_request){ .id = "null",
				       .timeout_us = REQUEST_TIMEOUT_US,
				       .attempts = 1,
				       .max_attempts = REQUEST_MAX_ATTEMPTS };
	if (json_parse(text, len, d.origin, &limits, &ret->document, err) != 0)
		return -1;
	find_id(ret);
	if (decode_object(&d, ret->document, rows, ret) != 0)
		return -1;
	return snippet_finish(&d, ret->document, &ret->snippet);
}

/* ---- the policy ---- */

static int read_own_policy(const struct agent_request *request, struct policy *ret, struct warder_error *err)
{
	char field[sizeof(err->field)];

	if (request->preset
		? policy_preset(request->preset, ret, err) == 0
		: policy_decode(request->policy, strlen(request->policy), "policy", ret, err) == 0)
		return 0;
	snprintf(field, sizeof(field), "policy%s%.60s", request->preset ? "" : ".",
		 request->preset ? "" : err->field);
	strcpy(err->field, field);
	return -1;
}

int request_drop_workspace(struct policy *policy, struct warder_error *err)
{
	if (policy->filesystem.workspace == POLICY_WORKSPACE_NONE || policy->filesystem.workspace_root)
		return 0;
	return policy_set(policy, "filesystem.workspace", "none", err);
}

/* All that it asks for beyond the base is kept for the result; the error has the first of it. */
static int check_base(struct agent_request *request, const struct policy *base, const struct policy *asked,
		      struct warder_error *err)
{
	struct json_writer w = { 0 };

	if (policy_check_ceiling(base, asked, err) == 0)
		return 0;
	policy_write_violations(base, asked, NULL, &w);
	request->violations = json_take(&w);
	return -1;
}

static int narrow(struct agent_request *request, const struct policy *base, struct policy *ret,
		  struct warder_error *err)
{
	const bool has_own = request->preset || request->policy;

	if (has_own ? read_own_policy(request, ret, err) != 0 : policy_copy(base, ret, err) != 0)
		return -1;
	if (request_drop_workspace(ret, err) != 0)
		return -1;
	if (request->memory && policy_set(ret, "limits.memory", request->memory, err) != 0)
		return -1;
	if (request->snippet.working_directory &&
	    policy_set(ret, "workingDirectory", request->snippet.working_directory, err) != 0)
		return -1;
	/* A time that is too long is cut to the request's timeout; "unlimited" is refused where the base has a time. */
	if (ret->limits.wall_time_us == POLICY_UNLIMITED && base->limits.wall_time_us != POLICY_UNLIMITED)
		return check_base(request, base, ret, err);
	if (has_own && !request->asks_timeout && request->timeout_us < ret->limits.wall_time_us)
		request->clamped |= REQUEST_CLAMP_POLICY;
	if (request->timeout_us < ret->limits.wall_time_us)
		ret->limits.wall_time_us = request->timeout_us;
	else if (request->asks_timeout && request->timeout_us > ret->limits.wall_time_us)
		request->clamped |= REQUEST_CLAMP_TIMEOUT;
	request->timeout_us = ret->limits.wall_time_us;
	return has_own || request->memory || request->snippet.working_directory
		   ? check_base(request, base, ret, err)
		   : 0;
}

int request_narrow(struct agent_request *request, const struct policy *base, struct policy *ret,
		   struct warder_error *err)
{
	struct policy policy = { 0 };

	if (narrow(request, base, &policy, err) != 0) {
		policy_done(&policy);
		return -1;
	}
	*ret = policy;
	return 0;
}

void request_write_clamped(const struct agent_request *request, struct json_writer *w)
{
	static const struct {
		enum request_clamp which;
		const char *name;
	} names[] = {
		{ REQUEST_CLAMP_TIMEOUT, "timeoutSecs" },
		{ REQUEST_CLAMP_ATTEMPTS, "retries.attempts" },
		{ REQUEST_CLAMP_DELAY, "retries.delayMs" },
		{ REQUEST_CLAMP_POLICY, "policy.limits.wallTime" },
	};

	json_key(w, "timeoutSecs");
	json_double(w, (double)request->timeout_us / 1e6, request->timeout_us % 1000000 ? 3 : 0);
	json_key(w, "clamped");
	json_begin_array(w);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		if (request->clamped & names[i].which)
			json_string(w, names[i].name);
	}
	json_end_array(w);
}
