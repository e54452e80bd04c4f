/*
 * The upkeep of a launcher: tenants that changed on disk, sandboxes whose time is over, and those that a launcher before this one has left.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "host/launcher/call.h"
#include "host/launcher/repeats.h"
#include "host/launcher/state.h"
#include "policy/policy.h"
#include "runtime/library/library.h"
#include "runtime/session/records.h"
#include "runtime/session/session.h"

#define RENEW_TRIES    50
#define RENEW_PAUSE_MS 100

struct reload {
	struct job job;
	const char *state;
	struct tenants tenants;
	struct warder_error err;
	bool good;
};

static void reload_work(struct job *job)
{
	struct reload *reload = (struct reload *)(void *)job;

	reload->good = tenants_load(reload->state, NULL, &reload->tenants, &reload->err) == 0;
}

/* The sandboxes of a tenant that is gone end. */
static void end_orphans(struct launcher *launcher)
{
	for (size_t i = 0; i < launcher->sandboxes.count; i++)
		if (!sandbox_owner(&launcher->tenants, launcher->sandboxes.items[i]))
			launcher->sandboxes.items[i]->ends_ms = 0;
}

static void reload_finish(struct job *job, void *of)
{
	struct reload *reload = (struct reload *)(void *)job;
	struct launcher *launcher = of;

	if (reload->good) {
		tenants_done(&launcher->tenants);
		launcher->tenants = reload->tenants;
		end_orphans(launcher);
		calls_sweep_orphans(launcher);
		event_logs_sweep(launcher);
	} else {
		launcher->options->log(reload->err.text);
	}
	free(reload);
	launcher->reloading = false;
	if (launcher->reload_again)
		calls_reload(launcher);
}

void calls_reload(struct launcher *launcher)
{
	struct reload *reload;

	launcher->reload_again = launcher->reloading;
	if (launcher->reloading)
		return;
	reload = calloc(1, sizeof(*reload));
	if (!reload)
		return;
	launcher->reloading = true;
	reload->state = launcher->options->state;
	reload->job = (struct job){ .tenant = "", .work = reload_work, .finish = reload_finish };
	jobs_add(&launcher->jobs, &reload->job);
}

