/*
 * worker: one thread for each request that may run at the same time.
 *
 * A thread acknowledges a request only after the server has stored its result. So a request whose worker dies comes back, to any worker, and what it
 * does may happen twice. A request that has come back too often is given up: it goes to the dead letters, and its sender gets the reason.
 *
 * A host that cannot run programs fails faster than others run them, and would soon have tried all requests too often. So after a
 * request that could not be run, the worker tries a program of its own. If that fails too, the worker takes no request for a while.
 */
#include "fleet/worker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "fleet/execute.h"
#include "fleet/fleet.h"
#include "fleet/objects.h"
#include "host/launcher/grant.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/term.h"
#include "runtime/library/result.h"

#define FETCH_MS 2000
#define SWEEP_US 15000000
#define LOOK_US  1000000 /* for the state of the connection */
#define AGAIN_MS                                                                                             \
	3000 /* a request that has failed here waits that long: until no thread of a worker that rests waits for it */
#define REST_MS     5000 /* at first; then twice as long each time */
#define REST_MAX_MS 60000
#define RETRY_MS    200
#define REFUSED_US  10000000 /* then a long result that the server does not take is given up */
#define BEATS       3        /* within the time of --redeliver-after */
#define STACK_BYTES ((size_t)512 << 10)

struct worker {
	const struct queue *queue;
	const struct worker_options *options;
	struct settings settings;
	atomic_uint rest_ms;            /* the last rest; 0: a program has run since */
	_Atomic uint64_t rest_until_us; /* no request is taken before */
};

struct slot {
	struct worker *worker;
	natsSubscription *subscription;
	pthread_t thread;
	natsMsg *delivery; /* the request at hand */
};

/* What becomes of a request. */
enum verdict {
	VERDICT_RESULT, /* it has run, or its tenant may not run it: the answer */
	VERDICT_DEAD,   /* it is not a tenant's request, or has been tried too often */
	VERDICT_AGAIN,  /* this worker could not try it */
};

static atomic_bool stopping; /* the worker cannot go on */

static bool ends(void)
{
	return ending_signal() != 0 || atomic_load(&stopping);
}

static void beat(void *context)
{
	struct slot *slot = context;

	natsMsg_InProgress(slot->delivery, NULL);
}

/* ---- a request ---- */

/* Nobody waits for its result any more. Not known of a message that is not valid. */
static bool has_expired(const struct message *message)
{
	return message->expires_ms && message->expires_ms <= clock_wall_ms();
}

static enum verdict take_tenant(const struct worker *worker, const struct message *message,
				struct tenant *ret, struct warder_error *err)
{
	if (tenants_read(worker->options->state, message->tenant, ret, err) < 0) {
		if (err->code != WARDER_ERROR_NOT_FOUND)
			return VERDICT_AGAIN;
		error_set(err, WARDER_ERROR_REJECTED, "tenant", "the worker knows no tenant %.64s",
			  message->tenant);
		return VERDICT_DEAD;
	}
	if (!ret->request_key[0]) {
		error_set(err, WARDER_ERROR_REJECTED, "tenant",
			  "tenant %.64s has no key for requests; see \"warder tenant add --request-key\"",
			  message->tenant);
		return VERDICT_DEAD;
	}
	if (message_check(message, ret->request_key, err) < 0)
		return VERDICT_DEAD;
	if (!(ret->scopes & TENANT_RUN))
		error_set(err, WARDER_ERROR_REJECTED, "tenant",
			  "tenant %.64s may not run programs: it lacks the scope run", message->tenant);
	else if (ret->expires_ms && ret->expires_ms <= clock_wall_ms())
		error_set(err, WARDER_ERROR_REJECTED, "tenant", "tenant %.64s has expired", message->tenant);
	return VERDICT_RESULT;
}

/* As execute(). */
static int run_under(struct slot *slot, const struct json_value *request, const struct warder_policy *policy,
		     char **ret_json, struct warder_error *err)
{
	const struct worker_options *options = slot->worker->options;
	char *text = warder_policy_json(policy);
	const struct execution execution = {
		.program = options->program,
		.policy = text,
		.request = request,
		.beat = beat,
		.ends = ends,
		.context = slot,
		.beat_ms = (unsigned int)(options->redeliver_us / 1000 / BEATS),
	};
	const int status = text ? execute(&execution, ret_json, err) : error_no_memory(err, NULL);

	free(text);
	return status;
}

