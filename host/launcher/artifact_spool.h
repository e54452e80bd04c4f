/*
 * artifact_spool: the artifacts of one run, until its end. Private to host/launcher/.
 *
 * Life: artifact_spool_new() for a call, by the main thread -> in its job artifact_spool_open(), the program, and artifact_spool_keep() or
 * artifact_spool_drop() -> artifact_spool_take() and artifact_spool_free(), by the main thread.
 */
#ifndef WARDER_HOST_LAUNCHER_ARTIFACT_SPOOL_H
#define WARDER_HOST_LAUNCHER_ARTIFACT_SPOOL_H

#include "host/launcher/run_artifacts.h"

struct artifact_spool;

/* NULL: no memory. */
struct artifact_spool *artifact_spool_new(int directory_fd, const struct tenant *tenant);
/* Accepts NULL. Files that are still the run's are removed. */
void artifact_spool_free(struct artifact_spool *spool);
/* In the job, before the program begins: the files of its streams, whose names begin with `under`. *ret NULL: the call has left as much as it
 * may. -1 with *err. */
int artifact_spool_open(struct artifact_spool *spool, const char *under, const struct warder_spill **ret,
			struct warder_error *err);
/* In the job: keep the streams that the result has cut (all: those that are not empty), and the files that it holds open. What cannot be kept is
 * noted in the result. */
void artifact_spool_keep(struct artifact_spool *spool, bool all, struct warder_result *result);
/* In the job: the time of all that was kept begins now. */
void artifact_spool_renew(struct artifact_spool *spool);
/* In the job, instead: the program has no result. */
void artifact_spool_close(struct artifact_spool *spool);
/* In the job: an artifact that the caller fills by *ret_fd, with at most *ret_most bytes; both are the caller's. NULL
 * with *err: the field is "bytes" if the call has left as much as it may. */
struct run_artifact *artifact_spool_begin(const struct artifact_spool *spool, const char *name, int *ret_fd,
					  uint64_t *ret_most, struct warder_error *err);
/* It is filled (good), or to be removed. The artifact is taken in any case. -1 with *err: it cannot be read again. */
int artifact_spool_end(struct artifact_spool *spool, struct run_artifact *artifact, int fd, bool good,
		       struct warder_error *err);
/* What was kept so far, as an array of the rows of /v1/artifacts. Heap; NULL: no memory. */
char *artifact_spool_text(const struct artifact_spool *spool);
/* In the job: nobody wants them, so their files are removed. */
void artifact_spool_drop(struct artifact_spool *spool);
/* What was kept, oldest first, which is the caller's from now on. */
struct run_artifact *artifact_spool_take(struct artifact_spool *spool);

#endif
