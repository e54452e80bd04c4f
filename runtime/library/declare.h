/*
 * declare: a request to a model, with the executor of the model's provider in it. Private to runtime/; the public form is
 * warder_backend_declare().
 */
#ifndef WARDER_RUNTIME_LIBRARY_DECLARE_H
#define WARDER_RUNTIME_LIBRARY_DECLARE_H

#include "backends/backend.h"
#include "base/json.h"
#include "runtime/warder.h"

/* options->backend names the backend. `whole`: as {"backend", "isolation", "notEnforced", "request"}, else the request alone. *ret is
 * heap. -1 with *err. */
int declare_request(const struct warder_policy *policy, const struct warder_options *options,
		    const struct backend_model_request *request, bool whole, char **ret,
		    struct warder_error *err);

#endif
