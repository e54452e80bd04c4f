/*
 * programs: what is too heavy for every start of `warder`, or is not to be in it, is in programs of its own.
 *
 * They are looked for by the file that this process executes, never by PATH: who may replace what lies there may replace
 * Warder itself.
 */
#include "base/programs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

int programs_find(const char *name, const char *field, char *buf, struct warder_error *err)
{
	static const char *const directories[] = { "", "../libexec/warder/" };
	static const char *const installed[] = { "/usr/local/libexec/warder", "/usr/libexec/warder" };
	char self[PATH_MAX], path[PATH_MAX + 64];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length <= 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno, "/proc/self/exe");
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
		snprintf(path, sizeof(path), "%s/%s%.40s", self, directories[i], name);
		if (realpath(path, buf) && access(buf, X_OK) == 0)
			return 0;
	}
	/* A program that uses the library lies anywhere. */
	for (size_t i = 0; i < ARRAY_LENGTH(installed); i++) {
		snprintf(path, sizeof(path), "%s/%.40s", installed[i], name);
		if (realpath(path, buf) && access(buf, X_OK) == 0)
			return 0;
	}
	return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
			 "%.40s is not installed: looked in %.90s, in ../libexec/warder there, and in "
			 "{/usr/local,/usr}/libexec/warder",
			 name, self);
}
