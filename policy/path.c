/*
 * path: rules about the spelling of paths and names in a policy. Text only: whether a path exists, and what
 * its links lead to, is found out where it is opened. A path that needs normalising is refused and not
 * repaired, so that what was reviewed is, byte by byte, what is granted and mounted.
 */
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
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

/* The last colon before a slash: what follows it has no other. */
const char *policy_path_explicit_target(const char *item)
{
	const char *found = NULL;

	for (const char *next = strstr(item, ":/"); next; next = strstr(next + 1, ":/"))
		found = next;
	return found && found > item ? found + 1 : NULL;
}

const char *policy_path_target(const char *item)
{
	const char *target = policy_path_explicit_target(item);

	return target ? target : item;
}

bool policy_path_source(const char *item, char *ret)
{
	const char *target = policy_path_explicit_target(item);
	const size_t length = target ? (size_t)(target - item) - 1 : strlen(item);

	if (length >= PATH_MAX)
		return false;
	memcpy(ret, item, length);
	ret[length] = '\0';
	return true;
}

const char *policy_target_fault(const char *target)
{
	static const struct {
		const char *path, *fault;
		bool alone; /* not what lies below it */
	} kept[] = {
		{ "/", "has the target \"/\", which is the whole root; use filesystem.view directory:SOURCE",
		  true },
		{ "/proc", "has a target at or below /proc, which the jail makes itself; choose another",
		  false },
		{ "/dev", "has a target at or below /dev, which the jail makes itself; choose another",
		  false },
		{ "/sys", "has a target at or below /sys, which no jail has; choose another", false },
		{ "/tmp", "has the target /tmp, which is the jail's own; choose one below it", true },
		{ "/workspace",
		  "has the target /workspace; give the directory as filesystem.workspace, or choose a target "
		  "below it",
		  true },
	};

	if (policy_path_fault(target))
		return "has a target that is not normalised, or too long; write it without \".\", \"..\", "
		       "\"//\" and \"/\" at the end";
	for (size_t i = 0; i < ARRAY_LENGTH(kept); i++)
		if (kept[i].alone ? strcmp(kept[i].path, target) == 0
				  : policy_path_within(kept[i].path, target))
			return kept[i].fault;
	return NULL;
}

const char *policy_placed_fault(const char *item)
{
	const char *target = policy_path_explicit_target(item);
	char source[PATH_MAX];

	if (!target)
		return policy_path_fault(item);
	if (!policy_path_source(item, source))
		return "is too long; at most 4095 bytes";
	if (policy_path_fault(source))
		return policy_path_fault(source);
	if (strchr(target, ':'))
		return "has a target with a colon; choose one without (the last \":/\" begins the target)";
	return policy_target_fault(target);
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
		return "is not a valid image name; write letters, digits and . _ / : @ - such as "
		       "\"debian:12\"";
	if (strlen(name) > 255)
		return "is too long; at most 255 bytes";
	return NULL;
}

const char *policy_variable_fault(const char *name)
{
	if (!only(name, LOWER UPPER "_", LOWER UPPER DIGIT "_") || strlen(name) >= POLICY_VARIABLE_NAME)
		return "is not a valid variable name; write letters, digits and _, not beginning with a "
		       "digit";
	return NULL;
}

const char *policy_syscall_fault(const char *name)
{
	if (!only(name, LOWER "_", LOWER DIGIT "_") || strlen(name) > 63)
		return "is not the name of a system call; write it as its manual page does, such as "
		       "\"ptrace\"";
	return NULL;
}
