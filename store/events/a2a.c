/*
 * Events as tasks of the agent-to-agent protocol A2A (its object "Task", protocol version 0.3), and back. A state of a task says less
 * than the kind of an event, so the kind stands among the metadata, which are ours to fill; a task from elsewhere has none, and its
 * state is taken for the most general kind.
 */
#include "base/array.h"
#include "store/events/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const states[] = {
	[WARDER_EVENT_NEED_WORK] = "submitted",         [WARDER_EVENT_WORK_CLAIMED] = "working",
	[WARDER_EVENT_WORK_PUBLISHED] = "completed",    [WARDER_EVENT_FEEDBACK_REQUESTED] = "input-required",
	[WARDER_EVENT_FEEDBACK_PROVIDED] = "submitted", [WARDER_EVENT_BLOCKED] = "input-required",
	[WARDER_EVENT_COMPLETED] = "completed",
};

/* ---- to a task ---- */

static void write_status(struct json_writer *w, const struct warder_event *event)
{
	const time_t seconds = (time_t)(event->timestamp_ms / 1000);
	struct tm utc = { 0 };
	char date[32], text[48];

	json_key(w, "status");
	json_begin_object(w);
	json_key_string(w, "state", states[event->kind]);
	if (event->timestamp_ms && gmtime_r(&seconds, &utc) &&
	    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc)) {
		snprintf(text, sizeof(text), "%s.%03dZ", date, (int)(event->timestamp_ms % 1000));
		json_key_string(w, "timestamp", text);
	}
	json_end_object(w);
}

/* A part's data are an object; what is none is wrapped in one, which says so. */
static void write_part(struct json_writer *w, const struct json_value *payload)
{
	json_begin_object(w);
	json_key_string(w, "kind", payload->type == JSON_STRING ? "text" : "data");
	json_key(w, payload->type == JSON_STRING ? "text" : "data");
	if (payload->type == JSON_STRING || payload->type == JSON_OBJECT) {
		json_copy(w, payload);
	} else {
		json_begin_object(w);
		json_key(w, "value");
		json_copy(w, payload);
		json_end_object(w);
		json_key(w, "metadata");
		json_begin_object(w);
		json_key_bool(w, "wrapped", true);
		json_end_object(w);
	}
	json_end_object(w);
}

static void write_artifact(struct json_writer *w, const struct warder_event *event,
			   const struct json_value *payload)
{
	char id[WARDER_EVENT_NAME_MAX + 32];

	snprintf(id, sizeof(id), "%s-%" PRIu64, event->correlation_id, event->sequence);
	json_key(w, "artifacts");
	json_begin_array(w);
	json_begin_object(w);
	json_key_string(w, "artifactId", id);
	json_key(w, "parts");
	json_begin_array(w);
	write_part(w, payload);
	json_end_array(w);
	json_end_object(w);
	json_end_array(w);
}

static void write_metadata(struct json_writer *w, const struct warder_event *event,
			   const struct json_value *payload)
{
	json_key(w, "metadata");
	json_begin_object(w);
	json_key_string(w, "kind", warder_event_kind_name(event->kind));
	json_key_string(w, "producer", event->producer);
	if (event->consumer)
		json_key_string(w, "consumer", event->consumer);
	json_key(w, "timestamp");
	json_int(w, event->timestamp_ms);
	if (event->sequence)
		json_key_uint(w, "sequence", event->sequence);
	if (payload) {
		json_key(w, "payload");
		json_copy(w, payload);
	}
	json_end_object(w);
}

char *warder_event_a2a(const struct warder_event *event)
{
	struct json_writer w = { 0 };
	struct json_value *payload = NULL;
	struct warder_error ignored;
	char *text = NULL;
	bool published;

	if (events_check(event, &ignored) != 0 || events_payload(event->payload, &text, &ignored) != 0)
		return NULL;
	if (json_parse(text, strlen(text), "payload", NULL, &payload, &ignored) != 0) {
		free(text);
		return NULL;
	}
	published = event->kind == WARDER_EVENT_WORK_PUBLISHED;
	json_begin_object(&w);
	json_key_string(&w, "kind", "task");
	json_key_string(&w, "id", event->correlation_id);
	json_key_string(&w, "contextId", event->topic);
	write_status(&w, event);
	if (published)
		write_artifact(&w, event, payload);
	write_metadata(&w, event, published ? NULL : payload);
	json_end_object(&w);
	json_free(payload);
	free(text);
	return json_take(&w);
}

/* ---- from a task ---- */

static const struct json_value *member_of(const struct json_value *value, const char *key)
{
	return value && value->type == JSON_OBJECT ? json_member(value, key) : NULL;
}

/* The list, if it has an element; else NULL. */
static const struct json_value *list_of(const struct json_value *value, const char *key)
{
	const struct json_value *list = member_of(value, key);

	return list && list->type == JSON_ARRAY && list->child ? list : NULL;
}

/* Whether an artifact has a part. */
static bool has_parts(const struct json_value *artifacts)
{
	for (const struct json_value *one = artifacts ? artifacts->child : NULL; one; one = one->next) {
		if (list_of(one, "parts"))
			return true;
	}
	return false;
}

/* What the part holds; NULL if that is something that has no place in a payload, such as a file. */
static const struct json_value *part_content(const struct json_value *part)
{
	const struct json_value *text = member_of(part, "text"), *data = member_of(part, "data");
	const struct json_value *wrapped = member_of(member_of(part, "metadata"), "wrapped");

	if (text && text->type == JSON_STRING)
		return text;
	return wrapped && wrapped->type == JSON_BOOL && wrapped->boolean && member_of(data, "value")
		   ? member_of(data, "value")
		   : data;
}

