/* event: a line or a task that is taken as an event is written again to the same; one that is refused, with a reason. */
#include "store/events/events.h"
#include "tests/fuzz/fuzz.h"

static void check_error(const struct warder_error *err)
{
	must(err->code == WARDER_ERROR_INVALID_REQUEST && err->text[0] && !strchr(err->text, '\n'));
}

/* Both forms of an event lead back to it. */
static void check_event(const struct warder_event *event)
{
	struct warder_event *line = NULL, *task = NULL;
	char *json = warder_event_json(event), *a2a = warder_event_a2a(event), *again;
	struct warder_error err;

	must(json && a2a && !strchr(json, '\n') && !strchr(a2a, '\n') && strlen(json) < EVENTS_LINE_MAX);
	must(warder_event_parse(json, strlen(json), &line, &err) == 0);
	again = warder_event_json(line);
	must(again && strcmp(again, json) == 0);
	free(again);
	must(warder_event_from_a2a(a2a, strlen(a2a), &task, &err) == 0);
	again = warder_event_json(task);
	must(again && strcmp(again, json) == 0);
	free(again);
	warder_event_free(line);
	warder_event_free(task);
	free(json);
	free(a2a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct warder_event *event = NULL;
	struct warder_error err = { 0 };

	if (warder_event_parse(text, size, &event, &err) == 0)
		check_event(event);
	else
		check_error(&err);
	warder_event_free(event);
	if (warder_event_from_a2a(text, size, &event, &err) == 0)
		check_event(event);
	else
		check_error(&err);
	warder_event_free(event);
	free(text);
	return 0;
}
