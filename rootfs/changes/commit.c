/*
 * A commit first looks at everything that it is to touch, and does nothing if something is not as it was when the run ended. Then it
 * removes, from the end of the list, so that directories are empty by then; then it adds and changes, from its beginning.
 *
 * Every path is opened beneath the directory by the kernel (RESOLVE_BENEATH, no link anywhere), so that nothing that somebody puts
 * there meanwhile leads elsewhere. A file is written under a temporary name beside its place, synced, and renamed; the directory is
 * synced after that. A crash leaves each file as it was or as it will be, and at worst a temporary file, whose name begins with
 * ".warder-", and which the next commit of the set removes. Between the last look and the rename there is a moment in which somebody else's change can be lost, as with
 * any program that replaces files.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "rootfs/path.h"
#include "rootfs/changes/changes.h"
#include "rootfs/rootfs.h"

#define RESOLVE (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)
#define SHOWN   160

static const char field[] = "changes";

struct committing {
	const struct changes *changes;
	const struct changes_selection *selection;
	int directory_fd, saved_fd;
	struct stat owner; /* of the directory: whose everything becomes */
	uint64_t saved_inode;
	enum { TIME_STAYS, TIME_MAY_BE_SET, TIME_IS_TO_BE_SET } * times; /* beside those of the set */
	struct warder_error *err;
};

static int failed(const struct committing *c, const struct changes_item *change, uint32_t code,
		  const char *what)
{
	char shown[SHOWN];

	json_quote(change->path, shown, sizeof(shown));
	if (errno)
		return error_set_errno(c->err, code, field, errno, "%s %s", shown, what);
	return error_set(c->err, code, field, "%s %s", shown, what);
}

static int conflict(const struct committing *c, const struct changes_item *change, const char *what)
{
	errno = 0;
	return failed(c, change, WARDER_ERROR_CONFLICT, what);
}

bool changes_selects(const struct changes_selection *selection, const struct changes_item *change)
{
	for (size_t i = 0; i < selection->count; i++) {
		const char *pattern = selection->patterns[i];
		size_t len = strlen(pattern);

		while (len > 1 && pattern[len - 1] == '/')
			len--;
		if (rootfs_match(pattern, change->path) || (strncmp(pattern, change->path, len) == 0 &&
							    (change->path[len] == '/' || !change->path[len])))
			return true;
	}
	return selection->count == 0;
}

/* The directory that holds a path, and the path's last component. -1 with errno. */
static int open_parent(const struct committing *c, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];

	*ret_name = slash ? slash + 1 : path;
	if (slash && (size_t)(slash - path) >= sizeof(parent)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	return path_try(c->directory_fd, parent, O_RDONLY | O_DIRECTORY, 0, RESOLVE);
}

/* ---- what is there ---- */

static bool is_original(const struct changes_item *change, const struct stat *st)
{
	if (S_ISDIR(change->was.mode))
		return S_ISDIR(st->st_mode) && (st->st_mode & 07777) == (change->was.mode & 07777);
	return st->st_ino == change->was.inode && st->st_mode == change->was.mode &&
	       (uint64_t)st->st_size == change->was.size &&
	       clock_nanoseconds(&st->st_mtim) == change->was.modified_ns &&
	       clock_nanoseconds(&st->st_ctim) == change->was.changed_ns;
}

/* Whether an earlier selected change of the set removes the same path, or a path above it. */
static bool is_removed_before(const struct committing *c, size_t index)
{
	const struct changes_item *change = &c->changes->items[index];

	return index > 0 && strcmp(c->changes->items[index - 1].path, change->path) == 0 &&
	       c->changes->items[index - 1].kind == CHANGE_REMOVED;
}

static int by_path(const void *path, const void *change)
{
	return strcmp(path, ((const struct changes_item *)change)->path);
}

/* Whether what lies above the path, and is no directory, goes before; or, of what is removed, has come in the place of one. */
static bool way_is_cleared(const struct committing *c, const struct changes_item *of)
{
	const struct changes *changes = c->changes;
	const char *path = of->path;
	char above[PATH_MAX];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		const struct changes_item *change;

		snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
		change = bsearch(above, changes->items, changes->count, sizeof(*changes->items), by_path);
		/* Two of one path: what goes is the first. */
		if (change && change > changes->items && strcmp(change[-1].path, above) == 0)
			change--;
		if (change && change->kind == CHANGE_REMOVED && change->type != CHANGE_DIRECTORY &&
		    changes_selects(c->selection, change))
			return true;
		if (change && of->kind == CHANGE_REMOVED && change->kind == CHANGE_REMOVED &&
		    change + 1 < changes->items + changes->count && strcmp(change[1].path, above) == 0)
			return true;
	}
	return false;
}

