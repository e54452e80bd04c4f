#include "runtime/judge/batch.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- limits ---- */

/* Whether it can be one is seen when it is set in a policy. */
static int read_amount(struct decoder *d, const struct json_value *value, void *into)
{
	if (value->type != JSON_STRING && value->type != JSON_NUMBER)
		return decode_refuse(d, value, "%s where a number or a string is expected",
				     json_type_name(value->type));
	*(const char **)into = value->string;
	return 0;
}

static int read_limits(struct decoder *d, const struct json_value *value, void *into)
{
	static const struct decode_row rows[] = {
		{ "timeout", read_amount, false, offsetof(struct batch_limits, timeout) },
		{ "cpuTime", read_amount, false, offsetof(struct batch_limits, cpu_time) },
		{ "memory", read_amount, false, offsetof(struct batch_limits, memory) },
		{ NULL, NULL, false },
	};

	return decode_object(d, value, rows, into);
}

static int read_how(struct decoder *d, const struct json_value *value, void *into)
{
	const char *text = NULL;

	if (decode_text(d, value, &text) != 0)
		return -1;
	return compare_parse(text, into, d->err) == 0 ? 0 : decode_locate(d, value);
}

/* ---- a case ---- */

static int read_args(struct decoder *d, const struct json_value *value, void *into)
{
	return decode_texts(d, value, BATCH_MAX_ARGS, into);
}

static int read_case_compare(struct decoder *d, const struct json_value *value, void *into)
{
	struct batch_case *one = into;

	one->has_how = true;
	return read_how(d, value, &one->how);
}

static int read_case(struct decoder *d, const struct json_value *value, void *into)
{
	static const struct decode_row rows[] = {
		{ "name", decode_row_text, false, offsetof(struct batch_case, name) },
		{ "stdin", decode_row_text, false, offsetof(struct batch_case, input) },
		{ "args", read_args, false, offsetof(struct batch_case, args) },
		{ "expected", decode_row_text, false, offsetof(struct batch_case, expected) },
		{ "compare", read_case_compare, false },
		{ "timeout", read_amount, false, offsetof(struct batch_case, limits.timeout) },
		{ "cpuTime", read_amount, false, offsetof(struct batch_case, limits.cpu_time) },
		{ "memory", read_amount, false, offsetof(struct batch_case, limits.memory) },
		{ NULL, NULL, false },
	};
	struct batch *batch = into;
	struct batch_case *one = &batch->cases[batch->case_count++];

	if (decode_object(d, value, rows, one) != 0)
		return -1;
	if (one->has_how && one->how.mode != COMPARE_NONE && !one->expected)
		return decode_refuse(d, value, "there is nothing to compare with; give \"expected\"");
	return 0;
}

static int read_cases(struct decoder *d, const struct json_value *value, void *into)
{
	struct batch *batch = into;
	const size_t count = decode_count(value);

	if (value->type == JSON_ARRAY && count == 0)
		return decode_refuse(d, value, "there is no case to judge by");
	if (count <= BATCH_MAX_CASES) {
		batch->cases = calloc(count + 1, sizeof(*batch->cases));
		if (!batch->cases)
			return error_no_memory(d->err, NULL);
	}
	return decode_array(d, value, BATCH_MAX_CASES, read_case, batch);
}

/* ---- the document ---- */

static int read_parallel(struct decoder *d, const struct json_value *value, void *into)
{
	struct batch *batch = into;

	if (value->type != JSON_NUMBER || !value->is_uint || value->uint == 0 ||
	    value->uint > BATCH_MAX_PARALLEL)
		return decode_refuse(d, value, "a number from 1 to %d is expected", BATCH_MAX_PARALLEL);
	batch->parallel = (unsigned)value->uint;
	return 0;
}

static int pass_over(struct decoder *d, const struct json_value *value, void *into)
{
	return 0;
}

#define ROWS                                                                                                 \
	SNIPPET_ROWS, { "limits", read_limits, false, offsetof(struct batch, limits) },                      \
	    { "compare", read_how, false, offsetof(struct batch, how) }, { "cases", read_cases, true },      \
	    { "stopOnFirstFailure", decode_row_bool, false, offsetof(struct batch, stop) },                  \
	{                                                                                                    \
		"parallel", read_parallel, false                                                             \
	}

