/*
 * The creation of a sandbox: with a policy within the ceiling, and within the share of its tenant; from a template, or from a snapshot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "host/launcher/call.h"
#include "host/launcher/narrow.h"
#include "host/launcher/state.h"
#include "policy/policy.h"
#include "runtime/library/library.h"
#include "runtime/session/records.h"
#include "runtime/session/session.h"

/* The jail is to have listeners for all that the sandbox may be given later. Credentials cannot be taken away from one that runs. */
static bool starts_with_base(const struct call *call)
{
	return call->base && call->policy->policy.network.mode == POLICY_NETWORK_ALLOW &&
	       !policy_injects(&call->base->policy) &&
	       !session_same_rules(&call->base->policy, &call->policy->policy);
}

/* The policy of its session, before its network is narrowed. */
static const struct warder_policy *first_policy(const struct call *call)
{
	return starts_with_base(call) ? call->base : call->policy;
}

/* Its session, out of the parked one if there is one that can still be used; with it comes the connection to its keeper. 0; -1 with *err. */
static int start_session(struct call *call, const struct session_origin *origin, struct warder_error *err)
{
	const struct warder_session_options options =
	    sandbox_session_options(first_policy(call), call->program);
	struct session_parked *parked = call->parked;
	struct warder_session *session = NULL;
	int started;

	call->parked = NULL;
	if (parked && session_hand_out(parked, call->sandbox, &call->fd, err) == 0)
		return 0;
	started = session_start(call->sandbox, &options, origin, NULL, &session, err);
	warder_session_free(session);
	return started;
}

static void create_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	const bool base = starts_with_base(call);
	struct session_origin origin = { 0 };
	struct warder_error *err = &call->answer.error;
	struct warder_error ignored;
	owned_fd int lock_fd = -1;

	if (state_write(call->sandboxes_fd, call->sandbox, call->record, err) < 0)
		return;
	call->launch_us = clock_us();
	/* No client can start a program before this job is done. */
	if ((!call->snapshot.id[0] || call_unpack_snapshot(call, &origin.files_from, &lock_fd, err) == 0) &&
	    start_session(call, &origin, err) == 0 &&
	    ((base && session_replace_rules(call->sandbox, &call->policy->policy, err) < 0) ||
	     (call->fd < 0 && remote_connect(call->sandbox, &call->fd, NULL, err) < 0))) {
		session_stop(call->sandbox, NULL, NULL, &ignored);
		fd_done(&call->fd);
	}
	if (lock_fd >= 0)
		call_drop_unpacked(call, lock_fd);
	free(origin.files_from);
	call->launch_us = call->fd < 0 ? 0 : clock_us() - call->launch_us;
	if (call->fd < 0)
		state_remove(call->sandboxes_fd, call->sandbox, &ignored);
	else
		memset(err, 0, sizeof(*err));
}

static void create_finish(struct job *job, void *of)
{
	struct call *call = (struct call *)(void *)job;
	struct launcher *launcher = of;
	struct sandbox *sandbox = sandboxes_find(&launcher->sandboxes, call->sandbox);
	const struct warder_error err = call->answer.error;

	call_forget_run(launcher, call);
	call_sweep_late(launcher, call);
	if (call->launch_us)
		metrics_launched(&launcher->metrics, METRICS_SANDBOX, call->launch_us);
	if (call->fd < 0) {
		launcher->metrics.failed[METRICS_SANDBOX]++;
		sandboxes_remove(&launcher->sandboxes, sandbox);
		call_answer(launcher, call, 0, &err);
		return;
	}
	sandbox->keeper_fd = fd_take(&call->fd);
	sandbox->state = SANDBOX_RUNNING;
	if (call->must_claim)
		sandbox->claim_ms = clock_wall_ms() + SANDBOX_CLAIM_MS;
	/* Nobody knows its id. */
	if (atomic_load(&call->cancelled))
		sandbox->ends_ms = 0;
	call->text = sandbox_text(sandbox);
	if (call->text) {
		call_answer(launcher, call, 201, NULL);
		return;
	}
	sandbox->ends_ms = 0; /* the client does not learn its id */
	error_no_memory(&call->answer.error, NULL);
	call_answer(launcher, call, 0, NULL);
}

static int take_timeout(const struct json_value *document, uint64_t *ret_ms, struct warder_error *err)
{
	const struct json_value *value = json_member(document, "timeoutMs");

	*ret_ms = CALL_TIMEOUT_MS;
	if (!value || value->type == JSON_NULL)
		return 0;
	if (!value->is_uint || value->uint > SANDBOX_LIFETIME_MS)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "timeoutMs",
				 "\"timeoutMs\" must be a whole number of milliseconds, at most 24 hours");
	*ret_ms = value->uint;
	return 0;
}

static int take_metadata(const struct json_value *document, struct sandbox *sandbox, struct warder_error *err)
{
	const struct json_value *value = json_member(document, "metadata");
	bool is_good = !value || value->type == JSON_NULL || value->type == JSON_OBJECT;

	for (const struct json_value *one = value ? value->child : NULL; one; one = one->next)
		is_good &= one->type == JSON_STRING;
	if (!is_good)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "metadata",
				 "\"metadata\" must be an object of texts");
	if (!value || value->type == JSON_NULL)
		return 0;
	sandbox->metadata = json_text(value);
	if (sandbox->metadata && strlen(sandbox->metadata) > SANDBOX_METADATA_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "metadata",
				 "\"metadata\" is longer than %d bytes", SANDBOX_METADATA_MAX);
	return sandbox->metadata ? 0 : error_no_memory(err, NULL);
}

