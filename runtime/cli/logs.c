/*
 * logs: the output of an execution that the keeper of its session has stored, or a host on another machine; and more, as it comes.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/execution_elsewhere.h"
#include "runtime/cli/execution_name.h"
#include "runtime/cli/executions.h"
#include "runtime/cli/executions_remote.h"
#include "runtime/cli/report.h"
#include "runtime/cli/term.h"

#define LOOK_MS       200
#define YIELD_LOOK_MS 25
#define QUIET_US      UINT64_C(75000)
#define TAIL_MAX      ((size_t)4 << 20) /* bytes that a keeper stores; what is kept here may be a quarter more */
#define PIECE_MAX     ((size_t)64 << 10)
#define PIECE_OWN                                                                                            \
	((size_t)24) /* of a piece, besides its bytes, as the spool counts it: what fits there, fits here */

/* OUT or OUT,ERR. */
static int take_from(const char *text, uint64_t ret[2], struct warder_error *err)
{
	const char *at = text;

	for (int i = 0; text && i < 2 && *at; i++) {
		char *end;

		errno = 0;
		ret[i] = strtoull(at, &end, 10);
		if (end == at || *at < '0' || *at > '9' || errno ||
		    (*end && (*end != ',' || i == 1 || !end[1])))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--from",
					 "--from %.60s: write a number of bytes, or two as in 100,0", text);
		at = *end ? end + 1 : end;
	}
	return 0;
}

/* Output that is kept until it is known which are the last lines. */
struct tail {
	struct tail_piece {
		enum warder_stream stream;
		size_t len;
		char *bytes;
	} * pieces;
	size_t count;
	size_t bytes; /* with PIECE_OWN for each piece */
};

/* A host may send output without end. missing: bytes of each stream, which grow by those that are dropped. */
static void tail_cut(struct tail *tail, uint64_t missing[2])
{
	size_t cut = 0;

	if (tail->bytes <= TAIL_MAX + TAIL_MAX / 4)
		return;
	for (; tail->bytes > TAIL_MAX; cut++) {
		missing[tail->pieces[cut].stream] += tail->pieces[cut].len;
		tail->bytes -= tail->pieces[cut].len + PIECE_OWN;
		free(tail->pieces[cut].bytes);
	}
	tail->count -= cut;
	memmove(tail->pieces, tail->pieces + cut, tail->count * sizeof(*tail->pieces));
}

static int tail_extend(struct tail *tail, struct tail_piece *piece, const char *bytes, size_t len)
{
	char *grown = realloc(piece->bytes, piece->len + len);

	if (!grown)
		return ENOMEM;
	memcpy(grown + piece->len, bytes, len);
	piece->bytes = grown;
	piece->len += len;
	tail->bytes += len;
	return 0;
}

static int tail_add(struct tail *tail, enum warder_stream stream, const char *bytes, size_t len)
{
	struct tail_piece *last = tail->count ? &tail->pieces[tail->count - 1] : NULL;
	struct tail_piece *grown;
	char *copy;

	if (last && last->stream == stream && last->len + len <= PIECE_MAX)
		return tail_extend(tail, last, bytes, len);
	grown = realloc(tail->pieces, (tail->count + 1) * sizeof(*grown));
	copy = grown ? malloc(len) : NULL;
	if (grown)
		tail->pieces = grown;
	if (!copy)
		return ENOMEM;
	memcpy(copy, bytes, len);
	grown[tail->count++] = (struct tail_piece){ stream, len, copy };
	tail->bytes += len + PIECE_OWN;
	return 0;
}

/* Where the last `lines` of all pieces together begin: a piece, and a byte in it. A newline at the very end ends the last line. */
static size_t tail_begin(const struct tail *tail, unsigned lines, size_t *ret_skip)
{
	unsigned found = 0;
	bool last = true;

	*ret_skip = 0;
	for (size_t i = tail->count; i-- > 0;) {
		for (size_t at = tail->pieces[i].len; at-- > 0;) {
			if (tail->pieces[i].bytes[at] == '\n' && !last && ++found == lines) {
				*ret_skip = at + 1;
				return i;
			}
			last = false;
		}
	}
	return 0;
}

static void tail_done(struct tail *tail)
{
	for (size_t i = 0; i < tail->count; i++)
		free(tail->pieces[i].bytes);
	free(tail->pieces);
	*tail = (struct tail){ 0 };
}

/* Print the last `lines` (0: all). */
static void tail_print(struct tail *tail, unsigned lines)
{
	size_t skip;

	for (size_t i = tail_begin(tail, lines, &skip); i < tail->count; i++, skip = 0)
		executions_write(tail->pieces[i].stream, tail->pieces[i].bytes + skip,
				 tail->pieces[i].len - skip);
	tail_done(tail);
}

