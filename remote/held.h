/*
 * held: pieces for a packet socket that does not take them now. Private to remote/.
 *
 * Life: zeroed -> held_add(), held_send() -> held_done().
 */
#ifndef WARDER_REMOTE_HELD_H
#define WARDER_REMOTE_HELD_H

#include <stdbool.h>
#include <stddef.h>

struct held {
	char *bytes; /* owned: each piece behind its length */
	size_t at, len, room;
};

bool held_any(const struct held *held);
/* Append a piece of up to 4 GiB. False without memory. */
bool held_add(struct held *held, const char *piece, size_t len);
/* Send what the socket takes now, or, if `waits`, all. False: the other end is gone, and nothing is held any more. */
bool held_send(struct held *held, int fd, bool waits);
void held_done(struct held *held);

#endif
