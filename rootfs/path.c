/*
 * path: the one place where a path that somebody else wrote is judged or opened.
 *
 * Two different questions are asked here. The lexical one ("may this name be used at all?") is answered
 * from the text alone and gives a good message early; it protects nothing, because a symlink can make any
 * text lead anywhere. The other one ("which file is it?") is answered by the kernel while it opens:
 * openat2 with RESOLVE_BENEATH decides and opens in one step, so that there is nothing to swap in between.
 * Callers that keep the descriptor and never go back to the text are safe; there is no function here that
 * only answers whether a path would be safe.
 *
 * RESOLVE_BENEATH lets ordinary symlinks work as long as they stay beneath; RESOLVE_NO_MAGICLINKS keeps
 * out the links of procfs, which lead to objects and not to names. A rename anywhere on the host while
 * ".." is resolved makes openat2 say EAGAIN, because the kernel cannot tell whether the path left its
 * root: it is asked again, a bounded number of times.
 *
 * There is no second way for kernels (or filters of containers that we may run in) without openat2: what
 * cannot be opened by these rules is not opened.
 */
#include "rootfs/path.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "rootfs/rootfs.h"

#define AGAIN_MAX 128
#define SHOWN     96

/* ---- opening ---- */

int path_try(int dir_fd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .mode = mode, .resolve = resolve };
	long fd = -1;

	for (int i = 0; i < AGAIN_MAX; i++) {
		fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return (int)fd;
}

static enum warder_error_kind kind_of(int error)
{
	switch (error) {
	case EXDEV:
	case ELOOP:
		return WARDER_ERROR_REJECTED;
	case ENOENT:
	case ENOTDIR:
		return WARDER_ERROR_NOT_FOUND;
	case EEXIST:
		return WARDER_ERROR_CONFLICT;
	case EINVAL:
	case ENAMETOOLONG:
		return WARDER_ERROR_INVALID_REQUEST;
	default:
		return WARDER_ERROR_UNAVAILABLE;
	}
}

static int refuse_open(const char *path, bool links, struct warder_error *err)
{
	int error = errno;
	char shown[SHOWN];

	json_quote(path, shown, sizeof(shown));
	if (error == EXDEV)
		error_set(err, WARDER_ERROR_REJECTED, NULL, "%s leads out of its directory", shown);
	else if (error == ELOOP)
		error_set(err, WARDER_ERROR_REJECTED, NULL,
			  links ? "%s leads through too many symbolic links, or through one of procfs"
				: "%s is or leads through a symbolic link",
			  shown);
	else if (error == ENOSYS)
		error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			  "cannot open %s: openat2 is not there (needs Linux 5.6; a container's filter may "
			  "hide it)",
			  shown);
	else
		error_set_errno(err, kind_of(error), NULL, error, "cannot open %s", shown);
	err->sys_errno = error;
	return -1;
}

int path_open_beneath(int dir_fd, const char *path, uint64_t flags, struct warder_error *err)
{
	int fd = path_try(dir_fd, path, flags, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);

	return fd >= 0 ? fd : refuse_open(path, true, err);
}

int path_open_in_root(int root_fd, const char *path, uint64_t flags, struct warder_error *err)
{
	int fd = path_try(root_fd, path, flags, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);

	return fd >= 0 ? fd : refuse_open(path, true, err);
}

int path_open_no_links(int dir_fd, const char *path, uint64_t flags, struct warder_error *err)
{
	int fd =
	    path_try(dir_fd, path, flags, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS);

	return fd >= 0 ? fd : refuse_open(path, false, err);
}

/* ---- the text alone ---- */

static bool is_blank(const char *path, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!isspace((unsigned char)path[i]))
			return false;
	}
	return true;
}

/* How far below its root the path ends; -1 when any step leads above it. */
static int depth(const char *path, size_t len)
{
	int depth = 0;

	for (size_t i = 0, n; i < len; i += n + 1) {
		for (n = 0; i + n < len && path[i + n] != '/'; n++)
			continue;
		if (n == 2 && path[i] == '.' && path[i + 1] == '.')
			depth--;
		else if (n > 0 && !(n == 1 && path[i] == '.'))
			depth++;
		if (depth < 0)
			return -1;
	}
	return depth;
}

static const char *relative_fault(const char *path, size_t len)
{
	int ends_at;

	if (is_blank(path, len))
		return "is empty; name a file";
	if (memchr(path, '\0', len))
		return "has a NUL byte in it";
	if (len >= PATH_MAX)
		return "is too long; at most 4095 bytes";
	if (path[0] == '/' || path[0] == '\\')
		return "is absolute; write it relative to the workspace";
	if (len > 1 && isalpha((unsigned char)path[0]) && path[1] == ':')
		return "begins with a drive letter; write it relative to the workspace";
	ends_at = depth(path, len);
	if (ends_at < 0)
		return "leads out of the workspace (path traversal); leave \"..\" out";
	if (ends_at == 0)
		return "is the workspace itself; name a file in it";
	return NULL;
}

static int refuse_text(const char *path, size_t len, const char *fault, struct warder_error *err)
{
	char start[SHOWN], shown[SHOWN];
	size_t n = len < sizeof(start) ? len : sizeof(start) - 1;

	memcpy(start, path, n);
	start[n] = '\0';
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "path %s %s",
			 json_quote(start, shown, sizeof(shown)), fault);
}

int path_check_relative(const char *path, size_t len, struct warder_error *err)
{
	const char *fault = relative_fault(path, len);

	return fault ? refuse_text(path, len, fault, err) : 0;
}

int path_normalise(const char *path, char **ret, struct warder_error *err)
{
	size_t len = strlen(path), used = 0;
	char *text;

	if (is_blank(path, len))
		return refuse_text(path, len, "is empty; write it from \"/\" on", err);
	if (path[0] != '/')
		return refuse_text(path, len, "is not absolute; write it from \"/\" on", err);
	if (len >= PATH_MAX)
		return refuse_text(path, len, "is too long; at most 4095 bytes", err);
	text = malloc(len + 1);
	if (!text)
		return error_no_memory(err, NULL);
	for (size_t i = 0, n; i < len; i += n + 1) {
		n = strcspn(path + i, "/");
		if (n == 2 && path[i] == '.' && path[i + 1] == '.') {
			free(text);
			return refuse_text(path, len, "has a \"..\" in it; write where it leads", err);
		}
		if (n == 0 || (n == 1 && path[i] == '.'))
			continue;
		text[used++] = '/';
		memcpy(text + used, path + i, n);
		used += n;
	}
	if (used == 0)
		text[used++] = '/';
	text[used] = '\0';
	*ret = text;
	return 0;
}
