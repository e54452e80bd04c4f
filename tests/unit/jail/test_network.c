#include "jail/network.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(network, .timeout = 20);

static const struct wire_block nothing = { 0 };

/* In a namespace of the test's own, where root can make one: nothing of the host's may change if it goes wrong. */
static int refuses_own(void)
{
	struct warder_error err = { 0 };

	if (unshare(CLONE_NEWNET) < 0 && geteuid() == 0)
		return 2;
	return network_furnish(getpid(), &nothing, -1, &err) == -1 && err.code == WARDER_ERROR_UNAVAILABLE &&
		       strcmp(err.field, "network") == 0 &&
		       strstr(err.text, "the container has the host's network namespace")
		   ? 0
		   : 1;
}

Test(network, not_in_the_callers_namespace)
{
	const pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(refuses_own());
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
}

Test(network, of_nobody)
{
	struct warder_error err = { 0 };
	const pid_t gone = fork();

	if (gone == 0)
		_exit(0);
	cr_assert_eq(waitpid(gone, NULL, 0), gone);
	cr_expect_eq(network_furnish(gone, &nothing, -1, &err), -1);
	cr_expect(strstr(err.text, "cannot open the container's network namespace"), "%s", err.text);
}
