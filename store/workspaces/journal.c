/*
 * journal: what a patch of several files is about to exchange, on the disk before the first one changes places. Whoever dies in between
 * leaves it behind, with its lock free; who comes next takes everything back that was exchanged: the patch was acknowledged to nobody.
 *
 * It lies in the workspace's own directory, which no jail sees, as ".patch-<16 hex>": a line for each file with M, A or D, the name of the
 * content beside the tree, the inode numbers of the new and of the old content (0: none) and the length of the path, which
 * follows; at the end a line "end". The last exchange stands first: in that order they are taken back. A content is known again by its inode: so it shows which files had been exchanged, and what
 * somebody else has put in a place since then is left alone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "rootfs/rootfs.h"
#include "store/workspaces/private.h"

#define JOURNAL_MOST ((size_t)64 << 20)

static const char prefix[] = ".patch-";

/* ---- writing ---- */

static char *encode(const struct journal_entry *entries, size_t count, size_t *ret_len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);

	if (!out)
		return NULL;
	for (size_t i = count; i-- > 0;)
		fprintf(out, "%c %s %" PRIu64 " %" PRIu64 " %zu %s\n", entries[i].what, entries[i].name,
			entries[i].new_inode, entries[i].old_inode, strlen(entries[i].path), entries[i].path);
	fputs("end\n", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

int journal_begin(struct workspace *workspace, const struct journal_entry *entries, size_t count,
		  struct journal *ret, struct warder_error *err)
{
	char temporary[STORE_NAME_MAX];
	owned_fd int fd = workspace_new_file(workspace, temporary, err);
	size_t len = 0;
	char *text = fd >= 0 ? encode(entries, count, &len) : NULL;
	int status = -1;

	if (fd < 0)
		return -1;
	store_new_name(prefix, ret->name);
	/* It has its lock before it has its name. */
	if (!text)
		error_no_memory(err, "patch");
	else if (flock(fd, LOCK_EX) != 0 || file_write_all(fd, text, len) != 0 || fsync(fd) != 0 ||
		 renameat(workspace->dir_fd, temporary, workspace->dir_fd, ret->name) != 0 ||
		 fsync(workspace->dir_fd) != 0)
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "patch", errno,
				"its journal cannot be written");
	else
		status = 0;
	free(text);
	if (status != 0) {
		unlinkat(workspace->dir_fd, temporary, 0);
		unlinkat(workspace->dir_fd, ret->name, 0);
		ret->name[0] = '\0';
		return -1;
	}
	ret->fd = fd_take(&fd);
	return 0;
}

int journal_end(struct workspace *workspace, struct journal *journal)
{
	int status = 0;

	if (journal->name[0] &&
	    (unlinkat(workspace->dir_fd, journal->name, 0) != 0 || fsync(workspace->dir_fd) != 0))
		status = -1;
	fd_done(&journal->fd);
	journal->name[0] = '\0';
	return status;
}

/* ---- taking back ---- */

/* The next line of the text at *at, which is moved behind it; its path is the caller's buffer. 1; 0: the end; -1: that is no journal. */
static int next_entry(const char **at, const char *end, struct journal_entry *ret, char path[static PATH_MAX])
{
	unsigned long long new_inode, old_inode;
	size_t len;
	int used = 0;

	if (end - *at == 4 && memcmp(*at, "end\n", 4) == 0)
		return 0;
	if (sscanf(*at, "%c %63s %llu %llu %zu%n", &ret->what, ret->name, &new_inode, &old_inode, &len,
		   &used) != 5 ||
	    len >= PATH_MAX || (size_t)(end - *at) < (size_t)used + 1 + len + 1 ||
	    (*at)[(size_t)used + 1 + len] != '\n' || strchr(ret->name, '/'))
		return -1;
	memcpy(path, *at + used + 1, len);
	path[len] = '\0';
	ret->path = path;
	ret->new_inode = new_inode;
	ret->old_inode = old_inode;
	*at += (size_t)used + 1 + len + 1;
	return 1;
}

