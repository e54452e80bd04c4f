#include "runtime/tool/context.h"
#include "runtime/cli/tool_context.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

int tool_context_check(const struct agent_request *asked, struct warder_error *err)
{
	if (!asked->context && asked->once)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "executeOnce",
				 "executeOnce needs a context, which records the earlier runs");
	if (!asked->context)
		return 0;
	if (!asked->invocation)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "invocation",
				 "a context needs an invocation, for which the run counts");
	if (asked->once && (context_run_at(asked->context, asked->invocation, 0) ||
			    context_errors(asked->context, asked->invocation)))
		return error_set(err, WARDER_ERROR_REJECTED, "executeOnce",
				 "the invocation has run already; begin another one");
	if (context_should_run(asked->context, asked->invocation, asked->max_attempts))
		return 0;
	return error_set(err, WARDER_ERROR_REJECTED, "context",
			 "the invocation has failed %llu times in a row, of %u attempts; begin another one",
			 (unsigned long long)context_errors(asked->context, asked->invocation),
			 asked->max_attempts);
}

static bool has_file(const struct snippet *snippet, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(snippet->files[i].path, name) == 0)
			return true;
	}
	return false;
}

/* The session's files, for the code to work on; the request's own files take their place. */
static int add_files(struct snippet *snippet, const struct context *context, struct warder_error *err)
{
	const size_t own = snippet->file_count;
	const struct context_file *file;
	struct warder_file *files = reallocarray(snippet->files, own + CONTEXT_MAX_FILES, sizeof(*files));

	if (!files)
		return error_no_memory(err, "context");
	snippet->files = files;
	for (size_t i = 0; (file = context_file_at(context, i)) != NULL; i++) {
		char *bytes;

		if (has_file(snippet, own, file->name))
			continue;
		bytes = malloc(file->content.len + 1);
		if (!bytes)
			return error_no_memory(err, "context");
		memcpy(bytes, file->content.at, file->content.len);
		files[snippet->file_count++] =
		    (struct warder_file){ .path = file->name, .bytes = bytes, .len = file->content.len };
	}
	return 0;
}

int tool_context_begin(struct agent_request *asked, struct warder_error *err)
{
	const struct snippet *snippet = &asked->snippet;

	if (!asked->context)
		return 0;
	for (size_t i = 0; i < snippet->file_count; i++) {
		if (context_add_processed(asked->context, snippet->files[i].path, err) != 0)
			return -1;
	}
	return add_files(&asked->snippet, asked->context, err);
}

static struct span output(const struct warder_result *result, enum warder_stream stream, bool *truncated)
{
	struct span text = { 0 };
	uint64_t total = 0;

	text.at = warder_result_output(result, stream, &text.len, &total);
	*truncated |= total > text.len;
	return text;
}

int tool_context_end(struct agent_request *asked, const struct warder_result *result,
		     struct warder_error *err)
{
	struct context_run run = {
		.code = { asked->snippet.code, asked->snippet.code_len },
		.failed = strcmp(warder_result_status(result), "success") != 0,
		.time_ms = clock_wall_ms(),
	};

	run.out = output(result, WARDER_STDOUT, &run.truncated);
	run.err = output(result, WARDER_STDERR, &run.truncated);
	return asked->context ? context_record(asked->context, asked->invocation, &run, err) : 0;
}
