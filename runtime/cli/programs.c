/*
 * programs: what is too heavy for every start of `warder`, or is not to be in it, is in programs of its own.
 *
 * They are looked for by the file that this process executes, never by PATH: who may replace what lies there may replace
 * Warder itself.
 */
#include "runtime/cli/programs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int programs_find(const char *name, const char *field, char *buf, struct warder_error *err)
{
	static const char *const places[] = { "", "../libexec/warder/" };
	char self[PATH_MAX], path[PATH_MAX + 64];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length <= 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno, "/proc/self/exe");
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s%.40s", self, places[i], name);
		if (realpath(path, buf) && access(buf, X_OK) == 0)
			return 0;
	}
	return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
			 "%.40s is not installed: looked in %.120s and in ../libexec/warder there", name,
			 self);
}

int programs_become_store(char **argv, struct warder_error *err)
{
	char path[PATH_MAX];

	if (programs_find("warder-store", argv[0], path, err) != 0)
		return -1;
	execv(path, argv - 1);
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, argv[0], errno, "cannot execute %s", path);
}
