/*
 * agent: the program that looks at the files of a sandbox for clients outside. It runs in the sandbox, as an execution with few resources of
 * its own; its messages are those of host/agent.h. Private to host/agent/.
 *
 *   main.c    the callers, and what they ask     files.c   entries, lists, bytes     watch.c   changes
 *   port.c    connections to servers in the sandbox
 *
 * One thread. It opens nothing for writing, and never waits for a caller: what a caller has not taken yet is at most OUT_MAX bytes, and then
 * the next part is not made, or, where events are lost by that, the watch ends with a word about it.
 */
#ifndef WARDER_HOST_AGENT_AGENT_H
#define WARDER_HOST_AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>

#include "host/agent.h"

#define OUT_MAX (64u * 1024)

struct caller;
struct listing;
struct port;
struct watcher;

/* A connection, with the one call that is made on it. */
struct caller {
	struct caller *next;
	int fd;
	struct agent_request request;
	size_t got; /* bytes of the request and of its path */
	char *path; /* owned: as it was sent; then absolute */
	char *out;  /* owned: records that it has not taken yet */
	size_t out_at, out_len, out_size;
	int file_fd; /* of READ; or -1 */
	uint64_t left;
	struct listing *listing; /* of LIST; or NULL. Owned */
	struct watcher *watcher; /* of WATCH; or NULL. Owned */
	struct port *port;       /* of PORT; or NULL. Owned */
	bool begun, over;        /* over: it is closed when it has taken everything */
};

/* ---- say.c ---- */

/* Add a record of two parts. False: no memory is left, and the caller will be closed without an END. */
bool say(struct caller *caller, enum agent_say type, const void *head, size_t head_len, const void *body,
	 size_t len);
void say_end(struct caller *caller);
/* For an errno. */
void say_errno(struct caller *caller, int error);
void say_failed(struct caller *caller, enum agent_status status, const char *text);

/* ---- files.c ---- */

/* The record of a file. Returns its bytes, at most `size`; 0 with errno: it is not there, or does not fit. */
size_t entry_write(const char *path, char *to, size_t size);
void files_stat(struct caller *caller);
void files_read(struct caller *caller);
void files_space(struct caller *caller);
void files_list(struct caller *caller);
/* More of READ or LIST. */
void files_more(struct caller *caller);
void files_done(struct caller *caller);

/* ---- watch.c ---- */

/* A descriptor that can be read when something has happened; -1 with errno. */
int watch_open(void);
/* Read it. */
void watch_take(void);
void watch_begin(struct caller *caller);
void watch_new(struct caller *caller);
void watch_read(struct caller *caller);
void watch_end(struct caller *caller);
void watch_done(struct caller *caller);

/* ---- port.c ---- */

struct pollfd;

/* Let the kernel keep few bytes of a caller's connection: they count for the memory of the agent. */
void port_limit_buffers(int fd);
void port_begin(struct caller *caller);
/* What to wait for: the caller, and the server. Only if caller->port. */
void port_wait(const struct caller *caller, struct pollfd *ret_caller, struct pollfd *ret_server);
/* Pass bytes on. False: the connection is over. */
bool port_serve(struct caller *caller, short events, short server_events);
void port_done(struct caller *caller);

#endif