struct logs {
	const struct args *args;
	struct warder_execution *execution; /* or NULL: it is on another machine */
	const char *id;
	uint64_t began_us;
	struct warder_attached attached;
	uint64_t next[2]; /* of each stream */
	unsigned
	    lines; /* that are to be printed when everything before the command is there; 0: all come at once */
	bool json; /* all is kept until the end */
	struct tail tail;
	uint64_t missing[2]; /* of each stream, what left the spool before it was read, or had no room here */
	uint64_t last_us;    /* clock of the last output; 0: none came */
	int failed;          /* errno of standard output or error */
};

static int log_output(void *context, enum warder_stream stream, uint64_t offset, const char *bytes,
		      size_t len)
{
	struct logs *logs = context;

	logs->next[stream] = offset + len;
	logs->last_us = clock_us();
	if (logs->lines || logs->json) {
		logs->failed = tail_add(&logs->tail, stream, bytes, len);
		tail_cut(&logs->tail, logs->missing);
	} else if (executions_write(stream, bytes, len) < 0)
		logs->failed = errno;
	return logs->failed;
}

static void log_gap(void *context, enum warder_stream stream, uint64_t from, uint64_t to)
{
	struct logs *logs = context;

	logs->next[stream] = to;
	logs->missing[stream] += to - from;
	if (!logs->lines && !logs->json)
		executions_tell_gap(stream, from, to);
}

static bool has_all(const struct logs *logs)
{
	return logs->next[0] >= logs->attached.bytes[0] && logs->next[1] >= logs->attached.bytes[1];
}

/* 1: the execution has ended, and all of it is printed; 0; -1 with *err. */
static int print_more(struct logs *logs, int wait_ms, struct warder_error *err)
{
	struct pollfd ready = { .fd = warder_execution_fd(logs->execution, err), .events = POLLIN };
	struct warder_result *result = NULL;
	int ended;

	if (ready.fd < 0)
		return -1;
	poll(&ready, 1, wait_ms);
	ended = warder_execution_dispatch(logs->execution, &result, err);
	if (logs->failed)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, logs->failed,
				       "the output cannot be written");
	if (ended > 0 && result->outcome.cause == JAIL_CAUSE_SUPERVISOR && !result->document)
		ended =
		    error_set(err, WARDER_ERROR_UNAVAILABLE, "name", "the keeper of session %.64s has ended",
			      warder_execution_session(logs->execution));
	warder_result_free(result);
	return ended;
}

/* The last `lines` (0: all) of a stream; and how many bytes of it come before them. */
static void write_stream(struct json_writer *w, const char *key, const struct logs *logs,
			 enum warder_stream stream, size_t first, size_t skip)
{
	const struct tail *tail = &logs->tail;
	char *bytes = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&bytes, &len);

	for (size_t i = first; file && i < tail->count; i++, skip = 0)
		if (tail->pieces[i].stream == stream)
			fwrite(tail->pieces[i].bytes + skip, 1, tail->pieces[i].len - skip, file);
	if (file)
		fclose(file);
	json_key(w, key);
	json_begin_object(w);
	json_key_uint(w, "offset", logs->next[stream] - len);
	json_key_uint(w, "nextOffset", logs->next[stream]);
	json_key_uint(w, "missing", logs->missing[stream]);
	text_write(w, "text", bytes ? bytes : "", len, false);
	json_end_object(w);
	free(bytes);
}

static void print_json(const struct args *args, struct logs *logs, bool ended)
{
	struct json_writer w = { 0 };
	char *text;
	size_t skip;
	const size_t first = tail_begin(&logs->tail, args->execution.lines, &skip);

	json_begin_object(&w);
	json_key_string(&w, "id", logs->id);
	json_key_bool(&w, "ended", ended);
	write_stream(&w, "stdout", logs, WARDER_STDOUT, first, skip);
	write_stream(&w, "stderr", logs, WARDER_STDERR, first, skip);
	json_end_object(&w);
	text = json_take(&w);
	if (text)
		puts(text);
	free(text);
	tail_done(&logs->tail);
}

/* True when `logs` can return. With --yield, that is when no output has come for a while, or when the time is over. */
static bool is_enough(const struct logs *logs)
{
	const struct args *args = logs->args;
	const uint64_t now = clock_us();

	if (args->execution.follow || !has_all(logs))
		return false;
	return !args->execution.yield_us || now - logs->began_us >= args->execution.yield_us ||
	       (logs->last_us && now - logs->last_us >= QUIET_US);
}

