/*
 * outputs: what a program wrote: by digests in its answer, so that the signature of the answer is for them, too; and as artifacts. Private to
 * host/launcher/.
 *
 * Any thread.
 */
#ifndef WARDER_HOST_LAUNCHER_OUTPUTS_H
#define WARDER_HOST_LAUNCHER_OUTPUTS_H

#include "base/error.h"
#include "host/launcher/artifact_spool.h"
#include "runtime/warder.h"

/* Add the member "outputs" to an answer, a JSON object on the heap with at least one member: for standard output and error {offset, bytes,
 * sha256} of what the result has of it. *answer is replaced. Nothing is added if that is not known. -1 with *err, and then *answer is as it
 * was. */
int outputs_add_result(const struct warder_result *result, char **answer, struct warder_error *err);
/* The same of what the keeper of a session still has of the output of an execution that has ended. An older keeper can be asked, too. */
int outputs_add_execution(const char *session, const char *id, char **answer, struct warder_error *err);
/* What the keeper of a session still has of the output of an execution, or of a context, by now: an artifact ID/stdout and one ID/stderr, except
 * of a stream without output. -1 with *err (NOT_FOUND: it has no such execution). */
int outputs_keep_execution(const char *session, const char *id, struct artifact_spool *spool,
			   struct warder_error *err);

#endif
