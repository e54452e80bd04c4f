/*
 * See loaded.h. The check is on the way of every hand-out, and a program with numpy has loaded 500 files. So the kernel is asked first whether
 * a file has changed since all of them were looked at (watch.h). Only if it reports a change of any file of the watch, or if some files cannot
 * be watched, they are looked at.
 *
 * To look at files, each directory is opened once, and its files are looked up by their names alone. A directory's path is followed each time,
 * so that a link on the way that leads elsewhere by now is noticed; so is the path of a file that is itself a link. A file behind a link is
 * not watched.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "jail/loaded.h"
#include "jail/watch.h"
#include "rootfs/rootfs.h"

#define FILES_MAX 4096
#define CUTS_MAX  64 /* of a path in an archive: components behind the archive's name */

/* What a file was when the program had loaded it. */
struct loaded_file {
	char *path;
	size_t name_at; /* in the path */
	bool is_link;
	bool is_watched;
	struct stat st; /* of a link: of what it leads to */
};

struct loaded_directory {
	char *path;
	struct loaded_file *files;
	size_t count;
};

static int open_in(int root_fd, const char *path)
{
	struct warder_error ignored;

	return path_open_in_root(root_fd, path, O_PATH, &ignored);
}

static int look_up(int dir_fd, const struct loaded_file *file, struct stat *ret)
{
	return fstatat(dir_fd, file->path + file->name_at, ret, AT_SYMLINK_NOFOLLOW);
}

static int follow(int root_fd, const char *path, struct stat *ret)
{
	owned_fd int fd = open_in(root_fd, path);

	return fd < 0 ? -1 : fstat(fd, ret);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool is_path(const char *known, const char *path, size_t len)
{
	return strncmp(known, path, len) == 0 && !known[len];
}

/* NULL: no memory. */
static struct loaded_directory *find_directory(struct loaded *loaded, const char *path, size_t len)
{
	struct loaded_directory *grown;
	char *copy;

	for (size_t i = loaded->count; i > 0; i--)
		if (is_path(loaded->directories[i - 1].path, path, len))
			return &loaded->directories[i - 1];
	copy = strndup(path, len);
	grown = copy ? realloc(loaded->directories, (loaded->count + 1) * sizeof(*grown)) : NULL;
	if (!grown) {
		free(copy);
		return NULL;
	}
	loaded->directories = grown;
	grown[loaded->count] = (struct loaded_directory){ .path = copy };
	return &grown[loaded->count++];
}

static bool is_known(const struct loaded_directory *directory, const char *path, size_t len)
{
	for (size_t i = 0; i < directory->count; i++)
		if (is_path(directory->files[i].path, path, len))
			return true;
	return false;
}

/* 0, or an errno. */
static int look_first(int root_fd, const char *directory, struct loaded_file *file)
{
	owned_fd int dir_fd = open_in(root_fd, directory);

	if (dir_fd < 0 || look_up(dir_fd, file, &file->st) < 0)
		return errno;
	file->is_link = S_ISLNK(file->st.st_mode);
	return file->is_link && follow(root_fd, file->path, &file->st) < 0 ? errno : 0;
}

/* The length of the archive that a path leads into; 0: it leads into none, or lies too deep in it. */
static size_t archive_len(int root_fd, const char *path, size_t len)
{
	int error = ENOTDIR;

	for (int cuts = 0; cuts < CUTS_MAX && error == ENOTDIR; cuts++) {
		struct loaded_file file = { 0 };
		char *directory;

		len = (size_t)((const char *)memrchr(path, '/', len) - path);
		if (!len)
			return 0;
		file.name_at = (size_t)((const char *)memrchr(path, '/', len) - path) + 1;
		file.path = strndup(path, len);
		directory = strndup(path, file.name_at);
		error = file.path && directory ? look_first(root_fd, directory, &file) : ENOMEM;
		free(file.path);
		free(directory);
	}
	return error ? 0 : len;
}

int loaded_add(struct loaded *loaded, int root_fd, const char *path, size_t len, struct warder_error *err)
{
	const char *slash = memrchr(path, '/', len);
	const size_t name_at = slash ? (size_t)(slash - path) + 1 : 0;
	struct loaded_directory *directory = find_directory(loaded, path, name_at);
	struct loaded_file file = { .name_at = name_at };
	struct loaded_file *files;
	size_t archive;
	int error;

	if (!directory)
		return error_no_memory(err, NULL);
	if (is_known(directory, path, len))
		return 0;
	if (loaded->files == FILES_MAX || loaded->count > FILES_MAX)
		return error_set(
		    err, WARDER_ERROR_UNAVAILABLE, "program",
		    "the program has loaded more than %d files, or from more directories; import less",
		    FILES_MAX);
	file.path = strndup(path, len);
	files = file.path ? realloc(directory->files, (directory->count + 1) * sizeof(*files)) : NULL;
	if (files)
		directory->files = files;
	error = files ? look_first(root_fd, directory->path, &file) : ENOMEM;
	if (error) {
		free(file.path);
		if (error == ENOENT)
			return 0;
		/* A module in an archive: the archive is what was loaded. */
		archive = error == ENOTDIR ? archive_len(root_fd, path, len) : 0;
		if (archive)
			return loaded_add(loaded, root_fd, path, archive, err);
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "program", error,
				       "%.*s, which the program has loaded, cannot be looked at", (int)len,
				       path);
	}
	files[directory->count++] = file;
	loaded->files++;
	return 0;
}

