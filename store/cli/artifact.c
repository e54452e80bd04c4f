/*
 * artifact: named, versioned content, on the command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "policy/policy.h"
#include "runtime/library/result.h"
#include "store/artifacts/artifacts.h"
#include "runtime/cli/term.h"
#include "store/cli/command.h"
#include "store/cli/show.h"

#define SIZE_DEFAULT ((uint64_t)16 << 30)

typedef int work(struct artifacts *artifacts, const struct options *options, struct warder_error *err);

static int with_artifacts(work *act, const struct options *options, struct warder_error *err)
{
	struct artifacts artifacts = ARTIFACTS_NONE;
	int status = artifacts_open(option(options, "--store"), &artifacts, err);

	if (status == 0)
		status = act(&artifacts, options, err);
	artifacts_done(&artifacts);
	return status;
}

static int print_saved(const struct artifact *artifact, bool json, struct warder_error *err)
{
	struct json_writer w = { 0 };

	if (!json) {
		printf("%s@%" PRIu64 "\n", artifact->name, artifact->version);
		return 0;
	}
	json_begin_object(&w);
	artifact_write(artifact, &w);
	json_end_object(&w);
	return term_put(json_take(&w), err);
}

static int save_one(struct artifacts *artifacts, const struct options *options, struct warder_error *err)
{
	const char *file = options->operand_count > 1 ? options->operands[1] : "-";
	owned_fd int fd =
	    strcmp(file, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : show_open_file(file, err);
	uint64_t most = SIZE_DEFAULT;
	struct artifact artifact;
	int status;

	if (fd < 0)
		return strcmp(file, "-") == 0
			   ? error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, file, errno, "cannot be read")
			   : -1;
	if (option(options, "--max-size") &&
	    policy_parse_size(option(options, "--max-size"), &most, err) != 0)
		return error_context(err, "--max-size");
	if (artifacts_save(artifacts, options->operands[0], option(options, "--type"), fd, most, &artifact,
			   err) != 0)
		return -1;
	status = print_saved(&artifact, option_given(options, "--json"), err);
	artifact_done(&artifact);
	return status;
}

static int save(const struct options *options, struct warder_error *err)
{
	return with_artifacts(save_one, options, err);
}

/* ---- several at once ---- */

/* An answer for each: the artifact, or {"error": ...}. */
static void take_one(struct artifacts *artifacts, const char *name, const char *number, uint64_t most,
		     struct json_writer *w)
{
	struct warder_error err = { 0 };
	struct artifact artifact;
	char *end = NULL;
	const long fd = strtol(number, &end, 10);

	json_begin_object(w);
	if (end == number || *end || fd < 3 || fd > 1 << 20)
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "artifact", "%.40s is not a descriptor above 2",
			  number);
	else if (artifacts_save(artifacts, name, NULL, (int)fd, most, &artifact, &err) == 0) {
		artifact_write(&artifact, w);
		artifact_done(&artifact);
	}
	if (err.code)
		result_write_error(&err, NULL, w);
	json_end_object(w);
}

static int take_all(struct artifacts *artifacts, const struct options *options, struct warder_error *err)
{
	uint64_t most = SIZE_DEFAULT;
	struct json_writer w = { 0 };

	if (option(options, "--max-size") &&
	    policy_parse_size(option(options, "--max-size"), &most, err) != 0)
		return error_context(err, "--max-size");
	json_begin_array(&w);
	for (char **each = options->program; each[0] && each[1]; each += 2)
		take_one(artifacts, each[0], each[1], most, &w);
	json_end_array(&w);
	return term_put(json_take(&w), err);
}

static int take(const struct options *options, struct warder_error *err)
{
	size_t count = 0;

	while (options->program && options->program[count])
		count++;
	if (count == 0 || count % 2)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "take",
				 "write pairs of a name and the number of an open descriptor behind --");
	return with_artifacts(take_all, options, err);
}

/* ---- looking ---- */

static int print_artifact(void *context, const struct artifact *artifact, struct warder_error *err)
{
	struct json_writer *w = context;

	(void)err;
	if (w) {
		json_begin_object(w);
		artifact_write(artifact, w);
		json_end_object(w);
		return 0;
	}
	printf("%12" PRIu64 " %s ", artifact->content.size, artifact->created);
	show_cell(artifact->name, 0, 0);
	printf("@%" PRIu64 " ", artifact->version);
	show_cell(artifact->type, 0, 0);
	putchar('\n');
	return 0;
}

