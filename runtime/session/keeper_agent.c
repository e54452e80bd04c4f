#include "runtime/session/keeper_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/programs.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* linux/memfd.h */
#endif

#define SEALS       (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define PROGRAM_MAX ((size_t)16 << 20)

/* Where the program finds itself: no path of the session's file tree has to lead to it. */
#define PROGRAM_PATH "/proc/self/fd/0"

static int no_descriptor(struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
			       "no descriptor left for the agent");
}

/* A copy that nobody can change, opened for reading alone: a file that is open for writing cannot be executed. */
static int open_program(int *ret_fd, struct warder_error *err)
{
	char path[PATH_MAX], again[64];
	char *bytes = NULL;
	size_t len = 0;
	owned_fd int fd = -1;
	int written;

	if (programs_find(AGENT_PROGRAM, NULL, path, err) < 0 ||
	    file_read_regular(path, PROGRAM_MAX, &bytes, &len, err) < 0)
		return -1;
	fd = memfd_create(AGENT_PROGRAM, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 there was no such flag */
		fd = memfd_create(AGENT_PROGRAM, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	written = fd < 0 || fchmod(fd, 0555) < 0 ? -1 : file_write_all(fd, bytes, len);
	free(bytes);
	if (written < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return no_descriptor(err);
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	*ret_fd = open(again, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? no_descriptor(err) : 0;
}

static int open_channel(struct keeper_agent *agent, struct warder_error *err)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return no_descriptor(err);
	agent->fd = fds[0];
	agent->program_fd = fds[1];
	/* It says nothing to the keeper, and can send no descriptors. */
	shutdown(agent->fd, SHUT_RD);
	return 0;
}

static int narrow(struct policy *policy, struct warder_error *err)
{
	static const char *const fields[][2] = {
		{ "limits.wallTime", "unlimited" },
		{ "limits.cpuTime", "unlimited" },
		{ "syscalls.allow", "" },
		{ "syscalls.deny", "" },
		{ "syscalls.profile", "default" },
		{ "syscalls.allow", "inotify_init1" },
		{ "syscalls.allow", "inotify_add_watch" },
		{ "syscalls.allow", "inotify_rm_watch" },
	};

	policy->limits.memory_bytes = AGENT_MEMORY_BYTES;
	policy->limits.pids_max = AGENT_PIDS;
	for (size_t i = 0; i < ARRAY_LENGTH(fields); i++)
		if (policy_set(policy, fields[i][0], fields[i][1], err) < 0)
			return -1;
	return 0;
}

int keeper_agent_new(struct execution *execution, struct warder_error *err)
{
	static const char *const argv[] = { AGENT_PROGRAM, NULL };
	struct keeper_agent *agent = calloc(1, sizeof(*agent));
	struct execution_words *words = &execution->words;

	if (!agent)
		return error_no_memory(err, NULL);
	execution->agent = agent;
	execution->rules = execution->all->spec->rules;
	agent->fd = agent->program_fd = agent->file_fd = -1;
	words->argv = calloc(ARRAY_LENGTH(argv), sizeof(*words->argv));
	words->caller = calloc(1, sizeof(*words->caller)); /* no variables but the policy's */
	if (!words->argv || !words->caller)
		return error_no_memory(err, NULL);
	words->argv[0] = (char *)(uintptr_t)argv[0];
	words->policy = execution_new_policy(err);
	if (!words->policy || policy_copy(execution->all->policy, words->policy, err) < 0 ||
	    narrow(words->policy, err) < 0 || open_program(&agent->file_fd, err) < 0)
		return -1;
	return open_channel(agent, err);
}

int keeper_agent_launch(struct execution *execution, struct warder_error *err)
{
	static char program[] = PROGRAM_PATH;
	static char *const argv[] = { program, NULL };
	const struct library_launch launch = {
		.on_output = execution_take_output,
		.output_context = execution,
		.command = { .argv = argv,
			     .stdin_fd = -1,
			     .stdin_file_fd = execution->agent->file_fd,
			     .input_fd = execution->agent->program_fd },
	};

	return library_launch(execution->tmpl, &launch, &execution->run, err);
}

void keeper_agent_launched(struct execution *execution)
{
	struct executions *all = execution->all;

	fd_done(&execution->agent->program_fd);
	fd_done(&execution->agent->file_fd);
	if (!execution->run)
		all->agent_failure = execution->failure;
}

void keeper_agent_free(struct keeper_agent *agent)
{
	if (!agent)
		return;
	fd_done(&agent->fd);
	fd_done(&agent->program_fd);
	fd_done(&agent->file_fd);
	free(agent);
}

/* The newest one: an older one may have ended just now. */
static const struct execution *find(const struct executions *all)
{
	for (size_t i = all->count; i-- > 0;)
		if (all->items[i]->agent && execution_lives(all->items[i]))
			return all->items[i];
	return NULL;
}

/* Both ends of a connection; the agent's is on its way. 1: it does not take it, because it has ended just now. */
static int hand_over(const struct keeper_agent *agent, int *ret_fd, struct warder_error *err)
{
	static const char byte = 1;
	owned_fd int ours = -1;
	owned_fd int theirs = -1;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return no_descriptor(err);
	ours = fds[0];
	theirs = fds[1];
	/* The client, which may be more than the session, gets no descriptors from the agent. */
	fd_refuse_passing(ours);
	if (fd_send(agent->fd, &byte, sizeof(byte), &theirs, 1, MSG_DONTWAIT) < 0)
		return errno == EPIPE || errno == ECONNRESET
			   ? 1
			   : error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				       "the session's agent is busy, or does not answer; try again");
	*ret_fd = fd_take(&ours);
	return 0;
}

int keeper_agent_connect(struct executions *all, int *ret_fd, struct warder_error *err)
{
	const struct execution *execution = find(all);

	/* The last one could not be started: whoever waited for it comes again, and gets to know why. */
	if (!execution && all->agent_failure.code) {
		*err = all->agent_failure;
		all->agent_failure = (struct warder_error){ 0 };
		return error_context(err, "the session's agent");
	}
	return execution ? hand_over(execution->agent, ret_fd, err) : 1;
}
