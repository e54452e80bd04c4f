/*
 * run: one program under a policy, its streams passed through.
 *
 * Signals. SIGINT, SIGTERM and SIGHUP end the run, not Warder: the handler cancels it, the supervisor takes the jail
 * down, and only then does Warder exit, with 128 plus the signal. A second signal does the same again, so impatience leaves
 * nothing behind either. A signal that came before the start is seen before and after the launch; what is ignored when Warder
 * starts (nohup, a background job) stays ignored.
 * A reader that goes away ends the run like SIGPIPE would have ended the program: silently, with 141.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/file.h"
#include "runtime/cli/term.h"
#include "runtime/result.h"

static struct warder_run *volatile running;

static void cancel_run(void)
{
	if (running)
		warder_cancel(running);
}

static void catch_signals(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL); /* the caller's limit: told as an error of the write */
	ending_catch(cancel_run);
}

struct session {
	const struct request *request;
	int receipt_dir_fd; /* owned; -1 without a receipt file */
	int write_error;    /* errno of the write of the program's output that failed, or 0 */
};

/* ---- the end, for people and as an exit status ---- */

static const char *const stream_names[] = { "stdout", "stderr" };

static void tell_truncation(const struct warder_result *result)
{
	for (size_t i = 0; i < 2; i++) {
		const struct jail_output *output = &result->outcome.output[i];

		if (output->truncated)
			term_complain("%s: kept %llu of %llu bytes (output.%s)", stream_names[i],
				      (unsigned long long)result->passed[i],
				      (unsigned long long)output->total, stream_names[i]);
	}
}

/* One line for what ended the program, or for a limit that it lived with; nothing when it ended by itself. */
static void tell_cause(const struct jail_outcome *outcome, const struct policy *policy)
{
	char text[32];

	if (outcome->cause == JAIL_CAUSE_WALL_TIME)
		term_complain("killed after %s (limits.wallTime)",
			      policy_format_time(policy->limits.wall_time_us, text, sizeof(text)));
	else if (outcome->cause == JAIL_CAUSE_CPU_TIME)
		term_complain("killed after %s of CPU time (limits.cpuTime)",
			      policy_format_time(policy->limits.cpu_time_us, text, sizeof(text)));
	else if (outcome->cause == JAIL_CAUSE_MEMORY)
		term_complain("memory limit of %s reached (limits.memory)",
			      policy_format_size(policy->limits.memory_bytes, text, sizeof(text)));
	else if (outcome->cause == JAIL_CAUSE_PIDS || outcome->hit[JAIL_CAUSE_PIDS])
		term_complain("limit of %s processes reached (limits.pids)",
			      policy_format_count(policy->limits.pids_max, text, sizeof(text)));
	else if (outcome->cause != JAIL_CAUSE_EXIT && outcome->cause != JAIL_CAUSE_SIGNAL)
		term_complain("%s: %s", jail_cause_name(outcome->cause), outcome->detail);
}

static void tell(const struct session *session, const struct warder_result *result)
{
	tell_truncation(result);
	if (session->write_error == EPIPE || ending_signal())
		return;
	if (session->write_error)
		term_complain("the program's output cannot be written: %s", strerror(session->write_error));
	else
		tell_cause(&result->outcome, &session->request->policy->policy);
}

static int exit_status(const struct session *session, const struct jail_outcome *outcome)
{
	switch (outcome->cause) {
	case JAIL_CAUSE_WALL_TIME:
	case JAIL_CAUSE_CPU_TIME:
		return 124;
	case JAIL_CAUSE_CANCELLED:
	case JAIL_CAUSE_SUPERVISOR:
		if (ending_signal())
			return 128 + ending_signal();
		return 128 + (session->write_error == EPIPE ? SIGPIPE : SIGKILL);
	case JAIL_CAUSE_MEMORY:
	case JAIL_CAUSE_OUTPUT:
	case JAIL_CAUSE_HOST:
		return 128 + SIGKILL;
	case JAIL_CAUSE_EXIT:
	case JAIL_CAUSE_SIGNAL:
	case JAIL_CAUSE_PIDS:
	case JAIL_CAUSE_DISK:
	case JAIL_CAUSE_SYSCALL:
	case JAIL_CAUSE_NETWORK:
	case JAIL_CAUSE_COUNT:
		break;
	}
	if (outcome->exit_code >= 0)
		return outcome->exit_code;
	return 128 + (outcome->signal > 0 ? outcome->signal : SIGKILL);
}

/* ---- the run ---- */

