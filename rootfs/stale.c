/*
 * Whether a plan of the same policy would be another one by now. A mount shows what its source has at any time, so only the source itself is
 * compared. What the plan has read is in the jail as it was then: the text of a link, the names in a directory, the record of an image, and
 * that the host lacks a file. A directory whose names change, and a link or record that is replaced, get another time of change
 * (ctime), or are another object.
 *
 * Changes of the mount table are not looked for: a pool compares it for all of its keys.
 */
#include <stdlib.h>
#include <string.h>

#include "rootfs/entries.h"

int stale_add(struct planning *planning, const char *path, bool is_read, const struct stat *found)
{
	struct rootfs *rootfs = planning->rootfs;
	struct rootfs_look look = { .path = strdup(path), .is_read = is_read, .is_there = found != NULL };
	struct rootfs_look *looks =
	    look.path ? reallocarray(rootfs->looks, rootfs->look_count + 1, sizeof(*looks)) : NULL;

	if (!looks) {
		free(look.path);
		return error_no_memory(planning->err, NULL);
	}
	if (found) {
		look.dev = found->st_dev;
		look.ino = found->st_ino;
		look.changed = found->st_ctim;
	}
	rootfs->looks = looks;
	looks[rootfs->look_count++] = look;
	return 0;
}

static bool has_changed(const struct rootfs_look *look)
{
	struct stat now;
	const int looked = look->is_read ? lstat(look->path, &now) : stat(look->path, &now);

	if (looked != 0 || !look->is_there)
		return (looked == 0) != look->is_there;
	return now.st_dev != look->dev || now.st_ino != look->ino ||
	       (look->is_read &&
		(now.st_ctim.tv_sec != look->changed.tv_sec || now.st_ctim.tv_nsec != look->changed.tv_nsec));
}

static bool is_same(const char *source, dev_t dev, ino_t ino)
{
	struct stat now;

	return lstat(source, &now) == 0 && now.st_dev == dev && now.st_ino == ino;
}

bool rootfs_is_stale(const struct rootfs *rootfs)
{
	for (size_t i = 0; i < rootfs->count; i++) {
		const struct rootfs_entry *entry = &rootfs->entries[i];

		if (entry->kind == ROOTFS_BIND && !entry->held &&
		    !is_same(entry->source, entry->source_dev, entry->source_ino))
			return true;
	}
	for (size_t i = 0; i < rootfs->overlay_count; i++) {
		const struct rootfs_overlay *overlay = &rootfs->overlays[i];

		for (size_t j = 0; j < overlay->layer_count; j++)
			if (!is_same(overlay->layers[j].source, overlay->layers[j].source_dev,
				     overlay->layers[j].source_ino))
				return true;
	}
	for (size_t i = 0; i < rootfs->look_count; i++)
		if (has_changed(&rootfs->looks[i]))
			return true;
	return false;
}
