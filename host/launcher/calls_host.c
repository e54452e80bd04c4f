/*
 * Calls about the host and the tenant: who asks, limits and use, capabilities, metrics.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/launcher/call.h"

int calls_who(struct context *context, struct call *call, struct warder_error *err)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "name", context->tenant->name);
	json_key(&w, "scopes");
	tenant_write_scopes(context->tenant->scopes, &w);
	json_end_object(&w);
	return call_say(context, call, json_take(&w), err);
}

int calls_host(struct context *context, struct call *call, struct warder_error *err)
{
	const struct launcher *launcher = context->launcher;
	const struct tenant_use use = call_use(launcher, context->tenant->name);
	char store[SNAPSHOT_STORE_MAX];
	uint64_t snapshots, snapshot_bytes;
	struct json_writer w = { 0 };

	snapshot_store_name(context->tenant, store);
	snapshots_use(&launcher->snapshots, store, &snapshots, &snapshot_bytes);
	json_begin_object(&w);
	json_key_string(&w, "version", warder_version());
	json_key_uint(&w, "startedMs", launcher->started_ms);
	json_key_string(&w, "hostKey", launcher->signing.key);
	json_key(&w, "templates");
	json_begin_array(&w);
	for (size_t i = 0; i < launcher->settings.template_count; i++)
		json_string(&w, launcher->settings.templates[i].name);
	json_end_array(&w);
	json_key(&w, "tenant");
	json_begin_object(&w);
	json_key_string(&w, "name", context->tenant->name);
	json_key(&w, "scopes");
	tenant_write_scopes(context->tenant->scopes, &w);
	json_key(&w, "used");
	json_begin_object(&w);
	json_key_uint(&w, "sandboxes", use.sandboxes);
	json_key_uint(&w, "memoryBytes", use.memory_bytes);
	json_key_uint(&w, "cpuMilli", use.cpu_milli);
	json_key_uint(&w, "spoolBytes", use.spool_bytes);
	json_key_uint(&w, "snapshots", snapshots);
	json_key_uint(&w, "snapshotBytes", snapshot_bytes);
	json_key_uint(&w, "artifactBytes", use.artifact_bytes);
	json_key_uint(&w, "running", jobs_running(&launcher->jobs, context->tenant->name));
	json_key_uint(&w, "waiting", jobs_waiting(&launcher->jobs, context->tenant->name));
	json_end_object(&w);
	json_key(&w, "limits");
	json_begin_object(&w);
	tenant_write_limits(&context->tenant->limits, &w);
	json_end_object(&w);
	json_end_object(&w);
	json_end_object(&w);
	return call_say(context, call, json_take(&w), err);
}

/* The capabilities, and how busy this host is, for clients that choose among hosts. Heap; NULL without memory. */
static char *with_load(const struct launcher *launcher)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t running = launcher->sandboxes.count, waiting = 0;
	char *text = NULL;

	for (const struct call *run = launcher->runs; run; run = run->next_run)
		running += !run->sandbox[0];
	for (const struct job *job = launcher->jobs.queued; job; job = job->next)
		waiting++;
	if (asprintf(&text, "%.*s,\"load\":{\"running\":%zu,\"waiting\":%zu,\"processors\":%ld}}",
		     (int)strlen(launcher->capabilities) - 1, launcher->capabilities, running, waiting,
		     processors > 0 ? processors : 1) < 0)
		return NULL;
	return text;
}

/* The text is a nonce, with which a client finds out whether this host holds its key; or no text: then nothing is signed. */
int calls_controls(struct context *context, struct call *call, struct warder_error *err)
{
	struct launcher *launcher = context->launcher;

	if (context->request->bytes > NONCE_MAX ||
	    strspn(context->text, "0123456789abcdef") != context->request->bytes)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "nonce",
				 "\"nonce\" must have at most %d digits and letters a to f", NONCE_MAX);
	call->text = with_load(launcher);
	if (!call->text)
		return error_no_memory(err, NULL);
	if (context->request->bytes && signing_sign(&launcher->signing, "capabilities", context->text,
						    context->len, &call->text, err) < 0)
		return -1;
	call_answer(launcher, call, 200, NULL);
	return 0;
}

int calls_metrics(struct context *context, struct call *call, struct warder_error *err)
{
	return call_say(context, call, metrics_text(context->launcher, call_is_stuck(context->launcher)),
			err);
}
