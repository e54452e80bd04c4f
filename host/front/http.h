/*
 * http: the part of a request that belongs to libmicrohttpd, and the server's state. For exchange.c, lockout.c, peer.c, server.c and strangers.c only.
 */
#ifndef WARDER_HOST_FRONT_HTTP_H
#define WARDER_HOST_FRONT_HTTP_H

#include <microhttpd.h>
#include <netinet/in.h>

#include "host/front/exchange.h"

#define ADDRESSES      512
#define HTTP_OWN_BYTES 4096 /* of a connection, besides the headers of its request */

struct exchange_http {
	struct exchange_http *buried; /* front_bury() */
	struct exchange x;
	struct source hangup; /* while the connection is suspended */
	struct MHD_Connection *connection;
	struct MHD_Response *response; /* to be queued */
	unsigned int status;
	struct exchange_http *next, *previous; /* all that there are */
	char **names;                          /* owned: headers of the answer, each a name and its value */
	void (*began)(struct exchange *x, int fd, const char *bytes, size_t len);
	struct MHD_UpgradeResponseHandle *upgraded; /* until it is closed; or NULL */
	int plain_fd; /* of an upgraded connection that the library encrypts: what its handler reads; or -1 */
	bool left;    /* at the last look, its client had closed its side, and nothing waited there */
	size_t name_count;
	char host_sandbox[LINK_SANDBOX_MAX]; /* that the Host header names; or "" */
	bool called;                         /* the handler was */
	bool queued;                         /* the response was */
	bool suspended;                      /* the library is not at work on it */
	bool over;                           /* the client is gone */
	bool streams, ended;
	bool relays;       /* the answer has only the headers of a server in a sandbox */
	bool lacks_header; /* one of the answer's could not be set */
	bool held;         /* no more of the body is taken */
	bool whole;        /* the body has ended */
	char *out;         /* owned: bytes of the stream */
	size_t out_at, out_len, out_size;
	size_t kept;       /* bytes of a document: exchange_keep() */
	uint64_t since_us; /* that the client has taken nothing of the stream's bytes */
	uint64_t body_us;  /* when its body began to come */
};

/* Wrong keys from an address in the current minute. */
struct address {
	struct in6_addr ip;
	uint64_t since_us;
	unsigned int wrong;
};

/* A connection. A client that sends its request too slowly loses it. */
struct peer {
	struct peer *next, *previous;
	int fd;               /* the library's */
	uint64_t deadline_us; /* for what it sends or reads now; UINT64_MAX: a request is being served */
	uint64_t tenant;      /* of LINK_KEY_PEER: that of the launcher's last answer; 0: not known */
	char *target;         /* owned: of the request that was read last, as the client wrote it */
	bool is_known;        /* the launcher has named the tenant of a request of it */
	bool is_answered;     /* deadline_us is for the answer, which the client has to read */
	bool shows_key;       /* a request with a key comes, or waits for us, and was not refused */
	bool is_dropped;      /* it was shut down, and the library has not noticed */
	bool has_nul;         /* in the path or the query of the request that was read last, decoded */
};

/* The library's part of a certificate. One with an earlier certificate serves the connections that it has, until they have ended. */
struct serving {
	struct serving *next;
	struct MHD_Daemon *daemon;
	struct source source;
};

struct server {
	struct front *front;
	int listen_fd;
	bool is_unix;            /* listen_fd is a Unix socket: its clients may have no key */
	struct serving *serving; /* the first one accepts connections */
	struct exchange_http *exchanges;
	struct peer *peers;
	size_t peer_count; /* of all certificates */
	struct address addresses[ADDRESSES];
	uint64_t swept_us;
	size_t waiting; /* bytes of the streams of all exchanges */
	size_t bodies;  /* bytes of the bodies of all exchanges */
	size_t kept;    /* bytes of documents that handlers keep, of all exchanges */
};

/* Suspend the connection, until there is an answer or the client hangs up. */
void exchange_sleep(struct exchange_http *http);
/* Free the bytes that are kept for the client. */
void exchange_release(struct exchange_http *http);

/* ---- key.c ---- */

/* Whether the client of a Unix socket may be known without a key. */
bool key_may_be_missing(const struct exchange *x);
/* Set the key that the client shows. False: the exchange was answered. */
bool key_find(struct exchange *x);

/* ---- peer.c ---- */

/* The connection's; NULL: it is not begun, or has ended. */
struct peer *peer_of(struct MHD_Connection *connection);
/* It may take so long for what comes next; UINT64_MAX: it waits for us. */
void peer_set_deadline(struct MHD_Connection *connection, uint64_t within_us);
bool peer_waits_for_us(struct MHD_Connection *connection);
/* The time for the rest of a request whose headers are there. */
uint64_t peer_body_us(const struct exchange_http *http);
/* Whether its route takes the body in parts. */
bool exchange_is_upload(const struct exchange_http *http);

/* ---- strangers.c: clients of a Unix socket that have never been a tenant ---- */

#define STRANGER_US UINT64_C(5000000)

/* The time for the headers of a request; peer NULL: of a new connection. */
uint64_t stranger_header_us(const struct server *server, const struct peer *peer);
/* Whether the request shows a key, and was not refused. */
bool stranger_shows_key(const struct exchange_http *http);
/* Whether the request comes from one, and shows no key, or was refused: it has STRANGER_US for the rest, and for reading the answer. */
bool stranger_is_asking(const struct exchange_http *http, const struct peer *peer);
/* There is a new connection. If strangers have too many, one of theirs is closed. */
void strangers_make_way(struct server *server);

/* ---- lockout.c ---- */

/* A wrong key came from the address of the client. */
void lockout_count(struct exchange_http *http);

#endif
