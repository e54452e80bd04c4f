/*
 * A patch on the tree: all of it or nothing.
 *
 * git applies it, in a jail, to an overlay of the tree: the tree is only read meanwhile, and a patch that leads out of it, through a link or
 * into .git is refused by git, and held by the jail. What git has changed is kept as a set of changes beside the tree. Then
 * each new content changes places with the old one, in one step, and what came out is compared with what git has read: if a program has
 * changed it in between, or a later file fails, everything changes back. A journal is on the disk meanwhile: if this process dies, who
 * comes next changes everything back.
 *
 * A file that was there keeps the permissions it had, except that git says whether it is executable; so a private file stays private.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "rootfs/changes/changes.h"
#include "rootfs/rootfs.h"
#include "runtime/warder.h"
#include "store/jailed.h"
#include "store/workspaces/patch_text.h"
#include "store/workspaces/private.h"

struct patching {
	struct workspace *workspace;
	int strip;
	char set[STORE_NAME_MAX]; /* beside the tree: what git has changed */
	struct changes changes;
	struct patch_pairs pairs;
	struct patch_said said;
	struct journal_entry *entries; /* in the order of the exchanges; beside each its change */
	const struct changes_item **items;
	size_t count;
	struct warder_error *err;
};

static int failed(struct patching *p, const char *path, const char *what)
{
	char shown[200];

	return error_set_errno(p->err, WARDER_ERROR_UNAVAILABLE, "patch", errno, "%s %s",
			       json_quote(path, shown, sizeof(shown)), what);
}

static int conflict(struct patching *p, const char *path)
{
	char shown[200];

	return error_set(p->err, WARDER_ERROR_CONFLICT, "patch",
			 "%s was changed by another process at the same time; nothing was changed",
			 json_quote(path, shown, sizeof(shown)));
}

/* ---- git ---- */

/* A read-only input lies beside the tree, so that git does not see its content. */
static int check_inputs(struct patching *p)
{
	struct workspace_metadata metadata;
	int status = 0;

	if (workspace_metadata_load(p->workspace, &metadata, p->err) != 0)
		return p->err->sys_errno == ENOENT ? 0 : -1;
	for (size_t i = 0; i < metadata.input_count && status == 0; i++) {
		const struct workspace_input *input = &metadata.inputs[i];
		const size_t len = strlen(input->dst);

		for (size_t j = 0; j < p->said.name_count && status == 0 && input->read_only; j++) {
			const char *name = p->said.names[j];

			if (strncmp(name, input->dst, len) == 0 &&
			    (!name[len] || name[len] == '/' || strncmp(name + len, " => ", 4) == 0))
				status = error_set(
				    p->err, WARDER_ERROR_CONFLICT, "patch",
				    "%.200s is, or leads to, the read-only input %.200s; stage another one "
				    "there; nothing was changed",
				    name, input->dst);
		}
	}
	workspace_metadata_done(&metadata);
	return status;
}

static int read_end(struct patching *p, const struct warder_result *result)
{
	const int status = warder_result_exit_code(result);
	uint64_t total;
	size_t len;
	const char *text = warder_result_output(result, WARDER_STDERR, &len, &total);

	if (patch_read_said(text ? text : "", text ? len : 0, &p->said, p->err) != 0 || check_inputs(p) != 0)
		return -1;
	if (status == 0)
		return 0;
	if (status < 0)
		return error_set(p->err, WARDER_ERROR_UNAVAILABLE, "patch",
				 "git was ended by a limit (%s) before it had applied the patch; nothing was "
				 "changed",
				 warder_result_cause(result));
	/* 1: the files are not as the patch says; 128: this is no patch. */
	return error_set(p->err, status == 1 ? WARDER_ERROR_CONFLICT : WARDER_ERROR_INVALID_REQUEST, "patch",
			 "git cannot apply it: %s; nothing was changed",
			 p->said.fault[0] ? p->said.fault : "it does not say why");
}

