/*
 * edge: what passes between the supervisor of a jail and its edge, the process that connects for it. The door of this folder.
 *
 * The supervisor starts `warder-edge` with five descriptors (enum edge_fd), and sends the host's listening sockets of published ports over
 * EDGE_FD_SETUP. The jail's init makes sockets inside the jail's network namespace and sends them there as well: first those of enum
 * edge_socket, then one for each row of edge_config.listeners, in order, then edge_config.inward_count that are not connected, by which
 * published ports are reached; at most EDGE_FDS_AT_ONCE in a message of one byte. Then it closes its end. The edge drops every privilege, sends
 * one byte over EDGE_FD_CONTROL, and serves until that socket is closed. Meanwhile the supervisor may send there EDGE_RULES with one memory
 * file, a struct edge_config, whose rules take the place of the old ones; nothing else of it is used. The edge answers with one byte of 0, or
 * with a text that says why the old rules stay. Connections that the new rules do not allow are reset, and listed as WITHDRAWN. It writes its refusals into the report, which is shared memory, so
 * the supervisor has them however the edge ends. Each execution of a session also has the report and the socket EDGE_FD_COUNTER.
 */
#ifndef WARDER_EDGE_EDGE_H
#define WARDER_EDGE_EDGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EDGE_MAGIC         0x45475731u
#define EDGE_RULES_MAX     8200 /* twice POLICY_MAX_RULES, and those of the mode learn */
#define EDGE_PORTS_MAX     64
#define EDGE_LISTENERS_MAX 512
#define EDGE_NAMES_MAX     4096
#define EDGE_REFUSALS_MAX  64
#define EDGE_USES_MAX      1024 /* at most the rows of a list in a policy */
#define EDGE_TIMES_MAX     64   /* times of replaced rules; older ones are forgotten */
#define EDGE_FDS_AT_ONCE   128
#define EDGE_PUBLISHED_MAX 64
#define EDGE_INWARD_MAX    64 /* connections to published ports at once; more wait */

/* IPv4 in the host's byte order. Name i of a jail has the address EDGE_BLOCK + 2 + i; EDGE_SELF is the resolver. */
#define EDGE_BLOCK      0xc6120000u /* 198.18.0.0/15 */
#define EDGE_BLOCK_MASK 0xfffe0000u
#define EDGE_SELF       (EDGE_BLOCK + 1)
#define EDGE_FIRST      2

enum edge_fd {
	EDGE_FD_CONTROL = 3, /* SOCK_SEQPACKET: the supervisor's */
	EDGE_FD_SETUP,       /* SOCK_SEQPACKET: the jail's init's */
	EDGE_FD_CONFIG,      /* memory file: struct edge_config */
	EDGE_FD_REPORT,      /* memory file: struct edge_report */
	EDGE_FD_COUNTER, /* SOCK_SEQPACKET: a byte asks the edge to count all packets so far; it then answers with a byte */
	EDGE_FD_COUNT, /* from here on one for each secret of the injects, in their order */
};

enum edge_socket {
	EDGE_SOCKET_DNS,     /* UDP, 198.18.0.1:53 */
	EDGE_SOCKET_DNS_TCP, /* listens there */
	/* Raw sockets: first packets of connections, and datagrams, to anywhere but 127.0.0.0/8, ::1 and 198.18.0.1. */
	EDGE_SOCKET_RAW_TCP,
	EDGE_SOCKET_RAW_UDP,
	EDGE_SOCKET_RAW_TCP6, /* these two tell the destination by IPV6_PKTINFO; without IPv6 they are sockets that never receive */
	EDGE_SOCKET_RAW_UDP6,
	EDGE_SOCKET_COUNT,
};

/* One row of network.allow or network.deny: a host, or an address block. */
struct edge_rule {
	char host
	    [256]; /* "pypi.org", "*.example.org", lower case; "*": every name that a policy can list; "": an address block */
	uint8_t address[16];
	uint8_t prefix;
	uint8_t is_v6;
	uint8_t denies;
	uint8_t pad;
	uint16_t port_count; /* 0: every port, of a rule that denies */
	uint16_t ports[EDGE_PORTS_MAX];
};

/* The host's authorities, which check the servers that get a credential. In a jail with credentials, the run's authority follows them. */
#define EDGE_TRUST "/etc/ssl/certs/ca-certificates.crt"

#define EDGE_INJECTS_MAX        16
#define EDGE_INJECT_METHODS_MAX 8
#define EDGE_INJECT_PATHS_MAX   16
#define EDGE_RULES              2    /* first and only byte of the supervisor's message; see above */
#define EDGE_AUTHORITY          1    /* first byte of the message; the run's authority follows, as PEM */
#define EDGE_AUTHORITY_MAX      4096 /* bytes of that message */

/* A row of network.allow with a credential. */
struct edge_inject {
	char host[256];
	uint32_t row; /* of network.allow */
	uint16_t port_count;
	uint16_t ports[EDGE_PORTS_MAX];
	char header[72];
	char before[136], after[136]; /* the secret in the header's value */
	char methods[EDGE_INJECT_METHODS_MAX][24];
	char paths[EDGE_INJECT_PATHS_MAX][264];
	uint16_t method_count, path_count; /* 0: all */
};

struct edge_listener {
	uint32_t address; /* in the host's byte order; 0: every address */
	uint16_t port;
	uint16_t is_v6; /* 1: of every address, IPv6 addresses are some */
};

