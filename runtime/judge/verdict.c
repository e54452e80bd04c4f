#include "runtime/judge/verdict.h"

#include "runtime/library/result.h"

static const char *const names[VERDICT_COUNT] = {
	[VERDICT_ACCEPTED] = "accepted",        [VERDICT_WRONG_ANSWER] = "wrongAnswer",
	[VERDICT_TIME_LIMIT] = "timeLimit",     [VERDICT_MEMORY_LIMIT] = "memoryLimit",
	[VERDICT_OUTPUT_LIMIT] = "outputLimit", [VERDICT_RUNTIME_ERROR] = "runtimeError",
	[VERDICT_SYSTEM_ERROR] = "systemError", [VERDICT_COMPILE_ERROR] = "compileError",
	[VERDICT_SKIPPED] = "skipped",
};

/* VERDICT_ACCEPTED: it depends. */
static const enum verdict by_cause[JAIL_CAUSE_COUNT] = {
	[JAIL_CAUSE_EXIT] = VERDICT_ACCEPTED,         [JAIL_CAUSE_SIGNAL] = VERDICT_RUNTIME_ERROR,
	[JAIL_CAUSE_WALL_TIME] = VERDICT_TIME_LIMIT,  [JAIL_CAUSE_CPU_TIME] = VERDICT_TIME_LIMIT,
	[JAIL_CAUSE_MEMORY] = VERDICT_MEMORY_LIMIT,   [JAIL_CAUSE_PIDS] = VERDICT_RUNTIME_ERROR,
	[JAIL_CAUSE_OUTPUT] = VERDICT_OUTPUT_LIMIT,   [JAIL_CAUSE_DISK] = VERDICT_RUNTIME_ERROR,
	[JAIL_CAUSE_SYSCALL] = VERDICT_RUNTIME_ERROR, [JAIL_CAUSE_NETWORK] = VERDICT_RUNTIME_ERROR,
	[JAIL_CAUSE_CANCELLED] = VERDICT_SKIPPED,     [JAIL_CAUSE_SUPERVISOR] = VERDICT_SYSTEM_ERROR,
	[JAIL_CAUSE_HOST] = VERDICT_SYSTEM_ERROR,
};

const char *verdict_name(enum verdict verdict)
{
	return verdict < VERDICT_COUNT ? names[verdict] : "";
}

enum verdict verdict_of(const struct warder_result *result, bool same)
{
	const struct jail_outcome *outcome = &result->outcome;
	const enum verdict verdict = by_cause[outcome->cause];

	if (verdict != VERDICT_ACCEPTED)
		return verdict;
	if (outcome->exit_code != 0)
		return VERDICT_RUNTIME_ERROR;
	if (outcome->output[JAIL_STDOUT].truncated)
		return VERDICT_OUTPUT_LIMIT;
	return same ? VERDICT_ACCEPTED : VERDICT_WRONG_ANSWER;
}

const char *warder_result_verdict(const struct warder_result *result, int same)
{
	return verdict_name(result ? verdict_of(result, same > 0) : VERDICT_SYSTEM_ERROR);
}
