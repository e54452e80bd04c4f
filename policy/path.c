/*
 * path: rules about the spelling of paths and names in a policy. Text only: whether a path exists, and what
 * its links lead to, is found out where it is opened. A path that needs normalising is refused and not
 * repaired, so that what was reviewed is, byte by byte, what is granted and mounted.
 */
#include <limits.h>
#include <string.h>

#include "policy/values.h"

static bool is_dots(const char *component, size_t length)
{
	return (length == 1 && component[0] == '.') ||
	       (length == 2 && component[0] == '.' && component[1] == '.');
}

const char *policy_path_fault(const char *path)
{
	if (path[0] != '/')
		return "is not absolute; write it from \"/\" on";
	if (strlen(path) >= PATH_MAX)
		return "is too long; at most 4095 bytes";
	if (path[1] == '\0')
		return NULL;
	for (const char *component = path + 1;;) {
		size_t length = strcspn(component, "/");

		if (length == 0 || is_dots(component, length))
			return "is not normalised; write it without \".\", \"..\", \"//\" and \"/\" at the "
			       "end";
		if (length > NAME_MAX)
			return "has too long a component; at most 255 bytes";
		if (component[length] == '\0')
			return NULL;
		component += length + 1;
	}
}

const char *policy_path_place(const char *item)
{
	static const char mark[] = ":/workspace/";
	const char *found = NULL;

	for (const char *next = strstr(item, mark); next; next = strstr(next + 1, mark))
		found = next;
	return found ? found + 1 : NULL;
}

const char *policy_placed_fault(const char *item)
{
	const char *place = policy_path_place(item);
	char source[PATH_MAX];

	if (!place)
		return policy_path_fault(item);
	if ((size_t)(place - item) > sizeof(source))
		return "is too long; at most 4095 bytes";
	memcpy(source, item, (size_t)(place - item) - 1);
	source[place - item - 1] = '\0';
	return policy_path_fault(source) ? policy_path_fault(source) : policy_path_fault(place);
}

bool policy_path_within(const char *outer, const char *inner)
{
	size_t length = strlen(outer);

	if (policy_path_fault(inner)) /* "/data/../etc" begins with "/data" */
		return false;
	if (length == 1)
		return true;
	return strncmp(outer, inner, length) == 0 && (inner[length] == '\0' || inner[length] == '/');
}

static bool only(const char *text, const char *first, const char *rest)
{
	return text[0] && strchr(first, text[0]) && text[strspn(text, rest)] == '\0';
}

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"

const char *policy_image_fault(const char *name)
{
	if (!only(name, LOWER UPPER DIGIT, LOWER UPPER DIGIT "._/:@-") || strstr(name, "..") ||
	    strstr(name, "//"))
		return "is no image name; write letters, digits and . _ / : @ - such as \"debian:12\"";
	if (strlen(name) > 255)
		return "is too long; at most 255 bytes";
	return NULL;
}

const char *policy_variable_fault(const char *name)
{
	if (!only(name, LOWER UPPER "_", LOWER UPPER DIGIT "_") || strlen(name) > 255)
		return "is no name of a variable; write letters, digits and _, not beginning with a digit";
	return NULL;
}

const char *policy_syscall_fault(const char *name)
{
	if (!only(name, LOWER "_", LOWER DIGIT "_") || strlen(name) > 63)
		return "is no name of a system call; write it as its manual page does, such as \"ptrace\"";
	return NULL;
}
