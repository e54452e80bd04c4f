/*
 * serve --local: the resident service of a user, in the foreground.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/heap.h"
#include "runtime/cli/report.h"
#include "runtime/cli/term.h"
#include "runtime/service/service.h"

static void tell_ready(void)
{
	puts("ready");
	fflush(stdout);
}

int serve_command(struct request *request, char **argv)
{
	struct warder_error err = { 0 };

	if (!request->local || request->rest[0]) {
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, request->local ? "argv" : "--local",
			  request->local
			      ? "serve takes no arguments; write \"warder serve --local\""
			      : "serve needs --local: \"warder serve --local\" serves this user's commands");
		return command_refuse(request, &err, EXIT_REFUSED);
	}
	if (heap_stay)
		heap_stay();
	report_catch_signals();
	if (service_run(request->session.idle_us ? request->session.idle_us : SERVICE_IDLE_US, ending_came,
			tell_ready, &err) != 0)
		return command_refuse(request, &err, EXIT_REFUSED);
	return 0;
}
