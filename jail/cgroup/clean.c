#include "jail/cgroup/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/compose.h"
#include "base/fd.h"
#include "jail/cgroup/ends.h"

/*
 * What a supervisor that was killed left behind. A leaf says in its name whose it is; pid and start time together
 * name a process for good within one boot, and cgroups do not outlive one. What is in the leaf of a dead supervisor
 * belongs to nobody and is killed: by cgroup.kill where there is one, else process by process in rounds, since a
 * process can fork between being listed and being killed. A process is pinned by a pidfd and then looked at again, so
 * that a number which was handed to somebody else in between is not hit.
 * A self leaf (n = 0) held the supervisor itself, and with it maybe processes of the program that used the library: it is
 * only ever removed, never killed.
 */

/*
 * A launch never waits for what others left. All leaves are killed before any is waited for, in passes with pauses between them; one
 * whose processes hang in the kernel is killed, but not waited for, or it would cost every later run its time.
 * A leaf that is killed frees the filters of a jail, and the kernel takes many at once badly: at most ENDS_AT_ONCE leaves in a pass.
 */

#define KILL_ROUNDS 40
#define EACH_ROUNDS 5
#define BRIEF_MS    50
#define LOOK_MAX    16 /* leaves of others that a run looks at: it must not pay for a thousand live jails */

static bool is_in_leaf(int pid, const char *name)
{
	char path[40];
	char text[4096];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	len = cgroup_file_read(AT_FDCWD, path, text, sizeof(text));
	return len > 0 && memmem(text, (size_t)len, name, strlen(name)) != NULL;
}

static void kill_pinned(int pid, const char *name)
{
	owned_fd int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pid_fd >= 0 && is_in_leaf(pid, name))
		syscall(SYS_pidfd_send_signal, pid_fd, SIGKILL, NULL, 0);
}

/* Kill the processes that are listed now, except for one. False when there was nobody. */
static bool kill_round(int dir_fd, const char *name, int except)
{
	owned_fd int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	bool any = false;
	int pid;

	if (!file)
		return false;
	fd_take(&fd);
	while (fscanf(file, "%d", &pid) == 1) {
		if (pid == except && except)
			continue;
		any = true;
		if (pid > 0) /* 0: in a pid namespace that we cannot see */
			kill_pinned(pid, name);
	}
	fclose(file);
	return any;
}

/* At once where the kernel can; else process by process. */
static void kill_all(const char *path, const char *name, int rounds)
{
	owned_fd int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir_fd < 0 || cgroup_file_write(dir_fd, "cgroup.kill", "1") == 0)
		return;
	for (int round = 1; kill_round(dir_fd, name, 0) && round < rounds; round++)
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

void cgroup_kill_each(const struct cgroup *cgroup, int except)
{
	for (int h = 0; h < CGROUP_HIERARCHIES_MAX; h++)
		for (int round = 0; cgroup->used[h] && kill_round(cgroup->dir_fd[h], cgroup->name, except) &&
				    round < EACH_ROUNDS;
		     round++)
			nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
}

/* Whether nobody is in the leaf but processes in state D, which may hang. */
static bool hangs(int dir_fd)
{
	char text[4096];
	ssize_t len = cgroup_file_read(dir_fd, "cgroup.procs", text, sizeof(text));
	bool any = false;
	int used;
	int pid;

	for (const char *at = text; len > 0 && sscanf(at, "%d%n", &pid, &used) == 1; at += used) {
		struct cgroup_process process;

		if (pid <= 0 || cgroup_process_read(pid, &process) < 0)
			continue;
		if (process.state != 'D' && process.state != 'Z')
			return false;
		any |= process.state == 'D';
	}
	return any;
}

static bool exists(const struct cgroup_host *host, size_t h, const char *name)
{
	char path[CGROUP_LEAF_PATH_MAX];

	compose(path, sizeof(path), host->hierarchies[h].base, "/", name);
	return access(path, F_OK) == 0;
}

