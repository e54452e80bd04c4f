#include "runtime/session/frames.h"

#include <stdlib.h>
#include <string.h>

static bool is_valid(const struct frame *frame, size_t len, uint32_t running)
{
	const struct frame_head *head = &frame->head;

	if (len < sizeof(*head) || len > FRAME_MAX || head->magic != FRAME_MAGIC ||
	    (head->flags & ~(uint32_t)FRAME_MORE))
		return false;
	/* In one frame: it may come while no piece runs, and nothing counts its bytes. */
	if (head->type == FRAME_READY || head->type == FRAME_FORKED)
		return head->piece == 0 && head->flags == 0;
	return head->type > FRAME_READY && head->type <= FRAME_DONE && running && head->piece == running;
}

static void forget(struct frames *reader)
{
	free(reader->bytes);
	*reader = (struct frames){ 0 };
}

void frames_cut(struct frames *reader)
{
	free(reader->bytes);
	reader->bytes = NULL;
	reader->len = 0;
	reader->cut = true;
}

/* What does not fit, or has no memory, leaves nothing behind but the mark. */
static void append(struct frames *reader, const char *bytes, size_t len)
{
	char *grown = NULL;

	if (reader->cut)
		return;
	if (reader->len + len <= FRAME_TEXT_MAX)
		grown = realloc(reader->bytes, reader->len + len + 1);
	if (!grown) {
		frames_cut(reader);
		return;
	}
	memcpy(grown + reader->len, bytes, len);
	reader->bytes = grown;
	reader->len += len;
	grown[reader->len] = '\0';
}

enum frame_found frames_take(struct frames *reader, const struct frame *frame, size_t len, uint32_t running)
{
	const struct frame_head *head = &frame->head;

	if (!is_valid(frame, len, running)) {
		forget(reader);
		return FRAME_REFUSED;
	}
	/* The text before it was whole, or another text has begun in its middle. */
	if (reader->whole || reader->type != head->type || reader->piece != head->piece)
		forget(reader);
	reader->type = head->type;
	reader->piece = head->piece;
	append(reader, frame->body, len - sizeof(*head));
	reader->whole = !(head->flags & FRAME_MORE);
	return reader->whole ? FRAME_WHOLE : FRAME_PART;
}

void frames_done(struct frames *reader)
{
	forget(reader);
}
