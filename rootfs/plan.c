/*
 * From a policy's filesystem part to a list of entries that a builder can carry out without thinking:
 * sorted, every parent present, nothing twice, nothing made beneath a mount.
 *
 * Order of the work: the view, the jail's own directories, the workspace, the paths. A path replaces what
 * the view has at its place and below (a builder that made the view's /etc/passwd after the host's /etc
 * was mounted read-write would write into the host). Then what is already visible is dropped, mount points
 * beneath other mounts are looked at, parents are added, and the working directory is checked against the
 * finished list. The directories on the way to what is read-only in a writable bind are held: mounted on themselves.
 *
 * A path of a policy is seen inside at its target, or without one under its canonical name. When it was named through a link, a link of
 * that name is made as well, as far as the place is in the root's own tmpfs. A target that nothing has is made in that tmpfs, in the
 * jail's /tmp or in an overlay, never on the host: where a read-only bind lies over it, that is taken apart.
 *
 * Everything is checked through descriptors, and device and inode go into the entry: rootfs_open() refuses
 * anything else that is found under the name by then.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/compose.h"
#include "base/json.h"
#include "rootfs/entries.h"
#include "rootfs/layers.h"
#include "rootfs/path.h"

#define SHOWN     96
#define LINKS_MAX 8 /* followed from one link of the list to another */

static const char workspace_field[] = "filesystem.workspace";
static const char view_field[] = "filesystem.view";
static const char paths_field[] = "filesystem.paths";
static const char working_directory_field[] = "workingDirectory";
static const char workspace_target[] = "/workspace";

static int open_root(struct warder_error *err)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot open /");
	return fd;
}

/* ---- workspace ---- */

/* An overlay shows one file system, and what a mount beneath the directory hides would appear in it. */
static int plan_workspace_overlay(struct planning *planning, const struct source *source)
{
	char shown[SHOWN];
	struct rootfs_layer *layer;
	int overlay;

	if (source_has_mount_beneath(planning->mounts, source->path))
		return error_set(
		    planning->err, WARDER_ERROR_INVALID_REQUEST, workspace_field,
		    "%s has another file system mounted beneath it, which an overlay would not show; "
		    "name a directory without",
		    json_quote(source->path, shown, sizeof(shown)));
	overlay = entries_overlay(planning, 1, POLICY_FIELD_WORKSPACE, ROOTFS_OWNERS_USER);
	if (overlay < 0)
		return -1;
	planning->rootfs->overlays[overlay].user_xattrs = geteuid() != 0;
	layer = planning->rootfs->overlays[overlay].layers;
	if (entries_layer(planning, layer, source->path, &source->stat) != 0)
		return -1;
	return entries_part(planning, workspace_target, (size_t)overlay, "/", true) ? 0 : -1;
}

static int plan_workspace(struct planning *planning)
{
	enum policy_workspace mode = planning->policy->filesystem.workspace;
	owned_source struct source source = SOURCE_NONE;
	struct rootfs_entry *entry;

	if (mode == POLICY_WORKSPACE_NONE)
		return 0;
	if (host_path_find(planning, planning->policy->filesystem.workspace_root, workspace_field, &source) !=
	    0)
		return -1;
	if (!S_ISDIR(source.stat.st_mode))
		return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, workspace_field,
				 "%s is not a directory; a single file can be given in filesystem.paths",
				 source.path);
	if (host_path_check_tree(planning, &source, workspace_field) != 0)
		return -1;
	if (mode == POLICY_WORKSPACE_OVERLAY)
		return plan_workspace_overlay(planning, &source);
	entry = entries_bind(planning, workspace_target, &source, POLICY_FIELD_WORKSPACE);
	if (!entry)
		return -1;
	entry->read_only = mode == POLICY_WORKSPACE_READ_ONLY;
	entry->owner_mapped = true;
	return 0;
}

/* ---- paths ---- */

static const char tmp_target[] = "/tmp";

static bool is_below_tmp(const char *path)
{
	return path_within(tmp_target, path) && strcmp(path, tmp_target) != 0;
}

