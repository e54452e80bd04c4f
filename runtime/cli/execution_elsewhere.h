/*
 * execution_elsewhere: an execution in a session of the kind e2b, until it ends. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_EXECUTION_ELSEWHERE_H
#define WARDER_RUNTIME_CLI_EXECUTION_ELSEWHERE_H

#include "runtime/cli/execution_name.h"
#include "runtime/cli/remote_place.h"
#include "runtime/library/result.h"

struct execution_elsewhere {
	const struct remote_place *place;
	const struct execution_name *name;
	bool output; /* is shown */
	bool input;  /* our standard input is the program's */
};

/* Follow the program over one connection after the other. The lease is renewed meanwhile. 1: *ret has how it ended, or says that this is not known. 0: a
 * signal came. -1 with *err. */
int execution_elsewhere_follow(const struct execution_elsewhere *how, struct warder_result **ret,
			       struct warder_error *err);

#endif
