/*
 * confine: the edge's own jail.
 */
#ifndef WARDER_EDGE_CONFINE_H
#define WARDER_EDGE_CONFINE_H

#include <stdint.h>

/* Leave every file, every privilege and every system call that serving does not need. As root the process becomes uid and gid; else it
 * enters a user namespace of its own. Irreversible. 0; -1 with errno and *ret_what. */
int confine(uint32_t uid, uint32_t gid, const char **ret_what);

#endif
