/*
 * The view of an image: one overlay of its layers, whose parts are what lies at its top. As with a directory, the top level is
 * taken apart, so that our own /proc, /dev and /tmp stand beside the image's directories in a tmpfs of ours; links of the top are
 * copied as text, devices, sockets and pipes are left out.
 *
 * The layers are held by the locks of image_find(), which the plan keeps until rootfs_done().
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "rootfs/entries.h"
#include "rootfs/layers.h"

static const char view_field[] = "filesystem.view";

#define owned_layers __attribute__((cleanup(layers_close)))

static int open_layers(const struct image *image, struct layers *ret, struct warder_error *err)
{
	ret->user_xattrs = geteuid() != 0 || !image->owners_kept;
	for (size_t i = 0; i < image->layer_count; i++) {
		int fd = open(image->layers[i].path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, view_field, errno,
					       "cannot open the layer %s of image %s", image->layers[i].path,
					       image->name);
		ret->fds[ret->count++] = fd;
	}
	return 0;
}

static void leave_out_layer(struct image *image, struct layers *layers, size_t i)
{
	const size_t above = image->layer_count - i - 1;

	free(image->layers[i].path);
	fd_done(&image->layers[i].lock_fd);
	fd_done(&layers->fds[i]);
	memmove(&image->layers[i], &image->layers[i + 1], above * sizeof(*image->layers));
	memmove(&layers->fds[i], &layers->fds[i + 1], above * sizeof(*layers->fds));
	image->layer_count--;
	layers->count--;
}

static bool has_opaque_root(int tree_fd, bool user_xattrs)
{
	owned_fd int fd = openat(tree_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && layers_is_opaque(fd, user_xattrs);
}

static bool is_again_above(const struct image *image, size_t i)
{
	for (size_t j = i + 1; j < image->layer_count; j++) {
		if (strcmp(image->layers[i].digest, image->layers[j].digest) == 0)
			return true;
	}
	return false;
}

/* The same image in layers that the kernel takes: it wants each only once, and the highest of a kind already wins with all
 * that it has; and it heeds the mark of an opaque directory anywhere but at the top of a layer. */
static void simplify(struct image *image, struct layers *layers)
{
	bool hidden = false;

	for (size_t i = image->layer_count; i-- > 0;) {
		const bool opaque = !hidden && has_opaque_root(layers->fds[i], layers->user_xattrs);

		if (hidden || is_again_above(image, i))
			leave_out_layer(image, layers, i);
		hidden |= opaque;
	}
}

static int changed(struct planning *planning, const char *name)
{
	char shown[80];

	return error_set_errno(planning->err, WARDER_ERROR_UNAVAILABLE, view_field, errno,
			       "cannot look at /%s of the image; `warder image verify` checks the image",
			       json_quote(name, shown, sizeof(shown)));
}

static int add_item(struct planning *planning, const struct layers *layers, size_t overlay, const char *name)
{
	char target[NAME_MAX + 2];
	char text[PATH_MAX];
	struct stat st;
	size_t layer;

	snprintf(target, sizeof(target), "/%s", name);
	if (layers_lookup(layers, name, &st, &layer) != 0)
		return errno == ENOENT ? 0 : changed(planning, name); /* whited out */
	if (S_ISLNK(st.st_mode)) {
		if (layers_read_link(layers, layer, name, text, sizeof(text)) != 0)
			return changed(planning, name);
		return entries_add(planning, ROOTFS_SYMLINK, target, text);
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	return entries_part(planning, target, overlay, target, S_ISDIR(st.st_mode)) ? 0 : -1;
}

/* What one layer has at its top, as far as no layer above it had it. *ret_opaque: nothing below counts. */
static int add_layer_items(struct planning *planning, const struct layers *layers, size_t layer,
			   size_t overlay, unsigned int *count, bool *ret_opaque)
{
	owned_directory DIR *dir = top_open(layers->fds[layer], ".");
	const struct dirent *item;
	char target[NAME_MAX + 2];

	if (!dir)
		return changed(planning, "");
	*ret_opaque = layers_is_opaque(dirfd(dir), layers->user_xattrs);
	while ((item = readdir(dir)) != NULL) {
		snprintf(target, sizeof(target), "/%s", item->d_name);
		if (top_leaves_out(item->d_name) || entries_at(planning->rootfs, target))
			continue;
		if (++*count > TOP_MAX)
			return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, view_field,
					 "the image has more than %d entries at its top", TOP_MAX);
		if (top_check_name(planning, item->d_name) != 0 ||
		    add_item(planning, layers, overlay, item->d_name) != 0)
			return -1;
	}
	return 0;
}

