/*
 * advice: the scan of a source, as a build, the command line and an audit log need it. Private to code/ but for advice_take(), which
 * the command line uses as well.
 */
#ifndef WARDER_RUNTIME_CODE_ADVICE_H
#define WARDER_RUNTIME_CODE_ADVICE_H

#include "base/error.h"
#include "policy/policy.h"
#include "runtime/warder.h"

/* Scan the code under its rules, append the decision to its audit file, and render the advice as JSON (heap, the caller's).
 * `policy` (or NULL) is what the code will run under. -1 with *err: the rules or the audit file; with WARDER_CODE_SCAN_DENY, REJECTED
 * what the scan denies, and *ret_json all the same. */
int advice_take(const struct warder_code *code, const char *language, const struct policy *policy,
		char **ret_json, struct warder_error *err);

#endif
