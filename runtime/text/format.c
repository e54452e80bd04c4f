/*
 * format: three ways to write a result, and one back.
 *
 * Delimiters that are a fence (each on lines of its own, a run of backticks or tildes first) can grow: if a line of the body could
 * close the fence, for a reader of CommonMark or for format_extract(), both get one character more than the longest such
 * line. The first line ending before an equally long run is then the end, and everything before it the body, byte by byte.
 * Other delimiters cannot grow; output that holds the end is refused rather than let out of its block.
 */
#include "runtime/text/format.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/json.h"
#include "base/text.h"

static const struct delimiters default_delimiters = { "```tool_output\n", "\n```", NULL };

/* ---- writing ---- */

static void put(FILE *to, struct span span)
{
	if (span.len)
		fwrite(span.at, 1, span.len, to);
}

/* With a line ending, unless there is one already, or nothing at all. */
static void put_line(FILE *to, struct span span)
{
	put(to, span);
	if (span.len && span.at[span.len - 1] != '\n')
		fputc('\n', to);
}

/* The name of a file, which a program chose: on one line. */
static void put_name(FILE *to, struct span name)
{
	for (size_t i = 0; i < name.len; i++) {
		unsigned char byte = (unsigned char)name.at[i];

		fputc(byte < 0x20 || byte == 0x7f ? '?' : byte, to);
	}
}

static void put_cut(FILE *to, const char *name, const struct format_stream *stream)
{
	if (stream->total > stream->bytes.len)
		fprintf(to, "[%s cut: %zu of %" PRIu64 " bytes]\n", name, stream->bytes.len, stream->total);
}

/* What to say of a run that failed and has nothing else to say for itself. */
static void put_error(FILE *to, const char *before, const struct format_result *result)
{
	if (result->error.len) {
		fputs(before, to);
		put_line(to, result->error);
	} else if (result->status == FORMAT_FAILED && !result->err.bytes.len) {
		if (result->exit_code >= 0)
			fprintf(to, "%sexit status %d\n", before, result->exit_code);
		else
			fprintf(to, "%sno exit status\n", before);
	}
}

static void put_body(FILE *to, const struct format_result *result)
{
	if (result->status != FORMAT_SUCCESS) {
		if (result->err.bytes.len)
			fputs("Error: ", to);
		put_line(to, result->err.bytes);
		put_cut(to, "stderr", &result->err);
		put_error(to, "Execution error: ", result);
		if (result->status == FORMAT_TIMEOUT)
			fputs("Execution timed out\n", to);
	}
	put_line(to, result->out.bytes);
	put_cut(to, "stdout", &result->out);
	if (result->file_count)
		fprintf(to, "\n[Generated %zu output file(s)]\n", result->file_count);
	for (size_t i = 0; i < result->file_count; i++) {
		fputs("- ", to);
		put_name(to, result->files[i].name);
		if (result->files[i].size_bytes != UINT64_MAX)
			fprintf(to, " (%" PRIu64 " bytes)", result->files[i].size_bytes);
		fputs(result->files[i].omitted ? ", not kept\n" : "\n", to);
	}
}

static struct span trimmed(struct span span)
{
	while (span.len && strchr(" \t\r\n\v\f", span.at[0]) && span.at[0])
		span = (struct span){ span.at + 1, span.len - 1 };
	while (span.len && strchr(" \t\r\n\v\f", span.at[span.len - 1]) && span.at[span.len - 1])
		span.len--;
	return span;
}

static void put_inline(FILE *to, const struct format_result *result)
{
	struct span out = trimmed(result->out.bytes), err = trimmed(result->err.bytes),
		    error = trimmed(result->error);

	if (result->status == FORMAT_SUCCESS) {
		put(to, out.len ? out : span_of("Execution completed successfully"));
	} else if (result->status == FORMAT_TIMEOUT) {
		fputs("execution failed: timed out", to);
	} else if (err.len) {
		fputs("error: ", to);
		put(to, err);
	} else if (error.len) {
		fputs("execution failed: ", to);
		put(to, error);
	} else {
		fputs("Execution failed", to);
	}
}

