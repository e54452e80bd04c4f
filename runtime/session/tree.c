#include "runtime/session/tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "runtime/library/preparation.h"

/* ---- life ---- */

int tree_open(const struct policy *policy, const struct jail_joint *joint, const char *root,
	      struct tree_root *ret, struct warder_error *err)
{
	const struct preparation_options how = { .joint = joint, .root = root };
	struct preparation preparation = { 0 };
	int status = preparation_build(policy, &how, &preparation, err);

	if (status == 0) {
		ret->switches = joint->privileged;
		ret->uid = joint->id_base + preparation.plan.uid;
		ret->gid = joint->id_base + preparation.plan.gid;
		ret->directory = strdup(preparation.plan.rootfs.working_directory);
		if (!ret->directory)
			status = error_no_memory(err, NULL);
	}
	preparation_done(&preparation);
	return status == 0 ? jail_session_open_root(joint, &ret->fd, err) : -1;
}

void tree_done(struct tree_root *root)
{
	fd_done(&root->fd);
	free(root->directory);
	root->directory = NULL;
}

void tree_become(const struct tree_root *root)
{
	if (!root->switches)
		return;
	setfsgid(root->gid);
	setfsuid(root->uid);
}

void tree_return(const struct tree_root *root)
{
	if (!root->switches)
		return;
	setfsgid(getegid());
	setfsuid(geteuid());
}

/* ---- words ---- */

int tree_failed(const char *path, const char *what, struct warder_error *err)
{
	char shown[200];

	return error_set_errno(err, errno == ENOENT ? WARDER_ERROR_NOT_FOUND : WARDER_ERROR_UNAVAILABLE,
			       "path", errno, "%s %s", json_quote(path, shown, sizeof(shown)), what);
}

int tree_refuse(const char *path, const char *why, struct warder_error *err)
{
	char shown[200];

	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path", "%s %s",
			 json_quote(path, shown, sizeof(shown)), why);
}

const char *tree_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symlink";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	default:
		return "device";
	}
}

/* ---- names and bytes ---- */

void tree_free_names(char **names, size_t count)
{
	while (count)
		free(names[--count]);
	free(names);
}

int tree_names(int fd, const char *path, char ***ret, size_t *ret_count, struct warder_error *err)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	char **names = NULL;
	size_t count = 0, room = 0;

	if (!dir) {
		close(fd);
		return tree_failed(path, "cannot be listed", err);
	}
	while (errno = 0, (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (count == TREE_ENTRIES_MAX)
			break;
		if (count == room) {
			char **more = realloc(names, (room = room ? room * 2 : 64) * sizeof(*names));

			if (!more)
				break;
			names = more;
		}
		names[count] = strdup(entry->d_name);
		if (!names[count])
			break;
		count++;
	}
	if (entry || errno) {
		if (count == TREE_ENTRIES_MAX)
			tree_refuse(path, "has more than 200000 entries", err);
		else
			tree_failed(path, "cannot be listed", err);
		tree_free_names(names, count);
		closedir(dir);
		return -1;
	}
	closedir(dir);
	if (count)
		qsort(names, count, sizeof(*names), text_order);
	*ret = names;
	*ret_count = count;
	return 0;
}

int tree_copy_bytes(int from_fd, int to_fd, off_t size)
{
	char chunk[TREE_CHUNK];
	off_t at = 0;

	if (ftruncate(to_fd, size) < 0)
		return -1;
	while (at < size) {
		const off_t data = lseek(from_fd, at, SEEK_DATA);
		const off_t hole = data < 0 ? -1 : lseek(from_fd, data, SEEK_HOLE);
		off_t end = hole < 0 || hole > size ? size : hole;

		if (data < 0 && errno == ENXIO)
			return 0;
		for (at = data < 0 ? at : data; at < end;) {
			const ssize_t n = pread(from_fd, chunk,
						end - at < TREE_CHUNK ? (size_t)(end - at) : TREE_CHUNK, at);

			if (n < 0)
				return -1;
			if (n == 0)
				return 0; /* it was cut meanwhile */
			if (pwrite(to_fd, chunk, (size_t)n, at) != n) {
				errno = errno ? errno : ENOSPC;
				return -1;
			}
			at += n;
		}
	}
	return 0;
}
