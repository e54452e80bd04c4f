/*
 * submit: at most PENDING_MAX requests are under way at a time, so that memory is bounded whatever the length of the input.
 *
 * A server that is killed can lose what it has confirmed just before: a request, or the result of one that it has removed. So after the
 * connection was lost, a request that is not in the server any more and gets no result within CHECK_MS is sent again.
 *
 * So is a request at a position up to which the workers have taken requests before it was sent: the server has lost those that were there. No
 * worker will get it; they remove it when all before it have been acknowledged (queue_sweep_requests()).
 *
 * A result belongs to the request whose id its subject ends with. The first one is printed, and the request is forgotten; a second
 * result of the same request is dropped, as is one that comes too late.
 */
#include "fleet/submit.h"

#include <errno.h>
#include <openssl/evp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "fleet/fleet.h"
#include "fleet/key.h"
#include "fleet/objects.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/lines.h"
#include "runtime/library/result.h"

#define PENDING_MAX  512
#define ID_BYTES_MAX 200 /* bytes of "id" */
#define WAIT_MS      500
#define LOOK_MS      50 /* while more lines may come */
#define RETRY_MS     200
#define CHECK_MS     5000

struct pending {
	size_t line; /* 0: the place is free */
	char *name;  /* owned: "id" of the line; or NULL */
	uint64_t expires_ms;
	char id[SHA256_HEX];
	char *text; /* owned: the signed request */
	size_t len;
	uint64_t position;     /* in its stream */
	uint64_t check_us;     /* look then whether the server still has it; 0: that is not in doubt */
	bool missing;          /* it had not, when we looked the last time */
	unsigned int attempts; /* how often it was sent again */
};

struct submission {
	const struct queue *queue;
	const struct submit_options *options;
	EVP_PKEY *key;
	natsSubscription *results;
	struct lines lines;
	struct pending pending[PENDING_MAX];
	size_t count;
	uint64_t reconnects; /* that have been seen */
	uint64_t delivered;  /* the position up to which workers had taken requests at the start */
	char batch[MESSAGE_BATCH_BYTES];
};

/* ---- output ---- */

/* result: or NULL, and then err. */
static int print(size_t line, const char *name, const struct json_value *result,
		 const struct warder_error *why, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char *refused = result ? NULL : result_error_json(why, NULL);
	char *text;

	json_begin_object(&w);
	json_key_uint(&w, "line", line);
	json_key_string(&w, "id", name);
	json_key(&w, "result");
	if (result)
		json_copy(&w, result);
	else if (refused)
		json_number(&w, refused);
	else
		json_fail(&w);
	json_end_object(&w);
	free(refused);
	text = json_take(&w);
	if (!text)
		return error_no_memory(err, NULL);
	puts(text);
	free(text);
	return fflush(stdout) == 0 ? 0
				   : error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
						     "the results cannot be written");
}

static void forget(struct submission *submission, struct pending *pending)
{
	free(pending->name);
	free(pending->text);
	*pending = (struct pending){ 0 };
	submission->count--;
}

/* ---- requests ---- */

/* Store the request in the server. -1 with *why: it is too long, was refused, has expired, or a signal came. */
static int send_request(struct submission *submission, const struct json_value *request,
			struct pending *pending, struct warder_error *why)
{
	const struct message_envelope envelope = { .tenant = submission->options->tenant,
						   .batch = submission->batch,
						   .line = pending->line,
						   .expires_ms = pending->expires_ms };
	int status;

	if (message_make(submission->key, &envelope, request, &pending->text, &pending->len, pending->id,
			 why) < 0)
		return -1;
	while ((status = queue_put_request(submission->queue, submission->options->tenant, pending->id,
					   pending->text, pending->len, &pending->position, why)) > 0 &&
	       !ending_signal() && !queue_is_lost(submission->queue) && clock_wall_ms() < pending->expires_ms)
		nats_Sleep(RETRY_MS);
	if (status > 0)
		error_context(why, "the server has not confirmed the request, which may run all the same");
	return status == 0 ? 0 : -1;
}

static int take_name(struct json_value *document, char **ret, struct warder_error *err)
{
	const struct json_value *id = document->type == JSON_OBJECT ? json_member(document, "id") : NULL;

	if (!id || id->type == JSON_NULL)
		return 0;
	if (id->type != JSON_STRING || strlen(id->string) > ID_BYTES_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "id",
				 "\"id\" must be a text of at most %d bytes", ID_BYTES_MAX);
	*ret = strdup(id->string);
	return *ret ? 0 : error_no_memory(err, NULL);
}

/* Take "id" out of the request. */
static void remove_name(struct json_value *document)
{
	for (struct json_value **at = &document->child; *at; at = &(*at)->next)
		if (strcmp((*at)->key, "id") == 0) {
			struct json_value *id = *at;

			*at = id->next;
			id->next = NULL;
			json_free(id);
			return;
		}
}