/* These sentences are a contract with who reads them. */
static void put_text(FILE *to, const struct format_result *result)
{
	bool failed = result->status == FORMAT_FAILED || result->error.len, any = false;

	if (result->err.bytes.len || failed)
		fputs("Code execution error:\n", to);
	if (result->err.bytes.len) {
		put(to, result->err.bytes);
		fputc('\n', to);
	}
	put_cut(to, "stderr", &result->err);
	put_error(to, "", result);
	if (result->status == FORMAT_TIMEOUT)
		fputs("Code execution timed out\n", to);
	if (result->out.bytes.len) {
		fputs("Code execution result:\n", to);
		put(to, result->out.bytes);
		fputc('\n', to);
	}
	put_cut(to, "stdout", &result->out);
	for (size_t i = 0; i < result->file_count; i++) {
		if (result->files[i].omitted)
			continue;
		fputs(any ? ",`" : "Saved artifacts:\n`", to);
		put_name(to, result->files[i].name);
		fputc('`', to);
		any = true;
	}
}

static char *written(void (*write)(FILE *to, const struct format_result *result),
		     const struct format_result *result, size_t *ret_len)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	bool failed;

	if (!to)
		return NULL;
	write(to, result);
	failed = ferror(to);
	if (fclose(to) != 0 || failed) {
		free(text);
		return NULL;
	}
	*ret_len = len;
	return text;
}

char *format_inline(const struct format_result *result, size_t *ret_len)
{
	return written(put_inline, result, ret_len);
}

char *format_text(const struct format_result *result, size_t *ret_len)
{
	return written(put_text, result, ret_len);
}

const char *format_outcome(const struct format_result *result)
{
	if (result->status == FORMAT_TIMEOUT)
		return "DEADLINE_EXCEEDED";
	return result->status == FORMAT_FAILED || result->err.bytes.len ? "FAILED" : "OK";
}

/* ---- fences that grow ---- */

static size_t run_at(const char *at, const char *end, char mark)
{
	const char *from = at;

	while (at < end && *at == mark)
		at++;
	return (size_t)(at - from);
}

/* The length of the fence that the delimiters are; 0: they are something else. */
static size_t fence_length(const struct delimiters *delimiters)
{
	const char *start = delimiters->start, *end = delimiters->end;
	size_t length = run_at(start, start + strlen(start), *start);

	if (length < 3 || (*start != '`' && *start != '~') || start[strlen(start) - 1] != '\n' ||
	    end[0] != '\n')
		return 0;
	return strlen(end) == length + 1 && run_at(end + 1, end + 1 + length, *start) == length ? length : 0;
}

/* A length that no line of the body closes: of those that begin with a fence, behind at most three spaces, the longest plus
 * one; at least `length`. */
static size_t length_around(struct span body, char mark, size_t length)
{
	const char *at = body.at, *end = body.at + body.len;

	while (at < end) {
		size_t spaces = run_at(at, end, ' ');
		size_t run = run_at(at + spaces, end, mark);

		if (spaces <= 3 && run >= length)
			length = run + 1;
		at += spaces + run;
		while (at < end && *at != '\n' && *at != '\r')
			at++;
		at += at < end;
	}
	return length;
}

/* start, body and end, with `more` further characters in each of the two fences. */
static char *join(const struct delimiters *delimiters, struct span body, size_t more, size_t *ret_len)
{
	size_t start = strlen(delimiters->start), end = strlen(delimiters->end);
	char *text = malloc(start + end + body.len + 2 * more + 1), *to = text;

	if (!text)
		return NULL;
	memset(to, delimiters->start[0], more);
	to = (char *)memcpy(to + more, delimiters->start, start) + start;
	to = (char *)memcpy(to, body.at, body.len) + body.len;
	to = (char *)memcpy(to, delimiters->end, end) + end;
	memset(to, delimiters->start[0], more);
	to[more] = '\0';
	*ret_len = (size_t)(to + more - text);
	return text;
}

/* Whether the first end in the joined text is the one that was put there. */
static bool ends_once(const char *text, size_t len, const struct delimiters *delimiters)
{
	size_t start = strlen(delimiters->start), end = strlen(delimiters->end);

	return memmem(text + start, len - start, delimiters->end, end) == text + len - end;
}

static char *surround(struct span body, const struct delimiters *delimiters, size_t *ret_len,
		      struct warder_error *err)
{
	size_t length = fence_length(delimiters), more = 0;
	char *text;

