#include "runtime/attack/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"

#define DIES_MS 20000 /* on a slow machine */

/* ---- what the host knows of a jail ---- */

/* The number behind a name in /proc/PID/status; -1: there is none. */
static long status_of(int pid, const char *name)
{
	struct warder_error ignored;
	char path[64];
	char *text = NULL;
	long value = -1;
	const char *at;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (file_read_most(path, 1 << 16, &text, &len, &ignored) != 0)
		return -1;
	at = strstr(text, name);
	if (at)
		value = strtol(at + strlen(name), NULL, 10);
	free(text);
	return value;
}

/* A file in one of the jail's own cgroups, which only jails have with that name; false: there is none that this user may write to. */
static bool find_cgroup_file(int pid, const char *name, char *ret, size_t size)
{
	static const char *const roots[] = { "/sys/fs/cgroup/pids", "/sys/fs/cgroup",
					     "/sys/fs/cgroup/unified" };
	struct warder_error ignored;
	char path[64];
	char *text = NULL;
	char *line, *next;
	bool found = false;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (file_read_most(path, 1 << 16, &text, &len, &ignored) != 0)
		return false;
	next = text;
	while (!found && (line = strsep(&next, "\n")) != NULL) {
		const char *at = strchr(line, '/');

		for (size_t i = 0; at && !found && strstr(at, "/warder-") && i < ARRAY_LENGTH(roots); i++) {
			snprintf(ret, size, "%s%s/%s", roots[i], at, name);
			found = access(ret, W_OK) == 0;
		}
	}
	free(text);
	return found;
}

int attack_pool_open(struct attack_pool *pool, struct jail_template *tmpl, struct attack_marks *marks,
		     struct warder_error *err)
{
	struct warder_error ignored;
	char path[PATH_MAX];
	int pid;

	pool->tmpl = tmpl;
	if (jail_check_park(jail_template_plan(tmpl), &ignored) != 0)
		return 0;
	if (jail_park(tmpl, &pool->parked, err) != 0)
		return error_context(err, "the parked jail");
	pid = jail_run_program_pid(pool->parked);
	attack_marks_add(marks, "parked-pid=%d", pid);
	attack_marks_add(marks, "parked-init=%ld", status_of(pid, "\nPPid:"));
	attack_marks_add(marks, "parked-uid=%ld", status_of(pid, "\nUid:"));
	if (find_cgroup_file(pid, "cgroup.procs", path, sizeof(path)))
		attack_marks_add(marks, "parked-cgroup=%s", path);
	return 0;
}

bool attack_pool_lives(const struct attack_pool *pool)
{
	return !pool->parked || status_of(jail_run_program_pid(pool->parked), "\nPPid:") > 0;
}

/* ---- hand-outs ---- */

/* As root can at any time. False with *err: it cannot be done here. */
static bool raise_limit(int pid, struct warder_error *err)
{
	char path[PATH_MAX], value[32] = "";
	owned_fd int fd = -1;

	if (find_cgroup_file(pid, "pids.max", path, sizeof(path)))
		fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || pread(fd, value, sizeof(value) - 1, 0) <= 0 || strtoull(value, NULL, 10) == 0) {
		error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			  "the jail has no limit of processes that this user can change");
		return false;
	}
	snprintf(value, sizeof(value), "%llu", strtoull(value, NULL, 10) + 1);
	if (write(fd, value, strlen(value)) > 0)
		return true;
	error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "%.200s", path);
	return false;
}

static bool kill_init(int pid, struct warder_error *err)
{
	const long init = status_of(pid, "\nPPid:");
	owned_fd int fd = init > 0 ? (int)syscall(SYS_pidfd_open, init, 0) : -1;
	struct pollfd dead = { .fd = fd, .events = POLLIN };

	if (fd >= 0 && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0 &&
	    poll(&dead, 1, DIES_MS) == 1)
		return true;
	error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the jail's init cannot be killed");
	return false;
}

static int run_last(struct attack_pool *pool, char *const *argv, struct warder_error *err)
{
	const struct jail_command command = { .argv = argv, .stdin_fd = -1 };
	struct jail_outcome outcome;
	struct jail_run *run = NULL;
	struct warder_error ignored;
	int status;

	if (jail_park(pool->tmpl, &run, err) != 0)
		return -1;
	status = jail_recheck(run, err) == 0 && jail_hand_out(run, &command, err) == 0
		     ? jail_supervise(run, &outcome, err)
		     : -1;
	if (status == 0) {
		if (outcome.cause != JAIL_CAUSE_EXIT || outcome.exit_code != 0)
			status = error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "it left nothing: %.150s",
					   outcome.detail);
		jail_outcome_done(&outcome);
	}
	if (status == 0)
		return jail_run_remove(run, err);
	jail_run_remove(run, &ignored);
	return -1;
}

/* What the row needs to happen while the jail is parked. */
static int change(struct attack_pool *pool, const struct attack_row *row, int pid, char *const *last_argv,
		  enum attack_taken *ret_taken, struct warder_error *err)
{
	if (attack_has_word(row->needs, "last") && run_last(pool, last_argv, err) != 0)
		return error_context(err, "the launch before");
	if ((attack_has_word(row->needs, "raised") && !raise_limit(pid, err)) ||
	    (attack_has_word(row->needs, "killed") && !kill_init(pid, err)))
		*ret_taken = ATTACK_TAKEN_UNTRIED;
	return 0;
}

int attack_pool_take(struct attack_pool *pool, const struct attack_row *row, char *const *last_argv,
		     const struct jail_command *command, enum attack_taken *ret_taken,
		     struct jail_run **ret_run, struct warder_error *err)
{
	enum attack_taken taken = ATTACK_TAKEN;
	struct jail_run *run = NULL;
	struct warder_error ignored;
	int status;

	if (jail_park(pool->tmpl, &run, err) != 0)
		return -1;
	status = change(pool, row, jail_run_program_pid(run), last_argv, &taken, err);
	if (status == 0 && taken == ATTACK_TAKEN && jail_recheck(run, err) != 0)
		taken = ATTACK_TAKEN_REFUSED;
	if (status == 0 && taken == ATTACK_TAKEN && jail_hand_out(run, command, err) != 0)
		taken = ATTACK_TAKEN_FAILED;
	if (status == 0)
		*ret_taken = taken;
	if (status == 0 && taken == ATTACK_TAKEN)
		*ret_run = run;
	else
		jail_run_remove(run, &ignored);
	return status;
}

int attack_pool_close(struct attack_pool *pool, struct warder_error *err)
{
	struct warder_error ignored;
	int status = 0;

	if (!pool->parked)
		return 0;
	if (attack_pool_lives(pool) && jail_recheck(pool->parked, err) != 0)
		status = error_context(err, "an attempt changed the parked jail");
	if (jail_run_remove(pool->parked, status == 0 ? err : &ignored) != 0)
		status = -1;
	pool->parked = NULL;
	return status;
}
