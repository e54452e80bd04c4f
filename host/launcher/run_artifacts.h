/*
 * run_artifacts: what programs have left for their clients, beyond what a result has room for: output and files of programs without a sandbox,
 * output of the cases of a batch, and files of a sandbox that a client asked for. Private to host/launcher/.
 *
 * Each is a file of the state directory, artifacts/ID, and a row in memory. A launcher empties the directory when it starts and when it ends, so
 * that a row never lacks its file, and no file stays without a row.
 *
 * Life of one: artifact_spool_new() for a call -> its job: artifact_spool_open(), the program, artifact_spool_keep(), for a batch again and
 * again; or artifact_spool_begin(), artifact_spool_end() -> run_artifacts_add() -> its tenant's artifactSeconds later, or by its client, or with its tenant: run_artifacts_remove() or run_artifacts_sweep().
 */
#ifndef WARDER_HOST_LAUNCHER_RUN_ARTIFACTS_H
#define WARDER_HOST_LAUNCHER_RUN_ARTIFACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/sha256.h"
#include "host/launcher/tenants.h"
#include "runtime/warder.h"

#define ARTIFACT_ID_LENGTH    36                   /* "art-", and 32 digits */
#define ARTIFACT_STREAM_BYTES (UINT64_C(64) << 20) /* most of a stream; most of all files of a run together */
#define ARTIFACT_RUN_BYTES    (3 * ARTIFACT_STREAM_BYTES) /* most of a call */
#define ARTIFACT_LEAST        (UINT64_C(64) << 10)        /* that one counts for its tenant */

struct run_artifact {
	struct run_artifact *next;       /* older */
	char id[ARTIFACT_ID_LENGTH + 1]; /* and the name of its file */
	char tenant[TENANT_NAME_MAX + 1];
	char tenant_digest[SHA256_HEX]; /* of its token: another tenant of the same name is another one */
	char *name;                     /* owned */
	const char *content_type;       /* constant */
	char sha256[SHA256_HEX];
	uint64_t size;
	uint64_t offset;                 /* of its first byte in the output that it is of */
	uint64_t created_ms, expires_ms; /* since the epoch; created: when the program had ended */
};

struct run_artifacts {
	int directory_fd;
	struct run_artifact *items; /* newest first */
	uint64_t swept_ms;
};

struct launcher;

/* ---- the table: main thread ---- */

/* Open the directory, and empty it. state: as of state_open(). -1 with *err. */
int run_artifacts_open(const char *state, struct run_artifacts *ret, struct warder_error *err);
/* Empty the directory, and forget the rows. */
void run_artifacts_close(struct run_artifacts *artifacts);
/* Take what a run has left, as artifact_spool_take() returns it. */
void run_artifacts_add(struct launcher *launcher, struct run_artifact *artifact);
/* The same of a call whose client does not learn of them: a job removes their files. */
void run_artifacts_drop(struct launcher *launcher, struct run_artifact *artifact);
/* A tenant's. NULL: there is none. */
const struct run_artifact *run_artifacts_find(const struct run_artifacts *artifacts,
					      const struct tenant *tenant, const char *id);
bool run_artifact_is_of(const struct run_artifact *artifact, const struct tenant *tenant);
/* What the artifacts of a tenant count. */
uint64_t run_artifacts_bytes(const struct run_artifacts *artifacts, const char *tenant);
/* Take it out of the table; a job removes its file. False: no memory; nothing was done. */
bool run_artifacts_remove(struct launcher *launcher, const struct run_artifact *artifact);
/* The same for those whose time is over, or whose tenant is gone. */
void run_artifacts_sweep(struct launcher *launcher, uint64_t now_ms);
/* The members that say what it is, into an open object. */
void run_artifact_write(const struct run_artifact *artifact, struct json_writer *w);
/* The whole object, with its name. */
void run_artifact_write_row(const struct run_artifact *artifact, struct json_writer *w);

/* ---- one of them ---- */

/* One with an id and an empty file, which *ret_fd can read and write. NULL with *err. */
struct run_artifact *run_artifact_new(int directory_fd, const struct tenant *tenant, const char *name,
				      int *ret_fd, struct warder_error *err);
/* Its file, too, if directory_fd is not -1. */
void run_artifact_free(struct run_artifact *artifact, int directory_fd);

#endif