static enum verdict run(struct slot *slot, const struct message *message, const struct tenant *tenant,
			char **ret_json, struct warder_error *err)
{
	struct warder_policy *policy = NULL;
	int status;

	if (message_check_request(message->request, err) < 0 ||
	    grant_policy(&slot->worker->settings, tenant,
			 json_member_text(message->request, "template", "base"), message->request, &policy,
			 err) < 0)
		return VERDICT_RESULT;
	status = run_under(slot, message->request, policy, ret_json, err);
	warder_policy_free(policy);
	return status == 1 ? VERDICT_AGAIN : VERDICT_RESULT;
}

/* Whether this host runs a program that no tenant has chosen. False with *err. */
static bool can_run(struct slot *slot, struct warder_error *err)
{
	static const char request_text[] = "{\"argv\": [\"true\"]}";
	static const char policy_text[] = "{\"version\": 1, \"limits\": {\"wallTime\": \"1m\"}, "
					  "\"enforcement\": {\"limits\": \"preferred\"}}";
	struct json_value *request = NULL;
	struct warder_policy *policy = NULL;
	char *json = NULL;
	int status = json_parse(request_text, strlen(request_text), "request", NULL, &request, err);

	if (status == 0)
		status = warder_policy_parse(policy_text, strlen(policy_text), "policy", &policy, err);
	if (status == 0)
		status = run_under(slot, request, policy, &json, err);
	warder_policy_free(policy);
	json_free(request);
	free(json);
	return status == 0;
}

/* why: the host cannot run programs. */
static void rest(struct worker *worker, const struct warder_error *why)
{
	const uint64_t now_us = clock_us();
	unsigned int rest_ms = atomic_load(&worker->rest_ms);

	if (now_us < atomic_load(&worker->rest_until_us))
		return;
	rest_ms = !rest_ms ? REST_MS : rest_ms < REST_MAX_MS / 2 ? 2 * rest_ms : REST_MAX_MS;
	atomic_store(&worker->rest_ms, rest_ms);
	atomic_store(&worker->rest_until_us, now_us + rest_ms * UINT64_C(1000));
	term_complain("this host cannot run programs: %s; the worker takes the next request in %u seconds; "
		      "\"warder doctor\" shows what is missing",
		      why->text, rest_ms / 1000);
}

/* Run it. If this host cannot, another one may, until the request has been delivered too often. */
static enum verdict attempt(struct slot *slot, const struct message *message, const struct tenant *tenant,
			    uint64_t deliveries, char **ret_json, struct warder_error *err)
{
	const enum verdict verdict = run(slot, message, tenant, ret_json, err);
	struct warder_error why = { 0 };

	if (verdict == VERDICT_RESULT && *ret_json)
		atomic_store(&slot->worker->rest_ms, 0);
	if (verdict != VERDICT_AGAIN || ends())
		return verdict;
	if (!can_run(slot, &why))
		rest(slot->worker, &why);
	if (deliveries < slot->worker->options->deliveries)
		return VERDICT_AGAIN;
	error_context(err, "the request was delivered %u times, and no worker could run it",
		      (unsigned int)deliveries);
	return VERDICT_DEAD;
}

/* VERDICT_RESULT: *ret_json, or *err where that is NULL. */
static enum verdict decide(struct slot *slot, struct message *message, uint64_t deliveries, char **ret_json,
			   struct warder_error *err)
{
	struct tenant tenant = { 0 };
	enum verdict verdict;

	if (message_read(natsMsg_GetData(slot->delivery), (size_t)natsMsg_GetDataLength(slot->delivery),
			 message, err) < 0)
		return VERDICT_DEAD;
	verdict = take_tenant(slot->worker, message, &tenant, err);
	if (verdict == VERDICT_RESULT && err->code == WARDER_ERROR_NONE &&
	    deliveries > slot->worker->options->deliveries) {
		error_set(err, WARDER_ERROR_EXECUTION_FAILED, NULL,
			  "the request was delivered %u times without an answer: the workers ended, or could "
			  "not run it",
			  slot->worker->options->deliveries);
		verdict = VERDICT_DEAD;
	}
	if (verdict == VERDICT_AGAIN && has_expired(message)) {
		error_context(err, "the request has expired");
		verdict = VERDICT_DEAD;
	}
	if (verdict == VERDICT_RESULT && err->code == WARDER_ERROR_NONE)
		verdict = attempt(slot, message, &tenant, deliveries, ret_json, err);
	tenant_done(&tenant);
	return verdict;
}

