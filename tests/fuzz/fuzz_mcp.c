/*
 * mcp: a line of a client is refused with a reason, or is messages whose ids are JSON; arguments of a tool that are accepted keep to their
 * bounds; and a text for a model holds at most the allowed number of characters, and no hidden ones.
 */
#include "base/text.h"
#include "policy/policy.h"
#include "runtime/mcp/content.h"
#include "runtime/mcp/tools.h"
#include "tests/fuzz/fuzz.h"

#define WALL_TIME_US 30000000

static void check_json(const char *text)
{
	struct json_value *value = NULL;
	struct warder_error err;

	must(json_parse(text, strlen(text), "text", NULL, &value, &err) == 0);
	json_free(value);
}

static void check_arguments(const struct json_value *value)
{
	for (int tool = 0; tool < MCP_TOOLS; tool++) {
		struct mcp_arguments arguments;
		struct warder_error err = { 0 };

		if (mcp_arguments_read((enum mcp_tool)tool, value, WALL_TIME_US, &arguments, &err) != 0)
			must(err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0] && err.field[0]);
		else
			must(arguments.timeout_us <= WALL_TIME_US && arguments.strip <= MCP_STRIP_MAX);
		mcp_arguments_done(&arguments);
	}
}

static void check_message(const struct json_value *value)
{
	struct mcp_message message;

	mcp_message_read(value, &message);
	check_json(message.id);
	must(strlen(message.id) <= MCP_ID_MAX);
	must((message.kind == MCP_INVALID) == (message.fault[0] != '\0'));
	if (message.kind == MCP_REQUEST || message.kind == MCP_NOTIFICATION)
		must(message.method && (!message.params || message.params->type == JSON_OBJECT));
	check_arguments(value);
}

static void check_content(const char *bytes, size_t len)
{
	struct content content = { 0 };
	struct content_part part = content_data(&content, "0123456789abcdef", bytes, len, 100);
	size_t characters = 0, size;
	uint32_t character;

	must(part.bytes <= len && part.removed <= part.bytes);
	must(content_tail(bytes, len, 100) <= len);
	content_put(&content, bytes, len);
	for (size_t at = 0; at < content.len; at += size, characters++) {
		size = text_character(content.text + at, content.len - at, &character);
		must(character >= 0x20 || character == '\n' || character == '\t');
		must(character != 0x7f && (character < 0x80 || character >= 0xa0) && character != 0x202e);
	}
	must(characters == content.characters && characters <= MCP_TEXT_MAX);
	content_done(&content);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct json_value *document = NULL;
	struct warder_error err = { 0 };

	if (mcp_parse(text, size, &document, &err) != 0)
		must(err.text[0] && !strchr(err.text, '\n'));
	else if (document->type == JSON_ARRAY)
		for (const struct json_value *each = document->child; each; each = each->next)
			check_message(each);
	else
		check_message(document);
	json_free(document);
	check_content(text, size);
	free(text);
	return 0;
}
