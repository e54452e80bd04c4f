/* The answers are those of prctl(PR_GET_SPECULATION_CTRL); the texts are the kernel's (fs/proc/array.c). */
#include "base/array.h"
#include "jail/filter/speculation.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/prctl.h>
#include <string.h>

Test(speculation, what_can_be_forced, .timeout = 20)
{
	static const struct {
		int bypass, branch;
		const char *why; /* NULL: it can */
	} rows[] = {
		{ PR_SPEC_PRCTL | PR_SPEC_ENABLE, PR_SPEC_PRCTL | PR_SPEC_ENABLE, NULL },
		{ PR_SPEC_NOT_AFFECTED, PR_SPEC_NOT_AFFECTED, NULL },
		{ PR_SPEC_DISABLE, PR_SPEC_PRCTL | PR_SPEC_FORCE_DISABLE, NULL },
		{ PR_SPEC_ENABLE, PR_SPEC_PRCTL | PR_SPEC_ENABLE, "spec_store_bypass_disable=prctl" },
		{ PR_SPEC_PRCTL | PR_SPEC_ENABLE, PR_SPEC_ENABLE, "spectre_v2_user=prctl" },
		{ -ENODEV, -ENODEV, "no control of store bypass" },
		{ PR_SPEC_NOT_AFFECTED, -EINVAL, "no control of indirect branches" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char why[128] = "";
		const bool can = speculation_can_be_forced(rows[i].bypass, rows[i].branch, why, sizeof(why));

		cr_expect_eq(can, rows[i].why == NULL, "row %zu", i);
		cr_expect(!rows[i].why || strstr(why, rows[i].why), "row %zu: %s", i, why);
	}
}

Test(speculation, what_is_off, .timeout = 20)
{
	static const struct {
		const char *bypass, *branch;
		bool off;
	} rows[] = {
		{ "thread force mitigated\nSpec", "conditional force disabled\nCpus", true },
		{ "not vulnerable\n", "not affected\n", true },
		{ "globally mitigated", "always disabled", true },
		{ "thread mitigated\n", "conditional force disabled\n", false },
		{ "thread vulnerable\n", "always disabled\n", false },
		{ "vulnerable\n", "always disabled\n", false },
		{ "not vulnerable\n", "conditional disabled\n", false },
		{ "not vulnerable\n", "always enabled\n", false },
		{ "not vulnerable at all\n", "always disabled\n", false },
		{ "unknown\n", "unsupported\n", false },
		{ NULL, "always disabled\n", false },
		{ "not vulnerable\n", NULL, false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_eq(speculation_is_off(rows[i].bypass, rows[i].branch), rows[i].off, "row %zu", i);
}
