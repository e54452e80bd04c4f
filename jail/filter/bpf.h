/*
 * bpf: a small assembler for classic BPF programs of seccomp. Private to this folder.
 *
 * A program is written from its last instruction to its first: classic BPF jumps only forward, so every target
 * is there before the jump to it is written. A label is the place of an instruction, counted from the end.
 * Life: a zeroed struct bpf -> bpf_return/_branch/_load/_and/_bit, each returning the label of what it
 * wrote -> bpf_finish(). Pure; any thread.
 */
#ifndef WARDER_JAIL_FILTER_BPF_H
#define WARDER_JAIL_FILTER_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jail/filter/seccomp.h"

struct bpf {
	size_t count;
	bool full; /* an instruction did not fit; what was returned since then is meaningless */
	struct sock_filter code[SECCOMP_PROGRAM_MAX]; /* in reverse: [0] is the last instruction */
	uint16_t stone[SECCOMP_PROGRAM_MAX];          /* by label: the last stepping stone to it; 0: none */
	size_t verdict;                               /* the last verdict, + 1; 0: none */
	uint16_t earlier[SECCOMP_PROGRAM_MAX]; /* by label of a verdict: the one before it, + 1; 0: none */
};

/* End with a verdict (SECCOMP_RET_*). One within reach is used again. */
size_t bpf_return(struct bpf *bpf, uint32_t verdict);
/* Compare the accumulator with `value` (BPF_JEQ, BPF_JGE, BPF_JSET) and go on at `yes` or `no`, however far. */
size_t bpf_branch(struct bpf *bpf, uint16_t comparison, uint32_t value, size_t yes, size_t no);
/* Load the 32-bit word at `offset` of struct seccomp_data, go on at `next`. */
size_t bpf_load(struct bpf *bpf, uint32_t offset, size_t next);
/* Mask the accumulator, go on at `next`. */
size_t bpf_and(struct bpf *bpf, uint32_t mask, size_t next);
/* Go on at `yes` if the bit of `bits` that the accumulator numbers is set, else at `no`. It has to be below 32. */
size_t bpf_bit(struct bpf *bpf, uint32_t bits, size_t yes, size_t no);
/* Turn what was written last into the first instruction. 0; -1 if the program is longer than
 * SECCOMP_PROGRAM_MAX. */
int bpf_finish(const struct bpf *bpf, struct seccomp_program *ret);

#endif
