#include "host/launcher/event_logs.h"

#include <stdlib.h>
#include <string.h>

#include "host/launcher/call.h"
#include "host/launcher/log.h"

static struct event_log *log_of(const struct event_logs *logs, const char *digest)
{
	struct event_log *log = logs->items;

	while (log && strcmp(log->tenant_digest, digest) != 0)
		log = log->next;
	return log;
}

static void log_free(struct event_log *log)
{
	for (size_t i = 0; i < EVENTS_KEPT; i++)
		free(log->events[i]);
	free(log);
}

struct event_log *event_logs_open(struct launcher *launcher, const char *digest)
{
	struct event_log *log = log_of(&launcher->event_logs, digest);

	if (log || !tenants_find(&launcher->tenants, digest, 0))
		return log;
	log = calloc(1, sizeof(*log));
	if (!log)
		return NULL;
	memcpy(log->tenant_digest, digest, sizeof(log->tenant_digest));
	log->next = launcher->event_logs.items;
	launcher->event_logs.items = log;
	return log;
}

void event_logs_add(struct launcher *launcher, const struct call *call)
{
	struct event_log *log = call->is_event ? event_logs_open(launcher, call->tenant_digest) : NULL;
	char *line = log ? log_line(call) : NULL;
	char **place;

	if (!line)
		return;
	place = &log->events[++log->last % EVENTS_KEPT];
	free(*place);
	*place = line;
}

void event_logs_sweep(struct launcher *launcher)
{
	for (struct event_log **at = &launcher->event_logs.items; *at;) {
		struct event_log *log = *at;

		if (tenants_find(&launcher->tenants, log->tenant_digest, 0)) {
			at = &log->next;
			continue;
		}
		*at = log->next;
		log_free(log);
	}
}

void event_logs_done(struct event_logs *logs)
{
	while (logs->items) {
		struct event_log *log = logs->items;

		logs->items = log->next;
		log_free(log);
	}
}
