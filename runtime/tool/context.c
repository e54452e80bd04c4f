/*
 * context: one array for each member of the document.
 *
 * Each array and each invocation knows whether it changed since it was read. An invocation that was read is never taken out of
 * its array, only emptied, so that the delta can say that it is gone: an empty one is in no written document. The array
 * is ordered by the last result, so that the first one with results is the one to make room.
 */
#include "runtime/tool/context.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "policy/policy.h"
#include "runtime/tool/decode.h"

struct invocation {
	char *id;
	uint64_t errors;
	struct context_run runs[CONTEXT_MAX_RUNS]; /* each text on the heap */
	size_t run_count;
	bool was_read, errors_changed, runs_changed;
};

struct context {
	char *execution_id;
	struct context_file files[CONTEXT_MAX_FILES]; /* each member on the heap */
	size_t file_count, file_bytes;
	char *processed[CONTEXT_MAX_PROCESSED];
	size_t processed_count;
	struct invocation *invocations[2 * CONTEXT_MAX_INVOCATIONS]; /* those that were read, and new ones */
	size_t invocation_count;
	size_t text_bytes; /* of all runs */
	bool id_changed, files_changed, processed_changed;
};

/* ---- helpers ---- */

static int check_name(const char *name, const char *field, struct warder_error *err)
{
	char quoted[40];

	if (!name || !*name)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "%s is empty", field);
	if (strlen(name) > CONTEXT_MAX_NAME || !json_is_utf8(name))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "%s %s has more than %d bytes, or is not UTF-8", field,
				 json_quote(name, quoted, sizeof(quoted)), CONTEXT_MAX_NAME);
	return 0;
}

static int check_context(const struct context *context, struct warder_error *err)
{
	return context ? 0 : error_set(err, WARDER_ERROR_INVALID_REQUEST, "context", "there is no context");
}

static int refuse_many(const char *field, size_t max, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "%s has room for %zu; begin a new context",
			 field, max);
}

static void free_span(struct span *span)
{
	free((char *)span->at);
	*span = (struct span){ NULL, 0 };
}

/* ---- files ---- */

static void free_file(struct context_file *file)
{
	free((char *)file->name);
	free((char *)file->content_type);
	free_span(&file->content);
}

static struct context_file *find_file(const struct context *context, const char *name)
{
	for (size_t i = 0; context && i < context->file_count; i++) {
		if (strcmp(context->files[i].name, name) == 0)
			return (struct context_file *)&context->files[i];
	}
	return NULL;
}

const struct context_file *context_file(const struct context *context, const char *name)
{
	return find_file(context, name);
}

const struct context_file *context_file_at(const struct context *context, size_t i)
{
	return context && i < context->file_count ? &context->files[i] : NULL;
}

static int copy_file(const struct context_file *file, struct context_file *ret, struct warder_error *err)
{
	struct context_file copy = { strdup(file->name),
				     strdup(file->content_type ? file->content_type : ""),
				     { malloc(file->content.len + 1), file->content.len } };

	if (!copy.name || !copy.content_type || !copy.content.at) {
		free_file(&copy);
		return error_no_memory(err, NULL);
	}
	if (copy.content.len)
		memcpy((char *)copy.content.at, file->content.at, copy.content.len);
	*ret = copy;
	return 0;
}

int context_add_file(struct context *context, const struct context_file *file, struct warder_error *err)
{
	struct context_file *slot, copy;
	size_t old_len;

	if (check_context(context, err) != 0 || check_name(file->name, "inputFiles.name", err) != 0 ||
	    (file->content_type && *file->content_type &&
	     check_name(file->content_type, "inputFiles.contentType", err) != 0))
		return -1;
	slot = find_file(context, file->name);
	old_len = slot ? slot->content.len : 0;
	if (!slot && context->file_count == CONTEXT_MAX_FILES)
		return refuse_many("inputFiles", CONTEXT_MAX_FILES, err);
	if (file->content.len > CONTEXT_MAX_FILE_BYTES - (context->file_bytes - old_len))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "inputFiles",
				 "%.100s has %zu bytes; all files together may have %zu", file->name,
				 file->content.len, CONTEXT_MAX_FILE_BYTES);
	if (copy_file(file, &copy, err) != 0)
		return -1;
	if (slot)
		free_file(slot);
	else
		slot = &context->files[context->file_count++];
	*slot = copy;
	context->file_bytes += copy.content.len - old_len;
	context->files_changed = true;
	return 0;
}

