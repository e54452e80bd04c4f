/*
 * spool: what of a run its result has no room for, on its way into the artifact store (--artifacts store:). Private to cli/.
 *
 * Life: spool_open() before anything is started: what cannot work is refused there -> the run is given `spill` -> spool_keep() hands the
 * files over to warder-store, and notes in the result where they are, or why they are not -> spool_done(). One run at a time; a run
 * after it needs a spool of its own. The files have no names: whoever dies, nothing is left of them.
 */
#ifndef WARDER_RUNTIME_CLI_SPOOL_H
#define WARDER_RUNTIME_CLI_SPOOL_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"
#include "runtime/library/result.h"
#include "runtime/warder.h"

struct spool {
	const char *session; /* before every name, "run-1/" or "run-1"; "": nothing */
	char program[PATH_MAX];
	int fds[2];
	struct warder_spill spill; /* points into the struct, which is not to be moved */
	bool open;
};

#define SPOOL_NONE ((struct spool){ .fds = { -1, -1 } })

/* Whether a value of --artifacts means the store: "store:" or "store:PREFIX/". */
bool spool_is_meant(const char *artifacts);
/* At most bytes_max (0: 256 MiB) of each stream. A value that does not mean the store, or NULL: nothing is opened. -1 with *err: no store, no
 * warder-store, or a session that cannot stand in names. */
int spool_open(const char *artifacts, uint64_t bytes_max, struct spool *ret, struct warder_error *err);
/* Of a result: the streams that were cut (with `all`: each that is not empty), and the files that it holds. `under` stands between session
 * and name ("case-1/"; ""). Never fails: faults are in the result. */
void spool_keep(const struct spool *spool, const char *under, bool all, struct warder_result *result);
void spool_done(struct spool *spool);

#endif
