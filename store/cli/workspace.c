/*
 * workspace: directories that stay between runs, on the command line.
 *
 * `run` becomes `warder run`, under the caller's flags, with the workspace, its variables and its read-only inputs in front of them; the
 * lock of the workspace goes along as a descriptor, and so is held until that supervisor has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "policy/policy.h"
#include "runtime/cli/term.h"
#include "store/artifacts/artifacts.h"
#include "store/cli/command.h"
#include "store/cli/drive.h"
#include "store/cli/progress.h"
#include "store/cli/show.h"
#include "store/workspaces/workspaces.h"

/* ---- parts ---- */

typedef int work(struct workspace *workspace, const struct options *options, struct warder_error *err);

static int with_workspace(work *act, const struct options *options, struct warder_error *err)
{
	struct workspaces workspaces = WORKSPACES_NONE;
	struct workspace workspace = WORKSPACE_UNOPENED;
	int status;

	if (workspaces_open(option(options, "--store"), &workspaces, err) != 0)
		return -1;
	status = workspace_open(&workspaces, options->operands[0], WORKSPACE_SHARED, true, &workspace, err);
	if (status == 0)
		status = act(&workspace, options, err);
	workspace_done(&workspace);
	workspaces_done(&workspaces);
	return status;
}

static int print_json(struct json_writer *w, struct warder_error *err)
{
	return term_put(json_take(w), err);
}

static int mode_option(const struct options *options, uint32_t *ret, struct warder_error *err)
{
	const char *text = option(options, "--mode");

	*ret = 0;
	if (!text)
		return 0;
	if (strlen(text) < 3 || strlen(text) > 4 || strspn(text, "01234567") != strlen(text) ||
	    strtoul(text, NULL, 8) > 0777)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--mode",
				 "\"%.20s\" is not a mode; write three octal digits, such as 644", text);
	*ret = (uint32_t)strtoul(text, NULL, 8);
	return 0;
}

static int size_option(const struct options *options, const char *name, uint64_t *ret,
		       struct warder_error *err)
{
	const char *text = option(options, name);

	*ret = 0;
	if (!text)
		return 0;
	if (policy_parse_size(text, ret, err) == 0)
		return *ret
			   ? 0
			   : error_set(err, WARDER_ERROR_INVALID_REQUEST, name, "%s is 1 byte or more", name);
	return error_context(err, "%s", name);
}

/* ---- workspaces ---- */

static void tell_mended(const struct workspace *workspace)
{
	if (workspace->mended[0])
		term_complain("%s", workspace->mended);
}

static int create(const struct options *options, struct warder_error *err)
{
	struct workspaces workspaces = WORKSPACES_NONE;
	struct workspace workspace = WORKSPACE_UNOPENED;
	struct json_writer w = { 0 };
	int status;

	if (workspaces_open(option(options, "--store"), &workspaces, err) != 0)
		return -1;
	status = workspace_create(&workspaces, options->operands[0], &workspace, err);
	if (status == 0)
		tell_mended(&workspace);
	if (status == 0 && option_given(options, "--json")) {
		json_begin_object(&w);
		json_key_string(&w, "id", workspace.id);
		json_key_string(&w, "path", workspace.path);
		json_end_object(&w);
		status = print_json(&w, err);
	} else if (status == 0 && options->operands[0]) {
		puts(workspace.path);
	} else if (status == 0) {
		printf("%s %s\n", workspace.id, workspace.path);
	}
	workspace_done(&workspace);
	workspaces_done(&workspaces);
	return status;
}

static int remove_one(const struct options *options, struct warder_error *err)
{
	struct workspaces workspaces = WORKSPACES_NONE;
	int status;

	if (workspaces_open(option(options, "--store"), &workspaces, err) != 0)
		return -1;
	workspaces.is_private = option_given(options, FLAG_PRIVATE);
	status = workspace_remove(&workspaces, options->operands[0], option_given(options, "--wait"), err);
	workspaces_done(&workspaces);
	return status < 0 ? -1 : 0;
}

static int show(struct workspace *workspace, const struct options *options, struct warder_error *err)
{
	struct workspace_metadata metadata;
	size_t len;
	char *text;

	(void)options;
	if (workspace_metadata_load(workspace, &metadata, err) != 0)
		return -1;
	text = workspace_metadata_text(&metadata, &len);
	workspace_metadata_done(&metadata);
	return term_put(text, err);
}

static int show_one(const struct options *options, struct warder_error *err)
{
	return with_workspace(show, options, err);
}

/* ---- lists ---- */

