/*
 * context: interpreters that keep their variables between pieces of code. The keeper of a session runs them; this command is its client.
 *
 * The output always separates what the context reports of a piece from what Warder has measured: the former stands behind the context's name,
 * and in JSON in contextSays; the latter stands behind "warder:".
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/context_remote.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/executions.h"
#include "runtime/cli/piece.h"
#include "runtime/cli/report.h"
#include "runtime/cli/term.h"
#include "runtime/code/code.h"
#include "runtime/session/session.h"

#define CODE_MOST   ((size_t)4 << 20)
#define LOOK_MS     200
#define INTERRUPTED (128 + SIGINT)

/* ---- a piece ---- */

struct piece_run {
	const struct args *args;
	const char *session, *context;
	bool is_branch;
	struct remote *remote;
	struct piece_collected piece;
	unsigned asks;               /* lines of input that the piece waits for */
	char line[REMOTE_WRITE_MAX]; /* the first of them, so far */
	size_t line_len;
};

static volatile sig_atomic_t signals; /* that came */

static void count_signal(void)
{
	signals++;
}

/* "py: ", and behind it what the context says. */
static void print_said(const struct piece_run *run, int fd, const char *text)
{
	const size_t len = strlen(text);
	const bool lines = strchr(text, '\n') != NULL;
	char head[SESSION_NAME_MAX + 8];

	fflush(stdout);
	snprintf(head, sizeof(head), "%s:%s", run->context, lines ? "\n" : " ");
	file_write_all(fd, head, strlen(head));
	term_write(fd, text, len);
	if (!len || text[len - 1] != '\n')
		file_write_all(fd, "\n", 1);
}

/* A bundle for people: its plain text, and what else it has. */
static void print_bundle(const struct piece_run *run, const struct json_value *bundle)
{
	const char *plain = json_member_text(bundle, "text/plain", NULL);

	print_said(run, STDOUT_FILENO, plain ? plain : bundle->child->key);
}

static void print_shown(const struct piece_run *run, const struct remote_event *event)
{
	struct json_value *bundle = said_bundle(event->text, event->text_len);

	if (bundle)
		print_bundle(run, bundle);
	json_free(bundle);
}

/* By another connection: this one waits for the piece. line: of run->line, or NULL: there is none. */
static int reply(struct piece_run *run, const char *line, struct warder_error *err)
{
	struct remote *beside = NULL;
	int ret;

	if (remote_again(run->remote, &beside, err) < 0)
		return -1;
	ret = remote_answer(beside, line, line ? run->line_len : 0, err);
	remote_free(beside);
	run->asks--;
	run->line_len = 0;
	/* It may have been interrupted meanwhile. */
	return ret < 0 && err->code == WARDER_ERROR_CONFLICT ? 0 : ret;
}

static int ask(struct piece_run *run, const struct remote_event *event, struct warder_error *err)
{
	run->asks++;
	if (run->args->no_input || run->args->json || !event->text)
		return reply(run, NULL, err);
	term_write(STDOUT_FILENO, event->text, event->text_len);
	return 0;
}

/* What has come of a line by now; the piece may end without it. Byte by byte, because what follows the line is not the piece's. */
static int feed(struct piece_run *run, struct warder_error *err)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
				{ .fd = remote_fd(run->remote), .events = POLLIN } };

	poll(fds, ARRAY_LENGTH(fds), LOOK_MS);
	for (size_t i = 0; i < sizeof(run->line) && poll(fds, 1, 0) > 0; i++) {
		char c;
		const ssize_t n = read(STDIN_FILENO, &c, 1);

		if (n <= 0 || c == '\n')
			return reply(run, n > 0 || run->line_len ? run->line : NULL, err);
		if (run->line_len < sizeof(run->line))
			run->line[run->line_len++] = c;
	}
	return 0;
}

static enum warder_stream event_stream(const struct remote_event *event)
{
	return event->stream ? WARDER_STDERR : WARDER_STDOUT;
}

