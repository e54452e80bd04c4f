#include "runtime/cli/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK ((size_t)64 << 10)

void lines_init(struct lines *lines, size_t most, bool whole)
{
	*lines = (struct lines){ .most = most, .whole = whole };
}

void lines_done(struct lines *lines)
{
	free(lines->buf);
	lines->buf = NULL;
}

/* Room for one chunk. A line that goes on beyond the limit is thrown away as it comes. */
static int make_room(struct lines *lines, struct warder_error *err)
{
	const size_t used = lines->end - lines->start;
	char *grown;

	if (lines->start) {
		memmove(lines->buf, lines->buf + lines->start, used);
		lines->seen -= lines->start;
		lines->start = 0;
		lines->end = used;
	}
	if (lines->dropped || used > lines->most) {
		lines->dropped = true;
		lines->end = lines->seen = 0;
	}
	if (lines->cap - lines->end >= CHUNK)
		return 0;
	grown = realloc(lines->buf, 2 * lines->cap + CHUNK);
	if (!grown)
		return error_no_memory(err, NULL);
	lines->buf = grown;
	lines->cap = 2 * lines->cap + CHUNK;
	return 0;
}

int lines_read(struct lines *lines, int fd, struct warder_error *err)
{
	ssize_t count;

	if (lines->at_end)
		return 0;
	if (make_room(lines, err) != 0)
		return -1;
	count = read(fd, lines->buf + lines->end, CHUNK);
	if (count < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (count < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "standard input cannot be read");
	lines->at_end = count == 0;
	lines->end += (size_t)count;
	return 0;
}

static bool is_blank(const char *text, size_t len)
{
	while (len && strchr(" \t\r", text[len - 1]) && text[len - 1])
		len--;
	return len == 0;
}

/* Where the line at hand ends; NULL: not in what was read. */
static const char *find_end(struct lines *lines)
{
	const char *end = NULL;

	if (!lines->whole && lines->end > lines->seen)
		end = memchr(lines->buf + lines->seen, '\n', lines->end - lines->seen);
	lines->seen = lines->end;
	return end;
}

bool lines_next(struct lines *lines, const char **ret_text, size_t *ret_len)
{
	while (!lines->finished) {
		const char *end = find_end(lines);
		const bool dropped = lines->dropped;
		const char *text;

		if (!end && !lines->at_end)
			return false;
		text = lines->buf + lines->start;
		lines->finished = !end;
		*ret_len = end ? (size_t)(end - text) : lines->end - lines->start;
		lines->start = lines->seen = end ? (size_t)(end - lines->buf) + 1 : lines->end;
		lines->dropped = false;
		lines->number++;
		*ret_text = dropped || *ret_len > lines->most ? NULL : text;
		if (dropped || lines->whole || !is_blank(text, *ret_len))
			return true;
	}
	return false;
}
