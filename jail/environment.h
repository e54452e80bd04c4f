/*
 * environment: the payload's environment, built from nothing.
 */
#ifndef WARDER_JAIL_ENVIRONMENT_H
#define WARDER_JAIL_ENVIRONMENT_H

#include "policy/policy.h"

/* Documented base variables, then an image's (`image`, may be NULL), then what the policy's mode lets in from `host` (NULL-terminated, may be NULL), then the
 * policy's own settings; later ones replace earlier ones. Heap array of heap strings, NULL-terminated;
 * environment_free(). NULL on want of memory. */
char **environment_build(const struct policy *policy, char *const *image, char *const *host);
/* A copy of `base` with `extra` ("NAME=value", may be NULL) on top. */
char **environment_merge(char *const *base, char *const *extra);
const char *environment_get(char *const *environment, const char *name); /* NULL: not set */
void environment_free(char **environment);

#endif
