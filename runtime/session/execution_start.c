/* execution_start: what a START asks for, and the launch in a thread of its own. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "runtime/library/library.h"
#include "runtime/library/preparation.h"
#include "runtime/session/execution.h"
#include "runtime/session/keeper_agent.h"
#include "runtime/session/keeper_branch.h"
#include "runtime/session/keeper_code.h"
#include "runtime/session/keeper_context.h"

#define WORDS_MAX    65536u
#define INIT_WAIT_MS 500                /* for the death of an init that was killed */
#define LAUNCH_US    UINT64_C(30000000) /* of an execution with an owner */

/* ---- what a START holds ---- */

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

/* ---- the launch ---- */

static void keep_owner(void *owner)
{
}

static void keep_failure(void *owner, struct warder_error *err)
{
}

static const struct library_session of_keeper = { keep_owner, executions_say_end, keep_failure };

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
		execution_wait_for_owner(execution);
	if (execution->flags & RECORD_STREAMS)
		return take_streams(execution, fds, err);
	if (execution->flags & RECORD_TERMINAL)
		return open_terminal(execution, start, fds[0], err);
	return execution->flags & RECORD_OPEN_INPUT ? open_pipe(execution, err) : 0;
}

/* ---- all of them ---- */

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

int executions_start_agent(struct executions *all, struct warder_error *err)
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
		connected =
		    executions_start_agent(all, err) < 0 ? -1 : keeper_agent_connect(all, ret_fd, err);
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
