/* The assembler: programs written backwards do what they say, also over long distances and when they do not fit. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"
#include "jail/filter/bpf.h"
#include "tests/unit/jail/filter/bpf_vm.h"

static uint32_t run(const struct seccomp_program *program, int nr)
{
	struct seccomp_data data = { .nr = nr };

	return bpf_vm_run(program->code, program->count, &data, NULL);
}

Test(bpf, verdicts_in_reach_are_shared, .timeout = 10)
{
	struct bpf bpf = { 0 };
	size_t allow = bpf_return(&bpf, SECCOMP_RET_ALLOW);
	size_t kill = bpf_return(&bpf, SECCOMP_RET_KILL_PROCESS);

	cr_expect_eq(bpf_return(&bpf, SECCOMP_RET_ALLOW), allow);
	cr_expect_eq(bpf_return(&bpf, SECCOMP_RET_KILL_PROCESS), kill);
	cr_expect_eq(bpf_branch(&bpf, BPF_JEQ, 1, kill, kill), kill);
	cr_expect_eq(bpf.count, 2);
}

/* A ladder of `rungs` comparisons, number i leading to verdict ERRNO|i, each a jump farther from the rest. */
static size_t ladder(struct bpf *bpf, uint32_t rungs)
{
	size_t next = bpf_return(bpf, SECCOMP_RET_ALLOW);
	size_t first = bpf_return(bpf, SECCOMP_RET_ERRNO | 4095);

	for (uint32_t i = 0; i < rungs; i++)
		next = bpf_branch(bpf, BPF_JEQ, i, first, next);
	return next;
}

Test(bpf, far_targets_are_reached, .timeout = 10)
{
	static const uint32_t lengths[] = { 1, 250, 251, 252, 253, 254, 255, 256, 257, 300, 600 };

	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		struct bpf bpf = { 0 };
		struct seccomp_program program;

		bpf_load(&bpf, 0, ladder(&bpf, lengths[i]));
		cr_assert_eq(bpf_finish(&bpf, &program), 0, "%u", lengths[i]);
		cr_assert(bpf_vm_valid(program.code, program.count), "%u", lengths[i]);
		for (uint32_t nr = 0; nr < lengths[i]; nr++)
			cr_expect_eq(run(&program, (int)nr), SECCOMP_RET_ERRNO | 4095, "%u of %u", nr,
				     lengths[i]);
		cr_expect_eq(run(&program, (int)lengths[i]), SECCOMP_RET_ALLOW, "%u", lengths[i]);
	}
}

/* Two blocks, `gap` instructions, and a branch on bit 0 to one block or the other. */
static void far_blocks(uint32_t gap, bool swapped, struct seccomp_program *ret)
{
	struct bpf bpf = { 0 };
	size_t one, two, filler;

	one = bpf_branch(&bpf, BPF_JSET, 2, bpf_return(&bpf, 1), bpf_return(&bpf, 2));
	two = bpf_branch(&bpf, BPF_JSET, 2, bpf_return(&bpf, 3), bpf_return(&bpf, 4));
	filler = bpf_return(&bpf, 5);
	for (uint32_t i = 0; i < gap; i++)
		filler = bpf_and(&bpf, ~0u, filler);
	bpf_load(&bpf, 0, bpf_branch(&bpf, BPF_JSET, 1, swapped ? two : one, swapped ? one : two));
	cr_assert_eq(bpf_finish(&bpf, ret), 0);
	cr_assert(bpf_vm_valid(ret->code, ret->count), "%u", gap);
}

/* Targets that are no verdicts go out of reach one after the other. */
Test(bpf, far_blocks_are_reached, .timeout = 10)
{
	for (uint32_t gap = 240; gap < 270; gap++)
		for (int swapped = 0; swapped < 2; swapped++) {
			struct seccomp_program program;

			far_blocks(gap, swapped, &program);
			cr_expect_eq(run(&program, swapped ? 2 : 3), 1, "%u", gap);
			cr_expect_eq(run(&program, swapped ? 0 : 1), 2, "%u", gap);
			cr_expect_eq(run(&program, swapped ? 3 : 2), 3, "%u", gap);
			cr_expect_eq(run(&program, swapped ? 1 : 0), 4, "%u", gap);
		}
}

Test(bpf, a_load_never_falls_into_something_else, .timeout = 10)
{
	struct bpf bpf = { 0 };
	struct seccomp_program program;
	size_t seven = bpf_return(&bpf, 7);

	bpf_return(&bpf, 8);
	bpf_load(&bpf, 0, bpf_and(&bpf, 1, seven));
	cr_assert_eq(bpf_finish(&bpf, &program), 0);
	cr_expect_eq(run(&program, 0), 7);
}

Test(bpf, too_long_is_an_error, .timeout = 10)
{
	struct seccomp_program program;

	for (uint32_t length = SECCOMP_PROGRAM_MAX - 2; length <= SECCOMP_PROGRAM_MAX + 2; length++) {
		struct bpf bpf = { 0 };
		size_t next = bpf_return(&bpf, SECCOMP_RET_ALLOW);

		for (uint32_t i = 1; i < length; i++)
			next = bpf_and(&bpf, ~0u, next);
		cr_expect_eq(bpf_finish(&bpf, &program), length <= SECCOMP_PROGRAM_MAX ? 0 : -1, "%u",
			     length);
	}
}
