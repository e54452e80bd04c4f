/*
 * layout: the JSON documents of image archives: OCI's index, manifest and configuration, and docker's manifest.json. Pure decoding
 * of hostile bytes. Private to store/images/.
 *
 * Unknown members are left alone, as the formats ask for; what is used must be of the right type, and within bounds. Formats: OCI
 * Image Format Specification 1.1 (image-layout, index, manifest, config), Docker Image Specification 1.2.
 */
#ifndef WARDER_STORE_IMAGES_LAYOUT_H
#define WARDER_STORE_IMAGES_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "rootfs/image.h"

#define LAYOUT_DOCUMENT_BYTES ((size_t)4 << 20)
#define LAYOUT_ENTRIES_MAX    1024 /* of an index, or images of an archive */

struct layout_descriptor {
	char digest[IMAGE_DIGEST];
	uint64_t size;
	char *media;             /* media type, or NULL */
	char *reference;         /* annotation org.opencontainers.image.ref.name, or NULL */
	char *os, *architecture; /* of the platform; NULL: not told */
};

enum layout_kind { LAYOUT_INDEX, LAYOUT_MANIFEST };

struct layout_index {
	struct layout_descriptor *entries;
	size_t count;
};

struct layout_manifest {
	struct layout_descriptor config;
	struct layout_descriptor *layers; /* lowest first */
	size_t count;
};

struct layout_config {
	char *os, *architecture;
	char (*diff_ids)[IMAGE_DIGEST]; /* lowest first */
	size_t count;
};

/* One image of a docker archive. */
struct layout_docker {
	char *config;  /* path within the archive */
	char **layers; /* NULL-terminated paths, lowest first */
	char **tags;   /* NULL-terminated, may be NULL */
};

struct layout_dockers {
	struct layout_docker *entries;
	size_t count;
};

/* Each: -1 with *err (INVALID_REQUEST); else *ret is to be given to its _done, which takes zeroed ones, too. */
int layout_decode_index(const char *text, size_t len, const char *origin, struct layout_index *ret,
			struct warder_error *err);
int layout_decode_manifest(const char *text, size_t len, const char *origin, struct layout_manifest *ret,
			   struct warder_error *err);
/* How the image wants to be started goes into *image (environment, user, ...), which keeps what else it has. */
int layout_decode_config(const char *text, size_t len, const char *origin, struct layout_config *ret,
			 struct image *image, struct warder_error *err);
int layout_decode_docker(const char *text, size_t len, const char *origin, struct layout_dockers *ret,
			 struct warder_error *err);
void layout_index_done(struct layout_index *index);
void layout_manifest_done(struct layout_manifest *manifest);
void layout_config_done(struct layout_config *config);
void layout_dockers_done(struct layout_dockers *dockers);

/* What an entry of an index leads to by its media type; -1: neither. */
int layout_kind(const struct layout_descriptor *descriptor);
/* Whether that is the media type of a layer that can be unpacked. */
int layout_is_layer(const char *media);
/* This machine's architecture as images name it ("amd64"). */
const char *layout_architecture(void);

#endif
