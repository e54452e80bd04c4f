#include "runtime/agent/snippet.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/text.h"

static const char *const encodings[] = { "utf-8", "base64", NULL };

int snippet_decode_encoding(struct decoder *d, const struct json_value *value, bool *ret_is_base64)
{
	size_t index = 0;

	if (decode_word(d, value, encodings, &index) != 0)
		return -1;
	*ret_is_base64 = index == 1;
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
	return snippet->language[0] ? 0 : decode_refuse(d, value, "empty; leave it out to have it found out");
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

int snippet_read_encoding(struct decoder *d, const struct json_value *value, void *into)
{
	struct snippet *snippet = into;

	return snippet_decode_encoding(d, value, &snippet->is_base64);
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

static int read_file_name(struct decoder *d, const struct json_value *value, void *into)
{
	struct file *file = into;

	return decode_text(d, value, &file->name);
}

static int read_file_content(struct decoder *d, const struct json_value *value, void *into)
{
	struct file *file = into;

	return decode_text(d, value, &file->content);
}

static int read_file_encoding(struct decoder *d, const struct json_value *value, void *into)
{
	struct file *file = into;

	return snippet_decode_encoding(d, value, &file->is_base64);
}

static int read_file(struct decoder *d, const struct json_value *value, void *into)
{
	static const struct decode_row rows[] = {
		{ "name", read_file_name, true },
		{ "content", read_file_content, true },
		{ "encoding", read_file_encoding, false },
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
			return decode_no_memory(d);
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
			return decode_no_memory(d);
	}
	return decode_array(d, value, SNIPPET_MAX_FILES, read_file, snippet);
}

void snippet_done(struct snippet *snippet)
{
	for (size_t i = 0; i < snippet->file_count; i++)
		free((char *)(uintptr_t)snippet->files[i].bytes);
	free(snippet->files);
	free(snippet->code_bytes);
	snippet->files = NULL;
	snippet->file_count = 0;
	snippet->code_bytes = NULL;
}
