/*
 * token: the file is opened first and looked at then, so that what was checked is what is read.
 */
#include "remote/token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"

static int refuse(const char *path, const char *why, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_REJECTED, "tokenFile", "\"tokenFile\" %.200s %s", path, why);
}

static int check(const struct stat *file, const char *path, struct warder_error *err)
{
	if (!S_ISREG(file->st_mode))
		return refuse(path, "is not a regular file", err);
	if (file->st_uid != geteuid() && file->st_uid != 0)
		return refuse(path, "belongs to another user; it must be yours or root's", err);
	if (file->st_mode & 07177)
		return refuse(path, "has a mode that lets others in; run: chmod 600 on it", err);
	return 0;
}

static bool is_visible(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

int token_read(const char *path, char ret[REMOTE_TOKEN_MAX], struct warder_error *err)
{
	owned_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat file;
	ssize_t len;

	if (fd < 0 && errno == ELOOP)
		return refuse(path, "is a symbolic link; name the file itself", err);
	if (fd < 0 || fstat(fd, &file) < 0)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "tokenFile", errno,
				       "\"tokenFile\" %.200s", path);
	if (check(&file, path, err) < 0)
		return -1;
	len = file_read_up_to(fd, ret, REMOTE_TOKEN_MAX);
	if (len < 0)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "tokenFile", errno,
				       "\"tokenFile\" %.200s", path);
	if (len == REMOTE_TOKEN_MAX)
		return refuse(path, "is longer than a token can be", err);
	ret[len] = '\0';
	if (len > 0 && ret[len - 1] == '\n')
		ret[--len] = '\0';
	if (len == 0 || strlen(ret) != (size_t)len || !is_visible(ret)) {
		explicit_bzero(ret, REMOTE_TOKEN_MAX);
		return refuse(path, "must hold the token on one line, and nothing else", err);
	}
	return 0;
}

int token_take(const char *text, char ret[REMOTE_TOKEN_MAX], struct warder_error *err)
{
	const size_t len = strlen(text);

	if (!len || len >= REMOTE_TOKEN_MAX || !is_visible(text))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "tokenFile",
				 "the variable E2B_API_KEY must be one word of visible characters, of less "
				 "than %u bytes",
				 REMOTE_TOKEN_MAX);
	memcpy(ret, text, len + 1);
	return 0;
}
