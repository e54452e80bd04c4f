/*
 * blocks_run: the code blocks of a text, executed one after another.
 *
 *   block --language, or what is certain--> warder_build() --> warder_call() --> the next block, whatever came of this one
 *
 * Each block has a jail of its own and the whole wall time. Without --json its output is passed through as it comes, so that the
 * standard output of all blocks is one stream; with --json each result is kept until the end, which the number of blocks and the
 * policy's limits of output bound.
 */
#include "runtime/cli/blocks_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/report.h"
#include "runtime/cli/term.h"
#include "runtime/cli/violations.h"
#include "runtime/code/code.h"
#include "runtime/library/result.h"
#include "runtime/library/result_end.h"

#define EXIT_FAILED  1
#define EXIT_TIMEOUT 124

struct running {
	struct args *args;
	char **argv;
	const struct languages *languages;
	struct json_writer results; /* with --json: a member of the list for each block */
	FILE *output, *errors;      /* with --json: standard output, and what failed, of all blocks */
	bool failed, timed_out;
	int write_error;
};

/* ---- one block ---- */

static bool is_empty(const char *code, size_t len)
{
	return strspn(code, " \t\r\n\f\v") == len;
}

/* The flags' policy again, over what the language's row has below it. */
static int load_policy(struct running *running, const struct warder_code *code, struct warder_error *err)
{
	struct args *args = running->args;
	const char *language, *found_by;

	if (code_language(running->languages, code, &language, &found_by, err) != 0)
		return -1;
	args_unload(args);
	args->defaults = languages_defaults(running->languages, language);
	return args_load(FLAG_BLOCKS, running->argv, args, err);
}

static int call(const struct running *running, struct warder_program *program, struct warder_result **ret,
		struct warder_error *err)
{
	static const int output_fds[] = { STDOUT_FILENO, STDERR_FILENO };
	static const struct warder_collect collect = { 0 };
	const struct warder_call call = {
		.size = sizeof(call),
		.output_fds = running->args->json ? NULL : output_fds,
		.output_max = running->args->output_max,
		.collect = running->args->json ? &collect : NULL,
	};

	return report_call(running->args, program, &call, ret, err);
}

static int execute(struct running *running, const struct warder_code *code, struct warder_result **ret,
		   struct warder_error *err)
{
	struct args *args = running->args;
	struct warder_options options = { .size = sizeof(options),
					  .cgroup_parent = args->cgroup_parent,
					  .backends = args->backends,
					  .single_use = 1 };
	struct warder_program *program = NULL;
	int status = 0;

	if (load_policy(running, code, err) != 0)
		return -1;
	options.ceiling = args->ceiling;
	options.backend = args->backend;
	if (warder_build(args->policy, &options, code, &program, err) != 0)
		return -1;
	if (warder_program_failed(program))
		*ret = warder_program_result(program);
	else if (!ending_signal())
		status = call(running, program, ret, err);
	warder_program_free(program);
	return status;
}

/* ---- reports ---- */

static bool is_timeout(const struct warder_result *result)
{
	return strcmp(warder_result_status(result), "timeout") == 0;
}

/* Why the block did not succeed. */
static const char *describe(const struct warder_result *result, char *text, size_t len)
{
	const struct jail_outcome *outcome = &result->outcome;
	char name[16];

	if (strcmp(warder_result_status(result), "compileFailed") == 0)
		snprintf(text, len, "the code does not compile");
	else if (outcome->receiver_errno)
		snprintf(text, len, "the program's output cannot be written: %s",
			 strerror(outcome->receiver_errno));
	else if (outcome->cause == JAIL_CAUSE_WALL_TIME)
		snprintf(text, len, "the time is over (limits.wallTime)");
	else if (outcome->cause == JAIL_CAUSE_EXIT)
		snprintf(text, len, "exit status %d", outcome->exit_code);
	else if (outcome->cause == JAIL_CAUSE_SIGNAL)
		snprintf(text, len, "ended by %s", result_signal_name(outcome->signal, name, sizeof(name)));
	else
		snprintf(text, len, "%s: %s", jail_cause_name(outcome->cause), outcome->detail);
	return text;
}

