/*
 * On the disk: workspaces/<safe>-<32 hex>/ is a workspace, its name made of the id (store_safe_name()). In it:
 *
 *   files/         the tree: all that a jail ever sees
 *   metadata.json  what Warder knows; metadata.lock is held by who changes it
 *   inputs/        what runs have mounted read-only; runs.lock is held, shared, by each run, and alone by who changes that
 *   .patch-<hex>   the journal of a patch (journal.c)
 *   .new-<hex>     a file on its way into the tree, or a leftover of somebody who died
 *
 * The lock of a workspace is an flock(2) of its directory, which the kernel gives back however its holder ends, and which a run
 * inherits. Who has it alone knows that every ".new-" in it is of the dead.
 *
 * What is made or removed as a whole has a name with a dot first (".new-", ".gone-") in workspaces/ meanwhile; who does that holds a shared
 * lock of workspaces/ itself, and who gets that alone removes what he finds.
 */
#include "store/workspaces/workspaces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "rootfs/rootfs.h"
#include "store/store.h"
#include "store/workspaces/private.h"
#include "store/workspaces/sessions.h"

static const char field[] = "workspace";
static const char tree[] = "files";

static int failed(const char *id, const char *what, struct warder_error *err)
{
	char shown[96];

	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno, "%s %s",
			       json_quote(id, shown, sizeof(shown)), what);
}

/* As store_new_name() makes them; others are not ours. */
static bool is_of_dead(const char *name, const char *prefix)
{
	const size_t len = strlen(prefix);

	return strncmp(name, prefix, len) == 0 && strlen(name + len) == 16 &&
	       strspn(name + len, "0123456789abcdef") == 16;
}

/* Remove what the dead have left in a directory that is locked alone. */
static void remove_dead(int dir_fd)
{
	int fd = store_open_directory(dir_fd, ".");
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *item;

	if (!dir) {
		fd_done(&fd);
		return;
	}
	while ((item = readdir(dir)) != NULL) {
		if (is_of_dead(item->d_name, ".new-") || is_of_dead(item->d_name, ".gone-"))
			rootfs_remove_tree(dir_fd, item->d_name);
	}
	closedir(dir);
}

int workspaces_open(const char *store, struct workspaces *ret, struct warder_error *err)
{
	struct workspaces workspaces = WORKSPACES_NONE;

	workspaces.dir_fd = store_open(store, "workspaces", workspaces.path, err);
	if (workspaces.dir_fd < 0)
		return -1;
	*ret = workspaces;
	return 0;
}

/* Who makes or removes something does that; who only looks changes nothing. */
static void bury_dead(struct workspaces *workspaces)
{
	if (flock(workspaces->dir_fd, LOCK_EX | LOCK_NB) != 0)
		return;
	remove_dead(workspaces->dir_fd);
	flock(workspaces->dir_fd, LOCK_UN);
}

void workspaces_done(struct workspaces *workspaces)
{
	fd_done(&workspaces->dir_fd);
}

void workspace_done(struct workspace *workspace)
{
	fd_done(&workspace->runs_fd);
	fd_done(&workspace->files_fd);
	fd_done(&workspace->dir_fd);
}

/* ---- ids ---- */

static const char *id_fault(const char *id)
{
	if (strlen(id) >= WORKSPACE_ID_MAX)
		return "is longer than 255 bytes";
	if (!json_is_utf8(id))
		return "is not UTF-8";
	for (const char *at = id; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 127)
			return "has a control character in it";
	}
	return NULL;
}

/* The id into *ret, and the name of its directory. */
static int take_id(const char *id, struct workspace *ret, char *name, struct warder_error *err)
{
	const char *fault = id_fault(id);
	char shown[96];

	if (fault)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "id %s %s",
				 json_quote(id, shown, sizeof(shown)), fault);
	*ret = WORKSPACE_UNOPENED;
	snprintf(ret->id, sizeof(ret->id), "%s", *id ? id : "anon");
	store_safe_name(ret->id, name);
	return 0;
}

/* ---- locks ---- */

