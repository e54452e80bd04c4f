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
#include "runtime/cli/heap.h"
#include "runtime/cli/report.h"
#include "runtime/cli/run_remote.h"
#include "runtime/cli/served.h"
#include "runtime/cli/term.h"
#include "runtime/cli/terminal.h"
#include "runtime/library/result.h"

int run_launch(struct report *report, struct warder_template *tmpl, const struct warder_spill *spill)
{
	const bool terminal = report->args->terminal;
	owned_fd int input_fd = report->args->no_input ? -1
				: terminal             ? terminal_open_input()
						       : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	static const int output_fds[] = { STDOUT_FILENO, STDERR_FILENO };
	struct function_commands functions = { 0 };
	const struct warder_command command = {
		.size = sizeof(command),
		.argv = report->args->rest,
		.input_fd = input_fd > 0 && !terminal ? input_fd : 0,
		.terminal_fd = input_fd > 0 && terminal ? input_fd : 0,
		.output_fds = report->args->json ? NULL : output_fds,
		.output_max = report->args->json ? 0 : report->args->output_max,
		.changes = report->args->changes.dry_run,
		.changes_directory = report->args->changes.directory,
		.spill = spill,
		.should_stop = ending_came,
		.progress = report->args->progress,
		.on_progress = report_progress(report),
		.functions = functions.rows,
		.function_count = report->args->functions.count,
		.no_receipt = !report->args->json && !report->args->receipt,
	};
	struct warder_error err = { 0 };
	struct warder_run *run = NULL;
	int status;

	if (report_ended_early(report))
		return 128 + ending_signal();
	status = function_commands_take(report->args, &functions, &err);
	if (status == 0)
		status = warder_launch(tmpl, &command, &run, &err);
	function_commands_done(&functions);
	if (status != 0)
		return report_refuse(report, &err, error_exit_status(err.code));
	report_ports(report->args, run);
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
	const struct warder_options options = args_options(report->args, true);
	const struct warder_command command = { .size = sizeof(command),
						.argv = report->args->rest,
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

static int check_replay(const struct args *args, struct warder_error *err)
{
	if (!args->replay)
		return 0;
	if (args->policy->policy.network.mode != POLICY_NETWORK_LEARN)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--replay",
				 "--replay runs the program again under a learned policy; add --net learn");
	if (args->execution.detach || args->terminal)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--replay",
				 "--replay does not go with %s; leave one of the two out",
				 args->terminal ? "--terminal" : "--detach");
	return 0;
}

/* What only this process can do for a run; or NULL. */
static const char *needs_this_process(const struct args *args)
{
	return args->terminal                                     ? "--terminal"
	       : args->progress                                   ? "--progress"
	       : args->functions.count                            ? "--function-command"
	       : args->replay                                     ? "--replay"
	       : args->changes.dry_run || args->changes.directory ? "--changes"
	       : args->code.artifacts                             ? "--artifacts"
								  : NULL;
}

/* By the service, if one is there and may. Whether the program ran; then *ret_status is the exit status. */
static bool serve_run(struct report *report, int *ret_status)
{
	const struct args *args = report->args;
	static const int output_fds[] = { STDOUT_FILENO, STDERR_FILENO };
	const struct service_command command = {
		.policy = &args->policy->policy,
		.ceiling = args->ceiling ? &args->ceiling->policy : NULL,
		.cgroup_parent = args->cgroup_parent,
		.argv = args->rest,
		.input_fd = args->no_input ? -1 : STDIN_FILENO,
		.output_fds = args->json ? NULL : output_fds,
		.output_max = args->json ? 0 : args->output_max,
		.no_receipt = !args->json && !args->receipt,
	};
	struct warder_result *result = NULL;
	struct warder_error err = { 0 };
	const int served = served_run(args, needs_this_process(args), &command, &result, &err);

	report->service = served_word();
	if (served > 0)
		return false;
	*ret_status = served < 0 ? report_refuse(report, &err, EXIT_REFUSED) : report_result(report, result);
	return true;
}

static int prepare_and_launch(struct report *report)
{
	const struct args *args = report->args;
	struct warder_options options = {
		.size = sizeof(options),
		.ceiling = args->ceiling,
		.cgroup_parent = args->cgroup_parent,
		.backend = args->backend,
		.backends = args->backends,
		.single_use = 1,
	};
	const char *chosen;
	const struct warder_spill *spill = NULL;
	struct warder_template *tmpl = NULL;
	struct warder_error err = { 0 };
	int status;

	if (run_remote(report, &chosen, &status) || serve_run(report, &status))
		return status;
	if (heap_launch)
		heap_launch();
	if (chosen)
		options.backend = chosen;
	if (report_spool(report, &spill, &err) != 0 ||
	    warder_prepare(args->policy, &options, &tmpl, &err) != 0)
		return report_refuse(report, &err, EXIT_REFUSED);
	report->replay = args->replay ? replay : NULL;
	status = run_launch(report, tmpl, spill);
	warder_template_free(tmpl);
	return status;
}

/* Only an image may have one of its own. */
static int check_program(const struct args *args, struct warder_error *err)
{
	if (args->rest[0] || args->policy->policy.filesystem.view == POLICY_VIEW_IMAGE)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
			 "which program? warder run [FLAG...] -- PROGRAM");
}

int run_command(struct args *args, char **argv)
{
	struct report report;
	struct warder_error err = { 0 };
	int status;

	report_catch_signals();
	if (report_open(args, &report, &err) != 0)
		return command_refuse(args, &err, EXIT_REFUSED);
	if (args_load(FLAG_RUN, argv, args, &err) != 0 || args_pass_term(args, &err) != 0 ||
	    args_provide(args, &err) != 0 || check_program(args, &err) != 0 ||
	    check_replay(args, &err) != 0 || report_audit(&report, "run", NULL, &err) != 0)
		status = report_refuse(&report, &err, EXIT_REFUSED);
	else if (args->execution.detach && !(args->backend && backend_is_remote(args->backend)))
		status = detach_launch(&report, NULL);
	else
		status = prepare_and_launch(&report);
	report_done(&report);
	return status;
}