void context_clear_files(struct context *context)
{
	if (!context)
		return;
	context->files_changed |= context->file_count > 0;
	while (context->file_count)
		free_file(&context->files[--context->file_count]);
	context->file_bytes = 0;
}

/* ---- names ---- */

int context_set_execution_id(struct context *context, const char *id, struct warder_error *err)
{
	char *copy = NULL;

	if (check_context(context, err) != 0 || (id && check_name(id, "executionId", err) != 0))
		return -1;
	if (id && !(copy = strdup(id)))
		return error_no_memory(err, NULL);
	context->id_changed |=
	    !id != !context->execution_id || (id && strcmp(id, context->execution_id) != 0);
	free(context->execution_id);
	context->execution_id = copy;
	return 0;
}

bool context_is_processed(const struct context *context, const char *name)
{
	for (size_t i = 0; context && i < context->processed_count; i++) {
		if (strcmp(context->processed[i], name) == 0)
			return true;
	}
	return false;
}

int context_add_processed(struct context *context, const char *name, struct warder_error *err)
{
	if (check_context(context, err) != 0 || check_name(name, "processedFiles", err) != 0)
		return -1;
	if (context_is_processed(context, name))
		return 0;
	if (context->processed_count == CONTEXT_MAX_PROCESSED)
		return refuse_many("processedFiles", CONTEXT_MAX_PROCESSED, err);
	context->processed[context->processed_count] = strdup(name);
	if (!context->processed[context->processed_count])
		return error_no_memory(err, NULL);
	context->processed_count++;
	context->processed_changed = true;
	return 0;
}

/* ---- invocations ---- */

static struct invocation *find_invocation(const struct context *context, const char *id)
{
	for (size_t i = 0; context && id && i < context->invocation_count; i++) {
		if (strcmp(context->invocations[i]->id, id) == 0)
			return context->invocations[i];
	}
	return NULL;
}

static bool is_empty(const struct invocation *invocation)
{
	return invocation->errors == 0 && invocation->run_count == 0;
}

static size_t run_bytes(const struct context_run *run)
{
	return run->code.len + run->out.len + run->err.len;
}

static void free_run(struct context_run *run)
{
	free_span(&run->code);
	free_span(&run->out);
	free_span(&run->err);
}

static void drop_oldest_run(struct context *context, struct invocation *invocation)
{
	context->text_bytes -= run_bytes(&invocation->runs[0]);
	free_run(&invocation->runs[0]);
	invocation->run_count--;
	memmove(invocation->runs, invocation->runs + 1, invocation->run_count * sizeof(invocation->runs[0]));
	invocation->runs_changed = true;
}

static void free_invocation(struct context *context, struct invocation *invocation)
{
	while (invocation->run_count)
		drop_oldest_run(context, invocation);
	free(invocation->id);
	free(invocation);
}

/* Take the invocation out of the array, or if it was read only empty it. */
static void drop_invocation(struct context *context, size_t i)
{
	struct invocation *invocation = context->invocations[i];

	if (invocation->was_read) {
		while (invocation->run_count)
			drop_oldest_run(context, invocation);
		invocation->errors_changed |= invocation->errors > 0;
		invocation->errors = 0;
		return;
	}
	free_invocation(context, invocation);
	context->invocation_count--;
	memmove(context->invocations + i, context->invocations + i + 1,
		(context->invocation_count - i) * sizeof(context->invocations[0]));
}

/* Invocations that have something to say are at most so many: the oldest goes. */
static void make_room_for_invocation(struct context *context)
{
	size_t used = 0, oldest = 0;

	for (size_t i = context->invocation_count; i-- > 0;) {
		if (is_empty(context->invocations[i]) && !context->invocations[i]->was_read)
			drop_invocation(context, i);
	}
	for (size_t i = context->invocation_count; i-- > 0;) {
		if (is_empty(context->invocations[i]))
			continue;
		used++;
		oldest = i;
	}
	if (used >= CONTEXT_MAX_INVOCATIONS)
		drop_invocation(context, oldest);
}

static struct invocation *add_invocation(struct context *context, const char *id, struct warder_error *err)
{
	struct invocation *invocation = calloc(1, sizeof(*invocation));

	if (invocation)
		invocation->id = strdup(id);
	if (!invocation || !invocation->id) {
		free(invocation);
		error_no_memory(err, NULL);
		return NULL;
	}
	context->invocations[context->invocation_count++] = invocation;
	return invocation;
}

