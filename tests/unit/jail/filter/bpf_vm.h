/*
 * bpf_vm: runs and checks a seccomp program the way the kernel does, without loading it.
 * Covers the instructions that the kernel allows in a seccomp filter and Warder emits.
 */
#ifndef WARDER_TESTS_BPF_VM_H
#define WARDER_TESTS_BPF_VM_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BPF_VM_FAULT 0x00de0000u /* no verdict of the kernel has this value */

/* Result of one jump comparison. */
static inline bool bpf_vm_holds(const struct sock_filter *in, uint32_t a)
{
	switch (BPF_OP(in->code)) {
	case BPF_JEQ:
		return a == in->k;
	case BPF_JGE:
		return a >= in->k;
	case BPF_JGT:
		return a > in->k;
	default:
		return (a & in->k) != 0;
	}
}

/* The verdict on one call; `ret_steps` may be NULL. */
static inline uint32_t bpf_vm_run(const struct sock_filter *code, size_t count,
				  const struct seccomp_data *data, unsigned int *ret_steps)
{
	uint32_t a = 0;
	uint32_t x = 0;
	unsigned int steps = 0;

	for (size_t pc = 0; pc < count; pc++) {
		const struct sock_filter *in = &code[pc];

		steps++;
		switch (in->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (in->k % 4 != 0 || in->k + 4 > sizeof(*data))
				return BPF_VM_FAULT;
			memcpy(&a, (const char *)data + in->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= in->k;
			break;
		case BPF_LD | BPF_IMM:
			a = in->k;
			break;
		case BPF_MISC | BPF_TAX:
			x = a;
			break;
		case BPF_ALU | BPF_LSH | BPF_X:
			if (x >= 32) /* no machine's answer is another's */
				return BPF_VM_FAULT;
			a <<= x;
			break;
		case BPF_JMP | BPF_JA:
			pc += in->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
		case BPF_JMP | BPF_JGT | BPF_K:
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += bpf_vm_holds(in, a) ? in->jt : in->jf;
			break;
		case BPF_RET | BPF_K:
			if (ret_steps)
				*ret_steps = steps;
			return in->k;
		default:
			return BPF_VM_FAULT;
		}
	}
	return BPF_VM_FAULT;
}

/* What the kernel asks of a program before it loads it: known instructions, aligned loads inside the data,
 * jumps inside the program, a return at the end. */
static inline bool bpf_vm_valid(const struct sock_filter *code, size_t count)
{
	for (size_t pc = 0; pc < count; pc++) {
		const struct sock_filter *in = &code[pc];
		size_t left = count - pc - 1;

		switch (in->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (in->k % 4 != 0 || in->k + 4 > sizeof(struct seccomp_data))
				return false;
			break;
		case BPF_JMP | BPF_JA:
			if (in->k >= left)
				return false;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
		case BPF_JMP | BPF_JGT | BPF_K:
		case BPF_JMP | BPF_JSET | BPF_K:
			if (in->jt >= left || in->jf >= left)
				return false;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
		case BPF_ALU | BPF_LSH | BPF_X:
		case BPF_LD | BPF_IMM:
		case BPF_MISC | BPF_TAX:
		case BPF_RET | BPF_K:
			break;
		default:
			return false;
		}
	}
	return count > 0 && count <= BPF_MAXINSNS && code[count - 1].code == (BPF_RET | BPF_K);
}

#endif
