/*
 * e2b: the stream of Start and the requests with the input go on side by side, in one loop: a program that gets input and writes output
 * at the same time would otherwise wait for us, and we for it.
 *
 * The time limit is kept twice: by the service, and if that fails by us, who delete the sandbox, or kill the program in one that stays. Nothing
 * runs on that nobody waits for: a program whose stream breaks is killed, too.
 */
#include "remote/e2b.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "remote/framed.h"
#include "remote/processes.h"
#include "remote/started.h"

#define LOOK_MS    200
#define START_MS   60000u /* until the program has started */
#define SILENCE_MS 120000u
#define GRACE_MS   3000u /* that the service may take longer than the time limit */
#define INPUT_MS   60000u
#define SIGNAL_MS  10000u
#define TIMEOUT_MS 60000u /* of a job that has none */

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
	stopped = 1;
}

void e2b_catch(void)
{
	const struct sigaction stop = { .sa_handler = on_stop };

	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGPIPE, &(const struct sigaction){ .sa_handler = SIG_IGN }, NULL);
}

bool e2b_stopped(void)
{
	return stopped;
}

enum input_step { INPUT_NONE, INPUT_WAITS, INPUT_WRITES, INPUT_CLOSES, INPUT_DONE };

struct job {
	const struct service *service;
	struct json_value *document; /* owned */
	uint64_t timeout_ms, grace_ms;
	bool stays;    /* the sandbox does */
	bool detaches; /* and we do, when the program has begun */
	CURLM *multi;
	struct exchange *stream; /* owned; NULL: it has ended */
	struct exchange *input;  /* owned; the request about it that goes on; or NULL */
	enum input_step step;
	char *body;       /* owned; of that request */
	char *start_body; /* owned */
	size_t start_len;
	char timeout_line[64];
	const char *headers[SERVICE_STREAM_HEADERS];
	struct framed framed;
	struct started started;
	struct warder_error fault; /* code 0: none */
	uint64_t begun_us, heard_us, ended_us, begun_wall_ms;
	bool did_not_start;  /* certainly; known at the end */
	const char *cause;   /* that we set; or NULL */
	uint64_t pressed_us; /* since when we want the program to end; 0: we do not */
	int signal;          /* the last that we sent; 0: none */
	uint64_t sent_us;    /* when */
};

static uint64_t passed_ms(uint64_t since_us)
{
	return (clock_us() - since_us) / 1000;
}

/* ---- the stream ---- */

static int found(void *context, bool last, const char *message, size_t len, struct warder_error *err)
{
	struct job *job = context;

	return started_take(&job->started, last, message, len, err);
}

static bool take(void *context, const char *bytes, size_t len)
{
	struct job *job = context;

	job->heard_us = clock_us();
	return framed_take(&job->framed, bytes, len, found, job, &job->fault) == 0;
}

static void copy_member(struct json_writer *w, const char *key, const struct json_value *value)
{
	if (!value || value->type == JSON_NULL)
		return;
	json_key(w, key);
	json_copy(w, value);
}

/* The frame with the request of Start. False: no memory. */
static bool write_start(struct job *job)
{
	const struct json_value *argv = json_member(job->document, "argv");
	const struct json_value *word = argv->child;
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key(&w, "process");
	json_begin_object(&w);
	copy_member(&w, "cmd", word);
	json_key(&w, "args");
	json_begin_array(&w);
	for (word = word->next; word; word = word->next)
		json_string(&w, word->string);
	json_end_array(&w);
	copy_member(&w, "envs", json_member(job->document, "env"));
	copy_member(&w, "cwd", json_member(job->document, "cwd"));
	json_end_object(&w);
	json_key_bool(&w, "stdin", job->step == INPUT_WAITS || json_member_true(job->document, "input"));
	json_end_object(&w);
	job->start_body = framed_write(json_take(&w), &job->start_len);
	return job->start_body != NULL;
}

static struct exchange *begin(struct job *job, const struct exchange_order *order)
{
	struct exchange *exchange = exchange_new(order);

