/*
 * detach: start an execution that outlives this process. One without a session gets a session of its own, whose name is the execution's id:
 * it ends when the result has been kept long enough.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/line_log.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/report.h"
#include "runtime/session/session.h"

#define PROGRAM "/proc/self/exe"
#define KEEP_US UINT64_C(600000000)

static uint64_t keep_us(const struct args *args)
{
	return args->execution.keep_us ? args->execution.keep_us : KEEP_US;
}

static int start_session(const struct args *args, const char *id, struct warder_session **ret,
			 struct warder_error *err)
{
	const struct warder_session_options options = {
		.size = sizeof(options),
		.policy = args->policy,
		.lifetime_us = SESSION_TIME_MAX_US,
		.idle_us = keep_us(args),
		.ceiling = args->ceiling,
		.cgroup_parent = args->cgroup_parent,
		.backend = args->backend,
		.backends = args->backends,
		.program = PROGRAM,
	};

	return session_start(id, &options, NULL, ending_came, ret, err);
}

static int start(const struct report *report, struct warder_session *session, const char *id,
		 struct warder_execution **ret, struct warder_error *err)
{
	const struct args *args = report->args;
	char *head = report_audit_head(report);
	const struct remote_audit audit = { .fd = report->audit.fd, .path = args->audit, .head = head };
	int status;
	const bool copies = args->terminal && isatty(STDIN_FILENO);
	owned_fd int log_fd = -1;
	owned_fd int terminal_fd = copies ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
	struct warder_execution_command command = {
		.size = sizeof(command),
		.policy = args->policy,
		.ceiling = args->ceiling,
		.argv = args->rest,
		.flags = args->session.background ? WARDER_SESSION_BACKGROUND : 0,
		.keep_input = args->execution.input,
		.terminal = args->terminal,
		.terminal_fd = terminal_fd > 0 ? terminal_fd : 0,
		.output_max = args->output_max,
		.keep_us = keep_us(args),
		.id = id,
	};

	if (report->audit.fd >= 0 && !head)
		return error_no_memory(err, NULL);
	if (args->execution.log) {
		if (line_log_open(args->execution.log, "--log", &log_fd, err) != 0) {
			free(head);
			return -1;
		}
		command.log_fd = log_fd;
	}
	status = execution_start_audited(session, &command, head ? &audit : NULL, args->progress, ret, err);
	free(head);
	return status;
}

int detach_launch(struct report *report, struct warder_session *session)
{
	const struct args *args = report->args;
	char id[REMOTE_ID_LENGTH + 1];
	struct warder_error err = { 0 }, ignored;
	struct warder_execution *execution = NULL;
	struct warder_session *own = NULL;
	int ret;

	if (remote_draw_id(id, &err) < 0 || (!session && start_session(args, id, &own, &err) < 0))
		return report_refuse(report, &err, EXIT_REFUSED);
	ret = start(report, session ? session : own, id, &execution, &err);
	warder_session_free(own);
	if (ret < 0) {
		if (!session)
			session_stop(id, NULL, NULL, &ignored);
		return report_refuse(report, &err, error_exit_status(err.code));
	}
	puts(warder_execution_id(execution));
	warder_execution_free(execution);
	return 0;
}
