#include "runtime/session/keeper_agent.h"
#include "runtime/session/keeper_branch.h"
#include "runtime/session/keeper_code.h"
#include "runtime/session/keeper_context.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/line_log.h"
#include "runtime/library/library.h"
#include "runtime/library/preparation.h"
#include "runtime/library/result.h"
#include "runtime/library/result_end.h"

#define STACK_BYTES  (256u << 10)
#define WORDS_MAX    65536u
#define END_WAIT_US  UINT64_C(1000000) /* for the word how the session has ended */
#define FINISH_MS    100
#define INIT_WAIT_MS 500                /* for the death of an init that was killed */
#define LAUNCH_US    UINT64_C(30000000) /* of an execution with an owner */
#define EVENTS       32                 /* of one dispatch */
#define AHEAD_MAX    (256u << 10)       /* of the spool, before a client that the program waits for */
#define FOLLOWED_MAX                                                                                         \
	(512u                                                                                                \
	 << 10) /* of the spool of such a program, even if the session's spools are full: what it wrote before it waits */

int executions_init(struct executions *all, struct warder_error *err)
{
	struct epoll_event event = { .events = EPOLLIN };

	all->fd = epoll_create1(EPOLL_CLOEXEC);
	all->launched_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return all->fd < 0 || all->launched_fd < 0 ||
		       epoll_ctl(all->fd, EPOLL_CTL_ADD, all->launched_fd, &event) < 0
		   ? error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no descriptor left")
		   : 0;
}

/* ---- what a START holds ---- */

struct policy *execution_new_policy(struct warder_error *err)
{
	struct policy *policy = calloc(1, sizeof(*policy));

	if (!policy)
		error_no_memory(err, NULL);
	return policy;
}

void execution_drop_policy(struct policy **policy)
{
	policy_done(*policy);
	free(*policy);
	*policy = NULL;
}

static void words_done(struct execution_words *words)
{
	execution_drop_policy(&words->policy);
	execution_drop_policy(&words->ceiling);
	free(words->argv);
	free(words->set);
	free(words->caller);
	free(words->bytes);
	*words = (struct execution_words){ 0 };
}

static int malformed(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the request's words are malformed");
}

/* The next text of the memory file. NULL: there is none. */
static char *next_text(char **at, const char *end)
{
	char *text = *at;
	char *stop = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;

	if (!stop)
		return NULL;
	*at = stop + 1;
	return text;
}

static int take_list(char **at, const char *end, size_t count, char ***ret, struct warder_error *err)
{
	*ret = calloc(count + 1, sizeof(**ret));
	if (!*ret)
		return error_no_memory(err, NULL);
	for (size_t i = 0; i < count; i++) {
		(*ret)[i] = next_text(at, end);
		if (!(*ret)[i])
			return malformed(err);
	}
	return 0;
}

static int take_policy(char **at, const char *end, const char *what, struct policy **ret,
		       struct warder_error *err)
{
	const char *text = next_text(at, end);

	if (!text)
		return malformed(err);
	*ret = execution_new_policy(err);
	return *ret ? policy_decode(text, strlen(text), what, *ret, err) : -1;
}

static int take_words(const struct record_start *start, char *bytes, struct execution_words *ret,
		      struct warder_error *err)
{
	char *at = bytes;
	const char *end = bytes + start->bytes;

	ret->bytes = bytes;
	if (start->argc == 0 || start->argc > WORDS_MAX || start->set_count > WORDS_MAX ||
	    start->caller_count > WORDS_MAX || start->has_ceiling > 1 || start->has_audit > 1)
		return malformed(err);
	if (take_policy(&at, end, "policy", &ret->policy, err) < 0 ||
	    (start->has_ceiling && take_policy(&at, end, "ceiling", &ret->ceiling, err) < 0) ||
	    take_list(&at, end, start->argc, &ret->argv, err) < 0 ||
	    take_list(&at, end, start->set_count, &ret->set, err) < 0 ||
	    take_list(&at, end, start->caller_count, &ret->caller, err) < 0)
		return -1;
	if (start->has_audit) {
		ret->audit_path = next_text(&at, end);
		ret->audit_head = next_text(&at, end);
		if (!ret->audit_path || !ret->audit_head)
			return malformed(err);
	}
	return at == end ? 0 : malformed(err);
}

/* ---- output ---- */

