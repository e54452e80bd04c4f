/*
 * images: root file systems in the store, by name; brought in from archives and directories, or built. The door of this folder.
 *
 * Life: images_open() -> any of the others, in any number of processes at once -> images_done(). Nothing that is in the store is
 * believed half: a layer gets its name when its files and their digest are on the disk, an image its name when its layers have
 * theirs. rootfs/image.h has the layout and finds an image for a launch.
 * Any thread, each with an object of its own.
 */
#ifndef WARDER_STORE_IMAGES_IMAGES_H
#define WARDER_STORE_IMAGES_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "rootfs/image.h"
#include "rootfs/rootfs.h"

struct images {
	char path[ROOTFS_PRIVATE_DIR_MAX];
	int dir_fd, layers_fd, names_fd;
	bool owners_kept; /* root: files keep the image's uids and gids */
	/* Set by the caller after images_open(), or NULL: how far long work is; total 0: not known. */
	void (*on_progress)(void *context, const char *what, uint64_t done, uint64_t total);
	void *context;
};

/* `store` NULL: the default place, which is made if it is missing. -1 with *err: also where it has something else in it. */
int images_open(const char *store, struct images *ret, struct warder_error *err);
/* The same to list, inspect, verify and remove: nothing is made. Where there is no store, there are no images. */
int images_open_to_read(const char *store, struct images *ret, struct warder_error *err);
void images_done(struct images *images);

/* What was left out or changed, for people. */
struct images_notes {
	uint64_t capabilities;   /* of files: left out */
	uint64_t attributes;     /* other than user.*, or that the file system does not take: left out */
	uint64_t set_ids;        /* set-user-id and set-group-id bits of files: cleared */
	uint64_t devices;        /* that every jail has: left out */
	uint64_t sockets;        /* left out */
	uint64_t mounts;         /* on other file systems: left out */
	uint64_t replaced;       /* 1: another image had the name */
	uint64_t stored, shared; /* layers that were new, and that were there already */
};

#define IMAGES_BYTES_MAX      ((uint64_t)16 << 30)
#define IMAGES_FILE_BYTES_MAX ((uint64_t)4 << 30)
#define IMAGES_FILES_MAX      1000000

/* What FROM debootstrap:SUITE makes is called so, and taken again by that name: nothing else may be. */
#define IMAGES_BASES "debootstrap/"
#define IMAGES_MAKES "debootstrap:" /* in FROM this is no image but how one is made */

struct images_import {
	const char *source;      /* a directory or an archive; "-": standard input */
	const char *name;        /* NULL: the one that the archive has, if it is one */
	const char *format;      /* "oci", "docker", "tar", "directory"; NULL: found out */
	bool replace;            /* a name that the archive gives itself may be another image's */
	bool base;               /* for the builder: names that begin with IMAGES_BASES are allowed, too */
	const char *reference;   /* which image of an archive that has several; NULL: the only one */
	uint64_t bytes_max;      /* of all layers unpacked; 0: IMAGES_BYTES_MAX */
	uint64_t file_bytes_max; /* of one file; 0: IMAGES_FILE_BYTES_MAX */
	uint64_t files_max;      /* members of all layers; 0: IMAGES_FILES_MAX */
};

/* Bring an image in; one of that name is replaced, if the name was given in *what. *ret holds its layers until image_done(). -1 with *err: REJECTED names the
 * member that no image may have, INVALID_REQUEST what cannot be read or whose digest is wrong, NOT_FOUND;
 * CONFLICT: the archive says a name that another image has. */
int images_import(struct images *images, const struct images_import *what, struct image *ret,
		  struct images_notes *ret_notes, struct warder_error *err);

struct images_pull {
	const char
	    *reference;   /* "python:3.12-slim", "ghcr.io/a/b@sha256:..."; without a registry: of docker.io */
	const char *name; /* of the image in the store; NULL: the reference */
	char *const
	    *more_hosts; /* rows of network.allow beside those of the registry, NULL-terminated; NULL: none */
};

