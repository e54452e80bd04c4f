#include <criterion/criterion.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"

static pid_t start(unsigned int lives_ms, int status)
{
	const pid_t pid = fork();

	if (pid == 0) {
		usleep(lives_ms * 1000);
		_exit(status);
	}
	return pid;
}

Test(child, one_that_ends_is_reaped, .timeout = 20)
{
	const pid_t pid = start(50, 7);
	int status = 0;

	cr_expect(child_wait(pid, 10000, &status) == CHILD_ENDED);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	cr_expect(waitpid(pid, NULL, WNOHANG) < 0 && errno == ECHILD, "it was not reaped");
	cr_expect(child_wait(pid, 10000, &status) == CHILD_TAKEN);
}

Test(child, one_that_lives_is_waited_for_no_longer, .timeout = 20)
{
	const pid_t pid = start(15000, 0);
	const uint64_t began = clock_us();
	int status = 1234;

	cr_expect(child_wait(pid, 100, &status) == CHILD_LIVES);
	cr_expect(clock_us() - began >= 100000 && clock_us() - began < 5000000);
	cr_expect(status == 1234, "a status was written");
	cr_expect(child_wait(pid, 0, NULL) == CHILD_LIVES);
	kill(pid, SIGKILL);
	cr_expect(child_wait(pid, 10000, &status) == CHILD_ENDED && WIFSIGNALED(status));
}
