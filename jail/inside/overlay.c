/*
 * The order, for each overlay: its directories in the scratch tmpfs; the layers, attached beside them; the upper directory gets
 * owner and mode of the highest layer's, because the overlay shows the upper one's; the overlay; its parts, cloned out of
 * it and moved to their places. Then all but the parts is unmounted again: the overlay keeps private clones of its layers, with
 * their flags and their map of ids, and a part keeps the overlay.
 *
 * All paths are our own, in a tmpfs that nobody else has seen yet. What an image decides, the names at its top, is only ever the last
 * component, and not followed. Where the overlay lies is shown in the jail's mount table; it says nothing of the host.
 *
 * The supervisor cannot reach the upper directory by any path of the jail, which has none. It is sent a descriptor.
 */
#include "jail/inside/overlay.h"

#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/stat.h>

#include "base/array.h"
#include "jail/inside/message.h"
#include "jail/inside/root.h"
#include "jail/inside/sys.h"
#include "jail/inside/tree.h"

#ifndef O_PATH
#define O_PATH 010000000
#endif
#define MNT_DETACH_ 2
#define O_FLAGS     (O_PATH | 00200000 /* O_DIRECTORY */ | 02000000 /* O_CLOEXEC */)

static const char meeting_point[] = WIRE_SCRATCH "/m";

/* The layer's own mount, at its mount point. */
static long attach_layer(const struct wire_block *block, const struct wire_layer *layer, int *next_fd)
{
	const char *mount_point = WIRE_AT(block, layer->mount_point, const char);
	const int fd = layer->fd >= 0 ? layer->fd : (*next_fd)++;
	long ret = sys(mkdirat, AT_FDCWD, mount_point, 0700);

	if (ret == 0)
		ret = sys(move_mount, fd, "", AT_FDCWD, mount_point, MOVE_MOUNT_F_EMPTY_PATH);
	sys(close, fd);
	return ret;
}

/* As the highest layer's root, as far as its owner can be given. */
static long make_upper(const struct wire_block *block, const char *upper, const char *highest)
{
	struct statx st;
	long ret = sys(statx, AT_FDCWD, highest, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		       STATX_MODE | STATX_UID | STATX_GID, &st);

	if (ret == 0)
		ret = sys(mkdirat, AT_FDCWD, upper, 0700);
	if (ret == 0 && (block->flags & WIRE_PRIVILEGED))
		ret = sys(fchownat, AT_FDCWD, upper, st.stx_uid, st.stx_gid, AT_SYMLINK_NOFOLLOW);
	return ret < 0 ? ret : sys(fchmodat, AT_FDCWD, upper, st.stx_mode & 07777);
}