static uint64_t epoch_us(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* The spool of the execution that ended first gives way to those that run. */
static void make_room(struct executions *all)
{
	struct execution *oldest = NULL;

	for (size_t i = 0; i < all->count; i++) {
		struct execution *one = all->items[i];

		if (one->state == EXECUTION_ENDED && !one->follower && one->spool.size &&
		    (!oldest || one->ended_us < oldest->ended_us))
			oldest = one;
	}
	if (!oldest)
		return;
	all->spool_bytes -= oldest->spool.size;
	ring_drop(&oldest->spool);
}

/* How many bytes its spool may still grow by. */
static size_t room_of(const struct execution *execution)
{
	const size_t spools = execution->all->spool_bytes, size = execution->spool.size;
	const size_t shared = spools < SPOOLS_BYTES_MAX ? SPOOLS_BYTES_MAX - spools : 0;
	const size_t own = execution->follower && size < FOLLOWED_MAX ? FOLLOWED_MAX - size : 0;

	return shared > own ? shared : own;
}

/* Of an owner that has not begun to read. */
static const struct ring_cursor beginning;

/* Whether the program has written more than this that the client that it waits for has not got. */
static bool is_ahead(const struct execution *execution, size_t most)
{
	return execution->follower && execution->spool.head - execution->follower->at > most;
}

int execution_take_output(void *context, enum warder_stream stream, const char *bytes, size_t len)
{
	struct execution *execution = context;
	struct executions *all = execution->all;
	const size_t before = execution->spool.size;

	if (all->spool_bytes + RING_BYTES_MAX > SPOOLS_BYTES_MAX)
		make_room(all);
	ring_append(&execution->spool, stream, bytes, len, epoch_us(), room_of(execution));
	all->spool_bytes += execution->spool.size - before;
	if (execution->follower && !execution->waits && is_ahead(execution, AHEAD_MAX)) {
		execution->waits = true;
		library_hold_output(execution->run, true);
	}
	return 0;
}

/* What its caller's streams get, or the result, for whoever attaches. */
static void copy_output(void *execution, enum jail_stream stream, const char *bytes, size_t len)
{
	execution_take_output(execution, stream == JAIL_STDERR ? WARDER_STDERR : WARDER_STDOUT, bytes, len);
}

void execution_follow_by(struct execution *execution, const struct ring_cursor *cursor)
{
	execution->follower = cursor;
	execution_followed(execution);
}

bool execution_is_unread(const struct execution *execution)
{
	return execution->follower == &beginning;
}

void execution_followed(struct execution *execution)
{
	if (!execution->waits || is_ahead(execution, AHEAD_MAX / 2))
		return;
	execution->waits = false;
	if (execution->run)
		library_hold_output(execution->run, false);
}

/* ---- the launch ---- */

/* The session ended under it: NONE, if what ended it is not known yet. */
static const char *tell_end(void *owner, struct jail_outcome *outcome)
{
	const struct executions *all = owner;

	snprintf(outcome->detail, sizeof(outcome->detail), "killed: %s", session_end_text(all->session_end));
	return session_end_name(all->session_end);
}

static void keep_owner(void *owner)
{
}

static void keep_failure(void *owner, struct warder_error *err)
{
}

static const struct library_session of_keeper = { keep_owner, tell_end, keep_failure };

/* The copy of the caller's terminal is to hand on every byte from now on; the program's own does the rest. */
static void make_raw(int fd)
{
	struct termios raw;

	if (fd < 0 || tcgetattr(fd, &raw) < 0)
		return;
	cfmakeraw(&raw);
	tcsetattr(fd, TCSANOW, &raw);
}

/* The interpreter of a context gets its channel as descriptor 4, and no other input. */
static int launch_context(struct execution *execution, struct warder_error *err)
{
	const struct keeper_context *context = execution->context;
	const struct library_launch launch = {
		.on_output = execution_take_output,
		.output_context = execution,
		.command = { .argv = (char *const *)(uintptr_t)context->interpreter->argv,
			     .set_env = execution->words.set,
			     .stdin_fd = -1,
			     .input_fd = context->program_fd,
			     .watch_fd = context->fd,
			     .on_watch = keeper_context_take,
			     .on_left = keeper_branches_stay,
			     .watch_context = execution },
	};

	return library_launch(execution->tmpl, &launch, &execution->run, err);
}

/* The policy of what is launched: the wall time of a context's policy is that of each piece, which the keeper measures. */
static int open_policy(const struct execution *execution, struct policy *ret, struct warder_error *err)
{
	if (policy_copy(execution->words.policy, ret, err) < 0)
		return -1;
	if (execution->context)
		ret->limits.wall_time_us = POLICY_UNLIMITED;
	return 0;
}

int execution_gives_up(void *context)
{
	struct execution *execution = context;

	return atomic_load(&execution->stopped) || clock_us() > execution->launch_until_us;
}

/* What its owner does not take in time is in the result. Without an owner, the last line is kept. */
void execution_take_line(void *context, const char *line)
{
	struct execution *execution = context;
	const size_t len = strlen(line) + 1;
	char *grown = NULL;

	if (!execution->owned)
		execution->lines_len = 0;
	if (execution->lines_len + len <= RECORD_BODY_MAX)
		grown = realloc(execution->lines, execution->lines_len + len);
	if (!grown)
		return;
	memcpy(grown + execution->lines_len, line, len);
	execution->lines = grown;
	execution->lines_len += len;
}

static int launch_command(struct execution *execution, const struct warder_command *command,
			  struct warder_error *err)
{
	return library_launch_command(execution->tmpl, command, NULL,
				      execution->calls_fd > 0 ? execution->calls_fd : 0, &execution->run,
				      err);
}

/* With the streams of its caller, as "warder run" launches a program with its own. */
static int launch_streams(struct execution *execution, struct warder_error *err)
{
	const bool passes = execution->flags & RECORD_OUTPUT_FDS;
	const struct warder_command command = {
		.size = sizeof(command),
		.argv = execution->words.argv,
		.environment = execution->words.set,
		.input_fd = execution->streams[0] > 0 ? execution->streams[0] : 0,
		.output_fds = passes ? &execution->streams[1] : NULL,
		.output_max = passes ? execution->output_max : 0,
		.should_stop = execution_gives_up,
		.context = execution,
		.no_receipt = (execution->flags & RECORD_NO_RECEIPT) != 0,
		.progress = (execution->flags & RECORD_PROGRESS) != 0,
		.on_progress = execution_take_line,
	};

	return launch_command(execution, &command, err);
}

/* With a terminal or a pipe of the keeper's, or without input; its output goes into the spool. */
static int launch_own(struct execution *execution, struct warder_error *err)
{
	const struct execution_words *words = &execution->words;
	const bool terminal = execution->flags & RECORD_TERMINAL;
	const struct warder_spill log = { .size = sizeof(log),
					  .fds = execution->log_fds,
					  .bytes_max = UINT64_MAX };
	const struct warder_command command = {
		.size = sizeof(command),
		.argv = words->argv,
		.environment = words->set,
		.spill = execution->flags & RECORD_LOG ? &log : NULL,
		.input_fd = terminal || execution->source_fd < 0 ? 0 : execution->source_fd,
		.terminal_fd = terminal ? execution->source_fd : 0,
		.on_output = execution_take_output,
		.context = execution,
		.should_stop = execution->flags & RECORD_OWNER ? execution_gives_up : NULL,
		.no_receipt = (execution->flags & RECORD_NO_RECEIPT) != 0,
		.progress = (execution->flags & RECORD_PROGRESS) != 0,
		.on_progress = execution_take_line,
	};

	if (launch_command(execution, &command, err) < 0)
		return -1;
	if (terminal)
		make_raw(execution->source_fd);
	return 0;
}

static int prepare_and_launch(struct execution *execution, struct warder_error *err)
{
	const struct policy_subject interpreter = {
		execution->context ? execution->context->interpreter->language : "", POLICY_PAYLOAD_SOURCE
	};
	struct policy policy = { 0 };
	int prepared;
	struct executions *all = execution->all;
	const bool streams = execution->flags & RECORD_STREAMS;
	const struct execution_words *words = &execution->words;
	const struct preparation_options how = {
		.joint = all->joint,
		.root = all->root,
		.rules = execution->rules,
		.background = execution->flags & RECORD_BACKGROUND || keeper_context_may_fork(execution),
		.ceiling = words->ceiling,
		.asked = execution->code && execution->code->asked ? execution->code->asked : words->policy,
		.subject = execution->context ? &interpreter
			   : execution->code  ? &execution->code->subject
					      : NULL,
		.code_bytes = execution->code ? execution->code->record.head.code.code_bytes : 0,
		.beside = execution->agent != NULL,
		.cgroup_parent = execution->agent ? all->cgroup_parent : NULL,
		.environment = words->caller,
		.passes_output = !streams,
		.output_max = streams ? 0 : execution->output_max,
	};
	prepared = open_policy(execution, &policy, err);
	if (prepared == 0)
		prepared = library_prepare(&policy, &how, true, &execution->tmpl, err);
	policy_done(&policy);
	if (prepared < 0)
		return -1;
	library_own(execution->tmpl, &of_keeper, all);
	if (execution->context)
		return launch_context(execution, err);
	if (execution->code)
		return keeper_code_launch(execution, err);
	if (streams)
		return launch_streams(execution, err);
	if (execution->agent)
		return keeper_agent_launch(execution, err);
	return launch_own(execution, err);
}

/* A launch takes milliseconds, and may hang in the kernel: it has a thread of its own. If the end of the session made it fail, this thread
 * waits until init is dead: a killed init takes a moment to die, and its death explains the failure. */
static void *launch(void *arg)
{
	struct execution *execution = arg;
	const uint64_t one = 1;
	ssize_t n;

	if (prepare_and_launch(execution, &execution->failure) < 0 &&
	    execution->failure.code == WARDER_ERROR_UNAVAILABLE)
		jail_session_has_ended(execution->all->joint, INIT_WAIT_MS);
	atomic_store(&execution->launched, true);
	n = write(execution->all->launched_fd, &one, sizeof(one));
	(void)n; /* a full counter is readable as well */
	return NULL;
}

/* ---- supervision ---- */

static void fill_end(const struct execution *execution, const struct warder_result *result,
		     const struct warder_error *failed, struct record_end *ret)
{
	*ret = (struct record_end){ .cause = JAIL_CAUSE_HOST, .exit_code = -1 };
	if (result) {
		ret->cause = (int32_t)result->outcome.cause;
		ret->exit_code = result->outcome.exit_code;
		ret->signal = result->outcome.signal;
		ret->session_end =
		    result->outcome.session_ended ? (uint32_t)execution->all->session_end : SESSION_END_NONE;
	}
	snprintf(ret->detail, sizeof(ret->detail), "%.511s", result ? result->outcome.detail : failed->text);
	for (int i = 0; i < 2; i++)
		ret->totals[i] = result ? result->outcome.output[i].total : 0;
}

/* The head, and what the end adds to it. NULL: no memory, or the head is no object. */
static char *audit_line(const struct execution *execution)
{
	const char *head = execution->words.audit_head;
	struct json_writer w = { 0 };
	struct json_value *document = NULL;
	struct warder_error ignored = { 0 };
	char *text, *line = NULL;

	if (json_parse(head, strlen(head), "audit", &(struct json_limits){ .max_bytes = SIZE_MAX }, &document,
		       &ignored) != 0 ||
	    document->type != JSON_OBJECT) {
		json_free(document);
		return NULL;
	}
	json_begin_object(&w);
	for (const struct json_value *member = document->child; member; member = member->next) {
		json_key(&w, member->key);
		json_copy(&w, member);
	}
	json_key_string(&w, "execution", execution->id);
	result_write_audit(execution->whole, &w);
	json_end_object(&w);
	json_free(document);
	text = json_take(&w);
	if (text && asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	free(text);
	return line;
}

/* Whoever waits for the result finds in it whether the line is there. A lock that another process of the user holds delays this by 5 s at
 * most. */
static void write_audit(struct execution *execution)
{
	struct json_writer w = { 0 };
	struct warder_error err = { 0 };
	char *line;
	int status;

	line = audit_line(execution);
	status = line ? line_log_append(execution->audit_fd, execution->words.audit_path, "--audit", line,
					strlen(line), &err)
		      : error_no_memory(&err, "--audit");
	free(line);
	fd_done(&execution->audit_fd);
	json_begin_object(&w);
	json_key_string(&w, "file", execution->words.audit_path);
	json_key_bool(&w, "written", status == 0);
	if (status != 0)
		json_key_string(&w, "error", err.text);
	json_end_object(&w);
	execution->audit = json_take(&w);
	execution->whole->audit = execution->audit;
}

/* Takes the result, which may be NULL. */
static void finish(struct execution *execution, struct warder_result *result,
		   const struct warder_error *failed)
{
	fill_end(execution, result, failed, &execution->end);
	execution->whole = result;
	if (result)
		result->logged = execution->flags & RECORD_LOG;
	if (result && execution->flags & RECORD_FUNCTIONS)
		result_miss_functions(result);
	if (!execution->owned)
		execution_document(execution);
	if (execution->context)
		keeper_context_ended(execution);
	execution->ended_us = clock_us();
	execution->state = EXECUTION_ENDED;
}

/* Its texts are in the record of the code. */
static void drop_whole(struct execution *execution)
{
	warder_result_free(execution->whole);
	execution->whole = NULL;
	keeper_code_free(execution->code);
	execution->code = NULL;
}

const char *execution_document(struct execution *execution)
{
	if (!execution->owned && execution->code && execution->whole) {
		keeper_code_report(execution->code, execution->whole);
		free(execution->result); /* made for another client, and without that */
		execution->result = NULL;
	}
	/* The owner would have written the line: a document that was made for another client does not mention it. */
	if (!execution->owned && execution->audit_fd >= 0 && execution->whole) {
		write_audit(execution);
		free(execution->result);
		execution->result = NULL;
	}
	if (!execution->result && execution->whole)
		execution->result = warder_result_json(execution->whole);
	if (!execution->owned)
		drop_whole(execution);
	return execution->result;
}

void execution_delivered(struct execution *execution)
{
	drop_whole(execution);
	fd_done(&execution->audit_fd);
	execution->owned = false;
	execution->keep_us = 0;
}

void execution_disown(struct execution *execution)
{
	execution->owned = false;
	if (execution_is_unread(execution))
		execution_follow_by(execution, NULL);
	if (execution->state == EXECUTION_ENDED)
		execution_document(execution);
}

static void close_files(struct execution *execution)
{
	for (size_t i = 0; i < ARRAY_LENGTH(execution->streams); i++)
		fd_done(&execution->streams[i]);
	fd_done(&execution->calls_fd);
	fd_done(&execution->log_fds[0]);
	execution->log_fds[1] = -1;
}

static void let_go(struct execution *execution)
{
	warder_run_free(execution->run);
	warder_template_free(execution->tmpl);
	execution->run = NULL;
	execution->tmpl = NULL;
	close_files(execution);
}

/* Nothing of the run is left. */
static void conclude(struct execution *execution, struct warder_result *result,
		     const struct warder_error *failed)
{
	if (result && result->outcome.session_ended && execution->all->session_end == SESSION_END_NONE) {
		execution->held = result;
		execution->held_until_us = clock_us() + END_WAIT_US;
	} else {
		finish(execution, result, failed);
	}
}

/* The run has ended, or its supervision has failed. The descriptor is taken out before it is closed: a process that is being started may
 * have it, too, and keep it in the instance. */
static void end(struct execution *execution, struct warder_result *result, const struct warder_error *failed)
{
	epoll_ctl(execution->all->fd, EPOLL_CTL_DEL, execution->run_fd, NULL);
	let_go(execution);
	if (!execution->code || !keeper_code_begin_removal(execution->code, result))
		conclude(execution, result, failed);
	else if (!result)
		execution->failure = *failed;
}

/* Whether nobody reads its input any more. A program can open its terminal again as long as it runs. */
static bool is_deaf(const struct execution *execution)
{
	if (execution->run)
		return !(execution->flags & RECORD_TERMINAL) && library_input_is_over(execution->run);
	return execution->state != EXECUTION_STARTING;
}

/* Whoever writes to an input that nobody reads any more is to learn that. */
static void settle(struct execution *execution)
{
	if (!is_deaf(execution))
		return;
	fd_done(&execution->input_fd);
	fd_done(&execution->source_fd);
	fd_done(&execution->streams[0]);
}

static void drive(struct execution *execution)
{
	struct warder_error err = { 0 };
	struct warder_result *result = NULL;

	if (execution->branch)
		keeper_branch_dispatch(execution);
	else if (warder_run_dispatch(execution->run, &result, &err) != 0)
		end(execution, result, &err);
	settle(execution);
}

/* Those that wait for the word how the session has ended. Returns the clock at which the next one has waited enough, or UINT64_MAX. */
static uint64_t finish_held(struct executions *all, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < all->count; i++) {
		struct execution *one = all->items[i];
		struct warder_result *held = one->held;

		if (held && (all->session_end != SESSION_END_NONE || now >= one->held_until_us)) {
			one->held = NULL;
			held->session_end = tell_end(all, &held->outcome);
			finish(one, held, NULL);
		} else if (held && one->held_until_us < next) {
			next = one->held_until_us;
		}
	}
	return next;
}

/* The session ended under its launch, and what ended that is not known yet. */
static bool waits_for_word(const struct execution *execution)
{
	const struct executions *all = execution->all;

	return !execution->run && execution->failure.code == WARDER_ERROR_UNAVAILABLE &&
	       all->session_end == SESSION_END_NONE && jail_session_has_ended(all->joint, 0);
}

static void fail(struct execution *execution)
{
	const struct executions *all = execution->all;

	let_go(execution);
	if (execution->failure.code == WARDER_ERROR_UNAVAILABLE && all->session_end != SESSION_END_NONE)
		session_not_started(all->session_end, &execution->failure);
	snprintf(execution->end.detail, sizeof(execution->end.detail), "%.500s", execution->failure.text);
	if (execution->context)
		keeper_context_ended(execution);
	execution->ended_us = clock_us();
	execution->state = EXECUTION_FAILED;
}

static void stop_run(struct execution *execution, const struct record_stop *stop)
{
	if (!execution->run)
		return;
	if (stop->grace_us && stop->signal)
		warder_stop(execution->run, (int)stop->signal, stop->grace_us);
	else
		warder_cancel(execution->run);
}

void execution_stop(struct execution *execution, const struct record_stop *stop)
{
	if (!atomic_load(&execution->stopped))
		execution->stop = *stop;
	atomic_store(&execution->stopped, true);
	if (execution_is_unread(execution)) /* its owner may never begin */
		execution_follow_by(execution, NULL);
	if (execution->state == EXECUTION_RUNNING)
		stop_run(execution, stop);
}

/* Copy the text to *at, which moves behind it; NULL: there is none. */
static char *move_text(const char *text, char **at)
{
	char *moved = *at;

	if (!text)
		return NULL;
	*at = stpcpy(moved, text) + 1;
	return moved;
}

/* Only the command line and the words of the audit file are needed until the end. Without memory all stay. */
static void keep_texts(struct execution_words *words)
{
	size_t len = 1;
	char *bytes, *at;

	for (char *const *word = words->argv; *word; word++)
		len += strlen(*word) + 1;
	if (words->audit_path)
		len += strlen(words->audit_path) + strlen(words->audit_head) + 2;
	bytes = at = malloc(len);
	if (!bytes)
		return;
	for (char **word = words->argv; *word; word++)
		*word = move_text(*word, &at);
	words->audit_path = move_text(words->audit_path, &at);
	words->audit_head = move_text(words->audit_head, &at);
	free(words->bytes);
	words->bytes = bytes;
}

/* A context needs them for another start. */
static void drop_words(struct execution *execution)
{
	struct execution_words *words = &execution->words;

	if (execution->context || execution->agent)
		return;
	keep_texts(words);
	execution_drop_policy(&words->policy);
	execution_drop_policy(&words->ceiling);
	free(words->set);
	free(words->caller);
	words->set = words->caller = NULL;
}

/* Another one of the session's that runs; or NULL. */
static const struct warder_run *find_like(const struct execution *execution)
{
	const struct executions *all = execution->all;

	for (size_t i = all->count; i-- > 0;)
		if (all->items[i] != execution && all->items[i]->state == EXECUTION_RUNNING &&
		    all->items[i]->run)
			return all->items[i]->run;
	return NULL;
}

/* From now on the main thread supervises it. */
static void take_over(struct execution *execution)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = execution };

	pthread_join(execution->thread, NULL);
	fd_done(&execution->calls_fd); /* or the client would not see the program close it */
	if (execution->agent)
		keeper_agent_launched(execution);
	if (!execution->run) {
		fail(execution);
		return;
	}
	if (execution->context)
		keeper_context_launched(execution);
	if (execution->flags & RECORD_STREAMS)
		library_copy_output(execution->run, copy_output, execution);
	library_trim(execution->run, find_like(execution));
	drop_words(execution);
	execution->state = EXECUTION_RUNNING;
	if (atomic_load(&execution->stopped))
		stop_run(execution, &execution->stop);
	execution->run_fd = warder_run_fd(execution->run, &execution->failure);
	if (execution->run_fd >= 0 &&
	    epoll_ctl(execution->all->fd, EPOLL_CTL_ADD, execution->run_fd, &event) == 0)
		return;
	if (execution->run_fd >= 0)
		error_set_errno(&execution->failure, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				"the execution cannot be supervised");
	end(execution, NULL, &execution->failure); /* and its jail with it */
}

