/*
 * What the front may ask, as one table. A call is refused unless its key belongs to a tenant with the scope of the call, or to the sandbox
 * that it names. Whatever may wait becomes a job.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "host/launcher/call.h"
#include "host/launcher/log.h"
#include "host/launcher/narrow.h"
#include "host/launcher/repeats.h"
#include "host/launcher/state.h"
#include "host/wire/signature.h"
#include "policy/policy.h"
#include "runtime/library/library.h"
#include "runtime/session/records.h"
#include "runtime/session/session.h"

#define SECOND_US      UINT64_C(1000000)
#define PROBE_FRESH_US UINT64_C(5000000)
#define PROBE_STUCK_US UINT64_C(2000000)
#define TIMEOUT_MS     UINT64_C(300000) /* of a sandbox, unless the client names one */
#define LOOK_US        UINT64_C(100000)
#define NONCE_MAX      64
#define AGAIN_MS       UINT64_C(10000) /* until an end that failed is tried again */
#define RENEW_TRIES    50
#define RENEW_PAUSE_MS 100

/* ---- answers ---- */

static void call_free(struct call *call)
{
	if (call->steps)
		call->steps->release(call);
	free(call->text);
	free(call->request);
	fd_done(&call->fd);
	warder_policy_free(call->policy);
	warder_policy_free(call->base);
	free(call->rules);
	json_free(call->document);
	free(call->record);
	free(call->old_record);
	free(call);
}

/* A front that does not read is ended, and with it the requests that wait. */
static void send_to_front(const struct launcher *launcher, const struct link_answer *answer, const int *fds,
			  size_t count)
{
	if (fd_send(launcher->front.fd, answer, sizeof(*answer), fds, count, 0) < 0)
		shutdown(launcher->front.fd, SHUT_RDWR);
}

static bool is_asked(const struct launcher *launcher, const struct call *call)
{
	return launcher->front.fd >= 0 && launcher->front.generation == call->generation;
}

bool call_say_part(const struct launcher *launcher, const struct call *call, const char *text)
{
	const struct link_answer answer = { .magic = LINK_MAGIC,
					    .size = sizeof(answer),
					    .status = 200,
					    .number = call->number,
					    .bytes = strlen(text),
					    .tenant = call->answer.tenant,
					    .more = 1 };
	owned_fd int text_fd = -1;

	if (!is_asked(launcher, call))
		return true;
	text_fd = record_make_file(text, answer.bytes);
	if (text_fd >= 0)
		send_to_front(launcher, &answer, &text_fd, 1);
	return text_fd >= 0;
}

static void send_answer(struct launcher *launcher, struct call *call)
{
	owned_fd int text_fd = -1;
	const char *text = call->text ? call->text + call->sent : NULL;
	int fds[LINK_FDS];
	size_t count = 0;

	log_call(launcher, call);
	if (!is_asked(launcher, call))
		return;
	call->answer.magic = LINK_MAGIC;
	call->answer.size = sizeof(call->answer);
	call->answer.number = call->number;
	if (text) {
		call->answer.bytes = strlen(text);
		text_fd = record_make_file(text, call->answer.bytes);
		if (text_fd < 0) {
			error_no_memory(&call->answer.error, NULL);
			call->answer.status = 500;
			call->answer.bytes = 0;
		} else {
			fds[count++] = text_fd;
		}
	}
	if (call->fd >= 0) {
		call->answer.has_fd = 1;
		fds[count++] = call->fd;
	}
	send_to_front(launcher, &call->answer, fds, count);
}

/* Answer and forget. status 0: the one of the error. */
static void answer_call(struct launcher *launcher, struct call *call, unsigned int status,
			const struct warder_error *err)
{
	if (err)
		call->answer.error = *err;
	call->answer.status = status ? status : link_status(call->answer.error.code);
	send_answer(launcher, call);
	call_free(call);
}

int call_say(const struct context *context, struct call *call, char *text, struct warder_error *err)
{
	call->text = text;
	if (!text)
		return error_no_memory(err, NULL);
	answer_call(context->launcher, call, 200, NULL);
	return 0;
}

static struct call *call_new(const struct context *context)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->fd = -1;
	call->taken_us = clock_us();
	call->number = context->request->number;
	call->generation = context->launcher->front.generation;
	call->program = context->launcher->options->program;
	call->pool = context->launcher->pool;
	call->signing = &context->launcher->signing;
	call->sandboxes_fd = context->launcher->sandboxes_fd;
	call->snapshots_fd = context->launcher->snapshots.records_fd;
	call->stores = context->launcher->snapshots.stores;
	call->job.tenant = call->tenant;
	if (context->tenant)
		snprintf(call->tenant, sizeof(call->tenant), "%s", context->tenant->name);
	if (context->sandbox)
		snprintf(call->sandbox, sizeof(call->sandbox), "%s", context->sandbox->id);
	return call;
}

void call_finish(struct job *job, void *launcher)
{
	struct call *call = (struct call *)(void *)job;

	send_answer(launcher, call);
	call_free(call);
}

/* ---- a tenant's share ---- */

int call_refuse_share(struct call *call, unsigned int retry_s, struct warder_error *err, const char *field,
		      const char *what, uint64_t has, uint64_t most)
{
	call->answer.retry_s = retry_s;
	call->answer.status = 429;
	return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
			 "the tenant has %" PRIu64 " %s, may have %" PRIu64
			 ", and this request would exceed that",
			 has, what, most);
}

static struct launcher_rate *rate_of(struct launcher *launcher, const char *tenant)
{
	struct launcher_rate *grown;

