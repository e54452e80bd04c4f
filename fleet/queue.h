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

/* The bucket of results that are too long for a message. */
#define OBJECTS_BUCKET "warder-results"
#define OBJECTS_STREAM "OBJ_" OBJECTS_BUCKET
#define OBJECTS_PARTS  "$O." OBJECTS_BUCKET ".C."
#define OBJECTS_ABOUT  "$O." OBJECTS_BUCKET ".M."

#define OBJECT_NAME_BYTES   33 /* 32 hexadecimal digits and the NUL */
#define OBJECT_DIGEST_BYTES 53 /* "SHA-256=", 32 bytes in the base64 of URLs, and the NUL */

/* Which object has a result. */
struct object {
	char name[OBJECT_NAME_BYTES];
	char digest[OBJECT_DIGEST_BYTES];
};

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

/* Make or change the consumer of requests that all workers share. -1 with *err: this includes a server that cannot change the time of one that is
 * there. */
int queue_share_requests(const struct queue *queue, uint64_t redeliver_us, struct warder_error *err);
/* A server that is killed may have removed requests only in its memory: remove those that have been acknowledged and are there again. Or it may
 * have lost the last ones, and count others at their positions as acknowledged: then make the consumer again. */
void queue_sweep_requests(const struct queue *queue, uint64_t redeliver_us);
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

/* How often the library has connected again. */
uint64_t queue_reconnects(const struct queue *queue);
/* The position of the last request that was delivered to a worker. 0: no worker has started yet; UINT64_MAX: not known now. */
uint64_t queue_delivered(const struct queue *queue);
/* Whether a request is in its stream, at the position where it was stored. 1: it is not; -1: not known now. */
int queue_find_request(const struct queue *queue, uint64_t position, const char *text, size_t len);

/* Publish, and wait until the server has stored it. 0; 1 with *err: not now, try again; 2: as 1, and the server has refused it, for
 * example because it is full; -1 with *err: the server will never take it. */
/* id: by which the server drops a second copy. *ret_position: where it is in its stream. */
int queue_put_request(const struct queue *queue, const char *tenant, const char *id, const char *text,
		      size_t len, uint64_t *ret_position, struct warder_error *err);
/* The result is `json`, or waits in an object; the other one is NULL. *ret_duplicate: the server had a result of this request already, and has
 * dropped this one. */
int queue_put_result(const struct queue *queue, const struct message *message, const char *json,
		     const struct object *object, bool *ret_duplicate, struct warder_error *err);
/* The object that has the result of a message. 1: the message has the result itself. -1 with *err: it names no object of ours. */
int queue_take_object(natsMsg *message, struct object *ret, struct warder_error *err);
/* Publish any message, which is destroyed. id: by which the server drops a second copy; or NULL. As above. */
int queue_put(const struct queue *queue, natsMsg *message, const char *id, struct warder_error *err);
/* Store a copy of the request in WARDER_DEAD, with the reason. As queue_put(). */
int queue_bury(const struct queue *queue, const struct message *message, uint64_t deliveries,
	       const char *reason, struct warder_error *err);

#endif