/* Everything before the command is there: print its last lines. Then the same as is_enough(). */
static bool has_enough(void *context)
{
	struct logs *logs = context;

	if (logs->lines && !logs->json && has_all(logs)) {
		tail_print(&logs->tail, logs->lines);
		logs->lines = 0;
	}
	return is_enough(logs);
}

static int look_ms(const struct args *args)
{
	return args->execution.yield_us ? YIELD_LOOK_MS : LOOK_MS;
}

/* How the reading ended: 1: with the execution; 0; -1 with *err. */
static int conclude(struct logs *logs, int ret)
{
	if (ret >= 0 && logs->json)
		print_json(logs->args, logs, ret > 0 || logs->attached.ended);
	tail_print(&logs->tail, logs->lines ? logs->lines : 1);
	return ret < 0 ? -1 : 0;
}

static int print_logs(struct logs *logs, struct warder_error *err)
{
	struct warder_attach attach = {
		.size = sizeof(attach), .on_output = log_output, .on_gap = log_gap, .context = logs
	};
	int ret = 0;

	logs->attached.size = sizeof(logs->attached);
	logs->id = warder_execution_id(logs->execution);
	if (take_from(logs->args->execution.from, attach.from, err) < 0 ||
	    warder_execution_attach(logs->execution, &attach, &logs->attached, err) < 0)
		return -1;
	memcpy(logs->next, attach.from, sizeof(logs->next));
	while (ret == 0 && !ending_signal() && !has_enough(logs))
		ret = print_more(logs, look_ms(logs->args), err);
	return conclude(logs, ret);
}

/* ---- on another machine ---- */

static int refuse_e2b(const struct executions_remote *opened, struct warder_error *err)
{
	return error_set(
	    err, WARDER_ERROR_UNSUPPORTED_POLICY, "id",
	    "logs %s: a service of the kind e2b does not keep output; \"warder attach -n %s\" shows "
	    "it from then on",
	    opened->name.text, opened->name.text);
}

/* What there is at present. */
static int take_totals(struct logs *logs, const struct executions_remote *opened, struct warder_error *err)
{
	struct json_value *row = executions_remote_row(opened, err);
	const int status = row ? 0 : -1;

	logs->attached.bytes[0] = json_member_uint(row, "stdoutBytes");
	logs->attached.bytes[1] = json_member_uint(row, "stderrBytes");
	logs->attached.ended = row && strcmp(json_member_text(row, "state", ""), "ended") == 0;
	json_free(row);
	return status;
}

static int print_remote(struct logs *logs, struct warder_error *err)
{
	struct executions_remote opened = { 0 };
	const struct execution_reader reader = { .output = log_output,
						 .gap = log_gap,
						 .is_enough = has_enough,
						 .look_ms = look_ms(logs->args),
						 .context = logs };
	struct execution_elsewhere how = { .place = &opened.place, .name = &opened.name, .reader = &reader };
	struct warder_result *result = NULL;
	int ret;

	if (logs->args->execution.yield_us)
		opened.place.busy_until_ms = (logs->began_us + logs->args->execution.yield_us) / 1000;
	if (take_from(logs->args->execution.from, how.from, err) < 0 ||
	    executions_remote_open(logs->args, &opened, err) < 0)
		return -1;
	if (opened.place.host.e2b)
		return refuse_e2b(&opened, err);
	if (take_totals(logs, &opened, err) < 0)
		return -1;
	logs->id = opened.name.text;
	memcpy(logs->next, how.from, sizeof(logs->next));
	ret = execution_elsewhere_follow(&how, &result, err);
	if (result) /* it ended while nobody was connected */
		error_set(err, WARDER_ERROR_UNAVAILABLE, "id", "%s", result->outcome.detail);
	else if (ret < 0)
		executions_remote_explain(&opened, err);
	ret = conclude(logs, result ? -1 : ret);
	warder_result_free(result);
	return ret;
}

/* ---- the command ---- */

int logs_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };
	struct logs logs = {
		.args = args, .began_us = clock_us(), .lines = args->execution.lines, .json = args->json
	};
	int ret;

	ending_catch(NULL);
	signal(SIGPIPE, SIG_IGN);
	if (args->rest[0] && execution_name_is(args->rest[0])) {
		ret = print_remote(&logs, &err);
	} else {
		ret = executions_open(args, &logs.execution, &err);
		if (ret == 0)
			ret = print_logs(&logs, &err);
		warder_execution_free(logs.execution);
	}
	if (ret == 0)
		return ending_signal() ? 128 + ending_signal() : 0;
	return err.sys_errno == EPIPE ? 128 + SIGPIPE : executions_remote_refuse(args, &err);
}
