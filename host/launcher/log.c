#include "host/launcher/log.h"

#include <stdlib.h>

#include "base/clock.h"
#include "runtime/library/result.h"

char *log_line(const struct call *call)
{
	const struct link_answer *answer = &call->answer;
	struct json_writer w = { 0 };

	json_begin_object(&w);
	result_write_time(&w, "time", clock_wall_ms());
	json_key_string(&w, "event", "call");
	json_key_string(&w, "call", call->name);
	if (call->tenant[0])
		json_key_string(&w, "tenant", call->tenant);
	if (call->sandbox[0])
		json_key_string(&w, "sandbox", call->sandbox);
	json_key_uint(&w, "status", answer->status);
	if (answer->status >= 400) /* the text of the error may quote the request */
		json_key_string(&w, "error", error_kind_name(answer->error.code));
	if (call->cause)
		json_key_string(&w, "cause", call->cause);
	json_key_uint(&w, "durationUs", clock_us() - call->taken_us);
	if (call->launch_us)
		json_key_uint(&w, "launchUs", call->launch_us);
	json_end_object(&w);
	return json_take(&w);
}

void log_call(const struct launcher *launcher, const struct call *call)
{
	char *line;

	if (!launcher->options->log_call || !call->name)
		return;
	line = log_line(call);
	if (line)
		launcher->options->log_call(line);
	free(line);
}