static void take_all(struct executions *all)
{
	for (size_t i = 0; i < all->count; i++) {
		struct execution *one = all->items[i];

		if (one->state == EXECUTION_STARTING && atomic_load(&one->launched) && !waits_for_word(one))
			take_over(one);
		if (one->code && keeper_code_is_removed(one->code))
			conclude(one, keeper_code_end_removal(one->code), &one->failure);
	}
}

static void take_launched(struct executions *all)
{
	uint64_t count;

	if (read(all->launched_fd, &count, sizeof(count)) == sizeof(count))
		take_all(all);
}

void executions_dispatch(struct executions *all)
{
	struct epoll_event events[EVENTS];
	const int count = epoll_wait(all->fd, events, EVENTS, 0);

	for (int i = 0; i < count; i++) {
		if (events[i].data.ptr)
			drive(events[i].data.ptr);
		else
			take_launched(all);
	}
	keeper_branches_step(all);
}

void executions_finish(struct executions *all)
{
	struct pollfd ready = { .fd = all->fd, .events = POLLIN };

	finish_held(all, clock_us());
	take_all(all);
	while (executions_running(all)) {
		poll(&ready, 1, FINISH_MS);
		executions_dispatch(all);
		finish_held(all, clock_us());
	}
}

/* ---- input ---- */