static int print_workspace(void *context, const char *id, const char *path, struct warder_error *err)
{
	struct json_writer *w = context;

	(void)err;
	if (!w) {
		show_cell(id, 24, 0);
		printf(" %s\n", path);
		return 0;
	}
	json_begin_object(w);
	json_key_string(w, "id", id);
	json_key_string(w, "path", path);
	json_end_object(w);
	return 0;
}

static int list_workspaces(const struct options *options, struct warder_error *err)
{
	struct workspaces workspaces = WORKSPACES_NONE;
	const bool json = option_given(options, "--json");
	struct json_writer w = { 0 };
	int status;

	if (workspaces_open(option(options, "--store"), &workspaces, err) != 0)
		return -1;
	json_begin_array(&w);
	status = workspaces_each(&workspaces, print_workspace, json ? &w : NULL, err);
	json_end_array(&w);
	workspaces_done(&workspaces);
	if (status == 0 && json)
		return print_json(&w, err);
	json_writer_done(&w);
	return status;
}

static int print_item(void *context, const struct workspace_item *item, struct warder_error *err)
{
	static const struct {
		char type;
		const char *name;
	} types[] = { { 'f', "file" }, { 'd', "directory" }, { 'l', "link" }, { 'o', "other" } };
	struct json_writer *w = context;
	char mode[8];

	(void)err;
	snprintf(mode, sizeof(mode), "%04o", (unsigned int)item->mode);
	if (!w) {
		printf("%c %s %12" PRIu64 " ", item->type == 'f' ? '-' : item->type, mode, item->size);
		show_cell(item->path, 0, 0);
		putchar('\n');
		return 0;
	}
	json_begin_object(w);
	text_write_name(w, "path", "pathBase64", item->path);
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		if (types[i].type == item->type)
			json_key_string(w, "type", types[i].name);
	}
	json_key_string(w, "mode", mode);
	json_key_uint(w, "size", item->size);
	json_key(w, "mtime");
	json_int(w, item->mtime);
	json_end_object(w);
	return 0;
}

static int list_files(struct workspace *workspace, const struct options *options, struct warder_error *err)
{
	const char *path = options->operand_count > 1 ? options->operands[1] : ".";
	const bool json = option_given(options, "--json");
	struct json_writer w = { 0 };
	bool cut = false;
	int status;

	json_begin_array(&w);
	status = workspace_list(workspace, path, option_given(options, "--flat") ? 1 : WORKSPACE_DEPTH_MAX,
				print_item, json ? &w : NULL, &cut, err);
	json_end_array(&w);
	if (status == 0 && cut)
		term_complain("this is not all: a directory lies too deep to be listed, or is closed to you");
	if (status == 0 && json)
		return print_json(&w, err);
	json_writer_done(&w);
	return status;
}

static int list(const struct options *options, struct warder_error *err)
{
	return options->operand_count ? with_workspace(list_files, options, err)
				      : list_workspaces(options, err);
}

/* ---- files ---- */

/* SOURCE or SOURCE=PLACE; without one, the source's last component. */
static int put_one(struct workspace *workspace, const char *word, uint32_t mode, struct warder_error *err)
{
	const char *equals = strrchr(word, '=');
	char *source = equals ? strndup(word, (size_t)(equals - word)) : strdup(word);
	const char *slash = source ? strrchr(source, '/') : NULL;
	const char *name = equals ? equals + 1 : slash ? slash + 1 : source;
	owned_fd int fd = source ? show_open_file(source, err) : -1;
	int status = -1;

	if (fd >= 0)
		status = workspace_put(workspace, name, mode, fd, err);
	free(source);
	return status;
}

static int put_files(struct workspace *workspace, const struct options *options, struct warder_error *err)
{
	uint32_t mode;

	if (mode_option(options, &mode, err) != 0)
		return -1;
	for (size_t i = 1; i < options->operand_count; i++) {
		if (put_one(workspace, options->operands[i], mode, err) != 0)
			return -1;
	}
	return 0;
}

static int put(const struct options *options, struct warder_error *err)
{
	return with_workspace(put_files, options, err);
}

static int write_file(struct workspace *workspace, const struct options *options, struct warder_error *err)
{
	uint32_t mode;

	if (mode_option(options, &mode, err) != 0)
		return -1;
	return workspace_put(workspace, options->operands[1], mode, STDIN_FILENO, err);
}

static int write_one(const struct options *options, struct warder_error *err)
{
	return with_workspace(write_file, options, err);
}