static int choose_kind(const struct json_value *task, const char *state, struct warder_event *ret,
		       struct warder_error *err)
{
	const char *named = NULL;
	const struct json_value *metadata = member_of(task, "metadata");

	if (metadata && events_text(metadata, "kind", false, &named, err) != 0)
		return -1;
	ret->kind = warder_event_kind_from_name(named);
	if (ret->kind != WARDER_EVENT_ANY) {
		if (strcmp(states[ret->kind], state) == 0)
			return 0;
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "kind",
				 "%s is not the kind of a task that is %.40s", named, state);
	}
	for (size_t i = 1; i < ARRAY_LENGTH(states) && ret->kind == WARDER_EVENT_ANY; i++) {
		if (strcmp(states[i], state) == 0)
			ret->kind = (enum warder_event_kind)i;
	}
	if (ret->kind == WARDER_EVENT_WORK_PUBLISHED && !has_parts(list_of(task, "artifacts")))
		ret->kind = WARDER_EVENT_COMPLETED;
	if (ret->kind != WARDER_EVENT_ANY)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "state",
			 "no event stands for a task that is \"%.40s\"; known: submitted, working, "
			 "input-required, completed",
			 state);
}

/* The number of the metadata, 0 if there is none. */
static uint64_t metadata_number(const struct json_value *task, const char *key)
{
	const struct json_value *member = member_of(member_of(task, "metadata"), key);

	return member && member->type == JSON_NUMBER && member->is_uint && member->uint <= INT64_MAX
		   ? member->uint
		   : 0;
}

/* The texts of *ret point into the tree. */
static int take_task(const struct json_value *task, struct warder_event *ret, struct warder_error *err)
{
	const struct json_value *status, *metadata = member_of(task, "metadata");
	const char *state;

	if (task->type != JSON_OBJECT)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "task", "a task is an object, not %s",
				 json_type_name(task->type));
	status = json_member(task, "status");
	if (!status || status->type != JSON_OBJECT)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "status", "the task has no \"status\"");
	if (events_text(status, "state", true, &state, err) != 0 || choose_kind(task, state, ret, err) != 0 ||
	    events_text(task, "id", true, &ret->correlation_id, err) != 0 ||
	    events_text(task, "contextId", true, &ret->topic, err) != 0)
		return -1;
	ret->producer = "a2a";
	if (metadata && metadata->type == JSON_OBJECT) {
		const char *producer;

		if (events_text(metadata, "producer", false, &producer, err) != 0 ||
		    events_text(metadata, "consumer", false, &ret->consumer, err) != 0)
			return -1;
		ret->producer = producer ? producer : ret->producer;
	}
	ret->timestamp_ms = (int64_t)metadata_number(task, "timestamp");
	ret->sequence = metadata_number(task, "sequence");
	return events_check(ret, err);
}

/* The content of the only part of `holder`, which is an artifact or a message; NULL: there are more, or none with content. */
static const struct json_value *only_content(const struct json_value *holder)
{
	const struct json_value *parts = list_of(holder, "parts");

	return parts && !parts->child->next ? part_content(parts->child) : NULL;
}

/* One part stands for itself. Where there is more, nothing is left out: artifacts, message and payload stand in an object as they
 * came. */
static void write_payload(const struct json_value *task, enum warder_event_kind kind, struct json_writer *w)
{
	const struct json_value *artifacts = list_of(task, "artifacts");
	const struct json_value *message = member_of(member_of(task, "status"), "message");
	const struct json_value *own =
	    kind == WARDER_EVENT_WORK_PUBLISHED ? NULL : member_of(member_of(task, "metadata"), "payload");
	const struct json_value *only = own;
	const int sources = (own != NULL) + (artifacts != NULL) + (message != NULL);

	if (artifacts)
		only = artifacts->child->next ? NULL : only_content(artifacts->child);
	else if (message)
		only = only_content(message);
	if (!sources) {
		json_null(w);
	} else if (sources == 1 && only) {
		json_copy(w, only);
	} else {
		json_begin_object(w);
		if (artifacts) {
			json_key(w, "artifacts");
			json_copy(w, artifacts);
		}
		if (message) {
			json_key(w, "message");
			json_copy(w, message);
		}
		if (own) {
			json_key(w, "payload");
			json_copy(w, own);
		}
		json_end_object(w);
	}
}

static char *take_payload(const struct json_value *task, enum warder_event_kind kind,
			  struct warder_error *err)
{
	struct json_writer w = { 0 };
	char *text, *payload = NULL;

	write_payload(task, kind, &w);
	text = json_take(&w);
	if (!text)
		error_no_memory(err, NULL);
	else if (events_payload(text, &payload, err) != 0)
		payload = NULL;
	free(text);
	return payload;
}

int warder_event_from_a2a(const char *json, size_t len, struct warder_event **ret, struct warder_error *err)
{
	const struct json_limits limits = { 2 * EVENTS_LINE_MAX, 48, 200000 };
	struct warder_event event = { 0 };
	struct json_value *task = NULL;
	char *payload = NULL;

	if (!json || !ret)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "an argument is NULL");
	*ret = NULL;
	if (json_parse(json, len, "task", &limits, &task, err) != 0)
		return -1;
	if (take_task(task, &event, err) == 0)
		payload = take_payload(task, event.kind, err);
	if (payload) {
		event.payload = payload;
		*ret = events_copy(&event);
		if (!*ret)
			error_no_memory(err, NULL);
	}
	json_free(task);
	free(payload);
	return *ret ? 0 : -1;
}
