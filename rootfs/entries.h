/*
 * entries: the list of a root's entries while it is planned. Private to rootfs/.
 *
 * Functions that can fail only for want of memory return -1 or NULL with *err (INTERNAL).
 */
#ifndef WARDER_ROOTFS_ENTRIES_H
#define WARDER_ROOTFS_ENTRIES_H

#include <dirent.h>

#include "rootfs/rootfs.h"
#include "rootfs/source.h"

/* What the parts of the plan share. */
struct planning {
	const struct policy *policy;
	struct rootfs *rootfs;
	int root_fd;  /* O_PATH of "/" */
	char *mounts; /* source_mounts(), read when it is first needed */
	struct warder_error *err;
	bool
	    is_there; /* the root is mounted already: what lies in a mount is not looked at by the paths of the host */
};

/* Append; text is NULL for a directory. */
int entries_add(struct planning *planning, enum rootfs_kind kind, const char *target, const char *text);
/* Append a bind, read-only and not optional until the caller changes it. */
struct rootfs_entry *entries_bind(struct planning *planning, const char *target, const struct source *source,
				  enum policy_field field);
/* Mark a bind as part of another entry's source, whose owner and field it has. */
void entries_hold(struct rootfs_entry *entry, const struct rootfs_entry *whole);
/* Begin an overlay of so many layers, to be filled in by entries_layer(). Its number, or -1. */
int entries_overlay(struct planning *planning, size_t layer_count, enum policy_field field,
		    enum rootfs_owners owners);
int entries_layer(struct planning *planning, struct rootfs_layer *layer, const char *path,
		  const struct stat *st);
/* Append a part of an overlay. */
struct rootfs_entry *entries_part(struct planning *planning, const char *target, size_t overlay,
				  const char *path, bool is_directory);
void entries_remove(struct rootfs *rootfs, size_t i);
/* The entry of that target, or NULL. */
struct rootfs_entry *entries_at(const struct rootfs *rootfs, const char *target);
/* The entry that decides what is seen at `target`: of those at or above it that are no empty
 * directories, the lowest, other than `except`. NULL: the root's own tmpfs does. */
struct rootfs_entry *entries_cover(const struct rootfs *rootfs, const char *target,
				   const struct rootfs_entry *except);
void entries_sort(struct rootfs *rootfs);

/* ---- stale.c ---- */
/* Note a path for rootfs_is_stale(), which compares it later. is_read: `found` is of the path itself, from before its content was read.
 * Otherwise `found` is of the object that the path leads to; NULL: it led to nothing. */
int stale_add(struct planning *planning, const char *path, bool is_read, const struct stat *found);

/* ---- view.c ---- */
/* Add the entries of the policy's view. -1 with *err: filesystem.view. */
int view_plan(struct planning *planning);
/* Make a read-only bind of a directory a directory of the root's own, and what lies in it entries of their own. */
int view_take_apart(struct planning *planning, struct rootfs_entry *cover, const char *field);

/* ---- image_view.c ---- */
/* Add the overlay and the entries of view image. -1 with *err: filesystem.view. */
int image_view_plan(struct planning *planning);
/* Whether the image of that name has a program at the path, links followed as in the jail. */
bool image_view_has(const char *name, const char *path, struct stat *ret_stat);

/* ---- top.c ---- */
#define TOP_MAX 128 /* entries at the top of a directory or an image, each of which may be a mount */
/* Whether the jail has a place of its own by that name at the top. */
bool top_leaves_out(const char *name);
/* A newline in the name of a mount point makes mountinfo, messages and receipts ambiguous. */
int top_check_name(struct planning *planning, const char *name);
/* Open a directory for reading, no link in any component. NULL with errno. */
DIR *top_open(int dir_fd, const char *path);
void top_close(DIR **dir);
#define owned_directory __attribute__((cleanup(top_close)))

/* ---- plan.c ---- */
/* Choose and check it, in the finished list. */
int plan_working_directory(struct planning *planning);

/* ---- host_path.c: what holds for every path of the host that a policy names; -1 with *err naming `field` ---- */
/* As path_normalise(). */
int host_path_normalise(const char *path, const char *field, char **ret, struct warder_error *err);
/* Find it. The whole host and the directories that only serve it are refused. */
int host_path_find(struct planning *planning, const char *path, const char *field, struct source *ret);
/* Refuse what lies on the kernel's own file systems, or has one mounted beneath. */
int host_path_check_tree(struct planning *planning, const struct source *source, const char *field);
/* Put the field before a text that does not name it. Returns -1. */
int host_path_name_field(struct warder_error *err);

#endif
