/*
 * ring: the output of an execution, kept for whoever reads it later. Private to runtime/session/.
 *
 * A ring of frames {stream, offset, time, bytes}. It starts small, grows to RING_BYTES_MAX, and then drops its oldest frames. Each stream
 * has offsets of its own, from 0: a reader that knows how much of each stream it has gets the rest, and learns of each gap.
 *
 * Life: zeroed -> ring_append() -> ring_read() by any number of cursors -> ring_done(). Not locked: the caller's part.
 */
#ifndef WARDER_RUNTIME_SESSION_RING_H
#define WARDER_RUNTIME_SESSION_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_BYTES_MAX   (4u << 20)
#define RING_BYTES_FIRST 4096u
#define RING_STREAMS     2
#define RING_FRAME_MAX   (32u << 10) /* bytes of one frame; more become several */

struct ring {
	unsigned char *memory;
	size_t size;                   /* of the ring; a power of two, or 0 */
	uint64_t head, tail;           /* positions since the beginning: the next frame, the oldest one */
	uint64_t last;                 /* position of the newest frame; meaningless if head == tail */
	uint64_t totals[RING_STREAMS]; /* bytes that were appended */
};

/* A place in the spool. `next` is the offset of each stream that the reader wants next. */
struct ring_cursor {
	uint64_t at;
	uint64_t next[RING_STREAMS];
};

enum ring_found { RING_NOTHING, RING_BYTES, RING_GAP };

struct ring_piece {
	uint32_t stream;
	uint64_t offset;  /* of the first byte; of a gap: where it begins */
	uint64_t end;     /* behind the last byte */
	uint64_t time_us; /* since the epoch, when the first byte of its frame was read */
};

/* Append bytes. `room` is how many bytes the ring may still grow by, beyond what it has; the least that it gets is RING_BYTES_FIRST.
 * Frames that do not fit any more are dropped, oldest first. -1: no memory for a ring; the bytes are counted and become a gap. */
int ring_append(struct ring *ring, uint32_t stream, const void *bytes, size_t len, uint64_t time_us,
		size_t room);
/* What the cursor finds: bytes (at most `size`, copied to buf), a gap, or nothing so far. The cursor is moved behind it by
 * ring_advance(), so that bytes that could not be sent are found again. */
enum ring_found ring_read(const struct ring *ring, const struct ring_cursor *cursor, void *buf, size_t size,
			  struct ring_piece *ret);
void ring_advance(const struct ring *ring, struct ring_cursor *cursor, const struct ring_piece *piece);
/* Give the ring up. Readers find a gap. */
void ring_drop(struct ring *ring);
void ring_done(struct ring *ring);

#endif
