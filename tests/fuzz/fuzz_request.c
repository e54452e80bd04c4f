/*
 * request: a document that is refused is refused with a place and a reason, and its id is JSON all the same; one that is accepted
 * keeps to the bounds, and the policy that comes out of it is within the base.
 */
#include "policy/policy.h"
#include "runtime/tool/request.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/request_free.h"

static void check_json(const char *text)
{
	const struct json_limits limits = { .max_bytes = 64 << 20, .max_depth = AGENT_REQUEST_DEPTH };
	struct json_value *value = NULL;
	struct warder_error err;

	must(json_parse(text, strlen(text), "text", &limits, &value, &err) == 0);
	json_free(value);
}

static void check_error(const struct warder_error *err)
{
	must(err->code != WARDER_ERROR_NONE && err->text[0] && !strchr(err->text, '\n') && err->field[0]);
}

static void check_accepted(struct agent_request *request)
{
	struct policy base = { 0 }, policy = { 0 };
	struct warder_error err = { 0 };

	must(request->snippet.code && request->snippet.file_count <= SNIPPET_MAX_FILES);
	must(request->timeout_us >= REQUEST_TIMEOUT_MIN_US && request->timeout_us <= REQUEST_TIMEOUT_MAX_US);
	must(request->attempts >= 1 && request->attempts <= REQUEST_ATTEMPTS_MAX);
	must(request->delay_us <= REQUEST_DELAY_MAX_US);
	if (request->input)
		check_json(request->input);
	must(policy_preset("agent", &base, &err) == 0);
	must(policy_set(&base, "filesystem.workspace", "readWrite:/srv", &err) == 0);
	if (request_narrow(request, &base, &policy, &err) != 0) {
		check_error(&err);
	} else {
		must(policy_check_ceiling(&base, &policy, &err) == 0);
		must(policy.limits.wall_time_us <= base.limits.wall_time_us);
		if (scopes_check(&request->scopes, request->snippet.language, &policy,
				 POLICY_ISOLATION_NAMESPACE_JAIL, &err) != 0)
			check_error(&err);
		policy_done(&policy);
	}
	policy_done(&base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct agent_request request;
	struct warder_error err = { 0 };

	if (request_decode((const char *)data, size, &request, &err) < 0)
		check_error(&err);
	else
		check_accepted(&request);
	check_json(request.id);
	request_free(&request);
	return 0;
}
