#include "runtime/session/keeper_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"

int keeper_rules_init(struct keeper_rules *rules, struct warder_error *err)
{
	rules->fd = eventfd(0, EFD_CLOEXEC);
	return rules->fd < 0 ? error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					       "no descriptor for the rules of the session")
			     : 0;
}

static void *replace(void *arg)
{
	struct keeper_rules *rules = arg;
	const uint64_t one = 1;

	rules->done =
	    rules->sessions->replace_rules(rules->session, &rules->policy, &rules->since_us, &rules->err);
	if (write(rules->fd, &one, sizeof(one)) < 0)
		abort(); /* a counter of one takes it */
	return NULL;
}

int keeper_rules_begin(struct keeper_rules *rules, const struct backend_sessions *sessions, void *session,
		       const struct policy *policy, struct warder_error *err)
{
	int error;

	if (rules->busy)
		return error_set(err, WARDER_ERROR_CONFLICT, "network.allow",
				 "the network rules of the session are being replaced; try again");
	rules->sessions = sessions;
	rules->session = session;
	rules->policy = *policy;
	rules->err = (struct warder_error){ 0 };
	error = pthread_create(&rules->thread, NULL, replace, rules);
	if (error)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, error,
				       "no thread for the rules of the session");
	rules->busy = true;
	return 0;
}

int keeper_rules_finish(struct keeper_rules *rules, struct policy *ret, struct warder_error *err)
{
	uint64_t count;

	pthread_join(rules->thread, NULL);
	if (read(rules->fd, &count, sizeof(count)) < 0)
		abort(); /* the thread has written */
	rules->busy = false;
	if (rules->done != 0) {
		policy_done(&rules->policy);
		*err = rules->err;
		return -1;
	}
	rules->sessions->rules_replaced(rules->session, &rules->policy, rules->since_us);
	*ret = rules->policy;
	return 0;
}

void keeper_rules_done(struct keeper_rules *rules)
{
	if (rules->busy) {
		pthread_join(rules->thread, NULL);
		policy_done(&rules->policy);
		rules->busy = false;
	}
	fd_done(&rules->fd);
}
