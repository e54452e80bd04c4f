/*
 * attack_table: reading the table, and judging it by the policy.
 *
 * An attempt that the policy allows is none: whoever asks for the host's network gets it. The program's table
 * says in words what allows an attempt; here each word is one row with a test.
 */
#include "runtime/attack/table.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/programs.h"

#define COLUMNS         9
#define TABLE_BYTES_MAX (1u << 20)

/* ---- its table ---- */

/* Up to the end, as a text; NULL: the end does not come in time, or after TABLE_BYTES_MAX. */
static char *read_all(int fd)
{
	const uint64_t deadline = clock_us() + CHILD_PATIENCE_MS * UINT64_C(1000);
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char *text = malloc(TABLE_BYTES_MAX);
	size_t len = 0;
	ssize_t n = -1;

	while (text && len < TABLE_BYTES_MAX && clock_us() < deadline) {
		n = poll(&ready, 1, 100) > 0 ? read(fd, text + len, TABLE_BYTES_MAX - len) : -1;
		if (n == 0)
			break;
		len += n > 0 ? (size_t)n : 0;
	}
	if (text && n == 0) {
		text[len] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

static char *run_list(const char *program)
{
	int pipes[2];
	char *text;
	int status;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) != 0)
		return NULL;
	pid = fork();
	if (pid == 0) {
		dup2(pipes[1], STDOUT_FILENO);
		execl(program, program, "--list", (char *)NULL);
		_exit(127);
	}
	close(pipes[1]);
	text = pid > 0 ? read_all(pipes[0]) : NULL;
	close(pipes[0]);
	if (pid > 0 && !text)
		kill(pid, SIGKILL);
	if (pid < 0 || child_wait(pid, CHILD_PATIENCE_MS, &status) != CHILD_ENDED || status != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static int split_line(char *line, struct attack_row *ret)
{
	const char *columns[COLUMNS];

	for (size_t i = 0; i < COLUMNS; i++) {
		columns[i] = strsep(&line, "\t");
		if (!columns[i])
			return -1;
		if (strcmp(columns[i], "-") == 0)
			columns[i] = "";
	}
	*ret = (struct attack_row){ columns[0], columns[1], columns[2], columns[3], columns[4],
				    columns[5], columns[6], columns[7], columns[8] };
	return 0;
}

void attack_table_done(struct attack_table *table)
{
	free(table->text);
	free(table->rows);
	table->text = NULL;
	table->rows = NULL;
	table->count = 0;
}

bool attack_has_word(const char *column, const char *word)
{
	size_t length = strlen(word);

	while (*column) {
		size_t this = strcspn(column, "|");

		if (this == length && strncmp(column, word, length) == 0)
			return true;
		column += this + (column[this] == '|');
	}
	return false;
}

/* ---- what a policy allows ---- */

struct question {
	const struct jail_plan *plan;
	const char *argument; /* what follows the word */
	const char *dir, *home;
};

static bool overlap(const char *a, const char *b)
{
	return path_within(a, b) || path_within(b, a);
}

static bool shows(const struct policy_strings *paths, const char *path)
{
	for (size_t i = 0; i < paths->count; i++)
		if (overlap(policy_path_target(paths->items[i]), path))
			return true;
	return false;
}

static bool shows_path(const struct question *q)
{
	return shows(&q->plan->policy.filesystem.read_only, q->argument) ||
	       shows(&q->plan->policy.filesystem.read_write, q->argument);
}

static bool shows_dir(const struct question *q)
{
	const struct question there = { q->plan, q->dir, NULL, NULL };

	return shows_path(&there);
}

static bool shows_home(const struct question *q)
{
	const struct question there = { q->plan, q->home, NULL, NULL };

	return q->plan->policy.filesystem.view != POLICY_VIEW_HOST || (q->home[0] && shows_path(&there));
}

static bool writable(const struct question *q)
{
	return shows(&q->plan->policy.filesystem.read_write, q->argument);
}

static bool other_view(const struct question *q)
{
	return q->plan->policy.filesystem.view != POLICY_VIEW_HOST;
}

static bool writes_workspace(const struct question *q)
{
	return q->plan->policy.filesystem.workspace == POLICY_WORKSPACE_READ_WRITE;
}

static bool executes_tmp(const struct question *q)
{
	return q->plan->policy.filesystem.tmp_exec;
}

static bool host_network(const struct question *q)
{
	return q->plan->policy.network.mode == POLICY_NETWORK_HOST;
}

static bool allow_list(const struct question *q)
{
	return policy_network_lists(&q->plan->policy);
}

static bool lists_blocks(const struct question *q)
{
	const struct policy_endpoints *allow = &q->plan->policy.network.allow;

	for (size_t i = 0; i < allow->count; i++)
		if (allow->items[i].cidr)
			return true;
	return false;
}

static bool loopback(const struct question *q)
{
	return q->plan->policy.network.mode == POLICY_NETWORK_LOOPBACK;
}

/* Abstract sockets belong to the network namespace; only Landlock tells those of the jail from others. */
static bool host_network_unscoped(const struct question *q)
{
	return host_network(q) && q->plan->landlock_abi < 6;
}

static bool host_environment(const struct question *q)
{
	return q->plan->policy.environment.mode == POLICY_ENVIRONMENT_HOST;
}

static bool at_least_default(const struct question *q)
{
	return q->plan->policy.syscalls.profile != POLICY_SYSCALLS_STRICT;
}

static bool compat(const struct question *q)
{
	return q->plan->policy.syscalls.profile == POLICY_SYSCALLS_COMPAT;
}

static bool speculates(const struct question *q)
{
	return !q->plan->speculation;
}

static bool has_terminals(const struct question *q)
{
	return q->plan->rootfs.terminals > 0;
}

/* Routing queries, as the filter has it. */
static bool netlink(const struct question *q)
{
	const struct policy *policy = &q->plan->policy;

	return compat(q) || (at_least_default(q) && policy->network.mode != POLICY_NETWORK_NONE);
}

static bool allows_call(const struct question *q)
{
	const struct policy_strings *calls = &q->plan->policy.syscalls.allow;

	for (size_t i = 0; i < calls->count; i++)
		if (strcmp(calls->items[i], q->argument) == 0)
			return true;
	return false;
}

static bool large_output(const struct question *q)
{
	return q->plan->policy.output.stdout_bytes >= 4u << 20 ||
	       q->plan->policy.output.stderr_bytes >= 4u << 20;
}

static bool same_kernel(const struct question *q)
{
	return true;
}

static bool unprivileged(const struct question *q)
{
	return !q->plan->privileged;
}

static bool is_unlimited(const struct question *q)
{
	const struct policy *policy = &q->plan->policy;
	const struct {
		const char *path;
		uint64_t value;
	} limits[] = {
		{ "limits.pids", policy->limits.pids_max },
		{ "limits.memory", policy->limits.memory_bytes },
		{ "limits.fileSize", policy->limits.file_size_bytes },
		{ "limits.openFiles", policy->limits.open_files },
		{ "limits.cpuTime", policy->limits.cpu_time_us },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(limits); i++)
		if (strcmp(limits[i].path, q->argument) == 0)
			return limits[i].value == POLICY_UNLIMITED;
	return false;
}

static const struct allowing {
	const char *word; /* one that ends with ':', '=' or '>=' takes what follows as its argument */
	bool (*holds)(const struct question *q);
	const char *why;
} words[] = {
	{ "shown", shows_dir, "filesystem.paths" },
	{ "home-shown", shows_home, "filesystem" },
	{ "shows:", shows_path, "filesystem.paths" },
	{ "writable:", writable, "filesystem.paths.readWrite" },
	{ "view", other_view, "filesystem.view" },
	{ "workspace=rw", writes_workspace, "filesystem.workspace readWrite" },
	{ "tmp-exec", executes_tmp, "filesystem.tmp exec" },
	{ "net=host", host_network, "network.mode host" },
	{ "netlink", netlink, "network.mode and syscalls.profile" },
	{ "net=host-unscoped", host_network_unscoped, "network.mode host, without Landlock ABI 6" },
	{ "net=loopback", loopback, "network.mode loopback" },
	{ "net=allow", allow_list, "network.mode allow, which leads every address to loopback" },
	{ "cidr", lists_blocks, "a cidr row of network.allow" },
	{ "env=host", host_environment, "environment.mode host" },
	{ "profile=default", at_least_default, "syscalls.profile" },
	{ "profile=compat", compat, "syscalls.profile compat" },
	{ "speculation=off", speculates, "syscalls.speculation" },
	{ "terminals", has_terminals, "devices.terminals" },
	{ "call=", allows_call, "syscalls.allow" },
	{ "output>=4MiB", large_output, "output" },
	{ "unlimited:", is_unlimited, "unlimited" },
	{ "same-kernel", same_kernel, "jails share the pages of a shown file; see the threat model" },
	{ "unprivileged", unprivileged, "an ordinary user's jails have the user's own id" },
};

/* Mechanisms, as the column `by` names them, that a preferred control may leave out. */
static const struct {
	const char *by;
	enum policy_control control;
} optional[] = {
	{ "seccomp filter", POLICY_CONTROL_SYSCALLS },
	{ "limits.pids", POLICY_CONTROL_PIDS },
	{ "limits.memory", POLICY_CONTROL_MEMORY },
	{ "CPU accounting", POLICY_CONTROL_CPU_TIME },
	{ "RLIMIT_NOFILE", POLICY_CONTROL_OPEN_FILES },
	{ "RLIMIT_FSIZE", POLICY_CONTROL_FILE_SIZE },
	{ "network namespace", POLICY_CONTROL_NETWORK_NONE },
	{ "network namespace", POLICY_CONTROL_NETWORK_LOOPBACK },
	{ "network namespace", POLICY_CONTROL_NETWORK_ALLOW },
};

static bool takes_argument(const char *word)
{
	char last = word[strlen(word) - 1];

	return last == ':' || last == '=';
}

static const struct allowing *find_word(const char *wanted)
{
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		bool same = takes_argument(words[i].word)
				? strncmp(wanted, words[i].word, strlen(words[i].word)) == 0
				: strcmp(wanted, words[i].word) == 0;

		if (same)
			return &words[i];
	}
	return NULL;
}

static const char *allowed_by(const char *wanted, struct question *q, char *buf, size_t len)
{
	const struct allowing *word = find_word(wanted);

	if (!word)
		return NULL;
	q->argument = wanted + strlen(word->word);
	if (!word->holds(q))
		return NULL;
	snprintf(buf, len, "%s%s%s", word->why, *q->argument ? " " : "", q->argument);
	return buf;
}

const char *attack_allowed(const struct attack_row *row, const struct jail_plan *plan, const char *dir,
			   const char *home, char *buf, size_t len)
{
	struct question q = { .plan = plan, .dir = dir, .home = home };
	char all[256];
	char *rest = all;
	const char *word;

	snprintf(all, sizeof(all), "%s", row->allowed);
	while ((word = strsep(&rest, "|")) != NULL)
		if (*word && allowed_by(word, &q, buf, len))
			return buf;
	for (size_t i = 0; i < ARRAY_LENGTH(optional); i++) {
		if (!strstr(row->by, optional[i].by) || !plan->not_enforced[optional[i].control])
			continue;
		snprintf(buf, len, "%s is not enforced here", policy_control_name(optional[i].control));
		return buf;
	}
	return NULL;
}

/* ---- reading ---- */

/* A word that is not known would never allow anything, or be waited for in vain. */
static bool knows_words(const struct attack_row *row)
{
	static const char *const needs[] = { "spawn", "neighbour", "short",   "thrifty",
					     "storm", "companion", "joiners", "parked",
					     "pool",  "last",      "raised",  "killed" };
	char all[256];
	char *rest = all;
	const char *word;

	snprintf(all, sizeof(all), "%s", row->allowed);
	while ((word = strsep(&rest, "|")) != NULL)
		if (*word && !find_word(word))
			return false;
	snprintf(all, sizeof(all), "%s", row->needs);
	for (rest = all; (word = strsep(&rest, "|")) != NULL;) {
		size_t i = 0;

		while (*word && i < ARRAY_LENGTH(needs) && strcmp(word, needs[i]) != 0)
			i++;
		if (i == ARRAY_LENGTH(needs))
			return false;
	}
	return true;
}

static bool is_of_session(const struct attack_row *row)
{
	return attack_has_word(row->needs, "companion") || attack_has_word(row->needs, "joiners");
}

static bool is_of_pool(const struct attack_row *row)
{
	return attack_has_word(row->needs, "parked") || attack_has_word(row->needs, "pool");
}

int attack_table_read(bool in_session, struct attack_table *ret, struct warder_error *err)
{
	size_t lines = 0;
	size_t read = 0;
	char *next;

	memset(ret, 0, sizeof(*ret));
	if (programs_find("warder-attempts", "--attack", ret->program, err) != 0)
		return -1;
	ret->text = run_list(ret->program);
	for (const char *at = ret->text; at && *at; at++)
		lines += *at == '\n';
	ret->rows = calloc(lines + 1, sizeof(*ret->rows));
	next = ret->text;
	for (; ret->rows && next && *next && read < lines; read++) {
		struct attack_row *row = &ret->rows[ret->count];

		if (split_line(strsep(&next, "\n"), row) != 0 || !knows_words(row))
			break;
		ret->count += in_session ? !is_of_pool(row) : !is_of_session(row);
	}
	if (ret->count > 0 && read == lines)
		return 0;
	attack_table_done(ret);
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "--attack",
			 "%.200s does not list its attempts; is it from this version of Warder?",
			 ret->program);
}
