/*
 * The list is short (tens of entries), so that every question is answered by looking through it.
 */
#include "rootfs/entries.h"

#include <stdlib.h>
#include <string.h>

#include "rootfs/path.h"

static void entry_done(struct rootfs_entry *entry)
{
	free(entry->target);
	free(entry->source);
	free(entry->text);
	fd_done(&entry->source_fd);
}

/* Room for one more: the array has room for the next power of two, and gets more when its length is one. */
static int grow(struct rootfs *rootfs)
{
	size_t count = rootfs->count;
	struct rootfs_entry *entries;

	if (count & (count - 1))
		return 0;
	entries = reallocarray(rootfs->entries, count ? count * 2 : 1, sizeof(*entries));
	if (!entries)
		return -1;
	rootfs->entries = entries;
	return 0;
}

static struct rootfs_entry *add(struct planning *planning, enum rootfs_kind kind, const char *target,
				const char *source, const char *text)
{
	struct rootfs_entry entry = { .kind = kind, .source_fd = -1, .field = POLICY_FIELD_NONE };

	entry.target = strdup(target);
	entry.source = source ? strdup(source) : NULL;
	entry.text = text ? strdup(text) : NULL;
	if (!entry.target || (source && !entry.source) || (text && !entry.text) ||
	    grow(planning->rootfs) != 0) {
		entry_done(&entry);
		error_no_memory(planning->err, NULL);
		return NULL;
	}
	planning->rootfs->entries[planning->rootfs->count] = entry;
	return &planning->rootfs->entries[planning->rootfs->count++];
}

int entries_add(struct planning *planning, enum rootfs_kind kind, const char *target, const char *text)
{
	return add(planning, kind, target, NULL, text) ? 0 : -1;
}

struct rootfs_entry *entries_bind(struct planning *planning, const char *target, const struct source *source,
				  enum policy_field field)
{
	struct rootfs_entry *entry = add(planning, ROOTFS_BIND, target, source->path, NULL);

	if (!entry)
		return NULL;
	entry->read_only = true;
	entry->is_directory = S_ISDIR(source->stat.st_mode);
	entry->owner_uid = source->stat.st_uid;
	entry->owner_gid = source->stat.st_gid;
	entry->source_dev = source->stat.st_dev;
	entry->source_ino = source->stat.st_ino;
	entry->field = field;
	return entry;
}

void entries_hold(struct rootfs_entry *entry, const struct rootfs_entry *whole)
{
	entry->held = true;
	entry->field = whole->field;
	entry->owner_mapped = whole->owner_mapped;
	entry->owner_uid = whole->owner_uid;
	entry->owner_gid = whole->owner_gid;
}

void entries_remove(struct rootfs *rootfs, size_t i)
{
	size_t last = rootfs->count - 1;

	entry_done(&rootfs->entries[i]);
	memmove(&rootfs->entries[i], &rootfs->entries[i + 1], (last - i) * sizeof(rootfs->entries[0]));
	rootfs->count = last;
}

struct rootfs_entry *entries_at(const struct rootfs *rootfs, const char *target)
{
	for (size_t i = 0; i < rootfs->count; i++) {
		if (strcmp(rootfs->entries[i].target, target) == 0)
			return &rootfs->entries[i];
	}
	return NULL;
}

struct rootfs_entry *entries_cover(const struct rootfs *rootfs, const char *target,
				   const struct rootfs_entry *except)
{
	struct rootfs_entry *cover = NULL;

	for (size_t i = 0; i < rootfs->count; i++) {
		struct rootfs_entry *entry = &rootfs->entries[i];

		if (entry != except && entry->kind != ROOTFS_DIRECTORY &&
		    path_within(entry->target, target) &&
		    (!cover || strlen(entry->target) > strlen(cover->target)))
			cover = entry;
	}
	return cover;
}

static int by_target(const void *a, const void *b)
{
	return strcmp(((const struct rootfs_entry *)a)->target, ((const struct rootfs_entry *)b)->target);
}

void entries_sort(struct rootfs *rootfs)
{
	if (rootfs->count)
		qsort(rootfs->entries, rootfs->count, sizeof(rootfs->entries[0]), by_target);
}

struct rootfs_entry *entries_part(struct planning *planning, const char *target, size_t overlay,
				  const char *path, bool is_directory)
{
	struct rootfs_entry *entry = add(planning, ROOTFS_OVERLAY, target, path, NULL);

	if (!entry)
		return NULL;
	entry->overlay = overlay;
	entry->is_directory = is_directory;
	entry->field = planning->rootfs->overlays[overlay].field;
	return entry;
}

int entries_overlay(struct planning *planning, size_t layer_count, enum policy_field field,
		    enum rootfs_owners owners)
{
	struct rootfs *rootfs = planning->rootfs;
	struct rootfs_overlay *overlay = &rootfs->overlays[rootfs->overlay_count];

	overlay->layers = calloc(layer_count, sizeof(*overlay->layers));
	if (!overlay->layers)
		return error_no_memory(planning->err, NULL);
	for (size_t i = 0; i < layer_count; i++)
		overlay->layers[i].source_fd = -1;
	overlay->layer_count = layer_count;
	overlay->field = field;
	overlay->owners = owners;
	return (int)rootfs->overlay_count++;
}

int entries_layer(struct planning *planning, struct rootfs_layer *layer, const char *path,
		  const struct stat *st)
{
	layer->source = strdup(path);
	layer->source_dev = st->st_dev;
	layer->source_ino = st->st_ino;
	layer->owner_uid = st->st_uid;
	layer->owner_gid = st->st_gid;
	return layer->source ? 0 : error_no_memory(planning->err, NULL);
}

static void overlay_done(struct rootfs_overlay *overlay)
{
	for (size_t i = 0; i < overlay->layer_count; i++) {
		free(overlay->layers[i].source);
		fd_done(&overlay->layers[i].source_fd);
	}
	free(overlay->layers);
}

void rootfs_done(struct rootfs *rootfs)
{
	if (!rootfs)
		return;
	for (size_t i = 0; i < rootfs->overlay_count; i++)
		overlay_done(&rootfs->overlays[i]);
	image_done(&rootfs->image);
	for (size_t i = 0; i < rootfs->count; i++)
		entry_done(&rootfs->entries[i]);
	for (size_t i = 0; i < rootfs->look_count; i++)
		free(rootfs->looks[i].path);
	free(rootfs->looks);
	free(rootfs->entries);
	free(rootfs->working_directory);
	memset(rootfs, 0, sizeof(*rootfs));
}