static void make_newest(struct context *context, struct invocation *invocation)
{
	size_t i = 0;

	while (context->invocations[i] != invocation)
		i++;
	memmove(context->invocations + i, context->invocations + i + 1,
		(context->invocation_count - i - 1) * sizeof(context->invocations[0]));
	context->invocations[context->invocation_count - 1] = invocation;
}

/* The invocation of that id, as the newest; NULL with *err. */
static struct invocation *touch(struct context *context, const char *id, struct warder_error *err)
{
	struct invocation *invocation = find_invocation(context, id);

	if (!invocation || is_empty(invocation))
		make_room_for_invocation(context);
	invocation = find_invocation(context, id); /* an empty one may just have been taken out */
	if (!invocation)
		return add_invocation(context, id, err);
	make_newest(context, invocation);
	return invocation;
}

static void make_room_for_text(struct context *context, size_t bytes)
{
	for (size_t i = 0; i < context->invocation_count; i++) {
		while (context->invocations[i]->run_count && context->text_bytes + bytes > CONTEXT_MAX_TEXTS)
			drop_oldest_run(context, context->invocations[i]);
	}
}

static bool copy_text(struct span text, struct span *ret, bool *truncated)
{
	bool cut = false;

	ret->at = text_clean(text.at, text.len, CONTEXT_MAX_TEXT, &ret->len, &cut);
	*truncated |= cut;
	return ret->at != NULL;
}

static int copy_run(const struct context_run *run, struct context_run *ret, struct warder_error *err)
{
	struct context_run copy = { .failed = run->failed,
				    .truncated = run->truncated,
				    .time_ms = run->time_ms };

	if (!copy_text(run->code, &copy.code, &copy.truncated) ||
	    !copy_text(run->out, &copy.out, &copy.truncated) ||
	    !copy_text(run->err, &copy.err, &copy.truncated)) {
		free_run(&copy);
		return error_no_memory(err, NULL);
	}
	*ret = copy;
	return 0;
}

static void set_errors(struct invocation *invocation, uint64_t errors)
{
	invocation->errors_changed |= invocation->errors != errors;
	invocation->errors = errors;
}

int context_record(struct context *context, const char *invocation_id, const struct context_run *run,
		   struct warder_error *err)
{
	struct invocation *invocation;
	struct context_run copy;

	if (check_context(context, err) != 0 || check_name(invocation_id, "invocation", err) != 0 ||
	    copy_run(run, &copy, err) != 0)
		return -1;
	make_room_for_text(context, run_bytes(&copy));
	invocation = touch(context, invocation_id, err);
	if (!invocation) {
		free_run(&copy);
		return -1;
	}
	if (invocation->run_count == CONTEXT_MAX_RUNS)
		drop_oldest_run(context, invocation);
	invocation->runs[invocation->run_count++] = copy;
	invocation->runs_changed = true;
	context->text_bytes += run_bytes(&copy);
	if (!run->failed && !run->err.len)
		set_errors(invocation, 0);
	else if (invocation->errors < UINT32_MAX) /* which is the most that can be read */
		set_errors(invocation, invocation->errors + 1);
	return 0;
}

uint64_t context_errors(const struct context *context, const char *invocation_id)
{
	const struct invocation *invocation = find_invocation(context, invocation_id);

	return invocation ? invocation->errors : 0;
}

const struct context_run *context_run_at(const struct context *context, const char *invocation_id, size_t i)
{
	const struct invocation *invocation = find_invocation(context, invocation_id);

	return invocation && i < invocation->run_count ? &invocation->runs[i] : NULL;
}

bool context_should_run(const struct context *context, const char *invocation, uint64_t max_attempts)
{
	return context_errors(context, invocation) < max_attempts;
}

/* ---- writing ---- */

