#include "runtime/tool/snippet.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *const encodings[] = { "utf-8", "base64", NULL };

int snippet_decode_encoding(struct decoder *d, const struct json_value *value, void *into)
{
	size_t index = 0;

	if (decode_word(d, value, encodings, &index) != 0)
		return -1;
	*(bool *)into = index == 1;
	return 0;
}

int snippet_decode_base64(struct decoder *d, const struct json_value *object, const char *key, char **ret,
			  size_t *ret_len)
{
	const struct json_value *value = json_member(object, key);
	const size_t mark = decode_enter(d, key);

	*ret = text_unbase64(value->string, strlen(value->string), ret_len);
	if (!*ret)
		return decode_refuse(d, value, "no base64 as RFC 4648 has it, with its padding");
	decode_leave(d, mark);
	return 0;
}

/* ---- code ---- */

int snippet_read_language(struct decoder *d, const struct json_value *value, void *into)
{
	struct snippet *snippet = into;

	if (decode_text(d, value, &snippet->language) != 0)
		return -1;
	if (!snippet->language[0])
		snippet->language = NULL;
	return 0;
}

int snippet_read_code(struct decoder *d, const struct json_value *value, void *into)
{
	struct snippet *snippet = into;

	if (decode_text(d, value, &snippet->code) != 0)
		return -1;
	if (snippet->code[strspn(snippet->code, " \t\r\n\f\v")] == '\0')
		return decode_refuse(d, value, "empty source code: code is required");
	snippet->code_len = strlen(snippet->code);
	return 0;
}

int snippet_finish(struct decoder *d, const struct json_value *document, struct snippet *snippet)
{
	if (!snippet->is_base64)
		return 0;
	if (snippet_decode_base64(d, document, "code", &snippet->code_bytes, &snippet->code_len) != 0)
		return -1;
	snippet->code = snippet->code_bytes;
	return 0;
}

/* ---- files ---- */

struct file {
	const char *name, *content;
	bool is_base64;
};

static int read_file(struct decoder *d, const struct json_value *value, void *into)
{
	static const struct decode_row rows[] = {
		{ "name", decode_row_text, true, offsetof(struct file, name) },
		{ "content", decode_row_text, true, offsetof(struct file, content) },
		{ "encoding", snippet_decode_encoding, false, offsetof(struct file, is_base64) },
		{ NULL, NULL, false },
	};
	struct snippet *snippet = into;
	struct file file = { 0 };
	char *bytes = NULL;
	size_t len = 0;

	if (decode_object(d, value, rows, &file) != 0)
		return -1;
	if (file.is_base64) {
		if (snippet_decode_base64(d, value, "content", &bytes, &len) != 0)
			return -1;
	} else {
		len = strlen(file.content);
		bytes = strdup(file.content);
		if (!bytes)
			return error_no_memory(d->err, NULL);
	}
	snippet->files[snippet->file_count++] =
	    (struct warder_file){ .path = file.name, .bytes = bytes, .len = len };
	return 0;
}

int snippet_read_files(struct decoder *d, const struct json_value *value, void *into)
{
	struct snippet *snippet = into;
	const size_t count = decode_count(value);

	if (count && count <= SNIPPET_MAX_FILES) {
		snippet->files = calloc(count, sizeof(*snippet->files));
		if (!snippet->files)
			return error_no_memory(d->err, NULL);
	}
	return decode_array(d, value, SNIPPET_MAX_FILES, read_file, snippet);
}

/* ---- what the run is given ---- */

static int add_variable(struct decoder *d, const struct json_value *value, struct snippet *snippet, size_t at)
{
	const char *text = NULL;
	const char *name = value->key;

	if (!*name || strchr(name, '='))
		return decode_refuse(d, value, "no name of a variable");
	if (decode_text(d, value, &text) != 0)
		return -1;
	if (asprintf(&snippet->environment[at], "%s=%s", name, text) >= 0)
		return 0;
	snippet->environment[at] = NULL;
	return error_no_memory(d->err, NULL);
}

int snippet_read_environment(struct decoder *d, const struct json_value *value, void *into)
{
	struct snippet *snippet = into;
	size_t count = 0;

	if (value->type != JSON_OBJECT)
		return decode_refuse(d, value, "%s where an object of texts is expected",
				     json_type_name(value->type));
	for (const struct json_value *child = value->child; child; child = child->next)
		count++;
	if (count > SNIPPET_MAX_VARIABLES)
		return decode_refuse(d, value, "%zu variables are too many; at most %d", count,
				     SNIPPET_MAX_VARIABLES);
	snippet->environment = calloc(count + 1, sizeof(char *));
	if (!snippet->environment)
		return error_no_memory(d->err, NULL);
	count = 0;
	for (const struct json_value *child = value->child; child; child = child->next) {
		const size_t mark = decode_enter(d, child->key);

		if (add_variable(d, child, snippet, count++) != 0)
			return -1;
		decode_leave(d, mark);
	}
	return 0;
}

int snippet_check_environment(const struct snippet *snippet, const char *const *granted, size_t count,
			      struct warder_error *err)
{
	for (char **variable = snippet->environment; variable && *variable; variable++) {
		const size_t len = strcspn(*variable, "=");
		bool found = false;
		char name[80];

		for (size_t i = 0; i < count && !found; i++)
			found = strlen(granted[i]) == len && memcmp(granted[i], *variable, len) == 0;
		snprintf(name, sizeof(name), "%.*s", (int)(len < 64 ? len : 64), *variable);
		if (!found)
			return error_set(
			    err, WARDER_ERROR_REJECTED, "environment",
			    "the variable %s is not granted; the operator grants it by --request-env %s",
			    name, name);
	}
	return 0;
}

void snippet_done(struct snippet *snippet)
{
	for (char **variable = snippet->environment; variable && *variable; variable++)
		free(*variable);
	free(snippet->environment);
	snippet->environment = NULL;
	for (size_t i = 0; i < snippet->file_count; i++)
		free((char *)(uintptr_t)snippet->files[i].bytes);
	free(snippet->files);
	free(snippet->code_bytes);
	snippet->files = NULL;
	snippet->file_count = 0;
	snippet->code_bytes = NULL;
}
