/*
 * A piece of code in jails of its own: it is checked and built as by `warder code`, and then runs.
 *
 * Built programs are not kept: a cache would show one tenant, by its speed, which code another one has run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "host/input.h"
#include "host/launcher/artifact_spool.h"
#include "host/launcher/call.h"
#include "runtime/library/library.h"

#define FILES_MAX 64

/* What a document asks for, in the library's form; the texts are the document's. */
struct piece {
	struct warder_code code;
	struct warder_call call;
	struct warder_collect collect; /* the defaults */
	struct warder_file files[FILES_MAX];
	char *decoded[FILES_MAX]; /* owned: bytes of files */
	char *input;              /* owned */
	char *json;               /* owned */
	char **args;              /* owned */
};

static void piece_done(struct piece *piece)
{
	for (size_t i = 0; i < FILES_MAX; i++)
		free(piece->decoded[i]);
	free(piece->input);
	free(piece->json);
	free(piece->args);
}

static int should_stop(void *of)
{
	const struct call *call = of;

	return atomic_load(&call->cancelled);
}

static bool are_texts(const struct json_value *array)
{
	for (const struct json_value *one = array->child; one; one = one->next)
		if (one->type != JSON_STRING)
			return false;
	return array->type == JSON_ARRAY;
}

/* The texts of an array; heap. NULL with *err. */
static char **texts_of(const struct json_value *array, struct warder_error *err)
{
	char **texts;
	size_t count = 0;

	if (!are_texts(array)) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "args", "\"args\" must be an array of texts");
		return NULL;
	}
	texts = calloc(json_length(array) + 1, sizeof(*texts));
	if (!texts) {
		error_no_memory(err, NULL);
		return NULL;
	}
	for (const struct json_value *one = array->child; one; one = one->next)
		texts[count++] = one->string;
	return texts;
}

/* Whether the members of a file are known ones, and texts. */
static bool is_file(const struct json_value *row)
{
	for (const struct json_value *one = row->child; one; one = one->next)
		if ((one->type != JSON_STRING && one->type != JSON_NULL) ||
		    (strcmp(one->key, "path") != 0 && strcmp(one->key, "text") != 0 &&
		     strcmp(one->key, "base64") != 0))
			return false;
	return row->type == JSON_OBJECT;
}

/* {"path": ..., "text": ...} or {"path": ..., "base64": ...} */
static int take_file(struct piece *piece, const struct json_value *row, struct warder_error *err)
{
	struct warder_file *file = &piece->files[piece->code.file_count];
	const char *encoded = json_member_text(row, "base64", NULL);

	file->path = json_member_text(row, "path", NULL);
	file->bytes = json_member_text(row, "text", NULL);
	if (!is_file(row) || !file->path || (file->bytes != NULL) == (encoded != NULL))
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "files",
		    "line %d: a file of \"files\" must have a \"path\", either \"text\" or \"base64\", and "
		    "nothing else",
		    row->line);
	file->len = file->bytes ? strlen(file->bytes) : 0;
	if (encoded) {
		file->bytes = piece->decoded[piece->code.file_count] =
		    text_unbase64(encoded, strlen(encoded), &file->len);
		if (!file->bytes)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "files",
					 "line %d: \"base64\" of %.100s is not base64", row->line,
					 file->path);
	}
	piece->code.file_count++;
	return 0;
}

static int take_files(struct piece *piece, const struct json_value *files, struct warder_error *err)
{
	if (!files)
		return 0;
	if (files->type != JSON_ARRAY || json_length(files) > FILES_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "files",
				 "\"files\" must be an array of at most %d files", FILES_MAX);
	for (const struct json_value *row = files->child; row; row = row->next)
		if (take_file(piece, row, err) < 0)
			return -1;
	return 0;
}

static int take_json(struct piece *piece, const struct json_value *value, struct warder_error *err)
{
	if (!value)
		return 0;
	piece->json = json_text(value);
	if (!piece->json)
		return error_no_memory(err, NULL);
	piece->call.json = piece->json;
	piece->call.json_len = strlen(piece->json);
	return 0;
}

