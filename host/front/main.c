/*
 * main: warder-front. The launcher starts it in a jail, with the link as descriptor 4; its first message brings the socket that listens.
 */
#include "host/front/front.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/front/server.h"

#define EVENTS_MAX 64
#define TURN_MS    1000

/* ---- the launcher ---- */

static void take_offer(struct front *front, const struct asking_offer *offer)
{
	char *end = memchr(offer->text, '\0', offer->len);
	const bool taken = end && server_change(front, offer->text, end + 1) == 0;
	const struct link_request request = { .magic = LINK_MAGIC,
					      .size = sizeof(request),
					      .call = LINK_CERTIFICATE,
					      .number = offer->number,
					      .value = taken };

	if (!taken) {
		explicit_bzero(offer->text, offer->len);
		free(offer->text);
	}
	fd_send(front->link_fd, &request, sizeof(request), NULL, 0, 0);
}

static void link_ready(struct source *source, uint32_t events)
{
	struct front *front = (struct front *)(void *)((char *)source - offsetof(struct front, link));
	struct asking_offer offer = { 0 };

	if (!asking_take(front, &offer))
		front->ending = true;
	if (offer.text)
		take_offer(front, &offer);
}

/* Read the certificate, a NUL, and its key from fd. */
static int take_certificate(struct front *front, int fd)
{
	struct warder_error ignored;
	owned_fd int file_fd = fd;
	const size_t len = front->welcome.certificate_bytes;
	char *end;

	if (!len)
		return 0;
	if (record_read_file(file_fd, len, &front->certificate, &ignored) < 0)
		return -1;
	end = memchr(front->certificate, '\0', len);
	front->private_key = end ? end + 1 : NULL;
	return end ? 0 : -1;
}

static int take_welcome(struct front *front, int *ret_listen_fd)
{
	int fds[LINK_FDS];
	const ssize_t n = fd_receive(LINK_FD, &front->welcome, sizeof(front->welcome), fds, LINK_FDS, 0);

	if (n < 0 || !link_welcome_valid(&front->welcome, (size_t)n) || fds[0] < 0)
		return -1;
	*ret_listen_fd = fds[0];
	if (take_certificate(front, fds[1]) < 0)
		return -1;
	return fcntl(LINK_FD, F_SETFL, O_NONBLOCK);
}

static int tell_ready(void)
{
	const struct link_request request = { .magic = LINK_MAGIC,
					      .size = sizeof(request),
					      .call = LINK_READY };

	return fd_send(LINK_FD, &request, sizeof(request), NULL, 0, 0);
}

static int begin(struct front *front)
{
	int listen_fd = -1;

	signal(SIGPIPE, SIG_IGN);
	front->routes = routes_all;
	if (take_welcome(front, &listen_fd) < 0) {
		fprintf(stderr,
			"warder-front: descriptor %d is no link to a launcher; \"warder serve --listen\" "
			"starts this "
			"program\n",
			LINK_FD);
		return -1;
	}
	front->link_fd = LINK_FD;
	front->link = (struct source){ .fd = LINK_FD, .ready = link_ready };
	front->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (front->epoll_fd >= 0 && front->certificate && server_new(front, listen_fd) < 0) {
		fprintf(stderr,
			"warder-front: --tls-cert and --tls-key: not a certificate and its key in PEM\n");
		return -1;
	}
	if (front->epoll_fd < 0 || asking_new(front, &front->asking) < 0 ||
	    (!front->certificate && server_new(front, listen_fd) < 0) ||
	    source_add(front, &front->link, EPOLLIN) < 0 || tell_ready() < 0) {
		fprintf(stderr, "warder-front: cannot start: errno %d\n", errno);
		return -1;
	}
	return 0;
}

int main(void)
{
	static struct front front;

	if (begin(&front) < 0)
		return 1;
	while (!front.ending) {
		struct epoll_event events[EVENTS_MAX];
		const int count =
		    epoll_wait(front.epoll_fd, events, EVENTS_MAX, server_wait_ms(&front, TURN_MS));

		for (int i = 0; i < count; i++) {
			struct source *source = events[i].data.ptr;

			if (source->ready)
				source->ready(source, events[i].events);
		}
		server_turn(&front);
		front_turn_done(&front);
	}
	return 0;
}