static long attach_part(const struct wire_block *block, const struct wire_entry *entry, int root_fd)
{
	char path[sizeof(meeting_point) + 256];
	const char *name = WIRE_AT(block, entry->source, const char);
	const char *target = WIRE_AT(block, entry->target, const char);
	size_t len = 0;
	long tree;
	long ret;

	for (const char *from = meeting_point; *from; from++)
		path[len++] = *from;
	while (*name && len + 1 < sizeof(path))
		path[len++] = *name++;
	path[len] = 0;
	tree = sys(open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	if (tree < 0)
		return tree;
	ret = tree_move(root_fd, (int)tree, *target && target[1] ? target : WIRE_WHOLE);
	sys(close, tree);
	return ret;
}

static long attach_parts(const struct wire_block *block, uint32_t index, const char **ret_what)
{
	const struct wire_entry *entries = WIRE_AT(block, block->entries, const struct wire_entry);
	long root_fd = sys(openat, AT_FDCWD, "/", O_FLAGS, 0);
	long ret = root_fd < 0 ? root_fd : 0;

	for (uint32_t i = 0; i < block->entry_count && ret == 0; i++) {
		if (entries[i].kind != WIRE_OVERLAY || entries[i].overlay != index)
			continue;
		*ret_what = WIRE_AT(block, entries[i].target, const char);
		ret = attach_part(block, &entries[i], (int)root_fd);
	}
	if (root_fd >= 0)
		sys(close, root_fd);
	return ret;
}

static long detach_layers(const struct wire_block *block, const struct wire_overlay *overlay)
{
	const struct wire_layer *layers = WIRE_AT(block, overlay->layers, const struct wire_layer);
	long ret = 0;

	for (uint32_t i = 0; i < overlay->layer_count && ret == 0; i++) {
		const char *mount_point = WIRE_AT(block, layers[i].mount_point, const char);

		ret = sys(umount2, mount_point, MNT_DETACH_);
		if (ret == 0)
			ret = sys(unlinkat, AT_FDCWD, mount_point, AT_REMOVEDIR);
	}
	return ret;
}

/* The mount points of layers and overlay are there. */
static long mount_overlay(const struct wire_block *block, uint32_t index, const char **ret_what)
{
	const struct wire_overlay *overlay =
	    WIRE_AT(block, block->overlays, const struct wire_overlay) + index;
	const struct wire_layer *layers = WIRE_AT(block, overlay->layers, const struct wire_layer);
	long ret = make_upper(block, WIRE_AT(block, overlay->upper, const char),
			      WIRE_AT(block, layers[overlay->layer_count - 1].mount_point, const char));

	if (ret == 0)
		ret = sys(mkdirat, AT_FDCWD, WIRE_AT(block, overlay->work, const char), 0700);
	*ret_what = "overlay";
	if (ret == 0)
		ret = sys(mount, "overlay", meeting_point, "overlay", MS_NOSUID | MS_NODEV,
			  WIRE_AT(block, overlay->options, const char));
	if (ret == 0)
		ret = attach_parts(block, index, ret_what);
	if (ret == 0)
		ret = sys(umount2, meeting_point, MNT_DETACH_);
	return ret < 0 ? ret : detach_layers(block, overlay);
}

static long send_directory(const char *path, int socket_fd)
{
	struct wire_message message = { .type = WIRE_UPPER };
	const int fd = (int)sys(openat, AT_FDCWD, path, O_FLAGS, 0);
	long ret;

	if (fd < 0)
		return fd;
	ret = message_send(socket_fd, &message, sizeof(message), &fd, 1);
	sys(close, fd);
	return ret;
}

static long add_overlay(const struct wire_block *block, uint32_t index, int *next_fd, int socket_fd,
			const char **ret_what)
{
	const struct wire_overlay *overlay =
	    WIRE_AT(block, block->overlays, const struct wire_overlay) + index;
	const struct wire_layer *layers = WIRE_AT(block, overlay->layers, const struct wire_layer);
	const char *directory = WIRE_AT(block, overlay->directory, const char);
	long ret;

	*ret_what = directory;
	ret = sys(mkdirat, AT_FDCWD, directory, 0700);
	for (uint32_t i = 0; i < overlay->layer_count && ret == 0; i++) {
		*ret_what = WIRE_AT(block, layers[i].source, const char);
		ret = attach_layer(block, &layers[i], next_fd);
	}
	if (ret == 0)
		ret = mount_overlay(block, index, ret_what);
	return ret < 0 ? ret : send_directory(directory, socket_fd);
}

long overlays_mount(struct wire_block *block, int layer_fd, int socket_fd, const char **ret_what)
{
	long ret = sys(mkdirat, AT_FDCWD, meeting_point, 0700);

	for (uint32_t i = 0; i < block->overlay_count && ret == 0; i++)
		ret = add_overlay(block, i, &layer_fd, socket_fd, ret_what);
	return ret < 0 ? ret : sys(unlinkat, AT_FDCWD, meeting_point, AT_REMOVEDIR);
}

static long move_own(int whole_fd, const char *path)
{
	long tree = sys(open_tree, AT_FDCWD, path,
			OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
	long ret;

	if (tree < 0)
		return tree;
	ret = tree_make_point(whole_fd, path, true, 0755);
	if (ret == 0)
		ret = tree_move(whole_fd, (int)tree, path);
	sys(close, tree);
	return ret;
}

long overlay_become_root(const char **ret_what)
{
	static const char *const own[] = { "/proc", "/dev", "/tmp" };
	long whole_fd = sys(openat, AT_FDCWD, WIRE_WHOLE, O_FLAGS, 0);
	long ret = whole_fd < 0 ? whole_fd : 0;

	for (size_t i = 0; i < ARRAY_LENGTH(own) && ret == 0; i++) {
		*ret_what = own[i];
		ret = move_own((int)whole_fd, own[i]);
	}
	if (ret == 0) {
		*ret_what = "/";
		ret = root_become((int)whole_fd);
	}
	if (whole_fd >= 0)
		sys(close, whole_fd);
	return ret;
}
