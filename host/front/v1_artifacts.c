/*
 * v1_artifacts: artifacts, for clients to read. The launcher opens the file, and this process reads it as fast as the client takes it. Whatever its type is, it is sent as an
 * attachment of bytes, so that no browser shows it.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/front/v1.h"

#define PIECE 65536

struct reading {
	int fd;
};

static void read_more(struct exchange *x)
{
	struct reading *reading = x->data;
	char piece[PIECE];
	ssize_t n;

	do {
		n = read(reading->fd, piece, sizeof(piece));
	} while ((n < 0 && errno == EINTR) || (n > 0 && exchange_write(x, piece, (size_t)n)));
	if (n < 0)
		exchange_abort(x);
	else if (n == 0)
		exchange_end(x);
}

static void reading_gone(struct exchange *x)
{
	struct reading *reading = x->data;

	fd_done(&reading->fd);
	free(reading);
}

static void opened(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	struct reading *reading = *fd < 0 ? NULL : calloc(1, sizeof(*reading));

	if (!reading) {
		exchange_fail(x, 503, "no memory is left; try again");
		return;
	}
	reading->fd = fd_take(fd);
	x->data = reading;
	x->gone = reading_gone;
	x->room = read_more;
	exchange_set(x, "Content-Disposition", "attachment");
	exchange_stream(x, 200, "application/octet-stream");
	read_more(x);
}

static char *name_it(const struct exchange *x)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "id", x->args[0]);
	json_end_object(&w);
	return json_take(&w);
}

void v1_read_artifact(struct exchange *x)
{
	exchange_ask(x, LINK_ARTIFACT, 0, name_it(x), opened);
}

static void dropped(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	exchange_empty(x, 204);
}

void v1_drop_artifact(struct exchange *x)
{
	exchange_ask(x, LINK_DROP_ARTIFACT, 0, name_it(x), dropped);
}
