/*
 * tools: the tools that a model is offered, as two tables: the tools, and their arguments. The schema that a client reads and the
 * check of what a model sends come from the same rows.
 *
 * Life: mcp_tools_write() for tools/list; mcp_tool_find() and mcp_arguments_read() for tools/call -> mcp_arguments_done().
 * No argument names a path of the host, a policy, a variable or a secret. Pure; any thread.
 */
#ifndef WARDER_RUNTIME_MCP_TOOLS_H
#define WARDER_RUNTIME_MCP_TOOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "policy/policy.h"
#include "runtime/mcp/message.h"

#define MCP_ARGS_MAX  1000
#define MCP_STRIP_MAX 9

enum mcp_tool {
	MCP_RUN_COMMAND,
	MCP_RUN_CODE,
	MCP_DELETE_CONTEXT,
	MCP_READ_FILE,
	MCP_WRITE_FILE,
	MCP_LIST_FILES,
	MCP_APPLY_PATCH,
	MCP_DESCRIBE_POLICY,
	MCP_TOOLS,
};

/* Texts belong to the document. */
struct mcp_arguments {
	const char *command, *language, *code, *context, *standard_input, *path, *content, *patch;
	char **args;         /* owned; NULL-terminated; NULL: none */
	uint64_t timeout_us; /* 0: the policy's */
	uint64_t offset;
	uint64_t strip;
};

/* The facts about this host and policy that the schema contains. */
struct mcp_facts {
	enum mcp_version version;
	uint64_t wall_time_us; /* of the policy; or POLICY_UNLIMITED */
	const char *const *languages;
	size_t language_count;
};

/* Find a tool by its name. MCP_TOOLS: there is none. */
enum mcp_tool mcp_tool_find(const char *name);
/* The member "tools" into the object that is open. */
void mcp_tools_write(const struct mcp_facts *facts, struct json_writer *w);
/* The arguments of a call, which may be NULL. wall_time_us: the longest time that a call may set. -1 with *err (INVALID_REQUEST): the field
 * is the argument's name. *ret is to be freed in any case. */
int mcp_arguments_read(enum mcp_tool tool, const struct json_value *value, uint64_t wall_time_us,
		       struct mcp_arguments *ret, struct warder_error *err);
void mcp_arguments_done(struct mcp_arguments *arguments);

#endif
