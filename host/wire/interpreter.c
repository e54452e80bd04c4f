#include "host/wire/interpreter.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "host/wire/fields.h"

/* Fields of a result by media type. `parsed`: the text is JSON, and clients want its value. */
static const struct field {
	const char *type, *name;
	bool parsed;
} fields[] = {
	{ "text/plain", "text", false },        { "text/html", "html", false },
	{ "text/markdown", "markdown", false }, { "image/svg+xml", "svg", false },
	{ "image/png", "png", false },          { "image/jpeg", "jpeg", false },
	{ "application/pdf", "pdf", false },    { "text/latex", "latex", false },
	{ "application/json", "json", true },   { "application/javascript", "javascript", false },
	{ "e2b/data", "data", true },           { "e2b/chart", "chart", true },
};

static const struct field *find_field(const char *type)
{
	for (size_t i = 0; i < ARRAY_LENGTH(fields); i++)
		if (strcmp(type, fields[i].type) == 0)
			return &fields[i];
	return NULL;
}

/* ---- requests ---- */

int interpreter_parse_execute(const char *json, size_t len, struct interpreter_request *ret,
			      struct warder_error *err)
{
	*ret = (struct interpreter_request){ 0 };
	if (fields_parse(json, len, &ret->document, err) < 0)
		return -1;
	if (fields_text(ret->document, "code", &ret->code, err) < 0 ||
	    fields_text(ret->document, "context_id", &ret->context, err) < 0 ||
	    fields_text(ret->document, "language", &ret->language, err) < 0 ||
	    fields_variables(ret->document, "env_vars", &ret->variables, err) < 0 ||
	    (!ret->code && fields_refuse("code", "missing", err) < 0) ||
	    (ret->context && ret->language &&
	     fields_refuse("language", "context_id is given, too; send one of the two", err) < 0)) {
		interpreter_request_done(ret);
		return -1;
	}
	return 0;
}

int interpreter_parse_context(const char *json, size_t len, struct interpreter_request *ret,
			      struct warder_error *err)
{
	*ret = (struct interpreter_request){ 0 };
	if (fields_parse(len ? json : "{}", len ? len : 2, &ret->document, err) < 0)
		return -1;
	if (fields_text(ret->document, "language", &ret->language, err) < 0 ||
	    fields_text(ret->document, "cwd", &ret->directory, err) < 0) {
		interpreter_request_done(ret);
		return -1;
	}
	return 0;
}

void interpreter_request_done(struct interpreter_request *request)
{
	fields_list_free(request->variables);
	json_free(request->document);
	*request = (struct interpreter_request){ 0 };
}

/* ---- lines of the answer ---- */

/* Room for `more` bytes and a NUL. */
static bool make_room(struct json_writer *w, size_t more)
{
	const size_t cap = w->len + more + 1 > 2 * w->cap ? w->len + more + 1 : 2 * w->cap;
	char *grown;

	if (w->failed || w->cap > w->len + more)
		return !w->failed;
	grown = realloc(w->text, cap);
	if (!grown) {
		json_fail(w);
		return false;
	}
	w->text = grown;
	w->cap = cap;
	return true;
}

/* A line has a writer of its own: the writer of all lines has no commas between them. */
static void end_line(struct json_writer *to, struct json_writer *line)
{
	json_end_object(line);
	if (line->failed) {
		json_fail(to);
	} else if (make_room(to, line->len + 1)) {
		memcpy(to->text + to->len, line->text, line->len);
		to->len += line->len;
		to->text[to->len++] = '\n';
		to->text[to->len] = '\0';
	}
	json_writer_done(line);
}

static void begin_line(struct json_writer *line, const char *type)
{
	json_begin_object(line);
	json_key_string(line, "type", type);
}

void interpreter_write_count(struct json_writer *w, uint64_t count)
{
	struct json_writer line = { 0 };

	begin_line(&line, "number_of_executions");
	json_key_uint(&line, "execution_count", count);
	end_line(w, &line);
}

static void write_text(struct json_writer *w, bool is_error, const char *bytes, size_t len, uint64_t time_us)
{
	struct json_writer line = { 0 };

	if (len == 0)
		return;
	begin_line(&line, is_error ? "stderr" : "stdout");
	json_key(&line, "text");
	json_string_n(&line, bytes, len);
	json_key_uint(&line, "timestamp", time_us * 1000);
	end_line(w, &line);
}

