/*
 * link: the messages between the front, which speaks HTTP, and the launcher, which owns sandboxes and tenants.
 *
 * Both ends are a SOCK_SEQPACKET socket. The front sends a struct link_request, the launcher answers each one with a struct link_answer of
 * the same number, in any order. A text that goes with a message (a JSON document, or the bytes of a program's input) comes beside it as a
 * sealed memory file.
 *
 * The launcher trusts nothing in a request except what it checks itself: it knows a tenant or a sandbox only by the digest of a key that a
 * client showed, or by the connection of a Unix socket, which the launcher checks with the kernel (host/launcher/peer.h). So a front that an
 * attacker has taken over can act for the clients that have spoken to it since, and for no others.
 *
 * The first message of the launcher is a struct link_welcome with the socket that listens for HTTP.
 */
#ifndef WARDER_HOST_LINK_H
#define WARDER_HOST_LINK_H

#include <stdbool.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/sha256.h"

#define LINK_FD              4 /* the front's end, in its jail */
#define LINK_MAGIC           0x4b4e4c57u
#define LINK_SANDBOX_MAX     32             /* bytes of a sandbox's id, with the NUL */
#define LINK_BYTES_MAX       (1024u * 1024) /* of the text of a request */
#define LINK_FDS             2              /* of a message: the text, and a connection or a file */
#define LINK_HOSTS_BYTES     2048
#define LINK_DOMAINS_BYTES   512
#define LINK_CERTIFICATE_MAX (256u * 1024) /* bytes of the certificate and its key */

enum link_call {
	LINK_READY = 1, /* the front listens, or (value 1) has refused the connection of this launcher */
	LINK_HEALTH,    /* without a key: 200, or 503 if no jail can be launched */
	LINK_WHO,       /* a JSON object: the tenant of the key and its scopes */
	LINK_HOST,      /* a JSON object: this host */
	LINK_CREATE,    /* text: JSON; value: enum link_create; a JSON object of it */
	LINK_LIST,      /* a JSON array of the tenant's sandboxes */
	LINK_SHOW,      /* of one sandbox, as in the list */
	LINK_REMOVE,    /* end a sandbox */
	LINK_TIMEOUT,   /* value: seconds from now after which the sandbox ends */
	/* a connection to the sandbox's keeper; without a port, its JSON object; value: LINK_OPEN_PORT, LINK_OPEN_AGENT */
	LINK_OPEN,
	LINK_RUN,      /* text: JSON; a JSON result */
	LINK_PAUSE,    /* stop all programs of a sandbox */
	LINK_RESUME,   /* let them go on; value: seconds from now after which the sandbox ends, 0: 300 */
	LINK_CONTROLS, /* a JSON object: what a jail of this host can enforce */
	LINK_CODE,     /* text: JSON; a JSON result of a piece of code */
	LINK_POLICIES, /* a JSON object: the templates and the ceiling */
	LINK_POLICY,   /* value: enum link_policy; text: JSON; a JSON object */
	LINK_METRICS,  /* a text for Prometheus */
	LINK_CANCEL,   /* value: a request of this front whose answer nobody awaits; not answered */
	LINK_CERTIFICATE, /* number: of an offer; value 1: the front took the certificate, 0: it cannot; not answered */
	LINK_NETWORK, /* text: JSON, as in narrow.h: the rules of a sandbox that runs are those of its policy, narrowed so */
	LINK_STORE, /* text: {"name": ...}; store the files of a sandbox; a JSON object of the new snapshot */
	LINK_SNAPSHOTS, /* a JSON array of the tenant's snapshots */
	LINK_FORGET,    /* text: {"id": ...}; remove a snapshot */
	/* text: a message of the Model Context Protocol, on one line; value: enum mcp_version, or MCP_VERSIONS: the message chooses it; the
	 * answer, on one line */
	LINK_MCP,
	LINK_JUDGE,         /* text: JSON; value: enum link_judge */
	LINK_ARTIFACTS,     /* a JSON array of the tenant's artifacts */
	LINK_ARTIFACT,      /* text: {"id": ...}; a descriptor for reading one */
	LINK_DROP_ARTIFACT, /* text: {"id": ...}; remove one */
	LINK_EVENTS,        /* text: {"after": ...}; lines of a name, an id, JSON, in any number of answers */
	LINK_RESULT,        /* text: the id of an execution, a blank, a nonce; its signed JSON result */
	LINK_KEEP, /* text: {"paths": [...]} or {"execution": ID}; a JSON array of new artifacts: files of the sandbox, or output */
	LINK_KNOWN, /* 204: the key is a tenant's */
	LINK_CALLS,
};