static int read_file(struct workspace *workspace, const struct options *options, struct warder_error *err)
{
	owned_fd int fd = workspace_file(workspace, options->operands[1], err);
	char chunk[65536];
	ssize_t n;

	if (fd < 0)
		return -1;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0) {
		if (file_write_all(STDOUT_FILENO, chunk, (size_t)n) != 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "stdout", errno,
					       "cannot be written");
	}
	return n == 0 ? 0
		      : error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "path", errno, "%.200s cannot be read",
					options->operands[1]);
}

static int read_one(const struct options *options, struct warder_error *err)
{
	return with_workspace(read_file, options, err);
}

/* ---- inputs ---- */

static int print_input(const struct workspace_input *input, bool json, struct warder_error *err)
{
	struct json_writer w = { 0 };

	if (!json) {
		puts(input->dst);
		return 0;
	}
	json_begin_object(&w);
	json_key_string(&w, "from", input->from);
	json_key_string(&w, "dst", input->dst);
	json_key_string(&w, "resolved", input->resolved);
	json_key(&w, "version");
	if (input->version)
		json_uint(&w, input->version);
	else
		json_null(&w);
	json_key_string(&w, "mode", input->mode);
	json_key_bool(&w, "readOnly", input->read_only);
	json_key_string(&w, "ts", input->ts);
	json_end_object(&w);
	return print_json(&w, err);
}

static int stage_input(struct workspace *workspace, const struct options *options, struct warder_error *err)
{
	const struct workspace_input_options asked = { .from = options->operands[1],
						       .dst = option(options, "--to"),
						       .link = option_given(options, "--link"),
						       .read_only = option_given(options, "--read-only"),
						       .pin = option_given(options, "--pin") };
	struct artifacts artifacts = ARTIFACTS_NONE;
	struct workspace_input input;
	int status = artifacts_open(option(options, "--store"), &artifacts, err);

	if (status == 0)
		status = workspace_stage(workspace, &artifacts, &asked, &input, err);
	artifacts_done(&artifacts);
	if (status != 0)
		return -1;
	status = print_input(&input, option_given(options, "--json"), err);
	workspace_input_done(&input);
	return status;
}

static int stage(const struct options *options, struct warder_error *err)
{
	return with_workspace(stage_input, options, err);
}

/* ---- outputs ---- */

#define EXIT_CUT 1 /* of collect: it is not all */

static struct progress collecting = { .what = "collecting" };

static void show_collecting(void *context, uint64_t len)
{
	uint64_t *done = context;

	*done += len;
	progress_show(&collecting, *done, 0);
}

static int print_outputs_json(const struct workspace_outputs *outputs, struct warder_error *err)
{
	struct json_writer w = { 0 };

	workspace_outputs_write(outputs, &w);
	return print_json(&w, err);
}

static int print_outputs(const struct workspace_outputs *outputs)
{
	for (size_t i = 0; i < outputs->count; i++) {
		const struct workspace_output *output = &outputs->items[i];

		printf("%12" PRIu64 " ", output->size);
		show_cell(output->path, 0, 0);
		if (output->name)
			printf(" %s@%" PRIu64, output->name, output->version);
		printf("%s%s%s%s\n", output->truncated ? " (cut off)" : "", output->why ? " (" : "",
		       output->why ? output->why : "", output->why ? ")" : "");
	}
	if (outputs->outside)
		term_complain("%zu left out: no regular file in the workspace", outputs->outside);
	return 0;
}

/* What was cut off or left out: told to people whatever the form of the rest, and by the exit status. */
static int tell_cut(const struct workspace_outputs *outputs)
{
	size_t cut = 0;

	for (size_t i = 0; i < outputs->count; i++)
		cut += outputs->items[i].truncated;
	if (cut)
		term_complain("%zu cut off at a limit (--max-file-size, --max-size)", cut);
	if (outputs->limits_hit)
		term_complain("this is not all: a limit was reached, or a directory lies too deep, or is "
			      "closed to you");
	return cut || outputs->limits_hit ? EXIT_CUT : 0;
}

static int collect_limits(const struct options *options, struct workspace_collect *what,
			  struct warder_error *err)
{
	long long files;

	if (option_number(options, "--max-files", 1, 1000000, 0, &files, err) != 0 ||
	    size_option(options, "--max-file-size", &what->file_bytes, err) != 0 ||
	    size_option(options, "--max-size", &what->total_bytes, err) != 0)
		return -1;
	what->files_max = (size_t)files;
	return 0;
}

static int collect_into(struct workspace *workspace, const struct options *options,
			struct workspace_collect *what, struct warder_error *err)
{
	struct workspace_outputs outputs;
	int status;

