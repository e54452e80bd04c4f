/*
 * Lists of strings of a build: NAME=value, or the words of a command; NULL-terminated, or NULL for an empty one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/images/build.h"

size_t build_length(char *const *list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	return count;
}

const char *build_get(char *const *list, const char *name)
{
	const size_t len = strlen(name);

	for (; list && *list; list++) {
		if (strncmp(*list, name, len) == 0 && (*list)[len] == '=')
			return *list + len + 1;
	}
	return NULL;
}

int build_set(char ***list, const char *assignment, struct warder_error *err)
{
	const size_t len = strcspn(assignment, "="), count = build_length(*list);
	char *copy = strdup(assignment), **grown;

	if (!copy)
		return error_no_memory(err, "recipe");
	for (size_t i = 0; i < count; i++) {
		if (strncmp((*list)[i], assignment, len) == 0 && (*list)[i][len] == '=') {
			free((*list)[i]);
			(*list)[i] = copy;
			return 0;
		}
	}
	grown = count < IMAGE_STRINGS_MAX ? reallocarray(*list, count + 2, sizeof(*grown)) : NULL;
	if (!grown) {
		free(copy);
		return error_no_memory(err, "recipe");
	}
	grown[count] = copy;
	grown[count + 1] = NULL;
	*list = grown;
	return 0;
}

char **build_copy(char *const *list)
{
	const size_t count = build_length(list);
	char **copy = calloc(count + 1, sizeof(*copy));

	for (size_t i = 0; copy && i < count; i++) {
		copy[i] = strdup(list[i]);
		if (!copy[i]) {
			image_strings_free(copy);
			return NULL;
		}
	}
	return copy;
}
