#include "base/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

/* Twice the space, on the heap. What was on the heap already is freed; `buf` is the caller's. NULL: no memory. */
static char *enlarge(char *text, const char *buf, size_t used, size_t *size)
{
	char *larger = malloc(*size * 2);

	if (larger) {
		memcpy(larger, text, used);
		*size *= 2;
	}
	if (text != buf)
		free(text);
	return larger;
}

char *mountinfo_read(int dir_fd, const char *path, char *buf, size_t size, size_t *ret_len)
{
	owned_fd int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	char *text = buf ? buf : malloc(size);
	size_t used = 0;

	while (fd >= 0 && text) {
		ssize_t n = read(fd, text + used, size - 1 - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0) {
			text[used] = '\0';
			*ret_len = used;
			return text;
		}
		if (n < 0)
			break;
		used += (size_t)n;
		if (used == size - 1)
			text = enlarge(text, buf, used, &size);
	}
	if (text != buf)
		free(text);
	return NULL;
}

/* The piece up to the separator at `end`, or the end of *text, which keeps what follows. */
static void split(struct mountinfo_text *text, const char *end, struct mountinfo_text *ret)
{
	const size_t len = (size_t)(end - text->at);
	const bool more = len < text->len;

	*ret = (struct mountinfo_text){ text->at, len };
	text->at = more ? end + 1 : NULL;
	text->len -= more ? len + 1 : len;
}

/* Cut the next piece off *text at `separator`; false when nothing is left. Empty pieces count. */
static bool cut(struct mountinfo_text *text, char separator, struct mountinfo_text *ret)
{
	const char *at = text->at, *end;

	if (!at)
		return false;
	end = at + text->len;
	while (at < end && *at != separator)
		at++; /* pieces are short: memchr would take longer to begin */
	split(text, at, ret);
	return true;
}

bool mountinfo_cut(struct mountinfo_text *text, struct mountinfo_text *ret_line)
{
	const char *end;

	if (!text->len)
		return false;
	end = memchr(text->at, '\n', text->len);
	split(text, end ? end : text->at + text->len, ret_line);
	return true;
}

static bool begins(struct mountinfo_text field, const char *word)
{
	return field.len >= strlen(word) && memcmp(field.at, word, strlen(word)) == 0;
}

bool mountinfo_parse(struct mountinfo_text line, struct mountinfo *ret)
{
	struct mountinfo_text field[6]; /* id, parent, device, root, mount point, options */
	struct mountinfo_text type;
	struct mountinfo_text other; /* optional fields up to a lone "-"; then the source */
	struct mountinfo_text super = { 0 };
	bool linked = false;

	for (int i = 0; i < 6; i++)
		if (!cut(&line, ' ', &field[i]))
			return false;
	do {
		if (!cut(&line, ' ', &other))
			return false;
		linked = linked || begins(other, "shared:") || begins(other, "master:");
	} while (!mountinfo_is(other, "-"));
	if (!cut(&line, ' ', &type) || !cut(&line, ' ', &other))
		return false;
	cut(&line, ' ', &super);
	*ret = (struct mountinfo){ .device = field[2],
				   .root = field[3],
				   .point = field[4],
				   .options = field[5],
				   .type = type,
				   .super = super,
				   .linked = linked };
	return true;
}

/* The value of the three octal digits of an escape, or -1. The kernel writes blanks and backslashes so. */
static int escaped(const char *digits)
{
	int value = 0;

	for (int i = 0; i < 3; i++) {
		if (digits[i] < '0' || digits[i] > '7')
			return -1;
		value = value * 8 + (digits[i] - '0');
	}
	return value <= 0xff ? value : -1;
}

bool mountinfo_path(struct mountinfo_text field, char *ret, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < field.len; i++) {
		int c = (unsigned char)field.at[i];

		if (c == '\\') {
			c = field.len - i < 4 ? -1 : escaped(field.at + i + 1);
			i += 3;
		}
		if (c <= 0 || used + 1 >= size)
			return false;
		ret[used++] = (char)c;
	}
	if (used == 0 || ret[0] != '/')
		return false;
	ret[used] = '\0';
	return true;
}

bool mountinfo_option(struct mountinfo_text *options, struct mountinfo_text *ret)
{
	return cut(options, ',', ret);
}

bool mountinfo_has(struct mountinfo_text options, const char *word)
{
	struct mountinfo_text option;

	while (mountinfo_option(&options, &option))
		if (mountinfo_is(option, word))
			return true;
	return false;
}