/* The sandbox as the request and its policy have it. */
static int fill_sandbox(const struct context *context, const struct call *call, struct sandbox *sandbox,
			struct warder_error *err)
{
	const struct policy *policy = &call->policy->policy;
	uint64_t timeout_ms;

	if (take_timeout(call->document, &timeout_ms, err) < 0 ||
	    take_metadata(call->document, sandbox, err) < 0)
		return -1;
	sandbox->created_ms = clock_wall_ms();
	sandbox->ends_ms = sandbox->created_ms + timeout_ms;
	sandbox->memory_bytes = policy->limits.memory_bytes;
	sandbox->cpu_milli = policy->limits.cpu_milli;
	sandbox->disk_bytes = policy->limits.disk_bytes;
	snprintf(sandbox->tenant, sizeof(sandbox->tenant), "%s", context->tenant->name);
	memcpy(sandbox->tenant_digest, context->tenant->digest, sizeof(sandbox->tenant_digest));
	snprintf(sandbox->template_name, sizeof(sandbox->template_name), "%s",
		 call_template(context, call->document));
	sandbox->policy = warder_policy_json(call->policy);
	sandbox->network_mode = policy->network.mode;
	sandbox->base = call->base ? warder_policy_json(call->base) : NULL;
	if (sandbox_check_policy(sandbox->policy, err) < 0)
		return -1;
	return !sandbox->base == !call->base ? 0 : error_no_memory(err, NULL);
}

/* Answer with the sandbox that the same request has created before. 0: there is none; 1: the call was answered; -1 with *err. */
static int find_created(const struct context *context, struct call *call, const char *key, const char *digest,
			struct warder_error *err)
{
	const struct sandbox *sandbox =
	    key ? sandboxes_of_key(&context->launcher->sandboxes, context->tenant, key) : NULL;

	if (!sandbox)
		return 0;
	if (strcmp(sandbox->request_digest, digest) != 0)
		return error_set(err, WARDER_ERROR_CONFLICT, "idempotencyKey",
				 "sandbox %s was created by another request with this key; use a new key",
				 sandbox->id);
	if (sandbox->state != SANDBOX_RUNNING) {
		call->answer.retry_s = 1;
		return error_set(err, WARDER_ERROR_CONFLICT, "idempotencyKey",
				 "sandbox %s, which a request with this key created, is %s; try again",
				 sandbox->id,
				 sandbox->state == SANDBOX_STARTING ? "still being started" : "ending");
	}
	return call_say(context, call, sandbox_text(sandbox), err) < 0 ? -1 : 1;
}

/* A sandbox may begin with a snapshot. A template of that name comes first. */
static void find_snapshot(struct context *context, struct call *call)
{
	const char *name = json_member_text(call->document, "template", "base");
	const struct snapshot *found;

	if (settings_template(&context->launcher->settings, name))
		return;
	snapshot_store_name(context->tenant, call->store);
	found = snapshots_find(&context->launcher->snapshots, call->store, name);
	if (!found)
		return;
	call->snapshot = *found;
	context->template_name = call->snapshot.template_name;
}

int calls_create(struct context *context, struct call *call, struct warder_error *err)
{
	static const char *const members[] = { "template", "policy",         "env",    "timeoutMs",
					       "metadata", "idempotencyKey", "narrow", NULL };
	struct launcher *launcher = context->launcher;
	struct sandbox *sandbox;
	const char *key = NULL;
	char digest[SHA256_HEX];
	int found;

	link_digest(context->text, digest);
	if (call_parse(context, call, members, err) < 0 || call_take_key(call->document, &key, err) < 0)
		return -1;
	found = find_created(context, call, key, digest, err);
	if (found != 0)
		return found < 0 ? -1 : 0;
	find_snapshot(context, call);
	if (call_choose_policy(context, call->document, &call->policy, err) < 0 ||
	    (call->policy->policy.network.mode == POLICY_NETWORK_ALLOW &&
	     call_copy_policy(call->policy, &call->base, err) < 0) ||
	    narrow_network(&call->policy, json_member(call->document, "narrow"), err) < 0 ||
	    call_admit(launcher, context->tenant, &call->policy->policy, true, call, err) < 0)
		return -1;
	sandbox = sandbox_new(&launcher->sandboxes, err);
	if (!sandbox)
		return -1;
	memcpy(call->sandbox, sandbox->id, sizeof(sandbox->id));
	call->must_claim = context->request->value == LINK_CREATE_CLAIMED;
	if (key) {
		snprintf(sandbox->idempotency_key, sizeof(sandbox->idempotency_key), "%s", key);
		memcpy(sandbox->request_digest, digest, sizeof(digest));
	}
	if (fill_sandbox(context, call, sandbox, err) == 0) {
		call->record = sandbox_record(sandbox);
		if (call->record) {
			call->job.changes = call->sandbox;
			call->job.kind = call->snapshot.id[0] ? JOB_FILES : JOB_SHORT;
			call->job.work = create_work;
			call->job.finish = create_finish;
			call->parked = call->snapshot.id[0]
					   ? NULL
					   : stock_take(launcher, call, first_policy(call), &sandbox->kind);
			call_add_run(launcher, call);
			jobs_add(&launcher->jobs, &call->job);
			return 0;
		}
		error_no_memory(err, NULL);
	}
	sandboxes_remove(&launcher->sandboxes, sandbox);
	return -1;
}
