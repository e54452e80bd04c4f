/*
 * sse: server-sent events, as an execution host sends them.
 *
 * Life: zeroed, with `most` -> sse_take() for each piece of the stream -> sse_done(). sse_each() does all of it for a stream that is there as a whole.
 * Any thread. Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
 * Limits: "id" and "retry" are ignored, because no caller connects again by them. A byte order mark is not expected.
 */
#ifndef WARDER_BASE_SSE_H
#define WARDER_BASE_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

#define SSE_EVENT_MAX  (16u * 1024 * 1024) /* bytes */
#define SSE_VALUES_MAX 200000u /* in the data of an event; each takes some hundred bytes of memory */
#define SSE_NAME_SIZE  32

struct sse {
	size_t most;          /* bytes of the data of an event and the line behind it */
	char *bytes;          /* owned: the data of the event, then the line that is not complete */
	size_t data_len, len; /* of the data, each line with a line feed; of both */
	size_t room;
	char name[SSE_NAME_SIZE];
	bool strange;  /* the name is too long, or has a NUL */
	bool after_cr; /* a line feed now belongs to the line before it */
};

/* Is given each event whose data is a JSON object, and the name of the event, or "". */
typedef void sse_event_fn(void *context, const char *name, const struct json_value *data);

/* Take the next bytes of a stream. Calls each() with every event that is complete and whose data is a JSON object; other events are ignored, and so are
 * those whose name has more than 31 bytes or a NUL. Holds at most `most` bytes. -1 with *err if an event is longer (UNAVAILABLE), or without memory; then
 * do not call this function again. */
int sse_take(struct sse *sse, const char *bytes, size_t len, sse_event_fn *each, void *context,
	     struct warder_error *err);
void sse_done(struct sse *sse);
/* Take a whole stream, with events of up to SSE_EVENT_MAX bytes. An event without the empty line at its end is ignored. -1 with *err as sse_take(); each()
 * may have been called. */
int sse_each(const char *text, size_t len, sse_event_fn *each, void *context, struct warder_error *err);
/* The bytes of an event {"stream", "offset", "text" or "base64"}, heap with a NUL behind them; NULL: it has none, or no memory. */
char *sse_bytes(const struct json_value *data, size_t *ret_len);
/* The stream of an event: 1 for standard error, otherwise 0. */
int sse_stream(const struct json_value *data);

#endif