/* The digest of a regular file; false: it cannot be read. */
static bool digest_of(int dir_fd, const char *name, char ret[SHA256_HEX])
{
	owned_fd int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	unsigned char buffer[16384];
	struct sha256 sha;
	ssize_t n = -1;

	sha256_init(&sha);
	while (fd >= 0 && (n = read(fd, buffer, sizeof(buffer))) > 0)
		sha256_add(&sha, buffer, (size_t)n);
	sha256_hex(&sha, ret);
	return n == 0;
}

/* Whether the place is already as the change would make it: an earlier commit did that, all of it or until it was stopped. */
static bool is_done(const struct committing *c, size_t index, int parent_fd, const char *name,
		    const struct stat *st)
{
	const struct changes_item *change = &c->changes->items[index];
	char digest[SHA256_HEX];
	char text[PATH_MAX];
	ssize_t len;

	if (change->kind == CHANGE_REMOVED)
		return index + 1 < c->changes->count &&
		       strcmp(c->changes->items[index + 1].path, change->path) == 0 &&
		       (change->type == CHANGE_DIRECTORY) != S_ISDIR(st->st_mode);
	switch (change->type) {
	case CHANGE_DIRECTORY:
		return S_ISDIR(st->st_mode) && (st->st_mode & 01777) == (change->mode & 01777);
	case CHANGE_SYMLINK:
		len = readlinkat(parent_fd, name, text, sizeof(text));
		return len >= 0 && (size_t)len == strlen(change->target) &&
		       memcmp(text, change->target, (size_t)len) == 0;
	case CHANGE_FILE:
		return S_ISREG(st->st_mode) && (uint64_t)st->st_size == change->size &&
		       (st->st_mode & 01777) == (change->mode & 01777) &&
		       digest_of(parent_fd, name, digest) && strcmp(digest, change->sha256) == 0;
	case CHANGE_OTHER:
		break;
	}
	return false;
}

/* With `force` only what cannot be done is a conflict. */
static int check_path(const struct committing *c, size_t index)
{
	const struct changes_item *change = &c->changes->items[index];
	const char *name;
	owned_fd int parent_fd = open_parent(c, change->path, &name);
	struct stat st;
	bool there;

	/* What stands in the way of a parent goes before. */
	if (parent_fd < 0 && (errno == ENOTDIR || errno == ELOOP) && way_is_cleared(c, change))
		return 0;
	/* Missing parents are made, if they are part of the set. */
	if (parent_fd < 0 && errno == ENOENT && change->kind != CHANGE_CHANGED)
		return 0;
	if (parent_fd < 0 && errno != ENOENT)
		return failed(c, change, WARDER_ERROR_CONFLICT, "cannot be reached without following a link");
	there = parent_fd >= 0 && fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (change->kind == CHANGE_ADDED) {
		if (!there || is_removed_before(c, index) ||
		    (change->type == CHANGE_DIRECTORY && S_ISDIR(st.st_mode)) ||
		    (c->selection->force && !S_ISDIR(st.st_mode) && change->type != CHANGE_DIRECTORY) ||
		    is_done(c, index, parent_fd, name, &st))
			return 0;
		return conflict(c, change, "is there by now; --force replaces files");
	}
	if (c->selection->force || (there && is_done(c, index, parent_fd, name, &st)))
		return 0;
	if (change->was.moved)
		return conflict(
		    c, change, "was changed on the host while the run went on; --force does it all the same");
	if (!there && change->kind == CHANGE_REMOVED)
		return 0;
	if (!there || !is_original(change, &st))
		return conflict(c, change,
				"was changed on the host since the run; --force does it all the same");
	return 0;
}

static int check_all(const struct committing *c)
{
	if (c->changes->fault[0] && !c->selection->count)
		return error_set(c->err, WARDER_ERROR_CONFLICT, field,
				 "the set is incomplete (%s); name the paths to commit", c->changes->fault);
	for (size_t i = 0; i < c->changes->count; i++)
		if (changes_selects(c->selection, &c->changes->items[i]) && check_path(c, i) != 0)
			return -1;
	return 0;
}