#define LINK_OFFER                                                                                           \
	0 /* number of an answer to no request: its text is another certificate, NUL, its private key, in PEM */

#define LINK_OPEN_PORT  UINT64_C(0xffffffff) /* the port that the client wants to reach; 0: none */
#define LINK_OPEN_AGENT (UINT64_C(1) << 32)  /* the front will ask the sandbox's agent */

/* A new sandbox ends at its time; or after a minute, unless a client names it before. */
enum link_create { LINK_CREATE_PLAIN, LINK_CREATE_CLAIMED };

/* What is asked about a policy. */
enum link_policy { LINK_POLICY_SHOW, LINK_POLICY_CHECK, LINK_POLICY_EXPLAIN, LINK_POLICY_ASKS };

/* How a batch is answered: with one JSON object; with lines of a word, a blank and JSON, in several answers. */
enum link_judge { LINK_JUDGE_OBJECT, LINK_JUDGE_EVENTS };

/* What the digest of a request is of. */
enum link_key {
	LINK_KEY_NONE,
	LINK_KEY_TENANT,  /* a tenant's token */
	LINK_KEY_SANDBOX, /* the access token of the sandbox that the request names */
	LINK_KEY_TRAFFIC, /* the traffic token of the sandbox that the request names */
	LINK_KEY_SIGNATURE, /* the signature of a URL, for LINK_OPEN: the text of the request is what it is of (signature.h) */
	LINK_KEY_PEER, /* no digest; the client's connection follows the text, and its user is bound to a tenant */
	LINK_KEY_NAME, /* no digest: for LINK_OPEN, of a sandbox whose tenant has clients that show no key to the code interpreter */
	LINK_KEYS,
};

struct link_request {
	uint32_t magic, size;
	uint32_t call, key_kind; /* enum link_call, enum link_key */
	uint64_t number;         /* of the request */
	uint64_t value;
	uint64_t bytes; /* of the text beside it; 0: there is none */
	char key[SHA256_HEX];
	char sandbox[LINK_SANDBOX_MAX]; /* its id, or "" */
};

struct link_answer {
	uint32_t magic, size;
	uint32_t status; /* of HTTP: 200, 201, 204, or an error */
	uint32_t retry_s;
	uint64_t number;
	uint64_t bytes;   /* of the text beside it; 0: there is none */
	uint64_t tenant;  /* a number for the tenant whose key it was; 0: of none */
	uint64_t offer;   /* of LINK_OFFER: its number */
	uint32_t has_fd;  /* 1: a descriptor follows that of the text */
	uint32_t more;    /* 1: another answer to the request follows */
	uint32_t records; /* of LINK_OPEN: the version of the records that the keeper takes */
	uint32_t unused;
	struct warder_error error; /* where status is 400 or more */
};

/* Limits of the HTTP surface. The operator's settings change them. */
struct link_limits {
	uint64_t connections, connections_a_tenant; /* at a time */
	uint64_t header_bytes, header_seconds;      /* of a request */
	uint64_t body_bytes, file_bytes;            /* of a request; file_bytes of an upload */
	uint64_t wrong_tokens;                      /* of an address within a minute */
	uint64_t waiting_bytes; /* of all streams that wait for their clients; no setting */
};

struct link_welcome {
	uint32_t magic, size;
	struct link_limits limits;
	uint64_t
	    certificate_bytes; /* of a memory file beside the socket: certificate, NUL, private key, in PEM; 0: plain HTTP */
	char hosts
	    [LINK_HOSTS_BYTES]; /* values of the Host header that are served, with a blank between them */
	/* What follows "PORT-SANDBOX." in the Host headers of sandboxes, with a blank between them: the first one is for clients. "": sandboxes
	 * have no names. */
	char domains[LINK_DOMAINS_BYTES];
};

/* Whether `len` bytes are a valid message. Call it before any use of the message. */
bool link_request_valid(const struct link_request *request, size_t len);
bool link_answer_valid(const struct link_answer *answer, size_t len);
bool link_welcome_valid(const struct link_welcome *welcome, size_t len);
/* The digest of a key that a client showed, in hexadecimal. */
void link_digest(const char *key, char ret[SHA256_HEX]);
/* The status of HTTP that says what a kind of error means: 400, 403, 404, ... */
unsigned int link_status(uint32_t error_code);

#endif