static void write_files(const struct context *context, struct json_writer *w)
{
	json_begin_array(w);
	for (size_t i = 0; i < context->file_count; i++) {
		const struct context_file *file = &context->files[i];

		json_begin_object(w);
		json_key_string(w, "name", file->name);
		json_key_string(w, "contentType", file->content_type);
		text_write(w, "content", file->content.at, file->content.len, false);
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_processed(const struct context *context, struct json_writer *w)
{
	json_begin_array(w);
	for (size_t i = 0; i < context->processed_count; i++)
		json_string(w, context->processed[i]);
	json_end_array(w);
}

static void write_runs(const struct invocation *invocation, struct json_writer *w)
{
	json_begin_array(w);
	for (size_t i = 0; i < invocation->run_count; i++) {
		const struct context_run *run = &invocation->runs[i];

		json_begin_object(w);
		json_key_string(w, "code", run->code.at);
		json_key_string(w, "stdout", run->out.at);
		json_key_string(w, "stderr", run->err.at);
		json_key_bool(w, "failed", run->failed);
		json_key_bool(w, "truncated", run->truncated);
		json_key_uint(w, "timeMs", run->time_ms);
		json_end_object(w);
	}
	json_end_array(w);
}

/* The object errorCounts; with `delta` what changed, and null for a count that is 0 now. */
static void write_errors(const struct context *context, bool delta, struct json_writer *w)
{
	json_begin_object(w);
	for (size_t i = 0; i < context->invocation_count; i++) {
		const struct invocation *invocation = context->invocations[i];

		if (delta ? !invocation->errors_changed : !invocation->errors)
			continue;
		json_key(w, invocation->id);
		if (invocation->errors)
			json_uint(w, invocation->errors);
		else
			json_null(w);
	}
	json_end_object(w);
}

static void write_results(const struct context *context, bool delta, struct json_writer *w)
{
	json_begin_object(w);
	for (size_t i = 0; i < context->invocation_count; i++) {
		const struct invocation *invocation = context->invocations[i];

		if (delta ? !invocation->runs_changed : !invocation->run_count)
			continue;
		json_key(w, invocation->id);
		if (invocation->run_count)
			write_runs(invocation, w);
		else
			json_null(w);
	}
	json_end_object(w);
}

static void write_members(const struct context *context, bool delta, struct json_writer *w)
{
	bool errors = !delta, results = !delta;

	for (size_t i = 0; i < context->invocation_count; i++) {
		errors |= context->invocations[i]->errors_changed;
		results |= context->invocations[i]->runs_changed;
	}
	json_begin_object(w);
	if (delta ? context->id_changed : context->execution_id != NULL)
		json_key_string(w, "executionId", context->execution_id);
	if (!delta || context->files_changed) {
		json_key(w, "inputFiles");
		write_files(context, w);
	}
	if (!delta || context->processed_changed) {
		json_key(w, "processedFiles");
		write_processed(context, w);
	}
	if (errors) {
		json_key(w, "errorCounts");
		write_errors(context, delta, w);
	}
	if (results) {
		json_key(w, "results");
		write_results(context, delta, w);
	}
	json_end_object(w);
}

void context_write(const struct context *context, struct json_writer *w)
{
	if (!context)
		return;
	json_key(w, "context");
	write_members(context, false, w);
	json_key(w, "contextDelta");
	write_members(context, true, w);
}

/* ---- reading ---- */

static int wrong(struct warder_error *err, const struct json_value *value, const char *field,
		 const char *wanted)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "context:%d: %s must be %s, not %s",
			 value->line, field, wanted, json_type_name(value->type));
}

/* How each member of an object is read; the rows end with one without a name. */
struct member {
	const char *name;
	enum json_type type;
	int (*read)(const struct json_value *value, void *to, struct warder_error *err);
	bool nullable;
};

static int refuse_unknown(const struct json_value *value, const struct member *members, const char *field,
			  struct warder_error *err)
{
	const char *words[8] = { NULL };
	char quoted[40], remedy[160];

	for (size_t i = 0; members[i].name; i++)
		words[i] = members[i].name;
	policy_suggest(words, value->key, remedy, sizeof(remedy));
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "context:%d: %s has no member %s; %s",
			 value->key_line, field, json_quote(value->key, quoted, sizeof(quoted)), remedy);
}

static int read_object(const struct json_value *object, const struct member *members, const char *field,
		       void *to, struct warder_error *err)
{
	static const char *const wanted[] = {
		[JSON_BOOL] = "a boolean", [JSON_NUMBER] = "a whole number", [JSON_STRING] = "a string",
		[JSON_ARRAY] = "an array", [JSON_OBJECT] = "an object",
	};

	if (object->type != JSON_OBJECT)
		return wrong(err, object, field, "an object");
	for (const struct json_value *value = object->child; value; value = value->next) {
		const struct member *member = members;

		while (member->name && strcmp(member->name, value->key) != 0)
			member++;
		if (!member->name)
			return refuse_unknown(value, members, field, err);
		if (member->nullable && value->type == JSON_NULL)
			continue;
		if (value->type != member->type || (value->type == JSON_NUMBER && !value->is_uint))
			return wrong(err, value, member->name, wanted[member->type]);
		if (member->read(value, to, err) != 0)
			return -1;
	}
	return 0;
}