	if (workspace_collect(workspace, what, &outputs, err) != 0) {
		progress_end(&collecting);
		return -1;
	}
	progress_end(&collecting);
	status =
	    option_given(options, "--json") ? print_outputs_json(&outputs, err) : print_outputs(&outputs);
	if (status == 0)
		status = tell_cut(&outputs);
	workspace_outputs_done(&outputs);
	return status;
}

static int collect_files(struct workspace *workspace, const struct options *options, struct warder_error *err)
{
	const bool save = option_given(options, "--save") || option(options, "--name-template");
	const char *to = option(options, "--to");
	struct artifacts artifacts = ARTIFACTS_NONE;
	owned_fd int to_fd = to ? open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	uint64_t done = 0;
	struct workspace_collect what = {
		.globs = (const char *const *)&options->operands[1],
		.glob_count = options->operand_count - 1,
		.artifacts = save ? &artifacts : NULL,
		.inlined = option_given(options, "--json") && !save && !to,
		.name_template = option(options, "--name-template"),
		.strict = option_given(options, "--strict"),
		.to_fd = to_fd,
		.on_bytes = show_collecting,
		.context = &done,
	};
	int status;

	if (to && to_fd < 0)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "--to", errno,
				       "%.200s is not a directory to write to", to);
	if (collect_limits(options, &what, err) != 0 ||
	    (save && artifacts_open(option(options, "--store"), &artifacts, err) != 0))
		return -1;
	status = collect_into(workspace, options, &what, err);
	artifacts_done(&artifacts);
	return status;
}

static int collect(const struct options *options, struct warder_error *err)
{
	return with_workspace(collect_files, options, err);
}

/* ---- patches ---- */

static void write_patched(struct json_writer *w, const struct workspace_patched *file)
{
	const char what[2] = { file->what, '\0' };
	char mode[8];

	json_begin_object(w);
	json_key_string(w, "change", what);
	text_write_name(w, "path", "pathBase64", file->path);
	if (file->from)
		text_write_name(w, "from", "fromBase64", file->from);
	snprintf(mode, sizeof(mode), "%06o", (unsigned int)file->mode & 0777777);
	if (file->mode)
		json_key_string(w, "mode", mode);
	if (file->moved_count) {
		json_key(w, "movedHunks");
		json_begin_array(w);
	}
	for (size_t i = 0; i < file->moved_count; i++) {
		json_begin_object(w);
		json_key_uint(w, "hunk", file->moved[i].number);
		json_key(w, "line");
		json_int(w, file->moved[i].line);
		json_key(w, "offset");
		json_int(w, file->moved[i].offset);
		json_end_object(w);
	}
	if (file->moved_count)
		json_end_array(w);
	json_end_object(w);
}

static void print_patched(const struct workspace_patched *file)
{
	printf("%c ", file->what);
	show_cell(file->path, 0, 0);
	if (file->from) {
		printf(" (from ");
		show_cell(file->from, 0, 0);
		printf(")");
	}
	if (file->mode && (file->what == 'M' || file->mode != 0100644))
		printf(" (mode %06o)", (unsigned int)file->mode);
	for (size_t i = 0; i < file->moved_count; i++)
		printf(" (hunk %u at line %ld, offset %ld)", file->moved[i].number, file->moved[i].line,
		       file->moved[i].offset);
	putchar('\n');
}

static int print_report(const struct workspace_patch_report *report, bool json, struct warder_error *err)
{
	struct json_writer w = { 0 };

	for (size_t i = 0; i < report->warning_count; i++)
		term_complain("git: %s", report->warnings[i]);
	for (size_t i = 0; i < report->count && !json; i++)
		print_patched(&report->files[i]);
	if (!json)
		return 0;
	json_begin_array(&w);
	for (size_t i = 0; i < report->count; i++)
		write_patched(&w, &report->files[i]);
	json_end_array(&w);
	return print_json(&w, err);
}

static int patch_files(struct workspace *workspace, const struct options *options, struct warder_error *err)
{
	const char *file = options->operand_count > 1 ? options->operands[1] : "-";
	struct workspace_patch_report report = { 0 };
	char *text = NULL;
	long long strip;
	size_t len;
	int status;

	if (option_number(options, "--strip", 0, 100, -1, &strip, err) != 0 ||
	    file_read_most(file, (size_t)16 << 20, &text, &len, err) != 0)
		return -1;
	status =
	    workspace_patch(workspace, text, len, (int)strip, option_given(options, "--check"), &report, err);
	free(text);
	if (status != 0)
		return -1;
	status = print_report(&report, option_given(options, "--json"), err);
	workspace_patch_report_done(&report);
	return status;
}

