/*
 * files: what is put into a jail's /tmp before its program starts, and taken out of it when every process is gone.
 *
 * Except in a session, both work on a directory in which nobody else is at work, so that nothing can be swapped between two looks.
 * No link is ever followed: what the program left behind is hostile by assumption, and a link in it would make
 * us read a file of the host. A name is opened only after it was seen to be a regular file: opening a device or a FIFO may
 * have effects or block.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "rootfs/path.h"
#include "rootfs/rootfs.h"

#define SHOWN       96
#define CHUNK       65536
#define ENTRIES_MAX 100000 /* looked at in one collection: more is an attack on the collector */
#define NO_LINKS    (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)

/* ---- in ---- */

char *path_plain(const char *path, char *out)
{
	size_t len = 0;

	out[0] = '\0';
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && memcmp(path, "..", 2) == 0) {
			while (len && out[--len] != '/')
				;
		} else if (n && !(n == 1 && *path == '.')) {
			if (len)
				out[len++] = '/';
			memcpy(out + len, path, n);
			len += n;
		}
		out[len] = '\0';
		path += n;
		path += *path == '/';
	}
	return out;
}

static int give(int fd, uid_t uid, gid_t gid)
{
	return uid == (uid_t)-1 ? 0 : fchownat(fd, "", uid, gid, AT_EMPTY_PATH);
}

/*
 * `exact`: with mode 0755 whatever the umask is, because somebody else is to read it. In a session others may write there, and could put
 * a link in its place: the mode is that of what was opened.
 */
static int make_directory(int at_fd, const char *name, bool exact, uid_t uid, gid_t gid)
{
	const bool made = mkdirat(at_fd, name, 0755) == 0;
	const uint64_t how = made && exact ? O_RDONLY : O_PATH;
	owned_fd int fd = path_try(at_fd, name, how | O_DIRECTORY | O_NOFOLLOW, 0, NO_LINKS);

	if (fd < 0 || (made && exact && fchmod(fd, 0755) < 0) || (made && give(fd, uid, gid) < 0))
		return -1;
	return fd_take(&fd);
}

/* The directory of `path` below dir_fd, made where it is missing: an owned descriptor, or -1 with errno. */
static int open_parent(int dir_fd, char *path, bool exact, uid_t uid, gid_t gid)
{
	owned_fd int at_fd = path_try(dir_fd, ".", O_PATH | O_DIRECTORY, 0, NO_LINKS);
	char *slash;

	for (; at_fd >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1) {
		int next_fd;

		*slash = '\0';
		next_fd = make_directory(at_fd, path, exact, uid, gid);
		*slash = '/';
		fd_done(&at_fd);
		at_fd = next_fd;
	}
	return fd_take(&at_fd);
}

/* A new file; -1 with errno. */
static int create(int dir_fd, char *path, mode_t mode, bool exact, uid_t uid, gid_t gid)
{
	owned_fd int parent_fd = open_parent(dir_fd, path, exact, uid, gid);
	const char *slash = strrchr(path, '/');
	owned_fd int fd = -1;

	if (parent_fd < 0)
		return -1;
	fd = path_try(parent_fd, slash ? slash + 1 : path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600,
		      NO_LINKS);
	if (fd < 0 || fchmod(fd, mode) < 0 || give(fd, uid, gid) < 0)
		return -1;
	return fd_take(&fd);
}

static int refuse_file(const char *path, int error, struct warder_error *err)
{
	char shown[SHOWN];

	json_quote(path, shown, sizeof(shown));
	if (error == EEXIST || error == ENOTDIR || error == EISDIR)
		return error_set_errno(err, WARDER_ERROR_CONFLICT, "files", error,
				       "%s: another file of the run has that place", shown);
	if (error == ENOSPC)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "files", error,
				       "%s does not fit into the jail's /tmp; raise filesystem.tmp", shown);
	if (error == EXDEV)
		return error_set(err, WARDER_ERROR_CONFLICT, "files",
				 "%s cannot be put into the jail's /tmp: a path of filesystem.paths has that "
				 "place; choose another target",
				 shown);
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "files", error,
			       "%s cannot be put into the jail", shown);
}

