/*
 * message: the messages of the Model Context Protocol: JSON-RPC 2.0, one message on a line.
 *
 *   {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "run_command", "arguments": {...}}}
 *
 * Life: mcp_parse() -> mcp_message_read() for the document, or for each element of a batch -> the caller serves the message, and writes the
 * answer with the functions below. A struct mcp_message points into the document.
 * Pure; any thread.
 */
#ifndef WARDER_RUNTIME_MCP_MESSAGE_H
#define WARDER_RUNTIME_MCP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

#define MCP_ID_MAX    200               /* bytes of an id as JSON */
#define MCP_LINE_MAX  ((size_t)8 << 20) /* bytes of a message */
#define MCP_BATCH_MAX 32                /* messages of a batch */
#define MCP_DEPTH     32                /* levels of a document */
#define MCP_VALUES    ((size_t)100000)  /* values of a document */

/* The versions of the protocol, the newest first. */
enum mcp_version { MCP_2025_06_18, MCP_2025_03_26, MCP_VERSIONS };
const char *mcp_version_name(enum mcp_version version);
/* The version to answer a client with that asks for `wanted` (or NULL): that one if it is known, else the newest. */
enum mcp_version mcp_version_choose(const char *wanted);

/* The error codes of JSON-RPC. */
enum mcp_code {
	MCP_PARSE_ERROR = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_METHOD_NOT_FOUND = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL_ERROR = -32603,
};

enum mcp_kind {
	MCP_REQUEST,
	MCP_NOTIFICATION,
	MCP_RESPONSE, /* to be ignored, because Warder sends no requests */
	MCP_INVALID,  /* to be answered with `code` and `fault` */
};

struct mcp_message {
	enum mcp_kind kind;
	char id[MCP_ID_MAX + 1]; /* JSON; "null": none, or none that could be read */
	const char *method;
	const struct json_value *params; /* an object; or NULL */
	enum mcp_code code;
	char fault[120];
};

/* Parse a line. *ret is the caller's (json_free). -1 with *err, whose text is for MCP_PARSE_ERROR. */
int mcp_parse(const char *line, size_t len, struct json_value **ret, struct warder_error *err);
/* Classify a value as a message; any value can be given. */
void mcp_message_read(const struct json_value *value, struct mcp_message *ret);
/* A value as an id: *ret (of MCP_ID_MAX + 1 bytes) is its JSON. False: it cannot be one. */
bool mcp_id_read(const struct json_value *value, char *ret);

/* An answer: begin, write the value "result", end. */
void mcp_begin_answer(struct json_writer *w, const char *id);
void mcp_end_answer(struct json_writer *w);
/* A whole answer that is an error. */
void mcp_write_error(struct json_writer *w, const char *id, enum mcp_code code, const char *text);

#endif
