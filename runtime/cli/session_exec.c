/*
 * session exec: a program in a session. An execution starts from the session's policy, which its flags may narrow; where it has to start the
 * session, the same flags make the session's.
 *
 * The keeper of the session launches and supervises the program, which writes to this process's own streams, and goes on if this process is
 * killed. Calls of host functions are answered here. Only if the keeper is a process of another version of Warder, this process joins the
 * session and supervises the program itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/functions.h"
#include "runtime/cli/report.h"
#include "runtime/cli/remote_request.h"
#include "runtime/cli/term.h"
#include "runtime/code/code.h"
#include "runtime/library/library.h"
#include "runtime/session/session.h"

#define TRIES      3 /* to begin, while others take the name for sessions of theirs */
#define LOOK_MS    200
#define SILENCE_US UINT64_C(7000000)

/* ---- the policy ---- */

int session_check_start_flags(const struct args *args, struct warder_error *err)
{
	const struct {
		const char *flag;
		bool given;
	} rows[] = {
		{ "--setup", args->session.setup.count > 0 },
		{ "--lifetime", args->session.lifetime_us > 0 },
		{ "--idle-timeout", args->session.idle_us > 0 },
		{ "--cgroup-parent", args->cgroup_parent != NULL },
		{ "--backend", !session_is_backend(args->backend) },
		{ "--backends", args->backends != NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		if (rows[i].given)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, rows[i].flag,
					 "%s: the session runs already, and an execution cannot change that; "
					 "say it at \"warder session start\"",
					 rows[i].flag);
	return 0;
}

int session_check_ceiling(const struct warder_session *session, const struct args *args,
			  struct warder_error *err)
{
	return session_check_granted(&session_spec_of(session)->policy,
				     args->ceiling ? &args->ceiling->policy : NULL, err);
}

static int check_terminal(const struct session_spec *session, const struct args *args,
			  struct warder_error *err)
{
	if (!args->terminal || session->policy.devices.terminals > 0)
		return 0;
	return error_set(
	    err, WARDER_ERROR_INVALID_REQUEST, "devices.terminals",
	    "devices.terminals of session %.64s is 0, and -t (--terminal) needs at least 1; start "
	    "the session with --set devices.terminals=1",
	    session->name);
}

int session_load_policy(const struct warder_session *session, enum flag_command command, char **flags,
			struct args *args, struct warder_error *err)
{
	const struct session_spec *spec = session_spec_of(session);

	if (check_terminal(spec, args, err) != 0)
		return -1;
	if (args->base)
		return args_load(command, flags, args, err);
	args->policy = library_policy(&spec->policy, err);
	return args->policy && args_load_ceiling(args, err) == 0 ? args_change(command, flags, args, err)
								 : -1;
}

static int find_or_start(struct report *report, struct args *args, const char *name, char **flags,
			 struct warder_session **ret, struct warder_error *err)
{
	args->session.runs =
	    (args->execution.detach ? warder_session_open : session_open_to_run)(name, ret, err) == 0;
	if (args->session.runs && args->session.for_files)
		session_use_for_files(*ret);
	if (args->session.runs)
		return session_check_start_flags(args, err) == 0 &&
			       session_load_policy(*ret, FLAG_SESSION_EXEC, flags, args, err) == 0
			   ? report_audit(report, "session exec", name, err)
			   : -1;
	if (err->code != WARDER_ERROR_NOT_FOUND || !args->session.auto_start)
		return -1;
	return args_load(FLAG_SESSION_EXEC, flags, args, err) == 0 &&
		       report_audit(report, "session exec", name, err) == 0
		   ? session_start_asked(args, name, ret, err)
		   : -1;
}

/* Another took the name meanwhile, or the session has ended and may be started again: the flags are held against that one. */
static bool may_try_again(const struct warder_session *session, const struct args *args,
			  const struct warder_error *err)
{
	return session_is_replaced(session) ||
	       (args->session.auto_start && err->code == WARDER_ERROR_NOT_FOUND);
}

/* Find or start the session, and then `begin` there, which returns an exit status, or -1 with *err: nothing ran. */
static int begin_in(struct report *report, struct args *args, const char *name, char **flags,
		    int (*begin)(struct report *report, struct warder_session *session,
				 struct warder_error *err),
		    struct warder_error *err)
{
	for (int tries = 1;; tries++) {
		struct warder_session *session = NULL;
		int status = -1;
		bool again;

		if (find_or_start(report, args, name, flags, &session, err) == 0 &&
		    args_pass_term(args, err) == 0 && args_provide(args, err) == 0)
			status = begin(report, session, err);
		again = status < 0 && session && tries < TRIES && may_try_again(session, args, err);
		warder_session_free(session);
		if (!again)
			return status;
		args_unload(args);
	}
}

/* ---- this process supervises ---- */

static int run_here(struct report *report, struct warder_session *session, struct warder_error *err)
{
	const struct args *args = report->args;
	const struct preparation_options how = { .background = args->session.background,
						 .ceiling = args->ceiling ? &args->ceiling->policy : NULL };
	struct warder_template *tmpl = NULL;
	int status;

	if (session_prepare(session, &args->policy->policy, &how, false, &tmpl, err) != 0)
		return -1;
	status = run_launch(report, tmpl, NULL);
	warder_template_free(tmpl);
	return status;
}

/* ---- the keeper supervises ---- */

static uint64_t patience_us, signalled_us;

/* A signal asks the keeper to end the program. A keeper that is stopped does not, and the caller must not hang with it. */
static bool gives_up(void)
{
	if (!ending_signal())
		return false;
	if (!signalled_us)
		signalled_us = clock_us();
	return clock_us() - signalled_us >= patience_us;
}

/* This process reads its terminal, so that the kernel stops it in the background, and hands the bytes on by a pipe. */
struct typing {
	int from_fd;
	int pipe_fd; /* our end; -1: the input is no terminal, or has ended */
	int read_fd; /* the program's end, until the keeper has it; or -1 */
	char bytes[4096];
	size_t len;
};

static int open_typing(struct typing *typing, int from_fd, struct warder_error *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0 || fcntl(fds[1], F_SETFL, O_NONBLOCK) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no descriptor left");
	typing->read_fd = fds[0];
	typing->pipe_fd = fds[1];
	typing->from_fd = from_fd;
	return 0;
}

static void pass_typing(struct typing *typing)
{
	ssize_t n;

	if (!typing->len) {
		n = read(typing->from_fd, typing->bytes, sizeof(typing->bytes));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return;
		if (n <= 0) {
			fd_done(&typing->pipe_fd);
			return;
		}
		typing->len = (size_t)n;
	}
	n = write(typing->pipe_fd, typing->bytes, typing->len);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		fd_done(&typing->pipe_fd); /* nobody reads any more */
	if (n > 0) {
		typing->len -= (size_t)n;
		memmove(typing->bytes, typing->bytes + n, typing->len);
	}
}

/* What this process does for the program while it waits. */
struct attendance {
	struct typing typing;
	struct function_answers answers;
};

static int wait_for_end(struct session_run *run, struct attendance *attendance, struct warder_result **ret,
			struct warder_error *err)
{
	struct typing *typing = &attendance->typing;
	int ended;

	while ((ended = session_run_take(run, ret, err)) == 0) {
		struct pollfd fds[] = {
			{ .fd = session_run_fd(run), .events = POLLIN },
			{ .fd = typing->pipe_fd < 0 || typing->len ? -1 : typing->from_fd, .events = POLLIN },
			{ .fd = typing->len ? typing->pipe_fd : -1, .events = POLLOUT },
			{ .fd = function_answers_fd(&attendance->answers), .events = POLLIN },
		};

		if (gives_up()) {
			*ret = session_run_lost(run);
			if (!*ret)
				return error_no_memory(err, NULL);
			term_complain("%s", (*ret)->outcome.detail);
			return 0;
		}
		if (poll(fds, ARRAY_LENGTH(fds), LOOK_MS) <= 0)
			continue;
		if (fds[1].revents || fds[2].revents)
			pass_typing(typing);
		if (fds[3].revents)
			function_answers_serve(&attendance->answers);
	}
	return ended < 0 ? -1 : 0;
}

/* The session is gone, or is another one by now: an error that is not of the program. */
static bool is_of_session(const struct warder_error *err)
{
	return err->code == WARDER_ERROR_CONFLICT ||
	       (err->code == WARDER_ERROR_NOT_FOUND && strcmp(err->field, "name") == 0);
}

/* Our terminal, as long as the program has its own. Without it, the program is to end. */
static struct attach_taken lend_terminal(struct session_run *run, struct function_answers *answers,
					 uint64_t grace_us)
{
	struct attach_taken taken;
	struct warder_error err = { 0 };

	if (attach_own(run, answers, gives_up, &taken, &err) == 0)
		return taken;
	/* NOT_FOUND: it has ended already, and the result is on its way to the caller. */
	if (taken.failed != EPIPE && err.code != WARDER_ERROR_NOT_FOUND)
		term_complain("%s", err.text);
	session_run_stop(run, SIGHUP, grace_us);
	return taken;
}

/* Output that the keeper had, and that this process has not taken in time, say because it was stopped. Without the keeper's result, it is not
 * known how much that was, and the cause of the end says that the program's supervisor is lost. */
static void settle_output(struct warder_result *result, const struct attach_taken *taken)
{
	const uint64_t written =
	    result->unmeasured ? result->outcome.output[JAIL_STDOUT].total : result->passed[WARDER_STDOUT];

	result->outcome.receiver_errno = taken->failed;
	if (!taken->failed && !ending_signal() && written > taken->bytes)
		term_complain("%llu of %llu bytes of the program's output are lost: they were not taken in "
			      "time",
			      (unsigned long long)(written - taken->bytes), (unsigned long long)written);
}

/* The keeper has our standard input, and closes it when the program closes its input. A writer notices that only if this process does not have
 * it open, either. So put /dev/null in its place. */
static void leave_input(void)
{
	owned_fd int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null_fd >= 0)
		dup2(null_fd, STDIN_FILENO);
}

