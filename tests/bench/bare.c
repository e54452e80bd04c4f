#include "tests/bench/bare.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "runtime/library/interpreters.h"

/* As jail/warm.c has them. */
enum { REPORT_FD = 3, WORK_FD = 4, FORKED_FD = 5, ABOVE = 64 };

/* Above the numbers that the interpreter has. */
static bool make_pipe(int ret[2])
{
	int low[2];

	if (pipe2(low, O_CLOEXEC) < 0)
		return false;
	for (int i = 0; i < 2; i++) {
		ret[i] = fcntl(low[i], F_DUPFD_CLOEXEC, ABOVE);
		close(low[i]);
	}
	return ret[0] >= 0 && ret[1] >= 0;
}

/* A list ends with an empty line; a fork reports its own. */
static bool await_lists(int fd, int lists)
{
	char text[65536];
	char last = '\n';
	ssize_t n = 1;

	while (lists > 0 && n > 0) {
		n = read(fd, text, sizeof(text));
		for (ssize_t i = 0; i < n; i++) {
			lists -= text[i] == '\n' && last == '\n';
			last = text[i];
		}
	}
	return lists <= 0;
}

static int spawn(char **words, int forked_fd, int output_fd, int report_fd, int work_fd)
{
	static char *environment[] = { (char *)"PATH=/usr/bin:/bin", NULL };
	posix_spawn_file_actions_t actions;
	char path[64];
	pid_t pid = -1;

	snprintf(path, sizeof(path), "/usr/bin/%s", words[0]);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&actions, output_fd, 1);
	posix_spawn_file_actions_adddup2(&actions, report_fd, REPORT_FD);
	posix_spawn_file_actions_adddup2(&actions, work_fd, WORK_FD);
	if (forked_fd >= 0)
		posix_spawn_file_actions_adddup2(&actions, forked_fd, FORKED_FD);
	errno = posix_spawn(&pid, path, &actions, NULL, words, environment);
	posix_spawn_file_actions_destroy(&actions);
	return errno ? -1 : pid;
}

static char **words_of(const char *interpreter, const char *const *imports, bool zygote)
{
	struct warder_error err;
	char **words = interpreters_words(interpreter, imports, &err);
	char **forking;

	if (!words || !zygote)
		return words;
	forking = interpreters_zygote_words(words, &err);
	interpreters_free(words, text_count(words));
	return forking;
}

int bare_start(const char *interpreter, const char *const *imports, const char *forked, struct bare *ret)
{
	char **words = words_of(interpreter, imports, forked);
	const int low_fd = forked ? open(forked, O_RDONLY | O_CLOEXEC) : -1;
	const int forked_fd = low_fd < 0 ? -1 : fcntl(low_fd, F_DUPFD_CLOEXEC, ABOVE);
	int output[2], report[2], work[2];
	bool ready;

	close(low_fd);
	if (!words || (forked && forked_fd < 0) || !make_pipe(output) || !make_pipe(report) ||
	    !make_pipe(work))
		return -1;
	ret->pid = spawn(words, forked_fd, output[1], report[1], work[0]);
	ret->output_fd = output[0];
	ret->work_fd = work[1];
	interpreters_free(words, text_count(words));
	close(forked_fd);
	close(output[1]);
	close(report[1]);
	close(work[0]);
	ready = ret->pid > 0 && await_lists(report[0], forked ? 2 : 1) && write(ret->work_fd, "\n", 1) == 1;
	close(report[0]);
	return ready ? 0 : -1;
}

ssize_t bare_run(struct bare *bare, const char *code, char *ret, size_t size)
{
	const size_t len = strlen(code);

	if (write(bare->work_fd, code, len) != (ssize_t)len)
		return -1;
	close(bare->work_fd);
	return read(bare->output_fd, ret, size);
}

int bare_end(struct bare *bare)
{
	char rest[4096];
	int status = 0;

	while (read(bare->output_fd, rest, sizeof(rest)) > 0)
		;
	close(bare->output_fd);
	while (waitpid(bare->pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