static bool still_leads_to(int parent_fd, const char *name, int fd)
{
	struct stat now, then;

	return fstat(fd, &then) == 0 && fstatat(parent_fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_dev == then.st_dev && now.st_ino == then.st_ino;
}

/* Returns an owned, locked descriptor; -1 with *err. Whoever has waited for one that was removed meanwhile begins again. */
static int open_locked(struct workspaces *workspaces, const char *id, const char *name,
		       enum workspace_lock lock, bool wait, struct warder_error *err)
{
	const int how = lock == WORKSPACE_ALONE ? LOCK_EX : LOCK_SH;
	char shown[96];

	for (;;) {
		owned_fd int fd = store_open_directory(workspaces->dir_fd, name);

		if (fd < 0 && errno == ENOENT) {
			error_set(err, WARDER_ERROR_NOT_FOUND, field,
				  "there is no workspace %s; \"warder workspace list\" lists them",
				  json_quote(id, shown, sizeof(shown)));
			err->sys_errno = ENOENT;
			return -1;
		}
		if (fd < 0)
			return failed(id, "cannot be opened", err);
		if (file_lock(fd, how | (wait ? 0 : LOCK_NB)) != 0) {
			if (errno != EWOULDBLOCK)
				return failed(id, "cannot be locked", err);
			return error_set(
			    err, WARDER_ERROR_CONFLICT, field,
			    "%s is in use: something runs in it, or works with it; wait for it with "
			    "--wait, or try again",
			    json_quote(id, shown, sizeof(shown)));
		}
		if (still_leads_to(workspaces->dir_fd, name, fd))
			return fd_take(&fd);
	}
}

/* A program may have closed to us what is ours. */
static void make_usable(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
		fchmod(fd, (st.st_mode & 07777) | 0700);
}

static int set_path(const struct workspaces *workspaces, const char *name, struct workspace *workspace,
		    struct warder_error *err)
{
	if (snprintf(workspace->path, sizeof(workspace->path), "%s/%s/%s", workspaces->path, name, tree) >=
	    (int)sizeof(workspace->path))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "the path of the store is too long");
	return 0;
}

static int enter(struct workspaces *workspaces, const char *name, struct workspace *workspace,
		 struct warder_error *err)
{
	workspace->files_fd = store_open_directory(workspace->dir_fd, tree);
	if (workspace->files_fd < 0 && errno == EACCES && fchmodat(workspace->dir_fd, tree, 0755, 0) == 0)
		workspace->files_fd = store_open_directory(workspace->dir_fd, tree);
	if (workspace->files_fd >= 0)
		make_usable(workspace->files_fd);
	if (workspace->files_fd < 0)
		return failed(workspace->id, "has no tree; create it again", err);
	return set_path(workspaces, name, workspace, err);
}

int workspace_open(struct workspaces *workspaces, const char *id, enum workspace_lock lock, bool wait,
		   struct workspace *ret, struct warder_error *err)
{
	struct workspace workspace;
	char name[STORE_NAME_MAX];

	if (take_id(id, &workspace, name, err) != 0)
		return -1;
	workspace.dir_fd = open_locked(workspaces, workspace.id, name, lock, wait, err);
	if (workspace.dir_fd < 0)
		return -1;
	if (enter(workspaces, name, &workspace, err) != 0 ||
	    (lock == WORKSPACE_ALONE && !workspaces->is_private &&
	     workspace_await_sessions(workspace.id, workspace.path, wait, WORKSPACE_STOP_OR_WAIT, err) !=
		 0)) {
		workspace_done(&workspace);
		return -1;
	}
	if (journal_recover(&workspace) == 0 && lock == WORKSPACE_ALONE)
		remove_dead(workspace.dir_fd);
	*ret = workspace;
	return 0;
}

/* ---- making ---- */

/* Exactly that mode, whatever the umask; what is there already is left as it is. */
static int make_directory(int parent_fd, const char *name, mode_t mode)
{
	owned_fd int fd = -1;

	if (mkdirat(parent_fd, name, 0700) != 0)
		return errno == EEXIST ? 0 : -1;
	fd = store_open_directory(parent_fd, name);
	return fd >= 0 && fchmod(fd, mode) == 0 ? 0 : -1;
}

static int touch(void *context, struct workspace_metadata *metadata, struct warder_error *err)
{
	const char *id = context;

	if (!metadata->id)
		metadata->id = strdup(id);
	return metadata->id ? 0 : error_no_memory(err, NULL);
}

/*
 * A program has closed a directory of the layout, or put something else there: a link that leads out or nowhere is removed, and
 * anything else moved aside, and told.
 */
static int mend(struct workspace *workspace, const char *path, struct warder_error *err)
{
	char plain[PATH_MAX], aside[STORE_NAME_MAX];
	const char *name;
	owned_fd int parent_fd = workspace_any_parent(workspace, path, false, plain, &name, err);
	struct stat st;
	size_t len;

	if (parent_fd < 0 || fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	if (S_ISLNK(st.st_mode))
		return unlinkat(parent_fd, name, 0);
	if (S_ISDIR(st.st_mode))
		return fchmodat(parent_fd, name, (st.st_mode & 07777) | 0700, AT_SYMLINK_NOFOLLOW);
	store_new_name(".moved-", aside);
	if (renameat2(parent_fd, name, workspace->files_fd, aside + 1, RENAME_NOREPLACE) != 0)
		return -1;
	len = strlen(workspace->mended);
	snprintf(workspace->mended + len, sizeof(workspace->mended) - len,
		 "%s%s%.60s, which is not a directory, to %.80s", len ? "; " : "",
		 strstr(workspace->mended, "moved ") ? "" : "moved ", path, aside + 1);
	return 0;
}

int workspace_layout(struct workspace *workspace, struct warder_error *err)
{
	static const char *const directories[] = { "skills", "work", "runs", "out", "work/inputs" };

	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
		owned_fd int fd = workspace_directory(workspace, directories[i], true, err);

		if (fd < 0) {
			mend(workspace, directories[i], err);
			fd = workspace_directory(workspace, directories[i], true, err);
		}
		if (fd < 0)
			return error_context(err, "a program has put something else in the place of %s",
					     directories[i]);
		make_usable(fd);
	}
	return workspace_metadata_change(workspace, touch, workspace->id, err);
}

