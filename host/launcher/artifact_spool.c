/*
 * artifact_spool: the artifacts of one call. The streams of its program are written to files while it runs, because a result keeps only their
 * beginnings; a file that no result refers to is removed again. Collected files are held open by the result. They are in the memory of the
 * jail's /tmp, so they are copied. A batch has one program after the other; a call that keeps files of a sandbox has none. Together, the
 * artifacts of a call count at most ARTIFACT_RUN_BYTES.
 */
#include "host/launcher/artifact_spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/mime.h"
#include "runtime/library/result.h"

#define PIECE 65536

struct artifact_spool {
	int directory_fd;     /* borrowed */
	struct tenant tenant; /* name, digest and limits alone */
	struct run_artifact *streams[2];
	int fds[2];
	struct warder_spill spill;
	uint64_t left; /* that the next ones may count */
	struct run_artifact *made, **made_end;
};

struct artifact_spool *artifact_spool_new(int directory_fd, const struct tenant *tenant)
{
	struct artifact_spool *spool = calloc(1, sizeof(*spool));

	if (!spool)
		return NULL;
	spool->directory_fd = directory_fd;
	memcpy(spool->tenant.name, tenant->name, sizeof(spool->tenant.name));
	memcpy(spool->tenant.digest, tenant->digest, sizeof(spool->tenant.digest));
	spool->tenant.limits = tenant->limits;
	spool->fds[0] = spool->fds[1] = -1;
	spool->left = ARTIFACT_RUN_BYTES;
	spool->made_end = &spool->made;
	return spool;
}

void artifact_spool_close(struct artifact_spool *spool)
{
	for (size_t i = 0; i < 2; i++) {
		fd_done(&spool->fds[i]);
		run_artifact_free(spool->streams[i], spool->directory_fd);
		spool->streams[i] = NULL;
	}
}

void artifact_spool_drop(struct artifact_spool *spool)
{
	artifact_spool_close(spool);
	while (spool->made) {
		struct run_artifact *artifact = spool->made;

		spool->made = artifact->next;
		run_artifact_free(artifact, spool->directory_fd);
	}
	spool->made_end = &spool->made;
}

void artifact_spool_free(struct artifact_spool *spool)
{
	if (!spool)
		return;
	artifact_spool_drop(spool);
	free(spool);
}

/* A stream of that name. -1 with *err. */
static int open_stream(struct artifact_spool *spool, const char *under, size_t stream,
		       struct warder_error *err)
{
	static const char *const names[] = { "stdout", "stderr" };
	char *name;

	if (asprintf(&name, "%s%s", under, names[stream]) < 0)
		return error_no_memory(err, NULL);
	spool->streams[stream] =
	    run_artifact_new(spool->directory_fd, &spool->tenant, name, &spool->fds[stream], err);
	free(name);
	return spool->streams[stream] ? 0 : -1;
}

static uint64_t most_of(const struct artifact_spool *spool, size_t parts)
{
	const uint64_t part = spool->left / parts;

	return part < ARTIFACT_STREAM_BYTES ? part : ARTIFACT_STREAM_BYTES;
}

int artifact_spool_open(struct artifact_spool *spool, const char *under, const struct warder_spill **ret,
			struct warder_error *err)
{
	*ret = NULL;
	if (most_of(spool, 2) < ARTIFACT_LEAST)
		return 0;
	if (open_stream(spool, under, 0, err) < 0 || open_stream(spool, under, 1, err) < 0)
		return -1;
	spool->spill = (struct warder_spill){ .size = sizeof(spool->spill),
					      .fds = spool->fds,
					      .bytes_max = most_of(spool, 2),
					      .hold_files = 1 };
	*ret = &spool->spill;
	return 0;
}

struct run_artifact *artifact_spool_take(struct artifact_spool *spool)
{
	struct run_artifact *made = spool->made;

	spool->made = NULL;
	spool->made_end = &spool->made;
	return made;
}

/* ---- after the run ---- */

static void blame(struct result_reference *reference, const char *what, int error)
{
	char why[120];

	if (!reference->fault && asprintf(&reference->fault, "%s%s%s", what, error ? ": " : "",
					  error ? error_errno_text(error, why, sizeof(why)) : "") < 0)
		reference->fault = NULL;
}

static void set_expiry(const struct artifact_spool *spool, struct run_artifact *artifact, uint64_t now_ms)
{
	artifact->expires_ms = now_ms + spool->tenant.limits.artifact_seconds * 1000;
}

static void set_times(const struct artifact_spool *spool, struct run_artifact *artifact)
{
	artifact->created_ms = clock_wall_ms();
	set_expiry(spool, artifact, artifact->created_ms);
}

void artifact_spool_renew(struct artifact_spool *spool)
{
	const uint64_t now_ms = clock_wall_ms();

	for (struct run_artifact *one = spool->made; one; one = one->next)
		set_expiry(spool, one, now_ms);
}

/* From now on it is one of the call's. */
static void append(struct artifact_spool *spool, struct run_artifact *artifact)
{
	const uint64_t counts = artifact->size > ARTIFACT_LEAST ? artifact->size : ARTIFACT_LEAST;

	spool->left -= counts < spool->left ? counts : spool->left;
	*spool->made_end = artifact;
	spool->made_end = &artifact->next;
}