/* With --json everything is printed at the end, otherwise as it comes. */
static int take_event(struct piece_run *run, struct remote_event *event, struct warder_error *err)
{
	if (event->kind == REMOTE_ASKS)
		return ask(run, event, err);
	if (run->args->json || event->kind == REMOTE_DONE)
		piece_take(&run->piece, event);
	else if (event->kind == REMOTE_BYTES && executions_write(event_stream(event), event->bytes,
								 (size_t)(event->end - event->offset)) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "the output cannot be written");
	else if (event->kind == REMOTE_GAP)
		executions_tell_gap(event_stream(event), event->offset, event->end);
	else if (event->kind == REMOTE_SHOWN)
		print_shown(run, event);
	return 0;
}

/* By another connection: this one waits for the piece. */
static void interrupt_piece(const struct piece_run *run)
{
	struct warder_error err = { 0 };
	struct remote *beside;

	if (remote_again(run->remote, &beside, &err) < 0)
		return;
	if (remote_interrupt(beside, &err) < 0 && err.code != WARDER_ERROR_CONFLICT)
		term_error(&err);
	remote_free(beside);
}

/* The first signal interrupts the piece, and its end is waited for; another one leaves it to the keeper. 1: left. */
static int follow(struct piece_run *run, struct warder_error *err)
{
	sig_atomic_t heeded = 0;

	while (!run->piece.ended) {
		struct remote_event event;
		int ret;

		if (signals > heeded) {
			if (heeded++ || ending_signal() != SIGINT)
				return 1;
			interrupt_piece(run);
		}
		if (run->asks && feed(run, err) < 0)
			return -1;
		if (remote_next(run->remote, run->asks ? 0 : LOOK_MS, &event, err) < 0)
			return -1;
		ret = take_event(run, &event, err);
		free(event.text);
		if (ret < 0)
			return -1;
	}
	return 0;
}

/* ---- its end ---- */

static int exit_status_of(const struct remote_done *done, const struct said *said)
{
	int status;

	if (done->timed_out)
		return 124;
	if (done->end == CONTEXT_END_NOT_BEGUN)
		return EXIT_REFUSED;
	if (done->end == CONTEXT_END_DIED) {
		status = report_exit_status(&done->last.outcome, 0);
		return status ? status : 1;
	}
	if (said->valid && said->ok)
		return 0;
	return done->interrupted ? INTERRUPTED : 1;
}

/* What Warder knows, for people: only what is out of the ordinary. */
static void tell_done(const struct piece_run *run, const struct said *said)
{
	const struct remote_done *done = &run->piece.done;

	if (said->valid && said->value)
		print_bundle(run, said->value);
	if (said->valid && said->traceback)
		print_said(run, STDERR_FILENO, said->traceback);
	if (done->end == CONTEXT_END_DIED)
		term_complain("context %s has ended (%s): %s; \"warder context %s again", run->context,
			      jail_cause_name(done->last.outcome.cause), done->why,
			      run->is_branch ? "fork\" makes it" : "restart\" starts it");
	else if (done->end == CONTEXT_END_NOT_BEGUN)
		term_complain("the piece has not begun, because context %s has ended: %s", run->context,
			      done->why);
	else if (done->timed_out)
		term_complain("the piece was interrupted at its time limit");
	else if (done->interrupted)
		term_complain("the piece was interrupted");
	if (done->refused)
		term_complain("%u messages of context %s were refused: they were malformed or not of this "
			      "piece",
			      done->refused, run->context);
	if (done->cut)
		term_complain("context %s said more than Warder keeps, and some of it is missing",
			      run->context);
	else if (done->end == CONTEXT_END_DONE && !said->valid)
		term_complain("context %s did not say properly how the piece ended", run->context);
}

static void write_stream(struct json_writer *w, const char *name, const struct piece_stream *stream,
			 uint64_t bytes)
{
	json_key(w, name);
	json_begin_object(w);
	text_write(w, "text", stream->bytes ? stream->bytes : "", stream->len, stream->missing);
	json_key_uint(w, "bytesKept", stream->len);
	json_key_uint(w, "bytesTotal", bytes);
	json_key_bool(w, "truncated", stream->missing);
	json_end_object(w);
}

