/*
 * bundle: a plan as the configuration of an OCI runtime (runtime-spec 1.0, config.json). Private to backends/. Pure.
 */
#ifndef WARDER_BACKENDS_BUNDLE_H
#define WARDER_BACKENDS_BUNDLE_H

#include "jail/jail.h"

/* Where everything of a run lies, in a mount namespace of its own: the tmpfs that is mounted there is seen by nobody else. */
#define BUNDLE_PLACE "/tmp"
#define BUNDLE_ROOT  BUNDLE_PLACE "/root"
#define BUNDLE_TMP   BUNDLE_PLACE "/tmp" /* what the container has as /tmp and /dev/shm */
#define BUNDLE_SHM   BUNDLE_PLACE "/shm"
#define BUNDLE_BINDS BUNDLE_PLACE "/bind" /* entry i of the plan's root is mounted at bind/i */

/* Places i of a container where a runtime may mount something over, in ways of its own, without the flags that all of a jail's mounts
 * have; NULL past the end. */
const char *bundle_loose(size_t i, bool *ret_read_only);

/* `network`: path of the network namespace to enter, or NULL for a new one with loopback, where the plan has one of its own.
 * Returns heap text; NULL on want of memory. */
char *bundle_config(const struct jail_start *start, const char *network);

#endif
