/*
 * conversation: the messages whose tables are to become files (datafile), as one JSON document.
 *
 *   {"messages": [[{"text": "Look:"}, {"mimeType": "text/csv", "content": "a,b\n1,2\n"}]], "context": {}}
 *
 * A message is an array of parts. A part has `text`, or `content` with its `encoding` ("utf-8" or "base64"); its `mimeType` is
 * text/plain where none is told. `context` is what the session remembers (context), and may be left out. Decoding is strict.
 *
 * Life: conversation_read() -> datafile_stage() -> conversation_done(). Limits: AGENT_MAX_TEXT_BYTES of document, as many messages
 * and parts as below. Pure; any thread.
 */
#ifndef WARDER_RUNTIME_TOOL_CONVERSATION_H
#define WARDER_RUNTIME_TOOL_CONVERSATION_H

#include "runtime/tool/datafile.h"

#define CONVERSATION_MAX_MESSAGES 1024
#define CONVERSATION_MAX_PARTS    1024 /* of one message */
#define CONVERSATION_MAX_VALUES   1000000

struct json_value;

struct conversation {
	struct json_value *document;       /* owned; types belong to it */
	struct datafile_message *messages; /* owned, as are the parts and their bytes */
	size_t count;
	struct context *context; /* owned; NULL: none was given */
};

/* -1 with *err (INVALID_REQUEST, INTERNAL), and nothing to be freed. */
int conversation_read(const char *json, size_t len, struct conversation *ret, struct warder_error *err);
void conversation_done(struct conversation *conversation);

#endif
