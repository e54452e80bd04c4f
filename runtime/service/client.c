/*
 * The client's side. Until the service has accepted the request, the client treats every failure as if there were no service. After that the
 * program may have run, so the client does not start it again: if the service dies then, the run has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/text.h"
#include "runtime/service/records.h"
#include "runtime/session/session.h"

#define ACCEPT_US   (SERVICE_RECORD_S * UINT64_C(1000000))
#define LOOK_MS     1000
#define BACKSTOP_US UINT64_C(2000000) /* after the wall time; then the jail's init has ended the program */
#define SILENCE_US  UINT64_C(5000000)

/* ---- runs that it does not serve ---- */

/* The words of a reason, or NULL. */
static const char *find_unserved(const struct service_command *command)
{
	const struct policy *policy = command->policy;

	if (command->code && command->ceiling)
		return "a ceiling limits the code";
	if (!command->argv[0])
		return "the image names the program";
	if (policy->environment.mode != POLICY_ENVIRONMENT_NONE)
		return "the policy lets variables of the caller in";
	if (policy->network.mode != POLICY_NETWORK_NONE && policy->network.mode != POLICY_NETWORK_LOOPBACK)
		return "the program has a network";
	if (policy->network.publish.count)
		return "ports are published";
	if (policy->filesystem.view == POLICY_VIEW_IMAGE)
		return "the view is an image";
	return NULL;
}

/* ---- asking ---- */

static int add_policy(int fd, const struct policy *policy)
{
	char *text = policy_encode(policy);
	const int added = text ? order_add_text(fd, text) : -1;

	free(text);
	return added;
}

static int add_code(int fd, const struct library_order *order, struct service_request *request)
{
	request->flags |= SERVICE_CODE | (order->launch.command.collect ? SERVICE_COLLECT : 0u);
	return order_write(fd, order, &request->code);
}

static int make_words(const struct service_command *command, struct service_request *request)
{
	owned_fd int fd = memfd_create("warder-words", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || add_policy(fd, command->policy) < 0)
		return -1;
	if (command->ceiling && add_policy(fd, command->ceiling) < 0)
		return -1;
	if (command->cgroup_parent && order_add_text(fd, command->cgroup_parent) < 0)
		return -1;
	if (order_add_list(fd, command->argv, &request->argc) < 0)
		return -1;
	request->flags =
	    (command->ceiling ? SERVICE_CEILING : 0u) | (command->cgroup_parent ? SERVICE_PARENT : 0u);
	if (command->code && add_code(fd, command->code, request) < 0)
		return -1;
	request->bytes = (uint64_t)lseek(fd, 0, SEEK_CUR);
	return fd_take(&fd);
}

static int ask(int fd, const struct service_command *command)
{
	struct service_request request = { .magic = SERVICE_MAGIC,
					   .size = sizeof(request),
					   .output_max = command->output_max,
					   .secure_bits = service_secure_bits() };
	owned_fd int words_fd = make_words(command, &request);
	int fds[SERVICE_FDS_MAX] = { words_fd };
	size_t count = 1;

	if (words_fd < 0)
		return -1;
	if (command->no_receipt)
		request.flags |= SERVICE_NO_RECEIPT;
	if (command->input_fd >= 0) {
		request.flags |= SERVICE_INPUT;
		fds[count++] = command->input_fd;
	}
	if (command->output_fds) {
		request.flags |= SERVICE_OUTPUT;
		fds[count++] = command->output_fds[0];
		fds[count++] = command->output_fds[1];
	}
	if (command->code && command->code->launch.command.input_fd > 0) {
		request.flags |= SERVICE_VALUE;
		fds[count++] = command->code->launch.command.input_fd;
	}
	return fd_send(fd, &request, sizeof(request), fds, count, 0);
}

static int receive_answer(int fd, struct service_answer *ret, int *ret_fd)
{
	int fds[SERVICE_FDS_MAX];
	ssize_t n = fd_receive(fd, ret, sizeof(*ret), fds, SERVICE_FDS_MAX, 0);

	/* If the service has closed its end with an unread request, the kernel reports that once, before it hands out the answer. */
	if (n < 0 && errno == ECONNRESET)
		n = fd_receive(fd, ret, sizeof(*ret), fds, SERVICE_FDS_MAX, 0);
	if (ret_fd)
		*ret_fd = fd_take(&fds[0]);
	for (size_t i = 0; i < SERVICE_FDS_MAX; i++)
		fd_done(&fds[i]);
	if (n != sizeof(*ret) || ret->magic != SERVICE_MAGIC)
		return -1;
	ret->why[sizeof(ret->why) - 1] = '\0';
	return 1;
}

/* 1 with an answer; 0: none came in time, or before the caller gives up; -1: the service is gone. */
static int take_acceptance(int fd, bool (*gives_up)(void), struct service_answer *ret)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	const uint64_t until = clock_us() + ACCEPT_US;

	while (poll(&ready, 1, LOOK_MS) <= 0) {
		if (clock_us() < until && !gives_up())
			continue;
		if (poll(&ready, 1, 0) > 0)
			break;
		/* The service cannot accept any more. If it just has, this caller must not run the program a second time. */
		shutdown(fd, SHUT_RD);
		return receive_answer(fd, ret, NULL) > 0 ? 1 : 0;
	}
	return receive_answer(fd, ret, NULL);
}

/* 0 with *ret_fd; 1: no service listens; -1: it cannot be reached. */
static int connect_to(int *ret_fd)
{
	struct warder_error ignored;
	owned_fd int dir_fd = -1;

	if (session_directory_open(false, &dir_fd, &ignored) != 0)
		return 1;
	return session_connect(dir_fd, SERVICE_NAME, ret_fd, &ignored);
}

/* ---- waiting ---- */