/* ---- its answer ---- */

/* A long result becomes an object. 0; 1: this process is to end; -1 with *err: the server does not take it, or has refused it for too long. */
static int put_object(struct slot *slot, const struct message *message, const char *json, struct object *ret,
		      struct warder_error *err)
{
	const struct object_source source = {
		.bytes = json, .len = strlen(json), .beat = beat, .context = slot
	};
	uint64_t refused_us = 0;

	for (;;) {
		const int status = objects_put(slot->worker->queue, &source, ret, err);

		if (status <= 0)
			return status;
		if (ends())
			return 1;
		if (status == 2 && !refused_us)
			refused_us = clock_us();
		if (has_expired(message) || (status == 2 && clock_us() >= refused_us + REFUSED_US))
			return -1;
		nats_Sleep(RETRY_MS);
		beat(slot);
	}
}

/* Until the server has stored it, this process is to end, or nobody waits for it. The result is `json` or an object. 0; 1: it is to end; -1
 * with *err. */
static int put_result(struct slot *slot, const struct message *message, const char *json,
		      const struct object *object, struct warder_error *err)
{
	const struct queue *queue = slot->worker->queue;
	bool unknown = false, duplicate = false;
	int status;

	while ((status = queue_put_result(queue, message, json, object, &duplicate, err)) > 0) {
		unknown = unknown || status == 1; /* the server may have stored it all the same */
		if (ends() || has_expired(message))
			break;
		nats_Sleep(RETRY_MS);
		beat(slot);
	}
	if (status > 0 && !ends())
		term_complain("result %.16s: nobody waits for it any more: %s", message->id, err->text);
	if (object && !unknown && (status != 0 || duplicate))
		objects_remove(queue, object);
	return status <= 0 ? status : ends() ? 1 : 0;
}

/* As put_result(). If the object of a long result cannot be stored, the sender gets an error that says so. */
static int publish(struct slot *slot, const struct message *message, const char *json,
		   struct warder_error *err)
{
	const size_t len = strlen(json);
	const bool is_long = len > FLEET_MESSAGE_MAX;
	struct object object = { 0 };
	struct warder_error reason;
	char *text;
	int status = is_long ? put_object(slot, message, json, &object, err) : 0;

	if (status == 0)
		return put_result(slot, message, is_long ? NULL : json, is_long ? &object : NULL, err);
	if (status > 0)
		return status;
	reason = *err;
	error_set(
	    err, WARDER_ERROR_UNAVAILABLE, "output",
	    "the program ran, but its result of %zu bytes is lost: %.200s. A result of at most %zu bytes "
	    "needs no object store: set output.stdout and output.stderr in the policy",
	    len, reason.text, FLEET_MESSAGE_MAX);
	term_complain("result %.16s: %s", message->id, err->text);
	text = result_error_json(err, NULL);
	status = text ? put_result(slot, message, text, NULL, err) : error_no_memory(err, NULL);
	free(text);
	return status;
}

/* Publish the result, or what the tenant is to know instead. */
static int answer(struct slot *slot, const struct message *message, char *json, struct warder_error *err)
{
	char *text = json ? strdup(json) : result_error_json(err, NULL);
	int status;

	if (text && strlen(text) > FLEET_RESULT_MAX) {
		error_set(
		    err, WARDER_ERROR_REJECTED, "output",
		    "the program ran, and its result has %zu bytes; at most %zu can wait in the server. Set "
		    "output.stdout and output.stderr in the policy",
		    strlen(text), FLEET_RESULT_MAX);
		free(text);
		text = result_error_json(err, NULL);
	}
	status = text ? publish(slot, message, text, err) : error_no_memory(err, NULL);
	free(text);
	return status;
}

/* 0; 1: it did not work. */
static int bury(struct slot *slot, const struct message *message, uint64_t deliveries,
		struct warder_error *err)
{
	const struct warder_error reason = *err;

