/*
 * event_logs: what this host has done for each tenant, and the clients that follow it. Private to host/launcher/.
 *
 * An event is the line of a call in the log, if the call started, changed or ended something. A tenant has a log of its newest EVENTS_KEPT
 * events in memory; a launcher that starts has none. The id of an event is "START-NUMBER": when the launcher started, and the number of the
 * event for its tenant, from 1.
 *
 * A follower is a call that is answered in parts, each a text of lines: "NAME ID JSON". Life: calls_events() -> call_deliver_events(), again
 * and again -> call_forget_follower() when its client is gone, or an answer with an error when its token is. Main thread.
 */
#ifndef WARDER_HOST_LAUNCHER_EVENT_LOGS_H
#define WARDER_HOST_LAUNCHER_EVENT_LOGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"

#define EVENTS_KEPT 256

struct call;
struct launcher;

struct event_log {
	struct event_log *next;
	char tenant_digest[SHA256_HEX]; /* of its token: another tenant of the same name is another one */
	uint64_t last;                  /* number of the newest event; 0: there was none */
	char *events[EVENTS_KEPT];      /* owned: JSON, each at its number modulo EVENTS_KEPT */
};

struct event_logs {
	struct event_log *items;
	struct call *followers; /* owned: calls_events.c */
	uint64_t delivered_us, checked_us;
};

/* The call has ended, and is about to be answered. */
void event_logs_add(struct launcher *launcher, const struct call *call);
/* Find the log of a tenant, or make it. NULL: the tenant is gone, or no memory is left. */
struct event_log *event_logs_open(struct launcher *launcher, const char *digest);
/* Forget the logs of tenants that are gone. */
void event_logs_sweep(struct launcher *launcher);
void event_logs_done(struct event_logs *logs);

#endif
