/*
 * started: the events of one program, in their order: start, data and keepalive, end, and the last message of the stream.
 *
 * JSON of protocol buffers leaves out members with the value zero: an "end" without "exitCode" has the exit code 0.
 */
#include "remote/started.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

static int bad(const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "the host sent %s", what);
}

static void take_text(const char *from, char *to, size_t size)
{
	snprintf(to, size, "%s", from);
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || *to == '\x7f')
			*to = '?';
}

/* ---- output ---- */

static int keep(struct started *started, struct started_stream *stream, const char *bytes, size_t len,
		struct warder_error *err)
{
	const uint64_t kept = started->streams[0].len + started->streams[1].len;
	uint64_t part = stream->room - stream->len;
	char *grown;

	stream->total += len;
	if (part > STARTED_OUTPUT_MAX - kept)
		part = STARTED_OUTPUT_MAX - kept;
	if (part > len)
		part = len;
	if (!part)
		return 0;
	grown = realloc(stream->bytes, stream->len + part);
	if (!grown)
		return error_no_memory(err, "backend");
	memcpy(grown + stream->len, bytes, part);
	stream->bytes = grown;
	stream->len += part;
	return 0;
}

static int pass(const struct started *started, int stream, const char *bytes, size_t len,
		struct warder_error *err)
{
	return started->pass(started->context, stream, bytes, len)
		   ? 0
		   : error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "the output cannot be passed on");
}

/* The output of a terminal is standard output. */
static int take_data(struct started *started, const struct json_value *data, struct warder_error *err)
{
	static const char *const names[] = { "stdout", "stderr", "pty" };

	for (int i = 0; i < 3; i++) {
		const char *encoded = json_member_text(data, names[i], NULL);
		size_t len = 0;
		char *bytes;
		int kept;

		if (!encoded)
			continue;
		bytes = text_unbase64(encoded, strlen(encoded), &len);
		if (!bytes)
			return bad("output that is no base64", err);
		kept = started->pass ? pass(started, i == 1, bytes, len, err)
				     : keep(started, &started->streams[i == 1], bytes, len, err);
		free(bytes);
		if (kept < 0)
			return -1;
	}
	return 0;
}

/* ---- the end ---- */

/* As programs in Go name them; E2B's service is one. */
static const char *const signals[] = {
	[SIGHUP] = "hangup",
	[SIGINT] = "interrupt",
	[SIGQUIT] = "quit",
	[SIGILL] = "illegal instruction",
	[SIGTRAP] = "trace/breakpoint trap",
	[SIGABRT] = "aborted",
	[SIGBUS] = "bus error",
	[SIGFPE] = "floating point exception",
	[SIGKILL] = "killed",
	[SIGUSR1] = "user defined signal 1",
	[SIGSEGV] = "segmentation fault",
	[SIGUSR2] = "user defined signal 2",
	[SIGPIPE] = "broken pipe",
	[SIGALRM] = "alarm clock",
	[SIGTERM] = "terminated",
	[SIGSTKFLT] = "stack fault",
	[SIGXCPU] = "CPU time limit exceeded",
	[SIGXFSZ] = "file size limit exceeded",
	[SIGSYS] = "bad system call",
};

/* "signal: killed", "signal: aborted (core dumped)", "signal: signal 34". 0: it names none. */
static int signal_of(const char *status)
{
	static const char before[] = "signal: ";
	int number = 0;

	if (strncmp(status, before, sizeof(before) - 1) != 0)
		return 0;
	status += sizeof(before) - 1;
	for (size_t i = 1; i < ARRAY_LENGTH(signals); i++) {
		const size_t len = signals[i] ? strlen(signals[i]) : 0;

		if (len && strncasecmp(status, signals[i], len) == 0 && (!status[len] || status[len] == ' '))
			return (int)i;
	}
	return sscanf(status, "signal %2d", &number) == 1 && number > 0 && number <= 64 ? number : 0;
}

static int take_end(struct started *started, const struct json_value *end, struct warder_error *err)
{
	const struct json_value *code = json_member(end, "exitCode");
	const struct json_value *exited = json_member(end, "exited");

	started->exit_code = -1;
	if (exited && exited->type != JSON_BOOL)
		return bad("an end of the program with a wrong \"exited\"", err);
	take_text(json_member_text(end, "error", ""), started->error, sizeof(started->error));
	if (!exited || !exited->boolean) {
		started->signal = signal_of(json_member_text(end, "status", ""));
	} else {
		if (code && (!code->is_uint || code->uint > 255))
			return bad("an end of the program with a wrong \"exitCode\"", err);
		started->exit_code = code ? (int)code->uint : 0;
	}
	started->ended = true;
	return 0;
}