static void write_said(struct piece_run *run, struct json_writer *w, const struct said *said)
{
	struct json_value *rows = piece_take_shown(&run->piece);

	json_key(w, "contextSays");
	json_begin_object(w);
	said_write(w, said);
	if (rows) {
		json_key(w, "shown");
		json_copy(w, rows);
	}
	json_end_object(w);
	json_free(rows);
}

static void write_done(struct piece_run *run, const struct said *said, struct json_writer *w)
{
	const struct remote_done *done = &run->piece.done;

	json_begin_object(w);
	said_write_piece(w, run->session, run->context, done, said);
	write_stream(w, "stdout", &run->piece.streams[0], done->bytes[0]);
	write_stream(w, "stderr", &run->piece.streams[1], done->bytes[1]);
	said_write_end(w, done);
	write_said(run, w, said);
	json_end_object(w);
}

static int finish(struct piece_run *run, struct warder_error *err)
{
	struct json_writer w = { 0 };
	struct said said;
	int status;

	said_parse(run->piece.said, run->piece.said_len, &said);
	status = exit_status_of(&run->piece.done, &said);

	if (!run->args->json) {
		tell_done(run, &said);
	} else {
		write_done(run, &said, &w);
		if (term_put(json_take(&w), err) < 0)
			status = -1;
	}
	said_done(&said);
	return status;
}

/* Returns the exit status; -1 with *err. */
static int run_piece(struct piece_run *run, const char *code, size_t len, struct warder_error *err)
{
	const struct args_context *asked = &run->args->context;
	int ret;

	if (remote_piece(run->remote, code, len, asked->timeout_us, asked->no_wait, err) < 0)
		return -1;
	ret = follow(run, err);
	if (ret != 0)
		return ret < 0 ? -1 : 128 + ending_signal();
	return finish(run, err);
}

static int take_there(void *context, struct remote_event *event, struct warder_error *err)
{
	return take_event(context, event, err);
}

/* The same in a session on another machine. */
static int run_piece_there(struct piece_run *run, const char *code, size_t len, struct warder_error *err)
{
	const struct args_context *asked = &run->args->context;
	char id[ELSEWHERE_SANDBOX_MAX + 1] = "";
	const struct context_remote_piece piece = {
		.context = id, .code = code, .len = len, .timeout_us = asked->timeout_us, .signals = &signals
	};
	struct remote_place place = { 0 };
	char *row = NULL;
	int ret;

	if (asked->no_wait)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--no-wait",
				 "--no-wait works with sessions on this machine only: on another machine a "
				 "piece waits until those before it have ended");
	ret = context_remote_open(run->session, run->context, &place, id, &row, err);
	free(row);
	if (ret == 0)
		ret = context_remote_run(&place, &piece, take_there, run, err);
	if (ret != 0)
		return ret < 0 ? -1 : 128 + ending_signal();
	return finish(run, err);
}

/* ---- the words ---- */

/* row: JSON, of remote_open_context(). */
static bool is_branch(const char *row)
{
	struct json_value *document = NULL;
	struct warder_error ignored;
	bool found = json_parse(row, strlen(row), "context", &(struct json_limits){ .max_bytes = SIZE_MAX },
				&document, &ignored) == 0;

	found = found && json_member(document, "branchOf");
	json_free(document);
	return found;
}

static int run_in(const struct args *args, const char *session, const char *name, const char *code,
		  size_t len)
{
	struct piece_run run = { .args = args, .session = session, .context = name };
	struct warder_error err = { 0 };
	char *row = NULL;
	int status;

	piece_begin(&run.piece);
	ending_catch(count_signal);
	if (context_remote_is(session)) {
		status = run_piece_there(&run, code, len, &err);
	} else {
		status = remote_open_context(session, name, &run.remote, &row, &err);
		run.is_branch = row && is_branch(row);
		free(row);
		if (status == 0)
			status = run_piece(&run, code, len, &err);
	}
	piece_done(&run.piece);
	remote_free(run.remote);
	return status < 0 ? command_refuse(args, &err, EXIT_REFUSED) : status;
}

