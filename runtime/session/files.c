/*
 * The files of a session, from outside of it.
 *
 * What lies in a session is hostile, and may change at any moment. So nothing of it is named twice without a check:
 *
 * - A path is resolved by openat2 from a descriptor of the session's root, with RESOLVE_IN_ROOT and without the links of procfs. Below
 *   that, each name is opened in the descriptor of its directory, and links are not followed.
 * - Whatever is opened was first looked at with O_PATH, and is looked at again: a FIFO, a device or a link that took the place of a file
 *   is not read or written.
 * - Each access has the rights of the jail's user: as root, this thread takes the user's id for file systems, by which the kernel
 *   withdraws root's privileges over files. So new files belong to that user, and what it cannot read is not read for it.
 * - As much is read of a file as it had when it was opened. Depth and number of entries have limits.
 *
 * On the host's side the same calls have the caller's rights, and do not follow links below the path that was named.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/text.h"
#include "rootfs/rootfs.h"
#include "runtime/library/preparation.h"
#include "runtime/session/attachment.h"
#include "runtime/session/tree.h"

#define DEPTH_MAX  64
#define TEMP_TRIES 8

struct session_files {
	struct attachment *attachment;
	struct tree_root root;
};

enum side { HOST, JAIL };

static void become(const struct session_files *files, enum side side)
{
	if (side == JAIL)
		tree_become(&files->root);
	else
		tree_return(&files->root);
}

/* ---- life ---- */

int session_files_open(const struct warder_session *session, struct session_files **ret,
		       struct warder_error *err)
{
	struct session_files *files = calloc(1, sizeof(*files));

	if (!files)
		return error_no_memory(err, NULL);
	files->root.fd = -1;
	files->attachment = session_attach(&session->spec, SESSION_FILES, err);
	if (!files->attachment || tree_open(&session->spec.policy, &files->attachment->joint,
					    files->attachment->root, &files->root, err) < 0) {
		session_files_free(files);
		return -1;
	}
	if (files->root.switches && setgroups(0, NULL) < 0) {
		session_files_free(files);
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "setgroups");
	}
	*ret = files;
	return 0;
}

void session_files_free(struct session_files *files)
{
	if (!files)
		return;
	tree_done(&files->root);
	if (files->attachment)
		session_detach(files->attachment);
	free(files);
}

/* ---- opening ---- */

/* In the jail, links in it followed; as its user. */
static int open_inside(const struct session_files *files, const char *path, int flags,
		       struct warder_error *err)
{
	char full[PATH_MAX];
	int fd;

	if ((size_t)snprintf(full, sizeof(full), "%s%s%s", *path == '/' ? "" : files->root.directory,
			     *path == '/' ? "" : "/", path) >= sizeof(full))
		return tree_refuse(path, "is too long", err);
	become(files, JAIL);
	fd = path_open_in_root(files->root.fd, full, (uint64_t)flags, err);
	become(files, HOST);
	if (fd < 0)
		snprintf(err->field, sizeof(err->field), "path");
	return fd;
}

static int open_side(const struct session_files *files, enum side side, const char *path, int flags,
		     struct warder_error *err)
{
	int fd;

	if (side == JAIL)
		return open_inside(files, path, flags, err);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		tree_failed(path, "cannot be opened", err);
	return fd;
}

/* A regular file, without an effect on anything else that has its name. */
static int open_file(const struct session_files *files, const char *path, int flags, struct stat *ret,
		     struct warder_error *err)
{
	owned_fd int seen_fd = open_inside(files, path, O_PATH, err);
	owned_fd int fd = -1;
	char why[64];

	if (seen_fd < 0)
		return -1;
	if (fstat(seen_fd, ret) == 0 && S_ISREG(ret->st_mode)) {
		fd = open_inside(files, path, flags | O_NONBLOCK | O_NOCTTY, err);
		if (fd < 0)
			return -1;
		if (fstat(fd, ret) == 0 && S_ISREG(ret->st_mode))
			return fd_take(&fd);
	}
	snprintf(why, sizeof(why), "is not a regular file, but a %s", tree_type(ret->st_mode));
	return tree_refuse(path, why, err);
}