	for (size_t i = 0; i < launcher->rate_count; i++)
		if (strcmp(launcher->rates[i].tenant, tenant) == 0)
			return &launcher->rates[i];
	grown = realloc(launcher->rates, (launcher->rate_count + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	launcher->rates = grown;
	grown[launcher->rate_count] = (struct launcher_rate){ 0 };
	snprintf(grown[launcher->rate_count].tenant, sizeof(grown->tenant), "%s", tenant);
	return &grown[launcher->rate_count++];
}

bool call_take_launch(struct launcher *launcher, const char *tenant, uint64_t most)
{
	struct launcher_rate *rate = rate_of(launcher, tenant);
	const uint64_t now_us = clock_us();

	if (!rate)
		return false;
	if (now_us - rate->since_us >= SECOND_US) {
		rate->since_us = now_us;
		rate->count = 0;
	}
	if (rate->count >= most)
		return false;
	rate->count++;
	return true;
}

/* Whether `asked` more fits below `limit`, where `used` are taken. No sum can overflow. */
static bool fits(uint64_t limit, uint64_t used, uint64_t asked)
{
	return used <= limit && asked <= limit - used;
}

/* What a tenant's sandboxes and runs take at the moment. */
static struct tenant_use use_of(const struct launcher *launcher, const char *tenant)
{
	struct tenant_use use = sandboxes_use(&launcher->sandboxes, tenant);

	for (const struct call *run = launcher->runs; run; run = run->next_run)
		if (strcmp(run->tenant, tenant) == 0) {
			use.memory_bytes += run->memory_bytes;
			use.cpu_milli += run->cpu_milli;
		}
	return use;
}

int call_count_launch(struct launcher *launcher, const struct tenant *tenant, struct call *call,
		      struct warder_error *err)
{
	const struct tenant_limits *limits = &tenant->limits;

	if (jobs_waiting(&launcher->jobs, tenant->name) >= limits->queue)
		return call_refuse_share(call, 1, err, "queue", "requests that wait", limits->queue,
					 limits->queue);
	if (!call_take_launch(launcher, tenant->name, limits->launches_per_second))
		return call_refuse_share(call, 1, err, "launchesPerSecond", "launches in this second",
					 limits->launches_per_second, limits->launches_per_second);
	return 0;
}

/* Whether the tenant may launch `policy` now. -1 with *err, and 429 in the answer. */
static int admit(struct launcher *launcher, const struct tenant *tenant, const struct policy *policy,
		 bool sandbox, struct call *call, struct warder_error *err)
{
	const struct tenant_limits *limits = &tenant->limits;
	const struct tenant_use use = use_of(launcher, tenant->name);

	if (sandbox && use.sandboxes >= limits->sandboxes)
		return call_refuse_share(call, 5, err, "sandboxes", "sandboxes", use.sandboxes,
					 limits->sandboxes);
	if (!fits(limits->memory_bytes, use.memory_bytes, policy->limits.memory_bytes))
		return call_refuse_share(call, 5, err, "limits.memory", "MiB of memory in its sandboxes",
					 use.memory_bytes >> 20, limits->memory_bytes >> 20);
	if (!fits(limits->cpu_milli, use.cpu_milli, policy->limits.cpu_milli))
		return call_refuse_share(call, 5, err, "limits.cpus", "thousandths of a CPU in its sandboxes",
					 use.cpu_milli, limits->cpu_milli);
	if (sandbox && !fits(limits->spool_bytes, use.spool_bytes, SPOOLS_BYTES_MAX))
		return call_refuse_share(call, 5, err, "spoolBytes", "MiB of kept output in its sandboxes",
					 use.spool_bytes >> 20, limits->spool_bytes >> 20);
	return call_count_launch(launcher, tenant, call, err);
}

/* ---- policies ---- */

static int copy_policy(const struct warder_policy *policy, struct warder_policy **ret,
		       struct warder_error *err)
{
	char *text = warder_policy_json(policy);
	const int parsed =
	    text ? warder_policy_parse(text, strlen(text), "template", ret, err) : error_no_memory(err, NULL);

	free(text);
	return parsed;
}

static int parse_policy(const struct json_value *value, struct warder_policy **ret, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char *text;
	int parsed;

	json_copy(&w, value);
	text = json_take(&w);
	parsed =
	    text ? warder_policy_parse(text, strlen(text), "policy", ret, err) : error_no_memory(err, NULL);
	free(text);
	return parsed;
}

/* Variables of the program. They grant nothing on the host, and so no ceiling applies. */
static int set_variables(struct warder_policy *policy, const struct json_value *variables,
			 struct warder_error *err)
{
	char path[300];

	if (!variables || variables->type == JSON_NULL)
		return 0;
	if (variables->type != JSON_OBJECT)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "env",
				 "\"env\" must be an object of texts");
	for (const struct json_value *one = variables->child; one; one = one->next) {
		if (one->type != JSON_STRING || strlen(one->key) > 200)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "env",
					 "\"env\" must be an object of texts");
		snprintf(path, sizeof(path), "environment.set.%s", one->key);
		if (warder_policy_set(policy, path, one->string, err) != 0)
			return -1;
	}
	return 0;
}

static const struct warder_policy *ceiling_of(const struct context *context, const char *name,
					      struct warder_error *err)
{
	const struct settings *settings = &context->launcher->settings;
	const struct warder_policy *template = settings_template(settings, name);
	char shown[100];

	if (!template) {
		error_set(err, WARDER_ERROR_NOT_FOUND, "template", "there is no template %s",
			  json_quote(name, shown, sizeof(shown)));
		return NULL;
	}
	return context->tenant->ceiling ? context->tenant->ceiling
	       : settings->ceiling      ? settings->ceiling
					: template;
}

static const char *template_of(const struct context *context, const struct json_value *document)
{
	return context->template_name ? context->template_name
				      : json_member_text(document, "template", "base");
}

/* Held against the ceiling. Without one, a template is allowed as it is. */
int call_choose_policy(const struct context *context, const struct json_value *document,
		       struct warder_policy **ret, struct warder_error *err)
{
	const struct warder_policy *ceiling = ceiling_of(context, template_of(context, document), err);
	const struct warder_policy *template =
	    settings_template(&context->launcher->settings, template_of(context, document));
	const struct json_value *own = json_member(document, "policy");
	struct warder_policy *policy = NULL;
	int done;

	if (!ceiling)
		return -1;
	if (own && own->type == JSON_NULL)
		own = NULL;
	done = own ? parse_policy(own, &policy, err) : copy_policy(template, &policy, err);
	if (done == 0 && (own || ceiling != template))
		done = policy_check_ceiling(&ceiling->policy, &policy->policy, err);
	if (done == 0)
		done = set_variables(policy, json_member(document, "env"), err);
	if (done != 0) {
		warder_policy_free(policy);
		return -1;
	}
	*ret = policy;
	return 0;
}

