/*
 * websocket: the frames of RFC 6455, as both ends read and write them. Pure.
 *
 * Life of a reader: { .max = ... } -> websocket_take() until the connection ends -> websocket_reader_done(). No extension and no compression:
 * a frame with a reserved bit is an error, as the RFC says.
 */
#ifndef WARDER_BASE_WEBSOCKET_H
#define WARDER_BASE_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEBSOCKET_HEAD_MAX    14
#define WEBSOCKET_CONTROL_MAX 125
#define WEBSOCKET_ACCEPT_SIZE 29 /* with the NUL */

enum websocket_opcode {
	WEBSOCKET_CONTINUATION = 0,
	WEBSOCKET_TEXT = 1,
	WEBSOCKET_BINARY = 2,
	WEBSOCKET_CLOSE = 8,
	WEBSOCKET_PING = 9,
	WEBSOCKET_PONG = 10,
};

/* Codes of a close frame. */
enum websocket_code {
	WEBSOCKET_NORMAL = 1000,
	WEBSOCKET_BAD_FRAME = 1002,
	WEBSOCKET_BAD_DATA = 1007,
	WEBSOCKET_TOO_LONG = 1009,
	WEBSOCKET_INTERNAL = 1011,
};

enum websocket_took {
	WEBSOCKET_MORE, /* all bytes were used, and no message is whole */
	WEBSOCKET_MESSAGE, /* reader->opcode, ->message and ->len are a message, or a control frame, until the next call */
	WEBSOCKET_WRONG, /* *ret_code says why: close the connection */
};

struct websocket_reader {
	size_t max;     /* bytes of a message */
	bool is_client; /* it reads frames of a server, which have no mask */
	enum websocket_opcode opcode;
	char *message; /* owned, with a final NUL that is not counted; not NULL after a message */
	size_t len;
	/* The rest is websocket.c's. */
	unsigned char head[WEBSOCKET_HEAD_MAX];
	size_t head_len;
	uint64_t left; /* of the payload of the frame */
	unsigned char mask[4];
	size_t at; /* in the mask */
	bool in_payload, control, final, told;
	enum websocket_opcode begun; /* of a message in parts; WEBSOCKET_CONTINUATION: there is none */
	char *parts;                 /* owned */
	size_t parts_len;
	char control_bytes[WEBSOCKET_CONTROL_MAX + 1];
	size_t control_len;
};

/* *ret_used: bytes that were used, at most up to the end of a message. */
enum websocket_took websocket_take(struct websocket_reader *reader, const char *bytes, size_t len,
				   size_t *ret_used, enum websocket_code *ret_code);
void websocket_reader_done(struct websocket_reader *reader);
/* The head of a frame of a server, whose payload follows. Returns its length. */
size_t websocket_write_head(enum websocket_opcode opcode, uint64_t len,
			    unsigned char ret[WEBSOCKET_HEAD_MAX]);
/* The same of a client, and its payload, which goes on behind the head: `to` has room for WEBSOCKET_HEAD_MAX more bytes than the payload. The mask is
 * random. Returns the length of both. */
size_t websocket_write_masked(enum websocket_opcode opcode, const char *bytes, size_t len,
			      const unsigned char mask[4], char *to);
/* The value of Sec-WebSocket-Accept. False: the client's key is not one. */
bool websocket_accept(const char *key, char ret[WEBSOCKET_ACCEPT_SIZE]);

#endif
