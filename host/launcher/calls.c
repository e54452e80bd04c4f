/*
 * The table of the front's calls. A call is refused unless its key belongs to a tenant with the scope of the call, or to the sandbox
 * that it names. Whatever may wait becomes a job.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/launcher/call.h"
#include "host/launcher/peer.h"
#include "host/wire/signature.h"
#include "runtime/session/records.h"

static int cancel(struct context *context, struct call *call, struct warder_error *err)
{
	call_cancel(context->launcher, context->launcher->front.generation, context->request->value);
	call_forget_follower(context->launcher, context->launcher->front.generation, context->request->value);
	call_free(call);
	return 0;
}

static int ready(struct context *context, struct call *call, struct warder_error *err)
{
	context->launcher->front.ready = true;
	call_free(call);
	return 0;
}

static int certificate(struct context *context, struct call *call, struct warder_error *err)
{
	certificate_answered(context->launcher, context->request->number, context->request->value == 1);
	call_free(call);
	return 0;
}

static int known(struct context *context, struct call *call, struct warder_error *err)
{
	call_answer(context->launcher, call, 204, NULL);
	return 0;
}

static const struct row {
	/* Answers, or queues a job that does. -1 with *err: nothing was done, and the call is still the caller's. */
	int (*take)(struct context *context, struct call *call, struct warder_error *err);
	unsigned int scope; /* enum tenant_scope: one of them suffices; 0: it needs no key */
	bool sandbox;       /* about one sandbox */
	bool launches;
	const char *name; /* in the log; NULL: it is not logged */
	bool is_event;    /* it starts, changes or ends something of the tenant's */
} rows[LINK_CALLS] = {
	[LINK_READY] = { ready, 0, false, false, NULL },
	[LINK_HEALTH] = { calls_health, 0, false, false, NULL },
	[LINK_WHO] = { calls_who, TENANT_READ, false, false, "who" },
	[LINK_HOST] = { calls_host, TENANT_READ, false, false, "host" },
	[LINK_CREATE] = { calls_create, TENANT_SANDBOXES, false, true, "create", true },
	[LINK_LIST] = { calls_list, TENANT_READ, false, false, "list" },
	[LINK_SHOW] = { calls_show, TENANT_SANDBOXES, true, false, "show" },
	[LINK_REMOVE] = { calls_remove, TENANT_SANDBOXES, true, false, "remove", true },
	[LINK_TIMEOUT] = { calls_timeout, TENANT_SANDBOXES, true, false, "timeout", true },
	[LINK_OPEN] = { calls_open, TENANT_SANDBOXES, true, false, "open" },
	[LINK_RUN] = { calls_run, TENANT_RUN, false, true, "run", true },
	[LINK_PAUSE] = { calls_pause, TENANT_SANDBOXES, true, false, "pause", true },
	[LINK_RESUME] = { calls_resume, TENANT_SANDBOXES, true, false, "resume", true },
	[LINK_CONTROLS] = { calls_controls, TENANT_READ, false, true,
			    "controls" }, /* one that is stuck is not chosen */
	[LINK_CODE] = { calls_code, TENANT_RUN, false, true, "code", true },
	[LINK_JUDGE] = { calls_judge, TENANT_RUN, false, true, "judge", true },
	[LINK_POLICIES] = { calls_policies, TENANT_READ, false, false, "policies" },
	[LINK_POLICY] = { calls_policy, TENANT_READ, false, false, "policy" },
	[LINK_METRICS] = { calls_metrics, TENANT_METRICS, false, false, "metrics" },
	[LINK_CANCEL] = { cancel, 0, false, false, NULL },
	[LINK_CERTIFICATE] = { certificate, 0, false, false, NULL },
	[LINK_NETWORK] = { calls_network, TENANT_SANDBOXES, true, false, "network", true },
	[LINK_STORE] = { calls_store, TENANT_SANDBOXES, true, false, "store", true },
	[LINK_SNAPSHOTS] = { calls_snapshots, TENANT_READ, false, false, "snapshots" },
	[LINK_FORGET] = { calls_forget, TENANT_SANDBOXES, false, false, "forget", true },
	[LINK_ARTIFACTS] = { calls_artifacts, TENANT_RUN | TENANT_SANDBOXES, false, false, "artifacts" },
	[LINK_ARTIFACT] = { calls_artifact, TENANT_RUN | TENANT_SANDBOXES, false, false, "artifact" },
	[LINK_DROP_ARTIFACT] = { calls_drop_artifact, TENANT_RUN | TENANT_SANDBOXES, false, false,
				 "dropArtifact", true },
	[LINK_KEEP] = { calls_keep, TENANT_SANDBOXES, true, false, "keepFiles", true },
	[LINK_EVENTS] = { calls_events, TENANT_READ, false, false, "events" },
	[LINK_RESULT] = { calls_result, TENANT_SANDBOXES, true, false, "result" },
	[LINK_KNOWN] = { known, TENANT_SCOPES | TENANT_METRICS, false, false, NULL },
	[LINK_MCP] = { calls_mcp, TENANT_SANDBOXES, true, true, "mcp", true },
};

