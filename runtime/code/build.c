/*
 * From a piece of code to a template that runs it.
 *
 *   language    hint, file name, shebang, content; then its row, whose programs the policy's view has
 *   files       source, the caller's, the row's
 *   policy      the caller's, held against the ceiling as it is
 *   check       in a jail of its own          ] not if an earlier build of the same things is found
 *   build       in a jail of its own, whose   ]
 *               /tmp/out becomes the entry of the cache
 *   template    of the run: the entry is seen as /code, read-only
 *
 * A compiler reads and executes what the source tells it to, so it gets a jail like the program's, and less to see: no
 * network, workspace, paths or environment of the caller's. If its row says so, it gets one thing more, processes.spawn, because
 * many compilers are made of several programs; what it builds runs without that again, if the policy says so. More of its
 * output is read than the policy keeps; what a result shows is cut to the policy's limit.
 *
 * A cached program is found by the digest of everything that could change it: source, files, command lines, environment,
 * policy of the build, and the compiler's file (device, inode, size, times).
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sha256.h"
#include "policy/policy.h"
#include "runtime/code/advice.h"
#include "runtime/code/code.h"
#include "runtime/code/detect/detect.h"
#include "runtime/code/detect/wasm.h"
#include "runtime/code/go_source.h"
#include "runtime/code/java_source.h"
#include "runtime/code/program.h"
#include "runtime/code/rust_source.h"
#include "runtime/library/library.h"
#include "runtime/library/preparation.h"
#include "runtime/session/session.h"

#define SOURCE_LONGEST   (16u << 20)
#define FILES_MOST       1000
#define BUILD_OUTPUT     (1ull << 20)
#define BUILD_FILES_MAX  1000
#define BUILD_FILE_BYTES (256ull << 20)
#define DIAGNOSTICS_FILE ".diagnostics"
#define DIAGNOSTICS_KEPT ((size_t)16 << 20)
#define COUNTS_BYTES     64 /* of the line before them */

static const char *const stage_names[LANGUAGE_STAGES] = { "check", "build", "run" };
static const char box_path[] = "/tmp/" PROGRAM_BOX;

struct building {
	struct warder_program *program;
	const struct warder_code *code;
	const struct policy *ceiling;
	const char *cgroup_parent;
	const char *backend, *backends;
	struct warder_error *err;
};

/* How the program is prepared. */
static struct preparation_options options_for(const struct building *b, const struct policy_subject *subject)
{
	return (struct preparation_options){ .ceiling = b->ceiling,
					     .cgroup_parent = b->cgroup_parent,
					     .backend = b->backend,
					     .backends = b->backends,
					     .subject = subject };
}

/* ---- the request ---- */

static int check_code(const struct warder_code *code, struct warder_error *err)
{
	size_t blank = 0;

	while (code->source && blank < code->source_len && strchr(" \t\r\n\f\v", code->source[blank]) &&
	       code->source[blank])
		blank++;
	if (!code->source || blank == code->source_len)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "source",
				 "empty source code: code is required");
	if (code->source_len > SOURCE_LONGEST)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "source",
				 "the source has %zu bytes; at most %u are taken", code->source_len,
				 SOURCE_LONGEST);
	if (code->file_count > FILES_MOST)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "files",
				 "%zu files; at most %d are taken", code->file_count, FILES_MOST);
	return 0;
}

/* ---- language ---- */

const char *code_languages_path(const char *path)
{
	return !path && access(CODE_LANGUAGES, F_OK) == 0 ? CODE_LANGUAGES : path;
}

/* What policy and ceiling name has to be among them. */
static int load_languages(struct building *b, const struct policy *asked)
{
	struct warder_program *program = b->program;

	if (languages_load(code_languages_path(b->code->languages), &program->languages, b->err) != 0 ||
	    languages_check(program->languages, asked, b->err) != 0)
		return -1;
	return b->ceiling && languages_check(program->languages, b->ceiling, b->err) != 0
		   ? error_context(b->err, "ceiling")
		   : 0;
}

/* A row of the document by the extension of its file; those of the table are detect_language()'s. */
static const char *by_extension(const struct languages *languages, const char *file_name)
{
	const char *dot = file_name ? strrchr(file_name, '.') : NULL;
	const struct language *row;

	for (size_t i = 0; dot && (row = languages_at(languages, i)) != NULL; i++) {
		const char *its = strrchr(row->file, '.');

		if (its && strcmp(its, dot) == 0)
			return row->name;
	}
	return NULL;
}

static int not_certain(struct warder_error *err)
{
	return error_set(
	    err, WARDER_ERROR_UNSUPPORTED_LANGUAGE, "language",
	    "the code's language is not certain from its file name, first line and content; name it "
	    "(\"warder languages\" lists them)");
}

