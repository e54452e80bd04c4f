/*
 * pass: writes that never wait.
 *
 * The caller's descriptor is usually blocking, and O_NONBLOCK belongs to the open file description, which the caller's shell shares: it
 * is not ours to change. poll(2) alone does not help either, because another writer of the same pipe can take the room between the poll
 * and the write. So each kind of file has a write of its own that does not wait:
 *   pipe      pwritev2(RWF_NOWAIT); where the kernel refuses that for pipes (before 6.4), through a pipe of our own and
 *             splice(SPLICE_F_NONBLOCK);
 *   socket    send(MSG_DONTWAIT);
 *   terminal  the same terminal opened once more, with O_NONBLOCK. If it cannot be opened (it belongs to another user), few bytes
 *             at a time, which a terminal that is ready takes;
 *   else      write(2): regular files and devices such as /dev/null have no reader that could stall.
 */
#include "jail/pass.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/page.h"
#include "jail/quiet.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8 /* linux/fs.h; not in every libc */
#endif
#define TERMINAL_FEW 16 /* bytes; each can become several on the screen */

static int open_terminal(int fd)
{
	char path[40];
	struct stat wanted, got;
	owned_fd int own_fd = -1;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own_fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own_fd < 0 || fstat(fd, &wanted) < 0 || fstat(own_fd, &got) < 0 ||
	    got.st_rdev != wanted.st_rdev || !S_ISCHR(got.st_mode))
		return -1;
	return fd_take(&own_fd);
}

int pass_open(int fd, struct pass *ret)
{
	struct stat st;
	int flags;

	*ret = (struct pass){ .fd = fd, .own_fd = -1, .relay = { -1, -1 } };
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fstat(fd, &st) < 0)
		return errno;
	if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH))
		return EBADF;
	if (S_ISFIFO(st.st_mode))
		ret->kind = PASS_PIPE;
	else if (S_ISSOCK(st.st_mode))
		ret->kind = PASS_SOCKET;
	else if (isatty(fd))
		ret->kind = PASS_TERMINAL;
	if (ret->kind == PASS_TERMINAL)
		ret->own_fd = open_terminal(fd);
	ret->memory = malloc(PASS_CHUNK + PAGE_BYTES);
	if (!ret->memory)
		return ENOMEM;
	ret->chunk = page_begin(ret->memory);
	return 0;
}

void pass_done(struct pass *pass)
{
	if (!pass->chunk)
		return;
	free(pass->memory);
	pass->memory = NULL;
	pass->chunk = NULL;
	fd_done(&pass->own_fd);
	fd_done(&pass->relay[0]);
	fd_done(&pass->relay[1]);
}

bool pass_is_open(const struct pass *pass)
{
	return pass->chunk != NULL;
}

size_t pass_waiting(const struct pass *pass)
{
	return pass->chunk ? pass->len - pass->at + pass->relayed : 0;
}

char *pass_room(struct pass *pass)
{
	return pass->chunk;
}

void pass_give(struct pass *pass, size_t len)
{
	pass->len = len;
	pass->at = 0;
}

int pass_poll_fd(const struct pass *pass)
{
	return pass->own_fd >= 0 ? pass->own_fd : pass->fd;
}

static ssize_t write_pipe(struct pass *pass)
{
	struct iovec iov = { .iov_base = pass->chunk + pass->at, .iov_len = pass->len - pass->at };
	ssize_t n = -1;

	if (pass->relay[0] < 0) {
		n = syscall(SYS_pwritev2, pass->fd, &iov, 1, -1L, -1L, RWF_NOWAIT);
		if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL))
			return n;
		if (pipe2(pass->relay, O_CLOEXEC | O_NONBLOCK) < 0)
			return -1;
	}
	if (!pass->relayed) {
		n = write(pass->relay[1], iov.iov_base, iov.iov_len);
		if (n < 0)
			return -1;
		pass->relayed = (size_t)n;
		pass->at += (size_t)n;
	}
	n = splice(pass->relay[0], NULL, pass->fd, NULL, pass->relayed, SPLICE_F_NONBLOCK);
	if (n > 0) {
		pass->relayed -= (size_t)n;
		pass->passed += (size_t)n;
	}
	return n < 0 ? -1 : 0; /* counted already */
}

static ssize_t write_few(int fd, const char *bytes, size_t len)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };

	if (poll(&ready, 1, 0) == 1)
		return write(fd, bytes, len < TERMINAL_FEW ? len : TERMINAL_FEW);
	errno = EAGAIN;
	return -1;
}

static ssize_t write_some(struct pass *pass)
{
	const char *bytes = pass->chunk + pass->at;
	size_t len = pass->len - pass->at;

	switch (pass->kind) {
	case PASS_PIPE:
		return write_pipe(pass);
	case PASS_SOCKET:
		return send(pass->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	case PASS_TERMINAL:
		if (pass->own_fd >= 0)
			return write(pass->own_fd, bytes, len);
		return write_few(pass->fd, bytes, len);
	case PASS_PLAIN:
		break;
	}
	return write(pass->fd, bytes, len);
}

int pass_step(struct pass *pass)
{
	struct quiet quiet;
	ssize_t n;
	int saved;

	quiet_begin(&quiet);
	n = write_some(pass);
	saved = n < 0 ? errno : 0;
	quiet_end(&quiet, saved == EPIPE);
	if (n > 0) {
		pass->at += (size_t)n;
		pass->passed += (size_t)n;
	}
	return saved == EAGAIN || saved == EINTR ? 0 : saved;
}
