/*
 * How a session ended, for those who were executing in it. The keeper says it over each of their connections, before it takes anything down
 * where the end is its own doing, and afterwards where the jail ended by itself. One that was killed says nothing; then the kernel closes
 * the connection. So whoever finds the session dead has one or the other to read here, and soon.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "runtime/session/session.h"

#define MAGIC 0x45445257u

/* In order of enum session_end: the name in a result, and what happened. The rows of warder-session(1) say the same. */
static const struct row {
	const char *name, *text;
} rows[SESSION_END_COUNT] = {
	[SESSION_END_NONE] = { "unknown", "the session has ended" },
	[SESSION_END_STOPPED] = { "stopped", "the session was stopped" },
	[SESSION_END_LIFETIME] = { "lifetime", "the session's lifetime was over" },
	[SESSION_END_SIGNAL] = { "keeperEnded", "the session's keeper was ended by a signal" },
	[SESSION_END_INIT] = { "initDied", "the session's init was killed from outside" },
	[SESSION_END_KEEPER] = { "keeperDied", "the session's keeper died" },
};

/* Said on a connection by which somebody has joined. */
struct word {
	uint32_t magic, end;
};

const char *session_end_name(enum session_end end)
{
	return rows[end].name;
}

const char *session_end_text(enum session_end end)
{
	return rows[end].text;
}

int session_not_started(enum session_end end, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "name",
			 "the program was not started: %s; start it again", session_end_text(end));
}

void session_tell_end(int fd, enum session_end end)
{
	const struct word word = { MAGIC, end };

	/* Who does not take it has gone. */
	if (send(fd, &word, sizeof(word), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

enum session_end session_hear_end(int fd, int wait_ms)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct word word = { 0 };
	ssize_t n;

	if (poll(&ready, 1, wait_ms) <= 0)
		return SESSION_END_NONE;
	/* It stays for others who execute by the same connection. */
	n = recv(fd, &word, sizeof(word), MSG_PEEK | MSG_DONTWAIT);
	if (n != sizeof(word))
		return SESSION_END_KEEPER;
	return word.magic == MAGIC && word.end < SESSION_END_COUNT ? (enum session_end)word.end
								   : SESSION_END_NONE;
}
