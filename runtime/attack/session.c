#include "runtime/attack/session.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LIFETIME_US UINT64_C(3600000000)
#define ELSEWHERE   "/tmp/warder-joiner/deep" /* runtime/attack/attempts/sessions.c */

static int prepare(struct attack_session *session, const struct policy *policy,
		   const struct preparation_options *how, bool background, struct attack_execution *ret,
		   struct warder_error *err)
{
	struct preparation_options joins = *how;

	joins.joint = session->sessions->joint(session->session);
	joins.root = session->sessions->root(session->session);
	joins.background = background;
	if (preparation_build(policy, &joins, &ret->preparation, err) != 0)
		return -1;
	return jail_prepare(&ret->preparation.plan, ret->preparation.host, true, &ret->tmpl, err);
}

static int prepare_elsewhere(struct attack_session *session, const struct policy *policy,
			     const struct preparation_options *how, struct warder_error *err)
{
	owned_policy struct policy there = { 0 };

	if (policy_copy(policy, &there, err) != 0 ||
	    policy_set(&there, "workingDirectory", ELSEWHERE, err) != 0)
		return -1;
	return prepare(session, &there, how, false, &session->elsewhere, err);
}

int attack_session_open(struct attack_session *session, const struct policy *policy, const struct policy *own,
			const struct preparation_options *how, char **joiner_argv, struct warder_error *err)
{
	session->joiner_argv = joiner_argv;
	if (preparation_build(policy, how, &session->kept, err) != 0)
		return -1;
	session->sessions = session->kept.backend->sessions;
	if (!session->sessions)
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "backend",
				 "the backend %s keeps no session; use local", session->kept.backend->name);
	if (session->sessions->start(&session->kept.plan, session->kept.host, LIFETIME_US, &session->session,
				     err) != 0)
		return -1;
	return prepare(session, own, how, false, &session->attempt, err) == 0 &&
		       prepare(session, policy, how, true, &session->companion, err) == 0 &&
		       prepare(session, policy, how, false, &session->joiner, err) == 0 &&
		       prepare_elsewhere(session, policy, how, err) == 0
		   ? 0
		   : -1;
}

static int execute(const struct attack_execution *execution, char **argv, struct jail_outcome *ret,
		   struct warder_error *err)
{
	const struct jail_command command = { .argv = argv, .stdin_fd = -1 };
	struct jail_run *run = NULL;
	int status;

	if (jail_launch(execution->tmpl, &command, &run, err) != 0)
		return -1;
	status = jail_supervise(run, ret, err);
	jail_run_free(run);
	return status;
}

static bool said(const struct jail_outcome *outcome, const char *text)
{
	const struct jail_output *output = &outcome->output[JAIL_STDOUT];

	return outcome->cause == JAIL_CAUSE_EXIT && outcome->exit_code == 0 && output->bytes &&
	       output->len == strlen(text) && memcmp(output->bytes, text, output->len) == 0;
}

int attack_session_companion(struct attack_session *session, char **argv, struct warder_error *err)
{
	struct jail_outcome outcome;
	bool ready;

	if (execute(&session->companion, argv, &outcome, err) != 0)
		return error_context(err, "the companion");
	ready = said(&outcome, "ready\n");
	jail_outcome_done(&outcome);
	return ready ? 0
		     : error_set(err, WARDER_ERROR_UNAVAILABLE, "--session",
				 "the companion did not begin: %.150s", outcome.detail);
}

/* ---- joiners ---- */

/* One that is refused, or ended at a limit that both share, was not reached by anybody; the session's are tried to be used up. */
static bool is_reached(const struct jail_outcome *outcome)
{
	switch (outcome->cause) {
	case JAIL_CAUSE_EXIT:
	case JAIL_CAUSE_SIGNAL:
	case JAIL_CAUSE_SYSCALL:
	case JAIL_CAUSE_OUTPUT:
		return !said(outcome, "fine\n");
	default:
		return false;
	}
}

static void join_one(struct attack_session *session, const struct attack_execution *execution)
{
	const struct jail_output *output;
	struct jail_outcome outcome;
	struct warder_error err;

	if (execute(execution, session->joiner_argv, &outcome, &err) != 0) {
		session->refused++;
		return;
	}
	output = &outcome.output[JAIL_STDOUT];
	session->joined += said(&outcome, "fine\n");
	if (is_reached(&outcome))
		snprintf(session->broken, sizeof(session->broken), "an execution beside it: %.60s; %.*s",
			 outcome.detail, (int)strcspn(output->bytes ? output->bytes : "", "\n"),
			 output->bytes ? output->bytes : "");
	jail_outcome_done(&outcome);
}

static void *join_again(void *context)
{
	struct attack_session *session = context;

	for (unsigned i = 0; !atomic_load(&session->enough); i++)
		join_one(session, i % 2 ? &session->elsewhere : &session->joiner);
	return NULL;
}

int attack_session_join(struct attack_session *session, struct warder_error *err)
{
	if (pthread_create(&session->thread, NULL, join_again, session) != 0)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "--session", "no thread for the executions");
	session->joining = true;
	return 0;
}

void attack_session_joined(struct attack_session *session)
{
	if (!session->joining)
		return;
	atomic_store(&session->enough, true);
	pthread_join(session->thread, NULL);
	session->joining = false;
	if (!session->joined && !session->broken[0])
		snprintf(session->broken, sizeof(session->broken), "none of %u executions beside it began",
			 session->refused);
}

bool attack_session_check(struct attack_session *session)
{
	if (!session->broken[0])
		join_one(session, &session->joiner);
	if (!session->broken[0] && !session->sessions->is_running(session->session))
		snprintf(session->broken, sizeof(session->broken), "it ended the session");
	return !session->broken[0];
}

static void execution_done(struct attack_execution *execution)
{
	jail_template_free(execution->tmpl);
	preparation_done(&execution->preparation);
}

void attack_session_close(struct attack_session *session)
{
	attack_session_joined(session);
	execution_done(&session->attempt);
	execution_done(&session->companion);
	execution_done(&session->joiner);
	execution_done(&session->elsewhere);
	if (session->session)
		session->sessions->free(session->session);
	preparation_done(&session->kept);
}
