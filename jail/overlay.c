#include "jail/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/inside/wire.h"

_Static_assert((sizeof(WIRE_SCRATCH "/l0.127:") - 1) * IMAGE_LAYERS_MAX + 4 * OVERLAY_PATH_BYTES +
		       sizeof(OVERLAY_FIXED ",userxattr") <
		   OVERLAY_OPTIONS_BYTES,
	       "the options of the largest overlay fit");

void overlay_path(size_t index, const char *what, char ret[OVERLAY_PATH_BYTES])
{
	snprintf(ret, OVERLAY_PATH_BYTES, WIRE_SCRATCH "/o%zu%s", index, what);
}

void overlay_layer_path(size_t index, size_t layer, char ret[OVERLAY_PATH_BYTES])
{
	snprintf(ret, OVERLAY_PATH_BYTES, WIRE_SCRATCH "/l%zu.%zu", index, layer);
}

void overlay_directories(const struct rootfs *rootfs, size_t index, char ret[OVERLAY_OPTIONS_BYTES])
{
	const size_t count = rootfs->overlays[index].layer_count;
	char upper[OVERLAY_PATH_BYTES];
	char work[OVERLAY_PATH_BYTES];
	size_t used = 0;

	/* The highest comes first. */
	for (size_t i = count; i-- > 0;) {
		char path[OVERLAY_PATH_BYTES];

		overlay_layer_path(index, i, path);
		used += (size_t)snprintf(ret + used, OVERLAY_OPTIONS_BYTES - used, "%s%s",
					 i + 1 == count ? "lowerdir=" : ":", path);
	}
	overlay_path(index, "/upper", upper);
	overlay_path(index, "/work", work);
	snprintf(ret + used, OVERLAY_OPTIONS_BYTES - used, ",upperdir=%s,workdir=%s", upper, work);
}

void overlay_options(const struct rootfs *rootfs, size_t index, bool user_xattrs,
		     char ret[OVERLAY_OPTIONS_BYTES])
{
	size_t used;

	overlay_directories(rootfs, index, ret);
	used = strlen(ret);
	snprintf(ret + used, OVERLAY_OPTIONS_BYTES - used, ",%s%s", OVERLAY_FIXED,
		 user_xattrs ? ",userxattr" : "");
}

bool overlay_user_xattrs(const struct jail_plan *plan, size_t index)
{
	return !plan->privileged || plan->rootfs.overlays[index].user_xattrs;
}

/* The namespace whose map makes the layer's ids those of the jail. -1 with *err. */
static int owners_ns(const struct rootfs_overlay *overlay, const struct rootfs_layer *layer,
		     struct identity *identity, uint32_t uid, uint32_t gid, struct warder_error *err)
{
	switch (overlay->owners) {
	case ROOTFS_OWNERS_IDS:
		return identity->user_ns_fd;
	case ROOTFS_OWNERS_ROOT:
		return identity_owner_ns(identity, layer->owner_uid, layer->owner_gid, 0, 0, err);
	case ROOTFS_OWNERS_USER:
		return identity_owner_ns(identity, layer->owner_uid, layer->owner_gid, uid, gid, err);
	}
	return -1;
}

static int map_layer(int tree_fd, const struct rootfs_overlay *overlay, const struct rootfs_layer *layer,
		     int ns_fd, bool *ret_mapped, struct warder_error *err)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)ns_fd };

	*ret_mapped = syscall(SYS_mount_setattr, tree_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0;
	if (*ret_mapped || (overlay->owners != ROOTFS_OWNERS_USER && (errno == EINVAL || errno == EPERM)))
		return 0;
	return error_set_errno(
	    err, WARDER_ERROR_UNSUPPORTED_POLICY, policy_field_path(overlay->field), errno,
	    "the file system of %s has no idmapped mounts, so that the jail's user cannot own "
	    "its files; use a directory on ext4, xfs, btrfs or (from Linux 6.3) tmpfs",
	    layer->source);
}

int overlay_clone_layer(const struct rootfs_overlay *overlay, const struct rootfs_layer *layer,
			struct identity *identity, uint32_t uid, uint32_t gid, bool *ret_mapped,
			struct warder_error *err)
{
	/* Private: what the host mounts beneath it later has no business here. */
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
				   .propagation = MS_PRIVATE };
	owned_fd int tree_fd = (int)syscall(SYS_open_tree, layer->source_fd, "",
					    AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	int ns_fd;

	if (tree_fd < 0 || syscall(SYS_mount_setattr, tree_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, policy_field_path(overlay->field),
				       errno, "cannot clone the mount of %s", layer->source);
	ns_fd = owners_ns(overlay, layer, identity, uid, gid, err);
	if (ns_fd < 0 || map_layer(tree_fd, overlay, layer, ns_fd, ret_mapped, err) < 0)
		return -1;
	return fd_take(&tree_fd);
}
