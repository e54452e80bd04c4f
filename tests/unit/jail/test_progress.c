/* Lines of progress: which are delivered, which are dropped, and which of them stay. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "jail/progress.h"

static struct jail_progress *fresh(void)
{
	static const struct jail_command command = { .progress = true };

	return jail_progress_new(&command);
}

Test(progress, lines_of_json_and_nothing_else, .timeout = 20)
{
	static char fits[JAIL_PROGRESS_LINE + 3], too_long[JAIL_PROGRESS_LINE + 4];
	const struct row {
		const char *text;
		uint64_t delivered, dropped;
	} rows[] = {
		{ "", 0, 0 },
		{ "\n\n", 0, 0 },
		{ "{\"percent\":10}\n", 1, 0 },
		{ "{\"percent\":10}", 1, 0 }, /* without a newline */
		{ "1\n2\n3\n", 3, 0 },
		{ "no\n1\n", 1, 1 },
		{ "{\"a\":1,\"a\":2}\n", 0, 1 },
		{ "\"\xff\"\n", 0, 1 },
		{ fits, 1, 0 },
		{ too_long, 0, 1 },
	};

	memset(fits, '1', JAIL_PROGRESS_LINE);
	fits[0] = fits[JAIL_PROGRESS_LINE - 1] = '"';
	fits[JAIL_PROGRESS_LINE] = '\n';
	memset(too_long, '1', JAIL_PROGRESS_LINE + 1);
	too_long[0] = too_long[JAIL_PROGRESS_LINE] = '"';
	too_long[JAIL_PROGRESS_LINE + 1] = '\n';
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		for (size_t step = 1; step < 9000; step = step * 7 + 1) {
			struct jail_progress *progress = fresh();
			const size_t len = strlen(rows[i].text);

			for (size_t at = 0; at < len; at += step)
				jail_progress_take(progress, rows[i].text + at,
						   len - at < step ? len - at : step, 1000000);
			jail_progress_end(progress, 1000000);
			cr_expect_eq(progress->delivered, rows[i].delivered, "row %zu, %zu bytes", i, step);
			cr_expect_eq(progress->dropped, rows[i].dropped, "row %zu, %zu bytes", i, step);
			free(progress);
		}
}

Test(progress, ten_at_once_and_ten_a_second, .timeout = 20)
{
	struct jail_progress *progress = fresh();

	for (int i = 0; i < 20; i++)
		jail_progress_take(progress, "1\n", 2, 5000000);
	cr_expect_eq(progress->delivered, 10u);
	jail_progress_take(progress, "1\n", 2, 5099999);
	cr_expect_eq(progress->delivered, 10u);
	jail_progress_take(progress, "1\n1\n", 4, 5100000);
	cr_expect_eq(progress->delivered, 11u);
	for (uint64_t us = 5100000; us < 8100000; us += 1000)
		jail_progress_take(progress, "1\n", 2, us);
	cr_expect(progress->delivered >= 39 && progress->delivered <= 41, "%lu", progress->delivered);
	for (int i = 0; i < 20; i++) /* a pause gives no more than ten */
		jail_progress_take(progress, "2\n", 2, 60000000);
	cr_expect(progress->delivered >= 49 && progress->delivered <= 51, "%lu", progress->delivered);
	free(progress);
}

Test(progress, the_newest_stay, .timeout = 20)
{
	struct jail_progress *progress = fresh();
	char line[1100];
	size_t count = 0;

	for (uint64_t i = 0; i < 500; i++) {
		const int len = snprintf(line, sizeof(line), "\"%04lu%01000d\"\n", i, 0);

		jail_progress_take(progress, line, (size_t)len, i * 1000000);
	}
	cr_expect_eq(progress->delivered, 500u);
	for (size_t at = 0; at < progress->len; at += strlen(progress->lines + at) + 1)
		count++;
	cr_expect_eq(count, JAIL_PROGRESS_KEPT / 1007);
	cr_expect_eq(strncmp(progress->lines + progress->len - 1007, "\"0499", 5), 0);
	free(progress);
}