static int no_more(const char *word, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, word, "%.60s is one word too many", word);
}

/* A file, or standard input, or what -c has. *ret is heap. */
static int read_code(const struct args *args, char **ret, size_t *ret_len, struct warder_error *err)
{
	const char *given = args->context.code;

	if (given && args->rest[0])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--code",
				 "-c gives the code, and %.60s another; give one of them", args->rest[0]);
	if (given) {
		*ret = strdup(given);
		*ret_len = strlen(given);
		return *ret ? 0 : error_no_memory(err, NULL);
	}
	if (!args->rest[0])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "source",
				 "which code? give a FILE, - for standard input, or -c CODE");
	if (args->rest[1])
		return no_more(args->rest[1], err);
	return file_read_most(args->rest[0], CODE_MOST, ret, ret_len, err);
}

/* Standard input that was the code has nothing left for a piece that asks. */
static int run_word(struct args *args, const char *session, const char *name, char **argv)
{
	struct warder_error err = { 0 };
	char *code = NULL;
	size_t len = 0;
	int status;

	if (read_code(args, &code, &len, &err) < 0)
		return command_refuse(args, &err, EXIT_REFUSED);
	args->no_input |= args->rest[0] && strcmp(args->rest[0], "-") == 0;
	status = run_in(args, session, name, code, len);
	free(code);
	return status;
}

static int create(struct args *args, const char *session_name, const char *name, char **argv,
		  struct warder_error *err)
{
	char *words[] = { (char *)(uintptr_t)(args->code.language ? args->code.language : "python"),
			  (char *)(uintptr_t)name, NULL };
	struct warder_session *session = NULL;
	struct remote *remote = NULL;
	int ret;

	if (args->rest[0])
		return no_more(args->rest[0], err);
	if (context_remote_is(session_name))
		return context_remote_create(args, session_name, name, err);
	ret = warder_session_open(session_name, &session, err);
	if (ret == 0)
		ret = session_load_policy(session, FLAG_CONTEXT_CREATE, argv, args, err);
	if (ret == 0)
		ret = session_check_ceiling(session, args, err);
	if (ret == 0) {
		const struct remote_command command = {
			.policy = &args->policy->policy,
			.ceiling = args->ceiling ? &args->ceiling->policy : NULL,
			.argv = words,
			.context = true,
			.terminal_fd = -1,
			.output_max = args->output_max,
		};

		ret = remote_start(session_name, NULL, &command, &remote, err);
	}
	remote_free(remote);
	warder_session_free(session);
	return ret;
}

static int create_word(struct args *args, const char *session, const char *name, char **argv)
{
	struct warder_error err = { 0 };

	return create(args, session, name, argv, &err) == 0 ? 0 : command_refuse(args, &err, EXIT_REFUSED);
}

/* verb: the same of a context on another machine. */
static int with_context(const struct args *args, const char *session, const char *name, const char *verb,
			int (*act)(struct remote *remote, struct warder_error *err))
{
	const bool there = context_remote_is(session);
	struct warder_error err = { 0 };
	struct remote *remote = NULL;
	int ret = args->rest[0] ? no_more(args->rest[0], &err)
		  : there       ? context_remote_act(session, name, verb, &err)
				: remote_open_context(session, name, &remote, NULL, &err);

	if (ret == 0 && !there)
		ret = act(remote, &err);
	remote_free(remote);
	return ret == 0 ? 0 : command_refuse(args, &err, EXIT_REFUSED);
}

static int interrupt_word(struct args *args, const char *session, const char *name, char **argv)
{
	return with_context(args, session, name, "interrupt", remote_interrupt);
}

static int restart_word(struct args *args, const char *session, const char *name, char **argv)
{
	return with_context(args, session, name, "restart", remote_restart);
}

