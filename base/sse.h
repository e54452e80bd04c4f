/*
 * sse: server-sent events, as an execution host sends them.
 */
#ifndef WARDER_BASE_SSE_H
#define WARDER_BASE_SSE_H

#include <stddef.h>

#include "base/json.h"

#define SSE_EVENT_MAX (16u * 1024 * 1024) /* bytes */

/* Read `len` bytes of server-sent events. Calls each() with every event whose data is a JSON object, and with the name of the event, or "". Other
 * events are ignored. */
void sse_each(const char *text, size_t len,
	      void (*each)(void *context, const char *name, const struct json_value *data), void *context);
/* The bytes of an event {"stream", "offset", "text" or "base64"}, heap with a NUL behind them; NULL: it has none, or no memory. */
char *sse_bytes(const struct json_value *data, size_t *ret_len);
/* The stream of an event: 1 for standard error, otherwise 0. */
int sse_stream(const struct json_value *data);

#endif