	if (length)
		more = length_around(body, delimiters->start[0], length) - length;
	text = join(delimiters, body, more, ret_len);
	if (!text) {
		error_no_memory(err, NULL);
	} else if (!length && !ends_once(text, *ret_len, delimiters)) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "delimiters",
			  "the output holds the end itself; use a fence such as \"```tool_output\\n\" and "
			  "\"\\n```\", which is made longer");
		free(text);
		text = NULL;
	}
	return text;
}

char *format_block(const struct format_result *result, const struct delimiters *delimiters, size_t *ret_len,
		   struct warder_error *err)
{
	size_t len = 0;
	char *body, *text;

	delimiters = delimiters ? delimiters : &default_delimiters;
	if (delimiters_check(delimiters, err) != 0)
		return NULL;
	body = written(put_body, result, &len);
	if (!body) {
		error_no_memory(err, NULL);
		return NULL;
	}
	text = surround((struct span){ body, len }, delimiters, ret_len, err);
	free(body);
	return text;
}

/* ---- and back ---- */

struct search {
	const struct delimiters *delimiters;
	size_t length; /* of the fence, or 0 */
	const char *at, *end;
};

/* The line ending before a run of `length` marks, from `at` on; NULL: there is none. */
static const char *find_fence_end(const struct search *search, const char *at, size_t length)
{
	while ((at = memchr(at, '\n', (size_t)(search->end - at)))) {
		if (run_at(at + 1, search->end, search->delimiters->start[0]) >= length)
			return at;
		at++;
	}
	return NULL;
}

/* The body behind the next start; *ret_closed tells whether it has an end. False: there is no start. */
static bool next_body(struct search *search, struct span *ret, bool *ret_closed)
{
	const char *start = search->delimiters->start, *end = search->delimiters->end;
	size_t start_len = strlen(start), length = search->length, end_len = strlen(end);
	const char *found = memmem(search->at, (size_t)(search->end - search->at), start, start_len);
	const char *body, *stop;

	if (!found)
		return false;
	body = found + start_len;
	if (length) {
		for (; found > search->at && found[-1] == start[0]; found--)
			length++;
		/* With nothing between them, the line ending of the start is that of the end. */
		stop = find_fence_end(search, body - 1, length);
		end_len = length + 1;
	} else {
		stop = memmem(body, (size_t)(search->end - body), end, end_len);
	}
	*ret_closed = stop != NULL;
	if (stop) {
		*ret = (struct span){ body, stop > body ? (size_t)(stop - body) : 0 };
		search->at = stop + end_len;
	}
	return true;
}

static int add_body(struct format_bodies *bodies, struct span body, struct warder_error *err)
{
	if (delimiters_check_room(bodies->count, err) != 0)
		return -1;
	if ((bodies->count & (bodies->count - 1)) == 0) { /* full at each power of two */
		size_t room = bodies->count ? bodies->count * 2 : 1;
		struct span *items = realloc(bodies->items, room * sizeof(*items));

		if (!items)
			return error_no_memory(err, NULL);
		bodies->items = items;
	}
	bodies->items[bodies->count++] = body;
	return 0;
}

int format_extract(const char *text, size_t len, const struct delimiters *delimiters,
		   struct format_bodies *ret, struct warder_error *err)
{
	struct search search = { .delimiters = delimiters ? delimiters : &default_delimiters };
	struct format_bodies bodies = { 0 };
	bool closed = true;
	struct span body;

	if (delimiters_check(search.delimiters, err) != 0 || delimiters_check_text(len, err) != 0)
		return -1;
	search.length = fence_length(search.delimiters);
	search.at = len ? text : "";
	search.end = search.at + len;
	while (closed && next_body(&search, &body, &closed)) {
		if (closed && add_body(&bodies, body, err) != 0) {
			format_bodies_done(&bodies);
			return -1;
		}
	}
	bodies.has_unclosed = !closed;
	*ret = bodies;
	return 0;
}

void format_bodies_done(struct format_bodies *bodies)
{
	free(bodies->items);
	*bodies = (struct format_bodies){ 0 };
}

/* ---- reading a result ---- */

struct format_memory {
	struct json_value *document;
	char *decoded[2]; /* streams that were no text */
	char *diagnostics;
	struct format_file *files;
};

