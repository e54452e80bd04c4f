/*
 * Two of libarchive's readers, one behind the other: the first one only decompresses ("raw"), the second one knows tar and nothing
 * else. So what is hashed in between is exactly what the second one gets, and no filter or format that libarchive knows besides
 * is ever tried on hostile bytes.
 */
#include "store/images/stream.h"

#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER ((size_t)256 * 1024)

static const char field[] = "image";

/* Bytes of the file into the buffer, after `len` that are there; 0 at the end. -1 with the archive's error set. */
static ssize_t read_file(struct archive *archive, struct stream *stream, size_t len)
{
	ssize_t n;

	do {
		n = read(stream->fd, stream->buffer + len, BUFFER - len);
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		archive_set_error(archive, errno, "the file cannot be read: %s", strerror(errno));
		return -1;
	}
	digest_add(&stream->packed_digest, stream->buffer + len, (size_t)n);
	stream->packed += (uint64_t)n;
	if (stream->on_progress)
		stream->on_progress(stream->context, stream->packed);
	return n;
}

/* The first bytes, of which is seen whether they are gzip's. */
static ssize_t read_first(struct archive *archive, struct stream *stream)
{
	size_t len = 0;
	ssize_t n = 1;

	stream->begun = true;
	while (n > 0 && len < 2) {
		n = read_file(archive, stream, len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0 || len < 2 || memcmp(stream->buffer, "\x1f\x8b", 2) != 0)
		return n < 0 ? -1 : (ssize_t)len;
	if (inflateInit2(&stream->zip, 15 + 16) != Z_OK) {
		archive_set_error(archive, ENOMEM, "out of memory");
		return -1;
	}
	stream->zipped = true;
	stream->zip.next_in = (unsigned char *)stream->buffer;
	stream->zip.avail_in = (unsigned)len;
	return 0;
}

/* More of the file for gzip. 1; 0 at its end; -1. */
static int feed(struct archive *archive, struct stream *stream)
{
	ssize_t n;

	if (stream->zip.avail_in)
		return 1;
	n = read_file(archive, stream, 0);
	if (n == 0 && !stream->zip_ended) {
		archive_set_error(archive, EINVAL, "the gzip data is cut off");
		return -1;
	}
	stream->zip.next_in = (unsigned char *)stream->buffer;
	stream->zip.avail_in = n > 0 ? (unsigned)n : 0;
	return n > 0 ? 1 : (int)n;
}

/* A piece of what gzip has compressed, maybe nothing: in one member after the other, with nothing but zeros behind the last. */
static int inflate_some(struct archive *archive, struct stream *stream)
{
	int status;

	if (stream->zip_ended && *stream->zip.next_in == 0) {
		stream->zip.next_in++;
		stream->zip.avail_in--;
		return 0;
	}
	if (stream->zip_ended)
		inflateReset(&stream->zip);
	status = inflate(&stream->zip, Z_NO_FLUSH);
	stream->zip_ended = status == Z_STREAM_END;
	if (status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR)
		return 0;
	archive_set_error(archive, EINVAL, "the gzip data is damaged: %s",
			  stream->zip.msg ? stream->zip.msg : "no memory");
	return -1;
}

/* The file, without gzip if that compressed it: libarchive does not look at its checksums. */
static ssize_t read_packed(struct archive *archive, void *context, const void **ret)
{
	struct stream *stream = context;
	ssize_t n;
	int fed;

	if (!stream->begun) {
		n = read_first(archive, stream);
		*ret = stream->buffer;
		if (!stream->zipped)
			return n < 0 ? ARCHIVE_FATAL : n;
	} else if (!stream->zipped) {
		n = read_file(archive, stream, 0);
		*ret = stream->buffer;
		return n < 0 ? ARCHIVE_FATAL : n;
	}
	stream->zip.next_out = (unsigned char *)stream->unzipped;
	stream->zip.avail_out = BUFFER;
	while (stream->zip.avail_out == BUFFER) {
		fed = feed(archive, stream);
		if (fed <= 0)
			return fed < 0 ? ARCHIVE_FATAL : 0;
		if (inflate_some(archive, stream) != 0)
			return ARCHIVE_FATAL;
	}
	*ret = stream->unzipped;
	return (ssize_t)(BUFFER - stream->zip.avail_out);
}

/* Bytes of the unpacked stream; 0 at the end. */
static ssize_t read_unpacked(struct archive *archive, void *context, const void **ret)
{
	struct stream *stream = context;
	la_int64_t offset;
	size_t len = 0;
	int status;

	do {
		status = archive_read_data_block(stream->raw, ret, &len, &offset);
	} while (status == ARCHIVE_RETRY || (status == ARCHIVE_OK && len == 0));
	if (status == ARCHIVE_EOF)
		return 0;
	if (status != ARCHIVE_OK) {
		archive_set_error(archive, archive_errno(stream->raw), "%s",
				  archive_error_string(stream->raw));
		return ARCHIVE_FATAL;
	}
	stream->unpacked += len;
	if (stream->unpacked > stream->unpacked_max) {
		stream->too_large = true;
		archive_set_error(archive, EFBIG, "it unpacks to too much");
		return ARCHIVE_FATAL;
	}
	digest_add(&stream->unpacked_digest, *ret, len);
	return (ssize_t)len;
}

static struct archive *raw_reader(void)
{
	struct archive *raw = archive_read_new();

	if (raw && archive_read_support_filter_zstd(raw) == ARCHIVE_OK &&
	    archive_read_support_filter_xz(raw) == ARCHIVE_OK &&
	    archive_read_support_format_raw(raw) == ARCHIVE_OK)
		return raw;
	archive_read_free(raw);
	return NULL;
}

int stream_open(int fd, uint64_t unpacked_max, void (*on_progress)(void *context, uint64_t packed),
		void *context, struct stream *ret, struct warder_error *err)
{
	struct archive_entry *entry;
	int status;

	*ret = (struct stream){
		.fd = fd, .unpacked_max = unpacked_max, .on_progress = on_progress, .context = context
	};
	ret->buffer = malloc(BUFFER);
	ret->unzipped = malloc(BUFFER);
	ret->raw = raw_reader();
	ret->tar = archive_read_new();
	digest_init(&ret->packed_digest);
	digest_init(&ret->unpacked_digest);
	if (!ret->buffer || !ret->unzipped || !ret->raw || !ret->tar ||
	    archive_read_support_format_tar(ret->tar) != ARCHIVE_OK)
		return error_set(err, WARDER_ERROR_INTERNAL, field, "the archive reader cannot be set up");
	if (archive_read_open(ret->raw, ret, NULL, read_packed, NULL) != ARCHIVE_OK)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "no archive that can be read: %.200s", archive_error_string(ret->raw));
	status = archive_read_next_header(ret->raw, &entry);
	if (status != ARCHIVE_OK)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "no archive that can be read: %.200s",
				 status == ARCHIVE_EOF ? "it is empty" : archive_error_string(ret->raw));
	if (archive_read_open(ret->tar, ret, NULL, read_unpacked, NULL) != ARCHIVE_OK)
		return stream_fault(ret, NULL, err);
	return 0;
}

