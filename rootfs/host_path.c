/*
 * What holds for every path of the host that a policy names. It is found through descriptors, and a link is followed only if
 * its owner may lead root there; the whole host and the directories that only serve it are refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "rootfs/entries.h"
#include "rootfs/path.h"

#define SHOWN 96

static const struct {
	const char *path, *why;
} refused_sources[] = {
	{ "/", "is the whole host; name the directories that are needed" },
	{ "/dev", "holds the host's devices; the jail has a /dev of its own" },
	{ "/run", "holds the sockets of the host's services; name the paths that you need" },
	{ "/boot", "holds the host's kernel; name the paths that you need" },
};

static int refuse_missing(struct planning *planning, const char *path, const char *field, int error)
{
	char shown[SHOWN];

	json_quote(path, shown, sizeof(shown));
	if (error == ENOENT || error == ENOTDIR)
		error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, field,
			  "%s does not exist on this host; create it or leave it out%s", shown,
			  strchr(path, ':') ? " (a target inside is absolute: SOURCE:/TARGET)" : "");
	else if (error == ELOOP)
		error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, field,
			  "%s leads through a link of procfs or too many links; name the place itself",
			  shown);
	else
		error_set_errno(planning->err, WARDER_ERROR_INVALID_REQUEST, field, error, "cannot use %s",
				shown);
	planning->err->sys_errno = error;
	return -1;
}

static int refuse_link(struct planning *planning, const struct source_link *link, const char *field)
{
	char shown[SHOWN], target[SHOWN];

	return error_set(planning->err, WARDER_ERROR_REJECTED, field,
			 "%s is a symbolic link that belongs to uid %u and leads to %s; root follows its own "
			 "links only; name the directory itself",
			 json_quote(link->path, shown, sizeof(shown)), (unsigned int)link->owner,
			 json_quote(link->text, target, sizeof(target)));
}

int host_path_normalise(const char *path, const char *field, char **ret, struct warder_error *err)
{
	if (path_normalise(path ? path : "", ret, err) == 0)
		return 0;
	snprintf(err->field, sizeof(err->field), "%s", field);
	return -1;
}

int host_path_find(struct planning *planning, const char *path, const char *field, struct source *ret)
{
	char *normal = NULL;
	struct source_link link;
	char shown[SHOWN];
	int found;

	if (host_path_normalise(path, field, &normal, planning->err) != 0)
		return -1;
	found = source_find_named(planning->root_fd, normal, ret, &link);
	free(normal);
	if (found > 0)
		return refuse_link(planning, &link, field);
	if (found < 0)
		return refuse_missing(planning, path, field, errno);
	for (size_t i = 0; i < ARRAY_LENGTH(refused_sources); i++) {
		if (strcmp(ret->path, refused_sources[i].path) == 0)
			return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, field, "%s %s",
					 json_quote(path, shown, sizeof(shown)), refused_sources[i].why);
	}
	return 0;
}

int host_path_check_tree(struct planning *planning, const struct source *source, const char *field)
{
	char shown[SHOWN];
	const char *type;

	if (!planning->mounts)
		planning->mounts = source_mounts(planning->err);
	if (!planning->mounts)
		return -1;
	type = source_kernel_type(planning->mounts, source->path);
	if (!type)
		return 0;
	return error_set(
	    planning->err, WARDER_ERROR_INVALID_REQUEST, field,
	    "%s lies on, or has mounted beneath it, a file system of type %s, which shows or controls "
	    "the host's kernel; name a directory without it",
	    json_quote(source->path, shown, sizeof(shown)), type);
}

int host_path_name_field(struct warder_error *err)
{
	if (err->field[0] && !strstr(err->text, err->field))
		return error_context(err, "%s", err->field);
	return -1;
}
