/*
 * Changes of a sandbox: its end, pause and resume, the rules for its network. The record is written first or last, so that a launcher that
 * dies meanwhile leaves a sandbox that the next one can handle.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "host/launcher/call.h"
#include "host/launcher/narrow.h"
#include "host/launcher/state.h"
#include "policy/policy.h"
#include "runtime/library/library.h"
#include "runtime/session/records.h"
#include "runtime/session/session.h"

/* The record with the new end is written by a job; until then the old one holds, should the launcher die. */
static void record_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;

	call->answer.status = 204;
	if (state_write(call->sandboxes_fd, call->sandbox, call->record, &call->answer.error) < 0)
		call->answer.status = 503;
}

/* When a sandbox ends that lives for so many seconds more. */
static int find_end(const struct sandbox *sandbox, uint64_t value_s, uint64_t *ret_ms,
		    struct warder_error *err)
{
	const uint64_t now_ms = clock_wall_ms();

	if (value_s > SANDBOX_LIFETIME_MS / 1000 ||
	    now_ms + value_s * 1000 > sandbox->created_ms + SANDBOX_LIFETIME_MS)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "timeout",
				 "a sandbox lives for 24 hours at most, from its creation on");
	*ret_ms = now_ms + value_s * 1000;
	return 0;
}

/* The record says "paused" before the sandbox is, and until it is not: so a launcher that dies meanwhile leaves a sandbox that can be
 * resumed. */
static void pause_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	struct warder_error *err = &call->answer.error;
	struct warder_error ignored;

	call->answer.status = 204;
	if (state_write(call->sandboxes_fd, call->sandbox, call->record, err) == 0) {
		if (remote_pause(call->sandbox, true, err) == 0)
			return;
		state_write(call->sandboxes_fd, call->sandbox, call->old_record, &ignored);
	}
	call->answer.status = link_status(err->code);
}

int call_describe_session(const char *id, struct json_value **ret, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX };
	struct warder_session *session = NULL;
	char *text;
	int done;

	if (warder_session_open(id, &session, err) < 0)
		return -1;
	text = warder_session_json(session);
	warder_session_free(session);
	done = text ? json_parse(text, strlen(text), id, &limits, ret, err) : error_no_memory(err, NULL);
	free(text);
	return done;
}

static bool is_paused(const char *id)
{
	struct json_value *document = NULL;
	struct warder_error ignored;
	const struct json_value *paused = NULL;
	bool ret;

	if (call_describe_session(id, &document, &ignored) == 0)
		paused = json_member(document, "paused");
	ret = !paused || paused->type != JSON_BOOL || paused->boolean;
	json_free(document);
	return ret;
}

static void resume_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	struct warder_error *err = &call->answer.error;

	call->answer.status = 204;
	/* CONFLICT: it is not paused, as a pause was interrupted; or its files are being copied. */
	if (remote_pause(call->sandbox, false, err) < 0 &&
	    (err->code != WARDER_ERROR_CONFLICT || is_paused(call->sandbox))) {
		call->answer.status = link_status(err->code);
		return;
	}
	memset(err, 0, sizeof(*err));
	if (state_write(call->sandboxes_fd, call->sandbox, call->record, err) < 0)
		call->answer.status = 503;
}

static void change_finish(struct job *job, void *of)
{
	struct call *call = (struct call *)(void *)job;
	struct launcher *launcher = of;
	struct sandbox *sandbox = sandboxes_find(&launcher->sandboxes, call->sandbox);

	if (sandbox)
		sandbox->changing = sandbox->changes_end = false;
	/* It may have been ended meanwhile. */
	if (call->answer.status == 204 && (!sandbox || sandbox->state != SANDBOX_RUNNING)) {
		call->answer.status = 404;
		error_set(&call->answer.error, WARDER_ERROR_NOT_FOUND, "id", "sandbox %s does not run",
			  call->sandbox);
	} else if (sandbox) {
		if (call->answer.status == 204 && call->rules) {
			free(sandbox->policy);
			sandbox->policy = call->rules;
			sandbox->network_mode = call->policy->policy.network.mode;
			call->rules = NULL;
		} else if (call->answer.status == 204) {
			sandbox->paused_ms = call->paused_ms;
			if (sandbox->ends_ms) /* else it must end */
				sandbox->ends_ms = call->ends_ms;
		}
	}
	call_finish(job, launcher);
}

/* The record of a sandbox as if it were paused since then, and ended then. */
static char *record_with(const struct sandbox *sandbox, uint64_t paused_ms, uint64_t ends_ms)
{
	struct sandbox other = *sandbox;

	other.paused_ms = paused_ms;
	other.ends_ms = ends_ms;
	return sandbox_record(&other);
}

static int change(struct context *context, struct call *call, uint64_t paused_ms, uint64_t ends_ms,
		  void (*work)(struct job *job), struct warder_error *err)
{
	struct sandbox *sandbox = context->sandbox;

	call->paused_ms = paused_ms;
	call->ends_ms = ends_ms;
	call->record = record_with(sandbox, paused_ms, ends_ms);
	call->old_record = sandbox_record(sandbox);
	if (!call->record || !call->old_record)
		return error_no_memory(err, NULL);
	sandbox->changing = sandbox->changes_end = true;
	call->job.changes = call->sandbox;
	call->job.work = work;
	call->job.finish = change_finish;
	jobs_add(&context->launcher->jobs, &call->job);
	return 0;
}