static int no_descriptor(struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
			       "no descriptor left for the execution's input");
}

static int open_pipe(struct execution *execution, struct warder_error *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return no_descriptor(err);
	execution->source_fd = fds[0];
	execution->input_fd = fds[1];
	return fcntl(fds[1], F_SETFL, O_WRONLY | O_NONBLOCK) < 0 ? no_descriptor(err) : 0;
}

/* A terminal in the place of the caller's, who may come and go: the jail copies its settings and its size. */
static int open_terminal(struct execution *execution, const struct record_start *start, int caller_fd,
			 struct warder_error *err)
{
	struct winsize size = { .ws_row = start->rows ? start->rows : 24,
				.ws_col = start->columns ? start->columns : 80 };
	struct termios settings;
	owned_fd int master_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	int number;
	char path[32];

	if (master_fd < 0 || unlockpt(master_fd) < 0 || ioctl(master_fd, TIOCGPTN, &number) < 0)
		return no_descriptor(err);
	snprintf(path, sizeof(path), "/dev/pts/%d", number);
	execution->source_fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (execution->source_fd < 0)
		return no_descriptor(err);
	if (caller_fd >= 0 && tcgetattr(caller_fd, &settings) == 0)
		tcsetattr(execution->source_fd, TCSANOW, &settings);
	if (caller_fd >= 0 && !start->rows)
		ioctl(caller_fd, TIOCGWINSZ, &size);
	ioctl(master_fd, TIOCSWINSZ, &size);
	execution->input_fd = fd_take(&master_fd);
	return 0;
}