int code_language(const struct languages *languages, const struct warder_code *code, const char **ret_name,
		  const char **ret_found_by, struct warder_error *err)
{
	const struct detect_request request = { .hint = code->language,
						.file_name = code->file_name,
						.text = code->source,
						.len = code->source ? code->source_len : 0 };
	const char *extension = code->language ? NULL : by_extension(languages, code->file_name);
	struct detection found = { 0 };

	if (extension) {
		*ret_name = extension;
		*ret_found_by = detect_by_name(DETECT_BY_FILE_NAME);
		return 0;
	}
	if (detect_language(&request, &found, err) != 0)
		return -1;
	if (!found.language)
		return not_certain(err);
	*ret_name = languages_canonical(languages, found.language);
	if (!*ret_name) /* no such language: language_resolve() says which there are */
		*ret_name = found.language;
	*ret_found_by = detect_by_name(found.by);
	return 0;
}

/* That it is the backend which was named, and not one that auto may take. */
static bool is_named(const struct building *b, enum backend_runs runs)
{
	struct warder_error ignored;
	const struct backend *backend = b->backend ? backend_find(b->backend, &ignored) : NULL;

	return backend && backend->runs == runs;
}

static bool is_bare(const struct building *b)
{
	struct warder_error ignored;
	const struct backend *backend = b->backend ? backend_find(b->backend, &ignored) : NULL;

	return backend && backend->bare;
}

/* Whoever runs nothing here needs no compiler here to say so. */
static int refuse_all(struct building *b, const char *language)
{
	const struct policy_subject subject = { language, POLICY_PAYLOAD_SOURCE };
	const struct preparation_options how = options_for(b, &subject);
	struct preparation trial = { 0 };

	preparation_build(&b->program->policy, &how, &trial, b->err);
	preparation_done(&trial);
	return -1;
}

/* A module's backend says what its engine does; of another program by the language's name nothing is known. */
static int check_engine(struct building *b)
{
	const struct warder_program *program = b->program;

	if (!is_named(b, BACKEND_RUNS_MODULES) || program->language->is_engine ||
	    strcmp(program->language->name, "wasm") != 0)
		return 0;
	return error_set(
	    b->err, WARDER_ERROR_UNAVAILABLE, "backend",
	    "the backend %s drives node only, and wasm is run by %.100s here: install nodejs, or use "
	    "the backend local",
	    b->backend, program->programs[LANGUAGE_RUN]);
}

static int find_language(struct building *b)
{
	struct warder_program *program = b->program;
	const char *name = NULL;

	if (code_language(program->languages, b->code, &name, &program->found_by, b->err) != 0)
		return -1;
	if (is_named(b, BACKEND_RUNS_NOTHING))
		return refuse_all(b, name);
	program->bare = is_bare(b);
	if (language_resolve(program->languages, name, &program->policy, &program->language,
			     program->programs, b->err) == 0)
		return check_engine(b);
	if (is_named(b, BACKEND_RUNS_MODULES) &&
	    strcmp(name, "wasm") == 0) { /* who asks for the engine itself */
		b->err->code = WARDER_ERROR_UNAVAILABLE;
		return error_context(b->err, "the backend %s", b->backend);
	}
	return -1;
}

/* Its programs are there; may the policy's list have it as well? */
struct policy_subject program_subject(const struct language *language)
{
	struct policy_subject subject = { language->name, POLICY_PAYLOAD_SOURCE };

	if (strcmp(language->name, "wasm") == 0)
		subject.payload = POLICY_PAYLOAD_GUEST_MODULE;
	else if (strcmp(language->name, "command") == 0)
		subject.payload = POLICY_PAYLOAD_PROGRAM;
	return subject;
}

/* ---- files ---- */

static int add_file(struct building *b, const char *directory, const char *path, const char *bytes,
		    size_t len, unsigned int mode)
{
	struct warder_program *program = b->program;
	struct rootfs_file *file = &program->files[program->file_count];
	const size_t prefix = strlen(directory) + 1;
	char *name = malloc(prefix + strlen(path) + 1), *copy = malloc(len + 1);

	if (!name || !copy) {
		free(name);
		free(copy);
		return error_no_memory(b->err, NULL);
	}
	sprintf(name, "%s/", directory);
	path_plain(path, name + prefix);
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	*file = (struct rootfs_file){ .path = name, .bytes = copy, .len = len, .mode = mode };
	program->file_count++;
	return 0;
}

static void name_file(struct warder_program *program, const struct warder_code *code)
{
	const char *dot = code->file_name ? strrchr(code->file_name, '.') : NULL;
	char class[104];

	snprintf(program->file, sizeof(program->file), "%s", program->language->file);
	/* Node tells by the name whether it may import. */
	if (dot && !program->function && strcmp(program->language->name, "javascript") == 0 &&
	    (strcmp(dot, ".mjs") == 0 || strcmp(dot, ".cjs") == 0))
		snprintf(program->file, sizeof(program->file), "main%s", dot);
	if (program->language->naming == LANGUAGE_NAMING_JAVA &&
	    java_class(code->source, code->source_len, class, sizeof(class)))
		snprintf(program->file, sizeof(program->file), "%s.java", class);
}

/* What the source has to be before a compiler or an engine sees it. */
static int check_size(struct building *b, const struct policy *asked)
{
	const size_t length = b->code->source_len;
	char most[32];

	b->program->code_bytes = length;
	if (length <= asked->limits.code_bytes)
		return 0;
	return error_set(
	    b->err, WARDER_ERROR_REJECTED, "limits.code",
	    "limits.code: the code has %zu bytes, and the policy allows %s; shorten it, or raise "
	    "limits.code",
	    length, policy_format_size(asked->limits.code_bytes, most, sizeof(most)));
}

