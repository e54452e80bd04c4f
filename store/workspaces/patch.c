/*
 * A unified diff on the tree: all of it or nothing.
 *
 * Every new content is made first, in files beside the tree. Then each changes places with the old one, in one step, and what came out is
 * compared with what was read: if a program has changed it in between, or a later file fails, everything changes back. Of several
 * files a journal is on the disk meanwhile: if this process dies, who comes next changes everything back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "rootfs/rootfs.h"
#include "runtime/file.h"
#include "store/workspaces/patch_text.h"
#include "store/workspaces/private.h"

/* One file's change. */
struct change {
	char name
	    [STORE_NAME_MAX]; /* beside the tree: the new content, or after the exchange the old one; "" none */
	struct stat old;
	uint64_t inode; /* of the new content; 0: none */
	bool done;
};

struct patching {
	struct workspace *workspace;
	struct patch patch;
	struct change *changes; /* of the patch's files */
	struct warder_error *err;
};

static int failed(struct patching *p, const struct patch_file *file, const char *what)
{
	return error_set_errno(p->err, WARDER_ERROR_UNAVAILABLE, "patch", errno, "%.200s %s", file->path,
			       what);
}

static int conflict(struct patching *p, const struct patch_file *file, const char *what)
{
	return error_set(p->err, WARDER_ERROR_CONFLICT, "patch", "line %zu: %.200s %s; nothing was changed",
			 file->line, file->path, what);
}

/* ---- the new content ---- */

/* Open the file itself: a link is not patched. */
static int open_old(struct patching *p, const struct patch_file *file, struct stat *ret)
{
	owned_fd int fd = path_open_no_links(p->workspace->files_fd, file->path,
					     O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, p->err);

	if (fd < 0 && p->err->sys_errno == ENOENT)
		return conflict(p, file, "does not exist");
	if (fd < 0)
		return -1;
	if (fstat(fd, ret) != 0 || !S_ISREG(ret->st_mode))
		return conflict(p, file, "is no regular file");
	if ((uint64_t)ret->st_size > PATCH_MAX)
		return conflict(p, file, "is larger than 16 MiB");
	return fd_take(&fd);
}

static int read_old(struct patching *p, const struct patch_file *file, struct change *change, char **ret,
		    size_t *ret_len)
{
	owned_fd int fd = open_old(p, file, &change->old);
	size_t used = 0, room;
	char *text;

	if (fd < 0)
		return -1;
	room = (size_t)change->old.st_size;
	text = malloc(room + 1);
	while (text && used < room) {
		ssize_t n = read(fd, text + used, room - used);

		if (n <= 0)
			break;
		used += (size_t)n;
	}
	if (!text || used < room) {
		free(text);
		return failed(p, file, "cannot be read");
	}
	*ret = text;
	*ret_len = used;
	return 0;
}

static int check_absent(struct patching *p, const struct patch_file *file)
{
	owned_fd int fd = path_open_no_links(p->workspace->files_fd, file->path, O_PATH, 0, p->err);

	if (fd < 0 && p->err->sys_errno == ENOENT)
		return 0;
	return fd >= 0 ? conflict(p, file, "is to be new, and exists") : -1;
}

static int write_new(struct patching *p, const struct patch_file *file, struct change *change,
		     const char *text, size_t len)
{
	const mode_t mode = file->mode ? file->mode : file->is_new ? 0644 : change->old.st_mode & 0777;
	owned_fd int fd = workspace_new_file(p->workspace, change->name, p->err);
	struct stat st;

	if (fd < 0) {
		change->name[0] = '\0';
		return -1;
	}
	if (file_write_all(fd, text, len) != 0 || fchmod(fd, mode) != 0 || fsync(fd) != 0 ||
	    fstat(fd, &st) != 0)
		return failed(p, file, "cannot be written");
	change->inode = st.st_ino;
	return 0;
}

static int prepare(struct patching *p, const struct patch_file *file, struct change *change)
{
	char *old = NULL, *new = NULL;
	size_t old_len = 0, new_len = 0;
	int status = file->is_new ? check_absent(p, file) : read_old(p, file, change, &old, &old_len);

	if (status == 0)
		status = patch_apply(&p->patch, file, old ? old : "", old_len, &new, &new_len, p->err);
	if (status == 0 && file->is_deleted)
		store_new_name(".new-", change->name);
	else if (status == 0)
		status = write_new(p, file, change, new, new_len);
	free(old);
	free(new);
	return status;
}

/* ---- the exchange ---- */

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static char kind_of(const struct patch_file *file)
{
	return file->is_new ? 'A' : file->is_deleted ? 'D' : 'M';
}

