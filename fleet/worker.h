/*
 * worker: takes requests, runs them, and publishes their results. Private to fleet/.
 */
#ifndef WARDER_FLEET_WORKER_H
#define WARDER_FLEET_WORKER_H

#include "fleet/queue.h"

struct worker_options {
	const char *program;        /* path of `warder` */
	const char *state, *config; /* or NULL */
	unsigned int parallel;
	uint64_t redeliver_us;
	unsigned int deliveries;
};

/* Work until a signal comes. 0 then; -1 with *err. */
int worker_run(const struct queue *queue, const struct worker_options *options, struct warder_error *err);

#endif