static int check_rows(struct building *b, const struct policy_strings *rows, const char *name)
{
	const bool built = b->program->language->stages[LANGUAGE_BUILD] != NULL;

	for (size_t i = 0; i < rows->count; i++) {
		const char *target = policy_path_target(rows->items[i]);
		const bool hides = built && path_within(PREPARATION_PROGRAM, target);
		char field[64], shown[200];

		if (!hides && strcmp(target, box_path) != 0)
			continue;
		snprintf(field, sizeof(field), "filesystem.paths.%s[%zu]", name, i);
		error_set(b->err, WARDER_ERROR_CONFLICT, field,
			  "%s: %s would lie at %s, where Warder puts %s; choose another target", field,
			  json_quote(rows->items[i], shown, sizeof(shown)),
			  hides ? PREPARATION_PROGRAM : box_path,
			  hides ? "the built program" : "the code and its files");
		return -1;
	}
	return 0;
}

/* The places of a jail that hold the code. */
static int check_targets(struct building *b, const struct policy *asked)
{
	return check_rows(b, &asked->filesystem.read_only, "readOnly") == 0
		   ? check_rows(b, &asked->filesystem.read_write, "readWrite")
		   : -1;
}

static int check_source(struct building *b)
{
	const char *language = b->program->language->name;
	struct wasm_module module;

	b->program->function = b->code->flags & WARDER_CODE_FUNCTION;
	if (b->program->function && !harness_find(language, &b->program->harness))
		return error_set(b->err, WARDER_ERROR_INVALID_REQUEST, "function",
				 "a function is called in python, javascript and rust only; write a program "
				 "in %s",
				 language);
	if (b->program->function && strcmp(language, "rust") == 0)
		return rust_source_validate(b->code->source, b->code->source_len, b->err);
	if (strcmp(language, "wasm") != 0 && wasm_is_module(b->code->source, b->code->source_len))
		return error_set(b->err, WARDER_ERROR_INVALID_REQUEST, "language",
				 "GuestModule(Wasm) payload requires Wasm language, got %c%s",
				 toupper((unsigned char)*language),
				 strcmp(language, "javascript") == 0 ? "avaScript" : language + 1);
	if (strcmp(language, "command") == 0 && memchr(b->code->source, '\0', b->code->source_len))
		return error_set(b->err, WARDER_ERROR_INVALID_REQUEST, "source",
				 "the command has a NUL byte, where it would end; take it out");
	if (strcmp(language, "wasm") != 0)
		return 0;
	wasm_inspect(b->code->source, b->code->source_len, &module);
	if (!module.valid)
		return error_set(b->err, WARDER_ERROR_INVALID_REQUEST, "source", "%s", module.reason);
	if (module.walked && !module.has_start)
		return error_set(b->err, WARDER_ERROR_INVALID_REQUEST, "source",
				 "the module exports no function _start: it is not a program for WASI");
	return 0;
}

static int advise(struct building *b)
{
	if (!(b->code->flags & (WARDER_CODE_SCAN | WARDER_CODE_SCAN_DENY)))
		return 0;
	return advice_take(b->code, b->program->language->name, &b->program->policy, &b->program->scan,
			   b->err);
}

static int add_source(struct building *b)
{
	const struct warder_code *code = b->code;
	const char *name = b->program->file;
	char *text = NULL;
	size_t len;
	int added = strcmp(b->program->language->name, "go") == 0
			? go_source_complete(name, code->source, code->source_len, &text, &len, b->err)
			: 0;

	if (added < 0)
		return -1;
	added = added ? add_file(b, PROGRAM_BOX, name, text, len, 0)
		      : add_file(b, PROGRAM_BOX, name, code->source, code->source_len, 0);
	free(text);
	return added;
}

static int take_files(struct building *b)
{
	struct warder_program *program = b->program;
	const struct warder_code *code = b->code;
	const char *const *support = program->language->support;
	const struct harness *harness = &program->harness;
	size_t count = 2 + code->file_count;

	for (size_t i = 0; support && support[i]; i += 2)
		count++;
	program->files = calloc(count, sizeof(*program->files));
	if (!program->files)
		return error_no_memory(b->err, NULL);
	name_file(program, code);
	if (add_source(b) != 0)
		return -1;
	if (program->function && add_file(b, PROGRAM_BOX, harness->file, harness->text, harness->len, 0) != 0)
		return -1;
	for (size_t i = 0; i < code->file_count; i++) {
		const struct warder_file *file = &code->files[i];

		if (!file->path || !file->bytes ||
		    path_check_relative(file->path, strlen(file->path), b->err) != 0)
			return file->path && file->bytes
				   ? error_context(b->err, "files")
				   : error_set(b->err, WARDER_ERROR_INVALID_REQUEST, "files",
					       "file %zu has no %s", i, file->path ? "bytes" : "path");
		if (add_file(b, PROGRAM_BOX, file->path, file->bytes, file->len, file->mode) != 0)
			return -1;
	}
	for (size_t i = 0; support && support[i]; i += 2) {
		if (add_file(b, PROGRAM_SUPPORT, support[i], support[i + 1], strlen(support[i + 1]), 0) != 0)
			return -1;
	}
	return 0;
}

