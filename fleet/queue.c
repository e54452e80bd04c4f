/*
 * queue: streams, and what is stored in them.
 *
 * A request and a result are work-queue messages: the server removes each when its reader acknowledges it. The server drops a message whose id it
 * has seen lately, so that what was sent twice after a lost answer is stored once.
 *
 * Only the address that the user names is used: the server may announce others, and these are ignored, because the rule on encryption was
 * checked only for the address of the user.
 */
#include "fleet/queue.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "fleet/fleet.h"
#include "remote/remote.h"
#include "runtime/cli/term.h"

#define REQUESTS "WARDER_REQUESTS"
#define RESULTS  "WARDER_RESULTS"
#define DEAD     "WARDER_DEAD"
#define WORKERS  "workers" /* the consumer that they share */

#define ANSWER_MS     5000
#define RECONNECT_MS  250
#define SECOND_NS     INT64_C(1000000000)
#define HOUR_NS       (3600 * SECOND_NS)
#define MESSAGES_MAX  100000 /* that wait */
#define REQUESTS_MAX  (INT64_C(4) << 30)
#define OBJECTS_MAX   (INT64_C(4) << 30)
#define DEAD_MAX      (INT64_C(256) << 20) /* then the oldest ones go */
#define RESULT_ACK_NS (30 * SECOND_NS)
#define SUBJECT_MAX   256
#define OBJECT_HEADER "Warder-Object"
#define DIGEST_HEADER "Warder-Digest"
#define REASON_MAX    512
/* The requests are without a consumer for this time before a new one is made in its place. */
#define SETTLE_MS (2 * ANSWER_MS + 3000)

static int fail(natsStatus status, const char *what, struct warder_error *err)
{
	natsStatus last;
	const char *detail = nats_GetLastError(&last);

	return error_set(err, WARDER_ERROR_UNAVAILABLE, "--nats", "%s: %s%s%.200s", what,
			 natsStatus_GetText(status), detail && *detail ? ": " : "", detail ? detail : "");
}

/* ---- the connection ---- */

/* Encryption and credentials are needed except on this machine. */
static int check(const struct queue_options *options, bool *ret_encrypted, struct warder_error *err)
{
	const bool plain = strncmp(options->url, "nats://", 7) == 0;
	bool loopback = false;

	if (strchr(options->url, '@'))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--nats",
				 "--nats holds credentials; put them into the file that --credentials names");
	if ((!plain && strncmp(options->url, "tls://", 6) != 0) ||
	    !remote_is_address(options->url + (plain ? 7 : 6), &loopback))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--nats",
				 "--nats must be tls:// or nats://, a host and a port, as in "
				 "tls://nats.example.org:4222");
	if (plain && !loopback)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "--nats",
		    "--nats: nats:// is not encrypted, and is for 127.0.0.1 and [::1]; use tls://");
	if (!loopback && !options->credentials)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--credentials",
				 "a server on another machine needs --credentials FILE");
	*ret_encrypted = !plain;
	return 0;
}

/* The host of the URL, without brackets and port. */
static void take_host(const char *url, char ret[SUBJECT_MAX])
{
	const char *host = strstr(url, "://") + 3;

	snprintf(ret, SUBJECT_MAX, "%.*s", (int)(*host == '[' ? strcspn(host + 1, "]") : strcspn(host, ":/")),
		 *host == '[' ? host + 1 : host);
}

static natsStatus encrypt(natsOptions *of, const struct queue_options *options)
{
	char host[SUBJECT_MAX];
	natsStatus status = natsOptions_SetSecure(of, true);

	take_host(options->url, host);
	if (status == NATS_OK)
		status = natsOptions_SetExpectedHostname(of, host);
	if (status == NATS_OK && options->ca_file)
		status = natsOptions_LoadCATrustedCertificates(of, options->ca_file);
	return status;
}

static int connect_to(const struct queue_options *options, bool encrypted, struct queue *queue,
		      struct warder_error *err)
{
	natsOptions *of = NULL;
	natsStatus status = natsOptions_Create(&of);

