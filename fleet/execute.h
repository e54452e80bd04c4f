/*
 * execute: one request, run by `warder run`. Private to fleet/.
 *
 * This process holds credentials and what libnats loads, so that it launches no jail itself. The child gets the policy that the tenant was granted
 * as a memory file, and returns the JSON of its result in another one. It gets SIGTERM, and ends its program, when this process dies.
 */
#ifndef WARDER_FLEET_EXECUTE_H
#define WARDER_FLEET_EXECUTE_H

#include <stdbool.h>

#include "base/json.h"

struct execution {
	const char *program;              /* path of `warder` */
	const char *policy;               /* its JSON */
	const struct json_value *request; /* with argv and the input */
	void (*beat)(void *context);      /* called every beat_ms */
	bool (*ends)(void);               /* the child is to end now */
	void *context;
	unsigned int beat_ms;
};

/* Run the request, and wait until the program has ended. Returns 0 with *ret_json, the result (heap, the caller's). Returns 1 with *err if the
 * result is missing, or says that this host cannot run the program: try the request again. Returns -1 with *err if the request is wrong. */
int execute(const struct execution *execution, char **ret_json, struct warder_error *err);

#endif
