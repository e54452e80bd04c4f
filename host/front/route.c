/* Which row is a request's. */
#include <string.h>

#include "host/front/front.h"

/* Whether the path fits, with the segments of the arguments. */
static bool fits(const char *pattern, const char *path, const char *at[FRONT_ARGS_MAX],
		 size_t len[FRONT_ARGS_MAX])
{
	size_t count = 0;

	for (; *pattern && *path; pattern++, path++) {
		if (*pattern != '{') {
			if (*pattern != *path)
				return false;
			continue;
		}
		if (count == FRONT_ARGS_MAX)
			return false;
		at[count] = path;
		len[count] = strcspn(path, "/");
		if (!len[count])
			return false;
		path += len[count++] - 1;
		pattern += strcspn(pattern, "}");
	}
	return !*pattern && !*path;
}

static bool take(const struct route *row, const char *path, char *ret_args[FRONT_ARGS_MAX])
{
	const char *at[FRONT_ARGS_MAX] = { NULL };
	size_t len[FRONT_ARGS_MAX] = { 0 };

	if (!fits(row->pattern, path, at, len))
		return false;
	for (size_t i = 0; i < FRONT_ARGS_MAX; i++)
		ret_args[i] = at[i] ? strndup(at[i], len[i]) : NULL;
	return true;
}

const struct route *route_find(const struct route *const *families, const char *method, const char *path,
			       char *ret_args[FRONT_ARGS_MAX], bool *ret_allowed)
{
	const char *at[FRONT_ARGS_MAX];
	size_t len[FRONT_ARGS_MAX];

	*ret_allowed = false;
	for (size_t i = 0; families[i]; i++)
		for (const struct route *row = families[i]; row->method; row++) {
			if (strcmp(row->method, method) == 0) {
				if (take(row, path, ret_args))
					return row;
			} else if (fits(row->pattern, path, at, len)) {
				*ret_allowed = true;
			}
		}
	return NULL;
}

void route_each(const struct route *const *families, void (*each)(void *context, const struct route *route),
		void *context)
{
	for (size_t i = 0; families[i]; i++)
		for (const struct route *row = families[i]; row->method; row++)
			each(context, row);
}