/* With the rights of this process, which has named the place for them. */
static void take_files(struct report *report, struct session_run *run, const struct library_order *code,
		       struct warder_result *result)
{
	const int fd = session_run_handed_fd(run);

	code_order_collect(code, fd, result);
	report_keep(report, result);
	if (fd >= 0)
		session_run_say_taken(run);
}

/* Begin the command, and wait for its end. */
static int begin_and_wait(struct report *report, struct warder_session *session,
			  struct attendance *attendance, struct remote_command *command,
			  struct warder_result **ret, struct warder_error *err)
{
	const struct args *args = report->args;
	struct remote_audit audit = { .fd = report->audit.fd, .path = args->audit };
	struct session_run *run = NULL;
	char *head;
	struct attach_taken taken = { 0 };
	int status;

	patience_us = args->grace_us + SILENCE_US;
	signalled_us = 0;
	report_grace(args->grace_us);
	/* For the keeper, in case this process is killed. */
	audit.head = head = report_audit_head(report);
	command->audit = head ? &audit : NULL;
	status = session_run_start(session, command, report_owned, gives_up, &run, err);
	free(head);
	function_answers_started(&attendance->answers);
	fd_done(&attendance->typing.read_fd); /* the keeper has it */
	if (status == 0 && command->streams && command->streams->input_fd == STDIN_FILENO)
		leave_input();
	if (status == 0 && command->terminal)
		taken = lend_terminal(run, &attendance->answers, args->grace_us);
	if (status == 0)
		status = wait_for_end(run, attendance, ret, err);
	if (status == 0 && command->code)
		take_files(report, run, command->code, *ret);
	if (status == 0 && command->terminal)
		settle_output(*ret, &taken);
	report_owned(NULL);
	session_run_free(run);
	if (status == 0 && function_answers_end(&attendance->answers, *ret, err) < 0) {
		warder_result_free(*ret);
		status = -1;
	}
	return status;
}