	if (status == NATS_OK)
		status = natsOptions_SetURL(of, options->url);
	if (status == NATS_OK)
		status = natsOptions_SetName(of, FLEET_PROGRAM);
	if (status == NATS_OK)
		status = natsOptions_SetTimeout(of, ANSWER_MS);
	if (status == NATS_OK)
		status = natsOptions_SetIgnoreDiscoveredServers(of, true);
	if (status == NATS_OK)
		status = natsOptions_SetMaxReconnect(of, -1);
	if (status == NATS_OK)
		status = natsOptions_SetReconnectWait(of, RECONNECT_MS);
	if (status == NATS_OK && options->credentials)
		status = natsOptions_SetUserCredentialsFromFiles(of, options->credentials, NULL);
	if (status == NATS_OK && encrypted)
		status = encrypt(of, options);
	if (status == NATS_OK)
		status = natsConnection_Connect(&queue->connection, of);
	natsOptions_Destroy(of);
	return status == NATS_OK ? 0 : fail(status, options->url, err);
}

/* ---- streams ---- */

static const struct stream {
	const char *name, *subject, *about; /* about: only an object store has it */
	jsRetentionPolicy retention;
	jsDiscardPolicy discard;
	int64_t messages, bytes, age_ns, duplicates_ns;
} streams[] = {
	/* A request that is too much is refused, and does not push out another one. */
	{ REQUESTS, "warder.requests.*", NULL, js_WorkQueuePolicy, js_DiscardNew, MESSAGES_MAX, REQUESTS_MAX,
	  0, HOUR_NS },
	{ RESULTS, "warder.results.*.*.*", NULL, js_WorkQueuePolicy, js_DiscardNew, -1, -1,
	  FLEET_RESULTS_HOURS *HOUR_NS, HOUR_NS },
	{ OBJECTS_STREAM, OBJECTS_PARTS ">", OBJECTS_ABOUT ">", js_LimitsPolicy, js_DiscardNew, -1,
	  OBJECTS_MAX, FLEET_RESULTS_HOURS *HOUR_NS, HOUR_NS },
	{ DEAD, "warder.dead.*", NULL, js_LimitsPolicy, js_DiscardOld, MESSAGES_MAX, DEAD_MAX,
	  INT64_C(24) * FLEET_DEAD_DAYS *HOUR_NS, HOUR_NS },
};

static int make_stream(const struct queue *queue, const struct stream *stream, struct warder_error *err)
{
	const char *subjects[] = { stream->subject, stream->about };
	jsStreamConfig config;
	jsStreamInfo *info = NULL;
	jsErrCode code = 0;
	natsStatus status = js_GetStreamInfo(&info, queue->js, stream->name, NULL, &code);

	jsStreamInfo_Destroy(info);
	if (status == NATS_OK)
		return 0;
	jsStreamConfig_Init(&config);
	config.Name = stream->name;
	config.Subjects = subjects;
	config.SubjectsLen = stream->about ? 2 : 1;
	config.Retention = stream->retention;
	config.Discard = stream->discard;
	config.MaxMsgs = stream->messages;
	config.MaxBytes = stream->bytes;
	config.MaxAge = stream->age_ns;
	config.Duplicates = stream->duplicates_ns;
	config.Storage = js_FileStorage;
	config.AllowRollup = config.AllowDirect = stream->about != NULL;
	status = js_AddStream(NULL, queue->js, &config, NULL, &code);
	if (status == NATS_OK || code == JSStreamNameExistErr)
		return 0;
	return fail(status, stream->name, err);
}

int queue_open(const struct queue_options *options, struct queue *ret, struct warder_error *err)
{
	struct queue queue = { 0 };
	jsOptions patience;
	bool encrypted = false;
	int status;

	if (check(options, &encrypted, err) < 0)
		return -1;
	status = connect_to(options, encrypted, &queue, err);
	jsOptions_Init(&patience);
	patience.Wait = ANSWER_MS;
	if (status == 0 && natsConnection_JetStream(&queue.js, queue.connection, &patience) != NATS_OK)
		status = error_no_memory(err, NULL);
	for (size_t i = 0; status == 0 && i < ARRAY_LENGTH(streams); i++)
		status = make_stream(&queue, &streams[i], err);
	if (status == 0)
		*ret = queue;
	else
		queue_done(&queue);
	return status;
}

void queue_done(struct queue *queue)
{
	jsCtx_Destroy(queue->js);
	natsConnection_Destroy(queue->connection);
	*queue = (struct queue){ 0 };
}

/* ---- reading ---- */

