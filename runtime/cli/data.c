#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"
#include "runtime/tool/context.h"
#include "runtime/tool/conversation.h"
#include "runtime/tool/datafile.h"

/* The tables that the context does not have are in it from now on. */
static int remember(const struct datafile_list *list, struct context *context, struct warder_error *err)
{
	for (size_t i = 0; context && i < list->count; i++) {
		const struct datafile *file = &list->files[i];
		const struct context_file known = { file->name, "text/csv", file->content };

		if (!file->is_stored && context_add_file(context, &known, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- as lines ---- */

static void print_line(const char *text, size_t len)
{
	fwrite(text, 1, len, stdout);
	if (len && text[len - 1] != '\n')
		putchar('\n');
}

static int print_plain(const struct conversation *talk, const struct datafile_list *list,
		       struct warder_error *err)
{
	for (size_t i = 0; i < talk->count; i++) {
		size_t len = 0;
		char *text = datafile_text(talk->messages, list, i, &len);

		if (!text)
			return error_no_memory(err, NULL);
		print_line(text, len);
		free(text);
	}
	for (size_t i = 0; i < list->count; i++) {
		if (!list->files[i].is_processed)
			printf("\n%s", list->files[i].snippet);
	}
	return 0;
}

/* ---- as JSON ---- */

static void write_texts(const struct conversation *talk, const struct datafile_list *list,
			struct json_writer *w)
{
	json_begin_array(w);
	for (size_t i = 0; i < talk->count; i++) {
		size_t len = 0;
		char *text = datafile_text(talk->messages, list, i, &len);

		json_begin_object(w);
		if (text)
			text_write(w, "text", text, len, false);
		else
			json_fail(w);
		json_end_object(w);
		free(text);
	}
	json_end_array(w);
}

static void write_files(const struct datafile_list *list, struct json_writer *w)
{
	char variable[DATAFILE_MAX_NAME];

	json_begin_array(w);
	for (size_t i = 0; i < list->count; i++) {
		const struct datafile *file = &list->files[i];

		json_begin_object(w);
		json_key_uint(w, "message", file->message);
		json_key_uint(w, "part", file->part);
		json_key_string(w, "name", file->name);
		text_write(w, "content", file->content.at, file->content.len, false);
		json_key_string(w, "variable", datafile_variable(file->name, variable, sizeof(variable)));
		json_key_string(w, "snippet", file->snippet);
		json_key_bool(w, "isStored", file->is_stored);
		json_key_bool(w, "isProcessed", file->is_processed);
		json_end_object(w);
	}
	json_end_array(w);
}

static int print_json(const struct conversation *talk, const struct datafile_list *list,
		      struct warder_error *err)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key(&w, "messages");
	write_texts(talk, list, &w);
	json_key(&w, "files");
	write_files(list, &w);
	context_write(talk->context, &w);
	json_end_object(&w);
	return term_put(json_take(&w), err);
}

/* ---- the command ---- */

static int print(const struct args *args, const struct conversation *talk, struct warder_error *err)
{
	const struct datafile_options options = { .pandas = args->text.pandas, .context = talk->context };
	struct datafile_list list = { 0 };
	int status;

	if (datafile_extract(talk->messages, talk->count, &options, &list, err) != 0)
		return -1;
	status = remember(&list, talk->context, err);
	if (status == 0)
		status = (args->json ? print_json : print_plain)(talk, &list, err);
	datafile_list_done(&list);
	return status;
}

int data_command(struct args *args, char **argv)
{
	struct conversation talk = { 0 };
	struct warder_error err = { 0 };
	char *json = NULL;
	size_t len = 0;
	int status = 0;

	if (command_input(args, &json, &len, &err) != 0 || conversation_read(json, len, &talk, &err) != 0 ||
	    print(args, &talk, &err) != 0)
		status = command_refuse(args, &err, EXIT_REFUSED);
	conversation_done(&talk);
	free(json);
	return status;
}