int stream_fault(const struct stream *stream, const char *member, struct warder_error *err)
{
	const char *why = archive_error_string(stream->tar);

	if (stream->too_large)
		return error_set(err, WARDER_ERROR_REJECTED, field,
				 "the archive unpacks to more than %llu bytes; --max-size allows more",
				 (unsigned long long)stream->unpacked_max);
	if (member)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "member %.160s cannot be read: %.160s", member,
				 why ? why : "the archive is damaged");
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "no tar archive that can be read: %.200s",
			 why ? why : "it is damaged");
}

int stream_finish(struct stream *stream, char ret_packed[static DIGEST_HEX],
		  char ret_unpacked[static DIGEST_HEX], struct warder_error *err)
{
	const void *bytes;
	ssize_t n;

	do {
		n = read_unpacked(stream->tar, stream, &bytes);
	} while (n > 0);
	if (n < 0)
		return stream_fault(stream, NULL, err);
	/* Behind the end of what is compressed. */
	do {
		n = read_packed(stream->tar, stream, &bytes);
	} while (n > 0);
	if (n < 0)
		return stream_fault(stream, NULL, err);
	if (digest_hex(&stream->packed_digest, ret_packed) != 0 ||
	    digest_hex(&stream->unpacked_digest, ret_unpacked) != 0)
		return error_no_memory(err, field);
	return 0;
}

int stream_check_end(const struct stream *stream, struct warder_error *err)
{
	/* Where the last look for a member began: behind the last one. */
	const la_int64_t end = archive_read_header_position(stream->tar);

	if (end >= 0 && stream->unpacked >= (uint64_t)end + 512)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
			 "the archive has no end: it is cut off (a tar archive ends with blocks of zeros)");
}

void stream_done(struct stream *stream)
{
	archive_read_free(stream->tar);
	archive_read_free(stream->raw);
	digest_done(&stream->packed_digest);
	digest_done(&stream->unpacked_digest);
	free(stream->buffer);
	free(stream->unzipped);
	if (stream->zipped)
		inflateEnd(&stream->zip);
	*stream = (struct stream){ .fd = -1 };
}
