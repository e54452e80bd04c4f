/*
 * Calls about artifacts: what programs have left, and copies of files of a sandbox.
 *
 * The tool reads the files, one after the other: as the user of the sandbox, and by its paths, which lead nowhere else.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "host/launcher/artifact_spool.h"
#include "host/launcher/call.h"
#include "host/launcher/outputs.h"
#include "host/launcher/tool.h"
#include "runtime/session/session.h"

#define PATHS_MAX 64 /* of a request */

int calls_artifacts(struct context *context, struct call *call, struct warder_error *err)
{
	struct json_writer w = { 0 };

	json_begin_array(&w);
	for (const struct run_artifact *one = context->launcher->artifacts.items; one; one = one->next) {
		if (!run_artifact_is_of(one, context->tenant))
			continue;
		run_artifact_write_row(one, &w);
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
static void open_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	const char *id = json_member_text(call->document, "id", "");

	call->fd = openat(call->artifacts_fd, id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	call->answer.status = 200;
	if (call->fd >= 0)
		return;
	call->answer.status = errno == ENOENT ? 404 : 503; /* it was removed meanwhile */
	error_set_errno(&call->answer.error,
			errno == ENOENT ? WARDER_ERROR_NOT_FOUND : WARDER_ERROR_UNAVAILABLE, "id", errno,
			"cannot open the artifact");
}

int calls_artifact(struct context *context, struct call *call, struct warder_error *err)
{
	if (!find(context, call, err))
		return -1;
	call->artifacts_fd = context->launcher->artifacts.directory_fd;
	call->job.work = open_work;
	call->job.finish = call_finish;
	jobs_add(&context->launcher->jobs, &call->job);
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

/* ---- files of a sandbox ---- */

void call_take_artifacts(struct launcher *launcher, struct call *call, bool good)
{
	struct run_artifact *made = call->spool ? artifact_spool_take(call->spool) : NULL;

	if (good && !atomic_load(&call->cancelled))
		run_artifacts_add(launcher, made);
	else
		run_artifacts_drop(launcher, made);
}

/* The error of the tool or the spool, for the client. Returns -1. */
static int take_failure(const struct call *call, const char *path, uint64_t most, struct warder_error *err)
{
	char shown[200];

	if (strcmp(err->field, "name") == 0)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "id", "sandbox %s does not run", call->sandbox);
	if (strcmp(err->field, "session") == 0)
		return error_set(err, WARDER_ERROR_CONFLICT, "id",
				 "sandbox %s is paused, or is being stored; try again when it runs",
				 call->sandbox);
	if (strcmp(err->field, "bytes") == 0 && most < ARTIFACT_STREAM_BYTES)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "paths",
				 "with %s, the files have more than %" PRIu64
				 " MiB together; store them with several requests",
				 json_quote(path, shown, sizeof(shown)), (uint64_t)ARTIFACT_RUN_BYTES >> 20);
	if (strcmp(err->field, "bytes") == 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "paths",
				 "%s has more than %" PRIu64
				 " MiB, the most of an artifact; read it from the sandbox instead",
				 json_quote(path, shown, sizeof(shown)), ARTIFACT_STREAM_BYTES >> 20);
	if (strcmp(err->field, "path") == 0) {
		snprintf(err->field, sizeof(err->field), "paths");
		if (err->sys_errno == EACCES)
			err->code = WARDER_ERROR_REJECTED;
	}
	return -1;
}

static int keep_file(const struct call *call, const char *path, struct warder_error *err)
{
	char bytes[24];
	const char *const argv[] = { "session", "take", call->sandbox, path, bytes, NULL };
	struct tool tool = { .program = call->program, .cancelled = &call->cancelled };
	owned_fd int fd = -1;
	uint64_t most;
	struct run_artifact *artifact = artifact_spool_begin(call->spool, path, &fd, &most, err);
	int done;

	if (!artifact)
		return take_failure(call, path, 0, err);
	snprintf(bytes, sizeof(bytes), "%" PRIu64, most);
	tool.output_fd = fd;
	done = tool_run(&tool, argv, NULL, err);
	if (done < 0)
		take_failure(call, path, most, err);
	return artifact_spool_end(call->spool, artifact, fd, done == 0, err);
}

/* The output of an execution. */
static int keep_output(const struct call *call, const char *execution, struct warder_error *err)
{
	if (outputs_keep_execution(call->sandbox, execution, call->spool, err) == 0)
		return 0;
	if (err->code != WARDER_ERROR_NOT_FOUND)
		return -1;
	return error_set(err, WARDER_ERROR_NOT_FOUND, "execution",
			 "sandbox %s has no execution %s, or its record was removed", call->sandbox,
			 execution);
}

static int keep_files(const struct call *call, struct warder_error *err)
{
	const char *execution = json_member_text(call->document, "execution", NULL);
	const struct json_value *paths = json_member(call->document, "paths");

	if (execution)
		return keep_output(call, execution, err);

	for (const struct json_value *path = paths->child; path; path = path->next) {
		if (atomic_load(&call->cancelled))
			return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the request was cancelled");
		if (keep_file(call, path->string, err) < 0)
			return -1;
	}
	return 0;
}

/* All of them, or none. */
static void keep_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	struct warder_error *err = &call->answer.error;

	if (keep_files(call, err) == 0) {
		call->text = artifact_spool_text(call->spool);
		if (call->text) {
			memset(err, 0, sizeof(*err));
			call->answer.status = 201;
			return;
		}
		error_no_memory(err, NULL);
	}
	call->answer.status = link_status(err->code);
	artifact_spool_drop(call->spool);
}