/* What a session's cgroup has below it: one level, and nobody but its executions makes any. Everybody in it is killed; deadline_ms 0:
 * nothing is waited for. */
static void remove_children(const char *path, int64_t deadline_ms)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	char child[CGROUP_LEAF_PATH_MAX + CGROUP_NAME_MAX];

	while (dir && (entry = readdir(dir))) {
		struct cgroup_owner owner;

		if (!cgroup_text_owner(entry->d_name, &owner))
			continue;
		compose(child, sizeof(child), path, "/", entry->d_name);
		kill_all(child, entry->d_name, deadline_ms ? KILL_ROUNDS : 1);
		cgroup_dir_remove(child, deadline_ms);
	}
	if (dir)
		closedir(dir);
}

/* The kernel counts "." and ".." and one link for each cgroup beneath. */
static bool has_children(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 || st.st_nlink != 2;
}

static void sweep(const char *outer, bool all, int64_t deadline_ms)
{
	DIR *dir = has_children(outer) ? opendir(outer) : NULL;
	const struct dirent *entry;
	char path[CGROUP_LEAF_PATH_MAX + CGROUP_NAME_MAX];

	while (dir && (entry = readdir(dir))) {
		struct cgroup_owner owner;

		if (!cgroup_text_owner(entry->d_name, &owner) || owner.pid != getpid())
			continue;
		snprintf(path, sizeof(path), "%s/%.95s", outer, entry->d_name);
		rmdir(path);
	}
	if (dir)
		closedir(dir);
	if (dir && all)
		remove_children(outer, deadline_ms);
}

void cgroup_sweep(const struct cgroup *outer, bool all)
{
	const int64_t deadline_ms = outer->stuck ? 0 : cgroup_now_ms() + 2000;
	char path[CGROUP_LEAF_PATH_MAX];

	for (size_t h = 0; h < CGROUP_HIERARCHIES_MAX; h++) {
		if (!outer->used[h])
			continue;
		cgroup_leaf_path(outer, h, path);
		sweep(path, all, deadline_ms);
	}
}

struct cleaning {
	const struct cgroup_host *host;
	int64_t deadline_ms;
	int removed;
	int killed;  /* leaves, in this pass */
	int waiting; /* leaves of this pass that may be empty soon */
};

/* 0: it is gone; -1: not yet. */
static int try_remove(struct cleaning *cleaning, const char *path, const char *name, bool with_kill)
{
	owned_fd int dir_fd = -1;

	if (rmdir(path) == 0 || errno == ENOENT)
		return 0;
	dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (with_kill && dir_fd >= 0 && cleaning->killed < ENDS_AT_ONCE) {
		cleaning->killed++;
		kill_all(path, name, 1);
		remove_children(path, 0);
	}
	if (rmdir(path) == 0 || errno == ENOENT)
		return 0;
	cleaning->waiting += dir_fd >= 0 && with_kill && !hangs(dir_fd);
	return -1;
}

/* The leaf in every hierarchy from `first` on. */
static void remove_leaf(struct cleaning *cleaning, size_t first, const char *name, bool with_kill)
{
	const struct cgroup_host *host = cleaning->host;
	char path[CGROUP_LEAF_PATH_MAX];
	bool removed = true;

	for (size_t h = first; h < host->hierarchy_count; h++) {
		compose(path, sizeof(path), host->hierarchies[h].base, "/", name);
		if (try_remove(cleaning, path, name, with_kill) < 0)
			removed = false;
	}
	cleaning->removed += removed;
}

