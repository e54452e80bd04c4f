#include "host/launcher/outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/json_write.h"
#include "base/sha256.h"
#include "runtime/session/session.h"

#define READ_US UINT64_C(10000000) /* in which a keeper gives the output that it has */
#define LOOK_MS 1000

struct stream {
	uint64_t offset, bytes;
	uint64_t until; /* no more than up to this offset is read; UINT64_MAX: up to the end */
	struct sha256 sha;
	struct run_artifact *artifact; /* or NULL */
	int fd;                        /* of the artifact; or -1 */
	int failed;                    /* errno of its file */
};

static const char *const names[] = { "stdout", "stderr" };

static void begin(struct stream *stream, uint64_t offset)
{
	*stream = (struct stream){ .offset = offset, .until = UINT64_MAX, .fd = -1 };
	sha256_init(&stream->sha);
}

static void add(struct stream *stream, const void *bytes, size_t len)
{
	const uint64_t room = stream->until - stream->offset - stream->bytes;

	if (len > room)
		len = (size_t)room;
	stream->bytes += len;
	sha256_add(&stream->sha, bytes, len);
	if (stream->fd >= 0 && !stream->failed && file_write_all(stream->fd, bytes, len) < 0)
		stream->failed = errno;
}

/* What the keeper still has begins here. What came before, while it wrote over that, is no part of it any more. */
static void skip(struct stream *stream, uint64_t offset)
{
	stream->offset = offset < stream->until ? offset : stream->until;
	stream->bytes = 0;
	sha256_init(&stream->sha);
	if (stream->fd >= 0 && (ftruncate(stream->fd, 0) < 0 || lseek(stream->fd, 0, SEEK_SET) < 0))
		stream->failed = errno;
}

static bool is_full(const struct stream *stream)
{
	return stream->offset + stream->bytes >= stream->until;
}

static char *write_streams(struct stream streams[2])
{
	struct json_writer w = { 0 };
	char digest[SHA256_HEX];

	json_begin_object(&w);
	for (int i = 0; i < 2; i++) {
		sha256_hex(&streams[i].sha, digest);
		json_key(&w, names[i]);
		json_begin_object(&w);
		json_key_uint(&w, "offset", streams[i].offset);
		json_key_uint(&w, "bytes", streams[i].bytes);
		json_key_string(&w, "sha256", digest);
		json_end_object(&w);
	}
	json_end_object(&w);
	return json_take(&w);
}

/* In front of the brace that closes the answer. */
static int put(struct stream streams[2], char **answer, struct warder_error *err)
{
	static const char head[] = ",\"outputs\":";
	char *text = write_streams(streams);
	const size_t len = strlen(*answer) - 1, text_len = text ? strlen(text) : 0;
	char *grown = text ? realloc(*answer, len + sizeof(head) + text_len + 1) : NULL;

	if (grown) {
		*answer = grown;
		memcpy(grown + len, head, sizeof(head) - 1);
		memcpy(grown + len + sizeof(head) - 1, text, text_len);
		memcpy(grown + len + sizeof(head) - 1 + text_len, "}", 2);
	}
	free(text);
	return grown ? 0 : error_no_memory(err, NULL);
}

int outputs_add_result(const struct warder_result *result, char **answer, struct warder_error *err)
{
	static const enum warder_stream which[] = { WARDER_STDOUT, WARDER_STDERR };
	struct stream streams[2];

	for (int i = 0; i < 2; i++) {
		uint64_t total = UINT64_MAX;
		size_t len = 0;
		const char *bytes = warder_result_output(result, which[i], &len, &total);

		if (total == UINT64_MAX)
			return 0;
		begin(&streams[i], 0);
		add(&streams[i], bytes, len);
	}
	return put(streams, answer, err);
}

/* Up to the end of the output, or as far as it is wanted. */
static int read_streams(struct remote *remote, struct stream streams[2], struct warder_error *err)
{
	const uint64_t until_us = clock_us() + READ_US;
	struct remote_event event = { .kind = REMOTE_NOTHING };

	while (event.kind != REMOTE_END && !(is_full(&streams[0]) && is_full(&streams[1]))) {
		if (remote_next(remote, LOOK_MS, &event, err) < 0)
			return -1;
		if (event.kind == REMOTE_BYTES) {
			add(&streams[event.stream], event.bytes, (size_t)(event.end - event.offset));
		} else if (event.kind == REMOTE_GAP) { /* in front of the rest */
			skip(&streams[event.stream], event.end);
		} else {
			free(event.text);
		}
		if (event.kind != REMOTE_END && clock_us() > until_us)
			return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
					 "the sandbox does not give the output of the execution in time");
	}
	return 0;
}

static int begin_artifacts(const char *id, struct artifact_spool *spool, struct stream streams[2],
			   struct warder_error *err)
{
	uint64_t most;
	char name[64];

	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%.40s/%s", id, names[i]);
		streams[i].artifact = artifact_spool_begin(spool, name, &streams[i].fd, &most, err);
		if (!streams[i].artifact)
			return -1;
	}
	return 0;
}

/* Read the output of an execution: all of it, or with a spool what it has written so far, into artifacts. */
static int read_execution(const char *session, const char *id, struct artifact_spool *spool,
			  struct stream streams[2], struct warder_error *err)
{
	const uint64_t from[2] = { 0 };
	struct remote *remote = NULL;
	struct remote_attached attached;
	int status;

	begin(&streams[0], 0);
	begin(&streams[1], 0);
	status = remote_open_in(session, id, &remote, err);
	if (status == 0 && spool)
		status = begin_artifacts(id, spool, streams, err);
	if (status == 0)
		status = remote_attach(remote, from, false, &attached, err);
	for (int i = 0; i < 2 && status == 0 && spool; i++)
		streams[i].until = attached.totals[i];
	if (status == 0)
		status = read_streams(remote, streams, err);
	remote_free(remote);
	return status;
}

int outputs_add_execution(const char *session, const char *id, char **answer, struct warder_error *err)
{
	struct stream streams[2];

	return read_execution(session, id, NULL, streams, err) == 0 ? put(streams, answer, err) : -1;
}

/* A stream without output leaves none. Of one whose output is lost, an empty artifact says by its offset how much that was. */
static int end_artifact(struct artifact_spool *spool, struct stream *stream, bool good,
			struct warder_error *err)
{
	int status = 0;

	if (good && stream->failed)
		status = error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, stream->failed,
					 "the artifact cannot be written");
	if (stream->artifact) {
		const bool keeps = good && status == 0 && stream->offset + stream->bytes > 0;
		struct warder_error ignored;

		stream->artifact->offset = stream->offset;
		if (artifact_spool_end(spool, stream->artifact, stream->fd, keeps, keeps ? err : &ignored) <
			0 &&
		    keeps)
			status = -1;
	}
	fd_done(&stream->fd);
	return status;
}

int outputs_keep_execution(const char *session, const char *id, struct artifact_spool *spool,
			   struct warder_error *err)
{
	struct stream streams[2];
	int status = read_execution(session, id, spool, streams, err);

	for (int i = 0; i < 2; i++)
		if (end_artifact(spool, &streams[i], status == 0, err) < 0)
			status = -1;
	return status;
}