/* The name of the branch is the first word behind that of the context. */
static int fork_word(struct args *args, const char *session, const char *name, char **argv)
{
	struct warder_error err = { 0 };
	struct remote *remote = NULL;
	const char *branch = args->rest[0];
	int ret;

	if (context_remote_is(session))
		ret = error_set(&err, WARDER_ERROR_INVALID_REQUEST, "session",
				"fork works with sessions on this machine only: a host on another machine "
				"makes no branches");
	else if (!branch)
		ret = error_set(&err, WARDER_ERROR_INVALID_REQUEST, "name",
				"the name of the branch is missing: warder context fork SESSION NAME BRANCH");
	else
		ret = args->rest[1] ? no_more(args->rest[1], &err)
				    : remote_open_context(session, name, &remote, NULL, &err);
	if (ret == 0)
		ret = remote_fork(remote, branch, args->context.keep_seed, &err);
	remote_free(remote);
	return ret == 0 ? 0 : command_refuse(args, &err, EXIT_REFUSED);
}

static int delete_word(struct args *args, const char *session, const char *name, char **argv)
{
	return with_context(args, session, name, "delete", remote_delete);
}

/* Another machine may have written the row. */
static void print_row(const struct json_value *row)
{
	const char *at;

	for (const struct json_value *member = row->child; member; member = member->next)
		if (member->type == JSON_STRING)
			term_clean(member->string);
	at = json_member_text(row, "at", "");

	term_print(TERM_PLAIN, 18, json_member_text(row, "session", ""));
	term_print(TERM_PLAIN, 18, json_member_text(row, "context", ""));
	term_print(TERM_PLAIN, 12, json_member_text(row, "language", ""));
	term_print(TERM_PLAIN, 10, *at ? at : json_member_text(row, "state", ""));
	printf("%llu", (unsigned long long)json_member_uint(row, "pieces"));
	if (json_member(row, "branchOf"))
		printf("  branch of %s", json_member_text(row, "branchOf", ""));
	if (json_member(row, "detail"))
		printf("  %s", json_member_text(row, "detail", ""));
	putchar('\n');
}

/* The contexts of the sessions on this machine, or of one. -1 with *err. */
static int list_here(const char *session, struct json_writer *w, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX };
	struct json_value *rows = NULL;
	char *text = remote_list(err);
	int status = text ? json_parse(text, strlen(text), "executions", &limits, &rows, err) : -1;

	for (const struct json_value *row = rows ? rows->child : NULL; row; row = row->next)
		if (json_member(row, "context") && !json_member_true(row, "released") &&
		    (!session || strcmp(session, json_member_text(row, "session", "")) == 0))
			json_copy(w, row);
	json_free(rows);
	free(text);
	return status;
}

/* JSON, heap; NULL with *err. */
static char *list(const char *session, struct warder_error *err)
{
	struct json_writer w = { 0 };
	int status = session ? session_check_name(session, err) : 0;

	json_begin_array(&w);
	if (status == 0 && session && context_remote_is(session))
		status = context_remote_list(session, &w, err);
	else if (status == 0)
		status = list_here(session, &w, err);
	if (status == 0 && !session)
		status = context_remote_list_all(&w, err);
	json_end_array(&w);
	if (status == 0)
		return json_take(&w);
	json_writer_done(&w);
	return NULL;
}

static int print_rows(const char *text, struct warder_error *err)
{
	struct json_value *rows = NULL;

	if (json_parse(text, strlen(text), "contexts", &(struct json_limits){ .max_bytes = SIZE_MAX }, &rows,
		       err) < 0)
		return -1;
	term_title("SESSION           CONTEXT           LANGUAGE    STATE     PIECES");
	for (const struct json_value *row = rows->child; row; row = row->next)
		print_row(row);
	json_free(rows);
	return 0;
}

/* Of one session, or of all. */
static int list_word(struct args *args, const char *session, const char *name, char **argv)
{
	struct warder_error err = { 0 };
	char *text = NULL;
	int status = name ? no_more(name, &err) : 0;

	if (status == 0)
		text = list(session, &err);
	if (text && args->json) {
		status = term_put(text, &err);
	} else {
		status = text ? print_rows(text, &err) : -1;
		free(text);
	}
	return status == 0 ? 0 : command_refuse(args, &err, EXIT_REFUSED);
}

