/*
 * Attempts of `warder doctor --attack` against the tables that stop them, also where the kernel at hand has nothing that they could
 * reach: those that are one system call against the filter, which is read and not loaded; files of /proc against the list of masks.
 */
#include <criterion/criterion.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>

#include "jail/filter/seccomp.h"
#include "jail/proc.h"
#include "runtime/attack/attempts/group.h"
#include "runtime/attack/table.h"
#include "tests/unit/jail/filter/bpf_vm.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

static const char *word_of(uint32_t verdict)
{
	switch (verdict & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
		return "reached";
	case SECCOMP_RET_KILL_PROCESS:
		return "SIGSYS";
	case SECCOMP_RET_ERRNO:
		return strerrorname_np((int)(verdict & SECCOMP_RET_DATA));
	}
	return "another verdict";
}

static const char *answer_of_filter(const struct seccomp_program *program, const struct attempt *row)
{
	struct seccomp_data data = { .nr = (int)row->call.number, .arch = ARCH };

	for (size_t i = 0; i < 6; i++)
		data.args[i] = (uint64_t)row->call.arguments[i];
	return word_of(bpf_vm_run(program->code, program->count, &data, NULL));
}

/* What a row expects; where the policy kills for what is denied, that; what a profile allows, nothing says. */
static bool is_expected(const struct attempt *row, const struct seccomp_options *o, const char *word)
{
	if (o->profile != POLICY_SYSCALLS_STRICT && row->allowed)
		return true;
	if (o->kill_on_violation && attack_has_word(row->answer, "EPERM"))
		return strcmp(word, "SIGSYS") == 0;
	return attack_has_word(row->answer, word);
}

static bool is_of_table(const struct attempt *row, const char *table)
{
	const char *found = product_table(row);

	return found && strcmp(found, table) == 0;
}

static size_t expect_all(const struct seccomp_program *program, const struct seccomp_options *o)
{
	size_t count = 0;

	for (const struct attempt_group *const *group = attempt_groups; *group; group++)
		for (size_t i = 0; i < (*group)->count; i++) {
			const struct attempt *row = &(*group)->rows[i];
			const char *word;

			if (!is_of_table(row, "filter"))
				continue;
			word = answer_of_filter(program, row);
			cr_expect(is_expected(row, o, word), "%s in profile %d: %s, not %s", row->name,
				  o->profile, word, row->answer);
			count++;
		}
	return count;
}

Test(attempts, are_stopped_by_the_filter_on_every_kernel, .timeout = 30)
{
	for (int i = 0; i < 6; i++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)(i / 2),
					     .allow_spawn = true,
					     .kill_on_violation = i & 1 };
		struct seccomp_program program;
		struct warder_error err = { 0 };

		cr_assert_eq(seccomp_compile_for(ARCH, &o, &program, &err), 0, "%s", err.text);
		cr_expect_gt(expect_all(&program, &o), 70);
	}
}

static bool is_masked(const char *path)
{
	const struct proc_row *row;

	for (size_t i = 0; (row = proc_row(i)); i++)
		if (strcmp(row->path, path) == 0)
			return true;
	return false;
}

Test(attempts, files_of_proc_are_in_the_list_of_masks, .timeout = 10)
{
	size_t count = 0;

	for (const struct attempt_group *const *group = attempt_groups; *group; group++)
		for (size_t i = 0; i < (*group)->count; i++) {
			const struct attempt *row = &(*group)->rows[i];

			if (!is_of_table(row, "masks"))
				continue;
			cr_expect(is_masked(row->path), "%s: %s", row->name, row->path);
			count++;
		}
	cr_expect_gt(count, 25);
}
