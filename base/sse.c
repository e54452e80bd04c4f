/*
 * sse: one buffer has the data of the event and, behind it, the beginning of a line. A complete line is dropped from it, or becomes data in its place. What
 * is kept depends only on the bytes before, never on the pieces in which they came.
 */
#include "base/sse.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- the buffer ---- */

static int grow(struct sse *sse, size_t needed, struct warder_error *err)
{
	const size_t most = sse->most + 1; /* one more, so that an empty line has a buffer, too */
	const size_t room = needed > most / 2 ? most : 2 * needed;
	char *grown = realloc(sse->bytes, room);

	if (!grown)
		return error_no_memory(err, "backend");
	sse->bytes = grown;
	sse->room = room;
	return 0;
}

/* The next bytes of a line. */
static int append(struct sse *sse, const char *bytes, size_t len, struct warder_error *err)
{
	if (len > sse->most - sse->len)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
				 "the host sends an event of more than %zu bytes", sse->most);
	if (sse->len + len + 1 > sse->room && grow(sse, sse->len + len + 1, err) < 0)
		return -1;
	if (len)
		memcpy(sse->bytes + sse->len, bytes, len);
	sse->len += len;
	return 0;
}

/* ---- lines ---- */

static void take_name(struct sse *sse, const char *name, size_t len)
{
	sse->strange = len >= sizeof(sse->name) || memchr(name, '\0', len);
	if (sse->strange)
		return;
	memcpy(sse->name, name, len);
	sse->name[len] = '\0';
}

/* The value and its line feed are shorter than the line, in whose place they are put. */
static void take_data(struct sse *sse, const char *value, size_t len)
{
	memmove(sse->bytes + sse->data_len, value, len);
	sse->data_len += len;
	sse->bytes[sse->data_len++] = '\n';
}

/* The empty line at the end of an event. */
static void end_event(struct sse *sse, sse_event_fn *each, void *context)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX, .max_values = SSE_VALUES_MAX };
	struct json_value *document = NULL;
	struct warder_error ignored;

	if (sse->data_len && !sse->strange &&
	    json_parse(sse->bytes, sse->data_len - 1, "event", &limits, &document, &ignored) == 0 &&
	    document->type == JSON_OBJECT)
		each(context, sse->name, document);
	json_free(document);
	sse->data_len = 0;
	sse->name[0] = '\0';
	sse->strange = false;
}

/* A field is its name, or the name, a colon, perhaps a space, and a value. A comment has an empty name. */
static void end_line(struct sse *sse, sse_event_fn *each, void *context)
{
	const char *line = sse->bytes + sse->data_len, *end = sse->bytes + sse->len;
	const char *colon = memchr(line, ':', (size_t)(end - line));
	const size_t field = (size_t)((colon ? colon : end) - line);
	const char *value = colon ? colon + 1 : end;

	value += value < end && *value == ' ';
	if (line == end)
		end_event(sse, each, context);
	else if (field == 4 && memcmp(line, "data", field) == 0)
		take_data(sse, value, (size_t)(end - value));
	else if (field == 5 && memcmp(line, "event", field) == 0)
		take_name(sse, value, (size_t)(end - value));
	sse->len = sse->data_len;
}

int sse_take(struct sse *sse, const char *bytes, size_t len, sse_event_fn *each, void *context,
	     struct warder_error *err)
{
	const char *const end = bytes + len;

	while (bytes < end) {
		const char *stop = bytes;

		if (sse->after_cr && *bytes == '\n')
			stop = ++bytes;
		sse->after_cr = false;
		while (stop < end && *stop != '\n' && *stop != '\r')
			stop++;
		if (append(sse, bytes, (size_t)(stop - bytes), err) < 0)
			return -1;
		if (stop == end)
			return 0;
		end_line(sse, each, context);
		sse->after_cr = *stop == '\r';
		bytes = stop + 1;
	}
	return 0;
}

void sse_done(struct sse *sse)
{
	free(sse->bytes);
	*sse = (struct sse){ 0 };
}

int sse_each(const char *text, size_t len, sse_event_fn *each, void *context, struct warder_error *err)
{
	struct sse sse = { .most = SSE_EVENT_MAX };
	const int status = sse_take(&sse, text, len, each, context, err);

	sse_done(&sse);
	return status;
}

/* ---- events of output ---- */

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
