/*
 * A line is an object whose members may stand in any order; what a newer version adds is left out by an older one. The number comes
 * first when we write, for people.
 */
#include "base/array.h"
#include "base/text.h"
#include "store/events/events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PAYLOAD_DEPTH  32
#define PAYLOAD_VALUES 100000

static const char *const kind_names[] = {
	[WARDER_EVENT_NEED_WORK] = "needWork",
	[WARDER_EVENT_WORK_CLAIMED] = "workClaimed",
	[WARDER_EVENT_WORK_PUBLISHED] = "workPublished",
	[WARDER_EVENT_FEEDBACK_REQUESTED] = "feedbackRequested",
	[WARDER_EVENT_FEEDBACK_PROVIDED] = "feedbackProvided",
	[WARDER_EVENT_BLOCKED] = "blocked",
	[WARDER_EVENT_COMPLETED] = "completed",
};

#define KINDS (ARRAY_LENGTH(kind_names))

const char *warder_event_kind_name(enum warder_event_kind kind)
{
	return (unsigned)kind < KINDS ? kind_names[kind] : NULL;
}

enum warder_event_kind warder_event_kind_from_name(const char *name)
{
	for (size_t i = 1; name && i < KINDS; i++) {
		if (strcmp(kind_names[i], name) == 0)
			return (enum warder_event_kind)i;
	}
	return WARDER_EVENT_ANY;
}

/* ---- what an event may be ---- */

static int check_name(const char *name, const char *field, struct warder_error *err)
{
	if (!name || !*name)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "an event needs its %s", field);
	if (strnlen(name, WARDER_EVENT_NAME_MAX + 1) > WARDER_EVENT_NAME_MAX || !json_is_utf8(name))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "the %s of an event is UTF-8 of at most %d bytes", field,
				 WARDER_EVENT_NAME_MAX);
	return 0;
}

int events_check(const struct warder_event *event, struct warder_error *err)
{
	if (!event)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the argument `event` is NULL");
	if (!warder_event_kind_name(event->kind))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "kind",
				 "an event is needWork, workClaimed, workPublished, feedbackRequested, "
				 "feedbackProvided, blocked or completed");
	if (event->timestamp_ms < 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "timestamp", "a time before 1970");
	if (check_name(event->correlation_id, "correlationId", err) != 0 ||
	    check_name(event->topic, "topic", err) != 0 || check_name(event->producer, "producer", err) != 0)
		return -1;
	return event->consumer ? check_name(event->consumer, "consumer", err) : 0;
}

int events_payload(const char *text, char **ret, struct warder_error *err)
{
	const struct json_limits limits = { WARDER_EVENT_PAYLOAD_MAX, PAYLOAD_DEPTH, PAYLOAD_VALUES };
	struct json_value *value = NULL;

	if (!text)
		text = "null";
	if (json_parse(text, strlen(text), "payload", &limits, &value, err) != 0)
		return -1;
	*ret = json_text(value);
	json_free(value);
	return *ret ? 0 : error_no_memory(err, "payload");
}

/* Copy a text to *at, and move *at behind its NUL. */
static const char *put_text(char **at, const char *text)
{
	const size_t size = text ? strlen(text) + 1 : 0;
	char *here = *at;

	if (!text)
		return NULL;
	memcpy(here, text, size);
	*at += size;
	return here;
}

struct warder_event *events_copy(const struct warder_event *from)
{
	const size_t texts = text_size(from->correlation_id) + text_size(from->topic) +
			     text_size(from->producer) + text_size(from->consumer) + text_size(from->payload);
	struct warder_event *event = malloc(sizeof(*event) + texts);
	char *at;

	if (!event)
		return NULL;
	at = (char *)(event + 1);
	*event = *from;
	event->correlation_id = put_text(&at, from->correlation_id);
	event->topic = put_text(&at, from->topic);
	event->producer = put_text(&at, from->producer);
	event->consumer = put_text(&at, from->consumer);
	event->payload = put_text(&at, from->payload);
	return event;
}

void warder_event_free(struct warder_event *event)
{
	free(event);
}

/* ---- JSON ---- */