static int take(struct call *call, struct piece *piece, struct warder_error *err)
{
	const struct json_value *document = call->document;
	const struct json_value *args = json_member(document, "args");
	const struct json_value *check = json_member(document, "check");

	piece->code = (struct warder_code){
		.size = sizeof(piece->code),
		.language = json_member_text(document, "language", NULL),
		.file_name = json_member_text(document, "fileName", NULL),
		.source = json_member_text(document, "code", NULL),
		.files = piece->files,
		.flags = WARDER_CODE_NO_CACHE |
			 (check && check->type == JSON_BOOL && check->boolean ? WARDER_CODE_CHECK_ONLY : 0u),
		.should_stop = should_stop,
		.context = call,
	};
	piece->call =
	    (struct warder_call){ .size = sizeof(piece->call), .should_stop = should_stop, .context = call };
	if (!piece->code.source)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "code",
				 "\"code\" must be the text of a program");
	piece->code.source_len = strlen(piece->code.source);
	if (args) {
		piece->args = texts_of(args, err);
		piece->call.argv = piece->args;
		if (!piece->args)
			return -1;
	}
	return take_files(piece, json_member(document, "files"), err) < 0 ||
		       take_json(piece, json_member(document, "input"), err) < 0 ||
		       input_take(document, &piece->call.input, &piece->call.input_len, &piece->input, err) <
			   0
		   ? -1
		   : 0;
}

/* The build is all there is: it failed, or nothing else was asked for. */
static int say_built(struct call *call, struct warder_program *program, struct warder_error *err)
{
	struct warder_result *result = warder_program_result(program);
	struct json_writer w = { 0 };

	if (result) {
		call->text = warder_result_json(result);
	} else {
		json_begin_object(&w);
		json_key_string(&w, "status", "success");
		json_key_string(&w, "language", warder_program_language(program));
		json_end_object(&w);
		call->text = json_take(&w);
	}
	warder_result_free(result);
	return call->text ? 0 : error_no_memory(err, NULL);
}

void call_begin_with_files(struct call *call)
{
	const struct json_value *own = json_member(call->document, "policy");
	struct policy *policy = &call->policy->policy;

	if (own && own->type != JSON_NULL)
		return;
	free(policy->working_directory);
	policy->working_directory = NULL;
}

/* The files that the program leaves. */
static int take_artifacts(struct call *call, struct piece *piece, struct warder_error *err)
{
	if (!call->spool)
		return 0;
	piece->call.collect = &piece->collect;
	return artifact_spool_open(call->spool, "", &piece->call.spill, err);
}

static int build_and_run(struct call *call, struct piece *piece, struct warder_error *err)
{
	const struct warder_options options = { .size = sizeof(options), .single_use = 1 };
	struct warder_program *program = NULL;
	struct warder_run *run = NULL;
	int done = warder_build(call->policy, &options, &piece->code, &program, err);

	if (done != 0)
		return -1;
	if (warder_program_failed(program) || (piece->code.flags & WARDER_CODE_CHECK_ONLY))
		done = say_built(call, program, err);
	else if ((done = take_artifacts(call, piece, err)) == 0 &&
		 (done = warder_call(program, &piece->call, &run, err)) == 0)
		done = call_wait(call, run, err);
	warder_program_free(program);
	return done;
}

static void code_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	struct piece piece = { 0 };
	struct warder_error *err = &call->answer.error;

	call_begin_with_files(call);
	call->answer.status = take(call, &piece, err) == 0 && build_and_run(call, &piece, err) == 0 &&
				      call_sign(call, "code", err) == 0
				  ? 200
				  : 0;
	piece_done(&piece);
}

int calls_code(struct context *context, struct call *call, struct warder_error *err)
{
	static const char *const members[] = { "template",  "policy",         "env",         "language",
					       "code",      "args",           "fileName",    "files",
					       "input",     "stdin",          "stdinBase64", "check",
					       "artifacts", "idempotencyKey", NULL };

	return call_parse(context, call, members, err) < 0 || call_launch(context, call, code_work, err) < 0
		   ? -1
		   : 0;
}
