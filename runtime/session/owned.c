/*
 * owned: the caller's side of an execution that has the caller's own streams. The connection carries the start, at most some stops, and the
 * end; no output, which the keeper writes to the caller's descriptors.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "runtime/library/result.h"
#include "runtime/session/attachment.h"
#include "runtime/session/records.h"
#include "runtime/session/session.h"

struct session_run {
	struct remote *remote;
	struct {
		struct record_head head;
		struct record_stop body;
	} stop; /* ready to be sent by a signal handler */
};

static void prepare_stop(struct session_run *run)
{
	struct record record;

	record_begin(&record, RECORD_STOP, 0, remote_id(run->remote), sizeof(run->stop.body));
	run->stop.head = record.head;
}

static int start(struct session_run *run, const struct remote_command *command, bool (*gives_up)(void),
		 struct warder_error *err)
{
	const int started = remote_start_owned(run->remote, command, gives_up, err);

	/* A keeper that answers says why. */
	if (started > 0)
		return session_not_started(SESSION_END_KEEPER, err);
	if (started < 0)
		return -1;
	/* The program runs: a caller that gives up now learns it from its own wait. */
	return remote_wait_begin(run->remote, true, err) == 0 || (gives_up && gives_up()) ? 0 : -1;
}

/* The connection that has described the session, unless the session has ended since: then another one may have its name. */
static int take_connection(struct warder_session *session, struct remote **ret, struct warder_error *err)
{
	*ret = session->owner;
	session->owner = NULL;
	if (*ret && remote_is_silent(*ret))
		return 0;
	remote_free(*ret);
	return remote_connect_owner(session->spec.name, ret, err);
}

int session_run_start(struct warder_session *session, const struct remote_command *command,
		      void (*before)(struct session_run *run), bool (*gives_up)(void),
		      struct session_run **ret, struct warder_error *err)
{
	struct remote_command asked = *command;
	struct session_run *run;
	int connected;

	if (session_check_granted(&session->spec.policy, command->ceiling, err) < 0 ||
	    session_check_narrower(&session->spec.policy, command->policy, err) < 0)
		return -1;
	run = calloc(1, sizeof(*run));
	if (!run)
		return error_no_memory(err, NULL);
	asked.session_id = session->spec.id;
	asked.for_files = session->for_files;
	connected = take_connection(session, &run->remote, err);
	if (connected != 0) {
		free(run);
		return connected;
	}
	prepare_stop(run);
	before(run);
	if (start(run, &asked, gives_up, err) == 0) {
		*ret = run;
		return 0;
	}
	before(NULL);
	session_run_free(run);
	return -1;
}

int session_run_follow(const struct session_run *run, struct warder_execution **ret, struct warder_error *err)
{
	return execution_follow(run->remote, ret, err);
}

int session_run_fd(const struct session_run *run)
{
	return remote_fd(run->remote);
}

/* Of what no supervisor has reported. NULL: no memory. */
static struct warder_result *make_result(const struct remote_end *end)
{
	struct warder_result *result = calloc(1, sizeof(*result));

	if (!result)
		return NULL;
	result->outcome = end->outcome;
	result->outcome.memory_peak_bytes = result->outcome.cpu_us = result->outcome.pids_peak = UINT64_MAX;
	result->backend = SESSION_BACKEND;
	result->receipt.isolation = POLICY_ISOLATION_NAMESPACE_JAIL_PERSISTENT;
	result->receipt.unwanted = true;
	result->unmeasured = true;
	return result;
}

/* The caller learns nothing more of the program, which may go on: no signal is known to have ended it. */
static struct warder_result *lose(void)
{
	const struct remote_end end = { .outcome = { .cause = JAIL_CAUSE_SUPERVISOR, .exit_code = -1 } };

	return make_result(&end);
}

struct warder_result *session_run_lost(const struct session_run *run)
{
	struct warder_result *result = lose();

	if (result)
		snprintf(result->outcome.detail, sizeof(result->outcome.detail),
			 "the keeper of session %.64s does not answer; the program ends when the keeper goes "
			 "on or ends",
			 remote_session(run->remote));
	return result;
}

/* The connection is lost. If the keeper answers on another one, it supervises the program still, and has its end for whoever asks. */
static struct warder_result *lose_connection(const struct session_run *run)
{
	struct warder_result *result = lose();
	struct jail_outcome *outcome;

	if (!result)
		return NULL;
	outcome = &result->outcome;
	if (remote_is_there(run->remote)) {
		snprintf(outcome->detail, sizeof(outcome->detail),
			 "the keeper of session %.64s has closed this connection, and goes on to supervise "
			 "the program; \"warder wait %s\" waits for its end",
			 remote_session(run->remote), remote_id(run->remote));
		return result;
	}
	outcome->signal = SIGKILL;
	snprintf(outcome->detail, sizeof(outcome->detail), "killed: %s",
		 session_end_text(SESSION_END_KEEPER));
	result->session_end = session_end_name(SESSION_END_KEEPER);
	return result;
}

/* The whole result, or, if it cannot be read, what the record of the end says. */
static struct warder_result *read_result(const struct remote_end *end, int fd)
{
	struct warder_result *result = calloc(1, sizeof(*result));

	if (!result)
		return NULL;
	if (fd < 0 || result_read_file(fd, result) < 0) {
		free(result);
		result = make_result(end);
	}
	if (result && end->session_end != SESSION_END_NONE)
		result->session_end = session_end_name(end->session_end);
	return result;
}

int session_run_take(struct session_run *run, struct warder_result **ret, struct warder_error *err)
{
	owned_fd int fd = -1;
	struct remote_end end;
	const int got = remote_wait_whole(run->remote, 0, &end, &fd, err);

	if (got == 0)
		return 0;
	*ret = got < 0 ? lose_connection(run) : read_result(&end, fd);
	return *ret ? 1 : error_no_memory(err, NULL);
}

int session_run_handed_fd(const struct session_run *run)
{
	return remote_handed_fd(run->remote);
}

void session_run_say_taken(struct session_run *run)
{
	remote_say_taken(run->remote);
}

void session_run_stop(struct session_run *run, int signal, uint64_t grace_us)
{
	const int saved = errno;
	typeof(run->stop) stop = run->stop;

	stop.body.signal = (uint32_t)signal;
	stop.body.grace_us = grace_us;
	(void)!fd_send(remote_fd(run->remote), &stop, sizeof(stop), NULL, 0, MSG_DONTWAIT);
	errno = saved;
}

void session_run_free(struct session_run *run)
{
	if (!run)
		return;
	remote_free(run->remote);
	free(run);
}
