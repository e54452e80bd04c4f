#include "jail/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define SECRET_FILE_MAX 4098 /* bytes, with the end of a line */

_Static_assert(EDGE_INJECTS_MAX == POLICY_MAX_INJECTS, "each row has one there");

static void copy_row(const struct policy_endpoint *row, size_t index, struct edge_inject *to)
{
	const struct policy_inject *from = row->inject;
	const char *placeholder = strstr(from->format, "{}");

	snprintf(to->host, sizeof(to->host), "%s", row->host);
	to->row = (uint32_t)index;
	to->port_count = (uint16_t)row->port_count;
	memcpy(to->ports, row->ports, row->port_count * sizeof(*row->ports));
	snprintf(to->header, sizeof(to->header), "%s", from->header);
	snprintf(to->before, sizeof(to->before), "%.*s", (int)(placeholder - from->format), from->format);
	snprintf(to->after, sizeof(to->after), "%s", placeholder + 2);
	for (size_t i = 0; i < from->methods.count; i++)
		snprintf(to->methods[i], sizeof(to->methods[i]), "%s", from->methods.items[i]);
	for (size_t i = 0; i < from->paths.count; i++)
		snprintf(to->paths[i], sizeof(to->paths[i]), "%s", from->paths.items[i]);
	to->method_count = (uint16_t)from->methods.count;
	to->path_count = (uint16_t)from->paths.count;
}

void inject_rows(const struct policy *policy, struct edge_config *config)
{
	const struct policy_endpoints *allow = &policy->network.allow;

	for (size_t i = 0; i < allow->count; i++)
		if (allow->items[i].inject)
			copy_row(&allow->items[i], i, &config->injects[config->inject_count++]);
}

/* A link may lead to where the program sees it. */
static int check_shown(const struct policy *policy, int fd, const char *field, struct warder_error *err)
{
	char name[40], path[PATH_MAX];
	const char *shown;
	ssize_t len;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	len = readlink(name, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	shown = path[0] == '/' ? policy_shows_file(policy, path) : NULL;
	if (!shown)
		return 0;
	return error_set(err, WARDER_ERROR_REJECTED, field,
			 "%s: leads to %.80s, and the program sees \"%.60s\"; keep the file elsewhere", field,
			 path, shown);
}

/* A path may lead to a descriptor of this process: to one that the caller has passed, which exec does not close as it does Warder's own. */
static int check_descriptor(const char *path, const char *field, struct warder_error *err)
{
	const char *name = strrchr(path, '/');
	char directory[PATH_MAX], wanted[PATH_MAX], own[PATH_MAX];
	int flags;

	if (!name || name == path || name - path >= PATH_MAX)
		return 0;
	snprintf(directory, sizeof(directory), "%.*s", (int)(name - path), path);
	if (!realpath(directory, wanted) || !realpath("/proc/self/fd", own) || strcmp(wanted, own) != 0)
		return 0;
	flags = fcntl(atoi(name + 1), F_GETFD);
	if (flags < 0 || !(flags & FD_CLOEXEC))
		return 0;
	return error_set(
	    err, WARDER_ERROR_REJECTED, field,
	    "%s: %s is closed on exec, like every descriptor of Warder's own; pass one to Warder that is not",
	    field, path);
}

/* Not by its content, which is the edge's to read: a line, at least so long. */
static int open_secret(const struct policy *policy, const char *path, const char *field,
		       struct warder_error *err)
{
	owned_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno, "%s: cannot read %s",
				       field, path);
	if (check_descriptor(path, field, err) < 0)
		return -1;
	if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "%s: %s is neither a file nor a pipe; name a file that has the secret",
				 field, path);
	if (S_ISREG(st.st_mode) && (st.st_size == 0 || st.st_size > SECRET_FILE_MAX))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "%s: %s has %lld bytes; a secret has 8 to 4096", field, path,
				 (long long)st.st_size);
	if (S_ISREG(st.st_mode) && st.st_mode & 07)
		return error_set(err, WARDER_ERROR_REJECTED, field,
				 "%s: other users have access to %s; remove it with chmod o= %s", field, path,
				 path);
	if (check_shown(policy, fd, field, err) < 0)
		return -1;
	/* The edge waits for all of a pipe. */
	if (fcntl(fd, F_SETFL, O_RDONLY) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno, "%s: cannot read %s",
				       field, path);
	return fd_take(&fd);
}

int inject_open(const struct policy *policy, int *fds, struct warder_error *err)
{
	const struct policy_endpoints *allow = &policy->network.allow;
	size_t count = 0;
	char field[64];

	for (size_t i = 0; i < allow->count; i++) {
		if (!allow->items[i].inject)
			continue;
		snprintf(field, sizeof(field), "network.allow[%zu].inject.secretFile", i);
		fds[count] = open_secret(policy, allow->items[i].inject->secret_file, field, err);
		if (fds[count++] < 0)
			return -1;
	}
	return 0;
}
