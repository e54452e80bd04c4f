/* ring: what is kept of an execution's output, for any number of readers. */
#include "base/array.h"
#include "runtime/session/ring.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUCH ((size_t)64 << 20)

/* Byte `at` of a stream: every offset has its own neighbourhood. */
static char byte_at(uint32_t stream, uint64_t at)
{
	return (char)((at * 2654435761u >> 7) + stream * 101);
}

static void append(struct ring *ring, uint32_t stream, size_t len, uint64_t time_us, size_t room)
{
	char *bytes = malloc(len + 1);

	for (size_t i = 0; i < len; i++)
		bytes[i] = byte_at(stream, ring->totals[stream] + i);
	ring_append(ring, stream, bytes, len, time_us, room);
	free(bytes);
}

/* All that a reader finds from its cursor on: every byte is the one of its offset, and follows the last. How many bytes; *ret_gaps. */
static uint64_t read_all(const struct ring *ring, struct ring_cursor *cursor, size_t size, uint64_t *ret_gaps)
{
	char *buf = malloc(size);
	struct ring_piece piece;
	enum ring_found found;
	uint64_t read = 0;

	*ret_gaps = 0;
	while ((found = ring_read(ring, cursor, buf, size, &piece)) != RING_NOTHING) {
		cr_expect_eq(piece.offset, cursor->next[piece.stream], "in order");
		cr_assert_gt(piece.end, piece.offset);
		if (found == RING_GAP) {
			*ret_gaps += piece.end - piece.offset;
		} else {
			cr_assert_leq(piece.end - piece.offset, size);
			for (uint64_t at = piece.offset; at < piece.end; at++)
				if (buf[at - piece.offset] != byte_at(piece.stream, at))
					cr_assert_fail("stream %u, byte %llu", piece.stream,
						       (unsigned long long)at);
			read += piece.end - piece.offset;
		}
		ring_advance(ring, cursor, &piece);
	}
	free(buf);
	return read;
}

Test(ring, readers_from_any_offset, .timeout = 30)
{
	static const struct {
		size_t out, err;
	} writes[] = { { 5, 0 }, { 0, 3000 }, { 70000, 1 }, { 1, 1 }, { 4096, 4096 } };
	struct ring ring = { 0 };
	uint64_t gaps;

	for (size_t i = 0; i < ARRAY_LENGTH(writes); i++) {
		append(&ring, 0, writes[i].out, i * 20000, MUCH);
		append(&ring, 1, writes[i].err, i * 20000, MUCH);
	}
	for (uint64_t from = 0; from <= ring.totals[1]; from += 97) {
		struct ring_cursor cursor = { .next = { from * 3, from } };
		const uint64_t left = ring.totals[0] - from * 3 + ring.totals[1] - from;

		cr_expect_eq(read_all(&ring, &cursor, 1 + from % 5000, &gaps), left, "from %llu",
			     (unsigned long long)from);
		cr_expect_eq(gaps, 0);
	}
	ring_done(&ring);
}

Test(ring, what_does_not_fit_any_more_is_a_gap, .timeout = 30)
{
	struct ring ring = { 0 };
	struct ring_cursor early = { 0 }, late = { 0 };
	uint64_t gaps, before;

	append(&ring, 1, 10, 0, MUCH);
	append(&ring, 0, 100000, 50000, MUCH);
	before = read_all(&ring, &late, 4096, &gaps);
	cr_expect_eq(before, 100010);
	for (int i = 0; i < 100; i++)
		append(&ring, 0, 100000, 100000 + (uint64_t)i * 20000, MUCH);
	cr_expect_eq(ring.size, RING_BYTES_MAX);
	cr_expect_leq(ring.head - ring.tail, ring.size);
	cr_expect_gt(read_all(&ring, &early, 60000, &gaps), RING_BYTES_MAX / 10 * 9);
	cr_expect_eq(early.next[0], ring.totals[0]);
	cr_expect_eq(early.next[1], 10, "a stream of which nothing is left is a gap, too");
	cr_expect_eq(gaps + ring.head - ring.tail > 0, true);
	before = read_all(&ring, &late, 60000, &gaps);
	cr_expect_eq(before + gaps, 100 * 100000);
	ring_done(&ring);
}

Test(ring, grows_on_demand_and_not_beyond_its_room, .timeout = 30)
{
	struct ring ring = { 0 };
	struct ring_cursor cursor = { 0 };
	uint64_t gaps, got;

	append(&ring, 0, 10, 0, 0);
	cr_expect_eq(ring.size, RING_BYTES_FIRST);
	append(&ring, 0, 100000, 0, 0);
	cr_expect_eq(ring.size, RING_BYTES_FIRST, "no room to grow");
	append(&ring, 0, 100000, 0, 12288);
	cr_expect_eq(ring.size, 16384, "as far as there is room");
	got = read_all(&ring, &cursor, 4096, &gaps);
	cr_expect_eq(got + gaps, 200010);
	cr_expect_gt(got, 10000);
	ring_drop(&ring);
	cr_expect_eq(ring.size, 0);
	cursor = (struct ring_cursor){ 0 };
	cr_expect_eq(read_all(&ring, &cursor, 4096, &gaps), 0);
	cr_expect_eq(gaps, 200010);
	ring_done(&ring);
}

Test(ring, single_bytes_share_a_frame, .timeout = 30)
{
	struct ring ring = { 0 };
	struct ring_cursor cursor = { 0 };
	struct ring_piece piece;
	char buf[4096];

	for (int i = 0; i < 1000; i++)
		append(&ring, 0, 1, (uint64_t)i, MUCH);
	cr_expect_eq(ring_read(&ring, &cursor, buf, sizeof(buf), &piece), RING_BYTES);
	cr_expect_eq(piece.end, 1000);
	ring_advance(&ring, &cursor, &piece);
	append(&ring, 0, 5, 1001, MUCH);
	cr_expect_eq(ring_read(&ring, &cursor, buf, sizeof(buf), &piece), RING_BYTES,
		     "what is added to a frame that was read");
	cr_expect_eq(piece.offset, 1000);
	cr_expect_eq(piece.end, 1005);
	ring_advance(&ring, &cursor, &piece);
	append(&ring, 0, 5, 1001 + 10001, MUCH);
	ring_read(&ring, &cursor, buf, sizeof(buf), &piece);
	cr_expect_eq(piece.time_us, 1001 + 10001, "later bytes have their own time");
	ring_done(&ring);
}

/* Readers that come and go at random, beside writes at random: each byte once, or in a gap. */
Test(ring, any_order, .timeout = 60)
{
	struct ring ring = { 0 };
	struct ring_cursor cursors[4] = { 0 };
	uint64_t read[4] = { 0 }, lost[4] = { 0 };
	unsigned seed = 7;

	for (int i = 0; i < 4000; i++) {
		const unsigned number = (unsigned)rand_r(&seed);
		const size_t which = number % 4;
		uint64_t gaps;

		append(&ring, number >> 4 & 1, number >> 8 & 0x3fff, (uint64_t)i * 3000, 1 << 18);
		if (number >> 5 & 3)
			continue;
		read[which] += read_all(&ring, &cursors[which], 1 + (number >> 3 & 0xffff), &gaps);
		lost[which] += gaps;
	}
	for (size_t i = 0; i < 4; i++) {
		uint64_t gaps;

		read[i] += read_all(&ring, &cursors[i], 65536, &gaps);
		cr_expect_eq(read[i] + lost[i] + gaps, ring.totals[0] + ring.totals[1], "reader %zu", i);
	}
	ring_done(&ring);
}