/* ---- policies ---- */

static void empty_strings(struct policy_strings *strings)
{
	while (strings->count)
		free(strings->items[--strings->count]);
}

/* The lowest in order: what the policy or the caller sets stays. */
static int set_environment(struct policy *policy, const char *const *variables, struct warder_error *err)
{
	for (; variables && *variables; variables++) {
		const size_t len = strcspn(*variables, "=");
		char path[256];

		if (program_sets(policy, *variables, len))
			continue;
		snprintf(path, sizeof(path), "environment.set.%.*s", (int)len, *variables);
		if (policy_set(policy, path, *variables + len + 1, err) != 0)
			return -1;
	}
	return 0;
}

/* Of the run. Where it works: in its box, unless the policy says otherwise or gives it a workspace. In a session, each run has a box of
 * its own (call.c). */
static int derive_run(struct building *b)
{
	struct policy *policy = &b->program->policy;

	b->program->in_box =
	    !policy->working_directory && policy->filesystem.workspace == POLICY_WORKSPACE_NONE;
	if (b->program->in_box && !b->program->bare &&
	    policy_set(policy, "workingDirectory", b->program->in_session ? "/tmp" : box_path, b->err) != 0)
		return -1;
	return set_environment(policy, b->program->language->environment, b->err);
}

/* Of a check or a build. */
static int derive_build(struct building *b, enum language_stage stage, const struct policy *asked,
			struct policy *ret)
{
	const struct language *language = b->program->language;

	if (policy_copy(asked, ret, b->err) != 0 || policy_set(ret, "network.mode", "none", b->err) != 0 ||
	    policy_set(ret, "filesystem.workspace", "none", b->err) != 0 ||
	    policy_set(ret, "environment.mode", "none", b->err) != 0 ||
	    ((language->spawns & LANGUAGE_BIT(stage)) &&
	     policy_set(ret, "processes.spawn", "true", b->err) != 0) ||
	    policy_set(ret, "workingDirectory", box_path, b->err) != 0)
		return -1;
	if (b->program->bare) { /* another one for each stage, see struct scratch */
		free(ret->working_directory);
		ret->working_directory = NULL;
	}
	empty_strings(&ret->filesystem.read_only);
	empty_strings(&ret->filesystem.read_write);
	while (ret->environment.set_count) {
		struct policy_variable *last = &ret->environment.set[--ret->environment.set_count];

		free(last->name);
		free(last->value);
	}
	ret->output.stdout_bytes = ret->output.stderr_bytes = BUILD_OUTPUT;
	ret->output.on_limit = POLICY_OUTPUT_DRAIN;
	if (set_environment(ret, language->environment, b->err) != 0)
		return -1;
	return set_environment(ret, language->build_environment, b->err);
}

/* ---- stages ---- */

static struct result_stage *add_stage(struct warder_program *program, enum language_stage stage,
				      const struct warder_result *result)
{
	struct result_stage *row = &program->stages[program->stage_count++];

	*row = (struct result_stage){ .name = stage_names[stage], .status = "cached" };
	if (!result)
		return row;
	row->status = warder_result_status(result);
	row->wall_us = result->outcome.wall_us;
	row->cpu_us = result->outcome.cpu_us;
	row->memory_peak_bytes = result->outcome.memory_peak_bytes;
	row->receipt = malloc(sizeof(*row->receipt));
	if (row->receipt)
		*row->receipt = result->receipt;
	return row;
}

static int launch_stage(struct building *b, enum language_stage stage, struct warder_template *tmpl,
			const struct library_launch *begun, struct warder_result **ret)
{
	const struct rootfs_collect collect = {
		.directory = PROGRAM_OUT,
		.files_max = BUILD_FILES_MAX,
		.file_bytes = BUILD_FILE_BYTES,
		.total_bytes = BUILD_FILE_BYTES,
		.save_fd = b->program->entry.fd,
		.whole = true,
	};
	struct rootfs_file *files = calloc(b->program->file_count + 1, sizeof(*files));
	struct library_launch launch = *begun;
	struct warder_run *run = NULL;
	int status = -1;

	if (!files)
		return error_no_memory(b->err, NULL);
	launch.command.stdin_fd = -1;
	launch.command.should_stop = b->code->should_stop;
	launch.command.stop_context = b->code->context;
	launch.command.files = files;
	launch.command.file_count = b->program->file_count + 1;
	launch.command.collect = stage == LANGUAGE_BUILD ? &collect : NULL;
	memcpy(files, b->program->files, b->program->file_count * sizeof(*files));
	files[b->program->file_count] = (struct rootfs_file){ .path = PROGRAM_OUT };
	if (library_launch(tmpl, &launch, &run, b->err) == 0) {
		if (b->code->on_stage)
			b->code->on_stage(b->code->context, stage_names[stage], run);
		status = warder_wait(run, ret, b->err);
		if (b->code->on_stage)
			b->code->on_stage(b->code->context, stage_names[stage], NULL);
		warder_run_free(run);
	}
	free(files);
	return status;
}

