/*
 * state: the directory of an execution host: tenants, records of sandboxes and snapshots, and the tenants' stores. Private to host/launcher/ and the command line.
 *
 * It has mode 0700 and belongs to the user of the host. Files in it have mode 0600 and are replaced by rename, so that a reader sees the old
 * or the new content.
 *   tenants/NAME.json   sandboxes/ID.json   keys/host.json   snapshots/ID.json   stores/TENANT/
 */
#ifndef WARDER_HOST_LAUNCHER_STATE_H
#define WARDER_HOST_LAUNCHER_STATE_H

#include <stddef.h>

#include "base/error.h"

#define STATE_TENANTS   "tenants"
#define STATE_SANDBOXES "sandboxes"
#define STATE_KEYS      "keys"
#define STATE_SNAPSHOTS "snapshots"
#define STATE_STORES    "stores"
#define STATE_ARTIFACTS "artifacts"

#define STATE_BYTES_MAX ((size_t)2 << 20) /* of a file */

/* Take the lock of the state directory, as one launcher at a time may; sandboxes_fd holds it. What a launcher that was killed had just
 * started holds the lock for a moment. -1 with *err (CONFLICT: a launcher runs). */
int state_lock(int sandboxes_fd, struct warder_error *err);
/* Open a directory of the state, and make it if it is not there. path: that of --state, or NULL for the default: /var/lib/warder/host for
 * root, else $XDG_STATE_HOME/warder (~/.local/state/warder). part: one of the above. *ret_fd is the caller's. -1 with
 * *err, which names --state. */
int state_open(const char *path, const char *part, int *ret_fd, struct warder_error *err);
/* Read "NAME.json" of a part. *ret is heap and ends with a NUL. -1 with *err (NOT_FOUND). */
int state_read(int part_fd, const char *name, char **ret, struct warder_error *err);
/* Replace it. -1 with *err (INVALID_REQUEST: longer than a file that state_read() takes). */
int state_write(int part_fd, const char *name, const char *text, struct warder_error *err);
/* Remove it. 1: it was not there. -1 with *err. */
int state_remove(int part_fd, const char *name, struct warder_error *err);
/* Call back with each NAME, until it returns non-zero; that. -1 with *err. */
int state_each(int part_fd, int (*each)(void *context, const char *name), void *context,
	       struct warder_error *err);

/* Remove files that state_write() had begun when its process was killed. While nobody else writes there. */
void state_sweep(int part_fd);
/* Remove the files of a part whose names begin with the prefix. */
void state_remove_all(int part_fd, const char *prefix);

#endif
