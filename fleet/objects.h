/*
 * objects: results that are too long for a message, in an object store of the NATS server. Private to fleet/.
 *
 * The store is the bucket "warder-results": the stream OBJ_warder-results. The parts of an object wait under $O.warder-results.C.NUID, and its
 * description under $O.warder-results.M.NAME in base64. The name of an object of ours is its NUID. The server drops all of it after
 * FLEET_RESULTS_HOURS.
 * Source: ADR-20 of NATS, https://github.com/nats-io/nats-architecture-and-design
 */
#ifndef WARDER_FLEET_OBJECTS_H
#define WARDER_FLEET_OBJECTS_H

#include "fleet/queue.h"

struct object_source {
	const char *bytes;
	size_t len;
	void (*beat)(void *context); /* called after each part: a long object may take some time */
	void *context;
};

/* Store the bytes in a new object. As queue_put(). */
int objects_put(const struct queue *queue, const struct object_source *source, struct object *ret,
		struct warder_error *err);
/* Read an object of at most `max` bytes. *ret is heap, and ends with a NUL that is not counted. 0; 1 with *err: not now, try again; -1 with *err: it is
 * not there, or is not what the digest says. */
int objects_get(const struct queue *queue, const struct object *object, size_t max, char **ret,
		size_t *ret_len, struct warder_error *err);
/* Remove it, if that works. */
void objects_remove(const struct queue *queue, const struct object *object);

#endif
