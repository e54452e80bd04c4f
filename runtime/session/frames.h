/*
 * frames: the messages between a keeper and the interpreter of a context. Private to runtime/session/.
 *
 * A frame is one message of a SOCK_SEQPACKET socket: a head and a body, of together at most FRAME_MAX bytes. A text that is longer comes in
 * several frames, all but the last with FRAME_MORE. The interpreter's end is descriptor 4 of its process.
 *
 * The interpreter runs untrusted code, and that code can write any frame itself. So a frame only carries reports of the context about itself:
 * it can neither name another context nor claim how much time, output or memory was used. The keeper refuses and counts a frame that is
 * malformed, that does not belong to the piece that runs, or that only the keeper may send. Texts are bounded.
 *
 * Life of a reader: zeroed -> frames_take() for each message -> frames_done().
 */
#ifndef WARDER_RUNTIME_SESSION_FRAMES_H
#define WARDER_RUNTIME_SESSION_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX      65536u
#define FRAME_MAGIC    0x58544357u
#define FRAME_TEXT_MAX (4u << 20) /* bytes of one text from a context */

enum frame_type {
	/* to the interpreter */
	FRAME_PIECE = 1, /* body: source text */
	FRAME_INPUT,     /* body: a line that input() returns; FRAME_AT_END: there is none */
	/* from it */
	FRAME_READY, /* body: JSON, what interpreter it is; once, in one frame */
	FRAME_BEGUN, /* the piece runs, and SIGINT is for it from now on */
	FRAME_SHOWN, /* body: JSON, a MIME bundle that the piece displays */
	FRAME_ASKS,  /* body: the prompt of input() */
	FRAME_DONE,  /* body: JSON, how the piece ended */
	/* to the interpreter */
	FRAME_TAKEN, /* the place of a SHOWN in the output is fixed: later output comes after it */
	FRAME_FORK, /* begin a branch; another one follows, with its channel, standard output and standard error as descriptors */
	/* from it */
	FRAME_FORKED, /* body: empty, or why there is no branch; in one frame */
	FRAME_TYPES,
};

enum frame_flag {
	FRAME_MORE = 1,
	FRAME_AT_END = 2,
	FRAME_KEEP_SEED = 4, /* of FORK: generators of random numbers go on as those of the forking context */
};

struct frame_head {
	uint32_t magic, type, piece, flags; /* piece: its number; 0 in READY, FORK and FORKED */
};

#define FRAME_BODY_MAX (FRAME_MAX - sizeof(struct frame_head))

struct frame {
	struct frame_head head;
	char body[FRAME_BODY_MAX];
};

/* A text of which some frames have come. */
struct frames {
	uint32_t type, piece;
	char *bytes; /* owned */
	size_t len;
	bool whole; /* the next frame begins another text */
	bool cut;   /* it was longer than FRAME_TEXT_MAX, and its bytes are gone */
};

enum frame_found {
	FRAME_REFUSED, /* and a text that had begun is given up */
	FRAME_PART,
	FRAME_WHOLE, /* reader->bytes is the text, until the next call; NULL if it was cut */
};

/* One message of `len` bytes from a context. running: the number of the piece that runs, or 0. */
enum frame_found frames_take(struct frames *reader, const struct frame *frame, size_t len, uint32_t running);
/* Drop the bytes of the present text, and those that are still to come. Its last frame makes it FRAME_WHOLE, cut. */
void frames_cut(struct frames *reader);
void frames_done(struct frames *reader);

#endif
