#include "host/front/body.h"

#include <string.h>

static const char *const wishes[] = {
	[MEMBER_TEXT] = "a text",
	[MEMBER_NUMBER] = "a whole number, not below 0",
	[MEMBER_FLAG] = "true or false",
	[MEMBER_TEXTS] = "an array of texts",
	[MEMBER_VARIABLES] = "an object of texts",
	[MEMBER_OBJECT] = "an object",
	[MEMBER_OBJECTS] = "an array of objects",
	[MEMBER_ANY] = "any value",
};

static bool all_are(const struct json_value *value, enum json_type type)
{
	for (const struct json_value *one = value->child; one; one = one->next)
		if (one->type != type)
			return false;
	return true;
}

static bool are_variables(const struct json_value *value)
{
	for (const struct json_value *one = value->child; one; one = one->next)
		if (!one->key[0] || strchr(one->key, '='))
			return false;
	return value->type == JSON_OBJECT && all_are(value, JSON_STRING);
}

static bool fits(const struct member *member, const struct json_value *value)
{
	if (value->type == JSON_NULL && !member->required)
		return true;
	switch (member->type) {
	case MEMBER_TEXT:
		return value->type == JSON_STRING;
	case MEMBER_NUMBER:
		return value->is_uint;
	case MEMBER_FLAG:
		return value->type == JSON_BOOL;
	case MEMBER_TEXTS:
		return value->type == JSON_ARRAY && all_are(value, JSON_STRING);
	case MEMBER_VARIABLES:
		return are_variables(value);
	case MEMBER_OBJECT:
		return value->type == JSON_OBJECT;
	case MEMBER_OBJECTS:
		return value->type == JSON_ARRAY && all_are(value, JSON_OBJECT);
	case MEMBER_ANY:
		return true;
	case MEMBER_ELSEWHERE:
		break;
	}
	return false;
}

static int check_one(const struct member *members, const struct json_value *one, struct warder_error *err)
{
	const struct member *member = members;

	while (member->name && strcmp(member->name, one->key) != 0)
		member++;
	if (!member->name)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, one->key,
				 "line %d: unknown member \"%.60s\"", one->line, one->key);
	if (member->type == MEMBER_ELSEWHERE)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, one->key,
				 "line %d: \"%s\" does not go with this request: %s", one->line, member->name,
				 member->summary);
	if (!fits(member, one))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, one->key, "line %d: \"%s\" must be %s",
				 one->line, member->name, wishes[member->type]);
	return 0;
}

int body_check(const struct member *members, const struct json_value *document, struct warder_error *err)
{
	if (document->type != JSON_OBJECT)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the body must be a JSON object");
	for (const struct json_value *one = document->child; one; one = one->next)
		if (check_one(members, one, err) < 0)
			return -1;
	for (const struct member *member = members; member->name; member++)
		if (member->required && !json_member(document, member->name))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, member->name,
					 "\"%s\" is missing: it must be %s", member->name,
					 wishes[member->type]);
	return 0;
}

/* ---- the schema ---- */

static void describe_items(const char *key, const char *type, struct json_writer *w)
{
	json_key(w, key);
	json_begin_object(w);
	json_key_string(w, "type", type);
	json_end_object(w);
}

static void describe_type(enum member_type type, struct json_writer *w)
{
	static const char *const types[] = {
		[MEMBER_TEXT] = "string",   [MEMBER_NUMBER] = "integer",   [MEMBER_FLAG] = "boolean",
		[MEMBER_TEXTS] = "array",   [MEMBER_VARIABLES] = "object", [MEMBER_OBJECT] = "object",
		[MEMBER_OBJECTS] = "array",
	};

	if (type == MEMBER_ANY)
		return;
	json_key_string(w, "type", types[type]);
	if (type == MEMBER_NUMBER)
		json_key_uint(w, "minimum", 0);
	if (type == MEMBER_TEXTS || type == MEMBER_OBJECTS)
		describe_items("items", type == MEMBER_TEXTS ? "string" : "object", w);
	if (type == MEMBER_VARIABLES)
		describe_items("additionalProperties", "string", w);
}

void body_describe(const struct member *members, struct json_writer *w)
{
	json_begin_object(w);
	json_key_string(w, "type", "object");
	json_key(w, "properties");
	json_begin_object(w);
	for (const struct member *member = members; member->name; member++) {
		if (member->type == MEMBER_ELSEWHERE)
			continue;
		json_key(w, member->name);
		json_begin_object(w);
		describe_type(member->type, w);
		json_key_string(w, "description", member->summary);
		json_end_object(w);
	}
	json_end_object(w);
	json_key(w, "required");
	json_begin_array(w);
	for (const struct member *member = members; member->name; member++)
		if (member->required)
			json_string(w, member->name);
	json_end_array(w);
	json_key_bool(w, "additionalProperties", false);
	json_end_object(w);
}