static int print_json(const struct warder_result *result, struct warder_error *err)
{
	char *json = warder_result_json(result);
	int status = -1;

	if (!json)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL, "out of memory");
	if (file_write_all(STDOUT_FILENO, json, strlen(json)) == 0 &&
	    file_write_all(STDOUT_FILENO, "\n", 1) == 0)
		status = 0;
	else
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "the result cannot be written");
	free(json);
	return status;
}

/* Takes the text, which is NULL without memory. */
static int write_receipt(const struct session *session, char *json, struct warder_error *err)
{
	const char *path = session->request->receipt;
	int status = 0;

	if (!json)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL, "out of memory");
	if (strcmp(path, "-") == 0) {
		file_write_all(STDERR_FILENO, json, strlen(json));
		file_write_all(STDERR_FILENO, "\n", 1);
	} else {
		status = file_replace(session->receipt_dir_fd, path, json, strlen(json), err);
	}
	free(json);
	return status;
}

/* Nothing ran: an older receipt in that place must not pass for this one's. */
static void receipt_of_refusal(const struct session *session, const struct warder_error *why)
{
	struct warder_error err = { 0 };

	if (session->receipt_dir_fd >= 0 && write_receipt(session, result_error_json(why), &err) != 0)
		term_error(&err);
}

static int refuse(const struct session *session, const struct warder_error *why, int status)
{
	receipt_of_refusal(session, why);
	return command_refuse(session->request, why, status);
}

/* Tell how it ended; the exit status. Who asked for a result or a receipt and gets none must not go on as if all was
 * well. */
static int finish(const struct session *session, const struct warder_result *result)
{
	struct warder_error err = { 0 };
	int status = 0;

	if (session->request->json)
		status = print_json(result, &err);
	else
		tell(session, result);
	if (status == 0 && session->request->receipt)
		status = write_receipt(session, result_receipt_json(result), &err);
	if (status == 0)
		return exit_status(session, &result->outcome);
	term_error(&err);
	return EXIT_REFUSED;
}

static int wait_for(struct session *session, struct warder_run *run)
{
	struct warder_result *result = NULL;
	struct warder_error err = { 0 };
	int status;

	running = run;
	if (ending_signal())
		warder_cancel(run);
	status = warder_wait(run, &result, &err);
	running = NULL;
	if (status != 0)
		return refuse(session, &err, EXIT_REFUSED);
	session->write_error = result->outcome.receiver_errno;
	status = finish(session, result);
	warder_result_free(result);
	return status;
}

static int launch(struct session *session, struct warder_template *tmpl)
{
	owned_fd int input_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	static const int output_fds[] = { STDOUT_FILENO, STDERR_FILENO };
	const struct warder_command command = {
		.size = sizeof(command),
		.argv = session->request->rest,
		.input_fd = input_fd,
		.output_fds = session->request->json ? NULL : output_fds,
	};
	struct warder_error err = { 0 };
	struct warder_run *run = NULL;
	int status;

	if (ending_signal()) {
		error_set(&err, WARDER_ERROR_UNAVAILABLE, NULL, "a signal came before the start");
		receipt_of_refusal(session, &err);
		return 128 + ending_signal();
	}
	if (warder_launch(tmpl, &command, &run, &err) != 0)
		return refuse(session, &err, error_exit_status(err.code));
	status = wait_for(session, run);
	warder_run_free(run);
	return status;
}

static int prepare_and_launch(struct session *session)
{
	const struct request *request = session->request;
	const struct warder_options options = {
		.size = sizeof(options),
		.ceiling = request->ceiling,
		.cgroup_parent = request->cgroup_parent,
		.single_use = 1,
	};
	struct warder_template *tmpl = NULL;
	struct warder_error err = { 0 };
	int status;

	if (warder_prepare(request->policy, &options, &tmpl, &err) != 0)
		return refuse(session, &err, EXIT_REFUSED);
	status = launch(session, tmpl);
	warder_template_free(tmpl);
	return status;
}

int run_command(struct request *request, char **argv)
{
	struct session session = { .request = request, .receipt_dir_fd = -1 };
	struct warder_error err = { 0 };
	int status;

	catch_signals();
	if (request->receipt && strcmp(request->receipt, "-") != 0 &&
	    file_open_place(request->receipt, &session.receipt_dir_fd, &err) != 0)
		return command_refuse(request, &err, EXIT_REFUSED);
	if (!request->rest[0])
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "argv",
			  "which program? warder run [FLAG...] -- PROGRAM");
	if (!request->rest[0] || request_load(FLAG_RUN, argv, request, &err) != 0)
		status = refuse(&session, &err, EXIT_REFUSED);
	else
		status = prepare_and_launch(&session);
	fd_done(&session.receipt_dir_fd);
	return status;
}
