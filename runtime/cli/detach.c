/*
 * detach: start an execution that outlives this process. One without a session gets a session of its own, whose name is the execution's id:
 * it ends when the result has been kept long enough.
 */
#include <stdio.h>
#include <unistd.h>

#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/session/session.h"

#define PROGRAM "/proc/self/exe"
#define KEEP_US UINT64_C(600000000)

static uint64_t keep_us(const struct request *request)
{
	return request->execution.keep_us ? request->execution.keep_us : KEEP_US;
}

static int start_session(const struct request *request, const char *id, struct warder_error *err)
{
	const struct warder_session_options options = {
		.size = sizeof(options),
		.policy = request->policy,
		.lifetime_us = SESSION_TIME_MAX_US,
		.idle_us = keep_us(request),
		.ceiling = request->ceiling,
		.cgroup_parent = request->cgroup_parent,
		.backend = request->backend,
		.backends = request->backends,
		.program = PROGRAM,
	};
	struct warder_session *session = NULL;
	const int started = session_start(id, &options, ending_came, &session, err);

	warder_session_free(session);
	return started;
}

static int start(const struct request *request, const char *session, const char *id, struct remote **ret,
		 struct warder_error *err)
{
	const struct remote_command command = {
		.policy = &request->policy->policy,
		.ceiling = request->ceiling ? &request->ceiling->policy : NULL,
		.argv = request->rest,
		.background = request->session.background,
		.input = request->execution.input,
		.terminal = request->terminal,
		.terminal_fd = request->terminal && isatty(STDIN_FILENO) ? STDIN_FILENO : -1,
		.output_max = request->output_max,
		.keep_us = keep_us(request),
	};

	return remote_start(session, id, &command, ret, err);
}

int detach_launch(const struct request *request, const char *session)
{
	char id[REMOTE_ID_LENGTH + 1];
	struct warder_error err = { 0 }, ignored;
	struct remote *remote = NULL;
	const bool own = !session;

	if (remote_draw_id(id, &err) < 0 || (own && start_session(request, id, &err) < 0))
		return command_refuse(request, &err, EXIT_REFUSED);
	if (start(request, own ? id : session, id, &remote, &err) < 0) {
		if (own)
			session_stop(id, NULL, &ignored);
		return command_refuse(request, &err, error_exit_status(err.code));
	}
	puts(remote_id(remote));
	remote_free(remote);
	return 0;
}
