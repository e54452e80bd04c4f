/*
 * The agent's callers. Descriptor 4 brings them: each message has one connection. The end of that channel is the end of the agent.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/agent/agent.h"

#define CHANNEL_FD  4
#define CALLERS_MAX 64

static struct caller *callers;
static size_t caller_count;

/* ---- what is asked ---- */

/* A relative path, and one with ~, begins in the home of the sandbox's user. A final '/' is taken away. False: it is too long. */
static bool resolve(struct caller *caller)
{
	const char *home = getenv("HOME");
	const char *path = caller->path;
	char whole[2 * AGENT_PATH_MAX];
	int len;

	if (strcmp(path, "~") == 0)
		path = "";
	else if (strncmp(path, "~/", 2) == 0)
		path += 2;
	if (*path == '/' && path == caller->path)
		len = snprintf(whole, sizeof(whole), "%s", path);
	else
		len = snprintf(whole, sizeof(whole), "%s/%s", home && *home == '/' ? home : "", path);
	if (len < 0 || len >= (int)AGENT_PATH_MAX)
		return false;
	while (len > 1 && whole[len - 1] == '/')
		whole[--len] = '\0';
	free(caller->path);
	caller->path = strdup(whole);
	return caller->path != NULL;
}

static void begin(struct caller *caller)
{
	static void (*const calls[AGENT_CALLS])(struct caller * caller) = {
		[AGENT_STAT] = files_stat,         [AGENT_LIST] = files_list,
		[AGENT_READ] = files_read,         [AGENT_SPACE] = files_space,
		[AGENT_WATCH] = watch_begin,       [AGENT_WATCHER_NEW] = watch_new,
		[AGENT_WATCHER_READ] = watch_read, [AGENT_WATCHER_END] = watch_end,
		[AGENT_PORT] = port_begin,
	};
	const uint32_t call = caller->request.call;

	caller->begun = true;
	if (strlen(caller->path) != caller->request.len)
		say_failed(caller, AGENT_OTHER, "the path has a NUL");
	else if (call < AGENT_WATCHER_READ && !resolve(caller))
		say_failed(caller, AGENT_OTHER, "the path is too long");
	else
		calls[call](caller);
}

static bool is_valid(const struct agent_request *request)
{
	return request->magic == AGENT_MAGIC && request->call >= AGENT_STAT && request->call < AGENT_CALLS &&
	       request->len <= AGENT_PATH_MAX;
}

/* More of the request. False: the caller is gone. */
static bool take(struct caller *caller)
{
	const size_t head = sizeof(caller->request);
	char *to = (char *)&caller->request + caller->got;
	size_t room = head - caller->got;
	ssize_t n;

	if (caller->got >= head) {
		to = caller->path + (caller->got - head);
		room = caller->request.len - (caller->got - head);
	}
	n = room ? recv(caller->fd, to, room, MSG_DONTWAIT) : 0;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0 && room)
		return false;
	caller->got += (size_t)n;
	if (caller->got == head && !caller->path) {
		if (!is_valid(&caller->request))
			return false;
		caller->path = calloc(1, caller->request.len + 1);
		if (!caller->path)
			return false;
	}
	if (caller->got >= head && caller->got == head + caller->request.len)
		begin(caller);
	return true;
}

/* ---- callers ---- */

static void caller_free(struct caller *caller)
{
	files_done(caller);
	watch_done(caller);
	port_done(caller);
	fd_done(&caller->fd);
	free(caller->path);
	free(caller->out);
	free(caller);
	caller_count--;
}

static void add_caller(int fd)
{
	struct caller *caller = caller_count < CALLERS_MAX ? calloc(1, sizeof(*caller)) : NULL;

	if (!caller) {
		close(fd);
		return;
	}
	port_limit_buffers(fd);
	*caller = (struct caller){ .next = callers, .fd = fd, .file_fd = -1 };
	callers = caller;
	caller_count++;
}

/* False: the channel has ended. */
static bool take_callers(void)
{
	for (;;) {
		char byte;
		int fd;
		const ssize_t n = fd_receive(CHANNEL_FD, &byte, 1, &fd, 1, MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR || errno == EMFILE || errno == EMSGSIZE;
		if (n == 0)
			return false;
		if (fd >= 0)
			add_caller(fd);
	}
}

/* False: the caller is gone, or has got everything. */
static bool push(struct caller *caller)
{
	for (;;) {
		const size_t left = caller->out_len - caller->out_at;
		ssize_t n;

		if (!left && caller->over)
			return false;
		if (!left)
			files_more(caller);
		if (caller->out_len == caller->out_at)
			return !caller->over;
		n = send(caller->fd, caller->out + caller->out_at, caller->out_len - caller->out_at,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		caller->out_at += (size_t)n;
		if (caller->out_at == caller->out_len)
			caller->out_at = caller->out_len = 0;
	}
}

static bool serve(struct caller *caller, const struct pollfd *fds)
{
	const short events = fds[0].revents;
	char byte;

	if (caller->port) {
		return port_serve(caller, events, fds[1].revents);
	} else if (caller->begun) {
		if ((events & (POLLHUP | POLLERR)) ||
		    ((events & POLLIN) && recv(caller->fd, &byte, 1, MSG_DONTWAIT) == 0))
			return false;
	} else if (events && !take(caller)) {
		return false;
	}
	return !caller->begun || push(caller);
}

/* How many it waits for: poll(2) takes no more than the process may open. */
static size_t fds_of(const struct caller *caller)
{
	return caller->port ? 2 : 1;
}

static void wait_for(const struct caller *caller, struct pollfd *ret)
{
	ret[0] = (struct pollfd){
		.fd = caller->fd,
		.events = (short)(POLLIN | (caller->out_len > caller->out_at ? POLLOUT : 0)),
	};
	if (caller->port)
		port_wait(caller, &ret[0], &ret[1]);
}

int main(void)
{
	struct pollfd fds[2 + 2 * CALLERS_MAX]; /* the callers, each with its server */
	const int watch_fd = watch_open();

	close(0);
	for (;;) {
		size_t count = 0;

		fds[0] = (struct pollfd){ .fd = CHANNEL_FD, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = watch_fd, .events = POLLIN };
		for (struct caller *caller = callers; caller; count += fds_of(caller), caller = caller->next)
			wait_for(caller, &fds[2 + count]);
		if (poll(fds, 2 + count, -1) < 0)
			continue;
		/* First, so that an event that a caller waits for is there when it is served. */
		if (fds[1].revents)
			watch_take();
		count = 0;
		for (struct caller **at = &callers; *at;) {
			struct caller *caller = *at;
			const struct pollfd *own = &fds[2 + count];
			bool goes_on;

			count += fds_of(caller);
			goes_on = serve(caller, own);
			if (goes_on) {
				at = &caller->next;
			} else {
				*at = caller->next;
				caller_free(caller);
			}
		}
		if (fds[0].revents && !take_callers())
			return 0;
	}
}
