#include "runtime/cli/env_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static const char blanks[] = " \t\r";

/* The line without blanks at its ends and "export ". */
static char *trim(char *line)
{
	size_t length;

	line += strspn(line, blanks);
	for (length = strlen(line); length > 0 && strchr(blanks, line[length - 1]); length--)
		line[length - 1] = '\0';
	if (strncmp(line, "export", 6) == 0 && (line[6] == ' ' || line[6] == '\t'))
		line += 6 + strspn(line + 6, blanks);
	return line;
}

static void unquote(char *value)
{
	const size_t length = strlen(value);

	if (length < 2 || (*value != '"' && *value != '\'') || value[length - 1] != *value)
		return;
	memmove(value, value + 1, length - 2);
	value[length - 2] = '\0';
}

/* Where the value begins; NULL: the line is not NAME=VALUE. */
static char *find_value(char *line)
{
	char *equals = strchr(line, '=');

	return equals && equals > line ? equals + 1 : NULL;
}

static size_t count_lines(const char *text)
{
	size_t count = 1;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

static int take_lines(char *text, char **rows, struct warder_error *ret_skipped, struct warder_error *err)
{
	size_t count = 0, number = 0;

	for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
		char *value;

		number++;
		line = trim(line);
		value = find_value(line);
		if (!*line || *line == '#')
			continue;
		if (!value) {
			if (!ret_skipped->code)
				error_set(ret_skipped, WARDER_ERROR_INVALID_REQUEST, "",
					  "line %zu is not NAME=VALUE, so it is left out", number);
			continue;
		}
		unquote(value);
		rows[count] = strdup(line);
		if (!rows[count++])
			return error_no_memory(err, NULL);
	}
	return 0;
}

int env_file_read(const char *path, char ***ret, struct warder_error *ret_skipped, struct warder_error *err)
{
	char *text = NULL;
	char **rows;
	size_t len;
	int status;

	ret_skipped->code = WARDER_ERROR_NONE;
	if (file_read(path, &text, &len, err) != 0)
		return -1;
	if (strlen(text) != len) {
		free(text);
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, path, "the file holds a NUL byte");
	}
	rows = calloc(count_lines(text) + 1, sizeof(*rows));
	status = rows ? take_lines(text, rows, ret_skipped, err) : error_no_memory(err, NULL);
	free(text);
	if (status == 0)
		*ret = rows;
	else
		env_file_free(rows);
	return status;
}

void env_file_free(char **rows)
{
	for (char **row = rows; row && *row; row++)
		free(*row);
	free(rows);
}