static const struct decode_row rows[] = { ROWS, { NULL, NULL, false } };
static const struct decode_row hosted_rows[] = {
	ROWS,
	{ "template", pass_over, false },
	{ "policy", pass_over, false },
	{ "artifacts", pass_over, false },
	{ "idempotencyKey", pass_over, false },
	{ NULL, NULL, false },
};

static int decode(const char *text, size_t len, const struct decode_row *by, struct batch *ret,
		  struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = BATCH_MAX, .max_values = BATCH_MAX_VALUES };
	struct decoder d = { .origin = "batch", .err = err };

	*ret = (struct batch){ .how = { .mode = COMPARE_LINES } };
	if (json_parse(text, len, d.origin, &limits, &ret->document, err) != 0 ||
	    decode_object(&d, ret->document, by, ret) != 0)
		return -1;
	for (size_t i = 0; i < ret->case_count; i++) {
		struct batch_case *one = &ret->cases[i];

		if (!one->has_how && one->expected)
			one->how = ret->how;
	}
	return snippet_finish(&d, ret->document, &ret->snippet);
}

int batch_decode(const char *text, size_t len, struct batch *ret, struct warder_error *err)
{
	return decode(text, len, rows, ret, err);
}

int batch_decode_hosted(const char *text, size_t len, struct batch *ret, struct warder_error *err)
{
	return decode(text, len, hosted_rows, ret, err);
}

void batch_free(struct batch *batch)
{
	for (size_t i = 0; i < batch->case_count; i++)
		free(batch->cases[i].args);
	free(batch->cases);
	snippet_done(&batch->snippet);
	json_free(batch->document);
	*batch = (struct batch){ 0 };
}

const char *batch_name(const struct batch *batch, size_t index, char buf[BATCH_NUMBER])
{
	const char *name = batch->cases[index].name;

	snprintf(buf, BATCH_NUMBER, "%zu", index + 1);
	return name ? name : buf;
}

/* ---- the policy of a case ---- */

static int set_limit(struct policy *policy, const char *path, const char *own, const char *common,
		     struct warder_error *err)
{
	const char *text = own ? own : common;

	return text ? policy_set(policy, path, text, err) : 0;
}

int batch_policy(const struct batch *batch, size_t index, const struct policy *base, struct policy *ret,
		 struct warder_error *err)
{
	const struct batch_limits *own = &batch->cases[index].limits, *common = &batch->limits;
	struct policy policy = { 0 };
	char field[sizeof(err->field)];

	if (policy_copy(base, &policy, err) == 0 &&
	    set_limit(&policy, "workingDirectory", batch->snippet.working_directory, NULL, err) == 0 &&
	    set_limit(&policy, "limits.wallTime", own->timeout, common->timeout, err) == 0 &&
	    set_limit(&policy, "limits.cpuTime", own->cpu_time, common->cpu_time, err) == 0 &&
	    set_limit(&policy, "limits.memory", own->memory, common->memory, err) == 0 &&
	    policy_validate(&policy, err) == 0 && policy_check_ceiling(base, &policy, err) == 0) {
		*ret = policy;
		return 0;
	}
	policy_done(&policy);
	snprintf(field, sizeof(field), "cases[%zu] %.50s", index, err->field);
	strcpy(err->field, field);
	return error_context(err, "cases[%zu]", index);
}

/* Each case has a jail of its own, and a port of the host leads to one of them at a time. */
static int check_ports(const struct batch *batch, const struct policy *base, unsigned parallel,
		       struct warder_error *err)
{
	const struct policy_published *list = &base->network.publish;
	char field[sizeof(err->field)];

	if (!list->count)
		return 0;
	snprintf(field, sizeof(field), "network.publish[0]");
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].host_port != 0)
			continue;
		snprintf(field, sizeof(field), "network.publish[%zu]", i);
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "%s: judge does not report the port that Warder picks for each case; "
				 "name a port of the host instead of 0",
				 field);
	}
	if (batch->case_count > 1 && parallel > 1)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, field,
		    "%s: %u cases run at the same time, and port %u of the host can lead to only "
		    "one of them; add --parallel 1",
		    field, parallel, list->items[0].host_port);
	return 0;
}

int batch_check(const struct batch *batch, const struct policy *base, unsigned parallel,
		struct warder_error *err)
{
	if (check_ports(batch, base, parallel, err) != 0)
		return -1;
	for (size_t i = 0; i < batch->case_count; i++) {
		struct policy policy = { 0 };

		if (batch_policy(batch, i, base, &policy, err) != 0)
			return -1;
		policy_done(&policy);
	}
	return 0;
}