/* ---- read and write ---- */

static int too_large(const char *path, uint64_t bytes_max, struct warder_error *err)
{
	char size[32], why[120];

	snprintf(why, sizeof(why), "has more than %s; --max-bytes allows more",
		 policy_format_size(bytes_max, size, sizeof(size)));
	return tree_refuse(path, why, err);
}

int session_files_read(struct session_files *files, const char *path, uint64_t bytes_max, int to_fd,
		       struct warder_error *err)
{
	char chunk[TREE_CHUNK];
	struct stat st;
	owned_fd int fd = open_file(files, path, O_RDONLY, &st, err);
	uint64_t left;

	if (fd < 0)
		return -1;
	if ((uint64_t)st.st_size > bytes_max)
		return too_large(path, bytes_max, err);
	for (left = (uint64_t)st.st_size; left;) {
		const ssize_t n = read(fd, chunk, left < TREE_CHUNK ? left : TREE_CHUNK);

		if (n < 0 && errno != EINTR)
			return tree_failed(path, "cannot be read", err);
		if (n == 0)
			break; /* it was cut meanwhile */
		if (n > 0 && file_write_all(to_fd, chunk, (size_t)n) < 0)
			return tree_failed(path, "cannot be passed on", err);
		left -= n > 0 ? (uint64_t)n : 0;
	}
	return 0;
}

int session_files_size(struct session_files *files, const char *path, uint64_t *ret, struct warder_error *err)
{
	struct stat st;
	owned_fd int fd = open_file(files, path, O_RDONLY, &st, err);

	if (fd < 0)
		return -1;
	*ret = (uint64_t)st.st_size;
	return 0;
}

/* The directory of a path, and its last name, which points into the path; "." for a path that ends with no name. */
static int open_parent(const struct session_files *files, enum side side, const char *path, char *name,
		       struct warder_error *err)
{
	char parent[PATH_MAX];
	size_t len = strlen(path), start;

	while (len > 1 && path[len - 1] == '/')
		len--;
	for (start = len; start && path[start - 1] != '/';)
		start--;
	if (!len || len >= sizeof(parent) || len - start > NAME_MAX)
		return tree_refuse(path, len ? "is too long" : "is empty", err);
	snprintf(name, NAME_MAX + 1, "%.*s", (int)(len - start), path + start);
	snprintf(parent, sizeof(parent), "%.*s", (int)start, path);
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		strcpy(name, ".");
		return open_side(files, side, path, O_PATH | O_DIRECTORY, err);
	}
	return open_side(files, side, *parent ? parent : ".", O_PATH | O_DIRECTORY, err);
}

