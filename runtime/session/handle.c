/*
 * handle: the public calls about executions that the keeper supervises, over remote.c.
 *
 * A handle has up to three connections to the keeper. `control` asks for one thing after the other. `reader` is attached, or waits for the
 * result; it only reads. `writer` carries the bytes of on_input, and is waiting for an answer while the program has no room for them. An
 * epoll instance holds the last two and an eventfd, so that the descriptor that the caller polls stays the same when a connection breaks and
 * is made again.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "runtime/library/library.h"
#include "runtime/library/result.h"
#include "runtime/session/attachment.h"
#include "runtime/session/session.h"

#define EVENTS    64     /* of the keeper, in one dispatch */
#define TRIES     3      /* to connect again */
#define RETRY_US  100000 /* between two connections to a keeper that closes them */
#define SIZE_MOST 65535  /* rows, columns */

struct warder_execution {
	struct remote *control, *reader, *writer; /* the last two: NULL until they are needed */
	struct warder_attach attach;              /* size 0: it waits for the result alone */
	uint64_t next[2];                         /* of each stream, what comes next */
	uint64_t connected_us;                    /* clock when the reader was connected again */
	int poll_fd;                              /* epoll */
	int wake_fd;    /* eventfd: on_input is to be called; in poll_fd while that is possible */
	bool writing;   /* the writer waits for an answer */
	bool has_input; /* on_input may have bytes */
	bool follow;    /* the program waits for the reader, if that is slow */
};

/* ---- life ---- */

/* `control` is taken. */
static int make(struct remote *control, struct warder_execution **ret, struct warder_error *err)
{
	struct warder_execution *execution = calloc(1, sizeof(*execution));

	if (!execution) {
		remote_free(control);
		return error_no_memory(err, NULL);
	}
	execution->control = control;
	execution->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	execution->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (execution->poll_fd < 0 || execution->wake_fd < 0) {
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no descriptor left");
		warder_execution_free(execution);
		return -1;
	}
	*ret = execution;
	return 0;
}

void warder_execution_free(struct warder_execution *execution)
{
	if (!execution)
		return;
	remote_free(execution->writer);
	remote_free(execution->reader);
	remote_free(execution->control);
	fd_done(&execution->wake_fd);
	fd_done(&execution->poll_fd);
	free(execution);
}

static int check_id(const char *id, struct warder_error *err)
{
	char shown[64];

	if (!id || (strlen(id) == REMOTE_ID_LENGTH && strspn(id, "0123456789abcdef") == REMOTE_ID_LENGTH))
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "id",
			 "id %s: an execution's id has %d digits from 0-9 and a-f",
			 json_quote(id, shown, sizeof(shown)), REMOTE_ID_LENGTH);
}

static int check_command(const struct warder_execution_command *command, struct warder_error *err)
{
	struct stat st;

	if (!command->argv || !command->argv[0])
		return error_no_argument(err, "command->argv");
	if (command->flags & ~(unsigned int)WARDER_SESSION_BACKGROUND)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "flags", "unknown flags %#x",
				 command->flags);
	if (command->terminal_fd < 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "terminal_fd",
				 "terminal_fd: %d is not a descriptor; 0 means that there is none",
				 command->terminal_fd);
	if (command->log_fd < 0 ||
	    (command->log_fd > 0 && (fstat(command->log_fd, &st) != 0 || !S_ISREG(st.st_mode))))
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "log_fd",
		    "log_fd: %d is not a descriptor of a regular file; 0 means that there is none",
		    command->log_fd);
	if (command->rows > SIZE_MOST || command->columns > SIZE_MOST ||
	    (command->rows == 0) != (command->columns == 0))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "rows",
				 "rows %u, columns %u: give both, up to %d, or neither", command->rows,
				 command->columns, SIZE_MOST);
	return check_id(command->id, err);
}

int warder_execution_start(struct warder_session *session, const struct warder_execution_command *command,
			   struct warder_execution **ret, struct warder_error *err)
{
	return execution_start_audited(session, command, NULL, false, ret, err);
}

int execution_start_audited(struct warder_session *session, const struct warder_execution_command *command,
			    const struct remote_audit *audit, bool progress, struct warder_execution **ret,
			    struct warder_error *err)
{
	struct warder_execution_command known;
	struct remote_command asked;
	struct remote *remote;

