#include <string.h>

#include "runtime/session/session.h"

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

bool said_parse(const char *text, size_t len, struct said *ret)
{
	const struct json_value *count, *error;
	const char *status;

	*ret = (struct said){ .document = parse(text, len) };
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

void said_done(struct said *said)
{
	json_free(said->document);
	*said = (struct said){ 0 };
}
