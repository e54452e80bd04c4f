/*
 * reported_code: what the result of another machine says about a piece of code. Private to runtime/library/.
 */
#ifndef WARDER_RUNTIME_LIBRARY_REPORTED_CODE_H
#define WARDER_RUNTIME_LIBRARY_REPORTED_CODE_H

#include "base/json.h"
#include "runtime/library/result.h"

/* Read the language, the stages, the diagnostics and the output of a result; `label` as for reported_read(). *ret is the caller's. -1 with
 * *err (UNAVAILABLE), which names the first member that is missing or wrong. */
int reported_code(const struct json_value *document, const char *label, struct result_code **ret,
		  struct warder_error *err);

#endif
