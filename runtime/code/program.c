#include "runtime/code/program.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "runtime/library/preparation.h"

#define WASM_PAGE      65536u
#define WASM_PAGES_MAX 65536u
#define V8_HEAP        4096 /* MiB: what Node takes of a large memory */
#define V8_STACK       984u /* KiB; its default */

/* ---- command lines ---- */

/* A list that grows; after a failed allocation it stays failed. */
struct list {
	char **items;
	size_t count, capacity;
	bool failed;
};

/* Takes the text. */
static void append(struct list *list, char *text)
{
	if (text && !list->failed && list->count + 1 >= list->capacity) {
		size_t capacity = list->capacity ? 2 * list->capacity : 16;
		char **grown = reallocarray(list->items, capacity, sizeof(char *));

		if (grown) {
			list->items = grown;
			list->capacity = capacity;
		} else {
			list->failed = true;
		}
	}
	if (!text || list->failed) {
		list->failed = true;
		free(text);
		return;
	}
	list->items[list->count++] = text;
	list->items[list->count] = NULL;
}

void program_free_list(char **list)
{
	for (char **item = list; item && *item; item++)
		free(*item);
	free(list);
}

/* What a name in braces stands for; NULL: nothing. `buf` for those that are made. */
static const char *value_of(const struct warder_program *program, const char *name, size_t len,
			    const struct program_paths *paths, char *buf, size_t size)
{
	const uint64_t memory = program->policy.limits.memory_bytes;
	const uint64_t stack = program->policy.limits.stack_bytes;

	if (len == 8 && strncmp(name, "{source}", len) == 0) {
		/* Messages are shorter, and the same everywhere, where a name is enough. */
		snprintf(buf, size, "%s%s%s", program->in_box ? "" : paths->box, program->in_box ? "" : "/",
			 program->function ? program->harness.file : program->file);
		return buf;
	}
	if (len == 6 && strncmp(name, "{name}", len) == 0) {
		snprintf(buf, size, "%.*s", (int)strcspn(program->file, "."), program->file);
		return buf;
	}
	if (len == 8 && strncmp(name, "{memory}", len) == 0 && memory != POLICY_UNLIMITED) {
		snprintf(buf, size, "%llu", (unsigned long long)memory);
		return buf;
	}
	/* Node takes half of what it finds, but never less than 256 MiB of it. */
	if (len == 6 && strncmp(name, "{heap}", len) == 0 && memory != POLICY_UNLIMITED) {
		const uint64_t heap = memory >> 21;

		snprintf(buf, size, "%llu", (unsigned long long)(heap > V8_HEAP ? V8_HEAP : heap ? heap : 1));
		return buf;
	}
	if (len == 7 && strncmp(name, "{pages}", len) == 0 && memory != POLICY_UNLIMITED) {
		const uint64_t pages = memory / WASM_PAGE;

		snprintf(buf, size, "%llu",
			 (unsigned long long)(pages > WASM_PAGES_MAX ? WASM_PAGES_MAX
					      : pages                ? pages
								     : 1));
		return buf;
	}
	if (len == 7 && strncmp(name, "{stack}", len) == 0 && stack != POLICY_UNLIMITED) {
		const uint64_t most = stack / 1024 / 4 * 3; /* the rest is the engine's own */

		snprintf(buf, size, "%llu", (unsigned long long)(most < V8_STACK ? most : V8_STACK));
		return buf;
	}
	/* The harness takes three times as long to optimize as to compile. */
	if (len == 10 && strncmp(name, "{optimize}", len) == 0 && !program->function)
		return "-O";
	if (len == 5 && strncmp(name, "{out}", len) == 0)
		return paths->out;
	if (len == 9 && strncmp(name, "{support}", len) == 0) {
		snprintf(buf, size, "%s/" PROGRAM_SUPPORT, paths->tmp);
		return buf;
	}
	if (len == 6 && strncmp(name, "{code}", len) == 0)
		return program->files[0].bytes;
	return NULL;
}