/* How many bytes at the end are the beginning of a character that is not whole: 0 to 3. */
static size_t unfinished(const char *bytes, size_t len)
{
	for (size_t n = 1; n <= 3 && n <= len; n++) {
		const unsigned char first = (unsigned char)bytes[len - n];
		const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;

		if (first >= 0x80 && first < 0xc0)
			continue; /* the second or a later byte of one */
		return size > n ? n : 0;
	}
	return 0;
}

void interpreter_write_output(struct json_writer *w, struct interpreter_stream *stream, bool is_error,
			      const char *bytes, size_t len, uint64_t time_us)
{
	const size_t all_len = stream->held_len + len;
	char *all = malloc(all_len + 1);
	size_t held;

	if (!all) {
		json_fail(w);
		return;
	}
	memcpy(all, stream->held, stream->held_len);
	if (len)
		memcpy(all + stream->held_len, bytes, len);
	held = unfinished(all, all_len);
	write_text(w, is_error, all, all_len - held, time_us);
	memcpy(stream->held, all + all_len - held, held);
	stream->held_len = held;
	free(all);
}

void interpreter_finish_output(struct json_writer *w, struct interpreter_stream *stream, bool is_error,
			       uint64_t time_us)
{
	write_text(w, is_error, stream->held, stream->held_len, time_us);
	stream->held_len = 0;
}

/* The repr of a string stands in quotation marks, which clients of E2B do not expect. */
static void write_unquoted(struct json_writer *w, const char *text)
{
	const size_t len = strlen(text);

	if (len >= 2 && (text[0] == '\'' || text[0] == '"') && text[len - 1] == text[0])
		json_string_n(w, text + 1, len - 2);
	else
		json_string(w, text);
}

/* JSON that cannot be parsed stays a text. */
static void write_parsed(struct json_writer *w, const char *text)
{
	const struct json_limits limits = { .max_bytes = (size_t)8 << 20, .max_values = 200000 };
	struct json_value *value = NULL;
	struct warder_error ignored;

	if (json_parse(text, strlen(text), "result", &limits, &value, &ignored) == 0)
		json_copy(w, value);
	else
		json_string(w, text);
	json_free(value);
}

static void write_field(struct json_writer *w, const struct field *field, const char *text)
{
	json_key(w, field->name);
	if (field->parsed)
		write_parsed(w, text);
	else if (strcmp(field->name, "text") == 0)
		write_unquoted(w, text);
	else
		json_string(w, text);
}

void interpreter_write_result(struct json_writer *w, const struct json_value *bundle, bool is_main)
{
	struct json_writer line = { 0 };
	bool has_extra = false;

	begin_line(&line, "result");
	json_key_bool(&line, "is_main_result", is_main);
	for (const struct json_value *member = bundle->child; member; member = member->next) {
		const struct field *field = member->type == JSON_STRING ? find_field(member->key) : NULL;

		if (field)
			write_field(&line, field, member->string);
		has_extra |= !field;
	}
	if (has_extra) {
		json_key(&line, "extra");
		json_begin_object(&line);
		for (const struct json_value *member = bundle->child; member; member = member->next) {
			if (member->type == JSON_STRING && find_field(member->key))
				continue;
			json_key(&line, member->key);
			json_copy(&line, member);
		}
		json_end_object(&line);
	}
	end_line(w, &line);
}

void interpreter_write_error(struct json_writer *w, const char *name, const char *value,
			     const char *traceback)
{
	struct json_writer line = { 0 };

	begin_line(&line, "error");
	json_key_string(&line, "name", name);
	json_key_string(&line, "value", value);
	json_key_string(&line, "traceback", traceback);
	end_line(w, &line);
}

void interpreter_write_keepalive(struct json_writer *w)
{
	struct json_writer line = { 0 };

	begin_line(&line, "keepalive");
	end_line(w, &line);
}

void interpreter_write_end(struct json_writer *w)
{
	struct json_writer line = { 0 };

	begin_line(&line, "end_of_execution");
	end_line(w, &line);
}

void interpreter_write_context(struct json_writer *w, const char *id, const char *language,
			       const char *directory)
{
	json_begin_object(w);
	json_key_string(w, "id", id);
	json_key_string(w, "language", language);
	json_key_string(w, "cwd", directory);
	json_end_object(w);
}
