#include "jail/filter/speculation.h"
#include "base/array.h"

#include <linux/prctl.h>
#include <stdio.h>
#include <string.h>

static const struct control {
	const char *name, *remedy;
	const char *off[4]; /* texts of /proc/<pid>/status that mean "off" (proc_pid_status(5)) */
} controls[] = {
	{ "store bypass",
	  "boot with spec_store_bypass_disable=prctl",
	  { "not vulnerable", "thread force mitigated", "globally mitigated" } },
	{ "indirect branches",
	  "boot with spectre_v2_user=prctl",
	  { "not affected", "conditional force disabled", "always disabled" } },
};
#define CONTROL_COUNT (ARRAY_LENGTH(controls))

/* 0: the processor is not affected. */
static bool is_in_reach(int answer)
{
	return answer == PR_SPEC_NOT_AFFECTED ||
	       (answer > 0 && (answer & (PR_SPEC_PRCTL | PR_SPEC_DISABLE | PR_SPEC_FORCE_DISABLE)));
}

bool speculation_can_be_forced(int bypass, int branch, char *ret, size_t size)
{
	const int answers[CONTROL_COUNT] = { bypass, branch };

	for (size_t i = 0; i < CONTROL_COUNT; i++) {
		if (is_in_reach(answers[i]))
			continue;
		if (answers[i] < 0)
			snprintf(ret, size, "this kernel has no control of %s", controls[i].name);
		else
			snprintf(ret, size, "the kernel leaves %s on for every process; %s", controls[i].name,
				 controls[i].remedy);
		return false;
	}
	return true;
}

bool speculation_is_off(const char *bypass, const char *branch)
{
	const char *const values[CONTROL_COUNT] = { bypass, branch };

	for (size_t i = 0; i < CONTROL_COUNT; i++) {
		bool off = false;

		for (size_t j = 0; values[i] && controls[i].off[j]; j++) {
			const size_t len = strlen(controls[i].off[j]);

			off |= strncmp(values[i], controls[i].off[j], len) == 0 &&
			       (values[i][len] == '\n' || values[i][len] == '\0');
		}
		if (!off)
			return false;
	}
	return true;
}