static int patch(const struct options *options, struct warder_error *err)
{
	return with_workspace(patch_files, options, err);
}

/* ---- run ---- */

#define TOGETHER_MAX  8 /* workspaces of one session */
#define ARGUMENTS_MAX (OPTIONS_MAX + 2 * TOGETHER_MAX * (WORKSPACE_INPUTS_MAX + 1) + 32)

struct arguments {
	const char *words[ARGUMENTS_MAX + 1];
	size_t count;
};

static void add(struct arguments *arguments, const char *word)
{
	if (arguments->count < ARGUMENTS_MAX)
		arguments->words[arguments->count++] = word;
}

static void add_flag(struct arguments *arguments, const char *name, const char *value)
{
	add(arguments, name);
	add(arguments, value);
}

/* A flag of ours among those of `warder run`: its value, and how many words it takes; 0: another flag. */
static size_t own_flag(char *const *word, const char *name, const char **ret)
{
	const size_t len = strlen(name);

	if (strncmp(*word, name, len) != 0 || ((*word)[len] && (*word)[len] != '='))
		return 0;
	*ret = (*word)[len] ? *word + len + 1 : word[1];
	return (*word)[len] ? 1 : 2;
}

static bool chooses_policy(const struct options *options)
{
	for (size_t i = 1; i < options->operand_count; i++) {
		if (strncmp(options->operands[i], "--preset", 8) == 0 ||
		    strncmp(options->operands[i], "--policy", 8) == 0)
			return true;
	}
	return false;
}

struct asked {
	const char *store, *cwd;
	const char *ids[TOGETHER_MAX]; /* --workspace-id, of a session */
	size_t id_count;
	struct arguments flags; /* for `warder run` */
};

/* What a policy of the caller's says of its workspace would be overridden. */
static int refuse_workspace(const char *word, struct warder_error *err)
{
	if (strcmp(word, "--workspace") != 0 && strncmp(word, "--workspace=", 12) != 0)
		return 0;
	return error_set(
	    err, WARDER_ERROR_INVALID_REQUEST, "--workspace",
	    "--workspace cannot be given here: the workspace is the one that is named by its ID");
}

static int add_id(struct asked *asked, const char *id, struct warder_error *err)
{
	for (size_t i = 0; i < asked->id_count; i++)
		if (strcmp(asked->ids[i], id) == 0)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--workspace-id",
					 "--workspace-id names %.80s twice", id);
	if (asked->id_count == TOGETHER_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--workspace-id",
				 "a session has at most %d workspaces", TOGETHER_MAX);
	asked->ids[asked->id_count++] = id;
	return 0;
}

/* of_session: --workspace-id is ours, too. */
static int read_flags(const struct options *options, bool of_session, struct asked *ret,
		      struct warder_error *err)
{
	for (size_t i = 1; i < options->operand_count;) {
		char *const *word = &options->operands[i];
		const char *value = NULL, *id = NULL;
		size_t taken = own_flag(word, "--store", &value);

		if (taken)
			ret->store = value;
		else if ((taken = own_flag(word, "--cwd", &value)) != 0)
			ret->cwd = value;
		else if (of_session && (taken = own_flag(word, "--workspace-id", &value)) != 0)
			id = value;
		if (taken && !value)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, *word, "needs a value");
		if (id && add_id(ret, id, err) != 0)
			return -1;
		if (!taken && refuse_workspace(*word, err) != 0)
			return -1;
		if (!taken)
			add(&ret->flags, *word);
		i += taken ? taken : 1;
	}
	return 0;
}

static int check_program(const struct options *options, struct warder_error *err)
{
	if (options->program && options->program[0])
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "run",
			 "the program is missing; write \"warder workspace run ID [FLAG...] -- PROGRAM "
			 "[ARGUMENT...]\"");
}

/* Become `warder` with these words. Nobody has the workspace alone as long as that lives; what runs in the jail does not get it. A session
 * is found by its policy from its start on: see sessions.h. */
static int become_warder(struct arguments *arguments, struct workspace *const *workspaces, size_t count,
			 struct warder_error *err)
{
	char warder[PATH_MAX];

	if (drive_find_warder(warder, err) != 0)
		return -1;
	if (arguments->count == ARGUMENTS_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "run", "there are more than %d arguments",
				 ARGUMENTS_MAX);
	for (size_t i = 0; i < count; i++)
		if (fcntl(workspaces[i]->dir_fd, F_SETFD, 0) != 0 ||
		    fcntl(workspaces[i]->runs_fd, F_SETFD, 0) != 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "warder", errno,
					       "the lock of %.200s", workspaces[i]->id);
	execv(warder, (char *const *)(uintptr_t)arguments->words);
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "warder", errno, "cannot execute %s", warder);
}

