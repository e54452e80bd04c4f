/*
 * stream: an archive as it is read: compressed or not, hashed on both sides of the decompression. Private to store/images/.
 *
 *   file -> SHA-256, bytes counted -> gzip, zstd, xz or nothing -> SHA-256, bytes counted -> tar
 *
 * Life: stream_open() -> libarchive's reader in `tar` is read to its end -> stream_finish() reads what follows the archive's end
 * and has both digests -> stream_done(). What was read may be believed only when the digests are the expected ones.
 */
#ifndef WARDER_STORE_IMAGES_STREAM_H
#define WARDER_STORE_IMAGES_STREAM_H

#include <archive.h>
#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

#include "base/error.h"
#include "store/digest.h"

struct stream {
	struct archive *tar;       /* to read members from */
	uint64_t packed, unpacked; /* bytes so far */
	/* private from here */
	struct archive *raw;
	struct digest packed_digest, unpacked_digest;
	uint64_t unpacked_max;
	bool too_large;
	int fd;
	char *buffer, *unzipped;
	bool begun, zipped, zip_ended; /* read from; by gzip; between its members */
	z_stream zip;
	void (*on_progress)(void *context, uint64_t packed);
	void *context;
};

/* fd is borrowed, and read from where it is. More than unpacked_max bytes are refused. on_progress may be NULL. *ret must stay
 * where it is, and is to be given to stream_done() in every case. -1 with *err. */
int stream_open(int fd, uint64_t unpacked_max, void (*on_progress)(void *context, uint64_t packed),
		void *context, struct stream *ret, struct warder_error *err);
/* The digests of the whole file and of what it unpacks to. -1 with *err. */
int stream_finish(struct stream *stream, char ret_packed[static DIGEST_HEX],
		  char ret_unpacked[static DIGEST_HEX], struct warder_error *err);
/* After stream_finish(): whether the archive has its end, where no digest says that it is whole. -1 with *err. */
int stream_check_end(const struct stream *stream, struct warder_error *err);
/* Why the last call of libarchive failed. Returns -1. */
int stream_fault(const struct stream *stream, const char *member, struct warder_error *err);
void stream_done(struct stream *stream);

#endif
