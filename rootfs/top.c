/*
 * The entries at the top of a directory or of an image that a view takes apart.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "rootfs/entries.h"
#include "rootfs/path.h"

static const char view_field[] = "filesystem.view";

void top_close(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

DIR *top_open(int dir_fd, const char *path)
{
	owned_fd int fd = path_try(dir_fd, path, O_RDONLY | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		fd_take(&fd);
	return dir;
}

/* Ours take their place. */
static const char *const left_out[] = { ".", "..", "proc", "dev", "sys", "tmp", "workspace" };

bool top_leaves_out(const char *name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(left_out); i++) {
		if (strcmp(name, left_out[i]) == 0)
			return true;
	}
	return false;
}

int top_check_name(struct planning *planning, const char *name)
{
	char shown[80];

	for (const unsigned char *at = (const unsigned char *)name; *at; at++) {
		if (*at < 0x20 || *at == 0x7f)
			return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, view_field,
					 "its top has an entry %s with a control character in its "
					 "name; rename it",
					 json_quote(name, shown, sizeof(shown)));
	}
	return 0;
}