/* Nobody else is here: the dead are buried, and the lock is shared again. Not at once: somebody may have removed it in between. */
static bool sweep(struct workspaces *workspaces, const char *name, struct workspace *workspace)
{
	const int fd = workspace->dir_fd;
	const bool alone = flock(fd, LOCK_EX | LOCK_NB) == 0;

	workspace->files_fd = store_open_directory(fd, tree);
	if (alone && (workspace->files_fd < 0 || journal_recover(workspace) == 0))
		remove_dead(fd);
	fd_done(&workspace->files_fd);
	return file_lock(fd, LOCK_SH) == 0 && still_leads_to(workspaces->dir_fd, name, fd);
}

/* The directory, made if it is missing, locked as shared. */
static int open_made(struct workspaces *workspaces, const char *name, struct workspace *workspace,
		     struct warder_error *err)
{
	for (;;) {
		if (make_directory(workspaces->dir_fd, name, 0700) != 0)
			return failed(workspace->id, "cannot be made", err);
		workspace->dir_fd = open_locked(workspaces, workspace->id, name, WORKSPACE_SHARED, true, err);
		if (workspace->dir_fd >= 0 && sweep(workspaces, name, workspace))
			return 0;
		if (workspace->dir_fd < 0 && err->sys_errno != ENOENT)
			return -1;
		fd_done(&workspace->dir_fd);
	}
}

int workspace_create(struct workspaces *workspaces, const char *id, struct workspace *ret,
		     struct warder_error *err)
{
	char name[STORE_NAME_MAX], made_up[STORE_NAME_MAX];
	struct workspace workspace;

	if (!id) {
		store_new_name("ws-", made_up);
		id = made_up;
	}
	if (take_id(id, &workspace, name, err) != 0)
		return -1;
	bury_dead(workspaces);
	if (open_made(workspaces, name, &workspace, err) != 0)
		return -1;
	if (make_directory(workspace.dir_fd, tree, 0755) != 0) {
		failed(workspace.id, "cannot be made", err);
	} else if (enter(workspaces, name, &workspace, err) == 0 && workspace_layout(&workspace, err) == 0 &&
		   store_sync(workspace.dir_fd, field, err) == 0 &&
		   store_sync(workspaces->dir_fd, field, err) == 0) {
		*ret = workspace;
		return 0;
	}
	workspace_done(&workspace);
	return -1;
}

static int exists(const struct workspace *workspace, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_CONFLICT, field,
			 "there is a workspace %.200s already; give another id, or remove it", workspace->id);
}