/* The descriptors that came, in their order. */
static int take_streams(struct execution *execution, const int *fds, struct warder_error *err)
{
	const bool wanted[] = { execution->flags & RECORD_INPUT_FD, execution->flags & RECORD_OUTPUT_FDS,
				execution->flags & RECORD_OUTPUT_FDS };

	for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++) {
		if (!wanted[i])
			continue;
		if (*fds < 0)
			return malformed(err);
		execution->streams[i] = fcntl(*fds++, F_DUPFD_CLOEXEC, 3);
		if (execution->streams[i] < 0)
			return no_descriptor(err);
	}
	return 0;
}

static int open_input(struct execution *execution, const struct record_start *start, const int *fds,
		      struct warder_error *err)
{
	execution->owned = execution->flags & (RECORD_STREAMS | RECORD_OWNER);
	if (execution->flags & RECORD_OWNER)
		execution->follower = &beginning;
	if (execution->flags & RECORD_STREAMS)
		return take_streams(execution, fds, err);
	if (execution->flags & RECORD_TERMINAL)
		return open_terminal(execution, start, fds[0], err);
	return execution->flags & RECORD_OPEN_INPUT ? open_pipe(execution, err) : 0;
}

void execution_close_input(struct execution *execution)
{
	static const char end_of_file = 4; /* Ctrl-D, as a terminal has no other end */

	if (execution->input_fd >= 0 && (execution->flags & RECORD_TERMINAL)) {
		if (write(execution->input_fd, &end_of_file, 1) < 0)
			return;
	} else {
		fd_done(&execution->input_fd);
	}
}

/* ---- all of them ---- */

static void execution_free(struct execution *execution)
{
	struct executions *all = execution->all;

	fd_done(&execution->input_fd);
	fd_done(&execution->source_fd);
	keeper_branch_free(execution);
	pieces_done(execution);
	keeper_context_free(execution->context);
	keeper_agent_free(execution->agent);
	drop_whole(execution);
	words_done(&execution->words);
	all->spool_bytes -= execution->spool.size;
	ring_done(&execution->spool);
	close_files(execution);
	fd_done(&execution->audit_fd);
	free(execution->audit);
	free(execution->lines);
	free(execution->result);
	free(execution);
}

static int draw_id(char ret[EXECUTION_ID_LENGTH + 1], struct warder_error *err)
{
	uint64_t number;
	ssize_t n;

	do
		n = getrandom(&number, sizeof(number), 0);
	while (n < 0 && errno == EINTR);
	if (n != sizeof(number))
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no random number");
	snprintf(ret, EXECUTION_ID_LENGTH + 1, "%016" PRIx64, number);
	return 0;
}

/* A stack of the size that a launch needs: what is not touched costs nothing, but is counted by limits of the address space. */
int executions_begin_thread(pthread_t *ret, void *(*run)(void *context), void *context)
{
	pthread_attr_t attributes;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	error = pthread_create(ret, &attributes, run, context);
	pthread_attr_destroy(&attributes);
	return error;
}

static int begin_thread(struct execution *execution, struct warder_error *err)
{
	const int error = executions_begin_thread(&execution->thread, launch, execution);

	return error ? error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, error,
				       "no thread for the execution")
		     : 0;
}

