#include "base/sse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NAME_SIZE 32

/* What stands behind the prefix of a line; NULL: the line has another one. */
static const char *behind(const char *line, size_t len, const char *prefix)
{
	const size_t prefix_len = strlen(prefix);

	return len > prefix_len && memcmp(line, prefix, prefix_len) == 0 ? line + prefix_len : NULL;
}

void sse_each(const char *text, size_t len,
	      void (*each)(void *context, const char *name, const struct json_value *data), void *context)
{
	const struct json_limits limits = { .max_bytes = SSE_EVENT_MAX };
	const char *const end = text + len;
	char name[NAME_SIZE] = "";

	while (text < end) {
		const char *found = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = found ? found : end;
		const size_t line = (size_t)(line_end - text);
		const char *data = behind(text, line, "data: "), *event = behind(text, line, "event: ");
		struct json_value *document = NULL;
		struct warder_error ignored;

		if (event)
			snprintf(name, sizeof(name), "%.*s", (int)(line_end - event), event);
		if (data &&
		    json_parse(data, (size_t)(line_end - data), "event", &limits, &document, &ignored) == 0 &&
		    document->type == JSON_OBJECT)
			each(context, name, document);
		if (!line)
			*name = '\0';
		json_free(document);
		text = line_end + 1;
	}
}

char *sse_bytes(const struct json_value *data, size_t *ret_len)
{
	const char *text = json_member_text(data, "text", NULL);
	const char *encoded = json_member_text(data, "base64", NULL);

	if (!text)
		return encoded ? text_unbase64(encoded, strlen(encoded), ret_len) : NULL;
	*ret_len = strlen(text);
	return strdup(text);
}

int sse_stream(const struct json_value *data)
{
	return strcmp(json_member_text(data, "stream", ""), "stderr") == 0;
}
