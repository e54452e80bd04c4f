/*
 * fields: members of a JSON message as the mapping of Protocol Buffers has them: bytes are base64, numbers may be strings, a member that is
 * missing or null has its zero value, and unknown members are passed over.
 *
 * Each function returns 0, or -1 with *err, which names the member. Values point into the document. Pure functions; any thread.
 * Source: https://protobuf.dev/programming-guides/json/
 */
#ifndef WARDER_HOST_WIRE_FIELDS_H
#define WARDER_HOST_WIRE_FIELDS_H

#include "base/error.h"
#include "base/json.h"

/* Parse a message, which is an object. *ret is the caller's (json_free). */
int fields_parse(const char *json, size_t len, struct json_value **ret, struct warder_error *err);
/* A member that is not null; or NULL. */
const struct json_value *fields_member(const struct json_value *object, const char *key);
/* NULL where it is missing. */
int fields_text(const struct json_value *object, const char *key, const char **ret, struct warder_error *err);
int fields_object(const struct json_value *object, const char *key, const struct json_value **ret,
		  struct warder_error *err);
int fields_bool(const struct json_value *object, const char *key, bool *ret, struct warder_error *err);
/* A whole number up to `max`, also as a string; 0 where it is missing. */
int fields_uint(const struct json_value *object, const char *key, uint64_t max, uint64_t *ret,
		struct warder_error *err);
/* Heap, with a final NUL that is not counted; NULL where it is missing. */
int fields_bytes(const struct json_value *object, const char *key, char **ret, size_t *ret_len,
		 struct warder_error *err);
/* The text must be there, and not be empty. */
int fields_required_text(const struct json_value *object, const char *key, const char **ret,
			 struct warder_error *err);
/* An object of texts as "NAME=value" strings; heap, ended by NULL; also where it is missing. A name is not empty and has no '='. */
int fields_variables(const struct json_value *object, const char *key, char ***ret, struct warder_error *err);
void fields_list_free(char **list);
/* The memory that such a list takes; NULL: none. */
size_t fields_list_bytes(char *const *list);

/* -1 with *err: "key: what". */
int fields_refuse(const char *key, const char *what, struct warder_error *err);

#endif
