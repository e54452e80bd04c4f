/*
 * pass: hands one stream of a program on to a descriptor of the caller's, without ever waiting for whoever reads it. Private to jail/.
 *
 * Life: pass_open() looks at the descriptor -> pass_give() takes a chunk -> pass_step() each time that the descriptor is ready, until
 * pass_waiting() is 0 -> pass_done(). The descriptor is borrowed, and its flags stay as they are: other processes share them.
 * One thread at a time.
 */
#ifndef WARDER_JAIL_PASS_H
#define WARDER_JAIL_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PASS_CHUNK 65536

enum pass_kind { PASS_PLAIN, PASS_PIPE, PASS_SOCKET, PASS_TERMINAL };

struct pass {
	int fd;     /* borrowed */
	int own_fd; /* a terminal, opened once more without blocking; or -1 */
	int relay
	    [2]; /* a pipe of our own, where the kernel cannot write to the caller's without blocking; or -1 */
	size_t relayed; /* bytes in the relay */
	enum pass_kind kind;
	size_t len, at;  /* the chunk, and how much of it is gone */
	char *memory;    /* owned; NULL: not open */
	char *chunk;     /* PASS_CHUNK bytes in memory, which begin with a page */
	uint64_t passed; /* bytes that the descriptor took */
};

/* *ret can be given to pass_done() whatever is returned. 0; a positive errno: no memory, or `fd` is not open for writing. */
int pass_open(int fd, struct pass *ret);
void pass_done(struct pass *pass);
bool pass_is_open(const struct pass *pass);
/* Bytes that were given and that the descriptor has not taken. */
size_t pass_waiting(const struct pass *pass);
/* Where the next chunk is put, of at most PASS_CHUNK bytes; only while nothing waits. */
char *pass_room(struct pass *pass);
void pass_give(struct pass *pass, size_t len);
/* Hand on what the descriptor takes at once. 0, also if it takes nothing now; a positive errno: it takes no more. */
int pass_step(struct pass *pass);
/* The descriptor to be polled for writing. */
int pass_poll_fd(const struct pass *pass);

#endif
