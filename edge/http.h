/*
 * http: what a client sends over one HTTP/1 connection, request by request, so that each of them names the host that the connection
 * leads to. Pure.
 *
 * It is stricter than servers are: what two programs may read in two ways (a folded header, two lengths, a bare line feed) is refused,
 * because the server might find another request in it. Source: RFC 9112.
 */
#ifndef WARDER_EDGE_HTTP_H
#define WARDER_EDGE_HTTP_H

#include <stddef.h>

#include "edge/edge.h"

#define HTTP_HEAD_MAX   32768 /* bytes of a request's lines and of a chunked body's trailer */
#define HTTP_LINE_MAX   8192  /* a first line that is longer counts as that of a request */
#define HTTP_METHOD_MAX 32

enum http_state {
	HTTP_HEAD,
	HTTP_BODY,     /* `left` bytes */
	HTTP_CHUNK,    /* a line with a chunk's size */
	HTTP_DATA,     /* `left` bytes of a chunk, and its line end */
	HTTP_TRAILER,  /* lines up to an empty one */
	HTTP_UPGRADE,  /* nothing, until the server has answered */
	HTTP_UPGRADED, /* anything */
};

struct http {
	enum http_state state;
	uint64_t left;
	bool later; /* not the first request any more */
};

/* Look at the next bytes of the client. *ret_pass: so many of them may go to the server now; the rest is to be given again, with more.
 * 0; -1 with *ret_why and, for EDGE_REASON_OTHER_NAME, that name in ret_other (128 bytes). */
int http_check(struct http *http, const char *name, uint16_t port, const uint8_t *bytes, size_t len,
	       size_t *ret_pass, enum edge_reason *ret_why, char *ret_other);
/* The same for one part: a head, or some of a body. Returns its bytes; 0: it needs more; -1. */
long http_step(struct http *http, const char *name, uint16_t port, const uint8_t *bytes, size_t len,
	       enum edge_reason *ret_why, char *ret_other);
/* In HTTP_UPGRADE: the first bytes that the server answers; len 0: it sends no more. */
void http_answered(struct http *http, const uint8_t *bytes, size_t len);

enum http_kind {
	HTTP_WORD,  /* a word, after which a request may follow */
	HTTP_MAYBE, /* more bytes tell */
	HTTP_YES,
	HTTP_NO,
};
/* Whether a connection that begins so is HTTP, of whatever version, to any server. *ret_word: the length of its first word. */
enum http_kind http_is(const uint8_t *bytes, size_t len, size_t *ret_word);
/* Whether every server takes the word for a method, if it takes it at all: other words may be methods only to some servers. */
bool http_is_method(const uint8_t *word, size_t len);

/* ---- parts of a message ---- */

#define HTTP_CHUNK_LINE_MAX 256

/* The value of a hexadecimal digit; -1. */
int http_hex_digit(char c);
/* The size at the begin of a chunk's line. Returns the number of its digits; 0: there is none. */
size_t http_chunk_size(const uint8_t *line, size_t len, uint64_t *ret);
/* The length of a line with its end, 0 if that has not come; -1 if it is longer than `most` or ends without CR. */
long http_line_length(const uint8_t *bytes, size_t len, size_t most);

#endif