/* Of a path that is seen where it is, or that a link of the view leads to. */
static int check_shown_target(struct planning *planning, const struct source *source, const char *target,
			      const char *field)
{
	const char *fault = policy_target_fault(target);
	char shown[SHOWN];

	if (!fault && strstr(target, ":/"))
		fault = "has a colon before a slash, where a target would begin";
	if (!fault)
		return 0;
	return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, field,
			 "%s %.*s; write SOURCE:/TARGET to show it elsewhere",
			 json_quote(source->path, shown, sizeof(shown)), (int)strcspn(fault, ";"), fault);
}

/* Replace path, of PATH_MAX bytes, by `text` in the place of its first `len` bytes, without "." and "..". */
static bool replace_front(char *path, size_t len, const char *parent, int parent_len, const char *text)
{
	char joined[PATH_MAX];
	size_t used = 0;

	if (snprintf(joined, sizeof(joined), "%.*s/%s%s", parent_len, parent, text, path + len) >=
	    (int)sizeof(joined))
		return false;
	for (const char *at = joined + strspn(joined, "/"); *at; at += strspn(at, "/")) {
		const size_t name = strcspn(at, "/");

		if (name == 2 && at[0] == '.' && at[1] == '.')
			while (used && path[--used] != '/')
				;
		else if (name && !(name == 1 && at[0] == '.')) {
			path[used++] = '/';
			memmove(path + used, at, name);
			used += name;
		}
		at += name;
	}
	if (!used)
		path[used++] = '/';
	path[used] = '\0';
	return true;
}

/*
 * What is mounted beneath a link of the view (/bin, /var/tmp) lies where the link leads; the program finds it by either name. The
 * directories above a link of the list are none, so ".." in its text can be resolved as text.
 */
static int resolve_target(struct planning *planning, char path[PATH_MAX], const char *field)
{
	const struct rootfs *rootfs = planning->rootfs;
	char shown[SHOWN];

	for (int links = 0; links <= LINKS_MAX; links++) {
		const struct rootfs_entry *link = NULL;
		char parent[PATH_MAX];

		for (size_t i = 0; i < rootfs->count && !link; i++)
			if (rootfs->entries[i].kind == ROOTFS_SYMLINK &&
			    path_within(rootfs->entries[i].target, path) &&
			    strcmp(rootfs->entries[i].target, path) != 0)
				link = &rootfs->entries[i];
		if (!link)
			return 0;
		snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(link->target, '/') - link->target),
			 link->text[0] == '/' ? "" : link->target);
		if (!replace_front(path, strlen(link->target), parent, (int)strlen(parent), link->text))
			break;
	}
	return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, field,
			 "the target %s leads through too many links of the view; name the place itself",
			 json_quote(path, shown, sizeof(shown)));
}

/* One object under two names: harmless in one list, a contradiction over both. */
static int check_again(struct planning *planning, const struct rootfs_entry *before,
		       const struct source *source, bool read_only, const char *field)
{
	if (before->source_dev != source->stat.st_dev || before->source_ino != source->stat.st_ino)
		return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, field,
				 "two paths have the target %s; leave one out, or choose another target",
				 before->target);
	if (before->read_only == read_only)
		return 0;
	return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, field,
			 "%s is reached by a path of readOnly and by one of readWrite; leave one out",
			 before->source);
}

/* What the view has at that place and below gives way, and so do links that stand for paths. */
static void make_way(struct rootfs *rootfs, const char *target)
{
	for (size_t i = rootfs->count; i-- > 0;) {
		const struct rootfs_entry *entry = &rootfs->entries[i];
		bool is_view = entry->field == POLICY_FIELD_NONE || entry->field == POLICY_FIELD_VIEW;

		if ((is_view || entry->kind == ROOTFS_SYMLINK) && path_within(target, entry->target))
			entries_remove(rootfs, i);
	}
}

static int check_kind(struct planning *planning, const struct source *source, const char *field)
{
	const mode_t mode = source->stat.st_mode;

	if (S_ISDIR(mode) || S_ISREG(mode))
		return 0;
	return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, field,
			 "%s is neither a directory nor a regular file%s", source->path,
			 S_ISSOCK(mode) || S_ISFIFO(mode) ? "; name the directory that holds it" : "");
}

