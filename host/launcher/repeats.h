/*
 * repeats: the answers of requests with an idempotency key, for clients that ask again because they did not get the answer. Private to
 * host/launcher/.
 *
 * Life of a row: repeats_begin() when the program is about to start -> repeats_finish() with its answer, or repeats_forget() if it did not
 * run -> it is dropped after REPEATS_KEPT_US, or earlier when a limit of bytes is reached: then the oldest row of the tenant with the most
 * bytes goes. Main thread. Rows are in memory: a launcher that starts knows none.
 */
#ifndef WARDER_HOST_LAUNCHER_REPEATS_H
#define WARDER_HOST_LAUNCHER_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"

#define REPEATS_KEPT_US      UINT64_C(600000000)
#define REPEATS_BYTES_MAX    ((size_t)64 << 20) /* of all answers */
#define REPEATS_TENANT_BYTES ((size_t)8 << 20)  /* of those of one tenant */
#define REPEATS_TENANT_MAX   256                /* rows of one tenant */
#define REPEATS_KEY_MAX      128

struct repeat {
	struct repeat *next; /* older */
	struct repeats_tenant *tenant;
	char request[SHA256_HEX]; /* digest */
	char key[REPEATS_KEY_MAX + 1];
	uint64_t ended_us; /* 0: the program runs */
	char *answer;      /* owned; NULL: the program runs, or its result was lost */
	size_t len;
};

/* A tenant that has rows. */
struct repeats_tenant {
	struct repeats_tenant *next;
	char digest[SHA256_HEX]; /* of its token: another tenant of the same name is another one */
	struct repeat *rows;     /* newest first */
	size_t count, bytes;     /* of the rows; of their answers */
};

struct repeats {
	struct repeats_tenant *tenants;
	size_t bytes; /* of all answers */
};

/* The row of a tenant's key, or NULL. */
struct repeat *repeats_find(const struct repeats *repeats, const char *tenant, const char *key);
/* NULL: no memory, or the tenant has too many programs with a key that run. */
struct repeat *repeats_begin(struct repeats *repeats, const char *tenant, const char *key,
			     const char *request);
/* The answer is copied. NULL: the program ran, and its result was lost. Without memory for the answer, it is lost, too. */
void repeats_finish(struct repeats *repeats, struct repeat *row, const char *answer, uint64_t now_us);
void repeats_forget(struct repeats *repeats, struct repeat *row);
/* Drop the rows whose time is over. */
void repeats_sweep(struct repeats *repeats, uint64_t now_us);
void repeats_done(struct repeats *repeats);

#endif