static int parse_document(const struct context *context, struct json_value **ret, struct warder_error *err)
{
	if (json_parse(context->text, context->len, "request", NULL, ret, err) < 0)
		return -1;
	if ((*ret)->type == JSON_OBJECT)
		return 0;
	json_free(*ret);
	*ret = NULL;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "request", "the request must be a JSON object");
}

/* Members that nobody reads would be wishes that nobody keeps. */
static int check_members(const struct json_value *document, const char *const *known,
			 struct warder_error *err)
{
	for (const struct json_value *one = document->child; one; one = one->next) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], one->key) != 0)
			i++;
		if (!known[i])
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, one->key,
					 "line %d: unknown member \"%.60s\"", one->line, one->key);
	}
	return 0;
}

int call_parse(const struct context *context, struct call *call, const char *const *known,
	       struct warder_error *err)
{
	return parse_document(context, &call->document, err) < 0 ||
		       check_members(call->document, known, err) < 0
		   ? -1
		   : 0;
}

/* ---- calls that launch ---- */

void call_add_run(struct launcher *launcher, struct call *call)
{
	call->next_run = launcher->runs;
	launcher->runs = call;
}

void call_forget_run(struct launcher *launcher, const struct call *call)
{
	for (struct call **at = &launcher->runs; *at; at = &(*at)->next_run)
		if (*at == call) {
			*at = call->next_run;
			return;
		}
}

static void cancel_run(struct launcher *launcher, uint64_t generation, uint64_t number)
{
	for (struct call *call = launcher->runs; call; call = call->next_run)
		if (call->generation == generation && call->number == number && !call->repeat)
			atomic_store(&call->cancelled, true);
}

void calls_cancel(struct launcher *launcher, uint64_t generation)
{
	for (struct call *call = launcher->runs; call; call = call->next_run)
		if (generation == UINT64_MAX || (call->generation <= generation && !call->repeat))
			atomic_store(&call->cancelled, true);
}

void calls_drop(struct launcher *launcher)
{
	while (launcher->runs) {
		struct call *run = launcher->runs;

		launcher->runs = run->next_run;
		call_free(run);
	}
}

/* ---- create ---- */

/* The jail is to have listeners for all that the sandbox may be given later. Credentials cannot be taken away from one that runs. */
static bool starts_with_base(const struct call *call)
{
	return call->base && call->policy->policy.network.mode == POLICY_NETWORK_ALLOW &&
	       !policy_injects(&call->base->policy) &&
	       !session_same_rules(&call->base->policy, &call->policy->policy);
}

static void create_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	const bool base = starts_with_base(call);
	const struct warder_session_options options = {
		.size = sizeof(options),
		.policy = base ? call->base : call->policy,
		.lifetime_us = (SANDBOX_LIFETIME_MS + 60000) * 1000,
		.idle_us = SESSION_TIME_MAX_US,
		.program = call->program,
	};
	struct session_origin origin = { 0 };
	struct warder_session *session = NULL;
	struct warder_error *err = &call->answer.error;
	struct warder_error ignored;
	owned_fd int lock_fd = -1;

	if (state_write(call->sandboxes_fd, call->sandbox, call->record, err) < 0)
		return;
	call->launch_us = clock_us();
	/* Nobody can start a program before the connection is there. */
	if ((!call->snapshot.id[0] || call_unpack_snapshot(call, &origin.files_from, &lock_fd, err) == 0) &&
	    session_start(call->sandbox, &options, &origin, NULL, &session, err) == 0 &&
	    ((base && session_replace_rules(call->sandbox, &call->policy->policy, err) < 0) ||
	     remote_connect(call->sandbox, &call->fd, err) < 0))
		session_stop(call->sandbox, NULL, NULL, &ignored);
	warder_session_free(session);
	if (lock_fd >= 0)
		call_drop_unpacked(call, lock_fd);
	free(origin.files_from);
	call->launch_us = call->fd < 0 ? 0 : clock_us() - call->launch_us;
	if (call->fd < 0)
		state_remove(call->sandboxes_fd, call->sandbox, &ignored);
	else
		memset(err, 0, sizeof(*err));
}

static char *sandbox_text(const struct sandbox *sandbox, bool whole)
{
	struct json_writer w = { 0 };

	sandbox_write(sandbox, whole, &w);
	return json_take(&w);
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
		answer_call(launcher, call, 0, &err);
		return;
	}
	sandbox->keeper_fd = fd_take(&call->fd);
	sandbox->state = SANDBOX_RUNNING;
	/* Nobody knows its id. */
	if (atomic_load(&call->cancelled))
		sandbox->ends_ms = 0;
	call->text = sandbox_text(sandbox, true);
	if (call->text) {
		answer_call(launcher, call, 201, NULL);
		return;
	}
	sandbox->ends_ms = 0; /* the client does not learn its id */
	error_no_memory(&call->answer.error, NULL);
	answer_call(launcher, call, 0, NULL);
}

static int take_timeout(const struct json_value *document, uint64_t *ret_ms, struct warder_error *err)
{
	const struct json_value *value = json_member(document, "timeoutMs");

	*ret_ms = TIMEOUT_MS;
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
	struct json_writer w = { 0 };
	bool is_good = !value || value->type == JSON_NULL || value->type == JSON_OBJECT;

	for (const struct json_value *one = value ? value->child : NULL; one; one = one->next)
		is_good &= one->type == JSON_STRING;
	if (!is_good)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "metadata",
				 "\"metadata\" must be an object of texts");
	if (!value || value->type == JSON_NULL)
		return 0;
	json_copy(&w, value);
	sandbox->metadata = json_take(&w);
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
		 template_of(context, call->document));
	sandbox->policy = warder_policy_json(call->policy);
	sandbox->base = call->base ? warder_policy_json(call->base) : NULL;
	return sandbox->policy && !sandbox->base == !call->base ? 0 : error_no_memory(err, NULL);
}

