/*
 * bundle: a plan as the configuration of an OCI runtime (runtime-spec 1.0, config.json). Private to backends/. Pure.
 */
#ifndef WARDER_BACKENDS_CONTAINER_BUNDLE_H
#define WARDER_BACKENDS_CONTAINER_BUNDLE_H

#include "jail/jail.h"

/* Place i of a container where a runtime may mount something over, in a way of its own, without the flags that all of a jail's mounts
 * have: nosuid, noexec, read-only, which no device minds. NULL past the end. */
const char *bundle_loose(size_t i);

/* What lies where is said by backends/container/layout.h. A network namespace that the start has is entered; where the plan has one of its own and
 * the start none, the runtime makes it, with loopback. No control group is asked for. Returns heap text; NULL on want of memory. */
char *bundle_config(const struct jail_start *start);

/* The filter alone, as an engine takes it, with what an init needs besides that fetches its descriptors. Heap text; NULL on want of
 * memory. */
char *bundle_profile(const struct policy *policy);

#endif
