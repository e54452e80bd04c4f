/*
 * path: what the text of a path says about another one. Pure; any thread.
 */
#ifndef WARDER_BASE_PATH_H
#define WARDER_BASE_PATH_H

#include <stdbool.h>
#include <string.h>

/* Whether inner is outer or lies below it; both absolute and normalised. "/data" does not hold "/database". */
static inline bool path_within(const char *outer, const char *inner)
{
	size_t len = 0;

	/* Most differ early: strncmp and strlen would take longer to begin. */
	while (outer[len] && outer[len] == inner[len])
		len++;
	return !outer[len] && (len == 1 || !inner[len] || inner[len] == '/');
}

/* Whether inner lies below outer; both as above. Nothing lies below "/" here. */
static inline bool path_is_below(const char *outer, const char *inner)
{
	size_t len = 0;

	while (outer[len] && outer[len] == inner[len])
		len++;
	return !outer[len] && inner[len] == '/';
}

/* What follows the last slash. */
static inline const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether a path of the jail lies in its private /tmp. */
static inline bool path_is_below_tmp(const char *path)
{
	return strncmp(path, "/tmp/", 5) == 0;
}

#endif