static int take_key(const struct json_value *document, const char **ret, struct warder_error *err)
{
	const struct json_value *value = json_member(document, "idempotencyKey");

	*ret = NULL;
	if (!value || value->type == JSON_NULL)
		return 0;
	if (value->type != JSON_STRING || !value->string[0] || strlen(value->string) > SANDBOX_KEY_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "idempotencyKey",
				 "\"idempotencyKey\" must be a text of 1 to %d bytes", SANDBOX_KEY_MAX);
	*ret = value->string;
	return 0;
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
	return call_say(context, call, sandbox_text(sandbox, true), err) < 0 ? -1 : 1;
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

static int create(struct context *context, struct call *call, struct warder_error *err)
{
	static const char *const members[] = { "template", "policy",         "env",    "timeoutMs",
					       "metadata", "idempotencyKey", "narrow", NULL };
	struct launcher *launcher = context->launcher;
	struct sandbox *sandbox;
	const char *key = NULL;
	char digest[SHA256_HEX];
	int found;

	link_digest(context->text, digest);
	if (call_parse(context, call, members, err) < 0 || take_key(call->document, &key, err) < 0)
		return -1;
	found = find_created(context, call, key, digest, err);
	if (found != 0)
		return found < 0 ? -1 : 0;
	find_snapshot(context, call);
	if (call_choose_policy(context, call->document, &call->policy, err) < 0 ||
	    (call->policy->policy.network.mode == POLICY_NETWORK_ALLOW &&
	     copy_policy(call->policy, &call->base, err) < 0) ||
	    narrow_network(&call->policy, json_member(call->document, "narrow"), err) < 0 ||
	    admit(launcher, context->tenant, &call->policy->policy, true, call, err) < 0)
		return -1;
	sandbox = sandbox_new(&launcher->sandboxes, err);
	if (!sandbox)
		return -1;
	memcpy(call->sandbox, sandbox->id, sizeof(sandbox->id));
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
			call_add_run(launcher, call);
			jobs_add(&launcher->jobs, &call->job);
			return 0;
		}
		error_no_memory(err, NULL);
	}
	sandboxes_remove(&launcher->sandboxes, sandbox);
	return -1;
}

/* ---- the end of a sandbox ---- */

static void remove_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	struct warder_error *err = &call->answer.error;

	call->answer.status = 204;
	if (session_stop(call->sandbox, NULL, NULL, err) < 0) {
		call->answer.status = 500;
		return;
	}
	memset(err, 0, sizeof(*err));
	if (state_remove(call->sandboxes_fd, call->sandbox, err) < 0)
		call->answer.status = 500;
}

static void remove_finish(struct job *job, void *of)
{
	struct call *call = (struct call *)(void *)job;
	struct launcher *launcher = of;
	struct sandbox *sandbox = sandboxes_find(&launcher->sandboxes, call->sandbox);

	if (call->answer.status == 204) {
		sandboxes_remove(&launcher->sandboxes, sandbox);
	} else {
		launcher->options->log(call->answer.error.text);
		sandbox->state = SANDBOX_RUNNING;
		sandbox->ends_ms = clock_wall_ms() + AGAIN_MS;
	}
	send_answer(launcher, call);
	call_free(call);
}

static void begin_remove(struct launcher *launcher, struct sandbox *sandbox, struct call *call)
{
	sandbox->state = SANDBOX_ENDING;
	fd_done(&sandbox->keeper_fd);
	call->job.changes = call->sandbox;
	call->job.work = remove_work;
	call->job.finish = remove_finish;
	jobs_add(&launcher->jobs, &call->job);
}

static int remove_sandbox(struct context *context, struct call *call, struct warder_error *err)
{
	if (context->sandbox->state != SANDBOX_RUNNING)
		return error_set(err, WARDER_ERROR_CONFLICT, "id", "sandbox %s %s", context->sandbox->id,
				 context->sandbox->state == SANDBOX_STARTING ? "is still being started"
									     : "is ending already");
	begin_remove(context->launcher, context->sandbox, call);
	return 0;
}

/* ---- a connection to a sandbox ---- */

static void open_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;

	if (remote_connect(call->sandbox, &call->fd, &call->answer.error) == 0) {
		memset(&call->answer.error, 0, sizeof(call->answer.error));
		call->answer.status = 200;
	} else {
		call->answer.status = link_status(call->answer.error.code);
	}
}

static int open_sandbox(struct context *context, struct call *call, struct warder_error *err)
{
	if (context->sandbox->state != SANDBOX_RUNNING)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "id", "sandbox %s does not run",
				 context->sandbox->id);
	call->text = sandbox_text(context->sandbox, true);
	if (!call->text)
		return error_no_memory(err, NULL);
	call->job.work = open_work;
	call->job.finish = call_finish;
	jobs_add(&context->launcher->jobs, &call->job);
	return 0;
}

/* ---- run ---- */

static int take_argv(const struct json_value *document, char ***ret, struct warder_error *err)
{
	const struct json_value *value = json_member(document, "argv");
	const size_t count = value && value->type == JSON_ARRAY ? json_length(value) : 0;
	char **argv;
	size_t i = 0;

	if (!count)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
				 "\"argv\" must be an array of texts, the program first");
	argv = calloc(count + 1, sizeof(*argv));
	if (!argv)
		return error_no_memory(err, NULL);
	for (const struct json_value *one = value->child; one; one = one->next) {
		if (one->type != JSON_STRING) {
			free(argv);
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
					 "\"argv\" must be an array of texts");
		}
		argv[i++] = one->string;
	}
	*ret = argv;
	return 0;
}

int call_take_input(const struct json_value *document, const char **ret, size_t *ret_len, char **ret_bytes,
		    struct warder_error *err)
{
	const struct json_value *encoded = json_member(document, "stdinBase64");

	*ret = json_member_text(document, "stdin", NULL);
	*ret_len = *ret ? strlen(*ret) : 0;
	if (!encoded)
		return 0;
	if (*ret)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "stdinBase64",
				 "\"stdin\" and \"stdinBase64\" are both given; leave one of them out");
	if (encoded->type == JSON_STRING)
		*ret_bytes = text_unbase64(encoded->string, strlen(encoded->string), ret_len);
	*ret = *ret_bytes;
	return *ret ? 0
		    : error_set(err, WARDER_ERROR_INVALID_REQUEST, "stdinBase64",
				"\"stdinBase64\" must be a text in base64, padded and without line breaks");
}