static int build(struct workspaces *workspaces, const char *temporary, const char *name,
		 struct workspace *workspace,
		 int (*fill)(void *context, struct workspace *workspace, struct warder_error *err),
		 void *context, struct warder_error *err)
{
	if (faccessat(workspaces->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return exists(workspace, err);
	if (mkdirat(workspaces->dir_fd, temporary, 0700) != 0)
		return failed(workspace->id, "cannot be made", err);
	workspace->dir_fd = store_open_directory(workspaces->dir_fd, temporary);
	if (workspace->dir_fd < 0 || file_lock(workspace->dir_fd, LOCK_SH) != 0 ||
	    make_directory(workspace->dir_fd, tree, 0755) != 0)
		return failed(workspace->id, "cannot be made", err);
	if (enter(workspaces, temporary, workspace, err) != 0 || fill(context, workspace, err) != 0)
		return -1;
	if (syncfs(workspace->dir_fd) != 0)
		return failed(workspace->id, "cannot be brought to the disk", err);
	if (set_path(workspaces, name, workspace, err) != 0)
		return -1;
	if (renameat2(workspaces->dir_fd, temporary, workspaces->dir_fd, name, RENAME_NOREPLACE) != 0)
		return errno == EEXIST ? exists(workspace, err)
				       : failed(workspace->id, "cannot be made", err);
	return store_sync(workspaces->dir_fd, field, err);
}

int workspace_build(struct workspaces *workspaces, const char *id,
		    int (*fill)(void *context, struct workspace *workspace, struct warder_error *err),
		    void *context, struct workspace *ret, struct warder_error *err)
{
	char name[STORE_NAME_MAX], temporary[STORE_NAME_MAX];
	struct workspace workspace;
	int status;

	if (take_id(id, &workspace, name, err) != 0)
		return -1;
	bury_dead(workspaces);
	if (file_lock(workspaces->dir_fd, LOCK_SH) != 0)
		return failed(workspace.id, "cannot be locked", err);
	store_new_name(".new-", temporary);
	status = build(workspaces, temporary, name, &workspace, fill, context, err);
	if (status != 0)
		rootfs_remove_tree(workspaces->dir_fd, temporary);
	flock(workspaces->dir_fd, LOCK_UN);
	if (status != 0) {
		workspace_done(&workspace);
		return -1;
	}
	*ret = workspace;
	return 0;
}

/* ---- removing ---- */

/* First out of the way, so that nobody finds half of it. What cannot be removed comes back, and can be tried again. */
static int remove_locked(struct workspaces *workspaces, const char *id, const char *name, int fd,
			 struct warder_error *err)
{
	char trash[STORE_NAME_MAX];
	int failure;

	store_new_name(".gone-", trash);
	if (renameat(workspaces->dir_fd, name, workspaces->dir_fd, trash) != 0)
		return failed(id, "cannot be removed", err);
	/* What programs have made first: the rest never fails. */
	if ((rootfs_remove_tree(fd, tree) == 0 || errno == ENOENT) &&
	    rootfs_remove_tree(workspaces->dir_fd, trash) == 0)
		return store_sync(workspaces->dir_fd, field, err);
	failure = errno;
	renameat2(workspaces->dir_fd, trash, workspaces->dir_fd, name, RENAME_NOREPLACE);
	errno = failure;
	return failed(id, "cannot be removed altogether; remove it again when that is mended", err);
}

/* A tree that is not there, after half a removal, is in nobody's session. */
static int await_sessions(const struct workspaces *workspaces, const char *id, const char *name, bool wait,
			  struct warder_error *err)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s/%s", workspaces->path, name, tree) >= (int)sizeof(path) ||
	    access(path, F_OK) != 0)
		return 0;
	return workspace_await_sessions(id, path, wait, WORKSPACE_STOP_OR_WAIT, err);
}

int workspace_remove(struct workspaces *workspaces, const char *id, bool wait, struct warder_error *err)
{
	struct workspace workspace;
	char name[STORE_NAME_MAX];
	owned_fd int fd = -1;
	int status;

	if (take_id(id, &workspace, name, err) != 0)
		return -1;
	bury_dead(workspaces);
	fd = open_locked(workspaces, workspace.id, name, WORKSPACE_ALONE, wait, err);
	if (fd < 0)
		return err->code == WARDER_ERROR_NOT_FOUND ? 1 : -1;
	if (!workspaces->is_private && await_sessions(workspaces, workspace.id, name, wait, err) != 0)
		return -1;
	if (file_lock(workspaces->dir_fd, LOCK_SH) != 0)
		return failed(workspace.id, "cannot be locked", err);
	status = remove_locked(workspaces, workspace.id, name, fd, err);
	flock(workspaces->dir_fd, LOCK_UN);
	return status;
}

/* ---- all of them ---- */

static int tell_of(struct workspaces *workspaces, const char *name,
		   int (*call)(void *context, const char *id, const char *path, struct warder_error *err),
		   void *context, struct warder_error *err)
{
	struct workspace workspace = WORKSPACE_UNOPENED;
	struct workspace_metadata metadata;
	int status = 0;

	workspace.dir_fd = store_open_directory(workspaces->dir_fd, name);
	if (workspace.dir_fd < 0)
		return 0; /* removed meanwhile */
	snprintf(workspace.path, sizeof(workspace.path), "%.3900s/%s/%s", workspaces->path, name, tree);
	if (workspace_metadata_load(&workspace, &metadata, err) == 0) {
		if (metadata.id)
			status = call(context, metadata.id, workspace.path, err);
		workspace_metadata_done(&metadata);
	} else if (err->sys_errno != ENOENT) {
		status = -1;
	}
	workspace_done(&workspace);
	return status;
}

int workspaces_each(struct workspaces *workspaces,
		    int (*call)(void *context, const char *id, const char *path, struct warder_error *err),
		    void *context, struct warder_error *err)
{
	struct dirent **items = NULL;
	const int count = scandirat(workspaces->dir_fd, ".", &items, store_is_visible, store_order);
	int status = 0;

	if (count < 0)
		return failed("the list of workspaces", "cannot be read", err);
	for (int i = 0; i < count; i++) {
		if (status == 0)
			status = tell_of(workspaces, items[i]->d_name, call, context, err);
		free(items[i]);
	}
	free(items);
	return status;
}
