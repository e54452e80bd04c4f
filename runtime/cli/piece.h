/*
 * piece: what a piece of code of a context has written and shown and how it ended, collected from the keeper's events. Private to cli/.
 *
 * Life: piece_begin() -> piece_take() with each event of remote_next() until `ended`, or piece_run() -> the caller reads it -> piece_done().
 * A collection of zeros may be given to piece_done() as well. One thread.
 */
#ifndef WARDER_RUNTIME_CLI_PIECE_H
#define WARDER_RUNTIME_CLI_PIECE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "runtime/session/session.h"

#define PIECE_STREAM_MAX ((size_t)1 << 20) /* bytes of a stream that are kept */
#define PIECE_SHOWN_MAX  ((size_t)8 << 20) /* bytes of bundles that are kept, as by the keeper */

struct piece_stream {
	char *bytes;
	size_t len;
	bool missing; /* bytes that left the spool, or had no room here */
};

struct piece_collected {
	struct piece_stream streams[2];
	struct json_writer shown; /* an array of bundles */
	size_t shown_bytes;
	bool shown_cut; /* some had no room; `done` says so, too */
	struct remote_done done;
	char *said; /* the context's own word of the end, for said_parse() */
	size_t said_len;
	bool ended;
};

void piece_begin(struct piece_collected *piece);
/* Everything except REMOTE_ASKS, which is passed over. Takes the text of REMOTE_DONE out of *event. */
void piece_take(struct piece_collected *piece, struct remote_event *event);
/* The bundles of REMOTE_SHOWN as a JSON array, to be freed by json_free(); NULL: there are none. Once. */
struct json_value *piece_take_shown(struct piece_collected *piece);
/* Run a piece that gets no input, after those before it, and collect everything. When a signal comes (ending.h), interrupt it and return 1.
 * timeout_us 0: as long as the context's policy grants. 0; 1; -1 with *err, as of remote_piece() and remote_next(). */
int piece_run(struct remote *remote, const char *code, uint64_t timeout_us, struct piece_collected *ret,
	      struct warder_error *err);
void piece_done(struct piece_collected *piece);
/* Whether a language, or an alias of it, is the one that a context runs. 1; 0; -1 with *err. */
int piece_is_language(const char *asked, const char *has, struct warder_error *err);

#endif