	if (!session || !command || !ret)
		return error_no_argument(err, !session ? "session" : !command ? "command" : "ret");
	if (library_take(&known, sizeof(known), command, command->size, "warder_execution_command", err) !=
		0 ||
	    check_command(&known, err) != 0 ||
	    session_check_granted(&session->spec.policy, known.ceiling ? &known.ceiling->policy : NULL,
				  err) != 0)
		return -1;
	asked = (struct remote_command){
		.policy = known.policy ? &known.policy->policy : &session->spec.policy,
		.ceiling = known.ceiling ? &known.ceiling->policy : NULL,
		.argv = known.argv,
		.environment = known.environment,
		.background = known.flags & WARDER_SESSION_BACKGROUND,
		.input = known.keep_input,
		.terminal = known.terminal,
		.terminal_fd = known.terminal && known.terminal_fd > 0 ? known.terminal_fd : -1,
		.rows = (uint16_t)known.rows,
		.columns = (uint16_t)known.columns,
		.output_max = known.output_max,
		.keep_us = known.keep_us,
		.audit = audit,
		.log_fd = known.log_fd,
		.progress = progress,
	};
	return remote_start(session->spec.name, known.id, &asked, &remote, err) < 0 ? -1
										    : make(remote, ret, err);
}

int warder_execution_open(const char *id, struct warder_execution **ret, struct warder_error *err)
{
	struct remote *remote;

	if (!id || !ret)
		return error_no_argument(err, id ? "ret" : "id");
	return remote_open(id, &remote, err) < 0 ? -1 : make(remote, ret, err);
}

int execution_follow(const struct remote *owner, struct warder_execution **ret, struct warder_error *err)
{
	struct remote *remote;

	if (remote_again(owner, &remote, err) < 0 || make(remote, ret, err) < 0)
		return -1;
	(*ret)->follow = true;
	return 0;
}

char *warder_execution_list(struct warder_error *err)
{
	return remote_list(err);
}

const char *warder_execution_id(const struct warder_execution *execution)
{
	return execution ? remote_id(execution->control) : "";
}

const char *warder_execution_session(const struct warder_execution *execution)
{
	return execution ? remote_session(execution->control) : "";
}

/* ---- connections ---- */

static int watch(const struct warder_execution *execution, int fd, struct warder_error *err)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(execution->poll_fd, EPOLL_CTL_ADD, fd, &event) == 0
		   ? 0
		   : error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				     "the keeper's connection cannot be watched");
}