int call_sign(struct call *call, const char *name, struct warder_error *err)
{
	if (signing_sign(call->signing, name, call->request, call->request_len, &call->text, err) == 0)
		return 0;
	return call->began ? error_context(err, "the program ran") : -1;
}

int call_wait(struct call *call, struct warder_run *run, struct warder_error *err)
{
	struct warder_result *result = NULL;
	int done;

	call->began = true;
	while ((done = warder_wait_for(run, LOOK_US, &result, err)) == 0)
		if (atomic_load(&call->cancelled))
			warder_cancel(run);
	if (done > 0) {
		call->cause = warder_result_cause(result);
		call->text = warder_result_json(result);
		if (!call->text)
			done = error_no_memory(err, NULL);
	}
	warder_result_free(result);
	warder_run_free(run);
	return done > 0 ? 0 : -1;
}

static int run_program(struct call *call, struct warder_error *err)
{
	const struct warder_pool_key key = { .size = sizeof(key),
					     .policy = call->policy,
					     .tenant = call->tenant };
	struct warder_command command = { .size = sizeof(command) };
	struct warder_run *run = NULL;
	char **argv = NULL, *bytes = NULL;
	int done;

	if (call_take_input(call->document, &command.input, &command.input_len, &bytes, err) < 0)
		return -1;
	if (take_argv(call->document, &argv, err) < 0) {
		free(bytes);
		return -1;
	}
	command.argv = argv;
	call->launch_us = clock_us();
	done = warder_pool_launch(call->pool, &key, &command, &run, err);
	call->launch_us = done == 0 ? clock_us() - call->launch_us : 0;
	if (done == 0)
		done = call_wait(call, run, err);
	free(argv);
	free(bytes);
	return done;
}

static void run_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;

	call->answer.status =
	    run_program(call, &call->answer.error) == 0 && call_sign(call, "run", &call->answer.error) == 0
		? 200
		: 0;
}

/* Where nothing ran, the key is free again: the next request with it tries once more. */
void call_finish_repeat(struct launcher *launcher, struct call *call, bool happened)
{
	if (call->repeat && happened)
		repeats_finish(&launcher->repeats, call->repeat,
			       call->answer.status < 300 ? call->text : NULL, clock_us());
	else if (call->repeat)
		repeats_forget(&launcher->repeats, call->repeat);
	call->repeat = NULL;
}

static void launch_finish(struct job *job, void *of)
{
	struct call *call = (struct call *)(void *)job;
	struct launcher *launcher = of;

	if (call->steps && call->steps->goes_on(launcher, call))
		return;
	call_forget_run(launcher, call);
	if (call->answer.status == 200)
		memset(&call->answer.error, 0, sizeof(call->answer.error));
	else
		call->answer.status = link_status(call->answer.error.code);
	metrics_ended(&launcher->metrics, call->cause);
	if (call->answer.status != 200)
		metrics_refused(&launcher->metrics, call->answer.status);
	if (call->launch_us)
		metrics_launched(&launcher->metrics, METRICS_RUN, call->launch_us);
	else if (call->answer.status >= 500 && !call->began)
		launcher->metrics.failed[METRICS_RUN]++;
	call_finish_repeat(launcher, call, call->answer.status == 200 || call->began);
	call_finish(job, launcher);
}

/* Answer with what the same request was answered before. 0: it was not; 1: the call was answered; -1 with *err. */
static int find_answered(const struct context *context, struct call *call, const char *key,
			 const char *digest, struct warder_error *err)
{
	const struct repeat *repeat = repeats_find(&context->launcher->repeats, context->tenant->digest, key);

	if (!repeat)
		return 0;
	if (strcmp(repeat->request, digest) != 0)
		return error_set(err, WARDER_ERROR_CONFLICT, "idempotencyKey",
				 "another request had this key in the last 10 minutes; use a new key");
	if (!repeat->ended_us) {
		call->answer.retry_s = 1;
		return error_set(err, WARDER_ERROR_CONFLICT, "idempotencyKey",
				 "the program of a request with this key still runs; try again");
	}
	if (!repeat->answer)
		return error_set(err, WARDER_ERROR_CONFLICT, "idempotencyKey",
				 "the program of a request with this key has run, and its result was lost; "
				 "use a new key to run it again");
	return call_say(context, call, strdup(repeat->answer), err) < 0 ? -1 : 1;
}

/* The same text to another call, about another sandbox, or for another form of the answer is another request. */
static void digest_request(const struct context *context, char ret[SHA256_HEX])
{
	const uint32_t which = context->request->call;
	const uint64_t value = context->request->value;
	struct sha256 sha;

	sha256_init(&sha);
	sha256_add(&sha, &which, sizeof(which));
	if (value)
		sha256_add(&sha, &value, sizeof(value));
	if (context->sandbox)
		sha256_add(&sha, context->sandbox->id, sizeof(context->sandbox->id));
	sha256_add(&sha, context->text, context->len);
	sha256_hex(&sha, ret);
}

int call_find_repeat(const struct context *context, struct call *call, struct call_key *ret,
		     struct warder_error *err)
{
	if (take_key(call->document, &ret->key, err) < 0)
		return -1;
	if (!ret->key)
		return 0;
	digest_request(context, ret->digest);
	return find_answered(context, call, ret->key, ret->digest, err);
}

int call_begin_repeat(const struct context *context, struct call *call, const struct call_key *key,
		      struct warder_error *err)
{
	if (!key->key)
		return 0;
	call->repeat =
	    repeats_begin(&context->launcher->repeats, context->tenant->digest, key->key, key->digest);
	return call->repeat
		   ? 0
		   : error_set(err, WARDER_ERROR_UNAVAILABLE, "idempotencyKey",
			       "too many programs of the tenant run with a key; wait until one has ended");
}

