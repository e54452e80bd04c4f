/*
 * remote_result: how an execution ended on a host of the kind warder, and its output, which the host has signed. Private to cli/.
 *
 * Life: remote_result_wait() -> remote_result_fetch_output(), if the output did not come already -> reported_read_beside(). remote_result_collect() does
 * all of it.
 */
#ifndef WARDER_RUNTIME_CLI_REMOTE_RESULT_H
#define WARDER_RUNTIME_CLI_REMOTE_RESULT_H

#include "runtime/cli/remote_came.h"
#include "runtime/cli/remote_place.h"
#include "runtime/library/reported.h"

struct remote_waiting {
	const struct remote_place *place;
	const char *execution; /* as the host has it */
	bool leaves;           /* a signal ends the wait, and the program goes on */
	uint64_t grace_us;     /* otherwise it goes to the program, and SIGKILL follows after this time */
};

/* Wait for the result; the lease is renewed as long as that takes. A lost connection is made anew. 0: *ret has the JSON, which is signed, on the heap.
 * 1: a signal came, and the wait ends. -1 with *err. */
int remote_result_wait(const struct remote_waiting *waiting, char **ret, size_t *ret_len,
		       struct warder_error *err);
/* The output that the host still has of an execution that has ended. Without it, the result is still known: then to->lost is set, and that is said. */
void remote_result_fetch_output(const struct remote_place *place, const char *execution,
				struct reported_streams *to);
/* Wait for the result of one whose output has been shown. known: to its end. As above. */
int remote_result_of_shown(const struct remote_waiting *waiting, struct remote_came came[2], bool known,
			   struct warder_result **ret, struct warder_error *err);
/* Wait for the result, and compare the output with it. 0: *ret has it. 1 and -1 as above. */
int remote_result_collect(const struct remote_waiting *waiting, struct warder_result **ret,
			  struct warder_error *err);

#endif
