/*
 * remote_events: the server-sent events in an answer of a host on another machine. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_REMOTE_EVENTS_H
#define WARDER_RUNTIME_CLI_REMOTE_EVENTS_H

#include <stddef.h>

#include "base/json.h"

/* Read `len` bytes of server-sent events. Calls each() with every event whose data is a JSON object, and with the name of the event, or "". Other
 * events are ignored. */
void remote_events_each(const char *text, size_t len,
			void (*each)(void *context, const char *name, const struct json_value *data),
			void *context);
/* The bytes of an event {"stream", "offset", "text" or "base64"}, heap with a NUL behind them; NULL: it has none, or no memory. */
char *remote_events_bytes(const struct json_value *data, size_t *ret_len);
/* The stream of an event: 1 for standard error, otherwise 0. */
int remote_events_stream(const struct json_value *data);

#endif
