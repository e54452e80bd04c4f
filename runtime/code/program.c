#include "runtime/code/program.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/code/rust_source.h"

#define WASM_PAGE      65536u
#define WASM_PAGES_MAX 65536u
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
			    const char *out, char *buf, size_t size)
{
	const uint64_t memory = program->policy.limits.memory_bytes;
	const uint64_t stack = program->policy.limits.stack_bytes;

	if (len == 8 && strncmp(name, "{source}", len) == 0) {
		/* Messages are shorter, and the same everywhere, where a name is enough. */
		snprintf(buf, size, "%s%s", program->in_box ? "" : "/tmp/" PROGRAM_BOX "/",
			 program->function ? RUST_HARNESS_FILE : program->file);
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
		return out;
	if (len == 9 && strncmp(name, "{support}", len) == 0)
		return "/tmp/" PROGRAM_SUPPORT;
	if (len == 6 && strncmp(name, "{code}", len) == 0)
		return program->files[0].bytes;
	return NULL;
}

static bool may_be_left_out(const char *name)
{
	static const char *const names[] = { "{memory}", "{pages}", "{stack}", "{optimize}" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Heap; NULL: it has no value, or (*ret_failed) there is no memory. */
static char *expand(const struct warder_program *program, const char *text, const char *out, bool *ret_failed)
{
	char *expanded = strdup("");

	while (expanded && *text) {
		const char *brace = strchr(text, '{');
		const char *end = brace ? strchr(brace, '}') : NULL;
		size_t plain = brace == text && end ? (size_t)(end + 1 - text)
			       : brace              ? (size_t)(brace - text)
						    : strlen(text);
		const char *value = text;
		char buf[512];
		char *grown = NULL;
		int len = (int)plain;

		if (brace == text && end) {
			value = value_of(program, text, plain, out, buf, sizeof(buf));
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

static void append_directories(struct list *list, const struct policy *policy)
{
	const struct policy_strings *const lists[] = { &policy->filesystem.read_only,
						       &policy->filesystem.read_write };

	if (policy->filesystem.workspace != POLICY_WORKSPACE_NONE)
		append_directory(list, "/workspace");
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (size_t k = 0; k < lists[i]->count; k++) {
			const char *place = policy_path_place(lists[i]->items[k]);

			append_directory(list, place ? place : lists[i]->items[k]);
		}
}

char **program_argv(const struct warder_program *program, enum language_stage stage, const char *out,
		    char *const *args)
{
	const char *const *row = program->language->stages[stage];
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
			append_directories(&list, &program->policy);
			continue;
		}
		text = i == 0 && program->programs[stage] ? strdup(program->programs[stage])
							  : expand(program, row[i], out, &failed);
		if (text)
			append(&list, text);
	}
	if (failed || list.failed || !list.items) {
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
