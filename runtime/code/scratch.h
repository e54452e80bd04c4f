/*
 * scratch: a temporary directory of the host, in the place of a jail's /tmp, for a backend whose programs have no root of their
 * own; and for files of a session on another machine, on their way. Private to code/ and cli/.
 *
 * Life: SCRATCH_NONE -> scratch_open() -> the path stands in command lines, the jail puts files there and takes them out ->
 * scratch_done(), which removes it with all it holds. If the process dies before, the jail's init removes the directory; if init
 * had ended already, the next scratch_open() of the same user does.
 *
 * The directory is below TMPDIR if that is an absolute path, else below /tmp; only its owner may enter it.
 */
#ifndef WARDER_RUNTIME_CODE_SCRATCH_H
#define WARDER_RUNTIME_CODE_SCRATCH_H

#include "base/error.h"

#define SCRATCH_PATH_BYTES 1024

struct scratch {
	int fd; /* locked as long as it is in use; -1: none */
	char path[SCRATCH_PATH_BYTES];
};
#define SCRATCH_NONE ((struct scratch){ .fd = -1 })

/* Make it, with the empty directory `box` in it. -1 with *err (UNAVAILABLE, INVALID_REQUEST): nothing is left. */
int scratch_open(const char *box, struct scratch *ret, struct warder_error *err);
/* Takes one that was not opened, too. */
void scratch_done(struct scratch *scratch);

#endif
