/*
 * run: one program under a policy, its streams passed through.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/functions.h"
#include "runtime/cli/report.h"
#include "runtime/cli/run_remote.h"
#include "runtime/cli/served.h"
#include "runtime/cli/term.h"
#include "runtime/cli/terminal.h"
#include "runtime/library/result.h"

int run_launch(struct report *report, struct warder_template *tmpl, const struct warder_spill *spill)
{
	const bool terminal = report->request->terminal;
	owned_fd int input_fd = report->request->no_input ? -1
				: terminal                ? terminal_open_input()
							  : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	static const int output_fds[] = { STDOUT_FILENO, STDERR_FILENO };
	struct function_commands functions = { 0 };
	const struct warder_command command = {
		.size = sizeof(command),
		.argv = report->request->rest,
		.input_fd = input_fd > 0 && !terminal ? input_fd : 0,
		.terminal_fd = input_fd > 0 && terminal ? input_fd : 0,
		.output_fds = report->request->json ? NULL : output_fds,
		.output_max = report->request->json ? 0 : report->request->output_max,
		.changes = report->request->changes.dry_run,
		.changes_directory = report->request->changes.directory,
		.spill = spill,
		.should_stop = ending_came,
		.progress = report->request->progress,
		.on_progress = report_progress(report),
		.functions = functions.rows,
		.function_count = report->request->functions.count,
		.no_receipt = !report->request->json && !report->request->receipt,
	};
	struct warder_error err = { 0 };
	struct warder_run *run = NULL;
	int status;

	if (report_ended_early(report))
		return 128 + ending_signal();
	status = function_commands_take(report->request, &functions, &err);
	if (status == 0)
		status = warder_launch(tmpl, &command, &run, &err);
	function_commands_done(&functions);
	if (status != 0)
		return report_refuse(report, &err, error_exit_status(err.code));
	report_ports(report->request, run);
	if (terminal)
		terminal_begin(run);
	status = report_wait(report, run);
	terminal_end();
	warder_run_free(run);
	return status;
}

/* -1 with *err: it did not run. */
static int replay_once(struct report *report, const struct warder_policy *policy, struct learned *learned,
		       struct warder_error *err)
{
	const struct warder_options options = request_options(report->request, true);
	const struct warder_command command = { .size = sizeof(command),
						.argv = report->request->rest,
						.should_stop = ending_came,
						.no_receipt = 1 };
	struct warder_template *tmpl = NULL;
	struct warder_run *run = NULL;
	struct warder_result *result = NULL;
	int status = -1;

	if (warder_prepare(policy, &options, &tmpl, err) == 0 &&
	    warder_launch(tmpl, &command, &run, err) == 0) {
		report_running(run);
		status = warder_wait(run, &result, err);
		report_running(NULL);
	}
	if (status == 0)
		learned_replayed(learned, &result->outcome);
	warder_result_free(result);
	warder_run_free(run);
	warder_template_free(tmpl);
	return status;
}

/* The program again, with an empty input and without showing its output. */
static void replay(struct report *report, struct learned *learned)
{
	char *json = policy_encode(&learned->policy);
	struct warder_policy *policy = NULL;
	struct warder_error err = { 0 };

	if (!json)
		error_no_memory(&err, NULL);
	else if (warder_policy_parse(json, strlen(json), "the learned policy", &policy, &err) == 0)
		replay_once(report, policy, learned, &err);
	if (!learned->replayed)
		snprintf(learned->replay_fault, sizeof(learned->replay_fault), "%s", err.text);
	warder_policy_free(policy);
	free(json);
}

static int check_replay(const struct request *request, struct warder_error *err)
{
	if (!request->replay)
		return 0;
	if (request->policy->policy.network.mode != POLICY_NETWORK_LEARN)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--replay",
				 "--replay runs the program again under a learned policy; add --net learn");
	if (request->execution.detach || request->terminal)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--replay",
				 "--replay does not go with %s; leave one of the two out",
				 request->terminal ? "--terminal" : "--detach");
	return 0;
}

/* What only this process can do for a run; or NULL. */
static const char *needs_this_process(const struct request *request)
{
	return request->terminal                                        ? "--terminal"
	       : request->progress                                      ? "--progress"
	       : request->functions.count                               ? "--function-command"
	       : request->replay                                        ? "--replay"
	       : request->changes.dry_run || request->changes.directory ? "--changes"
	       : request->code.artifacts                                ? "--artifacts"
									: NULL;
}

/* By the service, if one is there and may. Whether the program ran; then *ret_status is the exit status. */
static bool serve_run(struct report *report, int *ret_status)
{
	const struct request *request = report->request;
	static const int output_fds[] = { STDOUT_FILENO, STDERR_FILENO };
	const struct service_command command = {
		.policy = &request->policy->policy,
		.ceiling = request->ceiling ? &request->ceiling->policy : NULL,
		.cgroup_parent = request->cgroup_parent,
		.argv = request->rest,
		.input_fd = request->no_input ? -1 : STDIN_FILENO,
		.output_fds = request->json ? NULL : output_fds,
		.output_max = request->json ? 0 : request->output_max,
		.no_receipt = !request->json && !request->receipt,
	};
	struct warder_result *result = NULL;
	struct warder_error err = { 0 };
	const int served = served_run(request, needs_this_process(request), &command, &result, &err);

	if (served > 0)
		return false;
	*ret_status = served < 0 ? report_refuse(report, &err, EXIT_REFUSED) : report_result(report, result);
	return true;
}

static int prepare_and_launch(struct report *report)
{
	const struct request *request = report->request;
	struct warder_options options = {
		.size = sizeof(options),
		.ceiling = request->ceiling,
		.cgroup_parent = request->cgroup_parent,
		.backend = request->backend,
		.backends = request->backends,
		.single_use = 1,
	};
	const char *chosen;
	const struct warder_spill *spill = NULL;
	struct warder_template *tmpl = NULL;
	struct warder_error err = { 0 };
	int status;

	if (run_remote(report, &chosen, &status) || serve_run(report, &status))
		return status;
	if (chosen)
		options.backend = chosen;
	if (report_spool(report, &spill, &err) != 0 ||
	    warder_prepare(request->policy, &options, &tmpl, &err) != 0)
		return report_refuse(report, &err, EXIT_REFUSED);
	report->replay = request->replay ? replay : NULL;
	status = run_launch(report, tmpl, spill);
	warder_template_free(tmpl);
	return status;
}

/* Only an image may have one of its own. */
static int check_program(const struct request *request, struct warder_error *err)
{
	if (request->rest[0] || request->policy->policy.filesystem.view == POLICY_VIEW_IMAGE)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
			 "which program? warder run [FLAG...] -- PROGRAM");
}

int run_command(struct request *request, char **argv)
{
	struct report report;
	struct warder_error err = { 0 };
	int status;

	report_catch_signals();
	if (report_open(request, &report, &err) != 0)
		return command_refuse(request, &err, EXIT_REFUSED);
	if (request_load(FLAG_RUN, argv, request, &err) != 0 || request_pass_term(request, &err) != 0 ||
	    request_provide(request, &err) != 0 || check_program(request, &err) != 0 ||
	    check_replay(request, &err) != 0 || report_audit(&report, "run", NULL, &err) != 0)
		status = report_refuse(&report, &err, EXIT_REFUSED);
	else if (request->execution.detach && !(request->backend && backend_is_remote(request->backend)))
		status = detach_launch(&report, NULL);
	else
		status = prepare_and_launch(&report);
	report_done(&report);
	return status;
}
