/*
 * blobs: content by what it is. The door of this folder.
 *
 * Content is cut into pieces of at most BLOBS_PIECE bytes; a piece is a file named by the SHA-256 of what is in it, and is there
 * once, whoever has it. A large file that has grown, or was changed in one place, shares the rest of its pieces with the one
 * before; and whatever its size, no more than one piece of it is in memory. A piece of zeros is no file at all.
 *
 * Life: blobs_open() -> blobs_put_...() any number of times -> blobs_commit(): only now the pieces have their names, and are
 * on the disk; what is to refer to them is written after that -> blobs_done(). Whoever has it open for writing holds a shared lock, so that
 * nothing is swept that is about to be referred to. One thread at a time.
 */
#ifndef WARDER_STORE_BLOBS_BLOBS_H
#define WARDER_STORE_BLOBS_BLOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/sha256.h"

#define BLOBS_PIECE ((size_t)4 << 20)

struct blobs {
	int dir_fd;    /* holds the lock */
	int staged_fd; /* directory of pieces that have no name yet; -1: none */
	char staged[64];
	char *piece; /* room for one; NULL until it is needed */
	/* Told of every BLOBS_PIECE bytes or less that are read; or NULL. */
	void (*on_bytes)(void *context, uint64_t len);
	void *context;
};

#define BLOBS_NONE ((struct blobs){ .dir_fd = -1, .staged_fd = -1 })

/* A file's content. */
struct blobs_content {
	uint64_t size;
	char digest[SHA256_HEX];    /* of all of it */
	char (*pieces)[SHA256_HEX]; /* in order; all but the last are BLOBS_PIECE long; "": zeros */
	size_t count;
};

enum blobs_lock {
	BLOBS_READ,            /* nothing is written; no lock */
	BLOBS_WRITE,           /* a shared lock; waits for the end of a sweep */
	BLOBS_SWEEP,           /* an exclusive lock; waits at most 30 s for those who write */
	BLOBS_SWEEP_PATIENTLY, /* an exclusive lock; waits until nobody writes */
};

/* Open the directory "content" in parent_fd, making it if it is missing. 0; 1: BLOBS_SWEEP, and somebody is writing; -1 with
 * *err. */
int blobs_open(int parent_fd, enum blobs_lock lock, struct blobs *ret, struct warder_error *err);
/* What was not committed is removed. Zeroed descriptors are not accepted: begin with BLOBS_NONE. */
void blobs_done(struct blobs *blobs);

/* Take up to `most` bytes from where fd stands, to its end. *ret_more: there were more. -1 with *err. */
int blobs_put_fd(struct blobs *blobs, int fd, uint64_t most, struct blobs_content *ret, bool *ret_more,
		 struct warder_error *err);
int blobs_put_bytes(struct blobs *blobs, const char *bytes, size_t len, struct blobs_content *ret,
		    struct warder_error *err);
int blobs_commit(struct blobs *blobs, struct warder_error *err);
void blobs_content_done(struct blobs_content *content);

/* Write the content to where fd stands (a regular file if there are holes; else zeros are written). Every piece is verified on
 * the way: -1 with *err (INTERNAL) naming one that is not what its name says, or is missing. to_fd -1: only verify. */
int blobs_get(struct blobs *blobs, const struct blobs_content *content, int to_fd, struct warder_error *err);

/* Members "size", "sha256" and "pieces" into the object that is open, and out of one that was read. */
void blobs_content_write(const struct blobs_content *content, struct json_writer *w);
int blobs_content_read(const struct json_value *object, struct blobs_content *ret, struct warder_error *err);

/* ---- what is in use ---- */
struct blobs_set {
	unsigned char (*items)[32];
	size_t count, capacity;
	bool sorted;
};

/* -1 with *err: no memory. */
int blobs_set_add(struct blobs_set *set, const struct blobs_content *content, struct warder_error *err);
void blobs_set_done(struct blobs_set *set);
/* Remove every piece that is not in the set, and what the dead have left. Opened for a sweep. */
int blobs_sweep(struct blobs *blobs, struct blobs_set *used, struct warder_error *err);

#endif