/* ---- times ---- */

static struct timespec time_of(int64_t ns)
{
	const int64_t rest = ns % 1000000000;

	return (struct timespec){ .tv_sec = ns / 1000000000 - (rest < 0),
				  .tv_nsec = rest < 0 ? rest + 1000000000 : rest };
}

/* The object with this path; a link itself, not its target. -1 with errno. */
static int stat_path(const struct committing *c, const char *path, struct stat *ret)
{
	const char *name;
	owned_fd int parent_fd = open_parent(c, path, &name);

	return parent_fd < 0 ? -1 : fstatat(parent_fd, name, ret, AT_SYMLINK_NOFOLLOW);
}

/* Whether a directory is as it was when the run had ended, or has its time from an earlier commit of other paths. */
static bool has_known_time(const struct committing *c, const struct changes_time *time)
{
	struct stat st;
	int64_t ns;

	if (!time->existed)
		return true;
	if (stat_path(c, time->path, &st) != 0)
		return false;
	ns = clock_nanoseconds(&st.st_mtim);
	return ns == time->was_ns || ns == time->modified_ns;
}

/* Before anything is done: a directory that has changed on the host since the run keeps the time that the commit gives it. */
static int look_at_times(struct committing *c)
{
	const struct changes *changes = c->changes;

	c->times = calloc(changes->time_count + 1, sizeof(*c->times));
	if (!c->times)
		return error_no_memory(c->err, field);
	for (size_t i = 0; i < changes->time_count; i++)
		if (has_known_time(c, &changes->times[i]))
			c->times[i] = TIME_MAY_BE_SET;
	return 0;
}

static int by_time_path(const void *path, const void *time)
{
	return strcmp(path, ((const struct changes_time *)time)->path);
}

static void note_time(const struct committing *c, const char *path)
{
	const struct changes *changes = c->changes;
	const struct changes_time *time =
	    changes->time_count
		? bsearch(path, changes->times, changes->time_count, sizeof(*time), by_time_path)
		: NULL;

	if (time && c->times[time - changes->times] == TIME_MAY_BE_SET)
		c->times[time - changes->times] = TIME_IS_TO_BE_SET;
}

/* Something was done at this path. */
static void note_times(const struct committing *c, const char *path)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];

	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	note_time(c, path);
	note_time(c, parent);
}

/* When everything is in its place. Of a directory that somebody else owns, the time is that of the commit. */
static int set_times(const struct committing *c)
{
	for (size_t i = 0; i < c->changes->time_count; i++) {
		const struct changes_time *time = &c->changes->times[i];
		const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, time_of(time->modified_ns) };
		const struct changes_item at = { .path = time->path };
		const char *name;

		if (c->times[i] != TIME_IS_TO_BE_SET)
			continue;
		owned_fd int parent_fd = open_parent(c, time->path, &name);

		if (parent_fd < 0 || (utimensat(parent_fd, name, times, AT_SYMLINK_NOFOLLOW) != 0 &&
				      !(errno == EPERM && time->existed)))
			return failed(c, &at, WARDER_ERROR_UNAVAILABLE, "cannot get its time");
	}
	return 0;
}

/* ---- removing ---- */

/* 0; 1: it was so already; -1 with *err. */
static int remove_one(const struct committing *c, size_t index)
{
	const struct changes_item *change = &c->changes->items[index];
	struct stat st;
	const char *name;
	owned_fd int parent_fd = open_parent(c, change->path, &name);
	const int flags = change->type == CHANGE_DIRECTORY ? AT_REMOVEDIR : 0;

	if (parent_fd < 0)
		return errno == ENOENT || ((errno == ENOTDIR || errno == ELOOP) && way_is_cleared(c, change))
			   ? 1
			   : failed(c, change, WARDER_ERROR_CONFLICT, "cannot be reached any more");
	if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ? errno == ENOENT
								    : is_done(c, index, parent_fd, name, &st))
		return 1;
	if (unlinkat(parent_fd, name, flags) != 0 && errno != ENOENT)
		return failed(c, change,
			      errno == ENOTEMPTY || errno == EISDIR || errno == ENOTDIR
				  ? WARDER_ERROR_CONFLICT
				  : WARDER_ERROR_UNAVAILABLE,
			      "cannot be removed");
	return fsync(parent_fd) == 0 ? 0 : failed(c, change, WARDER_ERROR_UNAVAILABLE, "cannot be synced");
}

