/*
 * held: one buffer, whose beginning is free again when all was sent. Whoever adds pieces looks that they have an end.
 */
#include "remote/held.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

bool held_any(const struct held *held)
{
	return held->at < held->len;
}

bool held_add(struct held *held, const char *piece, size_t len)
{
	const uint32_t head = (uint32_t)len;
	const size_t needed = held->len + sizeof(head) + len;

	if (needed > held->room) {
		char *grown = realloc(held->bytes, 2 * needed);

		if (!grown)
			return false;
		held->bytes = grown;
		held->room = 2 * needed;
	}
	memcpy(held->bytes + held->len, &head, sizeof(head));
	memcpy(held->bytes + held->len + sizeof(head), piece, len);
	held->len = needed;
	return true;
}

bool held_send(struct held *held, int fd, bool waits)
{
	bool good = true;

	while (good && held_any(held)) {
		uint32_t head;

		memcpy(&head, held->bytes + held->at, sizeof(head));
		if (send(fd, held->bytes + held->at + sizeof(head), head,
			 MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT)) >= 0)
			held->at += sizeof(head) + head;
		else if (errno == EAGAIN)
			return true;
		else
			good = errno == EINTR;
	}
	held->at = held->len = 0;
	return good;
}

void held_done(struct held *held)
{
	free(held->bytes);
	*held = (struct held){ 0 };
}