struct edge_config {
	uint32_t magic;
	uint32_t uid, gid; /* to become, if it was started as root */
	uint32_t max_connections;
	uint64_t max_bytes; /* of all connections, both ways; UINT64_MAX: unlimited */
	uint32_t rule_count, listener_count, inject_count;
	uint32_t named; /* 0: nothing leaves the jail, and enum edge_socket and the listeners are not sent */
	uint32_t published_count, inward_count;
	uint16_t published[EDGE_PUBLISHED_MAX]; /* ports in the jail, of 127.0.0.1 */
	struct edge_listener listeners[EDGE_LISTENERS_MAX];
	struct edge_inject injects[EDGE_INJECTS_MAX];
	struct edge_rule rules[EDGE_RULES_MAX]; /* the file ends after rule_count rows */
};

static inline size_t edge_config_size(uint32_t rule_count)
{
	return offsetof(struct edge_config, rules) + rule_count * sizeof(struct edge_rule);
}

/* Why something did not pass. X(id, stable name, sentence) */
#define EDGE_REASONS(X)                                                                                      \
	X(NAME, "unlistedName", "network.allow does not list this name")                                     \
	X(ADDRESS, "unlistedAddress", "network.allow does not list this address and port")                   \
	X(OWN, "ownAddress",                                                                                 \
	  "127.0.0.0/8 and ::1 are the jail's own, and no row of network.allow leads to the host's")         \
	X(PORT, "unlistedPort", "network.allow lists this name with other ports")                            \
	X(DENIED, "denied", "network.deny lists it")                                                         \
	X(PROTOCOL, "protocol", "only TCP passes")                                                           \
	X(FIRST_BYTES, "firstBytes", "neither TLS that names a server nor HTTP/1")                           \
	X(UNDECIDED, "undecided", "the first bytes were not complete after 10 seconds")                      \
	X(NO_SERVER_NAME, "noServerName", "a TLS ClientHello without a server name")                         \
	X(ENCRYPTED_HELLO, "encryptedHello", "an encrypted ClientHello hides the server name")               \
	X(OTHER_NAME, "otherName", "the first bytes name another host")                                      \
	X(HTTP, "http", "an HTTP request that is not well formed")                                           \
	X(CONNECT, "connect", "the HTTP method CONNECT")                                                     \
	X(HTTP2, "http2", "HTTP/2 without TLS")                                                              \
	X(PRIVATE, "privateAddress", "the name leads to an address that only a cidr rule may allow")         \
	X(UNRESOLVED, "unresolved", "the host's resolver has no address for the name")                       \
	X(UNREACHABLE, "unreachable", "the host cannot connect to it")                                       \
	X(CONNECTIONS, "maxConnections", "more connections at once than network.maxConnections")             \
	X(PLAIN, "plainText", "a host with a credential takes only TLS")                                     \
	X(CLIENT_TLS, "clientTls", "the program's TLS to a host with a credential fails")                    \
	X(SERVER_TLS, "serverTls", "the server's TLS or its certificate is not accepted")                    \
	X(METHOD, "method", "a method that a host with a credential does not get")                           \
	X(PATH, "path", "a path that can be read in two ways, to a host with a credential")                  \
	X(ANSWER, "answer", "an answer that is not well formed HTTP/1")                                      \
	X(SECRET, "secret", "the answer contains the credential")                                            \
	X(WITHDRAWN, "withdrawn", "the rules that allowed it were replaced")                                 \
	X(BYTES, "bytes", "network.bytes is used up")                                                        \
	X(EXHAUSTED, "exhausted", "the edge has no memory or no descriptors left")

enum edge_reason {
#define X(id, name, text) EDGE_REASON_##id,
	EDGE_REASONS(X)
#undef X
	    EDGE_REASON_COUNT,
};

struct edge_refusal {
	char destination[256]; /* a name or an address */
	char detail[128];      /* EDGE_REASON_OTHER_NAME: that name; or "" */
	uint16_t port;         /* 0: a name was asked for */
	uint8_t protocol;      /* IPPROTO_TCP, IPPROTO_UDP */
	uint8_t reason;
	uint32_t pad;
	uint64_t count;
	uint64_t first_us; /* since 1970 */
};

/* A destination that the edge has connected to. */
struct edge_use {
	char destination[256]; /* a name; an address in the two cases of by_address */
	uint16_t port;
	/* The program connected to the address, or a name led to this special address, which only a block allows. */
	uint8_t by_address;
	uint8_t pad[5];
	uint64_t count;
};

/* Written by the edge alone. A row is complete when row_count or use_count counts it; its count goes on growing. */
struct edge_report {
	_Atomic uint32_t row_count;
	_Atomic uint32_t use_count;
	_Atomic uint64_t refused;  /* all of them */
	_Atomic uint64_t unlisted; /* of these, those that no row had room for */
	_Atomic uint64_t connections;
	_Atomic uint64_t bytes_up, bytes_down;
	_Atomic uint64_t uses_unlisted; /* connections to destinations that `uses` had no room for */
	_Atomic uint64_t rules;         /* how often the rules were replaced */
	uint64_t rules_from;            /* in a copy: how often when the receipt was written */
	uint64_t rules_us
	    [EDGE_TIMES_MAX]; /* when, since 1970: time i, from 1 on, is at (i - 1) % EDGE_TIMES_MAX */
	struct edge_refusal rows[EDGE_REFUSALS_MAX];
	struct edge_use uses[EDGE_USES_MAX]; /* a copy of the report ends after use_count rows */
};

static inline size_t edge_report_size(uint32_t use_count)
{
	return offsetof(struct edge_report, uses) + use_count * sizeof(struct edge_use);
}

#endif
