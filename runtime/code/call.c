/*
 * A run of a program that is ready: the files, an input and a result of its own, and what comes back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "runtime/code/box.h"
#include "runtime/code/code.h"
#include "runtime/code/program.h"
#include "runtime/library/interpreters.h"
#include "runtime/library/library.h"
#include "runtime/library/order.h"
#include "runtime/library/preparation.h"

#define FILES_MAX    100
#define FILE_BYTES   (4ull << 20)
#define TOTAL_BYTES  (64ull << 20)
#define RESULT_BYTES (1ull << 20)

/* What a run borrows, and what is to be done with its result. */
struct call {
	struct warder_program *program;
	char **argv, **environment;
	char **patterns;
	char *directory; /* of files that are saved, as the caller named it */
	int save_fd, input_fd;
	struct scratch scratch; /* where the backend has no root */
	struct box box;         /* in a session */
	struct program_paths paths;
	struct rootfs_collect collect;
	struct result_value_rules rules;
	struct result_code *report; /* of an order for a keeper */
	bool collects;
};

static void call_free(void *owner)
{
	struct call *call = owner;

	program_free_list(call->argv);
	program_free_list(call->environment);
	program_free_list(call->patterns);
	free(call->directory);
	fd_done(&call->save_fd);
	fd_done(&call->input_fd);
	scratch_done(&call->scratch);
	box_done(&call->box);
	result_code_free(call->report);
	warder_program_free(call->program);
	free(call);
}

/* ---- before ---- */

#define MORE 3

/* One list after the other, and then `more`, each of which may be NULL. */
static char **copy_list(char *const *own, char *const *items, const char *const more[MORE])
{
	const size_t own_count = text_count(own), count = own_count + text_count(items);
	size_t used = 0;
	char **list = calloc(count + MORE + 1, sizeof(char *));

	for (size_t i = 0; list && i < count + MORE; i++) {
		const char *item = i < own_count ? own[i]
				   : i < count   ? items[i - own_count]
						 : more[i - count];

		if (!item)
			continue;
		list[used] = strdup(item);
		if (!list[used++]) {
			program_free_list(list);
			return NULL;
		}
	}
	return list;
}