static int read_request(const char *text, size_t len, struct json_value **ret, char **ret_name,
			struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = FLEET_MESSAGE_MAX, .max_values = 20000 };

	if (!text)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "request",
				 "the line is longer than %zu bytes", FLEET_MESSAGE_MAX);
	if (json_parse(text, len, "request", &limits, ret, err) < 0 || take_name(*ret, ret_name, err) < 0)
		return -1;
	if ((*ret)->type == JSON_OBJECT)
		remove_name(*ret);
	return message_check_request(*ret, err);
}

static struct pending *find_free(struct submission *submission)
{
	for (size_t i = 0; i < PENDING_MAX; i++)
		if (!submission->pending[i].line)
			return &submission->pending[i];
	return NULL;
}

/* One line: it is under way, or refused. */
static int take_line(struct submission *submission, const char *text, size_t len, struct warder_error *err)
{
	struct pending *pending = find_free(submission);
	struct json_value *request = NULL;
	struct warder_error why = { 0 };
	int status;

	*pending =
	    (struct pending){ .line = submission->lines.number,
			      .expires_ms = clock_wall_ms() + submission->options->lifetime_us / 1000 };
	submission->count++;
	status = read_request(text, len, &request, &pending->name, &why);
	if (status == 0)
		status = send_request(submission, request, pending, &why);
	json_free(request);
	if (status == 0) {
		pending->check_us = submission->reconnects || pending->position <= submission->delivered
					? clock_us() + CHECK_MS * UINT64_C(1000)
					: 0;
		return 0;
	}
	error_context(&why, "line %zu", pending->line);
	status = ending_signal() ? 0 : print(pending->line, pending->name, NULL, &why, err);
	forget(submission, pending);
	return status;
}

/* ---- results ---- */

/* *ret: the result; or NULL, and then *why. 0; 1: it cannot be read now. */
static int read_result(const struct queue *queue, natsMsg *message, struct json_value **ret,
		       struct warder_error *why)
{
	const struct json_limits limits = { .max_bytes = FLEET_RESULT_MAX, .max_depth = 64 };
	const char *text = natsMsg_GetData(message);
	size_t len = (size_t)natsMsg_GetDataLength(message);
	struct object object;
	char *bytes = NULL;
	int status = queue_take_object(message, &object, why);
	const bool is_object = status == 0;

	if (is_object) {
		status = objects_get(queue, &object, FLEET_RESULT_MAX, &bytes, &len, why);
		if (status > 0)
			return 1;
		text = bytes;
	}
	if (status >= 0 && json_parse(text, len, "result", &limits, ret, why) == 0 &&
	    (*ret)->type != JSON_OBJECT) {
		error_set(why, WARDER_ERROR_UNAVAILABLE, NULL, "the result is not an object");
		json_free(*ret);
		*ret = NULL;
	}
	if (is_object) /* a damaged one as well */
		objects_remove(queue, &object);
	free(bytes);
	return 0;
}

/* 0; 1: it cannot be read now; -1 with *err. */
static int take_result(struct submission *submission, natsMsg *message, struct warder_error *err)
{
	const char *subject = natsMsg_GetSubject(message), *id = strrchr(subject, '.');
	struct json_value *result = NULL;
	struct pending *found = NULL;
	struct warder_error why;
	struct object object;
	int status;

	for (size_t i = 0; id && i < PENDING_MAX; i++)
		if (submission->pending[i].line && strcmp(submission->pending[i].id, id + 1) == 0)
			found = &submission->pending[i];
	if (!found) {
		if (queue_take_object(message, &object, &why) == 0)
			objects_remove(submission->queue, &object);
		return 0;
	}
	if (read_result(submission->queue, message, &result, &why) > 0)
		return 1;
	status = print(found->line, found->name, result, &why, err);
	json_free(result);
	forget(submission, found);
	return status;
}

static int take_results(struct submission *submission, unsigned int within_ms, struct warder_error *err)
{
	natsMsg *message = queue_next(submission->results, within_ms);
	int status;

	if (!message)
		return 0;
	status = take_result(submission, message, err);
	if (status == 0)
		natsMsg_AckSync(message, NULL, NULL); /* the consumer must not be removed before */
	else if (status > 0)
		natsMsg_NakWithDelay(message, RETRY_MS, NULL);
	natsMsg_Destroy(message);
	return status < 0 ? -1 : 0;
}

static int drop_expired(struct submission *submission, struct warder_error *err)
{
	const uint64_t now_ms = clock_wall_ms();
	struct warder_error why;
	int status = 0;

	for (size_t i = 0; status == 0 && i < PENDING_MAX; i++) {
		struct pending *pending = &submission->pending[i];

		if (!pending->line || pending->expires_ms > now_ms)
			continue;
		error_set(&why, WARDER_ERROR_TIMEOUT, NULL,
			  "line %zu: no worker has answered within the time of --lifetime", pending->line);
		status = print(pending->line, pending->name, NULL, &why, err);
		forget(submission, pending);
	}
	return status;
}