static int add_path(struct planning *planning, const struct source *source, const char *target,
		    bool read_only, const char *field)
{
	struct rootfs_entry *entry = entries_at(planning->rootfs, target);

	if (check_shown_target(planning, source, target, field) != 0)
		return -1;
	if (entry && entry->field == POLICY_FIELD_PATHS && entry->kind == ROOTFS_BIND)
		return check_again(planning, entry, source, read_only, field);
	make_way(planning->rootfs, target);
	entry = entries_bind(planning, target, source, POLICY_FIELD_PATHS);
	if (!entry)
		return -1;
	entry->read_only = read_only;
	entry->owner_mapped = true;
	return 0;
}

/* A link of the name that the user wrote, where it would be made in our own tmpfs; below /tmp, where no links are made, a mount. */
static int add_alias(struct planning *planning, const struct source *source, const char *name,
		     const char *target, bool read_only, const char *field)
{
	char alias[PATH_MAX];

	snprintf(alias, sizeof(alias), "%s", name);
	if (resolve_target(planning, alias, field) != 0)
		return -1;
	if (strcmp(alias, target) == 0 || policy_target_fault(alias) || strstr(alias, ":/") ||
	    path_within(alias, target) || entries_cover(planning->rootfs, alias, NULL))
		return 0;
	if (is_below_tmp(alias)) {
		if (add_path(planning, source, alias, read_only, field) != 0)
			return -1;
		entries_at(planning->rootfs, alias)->held = true;
		return 0;
	}
	make_way(planning->rootfs, alias);
	if (entries_add(planning, ROOTFS_SYMLINK, alias, target) != 0)
		return -1;
	planning->rootfs->entries[planning->rootfs->count - 1].field = POLICY_FIELD_PATHS;
	return 0;
}

static int plan_path(struct planning *planning, const char *item, bool read_only, const char *field)
{
	const char *given = policy_path_explicit_target(item);
	owned_source struct source source = SOURCE_NONE;
	char path[PATH_MAX], target[PATH_MAX];
	char *normal = NULL;
	int status;

	if (!policy_path_source(item, path))
		return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, field, "%.200s... is too long",
				 item);
	if (host_path_find(planning, path, field, &source) != 0 || check_kind(planning, &source, field) != 0)
		return -1;
	snprintf(target, sizeof(target), "%s", given ? given : source.path);
	if (resolve_target(planning, target, field) != 0 ||
	    check_shown_target(planning, &source, target, field) != 0 ||
	    host_path_check_tree(planning, &source, field) != 0 ||
	    add_path(planning, &source, target, read_only, field) != 0)
		return -1;
	if (given)
		return 0;
	if (host_path_normalise(path, field, &normal, planning->err) != 0)
		return -1;
	status = add_alias(planning, &source, normal, target, read_only, field);
	free(normal);
	return status;
}

static int plan_list(struct planning *planning, const struct policy_strings *list, bool read_only)
{
	char field[72];

	for (size_t i = 0; i < list->count; i++) {
		snprintf(field, sizeof(field), "%s.%s[%zu]", paths_field,
			 read_only ? "readOnly" : "readWrite", i);
		if (plan_path(planning, list->items[i], read_only, field) != 0)
			return -1;
	}
	return 0;
}

/* ---- the list as a whole ---- */

/* Whether the cover shows, at the entry's target, the very object that the entry is a mount of. */
static bool shows_source(const struct rootfs_entry *cover, const struct rootfs_entry *entry)
{
	size_t source_len = strlen(cover->source), target_len = strlen(cover->target);

	return path_within(cover->source, entry->source) &&
	       strcmp(entry->source + source_len, entry->target + target_len) == 0;
}

/* A read-only path that a read-only mount shows already needs no mount of its own. */
static void drop_visible(struct rootfs *rootfs)
{
	for (size_t i = rootfs->count; i-- > 0;) {
		const struct rootfs_entry *entry = &rootfs->entries[i], *cover;

		if (entry->kind != ROOTFS_BIND || entry->field != POLICY_FIELD_PATHS || !entry->read_only)
			continue;
		cover = entries_cover(rootfs, entry->target, entry);
		if (cover && cover->kind == ROOTFS_BIND && cover->read_only && shows_source(cover, entry))
			entries_remove(rootfs, i);
	}
}

