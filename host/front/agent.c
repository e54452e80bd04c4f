/*
 * agent: the front's end of a call to a sandbox's agent (host/agent.h). Whatever comes is checked here for its form, and nothing of it is
 * believed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "host/front/front.h"

#define RECORDS_AT_A_TIME 64

struct agent_link {
	struct agent_link *buried; /* front_bury() */
	struct source source;
	struct front *front;
	const struct agent_events *events;
	void *owner;
	struct agent_head head;
	size_t got; /* bytes of the record that is not whole yet */
	char *body; /* owned: its own, with a final NUL that is not counted */
	bool freed, held;
};

static bool is_valid(const struct agent_head *head)
{
	static const struct {
		size_t least, most;
	} sizes[AGENT_SAYS] = {
		[AGENT_ENTRY] = { sizeof(struct agent_entry), AGENT_BODY_MAX },
		[AGENT_SIZE] = { sizeof(uint64_t), sizeof(uint64_t) },
		[AGENT_BYTES] = { 1, AGENT_BODY_MAX },
		[AGENT_NAME] = { 1, 64 },
		[AGENT_EVENT] = { sizeof(struct agent_event), AGENT_BODY_MAX },
		[AGENT_SPACE_LEFT] = { sizeof(struct agent_space), sizeof(struct agent_space) },
		[AGENT_FAILED] = { sizeof(struct agent_failed), 512 },
	};

	return head->type >= AGENT_ENTRY && head->type < AGENT_SAYS && head->len >= sizes[head->type].least &&
	       head->len <= sizes[head->type].most;
}

static void lose(struct agent_link *link)
{
	source_remove(link->front, &link->source);
	fd_done(&link->source.fd);
	link->events->lost(link->owner);
}

/* 1: a record is whole; 0: nothing more has come; -1: it is gone, or what came is no record. */
static int take(struct agent_link *link)
{
	const size_t head = sizeof(link->head);

	for (;;) {
		const size_t whole = link->body ? head + link->head.len : head;
		ssize_t n;

		if (link->got == head && !link->body) {
			if (!is_valid(&link->head))
				return -1;
			link->body = malloc(link->head.len + 1);
			if (!link->body)
				return -1;
			link->body[link->head.len] = '\0';
			continue;
		}
		if (link->got == whole)
			return 1;
		n = recv(link->source.fd,
			 link->body ? link->body + (link->got - head) : (char *)&link->head + link->got,
			 whole - link->got, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			return -1;
		link->got += (size_t)n;
	}
}

static void link_ready(struct source *source, uint32_t events)
{
	struct agent_link *link =
	    (struct agent_link *)(void *)((char *)source - offsetof(struct agent_link, source));

	for (int i = 0; i < RECORDS_AT_A_TIME && !link->freed && !link->held && source->fd >= 0; i++) {
		const int taken = take(link);
		char *body = link->body;

		if (taken == 0)
			return;
		if (taken < 0) {
			lose(link);
			return;
		}
		link->body = NULL;
		link->got = 0;
		link->events->said(link->owner, (enum agent_say)link->head.type, body, link->head.len);
		free(body);
	}
}

struct agent_link *agent_link_new(struct front *front, int fd, const struct agent_request *request,
				  const char *text, const struct agent_events *events, void *owner)
{
	char message[sizeof(*request) + AGENT_PATH_MAX];
	const size_t len = sizeof(*request) + request->len;
	struct agent_link *link = calloc(1, sizeof(*link));

	if (!link) {
		fd_done(&fd);
		return NULL;
	}
	link->front = front;
	link->events = events;
	link->owner = owner;
	link->source = (struct source){ .fd = fd, .ready = link_ready };
	memcpy(message, request, sizeof(*request));
	memcpy(message + sizeof(*request), text, request->len);
	/* An empty socket has room for it. */
	if (send(fd, message, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len ||
	    source_add(front, &link->source, EPOLLIN) < 0) {
		fd_done(&link->source.fd);
		free(link);
		return NULL;
	}
	return link;
}

void agent_link_free(struct agent_link *link)
{
	if (!link)
		return;
	link->freed = true;
	source_remove(link->front, &link->source);
	fd_done(&link->source.fd);
	free(link->body);
	link->body = NULL;
	front_bury(link->front, link);
}

void agent_link_hold(struct agent_link *link, bool hold)
{
	if (link->held == hold || link->source.fd < 0)
		return;
	link->held = hold;
	source_change(link->front, &link->source, hold ? 0 : EPOLLIN);
}
