/*
 * v1_sse: server-sent events of Warder's own API, and what their data says of output and of ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "host/front/exchange.h"
#include "host/front/v1.h"

bool v1_event(struct exchange *x, const char *name, const char *id, struct json_writer *w)
{
	char *json = json_take(w);
	const bool room = !json || v1_event_text(x, name, id, json, strlen(json));

	free(json);
	return room;
}

bool v1_event_text(struct exchange *x, const char *name, const char *id, const char *json, size_t len)
{
	char head[120];

	snprintf(head, sizeof(head), "event: %s\n%s%s%sdata: ", name, id ? "id: " : "", id ? id : "",
		 id ? "\n" : "");
	exchange_write(x, head, strlen(head));
	exchange_write(x, json, len);
	return exchange_write(x, "\n\n", 2);
}

static const char *const streams[] = { "stdout", "stderr" };

void v1_write_output(struct json_writer *w, int stream, uint64_t offset, const char *bytes, size_t len)
{
	json_begin_object(w);
	json_key_string(w, "stream", streams[stream]);
	json_key_uint(w, "offset", offset);
	text_write(w, "text", bytes, len, false);
	json_end_object(w);
}

void v1_write_gap(struct json_writer *w, int stream, uint64_t from, uint64_t to)
{
	json_begin_object(w);
	json_key_string(w, "stream", streams[stream]);
	json_key_uint(w, "from", from);
	json_key_uint(w, "to", to);
	json_end_object(w);
}

void v1_write_end(struct json_writer *w, const struct record_end *end)
{
	json_begin_object(w);
	json_key(w, "exitCode");
	json_int(w, end->exit_code);
	json_key(w, "signal");
	json_int(w, end->signal);
	json_key_string(w, "detail", end->detail);
	json_end_object(w);
}

int v1_check_key(const char *key, struct warder_error *err)
{
	if (*key && strlen(key) <= V1_KEY_MAX)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "idempotencyKey",
			 "\"idempotencyKey\" must be a text of 1 to %d bytes", V1_KEY_MAX);
}