/* What `warder run` and `warder session start` get of the workspace that is /workspace. `root` has PATH_MAX + 4 bytes. */
static void add_workspace(struct arguments *arguments, const struct workspace *workspace,
			  const struct workspace_run *run, const struct asked *asked, char *root)
{
	snprintf(root, PATH_MAX + 4, "%s:rw", workspace->path);
	for (size_t i = 0; i < ARRAY_LENGTH(run->variables); i++)
		add_flag(arguments, "--env", run->variables[i]);
	for (size_t i = 0; i < asked->flags.count; i++)
		add(arguments, asked->flags.words[i]);
	add_flag(arguments, "--workspace", root);
	for (size_t i = 0; run->mounts[i]; i++)
		add_flag(arguments, "--ro", run->mounts[i]);
	add_flag(arguments, "--cwd", run->cwd);
}

static int become_run(struct workspace *workspace, const struct workspace_run *run,
		      const struct options *options, const struct asked *asked, struct warder_error *err)
{
	static struct arguments arguments;
	char root[PATH_MAX + 4];

	add(&arguments, "warder");
	add(&arguments, "run");
	if (!chooses_policy(options))
		add_flag(&arguments, "--preset", "agent");
	add_workspace(&arguments, workspace, run, asked, root);
	add(&arguments, "--");
	for (size_t i = 0; options->program[i]; i++)
		add(&arguments, options->program[i]);
	return become_warder(&arguments, &workspace, 1, err);
}

static int run(const struct options *options, struct warder_error *err)
{
	static struct workspace_run prepared;
	static struct asked asked;
	struct workspaces workspaces = WORKSPACES_NONE;
	struct workspace workspace = WORKSPACE_UNOPENED;
	int status = read_flags(options, false, &asked, err);

	if (status == 0)
		status = check_program(options, err);
	if (status == 0)
		status = workspaces_open(asked.store, &workspaces, err);
	if (status == 0)
		status = workspace_open(&workspaces, options->operands[0], WORKSPACE_SHARED, true, &workspace,
					err);
	if (status == 0)
		status = workspace_run_prepare(&workspace, NULL, asked.cwd, NULL, &prepared, err);
	tell_mended(&workspace);
	if (status == 0)
		status = become_run(&workspace, &prepared, options, &asked, err);
	workspace_run_done(&prepared);
	workspace_done(&workspace);
	workspaces_done(&workspaces);
	return status;
}

/* ---- a session in workspaces ---- */

/* The first one is /workspace, each other one is /workspaces/ID. */
struct member {
	struct workspace workspace;
	struct workspace_run run;
	char inside[WORKSPACE_ID_MAX + 16], root[2 * PATH_MAX];
};

static int name_place(const char *id, size_t index, struct member *ret, struct warder_error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	const size_t len = strlen(id);

	snprintf(ret->inside, sizeof(ret->inside), "%s", WORKSPACE_INSIDE);
	if (index == 0)
		return 0;
	if (len == 0 || len > 64 || strspn(id, letters) != len)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--workspace-id",
				 "--workspace-id %.80s: a workspace besides the first one lies in "
				 "/workspaces/ID, and its id "
				 "may have up to 64 letters, digits, '-' and '_'",
				 id);
	snprintf(ret->inside, sizeof(ret->inside), "/workspaces/%s", id);
	return 0;
}

static int open_member(struct workspaces *workspaces, const struct asked *asked, size_t index,
		       const char *session, struct member *ret, struct warder_error *err)
{
	int status = name_place(asked->ids[index], index, ret, err);

	if (status == 0)
		status = workspace_open(workspaces, asked->ids[index], WORKSPACE_SHARED, true,
					&ret->workspace, err);
	if (status == 0)
		status = workspace_run_prepare(&ret->workspace, ret->inside, index ? NULL : asked->cwd,
					       session, &ret->run, err);
	tell_mended(&ret->workspace);
	return status;
}

/* The store and the ids, for `warder session start-in`; heap. */
static char *write_places(const struct workspaces *workspaces, const struct asked *asked)
{
	const char *slash = strrchr(workspaces->path, '/');
	char *store = strndup(workspaces->path, slash ? (size_t)(slash - workspaces->path) : 0);
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "store", store);
	json_key(&w, "workspaces");
	json_begin_array(&w);
	for (size_t i = 0; i < asked->id_count; i++)
		json_string(&w, asked->ids[i]);
	json_end_array(&w);
	json_end_object(&w);
	free(store);
	return json_take(&w);
}

