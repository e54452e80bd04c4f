/*
 * What is put in is looked at as a whole, and kept as it is: whoever loads a state gets the bytes that were saved. Metadata are
 * small and are shown in tables, so they are brought onto one line.
 */
#include "store/checkpoints/checkpoints.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define STATE_DEPTH    64
#define STATE_VALUES   1000000
#define METADATA_DEPTH 16

static const char rollback_member[] = "rollbackFrom";

int checkpoints_check_thread(const char *thread, struct warder_error *err)
{
	if (!thread || !*thread)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "thread",
				 "invalid thread id: it is empty");
	if (strnlen(thread, WARDER_CHECKPOINT_THREAD_MAX + 1) > WARDER_CHECKPOINT_THREAD_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "thread",
				 "invalid thread id: it is longer than %d bytes",
				 WARDER_CHECKPOINT_THREAD_MAX);
	if (!json_is_utf8(thread))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "thread",
				 "invalid thread id: it is not valid UTF-8");
	return 0;
}

int checkpoints_check_id(const char *id, const char *field, struct warder_error *err)
{
	const size_t len = strnlen(id, WARDER_CHECKPOINT_ID_MAX + 1);

	if (len == 0 || len > WARDER_CHECKPOINT_ID_MAX || id[0] == '@' || !json_is_utf8(id))
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, field,
		    "an id of a checkpoint has 1 to %d bytes of UTF-8, and does not begin with \"@\"",
		    WARDER_CHECKPOINT_ID_MAX);
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)id[i] < ' ' || id[i] == 0x7f)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
					 "an id of a checkpoint has no control characters");
	}
	return 0;
}

int checkpoints_parse_state(const char *state, size_t len, struct json_value **ret, struct warder_error *err)
{
	const struct json_limits limits = { WARDER_CHECKPOINT_STATE_MAX, STATE_DEPTH, STATE_VALUES };

	if (!state)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "state", "the argument `state` is NULL");
	return json_parse(state, len, "state", &limits, ret, err);
}

int checkpoints_metadata(const char *text, const char *rollback_from, char **ret, struct warder_error *err)
{
	const struct json_limits limits = { WARDER_CHECKPOINT_METADATA_MAX, METADATA_DEPTH, 0 };
	struct json_writer w = { 0 };
	struct json_value *value = NULL;

	if (json_parse(text, strlen(text), "metadata", &limits, &value, err) != 0)
		return -1;
	if (value->type != JSON_OBJECT || (!rollback_from && json_member(value, rollback_member))) {
		if (value->type != JSON_OBJECT)
			error_set(err, WARDER_ERROR_INVALID_REQUEST, "metadata", "it is %s, not an object",
				  json_type_name(value->type));
		else
			error_set(err, WARDER_ERROR_INVALID_REQUEST, "metadata",
				  "\"%s\" is written by a rollback alone; leave it out", rollback_member);
		json_free(value);
		return -1;
	}
	json_begin_object(&w);
	for (const struct json_value *member = value->child; member; member = member->next) {
		if (strcmp(member->key, rollback_member) == 0)
			continue;
		json_key(&w, member->key);
		json_copy(&w, member);
	}
	if (rollback_from)
		json_key_string(&w, rollback_member, rollback_from);
	json_end_object(&w);
	json_free(value);
	*ret = json_take(&w);
	return *ret ? 0 : error_no_memory(err, "metadata");
}

void checkpoints_new_id(int64_t now_ms, char ret[CHECKPOINTS_NEW_ID])
{
	const time_t seconds = (time_t)(now_ms / 1000);
	struct tm utc = { 0 };
	uint64_t number = 0;
	size_t len;

	gmtime_r(&seconds, &utc);
	len = strftime(ret, CHECKPOINTS_NEW_ID, "%Y%m%dT%H%M%SZ-", &utc);
	/* So few bytes are never cut short; without the call two ids may be the same, which the store notices. */
	if (getrandom(&number, sizeof(number), 0) < 0)
		number = (uint64_t)now_ms;
	snprintf(ret + len, CHECKPOINTS_NEW_ID - len, "%012" PRIx64, number & 0xffffffffffff);
}

/* Copy a text of len bytes to *at, with its NUL, and move *at behind it. */
static const char *put_text(char **at, const char *text, size_t len)
{
	char *here = *at;

	if (!text)
		return NULL;
	memcpy(here, text, len);
	here[len] = '\0';
	*at += len + 1;
	return here;
}

struct warder_checkpoint *checkpoints_copy(const struct warder_checkpoint *from)
{
	const size_t id = strlen(from->id), thread = strlen(from->thread), metadata = strlen(from->metadata);
	const size_t parent = from->parent ? strlen(from->parent) : 0;
	const size_t state = from->state ? from->state_len : 0;
	struct warder_checkpoint *checkpoint =
	    malloc(sizeof(*checkpoint) + id + thread + metadata + parent + state + 5);
	char *at;

	if (!checkpoint)
		return NULL;
	at = (char *)(checkpoint + 1);
	*checkpoint = *from;
	checkpoint->id = put_text(&at, from->id, id);
	checkpoint->thread = put_text(&at, from->thread, thread);
	checkpoint->metadata = put_text(&at, from->metadata, metadata);
	checkpoint->parent = put_text(&at, from->parent, parent);
	checkpoint->state = put_text(&at, from->state, state);
	return checkpoint;
}

/* JSON that was checked when it came in. What cannot be read now has been changed by somebody else: null. */
static void write_value(struct json_writer *w, const char *key, const char *text, size_t len)
{
	struct json_value *value = NULL;
	struct warder_error ignored;

	json_key(w, key);
	if (checkpoints_parse_state(text, len, &value, &ignored) == 0)
		json_copy(w, value);
	else
		json_null(w);
	json_free(value);
}

char *warder_checkpoint_json(const struct warder_checkpoint *checkpoint)
{
	struct json_writer w = { 0 };

	if (!checkpoint)
		return NULL;
	json_begin_object(&w);
	json_key_string(&w, "id", checkpoint->id);
	json_key_string(&w, "thread", checkpoint->thread);
	json_key_uint(&w, "version", checkpoint->version);
	json_key_string(&w, "parent", checkpoint->parent);
	json_key(&w, "createdAt");
	json_int(&w, checkpoint->created_ms);
	json_key_uint(&w, "stateBytes", checkpoint->state_len);
	write_value(&w, "metadata", checkpoint->metadata, strlen(checkpoint->metadata));
	if (checkpoint->state)
		write_value(&w, "state", checkpoint->state, checkpoint->state_len);
	json_end_object(&w);
	return json_take(&w);
}

void warder_checkpoint_free(struct warder_checkpoint *checkpoint)
{
	free(checkpoint);
}

void warder_checkpoint_list_free(struct warder_checkpoint **list, size_t count)
{
	for (size_t i = 0; list && i < count; i++)
		free(list[i]);
	free(list);
}
