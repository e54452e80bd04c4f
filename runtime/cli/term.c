#include "runtime/cli/term.h"

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

#define COMPLAIN_WAIT_MS 2000

static const char *const codes[] = {
	[TERM_PLAIN] = "",       [TERM_TITLE] = "\033[1m", [TERM_GOOD] = "\033[32m",
	[TERM_BAD] = "\033[31m", [TERM_WARN] = "\033[33m", [TERM_DIM] = "\033[2m",
};
static const char reset[] = "\033[0m";

static bool has_colour(int fd)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0) && isatty(fd);
}

/* Of the character of `size` bytes at `text`, which is well-formed. */
static unsigned int code_point(const char *text, size_t size)
{
	unsigned int code = (unsigned char)text[0] & (size == 1 ? 0x7fu : 0x7fu >> size);

	for (size_t i = 1; i < size; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	return code;
}

/* What changes the direction of the text around it: shown as it is, a line could read as another one. */
static bool is_bidirectional(unsigned int code)
{
	return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

/* Bytes of the character at `text`; *ret_shown: a terminal shows it, and does nothing else. The controls above U+007F count. */
static size_t character(const char *text, size_t left, bool *ret_shown)
{
	const unsigned char first = (unsigned char)text[0];
	size_t whole;

	*ret_shown = first >= ' ' && first < 0x7f;
	for (size_t size = 2; first >= 0x80 && size <= 4 && size <= left; size++) {
		if (!text_length(text, size, false, &whole))
			continue;
		*ret_shown = code_point(text, size) >= 0xa0 && !is_bidirectional(code_point(text, size));
		return size;
	}
	return 1;
}

void term_write(int fd, const char *text, size_t len)
{
	char chunk[4096];
	size_t used = 0;

	for (size_t at = 0; at < len;) {
		bool shown;
		size_t size = character(text + at, len - at, &shown);

		shown |= text[at] == '\n' || text[at] == '\t';
		if (used + size > sizeof(chunk)) {
			file_write_all(fd, chunk, used);
			used = 0;
		}
		memcpy(chunk + used, shown ? text + at : "?", shown ? size : 1);
		used += shown ? size : 1;
		at += size;
	}
	file_write_all(fd, chunk, used);
}

void term_show(FILE *to, const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		bool shown;
		size_t size = character(text + at, len - at, &shown);

		if (shown || text[at] == '\n' || text[at] == '\t')
			fwrite(text + at, 1, size, to);
		else if (size == 1)
			fprintf(to, "\\x%02x", (unsigned char)text[at]);
		else
			fprintf(to, "\\u%04x", code_point(text + at, size));
		at += size;
	}
}

char *term_clean(char *text)
{
	const size_t len = strlen(text);
	size_t used = 0;

	for (size_t at = 0; at < len;) {
		bool shown;
		size_t size = character(text + at, len - at, &shown);

		memmove(text + used, shown ? text + at : "?", shown ? size : 1);
		used += shown ? size : 1;
		at += size;
	}
	text[used] = '\0';
	return text;
}

void term_print(enum term_style style, size_t width, const char *text)
{
	bool colour = style != TERM_PLAIN && has_colour(STDOUT_FILENO);
	size_t length = strlen(text);

	printf("%s%s%s", colour ? codes[style] : "", text, colour ? reset : "");
	if (width)
		printf("%*s", length < width ? (int)(width - length) : 1, "");
}

void term_title(const char *text)
{
	term_print(TERM_TITLE, 0, text);
	putchar('\n');
}

/* A line is not worth waiting longer for a reader that stalls. */
static bool is_read(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };

	return poll(&ready, 1, COMPLAIN_WAIT_MS) != 0;
}

/* One write(2), so that the line stays whole next to the program's own output; no stdio, the run path does without. */
void term_complain(const char *format, ...)
{
	bool colour = has_colour(STDERR_FILENO);
	char line[1024];
	size_t used;
	va_list args;

	used = (size_t)snprintf(line, sizeof(line), "%swarder:%s ", colour ? codes[TERM_BAD] : "",
				colour ? reset : "");
	va_start(args, format);
	vsnprintf(line + used, sizeof(line) - used - 1, format, args);
	va_end(args);
	term_clean(line + used);
	used = strlen(line);
	line[used++] = '\n';
	if (is_read(STDERR_FILENO))
		file_write_all(STDERR_FILENO, line, used);
}

void term_error(const struct warder_error *err)
{
	/* At "go" it is the program itself that could not start, as the text says. A request that is wrong is so at any step. */
	if (err->step[0] && strcmp(err->step, "go") != 0 && err->code != WARDER_ERROR_INVALID_REQUEST &&
	    err->code != WARDER_ERROR_CONFLICT)
		term_complain("%s (step %s)", err->text, err->step);
	else
		term_complain("%s", err->text);
}

int term_put(char *text, struct warder_error *err)
{
	if (!text)
		return error_no_memory(err, NULL);
	puts(text);
	free(text);
	return 0;
}
