/*
 * declare: the request side of a backend that is part of a model.
 *
 * A declaration hands code to machines that no policy reaches, so it is judged as a run is: the operator must have enabled the
 * backend, the ceiling is held against the policy, and what the policy requires and the backend does not enforce, which is all of
 * it, refuses the declaration. Only who prefers these fields gets it, and is told that they are not enforced.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/library/declare.h"
#include "runtime/library/library.h"
#include "runtime/library/preparation.h"

/* The policy before that backend. That it executes nothing here is no reason to refuse. */
static int judge(const struct policy *policy, const struct warder_options *options, struct preparation *ret,
		 struct warder_error *err)
{
	const struct preparation_options how = {
		.ceiling = options->ceiling ? &options->ceiling->policy : NULL,
		.cgroup_parent = options->cgroup_parent,
		.backend = options->backend,
		.backends = options->backends,
		.any_subject = true,
	};

	if (preparation_build(policy, &how, ret, err) == 0 ||
	    (ret->matched && ret->match.required_count == 0 && err->code == WARDER_ERROR_UNAVAILABLE &&
	     ret->backend->runs == BACKEND_RUNS_NOTHING))
		return 0;
	return -1;
}

static char *write_report(const struct preparation *preparation, const char *request)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "backend", preparation->backend->name);
	json_key_string(&w, "isolation", policy_isolation_name(preparation->backend->isolation));
	json_key(&w, "notEnforced");
	json_begin_array(&w);
	for (size_t i = 0; i < preparation->match.count; i++)
		json_string(&w, policy_control_name(preparation->match.unmet[i].control));
	json_end_array(&w);
	json_key(&w, "request");
	json_number(&w, request);
	json_end_object(&w);
	return json_take(&w);
}

int declare_request(const struct warder_policy *policy, const struct warder_options *options,
		    const struct backend_model_request *request, bool whole, char **ret,
		    struct warder_error *err)
{
	const struct backend *backend = backend_find(options->backend ? options->backend : "", err);
	struct preparation preparation = { 0 };
	int status = -1;

	if (!backend)
		return -1;
	if (!backend->declare)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "backend",
		    "the backend %s runs code on this host, and is not part of a model; declare builtin",
		    backend->name);
	if (judge(&policy->policy, options, &preparation, err) == 0) {
		*ret = backend->declare(backend, request, err);
		if (*ret && whole) {
			char *report = write_report(&preparation, *ret);

			free(*ret);
			*ret = report;
			if (!report)
				error_no_memory(err, NULL);
		}
		status = *ret ? 0 : -1;
	}
	preparation_done(&preparation);
	return status;
}

int warder_backend_declare(const struct warder_policy *policy, const struct warder_options *options,
			   const char *model, const char *request, size_t len, char **ret,
			   struct warder_error *err)
{
	const struct backend_model_request asked = { request, len, "request", model };
	struct warder_options known = { 0 };

	if (!policy || !options || !request || !ret)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the argument `%s` is NULL",
				 !policy    ? "policy"
				 : !options ? "options"
				 : !request ? "request"
					    : "ret");
	if (library_take(&known, sizeof(known), options, options->size, "warder_options", err) != 0)
		return -1;
	return declare_request(policy, &known, &asked, false, ret, err);
}
