/*
 * hello: the server name of a TLS ClientHello. Pure.
 */
#ifndef WARDER_EDGE_HELLO_H
#define WARDER_EDGE_HELLO_H

#include <stddef.h>

#include "edge/edge.h"

#define HELLO_MAX     65536               /* bytes of the message */
#define HELLO_MAX_RAW (HELLO_MAX + 16384) /* the same with the headers of its records */

enum hello {
	HELLO_MORE, /* it is not complete */
	HELLO_NAMED,
	HELLO_REFUSED,
};

/* Look at the first `len` bytes of a connection. The ClientHello may be cut into any records. HELLO_NAMED: ret_name (256 bytes) is the one
 * server name, in lower case, and *ret_len the length of the ClientHello with its records. HELLO_REFUSED: *ret_why. Source: RFC 8446, 4.1.2
 * and 5.1; RFC 6066, 3. */
enum hello hello_read(const uint8_t *bytes, size_t len, char *ret_name, size_t *ret_len,
		      enum edge_reason *ret_why);

/* The first bytes of a server that show whether it asks for a second ClientHello. */
#define HELLO_ANSWER 43
/* Whether a server's first HELLO_ANSWER bytes are a HelloRetryRequest. Source: RFC 8446, 4.1.3 and 4.1.4. */
bool hello_is_retry(const uint8_t *bytes);

#endif
