/* token: which files a token is read from. */
#include "remote/token.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

static void put(const char *path, const char *text, size_t len, mode_t mode)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert(fd >= 0);
	cr_assert_eq(write(fd, text, len), (ssize_t)len);
	cr_assert_eq(fchmod(fd, mode), 0);
	close(fd);
}

Test(token, files, .timeout = 20)
{
	static const struct {
		const char *row, *text;
		size_t len;
		mode_t mode;
		bool good;
	} rows[] = {
		{ "a line", "e2b_0123\n", 9, 0600, true },
		{ "without its end", "e2b_0123", 8, 0600, true },
		{ "read-only", "e2b_0123", 8, 0400, true },
		{ "for a group", "e2b_0123", 8, 0640, false },
		{ "for all", "e2b_0123", 8, 0604, false },
		{ "executable", "e2b_0123", 8, 0700, false },
		{ "empty", "", 0, 0600, false },
		{ "an empty line", "\n", 1, 0600, false },
		{ "two lines", "a\nb\n", 4, 0600, false },
		{ "a header", "a\r\nX: y", 7, 0600, false },
		{ "a NUL", "a\0b", 3, 0600, false },
		{ "no text", "\xff", 1, 0600, false },
	};
	char directory[] = "/tmp/warder-token-XXXXXX", path[60], link[60], token[REMOTE_TOKEN_MAX];
	struct warder_error err;

	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/token", directory);
	snprintf(link, sizeof(link), "%s/link", directory);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		unlink(path);
		put(path, rows[i].text, rows[i].len, rows[i].mode);
		cr_expect_eq(token_read(path, token, &err) == 0, rows[i].good, "%s", rows[i].row);
		if (rows[i].good)
			cr_expect_str_eq(token, "e2b_0123", "%s", rows[i].row);
		else
			cr_expect(strstr(err.text, path), "%s: %s", rows[i].row, err.text);
	}
	unlink(path);
	put(path, "e2b_0123", 8, 0600);
	cr_assert_eq(symlink("token", link), 0);
	cr_expect_eq(token_read(link, token, &err), -1);
	cr_expect(strstr(err.text, "symbolic link"), "%s", err.text);
	cr_expect_eq(token_read(directory, token, &err), -1);
	cr_expect_eq(token_read("/dev/zero", token, &err), -1);
	unlink(link);
	unlink(path);
	rmdir(directory);
}
