/*
 * session: the session that an attempt has to itself, with `doctor --attack --session`. For the command, in runtime/cli.
 *
 * Life: zeroed -> attack_session_open() -> attack_session_companion(), where the attempt wants one -> jail_launch() with .tmpl, for the
 * attempt; meanwhile, where it wants them, attack_session_join() to attack_session_joined() -> attack_session_check() ->
 * attack_session_close(). Joiners are launched by a thread of their own.
 */
#ifndef WARDER_RUNTIME_ATTACK_SESSION_H
#define WARDER_RUNTIME_ATTACK_SESSION_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/library/preparation.h"

/* One kind of execution. */
struct attack_execution {
	struct preparation preparation;
	struct jail_template *tmpl;
};

struct attack_session {
	struct preparation kept;
	const struct backend_sessions *sessions;
	void *session;
	struct attack_execution attempt, companion, joiner,
	    elsewhere;      /* elsewhere: in a directory of the session's /tmp */
	char **joiner_argv; /* borrowed */
	pthread_t thread;
	bool joining;
	atomic_bool enough;
	unsigned joined, refused;
	char broken[200]; /* what came of an execution that should not have; "": nothing */
};

/* `policy` is the session's, `own` the attempt's; `how` as for any preparation. joiner_argv: their program and its arguments. -1 with *err:
 * close it all the same. */
int attack_session_open(struct attack_session *session, const struct policy *policy, const struct policy *own,
			const struct preparation_options *how, char **joiner_argv, struct warder_error *err);
/* Until it says that it is ready. -1 with *err. */
int attack_session_companion(struct attack_session *session, char **argv, struct warder_error *err);
int attack_session_join(struct attack_session *session, struct warder_error *err);
void attack_session_joined(struct attack_session *session);
/* Whether the session lives, and one more execution in it is as it must be: else the reason is in .broken. */
bool attack_session_check(struct attack_session *session);
void attack_session_close(struct attack_session *session);

#endif
