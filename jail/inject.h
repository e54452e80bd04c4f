/*
 * inject: the parts of a launch for the credentials of network.allow: the rows for the edge, and the files of the secrets, which are opened but
 * never read here. Host side.
 */
#ifndef WARDER_JAIL_INJECT_H
#define WARDER_JAIL_INJECT_H

#include <stddef.h>

#include "base/error.h"
#include "edge/edge.h"
#include "policy/policy.h"

/* Write the policy's rows with a credential, in their order. */
void inject_rows(const struct policy *policy, struct edge_config *config);
/* Open the file of each of these rows into fds, which has EDGE_INJECTS_MAX descriptors at -1; the caller closes them. -1 with *err. */
int inject_open(const struct policy *policy, int *fds, struct warder_error *err);

#endif
