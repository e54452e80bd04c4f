/* engine: the command lines of podman and docker, and the filter as they take it. */
#include "backends/container/engine.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/container/bundle.h"
#include "base/array.h"
#include "base/json.h"

static struct warder_error err;

static struct seccomp_program filter = { .count = 1 };
static struct jail_plan plan = {
	.uid = 1000,
	.gid = 1001,
	.filter = &filter,
	.namespaces = CLONE_NEWUSER | CLONE_NEWCGROUP | CLONE_NEWNET | CLONE_NEWNS,
};
static struct jail_start start = { .plan = &plan,
				   .name = "warder-1-2-3-4",
				   .door = "/door",
				   .first_id = 4293918720u,
				   .id_count = 65536,
				   .network_fd = 5 };

/* As the launch fills it, before an engine writes its lines. */
static struct engine_task *compose(const struct engine *engine)
{
	struct engine_task *task = calloc(1, sizeof(*task));

	cr_assert(task);
	for (size_t i = 0; i < ENGINE_PROGRAMS_MAX && engine->programs[i]; i++)
		snprintf(task->paths[i], sizeof(task->paths[i]), "/usr/bin/%s", engine->programs[i]);
	snprintf(task->name, sizeof(task->name), "%s", start.name);
	snprintf(task->hostname, sizeof(task->hostname), "warder");
	snprintf(task->map, sizeof(task->map), "0:%u:%u", start.first_id, start.id_count);
	snprintf(task->user, sizeof(task->user), "%u:%u", plan.uid, plan.gid);
	engine->compose(&start, task);
	return task;
}

/* Where the word is; -1: nowhere. The row ends with NULL. */
static int find(const struct engine_line *line, const char *word)
{
	cr_assert_null(line->words[line->count]);
	for (size_t i = 0; i < line->count; i++)
		if (strcmp(line->words[i], word) == 0)
			return (int)i;
	return -1;
}

static bool has(const struct engine_line *line, const char *option, const char *value)
{
	for (size_t i = 0; i + 1 < line->count; i++)
		if (strcmp(line->words[i], option) == 0 && strcmp(line->words[i + 1], value) == 0)
			return true;
	return false;
}

/* What no container may go without, whoever makes it. */
Test(engine, in_common, .timeout = 20)
{
	static const struct engine *const engines[] = { &engine_podman, &engine_docker };
	static const struct {
		const char *option, *value;
	} rows[] = {
		{ "--name", "warder-1-2-3-4" },
		{ "--user", "1000:1001" },
		{ "--cap-drop", "ALL" },
		{ "--security-opt", "no-new-privileges" },
		{ "--security-opt", "seccomp=" ENGINE_PROFILE },
		{ "--pull", "never" },
		{ "--log-driver", "none" },
		{ "--restart", "no" },
		{ "--ipc", "private" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(engines); i++) {
		struct engine_task *task = compose(engines[i]);

		cr_expect_not(task->run.full, "%s", engines[i]->name);
		cr_expect_geq(find(&task->run, "--read-only"), 0, "%s", engines[i]->name);
		cr_expect_geq(find(&task->run, "--detach"), 0, "%s", engines[i]->name);
		cr_expect_eq(find(&task->run, "--privileged"), -1, "%s", engines[i]->name);
		cr_expect_str_eq(task->run.words[task->run.count - 1], ENGINE_INIT, "%s", engines[i]->name);
		for (size_t row = 0; row < ARRAY_LENGTH(rows); row++)
			cr_expect(has(&task->run, rows[row].option, rows[row].value), "%s: %s %s",
				  engines[i]->name, rows[row].option, rows[row].value);
		free(task);
	}
}

Test(engine, networks, .timeout = 20)
{
	static const struct {
		const char *row;
		uint64_t namespaces;
		int network_fd;
		const char *wanted;
	} rows[] = {
		{ "one that is down", CLONE_NEWNET, 5, "ns:" LAYOUT_NETWORK_NS },
		{ "one of its own", CLONE_NEWNET, -1, "none" },
		{ "the host's", 0, -1, "host" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct engine_task *task;

		plan.namespaces = rows[i].namespaces;
		start.network_fd = rows[i].network_fd;
		task = compose(&engine_podman);
		cr_expect(has(&task->run, "--network", rows[i].wanted), "%s", rows[i].row);
		free(task);
	}
	cr_expect(engine_docker.lacks_host_network);
}

Test(engine, a_daemon_of_its_own, .timeout = 20)
{
	struct engine_task *task = compose(&engine_docker);
	struct json_value *settings = NULL;

	cr_expect_not(task->daemon.full);
	cr_expect_geq(find(&task->daemon, "unix://" ENGINE_SOCKET), 0);
	cr_expect_geq(find(&task->daemon, "--userns-remap=" ENGINE_USER), 0);
	cr_expect(has(&task->run, "--host", "unix://" ENGINE_SOCKET));
	cr_expect(has(&task->prepare, "--host", "unix://" ENGINE_SOCKET));
	cr_expect_str_eq(task->ids, ENGINE_USER ":4293918720:65536\n");
	cr_expect(strstr(task->users, ENGINE_USER ":x:4293918720:4293918720::/:/bin/false\n"));
	cr_expect_str_eq(task->door, ENGINE_BARE "/door:/door:ro");
	cr_assert_eq(json_parse(task->settings, strlen(task->settings), "daemon.json", NULL, &settings, &err),
		     0, "%s", err.text);
	json_free(settings);
	free(task);

	task = compose(&engine_podman);
	cr_expect_eq(task->daemon.count, 0);
	cr_expect_eq(task->prepare.count, 0);
	cr_expect_eq(task->users[0], '\0');
	free(task);
}

Test(engine, a_line_that_is_full_says_so, .timeout = 20)
{
	struct engine_line line = { .count = 0 };

	for (int i = 0; i < ENGINE_WORDS_MAX - 1; i++)
		engine_put(&line, "word");
	cr_expect_not(line.full);
	engine_put(&line, "one more");
	cr_expect(line.full);
	cr_expect_eq(line.count, ENGINE_WORDS_MAX - 1);
	cr_expect_null(line.words[line.count]);
}

static bool names(const struct json_value *list, const char *name)
{
	for (const struct json_value *item = list->child; item; item = item->next)
		if (strcmp(item->string, name) == 0)
			return true;
	return false;
}

Test(engine, profile, .timeout = 20)
{
	struct policy policy;
	char *text;
	struct json_value *root = NULL;
	const struct json_value *list;

	cr_assert_eq(policy_preset("strict", &policy, &err), 0, "%s", err.text);
	text = bundle_profile(&policy);
	cr_assert(text);
	cr_assert_eq(json_parse(text, strlen(text), "profile", NULL, &root, &err), 0, "%s", err.text);
	cr_expect_str_eq(json_member(root, "defaultAction")->string, "SCMP_ACT_ERRNO");
	list = json_member(json_member(root, "syscalls")->child, "names");
	cr_expect(names(list, "recvmsg") && names(list, "connect") && names(list, "socket"));
	cr_expect(names(list, "execve") && names(list, "seccomp"));
	cr_expect_not(names(list, "mount") || names(list, "bpf") || names(list, "setns") ||
		      names(list, "ptrace"));
	json_free(root);
	free(text);
	policy_done(&policy);
}
