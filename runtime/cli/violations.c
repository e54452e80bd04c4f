#include "runtime/cli/violations.h"

#include <string.h>

#include "base/json.h"
#include "runtime/cli/term.h"
#include "runtime/library/preparation.h"

void violations_visit(const struct args *args,
		      void (*found)(void *context, const struct policy_violation *violation), void *context)
{
	const struct policy *policy = &args->policy->policy;
	owned_policy struct policy real = { 0 };
	struct warder_error ignored;
	const bool followed = preparation_follow(policy, &real, &ignored) == 0;

	policy_violations(args->ceiling ? &args->ceiling->policy : NULL, policy, followed ? &real : NULL,
			  found, context);
}

/* An error may have got a context in front of the violation's text, and has another one in front of a link's. */
static bool is_said(const char *text, const char *of)
{
	static const char behind[] = POLICY_BEHIND_LINK ": ";
	const size_t whole = strlen(text);
	size_t length;

	if (strncmp(of, behind, sizeof(behind) - 1) == 0)
		of += sizeof(behind) - 1;
	length = strlen(of);
	return length <= whole && strcmp(text + whole - length, of) == 0;
}

static void keep_first(void *context, const struct policy_violation *violation)
{
	struct warder_error *first = context;

	if (first->code == WARDER_ERROR_NONE)
		*first = violation->error;
}

bool violations_explain(const struct args *args, const struct warder_error *err)
{
	struct warder_error first = { 0 };

	if (err->code != WARDER_ERROR_REJECTED || !args->ceiling || !args->policy)
		return false;
	violations_visit(args, keep_first, &first);
	return first.code != WARDER_ERROR_NONE && is_said(err->text, first.text);
}

static void print_next(void *context, const struct policy_violation *violation)
{
	size_t *seen = context;

	if ((*seen)++ > 0)
		term_error(&violation->error);
}

void violations_print(const struct args *args)
{
	size_t seen = 0;

	violations_visit(args, print_next, &seen);
}

static void write_one(void *context, const struct policy_violation *violation)
{
	policy_write_violation(violation, context);
}

void violations_write(const struct args *args, struct json_writer *w)
{
	json_begin_array(w);
	violations_visit(args, write_one, w);
	json_end_array(w);
}

char *violations_json(const struct args *args, const struct warder_error *err)
{
	struct json_writer w = { 0 };

	if (!violations_explain(args, err))
		return NULL;
	violations_write(args, &w);
	return json_take(&w);
}
