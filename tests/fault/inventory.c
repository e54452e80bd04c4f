#include "tests/fault/inventory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "jail/identity.h"

__attribute__((format(printf, 2, 3))) static void add(struct inventory *inventory, const char *format, ...)
{
	char *line = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		abort();
	va_end(args);
	inventory->lines = realloc(inventory->lines, (inventory->count + 1) * sizeof(char *));
	if (!inventory->lines)
		abort();
	inventory->lines[inventory->count++] = line;
}

static bool has(const struct inventory *inventory, const char *line)
{
	for (size_t i = 0; i < inventory->count; i++)
		if (strcmp(inventory->lines[i], line) == 0)
			return true;
	return false;
}

/* ---- processes and namespaces ---- */

/* "State" letter and name of /proc/<pid>/stat; false when it is gone. */
static bool read_stat(int pid, char name[64], char *ret_state)
{
	char path[64];
	FILE *file;
	int read;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	read = file ? fscanf(file, "%*d (%63[^)]) %c", name, ret_state) : 0;
	if (file)
		fclose(file);
	return read == 2;
}

static void add_namespaces(struct inventory *inventory, int pid)
{
	static const char *const kinds[] = { "user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time" };

	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
		char path[64];
		char target[64] = "";
		char line[96];

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kinds[i]);
		if (readlink(path, target, sizeof(target) - 1) < 0)
			continue;
		snprintf(line, sizeof(line), "namespace %s", target);
		if (!has(inventory, line))
			add(inventory, "%s", line);
	}
}

static void add_process(struct inventory *inventory, int pid, const char *why)
{
	char name[64];
	char known[32];
	char state;

	snprintf(known, sizeof(known), "process %d (", pid);
	for (size_t i = 0; i < inventory->count; i++)
		if (strncmp(inventory->lines[i], known, strlen(known)) == 0)
			return; /* it is in several hierarchies */
	if (!read_stat(pid, name, &state))
		return;
	add(inventory, "process %d (%s, state %c, %s)", pid, name, state, why);
	add_namespaces(inventory, pid);
}

static void add_children(struct inventory *inventory, int pid)
{
	char path[64];
	DIR *tasks;
	const struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		char children[400];
		FILE *file;
		int child;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(children, sizeof(children), "/proc/%d/task/%s/children", pid, entry->d_name);
		file = fopen(children, "re");
		while (file && fscanf(file, "%d", &child) == 1) {
			add_process(inventory, child, "a descendant");
			add_children(inventory, child);
		}
		if (file)
			fclose(file);
	}
	if (tasks)
		closedir(tasks);
}

/* ---- descriptors, mounts, cgroups, files, leases ---- */

/* Which inode or pid it is differs from run to run. */
static void without_numbers(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (!isdigit((unsigned char)*from))
			*to++ = *from;
		else if (to == text || to[-1] != '#')
			*to++ = '#';
	*to = '\0';
}

static void add_descriptors(struct inventory *inventory)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char target[256] = "";

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(dir) ||
		    readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) < 0)
			continue;
		without_numbers(target);
		add(inventory, "descriptor %s", target);
	}
	if (dir)
		closedir(dir);
}

static void add_mounts(struct inventory *inventory)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) >= 0) {
		char point[256] = "";
		const char *rest = strstr(line, " - ");
		char type[32] = "";

		sscanf(line, "%*s %*s %*s %*s %255s", point);
		if (rest)
			sscanf(rest, " - %31s", type);
		add(inventory, "mount %s %s", point, type);
	}
	free(line);
	if (file)
		fclose(file);
}

static void add_members(struct inventory *inventory, const char *leaf)
{
	char path[700];
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", leaf);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1)
		add_process(inventory, pid, "in a cgroup");
	if (file)
		fclose(file);
}

static void add_cgroups(struct inventory *inventory, const char *base)
{
	DIR *dir = opendir(base);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char leaf[600];

		if (entry->d_type != DT_DIR || strncmp(entry->d_name, "warder-", 7) != 0)
			continue;
		snprintf(leaf, sizeof(leaf), "%s/%s", base, entry->d_name);
		add(inventory, "cgroup %s", leaf);
		add_members(inventory, leaf);
	}
	if (dir)
		closedir(dir);
}

static void add_files(struct inventory *inventory, const char *directory)
{
	DIR *dir = opendir(directory);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add(inventory, "file %s/%s", directory, entry->d_name);
	if (dir)
		closedir(dir);
}

static void add_leases(struct inventory *inventory)
{
	int fd = open("/run/warder.ids", O_RDWR | O_CLOEXEC);
	off_t at = 0;

	while (fd >= 0 && at < (off_t)IDENTITY_SLOTS) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 0 };

		if (fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
			break;
		add(inventory, "lease of %ld ids", (long)lock.l_len * (long)IDENTITY_IDS);
		at = lock.l_start + lock.l_len;
		if (lock.l_len == 0)
			break;
	}
	if (fd >= 0)
		close(fd);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void inventory_take(const struct inventory_scope *scope, struct inventory *ret)
{
	*ret = (struct inventory){ 0 };
	add_namespaces(ret, getpid());
	add_children(ret, getpid());
	add_descriptors(ret);
	if (scope->own_mounts)
		add_mounts(ret);
	for (size_t h = 0; h < scope->host->cgroup.hierarchy_count; h++)
		add_cgroups(ret, scope->host->cgroup.hierarchies[h].base);
	for (size_t i = 0; scope->directories[i]; i++)
		add_files(ret, scope->directories[i]);
	add_leases(ret);
	qsort(ret->lines, ret->count, sizeof(char *), by_text);
}

void inventory_done(struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->count; i++)
		free(inventory->lines[i]);
	free(inventory->lines);
	*inventory = (struct inventory){ 0 };
}

static void note(char *text, size_t size, const char *what, const char *line)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s: %s", used ? "; " : "", what, line);
}

bool inventory_same(const struct inventory *before, const struct inventory *after, bool exact, char *text,
		    size_t size)
{
	size_t i = 0;
	size_t j = 0;
	bool same = true;

	text[0] = '\0';
	while (i < before->count || j < after->count) {
		int order = i == before->count  ? 1
			    : j == after->count ? -1
						: strcmp(before->lines[i], after->lines[j]);

		if (order == 0) {
			i++;
			j++;
		} else if (order > 0) {
			note(text, size, "left", after->lines[j++]);
			same = false;
		} else {
			if (exact) {
				note(text, size, "missing", before->lines[i]);
				same = false;
			}
			i++;
		}
	}
	return same;
}

long inventory_settle(const struct inventory_scope *scope, const struct inventory *before, bool exact,
		      int seconds, char *text, size_t size)
{
	const uint64_t start = clock_us();
	long pause_us = 200;

	for (;;) {
		struct inventory now;
		bool same;

		while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
			; /* orphans that came to us */
		inventory_take(scope, &now);
		same = inventory_same(before, &now, exact, text, size);
		inventory_done(&now);
		if (same)
			return (long)((clock_us() - start) / 1000);
		if (clock_us() - start > (uint64_t)seconds * 1000000)
			return -1;
		usleep((useconds_t)pause_us);
		if (pause_us < 20000)
			pause_us *= 2;
	}
}

size_t inventory_count(const struct inventory *inventory, const char *kind)
{
	size_t count = 0;

	for (size_t i = 0; i < inventory->count; i++)
		count += strncmp(inventory->lines[i], kind, strlen(kind)) == 0;
	return count;
}
