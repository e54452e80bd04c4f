#include "store/cli/show.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/cli/term.h"

char *show_time(int64_t ms, char *buf, size_t len)
{
	const time_t seconds = (time_t)(ms / 1000);
	struct tm utc = { 0 };

	gmtime_r(&seconds, &utc);
	strftime(buf, len, "%Y-%m-%d %H:%M:%SZ", &utc);
	return buf;
}

/* ".123" with one to three digits, or nothing; where it ends. */
static const char *parse_fraction(const char *text, int64_t *ret_ms)
{
	int64_t factor = 100;

	*ret_ms = 0;
	if (*text != '.')
		return text;
	for (text++; *text >= '0' && *text <= '9' && factor > 0; text++, factor /= 10)
		*ret_ms += factor * (*text - '0');
	return text;
}

static bool parse_date(const char *text, int64_t *ret_ms)
{
	struct tm utc = { 0 };
	const char *end = strptime(text, "%Y-%m-%d", &utc);
	int64_t fraction = 0;

	if (end && (*end == 'T' || *end == ' ')) {
		end = strptime(end + 1, "%H:%M:%S", &utc);
		end = end ? parse_fraction(end, &fraction) : NULL;
	}
	if (!end || strcmp(end, *end == 'Z' ? "Z" : "") != 0)
		return false;
	*ret_ms = (int64_t)timegm(&utc) * 1000 + fraction;
	return true;
}

int show_parse_time(const struct options *options, const char *flag, int64_t *ret_ms,
		    struct warder_error *err)
{
	const char *text = option(options, flag);
	char *end = NULL;

	*ret_ms = 0;
	if (!text)
		return 0;
	errno = 0;
	*ret_ms = strtoll(text, &end, 10);
	if (errno == 0 && end != text && !*end && *ret_ms > 0)
		return 0;
	if (parse_date(text, ret_ms))
		return 0;
	return error_set(
	    err, WARDER_ERROR_INVALID_REQUEST, flag,
	    "\"%.40s\" is not a time; write milliseconds since 1970, or UTC as in 2026-11-21T19:02:03Z",
	    text);
}

void show_cell(const char *text, size_t width, size_t most)
{
	char *copy = strdup(text);
	size_t characters = 0, at = 0;

	if (!copy)
		return;
	term_clean(copy);
	for (; copy[at]; at++) {
		if (((unsigned char)copy[at] & 0xc0) == 0x80)
			continue;
		if (most && characters == most)
			break;
		characters++;
	}
	printf("%.*s%s", (int)at, copy, copy[at] ? "..." : "");
	for (characters += copy[at] ? 3 : 0; characters < width; characters++)
		putchar(' ');
	free(copy);
}

int show_open_file(const char *path, struct warder_error *err)
{
	owned_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, path, errno,
				       "%.200s cannot be read", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, path,
				 "%.200s is not a regular file; to read from a pipe, use standard input",
				 path);
	return fd_take(&fd);
}