static int wrong(struct warder_error *err, const struct json_value *value, const char *field,
		 const char *wanted)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "result:%d: %s must be %s, not %s",
			 value->line, field, wanted, json_type_name(value->type));
}

/* A member, unless it is not there or null. */
static const struct json_value *member(const struct json_value *object, const char *key)
{
	const struct json_value *value = json_member(object, key);

	return value && value->type != JSON_NULL ? value : NULL;
}

/* A member that is text; left as it is where there is none. */
static int read_text(const struct json_value *object, const char *key, const char *field, struct span *ret,
		     struct warder_error *err)
{
	const struct json_value *value = member(object, key);

	if (value && value->type != JSON_STRING)
		return wrong(err, value, field, "a string");
	if (value)
		*ret = span_of(value->string);
	return 0;
}

static int read_count(const struct json_value *object, const char *key, const char *field, uint64_t *ret,
		      struct warder_error *err)
{
	const struct json_value *value = member(object, key);

	if (value && !value->is_uint)
		return wrong(err, value, field, "a whole number");
	if (value)
		*ret = value->uint;
	return 0;
}

static int read_base64(const struct json_value *stream, const char *field, struct span *bytes,
		       char **ret_owned, struct warder_error *err)
{
	struct span encoded = { NULL, 0 };

	if (read_text(stream, "base64", field, &encoded, err) != 0)
		return -1;
	if (!encoded.len)
		return 0;
	*ret_owned = text_unbase64(encoded.at, encoded.len, &bytes->len);
	if (!*ret_owned)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "result:%d: %s.base64 is not base64 with padding", stream->line, field);
	bytes->at = *ret_owned;
	return 0;
}

static int read_stream(const struct json_value *object, const char *key, struct format_stream *ret,
		       char **ret_owned, struct warder_error *err)
{
	const struct json_value *stream = member(object, key);

	if (!stream || stream->type == JSON_STRING)
		return read_text(object, key, key, &ret->bytes, err);
	if (stream->type != JSON_OBJECT)
		return wrong(err, stream, key, "an object or a string");
	if (read_text(stream, "text", key, &ret->bytes, err) != 0 ||
	    read_base64(stream, key, &ret->bytes, ret_owned, err) != 0)
		return -1;
	return read_count(stream, "bytesTotal", key, &ret->total, err);
}

static int read_file(const struct json_value *object, struct format_file *ret, struct warder_error *err)
{
	ret->size_bytes = UINT64_MAX;
	if (object->type != JSON_OBJECT || !member(object, "name"))
		return wrong(err, object, "artifacts", "objects with a name");
	ret->omitted = member(object, "omitted") != NULL;
	if (read_text(object, "name", "artifacts.name", &ret->name, err) != 0)
		return -1;
	return read_count(object, "sizeBytes", "artifacts.sizeBytes", &ret->size_bytes, err);
}

static int read_files(const struct json_value *object, struct format_result *ret, struct warder_error *err)
{
	const struct json_value *list = member(object, "artifacts");
	struct format_file *files;
	size_t count = 0;

	if (!list)
		return 0;
	if (list->type != JSON_ARRAY)
		return wrong(err, list, "artifacts", "an array");
	for (const struct json_value *each = list->child; each; each = each->next) {
		if (delimiters_check_room(count++, err) != 0)
			return -1;
	}
	files = calloc(count + 1, sizeof(*files));
	if (!files)
		return error_no_memory(err, NULL);
	ret->files = ret->memory->files = files;
	for (const struct json_value *each = list->child; each; each = each->next) {
		if (read_file(each, &files[ret->file_count++], err) != 0)
			return -1;
	}
	return 0;
}

/* What the compiler said, in place of its standard error, which may be in a form for programs. */
static int read_diagnostics(const struct json_value *object, struct format_result *ret,
			    struct warder_error *err)
{
	const struct json_value *list = member(object, "diagnostics");
	size_t len = 0;
	FILE *to;

