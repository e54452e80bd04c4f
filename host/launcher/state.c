#include "host/launcher/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"

#define TEMPORARY   ".warder-" /* of file_replace() */
#define SUFFIX      ".json"
#define PATIENCE_US UINT64_C(3000000)
#define PAUSE_MS    50

static int default_path(char path[PATH_MAX], struct warder_error *err)
{
	const char *base = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (geteuid() == 0)
		snprintf(path, PATH_MAX, "/var/lib/warder/host");
	else if (base && base[0] == '/')
		snprintf(path, PATH_MAX, "%s/warder", base);
	else if (home && home[0] == '/')
		snprintf(path, PATH_MAX, "%s/.local/state/warder", home);
	else
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--state",
				 "neither XDG_STATE_HOME nor HOME is set; name the directory with --state");
	return 0;
}

/* Make each missing directory of a path, the last one included. */
static int make_path(const char *path, struct warder_error *err)
{
	char part[PATH_MAX];

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--state", "the path is too long");
	for (char *slash = strchr(part + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--state", errno,
					       "cannot make %s", part);
		if (!slash)
			return 0;
		*slash = '/';
	}
}

static int check_private(int fd, const char *path, struct warder_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--state", errno, "cannot look at %s",
				       path);
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return error_set(err, WARDER_ERROR_REJECTED, "--state",
				 "%s must belong to the user of the host, with mode 0700; it belongs to user "
				 "%u, with mode %04o",
				 path, st.st_uid, st.st_mode & 07777);
	return 0;
}

int state_open(const char *path, const char *part, int *ret_fd, struct warder_error *err)
{
	char chosen[PATH_MAX];
	owned_fd int dir_fd = -1;
	owned_fd int fd = -1;

	if (path)
		snprintf(chosen, sizeof(chosen), "%s", path);
	else if (default_path(chosen, err) < 0)
		return -1;
	if (!chosen[0])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--state", "the path is empty");
	if (make_path(chosen, err) < 0)
		return -1;
	dir_fd = open(chosen, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--state", errno, "cannot open %s",
				       chosen);
	if (check_private(dir_fd, chosen, err) < 0)
		return -1;
	if (mkdirat(dir_fd, part, 0700) < 0 && errno != EEXIST)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--state", errno, "cannot make %s/%s",
				       chosen, part);
	fd = openat(dir_fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--state", errno, "cannot open %s/%s",
				       chosen, part);
	*ret_fd = fd_take(&fd);
	return 0;
}

int state_lock(int sandboxes_fd, struct warder_error *err)
{
	const uint64_t until_us = clock_us() + PATIENCE_US;

	while (flock(sandboxes_fd, LOCK_EX | LOCK_NB) < 0) {
		if (clock_us() >= until_us)
			return error_set(err, WARDER_ERROR_CONFLICT, "--state",
					 "another \"warder serve --listen\" uses the same state directory");
		poll(NULL, 0, PAUSE_MS);
	}
	return 0;
}

static void file_of(const char *name, char ret[NAME_MAX + 1])
{
	snprintf(ret, NAME_MAX + 1, "%s" SUFFIX, name);
}

int state_read(int part_fd, const char *name, char **ret, struct warder_error *err)
{
	char file[NAME_MAX + 1];
	owned_fd int fd = -1;
	size_t len;

	file_of(name, file);
	fd = openat(part_fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return error_set_errno(err,
				       errno == ENOENT ? WARDER_ERROR_NOT_FOUND : WARDER_ERROR_UNAVAILABLE,
				       file, errno, "cannot read %s", file);
	return file_read_open(fd, file, STATE_BYTES_MAX, ret, &len, err);
}

int state_write(int part_fd, const char *name, const char *text, struct warder_error *err)
{
	const size_t len = strlen(text);
	char file[NAME_MAX + 1];

	file_of(name, file);
	if (len > STATE_BYTES_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "%s: %zu bytes, and the host keeps at most %zu", file, len, STATE_BYTES_MAX);
	return file_replace(part_fd, file, text, len, err);
}

int state_remove(int part_fd, const char *name, struct warder_error *err)
{
	char file[NAME_MAX + 1];

	file_of(name, file);
	if (unlinkat(part_fd, file, 0) == 0)
		return 0;
	return errno == ENOENT ? 1
			       : error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--state", errno,
						 "cannot remove %s", file);
}

int state_each(int part_fd, int (*each)(void *context, const char *name), void *context,
	       struct warder_error *err)
{
	const int fd = openat(part_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int found = 0;

	if (!dir) {
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--state", errno,
				"cannot list the state directory");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	for (struct dirent *entry; found == 0 && (entry = readdir(dir));) {
		const size_t len = strlen(entry->d_name);
		const size_t tail = sizeof(SUFFIX) - 1;
		char name[NAME_MAX + 1];

		/* file_replace() writes under another name first. */
		if (entry->d_name[0] == '.' || len <= tail || strcmp(entry->d_name + len - tail, SUFFIX) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(len - tail), entry->d_name);
		found = each(context, name);
	}
	closedir(dir);
	return found;
}

void state_remove_all(int part_fd, const char *prefix)
{
	const int fd = openat(part_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));)
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			unlinkat(part_fd, entry->d_name, 0); /* never ".", which is a directory */
	closedir(dir);
}

void state_sweep(int part_fd)
{
	state_remove_all(part_fd, TEMPORARY);
}