static uint64_t inode_of(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_ino : 0;
}

/* Added files move beside the tree again. An added directory is removed, unless another process has put something into it. */
static void take_out(struct workspace *workspace, const struct journal_entry *entry, int parent_fd,
		     const char *name)
{
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) != 0 && errno == ENOTDIR)
		renameat2(parent_fd, name, workspace->dir_fd, entry->name, RENAME_NOREPLACE);
}

/* One file, if it had been exchanged. -1: it cannot be reached now. */
static int take_back(struct workspace *workspace, const struct journal_entry *entry)
{
	const int own_fd = workspace->dir_fd;
	const uint64_t beside = inode_of(own_fd, entry->name);
	struct warder_error ignored;
	char plain[PATH_MAX];
	const char *name;
	owned_fd int parent_fd = -1;
	uint64_t there;

	if (entry->what == 'A' ? beside != 0 : beside != entry->old_inode)
		return 0; /* it had not */
	parent_fd = workspace_any_parent(workspace, entry->path, false, plain, &name, &ignored);
	if (parent_fd < 0)
		return ignored.sys_errno == ENOENT ? 0 : -1;
	there = inode_of(parent_fd, name);
	if (entry->what == 'D' && !there)
		renameat2(own_fd, entry->name, parent_fd, name, RENAME_NOREPLACE);
	else if (entry->what == 'A' && there == entry->new_inode)
		take_out(workspace, entry, parent_fd, name);
	else if (entry->what == 'M' && there == entry->new_inode)
		renameat2(own_fd, entry->name, parent_fd, name, RENAME_EXCHANGE);
	return fsync(parent_fd);
}

int journal_undo(struct workspace *workspace, const struct journal_entry *entries, size_t count)
{
	int status = 0;

	for (size_t i = count; i-- > 0;) {
		if (take_back(workspace, &entries[i]) != 0)
			status = -1;
	}
	return status;
}

/* `act` for each entry. -1: the journal is damaged, or act failed. */
static int each_entry(struct workspace *workspace, const char *text, size_t len,
		      int (*act)(struct workspace *workspace, const struct journal_entry *entry))
{
	const char *at = text;
	struct journal_entry entry;
	char path[PATH_MAX];
	int more, status = 0;

	while ((more = next_entry(&at, text + len, &entry, path)) > 0) {
		if (act(workspace, &entry) != 0)
			status = -1;
	}
	return more < 0 ? -1 : status;
}

static int drop_content(struct workspace *workspace, const struct journal_entry *entry)
{
	rootfs_remove_tree(workspace->dir_fd, entry->name);
	return 0;
}

/* A journal whose lock is free. 0: nothing is left of it; -1: it has to stay. */
static int recover_one(struct workspace *workspace, const char *name)
{
	owned_fd int fd = openat(workspace->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct warder_error ignored;
	char *text = NULL;
	struct stat st;
	size_t len;
	int status;

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &st) != 0 || st.st_nlink == 0)
		return 0; /* it is at work, or has been taken care of */
	if (file_read_open(fd, name, JOURNAL_MOST, &text, &len, &ignored) != 0)
		return -1;
	status = each_entry(workspace, text, len, take_back);
	if (status == 0) {
		each_entry(workspace, text, len, drop_content);
		status = unlinkat(workspace->dir_fd, name, 0) == 0 ? fsync(workspace->dir_fd) : -1;
		snprintf(workspace->mended, sizeof(workspace->mended),
			 "a patch was interrupted, and is taken back");
	}
	free(text);
	return status;
}

int journal_recover(struct workspace *workspace)
{
	int fd = openat(workspace->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *item;
	int status = 0;

	if (!dir) {
		fd_done(&fd);
		return -1;
	}
	while ((item = readdir(dir)) != NULL) {
		if (strncmp(item->d_name, prefix, sizeof(prefix) - 1) == 0 &&
		    recover_one(workspace, item->d_name) != 0)
			status = -1;
	}
	closedir(dir);
	return status;
}