int session_run_command(struct report *report, struct warder_session *session,
			const struct remote_command *command, struct warder_result **ret,
			struct warder_error *err)
{
	struct remote_command asked = *command;
	struct attendance attendance = { .typing = { .pipe_fd = -1, .read_fd = -1 } };
	struct remote_streams streams = { .input_fd = -1 };
	int status;

	if (command->streams)
		streams = *command->streams;
	if (streams.input_fd >= 0 && isatty(streams.input_fd)) {
		if (open_typing(&attendance.typing, streams.input_fd, err) < 0)
			return -1;
		streams.input_fd = attendance.typing.read_fd;
	}
	if (command->streams)
		asked.streams = &streams;
	status =
	    function_answers_open(report->args, command->policy, &attendance.answers, &asked.calls_fd, err);
	if (status == 0)
		status = begin_and_wait(report, session, &attendance, &asked, ret, err);
	function_answers_done(&attendance.answers);
	fd_done(&attendance.typing.read_fd);
	fd_done(&attendance.typing.pipe_fd);
	return status;
}

static int run_by_keeper(struct report *report, struct warder_session *session, struct warder_error *err)
{
	static const int output_fds[] = { STDOUT_FILENO, STDERR_FILENO };
	const struct args *args = report->args;
	const struct remote_streams streams = { .input_fd = args->no_input ? -1 : STDIN_FILENO,
						.output_fds = args->json ? NULL : output_fds };
	struct remote_command command = {
		.policy = &args->policy->policy,
		.ceiling = args->ceiling ? &args->ceiling->policy : NULL,
		.argv = args->rest,
		.background = args->session.background,
		.terminal = args->terminal,
		.terminal_fd = args->terminal ? STDIN_FILENO : -1,
		.owner = args->terminal,
		.output_max = args->json ? 0 : args->output_max,
		.streams = args->terminal ? NULL : &streams,
		.no_receipt = !args->json && !args->receipt,
		.progress = args->progress,
		.on_line = report_progress(report),
	};
	struct warder_result *result = NULL;
	int status;

	if (report_ended_early(report))
		return 128 + ending_signal();
	status = session_run_command(report, session, &command, &result, err);
	if (status == 0)
		return report_result(report, result);
	if (status > 0)
		return run_here(report, session, err);
	return is_of_session(err) ? -1 : report_refuse(report, err, error_exit_status(err->code));
}

