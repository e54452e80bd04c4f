/*
 * The records that the agent sends to a caller. They wait in the memory of the caller until its connection takes them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "host/agent/agent.h"

static void give_up(struct caller *caller)
{
	caller->over = true;
	caller->out_at = caller->out_len = 0;
}

static bool make_room(struct caller *caller, size_t len)
{
	size_t size = caller->out_size ? caller->out_size : 512;
	char *grown;

	if (caller->out_at) {
		memmove(caller->out, caller->out + caller->out_at, caller->out_len - caller->out_at);
		caller->out_len -= caller->out_at;
		caller->out_at = 0;
	}
	while (size < caller->out_len + len)
		size *= 2;
	if (size <= caller->out_size)
		return true;
	grown = realloc(caller->out, size);
	if (!grown)
		return false;
	caller->out = grown;
	caller->out_size = size;
	return true;
}

bool say(struct caller *caller, enum agent_say type, const void *head, size_t head_len, const void *body,
	 size_t len)
{
	const struct agent_head first = { .type = type, .len = (uint32_t)(head_len + len) };

	if (caller->over)
		return false;
	if (!make_room(caller, sizeof(first) + first.len)) {
		give_up(caller);
		return false;
	}
	memcpy(caller->out + caller->out_len, &first, sizeof(first));
	caller->out_len += sizeof(first);
	if (head_len)
		memcpy(caller->out + caller->out_len, head, head_len);
	caller->out_len += head_len;
	if (len)
		memcpy(caller->out + caller->out_len, body, len);
	caller->out_len += len;
	return true;
}

void say_end(struct caller *caller)
{
	say(caller, AGENT_END, NULL, 0, NULL, 0);
	caller->over = true;
}

void say_failed(struct caller *caller, enum agent_status status, const char *text)
{
	const struct agent_failed failed = { .status = status };

	say(caller, AGENT_FAILED, &failed, sizeof(failed), text, strlen(text));
	caller->over = true;
}

void say_errno(struct caller *caller, int error)
{
	static const struct {
		int error;
		enum agent_status status;
	} known[] = {
		{ ENOENT, AGENT_NOT_FOUND }, { ENOTDIR, AGENT_NOT_DIRECTORY }, { EACCES, AGENT_DENIED },
		{ EPERM, AGENT_DENIED },     { EISDIR, AGENT_IS_DIRECTORY },   { EMFILE, AGENT_TOO_MANY },
		{ ENOSPC, AGENT_TOO_MANY },
	};
	enum agent_status status = AGENT_OTHER;

	for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
		if (known[i].error == error)
			status = known[i].status;
	say_failed(caller, status, strerror(error));
}
