#include "runtime/mcp/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const versions[MCP_VERSIONS] = {
	[MCP_2025_06_18] = "2025-06-18",
	[MCP_2025_03_26] = "2025-03-26",
};

const char *mcp_version_name(enum mcp_version version)
{
	return versions[version];
}

enum mcp_version mcp_version_choose(const char *wanted)
{
	for (size_t i = 0; wanted && i < MCP_VERSIONS; i++) {
		if (strcmp(versions[i], wanted) == 0)
			return (enum mcp_version)i;
	}
	return MCP_2025_06_18;
}

/* ---- reading ---- */

int mcp_parse(const char *line, size_t len, struct json_value **ret, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = MCP_LINE_MAX,
					    .max_depth = MCP_DEPTH,
					    .max_values = MCP_VALUES };

	return json_parse(line, len, "message", &limits, ret, err);
}

bool mcp_id_read(const struct json_value *value, char *ret)
{
	struct json_writer w = { 0 };
	char *text;
	bool fits;

	strcpy(ret, "null");
	/* A fraction would not come back as it was written by every client. */
	if (!value || (value->type != JSON_STRING && value->type != JSON_NUMBER) ||
	    (value->type == JSON_NUMBER && strpbrk(value->string, ".eE")))
		return false;
	json_copy(&w, value);
	text = json_take(&w);
	fits = text && strlen(text) <= MCP_ID_MAX;
	if (fits)
		strcpy(ret, text);
	json_writer_done(&w);
	free(text);
	return fits;
}

static void refuse(struct mcp_message *message, enum mcp_code code, const char *fault)
{
	message->kind = MCP_INVALID;
	message->code = code;
	snprintf(message->fault, sizeof(message->fault), "%s", fault);
}

void mcp_message_read(const struct json_value *value, struct mcp_message *ret)
{
	const struct json_value *id = json_member(value, "id"), *params = json_member(value, "params");
	const bool has_method = json_member(value, "method") != NULL;

	*ret = (struct mcp_message){ .id = "null", .method = json_member_text(value, "method", NULL) };
	if (value->type != JSON_OBJECT) {
		refuse(ret, MCP_INVALID_REQUEST, "a message is a JSON object");
		return;
	}
	ret->kind = id ? MCP_REQUEST : MCP_NOTIFICATION;
	if (!has_method && (json_member(value, "result") || json_member(value, "error")))
		ret->kind = MCP_RESPONSE;
	else if (id && !mcp_id_read(id, ret->id))
		refuse(ret, MCP_INVALID_REQUEST,
		       "id: write a string or a whole number, of at most 200 bytes");
	else if (strcmp(json_member_text(value, "jsonrpc", ""), "2.0") != 0)
		refuse(ret, MCP_INVALID_REQUEST, "jsonrpc: write \"2.0\"");
	else if (!ret->method)
		refuse(ret, MCP_INVALID_REQUEST, "method: write the name of a method");
	else if (params && params->type != JSON_OBJECT)
		refuse(ret, MCP_INVALID_PARAMS, "params: write an object");
	else
		ret->params = params;
}

/* ---- answering ---- */

static void begin(struct json_writer *w, const char *id)
{
	json_begin_object(w);
	json_key_string(w, "jsonrpc", "2.0");
	json_key(w, "id");
	json_number(w, id);
}

void mcp_begin_answer(struct json_writer *w, const char *id)
{
	begin(w, id);
	json_key(w, "result");
}

void mcp_end_answer(struct json_writer *w)
{
	json_end_object(w);
}

void mcp_write_error(struct json_writer *w, const char *id, enum mcp_code code, const char *text)
{
	begin(w, id);
	json_key(w, "error");
	json_begin_object(w);
	json_key(w, "code");
	json_int(w, code);
	json_key_string(w, "message", text);
	json_end_object(w);
	json_end_object(w);
}
