/*
 * languages: which languages there are, and which of them the policy's view has.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"
#include "runtime/code/code.h"

struct row {
	const struct language *language; /* the first of its name */
	bool available, allowed;
	char *programs[LANGUAGE_STAGES];
	struct warder_error reason;
};

static void look_up(const struct languages *languages, const struct policy *policy, struct row *row)
{
	const struct language *found;

	row->allowed = policy_allows_language(policy, row->language->name);
	row->available = language_resolve(languages, row->language->name, policy, &found, row->programs,
					  &row->reason) == 0;
	if (row->available)
		row->language = found;
}

static void print_row(struct row *row)
{
	char *program =
	    row->programs[LANGUAGE_BUILD] ? row->programs[LANGUAGE_BUILD] : row->programs[LANGUAGE_RUN];

	term_print(TERM_TITLE, 12, row->language->name);
	if (row->available)
		printf(" %-24s %s\n", program ? term_clean(program) : "",
		       row->allowed ? "" : "not allowed by the policy");
	else
		printf(" not available: %s\n", strchr(term_clean(row->reason.text), ':')
						   ? strchr(row->reason.text, ':') + 2
						   : row->reason.text);
}

static void write_aliases(struct json_writer *w, const char *aliases)
{
	json_key(w, "aliases");
	json_begin_array(w);
	while (*aliases) {
		size_t n = strcspn(aliases, " ");

		json_string_n(w, aliases, n);
		aliases += n + (aliases[n] == ' ');
	}
	json_end_array(w);
}

static void write_row(struct json_writer *w, const struct row *row)
{
	static const char *const names[LANGUAGE_STAGES] = { "check", "build", "run" };

	json_begin_object(w);
	json_key_string(w, "name", row->language->name);
	write_aliases(w, row->language->aliases);
	json_key_string(w, "file", row->language->file);
	json_key_bool(w, "available", row->available);
	json_key_bool(w, "allowed", row->allowed);
	json_key(w, "programs");
	json_begin_object(w);
	for (int stage = 0; stage < LANGUAGE_STAGES; stage++) {
		if (row->programs[stage])
			json_key_string(w, names[stage], row->programs[stage]);
	}
	json_end_object(w);
	json_key_string(w, "reason", row->available ? NULL : row->reason.text);
	json_end_object(w);
}

static bool is_first(const struct languages *languages, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (strcmp(languages_at(languages, k)->name, languages_at(languages, i)->name) == 0)
			return false;
	}
	return true;
}

static void show(const struct languages *languages, const struct policy *policy, struct json_writer *w)
{
	const struct language *language;

	for (size_t i = 0; (language = languages_at(languages, i)) != NULL; i++) {
		struct row row = { .language = language };

		if (!is_first(languages, i))
			continue;
		look_up(languages, policy, &row);
		if (w)
			write_row(w, &row);
		else
			print_row(&row);
		for (int stage = 0; stage < LANGUAGE_STAGES; stage++)
			free(row.programs[stage]);
	}
}

/* As run refuses it: a root that is not there has no languages to tell of. */
static int check_view(const struct policy *policy, struct warder_error *err)
{
	const char *path = policy->filesystem.view_source;
	struct stat st;

	if (policy_validate(policy, err) != 0)
		return -1;
	if (policy->filesystem.view != POLICY_VIEW_DIRECTORY)
		return 0;
	if (stat(path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR))
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "filesystem.view",
		    "filesystem.view: \"%.200s\" does not exist on this host; create it or leave it out",
		    path);
	if (stat(path, &st) != 0)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "filesystem.view", errno,
				       "filesystem.view: %.200s", path);
	if (!S_ISDIR(st.st_mode))
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "filesystem.view",
		    "filesystem.view: %.200s is not a directory; name the directory that holds the root",
		    path);
	return 0;
}

static int show_json(const struct languages *languages, const struct policy *policy)
{
	struct json_writer w = { .pretty = true };
	char *text;

	json_begin_array(&w);
	show(languages, policy, &w);
	json_end_array(&w);
	text = json_take(&w);
	if (!text || file_write_all(1, text, strlen(text)) != 0 || file_write_all(1, "\n", 1) != 0) {
		term_complain("%s%s", text ? "standard output cannot be written: " : "out of memory",
			      text ? strerror(errno) : "");
		free(text);
		return EXIT_REFUSED;
	}
	free(text);
	return 0;
}

int languages_command(struct args *args, char **argv)
{
	struct languages *languages = NULL;
	struct warder_error err = { 0 };
	int status = 0;

	if (args->rest[0])
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "argv", "warder languages takes flags only");
	if (args->rest[0] ||
	    languages_load(code_languages_path(args->code.languages), &languages, &err) != 0 ||
	    args_load(FLAG_LANGUAGES, argv, args, &err) != 0 ||
	    check_view(&args->policy->policy, &err) != 0) {
		languages_free(languages);
		return command_refuse(args, &err, EXIT_REFUSED);
	}
	if (args->json)
		status = show_json(languages, &args->policy->policy);
	else
		show(languages, &args->policy->policy, NULL);
	languages_free(languages);
	return status;
}
