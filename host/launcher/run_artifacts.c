/*
 * run_artifacts: the table of artifacts. Removing a large file takes a while, so a job does it, and the main thread never waits for the disk.
 */
#include "host/launcher/run_artifacts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "host/launcher/host.h"
#include "host/launcher/state.h"
#include "runtime/library/result.h"

#define SWEEP_MS 1000

int run_artifacts_open(const char *state, struct run_artifacts *ret, struct warder_error *err)
{
	if (state_open(state, STATE_ARTIFACTS, &ret->directory_fd, err) < 0)
		return -1;
	state_remove_all(ret->directory_fd, "");
	return 0;
}

void run_artifacts_close(struct run_artifacts *artifacts)
{
	if (artifacts->directory_fd >= 0)
		state_remove_all(artifacts->directory_fd, "");
	while (artifacts->items) {
		struct run_artifact *artifact = artifacts->items;

		artifacts->items = artifact->next;
		run_artifact_free(artifact, -1);
	}
	fd_done(&artifacts->directory_fd);
}

/* ---- one ---- */

struct run_artifact *run_artifact_new(int directory_fd, const struct tenant *tenant, const char *name,
				      int *ret_fd, struct warder_error *err)
{
	struct run_artifact *artifact = calloc(1, sizeof(*artifact));
	uint64_t number[2];

	if (artifact)
		artifact->name = strdup(name);
	if (!artifact || !artifact->name || getrandom(number, sizeof(number), 0) != sizeof(number)) {
		run_artifact_free(artifact, -1);
		error_no_memory(err, NULL);
		return NULL;
	}
	snprintf(artifact->id, sizeof(artifact->id), "art-%016" PRIx64 "%016" PRIx64, number[0], number[1]);
	snprintf(artifact->tenant, sizeof(artifact->tenant), "%s", tenant->name);
	memcpy(artifact->tenant_digest, tenant->digest, sizeof(artifact->tenant_digest));
	*ret_fd =
	    openat(directory_fd, artifact->id, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*ret_fd >= 0)
		return artifact;
	error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "artifacts", errno,
			"cannot make a file for an artifact");
	run_artifact_free(artifact, -1);
	return NULL;
}

void run_artifact_free(struct run_artifact *artifact, int directory_fd)
{
	if (!artifact)
		return;
	if (directory_fd >= 0)
		unlinkat(directory_fd, artifact->id, 0);
	free(artifact->name);
	free(artifact);
}

void run_artifact_write(const struct run_artifact *artifact, struct json_writer *w)
{
	json_key_string(w, "id", artifact->id);
	json_key_string(w, "contentType", artifact->content_type);
	result_write_time(w, "createdAt", artifact->created_ms);
	result_write_time(w, "expiresAt", artifact->expires_ms);
	json_key_uint(w, "size", artifact->size);
	json_key_string(w, "sha256", artifact->sha256);
	if (artifact->offset)
		json_key_uint(w, "offset", artifact->offset);
}

void run_artifact_write_row(const struct run_artifact *artifact, struct json_writer *w)
{
	json_begin_object(w);
	text_write_name(w, "name", "nameBase64", artifact->name);
	run_artifact_write(artifact, w);
	json_end_object(w);
}

/* ---- the table ---- */

static bool has_tenant(const struct launcher *launcher, const struct run_artifact *artifact)
{
	const struct tenant *tenant = tenants_named(&launcher->tenants, artifact->tenant);

	return tenant && strcmp(tenant->digest, artifact->tenant_digest) == 0;
}

void run_artifacts_add(struct launcher *launcher, struct run_artifact *artifact)
{
	/* If its tenant is gone, the next sweep removes it. */
	while (artifact) {
		struct run_artifact *next = artifact->next;

		artifact->next = launcher->artifacts.items;
		launcher->artifacts.items = artifact;
		artifact = next;
	}
}