static int become_session(const char *session, const char *places, struct member *members,
			  const struct asked *asked, struct warder_error *err)
{
	static struct arguments arguments;
	struct workspace *opened[TOGETHER_MAX];

	add(&arguments, "warder");
	add(&arguments, "session");
	add_flag(&arguments, "start-in", places);
	add(&arguments, session);
	for (size_t i = 0; i < asked->id_count; i++) {
		struct member *member = &members[i];

		opened[i] = &member->workspace;
		if (i == 0) {
			add_workspace(&arguments, &member->workspace, &member->run, asked, member->root);
			continue;
		}
		snprintf(member->root, sizeof(member->root), "%s:%s", member->workspace.path, member->inside);
		add_flag(&arguments, "--rw", member->root);
		for (size_t k = 0; member->run.mounts[k]; k++)
			add_flag(&arguments, "--ro", member->run.mounts[k]);
	}
	return become_warder(&arguments, opened, asked->id_count, err);
}

static int start_session(const struct options *options, struct warder_error *err)
{
	static struct member members[TOGETHER_MAX];
	static struct asked asked;
	struct workspaces workspaces = WORKSPACES_NONE;
	char *places = NULL;
	size_t count = 0;
	int status = read_flags(options, true, &asked, err);

	if (status == 0 && asked.id_count == 0)
		status = error_set(err, WARDER_ERROR_INVALID_REQUEST, "--workspace-id", "needs a value");
	if (status == 0)
		status = workspaces_open(asked.store, &workspaces, err);
	for (; status == 0 && count < asked.id_count; count++) {
		members[count].workspace = WORKSPACE_UNOPENED;
		status = open_member(&workspaces, &asked, count, options->operands[0], &members[count], err);
	}
	if (status == 0) {
		places = write_places(&workspaces, &asked);
		status = places ? become_session(options->operands[0], places, members, &asked, err)
				: error_no_memory(err, NULL);
	}
	free(places);
	while (count) {
		workspace_run_done(&members[--count].run);
		workspace_done(&members[count].workspace);
	}
	workspaces_done(&workspaces);
	return status;
}

/* ---- the table ---- */