static int refuse_key(struct call *call, struct warder_error *err)
{
	call->answer.status = 401;
	return error_set(err, WARDER_ERROR_REJECTED, NULL, "the token is missing, wrong, expired or revoked");
}

/* The tenant of a user needs no token. */
static const struct tenant *find_peer(const struct context *context, struct call *call,
				      struct warder_error *err)
{
	const struct launcher *launcher = context->launcher;
	const struct tenant *tenant = NULL;
	uint32_t uid;

	call->answer.status = 401;
	if (peer_uid(launcher->front.listen_fd, context->peer_fd, &uid, err) < 0)
		return NULL;
	tenant = tenants_of_uid(&launcher->tenants, uid, clock_wall_ms());
	if (tenant)
		call->answer.status = 0;
	else
		error_set(
		    err, WARDER_ERROR_REJECTED, NULL,
		    "no token was sent, and no tenant has the uid %u; send a token in X-API-Key, or add a "
		    "tenant with \"warder tenant add NAME --uid %u\"",
		    uid, uid);
	return tenant;
}

/* What another tenant has is as if it were not there. */
static int no_sandbox(const struct link_request *request, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_NOT_FOUND, "id", "there is no sandbox %s", request->sandbox);
}

static const char *digest_of(const struct sandbox *sandbox, const struct link_request *request)
{
	return request->key_kind == LINK_KEY_TRAFFIC ? sandbox->traffic_digest : sandbox->access_digest;
}

/* Some versions of E2B's clients do not name the sandbox of some calls: its key says which one it is. */
static struct sandbox *find_of_key(const struct sandboxes *sandboxes, const struct link_request *request)
{
	for (size_t i = 0; i < sandboxes->count; i++)
		if (strcmp(digest_of(sandboxes->items[i], request), request->key) == 0)
			return sandboxes->items[i];
	return NULL;
}

static int check_sandbox_key(struct context *context, struct call *call, struct warder_error *err)
{
	const struct link_request *request = context->request;
	const struct sandbox *sandbox = context->sandbox;

	if (strcmp(digest_of(sandbox, request), request->key) != 0)
		return refuse_key(call, err);
	context->tenant = sandbox_owner(&context->launcher->tenants, sandbox);
	return context->tenant ? 0 : refuse_key(call, err);
}

/* Old clients of E2B show no key to the code interpreter. Their tenant may let the name of a sandbox suffice. */
static int check_name(struct context *context, struct call *call, struct warder_error *err)
{
	const struct sandbox *sandbox = context->sandbox;

	if (sandbox)
		context->tenant = sandbox_owner(&context->launcher->tenants, sandbox);
	if (context->tenant && context->tenant->old_clients)
		return 0;
	context->tenant = NULL;
	call->answer.status = 401;
	return error_set(
	    err, WARDER_ERROR_REJECTED, NULL,
	    "a token is missing: the client of the code interpreter sent none; use a newer client, or see "
	    "--old-clients in warder-serve(1)");
}

/* A URL need not name its sandbox: it is the one whose access token the signature was made with. */
static int check_signature(struct context *context, struct call *call, struct warder_error *err)
{
	const struct sandboxes *sandboxes = &context->launcher->sandboxes;
	const char *named = context->request->sandbox;
	struct json_value *document = NULL;
	struct signature_claim claim;
	const char *given;

	if (json_parse(context->text, context->len, "claim", NULL, &document, err) < 0)
		return -1;
	claim = (struct signature_claim){ .path = json_member_text(document, "path", ""),
					  .operation = json_member_text(document, "operation", ""),
					  .user = json_member_text(document, "user", ""),
					  .expiry = json_member_text(document, "expiry", NULL) };
	given = json_member_text(document, "signature", "");
	for (size_t i = 0; i < sandboxes->count && !context->sandbox; i++) {
		struct sandbox *sandbox = sandboxes->items[i];

		if ((!*named || strcmp(named, sandbox->id) == 0) &&
		    signature_check(&claim, sandbox->access_token, given, clock_wall_ms() / 1000) ==
			SIGNATURE_GOOD)
			context->sandbox = sandbox;
	}
	json_free(document);
	if (context->sandbox)
		context->tenant = sandbox_owner(&context->launcher->tenants, context->sandbox);
	if (context->tenant)
		return 0;
	call->answer.status = 401;
	return error_set(err, WARDER_ERROR_REJECTED, "signature",
			 "the signature of the URL is wrong or has expired");
}