/* Before it is closed: a forked child may have it, too. */
static void unwatch(const struct warder_execution *execution, int fd)
{
	epoll_ctl(execution->poll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void drop(const struct warder_execution *execution, struct remote **remote)
{
	if (*remote)
		unwatch(execution, remote_fd(*remote));
	remote_free(*remote);
	*remote = NULL;
}

/* Attach, or wait for the result, by a connection that is fresh. */
static int begin_reading(struct warder_execution *execution, struct remote *reader,
			 struct remote_attached *ret, struct warder_error *err)
{
	const int begun = execution->attach.size
			      ? remote_attach(reader, execution->next, execution->follow, ret, err)
			      : remote_wait_begin(reader, false, err);

	return begun < 0 ? -1 : watch(execution, remote_fd(reader), err);
}

/* -1 with *err; no connection is left. */
static int connect_reader(struct warder_execution *execution, struct remote_attached *ret,
			  struct warder_error *err)
{
	if (remote_again(execution->control, &execution->reader, err) < 0)
		return -1;
	if (begin_reading(execution, execution->reader, ret, err) == 0)
		return 0;
	drop(execution, &execution->reader);
	return -1;
}

/* The reader's connection is lost. Waits only where the first try fails, or follows another one too soon. 0: there is another one; 1: the keeper is gone, or has forgotten the execution; -1 with *err, and no connection is left. */
static int reconnect(struct warder_execution *execution, struct warder_error *err)
{
	const struct timespec pause = { .tv_nsec = RETRY_US * 1000 };
	struct remote_attached ignored;
	int got = -1;

	unwatch(execution, remote_fd(execution->reader));
	/* A keeper that dies may still take a connection when it has closed others. */
	for (int i = 0; i < TRIES && got < 0; i++) {
		if (i > 0 || (execution->connected_us && clock_us() - execution->connected_us < RETRY_US))
			nanosleep(&pause, NULL);
		execution->connected_us = clock_us();
		got = remote_reconnect(execution->reader, err);
		if (got == 0)
			got = begin_reading(execution, execution->reader, &ignored, err);
		if (got < 0 && err->code != WARDER_ERROR_UNAVAILABLE)
			break;
	}
	if (got != 0)
		drop(execution, &execution->reader);
	return got;
}

/* ---- input ---- */

static void wake(const struct warder_execution *execution)
{
	const uint64_t one = 1;
	const ssize_t n = write(execution->wake_fd, &one, sizeof(one));

	(void)n; /* a full counter is readable as well */
}

void warder_execution_input_ready(struct warder_execution *execution)
{
	const int saved = errno;

	if (execution)
		wake(execution);
	errno = saved;
}

static int begin_input(struct warder_execution *execution, struct warder_error *err)
{
	if (remote_again(execution->control, &execution->writer, err) < 0)
		return -1;
	execution->has_input = true;
	if (watch(execution, remote_fd(execution->writer), err) < 0 ||
	    watch(execution, execution->wake_fd, err) < 0)
		return -1;
	wake(execution); /* the first dispatch asks for bytes */
	return 0;
}

static void end_input(struct warder_execution *execution)
{
	unwatch(execution, execution->wake_fd);
	drop(execution, &execution->writer);
	execution->writing = false;
}

/* The program has closed its input, or has ended: no fault of the caller's. */
static int input_failed(struct warder_execution *execution, const struct warder_error *err)
{
	end_input(execution);
	return err->code == WARDER_ERROR_CONFLICT || err->code == WARDER_ERROR_NOT_FOUND ||
		       err->code == WARDER_ERROR_UNAVAILABLE /* the reader learns why */
		   ? 0
		   : -1;
}

static int fetch_input(struct warder_execution *execution, struct warder_error *err)
{
	const struct warder_attach *attach = &execution->attach;
	char bytes[REMOTE_WRITE_MAX];
	const long n = attach->on_input(attach->context, bytes, sizeof(bytes));

	if (n > (long)sizeof(bytes)) {
		end_input(execution);
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "on_input",
				 "on_input returned %ld bytes, and there was room for %zu", n, sizeof(bytes));
	}
	if (n < 0) {
		const int closed = remote_close_input(execution->writer, err);

		end_input(execution);
		return closed < 0 && err->code != WARDER_ERROR_UNAVAILABLE ? -1 : 0;
	}
	execution->has_input = n > 0;
	if (n == 0)
		return 0;
	if (remote_write_begin(execution->writer, bytes, (size_t)n, false, err) < 0)
		return input_failed(execution, err);
	execution->writing = true;
	return 0;
}

static int step_input(struct warder_execution *execution, struct warder_error *err)
{
	uint64_t count;
	int done;

	if (!execution->writer)
		return 0;
	if (read(execution->wake_fd, &count, sizeof(count)) == sizeof(count))
		execution->has_input = true;
	if (execution->writing) {
		done = remote_write_done(execution->writer, 0, err);
		if (done < 0)
			return input_failed(execution, err);
		execution->writing = done == 0;
	}
	/* More comes by the next dispatch, which the answer to these bytes makes worthwhile. */
	return execution->has_input && !execution->writing ? fetch_input(execution, err) : 0;
}

/* ---- the end ---- */

static uint64_t number_of(const struct json_value *object, const char *key, uint64_t other)
{
	const struct json_value *value = object ? json_member(object, key) : NULL;

	return value && value->is_uint ? value->uint : other;
}

/* What the keeper's document says, for the functions that read a result. */
static void take_document(struct warder_result *result, const char *json)
{
	struct json_value *document = NULL;
	struct warder_error ignored = { 0 };

	if (!json || json_parse(json, strlen(json), "result", &(struct json_limits){ .max_bytes = SIZE_MAX },
				&document, &ignored) != 0)
		return;
	result->outcome.wall_us = number_of(json_member(document, "durations"), "wallUs", 0);
	result->outcome.cpu_us = number_of(document, "cpuTimeUs", 0);
	result->outcome.memory_peak_bytes = number_of(document, "peakMemoryBytes", UINT64_MAX);
	json_free(document);
}

/* `json` is taken. */
static int make_result(const struct remote_end *end, char *json, struct warder_result **ret,
		       struct warder_error *err)
{
	struct warder_result *result = calloc(1, sizeof(*result));

	if (!result) {
		free(json);
		return error_no_memory(err, NULL);
	}
	result->outcome = end->outcome;
	result->outcome.memory_peak_bytes = result->outcome.cpu_us = result->outcome.pids_peak = UINT64_MAX;
	if (end->session_end != SESSION_END_NONE)
		result->session_end = session_end_name(end->session_end);
	result->backend = SESSION_BACKEND;
	result->receipt.isolation = POLICY_ISOLATION_NAMESPACE_JAIL_PERSISTENT;
	result->streamed = true;
	result->unmeasured = !json;
	take_document(result, json);
	result->document = json;
	*ret = result;
	return 1;
}

static int lost(const struct warder_execution *execution, struct warder_result **ret,
		struct warder_error *err)
{
	struct remote_end end = { .outcome = { .cause = JAIL_CAUSE_SUPERVISOR, .exit_code = -1 } };
	const bool forgotten = remote_is_forgotten(execution->control);

	snprintf(end.outcome.detail, sizeof(end.outcome.detail), "%sthe keeper of session %.64s %s",
		 forgotten ? "" : "killed: ", remote_session(execution->control),
		 forgotten ? "has forgotten the execution, which has ended: the rest of its output and its "
			     "result are lost"
			   : "is gone, and with it everything in the session");
	return make_result(&end, NULL, ret, err);
}

/* It has ended, which the attached reader was told without the document. */
static int take_end(struct warder_execution *execution, const struct remote_end *end,
		    struct warder_result **ret, struct warder_error *err)
{
	struct remote_end same;
	struct warder_error ignored = { 0 };
	char *json = NULL;

	drop(execution, &execution->reader);
	if (execution->writer)
		end_input(execution);
	execution->attach = (struct warder_attach){ 0 };
	if (remote_wait(execution->control, &same, &json, &ignored) < 0)
		json = NULL; /* the keeper has ended meanwhile */
	return make_result(end, json, ret, err);
}

/* ---- reading ---- */

static int hand_on(struct warder_execution *execution, const struct remote_event *event,
		   struct warder_error *err)
{
	const struct warder_attach *attach = &execution->attach;
	const enum warder_stream stream = event->stream ? WARDER_STDERR : WARDER_STDOUT;
	int refused = 0;

	execution->next[event->stream] = event->end;
	if (event->kind == REMOTE_GAP && attach->on_gap)
		attach->on_gap(attach->context, stream, event->offset, event->end);
	if (event->kind == REMOTE_BYTES && attach->on_output)
		refused = attach->on_output(attach->context, stream, event->offset, event->bytes,
					    (size_t)(event->end - event->offset));
	return refused ? error_set(err, WARDER_ERROR_EXECUTION_FAILED, "on_output", "on_output returned %d",
				   refused)
		       : 0;
}

/* 1 with *ret; 0; -1 with *err. */
static int read_output(struct warder_execution *execution, struct warder_result **ret,
		       struct warder_error *err)
{
	for (int i = 0; i < EVENTS; i++) {
		struct remote_event event;
		int got;

		if (remote_next(execution->reader, 0, &event, err) < 0) {
			got = reconnect(execution, err);
			return got > 0 ? lost(execution, ret, err) : got;
		}
		if (event.kind == REMOTE_END)
			return take_end(execution, &event.last, ret, err);
		if (event.kind == REMOTE_NOTHING)
			return 0;
		if (hand_on(execution, &event, err) < 0)
			return -1;
	}
	return 0;
}

static int read_result(struct warder_execution *execution, struct warder_result **ret,
		       struct warder_error *err)
{
	struct remote_end end;
	char *json = NULL;
	int got = remote_wait_done(execution->reader, 0, &end, &json, err);

	if (got < 0 && err->code == WARDER_ERROR_UNAVAILABLE) {
		got = reconnect(execution, err);
		return got > 0 ? lost(execution, ret, err) : got;
	}
	if (got <= 0)
		return got;
	drop(execution, &execution->reader);
	return make_result(&end, json, ret, err);
}

static int step(struct warder_execution *execution, struct warder_result **ret, struct warder_error *err)
{
	struct remote_attached ignored;

	if (!execution->reader && connect_reader(execution, &ignored, err) < 0)
		return -1;
	if (step_input(execution, err) < 0)
		return -1;
	return execution->attach.size ? read_output(execution, ret, err) : read_result(execution, ret, err);
}

int warder_execution_attach(struct warder_execution *execution, const struct warder_attach *attach,
			    struct warder_attached *ret, struct warder_error *err)
{
	struct warder_attach known;
	struct warder_attached state = { 0 };
	struct remote_attached attached = { 0 };

	if (!execution || !attach)
		return error_no_argument(err, execution ? "attach" : "execution");
	if (library_take(&known, sizeof(known), attach, attach->size, "warder_attach", err) != 0)
		return -1;
	if (execution->reader)
		return error_set(err, WARDER_ERROR_CONFLICT, "execution",
				 "the handle of execution %s is %s already; open another one",
				 warder_execution_id(execution),
				 execution->attach.size ? "attached" : "waiting for the result");
	execution->attach = known;
	memcpy(execution->next, known.from, sizeof(execution->next));
	if (connect_reader(execution, &attached, err) < 0 ||
	    (known.on_input && attached.input && !attached.ended && begin_input(execution, err) < 0)) {
		drop(execution, &execution->reader);
		drop(execution, &execution->writer);
		execution->attach = (struct warder_attach){ 0 };
		return -1;
	}
	state = (struct warder_attached){ .bytes = { attached.totals[0], attached.totals[1] },
					  .ended = attached.ended,
					  .terminal = attached.terminal,
					  .input = attached.input };
	return ret ? library_give(ret, ret->size, &state, sizeof(state), "warder_attached", err) : 0;
}

int warder_execution_fd(struct warder_execution *execution, struct warder_error *err)
{
	struct remote_attached ignored;

	if (!execution)
		return error_no_argument(err, "execution");
	if (!execution->reader && connect_reader(execution, &ignored, err) < 0)
		return -1;
	return execution->poll_fd;
}

int warder_execution_dispatch(struct warder_execution *execution, struct warder_result **ret,
			      struct warder_error *err)
{
	if (!execution || !ret)
		return error_no_argument(err, execution ? "ret" : "execution");
	return step(execution, ret, err);
}

int warder_execution_wait_for(struct warder_execution *execution, uint64_t timeout_us,
			      struct warder_result **ret, struct warder_error *err)
{
	const uint64_t begin = clock_us();
	const uint64_t until = timeout_us < UINT64_MAX - begin ? begin + timeout_us : UINT64_MAX;

	if (!execution || !ret)
		return error_no_argument(err, execution ? "ret" : "execution");
	for (;;) {
		struct pollfd ready = { .fd = execution->poll_fd, .events = POLLIN };
		const int got = step(execution, ret, err);
		const uint64_t now = clock_us();

		if (got != 0 || now >= until)
			return got;
		poll(&ready, 1, until - now > 1000000 ? 1000 : (int)((until - now) / 1000 + 1));
	}
}

/* ---- requests ---- */

int warder_execution_write(struct warder_execution *execution, const char *bytes, size_t len, int more,
			   struct warder_error *err)
{
	if (!execution || (!bytes && len))
		return error_no_argument(err, execution ? "bytes" : "execution");
	return remote_write(execution->control, bytes ? bytes : "", len, more, err);
}

int warder_execution_close_input(struct warder_execution *execution, struct warder_error *err)
{
	return execution ? remote_close_input(execution->control, err) : error_no_argument(err, "execution");
}

int warder_execution_signal(struct warder_execution *execution, int number, struct warder_error *err)
{
	return execution ? remote_signal(execution->control, number, err)
			 : error_no_argument(err, "execution");
}

int warder_execution_resize(struct warder_execution *execution, unsigned int rows, unsigned int columns,
			    struct warder_error *err)
{
	if (!execution)
		return error_no_argument(err, "execution");
	if (rows > SIZE_MOST || columns > SIZE_MOST)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "rows", "rows %u, columns %u: at most %d",
				 rows, columns, SIZE_MOST);
	return remote_resize(execution->control, (int)rows, (int)columns, err);
}

int warder_execution_counters(struct warder_execution *execution, struct warder_counters *ret,
			      struct warder_error *err)
{
	struct remote_counters counted;
	struct warder_counters counters;

	if (!execution || !ret)
		return error_no_argument(err, execution ? "ret" : "execution");
	if (remote_counters(execution->control, &counted, err) < 0)
		return -1;
	counters = (struct warder_counters){ .cpu_us = counted.cpu_us,
					     .memory_bytes = counted.memory_bytes,
					     .memory_peak_bytes = counted.memory_peak_bytes,
					     .processes = counted.processes,
					     .read_bytes = counted.read_bytes,
					     .written_bytes = counted.written_bytes };
	return library_give(ret, ret->size, &counters, sizeof(counters), "warder_counters", err);
}

/* ---- the session ---- */

int warder_session_pause(const char *name, struct warder_error *err)
{
	return remote_pause(name, true, err);
}

int warder_session_resume(const char *name, struct warder_error *err)
{
	return remote_pause(name, false, err);
}

int warder_session_extend(const char *name, uint64_t us, struct warder_error *err)
{
	return remote_extend(name, us, err);
}
