#include "runtime/cli/term.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/file.h"

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
	used = strlen(line);
	line[used++] = '\n';
	file_write_all(STDERR_FILENO, line, used);
}

void term_error(const struct warder_error *err)
{
	if (err->step[0])
		term_complain("%s (step %s)", err->text, err->step);
	else
		term_complain("%s", err->text);
}
