/*
 * strings: texts on the heap, and lists of them.
 *
 * Lists grow by one with realloc: they are built once, and the empty list is NULL and 0. Their number of rows is
 * bounded, which keeps the comparisons of each row with each other small.
 */
#include <stdlib.h>
#include <string.h>

#include "policy/values.h"

int policy_string_set(char **at, const char *text, struct warder_error *err)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return error_no_memory(err, NULL);
	free(*at);
	*at = copy;
	return 0;
}

void *policy_list_grow(void *items, size_t count, size_t most, size_t size, struct warder_error *err)
{
	void *grown;

	if (count >= most) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "more than %zu rows", most);
		return NULL;
	}
	grown = realloc(items, (count + 1) * size);
	if (!grown)
		error_no_memory(err, NULL);
	return grown;
}

int policy_strings_add(struct policy_strings *list, const char *item, struct warder_error *err)
{
	char **items = policy_list_grow(list->items, list->count, POLICY_MAX_ROWS, sizeof(*items), err);

	if (!items)
		return -1;
	list->items = items;
	items[list->count] = NULL;
	if (policy_string_set(&items[list->count], item, err) != 0)
		return -1;
	list->count++;
	return 0;
}

void policy_strings_done(struct policy_strings *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct policy_strings){ 0 };
}

bool policy_strings_have(const struct policy_strings *list, const char *item)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i], item) == 0)
			return true;
	}
	return false;
}

int policy_strings_copy(const struct policy_strings *from, struct policy_strings *to,
			struct warder_error *err)
{
	for (size_t i = 0; i < from->count; i++) {
		if (policy_strings_add(to, from->items[i], err) != 0)
			return -1;
	}
	return 0;
}