/* Another worker has made the consumer at the same moment. */
static bool is_made_by_another(jsErrCode code)
{
	return code == JSConsumerNameExistErr || code == JSConsumerWQMultipleUnfilteredErr ||
	       code == JSConsumerWQConsumerNotUniqueErr;
}

int queue_share_requests(const struct queue *queue, uint64_t redeliver_us, struct warder_error *err)
{
	jsConsumerConfig config;
	jsErrCode code = 0;
	natsStatus status;

	jsConsumerConfig_Init(&config);
	config.Durable = WORKERS;
	config.AckPolicy = js_AckExplicit;
	config.AckWait = (int64_t)redeliver_us * 1000;
	config.MaxDeliver = -1; /* the worker that gets it once too often gives it up, with the reason */
	config.MaxAckPending = MESSAGES_MAX;
	status = js_AddConsumer(NULL, queue->js, REQUESTS, &config, NULL, &code);
	if (status != NATS_OK && is_made_by_another(code)) /* now it is there, and this gives it our time */
		status = js_AddConsumer(NULL, queue->js, REQUESTS, &config, NULL, &code);
	return status == NATS_OK ? 0 : fail(status, "the queue of requests", err);
}

/* All workers see at about the same time that the consumer is to be made again, and the server deletes one by its name, whichever it is. If one
 * worker made it at once, the next would delete the new one, and with it what the server knows of requests that run. Who has seen the old one deletes
 * it within two answers of the server (of delete_seen()), and nobody makes a new one before. */
static void make_again(const struct queue *queue, uint64_t redeliver_us)
{
	struct warder_error err;

	nats_Sleep(SETTLE_MS);
	if (queue_share_requests(queue, redeliver_us, &err) < 0) /* the next sweep tries it again */
		term_complain("%s", err.text);
}

/* Delete the consumer, if it is still the one that was seen. False: it is another one, or the server does not answer. */
static bool delete_seen(const struct queue *queue, const jsConsumerInfo *seen)
{
	jsConsumerInfo *now = NULL;
	const natsStatus status = js_GetConsumerInfo(&now, queue->js, REQUESTS, WORKERS, NULL, NULL);
	const bool same = status == NATS_OK && now->Created == seen->Created;

	jsConsumerInfo_Destroy(now);
	if (same)
		js_DeleteConsumer(queue->js, REQUESTS, WORKERS, NULL, NULL);
	return same || status == NATS_NOT_FOUND;
}

static void sweep(const struct queue *queue, const jsConsumerInfo *workers, const jsStreamInfo *requests,
		  uint64_t redeliver_us)
{
	jsOptions options;

	/* It is ahead of its stream, and would skip new requests until the stream is there. */
	if (workers->Delivered.Stream > requests->State.LastSeq) {
		if (delete_seen(queue, workers))
			make_again(queue, redeliver_us);
		return;
	}
	/* All requests up to this one have been acknowledged, except those that the server stored at positions of lost ones: their sender sends them
	 * again. An operator may have made a stream that keeps them. */
	if (requests->Config->Retention != js_WorkQueuePolicy || !requests->State.Msgs ||
	    requests->State.FirstSeq > workers->AckFloor.Stream)
		return;
	jsOptions_Init(&options);
	options.Stream.Purge.Sequence = workers->AckFloor.Stream + 1;
	js_PurgeStream(queue->js, REQUESTS, &options, NULL);
}

void queue_sweep_requests(const struct queue *queue, uint64_t redeliver_us)
{
	jsConsumerInfo *workers = NULL;
	jsStreamInfo *requests = NULL;
	natsStatus status;

	/* In this order: what is delivered meanwhile is in the stream that is seen. */
	status = js_GetConsumerInfo(&workers, queue->js, REQUESTS, WORKERS, NULL, NULL);
	if (status == NATS_OK && js_GetStreamInfo(&requests, queue->js, REQUESTS, NULL, NULL) == NATS_OK)
		sweep(queue, workers, requests, redeliver_us);
	else if (status == NATS_NOT_FOUND)
		make_again(queue, redeliver_us);
	jsConsumerInfo_Destroy(workers);
	jsStreamInfo_Destroy(requests);
}

static int subscribe(const struct queue *queue, const char *stream, const char *consumer,
		     natsSubscription **ret, struct warder_error *err)
{
	jsSubOptions options;
	natsStatus status;

	jsSubOptions_Init(&options);
	options.Stream = stream;
	options.Consumer = consumer;
	status = js_PullSubscribe(ret, queue->js, NULL, consumer, NULL, &options, NULL);
	return status == NATS_OK ? 0 : fail(status, stream, err);
}

