/*
 * run_remote: the program's policy, arguments, variables and input go out in one request, and the result comes back in one answer.
 *
 * Nothing is sent before everything is checked that this machine can check: flags, the ceiling, what the policy needs of this machine, and
 * the match with what the host reports.
 */
#include "runtime/cli/run_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/remote_request.h"
#include "runtime/cli/run_e2b.h"

static int check_flags(const struct args *args, struct warder_error *err)
{
	const struct remote_request_flag flags[] = {
		{ args->terminal, "--terminal" },
		{ args->execution.detach, "--detach" },
		{ args->changes.dry_run || args->changes.directory, "--changes" },
		{ args->progress, "--progress" },
		{ args->functions.count > 0, "--function-command" },
		{ args->replay, "--replay" },
		{ args->code.artifacts, "--artifacts" },
		{ args->output_max, "--max-output" },
		{ args->cgroup_parent, "--cgroup-parent" },
		{ 0 },
	};

	return remote_request_check_flags(flags, args->backend, err);
}

static char *write_body(const struct args *args, struct warder_error *err)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	if (remote_request_policy(&w, &args->policy->policy, err) < 0 ||
	    remote_request_texts(&w, "argv", args->rest, err) < 0 ||
	    remote_request_input(&w, args->no_input ? -1 : STDIN_FILENO, err) < 0) {
		json_writer_done(&w);
		return NULL;
	}
	json_end_object(&w);
	return remote_request_take(&w, err);
}

static int run_there(struct report *report, const struct preparation *preparation)
{
	const struct args *args = report->args;
	struct warder_result *result = NULL;
	struct warder_error err = { 0 };
	char *body;
	int sent;

	if (report_ended_early(report))
		return 128 + ending_signal();
	body = preparation->remote.e2b ? run_e2b_job(args, &err) : write_body(args, &err);
	if (!body)
		return report_refuse(report, &err, EXIT_REFUSED);

	sent = preparation->remote.e2b
		   ? run_e2b_send(preparation, &args->policy->policy, "/v1/run", body, NULL, &result, &err)
		   : remote_request_send(preparation, &args->policy->policy, "run", body, &result, &err);
	explicit_bzero(body, strlen(body));
	free(body);
	return sent == 0 ? remote_request_finish(report, preparation->passed_over, result)
			 : report_refuse(report, &err, error_exit_status(err.code));
}

/* ---- the choice ---- */

/* True: *ret_status is that of the run on another machine, or of a refusal. False: the run is to be here. */
static bool choose_host(struct report *report, bool named, struct warder_error *err, const char **ret_backend,
			int *ret_status)
{
	const struct args *args = report->args;
	const struct preparation_options options = {
		.ceiling = args->ceiling ? &args->ceiling->policy : NULL,
		.cgroup_parent = args->cgroup_parent,
		.backend = args->backend,
		.backends = args->backends,
		.remotes = true,
	};
	struct preparation preparation = { 0 };
	bool here;

	if (err->code || (named && check_flags(args, err) < 0) ||
	    preparation_build(&args->policy->policy, &options, &preparation, err) < 0) {
		*ret_status = report_refuse(report, err, EXIT_REFUSED);
		preparation_done(&preparation);
		return true;
	}
	here = !preparation.is_remote;
	if (here) {
		*ret_backend = preparation.backend->name;
		snprintf(report->passed_over, sizeof(report->passed_over), "%s", preparation.passed_over);
	} else {
		*ret_status = run_there(report, &preparation);
	}
	preparation_done(&preparation);
	return !here;
}

bool run_remote(struct report *report, const char **ret_backend, int *ret_status)
{
	const struct args *args = report->args;
	const bool named = args->backend && backend_is_remote(args->backend);
	struct warder_error err = { 0 }, ignored;
	bool may = false;

	*ret_backend = NULL;
	if (!named && check_flags(args, &ignored) < 0) /* auto takes no host then */
		return false;
	if (preparation_may_be_remote(args->backend, args->backends, &may, &err) == 0 && !may)
		return false;
	return choose_host(report, named, &err, ret_backend, ret_status);
}
