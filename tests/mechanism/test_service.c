/* The service and a client of it, both this program. */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/service/service.h"
#include "runtime/session/session.h"

/* Shared by the service and the client. */
static struct stage {
	atomic_bool ready, ends;
	char why[SERVICE_WHY];
	int started;
} * stage;

/* What the client does before its request, once. */
static void (*before_request)(void);

/* Replaces the function of the C library in this program. */
ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	void (*before)(void) = before_request;

	before_request = NULL;
	if (before)
		before();
	return syscall(SYS_sendmsg, fd, message, flags);
}

static int has_to_end(void *context)
{
	(void)context;
	return atomic_load(&stage->ends);
}

static void is_ready(void)
{
	atomic_store(&stage->ready, true);
}

static int connect_once(void)
{
	struct warder_error ignored;
	owned_fd int dir_fd = -1;
	int fd = -1;

	if (session_directory_open(false, &dir_fd, &ignored) == 0)
		session_connect(dir_fd, SERVICE_NAME, &fd, &ignored);
	return fd;
}

/* The service has the client's connection, since it answers a later one. It gets no further one. */
static void end_service(void)
{
	owned_fd int later_fd = connect_once();
	char answer[400];
	int fd;

	if (send(later_fd, "", 1, MSG_NOSIGNAL) != 1 || recv(later_fd, answer, sizeof(answer), 0) <= 0)
		_exit(3);
	atomic_store(&stage->ends, true);
	while ((fd = connect_once()) >= 0) {
		close(fd);
		usleep(10000);
	}
}

/* A directory of sessions that no other process sees. */
static bool take_directory(char place[64])
{
	snprintf(place, 64, "/tmp/warder-service.XXXXXX");
	if (!mkdtemp(place))
		return false;
	if (geteuid() != 0)
		return setenv("XDG_RUNTIME_DIR", place, 1) == 0;
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount(place, "/run", NULL, MS_BIND, NULL) == 0;
}

static void ask(const struct policy *policy)
{
	const struct service_command command = { .policy = policy,
						 .argv = (char *[]){ "true", NULL },
						 .input_fd = -1 };
	int fd = -1;

	before_request = end_service;
	stage->started = service_start(&command, &fd, stage->why);
	fd_done(&fd);
}

static void play(const struct policy *policy)
{
	struct warder_error err = { 0 };
	char place[64], path[100];
	int status = -1;
	pid_t service;

	if (!take_directory(place))
		_exit(2);
	service = fork();
	if (service == 0)
		_exit(service_run(SERVICE_IDLE_US, false, has_to_end, is_ready, &err) != 0);
	while (!atomic_load(&stage->ready) && waitpid(service, &status, WNOHANG) == 0)
		usleep(1000);
	ask(policy);
	waitpid(service, &status, 0);
	snprintf(path, sizeof(path), "%s/warder", place);
	rmdir(path);
	rmdir(place);
	_exit(status != 0);
}

Test(service, a_request_that_comes_when_it_ends_is_refused, .timeout = 60)
{
	struct policy policy;
	struct warder_error err;
	int status = -1;
	pid_t pid;

	cr_assert(policy_preset("strict", &policy, &err) == 0, "%s", err.text);
	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert(stage != MAP_FAILED);
	pid = fork();
	if (pid == 0)
		play(&policy);
	cr_assert(waitpid(pid, &status, 0) == pid && status == 0, "%x", (unsigned int)status);
	cr_expect(stage->started == 1 && strcmp(stage->why, "the service ends") == 0, "%d: %s",
		  stage->started, stage->why);
	munmap(stage, sizeof(*stage));
	policy_done(&policy);
}