/* A sealed copy, opened for reading alone: nobody can change what another run may be given. */
static int make_input(const char *json, size_t len, int *ret_fd, struct warder_error *err)
{
	owned_fd int write_fd = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct json_value *value = NULL;
	const struct json_limits limits = { .max_bytes = len + 1, .max_depth = RESULT_VALUE_DEPTH };
	char path[64];

	if (json_parse(json, len, "input", &limits, &value, err) != 0)
		return -1;
	json_free(value);
	for (size_t at = 0; write_fd >= 0 && at < len;) {
		ssize_t n = write(write_fd, json + at, len - at);

		if (n <= 0 && errno != EINTR)
			break;
		at += n > 0 ? (size_t)n : 0;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", write_fd);
	if (write_fd < 0 || lseek(write_fd, 0, SEEK_END) != (off_t)len || fchmod(write_fd, 0444) != 0 ||
	    fcntl(write_fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0 ||
	    (*ret_fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "input", errno,
				       "the input cannot be kept for the code");
	return 0;
}

static int open_directory(struct call *call, const char *directory, struct warder_error *err)
{
	call->directory = strdup(directory);
	if (!call->directory)
		return error_no_memory(err, NULL);
	call->save_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (call->save_fd < 0)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "collect.directory", errno,
				       "%.200s cannot be opened; it must be a directory that is there",
				       directory);
	return 0;
}

/* It names files below the working directory. */
static int check_pattern(const char *pattern, struct warder_error *err)
{
	const char *why = !*pattern ? "is empty" : *pattern == '/' ? "begins with /" : NULL;
	char quoted[80];

	for (const char *at = pattern; *at && !why; at += strcspn(at, "/") + (at[strcspn(at, "/")] == '/')) {
		if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
			why = "leads out by ..";
	}
	if (!why)
		return 0;
	return error_set(
	    err, WARDER_ERROR_INVALID_REQUEST, "collect",
	    "the pattern %s %s; files are collected below the working directory, such as \"out/*\"",
	    json_quote(pattern, quoted, sizeof(quoted)), why);
}

static int take_collect(struct call *call, const struct warder_collect *collect, struct warder_error *err)
{
	const struct warder_program *program = call->program;
	const bool boxed = program->in_session;

	call->patterns = calloc(collect->pattern_count + 1, sizeof(char *));
	for (size_t i = 0; call->patterns && i < collect->pattern_count; i++) {
		if (check_pattern(collect->patterns[i], err) != 0)
			return -1;
		call->patterns[i] = strdup(collect->patterns[i]);
		if (!call->patterns[i])
			return error_no_memory(err, NULL);
	}
	if (!call->patterns)
		return error_no_memory(err, NULL);
	if (collect->directory && open_directory(call, collect->directory, err) != 0)
		return -1;
	call->collect = (struct rootfs_collect){
		.directory = boxed ? call->box.collected : PROGRAM_BOX,
		.patterns = (const char *const *)call->patterns,
		.pattern_count = collect->pattern_count,
		.unchanged = boxed ? call->box.files : program->files,
		.unchanged_count = program->file_count,
		.files_max = collect->files_max ? collect->files_max : FILES_MAX,
		.file_bytes = collect->file_bytes ? collect->file_bytes : FILE_BYTES,
		.total_bytes = collect->total_bytes ? collect->total_bytes : TOTAL_BYTES,
		.inline_bytes = collect->inline_bytes == UINT64_MAX ? 0
				: collect->inline_bytes             ? collect->inline_bytes
								    : ORDER_INLINE_BYTES,
		.save_fd = call->save_fd,
	};
	call->collects = true;
	return 0;
}

/* Those of the place where it runs, the caller's, and those that name the descriptors; a later one wins. */
static char **make_environment(const struct call *call, const struct warder_call *known)
{
	const char *where = call->program->language->descriptors;
	char **own = program_environment(call->program, &call->program->policy, &call->paths);
	char **list;
	const bool functions = known->functions && known->function_count;
	char result[64], input[64], progress[64];
	const char *const more[MORE] = { result, known->json ? input : NULL,
					 known->progress ? progress
					 : functions     ? FUNCTIONS_VARIABLE "=5"
							 : NULL };

	where = where ? where : "/dev/fd/";
	snprintf(result, sizeof(result), PROGRAM_RESULT "=%s%d", where, PROGRAM_RESULT_FD);
	snprintf(input, sizeof(input), PROGRAM_INPUT "=%s%d", where, PROGRAM_INPUT_FD);
	snprintf(progress, sizeof(progress), PROGRAM_PROGRESS "=%s%d", where, PROGRAM_PROGRESS_FD);
	list = own ? copy_list(own, known->environment, more) : NULL;
	program_free_list(own);
	return list;
}

/* How much is taken from the descriptor of the result. */
static uint64_t read_bytes(const struct call *call)
{
	const uint64_t more = call->rules.is_engine ? RESULT_ENDING_BYTES : 0;

	return call->rules.bytes > UINT64_MAX - more ? UINT64_MAX : call->rules.bytes + more;
}

static int fill_call(struct call *call, const struct warder_call *known, struct warder_error *err)
{
	if (call->program->bare && scratch_open(PROGRAM_BOX, &call->scratch, err) != 0)
		return -1;
	if (call->program->in_session &&
	    (call->program->tmpl ? box_open : box_draw)(call->program, &call->box, err) != 0)
		return -1;
	program_find_paths(call->program, LANGUAGE_RUN,
			   call->program->bare         ? call->scratch.path
			   : call->program->in_session ? call->box.path
						       : NULL,
			   &call->paths);
	call->argv = program_argv(call->program, LANGUAGE_RUN, &call->paths, known->argv);
	call->environment = make_environment(call, known);
	call->rules =
	    (struct result_value_rules){ .is_engine = call->program->language->is_engine,
					 .last_line = known->last_line,
					 .bytes = known->result_bytes ? known->result_bytes : RESULT_BYTES };
	if (!call->argv || !call->environment)
		return error_no_memory(err, NULL);
	if (known->json && make_input(known->json, known->json_len, &call->input_fd, err) != 0)
		return -1;
	return known->collect ? take_collect(call, known->collect, err) : 0;
}

/* ---- after ---- */

/* What an interpreter said of the source that it refused, unless a compiler has told already. */
static int take_syntax(const struct call *call, struct result_code *code, const struct jail_outcome *outcome,
		       struct warder_error *err)
{
	const struct warder_program *program = call->program;
	const struct jail_output *given = &outcome->output[JAIL_STDERR];
	const struct syntax_run run = { .exit_status =
					    outcome->cause == JAIL_CAUSE_EXIT ? outcome->exit_code : -1,
					.printed = outcome->output[JAIL_STDOUT].total > 0,
					.text = given->bytes,
					.len = given->len };
	struct diagnostics found = { 0 };
	struct json_writer w = { 0 };
	int status = 0;

	if (code->diagnostics || !given->len || given->truncated)
		return 0;
	if (syntax_read(program->language->syntax, &run, call->paths.box, program->files, program->file_count,
			&found, err) != 0) {
		status = -1;
	} else if (found.count) {
		diagnostics_write(&found, &w);
		code->diagnostics = json_take(&w);
		code->diagnostics_of_run = true;
		code->diagnostics_dropped = found.dropped;
		status = code->diagnostics ? 0 : error_no_memory(err, NULL);
	}
	diagnostics_done(&found);
	return status;
}

static int finish(void *owner, struct warder_result *result, struct warder_error *err)
{
	const struct call *call = owner;
	struct result_code *code = program_report(call->program);

	if (!code)
		return error_no_memory(err, NULL);
	if (call->directory && !(code->saved_to = strdup(call->directory))) {
		result_code_free(code);
		return error_no_memory(err, NULL);
	}
	if (take_syntax(call, code, &result->outcome, err) != 0) {
		result_code_free(code);
		return -1;
	}
	result_take_value(&call->rules, code, &result->outcome);
	result_add_run(result, code);
	return 0;
}

/* ---- the call ---- */

static int check_program(const struct warder_program *program, struct warder_error *err)
{
	if (program->failed)
		return error_set(err, WARDER_ERROR_COMPILE_FAILED, NULL,
				 "the code did not compile: there is nothing to run");
	if (!program->tmpl)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "the code was only checked: build it without WARDER_CODE_CHECK_ONLY");
	return 0;
}

static int check_descriptor(const struct warder_program *program, const struct warder_call *known,
			    struct warder_error *err)
{
	if (known->progress && program->language->is_engine)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "progress",
				 "progress (--progress) needs descriptor 5, which a WebAssembly module in an "
				 "engine does not get; leave it out");
	if (known->function_count && program->language->is_engine)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "functions",
		    "functions (--function-command) need descriptor 5, which a WebAssembly module in "
		    "an engine does not get; leave them out");
	return 0;
}