int loaded_add_mapped(struct loaded *loaded, int root_fd, const char *path, size_t len,
		      struct warder_error *err)
{
	static const char suffix[] = " (deleted)";
	const size_t end = sizeof(suffix) - 1;
	char *before;
	struct stat st;
	int looked;

	if (len <= end || memcmp(path + len - end, suffix, end) != 0)
		return loaded_add(loaded, root_fd, path, len, err);
	before = strndup(path, len - end);
	if (!before)
		return error_no_memory(err, NULL);
	looked = follow(root_fd, before, &st);
	free(before);
	/* Else it is memory of the program that has a name, or a file that it removed itself. */
	return looked < 0 || !S_ISREG(st.st_mode)
		   ? 0
		   : error_set(err, WARDER_ERROR_UNAVAILABLE, "program",
			       "%.*s was replaced while the program loaded it", (int)(len - end), path);
}

/* ---- the watch ---- */

/* How much of the paths of two directories they have in common, up to a slash. */
static size_t common(const char *a, const char *b)
{
	size_t len = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			len = i + 1;
	return len;
}

static int open_without_links(int root_fd, const char *path, size_t len)
{
	struct warder_error ignored;
	char *below = strndup(path + 1, len - 1);
	const int fd = below ? path_open_no_links(root_fd, *below ? below : ".", O_PATH, &ignored) : -1;

	free(below);
	return fd;
}

/* A directory and those above it, whose first `known` bytes are watched already. Returns the directory, or -1. */
static int watch_way(struct watch *watch, int root_fd, const char *path, size_t known)
{
	const size_t len = strlen(path);
	owned_fd int fd = -1;

	for (size_t i = known; i < len; i++) {
		if (i == 0 || path[i] != '/')
			continue;
		fd_done(&fd);
		fd = open_without_links(root_fd, path, i + 1);
		if (fd < 0 || !watch_directory(watch, fd))
			return -1;
	}
	if (fd >= 0)
		return fd_take(&fd);
	/* Known already, or "/", which no slash follows. */
	fd = open_without_links(root_fd, path, len);
	return fd >= 0 && watch_directory(watch, fd) ? fd_take(&fd) : -1;
}

/* A file on another file system than its directory is mounted there. */
static bool watch_one(struct watch *watch, int dir_fd, const struct loaded_file *file)
{
	struct stat st;

	return dir_fd >= 0 && !file->is_link && fstat(dir_fd, &st) == 0 && st.st_dev == file->st.st_dev &&
	       watch_file(watch, dir_fd, file->path + file->name_at);
}

void loaded_watch(struct loaded *loaded, int root_fd, struct watch *watch)
{
	const char *before = "";

	loaded->moment = watch_read(watch);
	loaded->unwatched = 0;
	for (size_t i = 0; i < loaded->count; i++) {
		struct loaded_directory *directory = &loaded->directories[i];
		owned_fd int dir_fd =
		    watch_way(watch, root_fd, directory->path, common(directory->path, before));

		if (dir_fd >= 0)
			before = directory->path;
		for (size_t j = 0; j < directory->count; j++) {
			directory->files[j].is_watched = watch_one(watch, dir_fd, &directory->files[j]);
			loaded->unwatched += !directory->files[j].is_watched;
		}
	}
	/* What changed before it was watched, nobody reports. */
	if (!loaded_have_changed(loaded, root_fd))
		loaded->watch = watch;
}

/* Whether the kernel has reported nothing since the watched files were looked at last. *ret is now. */
static bool is_quiet(const struct loaded *loaded, struct watch_moment *ret)
{
	if (!loaded->watch)
		return false;
	*ret = watch_read(loaded->watch);
	return ret->changes == loaded->moment.changes;
}

bool loaded_are_unchanged(const struct loaded *loaded)
{
	struct watch_moment now;

	return loaded->unwatched == 0 && is_quiet(loaded, &now);
}

/* ---- the look ---- */

static bool has_changed(const struct loaded_directory *directory, int root_fd, bool all)
{
	owned_fd int dir_fd = -1;
	struct stat now;

	for (size_t i = 0; i < directory->count; i++) {
		const struct loaded_file *file = &directory->files[i];
		int looked;

		if (file->is_watched && !all)
			continue;
		if (dir_fd < 0)
			dir_fd = open_in(root_fd, directory->path);
		if (dir_fd < 0)
			return true;
		looked = file->is_link ? follow(root_fd, file->path, &now) : look_up(dir_fd, file, &now);
		if (looked < 0 || !is_same(&file->st, &now))
			return true;
	}
	return false;
}

bool loaded_have_changed(struct loaded *loaded, int root_fd)
{
	struct watch_moment now = { 0 };
	const bool all = !is_quiet(loaded, &now);

	for (size_t i = 0; i < loaded->count; i++)
		if (root_fd < 0 || has_changed(&loaded->directories[i], root_fd, all))
			return true;
	/* A file may have lost its watch, and be the same nevertheless. */
	if (loaded->watch && now.lost != loaded->moment.lost)
		loaded->watch = NULL;
	if (loaded->watch)
		loaded->moment = now;
	return false;
}

void loaded_done(struct loaded *loaded)
{
	for (size_t i = 0; i < loaded->count; i++) {
		struct loaded_directory *directory = &loaded->directories[i];

		for (size_t j = 0; j < directory->count; j++)
			free(directory->files[j].path);
		free(directory->files);
		free(directory->path);
	}
	free(loaded->directories);
	*loaded = (struct loaded){ 0 };
}
