/*
 * A batch whose verdicts come as events: build, one case for each case, end; or error, where a batch that has begun cannot go on. The launcher
 * sends each as a line: its name, a blank, its JSON text.
 */
#include <stdlib.h>
#include <string.h>

#include "host/front/v1.h"

static void send_lines(struct exchange *x, const char *text)
{
	while (text && *text) {
		const size_t len = strcspn(text, "\n");
		const char *blank = memchr(text, ' ', len);
		char name[16] = "";

		if (blank && (size_t)(blank - text) < sizeof(name)) {
			memcpy(name, text, (size_t)(blank - text));
			v1_event_text(x, name, NULL, blank + 1, len - (size_t)(blank + 1 - text));
		}
		text += len + (text[len] == '\n');
	}
}

static void send_error(struct exchange *x, const struct link_answer *answer)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_uint(&w, "code", answer->status);
	json_key_string(&w, "message", answer->error.text);
	json_end_object(&w);
	v1_event(x, "error", NULL, &w);
}

static void judged(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	const bool failed = answer->status >= 400;

	if (failed && !x->data) {
		exchange_error(x, answer->status, &answer->error);
		return;
	}
	if (!x->data) {
		x->data = x; /* it has begun */
		exchange_stream(x, answer->status, "text/event-stream");
	}
	if (failed)
		send_error(x, answer);
	else
		send_lines(x, text);
	if (!answer->more)
		exchange_end(x);
}

void v1_judge_events(struct exchange *x)
{
	struct json_value *document;

	if (exchange_object(x, &document) < 0)
		return;
	json_free(document);
	exchange_ask_any(x, LINK_JUDGE, LINK_JUDGE_EVENTS, exchange_take_body(x), judged);
}
