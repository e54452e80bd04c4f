/*
 * layer_store: layers and records on the disk, and how they get there whole. Private to store/images/.
 *
 * Life of a layer: draft_make() makes a directory under a temporary name, locked by the process that fills it -> its tree is filled ->
 * layer_store_keep() brings it to the disk and gives it its name. A draft whose lock is free belongs to a dead process, and is
 * removed by layer_store_sweep().
 */
#ifndef WARDER_STORE_IMAGES_LAYER_STORE_H
#define WARDER_STORE_IMAGES_LAYER_STORE_H

#include <sys/stat.h>

#include "store/images/images.h"
#include "store/images/tree.h"
#include "store/store.h"

/* A layer that is not committed yet. */
struct draft {
	char name[STORE_NAME_MAX]; /* below layers/; "": none */
	int fd;                    /* of it, locked */
	int tree_fd;
	bool
	    placed; /* what layers below have went into the tree: a digest of the archive does not say all of it */
};

#define DRAFT_NONE ((struct draft){ .fd = -1, .tree_fd = -1 })

int draft_make(struct images *images, struct draft *ret, struct warder_error *err);
/* Remove what was not committed; DRAFT_NONE is fine. */
void draft_done(struct images *images, struct draft *draft);

/* A layer that is there, locked. 1; 0: it is not there; -1 with *err. */
int layer_store_layer(struct images *images, const char *digest, struct image_layer *ret,
		      struct warder_error *err);
/* The same for all layers of an image in the store. -1 with *err (NOT_FOUND). */
int layer_store_find(struct images *images, const char *name, struct image *ret, struct warder_error *err);
/* Put a layer on top of an image, which takes the lock over. -1 with *err: the lock is given back. */
int layer_store_add_layer(struct image *image, struct image_layer *layer, struct warder_error *err);
/* Commit a draft and put it on top of an image. digest NULL: the tree's own name. -1 with *err. */
int layer_store_keep(struct images *images, struct draft *draft, const char *digest, struct image *image,
		     struct images_notes *notes, struct warder_error *err);
/* Note in a draft that the tree has directories whose owner and mode other layers could decide. -1 with *err. */
int draft_note_implied(struct draft *draft, struct warder_error *err);
/* Whether a stored layer is what its archive makes on top of those of the image, of which `lower` is the root (NULL: there are none). */
bool layer_store_fits(struct images *images, const char *digest, const struct stat *lower);
/* Write the record of an image, in place of an older one. */
int layer_store_put(struct images *images, const struct image *image, struct warder_error *err);
/* Names of images on their way begin so; they are in no list, and protect nothing. */
#define LAYER_STORE_UNFINISHED "warder.unfinished."
/* Whether an image may be called so. -1 with *err. */
int layer_store_check_name(const char *name, struct warder_error *err);
/* Write the record of an image on its way, of such a name; it is one's own as long as *ret_lock_fd is open. */
int layer_store_put_unfinished(struct images *images, const struct image *image, int *ret_lock_fd,
			       struct warder_error *err);
void layer_store_drop_unfinished(struct images *images, const char *name);
/* Remove unfinished work of the dead; how many there were. */
uint64_t layer_store_sweep(struct images *images);
/* Remove a layer unless it is held, or a record names it. 1: removed, *ret_bytes more are free; 0: a record names it; 2: it is
 * held; -1 with *err. */
int layer_store_drop(struct images *images, const char *digest, uint64_t *ret_bytes,
		     struct warder_error *err);
/* 1: a record names the layer. -1 with *err: a record is damaged. */
int layer_store_is_used(struct images *images, const char *digest, struct warder_error *err);

#endif