static int add_layers(struct planning *planning, const struct layers *layers)
{
	struct image *image = &planning->rootfs->image;
	const enum rootfs_owners owners = image->owners_kept ? ROOTFS_OWNERS_IDS : ROOTFS_OWNERS_ROOT;
	int overlay = entries_overlay(planning, image->layer_count, POLICY_FIELD_VIEW, owners);
	struct rootfs_layer *rows;

	if (overlay < 0)
		return -1;
	planning->rootfs->overlays[overlay].user_xattrs = layers->user_xattrs;
	rows = planning->rootfs->overlays[overlay].layers;
	for (size_t i = 0; i < image->layer_count; i++) {
		struct stat st;

		if (fstat(layers->fds[i], &st) != 0)
			return changed(planning, "");
		if (entries_layer(planning, &rows[i], image->layers[i].path, &st) != 0)
			return -1;
	}
	return overlay;
}

/* Another image may get the name. */
static int look_at_record(struct planning *planning, const char *name)
{
	char path[ROOTFS_PRIVATE_DIR_MAX + 420], encoded[400];
	struct warder_error ignored;
	struct stat st;

	/* What is wrong with it, image_find() tells. */
	if (image_record_name(name, encoded, &ignored) != 0 ||
	    rootfs_store_path(NULL, "images", path, &ignored) != 0)
		return 0;
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "/names/%s", encoded);
	return lstat(path, &st) == 0 ? stale_add(planning, path, true, &st) : 0;
}

int image_view_plan(struct planning *planning)
{
	struct image *image = &planning->rootfs->image;
	owned_layers struct layers layers = { .count = 0 };
	unsigned int count = 0;
	bool opaque = false;
	int overlay;

	if (look_at_record(planning, planning->policy->filesystem.view_source) != 0)
		return -1;
	if (image_find(planning->policy->filesystem.view_source, image, planning->err) != 0) {
		/* As with a directory that is not there: nothing of the program was looked for. */
		if (planning->err->code == WARDER_ERROR_NOT_FOUND)
			planning->err->code = WARDER_ERROR_INVALID_REQUEST;
		snprintf(planning->err->field, sizeof(planning->err->field), "%s", view_field);
		return -1;
	}
	if (image->layer_count == 0)
		return error_set(
		    planning->err, WARDER_ERROR_INVALID_REQUEST, view_field,
		    "the image %s has no layers, so that there is nothing in it; name another one",
		    image->name);
	if (open_layers(image, &layers, planning->err) != 0)
		return -1;
	simplify(image, &layers);
	overlay = add_layers(planning, &layers);
	if (overlay < 0)
		return -1;
	for (size_t i = layers.count; i-- > 0 && !opaque;)
		if (add_layer_items(planning, &layers, i, (size_t)overlay, &count, &opaque) != 0)
			return -1;
	return 0;
}

int rootfs_make_whole(struct rootfs *rootfs, struct warder_error *err)
{
	struct planning planning = { .rootfs = rootfs, .err = err };

	for (size_t i = rootfs->count; i-- > 0;) {
		if (rootfs->entries[i].kind == ROOTFS_BIND ||
		    rootfs->entries[i].field == POLICY_FIELD_WORKSPACE)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, view_field,
					 "an image is built without workspace and paths of the host");
		if (rootfs->entries[i].kind == ROOTFS_FILE)
			return error_set(
			    err, WARDER_ERROR_INVALID_REQUEST, "network.mode",
			    "an image is not built with network.mode \"allow\" or \"learn\", whose "
			    "files for names would stay in the image; use \"none\", \"loopback\" or "
			    "\"host\"");
		if (rootfs->entries[i].kind == ROOTFS_OVERLAY || rootfs->entries[i].kind == ROOTFS_SYMLINK)
			entries_remove(rootfs, i);
	}
	if (!entries_part(&planning, "/", 0, "/", true))
		return -1;
	rootfs->whole = true;
	entries_sort(rootfs);
	return 0;
}

bool image_view_has(const char *name, const char *path, struct stat *ret_stat)
{
	owned_layers struct layers layers = { .count = 0 };
	struct image image = { 0 };
	struct warder_error ignored;
	struct stat st;
	size_t layer;
	bool found;

	found = image_find(name, &image, &ignored) == 0 && open_layers(&image, &layers, &ignored) == 0 &&
		layers_find(&layers, path, &st, &layer) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
	image_done(&image);
	if (found && ret_stat)
		*ret_stat = st;
	return found;
}
