/* executions: the supervision of all executions, until they are forgotten. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/line_log.h"
#include "runtime/library/library.h"
#include "runtime/library/result.h"
#include "runtime/session/execution.h"
#include "runtime/session/keeper_agent.h"
#include "runtime/session/keeper_branch.h"
#include "runtime/session/keeper_code.h"
#include "runtime/session/keeper_context.h"

#define END_WAIT_US UINT64_C(1000000) /* for the word how the session has ended */
#define FINISH_MS   100
#define EVENTS      32 /* of one dispatch */

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

/* ---- output ---- */

/* What its caller's streams get, or the result, for whoever attaches. */
static void copy_output(void *execution, enum jail_stream stream, const char *bytes, size_t len)
{
	execution_take_output(execution, stream == JAIL_STDERR ? WARDER_STDERR : WARDER_STDOUT, bytes, len);
}

const char *executions_say_end(void *owner, struct jail_outcome *outcome)
{
	const struct executions *all = owner;

	snprintf(outcome->detail, sizeof(outcome->detail), "killed: %s", session_end_text(all->session_end));
	return session_end_name(all->session_end);
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

bool execution_is_complete(const struct execution *execution)
{
	return !execution->code || !execution->code->removing;
}

/* It has no owner any more: its files become a part of its result, if the owner has not taken them. */
static void complete(struct execution *execution)
{
	struct keeper_code *code = execution->code;

	if (code && code->handed && keeper_code_begin_removal(code, execution->whole))
		execution->whole = NULL; /* until that is done */
	else
		execution_document(execution);
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
		complete(execution);
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
	if (!execution_is_complete(execution))
		return execution->result;
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

int execution_handed_fd(const struct execution *execution)
{
	return execution->code && execution->code->handed ? execution->code->tmp_fd : -1;
}

void execution_delivered(struct execution *execution)
{
	warder_result_free(execution->whole);
	execution->whole = NULL;
	if (execution_handed_fd(execution) < 0 || !keeper_code_begin_removal(execution->code, NULL))
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
		complete(execution);
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
	if (!execution->code || (execution->owned && result && keeper_code_hand_over(execution->code)) ||
	    !keeper_code_begin_removal(execution->code, result))
		conclude(execution, result, failed);
	else if (!result)
		execution->failure = *failed;
}

/* Whether nobody reads its input any more. A program can open its terminal again as long as it runs. */
static bool is_deaf(const struct execution *execution)
{
	if (execution->state == EXECUTION_STARTING) /* the run is its launch's */
		return false;
	return !execution->run ||
	       (!(execution->flags & RECORD_TERMINAL) && library_input_is_over(execution->run));
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
			held->session_end = executions_say_end(all, &held->outcome);
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

/* The directory of its code is gone. */
static void take_removed(struct execution *execution)
{
	struct warder_result *result = keeper_code_end_removal(execution->code);

	if (execution->state != EXECUTION_ENDED) {
		conclude(execution, result, &execution->failure);
		return;
	}
	if (result)
		execution->whole = result;
	execution_document(execution);
}

static void take_all(struct executions *all)
{
	for (size_t i = 0; i < all->count; i++) {
		struct execution *one = all->items[i];

		if (one->state == EXECUTION_STARTING && atomic_load(&one->launched) && !waits_for_word(one))
			take_over(one);
		if (one->code && keeper_code_is_removed(one->code))
			take_removed(one);
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

static bool are_complete(const struct executions *all)
{
	for (size_t i = 0; i < all->count; i++)
		if (!execution_is_complete(all->items[i]))
			return false;
	return true;
}

void executions_finish(struct executions *all)
{
	struct pollfd ready = { .fd = all->fd, .events = POLLIN };

	finish_held(all, clock_us());
	take_all(all);
	while (executions_running(all) || !are_complete(all)) {
		poll(&ready, 1, FINISH_MS);
		executions_dispatch(all);
		finish_held(all, clock_us());
	}
}

/* ---- input ---- */

void execution_close_input(struct execution *execution)
{
	static const char end_of_file = 4; /* Ctrl-D, as a terminal has no other end */

	if (execution->input_fd >= 0 && (execution->flags & RECORD_TERMINAL)) {
		if (write(execution->input_fd, &end_of_file, 1) < 0)
			return;
	} else {
		fd_done(&execution->input_fd);
		execution->input_ended = true;
	}
}

/* ---- all of them ---- */

void execution_free(struct execution *execution)
{
	struct executions *all = execution->all;

	fd_done(&execution->input_fd);
	fd_done(&execution->source_fd);
	keeper_branch_free(execution);
	pieces_done(execution);
	keeper_context_free(execution->context);
	keeper_agent_free(execution->agent);
	drop_whole(execution);
	execution_words_done(&execution->words);
	all->spool_bytes -= execution->spool.size;
	ring_done(&execution->spool);
	close_files(execution);
	fd_done(&execution->audit_fd);
	free(execution->audit);
	free(execution->lines);
	free(execution->result);
	free(execution);
}

struct execution *executions_find(struct executions *all, const char *id, struct warder_error *err)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i]->id, id) == 0)
			return all->items[i];
	error_set(err, WARDER_ERROR_NOT_FOUND, "id",
		  "session %.64s has no execution %.40s; \"warder ps\" lists all executions", all->session,
		  id);
	return NULL;
}

size_t executions_running(struct executions *all)
{
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++)
		count += execution_lives(all->items[i]);
	return count;
}

/* It has ended, and its owner or a thread of ours still takes the files. */
static bool has_files_left(const struct execution *execution)
{
	return execution_handed_fd(execution) >= 0 || !execution_is_complete(execution);
}

size_t executions_busy(struct executions *all)
{
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct execution *one = all->items[i];

		count += has_files_left(one) ||
			 (one->state <= EXECUTION_RUNNING && !one->agent && !keeper_context_is_idle(one));
	}
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
		return execution->users || !execution_is_complete(execution)
			   ? UINT64_MAX
			   : execution->ended_us + execution->keep_us;
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

/* ---- what is done to one ---- */

static int has_ended(const struct execution *execution, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_CONFLICT, "id", "execution %s has ended", execution->id);
}

int execution_signal(struct execution *execution, int number, struct warder_error *err)
{
	return keeper_branch_signal(execution, number) ? 0 : has_ended(execution, err);
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
