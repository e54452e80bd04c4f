/*
 * bpf: a small assembler for classic BPF programs of seccomp. Private to this folder.
 *
 * A program is written from its last instruction to its first: classic BPF jumps only forward, so every target
 * is there before the jump to it is written. A label is the place of an instruction, counted from the end.
 * Life: a zeroed struct bpf -> bpf_return/_branch/_load/_and, each returning the label of what it
 * wrote -> bpf_finish(). Pure; any thread.
 */
#ifndef WARDER_JAIL_BPF_H
#define WARDER_JAIL_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jail/seccomp.h"

struct bpf {
	size_t count;
	bool full; /* an instruction did not fit; what was returned since then is meaningless */
	struct sock_filter code[SECCOMP_PROGRAM_MAX]; /* in reverse: [0] is the last instruction */
};

/* End with a verdict (SECCOMP_RET_*). One within reach is used again. */
size_t bpf_return(struct bpf *bpf, uint32_t verdict);
/* Compare the accumulator with `value` (BPF_JEQ, BPF_JGE, BPF_JSET) and go on at `yes` or `no`, however far. */
size_t bpf_branch(struct bpf *bpf, uint16_t comparison, uint32_t value, size_t yes, size_t no);
/* Load the 32-bit word at `offset` of struct seccomp_data, go on at `next`. */
size_t bpf_load(struct bpf *bpf, uint32_t offset, size_t next);
/* Mask the accumulator, go on at `next`. */
size_t bpf_and(struct bpf *bpf, uint32_t mask, size_t next);
/* Turn what was written last into the first instruction. 0; -1 if the program is longer than
 * SECCOMP_PROGRAM_MAX. */
int bpf_finish(const struct bpf *bpf, struct seccomp_program *ret);

#endif