struct read_file {
	struct context_file file;
	struct span encoded;
	bool is_base64;
};

static int read_name(const struct json_value *value, void *to, struct warder_error *err)
{
	((struct read_file *)to)->file.name = value->string;
	return 0;
}

static int read_content_type(const struct json_value *value, void *to, struct warder_error *err)
{
	((struct read_file *)to)->file.content_type = value->string;
	return 0;
}

static int read_content(const struct json_value *value, void *to, struct warder_error *err)
{
	((struct read_file *)to)->file.content = span_of(value->string);
	return 0;
}

static int read_base64(const struct json_value *value, void *to, struct warder_error *err)
{
	((struct read_file *)to)->encoded = span_of(value->string);
	return 0;
}

static int read_encoding(const struct json_value *value, void *to, struct warder_error *err)
{
	((struct read_file *)to)->is_base64 = strcmp(value->string, "base64") == 0;
	if (((struct read_file *)to)->is_base64 || strcmp(value->string, "utf-8") == 0)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "encoding",
			 "context:%d: encoding must be \"utf-8\" or \"base64\"", value->line);
}

static const struct member file_members[] = {
	{ "name", JSON_STRING, read_name },         { "contentType", JSON_STRING, read_content_type },
	{ "content", JSON_STRING, read_content },   { "base64", JSON_STRING, read_base64 },
	{ "encoding", JSON_STRING, read_encoding }, { NULL },
};

static int read_file(const struct json_value *value, struct context *context, struct warder_error *err)
{
	struct read_file file = { 0 };
	char *decoded = NULL;
	int status;

	if (read_object(value, file_members, "inputFiles", &file, err) != 0)
		return -1;
	if (file.is_base64 != (file.encoded.at != NULL) || (file.encoded.at && file.file.content.at))
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "inputFiles",
		    "context:%d: a file has base64 with the encoding \"base64\", or else content",
		    value->line);
	if (file.is_base64) {
		decoded = text_unbase64(file.encoded.at, file.encoded.len, &file.file.content.len);
		if (!decoded)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "inputFiles",
					 "context:%d: this is not base64 with padding", value->line);
		file.file.content.at = decoded;
	}
	status = context_file(context, file.file.name ? file.file.name : "")
		     ? error_set(err, WARDER_ERROR_INVALID_REQUEST, "inputFiles",
				 "context:%d: there is a second file of this name", value->line)
		     : context_add_file(context, &file.file, err);
	free(decoded);
	return status;
}

static int read_files(const struct json_value *list, void *to, struct warder_error *err)
{
	for (const struct json_value *value = list->child; value; value = value->next) {
		if (read_file(value, to, err) != 0)
			return -1;
	}
	return 0;
}

static int read_processed(const struct json_value *list, void *to, struct warder_error *err)
{
	for (const struct json_value *value = list->child; value; value = value->next) {
		if (value->type != JSON_STRING)
			return wrong(err, value, "processedFiles", "names");
		if (context_add_processed(to, value->string, err) != 0)
			return -1;
	}
	return 0;
}

static int read_execution_id(const struct json_value *value, void *to, struct warder_error *err)
{
	return context_set_execution_id(to, value->string, err);
}

/* The invocation of a member's name; NULL with *err. */
static struct invocation *read_invocation(struct context *context, const struct json_value *value,
					  const char *field, struct warder_error *err)
{
	struct invocation *invocation = find_invocation(context, value->key);

	if (invocation)
		return invocation;
	if (check_name(value->key, field, err) != 0)
		return NULL;
	if (context->invocation_count == CONTEXT_MAX_INVOCATIONS) {
		refuse_many(field, CONTEXT_MAX_INVOCATIONS, err);
		return NULL;
	}
	invocation = add_invocation(context, value->key, err);
	if (invocation)
		invocation->was_read = true;
	return invocation;
}

static int read_errors(const struct json_value *object, void *to, struct warder_error *err)
{
	for (const struct json_value *value = object->child; value; value = value->next) {
		struct invocation *invocation = read_invocation(to, value, "errorCounts", err);

		if (!invocation)
			return -1;
		if (!value->is_uint || value->uint > UINT32_MAX)
			return wrong(err, value, "errorCounts", "a whole number below 2^32");
		invocation->errors = value->uint;
	}
	return 0;
}

static int read_code(const struct json_value *value, void *to, struct warder_error *err)
{
	((struct context_run *)to)->code = span_of(value->string);
	return 0;
}

