/*
 * mcp_call: the tools of `warder mcp`, each in a worker of the server. Private to cli/.
 *
 * A failure is a result, too: one line of JSON that a model can act on,
 *
 *   {"error": "execution_error", "message": "...", "cause": "wallTime", "field": "limits.wallTime", "remedy": "..."}
 *
 * with "path" if it is about a file. The program's output follows. "error" is one of path_traversal, not_found, read_error,
 * write_error, list_error, patch_error, execution_error, invalid_arguments.
 */
#ifndef WARDER_RUNTIME_CLI_MCP_CALL_H
#define WARDER_RUNTIME_CLI_MCP_CALL_H

#include "runtime/cli/flags.h"
#include "runtime/mcp/content.h"
#include "runtime/mcp/tools.h"

/* What the calls of a server share. */
struct mcp_shared {
	struct args *args; /* with the session's policy */
	struct warder_session *session;
	char name[64]; /* of the session */
};

struct mcp_call {
	const struct mcp_shared *shared;
	enum mcp_tool tool;
	struct mcp_arguments arguments;
	struct content content;
	bool is_error;
	bool session_ended; /* and the call came too late */
};

/* Execute the call and write its answer into the content. Returns 0; -1 if a signal ended the call, which then gets no answer. */
int mcp_call(struct mcp_call *call);
/* Fill the content with the error of an invalid argument. */
void mcp_call_refuse(struct mcp_call *call, const struct warder_error *err);

#endif
