/*
 * queue: the connection to the NATS server, and the streams there. Private to fleet/.
 *
 * Life: queue_open() -> calls, from any thread -> queue_done(). The library connects again by itself, until the server refuses
 * the credentials twice. Streams that are missing are made;
 * those that are there stay as they are, so that an operator can make them in another way.
 */
#ifndef WARDER_FLEET_QUEUE_H
#define WARDER_FLEET_QUEUE_H

#include <nats/nats.h>
#include <stdbool.h>

#include "base/error.h"
#include "fleet/message.h"

struct queue_options {
	const char *url;
	const char *credentials, *ca_file; /* or NULL */
};

struct queue {
	natsConnection *connection;
	jsCtx *js;
};

/* Check the options, connect, and make the streams. -1 with *err. */
int queue_open(const struct queue_options *options, struct queue *ret, struct warder_error *err);
void queue_done(struct queue *queue);

/* Make or change the consumer of requests that all workers share. -1 with *err. */
int queue_share_requests(const struct queue *queue, uint64_t redeliver_us, struct warder_error *err);
/* Subscribe to the requests; each thread for itself. -1 with *err. */
int queue_take_requests(const struct queue *queue, natsSubscription **ret, struct warder_error *err);
/* Make a consumer of the results of a batch, and subscribe to it. -1 with *err. */
int queue_take_results(const struct queue *queue, const char *tenant, const char *batch,
		       natsSubscription **ret, struct warder_error *err);
/* Remove this consumer. */
void queue_forget_results(const struct queue *queue, const char *batch);
/* Whether the library does not connect again. */
bool queue_is_lost(const struct queue *queue);
/* Say that. -1. */
int queue_lost(struct warder_error *err);
/* The next message of a subscription, within some time; the caller's. NULL: none came. */
natsMsg *queue_next(natsSubscription *subscription, unsigned int within_ms);

/* Publish, and wait until the server has stored it. 0; 1: not now, try again; -1 with *err: the server will not take it. */
int queue_put_request(const struct queue *queue, const char *tenant, const char *id, const char *text,
		      size_t len, struct warder_error *err);
int queue_put_result(const struct queue *queue, const struct message *message, const char *json,
		     struct warder_error *err);
/* Store a copy of the request in WARDER_DEAD, with the reason. 0; 1 with *err: try again; -1 with *err: the server will not take it. */
int queue_bury(const struct queue *queue, const struct message *message, uint64_t deliveries,
	       const char *reason, struct warder_error *err);

#endif