	if (queue_bury(slot->worker->queue, message, deliveries, reason.text, err) != 0)
		return 1;
	term_complain("dead letter %.16s of tenant %s: %s", message->id,
		      message->tenant ? message->tenant : "unknown", reason.text);
	*err = reason;
	return message->batch ? answer(slot, message, NULL, err) : 0;
}

static void handle(struct slot *slot)
{
	struct warder_error err = { 0 };
	jsMsgMetaData *data = NULL;
	struct message message = { 0 };
	uint64_t deliveries = 1;
	char *json = NULL;
	enum verdict verdict;
	int status = 1;

	if (natsMsg_GetMetaData(&data, slot->delivery) == NATS_OK)
		deliveries = data->NumDelivered;
	jsMsgMetaData_Destroy(data);
	verdict = decide(slot, &message, deliveries, &json, &err);
	if (verdict == VERDICT_RESULT)
		status = answer(slot, &message, json, &err);
	else if (verdict == VERDICT_DEAD)
		status = bury(slot, &message, deliveries, &err);
	if (status == 0)
		natsMsg_AckSync(slot->delivery, NULL, NULL);
	else
		natsMsg_NakWithDelay(slot->delivery, ends() ? 0 : AGAIN_MS, NULL);
	if (status != 0 && !ends())
		term_complain("request %.16s is tried again: %s", message.id, err.text);
	free(json);
	message_done(&message);
}

/* ---- threads ---- */

static void *work(void *context)
{
	struct slot *slot = context;

	while (!ends()) {
		if (clock_us() < atomic_load(&slot->worker->rest_until_us)) {
			nats_Sleep(RETRY_MS);
			continue;
		}
		slot->delivery = queue_next(slot->subscription, FETCH_MS);
		if (!slot->delivery)
			continue;
		if (ends())
			natsMsg_Nak(slot->delivery, NULL);
		else
			handle(slot);
		natsMsg_Destroy(slot->delivery);
		slot->delivery = NULL;
	}
	return NULL;
}

static int start(struct slot *slot, struct worker *worker, struct warder_error *err)
{
	pthread_attr_t attributes;
	int failed;

	slot->worker = worker;
	if (queue_take_requests(worker->queue, &slot->subscription, err) < 0)
		return -1;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	failed = pthread_create(&slot->thread, &attributes, work, slot);
	pthread_attr_destroy(&attributes);
	return failed ? error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--parallel", failed,
					"cannot start a thread")
		      : 0;
}

/* Until it is to end. -1 with *err: it cannot go on. */
static int look_after(const struct worker *worker, struct warder_error *err)
{
	uint64_t swept_us = 0, reconnects = 0;

	while (!ends()) {
		const uint64_t now = queue_reconnects(worker->queue);

		if (!swept_us || clock_us() >= swept_us + SWEEP_US || now != reconnects) {
			queue_sweep_requests(worker->queue, worker->options->redeliver_us);
			swept_us = clock_us();
			reconnects = now;
		}
		ending_sleep(LOOK_US);
		if (queue_is_lost(worker->queue))
			return queue_lost(err);
	}
	return 0;
}

static int work_all(struct worker *worker, struct slot *slots, struct warder_error *err)
{
	unsigned int count = 0;
	int status = 0;

	while (count < worker->options->parallel && (status = start(&slots[count], worker, err)) == 0)
		count++;
	if (status == 0) {
		puts("ready");
		fflush(stdout);
	}
	if (status == 0)
		status = look_after(worker, err);
	atomic_store(&stopping, true);
	for (unsigned int i = 0; i < worker->options->parallel; i++) {
		if (i < count)
			pthread_join(slots[i].thread, NULL);
		natsSubscription_Destroy(slots[i].subscription);
	}
	natsConnection_FlushTimeout(worker->queue->connection, FETCH_MS);
	return status;
}

int worker_run(const struct queue *queue, const struct worker_options *options, struct warder_error *err)
{
	struct worker worker = { .queue = queue, .options = options };
	struct slot *slots = calloc(options->parallel, sizeof(*slots));
	int status;

	if (!slots)
		return error_no_memory(err, NULL);
	status = settings_load(options->config, &worker.settings, err);
	if (status == 0)
		status = queue_share_requests(queue, options->redeliver_us, err);
	if (status == 0)
		status = work_all(&worker, slots, err);
	settings_done(&worker.settings);
	free(slots);
	return status;
}