static int add(struct executions *all, struct execution *execution, struct warder_error *err)
{
	struct execution **items = realloc(all->items, (all->count + 1) * sizeof(*items));

	if (!items)
		return error_no_memory(err, NULL);
	all->items = items;
	items[all->count++] = execution;
	return 0;
}

/* The first descriptor behind the words. */
static int take_audit(struct execution *execution, const int **fds, struct warder_error *err)
{
	if (!execution->words.audit_head)
		return 0;
	if (**fds < 0 || execution->flags & RECORD_CONTEXT)
		return malformed(err);
	execution->audit_fd = fcntl(*(*fds)++, F_DUPFD_CLOEXEC, 3);
	return execution->audit_fd < 0 ? no_descriptor(err) : 0;
}

static bool keeps_rules(const struct executions *all, const struct policy *policy)
{
	for (size_t i = 0; i < all->former_count; i++)
		if (session_same_rules(policy, &all->former[i]))
			return true;
	return session_same_rules(policy, all->policy);
}

void executions_keep_rules(struct executions *all, struct policy *policy)
{
	struct policy *last = &all->former[EXECUTIONS_FORMER - 1];

	if (keeps_rules(all, policy)) {
		policy_done(policy);
		return;
	}
	if (all->former_count == EXECUTIONS_FORMER)
		policy_done(last);
	else
		all->former_count++;
	memmove(&all->former[1], &all->former[0], sizeof(all->former) - sizeof(all->former[0]));
	all->former[0] = *policy;
}

/* What a client has read as the session's rules may be former ones by now; then it means the session's. */
static int take_rules(struct execution *execution, struct warder_error *err)
{
	const struct executions *all = execution->all;
	struct policy *asked = execution->words.policy;
	struct policy next;

	execution->rules = all->spec->rules;
	for (size_t i = 0; i < all->former_count; i++) {
		if (!session_same_rules(asked, &all->former[i]))
			continue;
		if (session_with_rules(asked, all->policy, &next, err) < 0)
			return -1;
		policy_done(asked);
		*asked = next;
		return 0;
	}
	return 0;
}

/* The next one. That it is a regular file, which takes bytes at once, is checked at the launch. */
static int take_log(struct execution *execution, const int **fds, struct warder_error *err)
{
	if (!(execution->flags & RECORD_LOG))
		return 0;
	if (**fds < 0 || execution->flags & (RECORD_CONTEXT | RECORD_STREAMS))
		return malformed(err);
	execution->log_fds[0] = execution->log_fds[1] = fcntl(*(*fds)++, F_DUPFD_CLOEXEC, 3);
	return execution->log_fds[0] < 0 ? no_descriptor(err) : 0;
}

/* Both ends are without a name: no service of the host listens there. */
static bool is_end_of_pair(int fd)
{
	struct sockaddr_un peer;
	socklen_t peer_len = sizeof(peer), domain_len = sizeof(int), type_len = sizeof(int);
	int domain, type;

	return fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_len) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 && domain == AF_UNIX &&
	       type == SOCK_STREAM && getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 &&
	       peer_len == sizeof(peer.sun_family);
}

/* The next one. The keeper only hands it on, and lets no descriptor come by it, where the kernel can refuse that. */
static int take_functions(struct execution *execution, const int **fds, struct warder_error *err)
{
	if (!(execution->flags & RECORD_FUNCTIONS))
		return 0;
	if (!(execution->flags & (RECORD_STREAMS | RECORD_OWNER)) || execution->flags & RECORD_PROGRESS ||
	    !is_end_of_pair(**fds))
		return malformed(err);
	if (!execution->words.policy->functions.count)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "functions",
				 "the policy grants no function");
	fd_refuse_passing(**fds);
	execution->calls_fd = fcntl(*(*fds)++, F_DUPFD_CLOEXEC, 3);
	return execution->calls_fd < 0 ? no_descriptor(err) : 0;
}

static int fill(struct execution *execution, const char *id, const struct record_start *start, char *bytes,
		const int *fds, struct warder_error *err)
{
	struct warder_error ignored;

	if (take_words(start, bytes, &execution->words, err) < 0)
		return -1;
	if (execution->flags & RECORD_STREAMS &&
	    execution->flags & (RECORD_TERMINAL | RECORD_OPEN_INPUT | RECORD_CONTEXT))
		return malformed(err);
	if (execution->flags & RECORD_CODE && !(execution->flags & RECORD_STREAMS))
		return malformed(err);
	if (execution->flags & RECORD_OWNER &&
	    (execution->flags & (RECORD_STREAMS | RECORD_CONTEXT) || !(execution->flags & RECORD_TERMINAL)))
		return malformed(err);
	if (take_rules(execution, err) < 0 ||
	    session_check_narrower(execution->all->policy, execution->words.policy, err) < 0 ||
	    take_audit(execution, &fds, err) < 0 || take_log(execution, &fds, err) < 0 ||
	    (execution->flags & RECORD_CODE && keeper_code_new(execution, &fds, err) < 0) ||
	    take_functions(execution, &fds, err) < 0)
		return -1;
	if (*id && executions_find(execution->all, id, &ignored))
		return error_set(err, WARDER_ERROR_CONFLICT, "id", "there is an execution %s already", id);
	snprintf(execution->id, sizeof(execution->id), "%s", id);
	if (!*id && draw_id(execution->id, err) < 0)
		return -1;
	if (execution->flags & RECORD_CONTEXT)
		return keeper_context_new(execution, err);
	return open_input(execution, start, fds, err);
}

static struct execution *execution_new(struct executions *all, uint32_t flags,
				       const struct record_start *start)
{
	struct execution *execution = calloc(1, sizeof(*execution));

	if (!execution)
		return NULL;
	execution->all = all;
	execution->flags = flags;
	execution->start = *start;
	execution->input_fd = execution->source_fd = execution->audit_fd = execution->calls_fd = -1;
	execution->log_fds[0] = execution->log_fds[1] = -1;
	for (size_t i = 0; i < ARRAY_LENGTH(execution->streams); i++)
		execution->streams[i] = -1;
	execution->output_max = start->output_max;
	execution->keep_us = start->keep_us ? start->keep_us : EXECUTION_KEEP_US;
	execution->started_ms = clock_wall_ms();
	execution->launch_until_us = clock_us() + LAUNCH_US;
	return execution;
}

