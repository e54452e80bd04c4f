/*
 * Every allocation that a run of the library makes fails in turn (the linker's --wrap): an error with a word why, or the run
 * goes on where it can do without; nothing is left, and nothing is freed twice or lost (make asan).
 */
#include "tests/fault/stage.h"

#include "base/array.h"
#include "runtime/warder.h"

static long fail_at; /* the one from here that fails; 0: none */
static long allocations;

static bool fails(void)
{
	allocations++;
	if (fail_at != allocations)
		return false;
	errno = ENOMEM;
	return true;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *from, size_t size);
void *__wrap_realloc(void *from, size_t size);
char *__real_strdup(const char *from);
char *__wrap_strdup(const char *from);
char *__real_strndup(const char *from, size_t size);
char *__wrap_strndup(const char *from, size_t size);
int __real_vasprintf(char **ret, const char *format, va_list args);
int __wrap_vasprintf(char **ret, const char *format, va_list args);
int __wrap_asprintf(char **ret, const char *format, ...);
int __wrap___asprintf_chk(char **ret, int flag, const char *format, ...);
void *__real_reallocarray(void *from, size_t count, size_t size);
void *__wrap_reallocarray(void *from, size_t count, size_t size);
char *__real_realpath(const char *path, char *to);
char *__wrap_realpath(const char *path, char *to);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *from, size_t size)
{
	return fails() ? NULL : __real_realloc(from, size);
}

void *__wrap_reallocarray(void *from, size_t count, size_t size)
{
	return fails() ? NULL : __real_reallocarray(from, count, size);
}

char *__wrap_strdup(const char *from)
{
	return fails() ? NULL : __real_strdup(from);
}

char *__wrap_strndup(const char *from, size_t size)
{
	return fails() ? NULL : __real_strndup(from, size);
}

char *__wrap_realpath(const char *path, char *to)
{
	return !to && fails() ? NULL : __real_realpath(path, to);
}

int __wrap_vasprintf(char **ret, const char *format, va_list args)
{
	return fails() ? -1 : __real_vasprintf(ret, format, args);
}

__attribute__((format(printf, 2, 3))) int __wrap_asprintf(char **ret, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = __wrap_vasprintf(ret, format, args);
	va_end(args);
	return len;
}

__attribute__((format(printf, 3, 4))) int __wrap___asprintf_chk(char **ret, int flag, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = __wrap_vasprintf(ret, format, args);
	va_end(args);
	return len;
}

static const char *const settings[][2] = {
	{ "network.mode", "loopback" },
	{ "environment.set.NAME", "value" },
	{ "filesystem.paths.readOnly", "/usr/share" },
	{ "syscalls.deny", "ptrace" },
};

/* What an ordinary user may not have. */
static int prefer(struct warder_policy *policy, struct warder_error *err)
{
	static const char *const fields[] = { "limits.memory", "limits.swap", "limits.pids", "limits.cpus",
					      "limits.cpuTime" };
	int ret = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(fields) && ret == 0; i++)
		ret = warder_policy_require(policy, fields[i], 0, err);
	return ret;
}

/* Returns how far it came; everything is freed. */
static int whole_run(struct stage *stage, const struct warder_policy *ceiling, char output[100],
		     struct warder_error *err)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"cat; echo $NAME; echo e >&2", NULL };
	char *set[] = { (char *)"OTHER=1", NULL };
	struct warder_command command = {
		.size = sizeof(command), .argv = argv, .environment = set, .input = "in ", .input_len = 3
	};
	struct warder_options options = { .size = sizeof(options),
					  .cgroup_parent = stage->parent,
					  .ceiling = ceiling };
	struct warder_policy *policy = NULL;
	struct warder_template *tmpl = NULL;
	struct warder_run *run = NULL;
	struct warder_result *result = NULL;
	char *json = NULL;
	int step = 0;
	int ret = warder_policy_preset("strict", &policy, err);

	if (ret == 0)
		ret = prefer(policy, err);
	for (size_t i = 0; i < ARRAY_LENGTH(settings) && ret == 0; i++)
		ret = warder_policy_set(policy, settings[i][0], settings[i][1], err);
	if (ret == 0 && ++step)
		ret = warder_prepare(policy, &options, &tmpl, err);
	if (ret == 0 && ++step)
		ret = warder_launch(tmpl, &command, &run, err);
	if (ret == 0 && ++step)
		ret = warder_wait(run, &result, err);
	if (ret == 0 && ++step) {
		snprintf(output, 100, "%s %s", warder_result_cause(result),
			 warder_result_output(result, WARDER_STDOUT, NULL, NULL));
		json = warder_result_json(result);
	}
	free(json);
	json = policy ? warder_policy_json(policy) : NULL;
	free(json);
	json = NULL;
	if (ret == 0 && ++step)
		ret = warder_policy_granted(policy, ceiling, &json, err);
	free(json);
	warder_result_free(result);
	warder_run_free(run);
	warder_template_free(tmpl);
	warder_policy_free(policy);
	return ret == 0 ? 6 : step;
}

Test(memory, each_allocation_fails, .timeout = 1200)
{
	struct stage *stage = stage_new();
	struct warder_policy *ceiling = NULL;
	struct warder_error err = { 0 };
	char usual[100] = "";
	long count;
	long refused = 0;
	long made = 0;
	const int before = stage_descriptors();

	cr_assert_eq(warder_policy_preset("strict", &ceiling, &err), 0);
	cr_assert_eq(prefer(ceiling, &err), 0);
	cr_assert_eq(warder_policy_set(ceiling, "network.mode", "loopback", &err), 0);
	cr_assert_eq(warder_policy_set(ceiling, "filesystem.paths.readOnly", "/usr", &err), 0);
	cr_assert_eq(warder_policy_set(ceiling, "environment.set.NAME", "value", &err), 0);
	allocations = 0;
	cr_assert_eq(whole_run(stage, ceiling, usual, &err), 6, "%s", err.text);
	cr_assert_str_eq(usual, "exit in value\n", "%s", usual);
	count = allocations;
	cr_assert(count > 50, "only %ld allocations: is the linker's --wrap missing?", count);
	for (long at = 1; at <= count; at += stage_amount(10, 1, 1), made++) {
		char output[100] = "";
		char label[64];
		int step;

		memset(&err, 0, sizeof(err));
		allocations = 0;
		fail_at = at;
		step = whole_run(stage, ceiling, output, &err);
		fail_at = 0;
		snprintf(label, sizeof(label), "allocation %ld (-> %d)", at, step);
		refused += step < 6;
		if (step < 6)
			cr_expect(err.code != WARDER_ERROR_NONE && *err.text, "%s: no word why", label);
		else
			cr_expect(strcmp(output, usual) == 0 || strncmp(output, "supervisor ", 11) == 0,
				  "%s: %s", label, output);
		cr_expect(stage_descriptors() == before, "%s: %d descriptors, before %d", label,
			  stage_descriptors(), before);
		stage_check(stage, label);
	}
	stage_note("%ld of %ld allocations failed in turn: %ld refused, %ld went on", made, count, refused,
		   made - refused);
	warder_policy_free(ceiling);
	stage_done(stage);
}