/* ---- adding ---- */

/* To whom the directory belongs. A mode loses what could give somebody more than he has. */
static int finish_object(const struct committing *c, int parent_fd, const char *name, uint32_t mode,
			 bool is_link)
{
	if (geteuid() == 0 &&
	    fchownat(parent_fd, name, c->owner.st_uid, c->owner.st_gid, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	return is_link ? 0 : fchmodat(parent_fd, name, mode & 01777, 0);
}

/* Make the directories above the path that the set has and the host does not. */
static int make_parents(const struct committing *c, const char *path)
{
	char parent[PATH_MAX];
	struct changes_item at = { .path = parent };

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		const char *name;
		int parent_fd;
		int made;

		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
		parent_fd = open_parent(c, parent, &name);
		if (parent_fd < 0)
			return failed(c, &at, WARDER_ERROR_CONFLICT, "cannot be reached any more");
		made = mkdirat(parent_fd, name, 0755);
		if (made == 0) {
			note_times(c, parent);
			made = finish_object(c, parent_fd, name, 0755, false);
		} else if (errno == EEXIST) {
			made = 0;
		}
		close(parent_fd);
		if (made != 0)
			return failed(c, &at, WARDER_ERROR_UNAVAILABLE, "cannot be made");
	}
	return 0;
}

/* What is nothing but zeros becomes a hole. */
static int copy_bytes(int from_fd, int to_fd, const char *sha256)
{
	static const unsigned char zeros[16384];
	unsigned char buffer[sizeof(zeros)];
	char digest[SHA256_HEX];
	struct sha256 sha;
	off_t size = 0;
	ssize_t n;

	sha256_init(&sha);
	while ((n = read(from_fd, buffer, sizeof(buffer))) > 0) {
		sha256_add(&sha, buffer, (size_t)n);
		for (ssize_t done = memcmp(buffer, zeros, (size_t)n) == 0 ? n : 0; done < n;) {
			ssize_t m = pwrite(to_fd, buffer + done, (size_t)(n - done), size + done);

			if (m < 0)
				return -1;
			done += m;
		}
		size += n;
	}
	if (n == 0 && ftruncate(to_fd, size) != 0)
		return -1;
	sha256_hex(&sha, digest);
	if (n == 0 && strcmp(digest, sha256) != 0) {
		errno = EBADMSG;
		return -1;
	}
	return n == 0 ? fsync(to_fd) : -1;
}

/* The saved content has the time of what it was taken of. */
static int copy_time(int from_fd, int to_fd)
{
	struct stat st;

	if (fstat(from_fd, &st) != 0)
		return -1;
	return futimens(to_fd, (struct timespec[2]){ { .tv_nsec = UTIME_OMIT }, st.st_mtim });
}

static int write_temporary(const struct committing *c, const struct changes_item *change, int parent_fd,
			   const char *temporary)
{
	char saved[24];
	owned_fd int from_fd =
	    openat(c->saved_fd, changes_saved_name(change->saved, saved), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	owned_fd int to_fd = -1;

	if (change->type == CHANGE_SYMLINK)
		return symlinkat(change->target, parent_fd, temporary);
	if (from_fd < 0)
		return -1;
	to_fd = openat(parent_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return to_fd < 0 || copy_bytes(from_fd, to_fd, change->sha256) != 0 ? -1 : copy_time(from_fd, to_fd);
}

static int put_file(const struct committing *c, const struct changes_item *change, int parent_fd,
		    const char *name)
{
	char temporary[64];
	int saved;

	/* The same for each commit of the set: what one that was killed has left goes with the next. */
	snprintf(temporary, sizeof(temporary), ".warder-%llx-%llu", (unsigned long long)c->saved_inode,
		 (unsigned long long)(change - c->changes->items));
	unlinkat(parent_fd, temporary, 0);
	if (write_temporary(c, change, parent_fd, temporary) == 0 &&
	    finish_object(c, parent_fd, temporary, change->mode, change->type == CHANGE_SYMLINK) == 0 &&
	    renameat(parent_fd, temporary, parent_fd, name) == 0)
		return 0;
	saved = errno;
	unlinkat(parent_fd, temporary, 0);
	errno = saved;
	return -1;
}

static int put_directory(const struct committing *c, const struct changes_item *change, int parent_fd,
			 const char *name)
{
	if (mkdirat(parent_fd, name, 0700) != 0) {
		struct stat st;

		if (errno != EEXIST || fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISDIR(st.st_mode))
			return -1;
		/* Its mode is that of the set, its owner stays. */
		return fchmodat(parent_fd, name, (change->mode & 01777) | 0700, 0);
	}
	return finish_object(c, parent_fd, name, change->mode | 0700, false);
}

/* Directories that are not their owner's to write to, when all is in them. */
static int restrict_directories(const struct committing *c)
{
	for (size_t i = c->changes->count; i-- > 0;) {
		const struct changes_item *change = &c->changes->items[i];
		const char *name;

		if (change->type != CHANGE_DIRECTORY || change->kind == CHANGE_REMOVED ||
		    (change->mode & 0700) == 0700 || !changes_selects(c->selection, change))
			continue;
		owned_fd int parent_fd = open_parent(c, change->path, &name);

		if (parent_fd < 0 || fchmodat(parent_fd, name, change->mode & 01777, 0) != 0)
			return failed(c, change, WARDER_ERROR_UNAVAILABLE, "cannot get its mode");
	}
	return 0;
}

/* Whether the place is there and as the change would make it. */
static bool is_there(const struct committing *c, size_t index)
{
	const char *name;
	owned_fd int parent_fd = open_parent(c, c->changes->items[index].path, &name);
	struct stat st;

	return parent_fd >= 0 && fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       is_done(c, index, parent_fd, name, &st);
}

/* 0; 1: it was so already; -1 with *err. */
static int put_one(const struct committing *c, size_t index)
{
	const struct changes_item *change = &c->changes->items[index];
	const char *name;
	owned_fd int parent_fd = -1;
	int put;

	if (is_there(c, index))
		return 1;
	if (make_parents(c, change->path) != 0)
		return -1;
	parent_fd = open_parent(c, change->path, &name);
	if (parent_fd < 0)
		return failed(c, change, WARDER_ERROR_CONFLICT, "cannot be reached any more");
	put = change->type == CHANGE_DIRECTORY ? put_directory(c, change, parent_fd, name)
					       : put_file(c, change, parent_fd, name);
	if (put != 0 && errno == EBADMSG)
		return conflict(c, change, "is damaged where it was kept; it was not written");
	if (put != 0)
		return failed(c, change,
			      errno == EEXIST || errno == ENOTDIR || errno == EISDIR
				  ? WARDER_ERROR_CONFLICT
				  : WARDER_ERROR_UNAVAILABLE,
			      "cannot be written");
	return fsync(parent_fd) == 0 ? 0 : failed(c, change, WARDER_ERROR_UNAVAILABLE, "cannot be synced");
}

static int carry_out(const struct committing *c, size_t *ret_done)
{
	const struct changes *changes = c->changes;
	int made;

	for (size_t i = changes->count; i-- > 0;) {
		const struct changes_item *change = &changes->items[i];

		if (change->kind != CHANGE_REMOVED || !changes_selects(c->selection, change))
			continue;
		made = remove_one(c, i);
		if (made < 0)
			return -1;
		if (made == 0)
			note_times(c, change->path);
		*ret_done += made == 0;
	}
	for (size_t i = 0; i < changes->count; i++) {
		const struct changes_item *change = &changes->items[i];

		if (change->kind == CHANGE_REMOVED || change->type == CHANGE_OTHER ||
		    !changes_selects(c->selection, change))
			continue;
		made = put_one(c, i);
		if (made < 0)
			return -1;
		if (made == 0)
			note_times(c, change->path);
		*ret_done += made == 0;
	}
	/* A time that cannot be set is no reason to leave a directory open. */
	made = set_times(c);
	return restrict_directories(c) != 0 ? -1 : made;
}

int changes_commit(const struct changes *changes, const struct changes_selection *selection, int directory_fd,
		   int saved_fd, size_t *ret_done, struct warder_error *err)
{
	struct committing c = { .changes = changes,
				.selection = selection,
				.directory_fd = directory_fd,
				.saved_fd = saved_fd,
				.err = err };

	struct stat saved;
	int done;

	*ret_done = 0;
	if (fstat(directory_fd, &c.owner) != 0 || fstat(saved_fd, &saved) != 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "the directory cannot be looked at");
	c.saved_inode = saved.st_ino;
	done = check_all(&c) != 0 || look_at_times(&c) != 0 ? -1 : carry_out(&c, ret_done);
	free(c.times);
	return done;
}
