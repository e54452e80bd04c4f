/*
 * schema: definitions of tools, for a model that is to write the requests of `warder tool`.
 *
 * The arguments of a call that fits a definition are a request as they stand. Constant data and pure functions; any thread.
 */
#ifndef WARDER_RUNTIME_TOOL_SCHEMA_H
#define WARDER_RUNTIME_TOOL_SCHEMA_H

#include "base/error.h"
#include "policy/policy.h"

/* The definition of a tool by its name (python_code, javascript_code, frontend_code, code_exec) as JSON: name, description,
 * inputSchema (JSON Schema) and the scopes that a caller needs to use it under the policy, with a backend of that isolation.
 * Heap, the caller's. NULL with *err (INVALID_REQUEST, which lists the names; INTERNAL). */
char *schema_write(const char *name, const struct policy *policy, enum policy_isolation isolation,
		   struct warder_error *err);

#endif
