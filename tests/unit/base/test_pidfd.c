#include <criterion/criterion.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pidfd.h"

Test(pidfd, the_number_of_who_lives, .timeout = 10)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	cr_assert_geq(fd, 0);
	cr_expect_eq(pidfd_number(fd), getpid());
	close(fd);
}

Test(pidfd, none_of_who_is_reaped_and_of_what_is_no_process, .timeout = 10)
{
	int fd;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	cr_assert_geq(fd, 0);
	waitpid(pid, NULL, 0);
	cr_expect_eq(pidfd_number(fd), -1);
	close(fd);
	cr_expect_eq(pidfd_number(0), -1);
	cr_expect_eq(pidfd_number(-1), -1);
}
