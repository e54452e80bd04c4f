/*
 * The policy of a program that works for the store: it sees the host's programs and one directory of its own, and reaches the named hosts.
 */
#include "store/jailed.h"

#include <stdint.h>

#include "base/array.h"
#include "runtime/warder.h"

static const struct {
	const char *path, *value;
} settings[] = {
	{ "limits.wallTime", "10m" },      { "limits.cpuTime", "10m" },
	{ "limits.memory", "1GiB" },       { "limits.cpus", "2" },
	{ "limits.fileSize", "4GiB" },     { "environment.set.PATH", "/usr/bin:/bin" },
	{ "environment.set.LC_ALL", "C" }, { "output.stderr", "16MiB" },
};

/* What an ordinary user without a delegated cgroup has not; the work is their own. */
static const char *const preferred[] = { "limits.cpuTime", "limits.memory", "limits.cpus", "limits.pids" };

static int make_policy(const struct store_task *task, struct warder_policy **ret, struct warder_error *err)
{
	struct warder_policy *policy = NULL;
	int status = warder_policy_preset("agent", &policy, err);

	for (size_t i = 0; i < ARRAY_LENGTH(settings) && status == 0; i++)
		status = warder_policy_set(policy, settings[i].path, settings[i].value, err);
	for (size_t i = 0; i < ARRAY_LENGTH(preferred) && status == 0; i++)
		status = warder_policy_require(policy, preferred[i], 0, err);
	if (status == 0)
		status = warder_policy_set(policy, "filesystem.workspace", task->workspace, err);
	if (status == 0 && task->allow)
		status = warder_policy_set(policy, "network.mode", "allow", err);
	for (size_t i = 0; status == 0 && task->allow && task->allow[i]; i++)
		status = warder_policy_set(policy, "network.allow", task->allow[i], err);
	for (size_t i = 0; status == 0 && task->settings && task->settings[i]; i += 2)
		status = warder_policy_set(policy, task->settings[i], task->settings[i + 1], err);
	if (status == 0 && task->read_only)
		status = warder_policy_set(policy, "filesystem.paths.readOnly", task->read_only, err);
	if (status == 0)
		*ret = policy;
	else
		warder_policy_free(policy);
	return status;
}

int store_run_jailed(const struct store_task *task, struct warder_result **ret, struct warder_error *err)
{
	const struct warder_options options = { .size = sizeof(options), .single_use = 1 };
	const struct warder_command command = { .size = sizeof(command),
						.argv = (char *const *)(uintptr_t)task->argv,
						.environment = (char *const *)(uintptr_t)task->environment,
						.input = task->input,
						.input_len = task->input_len,
						.changes_directory = task->changes_directory };
	struct warder_policy *policy = NULL;
	struct warder_template *tmpl = NULL;
	struct warder_run *run = NULL;
	int status = make_policy(task, &policy, err);

	if (status == 0)
		status = warder_prepare(policy, &options, &tmpl, err);
	if (status == 0)
		status = warder_launch(tmpl, &command, &run, err);
	if (status == 0)
		status = warder_wait(run, ret, err);
	if (status != 0 && err->code == WARDER_ERROR_NOT_FOUND)
		error_set(err, WARDER_ERROR_UNAVAILABLE, task->field, "%s is not on this host; install it",
			  task->argv[0]);
	warder_run_free(run);
	warder_template_free(tmpl);
	warder_policy_free(policy);
	return status;
}
