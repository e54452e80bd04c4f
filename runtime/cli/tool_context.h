/*
 * tool_context: what a request brings along of its session, before and after its run. Private to cli/.
 *
 * Life: request_decode() -> tool_context_check() -> tool_context_begin() -> the run -> tool_context_end() -> context_write(). A request without a context
 * passes through both.
 */
#ifndef WARDER_RUNTIME_CLI_TOOL_CONTEXT_H
#define WARDER_RUNTIME_CLI_TOOL_CONTEXT_H

#include "runtime/tool/request.h"
#include "runtime/warder.h"

/* Whether to run at all. -1 with *err (REJECTED: the invocation has failed as often as it may; INVALID_REQUEST); the context is as it
 * came. */
int tool_context_check(const struct agent_request *asked, struct warder_error *err);
/* The names of its files into the context, and the context's files among those of the code. -1 with *err (INVALID_REQUEST). */
int tool_context_begin(struct agent_request *asked, struct warder_error *err);
/* The result into the context. -1 with *err (INTERNAL). */
int tool_context_end(struct agent_request *asked, const struct warder_result *result,
		     struct warder_error *err);

#endif
