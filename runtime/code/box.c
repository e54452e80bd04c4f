/*
 * Everything in a session runs under one user, so that what runs beside can read and change what lies in a box. It is a place of its own
 * against mistakes, not against attacks: two runs at a time do not meet, and nothing of a run is left for the next one. What Warder itself
 * writes, collects and removes there it reaches without following a link.
 */
#include "runtime/code/box.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "jail/session.h"
#include "runtime/library/library.h"

#define BUILT_BYTES (256u << 20) /* of a file that was built, as in build.c */
#define BUILT_DEPTH 16

static int add(struct box *box, const char *directory, const char *path, struct rootfs_file file,
	       struct warder_error *err)
{
	struct rootfs_file *grown = reallocarray(box->files, box->file_count + 1, sizeof(*grown));
	char *name = NULL;

	if (grown)
		box->files = grown;
	if (!grown || asprintf(&name, "%s/%s", directory, path) < 0)
		return error_no_memory(err, NULL);
	file.path = name;
	grown[box->file_count++] = file;
	return 0;
}

static int add_built(struct box *box, const char *place, const char *path, const char *name,
		     struct warder_error *err)
{
	struct rootfs_file file = { 0 };
	struct stat st;
	char *bytes = NULL;

	if (file_read_regular(path, BUILT_BYTES, &bytes, &file.len, err) != 0)
		return -1;
	file.bytes = bytes;
	file.mode = stat(path, &st) == 0 ? st.st_mode & 0777 : 0755;
	if (add(box, place, name, file, err) == 0)
		return 0;
	free(bytes);
	return -1;
}

/* The files of the cache's entry, which nobody else writes to. `place`: where the copies go. */
static int add_tree(struct box *box, const char *place, const char *path, int depth, struct warder_error *err)
{
	DIR *dir = opendir(path);
	const struct dirent *item;
	char *from = NULL, *to = NULL;
	int status = 0;

	if (!dir || depth > BUILT_DEPTH) {
		if (dir)
			closedir(dir);
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "cache", dir ? ELOOP : errno, "%.200s",
				       path);
	}
	while (status == 0 && (item = readdir(dir)) != NULL) {
		struct stat st;

		if (item->d_name[0] == '.') /* nor what Warder keeps beside */
			continue;
		if (asprintf(&from, "%s/%s", path, item->d_name) < 0)
			from = NULL;
		if (asprintf(&to, "%s/%s", place, item->d_name) < 0)
			to = NULL;
		if (!from || !to)
			status = error_no_memory(err, NULL);
		else if (lstat(from, &st) == 0 && S_ISDIR(st.st_mode))
			status = add_tree(box, to, from, depth + 1, err);
		else
			status = add_built(box, place, from, item->d_name, err);
		free(from);
		free(to);
		from = to = NULL;
	}
	closedir(dir);
	return status;
}

static int list_files(const struct warder_program *program, const char *name, struct box *ret,
		      struct warder_error *err)
{
	char out[64];

	for (size_t i = 0; i < program->file_count; i++) {
		if (add(ret, name, program->files[i].path, program->files[i], err) != 0)
			return -1;
	}
	ret->borrowed = ret->file_count;
	snprintf(out, sizeof(out), "%s/" PROGRAM_OUT, name);
	return program->entry.built ? add_tree(ret, out, program->entry.path, 0, err) : 0;
}

int box_draw(const struct warder_program *program, struct box *ret, struct warder_error *err)
{
	uint64_t number;
	char name[32];

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no random number");
	snprintf(name, sizeof(name), LIBRARY_BOX "%016" PRIx64, number);
	snprintf(ret->path, sizeof(ret->path), "/tmp/%s", name);
	snprintf(ret->collected, sizeof(ret->collected), "%s/" PROGRAM_BOX, name);
	return list_files(program, name, ret, err);
}

int box_open(const struct warder_program *program, struct box *ret, struct warder_error *err)
{
	const struct jail_joint *joint = jail_template_plan(library_jail_template(program->tmpl))->joint;
	owned_fd int root_fd = -1;

	if (box_draw(program, ret, err) != 0 || jail_session_open_root(joint, &root_fd, err) != 0)
		return -1;
	ret->tmp_fd = path_open_in_root(root_fd, "/tmp", O_RDONLY | O_DIRECTORY, err);
	return ret->tmp_fd < 0 ? -1 : 0;
}

void box_done(struct box *box)
{
	for (size_t i = 0; i < box->file_count; i++) {
		free((char *)(uintptr_t)box->files[i].path);
		if (i >= box->borrowed)
			free((char *)(uintptr_t)box->files[i].bytes);
	}
	free(box->files);
	if (box->tmp_fd >= 0)
		rootfs_remove_tree(box->tmp_fd, strrchr(box->path, '/') + 1);
	fd_done(&box->tmp_fd);
	*box = BOX_NONE;
}