/* What lies at a target beneath a mount, which must be of the same kind. 0; 1: there is nothing; -1. */
static int check_mount_point(struct planning *planning, const struct rootfs_entry *cover,
			     const struct rootfs_entry *entry)
{
	const char *rest = entry->target + strlen(cover->target) + 1;
	owned_fd int cover_fd =
	    path_try(planning->root_fd, path_from_root(cover->source), O_PATH, 0, RESOLVE_NO_SYMLINKS);
	owned_fd int fd = -1;
	struct stat st;

	if (cover_fd >= 0)
		fd = path_try(cover_fd, rest, O_PATH, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	if (cover_fd >= 0 && fd < 0 && errno == ENOENT && cover->read_only)
		return 1;
	if (fd < 0 || fstat(fd, &st) != 0)
		return error_set_errno(
		    planning->err, WARDER_ERROR_INVALID_REQUEST, paths_field, errno,
		    "no place to mount %s on: %s has no %s (without a link on the way); create "
		    "it there",
		    entry->target, cover->source, rest);
	if ((bool)S_ISDIR(st.st_mode) != entry->is_directory)
		return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, paths_field,
				 "%s cannot be mounted on %s/%s: one is a directory and the other is not",
				 entry->target, cover->source, rest);
	return 0;
}

static int open_layers(struct planning *planning, const struct rootfs_overlay *overlay, struct layers *ret)
{
	ret->user_xattrs = overlay->user_xattrs;
	for (size_t i = 0; i < overlay->layer_count; i++) {
		int fd = path_try(planning->root_fd, path_from_root(overlay->layers[i].source), O_PATH, 0,
				  RESOLVE_NO_SYMLINKS);

		if (fd < 0)
			return error_set_errno(planning->err, WARDER_ERROR_CONFLICT,
					       policy_field_path(overlay->field), errno, "cannot open %s",
					       overlay->layers[i].source);
		ret->fds[ret->count++] = fd;
	}
	return 0;
}

/* What the overlay of an entry shows at an absolute path inside. 0; 1 with errno: nothing; -1 with *err. */
static int look_into_overlay(struct planning *planning, const struct rootfs_entry *part, const char *path,
			     bool follow, struct stat *ret)
{
	const char *within = part->source[1] ? path : path + strlen(part->target);
	struct layers layers = { .count = 0 };
	int found = open_layers(planning, &planning->rootfs->overlays[part->overlay], &layers);
	size_t layer;
	int saved;

	if (found == 0)
		found = follow ? layers_find(&layers, within, ret, &layer)
			       : layers_lookup(&layers, within + strspn(within, "/"), ret, &layer);
	else
		found = -2;
	saved = errno;
	layers_close(&layers);
	errno = saved;
	return found == -2 ? -1 : found == 0 ? 0 : 1;
}

/* As check_mount_point(), in an overlay. */
static int check_mount_point_in_layers(struct planning *planning, const struct rootfs_entry *cover,
				       const struct rootfs_entry *entry)
{
	struct stat st;
	int found = look_into_overlay(planning, cover, entry->target, false, &st);

	if (found < 0)
		return -1;
	if (found > 0 && errno == ENOENT)
		return 0; /* made where the overlay is written to */
	if (found > 0)
		return error_set_errno(planning->err, WARDER_ERROR_INVALID_REQUEST, paths_field, errno,
				       "no place to mount %s on: there is a link or a file on the way",
				       entry->target);
	if ((bool)S_ISDIR(st.st_mode) != entry->is_directory || S_ISLNK(st.st_mode))
		return error_set(
		    planning->err, WARDER_ERROR_INVALID_REQUEST, paths_field,
		    "%s cannot be mounted: its source and its place must both be directories, or neither",
		    entry->target);
	return 0;
}

static int refuse_names(struct planning *planning, const struct rootfs_entry *cover,
			const struct rootfs_entry *entry)
{
	return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, view_field,
			 "with network.allow the jail needs an %s of its own, but in the view %s is no "
			 "directory; name another view, or leave out network.allow",
			 entry->target, cover->target);
}

/* A file of ours in an overlay, where it takes the place of a file, or of a link. */
static int check_file_in_layers(struct planning *planning, const struct rootfs_entry *cover,
				const struct rootfs_entry *entry)
{
	struct stat st;
	const int found = look_into_overlay(planning, cover, entry->target, false, &st);

	if (found < 0)
		return -1;
	return found > 0 && errno == ENOENT       ? 0
	       : found > 0 || S_ISDIR(st.st_mode) ? refuse_names(planning, cover, entry)
						  : 0;
}

