/* The service and a client of it, both this program; and what the service compares. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
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

static bool goes_on(void)
{
	return false;
}

static void ask(const struct policy *policy)
{
	const struct service_command command = { .policy = policy,
						 .argv = (char *[]){ "true", NULL },
						 .input_fd = -1 };
	int fd = -1;

	before_request = end_service;
	stage->started = service_start(&command, goes_on, &fd, stage->why);
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

/* ---- what is compared ---- */

/* In a mount namespace of its own. The caller sees the same root directory, but by another mount, below which other mounts may lie. */
static void compare_with_other_mount(void)
{
	char place[] = "/tmp/warder-service.XXXXXX";
	struct service_self self;
	bool differs = true, differed = false;
	pid_t same, other;

	if (!mkdtemp(place) || unshare(CLONE_NEWNS | (geteuid() != 0 ? CLONE_NEWUSER : 0)) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("/", place, NULL, MS_BIND | MS_REC, NULL) != 0 || service_self_open(&self) < 0)
		_exit(2);
	same = fork();
	if (same == 0)
		_exit(pause());
	other = fork();
	if (other == 0) {
		if (chroot(place) == 0)
			raise(SIGSTOP);
		_exit(1);
	}
	if (waitpid(other, NULL, WUNTRACED) == other) {
		differs = service_differs(&self, same, stage->why);
		differed = service_differs(&self, other, stage->why);
	}
	kill(same, SIGKILL);
	kill(other, SIGKILL);
	service_self_close(&self);
	umount2(place, MNT_DETACH);
	rmdir(place);
	_exit(differs ? 3 : !differed);
}

Test(service, a_root_directory_by_another_mount_is_another_one, .timeout = 60)
{
	int status = -1;
	pid_t pid;

	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert(stage != MAP_FAILED);
	pid = fork();
	if (pid == 0)
		compare_with_other_mount();
	cr_assert(waitpid(pid, &status, 0) == pid && status == 0, "%x: %s", (unsigned int)status, stage->why);
	cr_expect_str_eq(stage->why, "the service has another root directory than the caller");
	munmap(stage, sizeof(*stage));
}

Test(service, a_failed_read_is_no_change, .timeout = 10)
{
	struct service_self self;
	char why[SERVICE_WHY];
	int limits_fd, unreadable_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	cr_assert(unreadable_fd >= 0 && service_self_open(&self) == 0);
	cr_expect(!service_differs(&self, getpid(), why), "%s", why);
	limits_fd = self.text_fd[SERVICE_LIMITS];
	self.text_fd[SERVICE_LIMITS] = unreadable_fd;
	cr_expect(service_differs(&self, getpid(), why));
	cr_expect_str_eq(why, "the service cannot read its own properties in /proc");
	self.text_fd[SERVICE_LIMITS] = limits_fd;
	cr_expect(!atomic_load(&self.changed) && !service_differs(&self, getpid(), why), "%s", why);
	fd_done(&unreadable_fd);
	service_self_close(&self);
}
