/*
 * input: the program's standard input, on its way from the caller into a pipe. Private to jail/.
 *
 * From a pipe, a regular file or a stream socket exactly the bytes are consumed that the program reads: they are looked at first, and
 * taken from the source when they have left the program's pipe. From a terminal or another device they are read as they come.
 *
 * Life: input_open() -> in a poll loop input_poll(), input_timeout_ms(), input_step() -> when nobody in the jail reads any more
 * input_settle() -> input_done(). The source is borrowed and stays open; its flags are not changed. One thread at a time.
 */
#ifndef WARDER_JAIL_INPUT_H
#define WARDER_JAIL_INPUT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jail/poller.h"

enum input_kind {
	INPUT_NONE,   /* nothing is fed */
	INPUT_DATA,   /* the caller's bytes */
	INPUT_CALL,   /* a function of the caller's writes them */
	INPUT_READ,   /* read as it comes */
	INPUT_FILE,   /* read at an offset of ours; the file's own is set at the end */
	INPUT_PIPE,   /* tee(2), then consumed */
	INPUT_SOCKET, /* MSG_PEEK, then consumed */
};

/* Where the bytes come from: `data`, else `call`, else `fd`. All borrowed until input_done(). */
struct input_source {
	const char *data; /* or NULL */
	size_t len;
	/* Writes up to `size` bytes and returns their number; 0: none until input_ready(); -1: the end. Or NULL. */
	long (*call)(void *context, char *bytes, size_t size);
	void *context;
	int fd;
};

struct input {
	enum input_kind kind;
	int source_fd;                                         /* borrowed */
	long (*call)(void *context, char *bytes, size_t size); /* of INPUT_CALL */
	void *context;
	bool ready;            /* of INPUT_CALL: it may have bytes */
	int *to_fd;            /* our end of the program's pipe, owned by the run */
	struct poller *poller; /* that may wait for it; or NULL. Set by the owner after input_open() */
	int from_fd; /* its other end, by which the bytes in it are counted when ours is closed; owned, or -1 */
	int event_fd;      /* epoll: the source has more than it had; owned, or -1 */
	int scratch[2];    /* of INPUT_PIPE: where the source's bytes are looked at; owned, or -1 */
	int null_fd;       /* owned, or -1 */
	char *memory;      /* owned; or NULL */
	char *buffer;      /* in memory; begins with a page */
	const char *bytes; /* what is being written */
	size_t len, at;
	uint64_t offset;      /* of INPUT_FILE: where it stood */
	uint64_t consumed;    /* bytes, of what is looked at */
	int narrow_bytes;     /* the size that the source's pipe had; 0: it still has it */
	bool wide;            /* its pipe was made larger, or could not be */
	uint64_t fed;         /* bytes that were put into the program's pipe and were not consumed */
	int last_unread;      /* bytes in the program's pipe, when its end for writing was closed */
	unsigned int idle_ms; /* how long nothing has moved, while bytes lie in the pipe */
	bool full;            /* the program's pipe is */
	bool ended;           /* the source is at its end */
};

/* Prepare to feed `source` into a pipe. *to_fd is its end for writing, which does not block; it is closed when all input is in the pipe.
 * input_done() may be called whatever is returned. 0; -1 with errno. */
int input_open(struct input *ret, const struct input_source *source, int *to_fd);
/* Of INPUT_CALL: its function has bytes again. */
void input_ready(struct input *input);
/* What to wait for; their fd may be -1. */
void input_poll(const struct input *input, struct pollfd *to, struct pollfd *source);
/* The longest time to wait, or -1. */
int input_timeout_ms(const struct input *input);
/* Move what can be moved. NULL, or what failed. */
const char *input_step(struct input *input, const struct pollfd *to, const struct pollfd *source);
/* The program has closed its input, or has all of it: nothing more is done with the source. */
bool input_is_over(const struct input *input);
/* The program reads no more: consume what it has read. */
void input_settle(struct input *input);
void input_done(struct input *input);

#endif
