#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json.h"
#include "base/text.h"
#include "runtime/cli/blocks_run.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"
#include "runtime/code/code.h"
#include "runtime/text/blocks.h"

/* Byte by byte. `line`: and a line ending, if it has none. */
static int print_code(const struct block *block, bool line, struct warder_error *err)
{
	size_t len = 0;
	char *code = block_code_copy(block, &len);

	if (!code)
		return error_no_memory(err, NULL);
	if (isatty(STDOUT_FILENO))
		term_show(stdout, code, len);
	else
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

	char word[65] = "-";

	if (name.len)
		snprintf(word, sizeof(word), "%.*s", name.len < 64 ? (int)name.len : 64, name.at);
	for (char *space = strchr(word, ' '); space; space = strchr(space, ' '))
		*space = '?';
	fputs(term_clean(word), stdout);
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
	size_t len = 0;
	char *code = block_code_copy(block, &len);

	json_begin_object(w);
	json_key(w, "language");
	json_string_n(w, block->language.at, block->language.len);
	json_key_string(w, "canonical", block->canonical);
	if (code)
		text_write(w, "code", code, len, false);
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
	return term_put(json_take(&w), err);
}

static int print_all_code(const struct blocks *blocks, struct warder_error *err)
{
	for (size_t i = 0; i < blocks->count; i++) {
		if (print_code(&blocks->items[i], true, err) != 0)
			return -1;
	}
	return 0;
}

/* What a model wrote before it could see a result: the rest is made up. Without a block, all of it. */
static void print_until_first(const struct blocks *blocks, struct span bytes)
{
	const size_t end = blocks->count ? blocks->items[0].end : bytes.len;

	fwrite(bytes.at, 1, end, stdout);
	if (end && bytes.at[end - 1] != '\n')
		putchar('\n');
}

static int print(const struct args *args, const struct blocks *blocks, struct span bytes,
		 struct warder_error *err)
{
	const struct args_text *text = &args->text;

	if (text->until_first) {
		print_until_first(blocks, bytes);
		return 0;
	}

	if (args->json)
		return print_json(blocks, err);
	if (text->code > blocks->count)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--code",
				 "there is no block %u; found: %zu", text->code, blocks->count);
	if (text->code)
		return print_code(&blocks->items[text->code - 1], false, err);
	if (text->extract)
		return print_all_code(blocks, err);
	print_lines(blocks);
	return 0;
}

/* What began and did not end is told, unless it was asked for. */
static void tell_unclosed(const struct args *args, const struct blocks *blocks)
{
	if (blocks->has_unclosed && !args->text.unclosed && !args->json)
		term_complain("the block that begins at byte %zu is not closed; --unclosed includes it",
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

static int find(struct args *args, char **argv, const struct languages *languages, struct span bytes,
		int *ret_status, struct warder_error *err)
{
	const struct args_text *text = &args->text;
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
	tell_unclosed(args, &blocks);
	status = text->run ? blocks_run(args, argv, languages, &blocks, ret_status, err)
			   : print(args, &blocks, bytes, err);
	blocks_done(&blocks);
	return status;
}

/* Flags of what is executed: without --run nothing is. */
static int check_no_policy(const struct args *args, struct warder_error *err)
{
	static const char *const also[] = { "--language", "--languages", "--json", "--no-config", "--help" };
	const struct flag *flag;

	for (size_t i = 0; (flag = flag_at(i)); i++) {
		bool ours = (flag->commands & FLAG_BLOCKS) && flag_find(FLAG_CODE, flag->name);

		for (size_t j = 0; j < ARRAY_LENGTH(also); j++)
			ours &= strcmp(flag->name, also[j]) != 0;
		if (args->typed[i] && ours)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name, "%s needs --run",
					 flag->name);
	}
	return 0;
}

static int check_flags(const struct args *args, struct warder_error *err)
{
	const struct args_text *text = &args->text;

	if (text->run && text->extract + text->until_first + (text->code > 0) > 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--run",
				 "give one of --run, --code, --extract and --until-first");
	if (!text->run && check_no_policy(args, err) != 0)
		return -1;
	if (args->json + text->extract + text->until_first + (text->code > 0) > 1)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--code",
				 "give one of --code, --extract, --until-first and --json");
	if (text->no_fences && !text->delimiter_count)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--no-fences",
				 "there is nothing to look for; give --delimiters, too");
	return 0;
}

int blocks_command(struct args *args, char **argv)
{
	struct languages *languages = NULL;
	struct warder_error err = { 0 };
	char *bytes = NULL;
	size_t len = 0;
	int status = 0;

	if (check_flags(args, &err) != 0 ||
	    languages_load(code_languages_path(args->code.languages), &languages, &err) != 0 ||
	    command_input(args, &bytes, &len, &err) != 0 ||
	    find(args, argv, languages, (struct span){ bytes, len }, &status, &err) != 0)
		status = command_refuse(args, &err, EXIT_REFUSED);
	languages_free(languages);
	free(bytes);
	return status;
}