/* ---- messages ---- */

static int take_start(struct started *started, const struct json_value *start, struct warder_error *err)
{
	const struct json_value *pid = json_member(start, "pid");

	if (!pid || !pid->is_uint || pid->uint == 0 || pid->uint > UINT32_MAX)
		return bad("a start of the program without a valid \"pid\"", err);
	started->pid = (uint32_t)pid->uint;
	started->runs = true;
	return 0;
}

static int take_event(struct started *started, const struct json_value *event, struct warder_error *err)
{
	const struct json_value *start = json_member(event, "start"), *data = json_member(event, "data");
	const struct json_value *end = json_member(event, "end");

	if (start && !started->runs)
		return take_start(started, start, err);
	if ((start || data || end) && (!started->runs || started->ended || start))
		return bad("the events of the program in a wrong order", err);
	if (data)
		return take_data(started, data, err);
	return end ? take_end(started, end, err) : 0;
}

static void take_last(struct started *started, const struct json_value *message)
{
	const struct json_value *error = json_member(message, "error");
	const char *code = error ? json_member_text(error, "code", "unknown") : "";

	started->over = true;
	if (!error)
		return;
	started->late = strcmp(code, "deadline_exceeded") == 0;
	started->unknown = strcmp(code, "not_found") == 0;
	take_text(json_member_text(error, "message", code), started->refusal, sizeof(started->refusal));
	if (!started->refusal[0])
		take_text(code, started->refusal, sizeof(started->refusal));
}

int started_take(struct started *started, bool last, const char *message, size_t len,
		 struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX, .max_values = 1000 };
	struct json_value *document = NULL;
	const struct json_value *event;
	struct warder_error why = { 0 };
	int status = 0;

	if (started->over)
		return bad("a message behind the last one", err);
	if (json_parse(message, len, "message", &limits, &document, &why) < 0)
		return bad("a message that is no JSON", err);
	event = document->type == JSON_OBJECT ? json_member(document, "event") : NULL;
	if (document->type != JSON_OBJECT || (!last && (!event || event->type != JSON_OBJECT)))
		status = bad("a message that is no event", err);
	else if (last)
		take_last(started, document);
	else
		status = take_event(started, event, err);
	json_free(document);
	return status;
}

/* ---- the result ---- */

static void write_stream(const struct started_stream *stream, const char *key, bool passed,
			 struct json_writer *w)
{
	char *encoded = text_base64(stream->bytes ? stream->bytes : "", stream->len);

	json_key(w, key);
	json_begin_object(w);
	if (encoded)
		json_key_string(w, "base64", encoded);
	else
		json_fail(w);
	json_key(w, "bytesTotal");
	if (passed)
		json_null(w);
	else
		json_uint(w, stream->total);
	json_end_object(w);
	free(encoded);
}

void started_write(const struct started *started, const char *cause, const char *detail,
		   struct json_writer *w)
{
	const bool exited = started->ended && started->exit_code >= 0;
	const bool signalled = started->ended && started->signal > 0;
	char name[16];

	if (!cause)
		cause = exited ? "exit" : signalled ? "signal" : "host";
	if (!detail)
		detail = exited ? "" : started->error;
	snprintf(name, sizeof(name), "SIG%d", started->signal);
	json_key_string(w, "cause", cause);
	json_key(w, "exitCode");
	if (exited && strcmp(cause, "exit") == 0)
		json_uint(w, (uint64_t)started->exit_code);
	else
		json_null(w);
	json_key_string(w, "signal", signalled && strcmp(cause, "signal") == 0 ? name : NULL);
	write_stream(&started->streams[0], "stdout", started->pass, w);
	write_stream(&started->streams[1], "stderr", started->pass, w);
	json_key_string(w, "detail", detail);
}

void started_write_receipt(const char *cause, struct json_writer *w)
{
	if (cause && strcmp(cause, "wallTime") == 0) {
		json_key(w, "limitsHit");
		json_begin_array(w);
		json_string(w, cause);
		json_end_array(w);
	}
	json_key(w, "receipt");
	json_begin_object(w);
	json_key_string(w, "isolation", "providerHosted");
	json_key(w, "controls");
	json_begin_array(w);
	json_end_array(w);
	json_end_object(w);
}

void started_done(struct started *started)
{
	free(started->streams[0].bytes);
	free(started->streams[1].bytes);
	*started = (struct started){ 0 };
}
