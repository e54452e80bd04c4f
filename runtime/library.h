/*
 * library: what is behind the public handles, for the rest of runtime/. Private to runtime/.
 */
#ifndef WARDER_RUNTIME_LIBRARY_H
#define WARDER_RUNTIME_LIBRARY_H

#include "base/error.h"
#include "policy/policy.h"
#include "runtime/warder.h"

struct warder_policy {
	struct policy policy;
};

#endif
