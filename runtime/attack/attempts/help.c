/* help: what the functions of several groups share. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/attack/attempts/attempts.h"

static char noted_text[256];

void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(noted_text, sizeof(noted_text), format, args);
	va_end(args);
	for (char *at = noted_text; *at; at++)
		if ((unsigned char)*at < ' ')
			*at = ' ';
}

const char *noted(void)
{
	return noted_text;
}

int answer_of(long ret)
{
	return ret >= 0 ? REACHED : errno;
}

int answer_past(long ret, int past)
{
	return ret >= 0 || errno == past ? REACHED : errno;
}

int answer_hidden(long ret)
{
	int answer = answer_of(ret);

	return answer == ENOENT || answer == ENOTDIR ? HIDDEN : answer;
}

int answer_busy(long ret, const char *path)
{
	int answer = answer_hidden(ret);

	return answer == ETXTBSY ? answer_of(access(path, W_OK)) : answer;
}

const char *own_place(const struct attempt *self, const struct marks *marks)
{
	return marks->outside && (self->outside & OUTSIDE_PLAIN) ? marks->dir : "/tmp";
}

long read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t len = 0;
	ssize_t n = 0;
	int saved;

	if (fd < 0)
		return -1;
	while (len + 1 < size && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	saved = errno;
	close(fd);
	errno = saved;
	buf[len] = '\0';
	return n < 0 && len == 0 ? -1 : (long)len;
}

const char *host_file(void)
{
	static char self[4096];
	static const char env[] = "/usr/bin/env";
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[length > 0 ? length : 0] = '\0';
	return access(env, F_OK) == 0 ? env : self;
}

const char *process_path(const struct attempt *self, const struct marks *marks, char *buf, size_t size)
{
	static const char init[] = "/proc/1/";

	if (!marks->outside || strncmp(self->path, init, sizeof(init) - 1) != 0)
		return self->path;
	snprintf(buf, size, "/proc/%d/%s", marks->pid, self->path + sizeof(init) - 1);
	return buf;
}

int make_secret(const char *directory, const char *name)
{
	char path[256];
	int status;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, MAKE_FILE, 0666);
	if (fd < 0)
		return -1;
	status = write(fd, "secret\n", 7) == 7 ? 0 : -1;
	close(fd);
	return status;
}

int answer_terminals(void)
{
	DIR *dir = opendir("/dev/pts");
	const struct dirent *item;
	int answer = HIDDEN;

	while (dir && (item = readdir(dir)) != NULL)
		if (item->d_name[0] >= '0' && item->d_name[0] <= '9')
			answer = REACHED;
	if (dir)
		closedir(dir);
	return dir || errno == ENOENT ? answer : UNTRIED;
}

int read_path(const struct attempt *self, const struct marks *marks)
{
	char text[256 + 1], path[128]; /* /proc/kpagecount and its like are read by multiples of 8 bytes */
	long len = read_text(process_path(self, marks, path, sizeof(path)), text, sizeof(text));

	if (len > 0)
		note("%s can be read", self->path);
	return len == 0 ? HIDDEN : answer_hidden(len);
}

int open_for_writing(const struct attempt *self, const struct marks *marks)
{
	char buf[128];
	const char *path = process_path(self, marks, buf, sizeof(buf));
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int answer = answer_busy(fd, path);

	if (fd >= 0)
		close(fd);
	return answer;
}

int write_back(const struct attempt *self, const struct marks *marks)
{
	char text[4096];
	long len = read_text(self->path, text, sizeof(text));
	int fd = open(self->path, O_WRONLY | O_CLOEXEC);
	int answer;

	if (fd < 0)
		return answer_hidden(fd);
	/* Outside, that it could be opened is enough. */
	answer = len > 0 && !marks->outside ? answer_of(write(fd, text, (size_t)len)) : REACHED;
	close(fd);
	return answer;
}

int list_directory(const struct attempt *self, const struct marks *marks)
{
	DIR *dir = opendir(self->path);
	const struct dirent *item;
	int answer = HIDDEN;

	if (!dir)
		return answer_hidden(-1);
	while ((item = readdir(dir)) != NULL) {
		if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0) {
			note("%s holds %s", self->path, item->d_name);
			answer = REACHED;
		}
	}
	closedir(dir);
	return answer;
}

const char *product_table(const struct attempt *row)
{
	if (!row->run && row->call.number >= 0 && strncmp(row->by, "seccomp filter", 14) == 0)
		return "filter";
	return row->path && strcmp(row->by, "masked in /proc") == 0 ? "masks" : NULL;
}

int in_child(int (*run)(const struct attempt *, const struct marks *), const struct attempt *self,
	     const struct marks *marks)
{
	int answer = 0;
	int status = 0;
	int pipes[2];
	pid_t pid;

	if (pipe(pipes) != 0)
		return errno;
	pid = fork();
	if (pid < 0)
		return errno;
	if (pid == 0) {
		answer = run(self, marks);
		_exit(write(pipes[1], &answer, sizeof(answer)) != sizeof(answer));
	}
	close(pipes[1]);
	if (read(pipes[0], &answer, sizeof(answer)) != sizeof(answer))
		answer = UNTRIED;
	close(pipes[0]);
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		kill(getpid(), WTERMSIG(status));
	}
	return answer;
}
