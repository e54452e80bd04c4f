#include "jail/cgroup_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

/*
 * What a supervisor that was killed left behind. A leaf says in its name whose it is; pid and start time together
 * name a process for good within one boot, and cgroups do not outlive one. What is in the leaf of a dead supervisor
 * belongs to nobody and is killed: by cgroup.kill where there is one, else process by process in rounds, since a
 * process can fork between being listed and being killed. A process is pinned by a pidfd and then looked at again, so
 * that a number which was handed to somebody else in between is not hit.
 * A seat (n = 0) held the supervisor itself, and with it maybe processes of the program that used the library: it is
 * only ever removed, never killed.
 */

#define KILL_ROUNDS 40
#define LOOK_MAX    16 /* leaves of others that a launch looks at: it must not pay for a thousand live jails */

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

/* Kill what is listed now. False when there was nobody. */
static bool kill_round(int dir_fd, const char *name)
{
	owned_fd int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	bool any = false;
	int pid;

	if (!file)
		return false;
	fd_take(&fd);
	while (fscanf(file, "%d", &pid) == 1) {
		any = true;
		if (pid > 0) /* 0: in a pid namespace that we cannot see */
			kill_pinned(pid, name);
	}
	fclose(file);
	return any;
}

static void kill_all(const char *path, const char *name)
{
	owned_fd int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir_fd < 0 || cgroup_file_write(dir_fd, "cgroup.kill", "1") == 0)
		return;
	for (int round = 0; round < KILL_ROUNDS && kill_round(dir_fd, name); round++)
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

static bool exists(const struct cgroup_host *host, size_t h, const char *name)
{
	char path[CGROUP_LEAF_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", host->hierarchies[h].base, name);
	return access(path, F_OK) == 0;
}

/* What a session's cgroup has below it: one level, and nobody but its executions makes any. With a kill, where wanted. */
static void remove_children(const char *path, bool with_kill, int64_t deadline_ms)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	char child[CGROUP_LEAF_PATH_MAX + CGROUP_NAME_MAX];

	while (dir && (entry = readdir(dir))) {
		struct cgroup_owner owner;

		if (!cgroup_text_owner(entry->d_name, &owner))
			continue;
		snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
		if (with_kill)
			kill_all(child, entry->d_name);
		cgroup_dir_remove(child, deadline_ms);
	}
	if (dir)
		closedir(dir);
}

static void sweep(const char *outer, bool all, int64_t deadline_ms)
{
	DIR *dir = opendir(outer);
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
	if (all)
		remove_children(outer, true, deadline_ms);
}

void cgroup_sweep(const struct cgroup *outer, bool all)
{
	const int64_t deadline_ms = cgroup_now_ms() + 2000;
	char path[CGROUP_LEAF_PATH_MAX];

	for (size_t h = 0; h < CGROUP_HIERARCHIES_MAX; h++) {
		if (!outer->used[h])
			continue;
		cgroup_leaf_path(outer, h, path);
		sweep(path, all, deadline_ms);
	}
}

/* The leaf in every hierarchy from `first` on. All are killed before any is removed: what is forked while one
 * directory is emptied shows in the others. */
static bool remove_leaf(const struct cgroup_host *host, size_t first, const char *name, bool with_kill,
			int64_t deadline_ms)
{
	char path[CGROUP_LEAF_PATH_MAX];
	bool removed = true;

	for (size_t h = first; h < host->hierarchy_count && with_kill; h++) {
		snprintf(path, sizeof(path), "%s/%s", host->hierarchies[h].base, name);
		kill_all(path, name);
	}
	for (size_t h = first; h < host->hierarchy_count; h++) {
		snprintf(path, sizeof(path), "%s/%s", host->hierarchies[h].base, name);
		if (with_kill && rmdir(path) < 0)
			remove_children(path, true, deadline_ms);
		if (cgroup_dir_remove(path, deadline_ms) < 0)
			removed = false;
	}
	return removed;
}

/* Leaves in hierarchy `h` that no earlier hierarchy has. */
static int clean_hierarchy(const struct cgroup_host *host, size_t h, bool dry_run, int64_t deadline_ms)
{
	DIR *dir = opendir(host->hierarchies[h].base);
	const struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir))) {
		struct cgroup_owner owner;
		bool seen = false;

		if (!cgroup_text_owner(entry->d_name, &owner) || cgroup_owner_lives(&owner))
			continue;
		for (size_t earlier = 0; earlier < h; earlier++)
			seen = seen || exists(host, earlier, entry->d_name);
		if (!seen && (dry_run || remove_leaf(host, h, entry->d_name, owner.n > 0, deadline_ms)))
			count++;
	}
	if (dir)
		closedir(dir);
	return count;
}

static bool has_leftovers(const struct cgroup_host *host, size_t h)
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
		found = !cgroup_owner_lives(&owner);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool cgroup_has_leftovers(const struct cgroup_host *host)
{
	/* In all of them: the leaf of a trial is in one only. */
	for (size_t h = 0; h < host->hierarchy_count; h++)
		if (has_leftovers(host, h))
			return true;
	return false;
}

int cgroup_clean(const struct cgroup_host *host, bool dry_run)
{
	int64_t deadline_ms = cgroup_now_ms() + 2000;
	int count = 0;

	for (size_t h = 0; h < host->hierarchy_count; h++)
		count += clean_hierarchy(host, h, dry_run, deadline_ms);
	return count;
}