const struct command workspace_commands[] = {
	{ "workspace", "create", "--store --json " FLAG_PRIVATE, "[ID]", 0, 1,
	  "make or repair a workspace, and print its path",
	  "The same id names the same workspace each time. Without ID, Warder makes a new id, and prints it "
	  "before\n"
	  "the path; with --backend remote:NAME, the ID is required. The workspace has the directories "
	  "skills,\n"
	  "work, work/inputs, runs and out, and the file metadata.json, which describes it to programs.\n",
	  "warder workspace create job-7", create },
	{ "workspace", "session", "*", "NAME [FLAG...]", 1, OPTIONS_MAX, NULL, NULL, NULL, start_session },
	{ "workspace", "run", "*", "ID [FLAG...] -- PROGRAM [ARGUMENT...]", 1, OPTIONS_MAX,
	  "run a program in a workspace",
	  "The flags are those of \"warder run\"; without --preset or --policy the preset is agent. The "
	  "program "
	  "sees\n"
	  "the workspace as /workspace and can write to it, except to its read-only inputs. --cwd is "
	  "relative "
	  "to\n"
	  "the workspace; the directory is made if it is missing. The variables WORKSPACE_DIR, SKILLS_DIR, "
	  "WORK_DIR,\n"
	  "OUTPUT_DIR and RUN_DIR (a new directory for each run) name directories of the workspace. The "
	  "flag\n"
	  "--workspace is refused, and a workspace that --policy names is replaced by this one.\n"
	  "Exit status: the same as \"warder run\".\n",
	  "warder workspace create job-7 && warder workspace run job-7 -- sh -c 'date > $OUTPUT_DIR/now'",
	  run },
	{ "workspace", "provision", "--store --json", "MANIFEST", 1, 1, "make a workspace as a manifest says",
	  "The manifest is a JSON object: workspace (an id), entries, packages, setup, policy and timeout, "
	  "all optional; - is\n"
	  "standard input. An entry is a file, a directory, a git_repo or an input:\n"
	  "  {\"type\": \"file\", \"path\": \"work/a.txt\", \"content\": \"hello\"}\n"
	  "If an entry fails, the workspace is removed again. Only \"workspace drive\" uses packages, setup, "
	  "policy and timeout.\n",
	  "echo '{\"entries\": [{\"type\": \"directory\", \"path\": \"work/data\"}]}' | warder workspace "
	  "provision -",
	  provision_command },
	{ "workspace", "drive", "--store --json --snapshot --keep-workspace",
	  "MANIFEST -- PROGRAM [ARGUMENT...]", 1, 1, "make a workspace, run a program in it, and remove it",
	  "Provisions a workspace as the manifest says, starts a session in it under the manifest's policy "
	  "(default:\n"
	  "the preset agent) and setup commands, runs the program, ends the session, stores a snapshot with\n"
	  "--snapshot, and removes the workspace. The manifest's timeout (default: 10m) ends the session.\n"
	  "Whatever fails, Warder ends the session and removes the workspace. If the snapshot cannot be\n"
	  "stored, the workspace stays.\n"
	  "--json prints workspace, snapshot, error, cleanupErrors and the result.\n"
	  "Exit status: the same as \"warder run\"; 125 also if the program succeeded and a later stage "
	  "failed.\n",
	  "echo '{\"entries\": [{\"type\": \"file\", \"path\": \"a\", \"content\": \"hello\"}]}' | warder "
	  "workspace drive - -- cat a",
	  drive_command },
	{ "workspace", "list", "--store --json --flat", "[ID [DIRECTORY]]", 0, 2,
	  "list the workspaces, or the files of one", NULL, "warder workspace list", list, true },
	{ "workspace", "put", "--store --mode", "ID FILE[=PATH]...", 2, OPTIONS_MAX,
	  "copy files of the host into a workspace", NULL,
	  "warder workspace create job-7 && warder workspace put job-7 /etc/hostname=work/name.txt", put,
	  true },
	{ "workspace", "write", "--store --mode", "ID PATH", 2, 2, "write standard input to a file", NULL,
	  "warder workspace create job-7 && echo hello | warder workspace write job-7 work/hello.txt",
	  write_one, true },
	{ "workspace", "read", "--store", "ID PATH", 2, 2, "print a file exactly as it is", NULL,
	  "warder workspace read job-7 work/hello.txt", read_one, true },
	{ "workspace", "stage", "--store --json --to --link --read-only --pin", "ID FROM", 2, 2,
	  "put an input (a file or directory) into the workspace, and note where it came from",
	  "FROM: host:///PATH, workspace://PATH, artifact://NAME[@VERSION], skill://NAME/PATH, or\n"
	  "git+file:///PATH[#BRANCH] or git+https://HOST[:PORT]/PATH[#BRANCH]. For the last two, the "
	  "program\n"
	  "git clones the repository, in a jail that reaches at most this HOST and PORT. No program can "
	  "change an\n"
	  "input that is staged with --read-only or\n"
	  "--link. Such an input cannot be staged while a program runs in the workspace.\n",
	  "warder workspace create job-7 && warder workspace stage job-7 host:///etc/hostname --read-only",
	  stage, true },
	{ "workspace", "collect",
	  "--store --json --max-files --max-file-size --max-size --to --save --name-template --strict",
	  "ID PATTERN...", 2, OPTIONS_MAX,
	  "find the matching files, and list them, print them in JSON (--json), copy them (--to) or save "
	  "them as artifacts (--save)",
	  "Two stars match any number of directories; a pattern may begin with $WORKSPACE_DIR, $SKILLS_DIR,\n"
	  "$WORK_DIR or $OUTPUT_DIR. Unless flags say otherwise, Warder takes at most 100 files, 4 MiB of "
	  "each\n"
	  "and 64 MiB of all, and names the files that it cuts off or leaves out. With --json, and neither\n"
	  "--to nor --save, the content of the files is printed, too.\n"
	  "Exit status: 0; 1 if a limit cut off or left out a file; 125 if Warder refused or failed.\n",
	  "warder workspace create job-7 && warder workspace collect job-7 '$OUTPUT_DIR/**'", collect, true },
	{ "workspace", "patch", "--store --json --strip --check", "ID [FILE]", 1, 2,
	  "apply the output of \"git diff\", as a whole or not at all",
	  "Without FILE, or with -, the patch is standard input. git applies it, in a jail: renames, "
	  "copies,\n"
	  "modes, links and binary patches too. If a hunk applies at another line than the patch says, the\n"
	  "output names the line. The first component of paths a/... and b/... is removed, unless --strip is "
	  "given.\n",
	  "git diff | warder workspace patch job-7", patch, true },
	{ "workspace", "show", "--store --json", "ID", 1, 1, "print the record of a workspace, as JSON", NULL,
	  NULL, show_one, true },
	{ "workspace", "remove", "--store --wait " FLAG_PRIVATE, "ID", 1, 1,
	  "remove a workspace, if it exists", NULL, NULL, remove_one, true },
	{ 0 },
};