static void keep_finish(struct job *job, void *of)
{
	struct call *call = (struct call *)(void *)job;
	struct launcher *launcher = of;

	call_forget_run(launcher, call);
	call_take_artifacts(launcher, call, call->answer.status == 201);
	if (call->answer.status != 201)
		metrics_refused(&launcher->metrics, call->answer.status);
	call_finish_repeat(launcher, call, call->answer.status == 201);
	call_finish(job, launcher);
}

/* An id is part of the names of artifacts. */
static int check_execution(const struct json_value *document, struct warder_error *err)
{
	const char *id = json_member_text(document, "execution", "");

	if (json_member(document, "paths"))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "paths",
				 "one request takes either \"paths\" or \"execution\"; send two requests");
	return strlen(id) == REMOTE_ID_LENGTH && strspn(id, "0123456789abcdef") == REMOTE_ID_LENGTH
		   ? 0
		   : error_set(err, WARDER_ERROR_INVALID_REQUEST, "execution",
			       "\"execution\" must be the id of an execution or a context, of %d digits and "
			       "letters a to f",
			       REMOTE_ID_LENGTH);
}

static int check_paths(const struct json_value *document, struct warder_error *err)
{
	const struct json_value *paths = json_member(document, "paths");
	const size_t count = paths && paths->type == JSON_ARRAY ? json_length(paths) : 0;
	bool good = count >= 1 && count <= PATHS_MAX;

	if (json_member(document, "execution"))
		return check_execution(document, err);
	for (const struct json_value *path = good ? paths->child : NULL; path; path = path->next)
		good = good && path->type == JSON_STRING && path->string[0];
	return good
		   ? 0
		   : error_set(
			 err, WARDER_ERROR_INVALID_REQUEST, "paths",
			 "\"paths\" must be an array of 1 to %d paths of files; or give \"execution\", whose "
			 "output is stored",
			 PATHS_MAX);
}

int calls_keep(struct context *context, struct call *call, struct warder_error *err)
{
	static const char *const members[] = { "paths", "execution", "idempotencyKey", NULL };
	struct launcher *launcher = context->launcher;
	struct call_key key;
	int found;

	if (call_parse(context, call, members, err) < 0 || check_paths(call->document, err) < 0)
		return -1;
	found = call_find_repeat(context, call, &key, err);
	if (found != 0)
		return found < 0 ? -1 : 0;
	if (call_need_running(context->sandbox, call, err) < 0)
		return -1;
	call->spool = artifact_spool_new(launcher->artifacts.directory_fd, context->tenant);
	if (!call->spool)
		return error_no_memory(err, NULL);
	if (call_admit_artifacts(launcher, context->tenant, call, err) < 0 ||
	    call_begin_repeat(context, call, &key, err) < 0)
		return -1;
	call->job.kind = JOB_FILES;
	call->job.work = keep_work;
	call->job.finish = keep_finish;
	call_add_run(launcher, call);
	jobs_add(&launcher->jobs, &call->job);
	return 0;
}