static bool is_success(const struct warder_result *result)
{
	return result->outcome.cause == JAIL_CAUSE_EXIT && result->outcome.exit_code == 0;
}

/* Everything that was built is in the entry, or it is not whole. */
static int check_collected(struct building *b, const struct rootfs_collection *collected)
{
	if (collected->limits_hit || collected->fault[0])
		return error_set(b->err, WARDER_ERROR_UNAVAILABLE, "build",
				 "the built files cannot be stored: %s",
				 collected->fault[0] ? collected->fault
						     : "it is over the limits of 1000 files and 256 MiB");
	for (size_t i = 0; i < collected->count; i++) {
		if (collected->items[i].taken != ROOTFS_TAKEN_SAVED)
			return error_set(b->err, WARDER_ERROR_UNAVAILABLE, "build",
					 "the built files cannot be stored: %.80s: %s",
					 collected->items[i].path, collected->items[i].why);
	}
	return 0;
}

/* ---- what the compilers say ---- */

static int write_diagnostics(struct building *b)
{
	struct warder_program *program = b->program;
	struct json_writer w = { 0 };

	diagnostics_write(&program->found, &w);
	free(program->diagnostics);
	program->diagnostics = json_take(&w);
	return program->diagnostics ? 0 : error_no_memory(b->err, NULL);
}

/* Standard output is read only where the compiler tells on it: what an assembler prints there is the source's choice. A check
 * and a build say the same: the last stands. */
static int read_diagnostics(struct building *b, const char *box)
{
	struct warder_program *program = b->program;
	const struct jail_output *output = program->built->outcome.output;
	const struct syntax_run run = { .exit_status = program->built->outcome.exit_code,
					.text = output[JAIL_STDERR].bytes,
					.len = output[JAIL_STDERR].len };

	diagnostics_done(&program->found);
	memset(&program->found, 0, sizeof(program->found));
	if (syntax_read(program->language->syntax, &run, box, program->files, program->file_count,
			&program->found, b->err) != 0)
		return -1;
	if (program->found.count)
		return write_diagnostics(b);
	for (int stream = JAIL_STDERR; stream >= JAIL_STDOUT; stream--) {
		if (stream == JAIL_STDOUT && !program->language->tells_on_stdout)
			continue;
		if (output[stream].len &&
		    diagnostics_parse(program->language->diagnostics, output[stream].bytes,
				      output[stream].len, &program->found, b->err) != 0)
			return -1;
	}
	if (diagnostics_add_source(&program->found, program->file, b->code->source, b->code->source_len,
				   b->err) != 0)
		return -1;
	return write_diagnostics(b);
}

/* Beside what was built, under a hidden name: the next one to find it is told of the same warnings. How many were dropped and how
 * many could not be read, and in the next line the others. */
static int keep_diagnostics(struct building *b)
{
	const struct diagnostics *found = &b->program->found;
	const bool fits = strlen(b->program->diagnostics) <= DIAGNOSTICS_KEPT;
	struct rootfs_file file = { .path = DIAGNOSTICS_FILE };
	char *text = NULL;
	int kept = -1;

	if (asprintf(&text, "%zu %zu\n%s", found->dropped + (fits ? 0 : found->count), found->unreadable,
		     fits ? b->program->diagnostics : "[]") >= 0) {
		file.bytes = text;
		file.len = strlen(text);
		kept = rootfs_put_files(b->program->entry.fd, &file, 1, (uid_t)-1, (gid_t)-1, b->err);
		free(text);
	} else {
		error_no_memory(b->err, NULL);
	}
	return kept;
}

/* They are gone, too large, or no JSON any more: then nothing is known of them, which is no reason not to run the program. */
static int find_diagnostics(struct building *b)
{
	const struct json_limits limits = { .max_bytes = DIAGNOSTICS_KEPT + 1 };
	struct diagnostics found = { 0 };
	struct warder_error ignored;
	struct json_value *value = NULL;
	char *path = NULL, *text = NULL, *list = NULL;
	bool no_room = false;
	size_t len;

	if (asprintf(&path, "/proc/self/fd/%d/" DIAGNOSTICS_FILE, b->program->entry.fd) < 0)
		return error_no_memory(b->err, NULL);
	if (file_read_most(path, DIAGNOSTICS_KEPT + COUNTS_BYTES, &text, &len, &ignored) == 0)
		list = memchr(text, '\n', len);
	if (list && sscanf(text, "%zu %zu", &found.dropped, &found.unreadable) == 2 &&
	    json_parse(list + 1, len - (size_t)(list + 1 - text), DIAGNOSTICS_FILE, &limits, &value,
		       &ignored) == 0 &&
	    value->type == JSON_ARRAY) {
		b->program->diagnostics = strdup(list + 1);
		b->program->found = found;
		no_room = !b->program->diagnostics;
	}
	json_free(value);
	free(text);
	free(path);
	return no_room ? error_no_memory(b->err, NULL) : 0;
}

/* ---- a stage ---- */

static void spend(struct warder_program *program, uint64_t us)
{
	if (program->left_us != POLICY_UNLIMITED)
		program->left_us = us < program->left_us ? program->left_us - us : 1;
}

