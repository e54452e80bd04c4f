/*
 * A message of the Model Context Protocol about a sandbox: `warder mcp --session` gets it on its standard input, in a process of its own.
 *
 * That process knows nothing of the messages before. So it gets an initialization first, with an id that no client can know, and the answer to
 * that is left out.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "host/launcher/call.h"
#include "host/launcher/tool.h"
#include "runtime/mcp/message.h"

#define ANSWER_MAX 80

/* The line that begins the conversation, and how the line of its answer begins. version MCP_VERSIONS: the client's message does that. */
struct opening {
	char line[3 * ANSWER_MAX], answer[ANSWER_MAX];
};

static int make_opening(uint64_t version, struct opening *ret, struct warder_error *err)
{
	uint64_t number[2];

	*ret = (struct opening){ 0 };
	if (version >= MCP_VERSIONS)
		return 0;
	if (getrandom(number, sizeof(number), 0) != sizeof(number))
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no random number");
	snprintf(ret->answer, sizeof(ret->answer), "{\"jsonrpc\":\"2.0\",\"id\":\"%016llx%016llx\",",
		 (unsigned long long)number[0], (unsigned long long)number[1]);
	snprintf(ret->line, sizeof(ret->line),
		 "%s\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\"}}\n", ret->answer,
		 mcp_version_name((enum mcp_version)version));
	return 0;
}

/* Leave out the answer to the opening, and the end of the line. */
static void drop_opening(const struct opening *opening, char *text)
{
	const size_t len = strlen(opening->answer);
	char *line = text;

	while (len && *line && strncmp(line, opening->answer, len) != 0) {
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	if (len && *line) {
		char *rest = line + strcspn(line, "\n");

		rest += *rest == '\n';
		memmove(line, rest, strlen(rest) + 1);
	}
	for (size_t end = strlen(text); end && text[end - 1] == '\n';)
		text[--end] = '\0';
}

static int serve(struct call *call, struct warder_error *err)
{
	const char *const argv[] = { "mcp", "--no-config", "--session", call->sandbox, NULL };
	owned_fd int input_fd = memfd_create("messages", MFD_CLOEXEC);
	const struct tool tool = { .program = call->program,
				   .hold_fd = input_fd,
				   .input_fd = input_fd,
				   .cancelled = &call->cancelled };
	struct opening opening;

	if (atomic_load(&call->cancelled)) /* while it waited */
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the call was cancelled");
	if (make_opening(call->mcp_version, &opening, err) < 0)
		return -1;
	if (input_fd < 0 || file_write_all(input_fd, opening.line, strlen(opening.line)) != 0 ||
	    file_write_all(input_fd, call->request, call->request_len) != 0 ||
	    file_write_all(input_fd, "\n", 1) != 0 || lseek(input_fd, 0, SEEK_SET) != 0)
		return error_no_memory(err, NULL);
	if (tool_run(&tool, argv, &call->text, err) != 0)
		return -1;
	drop_opening(&opening, call->text);
	return 0;
}

static void mcp_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	struct warder_error *err = &call->answer.error;

	if (serve(call, err) == 0)
		call->answer.status = *call->text ? 200 : 204;
	else
		call->answer.status = link_status(err->code);
}

static void mcp_finish(struct job *job, void *of)
{
	struct call *call = (struct call *)(void *)job;
	struct launcher *launcher = of;
	struct sandbox *sandbox = sandboxes_find(&launcher->sandboxes, call->sandbox);

	call_forget_run(launcher, call);
	/* If the client is gone, nobody knows the sandbox that was made for the session. */
	if (sandbox && call->mcp_version >= MCP_VERSIONS)
		sandbox->claim_ms = clock_wall_ms() + SANDBOX_CLAIM_MS;
	if (call->answer.status >= 400)
		metrics_refused(&launcher->metrics, call->answer.status);
	call_finish(job, launcher);
}

int calls_mcp(struct context *context, struct call *call, struct warder_error *err)
{
	struct launcher *launcher = context->launcher;

	if (context->sandbox->paused_ms)
		return error_set(err, WARDER_ERROR_CONFLICT, "id", "sandbox %s is paused; resume it first",
				 context->sandbox->id);
	if (call_need_running(context->sandbox, call, err) < 0)
		return -1;
	if (!context->text || memchr(context->text, '\n', context->len))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "a message is one line");
	if (call_count_launch(launcher, context->tenant, call, err) < 0)
		return -1;
	call->mcp_version = context->request->value;
	call->request = malloc(context->len);
	if (!call->request)
		return error_no_memory(err, NULL);
	memcpy(call->request, context->text, context->len);
	call->request_len = context->len;
	call->job.work = mcp_work;
	call->job.finish = mcp_finish;
	call->job.kind = JOB_PROGRAM;
	call_add_run(launcher, call);
	jobs_add(&launcher->jobs, &call->job);
	return 0;
}