static int move(struct patching *p, const struct patch_file *file, struct change *change, int parent_fd,
		const char *name)
{
	const int own_fd = p->workspace->dir_fd;
	struct stat now;

	if (file->is_new) {
		change->done = renameat2(own_fd, change->name, parent_fd, name, RENAME_NOREPLACE) == 0;
		return change->done ? 0 : failed(p, file, "cannot be made");
	}
	if (file->is_deleted) {
		change->done = renameat2(parent_fd, name, own_fd, change->name, RENAME_NOREPLACE) == 0;
	} else {
		change->done = renameat2(own_fd, change->name, parent_fd, name, RENAME_EXCHANGE) == 0;
	}
	if (!change->done)
		return failed(p, file, "cannot be changed");
	if (fstatat(own_fd, change->name, &now, AT_SYMLINK_NOFOLLOW) != 0 || !is_same(&now, &change->old))
		return conflict(p, file, "was changed by somebody else meanwhile");
	return 0;
}

static int exchange(struct patching *p, const struct patch_file *file, struct change *change)
{
	char plain[PATH_MAX];
	const char *name;
	owned_fd int parent_fd =
	    workspace_parent(p->workspace, file->path, file->is_new, plain, &name, p->err);

	if (parent_fd < 0)
		return -1;
	if (move(p, file, change, parent_fd, name) != 0)
		return -1;
	return store_sync(parent_fd, "patch", p->err);
}

static void change_back(struct patching *p, const struct patch_file *file, struct change *change)
{
	struct warder_error ignored;
	char plain[PATH_MAX];
	const char *name;
	owned_fd int parent_fd = workspace_parent(p->workspace, file->path, false, plain, &name, &ignored);
	const int own_fd = p->workspace->dir_fd;

	if (parent_fd < 0)
		return;
	if (file->is_new)
		renameat(parent_fd, name, own_fd, change->name);
	else if (file->is_deleted)
		renameat2(own_fd, change->name, parent_fd, name, RENAME_NOREPLACE);
	else
		renameat2(own_fd, change->name, parent_fd, name, RENAME_EXCHANGE);
}

/* One file changes in one step anyway. */
static int begin_journal(struct patching *p, struct journal *ret)
{
	const size_t count = p->patch.file_count;
	struct journal_entry *entries;
	int status;

	if (count < 2)
		return 0;
	entries = calloc(count, sizeof(*entries));
	if (!entries)
		return error_set(p->err, WARDER_ERROR_INTERNAL, "patch", "no memory for a journal");
	for (size_t i = 0; i < count; i++) {
		const struct patch_file *file = &p->patch.files[i];

		entries[i] = (struct journal_entry){ .what = kind_of(file),
						     .new_inode = p->changes[i].inode,
						     .old_inode = p->changes[i].old.st_ino,
						     .path = file->path };
		memcpy(entries[i].name, p->changes[i].name, sizeof(entries[i].name));
	}
	status = journal_begin(p->workspace, entries, count, ret, p->err);
	free(entries);
	return status;
}

static int apply(struct patching *p, bool check)
{
	struct journal journal = JOURNAL_NONE;
	int status = 0;

	for (size_t i = 0; i < p->patch.file_count && status == 0; i++)
		status = prepare(p, &p->patch.files[i], &p->changes[i]);
	if (status == 0 && !check)
		status = begin_journal(p, &journal);
	for (size_t i = 0; i < p->patch.file_count && status == 0 && !check; i++)
		status = exchange(p, &p->patch.files[i], &p->changes[i]);
	for (size_t i = p->patch.file_count; i-- > 0 && status != 0;) {
		if (p->changes[i].done)
			change_back(p, &p->patch.files[i], &p->changes[i]);
	}
	if (journal_end(p->workspace, &journal) != 0 && status == 0)
		return error_set_errno(p->err, WARDER_ERROR_UNAVAILABLE, "patch", errno,
				       "its journal cannot be removed; the next command takes it back");
	for (size_t i = 0; i < p->patch.file_count; i++) {
		if (p->changes[i].name[0])
			rootfs_remove_tree(p->workspace->dir_fd, p->changes[i].name);
	}
	return status;
}

static int tell(const struct patch *patch, struct workspace_patched **ret, size_t *ret_count,
		struct warder_error *err)
{
	struct workspace_patched *told = calloc(patch->file_count, sizeof(*told));

	if (!told)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL, "no memory for a list of files");
	for (size_t i = 0; i < patch->file_count; i++) {
		const struct patch_file *file = &patch->files[i];

		snprintf(told[i].path, sizeof(told[i].path), "%s", file->path);
		told[i].what = kind_of(file);
	}
	*ret = told;
	*ret_count = patch->file_count;
	return 0;
}

int workspace_patch(struct workspace *workspace, const char *text, size_t len, int strip, bool check,
		    struct workspace_patched **ret, size_t *ret_count, struct warder_error *err)
{
	struct patching p = { .workspace = workspace, .err = err };
	int status;

	if (patch_parse(text, len, strip, &p.patch, err) != 0)
		return -1;
	p.changes = calloc(p.patch.file_count, sizeof(*p.changes));
	if (!p.changes)
		status = error_set(err, WARDER_ERROR_INTERNAL, NULL, "no memory for a patch");
	else
		status = apply(&p, check);
	if (status == 0)
		status = tell(&p.patch, ret, ret_count, err);
	free(p.changes);
	patch_done(&p.patch);
	return status;
}
