#include "runtime/cli/programs.h"

#include <errno.h>
#include <limits.h>
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