static void cut_output(struct jail_output *output, uint64_t most)
{
	if (output->len <= most)
		return;
	output->len = (size_t)most;
	output->bytes[output->len] = '\0';
	output->truncated = true;
}

/* `places`: the directories of the stage, which its command line and its environment name. */
static int start_stage(struct building *b, enum language_stage stage, const struct policy *policy,
		       const struct scratch *scratch, const struct program_paths *paths,
		       struct warder_result **ret)
{
	const struct policy_subject subject = program_subject(b->program->language);
	const struct preparation_options how = { .cgroup_parent = b->cgroup_parent,
						 .backend = b->backend,
						 .backends = b->backends,
						 .subject = &subject,
						 .code_bytes = b->program->code_bytes };
	char **argv = program_argv(b->program, stage, paths, NULL);
	char **environment = program_environment(b->program, policy, paths);
	struct library_launch launch = { .command = { .argv = argv, .set_env = environment } };
	struct warder_template *tmpl = NULL;
	int status = -1;

	if (b->program->bare) {
		launch.command.scratch = scratch->path;
		launch.command.working_directory = paths->box;
	}
	if (!argv || !environment)
		error_no_memory(b->err, NULL);
	else if (library_prepare(policy, &how, true, &tmpl, b->err) == 0)
		status = launch_stage(b, stage, tmpl, &launch, ret);
	program_free_list(argv);
	program_free_list(environment);
	warder_template_free(tmpl);
	return status;
}

/* 0, also if it failed in the sense of the code: program->failed. */
static int run_stage(struct building *b, enum language_stage stage, const struct policy *asked)
{
	struct warder_program *program = b->program;
	owned_policy struct policy policy = { 0 };
	struct scratch scratch = SCRATCH_NONE;
	struct program_paths paths;
	struct warder_result *result = NULL;
	int status = -1;

	if (program->bare && scratch_open(PROGRAM_BOX, &scratch, b->err) != 0)
		return -1;
	program_find_paths(program, stage, program->bare ? scratch.path : NULL, &paths);
	if (derive_build(b, stage, asked, &policy) == 0) {
		policy.limits.wall_time_us = program->left_us;
		status = start_stage(b, stage, &policy, &scratch, &paths, &result);
	}
	scratch_done(&scratch);
	if (status != 0)
		return *b->err->step ? error_context(b->err, "%s", stage_names[stage]) : -1;
	program->failed = !is_success(result);
	if (program->single_use)
		spend(program, result->outcome.wall_us);
	warder_result_free(program->built);
	program->built = result;
	if (!add_stage(program, stage, result)->receipt)
		return error_no_memory(b->err, NULL);
	if (read_diagnostics(b, paths.box) != 0)
		return -1;
	cut_output(&result->outcome.output[JAIL_STDOUT], asked->output.stdout_bytes);
	cut_output(&result->outcome.output[JAIL_STDERR], asked->output.stderr_bytes);
	return program->failed || stage != LANGUAGE_BUILD ? 0
							  : check_collected(b, &result->outcome.collected);
}

/* The stage's result tells of it as a whole. */
static int report_stage(struct building *b)
{
	if (!b->program->built || b->program->built->code)
		return 0;
	b->program->built->code = program_report(b->program);
	return b->program->built->code ? 0 : error_no_memory(b->err, NULL);
}

/* ---- the cache ---- */

static void add_program(struct sha256 *sha, const struct warder_program *program, enum language_stage stage)
{
	struct stat st = { 0 };
	char text[200] = "";

	sha256_add_text(sha, program->programs[stage]);
	if (program->programs[stage] && rootfs_has_program(&program->policy, program->programs[stage], &st))
		snprintf(text, sizeof(text), "%llu %llu %lld %lld.%09ld %lld.%09ld",
			 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino, (long long)st.st_size,
			 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec,
			 st.st_ctim.tv_nsec);
	sha256_add_text(sha, text);
}

static int make_key(struct building *b, const struct policy *asked, char key[SHA256_HEX])
{
	const struct warder_program *program = b->program;
	struct program_paths paths;
	owned_policy struct policy policy = { 0 };
	struct sha256 sha;
	char **argv;
	char *document;

	program_find_paths(program, LANGUAGE_BUILD, NULL, &paths);
	argv = program_argv(program, LANGUAGE_BUILD, &paths, NULL);
	if (!argv || derive_build(b, LANGUAGE_BUILD, asked, &policy) != 0) {
		program_free_list(argv);
		return argv ? -1 : error_no_memory(b->err, NULL);
	}
	document = policy_encode(&policy);
	sha256_init(&sha);
	sha256_add_text(&sha, "warder " WARDER_VERSION);
	sha256_add_text(&sha, program->language->name);
	sha256_add_text(&sha, document);
	if (program->bare) /* what an unconfined compiler made is not for a jail */
		sha256_add_text(&sha, b->backend);
	add_program(&sha, program, LANGUAGE_CHECK);
	add_program(&sha, program, LANGUAGE_BUILD);
	for (char **arg = argv; *arg; arg++)
		sha256_add_text(&sha, *arg);
	sha256_add_text(&sha, NULL);
	for (size_t i = 0; i < program->file_count; i++) {
		char mode[32];

		snprintf(mode, sizeof(mode), "%o %zu", program->files[i].mode, program->files[i].len);
		sha256_add_text(&sha, program->files[i].path);
		sha256_add_text(&sha, mode);
		sha256_add(&sha, program->files[i].bytes, program->files[i].len);
	}
	sha256_hex(&sha, key);
	program_free_list(argv);
	free(document);
	return document ? 0 : error_no_memory(b->err, NULL);
}