	if (!exchange || curl_multi_add_handle(job->multi, exchange_handle(exchange)) != CURLM_OK)
		error_no_memory(&job->fault, "backend");
	return exchange;
}

static void begin_stream(struct job *job)
{
	struct exchange_order order = { .path = "/process.Process/Start", .take = take, .context = job };

	if (!write_start(job)) {
		error_no_memory(&job->fault, "backend");
		return;
	}
	order.body = job->start_body;
	order.body_len = job->start_len;
	snprintf(job->timeout_line, sizeof(job->timeout_line), "Connect-Timeout-Ms: %llu",
		 (unsigned long long)job->timeout_ms);
	service_stream(job->service, job->timeout_line, job->headers, &order);
	job->stream = begin(job, &order);
}

/* ---- the input ---- */

static void begin_input(struct job *job)
{
	const bool writes = job->step == INPUT_WRITES;
	struct exchange_order order;

	free(job->body);
	job->body = processes_body(job->started.pid, NULL,
				   writes ? json_member_text(job->document, "stdinBase64", "") : NULL);
	if (!job->body) {
		error_no_memory(&job->fault, "backend");
		return;
	}
	service_plain(job->service, writes ? PROCESSES_INPUT : PROCESSES_CLOSE, job->body, &order);
	order.timeout_ms = writes ? 0 : INPUT_MS; /* a program may take its time */
	job->input = begin(job, &order);
}

static void end_request(struct job *job, struct exchange **exchange, CURLcode done, struct remote_answer *ret,
			char **ret_body)
{
	curl_multi_remove_handle(job->multi, exchange_handle(*exchange));
	exchange_finish(*exchange, done, ret, ret_body);
	*exchange = NULL;
}

/* Other failures are not reported: the program may have ended or closed its input, and the stream says how it ended. If the input could not be
 * closed, the program may wait for its end until the time limit. */
static void end_input(struct job *job, CURLcode done)
{
	struct remote_answer answer;
	char *body = NULL;

	end_request(job, &job->input, done, &answer, &body);
	free(body);
	if (job->step == INPUT_WRITES && !job->started.ended && !job->fault.code &&
	    service_is_out_of_reach(&answer))
		error_set(&job->fault, WARDER_ERROR_UNAVAILABLE, "backend",
			  "the service did not take the program's input");
	job->step = job->step == INPUT_WRITES ? INPUT_CLOSES : INPUT_DONE;
	if (job->step == INPUT_CLOSES && job->stream && !job->started.ended)
		begin_input(job);
}

/* ---- the loop ---- */

static void end_stream(struct job *job, CURLcode done, struct remote_answer *ret, char **ret_body)
{
	end_request(job, &job->stream, done, ret, ret_body);
	if (!job->fault.code && ret->status == 0)
		job->fault = ret->error;
	else if (!job->fault.code && ret->status == 200 && !job->started.over && !job->started.ended)
		error_set(&job->fault, WARDER_ERROR_UNAVAILABLE, "backend",
			  "the host ended the answer before the program's end");
}

static void take_ends(struct job *job, struct remote_answer *ret, char **ret_body)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(job->multi, &left))) {
		const CURLcode done = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		if (job->stream && message->easy_handle == exchange_handle(job->stream))
			end_stream(job, done, ret, ret_body);
		else if (job->input && message->easy_handle == exchange_handle(job->input))
			end_input(job, done);
	}
}

/* To the program in a sandbox that stays. A failure is not reported: the stream says how the program ended. */
static void send_signal(struct job *job, int number)
{
	char *body = processes_body(job->started.pid, processes_signal(number), NULL);
	struct exchange_order order;
	struct remote_answer ignored;
	char *answer = NULL;

	if (body) {
		service_plain(job->service, PROCESSES_SIGNAL, body, &order);
		order.timeout_ms = SIGNAL_MS;
		exchange_perform(&order, &ignored, &answer);
	}
	free(body);
	free(answer);
	job->signal = number;
	job->sent_us = clock_us();
}

