#include "jail/rlimits.h"
#include "base/array.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const struct rlimit_row rows[] = {
	{ POLICY_CONTROL_OPEN_FILES, RLIMIT_NOFILE, "NOFILE", "RLIMIT_NOFILE" },
	{ POLICY_CONTROL_FILE_SIZE, RLIMIT_FSIZE, "FSIZE", "RLIMIT_FSIZE" },
	{ POLICY_CONTROL_STACK, RLIMIT_STACK, "STACK", "RLIMIT_STACK" },
};

const struct rlimit_row *rlimit_row_at(size_t i)
{
	return i < ARRAY_LENGTH(rows) ? &rows[i] : NULL;
}

uint64_t rlimit_row_value(const struct rlimit_row *row, const struct policy *policy)
{
	return policy_field_number(policy, policy_control_field(row->control));
}

static const struct title {
	const char *name, *title;
} titles[] = {
	{ "AS", "Max address space" },
	{ "CORE", "Max core file size" },
	{ "CPU", "Max cpu time" },
	{ "FSIZE", "Max file size" },
	{ "MEMLOCK", "Max locked memory" },
	{ "MSGQUEUE", "Max msgqueue size" },
	{ "NICE", "Max nice priority" },
	{ "NOFILE", "Max open files" },
	{ "NPROC", "Max processes" },
	{ "RTPRIO", "Max realtime priority" },
	{ "SIGPENDING", "Max pending signals" },
	{ "STACK", "Max stack size" },
};

static const char *read_value(const char *text, uint64_t *ret)
{
	char *end;

	while (*text == ' ')
		text++;
	if (strncmp(text, "unlimited", 9) == 0) {
		*ret = UINT64_MAX;
		return text + 9;
	}
	*ret = strtoull(text, &end, 10);
	return end == text ? NULL : end;
}

/* What follows the title on its line; or NULL. */
static const char *find_line(const char *text, const char *title)
{
	const size_t len = strlen(title);

	while (text && strncmp(text, title, len) != 0) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + len : NULL;
}

int rlimits_find(const char *text, const char *name, uint64_t *ret_soft, uint64_t *ret_hard)
{
	for (size_t i = 0; i < ARRAY_LENGTH(titles); i++) {
		const char *at = strcmp(titles[i].name, name) == 0 ? find_line(text, titles[i].title) : NULL;

		if (!at)
			continue;
		at = read_value(at, ret_soft);
		return at && read_value(at, ret_hard) ? 0 : -1;
	}
	return -1;
}
