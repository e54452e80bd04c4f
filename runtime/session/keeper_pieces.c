/*
 * The memory of pieces: what they say, and those that are kept after their end because a client may send them again with the same key.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/session/keeper_context.h"

void piece_drop_said(struct executions *all, struct piece *piece, size_t len)
{
	piece->said -= len;
	all->said_bytes -= len;
}

void piece_drop_event(struct execution *execution, struct piece *piece)
{
	struct piece_event *event = piece->events;

	piece->events = event->next;
	if (!piece->events)
		piece->events_end = &piece->events;
	piece_drop_said(execution->all, piece, event->len);
	free(event->text);
	free(event);
}

void piece_settle(struct execution *execution, struct piece *piece)
{
	if (piece->queued || piece->watchers || piece->kept)
		return;
	while (piece->events)
		piece_drop_event(execution, piece);
	piece_drop_said(execution->all, piece, piece->result_len);
	free(piece->result);
	free(piece->code);
	free(piece);
}

/* ---- pieces that are kept ---- */

/* The oldest one of all contexts, with the number and the bytes of all. */
static struct piece *oldest_kept(const struct executions *all, struct execution **ret_of, size_t *ret_count,
				 size_t *ret_bytes)
{
	struct piece *oldest = NULL;

	*ret_count = *ret_bytes = 0;
	for (size_t i = 0; i < all->count; i++)
		for (struct piece *piece = all->items[i]->context ? all->items[i]->context->kept : NULL;
		     piece; piece = piece->next) {
			*ret_count += 1;
			*ret_bytes += piece->said;
			if (oldest && oldest->kept_until_us <= piece->kept_until_us)
				continue;
			oldest = piece;
			*ret_of = all->items[i];
		}
	return oldest;
}

static void forget(struct execution *execution, struct piece *piece)
{
	struct piece **at = &execution->context->kept;

	while (*at != piece)
		at = &(*at)->next;
	*at = piece->next;
	piece->next = NULL;
	piece->kept = false;
	piece_settle(execution, piece);
}

bool pieces_make_room(struct executions *all, size_t len)
{
	struct execution *of;
	struct piece *oldest;
	size_t count, bytes;

	while (all->said_bytes + len > CONTEXTS_SAID_MAX && (oldest = oldest_kept(all, &of, &count, &bytes)))
		forget(of, oldest);
	return all->said_bytes + len <= CONTEXTS_SAID_MAX;
}

void piece_keep(struct execution *execution, struct piece *piece)
{
	struct execution *of;
	struct piece *oldest;
	size_t count, bytes;

	if (!*piece->key || !piece->number)
		return;
	while ((oldest = oldest_kept(execution->all, &of, &count, &bytes)) &&
	       (count >= PIECES_KEPT_MAX || bytes + piece->said > PIECES_KEPT_BYTES))
		forget(of, oldest);
	piece->kept = true;
	piece->kept_until_us = clock_us() + EXECUTION_KEEP_US;
	piece->next = execution->context->kept;
	execution->context->kept = piece;
}

int pieces_check_room(const struct executions *all, size_t len, struct warder_error *err)
{
	size_t count = 0, bytes = 0;

	for (size_t i = 0; i < all->count; i++)
		for (const struct piece *piece = all->items[i]->context ? all->items[i]->context->pieces
									: NULL;
		     piece; piece = piece->next)
			if (*piece->key) {
				count++;
				bytes += piece->len;
			}
	if (count < PIECES_WAITING_MAX && bytes + len <= PIECES_WAITING_BYTES)
		return 0;
	return error_set(
	    err, WARDER_ERROR_UNAVAILABLE, "idempotencyKey",
	    "%zu pieces with a key wait in this session, with %zu bytes of code; at most %d may, with "
	    "16 MiB: send the piece again when one has ended",
	    count, bytes, PIECES_WAITING_MAX);
}

uint64_t pieces_sweep(struct executions *all, uint64_t now)
{
	struct execution *of;
	struct piece *oldest;
	size_t count, bytes;

	while ((oldest = oldest_kept(all, &of, &count, &bytes)) && oldest->kept_until_us <= now)
		forget(of, oldest);
	return oldest ? oldest->kept_until_us : UINT64_MAX;
}

void pieces_done(struct execution *execution)
{
	while (execution->context && execution->context->kept)
		forget(execution, execution->context->kept);
}

/* The piece with the key's part of the key. */
static struct piece *find_in(struct piece *first, const char *key)
{
	while (first && (!*first->key || memcmp(first->key, key, RECORD_KEY_LENGTH / 2) != 0))
		first = first->next;
	return first;
}

int pieces_find(const struct executions *all, const char *key, struct execution **ret_of, struct piece **ret,
		struct warder_error *err)
{
	struct piece *found = NULL;

	for (size_t i = 0; i < all->count && !found; i++) {
		const struct keeper_context *context = all->items[i]->context;

		if (!context)
			continue;
		found = find_in(context->pieces, key);
		if (!found)
			found = find_in(context->kept, key);
		*ret_of = all->items[i];
	}
	if (!found)
		return 0;
	if (memcmp(found->key, key, RECORD_KEY_LENGTH) != 0)
		return error_set(err, WARDER_ERROR_CONFLICT, "idempotencyKey",
				 "another piece of code had this key in the last 10 minutes; use a new key");
	*ret = found;
	return 1;
}

bool piece_may_hold(struct execution *execution, struct piece *piece, size_t len)
{
	struct executions *all = execution->all;

	if (!piece->watchers && !*piece->key)
		return false;
	if (piece->said + len > CONTEXT_SAID_MAX || !pieces_make_room(all, len)) {
		piece->cut = true;
		return false;
	}
	piece->said += len;
	all->said_bytes += len;
	return true;
}

/* ---- what a client gets ---- */

void piece_leave(struct execution *execution, struct piece *piece)
{
	piece->watchers--;
	for (struct piece **at = &execution->context->pieces; *at && !piece->number && !*piece->key;
	     at = &(*at)->next) {
		if (*at != piece)
			continue;
		*at = piece->next;
		piece->queued = false;
		break;
	}
	piece_settle(execution, piece);
}

enum piece_news piece_next(const struct execution *execution, const struct piece *piece,
			   const struct piece_event *event, const struct ring_cursor *cursor, void *buf,
			   size_t size, struct ring_piece *ret)
{
	const uint64_t *bound = event ? event->at : piece->done ? piece->to : NULL;
	enum ring_found found;

	if (!piece->number)
		return piece->done ? PIECE_DONE : PIECE_NOTHING;
	found = ring_read(&execution->spool, cursor, buf, size, ret);
	/* Whatever was appended before the bound lies before everything that was appended behind it. */
	if (found != RING_NOTHING && (!bound || ret->offset < bound[ret->stream])) {
		if (bound && ret->end > bound[ret->stream])
			ret->end = bound[ret->stream];
		return found == RING_BYTES ? PIECE_BYTES : PIECE_GAP;
	}
	return event ? PIECE_SAID : piece->done ? PIECE_DONE : PIECE_NOTHING;
}
