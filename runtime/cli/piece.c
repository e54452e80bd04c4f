#include "runtime/cli/piece.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/cli/ending.h"
#include "runtime/code/code.h"

#define LOOK_MS 200

static void keep(struct piece_stream *stream, const char *bytes, size_t len)
{
	const size_t room = PIECE_STREAM_MAX - stream->len;
	const size_t part = len < room ? len : room;
	char *grown = part ? realloc(stream->bytes, stream->len + part) : NULL;

	stream->missing |= part < len || (part && !grown);
	if (!grown)
		return;
	memcpy(grown + stream->len, bytes, part);
	stream->bytes = grown;
	stream->len += part;
}

void piece_begin(struct piece_collected *piece)
{
	*piece = (struct piece_collected){ 0 };
	json_begin_array(&piece->shown);
}

static void take_shown(struct piece_collected *piece, const struct remote_event *event)
{
	struct json_value *bundle;

	/* Hostile code goes on with them until its time is over. */
	piece->shown_cut |= event->text_len > PIECE_SHOWN_MAX - piece->shown_bytes;
	if (piece->shown_cut)
		return;
	bundle = said_bundle(event->text, event->text_len);
	piece->shown_bytes += event->text_len;
	if (bundle)
		json_copy(&piece->shown, bundle);
	json_free(bundle);
}

void piece_take(struct piece_collected *piece, struct remote_event *event)
{
	switch (event->kind) {
	case REMOTE_BYTES:
		keep(&piece->streams[event->stream], event->bytes, (size_t)(event->end - event->offset));
		return;
	case REMOTE_GAP:
		piece->streams[event->stream].missing = true;
		return;
	case REMOTE_SHOWN:
		take_shown(piece, event);
		return;
	case REMOTE_DONE:
		piece->ended = true;
		piece->done = event->done;
		piece->done.cut |= piece->shown_cut;
		piece->said = event->text;
		piece->said_len = event->text_len;
		event->text = NULL;
		return;
	case REMOTE_ASKS:
	case REMOTE_END:
	case REMOTE_NOTHING:
		return;
	}
}

struct json_value *piece_take_shown(struct piece_collected *piece)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX };
	struct json_value *rows = NULL;
	struct warder_error ignored = { 0 };
	char *text;

	json_end_array(&piece->shown);
	text = json_take(&piece->shown);
	if (text && json_parse(text, strlen(text), "shown", &limits, &rows, &ignored) != 0)
		rows = NULL;
	free(text);
	return rows;
}

/* By another connection: this one waits for the piece. CONFLICT: it has ended meanwhile. */
static int act_beside(const struct remote *remote, bool answers, struct warder_error *err)
{
	struct remote *beside = NULL;
	int ret;

	if (remote_again(remote, &beside, err) < 0)
		return -1;
	ret = answers ? remote_answer(beside, NULL, 0, err) : remote_interrupt(beside, err);
	remote_free(beside);
	return ret < 0 && err->code == WARDER_ERROR_CONFLICT ? 0 : ret;
}

int piece_run(struct remote *remote, const char *code, uint64_t timeout_us, struct piece_collected *ret,
	      struct warder_error *err)
{
	struct warder_error ignored;

	piece_begin(ret);
	if (remote_piece(remote, code, strlen(code), timeout_us, false, err) < 0)
		return -1;
	while (!ret->ended) {
		struct remote_event event;

		if (ending_signal()) {
			act_beside(remote, false, &ignored);
			return 1;
		}
		if (remote_next(remote, LOOK_MS, &event, err) < 0)
			return -1;
		if (event.kind == REMOTE_ASKS && act_beside(remote, true, err) < 0) {
			free(event.text);
			return -1;
		}
		piece_take(ret, &event);
		free(event.text);
	}
	return 0;
}

void piece_done(struct piece_collected *piece)
{
	for (int i = 0; i < 2; i++)
		free(piece->streams[i].bytes);
	free(piece->said);
	json_writer_done(&piece->shown);
	*piece = (struct piece_collected){ 0 };
}

int piece_is_language(const char *asked, const char *has, struct warder_error *err)
{
	struct languages *languages = NULL;
	const char *name;
	int ret;

	if (languages_load(NULL, &languages, err) < 0)
		return -1;
	name = languages_canonical(languages, asked);
	ret = name && strcmp(name, has) == 0;
	languages_free(languages);
	return ret;
}
