/*
 * ring: positions only grow, and a position modulo the size is a place in the ring. A frame is a header and its bytes, one after the
 * other, and may wrap. So whether a cursor's frame is still there is one comparison with the tail.
 *
 * A program that writes byte by byte would fill the ring with headers. Bytes that follow those of the newest frame, of the same stream and
 * soon, are therefore added to that frame.
 */
#include "runtime/session/ring.h"

#include <stdlib.h>
#include <string.h>

#define JOIN_US 10000

struct frame {
	uint64_t offset, time_us;
	uint32_t stream, len;
};

static void copy_out(const struct ring *ring, uint64_t at, void *to, size_t len)
{
	const size_t begin = (size_t)(at & (ring->size - 1));
	const size_t first = ring->size - begin < len ? ring->size - begin : len;

	memcpy(to, ring->memory + begin, first);
	memcpy((char *)to + first, ring->memory, len - first);
}

static void copy_in(struct ring *ring, uint64_t at, const void *from, size_t len)
{
	const size_t begin = (size_t)(at & (ring->size - 1));
	const size_t first = ring->size - begin < len ? ring->size - begin : len;

	memcpy(ring->memory + begin, from, first);
	memcpy(ring->memory, (const char *)from + first, len - first);
}

static struct frame frame_at(const struct ring *ring, uint64_t at)
{
	struct frame frame;

	copy_out(ring, at, &frame, sizeof(frame));
	return frame;
}

/* Positions stay what they are; only their places change. */
static int grow(struct ring *ring, size_t size)
{
	unsigned char *memory = malloc(size);
	struct ring grown = *ring;

	if (!memory)
		return -1;
	grown.memory = memory;
	grown.size = size;
	for (uint64_t at = ring->tail; at < ring->head;) {
		const size_t begin = (size_t)(at & (ring->size - 1));
		const size_t whole = ring->size - begin;
		const size_t len = ring->head - at < whole ? (size_t)(ring->head - at) : whole;

		copy_in(&grown, at, ring->memory + begin, len);
		at += len;
	}
	free(ring->memory);
	*ring = grown;
	return 0;
}

static void drop_oldest(struct ring *ring)
{
	ring->tail += sizeof(struct frame) + frame_at(ring, ring->tail).len;
}

/* Room for `len` more bytes at the head. */
static int make_room(struct ring *ring, size_t len, size_t room)
{
	const size_t before = ring->size;

	while (ring->size - (size_t)(ring->head - ring->tail) < len) {
		const size_t wanted = ring->size ? 2 * ring->size : RING_BYTES_FIRST;
		const bool may_grow = !ring->size || (wanted <= RING_BYTES_MAX && wanted - before <= room);

		if (may_grow && grow(ring, wanted) == 0)
			continue;
		if (ring->head == ring->tail)
			return -1;
		drop_oldest(ring);
	}
	return 0;
}

static bool continues(const struct ring *ring, uint32_t stream, size_t len, uint64_t time_us)
{
	struct frame last;

	if (ring->head == ring->tail)
		return false;
	last = frame_at(ring, ring->last);
	return last.stream == stream && last.len + len <= RING_FRAME_MAX && time_us >= last.time_us &&
	       time_us - last.time_us <= JOIN_US && last.offset + last.len == ring->totals[stream];
}

static int append_frame(struct ring *ring, uint32_t stream, const void *bytes, size_t len, uint64_t time_us,
			size_t room)
{
	struct frame frame = { ring->totals[stream], time_us, stream, (uint32_t)len };
	bool joins = continues(ring, stream, len, time_us);

	if (make_room(ring, len + (joins ? 0 : sizeof(frame)), room) < 0)
		return -1;
	if (joins && ring->last < ring->tail) { /* the newest frame was dropped for it */
		joins = false;
		if (make_room(ring, len + sizeof(frame), room) < 0)
			return -1;
	}
	if (joins) {
		frame = frame_at(ring, ring->last);
		frame.len += (uint32_t)len;
	} else {
		ring->last = ring->head;
		ring->head += sizeof(frame);
	}
	copy_in(ring, ring->last, &frame, sizeof(frame));
	copy_in(ring, ring->head, bytes, len);
	ring->head += len;
	return 0;
}

int ring_append(struct ring *ring, uint32_t stream, const void *bytes, size_t len, uint64_t time_us,
		size_t room)
{
	const size_t before = ring->size;
	int ret = 0;

	/* A frame must fit into the smallest ring, too. */
	while (len) {
		const size_t most = RING_BYTES_FIRST / 2;
		const size_t part = len < most ? len : most;
		const size_t grown = ring->size - before;

		if (append_frame(ring, stream, bytes, part, time_us, grown < room ? room - grown : 0) < 0)
			ret = -1;
		ring->totals[stream] += part;
		bytes = (const char *)bytes + part;
		len -= part;
	}
	return ret;
}

static enum ring_found gap(uint32_t stream, uint64_t from, uint64_t to, struct ring_piece *ret)
{
	*ret = (struct ring_piece){ .stream = stream, .offset = from, .end = to };
	return RING_GAP;
}

static enum ring_found piece_of(const struct ring *ring, uint64_t at, const struct frame *frame,
				uint64_t next, void *buf, size_t size, struct ring_piece *ret)
{
	const uint64_t skip = next - frame->offset;
	const size_t left = (size_t)(frame->len - skip);
	const size_t len = left < size ? left : size;

	copy_out(ring, at + sizeof(*frame) + skip, buf, len);
	*ret = (struct ring_piece){ frame->stream, next, next + len, frame->time_us };
	return RING_BYTES;
}

enum ring_found ring_read(const struct ring *ring, const struct ring_cursor *cursor, void *buf, size_t size,
			  struct ring_piece *ret)
{
	uint64_t at = cursor->at < ring->tail ? ring->tail : cursor->at;

	while (at < ring->head) {
		const struct frame frame = frame_at(ring, at);
		const uint64_t next = cursor->next[frame.stream];

		if (next < frame.offset)
			return gap(frame.stream, next, frame.offset, ret);
		if (next < frame.offset + frame.len)
			return piece_of(ring, at, &frame, next, buf, size, ret);
		/* All that the newest frame will get is still to come. */
		at += sizeof(frame) + frame.len;
	}
	for (uint32_t stream = 0; stream < RING_STREAMS; stream++)
		if (cursor->next[stream] < ring->totals[stream])
			return gap(stream, cursor->next[stream], ring->totals[stream], ret);
	return RING_NOTHING;
}

void ring_advance(const struct ring *ring, struct ring_cursor *cursor, const struct ring_piece *piece)
{
	cursor->next[piece->stream] = piece->end;
	if (cursor->at < ring->tail)
		cursor->at = ring->tail;
	/* Behind each frame that the cursor has the whole of, except the newest, which may still grow. */
	while (cursor->at < ring->head && cursor->at != ring->last) {
		const struct frame frame = frame_at(ring, cursor->at);

		if (cursor->next[frame.stream] < frame.offset + frame.len)
			return;
		cursor->at += sizeof(frame) + frame.len;
	}
}

void ring_drop(struct ring *ring)
{
	free(ring->memory);
	ring->memory = NULL;
	ring->size = 0;
	ring->tail = ring->head;
}

void ring_done(struct ring *ring)
{
	ring_drop(ring);
	*ring = (struct ring){ 0 };
}
