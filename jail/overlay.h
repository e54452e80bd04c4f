/*
 * overlay: what the host's side has to say and to know of the overlays that a jail's init mounts (jail/inside/overlay.h). Pure but for
 * overlay_clone_layer().
 */
#ifndef WARDER_JAIL_OVERLAY_H
#define WARDER_JAIL_OVERLAY_H

#include <stddef.h>

#include "base/error.h"
#include "jail/identity.h"
#include "jail/jail.h"

#define OVERLAY_OPTIONS_BYTES 4096 /* a page: what mount(2) takes */
#define OVERLAY_PATH_BYTES    48
/*
 * No directory is renamed by a mark that points elsewhere, and none such is followed; no file is half copied; inode numbers are those of
 * the layers, so that the read-back can tell them; hard links are broken by a write, as on every overlay without an index.
 */
#define OVERLAY_FIXED "redirect_dir=nofollow,metacopy=off,index=off,xino=off"

/* Where an overlay's directory, its upper or work directory (`what`: "", "/upper", "/work") lies while the jail is set up. */
void overlay_path(size_t index, const char *what, char ret[OVERLAY_PATH_BYTES]);
/* Where one of its layers is attached for the moment. */
void overlay_layer_path(size_t index, size_t layer, char ret[OVERLAY_PATH_BYTES]);
/* The beginning of the options, as mountinfo shows it too: "lowerdir=...,upperdir=...,workdir=...". */
void overlay_directories(const struct rootfs *rootfs, size_t index, char ret[OVERLAY_OPTIONS_BYTES]);
/* All options for mount(2). `user_xattrs`: see overlay_user_xattrs(). */
void overlay_options(const struct rootfs *rootfs, size_t index, bool user_xattrs,
		     char ret[OVERLAY_OPTIONS_BYTES]);
/* Whether an overlay keeps its marks in user.overlay.*: all that an ordinary user may write, and how an ordinary user's import did. */
bool overlay_user_xattrs(const struct jail_plan *plan, size_t index);
/* A detached, read-only mount of one layer, its owners mapped for the identity. A file system that has no idmapped mounts shows an
 * image's files as they are: *ret_mapped is false. The descriptor is the caller's; -1 with *err. */
int overlay_clone_layer(const struct rootfs_overlay *overlay, const struct rootfs_layer *layer,
			struct identity *identity, uint32_t uid, uint32_t gid, bool *ret_mapped,
			struct warder_error *err);

#endif
