/*
 * events: the collaboration logs of workspaces, as files of JSON lines. The door of this folder; its functions are those of
 * warder-store.h.
 *
 * Life: warder_events_open() -> publish and subscribe, from any thread -> warder_events_free(). log.c is the file, subscription.c
 * reads along, line.c is one event as JSON, a2a.c as a task of that protocol.
 */
#ifndef WARDER_STORE_EVENTS_EVENTS_H
#define WARDER_STORE_EVENTS_EVENTS_H

#include <stdbool.h>

#include "base/json.h"
#include "store/warder-store.h"

#define EVENTS_LINE_MAX (512u << 10) /* bytes of a line, with its newline: more than the longest event */
#define EVENTS_ROOT_MAX 4000
#define EVENTS_NAME_MAX 96
#define EVENTS_FIELD    "events"

struct warder_events {
	int dir_fd;
	char name[EVENTS_NAME_MAX];      /* of the log in the directory */
	char receivers[EVENTS_NAME_MAX]; /* of the file whose bytes subscribers lock */
	char *path;                      /* of the log */
	char *root, *project_name, *session_id;
	int64_t created_ms;
	uint64_t max_bytes;
};

/* ---- log.c ---- */
/* Open the log and lock it for the caller alone, until the descriptor is closed or flock(LOCK_UN). -1 with *err (NOT_FOUND: it has
 * been removed; CONFLICT). */
int events_lock(const struct warder_events *events, struct warder_error *err);
/* Where the last whole line ends, of a log that is locked, and the number of its last event. */
int events_end(const struct warder_events *events, int fd, uint64_t *ret_end, uint64_t *ret_sequence,
	       struct warder_error *err);
/* Of a failed call on the log. -1. */
int events_fail(const struct warder_events *events, int error, const char *what, struct warder_error *err);

/* ---- receivers.c ---- */
#define EVENTS_RECEIVERS_MAX 65536 /* bytes of the file that subscribers lock, one each */
/* How many subscribers there are, of a log that is locked. */
uint64_t events_receivers(const struct warder_events *events);

/* ---- line.c ---- */
int events_check(const struct warder_event *event, struct warder_error *err);
/* One block of memory with copies of all texts. NULL on want of memory. */
struct warder_event *events_copy(const struct warder_event *from);
/* The payload as one line of JSON, which the caller frees. */
int events_payload(const char *text, char **ret, struct warder_error *err);
/* A member that has to be a text, if it is there. -1 with *err. */
int events_text(const struct json_value *object, const char *key, bool required, const char **ret,
		struct warder_error *err);

#endif
