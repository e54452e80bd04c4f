/*
 * policies: the policies of the last requests, by their text. Private to runtime/service/.
 */
#ifndef WARDER_RUNTIME_SERVICE_POLICIES_H
#define WARDER_RUNTIME_SERVICE_POLICIES_H

#include <pthread.h>
#include <stdint.h>

#include "base/error.h"
#include "runtime/library/library.h"

#define POLICIES_KEPT 8

/* Begins as { .lock = PTHREAD_MUTEX_INITIALIZER }. */
struct policies {
	pthread_mutex_t lock;
	uint64_t uses; /* counts all of them */
	struct policies_row {
		char *text; /* owned; NULL: an empty row */
		struct warder_policy *policy;
		unsigned int users;
		uint64_t used; /* the number of the last use */
	} rows[POLICIES_KEPT];
};

/* The policy of a text; return it with policies_give_back(). Any thread. -1 with *err. */
int policies_take(struct policies *policies, const char *text, struct warder_policy **ret,
		  struct warder_error *err);
/* policy: or NULL */
void policies_give_back(struct policies *policies, struct warder_policy *policy);
/* When no policy is in use. */
void policies_done(struct policies *policies);

#endif
