/*
 * submit: sends requests, and prints their results. Private to fleet/.
 */
#ifndef WARDER_FLEET_SUBMIT_H
#define WARDER_FLEET_SUBMIT_H

#include "fleet/queue.h"

struct submit_options {
	const char *tenant, *key; /* the key is the path of a file */
	uint64_t lifetime_us;
};

/* Send each line of standard input, and print each result, until all are there or a signal comes. 0; -1 with *err. */
int submit_run(const struct queue *queue, const struct submit_options *options, struct warder_error *err);

#endif
