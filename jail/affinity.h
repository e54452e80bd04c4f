/*
 * affinity: the processors that a jail begins with.
 *
 * A program that asks how many processors there are (nproc, Go, Java, Node, Python) reads its affinity mask. A jail whose limit is
 * below what its caller has gets a mask of that many, of the processors with the fewest jails. It is a hint for these programs,
 * not the limit: a program may set its mask anew. Life: affinity_choose() in the launch -> the mask goes to the payload -> the claims are held until
 * affinity_done(), or the process's death. Host side, any thread.
 */
#ifndef WARDER_JAIL_AFFINITY_H
#define WARDER_JAIL_AFFINITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AFFINITY_WORDS      128 /* of a mask: 8192 processors, more than Linux has */
#define AFFINITY_CLAIMS_MAX 16  /* beyond so many processors a jail's are not counted */

struct affinity_mask {
	uint64_t words[AFFINITY_WORDS];
	uint32_t bytes; /* of these that the kernel uses */
};

struct affinity {
	struct affinity_mask *mask; /* owned; NULL: none */
	int claims[AFFINITY_CLAIMS_MAX];
	uint32_t claim_count;
};

/* This thread's mask. Returns the number of processors in it, 1 or more; where the kernel does not tell, *ret has no bytes. */
uint32_t affinity_available(struct affinity_mask *ret);
/* A mask of so many of this thread's processors, or none if it has no more than these. *ret is released with affinity_done(). */
void affinity_choose(uint32_t processors, struct affinity *ret);
/* Whether "Cpus_allowed" of /proc/<pid>/status (the text after the colon) is that mask. Pure. */
bool affinity_is(const struct affinity_mask *mask, const char *text);
/* Its processors as "0,2-3", cut where it does not fit. Pure. Returns `buf`. */
const char *affinity_print(const struct affinity_mask *mask, char *buf, size_t size);
void affinity_done(struct affinity *affinity);
/* The mask is not needed any more: the claims stay. */
void affinity_drop_mask(struct affinity *affinity);

#endif