/* ---- the word ---- */

static int begin(struct report *report, struct warder_session *session, struct warder_error *err)
{
	return report->args->execution.detach ? detach_launch(report, session)
					      : run_by_keeper(report, session, err);
}

static int exec_in(struct report *report, struct args *args, const char *name, char **flags)
{
	struct warder_error err = { 0 };
	int status;

	if (!args->rest[0])
		status = error_set(&err, WARDER_ERROR_INVALID_REQUEST, "argv",
				   "which program? warder session exec NAME [FLAG...] -- PROGRAM");
	else
		status = begin_in(report, args, name, flags, begin, &err);
	return status >= 0 ? status : report_refuse(report, &err, EXIT_REFUSED);
}

int session_exec_word(struct args *outer, const char *name, char **flags)
{
	struct args args;
	struct report report;
	struct warder_error err = { 0 };
	int status;

	report_catch_signals();
	if (args_parse(FLAG_SESSION_EXEC, flags, &args, &err) != 0 || report_open(&args, &report, &err) != 0)
		return command_refuse(&args, &err, EXIT_REFUSED);
	args.json |= outer->json;
	args.session.for_files = outer->session.for_files;
	status = args_check_terminal(&args, &err) == 0 && remote_request_refuse_flags(&args, &err) == 0
		     ? exec_in(&report, &args, name, flags)
		     : command_refuse(&args, &err, EXIT_REFUSED);
	report_done(&report);
	args_done(&args);
	return status;
}

/* ---- patch ---- */

/* An execution of git with the patch as its input: the rights are those of the session's user, and git looks at every file before it
 * writes the first one. A repository and a configuration in the session say nothing. */
int session_patch(struct args *outer, const char *name, char **words,
		  int (*execute)(struct args *outer, const char *name, char **flags))
{
	static const char *const apply[] = {
		"--env", "GIT_DIR=/dev/null",     "--env", "GIT_CONFIG_GLOBAL=/dev/null",
		"--env", "GIT_CONFIG_NOSYSTEM=1", "--",    "git",
		"apply", "--whitespace=nowarn",   "-",     NULL
	};
	const char *flags[ARRAY_LENGTH(apply) + 3];
	size_t count = 0;
	bool placed = false;
	bool unconfigured = false;
	struct warder_error err = { 0 };

	outer->session.for_files = true;
	for (; *words; words++) {
		if (strcmp(*words, "--no-config") == 0) {
			unconfigured = true;
			continue;
		}
		if (**words == '-' || placed) {
			error_set(&err, WARDER_ERROR_INVALID_REQUEST, *words,
				  "%.60s is not known here: patch NAME [DIRECTORY] < PATCH", *words);
			return command_refuse(outer, &err, EXIT_REFUSED);
		}
		placed = true;
		flags[count++] = "--cwd";
		flags[count++] = *words;
	}
	if (unconfigured)
		flags[count++] = "--no-config";
	memcpy(flags + count, apply, sizeof(apply));
	return execute(outer, name, (char **)(uintptr_t)flags);
}

int session_patch_word(struct args *outer, const char *name, char **words)
{
	return session_patch(outer, name, words, session_exec_word);
}
