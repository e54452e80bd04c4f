#include "runtime/cli/programs.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/programs.h"

int programs_become_store(char **argv, struct warder_error *err)
{
	char path[PATH_MAX];

	if (programs_find("warder-store", argv[0], path, err) != 0)
		return -1;
	execv(path, argv - 1);
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, argv[0], errno, "cannot execute %s", path);
}

int programs_run_store(char **argv, struct warder_error *err)
{
	char path[PATH_MAX];
	int status = -1, error;
	pid_t pid;

	if (programs_find("warder-store", argv[0], path, err) != 0)
		return -1;
	error = posix_spawn(&pid, path, NULL, NULL, argv - 1, environ);
	if (error)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, argv[0], error, "cannot execute %s",
				       path);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0
		   ? 0
		   : error_set(err, WARDER_ERROR_EXECUTION_FAILED, argv[0], "%s failed", path);
}