static int make_file(const struct session_files *files, const char *path, struct warder_error *err)
{
	char name[NAME_MAX + 1];
	owned_fd int parent_fd = open_parent(files, JAIL, path, name, err);
	owned_fd int fd = -1;

	if (parent_fd < 0)
		return -1;
	become(files, JAIL);
	fd = openat(parent_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	become(files, HOST);
	return fd < 0 || fchmod(fd, 0644) < 0 ? tree_failed(path, "cannot be made", err) : fd_take(&fd);
}

int session_files_write(struct session_files *files, const char *path, uint64_t bytes_max, int from_fd,
			struct warder_error *err)
{
	char chunk[TREE_CHUNK];
	struct stat st;
	uint64_t written = 0;
	size_t fits;
	owned_fd int fd = open_file(files, path, O_WRONLY, &st, err);

	if (fd < 0 && err->code == WARDER_ERROR_NOT_FOUND)
		fd = make_file(files, path, err);
	if (fd < 0)
		return -1;
	if (ftruncate(fd, 0) < 0)
		return tree_failed(path, "cannot be written", err);
	for (;;) {
		const ssize_t n = read(from_fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tree_failed("standard input", "cannot be read", err);
		if (n == 0)
			return 0;
		fits = (uint64_t)n < bytes_max - written ? (size_t)n : (size_t)(bytes_max - written);
		if (file_write_all(fd, chunk, fits) < 0)
			return tree_failed(path, "cannot be written", err);
		written += fits;
		if (fits < (size_t)n)
			return too_large("standard input", bytes_max, err);
	}
}

int session_files_make_directory(struct session_files *files, const char *path, struct warder_error *err)
{
	char name[NAME_MAX + 1];
	owned_fd int parent_fd = open_parent(files, JAIL, path, name, err);
	int status;

	if (parent_fd < 0)
		return -1;
	become(files, JAIL);
	status = mkdirat(parent_fd, name, 0755);
	become(files, HOST);
	return status < 0 ? tree_failed(path, "cannot be made", err) : 0;
}

/* ---- list ---- */

static void write_entry(struct json_writer *w, int dir_fd, const char *name, const char *shown,
			const struct stat *st)
{
	const time_t seconds = st->st_mtim.tv_sec;
	char mode[8], target[PATH_MAX], text[40];
	struct tm utc;
	ssize_t len;

	json_begin_object(w);
	text_write_name(w, "name", "nameBase64", shown);
	json_key_string(w, "type", tree_type(st->st_mode));
	snprintf(mode, sizeof(mode), "%04o", (unsigned)st->st_mode & 07777);
	json_key_string(w, "mode", mode);
	json_key_uint(w, "sizeBytes", S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0);
	if (gmtime_r(&seconds, &utc) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc))
		json_key_string(w, "modified", text);
	len = S_ISLNK(st->st_mode) ? readlinkat(dir_fd, name, target, sizeof(target) - 1) : -1;
	if (len >= 0) {
		target[len] = '\0';
		text_write_name(w, "target", "targetBase64", target);
	}
	json_end_object(w);
}

static int list_directory(const struct session_files *files, const char *path, int fd, struct json_writer *w,
			  struct warder_error *err)
{
	char **names = NULL;
	size_t count = 0;
	struct stat st;
	owned_fd int dir_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (tree_names(fd, path, &names, &count, err) < 0)
		return -1;
	become(files, JAIL);
	for (size_t i = 0; i < count; i++)
		if (fstatat(dir_fd, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			write_entry(w, dir_fd, names[i], names[i], &st);
	become(files, HOST);
	tree_free_names(names, count);
	return 0;
}

int session_files_list(struct session_files *files, const char *path, char **ret, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char name[NAME_MAX + 1];
	struct stat st;
	int fd = open_inside(files, path, O_RDONLY | O_DIRECTORY, err);
	int status = 0;

	json_begin_array(&w);
	if (fd >= 0) {
		status = list_directory(files, path, fd, &w, err);
	} else {
		owned_fd int parent_fd =
		    err->sys_errno == ENOTDIR ? open_parent(files, JAIL, path, name, err) : -1;

		become(files, JAIL);
		if (parent_fd < 0)
			status = -1;
		else if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			status = tree_failed(path, "cannot be listed", err);
		else
			write_entry(&w, parent_fd, name, name, &st);
		become(files, HOST);
	}
	json_end_array(&w);
	*ret = json_take(&w);
	if (status == 0 && !*ret)
		return error_no_memory(err, NULL);
	if (status < 0)
		free(*ret);
	return status;
}

/* ---- copy ---- */

struct copy {
	const struct session_files *files;
	const struct session_files_copy *how;
	enum side from, to;
	uint64_t left; /* bytes */
	size_t entries;
	dev_t device;
	char path[PATH_MAX]; /* below the copied directory, for messages */
	struct warder_error *err;
};

/* An entry that is copied: where it lies, and where it goes. */
struct entry {
	int from_fd, to_fd;
	const char *name, *to_name;
	struct stat st;
	unsigned int depth;
};

static const char *shown_path(const struct copy *copy, const struct entry *entry)
{
	return copy->path[0] ? copy->path : entry->name;
}

/* What is left out of a directory is an error for what was named itself. */
static int omit(struct copy *copy, const struct entry *entry, const char *why)
{
	if (entry->depth == 0)
		return tree_refuse(entry->name, why, copy->err);
	copy->how->on_omitted(copy->how->context, copy->path, why);
	return 0;
}

static int omit_errno(struct copy *copy, const struct entry *entry)
{
	return omit(copy, entry, strerror(errno));
}

/* Open what was seen, and nothing else. */
static int open_seen(struct copy *copy, const struct entry *entry, int flags)
{
	owned_fd int fd = -1;
	struct stat now;

	become(copy->files, copy->from);
	fd = openat(entry->from_fd, entry->name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	become(copy->files, HOST);
	if (fd < 0 || fstat(fd, &now) < 0)
		return -1;
	errno = EAGAIN;
	return fd_same_object(&now, &entry->st) && (now.st_mode & S_IFMT) == (entry->st.st_mode & S_IFMT)
		   ? fd_take(&fd)
		   : -1;
}

/* A name of our own beside the target, which the new file has until it is whole. */
static void temporary_name(char *name, size_t size)
{
	static unsigned int count;

	snprintf(name, size, ".warder-%d-%llx", (int)getpid(),
		 (unsigned long long)(clock_us() << 8) + count++);
}

static int finish(struct copy *copy, const struct entry *entry, const char *temporary, bool fine)
{
	int saved = errno;

	become(copy->files, copy->to);
	if (fine && renameat(entry->to_fd, temporary, entry->to_fd, entry->to_name) < 0) {
		fine = false;
		saved = errno;
	}
	if (!fine)
		unlinkat(entry->to_fd, temporary, 0);
	become(copy->files, HOST);
	errno = saved;
	return fine ? 0 : tree_failed(shown_path(copy, entry), "cannot be written", copy->err);
}

static int copy_link(struct copy *copy, const struct entry *entry)
{
	char target[PATH_MAX], temporary[64];
	ssize_t len;
	int made;

	become(copy->files, copy->from);
	len = readlinkat(entry->from_fd, entry->name, target, sizeof(target) - 1);
	become(copy->files, HOST);
	if (len < 0)
		return omit_errno(copy, entry);
	target[len] = '\0';
	temporary_name(temporary, sizeof(temporary));
	become(copy->files, copy->to);
	made = symlinkat(target, entry->to_fd, temporary);
	become(copy->files, HOST);
	return made < 0 ? tree_failed(shown_path(copy, entry), "cannot be made", copy->err)
			: finish(copy, entry, temporary, true);
}

static int copy_file(struct copy *copy, const struct entry *entry)
{
	owned_fd int from_fd = open_seen(copy, entry, O_RDONLY);
	owned_fd int to_fd = -1;
	char temporary[64];
	struct stat st;

	if (from_fd < 0 || fstat(from_fd, &st) < 0)
		return omit_errno(copy, entry);
	if ((uint64_t)st.st_size > copy->left)
		return too_large(copy->path[0] ? "the directory" : entry->name, copy->how->bytes_max,
				 copy->err);
	copy->left -= (uint64_t)st.st_size;
	for (int tries = 0; to_fd < 0 && tries < TEMP_TRIES; tries++) {
		temporary_name(temporary, sizeof(temporary));
		become(copy->files, copy->to);
		to_fd = openat(entry->to_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			       0600);
		become(copy->files, HOST);
		if (to_fd < 0 && errno != EEXIST)
			break;
	}
	if (to_fd < 0)
		return tree_failed(shown_path(copy, entry), "cannot be made", copy->err);
	errno = 0;
	return finish(copy, entry, temporary,
		      tree_copy_bytes(from_fd, to_fd, st.st_size) == 0 &&
			  fchmod(to_fd, st.st_mode & 0777) == 0);
}

static int copy_entry(struct copy *copy, struct entry *entry);

static int copy_content(struct copy *copy, const struct entry *directory, int from_fd, int to_fd)
{
	const size_t len = strlen(copy->path);
	owned_fd int at_fd = fcntl(from_fd, F_DUPFD_CLOEXEC, 0);
	char **names = NULL;
	size_t count = 0;
	int status = at_fd < 0 ? tree_failed(shown_path(copy, directory), "cannot be listed", copy->err) : 0;

	if (status == 0)
		status = tree_names(dup(from_fd), shown_path(copy, directory), &names, &count, copy->err);
	for (size_t i = 0; i < count && status == 0; i++) {
		struct entry entry = { .from_fd = at_fd,
				       .to_fd = to_fd,
				       .name = names[i],
				       .to_name = names[i],
				       .depth = directory->depth + 1 };

		if ((size_t)snprintf(copy->path + len, sizeof(copy->path) - len, "%s%s", len ? "/" : "",
				     names[i]) >= sizeof(copy->path) - len)
			status = tree_refuse(directory->name, "has paths that are too long", copy->err);
		else
			status = copy_entry(copy, &entry);
		copy->path[len] = '\0';
	}
	tree_free_names(names, count);
	return status;
}

static int copy_directory(struct copy *copy, const struct entry *entry)
{
	owned_fd int from_fd = open_seen(copy, entry, O_RDONLY | O_DIRECTORY);
	owned_fd int to_fd = -1;
	bool made;
	int status;

	if (from_fd < 0)
		return omit_errno(copy, entry);
	if (entry->depth == DEPTH_MAX)
		return omit(copy, entry, "more than 64 levels of directories");
	become(copy->files, copy->to);
	made = mkdirat(entry->to_fd, entry->to_name, 0700) == 0;
	if (made || errno == EEXIST)
		to_fd = openat(entry->to_fd, entry->to_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	become(copy->files, HOST);
	if (to_fd < 0)
		return tree_failed(shown_path(copy, entry), "cannot be made", copy->err);
	status = copy_content(copy, entry, from_fd, to_fd);
	become(copy->files, copy->to);
	if (status == 0 && made && fchmod(to_fd, entry->st.st_mode & 0777) < 0)
		status = tree_failed(shown_path(copy, entry), "cannot be made", copy->err);
	become(copy->files, HOST);
	return status;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Of a directory, each entry with all it holds, as the side's user: links are removed, not followed. -1 with errno. */
static int empty_directory(const struct copy *copy, int dir_fd, const char *shown)
{
	struct warder_error ignored;
	char **names = NULL;
	size_t count = 0;
	int status;

	lseek(dir_fd, 0, SEEK_SET); /* look_into() has read it */
	status = tree_names(dup(dir_fd), shown, &names, &count, &ignored);
	become(copy->files, copy->to);
	for (size_t i = 0; i < count && status == 0; i++)
		status = rootfs_remove_tree(dir_fd, names[i]);
	become(copy->files, HOST);
	tree_free_names(names, count);
	return status;
}

/* 1: it is an empty directory; 0: it is not; -1 with errno. *ret_fd is the directory's, or -1. */
static int look_into(const struct copy *copy, const struct entry *entry, const char *shown, int *ret_fd)
{
	struct warder_error ignored;
	char **names = NULL;
	size_t count = 0;

	become(copy->files, copy->to);
	*ret_fd = openat(entry->to_fd, entry->to_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	become(copy->files, HOST);
	if (*ret_fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? 0 : -1;
	if (tree_names(dup(*ret_fd), shown, &names, &count, &ignored) != 0)
		return -1;
	tree_free_names(names, count);
	return count == 0;
}

/* The target, before what was named is copied; the source is there. */
static int clear_target(struct copy *copy, const struct entry *entry)
{
	const char *shown = is_dots(entry->to_name) ? "the target directory" : entry->to_name;
	owned_fd int dir_fd = -1;
	struct stat st;
	int found, status;

	become(copy->files, copy->to);
	found = fstatat(entry->to_fd, entry->to_name, &st, AT_SYMLINK_NOFOLLOW);
	become(copy->files, HOST);
	if (found < 0 && errno == ENOENT)
		return 0;
	found = found < 0 ? -1 : look_into(copy, entry, shown, &dir_fd);
	if (found < 0)
		return tree_failed(shown, "cannot be replaced", copy->err);
	if (found > 0 && S_ISDIR(entry->st.st_mode))
		return 0;
	if (copy->how->existing == SESSION_FILES_ERROR) {
		tree_refuse(shown, "is there already; --on-existing replace or merge allows that", copy->err);
		copy->err->code = WARDER_ERROR_CONFLICT;
		return -1;
	}
	if (dir_fd >= 0 && is_dots(entry->to_name)) {
		status = empty_directory(copy, dir_fd, shown);
	} else {
		become(copy->files, copy->to);
		status = rootfs_remove_tree(entry->to_fd, entry->to_name);
		become(copy->files, HOST);
	}
	return status == 0 ? 0 : tree_failed(shown, "cannot be replaced", copy->err);
}

static int copy_entry(struct copy *copy, struct entry *entry)
{
	int seen;
	char why[64];

	become(copy->files, copy->from);
	seen = fstatat(entry->from_fd, entry->name, &entry->st, AT_SYMLINK_NOFOLLOW);
	become(copy->files, HOST);
	if (seen < 0 && entry->depth == 0)
		return tree_failed(entry->name, "cannot be read", copy->err);
	if (seen < 0)
		return omit_errno(copy, entry);
	if (entry->depth == 0)
		copy->device = entry->st.st_dev;
	if (entry->st.st_dev != copy->device)
		return omit(copy, entry, "it is on another file system");
	if (++copy->entries > TREE_ENTRIES_MAX)
		return tree_refuse(entry->name, "has more than 200000 files", copy->err);
	if (S_ISLNK(entry->st.st_mode) && entry->depth == 0 && copy->from == JAIL)
		return tree_refuse(entry->name, "is a symbolic link; name the file that it leads to",
				   copy->err);
	if (entry->depth == 0 && copy->how->existing != SESSION_FILES_MERGE && clear_target(copy, entry) != 0)
		return -1;
	if (S_ISLNK(entry->st.st_mode))
		return copy_link(copy, entry);
	if (S_ISREG(entry->st.st_mode))
		return copy_file(copy, entry);
	if (S_ISDIR(entry->st.st_mode))
		return copy_directory(copy, entry);
	snprintf(why, sizeof(why), "it is a %s", tree_type(entry->st.st_mode));
	return omit(copy, entry, why);
}

/* An existing directory takes what is copied under its own name, or the content of a source that ends with "/.". */
static int open_target(struct copy *copy, const char *path, const char *own_name, char *name)
{
	const size_t len = strlen(path);
	struct warder_error ignored = { 0 };
	/* A link on the host may be one that an earlier copy brought out of the jail. */
	const int host_flags = copy->to == HOST && len && path[len - 1] != '/' ? O_NOFOLLOW : 0;
	int fd = open_side(copy->files, copy->to, path, O_PATH | O_DIRECTORY | host_flags, &ignored);

	if (fd >= 0) {
		snprintf(name, NAME_MAX + 1, "%s", own_name);
		return fd;
	}
	if (len && path[len - 1] == '/')
		return tree_refuse(path, "is not a directory; make it first, or leave the last \"/\" out",
				   copy->err);
	return open_parent(copy->files, copy->to, path, name, copy->err);
}

/* Both sides of *copy are chosen. */
static int copy_path(struct copy *copy, const char *from, const char *to)
{
	const size_t len = strlen(from);
	char from_name[NAME_MAX + 1], to_name[NAME_MAX + 1];
	struct entry entry = { .name = from_name, .to_name = to_name };
	owned_fd int from_fd = open_parent(copy->files, copy->from, from, from_name, copy->err);
	owned_fd int to_fd = -1;

	if (from_fd < 0)
		return -1;
	if (len >= 2 && strcmp(from + len - 2, "/.") == 0)
		strcpy(from_name, ".");
	to_fd = open_target(copy, to, from_name, to_name);
	if (to_fd < 0)
		return -1;
	entry.from_fd = from_fd;
	entry.to_fd = to_fd;
	return copy_entry(copy, &entry);
}

int session_files_copy(struct session_files *files, bool in, const char *host, const char *inside,
		       const struct session_files_copy *how, struct warder_error *err)
{
	struct copy copy = { .files = files,
			     .how = how,
			     .from = in ? HOST : JAIL,
			     .to = in ? JAIL : HOST,
			     .left = how->bytes_max,
			     .err = err };

	return copy_path(&copy, in ? host : inside, in ? inside : host);
}

int session_files_copy_here(const char *from, const char *to, const struct session_files_copy *how,
			    struct warder_error *err)
{
	static const struct session_files none = { .root = { .fd = -1 } };
	struct copy copy = {
		.files = &none, .how = how, .from = HOST, .to = HOST, .left = how->bytes_max, .err = err
	};

	return copy_path(&copy, from, to);
}
