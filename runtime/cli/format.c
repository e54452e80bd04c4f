#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"
#include "runtime/text/format.h"

static int print_json(struct json_writer *w, struct warder_error *err)
{
	char *json = json_take(w);

	if (!json)
		return error_no_memory(err, NULL);
	puts(json);
	free(json);
	return 0;
}

/* To a model byte by byte; to a person without what a terminal would obey. */
static void print_line(struct span text)
{
	if (isatty(STDOUT_FILENO))
		term_show(stdout, text.at, text.len);
	else
		fwrite(text.at, 1, text.len, stdout);
	if (text.len == 0 || text.at[text.len - 1] != '\n')
		putchar('\n');
}

/* The one pair that was given; NULL: none. */
static const struct delimiters *delimiters_of(const struct args *args)
{
	return args->text.delimiter_count ? args->text.delimiters : NULL;
}

/* ---- a result into text ---- */

/* NULL with *err. */
static char *written(const struct args *args, const struct format_result *result, size_t *ret_len,
		     struct warder_error *err)
{
	const char *as = args->text.as ? args->text.as : "block";
	char *text;

	if (strcmp(as, "block") == 0)
		return format_block(result, delimiters_of(args), ret_len, err);
	text = strcmp(as, "inline") == 0 ? format_inline(result, ret_len) : format_text(result, ret_len);
	if (!text)
		error_no_memory(err, NULL);
	return text;
}

static int print_text(const struct args *args, const struct format_result *result, struct span text,
		      struct warder_error *err)
{
	struct json_writer w = { 0 };

	if (!args->json) {
		print_line(text);
		return 0;
	}
	json_begin_object(&w);
	json_key_string(&w, "outcome", format_outcome(result));
	text_write(&w, "text", text.at, text.len, false);
	json_end_object(&w);
	return print_json(&w, err);
}

static int format(const struct args *args, const char *json, size_t len, struct warder_error *err)
{
	struct format_result result = { 0 };
	size_t text_len = 0;
	int status = -1;
	char *text;

	if (format_result_read(json, len, &result, err) != 0)
		return -1;
	text = written(args, &result, &text_len, err);
	if (text)
		status = print_text(args, &result, (struct span){ text, text_len }, err);
	free(text);
	format_result_done(&result);
	return status;
}

/* ---- and back ---- */

static int print_bodies_json(const struct format_bodies *bodies, struct warder_error *err)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key(&w, "bodies");
	json_begin_array(&w);
	for (size_t i = 0; i < bodies->count; i++) {
		json_begin_object(&w);
		text_write(&w, "text", bodies->items[i].at, bodies->items[i].len, false);
		json_end_object(&w);
	}
	json_end_array(&w);
	json_key_bool(&w, "unclosed", bodies->has_unclosed);
	json_end_object(&w);
	return print_json(&w, err);
}

static int extract(const struct args *args, const char *text, size_t len, struct warder_error *err)
{
	struct format_bodies bodies = { 0 };
	int status = 0;

	if (format_extract(text, len, delimiters_of(args), &bodies, err) != 0)
		return -1;
	if (args->json)
		status = print_bodies_json(&bodies, err);
	for (size_t i = 0; !args->json && i < bodies.count; i++)
		print_line(bodies.items[i]);
	if (bodies.has_unclosed && !args->json)
		term_complain("the last start delimiter has no end; the text after it was left out");
	format_bodies_done(&bodies);
	return status;
}

static int check_flags(const struct args *args, struct warder_error *err)
{
	const struct args_text *text = &args->text;
	const char *as = text->as ? text->as : "block";

	if (text->as && text->extract)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--as",
				 "give one of --as and --extract: into text, or back");
	if (text->delimiter_count > 1)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--delimiters",
				 "one pair goes around a result; %zu are given", text->delimiter_count);
	if (text->delimiter_count && strcmp(as, "block") != 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--delimiters",
				 "only --as block has delimiters");
	return 0;
}

int format_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };
	char *text = NULL;
	size_t len = 0;
	int status = 0;

	if (check_flags(args, &err) != 0 || command_input(args, &text, &len, &err) != 0 ||
	    (args->text.extract ? extract : format)(args, text, len, &err) != 0)
		status = command_refuse(args, &err, EXIT_REFUSED);
	free(text);
	return status;
}
