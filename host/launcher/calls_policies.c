/*
 * Questions about policies. Nothing is launched.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/launcher/call.h"
#include "policy/policy.h"
#include "runtime/library/explain.h"
#include "runtime/library/library.h"

/* ---- templates ---- */

static void write_policy(const char *key, const struct warder_policy *policy, struct json_writer *w)
{
	json_key(w, key);
	if (policy)
		policy_write(&policy->policy, w);
	else
		json_null(w);
}

int calls_policies(struct context *context, struct call *call, struct warder_error *err)
{
	const struct settings *settings = &context->launcher->settings;
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key(&w, "templates");
	json_begin_object(&w);
	for (size_t i = 0; i < settings->template_count; i++)
		write_policy(settings->templates[i].name, settings->templates[i].policy, &w);
	json_end_object(&w);
	/* Without a ceiling, a policy may ask for no more than the template that the request names. */
	write_policy("ceiling", context->tenant->ceiling ? context->tenant->ceiling : settings->ceiling, &w);
	json_end_object(&w);
	return call_say(context, call, json_take(&w), err);
}

/* ---- one policy ---- */

static void write_refusal(const struct warder_error *refused, struct json_writer *w)
{
	json_key(w, "refusal");
	if (!refused) {
		json_null(w);
		return;
	}
	json_begin_object(w);
	json_key_string(w, "kind", warder_error_kind_name(refused->code));
	json_key_string(w, "field", refused->field[0] ? refused->field : NULL);
	json_key_string(w, "message", refused->text);
	json_end_object(w);
}

static int say_checked(struct context *context, struct call *call, const struct warder_error *refused,
		       struct warder_error *err)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_bool(&w, "allowed", !refused);
	write_refusal(refused, &w);
	json_end_object(&w);
	return call_say(context, call, json_take(&w), err);
}

static int show(struct context *context, struct call *call, struct warder_error *err)
{
	return call_say(context, call, warder_policy_json(call->policy), err);
}

/* A thorough probe tries what a launch would try: it may take some time. */
static void explain_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	const struct policy *policy = &call->policy->policy;
	const struct preparation_options options = { .any_subject = true, .thorough = true };
	struct preparation preparation = { 0 };
	struct warder_error refused = { 0 };
	struct json_writer w = { 0 };
	const bool would_run = preparation_build(policy, &options, &preparation, &refused) == 0;

	json_begin_object(&w);
	explain_write_backend(&preparation, &w);
	json_key_bool(&w, "wouldRun", would_run);
	write_refusal(would_run ? NULL : &refused, &w);
	explain_write_fields(policy, &preparation, would_run ? NULL : &refused, &w);
	json_end_object(&w);
	preparation_done(&preparation);
	call->text = json_take(&w);
	call->answer.status = call->text ? 200 : 500;
	if (!call->text)
		error_no_memory(&call->answer.error, NULL);
}

int calls_policy(struct context *context, struct call *call, struct warder_error *err)
{
	static const char *const members[] = { "template", "policy", NULL };
	const uint64_t asked = context->request->value;
	struct warder_error refused = { 0 };
	int chosen;

	if (asked >= LINK_POLICY_ASKS)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "there is no such question");
	if (call_parse(context, call, members, err) < 0)
		return -1;
	chosen = call_choose_policy(context, call->document, &call->policy, &refused);
	if (asked == LINK_POLICY_CHECK)
		return say_checked(context, call, chosen < 0 ? &refused : NULL, err);
	if (chosen < 0) {
		*err = refused;
		return -1;
	}
	if (asked == LINK_POLICY_SHOW)
		return show(context, call, err);
	call->job.work = explain_work;
	call->job.finish = call_finish;
	jobs_add(&context->launcher->jobs, &call->job);
	return 0;
}
