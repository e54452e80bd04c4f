#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/fd.h"

static int pair[2];

static void open_pair(void)
{
	cr_assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
}

static void close_pair(void)
{
	fd_done(&pair[0]);
	fd_done(&pair[1]);
}

TestSuite(fd, .init = open_pair, .fini = close_pair);

static int lowest_free(void)
{
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

Test(fd, a_message_brings_its_descriptors)
{
	const int null = open("/dev/null", O_RDONLY);
	char text[8] = "";
	struct stat sent, came;
	int fds[3];

	cr_assert(fd_send(pair[0], "hello", 5, (int[]){ null, null }, 2, 0) == 0);
	cr_expect(fd_receive(pair[1], text, sizeof(text), fds, 3, 0) == 5);
	cr_expect_str_eq(text, "hello");
	cr_assert(fds[0] >= 0 && fds[1] >= 0 && fds[1] != fds[0]);
	cr_expect(fds[2] == -1);
	cr_expect(fstat(null, &sent) == 0 && fstat(fds[1], &came) == 0 && fd_same_object(&sent, &came));
	cr_expect(fcntl(fds[0], F_GETFD) == FD_CLOEXEC && fcntl(null, F_GETFD) == 0);
}

Test(fd, as_many_as_the_kernel_takes_and_no_more)
{
	int many[FD_SEND_MAX + 1], fds[FD_SEND_MAX];
	char byte;

	for (size_t i = 0; i < FD_SEND_MAX + 1; i++)
		many[i] = pair[0];
	cr_expect(fd_send(pair[0], "", 1, many, FD_SEND_MAX + 1, 0) == -1 && errno == EINVAL);
	cr_expect(fd_send(pair[0], "", 1, many, FD_SEND_MAX, 0) == 0);
	cr_expect(fd_receive(pair[1], &byte, 1, fds, FD_SEND_MAX, 0) == 1);
	cr_expect(fds[FD_SEND_MAX - 1] >= 0);
}

Test(fd, what_does_not_fit_leaves_nothing_open)
{
	const int before = lowest_free();
	int fds[2];
	char text[4];

	cr_expect(fd_send(pair[0], "too long", 8, (int[]){ pair[0] }, 1, 0) == 0);
	cr_expect(fd_receive(pair[1], text, sizeof(text), fds, 2, 0) == -1 && errno == EMSGSIZE);
	cr_expect(fds[0] == -1 && lowest_free() == before);
	/* Three descriptors, and two are wanted. */
	cr_expect(fd_send(pair[0], "abc", 3, (int[]){ pair[0], pair[0], pair[0] }, 3, 0) == 0);
	cr_expect(fd_receive(pair[1], text, sizeof(text), fds, 2, 0) == -1 && errno == EMFILE);
	cr_expect(fds[0] == -1 && lowest_free() == before);
	/* One is wanted, and the alignment of its space has room for another. */
	cr_expect(fd_send(pair[0], "abc", 3, (int[]){ pair[0], pair[0] }, 2, 0) == 0);
	cr_expect(fd_receive(pair[1], text, sizeof(text), fds, 1, 0) == -1 && errno == EMFILE, "%d %s",
		  fds[0], strerror(errno));
	cr_expect(fds[0] == -1 && lowest_free() == before);
}

Test(fd, no_descriptor_left)
{
	struct rlimit few = { .rlim_cur = (rlim_t)lowest_free(), .rlim_max = (rlim_t)lowest_free() };
	char byte;
	int fds[1];

	cr_assert(fd_send(pair[0], "", 1, &pair[0], 1, 0) == 0);
	cr_assert(setrlimit(RLIMIT_NOFILE, &few) == 0);
	cr_expect(fd_receive(pair[1], &byte, 1, fds, 1, 0) == -1 && errno == EMFILE && fds[0] == -1);
}

Test(fd, nothing_has_come_and_nobody_is_there)
{
	char byte;
	int fds[1];

	cr_expect(fd_receive(pair[1], &byte, 1, fds, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	fd_done(&pair[0]);
	cr_expect(fd_receive(pair[1], &byte, 1, fds, 1, 0) == 0 && fds[0] == -1);
	cr_expect(fd_send(pair[1], "", 1, NULL, 0, 0) == -1 && errno == EPIPE);
}