/* What the host does not count is left out. */
static void print_counters(const struct remote_counters *counters)
{
	if (counters->memory_bytes != UINT64_MAX)
		printf("memory            %llu KiB", (unsigned long long)counters->memory_bytes / 1024);
	if (counters->memory_bytes != UINT64_MAX && counters->memory_peak_bytes != UINT64_MAX)
		printf(", at most %llu KiB", (unsigned long long)counters->memory_peak_bytes / 1024);
	if (counters->memory_bytes != UINT64_MAX)
		putchar('\n');
	if (counters->cpu_us != UINT64_MAX)
		printf("cpu time          %llu ms\n", (unsigned long long)counters->cpu_us / 1000);
}

/* remote: NULL on another machine, which does not count. */
static int describe(struct remote *remote, const char *row, bool json, struct warder_error *err)
{
	struct json_value *document = NULL;
	struct remote_counters counters;
	struct warder_error ignored = { 0 };
	bool counted;

	if (json) {
		puts(row);
		return 0;
	}
	if (json_parse(row, strlen(row), "context", &(struct json_limits){ .max_bytes = SIZE_MAX }, &document,
		       err) != 0)
		return -1;
	counted = remote && remote_counters(remote, &counters, &ignored) == 0;
	print_row(document);
	printf("execution         %s\n", json_member_text(document, "id", ""));
	printf("written           %llu bytes to standard output, %llu to standard error\n",
	       (unsigned long long)json_member_uint(document, "stdoutBytes"),
	       (unsigned long long)json_member_uint(document, "stderrBytes"));
	if (counted)
		print_counters(&counters);
	if (json_member(document, "branchOf"))
		printf("trust             one domain with %s and its other branches: code in one of them can "
		       "forge the reports of the others\n",
		       json_member_text(document, "branchOf", ""));
	printf("the context says  ");
	fflush(stdout);
	term_write(STDOUT_FILENO, json_member_text(document, "contextSays", "nothing yet"),
		   strlen(json_member_text(document, "contextSays", "nothing yet")));
	putchar('\n');
	json_free(document);
	return 0;
}

/* The row of a context, heap, here or on another machine: then *ret is NULL. -1 with *err. */
static int open_row(const char *session, const char *name, struct remote **ret, char **ret_row,
		    struct warder_error *err)
{
	struct remote_place place = { 0 };
	char id[ELSEWHERE_SANDBOX_MAX + 1];

	*ret = NULL;
	return context_remote_is(session) ? context_remote_open(session, name, &place, id, ret_row, err)
					  : remote_open_context(session, name, ret, ret_row, err);
}

static int describe_word(struct args *args, const char *session, const char *name, char **argv)
{
	struct warder_error err = { 0 };
	struct remote *remote = NULL;
	char *row = NULL;
	int ret = args->rest[0] ? no_more(args->rest[0], &err) : open_row(session, name, &remote, &row, &err);

	if (ret == 0)
		ret = row ? describe(remote, row, args->json, &err) : error_no_memory(&err, NULL);
	free(row);
	remote_free(remote);
	return ret == 0 ? 0 : command_refuse(args, &err, EXIT_REFUSED);
}

static const struct word {
	const char *name;
	enum flag_command flags;
	bool named; /* SESSION and NAME are needed */
	int (*run)(struct args *args, const char *session, const char *name, char **argv);
} words[] = {
	{ "create", FLAG_CONTEXT_CREATE, true, create_word },
	{ "list", FLAG_CONTEXT, false, list_word },
	{ "run", FLAG_CONTEXT_RUN, true, run_word },
	{ "interrupt", FLAG_CONTEXT, true, interrupt_word },
	{ "restart", FLAG_CONTEXT, true, restart_word },
	{ "fork", FLAG_CONTEXT_FORK, true, fork_word },
	{ "describe", FLAG_CONTEXT, true, describe_word },
	{ "delete", FLAG_CONTEXT, true, delete_word },
};

