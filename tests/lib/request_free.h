/* Let go of what a request holds, which in the product the end of its worker does. For tests. */
#ifndef WARDER_TESTS_LIB_REQUEST_FREE_H
#define WARDER_TESTS_LIB_REQUEST_FREE_H

#include <stdlib.h>

#include "base/json.h"
#include "runtime/tool/context.h"
#include "runtime/tool/request.h"

static void request_free(struct agent_request *request)
{
	snippet_done(&request->snippet);
	json_free(request->document);
	free(request->input);
	free(request->args);
	free(request->collect);
	free(request->policy);
	free(request->violations);
	context_free(request->context);
	*request = (struct agent_request){ 0 };
}

#endif