/* ---- a server that was killed ---- */

/* -1: the server does not answer. */
static int check(struct submission *submission, struct pending *pending)
{
	const int found =
	    queue_find_request(submission->queue, pending->position, pending->text, pending->len);
	struct warder_error ignored;
	char id[SHA256_HEX + 16];

	if (found < 0)
		return -1;
	/* The server may know the first id, and drop a message with the same one. */
	snprintf(id, sizeof(id), "%s.%u", pending->id, pending->attempts + 1);
	if (found > 0 && pending->missing) {
		if (queue_put_request(submission->queue, submission->options->tenant, id, pending->text,
				      pending->len, &pending->position, &ignored) != 0)
			return -1;
		pending->attempts++;
	}
	pending->missing = found > 0 && !pending->missing;
	pending->check_us = clock_us() + CHECK_MS * UINT64_C(1000);
	return 0;
}

/* Make the consumer of the results again: that of before may be ahead of what its stream still has. */
static bool take_results_again(struct submission *submission)
{
	natsSubscription *results = NULL;
	struct warder_error ignored;

	queue_forget_results(submission->queue, submission->batch);
	if (queue_take_results(submission->queue, submission->options->tenant, submission->batch, &results,
			       &ignored) < 0)
		return false;
	natsSubscription_Destroy(submission->results);
	submission->results = results;
	return true;
}

static void check_all(struct submission *submission)
{
	const uint64_t now_us = clock_us(), reconnects = queue_reconnects(submission->queue);
	const bool again = reconnects != submission->reconnects;

	if (again && !take_results_again(submission))
		return;
	submission->reconnects = reconnects;
	for (size_t i = 0; i < PENDING_MAX; i++) {
		struct pending *pending = &submission->pending[i];

		if (pending->line && again && !pending->check_us)
			pending->check_us = now_us + CHECK_MS * UINT64_C(1000);
		if (pending->line && pending->check_us && pending->check_us <= now_us &&
		    check(submission, pending) < 0)
			return;
	}
}

/* ---- the whole ---- */

static bool is_readable(int timeout_ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, timeout_ms) > 0;
}

/* As many lines as have a place. */
static int take_lines(struct submission *submission, struct warder_error *err)
{
	const char *text = NULL;
	size_t len = 0;

	while (!ending_signal() && submission->count < PENDING_MAX) {
		if (lines_next(&submission->lines, &text, &len)) {
			if (take_line(submission, text, len, err) < 0)
				return -1;
		} else if (submission->lines.at_end || !is_readable(submission->count ? 0 : WAIT_MS)) {
			return 0;
		} else if (lines_read(&submission->lines, STDIN_FILENO, err) < 0) {
			return -1;
		}
	}
	return 0;
}

static int submit_all(struct submission *submission, struct warder_error *err)
{
	int status = 0;

	while (status == 0 && !ending_signal()) {
		status = take_lines(submission, err);
		if (status == 0 && submission->lines.finished && !submission->count)
			break;
		if (status == 0 && submission->count)
			status = take_results(submission, submission->lines.at_end ? WAIT_MS : LOOK_MS, err);
		if (status == 0)
			status = drop_expired(submission, err);
		if (status == 0)
			check_all(submission);
		if (status == 0 && queue_is_lost(submission->queue))
			status = queue_lost(err);
	}
	return status;
}

static int draw_batch(char ret[MESSAGE_BATCH_BYTES], struct warder_error *err)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no random number");
	snprintf(ret, MESSAGE_BATCH_BYTES, "%016llx", (unsigned long long)number);
	return 0;
}

int submit_run(const struct queue *queue, const struct submit_options *options, struct warder_error *err)
{
	struct submission *submission = calloc(1, sizeof(*submission));
	int status;

	if (!submission)
		return error_no_memory(err, NULL);
	submission->queue = queue;
	submission->options = options;
	lines_init(&submission->lines, FLEET_MESSAGE_MAX, false);
	status = key_load(options->key, &submission->key, err);
	if (status == 0)
		status = draw_batch(submission->batch, err);
	if (status == 0)
		status =
		    queue_take_results(queue, options->tenant, submission->batch, &submission->results, err);
	submission->delivered = queue_delivered(queue);
	if (status == 0)
		status = submit_all(submission, err);
	if (submission->results) {
		natsConnection_FlushTimeout(queue->connection, WAIT_MS);
		natsSubscription_Destroy(submission->results);
		queue_forget_results(queue, submission->batch);
	}
	for (size_t i = 0; i < PENDING_MAX; i++)
		if (submission->pending[i].line)
			forget(submission, &submission->pending[i]);
	lines_done(&submission->lines);
	EVP_PKEY_free(submission->key);
	free(submission);
	return status;
}
