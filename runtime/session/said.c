#include <string.h>

#include "runtime/library/result_end.h"
#include "runtime/session/session.h"

#define SIGNAL_NAME_SIZE 32

#define SAID_BYTES_MAX ((size_t)8 << 20)
#define MEDIA_TYPE_MAX 128

static struct json_value *parse(const char *text, size_t len)
{
	const struct json_limits limits = { .max_bytes = SAID_BYTES_MAX };
	struct json_value *document = NULL;
	struct warder_error ignored = { 0 };

	if (!text || json_parse(text, len, "context", &limits, &document, &ignored) != 0)
		return NULL;
	if (document->type == JSON_OBJECT)
		return document;
	json_free(document);
	return NULL;
}

/* Texts by media type. */
static bool is_bundle(const struct json_value *value)
{
	if (!value || value->type != JSON_OBJECT || !value->child)
		return false;
	for (const struct json_value *member = value->child; member; member = member->next)
		if (member->type != JSON_STRING || strlen(member->key) > MEDIA_TYPE_MAX ||
		    !strchr(member->key, '/'))
			return false;
	return true;
}

struct json_value *said_bundle(const char *text, size_t len)
{
	struct json_value *document = parse(text, len);

	if (is_bundle(document))
		return document;
	json_free(document);
	return NULL;
}

static bool read_report(struct said *ret)
{
	const struct json_value *count, *error;
	const char *status;

	if (!ret->document)
		return false;
	status = json_member_text(ret->document, "status", "");
	count = json_member(ret->document, "executionCount");
	error = json_member(ret->document, "error");
	ret->value = json_member(ret->document, "value");
	ret->ok = strcmp(status, "ok") == 0;
	if ((!ret->ok && strcmp(status, "error") != 0) || !count || !count->is_uint ||
	    (ret->value && !is_bundle(ret->value)) || (error && error->type != JSON_OBJECT))
		return false;
	ret->count = count->uint;
	if (!error)
		return ret->ok;
	ret->error_name = json_member_text(error, "name", NULL);
	ret->error_value = json_member_text(error, "value", NULL);
	ret->traceback = json_member_text(error, "traceback", NULL);
	return !ret->ok && ret->error_name && ret->error_value && ret->traceback;
}

bool said_parse(const char *text, size_t len, struct said *ret)
{
	*ret = (struct said){ .document = parse(text, len) };
	ret->valid = read_report(ret);
	return ret->valid;
}

void said_done(struct said *said)
{
	json_free(said->document);
	*said = (struct said){ 0 };
}

/* ---- the end of a piece ---- */

enum warder_piece_status said_status(const struct remote_done *done, const struct said *said)
{
	if (done->timed_out)
		return WARDER_PIECE_TIMEOUT;
	if (done->end == CONTEXT_END_NOT_BEGUN)
		return WARDER_PIECE_REJECTED;
	if (done->end != CONTEXT_END_DONE)
		return WARDER_PIECE_KILLED;
	return said->valid && said->ok ? WARDER_PIECE_SUCCESS : WARDER_PIECE_FAILED;
}

static const char *status_name(enum warder_piece_status status)
{
	static const char *const names[] = {
		[WARDER_PIECE_SUCCESS] = "success",   [WARDER_PIECE_FAILED] = "failed",
		[WARDER_PIECE_TIMEOUT] = "timeout",   [WARDER_PIECE_KILLED] = "killed",
		[WARDER_PIECE_REJECTED] = "rejected",
	};

	return names[status];
}

void said_write_piece(struct json_writer *w, const char *session, const char *context,
		      const struct remote_done *done, const struct said *said)
{
	json_key_string(w, "session", session);
	json_key_string(w, "context", context);
	json_key_uint(w, "piece", done->piece);
	json_key_string(w, "status", status_name(said_status(done, said)));
	json_key_bool(w, "interrupted", done->interrupted);
	json_key_bool(w, "timedOut", done->timed_out);
	json_key_uint(w, "wallUs", done->wall_us);
}

void said_write_end(struct json_writer *w, const struct remote_done *done)
{
	json_key_uint(w, "refusedFrames", done->refused);
	json_key_bool(w, "saidTruncated", done->cut);
	if (done->end != CONTEXT_END_DONE) {
		const struct jail_outcome *outcome = &done->last.outcome;
		char name[SIGNAL_NAME_SIZE];

		json_key_string(w, "contextCause", jail_cause_name(outcome->cause));
		if (outcome->exit_code >= 0)
			json_key_uint(w, "contextExitCode", (uint64_t)outcome->exit_code);
		else if (outcome->signal > 0)
			json_key_string(w, "contextSignal",
					result_signal_name(outcome->signal, name, sizeof(name)));
		json_key_string(w, "detail", done->why);
	}
}

void said_write(struct json_writer *w, const struct said *said)
{
	if (!said->valid)
		return;
	json_key_string(w, "status", said->ok ? "ok" : "error");
	json_key_uint(w, "executionCount", said->count);
	if (said->value) {
		json_key(w, "value");
		json_copy(w, said->value);
	}
	if (said->error_name) {
		json_key(w, "error");
		json_copy(w, json_member(said->document, "error"));
	}
}