int call_launch(struct context *context, struct call *call, void (*work)(struct job *job),
		struct warder_error *err)
{
	struct launcher *launcher = context->launcher;
	struct call_key key;
	const int found = call_find_repeat(context, call, &key, err);

	if (found != 0)
		return found < 0 ? -1 : 0;
	if (call_choose_policy(context, call->document, &call->policy, err) < 0 ||
	    admit(launcher, context->tenant, &call->policy->policy, false, call, err) < 0 ||
	    call_begin_repeat(context, call, &key, err) < 0)
		return -1;
	call->request = malloc(context->len);
	if (!call->request) {
		call_finish_repeat(launcher, call, false);
		return error_no_memory(err, NULL);
	}
	memcpy(call->request, context->text, context->len);
	call->request_len = context->len;
	call->memory_bytes = call->policy->policy.limits.memory_bytes;
	call->cpu_milli = call->policy->policy.limits.cpu_milli;
	call->job.work = work;
	call->job.finish = launch_finish;
	call->job.kind = JOB_PROGRAM;
	call_add_run(launcher, call);
	jobs_add(&launcher->jobs, &call->job);
	return 0;
}

static int run(struct context *context, struct call *call, struct warder_error *err)
{
	static const char *const members[] = { "template",    "policy",         "env", "argv", "stdin",
					       "stdinBase64", "idempotencyKey", NULL };

	return call_parse(context, call, members, err) < 0 || call_launch(context, call, run_work, err) < 0
		   ? -1
		   : 0;
}

/* ---- health ---- */

static void probe_work(struct job *job)
{
	static char program[] = "true";
	static char *const argv[] = { program, NULL };
	struct call *call = (struct call *)(void *)job;
	const struct warder_command command = { .size = sizeof(command), .argv = argv };
	struct warder_error *err = &call->answer.error;
	struct warder_template *tmpl = NULL;
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	int done = warder_prepare(call->policy, NULL, &tmpl, err);

	if (done == 0)
		done = warder_launch(tmpl, &command, &run, err);
	if (done == 0)
		done = warder_wait(run, &result, err);
	if (done == 0 && warder_result_exit_code(result) != 0)
		done = error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the probe's program ended by %s",
				 warder_result_cause(result));
	call->answer.status = done == 0 ? 200 : 503;
	warder_result_free(result);
	warder_run_free(run);
	warder_template_free(tmpl);
}

static void answer_waiting(struct launcher *launcher, bool good)
{
	struct call *waiting = launcher->health.waiting;

	launcher->health.waiting = NULL;
	while (waiting) {
		struct call *call = waiting;

		waiting = call->next_run;
		answer_call(launcher, call, good ? 200 : 503, good ? NULL : &launcher->health.why);
	}
}

static void probe_finish(struct job *job, void *of)
{
	struct call *call = (struct call *)(void *)job;
	struct launcher *launcher = of;
	struct launcher_health *health = &launcher->health;

	health->probe = NULL;
	health->ended_us = clock_us();
	health->good = call->answer.status == 200;
	health->why = call->answer.error;
	call_free(call);
	answer_waiting(launcher, health->good);
}

static int begin_probe(struct launcher *launcher, struct warder_error *err)
{
	struct call *probe = calloc(1, sizeof(*probe));

	if (!probe)
		return error_no_memory(err, NULL);
	probe->fd = -1;
	probe->job.tenant = "";
	if (copy_policy(settings_template(&launcher->settings, "base"), &probe->policy, err) < 0) {
		call_free(probe);
		return -1;
	}
	probe->job.work = probe_work;
	probe->job.finish = probe_finish;
	launcher->health.probe = &probe->job;
	jobs_add(&launcher->jobs, &probe->job);
	return 0;
}

bool call_is_stuck(const struct launcher *launcher)
{
	const struct job *probe = launcher->health.probe;

	return probe && probe->began_us && clock_us() - probe->began_us >= PROBE_STUCK_US;
}

static int say_stuck(struct warder_error *err)
{
	return error_set(
	    err, WARDER_ERROR_UNAVAILABLE, NULL,
	    "the last probe launch has not ended within 2 s: this host launches nothing until it has");
}

static int health(struct context *context, struct call *call, struct warder_error *err)
{
	struct launcher *launcher = context->launcher;
	struct launcher_health *health = &launcher->health;

	if (call_is_stuck(launcher))
		return say_stuck(err);
	if (!health->probe && health->ended_us && clock_us() - health->ended_us < PROBE_FRESH_US) {
		answer_call(launcher, call, health->good ? 200 : 503, health->good ? NULL : &health->why);
		return 0;
	}
	if (!health->probe && begin_probe(launcher, err) < 0)
		return -1;
	call->next_run = health->waiting;
	health->waiting = call;
	return 0;
}

/* ---- calls that answer at once ---- */

static int who(struct context *context, struct call *call, struct warder_error *err)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "name", context->tenant->name);
	json_key(&w, "scopes");
	tenant_write_scopes(context->tenant->scopes, &w);
	json_end_object(&w);
	return call_say(context, call, json_take(&w), err);
}

static int host(struct context *context, struct call *call, struct warder_error *err)
{
	const struct launcher *launcher = context->launcher;
	const struct tenant_use use = use_of(launcher, context->tenant->name);
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
static int capabilities(struct context *context, struct call *call, struct warder_error *err)
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
	answer_call(launcher, call, 200, NULL);
	return 0;
}

static int show_metrics(struct context *context, struct call *call, struct warder_error *err)
{
	return call_say(context, call, metrics_text(context->launcher, call_is_stuck(context->launcher)),
			err);
}

static int list(struct context *context, struct call *call, struct warder_error *err)
{
	const struct sandboxes *sandboxes = &context->launcher->sandboxes;
	struct json_writer w = { 0 };

	json_begin_array(&w);
	for (size_t i = 0; i < sandboxes->count; i++)
		if (sandbox_is_of(sandboxes->items[i], context->tenant))
			sandbox_write(sandboxes->items[i], false, &w);
	json_end_array(&w);
	return call_say(context, call, json_take(&w), err);
}