int queue_take_requests(const struct queue *queue, natsSubscription **ret, struct warder_error *err)
{
	return subscribe(queue, REQUESTS, WORKERS, ret, err);
}

int queue_take_results(const struct queue *queue, const char *tenant, const char *batch,
		       natsSubscription **ret, struct warder_error *err)
{
	char subject[SUBJECT_MAX];
	jsConsumerConfig config;
	natsStatus status;

	snprintf(subject, sizeof(subject), "warder.results.%s.%s.*", tenant, batch);
	jsConsumerConfig_Init(&config);
	config.Durable = batch;
	config.AckPolicy = js_AckExplicit;
	config.AckWait = RESULT_ACK_NS;
	config.FilterSubject = subject;
	config.InactiveThreshold = FLEET_RESULTS_HOURS * HOUR_NS; /* as long as the results wait */
	status = js_AddConsumer(NULL, queue->js, RESULTS, &config, NULL, NULL);
	return status == NATS_OK ? subscribe(queue, RESULTS, batch, ret, err)
				 : fail(status, "the queue of results", err);
}

void queue_forget_results(const struct queue *queue, const char *batch)
{
	js_DeleteConsumer(queue->js, RESULTS, batch, NULL, NULL);
}

uint64_t queue_reconnects(const struct queue *queue)
{
	natsStatistics *counts = NULL;
	uint64_t reconnects = 0;

	if (natsStatistics_Create(&counts) == NATS_OK &&
	    natsConnection_GetStats(queue->connection, counts) == NATS_OK)
		natsStatistics_GetCounts(counts, NULL, NULL, NULL, NULL, &reconnects);
	natsStatistics_Destroy(counts);
	return reconnects;
}

bool queue_is_lost(const struct queue *queue)
{
	return natsConnection_IsClosed(queue->connection);
}

int queue_lost(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "--nats",
			 "the connection is closed for good: the server has refused the credentials twice");
}

natsMsg *queue_next(natsSubscription *subscription, unsigned int within_ms)
{
	natsMsgList list = { 0 };
	natsMsg *message = NULL;
	const natsStatus status = natsSubscription_Fetch(&list, subscription, 1, within_ms, NULL);

	if (status == NATS_OK && list.Count == 1) {
		message = list.Msgs[0];
		list.Msgs[0] = NULL;
	} else if (status != NATS_TIMEOUT) { /* no connection now */
		nats_Sleep(within_ms < RECONNECT_MS ? within_ms : RECONNECT_MS);
	}
	natsMsgList_Destroy(&list);
	return message;
}

/* ---- writing ---- */

/* What the server said of a message that it has. */
struct stored {
	uint64_t position;
	bool is_duplicate;
};

static int put(const struct queue *queue, natsMsg *message, const char *id, struct stored *ret,
	       struct warder_error *err)
{
	jsPubOptions options;
	jsPubAck *stored = NULL;
	jsErrCode code = 0;
	natsStatus status;

	jsPubOptions_Init(&options);
	options.MsgId = id;
	options.MaxWait = ANSWER_MS;
	status = js_PublishMsg(&stored, queue->js, message, &options, &code);
	natsMsg_Destroy(message);
	if (status == NATS_OK) {
		*ret = (struct stored){ .position = stored->Sequence, .is_duplicate = stored->Duplicate };
		jsPubAck_Destroy(stored);
		return 0;
	}
	fail(status, "the server does not store a message", err);
	if (status == NATS_MAX_PAYLOAD || status == NATS_INVALID_ARG)
		return -1;
	return code ? 2 : 1;
}

int queue_put(const struct queue *queue, natsMsg *message, const char *id, struct warder_error *err)
{
	struct stored ignored;

	return put(queue, message, id, &ignored, err);
}

int queue_put_request(const struct queue *queue, const char *tenant, const char *id, const char *text,
		      size_t len, uint64_t *ret_position, struct warder_error *err)
{
	char subject[SUBJECT_MAX];
	struct stored stored = { 0 };
	natsMsg *message = NULL;
	int status;

	snprintf(subject, sizeof(subject), "warder.requests.%s", tenant);
	if (natsMsg_Create(&message, subject, NULL, text, (int)len) != NATS_OK)
		return error_no_memory(err, NULL);
	status = put(queue, message, id, &stored, err);
	if (status == 0)
		*ret_position = stored.position;
	return status;
}

