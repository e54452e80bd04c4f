/* datafile: whatever a table is, its snippet is text whose lines are those of any table's; names become variables. */
#include "base/json.h"
#include "runtime/tool/datafile.h"
#include "tests/fuzz/fuzz.h"

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; *text; text++) {
		must(*text != '\r');
		count += *text == '\n';
	}
	return count;
}

/* What stands before the comment does not depend on the table. */
static void must_be_harmless(const char *snippet, size_t lines)
{
	const char *comment = strstr(snippet, "\n# Columns: ");

	must(comment && json_is_utf8(snippet));
	must(count_lines(comment + 1) == 1 && count_lines(snippet) == lines);
}

static void must_be_variable(const char *text)
{
	char buf[32];

	datafile_variable(text, buf, sizeof(buf));
	must(*buf && strlen(buf) < sizeof(buf) && !(*buf >= '0' && *buf <= '9'));
	must(strspn(buf, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(buf));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *table = malloc(size ? size : 1),
	     *text = fuzz_text(data, size); /* the one tight, the other with a NUL */
	const struct datafile_part parts[] = { { "text/csv", { table, size } },
					       { "text/plain", { table, size } } };
	const struct datafile_message message = { parts, 2 };

	must(table);
	memcpy(table, data, size);
	for (int pandas = 0; pandas < 2; pandas++) {
		const struct datafile_options options = { .pandas = pandas };
		struct datafile_list list;
		struct warder_error err;
		size_t len = 0;
		char *told;

		must(datafile_extract(&message, 1, &options, &list, &err) == 0 && list.count == 1);
		must_be_harmless(list.files[0].snippet, pandas ? 6 : 11);
		told = datafile_text(&message, &list, 0, &len);
		must(told && len == size + strlen("\nAvailable file: `data_1_1.csv`\n"));
		free(told);
		datafile_list_done(&list);
	}
	must_be_variable(text);
	free(text);
	free(table);
	return 0;
}