static int show(struct context *context, struct call *call, struct warder_error *err)
{
	return call_say(context, call, sandbox_text(context->sandbox, true), err);
}

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

int call_refuse_changing(const struct sandbox *sandbox, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_CONFLICT, "id",
			 "sandbox %s is being changed by another request; try again", sandbox->id);
}

/* ---- pause and resume ---- */

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

/* What its keeper says of it. *ret is for json_free(). -1 with *err. */
static int describe_session(const char *id, struct json_value **ret, struct warder_error *err)
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

	if (describe_session(id, &document, &ignored) == 0)
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

static int set_timeout(struct context *context, struct call *call, struct warder_error *err)
{
	const struct sandbox *sandbox = context->sandbox;
	uint64_t ends_ms = 0;

	if (sandbox->state != SANDBOX_RUNNING)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "id", "sandbox %s does not run", sandbox->id);
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

static int check_changeable(const struct sandbox *sandbox, bool paused, struct warder_error *err)
{
	if (sandbox->state != SANDBOX_RUNNING)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "id", "sandbox %s does not run", sandbox->id);
	if (sandbox->changing)
		return call_refuse_changing(sandbox, err);
	if ((sandbox->paused_ms != 0) != paused)
		return error_set(err, WARDER_ERROR_CONFLICT, "id", "sandbox %s is %s", sandbox->id,
				 paused ? "not paused" : "paused already");
	return 0;
}

/* While it is paused, no time limit of the client ends it. */
static int pause_sandbox(struct context *context, struct call *call, struct warder_error *err)
{
	const struct sandbox *sandbox = context->sandbox;

	return check_changeable(sandbox, false, err) < 0 ||
		       change(context, call, clock_wall_ms(), sandbox->created_ms + SANDBOX_LIFETIME_MS,
			      pause_work, err) < 0
		   ? -1
		   : 0;
}

static int resume_sandbox(struct context *context, struct call *call, struct warder_error *err)
{
	const uint64_t value_s = context->request->value;
	uint64_t ends_ms = 0;

	return check_changeable(context->sandbox, true, err) < 0 ||
		       find_end(context->sandbox, value_s ? value_s : TIMEOUT_MS / 1000, &ends_ms, err) < 0 ||
		       change(context, call, 0, ends_ms, resume_work, err) < 0
		   ? -1
		   : 0;
}

/* ---- other rules for its network ---- */

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
	const struct warder_policy *ceiling = ceiling_of(context, name, err);
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