/* Its content is whole. */
static void add(struct artifact_spool *spool, struct run_artifact *artifact,
		struct result_reference *reference)
{
	struct json_writer w = { 0 };

	set_times(spool, artifact);
	json_begin_object(&w);
	run_artifact_write(artifact, &w);
	json_end_object(&w);
	reference->artifact = json_take(&w);
	if (!reference->artifact) {
		blame(reference, "it is not kept", ENOMEM);
		run_artifact_free(artifact, spool->directory_fd);
		return;
	}
	append(spool, artifact);
}

/* Read a file to its end, into a copy unless to_fd is -1, and note size, digest and type. -1 with errno. */
static int measure(int fd, int to_fd, struct run_artifact *artifact)
{
	char *piece = malloc(PIECE);
	struct sha256 sha;
	ssize_t n = piece ? 0 : -1;

	sha256_init(&sha);
	while (piece && (n = file_read_up_to(fd, piece, PIECE)) > 0) {
		if (!artifact->size)
			artifact->content_type = mime_type(artifact->name, piece, (size_t)n);
		sha256_add(&sha, piece, (size_t)n);
		artifact->size += (uint64_t)n;
		if (to_fd >= 0 && file_write_all(to_fd, piece, (size_t)n) < 0) {
			n = -1;
			break;
		}
	}
	free(piece);
	if (!artifact->content_type)
		artifact->content_type = mime_type(artifact->name, NULL, 0);
	sha256_hex(&sha, artifact->sha256);
	return n < 0 ? -1 : 0;
}

static void keep_stream(struct artifact_spool *spool, bool all, struct warder_result *result, size_t stream)
{
	const struct jail_outcome *outcome = &result->outcome;
	struct result_reference *reference = &result->streams[stream];
	struct run_artifact *artifact = spool->streams[stream];

	if (all ? outcome->output[stream].total == 0 : !outcome->output[stream].truncated)
		return;
	if (!artifact) {
		blame(reference,
		      "it is not stored: the artifacts of this request have reached their limit of 192 MiB; "
		      "let one request leave less",
		      0);
		return;
	}
	reference->truncated = outcome->spilled[stream] < outcome->output[stream].total;
	if (outcome->spill_errno[stream])
		blame(reference, "not all of it could be kept", outcome->spill_errno[stream]);
	if (lseek(spool->fds[stream], 0, SEEK_SET) < 0 || measure(spool->fds[stream], -1, artifact) < 0) {
		blame(reference, "it cannot be read again", errno);
		return;
	}
	spool->streams[stream] = NULL;
	add(spool, artifact, reference);
}

static void keep_file(struct artifact_spool *spool, const struct rootfs_item *item,
		      struct result_reference *reference)
{
	struct warder_error err;
	owned_fd int fd = -1;
	struct run_artifact *artifact =
	    run_artifact_new(spool->directory_fd, &spool->tenant, item->path, &fd, &err);

	if (!artifact) {
		blame(reference, "it is not kept", err.sys_errno ? err.sys_errno : ENOMEM);
		return;
	}
	if (measure(item->fd, fd, artifact) == 0) {
		add(spool, artifact, reference);
		return;
	}
	blame(reference, "it is not kept", errno);
	run_artifact_free(artifact, spool->directory_fd);
}

void artifact_spool_keep(struct artifact_spool *spool, bool all, struct warder_result *result)
{
	const struct rootfs_collection *files = &result->outcome.collected;

	for (size_t stream = 0; stream < 2; stream++)
		keep_stream(spool, all, result, stream);
	artifact_spool_close(spool);
	result->references = calloc(files->count + 1, sizeof(*result->references));
	for (size_t i = 0; result->references && i < files->count; i++)
		if (files->items[i].taken == ROOTFS_TAKEN_HELD)
			keep_file(spool, &files->items[i], &result->references[i]);
}

/* ---- without a run ---- */

struct run_artifact *artifact_spool_begin(const struct artifact_spool *spool, const char *name, int *ret_fd,
					  uint64_t *ret_most, struct warder_error *err)
{
	*ret_most = most_of(spool, 1);
	if (*ret_most < ARTIFACT_LEAST) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "bytes", "no room is left");
		return NULL;
	}
	return run_artifact_new(spool->directory_fd, &spool->tenant, name, ret_fd, err);
}

int artifact_spool_end(struct artifact_spool *spool, struct run_artifact *artifact, int fd, bool good,
		       struct warder_error *err)
{
	if (good && lseek(fd, 0, SEEK_SET) == 0 && measure(fd, -1, artifact) == 0) {
		set_times(spool, artifact);
		append(spool, artifact);
		return 0;
	}
	if (good)
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				"the artifact cannot be read again");
	run_artifact_free(artifact, spool->directory_fd);
	return -1;
}

char *artifact_spool_text(const struct artifact_spool *spool)
{
	struct json_writer w = { 0 };

	json_begin_array(&w);
	for (const struct run_artifact *one = spool->made; one; one = one->next)
		run_artifact_write_row(one, &w);
	json_end_array(&w);
	return json_take(&w);
}