/* filled: 0, or -1 with *err. */
static int begin(struct executions *all, struct execution *execution, int filled, struct execution **ret,
		 struct warder_error *err)
{
	if (filled < 0 || add(all, execution, err) < 0) {
		execution_free(execution);
		return -1;
	}
	if (begin_thread(execution, err) < 0) {
		all->count--;
		execution_free(execution);
		return -1;
	}
	*ret = execution;
	return 0;
}

int executions_start(struct executions *all, const char *id, uint32_t flags, const struct record_start *start,
		     char *bytes, const int fds[RECORD_FDS_MAX - 1], struct execution **ret,
		     struct warder_error *err)
{
	const bool for_files = flags & RECORD_STREAMS && flags & RECORD_FOR_FILES;
	struct execution *execution;

	if (session_check_capability(all->spec, for_files ? WARDER_SESSION_FILESYSTEM : WARDER_SESSION_SHELL,
				     err) < 0) {
		free(bytes);
		return -1;
	}
	execution = execution_new(all, flags, start);
	if (!execution) {
		free(bytes);
		return error_no_memory(err, NULL);
	}
	return begin(all, execution, fill(execution, id, start, bytes, fds, err), ret, err);
}

static int start_agent(struct executions *all, struct warder_error *err)
{
	struct execution *execution = execution_new(all, 0, &(const struct record_start){ 0 });

	if (!execution)
		return error_no_memory(err, NULL);
	return begin(all, execution, draw_id(execution->id, err) < 0 ? -1 : keeper_agent_new(execution, err),
		     &execution, err);
}

int executions_connect_agent(struct executions *all, int *ret_fd, struct warder_error *err)
{
	int connected = keeper_agent_connect(all, ret_fd, err);

	if (connected > 0)
		connected = start_agent(all, err) < 0 ? -1 : keeper_agent_connect(all, ret_fd, err);
	return connected > 0
		   ? error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the session's agent does not start")
		   : connected;
}

int executions_restart(struct execution *execution, struct execution **ret, struct warder_error *err)
{
	static const int none[RECORD_FDS_MAX - 1] = { -1, -1, -1, -1 };
	const struct record_start *start = &execution->start;
	char *bytes;

	if (keeper_context_release(execution, err) < 0)
		return -1;
	bytes = malloc(start->bytes + 1);
	if (bytes)
		memcpy(bytes, execution->words.bytes, start->bytes + 1);
	else
		error_no_memory(err, NULL);
	if (!bytes ||
	    executions_start(execution->all, "", execution->flags, start, bytes, none, ret, err) < 0) {
		execution->context->released = false;
		return -1;
	}
	keeper_context_kill(execution, "the context was restarted");
	return 0;
}

/* The words are those of `from`, except for the name. */
static int fill_branch(struct execution *execution, struct execution *from, const char *name, bool keeps_seed,
		       struct warder_error *err)
{
	static const struct keeper_branch_owner owner = { keeper_context_take, keeper_context_ended };
	char *bytes = malloc(from->start.bytes + 1);

	if (!bytes)
		return error_no_memory(err, NULL);
	memcpy(bytes, from->words.bytes, from->start.bytes + 1);
	if (take_words(&from->start, bytes, &execution->words, err) < 0 || draw_id(execution->id, err) < 0 ||
	    keeper_context_new_branch(execution, from, name, err) < 0 ||
	    keeper_branch_new(execution, from, keeps_seed, &owner, err) < 0)
		return -1;
	keeper_context_launched(execution);
	return 0;
}

int executions_fork(struct execution *from, const char *name, bool keeps_seed, struct execution **ret,
		    struct warder_error *err)
{
	struct executions *all = from->all;
	struct execution *execution = execution_new(all, from->flags, &from->start);

	if (!execution)
		return error_no_memory(err, NULL);
	if (add(all, execution, err) < 0) {
		execution_free(execution);
		return -1;
	}
	if (fill_branch(execution, from, name, keeps_seed, err) < 0) {
		all->count--;
		execution_free(execution);
		return -1;
	}
	*ret = execution;
	return 0;
}

struct execution *executions_find(struct executions *all, const char *id, struct warder_error *err)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i]->id, id) == 0)
			return all->items[i];
	error_set(err, WARDER_ERROR_NOT_FOUND, "id",
		  "there is no execution %.40s (any more) in session %.64s; \"warder ps\" lists them", id,
		  all->session);
	return NULL;
}

bool execution_lives(const struct execution *execution)
{
	return execution->state == EXECUTION_STARTING || execution->state == EXECUTION_RUNNING;
}

size_t executions_running(struct executions *all)
{
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++)
		count += execution_lives(all->items[i]);
	return count;
}

size_t executions_busy(struct executions *all)
{
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++)
		count += all->items[i]->state <= EXECUTION_RUNNING && !all->items[i]->agent &&
			 !keeper_context_is_idle(all->items[i]);
	return count;
}

static void forget(struct executions *all, size_t i)
{
	struct execution *execution = all->items[i];

	memmove(&all->items[i], &all->items[i + 1], (all->count - i - 1) * sizeof(*all->items));
	all->count--;
	execution_free(execution);
}

/* When it may be forgotten; one that did not start was answered at once. */
static uint64_t due(struct execution *execution)
{
	switch (execution->state) {
	case EXECUTION_STARTING:
	case EXECUTION_RUNNING:
		break;
	case EXECUTION_FAILED:
		return execution->users ? UINT64_MAX : 0;
	case EXECUTION_ENDED:
		return execution->users ? UINT64_MAX : execution->ended_us + execution->keep_us;
	}
	return UINT64_MAX;
}

uint64_t executions_sweep(struct executions *all)
{
	const uint64_t now = clock_us();
	uint64_t next = finish_held(all, now);
	uint64_t at;
	size_t ended = 0;

	for (size_t i = all->count; i-- > 0;) {
		at = due(all->items[i]);
		settle(all->items[i]);
		ended += at != UINT64_MAX;
		if (at <= now || (at != UINT64_MAX && ended > EXECUTIONS_KEPT_MAX))
			forget(all, i);
		else if (at < next)
			next = at;
	}
	at = keeper_branches_step(all);
	next = at < next ? at : next;
	at = keeper_contexts_step(all);
	return at < next ? at : next;
}

/* ---- what is said of them ---- */

static const char *state_name(enum execution_state state, bool paused)
{
	switch (state) {
	case EXECUTION_STARTING:
		return "starting";
	case EXECUTION_RUNNING:
		return paused ? "paused" : "running";
	case EXECUTION_FAILED:
		return "failed";
	case EXECUTION_ENDED:
		return "ended";
	}
	return "";
}