static int list_all(struct artifacts *artifacts, const struct options *options, struct warder_error *err)
{
	const bool json = option_given(options, "--json");
	struct json_writer w = { 0 };
	int status;

	json_begin_array(&w);
	status = artifacts_each(artifacts, options->operands[0], print_artifact, json ? &w : NULL, err);
	json_end_array(&w);
	if (status == 0 && json)
		return term_put(json_take(&w), err);
	json_writer_done(&w);
	return status;
}

static int list(const struct options *options, struct warder_error *err)
{
	return with_artifacts(list_all, options, err);
}

static int read_to(struct artifacts *artifacts, const struct options *options, int to_fd,
		   struct warder_error *err)
{
	struct artifact_reference reference;
	struct artifact artifact;
	int status;

	if (artifact_reference_parse(options->operands[0], &reference, err) != 0 ||
	    artifacts_find(artifacts, &reference, &artifact, err) != 0)
		return -1;
	status = artifacts_read(artifacts, &artifact, to_fd, err);
	artifact_done(&artifact);
	return status;
}

static int read_one(struct artifacts *artifacts, const struct options *options, struct warder_error *err)
{
	return read_to(artifacts, options, STDOUT_FILENO, err);
}

static int read_artifact(const struct options *options, struct warder_error *err)
{
	return with_artifacts(read_one, options, err);
}

struct verifying {
	struct artifacts *artifacts;
	size_t count;
};

static int verify_each(void *context, const struct artifact *artifact, struct warder_error *err)
{
	struct verifying *verifying = context;

	verifying->count++;
	if (artifacts_read(verifying->artifacts, artifact, -1, err) == 0)
		return 0;
	return error_context(err, "%.200s@%" PRIu64, artifact->name, artifact->version);
}

static int verify_all(struct artifacts *artifacts, const struct options *options, struct warder_error *err)
{
	struct verifying verifying = { artifacts, 0 };

	if (options->operands[0])
		return read_to(artifacts, options, -1, err);
	if (artifacts_each(artifacts, NULL, verify_each, &verifying, err) != 0)
		return -1;
	printf("%zu as they were saved\n", verifying.count);
	return 0;
}

static int verify(const struct options *options, struct warder_error *err)
{
	return with_artifacts(verify_all, options, err);
}

static int remove_one(struct artifacts *artifacts, const struct options *options, struct warder_error *err)
{
	struct artifact_reference reference;

	if (artifact_reference_parse(options->operands[0], &reference, err) != 0)
		return -1;
	return artifacts_remove(artifacts, &reference, err);
}

static int remove_artifact(const struct options *options, struct warder_error *err)
{
	return with_artifacts(remove_one, options, err);
}

const struct command artifact_commands[] = {
	{ "artifact", "save", "--store --json --type --max-size", "NAME [FILE]", 1, 2,
	  "save content under a name, as a new version",
	  "Without FILE, or with -, the content is standard input. Prints NAME@VERSION.\n",
	  "echo hello | warder artifact save greeting.txt", save },
	{ "artifact", "take", "--store --max-size", "-- NAME DESCRIPTOR [NAME DESCRIPTOR]...", 0, 0,
	  "save the content of open files, given as pairs: a NAME, and the number of a file descriptor",
	  "Prints a JSON array with an element for each NAME and DESCRIPTOR: the new version, or {\"error\": "
	  "...}. \"warder "
	  "run\n"
	  "--artifacts store:\" uses this command. Exit status: 0, also if a content could not be saved; 125 "
	  "if "
	  "refused\nor failed.\n",
	  "echo hello >greeting && warder artifact take -- greeting.txt 3 3<greeting", take },
	{ "artifact", "list", "--store --json", "[NAME]", 0, 1,
	  "list the versions of every artifact, or of one", NULL, "warder artifact list", list, true },
	{ "artifact", "read", "--store", "NAME[@VERSION]", 1, 1,
	  "compare the content with its digest, and print it exactly as it was stored", NULL,
	  "warder artifact read greeting.txt", read_artifact, true },
	{ "artifact", "verify", "--store", "[NAME[@VERSION]]", 0, 1, "check that the content is unchanged",
	  NULL, "warder artifact verify", verify, true },
	{ "artifact", "remove", "--store", "NAME[@VERSION]", 1, 1,
	  "remove a version, or all versions of a name", NULL, "warder artifact remove greeting.txt",
	  remove_artifact, true },
	{ 0 },
};
