/*
 * bpf: written backwards.
 *
 * Classic BPF has forward jumps only, and a conditional jump reaches 255 instructions. Writing a program from its
 * end makes both easy: a target is always known, and when it is out of reach for a conditional jump, a
 * stepping stone is written first, right behind the jump: another copy of the verdict if that is what lies
 * there, otherwise an unconditional jump, whose offset has 32 bits. Later jumps to the same target use the same stone.
 *
 * An instruction falls through to the one written before it; bpf_load and bpf_and check that this is where they are to
 * go on, so nothing is ever reached by accident.
 */
#include "jail/filter/bpf.h"

#include <string.h>

/* Distance up to which a conditional jump may go although one more instruction may come in between. */
#define REACH 255

static size_t append(struct bpf *bpf, struct sock_filter instruction)
{
	if (bpf->count == SECCOMP_PROGRAM_MAX) {
		bpf->full = true;
		return 0;
	}
	bpf->code[bpf->count] = instruction;
	if (instruction.code == (BPF_RET | BPF_K)) {
		bpf->earlier[bpf->count] = (uint16_t)bpf->verdict;
		bpf->verdict = bpf->count + 1;
	}
	return bpf->count++;
}

/* How many instructions a jump written now would skip. */
static size_t distance(const struct bpf *bpf, size_t label)
{
	return bpf->count - label - 1;
}

static size_t jump(struct bpf *bpf, size_t label)
{
	return append(bpf, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)distance(bpf, label)));
}

/* The label itself, or a stepping stone to it. */
static size_t within_reach(struct bpf *bpf, size_t label)
{
	struct sock_filter target = bpf->code[label];
	size_t stone = bpf->stone[label];

	if (distance(bpf, label) < REACH)
		return label;
	if (stone && distance(bpf, stone) < REACH)
		return stone;
	stone = target.code == (BPF_RET | BPF_K) ? append(bpf, target) : jump(bpf, label);
	bpf->stone[label] = (uint16_t)stone;
	return stone;
}

/* The label if it was written last, else a jump to it. */
static size_t next_in_line(struct bpf *bpf, size_t label)
{
	return label + 1 == bpf->count ? label : jump(bpf, label);
}

size_t bpf_return(struct bpf *bpf, uint32_t verdict)
{
	for (size_t i = bpf->verdict; i > 0 && distance(bpf, i - 1) < REACH; i = bpf->earlier[i - 1])
		if (bpf->code[i - 1].k == verdict)
			return i - 1;
	return append(bpf, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

size_t bpf_branch(struct bpf *bpf, uint16_t comparison, uint32_t value, size_t yes, size_t no)
{
	if (yes == no)
		return yes;
	yes = within_reach(bpf, yes);
	no = within_reach(bpf, no);
	return append(bpf,
		      (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_K | comparison, value,
						   (uint8_t)distance(bpf, yes), (uint8_t)distance(bpf, no)));
}

size_t bpf_load(struct bpf *bpf, uint32_t offset, size_t next)
{
	next_in_line(bpf, next);
	return append(bpf, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

size_t bpf_and(struct bpf *bpf, uint32_t mask, size_t next)
{
	next_in_line(bpf, next);
	return append(bpf, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
}

size_t bpf_bit(struct bpf *bpf, uint32_t bits, size_t yes, size_t no)
{
	bpf_branch(bpf, BPF_JSET, bits, yes, no);
	append(bpf, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_LSH | BPF_X, 0));
	append(bpf, (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, 1));
	return append(bpf, (struct sock_filter)BPF_STMT(BPF_MISC | BPF_TAX, 0));
}

int bpf_finish(const struct bpf *bpf, struct seccomp_program *ret)
{
	if (bpf->full)
		return -1;
	memset(ret, 0, sizeof(*ret));
	ret->count = bpf->count;
	for (size_t i = 0; i < bpf->count; i++)
		ret->code[i] = bpf->code[bpf->count - 1 - i];
	return 0;
}