static bool may_be_left_out(const char *name)
{
	static const char *const names[] = { "{memory}", "{heap}", "{pages}", "{stack}", "{optimize}" };

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Heap; NULL: it has no value, or (*ret_failed) there is no memory. */
static char *expand(const struct warder_program *program, const char *text, const struct program_paths *paths,
		    bool *ret_failed)
{
	char *expanded = strdup("");

	while (expanded && *text) {
		const char *brace = strchr(text, '{');
		const char *end = brace ? strchr(brace, '}') : NULL;
		size_t plain = brace == text && end ? (size_t)(end + 1 - text)
			       : brace              ? (size_t)(brace - text)
						    : strlen(text);
		const char *value = text;
		char buf[PATH_MAX];
		char *grown = NULL;
		int len = (int)plain;

		if (brace == text && end) {
			value = value_of(program, text, plain, paths, buf, sizeof(buf));
			if (!value && may_be_left_out(text)) {
				free(expanded);
				return NULL;
			}
			len = value ? (int)strlen(value) : (int)plain;
			value = value ? value : text; /* braces that mean nothing here */
		} else if (brace == text) {
			plain = strlen(text);
			len = (int)plain;
		}
		if (asprintf(&grown, "%s%.*s", expanded, len, value) < 0)
			grown = NULL;
		free(expanded);
		expanded = grown;
		text += plain;
	}
	*ret_failed |= !expanded;
	return expanded;
}

static void append_directory(struct list *list, const char *path)
{
	char *text = NULL;

	append(list, asprintf(&text, "--dir=%s", path) < 0 ? NULL : text);
}

/* By their names in the jail; without a root, by those of the host. */
static void append_directories(struct list *list, const struct warder_program *program)
{
	const struct policy *policy = &program->policy;
	const struct policy_strings *const lists[] = { &policy->filesystem.read_only,
						       &policy->filesystem.read_write };

	if (policy->filesystem.workspace != POLICY_WORKSPACE_NONE)
		append_directory(list, program->bare ? policy->filesystem.workspace_root : "/workspace");
	for (size_t i = 0; i < ARRAY_LENGTH(lists); i++)
		for (size_t k = 0; k < lists[i]->count; k++)
			append_directory(list, policy_path_target(lists[i]->items[k]));
}

void program_find_paths(const struct warder_program *program, enum language_stage stage, const char *tmp,
			struct program_paths *ret)
{
	snprintf(ret->tmp, sizeof(ret->tmp), "%s", tmp ? tmp : "/tmp");
	snprintf(ret->box, sizeof(ret->box), "%s/" PROGRAM_BOX, ret->tmp);
	if (stage != LANGUAGE_RUN || program->in_session)
		snprintf(ret->out, sizeof(ret->out), "%s/" PROGRAM_OUT, ret->tmp);
	else
		snprintf(ret->out, sizeof(ret->out), "%s",
			 program->bare ? program->entry.path : PREPARATION_PROGRAM);
}

char **program_argv(const struct warder_program *program, enum language_stage stage,
		    const struct program_paths *paths, char *const *args)
{
	const bool checks = stage == LANGUAGE_CHECK && program->function && program->harness.check;
	const char *const *row = checks ? program->harness.check : program->language->stages[stage];
	struct list list = { 0 };
	bool failed = false;

	for (size_t i = 0; row[i]; i++) {
		char *text;

		if (strcmp(row[i], "{args}") == 0) {
			for (char *const *arg = args; arg && *arg; arg++)
				append(&list, strdup(*arg));
			continue;
		}
		if (strcmp(row[i], "{directories}") == 0) {
			append_directories(&list, program);
			continue;
		}
		text = i == 0 && program->programs[stage] ? strdup(program->programs[stage])
							  : expand(program, row[i], paths, &failed);
		if (text)
			append(&list, text);
	}
	if (failed || list.failed || !list.items) {
		program_free_list(list.items);
		return NULL;
	}
	return list.items;
}

/* ---- environment ---- */

bool program_sets(const struct policy *policy, const char *name, size_t len)
{
	for (size_t i = 0; i < policy->environment.set_count; i++) {
		if (strncmp(policy->environment.set[i].name, name, len) == 0 &&
		    !policy->environment.set[i].name[len])
			return true;
	}
	for (size_t i = 0; i < policy->environment.names.count; i++) {
		if (strncmp(policy->environment.names.items[i], name, len) == 0 &&
		    !policy->environment.names.items[i][len])
			return true;
	}
	return false;
}

static void append_variable(struct list *list, const char *name, size_t len, const char *tmp,
			    const char *rest)
{
	char *text = NULL;

	append(list, asprintf(&text, "%.*s=%s%s", (int)len, name, tmp, rest) < 0 ? NULL : text);
}

/* What the row sets below /tmp, and neither the policy nor the caller has set to something else. */
static void append_row(struct list *list, const struct policy *policy, const char *const *variables,
		       const char *tmp)
{
	for (; variables && *variables; variables++) {
		const char *value = strchr(*variables, '=') + 1;
		const size_t len = (size_t)(value - 1 - *variables);

		for (size_t i = 0; i < policy->environment.set_count; i++) {
			const struct policy_variable *set = &policy->environment.set[i];

			if (strncmp(value, "/tmp/", 5) == 0 && strlen(set->name) == len &&
			    strncmp(set->name, *variables, len) == 0 && strcmp(set->value, value) == 0)
				append_variable(list, set->name, len, tmp, value + 4);
		}
	}
}

char **program_environment(const struct warder_program *program, const struct policy *policy,
			   const struct program_paths *paths)
{
	static const char *const own[] = { "HOME", "TMPDIR" }; /* /tmp in every jail */
	struct list list = { .items = calloc(1, sizeof(char *)), .capacity = 1 };

	if (!program->bare)
		return list.items;
	for (size_t i = 0; i < ARRAY_LENGTH(own); i++) {
		if (policy->environment.mode != POLICY_ENVIRONMENT_HOST &&
		    !program_sets(policy, own[i], strlen(own[i])))
			append_variable(&list, own[i], strlen(own[i]), paths->tmp, "");
	}
	append_row(&list, policy, program->language->environment, paths->tmp);
	append_row(&list, policy, program->language->build_environment, paths->tmp);
	if (list.failed) {
		program_free_list(list.items);
		return NULL;
	}
	return list.items;
}

/* ---- report ---- */

struct result_code *program_report(const struct warder_program *program)
{
	struct result_code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	code->language = strdup(program->language->name);
	code->found_by = program->found_by;
	code->diagnostics = program->diagnostics ? strdup(program->diagnostics) : NULL;
	code->diagnostics_dropped = program->found.dropped;
	code->diagnostics_unreadable = program->found.unreadable;
	code->scan = program->scan ? strdup(program->scan) : NULL;
	code->build_failed = program->failed;
	for (size_t i = 0; i < program->stage_count; i++) {
		const struct result_stage *stage = &program->stages[i];

		code->stages[i] = *stage;
		code->stages[i].receipt = stage->receipt ? malloc(sizeof(*stage->receipt)) : NULL;
		code->stage_count++;
		if (stage->receipt && code->stages[i].receipt)
			*code->stages[i].receipt = *stage->receipt;
		else if (stage->receipt)
			break;
	}
	if (code->language && (code->diagnostics || !program->diagnostics) &&
	    (code->scan || !program->scan) && code->stage_count == program->stage_count)
		return code;
	result_code_free(code);
	return NULL;
}

/* ---- life ---- */

void program_hold(struct warder_program *program)
{
	atomic_fetch_add(&program->users, 1);
}

static void free_files(struct warder_program *program)
{
	for (size_t i = 0; i < program->file_count; i++) {
		free((char *)(uintptr_t)program->files[i].path);
		free((char *)(uintptr_t)program->files[i].bytes);
	}
	free(program->files);
}

void warder_program_free(struct warder_program *program)
{
	if (!program || atomic_fetch_sub(&program->users, 1) > 1)
		return;
	warder_template_free(program->tmpl);
	cache_release(&program->cache, &program->entry);
	cache_done(&program->cache);
	for (int stage = 0; stage < LANGUAGE_STAGES; stage++)
		free(program->programs[stage]);
	for (size_t i = 0; i < program->stage_count; i++)
		free(program->stages[i].receipt);
	free(program->diagnostics);
	diagnostics_done(&program->found);
	free(program->scan);
	warder_result_free(program->built);
	policy_done(&program->policy);
	free_files(program);
	languages_free(program->languages);
	free(program);
}

int warder_program_failed(const struct warder_program *program)
{
	return program && program->failed;
}

const char *warder_program_language(const struct warder_program *program)
{
	return program ? program->language->name : NULL;
}

struct warder_result *warder_program_result(struct warder_program *program)
{
	struct warder_result *result = program ? program->built : NULL;

	if (result)
		program->built = NULL;
	return result;
}