bool run_artifact_is_of(const struct run_artifact *artifact, const struct tenant *tenant)
{
	return strcmp(artifact->tenant_digest, tenant->digest) == 0;
}

const struct run_artifact *run_artifacts_find(const struct run_artifacts *artifacts,
					      const struct tenant *tenant, const char *id)
{
	const struct run_artifact *artifact = artifacts->items;

	while (artifact && (strcmp(artifact->id, id) != 0 || !run_artifact_is_of(artifact, tenant)))
		artifact = artifact->next;
	return artifact;
}

uint64_t run_artifacts_bytes(const struct run_artifacts *artifacts, const char *tenant)
{
	uint64_t bytes = 0;

	for (const struct run_artifact *one = artifacts->items; one; one = one->next)
		if (strcmp(one->tenant, tenant) == 0)
			bytes += one->size > ARTIFACT_LEAST ? one->size : ARTIFACT_LEAST;
	return bytes;
}

/* ---- removal ---- */

struct removal {
	struct job job;
	int directory_fd;           /* borrowed: exists until all jobs are done */
	struct run_artifact *items; /* owned */
};

static void remove_work(struct job *job)
{
	struct removal *removal = (struct removal *)(void *)job;

	while (removal->items) {
		struct run_artifact *artifact = removal->items;

		removal->items = artifact->next;
		run_artifact_free(artifact, removal->directory_fd);
	}
}

static void remove_finish(struct job *job, void *launcher)
{
	free(job);
}

static void begin_removal(struct launcher *launcher, struct removal *removal)
{
	removal->directory_fd = launcher->artifacts.directory_fd;
	removal->job =
	    (struct job){ .tenant = "", .kind = JOB_SHORT, .work = remove_work, .finish = remove_finish };
	jobs_add(&launcher->jobs, &removal->job);
}

/* Those that `goes` chooses. False: no memory. */
static bool remove_some(struct launcher *launcher,
			bool (*goes)(const struct launcher *launcher, const struct run_artifact *artifact,
				     const void *context),
			const void *context)
{
	struct removal *removal = NULL;

	for (struct run_artifact **at = &launcher->artifacts.items; *at;) {
		struct run_artifact *artifact = *at;

		if (!goes(launcher, artifact, context)) {
			at = &artifact->next;
			continue;
		}
		if (!removal)
			removal = calloc(1, sizeof(*removal));
		if (!removal)
			return false;
		*at = artifact->next;
		artifact->next = removal->items;
		removal->items = artifact;
	}
	if (removal)
		begin_removal(launcher, removal);
	return true;
}

void run_artifacts_drop(struct launcher *launcher, struct run_artifact *artifact)
{
	struct removal *removal = artifact ? calloc(1, sizeof(*removal)) : NULL;

	if (removal) {
		removal->items = artifact;
		begin_removal(launcher, removal);
		return;
	}
	/* Without memory, the next sweep removes them. */
	for (struct run_artifact *one = artifact; one; one = one->next)
		one->expires_ms = 0;
	run_artifacts_add(launcher, artifact);
}

static bool is_the_one(const struct launcher *launcher, const struct run_artifact *artifact,
		       const void *context)
{
	return artifact == context;
}

bool run_artifacts_remove(struct launcher *launcher, const struct run_artifact *artifact)
{
	return remove_some(launcher, is_the_one, artifact);
}

static bool is_over(const struct launcher *launcher, const struct run_artifact *artifact, const void *context)
{
	const uint64_t *now_ms = context;

	return *now_ms >= artifact->expires_ms || !has_tenant(launcher, artifact);
}

void run_artifacts_sweep(struct launcher *launcher, uint64_t now_ms)
{
	struct run_artifacts *artifacts = &launcher->artifacts;

	if (now_ms - artifacts->swept_ms < SWEEP_MS)
		return;
	artifacts->swept_ms = now_ms;
	remove_some(launcher, is_over, &now_ms);
}