/* 0; 1 with the cover that has to be taken apart; -1. */
static int check_target(struct planning *planning, const struct rootfs_entry *entry,
			struct rootfs_entry **ret_cover)
{
	struct rootfs_entry *cover = entries_cover(planning->rootfs, entry->target, entry);

	*ret_cover = cover;
	if (!cover ||
	    (cover->kind == ROOTFS_BIND && entry->kind == ROOTFS_BIND && shows_source(cover, entry)))
		return 0;
	if (cover->kind == ROOTFS_BIND && cover->is_directory && entry->kind == ROOTFS_BIND)
		return check_mount_point(planning, cover, entry);
	if (cover->kind == ROOTFS_OVERLAY && cover->is_directory && entry->kind == ROOTFS_BIND)
		return check_mount_point_in_layers(planning, cover, entry);
	if (cover->is_directory && entry->kind == ROOTFS_FILE)
		return cover->kind == ROOTFS_BIND ? 1 : check_file_in_layers(planning, cover, entry);
	if (entry->kind == ROOTFS_FILE)
		return refuse_names(planning, cover, entry);
	return error_set(
	    planning->err, WARDER_ERROR_INVALID_REQUEST, paths_field,
	    "%s cannot be shown: the view has a %s at %s; move it elsewhere, or give its directory as "
	    "the workspace",
	    entry->target, cover->kind == ROOTFS_SYMLINK ? "link" : "file", cover->target);
}

/* Mount a directory of a bind on itself: a mount point can be neither moved nor removed in the jail. */
static int hold(struct planning *planning, const char *target, const char *source_path,
		const struct rootfs_entry *cover)
{
	const struct rootfs_entry whole = *cover; /* adding may move what it points to */
	owned_source struct source source = SOURCE_NONE;
	struct rootfs_entry *entry;

	if (host_path_find(planning, source_path, paths_field, &source) != 0)
		return -1;
	if (strcmp(source.path, source_path) != 0 || !S_ISDIR(source.stat.st_mode))
		return error_set(planning->err, WARDER_ERROR_CONFLICT, paths_field,
				 "%s was replaced after it was checked; run it again", source_path);
	entry = entries_bind(planning, target, &source, whole.field);
	if (!entry)
		return -1;
	entry->read_only = false;
	entries_hold(entry, &whole);
	return 0;
}

/* What lies read-only in a bind that can be written to could be replaced by moving a directory above it. */
static int hold_above(struct planning *planning, const char *target)
{
	const struct rootfs_entry *entry = entries_at(planning->rootfs, target);
	const struct rootfs_entry *cover = entries_cover(planning->rootfs, target, entry);
	char parent[PATH_MAX], source[PATH_MAX];

	if (!cover || cover->kind != ROOTFS_BIND || cover->read_only)
		return 0;
	for (const char *slash = strchr(target + strlen(cover->target) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - target), target);
		cover = entries_cover(planning->rootfs, parent, NULL);
		if (snprintf(source, sizeof(source), "%s%s", cover->source, parent + strlen(cover->target)) >=
		    (int)sizeof(source))
			return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, paths_field,
					 "%.200s... is too long", source);
		if (hold(planning, parent, source, cover) != 0)
			return -1;
	}
	return 0;
}

/* The list grows at its end while it is read; what is added there needs nothing more. */
static int hold_all(struct planning *planning)
{
	const size_t count = planning->rootfs->count;

	for (size_t i = 0; i < count; i++) {
		const struct rootfs_entry *entry = &planning->rootfs->entries[i];

		if (entry->kind == ROOTFS_BIND && entry->field == POLICY_FIELD_PATHS &&
		    hold_above(planning, entry->target) != 0)
			return -1;
	}
	return 0;
}

static int check_targets(struct planning *planning)
{
	struct rootfs_entry *cover;

	for (size_t i = 0; i < planning->rootfs->count; i++) {
		const struct rootfs_entry *entry = &planning->rootfs->entries[i];
		const char *field = entry->kind == ROOTFS_FILE ? view_field : paths_field;
		const int checked = check_target(planning, entry, &cover);

		if (checked < 0 || (checked > 0 && view_take_apart(planning, cover, field) != 0))
			return -1;
		if (checked > 0)
			i--; /* what lies above may be one of the pieces, and lack the place as well */
	}
	return 0;
}