/* The launch that a call asks for; *ret_call owns what it borrows of neither the caller nor the program. -1 with *err. */
static int begin_call(struct warder_program *program, const struct warder_call *known,
		      struct library_launch *ret, struct call **ret_call, struct warder_error *err)
{
	const struct library_streams streams = { .environment = known->environment,
						 .input = known->input,
						 .input_len = known->input_len,
						 .input_fd = known->input_fd,
						 .on_input = known->on_input != NULL,
						 .output_fds = known->output_fds,
						 .on_output = known->on_output != NULL,
						 .output_max = known->output_max };
	struct jail_command spill = { 0 };
	struct call *held;

	if (check_descriptor(program, known, err) != 0 || library_check_streams(&streams, err) != 0)
		return -1;
	held = calloc(1, sizeof(*held));
	if (!held)
		return error_no_memory(err, NULL);
	program_hold(program);
	held->program = program;
	held->save_fd = held->input_fd = -1;
	held->scratch = SCRATCH_NONE;
	held->box = BOX_NONE;
	if (fill_call(held, known, err) != 0 ||
	    library_take_spill(known->spill, &spill, &held->collect.hold, err) != 0) {
		call_free(held);
		return -1;
	}
	*ret = (struct library_launch){
		.command = { .argv = held->argv,
			     .set_env = held->environment,
			     .stdin_data = known->input,
			     .stdin_len = known->input ? known->input_len : 0,
			     .stdin_fd = known->input_fd > 0 ? known->input_fd : -1,
			     .output_fds = known->output_fds,
			     .output_max = known->output_max,
			     .should_stop = known->should_stop,
			     .stop_context = known->context,
			     .spill_fds = spill.spill_fds,
			     .spill_bytes = spill.spill_bytes,
			     .result_bytes = read_bytes(held),
			     .input_fd = held->input_fd,
			     .progress = known->progress,
			     .files = program->in_session ? held->box.files : program->files,
			     .file_count = program->in_session ? held->box.file_count : program->file_count,
			     .collect = held->collects ? &held->collect : NULL },
		.on_output = known->on_output,
		.on_input = known->on_input,
		.output_context = known->context,
		.on_progress = known->on_progress,
		.functions = { .rows = known->functions,
			       .count = known->functions ? known->function_count : 0,
			       .on_call = known->on_call,
			       .context = known->context },
	};
	*ret_call = held;
	return 0;
}

