#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"
#include "runtime/code/code.h"
#include "runtime/text.h"

static int out_of_memory(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INTERNAL, NULL, "out of memory");
}

/* Byte by byte. `line`: and a line ending, if it has none. */
static int print_code(const struct block *block, bool line, struct warder_error *err)
{
	char *code = malloc(block->code.len + 1);
	size_t len;

	if (!code)
		return out_of_memory(err);
	len = block_code(block, code);
	fwrite(code, 1, len, stdout);
	if (line && (len == 0 || code[len - 1] != '\n'))
		putchar('\n');
	free(code);
	return 0;
}

/* What a stranger wrote there, as one word without control characters. */
static void print_language(const struct block *block)
{
	struct span name = block->canonical ? span_of(block->canonical) : block->language;

	if (!name.len)
		putchar('-');
	for (size_t i = 0; i < name.len && i < 64; i++) {
		unsigned char byte = (unsigned char)name.at[i];

		putchar(byte <= ' ' || byte == 0x7f ? '?' : byte);
	}
}

static void print_lines(const struct blocks *blocks)
{
	for (size_t i = 0; i < blocks->count; i++) {
		printf("%zu-%zu ", blocks->items[i].start, blocks->items[i].end);
		print_language(&blocks->items[i]);
		putchar('\n');
	}
}

static void write_block(struct json_writer *w, const struct block *block)
{
	char *code = malloc(block->code.len + 1);

	json_begin_object(w);
	json_key(w, "language");
	json_string_n(w, block->language.at, block->language.len);
	json_key_string(w, "canonical", block->canonical);
	if (code)
		text_write(w, "code", code, block_code(block, code), false);
	else
		json_fail(w);
	free(code);
	json_key_uint(w, "start", block->start);
	json_key_uint(w, "end", block->end);
	json_key_bool(w, "closed", block->closed);
	json_end_object(w);
}

static int print_json(const struct blocks *blocks, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char *json;

	json_begin_object(&w);
	json_key(&w, "blocks");
	json_begin_array(&w);
	for (size_t i = 0; i < blocks->count; i++)
		write_block(&w, &blocks->items[i]);
	json_end_array(&w);
	json_key(&w, "unclosed");
	if (blocks->has_unclosed)
		json_uint(&w, blocks->unclosed_start);
	else
		json_null(&w);
	json_end_object(&w);
	json = json_take(&w);
	if (!json)
		return out_of_memory(err);
	puts(json);
	free(json);
	return 0;
}

static int print_all_code(const struct blocks *blocks, struct warder_error *err)
{
	for (size_t i = 0; i < blocks->count; i++) {
		if (print_code(&blocks->items[i], true, err) != 0)
			return -1;
	}
	return 0;
}

static int print(const struct request *request, const struct blocks *blocks, struct warder_error *err)
{
	const struct request_text *text = &request->text;

	if (request->json)
		return print_json(blocks, err);
	if (text->code > blocks->count)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--code",
				 "there is no block %zu; found: %zu", text->code, blocks->count);
	if (text->code)
		return print_code(&blocks->items[text->code - 1], false, err);
	if (text->extract)
		return print_all_code(blocks, err);
	print_lines(blocks);
	return 0;
}

/* What began and did not end is told, unless it was asked for. */
static void tell_unclosed(const struct request *request, const struct blocks *blocks)
{
	if (blocks->has_unclosed && !request->text.unclosed && !request->json)
		term_complain("what begins at byte %zu is not closed; --unclosed makes a block of it",
			      blocks->unclosed_start);
}

/* A language by any of its names; longer ones than any name are not looked up. */
static const char *canonical(const void *table, const char *name, size_t len)
{
	char text[64];

	if (len >= sizeof(text) || memchr(name, '\0', len))
		return NULL;
	memcpy(text, name, len);
	text[len] = '\0';
	return languages_canonical(table, text);
}

static int find(const struct request *request, const struct languages *languages, struct span bytes,
		struct warder_error *err)
{
	const struct request_text *text = &request->text;
	const struct blocks_options options = {
		.without_fences = text->no_fences,
		.unclosed = text->unclosed,
		.delimiters = text->delimiters,
		.delimiter_count = text->delimiter_count,
		.languages = text->languages.items,
		.language_count = text->languages.count,
		.ignored = text->ignored.items,
		.ignored_count = text->ignored.count,
		.canonical = canonical,
		.table = languages,
	};
	struct blocks blocks = { 0 };
	int status;

	if (blocks_find(bytes.at, bytes.len, &options, &blocks, err) != 0)
		return -1;
	tell_unclosed(request, &blocks);
	status = print(request, &blocks, err);
	blocks_done(&blocks);
	return status;
}

static int check_flags(const struct request *request, struct warder_error *err)
{
	const struct request_text *text = &request->text;

	if (request->json + text->extract + (text->code > 0) > 1)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--code",
				 "give one of --code, --extract and --json");
	if (text->no_fences && !text->delimiter_count)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--no-fences",
				 "there is nothing to look for; give --delimiters, too");
	return 0;
}

int blocks_command(struct request *request, char **argv)
{
	struct languages *languages = NULL;
	struct warder_error err = { 0 };
	char *bytes = NULL;
	size_t len = 0;
	int status = 0;

	if (check_flags(request, &err) != 0 ||
	    languages_load(code_languages_path(request->code.languages), &languages, &err) != 0 ||
	    command_input(request, &bytes, &len, &err) != 0 ||
	    find(request, languages, (struct span){ bytes, len }, &err) != 0)
		status = command_refuse(request, &err, EXIT_REFUSED);
	languages_free(languages);
	free(bytes);
	return status;
}