static int read_stdout(const struct json_value *value, void *to, struct warder_error *err)
{
	((struct context_run *)to)->out = span_of(value->string);
	return 0;
}

static int read_stderr(const struct json_value *value, void *to, struct warder_error *err)
{
	((struct context_run *)to)->err = span_of(value->string);
	return 0;
}

static int read_failed(const struct json_value *value, void *to, struct warder_error *err)
{
	((struct context_run *)to)->failed = value->boolean;
	return 0;
}

static int read_truncated(const struct json_value *value, void *to, struct warder_error *err)
{
	((struct context_run *)to)->truncated = value->boolean;
	return 0;
}

static int read_time(const struct json_value *value, void *to, struct warder_error *err)
{
	((struct context_run *)to)->time_ms = value->uint;
	return 0;
}

static const struct member run_members[] = {
	{ "code", JSON_STRING, read_code },
	{ "stdout", JSON_STRING, read_stdout },
	{ "stderr", JSON_STRING, read_stderr },
	{ "failed", JSON_BOOL, read_failed },
	{ "truncated", JSON_BOOL, read_truncated },
	{ "timeMs", JSON_NUMBER, read_time },
	{ NULL },
};

static int read_run(const struct json_value *value, struct context *context, struct invocation *invocation,
		    struct warder_error *err)
{
	struct context_run run = { 0 };

	if (read_object(value, run_members, "results", &run, err) != 0)
		return -1;
	if (invocation->run_count == CONTEXT_MAX_RUNS)
		return refuse_many("results", CONTEXT_MAX_RUNS, err);
	if (run.code.len > CONTEXT_MAX_TEXT || run.out.len > CONTEXT_MAX_TEXT ||
	    run.err.len > CONTEXT_MAX_TEXT || context->text_bytes + run_bytes(&run) > CONTEXT_MAX_TEXTS)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "results",
				 "context:%d: a text may have %zu bytes, and all together %zu", value->line,
				 CONTEXT_MAX_TEXT, CONTEXT_MAX_TEXTS);
	if (copy_run(&run, &invocation->runs[invocation->run_count], err) != 0)
		return -1;
	context->text_bytes += run_bytes(&invocation->runs[invocation->run_count++]);
	return 0;
}

static int read_results(const struct json_value *object, void *to, struct warder_error *err)
{
	for (const struct json_value *list = object->child; list; list = list->next) {
		struct invocation *invocation = read_invocation(to, list, "results", err);

		if (!invocation)
			return -1;
		make_newest(to, invocation);
		if (list->type != JSON_ARRAY)
			return wrong(err, list, "results", "arrays of results");
		for (const struct json_value *value = list->child; value; value = value->next) {
			if (read_run(value, to, invocation, err) != 0)
				return -1;
		}
	}
	return 0;
}

static const struct member context_members[] = {
	{ "executionId", JSON_STRING, read_execution_id, true },
	{ "inputFiles", JSON_ARRAY, read_files },
	{ "processedFiles", JSON_ARRAY, read_processed },
	{ "errorCounts", JSON_OBJECT, read_errors },
	{ "results", JSON_OBJECT, read_results },
	{ NULL },
};

static int read_value(const struct json_value *document, struct context **ret, struct warder_error *err)
{
	struct context *context = calloc(1, sizeof(*context));

	if (!context)
		return error_no_memory(err, NULL);
	if (document && read_object(document, context_members, "context", context, err) != 0) {
		context_free(context);
		return -1;
	}
	context->id_changed = context->files_changed = context->processed_changed = false;
	*ret = context;
	return 0;
}

int context_read(const char *json, size_t len, struct context **ret, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = CONTEXT_MAX_JSON };
	struct json_value *document = NULL;
	int status;

	if (len && json_parse(json, len, "context", &limits, &document, err) != 0)
		return -1;
	status = read_value(document, ret, err);
	json_free(document);
	return status;
}

int context_decode(struct decoder *d, const struct json_value *value, struct context **ret)
{
	if (read_value(value, ret, d->err) == 0)
		return 0;
	snprintf(d->err->field, sizeof(d->err->field), "%s", d->path);
	return -1;
}

void context_free(struct context *context)
{
	if (!context)
		return;
	free(context->execution_id);
	context_clear_files(context);
	while (context->processed_count)
		free(context->processed[--context->processed_count]);
	while (context->invocation_count)
		free_invocation(context, context->invocations[--context->invocation_count]);
	free(context);
}