/* Whether one of the two directories holds the other. */
static bool meet(const char *path, const char *cache)
{
	char *real = path ? realpath(path, NULL) : NULL;
	const bool met = real && (path_within(real, cache) || path_within(cache, real));

	free(real);
	return met;
}

/* What is found in the cache is executed: no program may have written to it. */
static int check_cache(struct building *b, const struct policy *asked)
{
	const struct policy_strings *writable = &asked->filesystem.read_write;
	const char *path = b->program->cache.path;
	char *cache = realpath(path, NULL);
	char source[PATH_MAX];
	bool met = cache && asked->filesystem.workspace == POLICY_WORKSPACE_READ_WRITE &&
		   meet(asked->filesystem.workspace_root, cache);

	for (size_t i = 0; cache && i < writable->count; i++)
		met |= policy_path_source(writable->items[i], source) && meet(source, cache);
	free(cache);
	if (!cache)
		return error_set_errno(b->err, WARDER_ERROR_UNAVAILABLE, "cache", errno, "%.200s", path);
	if (!met)
		return 0;
	return error_set(
	    b->err, WARDER_ERROR_INVALID_REQUEST, "cache",
	    "the policy lets the program write to %.200s, where built programs are kept; name another cache "
	    "directory, or a path that does not hold it",
	    path);
}

static int claim_entry(struct building *b, const struct policy *asked)
{
	struct warder_program *program = b->program;
	const bool keeps = !(b->code->flags & WARDER_CODE_NO_CACHE);
	const uint64_t begin = clock_us();
	char key[SHA256_HEX];

	if (make_key(b, asked, key) != 0 ||
	    cache_open(b->code->cache, b->code->cache_bytes, &program->cache, b->err) != 0 ||
	    check_cache(b, asked) != 0)
		return -1;
	program->cache.wait_us = program->left_us;
	program->cache.should_stop = b->code->should_stop;
	program->cache.context = b->code->context;
	if (cache_claim(&program->cache, keeps ? key : NULL, &program->entry, b->err) != 0)
		return -1;
	if (program->single_use)
		spend(program, clock_us() - begin);
	/* Who only wants it checked is to get a result: what the compiler says, and under which controls. */
	if (!program->entry.built || !(b->code->flags & WARDER_CODE_CHECK_ONLY))
		return 0;
	cache_release(&program->cache, &program->entry);
	return cache_claim(&program->cache, NULL, &program->entry, b->err);
}

static int build(struct building *b, const struct policy *asked)
{
	struct warder_program *program = b->program;
	const struct language *language = program->language;

	if (claim_entry(b, asked) != 0)
		return -1;
	if (program->entry.built) {
		add_stage(program, LANGUAGE_BUILD, NULL);
		return find_diagnostics(b);
	}
	if (language->check_first && language->stages[LANGUAGE_CHECK] &&
	    run_stage(b, LANGUAGE_CHECK, asked) != 0)
		return -1;
	if (program->failed)
		return 0;
	if (run_stage(b, LANGUAGE_BUILD, asked) != 0)
		return -1;
	if (program->failed)
		return 0;
	return keep_diagnostics(b) == 0 ? cache_commit(&program->cache, &program->entry, b->err) : -1;
}

/* ---- from top to bottom ---- */

static int check_only(struct building *b, const struct policy *asked)
{
	const struct language *language = b->program->language;

	if (language->stages[LANGUAGE_CHECK])
		return run_stage(b, LANGUAGE_CHECK, asked);
	if (language->stages[LANGUAGE_BUILD])
		return build(b, asked);
	return error_set(b->err, WARDER_ERROR_INVALID_REQUEST, "language",
			 "%s has nothing that checks code without running it", language->name);
}

/* A session keeps its root as it was at its start: what was built is copied into its /tmp, like the source. */
static int check_session(struct building *b)
{
	const struct warder_program *program = b->program;
	const char *first = program->language->stages[LANGUAGE_RUN][0];

	if (!session_is_backend(b->backend))
		return error_set(
		    b->err, WARDER_ERROR_INVALID_REQUEST, "backend",
		    "the backend %.40s has no sessions; the backend of code in a session is local",
		    b->backend);
	if (strncmp(first, "{out}", 5) != 0 || program->policy.filesystem.tmp_exec)
		return 0;
	return error_set(
	    b->err, WARDER_ERROR_UNSUPPORTED_POLICY, "filesystem.tmpExec",
	    "a program that was built from %s lies in /tmp of the session, and filesystem.tmpExec "
	    "of the session is false; start the session with --set filesystem.tmpExec=true",
	    program->language->name);
}

