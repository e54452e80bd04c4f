/*
 * loop: the descriptors that the front waits for, and memory that lives until the end of a turn.
 */
#include <stdlib.h>
#include <sys/epoll.h>

#include "host/front/front.h"

/* ---- descriptors that are waited for ---- */

int source_add(struct front *front, struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data = { .ptr = source } };

	return epoll_ctl(front->epoll_fd, EPOLL_CTL_ADD, source->fd, &event);
}

void source_change(struct front *front, struct source *source, uint32_t events)
{
	/* The end of a connection is reported also to those who wait for nothing: once, or the loop would not rest. */
	struct epoll_event event = { .events = events ? events : EPOLLONESHOT, .data = { .ptr = source } };

	epoll_ctl(front->epoll_fd, EPOLL_CTL_MOD, source->fd, &event);
}

void source_remove(struct front *front, struct source *source)
{
	if (source->fd >= 0)
		epoll_ctl(front->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	/* Events of this turn may still name it. */
	source->ready = NULL;
}

/* ---- memory that events of this turn may still name ---- */

void front_bury(struct front *front, void *memory)
{
	*(void **)memory = front->graveyard;
	front->graveyard = memory;
}

void front_turn_done(struct front *front)
{
	while (front->graveyard) {
		void *memory = front->graveyard;

		front->graveyard = *(void **)memory;
		free(memory);
	}
}