/* Fetch an image of a registry and bring it in, as images_import() does; skopeo fetches it, in a jail that reaches the hosts of the registry alone.
 * *ret as there. -1 with *err: "failed to pull image REFERENCE: ..."; UNAVAILABLE, INVALID_REQUEST, REJECTED. */
int images_pull(struct images *images, const struct images_pull *what, struct image *ret,
		struct images_notes *ret_notes, struct warder_error *err);

struct images_build {
	const char *context;    /* directory that COPY takes files from */
	const char *recipe;     /* file of the recipe; NULL: "Dockerfile" in the context */
	const char *name;       /* of the image */
	const char *network;    /* of RUN: "none" (NULL) or "host" */
	char *const *arguments; /* NAME=value for ARG, NULL-terminated; NULL: none */
	char *const *settings;  /* FIELD=value of the policy of RUN, NULL-terminated; NULL: none */
	/* Called before each step with its line and text; may be NULL. */
	void (*on_step)(void *context, size_t number, size_t count, const char *text);
	int output_fd; /* where the output of RUN goes; -1: nowhere */
};

/* Build an image; one of that name is replaced when everything has been done. RUN looks for layers in the default place: another
 * store has to be named by $WARDER_STORE. *ret as of images_import(). -1 with *err: the text begins
 * with the recipe's name and line. */
int images_build(struct images *images, const struct images_build *what, struct image *ret,
		 struct images_notes *ret_notes, struct warder_error *err);

/* An image as its record says, without locks. -1 with *err (NOT_FOUND). */
int images_inspect(struct images *images, const char *name, struct image *ret, struct warder_error *err);
/* All of them by name; *ret is the caller's, each to be given to image_done(), then free(). A damaged record has a name and no
 * layers. */
int images_list(struct images *images, struct image **ret, size_t *ret_count, struct warder_error *err);

/* A layer that is no more what it was. */
struct images_fault {
	char layer[IMAGE_DIGEST];
	char text[400];
};

/* Look at every stored file of an image again. 0; the number of damaged layers, of which at most `room` are told; -1 with *err. */
int images_verify(struct images *images, const char *name, struct images_fault *ret, size_t room,
		  struct warder_error *err);

struct images_removed {
	uint64_t layers, bytes; /* removed */
	uint64_t held;          /* not used by a name, but held by a run or an import */
	uint64_t leftovers;     /* unfinished work of the dead */
};

/* Take a name away, and those layers of it that no other name uses and nobody holds. -1 with *err (NOT_FOUND). */
int images_remove(struct images *images, const char *name, struct images_removed *ret,
		  struct warder_error *err);
/* Remove every layer that no name uses and nobody holds, and what the dead have left. -1 with *err: a record is damaged. */
int images_gc(struct images *images, struct images_removed *ret, struct warder_error *err);

/* ---- what is told of them: describe.c ---- */

/* One kind of note. */
struct images_note {
	const char *key;  /* in JSON */
	const char *text; /* for people; NULL: it is nothing that they need to know */
	uint64_t count;
};

/* The i-th kind, whatever its count; false: there are not so many. */
bool images_note(const struct images_notes *notes, size_t i, struct images_note *ret);
/* Of all layers' files. */
uint64_t images_bytes(const struct image *image);
/* An object each, into the writer: of an image that was imported or built, ... */
void images_write_stored(const struct image *image, const struct images_notes *notes, struct json_writer *w);
/* ... of one in a list, which may be damaged, ... */
void images_write_listed(const struct image *image, struct json_writer *w);
/* ... of one that was verified, ... */
void images_write_verified(const char *name, const struct images_fault *faults, size_t count,
			   struct json_writer *w);
/* ... and of what went. */
void images_write_removed(const struct images_removed *removed, struct json_writer *w);

#endif