/* GIT_DIR: a repository in the tree, its configuration and its attributes say nothing. */
static int run_git(struct patching *p, const char *text, size_t len)
{
	char strip[16], overlay[PATH_MAX + 16], set[PATH_MAX];
	const char *const argv[] = { "git", "apply", "--verbose", "--whitespace=nowarn", strip, "-", NULL };
	const char *const environment[] = { "GIT_DIR=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null",
					    "GIT_CONFIG_NOSYSTEM=1", NULL };
	const struct workspace *workspace = p->workspace;
	const struct store_task task = { .field = "patch",
					 .workspace = overlay,
					 .argv = argv,
					 .environment = environment,
					 .input = text,
					 .input_len = len,
					 .changes_directory = set };
	struct warder_result *result = NULL;
	int status;

	snprintf(strip, sizeof(strip), "-p%d", p->strip);
	snprintf(overlay, sizeof(overlay), "overlay:%s", workspace->path);
	snprintf(set, sizeof(set), "%.*s/%s", workspace_own_length(workspace), workspace->path, p->set);
	status = store_run_jailed(&task, &result, p->err);
	if (status == 0)
		status = read_end(p, result);
	warder_result_free(result);
	return status;
}

static int read_changes(struct patching *p)
{
	char name[STORE_NAME_MAX + 16];
	owned_fd int fd = -1;
	char *text = NULL;
	size_t len;
	int status;

	snprintf(name, sizeof(name), "%s/record.json", p->set);
	fd = openat(p->workspace->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return failed(p, name, "cannot be read");
	status = file_read_open(fd, name, CHANGES_TEXT_BYTES, &text, &len, p->err);
	if (status == 0)
		status = changes_decode(text, len, name, &p->changes, p->err);
	free(text);
	if (status == 0 && p->changes.fault[0])
		return error_set(p->err, WARDER_ERROR_UNAVAILABLE, "patch",
				 "the changes of git cannot be applied (%s); nothing was changed",
				 p->changes.fault);
	return status;
}

/* ---- the new content ---- */

static bool is_executable(uint32_t mode)
{
	return (mode & 0100) != 0;
}

/* Of the file that was there, except for what git knows of modes: whether it is executable. */
static mode_t mode_of(const struct changes_item *item)
{
	const mode_t was = item->was.mode & 0777;

	if (!item->existed || !S_ISREG(item->was.mode))
		return is_executable(item->mode) ? 0755 : 0644;
	if (is_executable(item->mode) == is_executable(was))
		return was;
	return is_executable(item->mode) ? was | ((was & 0444) >> 2) : was & 0666;
}

/* Whether this is what git has seen. A rename changes the change time, and a directory's changes when its files go. */
static bool is_original(const struct changes_item *item, const struct stat *st)
{
	if (st->st_ino != item->was.inode || st->st_mode != item->was.mode)
		return false;
	return S_ISDIR(st->st_mode) || ((uint64_t)st->st_size == item->was.size &&
					clock_nanoseconds(&st->st_mtim) == item->was.modified_ns);
}

/* The owner of what it takes the place of; of what is new, the caller. */
static int give_owner(struct patching *p, const struct changes_item *item, const char *name)
{
	char plain[PATH_MAX];
	const char *last;
	struct stat st;

	if (!item->existed || geteuid() != 0)
		return 0;
	owned_fd int parent_fd = workspace_any_parent(p->workspace, item->path, false, plain, &last, p->err);

	if (parent_fd < 0)
		return -1;
	if (fstatat(parent_fd, last, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    fchownat(p->workspace->dir_fd, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) != 0)
		return failed(p, item->path, "cannot be written");
	return 0;
}

/* Beside the tree, as it will be; the change has a content that git's set keeps, a text of a link, or is an empty directory. */
static int make_new(struct patching *p, const struct changes_item *item, const char *name)
{
	const int own_fd = p->workspace->dir_fd;
	char saved[24], from[STORE_NAME_MAX + 40];
	owned_fd int fd = -1;

	if (item->type == CHANGE_DIRECTORY)
		return mkdirat(own_fd, name, 0755) == 0 && fchmodat(own_fd, name, 0755, 0) == 0
			   ? 0
			   : failed(p, item->path, "cannot be made");
	if (item->type == CHANGE_SYMLINK)
		return symlinkat(item->target, own_fd, name) == 0 ? give_owner(p, item, name)
								  : failed(p, item->path, "cannot be made");
	snprintf(from, sizeof(from), "%s/files/%s", p->set, changes_saved_name(item->saved, saved));
	if (item->type != CHANGE_FILE || renameat2(own_fd, from, own_fd, name, RENAME_NOREPLACE) != 0)
		return failed(p, item->path, "cannot be written");
	fd = openat(own_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, mode_of(item)) != 0 || fsync(fd) != 0)
		return failed(p, item->path, "cannot be written");
	return give_owner(p, item, name);
}

static int prepare(struct patching *p, const struct changes_item *item)
{
	struct journal_entry *entry = &p->entries[p->count];
	struct stat st;

	if (item->existed && item->was.moved)
		return conflict(p, item->path);
	entry->what = item->kind == CHANGE_ADDED ? 'A' : item->kind == CHANGE_REMOVED ? 'D' : 'M';
	entry->path = item->path;
	entry->old_inode = item->existed ? item->was.inode : 0;
	store_new_name(".new-", entry->name);
	p->items[p->count++] = item;
	if (item->kind == CHANGE_REMOVED)
		return 0;
	if (make_new(p, item, entry->name) != 0)
		return -1;
	if (fstatat(p->workspace->dir_fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return failed(p, item->path, "cannot be written");
	entry->new_inode = st.st_ino;
	return 0;
}

/* What goes, from the end of the list, so that directories are empty by then; then what comes, from its beginning. git keeps no modes of
 * directories: one that is only changed stays. */
static int prepare_all(struct patching *p)
{
	const struct changes *changes = &p->changes;

	p->entries = calloc(changes->count + 1, sizeof(*p->entries));
	p->items = calloc(changes->count + 1, sizeof(*p->items));
	if (!p->entries || !p->items)
		return error_no_memory(p->err, "patch");
	for (size_t i = changes->count; i-- > 0;)
		if (changes->items[i].kind == CHANGE_REMOVED && prepare(p, &changes->items[i]) != 0)
			return -1;
	for (size_t i = 0; i < changes->count; i++) {
		const struct changes_item *item = &changes->items[i];

		if (item->kind == CHANGE_REMOVED ||
		    (item->kind == CHANGE_CHANGED && item->type == CHANGE_DIRECTORY))
			continue;
		if (prepare(p, item) != 0)
			return -1;
	}
	return 0;
}

/* ---- the exchange ---- */

static bool is_empty(int parent_fd, const char *name)
{
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	size_t count = 0;

	if (!dir) {
		fd_done(&fd);
		return false;
	}
	while (count <= 2 && readdir(dir))
		count++;
	closedir(dir);
	return count == 2;
}

static int move(struct patching *p, size_t i, int parent_fd, const char *name)
{
	const struct journal_entry *entry = &p->entries[i];
	const struct changes_item *item = p->items[i];
	const int own_fd = p->workspace->dir_fd;
	struct stat now;

	if (entry->what == 'A')
		return renameat2(own_fd, entry->name, parent_fd, name, RENAME_NOREPLACE) == 0
			   ? 0
			   : failed(p, item->path, "cannot be made");
	if (entry->what == 'D' ? renameat2(parent_fd, name, own_fd, entry->name, RENAME_NOREPLACE) != 0
			       : renameat2(own_fd, entry->name, parent_fd, name, RENAME_EXCHANGE) != 0)
		return failed(p, item->path, "cannot be changed");
	if (fstatat(own_fd, entry->name, &now, AT_SYMLINK_NOFOLLOW) != 0 || !is_original(item, &now) ||
	    (S_ISDIR(now.st_mode) && !is_empty(own_fd, entry->name)))
		return conflict(p, item->path);
	return 0;
}

static int exchange(struct patching *p, size_t i)
{
	char plain[PATH_MAX];
	const char *name;
	owned_fd int parent_fd =
	    workspace_parent(p->workspace, p->entries[i].path, false, plain, &name, p->err);

	if (parent_fd < 0 || move(p, i, parent_fd, name) != 0)
		return -1;
	return store_sync(parent_fd, "patch", p->err);
}

static int exchange_all(struct patching *p)
{
	struct journal journal = JOURNAL_NONE;
	int status = journal_begin(p->workspace, p->entries, p->count, &journal, p->err);
	bool stuck = false;

	for (size_t i = 0; i < p->count && status == 0; i++)
		status = exchange(p, i);
	if (status != 0 && journal.name[0])
		stuck = journal_undo(p->workspace, p->entries, p->count) != 0;
	/* With the journal still there, who comes next tries again to take everything back. */
	if (stuck)
		journal.name[0] = '\0';
	if (journal_end(p->workspace, &journal) != 0 && status == 0)
		return error_set_errno(p->err, WARDER_ERROR_UNAVAILABLE, "patch", errno,
				       "its journal cannot be removed; the next command takes it back");
	for (size_t i = 0; i < p->count && !stuck; i++)
		rootfs_remove_tree(p->workspace->dir_fd, p->entries[i].name);
	p->count = stuck ? 0 : p->count;
	return status;
}

/* ---- the report ---- */

static const struct patch_pair *pair_to(const struct patching *p, const char *path)
{
	for (size_t i = 0; i < p->pairs.count; i++)
		if (strcmp(p->pairs.items[i].to, path) == 0)
			return &p->pairs.items[i];
	return NULL;
}

static bool is_removed(const struct patching *p, const char *path)
{
	for (size_t i = 0; i < p->changes.count; i++)
		if (p->changes.items[i].kind == CHANGE_REMOVED && strcmp(p->changes.items[i].path, path) == 0)
			return true;
	return false;
}

/* Whether a file is removed because it is renamed: the line of its new name reports it. */
static bool is_renamed_away(const struct patching *p, const char *path)
{
	for (size_t i = 0; i < p->pairs.count; i++)
		if (!p->pairs.items[i].is_copy && strcmp(p->pairs.items[i].from, path) == 0)
			return true;
	return false;
}

static uint32_t git_mode(enum change_type type, uint32_t mode)
{
	return type == CHANGE_SYMLINK ? 0120000 : is_executable(mode) ? 0100755 : 0100644;
}

static int report_one(const struct patching *p, const struct changes_item *item,
		      struct workspace_patched *ret)
{
	const struct patch_pair *pair = item->kind == CHANGE_ADDED ? pair_to(p, item->path) : NULL;
	const uint32_t mode = git_mode(item->type, item->mode);

	if (pair && !pair->is_copy && !is_removed(p, pair->from))
		pair = NULL;
	ret->what = pair && pair->is_copy          ? 'C'
		    : pair                         ? 'R'
		    : item->kind == CHANGE_ADDED   ? 'A'
		    : item->kind == CHANGE_REMOVED ? 'D'
						   : 'M';
	if (item->kind == CHANGE_ADDED
		? !pair
		: item->kind == CHANGE_CHANGED &&
		      mode !=
			  git_mode(S_ISLNK(item->was.mode) ? CHANGE_SYMLINK : CHANGE_FILE, item->was.mode))
		ret->mode = mode;
	ret->path = strdup(item->path);
	ret->from = pair ? strdup(pair->from) : NULL;
	return ret->path && (!pair || ret->from) ? 0 : -1;
}

/* "a", or of a pair "a => b". */
static bool is_of(const struct patch_hunk *hunk, const struct workspace_patched *file)
{
	const size_t len = file->from ? strlen(file->from) : 0;

	if (!file->from)
		return strcmp(hunk->name, file->path) == 0;
	return strncmp(hunk->name, file->from, len) == 0 &&
	       (!hunk->name[len] ||
		(strncmp(hunk->name + len, " => ", 4) == 0 && strcmp(hunk->name + len + 4, file->path) == 0));
}

static int report_hunks(const struct patching *p, struct workspace_patched *file)
{
	file->moved = calloc(p->said.hunk_count + 1, sizeof(*file->moved));
	if (!file->moved)
		return -1;
	for (size_t i = 0; i < p->said.hunk_count; i++) {
		const struct patch_hunk *hunk = &p->said.hunks[i];

		if (is_of(hunk, file))
			file->moved[file->moved_count++] =
			    (struct workspace_moved_hunk){ hunk->number, hunk->line, hunk->offset };
	}
	return 0;
}

static int report(struct patching *p, struct workspace_patch_report *ret)
{
	int status = 0;

	ret->files = calloc(p->changes.count + 1, sizeof(*ret->files));
	if (!ret->files)
		status = -1;
	for (size_t i = 0; i < p->changes.count && status == 0; i++) {
		const struct changes_item *item = &p->changes.items[i];

		if (item->type == CHANGE_DIRECTORY ||
		    (item->kind == CHANGE_REMOVED && is_renamed_away(p, item->path)))
			continue;
		status = report_one(p, item, &ret->files[ret->count++]);
		if (status == 0)
			status = report_hunks(p, &ret->files[ret->count - 1]);
	}
	if (status != 0)
		return error_no_memory(p->err, NULL);
	ret->warnings = p->said.warnings;
	ret->warning_count = p->said.warning_count;
	p->said.warnings = NULL;
	p->said.warning_count = 0;
	return 0;
}

void workspace_patch_report_done(struct workspace_patch_report *report)
{
	for (size_t i = 0; i < report->count; i++) {
		free(report->files[i].path);
		free(report->files[i].from);
		free(report->files[i].moved);
	}
	for (size_t i = 0; i < report->warning_count; i++)
		free(report->warnings[i]);
	free(report->files);
	free(report->warnings);
	*report = (struct workspace_patch_report){ 0 };
}

/* The report is made before the exchange: once that is done, nothing fails. */
static int patch(struct patching *p, const char *text, size_t len, bool check,
		 struct workspace_patch_report *ret)
{
	if (run_git(p, text, len) != 0 || read_changes(p) != 0 ||
	    patch_read_pairs(text, len, p->strip, &p->pairs, p->err) != 0 || report(p, ret) != 0 ||
	    prepare_all(p) != 0)
		return -1;
	return check ? 0 : exchange_all(p);
}

int workspace_patch(struct workspace *workspace, const char *text, size_t len, int strip, bool check,
		    struct workspace_patch_report *ret, struct warder_error *err)
{
	struct patching p = { .workspace = workspace, .strip = strip, .err = err };
	struct workspace_patch_report report = { 0 };
	int status;

	if (len > PATCH_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "patch", "it is larger than 16 MiB");
	if (strip < 0 && (p.strip = patch_strip(text, len)) < 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "strip",
				 "the first file's header does not show whether its paths begin with "
				 "prefixes such as a/ and "
				 "b/; give --strip 1 if they do, --strip 0 if not; nothing was changed");
	store_new_name(".new-", p.set);
	status = patch(&p, text, len, check, &report);
	for (size_t i = 0; i < p.count && (status != 0 || check); i++)
		rootfs_remove_tree(workspace->dir_fd, p.entries[i].name);
	rootfs_remove_tree(workspace->dir_fd, p.set);
	changes_done(&p.changes);
	patch_pairs_done(&p.pairs);
	patch_said_done(&p.said);
	free(p.entries);
	free(p.items);
	if (status == 0)
		*ret = report;
	else
		workspace_patch_report_done(&report);
	return status;
}
