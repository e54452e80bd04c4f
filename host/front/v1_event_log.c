/*
 * v1_event_log: the events of a tenant. The launcher sends them as lines: name, id (or "-") and JSON, with a blank between them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/front/v1.h"

#define ID_MAX 48

static void send_lines(struct exchange *x, const char *text)
{
	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		const size_t len = (size_t)(end - text);
		char name[16] = "", id[ID_MAX] = "";
		int begin = 0;

		if (len && sscanf(text, "%15s %47s %n", name, id, &begin) == 2 && (size_t)begin < len)
			v1_event_text(x, name, strcmp(id, "-") == 0 ? NULL : id, text + begin,
				      len - (size_t)begin);
	}
}

static void followed(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	if (answer->status >= 400) {
		if (x->data)
			exchange_end(x);
		else
			exchange_error(x, answer->status, &answer->error);
		return;
	}
	if (!x->data) {
		x->data = x; /* it has begun */
		exchange_stream(x, 200, "text/event-stream");
	}
	if (text)
		send_lines(x, text);
}

void v1_follow_events(struct exchange *x)
{
	const char *header = exchange_header(x, "Last-Event-ID"), *after = exchange_query(x, "after");
	struct json_writer w = { 0 };

	if (header && *header)
		after = header;
	json_begin_object(&w);
	if (after && *after)
		json_key_string(&w, "after", after);
	json_end_object(&w);
	exchange_ask_any(x, LINK_EVENTS, 0, json_take(&w), followed);
}