/* The flags stand before the words in argv. Take the three words out, and parse what is left for that word alone. */
static int run_the_word(const struct word *word, const struct args *outer, char **argv)
{
	const size_t before = (size_t)(outer->rest - argv);
	char *session = outer->rest[1], *name = session ? outer->rest[2] : NULL;
	struct args args = { 0 };
	struct warder_error err = { 0 };
	char **own;
	size_t count = 0, kept = before;
	int status;

	for (char **at = name ? outer->rest + 3 : outer->rest + 1 + (session != NULL); at[count];)
		count++;
	own = calloc(before + count + 1, sizeof(*own));
	if (!own) {
		term_complain("out of memory");
		return EXIT_REFUSED;
	}
	memcpy(own, argv, before * sizeof(*own));
	for (size_t i = 0; i < count; i++)
		own[kept++] = outer->rest[3 + i];
	if (args_parse(word->flags, own, &args, &err) != 0) {
		status = command_refuse(&args, &err, EXIT_REFUSED);
	} else if (word->named && !name) {
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, session ? "context" : "session",
			  "%s is missing: warder context %s SESSION NAME",
			  session ? "the name of the context" : "the session", word->name);
		status = command_refuse(&args, &err, EXIT_REFUSED);
	} else {
		status = word->run(&args, session, name, own);
	}
	args_done(&args);
	free(own);
	return status;
}

int context_command(struct args *args, char **argv)
{
	const char *names[ARRAY_LENGTH(words) + 1] = { NULL };
	struct warder_error err = { 0 };
	char remedy[96];

	for (size_t i = 0; args->rest[0] && i < ARRAY_LENGTH(words); i++) {
		names[i] = words[i].name;
		if (strcmp(args->rest[0], words[i].name) == 0)
			return run_the_word(&words[i], args, argv);
	}
	if (args->rest[0])
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "context", "context has no word \"%.40s\"; %s",
			  args->rest[0], policy_suggest(names, args->rest[0], remedy, sizeof(remedy)));
	else
		error_set(
		    &err, WARDER_ERROR_INVALID_REQUEST, "context",
		    "a command is missing: create, list, run, interrupt, restart, fork, describe or delete");
	return command_refuse(args, &err, EXIT_REFUSED);
}

/* ---- warder code --context ---- */

static int compare_language(const char *asked, const char *context, const char *has, struct warder_error *err)
{
	const int same = piece_is_language(asked, has, err);

	return same != 0 ? (same > 0 ? 0 : -1)
			 : error_set(err, WARDER_ERROR_INVALID_REQUEST, "--language",
				     "--language %.40s: context %.64s runs %.40s", asked, context, has);
}

/* The language that is given must be the context's: otherwise the code would run as another one. */
static int check_language(const struct args *args, struct warder_error *err)
{
	const struct args_context *asked = &args->context;
	struct json_value *row = NULL;
	struct remote *remote = NULL;
	char *text = NULL;
	int ret;

	if (!args->code.language)
		return 0;
	if (open_row(asked->session, asked->name, &remote, &text, err) < 0)
		return -1;
	remote_free(remote);
	if (!text)
		return error_no_memory(err, NULL);
	ret = json_parse(text, strlen(text), "context", &(struct json_limits){ .max_bytes = SIZE_MAX }, &row,
			 err);
	if (ret == 0)
		ret = compare_language(args->code.language, asked->name,
				       json_member_text(row, "language", ""), err);
	json_free(row);
	free(text);
	return ret;
}

int context_code(char **argv)
{
	struct args args = { 0 };
	struct warder_error err = { 0 };
	int status = args_parse(FLAG_CODE_CONTEXT, argv, &args, &err);

	if (status == 0 && (!args.context.session || !args.context.name))
		status = error_set(&err, WARDER_ERROR_INVALID_REQUEST,
				   args.context.name ? "--session" : "--context",
				   "%s is missing: --session and --context go together",
				   args.context.name ? "--session" : "--context");
	if (status == 0)
		status = check_language(&args, &err);
	status = status == 0 ? run_word(&args, args.context.session, args.context.name, argv)
			     : command_refuse(&args, &err, EXIT_REFUSED);
	args_done(&args);
	return status;
}
