/*
 * private: what the files of this folder share.
 */
#ifndef WARDER_STORE_WORKSPACES_PRIVATE_H
#define WARDER_STORE_WORKSPACES_PRIVATE_H

#include "store/workspaces/workspaces.h"

/* Make what is missing of the layout, and of the metadata. */
int workspace_layout(struct workspace *workspace, struct warder_error *err);
/* Whether a path is that of the tree itself: "" or ".". */
bool workspace_is_tree(const char *path);
/* An error without a field is about "path". Returns -1. */
int workspace_name_path(struct warder_error *err);
/* As workspace_parent(), also for what a read-only input is mounted on. */
int workspace_any_parent(struct workspace *workspace, const char *path, bool make, char *plain,
			 const char **ret_name, struct warder_error *err);
/* Out of the tree with it, and away: a name in an open directory. */
int workspace_delete_in(struct workspace *workspace, int parent_fd, const char *name,
			struct warder_error *err);
/* The lock of the runs, which says whether one is on: shared by each; how LOCK_EX | LOCK_NB: by who changes what is mounted. It is held until
 * workspace_done(), and by what inherits the descriptor. CONFLICT: a run is on. */
int workspace_lock_runs(struct workspace *workspace, int how, struct warder_error *err);
/* Open a place of the host, no link in any component. */
int workspace_open_host(const char *path, uint64_t flags, struct warder_error *err);
/* Open what a run would see at a path of the tree (plain): of a read-only input what is mounted there, else what the tree has. */
int workspace_seen(struct workspace *workspace, const char *path, uint64_t flags, struct warder_error *err);
/* Where the content of a read-only input lies, relative to the workspace's own directory; buf has STORE_NAME_MAX + 8 bytes. Returns buf. */
char *workspace_input_path(const char *dst, char *buf);
/* Copy a directory into another one that is empty: files, directories, links as they are. `readable`: by everybody. */
int workspace_copy_tree(int from_fd, int to_fd, bool readable, struct warder_error *err);
/* Copy what one descriptor gives to the other, up to its end. 0; -1 with errno. */
int workspace_copy_bytes(int from_fd, int to_fd);
/* Copy what fd gives into a new file of the workspace's own directory. */
int workspace_copy_file(struct workspace *workspace, int fd, const char *name, uint32_t mode,
			struct warder_error *err);
/* What an input is mounted on: an empty file or directory of the tree, reached without a link. CONFLICT: there is something else. */
int workspace_placeholder(struct workspace *workspace, const char *dst, bool is_directory,
			  struct warder_error *err);
/* The workspace's own directory on the host is this much of workspace->path: that of the tree without its last component. */
int workspace_own_length(const struct workspace *workspace);

/* ---- git in a jail: git.c ---- */
/* Clone a repository of the host or of a server, in a jail, as the directory `name` of the workspace's own directory. */
int workspace_clone(struct workspace *workspace, const struct workspace_source *source, const char *name,
		    struct warder_error *err);

/* ---- the journal of a patch: journal.c ---- */
struct journal_entry {
	char what; /* 'M' changed, 'A' added, 'D' deleted; a directory is added or deleted empty */
	char name
	    [STORE_NAME_MAX]; /* beside the tree: of the new content, or after the exchange of the old one */
	uint64_t new_inode, old_inode; /* 0: there is none */
	const char *path;              /* in the tree; borrowed */
};

struct journal {
	char name[STORE_NAME_MAX]; /* "": none */
	int fd;                    /* holds its lock */
};

#define JOURNAL_NONE ((struct journal){ .fd = -1 })

/* On the disk before anything is exchanged, in the order in which the exchanges will be made; held until journal_end(). -1 with *err. */
int journal_begin(struct workspace *workspace, const struct journal_entry *entries, size_t count,
		  struct journal *ret, struct warder_error *err);
/* Take back, the last one first, what of the entries was exchanged. 0; -1: something could not be reached. */
int journal_undo(struct workspace *workspace, const struct journal_entry *entries, size_t count);
/* All is exchanged, or taken back. -1 with errno: it is still there, and who comes next takes everything back. */
int journal_end(struct workspace *workspace, struct journal *journal);
/* Take back what patches have exchanged whose process died before their end. To be called when the workspace is opened, before what the dead have
 * left is removed. 0; -1: something could not be reached, and is tried again the next time. */
int journal_recover(struct workspace *workspace);

#endif