/* Who asks, and about which sandbox. */
static int check_key(struct context *context, const struct row *row, struct call *call,
		     struct warder_error *err)
{
	struct launcher *launcher = context->launcher;
	const struct link_request *request = context->request;

	if (!row->scope)
		return 0;
	/* Keys of one sandbox open it, and do nothing else to it. */
	if (request->key_kind != LINK_KEY_TENANT && request->key_kind != LINK_KEY_PEER &&
	    request->call != LINK_OPEN)
		return refuse_key(call, err);
	if (request->key_kind == LINK_KEY_SIGNATURE)
		return check_signature(context, call, err);
	if (row->sandbox)
		context->sandbox = sandboxes_find(&launcher->sandboxes, request->sandbox);
	if (request->key_kind == LINK_KEY_NAME)
		return check_name(context, call, err);
	if ((request->key_kind == LINK_KEY_SANDBOX || request->key_kind == LINK_KEY_TRAFFIC) &&
	    !*request->sandbox)
		context->sandbox = find_of_key(&launcher->sandboxes, request);
	if (request->key_kind == LINK_KEY_SANDBOX || request->key_kind == LINK_KEY_TRAFFIC) {
		if (context->sandbox)
			return check_sandbox_key(context, call, err);
		if (*request->sandbox)
			return no_sandbox(request, err);
		return sandboxes_had(&launcher->sandboxes, request->key)
			   ? error_set(err, WARDER_ERROR_NOT_FOUND, NULL, "the sandbox has ended")
			   : refuse_key(call, err);
	}
	context->tenant = request->key_kind == LINK_KEY_PEER
			      ? find_peer(context, call, err)
			      : tenants_find(&launcher->tenants, request->key, clock_wall_ms());
	if (!context->tenant)
		return request->key_kind == LINK_KEY_PEER ? -1 : refuse_key(call, err);
	if (!(context->tenant->scopes & row->scope)) {
		call->answer.status = 403;
		return error_set(err, WARDER_ERROR_REJECTED, NULL, "the token has no scope for this");
	}
	if (row->sandbox && (!context->sandbox || !sandbox_is_of(context->sandbox, context->tenant)))
		return no_sandbox(request, err);
	return 0;
}

static int take(struct context *context, struct call **call, struct warder_error *err)
{
	const struct row *row = &rows[context->request->call];
	const int known = check_key(context, row, *call, err);

	(*call)->name = row->name;
	(*call)->is_event = row->is_event;
	if (context->tenant) {
		snprintf((*call)->tenant, sizeof((*call)->tenant), "%s", context->tenant->name);
		memcpy((*call)->tenant_digest, context->tenant->digest, sizeof((*call)->tenant_digest));
	}
	if (known < 0)
		return -1;
	if (row->launches && call_is_stuck(context->launcher))
		return call_say_stuck(err);
	/* Now that it is known who asks. */
	if (context->tenant && !call_name_tenant(context, *call))
		return error_no_memory(err, NULL);
	if (context->sandbox) {
		memcpy((*call)->sandbox, context->sandbox->id, sizeof(context->sandbox->id));
		context->sandbox->claim_ms = 0;
	}
	return row->take(context, *call, err);
}

void calls_take(struct launcher *launcher, const struct link_request *request, const int fds[LINK_FDS])
{
	struct context context = { .launcher = launcher,
				   .request = request,
				   .peer_fd = fds[request->bytes ? 1 : 0] };
	struct call *call = call_new(&context);
	struct warder_error err = { 0 };
	char *text = NULL;
	int taken = 0;

	if (!call)
		return;
	if (request->bytes) {
		taken = record_read_file(fds[0], request->bytes, &text, &err);
		context.text = text;
		context.len = request->bytes;
	} else {
		context.text = "{}";
		context.len = 2;
	}
	if (taken == 0)
		taken = take(&context, &call, &err);
	free(text);
	if (taken < 0) {
		metrics_refused(&launcher->metrics,
				call->answer.status ? call->answer.status : link_status(err.code));
		call_answer(launcher, call, call->answer.status, &err);
	}
}
