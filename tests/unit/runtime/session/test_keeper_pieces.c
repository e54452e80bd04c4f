/* keeper_pieces: how many pieces with a key may wait, how many are kept after their end, and what they are told if they ask for input. */
#include "base/array.h"
#include "runtime/session/keeper_context.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/session/frames.h"

static struct keeper_context contexts[2];
static struct executions all;
static struct execution first = { .context = &contexts[0], .all = &all },
			second = { .context = &contexts[1], .all = &all };
static struct execution *items[] = { &first, &second };

static struct piece *new_piece(const char *key, size_t len)
{
	struct piece *piece = calloc(1, sizeof(*piece));

	cr_assert(piece);
	memcpy(piece->key, key, strlen(key));
	piece->len = len;
	piece->number = 1;
	return piece;
}

static void begin(void)
{
	all.items = items;
	all.count = ARRAY_LENGTH(items);
	memset(contexts, 0, sizeof(contexts));
}

static void add_waiting(size_t count, const char *key, size_t len)
{
	for (size_t i = 0; i < count; i++) {
		struct keeper_context *context = &contexts[i % 2];
		struct piece *piece = new_piece(key, len);

		piece->next = context->pieces;
		context->pieces = piece;
	}
}

static void drop_waiting(void)
{
	for (size_t i = 0; i < ARRAY_LENGTH(contexts); i++)
		while (contexts[i].pieces) {
			struct piece *piece = contexts[i].pieces;

			contexts[i].pieces = piece->next;
			free(piece);
		}
}

Test(keeper_pieces, waiting_pieces_have_a_bound, .timeout = 20)
{
	struct warder_error err = { 0 };

	begin();
	add_waiting(200, "", 1 << 20); /* Each of these needs a client, and clients have a bound. */
	add_waiting(PIECES_WAITING_MAX - 1, "k", 10);
	cr_expect_eq(pieces_check_room(&all, 10, &err), 0, "%s", err.text);
	add_waiting(1, "k", 10);
	cr_expect_eq(pieces_check_room(&all, 10, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_UNAVAILABLE);
	cr_expect_str_eq(err.field, "idempotencyKey");
	cr_expect(strstr(err.text, "64 pieces"), "%s", err.text);
	drop_waiting();

	add_waiting(4, "k", (PIECES_WAITING_BYTES - 100) / 4);
	cr_expect_eq(pieces_check_room(&all, 100, &err), 0, "%s", err.text);
	cr_expect_eq(pieces_check_room(&all, 101, &err), -1);
	drop_waiting();
}

Test(keeper_pieces, a_kept_piece_gives_way_only_to_later_ones, .timeout = 20)
{
	struct piece *last = NULL;
	size_t count = 0;

	begin();
	for (size_t i = 0; i < PIECES_KEPT_MAX + 6; i++) {
		struct execution *execution = items[i % 2];
		struct piece *piece = new_piece("k", 0);

		last = piece;
		piece_keep(execution, piece);
		cr_assert(piece->kept);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(contexts); i++)
		for (const struct piece *piece = contexts[i].kept; piece; piece = piece->next)
			count++;
	cr_expect_eq(count, PIECES_KEPT_MAX);
	cr_expect_eq(contexts[1].kept, last);
	pieces_done(&first);
	pieces_done(&second);
}

static size_t drain(int fd)
{
	struct frame frame;
	size_t ends = 0;

	while (recv(fd, &frame, sizeof(frame), MSG_DONTWAIT) > 0)
		ends += frame.head.type == FRAME_INPUT && frame.head.flags == FRAME_AT_END;
	return ends;
}

Test(keeper_pieces, one_that_asks_is_answered_when_its_channel_has_room, .timeout = 20)
{
	const struct frame_head filler = { FRAME_MAGIC, FRAME_TAKEN, 1, 0 };
	struct piece *piece = new_piece("k", 0);
	int fds[2];
	uint64_t due;

	begin();
	cr_assert(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) == 0);
	first.state = EXECUTION_RUNNING;
	contexts[0].fd = fds[0];
	contexts[0].ready = true;
	contexts[0].pieces = piece;
	piece->due_us = UINT64_MAX;
	piece->asked = 2;
	while (send(fds[0], &filler, sizeof(filler), MSG_DONTWAIT) > 0)
		;
	due = keeper_contexts_step(&all);
	cr_expect_eq(piece->asked, 2);
	cr_expect(due <= clock_us() + 1000000, "it is tried again");
	cr_expect_eq(drain(fds[1]), 0);
	due = keeper_contexts_step(&all);
	cr_expect_eq(piece->asked, 0);
	cr_expect_eq(due, UINT64_MAX);
	cr_expect_eq(drain(fds[1]), 2);
	drop_waiting();
	close(fds[0]);
	close(fds[1]);
}