int calls_timeout(struct context *context, struct call *call, struct warder_error *err)
{
	const struct sandbox *sandbox = context->sandbox;
	uint64_t ends_ms = 0;

	if (call_need_running(sandbox, call, err) < 0)
		return -1;
	if (sandbox->changing)
		return call_refuse_changing(sandbox, err);
	if (sandbox->paused_ms)
		return error_set(err, WARDER_ERROR_CONFLICT, "id",
				 "sandbox %s is paused; resume it with the new time", sandbox->id);
	return find_end(sandbox, context->request->value, &ends_ms, err) < 0 ||
		       change(context, call, 0, ends_ms, record_work, err) < 0
		   ? -1
		   : 0;
}

static int check_changeable(const struct sandbox *sandbox, struct call *call, bool paused,
			    struct warder_error *err)
{
	if (call_need_running(sandbox, call, err) < 0)
		return -1;
	if (sandbox->changing)
		return call_refuse_changing(sandbox, err);
	if ((sandbox->paused_ms != 0) != paused)
		return error_set(err, WARDER_ERROR_CONFLICT, "id", "sandbox %s is %s", sandbox->id,
				 paused ? "not paused" : "paused already");
	return 0;
}

/* While it is paused, no time limit of the client ends it. */
int calls_pause(struct context *context, struct call *call, struct warder_error *err)
{
	const struct sandbox *sandbox = context->sandbox;

	return check_changeable(sandbox, call, false, err) < 0 ||
		       change(context, call, clock_wall_ms(), sandbox->created_ms + SANDBOX_LIFETIME_MS,
			      pause_work, err) < 0
		   ? -1
		   : 0;
}

int calls_resume(struct context *context, struct call *call, struct warder_error *err)
{
	const uint64_t value_s = context->request->value;
	uint64_t ends_ms = 0;

	return check_changeable(context->sandbox, call, true, err) < 0 ||
		       find_end(context->sandbox, value_s ? value_s : CALL_TIMEOUT_MS / 1000, &ends_ms, err) <
			   0 ||
		       change(context, call, 0, ends_ms, resume_work, err) < 0
		   ? -1
		   : 0;
}

/* The record has the new rules before they hold, so that one that cannot be written leaves the sandbox as it was. If the keeper does not answer
 * in time, it does not keep the new rules. */
static void network_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	struct warder_error *err = &call->answer.error;
	struct warder_error ignored;

	call->answer.status = 204;
	if (state_write(call->sandboxes_fd, call->sandbox, call->record, err) == 0) {
		if (session_replace_rules(call->sandbox, &call->policy->policy, err) == 0)
			return;
		state_write(call->sandboxes_fd, call->sandbox, call->old_record, &ignored);
	}
	call->answer.status = link_status(err->code);
}

/* Whether the tenant's ceiling, as it is now, grants the rules. Without one, those of the sandbox's template were granted at its creation. */
static int check_rules(const struct context *context, const struct policy *policy, struct warder_error *err)
{
	const char *name = context->sandbox->template_name;
	const struct warder_policy *ceiling = call_ceiling(context, name, err);
	struct policy asked;
	int done;

	if (!ceiling)
		return -1;
	if (ceiling == settings_template(&context->launcher->settings, name))
		return 0;
	done = session_with_rules(&ceiling->policy, policy, &asked, err);
	if (done < 0)
		return -1;
	done = policy_check_ceiling(&ceiling->policy, &asked, err);
	policy_done(&asked);
	return done;
}

int calls_network(struct context *context, struct call *call, struct warder_error *err)
{
	static const char *const members[] = { "allow", "deny", "none", NULL };
	struct sandbox *sandbox = context->sandbox;
	const char *base = sandbox->base ? sandbox->base : sandbox->policy;
	struct sandbox other = *sandbox;

	if (check_changeable(sandbox, call, sandbox->paused_ms != 0, err) < 0 ||
	    call_parse(context, call, members, err) < 0 ||
	    warder_policy_parse(base, strlen(base), "sandbox", &call->policy, err) != 0 ||
	    narrow_running(&call->policy, call->document, err) < 0 ||
	    check_rules(context, &call->policy->policy, err) < 0)
		return -1;
	call->rules = warder_policy_json(call->policy);
	if (sandbox_check_policy(call->rules, err) < 0)
		return -1;
	other.policy = call->rules;
	call->record = sandbox_record(&other);
	call->old_record = sandbox_record(sandbox);
	if (!call->record || !call->old_record)
		return error_no_memory(err, NULL);
	sandbox->changing = true;
	call->job.changes = call->sandbox;
	call->job.work = network_work;
	call->job.finish = change_finish;
	jobs_add(&context->launcher->jobs, &call->job);
	return 0;
}
