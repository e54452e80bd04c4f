/*
 * envd_agent: what the calls have in common that the agent of a sandbox answers.
 *
 * The keeper hands out the connection, and is not needed any more then. An agent that ends before it has answered anything is asked once more: the
 * keeper starts it again, or says why it cannot.
 */
#include <string.h>

#include "base/array.h"
#include "base/fd.h"
#include "host/front/envd.h"

static const struct {
	enum agent_status status;
	enum connect_code code;
	const char *text;
} statuses[] = {
	{ AGENT_NOT_FOUND, CONNECT_NOT_FOUND, "there is no such file or directory" },
	{ AGENT_IS_DIRECTORY, CONNECT_INVALID_ARGUMENT, "the path is a directory" },
	{ AGENT_NOT_REGULAR, CONNECT_INVALID_ARGUMENT, "the path is not a regular file" },
	{ AGENT_DENIED, CONNECT_PERMISSION_DENIED, "the sandbox's user may not open it" },
	{ AGENT_EXISTS, CONNECT_ALREADY_EXISTS, "the path exists" },
	{ AGENT_NOT_DIRECTORY, CONNECT_INVALID_ARGUMENT, "the path is not a directory" },
	{ AGENT_NO_WATCHER, CONNECT_NOT_FOUND,
	  "there is no such watcher, or it has ended; a watcher ends with the sandbox's agent" },
	{ AGENT_TOO_MANY, CONNECT_FAILED_PRECONDITION,
	  "a sandbox has at most 64 watchers, which watch at most 1,024 directories together, in trees of at "
	  "most "
	  "128 levels" },
	{ AGENT_LOST, CONNECT_DATA_LOSS,
	  "changes came faster than they were read, and some are lost; the watcher has ended" },
};

bool visit_fail_as(struct visit *visit, unsigned int status)
{
	for (size_t i = 0; i < ARRAY_LENGTH(statuses); i++) {
		if (statuses[i].status != status)
			continue;
		visit_fail(visit, statuses[i].code, statuses[i].text);
		return true;
	}
	return false;
}

static void fail_as_said(struct visit *visit, const char *body)
{
	struct agent_failed failed;
	const char *text = body + sizeof(failed);

	memcpy(&failed, body, sizeof(failed));
	if (!visit_fail_as(visit, failed.status))
		visit_fail(visit, CONNECT_UNKNOWN, *text ? text : "the sandbox's agent failed");
}

static void said(void *of, enum agent_say type, const char *body, size_t len)
{
	struct visit *visit = of;

	visit->heard = true;
	if (type == AGENT_FAILED)
		fail_as_said(visit, body);
	else
		visit->said(visit, type, body, len);
}

/* For visit.begin. */
static void begin_agent(struct visit *visit)
{
	struct warder_error err = { 0 };

	if (channel_ask(visit->channel, RECORD_AGENT, 0, &err) < 0)
		visit_error(visit, &err);
}

static void lost(void *of)
{
	struct visit *visit = of;

	if (visit->over)
		return;
	agent_link_free(visit->agent);
	visit->agent = NULL;
	if (!visit->heard && !visit->again) {
		visit->again = true;
		visit->begin = begin_agent;
		visit_open(visit);
	} else {
		visit_fail(visit, CONNECT_UNAVAILABLE,
			   "the sandbox's agent has ended, and was not asked again");
	}
}

void visit_take_agent(void *of, int *fd)
{
	static const struct agent_events events = { .said = said, .lost = lost };
	struct visit *visit = of;

	visit->agent =
	    agent_link_new(visit->x->front, fd_take(fd), &visit->ask, visit->ask_text, &events, visit);
	channel_free(visit->channel);
	visit->channel = NULL;
	if (!visit->agent)
		visit_fail(visit, CONNECT_UNAVAILABLE, "the sandbox's agent cannot be reached; try again");
}

void visit_ask_agent(struct visit *visit, enum agent_call call, uint32_t flags, uint32_t depth,
		     const char *text)
{
	visit->ask = (struct agent_request){ .magic = AGENT_MAGIC,
					     .call = call,
					     .flags = flags,
					     .depth = depth,
					     .len = (uint32_t)strlen(text) };
	visit->ask_text = text;
	if (strlen(text) >= AGENT_PATH_MAX) {
		visit_fail(visit, CONNECT_INVALID_ARGUMENT, "path: longer than 4,095 bytes");
	} else if (visit->channel) {
		begin_agent(visit);
	} else {
		visit->begin = begin_agent;
		visit->uses_agent = true;
		visit_open(visit);
	}
}

/* ---- entries ---- */

/* The next text, which ends with a NUL before `end`; NULL: there is none. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at;
	const char *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;

	if (nul)
		*at = nul + 1;
	return nul ? text : NULL;
}

bool agent_take_entry(const char *body, size_t len, struct filesystem_entry *ret)
{
	const char *at = body + sizeof(struct agent_entry);
	const char *end = body + len;
	struct agent_entry entry;
	const char *texts[4];

	if (len < sizeof(entry))
		return false;
	memcpy(&entry, body, sizeof(entry));
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		texts[i] = next_text(&at, end);
		if (!texts[i])
			return false;
	}
	*ret = (struct filesystem_entry){
		.path = texts[0],
		.type = entry.type == AGENT_TYPE_FILE        ? FILESYSTEM_FILE
			: entry.type == AGENT_TYPE_DIRECTORY ? FILESYSTEM_DIRECTORY
							     : FILESYSTEM_OTHER,
		.size = entry.size,
		.mode = entry.mode,
		.owner = texts[1],
		.group = texts[2],
		.modified_s = entry.modified_s,
		.modified_ns = entry.modified_ns,
		.link = entry.is_link ? texts[3] : NULL,
	};
	return true;
}

bool agent_take_event(const char *body, size_t len, enum filesystem_event *ret_event, const char **ret_name,
		      struct filesystem_entry *ret_entry, bool *ret_has_entry)
{
	static const enum filesystem_event changes[AGENT_CHANGES] = {
		[AGENT_CREATED] = FILESYSTEM_CREATED, [AGENT_WRITTEN] = FILESYSTEM_WRITTEN,
		[AGENT_REMOVED] = FILESYSTEM_REMOVED, [AGENT_RENAMED] = FILESYSTEM_RENAMED,
		[AGENT_MODE] = FILESYSTEM_MODE,
	};
	const char *at = body + sizeof(struct agent_event);
	struct agent_event event;

	memcpy(&event, body, sizeof(event));
	*ret_name = next_text(&at, body + len);
	if (!*ret_name || event.change >= AGENT_CHANGES)
		return false;
	*ret_event = changes[event.change];
	*ret_has_entry = event.has_entry == 1;
	return !*ret_has_entry || agent_take_entry(at, (size_t)(body + len - at), ret_entry);
}