static void write_event(struct json_writer *w, const struct warder_event *event, const char *payload)
{
	json_begin_object(w);
	if (event->sequence)
		json_key_uint(w, "sequence", event->sequence);
	json_key(w, "timestamp");
	json_int(w, event->timestamp_ms);
	json_key_string(w, "kind", warder_event_kind_name(event->kind));
	json_key_string(w, "correlationId", event->correlation_id);
	json_key_string(w, "topic", event->topic);
	json_key_string(w, "producer", event->producer);
	if (event->consumer)
		json_key_string(w, "consumer", event->consumer);
	json_key(w, "payload");
	json_number(w, payload); /* it is text in JSON's grammar already */
	json_end_object(w);
}

char *warder_event_json(const struct warder_event *event)
{
	struct json_writer w = { 0 };
	struct warder_error ignored;
	char *payload = NULL;

	if (events_check(event, &ignored) != 0 || events_payload(event->payload, &payload, &ignored) != 0)
		return NULL;
	write_event(&w, event, payload);
	free(payload);
	return json_take(&w);
}

int events_text(const struct json_value *object, const char *key, bool required, const char **ret,
		struct warder_error *err)
{
	const struct json_value *member = json_member(object, key);

	*ret = NULL;
	if (!member || (member->type == JSON_NULL && !required))
		return required ? error_set(err, WARDER_ERROR_INVALID_REQUEST, key, "\"%s\" is missing", key)
				: 0;
	if (member->type != JSON_STRING)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, key, "\"%s\" is %s, not a string", key,
				 json_type_name(member->type));
	*ret = member->string;
	return 0;
}

/* A whole number; 0 if it is missing. */
static int take_number(const struct json_value *object, const char *key, uint64_t *ret,
		       struct warder_error *err)
{
	const struct json_value *member = json_member(object, key);

	*ret = 0;
	if (!member)
		return 0;
	if (member->type != JSON_NUMBER || !member->is_uint || member->uint > INT64_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, key,
				 "\"%s\" is not a whole number up to %" PRIu64, key, (uint64_t)INT64_MAX);
	*ret = member->uint;
	return 0;
}

/* The texts of *ret point into the tree; the payload is heap. */
static int take_event(const struct json_value *value, struct warder_event *ret, char **ret_payload,
		      struct warder_error *err)
{
	const struct json_value *payload;
	struct json_writer w = { 0 };
	const char *kind;
	uint64_t timestamp;

	if (value->type != JSON_OBJECT)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "event", "an event is an object, not %s",
				 json_type_name(value->type));
	if (take_number(value, "sequence", &ret->sequence, err) != 0 ||
	    take_number(value, "timestamp", &timestamp, err) != 0 ||
	    events_text(value, "kind", true, &kind, err) != 0 ||
	    events_text(value, "correlationId", true, &ret->correlation_id, err) != 0 ||
	    events_text(value, "topic", true, &ret->topic, err) != 0 ||
	    events_text(value, "producer", true, &ret->producer, err) != 0 ||
	    events_text(value, "consumer", false, &ret->consumer, err) != 0)
		return -1;
	ret->timestamp_ms = (int64_t)timestamp;
	ret->kind = warder_event_kind_from_name(kind);
	if (events_check(ret, err) != 0)
		return -1;
	payload = json_member(value, "payload");
	if (payload)
		json_copy(&w, payload);
	else
		json_null(&w);
	*ret_payload = json_take(&w);
	return *ret_payload ? 0 : error_no_memory(err, "payload");
}

int warder_event_parse(const char *json, size_t len, struct warder_event **ret, struct warder_error *err)
{
	const struct json_limits limits = { EVENTS_LINE_MAX, PAYLOAD_DEPTH + 1, PAYLOAD_VALUES + 16 };
	struct warder_event event = { 0 };
	struct json_value *value = NULL;
	char *payload = NULL, *checked = NULL;

	if (!json || !ret)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "an argument is NULL");
	if (json_parse(json, len, "event", &limits, &value, err) != 0)
		return -1;
	/* As strict as publish: what is read can be published again. */
	if (take_event(value, &event, &payload, err) == 0 && events_payload(payload, &checked, err) == 0) {
		event.payload = checked;
		*ret = events_copy(&event);
		if (!*ret)
			error_no_memory(err, NULL);
	} else {
		*ret = NULL;
	}
	json_free(value);
	free(payload);
	free(checked);
	return *ret ? 0 : -1;
}