static int put(int dir_fd, const struct rootfs_file *file, uid_t uid, gid_t gid, struct warder_error *err)
{
	char *path = malloc(strlen(file->path) + 2);
	owned_fd int fd = -1;
	int error = 0;

	if (!path)
		return error_no_memory(err, NULL);
	path_plain(file->path, path);
	if (!file->bytes)
		fd = open_parent(dir_fd, strcat(path, "/"), true, uid, gid);
	else
		fd = create(dir_fd, path, file->mode ? file->mode & 0777 : 0644, true, uid, gid);
	if (fd < 0 || (file->bytes && file_write_all(fd, file->bytes, file->len) < 0))
		error = errno;
	free(path);
	return error ? refuse_file(file->path, error, err) : 0;
}

int rootfs_put_files(int dir_fd, const struct rootfs_file *files, size_t count, uid_t uid, gid_t gid,
		     struct warder_error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (path_check_relative(files[i].path, strlen(files[i].path), err) != 0 ||
		    put(dir_fd, &files[i], uid, gid, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- patterns ---- */

/* One component, of n and m bytes. */
static bool match_component(const char *pattern, size_t n, const char *name, size_t m, bool hidden)
{
	char left[NAME_MAX + 1], right[NAME_MAX + 1];

	if (n > NAME_MAX || m > NAME_MAX)
		return false;
	memcpy(left, pattern, n);
	left[n] = '\0';
	memcpy(right, name, m);
	right[m] = '\0';
	return fnmatch(left, right, FNM_PATHNAME | (hidden ? 0 : FNM_PERIOD)) == 0;
}

/* Whether the component at `path` may be passed over by "**". */
static bool is_visible(const char *path, bool hidden)
{
	return *path && (hidden || *path != '.');
}

/*
 * Like the usual matcher with "*", one level up: components instead of bytes. On a mismatch the last "**" takes one component
 * more; an earlier one need never be tried again, so the work is bounded by path times pattern.
 */
static bool match(const char *pattern, const char *path, bool hidden)
{
	const char *star = NULL, *star_at = NULL;

	while (*path) {
		const size_t n = strcspn(pattern, "/"), m = strcspn(path, "/");

		if (n == 2 && memcmp(pattern, "**", 2) == 0) {
			star = pattern + 2 + (pattern[2] == '/');
			star_at = path;
			pattern = star;
			if (!*star) /* takes the rest, unless something in it is hidden */
				while (is_visible(path, hidden)) {
					path += strcspn(path, "/");
					if (!*path)
						return true;
					path++;
				}
			if (!*star)
				return false;
			continue;
		}
		if (n && match_component(pattern, n, path, m, hidden) &&
		    (pattern[n] == '/') == (path[m] == '/')) {
			pattern += n + (pattern[n] == '/');
			path += m + (path[m] == '/');
			continue;
		}
		if (!star || !is_visible(star_at, hidden))
			return false;
		star_at += strcspn(star_at, "/");
		if (!*star_at)
			return false;
		path = ++star_at;
		pattern = star;
	}
	return !*pattern;
}

bool rootfs_match(const char *pattern, const char *path)
{
	return match(pattern, path, false);
}

bool rootfs_match_all(const char *pattern, const char *path)
{
	return match(pattern, path, true);
}

bool rootfs_match_below(const char *pattern, const char *path)
{
	for (;;) {
		const size_t n = strcspn(pattern, "/"), m = strcspn(path, "/");

		if (n == 2 && memcmp(pattern, "**", 2) == 0)
			return true;
		if (!pattern[n] || !match_component(pattern, n, path, m, true))
			return false;
		if (!path[m])
			return true;
		pattern += n + 1;
		path += m + 1;
	}
}

/* ---- out ---- */

struct collecting {
	const struct rootfs_collect *what;
	struct rootfs_collection *found;
	dev_t dev;
	size_t looked_at;
	uint64_t taken_bytes;
	size_t capacity;
	bool over; /* nothing more is looked at */
};

static void stop(struct collecting *c, const char *fault)
{
	c->over = true;
	if (fault && !c->found->fault[0])
		snprintf(c->found->fault, sizeof(c->found->fault), "%s", fault);
}

static bool is_wanted(const struct rootfs_collect *what, const char *path)
{
	for (size_t i = 0; i < what->pattern_count; i++) {
		if (rootfs_match(what->patterns[i], path))
			return true;
	}
	return what->pattern_count == 0;
}

static bool same_bytes(int fd, const char *bytes, size_t len)
{
	char chunk[4096];

	for (size_t at = 0; at < len;) {
		ssize_t n = pread(fd, chunk, sizeof(chunk), (off_t)at);

		if (n <= 0 || (size_t)n > len - at || memcmp(chunk, bytes + at, (size_t)n) != 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

/* Whether it is one of the files that were put there, as it was put. */
static bool is_unchanged(const struct rootfs_collect *what, const char *path, int fd, const struct stat *st)
{
	const size_t prefix = strlen(what->directory);

	for (size_t i = 0; i < what->unchanged_count; i++) {
		const struct rootfs_file *file = &what->unchanged[i];

		if (strncmp(file->path, what->directory, prefix) == 0 && file->path[prefix] == '/' &&
		    strcmp(file->path + prefix + 1, path) == 0)
			return (uint64_t)st->st_size == file->len && same_bytes(fd, file->bytes, file->len);
	}
	return false;
}

static struct rootfs_item *add_item(struct collecting *c, const char *path, const struct stat *st)
{
	struct rootfs_collection *found = c->found;
	struct rootfs_item *item;

	if (found->count == c->capacity) {
		size_t capacity = c->capacity ? 2 * c->capacity : 16;
		struct rootfs_item *grown = reallocarray(found->items, capacity, sizeof(struct rootfs_item));

		if (!grown)
			return NULL;
		found->items = grown;
		c->capacity = capacity;
	}
	item = &found->items[found->count];
	*item = (struct rootfs_item){ .path = strdup(path),
				      .size = (uint64_t)st->st_size,
				      .mode = st->st_mode & 0777,
				      .taken = ROOTFS_TAKEN_NOT };
	if (!item->path)
		return NULL;
	found->count++;
	return item;
}

static const char *keep_inline(struct rootfs_item *item, int fd)
{
	size_t at = 0;

	item->bytes = malloc((size_t)item->size + 1);
	if (!item->bytes)
		return "there is no memory for it";
	while (at < item->size) {
		ssize_t n = pread(fd, item->bytes + at, (size_t)item->size - at, (off_t)at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	item->bytes[at] = '\0';
	if (at == item->size) {
		item->taken = ROOTFS_TAKEN_INLINE;
		return NULL;
	}
	free(item->bytes);
	item->bytes = NULL;
	return "it cannot be read to its end";
}

static int copy(int from_fd, int to_fd, uint64_t size)
{
	char *chunk = malloc(CHUNK);
	uint64_t at = 0;

	while (chunk && at < size) {
		ssize_t n = pread(from_fd, chunk, CHUNK, (off_t)at);

		if (n == 0)
			errno = EIO; /* it has become shorter */
		if (n <= 0 || file_write_all(to_fd, chunk, (size_t)n) < 0)
			break;
		at += (uint64_t)n;
	}
	free(chunk);
	return at >= size ? 0 : -1;
}

/* Half a file is none: it is taken away again. */
static void unsave(int save_fd, char *path)
{
	owned_fd int parent_fd = open_parent(save_fd, path, false, (uid_t)-1, (gid_t)-1);
	const char *slash = strrchr(path, '/');

	if (parent_fd >= 0)
		unlinkat(parent_fd, slash ? slash + 1 : path, 0);
}

/* Bytes into a file that has no name yet, and a name for the whole: a process that is killed meanwhile leaves nothing. 0; 1: the file system
 * cannot do that; -1 with errno. */
static int save_at_once(int save_fd, char *path, mode_t mode, bool exact, int fd, uint64_t size)
{
	owned_fd int parent_fd = open_parent(save_fd, path, exact, (uid_t)-1, (gid_t)-1);
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	owned_fd int to_fd = -1;
	char source[32];
	struct stat st;

	if (parent_fd < 0)
		return -1;
	if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return -1;
	}
	to_fd = openat(parent_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (to_fd < 0)
		return 1;
	if (fchmod(to_fd, mode) < 0 || copy(fd, to_fd, size) < 0)
		return -1;
	snprintf(source, sizeof(source), "/proc/self/fd/%d", to_fd);
	if (linkat(AT_FDCWD, source, parent_fd, name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return errno == EEXIST ? -1 : 1;
}

/* The same under its name. 0; -1 with errno. */
static int save_named(int save_fd, char *path, mode_t mode, bool exact, int fd, uint64_t size)
{
	owned_fd int to_fd = create(save_fd, path, mode, exact, (uid_t)-1, (gid_t)-1);
	int error;

	if (to_fd < 0)
		return -1;
	if (copy(fd, to_fd, size) == 0)
		return 0;
	error = errno;
	unsave(save_fd, path);
	errno = error;
	return -1;
}

static const char *save(const struct rootfs_collect *what, struct rootfs_item *item, int fd)
{
	const mode_t mode = 0644 | (item->mode & 0111);
	char *path = strdup(item->path);
	int saved, error;

	if (!path)
		return "there is no memory for it";
	saved = save_at_once(what->save_fd, path, mode, what->whole, fd, item->size);
	if (saved > 0)
		saved = save_named(what->save_fd, path, mode, what->whole, fd, item->size);
	error = errno;
	free(path);
	if (saved == 0) {
		item->taken = ROOTFS_TAKEN_SAVED;
		return NULL;
	}
	return error == EEXIST   ? "a file of that name is there already"
	       : error == ENOSPC ? "there is no space to save it"
				 : "it cannot be saved";
}

/* A descriptor is the file's, whatever becomes of the directory that it lies in. */
static const char *hold(struct rootfs_item *item, int fd)
{
	item->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (item->fd < 0) {
		item->fd = 0;
		return "there are too many open files to hold it";
	}
	item->taken = ROOTFS_TAKEN_HELD;
	return NULL;
}

/* NULL: taken; else why not. */
static const char *take(struct collecting *c, struct rootfs_item *item, int fd)
{
	const struct rootfs_collect *what = c->what;
	const bool large = item->size > what->inline_bytes || !what->inline_bytes;

	if (item->size > what->file_bytes || item->size > what->total_bytes - c->taken_bytes) {
		c->found->limits_hit = true;
		return item->size > what->file_bytes ? "it is larger than the limit of a file"
						     : "it is over the limit of all files";
	}
	if (!large) {
		c->taken_bytes += item->size;
		return keep_inline(item, fd);
	}
	if (what->save_fd < 0 && !what->hold)
		return "it is larger than the limit for inline content";
	c->taken_bytes += item->size;
	return what->hold ? hold(item, fd) : save(what, item, fd);
}

static void collect_file(struct collecting *c, int dir_fd, const char *name, const char *path)
{
	owned_fd int fd = path_try(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, NO_LINKS);
	struct rootfs_item *item;
	struct stat st;

	if (fd >= 0 ? fstat(fd, &st) < 0 : fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (fd >= 0 && is_unchanged(c->what, path, fd, &st))
		return;
	if (c->found->count >= c->what->files_max) {
		c->found->limits_hit = true;
		c->over = true;
		return;
	}
	item = add_item(c, path, &st);
	if (!item) {
		stop(c, "no memory for the list of files");
		return;
	}
	item->why = fd < 0 ? "it cannot be read" : take(c, item, fd);
}

/* What cannot be taken, being no file. */
static void tell_of(struct collecting *c, const char *path, const struct stat *st)
{
	struct rootfs_item *item = add_item(c, path, st);

	if (item)
		item->why = "it is not a file";
	else
		stop(c, "no memory for the list of files");
}

static void collect_directory(struct collecting *c, int fd, const char *path, int depth);

/* What nobody wants who does not name it: hidden entries, and what an interpreter or an editor left. */
static bool is_byproduct(const char *name, mode_t mode)
{
	const char *dot = strrchr(name, '.');

	if (name[0] == '.' || strcmp(name, "__pycache__") == 0)
		return true;
	return S_ISREG(mode) && dot && (strcmp(dot, ".pyc") == 0 || strcmp(dot, ".tmp") == 0);
}

static void collect_entry(struct collecting *c, int dir_fd, const char *dir_path, const char *name, int depth)
{
	const bool all = c->what->pattern_count == 0 && !c->what->whole;
	char *path = NULL;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != c->dev)
		return;
	if (all && is_byproduct(name, st.st_mode))
		return;
	if (asprintf(&path, "%s%s%s", dir_path, *dir_path ? "/" : "", name) < 0) {
		stop(c, "no memory for a path");
		return;
	}
	if (S_ISDIR(st.st_mode) && depth < ROOTFS_FILE_DEPTH_MAX)
		collect_directory(c, path_try(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, NO_LINKS),
				  path, depth + 1);
	else if (S_ISDIR(st.st_mode))
		c->found->limits_hit = true;
	else if (S_ISREG(st.st_mode) && is_wanted(c->what, path))
		collect_file(c, dir_fd, name, path);
	else if (!S_ISREG(st.st_mode) && c->what->whole)
		tell_of(c, path, &st);
	free(path);
}

/* The names of a directory, sorted; heap. */
static char **read_names(struct collecting *c, DIR *dir, size_t *ret_count)
{
	size_t count = 0, capacity = 0;
	char **names = NULL;
	struct dirent *entry;

	while (!c->over && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (++c->looked_at > ENTRIES_MAX) {
			c->found->limits_hit = true;
			stop(c, "there are too many files to look at");
			break;
		}
		if (count == capacity) {
			char **grown = reallocarray(names, capacity + 64, sizeof(char *));

			if (!grown) {
				stop(c, "no memory for a directory");
				break;
			}
			names = grown;
			capacity += 64;
		}
		names[count] = strdup(entry->d_name);
		if (!names[count]) {
			stop(c, "no memory for a directory");
			break;
		}
		count++;
	}
	if (names)
		qsort(names, count, sizeof(char *), text_order);
	*ret_count = count;
	return names;
}

/* Takes the descriptor. The recursion is bounded by ROOTFS_FILE_DEPTH_MAX. */
static void collect_directory(struct collecting *c, int fd, const char *path, int depth)
{
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	size_t count = 0;
	char **names;

	if (!dir) {
		fd_done(&fd);
		if (!c->found->fault[0])
			snprintf(c->found->fault, sizeof(c->found->fault),
				 "the directory \"%.60s\" cannot be read", path);
		return;
	}
	names = read_names(c, dir, &count);
	for (size_t i = 0; i < count; i++) {
		if (!c->over)
			collect_entry(c, dirfd(dir), path, names[i], depth);
		free(names[i]);
	}
	free(names);
	closedir(dir);
}

void rootfs_collect(int dir_fd, const struct rootfs_collect *what, struct rootfs_collection *ret)
{
	struct collecting c = { .what = what, .found = ret };
	int fd = path_try(dir_fd, what->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, NO_LINKS);
	struct stat st;

	memset(ret, 0, sizeof(*ret));
	if (fd < 0 && errno == ENOENT)
		return;
	if (fd >= 0 && fstat(fd, &st) == 0)
		c.dev = st.st_dev;
	collect_directory(&c, fd, "", 1);
}

void rootfs_collection_done(struct rootfs_collection *collection)
{
	for (size_t i = 0; i < collection->count; i++) {
		free(collection->items[i].path);
		free(collection->items[i].bytes);
		if (collection->items[i].taken == ROOTFS_TAKEN_HELD)
			close(collection->items[i].fd);
	}
	free(collection->items);
	memset(collection, 0, sizeof(*collection));
}

/* ---- sizes ---- */

#define SIZES_ENTRIES 4096
#define SIZES_LEVELS  16

static bool find_size(int dir_fd, uint64_t size, int levels, size_t *left)
{
	const int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	bool found = false;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && !found && *left && (entry = readdir(dir))) {
		struct stat st;
		owned_fd int below_fd = -1;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		--*left;
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		found = S_ISREG(st.st_mode) && (uint64_t)st.st_size >= size;
		if (!S_ISDIR(st.st_mode) || levels == 0)
			continue;
		below_fd = openat(fd, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		found = below_fd >= 0 && find_size(below_fd, size, levels - 1, left);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool rootfs_has_file_of(int dir_fd, uint64_t size)
{
	size_t left = SIZES_ENTRIES;

	return find_size(dir_fd, size, SIZES_LEVELS, &left);
}
