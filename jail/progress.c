/*
 * The program decides what it writes, and how much. A line costs no more than its copy until it is known to be wanted: its length and the
 * rate are looked at first, and only a line that both allow is parsed. Each such line uses up one of the ten a second, JSON or not, so
 * that a flood of any kind costs as little as reading it.
 */
#include "jail/progress.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define LINE_US (UINT64_C(1000000) / JAIL_PROGRESS_RATE)

struct jail_progress *jail_progress_new(const struct jail_command *command)
{
	struct jail_progress *progress = calloc(1, sizeof(*progress));

	if (!progress)
		return NULL;
	progress->on_line = command->on_progress;
	progress->context = command->context;
	progress->allowed = JAIL_PROGRESS_RATE;
	return progress;
}

/* Ten at once, and one more every tenth of a second. */
static bool is_allowed(struct jail_progress *progress, uint64_t now_us)
{
	const uint64_t more = (now_us - progress->counted_us) / LINE_US;

	if (more >= JAIL_PROGRESS_RATE - progress->allowed) {
		progress->allowed = JAIL_PROGRESS_RATE;
		progress->counted_us = now_us;
	} else {
		progress->allowed += (unsigned)more;
		progress->counted_us += more * LINE_US;
	}
	if (!progress->allowed)
		return false;
	progress->allowed--;
	return true;
}

static bool is_json(const char *line, size_t len)
{
	struct json_value *value = NULL;
	struct warder_error err;

	if (json_parse(line, len, "progress", NULL, &value, &err) != 0)
		return false;
	json_free(value);
	return true;
}

/* The newest lines stay, each with a NUL. */
static void keep(struct jail_progress *progress, size_t len)
{
	size_t gone = 0;

	while (progress->len - gone + len + 1 > sizeof(progress->lines))
		gone += strlen(progress->lines + gone) + 1;
	progress->len -= gone;
	memmove(progress->lines, progress->lines + gone, progress->len);
	memcpy(progress->lines + progress->len, progress->line, len + 1);
	progress->len += len + 1;
}

static void end_line(struct jail_progress *progress, uint64_t now_us)
{
	const size_t len = progress->line_len;

	progress->line_len = 0;
	if (len == 0)
		return;
	if (len > JAIL_PROGRESS_LINE || !is_allowed(progress, now_us) || !is_json(progress->line, len)) {
		progress->dropped++;
		return;
	}
	progress->line[len] = '\0';
	progress->delivered++;
	keep(progress, len);
	if (progress->on_line)
		progress->on_line(progress->context, progress->line);
}

/* Of a line that is too long nothing is copied but its beginning. */
void jail_progress_take(struct jail_progress *progress, const char *bytes, size_t len, uint64_t now_us)
{
	while (len) {
		const char *newline = memchr(bytes, '\n', len);
		const size_t part = newline ? (size_t)(newline - bytes) : len;
		const size_t room = JAIL_PROGRESS_LINE + 1 - progress->line_len;
		const size_t taken = part < room ? part : room;

		memcpy(progress->line + progress->line_len, bytes, taken);
		progress->line_len += taken;
		if (!newline)
			return;
		end_line(progress, now_us);
		bytes += part + 1;
		len -= part + 1;
	}
}

void jail_progress_end(struct jail_progress *progress, uint64_t now_us)
{
	end_line(progress, now_us);
}