/* The program in a sandbox that stays is to end. Before the service has named its process, it cannot be ended; before the request has
 * left, nothing begins. Whether we wait no longer. */
static bool press(struct job *job)
{
	if (!job->pressed_us)
		job->pressed_us = clock_us();
	if (!job->stays)
		return true;
	if (!job->started.runs)
		return !exchange_was_sent(job->stream) || passed_ms(job->pressed_us) > GRACE_MS;
	if (!job->signal)
		send_signal(job, strcmp(job->cause, "cancelled") == 0 && job->grace_ms ? SIGTERM : SIGKILL);
	else if (job->signal == SIGTERM && passed_ms(job->sent_us) > job->grace_ms)
		send_signal(job, SIGKILL);
	return job->signal == SIGKILL && passed_ms(job->sent_us) > GRACE_MS;
}

/* Whether we end it. */
static bool look(struct job *job)
{
	const bool runs = job->started.runs;

	if (job->detaches && runs)
		return true;
	if (stopped && !job->started.ended)
		job->cause = "cancelled";
	else if (job->started.ended || job->started.over)
		return job->started.over || passed_ms(job->heard_us) > GRACE_MS;
	else if (runs && passed_ms(job->begun_us) > job->timeout_ms + GRACE_MS)
		job->cause = "wallTime";
	else if (!job->fault.code && passed_ms(job->heard_us) > (runs ? SILENCE_MS : START_MS))
		error_set(&job->fault, WARDER_ERROR_UNAVAILABLE, "backend",
			  runs ? "the host has said nothing for 2 minutes"
			       : "the host does not start the program");
	return job->fault.code || (job->cause && press(job));
}

static void loop(struct job *job, struct remote_answer *ret, char **ret_body)
{
	int running = 0;

	job->begun_us = job->heard_us = clock_us();
	while (job->stream && !look(job)) {
		curl_multi_perform(job->multi, &running);
		take_ends(job, ret, ret_body);
		if (job->step == INPUT_WAITS && job->started.runs) {
			job->step = INPUT_WRITES;
			begin_input(job);
		}
		if (job->stream)
			curl_multi_poll(job->multi, NULL, 0, LOOK_MS, NULL);
	}
	job->ended_us = clock_us();
}

/* ---- the result ---- */

static bool read_job(struct job *job, const char *text, size_t len, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = REMOTE_JSON_MAX + 1 };
	const struct json_value *argv, *timeout;

	if (json_parse(text, len, "job", &limits, &job->document, err) < 0)
		return false;
	argv = json_member(job->document, "argv");
	timeout = json_member(job->document, "timeoutMs");
	if (!argv || !argv->child || (timeout && (!timeout->is_uint || !timeout->uint))) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv", "there is no program to run");
		return false;
	}
	job->timeout_ms = timeout ? timeout->uint : TIMEOUT_MS;
	job->grace_ms = json_member_uint(job->document, "graceMs");
	job->started.streams[0].room = json_member_uint(job->document, "stdoutBytes");
	job->started.streams[1].room = json_member_uint(job->document, "stderrBytes");
	if (json_member_text(job->document, "stdinBase64", "")[0])
		job->step = INPUT_WAITS;
	return true;
}

/* Of the end that we brought about. */
static const char *detail_of_cause(const struct job *job)
{
	const bool late = strcmp(job->cause, "wallTime") == 0;

	if (!job->stays)
		return late ? "the service did not end the program at its time limit; the sandbox was deleted"
			    : "stopped by a signal";
	if (job->did_not_start)
		return "stopped by a signal before the program began";
	if (!job->started.ended && !job->started.over)
		return "the service did not confirm that it killed the program, which may still run";
	return late ? "the service did not end the program at its time limit; it was killed"
		    : "stopped by a signal";
}

