/*
 * image: an image of the store, by its name: which layers it has, and how it wants to be started. A door of this folder.
 *
 * Life: image_find() reads the record of a name and takes a shared lock on every layer -> the layers' trees are mounted, and
 * stay where they are as long as the locks are held -> image_done(). Who writes into the store uses image_decode(),
 * image_encode() and image_lock_layer() for the same files.
 *
 * Below the directory "images" of the store (0700, the caller's own):
 *   layers/<digest>/tree        the files of a layer in overlayfs' own form; never changed
 *   layers/<digest>/lock        flock(2): shared by who uses the layer, exclusive by who removes it
 *   layers/<digest>/record.json digest of the tree, counts
 *   names/<encoded name>.json   the record of an image
 * Host side, any thread.
 */
#ifndef WARDER_ROOTFS_IMAGE_H
#define WARDER_ROOTFS_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define IMAGE_DIGEST       65 /* characters of a SHA-256 in hexadecimal, with the NUL */
#define IMAGE_LAYERS_MAX   128
#define IMAGE_NAME_MAX     128
#define IMAGE_RECORD_BYTES (1024 * 1024) /* of a record */
#define IMAGE_STRINGS_MAX  1024          /* variables of the environment, words of a command, labels */

struct image_layer {
	char digest[IMAGE_DIGEST]; /* its name in the store */
	char tree[IMAGE_DIGEST];   /* digest of the stored files, as they were at the import */
	uint64_t files, bytes;
	char *path;  /* absolute, ends in "/tree"; NULL unless found */
	int lock_fd; /* shared lock, owned; -1 unless found */
};

struct image {
	char *name;
	char digest[IMAGE_DIGEST]; /* of the image's manifest, or of its record where there is none */
	char *source;              /* "oci", "docker", "tar", "directory", "build" */
	char *platform;            /* "linux/amd64"; NULL: not told */
	uint64_t created;          /* seconds since 1970: when it came into the store */
	size_t layer_count;
	struct image_layer *layers; /* lowest first */
	char **environment;         /* NULL-terminated NAME=value; NULL: none */
	char *working_directory;    /* absolute, or NULL */
	char **entrypoint;          /* NULL-terminated; NULL: none */
	char **command;             /* the same */
	char **labels;              /* the same, NAME=value */
	char *user;                 /* text of the config, or NULL */
	bool owners_kept;           /* files have the image's uids and gids; else all are the caller's */
};

/* Find an image and take the shared locks. *ret is to be given to image_done(). -1 with
 * *err: NOT_FOUND naming the image and a remedy; INVALID_REQUEST for what is no name; UNAVAILABLE for a store, record or layer
 * that is damaged or that somebody else can write to. */
int image_find(const char *name, struct image *ret, struct warder_error *err);
/* Gives locks and memory back; zeroed is fine; leaves it zeroed. */
void image_done(struct image *image);

/* The file name of a record: letters, digits, '.', '_' and '-' stand for themselves, everything else is %XX. -1 with *err
 * (INVALID_REQUEST) for what is no name of an image. */
int image_record_name(const char *name, char ret[static 400], struct warder_error *err);
/* A record's text into *ret, strictly (unknown members are refused), without paths and locks. -1 with *err. */
int image_decode(const char *text, size_t len, const char *origin, struct image *ret,
		 struct warder_error *err);
/* And back, heap; NULL: no memory. */
char *image_encode(const struct image *image);
/* 64 small hexadecimal digits and nothing else. */
bool image_is_digest(const char *text);
/* Take the shared lock of a layer: *ret_fd is owned by the caller. 0; -1 with errno, ENOENT if the layer is not there or is
 * just being removed. */
int image_lock_layer(int layers_fd, const char *digest, int *ret_fd);
/* Free a NULL-terminated list of heap strings; NULL is fine. */
void image_strings_free(char **strings);

#endif