/* A signal stopped its process, or a debugger. A late answer alone does not show that: on a busy host, a launch or the end of a jail takes long. */
static bool is_stopped(int fd)
{
	char path[32], text[512];
	const char *state;
	owned_fd int stat_fd = -1;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", session_peer_pid(fd));
	stat_fd = open(path, O_RDONLY | O_CLOEXEC);
	len = stat_fd < 0 ? -1 : read(stat_fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false; /* if it is gone, so is the connection */
	text[len] = '\0';
	state = strrchr(text, ')');
	return state && (!strncmp(state, ") T", 3) || !strncmp(state, ") t", 3));
}

/* It has been stopped for some time. *since_us: 0 before the first call. */
static bool is_silent(int fd, uint64_t *since_us)
{
	if (!is_stopped(fd)) {
		*since_us = 0;
		return false;
	}
	if (*since_us == 0)
		*since_us = clock_us();
	return clock_us() - *since_us >= SILENCE_US;
}

/* 1 with an answer, and a descriptor; 0: the caller gives up, or the service is silent; -1: the service is gone. */
static int take_answer(int fd, uint64_t wall_time_us, bool (*gives_up)(void), struct service_answer *ret,
		       int *ret_fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	const bool is_limited = wall_time_us != POLICY_UNLIMITED;
	const uint64_t doubt_us = is_limited ? clock_us() + wall_time_us + BACKSTOP_US : UINT64_MAX;
	uint64_t stopped_us = 0;
	bool lost = false;

	while (!lost && poll(&ready, 1, LOOK_MS) <= 0)
		lost = gives_up() || (clock_us() >= doubt_us && is_silent(fd, &stopped_us));
	/* The service may have gone on at the last moment. */
	return lost && poll(&ready, 1, 0) <= 0 ? 0 : receive_answer(fd, ret, ret_fd);
}

/* False with the reason. */
static bool is_accepted(int fd, bool (*gives_up)(void), char why[SERVICE_WHY])
{
	struct service_answer answer;
	const int got = take_acceptance(fd, gives_up, &answer);

	if (got > 0 && answer.type == SERVICE_ACCEPTED)
		return true;
	snprintf(why, SERVICE_WHY, "%s",
		 got > 0 && answer.type == SERVICE_NO ? answer.why
		 : got == 0                           ? "the service does not answer"
						      : "the service has ended");
	return false;
}

int service_start(const struct service_command *command, bool (*gives_up)(void), int *ret_fd,
		  char why[SERVICE_WHY])
{
	owned_fd int fd = -1;
	const char *unserved;

	*why = '\0';
	if (connect_to(&fd) != 0)
		return 1;
	unserved = find_unserved(command);
	if (unserved) {
		snprintf(why, SERVICE_WHY, "%s", unserved);
		return 1;
	}
	/* A service that refuses has perhaps closed its end already: its word counts. */
	(void)!ask(fd, command);
	if (!is_accepted(fd, gives_up, why))
		return 1;
	*ret_fd = fd_take(&fd); /* of a service that has ended, the wait tells */
	return 0;
}

void service_stop(int fd, int signal, uint64_t grace_us)
{
	const struct service_signal word = { .magic = SERVICE_MAGIC, .signal = signal, .grace_us = grace_us };
	const int saved = errno;

	(void)!fd_send(fd, &word, sizeof(word), NULL, 0, 0);
	errno = saved;
}

/* The jails of a service that has ended died with it; those of one that does not answer end when it goes on. */
static void tell_loss(struct warder_result *result, bool gave_up)
{
	result->outcome.cause = JAIL_CAUSE_SUPERVISOR;
	result->outcome.exit_code = -1;
	result->outcome.signal = SIGKILL;
	result->backend = "local";
	result->receipt.unwanted = true;
	snprintf(result->outcome.detail, sizeof(result->outcome.detail), "%s",
		 gave_up ? "the service that runs the program (warder serve) does not answer"
			 : "killed: the service that ran the program (warder serve) has ended");
}

int service_wait(int fd, uint64_t wall_time_us, bool (*gives_up)(void), struct warder_result **ret,
		 char why[SERVICE_WHY], struct warder_error *err)
{
	struct warder_result *result = calloc(1, sizeof(*result));
	struct service_answer answer;
	owned_fd int result_fd = -1;
	int got;

	if (!result)
		return error_no_memory(err, NULL);
	got = take_answer(fd, wall_time_us, gives_up, &answer, &result_fd);
	if (got > 0 && answer.type == SERVICE_NO) {
		free(result);
		snprintf(why, SERVICE_WHY, "%s", answer.why);
		return SERVICE_NOT_RUN;
	}
	if (got <= 0 || answer.type != SERVICE_ENDED || result_read_file(result_fd, result) < 0) {
		memset(result, 0, sizeof(*result));
		tell_loss(result, got == 0);
	}
	*ret = result;
	return got == 0 ? SERVICE_SILENT : 0;
}

bool service_is_there(void)
{
	owned_fd int fd = -1;

	return connect_to(&fd) == 0;
}

static bool never(void)
{
	return false;
}

/* A service that is another program file, of another version perhaps, may not understand the question. */
bool service_may_serve(bool *ret_there, char why[SERVICE_WHY])
{
	const struct service_request question = { .magic = SERVICE_MAGIC,
						  .size = sizeof(question),
						  .flags = SERVICE_QUESTION,
						  .secure_bits = service_secure_bits() };
	owned_fd int fd = -1;

	*why = '\0';
	*ret_there = connect_to(&fd) == 0;
	if (!*ret_there)
		return false;
	if (service_is_another(session_peer_pid(fd), why))
		return false;
	(void)!fd_send(fd, &question, sizeof(question), NULL, 0, 0);
	return is_accepted(fd, never, why);
}