/* Why there is no end; or NULL: the program's own end is the result. */
static const char *detail_of(const struct job *job, bool deleted, char *buf, size_t size)
{
	const struct started *started = &job->started;

	if (job->cause)
		return detail_of_cause(job);
	if (started->ended)
		return NULL;
	if (started->late)
		return "the service ended the program at its time limit";
	snprintf(buf, size, "%.200s; what the program did is not known%s",
		 job->fault.code       ? job->fault.text
		 : started->refusal[0] ? started->refusal
				       : "the host ended the answer before the program's end",
		 job->stays ? ", and it may still run"
		 : deleted  ? ", and its sandbox was deleted"
			    : "");
	return buf;
}

static char *write_result(const struct job *job, const struct warder_error *left)
{
	const struct started *started = &job->started;
	const time_t begun = (time_t)(job->begun_wall_ms / 1000);
	const char *cause = job->cause       ? job->cause
			    : started->ended ? NULL
			    : started->late  ? "wallTime"
					     : "host";
	struct json_writer w = { 0 };
	char detail[400], at[40], whole[48];
	struct tm utc;

	strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%S", gmtime_r(&begun, &utc));
	snprintf(whole, sizeof(whole), "%s.%03uZ", at, (unsigned int)(job->begun_wall_ms % 1000));
	json_begin_object(&w);
	started_write(started, cause, detail_of(job, !left->code, detail, sizeof(detail)), &w);
	json_key_string(&w, "startedAt", whole);
	json_key(&w, "durations");
	json_begin_object(&w);
	json_key_uint(&w, "wallUs", job->ended_us - job->begun_us);
	json_end_object(&w);
	json_key_string(&w, "left", left->code ? left->text : NULL);
	started_write_receipt(cause, &w);
	json_end_object(&w);
	return json_take(&w);
}

/* Whether the program certainly did not start: the service has refused it, or got nothing. A gateway that says 5xx may have passed it on. */
static bool did_not_start(const struct job *job, const struct remote_answer *answer)
{
	if (job->started.runs)
		return false;
	if (job->stream)
		return !exchange_was_sent(job->stream);
	return (answer->status >= 400 && answer->status < 500) ||
	       (answer->status == 0 && !answer->sent && job->fault.code) ||
	       (job->started.over && job->started.refusal[0] && !job->started.late);
}

static void say_not_started(const struct job *job, const struct warder_error *left, struct remote_answer *ret,
			    char **ret_body)
{
	struct warder_error why = { 0 };
	char message[SERVICE_MESSAGE];

	if (ret->status == 200)
		snprintf(message, sizeof(message), "%s", job->started.refusal);
	else
		service_message(*ret_body, ret->bytes, message);
	if (job->fault.code)
		why = job->fault;
	else
		error_set(&why, WARDER_ERROR_UNAVAILABLE, "argv",
			  "the service did not start the program: %.400s",
			  message[0] ? message : "it says nothing about why");
	if (left->code)
		error_context(&why, "%.150s", left->text);
	*ret = (struct remote_answer){ .magic = REMOTE_MAGIC, .size = sizeof(*ret), .error = why };
	free(*ret_body);
	*ret_body = NULL;
}

static void finish(struct job *job, const struct warder_error *left, struct remote_answer *ret,
		   char **ret_body)
{
	job->did_not_start = did_not_start(job, ret);
	if (job->did_not_start && !job->cause) {
		say_not_started(job, left, ret, ret_body);
		return;
	}
	free(*ret_body);
	*ret = (struct remote_answer){ .magic = REMOTE_MAGIC, .size = sizeof(*ret), .sent = 1 };
	*ret_body = write_result(job, left);
	if (*ret_body) {
		ret->bytes = strlen(*ret_body);
		ret->status = 200;
	} else {
		error_no_memory(&ret->error, "backend");
	}
}

static void done(struct job *job)
{
	struct remote_answer ignored;
	char *body = NULL;

	if (job->stream)
		end_request(job, &job->stream, CURLE_ABORTED_BY_CALLBACK, &ignored, &body);
	if (job->input)
		end_request(job, &job->input, CURLE_ABORTED_BY_CALLBACK, &ignored, &body);
	curl_multi_cleanup(job->multi);
	framed_done(&job->framed);
	started_done(&job->started);
	json_free(job->document);
	free(job->body);
	free(job->start_body);
}

