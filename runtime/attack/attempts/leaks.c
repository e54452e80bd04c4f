/*
 * leaks: what the caller has, what outlives the run, and what the result says.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/attack/attempts/attempts.h"

static int read_environment(const struct attempt *self, const struct marks *marks)
{
	return getenv("WARDER_ATTACK_SECRET") ? REACHED : HIDDEN;
}

static int read_hostname(const struct attempt *self, const struct marks *marks)
{
	struct utsname names;

	uname(&names);
	note("%s", names.nodename);
	return strcmp(names.nodename, marks->hostname) == 0 ? REACHED : HIDDEN;
}

/* Where the jail's control group lies is the host's business. */
static int read_cgroup_path(const struct attempt *self, const struct marks *marks)
{
	char text[4096];
	char *next = text;
	char *line;
	int answer = CLEAN;

	if (read_text("/proc/self/cgroup", text, sizeof(text)) <= 0)
		return UNTRIED;
	while ((line = strsep(&next, "\n")) != NULL) {
		size_t length = strlen(line);

		if (length > 2 && strcmp(line + length - 2, ":/") != 0) {
			note("%s", line);
			answer = REACHED;
		}
	}
	return answer;
}

static int share_session(const struct attempt *self, const struct marks *marks)
{
	pid_t session = getsid(0);

	note("session %d, process %d", (int)session, (int)getpid());
	return session == getpid() ? CLEAN : REACHED;
}

/* The group of whoever started us: a signal to it reaches him. */
static int share_group(const struct attempt *self, const struct marks *marks)
{
	return getpgrp() == getpid() ? CLEAN : REACHED;
}

static int have_terminal(const struct attempt *self, const struct marks *marks)
{
	for (int fd = 0; fd < 3; fd++)
		if (isatty(fd))
			return REACHED;
	return CLEAN;
}

static int inherit_signals(const struct attempt *self, const struct marks *marks)
{
	sigset_t blocked;

	sigemptyset(&blocked);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int i = 1; i < 32; i++) {
		struct sigaction action;

		if (sigismember(&blocked, i) == 1 ||
		    (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN)) {
			note("signal %d", i);
			return REACHED;
		}
	}
	return CLEAN;
}

static int inherit_mask(const struct attempt *self, const struct marks *marks)
{
	mode_t mask = umask(022);

	note("%03o", (unsigned)mask);
	return mask == 022 ? CLEAN : REACHED;
}

static int inherit_personality(const struct attempt *self, const struct marks *marks)
{
	int now = personality(0xffffffff);

	note("%08x", (unsigned)now);
	return now == 0 ? CLEAN : REACHED;
}

/* ---- survival: the driver looks for what is left of every run ---- */

/* Its end of the pipe is closed when it has settled. */
static _Noreturn void be_daemon(const struct attempt *self, const struct marks *marks, int ready_fd)
{
	for (int i = 1; i < 65; i++)
		signal(i, SIG_IGN);
	if (self->path)
		for (int fd = 0; fd < 3; fd++)
			close(fd);
	close(ready_fd);
	/* Outside nobody would end it. */
	while (!marks->outside)
		sleep(60);
	_exit(0);
}

static int leave_daemon(const struct attempt *self, const struct marks *marks)
{
	int pipes[2];
	char byte;
	pid_t pid;

	if (pipe(pipes) != 0)
		return errno;
	pid = fork();
	if (pid == 0) {
		setsid();
		if (fork() == 0)
			be_daemon(self, marks, pipes[1]);
		_exit(0);
	}
	close(pipes[1]);
	waitpid(pid, NULL, 0);
	if (read(pipes[0], &byte, 1) != 0)
		return UNTRIED;
	return marks->outside ? REACHED : NO_EFFECT;
}

static int leave_zombies(const struct attempt *self, const struct marks *marks)
{
	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0 && i < 4)
			return errno;
		if (pid < 0)
			break;
	}
	return NO_EFFECT;
}

/* The result is one channel, the output another: what looks like a record is output. */
static int forge_result(const struct attempt *self, const struct marks *marks)
{
	static const unsigned char record[16] = { 6, 0, 0, 0 };
	int written = 0;

	for (int fd = 3; fd < 256; fd++)
		written += write(fd, record, sizeof(record)) > 0;
	note("%d descriptors took a record", written);
	return written ? REACHED : EBADF;
}

#define INIT "the supervisor's child starts from nothing"

static const struct attempt rows[] = {
	{ "read-callers-environment", "find a secret of the caller's environment", "hidden",
	  "environment built from nothing", .seen = "bubblewrap, minijail, firejail", .allowed = "env=host",
	  .run = read_environment, .outside = OUTSIDE_PLAIN },
	{ "read-hostname", "read the host's name", "hidden", "UTS namespace", .run = read_hostname,
	  .outside = OUTSIDE_PLAIN },
	{ "read-cgroup-path", "read where its control group lies", "clean", "cgroup namespace",
	  .run = read_cgroup_path, .outside = OUTSIDE_PLAIN },
	{ "share-session", "be in the caller's session", "clean", "setsid", .seen = "isolate, firejail",
	  .run = share_session, .outside = OUTSIDE_PLAIN },
	{ "share-process-group", "be in the caller's process group", "clean", "setsid", .run = share_group,
	  .outside = OUTSIDE_PLAIN },
	{ "have-terminal", "have the caller's terminal as a stream", "clean", "streams are pipes",
	  .run = have_terminal, .not_outside = "the caller may have no terminal" },
	{ "inherit-signals", "find a signal that the caller ignores or blocks", "clean", INIT,
	  .run = inherit_signals, .outside = OUTSIDE_PLAIN },
	{ "inherit-personality", "run without address randomisation, as the caller does", "clean", INIT,
	  .run = inherit_personality, .outside = OUTSIDE_PLAIN },
	{ "inherit-umask", "find the caller's umask", "clean", INIT, .run = inherit_mask,
	  .outside = OUTSIDE_PLAIN },
	{ "leave-daemon", "leave a daemon that ignores all signals", "no-effect",
	  "kill of the cgroup and of the pid namespace", .seen = "runc, crun: survive their caller",
	  .needs = "spawn", .run = leave_daemon, .path = "closed", .outside = OUTSIDE_PLAIN },
	{ "leave-daemon-with-output", "the same, which holds standard output open", "no-effect",
	  "kill of the cgroup and of the pid namespace", .needs = "spawn", .run = leave_daemon,
	  .outside = OUTSIDE_PLAIN },
	{ "leave-zombies", "leave children that nobody waited for", "no-effect", "the jail's init reaps",
	  .needs = "spawn|storm", .run = leave_zombies, .not_outside = "they would be the driver's" },
	{ "forge-result", "write a record of its end to every descriptor", "EBADF",
	  "no descriptor of the supervisor's", .run = forge_result, .outside = OUTSIDE_PLAIN },
};

const struct attempt_group leaks_group = GROUP("leaks", rows);