static void put_stream(FILE *to, const struct warder_result *result, enum warder_stream stream)
{
	size_t len;
	const char *bytes = warder_result_output(result, stream, &len, NULL);

	fwrite(bytes, 1, len, to);
	if (stream == WARDER_STDERR && len && bytes[len - 1] != '\n')
		putc('\n', to);
}

static void tell_failure(struct running *running, size_t number, const char *why,
			 const struct warder_result *result)
{
	running->failed = true;
	if (running->args->json) {
		fprintf(running->errors, "Execution block %zu failed: %s\n", number, why);
		return;
	}
	if (result)
		report_build(result);
	term_complain("Execution block %zu failed: %s", number, why);
}

/* A block that was not run. */
static void tell_refusal(struct running *running, size_t number, const struct warder_error *why)
{
	tell_failure(running, number, why->text, NULL);
	if (!running->args->json && violations_explain(running->args, why))
		violations_print(running->args);
}

static void tell_result(struct running *running, size_t number, const struct warder_result *result)
{
	char why[640];

	running->write_error = result->outcome.receiver_errno;
	if (running->write_error == EPIPE) /* silently, as SIGPIPE would end it */
		return;
	if (strcmp(warder_result_status(result), "success") != 0)
		tell_failure(running, number, describe(result, why, sizeof(why)),
			     result->code && result->code->build_failed ? result : NULL);
	running->timed_out |= is_timeout(result);
	running->failed |= report_dropped(result);
	if (running->args->json) {
		put_stream(running->output, result, WARDER_STDOUT);
		put_stream(running->errors, result, WARDER_STDERR);
	}
}

/* The result with the block's number in front. Takes `result`, heap. */
static void write_result(struct running *running, size_t number, const struct block *block, char *result)
{
	struct json_writer *w = &running->results;

	json_begin_object(w);
	json_key_uint(w, "block", number);
	json_key(w, "language");
	json_string_n(w, block->language.at, block->language.len);
	json_key(w, "result");
	if (result)
		json_number(w, result);
	else
		json_fail(w);
	json_end_object(w);
	free(result);
}

/* The result of a block that was not run, as JSON; heap. */
static char *refusal_json(const struct running *running, const struct warder_error *why)
{
	char *violations = violations_json(running->args, why);
	char *text = result_error_json(why, violations);

	free(violations);
	return text;
}

/* -1 with *err: there is no memory; otherwise it reports the result of the block. */
static int run_block(struct running *running, size_t number, const struct block *block,
		     struct warder_error *err)
{
	struct warder_code code = { .size = sizeof(code),
				    .flags = running->args->code.no_cache ? WARDER_CODE_NO_CACHE : 0,
				    .cache = running->args->code.cache,
				    .languages = running->args->code.languages,
				    .on_stage = report_on_stage,
				    .should_stop = ending_came };
	char *source = block_code_copy(block, &code.source_len);
	char *language = strndup(block->language.at ? block->language.at : "", block->language.len);
	struct warder_result *result = NULL;
	struct warder_error why = { 0 };
	int status = 0;

	if (!source || !language) {
		status = error_no_memory(err, NULL);
	} else if (!is_empty(source, code.source_len)) {
		code.source = source;
		code.language = block->canonical ? block->canonical : *language ? language : NULL;
		status = execute(running, &code, &result, &why);
		if (status != 0)
			tell_refusal(running, number, &why);
		else if (result)
			tell_result(running, number, result);
		if (running->args->json && (status != 0 || result))
			write_result(running, number, block,
				     result ? warder_result_json(result) : refusal_json(running, &why));
		status = 0;
	}
	warder_result_free(result);
	free(language);
	free(source);
	return status;
}

/* ---- all of them ---- */