/* A keeper says nothing to a connection that asks for nothing: it is readable when the keeper is gone. */
static bool has_ended(const struct sandbox *sandbox)
{
	char byte;

	return sandbox->keeper_fd >= 0 && recv(sandbox->keeper_fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

int calls_sweep(struct launcher *launcher)
{
	const struct context context = { .launcher = launcher, .request = &(const struct link_request){ 0 } };
	const uint64_t now_ms = clock_wall_ms();
	uint64_t next_ms = now_ms + 1000;

	repeats_sweep(&launcher->repeats, clock_us());
	run_artifacts_sweep(launcher, now_ms);
	call_deliver_events(launcher);
	call_continue_runs(launcher);
	call_answer_stuck(launcher);
	for (size_t i = 0; i < launcher->sandboxes.count; i++) {
		struct sandbox *sandbox = launcher->sandboxes.items[i];
		struct call *call;

		if (sandbox->state != SANDBOX_RUNNING)
			continue;
		if (sandbox->claim_ms && sandbox->claim_ms <= now_ms)
			sandbox->ends_ms = 0;
		if (sandbox->ends_ms > now_ms && !has_ended(sandbox)) {
			if (sandbox->ends_ms < next_ms)
				next_ms = sandbox->ends_ms;
			continue;
		}
		/* It may be getting another end, or be about to pause. */
		if (sandbox->changes_end && sandbox->ends_ms && !has_ended(sandbox))
			continue;
		call = call_new(&context);
		if (!call)
			continue;
		call->name = "expire";
		call->generation = 0; /* nobody waits for the answer */
		snprintf(call->tenant, sizeof(call->tenant), "%s", sandbox->tenant);
		memcpy(call->tenant_digest, sandbox->tenant_digest, sizeof(call->tenant_digest));
		call->is_event = true;
		memcpy(call->sandbox, sandbox->id, sizeof(sandbox->id));
		call_begin_remove(launcher, sandbox, call);
	}
	return (int)(next_ms - now_ms);
}

/* The policy that its keeper has. -1 with *err. */
static int policy_of_session(const char *id, struct warder_policy **ret, struct warder_error *err)
{
	struct json_value *document = NULL;
	int done = call_describe_session(id, &document, err);

	if (done == 0 && !json_member(document, "policy"))
		done = error_set(err, WARDER_ERROR_INTERNAL, "id", "the session of sandbox %s has no policy",
				 id);
	if (done == 0)
		done = call_parse_policy(json_member(document, "policy"), ret, err);
	json_free(document);
	return done;
}

/* The keeper may be busy with the rules that a dead launcher has asked for; it needs seconds at most, if its edge hangs. */
static int replace_rules(const char *id, const struct policy *policy, struct warder_error *err)
{
	int done = session_replace_rules(id, policy, err);

	for (int i = 0; done < 0 && err->code == WARDER_ERROR_CONFLICT && i < RENEW_TRIES; i++) {
		poll(NULL, 0, RENEW_PAUSE_MS);
		done = session_replace_rules(id, policy, err);
	}
	return done;
}

/* Its record has the rules that its tenant knows. A launcher that died before they held has left the ones from before: those of the base, if the
 * sandbox was just started. */
static int renew_rules(const struct sandbox *sandbox, struct warder_error *err)
{
	struct warder_policy *wanted = NULL, *found = NULL;
	int done = warder_policy_parse(sandbox->policy, strlen(sandbox->policy), "sandbox", &wanted, err);

	if (done == 0)
		done = policy_of_session(sandbox->id, &found, err);
	if (done == 0 && found->policy.network.mode == POLICY_NETWORK_ALLOW &&
	    !session_same_rules(&wanted->policy, &found->policy))
		done = replace_rules(sandbox->id, &wanted->policy, err);
	warder_policy_free(wanted);
	warder_policy_free(found);
	return done;
}

static int adopt_one(void *context, const char *name)
{
	struct launcher *launcher = context;
	struct sandbox *sandbox = NULL;
	const struct tenant *named;
	struct warder_error err = { 0 };
	char *record = NULL;
	const int got = state_read(launcher->sandboxes_fd, name, &record, &err) == 0
			    ? sandboxes_adopt(&launcher->sandboxes, name, record, &sandbox, &err)
			    : -1;

	free(record);
	if (got < 0) {
		launcher->options->log(err.text);
		return 0;
	}
	/* A record of an older launcher has no more than its tenant's name. */
	named = tenants_named(&launcher->tenants, sandbox->tenant);
	if (named && !sandbox->tenant_digest[0]) {
		memcpy(sandbox->tenant_digest, named->digest, sizeof(sandbox->tenant_digest));
		record = sandbox_record(sandbox);
		if (!record || state_write(launcher->sandboxes_fd, sandbox->id, record, &err) < 0)
			launcher->options->log(record ? err.text : "no memory for the record of a sandbox");
		free(record);
	}
	/* One that is not there any more, or whose start was interrupted, ends like one whose time is over: so nothing of it stays. */
	if (remote_connect(sandbox->id, &sandbox->keeper_fd, NULL, &err) < 0) {
		sandbox->ends_ms = 0;
	} else if (sandbox->base && renew_rules(sandbox, &err) < 0) {
		launcher->options->log(err.text);
		sandbox->ends_ms = 0;
	}
	return 0;
}

int calls_adopt(struct launcher *launcher, struct warder_error *err)
{
	state_sweep(launcher->sandboxes_fd);
	if (state_each(launcher->sandboxes_fd, adopt_one, launcher, err) < 0)
		return -1;
	end_orphans(launcher);
	calls_sweep_stores(launcher, true);
	return 0;
}