static int make_template(struct building *b, const struct policy *asked)
{
	struct warder_program *program = b->program;
	const struct policy_subject subject = program_subject(program->language);
	struct preparation_options how = options_for(b, &subject);

	how.asked = asked;
	how.code_bytes = program->code_bytes;
	if (program->entry.built && !program->bare && !program->in_session)
		how.program = program->entry.path;
	if (program->single_use)
		program->policy.limits.wall_time_us = program->left_us;
	if (program->in_session)
		return session_prepare(b->code->session, &program->policy, &how, program->single_use,
				       &program->tmpl, b->err);
	return library_prepare(&program->policy, &how, program->single_use, &program->tmpl, b->err);
}

/* What would be refused at the run is refused before a compiler starts. */
static int judge(struct building *b, const struct policy *asked)
{
	const struct policy_subject subject = program_subject(b->program->language);
	const struct preparation_options how = options_for(b, &subject);
	struct preparation trial = { 0 };
	struct warder_template *joined = NULL;
	int status;

	if (b->program->in_session) {
		status = check_session(b) == 0
			     ? session_prepare(b->code->session, asked, &how, true, &joined, b->err)
			     : -1;
		warder_template_free(joined);
		return status;
	}
	status = preparation_build(asked, &how, &trial, b->err);
	preparation_done(&trial);
	return status;
}

static int build_program(struct building *b, const struct policy *asked)
{
	struct warder_program *program = b->program;
	const struct language *language;

	if (policy_validate(asked, b->err) != 0 || load_languages(b, asked) != 0 || find_language(b) != 0 ||
	    check_size(b, asked) != 0 || check_targets(b, asked) != 0 || check_source(b) != 0 ||
	    advise(b) != 0 || take_files(b) != 0)
		return -1;
	language = program->language;
	program->in_box = true; /* in the build */
	program->left_us = asked->limits.wall_time_us;
	if ((language->stages[LANGUAGE_BUILD] ||
	     (b->code->flags & (WARDER_CODE_CHECK_ONLY | CODE_BUILD_ONLY))) &&
	    judge(b, asked) != 0)
		return -1;
	if (b->code->flags & WARDER_CODE_CHECK_ONLY)
		return check_only(b, asked);
	if (language->stages[LANGUAGE_BUILD] && build(b, asked) != 0)
		return -1;
	if (program->failed || (b->code->flags & CODE_BUILD_ONLY))
		return 0;
	if (program->in_session && check_session(b) != 0)
		return -1;
	if (derive_run(b) != 0)
		return -1;
	/* The time that a build has taken is known only here. */
	if (program->in_session && b->code->flags & CODE_FOR_KEEPER) {
		if (program->single_use)
			program->policy.limits.wall_time_us = program->left_us;
		return 0;
	}
	return b->code->flags & CODE_PREPARE_LATER && !language->stages[LANGUAGE_BUILD] &&
		       !program->in_session
		   ? 0
		   : make_template(b, asked);
}

int code_derive(struct warder_program *program, const struct warder_policy *policy, struct warder_error *err)
{
	struct building b = { .program = program, .err = err };

	policy_done(&program->policy);
	return policy_copy(&policy->policy, &program->policy, err) == 0 ? derive_run(&b) : -1;
}

int code_prepare(struct warder_program *program, const struct warder_policy *policy,
		 const struct warder_options *options, struct warder_error *err)
{
	struct building b = { .program = program, .err = err };

	b.ceiling = options->ceiling ? &options->ceiling->policy : NULL;
	b.cgroup_parent = options->cgroup_parent;
	b.backend = options->backend;
	b.backends = options->backends;
	warder_template_free(program->tmpl);
	program->tmpl = NULL;
	program->single_use = options->single_use;
	program->left_us = policy->policy.limits.wall_time_us;
	return code_derive(program, policy, err) == 0 ? make_template(&b, &policy->policy) : -1;
}

int warder_build(const struct warder_policy *policy, const struct warder_options *options,
		 const struct warder_code *code, struct warder_program **ret, struct warder_error *err)
{
	struct warder_options known = { 0 };
	struct warder_code known_code = { 0 };
	struct building b = { .code = &known_code, .err = err };

	if (!policy || !code || !ret)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the argument `%s` is NULL",
				 !policy ? "policy"
				 : !code ? "code"
					 : "ret");
	if ((options &&
	     library_take(&known, sizeof(known), options, options->size, "warder_options", err) != 0) ||
	    library_take(&known_code, sizeof(known_code), code, code->size, "warder_code", err) != 0 ||
	    check_code(&known_code, err) != 0)
		return -1;
	b.ceiling = known.ceiling ? &known.ceiling->policy : NULL;
	b.cgroup_parent = known.cgroup_parent;
	b.backend = known.backend;
	b.backends = known.backends;
	b.program = calloc(1, sizeof(*b.program));
	if (!b.program)
		return error_no_memory(b.err, NULL);
	atomic_init(&b.program->users, 1);
	b.program->cache = CACHE_NONE;
	b.program->entry = ENTRY_NONE;
	b.program->single_use = known.single_use;
	b.program->in_session = known_code.session != NULL;
	if (policy_copy(&policy->policy, &b.program->policy, err) != 0 ||
	    build_program(&b, &policy->policy) != 0 || report_stage(&b) != 0) {
		warder_program_free(b.program);
		return -1;
	}
	*ret = b.program;
	return 0;
}