static const char *outcome_of(const struct running *running)
{
	if (running->timed_out)
		return "DEADLINE_EXCEEDED";
	return running->failed ? "FAILED" : "OK";
}

/* As a result that format reads, with those of the blocks. Takes the three texts. */
static int print_json(struct running *running, char *blocks, char *output, size_t output_len, char *errors,
		      size_t errors_len, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char *json = NULL;

	if (blocks && output && errors) {
		json_begin_object(&w);
		json_key_string(&w, "status",
				running->timed_out ? "timeout"
				: running->failed  ? "failed"
						   : "success");
		json_key_string(&w, "outcome", outcome_of(running));
		json_key(&w, "exitCode");
		if (running->timed_out)
			json_null(&w);
		else
			json_uint(&w, running->failed ? EXIT_FAILED : 0);
		json_key(&w, "stdout");
		json_begin_object(&w);
		text_write(&w, "text", output, output_len, false);
		json_end_object(&w);
		json_key(&w, "stderr");
		json_begin_object(&w);
		text_write(&w, "text", errors, errors_len, false);
		json_end_object(&w);
		json_key(&w, "blocks");
		json_number(&w, blocks);
		json_end_object(&w);
		json = json_take(&w);
	}
	free(blocks);
	free(output);
	free(errors);
	return term_put(json, err);
}

static int run_all(struct running *running, const struct blocks *blocks, struct warder_error *err)
{
	for (size_t i = 0; i < blocks->count; i++) {
		if (ending_signal() || running->write_error)
			return 0;
		if (run_block(running, i + 1, &blocks->items[i], err) != 0)
			return -1;
	}
	return 0;
}

static int run_to_json(struct running *running, const struct blocks *blocks, struct warder_error *err)
{
	char *output = NULL, *errors = NULL;
	size_t output_len = 0, errors_len = 0;
	bool whole = true;
	int status = -1;

	running->output = open_memstream(&output, &output_len);
	running->errors = open_memstream(&errors, &errors_len);
	if (running->output && running->errors) {
		json_begin_array(&running->results);
		status = run_all(running, blocks, err);
		json_end_array(&running->results);
	} else {
		error_no_memory(err, NULL);
	}
	whole &= !running->output || fclose(running->output) == 0;
	whole &= !running->errors || fclose(running->errors) == 0;
	if (status == 0 && whole && !ending_signal())
		return print_json(running, json_take(&running->results), output, output_len, errors,
				  errors_len, err);
	json_writer_done(&running->results);
	free(output);
	free(errors);
	return status == 0 && !whole ? error_no_memory(err, NULL) : status;
}

static int check(const struct args *args, const struct blocks *blocks, struct warder_error *err)
{
	if (args->base && strcmp(args->base, "-") == 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--policy",
				 "--policy -: each block reads the policy again; name a file");
	if (blocks->count > BLOCKS_RUN_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--run",
				 "--run executes at most %d blocks, and there are %zu; choose some with "
				 "--language or --ignore",
				 BLOCKS_RUN_MAX, blocks->count);
	return 0;
}

int blocks_run(struct args *args, char **argv, const struct languages *languages, const struct blocks *blocks,
	       int *ret_status, struct warder_error *err)
{
	struct running running = { .args = args, .argv = argv, .languages = languages };

	report_catch_signals();
	if (check(args, blocks, err) != 0 || args_load(FLAG_BLOCKS, argv, args, err) != 0)
		return -1;
	if ((args->json ? run_to_json(&running, blocks, err) : run_all(&running, blocks, err)) != 0)
		return -1;
	if (ending_signal())
		*ret_status = 128 + ending_signal();
	else if (running.write_error)
		*ret_status = 128 + (running.write_error == EPIPE ? SIGPIPE : SIGKILL);
	else
		*ret_status = running.timed_out ? EXIT_TIMEOUT : running.failed ? EXIT_FAILED : 0;
	return 0;
}
