#include "runtime/code/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/code/code.h"
#include "base/array.h"
#include "base/text.h"
#include "runtime/code/code.h"
#include "runtime/code/java_source.h"
#include "runtime/code/program.h"

/* The stages that are needed to run it. A check finds nothing that the build or the run does not find. */
static const enum language_stage needed[] = { LANGUAGE_BUILD, LANGUAGE_RUN };

static bool executes_what_it_built(const struct language *row)
{
	return strncmp(row->stages[LANGUAGE_RUN][0], "{out}", strlen("{out}")) == 0;
}

/* NULL: nothing is in the way. */
static const char *find_obstacle(const struct policy *policy, const struct language *row)
{
	if (row->is_engine)
		return "its source is no text";
	if (executes_what_it_built(row) && !policy->filesystem.tmp_exec)
		return "the policy lets no program be executed in /tmp (filesystem.tmpExec)";
	for (size_t i = 0; i < ARRAY_LENGTH(needed); i++)
		if (row->stages[needed[i]] && (row->spawns & LANGUAGE_BIT(needed[i])) &&
		    !policy->processes.spawn)
			return "its compiler starts processes, which the policy does not allow "
			       "(processes.spawn)";
	return NULL;
}

bool code_steps_can(const struct policy *policy, const struct languages *languages, const char *language)
{
	const struct language *row = NULL;
	char *programs[LANGUAGE_STAGES] = { NULL };
	struct warder_error ignored;
	const bool can = language_resolve(languages, language, policy, &row, programs, &ignored) == 0 &&
			 !find_obstacle(policy, row);

	for (int stage = 0; stage < LANGUAGE_STAGES; stage++)
		free(programs[stage]);
	return can;
}

static int check(const struct policy *policy, const struct language *row, size_t len,
		 struct warder_error *err)
{
	const char *obstacle = find_obstacle(policy, row);
	char most[32];

	if (!policy_allows_language(policy, row->name))
		return error_set(err, WARDER_ERROR_REJECTED, "languages",
				 "languages: the policy does not allow %s; use a language that it allows",
				 row->name);
	if (obstacle)
		return error_set(err, WARDER_ERROR_UNSUPPORTED_LANGUAGE, "language",
				 "%s cannot run in this session: %s; use another language", row->name,
				 obstacle);
	if (len > policy->limits.code_bytes)
		return error_set(err, WARDER_ERROR_REJECTED, "limits.code",
				 "limits.code: the code has %zu bytes, and the policy allows %s; shorten it",
				 len, policy_format_size(policy->limits.code_bytes, most, sizeof(most)));
	return 0;
}

static void name_file(const struct language *row, const char *source, char *ret, size_t size)
{
	char class[104];

	snprintf(ret, size, "%s", row->file);
	if (row->naming == LANGUAGE_NAMING_JAVA && java_class(source, strlen(source), class, sizeof(class)))
		snprintf(ret, size, "%s.java", class);
}

/* Variables of the row that the policy does not set itself. */
static char **make_environment(const struct policy *policy, const struct language *row)
{
	const char *const *const lists[] = { row->environment, row->build_environment };
	size_t count = 0;
	char **made;

	for (size_t i = 0; i < ARRAY_LENGTH(lists); i++)
		count += lists[i] ? text_count((char *const *)lists[i]) : 0;
	made = calloc(count + 1, sizeof(*made));
	count = 0;
	for (size_t i = 0; made && i < ARRAY_LENGTH(lists); i++)
		for (const char *const *item = lists[i]; item && *item; item++) {
			if (program_sets(policy, *item, strcspn(*item, "=")))
				continue;
			made[count] = strdup(*item);
			if (!made[count++]) {
				program_free_list(made);
				return NULL;
			}
		}
	return made;
}

static int make(const struct warder_program *program, const char *directory, char *const *args,
		struct code_steps *ret, struct warder_error *err)
{
	struct program_paths paths = { 0 };

	snprintf(paths.tmp, sizeof(paths.tmp), "%s", directory);
	snprintf(paths.box, sizeof(paths.box), "%s", directory);
	snprintf(paths.out, sizeof(paths.out), "%s/" CODE_STEPS_OUT, directory);
	for (size_t i = 0; i < ARRAY_LENGTH(needed); i++) {
		const enum language_stage stage = needed[i];

		if (!program->language->stages[stage])
			continue;
		ret->argv[stage] = program_argv(program, stage, &paths, stage == LANGUAGE_RUN ? args : NULL);
		if (!ret->argv[stage])
			return error_no_memory(err, "code");
	}
	ret->environment = make_environment(&program->policy, program->language);
	return ret->environment ? 0 : error_no_memory(err, "code");
}

int code_steps(const struct policy *policy, const char *language, const char *source, const char *directory,
	       char *const *args, struct code_steps *ret, struct warder_error *err)
{
	struct rootfs_file file = { .bytes = source, .len = strlen(source) };
	struct warder_program program = { .policy = *policy, .files = &file, .file_count = 1 };
	int status;

	*ret = (struct code_steps){ 0 };
	if (languages_load(code_languages_path(NULL), &program.languages, err) != 0)
		return -1;
	status =
	    language_resolve(program.languages, language, policy, &program.language, program.programs, err);
	if (status == 0)
		status = check(policy, program.language, file.len, err);
	if (status == 0) {
		name_file(program.language, source, program.file, sizeof(program.file));
		snprintf(ret->file, sizeof(ret->file), "%s", program.file);
		ret->format = (int)program.language->diagnostics;
		status = make(&program, directory, args, ret, err);
	}
	for (int stage = 0; stage < LANGUAGE_STAGES; stage++)
		free(program.programs[stage]);
	languages_free(program.languages);
	return status;
}

char *code_steps_render(const struct code_steps *steps, const char *text, size_t len)
{
	struct diagnostics list = { 0 };
	struct warder_error ignored;
	char *rendered = NULL;
	size_t size = 0;
	FILE *to = NULL;

	if (steps->format != DIAGNOSTICS_PLAIN &&
	    diagnostics_parse((enum diagnostics_format)steps->format, text, len, &list, &ignored) == 0 &&
	    list.count && !list.unreadable)
		to = open_memstream(&rendered, &size);
	for (size_t i = 0; to && i < list.count; i++)
		if (!list.items[i].attached && list.items[i].rendered)
			fprintf(to, "%s\n", list.items[i].rendered);
	diagnostics_done(&list);
	if (!to || (fclose(to) == 0 && size))
		return rendered;
	free(rendered);
	return NULL;
}

void code_steps_done(struct code_steps *steps)
{
	for (int stage = 0; stage < LANGUAGE_STAGES; stage++)
		program_free_list(steps->argv[stage]);
	program_free_list(steps->environment);
	*steps = (struct code_steps){ 0 };
}