/* What the host does not count is null. */
static void write_counters(struct execution *execution, struct json_writer *w)
{
	static const char *const keys[RECORD_COUNTERS_COUNT] = {
		[RECORD_COUNTER_CPU_US] = "cpuTimeUs",
		[RECORD_COUNTER_MEMORY] = "memoryBytes",
		[RECORD_COUNTER_MEMORY_PEAK] = "memoryPeakBytes",
		[RECORD_COUNTER_PROCESSES] = "processes",
		[RECORD_COUNTER_READ_BYTES] = "readBytes",
		[RECORD_COUNTER_WRITTEN_BYTES] = "writtenBytes",
	};
	uint64_t values[RECORD_COUNTERS_COUNT];
	struct warder_error ignored;

	if (execution_counters(execution, values, &ignored) < 0)
		return;
	json_key(w, "counters");
	json_begin_object(w);
	for (size_t i = 0; i < RECORD_COUNTERS_COUNT; i++) {
		json_key(w, keys[i]);
		if (values[i] == UINT64_MAX)
			json_null(w);
		else
			json_uint(w, values[i]);
	}
	json_end_object(w);
}

/* The last line of its progress. An execution with an owner has none here, because the owner gets each line. */
static void write_progress(const struct execution *execution, struct json_writer *w)
{
	const char *line = execution->lines;
	const char *end = line + execution->lines_len;

	if (execution->owned || !execution->lines_len)
		return;
	while (line + strlen(line) + 1 < end)
		line += strlen(line) + 1;
	json_key(w, "progress");
	json_number(w, line);
}

static void describe(struct execution *execution, struct json_writer *w)
{
	struct tm utc;
	time_t started = (time_t)(execution->started_ms / 1000);
	const uint64_t now_ms = clock_wall_ms();
	char text[32] = "";

	if (gmtime_r(&started, &utc))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
	json_begin_object(w);
	json_key_string(w, "id", execution->id);
	json_key_string(w, "session", execution->all->session);
	json_key_string(w, "state", state_name(execution->state, execution->all->paused));
	json_key(w, "command");
	json_begin_array(w);
	for (char *const *word = execution->words.argv; *word; word++)
		json_string(w, *word);
	json_end_array(w);
	json_key_string(w, "started", text);
	json_key_uint(w, "startedMs", execution->started_ms);
	json_key_uint(w, "ageUs",
		      now_ms > execution->started_ms ? (now_ms - execution->started_ms) * 1000 : 0);
	json_key_bool(w, "terminal", execution->flags & RECORD_TERMINAL);
	json_key_bool(w, "input", execution->input_fd >= 0);
	json_key_uint(w, "stdoutBytes", execution->spool.totals[0]);
	json_key_uint(w, "stderrBytes", execution->spool.totals[1]);
	write_counters(execution, w);
	write_progress(execution, w);
	if (execution->context)
		keeper_context_describe(execution, w);
	if (execution->agent)
		json_key_bool(w, "agent", true);
	if (execution->state == EXECUTION_ENDED) {
		const struct jail_outcome outcome = { .exit_code = execution->end.exit_code,
						      .signal = execution->end.signal };

		json_key_uint(w, "endedMs", now_ms - (clock_us() - execution->ended_us) / 1000);
		json_key_string(w, "cause", jail_cause_name((enum jail_cause)execution->end.cause));
		result_write_end(&outcome, w);
	}
	json_end_object(w);
}

char *executions_list(struct executions *all)
{
	struct json_writer w = { 0 };

	json_begin_array(&w);
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i]->state != EXECUTION_FAILED)
			describe(all->items[i], &w);
	json_end_array(&w);
	return json_take(&w);
}

/* ---- what is done to one ---- */

static int has_ended(const struct execution *execution, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_CONFLICT, "id", "execution %s has ended", execution->id);
}

int execution_signal(struct execution *execution, int number, struct warder_error *err)
{
	return keeper_branch_send(execution, number) ? 0 : has_ended(execution, err);
}

int executions_pause(struct executions *all, bool paused, struct warder_error *err)
{
	bool starts = false;

	for (size_t i = 0; i < all->count; i++)
		starts |= all->items[i]->state == EXECUTION_STARTING;
	for (size_t i = 0; i < all->count && !starts; i++)
		if (all->items[i]->run)
			library_pause_clock(all->items[i]->run, paused);
	if (all->paused && !paused)
		keeper_contexts_shift(all, clock_us() - all->paused_us);
	all->paused = paused && !starts;
	all->paused_us = clock_us();
	return starts ? error_set(err, WARDER_ERROR_CONFLICT, "session",
				  "an execution of session %.64s is being started; try again", all->session)
		      : 0;
}

int execution_resize(struct execution *execution, const struct record_size *size, struct warder_error *err)
{
	const struct winsize wanted = { .ws_row = size->rows, .ws_col = size->columns };

	if (!(execution->flags & RECORD_TERMINAL))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "id", "execution %s has no terminal",
				 execution->id);
	if (execution->input_fd < 0 || ioctl(execution->input_fd, TIOCSWINSZ, &wanted) < 0)
		return has_ended(execution, err);
	if (execution->state == EXECUTION_RUNNING && execution->run)
		warder_resize(execution->run);
	return 0;
}

void counters_fill(const struct jail_counters *counters, uint64_t ret[RECORD_COUNTERS_COUNT])
{
	ret[RECORD_COUNTER_CPU_US] = counters->cpu_us;
	ret[RECORD_COUNTER_MEMORY] = counters->memory_bytes;
	ret[RECORD_COUNTER_MEMORY_PEAK] = counters->memory_peak_bytes;
	ret[RECORD_COUNTER_PROCESSES] = counters->processes;
	ret[RECORD_COUNTER_READ_BYTES] = counters->read_bytes;
	ret[RECORD_COUNTER_WRITTEN_BYTES] = counters->written_bytes;
}

int execution_counters(struct execution *execution, uint64_t ret[RECORD_COUNTERS_COUNT],
		       struct warder_error *err)
{
	struct jail_counters counters;

	if (execution->state != EXECUTION_RUNNING || !(execution->run || execution->branch))
		return has_ended(execution, err);
	if (execution->branch)
		keeper_branch_count(execution, &counters);
	else
		library_count(execution->run, &counters);
	counters_fill(&counters, ret);
	return 0;
}