/* The directories above a target that are not there yet; none beneath a mount, where they exist. */
static int add_parents(struct planning *planning, const char *target)
{
	char parent[PATH_MAX];

	if (is_below_tmp(target))
		return 0;
	compose(parent, sizeof(parent), target);
	for (char *slash = parent; (slash = strchr(slash + 1, '/')); *slash = '/') {
		*slash = '\0';
		if (entries_cover(planning->rootfs, parent, NULL))
			return 0;
		if (!entries_at(planning->rootfs, parent) &&
		    entries_add(planning, ROOTFS_DIRECTORY, parent, NULL) != 0)
			return -1;
	}
	return 0;
}

/* The list grows at its end while it is read; what is added there has its own parents already. */
static int add_all_parents(struct planning *planning)
{
	size_t count = planning->rootfs->count;

	for (size_t i = 0; i < count; i++) {
		if (add_parents(planning, planning->rootfs->entries[i].target) != 0)
			return -1;
	}
	return 0;
}

/* ---- working directory ---- */

static int refuse_working_directory(struct planning *planning, const char *path, const char *why)
{
	char shown[SHOWN];

	return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, working_directory_field, "%s %s",
			 json_quote(path, shown, sizeof(shown)), why);
}

static int check_beneath_bind(struct planning *planning, const struct rootfs_entry *cover, const char *path)
{
	const char *rest = path + strlen(cover->target);
	char shown[SHOWN], why[160];
	owned_fd int cover_fd =
	    path_try(planning->root_fd, path_from_root(cover->source), O_PATH, 0, RESOLVE_NO_SYMLINKS);
	owned_fd int fd = -1;

	if (cover_fd >= 0)
		fd = path_open_beneath(cover_fd, rest[0] ? rest + 1 : ".", O_PATH | O_DIRECTORY,
				       planning->err);
	if (fd >= 0)
		return 0;
	if (errno == EXDEV)
		return refuse_working_directory(planning, path,
						"leads through a link; name the directory itself");
	if (errno == EACCES && !planning->policy->working_directory && cover->field == POLICY_FIELD_WORKSPACE)
		return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST,
				 policy_field_path(POLICY_FIELD_WORKSPACE),
				 "%s: you may not enter %.80s: permission denied",
				 policy_field_path(POLICY_FIELD_WORKSPACE),
				 json_quote(cover->source, shown, sizeof(shown)));
	if (errno == EACCES) {
		snprintf(why, sizeof(why),
			 "lies in %.80s of the host, which you may not enter: permission denied",
			 json_quote(cover->source, shown, sizeof(shown)));
		return refuse_working_directory(planning, path, why);
	}
	return refuse_working_directory(
	    planning, path, "is not a directory that the jail has; create it, or name another one");
}

static int check_in_overlay(struct planning *planning, const struct rootfs_entry *cover, const char *path)
{
	struct stat st;
	int found = look_into_overlay(planning, cover, path, true, &st);

	if (found < 0)
		return -1;
	if (found > 0 || !S_ISDIR(st.st_mode))
		return refuse_working_directory(planning, path,
						"is not a directory that the jail has; name another one");
	return 0;
}

/* Where a path leads that goes through a link of the list. -1 with *err when the link has ".." in it. */
static int follow(struct planning *planning, const struct rootfs_entry *link, const char *path, char **ret)
{
	const char *name = strrchr(link->target, '/') + 1;
	int parent_len = link->text[0] == '/' ? 0 : (int)(name - link->target);
	char *joined = NULL;
	int status;

	if (asprintf(&joined, "%.*s%s%s", parent_len, link->target, link->text, path + strlen(link->target)) <
	    0)
		return error_no_memory(planning->err, NULL);
	status = path_normalise(joined, ret, planning->err);
	free(joined);
	return status;
}

