/*
 * mcp_note: what the server of `warder mcp` and the worker of a message tell each other, in memory that both have. Private to cli/.
 *
 * Life: all zero -> the worker decodes the message and names its requests, mcp_note_add() -> the server reads the note. Then, for each request,
 * the worker calls mcp_note_begin(), serves it, and calls mcp_note_end(), while the server may call mcp_note_cancel() at any time. So it is
 * decided once whether a request has an answer, and a signal that ends one request never ends the next one.
 */
#ifndef WARDER_RUNTIME_CLI_MCP_NOTE_H
#define WARDER_RUNTIME_CLI_MCP_NOTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/mcp/message.h"

struct mcp_note {
	/* When the message is decoded: */
	struct mcp_note_request {
		char id[MCP_ID_MAX + 1];
		_Atomic uint32_t state;
	} requests[MCP_BATCH_MAX];
	uint32_t request_count;
	char cancel[MCP_BATCH_MAX][MCP_ID_MAX + 1];
	uint32_t cancel_count;
	uint32_t calls; /* of tools */
	uint32_t initializes, version;
	/* When it is done: */
	uint32_t session_ended;
	/* By the server, before it ends its workers. */
	_Atomic uint32_t is_ending;
};

/* In the worker: the message has a request with this id. */
void mcp_note_add(struct mcp_note *note, const char *id);
/* In the worker: serve the request of this index. False: it was cancelled before. */
bool mcp_note_begin(struct mcp_note *note, uint32_t index);
/* In the worker: the request was served. False: it was cancelled, and has no answer. Then the signal that ended it is forgotten, see ending.h. */
bool mcp_note_end(struct mcp_note *note, uint32_t index);

/* In the server: cancel the request, and have the worker of that pid end it if it runs. Nothing happens if it is done or not in the message. */
void mcp_note_cancel(struct mcp_note *note, pid_t pid, const char *id);
/* In the server: whether the message has requests, and all of them are cancelled. */
bool mcp_note_is_cancelled(struct mcp_note *note);

#endif
