#include "base/array.h"
#include "runtime/cli/lines.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* All lines of a text as "[1:a][3:-]", where - is one that is too long. */
static void read_all(const char *text, size_t len, size_t most, bool whole, char *out)
{
	int fd = memfd_create("lines", 0);
	struct warder_error err = { 0 };
	const char *line = NULL;
	struct lines lines;
	size_t line_len = 0;

	cr_assert(write(fd, text, len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0);
	lines_init(&lines, most, whole);
	*out = '\0';
	for (;;) {
		while (lines_next(&lines, &line, &line_len))
			out += sprintf(out, "[%zu:%.*s]", lines.number, line ? (int)line_len : 1,
				       line ? line : "-");
		if (lines.at_end)
			break;
		cr_assert_eq(lines_read(&lines, fd, &err), 0);
	}
	lines_done(&lines);
	close(fd);
}

Test(lines, splits, .timeout = 20)
{
	static const struct {
		const char *text;
		bool whole;
		const char *expected;
	} rows[] = {
		{ "", false, "" },
		{ "", true, "[1:]" },
		{ "a\nb", false, "[1:a][2:b]" },
		{ "a\nb\n", false, "[1:a][2:b]" },
		{ "a\nb\n", true, "[1:a\nb\n]" },
		{ "\n \t\r\na\r\n\n", false, "[3:a\r]" },
		{ "12345678\n123456789\n1", false, "[1:12345678][2:-][3:1]" },
		{ "123456789", true, "[1:-]" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char out[200];

		read_all(rows[i].text, strlen(rows[i].text), 8, rows[i].whole, out);
		cr_expect_str_eq(out, rows[i].expected, "row %zu: %s", i, out);
	}
}

/* Lines of all lengths around what is read at once; those over the limit are not kept. */
Test(lines, lengths, .timeout = 60)
{
	static const size_t lengths[] = {
		1, 65535, 65536, 65537, 131072, 200000, 200001, 300000, 1000000, 3
	};
	const size_t most = 200000;
	struct warder_error err = { 0 };
	struct lines lines;
	size_t found = 0;
	int pipes[2];

	cr_assert_eq(pipe(pipes), 0);
	if (fork() == 0) {
		for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
			char *text = malloc(lengths[i] + 1);

			memset(text, 'a' + (int)i, lengths[i]);
			text[lengths[i]] = '\n';
			for (size_t at = 0; at <= lengths[i];) {
				ssize_t n = write(pipes[1], text + at, lengths[i] + 1 - at);

				at += n > 0 ? (size_t)n : 0;
			}
			free(text);
		}
		_exit(0);
	}
	close(pipes[1]);
	lines_init(&lines, most, false);
	for (;;) {
		const char *text;
		size_t len;

		while (lines_next(&lines, &text, &len)) {
			const size_t wanted = lengths[found];

			cr_expect_eq(text != NULL, wanted <= most, "line %zu", found);
			cr_expect(!text || (len == wanted && text[0] == 'a' + (int)found &&
					    text[len - 1] == 'a' + (int)found),
				  "line %zu has %zu bytes", found, len);
			found++;
		}
		if (lines.at_end)
			break;
		cr_assert_eq(lines_read(&lines, pipes[0], &err), 0);
		cr_expect_leq(lines.cap, 4 * most);
	}
	cr_expect_eq(found, ARRAY_LENGTH(lengths));
	lines_done(&lines);
	close(pipes[0]);
}