static int replace_network(struct context *context, struct call *call, struct warder_error *err)
{
	static const char *const members[] = { "allow", "deny", "none", NULL };
	struct sandbox *sandbox = context->sandbox;
	const char *base = sandbox->base ? sandbox->base : sandbox->policy;
	struct sandbox other = *sandbox;

	if (check_changeable(sandbox, sandbox->paused_ms != 0, err) < 0 ||
	    call_parse(context, call, members, err) < 0 ||
	    warder_policy_parse(base, strlen(base), "sandbox", &call->policy, err) != 0 ||
	    narrow_running(&call->policy, call->document, err) < 0 ||
	    check_rules(context, &call->policy->policy, err) < 0)
		return -1;
	call->rules = warder_policy_json(call->policy);
	other.policy = call->rules;
	call->record = call->rules ? sandbox_record(&other) : NULL;
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

/* ---- the table ---- */

static int cancel(struct context *context, struct call *call, struct warder_error *err)
{
	cancel_run(context->launcher, context->launcher->front.generation, context->request->value);
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

static const struct row {
	/* Answers, or queues a job that does. -1 with *err: nothing was done, and the call is still the caller's. */
	int (*take)(struct context *context, struct call *call, struct warder_error *err);
	enum tenant_scope scope; /* 0: it needs no key */
	bool sandbox;            /* about one sandbox */
	bool launches;
	const char *name; /* in the log; NULL: it is not logged */
} rows[LINK_CALLS] = {
	[LINK_READY] = { ready, 0, false, false, NULL },
	[LINK_HEALTH] = { health, 0, false, false, NULL },
	[LINK_WHO] = { who, TENANT_READ, false, false, "who" },
	[LINK_HOST] = { host, TENANT_READ, false, false, "host" },
	[LINK_CREATE] = { create, TENANT_SANDBOXES, false, true, "create" },
	[LINK_LIST] = { list, TENANT_READ, false, false, "list" },
	[LINK_SHOW] = { show, TENANT_SANDBOXES, true, false, "show" },
	[LINK_REMOVE] = { remove_sandbox, TENANT_SANDBOXES, true, false, "remove" },
	[LINK_TIMEOUT] = { set_timeout, TENANT_SANDBOXES, true, false, "timeout" },
	[LINK_OPEN] = { open_sandbox, TENANT_SANDBOXES, true, false, "open" },
	[LINK_RUN] = { run, TENANT_RUN, false, true, "run" },
	[LINK_PAUSE] = { pause_sandbox, TENANT_SANDBOXES, true, false, "pause" },
	[LINK_RESUME] = { resume_sandbox, TENANT_SANDBOXES, true, false, "resume" },
	[LINK_CONTROLS] = { capabilities, TENANT_READ, false, true,
			    "controls" }, /* one that is stuck is not chosen */
	[LINK_CODE] = { calls_code, TENANT_RUN, false, true, "code" },
	[LINK_JUDGE] = { calls_judge, TENANT_RUN, false, true, "judge" },
	[LINK_POLICIES] = { calls_policies, TENANT_READ, false, false, "policies" },
	[LINK_POLICY] = { calls_policy, TENANT_READ, false, false, "policy" },
	[LINK_METRICS] = { show_metrics, TENANT_METRICS, false, false, "metrics" },
	[LINK_CANCEL] = { cancel, 0, false, false, NULL },
	[LINK_CERTIFICATE] = { certificate, 0, false, false, NULL },
	[LINK_NETWORK] = { replace_network, TENANT_SANDBOXES, true, false, "network" },
	[LINK_STORE] = { calls_store, TENANT_SANDBOXES, true, false, "store" },
	[LINK_SNAPSHOTS] = { calls_snapshots, TENANT_READ, false, false, "snapshots" },
	[LINK_FORGET] = { calls_forget, TENANT_SANDBOXES, false, false, "forget" },
	[LINK_MCP] = { calls_mcp, TENANT_SANDBOXES, true, true, "mcp" },
};

static int refuse_key(struct call *call, struct warder_error *err)
{
	call->answer.status = 401;
	return error_set(err, WARDER_ERROR_REJECTED, NULL, "the token is missing, wrong, expired or revoked");
}

/* What another tenant has is as if it were not there. */
static int no_sandbox(const struct link_request *request, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_NOT_FOUND, "id", "there is no sandbox %s", request->sandbox);
}

/* NULL: it is gone. */
static const struct tenant *owner_of(const struct launcher *launcher, const struct sandbox *sandbox)
{
	const struct tenant *named = tenants_named(&launcher->tenants, sandbox->tenant);

	return named && sandbox_is_of(sandbox, named) ? named : NULL;
}

static int check_sandbox_key(struct context *context, struct call *call, struct warder_error *err)
{
	const struct link_request *request = context->request;
	const struct sandbox *sandbox = context->sandbox;
	const char *digest =
	    request->key_kind == LINK_KEY_TRAFFIC ? sandbox->traffic_digest : sandbox->access_digest;

	if (strcmp(digest, request->key) != 0)
		return refuse_key(call, err);
	context->tenant = owner_of(context->launcher, sandbox);
	return context->tenant ? 0 : refuse_key(call, err);
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
		context->tenant = owner_of(context->launcher, context->sandbox);
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
	if (request->key_kind != LINK_KEY_TENANT && request->call != LINK_OPEN)
		return refuse_key(call, err);
	if (request->key_kind == LINK_KEY_SIGNATURE)
		return check_signature(context, call, err);
	if (row->sandbox)
		context->sandbox = sandboxes_find(&launcher->sandboxes, request->sandbox);
	if (request->key_kind == LINK_KEY_SANDBOX || request->key_kind == LINK_KEY_TRAFFIC)
		return context->sandbox ? check_sandbox_key(context, call, err) : no_sandbox(request, err);
	context->tenant = tenants_find(&launcher->tenants, request->key, clock_wall_ms());
	if (!context->tenant)
		return refuse_key(call, err);
	if (!(context->tenant->scopes & row->scope)) {
		call->answer.status = 403;
		return error_set(err, WARDER_ERROR_REJECTED, NULL, "the token has no scope for this");
	}
	if (row->sandbox && (!context->sandbox || !sandbox_is_of(context->sandbox, context->tenant)))
		return no_sandbox(request, err);
	return 0;
}

/* The front counts the requests of a tenant by this number, whichever of its keys they show. False: no memory. */
static bool name_tenant(const struct context *context, struct call *call)
{
	const struct launcher_rate *rate = rate_of(context->launcher, context->tenant->name);

	if (rate)
		call->answer.tenant = (uint64_t)(rate - context->launcher->rates) + 1;
	return rate != NULL;
}

static int take(struct context *context, struct call **call, struct warder_error *err)
{
	const struct row *row = &rows[context->request->call];

	(*call)->name = row->name;
	if (check_key(context, row, *call, err) < 0)
		return -1;
	if (row->launches && call_is_stuck(context->launcher))
		return say_stuck(err);
	/* Now that it is known who asks. */
	if (context->tenant && !name_tenant(context, *call))
		return error_no_memory(err, NULL);
	if (context->tenant)
		snprintf((*call)->tenant, sizeof((*call)->tenant), "%s", context->tenant->name);
	if (context->sandbox)
		memcpy((*call)->sandbox, context->sandbox->id, sizeof(context->sandbox->id));
	return row->take(context, *call, err);
}

void calls_take(struct launcher *launcher, const struct link_request *request, const int fds[LINK_FDS])
{
	struct context context = { .launcher = launcher, .request = request };
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
		answer_call(launcher, call, call->answer.status, &err);
	}
}

/* ---- tenants ---- */

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
		if (!owner_of(launcher, launcher->sandboxes.items[i]))
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

/* ---- time ---- */

/* A keeper says nothing to a connection that asks for nothing: it is readable when the keeper is gone. */
static bool has_ended(const struct sandbox *sandbox)
{
	char byte;

	return sandbox->keeper_fd >= 0 && recv(sandbox->keeper_fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

/* Those that wait for their next job. */
static void continue_runs(struct launcher *launcher)
{
	struct call *next;

	for (struct call *run = launcher->runs; run; run = next) {
		next = run->next_run;
		if (run->waits)
			launch_finish(&run->job, launcher);
	}
}

int calls_sweep(struct launcher *launcher)
{
	const struct context context = { .launcher = launcher, .request = &(const struct link_request){ 0 } };
	const uint64_t now_ms = clock_wall_ms();
	uint64_t next_ms = now_ms + 1000;

	repeats_sweep(&launcher->repeats, clock_us());
	continue_runs(launcher);
	if (call_is_stuck(launcher) && launcher->health.waiting) {
		say_stuck(&launcher->health.why);
		answer_waiting(launcher, false);
	}
	for (size_t i = 0; i < launcher->sandboxes.count; i++) {
		struct sandbox *sandbox = launcher->sandboxes.items[i];
		struct call *call;

		if (sandbox->state != SANDBOX_RUNNING)
			continue;
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
		memcpy(call->sandbox, sandbox->id, sizeof(sandbox->id));
		begin_remove(launcher, sandbox, call);
	}
	return (int)(next_ms - now_ms);
}

/* ---- after a restart ---- */

/* The policy that its keeper has. -1 with *err. */
static int policy_of_session(const char *id, struct warder_policy **ret, struct warder_error *err)
{
	struct json_value *document = NULL;
	int done = describe_session(id, &document, err);

	if (done == 0 && !json_member(document, "policy"))
		done = error_set(err, WARDER_ERROR_INTERNAL, "id", "the session of sandbox %s has no policy",
				 id);
	if (done == 0)
		done = parse_policy(json_member(document, "policy"), ret, err);
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
	if (remote_connect(sandbox->id, &sandbox->keeper_fd, &err) < 0) {
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
