/*
 * block: writes the wire block (jail/inside/wire.h) that a jail's init reads. A template holds the part that all
 * launches share; a launch copies it and appends its arguments and environment. Host side.
 */
#ifndef WARDER_JAIL_BLOCK_H
#define WARDER_JAIL_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jail/inside/wire.h"
#include "jail/jail.h"
#include "jail/proc.h"

struct block {
	char *bytes;
	size_t len, cap;
	bool failed; /* an allocation failed; stays */
};

/* Reserve `len` zeroed bytes aligned to 8; returns their offset (0 after a failure). */
uint32_t block_reserve(struct block *block, size_t len);
uint32_t block_append(struct block *block, const void *bytes, size_t len);
uint32_t block_string(struct block *block, const char *text);
/* A 0-terminated row of uint64_t offsets of the strings. */
uint32_t block_strings(struct block *block, char *const *items, size_t count);
static inline struct wire_block *block_header(struct block *block)
{
	return (struct wire_block *)(void *)block->bytes;
}
/* The part that is the same for every launch of a plan. Entry descriptors are left at -1. */
int block_from_plan(struct block *ret, const struct jail_plan *plan, bool reusable, struct warder_error *err);
/* The texts of what is different at every launch: what covers names of /proc. */
void block_add_moment(struct block *block, const struct jail_plan *plan, const struct proc_moment *moment);
/* Add the files of authorities, for a plan with credentials; none if they are empty. */
void block_add_trust(struct block *block, const struct trust *trust);
/* Whether an entry of a plan is mounted at every launch, not when the root is built; `detached`: as root, with detached mounts. */
bool block_is_late(const struct rootfs *rootfs, size_t index, bool detached);
/* A memfd with the block's bytes; -1 with *err. */
int block_memfd(struct block *block, struct warder_error *err);
void block_done(struct block *block);

#endif
