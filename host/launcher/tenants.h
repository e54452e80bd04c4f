/*
 * tenants: who may use an execution host, and how much of it. Private to host/launcher/ and the command line.
 *
 * A tenant is a file of the state directory. It holds the digest of the tenant's token; the token itself is printed once and stored nowhere.
 * Life of a table: zeroed -> tenants_load() -> tenants_find() -> tenants_done().
 */
#ifndef WARDER_HOST_LAUNCHER_TENANTS_H
#define WARDER_HOST_LAUNCHER_TENANTS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/sha256.h"
#include "remote/remote.h"
#include "runtime/warder.h"

#define TENANT_NAME_MAX    64
#define TENANT_TOKEN_BYTES 45 /* "e2b_", 40 digits, NUL */
#define TENANTS_MAX        4096
#define TENANT_UID_MAX     (UINT32_MAX - 1) /* the kernel uses (uid_t)-1 for "no user" */

/* What a tenant's token may be used for. */
enum tenant_scope {
	TENANT_READ = 1,      /* see sandboxes, and this host */
	TENANT_SANDBOXES = 2, /* create, use and end sandboxes */
	TENANT_RUN = 4,       /* run programs without a sandbox of their own */
	TENANT_SCOPES = 7,    /* what a tenant has by default */
	TENANT_METRICS = 8,   /* read the numbers of this host, which concern all tenants */
};

struct tenant_limits {
	uint64_t sandboxes;           /* at a time, paused ones included */
	uint64_t memory_bytes;        /* sum over the sandboxes and runs */
	uint64_t cpu_milli;           /* sum of limits.cpus, in thousandths */
	uint64_t launches_per_second; /* sandboxes and runs */
	uint64_t queue;               /* requests that wait for a worker */
	uint64_t spool_bytes;         /* sum of the output that its sandboxes may keep for clients */
	uint64_t snapshots;           /* of its sandboxes' files */
	uint64_t snapshot_bytes;      /* sum of the files in its snapshots */
	uint64_t artifact_seconds;    /* that an artifact stays after the end of its program */
	uint64_t artifact_bytes;      /* sum of its artifacts, and of those that its runs may still leave */
};

struct tenant {
	char name[TENANT_NAME_MAX + 1];
	char digest[SHA256_HEX]; /* of the token */
	unsigned int scopes;     /* enum tenant_scope */
	uint64_t expires_ms;     /* since the epoch; 0: never */
	bool old_clients;        /* the name of a sandbox is the key to its code interpreter */
	bool has_uid;            /* the user `uid` needs no token at the Unix socket of this host */
	uint32_t uid;
	struct tenant_limits limits;
	struct warder_policy *ceiling;     /* owned; NULL: the host's */
	char request_key[REMOTE_KEY_TEXT]; /* that signs its requests to a fleet; "": it may send none */
};

struct tenants {
	struct tenant *items;
	size_t count;
};

/* What a new tenant gets; zero and NULL stand for the defaults. */
struct tenant_options {
	const char *scopes; /* names with commas between them */
	uint64_t expires_us;
	const char *ceiling; /* path of a policy document */
	const char *request_key;
	const char *uid; /* in decimal */
	bool old_clients;
};

/* Read all tenants. A file that cannot be read as a tenant is reported to log(), or to nobody if this is NULL, and left out. -1 with *err. */
int tenants_load(const char *state, void (*log)(const char *line), struct tenants *ret,
		 struct warder_error *err);
/* The tenant of a token's digest, or NULL; also NULL when the token has expired. */
const struct tenant *tenants_find(const struct tenants *tenants, const char *digest, uint64_t now_ms);
/* The tenant of a user, or NULL; also NULL when its token has expired, and when the files of two tenants have the uid. */
const struct tenant *tenants_of_uid(const struct tenants *tenants, uint32_t uid, uint64_t now_ms);
/* By name, or NULL. */
const struct tenant *tenants_named(const struct tenants *tenants, const char *name);
void tenants_done(struct tenants *tenants);
/* Decode the file of a tenant. -1 with *err naming the member. */
int tenant_parse(const char *name, const char *text, struct tenant *ret, struct warder_error *err);
void tenant_done(struct tenant *tenant);
/* Make a tenant. -1 with *err: CONFLICT, there is one of that name, or of that uid. */
int tenants_add(const char *state, const char *name, const struct tenant_options *options,
		char ret_token[TENANT_TOKEN_BYTES], struct warder_error *err);
/* Read the tenant of that name from its file. *ret is the caller's, for tenant_done(). -1 with *err (NOT_FOUND). */
int tenants_read(const char *state, const char *name, struct tenant *ret, struct warder_error *err);
/* Remove a tenant: its token is refused from now on. -1 with *err (NOT_FOUND). */
int tenants_revoke(const char *state, const char *name, struct warder_error *err);
/* The names of scopes, as a JSON array into an open place. */
struct json_writer;
void tenant_write_scopes(unsigned int scopes, struct json_writer *w);
/* The limits, as members of an open object. */
void tenant_write_limits(const struct tenant_limits *limits, struct json_writer *w);
/* All tenants as a JSON array, without digests; heap. NULL with *err. */
char *tenants_list(const char *state, struct warder_error *err);

#endif