uint64_t queue_delivered(const struct queue *queue)
{
	jsConsumerInfo *workers = NULL;
	const natsStatus status = js_GetConsumerInfo(&workers, queue->js, REQUESTS, WORKERS, NULL, NULL);
	const uint64_t position = status == NATS_OK          ? workers->Delivered.Stream
				  : status == NATS_NOT_FOUND ? 0
							     : UINT64_MAX;

	jsConsumerInfo_Destroy(workers);
	return position;
}

int queue_find_request(const struct queue *queue, uint64_t position, const char *text, size_t len)
{
	natsMsg *message = NULL;
	const natsStatus status = js_GetMsg(&message, queue->js, REQUESTS, position, NULL, NULL);
	const bool same = status == NATS_OK && (size_t)natsMsg_GetDataLength(message) == len &&
			  memcmp(natsMsg_GetData(message), text, len) == 0;

	natsMsg_Destroy(message);
	return same ? 0 : status == NATS_OK || status == NATS_NOT_FOUND ? 1 : -1;
}

int queue_put_result(const struct queue *queue, const struct message *message, const char *json,
		     const struct object *object, bool *ret_duplicate, struct warder_error *err)
{
	struct stored stored = { 0 };
	char subject[SUBJECT_MAX];
	natsMsg *result = NULL;
	natsStatus status;
	int put_status;

	snprintf(subject, sizeof(subject), "warder.results.%s.%s.%s", message->tenant, message->batch,
		 message->id);
	status = natsMsg_Create(&result, subject, NULL, json ? json : "", json ? (int)strlen(json) : 0);
	if (status == NATS_OK && object)
		status = natsMsgHeader_Set(result, OBJECT_HEADER, object->name);
	if (status == NATS_OK && object)
		status = natsMsgHeader_Set(result, DIGEST_HEADER, object->digest);
	if (status != NATS_OK) {
		natsMsg_Destroy(result);
		return error_no_memory(err, NULL);
	}
	put_status = put(queue, result, message->id, &stored, err);
	*ret_duplicate = stored.is_duplicate;
	return put_status;
}

int queue_take_object(natsMsg *message, struct object *ret, struct warder_error *err)
{
	const char *name = NULL, *digest = NULL;

	if (natsMsgHeader_Get(message, OBJECT_HEADER, &name) != NATS_OK)
		return 1;
	if (strlen(name) != OBJECT_NAME_BYTES - 1 || strspn(name, "0123456789abcdef") != strlen(name) ||
	    natsMsgHeader_Get(message, DIGEST_HEADER, &digest) != NATS_OK ||
	    strlen(digest) != OBJECT_DIGEST_BYTES - 1)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "result",
				 "the result names no object of a worker");
	memcpy(ret->name, name, sizeof(ret->name));
	memcpy(ret->digest, digest, sizeof(ret->digest));
	return 0;
}

int queue_bury(const struct queue *queue, const struct message *message, uint64_t deliveries,
	       const char *reason, struct warder_error *err)
{
	char subject[SUBJECT_MAX], number[24], line[REASON_MAX];
	natsMsg *dead = NULL;
	natsStatus status;

	snprintf(subject, sizeof(subject), "warder.dead.%s", message->tenant ? message->tenant : "unknown");
	snprintf(number, sizeof(number), "%llu", (unsigned long long)deliveries);
	snprintf(line, sizeof(line), "%s", reason);
	for (char *at = line; *at; at++)
		if ((unsigned char)*at < ' ')
			*at = ' ';
	status = natsMsg_Create(&dead, subject, NULL, message->text, (int)message->len);
	if (status == NATS_OK)
		status = natsMsgHeader_Set(dead, "Warder-Request", message->id);
	if (status == NATS_OK)
		status = natsMsgHeader_Set(dead, "Warder-Deliveries", number);
	if (status == NATS_OK)
		status = natsMsgHeader_Set(dead, "Warder-Reason", line);
	if (status == NATS_OK)
		return queue_put(queue, dead, message->id, err);
	natsMsg_Destroy(dead);
	return error_no_memory(err, NULL);
}
