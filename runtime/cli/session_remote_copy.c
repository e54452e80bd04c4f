/*
 * session_remote_copy: the word cp of a session on another machine.
 *
 * session_remote_fetch.c brings files of the session to the stage, session_remote_send.c sends them from there.
 */
#include "runtime/cli/session_remote_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/report.h"
#include "runtime/cli/session_remote_files.h"
#include "runtime/code/scratch.h"

#define STAGE       "stage"
#define STAGED_PATH (SCRATCH_PATH_BYTES + 2 * NAME_MAX)

/* The name that a copy of the path gets in a directory; ".": the content of the path goes into the directory. */
static int take_base(const char *path, char ret[NAME_MAX + 1], struct warder_error *err)
{
	size_t len = strlen(path), start;

	while (len > 1 && path[len - 1] == '/')
		len--;
	for (start = len; start && path[start - 1] != '/';)
		start--;
	if (!len || len - start > NAME_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
				 "%.200s is not the path of a file", path);
	snprintf(ret, NAME_MAX + 1, "%.*s", (int)(len - start), path + start);
	if (!*ret || strcmp(ret, "..") == 0 || strcmp(ret, "/") == 0)
		strcpy(ret, ".");
	return 0;
}

static void count_omitted(void *context, const char *path, const char *why)
{
	struct remote_copy *copy = context;

	copy->omitted++;
	session_say_omitted(path, why);
}

static int copy_here(struct remote_copy *copy, const char *from, const char *to,
		     enum session_files_existing existing, struct warder_error *err)
{
	const struct session_files_copy how = {
		.bytes_max = copy->left, .existing = existing, .on_omitted = count_omitted, .context = copy
	};

	return session_files_copy_here(from, to, &how, err);
}

static int copy_in(struct remote_copy *copy, const char *stage, const char *host, const char *base,
		   struct warder_error *err)
{
	const char *item = strcmp(base, ".") == 0 ? "content" : base;
	char path[STAGED_PATH];

	snprintf(path, sizeof(path), "%s/%s", stage, item);
	return copy_here(copy, host, path, SESSION_FILES_MERGE, err) < 0
		   ? -1
		   : session_remote_send(copy, item, base, err);
}

static int copy_out(struct remote_copy *copy, const char *stage, const char *host, const char *base,
		    struct warder_error *err)
{
	char path[STAGED_PATH];

	snprintf(path, sizeof(path), "%s/%s", stage, base);
	if (session_remote_fetch(copy, base, err) < 0)
		return -1;
	copy->left = copy->most;
	return copy_here(copy, path, host, copy->args->session.existing, err);
}

static int copy_by_stage(struct remote_copy *copy, const char *stage, const struct session_cp_places *places,
			 struct warder_error *err)
{
	char base[NAME_MAX + 1];

	if (take_base(places->in ? places->host : places->path, base, err) < 0)
		return -1;
	return (places->in ? copy_in : copy_out)(copy, stage, places->host, base, err);
}

static int copy_files(const struct remote_place *place, const struct args *args, const void *of,
		      struct warder_error *err)
{
	const struct session_cp_places *places = of;
	const uint64_t most = args->session.bytes_max ? args->session.bytes_max : SESSION_FILES_BYTES;
	struct remote_copy copy = {
		.args = args, .place = place, .path = places->path, .most = most, .left = most
	};
	struct scratch scratch = SCRATCH_NONE;
	char stage[SCRATCH_PATH_BYTES + sizeof(STAGE) + 1];
	owned_fd int fd = -1;
	int status = scratch_open(STAGE, &scratch, err);

	if (status == 0) {
		snprintf(stage, sizeof(stage), "%s/" STAGE, scratch.path);
		copy.stage_fd = fd = openat(scratch.fd, STAGE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		status = fd < 0 ? error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "TMPDIR", errno,
						  "%.200s cannot be opened", stage)
				: copy_by_stage(&copy, stage, places, err);
	}
	scratch_done(&scratch);
	return status == 0 && copy.omitted ? 1 : status;
}

int session_remote_cp_word(struct args *outer, const char *name, char **flags)
{
	struct session_cp_places places = { 0 };
	struct args args;
	struct warder_error err = { 0 };
	int status = args_parse(FLAG_SESSION_FILES, flags, &args, &err);

	/* A signal ends a request, and then the stage is removed. */
	report_catch_signals();
	if (status == 0 && (!args.rest[0] || args.rest[1]))
		status = error_set(&err, WARDER_ERROR_INVALID_REQUEST, "path",
				   "two places: warder session cp NAME:PATH PATH, or cp PATH NAME:PATH");
	if (status == 0)
		status = session_cp_places(name, args.rest[0], &places, &err);
	return session_remote_files_do(&args, status, places.session, copy_files, &places, &err);
}