static int check_working_directory(struct planning *planning, const char *path, int links)
{
	const struct rootfs_entry *entry = entries_at(planning->rootfs, path);
	const struct rootfs_entry *cover = entries_cover(planning->rootfs, path, NULL);
	char *next = NULL;
	int status;

	/* /tmp is empty at first: the jail makes the directory there. */
	if (strcmp(path, "/") == 0 || (path_within(tmp_target, path) && !cover) ||
	    strcmp(path, "/dev/shm") == 0 || (entry && entry->kind == ROOTFS_DIRECTORY))
		return 0;
	if (planning->is_there && cover && (cover->kind == ROOTFS_BIND || cover->kind == ROOTFS_OVERLAY))
		return 0; /* it is entered in the jail, or not */
	if (cover && cover->kind == ROOTFS_BIND)
		return check_beneath_bind(planning, cover, path);
	if (cover && cover->kind == ROOTFS_OVERLAY)
		return check_in_overlay(planning, cover, path);
	if (path_within("/dev", path) || path_within("/proc", path))
		return refuse_working_directory(
		    planning, path,
		    "lies in what the jail makes itself; of that name /dev, /dev/shm, /proc or what is below "
		    "/tmp");
	if (!cover || cover->kind != ROOTFS_SYMLINK)
		return refuse_working_directory(
		    planning, path,
		    "is not in the jail; add it to filesystem.paths, or name another directory");
	if (links == 0 || follow(planning, cover, path, &next) != 0)
		return refuse_working_directory(planning, path,
						"leads through a link; name the directory itself");
	status = check_working_directory(planning, next, links - 1);
	free(next);
	return status;
}

int plan_working_directory(struct planning *planning)
{
	const char *path = planning->policy->working_directory;

	if (!path && entries_at(planning->rootfs, workspace_target))
		path = workspace_target;
	if (!path)
		path = planning->rootfs->image.working_directory;
	if (!path)
		path = "/tmp";
	if (host_path_normalise(path, working_directory_field, &planning->rootfs->working_directory,
				planning->err) != 0)
		return -1;
	return check_working_directory(planning, planning->rootfs->working_directory, LINKS_MAX);
}

/* ---- door ---- */

static int plan_own_entries(struct planning *planning)
{
	static const char *const targets[] = { "/proc", "/dev", "/tmp" };

	for (size_t i = 0; i < ARRAY_LENGTH(targets); i++) {
		if (entries_add(planning, ROOTFS_DIRECTORY, targets[i], NULL) != 0)
			return -1;
	}
	return 0;
}

static int plan_entries(struct planning *planning)
{
	const struct policy_strings *read_only = &planning->policy->filesystem.read_only;
	const struct policy_strings *read_write = &planning->policy->filesystem.read_write;

	if (view_plan(planning) != 0 || plan_own_entries(planning) != 0 || plan_workspace(planning) != 0 ||
	    plan_list(planning, read_only, true) != 0 || plan_list(planning, read_write, false) != 0)
		return -1;
	drop_visible(planning->rootfs);
	if (check_targets(planning) != 0 || hold_all(planning) != 0 || add_all_parents(planning) != 0)
		return -1;
	entries_sort(planning->rootfs);
	return plan_working_directory(planning);
}

int rootfs_plan(const struct policy *policy, struct rootfs *ret, struct warder_error *err)
{
	struct rootfs rootfs = { .scratch_bytes = policy->filesystem.tmp_bytes,
				 .tmp_exec = policy->filesystem.tmp_exec,
				 .terminals = (unsigned int)policy->devices.terminals };
	owned_fd int root_fd = open_root(err);
	struct planning planning = { .policy = policy, .rootfs = &rootfs, .root_fd = root_fd, .err = err };
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int planned;

	if (root_fd < 0)
		return -1;
	if (policy->limits.disk_bytes < rootfs.scratch_bytes)
		rootfs.scratch_bytes = policy->limits.disk_bytes;
	/* The kernel would round up, to more than was granted. */
	rootfs.scratch_bytes -= rootfs.scratch_bytes % page;
	if (!rootfs.scratch_bytes)
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "filesystem.tmp",
				 "filesystem.tmp: less than a page of this host; give at least %llu bytes",
				 (unsigned long long)page);
	planned = plan_entries(&planning);
	free(planning.mounts);
	if (planned != 0) {
		rootfs_done(&rootfs);
		return host_path_name_field(err);
	}
	*ret = rootfs;
	return 0;
}

