/* See loaded.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "jail/loaded.h"
#include "rootfs/rootfs.h"

#define FILES_MAX 4096

/* What a file was when the program had loaded it. */
struct loaded_file {
	char *path;
	struct stat st;
};

static int look_up(int root_fd, const char *path, struct stat *ret)
{
	struct warder_error ignored;
	owned_fd int fd = path_open_in_root(root_fd, path, O_PATH, &ignored);

	return fd < 0 ? -1 : fstat(fd, ret);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool is_known(const struct loaded *loaded, const char *path, size_t len)
{
	for (size_t i = 0; i < loaded->count; i++)
		if (strncmp(loaded->files[i].path, path, len) == 0 && !loaded->files[i].path[len])
			return true;
	return false;
}

int loaded_add(struct loaded *loaded, int root_fd, const char *path, size_t len, struct warder_error *err)
{
	struct loaded_file *files;
	struct stat st;
	char *copy;

	if (is_known(loaded, path, len))
		return 0;
	if (loaded->count == FILES_MAX)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "program",
				 "the program has loaded more than %d files; import less", FILES_MAX);
	copy = strndup(path, len);
	files = copy ? realloc(loaded->files, (loaded->count + 1) * sizeof(*files)) : NULL;
	if (files)
		loaded->files = files;
	if (!files || look_up(root_fd, copy, &st) < 0) {
		free(copy);
		return files ? 0 : error_no_memory(err, NULL);
	}
	files[loaded->count++] = (struct loaded_file){ copy, st };
	return 0;
}

bool loaded_have_changed(const struct loaded *loaded, int root_fd)
{
	struct stat now;

	for (size_t i = 0; i < loaded->count; i++) {
		const struct loaded_file *file = &loaded->files[i];

		if (root_fd < 0 || look_up(root_fd, file->path, &now) < 0 || !is_same(&file->st, &now))
			return true;
	}
	return false;
}

void loaded_done(struct loaded *loaded)
{
	for (size_t i = 0; i < loaded->count; i++)
		free(loaded->files[i].path);
	free(loaded->files);
	*loaded = (struct loaded){ 0 };
}
