#include "host/wire/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define DEPTH_MAX  32
#define VALUES_MAX 20000

int fields_refuse(const char *key, const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, key, "%s: %s", key, what);
}

int fields_parse(const char *json, size_t len, struct json_value **ret, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = (size_t)1 << 20,
					    .max_depth = DEPTH_MAX,
					    .max_values = VALUES_MAX };
	struct json_value *document = NULL;

	if (json_parse(json, len, "message", &limits, &document, err) != 0)
		return -1;
	if (document->type != JSON_OBJECT) {
		json_free(document);
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the message is not a JSON object");
	}
	*ret = document;
	return 0;
}

const struct json_value *fields_member(const struct json_value *object, const char *key)
{
	const struct json_value *member =
	    object && object->type == JSON_OBJECT ? json_member(object, key) : NULL;

	return member && member->type != JSON_NULL ? member : NULL;
}

int fields_text(const struct json_value *object, const char *key, const char **ret, struct warder_error *err)
{
	const struct json_value *member = fields_member(object, key);

	if (member && member->type != JSON_STRING)
		return fields_refuse(key, "not a string", err);
	*ret = member ? member->string : NULL;
	return 0;
}

int fields_object(const struct json_value *object, const char *key, const struct json_value **ret,
		  struct warder_error *err)
{
	const struct json_value *member = fields_member(object, key);

	if (member && member->type != JSON_OBJECT)
		return fields_refuse(key, "not an object", err);
	*ret = member;
	return 0;
}

int fields_bool(const struct json_value *object, const char *key, bool *ret, struct warder_error *err)
{
	const struct json_value *member = fields_member(object, key);

	if (member && member->type != JSON_BOOL)
		return fields_refuse(key, "neither true nor false", err);
	*ret = member && member->boolean;
	return 0;
}

static bool parse_digits(const char *text, uint64_t *ret)
{
	uint64_t number = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || number > (UINT64_MAX - 9) / 10)
			return false;
		number = number * 10 + (uint64_t)(*text - '0');
	}
	*ret = number;
	return true;
}

int fields_uint(const struct json_value *object, const char *key, uint64_t max, uint64_t *ret,
		struct warder_error *err)
{
	const struct json_value *member = fields_member(object, key);
	uint64_t number = 0;

	if (member && !(member->type == JSON_NUMBER && member->is_uint) &&
	    !(member->type == JSON_STRING && parse_digits(member->string, &number)))
		return fields_refuse(key, "not a whole number", err);
	if (member && member->type == JSON_NUMBER)
		number = member->uint;
	if (number > max)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, key, "%s: more than %llu", key,
				 (unsigned long long)max);
	*ret = number;
	return 0;
}

int fields_bytes(const struct json_value *object, const char *key, char **ret, size_t *ret_len,
		 struct warder_error *err)
{
	const char *text = NULL;
	char *bytes = NULL;
	size_t len = 0;

	if (fields_text(object, key, &text, err) < 0)
		return -1;
	if (text) {
		bytes = text_unbase64(text, strlen(text), &len);
		if (!bytes)
			return fields_refuse(key, "not padded base64", err);
	}
	*ret = bytes;
	*ret_len = len;
	return 0;
}

int fields_required_text(const struct json_value *object, const char *key, const char **ret,
			 struct warder_error *err)
{
	if (fields_text(object, key, ret, err) < 0)
		return -1;
	if (!*ret || !**ret)
		return fields_refuse(key, "missing", err);
	return 0;
}

static char *variable_of(const struct json_value *member)
{
	char *text = NULL;

	if (asprintf(&text, "%s=%s", member->key, member->string) < 0)
		return NULL;
	return text;
}

int fields_variables(const struct json_value *object, const char *key, char ***ret, struct warder_error *err)
{
	const struct json_value *members = NULL;
	char **list;
	size_t count = 0;

	if (fields_object(object, key, &members, err) < 0)
		return -1;
	list = calloc((members ? json_length(members) : 0) + 1, sizeof(*list));
	if (!list)
		return error_no_memory(err, key);
	for (const struct json_value *member = members ? members->child : NULL; member;
	     member = member->next) {
		if (member->type != JSON_STRING || !member->key[0] || strchr(member->key, '=')) {
			fields_list_free(list);
			return fields_refuse(key, "not an object of names without '=' and texts", err);
		}
		list[count] = variable_of(member);
		if (!list[count++]) {
			fields_list_free(list);
			return error_no_memory(err, key);
		}
	}
	*ret = list;
	return 0;
}

size_t fields_list_bytes(char *const *list)
{
	size_t bytes = 0;

	for (size_t i = 0; list && list[i]; i++)
		bytes += sizeof(*list) + strlen(list[i]) + 24; /* with what the allocator adds */
	return bytes;
}

void fields_list_free(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}
