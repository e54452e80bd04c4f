#include "host/input.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

int input_take(const struct json_value *document, const char **ret, size_t *ret_len, char **ret_bytes,
	       struct warder_error *err)
{
	const struct json_value *encoded = json_member(document, "stdinBase64");

	*ret = json_member_text(document, "stdin", NULL);
	*ret_len = *ret ? strlen(*ret) : 0;
	*ret_bytes = NULL;
	if (!encoded)
		return 0;
	if (*ret)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "stdinBase64",
				 "\"stdin\" and \"stdinBase64\" are both given; leave one of them out");
	if (encoded->type == JSON_STRING)
		*ret_bytes = text_unbase64(encoded->string, strlen(encoded->string), ret_len);
	*ret = *ret_bytes;
	return *ret ? 0
		    : error_set(err, WARDER_ERROR_INVALID_REQUEST, "stdinBase64",
				"\"stdinBase64\" must be a text in base64, padded and without line breaks");
}

int input_take_argv(const struct json_value *document, char ***ret, struct warder_error *err)
{
	const struct json_value *value = json_member(document, "argv");
	const size_t count = value && value->type == JSON_ARRAY ? json_length(value) : 0;
	char **argv;
	size_t i = 0;

	if (!count)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
				 "\"argv\" must be an array of texts, the program first");
	argv = calloc(count + 1, sizeof(*argv));
	if (!argv)
		return error_no_memory(err, NULL);
	for (const struct json_value *one = value->child; one; one = one->next) {
		if (one->type != JSON_STRING) {
			free(argv);
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
					 "\"argv\" must be an array of texts");
		}
		argv[i++] = one->string;
	}
	*ret = argv;
	return 0;
}
