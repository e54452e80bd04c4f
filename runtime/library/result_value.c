/*
 * result_value: what a piece of code hands over on its descriptor 3, or prints as its last line.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "runtime/library/result.h"

/* Canonical text of a JSON value, without line breaks; heap. NULL with *err. */
static char *canonical(const char *text, size_t len, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = len + 1, .max_depth = RESULT_VALUE_DEPTH };
	struct json_value *value = NULL;
	char *out;

	if (json_parse(text, len, "result", &limits, &value, err) != 0)
		return NULL;
	out = json_text(value);
	json_free(value);
	if (!out)
		error_no_memory(err, NULL);
	return out;
}

/* The last line of what was printed, if it is a JSON value: it is taken out of the output. */
static void take_last_line(struct result_code *code, struct jail_output *output)
{
	size_t end = output->len, start;
	struct warder_error fault;

	if (output->truncated || !output->bytes)
		return;
	while (end && output->bytes[end - 1] && strchr(" \t\r\n", output->bytes[end - 1]))
		end--;
	for (start = end; start && output->bytes[start - 1] != '\n'; start--)
		;
	if (start == end)
		return;
	code->output = canonical(output->bytes + start, end - start, &fault);
	if (!code->output)
		return;
	output->len = start ? start - 1 : 0;
	output->bytes[output->len] = '\0';
}

static void tell_ending(const char *words, struct result_code *code, struct jail_outcome *outcome)
{
	static const char trap[] = "trap: ", refused[] = "refused: ";

	if (strncmp(words, trap, sizeof(trap) - 1) == 0) {
		snprintf(code->trap, sizeof(code->trap), "%s", words + sizeof(trap) - 1);
		snprintf(outcome->detail, sizeof(outcome->detail), "the module trapped: %s", code->trap);
	} else if (strncmp(words, refused, sizeof(refused) - 1) == 0) {
		snprintf(outcome->detail, sizeof(outcome->detail), "the engine does not take the module: %s",
			 words + sizeof(refused) - 1);
	}
}

/* Take away the first bytes, for which there was room besides. */
static void behead(struct jail_output *given, size_t count, uint64_t limit)
{
	given->len -= count;
	given->total -= count;
	memmove(given->bytes, given->bytes + count, given->len);
	if (given->len > limit)
		given->len = limit;
	given->truncated = given->total > limit;
	given->bytes[given->len] = '\0';
}

/* What the host of wasi.h tells before any byte of the module's, between two NUL bytes; without that there is no result. */
static void take_ending(const struct result_value_rules *rules, struct result_code *code,
			struct jail_outcome *outcome)
{
	struct jail_output *given = &outcome->output[JAIL_RESULT];
	char *words = given->len ? given->bytes + 1 : NULL;
	const char *end = words && !given->bytes[0] ? memchr(words, '\0', given->len - 1) : NULL;

	if (!rules->is_engine)
		return;
	if (!end) {
		given->len = 0;
		given->truncated = false;
		return;
	}
	for (char *c = words; *c; c++) /* a module may have a part in the words */
		*c = *c >= 0x20 && *c < 0x7f ? *c : '?';
	if (outcome->cause == JAIL_CAUSE_EXIT)
		tell_ending(words, code, outcome);
	behead(given, (size_t)(end + 1 - given->bytes), rules->bytes);
}

void result_take_value(const struct result_value_rules *rules, struct result_code *code,
		       struct jail_outcome *outcome)
{
	const struct jail_output *given = &outcome->output[JAIL_RESULT];
	struct warder_error fault = { 0 };

	take_ending(rules, code, outcome);
	if (given->truncated)
		snprintf(code->output_fault, sizeof(code->output_fault),
			 "the result of %llu bytes is larger than its limit of %zu",
			 (unsigned long long)given->total, given->len);
	else if (given->len) {
		code->output = canonical(given->bytes, given->len, &fault);
		if (!code->output)
			snprintf(code->output_fault, sizeof(code->output_fault), "no JSON: %.160s",
				 fault.text);
	} else if (rules->last_line) {
		take_last_line(code, &outcome->output[JAIL_STDOUT]);
	}
}

void result_add_run(struct warder_result *result, struct result_code *code)
{
	struct result_stage *stage = &code->stages[code->stage_count++];

	*stage = (struct result_stage){ .name = "run",
					.status = warder_result_status(result),
					.wall_us = warder_result_wall_us(result),
					.cpu_us = result->outcome.cpu_us,
					.memory_peak_bytes = result->outcome.memory_peak_bytes };
	result->code = code;
}