/* Leaves in hierarchy `h` that no earlier hierarchy has; `dry_run` only counts them. */
static void clean_hierarchy(struct cleaning *cleaning, size_t h, bool dry_run)
{
	const struct cgroup_host *host = cleaning->host;
	DIR *dir = opendir(host->hierarchies[h].base);
	const uint64_t here = dir ? cgroup_space() : 0;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct cgroup_owner owner;
		bool seen = false;

		if (!cgroup_text_owner(entry->d_name, &owner) || cgroup_owner_lives(&owner, here))
			continue;
		for (size_t earlier = 0; earlier < h; earlier++)
			seen = seen || exists(host, earlier, entry->d_name);
		if (seen)
			continue;
		if (dry_run)
			cleaning->removed++;
		else
			remove_leaf(cleaning, h, entry->d_name, owner.n > 0);
		if (!dry_run && cgroup_now_ms() >= cleaning->deadline_ms)
			break;
	}
	if (dir)
		closedir(dir);
}

/* Owners of leaves that were found alive. One supervisor may own many leaves, each in several hierarchies. */
struct alive {
	struct cgroup_owner owners[LOOK_MAX];
	size_t count;
};

static bool is_known(const struct alive *alive, const struct cgroup_owner *owner)
{
	for (size_t i = 0; i < alive->count; i++) {
		const struct cgroup_owner *known = &alive->owners[i];

		if (known->pid == owner->pid && known->start_time == owner->start_time &&
		    known->space == owner->space)
			return true;
	}
	return false;
}

static bool has_leftovers(const struct cgroup_host *host, size_t h, uint64_t here, struct alive *alive)
{
	DIR *dir = opendir(host->hierarchies[h].base);
	const struct dirent *entry;
	bool found = false;
	int looked = 0;

	while (dir && !found && looked < LOOK_MAX && (entry = readdir(dir))) {
		struct cgroup_owner owner;

		if (!cgroup_text_owner(entry->d_name, &owner) || owner.pid == host->owner_pid)
			continue;
		looked++;
		if (is_known(alive, &owner))
			continue;
		found = !cgroup_owner_lives(&owner, here);
		if (!found && alive->count < LOOK_MAX)
			alive->owners[alive->count++] = owner;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* A cheap look whether cgroup_clean() would find something: at the first few leaves of others. */
static bool cgroup_has_leftovers(const struct cgroup_host *host)
{
	/* The process that probed the host is where it was; a fork of it may be elsewhere. */
	uint64_t here = host->owner_pid == getpid() ? host->owner_space : 0;
	struct alive alive = { .count = 0 };

	/* In all of them: the leaf of a trial is in one only. */
	for (size_t h = 0; h < host->hierarchy_count; h++) {
		if (!has_children(host->hierarchies[h].base))
			continue;
		here = here ? here : cgroup_space();
		if (has_leftovers(host, h, here, &alive))
			return true;
	}
	return false;
}

static int clean(const struct cgroup_host *host, bool dry_run, int64_t within_ms)
{
	struct cleaning cleaning = { .host = host, .deadline_ms = cgroup_now_ms() + within_ms };
	long pause_ms = 1;
	int64_t now_ms;

	for (;;) {
		cleaning.killed = cleaning.waiting = 0;
		for (size_t h = 0; h < host->hierarchy_count; h++)
			clean_hierarchy(&cleaning, h, dry_run);
		now_ms = cgroup_now_ms();
		if (dry_run || !cleaning.waiting || now_ms >= cleaning.deadline_ms)
			return cleaning.removed;
		pause_ms = cleaning.killed == ENDS_AT_ONCE ? ENDS_PAUSE_MS : pause_ms;
		if (pause_ms > cleaning.deadline_ms - now_ms)
			pause_ms = (long)(cleaning.deadline_ms - now_ms);
		nanosleep(&(struct timespec){ .tv_nsec = pause_ms * 1000000 }, NULL);
		pause_ms = pause_ms < 16 ? pause_ms * 2 : 32;
	}
}

int cgroup_clean(const struct cgroup_host *host, bool dry_run)
{
	return clean(host, dry_run, 2000);
}

void cgroup_clean_briefly(const struct cgroup_host *host)
{
	if (cgroup_has_leftovers(host))
		clean(host, false, BRIEF_MS);
}
