#include "runtime/tool/conversation.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "runtime/tool/decode.h"
#include "runtime/tool/snippet.h"

/* ---- parts ---- */

struct part {
	const char *type, *text, *content;
	bool has_encoding, is_base64;
};

static int read_encoding(struct decoder *d, const struct json_value *value, void *into)
{
	struct part *part = into;

	part->has_encoding = true;
	return snippet_decode_encoding(d, value, &part->is_base64);
}

static int check_part(struct decoder *d, const struct json_value *value, const struct part *part)
{
	if (!part->text == !part->content)
		return decode_refuse(d, value, "a part has one of text and content");
	if (part->text && part->has_encoding)
		return decode_refuse(d, value, "text has no encoding; give content");
	return 0;
}

/* A copy of its bytes; heap. */
static int copy_bytes(struct decoder *d, const struct json_value *value, const struct part *part,
		      struct span *ret)
{
	const struct span text = span_of(part->text ? part->text : part->content);
	char *bytes = NULL;
	size_t len = text.len;

	if (part->is_base64) {
		if (snippet_decode_base64(d, value, "content", &bytes, &len) != 0)
			return -1;
	} else {
		bytes = strndup(text.at ? text.at : "", text.len);
		if (!bytes)
			return error_no_memory(d->err, NULL);
	}
	*ret = (struct span){ bytes, len };
	return 0;
}

static int read_part(struct decoder *d, const struct json_value *value, void *into)
{
	static const struct decode_row rows[] = {
		{ "mimeType", decode_row_text, false, offsetof(struct part, type) },
		{ "text", decode_row_text, false, offsetof(struct part, text) },
		{ "content", decode_row_text, false, offsetof(struct part, content) },
		{ "encoding", read_encoding, false },
		{ NULL, NULL, false },
	};
	struct datafile_message *message = into;
	struct datafile_part *to = (struct datafile_part *)(uintptr_t)&message->parts[message->count];
	struct part part = { .type = "text/plain" };

	if (decode_object(d, value, rows, &part) != 0 || check_part(d, value, &part) != 0 ||
	    copy_bytes(d, value, &part, &to->content) != 0)
		return -1;
	to->type = part.type;
	message->count++;
	return 0;
}

/* ---- messages ---- */

static int read_message(struct decoder *d, const struct json_value *value, void *into)
{
	struct conversation *conversation = into;
	struct datafile_message *message = &conversation->messages[conversation->count++];
	const size_t count = decode_count(value);

	if (count && count <= CONVERSATION_MAX_PARTS) {
		message->parts = calloc(count, sizeof(*message->parts));
		if (!message->parts)
			return error_no_memory(d->err, NULL);
	}
	return decode_array(d, value, CONVERSATION_MAX_PARTS, read_part, message);
}

static int read_messages(struct decoder *d, const struct json_value *value, void *into)
{
	struct conversation *conversation = into;
	const size_t count = decode_count(value);

	if (count && count <= CONVERSATION_MAX_MESSAGES) {
		conversation->messages = calloc(count, sizeof(*conversation->messages));
		if (!conversation->messages)
			return error_no_memory(d->err, NULL);
	}
	return decode_array(d, value, CONVERSATION_MAX_MESSAGES, read_message, conversation);
}

static int read_context(struct decoder *d, const struct json_value *value, void *into)
{
	struct conversation *conversation = into;

	return context_decode(d, value, &conversation->context);
}

static const struct decode_row rows[] = {
	{ "messages", read_messages, true },
	{ "context", read_context, false },
	{ NULL, NULL, false },
};

int conversation_read(const char *json, size_t len, struct conversation *ret, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = AGENT_MAX_TEXT_BYTES,
					    .max_values = CONVERSATION_MAX_VALUES };
	struct conversation conversation = { 0 };
	struct decoder d = { .origin = "conversation", .err = err };

	if (json_parse(json, len, d.origin, &limits, &conversation.document, err) != 0)
		return -1;
	if (decode_object(&d, conversation.document, rows, &conversation) != 0) {
		conversation_done(&conversation);
		return -1;
	}
	*ret = conversation;
	return 0;
}

void conversation_done(struct conversation *conversation)
{
	for (size_t i = 0; i < conversation->count; i++) {
		const struct datafile_message *message = &conversation->messages[i];

		for (size_t j = 0; j < message->count; j++)
			free((char *)(uintptr_t)message->parts[j].content.at);
		free((struct datafile_part *)(uintptr_t)message->parts);
	}
	free(conversation->messages);
	context_free(conversation->context);
	json_free(conversation->document);
	*conversation = (struct conversation){ 0 };
}