int warder_call(struct warder_program *program, const struct warder_call *call, struct warder_run **ret,
		struct warder_error *err)
{
	struct warder_call known = { 0 };
	struct library_launch launch;
	struct call *held;

	if (!program || !ret)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the argument `%s` is NULL",
				 program ? "ret" : "program");
	if (call && library_take(&known, sizeof(known), call, call->size, "warder_call", err) != 0)
		return -1;
	if (check_program(program, err) != 0 || begin_call(program, &known, &launch, &held, err) != 0)
		return -1;
	launch.finish = finish;
	launch.release = call_free;
	launch.owner = held;
	if (program->bare)
		launch.command.scratch = held->scratch.path;
	if (program->bare || program->in_session)
		launch.command.working_directory = program->in_box ? held->paths.box : NULL;
	return library_launch(program->tmpl, &launch, ret, err);
}

/* ---- the call by another process ---- */

/* The word that is the source, or 0: a parked interpreter cannot run it. */
static int find_script(const struct warder_program *program)
{
	const char *const *row = program->language->stages[LANGUAGE_RUN];
	int word = 0;

	if (!interpreters_read(program->files[0].bytes, program->files[0].len))
		return 0;
	/* A word before it that is left out would move it, so nothing may stand there that is put in. */
	while (row[word] && strcmp(row[word], "{source}") != 0)
		if (strchr(row[word++], '{'))
			return 0;
	return row[word] && strcmp(row[word + 1] ? row[word + 1] : "", "{args}") == 0 ? word : 0;
}

/* Why only this process can run it, or NULL. */
static const char *needs_this_process(const struct warder_program *program, const struct warder_call *call)
{
	return program->in_session                                          ? "--session"
	       : program->tmpl || program->entry.built                      ? "the code was compiled"
	       : program->bare                                              ? "--backend"
	       : program->language->is_engine                               ? "a module runs in an engine"
	       : call->progress                                             ? "--progress"
	       : call->function_count                                       ? "--function-command"
	       : call->on_input                                             ? "on_input"
	       : call->spill || (call->collect && call->collect->directory) ? "--artifacts"
									    : NULL;
}

int code_order(struct warder_program *program, const struct warder_call *call, struct library_order *ret,
	       const char **ret_why, struct warder_error *err)
{
	struct call *held;

	*ret_why = needs_this_process(program, call);
	if (*ret_why)
		return 1;
	*ret = (struct library_order){ .policy = &program->policy,
				       .subject = program_subject(program->language),
				       .code_bytes = program->code_bytes,
				       .script = find_script(program) };
	if (begin_call(program, call, &ret->launch, &held, err) != 0)
		return -1;
	ret->call = held;
	return 0;
}

int code_order_in_session(struct warder_program *program, const struct warder_call *call,
			  struct library_order *ret, struct warder_error *err)
{
	struct library_launch launch;
	struct call *held;

	if (program->failed)
		return check_program(program, err);
	if (begin_call(program, call, &launch, &held, err) != 0)
		return -1;
	held->report = program_report(program);
	launch.command.working_directory = program->in_box ? held->paths.box : NULL;
	*ret = (struct library_order){ .policy = &program->policy,
				       .subject = program_subject(program->language),
				       .code_bytes = program->code_bytes,
				       .launch = launch,
				       .box = strrchr(held->box.path, '/') + 1,
				       .rules = &held->rules,
				       .report = held->report,
				       .call = held };
	if (held->report)
		return 0;
	code_order_done(ret);
	return error_no_memory(err, NULL);
}

int code_order_finish(const struct library_order *order, struct warder_result *result,
		      struct warder_error *err)
{
	return finish(order->call, result, err);
}

void code_order_collect(const struct library_order *order, int tmp_fd, struct warder_result *result)
{
	const struct call *call = order->call;
	struct rootfs_collection *collected = &result->outcome.collected;

	if (!order_hands_over(order))
		return;
	if (tmp_fd >= 0)
		rootfs_collect(tmp_fd, &call->collect, collected);
	else if (!collected->fault[0])
		snprintf(collected->fault, sizeof(collected->fault), "%s",
			 "the keeper of the session did not hand over the files");
}

void code_order_done(struct library_order *order)
{
	if (order->call)
		call_free(order->call);
	order->call = NULL;
}

bool code_is_prepared(const struct warder_program *program)
{
	return program->tmpl != NULL;
}

const char *warder_result_value(const struct warder_result *result)
{
	return result && result->code ? result->code->output : NULL;
}