	if (!list || !list->child ||
	    !span_is(span_of(json_member(object, "status")->string), "compileFailed"))
		return 0;
	to = open_memstream(&ret->memory->diagnostics, &len);
	if (!to)
		return error_no_memory(err, NULL);
	for (const struct json_value *each = list->child; each; each = each->next) {
		struct span text = { NULL, 0 };

		if (each->type != JSON_OBJECT || read_text(each, "message", "diagnostics", &text, err) != 0 ||
		    read_text(each, "rendered", "diagnostics", &text, err) != 0) {
			fclose(to);
			return wrong(err, each, "diagnostics", "objects with a message");
		}
		put_line(to, text);
	}
	if (fclose(to) != 0)
		return error_no_memory(err, NULL);
	ret->err = (struct format_stream){ { ret->memory->diagnostics, len }, 0 };
	return 0;
}

static const struct {
	const char *name;
	enum format_status status;
} statuses[] = {
	{ "success", FORMAT_SUCCESS },      { "failed", FORMAT_FAILED },   { "timeout", FORMAT_TIMEOUT },
	{ "compileFailed", FORMAT_FAILED }, { "rejected", FORMAT_FAILED }, { "killed", FORMAT_FAILED },
};

static int read_status(const struct json_value *object, struct format_result *ret, struct warder_error *err)
{
	struct span name = { NULL, 0 };
	char quoted[40];

	if (read_text(object, "status", "status", &name, err) != 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LENGTH(statuses); i++) {
		if (span_is(name, statuses[i].name)) {
			ret->status = statuses[i].status;
			return 0;
		}
	}
	if (!name.at)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "status",
				 "result:%d: there is no status; give a result as \"warder run --json\" "
				 "prints it",
				 object->line);
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "status",
			 "result:%d: there is no status %s; known: success, failed, timeout, compileFailed, "
			 "rejected, killed",
			 object->line, json_quote(name.at, quoted, sizeof(quoted)));
}

/* The exit code, and where there is none, or not it alone ended the run, what did. Time has a sentence of its own. */
static int read_end(const struct json_value *object, struct format_result *ret, struct warder_error *err)
{
	const struct json_value *error = member(object, "error");
	struct span cause = { "exit", 4 }, detail = { NULL, 0 };
	uint64_t code = UINT64_MAX;

	if (read_count(object, "exitCode", "exitCode", &code, err) != 0 ||
	    read_text(object, "cause", "cause", &cause, err) != 0 ||
	    read_text(object, "detail", "detail", &detail, err) != 0)
		return -1;
	ret->exit_code = code <= INT_MAX ? (int)code : -1;
	if (ret->status == FORMAT_FAILED && !span_is(cause, "exit"))
		ret->error = detail.len ? detail : cause;
	if (!error)
		return 0;
	if (error->type == JSON_STRING)
		return read_text(object, "error", "error", &ret->error, err);
	if (error->type != JSON_OBJECT)
		return wrong(err, error, "error", "an object or a string");
	return read_text(error, "message", "error.message", &ret->error, err);
}

static int read_members(const struct json_value *object, struct format_result *ret, struct warder_error *err)
{
	if (object->type != JSON_OBJECT)
		return wrong(err, object, "result", "an object");
	if (read_status(object, ret, err) != 0 || read_end(object, ret, err) != 0 ||
	    read_stream(object, "stdout", &ret->out, &ret->memory->decoded[0], err) != 0 ||
	    read_stream(object, "stderr", &ret->err, &ret->memory->decoded[1], err) != 0)
		return -1;
	if (read_diagnostics(object, ret, err) != 0)
		return -1;
	return read_files(object, ret, err);
}

int format_result_read(const char *json, size_t len, struct format_result *ret, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = AGENT_MAX_TEXT_BYTES };
	struct format_result result = { .memory = calloc(1, sizeof(*result.memory)) };

	if (!result.memory)
		return error_no_memory(err, NULL);
	if (json_parse(json, len, "result", &limits, &result.memory->document, err) != 0 ||
	    read_members(result.memory->document, &result, err) != 0) {
		format_result_done(&result);
		return -1;
	}
	*ret = result;
	return 0;
}

void format_result_done(struct format_result *result)
{
	struct format_memory *memory = result->memory;

	if (memory) {
		json_free(memory->document);
		free(memory->decoded[0]);
		free(memory->decoded[1]);
		free(memory->diagnostics);
		free(memory->files);
		free(memory);
	}
	*result = (struct format_result){ 0 };
}
