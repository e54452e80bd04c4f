/*
 * What is done with images that are there: looking at them again, and removing them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/images/layer_store.h"
#include "store/images/names.h"
#include "store/images/tree.h"

static const char field[] = "image";

struct checking {
	struct images *images;
	uint64_t before, total;
};

static void show(void *context, uint64_t bytes)
{
	const struct checking *checking = context;
	const struct images *images = checking->images;

	if (images->on_progress)
		images->on_progress(images->context, "verifying", checking->before + bytes, checking->total);
}

/* "" or what is wrong with a layer. */
static void check_layer(struct checking *checking, const struct image_layer *layer, char *ret, size_t size)
{
	struct images *images = checking->images;
	struct image_layer stored;
	struct warder_error err = { 0 };
	struct tree_digest now;
	char path[IMAGE_DIGEST + 8];
	owned_fd int fd = -1;
	int there = layer_store_layer(images, layer->digest, &stored, &err);

	ret[0] = '\0';
	if (there != 1) {
		snprintf(ret, size, "%s", there == 0 ? "it is not in the store" : err.text);
		return;
	}
	snprintf(path, sizeof(path), "%.64s/tree", layer->digest);
	fd = openat(images->layers_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		snprintf(ret, size, "its tree cannot be opened: %s", strerror(errno));
	else if (tree_digest(fd, show, checking, &now, &err) != 0)
		snprintf(ret, size, "%s", err.text);
	else if (strcmp(now.hex, layer->tree) != 0)
		snprintf(ret, size, "its files are not those that were stored");
	else if (strcmp(stored.tree, layer->tree) != 0)
		snprintf(ret, size, "its record was changed");
	fd_done(&stored.lock_fd);
	checking->before += layer->bytes;
}

int images_verify(struct images *images, const char *name, struct images_fault *ret, size_t room,
		  struct warder_error *err)
{
	struct checking checking = { .images = images };
	struct image image;
	size_t faults = 0;

	if (images_inspect(images, name, &image, err) != 0)
		return -1;
	for (size_t i = 0; i < image.layer_count; i++)
		checking.total += image.layers[i].bytes;
	for (size_t i = 0; i < image.layer_count; i++) {
		struct images_fault fault;

		snprintf(fault.layer, sizeof(fault.layer), "%s", image.layers[i].digest);
		check_layer(&checking, &image.layers[i], fault.text, sizeof(fault.text));
		if (fault.text[0] && faults < room)
			ret[faults] = fault;
		faults += fault.text[0] != '\0';
	}
	image_done(&image);
	return (int)faults;
}

/* ---- removing ---- */

static int drop(struct images *images, const char *digest, struct images_removed *ret,
		struct warder_error *err)
{
	const int dropped = layer_store_drop(images, digest, &ret->bytes, err);

	if (dropped < 0)
		return -1;
	ret->layers += dropped == 1;
	ret->held += dropped == 2;
	return 0;
}

int images_remove(struct images *images, const char *name, struct images_removed *ret,
		  struct warder_error *err)
{
	struct image image;
	struct warder_error damaged;
	char file[400];
	int done = 0;

	*ret = (struct images_removed){ 0 };
	if (image_record_name(name, file, err) != 0)
		return -1;
	if (images_inspect(images, name, &image, &damaged) != 0 && damaged.code == WARDER_ERROR_NOT_FOUND) {
		*err = damaged;
		return -1;
	}
	if (unlinkat(images->names_fd, file, 0) != 0 && errno != ENOENT)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "%.128s cannot be removed", name);
	if (store_sync(images->names_fd, field, err) != 0)
		done = -1;
	for (size_t i = 0; done == 0 && i < image.layer_count; i++)
		done = drop(images, image.layers[i].digest, ret, err);
	image_done(&image);
	return done;
}

int images_gc(struct images *images, struct images_removed *ret, struct warder_error *err)
{
	struct names layers;
	int done = 0;

	*ret = (struct images_removed){ .leftovers = layer_store_sweep(images) };
	if (images->layers_fd < 0)
		return 0; /* there is no store */
	if (names_read(images->layers_fd, &layers) != 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "the store cannot be read");
	for (size_t i = 0; done == 0 && i < layers.count; i++) {
		if (image_is_digest(layers.items[i])) {
			int used = layer_store_is_used(images, layers.items[i], err);

			done = used > 0 ? 0 : used < 0 ? -1 : drop(images, layers.items[i], ret, err);
		}
	}
	names_done(&layers);
	return done;
}