static void begin_job(struct job *job, const struct service *service, const char *text, size_t len,
		      struct warder_error *err)
{
	job->service = service;
	job->begun_wall_ms = clock_wall_ms();
	/* Only SIGKILL may end this process before the program has ended. The reader of the result may be gone. */
	e2b_catch();
	job->multi = curl_multi_init();
	if (!job->multi)
		error_no_memory(err, "backend");
	else
		read_job(job, text, len, err);
}

void e2b_run(struct service *service, const char *text, size_t len, struct remote_answer *ret,
	     char **ret_body)
{
	struct job job = { 0 };
	struct warder_error left = { 0 };

	*ret = (struct remote_answer){ .magic = REMOTE_MAGIC, .size = sizeof(*ret) };
	*ret_body = NULL;
	begin_job(&job, service, text, len, &ret->error);
	if (!ret->error.code) {
		service->internet = json_member_true(job.document, "internet");
		service->lifetime_s = job.timeout_ms / 1000 + 90;
		if (service_create(service, &ret->error) == 0) {
			begin_stream(&job);
			loop(&job, ret, ret_body);
			service_delete(service, &left);
			finish(&job, &left, ret, ret_body);
		}
	}
	done(&job);
}

/* The number of the program, or why there is none. */
static void finish_start(struct job *job, struct remote_answer *ret, char **ret_body)
{
	const struct warder_error none = { 0 };
	struct json_writer w = { 0 };
	char detail[400];

	job->did_not_start = did_not_start(job, ret);
	if (job->did_not_start && !job->cause) {
		say_not_started(job, &none, ret, ret_body);
		return;
	}
	free(*ret_body);
	*ret_body = NULL;
	*ret = (struct remote_answer){ .magic = REMOTE_MAGIC, .size = sizeof(*ret), .sent = 1 };
	if (!job->started.runs) {
		error_set(&ret->error, WARDER_ERROR_UNAVAILABLE, "backend", "%s",
			  job->did_not_start ? "stopped by a signal before the program began"
			  : job->cause       ? "stopped by a signal; it is not known whether the program runs"
					     : detail_of(job, false, detail, sizeof(detail)));
		return;
	}
	json_begin_object(&w);
	processes_write_id(&w, job->started.pid);
	json_end_object(&w);
	*ret_body = json_take(&w);
	if (*ret_body) {
		ret->bytes = strlen(*ret_body);
		ret->status = 200;
	} else {
		error_no_memory(&ret->error, "backend");
	}
}

void e2b_start(struct service *service, const char *text, size_t len, struct remote_answer *ret,
	       char **ret_body)
{
	struct job job = { .stays = true, .detaches = true };

	*ret = (struct remote_answer){ .magic = REMOTE_MAGIC, .size = sizeof(*ret) };
	*ret_body = NULL;
	begin_job(&job, service, text, len, &ret->error);
	if (!ret->error.code) {
		begin_stream(&job);
		loop(&job, ret, ret_body);
		finish_start(&job, ret, ret_body);
	}
	done(&job);
}

void e2b_execute(struct service *service, const char *text, size_t len, struct remote_answer *ret,
		 char **ret_body)
{
	struct job job = { .stays = true };
	const struct warder_error none = { 0 };

	*ret = (struct remote_answer){ .magic = REMOTE_MAGIC, .size = sizeof(*ret) };
	*ret_body = NULL;
	begin_job(&job, service, text, len, &ret->error);
	if (!ret->error.code) {
		begin_stream(&job);
		loop(&job, ret, ret_body);
		if (job.started.runs && !job.started.ended && !job.started.late && job.signal != SIGKILL)
			send_signal(&job, SIGKILL);
		finish(&job, &none, ret, ret_body);
	}
	done(&job);
}
