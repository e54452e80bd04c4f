/*
 * Calls about artifacts: what programs without a sandbox have left.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "host/launcher/call.h"

int calls_artifacts(struct context *context, struct call *call, struct warder_error *err)
{
	struct json_writer w = { 0 };

	json_begin_array(&w);
	for (const struct run_artifact *one = context->launcher->artifacts.items; one; one = one->next) {
		if (!run_artifact_is_of(one, context->tenant))
			continue;
		json_begin_object(&w);
		text_write_name(&w, "name", "nameBase64", one->name);
		run_artifact_write(one, &w);
		json_end_object(&w);
	}
	json_end_array(&w);
	return call_say(context, call, json_take(&w), err);
}

/* The one that the request names. NULL with *err. */
static const struct run_artifact *find(const struct context *context, struct call *call,
				       struct warder_error *err)
{
	static const char *const members[] = { "id", NULL };
	const struct run_artifact *found;
	const char *id;
	char shown[100];

	if (call_parse(context, call, members, err) < 0)
		return NULL;
	id = json_member_text(call->document, "id", "");
	found = run_artifacts_find(&context->launcher->artifacts, context->tenant, id);
	if (!found)
		error_set(err, WARDER_ERROR_NOT_FOUND, "id",
			  "there is no artifact %s; an artifact is removed when its time is over, and when "
			  "the host ends",
			  json_quote(id, shown, sizeof(shown)));
	return found;
}

/* The front gets a descriptor with which it can read this file, and change nothing. */
int calls_artifact(struct context *context, struct call *call, struct warder_error *err)
{
	const struct run_artifact *found = find(context, call, err);

	if (!found)
		return -1;
	call->fd =
	    openat(context->launcher->artifacts.directory_fd, found->id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (call->fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "id", errno,
				       "cannot open the artifact");
	call_answer(context->launcher, call, 200, NULL);
	return 0;
}

int calls_drop_artifact(struct context *context, struct call *call, struct warder_error *err)
{
	const struct run_artifact *found = find(context, call, err);

	if (!found)
		return -1;
	if (!run_artifacts_remove(context->launcher, found))
		return error_no_memory(err, NULL);
	call_answer(context->launcher, call, 204, NULL);
	return 0;
}
