#include "runtime/library/reported_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define LANGUAGE_MAX 100

static int bad(const char *label, const char *member, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
			 "%s: the result has no valid \"%s\"; whether and how the code ran is not known",
			 label, member);
}

/* The text of our own that is the same; NULL: there is none. */
static const char *one_of(const char *const *known, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(known[i], text) == 0)
			return known[i];
	return NULL;
}

static uint64_t number(const struct json_value *object, const char *key, uint64_t otherwise)
{
	const struct json_value *value = json_member(object, key);

	return value && value->is_uint ? value->uint : otherwise;
}

/* A line for people. */
static void copy_line(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text);
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || *to == '\x7f')
			*to = '?';
}

static int take_stage(const struct json_value *row, const char *label, struct result_stage *to,
		      struct warder_error *err)
{
	static const char *const names[] = { "check", "build", "run" };
	static const char *const states[] = { "success", "failed", "timeout", "killed", "cached" };
	const struct json_value *receipt = json_member(row, "receipt");

	to->name = one_of(names, ARRAY_LENGTH(names), json_member_text(row, "name", ""));
	to->status = one_of(states, ARRAY_LENGTH(states), json_member_text(row, "status", ""));
	if (!to->name || !to->status)
		return bad(label, "stages", err);
	to->wall_us = number(row, "wallUs", UINT64_MAX);
	to->cpu_us = number(row, "cpuTimeUs", UINT64_MAX);
	to->memory_peak_bytes = number(row, "peakMemoryBytes", UINT64_MAX);
	if (!receipt)
		return 0;
	to->receipt = calloc(1, sizeof(*to->receipt));
	if (!to->receipt)
		return error_no_memory(err, NULL);
	return policy_receipt_read(receipt, label, to->receipt, err);
}

/* A stage that is not the code's own run is the last one only if it failed, or nothing else was asked for. */
static int take_stages(const struct json_value *document, const char *label, struct result_code *to,
		       struct warder_error *err)
{
	const struct json_value *stages = json_member(document, "stages");
	const struct result_stage *last;

	if (!stages || stages->type != JSON_ARRAY || !stages->child ||
	    json_length(stages) > RESULT_STAGES_MAX)
		return bad(label, "stages", err);
	for (const struct json_value *row = stages->child; row; row = row->next) {
		if (row->type != JSON_OBJECT)
			return bad(label, "stages", err);
		if (take_stage(row, label, &to->stages[to->stage_count++], err) < 0)
			return -1;
	}
	last = &to->stages[to->stage_count - 1];
	to->build_failed = strcmp(last->name, "run") != 0 && strcmp(last->status, "success") != 0;
	return 0;
}

static int take_diagnostics(const struct json_value *document, const char *label, struct result_code *to,
			    struct warder_error *err)
{
	const struct json_value *list = json_member(document, "diagnostics");
	const char *from = json_member_text(document, "diagnosticsFrom", NULL);

	if (!list || list->type != JSON_ARRAY)
		return bad(label, "diagnostics", err);
	to->diagnostics_of_run = from && strcmp(from, "program") == 0;
	to->diagnostics_dropped = (size_t)number(document, "diagnosticsDropped", 0);
	to->diagnostics_unreadable = (size_t)number(document, "diagnosticsUnreadable", 0);
	if (!from)
		return 0;
	to->diagnostics = json_text(list);
	return to->diagnostics ? 0 : error_no_memory(err, NULL);
}

static int fill(const struct json_value *document, const char *label, struct result_code *to,
		struct warder_error *err)
{
	static const char *const ways[] = { "hint", "fileName", "shebang", "fence", "content", "none" };
	const struct json_value *output = json_member(document, "output");
	const char *language = json_member_text(document, "language", "");

	to->found_by = one_of(ways, ARRAY_LENGTH(ways), json_member_text(document, "languageFoundBy", ""));
	if (!*language || strlen(language) > LANGUAGE_MAX)
		return bad(label, "language", err);
	if (!to->found_by)
		return bad(label, "languageFoundBy", err);
	to->language = strdup(language);
	if (!to->language)
		return error_no_memory(err, NULL);
	copy_line(to->output_fault, sizeof(to->output_fault), json_member_text(document, "outputError", ""));
	if (take_stages(document, label, to, err) < 0 || take_diagnostics(document, label, to, err) < 0)
		return -1;
	if (!output || output->type == JSON_NULL)
		return 0;
	to->output = json_text(output);
	return to->output ? 0 : error_no_memory(err, NULL);
}

int reported_code(const struct json_value *document, const char *label, struct result_code **ret,
		  struct warder_error *err)
{
	struct result_code *code = calloc(1, sizeof(*code));

	if (!code)
		return error_no_memory(err, NULL);
	if (fill(document, label, code, err) < 0) {
		result_code_free(code);
		return -1;
	}
	*ret = code;
	return 0;
}