int rootfs_add(struct rootfs *rootfs, const char *source, const char *target, struct warder_error *err)
{
	static const char field[] = "program";
	owned_fd int root_fd = open_root(err);
	struct planning planning = { .rootfs = rootfs, .root_fd = root_fd, .err = err };
	owned_source struct source found = SOURCE_NONE;
	int status = -1;

	if (root_fd < 0)
		return -1;
	if (entries_cover(rootfs, target, NULL) || entries_at(rootfs, target))
		return error_set(err, WARDER_ERROR_CONFLICT, field, "%s is a place of the policy's view",
				 target);
	if (host_path_find(&planning, source, field, &found) == 0 &&
	    entries_bind(&planning, target, &found, POLICY_FIELD_NONE) && add_parents(&planning, target) == 0)
		status = 0;
	entries_sort(rootfs);
	return status;
}

/* ---- open ---- */

static bool is_planned(const struct rootfs_entry *entry, const struct stat *st)
{
	return entry->source_dev == st->st_dev && entry->source_ino == st->st_ino &&
	       (entry->is_directory ? S_ISDIR(st->st_mode) : S_ISREG(st->st_mode));
}

/* Returns 0; 1 when an optional source is gone; -1. */
static int open_source(struct rootfs_entry *entry, int root_fd, struct warder_error *err)
{
	owned_fd int fd = path_try(root_fd, path_from_root(entry->source), O_PATH, 0,
				   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS);
	const char *field = entry->field < POLICY_FIELD_COUNT ? policy_field_path(entry->field) : NULL;
	struct stat st;

	if (fd < 0 && errno == ENOENT && entry->optional)
		return 1;
	if (fd < 0 && errno != ELOOP)
		return error_set_errno(err, WARDER_ERROR_CONFLICT, field, errno,
				       "%s cannot be opened any more; run it again", entry->source);
	if (fd < 0 || fstat(fd, &st) != 0 || !is_planned(entry, &st))
		return error_set(err, WARDER_ERROR_CONFLICT, field,
				 "%s was replaced after it was checked; run it again", entry->source);
	if (!entry->held) {
		entry->owner_uid = st.st_uid;
		entry->owner_gid = st.st_gid;
	}
	entry->source_fd = fd_take(&fd);
	return 0;
}

/* What the plan has kept open is what it looked at; 1: it has been removed since, and is optional. */
static int is_gone(const struct rootfs_entry *entry)
{
	struct stat st;

	return entry->optional && fstat(entry->source_fd, &st) == 0 && st.st_nlink == 0;
}

static int open_layer(struct rootfs_layer *layer, enum policy_field field, int root_fd,
		      struct warder_error *err)
{
	owned_fd int fd = path_try(root_fd, path_from_root(layer->source), O_PATH | O_DIRECTORY, 0,
				   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || st.st_dev != layer->source_dev || st.st_ino != layer->source_ino)
		return error_set(err, WARDER_ERROR_CONFLICT, policy_field_path(field),
				 "%s was replaced after it was checked; run it again", layer->source);
	layer->owner_uid = st.st_uid;
	layer->owner_gid = st.st_gid;
	layer->source_fd = fd_take(&fd);
	return 0;
}

static int open_all_layers(struct rootfs *rootfs, int root_fd, struct warder_error *err)
{
	for (size_t i = 0; i < rootfs->overlay_count; i++) {
		struct rootfs_overlay *overlay = &rootfs->overlays[i];

		for (size_t j = 0; j < overlay->layer_count; j++)
			if (overlay->layers[j].source_fd < 0 &&
			    open_layer(&overlay->layers[j], overlay->field, root_fd, err) != 0)
				return -1;
	}
	return 0;
}

int rootfs_open(struct rootfs *rootfs, struct warder_error *err)
{
	owned_fd int root_fd = open_root(err);

	if (root_fd < 0)
		return -1;
	for (size_t i = 0; i < rootfs->count; i++) {
		struct rootfs_entry *entry = &rootfs->entries[i];
		int opened = entry->kind != ROOTFS_BIND ? 0
			     : entry->source_fd < 0     ? open_source(entry, root_fd, err)
							: is_gone(entry);

		if (opened < 0)
			return -1;
		if (opened > 0)
			entries_remove(rootfs, i--);
	}
	return open_all_layers(rootfs, root_fd, err);
}
